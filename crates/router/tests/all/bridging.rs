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
