//! PPTP (RFC 2637): `/interface pptp-client`, and `/interface pptp-server` with its sessions.
//!
//! ```text
//! client  TCP 1723: start ─► call ─► PPP in GRE, packets numbered and acknowledged ─► pptp-out1 runs
//! server  the other side of it: a control connection has calls, mostly one         ─► <pptp-user>
//! ```
//!
//! Who talks to whom is in `state`; what a session is, is PPP's ([`ppp`](crate::interface::ppp)). Packets may
//! come in another order, or not at all; one that comes twice is dropped. Missing: **calls of a server to
//! its clients**, **the other end's window** (nothing waits for an acknowledgement, as with Linux).

// The menus.
pub(crate) mod menu;
// Control connections and calls as they happen.
pub(crate) mod state;
// What is shown.
pub(crate) mod status;

use super::ppp::dial::{Binding, Diallers, Listener};
use config::Tree;

/// Clients, the server if it is enabled, and its bindings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pptp {
    pub(crate) clients: Diallers,
    pub(crate) server: Option<Listener>,
    pub(crate) bindings: Vec<Binding>,
}

impl Pptp {
    /// Reads the menus.
    pub(super) fn read(tree: &Tree) -> Pptp {
        let item = tree.read_settings(&menu::SERVER);
        let server = item.bool("enabled").then(|| Listener::read(&item, u16::MAX));
        let bindings = Binding::read(tree, &menu::SESSION);
        Pptp { clients: Diallers::read(tree, &menu::CLIENT, |_| false), server, bindings }
    }
}
