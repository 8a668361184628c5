//! The swarm: whole networks under random faults, in virtual time, from seeds that repeat them.
//!
//! ```text
//! seed ─► draw ─► Case ─► net::run ─┬─► nothing wrong: what states were reached
//!                  ▲                └─► Failure ─► shrink ─► a Case of a screenful, and its frames
//!                  └── a file: an old failure, for ever
//! ```
//!
//! What holds in every run: the fast router sends and shows what the slow one does; no frame is lost
//! without a name, or comes twice or out of order without a fault that makes it so; no table outgrows
//! its bound; an export leads to itself. And when the faults are over and all changes undone, everybody
//! reaches whom he reached before.
//!
//! Missing: **a full slab** (the two routers of a box would run out at different
//! times), **clocks that step** (a router has none).

// What a run follows from, as a file.
mod case;
// A random row that a seed repeats.
pub(crate) mod dice;
// From a seed to a case.
mod draw;
// What its boxes are told.
mod lines;
// Hosts.
mod host;
// Their side of TCP.
mod client;
// Seed after seed.
mod hunt;
// Frames that hosts should not send.
mod odd;
// A case that runs.
mod net;
// A router, and the slow one beside it.
mod pair;
// States that somebody should reach.
mod reached;
// A failing case made smaller.
mod shrink;

pub use case::Case;
pub use draw::draw;
pub use hunt::{Bag, Find, Hunt, hunt, run};
pub use net::{Failure, Outcome};
pub use reached::Reached;
pub use shrink::shrink;
