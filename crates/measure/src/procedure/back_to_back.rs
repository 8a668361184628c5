//! Back-to-back frames: the longest burst at the smallest gap that is forwarded whole (RFC 2544
//! §26.4, as RFC 9004 updates it).
//!
//! ```text
//!  throughput < the medium's rate?  ─ no ─► not measured: a buffer that never fills has no length
//!        │ yes
//!        ▼
//!  N × binary search with loss verification over burst lengths ─► mean, min, max, stddev
//!        │
//!        ▼
//!  implied buffer time   = mean / highest rate
//!  corrected buffer time = implied − implied · throughput / highest rate
//! ```
//!
//! The correction takes away what the device forwarded while the burst was still coming in.

use super::bisect::{Bisect, Step};
use super::spread::Spread;
use super::throughput::answer;
use super::{Run, Stop, TrialInput};
use crate::procedure::bisect::Bound;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wire::PacketRate;

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackToBack {
    /// The longest burst, as time at the highest rate (2 seconds or more, 30 at most).
    pub longest: Duration,
    /// How close the search gets, in frames.
    pub step: u64,
    /// How often a lossy burst is asked again.
    pub verify: u32,
    /// How often the search is repeated.
    pub repetitions: u32,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Bursts {
    /// The throughput is the medium's rate: no burst ever fills a buffer (RFC 9004 §4).
    NotApplicable,
    /// A burst as long as the limit was forwarded: there is no result (RFC 9004 §5.4).
    AtLimit {
        /// That length in frames.
        frames: u64,
    },
    /// The tester could not send such bursts, or none passed: there is no result.
    None {
        /// Whether it was the tester.
        tester: bool,
        /// Whether trials stayed disturbed.
        disturbed: bool,
    },
    /// The benchmark.
    Found {
        /// Frames; the mean is the benchmark.
        frames: Spread,
        /// Seconds: mean burst / highest rate.
        implied_buffer_s: f64,
        /// Seconds: less what was forwarded meanwhile.
        corrected_buffer_s: f64,
        /// Losses that were not there when asked again, in all repetitions.
        transient: u32,
    },
}

/// Not asked for.
const NOTHING: Bursts = Bursts::None { tester: false, disturbed: false };

/// At least this share of the medium's rate is all of it: the search's resolution.
const WIRE_SPEED: f64 = 0.999;

/// Measures it where the medium has such a highest rate, and this throughput was measured before, from
/// each port, with the same flows and directions.
///
/// # Errors
/// [`Stop`].
pub fn back_to_back(
    run: &mut Run<'_>,
    (highest, throughput): (PacketRate, PacketRate),
    plan: &BackToBack,
) -> Result<Bursts, Stop> {
    if throughput.0 >= WIRE_SPEED * highest.0 {
        return Ok(Bursts::NotApplicable);
    }
    let limit = (highest.0 * plan.longest.as_secs_f64()).floor().max(1.0);
    let step = plan.step.max(1) as f64;
    let limit = (limit / step).ceil() * step;
    let search =
        Bisect { verify: plan.verify, ..Bisect::within((step, limit), Step::Absolute(step)) };
    let (mut lengths, mut transient) = (vec![], 0);
    for _ in 0..plan.repetitions {
        let found = search
            .run(|frames| Ok(answer(&run.trial(TrialInput::Burst { frames: frames as u64 })?)))?;
        transient += found.transient;
        match (found.best, found.bound) {
            (Some(_), Bound::Highest) => return Ok(Bursts::AtLimit { frames: limit as u64 }),
            (Some(frames), Bound::Loss) => lengths.push(frames),
            (_, bound) => {
                let (tester, disturbed) = (bound == Bound::Tester, found.disturbed);
                return Ok(Bursts::None { tester, disturbed });
            }
        }
    }
    let Some(frames) = Spread::of(&lengths) else { return Ok(NOTHING) };
    let (implied_buffer_s, corrected_buffer_s) = buffer_times(frames.mean, highest, throughput);
    Ok(Bursts::Found { frames, implied_buffer_s, corrected_buffer_s, transient })
}

/// RFC 9004 §6.3: implied and corrected buffer time in seconds.
pub fn buffer_times(frames: f64, highest: PacketRate, throughput: PacketRate) -> (f64, f64) {
    let implied = frames / highest.0;
    (implied, implied - implied * (throughput.0 / highest.0))
}
