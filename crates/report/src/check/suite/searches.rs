//! Throughputs against the searches that found them.
//!
//! ```text
//!  trials of a cell  │ warm-up, all goals together (RFC 9971) │ a bisection │ the next │ …
//!                                                             └ each begins with the highest load
//!  throughput[rfc2544 60s 0 loss]         the highest load that passed in full length
//!  throughput[csit-pdr 1s/21s 0.5% …]     the relevant lower bound, by all trials at each load
//!    upper bound …, conditional …         the relevant upper bound, and what comes through at the lower
//! ```
//!
//! Where one search ends is not in the file: a figure is wrong if, however they are parted, the trials
//! are not those of a search that found it. What an invalid trial was counted for is not there either:
//! loads that have one may be any bound.

use super::figures::{close, value};
use measure::mlrsearch::classify::{Class, Criterion, Run};
use measure::mlrsearch::{Goal, loss_ratio_of};
use measure::suite_result::{Cell, Figure, TrialRecord};
use std::collections::BTreeMap;

/// Checks a cell.
pub(super) fn check(cell: &Cell, wrong: &mut impl FnMut(String)) {
    let trials: Vec<&TrialRecord> = cell.trials.iter().filter(|t| t.kind == "steady").collect();
    if cell.procedure != "throughput" || trials.is_empty() {
        return;
    }
    let named = |name: &str| cell.figures.iter().any(|figure| figure.name == name);
    for figure in &cell.figures {
        let beside = BESIDE.iter().find_map(|start| figure.name.strip_prefix(start));
        if let Some(of) = beside.filter(|of| !named(of)) {
            wrong(format!("{}: there is no {of}", figure.name));
        }
    }
    let goals = cell.figures.iter();
    let goals: Vec<(&Figure, Criterion)> =
        goals.filter_map(|one| Some((one, Goal::criterion_named(&one.name)?))).collect();
    let bisections = cell.figures.iter().filter(|one| length(&one.name).is_some());
    let bisections: Vec<&Figure> = bisections.collect();
    let highest = trials.iter().map(|trial| trial.load).fold(0.0, f64::max);
    let begins = (0..trials.len()).filter(|&i| close(trials[i].load, highest));
    let begins: Vec<usize> = begins.chain([trials.len()]).take(BEGINS_MAX).collect();
    // Where the goals' trials may end: with the fewest of the goals not met.
    let ends: Vec<usize> = match (goals.is_empty(), bisections.is_empty()) {
        (true, _) => vec![0],
        (false, true) => vec![trials.len()],
        (false, false) => begins.iter().copied().filter(|end| *end > 0).collect(),
    };
    let of_goals = |end: usize| -> Vec<String> {
        let loads = by_load(&trials[..end]);
        goals.iter().filter_map(|(one, goal)| not_of_goal(cell, one, *goal, &loads)).collect()
    };
    let misfits: Vec<(usize, Vec<String>)> = ends.iter().map(|&end| (end, of_goals(end))).collect();
    let fewest = misfits.iter().map(|(_, told)| told.len()).min().unwrap_or(0);
    let best = || misfits.iter().filter(|(_, told)| told.len() == fewest);
    best().next_back().into_iter().flat_map(|(_, told)| told.clone()).for_each(&mut *wrong);
    let mut from: Vec<usize> = best().map(|(end, _)| *end).collect();
    for (i, figure) in bisections.iter().enumerate() {
        let is_last = i + 1 == bisections.len();
        let fits = |from: usize, to: usize| {
            from < to && not_of_bisection(cell, figure, &trials[from..to]).is_none()
        };
        let to = begins.iter().copied().filter(|to| !is_last || *to == trials.len());
        let to: Vec<usize> = to.filter(|&to| from.iter().any(|&from| fits(from, to))).collect();
        if to.is_empty() && begins.len() < BEGINS_MAX {
            let rest = &trials[from.first().copied().unwrap_or(0)..];
            let why = not_of_bisection(cell, figure, rest).unwrap_or_else(|| {
                "it is not what any of the searches in its trials found".to_string()
            });
            return wrong(format!("{}: {why}", figure.name));
        }
        from = to;
    }
}

/// What stands beside the throughput of a goal, by the beginning of its name.
const BESIDE: [&str; 2] = ["upper bound ", "conditional "];

/// The most places looked at where a search may begin: a search has a few trials of the highest load.
const BEGINS_MAX: usize = 300;

/// Of a bisection's name, how long the trial is that decides: `throughput[rfc2544 60s 0 loss]`.
fn length(name: &str) -> Option<f64> {
    let starts = ["throughput[rfc2544 ", "throughput[tst009 "];
    let inside = starts.iter().find_map(|start| name.strip_prefix(start))?;
    let (seconds, rest) = inside.split_once("s 0 loss")?;
    seconds.parse().ok().filter(|_| rest == "]" || rest.starts_with(" verified "))
}

/// A load that passed, at full length, and no higher one that did.
fn not_of_bisection(cell: &Cell, figure: &Figure, trials: &[&TrialRecord]) -> Option<String> {
    let rate = figure.value?;
    let longest = trials.iter().map(|trial| trial.duration).fold(0.0, f64::max);
    // A length that none has is told of by itself.
    let full = length(&figure.name).map_or(longest, |named| named.min(longest)) * 0.999;
    let full = || trials.iter().filter(move |trial| trial.duration >= full);
    let passed = || full().filter(|trial| trial.outcome == "pass").map(|trial| trial.load);
    if !passed().any(|load| close(load, rate)) {
        return Some(format!("no trial passed at {rate:.0} fps in full length"));
    }
    // What passed, and was asked again and failed, is above the result; so is what passed before that.
    let asked_again = format!("{}: asked again", figure.name);
    if cell.remarks.iter().any(|remark| remark.starts_with(&asked_again)) {
        return None;
    }
    let failed = |load: f64| full().any(|t| t.outcome == "fail" && close(t.load, load));
    let best = passed().filter(|load| !failed(*load)).fold(0.0, f64::max);
    (best > rate && !close(best, rate))
        .then(|| format!("{rate:.0} fps, and a trial of the same length lost nothing at {best:.0}"))
}

/// The trials at one load.
#[derive(Default)]
struct AtLoad {
    runs: Vec<Run>,
    /// Whether it has an invalid one: it may have been counted, or repeated.
    unknown: bool,
}

impl AtLoad {
    /// `None` where it may be any.
    fn class(&self, goal: &Criterion) -> Option<Class> {
        (!self.unknown).then(|| goal.classify(&self.runs))
    }
}

/// All but the warm-up, which comes first; by the bits of the load, which ascend with it.
fn by_load(trials: &[&TrialRecord]) -> BTreeMap<u64, AtLoad> {
    let mut loads: BTreeMap<u64, AtLoad> = BTreeMap::new();
    for (i, trial) in trials.iter().enumerate() {
        if trial.is_valid() && i == 0 {
            continue;
        }
        let at = loads.entry(trial.load.max(0.0).to_bits()).or_default();
        let TrialRecord { duration, intended, sent, received, .. } = **trial;
        let loss_ratio = loss_ratio_of(intended, sent, received);
        at.runs.push(Run { trial: duration, effective: duration, loss_ratio });
        at.unknown |= !trial.is_valid();
    }
    loads
}

/// Why the bounds that are told are not those of a goal: an exceed ratio that its name rounds may be a
/// little more, or less.
fn not_of_goal(
    cell: &Cell,
    figure: &Figure,
    goal: Criterion,
    loads: &BTreeMap<u64, AtLoad>,
) -> Option<String> {
    let exact = not_bounds(cell, figure, &goal, loads)?;
    let percent = goal.exceed_ratio * 100.0;
    let is_rounded = (percent * 1e4 - (percent * 1e4).round()).abs() > 1e-6;
    let other = [-1e-9, 1e-9].map(|by| Criterion { exceed_ratio: goal.exceed_ratio + by, ..goal });
    let fits =
        is_rounded && other.iter().any(|goal| not_bounds(cell, figure, goal, loads).is_none());
    (!fits).then(|| format!("{}: {exact}", figure.name))
}

fn not_bounds(
    cell: &Cell,
    figure: &Figure,
    goal: &Criterion,
    loads: &BTreeMap<u64, AtLoad>,
) -> Option<String> {
    let all = || loads.iter().map(|(bits, at)| (f64::from_bits(*bits), at.class(goal)));
    let [upper, conditional] = BESIDE.map(|start| value(cell, &format!("{start}{}", figure.name)));
    let is = |class: Class| move |(_, of): &(f64, Option<Class>)| *of == Some(class);
    let Some(lower) = figure.value else {
        // Below the first that may be an upper bound.
        let first = all().find(|(_, of)| matches!(of, None | Some(Class::Upper)));
        let first = first.map_or(f64::INFINITY, |(load, _)| load);
        let met = all().find(|one| is(Class::Lower)(one) && one.0 < first);
        return met.map(|(load, _)| format!("no load met it, and by its trials {load:.0} fps did"));
    };
    let told = [(lower, Class::Lower, "lower"), (upper.unwrap_or(0.0), Class::Upper, "upper")];
    for (load, class, what) in told.into_iter().filter(|(load, ..)| *load > 0.0) {
        let Some((_, of)) = all().find(|(tried, _)| close(*tried, load)) else {
            return Some(format!("no trial was of {load:.0} fps, its {what} bound"));
        };
        if of.is_some_and(|of| of != class) {
            return Some(format!("by its trials {load:.0} fps is no {what} bound"));
        }
    }
    let (above, below) = (lower * (1.0 + 1e-6), lower * (1.0 - 1e-6));
    if let Some(upper) = upper.filter(|upper| *upper <= above) {
        return Some(format!("the upper bound, {upper:.0} fps, is not above {lower:.0}"));
    }
    // Files that tell no upper bound have none, if they tell what comes through.
    let end = upper.or(conditional.map(|_| f64::INFINITY)).map_or(below, |end| end * (1.0 - 1e-6));
    if let Some((load, _)) = all().find(|one| is(Class::Upper)(one) && one.0 < end) {
        return Some(format!("by its trials {load:.0} fps is an upper bound"));
    }
    let higher = all().find(|one| is(Class::Lower)(one) && one.0 > above && one.0 < end);
    if let Some((load, _)) = higher {
        return Some(format!(
            "by its trials {load:.0} fps is a lower bound, and {lower:.0} is told"
        ));
    }
    let at = loads.iter().find(|(bits, _)| close(f64::from_bits(**bits), lower));
    let runs = &at.map(|(_, at)| at).filter(|at| !at.unknown)?.runs;
    let exact = lower * (1.0 - goal.conditional_loss_ratio(runs));
    let said = conditional.filter(|said| !close(*said, exact))?;
    Some(format!("{said:.0} fps come through of {lower:.0}, and by its trials {exact:.0}"))
}

#[cfg(test)]
mod tests;
