//! Benches and suites on wires of this machine, which measure.
#![allow(clippy::duplicate_mod, reason = "a pair of veths says by itself what it lacks")]

#[path = "../rig/mod.rs"]
mod rig;

use rig::left_out;

mod devices;
mod external;
mod kernel_tester;
mod rows;
mod suite_jumbo;
mod suite_wired;
