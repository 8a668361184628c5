//! Emulated TCP on one core, clients and servers both, a memory wire between: elements are
//! connections (opened, one transaction, closed), or bytes of data.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use measure::tcp::{Endpoint, NextHop, Plan, Role, Transactions};
use port::memory::{self, MemoryPort};
use port::{Pool, Slab};
use std::time::Duration;
use wire::{Ipv4Range, MacAddr, Moment};

const MACS: [MacAddr; 2] = [MacAddr([6, 0, 0, 0, 0, 1]), MacAddr([6, 0, 0, 0, 0, 2])];

fn plans(transactions: Transactions, total: u64, concurrent: usize, hold: Duration) -> [Plan; 2] {
    let range = |third: u32, n| {
        let first = 0xc612_0002 + (third << 16);
        Ipv4Range::new(first, first + n - 1).expect("a range")
    };
    let servers = Plan {
        role: Role::Servers,
        mac: MACS[1],
        next_hop: NextHop::Mac(MACS[0]),
        addresses: range(1, 10),
        ports: (80, 80),
        transactions,
        mss: 1460,
        window: 1 << 20,
        retries: 5,
        time_wait: Duration::ZERO,
        compare: true,
        seed: 1,
    };
    let role = Role::Clients {
        servers: range(1, 10),
        services: (80, 80),
        rate: None,
        concurrent,
        total: Some(total),
        hold,
    };
    let clients = Plan {
        role,
        mac: MACS[0],
        next_hop: NextHop::Mac(MACS[1]),
        addresses: range(0, 10),
        ports: (1024, 65_535),
        ..servers.clone()
    };
    [clients, servers]
}

struct Lab {
    ends: [Endpoint; 2],
    wires: [MemoryPort; 2],
    pool: Pool,
    now: Moment,
}

impl Lab {
    fn new(slab: &Slab, plans: [Plan; 2]) -> Lab {
        let (left, right) = memory::wire_between(4096, 4096);
        let ends = plans.map(|plan| Endpoint::new(plan).expect("a plan"));
        Lab { ends, wires: [left, right], pool: slab.pool(), now: Moment::ZERO }
    }

    /// A microsecond passes with each poll.
    fn poll(&mut self) -> usize {
        self.now = self.now + Duration::from_micros(1);
        let Lab { ends: [a, b], wires: [left, right], pool, now } = self;
        a.poll(*now, pool, left) + b.poll(*now, pool, right)
    }

    fn run(&mut self) {
        while !self.ends[0].is_done() {
            self.poll();
        }
    }
}

fn tcp(c: &mut Criterion) {
    let slab = Slab::new(16_384).expect("a slab");
    let mut group = c.benchmark_group("tcp");
    group.sample_size(10).measurement_time(Duration::from_secs(2));

    const CONNECTIONS: u64 = 50_000;
    group.throughput(Throughput::Elements(CONNECTIONS));
    for (name, count) in [("handshake and close", 0), ("one transaction", 1), ("ten", 10)] {
        let talk = Transactions { count, request: 100, response: 100, think: Duration::ZERO };
        group.bench_function(BenchmarkId::new("connections", name), |bench| {
            bench.iter(|| {
                let plans = plans(talk, CONNECTIONS, 1000, Duration::ZERO);
                Lab::new(&slab, plans).run();
            });
        });
    }

    const BYTES: u64 = 100_000_000;
    group.throughput(Throughput::Bytes(BYTES));
    let talk = Transactions { count: 1, request: 100, response: BYTES, think: Duration::ZERO };
    group.bench_function("data", |bench| {
        bench.iter(|| Lab::new(&slab, plans(talk, 1, 1, Duration::ZERO)).run());
    });
    group.finish();
}

criterion_group!(benches, tcp);
criterion_main!(benches);
