//! Delay variation at the throughput rate (RFC 8219 §7.3).
//!
//! ```text
//!  PDV  = D99.9 − Dmin         over all frames of a trial of 60 s or more
//!  IPDV = D(i) − D(i−1)        lowest, median, highest
//!                              of 20 runs or more: the medians
//! ```
//!
//! Of each direction by itself: one that is slower than the other, and as steady, varies no more. The
//! figure is that of the direction which is the worst. (The least latency is exact, D99.9 has three
//! digits and is never above the greatest: where none varies, PDV is 0.)

use super::spread::Spread;
use super::{Run, Stop, latency};
use crate::delay::Variation;
use crate::latency_histogram::LatencyHistogram;
use crate::result::Latency;
use crate::trial::Outcome;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::PacketRate;

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayVariation {
    /// 60 seconds or more.
    pub duration: Duration,
    /// 20 or more.
    pub repetitions: u32,
}

/// Nanoseconds all of them; of each the benchmark is the median of the repetitions, in the direction
/// where that is the worst.
#[derive(Clone, Debug, PartialEq)]
pub struct Variations {
    /// 99.9th percentile less minimum.
    pub pdv: Option<Spread>,
    /// The lowest difference between neighbours.
    pub ipdv_min: Option<Spread>,
    /// The median difference; the worst is the one farthest from zero.
    pub ipdv_median: Option<Spread>,
    /// The highest.
    pub ipdv_max: Option<Spread>,
    /// How many directions there were.
    pub directions: usize,
    /// Latencies of every frame of every repetition, all directions together: of one direction, less
    /// the least, they are PDV's distribution (RFC 5481 §4.2).
    pub all: Option<LatencyHistogram>,
    /// Repetitions that stayed invalid.
    pub invalid: u32,
    /// Repetitions in which frames were lost.
    pub lossy: u32,
}

/// Measures it at a load from each port: the throughput.
///
/// # Errors
/// [`Stop`].
pub fn variation(
    run: &mut Run<'_>,
    load: PacketRate,
    plan: &DelayVariation,
) -> Result<Variations, Stop> {
    let mut ways: BTreeMap<(u32, u32), Way> = BTreeMap::new();
    let (mut invalid, mut lossy, mut every) = (0, 0, None);
    for _ in 0..plan.repetitions {
        let output = run.steady(load, plan.duration)?;
        // Of invalid ones, too: how many directions there are is in the figures' names.
        for way in &output.directions {
            ways.entry(way.ports).or_default();
        }
        match output.trial.outcome {
            Outcome::Invalid(_) => {
                invalid += 1;
                continue;
            }
            Outcome::Fail { .. } => lossy += 1,
            Outcome::Pass => {}
        }
        // What went one way only is all there is.
        if output.directions.is_empty() {
            let all = output.latency.as_ref().and_then(Latency::of);
            ways.entry((0, 0)).or_default().note(all, output.variation.as_ref());
        }
        for way in &output.directions {
            ways.entry(way.ports).or_default().note(way.latency, way.variation.as_ref());
        }
        latency::add(&mut every, output.latency.filter(|all| !all.is_empty()));
    }
    let worst = |of: fn(&Way) -> &[f64], bad: fn(f64) -> f64| {
        let spreads = ways.values().filter_map(|way| Spread::of(of(way)));
        spreads.max_by(|a, b| bad(a.median).total_cmp(&bad(b.median)))
    };
    Ok(Variations {
        pdv: worst(|way| &way.pdv, |ns| ns),
        ipdv_min: worst(|way| &way.ipdv[0], |ns| -ns),
        ipdv_median: worst(|way| &way.ipdv[1], f64::abs),
        ipdv_max: worst(|way| &way.ipdv[2], |ns| ns),
        directions: ways.len(),
        all: every,
        invalid,
        lossy,
    })
}

/// What a direction had in each repetition.
#[derive(Default)]
struct Way {
    pdv: Vec<f64>,
    /// Lowest, median, highest.
    ipdv: [Vec<f64>; 3],
}

impl Way {
    fn note(&mut self, latency: Option<Latency>, variation: Option<&Variation>) {
        if let Some(all) = latency {
            self.pdv.push(all.p999_ns.saturating_sub(all.min_ns) as f64);
        }
        if let Some(one) = variation.filter(|one| one.pairs > 0) {
            let three = [one.ipdv_min_ns, one.ipdv_median_ns, one.ipdv_max_ns];
            for (all, ns) in self.ipdv.iter_mut().zip(three) {
                all.push(ns as f64);
            }
        }
    }
}
