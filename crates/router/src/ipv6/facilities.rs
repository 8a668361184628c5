//! The facilities of IPv6: `/ipv6 settings`, `/ipv6 address`, `/ipv6 neighbor` and `/ipv6 route`, and
//! what is shown of them.

use super::address::{self, Address};
use super::menu;
use super::route::{self, Candidate, Routes};
use super::settings::Settings;
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL as INTERFACES;
use crate::ip::neighbour::Neighbour;
use crate::ip::route::Target;
use crate::status::{Numbers, RouterStatus, Values, dynamic, number, text};
use config::{Item, Value};
use std::sync::Arc;

/// `/ipv6 settings`.
pub(crate) static SETTINGS: Facility = Facility {
    compile: |c| c.program.v6.settings = Settings::read(c.tree),
    ..Facility::of(&menu::SETTINGS)
};

/// `/ipv6 address`.
pub(crate) static ADDRESS: Facility = Facility {
    after: &[&INTERFACES, &SETTINGS],
    compile: |c| c.program.v6.addresses = address::read(c.tree, &c.program).into(),
    check: |item, tree| menu::check_address(tree, item),
    value: |status, item, property| status.address6(item, property),
    rows: Rows::Few(link_addresses),
    ..Facility::of(&menu::ADDRESS)
};

/// `/ipv6 neighbor`.
pub(crate) static NEIGHBOR: Facility =
    Facility { rows: Rows::Few(neighbours), ..Facility::of(&menu::NEIGHBOR) };

/// `/ipv6 route`.
pub(crate) static ROUTE: Facility = Facility {
    after: &[&ADDRESS],
    compile: |c| {
        c.program.v6.routes = Arc::new(Routes::of(route::candidates(c.tree, &c.program)));
    },
    check: |item, _| menu::check_route(item),
    value: |status, item, property| status.route6(item, property),
    rows: Rows::Few(connected_routes),
    ..Facility::of(&menu::ROUTE)
};

fn ip6(address: u128) -> Value {
    Value::Address6(address.into())
}

/// The addresses of links: flags `DL`.
fn link_addresses(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let own = status.router.program.v6.addresses.iter().filter(|own| own.item.is_none());
    let item = |own: &Address| {
        let values = Values::from([
            ("address", Value::Cidr6(own.address.into(), own.network.len())),
            ("interface", status.name(own.interface)),
            ("actual-interface", status.name(own.interface)),
            ("advertise", Value::Bool(false)),
            ("link-local", Value::Bool(true)),
            ("global", Value::Bool(false)),
        ]);
        dynamic(numbers.of((own.address, own.interface)), values)
    };
    own.map(item).collect()
}

/// What neighbour discovery has learnt, by interface and address.
fn neighbours(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let mut all: Vec<_> = status.router.v6.neighbours.iter().collect();
    all.sort_by_key(|row| (row.interface, row.address));
    let items = all.into_iter().map(|Neighbour { interface, address, mac, status: at, .. }| {
        let mut values = Values::from([
            ("address", ip6(address)),
            ("interface", status.name(interface)),
            ("status", Value::Text(at.name().to_string())),
        ]);
        if let Some(mac) = mac {
            values.insert("mac-address", Value::Mac(mac));
        }
        dynamic(numbers.of((interface, address)), values)
    });
    items.collect()
}

/// The networks of the router's addresses: flags `DAC`, or `DC` while another one is used.
fn connected_routes(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let routes = status.router.program.v6.routes.iter();
    let networks = routes.filter_map(|(way, active)| match way {
        Candidate { target: Some(Target::Connected(interface)), item: None, prefix, .. } => {
            Some((*prefix, *interface, active))
        }
        _ => None,
    });
    let items = networks.map(|(prefix, interface, active)| {
        let name = status.name(interface);
        let values = Values::from([
            ("dst-address", Value::Cidr6(prefix.bits().into(), prefix.len())),
            ("gateway-status", Value::Text(format!("{name} reachable"))),
            ("gateway", Value::List(vec![name])),
            ("distance", number(0)),
            ("scope", number(10)),
            ("active", Value::Bool(active)),
            ("connect", Value::Bool(true)),
            ("static", Value::Bool(false)),
        ]);
        dynamic(numbers.of((prefix, interface)), values)
    });
    items.collect()
}

impl RouterStatus<'_> {
    fn address6(&self, item: &Item, property: &str) -> Option<Value> {
        let program = &self.router.program;
        let meant = address::one(menu::ADDRESS.read(item), program);
        match property {
            "actual-interface" => item.get("interface").cloned(),
            "global" => Some(Value::Bool(meant.is_some_and(|own| !own.is_link_local()))),
            "link-local" => Some(Value::Bool(meant.is_some_and(|own| own.is_link_local()))),
            "invalid" => Some(Value::Bool(meant.is_none() && !item.disabled)),
            _ => None,
        }
    }

    fn route6(&self, item: &Item, property: &str) -> Option<Value> {
        let program = &self.router.program;
        let kind = |kind: &str| Some(Value::Bool(text(item, "type") == kind));
        match property {
            "active" => {
                let mut routes = program.v6.routes.iter();
                let active = routes.any(|(way, active)| active && way.item == Some(item.id));
                Some(Value::Bool(active && !item.disabled))
            }
            "static" => Some(Value::Bool(true)),
            "blackhole" | "unreachable" | "prohibit" => kind(property),
            "gateway-status" => {
                let Some(Value::List(gateways)) = item.get("gateway") else { return None };
                let gateways = gateways.iter().map(|gateway| match route::way(gateway, program) {
                    Some((interface, Some(_))) => {
                        let name = &program.interface(interface).name;
                        format!("{gateway} reachable via {name}")
                    }
                    Some((_, None)) => format!("{gateway} reachable"),
                    None => format!("{gateway} unreachable"),
                });
                Some(Value::Text(gateways.collect::<Vec<_>>().join(",")))
            }
            _ => None,
        }
    }
}
