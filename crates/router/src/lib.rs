//! What happens between the ports: the packet flow of RouterOS v6 and all its facilities.
//!
//! No I/O, no clock, no thread, no `unsafe`: frames and `now` come in, frames go out, so the same
//! code runs on cores in real time and in tests in virtual time, bit for bit repeatable.

/// Who counts what: counters that survive every change of the configuration.
pub mod counter;
/// Every way out has a name: why a packet was dropped.
pub mod discard;
/// Interfaces and their identities.
pub mod interface;
/// A packet on the slow path, and what matchers see of it.
pub mod packet;
/// What a packet's way depended on, and what it counted: the makings of a recipe.
pub mod trace;

/// IPv4 as RouterOS's `/ip` menu has it: the forwarding table.
pub mod ip;
