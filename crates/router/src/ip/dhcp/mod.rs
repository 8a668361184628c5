//! DHCP (RFC 2131): `/ip dhcp-server` gives out addresses, `/ip dhcp-client` asks for one.
//!
//! ```text
//! filter input ─► LOCAL IN ─► [server] ─► leases ─► link_out
//!           link_in ─► IP? ─► [client] ─► news: an address, a route ─► the compiler
//!                     timers ─┘     └─► link_out
//! ```
//!
//! Both send frames past IP, as programs do that have no address yet. What a server gets passes the
//! firewall; what a client waits for does not, as with RouterOS, whose client has a raw socket.
//!
//! **Missing**: RADIUS, `make-static`, routing marks of a client's route.

// The property tables.
pub(crate) mod menu;
// Options that users write.
pub(crate) mod option;
// What the configuration means.
pub(crate) mod settings;
// What was given out.
pub(crate) mod lease;
// The server.
pub(crate) mod server;
// The client.
pub(crate) mod client;
// What is done with the menus.
pub(crate) mod facilities;
// Clients of servers elsewhere.
pub(crate) mod relay;
