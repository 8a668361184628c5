//! Suites: plans, each run by one command.
//!
//! ```text
//!  plans/*.toml ─► plan ─► for each configuration, each frame size: procedure ─► cells of a result
//!                                                                      │
//!                             Bench (measure::procedure::Measurer) ◄───┘
//!                                └ Real:      tester and device on a core each, memory wires
//!                                └ Simulated: wires with a rate, a processor that takes its time
//! ```
//!
//! Missing: **devices behind real interfaces**; RFC 2544's **SNMP and routing-update modifiers**
//! (§11.2, §11.3), **hardware and power resets** (§26.6).

// What is measured, of what, by which procedures.
pub mod plan;
// Hosts on the device's ports, and what one trial has them do.
pub mod tester;
// From a procedure's trial to frames, and back to counts.
pub mod bench;
// The same of TCP: hosts that open connections.
pub mod tcp;
// The built-in router, made and made anew.
mod device;
// By the clock.
pub mod real;
// In virtual time.
pub mod simulated;
// All of a plan.
pub mod run;

pub use plan::Plan;
pub use run::{Options, Progress, run, scaled};
