//! From items to gates, rules and chains.
//!
//! ```text
//! item ─► tests (and what they presuppose) ─► the word with most bits: gate ─┬─► chain by chain
//!                                             the other tests ───────────────┘
//! ```

use super::facts::{self, Field, KIND_ARP, KIND_IP, KIND_LLC, KIND_PORTS, KIND_STP, Test};
use super::menu::{self, FILTER};
use super::told::Note;
use super::{Chain, Filter, Gate, Rule, Step, snooping};
use crate::counter::CounterBook;
use crate::firewall::invalid::Invalid;
use crate::firewall::log::LogHead;
use crate::firewall::state::SlotBook;
use crate::firewall::syntax::{Limit, protocol_number};
use crate::interface::bridge::text;
use crate::interface::{InterfaceId, Names};
use config::{Item, Tree, Value};
use wire::MacAddr;
use wire::layers::{ETHERTYPE_ARP, ETHERTYPE_IPV4};

impl Filter {
    /// Compiles the enabled rules; those that can never match are kept apart, with the reason.
    pub fn compile(
        tree: &Tree,
        names: &Names,
        book: &mut CounterBook,
        slots: &mut SlotBook,
    ) -> Filter {
        Filter::of((FILTER.path, Chain::FILTER), tree, names, book, slots)
    }

    /// The same of `/interface bridge nat`.
    pub(crate) fn compile_nat(
        tree: &Tree,
        names: &Names,
        book: &mut CounterBook,
        slots: &mut SlotBook,
    ) -> Filter {
        Filter::of((menu::NAT.path, Chain::NAT), tree, names, book, slots)
    }

    fn of(
        (path, builtin): (&'static str, &'static [&'static str]),
        tree: &Tree,
        names: &Names,
        book: &mut CounterBook,
        slots: &mut SlotBook,
    ) -> Filter {
        let mut filter = Filter::default();
        let mut chains: Vec<&str> = builtin.to_vec();
        // A chain comes into being by use.
        for item in tree.enabled(path) {
            let name = text(item, "chain").unwrap_or_default();
            if !chains.contains(&name) {
                chains.push(name);
            }
        }
        let mut by_chain: Vec<Vec<(Gate, Rule, Note)>> = vec![Vec::new(); chains.len()];
        let mut jumps: Vec<Vec<usize>> = vec![Vec::new(); chains.len()];
        let before = if path == FILTER.path { snooping::rules(tree, names, book) } else { vec![] };
        for (chain, rule) in before {
            for (_, Test { field, .. }) in &rule.2.tests {
                filter.looks_at[usize::from(field.word)] |= field.mask << field.shift;
            }
            by_chain[chain.place()].push(rule);
        }
        for item in tree.enabled(path) {
            let name = text(item, "chain").unwrap_or_default();
            let from = chains.iter().position(|&chain| chain == name).unwrap_or_default();
            let compiled =
                step(item, from, (&chains, builtin.len()), &mut jumps).and_then(|step| {
                    let alternatives = alternatives(item, name, names)?;
                    for (_, Test { field, .. }) in alternatives.iter().flatten() {
                        filter.looks_at[usize::from(field.word)] |= field.mask << field.shift;
                    }
                    filter.looks_at_keyless |=
                        alternatives.iter().flatten().any(|(_, t)| is_keyless(t));
                    let limit = match item.get("limit").map(positive) {
                        Some((Value::Text(text), not)) => {
                            let limit = Limit::parse(text).ok_or(Invalid::Unreadable("limit"))?;
                            Some((slots.of(item.id), limit, not))
                        }
                        _ => None,
                    };
                    let logs = step == Step::Continue && text(item, "action") == Some("log");
                    let logs = logs || item.get("log") == Some(&Value::Bool(true));
                    let prefix = text(item, "log-prefix").unwrap_or_default();
                    let log = logs.then(|| LogHead::new(prefix, name));
                    let counter = book.of(item.id);
                    let rule = |named: Vec<(&'static str, Test)>| {
                        let (gate, tests) = gate(named.iter().map(|&(_, test)| test).collect());
                        let (tests, log) = (tests.into(), log.clone());
                        let rule = Rule { tests, limit, counter, log, step };
                        (gate, rule, Note { item: item.id, tests: named.into() })
                    };
                    Ok(alternatives.into_iter().map(rule).collect::<Vec<_>>())
                });
            match compiled {
                Ok(rules) => by_chain[from].extend(rules),
                Err(why) => _ = filter.invalid.insert(item.id, why),
            }
        }
        for rules in by_chain {
            let start = filter.rules.len() as u32;
            for (gate, rule, note) in rules {
                filter.gates.push(gate);
                filter.notes.push(note);
                filter.rules.push(rule);
            }
            filter.chains.push(start..filter.rules.len() as u32);
        }
        filter
    }
}

fn step(
    item: &Item,
    from: usize,
    (chains, builtin): (&[&str], usize),
    jumps: &mut [Vec<usize>],
) -> Result<Step, Invalid> {
    Ok(match text(item, "action").unwrap_or("accept") {
        "drop" => Step::Drop,
        "return" => Step::Return,
        "log" | "passthrough" => Step::Continue,
        "jump" => {
            let name = text(item, "jump-target").unwrap_or_default();
            let to = chains.iter().position(|&chain| chain == name);
            let to = to.ok_or_else(|| Invalid::NoChain(name.into()))?;
            if to < builtin {
                return Err(Invalid::BuiltinTarget(name.into()));
            }
            if reaches(to, from, jumps) {
                return Err(Invalid::Loop(name.into()));
            }
            jumps[from].push(to);
            Step::Jump(to as u32)
        }
        "src-nat" => Step::Source(to_mac(item, "to-src-mac-address")),
        "dst-nat" => Step::Destination(to_mac(item, "to-dst-mac-address")),
        "redirect" => Step::Redirect,
        "arp-reply" => Step::ArpReply(to_mac(item, "to-arp-reply-mac-address")),
        _ => Step::Accept,
    })
}

/// The address that an action puts in; the menu sees to it that there is one.
fn to_mac(item: &Item, name: &str) -> MacAddr {
    match item.get(name) {
        Some(&Value::Mac(mac)) => mac,
        _ => MacAddr::default(),
    }
}

/// Whether jumps lead from one chain to another (or are the same chain).
fn reaches(from: usize, to: usize, jumps: &[Vec<usize>]) -> bool {
    let (mut seen, mut open) = (vec![false; jumps.len()], vec![from]);
    while let Some(chain) = open.pop() {
        if chain == to {
            return true;
        }
        if !std::mem::replace(&mut seen[chain], true) {
            open.extend(&jumps[chain]);
        }
    }
    false
}

/// The ways to match a rule: one, or one for each interface of a list that it names. At most one of
/// them matches a frame, so they count and remember as the one rule they are.
fn alternatives(
    item: &Item,
    chain: &str,
    names: &Names,
) -> Result<Vec<Vec<(&'static str, Test)>>, Invalid> {
    let mut ways = vec![tests(item, chain, names)?];
    for &(name, field) in menu::LISTS {
        let Some((Value::Text(list), not)) = item.get(name).map(positive) else { continue };
        match name {
            _ if chain == "output" && name.starts_with("in-") => return Err(Invalid::InInterface),
            _ if matches!(chain, "input" | "dstnat") && name.starts_with("out-") => {
                return Err(Invalid::OutInterface);
            }
            _ => {}
        }
        let none = || Invalid::NoInterface(name, list.clone());
        let test = |id: &InterfaceId| Test { not, ..Test::is(field, id.0.into()) };
        // Others are no bridge's ports.
        let short = names.list(list).ok_or_else(none)?.iter().filter(|id| id.is_short());
        let tests: Vec<Test> = short.map(test).collect();
        if not {
            for way in &mut ways {
                way.extend(tests.iter().map(|&test| (name, test)));
            }
            continue;
        }
        let with = |way: &Vec<(&'static str, Test)>, &test: &Test| {
            let way = [way.as_slice(), &[(name, test)]].concat();
            (!contradict(&way)).then_some(way)
        };
        ways = ways.iter().flat_map(|way| tests.iter().filter_map(|t| with(way, t))).collect();
        if ways.is_empty() {
            return Err(Invalid::EmptyList(name, list.clone()));
        }
    }
    Ok(ways)
}

/// All tests of a rule; contradictions are invalid.
fn tests(item: &Item, chain: &str, names: &Names) -> Result<Vec<(&'static str, Test)>, Invalid> {
    let mut tests: Vec<(&'static str, Test)> = Vec::new();
    if text(item, "action") == Some("arp-reply") {
        // Only a request is answered; others go on.
        tests.extend(presupposed("arp-opcode").into_iter().map(|test| ("action", test)));
        tests.push(("action", Test::is(facts::ARP_OPCODE, 1)));
    }
    for &name in menu::MATCHERS {
        let Some(value) = item.get(name) else { continue };
        match name {
            "in-interface" | "in-bridge" if chain == "output" => return Err(Invalid::InInterface),
            "out-interface" | "out-bridge" if matches!(chain, "input" | "dstnat") => {
                return Err(Invalid::OutInterface);
            }
            _ => {}
        }
        let test = test(name, value, names)?;
        tests.extend(presupposed(name).into_iter().map(|test| (name, test)));
        tests.push((name, test));
        if contradict(&tests) {
            return Err(Invalid::Never(name, value.to_string()));
        }
    }
    Ok(tests)
}

/// What a frame must be to have the field at all.
pub(super) fn presupposed(name: &str) -> Vec<Test> {
    let ether_type = |number: u16| Test::is(facts::ETHER_TYPE, number.into());
    match name {
        "src-address" | "dst-address" | "ip-protocol" => {
            vec![ether_type(ETHERTYPE_IPV4), Test::is(facts::ANY_IP, KIND_IP)]
        }
        "src-port" | "dst-port" => {
            vec![ether_type(ETHERTYPE_IPV4), Test::is(facts::KIND, KIND_PORTS)]
        }
        "802.3-sap" => vec![Test::is(facts::ANY_LLC, KIND_LLC)],
        "802.3-type" => vec![Test::is(facts::ANY_LLC, KIND_LLC), Test::is(facts::SAP, 0xaa)],
        "vlan-encap" | "vlan-priority" => vec![Test::is(facts::HAS_TAG, 1)],
        _ if name.starts_with("stp-") => vec![Test::is(facts::KIND, KIND_STP)],
        _ if name.starts_with("arp-") => {
            vec![ether_type(ETHERTYPE_ARP), Test::is(facts::KIND, KIND_ARP)]
        }
        _ => vec![],
    }
}

fn is_keyless(test: &Test) -> bool {
    let Field { word, shift, .. } = facts::KIND;
    let of_kind = test.field.word == word && test.field.shift == shift;
    of_kind && (test.first == KIND_ARP || test.first & KIND_LLC != 0)
}

fn test(name: &'static str, value: &Value, names: &Names) -> Result<Test, Invalid> {
    let (value, not) = positive(value);
    let unreadable = Invalid::Unreadable(name);
    let field = match name {
        "in-interface" => facts::IN_PORT,
        "out-interface" => facts::OUT_PORT,
        "in-bridge" => facts::IN_BRIDGE,
        "out-bridge" => facts::OUT_BRIDGE,
        "mac-protocol" => facts::ETHER_TYPE,
        "src-mac-address" => facts::SRC_MAC,
        "dst-mac-address" => facts::DST_MAC,
        "packet-type" => facts::PACKET_TYPE,
        "vlan-id" => facts::VLAN,
        "src-address" | "arp-src-address" => facts::SRC,
        "dst-address" | "arp-dst-address" => facts::DST,
        "ip-protocol" => facts::PROTOCOL,
        "src-port" => facts::SRC_PORT,
        "dst-port" => facts::DST_PORT,
        "arp-opcode" => facts::ARP_OPCODE,
        "arp-gratuitous" => facts::GRATUITOUS,
        "arp-hardware-type" => facts::ARP_HARDWARE,
        "arp-packet-type" => facts::ARP_PROTOCOL,
        "arp-src-mac-address" => facts::ARP_SRC_MAC,
        "arp-dst-mac-address" => facts::ARP_DST_MAC,
        "802.3-sap" => facts::SAP,
        "802.3-type" => facts::SNAP_TYPE,
        "vlan-encap" => facts::VLAN_ENCAP,
        "vlan-priority" | "ingress-priority" => facts::VLAN_PRIORITY,
        "stp-type" => facts::STP_TYPE,
        "stp-flags" => facts::STP_FLAGS,
        "stp-port" => facts::STP_PORT,
        "stp-root-address" => facts::STP_ROOT_ADDRESS,
        "stp-root-priority" => facts::STP_ROOT_PRIORITY,
        "stp-root-cost" => facts::STP_ROOT_COST,
        "stp-sender-address" => facts::STP_SENDER_ADDRESS,
        "stp-sender-priority" => facts::STP_SENDER_PRIORITY,
        "stp-msg-age" => facts::STP_MSG_AGE,
        "stp-max-age" => facts::STP_MAX_AGE,
        "stp-hello-time" => facts::STP_HELLO_TIME,
        "stp-forward-delay" => facts::STP_FORWARD_DELAY,
        _ => return Err(unreadable),
    };
    let range = |first, last| Ok(Test { field, first, last, not });
    let one = |value| range(value, value);
    match (name, value) {
        ("in-interface" | "out-interface" | "in-bridge" | "out-bridge", Value::Text(interface)) => {
            let id = names.find(interface).filter(|id| id.is_short());
            one(id.ok_or_else(|| Invalid::NoInterface(name, interface.clone()))?.0.into())
        }
        ("arp-gratuitous", &Value::Bool(yes)) => one(yes.into()),
        ("stp-type", Value::Text(text)) => one(if text == "tcn" { 0x80 } else { 0 }),
        ("stp-flags", Value::Text(text)) => {
            let mask = if text == "topology-change" { 0x01 } else { 0x80 };
            let field = Field { mask, ..field };
            Ok(Test { field, first: mask, last: mask, not })
        }
        ("mac-protocol" | "vlan-encap", Value::Text(text)) => {
            let (first, last) = menu::mac_protocol(text).ok_or(unreadable)?;
            range(first.into(), last.into())
        }
        ("packet-type", Value::Text(text)) => {
            let number = facts::PACKET_TYPES.iter().position(|kind| kind == text);
            one(number.ok_or(unreadable)? as u64)
        }
        ("arp-opcode", Value::Text(text)) => one(menu::arp_opcode(text).ok_or(unreadable)?.into()),
        ("ip-protocol", Value::Text(text)) => one(protocol_number(text).ok_or(unreadable)?.into()),
        (_, &Value::MacMask(mac, mask)) => {
            let field = Field { mask: mask.to_u64(), ..field };
            let value = mac.to_u64() & mask.to_u64();
            Ok(Test { field, first: value, last: value, not })
        }
        (_, Value::Range(addresses)) => range(addresses.first().into(), addresses.last().into()),
        (_, &Value::Numbers(first, last)) => range(first, last),
        ("802.3-sap" | "802.3-type" | "arp-packet-type", Value::Text(text)) => {
            one(menu::number(text).ok_or(unreadable)?.into())
        }
        ("vlan-id", &Value::Number(vlan)) => {
            one(facts::TAGGED | u64::try_from(vlan).map_err(|_| unreadable)?)
        }
        _ => Err(unreadable),
    }
}

/// The value without its `!`, and whether there was one.
fn positive(value: &Value) -> (&Value, bool) {
    match value {
        Value::Not(value) => (value, true),
        value => (value, false),
    }
}

/// Whether two tests want different values of the same bits.
fn contradict(tests: &[(&str, Test)]) -> bool {
    let masked = |test: &Test| test.masked().map(|(value, mask)| (test.field.word, value, mask));
    let all: Vec<_> = tests.iter().filter_map(|(_, test)| masked(test)).collect();
    all.iter().any(|&(word, value, mask)| {
        all.iter().any(|&(w, v, m)| w == word && (value ^ v) & mask & m != 0)
    })
}

/// The word that tells most, and the tests it does not stand for.
pub(super) fn gate(tests: Vec<Test>) -> (Gate, Vec<Test>) {
    let mut words = [(0u64, 0u64); 8];
    for test in &tests {
        if let Some((value, mask)) = test.masked() {
            let word = &mut words[usize::from(test.field.word & 7)];
            *word = (word.0 | value, word.1 | mask);
        }
    }
    let telling = (0u8..8).max_by_key(|&word| words[usize::from(word)].1.count_ones());
    let word = telling.unwrap_or_default();
    let (value, mask) = words[usize::from(word)];
    let behind = |test: &Test| test.field.word != word || test.masked().is_none();
    (Gate { value, mask, word }, tests.into_iter().filter(behind).collect())
}
