//! `sync-connection-tracking`: what a master tells its backups of connections, and what a backup was told.
//!
//! ```text
//! master: table of connections ─► [Book::scan], a slice each 2 ms ─► records ─► datagrams, to each peer
//!                                    ▲ slots: what was told, and when
//! backup: a hello each second ─► the master: a peer, and by its number a request for all
//!         datagrams ─► [Book::take] ─► connections;  slots: who has told of them, and when
//! ```
//!
//! The table is looked through again and again, so that packets need not say what they change: what differs
//! from what was told is told within 100 ms, in larger tables after a pass; what does not
//! is told again after a quarter of its timeout, at the latest after 15 s. So whatever was lost heals: what is
//! not told of for 60 s is forgotten. A slot for each connection is kept beside the table, and only while
//! something is synchronized.
//!
//! What was seen here later than by who tells of it stays as it is. What was told of and is not used here is
//! not told on, until whoever told of it is master no more.
//!
//! Never: reads a clock, sends (`flow::vrrp_sync` does), costs a packet anything.
//! Missing: **a proof of who speaks** (a source's address, and its TTL, are all there is); **helpers**: who was
//! announced and has not come yet, and connections whose text was rewritten.

// What is known of each connection.
mod book;

use super::Vrrp;
use crate::firewall::connection::Connections;
use crate::firewall::mark::Mark;
use crate::interface::InterfaceId;
use crate::ip::family::Family;
use crate::program::Program;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;
use wire::Moment;
use wire::vrrp_sync::{self, Header, State};

use book::{Book, Teller};

/// How often something is looked at while something is synchronized.
pub(crate) const TICK: Duration = Duration::from_millis(2);
/// How often the other one hears something, if only that somebody is there.
pub(crate) const HELLO: Duration = Duration::from_secs(1);
/// After that silence it is not there.
pub(crate) const SILENT: Duration = Duration::from_secs(5);
/// How long a backup that has not got all connections yet leaves a worse master where it is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Backups of one master.
pub(crate) const PEERS: usize = 8;
/// Between the beginnings of two passes through the table: of a master, and of a backup, which only forgets.
const PASS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// All that there is to know.
pub(crate) struct Synchronized {
    /// When something is to be looked at.
    pub(crate) due: Moment,
    pub(crate) peerings: Vec<Peering>,
    pub(crate) v4: Book<u32>,
    pub(crate) v6: Book<u128>,
    /// The pass through the tables: when it began, and whether it has ended.
    pass: (Moment, bool),
    /// Which request for all connections holds; what was told for an earlier one is told again.
    round: u16,
    /// What is looked up of the configuration.
    learnt: Learnt,
}

impl Default for Synchronized {
    fn default() -> Synchronized {
        Synchronized {
            due: Moment::from_nanos(u64::MAX),
            peerings: Vec::new(),
            v4: Book::default(),
            v6: Book::default(),
            pass: (Moment::ZERO, true),
            round: 0,
            learnt: Learnt::default(),
        }
    }
}

/// What is looked up of the configuration.
#[derive(Default)]
struct Learnt {
    /// Its number.
    change: Option<u64>,
    /// The router's own addresses.
    own: (HashSet<u32>, HashSet<u128>),
    /// What stands for marks, and the other way round.
    marks: (HashMap<Mark, u32>, HashMap<u32, Mark>),
}

/// A virtual router that is synchronized.
#[derive(Clone, Debug)]
pub(crate) struct Peering {
    /// Its interface.
    pub(crate) interface: InterfaceId,
    /// Whether it is the master, or a backup; else its link is down.
    pub(crate) standing: Standing,
    /// By which number it asks for all connections.
    pub(crate) whole: u32,
    /// Whether it got them.
    pub(crate) is_whole: bool,
    /// Since when it is no master, and its link is up.
    pub(crate) since: Moment,
    /// Whom it says hello to, and when next.
    pub(crate) hello: (Option<u32>, Moment),
    /// Epoch and number of the last datagram that was heard.
    pub(crate) heard: Option<(u32, u32)>,
    /// When that was.
    pub(crate) heard_at: Moment,
    /// Of a master: who wants to be told.
    pub(crate) peers: Vec<Peer>,
}

/// Where a virtual router stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Down,
    Backup,
    Master,
}

/// Somebody who wants to be told.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: u32,
    /// When it said so last.
    pub(crate) seen: Moment,
    /// The number of its request for all, of that which this pass answers, and of the last that was.
    asked: u32,
    answering: Option<u32>,
    pub(crate) answered: u32,
    /// Of what is sent to it.
    pub(crate) epoch: u32,
    pub(crate) sequence: u32,
    /// When something was.
    pub(crate) told: Moment,
}

impl Synchronized {
    /// The same for a trial: who may say what, and nothing that was said.
    pub(crate) fn trial(&self) -> Synchronized {
        Synchronized { peerings: self.peerings.clone(), ..Synchronized::default() }
    }

    /// Whether a virtual router that would take over from a worse master waits for connections still.
    pub(crate) fn waits(&self, interface: InterfaceId, now: Moment) -> bool {
        let peering = self.peerings.iter().find(|peering| peering.interface == interface);
        peering.is_some_and(|peering| !peering.is_whole && now < peering.since + PATIENCE)
    }

    /// Those of these virtual routers that are synchronized have a peering each, in their order.
    pub(crate) fn follow(&mut self, vrrps: &[Vrrp], now: Moment) {
        let mut old = std::mem::take(&mut self.peerings);
        for vrrp in vrrps.iter().filter(|vrrp| vrrp.syncs) {
            let place = old.iter().position(|peering| peering.interface == vrrp.interface);
            let peering = place.map(|place| old.swap_remove(place));
            self.peerings.push(peering.unwrap_or_else(|| Peering::new(vrrp.interface, now)));
        }
    }

    /// Learns what is looked up of the configuration, after each change.
    pub(crate) fn learn(&mut self, change: u64, program: &Program) {
        if self.learnt.change == Some(change) {
            return;
        }
        let own = program.addresses.iter().map(|own| own.address).collect();
        let own6 = program.v6.addresses.iter().map(|own| own.address).collect();
        let names = || program.books.marks.connection.iter();
        let number = vrrp_sync::mark;
        self.learnt = Learnt {
            change: Some(change),
            own: (own, own6),
            marks: (
                names().map(|(name, mark)| (mark, number(name))).collect(),
                names().map(|(name, mark)| (number(name), mark)).collect(),
            ),
        };
    }

    /// The mark that a number stands for; none if its name is not known here.
    pub(crate) fn mark(&self, number: u32) -> Mark {
        self.learnt.marks.1.get(&number).copied().unwrap_or(Mark::NONE)
    }

    /// Whether a connection's ends are both other hosts: the router's own connections end with it.
    pub(crate) fn is_through<A: Family>(&self, state: &State<A>) -> bool {
        let (four, six) = &self.learnt.own;
        let is_own = |address: A| match address.ip() {
            IpAddr::V4(address) => four.contains(&address.into()),
            IpAddr::V6(address) => six.contains(&address.into()),
        };
        !is_own(state.original.src) && !is_own(state.reply.src)
    }

    /// Looks through as much of the tables as has its turn. Returns the records of each datagram for all peers.
    pub(crate) fn scan(
        &mut self,
        now: Moment,
        (v4, v6): (&mut Connections, &mut Connections<u128>),
    ) -> Vec<Vec<u8>> {
        let peers = || self.peerings.iter().flat_map(|peering| &peering.peers);
        let tells = peers().next().is_some();
        let (began, is_over) = self.pass;
        if is_over {
            let wanted = peers().any(|peer| peer.asked != peer.answered);
            let pause = if tells { PASS.0 } else { PASS.1 };
            if !wanted && now < began + pause {
                return Vec::new();
            }
            self.begin(now, wanted);
        }
        let mut teller = Teller::new(now, tells, self.round);
        let mut books = (std::mem::take(&mut self.v4), std::mem::take(&mut self.v6));
        let sync = &*self;
        let is_over = books.0.scan(v4, &mut teller, sync) && books.1.scan(v6, &mut teller, sync);
        (self.v4, self.v6) = books;
        if is_over {
            self.end();
        }
        teller.datagrams
    }

    fn begin(&mut self, now: Moment, wanted: bool) {
        self.pass = (now, false);
        (self.v4.at, self.v6.at) = (0, 0);
        self.round = self.round.wrapping_add(wanted.into());
        for peer in self.peerings.iter_mut().flat_map(|peering| &mut peering.peers) {
            peer.answering = (peer.asked != peer.answered).then_some(peer.asked);
        }
    }

    fn end(&mut self) {
        self.pass.1 = true;
        for peer in self.peerings.iter_mut().flat_map(|peering| &mut peering.peers) {
            if let Some(number) = peer.answering.take() {
                peer.answered = number;
                peer.told = Moment::ZERO; // which is to be said at once
            }
        }
    }

    /// Whether another router is the master of a virtual router here.
    fn has_master(&self, interface: InterfaceId) -> Option<&Peering> {
        let is = |peering: &&Peering| {
            peering.interface == interface && peering.standing != Standing::Master
        };
        self.peerings.iter().find(is)
    }
}

impl Peering {
    fn new(interface: InterfaceId, now: Moment) -> Peering {
        Peering {
            interface,
            standing: Standing::Down,
            whole: 1,
            is_whole: false,
            since: now,
            hello: (None, now),
            heard: None,
            heard_at: Moment::ZERO,
            peers: Vec::new(),
        }
    }

    /// It stands so now. One that was master, or whose link was down, asks for all connections again, by
    /// this number; but for one that `is_told` by another way than that link.
    pub(crate) fn stand(&mut self, standing: Standing, is_told: bool, now: Moment, number: u32) {
        if standing != Standing::Backup {
            self.since = now;
            if standing == Standing::Master || !is_told {
                (self.is_whole, self.heard) = (false, None);
            }
        }
        if standing != self.standing && !self.is_whole {
            self.whole = number.max(1);
        }
        if standing != Standing::Master {
            self.peers.clear();
        }
        self.peers.retain(|peer| now < peer.seen + SILENT);
        self.standing = standing;
    }

    /// Takes in what stands before a datagram's records; false if it is no younger than the last.
    pub(crate) fn hear(&mut self, now: Moment, header: &Header) -> bool {
        let Header { epoch, sequence, whole, .. } = *header;
        let is_late =
            |(last, at): (u32, u32)| last == epoch && sequence.wrapping_sub(at) as i32 <= 0;
        if self.heard.is_some_and(is_late) {
            return false;
        }
        (self.heard, self.heard_at) = (Some((epoch, sequence)), now);
        self.is_whole |= whole == self.whole;
        true
    }

    /// Somebody wants to be told. False if there are too many.
    pub(crate) fn greet(&mut self, now: Moment, address: u32, asked: u32, epoch: u32) -> bool {
        let has_room = self.peers.len() < PEERS;
        match self.peers.iter_mut().find(|peer| peer.address == address) {
            Some(peer) => (peer.seen, peer.asked) = (now, asked),
            None if !has_room => return false,
            None => self.peers.push(Peer {
                address,
                seen: now,
                asked,
                answering: None,
                answered: 0,
                epoch,
                sequence: 0,
                told: now,
            }),
        }
        true
    }
}
