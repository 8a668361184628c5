//! LatencyHistogram, many of them: a histogram, and beside it exactly what it would round.
//!
//! ```text
//!  time ─┬─► bucket, three digits: quantiles, by the upper edge
//!        └─► least, greatest, sum: exact ──► quantiles are never beyond these
//! ```
//!
//! A bucket of a histogram is a thousandth wide, or a hundredth, and has two edges. Differences of two
//! times are less than that: of frames that are all as late as each other, the greatest less the least
//! would be the width of a bucket. So both are kept as they are, and no quantile leaves them.
//!
//! Never keeps a single time; never allocates once it is made.

use hdrhistogram::Histogram;

/// Of latencies: 100 seconds.
pub(crate) const NS_MAX: u64 = 100_000_000_000;

/// Any number of times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram {
    buckets: Histogram<u64>,
    /// The greatest there can be while there are none.
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
}

impl Default for LatencyHistogram {
    /// Three digits, up to 100 seconds.
    fn default() -> LatencyHistogram {
        LatencyHistogram::up_to(NS_MAX, 3)
    }
}

impl LatencyHistogram {
    /// Quantiles to so many digits; above `ns_max` they are not told apart.
    ///
    /// # Panics
    /// If `ns_max` is below 2 or there are more than five digits.
    pub fn up_to(ns_max: u64, digits: u8) -> LatencyHistogram {
        let buckets = Histogram::new_with_bounds(1, ns_max, digits);
        let buckets = buckets.expect("bounds and digits that a histogram has");
        LatencyHistogram { buckets, min_ns: u64::MAX, max_ns: 0, sum_ns: 0 }
    }

    /// One more.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// So many more, all the same.
    pub fn record_n(&mut self, ns: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.buckets.saturating_record_n(ns, n);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += u128::from(ns) * u128::from(n);
    }

    /// Takes others in.
    pub fn add(&mut self, other: &LatencyHistogram) {
        for value in other.buckets.iter_recorded() {
            self.buckets.saturating_record_n(value.value_iterated_to(), value.count_at_value());
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// Takes in what somebody else counted in buckets (the time at the end of each, and how many), who
    /// kept the least, the greatest and the sum as well.
    pub fn add_counted(
        &mut self,
        buckets: impl IntoIterator<Item = (u64, u64)>,
        (min_ns, max_ns): (u64, u64),
        sum_ns: u64,
    ) {
        for (ns, n) in buckets {
            self.buckets.saturating_record_n(ns, n);
        }
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
        self.sum_ns += u128::from(sum_ns);
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.buckets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The least, exactly; 0 of none.
    pub fn min(&self) -> u64 {
        if self.is_empty() { 0 } else { self.min_ns }
    }

    /// The greatest, exactly; 0 of none.
    pub fn max(&self) -> u64 {
        self.max_ns
    }

    /// All added up, exactly.
    pub fn sum(&self) -> u128 {
        self.sum_ns
    }

    /// The mean; 0 of none.
    pub fn mean(&self) -> f64 {
        self.sum_ns as f64 / self.len().max(1) as f64
    }

    /// What a share of them, 0 to 1, does not exceed: the upper edge of its bucket, or the greatest
    /// if that is less; of the share 0 the least.
    pub fn at_quantile(&self, share: f64) -> u64 {
        match share <= 0.0 {
            true => self.min(),
            false => self.buckets.value_at_quantile(share).clamp(self.min(), self.max()),
        }
    }

    /// The `n`th from the least, counted from 1, as a quantile is told. (Not by quantile: `n` divided
    /// by their number and multiplied by it again is not always `n`.)
    pub fn nth(&self, n: u64) -> u64 {
        let mut seen = 0;
        let reached = self.buckets.iter_recorded().find(|value| {
            seen += value.count_at_value();
            seen >= n
        });
        reached.map_or(self.max(), |value| value.value_iterated_to().clamp(self.min(), self.max()))
    }

    /// The upper edges of the buckets, of the last one the greatest time, and how many there are in
    /// each, ascending.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let recorded = self.buckets.iter_recorded();
        let edge = |edge: u64| edge.min(self.max());
        recorded.map(|value| (edge(value.value_iterated_to()), value.count_at_value())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(all: &[u64]) -> LatencyHistogram {
        let mut times = LatencyHistogram::default();
        all.iter().for_each(|&ns| times.record(ns));
        times
    }

    /// Where nothing varies every quantile is the one time there is, however wide its bucket.
    #[test]
    fn what_does_not_vary_has_one_value() {
        for ns in [0, 1, 2047, 131_071, 10_005_121, 9_876_543_210, 2 * NS_MAX] {
            let times = of(&[ns; 5]);
            let found = [0.0, 0.001, 0.5, 0.999, 1.0].map(|share| times.at_quantile(share));
            assert_eq!(found, [ns; 5]);
            assert_eq!((times.min(), times.max(), times.nth(3)), (ns, ns, ns));
            assert_eq!((times.mean(), times.sum()), (ns as f64, 5 * u128::from(ns)));
        }
        let none = LatencyHistogram::default();
        assert_eq!((none.min(), none.max(), none.mean(), none.at_quantile(0.5)), (0, 0, 0.0, 0));
        assert!(none.is_empty() && none.buckets().is_empty());
    }

    proptest! {
        /// Against all of them sorted; two halves added are the whole.
        #[test]
        fn as_sorted(
            mut all in prop::collection::vec(0u64..20_000_000, 1..100),
            cut in 0usize..100,
            share in 0.0f64..=1.0,
        ) {
            let times = of(&all);
            let (front, back) = all.split_at(cut.min(all.len()));
            let mut both = of(front);
            both.add(&of(back));
            prop_assert_eq!(&both, &times);
            all.sort_unstable();
            let (first, last) = (all[0], all[all.len() - 1]);
            prop_assert_eq!((times.min(), times.max()), (first, last));
            prop_assert_eq!(times.sum(), all.iter().map(|&ns| u128::from(ns)).sum::<u128>());
            let near = |told: u64, exact: u64| told.abs_diff(exact) as f64 <= exact as f64 * 1e-3 + 1.0;
            let rank = ((share * all.len() as f64).ceil() as usize).max(1);
            let told = times.at_quantile(share);
            prop_assert!((first..=last).contains(&told) && near(told, all[rank - 1]));
            prop_assert!(near(times.nth(rank as u64), all[rank - 1]));
            prop_assert_eq!(times.buckets().last().map(|bucket| bucket.0), Some(last));
        }
    }
}
