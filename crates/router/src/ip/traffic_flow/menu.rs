//! The property tables of `/ip traffic-flow` and its `target`.

use super::{Settings, Target};
use crate::facility::Facility;
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::menu::ANY_INTERFACE;
use crate::ip::datagram::End;
use config::{Item, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::time::Duration;
use wire::netflow::Version;

/// `/ip traffic-flow`.
pub(crate) static FLOW: Menu = Menu {
    path: "/ip traffic-flow",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("enabled", Type::Bool, "Whether collectors are told of flows.").default("no"),
        Property::new(
            "interfaces",
            Type::List(&Type::Or(&["all"], &ANY_INTERFACE)),
            "Of what comes by these.",
        )
        .default("all"),
        Property::new("cache-entries", Type::Text, "Kept: as many as there are connections."),
        Property::new("active-flow-timeout", Type::Time, "So often of a flow that goes on.")
            .default("30m"),
        Property::new(
            "inactive-flow-timeout",
            Type::Time,
            "How long a flow is silent, then told of.",
        )
        .default("15s"),
        Property::only("packet-sampling", &Type::Bool, &["no"], "every packet counts")
            .default("no"),
        Property::new("sampling-interval", Type::Number(0, 65535), "Kept: every packet counts.")
            .default("0"),
        Property::new("sampling-space", Type::Number(0, 65535), "Kept: every packet counts.")
            .default("0"),
    ],
    help: "Collectors are told of flows, by NetFlow or IPFIX.",
};

/// `/ip traffic-flow target`.
pub(crate) static TARGET: Menu = Menu {
    path: "/ip traffic-flow target",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("dst-address", Type::Address, "The collector.").required().column(),
        Property::new("port", Type::Number(1, 65535), "Its UDP port.").default("2055").column(),
        Property::new("src-address", Type::Address, "The router's address to send from.")
            .default("0.0.0.0"),
        Property::only("version", &VERSION, &["9", "5", "ipfix"], "version 1 is not written")
            .default("9")
            .column(),
        Property::new(
            "v9-template-refresh",
            Type::Number(1, i64::MAX),
            "After so many datagrams templates are told again; of IPFIX, too.",
        )
        .default("20"),
        Property::new("v9-template-timeout", Type::Time, "And after so long.").default("30m"),
    ],
    help: "Collectors of flows.",
};

const VERSION: Type = Type::Enum(&["1", "5", "9", "ipfix"]);

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| {
        let settings = read(c.tree, |name| c.program.names.find(name));
        if c.program.traffic_flow.as_deref() != settings.as_ref() {
            c.program.traffic_flow = settings.map(Into::into);
        }
    },
    check: |item, _| check(item),
    ..Facility::of(&FLOW)
};

/// `/ip traffic-flow target`.
pub(crate) static TARGETS: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&TARGET) };

/// Shorter times would have every packet told of.
const SHORTEST: Duration = Duration::from_secs(1);

fn check(item: &Item) -> Result<(), String> {
    for name in ["active-flow-timeout", "inactive-flow-timeout"] {
        if matches!(item.get(name), Some(Value::Time(time)) if *time < SHORTEST) {
            return Err(format!("failure: {name} is a second at least"));
        }
    }
    Ok(())
}

/// What is compiled; nothing where nobody is told.
fn read(
    tree: &Tree,
    find: impl Fn(&str) -> Option<crate::interface::InterfaceId>,
) -> Option<Settings> {
    let item = tree.read_settings(&FLOW);
    let targets = tree.read(&TARGET).filter(|item| !item.bool("disabled"));
    let targets: Vec<Target> = targets.map(|item| target(&item)).collect();
    if !item.bool("enabled") || targets.is_empty() {
        return None;
    }
    let names = item.list("interfaces").iter().map(ToString::to_string).collect::<Vec<_>>();
    let is_all = names.is_empty() || names.iter().any(|name| name == "all");
    let mut some = names.iter().filter_map(|name| find(name)).collect::<Vec<_>>();
    some.sort_unstable();
    Some(Settings {
        interfaces: (!is_all).then_some(some),
        active: item.time("active-flow-timeout"),
        inactive: item.time("inactive-flow-timeout"),
        targets,
    })
}

fn target(item: &Read) -> Target {
    let address = |name| match &*item.value(name) {
        Value::Address(address) => u32::from(*address),
        _ => 0,
    };
    Target {
        to: End { address: address("dst-address"), port: item.number("port") as u16 },
        src: Some(address("src-address")).filter(|&src| src != 0),
        version: match &*item.text("version") {
            "5" => Version::V5,
            "9" => Version::V9,
            _ => Version::Ipfix,
        },
        refresh: item.number("v9-template-refresh") as u64,
        again: item.time("v9-template-timeout"),
    }
}
