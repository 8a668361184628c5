//! Cost of a look-up in an address list, by its size: metric ns × a look-up × an address in it or not.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use router::firewall::address_list::AddressSet;
use std::hint::black_box;
use wire::Ipv4Range;

fn look_up(c: &mut Criterion) {
    let spread = |n: u32| n.wrapping_mul(0x9e37_79b1);
    let single = |n| Ipv4Range::new(spread(n), spread(n)).expect("a range");
    let mut group = c.benchmark_group("address_list");
    for size in [10, 1000, 100_000, 1_000_000u32] {
        let set: AddressSet = (0..size).map(single).collect();
        eprintln!("{size} entries: {:.1} bytes each", set.bytes() as f64 / f64::from(size));
        for (kind, first) in [("in it", 0), ("not in it", size)] {
            let mut n = 0;
            group.bench_function(BenchmarkId::new(kind, size), |bench| {
                bench.iter(|| {
                    n = (n + 7919) % size;
                    black_box(set.contains(black_box(spread(first + n))))
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, look_up);
criterion_main!(benches);
