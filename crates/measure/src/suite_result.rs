//! Results of a suite: the whole of a `wirespeed-test/2` file.
//!
//! ```text
//!  SuiteResults ─┬ plan (its whole text), scaling, seed, environment, devices' configurations
//!                ├ self-tests: the tester alone, at each size
//!                └ cells: configuration × size × procedure ─┬ figures, each named by its criterion
//!                                                           ├ points, histogram
//!                                                           └ every trial
//! ```
//!
//! Names in the file are the fields' names. Changing one is a new [`SCHEMA`]. (Version 1 had
//! histograms as pairs, and no `patience`: it is read as well.) Rates are from each
//! sending port; the aggregate is that times [`SuiteResults::senders`].
//!
//! Never reads or writes a file; never rounds.

// Mixes of lengths.
mod mix;
// Streams of their own, and the ways of trials that have several.
mod stream;
// How much latency varies, and how fast frames went.
mod variation;
// What cannot be of a trial.
mod fault;
// Which trial's course is kept.
mod course;

pub use mix::{MixRecord, Size};
pub use stream::StreamRecord;
pub use variation::{Achieved, Ipdv};

use crate::latency_histogram::LatencyHistogram;
use crate::procedure::frame_loss::LossPoint;
use crate::procedure::spread::Spread;
use crate::procedure::tcp::TcpOutput;
use crate::procedure::{TrialInput, Tried};
use crate::result::HEADROOM;
use crate::result::{Environment, Latency, Limit};
use crate::series::Series;
use crate::trial::{Outcome, Trial};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::PacketRate;

/// Name and version of the format.
pub const SCHEMA: &str = "wirespeed-test/2";

/// Versions before it that are read.
pub const OLDER: [&str; 1] = ["wirespeed-test/1"];

/// A run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteResults {
    /// [`SCHEMA`].
    pub schema: String,
    /// What the plan is called.
    pub name: String,
    /// Its whole text.
    pub plan: String,
    /// Whether everything was run.
    pub complete: bool,
    /// If not: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete_because: Option<String>,
    /// How the plan was made short; none if it was run as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<String>,
    /// What was measured.
    pub device: String,
    /// How: `2 cores, real time, memory wires`, or what is simulated.
    pub medium: String,
    /// Whether time was simulated: then the same plan and seed give the same numbers everywhere.
    pub virtual_time: bool,
    /// What was sent.
    pub traffic: String,
    /// How many ports sent at the same time.
    pub senders: u32,
    /// Whether each of these sent to every other (RFC 2889 §5.1), by turns.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fully_meshed: bool,
    /// If not, and all ports had a part in it: to how many each of these sent, by turns (RFC 2889 §5.2,
    /// §5.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<u32>,
    /// The wire's L1 rate in 10⁶ bit/s: what 100 % is.
    pub wire_mbps: f64,
    /// The definition of latency used (RFC 2544 §26.2 wants it stated).
    pub latency_definition: String,
    /// Whether the least and the greatest of latencies, and of their differences, are exact: false of
    /// files that were written before, where they are edges of a histogram's buckets.
    #[serde(default, skip_serializing_if = "is_false")]
    pub exact_extremes: bool,
    /// How long disturbed trials were to be repeated, and were; none in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<Patience>,
    /// Where and how.
    pub environment: Environment,
    /// The device's configurations, complete.
    pub configurations: Vec<Configuration>,
    /// All attributes of the goals by which throughput was searched (RFC 9971), and between which loads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<String>,
    /// The mixes of lengths that cells and self-tests name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<MixRecord>,
    /// The tester alone.
    pub self_tests: Vec<TesterAlone>,
    /// What was measured.
    pub cells: Vec<Cell>,
}

/// A budget for trials that repeat those which were disturbed by something that is neither tester
/// nor device. Seconds of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Patience {
    /// There were so many.
    pub allowed: f64,
    /// And so many of them were used.
    pub spent: f64,
}

/// A device's configuration: the commands (RFC 2544 §11.4 wants them reported).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// The modifier.
    pub name: String,
    /// The script.
    pub script: String,
}

/// The tester without a device: its maximum offered load, its latency floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TesterAlone {
    /// L2 bytes with FCS; of a mix the mean, rounded.
    pub frame_size: u32,
    /// The mix, by its name in [`SuiteResults::mixes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// MOL: frames per second from each sending port.
    pub rate: f64,
    /// The lowest latency it sees, in nanoseconds.
    pub latency_floor_ns: u64,
    /// Whether it lost frames by itself.
    pub lossy: bool,
    /// By the clock, what was counted when it was at its fastest: rate and loss follow from it. None in
    /// virtual time, where wires say how fast it is, and in files that were written before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<AloneTried>,
}

/// What the tester alone did, at its highest load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AloneTried {
    /// Ports that share what it can, as they do when a device is there.
    pub ports: u32,
    /// Frames sent, of all ports.
    pub sent: u64,
    /// Frames that came.
    pub received: u64,
    /// From the beginning to the end of the sending.
    pub took_ns: u64,
    /// The lowest latency of these frames; at other loads it may have been lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_min_ns: Option<u64>,
}

impl AloneTried {
    /// Frames per second from each port.
    pub fn rate(&self) -> f64 {
        let each = self.received as f64 / f64::from(self.ports.max(1));
        each / Duration::from_nanos(self.took_ns.max(1)).as_secs_f64()
    }
}

/// A configuration, a size, a procedure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// See [`Configuration::name`].
    pub configuration: String,
    /// L2 bytes with FCS; of a mix the mean, rounded.
    pub frame_size: u32,
    /// The mix, by its name in [`SuiteResults::mixes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// `throughput`, `latency`, …
    pub procedure: String,
    /// What it found.
    pub figures: Vec<Figure>,
    /// Loss against load, if that is what it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<LossPoint>,
    /// Latencies of every frame of its trials: nanoseconds and how many, ascending, three digits.
    /// In the file a text, [`histogram`](crate::histogram).
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "crate::histogram")]
    pub histogram: Vec<(u64, u64)>,
    /// What kept the first figure from being better, if it is a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<Limit>,
    /// What else to know; why there is no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What the device dropped meanwhile, by its own reasons, where it is the built-in router.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
    /// Frames that came later than their trials waited, and are lost to them; none in files that were
    /// written before this was kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub too_late: u64,
    /// What a frame cost the device at the first figure's rate, in a trial of its own, by facility:
    /// cycles of the processor's time stamp counter; where the device is the built-in router.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cycles: BTreeMap<String, f64>,
    /// Every trial in its order.
    pub trials: Vec<TrialRecord>,
}

impl Cell {
    /// What its frames are.
    pub fn size(&self) -> Size<'_> {
        Size { mix: self.mix.as_deref(), l2: self.frame_size }
    }

    /// What kept a figure from being better, by its place: of several criteria each has its own.
    pub fn limit_of(&self, figure: usize) -> Option<Limit> {
        let own = self.figures.get(figure).and_then(|one| one.limited_by);
        own.or(self.limited_by.filter(|_| figure == 0))
    }

    /// Whether a figure of it is limited so.
    pub fn has_limit(&self, limit: Limit) -> bool {
        self.limited_by == Some(limit)
            || self.figures.iter().any(|one| one.limited_by == Some(limit))
    }
}

impl TesterAlone {
    /// What its frames are.
    pub fn size(&self) -> Size<'_> {
        Size { mix: self.mix.as_deref(), l2: self.frame_size }
    }
}

/// 10⁶ bit/s of frames with FCS.
pub const MBPS_L2: &str = "Mbps(L2)";
/// 10⁶ bit/s of what TCP carries for its users: no header, nothing that was sent again.
pub const MBPS_TCP: &str = "Mbps(TCP payload)";

/// A number with its name, which carries its criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `throughput[rfc2544 60s 0 loss]`.
    pub name: String,
    /// None if there is none: a remark says why.
    pub value: Option<f64>,
    /// `fps`, `ns`, `frames`, `%`, `s`, `/s`, `addresses`, `connections`, [`MBPS_L2`], [`MBPS_TCP`];
    /// as it stands in the file: [`unit`](Self::unit) is to be shown.
    pub unit: String,
    /// Of the repetitions, if there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// What kept it from being better, if it is a throughput; none in files that were written before
    /// this was kept, which have the first one's ([`Cell::limit_of`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<Limit>,
}

impl Figure {
    /// A single value.
    pub fn of(name: impl Into<String>, value: Option<f64>, unit: &str) -> Figure {
        let unit = unit.to_string();
        Figure { name: name.into(), value, unit, spread: None, limited_by: None }
    }

    /// What `pick` takes of the repetitions.
    pub fn spread(
        name: impl Into<String>,
        spread: Option<Spread>,
        pick: fn(&Spread) -> f64,
        unit: &str,
    ) -> Figure {
        let value = spread.as_ref().map(pick);
        Figure { spread, ..Figure::of(name, value, unit) }
    }

    /// The unit, with the layer that bits are of. Older files have `Mbit/s` of frames and of what TCP
    /// carries, and the layer in the name, or nowhere.
    pub fn unit(&self) -> &str {
        match self.unit.as_str() {
            "Mbit/s" if self.name.ends_with("(L2)") => MBPS_L2,
            "Mbit/s" => MBPS_TCP,
            unit => unit,
        }
    }
}

/// A trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// `steady`, `burst`, …
    pub kind: String,
    /// Frames per second from each port, intended; 0 of bursts, which go at the wire's rate;
    /// connections per second, 0 for as many as may be, of TCP.
    pub load: f64,
    /// Seconds, intended; of bursts, connections and addresses, which take what they take, what it took.
    pub duration: f64,
    /// Frames that were to be sent, all ports.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that came back.
    pub received: u64,
    /// Of these, overtaken.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reordered: u64,
    /// The greatest extent of that (RFC 4737 §4.2.1), in frames.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub extent_max: u64,
    /// Times that a frame came with others missing in front of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gaps: u64,
    /// Further copies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicate: u64,
    /// Damaged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrupt: u64,
    /// Of these, in another length.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrong_size: u64,
    /// Too late to tell from copies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stale: u64,
    /// Frames that found the tester's own receive ring full: they did come through the device.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tester_rx_drop: u64,
    /// Frames that came out of ports they were not sent to.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flooded: u64,
    /// `pass`, `fail`, or why it is invalid.
    pub outcome: String,
    /// Latencies, if they were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// How much they vary from frame to frame, all streams together: differences are of frames that
    /// one stream sent one after the other. None in files that were written before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv: Option<Ipdv>,
    /// A time that was measured, in nanoseconds: of a recovery, a reset, a tear-down. Of several
    /// directions the longest; none after a reset that one of them did not come back from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// What both ends of TCP connections counted; frames above are then segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpRecord>,
    /// What each stream of a plan sent, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamRecord>,
    /// Of trials of other frames than a plan's own streams, what went from port to port, if that was more
    /// than one way; none in files that were written before this was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<StreamRecord>,
    /// Frames that were none of ours: the device's own, and everybody else's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign: u64,
    /// Frames that the tester sent beside those of the trial: ARP, a modifier's (RFC 2544 §11).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beside: u64,
    /// How long, all in all, threads of the trial stood still, in nanoseconds: of one that is valid, how
    /// disturbed it was all the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stood_still_ns: u64,
    /// How long a virtual machine's host kept the trial's processors for itself, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stolen_ns: u64,
    /// When its frames went and came: of the trial a cell's figures stand on
    /// ([`Cell::keep_one_series`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

/// Connections of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpRecord {
    /// That were to be opened.
    pub due: u64,
    /// That clients began to open.
    pub opened: u64,
    /// That were established.
    pub established: u64,
    /// That were closed by both ends.
    pub closed: u64,
    /// That ended by a reset.
    pub reset: u64,
    /// That were given up.
    pub timed_out: u64,
    /// Requests answered whole.
    pub transactions: u64,
    /// Bytes of data sent, both ways together.
    pub bytes_sent: u64,
    /// And received.
    pub bytes_received: u64,
    /// Segments sent again, SYNs included.
    pub retransmitted: u64,
    /// Bytes of data that servers sent again, which are not among those sent; not in files that were
    /// written before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_again: Option<u64>,
    /// The mean of the round trips that servers measured on data, in nanoseconds; none if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_mean_ns: Option<u64>,
    /// The most connections at a time, closing and waiting ones included.
    pub concurrent_max: u64,
    /// From the first SYN until the last connection was closed, in nanoseconds.
    pub took_ns: u64,
    /// From a SYN to its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Latency>,
    /// From a request to the last byte of its response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<Latency>,
}

impl TcpRecord {
    fn of(output: &TcpOutput) -> TcpRecord {
        let TcpOutput { load, clients, servers, took } = output;
        TcpRecord {
            due: load.connections,
            opened: clients.opened,
            established: clients.established,
            closed: clients.closed,
            reset: clients.reset,
            timed_out: clients.timed_out,
            transactions: clients.transactions,
            bytes_sent: clients.bytes_sent + servers.bytes_sent,
            bytes_received: clients.bytes_received + servers.bytes_received,
            retransmitted: output.retransmitted(),
            sent_again: Some(servers.bytes_sent_again),
            rtt_mean_ns: servers.rtt_mean().map(|mean| mean.as_nanos() as u64),
            concurrent_max: clients.concurrent_max,
            took_ns: took.as_nanos() as u64,
            connect: Latency::of(&clients.connect_ns),
            transaction: Latency::of(&clients.transaction_ns),
        }
    }
}

fn is_false(is: &bool) -> bool {
    !is
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl TrialRecord {
    /// Of a trial that was run.
    pub fn of(tried: &Tried) -> TrialRecord {
        let took = tried.output.trial.duration;
        let (kind, load, duration) = match tried.input {
            TrialInput::Steady { load, duration, .. } => ("steady", load.0, duration),
            TrialInput::Burst { .. } => ("burst", 0.0, took),
            TrialInput::StepDown { high, high_for, low_for, .. } => {
                ("step-down", high.0, high_for + low_for)
            }
            TrialInput::Reset { load, before, after } => ("reset", load.0, before + after),
            TrialInput::Establish { rate, .. } => ("establish", rate.0, took),
            TrialInput::TearDown { .. } => ("tear-down", 0.0, took),
            TrialInput::Learn { rate, .. } => ("learn", rate.0, took),
            TrialInput::Broadcast { load, duration } => ("broadcast", load.0, duration),
            TrialInput::Congestion { load, duration } => ("congestion", load.0, duration),
            TrialInput::Flood { load, duration, .. } => ("flood", load.0, duration),
            TrialInput::Streams { duration, .. } => ("streams", 0.0, duration),
            TrialInput::Tcp(load) => ("tcp", load.rate.map_or(0.0, |rate| rate.0), took),
        };
        let output = &tried.output;
        let valid = !matches!(output.trial.outcome, Outcome::Invalid(_));
        TrialRecord {
            flooded: output.flooded,
            beside: output.beside,
            ipdv: output.variation.as_ref().and_then(Ipdv::of),
            time_ns: output.time.map(|time| time.as_nanos() as u64),
            tcp: output.tcp.as_deref().map(TcpRecord::of),
            streams: output.streams.iter().map(|one| StreamRecord::of(one, valid)).collect(),
            directions: output.directions.iter().map(StreamRecord::of_way).collect(),
            stood_still_ns: output.conditions.stood_still.as_nanos() as u64,
            stolen_ns: output.conditions.stolen.as_nanos() as u64,
            series: output.series.clone(),
            ..TrialRecord::plain(kind, load, duration, &output.trial, output.latency.as_ref())
        }
    }

    /// Of a trial of which nothing else is known: its load in frames per second, 0 for as many as
    /// the tester could send.
    pub fn plain(
        kind: &str,
        load: f64,
        duration: Duration,
        trial: &Trial,
        latency: Option<&LatencyHistogram>,
    ) -> TrialRecord {
        let counts = trial.counts;
        TrialRecord {
            kind: kind.to_string(),
            load,
            duration: duration.as_secs_f64(),
            intended: counts.intended,
            sent: counts.sent,
            received: counts.received,
            reordered: counts.reordered,
            extent_max: counts.extent_max,
            gaps: counts.gaps,
            duplicate: counts.duplicate,
            corrupt: counts.corrupt,
            wrong_size: counts.wrong_size,
            stale: counts.stale,
            tester_rx_drop: counts.tester_rx_drop,
            foreign: counts.foreign,
            outcome: match trial.outcome {
                Outcome::Pass => "pass".to_string(),
                Outcome::Fail { .. } => "fail".to_string(),
                Outcome::Invalid(reason) => format!("invalid: {reason}"),
            },
            latency: latency.and_then(Latency::of),
            ..TrialRecord::default()
        }
    }
}

/// The sum of what a file says; the most there can be, if it claims more.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// At least this share of the wire's frames is wire speed.
const WIRE_SPEED: f64 = 0.999;

/// Procedures whose rates are of what takes a frame at least.
const FRAME_EACH: [&str; 3] = ["address-learning", "establishment", "capacity"];

/// What kept a rate from being higher: first the wire, then the tester.
pub fn limit(rate: PacketRate, wire: PacketRate, mol: PacketRate, by_tester: bool) -> Limit {
    if rate.0 >= WIRE_SPEED * wire.0 {
        Limit::Wire
    } else if by_tester || mol.0 < HEADROOM * rate.0 {
        Limit::Tester
    } else {
        Limit::Device
    }
}

impl SuiteResults {
    /// All that cannot be: trials that received more than was sent, rates above the wire.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.faults_of_mixes();
        for cell in &self.cells {
            let size = cell.size();
            let place = format!("{}, {}, {}", cell.configuration, size.words(), cell.procedure);
            let wire = self.wire_rate(size).0;
            for figure in &cell.figures {
                let value = figure.value.unwrap_or(0.0);
                // An address or a connection is a frame at least.
                let is_frames = figure.unit == "fps"
                    || figure.unit == "/s" && FRAME_EACH.contains(&cell.procedure.as_str());
                // Goals that allow loss may be met a little above what comes through.
                if is_frames && value > wire * 1.0001 {
                    faults.push(format!(
                        "{place}: {} {value} is above the wire's {wire}",
                        figure.name
                    ));
                }
                if !value.is_finite() {
                    faults.push(format!("{place}: {} is not a number", figure.name));
                }
                // Delay may vary to either side, and a round trip may be shorter than the quickest before.
                let has_sign = figure.name.starts_with("IPDV") || figure.name == "buffer delay";
                if value < 0.0 && !has_sign {
                    faults.push(format!("{place}: {} {value} is below zero", figure.name));
                }
            }
            for trial in &cell.trials {
                faults.extend(trial.faults().into_iter().map(|why| format!("{place}{why}")));
            }
        }
        faults
    }
}
