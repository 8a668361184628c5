//! The property tables of `/interface pptp-client`, `/interface pptp-server` and its `server`
//! (`routeros/G-interfaces.md`, G.5).

use super::status;
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL;
use crate::interface::ppp::dial::*;
use config::{Menu, MenuKind};

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
    part_of: Some(&ALL),
    rows: Rows::Few(status::sessions),
    value: crate::interface::pppoe::status::session,
    ..Facility::of(&SESSION)
};

/// `/interface pptp-client`.
pub(crate) static CLIENT: Menu = Menu {
    path: "/interface pptp-client",
    kind: clients("pptp-out"),
    properties: &dials::<16>(&[]),
    help: "Connections to PPTP servers.",
};

/// `/interface pptp-server server`.
pub(crate) static SERVER: Menu = Menu {
    path: "/interface pptp-server server",
    kind: MenuKind::Settings,
    properties: &[
        ENABLED,
        MTU,
        MRU,
        MRRU,
        ASKS.default("mschap1,mschap2"),
        SILENCE,
        DEFAULT_PROFILE,
    ],
    help: "The PPTP server.",
};

/// `/interface pptp-server`.
pub(crate) static SESSION: Menu = Menu {
    path: "/interface pptp-server",
    kind: clients("pptp-in"),
    properties: SHOWN,
    help: "The sessions of the PPTP server, and interfaces that stay for them.",
};
