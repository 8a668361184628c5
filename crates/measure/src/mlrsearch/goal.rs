//! Search Goals (RFC 9971): what the user wants to know, and the presets that have names.
//!
//! A name carries its criterion: `throughput[rfc2544 60s/60s 0% exceed 0%]`, never a bare "NDR".

use super::classify::Criterion;
use std::fmt;
use std::time::Duration;

/// A Search Goal: its criterion, and how to get there.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Where the criterion is from: `rfc2544`, `csit-ndr`; or the user's own word.
    pub preset: String,
    /// Goal Loss Ratio, 0 to below 1.
    pub loss_ratio: f64,
    /// Goal Exceed Ratio, 0 to below 1: the share of trial time that may lose more than that.
    pub exceed_ratio: f64,
    /// Goal Width, above 0 and below 1: how close the bounds are to be, relative to the upper one.
    pub width: f64,
    /// Goal Initial Trial Duration.
    pub initial_trial: Duration,
    /// Goal Final Trial Duration.
    pub final_trial: Duration,
    /// Goal Duration Sum.
    pub duration_sum: Duration,
    /// How many steps there are on the way, each with wider bounds and shorter trials.
    pub preceding: u32,
    /// How much farther the next step goes when the last was not far enough; 2 or more.
    pub expansion: u32,
    /// Whether the whole search ends when the lowest load does not meet this goal.
    pub fail_fast: bool,
}

/// The goal makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadGoal {
    /// A ratio is not within 0 (included) and 1.
    Ratio(&'static str),
    /// The width is not within 0 and 1.
    Width,
    /// 0 < initial trial ≤ final trial ≤ duration sum does not hold.
    Durations,
    /// The expansion is below 2.
    Expansion,
    /// No step precedes, though the first trials are shorter than the duration sum.
    Preceding,
}

impl fmt::Display for BadGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadGoal::Ratio(name) => write!(f, "the {name} ratio is 0 or more and below 1"),
            BadGoal::Width => f.write_str("the width is above 0 and below 1"),
            BadGoal::Durations => f.write_str(
                "trials have a length, the first are not longer than the last, and these not \
                 longer than the duration sum",
            ),
            BadGoal::Expansion => f.write_str("the expansion is 2 or more"),
            BadGoal::Preceding => f.write_str(
                "at least one step must precede when the first trials are shorter than the \
                 duration sum",
            ),
        }
    }
}

impl Goal {
    /// RFC 2544 §26.1: no loss in one trial of 60 seconds.
    pub fn rfc2544() -> Goal {
        Goal { exceed_ratio: 0.0, ..Goal::of("rfc2544", 0.0, [1, 60, 60]) }
    }

    /// ETSI GS NFV-TST 009: binary search with loss verification, one repetition (two trials of 60
    /// seconds of which one may lose).
    pub fn tst009() -> Goal {
        Goal::of("tst009", 0.0, [1, 60, 120])
    }

    /// FD.io CSIT's NDR: no loss in more than half of 21 trials of a second.
    pub fn csit_ndr() -> Goal {
        Goal::of("csit-ndr", 0.0, [1, 1, 21])
    }

    /// FD.io CSIT's PDR: as [`csit_ndr`](Self::csit_ndr), 0.5 % lost at most.
    pub fn csit_pdr() -> Goal {
        Goal::of("csit-pdr", 0.005, [1, 1, 21])
    }

    /// MikroTik's tables: 0.01 % lost at most (source 004; the length of its trials is not said:
    /// 10 seconds here).
    pub fn mikrotik() -> Goal {
        Goal { exceed_ratio: 0.0, ..Goal::of("mikrotik", 0.0001, [1, 10, 10]) }
    }

    /// The preset of this name.
    pub fn preset(name: &str) -> Option<Goal> {
        Goal::presets().into_iter().find(|goal| goal.preset == name)
    }

    /// All presets.
    pub fn presets() -> [Goal; 5] {
        [Goal::rfc2544(), Goal::tst009(), Goal::csit_ndr(), Goal::csit_pdr(), Goal::mikrotik()]
    }

    fn of(preset: &str, loss_ratio: f64, [initial, last, sum]: [u64; 3]) -> Goal {
        Goal {
            preset: preset.to_string(),
            loss_ratio,
            exceed_ratio: 0.5,
            width: 0.005,
            initial_trial: Duration::from_secs(initial),
            final_trial: Duration::from_secs(last),
            duration_sum: Duration::from_secs(sum),
            preceding: 2,
            expansion: 2,
            fail_fast: true,
        }
    }

    /// The preset and the whole criterion: `throughput[csit-pdr 1s/21s 0.5% exceed 50%]` is of
    /// trials of one second, 21 in sum, 0.5 % loss.
    pub fn name(&self) -> String {
        let Goal { preset, final_trial, duration_sum, loss_ratio, exceed_ratio, .. } = self;
        let (trial, sum) = (final_trial.as_secs_f64(), duration_sum.as_secs_f64());
        // A tenth of a millionth at most: 0.0001 × 100 is 0.01.
        let percent = |ratio: f64| (ratio * 1e9).round() / 1e7;
        let (loss, exceed) = (percent(*loss_ratio), percent(*exceed_ratio));
        format!("throughput[{preset} {trial}s/{sum}s {loss}% exceed {exceed}%]")
    }

    /// The same with final trials of this length, their sum in proportion, and none longer before them.
    #[must_use]
    pub fn lasting(self, trial: Duration) -> Goal {
        let times = trial.as_secs_f64() / self.final_trial.as_secs_f64();
        Goal {
            initial_trial: self.initial_trial.min(trial),
            final_trial: trial,
            duration_sum: self.duration_sum.mul_f64(times),
            ..self
        }
    }

    /// All of it, in the words of RFC 9971, which wants all attributes told, defaults too.
    pub fn describe(&self) -> String {
        let percent = |ratio: f64| (ratio * 1e9).round() / 1e7;
        let Goal { initial_trial, final_trial, duration_sum, .. } = self;
        format!(
            "{}: goal loss ratio {}%, goal exceed ratio {}%, goal initial trial duration \
             {initial_trial:?}, goal final trial duration {final_trial:?}, goal duration sum \
             {duration_sum:?}, goal width {}%",
            self.preset,
            percent(self.loss_ratio),
            percent(self.exceed_ratio),
            percent(self.width),
        )
    }

    /// What it asks of a load.
    pub fn criterion(&self) -> Criterion {
        Criterion {
            loss_ratio: self.loss_ratio,
            exceed_ratio: self.exceed_ratio,
            trial: self.final_trial.as_secs_f64(),
            sum: self.duration_sum.as_secs_f64(),
        }
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// [`BadGoal`] says why not.
    pub fn check(&self) -> Result<(), BadGoal> {
        let is_ratio = |ratio: f64| (0.0..1.0).contains(&ratio);
        let Goal { initial_trial, final_trial, duration_sum, .. } = *self;
        if !is_ratio(self.loss_ratio) {
            return Err(BadGoal::Ratio("loss"));
        }
        if !is_ratio(self.exceed_ratio) {
            return Err(BadGoal::Ratio("exceed"));
        }
        if !(self.width > 0.0 && self.width < 1.0) {
            return Err(BadGoal::Width);
        }
        if initial_trial.is_zero() || initial_trial > final_trial || final_trial > duration_sum {
            return Err(BadGoal::Durations);
        }
        if self.expansion < 2 {
            return Err(BadGoal::Expansion);
        }
        if self.preceding == 0 && initial_trial < duration_sum {
            return Err(BadGoal::Preceding);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_the_criterion() {
        let names = Goal::presets().map(|goal| goal.name());
        let expected = [
            "throughput[rfc2544 60s/60s 0% exceed 0%]",
            "throughput[tst009 60s/120s 0% exceed 50%]",
            "throughput[csit-ndr 1s/21s 0% exceed 50%]",
            "throughput[csit-pdr 1s/21s 0.5% exceed 50%]",
            "throughput[mikrotik 10s/10s 0.01% exceed 0%]",
        ];
        assert_eq!(names, expected);
        assert_eq!(Goal::preset("csit-pdr"), Some(Goal::csit_pdr()));
        assert_eq!(Goal::preset("ndr"), None, "never a bare NDR");
    }

    #[test]
    fn shorter_trials_and_their_sum() {
        for (goal, expected) in [
            (Goal::mikrotik(), "throughput[mikrotik 0.5s/0.5s 0.01% exceed 0%]"),
            (Goal::csit_pdr(), "throughput[csit-pdr 0.5s/10.5s 0.5% exceed 50%]"),
        ] {
            let short = goal.lasting(Duration::from_millis(500));
            assert_eq!((short.name().as_str(), short.check()), (expected, Ok(())));
        }
    }

    #[test]
    fn refused() {
        let check = |goal: Goal, expected| assert_eq!(goal.check(), expected, "{goal:?}");
        let good = Goal::rfc2544;
        let (zero, hour) = (Duration::ZERO, Duration::from_secs(3600));
        for preset in Goal::presets() {
            check(preset, Ok(()));
        }
        check(Goal { loss_ratio: 1.0, ..good() }, Err(BadGoal::Ratio("loss")));
        check(Goal { loss_ratio: f64::NAN, ..good() }, Err(BadGoal::Ratio("loss")));
        check(Goal { exceed_ratio: -0.1, ..good() }, Err(BadGoal::Ratio("exceed")));
        check(Goal { width: 0.0, ..good() }, Err(BadGoal::Width));
        check(Goal { initial_trial: zero, ..good() }, Err(BadGoal::Durations));
        check(Goal { initial_trial: hour, ..good() }, Err(BadGoal::Durations));
        check(Goal { final_trial: hour, ..good() }, Err(BadGoal::Durations));
        check(Goal { expansion: 1, ..good() }, Err(BadGoal::Expansion));
        check(Goal { preceding: 0, ..good() }, Err(BadGoal::Preceding));
    }
}
