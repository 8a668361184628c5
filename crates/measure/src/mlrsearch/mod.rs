//! MLRsearch (RFC 9971): throughput by several criteria at once, with repeatable results on devices
//! that lose a frame now and then.
//!
//! ```text
//!  goals ─► targets: short trials and wide intervals first, then longer and narrower
//!             │
//!  warm-up ─► three trials, guessed from forwarding rates ─► until every goal is met:
//!             select: which load, how long ─► the measurer's trial ─► classify the load:
//!             │                                                    lower bound, upper bound, or
//!             └──────────────◄─────────────────────────────────────── undecided
//! ```
//!
//! The manager is whoever calls [`MlrSearch::run`], the measurer is the closure it gives, this is
//! the controller: a pure function from trials to the next load and duration. A load is a lower
//! bound for a goal if even the worst further trials could not change that, an upper bound if even
//! the best could not ([`classify`]). The *relevant* upper bound is the smallest, the relevant lower
//! bound the largest below it: a higher load that happened to pass is not believed.
//!
//! Which load is tried next is free (RFC 9971); we try what the reference implementation (PyPI,
//! `MLRsearch` 1.2.1) would, so that its results are ours; a test compares them.
//!
//! A trial that is invalid because the tester fell short is repeated. If it stays so, frames not
//! sent count as lost, as in CSIT, and a bound that rests on them says so.
//!
//! Never runs a trial by itself, never reads a clock: the time it keeps is that of its trials.

// Which bound a load is, by the trials run at it.
pub mod classify;
// What the user wants to know, and the presets that have names.
pub mod goal;
// Loads, on a logarithmic grid.
mod grid;
// Which load to try next.
mod select;

use crate::trial::{Outcome, Reason, Trial};
use classify::{Class, Run, Seconds};
pub use goal::{BadGoal, Goal};
use grid::{At, Grid};
use select::{Bounds, Nomination, Search, Selector, Target};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use wire::PacketRate;

/// What to search for, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct MlrSearch {
    /// What the user wants to know; at least one, no two alike.
    pub goals: Vec<Goal>,
    /// Min Load. No load below is tried.
    pub lowest: PacketRate,
    /// Max Load: the wire's limit, or what the tester's self-test found.
    pub highest: PacketRate,
    /// A first trial at the highest load whose result is thrown away; zero for none.
    pub warm_up: Duration,
    /// The most time all trials together may take.
    pub longest: Duration,
    /// How often an invalid trial is repeated.
    pub repeats: u32,
}

impl Default for MlrSearch {
    /// CSIT's NDR and PDR between 9,001 packets per second and a billion, in 20 minutes.
    fn default() -> MlrSearch {
        MlrSearch {
            goals: vec![Goal::csit_ndr(), Goal::csit_pdr()],
            lowest: PacketRate(9001.0),
            highest: PacketRate(1e9),
            warm_up: Duration::from_secs(1),
            longest: Duration::from_secs(1200),
            repeats: 2,
        }
    }
}

/// The search cannot be made.
#[derive(Clone, Debug, PartialEq)]
pub enum BadSearch {
    /// The lowest load is not above zero, or not below the highest.
    Loads(PacketRate, PacketRate),
    /// There is no goal.
    NoGoal,
    /// This goal is there twice.
    Twice(String),
    /// This goal makes no sense.
    Goal(String, BadGoal),
}

impl fmt::Display for BadSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSearch::Loads(low, high) => write!(
                f,
                "the bounds of the search cross: the lowest load, {} packets per second, is to be \
                 above zero and below the highest, {}",
                low.0, high.0
            ),
            BadSearch::NoGoal => f.write_str("a search needs at least one goal"),
            BadSearch::Twice(name) => write!(f, "the goal {name} is there twice"),
            BadSearch::Goal(name, bad) => write!(f, "goal {name}: {bad}"),
        }
    }
}

impl std::error::Error for BadSearch {}

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// For each goal, in their order.
    pub results: Vec<GoalResult>,
    /// All trials in order, the warm-up and the invalid ones included.
    pub trials: Vec<Tried>,
    /// Why it ended.
    pub ended: Ended,
}

/// A trial and what was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// Trial Load (intended).
    pub load: PacketRate,
    /// Trial Duration (intended).
    pub duration: Duration,
    /// What came of it.
    pub trial: Trial,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every goal is met, or known not to be reachable.
    Done,
    /// The lowest load is an upper bound for a goal that gives up then.
    LowestFails,
    /// The time is spent.
    TimeSpent,
}

/// What is known for one goal. Loads are those of the trials: of one direction, if the measurer's
/// are.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalResult {
    /// Which.
    pub goal: Goal,
    /// The relevant lower bound.
    pub lower: Option<PacketRate>,
    /// The relevant upper bound; none if the highest load is a lower bound.
    pub upper: Option<PacketRate>,
    /// Conditional Throughput: the forwarding rate that the goal's trials at the lower bound reach.
    pub conditional_throughput: Option<PacketRate>,
    /// Whether the bounds are as close as the goal asks for; else the result must be marked.
    pub regular: bool,
    /// Whether the upper bound, or the want of a lower one, rests on frames that the tester could
    /// not send: the device may be better.
    pub tester_limited: bool,
}

impl MlrSearch {
    /// Searches; `measure` runs one trial of this load and duration.
    ///
    /// # Errors
    /// [`BadSearch`]; no trial was run then.
    pub fn run(
        &self,
        measure: impl FnMut(PacketRate, Duration) -> Trial,
    ) -> Result<Found, BadSearch> {
        self.check()?;
        let widths = self.goals.iter().map(|goal| goal.width);
        let grid = Grid::new(self.lowest.0, self.highest.0, widths);
        let mut controller = Controller {
            search: self,
            grid,
            measure,
            loads: BTreeMap::new(),
            trials: Vec::new(),
            spent: 0.0,
        };
        let ended = controller.search();
        let results = self.goals.iter().map(|goal| controller.result(goal)).collect();
        Ok(Found { results, trials: controller.trials, ended })
    }

    /// Whether it can be made: [`run`](Self::run) asks before its first trial.
    ///
    /// # Errors
    /// [`BadSearch`].
    pub fn check(&self) -> Result<(), BadSearch> {
        let (low, high) = (self.lowest.0, self.highest.0);
        if !(low > 0.0 && low < high && high.is_finite()) {
            return Err(BadSearch::Loads(self.lowest, self.highest));
        }
        if self.goals.is_empty() {
            return Err(BadSearch::NoGoal);
        }
        for (i, goal) in self.goals.iter().enumerate() {
            goal.check().map_err(|bad| BadSearch::Goal(goal.name(), bad))?;
            if self.goals[..i].contains(goal) {
                return Err(BadSearch::Twice(goal.name()));
            }
        }
        Ok(())
    }
}

/// The trials at one load.
#[derive(Default)]
struct AtLoad {
    runs: Vec<Run>,
    /// Whether any of them lost frames because they were never sent.
    tester: bool,
}

struct Controller<'a, M> {
    search: &'a MlrSearch,
    grid: Grid,
    measure: M,
    loads: BTreeMap<At, AtLoad>,
    trials: Vec<Tried>,
    /// By all trials so far.
    spent: Seconds,
}

impl<M: FnMut(PacketRate, Duration) -> Trial> Controller<'_, M> {
    fn search(&mut self) -> Ended {
        let chains: Vec<Vec<Target>> =
            self.search.goals.iter().map(|goal| Target::chain(goal, &self.grid)).collect();
        if !self.search.warm_up.is_zero() {
            self.trial(self.grid.last(), self.search.warm_up.as_secs_f64());
            self.loads.clear();
        }
        let (low, high) = self.first_trials(&chains);
        let mut global_width = high - low;
        let selectors = chains.into_iter().map(|chain| Selector::new(chain, low, high));
        let mut selectors: Vec<Selector> = selectors.collect();
        while self.spent < self.search.longest.as_secs_f64() {
            let mut winner: Option<(usize, Nomination)> = None;
            for (i, selector) in selectors.iter_mut().enumerate() {
                let bounds = |target: &Target| bounds(&self.loads, target);
                let search = Search { grid: &self.grid, bounds: &bounds, global_width };
                let Ok(nomination) = selector.nominate(&search) else { return Ended::LowestFails };
                if let Some(nomination) = nomination
                    && winner.as_ref().is_none_or(|(_, best)| nomination.goes_before(best))
                {
                    winner = Some((i, nomination));
                }
            }
            let Some((i, nomination)) = winner else { return Ended::Done };
            self.trial(nomination.load, nomination.seconds);
            if let Some(width) = nomination.width {
                global_width = width;
            }
            let bounds = |target: &Target| bounds(&self.loads, target);
            let search = Search { grid: &self.grid, bounds: &bounds, global_width };
            if let Some(wider) = selectors[i].won(nomination.load, &search) {
                global_width = wider;
            }
        }
        Ended::TimeSpent
    }

    /// Where to begin: the highest load, what came through of it, and what came through of that.
    /// The two last loads tried, the lower first.
    fn first_trials(&mut self, chains: &[Vec<Target>]) -> (At, At) {
        let first = || chains.iter().filter_map(|chain| chain.first());
        let ratio = first().map(|target| target.criterion.loss_ratio).fold(1.0, f64::min);
        let seconds = first().map(|target| target.criterion.trial).fold(0.0, f64::max);
        let width = first().map(|target| target.width).max().unwrap_or(1);
        let top = self.grid.last();
        // If more went out, it would all be lost: so the load that would just meet the ratio.
        let guess = |grid: &Grid, load: At, loss: f64| {
            grid.at_or_below(grid.load(load) * (1.0 - loss) / (1.0 - ratio))
        };
        let loss = self.trial(top, seconds);
        let second = guess(&self.grid, top, loss);
        if second >= top {
            return (top, top);
        }
        let Some(second) = self.grid.place(second, width, Bounds { lower: None, upper: Some(top) })
        else {
            return (top, top);
        };
        let loss = self.trial(second, seconds);
        let third = if loss > ratio {
            let third = guess(&self.grid, second, loss);
            self.grid.place(third, width, Bounds { lower: None, upper: Some(second) })
        } else {
            let bounds = Bounds { lower: Some(second), upper: Some(top) };
            self.grid.place(second + width, width, bounds)
        };
        let Some(third) = third else { return (second, second) };
        self.trial(third, seconds);
        (second.min(third), second.max(third))
    }

    /// Runs a trial, notes it, and returns its loss ratio.
    fn trial(&mut self, at: At, seconds: Seconds) -> f64 {
        let load = PacketRate(self.grid.load(at));
        let duration = Duration::from_secs_f64(seconds);
        let mut repeats = 0;
        let (loss, tester) = loop {
            let trial = (self.measure)(load, duration);
            self.trials.push(Tried { load, duration, trial });
            self.spent += seconds;
            match trial.outcome {
                Outcome::Invalid(_) if repeats < self.search.repeats => repeats += 1,
                Outcome::Invalid(Reason::OfferedBelowIntended { .. }) => {
                    break (loss_ratio(&trial), true);
                }
                // Nothing in such a trial can be believed.
                Outcome::Invalid(_) => break (1.0, true),
                Outcome::Pass | Outcome::Fail { .. } => break (loss_ratio(&trial), false),
            }
        };
        let at_load = self.loads.entry(at).or_default();
        at_load.runs.push(Run { trial: seconds, effective: seconds, loss_ratio: loss });
        at_load.tester |= tester;
        loss
    }

    fn result(&self, goal: &Goal) -> GoalResult {
        let (criterion, width) = (goal.criterion(), self.grid.width(goal.width));
        let found = Target::last_of(goal, &self.grid);
        let Bounds { lower, upper } = bounds(&self.loads, &found);
        let runs = |at: At| self.loads.get(&at).map_or(&[][..], |load| load.runs.as_slice());
        let rate = |at: At| PacketRate(self.grid.load(at));
        let conditional = |at: At| {
            PacketRate(self.grid.load(at) * (1.0 - criterion.conditional_loss_ratio(runs(at))))
        };
        let close = lower.zip(upper).is_some_and(|(lower, upper)| upper - lower <= width);
        let by_tester = upper.and_then(|at| self.loads.get(&at)).is_some_and(|load| load.tester);
        GoalResult {
            goal: goal.clone(),
            lower: lower.map(rate),
            upper: upper.map(rate),
            conditional_throughput: lower.map(conditional),
            regular: close,
            tester_limited: by_tester,
        }
    }
}

/// The relevant bounds for a target.
fn bounds(loads: &BTreeMap<At, AtLoad>, target: &Target) -> Bounds {
    let mut bounds = Bounds::default();
    for (&at, load) in loads {
        match target.criterion.classify(&load.runs) {
            Class::Undecided => {}
            Class::Lower => bounds.lower = Some(at),
            Class::Upper => {
                bounds.upper = Some(at);
                break;
            }
        }
    }
    bounds
}

/// Frames lost and frames never sent, of all that were to be sent; 0 if there were none, so that
/// a search does not stop at too low a load.
fn loss_ratio(trial: &Trial) -> f64 {
    let counts = &trial.counts;
    loss_ratio_of(counts.intended, counts.sent, counts.received)
}

/// The same of what a file says of a trial.
pub fn loss_ratio_of(intended: u64, sent: u64, received: u64) -> f64 {
    let all = sent.max(intended);
    let lost = sent.abs_diff(received).saturating_add(intended.abs_diff(sent));
    if all == 0 { 0.0 } else { lost as f64 / all as f64 }
}

#[cfg(test)]
mod tests;
