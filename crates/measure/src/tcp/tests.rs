//! Endpoints against each other, over wires that lose, double and reorder: whatever happens to the
//! frames, what was said is what was heard, and every connection is accounted for.

use super::*;
use port::fault::{Faults, FaultyPort};
use port::memory::{self, MemoryPort};
use port::simulated::{self, Link};
use port::slab::Slots;
use port::{Pool, Port, SimulatedPort, Slab};
use proptest::prelude::*;
use std::time::Duration;
use wire::{BitRate, Ipv4Range, MacAddr, Moment, PacketRate};

const CLIENTS: u32 = u32::from_be_bytes([198, 18, 0, 2]);
const SERVERS: u32 = u32::from_be_bytes([198, 19, 0, 2]);
const MACS: [MacAddr; 2] = [MacAddr([6, 0, 0, 0, 0, 1]), MacAddr([6, 0, 0, 0, 0, 2])];

fn range(first: u32, n: u32) -> Ipv4Range {
    Ipv4Range::new(first, first + n - 1).unwrap()
}

fn servers(transactions: Transactions) -> Plan {
    Plan {
        role: Role::Servers,
        mac: MACS[1],
        next_hop: NextHop::Mac(MACS[0]),
        addresses: range(SERVERS, 2),
        ports: (80, 81),
        transactions,
        mss: 1460,
        window: 1 << 20,
        retries: 8,
        time_wait: Duration::from_secs(1),
        compare: true,
        seed: 2,
    }
}

fn clients(transactions: Transactions, total: u64, concurrent: usize) -> Plan {
    let role = Role::Clients {
        servers: range(SERVERS, 2),
        services: (80, 81),
        rate: None,
        concurrent,
        total: Some(total),
        hold: Duration::ZERO,
    };
    let there = servers(transactions);
    Plan {
        role,
        mac: MACS[0],
        next_hop: NextHop::Arp(SERVERS),
        addresses: range(CLIENTS, 10),
        ports: (1024, 65535),
        seed: 1,
        ..there
    }
}

fn say(count: u32, request: u32, response: u32) -> Transactions {
    Transactions { count, request, response: response.into(), think: Duration::ZERO }
}

/// Runs both in virtual time until all is done, or an hour has passed; goes from event to event.
fn run<P: Port>(
    [a, b]: [&mut Endpoint; 2],
    [left, right]: [&mut P; 2],
    pool: &mut Pool,
    arrival: impl Fn(&P) -> Option<Moment>,
) -> Moment {
    let mut now = Moment::ZERO;
    while now < Moment::ZERO + Duration::from_secs(3600) {
        let moved = a.poll(now, pool, left) + b.poll(now, pool, right);
        if a.is_done() && b.is_done() {
            return now;
        }
        if moved == 0 {
            let due = a.next_due(now).min(b.next_due(now));
            let arrivals = [arrival(left), arrival(right)];
            let next = arrivals.into_iter().flatten().fold(due, Moment::min);
            // What is held up inside a faulty wire comes out with time.
            now = next.max(now + Duration::from_nanos(1)).min(now + Duration::from_millis(1));
        }
    }
    now
}

fn check_sums(counts: &Counts) {
    let ends = counts.closed + counts.reset + counts.timed_out;
    assert_eq!(counts.established + counts.never_established, ends, "{counts:?}");
    assert_eq!((counts.wrong_bytes, counts.corrupt, counts.no_tuple), (0, 0, 0), "{counts:?}");
}

#[test]
fn what_is_asked_is_answered_over_a_simulated_wire() {
    // Transactions, connections, of which at a time.
    for (transactions, total, concurrent) in [
        (say(1, 1, 1), 1, 1),
        (say(0, 0, 0), 100, 10),
        (say(1, 100, 0), 20, 20),
        (say(3, 100, 10_000), 200, 50),
        (say(1, 100_000, 1), 5, 5),
        (say(1, 200, 3_000_000), 3, 3),
    ] {
        let slab = Slab::new(16_384).unwrap();
        let link = Link { delay: Duration::from_micros(500), ..Link::new(BitRate::gbps(1.0)) };
        let (mut left, mut right) = simulated::wire(link).unwrap();
        let mut a = Endpoint::new(clients(transactions, total, concurrent)).unwrap();
        let mut b = Endpoint::new(servers(transactions)).unwrap();
        let mut pool = slab.pool();
        let end =
            run([&mut a, &mut b], [&mut left, &mut right], &mut pool, SimulatedPort::next_arrival);
        let told =
            format!("{transactions:?} × {total} at {end:?}\n{:?}\n{:?}", a.counts(), b.counts());
        let (ours, theirs) = (a.counts(), b.counts());
        check_sums(ours);
        check_sums(theirs);
        assert_eq!((ours.closed, theirs.closed), (total, total), "{told}");
        let n = total * u64::from(transactions.count);
        assert_eq!((ours.transactions, theirs.transactions), (n, n), "{told}");
        assert_eq!(theirs.bytes_received, n * u64::from(transactions.request), "{told}");
        assert_eq!(ours.bytes_received, n * transactions.response, "{told}");
        assert_eq!(ours.connect_ns.len(), total, "{told}");
        assert!(ours.connect_ns.min() >= 1_000_000, "two crossings of 500 µs: {told}");
        drop((left, right, pool));
        assert_eq!(slab.frames_out(), 0, "{told}");
    }
}

/// Loss fills no pipe: a big transfer gets most of the wire, once the window covers it.
#[test]
fn one_connection_fills_a_wire_and_a_small_window_does_not() {
    for (window, least, most) in [(1 << 20, 0.90, 0.96), (65_535, 0.45, 0.53)] {
        let slab = Slab::new(4096).unwrap();
        let link = Link { delay: Duration::from_micros(500), ..Link::new(BitRate::gbps(1.0)) };
        let (mut left, mut right) = simulated::wire(link).unwrap();
        let transactions = say(1, 100, 30_000_000);
        let mut a = Endpoint::new(Plan { window, ..clients(transactions, 1, 1) }).unwrap();
        let mut b = Endpoint::new(Plan { window, ..servers(transactions) }).unwrap();
        run(
            [&mut a, &mut b],
            [&mut left, &mut right],
            &mut slab.pool(),
            SimulatedPort::next_arrival,
        );
        let seconds = a.counts().transaction_ns.max() as f64 / 1e9;
        let share = 30_000_000.0 * 8.0 / 1e9 / seconds;
        assert!((least..most).contains(&share), "{window}: {share} of the wire, {:?}", a.counts());
    }
}

/// Packets of 9000 bytes, over a wire that is sound and over one that is not: every byte is compared.
#[test]
fn segments_of_jumbo_packets() {
    let transactions = say(2, 30_000, 3_000_000);
    let some = Faults { drop: 0.01, duplicate: 0.01, reorder: 0.01, ..Faults::default() };
    for (mss, faults) in [(1461, Faults::default()), (8960, Faults::default()), (8948, some)] {
        let plans = [clients(transactions, 4, 4), servers(transactions)];
        let plans = plans.map(|plan| Plan { mss, ..plan });
        let (ends, left_over) = memory_run(plans, [faults; 2], 7);
        let [ours, theirs] = [ends[0].counts(), ends[1].counts()];
        check_sums(ours);
        check_sums(theirs);
        assert_eq!((ours.closed, theirs.closed, left_over), (4, 4, 0), "{mss} {ours:?}");
        assert_eq!(ours.bytes_received, 8 * 3_000_000, "{mss} {ours:?}");
        // As few segments as carry it, but for those that are acknowledgements alone.
        let least = 8 * 3_000_000u64.div_ceil(u64::from(mss));
        assert!(theirs.segments_sent >= least, "{mss} {theirs:?}");
        let most = least + 8 * 30_000 / 1000 + ours.segments_sent + theirs.retransmitted;
        assert!(theirs.segments_sent <= most, "{mss}, {least}: {theirs:?}");
    }
}

fn memory_run(plans: [Plan; 2], faults: [Faults; 2], seed: u64) -> ([Endpoint; 2], usize) {
    let mss = plans.iter().map(|plan| usize::from(plan.mss)).max().unwrap_or_default();
    let slots = Slots::holding((14 + 60 + mss).max(Slots::STANDARD.max_frame())).unwrap();
    let slab = Slab::with(8192, slots).unwrap();
    let mut pool = slab.pool();
    let (left, right) = memory::wire_between(4096, 4096);
    let [mut left, mut right] = [(left, faults[0], seed), (right, faults[1], seed + 1)]
        .map(|(port, faults, seed)| FaultyPort::new(port, faults, seed));
    let [mut a, mut b] = plans.map(|plan| Endpoint::new(plan).unwrap());
    let none = |_: &FaultyPort<MemoryPort>| None;
    run([&mut a, &mut b], [&mut left, &mut right], &mut pool, none);
    let held = left.held() + right.held();
    drop(pool);
    ([a, b], slab.frames_out() - held)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is lost, doubled, reordered or damaged: every byte arrives once and right, and all
    /// connections close. (Damage is found by the checksum.)
    #[test]
    fn what_is_said_is_heard(
        seed in any::<u64>(),
        loss in 0.0..0.1f64,
        duplicate in 0.0..0.1f64,
        reorder in 0.0..0.1f64,
        corrupt in 0.0..0.05f64,
        (count, request, response) in (1u32..4, 1u32..20_000, 1u32..60_000),
        window in 1460u32..200_000,
    ) {
        let faults = Faults { drop: loss, duplicate, reorder, corrupt, ..Faults::default() };
        let transactions = say(count, request, response);
        let ours = Plan { window, retries: 20, seed, ..clients(transactions, 10, 4) };
        let theirs = Plan { window, retries: 20, ..servers(transactions) };
        let ([a, b], leaked) = memory_run([ours, theirs], [faults; 2], seed);
        let told = format!("{:?}\n{:?}", a.counts(), b.counts());
        prop_assert_eq!(leaked, 0);
        prop_assert_eq!(a.counts().wrong_bytes + b.counts().wrong_bytes, 0, "{}", told);
        prop_assert_eq!(a.counts().transactions, 10 * u64::from(count), "{}", told);
        prop_assert_eq!(b.counts().bytes_received, 10 * u64::from(count * request), "{}", told);
        prop_assert_eq!(a.counts().bytes_received, 10 * u64::from(count * response), "{}", told);
        prop_assert_eq!(a.counts().opened, 10);
    }
}

#[test]
fn nobody_answers() {
    let plan = Plan { retries: 2, next_hop: NextHop::Mac(MACS[1]), ..clients(say(1, 1, 1), 5, 5) };
    let lost = Faults { drop: 1.0, ..Faults::default() };
    let ([a, _], leaked) = memory_run([plan, servers(say(1, 1, 1))], [lost; 2], 1);
    let counts = a.counts();
    check_sums(counts);
    assert_eq!((counts.opened, counts.timed_out, counts.never_established), (5, 5, 5));
    assert_eq!((counts.retransmitted_syns, leaked), (10, 0));
}

#[test]
fn a_port_nobody_listens_on_refuses() {
    let plan = servers(say(1, 1, 1));
    let closed = Plan { ports: (1, 1), ..plan };
    let ([a, b], _) = memory_run([clients(say(1, 1, 1), 5, 5), closed], [Faults::default(); 2], 1);
    check_sums(a.counts());
    assert_eq!((a.counts().reset, a.counts().never_established), (5, 5), "{:?}", a.counts());
    assert_eq!((b.counts().stray, b.counts().established), (5, 0));
}

#[test]
fn connections_come_at_their_rate_and_are_held_until_released() {
    let mut plan = clients(say(1, 10, 10), 1000, 1000);
    let Role::Clients { rate, hold, .. } = &mut plan.role else { unreachable!() };
    (*rate, *hold) = (Some(PacketRate(1000.0)), Duration::MAX);
    let plan = Plan { next_hop: NextHop::Mac(MACS[1]), ..plan };
    let slab = Slab::new(8192).unwrap();
    let mut pool = slab.pool();
    let (mut left, mut right) = memory::wire_between(4096, 4096);
    let mut a = Endpoint::new(plan).unwrap();
    let mut b = Endpoint::new(servers(say(1, 10, 10))).unwrap();
    let mut until = |ms: u64, from: u64| {
        for ms in from..=ms {
            let now = Moment::ZERO + Duration::from_millis(ms);
            while a.poll(now, &mut pool, &mut left) + b.poll(now, &mut pool, &mut right) > 0 {}
        }
        (a.counts().opened, a.established(), b.established())
    };
    assert_eq!(until(499, 0), (500, 500, 500));
    assert_eq!(until(2000, 500), (1000, 1000, 1000));
    let now = Moment::ZERO + Duration::from_secs(2);
    a.release(now);
    while a.poll(now, &mut pool, &mut left) + b.poll(now, &mut pool, &mut right) > 0 {}
    assert_eq!((a.established(), b.connections(), a.connections()), (0, 0, 1000), "TIME-WAIT");
    let now = now + Duration::from_secs(1);
    a.poll(now, &mut pool, &mut left);
    assert!(a.is_done() && b.is_done());
    assert_eq!((a.counts().closed, b.counts().closed), (1000, 1000));
    assert_eq!(a.counts().concurrent_max, 1000);
}

#[test]
fn plans_that_cannot_be_are_refused() {
    let plan = || clients(say(1, 1, 1), 1, 1);
    let cases: [(Plan, &str); 8] = [
        (Plan { mss: 63, ..plan() }, "an MSS of 63 bytes: use 64 to 8960"),
        (Plan { window: 1459, ..plan() }, "a window of 1459 bytes: use one MSS to 1073741824"),
        (Plan { retries: 0, ..plan() }, "0 retries: use 1 to 20"),
        (Plan { ports: (0, 5), ..plan() }, "ports 0-5: use 1 to 65535, the lower one first"),
        (Plan { ports: (6, 5), ..plan() }, "ports 6-5: use 1 to 65535, the lower one first"),
        (clients(say(1, 0, 1), 1, 1), "1 transactions of 0 and 1 bytes: a request has at least"),
        (clients(say(1, 1, 1), 1, 0), "no connection is to be open at any time"),
        (clients(say(1, 1, 1), 1, 9_999_999), "9999999 connections at a time, and addresses"),
    ];
    for (plan, expected) in cases {
        let Err(bad) = Endpoint::new(plan) else { panic!("accepted: {expected}") };
        assert!(bad.to_string().starts_with(expected), "{bad}");
    }
}
