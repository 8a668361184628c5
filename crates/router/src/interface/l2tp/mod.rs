//! L2TP version 2 (RFC 2661): `/interface l2tp-client`, and `/interface l2tp-server` with its sessions.
//!
//! ```text
//! client  SCCRQ ─► SCCRP ─► SCCCN, ICRQ ─► ICRP ─► ICCN ─► PPP in UDP ─► l2tp-out1 runs
//! server  the other side of it: a tunnel has sessions, mostly one    ─► <l2tp-user>
//! ```
//!
//! Who talks to whom is in `state`; what a session is, is PPP's ([`ppp`](crate::interface::ppp)). Data is
//! sent without numbers. Missing: **IPsec**, **outgoing calls** by a server, **numbered
//! data**.

// The menus.
pub(crate) mod menu;
// Tunnels as they happen.
pub(crate) mod state;
// What is shown.
pub(crate) mod status;

use super::ppp::dial::{Binding, Diallers, Listener};
use config::{ItemId, Read, Tree, Value};

/// Clients, the server if it is enabled, its bindings, and what tunnels are proved with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct L2tp {
    pub(crate) clients: Diallers,
    pub(crate) server: Option<Listener>,
    /// By the other end's address; 0 is everybody's.
    secrets: Vec<(u32, String)>,
    pub(crate) bindings: Vec<Binding>,
}

impl L2tp {
    /// Reads the menus.
    pub(super) fn read(tree: &Tree) -> L2tp {
        let allows = |item: &Read| item.bool("allow-fast-path");
        let clients = Diallers::read(tree, &menu::CLIENT, allows);
        let item = tree.read_settings(&menu::SERVER);
        let server = || Listener::read(&item, u16::MAX).limited(&item);
        let server = item.bool("enabled").then(server);
        let server = server.map(|server| Listener { allows_fast_path: allows(&item), ..server });
        let secrets = tree.read(&menu::SECRET).filter(|item| !item.bool("disabled"));
        let secrets = secrets.map(|item| {
            let address = match item.opt("address").as_deref() {
                Some(Value::Address(address)) => (*address).into(),
                _ => 0,
            };
            (address, item.text("secret"))
        });
        let bindings = Binding::read(tree, &menu::SESSION);
        L2tp { clients, server, secrets: secrets.collect(), bindings }
    }

    /// Whether a session may be in FastPath; `item` is its client, if it is one's.
    pub(crate) fn allows_fast_path(&self, item: ItemId) -> bool {
        match self.clients.list.iter().find(|client| client.item == item) {
            Some(client) => client.allows_fast_path,
            None => self.server.as_ref().is_some_and(|server| server.allows_fast_path),
        }
    }

    /// The secret that a tunnel to somebody is proved with, if it is to be proved.
    pub(crate) fn secret(&self, peer: u32) -> Option<&str> {
        let of = |address: u32| self.secrets.iter().find(move |(other, _)| *other == address);
        of(peer).or_else(|| of(0)).map(|(_, secret)| &secret[..])
    }
}
