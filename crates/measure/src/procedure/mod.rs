//! The procedures of the RFCs: which trials to run one after the other, and what they say.
//!
//! ```text
//!  parameters ─► procedure ── TrialInput ──► Run ──► Measurer   a device on cores, or a simulated one
//!                  │   ◄── TrialOutput ────   │  (invalid trials again, all trials noted)
//!                  ▼                          ▼
//!               a result               the journal
//! ```
//!
//! Each is a function over an abstract measurer: it sees what went out and what came back, and
//! nothing else. A trial passes, fails, or is invalid because the tester fell short; an invalid
//! one is repeated a bounded number of times, and what stays invalid is beyond the tester, never
//! the device's fault.
//!
//! Loads are frames per second *from each sending port* (RFC 9971: per interface, intended); the
//! aggregate is that times the number of sending ports.
//!
//! Never runs a trial by itself, never reads a clock.
//! Missing: **RFC 2544 §26.2's tagged frame to a new network**, **RFC 8219's DNS64**, **errored
//! frames of RFC 2889 §5.8** (memory wires carry no FCS).

// Halving an interval, whatever is searched for.
pub mod bisect;
// RFC 2544 §26.1, ETSI TST 009, and RFC 9971's goals.
pub mod throughput;
// RFC 2544 §26.2, RFC 8219 §7.2.
pub mod latency;
// RFC 8219 §7.3: PDV and IPDV.
pub mod variation;
// RFC 2544 §26.3.
pub mod frame_loss;
// A throughput that frame loss contradicts, once more.
pub mod again;
// RFC 2544 §26.4 as RFC 9004 updates it.
pub mod back_to_back;
// RFC 2544 §26.5 and §26.6.
pub mod recovery;
// RFC 2889: bridges.
pub mod bridge;
// RFC 9693: connection tracking and NAT.
pub mod connections;
// RFC 9411 §7: real connections.
pub mod tcp;
// RFC 6349: what TCP makes of a path.
pub mod rfc6349;
// Streams of a plan, all at once.
pub mod streams;
// Means and medians of repetitions.
pub mod spread;

#[cfg(test)]
mod tests;

pub use back_to_back::BackToBack;
pub use connections::{Capacity, Establishment};
pub use frame_loss::FrameLoss;
pub use latency::Latency;
pub use recovery::Recovery;
pub use variation::DelayVariation;

use crate::delay::Variation;
use crate::latency_histogram::LatencyHistogram;
use crate::receive::Tally;
use crate::result;
use crate::series::Series;
use crate::trial::{Conditions, Outcome, Reason, Trial};
use std::fmt;
use std::time::Duration;
use streams::StreamOutput;
use tcp::{TcpLoad, TcpOutput};
use wire::{FrameLen, PacketRate};

/// What one trial is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrialInput {
    /// A constant load: RFC 9971's trial load and duration.
    Steady {
        /// From each port.
        load: PacketRate,
        /// How long frames are sent.
        duration: Duration,
        /// Whose latencies are wanted one by one.
        tag: Option<Tag>,
    },
    /// So many frames from each port at the smallest gap the medium has (RFC 2544 §26.4).
    Burst {
        /// How many from each port.
        frames: u64,
    },
    /// A high load that drops to a low one (RFC 2544 §26.5).
    StepDown {
        /// The load at first, from each port.
        high: PacketRate,
        /// And for how long.
        high_for: Duration,
        /// The load then.
        low: PacketRate,
        /// And for how long.
        low_for: Duration,
    },
    /// A constant load, and the device is reset in its midst (RFC 2544 §26.6).
    Reset {
        /// From each port.
        load: PacketRate,
        /// How long frames are sent before.
        before: Duration,
        /// And after the reset at most.
        after: Duration,
    },
    /// That many new connections, each by one frame, at this rate; then one frame back on each
    /// (RFC 9693). Nothing is known to the device before.
    Establish {
        /// How many.
        connections: u64,
        /// New ones per second.
        rate: PacketRate,
        /// Frames per second on the way back.
        validation: PacketRate,
    },
    /// The device is made to forget that many connections, which it knew (RFC 9693).
    TearDown {
        /// How many.
        connections: u64,
    },
    /// That many addresses are shown to a bridge at this rate, then a frame is sent to each
    /// (RFC 2889 §5.7, §5.8); frames that other ports see were flooded.
    Learn {
        /// How many.
        addresses: u64,
        /// Shown per second.
        rate: PacketRate,
    },
    /// A constant load of broadcasts from one port (RFC 2889 §5.10).
    Broadcast {
        /// From that port.
        load: PacketRate,
        /// For how long.
        duration: Duration,
    },
    /// Two ports send at this load, the first half of it to a port nobody else sends to, the rest
    /// and all of the second to one port: more than that can carry (RFC 2889 §5.5).
    Congestion {
        /// From each of the two.
        load: PacketRate,
        /// For how long.
        duration: Duration,
    },
    /// A constant load of frames of another length, whatever of it comes through.
    Flood {
        /// The length.
        frame: FrameLen,
        /// From each port.
        load: PacketRate,
        /// For how long.
        duration: Duration,
    },
    /// Hosts that open connections, ask, answer and close (RFC 9411 §7).
    Tcp(TcpLoad),
    /// The plan's own streams, each with its headers, lengths and schedule.
    Streams {
        /// How long they take.
        duration: Duration,
        /// No more frames of each.
        most: u64,
    },
}

/// Frames whose latencies are wanted one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Not before this time after the trial's beginning.
    pub after: Duration,
    /// How many, evenly over the rest of the trial.
    pub frames: u64,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialOutput {
    /// What went out and came back, all ports together, and what that says.
    pub trial: Trial,
    /// Latencies of every frame received, in nanoseconds, if they were looked at.
    pub latency: Option<LatencyHistogram>,
    /// Latencies of the tagged frames that came back, in nanoseconds: of each stream that had some
    /// tagged.
    pub tagged_ns: Vec<Vec<u64>>,
    /// How many were tagged of each of these streams, at the least: no more than were sent.
    pub tagged: u64,
    /// How much latencies vary, those of all streams together: differences are of frames that one
    /// stream sent one after the other.
    pub variation: Option<Variation>,
    /// [`TrialInput::StepDown`]: from the drop of the load to the last frame lost after it;
    /// [`TrialInput::Reset`]: from the last frame before to the first after;
    /// [`TrialInput::TearDown`]: how long it took. Of several directions the longest;
    /// none if one of them did not come back.
    pub time: Option<Duration>,
    /// From the first frame that came back to the last.
    pub arriving: Option<Duration>,
    /// Frames that came out of ports they were not sent to.
    pub flooded: u64,
    /// Frames that the tester sent beside those of the trial: ARP, a modifier's (RFC 2544 §11).
    pub beside: u64,
    /// [`TrialInput::Congestion`]: frames to the port that was not congested, sent and received.
    pub aside: Option<(u64, u64)>,
    /// [`TrialInput::Tcp`]: what both ends counted.
    pub tcp: Option<Box<TcpOutput>>,
    /// [`TrialInput::Streams`]: of each.
    pub streams: Vec<StreamOutput>,
    /// Of all others: what went from port to port, if that was more than one way.
    pub directions: Vec<Direction>,
    /// When frames went and came, of trials that took long enough.
    pub series: Option<Series>,
    /// Under what conditions it ran, as far as whoever ran it looked.
    pub conditions: Conditions,
}

/// What went from a port to another, all streams of that way together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Direction {
    /// The ports it goes from and to, from 1.
    pub ports: (u32, u32),
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// What came where it was to come.
    pub tally: Tally,
    /// Frames that came elsewhere.
    pub elsewhere: u64,
    /// Latencies of all frames received, in nanoseconds.
    pub latency: Option<result::Latency>,
    /// Those of tagged frames.
    pub tagged: Option<result::Latency>,
    /// How much latencies vary.
    pub variation: Option<Variation>,
    /// See [`TrialOutput::time`].
    pub time: Option<Duration>,
}

impl TrialOutput {
    /// Of counts alone.
    pub fn of(trial: Trial) -> TrialOutput {
        TrialOutput {
            trial,
            latency: None,
            tagged_ns: Vec::new(),
            tagged: 0,
            variation: None,
            time: None,
            arriving: None,
            flooded: 0,
            beside: 0,
            aside: None,
            tcp: None,
            streams: Vec::new(),
            directions: Vec::new(),
            series: None,
            conditions: Conditions::default(),
        }
    }

    /// Whether the user had enough of it in its midst.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.trial.outcome, Outcome::Invalid(Reason::Interrupted(_)))
    }

    /// The share of the frames sent that did not come back (RFC 2544 §26.3); 0 if none was sent.
    pub fn loss_ratio(&self) -> f64 {
        let counts = &self.trial.counts;
        let lost = counts.sent.saturating_sub(counts.received);
        if counts.sent == 0 { 0.0 } else { lost as f64 / counts.sent as f64 }
    }
}

/// Why nothing more can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The user has had enough.
    Interrupted,
    /// The surroundings do not allow it, or the device cannot be used: what, and what was seen.
    Broken(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Interrupted => f.write_str("interrupted"),
            Stop::Broken(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Stop {}

/// Runs trials: RFC 9971's measurer.
pub trait Measurer {
    /// Runs one. Of a trial that was interrupted in its midst it gives what there is, invalid by
    /// [`Reason::Interrupted`].
    ///
    /// # Errors
    /// [`Stop`]: not even an invalid trial came of it.
    fn trial(&mut self, input: &TrialInput) -> Result<TrialOutput, Stop>;
}

/// A trial that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// What was asked for.
    pub input: TrialInput,
    /// What came of it.
    pub output: TrialOutput,
}

/// A measurer, how patient one is with it, and all that it was asked.
pub struct Run<'a> {
    measurer: &'a mut dyn Measurer,
    /// How often an invalid trial is repeated.
    pub repeats: u32,
    /// How long trials may take, all in all, that repeat disturbed ones
    /// ([`Reason::is_disturbance`]): these are repeated as
    /// often as it takes, as long as this lasts.
    pub patience: Duration,
    /// Every trial in its order, the invalid ones included.
    pub journal: Vec<Tried>,
}

/// A trial costs at least this of the patience, however short it was.
const SHORTEST: Duration = Duration::from_millis(10);

impl<'a> Run<'a> {
    /// A run that repeats an invalid trial twice.
    pub fn new(measurer: &'a mut dyn Measurer) -> Run<'a> {
        Run { measurer, repeats: 2, patience: Duration::ZERO, journal: Vec::new() }
    }

    /// A trial; if it is invalid, again, as often as [`repeats`](Self::repeats) allows; if it was
    /// disturbed, as long as there is [`patience`](Self::patience). The last one may be invalid all
    /// the same.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn trial(&mut self, input: TrialInput) -> Result<TrialOutput, Stop> {
        let mut again = 0;
        loop {
            let output = self.undisturbed(input)?;
            match output.trial.outcome {
                Outcome::Invalid(reason) if again < self.repeats && !reason.is_disturbance() => {}
                _ => return Ok(output),
            }
            again += 1;
        }
    }

    /// A trial; if it was disturbed, again, as long as there is patience. What it can do at this
    /// load does not matter here.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn undisturbed(&mut self, input: TrialInput) -> Result<TrialOutput, Stop> {
        loop {
            let output = self.once(input)?;
            match output.trial.outcome {
                Outcome::Invalid(reason) if reason.is_disturbance() && !self.patience.is_zero() => {
                    let took = output.trial.duration.max(SHORTEST);
                    self.patience = self.patience.saturating_sub(took);
                }
                _ => return Ok(output),
            }
        }
    }

    /// A trial, whatever comes of it. One that was interrupted is noted with what there is of it,
    /// and is the last.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn once(&mut self, input: TrialInput) -> Result<TrialOutput, Stop> {
        let output = self.measurer.trial(&input)?;
        self.journal.push(Tried { input, output: output.clone() });
        if output.is_interrupted() { Err(Stop::Interrupted) } else { Ok(output) }
    }

    /// A trial of a constant load that nobody looks closer at.
    ///
    /// # Errors
    /// [`Stop`].
    pub fn steady(&mut self, load: PacketRate, duration: Duration) -> Result<TrialOutput, Stop> {
        self.trial(TrialInput::Steady { load, duration, tag: None })
    }
}

/// Seconds as names have them: `60s`, `0.2s`.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{}s", duration.as_secs_f64())
}
