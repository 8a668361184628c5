//! Routing between connected networks, on both paths.

mod rig;

use rig::{Rig, mac, own_mac};
use wire::craft::{self, ip};

const TWO_NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2";

fn two_nets() -> Rig {
    let mut rig = Rig::new(2, TWO_NETS);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig
}

#[test]
fn a_packet_is_routed() {
    for reference in [false, true] {
        let mut rig = two_nets();
        rig.router.set_reference(reference);
        let frame = craft::Frame {
            src_mac: mac(1),
            dst_mac: own_mac(1),
            ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
        };
        let out = rig.pass(1, &frame.build());
        let expected =
            craft::Frame { src_mac: own_mac(2), dst_mac: mac(2), ttl: frame.ttl - 1, ..frame };
        assert_eq!(out, [(2, expected.build())], "{:?}", rig.router.discards());
    }
}
