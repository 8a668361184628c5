//! Bridging between ports, on both paths.

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
