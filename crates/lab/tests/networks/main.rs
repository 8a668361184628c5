//! Labs on networks of this machine: routers, hosts in namespaces, machines of User Mode Linux.

#[path = "../rig/mod.rs"]
mod rig;

mod access;
mod daemons;
mod hosts;
mod interfaces;
mod iperf3;
mod lossy;
mod queues;
mod real_hosts;
mod uml;
mod uml_vlan;
