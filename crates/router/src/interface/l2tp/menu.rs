//! The property tables of `/interface l2tp-client`, `/interface l2tp-server` and its `server`, and
//! `/ppp l2tp-secret` (`routeros/G-interfaces.md`, G.5).

use super::status;
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL;
use crate::interface::ppp::dial::*;
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
    part_of: Some(&ALL),
    rows: Rows::Few(status::sessions),
    value: crate::interface::pppoe::status::session,
    ..Facility::of(&SESSION)
};

/// `/ppp l2tp-secret`.
pub(crate) static SECRETS: Facility = Facility { part_of: Some(&ALL), ..Facility::of(&SECRET) };

/// `/interface l2tp-client`.
pub(crate) static CLIENT: Menu = Menu {
    path: "/interface l2tp-client",
    kind: clients("l2tp-out"),
    properties: &dials::<19>(&[
        Property::new("use-ipsec", Type::Bool, "Whether its packets are encrypted.").default("no"),
        SECRET_WORD,
        FAST,
    ]),
    help: "Connections to L2TP servers.",
};

/// `/interface l2tp-server server`.
pub(crate) static SERVER: Menu = Menu {
    path: "/interface l2tp-server server",
    kind: MenuKind::Settings,
    properties: &[
        ENABLED,
        MTU,
        MRU,
        MRRU,
        ASKS,
        SILENCE,
        max_sessions(&Type::Number(1, 60000)),
        DEFAULT_PROFILE,
        Property::new("use-ipsec", IPSEC, "Whether clients' packets may be encrypted, or have to.")
            .default("no"),
        SECRET_WORD,
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
    kind: clients("l2tp-in"),
    properties: SHOWN,
    help: "The sessions of the L2TP server, and interfaces that stay for them.",
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

const SECRET_WORD: Property = Property::new(
    "ipsec-secret",
    Type::Text,
    "What both ends know, if they are encrypted: by IKEv1 (`/ip ipsec`).",
)
.default("");
const IPSEC: Type = Type::Enum(&["no", "required", "yes"]);
