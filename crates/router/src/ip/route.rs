//! Routes: what was typed, what is connected, what was fed; the best of each prefix is in the FIB.
//!
//! ```text
//!  /ip address ─► connected (distance 0) ─┐
//!  /ip route   ─► static    (distance 1…) ─┼─► best active per prefix ─► leaf ─► Fib
//!  feed        ─► fed       (distance 20) ─┘
//! ```
//!
//! A route is active when its gateway lies in a connected network of a running interface (target
//! scope 10: a gateway behind another static route is **missing**), or its gateway is an interface.
//! The FIB maps an address to a [`Leaf`]'s number: equal destinations share one leaf.
//!
//! Missing: **check-gateway**, **routing-mark and VRFs**, **scope beyond connected**.

use super::fib::{Fib, NextHopId};
use super::neighbour::NeighbourId;
use crate::interface::InterfaceId;
use crate::packet::AddressType;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use wire::Ipv4Prefix;

/// What lies behind a destination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The router itself.
    Local,
    /// Everybody in a connected network: for the router as well.
    Broadcast,
    /// A network whose hosts are neighbours on this interface.
    Connected(InterfaceId),
    /// The next router, or several (ECMP), each on its interface.
    Gateways(Vec<(InterfaceId, u32)>),
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

/// What a leaf's number stands for, in the form the fast path reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What to do.
    pub kind: LeafKind,
    /// The interface of a connected network.
    pub interface: InterfaceId,
    /// The one gateway's neighbour, once it was wanted.
    pub neighbour: NeighbourId,
}

/// What a leaf is, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LeafKind {
    /// No route.
    None,
    /// One gateway.
    Gateway,
    /// Several gateways.
    Ecmp,
    /// The destination is a neighbour.
    Connected,
    /// Everything else: look at the [`Target`].
    Special,
}

/// One way to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The network.
    pub prefix: Ipv4Prefix,
    /// 0 to 255; the least wins.
    pub distance: u8,
    /// What lies behind it; `None` while no gateway can be reached.
    pub target: Option<Target>,
}

/// The ways to every prefix that the configuration knows.
pub type Ways = BTreeMap<Ipv4Prefix, Vec<Candidate>>;

/// Other ways than before: made on the control side, see [`Routes::configure`].
#[derive(Debug)]
pub struct Change {
    ways: Arc<Ways>,
    /// The prefixes whose ways differ.
    touched: Vec<Ipv4Prefix>,
}

impl Change {
    /// What leads from `old` to these candidates, which are in the order of the configuration.
    pub fn between(old: &Ways, candidates: Vec<Candidate>) -> Change {
        let mut ways = Ways::new();
        for candidate in candidates {
            ways.entry(candidate.prefix).or_default().push(candidate);
        }
        let gone = old.keys().filter(|prefix| !ways.contains_key(prefix));
        let differs = ways.iter().filter(|(prefix, ways)| old.get(prefix) != Some(ways));
        let touched = gone.chain(differs.map(|(prefix, _)| prefix)).copied().collect();
        Change { ways: Arc::new(ways), touched }
    }

    /// The ways there will be.
    pub fn ways(&self) -> &Arc<Ways> {
        &self.ways
    }
}

/// The routes of the main table.
#[derive(Debug)]
pub struct Routes {
    /// Static and connected ones, and the router's own addresses.
    configured: Arc<Ways>,
    /// Fed by a protocol or a file: one way each, `distance` [`FED`].
    fed: HashMap<Ipv4Prefix, NextHopId>,
    fib: Fib,
    targets: Vec<Target>,
    leaves: Vec<Leaf>,
    numbers: HashMap<Target, NextHopId>,
}

/// What a leaf's number, 16 bits, can tell apart; the first is no route.
const MAX_TARGETS: usize = 1 << 16;

/// The distance of fed routes: eBGP's.
pub const FED: u8 = 20;

/// No more than 65,535 different targets fit the FIB's leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyTargets;

impl std::fmt::Display for TooManyTargets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("more than 65535 different gateways in use")
    }
}

impl std::error::Error for TooManyTargets {}

impl Default for Routes {
    fn default() -> Routes {
        let leaf = Leaf {
            kind: LeafKind::None,
            interface: InterfaceId::NONE,
            neighbour: NeighbourId::NONE,
        };
        Routes {
            configured: Arc::default(),
            fed: HashMap::new(),
            fib: Fib::new(),
            targets: vec![Target::Unreachable],
            leaves: vec![leaf],
            numbers: HashMap::new(),
        }
    }
}

impl Routes {
    /// Where an address leads.
    #[inline]
    pub fn lookup(&self, dst: u32) -> NextHopId {
        self.fib.lookup(dst)
    }

    /// The table itself, for batches.
    #[inline]
    pub fn fib(&self) -> &Fib {
        &self.fib
    }

    /// What a leaf is.
    #[inline]
    pub fn leaf(&self, id: NextHopId) -> Leaf {
        self.leaves[usize::from(id.0)]
    }

    /// What kind of address an address is (`src-address-type`, `dst-address-type`).
    pub fn address_type(&self, address: u32) -> AddressType {
        match self.target(self.lookup(address)) {
            Some(Target::Local) => AddressType::Local,
            Some(Target::Broadcast) => AddressType::Broadcast,
            Some(Target::Multicast) => AddressType::Multicast,
            Some(Target::Connected(_) | Target::Gateways(_)) => AddressType::Unicast,
            Some(Target::Blackhole) => AddressType::Blackhole,
            Some(Target::Prohibit) => AddressType::Prohibit,
            Some(Target::Unreachable | Target::Martian) | None => AddressType::Unreachable,
        }
    }

    /// All leaves by number.
    #[inline]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// What lies behind a leaf; `None` for no route.
    pub fn target(&self, id: NextHopId) -> Option<&Target> {
        if id == NextHopId::NONE { None } else { Some(&self.targets[usize::from(id.0)]) }
    }

    /// Remembers the neighbour behind a one-gateway leaf, so that the fast path finds it.
    pub fn set_neighbour(&mut self, id: NextHopId, neighbour: NeighbourId) {
        self.leaves[usize::from(id.0)].neighbour = neighbour;
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

    /// Forgets all neighbours: their places were used again.
    pub fn forget_neighbours(&mut self) {
        for leaf in &mut self.leaves {
            leaf.neighbour = NeighbourId::NONE;
        }
    }

    /// Replaces everything configured; `change` holds afterwards what was there. Only prefixes whose
    /// best way changed touch the FIB, so forwarding goes on; returns how many did.
    ///
    /// # Errors
    /// [`TooManyTargets`]; nothing has changed then.
    pub fn configure(&mut self, change: &mut Change) -> Result<usize, TooManyTargets> {
        let best = change.touched.iter().filter_map(|&prefix| self.best_of(&change.ways, prefix));
        let fresh: HashSet<&Target> =
            best.filter(|best| !self.numbers.contains_key(best)).collect();
        if self.targets.len() + fresh.len() > MAX_TARGETS {
            return Err(TooManyTargets);
        }
        std::mem::swap(&mut self.configured, &mut change.ways);
        let mut changed = 0;
        for &prefix in &change.touched {
            changed += usize::from(self.publish(prefix)?);
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
        routes: impl IntoIterator<Item = (Ipv4Prefix, Target)>,
    ) -> Result<(), TooManyTargets> {
        let mut fresh = Vec::new();
        for (prefix, target) in routes {
            let id = self.number(&target)?;
            self.fed.insert(prefix, id);
            if !self.configured.contains_key(&prefix) {
                fresh.push((prefix, id));
            }
        }
        self.fib.extend(fresh);
        let contested: Vec<Ipv4Prefix> =
            self.configured.keys().filter(|p| self.fed.contains_key(p)).copied().collect();
        for prefix in contested {
            self.publish(prefix)?;
        }
        Ok(())
    }

    /// Takes a fed route back; returns whether there was one.
    pub fn unfeed(&mut self, prefix: Ipv4Prefix) -> bool {
        let was = self.fed.remove(&prefix).is_some();
        if was && self.publish(prefix).is_err() {
            // The way that is left was never used and there is no number for it: no route then.
            self.fib.remove(prefix);
        }
        was
    }

    /// The ways to every configured prefix, best first within a prefix.
    pub fn configured(&self) -> impl Iterator<Item = &Candidate> {
        self.configured.values().flatten()
    }

    /// Whether this candidate is the one in the FIB.
    pub fn is_active(&self, candidate: &Candidate) -> bool {
        let ways = self.configured.get(&candidate.prefix).into_iter().flatten();
        let mut reachable = ways.filter(|way| way.target.is_some());
        candidate.target.is_some()
            && reachable.all(|way| way.distance >= candidate.distance)
            && self.best(candidate.prefix) == candidate.target.as_ref()
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
        let ways = configured.get(&prefix).into_iter().flatten();
        // `min_by_key` takes the first of equals: the router's own addresses stand before
        // connected networks, and of two static routes the older one stays.
        let way = ways.filter(|way| way.target.is_some()).min_by_key(|way| way.distance);
        let fed = self.fed.get(&prefix).map(|id| &self.targets[usize::from(id.0)]);
        match (way, fed) {
            (Some(way), Some(fed)) if way.distance > FED => Some(fed),
            (Some(way), _) => way.target.as_ref(),
            (None, fed) => fed,
        }
    }

    /// Brings the FIB up to date for one prefix; returns whether it changed.
    fn publish(&mut self, prefix: Ipv4Prefix) -> Result<bool, TooManyTargets> {
        match self.best(prefix).cloned() {
            Some(target) => {
                let id = self.number(&target)?;
                Ok(self.fib.insert(prefix, id) != Some(id))
            }
            None => Ok(self.fib.remove(prefix).is_some()),
        }
    }

    /// The number of a target's leaf; a new one when the target is new.
    fn number(&mut self, target: &Target) -> Result<NextHopId, TooManyTargets> {
        if let Some(&id) = self.numbers.get(target) {
            return Ok(id);
        }
        let id = NextHopId(u16::try_from(self.targets.len()).map_err(|_| TooManyTargets)?);
        let (kind, interface) = match target {
            Target::Connected(interface) => (LeafKind::Connected, *interface),
            Target::Gateways(ways) if ways.len() == 1 => (LeafKind::Gateway, ways[0].0),
            Target::Gateways(_) => (LeafKind::Ecmp, InterfaceId::NONE),
            _ => (LeafKind::Special, InterfaceId::NONE),
        };
        self.leaves.push(Leaf { kind, interface, neighbour: NeighbourId::NONE });
        self.targets.push(target.clone());
        self.numbers.insert(target.clone(), id);
        Ok(id)
    }
}
