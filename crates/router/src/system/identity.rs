//! `/system identity`: the router's name.

use crate::facility::Facility;
use config::{Menu, MenuKind, Property, Type};

/// `/system identity`.
pub static IDENTITY: Menu = Menu {
    path: "/system identity",
    kind: MenuKind::Settings,
    properties: &[Property::new("name", Type::Text, "What the prompt and neighbours call it.")
        .default("MikroTik")],
    help: "The router's name.",
};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    compile: |c| c.program.system.identity = c.tree.read_settings(&IDENTITY).text("name").into(),
    ..Facility::of(&IDENTITY)
};
