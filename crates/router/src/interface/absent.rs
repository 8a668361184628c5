//! `/interface absent`: interfaces of hardware that this device has not, in another's configuration.
//!
//! A `wlan1` is in a bridge, in a list, in rules: they take it as they take a port without a cable. It
//! never runs, receives nothing, and nothing leaves by it.

use super::facilities::ALL;
use crate::facility::Facility;
use config::{Menu, MenuKind, Property, Type};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    part_of: Some(&ALL),
    value: |status, item, property| status.ethernet(item, property),
    ..Facility::of(&ABSENT)
};

/// `/interface absent`.
pub static ABSENT: Menu = Menu {
    path: "/interface absent",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("running", 'R', "Frames pass: never."),
        Property::flag("slave", 'S', "It is a port of a bridge."),
        Property::new("name", Type::Text, "Name of the interface.").required().column(),
        Property::new("mac-address", Type::Mac, "One that the router makes up.").read_only(),
    ],
    help: "Interfaces of hardware that is not here: they have names, and never run.",
};
