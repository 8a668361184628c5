//! Cost of finding a packet's flow: `flow table × hit, miss, insert × flows`, a batch of 64 at a time with
//! the three prefetch stages of the fast path, flows in random order.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use router::firewall::connection::{ConnectionId, Connections, Direction, Flow, FlowId, FlowTable};
use router::firewall::translation::{NatKind, NatTarget, rewrite};
use std::hint::black_box;
use wire::{FiveTuple, Ipv4Range, Moment, craft, layers};

const BATCH: usize = 64;

/// Tuples as a tester sends them: addresses and ports counted up.
fn tuple(n: u32) -> FiveTuple {
    FiveTuple {
        src: 0x0a00_0002 + n / 1000,
        dst: 0xc612_0002,
        src_port: 1024 + (n % 1000) as u16,
        dst_port: 9,
        protocol: 17,
    }
}

/// 0, 1, 2 … in an order that caches cannot guess.
fn shuffled(n: u32) -> impl Iterator<Item = u32> {
    let mut state = 1u32;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(state) * u64::from(n)) >> 32) as u32
    })
}

fn table(flows: u32) -> FlowTable {
    let mut table = FlowTable::new(flows as usize);
    for n in 0..flows {
        let flow = Flow::new(tuple(n), tuple(n), Direction::Original, ConnectionId(n));
        table.insert(flow).expect("room");
    }
    table
}

/// A batch: hashes and buckets, then candidates and flow lines, then the exact flow, counted.
fn pass(table: &mut FlowTable, tuples: &[FiveTuple; BATCH]) -> u32 {
    let mut hashes = [0; BATCH];
    let mut candidates = [FlowId::NONE; BATCH];
    for (hash, tuple) in hashes.iter_mut().zip(tuples) {
        *hash = tuple.hash();
        table.prefetch_bucket(*hash);
    }
    for (candidate, &hash) in candidates.iter_mut().zip(&hashes) {
        if let Some(id) = table.candidate(hash) {
            table.prefetch_flow(id);
            *candidate = id;
        }
    }
    let mut hits = 0;
    for ((tuple, &hash), &candidate) in tuples.iter().zip(&hashes).zip(&candidates) {
        if candidate != FlowId::NONE
            && let Some((id, _)) = table.confirm(candidate, hash, tuple)
        {
            table.flow_mut(id).count(46, 1);
            hits += 1;
        }
    }
    hits
}

fn flow_table(c: &mut Criterion) {
    let mut group = c.benchmark_group("flow table");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (name, flows) in [("10k", 10_000), ("1M", 1_000_000)] {
        let mut table = table(flows);
        let order: Vec<FiveTuple> = shuffled(flows).take(1 << 20).map(tuple).collect();
        let (batches, _) = order.as_chunks::<BATCH>();
        let mut batch = batches.iter().cycle();
        group.bench_function(format!("hit, {name} flows"), |b| {
            b.iter(|| assert_eq!(pass(&mut table, batch.next().expect("endless")), BATCH as u32));
        });
        let order: Vec<FiveTuple> =
            shuffled(flows).take(1 << 20).map(|n| tuple(n + flows)).collect();
        let (batches, _) = order.as_chunks::<BATCH>();
        let mut batch = batches.iter().cycle();
        group.bench_function(format!("miss, {name} flows"), |b| {
            b.iter(|| assert_eq!(pass(&mut table, batch.next().expect("endless")), 0));
        });
    }
    group.finish();
}

fn connections(c: &mut Criterion) {
    let mut group = c.benchmark_group("connections");
    group.throughput(Throughput::Elements(1));
    let masquerade =
        NatTarget::new(NatKind::Source, Ipv4Range::new(0xcb00_7101, 0xcb00_7101), None);
    let frames: Vec<Vec<u8>> = (0..100_000)
        .map(|n| {
            let t = tuple(n);
            craft::udp(t.src, t.src_port, t.dst + n % 50, t.dst_port).build()
        })
        .collect();
    let layers_of = |frame: &[u8]| layers::parse(frame).expect("a frame");
    // Track, masquerade, confirm; the table is full, so the oldest one ends for it.
    let mut full = Connections::new(frames.len() / 2);
    let mut frame = frames.iter().cycle();
    group.bench_function("new, masqueraded", |b| {
        b.iter(|| {
            let frame = frame.next().expect("endless");
            let new = full.track(Moment::ZERO, frame, &layers_of(frame)).new;
            let mut new = new.expect("unknown");
            full.translate(&mut new, &masquerade).expect("a port");
            black_box(full.confirm(&new, Moment::ZERO)).expect("room");
        });
    });
    let mut known = Connections::new(frames.len());
    for frame in &frames {
        let new = known.track(Moment::ZERO, frame, &layers_of(frame)).new.expect("unknown");
        known.confirm(&new, Moment::ZERO).expect("room");
    }
    let mut frame = frames.iter().take(10_000).cycle();
    group.bench_function("known, 10k connections", |b| {
        b.iter(|| {
            let frame = frame.next().expect("endless");
            black_box(known.track(Moment::ZERO, frame, &layers_of(frame)).flow)
        });
    });
    let mut frame = frames[0].clone();
    let mut layers = layers_of(&frame);
    let there = tuple(1);
    group.bench_function("rewrite", |b| {
        b.iter(|| rewrite(black_box(&mut frame), &mut layers, black_box(&there)));
    });
    group.finish();
}

criterion_group!(benches, flow_table, connections);
criterion_main!(benches);
