//! Kinds of queues behind a limit, in virtual time: shares, delays, drops.

use super::*;
use crate::book::Fresh;
use crate::queue::{Change, Decision, Label, Marks, QueueId, QueueLeafId, Queues, Settings};
use wire::FiveTuple;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn at(ns: u64) -> Moment {
    Moment::from_nanos(ns)
}

fn queue(rate: u64, kind: Kind) -> Queues<(u32, u64)> {
    let limit = Limit { rate, depth_ns: 0, packets: 0 };
    let settings = vec![(QueueLeafId(0), Settings { kind, ..Settings::plain(limit) })];
    let fresh = Fresh { ids: Vec::<QueueId>::new(), end: 1 };
    let mut change =
        Change { fresh, gone: Vec::new(), settings, room: Default::default(), room_for: 0 };
    let mut queues = Queues::default();
    queues.apply(&mut change, Moment::ZERO);
    queues
}

fn label(flow: u32, tos: u8) -> Label {
    let tuple = FiveTuple {
        src: 0x0a00_0000 + flow,
        dst: 0x0800_0000,
        src_port: 5,
        dst_port: 6,
        protocol: 17,
    };
    Label::v4(tuple, tos)
}

/// What came of a load.
#[derive(Default)]
struct Outcome {
    /// Bytes by flow, from the second second on.
    bytes: Vec<u64>,
    /// How long each packet waited, in nanoseconds.
    waited: Vec<u64>,
    marked: u64,
    dropped: u64,
}

impl Outcome {
    /// Jain's fairness index.
    fn jain(&self) -> f64 {
        let sum: f64 = self.bytes.iter().map(|&b| b as f64).sum();
        let squares: f64 = self.bytes.iter().map(|&b| (b as f64).powi(2)).sum();
        sum * sum / (self.bytes.len() as f64 * squares)
    }

    fn percentile(&mut self, percent: usize) -> u64 {
        self.waited.sort_unstable();
        self.waited[(self.waited.len() - 1) * percent / 100]
    }
}

/// Offers `rates` bits per second of each flow, in packets of 1000 bytes, every 100 µs.
fn load(queues: &mut Queues<(u32, u64)>, rates: &[u64], tos: u8, seconds: u64) -> Outcome {
    let mut outcome = Outcome { bytes: vec![0; rates.len()], ..Outcome::default() };
    let mut due: Vec<u64> = (0..rates.len() as u64).map(|n| n * 997 % 8000).collect();
    let id = QueueLeafId(0);
    for now in (0..seconds * SECOND).step_by(MS as usize / 10) {
        while let Some(when) = queues.next_deadline().filter(|&when| when <= at(now)) {
            queues.release(when, |_, (flow, came), marked| {
                let waited = when.as_nanos().saturating_sub(came);
                if when.as_nanos() >= SECOND {
                    outcome.bytes[flow as usize] += 1000;
                    outcome.waited.push(waited);
                }
                outcome.marked += u64::from(marked.marks.ce);
            });
        }
        for (flow, (rate, due)) in (0u32..).zip(rates.iter().zip(&mut due)) {
            *due += rate / 10_000;
            while *due >= 8000 {
                *due -= 8000;
                match queues.offer(id, at(now), 1000) {
                    Decision::Pass => outcome.bytes[flow as usize] += 1000,
                    Decision::Enqueue => {
                        queues.enqueue(id, (flow, now), 1000, label(flow, tos), at(now))
                    }
                    Decision::DropFull => outcome.dropped += 1,
                }
            }
        }
        while queues.take_dropped().is_some() {
            outcome.dropped += 1;
        }
    }
    outcome
}

fn pcq(rate: u64) -> Kind {
    let classifier = Classifier { src: u32::MAX, dst: 0, src_port: 0, dst_port: 0, len6: [128; 2] };
    let burst = crate::queue::BurstLimit { rate: 0, threshold: 0, time_ns: 0 };
    Kind::Pcq(PcqLimits { rate, limit: 50 << 10, total: 2000 << 10, classifier, burst })
}

fn codel(ecn: bool) -> CodelLimits {
    let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
    CodelLimits { packets: 1000, target, interval, ecn, ce: None }
}

fn fq_codel(ecn: bool) -> Kind {
    Kind::FqCodel(FairLimits {
        packets: 10_240,
        bytes: 32 << 20,
        flows: 1024,
        quantum: 1514,
        codel: Some(codel(ecn)),
        blue: false,
        isolation: Isolation::Flows,
        acks: AckFilter::None,
        perturb: Duration::ZERO,
    })
}

fn cake(tins: Tins) -> Kind {
    Kind::Cake(limits(tins))
}

fn limits(tins: Tins) -> CakeLimits {
    CakeLimits {
        tins,
        isolation: Isolation::Triple,
        rtt: Duration::from_millis(100),
        bytes: 32 << 20,
        rate: 0,
        autorate: false,
        framing: Framing::NONE,
        acks: AckFilter::None,
        wash: false,
    }
}

const SFQ: Kind = Kind::Sfq { perturb: Duration::from_secs(5), allot: 1514 };

#[test]
fn flows_share_equally() {
    for (name, kind) in [
        ("sfq", SFQ),
        ("pcq", pcq(0)),
        ("fq_codel", fq_codel(true)),
        ("cake", cake(Tins::Diffserv3)),
    ] {
        // 32 flows; a third of them want far more than the others.
        let rates: Vec<u64> =
            (0..32).map(|n| if n % 3 == 0 { 4_000_000 } else { 1_500_000 }).collect();
        let mut queues = queue(32_000_000, kind);
        let outcome = load(&mut queues, &rates, 0, 8);
        assert!(outcome.jain() >= 0.99, "{name}: {} {:?}", outcome.jain(), outcome.bytes);
        let total: u64 = outcome.bytes.iter().sum();
        let expected = 7 * 32_000_000 / 8;
        assert!(
            total.abs_diff(expected) < expected / 200 + 100_000,
            "{name}: {total} of {expected}"
        );
        let stats = queues.stats(QueueLeafId(0));
        assert_eq!(stats.dropped, outcome.dropped, "{name}");
    }
}

/// A flow that wants little waits little, whatever the others do.
#[test]
fn a_thin_flow_does_not_wait_behind_thick_ones() {
    for (name, kind) in [("fq_codel", fq_codel(true)), ("cake", cake(Tins::Diffserv3))] {
        let mut queues = queue(10_000_000, kind);
        let mut rates = vec![20_000_000; 4];
        rates.push(100_000);
        let mut thin = load(&mut queues, &rates, 0, 5);
        let bytes = thin.bytes[4];
        assert!(bytes >= 45_000, "{name}: {bytes}");
        let _ = thin.percentile(50);
    }
}

/// RFC 8289, 8290: senders that slow down when a packet is marked or lost keep the queue at its target.
#[test]
fn codel_keeps_the_delay_at_its_target() {
    for (name, kind, ecn) in [
        ("codel", Kind::Codel(codel(false)), false),
        ("codel with ecn", Kind::Codel(codel(true)), true),
        ("fq_codel", fq_codel(false), false),
        ("fq_codel with ecn", fq_codel(true), true),
    ] {
        // A window of packets under way, halved at a mark or a loss, one more at each round trip.
        let mut queues = queue(20_000_000, kind);
        let id = QueueLeafId(0);
        let (mut window, mut flying) = (10.0f64, 0u32);
        let mut answers: std::collections::VecDeque<(u64, bool)> = Default::default();
        let (mut waited, mut halved_at) = (Vec::new(), 0);
        for now in (0..20 * SECOND).step_by(MS as usize / 10) {
            while let Some(when) = queues.next_deadline().filter(|&when| when <= at(now)) {
                queues.release(when, |_, (_, came), marked| {
                    if when.as_nanos() > 5 * SECOND {
                        waited.push(when.as_nanos().saturating_sub(came));
                    }
                    answers.push_back((when.as_nanos() + 20 * MS, marked.marks.ce));
                });
            }
            while queues.take_dropped().is_some() {
                answers.push_back((now + 20 * MS, true));
            }
            while let Some(&(_, trouble)) = answers.front().filter(|&&(when, _)| when <= now) {
                answers.pop_front();
                flying = flying.saturating_sub(1);
                if !trouble {
                    window += 1.0 / window;
                } else if now > halved_at + 20 * MS {
                    (window, halved_at) = ((window / 2.0).max(2.0), now);
                }
            }
            while f64::from(flying) < window {
                flying += 1;
                let tos = if ecn { 2 } else { 0 };
                match queues.offer(id, at(now), 1000) {
                    Decision::Pass => answers.push_back((now + 20 * MS, false)),
                    Decision::Enqueue => queues.enqueue(id, (0, now), 1000, label(0, tos), at(now)),
                    Decision::DropFull => answers.push_back((now + 20 * MS, true)),
                }
            }
        }
        waited.sort_unstable();
        let (median, p99) = (waited[waited.len() / 2], waited[waited.len() * 99 / 100]);
        assert!(median <= 8 * MS, "{name}: median {median} ns");
        assert!(p99 <= 10 * MS, "{name}: p99 {p99} ns");
        assert!(waited.len() > 24_000, "{name}: {} packets in 15 s", waited.len());
        assert_eq!(queues.stats(id).dropped == 0, ecn, "{name}");
    }
}

/// What cannot be marked is dropped; what can, is not.
#[test]
fn marks_stand_for_drops() {
    let rates = [30_000_000; 2];
    let marked = load(&mut queue(20_000_000, fq_codel(true)), &rates, 2, 3);
    assert!(marked.marked > 0);
    let dropped = load(&mut queue(20_000_000, fq_codel(true)), &rates, 0, 3);
    assert_eq!(dropped.marked, 0);
    assert!(dropped.dropped > 0);
}

/// Whoever waited longer than the threshold is marked, if it can be; nobody is dropped for it.
#[test]
fn a_threshold_marks_without_dropping() {
    let ce = Some(Duration::from_millis(1));
    let limits = CodelLimits { ce, target: Duration::from_secs(1), ..codel(false) };
    for (tos, marks) in [(2, true), (1, true), (0, false)] {
        let outcome = load(&mut queue(20_000_000, Kind::Codel(limits)), &[20_100_000], tos, 3);
        let late = outcome.waited.iter().filter(|&&waited| waited > MS).count();
        assert!(late > 1000 && outcome.dropped == 0, "{late} late, {} dropped", outcome.dropped);
        assert_eq!(outcome.marked > 1000, marks, "{} marked of TOS {tos}", outcome.marked);
    }
}

#[test]
fn pcq_limits_each_client() {
    let mut queues = queue(100_000_000, pcq(2_000_000));
    let outcome = load(&mut queues, &[10_000_000, 3_000_000, 1_000_000], 0, 6);
    let rate = |n: usize| outcome.bytes[n] * 8 / 5;
    for (n, expected) in [(0, 2_000_000), (1, 2_000_000), (2, 1_000_000)] {
        // Of the bucket, a tenth of a second may be left over from the first second.
        assert!(rate(n).abs_diff(expected) <= expected / 40, "{n}: {} of {expected}", rate(n));
    }
}

#[test]
fn voice_comes_before_bulk_in_cake() {
    let mut queues = queue(10_000_000, cake(Tins::Diffserv4));
    let id = QueueLeafId(0);
    let mut out = [0u64; 2];
    for now in (0..3 * SECOND).step_by(MS as usize) {
        while let Some(when) = queues.next_deadline().filter(|&when| when <= at(now)) {
            queues.release(when, |_, (flow, _), _| out[flow as usize] += 1);
        }
        for (flow, tos) in [(0, 46 << 2), (1, 8 << 2), (1, 8 << 2)] {
            if queues.offer(id, at(now), 1000) == Decision::Pass {
                out[flow as usize] += 1;
            } else {
                queues.enqueue(id, (flow, now), 1000, label(flow, tos), at(now));
            }
        }
        while queues.take_dropped().is_some() {}
    }
    // 8 Mbit/s of voice, 16 of bulk: a fifth of the turns at most is bulk's.
    assert!(out[0] > 2800 && out[1] > 500, "{out:?}");
}

#[test]
fn limits_of_bytes_and_red_drop() {
    let outcome = load(&mut queue(1_000_000, Kind::Bfifo(15_000)), &[5_000_000], 0, 4);
    assert!(outcome.waited.iter().all(|&ns| ns <= 121 * MS), "15 packets of 8 ms each");
    let red = RedLimits { limit: 60, min: 10, max: 50, burst: 20, average_packet: 1000 };
    let mut outcome = load(&mut queue(1_000_000, Kind::Red(red)), &[1_030_000], 0, 20);
    // A load of 3 % too much: some are dropped early, so that the queue stays between the thresholds.
    assert!(outcome.dropped > 0);
    let median = outcome.percentile(50) / (8 * MS);
    assert!((8..=55).contains(&median), "{median} packets");
}

/// Without a limit of its class; what a packet of 1,000 bytes takes is counted by what its line adds.
#[test]
fn cake_shapes_by_what_packets_take_on_the_line() {
    for (scheme, len) in [("raw", 1000), ("ethernet", 1024), ("pppoe-llcsnap", 1166)] {
        let framing = Framing::of(scheme);
        let kind = Kind::Cake(CakeLimits { rate: 10_000_000, framing, ..limits(Tins::Diffserv3) });
        let outcome = load(&mut queue(0, kind), &[8_000_000; 4], 0, 5);
        let sent: u64 = outcome.bytes.iter().sum();
        let expected = 4 * 10_000_000 / 8 * 1000 / len;
        assert!(sent.abs_diff(expected) <= expected / 200, "{scheme}: {sent} of {expected}");
        assert!(outcome.jain() >= 0.99, "{scheme}: {:?}", outcome.bytes);
    }
}

/// Bytes that went of each load with its DSCP, and the marks that it got.
fn by_dscp(limits: CakeLimits, loads: &[(u32, u8)]) -> Vec<(u64, Marks)> {
    let mut queues = queue(0, Kind::Cake(limits));
    let id = QueueLeafId(0);
    let mut sent = vec![(0, Marks::default()); loads.len()];
    let mut due = vec![0; loads.len()];
    for now in (0..4 * SECOND).step_by(MS as usize) {
        while let Some(when) = queues.next_deadline().filter(|&when| when <= at(now)) {
            queues.release(when, |_, (flow, _), waited| {
                let (bytes, seen) = &mut sent[flow as usize];
                *bytes += 1000;
                seen.wash |= waited.marks.wash;
            });
        }
        for (flow, (&(rate, dscp), due)) in (0u32..).zip(loads.iter().zip(&mut due)) {
            *due += rate / 1000;
            while *due >= 8000 {
                *due -= 8000;
                assert_eq!(queues.offer(id, at(now), 1000), Decision::Enqueue, "it is a shaper");
                queues.enqueue(id, (flow, now), 1000, label(flow, dscp << 2), at(now));
            }
        }
        while queues.take_dropped().is_some() {}
    }
    sent
}

/// Voice has a quarter of the bandwidth for certain and the rest if nobody wants it; bulk the least.
#[test]
fn tins_share_cakes_bandwidth() {
    const M: u32 = 1_000_000;
    for (tins, loads, expected) in [
        // Voice within its quarter: all of it.
        (Tins::Diffserv3, vec![(2 * M, 46), (20 * M, 0)], vec![20, 80]),
        // Beyond: the quarter, and turns by turns for the rest.
        (Tins::Diffserv3, vec![(20 * M, 46), (20 * M, 0)], vec![25, 75]),
        (Tins::Diffserv3, vec![(20 * M, 46)], vec![100]),
        (Tins::Diffserv4, vec![(20 * M, 34), (20 * M, 8), (1, 0)], vec![94, 6, 0]),
        (Tins::Diffserv8, vec![(3 * M, 46), (20 * M, 1)], vec![30, 70]),
        (Tins::BestEffort, vec![(20 * M, 46), (20 * M, 8)], vec![50, 50]),
    ] {
        let sent = by_dscp(CakeLimits { rate: 10 * u64::from(M), ..limits(tins) }, &loads);
        for ((bytes, marks), percent) in sent.iter().zip(&expected) {
            let of_100 = bytes * 100 / (4 * 10 * u64::from(M) / 8);
            assert!(of_100.abs_diff(*percent) <= 3, "{tins:?} {loads:?}: {sent:?}");
            assert!(!marks.wash);
        }
    }
}

/// `wash` takes the DSCP of those who have one.
#[test]
fn cake_washes_dscp() {
    let sent = by_dscp(
        CakeLimits { wash: true, ..limits(Tins::Diffserv3) },
        &[(1 << 20, 46), (1 << 20, 0)],
    );
    assert_eq!(sent.iter().map(|(_, marks)| marks.wash).collect::<Vec<_>>(), [true, false]);
}

/// Acknowledgements wait behind one packet of data: which of them go for later ones.
#[test]
fn acknowledgements_go_for_later_ones() {
    let many = [Some(100), Some(200), Some(300), None, Some(400)];
    for (acks, offered, stay) in [
        (AckFilter::None, &many[..], vec![0, 1, 2, 3, 4]),
        (AckFilter::Filter, &many[..], vec![2, 3, 4]),
        (AckFilter::Aggressive, &many[..], vec![3, 4]),
        // The same number again is news: a segment was lost.
        (AckFilter::Aggressive, &[Some(7), Some(7), Some(7)], vec![0, 1, 2]),
        // Numbers go round.
        (AckFilter::Aggressive, &[Some(u32::MAX), Some(3)], vec![1]),
        (AckFilter::Aggressive, &[Some(9), Some(3)], vec![0, 1]),
    ] {
        let mut queues =
            queue(0, Kind::Cake(CakeLimits { acks, rate: 1_000_000, ..limits(Tins::Diffserv3) }));
        let id = QueueLeafId(0);
        queues.enqueue(id, (99, 0), 60_000, label(1, 0), at(0));
        queues.release(at(1), |_, _, _| {});
        for (serial, ack) in (0..).zip(offered) {
            queues.enqueue(id, (serial, 0), 60, Label { ack: *ack, ..label(1, 0) }, at(2));
        }
        let mut out = Vec::new();
        queues.release(at(2 * SECOND), |_, (serial, _), _| out.push(serial));
        let dropped = std::iter::from_fn(|| queues.take_dropped()).count();
        assert_eq!(
            (out, dropped),
            (stay.clone(), offered.len() - stay.len()),
            "{acks:?} {offered:?}"
        );
    }
}

/// A line of 12 Mbit/s, in bursts of ten packets: the shaper comes to 15/16 of it, from above and from below, and
/// follows it to another.
#[test]
fn the_bandwidth_follows_the_line_in_front() {
    for rate in [0, 2_000_000, 100_000_000] {
        let limits = CakeLimits { rate, autorate: true, ..limits(Tins::Diffserv3) };
        let mut queues = queue(0, Kind::Cake(limits));
        let id = QueueLeafId(0);
        let (mut now, mut sent) = (0, Vec::new());
        for (line, seconds) in [(12_000_000, 20), (30_000_000, 20)] {
            let (began, mut bytes) = (now, 0);
            for n in 1.. {
                now += 1000 * 8 * SECOND / line * if n % 10 == 0 { 2 } else { 1 };
                while let Some(when) = queues.next_deadline().filter(|&when| when <= at(now)) {
                    let is_late = when.as_nanos() > began + seconds * SECOND / 2;
                    queues.release(when, |_, _, _| bytes += u64::from(is_late) * 1000);
                }
                while queues.take_dropped().is_some() {}
                if now >= began + seconds * SECOND {
                    break;
                }
                assert_eq!(queues.offer(id, at(now), 1000), Decision::Enqueue);
                queues.enqueue(id, (0, now), 1000, label(0, 0), at(now));
            }
            sent.push(bytes * 8 / (seconds / 2) * 100 / line);
        }
        // Ten packets come in the time of eleven.
        let expected = 100 * 15 / 16 * 10 / 11;
        assert!(sent.iter().all(|&percent| percent.abs_diff(expected) <= 6), "{rate}: {sent:?}");
    }
}

/// Whoever heeds nothing fills cake's memory, until BLUE has found the part of it that is too much.
#[test]
fn who_fills_the_queue_again_and_again_loses_by_chance() {
    for (bytes, rates) in [(64_000, &[60_000_000][..]), (64_000, &[30_000_000, 1_000_000])] {
        let limits = CakeLimits { bytes, rate: 10_000_000, ..limits(Tins::BestEffort) };
        let mut outcome = load(&mut queue(0, Kind::Cake(limits)), rates, 0, 8);
        let sent: u64 = outcome.bytes.iter().sum();
        let median = outcome.percentile(50);
        assert!(sent.abs_diff(7 * 10_000_000 / 8) < 20_000, "{sent}");
        assert!(median < 30 * MS, "{median} ns, where all of the memory is 51 ms");
    }
}
