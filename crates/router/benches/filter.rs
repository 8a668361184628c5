//! What `/ip firewall filter` costs on the slow path: rules that match nothing, one UDP packet
//! after another. The time is per packet; the throughput, in rules.

use config::{Interpreter, Menu, Value};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use router::counter::{CounterBook, Counters};
use router::firewall::address_list::AddressLists;
use router::firewall::compile::Setting;
use router::firewall::filter::{Decision, Filter, FilterChain};
use router::firewall::log::Log;
use router::firewall::mark::MarkBook;
use router::firewall::matcher::connection::Whole;
use router::firewall::matcher::layer7::Patterns;
use router::firewall::menu::{ADDRESS_LIST, FILTER};
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
        let addresses =
            repeat(&|i| format!("action=drop src-address=10.{}.{}.0/24", 200 + i / 250, i % 250));
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
        for (kind, rules) in [("addresses", addresses), ("tuples", tuples), ("mixed", mixed)] {
            let mut bench = Bench::new(&rules);
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
    frame: Vec<u8>,
}

impl Bench {
    fn new(rules: &[String]) -> Bench {
        let menus: Vec<&'static Menu> = vec![&ETHERNET, &FILTER, &ADDRESS_LIST];
        let mut session = Interpreter::new(menus);
        let mut names = Names::default();
        for (id, name) in [(1, "ether1"), (2, "ether2")] {
            let text = Value::Text(name.to_string());
            session.tree_mut().push(&ETHERNET, [("name", text)].into());
            names.insert(name.to_string(), InterfaceId(id), InterfaceKind::Ethernet);
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
            book: &mut book,
            slots: &mut slots,
        });
        counters.admit(&book.take_fresh());
        state.admit(&slots.take_fresh());
        assert_eq!(filter.len(), rules.len(), "all rules are in force");
        let frame = craft::udp(ip(10, 1, 0, 1), 5000, ip(10, 2, 0, 1), 80).build();
        let (trace, log) = (Trace::default(), Log::new(1));
        Bench { filter, state, trace, counters, log, frame }
    }

    fn walk(&mut self) {
        let layers = layers::parse(&self.frame).expect("well-formed");
        let view = View {
            frame: black_box(&self.frame),
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
            routes: &Routes::default(),
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
