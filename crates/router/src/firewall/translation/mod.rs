//! Translations: which new 5-tuple a connection gets, and how packets are rewritten to it.
//!
//! ```text
//!  conntrack ─► New ─► [dst-nat] ─► routing ─► filter ─► [src-nat] ─► confirm
//!                        choose                             choose      the reply's tuple is
//!  known flow ─► rewrite (or the fast path's own)                       nobody else's
//! ```
//!
//! The rules (`nat`) say which addresses and ports; here one of them is chosen
//! (`choose`) so that no two connections have the same reply tuple, and frames are rewritten
//! (`rewrite`) with all their checksums, ICMP errors with the packets they quote included.
//!
//! Never reads a rule; never decides whether a packet may pass.

// Which new tuple.
pub mod choose;
// Frames rewritten in place.
pub mod rewrite;

pub use choose::{NatKind, NatTarget, Pick};
pub use rewrite::{rewrite, rewrite_quoted};

#[cfg(test)]
mod tests;
