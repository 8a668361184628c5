//! Selection of the next load, for one goal; the controller takes the best proposal of all goals.
//!
//! ```text
//!  goal ─► a chain of targets    sum 1 s, width ×4 ─► sum 4.6 s, width ×2 ─► sum 21 s, width ×1
//!
//!  at each target, in this order, the first that is worth a trial:
//!    halve      the interval the last target left, if one cut is enough
//!    refine     its lower end, then its upper end, with this target's trials
//!    extend     downwards or upwards, where a bound is missing, each time farther
//!    bisect     between the bounds; or extend from an end, if that is less far than the middle
//!  nothing is: on to the next target, and after the last the goal is met
//! ```

use super::Goal;
use super::classify::{Criterion, Seconds};
use super::grid::{At, Grid, Width, middle};

/// A goal, or a step on the way to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) criterion: Criterion,
    pub(super) width: Width,
    expansion: i64,
    fail_fast: bool,
}

impl Target {
    /// The targets of a goal, the easiest first; the last is the goal itself. Each has half the
    /// width of the one before, and the duration sums grow by the same factor each time.
    pub(super) fn chain(goal: &Goal, grid: &Grid) -> Vec<Target> {
        let last = Target::last_of(goal, grid);
        let (initial, sum) = (goal.initial_trial.as_secs_f64(), last.criterion.sum);
        let factor = (initial / sum).powf(1.0 / f64::from(goal.preceding.max(1)));
        let mut chain = vec![last];
        for step in 1..=goal.preceding {
            let is_first = step == goal.preceding;
            let sum = if is_first { initial } else { sum * factor.powi(step as i32) };
            let trial = last.criterion.trial.min(sum);
            let width = last.width << step.min(40);
            let criterion = Criterion { trial, sum, ..last.criterion };
            chain.push(Target { criterion, width, fail_fast: false, ..last });
        }
        chain.reverse();
        chain
    }

    /// The goal itself.
    pub(super) fn last_of(goal: &Goal, grid: &Grid) -> Target {
        Target {
            criterion: goal.criterion(),
            width: grid.width(goal.width),
            expansion: i64::from(goal.expansion),
            fail_fast: goal.fail_fast,
        }
    }
}

/// The relevant bounds for a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) lower: Option<At>,
    pub(super) upper: Option<At>,
}

/// The search as a selector sees it.
pub(super) struct Search<'a> {
    pub(super) grid: &'a Grid,
    pub(super) bounds: &'a dyn Fn(&Target) -> Bounds,
    /// The width of the last step any goal took.
    pub(super) global_width: Width,
}

/// A proposal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nomination {
    pub(super) load: At,
    pub(super) seconds: Seconds,
    /// How far the step goes, if others are to know.
    pub(super) width: Option<Width>,
}

impl Nomination {
    /// Low loads first: what they lose bounds all goals. Then long trials, then wide steps.
    pub(super) fn goes_before(&self, other: &Nomination) -> bool {
        if self.load != other.load {
            return self.load < other.load;
        }
        if self.seconds != other.seconds {
            return self.seconds > other.seconds;
        }
        self.width > other.width
    }
}

/// The lowest load is an upper bound for a goal that gives up then.
pub(super) struct LowestFails;

/// What the last proposal was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strategy {
    Other,
    ExtendLower,
    ExtendUpper,
}

/// Proposes loads for one goal.
pub(super) struct Selector {
    /// Those still to come, the next one last.
    later: Vec<Target>,
    target: Target,
    /// What the target before found; the first has the first trials' loads.
    lower: Option<At>,
    upper: Option<At>,
    /// How far the next extension goes.
    next_width: Width,
    strategy: Strategy,
}

impl Selector {
    /// For a chain of targets, at least one.
    pub(super) fn new(mut chain: Vec<Target>, low: At, high: At) -> Selector {
        let target = chain.remove(0);
        chain.reverse();
        let (lower, upper) = (Some(low), Some(high));
        let strategy = Strategy::Other;
        let mut selector = Selector { later: chain, target, lower, upper, next_width: 0, strategy };
        selector.begin_target();
        selector
    }

    fn begin_target(&mut self) {
        self.next_width = self.target.width;
        if let (Some(lower), Some(upper)) = (self.lower, self.upper) {
            self.next_width = self.next_width.max(upper - lower);
        }
        self.widen();
        self.strategy = Strategy::Other;
    }

    /// The next proposal; none when the goal is met.
    pub(super) fn nominate(&mut self, search: &Search) -> Result<Option<Nomination>, LowestFails> {
        loop {
            let bounds = (search.bounds)(&self.target);
            if let Some((load, width)) = self.propose(search, bounds) {
                let seconds = self.target.criterion.trial;
                return Ok(Some(Nomination { load, seconds, width }));
            }
            let Some(next) = self.later.pop() else {
                return match bounds.lower {
                    None if self.target.fail_fast => Err(LowestFails),
                    _ => Ok(None),
                };
            };
            (self.target, self.lower, self.upper) = (next, bounds.lower, bounds.upper);
            self.begin_target();
        }
    }

    /// Its proposal was carried out: the next extension goes farther if this one found no end.
    /// Returns the new global width.
    pub(super) fn won(&mut self, load: At, search: &Search) -> Option<Width> {
        let bounds = (search.bounds)(&self.target);
        let too_near = match self.strategy {
            Strategy::ExtendLower => bounds.upper == Some(load),
            Strategy::ExtendUpper => bounds.lower == Some(load),
            Strategy::Other => false,
        };
        too_near.then(|| {
            self.widen();
            self.next_width
        })
    }

    fn propose(&mut self, search: &Search, bounds: Bounds) -> Option<(At, Option<Width>)> {
        let width = self.target.width;
        self.strategy = Strategy::Other;
        if let (Some(lower), Some(upper)) = (self.lower, self.upper)
            && (width + 1..=2 * width).contains(&(upper - lower))
        {
            let load = middle(lower, upper, width);
            if self.is_worth(bounds, load) {
                self.limit(width);
                return Some((load, Some(width)));
            }
        }
        for end in [self.lower, self.upper].into_iter().flatten() {
            if self.is_worth(bounds, end) {
                self.limit(width);
                return Some((end, Some(width)));
            }
        }
        let far = self.next_width.max(search.global_width);
        let place = |load: At| search.grid.place(load, width, bounds);
        match bounds {
            Bounds { lower: None, upper: Some(upper) } if upper > 0 => {
                let load = place(upper - far).filter(|&load| self.is_worth(bounds, load))?;
                self.strategy = Strategy::ExtendLower;
                Some((load, Some(far)))
            }
            Bounds { lower: Some(lower), upper: None } if lower < search.grid.last() => {
                let load = place(lower + far).filter(|&load| self.is_worth(bounds, load))?;
                self.strategy = Strategy::ExtendUpper;
                Some((load, Some(far)))
            }
            Bounds { lower: Some(lower), upper: Some(upper) } if upper - lower > width => {
                self.bisect(search, lower, upper)
            }
            _ => None,
        }
    }

    /// Between two bounds: the middle, unless a step from the end where the last target saw the
    /// result is shorter.
    fn bisect(&mut self, search: &Search, lower: At, upper: At) -> Option<(At, Option<Width>)> {
        let width = self.target.width;
        let bounds = Bounds { lower: Some(lower), upper: Some(upper) };
        let cut = middle(lower, upper, width);
        let far = self.next_width.max(search.global_width);
        if let Some(hint) = self.upper.filter(|&hint| cut < hint)
            && let Some(load) = search.grid.place(upper - far, width, bounds)
            && cut < load
            && load < hint
        {
            self.strategy = Strategy::ExtendLower;
            return Some((load, Some(far)));
        }
        if let Some(hint) = self.lower.filter(|&hint| cut > hint)
            && let Some(load) = search.grid.place(lower + far, width, bounds)
            && load < cut
            && load > hint
        {
            self.strategy = Strategy::ExtendUpper;
            return Some((load, Some(far)));
        }
        let shorter = (cut - lower).min(upper - cut);
        self.limit(shorter);
        Some((cut, Some(shorter)))
    }

    /// Whether a trial there can tell anything new.
    fn is_worth(&self, bounds: Bounds, load: At) -> bool {
        let inside = bounds.lower.is_none_or(|lower| lower < load)
            && bounds.upper.is_none_or(|upper| load < upper);
        let close = bounds.lower.zip(bounds.upper);
        inside && close.is_none_or(|(lower, upper)| upper - lower > self.target.width)
    }

    /// The next extension begins again with this width.
    fn limit(&mut self, width: Width) {
        self.next_width = width.max(self.target.width);
        self.widen();
    }

    fn widen(&mut self) {
        self.next_width = self.next_width.saturating_mul(self.target.expansion).min(1 << 50);
    }
}
