//! Scaling: a shorter plan for a quick look.
//!
//! ```text
//!  Plan ── Scaling: durations ÷ n, at most so many repetitions, … ─► Plan, and no longer the RFC's
//! ```

use super::{Criterion, Modifier, Plan, Procedure};
use measure::FrameSize;
use measure::procedure::{
    BackToBack, Capacity, DelayVariation, Establishment, FrameLoss, Latency, Recovery,
};
use std::time::Duration;

/// What makes a plan short: it is said in the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Every duration is divided by this.
    pub divide_durations_by: f64,
    /// But none gets shorter than this.
    pub shortest: Duration,
    /// No more repetitions than this.
    pub repetitions_at_most: u32,
    /// Other frame sizes; the plan's if empty.
    pub sizes: Vec<FrameSize>,
    /// Other modifiers; the plan's if empty.
    pub modifiers: Vec<Modifier>,
    /// How close searches get at best.
    pub precision: f64,
    /// No more connections and addresses than this.
    pub counts_at_most: u64,
}

impl Scaling {
    /// Changes nothing.
    fn none() -> Scaling {
        Scaling {
            divide_durations_by: 1.0,
            shortest: Duration::ZERO,
            repetitions_at_most: u32::MAX,
            sizes: vec![],
            modifiers: vec![],
            precision: 0.0,
            counts_at_most: u64::MAX,
        }
    }

    /// What it makes short of this plan, for the result; none if that is nothing.
    pub fn describe(&self, plan: &Plan) -> Option<String> {
        let Scaling { divide_durations_by: by, shortest, repetitions_at_most, .. } = *self;
        let list = |all: Vec<String>| all.join(", ");
        let sizes = list(self.sizes.iter().map(ToString::to_string).collect());
        let modifiers = list(self.modifiers.iter().map(|one| one.name().to_string()).collect());
        // Each by itself: whether the plan is another with it.
        let in_names = [
            (
                Scaling { divide_durations_by: by, shortest, ..Scaling::none() },
                format!("durations divided by {by} (none below {shortest:?})"),
            ),
            (
                Scaling { repetitions_at_most, ..Scaling::none() },
                format!("{repetitions_at_most} repetitions at most"),
            ),
            (
                Scaling { counts_at_most: self.counts_at_most, ..Scaling::none() },
                format!("{} connections or addresses at most", self.counts_at_most),
            ),
        ];
        let others = [
            (
                Scaling { precision: self.precision, ..Scaling::none() },
                format!("searches to {}%", self.precision * 100.0),
            ),
            (
                Scaling { sizes: self.sizes.clone(), ..Scaling::none() },
                format!("of the frame sizes {sizes}"),
            ),
            (
                Scaling { modifiers: self.modifiers.clone(), ..Scaling::none() },
                format!("of the configurations {modifiers}"),
            ),
        ];
        let matters = |(one, _): &(Scaling, String)| plan.clone().scaled(one) != *plan;
        let in_names: Vec<String> =
            in_names.into_iter().filter(matters).map(|(_, said)| said).collect();
        let why = match in_names.is_empty() {
            true => "not the whole plan",
            false => "not the RFC's, and the names of the figures say so",
        };
        let others = others.into_iter().filter(matters).map(|(_, said)| said);
        let all: Vec<String> = in_names.into_iter().chain(others).collect();
        (!all.is_empty()).then(|| format!("{}: {why}", all.join(", ")))
    }
}

impl Plan {
    /// The same plan made short.
    #[must_use]
    pub fn scaled(mut self, scaling: &Scaling) -> Plan {
        let time = |duration: Duration| {
            if scaling.divide_durations_by == 1.0 {
                return duration;
            }
            let scaled = duration.div_f64(scaling.divide_durations_by);
            // Whole milliseconds: they are in the figures' names.
            let scaled = match scaled.as_millis() {
                0 => scaled,
                _ => Duration::from_millis((scaled.as_secs_f64() * 1e3).round() as u64),
            };
            duration.min(scaled.max(scaling.shortest))
        };
        let times = |n: u32| n.min(scaling.repetitions_at_most);
        if !scaling.sizes.is_empty() {
            self.sizes.clone_from(&scaling.sizes);
        }
        if !scaling.modifiers.is_empty() {
            self.modifiers.clone_from(&scaling.modifiers);
        }
        self.replays.iter_mut().for_each(|replay| replay.scale(scaling));
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
                Procedure::Latency(Latency { duration, after, repetitions, .. }) => {
                    let shorter = time(*duration);
                    // The tag is where it was said to be, unless that is cut off.
                    if shorter < *duration {
                        (*duration, *after) = (shorter, time(*after).min(shorter / 2));
                    }
                    *repetitions = times(*repetitions);
                }
                Procedure::DelayVariation(DelayVariation { duration, repetitions }) => {
                    (*duration, *repetitions) = (time(*duration), times(*repetitions));
                }
                Procedure::FrameLoss(FrameLoss { duration, .. })
                | Procedure::Forwarding { duration }
                | Procedure::Congestion { duration } => *duration = time(*duration),
                Procedure::BackToBack(BackToBack { longest, repetitions, .. }) => {
                    (*longest, *repetitions) = (time(*longest), times(*repetitions));
                }
                Procedure::Recovery(Recovery { overload, watch, repetitions })
                | Procedure::Reset { before: overload, watch, repetitions } => {
                    (*overload, *watch) = (time(*overload), time(*watch));
                    *repetitions = times(*repetitions);
                }
                Procedure::Broadcast { duration, precision } => {
                    *duration = time(*duration);
                    *precision = precision.max(scaling.precision);
                }
                Procedure::AddressLearning { addresses: n, precision }
                | Procedure::Establishment(Establishment { connections: n, precision, .. }) => {
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
                Procedure::Capacity(Capacity { first, most, .. }) => {
                    *most = (*most).min(scaling.counts_at_most);
                    *first = (*first).min(*most);
                }
                Procedure::Tcp(tcp) => tcp.scale(scaling, time),
                Procedure::Streams(streams) => {
                    streams.iter_mut().for_each(|stream| stream.scale(scaling));
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::suite::plan::{Allowed, read};

    /// Only what it changes is said to be short.
    #[test]
    fn what_is_short_is_said() {
        for (procedure, quick, expected) in [
            (
                "kind = \"throughput\"\n[[procedure]]\nkind = \"latency\"",
                "",
                "durations divided by 300 (none below 20ms), 3 repetitions at most, searches to \
                 1%: not the RFC's, and the names of the figures say so",
            ),
            (
                "kind = \"establishment\"",
                "divide-durations-by = 1.0\nprecision = \"5%\"",
                "searches to 5%: not the whole plan",
            ),
            (
                "kind = \"capacity\"",
                "counts-at-most = 500\nframe-sizes = [64, 128]",
                "500 connections or addresses at most, of the frame sizes 64, 128: not the RFC's, \
                 and the names of the figures say so",
            ),
            ("kind = \"capacity\"", "", ""),
            ("kind = \"tear-down\"\nrepetitions = 2", "frame-sizes = [64]", ""),
            (
                "kind = \"throughput\"\n[[procedure]]\nkind = \"latency\"\nduration = \"2s\"\nafter = \"1500ms\"",
                "divide-durations-by = 1.0\nrepetitions-at-most = 20",
                "searches to 1%: not the whole plan",
            ),
        ] {
            let text = format!(
                "name = \"x\"\n[device]\n[medium]\nlink = \"1G\"\n[traffic]\nframe-sizes = [64]\n\
                 flows = \"pair\"\n[[procedure]]\n{procedure}\n[quick]\n{quick}\n"
            );
            let plan = read(&text, Allowed::default()).unwrap();
            let said = plan.quick.describe(&plan).unwrap_or_default();
            assert_eq!(said, expected, "{text}");
        }
    }
}
