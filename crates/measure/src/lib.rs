//! The tester: how much, how late, lost.
//!
//! ```text
//!  template ─► stream ─► send ══ port ══ device ══ port ══► receive
//!                          │                                   │
//!                          └────────────► trial ◄──────────────┘
//!                                           ▲
//!                          self-test, search (which loads to try)  ─► result
//! ```
//!
//! Pure: `now` and the ports come as arguments, so the same code measures in real time on two cores
//! and in virtual time in tests. Frames in memory carry no FCS; every length is a
//! [`wire::FrameLen`], every rate names its layer.
//!
//! Never knows what it measures: no device, no router.

// Seeded random numbers.
pub mod prng;

// The versions of IP.
pub mod family;

// What all frames of a stream have in common.
pub mod template;

// The last 18 bytes of every test frame: stream, sequence, time.
pub mod trailer;

// Fields that change from frame to frame, and the values they go through.
pub mod vary;

// Frames of any headers: their bytes, what varies in them, their checksums.
pub mod frame;

// Header stacks by name, and their fields.
pub mod stack;

// Mixes of frame lengths, and how they are written down.
pub mod mix;

// One length or a mix: what size a trial's frames are, and what a wire carries of them.
pub mod size;

// Streams: a template, and what changes from frame to frame.
pub mod stream;

// When frames are due: constant, in bursts, at random, faster and faster.
pub mod schedule;

// Sending them then, and how many were.
pub mod send;

// What a router is asked and told meanwhile.
pub mod control;

// Which numbers of a sequence have come: in order, late, twice.
pub mod sequence;

// Many times: quantiles rounded, least, greatest and sum exact.
pub mod latency_histogram;

// How late frames are, and how much that varies.
pub mod delay;

// What devices say of themselves, which is no test frame.
mod message;

// What came back, counted exactly.
pub mod receive;

// The frames of a capture, sent again and known again.
pub mod replay;

// The same of the kernel's packet generator.
pub mod pktgen;

// The same of a capture, whosever test frames it has.
pub mod survey;

// Single frames, where a procedure wants more than sums.
pub mod watch;

// When frames went and came: a trial in equal intervals.
pub mod series;

// How much time the tester's loop had left.
pub mod busy;

// One trial: pass, fail, or invalid because the tester fell short.
pub mod trial;

// Throughput by several criteria at once, on devices that lose a frame now and then (RFC 9971).
pub mod mlrsearch;

// Which trials the RFCs want, and what they say.
pub mod procedure;

// Two devices measured by turns: ratios, and whether they say anything.
pub mod compare;

// TCP as thousands of hosts speak it.
pub mod tcp;

// Histograms as text.
pub mod histogram;

// Results of suites: every figure named by its criterion, every trial.
pub mod suite_result;

// Results: versioned, serialisable, and checked for what cannot be.
pub mod result;

// The iperf3 method: what pairs of processes measured, on every layer.
pub mod iperf3;

pub use compare::{Comparison, Unpaired};
pub use family::Family;
pub use frame::{FramePlan, Lengths};
pub use mix::Mix;
pub use prng::Prng;
pub use receive::{Receiver, Tally};
pub use result::{
    Environment, Latency, Limit, Measured, Medium, Mode, Results, Row, Setup, Verdict,
};
pub use schedule::{Load, Pace, Rate, Schedule};
pub use send::Sender;
pub use size::FrameSize;
pub use stack::Stack;
pub use stream::{Field, Pick, Stream, StreamPlan, Values, Variation};
pub use suite_result::SuiteResults;
pub use template::{Ends, Template};
pub use trailer::Trailer;
pub use trial::{Conditions, Counts, Outcome, Trial};
