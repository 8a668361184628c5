//! Neighbours: who answers for an address on an interface, and the frames that wait for the answer.
//!
//! ```text
//!            packet                 reply                    arp-timeout, used since
//!  (none) ──────────► incomplete ──────────► reachable ──────────────────────────► probe
//!                        │ 3 requests           ▲  │ arp-timeout, not used           │ │
//!                        ▼ unanswered           │  ▼                         reply   │ │ 3 unanswered
//!                      failed: gone             │ gone                 ◄─────────────┘ ▼
//!                      (waiting frames          └───────────────────────────────   failed: gone
//!                       are answered by ICMP host unreachable)
//! ```
//!
//! What is written in front of a packet for a neighbour is its [`Rewrite`], in the same place: the
//! fast path reads only that. While a neighbour is probed its address stays known, so refreshing
//! costs no packet.
//!
//! IPv6 (RFC 4861) has the same entries and two more states: what was reachable becomes stale, and is
//! asked again, by `delay` and `probe`, only when it is used.
//!
//! Under a scan of a network with 2^64 addresses (RFC 6583) those that nobody has answered for yet take up
//! a quarter of the table at most: the oldest of them makes room, neighbours who have answered stay. In a table
//! that is full of these, the one that has been stale for longest makes room.
//!
//! Never sends: [`Neighbours::tick`] and [`Neighbours::want`] say which requests are due.

// Those that somebody else knows; what IPv6's say of themselves; those of packets with a label.
mod fed;
mod heard;
mod labelled;

pub use fed::FedNeighbour;
pub(crate) use heard::Heard;
pub(crate) use labelled::Labels;

use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::interface::rewrite::Rewrite;
use crate::ip::family::Family;
use labelled::Labelled;
use port::Frame;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;
use wire::{MacAddr, Moment};

/// A neighbour's place; 0 names none. Places are used again, see [`Neighbours::take_removed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeighbourId(pub u32);

impl NeighbourId {
    /// No neighbour.
    pub const NONE: NeighbourId = NeighbourId(0);

    /// As an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One row of `/ip arp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour<A: Family = u32> {
    /// Where it is.
    pub interface: InterfaceId,
    /// Its address.
    pub address: A,
    /// Its MAC address, if it is known.
    pub mac: Option<MacAddr>,
    /// Where it stands.
    pub status: Status,
    /// When it was last used, coarsely: [`Moment::as_millis_u32`].
    pub used_ms: u32,
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Asked, not answered yet.
    Incomplete,
    /// Answered within arp-timeout.
    Reachable,
    /// Not sure any more, and not used since (IPv6).
    Stale,
    /// Used since: somebody else may confirm it before it is asked again (IPv6).
    Delay,
    /// Asked again; the old answer is still used.
    Probe,
    /// Somebody else looks after it.
    Fed,
    /// Typed by the user.
    Permanent,
    /// Entered by a DHCP server, until its lease ends: nobody else has the address.
    Leased,
    /// The one neighbour of an interface that leads to nobody else, and has no addresses but IP's.
    OtherEnd,
    /// Not one by itself: another's, behind a label.
    Labelled,
}

impl Status {
    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Incomplete => "incomplete",
            Status::Reachable | Status::Fed => "reachable",
            Status::Stale => "stale",
            Status::Delay => "delay",
            Status::Probe => "probe",
            Status::Permanent | Status::Leased | Status::OtherEnd | Status::Labelled => "permanent",
        }
    }
}

/// A frame that waits for an answer.
#[derive(Debug)]
pub struct Waiting {
    /// The frame, its IP header ready to go.
    pub frame: Frame,
    /// Where it came from; [`InterfaceId::NONE`] if the router itself sent it.
    pub in_interface: InterfaceId,
    /// The interfaces it came through.
    pub(crate) ingress: IngressId,
    /// Offset of its IP header.
    pub l3: u16,
    /// Whether it arrived by FastPath.
    pub fast: bool,
    /// Whether FastTrack brought it here: counted there, not as FastPath.
    pub fasttrack: bool,
    /// How deep in tunnels it lies.
    pub(crate) depth: u8,
    /// Its packet mark, which interfaces' trees look at.
    pub(crate) mark: Mark,
    /// What stands, or will stand, between Ethernet's header and IP's.
    pub(crate) labels: Labels,
}

#[derive(Debug)]
struct Entry {
    status: Status,
    /// Its MAC address, once it has answered.
    mac: Option<MacAddr>,
    tries: u8,
    /// When it was asked first.
    asked: Moment,
    deadline: Moment,
    waiting: VecDeque<Waiting>,
    /// What it was fed last.
    fed: Option<MacAddr>,
    /// When that was told last.
    told: u32,
}

impl Entry {
    /// Nothing is known yet.
    const NEW: Entry = Entry {
        status: Status::Incomplete,
        mac: None,
        tries: 0,
        asked: Moment::ZERO,
        deadline: Moment::ZERO,
        waiting: VecDeque::new(),
        fed: None,
        told: 0,
    };
}

/// A request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<A: Family = u32> {
    /// Where to ask.
    pub interface: InterfaceId,
    /// For whom.
    pub address: A,
    /// Whom to ask: nobody in particular ([`Family::everybody`]), or the one who answered last.
    pub to: MacAddr,
}

/// What has become due.
#[derive(Debug)]
pub struct Due<A: Family = u32> {
    /// Requests to send.
    pub requests: Vec<Request<A>>,
    /// Frames whose neighbour did not answer.
    pub failed: Vec<Waiting>,
}

/// Where to send a packet now.
#[derive(Debug, PartialEq, Eq)]
pub enum Want<A: Family = u32> {
    /// Its MAC address is known.
    Ready(NeighbourId),
    /// The frame must wait ([`Neighbours::wait`]); the request, if one is due, goes out now.
    Wait(NeighbourId, Option<Request<A>>),
    /// `max-neighbor-entries` is reached.
    Full,
}

/// From the first use of a stale neighbour to the first request (RFC 4861 §10).
const DELAY: Duration = Duration::from_secs(5);
/// How long a stale neighbour is kept that nobody uses.
const STALE: Duration = Duration::from_secs(600);
/// Between two requests, and before a failure.
const RETRANSMIT: Duration = Duration::from_secs(1);
/// Requests before giving up (RFC 1122 §2.3.2.1 leaves the number open; Linux sends 3).
const TRIES: u8 = 3;
/// Of so many places of the table one is for those that have not answered yet (IPv6).
const UNRESOLVED: usize = 4;
/// Frames that wait for one neighbour; an older one makes room for a newer (RFC 1122 §2.3.2.2).
const WAITING: usize = 64;

/// The neighbours of all interfaces: `/ip arp`, `/ipv6 neighbor`.
#[derive(Debug)]
pub struct Neighbours<A: Family = u32> {
    rewrites: Vec<Rewrite<A>>,
    entries: Vec<Entry>,
    /// Open addressing by (interface, address): places, 0 is empty. Never more than half full.
    index: Vec<NeighbourId>,
    free: Vec<NeighbourId>,
    /// Their places for packets with a label.
    labelled: Labelled,
    deadlines: BTreeSet<(Moment, NeighbourId)>,
    live: usize,
    /// Of these, other ends: `max_entries` does not count them.
    ends: usize,
    /// Those that have not answered yet, the oldest first, and those that meanwhile have.
    unresolved: VecDeque<(NeighbourId, Moment)>,
    /// Those that nobody uses, by when they are forgotten, and those that meanwhile somebody has used.
    stale: VecDeque<(NeighbourId, Moment)>,
    /// What waited for those that had to make room.
    evicted: Vec<Waiting>,
    removed: bool,
    /// How often neighbours were fed.
    round: u32,
    /// `max-neighbor-entries`.
    pub max_entries: usize,
    /// `arp-timeout`.
    pub timeout: Duration,
    /// That of interfaces with one of their own.
    pub timeouts: HashMap<InterfaceId, Duration>,
}

impl<A: Family> Default for Neighbours<A> {
    fn default() -> Neighbours<A> {
        Neighbours {
            rewrites: vec![Rewrite::default()],
            entries: vec![Entry::NEW],
            index: vec![NeighbourId::NONE; 1024],
            free: Vec::new(),
            labelled: Labelled::default(),
            deadlines: BTreeSet::new(),
            live: 0,
            unresolved: VecDeque::new(),
            stale: VecDeque::new(),
            evicted: Vec::new(),
            ends: 0,
            removed: false,
            round: 0,
            max_entries: 8192,
            timeout: Duration::from_secs(30),
            timeouts: HashMap::new(),
        }
    }
}

impl<A: Family> Neighbours<A> {
    /// The same neighbours in the same places, for whom nothing waits and nothing is due: for a
    /// trial.
    pub(crate) fn trial(&self) -> Neighbours<A> {
        let entry = |entry: &Entry| Entry { waiting: VecDeque::new(), ..*entry };
        Neighbours {
            rewrites: self.rewrites.clone(),
            entries: self.entries.iter().map(entry).collect(),
            index: self.index.clone(),
            free: self.free.clone(),
            labelled: self.labelled.clone(),
            deadlines: BTreeSet::new(),
            live: self.live,
            unresolved: VecDeque::new(),
            stale: self.stale.clone(),
            evicted: Vec::new(),
            ends: self.ends,
            removed: false,
            round: self.round,
            max_entries: self.max_entries,
            timeout: self.timeout,
            timeouts: self.timeouts.clone(),
        }
    }

    /// Takes all frames that wait.
    pub(crate) fn take_waiting(&mut self) -> impl Iterator<Item = Waiting> {
        let evicted = std::mem::take(&mut self.evicted);
        let entries = self.entries.iter_mut();
        entries.flat_map(|entry| std::mem::take(&mut entry.waiting)).chain(evicted)
    }

    /// The rewrite; empty for `NONE`.
    #[inline]
    pub fn rewrite(&self, id: NeighbourId) -> &Rewrite<A> {
        &self.rewrites[id.index()]
    }

    /// The neighbour's MAC address, if it is known.
    #[inline]
    pub fn mac(&self, id: NeighbourId) -> Option<MacAddr> {
        self.entries[id.index()].mac
    }

    /// Where an entry stands.
    pub fn status(&self, id: NeighbourId) -> Status {
        self.entries[id.index()].status
    }

    /// All rewrites by place, to resolve them and note their use.
    #[inline]
    pub(crate) fn rewrites_mut(&mut self) -> &mut [Rewrite<A>] {
        &mut self.rewrites
    }

    /// Forgets what is written in front of packets: the interfaces have changed.
    pub(crate) fn forget_rewrites(&mut self) {
        self.rewrites.iter_mut().for_each(Rewrite::clear);
    }

    /// The entry for an address on an interface.
    #[inline]
    pub fn find(&self, interface: InterfaceId, address: A) -> Option<NeighbourId> {
        let mut at = self.slot(interface, address);
        loop {
            let id = self.index[at];
            if id == NeighbourId::NONE {
                return None;
            }
            let rewrite = &self.rewrites[id.index()];
            if rewrite.address == address && rewrite.interface() == interface {
                return Some(id);
            }
            at = (at + 1) & (self.index.len() - 1);
        }
    }

    /// Where to send to `address` on `interface` now, beginning to ask if nobody has yet.
    pub fn want(&mut self, now: Moment, interface: InterfaceId, address: A) -> Want<A> {
        if let Some(id) = self.find(interface, address) {
            if self.mac(id).is_some() {
                if A::LINGERS && self.status(id) == Status::Stale {
                    self.entries[id.index()].status = Status::Delay;
                    self.schedule(id, now + DELAY);
                }
                return Want::Ready(id);
            }
            return Want::Wait(id, None);
        }
        if A::LINGERS {
            self.make_room();
        }
        let Some(id) = self.create(interface, address) else { return Want::Full };
        self.entries[id.index()].tries = 1;
        self.entries[id.index()].asked = now;
        if A::LINGERS {
            self.unresolved.push_back((id, now));
        }
        self.schedule(id, now + RETRANSMIT);
        let to = address.everybody();
        Want::Wait(id, Some(Request { interface, address, to }))
    }

    /// Lets the oldest of too many that have not answered yet go.
    fn make_room(&mut self) {
        let most = (self.max_entries / UNRESOLVED).max(1);
        while self.unresolved.len() >= most {
            let Some((id, asked)) = self.unresolved.pop_front() else { break };
            let entry = &self.entries[id.index()];
            let is_same = self.rewrites[id.index()].interface().is_some() && entry.asked == asked;
            if is_same && entry.status == Status::Incomplete {
                let waiting = self.remove(id);
                self.evicted.extend(waiting);
            }
        }
    }

    /// The one neighbour of an interface that leads to nobody else: its rewrite follows from the interface.
    pub(crate) fn other_end(&mut self, interface: InterfaceId) -> NeighbourId {
        if let Some(id) = self.find(interface, A::default()) {
            return id;
        }
        let id = self.make(interface, A::default());
        self.ends += 1;
        let entry = &mut self.entries[id.index()];
        (entry.status, entry.mac) = (Status::OtherEnd, Some(MacAddr::default()));
        id
    }

    /// Keeps a frame until the neighbour answers; returns the one that had to make room.
    pub fn wait(&mut self, id: NeighbourId, waiting: Waiting) -> Option<Waiting> {
        let queue = &mut self.entries[id.index()].waiting;
        queue.push_back(waiting);
        if queue.len() > WAITING { queue.pop_front() } else { None }
    }

    /// Takes in what an ARP packet said; `create` if the entry is to be made when there is none
    /// (the packet was for us, RFC 826). Returns the frames that waited for it, now sendable.
    pub fn learn(
        &mut self,
        now: Moment,
        interface: InterfaceId,
        address: A,
        mac: MacAddr,
        create: bool,
    ) -> (NeighbourId, VecDeque<Waiting>) {
        let id = match self.find(interface, address) {
            Some(id) => id,
            None if create => match self.create(interface, address) {
                Some(id) => id,
                None => return (NeighbourId::NONE, VecDeque::new()),
            },
            None => return (NeighbourId::NONE, VecDeque::new()),
        };
        let status = self.entries[id.index()].status;
        if matches!(status, Status::Permanent | Status::Leased)
            || (status == Status::Fed && self.mac(id) == Some(mac))
        {
            return (id, VecDeque::new());
        }
        self.confirm(id, mac);
        self.complete(id, mac);
        self.entries[id.index()].status = Status::Reachable;
        self.schedule(id, now + self.timeout_at(interface));
        (id, std::mem::take(&mut self.entries[id.index()].waiting))
    }

    /// How long an answer on an interface is believed.
    fn timeout_at(&self, interface: InterfaceId) -> Duration {
        self.timeouts.get(&interface).copied().unwrap_or(self.timeout)
    }

    /// Enters whom a DHCP server has given an address, for as long as the lease lasts. Returns the frames
    /// that waited.
    pub(crate) fn lease(
        &mut self,
        interface: InterfaceId,
        address: A,
        mac: MacAddr,
        ends: Moment,
    ) -> VecDeque<Waiting> {
        let id = self.find(interface, address).or_else(|| self.create(interface, address));
        let Some(id) = id.filter(|&id| self.status(id) != Status::Permanent) else {
            return VecDeque::new();
        };
        self.complete(id, mac);
        self.entries[id.index()].status = Status::Leased;
        self.schedule(id, ends);
        std::mem::take(&mut self.entries[id.index()].waiting)
    }

    /// Lets whom a DHCP server entered go: the lease has ended early.
    pub(crate) fn end_lease(&mut self, now: Moment, interface: InterfaceId, address: A) {
        let id = self.find(interface, address);
        if let Some(id) = id.filter(|&id| self.status(id) == Status::Leased) {
            self.schedule(id, now);
        }
    }

    /// Enters what the user typed in `/ip arp`.
    pub fn set_permanent(&mut self, interface: InterfaceId, address: A, mac: MacAddr) {
        let Some(id) = self.find(interface, address).or_else(|| self.create(interface, address))
        else {
            return;
        };
        self.complete(id, mac);
        self.unschedule(id);
        self.entries[id.index()].status = Status::Permanent;
    }

    /// Removes entries `keep` says no to (an interface is gone, its MAC changed); their waiting
    /// frames are returned.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(&Rewrite<A>, Status) -> bool,
    ) -> VecDeque<Waiting> {
        let mut orphans = VecDeque::new();
        for at in 1..self.entries.len() {
            let id = NeighbourId(at as u32);
            let rewrite = self.rewrites[at];
            // A labelled one goes with whose it is.
            let is_one =
                rewrite.interface().is_some() && self.entries[at].status != Status::Labelled;
            if is_one && !keep(&rewrite, self.entries[at].status) {
                orphans.append(&mut self.remove(id));
            }
        }
        orphans
    }

    /// Does what has become due: asks again, gives up, forgets.
    pub fn tick(&mut self, now: Moment) -> Due<A> {
        let mut due = Due { requests: Vec::new(), failed: std::mem::take(&mut self.evicted) };
        while let Some(&(deadline, id)) = self.deadlines.first() {
            if deadline > now {
                break;
            }
            self.deadlines.pop_first();
            let at = id.index();
            let timeout = self.timeout_at(self.rewrites[at].interface());
            let idle = self.idle_ms(id, now.as_millis_u32());
            let used_lately = u64::from(idle) <= timeout.as_millis() as u64;
            match self.entries[at].status {
                Status::Permanent | Status::Fed | Status::OtherEnd | Status::Labelled => {}
                Status::Reachable if A::LINGERS => self.become_stale(now, id),
                Status::Stale | Status::Leased => drop(self.remove(id)),
                Status::Reachable if !used_lately => drop(self.remove(id)),
                Status::Reachable | Status::Delay => {
                    self.entries[at].status = Status::Probe;
                    self.entries[at].tries = 0;
                    self.ask_again(now, id, &mut due);
                }
                Status::Incomplete | Status::Probe if self.entries[at].tries < TRIES => {
                    self.ask_again(now, id, &mut due);
                }
                Status::Incomplete | Status::Probe => due.failed.extend(self.remove(id)),
            }
        }
        due
    }

    /// When [`tick`](Self::tick) has something to do next.
    pub fn next_deadline(&self) -> Option<Moment> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// Whether an entry was removed since the last call: whoever remembers places must forget
    /// them before the next frame comes, for they will be used again.
    pub fn take_removed(&mut self) -> bool {
        std::mem::take(&mut self.removed)
    }

    /// All entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Neighbour<A>> {
        let entries = self.rewrites.iter().zip(&self.entries).skip(1);
        let is_shown = |status| !matches!(status, Status::OtherEnd | Status::Labelled);
        let entries = entries.filter(move |(_, entry)| is_shown(entry.status));
        entries.filter(|(rewrite, _)| rewrite.interface().is_some()).map(|(rewrite, entry)| {
            let Rewrite { address, used_ms, .. } = *rewrite;
            let interface = rewrite.interface();
            Neighbour { interface, address, mac: entry.mac, status: entry.status, used_ms }
        })
    }

    /// Frames that wait, over all entries.
    pub fn waiting(&self) -> usize {
        self.entries.iter().map(|entry| entry.waiting.len()).sum::<usize>() + self.evicted.len()
    }

    fn ask_again(&mut self, now: Moment, id: NeighbourId, due: &mut Due<A>) {
        let rewrite = self.rewrites[id.index()];
        let entry = &mut self.entries[id.index()];
        entry.tries += 1;
        // The first probes go to the one who answered last, so that a flood of them disturbs
        // nobody else (RFC 1122 §2.3.2.1); the last one asks everybody.
        let unicast = entry.status == Status::Probe && (entry.tries < TRIES || A::LINGERS);
        let (interface, address) = (rewrite.interface(), rewrite.address);
        let to = entry.mac.filter(|_| unicast).unwrap_or(address.everybody());
        due.requests.push(Request { interface, address, to });
        self.schedule(id, now + RETRANSMIT);
    }

    fn complete(&mut self, id: NeighbourId, mac: MacAddr) {
        if self.entries[id.index()].mac.replace(mac) != Some(mac) {
            self.rewrites[id.index()].clear();
            self.relabel(id);
        }
    }

    fn schedule(&mut self, id: NeighbourId, deadline: Moment) {
        self.unschedule(id);
        self.entries[id.index()].deadline = deadline;
        self.deadlines.insert((deadline, id));
    }

    fn unschedule(&mut self, id: NeighbourId) {
        self.deadlines.remove(&(self.entries[id.index()].deadline, id));
    }

    /// Nobody knows whether it is still there, until somebody asks for it.
    fn become_stale(&mut self, now: Moment, id: NeighbourId) {
        let until = now + STALE;
        self.entries[id.index()].status = Status::Stale;
        // Whoever uses it has to come by `want`.
        self.rewrites[id.index()].clear();
        self.schedule(id, until);
        self.stale.push_back((id, until));
        while self.stale.front().is_some_and(|&old| !self.is_stale(old)) {
            self.stale.pop_front();
        }
    }

    fn is_stale(&self, (id, until): (NeighbourId, Moment)) -> bool {
        let entry = &self.entries[id.index()];
        let is_there = self.rewrites[id.index()].interface().is_some();
        is_there && entry.status == Status::Stale && entry.deadline == until
    }

    /// Forgets whom nobody has used for longest; whether there was one.
    fn forget_stale(&mut self) -> bool {
        while let Some(oldest) = self.stale.pop_front() {
            if self.is_stale(oldest) {
                drop(self.remove(oldest.0));
                return true;
            }
        }
        false
    }

    /// A full table has room as long as there is somebody in it whom nobody uses.
    fn create(&mut self, interface: InterfaceId, address: A) -> Option<NeighbourId> {
        while self.live - self.ends >= self.max_entries {
            if !self.forget_stale() {
                return None;
            }
        }
        Some(self.make(interface, address))
    }

    fn make(&mut self, interface: InterfaceId, address: A) -> NeighbourId {
        self.live += 1;
        if self.live * 2 > self.index.len() {
            self.grow();
        }
        let id = self.put(Entry::NEW, Rewrite::of(interface, address));
        self.enter(id);
        id
    }

    /// Gives an entry a place.
    fn put(&mut self, entry: Entry, rewrite: Rewrite<A>) -> NeighbourId {
        match self.free.pop() {
            Some(id) => {
                self.entries[id.index()] = entry;
                self.rewrites[id.index()] = rewrite;
                id
            }
            None => {
                self.entries.push(entry);
                self.rewrites.push(rewrite);
                NeighbourId(self.entries.len() as u32 - 1)
            }
        }
    }

    fn remove(&mut self, id: NeighbourId) -> VecDeque<Waiting> {
        self.unschedule(id);
        self.removed = true;
        self.unlabel(id);
        let old = std::mem::take(&mut self.rewrites[id.index()]);
        self.live -= 1;
        self.ends -= usize::from(self.status(id) == Status::OtherEnd);
        self.free.push(id);
        // Backward-shift deletion: whatever stands behind the hole and wants to be before it moves.
        let mask = self.index.len() - 1;
        let mut hole = self.slot(old.interface(), old.address);
        while self.index[hole] != id {
            hole = (hole + 1) & mask;
        }
        self.index[hole] = NeighbourId::NONE;
        let mut at = (hole + 1) & mask;
        while self.index[at] != NeighbourId::NONE {
            let moved = self.index[at];
            self.index[at] = NeighbourId::NONE;
            self.enter(moved);
            at = (at + 1) & mask;
        }
        std::mem::take(&mut self.entries[id.index()].waiting)
    }

    fn enter(&mut self, id: NeighbourId) {
        let rewrite = &self.rewrites[id.index()];
        let mut at = self.slot(rewrite.interface(), rewrite.address);
        while self.index[at] != NeighbourId::NONE {
            at = (at + 1) & (self.index.len() - 1);
        }
        self.index[at] = id;
    }

    fn grow(&mut self) {
        let size = self.index.len() * 2;
        let old = std::mem::replace(&mut self.index, vec![NeighbourId::NONE; size]);
        for id in old.into_iter().filter(|&id| id != NeighbourId::NONE) {
            self.enter(id);
        }
    }

    #[inline]
    fn slot(&self, interface: InterfaceId, address: A) -> usize {
        let key = address.mix() ^ u64::from(interface.0);
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize & (self.index.len() - 1)
    }
}
