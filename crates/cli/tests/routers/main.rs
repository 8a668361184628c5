//! `wirespeed router` on interfaces of this machine: what it forwards, and what it outlives.
#![cfg(target_os = "linux")]

// The namespaces, the hosts, the router's process.
#[path = "../rig/mod.rs"]
mod rig;

mod chaos;
mod faults;
mod kernel_routes;
mod router;
mod starved;
