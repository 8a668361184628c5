//! When frames are sent, and how many were.
//!
//! ```text
//! Schedule (start, duration, load) ── due at `now`? ──► Stream::write × n ──► Batch ──► Port
//! ```
//!
//! The caller polls, as fast as it can, with the time. A paced sender owes at every moment the
//! frames whose times have come; it pays at most one batch a poll, so a late poll is followed by
//! bursts and never by fewer frames: offered load equals intended load, or the trial is invalid.
//! Frame k is due at `start + k · ns / frames`, in whole numbers: no drift, however long it runs.
//!
//! Never reads a clock, never sleeps. Missing: **several streams on one schedule** (use a sender
//! each), **bursts of a given length**.

use crate::Stream;
use port::{Batch, Pool, Port};
use std::time::Duration;
use wire::{FrameLen, Moment, PacketRate};

/// A constant rate in whole numbers: so many frames in so many nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    frames: u64,
    ns: u64,
}

impl Pace {
    /// The rate, to a thousandth of a packet per second; `None` if it is not a number, below one
    /// thousandth, or above 10¹² packets per second.
    pub fn of(rate: PacketRate) -> Option<Pace> {
        let frames = (rate.0 * 1e3).round();
        (1.0..=1e15).contains(&frames).then_some(Pace { frames: frames as u64, ns: SECOND * 1000 })
    }

    /// What a wire of `bits_per_second` (L1) carries, exactly: 64-byte frames at 10¹⁰ bit/s are
    /// 14,880,952.38… a second. `None` if the wire carries nothing, or more than 10¹⁵ bit/s.
    pub fn of_wire(bits_per_second: u64, frame: FrameLen) -> Option<Pace> {
        let ns = SECOND * 8 * u64::from(frame.l1());
        (1..=1_000_000_000_000_000)
            .contains(&bits_per_second)
            .then_some(Pace { frames: bits_per_second, ns })
    }

    /// As a rate.
    pub fn rate(self) -> PacketRate {
        PacketRate(self.frames as f64 / self.ns as f64 * SECOND as f64)
    }

    /// Frames whose time comes before `time` has passed since the start.
    fn before(self, time: Duration) -> u64 {
        saturate((time.as_nanos() * u128::from(self.frames)).div_ceil(u128::from(self.ns)))
    }

    /// Frames whose time comes before or when `time` has passed since the start.
    fn by(self, time: Duration) -> u64 {
        saturate(time.as_nanos() * u128::from(self.frames) / u128::from(self.ns)).saturating_add(1)
    }

    /// When frame `k` is due, after the start.
    fn time_of(self, k: u64) -> Duration {
        let ns = (u128::from(k) * u128::from(self.ns)).div_ceil(u128::from(self.frames));
        Duration::from_nanos(saturate(ns))
    }
}

const SECOND: u64 = 1_000_000_000;

fn saturate(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// How much to send (RFC 2285's intended load).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A batch at every poll: as much as the tester can.
    FullSpeed,
    /// A constant rate.
    Paced(Pace),
}

/// What is sent, from when, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How much.
    pub load: Load,
    /// When the first frame is due.
    pub start: Moment,
    /// Frames due at this time after the start, or later, are not sent any more.
    pub duration: Duration,
}

impl Schedule {
    /// How many frames will have been sent when all is over; `None` at full speed, where only the
    /// end shows.
    pub fn frames(&self) -> Option<u64> {
        match self.load {
            Load::FullSpeed => None,
            Load::Paced(pace) => Some(pace.before(self.duration)),
        }
    }
}

/// What a sender did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that should have been offered by the last poll (at full speed: those that were).
    pub intended: u64,
    /// Frames given to the port (RFC 2285's offered load, less what the port says it dropped).
    pub offered: u64,
    /// Polls at which frames were due and the pool had none left.
    pub starved: u64,
    /// How late the latest poll was, behind the first frame it had to send, in nanoseconds.
    pub late_ns_max: u64,
    /// When the last frame was sent.
    pub last: Moment,
}

/// Sends one stream by a schedule.
pub struct Sender {
    stream: Stream,
    schedule: Schedule,
    /// [`Schedule::frames`], worked out once.
    frames: Option<u64>,
    /// When the next frame is due: what a poll with nothing to do looks at, and no more.
    next: Moment,
    sent: Sent,
    batch: Batch,
}

impl Sender {
    /// A sender that has sent nothing yet.
    pub fn new(stream: Stream, schedule: Schedule) -> Sender {
        let (frames, next) = (schedule.frames(), schedule.start);
        Sender { stream, schedule, frames, next, sent: Sent::default(), batch: Batch::new() }
    }

    /// Sends no more than `most` frames in all.
    #[must_use]
    pub fn at_most(mut self, most: u64) -> Sender {
        self.frames = Some(self.frames.map_or(most, |frames| frames.min(most)));
        if most == 0 {
            self.next = Moment::from_nanos(u64::MAX);
        }
        self
    }

    /// Sends what is due, at most a batch, and returns how many frames went to the port.
    #[inline]
    pub fn poll<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        if now < self.next {
            return 0;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let n = self.fill(now, pool, &mut batch);
        if n > 0 {
            port.send(now, pool, &mut batch);
        }
        self.batch = batch;
        n
    }

    /// Adds what is due to `batch`, as far as there is room, and returns how many frames that
    /// were: [`poll`](Self::poll) without a port, for devices that are fed from memory.
    #[inline]
    pub fn fill(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        if now < self.next {
            return 0;
        }
        let due = self.due(now).min(batch.room() as u64);
        let fixed = self.stream.fixed_len();
        let mut n = 0;
        while n < due {
            let len = fixed.unwrap_or_else(|| self.stream.next_len());
            let Some(mut frame) = pool.alloc(len) else {
                self.sent.starved += 1;
                break;
            };
            self.stream.write(now, pool.slab().bytes_mut(&mut frame));
            batch.push(frame);
            n += 1;
        }
        if n > 0 {
            self.sent.offered += n;
            self.sent.last = now;
        }
        self.plan_next();
        n as usize
    }

    /// Whether all frames of the schedule are sent, or (at full speed) its time is over.
    pub fn is_done(&self, now: Moment) -> bool {
        let is_over = || now >= self.schedule.start + self.schedule.duration;
        match (self.frames, self.schedule.load) {
            (Some(frames), Load::Paced(_)) => self.sent.offered == frames,
            (Some(frames), Load::FullSpeed) => self.sent.offered == frames || is_over(),
            (None, _) => is_over(),
        }
    }

    /// When the next frame is due; at full speed always.
    pub fn next_due(&self) -> Moment {
        self.next
    }

    /// Whether it sends at a rate, not as fast as it can.
    pub fn is_paced(&self) -> bool {
        matches!(self.schedule.load, Load::Paced(_))
    }

    /// What was done so far.
    pub fn sent(&self) -> Sent {
        Sent { intended: self.sent.intended.max(self.sent.offered), ..self.sent }
    }

    /// The stream, for its number and length.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The stream, to go on with in another trial.
    pub fn into_stream(self) -> Stream {
        self.stream
    }

    /// How many frames are due and unsent; `now` is not before `next`.
    #[inline]
    fn due(&mut self, now: Moment) -> u64 {
        let Schedule { load, start, duration } = self.schedule;
        let pace = match load {
            Load::FullSpeed if now.since(start) < duration => {
                return self.frames.map_or(u64::MAX, |frames| frames - self.sent.offered);
            }
            Load::FullSpeed => return 0,
            Load::Paced(pace) => pace,
        };
        self.sent.intended = pace.by(now.since(start)).min(self.frames.unwrap_or(u64::MAX));
        let late = now.since(self.next).as_nanos() as u64;
        self.sent.late_ns_max = self.sent.late_ns_max.max(late);
        self.sent.intended.saturating_sub(self.sent.offered)
    }

    #[inline]
    fn plan_next(&mut self) {
        let Load::Paced(pace) = self.schedule.load else { return };
        self.next = if self.frames == Some(self.sent.offered) {
            Moment::from_nanos(u64::MAX)
        } else {
            self.schedule.start + pace.time_of(self.sent.offered)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StreamPlan, Template, Variation};
    use port::{Slab, memory};
    use proptest::prelude::*;

    fn stream() -> Stream {
        let (template, frame) = (Template::default(), FrameLen::with_fcs(64));
        let variation = Variation::NONE;
        StreamPlan { id: 1, template, frame, variation, seed: 1 }.build().unwrap()
    }

    fn at(ns: u64) -> Moment {
        Moment::from_nanos(ns)
    }

    /// Polls at the given times and returns when each frame was sent.
    fn run(schedule: Schedule, polls: impl IntoIterator<Item = u64>) -> (Vec<u64>, Sent) {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let (mut out, mut other) = memory::wire(128);
        let mut sender = Sender::new(stream(), schedule);
        let (mut times, mut batch) = (vec![], Batch::new());
        for now in polls {
            let n = sender.poll(at(now), &mut pool, &mut out);
            times.extend(std::iter::repeat_n(now, n));
            assert_eq!(other.receive(at(now), &mut pool, &mut batch), n);
            batch.free_all(&mut pool);
        }
        assert_eq!(out.counters().tx_packet, times.len() as u64);
        (times, sender.sent())
    }

    fn paced(pps: f64, start: u64, ns: u64) -> Schedule {
        let load = Load::Paced(Pace::of(PacketRate(pps)).unwrap());
        Schedule { load, start: at(start), duration: Duration::from_nanos(ns) }
    }

    #[test]
    fn frames_leave_when_they_are_due() {
        // 3 per microsecond: 0, 333.3, 666.7, 1000 … after the start at 500.
        let (times, sent) = run(paced(3e6, 500, 2000), 0..4000);
        assert_eq!(times, [500, 834, 1167, 1500, 1834, 2167]);
        assert_eq!((sent.intended, sent.offered, sent.late_ns_max), (6, 6, 0));
        assert_eq!(sent.last, at(2167));
    }

    #[test]
    fn a_late_poll_is_made_up_for_in_bursts() {
        let (times, sent) = run(paced(1e9, 0, 1000), [0, 200, 201, 202, 203, 5000, 5001]);
        let per_poll = |t| times.iter().filter(|&&time| time == t).count();
        assert_eq!([0, 200, 201, 202, 203, 5000, 5001].map(per_poll), [1, 64, 64, 64, 11, 64, 64]);
        assert_eq!((sent.intended, sent.offered), (1000, 332), "still owed: {sent:?}");
        assert_eq!(sent.late_ns_max, 5000 - 204);
    }

    #[test]
    fn the_end_is_made_up_for_too() {
        let (times, sent) = run(paced(1e9, 0, 100), [0, 50, 1000, 1001, 1002]);
        assert_eq!(times.len(), 100);
        assert_eq!((sent.intended, sent.offered), (100, 100));
    }

    #[test]
    fn full_speed_is_a_batch_a_poll_until_the_end() {
        let (start, duration) = (at(10), Duration::from_nanos(10));
        let schedule = Schedule { load: Load::FullSpeed, start, duration };
        let (times, sent) = run(schedule, [0, 9, 10, 15, 19, 20, 30]);
        assert_eq!(times.len(), 3 * Batch::CAPACITY);
        assert_eq!((sent.intended, sent.offered), (192, 192));
    }

    #[test]
    fn an_empty_pool_is_counted() {
        let slab = Slab::new(10).unwrap();
        let mut pool = slab.pool();
        let mut batch = Batch::new();
        let mut sender = Sender::new(stream(), paced(1e9, 0, 100));
        assert_eq!(sender.fill(at(49), &mut pool, &mut batch), 10);
        let sent = sender.sent();
        assert_eq!((sent.intended, sent.offered, sent.starved), (50, 10, 1));
        batch.free_all(&mut pool);
    }

    #[test]
    fn wire_speed_is_exact() {
        let frame = FrameLen::with_fcs(64);
        let pace = Pace::of_wire(10_000_000_000, frame).unwrap();
        assert_eq!(pace.before(Duration::from_secs(1)), 14_880_953, "the first one at 0");
        assert_eq!(pace.before(Duration::from_secs(21)), 312_500_000, "no drift");
        assert_eq!(pace.before(Duration::from_secs(21_000_000)), 312_500_000_000_000);
        assert_eq!(pace.rate().0 as u64, 14_880_952);
        let gigabit = Pace::of_wire(1_000_000_000, frame).unwrap();
        assert_eq!(gigabit.rate().0 as u64, 1_488_095);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e13, 1e-5] {
            assert_eq!(Pace::of(PacketRate(bad)), None, "{bad}");
        }
        assert_eq!(Pace::of_wire(0, frame), None);
    }

    proptest! {
        /// However unevenly it is polled: what is due is sent, each frame not before its time, and
        /// at the end all of them.
        #[test]
        fn nothing_early_nothing_owed(
            pps in 1.0f64..2e8,
            gaps in prop::collection::vec(0u64..300, 1..300),
        ) {
            let schedule = paced(pps, 7, 20_000);
            let Load::Paced(pace) = schedule.load else { unreachable!() };
            let mut now = 0;
            let mut polls: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            polls.extend((now.max(20_007)..).take(100)); // 4000 frames at most
            let (times, sent) = run(schedule, polls);
            for (k, &time) in times.iter().enumerate() {
                prop_assert!(at(time) >= at(7) + pace.time_of(k as u64), "frame {} at {}", k, time);
            }
            prop_assert_eq!(Some(sent.offered), schedule.frames());
            prop_assert_eq!(sent.intended, sent.offered);
        }
    }
}
