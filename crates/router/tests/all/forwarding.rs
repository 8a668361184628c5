//! Routing between connected networks, on both paths.

use crate::rig::{Rig, mac, own_mac};
use router::discard::Discard;
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

/// From outside come no packets of the router's own, or of its networks' broadcasts; `10.0.1.1` is
/// somebody else's.
#[test]
fn the_routers_own_sources_are_martian() {
    for reference in [false, true] {
        for (src, martian) in [
            (ip(10, 0, 1, 1), 0),
            (ip(10, 0, 1, 254), 1),
            (ip(10, 0, 2, 254), 1),
            (ip(10, 0, 1, 255), 1),
            (ip(10, 0, 2, 0), 1),
            (ip(10, 0, 3, 255), 0),
        ] {
            let mut rig = two_nets();
            rig.router.set_reference(reference);
            let udp = craft::udp(src, 1000, ip(10, 0, 2, 1), 2000);
            let frame = craft::Frame { src_mac: mac(1), dst_mac: own_mac(1), ..udp };
            let out = rig.pass(1, &frame.build()).len() as u64;
            let discarded = rig.router.discards().get(Discard::MartianSource);
            assert_eq!((out, discarded), (1 - martian, martian), "{src:#x}, {reference}");
        }
    }
}

/// 25 rules that match nothing, and tracking with them: the way is the same, and a recipe takes
/// over after the first packets.
#[test]
fn rules_are_passed_and_recipes_replay_them() {
    let rules: String = (0..25)
        .map(|n| format!("add chain=forward src-address=172.16.{n}.0/24 action=drop\n"))
        .collect();
    let script =
        format!("{TWO_NETS}\n/ip firewall filter\n{rules}add chain=forward protocol=udp\n");
    let mut ends = Vec::new();
    for reference in [true, false] {
        let mut rig = Rig::new(2, &script);
        rig.router.set_reference(reference);
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
        let to = |port: u16| craft::Frame {
            src_mac: mac(1),
            dst_mac: own_mac(1),
            ..craft::udp(ip(10, 0, 1, 1), port, ip(10, 0, 2, 1), 2000)
        };
        let mut out = Vec::new();
        for n in 0..100 {
            out.extend(rig.pass(1, &to(1000 + n % 10).build()));
        }
        assert_eq!(out.len(), 100, "{:?}", rig.router.discards());
        let replayed = rig.router.path_counts().replayed;
        assert_eq!(replayed, if reference { 0 } else { 80 }, "the first two of each flow are not");
        ends.push((out, rig.router.rule_counts("/ip firewall filter", rig.console.tree())));
    }
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0].1.last().unwrap().packets, 100);
}

/// RouterOS counts what FastTrack carries as such, and not as FastPath too.
#[test]
fn fasttracked_packets_are_no_fastpath_packets() {
    let rule = "add chain=forward action=fasttrack-connection connection-state=established";
    for reference in [true, false] {
        let mut rig = Rig::new(2, &format!("{TWO_NETS}\n/ip firewall filter\n{rule}\n"));
        rig.router.set_reference(reference);
        rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
        rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
        let there = craft::Frame {
            src_mac: mac(1),
            dst_mac: own_mac(1),
            ..craft::udp(ip(10, 0, 1, 1), 1000, ip(10, 0, 2, 1), 2000)
        };
        let back = craft::Frame {
            src_mac: mac(2),
            dst_mac: own_mac(2),
            ..craft::udp(ip(10, 0, 2, 1), 2000, ip(10, 0, 1, 1), 1000)
        };
        for _ in 0..10 {
            assert_eq!(rig.pass(1, &there.build()).len(), 1);
            assert_eq!(rig.pass(2, &back.build()).len(), 1);
        }
        // C.5: the first two of the original direction and the first reply are regular.
        let paths = rig.router.path_counts();
        assert_eq!((paths.ipv4_fasttrack.packets, paths.ipv4_fast_path.packets), (17, 0));
        assert_eq!(rig.router.interface_counts(rig.ether(1)).fast_rx.packets, 8);
        assert_eq!(rig.router.interface_counts(rig.ether(2)).fast_rx.packets, 9);
    }
}
