//! Sessions of PPP, and those that are to be, as they happen: whoever carries them.
//!
//! ```text
//! a carrier has given it a number ─► [Call]: its Machine talks ─► open ─► Session, for the compiler
//!     by its wire, its host, its name                              └► over: gone, its place used again
//! ```
//!
//! Looking for one takes no time by how many there are, nor does waiting: who is due next is known.

use super::machine::{Machine, Phase};
use super::mppe::Mppe;
use super::users::{Grant, Profile};
use crate::interface::InterfaceId;
use crate::interface::pppoe::Session;
use config::ItemId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use wire::{MacAddr, Moment};

/// Half-open calls of servers: more are not taken up until some are open or over.
pub(crate) const MOST_HALF_OPEN: usize = 1024;
/// Sessions there can be, of a number's 16 bits.
pub(crate) const MOST: usize = 60_000;
/// Where the identities of servers' sessions as items begin.
pub(crate) const ITEMS: u32 = 0xe000_0000;

/// Whose a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The client's of this item.
    Client(ItemId),
    /// The server's of this service on the call's interface.
    Server(String),
}

/// What carries a call's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Carrier {
    /// Frames of this interface, with this number, to and from this host.
    Pppoe { on: InterfaceId, id: u16, peer: MacAddr },
    /// A tunnel of L2TP, by its number here, and the session's in it: here and at the other end.
    L2tp { tunnel: u16, id: u16, peer_id: u16, peer: u32 },
    /// A call of PPTP, by its number here, between this address of ours and the other end's.
    Pptp { id: u16, own: u32, peer: u32 },
}

impl Carrier {
    /// As `/ppp active` has it.
    pub(crate) fn service(&self) -> &'static str {
        match self {
            Carrier::Pppoe { .. } => "pppoe",
            Carrier::L2tp { .. } => "l2tp",
            Carrier::Pptp { .. } => "pptp",
        }
    }

    /// From where somebody calls.
    pub(crate) fn caller(&self) -> String {
        match self {
            Carrier::Pppoe { peer, .. } => peer.to_string(),
            Carrier::L2tp { peer, .. } | Carrier::Pptp { peer, .. } => {
                std::net::Ipv4Addr::from(*peer).to_string()
            }
        }
    }

    /// What its packets are found by.
    fn key(&self) -> Wire {
        match *self {
            Carrier::Pppoe { on, id, peer } => Wire::Pppoe(on, id, peer),
            Carrier::L2tp { tunnel, id, .. } => Wire::L2tp(tunnel, id),
            Carrier::Pptp { id, .. } => Wire::Pptp(id),
        }
    }
}

/// What a session's packets are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wire {
    Pppoe(InterfaceId, u16, MacAddr),
    L2tp(u16, u16),
    Pptp(u16),
}

/// A session, or what is to become one.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) owner: Owner,
    pub(crate) carrier: Carrier,
    pub(crate) machine: Machine,
    /// When it was opened.
    pub(crate) since: Moment,
    /// The name of its interface; of a server's that nobody has logged in to, of its number.
    pub(crate) name: String,
    pub(crate) grant: Option<Arc<Grant>>,
    /// A client's profile.
    pub(crate) profile: Option<Arc<Profile>>,
    /// A client's default route: its distance.
    pub(crate) route: Option<u8>,
    /// A client's `use-peer-dns`.
    pub(crate) uses_dns: bool,
    /// What the host calls its request, to know it when it comes again.
    pub(crate) host_uniq: Vec<u8>,
    /// Of a client: what the concentrator is called, and its service.
    pub(crate) ac_name: String,
    pub(crate) service: String,
    pub(crate) mppe: Option<Box<Mppe>>,
    /// Packets that have passed, and when that was last seen to change.
    pub(crate) passed: (u64, Moment),
    /// When RADIUS was told last.
    pub(crate) told: Moment,
    /// It counts among the half-open ones.
    pub(crate) half_open: bool,
    /// When it is looked at again: [`Calls::wait`] says so.
    pub(crate) due: Option<Moment>,
}

impl Call {
    pub(crate) fn new(owner: Owner, carrier: Carrier, machine: Machine, now: Moment) -> Call {
        Call {
            number: 0,
            half_open: matches!(owner, Owner::Server(_)),
            owner,
            carrier,
            machine,
            since: now,
            name: String::new(),
            grant: None,
            profile: None,
            route: None,
            uses_dns: false,
            host_uniq: Vec::new(),
            ac_name: String::new(),
            service: String::new(),
            mppe: None,
            passed: (0, now),
            told: Moment::ZERO,
            due: None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.machine.phase() == Phase::Open
    }

    pub(crate) fn is_client(&self) -> bool {
        matches!(self.owner, Owner::Client(_))
    }

    /// What its interface is, as an item.
    pub(crate) fn item(&self, place: usize) -> ItemId {
        match self.owner {
            Owner::Client(item) => item,
            Owner::Server(_) => ItemId(ITEMS + place as u32),
        }
    }

    /// What the compiler is told of it.
    fn session(&self, place: usize) -> Session {
        let (local, remote) = self.machine.addresses();
        let (on, id, peer) = match self.carrier {
            Carrier::Pppoe { on, id, peer } => (on, id, peer),
            Carrier::L2tp { id, .. } | Carrier::Pptp { id, .. } => {
                (InterfaceId::NONE, id, MacAddr::default())
            }
        };
        let granted = self.grant.as_ref().map(|grant| &grant.terms);
        let terms = granted.or(self.profile.as_ref().map(|profile| &profile.terms));
        Session {
            number: self.number,
            place: place as u32,
            item: self.item(place),
            name: self.name.clone(),
            on,
            id,
            peer,
            carrier: self.carrier,
            local,
            remote,
            mtu: self.machine.mtu(),
            clamps_mss: terms.is_some_and(|terms| terms.clamps_mss),
            scripts: terms.map(|terms| terms.scripts.clone()).unwrap_or_default(),
            encrypted: self.mppe.is_some(),
            route: self.route,
            grant: self.grant.clone(),
            identifiers: self.machine.identifiers(),
        }
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// Places are used again.
    calls: Vec<Option<Call>>,
    free: Vec<usize>,
    by_wire: HashMap<Wire, usize>,
    by_name: HashMap<String, usize>,
    /// Those of servers by the host that called.
    by_host: HashMap<(InterfaceId, MacAddr), Vec<usize>>,
    /// How many each server has, by its interface and its service.
    by_server: HashMap<(InterfaceId, String), usize>,
    half_open: usize,
    due: BTreeSet<(Moment, usize)>,
    next_number: u64,
    /// An open session has changed since somebody asked.
    pub(crate) changed: bool,
    /// When the compiler was told last.
    pub(crate) told: Moment,
    /// The change of the configuration that was looked at.
    pub(crate) seen: u64,
}

impl Calls {
    /// The places of calls that there are.
    pub(crate) fn places(&self) -> Vec<usize> {
        (0..self.calls.len()).filter(|&place| self.calls[place].is_some()).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().flatten()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Call> {
        self.calls.get(place)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Call> {
        self.calls.get_mut(place)?.as_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_wire.len()
    }

    /// The place of the call that a session's packet belongs to.
    pub(crate) fn find(&self, wire: Wire) -> Option<usize> {
        self.by_wire.get(&wire).copied()
    }

    /// The places of the calls of a host to servers.
    pub(crate) fn of_host(&self, on: InterfaceId, peer: MacAddr) -> Vec<usize> {
        self.by_host.get(&(on, peer)).cloned().unwrap_or_default()
    }

    /// How many a server has.
    pub(crate) fn of_server(&self, on: InterfaceId, service: &str) -> usize {
        self.by_server.get(&(on, service.to_string())).copied().unwrap_or(0)
    }

    /// How many calls of servers are not open yet.
    pub(crate) fn half_open(&self) -> usize {
        self.half_open
    }

    /// Takes a call up, which is looked at as soon as possible.
    pub(crate) fn add(&mut self, mut call: Call, now: Moment) -> usize {
        self.next_number += 1;
        (call.number, call.due) = (self.next_number, Some(now));
        let place = self.free.pop().unwrap_or(self.calls.len());
        self.due.insert((now, place));
        self.by_wire.insert(call.carrier.key(), place);
        if let Some(host) = host(&call) {
            self.by_host.entry(host).or_default().push(place);
        }
        if let Some(server) = server(&call) {
            *self.by_server.entry(server).or_default() += 1;
        }
        self.half_open += usize::from(call.half_open);
        self.by_name.insert(call.name.clone(), place);
        if place == self.calls.len() {
            self.calls.push(None);
        }
        self.calls[place] = Some(call);
        place
    }

    /// Forgets one.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Call> {
        let call = self.calls.get_mut(place)?.take()?;
        self.by_wire.remove(&call.carrier.key());
        self.by_name.remove(&call.name);
        if let Some(host) = host(&call)
            && let Some(places) = self.by_host.get_mut(&host)
        {
            places.retain(|&other| other != place);
            if places.is_empty() {
                self.by_host.remove(&host);
            }
        }
        if let Some(n) = server(&call).and_then(|server| self.by_server.get_mut(&server)) {
            *n -= 1;
        }
        self.half_open -= usize::from(call.half_open);
        if let Some(due) = call.due {
            self.due.remove(&(due, place));
        }
        self.free.push(place);
        self.changed = true;
        Some(call)
    }

    /// It counts no more among the half-open ones.
    pub(crate) fn has_opened(&mut self, place: usize) {
        self.changed = true;
        let Some(call) = self.calls.get_mut(place).and_then(Option::as_mut) else { return };
        self.half_open -= usize::from(std::mem::take(&mut call.half_open));
    }

    /// Gives a call a name that no other has: the first is without a number.
    pub(crate) fn rename(&mut self, place: usize, stem: &str) {
        let mut name = format!("<{stem}>");
        let mut n = 0;
        while self.by_name.get(&name).is_some_and(|&other| other != place) {
            n += 1;
            name = format!("<{stem}-{n}>");
        }
        let Some(call) = self.calls.get_mut(place).and_then(Option::as_mut) else { return };
        self.by_name.remove(&call.name);
        self.by_name.insert(name.clone(), place);
        call.name = name;
    }

    /// When it is to be looked at again.
    pub(crate) fn wait(&mut self, place: usize, due: Option<Moment>) {
        let Some(call) = self.calls.get_mut(place).and_then(Option::as_mut) else { return };
        if let Some(before) = std::mem::replace(&mut call.due, due) {
            self.due.remove(&(before, place));
        }
        self.due.extend(due.map(|due| (due, place)));
    }

    /// One that is due now.
    pub(crate) fn is_due(&self, now: Moment) -> Option<usize> {
        self.due.first().filter(|(due, _)| *due <= now).map(|(_, place)| *place)
    }

    /// When the next one is due.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The open sessions.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        let places = self.calls.iter().enumerate();
        let open = places.filter_map(|(place, call)| Some((place, call.as_ref()?)));
        open.filter(|(_, call)| call.is_open()).map(|(place, call)| call.session(place)).collect()
    }
}

/// The host that has called a server.
fn host(call: &Call) -> Option<(InterfaceId, MacAddr)> {
    match (&call.owner, call.carrier) {
        (Owner::Server(_), Carrier::Pppoe { on, peer, .. }) => Some((on, peer)),
        _ => None,
    }
}

fn server(call: &Call) -> Option<(InterfaceId, String)> {
    let Owner::Server(service) = &call.owner else { return None };
    let on = match call.carrier {
        Carrier::Pppoe { on, .. } => on,
        Carrier::L2tp { .. } | Carrier::Pptp { .. } => InterfaceId::NONE,
    };
    Some((on, service.clone()))
}
