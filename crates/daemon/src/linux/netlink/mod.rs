//! Links, addresses, routes and neighbours of a network namespace: read, made, changed, watched.
//!
//! ```text
//!  Netlink ─► links      add_veth, add_passthru, set_up, set_mtu, set_mac, set_master, move_to …
//!     │    ─► addresses  add_address …
//!     │    ─► routes     add_route, each_route …
//!     │    ─► rules      rules
//!     │    ─► neighbours set_neighbour …
//!     │    ─► connections how many are tracked, all forgotten
//!  Watch  ◄── what of these appears, changes, goes; after an overrun all of it anew
//! ```
//!
//! Our own small part of rtnetlink: what a router and its labs need, no more. Whoever asks waits for
//! the answer; only a [`Watch`] never waits. What is refused says what was tried, what the kernel
//! said, and why, in its own words where it gives them.
//!
//! Missing: **IPv6** but for its addresses, routes and neighbours, which are read, as routing rules are
//! (`ip rule`); **traffic control** (`tc`).

// Messages and their attributes.
mod message;
// A socket: requests and dumps.
mod socket;

// Addresses.
pub mod address;
// What a link's driver can do with XDP.
pub mod device;
// Tracked connections.
pub mod connection;
// Links.
pub mod link;
// Links that have all of another's frames.
mod macvlan;
// The numbers by which a namespace knows others.
mod namespace;
// Neighbours.
pub mod neighbour;
// Next-hop objects.
pub mod object;
// Routes.
pub mod route;
// IPv6's.
pub mod route6;
// Routing rules.
pub mod rule;
// What happens to all of them.
pub mod watch;

pub use address::Address;
pub use connection::Connections;
pub use link::{End, Link, Tun};
pub use neighbour::Neighbour;
pub use route::{NextHop, Route, RouteKind};
pub use route6::{Listed, Route6};
pub use rule::{Rule, RuleAction};
pub use socket::Netlink;
pub use watch::{Event, Place, Topics, Watch};

#[cfg(test)]
mod tests;
