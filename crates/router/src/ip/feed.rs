//! Routes from elsewhere: a routing protocol, the kernel's table, a file.
//!
//! ```text
//!  feed (prefix, target, protocol) ─► one way a prefix ─┐        ways of the configuration ─┐
//!                                                       ├─► least distance ─► leaf ─► FIB ◄──┘
//!  link down ─► targets without it; none left: inactive ┘
//! ```
//!
//! A hundred thousand prefixes share a few targets, so a prefix keeps the target's number, and what
//! is left of a target when links are down is worked out once for all.

use super::fib::NextHopId;
use super::route::{Target, TooManyTargets};
use crate::interface::InterfaceId;
use std::collections::HashMap;
use wire::Ipv4Prefix;

/// Who knows a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// A network of the host's own.
    Connect,
    /// Somebody typed it on the host.
    Static,
    /// BGP.
    Bgp,
    /// OSPF.
    Ospf,
    /// RIP.
    Rip,
    /// A program that does not say by which protocol it learnt it.
    Other,
    /// The host sends there itself, by an interface that is none of the router's.
    Elsewhere,
}

impl Protocol {
    /// The distance of its routes: RouterOS's defaults.
    pub const fn distance(self) -> u8 {
        match self {
            Protocol::Connect => 0,
            Protocol::Static => 1,
            Protocol::Bgp | Protocol::Other => 20,
            Protocol::Ospf => 110,
            Protocol::Rip => 120,
            // Whatever the router itself has of the same prefix wins.
            Protocol::Elsewhere => 255,
        }
    }
}

/// The fed way to a prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fed {
    pub(super) target: FedTarget,
    pub(super) protocol: Protocol,
    pub(super) place: u32,
}

/// A fed route, as others see it.
#[derive(Clone, Copy, Debug)]
pub struct FedRoute<'a> {
    /// Its place among the fed routes: it keeps it while it lives, then another one may have it.
    pub place: u32,
    /// Where it leads.
    pub prefix: Ipv4Prefix,
    /// As it was fed, whatever is left of it.
    pub target: &'a Target,
    /// Who knows it.
    pub protocol: Protocol,
    /// Whether packets take it.
    pub active: bool,
}

/// Where the fed routes are listed: places that are used again, so that a list may be read a page at
/// a time.
#[derive(Debug, Default)]
pub(super) struct Places {
    prefixes: Vec<Option<Ipv4Prefix>>,
    free: Vec<u32>,
}

impl Places {
    /// A place for a prefix.
    pub(super) fn take(&mut self, prefix: Ipv4Prefix) -> u32 {
        if let Some(place) = self.free.pop() {
            self.prefixes[place as usize] = Some(prefix);
            return place;
        }
        self.prefixes.push(Some(prefix));
        // There are no more prefixes than these.
        (self.prefixes.len() - 1) as u32
    }

    /// It is free again.
    pub(super) fn leave(&mut self, place: u32) {
        self.prefixes[place as usize] = None;
        self.free.push(place);
    }

    /// The prefixes from a place on.
    pub(super) fn from(&self, place: u32) -> impl Iterator<Item = Ipv4Prefix> {
        self.prefixes.iter().skip(place as usize).filter_map(|prefix| *prefix)
    }
}

/// The number of a target as it was fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FedTarget(pub(super) u16);

/// The targets that were fed, and what is left of them.
#[derive(Debug, Default)]
pub(super) struct Feeds {
    targets: Vec<Target>,
    numbers: HashMap<Target, FedTarget>,
    /// The leaf of what is left; [`NextHopId::NONE`] if nothing is.
    leaves: Vec<NextHopId>,
    /// By interface; those beyond run.
    running: Vec<bool>,
}

impl Feeds {
    /// The number of a target that was fed before.
    pub(super) fn find(&self, target: &Target) -> Option<FedTarget> {
        self.numbers.get(target).copied()
    }

    /// Numbers a target, whose leaf is given.
    pub(super) fn add(
        &mut self,
        target: Target,
        leaf: NextHopId,
    ) -> Result<FedTarget, TooManyTargets> {
        let number = u16::try_from(self.targets.len()).map_err(|_| TooManyTargets)?;
        self.numbers.insert(target.clone(), FedTarget(number));
        self.targets.push(target);
        self.leaves.push(leaf);
        Ok(FedTarget(number))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// What was fed.
    pub(super) fn target(&self, number: FedTarget) -> &Target {
        &self.targets[usize::from(number.0)]
    }

    /// Where it leads now.
    pub(super) fn leaf(&self, number: FedTarget) -> NextHopId {
        self.leaves[usize::from(number.0)]
    }

    /// Makes it lead elsewhere; returns whether it did not already.
    pub(super) fn set_leaf(&mut self, number: FedTarget, leaf: NextHopId) -> bool {
        std::mem::replace(&mut self.leaves[usize::from(number.0)], leaf) != leaf
    }

    /// Notes which interfaces run; returns whether any does otherwise than before.
    pub(super) fn set_running(&mut self, running: Vec<bool>) -> bool {
        let was = std::mem::replace(&mut self.running, running);
        was != self.running
    }

    /// What is left of a target by the interfaces that run.
    pub(super) fn reachable(&self, target: &Target) -> Option<Target> {
        let runs = |id: InterfaceId| self.running.get(id.index()).copied().unwrap_or(true);
        match target {
            Target::Connected(interface) => runs(*interface).then(|| target.clone()),
            Target::Gateways(ways) => {
                let ways: Vec<_> = ways.iter().copied().filter(|way| runs(way.0)).collect();
                (!ways.is_empty()).then_some(Target::Gateways(ways))
            }
            _ => Some(target.clone()),
        }
    }
}
