//! The highest load that a device forwards by a criterion, below what it did at the highest load.
//!
//! ```text
//!  no criterion   no loss, two trials of a fifth of the row's, within 2 %: the table's kpps(0 loss)
//!  a goal         MLRsearch (RFC 9971): loss ratio, exceed ratio and lengths are the goal's
//! ```
//!
//! Whoever runs the trials keeps them for the result.

use super::{BenchError, Plan};
use measure::Trial;
use measure::mlrsearch::MlrSearch;
use measure::procedure::bisect::{Answer, Bisect, Step};
use measure::result::Met;
use measure::trial::Outcome;
use std::time::Duration;
use wire::PacketRate;

/// The longest a search by a goal may take, as often as its full length.
const TRIALS: u32 = 40;

/// The most loads that are tried without a goal.
const LOADS: u32 = 10;

/// Searches; `run` runs a trial of this load and length. None where nothing was forwarded at all.
///
/// # Errors
/// What `run` returns.
pub(super) fn search(
    plan: &Plan,
    (rate, alone): (PacketRate, PacketRate),
    highest: Trial,
    mut run: impl FnMut(PacketRate, Duration) -> Result<Trial, BenchError>,
) -> Result<Option<Met>, BenchError> {
    if rate.0 <= 0.0 {
        return Ok(None);
    }
    // A device may forward more when it is not overloaded.
    let (lowest, most) = (rate * 0.05, PacketRate(alone.0.min(rate.0 * 2.0)));
    let Some(goal) = &plan.criterion else {
        let (precision, short) = (0.02, plan.short());
        let (step, values_max) = (Step::Relative(precision), LOADS);
        let search = Bisect { lowest: lowest.0, highest: most.0, step, verify: 0, values_max };
        let found = search.run(|load| free_of_loss(|| run(PacketRate(load), short)))?;
        let (seconds, percent) = (short.as_secs_f64(), 100.0 * precision);
        let name = format!("throughput[{seconds}s 0 loss, within {percent}%]");
        return Ok(Some(Met { criterion: name, pps: found.best }));
    };
    let mut broken = None;
    let mut trial = |load, duration| match broken {
        // The search is to end, on whatever.
        Some(_) => highest,
        None => run(load, duration).unwrap_or_else(|error| {
            broken = Some(error);
            highest
        }),
    };
    let longest = goal.duration_sum * TRIALS;
    let (goals, warm_up) = (vec![goal.clone()], Duration::ZERO);
    let search = MlrSearch { goals, lowest, highest: most, warm_up, longest, repeats: 2 };
    // The goal was checked, and the loads are a rate and parts of it.
    let found = search.run(&mut trial).map_or(vec![], |found| found.results);
    let lower = found.first().and_then(|result| result.lower);
    let met = Met { criterion: goal.name(), pps: lower.map(|rate| rate.0) };
    broken.map_or(Ok(Some(met)), Err)
}

/// Whether two trials pass; one that is invalid is run once more.
fn free_of_loss<E>(mut trial: impl FnMut() -> Result<Trial, E>) -> Result<Answer, E> {
    let (mut passed, mut invalid) = (0, 0);
    while passed < 2 {
        match trial()?.outcome {
            Outcome::Pass => passed += 1,
            Outcome::Fail { .. } => return Ok(Answer::Fail),
            Outcome::Invalid(_) if invalid == 1 => return Ok(Answer::Tester),
            Outcome::Invalid(_) => invalid += 1,
        }
    }
    Ok(Answer::Pass)
}
