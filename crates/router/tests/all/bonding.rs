//! Bonds: by which slave frames leave, by which they are taken in, and what becomes of a link that
//! fails; fast and box by box alike.

use crate::ipv6::{Sent, ip6, says, solicitation, to};
use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use std::collections::BTreeSet;
use std::time::Duration;
use wire::craft::{self, ip};
use wire::lacp::{self, End, Lacpdu, state};

/// Ether1 and ether2 are a bond to 10.0.1.0/24, ether3 leads to 10.0.2.0/24.
fn bond(properties: &str) -> Rig {
    let mut rig = Rig::new(3, "");
    rig.run(&format!("/interface bonding add name=bond slaves=ether1,ether2 {properties}"));
    rig.run("/ip address add address=10.0.1.254/24 interface=bond");
    rig.run("/ip address add address=10.0.2.254/24 interface=ether3");
    rig.wait(Duration::from_millis(100));
    for port in 1..=3 {
        rig.take(port);
    }
    rig
}

fn introduce(rig: &mut Rig, slave: usize) {
    let ask = wire::arp::ArpMessage::request;
    let host = craft::arp(ask(mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254))).build();
    let answers = rig.pass(slave, &host);
    assert!(!answers.is_empty() && answers.iter().all(|(port, _)| *port < 3), "{answers:02x?}");
    rig.introduce(3, mac(3), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
}

/// From 10.0.2.1 to 10.0.1.1: by way of the router, down the bond.
fn down(port: u16) -> Vec<u8> {
    let udp = craft::udp(ip(10, 0, 2, 1), port, ip(10, 0, 1, 1), 9);
    craft::Frame { src_mac: mac(3), dst_mac: own_mac(3), payload: &[1; 30], ..udp }.build()
}

fn up(port: u16) -> Vec<u8> {
    let udp = craft::udp(ip(10, 0, 1, 1), port, ip(10, 0, 2, 1), 9);
    craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), payload: &[1; 30], ..udp }.build()
}

/// The ports by which twenty flows leave.
fn ports(rig: &mut Rig) -> Vec<usize> {
    let mut ports = Vec::new();
    for n in 0..20 {
        for (port, frame) in rig.pass(3, &down(1000 + n)) {
            let macs = (&frame[..6], &frame[6..12]);
            assert_eq!(macs, (&mac(1).0[..], &own_mac(1).0[..]), "by {port}: {frame:02x?}");
            ports.push(port);
        }
    }
    ports
}

#[test]
fn modes() {
    for (properties, expected) in [
        ("mode=balance-rr", vec![1, 2]),
        ("mode=active-backup", vec![1]),
        ("mode=active-backup primary=ether2", vec![2]),
        ("mode=balance-xor", vec![]),
        ("mode=balance-xor transmit-hash-policy=layer-3-and-4", vec![1, 2]),
        ("mode=broadcast", vec![1, 2]),
    ] {
        let states = [false, true].map(|reference| {
            let mut rig = bond(properties);
            rig.router.set_reference(reference);
            let slave = if properties.contains("primary") { 2 } else { 1 };
            introduce(&mut rig, slave);
            let sent = ports(&mut rig);
            let frames = if properties == "mode=broadcast" { 40 } else { 20 };
            assert_eq!(sent.len(), frames, "{properties}");
            let used: BTreeSet<_> = sent.iter().copied().collect();
            match &expected[..] {
                [] => assert_eq!(used.len(), 1, "one neighbour, one slave"),
                expected => assert_eq!(used, expected.iter().copied().collect(), "{properties}"),
            }
            if properties == "mode=balance-rr" {
                assert!(sent.windows(2).all(|pair| pair[0] != pair[1]), "{sent:?}");
            }
            let quick = rig.router.path_counts().ipv4_fast_path.packets;
            assert_eq!(quick, 20, "{properties}");
            for n in 0..20 {
                let out = rig.pass(slave, &up(2000 + n));
                assert_eq!(out.len(), 1, "{properties}: {:?}", rig.router.discards());
                assert_eq!(out[0].0, 3);
            }
            assert!(rig.router.frames().balance());
            let bond = rig.router.program().names.find("bond").unwrap();
            let counts = rig.router.interface_counts(bond);
            assert_eq!(counts.rx.packets, 21, "{properties}");
            rig.state()
        });
        assert_eq!(states[0], states[1], "{properties}");
    }
}

/// Which slave a frame goes by follows from its EtherType, too: IPv6's goes where no way remembers
/// that of IPv4.
#[test]
fn slaves_of_either_family() {
    let ways = [false, true].map(|reference| {
        let mut rig = bond("mode=balance-xor");
        rig.router.set_reference(reference);
        rig.run("/ipv6 address add address=2001:db8:1::1/64 interface=bond advertise=no");
        rig.run("/ipv6 address add address=2001:db8:2::1/64 interface=ether3 advertise=no");
        introduce(&mut rig, 1);
        for (port, n, own, router) in
            [(1, 1, "2001:db8:1::a", "2001:db8:1::1"), (3, 3, "2001:db8:2::b", "2001:db8:2::1")]
        {
            let group = wire::icmpv6::solicited_node(ip6(router)).to_string();
            rig.pass(port, &says(n, own, &group, solicitation(router, Some(mac(n)))).build());
        }
        let six = to("2001:db8:1::a");
        let six = Sent { src_mac: mac(3), dst_mac: own_mac(3), src: ip6("2001:db8:2::b"), ..six };
        let payload = [3, 0xe8, 7, 0xd0, 0, 12, 0, 0, 1, 2, 3, 4].to_vec();
        let six = Sent { payload, ..six }.build();
        let mut ways = Vec::new();
        for frame in [&down(7), &six] {
            let by: Vec<_> = (0..4).flat_map(|_| rig.pass(3, frame)).map(|(by, _)| by).collect();
            assert_eq!(by, [by[0]; 4], "{:?}", rig.router.discards());
            ways.push(by[0]);
        }
        ways
    });
    assert_eq!(ways[0], ways[1]);
    assert_ne!(ways[0][0], ways[0][1], "else nothing is seen");
}

/// balance-tlb and balance-alb: frames to other hosts leave by other slaves, each from its own address; what
/// is for the bond comes by the first, or by any in balance-alb, where each host was told one.
#[test]
fn slaves_send_from_their_own_addresses() {
    for mode in ["tlb", "alb"] {
        let states = [false, true].map(|reference| {
            let mut rig = bond(&format!("mode=balance-{mode}"));
            rig.router.set_reference(reference);
            rig.introduce(3, mac(3), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
            let (mut used, mut told) = (BTreeSet::new(), BTreeSet::new());
            for host in 1..=4 {
                let (own, address) = (mac(host), ip(10, 0, 1, host));
                let ask = wire::arp::ArpMessage::request(own, address, ip(10, 0, 1, 254));
                let answers = rig.pass(1, &craft::arp(ask).build());
                assert_eq!(answers.len(), 1, "{answers:02x?}");
                let (by, answer) = &answers[0];
                // Its sender, in both headers.
                assert_eq!(answer[6..12], answer[22..28]);
                let slave = if answer[6..12] == own_mac(1).0 { 1 } else { 2 };
                assert_eq!(answer[6..12], own_mac(slave as u8).0, "{answer:02x?}");
                assert!(mode == "tlb" || *by == slave, "{mode}: {by}");
                told.insert(slave);
                for n in 0..2 {
                    let udp = craft::udp(ip(10, 0, 2, 1), n, address, 9);
                    let there = craft::Frame {
                        src_mac: mac(3),
                        dst_mac: own_mac(3),
                        payload: &[1; 30],
                        ..udp
                    };
                    let out = rig.pass(3, &there.build());
                    assert_eq!(out.len(), 1, "{:?}", rig.router.discards());
                    let (by, frame) = &out[0];
                    assert_eq!(frame[6..12], own_mac(*by as u8).0, "{mode}: by {by}");
                    used.insert(*by);
                }
                let udp = craft::udp(address, 5, ip(10, 0, 2, 1), 9);
                let back = |to: u8| {
                    let dst_mac = own_mac(to);
                    craft::Frame { src_mac: own, dst_mac, payload: &[1; 30], ..udp }.build()
                };
                assert_eq!(rig.pass(1, &back(1)).len(), 1, "{:?}", rig.router.discards());
                // The switch may not know where the bond is, and sends it to both.
                assert_eq!(rig.pass(2, &back(1)).len(), 0);
                assert_eq!(rig.pass(2, &back(2)).len(), usize::from(mode == "alb"));
            }
            assert_eq!(used, BTreeSet::from([1, 2]), "{mode}");
            let expected = if mode == "alb" { vec![1, 2] } else { vec![1] };
            assert_eq!(told.into_iter().collect::<Vec<_>>(), expected, "{mode}");
            assert!(rig.router.frames().balance());
            // One goes: all are told the other.
            rig.run("/interface ethernet disable ether1");
            rig.wait(Duration::from_millis(100));
            let told = rig.take(2);
            let told = told.iter().filter(|frame| frame[12..14] == [8, 6]).count();
            assert!(mode == "tlb" || told >= 4, "{mode}: {told}");
            rig.state()
        });
        assert_eq!(states[0], states[1], "{mode}");
    }
}

/// `link-monitoring=arp`: a slave by which nothing comes is down though its link is up.
#[test]
fn arp_tells_who_is_up() {
    let watch = "link-monitoring=arp arp-interval=50ms arp-ip-targets=10.0.1.1";
    for (mode, sends) in [("active-backup", vec![2]), ("balance-xor", vec![1, 2])] {
        let mut rig = bond(&format!("mode={mode} {watch}"));
        let (mut asked, mut running) = (BTreeSet::new(), Vec::new());
        for round in 0..60 {
            rig.wait(Duration::from_millis(20));
            let _ = rig.take(1).iter().filter(|f| f[12..14] == [8, 6]).count();
            let asks = rig
                .take(2)
                .into_iter()
                .filter(|f| f[12..14] == [8, 6] && f[38..42] == [10, 0, 1, 1]);
            for _ in asks {
                asked.insert(2);
                if round < 40 {
                    let says = wire::arp::ArpMessage::request(
                        own_mac(1),
                        ip(10, 0, 1, 254),
                        ip(10, 0, 1, 1),
                    );
                    let answer = craft::arp(says.reply_from(mac(1)));
                    rig.send(
                        2,
                        &craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..answer }.build(),
                    );
                    rig.breathe();
                }
            }
            let runs = rig.run("/interface bonding print count-only where running");
            running.push(runs.trim() == "1");
        }
        assert!(asked.contains(&2) && !sends.is_empty(), "{mode}");
        assert!(running[20..40].iter().all(|runs| *runs), "{mode}: {running:?}");
        assert!(!running[55], "{mode}: {running:?}");
        assert!(rig.router.frames().balance());
    }
    let mut rig = bond("mode=balance-xor");
    for (line, error) in [
        (
            "mode=802.3ad link-monitoring=arp arp-ip-targets=10.0.1.1",
            "can not have link-monitoring=arp",
        ),
        ("link-monitoring=arp", "needs arp-ip-targets"),
    ] {
        let said = rig.try_run(&format!("/interface bonding set bond {line}")).unwrap_err();
        assert!(said.text.contains(error), "{line}: {said:?}");
    }
}

/// What a slave that is not active receives is dropped; when the active one fails, the other one
/// takes its place.
#[test]
fn a_link_fails() {
    let mut rig = bond("mode=active-backup");
    introduce(&mut rig, 1);
    assert_eq!(rig.pass(2, &up(1)), []);
    assert_eq!(rig.router.discards().get(Discard::InterfaceDown), 1);
    rig.run("/interface ethernet disable ether1");
    assert_eq!(ports(&mut rig), [2; 20]);
    assert_eq!(rig.pass(2, &up(1)).len(), 1);
    rig.run("/interface ethernet enable ether1");
    rig.wait(Duration::from_millis(200));
    assert_eq!(ports(&mut rig), [2; 20], "it stays where it is");
    rig.run("/interface ethernet disable ether2");
    assert_eq!(ports(&mut rig), [1; 20]);
    rig.run("/interface ethernet disable ether1");
    assert!(rig.pass(3, &down(1)).iter().all(|(port, _)| *port == 3), "the sender is told");
    let bond = rig.router.program().names.find("bond").unwrap();
    assert!(!rig.router.program().runs(bond), "no link, no bond");
    let log = rig.run("/log print");
    assert!(log.contains("bond link up") && log.contains("bond link down"), "{log}");
    assert!(rig.router.frames().balance());
}

/// The other end of LACP, as a switch: what it says by one port, knowing what it was told there.
fn answer(port: u16, system: u8, told: &Lacpdu) -> Vec<u8> {
    let actor = End {
        system_priority: 32768,
        system: mac(system),
        key: 7,
        port_priority: 128,
        port,
        state: state::ACTIVITY
            | state::TIMEOUT
            | state::AGGREGATION
            | state::SYNCHRONIZATION
            | state::COLLECTING
            | state::DISTRIBUTING,
    };
    let said = Lacpdu { actor, partner: told.actor };
    let mut frame = [&lacp::GROUP.0[..], &mac(100 + port as u8).0].concat();
    frame.extend(lacp::ETHERTYPE.to_be_bytes());
    frame.extend(said.to_bytes());
    frame
}

/// Lets the other ends speak for so long, those of these systems; 0 is silent.
fn speak(rig: &mut Rig, systems: [u8; 2], seconds: u64) {
    for _ in 0..seconds * 10 {
        rig.wait(Duration::from_millis(100));
        for (n, system) in (1..).zip(systems) {
            for frame in rig.take(n) {
                let told = Lacpdu::read(&frame[14..]).filter(|_| frame[12..14] == [0x88, 0x09]);
                if let (Some(told), true) = (told, system != 0) {
                    rig.send(n, &answer(n as u16, system, &told));
                }
            }
        }
    }
    rig.breathe();
    for port in 1..=2 {
        rig.take(port);
    }
}

#[test]
fn lacp_agrees() {
    let mut rig = bond("mode=802.3ad lacp-rate=1sec transmit-hash-policy=layer-3-and-4");
    let id = rig.router.program().names.find("bond").unwrap();
    speak(&mut rig, [0, 0], 5);
    assert!(!rig.router.program().runs(id), "nobody at the other end");
    speak(&mut rig, [50, 50], 3);
    assert!(rig.router.program().runs(id));
    introduce(&mut rig, 1);
    let both: BTreeSet<_> = ports(&mut rig).into_iter().collect();
    assert_eq!(both, BTreeSet::from([1, 2]));
    // One falls silent for three seconds: the other one is left.
    speak(&mut rig, [0, 50], 5);
    assert_eq!(ports(&mut rig), [2; 20]);
    assert_eq!(rig.pass(1, &up(1)), [], "a slave that has not agreed");
    speak(&mut rig, [50, 50], 3);
    let both: BTreeSet<_> = ports(&mut rig).into_iter().collect();
    assert_eq!(both.len(), 2);
    // Links to two different ends are not one.
    speak(&mut rig, [60, 50], 5);
    let one: BTreeSet<_> = ports(&mut rig).into_iter().collect();
    assert_eq!(one.len(), 1);
    // Whatever else comes by the slow protocols' EtherType is dropped by name.
    let mut frame = [&lacp::GROUP.0[..], &mac(9).0, &[0x88, 0x09, 2, 1]].concat();
    frame.resize(124, 0);
    rig.pass(1, &frame);
    assert_eq!(rig.router.discards().get(Discard::UnknownProtocol), 1);
    assert!(rig.router.frames().balance());
}

#[test]
fn above_and_refused() {
    let mut rig = bond("mode=balance-xor");
    rig.run("/interface vlan add name=v interface=bond vlan-id=5");
    rig.run("/interface bridge add name=b protocol-mode=none; /interface bridge port add bridge=b interface=v");
    for (line, why) in [
        ("/interface bonding add slaves=ether2", "ether2 is a slave of bond already"),
        ("/interface bonding add slaves=b", "b is no ethernet interface"),
        ("/interface bonding add slaves=ether3,ether3", "a slave twice"),
        ("/interface bonding add slaves=ether3 primary=ether1", "none of the slaves"),
        ("/interface bonding add slaves=ether3 link-monitoring=arp", "needs arp-ip-targets"),
        ("/interface bonding add", "slaves"),
        ("/interface vlan add interface=ether1 vlan-id=7", "can not add slave interface"),
        ("/interface bridge port add bridge=b interface=ether1", "can not add slave interface"),
    ] {
        match rig.try_run(line) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(why), "{line}: {text}");
            }
            Ok(_) => panic!("{line} was taken"),
        }
    }
}
