//! Where it happens: devices under test, their traffic, and the runs that measure them.
//!
//! ```text
//! configs/*.rsc ─► Device (router, console, ports) ══ memory wires ══ Tester (hosts, streams)
//!                     └────────── one_core · two_cores ──────────────────┘
//!                                        │ trial
//!                     bench: self-test, highest load, search ─► measure::Row
//! ```
//!
//! The one place where clocks are read and threads are started. Never computes a statistic (that is
//! `measure`) and never draws (that is `report`).
//! Missing: **network namespaces, the Linux kernel and outside boxes as devices**, **topologies
//! from `labs/*.yaml`**.

// The clock of a run.
pub mod clock;
// A router in memory: its console, its ports, our ends of the wires.
pub mod device;

// What each row of the table is: a script, and the traffic it is measured with.
pub mod configuration;
// Full tables: read from a file, or made up, and dealt out over next hops.
pub mod routes;
// The tester: our ends of the wires, introduced to the device.
pub mod tester;
// The tester's hosts, and the streams between them.
pub mod traffic;

// The router fed from memory, only its own time counted.
pub mod one_core;
// Which cores, and how far they are apart.
pub mod placement;
// Tester and router on a core each, in real time.
pub mod two_cores;

// All cells of the performance table.
pub mod bench;
// Which machine this is.
pub mod machine;

pub use bench::{Plan, run};
pub use configuration::Configuration;
pub use device::Device;
