//! Trees in virtual time: the manual's examples, bursts, shares, and that nobody waits for nothing.

use super::*;
use crate::book::Fresh;

use crate::queue::{BurstLimit, Change, Decision, Label, Limit, QueueId, Queues};
use proptest::prelude::*;
use std::collections::HashMap;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const M: u64 = 1_000_000;

fn at(ns: u64) -> Moment {
    Moment::from_nanos(ns)
}

/// A class with a bucket of 10 ms.
fn class(max: u64, limit_at: u64, priority: u8) -> Settings {
    let limit = Limit { rate: max, depth_ns: 10 * MS, packets: 50 };
    Settings { limit_at, priority, ..Settings::plain(limit) }
}

fn below(parent: u32, depth: u8, settings: Settings) -> Settings {
    Settings { parent: Some(QueueLeafId(parent)), depth, ..settings }
}

fn inner(settings: Settings) -> Settings {
    Settings { inner: true, ..settings }
}

fn forest(classes: &[Settings]) -> Queues<u32> {
    let mut queues = Queues::default();
    let settings = (0..).map(QueueLeafId).zip(classes.iter().copied()).collect();
    queues.apply(&mut change(settings, classes.len()), Moment::ZERO);
    queues
}

fn change(settings: Vec<(QueueLeafId, Settings)>, n: usize) -> Change {
    let fresh = Fresh { ids: Vec::<QueueId>::new(), end: n.div_ceil(2) };
    Change { fresh, gone: Vec::new(), settings, room: Default::default(), room_for: 0 }
}

/// Offers packets of `len` bytes to leaves at their rates, from `start` to `end`, in steps of 1 ms;
/// returns when which bytes passed, by leaf.
fn offer(
    queues: &mut Queues<u32>,
    leaves: &[(u32, u64)],
    len: u32,
    (start, end): (u64, u64),
) -> HashMap<u32, Vec<(u64, u32)>> {
    let mut passed: HashMap<u32, Vec<(u64, u32)>> = HashMap::new();
    let mut due: Vec<u64> = vec![0; leaves.len()];
    for now in (start..end).step_by(MS as usize) {
        while let Some(when) = queues.next_deadline().filter(|&when| when <= at(now)) {
            queues.release(when, |leaf, len, _| {
                passed.entry(leaf.0).or_default().push((when.as_nanos(), len));
            });
        }
        for (&(leaf, rate), due) in leaves.iter().zip(&mut due) {
            *due += rate / 1000;
            while *due >= u64::from(len) * 8 {
                *due -= u64::from(len) * 8;
                match queues.offer(QueueLeafId(leaf), at(now), len) {
                    Decision::Pass => passed.entry(leaf).or_default().push((now, len)),
                    Decision::Enqueue => {
                        queues.enqueue(QueueLeafId(leaf), len, len, Label::default(), at(now));
                    }
                    Decision::DropFull => {}
                }
            }
        }
        while queues.take_dropped().is_some() {}
    }
    passed
}

/// Megabits a second of each leaf, measured from the second second on.
fn rates(queues: &mut Queues<u32>, leaves: &[(u32, u64)], seconds: u64) -> Vec<f64> {
    let passed = offer(queues, leaves, 1250, (0, (1 + seconds) * SECOND));
    let bits = |leaf: u32| -> u64 {
        let all = passed.get(&leaf).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|(when, _)| *when >= SECOND).map(|&(_, len)| u64::from(len) * 8).sum()
    };
    leaves.iter().map(|&(leaf, _)| bits(leaf) as f64 / seconds as f64 / 1e6).collect()
}

/// The manual's tree: Q01 (10M) with Q02 and Q03; Q02 with Q04 and Q05. Whoever is not limited wants
/// more than there is.
fn manual(q02: u64, q03: (u64, u8), q04: (u64, u8), q05: (u64, u8, u64)) -> [f64; 3] {
    let mut queues = forest(&[
        inner(class(10 * M, 0, 8)),
        inner(below(0, 1, class(10 * M, q02 * M, 8))),
        below(0, 1, class(10 * M, q03.0 * M, q03.1)),
        below(1, 2, class(10 * M, q04.0 * M, q04.1)),
        below(1, 2, class(q05.2 * M, q05.0 * M, q05.1)),
    ]);
    let wants = [(2, 20 * M), (3, 20 * M), (4, 20 * M)];
    rates(&mut queues, &wants, 4).try_into().unwrap()
}

#[test]
fn the_manuals_examples() {
    for (n, got, expected) in [
        (1, manual(4, (6, 1), (2, 3), (2, 5, 10)), [6.0, 2.0, 2.0]),
        (2, manual(4, (2, 3), (2, 1), (2, 5, 10)), [2.0, 6.0, 2.0]),
        (3, manual(8, (2, 1), (2, 3), (2, 5, 10)), [2.0, 6.0, 2.0]),
        // limit-ats beyond the root's max-limit are given all the same: the line behind shares them.
        (4, manual(4, (6, 1), (2, 3), (12, 5, 15)), [6.0, 2.0, 12.0]),
    ] {
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() <= expected * 0.005, "example {n}: {got} of {expected}");
        }
    }
}

/// F.4: 4 Mbit/s for 6 s, 2 Mbit/s until all 32 Mbit are through; from t=17 again.
#[test]
fn the_manuals_burst() {
    let burst = BurstLimit { rate: 4 * M, threshold: 1_500_000, time_ns: 16 * SECOND };
    let limit = Limit { rate: 2 * M, depth_ns: 100 * MS, packets: 40_000 };
    let leaf = Settings { burst, limit_at: M, kind: Kind::Pfifo(40_000), ..Settings::plain(limit) };
    let mut queues = forest(&[leaf]);
    let mut seconds = [0u64; 26];
    for begin in [0, 17] {
        for _ in 0..32 * M / 8 / 1000 {
            let now = at(begin * SECOND);
            match queues.offer(QueueLeafId(0), now, 1000) {
                Decision::Pass => seconds[begin as usize] += 8000,
                Decision::Enqueue => {
                    queues.enqueue(QueueLeafId(0), 1000, 1000, Label::default(), now)
                }
                Decision::DropFull => panic!("no room"),
            }
        }
        let end = if begin == 0 { 17 } else { 26 };
        while let Some(when) = queues.next_deadline().filter(|&when| when < at(end * SECOND)) {
            let second = (when.as_nanos() / SECOND) as usize;
            queues.release(when, |_, len, _| seconds[second] += u64::from(len) * 8);
        }
    }
    let megabits = seconds.map(|bits| (bits as f64 / 1e6).round() as u32);
    assert_eq!(&megabits[..12], &[4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 0, 0], "{seconds:?}");
    assert_eq!(&megabits[17..21], &[2, 2, 4, 4], "{seconds:?}");
}

/// No window of any length passes more than rate · T + bucket, whoever waits in the tree.
#[test]
fn no_window_passes_more_than_the_roots_tokens() {
    let root = class(10 * M, 0, 8);
    let mut queues = forest(&[
        inner(root),
        below(0, 1, class(0, 3 * M, 1)),
        below(0, 1, class(6 * M, 0, 2)),
        below(0, 1, class(0, 0, 2)),
    ]);
    let wants = [(1, 5 * M), (2, 9 * M), (3, 9 * M)];
    let passed = offer(&mut queues, &wants, 1000, (0, 2 * SECOND));
    let mut all: Vec<(u64, u32)> = passed.into_values().flatten().collect();
    all.sort_unstable();
    for (i, &(start, _)) in all.iter().enumerate().step_by(7) {
        let mut bits = 0;
        for &(end, len) in &all[i..] {
            bits += u128::from(len) * 8 * u128::from(SECOND);
            let allowed = u128::from(root.limit.rate) * u128::from(end - start + 1);
            let capacity = u128::from(root.limit.rate) * u128::from(root.limit.depth_ns);
            // What is assured is given even where the root has no more.
            let assured = u128::from(3 * M) * u128::from(root.limit.depth_ns);
            assert!(bits <= allowed + capacity + assured, "{start}..{end}");
        }
    }
    let total: u64 = all.iter().map(|&(_, len)| u64::from(len) * 8).sum();
    assert!(total.abs_diff(20 * M) < 20 * M / 100, "{total} of 20 Mbit");
}

#[test]
fn equal_priorities_share_equally_and_better_ones_come_first() {
    let mut queues = forest(&[
        inner(class(9 * M, 0, 8)),
        below(0, 1, class(0, 0, 3)),
        below(0, 1, class(0, 0, 3)),
        below(0, 1, class(0, 0, 8)),
        below(0, 1, class(3 * M, 0, 1)),
    ]);
    let got = rates(&mut queues, &[(1, 9 * M), (2, 9 * M), (3, 9 * M), (4, 9 * M)], 3);
    for (got, expected) in got.iter().zip([3.0, 3.0, 0.0, 3.0]) {
        assert!((got - expected).abs() <= 0.02, "{got} of {expected}");
    }
}

/// When packets leave, that come to these classes. They are as long as those for which a class keeps
/// room in its bucket: of shorter ones a tree passes fewer at once than a bucket alone.
fn departures(queues: &mut Queues<u32>, offers: &[(u64, u32)]) -> Vec<u64> {
    const LEN: u32 = 1514;
    let mut left = Vec::new();
    for &(now, leaf) in offers {
        while let Some(when) = queues.next_deadline().filter(|&when| when <= at(now)) {
            queues.release(when, |_, _, _| left.push(when.as_nanos()));
        }
        let id = QueueLeafId(leaf);
        match queues.offer(id, at(now), LEN) {
            Decision::Pass => left.push(now),
            Decision::Enqueue => queues.enqueue(id, LEN, LEN, Label::default(), at(now)),
            Decision::DropFull => panic!("no room"),
        }
    }
    while let Some(when) = queues.next_deadline() {
        queues.release(when, |_, _, _| left.push(when.as_nanos()));
    }
    left
}

proptest! {
    /// Work conservation: whoever waits below a root, packets leave when they would leave the root
    /// alone; no token is left while somebody waits, whatever priorities say. What is assured leaves
    /// sooner, even where the root has no more.
    #[test]
    fn a_tree_sends_whenever_its_root_may(
        offers in prop::collection::vec((prop_oneof![Just(0), 0u64..2 * MS], 2u32..6), 1..400),
        priorities in prop::array::uniform4(1u8..9),
        assured in prop_oneof![
            Just([0; 4]),
            prop::array::uniform4(prop_oneof![Just(0), 0u64..2 * M]),
        ],
    ) {
        let mut now = 0;
        let offers: Vec<(u64, u32)> =
            offers.into_iter().map(|(gap, leaf)| { now += gap; (now, leaf) }).collect();
        let many = |settings: Settings| Settings { kind: Kind::Pfifo(1000), ..settings };
        let limit = Limit { packets: 1000, ..class(10 * M, 0, 8).limit };
        let leaf = |parent, depth, n: usize| {
            many(below(parent, depth, class(0, assured[n], priorities[n])))
        };
        let mut tree = forest(&[
            inner(Settings { limit, ..class(10 * M, 0, 8) }),
            inner(below(0, 1, class(0, 0, 8))),
            leaf(0, 1, 0),
            leaf(0, 1, 1),
            leaf(1, 2, 2),
            leaf(1, 2, 3),
        ]);
        let mut alone = forest(&[Settings::plain(limit)]);
        let together: Vec<(u64, u32)> = offers.iter().map(|&(now, _)| (now, 0)).collect();
        let (tree, alone) = (departures(&mut tree, &offers), departures(&mut alone, &together));
        prop_assert_eq!(tree.len(), alone.len());
        if assured == [0; 4] {
            prop_assert_eq!(tree, alone);
        } else {
            let late = tree.iter().zip(&alone).position(|(tree, alone)| tree > alone);
            prop_assert_eq!(late, None, "{:?}\n{:?}", tree, alone);
        }
    }
}

/// Starvation: a better priority takes all that is not assured, and nothing of what is. Who has a
/// limit-at waits for his next packet as long as that takes at his rate, and for one of each other.
#[test]
fn what_is_assured_does_not_starve() {
    let mut queues = forest(&[
        inner(class(10 * M, 0, 8)),
        below(0, 1, class(0, 0, 1)),
        below(0, 1, class(0, M, 8)),
        below(0, 1, class(0, 500_000, 7)),
        below(0, 1, class(0, 0, 8)),
    ]);
    let wants = [(1, 20 * M), (2, 20 * M), (3, 20 * M), (4, 20 * M)];
    let passed = offer(&mut queues, &wants, 1000, (0, 5 * SECOND));
    for (leaf, rate) in [(1, 8_500_000), (2, M), (3, 500_000)] {
        let late: Vec<u64> =
            passed[&leaf].iter().map(|&(when, _)| when).filter(|&when| when >= SECOND).collect();
        let bits = late.len() as u64 * 8000;
        assert!(bits.abs_diff(4 * rate) <= 4 * rate / 200 + 8000, "{leaf}: {bits} in 4 s");
        let longest = late.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        let bound = 8000 * SECOND / rate + 4 * 8000 * SECOND / (10 * M);
        assert!(longest <= bound, "{leaf}: {longest} ns without a packet, {bound} at most");
    }
    let rest =
        passed.get(&4).map_or(0, |all| all.iter().filter(|(when, _)| *when > SECOND).count());
    assert_eq!(rest, 0, "nothing is assured to the last");
}

/// Whose rate or place changes while somebody waits: nothing is lost, and the new limits hold.
#[test]
fn changes_under_load_lose_nothing() {
    let tree =
        [inner(class(8 * M, 0, 8)), below(0, 1, class(0, 0, 3)), below(0, 1, class(0, 0, 3))];
    let mut queues = forest(&tree);
    let count = |queues: &mut Queues<u32>, from: u64| {
        let passed = offer(queues, &[(1, 9 * M), (2, 9 * M)], 1000, (from, from + SECOND));
        passed.into_values().flatten().map(|(_, len)| u64::from(len) * 8).sum::<u64>()
    };
    count(&mut queues, 0);
    let waiting = queues.waiting().count();
    assert!(waiting > 0);
    // Slower; then the second stands alone; then the tree is gone.
    let root = QueueLeafId(0);
    queues.apply(&mut change(vec![(root, inner(class(4 * M, 0, 8)))], 3), at(SECOND));
    assert_eq!(queues.waiting().count(), waiting);
    let passed = count(&mut queues, SECOND);
    assert!(passed.abs_diff(4 * M) < 400_000, "{passed}");
    let alone = class(2 * M, 0, 8);
    queues.apply(&mut change(vec![(QueueLeafId(2), alone)], 3), at(2 * SECOND));
    let passed = count(&mut queues, 2 * SECOND);
    assert!(passed.abs_diff(6 * M) < 600_000, "{passed}");
    let none = Settings::plain(Limit::NONE);
    let all = (0..3).map(|id| (QueueLeafId(id), none)).collect();
    queues.apply(&mut change(all, 3), at(3 * SECOND));
    let mut left = queues.waiting().count();
    queues.release(at(3 * SECOND), |_, _, _| left -= 1);
    assert_eq!((left, queues.next_deadline()), (0, None));
}

proptest! {
    /// Work conservation: after a release, whoever waits is red, or yellow below somebody who may not
    /// lend.
    #[test]
    fn nobody_waits_who_may_send(
        limits in prop::collection::vec((0u64..12, 0u64..12, 1u8..=8), 6),
        steps in prop::collection::vec((0usize..3, 0u64..3_000_000, 60u32..1500), 1..300),
    ) {
        let of = |n: usize| {
            let (max, assured, priority) = limits[n];
            class(max * M, assured.min(max) * M, priority)
        };
        let root = class(10 * M, 0, 8);
        let mut queues = forest(&[
            inner(root),
            inner(below(0, 1, of(0))),
            below(0, 1, of(1)),
            below(1, 2, of(2)),
            below(1, 2, of(3)),
        ]);
        let (mut now, mut offered, mut passed, mut dropped) = (0, 0u64, 0u64, 0u64);
        for (leaf, gap, len) in steps {
            now += gap;
            queues.release(at(now), |_, _, _| passed += 1);
            let id = QueueLeafId([2, 3, 4][leaf]);
            offered += 1;
            match queues.offer(id, at(now), len) {
                Decision::Pass => passed += 1,
                Decision::Enqueue => queues.enqueue(id, len, len, Label::default(), at(now)),
                Decision::DropFull => dropped += 1,
            }
            queues.release(at(now), |_, _, _| passed += 1);
            while queues.take_dropped().is_some() {
                dropped += 1;
            }
            prop_assert_eq!(offered, passed + dropped + queues.waiting().count() as u64);
            let mut forest = queues.forest().clone();
            for place in 0..forest.classes.len() as u32 {
                if !forest.waits(place) {
                    continue;
                }
                let mut lender = place;
                let may_send = loop {
                    match forest.class(lender).colour_at(at(now)) {
                        Colour::Green => break true,
                        Colour::Yellow => lender = forest.classes[lender as usize].parent,
                        Colour::Red => break false,
                    }
                };
                let id = forest.classes[place as usize].id;
                prop_assert!(!may_send, "{id:?} waits at {now} and may send");
            }
        }
        while let Some(when) = queues.next_deadline() {
            queues.release(when, |_, _, _| passed += 1);
        }
        prop_assert_eq!(offered, passed + dropped);
    }
}
