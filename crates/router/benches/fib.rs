//! The forwarding tables of both families: look-ups, changes, loading. `cargo bench -p router --bench fib`.
//!
//! The real table comes from the file in `WIRESPEED_ROUTES`, or from
//! `../shared/data/bgp-prefixes.txt.gz` beside the workspace; where neither is there, a synthetic
//! one of 900,000 routes takes its place. Next hops are drawn at random, 16 of them: the prefix
//! lists hold none, and equal neighbours would make the table smaller than a real router's.
//!
//! What came out stands in `src/ip/fib/trie.rs`. On a shared machine take the best runs: the same
//! binary has shown half its speed beside a compiler.

// DPDK's tables.
mod rte_fib;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use router::ip::fib::{Fib, NextHopId, Word, list, synthetic, synthetic6};
use std::hint::black_box;
use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};
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
    let id = |state: &mut u64| NextHopId(1 + (xorshift(state) >> 20) as u32 % n as u32);
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

/// Returns the least nanoseconds that a look-up took in a batch.
fn lookups<W: Word>(c: &mut Criterion, name: &str, fib: &Fib<W>, addresses: &[W]) -> f64 {
    let mut least = f64::MAX;
    let mut group = c.benchmark_group(format!("fib/{name}"));
    group.throughput(Throughput::Elements(addresses.len() as u64));
    group.bench_function("batch", |b| {
        let mut out = [NextHopId::NONE; BATCH];
        b.iter_custom(|n| {
            let time = (0..n).map(|_| once(fib, addresses, &mut out)).sum::<Duration>();
            least = least.min(time.as_nanos() as f64 / (n * addresses.len() as u64) as f64);
            time
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
    least
}

/// How long it takes to look all of them up once.
#[allow(clippy::disallowed_methods)] // this is the edge
fn once<W: Word>(fib: &Fib<W>, addresses: &[W], out: &mut [NextHopId; BATCH]) -> Duration {
    let start = Instant::now();
    for dst in addresses.chunks_exact(BATCH) {
        fib.lookup_batch(black_box(dst), out);
        black_box(&out);
    }
    start.elapsed()
}

/// How large a table is.
fn print_size<W: Word>(source: &str, next_hops: u64, fib: &Fib<W>) {
    let (forwarding, all, n) = (fib.bytes(), fib.bytes_with_routes(), fib.len());
    let per_route = |bytes: usize| bytes as f64 / n as f64;
    println!(
        "{source} table, {n} routes, {next_hops} next hops: look-up {forwarding} B ({:.2} a route), with routes {all} B ({:.2})",
        per_route(forwarding),
        per_route(all)
    );
}

/// IPv6's table, and DPDK's of both families beside ours.
fn beside(c: &mut Criterion, ours: f64, routes: &[(Ipv4Prefix, NextHopId)]) {
    let read = real_text().map(|text| list::read(&text[..]).expect("a prefix list").ipv6);
    let source = if read.is_some() { "real" } else { "synthetic" };
    let prefixes = read.unwrap_or_else(|| synthetic6::prefixes(160_000, 1));
    let mut state = 0x5eed_0001;
    for next_hops in [1, 16, 1000] {
        let hop =
            |state: &mut u64| NextHopId(1 + (xorshift(state) >> 20) as u32 % next_hops as u32);
        let fib: Fib<u128> = prefixes.iter().map(|&prefix| (prefix, hop(&mut state))).collect();
        print_size(&format!("{source} IPv6"), next_hops, &fib);
    }
    let hop = |state: &mut u64| NextHopId(1 + (xorshift(state) >> 20) as u32 % 16);
    let routes6: Vec<_> = prefixes.iter().map(|&prefix| (prefix, hop(&mut state))).collect();
    let mut draw = |_| {
        let (prefix, _) = routes6[(xorshift(&mut state) >> 11) as usize % routes6.len()];
        let anything = u128::from(xorshift(&mut state)) << 64 | u128::from(xorshift(&mut state));
        prefix.bits() | anything.checked_shr(prefix.len().into()).unwrap_or(0)
    };
    let addresses6: Vec<u128> = (0..FRESH).map(&mut draw).collect();
    let fib: Fib<u128> = routes6.iter().copied().collect();
    let ours6 = lookups(c, &format!("IPv6 {source}, in random routes"), &fib, &addresses6);
    let print = |family: u8, ours: f64, theirs: Option<f64>| {
        if let Some(theirs) = theirs.filter(|_| ours < f64::MAX) {
            println!(
                "IPv{family}: {ours:.2} ns a look-up, rte_fib {theirs:.2}: {:.2} of it",
                theirs / ours
            );
        }
    };
    if ours < f64::MAX {
        let all = routes.iter().map(|&(prefix, hop)| (prefix.bits(), prefix.len(), hop));
        print(4, ours, rte_fib::ns_per_lookup(all, &inside(routes, FRESH)));
    }
    if ours6 < f64::MAX {
        let all = routes6.iter().map(|&(prefix, hop)| (prefix.bits(), prefix.len(), hop));
        print(6, ours6, rte_fib::ns_per_lookup(all, &addresses6));
    }
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
        print_size(source, next_hops, &fib);
    }
    let routes = with_next_hops(&prefixes, 16);
    let full: Fib = routes.iter().copied().collect();
    let least = lookups(c, &format!("{source}, in random routes"), &full, &inside(&routes, FRESH));
    beside(c, least, &routes);
    lookups(c, &format!("{source}, anywhere"), &full, &anywhere(FRESH));
    lookups(c, &format!("{source}, 256 hot"), &full, &inside(&routes, 256));
    let few = [("10.0.0.0/8", 1), ("192.168.0.0/24", 2), ("192.168.1.0/24", 3), ("0.0.0.0/0", 4)];
    let few: Vec<_> =
        few.iter().map(|&(p, id)| (p.parse().expect("a prefix"), NextHopId(id))).collect();
    let small: Fib = few.iter().copied().collect();
    lookups(c, "small, in random routes", &small, &inside(&few, FRESH));

    // What a concentrator of dial-in users sees: whole pools of host routes.
    let pools: Vec<_> = (0..8u32 << 14)
        .map(|i| (Ipv4Prefix::host(0x6440_0000 + i), NextHopId(i * 7919 % 60_000 + 1)))
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
            changing.insert(routes[at].0, NextHopId((state >> 40) as u32 % 16 + 1))
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
            changing.insert(Ipv4Prefix::ALL, NextHopId(state as u32 % 16 + 1))
        });
    });
    group.bench_function("a /8", |b| {
        let prefix = Ipv4Prefix::new(45 << 24, 8); // the second most crowded one
        b.iter(|| {
            state += 1;
            changing.insert(prefix, NextHopId(state as u32 % 16 + 1))
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
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300));
    targets = fib
}
criterion_main!(benches);
