//! PPP: what its links have in common, whatever carries them.
//!
//! ```text
//! pppoe ─► packets of a session ─► [machine] ─► Check ─► [users]: secret, profile ─► addresses
//! ```

// One end of a link.
pub(crate) mod machine;
// `/ppp profile`, `secret` and `active`.
pub(crate) mod menu;
// Who may log in, and what he gets.
pub(crate) mod users;
