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
//! Routes with a routing table are in tables of their own, those of a VRF among them, as with IPv4.
//!
//! **Missing**: routing protocols.

use super::found::Told;
use super::menu::ROUTE;
use crate::firewall::mark::Mark;
use crate::ip::fed::{FedTables, marked};
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

/// All routes, and which of them packets take. A leaf's number means the same in all tables.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    main: Table,
    /// Those of routing marks.
    tables: BTreeMap<Mark, Table>,
    /// By [`NextHopId`]; the first is no route.
    targets: Vec<Option<Target<u128>>>,
    are_too_many: bool,
}

/// One table.
#[derive(Clone, Debug, Default)]
struct Table {
    candidates: Vec<Candidate>,
    /// By place among the candidates.
    best: BTreeMap<Ipv6Prefix, u32>,
    fib: Fib<u128>,
}

impl Routes {
    /// Those of these candidates, main and the tables beside it; of equally near ones the first wins.
    pub fn of(candidates: Vec<Candidate>) -> Routes {
        let mut by_table: BTreeMap<Mark, Vec<Candidate>> = BTreeMap::new();
        for way in candidates {
            by_table.entry(way.table).or_default().push(way);
        }
        let mut best: BTreeMap<Mark, BTreeMap<Ipv6Prefix, u32>> = BTreeMap::new();
        for (&table, ways) in &by_table {
            best.insert(table, best_of(ways));
        }
        let mut routes = Routes { targets: vec![None], ..Routes::default() };
        let mut numbers: HashMap<&Target<u128>, NextHopId> = HashMap::new();
        let mut fibs: BTreeMap<Mark, Fib<u128>> = BTreeMap::new();
        for (table, best) in &best {
            let ways = &by_table[table];
            let leaves = best.iter().filter_map(|(&prefix, &at)| {
                let target = ways[at as usize].target.as_ref()?;
                if let Some(&number) = numbers.get(target) {
                    return Some((prefix, number));
                }
                if routes.targets.len() == MAX_TARGETS {
                    routes.are_too_many = true;
                    return None;
                }
                let number = NextHopId(routes.targets.len() as u32);
                routes.targets.push(Some(target.clone()));
                numbers.insert(target, number);
                Some((prefix, number))
            });
            let leaves: Vec<_> = leaves.collect();
            fibs.insert(*table, leaves.into_iter().collect());
        }
        for ((table, fib), best) in fibs.into_iter().zip(best.into_values()) {
            let candidates = by_table.remove(&table).unwrap_or_default();
            routes.tables.insert(table, Table { candidates, best, fib });
        }
        routes.main = routes.tables.remove(&Mark::NONE).unwrap_or_default();
        routes
    }

    /// Whether there are more different targets than the FIB's leaves can tell apart: then such
    /// routes are not to be taken over ([`TooManyTargets`](crate::ip::route::TooManyTargets)).
    pub(crate) fn are_too_many(&self) -> bool {
        self.are_too_many
    }

    /// Where an address leads, by main.
    pub fn lookup(&self, dst: u128) -> Option<&Target<u128>> {
        self.target(self.main.fib.lookup(dst))
    }

    /// Where an address leads in the table of a routing mark; of none, in main.
    pub(crate) fn lookup_in(&self, table: Mark, dst: u128) -> NextHopId {
        self.table(table).map_or(NextHopId::NONE, |table| table.fib.lookup(dst))
    }

    /// Where the router's own packets come from, if the route to an address in a table says so.
    pub(crate) fn pref_src(&self, table: Mark, dst: u128) -> Option<u128> {
        let table = self.table(table)?;
        let &at = table.best.get(&table.fib.covering(dst)?.0)?;
        Some(table.candidates[at as usize].pref_src).filter(|&src| src != 0)
    }

    fn table(&self, table: Mark) -> Option<&Table> {
        if table == Mark::NONE { Some(&self.main) } else { self.tables.get(&table) }
    }

    /// The main table itself, for batches.
    #[inline]
    pub(crate) fn fib(&self) -> &Fib<u128> {
        &self.main.fib
    }

    /// What lies behind a leaf; `None` for no route.
    #[inline]
    pub(crate) fn target(&self, leaf: NextHopId) -> Option<&Target<u128>> {
        self.targets.get(leaf.index())?.as_ref()
    }

    /// The route that an address takes in a table: the longest prefix there is.
    pub(crate) fn prefix_in(&self, table: Mark, address: u128) -> Option<Ipv6Prefix> {
        self.table(table)?.fib.covering(address).map(|(prefix, _)| prefix)
    }

    /// What kind of address an address is in a table (`src-address-type`, `dst-address-type`); IPv6 has no
    /// broadcast.
    pub(crate) fn address_type(&self, table: Mark, address: u128) -> AddressType {
        const MULTICAST: u128 = 0xff << 120;
        if address >= MULTICAST {
            return AddressType::Multicast;
        }
        let target = self.target(self.lookup_in(table, address));
        target.map_or(AddressType::Unreachable, Target::address_type)
    }

    /// Whether it is one of the router's own in a table.
    pub(crate) fn is_local(&self, table: Mark, address: u128) -> bool {
        matches!(self.target(self.lookup_in(table, address)), Some(Target::Local))
    }

    /// Whether it is one of the router's own in any table.
    pub(crate) fn is_own(&self, address: u128) -> bool {
        self.is_local(Mark::NONE, address)
            || self.tables.keys().any(|&table| self.is_local(table, address))
    }

    /// Whether packets take this way.
    pub(crate) fn is_best(&self, way: &Candidate) -> bool {
        let best = self
            .table(way.table)
            .and_then(|table| table.candidates.get(*table.best.get(&way.prefix)? as usize));
        best == Some(way)
    }

    /// All candidates, and whether packets take them.
    pub fn iter(&self) -> impl Iterator<Item = (&Candidate, bool)> {
        std::iter::once(&self.main).chain(self.tables.values()).flat_map(|table| {
            let all = (0..).zip(&table.candidates);
            all.map(|(at, way)| (way, table.best.get(&way.prefix) == Some(&at)))
        })
    }
}

/// The places of the best ways to each prefix.
fn best_of(candidates: &[Candidate]) -> BTreeMap<Ipv6Prefix, u32> {
    let mut best: BTreeMap<Ipv6Prefix, u32> = BTreeMap::new();
    for (at, way) in (0..).zip(candidates).filter(|(_, way)| way.target.is_some()) {
        let held = best.entry(way.prefix).or_insert(at);
        if way.distance < candidates[*held as usize].distance {
            *held = at;
        }
    }
    best
}

/// All ways the configuration knows, and what is behind their gateways.
pub(crate) fn candidates(
    tree: &Tree,
    program: &Program,
    silent: &Arc<BTreeSet<Gateway>>,
    fed: &FedTables,
) -> (Vec<Candidate>, Gateways<u128>) {
    let mut ways = Vec::new();
    let mut add = |table, prefix, target| {
        ways.push(Candidate { table, prefix, distance: 0, pref_src: 0, target: Some(target) });
    };
    for table in program.vrfs.tables() {
        // None at all, loopback, mapped IPv4 (RFC 4291 §2.5): nobody's on a wire.
        for (bits, len) in [(0, 128), (1, 128), (0xffff << 32, 96)] {
            add(table, Ipv6Prefix::new(bits, len), Target::Martian);
        }
    }
    let wide = program.v6.addresses.iter().filter(|own| !own.is_link_local());
    for own in wide {
        let table = program.vrfs.of(own.interface);
        add(table, Ipv6Prefix::host(own.address), Target::Local);
        // The first address is that of all routers of the network (RFC 4291 §2.6.1), but for two
        // routers among themselves (RFC 6164).
        if own.network.len() < 127 {
            add(table, Ipv6Prefix::host(own.network.bits()), Target::Local);
        }
        if own.network.len() < 128 && program.runs(own.interface) {
            add(table, own.network, Target::Connected(own.interface));
        }
    }
    let mut typed = gateway::typed(tree, program);
    typed.extend(program.v6.found.routes.iter().map(|told| told_route(told, program)));
    let gateways = Gateways::find_out(&ways, &typed, program, silent);
    ways.extend(typed.iter().map(|route| route.candidate(program, &gateways)));
    let main = program.v6.found.fed.iter().map(|fed| (Mark::NONE, fed));
    let fed = main.chain(marked(fed, &program.books.marks, |table| &table.six));
    ways.extend(fed.map(|(table, fed)| fed.candidate(table, program)));
    (ways, gateways)
}

/// What a route means that the router was told.
pub(super) fn told_route(told: &Told, program: &Program) -> Typed<u128> {
    let mut made = Typed::made(told.prefix, told.distance, &told.target, program);
    made.table = match &told.target {
        &Target::Connected(by) => program.vrfs.of(by),
        Target::Gateways(ways) => ways.first().map_or(Mark::NONE, |way| program.vrfs.of(way.0)),
        _ => Mark::NONE,
    };
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
