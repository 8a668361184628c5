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
//! the configuration loses nothing. Which queue has which leaves is known to the compiler alone; it
//! says in a [`Change`] what is new, gone or limited otherwise, and only that is touched.
//!
//! Generic over what waits (`T`): the router's packets with whatever it needs to send them later;
//! numbers in tests.

use super::bucket::{Bucket, Limit};
use super::change::Change;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::time::Duration;
use wire::Moment;

/// A queue's half: what limits one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueLeafId(pub u32);

/// A queue's number: whose leaves those are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

impl From<u32> for QueueId {
    fn from(number: u32) -> QueueId {
        QueueId(number)
    }
}

impl QueueId {
    /// Its leaves, upload and download.
    pub const fn leaves(self) -> [QueueLeafId; 2] {
        [QueueLeafId(2 * self.0), QueueLeafId(2 * self.0 + 1)]
    }
}

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
    pub(super) fn index(self) -> usize {
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
pub(super) struct Leaf {
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
pub(super) struct Cold {
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

/// The queues' state, which outlives every change of the configuration.
#[derive(Debug)]
pub struct Queues<T> {
    leaves: Vec<Leaf>,
    cold: Vec<Cold>,
    nodes: Vec<Node<T>>,
    /// The first free node.
    free: u32,
    deadlines: BinaryHeap<Reverse<(Moment, QueueLeafId)>>,
    /// The last nodes of what waits in queues that are gone: they go at the next release.
    orphans: Vec<(QueueLeafId, u32)>,
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
            orphans: Vec::new(),
            cursor: 0,
            round: Moment::ZERO,
        }
    }
}

impl<T> Queues<T> {
    /// Does what a change says, keeping tokens, counters and what waits. Takes time by what changed
    /// (and, if somebody waits there, by how many leaves somebody waits in), not by how many queues
    /// there are.
    ///
    /// Flows' recipes hold leaves: have them made anew before the next packet.
    pub fn apply(&mut self, change: &mut Change, now: Moment) {
        change.room.take_in(&mut self.leaves, &mut self.cold);
        let places = self.leaves.len().max(2 * change.fresh.end);
        self.leaves.resize(places, Leaf::new());
        self.cold.resize(places, Cold::default());
        let mut waits = false;
        for id in change.gone.iter().flat_map(|queue| queue.leaves()) {
            let leaf = &mut self.leaves[id.index()];
            if leaf.queued > 0 {
                self.orphans.push((id, leaf.last));
                waits = true;
            }
            *leaf = Leaf::new();
            self.cold[id.index()] = Cold::default();
        }
        for id in change.fresh.ids.iter().flat_map(|queue| queue.leaves()) {
            self.cold[id.index()].sampled = now;
        }
        for (queue, limits) in &change.limits {
            for (id, limit) in queue.leaves().into_iter().zip(limits) {
                let leaf = &mut self.leaves[id.index()];
                leaf.bucket = leaf.bucket.with_limit(*limit, now);
                leaf.limit = limit.packets;
                waits |= leaf.queued > 0;
            }
        }
        if waits {
            self.renew_deadlines();
        }
    }

    /// The same leaves with the same tokens, in which nothing but numbers waits: for a trial.
    pub(crate) fn trial(&self) -> Queues<T> {
        let empty = |node: &Node<T>| Node { waiting: None, len: node.len, next: node.next };
        Queues {
            leaves: self.leaves.clone(),
            cold: self.cold.clone(),
            nodes: self.nodes.iter().map(empty).collect(),
            free: self.free,
            ..Queues::default()
        }
    }

    /// Takes what waits out of a trial's leaves.
    pub(crate) fn take_waiting(&mut self) -> impl Iterator<Item = T> {
        self.nodes.iter_mut().filter_map(|node| node.waiting.take())
    }

    /// Asks for the leaf's cache line.
    #[inline]
    pub fn prefetch(&self, id: QueueLeafId) {
        port::prefetch::element(&self.leaves, id.index());
    }

    /// What becomes of a packet of `len` bytes (IP length + 14) at `now`.
    ///
    /// # Panics
    /// If there is no such leaf.
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

    /// Counts a packet as dropped that [`offer`](Self::offer) told to let wait, and that must not.
    pub fn refuse(&mut self, id: QueueLeafId) {
        self.cold[id.index()].dropped += 1;
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
        if !self.orphans.is_empty() {
            return Some(Moment::ZERO);
        }
        self.deadlines.peek().map(|&Reverse((deadline, _))| deadline)
    }

    /// Lets go what has its tokens by `now`, in the order of when it had them.
    ///
    /// Each packet is paid for at its own deadline, not at `now`: calling late delays packets, but
    /// the rate is met all the same. What goes at once then is bounded by how many may wait.
    pub fn release(&mut self, now: Moment, mut go: impl FnMut(QueueLeafId, T)) {
        for (id, last) in std::mem::take(&mut self.orphans) {
            let mut at = self.nodes[last as usize].next;
            loop {
                let node = &mut self.nodes[at as usize];
                let (waiting, next) = (node.waiting.take(), node.next);
                node.next = self.free;
                self.free = at;
                if let Some(waiting) = waiting {
                    go(id, waiting);
                }
                if at == last {
                    break;
                }
                at = next;
            }
        }
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

    /// `reset-counters`: bytes, packets and drops of a queue back to zero.
    pub fn reset(&mut self, queue: QueueId) {
        for id in queue.leaves().map(QueueLeafId::index) {
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

    /// Limits have changed: whoever waits may have to wait longer or shorter, or is gone.
    fn renew_deadlines(&mut self) {
        let mut deadlines = std::mem::take(&mut self.deadlines).into_vec();
        deadlines.retain_mut(|Reverse((deadline, id))| match self.ready(*id) {
            Some(ready) => {
                *deadline = ready;
                true
            }
            None => false,
        });
        self.deadlines = deadlines.into();
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
    pub(super) fn new() -> Leaf {
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
