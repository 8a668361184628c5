//! The tester measures itself: port to port, with no device between.
//!
//! ```text
//! sender ─► port ═══ wire ═══ port ─► receiver        the highest rate, the lowest latency
//! ```
//!
//! Run before a device is measured, per frame length, with the very streams of the measurement.
//! What comes out is the tester's maximum offered load (RFC 2285 §3.5.3), and the rule by which a
//! result is believed: at least [`HEADROOM`] below it, or the result is *tester-limited*.
//!
//! Never reads a clock: the caller brings one.

use crate::trial::{Conditions, Counts, Trial};
use crate::{Load, Receiver, Schedule, Sender, Stream};
use port::{Pool, Port};
use std::time::Duration;
use wire::{FrameLen, Moment, PacketRate};

/// A device's rate is the device's only if the tester alone is faster by this factor.
pub const HEADROOM: f64 = 1.2;

/// What the tester can do by itself at one frame length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfTest {
    /// The frames' length.
    pub frame: FrameLen,
    /// The most it sends, receives and counts.
    pub highest: PacketRate,
    /// The lowest latency it can see, in nanoseconds.
    pub latency_floor_ns: u64,
    /// The trial that says so. If it is invalid or lost frames, so did the tester.
    pub trial: Trial,
}

impl SelfTest {
    /// From a trial that was run without a device, on however many cores.
    pub fn of(frame: FrameLen, trial: Trial, receiver: &Receiver) -> SelfTest {
        let latency_floor_ns = receiver.latency().min();
        SelfTest { frame, highest: trial.forwarding_rate(), latency_floor_ns, trial }
    }

    /// How many times faster the tester alone is.
    pub fn headroom(&self, result: PacketRate) -> f64 {
        if result.0 > 0.0 { self.highest.0 / result.0 } else { f64::INFINITY }
    }

    /// Whether a result may be the tester's rather than the device's.
    pub fn is_tester_limited(&self, result: PacketRate) -> bool {
        self.headroom(result) < HEADROOM
    }
}

/// Runs the tester alone on one core, from port `a` to port `b`, which are two ends of a wire (and
/// may lose what the wire loses). `clock` is read twice a batch.
pub fn one_core<A: Port + ?Sized, B: Port + ?Sized>(
    stream: Stream,
    duration: Duration,
    pool: &mut Pool,
    (a, b): (&mut A, &mut B),
    mut clock: impl FnMut() -> Moment,
) -> SelfTest {
    let frame = stream.frame();
    let start = clock();
    let mut receiver = Receiver::new(start, [&stream]);
    let mut sender = Sender::new(stream, Schedule { load: Load::FullSpeed, start, duration });
    let before = b.counters().rx_drop;
    let mut now = start;
    while !sender.is_done(now) {
        sender.poll(now, pool, a);
        receiver.poll(clock(), pool, b);
        now = clock();
    }
    // The quiet time: what is still on the wire. Two empty polls in a row end it.
    let mut empty = 0;
    while empty < 2 {
        empty = if receiver.poll(clock(), pool, b) == 0 { empty + 1 } else { 0 };
    }
    let sent = sender.sent();
    let mut counts = Counts::gather([sent], [&receiver], []);
    counts.tester_rx_drop = b.counters().rx_drop - before;
    let trial = Trial::judge(now.since(start), counts, &Conditions::default());
    SelfTest::of(frame, trial, &receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Outcome, Reason};
    use crate::{StreamPlan, Template, Variation};
    use port::{Slab, memory};

    fn run(ring: usize, slab: usize) -> SelfTest {
        let (template, frame) = (Template::default(), FrameLen::with_fcs(64));
        let variation = Variation::NONE;
        let plan = StreamPlan { id: 1, template, frame, variation, seed: 1 };
        let slab = Slab::new(slab).unwrap();
        let (mut a, mut b) = memory::wire(ring);
        // A clock that advances by a microsecond each time it is read.
        let mut ns = 0;
        let clock = || {
            ns += 1000;
            Moment::from_nanos(ns)
        };
        let duration = Duration::from_millis(1);
        one_core(plan.build().unwrap(), duration, &mut slab.pool(), (&mut a, &mut b), clock)
    }

    #[test]
    fn in_virtual_time() {
        // A batch of 64 every two microseconds, received one microsecond later.
        let test = run(64, 256);
        assert_eq!(test.trial.outcome, Outcome::Pass);
        assert_eq!(test.highest, PacketRate(32e6));
        assert_eq!(test.latency_floor_ns, 1000);
        assert_eq!(test.trial.counts.sent, 500 * 64);
    }

    #[test]
    fn a_ring_too_small_is_the_testers_fault() {
        let test = run(32, 256);
        let expected = Outcome::Invalid(Reason::TesterRing(500 * 32));
        assert_eq!(test.trial.outcome, expected);
        assert_eq!(test.highest, PacketRate(16e6));
    }

    #[test]
    fn headroom() {
        let test = run(64, 256);
        assert_eq!(test.headroom(PacketRate(16e6)), 2.0);
        for (mpps, expected) in [(26.0, false), (27.0, true), (32.0, true), (0.0, false)] {
            assert_eq!(test.is_tester_limited(PacketRate(mpps * 1e6)), expected, "{mpps}");
        }
    }
}
