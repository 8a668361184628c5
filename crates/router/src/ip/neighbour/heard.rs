//! Neighbour discovery messages of others, and what is believed of them (RFC 4861 §7.2).
//!
//! ```text
//!  solicitation, router solicitation ──► new or another address: stale
//!  advertisement, solicited          ──► reachable
//!  advertisement, not solicited      ──► another address and "override": stale; else at most doubt
//! ```

use super::{NeighbourId, Neighbours, Status, Waiting};
use crate::interface::InterfaceId;
use std::collections::VecDeque;
use wire::{MacAddr, Moment};

/// What told an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The neighbour asks for something itself.
    Asking,
    /// It advertises itself.
    Advertised {
        /// It answers a solicitation.
        solicited: bool,
        /// It counts even against what is known.
        override_: bool,
    },
}

impl Neighbours<u128> {
    /// Takes in what a neighbour said of itself. Returns the frames that waited for it, now sendable.
    pub(crate) fn hear(
        &mut self,
        now: Moment,
        interface: InterfaceId,
        address: u128,
        mac: Option<MacAddr>,
        heard: Heard,
    ) -> VecDeque<Waiting> {
        let found = self.find(interface, address);
        // Who is not looked for need not be remembered for advertising itself.
        let created =
            || if heard == Heard::Asking { self.create(interface, address) } else { None };
        let Some(id) = found.or_else(created) else { return VecDeque::new() };
        let known = self.mac(id);
        let other = mac.is_some() && mac != known;
        let status = match (heard, known) {
            (_, None) if mac.is_none() => return VecDeque::new(),
            (Heard::Asking, _) if !other => return VecDeque::new(),
            (Heard::Advertised { override_: false, .. }, Some(_)) if other => {
                if self.status(id) == Status::Reachable {
                    self.become_(now, id, Status::Stale);
                }
                return VecDeque::new();
            }
            (Heard::Advertised { solicited: true, .. }, _) => Status::Reachable,
            (Heard::Advertised { .. }, Some(_)) if !other => return VecDeque::new(),
            _ => Status::Stale,
        };
        if let Some(mac) = mac {
            self.complete(id, mac);
        }
        self.become_(now, id, status);
        std::mem::take(&mut self.entries[id.index()].waiting)
    }

    fn become_(&mut self, now: Moment, id: NeighbourId, status: Status) {
        if status == Status::Stale {
            return self.become_stale(now, id);
        }
        self.entries[id.index()].status = status;
        self.schedule(id, now + self.timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever was stale for longest makes room, and nobody whom somebody uses.
    #[test]
    fn a_full_table_forgets_who_is_stale() {
        let here = InterfaceId(1);
        let mut all = Neighbours::<u128> { max_entries: 8, ..Neighbours::default() };
        let come = |all: &mut Neighbours<u128>, n: u8| {
            let (now, mac) = (Moment::from_nanos(n.into()), MacAddr([6, 0, 0, 0, 0, n]));
            all.hear(now, here, n.into(), Some(mac), Heard::Asking);
            let mut there: Vec<u128> = all.iter().map(|neighbour| neighbour.address).collect();
            there.sort_unstable();
            there
        };
        for n in 1..12 {
            come(&mut all, n);
        }
        assert_eq!(come(&mut all, 12), [5, 6, 7, 8, 9, 10, 11, 12]);
        for used in [5, 7] {
            all.want(Moment::from_nanos(20), here, used);
        }
        assert_eq!(come(&mut all, 21), [5, 7, 8, 9, 10, 11, 12, 21]);
        assert_eq!(come(&mut all, 22), [5, 7, 9, 10, 11, 12, 21, 22]);
        // Those whom somebody uses stay: then there is no room.
        for n in [5, 7, 9, 10, 11, 12, 21, 22] {
            all.want(Moment::from_nanos(30), here, n);
        }
        assert_eq!(come(&mut all, 31), [5, 7, 9, 10, 11, 12, 21, 22]);
    }
}
