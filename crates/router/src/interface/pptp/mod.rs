//! PPTP (RFC 2637): `/interface pptp-client`, and `/interface pptp-server` with its sessions.
//!
//! ```text
//! client  TCP 1723: start ─► call ─► PPP in GRE, packets numbered and acknowledged ─► pptp-out1 runs
//! server  the other side of it: a control connection has calls, mostly one         ─► <pptp-user>
//! ```
//!
//! Who talks to whom is in `state`; what a session is, is PPP's ([`ppp`](crate::interface::ppp)). Packets may
//! come in another order, or not at all; one that comes twice is dropped. Missing: **calls of a server to
//! its clients**, **the other end's window** (nothing waits for an acknowledgement, as with Linux),
//! **bindings**: interfaces of the server that stay while nobody is there.

// The menus.
pub(crate) mod menu;
// Control connections and calls as they happen.
pub(crate) mod state;
// What is shown.
pub(crate) mod status;

use super::ppp::machine::Ways;
use super::pppoe::{keepalive, ways};
use config::{ItemId, Read, Tree, Value};
use std::time::Duration;

/// A client as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) item: ItemId,
    pub(crate) name: String,
    pub(crate) server: u32,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) allow: Ways,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) mru: u16,
    pub(crate) profile: String,
    pub(crate) route: Option<u8>,
    pub(crate) uses_dns: bool,
}

/// The server as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) asks: Ways,
    pub(crate) profile: String,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) mru: u16,
}

/// Clients, and the server if it is enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pptp {
    pub(crate) clients: Vec<Client>,
    pub(crate) server: Option<Server>,
    /// Those of its clients, disabled ones among them.
    items: Vec<ItemId>,
}

impl Pptp {
    /// Reads the menus.
    pub(super) fn read(tree: &Tree) -> Pptp {
        let clients = tree.read(&menu::CLIENT).filter(|item| !item.bool("disabled"));
        let clients = clients.filter_map(|item| {
            let Value::Address(server) = *item.value("connect-to") else { return None };
            let route = item.bool("add-default-route");
            Some(Client {
                item: item.id(),
                name: item.text("name"),
                server: server.into(),
                user: item.text("user"),
                password: item.text("password"),
                allow: ways(&item, "allow"),
                keepalive: keepalive(&item),
                mru: mru(&item),
                profile: item.text("profile"),
                route: route.then(|| item.number("default-route-distance") as u8),
                uses_dns: item.bool("use-peer-dns"),
            })
        });
        let item = tree.read_settings(&menu::SERVER);
        let server = item.bool("enabled").then(|| Server {
            asks: ways(&item, "authentication"),
            profile: item.text("default-profile"),
            keepalive: keepalive(&item),
            mru: mru(&item),
        });
        let items = tree.items(menu::CLIENT.path).iter().map(|item| item.id).collect();
        Pptp { items, clients: clients.collect(), server }
    }

    /// Whether an item is one of its clients.
    pub(crate) fn is_client(&self, item: ItemId) -> bool {
        self.items.contains(&item)
    }
}

fn mru(item: &Read) -> u16 {
    (item.number("max-mtu").min(item.number("max-mru"))) as u16
}
