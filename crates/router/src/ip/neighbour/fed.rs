//! Neighbours that somebody else knows: the kernel, for one.
//!
//! ```text
//!                 told, sure                told, not sure any more
//!  (none) or ours ──────────► fed ─────────────────────────────────► ours: ages, is asked for
//!                              ▲ └── not told any more: gone            │
//!                              └───────────── sure again ──────────────┘
//! ```
//!
//! Whoever feeds tells all it knows each time: what is missing is gone. Of what it is not sure of
//! (the kernel calls that stale) nothing is learnt. An answer to ARP that came later than what was
//! fed counts until something else is fed; what was typed in `/ip arp` always counts.

use super::{Neighbours, Status, Waiting};
use crate::interface::InterfaceId;
use crate::ip::family::Family;
use wire::{MacAddr, Moment};

/// A neighbour as somebody else knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FedNeighbour<A = u32> {
    /// Where it is.
    pub interface: InterfaceId,
    /// Its address.
    pub address: A,
    /// Its MAC address.
    pub mac: MacAddr,
    /// Whether it answered lately, or was typed there.
    pub sure: bool,
}

/// A frame that waited, and where it can go now.
pub(crate) type Freed<A> = (InterfaceId, A, Waiting);

impl<A: Family> Neighbours<A> {
    /// Takes over all that somebody else knows now. Returns the frames that waited for one of them.
    pub(crate) fn feed(
        &mut self,
        now: Moment,
        fed: impl IntoIterator<Item = FedNeighbour<A>>,
    ) -> Vec<Freed<A>> {
        self.round = self.round.wrapping_add(1);
        let mut freed = Vec::new();
        for told in fed {
            let FedNeighbour { interface, address, mac, sure } = told;
            let found = self.find(interface, address);
            let created = || if sure { self.create(interface, address) } else { None };
            let Some(id) = found.or_else(created) else { continue };
            let held = self.mac(id);
            let entry = &mut self.entries[id.index()];
            entry.told = self.round;
            let later = entry.fed == Some(mac) && held != Some(mac);
            match entry.status {
                Status::Permanent | Status::Leased | Status::OtherEnd => {}
                Status::Fed if !sure => {
                    entry.status = Status::Reachable;
                    self.schedule(id, now + self.timeout_at(interface));
                }
                Status::Fed if held == Some(mac) => {}
                _ if !sure || later => {}
                _ => {
                    (entry.status, entry.fed) = (Status::Fed, Some(mac));
                    let waiting = std::mem::take(&mut entry.waiting);
                    freed.extend(waiting.into_iter().map(|frame| (interface, address, frame)));
                    self.complete(id, mac);
                    self.unschedule(id);
                }
            }
        }
        self.forget_untold();
        freed
    }

    /// What was fed and is no longer told goes, unless ARP has said otherwise since.
    fn forget_untold(&mut self) {
        for at in 1..self.entries.len() {
            let id = super::NeighbourId(at as u32);
            let entry = &mut self.entries[at];
            if entry.told == self.round || !self.rewrites[at].interface().is_some() {
                continue;
            }
            let Some(fed) = entry.fed.take() else { continue };
            if entry.status != Status::Permanent && self.mac(id) == Some(fed) {
                // Nothing waits for one whose address is known.
                drop(self.remove(id));
            }
        }
    }

    /// Notes that ARP has told this address: what the entry was fed, it knows itself now.
    pub(super) fn confirm(&mut self, id: super::NeighbourId, mac: MacAddr) {
        let entry = &mut self.entries[id.index()];
        if entry.fed == Some(mac) && entry.status != Status::Fed {
            entry.fed = None;
        }
    }
}
