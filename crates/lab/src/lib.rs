//! Where it happens: devices under test, their traffic, the runs that measure them, and labs of
//! many devices.
//!
//! ```text
//! configs/*.rsc ─► Device (router, console, ports) ══ memory wires ══ Tester (hosts, streams)
//!                     └────────── one_core · two_cores ──────────────────┘
//!                                        │ trial
//!                     bench: self-test, highest load, search ─► measure::Row
//!
//! labs/*.yaml ─► Topology ─► Node ══ cables ══ Node … ─┬─ World   virtual time
//!                                                      └─ Live    a thread each, behind a Gate
//! ```
//!
//! The one place where clocks are read and threads are started. Never computes a statistic (that is
//! `measure`) and never draws (that is `report`).
//! Missing: **network namespaces, the Linux kernel and outside boxes as devices**.

// The clock of a run.
pub mod clock;

// One RouterOS box: router, tools, `/system`.
pub mod node;
// Its files, and the command that a session has under way on it.
pub mod underway;
// How sessions get in between two breaths.
pub mod gate;
// A node in real time, on a thread of its own.
pub mod live;
// Nodes and their cables in virtual time.
pub mod world;
// A lab's file: nodes, links, steps.
pub mod topology;
// From a file to nodes with cables between them.
pub mod assemble;
// Going through a lab's steps.
pub mod run;
// Where a lab that was left running is found.
pub mod state;

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

pub use bench::Plan;
pub use configuration::Configuration;
pub use device::Device;
