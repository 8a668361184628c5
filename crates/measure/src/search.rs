//! The search for the highest load without loss, by bisection.
//!
//! ```text
//!   lowest ──────────── pass │◄── narrowed until within `precision` ──►│ fail ──────── highest
//!                            └─ confirmed by further trials at the same load
//! ```
//!
//! A pure function over "run a trial at this load". The highest load is tried first: a device that
//! loses nothing there is not the limit. Its result is the highest load that passed *every* trial
//! run at it, so a device that loses a frame now and then gets a low number or none, never a lucky
//! one. Invalid trials are repeated; a load at which the tester stays invalid is beyond the tester,
//! and the search goes on below it.
//!
//! Never runs longer than `trials_max` trials. For devices that lose a frame now and then, and for
//! loss ratios above zero, there is [`mlrsearch`](crate::mlrsearch); with RFC 2544's confirmation in
//! full length, [`procedure::throughput`](crate::procedure::throughput).

use crate::trial::{Outcome, Trial};
use wire::PacketRate;

/// Where and how closely to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// No load below this is tried.
    pub lowest: PacketRate,
    /// Tried first: the wire's limit, or the tester's.
    pub highest: PacketRate,
    /// The search ends when pass and fail are this close: 0.01 means one per cent.
    pub precision: f64,
    /// How many further trials a load must pass to be the result.
    pub confirmations: u32,
    /// How often an invalid trial is repeated.
    pub repeats: u32,
    /// The most trials in all.
    pub trials_max: u32,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            lowest: PacketRate(1e3),
            highest: PacketRate(100e6),
            precision: 0.01,
            confirmations: 1,
            repeats: 2,
            trials_max: 40,
        }
    }
}

/// What set the upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The highest load passed.
    Highest,
    /// The device lost frames at the next load tried above.
    Loss,
    /// The tester could not produce the next load above.
    Tester,
    /// `trials_max` was reached before the ends were close enough.
    TrialsSpent,
}

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The highest load that passed all its trials; `None` if none did.
    pub rate: Option<PacketRate>,
    /// What kept it from being higher.
    pub bound: Bound,
    /// All trials, in order, with the load asked for.
    pub trials: Vec<(PacketRate, Trial)>,
}

impl Search {
    /// Searches; `run` runs one trial at a load.
    pub fn run(&self, mut run: impl FnMut(PacketRate) -> Trial) -> Found {
        let mut trials = vec![];
        let mut passed: Vec<f64> = vec![]; // ascending; the last is the candidate
        let mut ceiling: Option<(f64, Bound)> = None;
        let bound = loop {
            let load = match ceiling {
                None => self.highest.0,
                Some((ceiling, bound)) => {
                    let floor = passed.last().copied().unwrap_or(self.lowest.0);
                    let is_close = ceiling - floor <= ceiling * self.precision;
                    match (is_close, passed.is_empty()) {
                        (true, false) => break bound,
                        (true, true) if ceiling <= self.lowest.0 => break bound,
                        (true, true) => self.lowest.0,
                        (false, _) => f64::midpoint(floor, ceiling),
                    }
                }
            };
            match self.is_free_of_loss(load, &mut trials, &mut run) {
                Some(Ok(())) => passed.push(load),
                Some(Err(bound)) => {
                    ceiling = Some((load, bound));
                    continue;
                }
                None => break Bound::TrialsSpent,
            }
            if ceiling.is_none() {
                break Bound::Highest;
            }
        };
        Found { rate: passed.last().map(|&rate| PacketRate(rate)), bound, trials }
    }

    /// Whether a load passes its trial and all confirmations; if not, who fell short; `None` if no
    /// trials are left.
    fn is_free_of_loss(
        &self,
        load: f64,
        trials: &mut Vec<(PacketRate, Trial)>,
        run: &mut impl FnMut(PacketRate) -> Trial,
    ) -> Option<Result<(), Bound>> {
        let (mut passes, mut invalid) = (0, 0);
        while passes <= self.confirmations {
            if trials.len() >= self.trials_max as usize {
                return None;
            }
            let trial = run(PacketRate(load));
            trials.push((PacketRate(load), trial));
            match trial.outcome {
                Outcome::Pass => passes += 1,
                Outcome::Fail { .. } => return Some(Err(Bound::Loss)),
                Outcome::Invalid(_) if invalid == self.repeats => return Some(Err(Bound::Tester)),
                Outcome::Invalid(_) => invalid += 1,
            }
        }
        Some(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prng;
    use crate::trial::{Conditions, Counts};
    use proptest::prelude::*;
    use std::time::Duration;

    /// One second of a device that forwards up to `capacity`, and a tester up to `tester`.
    fn trial(load: PacketRate, capacity: f64, tester: f64) -> Trial {
        let intended = load.0.round() as u64;
        let sent = intended.min(tester as u64);
        let received = sent.min(capacity as u64);
        let counts = Counts { intended, sent, received, ..Counts::default() };
        Trial::judge(Duration::from_secs(1), counts, &Conditions::default())
    }

    const SEARCH: Search = Search {
        lowest: PacketRate(1e3),
        highest: PacketRate(1e7),
        precision: 0.001,
        confirmations: 1,
        repeats: 2,
        trials_max: 80,
    };

    #[test]
    fn a_steady_device() {
        let found = SEARCH.run(|load| trial(load, 1_234_567.0, 1e9));
        let rate = found.rate.unwrap().0;
        assert!((1_233_000.0..=1_234_567.0).contains(&rate), "{rate} {:?}", found.trials);
        assert_eq!(found.bound, Bound::Loss);
        assert!(found.trials.len() < 30, "{}", found.trials.len());
    }

    #[test]
    fn ends() {
        for (capacity, tester, rate, bound) in [
            (1e9, 1e9, Some(1e7), Bound::Highest),
            (0.0, 1e9, None, Bound::Loss),
            (500.0, 1e9, None, Bound::Loss),
            (1e3, 1e9, Some(1e3), Bound::Loss),
            (1e9, 0.0, None, Bound::Tester),
        ] {
            let found = SEARCH.run(|load| trial(load, capacity, tester));
            let case = format!("{capacity} {tester}: {:?} {:?}", found.rate, found.bound);
            assert_eq!(found.bound, bound, "{case}");
            match (found.rate, rate) {
                (Some(found), Some(rate)) => {
                    assert!((found.0 / rate - 1.0).abs() < 0.001, "{case}");
                }
                (found, rate) => assert_eq!(found.map(|r| r.0), rate, "{case}"),
            }
        }
    }

    #[test]
    fn a_weak_tester_is_said_to_be_one() {
        let found = SEARCH.run(|load| trial(load, 1e9, 2e6));
        let rate = found.rate.unwrap().0;
        assert!((1.998e6..=2e6).contains(&rate), "{rate}");
        assert_eq!(found.bound, Bound::Tester);
    }

    #[test]
    fn a_tester_that_fails_at_times_is_given_another_chance() {
        let mut n = 0;
        let found = SEARCH.run(|load| {
            n += 1;
            trial(load, 3e6, if n % 3 == 0 { 0.0 } else { 1e9 })
        });
        assert!((2.997e6..=3e6).contains(&found.rate.unwrap().0), "{found:?}");
        assert_eq!(found.bound, Bound::Loss);
    }

    #[test]
    fn a_device_that_always_loses_has_no_such_rate() {
        // A frame in every trial, at any load: the search ends, and says none.
        let found = SEARCH.run(|load| trial(load, load.0.round() - 1.0, 1e9));
        assert_eq!((found.rate, found.bound), (None, Bound::Loss));
    }

    #[test]
    fn spent() {
        let search = Search { trials_max: 5, ..SEARCH };
        let found = search.run(|load| trial(load, 1.9e6, 1e9));
        assert_eq!((found.bound, found.trials.len()), (Bound::TrialsSpent, 5));
    }

    proptest! {
        /// A device whose capacity varies by a tenth: the result is never above the best it can
        /// do, passed every trial at that load, and the search ends.
        #[test]
        fn a_noisy_device(seed: u64, capacity in 2e3f64..9e6) {
            let mut prng = Prng::new(seed);
            let found = SEARCH.run(|load| {
                trial(load, capacity * (0.9 + prng.below(1000) as f64 / 5000.0), 1e9)
            });
            prop_assert!(found.trials.len() <= 80);
            if let Some(rate) = found.rate {
                prop_assert!(rate.0 <= capacity * 1.1);
                let at_rate = found.trials.iter().filter(|(load, _)| *load == rate);
                prop_assert!(at_rate.clone().count() >= 2);
                prop_assert!(at_rate.clone().all(|(_, t)| t.outcome == Outcome::Pass));
            }
            prop_assert!(found.rate.is_some_and(|rate| rate.0 >= capacity * 0.85), "{:?}", found);
        }
    }
}
