//! Gateways: which neighbour is behind one, and whether it answers (`check-gateway`).
//!
//! ```text
//!  gateway ─► longest active route of main, or of the route's VRF, whose scope ≤ target-scope
//!          ─► interface, neighbour
//!             connected: 10, static: as typed
//!
//!  check-gateway=ping, arp ─► a request each 10 s ─► two without an answer: silent
//!                                              any answer: not silent any more
//! ```
//!
//! A route is inactive while none of its gateways is behind anything, or all that are keep silent;
//! whoever is silent is so for all routes that name it. A gateway that is silent is asked on.
//!
//! The routes are found out in rounds, from nothing: a route cannot hold itself up.
//!
//! **Missing**: gateways behind routes that were fed, and BFD.

use super::address::{Address, by_text};
use super::menu::{ROUTE, gateway_interface, kind};
use super::route::{Candidate, Target};
use super::rule;
use crate::firewall::mangle;
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::interface::tunnel::Keepalive;
use crate::interface::tunnel::life::Life;
use crate::program::Program;
use crate::tool::echo::PingId;
use config::{Read, Tree, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use wire::Ipv4Prefix;

/// How often a gateway is asked, and how many answers in a row may be missing before it counts as
/// silent: when the third request is due, two have been waited for in vain.
pub(crate) const KEEPALIVE: Keepalive = Keepalive { interval: Duration::from_secs(10), retries: 2 };

/// The scope of connected networks, and of the router's own addresses.
const CONNECTED: u8 = 10;
/// Deeper than this no route lies behind others.
const ROUNDS: usize = 16;

/// A gateway as typed: an address, on an interface or wherever routes lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gateway {
    pub(crate) address: u32,
    /// `NONE` if the routes say it.
    pub(crate) bound: InterfaceId,
    /// Whose routes: main's, or a VRF's.
    pub(crate) table: Mark,
}

/// How a gateway is asked whether it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Ping,
    Arp,
}

/// A gateway that is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) gateway: Gateway,
    pub(crate) how: How,
    /// The neighbour behind it; `None` while there is none, and nobody to ask.
    pub(crate) hop: Option<(InterfaceId, u32)>,
}

/// What is known of one that is asked.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) check: Check,
    pub(crate) life: Life,
    /// Its requests.
    pub(crate) ping: Option<PingId>,
    /// How many there were.
    pub(crate) sent: u64,
}

impl Probe {
    pub(crate) fn new(check: Check) -> Probe {
        Probe { check, life: Life::NEW, ping: None, sent: 0 }
    }

    /// Whether it has not answered for too long.
    pub(crate) fn is_silent(&self) -> bool {
        self.check.hop.is_some() && !self.life.is_up(Some(KEEPALIVE))
    }
}

/// What is behind the gateways of all routes.
#[derive(Debug, Default)]
pub(crate) struct Gateways {
    /// By gateway and target-scope.
    hops: BTreeMap<(Gateway, u8), Vec<(InterfaceId, u32)>>,
    /// Those that are asked.
    pub(crate) checks: Vec<Check>,
    /// Those that do not answer.
    silent: Arc<BTreeSet<Gateway>>,
}

/// A route as typed.
#[derive(Debug)]
pub(crate) struct Typed {
    table: Mark,
    prefix: Ipv4Prefix,
    distance: u8,
    scope: u8,
    target_scope: u8,
    pref_src: u32,
    check: Option<How>,
    to: To,
}

/// Where a typed route leads.
#[derive(Debug)]
enum To {
    /// Blackhole and the like; an interface that runs; nowhere.
    Fixed(Option<Target>),
    Gateways(Vec<Gateway>),
}

impl Typed {
    /// Reads a route; `None` for one whose table nobody knows.
    pub(crate) fn read(item: Read, program: &Program) -> Option<Typed> {
        let Value::Cidr(address, len) = *item.value("dst-address") else { return None };
        let table = table_of(item, program)?;
        let to = match kind(item).as_str() {
            "blackhole" => To::Fixed(Some(Target::Blackhole)),
            "unreachable" => To::Fixed(Some(Target::Unreachable)),
            "prohibit" => To::Fixed(Some(Target::Prohibit)),
            _ => To::read(&item.list("gateway"), table, program),
        };
        let scope = |name, default| match item.opt(name).as_deref() {
            Some(&Value::Number(scope)) => scope as u8,
            _ => default,
        };
        let pref_src = match item.opt("pref-src").as_deref() {
            Some(&Value::Address(address)) => address.into(),
            _ => 0,
        };
        let check = match item.text("check-gateway").as_str() {
            "ping" => Some(How::Ping),
            "arp" => Some(How::Arp),
            _ => None,
        };
        Some(Typed {
            table,
            prefix: Ipv4Prefix::new(u32::from(address), len),
            distance: item.number("distance") as u8,
            scope: scope("scope", 30),
            target_scope: scope("target-scope", CONNECTED),
            pref_src,
            check,
            to,
        })
    }

    fn gateways(&self) -> &[Gateway] {
        match &self.to {
            To::Gateways(gateways) => gateways,
            To::Fixed(_) => &[],
        }
    }

    /// What it comes to.
    pub(crate) fn candidate(&self, addresses: &[Address], known: &Gateways) -> Candidate {
        // RouterOS: inactive while pref-src is not the router's own.
        let own = self.pref_src == 0 || addresses.iter().any(|own| own.address == self.pref_src);
        let target = match &self.to {
            _ if !own => None,
            To::Fixed(target) => target.clone(),
            To::Gateways(gateways) => {
                let hops = gateways.iter().filter(|gateway| !known.silent.contains(gateway));
                let hops = hops.flat_map(|&gateway| known.hops(gateway, self.target_scope));
                let hops: Vec<_> = hops.copied().collect();
                (!hops.is_empty()).then_some(Target::Gateways(hops))
            }
        };
        let (table, prefix, distance, pref_src) =
            (self.table, self.prefix, self.distance, self.pref_src);
        Candidate { table, prefix, distance, pref_src, target }
    }
}

impl To {
    fn read(gateways: &[Value], table: Mark, program: &Program) -> To {
        let mut all = Vec::new();
        for gateway in gateways {
            if let Some(name) = gateway_interface(gateway) {
                // An interface as gateway: everything behind the route is a neighbour there.
                let interface = program.names.find(name).filter(|&id| program.runs(id));
                return To::Fixed(interface.map(Target::Connected));
            }
            all.extend(gateway_of(gateway, table, program));
        }
        To::Gateways(all)
    }
}

impl Gateways {
    /// Finds out what is behind the gateways of these routes, where `base` are those that nobody typed.
    pub(crate) fn find_out(
        base: &[Candidate],
        typed: &[Typed],
        addresses: &[Address],
        silent: &Arc<BTreeSet<Gateway>>,
        runs: impl Fn(InterfaceId) -> bool,
    ) -> Gateways {
        let mut known = Gateways { silent: silent.clone(), ..Gateways::default() };
        let wanted = typed.iter().flat_map(|route| {
            route.gateways().iter().map(|&gateway| (gateway, route.target_scope))
        });
        let wanted: BTreeSet<(Gateway, u8)> = wanted.collect();
        let Some(most) = wanted.iter().map(|(_, target_scope)| *target_scope).max() else {
            return known;
        };
        // Of the routes only those matter that others may look at, and their rivals.
        let tables: BTreeSet<Mark> = wanted.iter().map(|(gateway, _)| gateway.table).collect();
        let asked = || typed.iter().filter(|route| tables.contains(&route.table));
        let seen = asked().filter(|route| route.scope <= most);
        let seen: BTreeSet<_> = seen.map(|route| (route.table, route.prefix)).collect();
        for _ in 0..ROUNDS {
            let mut best = Best::new();
            let rivals = asked().filter(|route| seen.contains(&(route.table, route.prefix)));
            let rivals = rivals.map(|route| (route.candidate(addresses, &known), route.scope));
            for (way, scope) in base.iter().map(|way| (way.clone(), CONNECTED)).chain(rivals) {
                let place = (way.table, way.prefix);
                let better = best.get(&place).is_none_or(|(old, _)| way.distance < old.distance);
                if way.target.is_some() && better {
                    best.insert(place, (way, scope));
                }
            }
            let hops = wanted.iter().map(|&(gateway, target_scope)| {
                let hops = match gateway.bound {
                    InterfaceId::NONE => behind(&best, gateway, target_scope),
                    bound if runs(bound) => vec![(bound, gateway.address)],
                    _ => Vec::new(),
                };
                ((gateway, target_scope), hops)
            });
            let hops = hops.collect();
            if known.hops == hops {
                break;
            }
            known.hops = hops;
        }
        let mut asked = BTreeSet::new();
        for route in typed {
            let Some(how) = route.check else { continue };
            for &gateway in route.gateways().iter().filter(|&&gateway| asked.insert(gateway)) {
                let hop = known.hops(gateway, route.target_scope).first().copied();
                known.checks.push(Check { gateway, how, hop });
            }
        }
        known
    }

    /// The neighbours behind a gateway.
    pub(crate) fn hops(&self, gateway: Gateway, target_scope: u8) -> &[(InterfaceId, u32)] {
        self.hops.get(&(gateway, target_scope)).map_or(&[], |hops| hops)
    }

    /// `10.0.2.1 reachable via ether2`, `8.8.8.8 recursive via 10.0.2.1 ether2`, or unreachable.
    pub(crate) fn status(
        &self,
        gateway: Gateway,
        target_scope: u8,
        name: impl Fn(InterfaceId) -> String,
    ) -> String {
        let hops = self.hops(gateway, target_scope);
        match hops.first() {
            Some(_) if self.silent.contains(&gateway) => " unreachable".to_string(),
            None => " unreachable".to_string(),
            Some(&(interface, hop)) if hop == gateway.address => {
                format!(" reachable via {}", name(interface))
            }
            Some(&(interface, hop)) => {
                let hop = std::net::Ipv4Addr::from(hop);
                format!(" recursive via {hop} {}", name(interface))
            }
        }
    }

    /// The target-scope of a route.
    pub(crate) fn target_scope(item: Read) -> u8 {
        match item.opt("target-scope").as_deref() {
            Some(&Value::Number(scope)) => scope as u8,
            _ => CONNECTED,
        }
    }
}

/// The best active ways of the tables that gateways are looked for in, and their scopes.
type Best = BTreeMap<(Mark, Ipv4Prefix), (Candidate, u8)>;

/// The neighbours behind a gateway: of the longest route whose scope is small enough.
fn behind(best: &Best, gateway: Gateway, target_scope: u8) -> Vec<(InterfaceId, u32)> {
    let Gateway { address, table, .. } = gateway;
    for len in (0..=32).rev() {
        let prefix = Ipv4Prefix::new(address, len);
        let Some((way, scope)) = best.get(&(table, prefix)) else { continue };
        if *scope > target_scope {
            continue;
        }
        return match &way.target {
            Some(Target::Connected(interface)) => vec![(*interface, address)],
            Some(Target::Gateways(ways)) => ways.clone(),
            // Within the network that it is the end of.
            Some(Target::Broadcast) => continue,
            _ => Vec::new(),
        };
    }
    Vec::new()
}

/// The table that a route is in, in either version's words.
pub(crate) fn table_of(route: Read, program: &Program) -> Option<Mark> {
    let text = |name| Some(route.text(name)).filter(|text| !text.is_empty());
    match text("routing-mark").or_else(|| text("routing-table")) {
        Some(mark) => rule::table(&mark, &program.books.marks),
        None => match text("vrf-interface") {
            Some(name) => Some(program.vrfs.of(program.names.find(&name)?)),
            None => Some(Mark::NONE),
        },
    }
}

/// The gateway of a route in this table: a VRF's is looked for in it, any other in main.
pub(crate) fn gateway_of(gateway: &Value, table: Mark, program: &Program) -> Option<Gateway> {
    let table = if program.vrfs.has(table) { table } else { Mark::NONE };
    by_text(gateway, table, &program.names, &program.books.marks)
}

/// The enabled routes of the configuration.
pub(crate) fn typed(tree: &Tree, program: &Program) -> Vec<Typed> {
    let routes = tree.read(&ROUTE).filter(|item| !item.bool("disabled"));
    let routes = routes.filter_map(|item| Typed::read(item, program));
    // Rules of mangle that name a gateway have a table of it each.
    let rules = mangle::gateways(tree).into_iter().filter_map(|gateway| {
        let address = gateway.parse::<std::net::Ipv4Addr>().ok()?;
        let (bound, table) = (InterfaceId::NONE, Mark::NONE);
        let gateway = Gateway { address: address.into(), bound, table };
        Some(Typed {
            table: program.books.marks.routing.find(&address.to_string())?,
            prefix: Ipv4Prefix::new(0, 0),
            distance: 1,
            scope: 30,
            target_scope: CONNECTED,
            pref_src: 0,
            check: None,
            to: To::Gateways(vec![gateway]),
        })
    });
    routes.chain(rules).collect()
}
