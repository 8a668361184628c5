//! TCP as thousands of hosts speak it: handshakes, data, windows, retransmission, close.
//!
//! ```text
//!  clients ─ Endpoint ══ port ══ device ══ port ══ Endpoint ─ servers
//!              │ receive: Segment ─► Connection ─► Segments
//!              │ poll:    new connections by the plan's rate, timers
//!              └ Counts:  opened, established, transactions, retransmitted, failed …
//! ```
//!
//! What connection tracking, NAT and FastTrack are loaded with in reality. A connection is RFC 9293
//! with RFC 6298's timer and RFC 5681/6582's congestion control (NewReno); what it carries is made
//! from its offset in the stream (module `content`), so that neither sender nor receiver holds a byte:
//! a connection is a few hundred bytes, whatever is in flight, and every byte received is compared.
//!
//! Pure: time and frames are arguments. The other end may be another endpoint or any real host.
//!
//! Missing: **selective acknowledgements**, **timestamps**, **ECN**, **urgent data**, **path MTU
//! discovery** (the MSS is the plan's), **slow readers** (what comes is read at once), **IPv6**.

// The bytes of a stream, from their offset.
mod content;
// A segment in a frame, read and written.
mod segment;
// What of a stream came early.
mod ranges;
// How much may be under way, and how long to wait for it.
mod congestion;
// One end of one connection.
mod connection;
// What clients do, and what servers answer.
pub mod plan;
// How far a host has come with that on a connection.
mod host;
// All connections of a port.
pub mod endpoint;
// What happened.
pub mod counts;

pub use counts::Counts;
pub use endpoint::Endpoint;
pub use plan::{BadPlan, MSS, NextHop, Plan, Role, Transactions};

#[cfg(test)]
mod tests;
