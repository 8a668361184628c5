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
//! Missing: **queue tree**, **HTB** (`limit-at`, priorities, parents), **bursts**, **queue types
//! other than the two pfifos**, **`total-*`**, **`time`**, **packet marks**, **one queue served by
//! several cores**.

// The token bucket: what a rate limit is made of.
pub mod bucket;
// What of the queues is new, gone or limited otherwise.
pub mod change;
// Leaves: tokens, waiting packets, counters.
pub mod leaf;
// What is done with the menus.
pub(crate) mod facilities;
// The menu.
pub mod menu;
// `/queue simple`, compiled: which packet belongs to which leaf.
pub mod simple;

pub use bucket::Limit;
pub use change::Change;
pub use leaf::{Decision, Direction, LeafStats, QueueId, QueueLeafId, Queues};
pub use simple::Simple;
