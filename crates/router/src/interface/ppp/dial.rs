//! Clients and servers of PPP: what they have in common, whatever carries their sessions.
//!
//! ```text
//! a client's properties ─► [Dialler] ─► [Dials]: who dials when ─► a carrier ─► flow::call: begin, redial
//! a server's properties ─► [Listener] ────────────────────────────────┘
//! ```
//!
//! A carrier's menu has these properties, and its own between them.

use super::machine::Ways;
use super::menu::A_PROFILE;
use config::{ItemId, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::collections::HashMap;
use std::time::Duration;
use wire::Moment;

/// A client as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dialler {
    pub(crate) item: ItemId,
    pub(crate) name: String,
    /// Of those that dial an address: the server's.
    pub(crate) server: u32,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) allow: Ways,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) mru: u16,
    pub(crate) profile: String,
    /// The distance of its default route.
    pub(crate) route: Option<u8>,
    /// `use-peer-dns`.
    pub(crate) uses_dns: bool,
    pub(crate) allows_fast_path: bool,
}

impl Dialler {
    /// Reads one. No packet of it is longer than `most`.
    pub(crate) fn read(item: &Read, most: u16) -> Dialler {
        let route = item.bool("add-default-route");
        Dialler {
            item: item.id(),
            name: item.text("name"),
            server: 0,
            user: item.text("user"),
            password: item.text("password"),
            allow: ways(item, "allow"),
            keepalive: keepalive(item),
            mru: mru(item, most),
            profile: item.text("profile"),
            route: route.then(|| item.number("default-route-distance") as u8),
            uses_dns: item.text("use-peer-dns") != "no",
            allows_fast_path: false,
        }
    }
}

/// A server as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) asks: Ways,
    pub(crate) profile: String,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) mru: u16,
    /// `one-session-per-host`.
    pub(crate) one_session: bool,
    pub(crate) max_sessions: usize,
    pub(crate) allows_fast_path: bool,
}

impl Listener {
    /// Reads one, likewise.
    pub(crate) fn read(item: &Read, most: u16) -> Listener {
        Listener {
            asks: ways(item, "authentication"),
            profile: item.text("default-profile"),
            keepalive: keepalive(item),
            mru: mru(item, most),
            one_session: false,
            max_sessions: usize::MAX,
            allows_fast_path: false,
        }
    }

    /// How many sessions hosts may have.
    pub(crate) fn limited(self, item: &Read) -> Listener {
        let max_sessions = match *item.value("max-sessions") {
            Value::Number(max) => usize::try_from(max).unwrap_or(0),
            _ => usize::MAX,
        };
        Listener { one_session: item.bool("one-session-per-host"), max_sessions, ..self }
    }
}

/// Clients that dial an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diallers {
    pub(crate) list: Vec<Dialler>,
    /// Disabled ones among them.
    items: Vec<ItemId>,
}

impl Diallers {
    /// Reads a menu; `fast` says who allows FastPath.
    pub(crate) fn read(tree: &Tree, menu: &Menu, fast: impl Fn(&Read) -> bool) -> Diallers {
        let enabled = tree.read(menu).filter(|item| !item.bool("disabled"));
        let list = enabled.filter_map(|item| {
            let Value::Address(server) = *item.value("connect-to") else { return None };
            let (server, allows_fast_path) = (server.into(), fast(&item));
            Some(Dialler { server, allows_fast_path, ..Dialler::read(&item, u16::MAX) })
        });
        let items = tree.items(menu.path).iter().map(|item| item.id).collect();
        Diallers { list: list.collect(), items }
    }

    /// Whether an item is one of the menu's.
    pub(crate) fn has(&self, item: ItemId) -> bool {
        self.items.contains(&item)
    }
}

/// Clients as they happen, and when they dial; `None` while they have what they have dialled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dials(HashMap<ItemId, (Dialler, Option<Moment>)>);

impl Dials {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, item: ItemId) -> Option<&Dialler> {
        self.0.get(&item).map(|(dialler, _)| dialler)
    }

    /// Whether a client that has dialled is as it was.
    pub(crate) fn is_same(&self, item: ItemId, now: &Diallers) -> bool {
        self.get(item).is_some_and(|dialler| now.list.contains(dialler))
    }

    /// Forgets those that are others now.
    pub(crate) fn keep(&mut self, now: &Diallers) {
        self.0.retain(|_, (dialler, _)| now.list.contains(dialler));
    }

    /// When a client dials: at once, if it is new.
    pub(crate) fn at(&mut self, dialler: &Dialler, now: Moment) -> Option<Moment> {
        self.0.entry(dialler.item).or_insert_with(|| (dialler.clone(), Some(now))).1
    }

    /// It dials then; gives back who it is.
    pub(crate) fn set(&mut self, item: ItemId, at: Option<Moment>) -> Option<&Dialler> {
        let (dialler, dials) = self.0.get_mut(&item)?;
        *dials = at;
        Some(dialler)
    }
}

/// An interface of a server's that stays while its user is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) item: ItemId,
    pub(crate) name: String,
    pub(crate) user: String,
    /// Of PPPoE: of this server's sessions alone; of any if empty.
    service: String,
    enabled: bool,
}

impl Binding {
    /// Reads a menu's.
    pub(crate) fn read(tree: &Tree, menu: &Menu) -> Vec<Binding> {
        let has_service = menu.properties.iter().any(|property| property.name == "service");
        let read = |item: Read| Binding {
            item: item.id(),
            name: item.text("name"),
            user: item.text("user"),
            service: if has_service { item.text("service") } else { String::new() },
            enabled: !item.bool("disabled"),
        };
        tree.read(menu).map(read).collect()
    }

    /// Whether it is for a user's session of this service.
    pub(crate) fn is_for(&self, user: &str, service: &str) -> bool {
        let of_service = self.service.is_empty() || self.service == service;
        self.enabled && self.user == user && of_service
    }
}

fn keepalive(item: &Read) -> Option<Duration> {
    match *item.value("keepalive-timeout") {
        Value::Number(seconds) => Some(Duration::from_secs(seconds.max(0) as u64)),
        _ => None,
    }
}

/// The longest packet: both properties together, and what is below.
fn mru(item: &Read, most: u16) -> u16 {
    let typed = |name| match *item.value(name) {
        Value::Number(number) => number as u16,
        _ => u16::MAX,
    };
    most.min(typed("max-mtu")).min(typed("max-mru"))
}

fn ways(item: &Read, name: &str) -> Ways {
    let all = item.list(name);
    let has = |word: &str| all.iter().any(|value| value.to_string() == word);
    Ways { pap: has("pap"), chap: has("chap"), mschap1: has("mschap1"), mschap2: has("mschap2") }
}

/// The kind of a menu of clients.
pub(crate) const fn clients(auto_name: &'static str) -> MenuKind {
    MenuKind::List { key: Some("name"), auto_name: Some(auto_name), ordered: false, fixed: false }
}

/// What a session is shown with, and a binding, of a server that is dialled by its address.
pub(crate) const SHOWN: &[Property] = &[
    DYNAMIC,
    PASSES,
    NAME,
    WHO,
    Property::new("client-address", Type::Text, "From where.").read_only().column(),
    UPTIME,
    ENCODING,
    ACTUAL_MTU,
];

// Of clients.
/// What a client has that dials an address, but for the last.
const DIALS: &[Property] = &[
    RUNNING,
    NAME,
    MTU,
    MRU,
    MRRU,
    SERVER,
    USER,
    PASSWORD,
    PROFILE,
    KEEPALIVE,
    DEFAULT_ROUTE,
    DISTANCE,
    ON_DEMAND,
    PEER_DNS,
    ALLOW,
];

/// All that it has, what only its carrier has among it.
pub(crate) const fn dials<const N: usize>(own: &[Property]) -> [Property; N] {
    assert!(N == DIALS.len() + own.len() + 1);
    let (mut all, mut at) = ([ACTUAL_MTU; N], 0);
    while at + 1 < N {
        all[at] = if at < DIALS.len() { DIALS[at] } else { own[at - DIALS.len()] };
        at += 1;
    }
    all
}

pub(crate) const RUNNING: Property = Property::flag("running", 'R', "It is connected.");
pub(crate) const NAME: Property =
    Property::new("name", Type::Text, "Name of the interface.").column();
pub(crate) const MTU: Property =
    Property::new("max-mtu", LENGTH, "The longest packet to send.").default("1450");
pub(crate) const MRU: Property =
    Property::new("max-mru", LENGTH, "The longest packet to take; the lower of the two counts.")
        .default("1450");
pub(crate) const MRRU: Property = Property::only(
    "mrru",
    &Type::Or(&["disabled"], &Type::Number(512, 65535)),
    &["disabled"],
    "packets are not sent in parts",
);
const SERVER: Property =
    Property::new("connect-to", Type::Address, "The server.").required().column();
pub(crate) const USER: Property =
    Property::new("user", Type::Text, "The name to log in with.").column();
pub(crate) const PASSWORD: Property =
    Property::new("password", Type::Text, "The password to log in with.");
pub(crate) const PROFILE: Property =
    Property::new("profile", A_PROFILE, "Its change-tcp-mss and use-encryption.")
        .default("default-encryption")
        .column();
pub(crate) const KEEPALIVE: Property =
    Property::new("keepalive-timeout", SECONDS, "Seconds of silence after which it is over.")
        .default("60");
pub(crate) const DEFAULT_ROUTE: Property =
    Property::new("add-default-route", Type::Bool, "Whether it is the way to everywhere.")
        .default("no");
pub(crate) const DISTANCE: Property =
    Property::new("default-route-distance", Type::Number(1, 255), "That route's distance.")
        .default("1");
pub(crate) const ON_DEMAND: Property =
    Property::only("dial-on-demand", &Type::Bool, &["no"], "it is always connected");
pub(crate) const PEER_DNS: Property =
    Property::new("use-peer-dns", Type::Bool, "Whether its server's name servers are asked.")
        .default("no");
pub(crate) const ALLOW: Property =
    Property::new("allow", WAYS, "How it proves who it is.").default("pap,chap,mschap1,mschap2");
pub(crate) const ACTUAL_MTU: Property =
    Property::new("actual-mtu", Type::Number(0, 65535), "The longest packet it takes, bytes.")
        .read_only();

// Of servers.
pub(crate) const ENABLED: Property =
    Property::new("enabled", Type::Bool, "Whether it listens.").default("no");
pub(crate) const ASKS: Property =
    Property::new("authentication", WAYS, "How clients prove who they are.")
        .default("pap,chap,mschap1,mschap2");
pub(crate) const SILENCE: Property =
    Property::new("keepalive-timeout", SECONDS, "Seconds of silence that end a session.")
        .default("30");
pub(crate) const DEFAULT_PROFILE: Property =
    Property::new("default-profile", A_PROFILE, "What those get whose secret has no profile.")
        .default("default-encryption");

/// How many sessions a server has at most.
pub(crate) const fn max_sessions(range: &'static Type) -> Property {
    Property::new(
        "max-sessions",
        Type::Or(&["unlimited"], range),
        "How many sessions it has at most.",
    )
    .default("unlimited")
}

// Of sessions.
pub(crate) const DYNAMIC: Property = Property::flag("dynamic", 'D', "A session has made it.");
pub(crate) const PASSES: Property = Property::flag("running", 'R', "Packets pass.");
pub(crate) const WHO: Property =
    Property::new("user", Type::Text, "Who; a binding's session is his.").column();
pub(crate) const UPTIME: Property =
    Property::new("uptime", Type::Time, "For how long.").read_only().column();
pub(crate) const ENCODING: Property =
    Property::new("encoding", Type::Text, "How it is encrypted.").read_only().column();

const WAYS: Type = Type::List(&Type::Enum(&["pap", "chap", "mschap1", "mschap2"]));
pub(crate) const SECONDS: Type = Type::Or(&["disabled"], &Type::Number(1, 65535));
const LENGTH: Type = Type::Number(512, 1500);
