//! `/ip dns`: names, for the router's clients: those typed, those kept, and those that others know.
//!
//! ```text
//! filter input ─► LOCAL IN ─► query ─► [typed] ─► [cache] ─► [pending] ─► output ─► a name server
//!                          └► response ─► is it awaited? ─► cache ─► all who have asked
//! ```
//!
//! A response is kept whole, under its question alone: what it says of other names beside is passed on
//! and never believed. Who asks the same meanwhile waits with the first.
//!
//! Servers are asked, and clients answered, over either family.
//!
//! **Missing**: TCP (what is too long is marked so), DNS over HTTPS, names for the router's own tools.

// The property tables.
pub(crate) mod menu;
// `/ip dns static`.
pub(crate) mod typed;
// What servers have said.
pub(crate) mod cache;
// Names in address lists.
pub(crate) mod names;
// Queries, answered and passed on.
pub(crate) mod resolver;
// What is done with the menus.
pub(crate) mod facilities;
