//! The facilities of IPv6: `/ipv6 settings`, `/ipv6 address`, `/ipv6 neighbor` and `/ipv6 route`, and
//! what is shown of them.

use super::address::{self, Address};
use super::menu;
use super::route::{self, Candidate, Routes};
use super::settings::Settings;
use crate::facility::{Facility, Rows};
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::interface::facilities::ALL as INTERFACES;
use crate::ip::fed::{Fed, marked};
use crate::ip::feed::Protocol;
use crate::ip::gateway::{self, CONNECTED};
use crate::ip::neighbour::Neighbour;
use crate::ip::route::Target;
use crate::ip::vrf;
use crate::status::{BY_PLACE, Numbers, RouterStatus, Values, dynamic, number, text};
use config::{Item, ItemId, Value};
use std::net::Ipv6Addr;
use std::sync::Arc;
use wire::Ipv6Prefix;
use wire::layers::ETHERTYPE_IPV6;

/// `/ipv6 settings`.
pub(crate) static SETTINGS: Facility = Facility {
    compile: |c| c.program.v6.settings = Settings::read(c.tree),
    setting: |status, property| status.ipv6_settings(property),
    ..Facility::of(&menu::SETTINGS)
};

/// `/ipv6 address`.
pub(crate) static ADDRESS: Facility = Facility {
    after: &[&INTERFACES, &SETTINGS],
    follows_found: true,
    compile: |c| {
        c.program.v6.found = c.found.clone();
        let (used, duplicates) = address::read(c.tree, &c.program, c.found);
        (c.program.v6.addresses, c.program.v6.duplicates) = (used.into(), duplicates.into());
        c.program.v6.wants = address::wants(c.tree).into();
    },
    check: |item, tree| menu::check_address(tree, item),
    remark: |status, item| status.why_invalid6(item),
    value: |status, item, property| status.address6(item, property),
    rows: Rows::Few(link_addresses),
    ..Facility::of(&menu::ADDRESS)
};

/// `/ipv6 neighbor`.
pub(crate) static NEIGHBOR: Facility =
    Facility { rows: Rows::Few(neighbours), ..Facility::of(&menu::NEIGHBOR) };

/// `/ipv6 route`.
pub(crate) static ROUTE: Facility = Facility {
    after: &[&ADDRESS, &vrf::FACILITY],
    follows_gateways: true,
    follows_tables: true,
    compile: |c| {
        let (ways, gateways) = route::candidates(c.tree, &c.program, c.silent, c.fed);
        c.program.v6.routes = Arc::new(Routes::of(ways));
        c.program.v6.gateways = Arc::new(gateways);
        c.program.v6.vrfs = c.program.vrfs.clone();
    },
    check: |item, _| menu::check_route(item),
    value: |status, item, property| status.route::<u128>(item, property),
    rows: Rows::Many { page: routes_page, item: None },
    ..Facility::of(&menu::ROUTE)
};

fn ip6(address: u128) -> Value {
    Value::Address6(address.into())
}

/// The addresses of links, and those that the router was given: flags `DL`, `DG`.
fn link_addresses(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let v6 = &status.router.program.v6;
    let all = v6.addresses.iter().map(|own| (own, false));
    let all = all.chain(v6.duplicates.iter().map(|own| (own, true)));
    let own = all.filter(|(own, _)| own.item.is_none());
    let item = |(own, duplicate): (&Address, bool)| {
        let is_near = own.is_link_local();
        let values = Values::from([
            ("address", Value::Cidr6(own.address.into(), own.network.len())),
            ("interface", status.name(own.interface)),
            ("actual-interface", status.name(own.interface)),
            ("advertise", Value::Bool(false)),
            ("link-local", Value::Bool(is_near)),
            ("global", Value::Bool(!is_near)),
            ("invalid", Value::Bool(duplicate)),
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

/// The networks of the router's addresses, what it was told, and then what was fed, by place; at most
/// `max` behind an item.
fn routes_page(status: &RouterStatus, after: Option<ItemId>, max: usize) -> Vec<Item> {
    let fed_after = after.filter(|after| after.0 >= BY_PLACE);
    let mut items = Vec::new();
    if fed_after.is_none() {
        items = connected_routes(status);
        let place = |after| items.iter().position(|item: &Item| item.id == after);
        let from = after.map_or(Some(0), |after| place(after).map(|at| at + 1));
        items.drain(..from.unwrap_or(items.len()));
        items.truncate(max);
    }
    let from = fed_after.map_or(0, |last| last.0 - BY_PLACE + 1);
    let program = &status.router.program;
    let main = program.v6.found.fed.iter().map(|fed| (Mark::NONE, fed));
    let tables = marked(&program.fed, &program.books.marks, |table| &table.six);
    let fed = main.chain(tables).enumerate().skip(from as usize);
    let room = max - items.len();
    items.extend(fed.take(room).map(|(place, fed)| fed_route(status, place as u32, fed)));
    items
}

/// A fed route: flags `AD` and who knows it.
fn fed_route(status: &RouterStatus, place: u32, (table, fed): (Mark, &Fed)) -> Item {
    let program = &status.router.program;
    let way = fed.candidate(table, program);
    let is = |protocol| Value::Bool(fed.protocol == protocol);
    let ends = |target| Value::Bool(fed.target == target);
    let mut values = of_table(status, table);
    values.extend([
        ("dst-address", Value::Cidr6(fed.prefix.bits().into(), fed.prefix.len())),
        ("distance", number(way.distance.into())),
        ("active", Value::Bool(program.v6.routes.is_best(&way))),
        ("static", is(Protocol::Static)),
        ("bgp", is(Protocol::Bgp)),
        ("ospf", is(Protocol::Ospf)),
        ("rip", is(Protocol::Rip)),
        ("blackhole", ends(Target::Blackhole)),
        ("unreachable", ends(Target::Unreachable)),
        ("prohibit", ends(Target::Prohibit)),
    ]);
    let name = |interface| program.interface(interface).name.to_string();
    let gateways: Vec<String> = match &fed.target {
        Target::Connected(interface) => vec![name(*interface)],
        Target::Gateways(ways) => ways
            .iter()
            .map(|&(interface, address)| {
                let address = Ipv6Addr::from(address);
                match Ipv6Prefix::LINK_LOCAL.contains(address.into()) {
                    true => format!("{address}%{}", name(interface)),
                    false => address.to_string(),
                }
            })
            .collect(),
        _ => Vec::new(),
    };
    let reachable = if way.target.is_some() { "reachable" } else { "unreachable" };
    let said = match fed.protocol {
        Protocol::Elsewhere => "the host sends there by an interface that is no port".to_string(),
        _ => gateways.iter().map(|at| format!("{at} {reachable}")).collect::<Vec<_>>().join(","),
    };
    values.insert("gateway-status", Value::Text(said));
    values.insert("gateway", Value::List(gateways.into_iter().map(Value::Text).collect()));
    dynamic(ItemId(BY_PLACE + place), values)
}

/// In which table a route is, if it is not main.
fn of_table(status: &RouterStatus, table: Mark) -> Values {
    let name = status.router.program.books.marks.routing.name(table);
    name.map(|name| ("routing-table", Value::Text(name.to_string()))).into_iter().collect()
}

/// The networks of the router's addresses: flags `DAC`, or `DC` while another one is used.
fn connected_routes(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let routes = status.router.program.v6.routes.iter();
    let networks = routes.filter_map(|(way, active)| match way {
        // Nobody types a distance of 0.
        Candidate { target: Some(Target::Connected(interface)), prefix, distance: 0, .. } => {
            Some((way.table, *prefix, *interface, active))
        }
        _ => None,
    });
    let told = told_routes(status);
    let items = networks.map(|(table, prefix, interface, active)| {
        let name = status.name(interface);
        let mut values = of_table(status, table);
        values.extend([
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
    items.chain(told).collect()
}

/// The routes that the router was told: flags `ADS`, `ADU`, or without the A while another one is used.
fn told_routes(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let program = &status.router.program;
    let told = program.v6.found.routes.iter();
    let told = told.filter(|told| !matches!(told.target, Target::Connected(_)));
    let items = told.map(|told| {
        let way = route::told_route(told, program).candidate(program, &program.v6.gateways);
        let active = program.v6.routes.is_best(&way);
        let mut values = of_table(status, way.table);
        values.extend([
            ("dst-address", Value::Cidr6(told.prefix.bits().into(), told.prefix.len())),
            ("distance", number(told.distance.into())),
            ("active", Value::Bool(active)),
            ("static", Value::Bool(told.target != Target::Unreachable)),
            ("unreachable", Value::Bool(told.target == Target::Unreachable)),
        ]);
        if let Target::Gateways(ways) = &told.target {
            let name = |interface| program.interface(interface).name.to_string();
            let gateway = |&(interface, address): &(_, u128)| {
                let address = Ipv6Addr::from(address);
                Value::Text(match interface {
                    InterfaceId::NONE => address.to_string(),
                    interface => format!("{address}%{}", name(interface)),
                })
            };
            let gateways: Vec<_> = ways.iter().map(gateway).collect();
            let status = |way| gateway::status::<u128>(way, Mark::NONE, CONNECTED, program);
            let said: Vec<_> = gateways.iter().map(status).collect();
            values.insert("gateway-status", Value::Text(said.join(",")));
            values.insert("gateway", Value::List(gateways));
        }
        dynamic(numbers.of((told.prefix, told.by)), values)
    });
    items.collect()
}

impl RouterStatus<'_> {
    fn ipv6_settings(&self, property: &str) -> Option<Value> {
        let (router, paths) = (self.router, &self.router.stats.paths);
        let fasttracked = router.v6.connections.fasttracked() > 0;
        Some(match property {
            "ipv6-fast-path-active" => Value::Bool(router.ipv6_fast_path()),
            "ipv6-fast-path-packets" => number(paths.ipv6_fast_path.packets),
            "ipv6-fast-path-bytes" => number(paths.ipv6_fast_path.bytes),
            "ipv6-fasttrack-active" => {
                Value::Bool(fasttracked && router.fasttrack_of(ETHERTYPE_IPV6))
            }
            "ipv6-fasttrack-packets" => number(paths.ipv6_fasttrack.packets),
            "ipv6-fasttrack-bytes" => number(paths.ipv6_fasttrack.bytes),
            _ => return None,
        })
    }

    fn address6(&self, item: &Item, property: &str) -> Option<Value> {
        let program = &self.router.program;
        let meant = address::one(menu::ADDRESS.read(item), program, &program.v6.found);
        match property {
            "actual-interface" => item.get("interface").cloned(),
            "global" => Some(Value::Bool(meant.is_some_and(|own| !own.is_link_local()))),
            "link-local" => Some(Value::Bool(meant.is_some_and(|own| own.is_link_local()))),
            "actual-address" => {
                let own = meant.map(|own| Value::Cidr6(own.address.into(), own.network.len()));
                own.filter(|own| item.get("address") != Some(own))
            }
            _ => None,
        }
    }

    /// Why an address is not used, if it is not.
    fn why_invalid6(&self, item: &Item) -> Option<String> {
        let program = &self.router.program;
        let meant = address::one(menu::ADDRESS.read(item), program, &program.v6.found);
        let (interface, pool) = (text(item, "interface"), text(item, "from-pool"));
        let Some(own) = meant else {
            let there = program.names.find(&interface).is_some_and(|id| program.is_enabled(id));
            return Some(match there && !pool.is_empty() {
                true => format!("pool {pool} has no prefix for it"),
                false => format!("interface {interface} is not there"),
            });
        };
        let doubled = program.v6.duplicates.iter().any(|other| other.item == own.item);
        doubled.then(|| format!("duplicate: somebody else on {interface} has this address"))
    }
}
