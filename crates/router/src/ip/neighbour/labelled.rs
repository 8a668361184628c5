//! Neighbours behind a label: one neighbour, another header for each label that it wants to see.
//!
//! ```text
//! 10.0.1.2 on ether1 ─┬─ 18: a place of its own, [ MAC MAC | 0x8847 | 18 ]
//!                     └─ 21: another one
//! ```
//!
//! So what is sent with a label takes the fast path's way as anything else. A labelled place has no entry in the
//! index, is never asked for, and goes when its neighbour does.

use super::{Entry, NeighbourId, Neighbours, Status};
use crate::interface::rewrite::Rewrite;
use crate::ip::family::Family;
use std::collections::{BTreeMap, HashMap};
use wire::layers::ETHERTYPE_IPV4;
use wire::mpls::{ETHERTYPE_MPLS, Label};

/// The labels of a frame that is on its way to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// None: it is IP's.
    None,
    /// This one is still to be put on.
    Push(Label),
    /// It has them: they are where IP would be, and what is behind them nobody looked at.
    Own,
    /// None any more: the last one was taken off here.
    Popped,
}

impl Labels {
    /// Whether IP is where the packet begins.
    pub(crate) fn are_none(self) -> bool {
        matches!(self, Labels::None | Labels::Push(_))
    }

    /// The EtherType in front of them.
    pub(crate) fn ether_type(self) -> u16 {
        match self {
            Labels::None | Labels::Popped => ETHERTYPE_IPV4,
            Labels::Push(_) | Labels::Own => ETHERTYPE_MPLS,
        }
    }
}

/// The labelled places.
#[derive(Clone, Debug, Default)]
pub(super) struct Labelled {
    /// By neighbour and label.
    places: BTreeMap<(NeighbourId, Label), NeighbourId>,
    labels: HashMap<NeighbourId, Label>,
}

impl Labelled {
    /// Those of a neighbour.
    fn of(&self, id: NeighbourId) -> impl Iterator<Item = NeighbourId> {
        let all = (id, Label::EXPLICIT_NULL)..=(id, Label::LAST);
        self.places.range(all).map(|(_, place)| *place)
    }
}

impl<A: Family> Neighbours<A> {
    /// The place of a neighbour's packets with a label.
    pub(crate) fn labelled(&mut self, id: NeighbourId, label: Label) -> NeighbourId {
        if let Some(&place) = self.labelled.places.get(&(id, label)) {
            return place;
        }
        let old = &self.rewrites[id.index()];
        let rewrite = Rewrite::of(old.interface(), old.address);
        let mac = self.entries[id.index()].mac;
        let place = self.put(Entry { status: Status::Labelled, mac, ..Entry::NEW }, rewrite);
        self.labelled.places.insert((id, label), place);
        self.labelled.labels.insert(place, label);
        place
    }

    /// The label that a place's packets have.
    pub(crate) fn label(&self, id: NeighbourId) -> Option<Label> {
        let is_labelled = self.status(id) == Status::Labelled;
        self.labelled.labels.get(&id).copied().filter(|_| is_labelled)
    }

    /// When a neighbour was last used, with a label or without: how many milliseconds ago.
    pub(super) fn idle_ms(&self, id: NeighbourId, now_ms: u32) -> u32 {
        let idle = |id: NeighbourId| now_ms.wrapping_sub(self.rewrites[id.index()].used_ms);
        self.labelled.of(id).map(idle).fold(idle(id), u32::min)
    }

    /// The neighbour has another MAC address.
    pub(super) fn relabel(&mut self, id: NeighbourId) {
        let mac = self.entries[id.index()].mac;
        for place in self.labelled.of(id) {
            self.entries[place.index()].mac = mac;
            self.rewrites[place.index()].clear();
        }
    }

    /// Lets the labelled places of a neighbour go.
    pub(super) fn unlabel(&mut self, id: NeighbourId) {
        while let Some(place) = { self.labelled.of(id).next() } {
            let label = self.labelled.labels.remove(&place);
            label.and_then(|label| self.labelled.places.remove(&(id, label)));
            self.rewrites[place.index()] = Rewrite::default();
            self.entries[place.index()] = Entry::NEW;
            self.free.push(place);
        }
    }
}
