//! Delay variation at the throughput rate (RFC 8219 §7.3).
//!
//! ```text
//!  PDV  = D99.9 − Dmin         over all frames of a trial of 60 s or more
//!  IPDV = D(i) − D(i−1)        lowest, median, highest
//!                              of 20 runs or more: the medians
//! ```

use super::spread::Spread;
use super::{Run, Stop, latency};
use crate::trial::Outcome;
use hdrhistogram::Histogram;
use std::time::Duration;
use wire::PacketRate;

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayVariation {
    /// From each port: the throughput.
    pub load: PacketRate,
    /// 60 seconds or more.
    pub duration: Duration,
    /// 20 or more.
    pub repetitions: u32,
}

/// Nanoseconds all of them; of each the benchmark is the median of the repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Variations {
    /// 99.9th percentile less minimum.
    pub pdv: Option<Spread>,
    /// The lowest difference between neighbours.
    pub ipdv_min: Option<Spread>,
    /// The median difference.
    pub ipdv_median: Option<Spread>,
    /// The highest.
    pub ipdv_max: Option<Spread>,
    /// Latencies of every frame of every repetition: less the least, they are PDV's distribution
    /// (RFC 5481 §4.2).
    pub all: Option<Histogram<u64>>,
    /// Repetitions that stayed invalid.
    pub invalid: u32,
    /// Repetitions in which frames were lost.
    pub lossy: u32,
}

/// Measures it.
///
/// # Errors
/// [`Stop`].
pub fn variation(run: &mut Run<'_>, plan: &DelayVariation) -> Result<Variations, Stop> {
    let (mut pdv, mut ipdv) = (vec![], [vec![], vec![], vec![]]);
    let (mut invalid, mut lossy, mut every) = (0, 0, None);
    for _ in 0..plan.repetitions {
        let output = run.steady(plan.load, plan.duration)?;
        match output.trial.outcome {
            Outcome::Invalid(_) => {
                invalid += 1;
                continue;
            }
            Outcome::Fail { .. } => lossy += 1,
            Outcome::Pass => {}
        }
        if let Some(all) = output.latency.filter(|all| !all.is_empty()) {
            let high = all.value_at_quantile(0.999).min(all.max());
            pdv.push(high.saturating_sub(all.min()) as f64);
            latency::add(&mut every, Some(all));
        }
        if let Some(one) = output.variation.filter(|one| one.pairs > 0) {
            let three = [one.ipdv_min_ns, one.ipdv_median_ns, one.ipdv_max_ns];
            for (all, ns) in ipdv.iter_mut().zip(three) {
                all.push(ns as f64);
            }
        }
    }
    let [min, median, max] = ipdv.map(|values| Spread::of(&values));
    let (pdv, ipdv_min, ipdv_median, ipdv_max) = (Spread::of(&pdv), min, median, max);
    Ok(Variations { pdv, ipdv_min, ipdv_median, ipdv_max, all: every, invalid, lossy })
}
