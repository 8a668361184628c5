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
//! A route is active when its gateway lies in a connected network of a running interface, or is an
//! address on an interface (`fe80::1%ether1`), or an interface.
//!
//! Missing: **routing marks**, **check-gateway**, **routing protocols**.

use super::address::Address;
use super::found::{Fed, Told};
use super::menu::{ROUTE, gateway_by};
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::ip::fib::{Fib, NextHopId};
use crate::ip::menu::kind;
use crate::ip::route::Target;
use crate::ip::rule;
use crate::packet::AddressType;
use crate::program::Program;
use config::{ItemId, Read, Tree, Value};
use std::collections::{BTreeMap, HashMap};
use wire::Ipv6Prefix;

/// One way to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The table that it is in: of a routing mark, or main.
    pub table: Mark,
    /// The network.
    pub prefix: Ipv6Prefix,
    /// 0 to 255; the least wins.
    pub distance: u8,
    /// What lies behind it; `None` while no gateway can be reached.
    pub target: Option<Target<u128>>,
    /// The item that says so; none of what the router made itself.
    pub item: Option<ItemId>,
}

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
                let Ok(number) = u16::try_from(targets.len()).map(NextHopId) else {
                    are_too_many = true;
                    return None;
                };
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

    /// The table itself, for batches.
    #[inline]
    pub(crate) fn fib(&self) -> &Fib<u128> {
        &self.fib
    }

    /// What lies behind a leaf; `None` for no route.
    #[inline]
    pub(crate) fn target(&self, leaf: NextHopId) -> Option<&Target<u128>> {
        self.targets.get(usize::from(leaf.0))?.as_ref()
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

/// All ways the configuration knows.
pub(crate) fn candidates(tree: &Tree, program: &Program) -> Vec<Candidate> {
    let mut ways = Vec::new();
    let mut add = |prefix, target| {
        let (table, target) = (Mark::NONE, Some(target));
        ways.push(Candidate { table, prefix, distance: 0, target, item: None });
    };
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
    let routes = tree.read(&ROUTE).filter(|item| !item.bool("disabled"));
    ways.extend(routes.filter_map(|item| candidate(item, program)));
    ways.extend(program.v6.found.routes.iter().map(|told| told_candidate(told, program)));
    ways.extend(program.v6.found.fed.iter().map(|fed| fed_candidate(fed, program)));
    ways
}

/// The way that a route means which the router was told.
pub(super) fn told_candidate(told: &Told, program: &Program) -> Candidate {
    let runs = match &told.target {
        Target::Connected(interface) => program.runs(*interface),
        Target::Gateways(ways) => ways.iter().all(|(interface, _)| program.runs(*interface)),
        _ => true,
    };
    let (table, prefix, distance) = (Mark::NONE, told.prefix, told.distance);
    let target = runs.then(|| told.target.clone());
    Candidate { table, prefix, distance, target, item: None }
}

/// The way that a route means which somebody else knows; those of its gateways count whose interface runs.
pub(super) fn fed_candidate(fed: &Fed, program: &Program) -> Candidate {
    let target = match &fed.target {
        Target::Connected(interface) => program.runs(*interface).then(|| fed.target.clone()),
        Target::Gateways(ways) => {
            let runs = |way: &(InterfaceId, u128)| program.runs(way.0);
            let ways: Vec<_> = ways.iter().copied().filter(runs).collect();
            (!ways.is_empty()).then_some(Target::Gateways(ways))
        }
        other => Some(other.clone()),
    };
    let (table, prefix, distance) = (Mark::NONE, fed.prefix, fed.protocol.distance());
    Candidate { table, prefix, distance, target, item: None }
}

fn candidate(item: Read, program: &Program) -> Option<Candidate> {
    let Value::Cidr6(address, len) = *item.value("dst-address") else { return None };
    let target = match kind(item).as_str() {
        "blackhole" => Some(Target::Blackhole),
        "unreachable" => Some(Target::Unreachable),
        "prohibit" => Some(Target::Prohibit),
        _ => gateways(&item.list("gateway"), program),
    };
    let (distance, id) = (item.number("distance") as u8, Some(item.id()));
    let (prefix, table) = (Ipv6Prefix::new(address.into(), len), item.text("routing-table"));
    let table = rule::table(&table, &program.books.marks)?;
    Some(Candidate { table, prefix, distance, target, item: id })
}

/// The target of these gateways, those out of reach left out; `None` if all are.
fn gateways(gateways: &[Value], program: &Program) -> Option<Target<u128>> {
    let mut ways = Vec::new();
    for gateway in gateways {
        match way(gateway, program) {
            Some((interface, Some(address))) => ways.push((interface, address)),
            // An interface as gateway: everything behind the route is a neighbour there.
            Some((interface, None)) => return Some(Target::Connected(interface)),
            None => {}
        }
    }
    if ways.is_empty() { None } else { Some(Target::Gateways(ways)) }
}

/// By which interface a gateway is reached, and its address if it has one.
pub(crate) fn way(gateway: &Value, program: &Program) -> Option<(InterfaceId, Option<u128>)> {
    let runs = |name: &str| program.names.find(name).filter(|&id| program.runs(id));
    match gateway {
        Value::Address6(address) => {
            let address = u128::from(*address);
            reach(address, &program.v6.addresses, |id| program.runs(id))
                .map(|interface| (interface, Some(address)))
        }
        Value::Text(text) => match gateway_by(text) {
            Some((address, name)) => runs(name).map(|id| (id, Some(address.into()))),
            None => runs(text).map(|id| (id, None)),
        },
        _ => None,
    }
}

/// The running interface in whose connected network an address lies; the longest network wins.
fn reach(
    address: u128,
    addresses: &[Address],
    runs: impl Fn(InterfaceId) -> bool,
) -> Option<InterfaceId> {
    let within = addresses.iter().filter(|own| {
        !own.is_link_local()
            && own.network.len() < 128
            && own.network.contains(address)
            && own.address != address
            && runs(own.interface)
    });
    within.max_by_key(|own| own.network.len()).map(|own| own.interface)
}
