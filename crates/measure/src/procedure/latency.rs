//! Latency at the throughput rate.
//!
//! ```text
//!  RFC 2544 §26.2   120 s, one frame tagged after 60 s; the mean of 20 repetitions or more
//!  RFC 8219 §7.2    120 s, 500 frames tagged after 60 s: of each run the median (TL) and the
//!                   99.9th percentile (WCL); of 20 runs or more the medians of these
//! ```
//!
//! Frames are tagged in every direction, that many in each; the figure is that of the direction which
//! is the worst (each one's own are in the file). A tagged frame that does not come back gives no latency: it is counted, and not replaced by
//! its neighbour, which was luckier.

use super::spread::{Spread, percentile};
use super::{Run, Stop, Tag, TrialInput};
use crate::latency_histogram::LatencyHistogram;
use crate::trial::Outcome;
use std::time::Duration;
use wire::PacketRate;

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// How long the stream goes on (120 seconds or more).
    pub duration: Duration,
    /// When the first frame is tagged (60 seconds or later).
    pub after: Duration,
    /// How many are: 1 by RFC 2544, 500 or more by RFC 8219.
    pub tagged: u64,
    /// How often (20 times or more).
    pub repetitions: u32,
}

/// Nanoseconds all of them, each of the direction where it is the worst.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    /// RFC 2544: of the tagged frame of each repetition. The benchmark is the mean.
    pub tagged: Option<Spread>,
    /// RFC 8219's typical latency: of the medians. The benchmark is the median.
    pub typical: Option<Spread>,
    /// RFC 8219's worst-case latency: of the 99.9th percentiles.
    pub worst: Option<Spread>,
    /// How many frames were tagged in each direction of a repetition, at the least: fewer than planned
    /// where the load has no more.
    pub tagged_each: u64,
    /// Tagged frames that did not come back.
    pub tagged_lost: u64,
    /// Repetitions that stayed invalid: they are not among the others.
    pub invalid: u32,
    /// Repetitions in which frames were lost.
    pub lossy: u32,
    /// In how many directions frames were tagged.
    pub directions: usize,
    /// Every frame of every repetition, all directions together.
    pub all: Option<LatencyHistogram>,
}

/// Measures it at a load from each port: the throughput, by RFC 2544.
///
/// # Errors
/// [`Stop`].
pub fn latency(run: &mut Run<'_>, load: PacketRate, plan: &Latency) -> Result<Latencies, Stop> {
    let tag = Some(Tag { after: plan.after, frames: plan.tagged });
    let input = TrialInput::Steady { load, duration: plan.duration, tag };
    let mut ways: Vec<Way> = vec![];
    let (mut tagged_lost, mut invalid, mut lossy) = (0, 0, 0);
    let mut tagged_each = plan.tagged;
    let mut all: Option<LatencyHistogram> = None;
    for _ in 0..plan.repetitions {
        let output = run.trial(input)?;
        // Of invalid ones, too: how many directions there are is in the figures' names.
        ways.resize_with(ways.len().max(output.tagged_ns.len()), Way::default);
        tagged_each = tagged_each.min(output.tagged);
        match output.trial.outcome {
            Outcome::Invalid(_) => {
                invalid += 1;
                continue;
            }
            Outcome::Fail { .. } => lossy += 1,
            Outcome::Pass => {}
        }
        for (way, came) in ways.iter_mut().zip(&output.tagged_ns) {
            way.note(came);
        }
        let came = output.tagged_ns.iter().map(|came| came.len() as u64);
        tagged_lost += came.map(|came| output.tagged.saturating_sub(came)).sum::<u64>();
        add(&mut all, output.latency);
    }
    let worst = |of: fn(&Way) -> &[f64], benchmark: fn(&Spread) -> f64| {
        let spreads = ways.iter().filter_map(|way| Spread::of(of(way)));
        spreads.max_by(|a, b| benchmark(a).total_cmp(&benchmark(b)))
    };
    Ok(Latencies {
        tagged: worst(|way| &way.tagged, |all| all.mean),
        typical: worst(|way| &way.typical, |all| all.median),
        worst: worst(|way| &way.worst, |all| all.median),
        directions: ways.len(),
        tagged_each,
        tagged_lost,
        invalid,
        lossy,
        all,
    })
}

/// What a direction's tagged frames had in each repetition.
#[derive(Default)]
struct Way {
    tagged: Vec<f64>,
    typical: Vec<f64>,
    worst: Vec<f64>,
}

impl Way {
    fn note(&mut self, came_ns: &[u64]) {
        let mut sorted: Vec<f64> = came_ns.iter().map(|&ns| ns as f64).collect();
        sorted.sort_by(f64::total_cmp);
        if let Some(spread) = Spread::of(&sorted) {
            self.tagged.push(spread.mean);
            self.typical.push(spread.median);
            self.worst.push(percentile(&sorted, 0.999));
        }
    }
}

/// One more histogram to those before.
pub(super) fn add(all: &mut Option<LatencyHistogram>, one: Option<LatencyHistogram>) {
    match (all.as_mut(), one) {
        (Some(all), Some(one)) => {
            all.add(&one);
        }
        (None, one) => *all = one,
        (_, None) => {}
    }
}
