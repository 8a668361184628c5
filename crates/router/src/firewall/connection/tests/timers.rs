//! Tests of connection timeouts, in virtual time and across the wrap of the millisecond clock.

use super::*;
use proptest::prelude::*;

/// A little before the 32-bit milliseconds wrap, and some other times to begin at.
const BEGINNINGS: [u64; 4] = [0, 12_345, (1 << 32) - 5_000, (1 << 32) - 200_000];

fn bench_at(ms: u64) -> Bench {
    let mut bench = Bench::new(64);
    bench.wait(ms);
    bench
}

/// Milliseconds after the last packet at which the only connection ends.
fn lifetime(bench: &mut Bench, step: u64) -> u64 {
    let mut waited = 0;
    while !bench.connections.is_empty() {
        bench.wait(step);
        waited += step;
        assert!(waited < 200_000_000, "does not end");
    }
    waited
}

#[test]
fn udp_ends_after_its_timeout() {
    let tuple = udp(CLIENT, 1, SERVER, 2);
    for beginning in BEGINNINGS {
        for (replies, timeout) in [(0, 10_000), (1, 10_000), (2, 180_000)] {
            let mut bench = bench_at(beginning);
            bench.pass_udp(tuple);
            for _ in 0..replies {
                bench.pass_udp(tuple.reversed());
            }
            let lived = lifetime(&mut bench, 8);
            let why = format!("from {beginning}, {replies} replies: {lived}");
            assert!((timeout..timeout + 264).contains(&lived), "{why}");
            assert_eq!(bench.connections.counts.expired, 1);
        }
    }
}

#[test]
fn traffic_in_either_direction_keeps_a_connection() {
    let tuple = udp(CLIENT, 1, SERVER, 2);
    for beginning in BEGINNINGS {
        let mut bench = bench_at(beginning);
        let flow = bench.pass_udp(tuple).1.unwrap();
        bench.pass_udp(tuple.reversed());
        for n in 0..50 {
            let tuple = if n / 10 % 2 == 0 { tuple } else { tuple.reversed() };
            bench.wait(9_000);
            assert_eq!(bench.pass_udp(tuple).0, ConnectionState::Established, "{n}");
        }
        assert_eq!(bench.entry(flow).timeout, Duration::from_secs(180));
        bench.wait(60_000);
        assert_eq!(bench.entry(flow).timeout, Duration::from_secs(120));
    }
}

#[test]
fn one_silent_direction_does_not_matter_for_months() {
    let tuple = udp(CLIENT, 1, SERVER, 2);
    let mut bench = bench_at(0);
    bench.pass_udp(tuple);
    bench.pass_udp(tuple.reversed());
    bench.pass_udp(tuple);
    for _ in 0..60 * 24 * 60 {
        bench.wait(60_000); // sixty days: the clock wraps after 49
        assert_eq!(bench.pass_udp(tuple).0, ConnectionState::Established);
    }
    let lived = lifetime(&mut bench, 100);
    assert!((180_000..180_400).contains(&lived), "{lived}");
}

#[test]
fn a_budget_spreads_the_work() {
    let mut bench = Bench::new(64);
    for port in 0..50 {
        bench.pass_udp(udp(CLIENT, port, SERVER, 2));
    }
    bench.now = bench.now + Duration::from_secs(11);
    assert_eq!(bench.connections.sweep(bench.now, 20), 20);
    assert_eq!(bench.connections.len(), 30);
    assert_eq!(bench.connections.sweep(bench.now, 100), 30);
    assert!(bench.connections.is_empty());
}

#[test]
fn a_long_pause_is_caught_up_at_once() {
    let mut bench = Bench::new(64);
    for port in 0..50 {
        bench.pass_udp(udp(CLIENT, port, SERVER, 2));
        bench.now = bench.now + Duration::from_millis(700);
    }
    bench.wait(3_600_000);
    assert!(bench.connections.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Against the plainest clock: a connection lives while its last packet is younger than the
    /// timeout, and is gone 256 ms later.
    #[test]
    fn as_a_list_of_deadlines(
        beginning in 0..BEGINNINGS.len(),
        ops in prop::collection::vec((0u16..12, any::<bool>(), 0u64..4_000), 1..400),
    ) {
        let mut bench = bench_at(BEGINNINGS[beginning]);
        // By port: the last packet, and how many went which way.
        let mut oracle = std::collections::BTreeMap::<u16, (Moment, [u32; 2], u64)>::new();
        for (port, back, wait) in ops {
            let tuple = udp(CLIENT, port, SERVER, 2);
            let known = oracle.get(&port).map(|&(last, counts, timeout)| {
                (bench.now.since(last).as_millis() as u64, counts, timeout)
            });
            let lives = bench.connections.flows().find(tuple.hash(), &tuple).is_some();
            match known {
                Some((idle, _, timeout)) if idle < timeout => prop_assert!(lives, "{port}"),
                Some((idle, _, timeout)) if idle >= timeout + 256 => prop_assert!(!lives, "{port}"),
                Some(_) => {}
                None => prop_assert!(!lives),
            }
            let (mut counts, mut timeout) = match known {
                Some((_, counts, timeout)) if lives => (counts, timeout),
                _ => ([0, 0], 10_000),
            };
            let back = back && lives; // a reply that finds nothing would begin the other way
            if counts[1] > 0 {
                timeout = 180_000;
            }
            counts[usize::from(back)] += 1;
            bench.pass_udp(if back { tuple.reversed() } else { tuple });
            oracle.insert(port, (bench.now, counts, timeout));
            bench.wait(wait);
        }
    }
}
