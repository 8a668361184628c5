//! `/ip firewall`: rules over packets and connections.

/// `/ip firewall address-list`: named sets of addresses.
pub mod address_list;
/// From the items of a menu to rules, chains and the list of invalid ones.
pub mod compile;
/// `/ip firewall connection`: connection tracking.
pub mod connection;
/// `/ip firewall filter`: who may pass.
pub mod filter;
/// The cheap part of a rule's matchers, all at once.
mod gate;
/// Rules that can never match, and why.
pub mod invalid;
/// Log lines of rules.
pub mod log;
/// What a rule looks at, in the documented order.
pub mod matcher;
/// The menus: every property, once.
pub mod menu;
/// `/ip firewall nat`: which translation a connection gets.
pub mod nat;
/// From a property as typed to a matcher.
mod read;
/// Rules compiled, and the walk through them.
pub mod rule;
/// What rules remember between packets: buckets, counts, the dice.
pub mod state;
/// Values with a syntax of the firewall's own: `limit`, `tcp-flags` and the like.
pub mod syntax;
/// Which new addresses a connection gets, and frames rewritten to them.
pub mod translation;

#[cfg(test)]
mod tests;
