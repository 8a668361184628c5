//! A stream of a trial, as the file has it.

use super::{Achieved, Ipdv, is_zero};
use crate::latency_histogram::LatencyHistogram;
use crate::procedure::streams::StreamOutput;
use crate::result::Latency;
use serde::{Deserialize, Serialize};

/// What a stream sent, and what came of it. `received + lost = sent`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// Its name.
    pub name: String,
    /// The port it goes from, from 1.
    pub from: u32,
    /// The port where it is expected.
    pub to: u32,
    /// Its headers.
    pub stack: String,
    /// Its lengths: L2 bytes with FCS, a range of them, or a mix with its genome.
    pub sizes: String,
    /// How fast, in which shape, how long.
    pub load: String,
    /// Where its random choices start from.
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

    /// Of a stream of a trial, and whether that is valid.
    pub(super) fn of(output: &StreamOutput, valid: bool) -> StreamRecord {
        let (tally, variation) = (&output.tally, output.variation.as_ref());
        let latency = output.latency.as_ref();
        let arriving = tally.first.zip(tally.last).map(|(first, last)| last.since(first));
        StreamRecord {
            name: output.name.clone(),
            from: output.ports.0,
            to: output.ports.1,
            stack: output.stack.clone(),
            sizes: output.sizes.clone(),
            load: output.load.clone(),
            seed: output.seed,
            intended: output.intended,
            sent: output.sent,
            waited_ns_max: output.waited.map(|time| time.as_nanos() as u64),
            received: tally.received,
            lost: tally.lost(output.sent).unwrap_or_default(),
            bytes: tally.bytes,
            reordered: tally.reordered,
            extent_max: tally.extent_max,
            duplicate: tally.duplicate,
            gaps: tally.gaps,
            wrong_size: tally.wrong_size,
            bad_checksum: match &output.capture {
                Some(_) => 0,
                None => tally.corrupt - tally.wrong_size,
            },
            stale: tally.stale,
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
