//! Suites: plans, each run by one command.
//!
//! ```text
//!  plans/*.toml ─► plan ─► for each configuration, each frame size: procedure ─► cells of a result
//!                                                                      │
//!                             Bench (measure::procedure::Measurer) ◄───┘
//!                                └ Real:      tester and device on a core each, memory wires
//!                                └ Simulated: wires with a rate, a processor that takes its time
//!                                ├ Wired:     interfaces, and whatever is behind them
//!                                └ Quiet:     nobody; the frames are written, not sent
//! ```
//!
//! Missing: RFC 2544's **hardware and power resets** (§26.6).

// What is measured, of what, by which procedures.
pub mod plan;
// The frames of its traffic.
pub(crate) mod frames;
// From a procedure's trial to frames, and back to counts.
pub mod bench;
// A modifier's own frames.
mod modifier;
// The same of TCP: hosts that open connections.
pub mod tcp;
// The plan's own streams.
mod streams;
// Captures that it replays.
mod replays;
// The built-in router, made and made anew.
mod device;
// Its own account of a procedure.
mod inside;
// The built-in router by the clock, in memory.
pub mod real;
// Devices behind interfaces: the kernel between veths, any box at the end of two cables.
pub mod wired;
// In virtual time.
pub mod simulated;
// Frames that are written, not sent.
pub mod dry_run;
// Whether a device can be put through a plan.
pub mod fit;
// A procedure, run, and what it found.
mod find;
// All of a plan.
pub mod run;

pub use fit::{fit, fits_virtual_time};
pub use plan::Plan;
pub use run::{Device, External, Options, Progress, run, scaled};
