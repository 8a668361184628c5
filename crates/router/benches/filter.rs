//! The cost of `/ip firewall filter` on the slow path: rules that match nothing, one UDP packet
//! after another; or rules of any kind, and each packet of another flow (`flows`). The time is per
//! packet; the throughput, in rules.

use config::{Interpreter, Value};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use router::MENUS;
use router::counter::{CounterBook, Counters};
use router::firewall::address_list::AddressLists;
use router::firewall::compile::Setting;
use router::firewall::filter::{Decision, Filter, FilterChain};
use router::firewall::log::Log;
use router::firewall::mark::MarkBook;
use router::firewall::matcher::connection::Whole;
use router::firewall::matcher::layer7::Patterns;
use router::firewall::rule::Books;
use router::firewall::state::{RuleState, SlotBook};
use router::interface::menu::ETHERNET;
use router::interface::{InterfaceId, InterfaceKind, Names};
use router::ip::route::Routes;
use router::packet::{ConnectionState, View};
use router::trace::Trace;
use std::hint::black_box;
use std::sync::Arc;
use wire::craft::{self, ip};
use wire::{Moment, layers};

fn filter(c: &mut Criterion) {
    let mut group = c.benchmark_group("filter");
    for n in [25, 250, 10_000] {
        let repeat = |rule: &dyn Fn(u32) -> String| -> Vec<String> { (0..n).map(rule).collect() };
        let addresses = repeat(&|i| {
            format!("action=drop src-address=10.{}.{}.0/24", 200 + i / 250 % 50, i % 250)
        });
        let tuples = repeat(&|i| {
            format!("action=drop protocol=udp dst-address=10.2.0.0/16 dst-port={}", 1000 + i)
        });
        // One of each kind, over and over, some of them beyond the gate.
        let mixed = repeat(&|i| {
            let rule = match i % 5 {
                0 => "connection-state=invalid",
                1 => "protocol=tcp tcp-flags=syn,!ack",
                2 => "src-address-list=bad",
                3 => "in-interface=ether2 dst-address=10.2.0.0/16",
                _ => "protocol=udp dst-port=7,9,19,111,123",
            };
            format!("action=drop {rule}")
        });
        group.throughput(Throughput::Elements(n.into()));
        // Networks, hosts and ports that packets have, too.
        let flows = repeat(&|i| {
            let hash = i.wrapping_mul(0x9e37_79b9) >> 8;
            let (net, host, port) = (hash % 200, hash / 200 % 250, 1000 + hash / 50_000 % 2000);
            let rule = match i % 4 {
                0 => format!("src-address=10.1.{net}.{host} protocol=udp"),
                1 => format!("src-address=10.1.{net}.0/24 dst-address=10.2.{host}.0/24"),
                2 => format!("dst-address=10.2.{net}.{host} protocol=udp dst-port={port}"),
                _ => format!(
                    "protocol=udp dst-address=10.2.{net}.0/24 dst-port={port}-{}",
                    port + 20
                ),
            };
            format!("action=passthrough {rule}")
        });
        let kinds =
            [("addresses", addresses), ("tuples", tuples), ("mixed", mixed), ("flows", flows)];
        for (kind, rules) in kinds {
            let mut bench = Bench::new(&rules, if kind == "flows" { 8192 } else { 1 });
            group.bench_function(BenchmarkId::new(kind, n), |b| b.iter(|| bench.walk()));
        }
    }
    group.finish();
}

/// The compiled rules and all that a walk needs.
struct Bench {
    filter: Filter,
    state: RuleState,
    trace: Trace,
    counters: Counters,
    log: Log,
    routes: Routes,
    frames: Vec<Vec<u8>>,
    at: usize,
}

impl Bench {
    /// These rules, and packets of so many flows.
    fn new(rules: &[String], flows: u32) -> Bench {
        let mut session = Interpreter::new(MENUS.to_vec());
        let mut names = Names::default();
        for (id, name) in [(1, "ether1"), (2, "ether2")] {
            let text = Value::Text(name.to_string());
            let values = [("name", text.clone()), ("default-name", text)];
            session.tree_mut().push(&ETHERNET, values.into());
            names.insert(name, InterfaceId(id), InterfaceKind::Ethernet);
        }
        let mut script = "/ip firewall address-list add list=bad address=192.0.2.0/24\n\
                          /ip firewall filter\n"
            .to_string();
        for rule in rules {
            script += &format!("add chain=forward {rule}\n");
        }
        session.run(&script, &()).expect("the rules are right");
        let mut counters = Counters::default();
        let mut state = RuleState::new(1);
        let (mut book, mut slots) = (CounterBook::default(), SlotBook::default());
        let filter = Filter::compile(&mut Setting {
            tree: session.tree(),
            patterns: &Arc::new(Patterns::default()),
            lists: &Arc::new(AddressLists::compile(session.tree())),
            names: &names,
            marks: &MarkBook::default(),
            use_ip_firewall: false,
            ipsec: false,
            book: &mut book,
            slots: &mut slots,
        });
        counters.admit(&book.take_fresh());
        state.admit(&slots.take_fresh());
        assert_eq!(filter.len(), rules.len(), "all rules are in force");
        let frames = (0..flows).map(|n| {
            let hash = n.wrapping_mul(0x85eb_ca6b) >> 4;
            let [_, a, b, c] = hash.to_be_bytes();
            let port = if n == 0 { 80 } else { 1000 + (hash % 2048) as u16 };
            craft::udp(ip(10, 1, a % 200, b % 250), 5000, ip(10, 2, c % 200, a % 250), port).build()
        });
        let frames = frames.collect();
        let (trace, log) = (Trace::default(), Log::new(1));
        let routes = Routes::default();
        Bench { filter, state, trace, counters, log, routes, frames, at: 0 }
    }

    fn walk(&mut self) {
        self.at = (self.at + 1) % self.frames.len();
        let frame = &self.frames[self.at];
        let layers = layers::parse(frame).expect("well-formed");
        let view = View {
            ipsec: [false; 2],
            headers: 0,
            ends: router::packet::Ends::default(),
            frame: black_box(frame),
            layers: black_box(&layers),
            ip_len: 46,
            in_interface: InterfaceId(1),
            out_interface: InterfaceId(2),
            in_bridge_port: InterfaceId::NONE,
            out_bridge_port: InterfaceId::NONE,
            connection_state: ConnectionState::Established,
            srcnat: false,
            dstnat: false,
            marks: Default::default(),
            connection_mark: Default::default(),
            connection: Whole::default(),
            ingress_priority: None,
            routes: &self.routes,
            routes6: None,
            vrf: Default::default(),
        };
        self.trace.clear();
        let mut books = Books {
            now: Moment::ZERO,
            state: &mut self.state,
            trace: &mut self.trace,
            counters: &mut self.counters,
            log: &mut self.log,
        };
        let verdict = self.filter.run(FilterChain::Forward, &view, &mut books);
        assert_eq!(verdict.decision, Decision::Accept, "the rules match nothing");
    }
}

criterion_group!(benches, filter);
criterion_main!(benches);
