//! The Linux machine around the router: its links, addresses, routes and neighbours.
//!
//! ```text
//!  namespace ◄── netlink ──► links, addresses, routes, neighbours; what happens to them
//! ```
//!
//! Never touches a frame; that is `port`'s.

// What the machine allows, told before anything is touched.
pub mod check;
// Links, addresses, routes and neighbours: read, made, changed, watched.
pub mod netlink;
// Commands of other programs.
pub mod command;
// Who else has an interface's frames.
pub mod others;
// Whose a TAP interface is.
pub mod tap;
// The other end of a veth pair, and what its kernel leaves undone.
pub mod veth;
