//! The tester from end to end in virtual time: simulated wires, seeded faults, a slow device. What
//! happened to the frames is known exactly, so every count must be exact.

use measure::procedure::bisect::{Answer, Bisect, Bound, Step};
use measure::{
    Conditions, Counts, Load, Outcome, Pace, Receiver, Schedule, Sender, Stream, StreamPlan,
    Template, Trial, Variation, trial::Reason,
};
use port::fault::{FaultCounters, Faults, FaultyPort};
use port::simulated::{self, Link};
use port::{Batch, Pool, Port, Slab, memory};
use std::convert::Infallible;
use std::time::Duration;
use wire::{BitRate, FrameLen, Moment, PacketRate};

const FRAME: FrameLen = FrameLen::with_fcs(64);

fn stream() -> Stream {
    let template = Template { udp_checksum: true, ..Template::default() };
    StreamPlan { id: 1, template, frame: FRAME, variation: Variation::NONE, seed: 1 }
        .build()
        .expect("a stream")
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn paced(gbps: u64, duration: Duration) -> Schedule {
    let pace = Pace::of_wire(gbps * 1_000_000_000, FRAME).expect("a pace");
    Schedule { load: Load::Paced(pace), start: Moment::ZERO, duration }
}

/// Polls sender, device and receiver every 10 ns, and when the sender's wire is free, until nothing has
/// come for 100 µs.
fn run(
    schedule: Schedule,
    pool: &mut Pool,
    out: &mut dyn Port,
    back: &mut dyn Port,
    mut device: impl FnMut(Moment, &mut Pool),
) -> (Trial, Receiver) {
    let stream = stream();
    let mut receiver = Receiver::new(Moment::ZERO, [&stream]);
    let mut sender = Sender::new(stream, schedule);
    let (mut now, mut quiet) = (Moment::ZERO, 0);
    while quiet < 10_000 {
        sender.poll(now, pool, out);
        device(now, pool);
        let n = receiver.poll(now, pool, back);
        quiet = if n > 0 || !sender.is_done(now) { 0 } else { quiet + 1 };
        let next = now + Duration::from_nanos(10);
        now = out.next_start().filter(|free| (now < *free) && (*free < next)).unwrap_or(next);
    }
    let sent = sender.sent();
    let counts = Counts::gather([sent], [&receiver], [out.counters(), back.counters()]);
    let overrun = sent.last.since(schedule.start + schedule.duration);
    let conditions = Conditions { overrun, ..Conditions::default() };
    (Trial::judge(schedule.duration, counts, &conditions), receiver)
}

#[test]
fn a_wire_at_wire_speed_loses_nothing() {
    let slab = Slab::new(4096).unwrap();
    let link = Link { delay: us(1), ..Link::new(BitRate::gbps(10.0)) };
    let (mut a, mut b) = simulated::wire(link).unwrap();
    let (trial, receiver) = run(paced(10, us(1000)), &mut slab.pool(), &mut a, &mut b, |_, _| {});
    assert_eq!(trial.outcome, Outcome::Pass, "{trial:?}");
    assert_eq!(trial.counts.sent, 14_881, "10 Gbit/s for a millisecond, the first frame at 0");
    // Preamble and frame (72 bytes, 57.6 ns) and 1 µs, read every 10 ns; sent up to 10 ns late.
    let latency = receiver.latency();
    assert!(latency.min() >= 1057 && latency.max() <= 1090, "{} {}", latency.min(), latency.max());
    assert_eq!(latency.len(), 14_881);
}

#[test]
fn more_than_the_wire_carries_is_the_testers_fault() {
    let slab = Slab::new(4096).unwrap();
    let link = Link { tx_buffer: 16, ..Link::new(BitRate::gbps(10.0)) };
    let (mut a, mut b) = simulated::wire(link).unwrap();
    let (trial, _) = run(paced(20, us(100)), &mut slab.pool(), &mut a, &mut b, |_, _| {});
    let Counts { intended, sent, received, .. } = trial.counts;
    assert_eq!((intended, sent, received), (2977, 2977, 2977), "a frame waits for its wire");
    // In twice the time.
    let Outcome::Invalid(Reason::Overrun(late)) = trial.outcome else { panic!("{trial:?}") };
    assert!((us(99)..us(102)).contains(&late), "{late:?}");
}

/// 20,000 frames over a memory wire with faults.
fn faulty(faults: Faults) -> (Counts, Outcome, FaultCounters) {
    let slab = Slab::new(4096).unwrap();
    let mut pool = slab.pool();
    let (mut a, b) = memory::wire(1024);
    let mut b = FaultyPort::new(b, faults, 42);
    let (trial, receiver) = run(paced(10, us(1344)), &mut pool, &mut a, &mut b, |_, _| {});
    let counts = trial.counts;
    assert_eq!(counts.sent, 20_000);
    assert_eq!(receiver.latency().len(), counts.received);
    drop(pool);
    assert_eq!(slab.frames_out(), 0, "all frames are back");
    (counts, trial.outcome, b.struck())
}

#[test]
fn loss_is_exact() {
    let (counts, outcome, struck) = faulty(Faults { drop: 0.01, ..Faults::default() });
    assert!(struck.dropped > 100, "{struck:?}");
    assert_eq!(outcome, Outcome::Fail { lost: struck.dropped });
    assert_eq!((counts.duplicate, counts.reordered, counts.corrupt, counts.foreign), (0, 0, 0, 0));
}

#[test]
fn duplicates_are_exact() {
    let (counts, outcome, struck) = faulty(Faults { duplicate: 0.01, ..Faults::default() });
    assert!(struck.duplicated > 100, "{struck:?}");
    assert_eq!((outcome, counts.duplicate), (Outcome::Pass, struck.duplicated));
    assert_eq!((counts.reordered, counts.corrupt, counts.foreign), (0, 0, 0));
}

#[test]
fn late_frames_are_exact() {
    let faults = Faults { delay: 0.01, delay_by: us(5), ..Faults::default() };
    let (counts, outcome, struck) = faulty(faults);
    assert!(struck.delayed > 100, "{struck:?}");
    // 5 µs are 74 frames: all but those of the end are overtaken.
    assert!((struck.delayed - 5..=struck.delayed).contains(&counts.reordered), "{counts:?}");
    assert_eq!((outcome, counts.duplicate, counts.stale), (Outcome::Pass, 0, 0));
}

#[test]
fn loss_and_duplicates_and_lateness_at_once() {
    let (drop, duplicate, delay) = (0.01, 0.02, 0.03);
    let faults = Faults { drop, duplicate, delay, delay_by: us(3), ..Faults::default() };
    let (counts, outcome, struck) = faulty(faults);
    assert_eq!(outcome, Outcome::Fail { lost: struck.dropped }, "{counts:?} {struck:?}");
    assert_eq!(counts.duplicate, struck.duplicated);
}

#[test]
fn damage_is_found_and_lost() {
    let (counts, outcome, struck) = faulty(Faults { truncate: 0.01, ..Faults::default() });
    assert_eq!(outcome, Outcome::Fail { lost: struck.truncated });
    assert_eq!(counts.corrupt + counts.foreign, struck.truncated);
    // A damaged byte shows wherever it is but in the MAC addresses: 12 of 60 bytes.
    let (counts, outcome, struck) = faulty(Faults { corrupt: 0.02, ..Faults::default() });
    let found = counts.corrupt + counts.foreign;
    assert_eq!(outcome, Outcome::Fail { lost: found });
    let share = found as f64 / struck.corrupted as f64;
    assert!((0.7..0.9).contains(&share), "{found} of {struck:?}");
}

/// A device between a fast wire and a slow one: its highest rate without loss is the slow wire's.
#[test]
fn the_search_finds_the_bottleneck() {
    let slab = Slab::new(8192).unwrap();
    let mut pool = slab.pool();
    let duration = us(10_000);
    let mut trial = |rate| {
        let (mut a, mut b) = simulated::wire(Link::new(BitRate::gbps(10.0))).unwrap();
        let link = Link { tx_buffer: 16, ..Link::new(BitRate::gbps(1.0)) };
        let (mut c, mut d) = simulated::wire(link).unwrap();
        let load = Load::Paced(Pace::of(rate).expect("a pace"));
        let schedule = Schedule { load, start: Moment::ZERO, duration };
        let mut batch = Batch::new();
        let device = |now, pool: &mut Pool| {
            b.receive(now, pool, &mut batch);
            c.send(now, pool, &mut batch);
        };
        run(schedule, &mut pool, &mut a, &mut d, device).0
    };
    let wire = BitRate::gbps(10.0).max_frames(FRAME);
    let (lowest, highest, step) = (1e3, wire.0, Step::Relative(0.01));
    let search = Bisect { lowest, highest, step, verify: 0, values_max: 40 };
    let found = search.run(|rate| {
        Ok::<_, Infallible>(match trial(PacketRate(rate)).outcome {
            Outcome::Pass => Answer::Pass,
            Outcome::Fail { .. } => Answer::Fail,
            Outcome::Invalid(_) => Answer::Tester,
        })
    });
    let found = found.unwrap_or_else(|never| match never {});
    let rate = found.best.expect("a rate");
    // 16 frames of buffer in 14,881: 0.1 % above the wire passes; one per cent is the precision.
    assert!((1_472_000.0..=1_489_800.0).contains(&rate), "{rate} {:?}", found.bound);
    assert_eq!(found.bound, Bound::Loss);
    drop(pool);
    assert_eq!(slab.frames_out(), 0);
}
