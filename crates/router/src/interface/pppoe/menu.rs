//! The property tables of `/interface pppoe-client`, `/interface pppoe-server` and its `server`
//! (`routeros/G-interfaces.md`, G.5), and what their items must not be.

use super::status::{self, MONITOR};
use crate::facility::{Facility, Rows};
use crate::interface::bonding::menu::no_slave;
use crate::interface::facilities::ALL;
use crate::interface::menu::ANY_INTERFACE;
use crate::interface::ppp::menu::A_PROFILE;
use crate::interface::vlan::no_point_to_point;
use config::{Item, Menu, MenuKind, Property, Read, Tree, Type};

/// `/interface pppoe-client`.
pub(crate) static CLIENTS: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, tree| check(tree, &CLIENT.read(item), "allow"),
    value: status::client,
    commands: &[(&MONITOR, |r, call, _, now| status::start(r, call, now))],
    ..Facility::of(&CLIENT)
};

/// `/interface pppoe-server server`.
pub(crate) static SERVERS: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, tree| check(tree, &SERVER.read(item), "authentication"),
    ..Facility::of(&SERVER)
};

/// `/interface pppoe-server`.
pub(crate) static SESSIONS: Facility = Facility {
    rows: Rows::Few(status::sessions),
    value: |status, item, property| status.ethernet(item, property),
    ..Facility::of(&SESSION)
};

/// `/interface pppoe-client`.
pub(crate) static CLIENT: Menu = Menu {
    path: "/interface pppoe-client",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("pppoe-out"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("running", 'R', "It is connected."),
        Property::new("name", Type::Text, "Name of the interface.").column(),
        MTU,
        MRU,
        Property::only("mrru", &DISABLED, &["disabled"], "packets are not sent in parts"),
        Property::new("interface", ANY_INTERFACE, "The interface it stands on.")
            .required()
            .column(),
        Property::new("user", Type::Text, "The name to log in with.").column(),
        Property::new("password", Type::Text, "The password to log in with."),
        Property::new("profile", A_PROFILE, "Its change-tcp-mss.").default("default").column(),
        KEEPALIVE,
        Property::new("service-name", Type::Text, "The service to ask for; any if empty."),
        Property::new("ac-name", Type::Text, "The only concentrator to take; any if empty."),
        Property::new("add-default-route", Type::Bool, "Whether it is the way to everywhere.")
            .default("no"),
        Property::new("default-route-distance", Type::Number(1, 255), "That route's distance.")
            .default("1"),
        Property::only("dial-on-demand", &Type::Bool, &["no"], "it is always connected"),
        Property::new("use-peer-dns", PEER_DNS, "Whether its server's name servers are asked.")
            .default("no"),
        Property::new("allow", WAYS, "How it proves who it is.")
            .default("pap,chap,mschap1,mschap2"),
        Property::missing("host-uniq", "it is drawn"),
        Property::new("actual-mtu", Type::Number(0, 65535), "The longest packet it takes, bytes.")
            .read_only(),
    ],
    help: "Connections to PPPoE concentrators.",
};

/// `/interface pppoe-server server`.
pub(crate) static SERVER: Menu = Menu {
    path: "/interface pppoe-server server",
    kind: MenuKind::List {
        // Several concentrators may offer the same service, each on its interface.
        key: None,
        auto_name: None,
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("service-name", Type::Text, "The service it offers.")
            .default("service1")
            .column(),
        Property::new("interface", ANY_INTERFACE, "Where it listens.").required().column(),
        MTU,
        MRU,
        Property::only("mrru", &DISABLED, &["disabled"], "packets are not sent in parts"),
        Property::new("authentication", WAYS, "How clients prove who they are.")
            .default("pap,chap,mschap1,mschap2"),
        KEEPALIVE,
        Property::new("one-session-per-host", Type::Bool, "A host's new session ends the old one.")
            .default("no"),
        Property::new(
            "max-sessions",
            Type::Or(&["unlimited"], &Type::Number(1, 65534)),
            "How many sessions it has at most.",
        )
        .default("unlimited"),
        Property::only("pado-delay", &Type::Number(0, 65535), &["0"], "offers are sent at once"),
        Property::new("default-profile", A_PROFILE, "What those get whose secret has no profile.")
            .default("default")
            .column(),
        Property::only("accept-empty-service", &Type::Bool, &["yes"], "any service is this one")
            .default(""),
    ],
    help: "PPPoE concentrators.",
};

/// `/interface pppoe-server`.
pub(crate) static SESSION: Menu = Menu {
    path: "/interface pppoe-server",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("dynamic", 'D', "A session has made it."),
        Property::flag("running", 'R', "Packets pass."),
        Property::new("name", Type::Text, "Name of the interface.").read_only().column(),
        Property::new("user", Type::Text, "Who.").read_only().column(),
        Property::new("service", Type::Text, "Of which server.").read_only().column(),
        Property::new("remote-address", Type::Text, "From where.").read_only().column(),
        Property::new("encoding", Type::Text, "How it is encrypted.").read_only().column(),
        Property::new("uptime", Type::Time, "For how long.").read_only().column(),
        Property::new("actual-mtu", Type::Number(0, 65535), "The longest packet it takes, bytes.")
            .read_only(),
    ],
    help: "The sessions of the PPPoE concentrators.",
};

pub(crate) const DISABLED: Type = Type::Or(&["disabled"], &Type::Number(512, 65535));
pub(crate) const PEER_DNS: Type = Type::Enum(&["no", "yes"]);
pub(crate) const WAYS: Type = Type::List(&Type::Enum(&["pap", "chap", "mschap1", "mschap2"]));
const LENGTH: Type = Type::Or(&["auto"], &Type::Number(512, 65535));
const MTU: Property = Property::new(
    "max-mtu",
    LENGTH,
    "The longest packet to send; auto is what is left of the frame.",
)
.default("auto");
const MRU: Property =
    Property::new("max-mru", LENGTH, "The longest packet to take; the lower of the two counts.")
        .default("auto");
const KEEPALIVE: Property = Property::new(
    "keepalive-timeout",
    Type::Or(&["disabled"], &Type::Number(1, 65535)),
    "Seconds without a sign of life after which a session is over.",
)
.default("10");

/// What an item that is added or changed must not be.
fn check(tree: &Tree, item: &Read, ways: &str) -> Result<(), String> {
    let on = item.text("interface");
    no_point_to_point(tree, &on)?;
    no_slave(tree, &on)?;
    if item.list(ways).is_empty() {
        return Err(format!("failure: {ways} must not be empty"));
    }
    Ok(())
}

/// The names of the clients: no interface stands on one.
pub(crate) fn is_client(tree: &Tree, name: &str) -> bool {
    let is = |item: &Item| item.get("name").is_some_and(|own| own.to_string() == name);
    tree.items(CLIENT.path).iter().any(|item| is(item))
}
