//! ARP modes of interfaces: who is answered for, who is learnt, and who is asked.

use crate::rig::{Rig, mac, own_mac};
use std::time::Duration;
use wire::arp::{ArpMessage, Operation};
use wire::craft::{self, ip};

/// `ether1`, whose ARP is to be changed, has 10.0.1.0/24, `ether2` 10.0.2.0/24 and a default route; a VLAN
/// and a bridge have networks, too.
const NETS: &str = "/interface vlan add name=v10 interface=ether3 vlan-id=10
/interface bridge add name=lan protocol-mode=none
/interface bridge port add bridge=lan interface=ether4
/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
add address=10.0.3.254/24 interface=v10
add address=10.0.4.254/24 interface=lan
/ip arp add address=10.0.2.1 mac-address=06:00:00:00:00:02 interface=ether2
/ip route add gateway=10.0.2.1
/ip route add dst-address=10.66.0.0/16 type=blackhole
/ip route add dst-address=10.7.0.0/16 gateway=10.0.1.7
";

fn frame(message: ArpMessage, vlan: Option<u16>) -> Vec<u8> {
    let mut bytes = craft::arp(message).build();
    if let Some(vlan) = vlan {
        let [high, low] = vlan.to_be_bytes();
        bytes.splice(12..12, [0x81, 0, high, low]);
    }
    bytes
}

/// The MAC address that is said to have the address, if anybody says so.
fn who_has(rig: &mut Rig, port: usize, sender: u32, target: u32) -> Option<[u8; 6]> {
    let vlan = (port == 3).then_some(10);
    let mut sent = rig.pass(port, &frame(ArpMessage::request(mac(1), sender, target), vlan));
    let (by, mut answer) = sent.pop()?;
    if vlan.is_some() {
        answer.drain(12..16);
    }
    let answer = wire::Arp::new(&answer[14..]).unwrap().message();
    assert_eq!((by, answer.operation, answer.sender_ip), (port, Operation::Reply, target));
    assert_eq!((answer.target_mac, answer.target_ip), (mac(1), sender));
    assert!(sent.is_empty());
    Some(answer.sender_mac.0)
}

/// Modes by the address asked for; the sender is in the network of the interface.
#[test]
fn who_is_answered_for() {
    const MENUS: [(usize, &str); 3] = [
        (1, "/interface ethernet set ether1"),
        (3, "/interface vlan set v10"),
        (4, "/interface bridge set lan"),
    ];
    // Its own, a neighbour's in the network, elsewhere's, by the default route, behind nothing, itself.
    let asked = |net: u8| {
        [
            ip(10, 0, net, 254),
            ip(10, 0, net, 9),
            ip(10, 0, 2, 9),
            ip(10, 0, 2, 254),
            ip(192, 0, 2, 1),
            ip(10, 66, 0, 1),
            ip(10, 0, net, 1),
        ]
    };
    for (mode, answers) in [
        ("enabled", "1000000"),
        ("disabled", "0000000"),
        ("reply-only", "1000000"),
        ("proxy-arp", "1011100"),
        ("local-proxy-arp", "1100000"),
    ] {
        for (port, set) in MENUS {
            let mut rig = Rig::new(4, &format!("{NETS}{set} arp={mode}"));
            let mut said = String::new();
            for target in asked(port as u8) {
                let sender = ip(10, 0, port as u8, 1);
                let answer = who_has(&mut rig, port, sender, target);
                assert!(answer.is_none_or(|answer| answer == own_mac(port as u8).0));
                said.push(if answer.is_some() { '1' } else { '0' });
            }
            assert_eq!(said, answers, "arp={mode} by port {port}");
            // A probe asks whether the address is taken (RFC 5227).
            let probed = who_has(&mut rig, port, 0, ip(10, 0, 2, 9));
            assert_eq!(probed, None, "arp={mode}: a probe");
            assert_eq!(rig.frames_in_use(), 0);
        }
    }
    // What leads back by the same interface is nobody else's.
    let mut rig = Rig::new(4, &format!("{NETS}/interface ethernet set ether1 arp=proxy-arp"));
    assert_eq!(who_has(&mut rig, 1, ip(10, 0, 1, 1), ip(10, 7, 0, 1)), None);
    rig.run("/ip settings set ip-forward=no");
    assert_eq!(who_has(&mut rig, 1, ip(10, 0, 1, 1), ip(10, 0, 2, 9)), None);
}

#[test]
fn published_addresses() {
    let published = "/ip arp add address=10.0.2.9 interface=ether1 published=yes\n\
                     /ip arp add address=10.0.1.77 interface=ether1 published=yes\n";
    let mut rig = Rig::new(4, &format!("{NETS}{published}"));
    let sender = ip(10, 0, 1, 1);
    assert_eq!(who_has(&mut rig, 1, sender, ip(10, 0, 2, 9)), Some(own_mac(1).0));
    assert_eq!(who_has(&mut rig, 1, sender, ip(10, 0, 2, 8)), None);
    // No route leads elsewhere; and on another interface it is not published.
    assert_eq!(who_has(&mut rig, 1, sender, ip(10, 0, 1, 77)), None);
    assert_eq!(who_has(&mut rig, 4, ip(10, 0, 4, 1), ip(10, 0, 2, 9)), None);
    rig.run("/ip arp disable [find published]");
    assert_eq!(who_has(&mut rig, 1, sender, ip(10, 0, 2, 9)), None);
    let error = rig.try_run("/ip arp add address=10.0.1.5 interface=ether1").unwrap_err();
    assert_eq!(error.text, "failure: a neighbour that is not published needs its mac-address");
}

fn datagram() -> Vec<u8> {
    let datagram = craft::udp(ip(10, 0, 2, 1), 1000, ip(10, 0, 1, 1), 2000);
    craft::Frame { src_mac: mac(2), dst_mac: own_mac(2), ..datagram }.build()
}

/// Without ARP only those typed are neighbours: others are not asked, and whoever sends to them is told.
#[test]
fn neighbours_that_are_not_learnt() {
    for (mode, reference) in
        ["disabled", "reply-only"].into_iter().flat_map(|m| [(m, true), (m, false)])
    {
        let mut rig = Rig::new(4, NETS);
        rig.router.set_reference(reference);
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        assert_eq!(rig.pass(2, &datagram()).len(), 1);
        rig.run(&format!("/interface ethernet set ether1 arp={mode}"));
        rig.router.set_reference(reference);
        // Whoever was learnt is none any more, and is not learnt again.
        rig.pass(1, &frame(ArpMessage::request(mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254)), None));
        let sent = rig.pass(2, &datagram());
        assert_eq!(sent.len(), 1, "{:?}", rig.router.discards());
        assert_eq!((sent[0].0, &sent[0].1[34..36]), (2, &[3, 1][..]), "host unreachable");
        rig.wait(Duration::from_secs(5));
        assert!(rig.take(1).is_empty(), "nobody is asked");
        rig.run("/ip arp add address=10.0.1.1 mac-address=06:00:00:00:00:01 interface=ether1");
        let sent = rig.pass(2, &datagram());
        assert_eq!(sent.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [1]);
        assert_eq!(rig.frames_in_use(), 0);
    }
}

/// An interface with an `arp-timeout` of its own asks again by that.
#[test]
fn timeouts_of_interfaces() {
    for (set, seconds) in [("", 30), ("/interface ethernet set ether1 arp-timeout=5s", 5)] {
        let mut rig = Rig::new(4, &format!("{NETS}{set}"));
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        let known = |rig: &mut Rig| rig.run("/ip arp print").contains("06:00:00:00:00:01");
        rig.wait(Duration::from_secs(seconds - 1));
        assert!(known(&mut rig), "{set}");
        rig.wait(Duration::from_secs(6));
        assert!(!known(&mut rig), "{set}: unused");
    }
}
