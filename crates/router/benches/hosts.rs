//! Cost of the bridge's host table: `look-up and learn` is what every forwarded frame pays.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use router::interface::InterfaceId;
use router::interface::bridge::hosts::{Hosts, MAX_HOSTS};
use std::hint::black_box;

fn hosts(c: &mut Criterion) {
    let mut group = c.benchmark_group("hosts");
    for n in [1_000u64, 100_000] {
        let mut table = Hosts::new(1, MAX_HOSTS);
        for host in 0..n {
            table.learn(mac(host), InterfaceId(1 + (host % 4) as u32), 0);
        }
        // Fresh pairs of hosts, no order a cache could learn.
        let pairs: Vec<(u64, u64)> = (0..4096).map(|i| (rand(i) % n, rand(i + 4096) % n)).collect();
        group.throughput(Throughput::Elements(pairs.len() as u64));
        group.bench_function(format!("look-up and learn/{n}"), |bench| {
            bench.iter(|| {
                for &(src, dst) in &pairs {
                    let port = InterfaceId(1 + (src % 4) as u32);
                    black_box(table.learn(mac(src), port, black_box(0)));
                    black_box(table.lookup(mac(dst)));
                }
            });
        });
        group.bench_function(format!("look-up and learn, prefetched/{n}"), |bench| {
            bench.iter(|| {
                for batch in pairs.chunks(64) {
                    for &(src, dst) in batch {
                        table.prefetch(mac(src));
                        table.prefetch(mac(dst));
                    }
                    for &(src, dst) in batch {
                        let port = InterfaceId(1 + (src % 4) as u32);
                        black_box(table.learn(mac(src), port, black_box(0)));
                        black_box(table.lookup(mac(dst)));
                    }
                }
            });
        });
        group.bench_function(format!("look-up of nobody/{n}"), |bench| {
            bench.iter(|| {
                for &(src, _) in &pairs {
                    black_box(table.lookup(mac(src) | 1 << 41));
                }
            });
        });
    }
    group.finish();
}

fn mac(host: u64) -> u64 {
    0x000c_4200_0000 + host
}

fn rand(n: u64) -> u64 {
    let x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 17
}

criterion_group!(benches, hosts);
criterion_main!(benches);
