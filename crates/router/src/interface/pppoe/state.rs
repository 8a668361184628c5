//! State of PPPoE discovery: how clients find their servers. Servers keep none for hosts that look for one, but
//! offers that wait.
//!
//! ```text
//! Dial (a client)   Idle ─► Asking: PADI ─► Requesting: PADR ─► Calling ─► over: Idle
//! ```
//!
//! An offer of a server carries a cookie, which it can make again, and may wait a while; what becomes of a request that gives it
//! back is a [`Call`](crate::interface::ppp::calls::Call).

use crate::interface::InterfaceId;
use config::ItemId;
use std::collections::HashMap;
use wire::{MacAddr, Moment, md5};

/// Where a client stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dial {
    /// It begins at this time.
    Idle(Moment),
    /// It has sent so many PADIs.
    Asking { due: Moment, tries: u8, uniq: [u8; 8] },
    /// A concentrator has made an offer, of which this is to be given back.
    Requesting {
        due: Moment,
        tries: u8,
        uniq: [u8; 8],
        ac: MacAddr,
        ac_name: String,
        back: Vec<(u16, Vec<u8>)>,
    },
    /// It has a call.
    Calling,
}

/// The numbers of sessions on one interface, a bit for each. (RFC 2516 tells sessions apart by the host, too;
/// so does whoever looks for one, but what the fast path has learnt it finds by the number alone.)
#[derive(Clone, Debug)]
struct Ids {
    used: Box<[u64; 1024]>,
    len: u16,
    next: u16,
}

impl Ids {
    fn flip(&mut self, id: u16) {
        self.used[usize::from(id / 64)] ^= 1 << (id % 64);
    }

    fn step(&mut self) {
        self.next = if self.next == 0xfffe { 1 } else { self.next + 1 };
    }
}

/// A server's offer that waits.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) due: Moment,
    pub(crate) on: InterfaceId,
    pub(crate) to: MacAddr,
    pub(crate) pado: Vec<u8>,
}

/// More offers than this do not wait: who asks in vain asks again.
const OFFERS: usize = 1024;

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The numbers of servers' sessions, by interface.
    ids: HashMap<InterfaceId, Ids>,
    /// Of clients.
    pub(crate) dials: HashMap<ItemId, (super::Dialer, Dial)>,
    /// Offers of servers with a `pado-delay`, in no order.
    offers: Vec<Offer>,
    /// What cookies are made of.
    secret: Option<[u8; 16]>,
}

impl State {
    /// A number that no session of the servers has on an interface, if there is one: neither 0 nor 0xffff.
    pub(crate) fn fresh_id(&mut self, on: InterfaceId) -> Option<u16> {
        let fresh = || Ids { used: Box::new([0; 1024]), len: 0, next: 1 };
        let ids = self.ids.entry(on).or_insert_with(fresh);
        if ids.len == 0xfffe {
            return None;
        }
        while ids.used[usize::from(ids.next / 64)] >> (ids.next % 64) & 1 == 1 {
            ids.step();
        }
        let id = ids.next;
        ids.step();
        ids.flip(id);
        ids.len += 1;
        Some(id)
    }

    /// Gives one back.
    pub(crate) fn free_id(&mut self, on: InterfaceId, id: u16) {
        let Some(ids) = self.ids.get_mut(&on) else { return };
        ids.flip(id);
        ids.len -= 1;
    }

    /// Lets an offer wait; false if too many do.
    pub(crate) fn put_off(&mut self, offer: Offer) -> bool {
        let has_room = self.offers.len() < OFFERS;
        if has_room {
            self.offers.push(offer);
        }
        has_room
    }

    /// An offer that is due, as long as there are any.
    pub(crate) fn due_offer(&mut self, now: Moment) -> Option<Offer> {
        let at = self.offers.iter().position(|offer| offer.due <= now)?;
        Some(self.offers.remove(at))
    }

    /// When the next one is.
    pub(crate) fn next_offer(&self) -> Option<Moment> {
        self.offers.iter().map(|offer| offer.due).min()
    }

    /// The cookie of an offer: only who has had it can give it back.
    pub(crate) fn cookie(
        &mut self,
        on: InterfaceId,
        peer: MacAddr,
        service: &str,
        mut dice: impl FnMut() -> u32,
    ) -> [u8; 16] {
        let secret = self.secret.get_or_insert_with(|| {
            let mut secret = [0; 16];
            for part in secret.chunks_exact_mut(4) {
                part.copy_from_slice(&dice().to_be_bytes());
            }
            secret
        });
        md5::digest(&[&secret[..], &on.0.to_be_bytes(), &peer.0, service.as_bytes()].concat())
    }
}
