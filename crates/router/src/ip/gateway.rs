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
//! All of it is of either family: what differs is `Routed`.
//!
//! **Missing**: gateways behind routes that were fed, and BFD.

use super::family::Family;
use super::fib::Word;
use super::menu::{self, gateway_by, gateway_in, gateway_interface, kind};
use super::route::{Candidate, Target};
use super::rule;
use crate::firewall::mangle;
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::interface::tunnel::Keepalive;
use crate::interface::tunnel::life::Life;
use crate::program::Program;
use crate::router::Router;
use crate::tool::echo::PingId;
use config::{Menu, Read, Tree, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// How often a gateway is asked, and how many answers in a row may be missing before it counts as
/// silent: when the third request is due, two have been waited for in vain.
pub(crate) const KEEPALIVE: Keepalive = Keepalive { interval: Duration::from_secs(10), retries: 2 };

/// The scope of connected networks, and of the router's own addresses.
pub(crate) const CONNECTED: u8 = 10;
/// The scope of all other routes, if nobody says another.
const STATIC: u8 = 30;
/// Deeper than this no route lies behind others.
const ROUNDS: usize = 16;

/// A family, and what of its routes is its own.
pub(crate) trait Routed: Family + Word {
    /// The menu that they are typed in.
    const MENU: &'static Menu;

    /// The table that a typed one is in; `None` if nobody knows it.
    fn table(route: Read, program: &Program) -> Option<Mark>;

    /// Whether an address is the router's own.
    fn is_own(self, program: &Program) -> bool;

    /// What is behind all gateways.
    fn gateways(program: &Program) -> &Gateways<Self>;

    /// Whether packets take a way.
    fn is_active(way: &Candidate<Self>, router: &Router) -> bool;
}

/// A gateway as typed: an address, on an interface or wherever routes lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gateway<A = IpAddr> {
    pub(crate) address: A,
    /// `NONE` if the routes say it.
    pub(crate) bound: InterfaceId,
    /// Whose routes: main's, or a VRF's.
    pub(crate) table: Mark,
}

impl<A: Family> Gateway<A> {
    /// As one of either family.
    fn any(self) -> Gateway {
        let Gateway { address, bound, table } = self;
        Gateway { address: address.ip(), bound, table }
    }
}

/// How a gateway is asked whether it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Ping,
    /// By ARP; of IPv6, by neighbour discovery.
    Arp,
}

impl How {
    /// What `check-gateway` says.
    pub(crate) fn read(item: Read) -> Option<How> {
        match item.text("check-gateway").as_str() {
            "ping" => Some(How::Ping),
            "arp" => Some(How::Arp),
            _ => None,
        }
    }
}

/// A gateway that is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) gateway: Gateway,
    pub(crate) how: How,
    /// The neighbour behind it; `None` while there is none, and nobody to ask.
    pub(crate) hop: Option<(InterfaceId, IpAddr)>,
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

/// Neighbours, each on its interface.
type Hops<A> = Vec<(InterfaceId, A)>;

/// What is behind the gateways of all routes.
#[derive(Debug, Default)]
pub(crate) struct Gateways<A = u32> {
    /// By gateway and target-scope.
    hops: BTreeMap<(Gateway<A>, u8), Hops<A>>,
    /// Those that are asked.
    pub(crate) checks: Vec<Check>,
    /// Those that do not answer.
    silent: Arc<BTreeSet<Gateway>>,
}

/// A route as typed.
#[derive(Debug)]
pub(crate) struct Typed<A: Word> {
    pub(crate) table: Mark,
    prefix: A::Prefix,
    distance: u8,
    pub(crate) scope: u8,
    target_scope: u8,
    pref_src: A,
    pub(crate) check: Option<How>,
    to: To<A>,
}

/// Where a typed route leads.
#[derive(Debug)]
enum To<A> {
    /// Blackhole and the like; an interface that runs; nowhere.
    Fixed(Option<Target<A>>),
    Gateways(Vec<Gateway<A>>),
}

impl<A: Routed> Typed<A> {
    /// Reads a route; `None` for one whose table nobody knows.
    pub(crate) fn read(item: Read, program: &Program) -> Option<Typed<A>> {
        let (address, len): (IpAddr, u8) = match *item.value("dst-address") {
            Value::Cidr(address, len) => (address.into(), len),
            Value::Cidr6(address, len) => (address.into(), len),
            _ => return None,
        };
        let table = A::table(item, program)?;
        let to = match kind(item).as_str() {
            "blackhole" => To::Fixed(Some(Target::Blackhole)),
            "unreachable" => To::Fixed(Some(Target::Unreachable)),
            "prohibit" => To::Fixed(Some(Target::Prohibit)),
            _ => To::read(&item.list("gateway"), table, program),
        };
        Some(Typed {
            table,
            prefix: A::of(address)?.prefix(len),
            distance: item.number("distance") as u8,
            scope: scope(item, "scope", STATIC),
            target_scope: target_scope(item),
            pref_src: item.opt("pref-src").as_deref().and_then(address_of).unwrap_or_default(),
            check: How::read(item),
            to,
        })
    }

    /// One that the router made itself; a gateway without an interface is looked for in main.
    pub(crate) fn made(prefix: A::Prefix, distance: u8, to: &Target<A>, program: &Program) -> Self {
        let to = match to {
            Target::Gateways(ways) => {
                let gateway = |&(bound, address)| Gateway { address, bound, table: Mark::NONE };
                To::Gateways(ways.iter().map(gateway).collect())
            }
            &Target::Connected(by) => To::Fixed(program.runs(by).then_some(Target::Connected(by))),
            other => To::Fixed(Some(other.clone())),
        };
        let (table, scope, target_scope) = (Mark::NONE, STATIC, CONNECTED);
        let (pref_src, check) = (A::default(), None);
        Typed { table, prefix, distance, scope, target_scope, pref_src, check, to }
    }

    fn gateways(&self) -> &[Gateway<A>] {
        match &self.to {
            To::Gateways(gateways) => gateways,
            To::Fixed(_) => &[],
        }
    }

    /// What it comes to.
    pub(crate) fn candidate(&self, program: &Program, known: &Gateways<A>) -> Candidate<A> {
        // RouterOS: inactive while pref-src is not the router's own.
        let own = self.pref_src == A::default() || self.pref_src.is_own(program);
        let target = match &self.to {
            _ if !own => None,
            To::Fixed(target) => target.clone(),
            To::Gateways(gateways) => {
                let hops = gateways.iter().filter(|gateway| !known.silent.contains(&gateway.any()));
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

impl<A: Routed> To<A> {
    fn read(gateways: &[Value], table: Mark, program: &Program) -> To<A> {
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

impl<A: Routed> Gateways<A> {
    /// Finds out what is behind the gateways of these routes, where `base` are those that nobody typed.
    pub(crate) fn find_out(
        base: &[Candidate<A>],
        typed: &[Typed<A>],
        program: &Program,
        silent: &Arc<BTreeSet<Gateway>>,
    ) -> Gateways<A> {
        let mut known = Gateways { silent: silent.clone(), ..Gateways::default() };
        let wanted = typed.iter().flat_map(|route| {
            route.gateways().iter().map(|&gateway| (gateway, route.target_scope))
        });
        let wanted: BTreeSet<(Gateway<A>, u8)> = wanted.collect();
        let Some(most) = wanted.iter().map(|(_, target_scope)| *target_scope).max() else {
            return known;
        };
        // Of the routes only those matter that others may look at, and their rivals.
        let tables: BTreeSet<Mark> = wanted.iter().map(|(gateway, _)| gateway.table).collect();
        let asked = || typed.iter().filter(|route| tables.contains(&route.table));
        let seen = asked().filter(|route| route.scope <= most);
        let seen: BTreeSet<_> = seen.map(|route| (route.table, route.prefix)).collect();
        for _ in 0..ROUNDS {
            let mut best = Best::<A>::new();
            let rivals = asked().filter(|route| seen.contains(&(route.table, route.prefix)));
            let rivals = rivals.map(|route| (route.candidate(program, &known), route.scope));
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
                    bound if program.runs(bound) => vec![(bound, gateway.address)],
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
                let hop = known.hops(gateway, route.target_scope).first();
                let hop = hop.map(|&(interface, hop)| (interface, hop.ip()));
                known.checks.push(Check { gateway: gateway.any(), how, hop });
            }
        }
        known
    }

    /// The neighbours behind a gateway.
    fn hops(&self, gateway: Gateway<A>, target_scope: u8) -> &[(InterfaceId, A)] {
        self.hops.get(&(gateway, target_scope)).map_or(&[], |hops| hops)
    }
}

/// `10.0.2.1 reachable via ether2`, `8.8.8.8 recursive via 10.0.2.1 ether2`, or unreachable: of a gateway
/// of a route in this table.
pub(crate) fn status<A: Routed>(
    gateway: &Value,
    table: Mark,
    target_scope: u8,
    program: &Program,
) -> String {
    let Some(named) = gateway_of::<A>(gateway, table, program) else {
        let interface = program.names.find(&gateway.to_string());
        let runs = interface.is_some_and(|interface| program.runs(interface));
        return format!("{gateway} {}", if runs { "reachable" } else { "unreachable" });
    };
    let known = A::gateways(program);
    let hop = known.hops(named, target_scope).first();
    let name = |interface| &program.interface(interface).name;
    match hop.filter(|_| !known.silent.contains(&named.any())) {
        None => format!("{gateway} unreachable"),
        Some(&(interface, hop)) if hop == named.address => {
            format!("{gateway} reachable via {}", name(interface))
        }
        Some(&(interface, hop)) => {
            format!("{gateway} recursive via {} {}", hop.ip(), name(interface))
        }
    }
}

/// The target-scope of a route.
pub(crate) fn target_scope(item: Read) -> u8 {
    scope(item, "target-scope", CONNECTED)
}

fn scope(item: Read, name: &str, default: u8) -> u8 {
    match item.opt(name).as_deref() {
        Some(&Value::Number(scope)) => scope as u8,
        _ => default,
    }
}

/// The best active ways of the tables that gateways are looked for in, and their scopes.
type Best<A> = BTreeMap<(Mark, <A as Word>::Prefix), (Candidate<A>, u8)>;

/// The neighbours behind a gateway: of the longest route whose scope is small enough.
fn behind<A: Word>(best: &Best<A>, gateway: Gateway<A>, target_scope: u8) -> Hops<A> {
    let Gateway { address, table, .. } = gateway;
    for len in (0..=A::BITS).rev() {
        let Some((way, scope)) = best.get(&(table, address.prefix(len))) else { continue };
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

impl Routed for u32 {
    const MENU: &'static Menu = &menu::ROUTE;

    /// In either version's words.
    fn table(route: Read, program: &Program) -> Option<Mark> {
        let text = |name| Some(route.text(name)).filter(|text| !text.is_empty());
        match text("routing-mark").or_else(|| text("routing-table")) {
            Some(mark) => rule::table(&mark, &program.books.marks),
            None => match text("vrf-interface") {
                Some(name) => Some(program.vrfs.of(program.names.find(&name)?)),
                None => Some(Mark::NONE),
            },
        }
    }

    fn is_own(self, program: &Program) -> bool {
        program.addresses.iter().any(|own| own.address == self)
    }

    fn gateways(program: &Program) -> &Gateways {
        &program.gateways
    }

    fn is_active(way: &Candidate, router: &Router) -> bool {
        // A route of a script under way is not in the table yet, whatever it says.
        let routes = &router.v4.routes;
        routes.configured().any(|other| other == way) && routes.is_active(way)
    }
}

/// An address of this family.
fn address_of<A: Family>(value: &Value) -> Option<A> {
    match value {
        Value::Address(address) => A::of((*address).into()),
        Value::Address6(address) => A::of((*address).into()),
        _ => None,
    }
}

/// A gateway that is an address, one on an interface, or in a table; it is looked for where its route's
/// table says, if it does not say so itself.
fn gateway_of<A: Routed>(gateway: &Value, table: Mark, program: &Program) -> Option<Gateway<A>> {
    let (none, home) = (InterfaceId::NONE, home(table, program));
    let (address, bound, table) = match gateway {
        Value::Text(text) => match gateway_in(text) {
            Some((address, name)) => (address, none, rule::table(name, &program.books.marks)?),
            None => {
                let (address, name) = gateway_by(text)?;
                (address, program.names.find(name)?, home)
            }
        },
        other => (address_of(other)?, none, home),
    };
    Some(Gateway { address, bound, table })
}

/// Whose routes say what is behind the gateway of a route in this table: a VRF's own, else main's.
fn home(table: Mark, program: &Program) -> Mark {
    if program.vrfs.has(table) { table } else { Mark::NONE }
}

/// The enabled routes of the configuration.
pub(crate) fn typed<A: Routed>(tree: &Tree, program: &Program) -> Vec<Typed<A>> {
    let routes = tree.read(A::MENU).filter(|item| !item.bool("disabled"));
    routes.filter_map(|item| Typed::read(item, program)).collect()
}

/// Those that rules of mangle make that name a gateway: a table of it each.
pub(crate) fn of_rules(tree: &Tree, program: &Program) -> Vec<Typed<u32>> {
    let made = |gateway: &str| {
        let address = gateway.parse::<std::net::Ipv4Addr>().ok()?;
        let table = program.books.marks.routing.find(&address.to_string())?;
        let to = Target::Gateways(vec![(InterfaceId::NONE, address.into())]);
        Some(Typed { table, ..Typed::made(0u32.prefix(0), 1, &to, program) })
    };
    mangle::gateways(tree).into_iter().filter_map(made).collect()
}
