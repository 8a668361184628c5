//! Throughput: the highest load that the device forwards by a stated criterion.
//!
//! ```text
//!  bisection      short trials narrow the interval ─► one of full length confirms (RFC 2544 §24)
//!                                                      └ fails: full-length trials from there on
//!  verified       a lossy trial is asked again before it is believed       (ETSI TST 009)
//!  goals          several criteria at once                                  (RFC 9971)
//! ```
//!
//! A result's name carries its criterion with the durations that were really used:
//! `throughput[rfc2544 60s 0 loss]`; of a quick run it is `throughput[rfc2544 0.2s 0 loss]`.

use super::bisect::{Answer, Bisect, Step};
use super::{Run, Stop, TrialOutput, seconds};
use crate::mlrsearch::{BadSearch, Ended, MlrSearch};
use crate::procedure::bisect::Bound;
use crate::trial::{Outcome, Trial};
use std::time::Duration;
use wire::PacketRate;

/// What one criterion gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// The metric's name, criterion included.
    pub metric: String,
    /// Frames per second from each port; none if no load met the criterion.
    pub rate: Option<PacketRate>,
    /// The lowest load known not to meet it.
    pub above: Option<PacketRate>,
    /// What comes through at that load, if the criterion allows loss (RFC 9971's conditional
    /// throughput).
    pub conditional: Option<PacketRate>,
    /// What kept it from being higher.
    pub bound: Bound,
    /// Whether the result is as close as was asked for; if not it must be marked.
    pub regular: bool,
    /// Whether the search ended early because trials stayed disturbed: the rate is what passed
    /// before.
    pub disturbed: bool,
}

/// RFC 2544 §26.1 by bisection, and TST 009's variant of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bisection {
    /// No load below this is tried.
    pub lowest: PacketRate,
    /// Tried first: the medium's limit, or the tester's.
    pub highest: PacketRate,
    /// How close pass and fail are to be, as a share of the load.
    pub precision: f64,
    /// The length of the trials that narrow.
    pub trial: Duration,
    /// The length of the trial that decides (RFC 2544 §24: 60 seconds).
    pub confirmation: Duration,
    /// How often a lossy trial is asked again (TST 009: up to 2; RFC 2544: never).
    pub verify: u32,
}

/// The most loads tried: enough for any precision above a billionth.
const LOADS_MAX: u32 = 60;

/// RFC 2544 §26.1: the highest load at which every frame came back in a trial of full length.
///
/// # Errors
/// [`Stop`].
pub fn bisection(run: &mut Run<'_>, search: &Bisection) -> Result<Throughput, Stop> {
    let preset = if search.verify > 0 { "tst009" } else { "rfc2544" };
    let verified = match search.verify {
        0 => String::new(),
        n => format!(" verified {n}x"),
    };
    let metric = format!("throughput[{preset} {} 0 loss{verified}]", seconds(search.confirmation));
    let bisect = Bisect {
        lowest: search.lowest.0,
        highest: search.highest.0,
        step: Step::Relative(search.precision),
        verify: search.verify,
        values_max: LOADS_MAX,
    };
    let short = search.trial.min(search.confirmation);
    let mut found = bisect.run(|load| Ok(answer(&run.steady(PacketRate(load), short)?)))?;
    if short < search.confirmation
        && let Some(best) = found.best
    {
        let mut full = |load| Ok(answer(&run.steady(PacketRate(load), search.confirmation)?));
        // The one load first; only if the short trials were wrong, again from below it.
        let confirm = Bisect { lowest: best, highest: best, ..bisect };
        let confirmed = confirm.run(&mut full)?;
        if confirmed.disturbed {
            // What short trials found is no result.
            (found.best, found.disturbed) = (None, true);
        } else if confirmed.best.is_none() {
            let below = Bisect { highest: below(best, search.precision), ..bisect };
            found = below.run(&mut full)?;
            // The highest there was just below a load that failed: that is the reason.
            (found.ceiling, found.bound) = match found.bound {
                Bound::Highest => (Some(best), confirmed.bound),
                bound => (found.ceiling, bound),
            };
        }
    }
    Ok(Throughput {
        metric,
        rate: found.best.map(PacketRate),
        above: found.ceiling.map(PacketRate),
        conditional: None,
        bound: found.bound,
        regular: matches!(found.bound, Bound::Loss),
        disturbed: found.disturbed,
    })
}

pub(super) fn below(load: f64, precision: f64) -> f64 {
    load * (1.0 - precision)
}

pub(super) fn answer(output: &TrialOutput) -> Answer {
    match output.trial.outcome {
        Outcome::Pass => Answer::Pass,
        Outcome::Fail { .. } => Answer::Fail,
        Outcome::Invalid(reason) if reason.is_disturbance() => Answer::Disturbed,
        Outcome::Invalid(_) => Answer::Tester,
    }
}

/// Throughput by the goals of RFC 9971, one result each.
///
/// # Errors
/// [`Stop`].
///
/// # Panics
/// If the search cannot be: its goals and bounds are to be checked before ([`check`]).
pub fn goals(run: &mut Run<'_>, search: &MlrSearch) -> Result<Vec<Throughput>, Stop> {
    let mut stopped = None;
    let mut last: Option<Trial> = None;
    let found = search.run(|load, duration| {
        if let (Some(_), Some(trial)) = (&stopped, last) {
            return trial; // nothing is run any more; the search ends on what it has
        }
        // What the tester cannot do the search repeats by itself.
        match run.undisturbed(super::TrialInput::Steady { load, duration, tag: None }) {
            Ok(output) => {
                last = Some(output.trial);
                output.trial
            }
            Err(stop) => {
                stopped = Some(stop);
                let nothing = Trial::judge(duration, Default::default(), &Default::default());
                *last.get_or_insert(nothing)
            }
        }
    });
    if let Some(stop) = stopped {
        return Err(stop);
    }
    let found = found.unwrap_or_else(|bad| panic!("a search that was not checked: {bad}"));
    let spent = found.ended == Ended::TimeSpent;
    let results = found.results.into_iter().map(|result| Throughput {
        metric: result.goal.name(),
        rate: result.lower,
        above: result.upper,
        conditional: result.conditional_throughput,
        bound: match (result.upper, result.tester_limited) {
            (Some(_), true) => Bound::Tester,
            (None, _) if !spent => Bound::Highest,
            _ if spent && !result.regular => Bound::TrialsSpent,
            _ => Bound::Loss,
        },
        regular: result.regular,
        disturbed: false,
    });
    Ok(results.collect())
}

/// Whether [`goals`] can be searched for.
///
/// # Errors
/// [`BadSearch`] says why not.
pub fn check(search: &MlrSearch) -> Result<(), BadSearch> {
    search.check()
}
