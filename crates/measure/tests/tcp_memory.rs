//! Memory of concurrent connections: 50,000 of them, at both ends, in well under 500 MB.

use measure::tcp::{Endpoint, NextHop, Plan, Role, Transactions};
use port::{Slab, memory};
use std::time::Duration;
use wire::{Ipv4Range, MacAddr, Moment};

#[test]
fn fifty_thousand_connections_in_a_few_dozen_megabytes() {
    const CONNECTIONS: usize = 50_000;
    let range = |first| Ipv4Range::new(first, first + 9).unwrap();
    let servers = Plan {
        role: Role::Servers,
        mac: MacAddr([6, 0, 0, 0, 0, 2]),
        next_hop: NextHop::Mac(MacAddr([6, 0, 0, 0, 0, 1])),
        addresses: range(0xc613_0002),
        ports: (80, 80),
        transactions: Transactions {
            count: 1,
            request: 100,
            response: 1000,
            think: Duration::ZERO,
        },
        mss: 1460,
        window: 65_535,
        retries: 5,
        time_wait: Duration::ZERO,
        compare: true,
        seed: 1,
    };
    let clients = Plan {
        role: Role::Clients {
            servers: range(0xc613_0002),
            services: (80, 80),
            rate: None,
            concurrent: CONNECTIONS,
            total: Some(CONNECTIONS as u64),
            hold: Duration::MAX,
        },
        mac: MacAddr([6, 0, 0, 0, 0, 1]),
        next_hop: NextHop::Mac(MacAddr([6, 0, 0, 0, 0, 2])),
        addresses: range(0xc612_0002),
        ports: (1024, 65_535),
        ..servers.clone()
    };
    let slab = Slab::new(4096).unwrap();
    let mut open = (0, 0);
    let used = allocation_counter::measure(|| {
        let mut pool = slab.pool();
        let (mut left, mut right) = memory::wire_between(1024, 1024);
        let mut a = Endpoint::new(clients).unwrap();
        let mut b = Endpoint::new(servers).unwrap();
        let mut now = Moment::ZERO;
        while b.counts().transactions < CONNECTIONS as u64
            || a.counts().transactions < CONNECTIONS as u64
        {
            now = now + Duration::from_micros(10);
            a.poll(now, &mut pool, &mut left);
            b.poll(now, &mut pool, &mut right);
            assert!(now < Moment::ZERO + Duration::from_secs(60), "{:?}", a.counts());
        }
        open = (a.established(), b.established());
    });
    assert_eq!(open, (CONNECTIONS, CONNECTIONS));
    let megabytes = used.bytes_max / 1_000_000;
    // Measured: 56 MB, half of it spare room in vectors that have grown.
    assert!(megabytes < 100, "{megabytes} MB");
    println!("{megabytes} MB");
}
