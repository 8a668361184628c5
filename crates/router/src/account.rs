//! What tests and status pages read of a router: where its frames are, and what its tables hold.
//!
//! ```text
//! received + made = sent + discarded + consumed + held
//! ```
//!
//! Never changes anything.

use crate::firewall::connection::Connections;
use crate::firewall::log::Log;
use crate::interface::InterfaceId;
use crate::interface::bridge::hosts::Row;
use crate::queue::LeafStats;
use crate::queue::menu::SIMPLE;
use crate::router::Router;
use config::Tree;
use wire::Moment;

/// Frames that wait inside the router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// For an ARP answer.
    pub neighbours: u64,
    /// In simple queues.
    pub queues: u64,
    /// For the rest of their datagram.
    pub reassembly: u64,
}

impl Held {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.neighbours + self.queues + self.reassembly
    }
}

impl Router {
    /// The frames that wait inside the router.
    pub fn held(&self) -> Held {
        let frames = |leaving: &crate::flow::Leaving| 1 + leaving.rest.len() as u64;
        Held {
            neighbours: self.neighbours.waiting() as u64,
            queues: self.queues.waiting().map(frames).sum(),
            reassembly: self.reassembly.frames() as u64,
        }
    }

    /// The frames the router's pool keeps ready: out of the slab, but in nobody's hands.
    pub fn frames_in_pool(&self) -> usize {
        self.pool.stock()
    }

    /// The connections.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// What firewall rules have logged.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The hosts of a bridge, in no particular order; none if there is no such bridge.
    pub fn hosts(&self, bridge: InterfaceId, now: Moment) -> impl Iterator<Item = Row> {
        let at = self.program.bridges.iter().position(|b| b.interface == bridge);
        let hosts = at.and_then(|at| self.hosts.get(at));
        hosts.into_iter().flat_map(move |hosts| hosts.rows(now.as_millis_u32()))
    }

    /// The readings of all simple queues, in their order: upload and download of each.
    pub fn queue_stats(&self, tree: &Tree) -> Vec<[LeafStats; 2]> {
        let items = tree.items(SIMPLE.path).iter();
        items.map(|item| self.queues.item_stats(item.id).unwrap_or_default()).collect()
    }
}
