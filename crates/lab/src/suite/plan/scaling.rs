//! What makes a plan short.
//!
//! ```text
//!  Plan ── Scaling: durations ÷ n, at most so many repetitions, … ─► Plan, and no longer the RFC's
//! ```

use super::{Criterion, Modifier, Plan, Procedure};
use std::time::Duration;
use wire::FrameLen;

/// What makes a plan short: it is said in the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Every duration is divided by this.
    pub divide_durations_by: f64,
    /// But none gets shorter than this.
    pub shortest: Duration,
    /// No more repetitions than this.
    pub repetitions_at_most: u32,
    /// Other frame lengths; the plan's if empty.
    pub sizes: Vec<FrameLen>,
    /// Other modifiers; the plan's if empty.
    pub modifiers: Vec<Modifier>,
    /// How close searches get at best.
    pub precision: f64,
    /// No more connections and addresses than this.
    pub counts_at_most: u64,
}

impl Plan {
    /// The same plan made short.
    #[must_use]
    pub fn scaled(mut self, scaling: &Scaling) -> Plan {
        let time = |duration: Duration| {
            let scaled = duration.div_f64(scaling.divide_durations_by);
            duration.min(scaled.max(scaling.shortest))
        };
        let times = |n: u32| n.min(scaling.repetitions_at_most);
        if !scaling.sizes.is_empty() {
            self.sizes.clone_from(&scaling.sizes);
        }
        if !scaling.modifiers.is_empty() {
            self.modifiers.clone_from(&scaling.modifiers);
        }
        for procedure in &mut self.procedures {
            match procedure {
                Procedure::Throughput { criteria, trial, confirmation, precision, .. } => {
                    (*trial, *confirmation) = (time(*trial), time(*confirmation));
                    *precision = precision.max(scaling.precision);
                    for criterion in criteria {
                        if let Criterion::Goal(goal) = criterion {
                            goal.initial_trial = time(goal.initial_trial);
                            goal.final_trial = time(goal.final_trial).max(goal.initial_trial);
                            goal.duration_sum = time(goal.duration_sum).max(goal.final_trial);
                            goal.width = goal.width.max(scaling.precision);
                        }
                    }
                }
                Procedure::Latency { duration, after, repetitions, .. } => {
                    (*duration, *after) = (time(*duration), time(*after).min(time(*duration) / 2));
                    *repetitions = times(*repetitions);
                }
                Procedure::DelayVariation { duration, repetitions } => {
                    (*duration, *repetitions) = (time(*duration), times(*repetitions));
                }
                Procedure::FrameLoss { duration, .. }
                | Procedure::Forwarding { duration }
                | Procedure::Congestion { duration } => *duration = time(*duration),
                Procedure::BackToBack { longest, repetitions, .. } => {
                    (*longest, *repetitions) = (time(*longest), times(*repetitions));
                }
                Procedure::Recovery { overload, watch, repetitions }
                | Procedure::Reset { before: overload, watch, repetitions } => {
                    (*overload, *watch) = (time(*overload), time(*watch));
                    *repetitions = times(*repetitions);
                }
                Procedure::Broadcast { duration, precision } => {
                    *duration = time(*duration);
                    *precision = precision.max(scaling.precision);
                }
                Procedure::AddressLearning { addresses: n, precision }
                | Procedure::Establishment { connections: n, precision, .. } => {
                    *n = (*n).min(scaling.counts_at_most);
                    *precision = precision.max(scaling.precision);
                }
                Procedure::TearDown { connections, repetitions } => {
                    *connections = (*connections).min(scaling.counts_at_most);
                    *repetitions = times(*repetitions);
                }
                Procedure::AddressCaching { most, .. } => {
                    *most = (*most).min(scaling.counts_at_most)
                }
                Procedure::Capacity { first, most, .. } => {
                    *most = (*most).min(scaling.counts_at_most);
                    *first = (*first).min(*most);
                }
                Procedure::Tcp(tcp) => tcp.scale(scaling, time),
            }
        }
        self
    }
}
