//! Routes of IPv6: what was typed, what is connected; the best of each prefix is in the FIB.
//!
//! ```text
//!  /ipv6 address ─► own, connected (distance 0) ─┐
//!  /ipv6 route   ─► static        (distance 1…) ─┼─► best with a target ─► Fib
//!  the kernel    ─► fed           (distance of its protocol) ─┘
//! ```
//!
//! The FIB is IPv4's, of longer addresses: see [`fib`](crate::ip::fib). A change of the routes makes
//! another one: 20 ms for the 160,000 routes of the Internet.
//!
//! A route is active when there is a neighbour behind its gateway, as with IPv4: see
//! [`gateway`]. An address on an interface (`fe80::1%ether1`) is one.
//!
//! **Missing**: routing rules, VRFs, and routing protocols.

use super::found::Told;
use super::menu::ROUTE;
use crate::firewall::mark::Mark;
use crate::ip::fed::{FedTable, marked};
use crate::ip::fib::{Fib, NextHopId};
use crate::ip::gateway::{self, CONNECTED, Gateway, Gateways, Routed, Typed};
use crate::ip::route::{self, MAX_TARGETS, Target};
use crate::ip::rule;
use crate::packet::AddressType;
use crate::program::Program;
use crate::router::Router;
use config::{Menu, Read, Tree};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use wire::Ipv6Prefix;

/// One way to a prefix.
pub type Candidate = route::Candidate<u128>;

/// All routes, and which of them packets take.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    candidates: Vec<Candidate>,
    /// By place among the candidates.
    best: BTreeMap<Ipv6Prefix, u32>,
    fib: Fib<u128>,
    /// By [`NextHopId`]; the first is no route.
    targets: Vec<Option<Target<u128>>>,
    are_too_many: bool,
    /// Those of routing marks, if these are main.
    tables: BTreeMap<Mark, Routes>,
}

impl Routes {
    /// Those of these candidates, main and the tables beside it; of equally near ones the first wins.
    pub fn of(candidates: Vec<Candidate>) -> Routes {
        let mut by_table: BTreeMap<Mark, Vec<Candidate>> = BTreeMap::new();
        for way in candidates {
            by_table.entry(way.table).or_default().push(way);
        }
        let main = by_table.remove(&Mark::NONE).unwrap_or_default();
        let tables: BTreeMap<Mark, Routes> =
            by_table.into_iter().map(|(mark, ways)| (mark, Routes::of_table(ways))).collect();
        let mut routes = Routes::of_table(main);
        routes.are_too_many |= tables.values().any(|table| table.are_too_many);
        routes.tables = tables;
        routes
    }

    /// Those of one table.
    fn of_table(candidates: Vec<Candidate>) -> Routes {
        let mut best: BTreeMap<Ipv6Prefix, u32> = BTreeMap::new();
        for (at, way) in (0..).zip(&candidates).filter(|(_, way)| way.target.is_some()) {
            let held = best.entry(way.prefix).or_insert(at);
            if way.distance < candidates[*held as usize].distance {
                *held = at;
            }
        }
        let mut targets = vec![None];
        let mut numbers: HashMap<&Target<u128>, NextHopId> = HashMap::new();
        let mut are_too_many = false;
        let leaves: Vec<_> = best
            .iter()
            .filter_map(|(&prefix, &at)| {
                let target = candidates[at as usize].target.as_ref()?;
                if let Some(&number) = numbers.get(target) {
                    return Some((prefix, number));
                }
                if targets.len() == MAX_TARGETS {
                    are_too_many = true;
                    return None;
                }
                let number = NextHopId(targets.len() as u32);
                targets.push(Some(target.clone()));
                numbers.insert(target, number);
                Some((prefix, number))
            })
            .collect();
        let fib = leaves.into_iter().collect();
        Routes { fib, targets, are_too_many, best, candidates, tables: BTreeMap::new() }
    }

    /// Whether there are more different targets than the FIB's leaves can tell apart: then such
    /// routes are not to be taken over ([`TooManyTargets`](crate::ip::route::TooManyTargets)).
    pub(crate) fn are_too_many(&self) -> bool {
        self.are_too_many
    }

    /// Where an address leads.
    pub fn lookup(&self, dst: u128) -> Option<&Target<u128>> {
        self.target(self.fib.lookup(dst))
    }

    /// Where an address leads a packet with this routing mark. Its table comes first, but for the router's
    /// own addresses; main, where that has no route.
    pub(crate) fn lookup_by(&self, mark: Mark, dst: u128) -> Option<&Target<u128>> {
        let main = self.lookup(dst);
        let is_special = matches!(
            main,
            Some(Target::Local | Target::Broadcast | Target::Martian | Target::Multicast)
        );
        let table = self.tables.get(&mark).filter(|_| !is_special);
        table.and_then(|table| table.lookup(dst)).or(main)
    }

    /// Whether the table of a routing mark alone leads there; of none, main.
    pub(crate) fn has(&self, mark: Mark, dst: u128) -> bool {
        let table = if mark == Mark::NONE { Some(self) } else { self.tables.get(&mark) };
        table.is_some_and(|table| table.lookup(dst).is_some())
    }

    /// Where the router's own packets with this routing mark come from, if the route to an address says so.
    pub(crate) fn pref_src(&self, mark: Mark, dst: u128) -> Option<u128> {
        let table = self.tables.get(&mark).filter(|table| table.lookup(dst).is_some());
        let table = table.unwrap_or(self);
        let &at = table.best.get(&table.prefix_of(dst)?)?;
        Some(table.candidates[at as usize].pref_src).filter(|&src| src != 0)
    }

    /// The table itself, for batches.
    #[inline]
    pub(crate) fn fib(&self) -> &Fib<u128> {
        &self.fib
    }

    /// What lies behind a leaf; `None` for no route.
    #[inline]
    pub(crate) fn target(&self, leaf: NextHopId) -> Option<&Target<u128>> {
        self.targets.get(leaf.index())?.as_ref()
    }

    /// The route that an address takes: the longest prefix there is.
    pub(crate) fn prefix_of(&self, address: u128) -> Option<Ipv6Prefix> {
        self.fib.covering(address).map(|(prefix, _)| prefix)
    }

    /// What kind of address an address is (`src-address-type`, `dst-address-type`); IPv6 has no broadcast.
    pub(crate) fn address_type(&self, address: u128) -> AddressType {
        const MULTICAST: u128 = 0xff << 120;
        if address >= MULTICAST {
            return AddressType::Multicast;
        }
        self.lookup(address).map_or(AddressType::Unreachable, Target::address_type)
    }

    /// Whether it is one of the router's own.
    pub fn is_local(&self, address: u128) -> bool {
        matches!(self.lookup(address), Some(Target::Local))
    }

    /// Whether packets take this way.
    pub(crate) fn is_best(&self, way: &Candidate) -> bool {
        let table = self.tables.get(&way.table).unwrap_or(self);
        let best = table.best.get(&way.prefix).and_then(|&at| table.candidates.get(at as usize));
        best == Some(way)
    }

    /// All candidates, and whether packets take them.
    pub fn iter(&self) -> impl Iterator<Item = (&Candidate, bool)> {
        std::iter::once(self).chain(self.tables.values()).flat_map(|table| {
            let all = (0..).zip(&table.candidates);
            all.map(|(at, way)| (way, table.best.get(&way.prefix) == Some(&at)))
        })
    }
}

/// All ways the configuration knows, and what is behind their gateways.
pub(crate) fn candidates(
    tree: &Tree,
    program: &Program,
    silent: &Arc<BTreeSet<Gateway>>,
    tables: &[FedTable],
) -> (Vec<Candidate>, Gateways<u128>) {
    let mut ways = Vec::new();
    let mut add = |prefix, target| ways.push(way(prefix, 0, Some(target)));
    // None at all, loopback, mapped IPv4 (RFC 4291 §2.5): nobody's on a wire.
    for (bits, len) in [(0, 128), (1, 128), (0xffff << 32, 96)] {
        add(Ipv6Prefix::new(bits, len), Target::Martian);
    }
    let wide = program.v6.addresses.iter().filter(|own| !own.is_link_local());
    for own in wide {
        add(Ipv6Prefix::host(own.address), Target::Local);
        // The first address is that of all routers of the network (RFC 4291 §2.6.1), but for two
        // routers among themselves (RFC 6164).
        if own.network.len() < 127 {
            add(Ipv6Prefix::host(own.network.bits()), Target::Local);
        }
        if own.network.len() < 128 && program.runs(own.interface) {
            add(own.network, Target::Connected(own.interface));
        }
    }
    let mut typed = gateway::typed(tree, program);
    typed.extend(program.v6.found.routes.iter().map(|told| told_route(told, program)));
    let gateways = Gateways::find_out(&ways, &typed, program, silent);
    ways.extend(typed.iter().map(|route| route.candidate(program, &gateways)));
    let main = program.v6.found.fed.iter().map(|fed| (Mark::NONE, fed));
    let fed = main.chain(marked(tables, &program.books.marks, |table| &table.six));
    ways.extend(fed.map(|(table, fed)| fed.candidate(table, program)));
    (ways, gateways)
}

/// A way of main.
fn way(prefix: Ipv6Prefix, distance: u8, target: Option<Target<u128>>) -> Candidate {
    Candidate { table: Mark::NONE, prefix, distance, pref_src: 0, target }
}

/// What a route means that the router was told.
pub(super) fn told_route(told: &Told, program: &Program) -> Typed<u128> {
    let mut made = Typed::made(told.prefix, told.distance, &told.target, program);
    if let Target::Connected(_) = told.target {
        made.scope = CONNECTED;
    }
    made.check = told.check;
    made
}

impl Routed for u128 {
    const MENU: &'static Menu = &ROUTE;

    fn table(route: Read, program: &Program) -> Option<Mark> {
        rule::table(&route.text("routing-table"), &program.books.marks)
    }

    fn home(_: Mark, _: &Program) -> Mark {
        Mark::NONE
    }

    fn is_own(self, program: &Program) -> bool {
        program.v6.addresses.iter().any(|own| own.address == self)
    }

    fn gateways(program: &Program) -> &Gateways<u128> {
        &program.v6.gateways
    }

    fn is_active(way: &Candidate, router: &Router) -> bool {
        router.program.v6.routes.is_best(way)
    }
}
