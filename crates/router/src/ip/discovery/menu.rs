//! The property tables of `/ip neighbor`, and its neighbours shown.

use super::{Known, Settings};
use crate::facility::{Facility, Rows};
use crate::firewall::menu::INTERFACE_LIST;
use crate::interface::{facilities as interface, list};
use crate::status::{Numbers, RouterStatus, Values, dynamic};
use config::{Item, Menu, MenuKind, Property, Type, Value};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// `/ip neighbor discovery-settings`.
pub(super) static SETTINGS: Menu = Menu {
    path: "/ip neighbor discovery-settings",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("discover-interface-list", INTERFACE_LIST, "Where it is said and heard.")
            .default("none"),
        Property::new(
            "protocol",
            Type::List(&Type::Enum(super::PROTOCOLS)),
            "What is said and heard.",
        )
        .default("cdp,lldp,mndp"),
        Property::new("mode", Type::Enum(&["tx-and-rx", "rx-only", "tx-only"]), "Which of both.")
            .default("tx-and-rx"),
        Property::new("discover-interval", Type::Time, "How often it is said, 5s to 1h.")
            .default("1m"),
        Property::only("lldp-med-net-policy-vlan", &VLAN, &["disabled"], NO_MED),
        Property::only("lldp-mac-phy-config", &Type::Bool, &["no"], NO_8023).default(""),
        Property::only("lldp-max-frame-size", &Type::Bool, &["no"], NO_8023).default(""),
        Property::new("lldp-poe-power", Type::Bool, "Kept: ports give no power.").default("yes"),
        Property::only("lldp-vlan-info", &Type::Bool, &["no"], NO_8023).default(""),
        Property::only("lldp-dcbx", &Type::Bool, &["no"], NO_8023).default(""),
    ],
    help: "Who is told of the router, and heard of.",
};

const VLAN: Type = Type::Or(&["disabled"], &Type::Number(0, 4095));
const NO_MED: &str = "LLDP-MED is not built";
const NO_8023: &str = "LLDP says what IEEE 802.1AB has, not 802.3's additions";

static NEIGHBOR: Menu = Menu {
    path: "/ip neighbor",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("interface", Type::Text, "By which it is heard.").read_only().column(),
        Property::new("address", Type::Text, "Its address.").read_only().column(),
        Property::new("address6", Type::Text, "That of IPv6.").read_only(),
        Property::new("mac-address", Type::Text, "Its MAC address.").read_only().column(),
        Property::new("identity", Type::Text, "Its name.").read_only().column(),
        Property::new("platform", Type::Text, "Whose it is.").read_only().column(),
        Property::new("version", Type::Text, "Of its software.").read_only().column(),
        Property::new("board", Type::Text, "What it runs on.").read_only(),
        Property::new("interface-name", Type::Text, "Its interface.").read_only(),
        Property::new("system-caps-enabled", Type::Text, "What it does.").read_only(),
        Property::new("uptime", Type::Time, "Since it was started.").read_only(),
        Property::new("age", Type::Time, "Since it was heard.").read_only(),
        Property::new("discovered-by", Type::Text, "What it speaks.").read_only(),
    ],
    help: "Devices that say of themselves that they are there.",
};

/// `/ip neighbor discovery-settings`.
pub(crate) static DISCOVERY: Facility = Facility {
    after: &[&interface::ALL, &list::LISTS, &list::MEMBERS],
    compile: |c| {
        let settings = Settings::compile(c.tree, &c.program);
        if *c.program.system.discovery != settings {
            c.program.system.discovery = settings.into();
        }
    },
    ..Facility::of(&SETTINGS)
};

/// `/ip neighbor`.
pub(crate) static FACILITY: Facility =
    Facility { rows: Rows::Few(rows), ..Facility::of(&NEIGHBOR) };

fn rows(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let program = &status.router.program;
    let name = |id: crate::interface::InterfaceId| program.interface(id).name.to_string();
    let row = |known: &Known| {
        let told = &known.told;
        let mut by = name(known.port);
        if known.interface != known.port {
            by += &format!(",{}", name(known.interface));
        }
        let does = [(told.bridges, "bridge"), (told.routes, "router")];
        let does: Vec<_> = does.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        let spoken = super::PROTOCOLS.iter().enumerate().filter(|(n, _)| known.by & 1 << n != 0);
        let spoken: Vec<_> = spoken.map(|(_, name)| *name).collect();
        let text = |text: &str| Value::Text(text.to_string());
        let mut values = Values::from([
            ("interface", Value::Text(by)),
            ("mac-address", Value::Text(told.mac.to_string())),
            ("identity", text(&told.identity)),
            ("platform", text(&told.platform)),
            ("version", text(&told.version)),
            ("board", text(&told.board)),
            ("interface-name", text(&told.interface)),
            ("system-caps-enabled", Value::Text(does.join(","))),
            ("discovered-by", Value::Text(spoken.join(","))),
            ("age", Value::Time(Duration::from_secs(status.now.since(known.heard).as_secs()))),
        ]);
        if let Some(address) = told.address {
            values.insert("address", Value::Text(Ipv4Addr::from(address).to_string()));
        }
        if let Some(address) = told.address6 {
            values.insert("address6", Value::Text(Ipv6Addr::from(address).to_string()));
        }
        if let Some(uptime) = told.uptime {
            let since = status.now.since(known.heard).as_secs();
            values.insert("uptime", Value::Time(Duration::from_secs(u64::from(uptime) + since)));
        }
        dynamic(numbers.of((known.port, told.mac.0)), values)
    };
    status.router.services.neighbours.iter().map(row).collect()
}
