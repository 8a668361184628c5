//! Sessions of PPP, and those that are to be, as they happen: whoever carries them.
//!
//! ```text
//! a carrier has given it a number ─► [Call]: its Machine talks ─► open ─► Session, for the compiler
//!     by its wire, its host, its name                              └► over: gone, its place used again
//! ```
//!
//! Looking for one takes no time by how many there are, nor does waiting: who is due next is known.

use super::dial::Binding;
use super::machine::{Machine, Phase};
use super::mppe::Mppe;
use super::users::Profile;
use crate::interface::InterfaceId;
use crate::interface::pppoe::Session;
use config::ItemId;
use hashbrown::HashTable;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use wire::{MacAddr, Moment};

/// Half-open calls of servers: more are not taken up until some are open or over.
pub(crate) const MOST_HALF_OPEN: usize = 1024;
/// Sessions there can be: each has a next hop of its own, whose number has 17 bits.
pub(crate) const MOST: usize = 120_000;
/// Where the identities of servers' sessions as items begin.
pub(crate) const ITEMS: u32 = 0xe000_0000;

/// Whose a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The client's of this item.
    Client(ItemId),
    /// The server's of this service on the call's interface.
    Server(Arc<str>),
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

/// A session, or what is to become one: there may be many, and most are open and have nothing to say. What
/// others may know of it is its [`Session`], which they share.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    session: Arc<Session>,
    pub(crate) machine: Machine,
    /// When it was opened.
    pub(crate) since: Moment,
    /// What few have, or only as long as they are not open.
    pub(crate) rest: Option<Box<Rest>>,
    /// When it is looked at again, or [`NEVER`]: [`Calls::wait`] says so.
    pub(crate) due: Moment,
}

impl Deref for Call {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

/// What few calls have, or only as long as they are not open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest {
    pub(crate) client: Option<OfClient>,
    /// What the host calls its request, to know it when it comes again.
    pub(crate) host_uniq: Vec<u8>,
    /// Of one that is encrypted.
    pub(crate) mppe: Option<Mppe>,
    /// Of one that is looked at now and then.
    pub(crate) seen: Seen,
}

/// What only a client's call has.
#[derive(Clone, Debug)]
pub(crate) struct OfClient {
    pub(crate) profile: Arc<Profile>,
    /// The distance of its default route.
    pub(crate) route: Option<u8>,
    /// `use-peer-dns`.
    pub(crate) uses_dns: bool,
    /// Of PPPoE: what the concentrator is called, and its service.
    pub(crate) ac_name: String,
    pub(crate) service: String,
}

/// What was seen of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Packets that have passed, and when that was last seen to change.
    pub(crate) passed: (u64, Moment),
    /// When RADIUS was told last.
    pub(crate) told: Moment,
}

impl Call {
    pub(crate) fn new(
        (owner, name): (Owner, &str),
        carrier: Carrier,
        machine: Machine,
        now: Moment,
    ) -> Call {
        let session = Session {
            number: 0,
            place: 0,
            half_open: matches!(owner, Owner::Server(_)),
            owner,
            name: name.into(),
            user_len: 0,
            bound: None,
            carrier,
            local: 0,
            remote: 0,
            mtu: 0,
            of_pool: [false; 2],
            terms: None,
            encrypted: false,
            route: None,
            identifiers: None,
        };
        Call { session: Arc::new(session), machine, since: now, rest: None, due: NEVER }
    }

    /// What others know of it, to be changed: who has it already keeps what it was.
    pub(crate) fn known(&mut self) -> &mut Session {
        Arc::make_mut(&mut self.session)
    }

    /// Who has logged in, or as whom the client does.
    pub(crate) fn user(&self) -> &str {
        self.machine.login().map_or(self.session.user(), |login| &login.user)
    }

    /// What it was dialled for.
    pub(crate) fn service(&self) -> &str {
        match &self.owner {
            Owner::Server(service) => service,
            Owner::Client(_) => self.client().map_or("", |client| &client.service),
        }
    }

    /// What only a client's has.
    pub(crate) fn client(&self) -> Option<&OfClient> {
        self.rest.as_ref()?.client.as_ref()
    }

    /// What the host calls its request.
    pub(crate) fn host_uniq(&self) -> &[u8] {
        self.rest.as_ref().map_or(&[], |rest| &rest.host_uniq)
    }

    /// How it is encrypted, if it is.
    pub(crate) fn mppe(&mut self) -> Option<&mut Mppe> {
        self.rest.as_mut()?.mppe.as_mut()
    }

    /// Whether it is not.
    pub(crate) fn is_plain(&self) -> bool {
        self.rest.as_ref().is_none_or(|rest| rest.mppe.is_none())
    }

    /// Encrypts it from now on.
    pub(crate) fn encrypt(&mut self, mppe: Mppe) {
        self.kept().mppe = Some(mppe);
    }

    /// Encrypts it no more.
    pub(crate) fn decrypt(&mut self) {
        self.rest = self.rest.take().map(|rest| Box::new(Rest { mppe: None, ..*rest }));
    }

    /// What was seen of it since it is open.
    pub(crate) fn seen(&mut self) -> &mut Seen {
        &mut self.kept().seen
    }

    fn kept(&mut self) -> &mut Rest {
        let seen = Seen { passed: (0, self.since), told: Moment::ZERO };
        let fresh = || Box::new(Rest { seen, ..Rest::default() });
        self.rest.get_or_insert_with(fresh)
    }

    /// It is a session now.
    pub(crate) fn begins(&mut self, now: Moment) {
        self.since = now;
        let rest = self.rest.take().filter(|rest| rest.client.is_some());
        self.rest = rest.map(|mut rest| {
            rest.seen.passed = (0, now);
            rest
        });
    }

    pub(crate) fn is_open(&self) -> bool {
        self.machine.phase() == Phase::Open
    }

    pub(crate) fn is_client(&self) -> bool {
        matches!(self.owner, Owner::Client(_))
    }

    /// What the compiler is told of it now.
    fn told(&mut self) -> Arc<Session> {
        let (local, remote) = self.machine.addresses();
        let client = self.client();
        let session = Session {
            local,
            remote,
            mtu: self.machine.mtu(),
            terms: client.map_or(self.terms.clone(), |client| Some(client.profile.terms.clone())),
            encrypted: !self.is_plain(),
            route: client.and_then(|client| client.route),
            identifiers: self.machine.identifiers().map(Box::new),
            ..Session::clone(&self.session)
        };
        if session != *self.session {
            self.session = Arc::new(session);
        }
        self.session.clone()
    }
}

/// All of them. Tables have a call's place alone: what it is found by is in the call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// By place, some in a row: room for many that are to come would be as large as all there are. Places
    /// are used again.
    rows: Vec<Vec<Option<Call>>>,
    free: Vec<u32>,
    by_wire: HashTable<u32>,
    by_name: HashTable<u32>,
    /// Those of servers by the host that called.
    by_host: HashTable<u32>,
    keys: RandomState,
    /// How many each server has, by its interface and its service.
    by_server: HashMap<(InterfaceId, Arc<str>), usize>,
    half_open: usize,
    waits: Waits,
    next_number: u64,
    /// An open session has changed since somebody asked.
    pub(crate) changed: bool,
    /// When the compiler was told last.
    pub(crate) told: Moment,
    /// The change of the configuration that was looked at.
    pub(crate) seen: u64,
}

/// Who is due when: to the nanosecond those of the seconds that have begun, by their second all others, a
/// number each. Who is due otherwise than was thought stays there, and is not taken for due when it comes.
#[derive(Clone, Debug, Default)]
struct Waits {
    soon: BTreeSet<(Moment, u32)>,
    later: BTreeMap<u64, Vec<u32>>,
    /// The first second that has not begun.
    begun: u64,
}

impl Waits {
    fn is_soon(&self, due: Moment) -> bool {
        second(due) < self.begun
    }

    /// One that was due at another time, which it has left, is due at this one.
    fn enter(&mut self, before: Moment, due: Moment, place: u32) {
        if self.is_soon(due) {
            self.soon.insert((due, place));
        } else if self.is_soon(before) || second(before) != second(due) {
            let places = self.later.entry(second(due)).or_default();
            if places.len() == places.capacity() {
                places.reserve_exact(8 + places.len() / 8);
            }
            places.push(place);
        }
    }

    fn leave(&mut self, due: Moment, place: u32) {
        if self.is_soon(due) {
            self.soon.remove(&(due, place));
        }
    }

    /// Those of the next second, which has begun by now.
    fn next_second(&mut self, now: Moment) -> Option<Vec<u32>> {
        let first = self.later.first_entry().filter(|first| *first.key() <= second(now));
        let (second, places) = first.map_or((second(now), None), |first| {
            let (second, places) = first.remove_entry();
            (second, Some(places))
        });
        self.begun = self.begun.max(second + 1);
        places
    }

    fn next(&self) -> Option<Moment> {
        let soon = self.soon.first().map(|(due, _)| *due);
        let later =
            self.later.keys().next().map(|second| Moment::ZERO + Duration::from_secs(*second));
        [soon, later].into_iter().flatten().min()
    }
}

/// The second that a moment is in.
fn second(at: Moment) -> u64 {
    at.as_nanos() / 1_000_000_000
}

/// Later than anything.
const NEVER: Moment = Moment::from_nanos(u64::MAX);
/// How many calls are in a row.
const ROW: usize = 64;

/// Enters a place into a table.
fn enter(
    table: &mut HashTable<u32>,
    rows: &[Vec<Option<Call>>],
    place: u32,
    hash: impl Fn(&Call) -> u64,
) {
    let hash = |place: &u32| {
        let row = rows.get(*place as usize / ROW);
        row.and_then(|row| row.get(*place as usize % ROW)?.as_ref()).map_or(0, &hash)
    };
    table.insert_unique(hash(&place), place, hash);
}

/// Takes one out again.
fn leave(table: &mut HashTable<u32>, hash: u64, place: usize) {
    if let Ok(entry) = table.find_entry(hash, |&other| other == place as u32) {
        entry.remove();
    }
}

impl Calls {
    /// The places of calls that there are.
    pub(crate) fn places(&self) -> Vec<usize> {
        self.iter().map(|(place, _)| place).collect()
    }

    fn iter(&self) -> impl Iterator<Item = (usize, &Call)> {
        let calls = self.rows.iter().flatten().enumerate();
        calls.filter_map(|(place, call)| Some((place, call.as_ref()?)))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Call> {
        self.rows.iter().flatten().flatten()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Call> {
        self.rows.get(place / ROW)?.get(place % ROW)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Call> {
        self.rows.get_mut(place / ROW)?.get_mut(place % ROW)?.as_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_wire.len()
    }

    /// The place of the call that a session's packet belongs to.
    pub(crate) fn find(&self, wire: Wire) -> Option<usize> {
        let is = |place: &u32| self.get(*place as usize).is_some_and(|c| c.carrier.key() == wire);
        self.by_wire.find(self.keys.hash_one(wire), is).map(|&place| place as usize)
    }

    /// The places of the calls of a host to servers.
    pub(crate) fn of_host(&self, on: InterfaceId, peer: MacAddr) -> Vec<usize> {
        let places = self.by_host.iter_hash(self.keys.hash_one(Some((on, peer))));
        let places = places.map(|&place| place as usize);
        let mut his: Vec<usize> =
            places.filter(|&at| self.get(at).and_then(host) == Some((on, peer))).collect();
        his.sort_unstable();
        his
    }

    /// How many a server has.
    pub(crate) fn of_server(&self, on: InterfaceId, service: &str) -> usize {
        self.by_server.get(&(on, service.into())).copied().unwrap_or(0)
    }

    /// How many calls of servers are not open yet.
    pub(crate) fn half_open(&self) -> usize {
        self.half_open
    }

    /// Takes a call up, which is looked at as soon as possible.
    pub(crate) fn add(&mut self, mut call: Call, now: Moment) -> usize {
        self.next_number += 1;
        let most = self.rows.iter().map(Vec::len).sum::<usize>() as u32;
        let place = self.free.pop().unwrap_or(most);
        call.due = now;
        (call.known().number, call.known().place) = (self.next_number, place);
        self.waits.enter(NEVER, now, place);
        let is_hosts = host(&call).is_some();
        if let Some(server) = server(&call) {
            *self.by_server.entry(server).or_default() += 1;
        }
        self.half_open += usize::from(call.half_open);
        if place as usize / ROW == self.rows.len() {
            self.rows.push(Vec::with_capacity(ROW));
        }
        let row = &mut self.rows[place as usize / ROW];
        if place as usize % ROW == row.len() {
            row.push(None);
        }
        row[place as usize % ROW] = Some(call);
        let Calls { rows, keys, by_wire, by_name, by_host, .. } = self;
        enter(by_wire, rows, place, |call| keys.hash_one(call.carrier.key()));
        enter(by_name, rows, place, |call| keys.hash_one(&call.name));
        if is_hosts {
            enter(by_host, rows, place, |call| keys.hash_one(host(call)));
        }
        place as usize
    }

    /// Forgets one.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Call> {
        let call = self.rows.get_mut(place / ROW)?.get_mut(place % ROW)?.take()?;
        leave(&mut self.by_wire, self.keys.hash_one(call.carrier.key()), place);
        leave(&mut self.by_name, self.keys.hash_one(&call.name), place);
        leave(&mut self.by_host, self.keys.hash_one(host(&call)), place);
        if let Some(n) = server(&call).and_then(|server| self.by_server.get_mut(&server)) {
            *n -= 1;
        }
        self.half_open -= usize::from(call.half_open);
        self.waits.leave(call.due, place as u32);
        self.free.push(place as u32);
        self.changed = true;
        Some(call)
    }

    /// It counts no more among the half-open ones.
    pub(crate) fn has_opened(&mut self, place: usize) {
        self.changed = true;
        let Some(call) = self.get_mut(place) else { return };
        let was_half_open = std::mem::take(&mut call.known().half_open);
        self.half_open -= usize::from(was_half_open);
    }

    /// Gives the call of a server its binding's name, or that of its user, which no other has: the first is
    /// without a number.
    pub(crate) fn rename(&mut self, place: usize, user: &str, bindings: &[Binding]) {
        let Some(call) = self.get(place) else { return };
        let is_his = |binding: &&Binding| {
            let is_free = self.named(&binding.name).is_none_or(|other| other == place);
            is_free && binding.is_for(user, call.service())
        };
        if let Some(binding) = bindings.iter().find(is_his) {
            let bound = Some(Box::new((binding.item, user.to_string())));
            return self.give_name(place, binding.name.as_str().into(), (0, bound));
        }
        let stem = format!("{}-{user}", call.carrier.service());
        let mut name: Arc<str> = format!("<{stem}>").into();
        let mut n = 0;
        while self.named(&name).is_some_and(|other| other != place) {
            n += 1;
            name = format!("<{stem}-{n}>").into();
        }
        self.give_name(place, name, (user.len() as u16, None));
    }

    fn give_name(
        &mut self,
        place: usize,
        name: Arc<str>,
        (user_len, bound): (u16, Option<Box<(ItemId, String)>>),
    ) {
        let Some(call) = self.get_mut(place) else { return };
        let known = call.known();
        (known.user_len, known.bound) = (user_len, bound);
        let before = std::mem::replace(&mut known.name, name);
        leave(&mut self.by_name, self.keys.hash_one(before), place);
        let Calls { rows, keys, by_name, .. } = self;
        enter(by_name, rows, place as u32, |call| keys.hash_one(&call.name));
    }

    fn named(&self, name: &str) -> Option<usize> {
        let is = |place: &u32| self.get(*place as usize).is_some_and(|call| *call.name == *name);
        self.by_name.find(self.keys.hash_one(name), is).map(|&place| place as usize)
    }

    /// When it is to be looked at again.
    pub(crate) fn wait(&mut self, place: usize, due: Option<Moment>) {
        let Some(call) = self.get_mut(place) else { return };
        let before = std::mem::replace(&mut call.due, due.unwrap_or(NEVER));
        self.waits.leave(before, place as u32);
        if let Some(due) = due {
            self.waits.enter(before, due, place as u32);
        }
    }

    /// One that is due now.
    pub(crate) fn is_due(&mut self, now: Moment) -> Option<usize> {
        while let Some(places) = self.waits.next_second(now) {
            for place in places {
                let due = self.get(place as usize).map(|call| call.due);
                self.waits
                    .soon
                    .extend(due.filter(|due| self.waits.is_soon(*due)).map(|due| (due, place)));
            }
        }
        self.waits.soon.first().filter(|(due, _)| *due <= now).map(|(_, place)| *place as usize)
    }

    /// When the next one is due, or is to be looked for.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.waits.next()
    }

    /// The open sessions.
    pub(crate) fn sessions(&mut self) -> Vec<Arc<Session>> {
        let open = self.rows.iter_mut().flatten().flatten().filter(|call| call.is_open());
        open.map(Call::told).collect()
    }
}

/// The host that has called a server.
fn host(call: &Call) -> Option<(InterfaceId, MacAddr)> {
    match (&call.owner, call.carrier) {
        (Owner::Server(_), Carrier::Pppoe { on, peer, .. }) => Some((on, peer)),
        _ => None,
    }
}

fn server(call: &Call) -> Option<(InterfaceId, Arc<str>)> {
    let Owner::Server(service) = &call.owner else { return None };
    let on = match call.carrier {
        Carrier::Pppoe { on, .. } => on,
        Carrier::L2tp { .. } | Carrier::Pptp { .. } => InterfaceId::NONE,
    };
    Some((on, service.clone()))
}
