//! Cost of simple queues: `offer` is what a packet pays whose recipe names its leaf; `classify` what a flow
//! pays once; `release` what a packet pays that had to wait.

use config::{Tree, Value};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use router::book::Book;
use router::firewall::mark::{Mark, MarkBook};
use router::interface::{InterfaceId, Names};
use router::queue::lease::{Lane, Shared};
use router::queue::{Change, Decision, Label, Limit, QueueLeafId, Queues, Simple, Types, menu};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use wire::Moment;

/// Queues of one client each, as in the documents' list of 25,000.
fn tree(n: u32, rate: u64) -> Tree {
    let mut tree = Tree::default();
    for client in 0..n {
        let target = Value::List(vec![Value::Cidr((0x0404_0000 + client).into(), 32)]);
        let rate = Value::Rate(rate);
        let limit = Value::Pair(Box::new(rate.clone()), Box::new(rate));
        tree.push(&menu::SIMPLE, BTreeMap::from([("target", target), ("max-limit", limit)]));
    }
    tree
}

fn queues(n: u32, rate: u64) -> (Simple, Queues<u64>) {
    let (mut queues, mut book) = (Queues::default(), Book::default());
    let tree = tree(n, rate);
    let simple = Simple::compile(
        &tree,
        (&Names::default(), &MarkBook::default().packet),
        &Types::default(),
        &mut book,
    );
    let settings = simple.changes_from(&Simple::default(), &[]);
    let mut change = Change::new(settings, Vec::new(), &mut book);
    queues.apply(&mut change, Moment::ZERO);
    (simple, queues)
}

fn benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("queue");
    for n in [25u32, 25_000] {
        // Not full: 64 packets of as many queues in a batch, all at the batch's moment.
        let (simple, mut state) = queues(n, 100_000_000_000);
        let mut now = 0;
        group.throughput(Throughput::Elements(64));
        group.bench_function(format!("offer, not full/{n}"), |bench| {
            bench.iter(|| {
                now += 2000;
                for i in 0..64u32 {
                    let leaf = QueueLeafId(2 * (i * 397 % n));
                    let decision = state.offer(leaf, Moment::from_nanos(now), black_box(60));
                    assert_eq!(decision, Decision::Pass);
                }
            });
        });
        group.throughput(Throughput::Elements(64));
        group.bench_function(format!("classify/{n}"), |bench| {
            bench.iter(|| {
                for i in 0..64u32 {
                    let client = 0x0404_0000 + i * 397 % n;
                    black_box(simple.classify(
                        client,
                        0x0808_0808,
                        InterfaceId(1),
                        InterfaceId(2),
                        Mark::NONE,
                    ));
                }
            });
        });
        // All full: every 480 µs at 1 Mbit/s each lets one packet of 60 bytes go and takes a new one.
        let (_, mut state) = queues(n, 1_000_000);
        let leaves = || (0..n).map(|queue| QueueLeafId(2 * queue));
        let fill = |state: &mut Queues<u64>, leaf, now| {
            let decision = state.offer(leaf, now, 60);
            if decision == Decision::Enqueue {
                state.enqueue(leaf, 1, 60, Label::default(), now);
            }
            decision
        };
        for leaf in leaves() {
            while fill(&mut state, leaf, Moment::ZERO) != Decision::DropFull {}
        }
        let (mut now, mut released, mut rounds) = (0, 0u64, 0u64);
        group.throughput(Throughput::Elements(u64::from(n)));
        group.bench_function(format!("enqueue and release/{n}"), |bench| {
            bench.iter(|| {
                (now, rounds) = (now + 480_000, rounds + 1);
                let now = Moment::from_nanos(now);
                state.release(now, |_, n, _| released += n);
                for leaf in leaves() {
                    let _ = black_box(fill(&mut state, leaf, now));
                }
            });
        });
        assert_eq!(released, rounds * u64::from(n));
        let tree = tree(n, 1_000_000);
        group.throughput(Throughput::Elements(u64::from(n)));
        group.bench_function(format!("compile and apply/{n}"), |bench| {
            let (mut state, mut book) = (Queues::<u64>::default(), Book::default());
            let mut simple = Simple::default();
            bench.iter(|| {
                let types = Types::default();
                let fresh = Simple::compile(
                    &tree,
                    (&Names::default(), &MarkBook::default().packet),
                    &types,
                    &mut book,
                );
                let settings = fresh.changes_from(&simple, &[]);
                let mut change = Change::new(settings, Vec::new(), &mut book);
                state.apply(&mut change, Moment::ZERO);
                simple = fresh;
            });
        });
        let (simple, state) = queues(n, 1_000_000);
        println!("{n} queues: {} B compiled, {} B state", simple.bytes(), state.bytes());
    }
    // One queue that is not full: on one lane, and of 16 lanes the one that carries the packets.
    let limit = Limit { rate: 100_000_000_000, depth_ns: 100_000_000, packets: 50 };
    for lanes in [1, 16] {
        let shared = Shared::new(limit, lanes, Moment::ZERO).expect("room for leases");
        let mut lane = Lane::new(Arc::new(shared));
        let mut now = 0;
        group.throughput(Throughput::Elements(64));
        group.bench_function(format!("leased, not full/{lanes} lanes"), |bench| {
            bench.iter(|| {
                now += 2000;
                for _ in 0..64 {
                    assert_eq!(lane.take(black_box(60), Moment::from_nanos(now)), Ok(()));
                }
            });
        });
    }
    let (_, mut state) = queues(1, 100_000_000_000);
    let mut now = 0;
    group.bench_function("offer, not full/1", |bench| {
        bench.iter(|| {
            now += 2000;
            for _ in 0..64 {
                let decision = state.offer(QueueLeafId(0), Moment::from_nanos(now), black_box(60));
                assert_eq!(decision, Decision::Pass);
            }
        });
    });
    group.finish();
}

criterion_group!(queue, benches);
criterion_main!(queue);
