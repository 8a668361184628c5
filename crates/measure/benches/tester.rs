//! The tester's own speed, one core, frames in memory: `send/…` and `receive/…` are each half,
//! `loop/…` is both with a memory wire between. Elements are frames.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use measure::{
    Field, Load, Pick, Receiver, Schedule, Sender, Stream, StreamPlan, Template, Values, Variation,
};
use port::{Batch, Pool, Slab, memory};
use std::time::Duration;
use wire::{FrameLen, Moment};

const FRAMES: u64 = 64 * 16;

fn stream(l2: u32, udp_checksum: bool, variation: Variation) -> Stream {
    let template = Template { udp_checksum, ..Template::default() };
    let frame = FrameLen::with_fcs(l2);
    StreamPlan { id: 1, template, frame, variation, seed: 1 }.build().expect("a stream")
}

fn flows(count: usize, pick: Pick) -> Variation {
    let fields = vec![
        (Field::SrcPort, Values::Range(1024, 2023)),
        (Field::Dst, Values::Range(0x0a00_0001, 0x0a00_03e8)),
    ];
    Variation::Flows { fields, count, pick }
}

fn networks(count: u32) -> Variation {
    let networks = (0..count).map(|i| wire::Ipv4Prefix::new(i << 8, 24)).collect();
    Variation::Fields(vec![(Field::Dst, Values::Networks(networks), Pick::Random)])
}

fn cases() -> Vec<(&'static str, Stream)> {
    let hosts = vec![
        (Field::DstMac, Values::Range(0x0200_0000_0000, 0x0200_0000_03e7), Pick::Random),
        (Field::SrcMac, Values::Range(0x0200_0000_0000, 0x0200_0000_03e7), Pick::InTurn),
    ];
    vec![
        ("64/alike", stream(64, false, Variation::NONE)),
        ("64/10k-flows-in-turn", stream(64, false, flows(10_000, Pick::InTurn))),
        ("64/10k-flows-random", stream(64, false, flows(10_000, Pick::Random))),
        ("64/1M-flows-random", stream(64, false, flows(1_000_000, Pick::Random))),
        ("64/10k-flows-udp-checksum", stream(64, true, flows(10_000, Pick::InTurn))),
        ("64/1000-hosts", stream(64, false, Variation::Fields(hosts))),
        ("64/900k-networks-random", stream(64, false, networks(900_000))),
        ("512/alike", stream(512, false, Variation::NONE)),
        ("1518/alike", stream(1518, false, Variation::NONE)),
    ]
}

const NOW: Moment = Moment::from_nanos(1000);
const LATER: Moment = Moment::from_nanos(200_000);

fn sender(stream: &Stream) -> Sender {
    let (load, duration) = (Load::FullSpeed, Duration::from_secs(1));
    Sender::new(stream.clone(), Schedule { load, start: Moment::ZERO, duration })
}

fn pool() -> (Slab, Pool) {
    let slab = Slab::new(4096).expect("a slab");
    let pool = slab.pool();
    (slab, pool)
}

fn tester(c: &mut Criterion) {
    let mut group = c.benchmark_group("tester");
    group.throughput(Throughput::Elements(FRAMES));
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600));
    group.sample_size(20);
    for (name, stream) in cases() {
        let (_slab, mut pool) = pool();
        let mut sender = sender(&stream);
        let mut batch = Batch::new();
        group.bench_function(BenchmarkId::new("send", name), |bench| {
            bench.iter(|| {
                for _ in 0..FRAMES / 64 {
                    sender.fill(NOW, &mut pool, &mut batch);
                    batch.free_all(&mut pool);
                }
            });
        });
    }
    for (name, stream) in cases() {
        let (slab, mut pool) = pool();
        group.bench_function(BenchmarkId::new("receive", name), |bench| {
            bench.iter_batched(
                || {
                    // Fresh numbers each time, so the frames are made outside the clock.
                    let (mut sender, mut pool) = (sender(&stream), slab.pool());
                    let batches: Vec<Batch> = (0..FRAMES / 64)
                        .map(|_| {
                            let mut batch = Batch::new();
                            sender.fill(NOW, &mut pool, &mut batch);
                            batch
                        })
                        .collect();
                    (Receiver::new(Moment::ZERO, [&stream]), batches)
                },
                |(mut receiver, batches)| {
                    for mut batch in batches {
                        receiver.take(NOW, &mut pool, &mut batch);
                    }
                    receiver
                },
                criterion::BatchSize::PerIteration,
            );
        });
    }
    // Every latency counts; those of a batch are mostly alike. This is what it costs when they differ
    // from one frame to the next, from one to the sixteenth, from batch to batch, never.
    for alike in [1, 16, 64, FRAMES] {
        let (slab, mut pool) = pool();
        let stream = stream(64, false, Variation::NONE);
        group.bench_function(BenchmarkId::new("receive/latencies-alike", alike), |bench| {
            bench.iter_batched(
                || {
                    let (expected, mut pool) = (stream.clone(), slab.pool());
                    let mut stream = stream.clone();
                    let mut random = measure::Prng::new(1);
                    let mut sent = NOW;
                    let batch = |first: u64| {
                        let mut batch = Batch::new();
                        for number in first..first + 64 {
                            if number % alike == 0 {
                                sent = Moment::from_nanos(random.below(100_000));
                            }
                            let mut frame = pool.alloc(stream.next_len()).expect("a slot");
                            stream.write(sent, slab.bytes_mut(&mut frame));
                            batch.push(frame);
                        }
                        batch
                    };
                    let batches: Vec<Batch> = (0..FRAMES).step_by(64).map(batch).collect();
                    (Receiver::new(Moment::ZERO, [&expected]), batches)
                },
                |(mut receiver, batches)| {
                    for mut batch in batches {
                        receiver.take(LATER, &mut pool, &mut batch);
                    }
                    receiver
                },
                criterion::BatchSize::PerIteration,
            );
        });
    }
    for (name, stream) in cases() {
        let (_slab, mut pool) = pool();
        let (mut a, mut b) = memory::wire(1024);
        let mut sender = sender(&stream);
        let mut receiver = Receiver::new(Moment::ZERO, [&stream]);
        group.bench_function(BenchmarkId::new("loop", name), |bench| {
            bench.iter(|| {
                for _ in 0..FRAMES / 64 {
                    sender.poll(NOW, &mut pool, &mut a);
                    receiver.poll(NOW, &mut pool, &mut b);
                }
            });
        });
        let (sent, got) = (sender.sent().offered, receiver.total());
        assert_eq!(got.lost(sent), Some(0), "{got:?}");
    }
}

criterion_group!(benches, tester);
criterion_main!(benches);
