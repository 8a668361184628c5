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
    pub(crate) allows_fast_path: bool,
}

/// The server as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) asks: Ways,
    pub(crate) profile: String,
    pub(crate) one_session: bool,
    pub(crate) max_sessions: usize,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) mru: u16,
    pub(crate) allows_fast_path: bool,
}

/// Clients, the server if it is enabled, and what tunnels are proved with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct L2tp {
    pub(crate) clients: Vec<Client>,
    pub(crate) server: Option<Server>,
    /// Those of its clients, disabled ones among them.
    items: Vec<ItemId>,
    /// By the other end's address; 0 is everybody's.
    secrets: Vec<(u32, String)>,
}

impl L2tp {
    /// Reads the menus.
    pub(super) fn read(tree: &Tree) -> L2tp {
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
                allows_fast_path: item.bool("allow-fast-path"),
            })
        });
        let item = tree.read_settings(&menu::SERVER);
        let server = item.bool("enabled").then(|| Server {
            asks: ways(&item, "authentication"),
            profile: item.text("default-profile"),
            one_session: item.bool("one-session-per-host"),
            max_sessions: match *item.value("max-sessions") {
                Value::Number(max) => usize::try_from(max).unwrap_or(0),
                _ => usize::MAX,
            },
            keepalive: keepalive(&item),
            mru: mru(&item),
            allows_fast_path: item.bool("allow-fast-path"),
        });
        let secrets = tree.read(&menu::SECRET).filter(|item| !item.bool("disabled"));
        let secrets = secrets.map(|item| {
            let address = match item.opt("address").as_deref() {
                Some(Value::Address(address)) => (*address).into(),
                _ => 0,
            };
            (address, item.text("secret"))
        });
        let items = tree.items(menu::CLIENT.path).iter().map(|item| item.id).collect();
        L2tp { items, clients: clients.collect(), server, secrets: secrets.collect() }
    }

    /// Whether a session may be in FastPath; `item` is its client, if it is one's.
    pub(crate) fn allows_fast_path(&self, item: ItemId) -> bool {
        match self.clients.iter().find(|client| client.item == item) {
            Some(client) => client.allows_fast_path,
            None => self.server.as_ref().is_some_and(|server| server.allows_fast_path),
        }
    }

    /// Whether an item is one of its clients.
    pub(crate) fn is_client(&self, item: ItemId) -> bool {
        self.items.contains(&item)
    }

    /// The secret that a tunnel to somebody is proved with, if it is to be proved.
    pub(crate) fn secret(&self, peer: u32) -> Option<&str> {
        let of = |address: u32| self.secrets.iter().find(move |(other, _)| *other == address);
        of(peer).or_else(|| of(0)).map(|(_, secret)| &secret[..])
    }
}

fn mru(item: &Read) -> u16 {
    (item.number("max-mtu").min(item.number("max-mru"))) as u16
}
