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
        ("/interface bonding add slaves=ether3 mode=balance-tlb", "not built"),
        ("/interface bonding add slaves=ether3 link-monitoring=arp", "links alone"),
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
