//! Frames from one port to another in a trial, as the file has them: a stream of a plan's own, or one way
//! of whatever else was sent.

use super::{Achieved, Ipdv, is_zero};
use crate::Tally;
use crate::latency_histogram::LatencyHistogram;
use crate::procedure::Direction;
use crate::procedure::streams::StreamOutput;
use crate::result::Latency;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What went from a port to another, and what came of it. Of a trial that is valid,
/// `received + lost = sent`. What nothing is said of is empty: files that were written before it was kept
/// do not have it, and what is one way of a trial has no name, no headers and no load of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// Its name; none of one way of a trial.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The port it goes from, from 1.
    pub from: u32,
    /// The port where it is expected.
    pub to: u32,
    /// Its headers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stack: String,
    /// Its lengths: L2 bytes with FCS, a range of them, or a mix with its genome.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sizes: String,
    /// How fast, in which shape, how long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// Where its random choices start from.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed: u64,
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// How long a frame waited at most for its port's wire, behind its time, in nanoseconds; none by the
    /// clock, where nobody sees it, and in files that were written before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns_max: Option<u64>,
    /// First copies that came where they were to come, whole.
    pub received: u64,
    /// Sent and not received.
    pub lost: u64,
    /// Their bytes: L2 with FCS.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Of the received, overtaken (RFC 4737 §3).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reordered: u64,
    /// The greatest extent of that (RFC 4737 §4.2.1), in frames.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub extent_max: u64,
    /// Further copies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicate: u64,
    /// Times that a frame came with others missing in front of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gaps: u64,
    /// Frames that came in another length.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrong_size: u64,
    /// Frames whose lengths or checksums, where IP or what is on it has them, are wrong.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bad_checksum: u64,
    /// Of one way of a trial, damaged frames, those in another length among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrupt: u64,
    /// Frames so late that they cannot be told from copies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stale: u64,
    /// Frames that came out of other ports.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elsewhere: u64,
    /// If it is one way of a replay; headers above are then what was done to the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureRecord>,
    /// Latencies of all received; of a replay, of those that could be told from frames like them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Those of the tagged frames among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tagged: Option<Latency>,
    /// The same as the histogram of a cell: nanoseconds and how many, ascending, three digits. Of
    /// valid trials; none in files that were written before this was kept, as what follows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "crate::histogram")]
    pub histogram: Vec<(u64, u64)>,
    /// The last value of RFC 3550's jitter, in nanoseconds: of the last frames, some 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ns: Option<f64>,
    /// The greatest value that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_max_ns: Option<f64>,
    /// RFC 8219's packet delay variation, in nanoseconds: the 99.9th percentile of the latencies less
    /// the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_ns: Option<u64>,
    /// RFC 8219's inter-packet delay variation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv: Option<Ipdv>,
    /// How fast it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<Achieved>,
    /// How fast it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arriving: Option<Achieved>,
    /// This way's own of [`TrialRecord::time_ns`](super::TrialRecord::time_ns), which is the longest:
    /// how long nothing came of it over a reset, how long frames of it were lost after an overload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
}

/// What one way of a replay has beyond a stream. Gaps, other lengths and wrong checksums are not told
/// apart there: such frames are altered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureRecord {
    /// The file, as the plan names it.
    pub file: String,
    /// Frames of the capture's conversations that came, and are like none of its frames.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub altered: u64,
}

impl StreamRecord {
    /// Frames of a replay that came changed.
    pub fn altered(&self) -> u64 {
        self.capture.as_ref().map_or(0, |capture| capture.altered)
    }

    /// What both have: who sent what to whom, and what the receiver counted.
    fn counted((from, to): (u32, u32), sent: u64, tally: &Tally) -> StreamRecord {
        StreamRecord {
            from,
            to,
            sent,
            received: tally.received,
            lost: tally.lost(sent).unwrap_or_default(),
            reordered: tally.reordered,
            duplicate: tally.duplicate,
            stale: tally.stale,
            ..StreamRecord::default()
        }
    }

    /// Of a stream of a trial, and whether that is valid.
    pub(super) fn of(output: &StreamOutput, valid: bool) -> StreamRecord {
        let (tally, variation) = (&output.tally, output.variation.as_ref());
        let latency = output.latency.as_ref();
        let arriving = tally.first.zip(tally.last).map(|(first, last)| last.since(first));
        StreamRecord {
            name: output.name.clone(),
            stack: output.stack.clone(),
            sizes: output.sizes.clone(),
            load: output.load.clone(),
            seed: output.seed,
            intended: output.intended,
            waited_ns_max: output.waited.map(|time| time.as_nanos() as u64),
            bytes: tally.bytes,
            extent_max: tally.extent_max,
            gaps: tally.gaps,
            wrong_size: tally.wrong_size,
            bad_checksum: match &output.capture {
                Some(_) => 0,
                None => tally.corrupt - tally.wrong_size,
            },
            elsewhere: output.elsewhere,
            capture: output.capture.as_ref().map(|capture| CaptureRecord {
                file: capture.file.clone(),
                altered: capture.altered,
            }),
            latency: latency.and_then(Latency::of),
            histogram: latency.filter(|_| valid).map_or(vec![], LatencyHistogram::buckets),
            jitter_ns: variation.map(|variation| variation.jitter_ns),
            jitter_max_ns: variation.map(|variation| variation.jitter_max_ns),
            pdv_ns: variation.map(|variation| variation.pdv_ns),
            ipdv: variation.and_then(Ipdv::of),
            sending: output.sending.and_then(|time| Achieved::of(output.sent, time)),
            arriving: arriving.and_then(|time| Achieved::of(tally.received, time)),
            ..StreamRecord::counted(output.ports, output.sent, tally)
        }
    }

    /// Of one way of a trial.
    pub(super) fn of_way(way: &Direction) -> StreamRecord {
        StreamRecord {
            intended: way.intended,
            corrupt: way.tally.corrupt,
            elsewhere: way.elsewhere,
            latency: way.latency,
            tagged: way.tagged,
            // Of what is kept: the wires' own time may have been taken off.
            pdv_ns: way.latency.map(|latency| latency.p999_ns - latency.min_ns),
            ipdv: way.variation.as_ref().and_then(Ipdv::of),
            time_ns: way.time.map(|time| time.as_nanos() as u64),
            ..StreamRecord::counted(way.ports, way.sent, &way.tally)
        }
    }

    /// What cannot be.
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.sent > self.intended {
            Some("more frames sent than were to be")
        } else if self.received.checked_add(self.lost) != Some(self.sent) {
            Some("received and lost are not what was sent")
        } else if self.reordered > self.received {
            Some("more frames overtaken than received")
        } else if self.extent_max > 0 && self.reordered == 0 {
            Some("no frame overtaken, and some by several others")
        } else if self.stale > 0 {
            Some("frames too late to tell from copies, in a trial that is valid")
        } else {
            None
        }
    }
}

/// `1 to 2: 900 of 1000, 100 elsewhere`.
impl fmt::Display for StreamRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamRecord { from, to, received, sent, elsewhere, .. } = *self;
        write!(f, "{from} to {to}: {received} of {sent}")?;
        if elsewhere > 0 { write!(f, ", {elsewhere} elsewhere") } else { Ok(()) }
    }
}
