//! Devices under test, their traffic, the runs that measure them, and labs of
//! many devices.
//!
//! ```text
//! configs/*.rsc ─► Device (router, console, ports) ══ memory wires ══ Tester (hosts, streams)
//!                     └────────── one_core · two_cores ──────────────────┘
//!                                        │ trial
//!                     bench: self-test, highest load, search ─► measure::Row
//! linux kernel, our router ══ veths ══ Tester ─┘
//!
//! labs/*.yaml ─► Topology ─► Node ══ cables ══ Node … ─┬─ World   virtual time
//!                                                      └─ Live    a thread each, behind a Gate
//! ```
//!
//! Clocks are read and threads are started here and in `daemon`, which is the product without the
//! bench. Never computes a statistic (that is `measure`) and never draws (that is `report`).
//! Missing: **outside boxes and DPDK as devices**.

// The product, by the names it has here: boxes, their threads, the machine they are on.
pub use daemon::{
    alarm, clock, gate, import, live, machine, node, outlet, placement, state, underway,
};
#[cfg(target_os = "linux")]
pub use daemon::{linux, real};

// Nodes and their cables in virtual time.
pub mod world;
// A lab's file: nodes, links, steps.
pub mod topology;
// A host of a lab: the Linux kernel in a namespace, and programs.
pub mod host;
// From a file to nodes with cables between them.
pub mod assemble;
// Going through a lab's steps.
pub mod run;
// Networks under random faults, from seeds.
pub mod swarm;
// The router's process under faults, between real programs.
#[cfg(target_os = "linux")]
pub mod chaos;

// A router in memory: its console, its ports, our ends of the wires.
pub mod device;

// What each row of the table is: a script, and the traffic it is measured with.
pub mod configuration;
// Full tables: read from a file, or made up, and dealt out over next hops.
pub mod routes;
// The tester: hosts on our ends of the wires, and what a trial has them do.
pub mod tester;
// The same in the kernel, for devices on veth pairs.
#[cfg(target_os = "linux")]
pub mod kernel_tester;
// Ways from port to port that carry nothing.
pub mod ways;
// The addresses of the tester's hosts, and of whom they send to.
pub mod net;
// The tester's hosts, and the streams between them.
pub mod traffic;

// Interfaces of this machine that a tester takes.
#[cfg(target_os = "linux")]
mod interfaces;
// What frames above an MTU of 1500 take: slots, MTUs.
pub mod jumbo;

// The router fed from memory, only its own time counted.
pub mod one_core;
// Tester and router on a core each, in real time.
pub mod two_cores;

// The Linux kernel as a device, set up from a configuration.
#[cfg(target_os = "linux")]
pub mod kernel;

// Kinds of plans.
pub mod plans;
// All cells of the performance table.
pub mod bench;
// Plans, and the suites they are run as.
pub mod suite;
// Real iperf3 processes through a device.
#[cfg(target_os = "linux")]
pub mod iperf3;

// How a test says that it cannot run here.
#[cfg(test)]
#[path = "../../port/tests/left_out/mod.rs"]
mod left_out;

pub use bench::Plan;
pub use configuration::Configuration;
pub use device::Device;
