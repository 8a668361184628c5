//! Labels of routes: with which label packets of a network go on, and with which one they may come.
//!
//! ```text
//!  network ─► [bound]: next hop ─► label ─┐
//!  network ─► its best target ────────────┴─► a leaf of its own: next hops with their labels ─► Fib
//!  label   ─► [own]: network ─► that leaf ─► [incoming], one look for a packet that comes with a label
//! ```
//!
//! So a packet that comes with a label finds what one without finds by its address, and both follow the routes.

use super::{Routes, Target};
use crate::interface::InterfaceId;
use crate::ip::fib::NextHopId;
use std::collections::{BTreeSet, HashMap};
use wire::Ipv4Prefix;
use wire::mpls::Label;

/// The labels of a target's ways, in their order; empty if none has one.
pub(super) type OfWays = Box<[Option<Label>]>;

/// A next hop.
pub(crate) type Way = (InterfaceId, u32);

/// What is known of labels.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// By leaf; those without labels are not there.
    pub(super) of_leaves: HashMap<NextHopId, OfWays>,
    /// What next hops want to see in front of packets for a network.
    bound: HashMap<Ipv4Prefix, Box<[(Way, Label)]>>,
    /// What we want to see.
    own: HashMap<Ipv4Prefix, Label>,
    /// Their leaves, by label.
    incoming: Vec<NextHopId>,
    /// Networks of protocols within a provider's own network, which have labels; BGP's have none.
    pub(super) inner: BTreeSet<Ipv4Prefix>,
    /// How often routes have changed.
    pub(super) changes: u64,
}

impl Labels {
    /// Whether a network has to do with labels.
    pub(super) fn concern(&self, prefix: Ipv4Prefix) -> bool {
        !self.bound.is_empty() && self.bound.contains_key(&prefix)
            || !self.own.is_empty() && self.own.contains_key(&prefix)
    }

    /// Those of a target's ways to a network.
    pub(super) fn of(&self, prefix: Ipv4Prefix, target: &Target) -> OfWays {
        let (Some(bound), Target::Gateways(ways)) = (self.bound.get(&prefix), target) else {
            return OfWays::default();
        };
        let label = |way: &Way| bound.iter().find(|(to, _)| to == way).map(|(_, label)| *label);
        let labels: OfWays = ways.iter().map(label).collect();
        if labels.iter().all(Option::is_none) { OfWays::default() } else { labels }
    }

    /// Those of a leaf.
    pub(super) fn of_leaf(&self, leaf: NextHopId) -> &[Option<Label>] {
        self.of_leaves.get(&leaf).map_or(&[], |labels| labels)
    }

    /// A network has another leaf.
    pub(super) fn follow(&mut self, prefix: Ipv4Prefix, leaf: NextHopId) {
        if let Some(label) = self.own.get(&prefix)
            && let Some(place) = self.incoming.get_mut(label.number() as usize)
        {
            *place = leaf;
        }
    }
}

impl Routes {
    /// The label of a way behind a leaf.
    #[inline]
    pub(crate) fn label(&self, leaf: NextHopId, way: usize) -> Option<Label> {
        if self.labels.of_leaves.is_empty() {
            return None;
        }
        self.labels.of_leaves.get(&leaf)?.get(way).copied().flatten()
    }

    /// Where packets with a label go; no route if nobody was told that one.
    #[inline]
    pub(crate) fn incoming(&self, label: Label) -> NextHopId {
        let place = self.labels.incoming.get(label.number() as usize);
        place.copied().unwrap_or(NextHopId::NONE)
    }

    /// All of them by label, for batches.
    #[inline]
    pub(crate) fn all_incoming(&self) -> &[NextHopId] {
        &self.labels.incoming
    }

    /// From now on next hops want to see these labels in front of packets for a network. Whether that is news.
    pub(crate) fn bind(&mut self, prefix: Ipv4Prefix, bound: Vec<(Way, Label)>) -> bool {
        let old = self.labels.bound.get(&prefix).map_or(&[][..], |bound| bound);
        if old == bound {
            return false;
        }
        match bound.is_empty() {
            true => self.labels.bound.remove(&prefix),
            false => self.labels.bound.insert(prefix, bound.into()),
        };
        self.republish(prefix);
        true
    }

    /// From now on packets for a network may come with this label, or with none.
    pub(crate) fn own(&mut self, prefix: Ipv4Prefix, label: Option<Label>) {
        let old = match label {
            Some(label) => self.labels.own.insert(prefix, label),
            None => self.labels.own.remove(&prefix),
        };
        let places = &mut self.labels.incoming;
        if let Some(place) = old.and_then(|old| places.get_mut(old.number() as usize)) {
            *place = NextHopId::NONE;
        }
        if let Some(label) = label {
            let at = label.number() as usize;
            if places.len() <= at {
                places.resize(at + 1, NextHopId::NONE);
            }
            self.republish(prefix);
        }
    }

    fn republish(&mut self, prefix: Ipv4Prefix) {
        if self.publish(prefix).is_err() {
            // There is no number for its leaf.
            self.fib.remove(prefix);
            self.labels.follow(prefix, NextHopId::NONE);
        }
    }

    /// The networks that next hops lead to, and through which ones: of the configuration, and of protocols but
    /// BGP.
    pub(crate) fn inner(&self) -> impl Iterator<Item = (Ipv4Prefix, &[Way])> {
        let configured = self.configured.by_prefix().map(|(prefix, _)| prefix);
        let fed = self.labels.inner.iter().copied();
        let fed = fed.filter(|prefix| self.configured.to(*prefix).is_empty());
        configured.chain(fed).filter_map(|prefix| match self.best(prefix) {
            Some(Target::Gateways(ways)) => Some((prefix, &ways[..])),
            _ => None,
        })
    }

    /// How often routes have changed.
    pub(crate) fn changes(&self) -> u64 {
        self.labels.changes
    }
}
