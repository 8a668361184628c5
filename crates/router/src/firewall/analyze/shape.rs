//! A rule's packets: cubes, and what a cube cannot say.
//!
//! ```text
//! src-address, protocol, port, state, marks …   ─► cubes, exact
//! limit, content, address lists that rules fill … ─► conditions: they hold or do not
//! ```
//!
//! A condition that depends on the packet alone is the same wherever it stands. One that remembers
//! (`limit`, `nth`) is each rule's own: what it says of a packet is not known beforehand.

use super::cube::{
    CONNECTION_MARK, Cube, DSCP, DST, DST_PORT, FLAGS, FRAGMENT, ICMP, IN, LEN, NAT, OUT,
    PACKET_MARK, PROTOCOL, ROUTING_MARK, Ranges, SRC, SRC_PORT, STATE, TTL,
};
use crate::firewall::address_list::AddressLists;
use crate::firewall::mark::Mark;
use crate::firewall::matcher::{List, Matcher, What};
use crate::firewall::rule::Ruleset;
use crate::interface::InterfaceId;
use config::{Item, ItemId};
use std::collections::HashMap;
use wire::layers::protocol;

/// What a rule lets through.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// No two have packets in common.
    pub(crate) cubes: Vec<Cube>,
    /// What has to hold beside, by number; negated ones are told from others.
    pub(crate) conditions: Vec<(usize, bool)>,
}

/// Conditions, by their number.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    texts: Vec<String>,
    numbers: HashMap<(String, Option<ItemId>), usize>,
}

impl Conditions {
    fn of(&mut self, text: String, whose: Option<ItemId>) -> usize {
        let next = self.texts.len();
        let number = *self.numbers.entry((text.clone(), whose)).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        number
    }

    /// The one that stands for what is not known.
    pub(crate) fn unknown(&mut self) -> usize {
        self.of("what a rule before makes of the TTL".to_string(), None)
    }

    pub(crate) fn text(&self, number: usize) -> &str {
        &self.texts[number]
    }
}

/// Which lists have entries that come and go.
pub(crate) type Changing<'a> = &'a dyn Fn(&List) -> bool;

impl<A: Copy + PartialEq> Ruleset<A> {
    /// The shapes of all rules; `item` finds what was typed.
    pub(crate) fn shapes<'a>(
        &self,
        item: impl Fn(ItemId) -> Option<&'a Item>,
        changing: Changing,
        conditions: &mut Conditions,
    ) -> Vec<Shape> {
        let rules = self.notes.iter().zip(&self.rules);
        rules
            .map(|(note, rule)| {
                let mut shape = Shape { cubes: vec![Cube::all()], conditions: Vec::new() };
                for matcher in note.gate.iter().chain(&*rule.matchers) {
                    match cubes(matcher, &self.lists, changing) {
                        Some(cubes) => shape.cubes = and(&shape.cubes, &cubes),
                        None => {
                            let name = matcher.what.name();
                            let typed = item(note.item).and_then(|item| item.get(name));
                            let typed = typed.map_or(String::new(), ToString::to_string);
                            let plain = typed.trim_start_matches('!');
                            let whose = matcher.what.varies().then_some(note.item);
                            let number = conditions.of(format!("{name}={plain}"), whose);
                            shape.conditions.push((number, !matcher.not));
                        }
                    }
                }
                shape
            })
            .collect()
    }
}

/// What is in both, each a union.
fn and(these: &[Cube], those: &[Cube]) -> Vec<Cube> {
    these.iter().flat_map(|one| those.iter().filter_map(|other| one.and(other))).collect()
}

/// The packets that match; `None` if cubes cannot say.
fn cubes(matcher: &Matcher, lists: &AddressLists, changing: Changing) -> Option<Vec<Cube>> {
    let not = matcher.not;
    let all = Cube::all();
    let field = |field: usize, ranges: Ranges| all.with(field, &ranges, not).into_iter().collect();
    let interfaces =
        |at: usize, set: &[InterfaceId]| field(at, Ranges::of(set.iter().map(|id| (id.0, id.0))));
    let bits = |set: u8| (0..8u32).filter(move |bit| set >> bit & 1 == 1).map(|bit| (bit, bit));
    let numbers = |ranges: &[(u16, u16)]| {
        Ranges::of(ranges.iter().map(|&(first, last)| (first.into(), last.into())))
    };
    let list = |at: usize, list: &List| {
        let known = lists.get(list.set).ranges().filter(|_| !changing(list))?;
        Some(field(at, Ranges::of(known)))
    };
    // Of these protocols, and with a transport header.
    let of = |protocols: &[u8], cubes: Vec<Cube>| {
        let protocols = Ranges::of(protocols.iter().map(|&p| (p.into(), p.into())));
        let headed =
            all.with(PROTOCOL, &protocols, false)?.with(FRAGMENT, &Ranges::one(0), false)?;
        Some(and(&cubes, &[headed]))
    };
    let ports = [protocol::TCP, protocol::UDP];
    let mark = |at: usize, marks: &[Mark]| {
        field(at, Ranges::of(marks.iter().map(|mark| (mark.0.into(), mark.0.into()))))
    };
    Some(match &matcher.what {
        What::InInterface(set) => interfaces(IN, set),
        What::OutInterface(set) => interfaces(OUT, set),
        What::Protocol(number) => field(PROTOCOL, Ranges::one((*number).into())),
        What::Fragment => field(FRAGMENT, Ranges::one(1)),
        What::SrcAddress(range) => field(SRC, (*range).into()),
        What::DstAddress(range) => field(DST, (*range).into()),
        What::SrcAddressList(known) => list(SRC, known)?,
        What::DstAddressList(known) => list(DST, known)?,
        What::SrcPort(list) => of(&ports, field(SRC_PORT, numbers(list)))?,
        What::DstPort(list) => of(&ports, field(DST_PORT, numbers(list)))?,
        What::Port(list) => {
            let list = numbers(list);
            let outside = all.with(SRC_PORT, &list, true);
            let either = match not {
                false => {
                    let here = all.with(SRC_PORT, &list, false);
                    let there = outside.and_then(|cube| cube.with(DST_PORT, &list, false));
                    here.into_iter().chain(there).collect()
                }
                true => {
                    outside.and_then(|cube| cube.with(DST_PORT, &list, true)).into_iter().collect()
                }
            };
            of(&ports, either)?
        }
        What::Ttl(ttl) => {
            let range = Ranges::of([(ttl.range.0.into(), ttl.range.1.into())]);
            all.with(TTL, &range, ttl.not != not).into_iter().collect()
        }
        What::Dscp(dscp) => field(DSCP, Ranges::one((*dscp).into())),
        What::PacketSize(low, high) => field(LEN, Ranges::of([((*low).into(), (*high).into())])),
        What::TcpFlags(want) => {
            let flags = (0..256u32).filter(|flags| {
                let flags = *flags as u8;
                flags & want.set == want.set && flags & want.unset == 0
            });
            of(&[protocol::TCP], field(FLAGS, Ranges::of(flags.map(|flags| (flags, flags)))))?
        }
        What::IcmpOptions(want) => {
            let code = |code: u8| u32::from(want.kind) << 8 | u32::from(code);
            let codes = Ranges::of([(code(want.codes.0), code(want.codes.1))]);
            of(&[protocol::ICMP], field(ICMP, codes))?
        }
        What::PacketMark(marks) => mark(PACKET_MARK, marks),
        What::RoutingMark(one) => mark(ROUTING_MARK, &[*one]),
        What::ConnectionMark(one) => mark(CONNECTION_MARK, &[*one]),
        What::ConnectionState(set) => field(STATE, Ranges::of(bits(*set))),
        What::ConnectionNatState(set) => {
            let states = (0..4u32).filter(|state| *state as u8 & set != 0);
            field(NAT, Ranges::of(states.map(|state| (state, state))))
        }
        _ => return None,
    })
}
