//! Results: versioned, serialisable, each row whole in itself.
//!
//! ```text
//! Measured ─ row ─► Row { figures, histogram, every trial } ─► Results { schema, environment, rows } ─► JSON
//!                    └ faults: sums, layers, nothing above the wire
//! ```
//!
//! Frames and duration are what was measured; rates are derived from them here and nowhere else,
//! every bit rate with its layer in its name (L1 with preamble and gap, L2 with FCS, L3 the IP
//! packet). Names in the file are the fields' names. Changing one is a new [`SCHEMA`]; files of
//! [`OLDER`] ones stay readable.
//!
//! Never reads or writes a file; never rounds.

// What cannot be of a row.
mod fault;

pub use fault::Fault;

use crate::Family;
use crate::compare::Comparison;
use crate::latency_histogram::LatencyHistogram;
use crate::suite_result::TrialRecord;
use crate::trial::{Outcome, Trial};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use wire::{BitRate, FrameLen, PacketRate};

/// Name and version of the format.
pub const SCHEMA: &str = "wirespeed-bench/2";

/// Formats that are read as well: what they lack is empty.
pub const OLDER: &[&str] = &["wirespeed-bench/1"];

/// A run: the whole of a result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    /// Where and how it was run.
    pub environment: Environment,
    /// One for each cell of the table.
    pub rows: Vec<Row>,
    /// How each device was set up, and what it could not do: one for each configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setups: Vec<Setup>,
    /// Devices measured by turns, against each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Compared>,
    /// What documents have for the same rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<Documented>,
    /// Why rows are missing that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete_because: Option<String>,
}

/// A document's rates for rows of ours, on a device of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Documented {
    /// The document, in a word or two: the head of its column.
    pub source: String,
    /// The lengths of frames, in bytes with FCS.
    pub frame_sizes: Vec<u32>,
    /// By configuration: thousands of packets a second for each length; 0 where the document has none.
    pub kpps: BTreeMap<String, Vec<f64>>,
}

impl Documented {
    /// What cannot be: a row with more or less figures than there are lengths, or with one that is none.
    pub fn fault(&self) -> Option<String> {
        let n = self.frame_sizes.len();
        let is_bad =
            |kpps: &[f64]| kpps.len() != n || kpps.iter().any(|kpps| !(0.0..1e9).contains(kpps));
        let (name, _) = self.kpps.iter().find(|(_, kpps)| is_bad(kpps))?;
        Some(format!("documents, {}: {name} is not {n} rates, one for each length", self.source))
    }

    /// A row's rate as a share of plain routing's.
    pub fn share(&self, row: &Row) -> Option<f64> {
        let place = self.frame_sizes.iter().position(|size| *size == row.frame_size)?;
        let at = |name: &str| self.kpps.get(name)?.get(place).copied().filter(|kpps| *kpps > 0.0);
        Some(at(&row.configuration)? / at("none")?)
    }
}

/// How a device was set up for the rows of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The device, as in [`Row::device`].
    pub device: String,
    /// What it is to do with the frames.
    pub mode: Mode,
    /// As in [`Row::family`].
    #[serde(default, skip_serializing_if = "Family::is_default")]
    pub family: Family,
    /// As in [`Row::configuration`].
    pub configuration: String,
    /// Every command that made the cables between it and the tester, as it is typed where the
    /// namespaces have names; none of files that were written before, and where there are no such
    /// cables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cables: Vec<String>,
    /// Every command that made it so, as it was run, in order, in the device's namespace; for our own
    /// router, its script.
    pub commands: Vec<String>,
    /// What the device says afterwards, to be compared with what was meant: rules hit, connections
    /// tracked, classes passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witness: Vec<String>,
    /// What a reader of the rows must know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Why there are no rows, if the device cannot do this; or none of some sizes, which it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
    /// How long pings through the device take, if it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<Ping>,
}

/// Round trips of a ping flood between two hosts' own network stacks, through a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {
    /// Pings that were sent.
    pub sent: u64,
    /// And answered.
    pub answered: u64,
    /// The median, in nanoseconds.
    pub p50_ns: u64,
    /// 99 of 100 are not above.
    pub p99_ns: u64,
}

/// Two devices measured by turns in one run, in one cell of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// What they do with the frames.
    pub mode: Mode,
    /// As in [`Row::family`].
    #[serde(default, skip_serializing_if = "Family::is_default")]
    pub family: Family,
    /// What they are loaded with.
    pub configuration: String,
    /// L2 bytes with FCS.
    pub frame_size: u32,
    /// The device that is compared with.
    pub base: String,
    /// The device that is compared.
    pub device: String,
    /// Their rates, and what follows.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// Where and how something was measured: what a reader needs to believe or repeat it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The processor's name.
    pub cpu: String,
    /// How many processors the machine has.
    pub cores: u32,
    /// Name and version of the operating system's kernel.
    pub kernel: String,
    /// What was built: the commit, with `-dirty` if something was not committed.
    pub commit: String,
    /// How: `release`, `debug`.
    pub build: String,
    /// The processor features it was built for.
    pub features: Vec<String>,
    /// When the run began: RFC 3339, UTC.
    pub timestamp: String,
    /// The command line.
    pub command: String,
    /// Where random choices started from.
    pub seed: u64,
    /// What else of the machine decides how fast and how evenly it runs, `name = value`: frequency
    /// governor, isolated processors, hypervisor, clock source, flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<String>,
    /// The kernel's settings that matter to what it forwards, `name = value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sysctls: Vec<String>,
    /// What the interfaces were let do by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offloads: Vec<String>,
}

/// What a device does with the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By MAC address.
    Bridging,
    /// By IP address.
    Routing,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Mode::Bridging => "Bridging",
            Mode::Routing => "Routing",
        })
    }
}

impl Mode {
    /// Its name in a family: that of IPv6 is said, as in `Routing IPv6`.
    pub fn of(self, family: Family) -> String {
        match family {
            Family::Ipv4 => self.to_string(),
            Family::Ipv6 => format!("{self} {family}"),
        }
    }
}

/// What was between tester and device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    /// `memory`, `veth`, or the interfaces' names.
    pub wire: String,
    /// Who sent.
    pub generator: String,
    /// Who received.
    pub receiver: String,
    /// What ran on which processor.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub placement: String,
}

impl Default for Medium {
    /// Memory, as in files of version 1, which do not say.
    fn default() -> Medium {
        let user = "user space".to_string();
        Medium {
            wire: "memory".to_string(),
            generator: user.clone(),
            receiver: user,
            placement: String::new(),
        }
    }
}

/// What a trial said, as it stands in a file. The reason of an invalid one is in
/// [`Row::remark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No frame was lost.
    Pass,
    /// Frames were lost: usual at the highest load the tester can offer.
    Fail,
    /// The tester fell short; the numbers say nothing about the device.
    Invalid,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Invalid => "invalid",
        })
    }
}

/// A device's rate is the device's only if the tester alone is faster by this factor; else the result is
/// *tester-limited*.
pub const HEADROOM: f64 = 1.2;

/// What kept a rate from being higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The device: the result the table is for.
    Device,
    /// The tester: alone it is less than [`HEADROOM`] times as fast, or the device was idle for
    /// a tenth of the trial.
    Tester,
    /// The wire: as many frames as fit.
    Wire,
    /// The distance between the cores, which changed during every attempt.
    Placement,
    /// The plan, which tried nothing higher: the rate is *at least* this.
    Plan,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Limit::Device => "device",
            Limit::Tester => "tester",
            Limit::Wire => "wire",
            Limit::Placement => "placement",
            Limit::Plan => "plan",
        })
    }
}

/// Latencies in nanoseconds, of every frame received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// How many were measured.
    pub count: u64,
    /// The lowest.
    pub min_ns: u64,
    /// The median: RFC 8219's typical latency.
    pub p50_ns: u64,
    /// 99 of 100 are not above.
    pub p99_ns: u64,
    /// 999 of 1000 are not above: RFC 8219's worst-case latency.
    pub p999_ns: u64,
    /// The highest.
    pub max_ns: u64,
}

impl Latency {
    /// Of times; `None` if there are none. The least and the greatest are exact.
    pub fn of(times: &LatencyHistogram) -> Option<Latency> {
        (!times.is_empty()).then(|| Latency {
            count: times.len(),
            min_ns: times.min(),
            p50_ns: times.at_quantile(0.5),
            p99_ns: times.at_quantile(0.99),
            p999_ns: times.at_quantile(0.999),
            max_ns: times.max(),
        })
    }

    /// What cannot be of any latencies: percentiles that fall, or are of nothing.
    pub fn fault(&self) -> Option<String> {
        let Latency { count, min_ns, p50_ns, p99_ns, p999_ns, max_ns } = *self;
        if count == 0 {
            return Some("latencies of no frames".to_string());
        }
        (![min_ns, p50_ns, p99_ns, p999_ns, max_ns].is_sorted()).then(|| {
            format!(
                "latencies out of order: {min_ns} ns at least, p50 {p50_ns}, p99 {p99_ns}, p99.9 \
                 {p999_ns}, {max_ns} at most"
            )
        })
    }
}

/// One cell of the table: a device in one mode, with one configuration, at one frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub device: String,
    /// What it does with the frames.
    pub mode: Mode,
    /// Of routing, the version of IP; none in files that were written before, whose frames are IPv4. To
    /// bridges all frames are alike: theirs are IPv4, too.
    #[serde(default, skip_serializing_if = "Family::is_default")]
    pub family: Family,
    /// What it is loaded with: `none`, `25-filter-rules`, `25-simple-queues`, …
    pub configuration: String,
    /// L2 bytes with FCS.
    pub frame_size: u32,
    /// On how many cores: 2 is tester and device on one each, in real time; 1 is, fed from
    /// memory, the device alone, its own time counted, and on wires both on whichever there are.
    pub cores: u32,
    /// Frames the tester was to send (intended load). At full speed: that it sent.
    pub offered: u64,
    /// Frames that left the tester.
    pub sent: u64,
    /// Frames that came back whole.
    pub forwarded: u64,
    /// Frames that did not: sent less forwarded.
    pub lost: u64,
    /// Seconds.
    pub duration: f64,
    /// Frames forwarded per second.
    pub pps: f64,
    /// The same in thousands.
    pub kpps: f64,
    /// 10⁶ bit/s: frame with FCS, preamble, start of frame and gap.
    pub l1_mbps: f64,
    /// 10⁶ bit/s: frame with FCS, as the performance tables of 2016 and 2019 count.
    pub l2_mbps: f64,
    /// 10⁶ bit/s: IP packet.
    pub l3_mbps: f64,
    /// Nanoseconds the router worked for each frame, if it can tell; none of an invalid row.
    pub router_ns_per_packet: Option<f64>,
    /// The share of frames that took the fast path, 0 to 1, if the device can tell.
    pub fast_path_share: Option<f64>,
    /// What the trial said.
    pub verdict: Verdict,
    /// Why it is invalid, or what else to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// What kept the rate from being higher.
    pub limited_by: Limit,
    /// What was between tester and device, and who sent and received.
    #[serde(default)]
    pub medium: Medium,
    /// Rate of the wire in 10⁶ bit/s (L1), if it has one: a memory wire has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_mbps: Option<f64>,
    /// The highest load by [`criterion`](Self::criterion) in frames per second, if one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_drop: Option<f64>,
    /// What kept `no_drop` from being higher, if its trials are kept; see
    /// [`limit_of_no_drop`](Self::limit_of_no_drop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_drop_limited_by: Option<Limit>,
    /// What `no_drop` had to meet, if it was searched for: `throughput[0.2s 0 loss, within 2%]`, or a
    /// goal's name (RFC 9971). Files that do not say it have no loss in trials of a fifth of the
    /// row's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<String>,
    /// The highest rate of the tester in frames per second, if it tested itself: alone, or with this
    /// device, if that was more ([`remark`](Self::remark) says so then).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tester_pps: Option<f64>,
    /// Latencies, if they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// All of these: nanoseconds and how many frames, ascending, three digits. In the file a text,
    /// [`histogram`](crate::histogram).
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "crate::histogram")]
    pub histogram: Vec<(u64, u64)>,
    /// Every trial, in its order; none in files that were written before this was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<TrialRecord>,
    /// Where and how.
    pub environment: Environment,
}

/// The kinds of a row's trials ([`TrialRecord::kind`]).
pub mod kind {
    /// The tester alone, as fast as it can.
    pub const SELF_TEST: &str = "self-test";
    /// The device, as fast as the tester can: one of these is the row.
    pub const HIGHEST: &str = "highest";
    /// Below that, for the highest load by a criterion.
    pub const SEARCH: &str = "search";
}

/// The highest load that meets a criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// Its name, with lengths and loss.
    pub criterion: String,
    /// Frames per second; none where no load met it.
    pub pps: Option<f64>,
}

/// What was measured, before anything is derived. See [`Row`] for the fields.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was measured.
    pub device: String,
    /// What it does.
    pub mode: Mode,
    /// In which family.
    pub family: Family,
    /// With what.
    pub configuration: String,
    /// At which length.
    pub frame: FrameLen,
    /// On how many cores.
    pub cores: u32,
    /// At the highest load.
    pub trial: Trial,
    /// The device's own time in all.
    pub router_time: Option<Duration>,
    /// Of the frames forwarded.
    pub fast_path_share: Option<f64>,
    /// The wire's L1 rate.
    pub wire: Option<BitRate>,
    /// From a search.
    pub met: Option<Met>,
    /// From the tester's self-test.
    pub tester: Option<PacketRate>,
    /// From the receiver, in nanoseconds; empty if it did not look.
    pub latency: LatencyHistogram,
    /// Every trial, in its order.
    pub trials: Vec<TrialRecord>,
    /// Between tester and device.
    pub medium: Medium,
    /// Where and how.
    pub environment: Environment,
}

impl Measured {
    /// What is to be said if a search found nothing.
    fn unmet(&self) -> Option<String> {
        let met = self.met.as_ref().filter(|met| met.pps.is_none())?;
        let all = || self.trials.iter().filter(|trial| trial.kind == kind::SEARCH);
        let (n, invalid) = (all().count(), all().filter(|trial| !trial.is_valid()).count());
        Some(format!("no load met {}: of {n} trials {invalid} were invalid", met.criterion))
    }

    /// What is to be said if the tester did less by itself.
    fn slow_alone(&self, pps: PacketRate) -> Option<String> {
        // An invalid trial has no rate to set beside it.
        let is_valid = !matches!(self.trial.outcome, Outcome::Invalid(_));
        let alone = self.tester.filter(|alone| is_valid && alone.0 < pps.0)?;
        // On a device's own cables it is not known what the tester can do there.
        let (by_itself, so) = match self.medium.wire.as_str() {
            "memory" | "veth" => ("the tester by itself was slower", "it was disturbed then"),
            _ => {
                let elsewhere = "through a veth of this machine the tester was slower";
                (elsewhere, "no limit of it is known")
            }
        };
        Some(format!("{by_itself} ({:.1} kpps) than with the device: {so}", alone.as_kpps()))
    }

    /// The row. A placement that changed is the limit whatever else there is; then the wire, then
    /// the tester.
    pub fn row(self) -> Row {
        let Trial { duration, counts, outcome } = self.trial;
        let pps = self.trial.forwarding_rate();
        let (verdict, why) = match outcome {
            Outcome::Pass => (Verdict::Pass, None),
            Outcome::Fail { .. } => (Verdict::Fail, None),
            Outcome::Invalid(reason) => (Verdict::Invalid, Some(reason.to_string())),
        };
        let remarks = [why, self.unmet(), self.slow_alone(pps)];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        let mut row = Row {
            device: self.device,
            mode: self.mode,
            family: self.family,
            configuration: self.configuration,
            frame_size: self.frame.l2(),
            cores: self.cores,
            offered: counts.intended,
            sent: counts.sent,
            forwarded: counts.received,
            lost: counts.lost().unwrap_or(0),
            duration: duration.as_secs_f64(),
            pps: pps.0,
            kpps: pps.as_kpps(),
            l1_mbps: pps.l1(self.frame).as_mbps(),
            l2_mbps: pps.l2(self.frame).as_mbps(),
            l3_mbps: pps.l3(self.frame).as_mbps(),
            router_ns_per_packet: self
                .router_time
                .filter(|_| counts.received > 0 && verdict != Verdict::Invalid)
                .map(|time| time.as_nanos() as f64 / counts.received as f64),
            fast_path_share: self.fast_path_share.filter(|_| verdict != Verdict::Invalid),
            verdict,
            remark: (!remarks.is_empty()).then(|| remarks.join("; ")),
            limited_by: limit(
                &self.trial,
                self.wire.map(|w| w.max_frames(self.frame)),
                self.tester,
                self.router_time,
            ),
            wire_mbps: self.wire.map(BitRate::as_mbps),
            no_drop: self.met.as_ref().and_then(|met| met.pps),
            no_drop_limited_by: None,
            criterion: self.met.map(|met| met.criterion),
            tester_pps: self.tester.map(|rate| rate.0.max(pps.0)),
            latency: Latency::of(&self.latency),
            histogram: self.latency.buckets(),
            trials: self.trials,
            medium: self.medium,
            environment: self.environment,
        };
        row.no_drop_limited_by = row.limit_of_no_drop();
        row
    }
}

/// At least this share of the wire's frames is wire speed: a trial's ends cost a few frames.
const WIRE_SPEED: f64 = 0.999;

/// A device that worked for less than this share of the trial had time to forward more.
const BUSY: f64 = 0.9;

fn limit(
    trial: &Trial,
    wire: Option<PacketRate>,
    tester: Option<PacketRate>,
    busy: Option<Duration>,
) -> Limit {
    use crate::trial::Reason;
    let idle = |busy: Duration| busy.as_secs_f64() < BUSY * trial.duration.as_secs_f64();
    let pps = trial.forwarding_rate().0;
    match trial.outcome {
        Outcome::Invalid(Reason::PlacementChanged(..)) => Limit::Placement,
        _ if wire.is_some_and(|wire| pps >= WIRE_SPEED * wire.0) => Limit::Wire,
        Outcome::Invalid(_) => Limit::Tester,
        _ if busy.is_some_and(idle) => Limit::Tester,
        // A device that loses nothing at the highest load could have forwarded more.
        _ if tester.is_some_and(|tester| tester.0 < HEADROOM * pps) => Limit::Tester,
        _ => Limit::Device,
    }
}

impl Row {
    /// Its mode, and its family where that is not IPv4.
    pub fn mode_name(&self) -> String {
        self.mode.of(self.family)
    }

    /// The frames' length.
    pub fn frame(&self) -> FrameLen {
        FrameLen::with_fcs(self.frame_size)
    }

    /// What kept [`no_drop`](Self::no_drop) from being higher, by the trials at the next load above:
    /// the device if it fell short there, the tester if those trials were invalid, or if nothing
    /// higher was tried because the tester has no more. Without trials nobody knows: older files have
    /// none.
    pub fn limit_of_no_drop(&self) -> Option<Limit> {
        let no_drop = self.no_drop?;
        let searched = || self.trials.iter().filter(|trial| trial.kind == kind::SEARCH);
        searched().next()?;
        if self
            .wire_mbps
            .is_some_and(|wire| PacketRate(no_drop).l1(self.frame()).as_mbps() >= WIRE_SPEED * wire)
        {
            return Some(Limit::Wire);
        }
        // The last trial at a load that was not passed decided about it.
        let stopped = searched().rev().filter(|trial| trial.outcome != "pass");
        let above = stopped.filter(|trial| trial.load > no_drop * (1.0 + 1e-9));
        Some(match above.min_by(|a, b| a.load.total_cmp(&b.load)) {
            Some(next) if next.is_valid() => Limit::Device,
            Some(_) => Limit::Tester,
            // More than the device does when it is overloaded, and less than the tester has.
            None if no_drop > self.pps && no_drop < 0.99 * self.tester_pps.unwrap_or(0.0) => {
                Limit::Plan
            }
            None => Limit::Tester,
        })
    }
}

impl Results {
    /// Of rows, with nothing said of the devices yet.
    pub fn of(environment: Environment, rows: Vec<Row>) -> Results {
        let schema = SCHEMA.to_string();
        let (setups, comparisons) = (vec![], vec![]);
        Results {
            schema,
            environment,
            rows,
            setups,
            comparisons,
            documents: Vec::new(),
            incomplete_because: None,
        }
    }

    /// The functionality tax of a configuration: how many times slower routing (or bridging) is
    /// with it than plain, at one frame size, on one device and number of cores. `None` where a
    /// row is missing, invalid, or forwarded nothing.
    pub fn tax(&self, row: &Row) -> Option<f64> {
        self.beside(row, "none", row.family).map(|plain| plain.pps / row.pps)
    }

    /// A row's rate as a share of plain forwarding's, by the criterion if it was searched by one.
    pub fn share(&self, row: &Row) -> Option<f64> {
        let plain = self.beside(row, "none", row.family)?;
        Some(row.no_drop.unwrap_or(row.pps) / plain.no_drop.unwrap_or(plain.pps))
    }

    /// The rate of a row of IPv6 by that of the same row of IPv4. `None` where a row is missing, invalid,
    /// or forwarded nothing.
    pub fn by_ipv4(&self, row: &Row) -> Option<f64> {
        let beside = || self.beside(row, &row.configuration, Family::Ipv4);
        (row.family == Family::Ipv6).then(beside)?.map(|other| row.pps / other.pps)
    }

    /// The same row with another configuration, or of another family; none if one of both has no rate.
    fn beside(&self, row: &Row, configuration: &str, family: Family) -> Option<&Row> {
        let other = self.rows.iter().find(|other| {
            (other.configuration.as_str(), other.family) == (configuration, family)
                && (&other.device, other.mode, other.frame_size, other.cores)
                    == (&row.device, row.mode, row.frame_size, row.cores)
        })?;
        let counts = |row: &Row| row.verdict != Verdict::Invalid && row.pps > 0.0;
        (counts(other) && counts(row)).then_some(other)
    }
}

#[cfg(test)]
mod tests;
