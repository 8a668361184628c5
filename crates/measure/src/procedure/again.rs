//! A throughput that frame loss trials contradict is asked for once more.
//!
//! ```text
//!  frame loss ─► highest load without loss ─┐ clearly above it:    that load in full length, and
//!                                           │                      up from there if it passes
//!                lowest load with loss ─────┴ clearly below it:    the throughput's own load once
//!                                                                  more, and down if it fails now
//! ```
//!
//! A search believes each trial (RFC 2544 §26.1), and a single frame that somebody else lost sends it
//! below a load that the device carries. Trials of at least the same length (§24) that say otherwise
//! are reason enough to look again: once, and whatever comes of it stands.
//!
//! Never asks by goals that weigh trials against each other (RFC 9971): they do so by themselves.

use super::frame_loss::LossPoint;
use super::throughput::{Bisection, Throughput, below, bisection};
use super::{Run, Stop};
use crate::procedure::bisect::Bound;
use crate::trial::Outcome;
use std::fmt;
use wire::PacketRate;

/// Rates this close are one: searches end at a per cent or two.
pub const CLOSE: f64 = 0.03;

/// What frame loss trials, as long as the one that confirms a throughput, saw of the same device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// The highest load of which nothing was lost, from each port.
    pub free: Option<PacketRate>,
    /// The lowest load of which something was.
    pub lossy: Option<PacketRate>,
}

impl Seen {
    /// Of these; invalid ones say nothing.
    pub fn of(points: &[LossPoint]) -> Seen {
        let loads = |lost: bool| {
            let valid = points.iter().filter(|point| !point.invalid);
            valid.filter(move |point| (point.lost > 0) == lost).map(|point| point.load)
        };
        Seen {
            free: loads(false).reduce(f64::max).map(PacketRate),
            lossy: loads(true).reduce(f64::min).map(PacketRate),
        }
    }
}

/// Why a throughput was asked for again, and what came of it. Rates are from each port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Again {
    /// A higher load passed: the search went on from there.
    Higher {
        /// What was found at first, if anything.
        first: Option<PacketRate>,
        /// That load.
        free: PacketRate,
    },
    /// What was found at first failed: the search went on below it.
    Lower {
        /// What was found at first.
        first: PacketRate,
        /// The lower load of which frames were lost.
        lossy: PacketRate,
    },
    /// It was asked at this load, and the answer was the search's.
    Stands(PacketRate),
    /// It was asked at this load, and there was no answer: the tester fell short, or was disturbed.
    Unknown(PacketRate),
}

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Again::Higher { first, free } => {
                let first =
                    first.map_or("nothing".to_string(), |rate| format!("{:.0} fps", rate.0));
                write!(
                    f,
                    "asked again: the search found {first}, and a frame loss trial lost nothing at \
                     {:.0} fps; that load passed in full length, and the search went on from there",
                    free.0
                )
            }
            Again::Lower { first, lossy } => write!(
                f,
                "asked again: the search found {:.0} fps, and a frame loss trial lost frames at \
                 {:.0} fps; the load found failed this time, and the search went on below it",
                first.0, lossy.0
            ),
            Again::Stands(at) => write!(
                f,
                "asked again at {:.0} fps, since frame loss trials say otherwise: it stands",
                at.0
            ),
            Again::Unknown(at) => write!(
                f,
                "asked again at {:.0} fps, since frame loss trials say otherwise: no answer, that \
                 trial was invalid; which of them is right is not known",
                at.0
            ),
        }
    }
}

impl Again {
    /// What a trial at a load that changes nothing says.
    fn kept(outcome: Outcome, at: PacketRate) -> Again {
        match outcome {
            Outcome::Invalid(_) => Again::Unknown(at),
            Outcome::Pass | Outcome::Fail { .. } => Again::Stands(at),
        }
    }
}

/// [`bisection`], and once more if what frame loss trials saw contradicts it.
///
/// # Errors
/// [`Stop`].
pub fn contradicted(
    run: &mut Run<'_>,
    search: &Bisection,
    seen: &Seen,
) -> Result<(Throughput, Option<Again>), Stop> {
    let found = bisection(run, search)?;
    let first = found.rate;
    let rate = first.unwrap_or_default().0;
    let free = seen.free.map(|free| free.0.min(search.highest.0));
    if let Some(free) = free.filter(|free| *free > rate * (1.0 + CLOSE)) {
        let free = PacketRate(free);
        let outcome = ask(run, search, free)?;
        if outcome != Outcome::Pass {
            return Ok((found, Some(Again::kept(outcome, free))));
        }
        let above = bisection(run, &Bisection { lowest: free, ..*search })?;
        // It passed twice in full length, whatever a short trial says of it now.
        let rate = above.rate.or(Some(free));
        return Ok((Throughput { rate, ..above }, Some(Again::Higher { first, free })));
    }
    let lossy = seen.lossy.filter(|lossy| lossy.0 < rate * (1.0 - CLOSE));
    let Some((first, lossy)) = first.zip(lossy) else { return Ok((found, None)) };
    let outcome = ask(run, search, first)?;
    if !matches!(outcome, Outcome::Fail { .. }) {
        return Ok((found, Some(Again::kept(outcome, first))));
    }
    let highest = PacketRate(below(rate, search.precision));
    let mut lower = bisection(run, &Bisection { highest, ..*search })?;
    if lower.bound == Bound::Highest {
        // Just below a load that failed: that is the reason.
        (lower.above, lower.bound, lower.regular) = (Some(first), Bound::Loss, true);
    }
    Ok((lower, Some(Again::Lower { first, lossy })))
}

/// A trial of full length; one that lost frames again, as often as the search asks any.
fn ask(run: &mut Run<'_>, search: &Bisection, load: PacketRate) -> Result<Outcome, Stop> {
    let mut outcome = run.steady(load, search.confirmation)?.trial.outcome;
    for _ in 0..search.verify {
        if matches!(outcome, Outcome::Fail { .. }) {
            outcome = run.steady(load, search.confirmation)?.trial.outcome;
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedure::tests::simulated::{STEADY, Simulated};
    use crate::procedure::{Measurer, TrialInput, TrialOutput};
    use std::time::Duration;

    const SEARCH: Bisection = Bisection {
        lowest: PacketRate(1000.0),
        highest: PacketRate(1_488_095.0),
        precision: 0.001,
        trial: Duration::from_secs(1),
        confirmation: Duration::from_secs(60),
        verify: 0,
    };

    /// A device, and what others do to it: in each trial, by its number, it has a capacity of its
    /// own, or loses a frame that it should not have.
    struct Odd<F>(Simulated, F);

    impl<F: FnMut(u64) -> (f64, bool)> Measurer for Odd<F> {
        fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop> {
            let (capacity, flakes) = (self.1)(self.0.n + 1);
            self.0.capacity = capacity;
            self.0.flake = u64::from(flakes);
            self.0.trial(input)
        }
    }

    fn run(
        seen: Seen,
        trials: impl FnMut(u64) -> (f64, bool),
    ) -> (Throughput, Option<Again>, usize) {
        let mut device = Odd(STEADY, trials);
        let mut run = Run::new(&mut device);
        let (found, again) = contradicted(&mut run, &SEARCH, &seen).unwrap();
        (found, again, run.journal.len())
    }

    fn seen(free: f64, lossy: f64) -> Seen {
        Seen { free: Some(PacketRate(free)), lossy: Some(PacketRate(lossy)) }
    }

    #[test]
    fn a_frame_lost_by_others_does_not_decide() {
        // The second trial, at half the medium's rate, loses a frame.
        let unlucky = |n| (1e6, n == 2);
        let (low, again, n) = run(Seen::default(), unlucky);
        assert!((740e3..745e3).contains(&low.rate.unwrap().0) && again.is_none(), "{low:?}");
        let (found, again, _) = run(seen(9e5, 1.1e6), unlucky);
        assert!((999e3..=1e6).contains(&found.rate.unwrap().0), "{found:?}");
        assert_eq!(again, Some(Again::Higher { first: low.rate, free: PacketRate(9e5) }));
        assert_eq!((found.bound, found.metric), (Bound::Loss, low.metric.clone()));
        // Whatever fails after that load has passed in full length, it has.
        let (found, ..) = run(seen(9e5, 1.1e6), |k| (1e6, k == 2 || k > n as u64 + 1));
        assert!(found.rate.is_some_and(|rate| rate.0 >= 9e5 * 0.99), "{found:?}");
        // It was luck: one trial more, and the throughput is what it was.
        let (found, again, asked) = run(seen(9e5, 1.1e6), |k| (1e6, k == 2 || k == n as u64 + 1));
        assert_eq!((found, asked), (low, n + 1));
        assert_eq!(again, Some(Again::Stands(PacketRate(9e5))));
        // Nothing at all was found: every trial of the search loses a frame.
        let (none, again, n) = run(Seen::default(), |_| (1e6, true));
        assert_eq!((none.rate, again), (None, None));
        let (found, again, _) = run(seen(9e5, 1.1e6), |k| (1e6, k <= n as u64));
        assert!(found.rate.is_some_and(|rate| rate.0 > 999e3), "{found:?} {again:?}");
    }

    #[test]
    fn what_fits_is_not_asked_again() {
        let (alone, _, n) = run(Seen::default(), |_| (1e6, false));
        for seen in [seen(9e5, 1.1e6), seen(1.02e6, 9.9e5), Seen::default()] {
            assert_eq!(run(seen, |_| (1e6, false)), (alone.clone(), None, n), "{seen:?}");
        }
        // Once more at the most, whatever is contradicted then.
        let (found, again, asked) = run(seen(1.4e6, 2e5), |_| (1e6, false));
        assert_eq!((found, asked, again), (alone, n + 1, Some(Again::Stands(PacketRate(1.4e6)))));
    }

    #[test]
    fn loss_below_it_is_looked_at() {
        let (high, _, n) = run(Seen::default(), |_| (1.2e6, false));
        let first = high.rate.unwrap();
        // The device was better while it was searched than it is otherwise.
        let (found, again, _) =
            run(seen(9e5, 1.05e6), |k| (if k <= n as u64 { 1.2e6 } else { 1e6 }, false));
        assert!((999e3..=1e6).contains(&found.rate.unwrap().0), "{found:?}");
        assert_eq!(again, Some(Again::Lower { first, lossy: PacketRate(1.05e6) }));
        // It is as good as it was found to be: that loss was somebody else's.
        let (found, again, asked) = run(seen(9e5, 1.05e6), |_| (1.2e6, false));
        assert_eq!((found, again, asked), (high, Some(Again::Stands(first)), n + 1));
    }

    #[test]
    fn no_answer_confirms_nothing() {
        // The tester sends no more than that: what is above stays invalid.
        let mut device = Simulated { tester: 8e5, ..STEADY };
        let mut run = Run::new(&mut device);
        let (found, again) = contradicted(&mut run, &SEARCH, &seen(9e5, 1.1e6)).unwrap();
        assert_eq!(found.bound, Bound::Tester, "{found:?}");
        assert_eq!(again, Some(Again::Unknown(PacketRate(9e5))));
    }

    #[test]
    fn what_was_seen() {
        let point = |load: f64, lost: u64, invalid: bool| LossPoint {
            load_percent: load,
            load,
            loss_percent: lost as f64,
            sent: 100,
            lost,
            invalid,
        };
        let points = [
            point(100.0, 5, true),
            point(90.0, 5, false),
            point(80.0, 1, false),
            point(70.0, 0, true),
            point(60.0, 0, false),
            point(50.0, 0, false),
        ];
        assert_eq!(Seen::of(&points), seen(60.0, 80.0));
        assert_eq!(Seen::of(&points[..1]), Seen::default());
    }
}
