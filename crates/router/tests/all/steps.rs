//! The worked traces of the packet flow (`routeros/B-packet-flow.md`, B.6): which boxes a packet
//! passes, in the manual's order.

use crate::rig::{Rig, mac, own_mac};
use router::step::Step::{self, *};
use wire::craft::{self, Frame, ip};

const ROUTED: &str = "/ip address
add address=10.0.1.254/24 interface=ether1
add address=10.0.2.254/24 interface=ether2";

const BRIDGED: &str = "/interface bridge add protocol-mode=none
/interface bridge port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
/ip address add address=10.0.1.254/24 interface=bridge1";

/// What the boxes between the port and the routing decision are.
const PREROUTING: [Step; 8] = [
    PhysicalIn,
    MplsDecision,
    HotspotIn,
    RawPrerouting,
    TrackPrerouting,
    ManglePrerouting,
    DstNat,
    RoutingDecision,
];
const POSTROUTING: [Step; 9] = [
    ManglePostrouting,
    SrcNat,
    HotspotOut,
    HtbGlobal,
    SimpleQueues,
    IpsecPolicy,
    MplsOutput,
    InterfaceHtb,
    PhysicalOut,
];
const FORWARD: [Step; 4] = [Ttl, MangleForward, FilterForward, Accounting];
const INPUT: [Step; 5] = [MangleInput, FilterInput, HtbGlobalInput, SimpleQueuesInput, LocalIn];
const OUTPUT: [Step; 7] = [
    LocalOut,
    RoutingDecision,
    RawOutput,
    TrackOutput,
    MangleOutput,
    FilterOutput,
    RoutingAdjustment,
];

#[test]
fn worked_traces() {
    let (one, two, router) = (ip(10, 0, 1, 1), ip(10, 0, 2, 1), ip(10, 0, 1, 254));
    let routed = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..craft::udp(one, 1, two, 2) };
    let bridged = Frame { src_mac: mac(1), dst_mac: mac(2), ..craft::udp(one, 1, two, 2) };
    let ping = Frame { src_mac: mac(1), dst_mac: own_mac(1), ..craft::ping(one, router) };
    let tagged = Frame { vlan: Some(wire::vlan::Tci::new(5, 0)), ..routed };
    let bridge = [
        PhysicalIn,
        BridgeDstNat,
        BridgingDecision,
        BridgeForward,
        BridgeSrcNat,
        InterfaceHtb,
        PhysicalOut,
    ];
    let cases: [(&str, &str, Frame, Vec<Step>); 4] = [
        ("ether1 to ether2", ROUTED, routed, [&PREROUTING[..], &FORWARD, &POSTROUTING].concat()),
        ("bridge ether1 to ether2", BRIDGED, bridged, bridge.to_vec()),
        (
            "the router is pinged, and answers",
            ROUTED,
            ping,
            [&PREROUTING[..], &INPUT, &OUTPUT, &POSTROUTING].concat(),
        ),
        ("vlan on ether1, which nobody takes", ROUTED, tagged, vec![PhysicalIn, MplsDecision]),
    ];
    for (name, script, frame, expected) in cases {
        let mut rig = Rig::new(2, script);
        rig.router.set_reference(true);
        rig.introduce(1, mac(1), one, router);
        if script == ROUTED {
            rig.introduce(2, mac(2), two, ip(10, 0, 2, 254));
        }
        rig.router.watch_steps();
        rig.pass(1, &frame.build());
        assert_eq!(rig.router.watch_steps(), expected, "{name}");
    }
}
