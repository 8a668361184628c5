//! Frame loss rate: how much is lost at which load (RFC 2544 §26.3).
//!
//! ```text
//!  100 % of the medium's rate, 90 %, 80 % … until two trials in a row lose nothing
//! ```
//!
//! (The RFC's reference to "section 18" for the highest rate means §20.)

use super::{Run, Stop};
use crate::trial::Outcome;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use wire::PacketRate;

/// What is to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameLoss {
    /// The step, as a share of the medium's highest rate: 0.1 or less.
    pub step: f64,
    /// Of each trial.
    pub duration: Duration,
}

/// One load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossPoint {
    /// Per cent of the medium's rate.
    pub load_percent: f64,
    /// Frames per second from each port.
    pub load: f64,
    /// Per cent of the frames sent: (in − out) · 100 / in.
    pub loss_percent: f64,
    /// Frames sent, all ports.
    pub sent: u64,
    /// Of these, lost. Exact, also where the per cent show zero.
    pub lost: u64,
    /// Whether the tester fell short: then this says nothing about the device.
    pub invalid: bool,
}

/// From the highest load down: the medium's rate, from each port. Trials that the tester could not do end nothing, and are marked.
///
/// # Errors
/// [`Stop`].
pub fn frame_loss(
    run: &mut Run<'_>,
    highest: PacketRate,
    plan: &FrameLoss,
) -> Result<Vec<LossPoint>, Stop> {
    let mut points = Vec::new();
    let mut free = 0;
    // Each step is so much of the highest rate, whether or not that goes into it: 93, 86 … 2 %.
    for n in 0u32.. {
        let load_percent = rounded(100.0 * (1.0 - f64::from(n) * plan.step));
        if load_percent <= 0.0 {
            break;
        }
        let load = highest * (load_percent / 100.0);
        let output = run.steady(load, plan.duration)?;
        let invalid = matches!(output.trial.outcome, Outcome::Invalid(_));
        let counts = output.trial.counts;
        points.push(LossPoint {
            load_percent,
            load: load.0,
            loss_percent: output.loss_ratio() * 100.0,
            sent: counts.sent,
            lost: counts.sent.saturating_sub(counts.received),
            invalid,
        });
        free = if output.trial.outcome == Outcome::Pass { free + 1 } else { 0 };
        if free == 2 {
            break;
        }
    }
    Ok(points)
}

/// Without what sums of binary fractions leave behind: 79 %, not 79.00000000000001.
fn rounded(percent: f64) -> f64 {
    (percent * 1e9).round() / 1e9
}
