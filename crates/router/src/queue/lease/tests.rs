//! Lanes in virtual time: rates, windows and fairness, whatever the lanes have to do.

use super::*;
use std::collections::VecDeque;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// How often a lane looks for work.
const BREATH: u64 = 20_000;

fn limit(rate: u64, depth_ns: u64) -> Limit {
    Limit { rate, depth_ns, packets: 50 }
}

/// A lane's loop: what waits there, and when it looks next.
struct Loop {
    lane: Lane,
    waiting: VecDeque<u32>,
    next: u64,
    /// The bits that came and did not make up a packet yet.
    came: u64,
    sent: u64,
}

/// Runs lanes; `load` says what comes to each in bits per second, by the second. Returns what was sent, when,
/// and how much by each lane after the first second.
fn run(
    limit: Limit,
    lanes: usize,
    seconds: u64,
    load: impl Fn(usize, u64) -> u64,
) -> (Vec<(u64, u32)>, Vec<u64>) {
    let shared = Arc::new(Shared::new(limit, lanes as u64, Moment::ZERO).expect("room"));
    let mut loops: Vec<Loop> = (0..lanes as u64)
        .map(|n| Loop {
            lane: Lane::new(shared.clone()),
            waiting: VecDeque::new(),
            // Each in its own time.
            next: n * BREATH / lanes as u64,
            came: 0,
            sent: 0,
        })
        .collect();
    let mut sent = Vec::new();
    let mut serial = 0u32;
    while let Some((n, now)) =
        loops.iter().map(|one| one.next).enumerate().min_by_key(|&(_, next)| next)
    {
        if now >= seconds * SECOND {
            break;
        }
        let one = &mut loops[n];
        one.next = now + BREATH;
        one.came += load(n, now / SECOND) * BREATH / SECOND;
        loop {
            let len = [64, 1514, 576][serial as usize % 3];
            let bits = u64::from(len) * 8;
            if one.came < bits {
                break;
            }
            (one.came, serial) = (one.came - bits, serial.wrapping_add(1));
            if one.waiting.len() < 1000 {
                one.waiting.push_back(len);
            }
        }
        while let Some(&len) = one.waiting.front() {
            if one.lane.take(len, Moment::from_nanos(now)).is_err() {
                break;
            }
            one.waiting.pop_front();
            // In the first second the full bucket goes to whoever asks.
            one.sent += u64::from(len) * u64::from(now >= SECOND);
            sent.push((now, len));
        }
        if one.waiting.is_empty() {
            one.lane.rest();
        }
    }
    (sent, loops.iter().map(|one| one.sent).collect())
}

fn bits(sent: &[(u64, u32)], from: u64, to: u64) -> u64 {
    sent.iter().filter(|(at, _)| (from..to).contains(at)).map(|&(_, len)| u64::from(len) * 8).sum()
}

/// In no window more than rate · T + capacity.
fn holds_in_each_window(sent: &[(u64, u32)], limit: Limit) {
    let capacity = i128::from(limit.rate) * i128::from(limit.depth_ns);
    // Bit-nanoseconds that came since the beginning, less those spent: the most it ever was, and now.
    let (mut spent, mut most) = (0i128, i128::MIN);
    for &(at, len) in sent {
        let before = i128::from(at) * i128::from(limit.rate) - spent;
        most = most.max(before);
        spent += i128::from(len) * 8 * i128::from(SECOND);
        let now = i128::from(at) * i128::from(limit.rate) - spent;
        assert!(
            most - now <= capacity,
            "{} bits too many at {at}",
            (most - now - capacity) / i128::from(SECOND)
        );
    }
}

#[test]
fn full_lanes_have_the_rate_together() {
    for lanes in [1, 2, 3, 5, 8, 13, 16] {
        for (rate, depth) in
            [(10_000_000, 100 * MS), (100_000_000, 10 * MS), (2_000_000_007, 100 * MS)]
        {
            let limit = limit(rate, depth);
            let (sent, _) = run(limit, lanes, 4, |_, _| 2 * rate / lanes as u64);
            holds_in_each_window(&sent, limit);
            for second in 1..4 {
                let got = bits(&sent, second * SECOND, (second + 1) * SECOND);
                let error = got.abs_diff(rate) as f64 / rate as f64;
                assert!(error < 0.0025, "{lanes} lanes, {rate}: {got}");
            }
        }
    }
}

#[test]
fn uneven_and_changing_loads_have_the_rate_together() {
    let rate = 500_000_000;
    let limit = limit(rate, 100 * MS);
    for lanes in [2, 3, 4, 7, 12, 16usize] {
        // Each second another lane has nearly all, some have nothing, and one has little.
        let load = |lane: usize, second: u64| match (lane + second as usize) % lanes {
            0 => 2 * rate,
            1 => rate / 100,
            at if at % 2 == 0 => 0,
            _ => rate / 10,
        };
        let (sent, _) = run(limit, lanes, 5, load);
        holds_in_each_window(&sent, limit);
        for second in 1..5 {
            let got = bits(&sent, second * SECOND, (second + 1) * SECOND);
            let error = got.abs_diff(rate) as f64 / rate as f64;
            assert!(error < 0.0025, "{lanes} lanes, second {second}: {got}");
        }
    }
}

#[test]
fn lanes_that_want_more_than_there_is_have_equal_parts() {
    let rate = 200_000_000;
    let (_, by_lane) = run(limit(rate, 100 * MS), 8, 4, |lane, _| rate / 4 * (1 + lane as u64));
    let (least, most) = (by_lane.iter().min(), by_lane.iter().max());
    let (least, most) = (*least.expect("lanes") as f64, *most.expect("lanes") as f64);
    assert!(least / most > 0.99, "{by_lane:?}");
}

#[test]
fn what_is_not_too_much_passes_at_once() {
    let rate = 1_000_000_000;
    let limit = limit(rate, 100 * MS);
    let shared = Arc::new(Shared::new(limit, 4, Moment::ZERO).expect("room"));
    let mut lanes: Vec<Lane> = (0..4).map(|_| Lane::new(shared.clone())).collect();
    for n in 0..100_000u64 {
        // 0.9 of the rate, now by one lane, now by another.
        let now = Moment::from_nanos(n * 1514 * 8 * 10 / 9);
        assert_eq!(lanes[(n / 7 % 4) as usize].take(1514, now), Ok(()));
    }
}

#[test]
fn small_buckets_live_on_one_lane() {
    assert!(Shared::new(limit(10_000_000, 0), 2, Moment::ZERO).is_none());
    assert!(Shared::new(limit(1_000_000, 100 * MS), 16, Moment::ZERO).is_none());
    assert!(Shared::new(limit(1_000_000, 100 * MS), 1, Moment::ZERO).is_some());
    assert!(Shared::new(Limit::NONE, 1, Moment::ZERO).is_none());
}

#[test]
fn threads_take_no_more_than_there_is() {
    let limit = limit(1_000_000_000, 100 * MS);
    let shared = Arc::new(Shared::new(limit, 4, Moment::ZERO).expect("room"));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut lane = Lane::new(shared.clone());
            std::thread::spawn(move || {
                let mut sent = 0u64;
                while lane.take(100, Moment::ZERO).is_ok() {
                    sent += 100;
                }
                lane.rest();
                sent
            })
        })
        .collect();
    let sent: u64 = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    // 0.1 s at 1 Gbit/s, of which leases are kept apart.
    assert!((12_000_000..=12_500_000).contains(&sent), "{sent}");
}
