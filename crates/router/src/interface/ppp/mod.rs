//! PPP: what its links have in common, whatever carries them.
//!
//! ```text
//! pppoe, l2tp, pptp ─► packets of a session ─► [machine] ─► Check ─► [users]: secret, profile ─► Terms
//!                                                 └► open ─► [calls] ─► an interface, addresses, routes,
//!                                                                       a queue, lists
//! ```

// `/radius` and `/ppp aaa`.
pub(crate) mod aaa;
// Sessions, and those that are to be, as they happen.
pub(crate) mod calls;
// Clients and servers, what they have in common.
pub(crate) mod dial;
// The rules that `incoming-filter` and `outgoing-filter` make.
pub(crate) mod filters;
// One end of a link.
pub(crate) mod machine;
// `/ppp profile`, `secret` and `active`.
pub(crate) mod menu;
// Encryption.
pub(crate) mod mppe;
// Microsoft's CHAP.
pub(crate) mod mschap;
// The queues that `rate-limit` makes.
pub(crate) mod rate;
// Who may log in, and what he gets.
pub(crate) mod users;
