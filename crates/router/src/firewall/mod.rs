//! `/ip firewall`: rules over packets and connections.
//!
//! ```text
//! typed: menu, syntax ─► read, compile ─► rule (gate, matcher) ─► walk: raw, mangle, filter, nat
//!                            └► invalid: which rules, and why        └► counters, state, log, trace
//! ```
//!
//! **Missing**: what each module names.

// `/ip firewall raw`: what is dropped, or not tracked, before anything is known of it.
pub mod raw;

// `/ip firewall mangle`: marks, and headers edited.
pub mod mangle;

// `/ip firewall filter`: who may pass.
pub mod filter;

// `/ip firewall nat`: which translation a connection gets.
pub mod nat;

// The menus: every property, once.
pub mod menu;

// What is done with the menus.
pub(crate) mod facilities;

// Values with a syntax of the firewall's own: `limit`, `tcp-flags` and the like.
pub mod syntax;

// `/ip firewall address-list`: named sets of addresses.
pub mod address_list;

// From the items of a menu to rules, chains and the list of invalid ones.
pub mod compile;

// From a property as typed to a matcher.
pub(crate) mod read;

// What a rule does to a packet or its connection: marks, edits, FastTrack, no tracking.
pub(crate) mod effect;

// Names of marks, and their numbers.
pub mod mark;

// Rules that can never match, and why.
pub mod invalid;

// Rules compiled, and the walk through them.
pub mod rule;

// The cheap part of a rule's matchers, all at once.
pub(crate) mod gate;

// Long lists of rules, found by classes.
pub(crate) mod classes;

// What a rule looks at, in the documented order.
pub mod matcher;

// What rules remember between packets: buckets, counts, the dice.
pub mod state;

// Rules that no packet reaches.
mod shadow;
// What rules do to all packets at once.
pub(crate) mod analyze;

// Why rules did not match, for somebody who asks.
pub(crate) mod told;

// Log lines of rules.
pub mod log;

// `/ip firewall connection`: connection tracking.
pub mod connection;

// Which new addresses a connection gets, and frames rewritten to them.
pub mod translation;

#[cfg(test)]
mod tests;
