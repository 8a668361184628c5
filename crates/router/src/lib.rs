//! The router: the packet flow of RouterOS v6 between ports, and all its facilities.
//!
//! No I/O, no clock, no thread, no `unsafe`: frames and `now` come in, frames go out, so the same
//! code runs on cores in real time and in tests in virtual time, bit for bit repeatable.

// What the configuration means: compiled, immutable, swapped whole.
pub mod program;
// The control side: from a configuration to what changes in the router.
pub mod compiler;
// A change reaches the data plane.
mod apply;
// One router: its program, its parts, and the breath that moves frames.
pub mod router;
// The parts of a router: frames, an address family's stack, links, what was learnt and counted.
mod parts;

// What stands beside the router in the same box: a traffic generator.
mod beside;

// The same semantics at speed: batches, the FIB, and recipes.
mod fast;
// The packet flow as straight-line code: the specification.
mod flow;
// What the boxes of the flow need of the router.
mod boxes;
// Frames that are not finished: checksums to complete, super-frames to cut.
mod offload;
// What is on its way out during one breath.
mod outbox;
// What a flow's packet went through, kept so that the next ones need not.
mod recipe;
// The hash of tables that packets ask.
mod secret;
// The boxes of the published packet flow, by name.
pub mod step;
// What happens to a packet, told while somebody listens.
mod story;

// Where every frame is, and what the tables hold: for tests and status.
pub mod account;
// Which item of the configuration has which number.
pub mod book;
// Who counts what: counters that survive every change of the configuration.
pub mod counter;
// Every way out has a name: why a packet was dropped.
pub mod discard;
// `/ip firewall`: rules over packets and connections.
pub mod firewall;
// A packet on the slow path, and what matchers see of it.
pub mod packet;
// What a packet's way depended on, and what it counted: the makings of a recipe.
pub mod trace;

// Interfaces and their identities; bridges.
pub mod interface;
// IPv4: addresses, routes, neighbours, ICMP, fragments, settings.
pub mod ip;
// IPv6: addresses, routes, neighbours, ICMPv6, settings.
pub mod ipv6;
// MPLS: labels, and LDP.
mod mpls;

// `/system`: the router's name, where its log goes.
pub mod system;
// `/snmp`: an agent.
mod snmp;

// Queues: how fast traffic may pass, and what waits meanwhile.
pub mod queue;

// Each menu with all that is done with it, and their list.
mod facility;
// What the console shows of the running router.
pub mod status;

// Conditions of FastPath and FastTrack.
pub mod unmet;

// `/export version=`: what versions of RouterOS call otherwise.
pub mod version;

// The router's own tools: ping, torch, the sniffer, explain.
pub mod tool;

pub use compiler::{Change, Compiler, News};
pub use facility::{COMMANDS, MENUS};
pub use interface::Link;
pub use ip::services::WantedScript;
pub use parts::{InterfaceCounts, PathCounts, Trouble};
pub use program::PortInfo;
pub use router::Router;
