//! Leaves in virtual time: the promise of the token bucket, and that nothing is lost.

use super::*;
use crate::book::{Book, Fresh};
use config::{ItemId, Tree, Value};
use proptest::prelude::*;
use std::collections::BTreeMap;

use crate::firewall::mark::MarkBook;
use crate::interface::Names;
use crate::queue::{Simple, Types, menu};

const SECOND: u64 = 1_000_000_000;

fn at(ns: u64) -> Moment {
    Moment::from_nanos(ns)
}

/// One queue with the same limit both ways, and its upload leaf.
fn one(limit: Limit) -> (Queues<u32>, QueueLeafId) {
    let mut queues = Queues::default();
    queues.apply(&mut limited(&[limit]), Moment::ZERO);
    (queues, QueueId(0).leaves()[0])
}

/// As many queues, limited both ways.
fn limited(limits: &[Limit]) -> Change {
    let leaves = (0..limits.len() as u32).flat_map(|id| QueueId(id).leaves());
    let both = limits.iter().flat_map(|&limit| [Settings::plain(limit); 2]);
    Change {
        fresh: Fresh { ids: Vec::new(), end: limits.len() },
        gone: Vec::new(),
        settings: leaves.zip(both).collect(),
        room: Default::default(),
        room_for: 0,
    }
}

/// Packets that passed: when, and how long they were.
#[derive(Debug, Default)]
struct Passed(Vec<(u64, u32)>);

impl Passed {
    fn bytes(&self) -> u64 {
        self.0.iter().map(|&(_, len)| u64::from(len)).sum()
    }

    /// No window of any length lets more than rate · T + capacity pass.
    fn check(&self, limit: Limit) {
        let capacity = u128::from(limit.rate) * u128::from(limit.depth_ns);
        for (i, &(start, _)) in self.0.iter().enumerate() {
            let (mut bits, mut largest) = (0, 0);
            for &(end, len) in &self.0[i..] {
                bits += u128::from(len) * 8 * 1_000_000_000;
                largest = largest.max(u128::from(len) * 8 * 1_000_000_000);
                // Moments are whole nanoseconds: one more may have begun.
                let allowed = u128::from(limit.rate) * u128::from(end - start + 1);
                assert!(
                    bits <= allowed + capacity.max(largest),
                    "{bits} in {start}..{end} ns, {allowed} + {capacity} allowed by {limit:?}"
                );
            }
        }
    }
}

/// Offers each packet at its time, releasing at every deadline, and drains what is left. Returns
/// what passed; checks order and the balance of the counters on the way.
fn run(limit: Limit, offers: &[(u64, u32)]) -> Passed {
    let (mut queues, id) = one(limit);
    let mut passed = Passed::default();
    let (mut next_out, mut dropped) = (0u32, 0);
    let mut serials = Vec::new();
    let release = |queues: &mut Queues<u32>, now, passed: &mut Passed, next_out: &mut u32| {
        while let Some(deadline) = queues.next_deadline().filter(|&deadline| deadline <= now) {
            let before = passed.0.len();
            queues.release(deadline, |leaf, serial, _| {
                assert_eq!((leaf, *next_out <= serial), (id, true), "order");
                *next_out = serial + 1;
                passed.0.push((deadline.as_nanos(), offers[serial as usize].1));
            });
            assert_eq!(passed.0.len(), before + 1, "a deadline releases its packet");
        }
    };
    for (serial, &(now, len)) in (0u32..).zip(offers) {
        release(&mut queues, at(now), &mut passed, &mut next_out);
        match queues.offer(id, at(now), len) {
            Decision::Pass => {
                assert!(next_out <= serial, "overtaken");
                next_out = serial + 1;
                passed.0.push((now, len));
            }
            Decision::Enqueue => queues.enqueue(id, serial, len, Label::default(), at(now)),
            Decision::DropFull => dropped += 1,
        }
        serials.push(serial);
        let stats = queues.stats(id);
        assert_eq!(
            stats.packets + stats.dropped + stats.queued_packets,
            u64::from(serial) + 1,
            "{stats:?}"
        );
        assert_eq!((stats.bytes, stats.dropped), (passed.bytes(), dropped), "{stats:?}");
        assert!(stats.queued_packets <= u64::from(limit.packets), "{stats:?}");
    }
    release(&mut queues, at(u64::MAX), &mut passed, &mut next_out);
    let stats = queues.stats(id);
    assert_eq!((stats.queued_packets, stats.queued_bytes), (0, 0), "{stats:?}");
    assert_eq!(stats.packets + stats.dropped, offers.len() as u64, "{stats:?}");
    passed
}

proptest! {
    #[test]
    fn no_window_passes_more_than_its_tokens(
        rate in prop_oneof![1u64..2000, 1_000_000u64..20_000_000_000, Just(1 << 40)],
        depth_ns in prop_oneof![Just(0), 0u64..1_000_000_000, Just(10_000_000_000)],
        packets in 0u16..12,
        gaps in prop::collection::vec((prop_oneof![3 => 0u64..2000, 1 => 0u64..1_000_000_000], 14u32..2000), 1..120),
    ) {
        let limit = Limit { rate, depth_ns, packets };
        let mut now = 0;
        let offers: Vec<_> = gaps.iter().map(|&(gap, len)| { now += gap; (now, len) }).collect();
        run(limit, &offers).check(limit);
    }
}

#[test]
fn the_rate_is_met_exactly_over_a_long_run() {
    for (rate, len) in [(1_000_000, 74), (999_983, 1514), (10_000_000_007, 1514), (333, 60)] {
        for depth_ns in [0, 1_000_000] {
            // Twice the rate, so that somebody always waits.
            let gap = u64::from(len) * 8 * 1_000_000_000 / rate / 2;
            let offers: Vec<_> = (0..20_000).map(|i| (i * gap, len)).collect();
            let limit = Limit { rate, depth_ns, packets: 10 };
            let passed = run(limit, &offers);
            let during = passed.0.iter().filter(|&&(when, _)| when <= 19_999 * gap).count() as u64;
            let tokens = u128::from(rate) * u128::from(19_999 * gap + depth_ns);
            let expected = (tokens / (u128::from(len) * 8_000_000_000)) as u64;
            assert!(
                during.abs_diff(expected) <= 1,
                "{during} of {expected} packets at {rate} bit/s, depth {depth_ns}"
            );
        }
    }
}

/// S0's story: 60 litres a minute, and after two dry minutes one of 150. Accepting it lets some
/// hour have 3690; limiting each minute to 60 wastes what was not used. A bucket decides how much
/// of what was saved may be spent, and no hour exceeds 3600 plus its size.
#[test]
fn the_toll_booth() {
    const LITRE: u32 = 1000;
    let minutes: Vec<u32> = [60; 57].into_iter().chain([0, 0, 150]).chain([60; 60]).collect();
    let mut offers = Vec::new();
    for (minute, &litres) in minutes.iter().enumerate() {
        for second in 0..60u32 {
            let n = litres * (second + 1) / 60 - litres * second / 60;
            let now = (minute as u64 * 60 + u64::from(second)) * SECOND;
            offers.extend((0..n).map(|_| (now, LITRE)));
        }
    }
    // How deep the bucket is, in litres, and what the hours before, at and after it come to.
    for (depth, hours) in [(91, [3570, 3570, 3690]), (1, [3480, 3480, 3600])] {
        let rate = u64::from(LITRE) * 8;
        let limit = Limit { rate, depth_ns: depth * SECOND, packets: 0 };
        let passed = run(limit, &offers);
        let hour = |last_minute: u64| {
            let end = (last_minute + 1) * 60 * SECOND;
            let begin = end - 3600 * SECOND;
            let inside = |&&(when, _): &&(u64, u32)| begin <= when && when < end;
            passed.0.iter().filter(inside).count()
        };
        assert_eq!([59, 68, 118].map(hour), hours, "bucket of {depth}");
        for minute in 59..119 {
            assert!(hour(minute) as u64 <= 3600 + depth, "minute {minute}, bucket of {depth}");
        }
    }
}

#[test]
fn a_packet_larger_than_the_bucket_passes_and_leaves_a_debt() {
    let (mut queues, id) = one(Limit { rate: 8000, depth_ns: 0, packets: 2 });
    assert_eq!(queues.offer(id, at(0), 1000), Decision::Pass);
    assert_eq!(queues.offer(id, at(0), 1000), Decision::Enqueue);
    queues.enqueue(id, 0, 1000, Label::default(), at(0));
    assert_eq!(queues.next_deadline(), Some(at(SECOND)));
    queues.release(at(SECOND - 1), |_, _, _| panic!("early"));
    let mut out = Vec::new();
    queues.release(at(SECOND), |_, serial, _| out.push(serial));
    assert_eq!((out, queues.next_deadline()), (vec![0], None));
}

#[test]
fn without_a_limit_packets_are_counted_only() {
    let (mut queues, id) = one(Limit { packets: 10, ..Limit::NONE });
    for i in 0..1000 {
        assert_eq!(queues.offer(id, at(i), 1514), Decision::Pass);
    }
    let stats = queues.stats(id);
    assert_eq!((stats.packets, stats.bytes, stats.dropped), (1000, 1_514_000, 0));
}

#[test]
fn leaves_are_released_in_the_order_of_their_deadlines() {
    let mut queues = Queues::default();
    // Waiting nodes of many leaves share one pool; the slower the queue, the later its packet.
    let limits = (1..=50).map(|i| Limit { rate: 8000 * i, depth_ns: 0, packets: 3 });
    queues.apply(&mut limited(&limits.collect::<Vec<_>>()), at(0));
    let ids: Vec<_> = (0..50).map(|i| QueueId(i).leaves()[0]).collect();
    for (i, &id) in (1..).zip(&ids) {
        assert_eq!(queues.offer(id, at(0), 1000), Decision::Pass);
        for n in 0..3 {
            assert_eq!(queues.offer(id, at(0), 1000), Decision::Enqueue);
            queues.enqueue(id, (i, n), 1000, Label::default(), at(0));
        }
        assert_eq!(queues.offer(id, at(0), 1000), Decision::DropFull);
    }
    let mut out = Vec::new();
    queues.release(at(4 * SECOND), |id, (i, n), _| {
        assert_eq!(id, ids[i as usize - 1]);
        out.push((i, n));
    });
    // One late call, as if it had been called in time: packet n of queue i was due after (n + 1) / i
    // seconds.
    let mut expected: Vec<_> = (1..=50).flat_map(|i| (0..3).map(move |n| (i, n))).collect();
    expected.sort_by_key(|&(i, n)| ((n + 1) * SECOND).div_ceil(i));
    let due = |&(i, n): &(u64, u64)| ((n + 1) * SECOND).div_ceil(i);
    assert_eq!(
        out.iter().map(due).collect::<Vec<_>>(),
        expected.iter().map(due).collect::<Vec<_>>()
    );
    for i in 1..=50 {
        let of_leaf: Vec<_> = out.iter().filter(|&&(leaf, _)| leaf == i).map(|&(_, n)| n).collect();
        assert_eq!(of_leaf, [0, 1, 2]);
    }
    assert_eq!(queues.nodes.len(), 150);
    queues.enqueue(ids[0], (0, 0), 1000, Label::default(), at(0));
    assert_eq!(queues.nodes.len(), 150, "freed nodes are used again");
}

fn tree(limits: &[&str]) -> Tree {
    let mut tree = Tree::default();
    for limit in limits {
        let rate = Value::Rate(limit.parse().unwrap());
        let target = Value::List(vec![Value::Cidr([10, 0, 0, 1].into(), 32)]);
        let limit = Value::Pair(Box::new(rate.clone()), Box::new(rate));
        tree.push(&menu::SIMPLE, BTreeMap::from([("target", target), ("max-limit", limit)]));
    }
    tree
}

#[test]
fn a_change_of_the_configuration_loses_nothing() {
    let (mut queues, mut book) = (Queues::default(), Book::default());
    let mut simple = Simple::default();
    let mut apply = |queues: &mut Queues<u32>, tree: &Tree, gone: &[ItemId], now| {
        let gone: Vec<QueueId> = gone.iter().filter_map(|&item| book.remove(item)).collect();
        book.reuse(gone.iter().copied());
        let fresh = Simple::compile(
            tree,
            (&Names::default(), &MarkBook::default().packet),
            &Types::default(),
            &mut book,
        );
        let settings = fresh.changes_from(&simple, &gone);
        queues.apply(&mut Change::new(settings, gone, &mut book), now);
        simple = fresh;
    };
    let slow = tree(&["8000", "8000"]);
    let items: Vec<_> = slow.items(menu::SIMPLE.path).iter().map(|item| item.id).collect();
    apply(&mut queues, &slow, &[], at(0));
    let [id, _] = QueueId(0).leaves();
    // The bucket holds 0.1 s: 100 bytes. The first packet leaves a debt, two wait.
    assert_eq!(queues.offer(id, at(0), 1100), Decision::Pass);
    for serial in 0..2 {
        assert_eq!(queues.offer(id, at(0), 1000), Decision::Enqueue);
        queues.enqueue(id, serial, 1000, Label::default(), at(0));
    }
    let before = queues.stats(id);
    assert_eq!(queues.next_deadline(), Some(at(11 * SECOND / 10)));

    // Ten times faster, half a second later: 500 of the 1000 bytes' debt are left.
    apply(&mut queues, &tree(&["80000", "8000"]), &[], at(SECOND / 2));
    assert_eq!(queues.stats(id), before);
    assert_eq!(queues.next_deadline(), Some(at(SECOND / 2 + 150_000_000)));

    // Removed: what waits goes at once, and the leaf is another queue's from now on.
    apply(&mut queues, &tree(&["8000"; 3]), &items, at(SECOND));
    assert_eq!(queues.stats(id), LeafStats::default());
    assert_eq!(queues.offer(id, at(SECOND), 1100), Decision::Pass);
    assert_eq!(queues.offer(id, at(SECOND), 1000), Decision::Enqueue);
    queues.enqueue(id, 2, 1000, Label::default(), at(SECOND));
    let mut out = Vec::new();
    queues.release(at(SECOND), |_, serial, _| out.push(serial));
    assert_eq!(out, [0, 1], "the third waits in its own queue");
    assert_eq!(queues.waiting().collect::<Vec<_>>(), [&2]);
    queues.release(at(3 * SECOND), |_, serial, _| out.push(serial));
    assert_eq!((out, queues.next_deadline()), (vec![0, 1, 2], None));
    assert_eq!(2 * queues.leaves.queues(), 6, "numbers are used again");
}

#[test]
fn rates_are_those_of_the_last_second() {
    let (mut queues, id) = one(Limit::NONE);
    for ms in 0..=5000 {
        if ms < 3000 {
            assert_eq!(queues.offer(id, at(ms * 1_000_000), 125), Decision::Pass);
        }
        queues.sample(at(ms * 1_000_000));
        if (2100..2900).contains(&ms) {
            let stats = queues.stats(id);
            assert!(stats.rate.abs_diff(1_000_000) < 20_000, "{ms} ms: {stats:?}");
            assert!(stats.packet_rate.abs_diff(1000) < 20, "{ms} ms: {stats:?}");
        }
    }
    assert_eq!((queues.stats(id).rate, queues.stats(id).packets), (0, 3000));
    queues.reset(QueueId(0));
    assert_eq!(QueueId(0).leaves().map(|id| queues.stats(id)), [LeafStats::default(); 2]);
}

#[test]
fn the_rate_is_met_however_late_the_release_is_called() {
    // Ten packets of 74 bytes last 5.92 ms at 1 Mbit/s; the caller comes every 5 ms.
    let limit = Limit { rate: 1_000_000, depth_ns: 0, packets: 10 };
    let (mut queues, id) = one(limit);
    const MS: u64 = 1_000_000;
    for ms in (0..20_000).step_by(5) {
        queues.release(at(ms * MS), |_, _, _| ());
        loop {
            match queues.offer(id, at(ms * MS), 74) {
                Decision::Pass => {}
                Decision::Enqueue => queues.enqueue(id, 0, 74, Label::default(), at(ms * MS)),
                Decision::DropFull => break,
            }
        }
    }
    queues.release(at(20_000 * MS), |_, _, _| ());
    let stats = queues.stats(id);
    assert!((2_500_000 - 74..=2_500_000 + 74).contains(&stats.bytes), "{stats:?}");
}

proptest! {
    /// Whatever the clock does and whatever is configured meanwhile: no panic, nothing lost.
    #[test]
    fn any_clock_and_any_limit_keep_the_balance(
        steps in prop::collection::vec(
            (0u8..4, prop_oneof![any::<u64>(), 0u64..1_000_000], any::<u32>(), any::<u64>()), 1..80),
    ) {
        let (mut queues, id) = one(Limit { rate: 1000, depth_ns: 0, packets: 5 });
        let (mut offered, mut released, mut passed) = (0, 0, 0);
        for (step, now, len, rate) in steps {
            let now = at(now);
            match step {
                0 => {
                    let limit = Limit { rate, depth_ns: rate.rotate_left(20), packets: 5 };
                    queues.apply(&mut limited(&[limit]), now);
                }
                1 => queues.release(now, |_, _, _| released += 1),
                2 => queues.sample(now),
                _ => {
                    offered += 1;
                    match queues.offer(id, now, len) {
                        Decision::Enqueue => queues.enqueue(id, 0, len, Label::default(), now),
                        Decision::Pass => passed += 1,
                        Decision::DropFull => {}
                    }
                }
            }
            let stats = queues.stats(id);
            prop_assert_eq!(stats.packets + stats.dropped + stats.queued_packets, offered);
            prop_assert_eq!(stats.packets, passed + released);
            prop_assert_eq!(queues.next_deadline().is_some(), stats.queued_packets > 0);
        }
    }
}

/// A queue that nothing passes any more is idle again, its counters kept; one that has dropped is not.
#[test]
fn who_has_nothing_to_do_is_idle() {
    let limit = Limit { rate: 8_000_000, depth_ns: SECOND / 1000, packets: 1 };
    let (mut queues, id) = one(limit);
    let other = QueueId(0).leaves()[1];
    let idle = |queues: &Queues<u32>| [id, other].map(|id| queues.leaves[id].state == IDLE);
    assert_eq!(idle(&queues), [true; 2]);
    for leaf in [id, other] {
        assert_eq!(queues.offer(leaf, at(0), 1000), Decision::Pass);
    }
    assert_eq!(queues.offer(id, at(0), 1000), Decision::Enqueue);
    queues.enqueue(id, 1, 1000, Label::default(), at(0));
    assert_eq!(queues.offer(id, at(0), 1000), Decision::DropFull);
    assert_eq!(idle(&queues), [false; 2]);
    let mut rates = Vec::new();
    for tenth in 1..=40 {
        let now = at(tenth * SECOND / 10);
        queues.release(now, |_, _, _| {});
        queues.sample(now);
        rates.push(queues.stats(id).packet_rate);
    }
    assert!(rates[9] > 0 && rates[20] == 0, "{rates:?}");
    assert_eq!(idle(&queues), [false, true]);
    let stats = [id, other].map(|id| queues.stats(id));
    assert_eq!(stats.map(|stats| (stats.packets, stats.dropped)), [(2, 1), (1, 0)]);
}

/// What a leaf has no room to count, and what passed while it was a class, is not forgotten.
#[test]
fn counters_have_no_end() {
    let (mut queues, id) = one(Limit::NONE);
    let (len, n) = (1 << 27, 100);
    let passed = |queues: &Queues<u32>| (queues.stats(id).packets, queues.stats(id).bytes);
    let pass = |queues: &mut Queues<u32>, second: u64| {
        for _ in 0..n {
            assert_eq!(queues.offer(id, at(second * SECOND), len), Decision::Pass);
        }
        queues.sample(at(second * SECOND));
    };
    let set = |queues: &mut Queues<u32>, settings: Settings| {
        let mut change = Change { settings: vec![(id, settings)], ..limited(&[Limit::NONE]) };
        queues.apply(&mut change, at(0));
    };
    pass(&mut queues, 1);
    assert_eq!(passed(&queues), (n, n * u64::from(len)));
    let kind = crate::queue::Kind::Bfifo(1);
    set(&mut queues, Settings { kind, ..Settings::plain(Limit::NONE) });
    pass(&mut queues, 2);
    assert_eq!(passed(&queues), (2 * n, 2 * n * u64::from(len)));
    set(&mut queues, Settings::plain(Limit::NONE));
    (3..6).for_each(|second| queues.sample(at(second * SECOND)));
    assert_eq!(passed(&queues), (2 * n, 2 * n * u64::from(len)));
    pass(&mut queues, 6);
    assert_eq!(passed(&queues), (3 * n, 3 * n * u64::from(len)));
    queues.reset(QueueId(0));
    assert_eq!(passed(&queues), (0, 0));
}
