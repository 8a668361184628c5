//! Cost of moving a frame's handle: `move/64` is one batch sent and received on one core.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use port::{Batch, Port, Slab, memory};
use std::hint::black_box;
use wire::Moment;

fn moves(c: &mut Criterion) {
    let slab = Slab::new(4096).expect("a slab");
    let mut pool = slab.pool();
    let mut group = c.benchmark_group("memory");
    for size in [1, 16, 64] {
        let (mut a, mut b) = memory::wire(1024);
        let mut batch = Batch::new();
        for _ in 0..size {
            batch.push(pool.alloc(60).expect("a frame"));
        }
        group.throughput(Throughput::Elements(size));
        group.bench_function(format!("move/{size}"), |bench| {
            bench.iter(|| {
                a.send(Moment::ZERO, &mut pool, &mut batch);
                b.receive(Moment::ZERO, &mut pool, &mut batch);
                black_box(&batch);
            });
        });
        assert_eq!(b.counters().rx_drop, 0);
        batch.free_all(&mut pool);
    }

    let mut batch = Batch::new();
    group.throughput(Throughput::Elements(64));
    group.bench_function("alloc and free/64", |bench| {
        bench.iter(|| {
            for _ in 0..64 {
                batch.push(pool.alloc(60).expect("a frame"));
            }
            black_box(&batch);
            batch.free_all(&mut pool);
        });
    });
    group.finish();
}

criterion_group!(benches, moves);
criterion_main!(benches);
