//! PPPoE's sessions as they happen: those that are asked for, those that are made, those that are open.
//!
//! ```text
//! Dial (a client)     Idle ─► Asking: PADI ─► Requesting: PADR ─► Calling ─► over: Idle
//! Call (either end)   discovery has given it a number ─► its Machine talks ─► open ─► over: gone
//! ```
//!
//! A server remembers nothing of who asks: its offer carries a cookie, which it can make again.

use super::Session;
use crate::interface::InterfaceId;
use crate::interface::ppp::machine::{Machine, Phase};
use crate::interface::ppp::users::Grant;
use config::ItemId;
use std::collections::{HashMap, HashSet};
use wire::{MacAddr, Moment, md5};

/// Half-open calls of servers: more are not taken up until some are open or over.
pub(crate) const MOST_HALF_OPEN: usize = 1024;
/// Sessions there can be, of a number's 16 bits.
pub(crate) const MOST: usize = 60_000;
/// Where the identities of servers' sessions as items begin.
pub(super) const ITEMS: u32 = 0xe000_0000;

/// Whose a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The client's of this item.
    Client(ItemId),
    /// The server's of this service on the call's interface.
    Server(String),
}

/// A session, or what is to become one.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) owner: Owner,
    pub(crate) on: InterfaceId,
    pub(crate) id: u16,
    pub(crate) peer: MacAddr,
    pub(crate) machine: Machine,
    /// When it was opened.
    pub(crate) since: Moment,
    /// The name of its interface; of a server's that nobody has logged in to, of its number.
    pub(crate) name: String,
    pub(crate) grant: Option<Grant>,
    pub(crate) clamps_mss: bool,
    pub(crate) route: Option<u8>,
    /// What the host calls its request, to know it when it comes again.
    pub(crate) host_uniq: Vec<u8>,
    /// Of a client: what the concentrator is called, and its service.
    pub(crate) ac_name: String,
    pub(crate) service: String,
}

impl Call {
    pub(crate) fn is_open(&self) -> bool {
        self.machine.phase() == Phase::Open
    }

    /// What the compiler is told of it.
    fn session(&self, place: usize) -> Session {
        let (local, remote) = self.machine.addresses();
        Session {
            number: self.number,
            item: match self.owner {
                Owner::Client(item) => item,
                Owner::Server(_) => ItemId(ITEMS + place as u32),
            },
            name: self.name.clone(),
            on: self.on,
            id: self.id,
            peer: self.peer,
            local,
            remote,
            mtu: self.machine.mtu(),
            clamps_mss: self.clamps_mss,
            route: self.route,
        }
    }
}

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

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Places are used again.
    calls: Vec<Option<Call>>,
    free: Vec<usize>,
    by_wire: HashMap<(InterfaceId, u16, MacAddr), usize>,
    /// The numbers of servers' sessions.
    ids: HashSet<u16>,
    /// Of clients.
    pub(crate) dials: HashMap<ItemId, (super::Dialer, Dial)>,
    /// What cookies are made of.
    secret: Option<[u8; 16]>,
    next_id: u16,
    next_number: u64,
}

impl State {
    /// The places of calls that there are.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let places: Vec<usize> =
            (0..self.calls.len()).filter(|&place| self.calls[place].is_some()).collect();
        places.into_iter()
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().flatten()
    }

    pub(crate) fn call(&mut self, place: usize) -> Option<&mut Call> {
        self.calls.get_mut(place)?.as_mut()
    }

    /// Whether there is nothing to look after.
    pub(crate) fn is_idle(&self) -> bool {
        self.by_wire.is_empty() && self.dials.is_empty()
    }

    /// The place of the call that a session's packet belongs to.
    pub(crate) fn find(&self, on: InterfaceId, id: u16, peer: MacAddr) -> Option<usize> {
        self.by_wire.get(&(on, id, peer)).copied()
    }

    /// Takes a call up.
    pub(crate) fn add(&mut self, mut call: Call) -> usize {
        self.next_number += 1;
        call.number = self.next_number;
        let place = self.free.pop().unwrap_or(self.calls.len());
        self.by_wire.insert((call.on, call.id, call.peer), place);
        if matches!(call.owner, Owner::Server(_)) {
            self.ids.insert(call.id);
        }
        if place == self.calls.len() {
            self.calls.push(None);
        }
        self.calls[place] = Some(call);
        place
    }

    /// Forgets one.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Call> {
        let call = self.calls.get_mut(place)?.take()?;
        self.by_wire.remove(&(call.on, call.id, call.peer));
        if matches!(call.owner, Owner::Server(_)) {
            self.ids.remove(&call.id);
        }
        self.free.push(place);
        Some(call)
    }

    /// A number that no session of the servers has; `None` if there are too many.
    pub(crate) fn fresh_id(&mut self) -> Option<u16> {
        if self.by_wire.len() >= MOST {
            return None;
        }
        loop {
            self.next_id = if self.next_id == 0xfffe { 1 } else { self.next_id + 1 };
            if !self.ids.contains(&self.next_id) {
                return Some(self.next_id);
            }
        }
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

    /// The open sessions.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        let places = self.calls.iter().enumerate();
        let open = places.filter_map(|(place, call)| Some((place, call.as_ref()?)));
        open.filter(|(_, call)| call.is_open()).map(|(place, call)| call.session(place)).collect()
    }
}
