//! Leaves: where traffic is counted, let through, or waits.
//!
//! ```text
//!  QueueLeafId = 2 × queue + direction
//!
//!  leaf, one cache line: bucket | bytes, packets | limit, how many wait, the last of them ─┐
//!                                                                                          ▼
//!  waiting: nodes of one pool, a ring per leaf        first ─► … ─► last ─► first
//!  deadlines: a heap of the leaves in which somebody waits, by when their first may go
//! ```
//!
//! A leaf in which nobody waits costs its line and nothing else: the packet is paid for and passes
//! at once, on the core that carries it, in order. Storage for waiting packets is taken from a
//! common pool that grows to what was ever needed at once.
//!
//! Queues that are removed or disabled let what waits in them go at the next release: a change of
//! the configuration loses nothing.
//!
//! Generic over what waits (`T`): the router's packets with whatever it needs to send them later;
//! numbers in tests.

use super::bucket::{Bucket, Limit};
use crate::queue::Simple;
use config::ItemId;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;
use wire::Moment;

/// A queue's half: what limits one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueLeafId(pub u32);

/// Which way a packet goes, seen from the queue's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the target.
    Upload = 0,
    /// To the target.
    Download = 1,
}

impl QueueLeafId {
    /// Its direction.
    pub const fn direction(self) -> Direction {
        if self.0 & 1 == 0 { Direction::Upload } else { Direction::Download }
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// It goes on at once; it was paid for and counted.
    Pass,
    /// It must wait: give it to [`Queues::enqueue`].
    Enqueue,
    /// No room; it was counted as dropped ([`crate::discard::Discard::QueueFull`]).
    DropFull,
}

/// A leaf's readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafStats {
    /// Bytes that passed (IP length + 14 each).
    pub bytes: u64,
    /// Packets that passed.
    pub packets: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets waiting now.
    pub queued_packets: u64,
    /// Bytes waiting now.
    pub queued_bytes: u64,
    /// Bits per second, over the last full second.
    pub rate: u64,
    /// Packets per second, over the last full second.
    pub packet_rate: u64,
}

/// What a packet touches.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct Leaf {
    bucket: Bucket,
    bytes: u64,
    packets: u64,
    /// The last node of the ring of those that wait; its `next` is the first.
    last: u32,
    queued: u16,
    limit: u16,
}

/// What a packet that passes does not touch.
#[derive(Clone, Copy, Debug, Default)]
struct Cold {
    dropped: u64,
    queued_bytes: u64,
    /// The readings at the last sample, and the rates found then.
    sampled: Moment,
    bytes: u64,
    packets: u64,
    rate: u64,
    packet_rate: u64,
}

#[derive(Debug)]
struct Node<T> {
    waiting: Option<T>,
    len: u32,
    next: u32,
}

/// The queues' state: keyed by the items of the configuration, so that it outlives changes.
#[derive(Debug)]
pub struct Queues<T> {
    leaves: Vec<Leaf>,
    cold: Vec<Cold>,
    nodes: Vec<Node<T>>,
    /// The first free node.
    free: u32,
    deadlines: BinaryHeap<Reverse<(Moment, QueueLeafId)>>,
    /// Ordered, so that places are used again in the same order each time: a router is repeatable.
    slots: BTreeMap<ItemId, u32>,
    free_slots: Vec<u32>,
    /// Where sampling goes on, and when this round began.
    cursor: usize,
    round: Moment,
}

const _: () = assert!(size_of::<Leaf>() == 64, "a leaf is one cache line");
const NO_NODE: u32 = u32::MAX;
const SECOND: u64 = 1_000_000_000;

impl<T> Default for Queues<T> {
    fn default() -> Queues<T> {
        Queues {
            leaves: Vec::new(),
            cold: Vec::new(),
            nodes: Vec::new(),
            free: NO_NODE,
            deadlines: BinaryHeap::new(),
            slots: BTreeMap::new(),
            free_slots: Vec::new(),
            cursor: 0,
            round: Moment::ZERO,
        }
    }
}

impl<T> Queues<T> {
    /// The leaves of an item, upload and download; made when it is asked for the first time, and
    /// without a limit until [`apply`](Self::apply).
    pub fn of(&mut self, item: ItemId) -> [QueueLeafId; 2] {
        let slot = match self.slots.get(&item) {
            Some(&slot) => slot,
            None => {
                let slot = self.free_slots.pop().unwrap_or_else(|| {
                    self.leaves.extend([Leaf::new(); 2]);
                    self.cold.extend([Cold::default(); 2]);
                    (self.leaves.len() / 2 - 1) as u32
                });
                self.slots.insert(item, slot);
                slot
            }
        };
        [QueueLeafId(2 * slot), QueueLeafId(2 * slot + 1)]
    }

    /// Makes the limits those of `program`, keeping tokens, counters and what waits. Items for
    /// which `exists` says no are forgotten once nobody waits in them.
    ///
    /// Flows' recipes hold leaves: have them made anew before the next packet.
    pub fn apply(&mut self, program: &Simple, now: Moment, mut exists: impl FnMut(ItemId) -> bool) {
        let mut set = vec![false; self.leaves.len()];
        for (id, limit) in program.limits() {
            set[id.index()] = true;
            self.set_limit(id, limit, now);
        }
        for (id, _) in (0u32..).zip(&set).filter(|&(_, &set)| !set) {
            self.set_limit(QueueLeafId(id), Limit::NONE, now);
        }
        for cold in self.cold.iter_mut().filter(|cold| cold.sampled == Moment::ZERO) {
            cold.sampled = now;
        }
        self.renew_deadlines();
        let (leaves, cold, free) = (&mut self.leaves, &mut self.cold, &mut self.free_slots);
        self.slots.retain(|&item, &mut slot| {
            let both = 2 * slot as usize..2 * slot as usize + 2;
            let keep = exists(item) || leaves[both.clone()].iter().any(|leaf| leaf.queued > 0);
            if !keep {
                leaves[both.clone()].fill(Leaf::new());
                cold[both].fill(Cold::default());
                free.push(slot);
            }
            keep
        });
    }

    /// Asks for the leaf's cache line.
    #[inline]
    pub fn prefetch(&self, id: QueueLeafId) {
        port::prefetch::element(&self.leaves, id.index());
    }

    /// What becomes of a packet of `len` bytes (IP length + 14) at `now`.
    ///
    /// # Panics
    /// If the leaf is not one that [`of`](Self::of) gave.
    #[inline]
    pub fn offer(&mut self, id: QueueLeafId, now: Moment, len: u32) -> Decision {
        let leaf = &mut self.leaves[id.index()];
        if leaf.queued == 0 && (leaf.bucket.unlimited() || leaf.bucket.take(now, len)) {
            leaf.bytes += u64::from(len);
            leaf.packets += 1;
            return Decision::Pass;
        }
        if leaf.queued < leaf.limit {
            return Decision::Enqueue;
        }
        self.cold[id.index()].dropped += 1;
        Decision::DropFull
    }

    /// Lets a packet wait that [`offer`](Self::offer) told to.
    pub fn enqueue(&mut self, id: QueueLeafId, waiting: T, len: u32) {
        let node = self.node(Node { waiting: Some(waiting), len, next: NO_NODE });
        let leaf = &mut self.leaves[id.index()];
        if leaf.queued == 0 {
            self.nodes[node as usize].next = node;
        } else {
            let last = leaf.last as usize;
            self.nodes[node as usize].next = self.nodes[last].next;
            self.nodes[last].next = node;
        }
        leaf.last = node;
        leaf.queued += 1;
        self.cold[id.index()].queued_bytes += u64::from(len);
        if leaf.queued == 1 {
            let ready = self.ready(id).unwrap_or_default();
            self.deadlines.push(Reverse((ready, id)));
        }
    }

    /// When [`release`](Self::release) has something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Option<Moment> {
        self.deadlines.peek().map(|&Reverse((deadline, _))| deadline)
    }

    /// Lets go what has its tokens by `now`, in the order of when it had them.
    ///
    /// Each packet is paid for at its own deadline, not at `now`: calling late delays packets, but
    /// the rate is met all the same. What goes at once then is bounded by how many may wait.
    pub fn release(&mut self, now: Moment, mut go: impl FnMut(QueueLeafId, T)) {
        while let Some(top) = self.deadlines.peek_mut() {
            let Reverse((deadline, id)) = *top;
            if deadline > now {
                return;
            }
            let leaf = &mut self.leaves[id.index()];
            let first = self.nodes[leaf.last as usize].next;
            let node = &mut self.nodes[first as usize];
            let (waiting, len, second) = (node.waiting.take(), node.len, node.next);
            node.next = self.free;
            self.free = first;

            leaf.bucket.pay(deadline, len);
            leaf.bytes += u64::from(len);
            leaf.packets += 1;
            leaf.queued -= 1;
            self.cold[id.index()].queued_bytes -= u64::from(len);
            if leaf.queued == 0 {
                PeekMut::pop(top);
            } else {
                self.nodes[leaf.last as usize].next = second;
                let ready = leaf.bucket.ready(self.nodes[second as usize].len);
                *{ top } = Reverse((ready, id));
            }
            if let Some(waiting) = waiting {
                go(id, waiting);
            }
        }
    }

    /// When the leaf's first packet has its tokens; `None` if nobody waits.
    fn ready(&self, id: QueueLeafId) -> Option<Moment> {
        let leaf = &self.leaves[id.index()];
        let first = |leaf: &Leaf| &self.nodes[self.nodes[leaf.last as usize].next as usize];
        (leaf.queued > 0).then(|| leaf.bucket.ready(first(leaf).len))
    }

    /// Takes the rates' samples; call it a few times a second at least. Each leaf is looked at once
    /// a second, a share of them at each call.
    pub fn sample(&mut self, now: Moment) {
        let elapsed = now.since(self.round);
        let due = elapsed.as_nanos().saturating_mul(self.leaves.len() as u128) / u128::from(SECOND);
        let due = due.min(self.leaves.len() as u128) as usize;
        for id in self.cursor..due {
            let (leaf, cold) = (&self.leaves[id], &mut self.cold[id]);
            let ns = now.since(cold.sampled).as_nanos().max(1);
            let per_second =
                |n: u64| (u128::from(n) * u128::from(SECOND) / ns).min(u128::from(u64::MAX)) as u64;
            cold.rate = per_second((leaf.bytes - cold.bytes).saturating_mul(8));
            cold.packet_rate = per_second(leaf.packets - cold.packets);
            (cold.bytes, cold.packets, cold.sampled) = (leaf.bytes, leaf.packets, now);
        }
        self.cursor = due.max(self.cursor);
        if elapsed >= Duration::from_nanos(SECOND) {
            (self.cursor, self.round) = (0, now);
        }
    }

    /// A leaf's readings.
    pub fn stats(&self, id: QueueLeafId) -> LeafStats {
        let (leaf, cold) = (&self.leaves[id.index()], &self.cold[id.index()]);
        LeafStats {
            bytes: leaf.bytes,
            packets: leaf.packets,
            dropped: cold.dropped,
            queued_packets: u64::from(leaf.queued),
            queued_bytes: cold.queued_bytes,
            rate: cold.rate,
            packet_rate: cold.packet_rate,
        }
    }

    /// The readings of an item, upload and download.
    pub fn item_stats(&self, item: ItemId) -> Option<[LeafStats; 2]> {
        let slot = *self.slots.get(&item)?;
        Some([self.stats(QueueLeafId(2 * slot)), self.stats(QueueLeafId(2 * slot + 1))])
    }

    /// `reset-counters`: bytes, packets and drops of an item back to zero.
    pub fn reset(&mut self, item: ItemId) {
        let Some(&slot) = self.slots.get(&item) else { return };
        for id in [2 * slot as usize, 2 * slot as usize + 1] {
            (self.leaves[id].bytes, self.leaves[id].packets) = (0, 0);
            let cold = &mut self.cold[id];
            (cold.bytes, cold.packets, cold.dropped) = (0, 0, 0);
        }
    }

    /// What waits, in no particular order.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.nodes.iter().filter_map(|node| node.waiting.as_ref())
    }

    /// Memory taken by leaves and waiting packets, in bytes.
    pub fn bytes(&self) -> usize {
        self.leaves.capacity() * size_of::<Leaf>()
            + self.cold.capacity() * size_of::<Cold>()
            + self.nodes.capacity() * size_of::<Node<T>>()
            + self.deadlines.capacity() * size_of::<Reverse<(Moment, QueueLeafId)>>()
    }

    fn set_limit(&mut self, id: QueueLeafId, limit: Limit, now: Moment) {
        let leaf = &mut self.leaves[id.index()];
        leaf.bucket = leaf.bucket.with_limit(limit, now);
        leaf.limit = limit.packets;
    }

    /// Limits have changed: whoever waits may have to wait longer or shorter.
    fn renew_deadlines(&mut self) {
        self.deadlines.clear();
        self.deadlines.reserve(self.leaves.len());
        for id in (0..self.leaves.len() as u32).map(QueueLeafId) {
            if let Some(ready) = self.ready(id) {
                self.deadlines.push(Reverse((ready, id)));
            }
        }
    }

    fn node(&mut self, node: Node<T>) -> u32 {
        if self.free == NO_NODE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let id = self.free;
        self.free = self.nodes[id as usize].next;
        self.nodes[id as usize] = node;
        id
    }
}

impl Leaf {
    fn new() -> Leaf {
        Leaf {
            bucket: Bucket::new(Limit::NONE, Moment::ZERO),
            bytes: 0,
            packets: 0,
            last: NO_NODE,
            queued: 0,
            limit: 0,
        }
    }
}

#[cfg(test)]
mod tests;
