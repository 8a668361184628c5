//! Halving an interval until pass and fail are close enough.
//!
//! ```text
//!  lowest ─── pass │◄──────── halved ────────►│ fail ─── highest
//!                                  a fail is asked again `verify` times before it is believed
//! ```
//!
//! What is searched for may be a rate, the length of a burst, a number of connections or of
//! addresses. The highest value is tried first: a device that passes there is not the limit. With
//! `verify` above zero this is ETSI TST 009's *binary search with loss verification*: one pass is
//! enough, so that a frame lost now and then for other reasons does not end in a low result.
//!
//! Never knows what a value means. A device that passes above a value it fails at is searched as
//! if it did not: the result is *a* boundary, not all of them.

/// What kept a search from a higher value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The highest passed.
    Highest,
    /// The device failed at the next value above.
    Loss,
    /// The tester could not do the next one above.
    Tester,
    /// No more trials were allowed before the ends were close enough.
    TrialsSpent,
}

/// Where and how closely to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bisect {
    /// No value below this is tried.
    pub lowest: f64,
    /// Tried first.
    pub highest: f64,
    /// How close the ends are to be.
    pub step: Step,
    /// How often a fail is asked again.
    pub verify: u32,
    /// The most values tried.
    pub values_max: u32,
}

/// How close is close enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// This share of the upper end.
    Relative(f64),
    /// This much; every value is a whole multiple of it.
    Absolute(f64),
}

/// What a trial at a value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The device does it.
    Pass,
    /// It does not.
    Fail,
    /// The tester does not.
    Tester,
    /// Nobody knows: the trial was disturbed, and there is no patience left to repeat it. The search
    /// ends with what it has.
    Disturbed,
}

/// What the search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The highest value that passed; none if none did.
    pub best: Option<f64>,
    /// The lowest that did not; none if the highest passed.
    pub ceiling: Option<f64>,
    /// What kept it from being higher.
    pub bound: Bound,
    /// Fails that were not there any more when asked again.
    pub transient: u32,
    /// Whether it ended because a trial was disturbed: the best is what passed before.
    pub disturbed: bool,
}

impl Bisect {
    /// From the lowest to the highest; every fail is believed.
    pub fn within((lowest, highest): (f64, f64), step: Step) -> Bisect {
        Bisect { lowest, highest, step, verify: 0, values_max: 64 }
    }

    /// Searches; `test` tries one value.
    ///
    /// # Errors
    /// Whatever `test` returns.
    pub fn run<E>(&self, mut test: impl FnMut(f64) -> Result<Answer, E>) -> Result<Found, E> {
        let (best, ceiling, bound) = (None, None, Bound::Highest);
        let mut found = Found { best, ceiling, bound, transient: 0, disturbed: false };
        for _ in 0..self.values_max {
            let Some(value) = self.next(&found) else { return Ok(found) };
            match self.ask(value, &mut test, &mut found.transient)? {
                Answer::Pass => found.best = Some(value),
                Answer::Fail => (found.ceiling, found.bound) = (Some(value), Bound::Loss),
                Answer::Tester => (found.ceiling, found.bound) = (Some(value), Bound::Tester),
                Answer::Disturbed => {
                    (found.bound, found.disturbed) = (Bound::Tester, true);
                    return Ok(found);
                }
            }
        }
        if self.next(&found).is_some() {
            found.bound = Bound::TrialsSpent;
        }
        Ok(found)
    }

    /// The value to try next; none when the ends are close.
    pub fn next(&self, found: &Found) -> Option<f64> {
        let Some(ceiling) = found.ceiling else {
            return found.best.is_none().then_some(self.highest);
        };
        let floor = found.best.unwrap_or(self.lowest);
        let close = match self.step {
            Step::Relative(share) => ceiling - floor <= ceiling * share,
            Step::Absolute(step) => ceiling - floor <= step,
        };
        match (close, found.best) {
            (true, Some(_)) => None,
            (true, None) => (ceiling > self.lowest).then_some(self.lowest),
            (false, _) => {
                let middle = f64::midpoint(floor, ceiling);
                Some(match self.step {
                    Step::Relative(_) => middle,
                    Step::Absolute(step) => ((middle / step).floor() * step).max(floor + step),
                })
            }
        }
    }

    fn ask<E>(
        &self,
        value: f64,
        test: &mut impl FnMut(f64) -> Result<Answer, E>,
        transient: &mut u32,
    ) -> Result<Answer, E> {
        for again in 0..=self.verify {
            match test(value)? {
                Answer::Fail => {}
                answer => {
                    *transient += again;
                    return Ok(answer);
                }
            }
        }
        Ok(Answer::Fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn answer(pass: bool) -> Result<Answer, Infallible> {
        Ok(if pass { Answer::Pass } else { Answer::Fail })
    }

    const SEARCH: Bisect = Bisect {
        lowest: 1.0,
        highest: 1000.0,
        step: Step::Absolute(1.0),
        verify: 0,
        values_max: 50,
    };

    #[test]
    fn ends() {
        for (capacity, best, ceiling, bound) in [
            (5000.0, Some(1000.0), None, Bound::Highest),
            (1000.0, Some(1000.0), None, Bound::Highest),
            (999.0, Some(999.0), Some(1000.0), Bound::Loss),
            (1.0, Some(1.0), Some(2.0), Bound::Loss),
            (0.0, None, Some(1.0), Bound::Loss),
        ] {
            let found = SEARCH.run(|value| answer(value <= capacity)).unwrap();
            assert_eq!(
                (found.best, found.ceiling, found.bound),
                (best, ceiling, bound),
                "{capacity}"
            );
        }
        let few = Bisect { values_max: 3, ..SEARCH };
        let found = few.run(|value| answer(value <= 333.0)).unwrap();
        assert_eq!(found.bound, Bound::TrialsSpent);
        let weak = SEARCH.run(|value| {
            Ok::<_, Infallible>(if value <= 77.0 { Answer::Pass } else { Answer::Tester })
        });
        let weak = weak.unwrap();
        assert_eq!((weak.best, weak.bound), (Some(77.0), Bound::Tester));
        // The third trial is disturbed: what passed until then is what there is.
        let mut n = 0;
        let disturbed = SEARCH.run(|value| {
            n += 1;
            Ok::<_, Infallible>(match (n, value <= 600.0) {
                (3, _) => Answer::Disturbed,
                (_, true) => Answer::Pass,
                (_, false) => Answer::Fail,
            })
        });
        let disturbed = disturbed.unwrap();
        assert_eq!((disturbed.best, disturbed.disturbed), (Some(500.0), true));
    }

    #[test]
    fn a_fail_is_asked_again() {
        // Every second trial loses a frame whatever the load.
        let flaky = |verify| {
            let mut n = 0;
            let search = Bisect { verify, ..SEARCH };
            let found = search.run(|value| {
                n += 1;
                answer(value <= 600.0 && n % 2 == 0)
            });
            found.unwrap()
        };
        assert_ne!(flaky(0).best, Some(600.0), "a single fail is believed");
        assert_eq!(flaky(1).best, Some(600.0));
        assert!(flaky(1).transient > 0);
    }

    proptest! {
        #[test]
        fn whole_values_exactly(capacity in 1u64..1000) {
            let found = SEARCH.run(|value| {
                assert_eq!(value.fract(), 0.0);
                answer(value <= capacity as f64)
            });
            prop_assert_eq!(found.unwrap().best, Some(capacity as f64));
        }

        #[test]
        fn shares(capacity in 2f64..999.0, share in 0.0005f64..0.2) {
            let search = Bisect { step: Step::Relative(share), ..SEARCH };
            let found = search.run(|value| answer(value <= capacity)).unwrap();
            let (best, ceiling) = (found.best.unwrap(), found.ceiling.unwrap());
            prop_assert!(best <= capacity && capacity < ceiling && ceiling - best <= ceiling * share);
        }
    }
}
