//! The property tables of `/interface pppoe-client`, `/interface pppoe-server` and its `server`
//! (`routeros/G-interfaces.md`, G.5), and what their items must not be.

use super::status::{self, MONITOR};
use crate::facility::{Facility, Rows};
use crate::interface::bonding::menu::no_slave;
use crate::interface::facilities::ALL;
use crate::interface::menu::ANY_INTERFACE;
use crate::interface::ppp::dial::{
    self, ACTUAL_MTU, ALLOW, ASKS, DEFAULT_PROFILE, DEFAULT_ROUTE, DISTANCE, DYNAMIC, ENCODING,
    MRRU, NAME, ON_DEMAND, PASSES, PASSWORD, RUNNING, SECONDS, UPTIME, USER, WHO, clients,
    max_sessions,
};
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
    part_of: Some(&ALL),
    rows: Rows::Few(status::sessions),
    value: status::session,
    ..Facility::of(&SESSION)
};

/// `/interface pppoe-client`.
pub(crate) static CLIENT: Menu = Menu {
    path: "/interface pppoe-client",
    kind: clients("pppoe-out"),
    properties: &[
        RUNNING,
        NAME,
        MTU,
        MRU,
        MRRU,
        Property::new("interface", ANY_INTERFACE, "The interface it stands on.")
            .required()
            .column(),
        USER,
        PASSWORD,
        Property::new("profile", A_PROFILE, "Its change-tcp-mss.").default("default").column(),
        KEEPALIVE,
        Property::new("service-name", Type::Text, "The service to ask for; any if empty."),
        Property::new("ac-name", Type::Text, "The only concentrator to take; any if empty."),
        DEFAULT_ROUTE,
        DISTANCE,
        ON_DEMAND,
        Property { kind: Type::Enum(&["no", "yes"]), ..dial::PEER_DNS },
        ALLOW,
        Property::missing("host-uniq", "it is drawn"),
        ACTUAL_MTU,
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
        MRRU,
        ASKS,
        KEEPALIVE,
        Property::new("one-session-per-host", Type::Bool, "A host's new session ends the old one.")
            .default("no"),
        max_sessions(&Type::Number(1, 65534)),
        Property::new("pado-delay", Type::Number(0, 65535), "How many ms an offer (PADO) waits.")
            .default("0"),
        DEFAULT_PROFILE.default("default").column(),
        Property::new("accept-empty-service", Type::Bool, "It offers to who asks for any service.")
            .default("yes"),
    ],
    help: "PPPoE concentrators.",
};

/// `/interface pppoe-server`.
pub(crate) static SESSION: Menu = Menu {
    path: "/interface pppoe-server",
    kind: clients("pppoe-in"),
    properties: &[
        DYNAMIC,
        PASSES,
        NAME,
        WHO,
        Property::new("service", Type::Text, "Of which server; a binding's of any if empty.")
            .column(),
        Property::new("remote-address", Type::Text, "From where.").read_only().column(),
        ENCODING,
        UPTIME,
        ACTUAL_MTU,
    ],
    help: "The sessions of the PPPoE concentrators, and interfaces that stay for them.",
};

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
    SECONDS,
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
