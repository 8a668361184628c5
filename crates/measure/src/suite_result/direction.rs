//! One way of a trial, as the file has it: which of two directions lost frames.

use super::{Ipdv, is_zero};
use crate::procedure::Direction;
use crate::result::Latency;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What went from a port to another, and what came of it. Of a trial that is valid,
/// `received + lost = sent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionRecord {
    /// The port it goes from, from 1.
    pub from: u32,
    /// The port where it is expected.
    pub to: u32,
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// First copies that came where they were to come, whole.
    pub received: u64,
    /// Sent and not received.
    pub lost: u64,
    /// Of the received, overtaken (RFC 4737 §3).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reordered: u64,
    /// Further copies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicate: u64,
    /// Damaged, those in another length among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrupt: u64,
    /// Too late to tell from copies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stale: u64,
    /// Frames that came out of other ports.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elsewhere: u64,
    /// Latencies of all received; none in files that were written before this was kept, as what
    /// follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Those of the tagged frames among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tagged: Option<Latency>,
    /// RFC 8219's packet delay variation, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_ns: Option<u64>,
    /// And its inter-packet delay variation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv: Option<Ipdv>,
    /// This way's own of [`TrialRecord::time_ns`](super::TrialRecord::time_ns), which is the longest:
    /// how long nothing came of it over a reset, how long frames of it were lost after an overload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
}

impl DirectionRecord {
    /// Of a direction of a trial.
    pub(super) fn of(direction: &Direction) -> DirectionRecord {
        let Direction { ports, intended, sent, tally, elsewhere, latency, tagged, .. } = *direction;
        DirectionRecord {
            from: ports.0,
            to: ports.1,
            intended,
            sent,
            received: tally.received,
            lost: tally.lost(sent).unwrap_or_default(),
            reordered: tally.reordered,
            duplicate: tally.duplicate,
            corrupt: tally.corrupt,
            stale: tally.stale,
            elsewhere,
            latency,
            tagged,
            // Of what is kept: the wires' own time may have been taken off.
            pdv_ns: latency.map(|latency| latency.p999_ns - latency.min_ns),
            ipdv: direction.variation.as_ref().and_then(Ipdv::of),
            time_ns: direction.time.map(|time| time.as_nanos() as u64),
        }
    }

    /// What cannot be of a trial that passed or failed.
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.sent > self.intended {
            Some("more frames sent than were to be")
        } else if self.received.checked_add(self.lost) != Some(self.sent) {
            Some("received and lost are not what was sent")
        } else {
            None
        }
    }
}

/// `1 to 2: 900 of 1000, 100 elsewhere`.
impl fmt::Display for DirectionRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DirectionRecord { from, to, received, sent, elsewhere, .. } = *self;
        write!(f, "{from} to {to}: {received} of {sent}")?;
        if elsewhere > 0 { write!(f, ", {elsewhere} elsewhere") } else { Ok(()) }
    }
}
