//! Comparison of the analysis with all packets of a small world, one by one, through the walk that carries
//! packets.

use crate::firewall::analyze::cube::{
    DST, DST_PORT, IN, OUT, PROTOCOL, Ranges, SRC, SRC_PORT, STATE, TTL,
};
use crate::firewall::analyze::shape::Conditions;
use crate::firewall::analyze::{Difference, Finding, Shaped, change};
use crate::firewall::filter::{Filter, Last};
use crate::firewall::tests::{Fixture, Packet};
use crate::interface::InterfaceId;
use crate::packet::ConnectionState;
use proptest::prelude::*;
use wire::craft::{self, Body, Frame, ip};

/// A chain's number in the filter.
const FORWARD: usize = 1;

/// All packets that rules of this world can tell apart, one of each kind.
fn world() -> Vec<Packet> {
    let mut all = Vec::new();
    for (protocol, src) in [6, 17, 1].into_iter().flat_map(|p| (0..5).map(move |src| (p, src))) {
        for ports in [21, 22, 80, 443].into_iter().flat_map(|to| [(1000, to), (80, to)]) {
            for state in [ConnectionState::New, ConnectionState::Established] {
                for input in [1, 2] {
                    let packets = [1, 64, 200].map(|ttl| (protocol, src, ports, state, input, ttl));
                    all.extend(packets.map(packet));
                }
            }
        }
    }
    all
}

fn packet(
    (protocol, src, (src_port, dst_port), state, input, ttl): (
        u8,
        u8,
        (u16, u16),
        ConnectionState,
        u16,
        u8,
    ),
) -> Packet {
    let udp = craft::udp(ip(10, 0, 0, src), src_port, ip(10, 0, 1, 1), dst_port);
    let body = match protocol {
        6 => Body::Tcp {
            header: wire::tcp::TcpHeader { src_port, dst_port, ..Default::default() },
            options: &[],
        },
        17 => udp.body,
        _ => Body::Icmp(wire::icmp::IcmpHeader::echo_request(1, 1)),
    };
    let mut packet = Packet::of(&Frame { body, ttl, ..udp });
    (packet.in_interface, packet.state) = (InterfaceId(input.into()), state);
    packet
}

/// The packet of this world that is in a cube.
fn of_cube<A>(difference: &Difference<A>) -> Option<Packet> {
    let cube = &difference.cube;
    world().into_iter().find(|packet| {
        let tuple = packet.layers.tuple;
        let has_ports = matches!(tuple.protocol, 6 | 17);
        let values = [
            (PROTOCOL, tuple.protocol.into()),
            (SRC, tuple.src),
            (DST, tuple.dst),
            (STATE, packet.state as u32),
            (IN, packet.in_interface.0),
            (OUT, packet.out_interface.0),
            (TTL, packet.frame[14 + 8].into()),
        ];
        values.iter().all(|&(field, value)| cube.values(field).contains(value))
            && (!has_ports || cube.values(DST_PORT).contains(tuple.dst_port.into()))
            && (!has_ports || cube.values(SRC_PORT).contains(tuple.src_port.into()))
    })
}

/// What a rule of this world says.
fn rules() -> impl Strategy<Value = String> {
    let protocol =
        prop::sample::select(vec!["", "protocol=tcp ", "protocol=udp ", "protocol=!tcp "]);
    let src = prop::sample::select(vec![
        "",
        "src-address=10.0.0.0/31 ",
        "src-address=!10.0.0.1 ",
        "src-address=10.0.0.1-10.0.0.2 ",
        "src-address-list=some ",
        "src-address-list=!some ",
    ]);
    let port = prop::sample::select(vec![
        "",
        "",
        "dst-port=22 ",
        "dst-port=!21,80 ",
        "port=80 ",
        "port=!80 ",
    ]);
    let state = prop::sample::select(vec!["", "connection-state=new ", "connection-state=!new "]);
    let more = prop::sample::select(vec![
        "",
        "in-interface=ether1 ",
        "ttl=less-than:5 ",
        "ttl=not-equal:64 ",
    ]);
    let action = prop::sample::select(vec![
        "accept",
        "drop",
        "accept",
        "drop",
        "passthrough",
        "jump jump-target=own",
        "return",
    ]);
    let chain = prop::sample::select(vec!["forward", "forward", "own"]);
    (protocol, src, port, state, more, action, chain).prop_map(
        |(protocol, src, port, state, more, action, chain)| {
            let port =
                if protocol.contains("=tcp ") || protocol.contains("=udp ") { port } else { "" };
            let action = if chain == "own" && action.starts_with("jump") { "drop" } else { action };
            format!("add chain={chain} {protocol}{src}{port}{state}{more}action={action}\n")
        },
    )
}

const LIST: &str = "/ip firewall address-list add list=some address=10.0.0.1
/ip firewall address-list add list=some address=10.0.0.3\n/ip firewall filter\n";

struct Analyzed {
    fixture: Fixture,
    interfaces: Ranges,
}

impl Analyzed {
    fn new(rules: &[String]) -> Analyzed {
        let fixture = Fixture::new(&format!("{LIST}{}", rules.concat()));
        Analyzed { fixture, interfaces: Ranges::of([(1, 2)]) }
    }

    fn filter(&self) -> &Filter {
        self.fixture.filter()
    }
}

fn found(old: &Analyzed, new: &Analyzed) -> (Vec<Difference<Last>>, Vec<Option<Finding>>) {
    let mut conditions = Conditions::default();
    let unknown = conditions.unknown();
    let mut shapes = |of: &Analyzed| {
        of.filter().rules().shapes(|id| of.fixture.item(id), &|_| false, &mut conditions)
    };
    let (old_shapes, new_shapes) = (shapes(old), shapes(new));
    let before = Shaped {
        rules: old.filter().rules(),
        shapes: &old_shapes,
        interfaces: &old.interfaces,
        unknown,
    };
    let after = Shaped {
        rules: new.filter().rules(),
        shapes: &new_shapes,
        interfaces: &new.interfaces,
        unknown,
    };
    let differences = change(&before, &after, usize::MAX).expect("few kinds of packets");
    let findings = (0..old_shapes.len()).map(|at| before.finding(at)).collect();
    (differences, findings)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A change is found if and only if a packet fares otherwise, and each packet shown does.
    #[test]
    fn changes_are_what_packets_meet(
        mut before in prop::collection::vec(rules(), 1..7),
        fresh in rules(),
        at in any::<prop::sample::Index>(),
        how in 0..3,
    ) {
        let mut after = before.clone();
        let at = at.index(before.len());
        match how {
            0 => after[at] = fresh,
            1 => after.insert(at, fresh),
            _ => _ = after.remove(at),
        }
        // So that jumps have a target.
        for rules in [&mut before, &mut after] {
            rules.push("add chain=own action=passthrough\n".to_string());
        }
        let (mut old, mut new) = (Analyzed::new(&before), Analyzed::new(&after));
        let (differences, findings) = found(&old, &new);
        let fares = |of: &mut Analyzed, packet: &Packet| of.fixture.forward(packet);
        let mut differs = false;
        for packet in world() {
            differs |= fares(&mut old, &packet) != fares(&mut new, &packet);
        }
        let found: Vec<_> = differences.iter().filter(|found| found.hook == FORWARD).collect();
        prop_assert_eq!(!found.is_empty(), differs, "{:?}\n{:?}\n{:?}", before, after, found);
        for difference in found {
            if let Some(packet) = of_cube(difference) {
                let (was, is) = (fares(&mut old, &packet), fares(&mut new, &packet));
                prop_assert!(was != is, "{before:?}\n{after:?}\n{difference:?}: {was:?}");
            }
        }
        // Rules of chain forward that met no packet are those that are unreachable.
        let counted = old.fixture.packets();
        for (at, finding) in findings.iter().enumerate() {
            let number = old.filter().rules().notes[at].number;
            let unreachable = matches!(finding, Some(Finding::Unreachable(_)));
            prop_assert_eq!(
                unreachable, counted[number] == 0, "{}: {:?}\n{:?}", number, finding, before
            );
            if let Some(Finding::Redundant(_)) = finding {
                let mut fewer = before.clone();
                fewer.remove(number);
                let mut fewer = Analyzed::new(&fewer);
                for packet in world() {
                    let (was, is) = (fares(&mut old, &packet), fares(&mut fewer, &packet));
                    prop_assert_eq!(was, is, "{} {:?}", number, before);
                }
            }
        }
    }
}

#[test]
fn the_reasons() {
    let check = |rules: &str, at: usize, expected: Option<Finding>| {
        let rules: Vec<String> = rules.lines().map(|line| format!("add {line}\n")).collect();
        let analyzed = Analyzed::new(&rules);
        let (_, findings) = found(&analyzed, &analyzed);
        assert_eq!(findings[at], expected, "{rules:?}");
    };
    check(
        "chain=forward action=drop\nchain=forward protocol=tcp action=accept",
        1,
        Some(Finding::Unreachable(vec![0])),
    );
    check(
        "chain=forward src-address=0.0.0.0/1 action=drop\nchain=forward src-address=128.0.0.0/1 action=drop\nchain=forward protocol=tcp action=accept",
        2,
        Some(Finding::Unreachable(vec![0, 1])),
    );
    check(
        "chain=forward protocol=tcp action=drop\nchain=forward action=drop",
        0,
        Some(Finding::Redundant(vec![1])),
    );
    check("chain=forward protocol=tcp action=drop\nchain=forward action=drop", 1, None);
    check("chain=forward limit=1,1:packet action=drop\nchain=forward action=accept", 0, None);
}
