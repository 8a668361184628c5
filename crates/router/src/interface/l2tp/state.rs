//! L2TP's tunnels as they happen: their control channel, and the sessions that they agree upon.
//!
//! ```text
//! client  Asking: SCCRQ ─► SCCRP ─► Open ─► Leg: ICRQ ─► ICRP ─► a call
//! server  Offered: SCCRP ─► SCCCN ─► Open ─► Leg: ICRP ─► ICCN ─► a call
//!
//! what is sent is kept until it is acknowledged: after 1 s, 2 s, 4 s, 8 s it is sent again
//! ```

use crate::interface::ppp::dial::Dials;
use crate::ip::datagram::End;
use config::ItemId;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;
use wire::Moment;

/// Tunnels of servers that are not open yet: more are not taken up.
pub(crate) const MOST_HALF_OPEN: usize = 1024;
/// Tunnels there can be, of a number's 16 bits.
pub(crate) const MOST: usize = 60_000;
/// Sessions of one tunnel.
pub(crate) const MOST_LEGS: usize = 256;
/// Messages that wait: who takes none is gone.
pub(crate) const MOST_WAITING: usize = 64;
/// How often a message is sent.
pub(crate) const TRIES: u8 = 5;
/// The first pause (RFC 2661 §5.8); each later one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// An open tunnel that is silent so long is asked.
pub(crate) const HELLO: Duration = Duration::from_secs(60);
/// How long a tunnel that the other end has heard of may take to open.
const OPENING: Duration = Duration::from_secs(10);

/// How far a tunnel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A client has asked.
    Asking,
    /// A server has answered.
    Offered,
    Open,
}

/// A session of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) id: u16,
    /// The other end's number; 0 as long as it is not known.
    pub(crate) peer_id: u16,
    /// It is a call by now, at this place.
    pub(crate) place: Option<usize>,
}

/// A tunnel.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    pub(crate) id: u16,
    pub(crate) peer_id: u16,
    /// Ours and the other end.
    pub(crate) ends: (End, End),
    /// The client that it belongs to; else it is the server's.
    pub(crate) client: Option<ItemId>,
    pub(crate) phase: Phase,
    /// What it is proved with, if it is.
    pub(crate) secret: Option<String>,
    pub(crate) challenge: [u8; 16],
    pub(crate) legs: Vec<Leg>,
    /// The next message's number, and that of the next one that is expected.
    pub(crate) ns: u16,
    pub(crate) nr: u16,
    /// What is not acknowledged, the first of them sent so often: number, message.
    pub(crate) waiting: VecDeque<(u16, Vec<u8>)>,
    pub(crate) tries: u8,
    pub(crate) due: Moment,
}

impl Tunnel {
    /// How long to wait for an acknowledgement.
    pub(crate) fn pause(&self) -> Duration {
        PAUSE * (1 << self.tries.min(3))
    }

    /// Whether a message of this number is of a tunnel that the other end knows from before we began anew:
    /// what it has had of that one is nothing of this one.
    pub(crate) fn is_another_of(&self, ns: u16) -> bool {
        self.phase == Phase::Asking && ns != self.nr
    }

    /// Takes in what the other end has had.
    pub(crate) fn acknowledged(&mut self, nr: u16, now: Moment) {
        let is_had = |ns: u16| nr.wrapping_sub(ns).wrapping_sub(1) < 0x8000;
        let before = self.waiting.len();
        while self.waiting.front().is_some_and(|(ns, _)| is_had(*ns)) {
            self.waiting.pop_front();
        }
        if self.waiting.len() != before {
            (self.tries, self.due) = (0, now);
        }
        if self.waiting.is_empty() {
            self.due = now + if self.phase == Phase::Open { HELLO } else { OPENING };
        }
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    tunnels: BTreeMap<u16, Tunnel>,
    /// The server's by the other end and its number: a request may come twice.
    by_peer: HashMap<(End, u16), u16>,
    due: BTreeSet<(Moment, u16)>,
    half_open: usize,
    next_id: u16,
    /// Its clients.
    pub(crate) dials: Dials,
}

impl State {
    pub(crate) fn is_empty(&self) -> bool {
        self.tunnels.is_empty() && self.dials.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.tunnels.len()
    }

    pub(crate) fn half_open(&self) -> usize {
        self.half_open
    }

    pub(crate) fn get(&self, id: u16) -> Option<&Tunnel> {
        self.tunnels.get(&id)
    }

    pub(crate) fn ids(&self) -> Vec<u16> {
        self.tunnels.keys().copied().collect()
    }

    /// The tunnel of a request that has come before.
    pub(crate) fn of_peer(&self, peer: End, id: u16) -> Option<u16> {
        self.by_peer.get(&(peer, id)).copied()
    }

    /// A number that no tunnel has; there are fewer tunnels than numbers. `dice` make it hard to guess.
    pub(crate) fn fresh_id(&mut self, dice: u16) -> u16 {
        self.next_id = self.next_id.wrapping_add(dice % 13);
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if self.next_id != 0 && !self.tunnels.contains_key(&self.next_id) {
                return self.next_id;
            }
        }
    }

    pub(crate) fn add(&mut self, tunnel: Tunnel) {
        if tunnel.client.is_none() {
            self.half_open += 1;
            self.by_peer.insert((tunnel.ends.1, tunnel.peer_id), tunnel.id);
        }
        self.due.insert((tunnel.due, tunnel.id));
        self.tunnels.insert(tunnel.id, tunnel);
    }

    pub(crate) fn remove(&mut self, id: u16) -> Option<Tunnel> {
        let tunnel = self.tunnels.remove(&id)?;
        self.due.remove(&(tunnel.due, id));
        if tunnel.client.is_none() {
            self.half_open -= usize::from(tunnel.phase != Phase::Open);
            self.by_peer.remove(&(tunnel.ends.1, tunnel.peer_id));
        }
        Some(tunnel)
    }

    /// Lets somebody change a tunnel; when it is due is kept in order.
    pub(crate) fn change<T>(&mut self, id: u16, how: impl FnOnce(&mut Tunnel) -> T) -> Option<T> {
        let tunnel = self.tunnels.get_mut(&id)?;
        let (before, phase) = (tunnel.due, tunnel.phase);
        let done = how(tunnel);
        let after = tunnel.due;
        if tunnel.client.is_none() && phase != Phase::Open && tunnel.phase == Phase::Open {
            self.half_open -= 1;
        }
        if before != after {
            self.due.remove(&(before, id));
            self.due.insert((after, id));
        }
        Some(done)
    }

    /// One that is due now.
    pub(crate) fn is_due(&self, now: Moment) -> Option<u16> {
        self.due.first().filter(|(due, _)| *due <= now).map(|(_, id)| *id)
    }

    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.due.first().map(|(due, _)| *due)
    }
}
