//! Neighbours when the configuration changes: those typed in `/ip arp`, and those learnt.

use crate::rig::{Rig, mac, own_mac};
use router::ip::neighbour::FedNeighbour;
use wire::craft::{self, ip};

const TWO_NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2";

fn datagram() -> craft::Frame<'static> {
    craft::Frame {
        src_mac: mac(1),
        dst_mac: own_mac(1),
        ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
    }
}

/// Where what comes out goes, or that it is ARP.
fn out(rig: &mut Rig) -> Vec<(usize, [u8; 6], bool)> {
    let out = rig.pass(1, &datagram().build());
    let is_arp = |frame: &[u8]| frame[12..14] == [0x08, 0x06];
    out.iter().map(|(port, frame)| (*port, frame[..6].try_into().unwrap(), is_arp(frame))).collect()
}

#[test]
fn a_typed_neighbour_needs_no_request() {
    for reference in [false, true] {
        let mut rig = Rig::new(2, TWO_NETS);
        rig.router.set_reference(reference);
        rig.run("/ip arp add address=10.0.2.1 mac-address=06:00:00:00:00:07 interface=ether2");
        assert_eq!(out(&mut rig), [(2, mac(7).0, false)]);
        rig.run("/ip arp set [find address=10.0.2.1] mac-address=06:00:00:00:00:08");
        assert_eq!(out(&mut rig), [(2, mac(8).0, false)]);
        rig.run("/ip arp remove [find address=10.0.2.1]");
        assert_eq!(out(&mut rig), [(2, [0xff; 6], true)], "asks, as nobody is typed any more");
    }
}

/// The frame that made the router ask is given up by name, and the next one goes.
#[test]
fn a_neighbour_typed_while_it_is_asked_for() {
    let mut rig = Rig::new(2, TWO_NETS);
    assert_eq!(out(&mut rig), [(2, [0xff; 6], true)]);
    rig.run("/ip arp add address=10.0.2.1 mac-address=06:00:00:00:00:07 interface=ether2");
    assert_eq!(out(&mut rig), [(2, mac(7).0, false)]);
    let discards: Vec<_> = rig.router.discards().iter().map(|(why, n)| (why.name(), n)).collect();
    assert_eq!(discards, [("neighbour-unreachable", 1)]);
    assert_eq!(rig.frames_in_use(), 0);
}

/// What is written in front of packets follows the interface's own MAC address; the neighbour stays.
#[test]
fn a_changed_interface_is_not_used_as_it_was() {
    for reference in [false, true] {
        let mut rig = Rig::new(2, TWO_NETS);
        rig.router.set_reference(reference);
        rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
        assert_eq!(out(&mut rig), [(2, mac(2).0, false)]);
        rig.run("/interface ethernet set ether2 mac-address=02:00:00:00:00:99");
        rig.router.set_reference(reference);
        for _ in 0..2 {
            let sent = rig.pass(1, &datagram().build());
            assert_eq!(sent.len(), 1);
            let (port, frame) = &sent[0];
            assert_eq!((*port, &frame[..12]), (2, &[6, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0x99][..]));
        }
    }
}

/// What somebody else knows is used as long as it is told, and gives way to what is known better.
#[test]
fn neighbours_that_are_fed() {
    const ASKS: (usize, [u8; 6], bool) = (2, [0xff; 6], true);
    for reference in [false, true] {
        let mut rig = Rig::new(2, TWO_NETS);
        rig.router.set_reference(reference);
        let interface = rig.ether(2);
        let told =
            |n, sure| FedNeighbour { interface, address: ip(10, 0, 2, 1), mac: mac(n), sure };
        let feed = |rig: &mut Rig, all: &[FedNeighbour]| {
            rig.router.feed_neighbours(rig.now, all.iter().copied());
        };
        let by = |n: u8| (2, mac(n).0, false);
        feed(&mut rig, &[told(7, false)]);
        assert_eq!(out(&mut rig), [ASKS], "stale ones are none");
        feed(&mut rig, &[told(7, true)]);
        assert_eq!(out(&mut rig), [by(7), by(7)], "the one that waited goes as well");
        feed(&mut rig, &[told(8, true)]);
        assert_eq!(out(&mut rig), [by(8)]);
        feed(&mut rig, &[told(9, false)]);
        assert_eq!(out(&mut rig), [by(8)], "stale ones change nothing");
        feed(&mut rig, &[told(8, true)]);
        // ARP says otherwise, later: that counts until something else is fed.
        rig.introduce(2, mac(5), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
        assert_eq!(out(&mut rig), [by(5)]);
        feed(&mut rig, &[told(8, true)]);
        assert_eq!(out(&mut rig), [by(5)]);
        feed(&mut rig, &[]);
        assert_eq!(out(&mut rig), [by(5)], "it is the router's own");
        feed(&mut rig, &[told(6, true)]);
        assert_eq!(out(&mut rig), [by(6)]);
        let listed = rig.run("/ip arp print where dynamic complete status=reachable");
        assert!(listed.contains("06:00:00:00:00:06"), "{listed}");
        // What is typed counts more, and the other one is back when it is not typed any more.
        rig.run("/ip arp add address=10.0.2.1 mac-address=06:00:00:00:00:04 interface=ether2");
        feed(&mut rig, &[told(6, true)]);
        assert_eq!(out(&mut rig), [by(4)]);
        rig.run("/ip arp remove [find address=10.0.2.1]");
        feed(&mut rig, &[told(6, true)]);
        assert_eq!(out(&mut rig), [by(6)]);
        feed(&mut rig, &[]);
        assert_eq!(out(&mut rig), [ASKS], "it is gone");
        // Nobody is told of the router itself.
        feed(&mut rig, &[FedNeighbour { address: ip(10, 0, 2, 254), ..told(6, true) }]);
        assert_eq!(rig.router.neighbours().iter().filter(|a| a.mac.is_some()).count(), 0);
    }
}
