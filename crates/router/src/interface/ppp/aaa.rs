//! `/radius`, `/radius incoming` and `/ppp aaa`: users that another host knows.
//!
//! ```text
//! no secret here ─► use-radius ─► the first server of service ppp: timeout, three times ─► the next one …
//! accept: addresses, pool, rate, routes, timeouts      reject, silence: no
//! ```
//!
//! Missing: **DHCP, hotspot, wireless and login** users, **RadSec**.

use crate::facility::Facility;
use crate::interface::facilities::ALL;
use config::{Menu, MenuKind, Property, Tree, Type, Value};
use std::time::Duration;

/// `/radius`.
pub(crate) static SERVERS: Facility = Facility { part_of: Some(&ALL), ..Facility::of(&RADIUS) };

/// `/radius incoming`.
pub(crate) static LISTENS: Facility = Facility { part_of: Some(&ALL), ..Facility::of(&INCOMING) };

/// `/ppp aaa`.
pub(crate) static USES: Facility = Facility { part_of: Some(&ALL), ..Facility::of(&AAA) };

static RADIUS: Menu = Menu {
    path: "/radius",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::new(
            "service",
            Type::List(&Type::Enum(&["ppp", "login", "hotspot", "wireless", "dhcp", "ipsec"])),
            "Whose users it knows; of these ppp is built.",
        )
        .column(),
        Property::new("called-id", Type::Text, "What it is told that was called.").column(),
        Property::only("domain", &Type::Text, &[""], "names are asked for with their domains"),
        Property::new("address", Type::Address, "The server.").required().column(),
        Property::new("secret", Type::Text, "What both know.").column(),
        Property::new("authentication-port", PORT, "UDP's port for logins.").default("1812"),
        Property::new("accounting-port", PORT, "UDP's port for accounts.").default("1813"),
        Property::new("timeout", Type::Time, "How long to wait for an answer.").default("300ms"),
        Property::new("accounting-backup", Type::Bool, "Only for accounts of others.")
            .default("no"),
        Property::new(
            "src-address",
            Type::Address,
            "From where to ask; by the route if not given.",
        ),
        Property::only(
            "protocol",
            &Type::Enum(&["radsec", "udp"]),
            &["udp"],
            "RadSec is not built",
        ),
        Property::missing("realm", "all users are asked for"),
    ],
    help: "Servers that know users.",
};

static INCOMING: Menu = Menu {
    path: "/radius incoming",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("accept", Type::Bool, "Whether servers may end sessions.").default("no"),
        Property::new("port", PORT, "UDP's port for that.").default("3799"),
    ],
    help: "What servers may want.",
};

static AAA: Menu = Menu {
    path: "/ppp aaa",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("use-radius", Type::Bool, "Whether users without a secret are asked for.")
            .default("no"),
        Property::new("accounting", Type::Bool, "Whether servers are told of sessions.")
            .default("yes"),
        Property::new("interim-update", Type::Time, "How often, while they last; 0s is never.")
            .default("0s"),
        Property::only("use-circuit-id-in-nas-port-id", &Type::Bool, &["no"], "not built"),
    ],
    help: "Who knows the users of PPP.",
};

const PORT: Type = Type::Number(1, 65535);

/// A server as compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) address: u32,
    pub(crate) secret: String,
    pub(crate) login_port: u16,
    pub(crate) account_port: u16,
    pub(crate) timeout: Duration,
    pub(crate) called_id: String,
    pub(crate) src: Option<u32>,
    pub(crate) only_accounts: bool,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Aaa {
    pub(crate) servers: Vec<Server>,
    /// The port on which servers may ask.
    pub(crate) incoming: Option<u16>,
    pub(crate) uses_radius: bool,
    pub(crate) accounts: bool,
    pub(crate) interim: Option<Duration>,
}

impl Aaa {
    /// Reads the menus.
    pub(crate) fn read(tree: &Tree) -> Aaa {
        let address = |value: Option<&Value>| match value {
            Some(Value::Address(address)) => Some(u32::from(*address)),
            _ => None,
        };
        let servers = tree.read(&RADIUS).filter(|item| !item.bool("disabled"));
        let servers = servers.filter_map(|item| {
            let knows = item.opt("service").is_some_and(|services| match &*services {
                Value::List(all) => all.iter().any(|service| service.to_string() == "ppp"),
                _ => false,
            });
            knows.then_some(())?;
            Some(Server {
                address: address(Some(&item.value("address")))?,
                secret: item.text("secret"),
                login_port: item.number("authentication-port") as u16,
                account_port: item.number("accounting-port") as u16,
                timeout: item.time("timeout").max(Duration::from_millis(10)),
                called_id: item.text("called-id"),
                src: address(item.opt("src-address").as_deref()),
                only_accounts: item.bool("accounting-backup"),
            })
        });
        let (incoming, aaa) = (tree.read_settings(&INCOMING), tree.read_settings(&AAA));
        Aaa {
            servers: servers.collect(),
            incoming: incoming.bool("accept").then(|| incoming.number("port") as u16),
            uses_radius: aaa.bool("use-radius"),
            accounts: aaa.bool("accounting"),
            interim: Some(aaa.time("interim-update")).filter(|time| !time.is_zero()),
        }
    }

    /// Whether sessions are told of.
    pub(crate) fn tells(&self) -> bool {
        self.uses_radius && self.accounts && !self.servers.is_empty()
    }
}
