//! Queues: how fast traffic may pass, and what waits meanwhile.
//!
//! ```text
//! … postrouting ─► [simple queues] ─► L          (and after input, for what is for the router)
//!
//!   simple: which queue? ──► leaf ──► tokens, and nobody waits ──────────► pass, at once
//!   (once a flow; then the    │
//!    leaf is in its recipe)   ├─────► no tokens: wait ─► … ─► release ──► pass, in order
//!                             └─────► no room to wait ─────────────────► queue-full
//! ```
//!
//! What is compiled ([`Simple`]) knows which packets belong to which leaf; what is state
//! ([`Queues`]) holds tokens, waiting packets and counters and outlives every change of the
//! configuration. Never looks into a frame, and never reads a clock.
//!
//! Missing: **one queue served by several cores**: [`lease`] shares a limit among lanes, which are missing.

// Who waits, what was dropped, how fast: of leaves that have something to do.
mod activity;
// The token bucket: what a rate limit is made of.
pub mod bucket;
// Bursts: for a while another limit.
pub mod burst;
// What of the queues is new, gone or limited otherwise.
pub mod change;
// Disciplines: who of those that wait in one class goes next.
pub mod discipline;
// The facilities.
pub(crate) mod facilities;
// `/queue interface`: how frames wait at ports.
pub(crate) mod interface;
// Leaves: tokens, waiting packets, counters.
pub mod leaf;
// Places of leaves.
mod leaves;
// One limit for several lanes.
pub mod lease;
// Limits of plain leaves, each once.
mod limits;
// The menu `/queue simple`.
pub mod menu;
// Packets that wait, in rings.
mod nodes;
// The classes that a packet passes, one after the other.
pub mod path;
// What is configured for a class.
mod settings;
// `/queue simple`, compiled: which packet belongs to which leaf.
pub mod simple;
// HTB: parents, limit-at, priorities, borrowing.
pub mod tree;
// `/queue tree`: classes on interfaces and on global.
pub mod trees;
// `/queue type`: kinds by name.
pub mod types;
// Who is due when.
mod wheel;

pub use bucket::Limit;
pub use burst::BurstLimit;
pub use change::Change;
pub use discipline::Kind;
pub use leaf::{Decision, Direction, LeafStats, QueueId, QueueLeafId, Queues};
pub use nodes::{Label, Marks, Waited};
pub use path::Path;
pub use settings::Settings;
pub use simple::Simple;
pub use trees::Trees;
pub use types::Types;
