//! Idle time of a tester's loop: how much it had left.
//!
//! ```text
//!  tick: receive, send ─┬ everything due was sent, and what had come was taken: time left
//!                       └ a whole batch was sent and more is due, or as much was taken as a tick
//!                         takes and more waits: behind
//! ```
//!
//! A loop that polls is never idle, and the share of polls that find work says little: the busier it
//! is, the more frames each of them moves, and the cheaper they become. It has no time left when what
//! it may move at once is too little, tick after tick. (TRex shows the same by its `queue_full` beside
//! the processors' load, and RouterOS's bandwidth test warns from 90 % of a processor on.)
//!
//! Never reads a clock.

use std::time::Duration;

/// Less than this is a burst, or a start: nothing to speak of shares of.
const SHORTEST: Duration = Duration::from_millis(1);

/// From this share on, in per cent, no time was left.
const SATURATED: u32 = 95;

/// What a loop's ticks took, while there was something to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// All of them.
    pub watched: Duration,
    /// Those that left work undone.
    pub behind: Duration,
    /// How late the latest frame was sent.
    pub late: Duration,
}

impl Busy {
    /// A tick is over: how long it took, and whether it left work undone.
    #[inline]
    pub fn tick(&mut self, took: Duration, is_behind: bool) {
        self.watched += took;
        if is_behind {
            self.behind += took;
        }
    }

    /// The share of the time in which it was behind, in whole per cent.
    pub fn percent(&self) -> u32 {
        let share = self.behind.as_secs_f64() / self.watched.as_secs_f64().max(1e-9);
        (share * 100.0) as u32
    }

    /// Whether it never got to the end of its work.
    pub fn is_saturated(&self) -> bool {
        self.watched >= SHORTEST && self.percent() >= SATURATED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Load, Schedule};
    use crate::trial::{Conditions, Counts, Outcome, Reason, Trial, since};
    use crate::{Pace, Receiver, Sender, StreamPlan, Template, Variation};
    use port::{Batch, Port, Slab, memory};
    use wire::{FrameLen, Moment, PacketRate};

    /// A tester whose ticks take 200 ns and 100 ns for each frame, so 9.697 million a second at most
    /// (64 in 6.6 µs), sends for 20 ms over a wire; one frame in so many is lost there.
    fn trial(load: f64, lost_every: u64) -> (Trial, Busy) {
        let slab = Slab::new(1024).unwrap();
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        let (mut out, mut back) = memory::wire(512);
        let plan = StreamPlan {
            id: 1,
            template: Template::default(),
            frame: FrameLen::MIN,
            variation: Variation::NONE,
            seed: 1,
        };
        let (start, duration) = (Moment::from_nanos(1000), Duration::from_millis(20));
        let load = Load::Paced(Pace::of(PacketRate(load)).unwrap());
        let mut sender = Sender::new(plan.build().unwrap(), Schedule { load, start, duration });
        let mut receiver = Receiver::new(start, [sender.stream()]);
        let before = out.counters();
        let (mut now, mut busy, mut n) = (start, Busy::default(), 0u64);
        while !sender.is_done(now) {
            let sent = sender.poll(now, &mut pool, &mut out);
            let is_behind = sent == Batch::CAPACITY && sender.next_due() <= now;
            let took = Duration::from_nanos(200 + 100 * sent as u64);
            now = now + took;
            busy.tick(took, is_behind);
            back.receive(now, &mut pool, &mut batch);
            for frame in batch.drain() {
                n += 1;
                if !n.is_multiple_of(lost_every) {
                    receiver.count(now, pool.slab().bytes(&frame));
                }
                pool.free(frame);
            }
        }
        busy.late = Duration::from_nanos(sender.sent().late_ns_max);
        let ports = [since(before, out.counters())];
        let counts = Counts::gather([sender.sent()], [&receiver], ports);
        let overrun = sender.sent().last.since(start + duration);
        let conditions = Conditions { overrun, busy: Some(busy), ..Conditions::default() };
        (Trial::judge(duration, counts, &conditions), busy)
    }

    #[test]
    fn a_tester_with_no_time_left_says_nothing_of_the_device() {
        const NEVER: u64 = u64::MAX;
        for (load, lost_every, behind, saturated) in [
            // Each tick has something to do, and time is left all the same.
            (1e6, 1000, 0..=0, false),
            (5e6, 1000, 0..=0, false),
            (9e6, 1000, 0..=5, false),
            // All was sent in time, by the last of the tester's strength.
            (9.75e6, 1000, 95..=100, true),
            (9.75e6, NEVER, 95..=100, false),
            // Too late, and that is why.
            (12e6, NEVER, 99..=100, true),
        ] {
            let (trial, busy) = trial(load, lost_every);
            let case = format!("{load}: {busy:?} {trial:?}");
            assert!(behind.contains(&busy.percent()), "{case}");
            match trial.outcome {
                Outcome::Invalid(Reason::Saturated(why)) => {
                    assert!(saturated && why == busy, "{case}")
                }
                Outcome::Fail { lost } => {
                    assert_eq!(
                        (lost, saturated),
                        (trial.counts.sent / lost_every, false),
                        "{case}"
                    );
                }
                outcome => assert_eq!((outcome, saturated), (Outcome::Pass, false), "{case}"),
            }
        }
    }
}
