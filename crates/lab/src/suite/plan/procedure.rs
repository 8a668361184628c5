//! Procedures of a plan, each with its parameters, and what it needs of a device.

use super::{Spec, Tcp};
use measure::mlrsearch::Goal;
use measure::procedure::{
    BackToBack, Capacity, DelayVariation, Establishment, FrameLoss, Latency, Recovery,
};
use std::time::Duration;
use wire::PacketRate;

/// What a procedure needs of the device it is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: what a trial leaves behind does not matter to the next.
    Nothing,
    /// Connections that it does not know: it has forgotten the last trial's, or these are others.
    NewConnections,
    /// A table in which nothing is left of the last trial.
    EmptyTable,
    /// To be made to forget at a given moment, and to say when it has.
    Forgetting,
    /// To be started anew in the midst of a trial.
    Restart,
}

/// A load from each port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offer {
    /// A share of what the wire carries of the trial's frames.
    Share(f64),
    /// Frames a second, whatever their length.
    Rate(PacketRate),
}

impl std::fmt::Display for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Offer::Share(share) => write!(f, "{}% of the wire", (share * 1e9).round() / 1e7),
            Offer::Rate(rate) => rate.fmt(f),
        }
    }
}

impl Offer {
    /// So many times as much.
    pub fn times(self, factor: f64) -> Offer {
        match self {
            Offer::Share(share) => Offer::Share(share * factor),
            Offer::Rate(rate) => Offer::Rate(rate * factor),
        }
    }

    /// In frames a second, where the wire carries so many at most.
    pub fn of(self, wire: PacketRate) -> PacketRate {
        match self {
            Offer::Share(share) => wire * share,
            Offer::Rate(rate) => rate,
        }
    }
}

/// What is run. Rates are from each port; see [`measure::procedure`] for the rest.
#[derive(Clone, Debug, PartialEq)]
pub enum Procedure {
    /// RFC 2544 §26.1: by bisection, by loss verification, by RFC 9971's goals.
    Throughput {
        /// By which criteria.
        criteria: Vec<Criterion>,
        /// The length of the trials that narrow.
        trial: Duration,
        /// The length of the one that decides.
        confirmation: Duration,
        /// How close.
        precision: f64,
        /// The lowest load that is tried.
        lowest: Offer,
        /// The highest load that is tried, if the wire carries it.
        highest: Offer,
    },
    /// RFC 2544 §26.2; with hundreds of tagged frames RFC 8219 §7.2.
    Latency(Latency),
    /// RFC 8219 §7.3.
    DelayVariation(DelayVariation),
    /// RFC 2544 §26.3.
    FrameLoss(FrameLoss),
    /// RFC 9004.
    BackToBack(BackToBack),
    /// RFC 2544 §26.5.
    Recovery(Recovery),
    /// RFC 2544 §26.6: smallest frames only.
    Reset {
        /// Frames before it.
        before: Duration,
        /// And after.
        watch: Duration,
        /// How often.
        repetitions: u32,
    },
    /// RFC 2889: FRMOL and MFR.
    Forwarding {
        /// Of each trial.
        duration: Duration,
    },
    /// RFC 2889 §5.7.
    AddressCaching {
        /// No more are tried.
        most: u64,
        /// Shown at this rate.
        rate: PacketRate,
    },
    /// RFC 2889 §5.8.
    AddressLearning {
        /// So many.
        addresses: u64,
        /// How close.
        precision: f64,
    },
    /// RFC 2889 §5.10.
    Broadcast {
        /// Of each trial.
        duration: Duration,
        /// How close.
        precision: f64,
    },
    /// RFC 2889 §5.5.
    Congestion {
        /// Of the trial.
        duration: Duration,
    },
    /// RFC 9693.
    Establishment(Establishment),
    /// RFC 9693.
    TearDown {
        /// So many.
        connections: u64,
        /// How often.
        repetitions: u32,
    },
    /// RFC 9693.
    Capacity(Capacity),
    /// RFC 9411 §7: real connections.
    Tcp(Tcp),
    /// The plan's own streams, all at once.
    Streams(Vec<Spec>),
}

impl Procedure {
    /// Whether a share of its frames can be IPv6's: of all that send the plan's streams alone.
    pub fn sends_ipv6(&self) -> bool {
        matches!(
            self,
            Procedure::Throughput { .. }
                | Procedure::Latency(_)
                | Procedure::DelayVariation(_)
                | Procedure::FrameLoss(_)
                | Procedure::BackToBack(_)
                | Procedure::Recovery(_)
        )
    }

    /// As it stands in plans and results.
    pub fn name(&self) -> &'static str {
        match self {
            Procedure::Throughput { .. } => "throughput",
            Procedure::Latency(_) => "latency",
            Procedure::DelayVariation(_) => "delay-variation",
            Procedure::FrameLoss(_) => "frame-loss",
            Procedure::BackToBack(_) => "back-to-back",
            Procedure::Recovery(_) => "recovery",
            Procedure::Reset { .. } => "reset",
            Procedure::Forwarding { .. } => "forwarding",
            Procedure::AddressCaching { .. } => "address-caching",
            Procedure::AddressLearning { .. } => "address-learning",
            Procedure::Broadcast { .. } => "broadcast",
            Procedure::Congestion { .. } => "congestion",
            Procedure::Establishment(_) => "establishment",
            Procedure::TearDown { .. } => "tear-down",
            Procedure::Capacity(_) => "capacity",
            Procedure::Tcp(tcp) => tcp.name(),
            Procedure::Streams(_) => "streams",
        }
    }

    /// All of the goals that it searches by (RFC 9971), and between which loads.
    pub fn goals(&self) -> Vec<String> {
        let Procedure::Throughput { criteria, lowest, highest, .. } = self else { return vec![] };
        let goal = |criterion: &Criterion| match criterion {
            Criterion::Goal(goal) => {
                let all = goal.describe();
                Some(format!(
                    "{all}, min load {lowest}, max load {highest} (if the tester sends so many)"
                ))
            }
            _ => None,
        };
        criteria.iter().filter_map(goal).collect()
    }

    /// How many ports the device needs for it.
    pub fn ports(&self) -> usize {
        match self {
            Procedure::AddressCaching { .. }
            | Procedure::AddressLearning { .. }
            | Procedure::Broadcast { .. } => 3,
            Procedure::Congestion { .. } => 4,
            Procedure::Streams(streams) => {
                let ports = streams.iter().map(|stream| stream.from.max(stream.to) + 1);
                ports.max().unwrap_or(2).max(2)
            }
            _ => 2,
        }
    }

    /// What the device has to be before, or in, each of its trials.
    pub fn need(&self) -> Need {
        match self {
            Procedure::Reset { .. } => Need::Restart,
            Procedure::TearDown { .. } => Need::Forgetting,
            Procedure::AddressCaching { .. }
            | Procedure::AddressLearning { .. }
            | Procedure::Capacity(_) => Need::EmptyTable,
            Procedure::Establishment(_) | Procedure::Tcp(_) => Need::NewConnections,
            _ => Need::Nothing,
        }
    }

    /// The kind of procedure whose result it is run by, which has to come before it.
    pub fn builds_on(&self) -> Option<&'static str> {
        use Procedure::{BackToBack, DelayVariation, Latency, Recovery, Reset};
        match self {
            Latency { .. }
            | DelayVariation { .. }
            | BackToBack { .. }
            | Recovery { .. }
            | Reset { .. } => Some("throughput"),
            Procedure::Tcp(Tcp::Throughput { .. }) => Some("tcp-path"),
            _ => None,
        }
    }

    /// Whether it is run with the smallest frames only, or with lengths of its own.
    pub fn is_of_smallest_frames(&self) -> bool {
        use Procedure::{AddressCaching, AddressLearning, Reset, Streams};
        matches!(self, Reset { .. } | AddressCaching { .. } | AddressLearning { .. } | Streams(_))
    }
}

/// By what a load is judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// RFC 2544's bisection.
    Bisection,
    /// TST 009's, with so many repetitions of a lossy trial.
    Verified(u32),
    /// A goal of RFC 9971.
    Goal(Goal),
}
