//! Bridge rules as typed, frames as data: which rules a frame meets, and whether it passes.

use super::menu::{FILTER, check as check_item};
use super::*;
use crate::counter::{CounterBook, Counters};
use crate::firewall::log::Log;
use crate::firewall::matcher::connection::Whole;
use crate::firewall::rule::stats;
use crate::firewall::state::{RuleState, SlotBook};
use crate::interface::bridge::menu::BRIDGE;
use crate::interface::menu::{ETHERNET, INTERFACE};
use crate::interface::{InterfaceId, InterfaceKind, Names};
use crate::ip::route::Routes;
use crate::packet::ConnectionState;
use crate::trace::Trace;
use config::{Interpreter, Item, Menu, Status, Tree, Value};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::bpdu::{self, Bpdu, Message, Times, Vector};
use wire::{MacAddr, Moment, layers};

const ETHER1: InterfaceId = InterfaceId(1);
const ETHER2: InterfaceId = InterfaceId(2);
const BRIDGE1: InterfaceId = InterfaceId(9);

/// The rules' check, as a device asks for it.
struct Device;

impl Status for Device {
    fn check(&self, menu: &Menu, item: &Item, _: &Tree) -> Result<(), String> {
        if menu.path == FILTER.path { check_item(item) } else { Ok(()) }
    }
}

/// Rules in force, with all that belongs to them.
struct Bench {
    filter: Filter,
    items: Vec<ItemId>,
    book: CounterBook,
    counters: Counters,
    state: RuleState,
    trace: Trace,
    log: Log,
}

fn interpreter() -> Interpreter {
    let mut interpreter = Interpreter::new([&INTERFACE, &ETHERNET, &BRIDGE, &FILTER]);
    for name in ["ether1", "ether2"] {
        interpreter
            .tree_mut()
            .push(&ETHERNET, BTreeMap::from([("name", Value::Text(name.into()))]));
    }
    interpreter.run("/interface bridge add", &Device).unwrap();
    interpreter
}

impl Bench {
    fn new(rules: &[impl AsRef<str>]) -> Bench {
        let mut interpreter = interpreter();
        for rule in rules {
            let line = format!("/interface bridge filter add {}", rule.as_ref());
            if let Err(error) = interpreter.run(&line, &Device) {
                panic!("{line}: {error}");
            }
        }
        let mut names = Names::default();
        names.insert("ether1", ETHER1, InterfaceKind::Ethernet);
        names.insert("ether2", ETHER2, InterfaceKind::Ethernet);
        names.insert("bridge1", BRIDGE1, InterfaceKind::Bridge);
        let (mut book, mut counters) = (CounterBook::default(), Counters::default());
        let (mut state, mut slots) = (RuleState::new(0), SlotBook::default());
        let tree = interpreter.tree();
        let filter = Filter::compile(tree, &names, &mut book, &mut slots);
        counters.admit(&book.take_fresh());
        state.admit(&slots.take_fresh());
        let items = tree.items(FILTER.path).iter().map(|item| item.id).collect();
        let (trace, log) = (Trace::default(), Log::new(10));
        Bench { filter, items, book, counters, state, trace, log }
    }

    fn accepts(&mut self, chain: Chain, frame: &[u8], now: Moment) -> bool {
        let layers = layers::parse(frame).unwrap_or_default();
        let (input, output) = (chain == Chain::Input, chain == Chain::Output);
        let none = InterfaceId::NONE;
        let view = View {
            ipsec: [false; 2],
            ends: crate::packet::Ends::default(),
            headers: 0,
            frame,
            layers: &layers,
            ip_len: 0,
            in_interface: if output { none } else { BRIDGE1 },
            out_interface: if input { none } else { BRIDGE1 },
            in_bridge_port: if output { none } else { ETHER1 },
            out_bridge_port: if input { none } else { ETHER2 },
            connection_state: ConnectionState::Untracked,
            srcnat: false,
            dstnat: false,
            marks: Default::default(),
            connection_mark: Default::default(),
            connection: Whole::default(),
            ingress_priority: None,
            routes: &Routes::default(),
            routes6: None,
            vrf: Default::default(),
        };
        let Bench { state, trace, counters, log, .. } = self;
        self.filter.accepts(chain, &view, &mut Books { now, state, trace, counters, log })
    }

    /// How many frames each rule has counted.
    fn counts(&self) -> Vec<u64> {
        let packets = |&item| stats(item, &self.book, &self.counters).packets;
        self.items.iter().map(packets).collect()
    }
}

const SRC: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x01]);
const DST: MacAddr = MacAddr([0x02, 0, 0, 0, 0, 0x02]);

fn ethernet(dst: MacAddr, ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [&dst.0[..], &SRC.0, &ether_type.to_be_bytes(), payload].concat();
    frame.resize(frame.len().max(60), 0);
    frame
}

/// IPv4 10.0.0.1 → 10.0.0.2 with 8 bytes behind the header (1000 → 2000 for UDP).
fn ip(protocol: u8, fragment: u16) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip[6..8].copy_from_slice(&fragment.to_be_bytes());
    ip.extend([0x03, 0xe8, 0x07, 0xd0, 0, 8, 0, 0]);
    ip
}

fn udp() -> Vec<u8> {
    ethernet(DST, 0x0800, &ip(17, 0))
}

/// ARP from 10.0.0.1 for 10.0.0.2.
fn arp(opcode: u8) -> Vec<u8> {
    let mut arp = vec![0, 1, 8, 0, 6, 4, 0, opcode];
    arp.extend([0x02, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
    ethernet(MacAddr::BROADCAST, 0x0806, &arp)
}

fn tagged(vlan: u16) -> Vec<u8> {
    ethernet(DST, 0x8100, &[&vlan.to_be_bytes()[..], &[8, 0], &ip(17, 0)].concat())
}

const HELLO: Message = Message {
    vector: Vector {
        root: 0x1000_0200_0000_0001,
        cost: 20,
        bridge: 0x8000_0200_0000_0002,
        port: 0x8003,
    },
    times: Times { age: 1, max_age: 20, hello: 2, forward_delay: 15 },
    role: bpdu::Role::Designated,
    topology_change: true,
    acknowledgement: false,
    proposal: false,
    agreement: false,
    learning: false,
    forwarding: false,
};

fn bpdu(bpdu: Bpdu) -> Vec<u8> {
    bpdu.frame(SRC).to_vec()
}

/// Each matcher alone, in a rule that drops: the frames it matches, of all there are.
#[test]
fn every_matcher_matches_what_it_says() {
    let group = MacAddr([0x01, 0, 0x5e, 0, 0, 5]);
    let frames: &[(&str, Vec<u8>)] = &[
        ("udp", udp()),
        ("tail", ethernet(DST, 0x0800, &ip(17, 185))),
        ("gre", ethernet(DST, 0x0800, &ip(47, 0))),
        ("bad", ethernet(DST, 0x0800, &[0x45, 0, 0, 10])),
        ("arp", arp(1)),
        ("reply", arp(2)),
        ("vlan", tagged(0x2005)),
        ("ipv6", ethernet(group, 0x86dd, &[0x60, 0, 0, 0, 0, 0, 59, 64])),
        ("llc", ethernet(DST, 46, &[])),
        ("runt", SRC.0.to_vec()),
        ("snap", ethernet(DST, 46, &[0xaa, 0xaa, 3, 0, 0, 0, 0x80, 0x9b])),
        ("bpdu", bpdu(Bpdu::Config(HELLO))),
        ("tcn", bpdu(Bpdu::Notification)),
    ];
    let all = "udp tail gre bad arp reply vlan ipv6 llc runt snap bpdu tcn";
    for (rule, expected) in [
        ("", all),
        ("in-interface=ether1", all),
        ("in-interface=!ether1", ""),
        ("in-interface=ether2", ""),
        ("out-interface=ether2", all),
        ("in-bridge=bridge1", all),
        ("out-bridge=!bridge1", ""),
        ("mac-protocol=ip", "udp tail gre bad"),
        ("mac-protocol=!ip", "arp reply vlan ipv6 llc runt snap bpdu tcn"),
        ("mac-protocol=vlan", "vlan"),
        ("mac-protocol=0x86dd", "ipv6"),
        ("mac-protocol=802.2", "llc runt snap bpdu tcn"),
        ("dst-mac-address=02:00:00:00:00:02/FF:FF:FF:FF:FF:FF", "udp tail gre bad vlan llc snap"),
        ("dst-mac-address=01:00:00:00:00:00/01:00:00:00:00:00", "arp reply ipv6 bpdu tcn"),
        (
            "src-mac-address=02:00:00:00:00:99/FF:FF:FF:FF:FF:00",
            "udp tail gre bad arp reply vlan ipv6 llc snap bpdu tcn",
        ),
        ("src-mac-address=!02:00:00:00:00:01/FF:FF:FF:FF:FF:FF", "runt"),
        ("packet-type=broadcast", "arp reply"),
        ("packet-type=multicast", "ipv6 bpdu tcn"),
        ("packet-type=other-host", "udp tail gre bad vlan llc runt snap"),
        ("vlan-id=5", "vlan"),
        ("vlan-id=0", ""),
        ("ip-protocol=udp", "udp tail"),
        ("ip-protocol=!udp", "gre"),
        ("ip-protocol=47", "gre"),
        ("src-address=10.0.0.1", "udp tail gre"),
        ("src-address=10.0.0.0/24 dst-address=10.0.0.2-10.0.0.7", "udp tail gre"),
        ("dst-address=!10.0.0.2", ""),
        ("src-address=0.0.0.0/0", "udp tail gre"),
        ("dst-address=!1.1.1.1", "udp tail gre"),
        ("ip-protocol=udp src-port=1000", "udp"),
        ("ip-protocol=udp dst-port=1999-2001", "udp"),
        ("ip-protocol=udp dst-port=!80", "udp"),
        ("ip-protocol=tcp dst-port=2000", ""),
        ("arp-opcode=request", "arp"),
        ("arp-opcode=!request", "reply"),
        ("arp-src-address=10.0.0.1", "arp reply"),
        ("arp-dst-address=10.0.0.0/31", ""),
        ("arp-dst-address=!10.0.0.1", "arp reply"),
        ("arp-gratuitous=no", "arp reply"),
        ("arp-gratuitous=yes", ""),
        ("arp-hardware-type=1 arp-packet-type=0x800", "arp reply"),
        ("arp-hardware-type=!1", ""),
        ("arp-src-mac-address=02:00:00:00:00:00/FF:FF:FF:FF:FF:00", "arp reply"),
        ("arp-dst-mac-address=!00:00:00:00:00:00/FF:FF:FF:FF:FF:FF", ""),
        ("vlan-priority=1", "vlan"),
        ("vlan-priority=2-7", ""),
        ("ingress-priority=1", "vlan"),
        ("ingress-priority=!0", "vlan"),
        ("vlan-encap=ip", "vlan"),
        ("vlan-encap=!ip", ""),
        ("802.3-sap=0x42", "bpdu tcn"),
        ("802.3-sap=!0x42", "llc runt snap"),
        ("802.3-type=0x809b", "snap"),
        ("stp-type=config", "bpdu"),
        ("stp-type=tcn", "tcn"),
        ("stp-flags=topology-change", "bpdu"),
        ("stp-flags=topology-change-ack", ""),
        ("stp-root-priority=4096 stp-root-address=02:00:00:00:00:01/FF:FF:FF:FF:FF:FF", "bpdu"),
        ("stp-root-cost=20 stp-sender-priority=32768", "bpdu"),
        ("stp-sender-address=02:00:00:00:00:02/FF:FF:FF:FF:FF:FF stp-port=32771", "bpdu"),
        ("stp-msg-age=256 stp-max-age=5120", "bpdu"),
        ("stp-hello-time=512 stp-forward-delay=3840", "bpdu"),
        ("stp-forward-delay=!3840", "tcn"),
        ("mac-protocol=arp src-mac-address=02:00:00:00:00:01/FF:FF:FF:FF:FF:FF", "arp reply"),
    ] {
        let mut bench = Bench::new(&[format!("chain=forward action=drop {rule}")]);
        let refused = frames
            .iter()
            .filter(|(_, frame)| !bench.accepts(Chain::Forward, frame, Moment::ZERO))
            .map(|&(name, _)| name);
        let refused: Vec<_> = refused.collect();
        assert_eq!(refused.join(" "), expected, "{rule}: {:#?}", bench.filter);
        assert_eq!(bench.counts(), [refused.len() as u64], "{rule}");
    }
}

#[test]
fn chains_are_walked_as_written() {
    type Case<'a> = (&'a [&'a str], bool, &'a [u64]);
    let cases: &[Case] = &[
        (&[], true, &[]),
        (&["chain=forward action=accept", "chain=forward action=drop"], true, &[1, 0]),
        (&["chain=input action=drop", "chain=output action=drop"], true, &[0, 0]),
        (&["chain=forward action=passthrough", "chain=forward action=drop"], false, &[1, 1]),
        (&["chain=forward action=drop disabled=yes"], true, &[0]),
        (
            &[
                "chain=forward action=jump jump-target=a",
                "chain=forward action=drop",
                "chain=a action=return vlan-id=7",
                "chain=a action=jump jump-target=b",
                "chain=a action=passthrough",
                "chain=b action=return",
                "chain=b action=accept",
            ],
            false,
            &[1, 1, 0, 1, 1, 1, 0],
        ),
        (
            &["chain=forward action=jump jump-target=a", "chain=forward action=drop", "chain=a"],
            true,
            &[1, 0, 1],
        ),
    ];
    for &(rules, passes, counts) in cases {
        let mut bench = Bench::new(rules);
        assert_eq!(bench.accepts(Chain::Forward, &udp(), Moment::ZERO), passes, "{rules:?}");
        assert_eq!(bench.counts(), counts, "{rules:?}");
        assert!(!bench.trace.once, "{rules:?}");
        assert_eq!(bench.trace.counters.len() as u64, counts.iter().sum::<u64>(), "{rules:?}");
    }
}

#[test]
fn bytes_are_those_of_the_frame() {
    let mut bench = Bench::new(&["chain=input"]);
    bench.accepts(Chain::Input, &udp(), Moment::ZERO);
    assert_eq!(stats(bench.items[0], &bench.book, &bench.counters).bytes, 60);
}

#[test]
fn a_frame_for_the_router_is_for_the_host() {
    let mut bench = Bench::new(&["chain=input packet-type=host action=drop"]);
    assert!(!bench.accepts(Chain::Input, &udp(), Moment::ZERO));
    assert!(bench.accepts(Chain::Input, &arp(1), Moment::ZERO));
}

#[test]
fn what_may_differ_within_a_flow_is_noted() {
    for (rule, frame, once) in [
        ("src-address=10.0.0.1", udp(), false),
        ("limit=1,1:packet", udp(), true),
        ("log=yes", udp(), true),
        ("action=log", udp(), true),
        ("arp-opcode=reply", arp(1), true),
        ("arp-opcode=reply", udp(), false),
        ("mac-protocol=arp", arp(1), false),
        ("mac-protocol=ip", tagged(5), true),
    ] {
        let mut bench = Bench::new(&[format!("chain=forward {rule}")]);
        bench.accepts(Chain::Forward, &frame, Moment::ZERO);
        assert_eq!(bench.trace.once, once, "{rule}");
    }
}

#[test]
fn a_limit_passes_so_many_and_a_log_says_so() {
    let mut bench = Bench::new(&[
        "chain=forward limit=1,2:packet action=accept log=yes log-prefix=some",
        "chain=forward action=drop",
    ]);
    let passed = |bench: &mut Bench, at: u64| {
        let now = Moment::from_nanos(at * 1_000_000_000);
        (0..10).filter(|_| bench.accepts(Chain::Forward, &udp(), now)).count()
    };
    let first = passed(&mut bench, 1);
    assert!((1..10).contains(&first), "{first}");
    let second = passed(&mut bench, 2);
    assert_eq!(second, 1);
    assert_eq!(bench.log.iter().count(), first + second);
    let line = bench.log.take().unwrap();
    let names = |id: InterfaceId| ["", "ether1", "ether2"].get(id.index()).copied();
    let line = line.display(names).to_string();
    assert!(line.starts_with("some forward: in:ether1 out:ether2"), "{line}");
}

#[test]
fn rules_that_can_never_match_say_why() {
    for (rule, why) in [
        ("chain=output in-interface=ether1", "incoming interface"),
        ("chain=input out-bridge=bridge1", "outgoing interface"),
        ("chain=forward mac-protocol=ipv6 src-address=1.1.1.1", "no packet matches"),
        ("chain=forward arp-opcode=reply ip-protocol=udp", "no packet matches"),
        ("chain=forward action=jump jump-target=nowhere", "no such chain"),
        ("chain=forward action=jump jump-target=input", "builtin"),
        ("chain=a action=jump jump-target=a", "loop"),
    ] {
        let bench = Bench::new(&[rule]);
        let found = bench.filter.invalid(bench.items[0]).map(ToString::to_string);
        assert!(found.as_ref().is_some_and(|found| found.contains(why)), "{rule}: {found:?}");
        assert!(bench.filter.is_empty());
    }
    let rules = ["chain=a action=jump jump-target=b", "chain=b action=jump jump-target=a"];
    let bench = Bench::new(&rules);
    assert!(bench.filter.invalid(bench.items[0]).is_none());
    assert!(bench.filter.invalid(bench.items[1]).is_some());
}

#[test]
fn mistakes_are_refused() {
    for (rule, why) in [
        ("chain=forward dst-port=80", "needs ip-protocol=tcp or udp"),
        ("chain=forward action=jump", "needs a jump-target"),
        ("chain=forward mac-protocol=ipp", "pppoe-discovery"),
        ("chain=forward arp-opcode=70000", "request-reverse"),
        ("chain=forward vlan-encap=ipp", "pppoe-discovery"),
        ("chain=forward tls-host=example.com", "dst-address"),
        ("chain=forward action=mark-packet", "action"),
    ] {
        let line = format!("/interface bridge filter add {rule}");
        let error = interpreter().run(&line, &Device).unwrap_err().to_string();
        assert!(error.contains(why), "{rule}: {error}");
    }
}

proptest! {
    /// A rule with any of these matchers matches exactly if each of them matches alone.
    #[test]
    fn matchers_are_independent(
        chosen in prop::sample::subsequence(
            vec![
                "in-interface=ether1", "out-bridge=!bridge1", "mac-protocol=!ipv6",
                "src-mac-address=02:00:00:00:00:00/FF:00:00:00:00:00",
                "dst-mac-address=!01:00:00:00:00:00/01:00:00:00:00:00", "src-address=10.0.0.0/31",
                "dst-address=!10.0.0.2-10.0.0.3", "arp-src-address=!10.0.0.9",
                "packet-type=broadcast", "vlan-id=5",
            ],
            0..5,
        ),
        frame in prop_oneof![
            Just(udp()), Just(arp(1)), Just(tagged(5)), prop::collection::vec(any::<u8>(), 0..80)],
    ) {
        let drops = |rule: &str| {
            let mut bench = Bench::new(&[format!("chain=forward action=drop {rule}")]);
            !bench.accepts(Chain::Forward, &frame, Moment::ZERO)
        };
        let each = chosen.iter().all(|matcher| drops(matcher));
        prop_assert_eq!(drops(&chosen.join(" ")), each, "{:?}", chosen);
    }
}
