//! A plan: what is measured, of what, with which traffic, by which procedures.
//!
//! ```text
//!  plans/*.toml ─► text (every value with its place) ─► checked ─► Plan
//!                                                         └ impossible: line, column, why
//! ```
//!
//! Nothing is sent before the whole plan is checked: rates above the wire, frames no Ethernet has,
//! searches whose bounds cross, addresses that belong to other people (RFC 6815).
//!
//! Never opens the configurations' files: the caller does.

// Values that TOML has no words for: times, rates, their places.
mod value;
// Who is on the ports.
mod end;
// From the file's tables to the plan.
mod read;
// And to its procedures.
mod procedure;
// Those of TCP.
mod tcp;
#[cfg(test)]
mod tests;

pub use end::{End, Said, moved};
pub use read::{Allowed, read};
pub(super) use tcp::mss;
pub use tcp::{Talk, Tcp};
pub use value::At;

use end::{benchmarks, contains};
use measure::mlrsearch::Goal;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{BitRate, FrameLen, Ipv4Prefix, PacketRate};

/// A plan that can be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it is called in results.
    pub name: String,
    /// The device's configuration: a file beside the plan; none for a device as it comes.
    pub configuration: Option<String>,
    /// How many ports the device has.
    pub ports: usize,
    /// Configurations and traffic the suite is run with, one after the other.
    pub modifiers: Vec<Modifier>,
    /// L1 rate of every wire: what 100 % is.
    pub link: BitRate,
    /// Frame lengths.
    pub sizes: Vec<FrameLen>,
    /// Where frames go.
    pub traffic: Traffic,
    /// Who is on the first and on the second port.
    pub ends: [End; 2],
    /// What is run, in this order.
    pub procedures: Vec<Procedure>,
    /// Where random choices start from.
    pub seed: u64,
    /// What makes it short.
    pub quick: Scaling,
    /// What virtual time is like.
    pub simulated: Simulated,
}

/// RFC 2544 §11's modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// The configuration as it is.
    None,
    /// One filter, which permits the traffic.
    OneFilter,
    /// Twenty-five, of which the last permits the traffic (the RFC's words).
    FiltersLast,
    /// Twenty-five, of which the thirteenth does (the RFC's list, §11.4.1): a device that sorts
    /// them shows.
    FiltersMiddle,
    /// One frame in a hundred is a broadcast.
    Broadcasts,
    /// The device is asked for its counters, once a second (§11.2).
    Queries,
    /// And told of networks as by a router beside it, every 30 seconds (§11.3).
    Updates,
}

impl Modifier {
    /// All, by name.
    pub const ALL: [(&'static str, Modifier); 7] = [
        ("none", Modifier::None),
        ("1-filter", Modifier::OneFilter),
        ("25-filters-permit-last", Modifier::FiltersLast),
        ("25-filters-permit-middle", Modifier::FiltersMiddle),
        ("1-percent-broadcasts", Modifier::Broadcasts),
        ("management-queries", Modifier::Queries),
        ("routing-updates", Modifier::Updates),
    ];

    /// Whether it is frames that we send, not what the device is told.
    pub fn is_ours(self) -> bool {
        matches!(self, Modifier::Broadcasts | Modifier::Queries | Modifier::Updates)
    }

    /// As it stands in plans and results.
    pub fn name(self) -> &'static str {
        Modifier::ALL.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }

    /// What the device is told beyond its configuration.
    pub fn commands(self, ends: [End; 2]) -> String {
        let rules = self.rules(ends);
        if rules.is_empty() {
            return String::new();
        }
        let line = |rule: &Rule| match rule {
            Rule::Deny(source) => format!("add chain=forward src-address={source} action=drop\n"),
            Rule::Permit(Some(all)) => {
                format!("add chain=forward src-address={all} dst-address={all} action=accept\n")
            }
            Rule::Permit(None) => "add chain=forward protocol=udp action=accept\n".to_string(),
        };
        "/ip firewall filter\n".to_string() + &rules.iter().map(line).collect::<String>()
    }

    /// The filters of the chain forward, in their order.
    pub fn rules(self, ends: [End; 2]) -> Vec<Rule> {
        let (denied, at) = match self {
            Modifier::None | Modifier::Broadcasts | Modifier::Queries | Modifier::Updates => {
                return vec![];
            }
            Modifier::OneFilter => (0, 0),
            Modifier::FiltersLast => (24, 24),
            Modifier::FiltersMiddle => (24, 12),
        };
        // Both directions, as one rule.
        let all = benchmarks();
        let permit = ends.iter().all(|end| contains(all, end.network)).then_some(all);
        let rule = |n: u32| match n == at {
            true => Rule::Permit(permit),
            false => Rule::Deny(Ipv4Addr::new(203, 0, 113, n as u8 + 1)),
        };
        (0..=denied).map(rule).collect()
    }
}

/// A filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Drops what comes from there.
    Deny(Ipv4Addr),
    /// Lets the test's frames through: by their network, or (of several) by their protocol, UDP.
    Permit(Option<Ipv4Prefix>),
}

/// Where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Routed, one source and destination on each side (RFC 2544 §12, first).
    Pair {
        /// Both ways at once, at the same rate each (§14).
        bidirectional: bool,
    },
    /// Routed, to random networks behind the other port (§12, then).
    Networks {
        /// See there.
        bidirectional: bool,
    },
    /// Bridged, by MAC address.
    Hosts {
        /// See there.
        bidirectional: bool,
    },
}

impl Traffic {
    /// How many ports send.
    pub fn senders(self) -> usize {
        let (Traffic::Pair { bidirectional }
        | Traffic::Networks { bidirectional }
        | Traffic::Hosts { bidirectional }) = self;
        1 + usize::from(bidirectional)
    }

    /// In a line, for results.
    pub fn describe(self) -> &'static str {
        match self {
            Traffic::Pair { bidirectional: true } => "UDP port 7, one pair of addresses, both ways",
            Traffic::Pair { bidirectional: false } => "UDP port 7, one pair of addresses, one way",
            Traffic::Networks { bidirectional: true } => {
                "UDP port 7, random destinations in 190 networks, both ways"
            }
            Traffic::Networks { bidirectional: false } => {
                "UDP port 7, random destinations in 190 networks, one way"
            }
            Traffic::Hosts { bidirectional: true } => "UDP port 7, by MAC address, both ways",
            Traffic::Hosts { bidirectional: false } => "UDP port 7, by MAC address, one way",
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
        /// The lowest load, as a share of the highest.
        lowest: f64,
        /// The highest load, as a share of the wire.
        highest: f64,
    },
    /// RFC 2544 §26.2; with hundreds of tagged frames RFC 8219 §7.2.
    Latency {
        /// How long the stream goes on.
        duration: Duration,
        /// When the first frame is tagged.
        after: Duration,
        /// How many are.
        tagged: u64,
        /// How often.
        repetitions: u32,
    },
    /// RFC 8219 §7.3.
    DelayVariation {
        /// How long.
        duration: Duration,
        /// How often.
        repetitions: u32,
    },
    /// RFC 2544 §26.3.
    FrameLoss {
        /// As a share of the wire's rate.
        step: f64,
        /// Of each trial.
        duration: Duration,
    },
    /// RFC 9004.
    BackToBack {
        /// The longest burst, as time.
        longest: Duration,
        /// In frames.
        step: u64,
        /// How often a lossy burst is asked again.
        verify: u32,
        /// How often the search is repeated.
        repetitions: u32,
    },
    /// RFC 2544 §26.5.
    Recovery {
        /// How long the overload lasts.
        overload: Duration,
        /// How long the device is watched then.
        watch: Duration,
        /// How often.
        repetitions: u32,
    },
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
    /// RFC 2889 §5.4.
    Congestion {
        /// Of the trial.
        duration: Duration,
    },
    /// RFC 9693.
    Establishment {
        /// Of each trial.
        connections: u64,
        /// How close.
        precision: f64,
        /// α.
        validation: f64,
    },
    /// RFC 9693.
    TearDown {
        /// So many.
        connections: u64,
        /// How often.
        repetitions: u32,
    },
    /// RFC 9693.
    Capacity {
        /// Where to begin.
        first: u64,
        /// No more are tried.
        most: u64,
        /// Offered at this rate.
        rate: PacketRate,
        /// How close.
        error: u64,
    },
    /// RFC 9411 §7: real connections.
    Tcp(Tcp),
}

impl Procedure {
    /// As it stands in plans and results.
    pub fn name(&self) -> &'static str {
        match self {
            Procedure::Throughput { .. } => "throughput",
            Procedure::Latency { .. } => "latency",
            Procedure::DelayVariation { .. } => "delay-variation",
            Procedure::FrameLoss { .. } => "frame-loss",
            Procedure::BackToBack { .. } => "back-to-back",
            Procedure::Recovery { .. } => "recovery",
            Procedure::Reset { .. } => "reset",
            Procedure::Forwarding { .. } => "forwarding",
            Procedure::AddressCaching { .. } => "address-caching",
            Procedure::AddressLearning { .. } => "address-learning",
            Procedure::Broadcast { .. } => "broadcast",
            Procedure::Congestion { .. } => "congestion",
            Procedure::Establishment { .. } => "establishment",
            Procedure::TearDown { .. } => "tear-down",
            Procedure::Capacity { .. } => "capacity",
            Procedure::Tcp(tcp) => tcp.name(),
        }
    }

    /// How many ports the device needs for it.
    pub fn ports(&self) -> usize {
        match self {
            Procedure::AddressCaching { .. }
            | Procedure::AddressLearning { .. }
            | Procedure::Broadcast { .. } => 3,
            Procedure::Congestion { .. } => 4,
            _ => 2,
        }
    }

    /// Whether the device is started anew in it.
    pub fn starts_anew(&self) -> bool {
        matches!(
            self,
            Procedure::Reset { .. }
                | Procedure::AddressCaching { .. }
                | Procedure::AddressLearning { .. }
                | Procedure::Establishment { .. }
                | Procedure::TearDown { .. }
                | Procedure::Capacity { .. }
                | Procedure::Tcp(_)
        )
    }

    /// Whether it is run with the smallest frames only.
    pub fn is_of_smallest_frames(&self) -> bool {
        use Procedure::{AddressCaching, AddressLearning, Reset};
        matches!(self, Reset { .. } | AddressCaching { .. } | AddressLearning { .. })
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

/// What a device in virtual time is like: a processor that takes its time for each frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// L1 rate of every wire.
    pub link: BitRate,
    /// Every wire's delay, one way.
    pub delay: Duration,
    /// The first port's wire is slower: its L1 rate, and the frames that wait for it at either end.
    pub bottleneck: Option<(BitRate, usize)>,
    /// For each frame.
    pub frame_ns: u64,
    /// And for each of its bytes, in picoseconds.
    pub byte_ps: u64,
    /// Now and then it does something else: so often …
    pub pause_every: Duration,
    /// … for so long.
    pub pause: Duration,
    /// Frames each port's receive ring holds.
    pub ring: usize,
    /// How long it takes to start.
    pub boot: Duration,
    /// What makes the plan short there.
    pub scaling: Scaling,
}

impl Simulated {
    /// What happens in words, for results.
    pub fn describe(&self) -> String {
        let bottleneck = self.bottleneck.map_or(String::new(), |(rate, buffer)| {
            format!(", the first of {rate:#} with buffers of {buffer} frames")
        });
        let delay = match self.delay {
            Duration::ZERO => String::new(),
            delay => format!(" and {delay:?} one way"),
        };
        format!(
            "simulated: wires of {:#}{delay}{bottleneck}, {} ns and {} ps a byte for each frame, every {:?} a pause \
             of {:?}, receive rings of {} frames",
            self.link, self.frame_ns, self.byte_ps, self.pause_every, self.pause, self.ring
        )
    }
}

/// Why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlan {
    /// Where, if it is at a place.
    pub at: Option<At>,
    /// Why, and what could be.
    pub why: String,
}

impl fmt::Display for BadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(At { line, column }) => write!(f, "{line}:{column}: {}", self.why),
            None => write!(f, " {}", self.why),
        }
    }
}

impl std::error::Error for BadPlan {}

impl Plan {
    /// Whether nothing but TCP is run.
    pub fn is_all_tcp(&self) -> bool {
        self.procedures.iter().all(|procedure| matches!(procedure, Procedure::Tcp(_)))
    }

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
