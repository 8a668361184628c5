//! The highest load that a device forwards by a criterion, below what it did at the highest load.
//!
//! ```text
//!  no criterion   no loss, two trials of a fifth of the row's, within 2 %: the table's kpps(0 loss)
//!  a goal         MLRsearch (RFC 9971): loss ratio, exceed ratio and lengths are the goal's
//! ```
//!
//! Whoever runs the trials keeps them for the result, and repeats those that say nothing. A search by a goal,
//! whose trials are long, ends with what it has when the machine has disturbed all of them at a few loads.

use super::{BenchError, is_disturbed};
use measure::Trial;
use measure::mlrsearch::{Goal, MlrSearch};
use measure::procedure::bisect::{Answer, Bisect, Step};
use measure::result::Met;
use measure::trial::Outcome;
use std::time::Duration;
use wire::PacketRate;

/// The longest a search by a goal may take, as often as its full length.
const TRIALS: u32 = 40;

/// At so many loads a search by a goal finds that the machine disturbs all trials before it ends.
const DISTURBED: u32 = 3;

/// The most loads that are tried without a goal.
const LOADS: u32 = 10;

/// Searches by this goal, or by trials without loss that are so `short`; `run` runs a trial of this load and
/// length. None where nothing was forwarded at all.
///
/// # Errors
/// What `run` returns.
pub(super) fn search(
    (goal, short): (Option<&Goal>, Duration),
    (rate, alone): (PacketRate, PacketRate),
    highest: Trial,
    mut run: impl FnMut(PacketRate, Duration) -> Result<Trial, BenchError>,
) -> Result<Option<Met>, BenchError> {
    if rate.0 <= 0.0 {
        return Ok(None);
    }
    // A device may forward more when it is not overloaded.
    let (lowest, most) = (rate * 0.05, PacketRate(alone.0.min(rate.0 * 2.0)));
    let Some(goal) = goal else {
        let precision = 0.02;
        let (step, values_max) = (Step::Relative(precision), LOADS);
        let search = Bisect { lowest: lowest.0, highest: most.0, step, verify: 0, values_max };
        let found = search.run(|load| free_of_loss(|| run(PacketRate(load), short)))?;
        let (seconds, percent) = (short.as_secs_f64(), 100.0 * precision);
        let name = format!("throughput[{seconds}s 0 loss, within {percent}%]");
        return Ok(Some(Met { criterion: name, pps: found.best }));
    };
    let (mut broken, mut ended, mut disturbed) = (None, None, 0);
    let mut trial = |load, duration| {
        // The search is to end: nothing in a disturbed trial is believed.
        if let Some(last) = ended {
            return last;
        }
        let trial = run(load, duration).unwrap_or_else(|error| {
            broken = Some(error);
            highest
        });
        disturbed += u32::from(is_disturbed(&trial));
        ended = Some(trial).filter(|_| broken.is_some() || disturbed == DISTURBED);
        trial
    };
    let longest = goal.duration_sum * TRIALS;
    let (goals, warm_up) = (vec![goal.clone()], Duration::ZERO);
    let search = MlrSearch { goals, lowest, highest: most, warm_up, longest, repeats: 0 };
    // The goal was checked, and the loads are a rate and parts of it.
    let found = search.run(&mut trial).map_or(vec![], |found| found.results);
    let lower = found.first().and_then(|result| result.lower);
    let met = Met { criterion: goal.name(), pps: lower.map(|rate| rate.0) };
    broken.map_or(Ok(Some(met)), Err)
}

/// Whether two trials pass.
fn free_of_loss<E>(mut trial: impl FnMut() -> Result<Trial, E>) -> Result<Answer, E> {
    for _ in 0..2 {
        match trial()?.outcome {
            Outcome::Pass => {}
            Outcome::Fail { .. } => return Ok(Answer::Fail),
            // Lower loads may be less disturbed, and these trials are short.
            Outcome::Invalid(_) => return Ok(Answer::Tester),
        }
    }
    Ok(Answer::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::trial::{Conditions, Counts};

    /// A device that forwards 1,000 frames a second, on a machine where a thread stands still for 100 ms of
    /// each trial above `calm`.
    fn found(goal: Option<&Goal>, calm: f64) -> (Option<f64>, u32) {
        let second = Duration::from_secs(1);
        let trial = |load: f64, duration: Duration| {
            let (seconds, is_calm) = (duration.as_secs_f64(), load <= calm);
            let sent = (load * seconds).round() as u64;
            let most = (load.min(1000.0) * seconds).round() as u64;
            let received = if is_calm { most } else { most - (load / 20.0).round() as u64 };
            let stood_still = Duration::from_millis(if is_calm { 0 } else { 100 });
            let counts = Counts { intended: sent, sent, received, ..Counts::default() };
            Trial::judge(duration, counts, &Conditions { stood_still, ..Conditions::default() })
        };
        let (rate, mut trials) = (PacketRate(900.0), 0);
        let run = |load: PacketRate, duration| {
            trials += 1;
            Ok(trial(load.0, duration))
        };
        let highest = trial(5000.0, second);
        let found = search((goal, second), (rate, PacketRate(5000.0)), highest, run);
        (found.unwrap().and_then(|met| met.pps), trials)
    }

    #[test]
    fn what_the_machine_disturbs_is_no_loss_of_the_device() {
        let goal = Goal { width: 0.02, ..Goal::mikrotik() };
        for (goal, calm, at_least, at_most) in [
            (None, f64::MAX, 980.0, 1000.0),
            (Some(&goal), f64::MAX, 975.0, 1000.0),
            (None, 800.0, 700.0, 800.0),
            // It ends with what passed before.
            (Some(&goal), 800.0, 0.0, 800.0),
        ] {
            let (pps, trials) = found(goal, calm);
            let pps = pps.unwrap_or(0.0);
            assert!((at_least..=at_most).contains(&pps), "{goal:?} {calm}: {pps} of {trials}");
            assert!(trials < 30, "{goal:?} {calm}: {trials}");
        }
        let (pps, trials) = found(None, 0.0);
        assert!(pps.is_none() && trials <= LOADS, "{pps:?} of {trials}");
    }
}
