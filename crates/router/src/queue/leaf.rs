//! Leaves: where traffic is counted, let through, or waits.
//!
//! ```text
//!  QueueLeafId = 2 × queue + direction
//!
//!  leaf, one cache line: bucket | bytes, packets | limit, how many wait, the last of them ─┐
//!                                                                                          ▼
//!  waiting: nodes of one pool, a ring per leaf        first ─► … ─► last ─► first
//!  wheel: who may send next, and when
//! ```
//!
//! A leaf in which nobody waits costs its line and nothing else: the packet is paid for and passes
//! at once, on the core that carries it, in order. That holds for plain leaves, which have a bucket
//! and a pfifo. What has more (a parent, children, bursts, another kind of queue) is *shaped*: a class
//! of the `Forest`, which its line says by a number of waiting packets that none can have.
//!
//! Queues that are removed or disabled let what waits in them go at the next release: a change of
//! the configuration loses nothing but what a smaller queue has no room for. Which queue has which
//! leaves is known to the compiler alone; it says in a [`Change`] what is new, gone or limited
//! otherwise, and only that is touched.
//!
//! Generic over what waits (`T`): the router's packets with whatever it needs to send them later;
//! numbers in tests.

use super::bucket::{Bucket, Limit};
use super::change::Change;
use super::discipline::{Discipline, Next};
use super::nodes::{Label, Marks, Node, Nodes, Ring};
use super::path::Path;
use super::tree::{Forest, Settings};
use super::wheel::Wheel;
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
    /// The last node of the ring of those that wait.
    last: u32,
    /// How many wait; [`SHAPED`] of a class.
    queued: u16,
    limit: u16,
}

/// What a packet that passes does not touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cold {
    dropped: u64,
    /// The readings at the last sample, and the rates found then.
    sampled: Moment,
    bytes: u64,
    packets: u64,
    rate: u64,
    queued_bytes: u64,
    packet_rate: u32,
    /// Its class, if it is shaped; else its entry in the wheel, if somebody waits.
    place: u32,
}

/// The queues' state, which outlives every change of the configuration.
#[derive(Debug)]
pub struct Queues<T> {
    leaves: Vec<Leaf>,
    cold: Vec<Cold>,
    nodes: Nodes<T>,
    wheel: Wheel,
    forest: Forest,
    /// Whether the wheel has an entry for those who may send at once.
    at_once: bool,
    /// What waits in queues that are gone: it goes at the next release.
    orphans: Vec<(QueueLeafId, Ring)>,
    /// What disciplines have dropped: for whoever owns the packets.
    dropped: Vec<T>,
    /// Where sampling goes on, and when this round began.
    cursor: usize,
    round: Moment,
}

const _: () = assert!(size_of::<Leaf>() == 64, "a leaf is one cache line");
const _: () = assert!(size_of::<Leaf>() + size_of::<Cold>() <= 128, "an idle leaf is small");
const NONE: u32 = u32::MAX;
const SHAPED: u16 = u16::MAX;
/// The wheel's key of those who may send at once.
const AT_ONCE: u32 = u32::MAX;
const SECOND: u64 = 1_000_000_000;

impl<T> Default for Queues<T> {
    fn default() -> Queues<T> {
        Queues {
            leaves: Vec::new(),
            cold: Vec::new(),
            nodes: Nodes::default(),
            wheel: Wheel::default(),
            forest: Forest::default(),
            at_once: false,
            orphans: Vec::new(),
            dropped: Vec::new(),
            cursor: 0,
            round: Moment::ZERO,
        }
    }
}

impl<T> Queues<T> {
    /// Does what a change says, keeping tokens, counters and what waits. Takes time by what changed,
    /// not by how many queues there are; where trees change their form, by how many classes are in
    /// trees.
    ///
    /// Flows' recipes hold leaves: have them made anew before the next packet.
    pub fn apply(&mut self, change: &mut Change, now: Moment) {
        change.room.take_in(&mut self.leaves, &mut self.cold);
        let places = self.leaves.len().max(2 * change.fresh.end);
        self.leaves.resize(places, Leaf::new());
        self.cold.resize(places, Cold::default());
        let mut grow = false;
        for id in change.gone.iter().flat_map(|queue| queue.leaves()) {
            grow |= self.is_shaped(id);
            let ring = self.flatten(id);
            if ring.packets > 0 {
                self.orphans.push((id, ring));
            }
            self.leaves[id.index()] = Leaf::new();
            self.cold[id.index()] = Cold::default();
        }
        for id in change.fresh.ids.iter().flat_map(|queue| queue.leaves()) {
            self.cold[id.index()].sampled = now;
        }
        for (id, settings) in &change.settings {
            grow |= self.set(*id, settings, now);
        }
        if grow {
            let (leaves, cold) = (&self.leaves, &self.cold);
            let find = |id: QueueLeafId| match leaves.get(id.index()) {
                Some(leaf) if leaf.queued == SHAPED => cold[id.index()].place,
                _ => NONE,
            };
            self.forest.grow(find, &mut self.wheel, now);
        } else {
            for &(id, _) in &change.settings {
                if !self.is_shaped(id) {
                    continue;
                }
                let place = self.cold[id.index()].place;
                self.forest.renew(place, &mut self.wheel, now);
            }
        }
        self.wheel.look();
        self.hurry(now);
    }

    /// Gives a leaf its settings; says whether trees have another form by that.
    fn set(&mut self, id: QueueLeafId, settings: &Settings, now: Moment) -> bool {
        if !settings.is_plain() {
            let (grow, place) = if self.is_shaped(id) {
                let place = self.cold[id.index()].place;
                let grow = self.forest.set(place, *settings, &mut self.nodes.list, now);
                (grow, place)
            } else {
                let mut ring = self.flatten(id);
                let place = self.forest.make(id, *settings, now);
                let list = &mut self.nodes.list;
                while let Some(node) = ring.pop(list) {
                    self.forest.classes[place as usize].discipline.enqueue(list, node, now);
                }
                let leaf = &mut self.leaves[id.index()];
                (leaf.queued, leaf.bucket) = (SHAPED, Bucket::new(Limit::NONE, now));
                self.cold[id.index()].place = place;
                (true, place)
            };
            self.note_dropped(id);
            // Who has children from now on holds nobody himself: they go.
            if settings.inner && self.forest.waits(place) {
                let ring = self.empty(place);
                self.orphans.push((id, ring));
            }
            return grow;
        }
        let was_shaped = self.is_shaped(id);
        let leaf = &mut self.leaves[id.index()];
        leaf.bucket = leaf.bucket.with_limit(settings.limit, now);
        leaf.limit = settings.limit.packets;
        if was_shaped {
            let mut ring = self.flatten(id);
            if *settings == Settings::plain(Limit::NONE) && ring.packets > 0 {
                self.orphans.push((id, std::mem::take(&mut ring)));
            }
            while ring.packets > u32::from(settings.limit.packets) {
                let last = ring.pop(&mut self.nodes.list);
                self.nodes.list.dropped.extend(last);
            }
            self.note_dropped(id);
            self.put_back(id, ring);
        }
        self.wait_anew(id);
        was_shaped
    }

    /// Takes out what waits in a leaf, which is plain and empty afterwards.
    fn flatten(&mut self, id: QueueLeafId) -> Ring {
        let place = std::mem::replace(&mut self.cold[id.index()].place, NONE);
        let ring = if self.is_shaped(id) {
            let ring = self.empty(place);
            self.forest.end(place, &mut self.wheel);
            ring
        } else {
            if place != NONE {
                self.wheel.leave(place);
            }
            self.ring(id)
        };
        self.put_back(id, Ring::default());
        ring
    }

    /// Takes out what waits in a class.
    fn empty(&mut self, place: u32) -> Ring {
        let mut ring = Ring::default();
        let discipline = &mut self.forest.classes[place as usize].discipline;
        discipline.drain(&mut self.nodes.list, |list, node| ring.push(list, node));
        // What is drained is forgotten: the next one starts from nothing.
        *discipline = Discipline::Fifo(Ring::default(), super::Kind::Pfifo(0));
        ring
    }

    /// The same leaves with the same tokens, in which nothing but numbers waits: for a trial.
    pub(crate) fn trial(&self) -> Queues<T> {
        Queues {
            leaves: self.leaves.clone(),
            cold: self.cold.clone(),
            nodes: self.nodes.trial(),
            wheel: self.wheel.clone(),
            forest: self.forest.clone(),
            at_once: self.at_once,
            ..Queues::default()
        }
    }

    /// Takes what waits out of a trial's leaves.
    pub(crate) fn take_waiting(&mut self) -> impl Iterator<Item = T> {
        self.dropped.drain(..).chain(self.nodes.take_all())
    }

    /// Takes what disciplines have dropped, which is counted already, to end it.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<T> {
        self.dropped.pop()
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
        if leaf.queued == SHAPED {
            return self.offer_shaped(id, now, len);
        }
        self.cold[id.index()].dropped += 1;
        Decision::DropFull
    }

    /// The same of a class: it passes if nobody waits for his turn before it.
    #[inline(never)]
    fn offer_shaped(&mut self, id: QueueLeafId, now: Moment, len: u32) -> Decision {
        let place = self.cold[id.index()].place;
        if self.wheel.is_due(now) || !self.forest.pass(place, len, &mut self.wheel, now) {
            return Decision::Enqueue;
        }
        self.count_path(len);
        Decision::Pass
    }

    /// Lets `len` bytes pass at once to a port that has room, if nobody waits for it.
    pub(crate) fn pass_to_port(&mut self, id: QueueLeafId, len: u32) -> bool {
        let passes = self.forest.is_idle(self.cold[id.index()].place);
        if passes {
            self.count(id, len);
        }
        passes
    }

    /// What a port that has room sends next of its class, and what is to be written into it.
    ///
    /// # Errors
    /// When somebody may go; `None` if nobody waits.
    pub(crate) fn pull(
        &mut self,
        id: QueueLeafId,
        now: Moment,
    ) -> Result<(T, Marks), Option<Moment>> {
        let place = self.cold[id.index()].place;
        let next = self.forest.pull(place, &mut self.nodes.list, now);
        self.note_dropped(id);
        match next {
            Next::Packet(node) => {
                let Node { len, marks, .. } = self.nodes.list[node];
                self.count(id, len);
                self.nodes.take(node).map(|waiting| (waiting, marks)).ok_or(None)
            }
            Next::Empty => Err(None),
            Next::Later(when) => Err(Some(when)),
        }
    }

    fn count(&mut self, id: QueueLeafId, len: u32) {
        let leaf = &mut self.leaves[id.index()];
        leaf.bytes += u64::from(len);
        leaf.packets += 1;
    }

    /// Counts a packet as dropped that [`offer`](Self::offer) told to let wait, and that must not.
    pub fn refuse(&mut self, id: QueueLeafId) {
        self.cold[id.index()].dropped += 1;
    }

    /// Lets a packet wait that [`offer`](Self::offer) told to. Whom a discipline drops for it, maybe
    /// the packet itself, is given by [`take_dropped`](Self::take_dropped).
    pub fn enqueue(&mut self, id: QueueLeafId, waiting: T, len: u32, label: Label, now: Moment) {
        let node = self.nodes.put(waiting, len, label, now);
        if self.is_shaped(id) {
            let place = self.cold[id.index()].place;
            let list = &mut self.nodes.list;
            self.forest.classes[place as usize].discipline.enqueue(list, node, now);
            self.note_dropped(id);
            if self.forest.waits(place) {
                self.forest.wake(place, &mut self.wheel, now);
            }
            return self.hurry(now);
        }
        let mut ring = self.ring(id);
        ring.push(&mut self.nodes.list, node);
        let first = ring.packets == 1;
        self.put_back(id, ring);
        if first {
            self.wait_anew(id);
        }
    }

    /// When [`release`](Self::release) has something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Option<Moment> {
        if !self.orphans.is_empty() {
            return Some(Moment::ZERO);
        }
        self.wheel.soonest()
    }

    /// Lets go what has its tokens by `now`, in the order of when it had them; `go` gets the leaf,
    /// the packet, and what is to be written into it.
    ///
    /// Each packet is paid for at its own deadline, not at `now`: calling late delays packets, but
    /// the rate is met all the same. What goes at once then is bounded by how many may wait.
    pub fn release(&mut self, now: Moment, mut go: impl FnMut(QueueLeafId, T, Marks)) {
        for (id, mut ring) in std::mem::take(&mut self.orphans) {
            while let Some(node) = ring.pop(&mut self.nodes.list) {
                if let Some(waiting) = self.nodes.take(node) {
                    go(id, waiting, Marks::default());
                }
            }
        }
        while let Some((deadline, key)) = self.wheel.pop(now) {
            if key == AT_ONCE {
                self.at_once = false;
                self.serve(deadline, &mut go);
                continue;
            }
            let id = QueueLeafId(key);
            if self.is_shaped(id) {
                let place = self.cold[id.index()].place;
                self.forest.due(place, &mut self.wheel, deadline);
                self.serve(deadline, &mut go);
                continue;
            }
            let mut ring = self.ring(id);
            self.cold[id.index()].place = NONE;
            let Some(node) = ring.pop(&mut self.nodes.list) else { continue };
            let len = self.nodes.list[node].len;
            let leaf = &mut self.leaves[id.index()];
            leaf.bucket.pay(deadline, len);
            leaf.bytes += u64::from(len);
            leaf.packets += 1;
            self.put_back(id, ring);
            self.wait_anew(id);
            if let Some(waiting) = self.nodes.take(node) {
                go(id, waiting, Marks::default());
            }
        }
    }

    /// Lets go who may send in trees at `now`.
    fn serve(&mut self, now: Moment, go: &mut impl FnMut(QueueLeafId, T, Marks)) {
        while let Some((id, node)) = self.forest.next(&mut self.nodes.list, &mut self.wheel, now) {
            let Node { len, marks, .. } = self.nodes.list[node];
            self.count_path(len);
            self.note_dropped(id);
            if let Some(waiting) = self.nodes.take(node) {
                go(id, waiting, marks);
            }
        }
        self.note_dropped(QueueLeafId(NONE));
    }

    /// Counts a packet in a class and all above it.
    fn count_path(&mut self, len: u32) {
        for id in &self.forest.path {
            let leaf = &mut self.leaves[id.index()];
            leaf.bytes += u64::from(len);
            leaf.packets += 1;
        }
    }

    /// Takes out what a leaf's discipline has dropped, and counts it.
    fn note_dropped(&mut self, id: QueueLeafId) {
        if self.nodes.list.dropped.is_empty() {
            return;
        }
        for node in std::mem::take(&mut self.nodes.list.dropped) {
            if let Some(cold) = self.cold.get_mut(id.index()) {
                cold.dropped += 1;
            }
            self.dropped.extend(self.nodes.take(node));
        }
    }

    /// Sees to it that who may send at once is served by the next release.
    fn hurry(&mut self, now: Moment) {
        if self.forest.is_ready() && !self.at_once {
            self.at_once = true;
            self.wheel.enter(now, AT_ONCE);
        }
    }

    /// Enters a plain leaf in the wheel, by when its first packet has its tokens.
    fn wait_anew(&mut self, id: QueueLeafId) {
        let first = self.ring(id).first(&self.nodes.list);
        let cold = &mut self.cold[id.index()];
        if cold.place != NONE {
            self.wheel.leave(std::mem::replace(&mut cold.place, NONE));
        }
        if let Some(first) = first {
            let ready = self.leaves[id.index()].bucket.ready(self.nodes.list[first].len);
            cold.place = self.wheel.enter(ready, id.0);
        }
    }

    /// All trees, as they are.
    #[cfg(test)]
    pub(super) fn forest(&self) -> &Forest {
        &self.forest
    }

    /// How many bits of IPv6's addresses a queue looks at, if it asks for that.
    pub(crate) fn lengths6(&self, id: QueueLeafId) -> Option<[u8; 2]> {
        let place = self.is_shaped(id).then(|| self.cold[id.index()].place)?;
        self.forest.classes[place as usize].discipline.lengths6()
    }

    /// The same of the first of several that does; else all.
    pub(crate) fn lengths6_on(&self, mut path: Path) -> [u8; 2] {
        while let Some(leaf) = path.first() {
            if let Some(lengths) = self.lengths6(leaf) {
                return lengths;
            }
            path = path.rest();
        }
        [128; 2]
    }

    fn is_shaped(&self, id: QueueLeafId) -> bool {
        self.leaves[id.index()].queued == SHAPED
    }

    /// What waits in a plain leaf.
    fn ring(&self, id: QueueLeafId) -> Ring {
        let (leaf, cold) = (&self.leaves[id.index()], &self.cold[id.index()]);
        Ring { last: leaf.last, packets: leaf.queued.into(), bytes: cold.queued_bytes }
    }

    /// Makes a leaf plain, with these waiting in it.
    fn put_back(&mut self, id: QueueLeafId, ring: Ring) {
        let (leaf, cold) = (&mut self.leaves[id.index()], &mut self.cold[id.index()]);
        (leaf.last, leaf.queued) = (ring.last, ring.packets as u16);
        cold.queued_bytes = ring.bytes;
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
            cold.packet_rate = per_second(leaf.packets - cold.packets).min(u32::MAX.into()) as u32;
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
        let (queued_packets, queued_bytes) = match leaf.queued {
            SHAPED => {
                let (packets, bytes) =
                    self.forest.classes[cold.place as usize].discipline.waiting();
                (packets.into(), bytes)
            }
            queued => (queued.into(), cold.queued_bytes),
        };
        LeafStats {
            bytes: leaf.bytes,
            packets: leaf.packets,
            dropped: cold.dropped,
            queued_packets,
            queued_bytes,
            rate: cold.rate,
            packet_rate: cold.packet_rate.into(),
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

    /// What waits, in no particular order, and what was dropped and is not taken yet.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.nodes.waiting().chain(&self.dropped)
    }

    /// Memory taken by leaves and waiting packets, in bytes.
    pub fn bytes(&self) -> usize {
        self.leaves.capacity() * size_of::<Leaf>()
            + self.cold.capacity() * size_of::<Cold>()
            + self.nodes.bytes()
            + self.wheel.bytes()
            + self.forest.bytes()
    }
}

impl Leaf {
    pub(super) fn new() -> Leaf {
        Leaf {
            bucket: Bucket::new(Limit::NONE, Moment::ZERO),
            bytes: 0,
            packets: 0,
            last: NONE,
            queued: 0,
            limit: 0,
        }
    }
}

impl Default for Cold {
    fn default() -> Cold {
        Cold {
            dropped: 0,
            sampled: Moment::ZERO,
            bytes: 0,
            packets: 0,
            rate: 0,
            packet_rate: 0,
            queued_bytes: 0,
            place: NONE,
        }
    }
}

#[cfg(test)]
mod tests;
