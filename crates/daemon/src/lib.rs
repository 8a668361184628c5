//! Routers that run: a RouterOS box, on a thread of its own, on the interfaces of a Linux machine.
//!
//! ```text
//!  sessions ─► gate ─► Node (router, generator, /system) ─► Live   a thread, between two breaths
//!                                                          Real   interfaces, workers, the kernel
//! ```
//!
//! The product without the bench: clocks are read, threads are started and interfaces are opened here,
//! and nothing is measured. Never knows a device under test, a lab or a plan.

// The clock of a run.
pub mod clock;

// The Linux machine around the router.
#[cfg(target_os = "linux")]
pub mod linux;

// One RouterOS box: router, tools, `/system`.
pub mod node;
// Its files, and the command that a session has under way on it.
pub mod underway;
// Wakes of a thread that waits for frames.
pub mod alarm;
// Lines for somebody who may have stopped reading.
pub mod outlet;
// The log on a disk, and on the device's own terminal.
mod journal;
// Sessions' turns between two breaths.
pub mod gate;
// A node in real time, on a thread of its own.
pub mod live;
// A node on real interfaces.
#[cfg(target_os = "linux")]
pub mod real;

// Routers and labs that run, by name.
pub mod state;

// Other boxes' configurations: what of them would work here.
pub mod import;
// Cores, and how far they are apart.
pub mod placement;
// The machine: its name, its processors, its load.
pub mod machine;

// How a test says that it cannot run here.
#[cfg(test)]
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;
