//! Reasons why a trial is invalid: what the tester, or the machine under it, fell short
//! of, with the numbers that show it.
//!
//! ```text
//!  interrupted ─► more came than there can be ─► the host took processors away ─► other programs
//!   had them ─► a thread stood still ─► the tester's loop had no time left ─► nothing sent ─► too late to tell ─► own ring full
//!   ─► fewer sent than intended ─► sent late ─► cores moved ─► clocks differ
//!                           the first that holds is the reason: causes come before what they cause
//! ```
//!
//! Never looks at what the device lost but to see whether something else explains it.

use super::{Conditions, Counts};
use crate::busy::Busy;
use std::fmt;
use std::time::Duration;

/// The tester's own shortcomings. As in RFC 8219 and NFVbench, they make a trial worthless rather
/// than the device bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing was sent.
    NothingSent,
    /// More came back than was sent.
    CountersDisagree {
        /// What came back.
        received: u64,
        /// How many there can have been.
        most: u64,
    },
    /// By its own counters more or fewer frames left the device than came to the tester's ports, other
    /// frames than the trial's included.
    DeviceDisagrees {
        /// What left it.
        left: u64,
        /// What came.
        came: u64,
    },
    /// Frames came so late that they cannot be told from copies.
    Stale(u64),
    /// The tester's receive ring was full: these frames did come through the device, and are
    /// [many](Counts::tester_lost_little).
    TesterRing(u64),
    /// The tester sent fewer frames than it was to.
    OfferedBelowIntended {
        /// What was sent.
        sent: u64,
        /// What was to be.
        intended: u64,
    },
    /// The last frame left this late, beyond a thousandth of the trial (of a short one more, see
    /// `on_time`): the load was lower.
    Overrun(Duration),
    /// The cores moved apart or together during the trial: a cache line took so many nanoseconds
    /// to go over before, and so many after.
    PlacementChanged(u64, u64),
    /// Two clocks differ by this much, more than a hundredth of the trial.
    ClockStepped(Duration),
    /// The machine's host took its processors away for this long.
    Stolen(Duration),
    /// Other programs had a processor of the trial for so long, of so long.
    Away(Duration, Duration),
    /// A thread of the trial stood still for this long, and what went wrong is no more than that
    /// explains.
    StoodStill(Duration),
    /// The tester's loop had no time left, and something went wrong: whose fault it was nobody knows.
    Saturated(Busy),
    /// The user had enough after this time.
    Interrupted(Duration),
}

impl Reason {
    /// Whether it was the surroundings, not the load: the same trial may do well a moment later.
    pub fn is_disturbance(&self) -> bool {
        matches!(
            self,
            Reason::Stolen(_)
                | Reason::Away(..)
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
            Reason::DeviceDisagrees { left, came } => {
                write!(
                    f,
                    "{left} frames left the device, as it says, and {came} came to the tester"
                )
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
            Reason::Away(away, all) => {
                let percent = 100.0 * away.as_secs_f64() / all.as_secs_f64().max(1e-9);
                write!(
                    f,
                    "other programs had a processor of the trial for {percent:.0}% of its time"
                )
            }
            Reason::StoodStill(time) => {
                write!(f, "a processor of the trial was taken away for {time:?}, which explains it")
            }
            Reason::Saturated(busy) => {
                let (percent, late) = (busy.percent(), busy.late);
                write!(
                    f,
                    "the tester had no time left: it was behind for {percent}% of its time, by up to \
                     {late:?}"
                )
            }
            Reason::Interrupted(after) => {
                let after = Duration::from_millis(after.as_millis() as u64);
                write!(f, "interrupted after {after:?}")
            }
        }
    }
}

/// Near or far: cores whose distance changed by more than this factor have moved. (Measured: 85 to
/// 155 ns near, 420 to 520 ns far; the noise within either is below 2.)
const PLACEMENT_FACTOR: u64 = 2;

/// Two clocks are not read at the same moment: less is no step.
const STEP: Duration = Duration::from_millis(1);

/// Linux counts stolen time in ticks of this length: less cannot be told from one tick.
const STOLEN_TICK: Duration = Duration::from_millis(10);

/// Less than this comes from the system's own work, even in a short trial.
const OTHERS: Duration = Duration::from_millis(1);

/// For so long, at most, a shared machine takes a processor away.
const AWAY: Duration = Duration::from_millis(100);

/// What the machine did to a trial of this length, whatever became of its frames: processors that were
/// taken away or have moved, a clock that was set. It asks for the same conditions as those of trials
/// whose frames are counted, and may be asked of any other measurement.
pub fn disturbance(duration: Duration, conditions: &Conditions) -> Option<Reason> {
    stolen(duration, conditions)
        .or_else(|| away(conditions))
        .or_else(|| moved(conditions))
        .or_else(|| stepped(duration, conditions))
}

fn stolen(duration: Duration, conditions: &Conditions) -> Option<Reason> {
    let stolen = conditions.stolen;
    (stolen > STOLEN_TICK.max(duration / 50)).then_some(Reason::Stolen(stolen))
}

/// Three hundredths: a rate, and a time for each frame, are off by as much at most.
fn away(conditions: &Conditions) -> Option<Reason> {
    let (away, all) = conditions.away?;
    (away > OTHERS.max(all * 3 / 100)).then_some(Reason::Away(away, all))
}

fn moved(conditions: &Conditions) -> Option<Reason> {
    let (before, after) = conditions.placement_ns?;
    let moved = before.max(after) > PLACEMENT_FACTOR * before.min(after);
    moved.then_some(Reason::PlacementChanged(before, after))
}

fn stepped(duration: Duration, conditions: &Conditions) -> Option<Reason> {
    let (steady, wall) = conditions.clocks?;
    let by = steady.abs_diff(wall);
    (by > STEP.max(duration / 100)).then_some(Reason::ClockStepped(by))
}

pub(super) fn shortcoming(
    duration: Duration,
    counts: &Counts,
    conditions: &Conditions,
) -> Option<Reason> {
    let Counts { intended, sent, received, .. } = *counts;
    let (left, came) = conditions.device_says.unwrap_or_default();
    if let Some(after) = conditions.interrupted {
        Some(Reason::Interrupted(after))
    } else if received > sent {
        Some(Reason::CountersDisagree { received, most: sent })
    } else if left != came {
        Some(Reason::DeviceDisagrees { left, came })
    } else if let Some(stolen) = stolen(duration, conditions) {
        // Before what follows from it: rings run over while nobody empties them.
        Some(stolen)
    } else if let Some(away) = away(conditions) {
        Some(away)
    } else if explained(duration, counts, conditions) {
        Some(Reason::StoodStill(conditions.stood_still))
    } else if let Some(busy) = saturated(duration, counts, conditions) {
        Some(Reason::Saturated(busy))
    } else if sent == 0 {
        Some(Reason::NothingSent)
    } else if counts.stale > 0 {
        Some(Reason::Stale(counts.stale))
    } else if !counts.tester_lost_little() {
        Some(Reason::TesterRing(counts.tester_rx_drop))
    } else if sent < intended {
        Some(Reason::OfferedBelowIntended { sent, intended })
    } else if conditions.overrun > on_time(duration) {
        Some(Reason::Overrun(conditions.overrun))
    } else {
        moved(conditions).or_else(|| stepped(duration, conditions))
    }
}

/// How late the last frame may leave: a thousandth of the trial, since by so much at most a load that
/// was asked for is above the one that was offered, and searches narrow no closer. Of trials shorter
/// than 200 ms up to 200 µs, but no more than a hundredth; of short bursts what a tester's tick takes.
fn on_time(duration: Duration) -> Duration {
    let [short, tick] = [200, 10].map(Duration::from_micros);
    (duration / 1000).max(short.min(duration / 100)).max(tick)
}

/// Whether something went wrong, but no more than a thread that stood still explains: what came
/// meanwhile overflowed a ring, and what was caught up on afterwards another; so much too late was
/// the end of it.
fn explained(duration: Duration, counts: &Counts, conditions: &Conditions) -> bool {
    let still = conditions.stood_still;
    // Who stands still for most of a trial is too slow for it, and will be the next time; short ones are
    // over before a processor that was taken away is back.
    if still.is_zero() || still > AWAY.max(duration / 2) {
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
        && conditions.overrun <= duration / 100 + 2 * still
}

/// A loop that never got to the end of its work, where anything went wrong: what it sent in a hurry
/// was no even load, and what it took late may have been lost for that.
fn saturated(duration: Duration, counts: &Counts, conditions: &Conditions) -> Option<Busy> {
    let Counts { intended, sent, received, tester_rx_drop, .. } = *counts;
    let went_wrong = sent < intended
        || received < sent
        || tester_rx_drop > 0
        || conditions.overrun > on_time(duration);
    conditions.busy.filter(|busy| went_wrong && busy.is_saturated())
}
