//! Bridging between ports, on both paths.

use crate::ipv6::{Sent, ip6, to};
use crate::rig::{Rig, mac, own_mac};
use wire::craft::{self, ip};

const THREE_PORTS: &str = "/interface bridge add protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
add bridge=bridge1 interface=ether3
/ip address add address=10.0.0.254/24 interface=bridge1";

#[test]
fn hosts_are_learnt_and_frames_find_them() {
    for reference in [false, true] {
        let mut rig = Rig::new(3, THREE_PORTS);
        rig.router.set_reference(reference);
        let to = |src: u8, dst: u8| {
            let template = craft::udp(ip(10, 0, 0, src), 1000, ip(10, 0, 0, dst), 2000);
            craft::Frame { src_mac: mac(src), dst_mac: mac(dst), ..template }.build()
        };
        let (there, back) = (to(1, 2), to(2, 1));
        assert_eq!(rig.pass(1, &there), [(2, there.clone()), (3, there.clone())], "flooded");
        assert_eq!(rig.pass(2, &back), [(1, back)], "learnt");
        assert_eq!(rig.pass(1, &there), [(2, there)], "both known");
        let counts = rig.router.path_counts().bridge_fast_path;
        assert_eq!((counts.packets, counts.bytes), (4, 240), "one copy each");
    }
}

#[test]
fn the_router_answers_on_its_bridge() {
    let mut rig = Rig::new(3, THREE_PORTS);
    rig.introduce(2, mac(2), ip(10, 0, 0, 2), ip(10, 0, 0, 254));
    let ping = craft::Frame {
        src_mac: mac(2),
        dst_mac: own_mac(1), // auto-mac: the lowest of the ports'
        ..craft::ping(ip(10, 0, 0, 2), ip(10, 0, 0, 254))
    };
    let out = rig.pass(2, &ping.build());
    assert_eq!(out.len(), 1, "{:?}", rig.router.discards());
    let (port, reply) = &out[0];
    assert_eq!((*port, reply[34], &reply[..6]), (2, 0, &mac(2).0[..]), "an echo reply");
}

/// DHCP servers are behind the trusted port alone: others are not heard, by hosts or the router, nor asked.
#[test]
fn dhcp_snooping() {
    const SNOOPING: &str = "/interface bridge add protocol-mode=none dhcp-snooping=yes
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
add bridge=bridge1 interface=ether3 trusted=yes
/ip address add address=10.0.0.254/24 interface=bridge1";
    let udp = |src: u8, dst_mac, ports: (u16, u16)| {
        let template = craft::udp(ip(10, 0, 0, src), ports.0, u32::MAX, ports.1);
        craft::Frame { src_mac: mac(src), dst_mac, ..template }.build()
    };
    let all = wire::MacAddr::BROADCAST;
    let (discover, offer, other) =
        (udp(1, all, (68, 67)), udp(2, all, (67, 68)), udp(1, all, (68, 69)));
    for (script, from, frame, expected) in [
        (THREE_PORTS, 1, &discover, &[2, 3][..]),
        (THREE_PORTS, 2, &offer, &[1, 3]),
        (SNOOPING, 1, &discover, &[3]),
        (SNOOPING, 3, &discover, &[]),
        (SNOOPING, 2, &offer, &[]),
        (SNOOPING, 3, &offer, &[1, 2]),
        (SNOOPING, 1, &other, &[2, 3]),
    ] {
        for reference in [false, true] {
            let mut rig = Rig::new(3, script);
            rig.router.set_reference(reference);
            // A second time, by whatever was learnt.
            for _ in 0..2 {
                let out: Vec<_> = rig.pass(from, frame).into_iter().map(|(to, _)| to).collect();
                assert_eq!(out, expected, "{script} from ether{from}, {:?}", rig.router.discards());
            }
        }
    }
    let mut rig = Rig::new(3, SNOOPING);
    assert_eq!(rig.pass(2, &udp(2, own_mac(1), (67, 68))), []);
    let dropped = rig.router.discards().get(router::discard::Discard::BridgeFilterDrop);
    assert_eq!(dropped, 1, "the router does not hear it: {:?}", rig.router.discards());
}

/// An IGMP message from a host, to whom it is sent.
fn igmp(src: u8, to: u32, message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let sum = wire::checksum::of(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let body = craft::Body::Ip { protocol: 2 };
    let plain = craft::udp(ip(10, 0, 0, src), 0, to, 0);
    let (src_mac, dst_mac) =
        (mac(src), wire::MacAddr::from_u64(0x0100_5e00_0000 | u64::from(to) & 0x7f_ffff));
    craft::Frame { src_mac, dst_mac, body, payload: &message, ttl: 1, ..plain }.build()
}

/// The same of one group: version 2's membership report, leave, query.
fn of_group(src: u8, kind: u8, to: u32, group: u32) -> Vec<u8> {
    igmp(src, to, &[&[kind, 0, 0, 0][..], &group.to_be_bytes()].concat())
}

/// Multicast goes to the ports whose hosts have asked for it, and to routers; reports go to routers alone.
#[test]
fn igmp_snooping() {
    const GROUP: u32 = ip(239, 1, 2, 3);
    let script = "/interface bridge add protocol-mode=none igmp-snooping=yes\n\
        /interface bridge port\nadd bridge=bridge1 interface=ether1\n\
        add bridge=bridge1 interface=ether2\nadd bridge=bridge1 interface=ether3\n\
        add bridge=bridge1 interface=ether4\n\
        /ip address add address=10.0.0.254/24 interface=bridge1";
    let data = |to: u32| {
        let dst_mac = wire::MacAddr::from_u64(0x0100_5e00_0000 | u64::from(to) & 0x7f_ffff);
        let plain = craft::udp(ip(10, 0, 0, 1), 1000, to, 2000);
        craft::Frame { src_mac: mac(1), dst_mac, ..plain }.build()
    };
    let [report, leave] = [(0x16, GROUP), (0x17, ip(224, 0, 0, 2))]
        .map(|(kind, to)| move |src| of_group(src, kind, to, GROUP));
    let query = of_group(4, 0x11, ip(224, 0, 0, 1), 0);
    // Version 3: one record, with no sources; what it excludes is nobody.
    let version3 = |src, kind: u8| {
        let record = [&[kind, 0, 0, 0][..], &GROUP.to_be_bytes()].concat();
        igmp(src, ip(224, 0, 0, 22), &[&[0x22, 0, 0, 0, 0, 0, 0, 1][..], &record].concat())
    };
    for reference in [false, true] {
        let mut rig = Rig::new(4, script);
        rig.router.set_reference(reference);
        let mut passes = |from: usize, frame: &[u8], expected: &[usize], why: &str| {
            let out: Vec<_> = rig.pass(from, frame).into_iter().map(|(to, _)| to).collect();
            assert_eq!(out, expected, "{why}: {:?}", rig.router.discards());
        };
        passes(1, &data(GROUP), &[2, 3, 4], "nobody has joined it");
        passes(2, &report(2), &[1, 3, 4], "no router is known");
        passes(1, &data(GROUP), &[2], "one has");
        passes(4, &query, &[1, 2, 3], "a querier");
        passes(1, &data(GROUP), &[2, 4], "to routers, too");
        passes(3, &version3(3, 4), &[4], "reports go to routers alone");
        passes(1, &data(GROUP), &[2, 3, 4], "two have");
        passes(3, &version3(3, 3), &[4], "the second leaves");
        passes(1, &data(ip(224, 0, 0, 251)), &[2, 3, 4], "all hosts hear those");
        let mut bad = report(3);
        bad[36] ^= 1;
        passes(3, &bad, &[2, 4], "a wrong checksum says nothing: it is a frame of the group");
        rig.wait(std::time::Duration::from_secs(3));
        let mut passes = |from: usize, frame: &[u8], expected: &[usize], why: &str| {
            let out: Vec<_> = rig.pass(from, frame).into_iter().map(|(to, _)| to).collect();
            assert_eq!(out, expected, "{why}: {:?}", rig.router.discards());
        };
        passes(1, &data(GROUP), &[2, 4], "the second is out");
        passes(2, &leave(2), &[4], "the first leaves");
        passes(2, &report(2), &[4], "and comes back");
        let table = rig.run("/interface bridge mdb print");
        assert!(table.contains("01:00:5E:01:02:03") && table.contains("ether2"), "{table}");
        rig.wait(std::time::Duration::from_secs(261));
        let out: Vec<_> = rig.pass(1, &data(GROUP)).into_iter().map(|(to, _)| to).collect();
        assert_eq!(out, [2, 3, 4], "what is not said again is forgotten");
        rig.run("/interface bridge set bridge1 igmp-snooping=no");
        rig.pass(2, &report(2));
        let out: Vec<_> = rig.pass(1, &data(GROUP)).into_iter().map(|(to, _)| to).collect();
        assert_eq!(out, [2, 3, 4]);
        assert!(rig.router.frames().balance());
    }
}

/// The same of MLD, where ports say what they are: one leaves at once, one is always a router's, one never.
#[test]
fn mld_snooping() {
    let script = "/interface bridge add protocol-mode=none igmp-snooping=yes\n\
        /interface bridge port\nadd bridge=bridge1 interface=ether1\n\
        add bridge=bridge1 interface=ether2 fast-leave=yes\n\
        add bridge=bridge1 interface=ether3 multicast-router=permanent\n\
        add bridge=bridge1 interface=ether4 multicast-router=disabled";
    let group = ip6("ff05::1234");
    let dst_mac = wire::icmpv6::group_mac(group);
    let data = Sent { dst_mac, src: ip6("fe80::1"), ..to("ff05::1234") }.build();
    let mld = |n: u8, kind: u8| {
        let (src, all) = (ip6(&format!("fe80::{n}")), ip6("ff02::16"));
        let mut message = [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &group.octets()].concat();
        if kind == 143 {
            message = [&[kind, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0][..], &group.octets()].concat();
        }
        wire::icmpv6::fill_checksum(src, all, &mut message);
        // Router Alert in a hop-by-hop header.
        let payload = [&[58, 0, 5, 2, 0, 0, 1, 0][..], &message].concat();
        let dst_mac = wire::icmpv6::group_mac(all);
        Sent { src_mac: mac(n), dst_mac, src, dst: all, next_header: 0, hop_limit: 1, payload }
            .build()
    };
    let mut rig = Rig::new(4, script);
    let mut passes = |from: usize, frame: &[u8], expected: &[usize], why: &str| {
        let out: Vec<_> = rig.pass(from, frame).into_iter().map(|(to, _)| to).collect();
        assert_eq!(out, expected, "{why}: {:?}", rig.router.discards());
    };
    passes(1, &data, &[2, 3, 4], "nobody has joined it");
    passes(2, &mld(2, 143), &[3], "MLDv2, to the router alone");
    passes(1, &data, &[2, 3], "it has");
    passes(4, &mld(4, 130), &[1, 2, 3], "a querier where none may be");
    passes(1, &data, &[2, 3], "is none");
    passes(1, &mld(1, 131), &[3], "MLDv1");
    passes(2, &mld(2, 132), &[3], "leaves");
    passes(2, &data, &[1, 3], "and is out at once");
    passes(1, &data, &[3], "to itself nothing goes");
}

/// `use-ip-firewall`: rules, marks, queues and connection tracking see what a bridge passes on.
#[test]
fn bridged_packets_in_the_boxes_of_ip() {
    const BRIDGE: &str = "/interface bridge settings set use-ip-firewall=yes";
    let frame = |dst: u8, port: u16| {
        let template = craft::udp(ip(10, 0, 0, 1), 1000, ip(10, 0, 0, dst), port);
        craft::Frame { src_mac: mac(1), dst_mac: mac(dst), ..template }
    };
    let rig = |script: &str, reference: bool| {
        let mut rig = Rig::new(3, &format!("{THREE_PORTS}\n{script}"));
        rig.router.set_reference(reference);
        for n in 1..=3 {
            rig.introduce(n.into(), mac(n), ip(10, 0, 0, n), ip(10, 0, 0, 254));
        }
        rig
    };
    let rules = "/ip firewall filter
add chain=forward dst-port=53 protocol=udp action=drop
add chain=forward in-bridge-port=ether1 out-bridge-port=ether3 action=drop
/ip firewall mangle add chain=postrouting dst-port=7 protocol=udp action=change-dscp new-dscp=46
/ip firewall connection tracking set enabled=yes
/queue simple add name=q target=10.0.0.1 max-limit=100M/100M";
    for reference in [false, true] {
        // Without it nothing of IP looks.
        let mut plain = rig(
            &rules
                .replace("in-bridge-port=ether1 out-bridge-port=ether3", "protocol=udp dst-port=1"),
            reference,
        );
        for (dst, port) in [(2, 53), (3, 80), (2, 7)] {
            let frame = frame(dst, port).build();
            assert_eq!(plain.pass(1, &frame), [(usize::from(dst), frame.clone())]);
        }
        let mut rig = rig(&format!("{BRIDGE}\n{rules}"), reference);
        for _ in 0..3 {
            assert_eq!(rig.pass(1, &frame(2, 53).build()), [], "a rule");
            assert_eq!(rig.pass(1, &frame(3, 80).build()), [], "a rule of ports");
            let passed = frame(2, 80).build();
            assert_eq!(rig.pass(1, &passed), [(2, passed.clone())], "{:?}", rig.router.discards());
            let out = rig.pass(1, &frame(2, 7).build());
            let [(2, marked)] = &out[..] else { panic!("{out:?} {:?}", rig.router.discards()) };
            assert_eq!((marked[15], marked[22]), (46 << 2, 64), "DSCP, and the TTL as it was");
        }
        let back = craft::udp(ip(10, 0, 0, 2), 80, ip(10, 0, 0, 1), 1000);
        let back = craft::Frame { src_mac: mac(2), dst_mac: mac(1), ..back }.build();
        assert_eq!(rig.pass(2, &back).len(), 1);
        let known = rig.run("/ip firewall connection print");
        assert_eq!(known.matches("10.0.0.2:80").count(), 1, "{known}");
        let queued = rig.run(":put [/queue simple get q packets]");
        assert_eq!(queued.trim(), "6/1", "{queued}");
        assert!(rig.router.frames().balance());
        // A full queue keeps them, and they go on by their port.
        rig.run("/queue simple set q max-limit=100k/100k");
        let sent: Vec<_> = (0..30).map(|_| frame(2, 80).build()).collect();
        let mut out = Vec::new();
        for frame in &sent {
            out.extend(rig.pass(1, frame));
        }
        assert!(out.len() < 30, "{}", out.len());
        for _ in 0..20 {
            rig.wait(std::time::Duration::from_millis(100));
            out.extend(rig.take(2).into_iter().map(|frame| (2, frame)));
        }
        assert_eq!(out.len(), 30, "{:?}", rig.router.discards());
        assert!(out.iter().all(|(to, frame)| *to == 2 && frame == &sent[0]));
        // Another destination than the frame's: it is routed there.
        rig.run("/ip firewall nat add chain=dstnat protocol=udp dst-port=8080 action=dst-nat to-addresses=10.0.0.3");
        let out = rig.pass(1, &frame(2, 8080).build());
        let [(3, routed)] = &out[..] else { panic!("{out:?} {:?}", rig.router.discards()) };
        assert_eq!((&routed[..6], routed[33], routed[22]), (&mac(3).0[..], 3, 63));
        // In pieces: put together for the rules, passed on as they came.
        let whole = frame(2, 99);
        let first = craft::Frame { more_fragments: true, payload: &[1; 64], ..whole };
        let body = craft::Body::Ip { protocol: 17 };
        let second = craft::Frame { fragment_offset: 72, body, payload: &[2; 30], ..whole };
        assert_eq!(rig.pass(1, &first.build()), []);
        assert_eq!(rig.pass(1, &second.build()).len(), 2, "{:?}", rig.router.discards());
        assert!(rig.router.frames().balance());
    }
}

/// The same of IPv6.
#[test]
fn bridged_packets_of_ipv6_in_the_boxes_of_ip() {
    for reference in [false, true] {
        let mut rig = Rig::new(
            3,
            &format!(
                "{THREE_PORTS}\n/interface bridge settings set use-ip-firewall=yes
                 /ipv6 firewall filter add chain=forward protocol=udp dst-port=2000 action=drop"
            ),
        );
        rig.router.set_reference(reference);
        let sent = |port: u16| {
            let mut sent = Sent { dst_mac: mac(2), ..to("2001:db8:2::b") };
            sent.payload[2..4].copy_from_slice(&port.to_be_bytes());
            sent.build()
        };
        assert_eq!(rig.pass(1, &sent(2000)), []);
        let frame = sent(2001);
        assert_eq!(
            rig.pass(1, &frame),
            [(2, frame.clone()), (3, frame)],
            "{:?}",
            rig.router.discards()
        );
    }
}
