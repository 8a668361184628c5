//! The forwarding table: look-ups, changes, loading. `cargo bench -p router --bench fib`.
//!
//! The real table comes from the file in `WIRESPEED_ROUTES`, or from
//! `../shared/data/bgp-prefixes.txt.gz` beside the workspace; where neither is there, a synthetic
//! one of 900,000 routes takes its place. Next hops are drawn at random, 16 of them: the prefix
//! lists hold none, and equal neighbours would make the table smaller than a real router's.
//!
//! What came out stands in `src/ip/fib/trie.rs`. On a shared machine take the best runs: the same
//! binary has shown half its speed beside a compiler.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use router::ip::fib::{Fib, NextHopId, list, synthetic};
use std::hint::black_box;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use wire::Ipv4Prefix;

/// Addresses a look-up bench goes through: too many for any predictor, few enough for L2 to hold
/// little of them.
const FRESH: usize = 1 << 20;
const BATCH: usize = 64;

fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The text of the real table, if there is one.
fn real_text() -> Option<Vec<u8>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/bgp-prefixes.txt.gz");
    let path = std::env::var_os("WIRESPEED_ROUTES").map_or_else(|| beside.into(), PathBuf::from);
    let file = std::fs::File::open(&path).ok()?;
    let mut text = Vec::new();
    if path.extension().is_some_and(|ext| ext == "gz") {
        flate2::read::GzDecoder::new(file).read_to_end(&mut text).expect("a gzip file");
    } else {
        BufReader::new(file).read_to_end(&mut text).expect("a readable file");
    }
    Some(text)
}

fn with_next_hops(prefixes: &[Ipv4Prefix], n: u64) -> Vec<(Ipv4Prefix, NextHopId)> {
    let mut state = 0x5eed_0001;
    let id = |state: &mut u64| NextHopId(1 + (xorshift(state) >> 20) as u16 % n as u16);
    prefixes.iter().map(|&prefix| (prefix, id(&mut state))).collect()
}

/// Addresses inside random routes: every one is found, and long prefixes are met as often as
/// they occur.
fn inside(routes: &[(Ipv4Prefix, NextHopId)], n: usize) -> Vec<u32> {
    let mut state = 0x5eed_0002;
    let draw = |_| {
        let (prefix, _) = routes[(xorshift(&mut state) >> 11) as usize % routes.len()];
        prefix.bits() | (xorshift(&mut state) >> 13) as u32 & !wire::prefix::mask(prefix.len())
    };
    (0..n).map(draw).collect()
}

/// Addresses anywhere.
fn anywhere(n: usize) -> Vec<u32> {
    let mut state = 0x5eed_0003;
    (0..n).map(|_| (xorshift(&mut state) >> 13) as u32).collect()
}

fn lookups(c: &mut Criterion, name: &str, fib: &Fib, addresses: &[u32]) {
    let mut group = c.benchmark_group(format!("fib/{name}"));
    group.throughput(Throughput::Elements(addresses.len() as u64));
    group.bench_function("batch", |b| {
        let mut out = [NextHopId::NONE; BATCH];
        b.iter(|| {
            for dst in addresses.chunks_exact(BATCH) {
                fib.lookup_batch(black_box(dst), &mut out);
                black_box(&out);
            }
        });
    });
    group.bench_function("single", |b| {
        b.iter(|| {
            for &dst in addresses {
                black_box(fib.lookup(dst));
            }
        });
    });
    group.finish();
}

fn fib(c: &mut Criterion) {
    let text = real_text();
    let source = if text.is_some() { "real" } else { "synthetic" };
    let prefixes = match &text {
        Some(text) => list::read(&text[..]).expect("a prefix list").ipv4,
        None => synthetic::prefixes(900_000, 1),
    };
    for next_hops in [1, 16, 1000] {
        let fib: Fib = with_next_hops(&prefixes, next_hops).into_iter().collect();
        let (forwarding, all, n) = (fib.bytes(), fib.bytes_with_routes(), fib.len());
        let per_route = |bytes: usize| bytes as f64 / n as f64;
        println!(
            "{source} table, {n} routes, {next_hops} next hops: look-up {forwarding} B ({:.2} a route), with routes {all} B ({:.2})",
            per_route(forwarding),
            per_route(all)
        );
    }
    let routes = with_next_hops(&prefixes, 16);
    let full: Fib = routes.iter().copied().collect();
    lookups(c, &format!("{source}, in random routes"), &full, &inside(&routes, FRESH));
    lookups(c, &format!("{source}, anywhere"), &full, &anywhere(FRESH));
    lookups(c, &format!("{source}, 256 hot"), &full, &inside(&routes, 256));
    let few = [("10.0.0.0/8", 1), ("192.168.0.0/24", 2), ("192.168.1.0/24", 3), ("0.0.0.0/0", 4)];
    let few: Vec<_> =
        few.iter().map(|&(p, id)| (p.parse().expect("a prefix"), NextHopId(id))).collect();
    let small: Fib = few.iter().copied().collect();
    lookups(c, "small, in random routes", &small, &inside(&few, FRESH));

    // What a concentrator of dial-in users sees: whole pools of host routes.
    let pools: Vec<_> = (0..8u32 << 14)
        .map(|i| (Ipv4Prefix::host(0x6440_0000 + i), NextHopId((i * 7919 % 60_000) as u16 + 1)))
        .collect();
    let hosts: Fib = pools.iter().copied().collect();
    lookups(c, "131,072 hosts, in random routes", &hosts, &inside(&pools, FRESH));

    let mut group = c.benchmark_group("fib/change");
    group.throughput(Throughput::Elements(1));
    let mut changing = full.clone();
    let mut state = 0x5eed_0004u64;
    group.bench_function("next hop of a random route", |b| {
        b.iter(|| {
            let at = (xorshift(&mut state) >> 11) as usize % routes.len();
            changing.insert(routes[at].0, NextHopId((state >> 40) as u16 % 16 + 1))
        });
    });
    group.bench_function("a random route away and back", |b| {
        b.iter(|| {
            let (prefix, id) = routes[(xorshift(&mut state) >> 11) as usize % routes.len()];
            changing.remove(prefix);
            changing.insert(prefix, id)
        });
    });
    let mut connected = hosts.clone();
    group.bench_function("a random host of 131,072 away and back", |b| {
        b.iter(|| {
            let (prefix, id) = pools[(xorshift(&mut state) >> 11) as usize % pools.len()];
            connected.remove(prefix);
            connected.insert(prefix, id)
        });
    });
    group.bench_function("default route", |b| {
        b.iter(|| {
            state += 1;
            changing.insert(Ipv4Prefix::ALL, NextHopId(state as u16 % 16 + 1))
        });
    });
    group.bench_function("a /8", |b| {
        let prefix = Ipv4Prefix::new(45 << 24, 8); // the second most crowded one
        b.iter(|| {
            state += 1;
            changing.insert(prefix, NextHopId(state as u16 % 16 + 1))
        });
    });
    group.finish();

    let mut group = c.benchmark_group("fib/load");
    group.sample_size(10);
    group.throughput(Throughput::Elements(routes.len() as u64));
    group.bench_function(format!("{source} table, in order"), |b| {
        b.iter_batched(|| routes.clone(), <Fib>::from_iter, BatchSize::PerIteration);
    });
    let mut shuffled = routes.clone();
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, (xorshift(&mut state) >> 11) as usize % (i + 1));
    }
    group.bench_function(format!("{source} table, shuffled"), |b| {
        b.iter_batched(|| shuffled.clone(), <Fib>::from_iter, BatchSize::PerIteration);
    });
    group.bench_function("one by one", |b| {
        b.iter_batched(
            <Fib>::new,
            |mut fib| {
                for &(prefix, id) in &routes {
                    fib.insert(prefix, id);
                }
                fib
            },
            BatchSize::PerIteration,
        );
    });
    if let Some(text) = &text {
        group.bench_function("real table, parse only", |b| {
            b.iter(|| list::read(&text[..]).expect("a prefix list"));
        });
    }
    group.bench_function("make 900,000 synthetic routes", |b| {
        b.iter(|| synthetic::prefixes(900_000, 1));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(100))
        .measurement_time(std::time::Duration::from_millis(300));
    targets = fib
}
criterion_main!(benches);
