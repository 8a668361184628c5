//! How much, how late, lost: the tester.
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
//! Missing: **the RFC procedures** (their search, MLRsearch, is there).

// Seeded random numbers.
pub mod prng;

// What all frames of a stream have in common.
pub mod template;

// The last 18 bytes of every test frame: stream, sequence, time.
pub mod trailer;

// Fields that change from frame to frame, and the values they go through.
pub mod vary;

// Frames of any headers: their bytes, what varies in them, their checksums.
pub mod frame;

// Streams: a template, and what changes from frame to frame.
pub mod stream;

// When frames are sent, and how many were.
pub mod send;

// Which numbers of a sequence have come: in order, late, twice.
pub mod sequence;

// What came back, counted exactly.
pub mod receive;

// One trial: pass, fail, or invalid because the tester fell short.
pub mod trial;

// The tester alone: its highest rate, its lowest latency, and what follows for results.
pub mod self_test;

// The highest load without loss.
pub mod search;

// Throughput by several criteria at once, on devices that lose a frame now and then (RFC 9971).
pub mod mlrsearch;

// `/tool traffic-generator`: the tester as a part of a box.
pub mod generator;

// Results: versioned, serialisable, and checked for what cannot be.
pub mod result;

pub use frame::FramePlan;
pub use generator::Generator;
pub use prng::Prng;
pub use receive::{Receiver, Tally};
pub use result::{Environment, Latency, Limit, Measured, Mode, Results, Row, Verdict};
pub use search::Search;
pub use self_test::SelfTest;
pub use send::{Load, Pace, Schedule, Sender};
pub use stream::{Field, Pick, Stream, StreamPlan, Values, Variation};
pub use template::Template;
pub use trailer::Trailer;
pub use trial::{Conditions, Counts, Outcome, Trial};
