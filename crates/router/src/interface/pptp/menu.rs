//! The property tables of `/interface pptp-client`, `/interface pptp-server` and its `server`
//! (`routeros/G-interfaces.md`, G.5).

use super::status;
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL;
use crate::interface::ppp::menu::A_PROFILE;
use crate::interface::pppoe::menu::{DISABLED, WAYS};
use config::{Menu, MenuKind, Property, Type};

/// `/interface pptp-client`.
pub(crate) static CLIENTS: Facility = Facility {
    part_of: Some(&ALL),
    value: crate::interface::pppoe::status::client,
    ..Facility::of(&CLIENT)
};

/// `/interface pptp-server server`.
pub(crate) static SERVERS: Facility = Facility { part_of: Some(&ALL), ..Facility::of(&SERVER) };

/// `/interface pptp-server`.
pub(crate) static SESSIONS: Facility = Facility {
    rows: Rows::Few(status::sessions),
    value: |status, item, property| status.ethernet(item, property),
    ..Facility::of(&SESSION)
};

/// `/interface pptp-client`.
pub(crate) static CLIENT: Menu = Menu {
    path: "/interface pptp-client",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("pptp-out"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("running", 'R', "It is connected."),
        Property::new("name", Type::Text, "Name of the interface.").column(),
        MTU,
        MRU,
        Property::only("mrru", &DISABLED, &["disabled"], "packets are not sent in parts"),
        Property::new("connect-to", Type::Address, "The server.").required().column(),
        Property::new("user", Type::Text, "The name to log in with.").column(),
        Property::new("password", Type::Text, "The password to log in with."),
        Property::new("profile", A_PROFILE, "Its change-tcp-mss and use-encryption.")
            .default("default-encryption")
            .column(),
        Property::new("keepalive-timeout", SECONDS, "Seconds of silence after which it is over.")
            .default("60"),
        Property::new("add-default-route", Type::Bool, "Whether it is the way to everywhere.")
            .default("no"),
        Property::new("default-route-distance", Type::Number(1, 255), "That route's distance.")
            .default("1"),
        Property::only("dial-on-demand", &Type::Bool, &["no"], "it is always connected"),
        Property::new("use-peer-dns", Type::Bool, "Whether its server's name servers are asked.")
            .default("no"),
        Property::new("allow", WAYS, "How it proves who it is.")
            .default("pap,chap,mschap1,mschap2"),
        Property::new("actual-mtu", Type::Number(0, 65535), "The longest packet it takes, bytes.")
            .read_only(),
    ],
    help: "Connections to PPTP servers.",
};

/// `/interface pptp-server server`.
pub(crate) static SERVER: Menu = Menu {
    path: "/interface pptp-server server",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether it listens.").default("no"),
        MTU,
        MRU,
        Property::only("mrru", &DISABLED, &["disabled"], "packets are not sent in parts"),
        Property::new("authentication", WAYS, "How clients prove who they are.")
            .default("mschap1,mschap2"),
        Property::new("keepalive-timeout", SECONDS, "Seconds of silence that end a session.")
            .default("30"),
        Property::new("default-profile", A_PROFILE, "What those get whose secret has no profile.")
            .default("default-encryption"),
    ],
    help: "The PPTP server.",
};

/// `/interface pptp-server`.
pub(crate) static SESSION: Menu = Menu {
    path: "/interface pptp-server",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("dynamic", 'D', "A session has made it."),
        Property::flag("running", 'R', "Packets pass."),
        Property::new("name", Type::Text, "Name of the interface.").read_only().column(),
        Property::new("user", Type::Text, "Who.").read_only().column(),
        Property::new("client-address", Type::Text, "From where.").read_only().column(),
        Property::new("uptime", Type::Time, "For how long.").read_only().column(),
        Property::new("encoding", Type::Text, "How it is encrypted.").read_only().column(),
        Property::new("actual-mtu", Type::Number(0, 65535), "The longest packet it takes, bytes.")
            .read_only(),
    ],
    help: "The sessions of the PPTP server.",
};

const SECONDS: Type = Type::Or(&["disabled"], &Type::Number(1, 65535));
const LENGTH: Type = Type::Number(512, 1500);
const MTU: Property =
    Property::new("max-mtu", LENGTH, "The longest packet to send.").default("1450");
const MRU: Property =
    Property::new("max-mru", LENGTH, "The longest packet to take; the lower of the two counts.")
        .default("1450");
