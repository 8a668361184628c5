//! One trial: what was sent, what came back, and what that says.
//!
//! ```text
//! senders ─► Counts ◄─ receiver, tester's ports          Conditions (placement, clocks, theft)
//!              └────────────────► judge ◄───────────────────────┘
//!                                   │
//!               Pass · Fail { lost } · Invalid(reason: the tester fell short)
//! ```
//!
//! The order at the end of a trial (RFC 2544 §23): senders stop, the receiver goes on through a
//! quiet time, and only then is anything read. An invalid trial says nothing about the device.
//!
//! Never runs anything; never tolerates loss. Missing: **loss ratios** as a criterion (RFC 9971).

use crate::{Receiver, send::Sent};
use port::PortCounters;
use std::fmt;
use std::time::Duration;
use wire::PacketRate;

/// What went out and what came back, all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames the schedules called for.
    pub intended: u64,
    /// Frames that left the tester's ports.
    pub sent: u64,
    /// First copies that came back whole.
    pub received: u64,
    /// Of these, those that were overtaken.
    pub reordered: u64,
    /// Further copies.
    pub duplicate: u64,
    /// Too late to tell from copies.
    pub stale: u64,
    /// Damaged.
    pub corrupt: u64,
    /// The device's own, and everybody else's.
    pub foreign: u64,
    /// Frames the device delivered and the tester's receive rings had no room for.
    pub tester_rx_drop: u64,
}

impl Counts {
    /// Gathers what senders, receiver and the tester's ports say. `ports` are the counters of all
    /// ports of the tester that took part, over the time of the trial (see [`since`]).
    pub fn gather(
        senders: impl IntoIterator<Item = Sent>,
        receiver: &Receiver,
        ports: impl IntoIterator<Item = PortCounters>,
    ) -> Counts {
        let mut counts = Counts::default();
        for sent in senders {
            counts.intended += sent.intended;
            counts.sent += sent.offered;
        }
        for port in ports {
            counts.sent = counts.sent.saturating_sub(port.tx_drop);
            counts.tester_rx_drop += port.rx_drop;
        }
        let all = receiver.total();
        Counts {
            received: all.received,
            reordered: all.reordered,
            duplicate: all.duplicate,
            stale: all.stale,
            corrupt: all.corrupt,
            foreign: receiver.foreign(),
            ..counts
        }
    }

    /// Frames that were sent and did not come back whole; `None` if more came than were sent.
    pub fn lost(&self) -> Option<u64> {
        self.sent.checked_sub(self.received)
    }
}

/// What a port counted between two readings of its counters.
pub fn since(before: PortCounters, after: PortCounters) -> PortCounters {
    PortCounters {
        rx_packet: after.rx_packet.saturating_sub(before.rx_packet),
        rx_byte: after.rx_byte.saturating_sub(before.rx_byte),
        rx_drop: after.rx_drop.saturating_sub(before.rx_drop),
        tx_packet: after.tx_packet.saturating_sub(before.tx_packet),
        tx_byte: after.tx_byte.saturating_sub(before.tx_byte),
        tx_drop: after.tx_drop.saturating_sub(before.tx_drop),
    }
}

/// Under what conditions a trial ran, as far as whoever ran it looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// How long after the end of its schedule the last frame left.
    pub overrun: Duration,
    /// The distance between the two cores (nanoseconds a cache line takes to go over) before and
    /// after.
    pub placement_ns: Option<(u64, u64)>,
    /// The steady clock's and the wall clock's idea of the trial's length, if both were read.
    pub clocks: Option<(Duration, Duration)>,
    /// What the device says it let through, test frames only.
    pub device_forwarded: Option<u64>,
    /// How long a virtual machine's host kept the processors of the trial for itself, all of them
    /// together.
    pub stolen: Duration,
    /// How long, all in all, a thread of the trial stood still: between two looks at the clock that
    /// its own work does not keep apart.
    pub stood_still: Duration,
}

/// The tester's own shortcomings. As in RFC 8219 and NFVbench, they make a trial worthless rather
/// than the device bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing was sent.
    NothingSent,
    /// More came back than was sent, or than the device let through.
    CountersDisagree {
        /// What came back.
        received: u64,
        /// How many there can have been.
        most: u64,
    },
    /// Frames came so late that they cannot be told from copies.
    Stale(u64),
    /// The tester's receive ring was full: these frames did come through the device.
    TesterRing(u64),
    /// The tester sent fewer frames than it was to.
    OfferedBelowIntended {
        /// What was sent.
        sent: u64,
        /// What was to be.
        intended: u64,
    },
    /// The last frame left this late, beyond a hundredth of the trial: the load was lower.
    Overrun(Duration),
    /// The cores moved apart or together during the trial: a cache line took so many nanoseconds
    /// to go over before, and so many after.
    PlacementChanged(u64, u64),
    /// Two clocks differ by this much, more than a hundredth of the trial.
    ClockStepped(Duration),
    /// The machine's host took its processors away for this long.
    Stolen(Duration),
    /// A thread of the trial stood still for this long, and what went wrong is no more than that
    /// explains.
    StoodStill(Duration),
}

impl Reason {
    /// Whether it was the surroundings, not the load: the same trial may do well a moment later.
    pub fn is_disturbance(&self) -> bool {
        matches!(
            self,
            Reason::Stolen(_)
                | Reason::StoodStill(_)
                | Reason::PlacementChanged(..)
                | Reason::ClockStepped(_)
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::NothingSent => f.write_str("no frame was sent"),
            Reason::CountersDisagree { received, most } => {
                write!(f, "{received} frames received where there can have been {most} at most")
            }
            Reason::Stale(n) => write!(f, "{n} frames came too late to tell them from copies"),
            Reason::TesterRing(n) => write!(f, "the tester's own receive ring lost {n} frames"),
            Reason::OfferedBelowIntended { sent, intended } => {
                write!(f, "the tester sent {sent} frames instead of {intended}")
            }
            Reason::Overrun(by) => write!(f, "the tester finished sending {by:?} too late"),
            Reason::PlacementChanged(before, after) => {
                write!(f, "the cores moved during the trial: {before} ns apart, then {after} ns")
            }
            Reason::ClockStepped(by) => write!(f, "the clocks differ by {by:?}"),
            Reason::Stolen(time) => {
                write!(f, "the machine's host took its processors away for {time:?}")
            }
            Reason::StoodStill(time) => {
                write!(f, "a processor of the trial was taken away for {time:?}, which explains it")
            }
        }
    }
}

/// What a trial says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every frame came back.
    Pass,
    /// So many did not.
    Fail {
        /// Sent and not received.
        lost: u64,
    },
    /// Nothing about the device: the tester fell short.
    Invalid(Reason),
}

/// A trial that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// How long frames were sent (real time), or the device worked (when it is fed from memory).
    pub duration: Duration,
    /// What went out and came back.
    pub counts: Counts,
    /// What that says.
    pub outcome: Outcome,
}

/// Near or far: cores whose distance changed by more than this factor have moved. (Measured: 85 to
/// 155 ns near, 420 to 520 ns far; the noise within either is below 2.)
const PLACEMENT_FACTOR: u64 = 2;

/// Linux counts stolen time in ticks of this length: less cannot be told from one tick.
const STOLEN_TICK: Duration = Duration::from_millis(10);

impl Trial {
    /// Judges a trial: first the tester, then the device.
    pub fn judge(duration: Duration, counts: Counts, conditions: &Conditions) -> Trial {
        let outcome = match shortcoming(duration, &counts, conditions) {
            Some(reason) => Outcome::Invalid(reason),
            None if counts.received == counts.sent => Outcome::Pass,
            None => Outcome::Fail { lost: counts.sent - counts.received },
        };
        Trial { duration, counts, outcome }
    }

    /// Frames that came back whole, by the trial's duration (RFC 2285's forwarding rate).
    pub fn forwarding_rate(&self) -> PacketRate {
        rate(self.counts.received, self.duration)
    }

    /// Frames that were sent, by the trial's duration (RFC 2285's offered load).
    pub fn offered_rate(&self) -> PacketRate {
        rate(self.counts.sent, self.duration)
    }
}

fn rate(frames: u64, duration: Duration) -> PacketRate {
    let seconds = duration.as_secs_f64();
    PacketRate(if seconds > 0.0 { frames as f64 / seconds } else { 0.0 })
}

fn shortcoming(duration: Duration, counts: &Counts, conditions: &Conditions) -> Option<Reason> {
    let Counts { intended, sent, received, .. } = *counts;
    let most = conditions.device_forwarded.unwrap_or(u64::MAX).min(sent);
    let (steady, wall) = conditions.clocks.unwrap_or_default();
    let (before, after) = conditions.placement_ns.unwrap_or_default();
    let moved = before.max(after) > PLACEMENT_FACTOR * before.min(after);
    if received > most {
        Some(Reason::CountersDisagree { received, most })
    } else if conditions.stolen > STOLEN_TICK.max(duration / 50) {
        // Before what follows from it: rings run over while nobody empties them.
        Some(Reason::Stolen(conditions.stolen))
    } else if explained(duration, counts, conditions) {
        Some(Reason::StoodStill(conditions.stood_still))
    } else if sent == 0 {
        Some(Reason::NothingSent)
    } else if counts.stale > 0 {
        Some(Reason::Stale(counts.stale))
    } else if counts.tester_rx_drop > 0 {
        Some(Reason::TesterRing(counts.tester_rx_drop))
    } else if sent < intended {
        Some(Reason::OfferedBelowIntended { sent, intended })
    } else if conditions.overrun > on_time(duration) {
        Some(Reason::Overrun(conditions.overrun))
    } else if moved {
        Some(Reason::PlacementChanged(before, after))
    } else if steady.abs_diff(wall) > duration / 100 {
        Some(Reason::ClockStepped(steady.abs_diff(wall)))
    } else {
        None
    }
}

/// How late the last frame may leave: a hundredth of the trial; of short bursts what a tester's tick
/// takes.
fn on_time(duration: Duration) -> Duration {
    (duration / 100).max(Duration::from_micros(10))
}

/// Whether something went wrong, but no more than a thread that stood still explains: what came
/// meanwhile overflowed a ring, and what was caught up on afterwards another; so much too late was
/// the end of it.
fn explained(duration: Duration, counts: &Counts, conditions: &Conditions) -> bool {
    let still = conditions.stood_still;
    if still.is_zero() {
        return false;
    }
    let rate = counts.intended as f64 / duration.as_secs_f64().max(1e-9);
    let at_most = (2.0 * rate * still.as_secs_f64()) as u64;
    let Counts { intended, sent, received, tester_rx_drop, .. } = *counts;
    let missing = intended.saturating_sub(received).max(tester_rx_drop);
    let late = conditions.overrun > on_time(duration);
    let is_wrong = missing > 0 || late;
    is_wrong
        && received <= sent
        && missing <= at_most
        && conditions.overrun <= on_time(duration) + 2 * still
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(change: impl FnOnce(&mut Counts, &mut Conditions)) -> Outcome {
        let mut counts = Counts { intended: 1000, sent: 1000, received: 1000, ..Counts::default() };
        let mut conditions = Conditions::default();
        change(&mut counts, &mut conditions);
        Trial::judge(Duration::from_secs(1), counts, &conditions).outcome
    }

    #[test]
    fn outcomes() {
        let ms = Duration::from_millis;
        let invalid = Outcome::Invalid;
        let disagree = |received, most| invalid(Reason::CountersDisagree { received, most });
        let below = Reason::OfferedBelowIntended { sent: 1000, intended: 1001 };
        assert_eq!(judged(|_, _| {}), Outcome::Pass);
        assert_eq!(judged(|c, _| c.received = 999), Outcome::Fail { lost: 1 });
        assert_eq!(judged(|c, _| c.received = 0), Outcome::Fail { lost: 1000 });
        assert_eq!(judged(|c, _| (c.duplicate, c.reordered) = (5, 5)), Outcome::Pass);
        assert_eq!(judged(|c, _| c.received = 1001), disagree(1001, 1000));
        assert_eq!(judged(|_, c| c.device_forwarded = Some(990)), disagree(1000, 990));
        assert_eq!(judged(|c, _| *c = Counts::default()), invalid(Reason::NothingSent));
        assert_eq!(judged(|c, _| c.stale = 3), invalid(Reason::Stale(3)));
        assert_eq!(judged(|c, _| c.tester_rx_drop = 1), invalid(Reason::TesterRing(1)));
        assert_eq!(judged(|c, _| c.intended = 1001), invalid(below));
        assert_eq!(judged(|_, c| c.overrun = ms(10)), Outcome::Pass);
        assert_eq!(judged(|_, c| c.overrun = ms(11)), invalid(Reason::Overrun(ms(11))));
        assert_eq!(judged(|_, c| c.placement_ns = Some((85, 155))), Outcome::Pass);
        let moved = invalid(Reason::PlacementChanged(500, 90));
        assert_eq!(judged(|_, c| c.placement_ns = Some((500, 90))), moved);
        assert_eq!(judged(|_, c| c.clocks = Some((ms(1000), ms(1010)))), Outcome::Pass);
        assert_eq!(judged(|_, c| c.stolen = ms(20)), Outcome::Pass);
        let stolen = |c: &mut Counts, o: &mut Conditions| (c.stale, o.stolen) = (1, ms(30));
        assert_eq!(judged(|c, o| stolen(c, o)), invalid(Reason::Stolen(ms(30))));
        // 10 ms of 1000 frames a second, and as many that were caught up on.
        let still = |lost: u64| {
            move |c: &mut Counts, o: &mut Conditions| {
                (c.received, o.stood_still) = (1000 - lost, ms(10));
            }
        };
        assert_eq!(judged(still(0)), Outcome::Pass);
        assert_eq!(judged(still(20)), invalid(Reason::StoodStill(ms(10))));
        assert_eq!(judged(still(21)), Outcome::Fail { lost: 21 }, "more than that explains");
        let late = |c: &mut Counts, o: &mut Conditions| {
            (c.tester_rx_drop, o.overrun, o.stood_still) = (5, ms(30), ms(10));
        };
        assert_eq!(judged(late), invalid(Reason::StoodStill(ms(10))));
        let stepped = invalid(Reason::ClockStepped(ms(100)));
        assert_eq!(judged(|_, c| c.clocks = Some((ms(1000), ms(900)))), stepped);
    }

    #[test]
    fn rfc_2285_example() {
        // Two inputs of 1 Mfps each, one output of 1.4 Mfps: 30 % lost, 1.4 forwarded in all.
        let counts = Counts {
            intended: 2_000_000,
            sent: 2_000_000,
            received: 1_400_000,
            ..Counts::default()
        };
        let trial = Trial::judge(Duration::from_secs(1), counts, &Conditions::default());
        assert_eq!(trial.outcome, Outcome::Fail { lost: 600_000 });
        assert_eq!((trial.offered_rate().0, trial.forwarding_rate().0), (2e6, 1.4e6));
    }

    proptest! {
        /// Whatever was counted: sent = received + lost unless the trial is invalid.
        #[test]
        fn the_sum_holds(intended in 0u64..50, sent in 0u64..50, received in 0u64..50, stale in 0u64..2) {
            let counts = Counts { intended, sent, received, stale, ..Counts::default() };
            let trial = Trial::judge(Duration::from_secs(1), counts, &Conditions::default());
            match trial.outcome {
                Outcome::Pass => prop_assert_eq!(sent, received),
                Outcome::Fail { lost } => prop_assert_eq!(sent, received + lost),
                Outcome::Invalid(_) => prop_assert!(
                    sent == 0 || received > sent || sent < intended || stale > 0
                ),
            }
        }
    }
}
