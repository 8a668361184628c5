//! Regressions: what the random test has found, each shrunk and named.

use crate::configuration::Configuration;
use crate::traffic::{Answer, Packet};
use crate::{Step, check};
use wire::craft::ip;

fn one(packet: Packet) -> Step {
    Step::Send(vec![(packet, 1)])
}

fn times(packet: Packet, n: usize) -> Step {
    Step::Send(vec![(packet, n)])
}

fn say(line: &str) -> Step {
    Step::Type(line.into())
}

/// A name, which ports are bridged, lines typed at the beginning, and what happened.
type Case = (&'static str, u8, &'static [&'static str], Vec<Step>);

#[test]
fn found_before() {
    let far = ip(10, 0, 2, 1);
    let well = || Step::Answer(Answer::Well(0));
    let there = || Packet::udp(1, far);
    const FASTTRACK: &str = "/ip firewall filter add chain=forward action=fasttrack-connection";
    let cases: Vec<Case> = vec![
        (
            "a later fragment for the router itself is no segment to reset",
            0,
            &[],
            vec![one(Packet::udp(1, ip(10, 0, 1, 254)).syn_backwards())],
        ),
        (
            "nor is one that a rule rejects",
            0,
            &[
                "/ip firewall filter add chain=forward action=reject reject-with=tcp-reset",
                "/ip firewall connection tracking set enabled=no",
            ],
            vec![one(there().syn_backwards())],
        ),
        (
            "what is routed to a bridge leaves by its ports",
            0b0110,
            &[],
            vec![one(Packet::arp(1)), one(Packet::arp(2)), times(there(), 3), well(), well()],
        ),
        (
            "ip-forward=no holds on the fast path",
            0,
            &["/ip settings set ip-forward=no"],
            vec![one(Packet::arp(2)), times(there(), 3)],
        ),
        (
            "FastTracked packets count once, whichever way they were carried",
            0,
            &[FASTTRACK],
            vec![one(Packet::arp(2)), times(there(), 2), well(), well(), well(), times(there(), 9)],
        ),
        (
            "a queue that drops does not keep its neighbour alive",
            0,
            &["/queue simple add target=0.0.0.0/0 max-limit=8k/0"],
            vec![one(Packet::arp(2)), times(there(), 63), Step::Wait(1, 1), one(there())],
        ),
        (
            "nor does a packet that is too long",
            0,
            &["/interface ethernet set ether2 mtu=600"],
            vec![one(Packet::arp(2)), Step::Wait(1, 1), one(there().whole(1000))],
        ),
        (
            "a flow set up for FastTrack keeps no recipe of the regular way",
            0,
            &["/ip firewall connection tracking set enabled=yes"],
            vec![
                one(Packet::arp(2)),
                one(there()),
                well(),
                one(there()),
                well(),
                say(FASTTRACK),
                times(there(), 5),
                well(),
                well(),
            ],
        ),
        (
            "a marked connection's regular packets are counted apart",
            0,
            &["/ip settings set allow-fast-path=no", FASTTRACK],
            vec![one(Packet::arp(2)), times(there(), 2), well(), times(there(), 10), well()],
        ),
        (
            "places of queues are used again in a fixed order",
            0,
            &[
                "/queue simple add target=10.0.1.0/24",
                "/queue simple add target=10.0.2.0/24",
                "/queue simple add target=10.0.3.0/24",
            ],
            vec![
                say("/queue simple remove [find]"),
                say("/queue simple add target=10.0.2.0/24"),
                say("/queue simple add target=10.0.1.0/24"),
                times(there(), 3),
                Step::Wait(383, 4),
            ],
        ),
        (
            "what was taken out quickly and goes on slowly lies one deeper, not two",
            0b0011,
            &[
                "/interface eoip add name=tunnel3 remote-address=10.0.2.1 tunnel-id=1 \
                 keepalive=0s,0",
                "/interface bridge port add bridge=bridge1 interface=tunnel3",
                "/interface bridge port set [find interface=ether2] learn=no",
            ],
            vec![
                one(Packet::udp(1, ip(10, 0, 1, 1))),
                one(Packet::udp(1, ip(10, 0, 1, 1))),
                Step::Send(vec![
                    (Packet::udp(2, ip(10, 0, 1, 1)).bridged(), 1),
                    (Packet::gratuitous(2), 1),
                ]),
                well(),
                well(),
            ],
        ),
    ];
    for (name, bridged, typed, steps) in cases {
        if let Err(story) = check(&Configuration::of(bridged, typed), &steps) {
            panic!("{name}\n{story}");
        }
    }
}
