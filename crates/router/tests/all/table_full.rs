//! A full connection table: what is established is kept, what is new is refused and counted.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
use wire::craft::{self, Frame, ip};

const CLIENT: u32 = ip(10, 0, 1, 1);
const SERVER: u32 = ip(10, 0, 2, 1);
const PLACES: u16 = 200;

#[test]
fn a_full_table_keeps_what_is_established() {
    for reference in [false, true] {
        check(reference);
    }
}

fn check(reference: bool) {
    let mut rig = Rig::new(
        2,
        "/ip firewall connection tracking set enabled=yes
/ip address add address=10.0.1.254/24 interface=ether1
/ip address add address=10.0.2.254/24 interface=ether2",
    );
    rig.router.set_reference(reference);
    rig.router.set_max_entries(PLACES.into());
    rig.introduce(1, mac(1), CLIENT, ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), SERVER, ip(10, 0, 2, 254));
    let there = |port: u16| {
        let frame = craft::udp(CLIENT, port, SERVER, 53);
        Frame { src_mac: mac(1), dst_mac: own_mac(1), ..frame }.build()
    };
    let back = |port: u16| {
        let frame = craft::udp(SERVER, 53, CLIENT, port);
        Frame { src_mac: mac(2), dst_mac: own_mac(2), ..frame }.build()
    };
    let talk =
        |rig: &mut Rig, port: u16| rig.pass(1, &there(port)).len() + rig.pass(2, &back(port)).len();

    // Half full of conversations. A flood of first packets: each ousts one of its like.
    for port in 1000..1000 + PLACES / 2 {
        assert_eq!((talk(&mut rig, port), talk(&mut rig, port)), (2, 2));
    }
    for port in 20_000..25_000 {
        assert_eq!(rig.pass(1, &there(port)).len(), 1, "there is always one to be ousted");
    }
    for port in 1000..1000 + PLACES / 2 {
        assert_eq!(talk(&mut rig, port), 2, "reference {reference}: conversation {port} was lost");
    }
    // Full of conversations: now first packets are refused, each by its name.
    for port in 3000..3000 + PLACES / 2 {
        assert_eq!((talk(&mut rig, port), talk(&mut rig, port)), (2, 2));
    }
    assert_eq!(rig.router.discards().total(), 0, "{:?}", rig.router.discards());
    for port in 30_000..31_000 {
        assert_eq!(rig.pass(1, &there(port)), []);
    }
    assert_eq!(rig.router.discards().get(Discard::ConnectionTableFull), 1000);
    assert_eq!(rig.router.discards().total(), 1000);
    for port in (1000..1000 + PLACES / 2).chain(3000..3000 + PLACES / 2) {
        assert_eq!(talk(&mut rig, port), 2, "reference {reference}: conversation {port} was lost");
    }
}
