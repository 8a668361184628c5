//! VLANs: tags on and off, bridges that keep them apart, and what is refused.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::arp::ArpMessage;
use wire::craft::{self, ip};

/// A frame with these tags, the outermost first.
fn tagged(frame: &[u8], tags: &[(u16, u16)]) -> Vec<u8> {
    let mut bytes = frame[..12].to_vec();
    for (tpid, id) in tags {
        bytes.extend(tpid.to_be_bytes());
        bytes.extend(id.to_be_bytes());
    }
    [&bytes, &frame[12..]].concat()
}

const C: u16 = 0x8100;
const S: u16 = 0x88a8;
const Q: u16 = 0x9100;

/// From host 1 by port 1 to host 2 by port 2, by way of the router.
fn datagram() -> craft::Frame<'static> {
    craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        payload: &[7; 100],
        ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
    }
}

fn introduce(rig: &mut Rig, port: u8, tags: &[(u16, u16)]) {
    let (host, router) = (ip(10, 0, port, 1), ip(10, 0, port, 254));
    let ask = craft::arp(ArpMessage::request(mac(port), host, router)).build();
    assert_eq!(rig.pass(port.into(), &tagged(&ask, tags)).len(), 1, "the router answers");
}

/// A script of interfaces `one` and `two` on ports 1 and 2, and the tags of frames there.
type Case = (&'static str, &'static [(u16, u16)], &'static [(u16, u16)]);

const CASES: &[Case] = &[
    (
        "/interface vlan add name=one interface=ether1 vlan-id=10
         /interface vlan add name=two interface=ether2 vlan-id=20",
        &[(C, 10)],
        &[(C, 20)],
    ),
    (
        "/interface vlan add name=one interface=ether1 vlan-id=10
         /interface ethernet set ether2 name=two",
        &[(C, 10)],
        &[],
    ),
    (
        "/interface vlan add name=o interface=ether1 vlan-id=100 use-service-tag=yes
         /interface vlan add name=one interface=o vlan-id=4094
         /interface vlan add name=two interface=ether2 vlan-id=1 use-service-tag=yes",
        &[(S, 100), (C, 4094)],
        &[(S, 1)],
    ),
    (
        "/interface bridge add name=b protocol-mode=none
         /interface bridge port add bridge=b interface=ether1
         /interface vlan add name=one interface=b vlan-id=10
         /interface ethernet set ether2 name=two",
        &[(C, 10)],
        &[],
    ),
    (
        "/interface bridge add name=b protocol-mode=none vlan-filtering=yes
         /interface bridge port add bridge=b interface=ether1 pvid=10
         /interface bridge port add bridge=b interface=ether2
         /interface bridge vlan add bridge=b vlan-ids=10 tagged=b
         /interface bridge vlan add bridge=b vlan-ids=20 tagged=b,ether2
         /interface vlan add name=one interface=b vlan-id=10
         /interface vlan add name=two interface=b vlan-id=20",
        &[],
        &[(C, 20)],
    ),
    (
        "/interface bridge add name=two protocol-mode=none
         /interface vlan add name=member interface=ether2 vlan-id=7
         /interface bridge port add bridge=two interface=member
         /interface ethernet set ether1 name=one",
        &[],
        &[(C, 7)],
    ),
];

/// Routed from VLAN to VLAN, with rules and without, fast and box by box: the same frames, and the
/// same counts on every interface.
#[test]
fn routed() {
    const RULE: &str = "/ip firewall filter add chain=forward action=accept";
    for (script, from, to) in CASES {
        for rule in ["", RULE] {
            let counts = [true, false].map(|reference| {
                let mut rig = Rig::new(2, &format!("{script}\n{rule}"));
                rig.run("/ip address add address=10.0.1.254/24 interface=one");
                rig.run("/ip address add address=10.0.2.254/24 interface=two");
                rig.router.set_reference(reference);
                introduce(&mut rig, 1, from);
                introduce(&mut rig, 2, to);
                let own = rig.router.program().names.find("two").expect("two");
                let own = rig.router.program().interface(own).mac;
                let plain = datagram();
                let sent = craft::Frame { src_mac: own, dst_mac: mac(2), ttl: 63, ..plain };
                let dst_mac = rig.router.program().names.find("one").expect("one");
                let dst_mac = rig.router.program().interface(dst_mac).mac;
                let frame = tagged(&craft::Frame { dst_mac, ..plain }.build(), from);
                let expected = tagged(&sent.build(), to);
                for n in 0..10 {
                    assert_eq!(rig.pass(1, &frame), [(2, expected.clone())], "{n} of {script}");
                }
                let paths = rig.router.path_counts();
                let quick = paths.replayed + paths.ipv4_fast_path.packets;
                // A bridge that filters VLANs is in no FastPath, so nobody counts what only asks
                // the FIB behind it.
                let uncounted = rule.is_empty() && script.contains("vlan-filtering");
                assert!(reference || uncounted || quick >= 8, "{script} {rule}: {paths:?}");
                let all = rig.router.program().interfaces.len() as u32;
                (1..all)
                    .map(|n| rig.router.interface_counts(router::interface::InterfaceId(n)))
                    .collect::<Vec<_>>()
            });
            assert_eq!(counts[0], counts[1], "{script} {rule}");
        }
    }
}

/// What is no frame of ours ends by name.
#[test]
fn named_ends() {
    let vlan = "/interface vlan add name=v interface=ether1 vlan-id=10";
    let off = "/interface vlan add name=v interface=ether1 vlan-id=10 disabled=yes";
    let plain = datagram().build();
    let five = [(S, 1), (C, 2), (C, 3), (C, 4), (C, 5)];
    let cut = tagged(&plain, &[(C, 10)])[..16].to_vec();
    let cases: [(&str, Vec<u8>, Discard); 7] = [
        (vlan, tagged(&plain, &[(C, 11)]), Discard::UnknownVlan),
        (vlan, tagged(&plain, &[(S, 10)]), Discard::UnknownVlan),
        (vlan, tagged(&plain, &[(C, 10), (C, 10)]), Discard::UnknownVlan),
        (vlan, tagged(&plain, &five), Discard::TooManyTags),
        (vlan, cut, Discard::MalformedEthernet),
        (vlan, tagged(&plain, &[(C, 4095)]), Discard::UnknownVlan),
        (off, tagged(&plain, &[(C, 10)]), Discard::UnknownVlan),
    ];
    for (script, frame, why) in cases {
        for reference in [true, false] {
            let mut rig = Rig::new(2, script);
            rig.router.set_reference(reference);
            assert_eq!(rig.pass(1, &frame), []);
            let found: Vec<_> = rig.router.discards().iter().collect();
            assert_eq!(found, [(why, 1)], "{script}: {frame:02x?}");
        }
    }
}

/// What a bridge that filters VLANs does with frames between its ports: the script of its ports,
/// the tags a frame comes with by port 1, and by which ports it leaves with which tags.
#[test]
fn kept_apart() {
    type Case = (&'static str, &'static [(u16, u16)], &'static [(usize, &'static [(u16, u16)])]);
    const CASES: &[Case] = &[
        ("", &[], &[(2, &[]), (3, &[])]),
        ("set 0 pvid=10", &[], &[(3, &[(C, 10)])]),
        ("set 0 pvid=10; set 1 pvid=10", &[], &[(2, &[]), (3, &[(C, 10)])]),
        ("set 0 pvid=10", &[(C, 10)], &[(3, &[(C, 10)])]),
        ("set 0 pvid=11", &[], &[]),
        ("set 0 frame-types=admit-only-vlan-tagged", &[], &[]),
        ("set 0 frame-types=admit-only-untagged-and-priority-tagged", &[(C, 10)], &[]),
        ("set 0 ingress-filtering=yes", &[(C, 10)], &[]),
        ("set 0 pvid=10 tag-stacking=yes", &[(C, 5)], &[(3, &[(C, 10), (C, 5)])]),
        ("", &[(S, 10)], &[(2, &[(S, 10)]), (3, &[(S, 10)])]),
        ("set 0 pvid=10; /interface bridge set b ether-type=0x9100", &[], &[(3, &[(Q, 10)])]),
        ("/interface bridge set b ether-type=0x9100", &[(Q, 10)], &[(3, &[(Q, 10)])]),
        (
            "set 1 pvid=10; /interface bridge set b ether-type=0x9100",
            &[(Q, 10)],
            &[(2, &[]), (3, &[(Q, 10)])],
        ),
        (
            "/interface bridge set b ether-type=0x9100",
            &[(C, 10)],
            &[(2, &[(C, 10)]), (3, &[(C, 10)])],
        ),
    ];
    for (ports, tags, expected) in CASES {
        for reference in [true, false] {
            let mut rig = Rig::new(
                3,
                "/interface bridge add name=b protocol-mode=none vlan-filtering=yes
                 /interface bridge port add bridge=b interface=ether1
                 /interface bridge port add bridge=b interface=ether2
                 /interface bridge port add bridge=b interface=ether3
                 /interface bridge vlan add bridge=b vlan-ids=10,20-29 tagged=ether3",
            );
            rig.router.set_reference(reference);
            for line in ports.split(';').map(str::trim).filter(|line| !line.is_empty()) {
                let menu = if line.starts_with('/') { "" } else { "/interface bridge port " };
                rig.run(&format!("{menu}{line}"));
            }
            let frame = craft::Frame { dst_mac: mac(9), ..datagram() }.build();
            let sent = rig.pass(1, &tagged(&frame, tags));
            let expected: Vec<_> =
                expected.iter().map(|(port, tags)| (*port, tagged(&frame, tags))).collect();
            assert_eq!(sent, expected, "{ports}: {tags:?}, {:?}", rig.router.discards());
            // FastPath of version 6 does not know VLAN filtering (routeros/C-fastpath.md, C.3).
            assert_eq!(rig.router.path_counts().bridge_fast_path.packets, 0);
            let unmet = &rig.router.unmet().bridge_fast_path;
            assert_eq!(unmet[..], ["a bridge has vlan-filtering=yes"]);
        }
    }
}

/// One host in two VLANs is two hosts.
#[test]
fn hosts_of_each_vlan() {
    let mut rig = Rig::new(
        3,
        "/interface bridge add name=b protocol-mode=none vlan-filtering=yes
         /interface bridge port add bridge=b interface=ether1
         /interface bridge port add bridge=b interface=ether2
         /interface bridge port add bridge=b interface=ether3
         /interface bridge vlan add bridge=b vlan-ids=10,20 tagged=ether1,ether2,ether3",
    );
    let from = |host: u8, to: u8, id: u16| {
        let frame = craft::Frame { src_mac: mac(host), dst_mac: mac(to), ..datagram() };
        tagged(&frame.build(), &[(C, id)])
    };
    // Host 7 is behind port 1 in VLAN 10, and behind port 2 in VLAN 20.
    rig.pass(1, &from(7, 9, 10));
    rig.pass(2, &from(7, 9, 20));
    assert_eq!(rig.pass(3, &from(8, 7, 10)), [(1, from(8, 7, 10))]);
    assert_eq!(rig.pass(3, &from(8, 7, 20)), [(2, from(8, 7, 20))]);
    let rows = rig.run("/interface bridge host print");
    assert_eq!(rows.matches("06:00:00:00:00:07").count(), 2, "{rows}");
}

/// Rules of the bridge filter that name lists: each counts once for each frame that it matches.
#[test]
fn lists_in_the_bridge_filter() {
    let mut rig = Rig::new(
        3,
        "/interface bridge add name=b protocol-mode=none
         /interface bridge port add bridge=b interface=ether1
         /interface bridge port add bridge=b interface=ether2
         /interface bridge port add bridge=b interface=ether3
         /interface list add name=two
         /interface list add name=nobody
         /interface list member add list=two interface=ether1
         /interface list member add list=two interface=ether2
         /interface bridge filter
         add chain=forward in-interface-list=two out-interface-list=two action=passthrough
         add chain=forward in-interface-list=!two action=drop
         add chain=forward in-bridge-list=nobody action=drop
         add chain=forward out-bridge-list=all action=passthrough",
    );
    let from = |port: usize| {
        let src_mac = mac(port as u8);
        craft::Frame { src_mac, dst_mac: mac(9), ..datagram() }.build()
    };
    let out = |rig: &mut Rig, port| -> Vec<usize> {
        rig.pass(port, &from(port)).into_iter().map(|(port, _)| port).collect()
    };
    assert_eq!(out(&mut rig, 1), [2, 3]);
    assert_eq!(out(&mut rig, 2), [1, 3]);
    assert!(out(&mut rig, 3).is_empty());
    let tree = rig.console.tree().clone();
    let counts = rig.router.rule_counts("/interface bridge filter", &tree);
    let packets: Vec<u64> = counts.iter().map(|count| count.packets).collect();
    assert_eq!(packets, [2, 2, 0, 4]);
    let shown = rig.run("/interface bridge filter print");
    assert!(shown.contains("nobody"), "{shown}");
}

#[test]
fn refused() {
    let mut rig = Rig::new(
        3,
        "/interface bridge add name=b protocol-mode=none
         /interface bridge port add bridge=b interface=ether1
         /interface vlan add name=v interface=b vlan-id=10
         /interface vlan add name=w interface=v vlan-id=20",
    );
    for (line, why) in [
        ("/interface vlan add interface=ether1 vlan-id=0", "vlan-id"),
        ("/interface vlan add interface=ether1 vlan-id=4095", "vlan-id"),
        ("/interface vlan add interface=ether1 vlan-id=4096", "vlan-id"),
        ("/interface vlan add interface=nowhere", "nowhere"),
        ("/interface vlan add name=x interface=b vlan-id=10", "v has this vlan-id"),
        ("/interface vlan set v interface=w", "v would stand on itself: v > w > v"),
        ("/interface vlan set v interface=v", "v would stand on itself: v > v"),
        (
            "/interface bridge port add bridge=b interface=w",
            "b would stand on itself: b > w > v > b",
        ),
        ("/interface bridge port add bridge=b interface=ether1", "already added"),
        ("/interface bridge vlan add bridge=b vlan-ids=0", "VLAN ids"),
        ("/interface bridge vlan add bridge=b vlan-ids=20-10", "VLAN ids"),
        ("/interface bridge vlan add bridge=b vlan-ids=5 tagged=b untagged=b", "both tagged"),
        ("/interface list add name=all", "built in"),
        ("/ip firewall filter add chain=forward in-interface-list=nobody", "nobody"),
    ] {
        let error = rig.try_run(line).expect_err(line).to_string();
        assert!(error.contains(why), "{line}: {error}");
    }
}
