//! Account of a router for tests and status pages: the places of its frames, and the contents of its tables.
//!
//! ```text
//! received + made = sent + discarded + consumed + held
//! ```
//!
//! Never changes anything.

use crate::discard::Discard;
use crate::firewall::connection::Connections;
use crate::firewall::log::Log;
use crate::flow::Resume;
use crate::interface::InterfaceId;
use crate::interface::bridge::hosts::Row;
use crate::queue::menu::SIMPLE;
use crate::queue::{LeafStats, QueueId};
use crate::router::Router;
use config::{Item, Tree};
use wire::Moment;

/// Frames that wait inside the router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// For an answer to ARP, or to a neighbour solicitation.
    pub neighbours: u64,
    /// In simple queues.
    pub queues: u64,
    /// For the rest of their datagram.
    pub reassembly: u64,
    /// For keys of WireGuard.
    pub handshakes: u64,
    /// For the next breath to send them: what a change has made.
    pub outboxes: u64,
}

impl Held {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.neighbours + self.queues + self.reassembly + self.handshakes + self.outboxes
    }
}

/// What counters that a user may reset do not say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    /// Answers, requests, copies for more ports, fragments.
    pub(crate) made: u64,
    /// ARP, and what left as fragments.
    pub(crate) consumed: u64,
    /// Frames beyond the first of discarded datagrams, which count once.
    pub(crate) more_pieces: u64,
}

/// Where all frames came from, and where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// By ports.
    pub received: u64,
    /// By the router: answers, requests, copies for more ports, fragments.
    pub made: u64,
    /// By ports.
    pub sent: u64,
    /// For a reason that [`Router::discards`] names.
    pub discarded: u64,
    /// Come to their end here: ARP, and what left as fragments.
    pub consumed: u64,
    /// Waiting.
    pub held: u64,
}

impl Frames {
    /// Whether no frame is missing and none too many.
    pub fn balance(&self) -> bool {
        self.received + self.made == self.sent + self.discarded + self.consumed + self.held
    }
}

impl Router {
    /// Where all frames came from, and where they are.
    pub fn frames(&self) -> Frames {
        // What could not be made was never a frame.
        let never = [Discard::NoFrame, Discard::IcmpRateLimited];
        let never: u64 = never.iter().map(|&reason| self.stats.discards.get(reason)).sum();
        Frames {
            received: self.stats.tally.received,
            made: self.stats.tally.made,
            sent: self.stats.tally.sent,
            discarded: self.stats.discards.total() - never + self.stats.tally.more_pieces,
            consumed: self.stats.tally.consumed,
            held: self.held().total(),
        }
    }

    /// The frames that wait inside the router.
    pub fn held(&self) -> Held {
        Held {
            neighbours: (self.v4.neighbours.waiting() + self.v6.neighbours.waiting()) as u64,
            queues: self.queues.waiting().map(Resume::len).sum(),
            reassembly: (self.v4.reassembly.frames() + self.v6.reassembly.frames()) as u64,
            handshakes: self.link.wireguard.waiting() as u64,
            outboxes: self.io.outboxes.iter().map(|outbox| outbox.frames().len() as u64).sum(),
        }
    }

    /// The frames the router's pool keeps ready: out of the slab, but in nobody's hands.
    pub fn frames_in_pool(&self) -> usize {
        self.io.pool.stock()
    }

    /// The connections.
    pub fn connections(&self) -> &Connections {
        &self.v4.connections
    }

    /// Those of IPv6.
    pub fn connections6(&self) -> &Connections<u128> {
        &self.v6.connections
    }

    /// What firewall rules have logged.
    pub fn log(&self) -> &Log {
        &self.stats.log
    }

    /// The hosts of a bridge, in no particular order; none if there is no such bridge.
    pub fn hosts(&self, bridge: InterfaceId, now: Moment) -> impl Iterator<Item = Row> {
        let at = self.program.bridges.iter().position(|b| b.interface == bridge);
        let hosts = at.and_then(|at| self.link.hosts.get(at));
        hosts.into_iter().flat_map(move |hosts| hosts.rows(now.as_millis_u32()))
    }

    /// Memory taken by queues and what waits in them, in bytes; without what is typed.
    pub fn queue_bytes(&self) -> usize {
        self.queues.bytes() + self.program.queues.bytes()
    }

    /// The readings of all simple queues, in their order: upload and download of each.
    pub fn queue_stats(&self, tree: &Tree) -> Vec<[LeafStats; 2]> {
        let items = tree.items(SIMPLE.path).iter();
        let queue = |item: &Item| self.program.books.queues.find(item.id);
        let stats = |queue: QueueId| queue.leaves().map(|leaf| self.queues.stats(leaf));
        items.map(|item| queue(item).map(stats).unwrap_or_default()).collect()
    }
}
