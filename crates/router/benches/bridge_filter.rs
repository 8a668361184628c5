//! The cost of bridge rules to a frame that matches none of them: `rules × none match`.

use config::{Interpreter, Value};
use criterion::{Criterion, criterion_group, criterion_main};
use router::counter::{CounterBook, Counters};
use router::firewall::log::Log;
use router::firewall::matcher::connection::Whole;
use router::firewall::rule::Books;
use router::firewall::state::{RuleState, SlotBook};
use router::interface::bridge::filter::{Chain, Filter, menu::FILTER};
use router::interface::bridge::menu::BRIDGE;
use router::interface::menu::ETHERNET;
use router::interface::{InterfaceId, InterfaceKind, Names};
use router::ip::route::Routes;
use router::packet::{ConnectionState, View};
use router::trace::Trace;
use std::collections::BTreeMap;
use std::hint::black_box;
use wire::craft;
use wire::{Moment, layers};

fn filter(c: &mut Criterion) {
    let mut group = c.benchmark_group("bridge filter");
    // One matcher each; several, as an administrator mixes them; and the worst: all gates open.
    type Rule = fn(u32) -> String;
    let kinds: [(&str, Rule); 3] = [
        ("dst-address", |i| format!("dst-address=192.168.{i}.0/24")),
        ("mixed", |i| match i % 4 {
            0 => format!("in-interface=ether2 mac-protocol=ip src-address=192.168.{i}.0/24"),
            1 => format!("src-mac-address=02:00:00:00:99:{i:02X}/FF:FF:FF:FF:FF:FF"),
            2 => format!("ip-protocol=tcp dst-port={i}"),
            _ => format!("mac-protocol=arp arp-dst-address=192.168.{i}.1"),
        }),
        ("negated", |_| "dst-address=!10.0.0.2".to_string()),
    ];
    for (kind, rule) in kinds {
        for n in [1, 25, 100] {
            let mut interpreter = Interpreter::new([&ETHERNET, &BRIDGE, &FILTER]);
            let mut names = Names::default();
            for (name, id) in [("ether1", 1), ("ether2", 2)] {
                let values = BTreeMap::from([("name", Value::Text(name.into()))]);
                interpreter.tree_mut().push(&ETHERNET, values);
                names.insert(name, InterfaceId(id), InterfaceKind::Ethernet);
            }
            for i in 0..n {
                let rule =
                    format!("/interface bridge filter add chain=forward action=drop {}", rule(i));
                interpreter.run(&rule, &()).expect("a rule");
            }
            let (mut book, mut slots) = (CounterBook::default(), SlotBook::default());
            let (mut counters, mut state) = (Counters::default(), RuleState::new(0));
            let (mut trace, mut log) = (Trace::default(), Log::new(0));
            let rules = interpreter.tree();
            let filter = Filter::compile(rules, &names, &mut book, &mut slots);
            counters.admit(&book.take_fresh());
            state.admit(&slots.take_fresh());
            assert_eq!(filter.len(), n as usize);
            let frame = craft::udp(0x0a00_0001, 1000, 0x0a00_0002, 2000).build();
            let layers = layers::parse(&frame).expect("a frame");
            let view = View {
                ipsec: [false; 2],
                ends: router::packet::Ends::default(),
                headers: 0,
                frame: &frame,
                layers: &layers,
                ip_len: 46,
                in_interface: InterfaceId(9),
                out_interface: InterfaceId(9),
                in_bridge_port: InterfaceId(1),
                out_bridge_port: InterfaceId(2),
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
            group.bench_function(format!("{kind}/{n}"), |bench| {
                bench.iter(|| {
                    let mut books = Books {
                        now: Moment::ZERO,
                        state: &mut state,
                        trace: &mut trace,
                        counters: &mut counters,
                        log: &mut log,
                    };
                    assert!(filter.accepts(Chain::Forward, black_box(&view), &mut books));
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, filter);
criterion_main!(benches);
