//! The facilities of IPv4: `/ip settings`, `/ip address`, `/ip arp` and `/ip route`, and what is shown of
//! them.

use super::address::{self, Address, OwnSources};
use super::dhcp::client::Leased;
use super::fed::marked;
use super::feed::{FedRoute, Protocol};
use super::gateway::{self, Gateways, Routed, Typed};
use super::neighbour::{Neighbour, Status};
use super::route::{self, Candidate, Target};
use super::settings::Settings;
use super::{arp, menu, vrf};
use crate::facility::{Facility, Rows};
use crate::firewall::mark::Mark;
use crate::interface::facilities::ALL as INTERFACES;
use crate::program::Program;
use crate::status::{
    BY_PLACE, Numbers, RouterStatus, Values, dynamic, ip, number, one_behind, reasons, text,
};
use config::{Item, ItemId, Value};
use std::collections::HashSet;
use std::sync::Arc;
use wire::Ipv4Prefix;

/// `/ip settings`.
pub(crate) static SETTINGS: Facility = Facility {
    compile: |c| c.program.settings = Settings::read(c.tree),
    relearn: true,
    setting: |status, property| status.ip_settings(property),
    ..Facility::of(&menu::SETTINGS)
};

/// `/ip address`.
pub(crate) static ADDRESS: Facility = Facility {
    after: &[&INTERFACES],
    follows_leases: true,
    compile: |c| {
        let program = &c.program;
        // A virtual router's are its own while it is the master.
        let is_own = |id| program.runs(id) || !program.is_virtual(id);
        let mut addresses = address::read(c.tree, &program.names);
        addresses.retain(|own| is_own(own.interface));
        addresses.extend(c.leased.iter().map(|leased| {
            let Leased { address, network, interface, .. } = *leased;
            Address { address, network, interface }
        }));
        addresses.extend(program.sessions.list().iter().map(Address::of));
        addresses.shrink_to_fit();
        c.program.leased = c.leased.clone();
        c.program.addresses = addresses;
        c.program.own_sources = OwnSources::of(&c.program.addresses);
    },
    check: |item, tree| menu::check_address(tree, item),
    value: |status, item, property| status.address(item, property),
    rows: Rows::Few(given_addresses),
    ..Facility::of(&menu::ADDRESS)
};

/// `/ip arp`.
pub(crate) static ARP: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| {
        c.neighbours = Some(arp::typed(c.tree, &c.program));
        c.program.published = arp::published(c.tree, &c.program);
    },
    relearn: true,
    check: |item, tree| menu::check_neighbour(tree, item),
    value: |status, item, property| status.neighbour(item, property),
    rows: Rows::Few(learnt_neighbours),
    ..Facility::of(&menu::ARP)
};

/// `/ip route`.
pub(crate) static ROUTE: Facility = Facility {
    after: &[&ADDRESS, &vrf::FACILITY],
    follows_gateways: true,
    follows_tables: true,
    compile: |c| {
        let program = &c.program;
        let (enabled, runs) = (|id| program.is_enabled(id), |id| program.runs(id));
        let addresses = &program.addresses;
        let mut ways =
            address::routes((addresses, &program.sessions, &program.vrfs), enabled, runs);
        let mut typed = gateway::typed(c.tree, program);
        typed.extend(gateway::of_rules(c.tree, program));
        let gateways = Gateways::find_out(&ways, &typed, program, c.silent);
        ways.extend(typed.iter().map(|route| route.candidate(program, &gateways)));
        ways.extend(c.leased.iter().flat_map(|leased| routes_of(program, leased)));
        let fed = marked(c.fed, &program.books.marks, |table| &table.four);
        ways.extend(fed.map(|(table, fed)| fed.candidate(table, program)));
        c.routes = Some(route::Change::between(&c.ways, ways));
        c.program.fed = c.fed.clone();
        c.program.gateways = Arc::new(gateways);
        c.program.silent = c.silent.clone();
    },
    relearn: true,
    check: |item, _| menu::check_route(item),
    value: |status, item, property| status.route::<u32>(item, property),
    rows: Rows::Many {
        page: routes_page,
        item: Some(|status, id| {
            let own = status.own_routes().into_iter().find(|item| item.id == id);
            own.or_else(|| one_behind(status, routes_page, id))
        }),
    },
    ..Facility::of(&menu::ROUTE)
};

/// The routes of a DHCP client.
fn routes_of(program: &Program, leased: &Leased) -> impl Iterator<Item = Candidate> {
    let Leased { interface, distance, .. } = *leased;
    let (runs, table) = (program.runs(interface), program.vrfs.of(interface));
    leased.routes.iter().map(move |&(prefix, gateway)| {
        let target = match gateway {
            0 => Target::Connected(interface),
            gateway => Target::Gateways(vec![(interface, gateway)]),
        };
        Candidate { table, prefix, distance, pref_src: 0, target: Some(target).filter(|_| runs) }
    })
}

/// The addresses of DHCP clients, and of sessions, whose network is the other end.
fn given_addresses(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let leased = status.router.program.leased.iter().map(|leased| {
        let Leased { address, network, .. } = *leased;
        let interface = status.name(leased.interface);
        let values = Values::from([
            ("address", Value::Cidr(address.into(), network.len())),
            ("network", ip(network.bits())),
            ("interface", interface.clone()),
            ("actual-interface", interface),
            ("invalid", Value::Bool(false)),
        ]);
        dynamic(numbers.of((leased.client, address)), values)
    });
    let mut items: Vec<Item> = leased.collect();
    items.extend(status.router.program.sessions.list().iter().map(|standing| {
        let (own, interface) = (Address::of(standing), status.name(standing.interface));
        let values = Values::from([
            ("address", Value::Cidr(own.address.into(), 32)),
            ("network", ip(own.network.bits())),
            ("interface", interface.clone()),
            ("actual-interface", interface),
            ("invalid", Value::Bool(false)),
        ]);
        dynamic(numbers.of(standing.session.number), values)
    }));
    items
}

/// What ARP has learnt, by interface and address.
fn learnt_neighbours(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let name = |interface| status.name(interface);
    let all = status.router.v4.neighbours.iter();
    let mut learnt: Vec<_> = all.filter(|row| row.status != Status::Permanent).collect();
    learnt.sort_by_key(|row| (row.interface, row.address));
    let items = learnt.into_iter().map(|Neighbour { interface, address, mac, status, .. }| {
        let is_leased = status == Status::Leased;
        let mut values = Values::from([
            ("address", ip(address)),
            ("interface", name(interface)),
            ("status", Value::Text(status.name().to_string())),
            ("complete", Value::Bool(mac.is_some())),
            ("DHCP", Value::Bool(is_leased)),
        ]);
        if let Some(mac) = mac {
            values.insert("mac-address", Value::Mac(mac));
        }
        dynamic(numbers.of((interface, address)), values)
    });
    items.collect()
}

/// `/ip route`: the networks of the router's addresses, then what was fed, by place; at most
/// `max` behind an item.
fn routes_page(status: &RouterStatus, after: Option<ItemId>, max: usize) -> Vec<Item> {
    let fed_after = after.filter(|after| after.0 >= BY_PLACE);
    let mut items = Vec::new();
    if fed_after.is_none() {
        items = status.own_routes();
        let from = after.map_or(Some(0), |after| {
            items.iter().position(|item| item.id == after).map(|at| at + 1)
        });
        items.drain(..from.unwrap_or(items.len()));
        items.truncate(max);
    }
    let from = fed_after.map_or(0, |last| last.0 - BY_PLACE + 1);
    let fed = status.router.v4.routes.fed_routes(from).take(max - items.len());
    items.extend(fed.map(|route| status.fed_route(&route, Mark::NONE)));
    items.extend(status.routes_of_tables(from.saturating_sub(TABLES), max - items.len()));
    items
}

/// Where the places of the routes of fed tables begin: there are not so many of main.
const TABLES: u32 = 1 << 28;

impl RouterStatus<'_> {
    fn ip_settings(&self, property: &str) -> Option<Value> {
        let (router, paths) = (self.router, &self.router.stats.paths);
        let fasttracked = router.v4.connections.fasttracked();
        Some(match property {
            "ipv4-fast-path-active" => Value::Bool(router.ipv4_fast_path()),
            "ipv4-fast-path-unmet" => reasons(&router.unmet().ipv4_fast_path),
            "ipv4-fast-path-packets" => number(paths.ipv4_fast_path.packets),
            "ipv4-fast-path-bytes" => number(paths.ipv4_fast_path.bytes),
            "ipv4-fasttrack-active" => Value::Bool(router.fasttrack() && fasttracked > 0),
            "ipv4-fasttrack-unmet" => {
                let mut unmet = router.unmet().ipv4_fasttrack;
                if fasttracked == 0 {
                    unmet.push("no connection is fasttracked");
                }
                reasons(&unmet)
            }
            "ipv4-fasttrack-packets" => number(paths.ipv4_fasttrack.packets),
            "ipv4-fasttrack-bytes" => number(paths.ipv4_fasttrack.bytes),
            _ => return None,
        })
    }

    fn address(&self, item: &Item, property: &str) -> Option<Value> {
        let Some(&Value::Cidr(address, len)) = item.get("address") else { return None };
        match property {
            "network" => {
                let network = Ipv4Prefix::new(address.into(), len);
                Some(Value::Address(network.bits().into()))
            }
            "actual-interface" => item.get("interface").cloned(),
            "invalid" => {
                let program = &self.router.program;
                let interface = program.names.find(&text(item, "interface"));
                let there = interface.is_some_and(|interface| program.is_enabled(interface));
                Some(Value::Bool(!there && !item.disabled))
            }
            _ => None,
        }
    }

    fn neighbour(&self, item: &Item, property: &str) -> Option<Value> {
        let Some(&Value::Address(address)) = item.get("address") else { return None };
        let interface = self.router.program.names.find(&text(item, "interface"))?;
        let neighbours = &self.router.v4.neighbours;
        let status = neighbours.status(neighbours.find(interface, address.into())?);
        let in_force = status == Status::Permanent && !item.disabled;
        match property {
            "complete" => Some(Value::Bool(in_force)),
            "status" if in_force => Some(Value::Text(status.name().to_string())),
            _ => None,
        }
    }

    /// What is shown of a typed route of either family.
    pub(crate) fn route<A: Routed>(&self, item: &Item, property: &str) -> Option<Value> {
        let program = &self.router.program;
        let read = A::MENU.read(item);
        match property {
            "active" => {
                let way = Typed::<A>::read(read, program)?.candidate(program, A::gateways(program));
                Some(Value::Bool(!item.disabled && A::is_active(&way, self.router)))
            }
            "static" => Some(Value::Bool(true)),
            "blackhole" | "unreachable" | "prohibit" => {
                Some(Value::Bool(menu::kind(read) == property))
            }
            "gateway-status" => {
                let Some(Value::List(gateways)) = item.get("gateway") else { return None };
                let table = A::table(read, program).unwrap_or_default();
                let scope = gateway::target_scope(read);
                let status = |way| gateway::status::<A>(way, table, scope, program);
                Some(Value::Text(gateways.iter().map(status).collect::<Vec<_>>().join(",")))
            }
            _ => None,
        }
    }

    /// The routes of fed tables from one on, at most `max`.
    fn routes_of_tables(&self, from: u32, max: usize) -> Vec<Item> {
        let program = &self.router.program;
        let all = marked(&program.fed, &program.books.marks, |table| &table.four);
        let some = (0..).zip(all).skip(from as usize).take(max);
        let items = some.map(|(at, (table, fed))| {
            let active = self.router.v4.routes.is_active(&fed.candidate(table, program));
            let (prefix, target, protocol) = (fed.prefix, &fed.target, fed.protocol);
            let route = FedRoute { place: TABLES + at, prefix, target, protocol, active };
            self.fed_route(&route, table)
        });
        items.collect()
    }

    /// A fed route: flags `ADb`, or `Db` while its link is down or another one is better.
    fn fed_route(&self, route: &FedRoute<'_>, table: Mark) -> Item {
        let is = |protocol| Value::Bool(route.protocol == protocol);
        let mut values = self.of_table(table);
        values.extend([
            ("dst-address", Value::Cidr(route.prefix.bits().into(), route.prefix.len())),
            ("distance", number(route.protocol.distance().into())),
            ("active", Value::Bool(route.active)),
            ("connect", is(Protocol::Connect)),
            ("static", is(Protocol::Static)),
            ("rip", is(Protocol::Rip)),
            ("bgp", is(Protocol::Bgp)),
            ("ospf", is(Protocol::Ospf)),
        ]);
        let (ways, drops) = match route.target {
            Target::Connected(interface) => (vec![(*interface, self.name(*interface))], None),
            Target::Gateways(ways) => (ways.iter().map(|way| (way.0, ip(way.1))).collect(), None),
            Target::Blackhole => (Vec::new(), Some("blackhole")),
            Target::Prohibit => (Vec::new(), Some("prohibit")),
            _ => (Vec::new(), Some("unreachable")),
        };
        if let Some(kind) = drops {
            values.insert(kind, Value::Bool(true));
            values.insert("type", Value::Text(kind.to_string()));
            if route.protocol == Protocol::Elsewhere {
                let why = "the host sends there by an interface that is no port";
                values.insert("gateway-status", Value::Text(why.to_string()));
            }
        } else {
            let program = &self.router.program;
            let status = ways.iter().map(|(interface, gateway)| match program.runs(*interface) {
                true => format!("{gateway} reachable via {}", program.interface(*interface).name),
                false => format!("{gateway} unreachable"),
            });
            values.insert("gateway-status", Value::Text(status.collect::<Vec<_>>().join(",")));
            let gateways = ways.into_iter().map(|(_, gateway)| gateway).collect();
            values.insert("gateway", Value::List(gateways));
        }
        dynamic(ItemId(BY_PLACE + route.place), values)
    }

    /// The routes of the router's own making.
    fn own_routes(&self) -> Vec<Item> {
        let mut numbers = Numbers::default();
        let mut routes = self.leased_routes(&mut numbers);
        routes.extend(self.connected_routes(&mut numbers));
        routes.extend(self.sessions_routes(&mut numbers));
        routes
    }

    /// Which table a route is in that nobody typed; main is not said.
    fn of_table(&self, table: Mark) -> Values {
        let name = self.router.program.books.marks.routing.name(table);
        let name = name.map(|name| ("routing-mark", Value::Text(name.to_string())));
        name.into_iter().collect()
    }

    /// The routes of DHCP clients: flags `ADS`, or `DS`.
    fn leased_routes(&self, numbers: &mut Numbers) -> Vec<Item> {
        let program = &self.router.program;
        let ways = program.leased.iter().flat_map(|leased| {
            let gateways = leased.routes.iter().map(|(_, gateway)| *gateway);
            routes_of(program, leased)
                .zip(gateways)
                .map(move |(way, gateway)| (leased, way, gateway))
        });
        let items = ways.map(|(leased, way, gateway)| {
            let name = &program.interface(leased.interface).name;
            let gateway = if gateway == 0 { Value::Text(name.to_string()) } else { ip(gateway) };
            let status = match way.target {
                Some(_) => format!("{gateway} reachable via {name}"),
                None => format!("{gateway} unreachable"),
            };
            let mut values = self.of_table(way.table);
            values.extend([
                ("dst-address", Value::Cidr(way.prefix.bits().into(), way.prefix.len())),
                ("gateway", Value::List(vec![gateway])),
                ("gateway-status", Value::Text(status)),
                ("distance", number(leased.distance.into())),
                ("active", Value::Bool(u32::is_active(&way, self.router))),
                ("static", Value::Bool(true)),
            ]);
            let key = (leased.client, way.prefix.bits(), way.prefix.len());
            dynamic(numbers.of(key), values)
        });
        items.collect()
    }

    /// The routes of sessions: flags `ADS`, or `DS`.
    fn sessions_routes(&self, numbers: &mut Numbers) -> Vec<Item> {
        let mut items = Vec::new();
        for standing in self.router.program.sessions.list() {
            let name = self.name(standing.interface);
            let table = self.router.program.vrfs.of(standing.interface);
            for way in address::session_routes(standing, table) {
                let (gateway, status) = match &way.target {
                    Some(Target::Gateways(ways)) => {
                        let gateway = ip(ways.first().map_or(0, |(_, gateway)| *gateway));
                        (gateway.clone(), format!("{gateway} reachable via {name}"))
                    }
                    _ => (name.clone(), format!("{name} reachable")),
                };
                let prefix = way.prefix;
                let values = Values::from([
                    ("dst-address", Value::Cidr(prefix.bits().into(), prefix.len())),
                    ("gateway-status", Value::Text(status)),
                    ("gateway", Value::List(vec![gateway])),
                    ("distance", number(way.distance.into())),
                    ("active", Value::Bool(u32::is_active(&way, self.router))),
                    ("static", Value::Bool(true)),
                ]);
                items.push(dynamic(numbers.of((0, standing.interface, prefix)), values));
            }
        }
        items
    }

    /// The networks of the router's addresses: flags `DAC`, or `DC` while another interface has
    /// the network or the interface does not run.
    fn connected_routes(&self, numbers: &mut Numbers) -> Vec<Item> {
        let mut seen = HashSet::new();
        let own = self.router.program.addresses.iter();
        let own = own.filter(|own| own.has_neighbours());
        let networks = own.filter(|own| seen.insert((own.network, own.interface)));
        let items = networks.map(|own| {
            let runs = self.router.program.runs(own.interface);
            let target = Some(Target::Connected(own.interface));
            let table = self.router.program.vrfs.of(own.interface);
            let prefix = own.network;
            let way = Candidate { table, prefix, distance: 0, pref_src: 0, target };
            let name = self.name(own.interface);
            let reachable = if runs { "reachable" } else { "unreachable" };
            let mut values = self.of_table(table);
            values.extend([
                ("dst-address", Value::Cidr(own.network.bits().into(), own.network.len())),
                ("pref-src", ip(own.address)),
                ("gateway-status", Value::Text(format!("{name} {reachable}"))),
                ("gateway", Value::List(vec![name])),
                ("distance", number(0)),
                ("scope", number(10)),
                ("active", Value::Bool(runs && self.router.v4.routes.is_active(&way))),
                ("connect", Value::Bool(true)),
                ("static", Value::Bool(false)),
            ]);
            dynamic(numbers.of((own.network, own.interface)), values)
        });
        items.collect()
    }
}
