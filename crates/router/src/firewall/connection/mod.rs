//! `/ip firewall connection`: connection tracking, by which the firewall knows what belongs
//! together.
//!
//! ```text
//!  packet ─► track ─┬─ known ──► state, flow ─► filter ─► …
//!                   ├─ unknown ► New ─► dst-nat ─► filter ─► src-nat ─► confirm ─► two flows
//!                   ├─ ICMP error about a known one ► Related
//!                   └─ else ► Invalid
//!
//!  FlowTable ─ one line a direction ─┐
//!  slab ─ Connection ◄───────────────┴── Timers ◄─ sweep
//! ```
//!
//! A first packet leaves nothing behind until it leaves the router: [`Connections::track`] only
//! says what the connection would be ([`New`]), the NAT rules change that
//! ([`Connections::translate`]), and [`Connections::confirm`] enters it. The fast path meets the
//! same flows ([`FlowTable`]) and judges TCP segments by the same function
//! ([`Connections::tcp_fast`]).
//!
//! Transport checksums are verified for packets that would begin a connection and for ICMP
//! errors, and are not for packets of known flows: so both paths agree, and the ends verify
//! anyway.
//!
//! Never drops a packet; never reads a clock; allocates nothing per packet.
//! Missing: ICMP queries are told apart by identifier only, not by type.
//!
//! [`Connections::track`]: crate::firewall::connection::Connections::track
//! [`Connections::translate`]: crate::firewall::connection::Connections::translate
//! [`Connections::confirm`]: crate::firewall::connection::Connections::confirm
//! [`Connections::tcp_fast`]: crate::firewall::connection::Connections::tcp_fast
//! [`FlowTable`]: crate::firewall::connection::FlowTable
//! [`New`]: crate::firewall::connection::New

// One cache line a direction: the flow table.
pub mod flow;
// What each packet writes of its flow.
pub mod tally;
// From hash to flow number.
mod index;

// What the two directions share.
pub mod record;

// What rules ask of a connection.
mod seen;
// `/ip firewall connection tracking`, as values.
pub mod settings;
// The TCP machine and its windows.
pub mod tcp;
// When connections end.
mod timers;

// The menus: every property, once.
pub mod menu;
// What is done with the menus.
pub(crate) mod facilities;

// A packet as tracking reads it.
mod arrival;
// FastTrack: the flag, and which packets stay on the regular path.
mod fasttrack;
// Connections as the user sees them.
pub mod list;
// How fast they were, from one look at them to the next.
mod look;

// All connections: from packet to state, and what is entered.
mod tracking;
// How they end: asked for, in time, to make room.
mod ending;
// The helpers, and where their servers listen.
pub(crate) mod service;
// Connections that others announce.
pub(crate) mod expected;
// What FTP says of them, and sequence numbers.
pub(crate) mod ftp;
// What IRC says.
pub(crate) mod irc;
// What SIP says, and SDP in it.
pub(crate) mod sip;
// What PPTP says of calls.
pub(crate) mod pptp;
// What routers tell each other of connections.
pub(crate) mod told;
// Flows without a connection.
mod untracked;
// A table in front of the real one, for trials.
mod trial;

pub use flow::{Direction, Flow, FlowId, FlowTable, flow_flag};
pub use list::Entry;
pub use record::{Connection, ConnectionId, Flags};
pub use settings::{Class, Enabled, Settings, Timeouts};
pub use tcp::TcpState;
pub use timers::Rank;
pub(crate) use tracking::NO_PIECES;
pub use tracking::{Connections, Counts, New, Tracking};

#[cfg(test)]
mod tests;
