//! The highest load that a device forwards by a criterion, below what it did at the highest load.
//!
//! ```text
//!  no criterion   no loss, trials of a fifth of the row's, within 2 %: the table's kpps(0 loss)
//!  a goal         MLRsearch (RFC 9971): loss ratio, exceed ratio and lengths are the goal's
//! ```
//!
//! Whoever runs the trials keeps them for the result.

use super::{BenchError, Plan};
use measure::mlrsearch::MlrSearch;
use measure::result::Met;
use measure::{Search, Trial};
use std::time::Duration;
use wire::PacketRate;

/// The longest a search by a goal may take, as often as its full length.
const TRIALS: u32 = 40;

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
    let mut broken = None;
    let mut trial = |load, duration| match broken {
        // The search is to end, on whatever.
        Some(_) => highest,
        None => run(load, duration).unwrap_or_else(|error| {
            broken = Some(error);
            highest
        }),
    };
    // A device may forward more when it is not overloaded.
    let (lowest, highest) = (rate * 0.05, PacketRate(alone.0.min(rate.0 * 2.0)));
    let met = match &plan.criterion {
        None => {
            let (precision, short) = (0.02, plan.short());
            let search =
                Search { lowest, highest, precision, confirmations: 1, repeats: 1, trials_max: 14 };
            let found = search.run(|load| trial(load, short));
            let (seconds, percent) = (short.as_secs_f64(), 100.0 * precision);
            let name = format!("throughput[{seconds}s 0 loss, within {percent}%]");
            Met { criterion: name, pps: found.rate.map(|rate| rate.0) }
        }
        Some(goal) => {
            let longest = goal.duration_sum * TRIALS;
            let (goals, warm_up) = (vec![goal.clone()], Duration::ZERO);
            let search = MlrSearch { goals, lowest, highest, warm_up, longest, repeats: 2 };
            // The goal was checked, and the loads are a rate and parts of it.
            let found = search.run(&mut trial).map_or(vec![], |found| found.results);
            let lower = found.first().and_then(|result| result.lower);
            Met { criterion: goal.name(), pps: lower.map(|rate| rate.0) }
        }
    };
    broken.map_or(Ok(Some(met)), Err)
}
