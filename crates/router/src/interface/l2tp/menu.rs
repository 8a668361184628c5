//! The property tables of `/interface l2tp-client`, `/interface l2tp-server` and its `server`, and
//! `/ppp l2tp-secret` (`routeros/G-interfaces.md`, G.5).

use super::status;
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL;
use crate::interface::ppp::menu::A_PROFILE;
use crate::interface::pppoe::menu::{DISABLED, WAYS};
use config::{Menu, MenuKind, Property, Type};

/// `/interface l2tp-client`.
pub(crate) static CLIENTS: Facility = Facility {
    part_of: Some(&ALL),
    value: crate::interface::pppoe::status::client,
    ..Facility::of(&CLIENT)
};

const FAST: Property = Property::new(
    "allow-fast-path",
    Type::Bool,
    "What comes by its sessions, or goes out, may do so in FastPath, unless it is encrypted.",
)
.default("no");

/// `/interface l2tp-server server`.
pub(crate) static SERVERS: Facility = Facility { part_of: Some(&ALL), ..Facility::of(&SERVER) };

/// `/interface l2tp-server`.
pub(crate) static SESSIONS: Facility = Facility {
    rows: Rows::Few(status::sessions),
    value: |status, item, property| status.ethernet(item, property),
    ..Facility::of(&SESSION)
};

/// `/ppp l2tp-secret`.
pub(crate) static SECRETS: Facility = Facility { part_of: Some(&ALL), ..Facility::of(&SECRET) };

/// `/interface l2tp-client`.
pub(crate) static CLIENT: Menu = Menu {
    path: "/interface l2tp-client",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("l2tp-out"),
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
        Property::only("use-ipsec", &Type::Bool, &["no"], "IPsec is not built"),
        Property::missing("ipsec-secret", "IPsec is not built"),
        FAST,
        Property::new("actual-mtu", Type::Number(0, 65535), "The longest packet it takes, bytes.")
            .read_only(),
    ],
    help: "Connections to L2TP servers.",
};

/// `/interface l2tp-server server`.
pub(crate) static SERVER: Menu = Menu {
    path: "/interface l2tp-server server",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether it listens.").default("no"),
        MTU,
        MRU,
        Property::only("mrru", &DISABLED, &["disabled"], "packets are not sent in parts"),
        Property::new("authentication", WAYS, "How clients prove who they are.")
            .default("pap,chap,mschap1,mschap2"),
        Property::new("keepalive-timeout", SECONDS, "Seconds of silence that end a session.")
            .default("30"),
        Property::new(
            "max-sessions",
            Type::Or(&["unlimited"], &Type::Number(1, 60000)),
            "How many sessions it has at most.",
        )
        .default("unlimited"),
        Property::new("default-profile", A_PROFILE, "What those get whose secret has no profile.")
            .default("default-encryption"),
        Property::only("use-ipsec", &IPSEC, &["no"], "IPsec is not built"),
        Property::missing("ipsec-secret", "IPsec is not built"),
        Property::only(
            "caller-id-type",
            &Type::Enum(&["ip-address", "number"]),
            &["ip-address"],
            "callers have no numbers",
        ),
        Property::new("one-session-per-host", Type::Bool, "A host's new tunnel ends the old one.")
            .default("no"),
        FAST,
    ],
    help: "The L2TP server.",
};

/// `/interface l2tp-server`.
pub(crate) static SESSION: Menu = Menu {
    path: "/interface l2tp-server",
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
    help: "The sessions of the L2TP server.",
};

/// `/ppp l2tp-secret`.
pub(crate) static SECRET: Menu = Menu {
    path: "/ppp l2tp-secret",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("address", Type::Address, "The other end; everybody if not given.").column(),
        Property::new("secret", Type::Text, "What both ends of a tunnel know.").column(),
    ],
    help: "What L2TP's tunnels are proved with.",
};

const SECONDS: Type = Type::Or(&["disabled"], &Type::Number(1, 65535));
const IPSEC: Type = Type::Enum(&["no", "required", "yes"]);
const LENGTH: Type = Type::Number(512, 1500);
const MTU: Property =
    Property::new("max-mtu", LENGTH, "The longest packet to send.").default("1450");
const MRU: Property =
    Property::new("max-mru", LENGTH, "The longest packet to take; the lower of the two counts.")
        .default("1450");
