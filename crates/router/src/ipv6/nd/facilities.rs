//! Facilities behind the menus of router advertisements: checked, compiled, shown.

use super::menu::{self, DEFAULT, ND, PREFIX, PROXY};
use super::settings::Settings;
use crate::facility::{Facility, Rows};
use crate::ipv6::dhcp::facilities as dhcp;
use crate::ipv6::facilities as ipv6;
use crate::status::{Numbers, RouterStatus, Values, dynamic, text};
use config::{Item, Value};
use std::sync::Arc;
use std::time::Duration;

/// `/ipv6 nd`, which compiles all of them.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&ipv6::ADDRESS, &dhcp::SERVER],
    compile: |c| {
        let settings = Settings::compile(c.tree, &c.program);
        if *c.program.v6.nd != settings {
            c.program.v6.nd = Arc::new(settings);
        }
    },
    check: |item, tree| menu::check(tree, item),
    factory: menu::factory,
    value: |status, item, property| match property {
        "invalid" => {
            let invalid = text(item, "interface") != "all" && is_off(status, item);
            Some(Value::Bool(invalid))
        }
        _ => None,
    },
    ..Facility::of(&ND)
};

/// `/ipv6 nd prefix`.
pub(crate) static PREFIX_FACILITY: Facility = Facility {
    part_of: Some(&FACILITY),
    check: |item, tree| menu::check_prefix(tree, item),
    value: |status, item, property| match property {
        "invalid" => Some(Value::Bool(is_off(status, item))),
        _ => None,
    },
    rows: Rows::Few(prefixes),
    ..Facility::of(&PREFIX)
};

/// `/ipv6 nd proxy`.
pub(crate) static PROXY_FACILITY: Facility = Facility {
    part_of: Some(&FACILITY),
    check: |item, tree| menu::check_proxy(tree, item),
    value: |status, item, property| match property {
        "invalid" => Some(Value::Bool(is_off(status, item))),
        _ => None,
    },
    ..Facility::of(&PROXY)
};

/// `/ipv6 nd prefix default`.
pub(crate) static DEFAULT_FACILITY: Facility =
    Facility { part_of: Some(&FACILITY), ..Facility::of(&DEFAULT) };

/// Whether an item is enabled, but its interface is not.
fn is_off(status: &RouterStatus, item: &Item) -> bool {
    let program = &status.router.program;
    let id = program.names.find(&text(item, "interface"));
    !item.disabled && !id.is_some_and(|id| program.is_enabled(id))
}

/// The networks that follow from addresses: flags `D`.
fn prefixes(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let lifetime = |seconds: u32| match seconds {
        u32::MAX => Value::Text("infinity".to_string()),
        seconds => Value::Time(Duration::from_secs(seconds.into())),
    };
    let mut items = Vec::new();
    for link in &status.router.program.v6.nd.links {
        let prefixes = link.advertises.iter().flat_map(|advertised| &advertised.prefixes);
        for prefix in prefixes.filter(|prefix| !prefix.is_typed) {
            let values = Values::from([
                ("prefix", Value::Cidr6(prefix.prefix.bits().into(), prefix.prefix.len())),
                ("interface", status.name(link.interface)),
                ("on-link", Value::Bool(prefix.on_link)),
                ("autonomous", Value::Bool(prefix.autonomous)),
                ("valid-lifetime", lifetime(prefix.valid_s)),
                ("preferred-lifetime", lifetime(prefix.preferred_s)),
                ("invalid", Value::Bool(false)),
            ]);
            items.push(dynamic(numbers.of((link.interface, prefix.prefix)), values));
        }
    }
    items
}
