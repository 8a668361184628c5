//! Routes: what was typed, what is connected, what was fed; the best of each prefix is in the FIB.
//!
//! ```text
//!  /ip address ─► connected (distance 0) ─┐
//!  /ip route   ─► static    (distance 1…) ─┼─► best active per prefix ─► leaf ─► Fib
//!  feed        ─► fed       (protocol's)  ─┘
//! ```
//!
//! A route is active when there is a neighbour behind its gateway (`gateway`), or its gateway is an
//! interface that runs.
//! The FIB maps an address to a [`Leaf`]'s number: equal destinations share one leaf.
//!
//! Routes with a routing mark are in tables of their own (`table`), those of a VRF among them (`vrf`).

// Labels in front of packets on routes.
mod labels;

use super::feed::{Fed, FedRoute, FedTarget, Feeds, Places, Protocol};
use super::fib::{Fib, NextHopId, Word};
use super::neighbour::NeighbourId;
use super::table::{self, TableWays, Tables};
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::packet::AddressType;
use hashbrown::HashTable;
pub(crate) use labels::Way;
use labels::{Labels, OfWays};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use wire::Ipv4Prefix;
use wire::mpls::Label;

/// What lies behind a destination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target<A = u32> {
    /// The router itself.
    Local,
    /// Everybody in a connected network: for the router as well.
    Broadcast,
    /// A network whose hosts are neighbours on this interface.
    Connected(InterfaceId),
    /// The next router, or several (ECMP), each on its interface.
    Gateways(Vec<(InterfaceId, A)>),
    /// Drop without a word.
    Blackhole,
    /// Drop and say "host unreachable".
    Unreachable,
    /// Drop and say "communication administratively prohibited".
    Prohibit,
    /// 127/8, 0/8, 240/4: never forwarded (RFC 1812 §5.3.7).
    Martian,
    /// 224/4: multicast routing is not built.
    Multicast,
}

impl<A> Target<A> {
    /// What kind of address one is that leads here.
    pub(crate) fn address_type(&self) -> AddressType {
        match self {
            Target::Local => AddressType::Local,
            Target::Broadcast => AddressType::Broadcast,
            Target::Multicast => AddressType::Multicast,
            Target::Connected(_) | Target::Gateways(_) => AddressType::Unicast,
            Target::Blackhole => AddressType::Blackhole,
            Target::Prohibit => AddressType::Prohibit,
            Target::Unreachable | Target::Martian => AddressType::Unreachable,
        }
    }
}

/// What a leaf's number stands for, in the form the fast path reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// No route.
    None,
    /// One neighbour: the gateway's, or an interface's other end; none before it was wanted.
    Neighbour(NeighbourId),
    /// Several gateways.
    Ecmp,
    /// The destination is a neighbour on this interface.
    Connected(InterfaceId),
    /// Everything else: look at the [`Target`].
    Special,
}

const _: () = assert!(size_of::<Leaf>() == 8);

impl Leaf {
    /// That of a target whose neighbour nobody wanted yet.
    fn of(target: &Target) -> Leaf {
        match target {
            Target::Connected(interface) => Leaf::Connected(*interface),
            Target::Gateways(ways) if ways.len() == 1 => Leaf::Neighbour(NeighbourId::NONE),
            Target::Gateways(_) => Leaf::Ecmp,
            _ => Leaf::Special,
        }
    }
}

/// One way to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<A: Word = u32> {
    /// The table: that of a routing mark, or main.
    pub table: Mark,
    /// The network.
    pub prefix: A::Prefix,
    /// 0 to 255; the least wins.
    pub distance: u8,
    /// `pref-src`: where the router's own packets come from; 0 if nobody says.
    pub pref_src: A,
    /// What lies behind it; `None` while no gateway can be reached.
    pub target: Option<Target<A>>,
}

/// The ways to every prefix that the configuration knows, in the order of prefixes: most have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways(Box<[Candidate]>);

impl Ways {
    /// Of candidates in their own order, which those of one prefix keep.
    fn of(mut all: Vec<Candidate>) -> Ways {
        all.sort_by_key(|candidate| candidate.prefix);
        Ways(all.into())
    }

    /// Those to a prefix; empty if there are none.
    pub(crate) fn to(&self, prefix: Ipv4Prefix) -> &[Candidate] {
        let from = &self.0[self.0.partition_point(|way| way.prefix < prefix)..];
        &from[..from.partition_point(|way| way.prefix == prefix)]
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Candidate] {
        &self.0
    }

    /// Prefix by prefix.
    pub(crate) fn by_prefix(&self) -> impl Iterator<Item = (Ipv4Prefix, &[Candidate])> {
        let same = self.0.chunk_by(|one, other| one.prefix == other.prefix);
        same.map(|ways| (ways[0].prefix, ways))
    }
}

/// Other ways than before: made on the control side, see [`Routes::configure`].
#[derive(Debug)]
pub struct Change {
    ways: Arc<Ways>,
    /// The prefixes whose ways differ.
    touched: Vec<Ipv4Prefix>,
    /// The tables beside main.
    tables: TableWays,
}

impl Change {
    /// What leads from `old` to these candidates, which are in the order of the configuration.
    pub fn between(old: &Ways, candidates: Vec<Candidate>) -> Change {
        let mut by_table: BTreeMap<Mark, Vec<Candidate>> = BTreeMap::new();
        for candidate in candidates {
            by_table.entry(candidate.table).or_default().push(candidate);
        }
        let by_table = by_table.into_iter();
        let mut tables: TableWays = by_table.map(|(table, all)| (table, Ways::of(all))).collect();
        let ways = tables.remove(&Mark::NONE).unwrap_or_default();
        let gone = old.by_prefix().filter(|(prefix, _)| ways.to(*prefix).is_empty());
        let differs = ways.by_prefix().filter(|(prefix, ways)| old.to(*prefix) != *ways);
        let touched = gone.chain(differs).map(|(prefix, _)| prefix).collect();
        Change { ways: Arc::new(ways), touched, tables }
    }

    /// The ways there will be.
    pub fn ways(&self) -> &Arc<Ways> {
        &self.ways
    }
}

/// The routes: those of the main table, and the tables beside it.
#[derive(Debug)]
pub struct Routes {
    /// Static and connected ones, and the router's own addresses.
    configured: Arc<Ways>,
    /// Fed by a protocol or a file: one way each.
    fed: HashMap<Ipv4Prefix, Fed>,
    places: Places,
    feeds: Feeds,
    fib: Fib,
    tables: Tables,
    targets: Vec<Target>,
    leaves: Vec<Leaf>,
    labels: Labels,
    /// By target, and the labels of its ways.
    numbers: HashTable<NextHopId>,
    keys: RandomState,
}

/// What a leaf's number, 17 bits, can tell apart; the first is no route.
pub(crate) const MAX_TARGETS: usize = 1 << NextHopId::BITS;

/// No more than 131,071 different targets fit the FIB's leaves, nor more than 65,536 what is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyTargets;

impl std::fmt::Display for TooManyTargets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("more different gateways in use than 131071, or 65535 of routes that are fed")
    }
}

impl std::error::Error for TooManyTargets {}

impl Default for Routes {
    fn default() -> Routes {
        Routes {
            configured: Arc::default(),
            fed: HashMap::new(),
            places: Places::default(),
            feeds: Feeds::default(),
            fib: Fib::new(),
            tables: Tables::default(),
            targets: vec![Target::Unreachable],
            leaves: vec![Leaf::None],
            labels: Labels::default(),
            numbers: HashTable::new(),
            keys: RandomState::new(),
        }
    }
}

impl Routes {
    /// Where an address leads.
    #[inline]
    pub fn lookup(&self, dst: u32) -> NextHopId {
        self.fib.lookup(dst)
    }

    /// Where an address leads in the table of a routing mark; of none, in main.
    pub(crate) fn lookup_in(&self, table: Mark, dst: u32) -> NextHopId {
        if table == Mark::NONE { self.lookup(dst) } else { self.tables.lookup(table, dst) }
    }

    /// The table itself, for batches.
    #[inline]
    pub fn fib(&self) -> &Fib {
        &self.fib
    }

    /// What a leaf is.
    #[inline]
    pub fn leaf(&self, id: NextHopId) -> Leaf {
        self.leaves[id.index()]
    }

    /// What kind of address an address is in a table (`src-address-type`, `dst-address-type`).
    pub fn address_type(&self, table: Mark, address: u32) -> AddressType {
        let target = self.target(self.lookup_in(table, address));
        target.map_or(AddressType::Unreachable, Target::address_type)
    }

    /// All leaves by number.
    #[inline]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// What lies behind a leaf; `None` for no route.
    pub fn target(&self, id: NextHopId) -> Option<&Target> {
        if id == NextHopId::NONE { None } else { Some(&self.targets[id.index()]) }
    }

    /// Remembers the one neighbour behind a leaf, so that the fast path finds it.
    pub fn set_neighbour(&mut self, id: NextHopId, neighbour: NeighbourId) {
        self.leaves[id.index()] = Leaf::Neighbour(neighbour);
    }

    /// Makes the leaves those that [`leaves`](Self::leaves) gave: what a trial remembered is
    /// forgotten.
    pub(crate) fn restore(&mut self, leaves: Vec<Leaf>) {
        self.leaves = leaves;
    }

    /// The route that an address takes: the longest prefix there is.
    pub fn prefix_of(&self, address: u32) -> Option<Ipv4Prefix> {
        let prefixes = (0..=32).rev().map(|len| Ipv4Prefix::new(address, len));
        prefixes.into_iter().find(|&prefix| self.best(prefix).is_some())
    }

    /// The same in the table of a routing mark.
    pub(crate) fn prefix_in(&self, table: Mark, address: u32) -> Option<Ipv4Prefix> {
        match table {
            Mark::NONE => self.prefix_of(address),
            table => self.tables.prefix_of(table, address),
        }
    }

    /// Where the router's own packets to an address come from, if the route there says so.
    pub(crate) fn pref_src(&self, table: Mark, dst: u32) -> Option<u32> {
        let leaf = self.target(self.lookup_in(table, dst))?;
        let prefix = self.prefix_in(table, dst)?;
        let ways = match table {
            Mark::NONE => self.configured.to(prefix),
            table => self.tables.ways_to(table, prefix)?,
        };
        let way = table::best(ways).filter(|way| way.target.as_ref() == Some(leaf))?;
        Some(way.pref_src).filter(|&src| src != 0)
    }

    /// Forgets all neighbours: their places were used again.
    pub fn forget_neighbours(&mut self) {
        for (leaf, target) in self.leaves.iter_mut().zip(&self.targets).skip(1) {
            *leaf = Leaf::of(target);
        }
    }

    /// Replaces everything configured; `change` holds afterwards what was there. Only prefixes whose
    /// best way changed touch the FIB, so forwarding goes on; returns how many did.
    ///
    /// # Errors
    /// [`TooManyTargets`]; nothing has changed then.
    pub fn configure(&mut self, change: &mut Change) -> Result<usize, TooManyTargets> {
        let best = change.touched.iter().filter_map(|&prefix| self.best_of(&change.ways, prefix));
        let marked = change.tables.values().flat_map(table::targets).map(|(_, target)| target);
        let fresh: HashSet<&Target> =
            best.chain(marked).filter(|best| self.number_of(best).is_none()).collect();
        if self.targets.len() + fresh.len() > MAX_TARGETS {
            return Err(TooManyTargets);
        }
        std::mem::swap(&mut self.configured, &mut change.ways);
        let mut changed = 0;
        for &prefix in &change.touched {
            changed += usize::from(self.publish(prefix)?);
        }
        self.tables.keep(|table| change.tables.contains_key(&table));
        for (table, ways) in std::mem::take(&mut change.tables) {
            if !self.tables.has(table, &ways) {
                let leaves = table::targets(&ways)
                    .map(|(prefix, target)| Ok((prefix, self.number(target)?)))
                    .collect::<Result<_, _>>()?;
                self.tables.set(table, ways, leaves);
            }
        }
        Ok(changed)
    }

    /// Enters fed routes (a full table, for one), all behind `target`s given beside them. Replaces
    /// earlier fed routes of the same prefixes.
    ///
    /// # Errors
    /// [`TooManyTargets`].
    pub fn feed(
        &mut self,
        routes: impl IntoIterator<Item = (Ipv4Prefix, Target, Protocol)>,
    ) -> Result<(), TooManyTargets> {
        let (mut fresh, mut contested) = (Vec::new(), Vec::new());
        for (prefix, target, protocol) in routes {
            let target = self.fed_target(target)?;
            let places = &mut self.places;
            let new = || Fed { target, protocol, place: places.take(prefix) };
            let fed = self.fed.entry(prefix).or_insert_with(new);
            (fed.target, fed.protocol) = (target, protocol);
            match protocol {
                Protocol::Bgp => self.labels.inner.remove(&prefix),
                _ => self.labels.inner.insert(prefix),
            };
            let is_plain = self.configured.to(prefix).is_empty() && !self.labels.concern(prefix);
            match self.feeds.leaf(target) {
                leaf if leaf != NextHopId::NONE && is_plain => fresh.push((prefix, leaf)),
                _ => contested.push(prefix),
            }
        }
        self.fib.extend(fresh);
        self.labels.changes += 1;
        for prefix in contested {
            self.publish(prefix)?;
        }
        Ok(())
    }

    /// Notes which interfaces run: fed routes by others are inactive, or use the ways that are left.
    /// When that changes for a target, all fed routes are looked through (milliseconds for a full
    /// table).
    pub fn set_running(&mut self, running: Vec<bool>) {
        if !self.feeds.set_running(running) {
            return;
        }
        let mut changed = HashSet::new();
        for number in 0..self.feeds.len() {
            let target = FedTarget(number as u16);
            let leaf = self.leaf_of(&self.feeds.target(target).clone());
            if self.feeds.set_leaf(target, leaf) {
                changed.insert(target.0);
            }
        }
        if changed.is_empty() {
            return;
        }
        let concerned = self.fed.iter().filter(|(_, fed)| changed.contains(&fed.target.0));
        let prefixes: Vec<Ipv4Prefix> = concerned.map(|(prefix, _)| *prefix).collect();
        for prefix in prefixes {
            if self.publish(prefix).is_err() {
                self.fib.remove(prefix);
            }
        }
    }

    /// The number of a target that is fed.
    fn fed_target(&mut self, target: Target) -> Result<FedTarget, TooManyTargets> {
        if let Some(number) = self.feeds.find(&target) {
            return Ok(number);
        }
        let leaf = match self.feeds.reachable(&target) {
            Some(left) => self.number(&left)?,
            None => NextHopId::NONE,
        };
        self.feeds.add(target, leaf)
    }

    /// The leaf of what is left of a target; none if nothing is, or there is no number for it.
    fn leaf_of(&mut self, target: &Target) -> NextHopId {
        let left = self.feeds.reachable(target);
        left.and_then(|left| self.number(&left).ok()).unwrap_or(NextHopId::NONE)
    }

    /// Takes a fed route back; returns whether there was one.
    pub fn unfeed(&mut self, prefix: Ipv4Prefix) -> bool {
        let Some(fed) = self.fed.remove(&prefix) else { return false };
        self.labels.inner.remove(&prefix);
        self.places.leave(fed.place);
        if self.publish(prefix).is_err() {
            // The way that is left was never used and there is no number for it: no route then.
            self.fib.remove(prefix);
        }
        true
    }

    /// The ways to every configured prefix, best first within a prefix.
    pub fn configured(&self) -> impl Iterator<Item = &Candidate> {
        self.configured.all().iter().chain(self.tables.ways())
    }

    /// Whether this candidate is the one in the FIB.
    pub fn is_active(&self, candidate: &Candidate) -> bool {
        if candidate.table != Mark::NONE {
            return self.tables.is_active(candidate);
        }
        let ways = self.configured.to(candidate.prefix);
        let mut reachable = ways.iter().filter(|way| way.target.is_some());
        candidate.target.is_some()
            && reachable.all(|way| way.distance >= candidate.distance)
            && self.best(candidate.prefix) == candidate.target.as_ref()
    }

    /// The fed routes from a place on, by place.
    pub fn fed_routes(&self, from: u32) -> impl Iterator<Item = FedRoute<'_>> {
        self.places.from(from).filter_map(|prefix| {
            let &Fed { target, protocol, place } = self.fed.get(&prefix)?;
            let now = self.target(self.feeds.leaf(target));
            let active =
                now.is_some() && self.best(prefix) == now && !self.is_beaten(prefix, protocol);
            let target = self.feeds.target(target);
            Some(FedRoute { place, prefix, target, protocol, active })
        })
    }

    /// Whether packets to a prefix take a way of the configuration rather than a fed one.
    fn is_beaten(&self, prefix: Ipv4Prefix, protocol: Protocol) -> bool {
        let mut ways = self.configured.to(prefix).iter();
        ways.any(|way| way.target.is_some() && way.distance <= protocol.distance())
    }

    /// Where a fed way leads now.
    fn fed_now(&self, fed: &Fed) -> Option<&Target> {
        self.target(self.feeds.leaf(fed.target))
    }

    /// How many networks the main table knows the way to.
    pub(crate) fn len(&self) -> usize {
        self.fib.len()
    }

    /// How many routes were fed.
    pub fn fed(&self) -> usize {
        self.fed.len()
    }

    fn best(&self, prefix: Ipv4Prefix) -> Option<&Target> {
        self.best_of(&self.configured, prefix)
    }

    /// The best of these ways and the fed one.
    fn best_of<'a>(&'a self, configured: &'a Ways, prefix: Ipv4Prefix) -> Option<&'a Target> {
        let ways = configured.to(prefix).iter();
        // `min_by_key` takes the first of equals: the router's own addresses stand before
        // connected networks, and of two static routes the older one stays.
        let way = ways.filter(|way| way.target.is_some()).min_by_key(|way| way.distance);
        let fed = self.fed.get(&prefix);
        let target = fed.and_then(|fed| self.fed_now(fed));
        match (way, fed) {
            (Some(way), Some(fed)) if way.distance > fed.protocol.distance() => {
                target.or(way.target.as_ref())
            }
            (Some(way), _) => way.target.as_ref(),
            (None, _) => target,
        }
    }

    /// Brings the FIB up to date for one prefix; returns whether it changed.
    fn publish(&mut self, prefix: Ipv4Prefix) -> Result<bool, TooManyTargets> {
        match self.best(prefix).cloned() {
            Some(target) => {
                let id = self.number_for(prefix, &target)?;
                self.labels.follow(prefix, id);
                Ok(self.fib.insert(prefix, id) != Some(id))
            }
            None => {
                self.labels.follow(prefix, NextHopId::NONE);
                Ok(self.fib.remove(prefix).is_some())
            }
        }
        .inspect(|changed| self.labels.changes += u64::from(*changed))
    }

    /// That of a target with the labels that its ways have to a network; without them, if there are too many.
    fn number_for(
        &mut self,
        prefix: Ipv4Prefix,
        target: &Target,
    ) -> Result<NextHopId, TooManyTargets> {
        let labels = self.labels.of(prefix, target);
        match labels.is_empty() {
            true => self.number(target),
            false => self.number_with(target, labels).or_else(|_| self.number(target)),
        }
    }

    /// The number of a target's leaf; a new one when the target is new.
    fn number(&mut self, target: &Target) -> Result<NextHopId, TooManyTargets> {
        self.number_with(target, OfWays::default())
    }

    fn number_with(
        &mut self,
        target: &Target,
        labels: OfWays,
    ) -> Result<NextHopId, TooManyTargets> {
        if let Some(id) = self.find(target, &labels) {
            return Ok(id);
        }
        let number = self.targets.len();
        let id =
            if number < MAX_TARGETS { Ok(NextHopId(number as u32)) } else { Err(TooManyTargets) }?;
        if self.targets.len() == self.targets.capacity() {
            // Not twice as many: each session is one.
            let more = 64 + self.targets.len() / 16;
            self.targets.reserve_exact(more);
            self.leaves.reserve_exact(more);
        }
        self.leaves.push(Leaf::of(target));
        self.targets.push(target.clone());
        if !labels.is_empty() {
            self.labels.of_leaves.insert(id, labels);
        }
        let key = |id: &NextHopId| (&self.targets[id.index()], self.labels.of_leaf(*id));
        let hash = |id: &NextHopId| self.keys.hash_one(key(id));
        self.numbers.insert_unique(hash(&id), id, hash);
        Ok(id)
    }

    fn number_of(&self, target: &Target) -> Option<NextHopId> {
        self.find(target, &[])
    }

    fn find(&self, target: &Target, labels: &[Option<Label>]) -> Option<NextHopId> {
        let is = |id: &NextHopId| {
            self.targets[id.index()] == *target && self.labels.of_leaf(*id) == labels
        };
        self.numbers.find(self.keys.hash_one((target, labels)), is).copied()
    }
}
