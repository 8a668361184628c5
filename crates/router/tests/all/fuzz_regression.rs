//! Crashers of the `router` fuzz target: each case shrunk to what it takes, and described.

use crate::rig::{Rig, mac, own_mac};
use router::counter::Count;
use wire::craft::{self, ip};

const TWO_NETS: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2
";

fn two_nets(script: &str, reference: bool) -> Rig {
    let mut rig = Rig::new(2, &format!("{TWO_NETS}{script}"));
    rig.router.set_reference(reference);
    rig.introduce(1, mac(1), ip(10, 0, 1, 1), ip(10, 0, 1, 254));
    rig.introduce(2, mac(2), ip(10, 0, 2, 1), ip(10, 0, 2, 254));
    rig
}

/// A UDP packet from one host to the other, from port 1 or 2.
fn udp(from: u8) -> Vec<u8> {
    let to = 3 - from;
    let frame = craft::Frame {
        src_mac: mac(from),
        dst_mac: own_mac(from),
        ..craft::udp(
            ip(10, 0, from, 1),
            1000 * u16::from(from),
            ip(10, 0, to, 1),
            1000 * u16::from(to),
        )
    };
    frame.build()
}

/// The packet that marked its connection left a recipe of the regular path, and the next ones
/// replayed that: counted by the rules once more, and not as FastTrack. On the slow path
/// FastTracked packets were counted as FastPath too.
#[test]
fn the_marking_packet_leaves_no_recipe() {
    let script = "/ip firewall filter
add chain=forward connection-state=established,related action=fasttrack-connection
add chain=forward";
    for reference in [true, false] {
        let mut rig = two_nets(script, reference);
        let mut out = 0;
        for from in [1, 2, 1, 2, 1, 2, 1, 2] {
            out += rig.pass(from.into(), &udp(from)).len();
        }
        assert_eq!(out, 8, "{:?}", rig.router.discards());
        let packets = |count: &Count| count.packets;
        let rules = rig.router.rule_counts("/ip firewall filter", rig.console.tree());
        let paths = rig.router.path_counts();
        // The reply and the packet after it are established; from then on each direction, once
        // marked, is FastTracked.
        let rules: Vec<u64> = rules.iter().map(packets).collect();
        let seen = (rules, packets(&paths.ipv4_fasttrack), packets(&paths.ipv4_fast_path));
        assert_eq!(seen, (vec![2, 3], 5, 0), "reference: {reference}");
    }
}

/// Without tracking, rules and queues, what was routed out by a bridge was handed to the bridge as
/// if it were a port, and lost.
#[test]
fn routed_out_by_a_bridge() {
    let script = "/interface bridge add name=bridge1 protocol-mode=none
/interface bridge port add bridge=bridge1 interface=ether2
/ip address set [find interface=ether2] interface=bridge1";
    for reference in [true, false] {
        let mut rig = two_nets(script, reference);
        let out = rig.pass(1, &udp(1));
        assert_eq!(out.len(), 1, "{:?}, reference: {reference}", rig.router.discards());
        assert_eq!(out[0].0, 2);
    }
}
