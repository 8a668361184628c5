//! Streams of a plan, all at once: what each of them sent, and what came of it where it was to come.
//!
//! ```text
//!  stream 1 ─┐                       ┌─ to port 2: received, lost, twice, late, damaged … of each
//!  stream 2 ─┼─ port 1 ═ device ═════┤
//!  stream 3 ─┘                       └─ any other port: elsewhere
//! ```
//!
//! No RFC's procedure: a profile, as TRex's are. Integers of each stream are exact; frames without a
//! stream (the device's own, or damaged where the stream's number stands) are the trial's.

use super::{Run, Stop, TrialInput, TrialOutput};
use crate::delay::Variation;
use crate::latency_histogram::LatencyHistogram;
use crate::receive::Tally;
use std::time::Duration;

/// What a stream was, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamOutput {
    /// Its name.
    pub name: String,
    /// The ports it goes from and to, from 1.
    pub ports: (u32, u32),
    /// Its headers.
    pub stack: String,
    /// Its lengths, as one would have to write them to send the same.
    pub sizes: String,
    /// How fast, in which shape, how long.
    pub load: String,
    /// Where its random choices start from.
    pub seed: u64,
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// How long a frame waited at most for its port's wire, which others had; none by the clock, where
    /// nobody sees it.
    pub waited: Option<Duration>,
    /// What came where it was to come.
    pub tally: Tally,
    /// Frames that came elsewhere.
    pub elsewhere: u64,
    /// Latencies of all frames received, in nanoseconds.
    pub latency: Option<LatencyHistogram>,
    /// How much they vary.
    pub variation: Option<Variation>,
    /// From the first frame that was sent to the last; none where that is not known.
    pub sending: Option<Duration>,
    /// If it is no stream, but one way of a replay.
    pub capture: Option<CaptureOutput>,
}

/// What a replay has beyond a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureOutput {
    /// The file.
    pub file: String,
    /// Frames of its conversations that are like none of its frames
    /// ([`Returned`](crate::replay::Returned)).
    pub altered: u64,
}

/// Runs the streams once, `duration` being how long they take, and gives what came of the last
/// trial: invalid ones are repeated as of any procedure.
///
/// # Errors
/// [`Stop`].
pub fn streams(run: &mut Run<'_>, duration: Duration) -> Result<TrialOutput, Stop> {
    run.trial(TrialInput::Streams { duration, most: u64::MAX })
}
