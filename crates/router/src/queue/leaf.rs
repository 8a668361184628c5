//! Leaves: where traffic is counted, let through, or waits.
//!
//! ```text
//!  QueueLeafId = 2 × queue + direction
//!
//!  leaf, 32 bytes: tokens | bytes, packets | its limit's number | its place among the active ─┐
//!                                                                                             ▼
//!  active: who waits, what was dropped, rates
//!  waiting: nodes of one pool, a ring per leaf        first ─► … ─► last ─► first
//!  wheel: who may send next, and when
//! ```
//!
//! A leaf in which nobody waits costs its 32 bytes and nothing else: the packet is paid for and passes
//! at once, on the core that carries it, in order. That holds for plain leaves, which have a bucket
//! and a pfifo. What has more (a parent, children, bursts, another kind of queue) is *shaped*: a class
//! of the `Forest`, whose place stands where the limit's number would.
//!
//! Queues that are removed or disabled let what waits in them go at the next release: a change of
//! the configuration loses nothing but what a smaller queue has no room for. Which queue has which
//! leaves is known to the compiler alone; it says in a [`Change`] what is new, gone or limited
//! otherwise, and only that is touched.
//!
//! Generic over what waits (`T`): the router's packets with whatever it needs to send them later;
//! numbers in tests.

use super::activity::{Active, Activity};
use super::bucket::{Level, Limit};
use super::change::Change;
use super::discipline::Next;
use super::leaves::{IDLE, Leaf, Leaves, WAITS};
use super::limits::Limits;
use super::nodes::{Label, Marks, NONE, Node, Nodes, Ring, Waited};
use super::path::Path;
use super::settings::Settings;
use super::tree::{CLASS, Forest};
use super::wheel::Wheel;
use ahead::Soon;
use wire::Moment;

// Memory that packets touch soon.
mod ahead;

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
    /// No leaf.
    pub const NONE: QueueLeafId = QueueLeafId(u32::MAX);

    /// Its direction.
    pub const fn direction(self) -> Direction {
        if self.0 & 1 == 0 { Direction::Upload } else { Direction::Download }
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

/// The queues' state, which outlives every change of the configuration.
#[derive(Debug)]
pub struct Queues<T> {
    leaves: Leaves,
    limits: Limits,
    activity: Activity,
    nodes: Nodes<T>,
    wheel: Wheel,
    forest: Forest,
    /// Whether the wheel has an entry for those who may send at once.
    at_once: bool,
    /// What waits in queues that are gone: it goes at the next release.
    orphans: Vec<(QueueLeafId, Ring)>,
    /// What disciplines have dropped: for whoever owns the packets.
    dropped: Vec<T>,
}

/// The wheel's key of those who may send at once.
const AT_ONCE: u32 = u32::MAX;

impl<T> Default for Queues<T> {
    fn default() -> Queues<T> {
        Queues {
            leaves: Leaves::default(),
            limits: Limits::default(),
            activity: Activity::default(),
            nodes: Nodes::default(),
            wheel: Wheel::default(),
            forest: Forest::default(),
            at_once: false,
            orphans: Vec::new(),
            dropped: Vec::new(),
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
        self.leaves.move_to(&mut change.room);
        self.leaves.make_places(change.fresh.end);
        let mut grow = false;
        for id in change.gone.iter().flat_map(|queue| queue.leaves()) {
            grow |= self.class(id).is_some();
            let ring = self.flatten(id);
            if ring.packets > 0 {
                self.orphans.push((id, ring));
            }
            let gone = std::mem::replace(&mut self.leaves[id], Leaf::new());
            self.limits.leave(gone.limit);
            if let Some(place) = gone.place() {
                self.activity.end(place);
            }
        }
        for (id, settings) in &change.settings {
            grow |= self.set(*id, settings, now);
        }
        if grow {
            let leaves = &self.leaves;
            let find = |id: QueueLeafId| leaves.get(id).and_then(Leaf::class).unwrap_or(NONE);
            self.forest.grow(find, &mut self.wheel, now);
        } else {
            for &(id, _) in &change.settings {
                if let Some(place) = self.class(id) {
                    self.forest.renew(place, &mut self.wheel, now);
                }
            }
        }
        self.wheel.look();
        self.hurry(now);
    }

    /// Gives a leaf its settings; says whether trees have another form by that.
    fn set(&mut self, id: QueueLeafId, settings: &Settings, now: Moment) -> bool {
        if !settings.is_plain() {
            let (grow, place) = if let Some(place) = self.class(id) {
                let grow = self.forest.set(place, *settings, &mut self.nodes.list, now);
                (grow, place)
            } else {
                let mut ring = self.flatten(id);
                let place = self.forest.make(id, *settings, now);
                let list = &mut self.nodes.list;
                while let Some(node) = ring.pop(list) {
                    self.forest.classes[place as usize].discipline.enqueue(list, node, now);
                }
                // What it has, it has always: a class is never idle.
                self.active(id, now);
                let leaf = &mut self.leaves[id];
                self.limits.leave(std::mem::replace(&mut leaf.limit, CLASS | place));
                leaf.level = Level::NONE;
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
        let was_class = self.class(id).is_some();
        if was_class {
            let mut ring = self.flatten(id);
            if *settings == Settings::plain(Limit::NONE) && ring.packets > 0 {
                self.orphans.push((id, std::mem::take(&mut ring)));
            }
            while ring.packets > u32::from(settings.limit.packets) {
                let last = ring.pop(&mut self.nodes.list);
                self.nodes.list.dropped.extend(last);
            }
            self.note_dropped(id);
            self.put_back(id, ring, now);
        }
        let number = self.limits.take(settings.limit);
        let leaf = &mut self.leaves[id];
        let before = std::mem::replace(&mut leaf.limit, number);
        if let [Some(old), Some(new)] = [before, number].map(|number| self.limits.get(number)) {
            leaf.level = leaf.level.under(&old.terms, &new.terms, now);
        }
        self.limits.leave(before);
        self.wait_anew(id);
        was_class
    }

    /// Takes out what waits in a leaf, which is plain, without limit and empty afterwards.
    fn flatten(&mut self, id: QueueLeafId) -> Ring {
        let leaf = &mut self.leaves[id];
        if let Some(place) = leaf.class() {
            leaf.limit = 0;
            let passed = self.forest.passed(Some(place));
            self.active(id, Moment::ZERO).carry(passed);
            let ring = self.empty(place);
            self.forest.end(place, &mut self.wheel);
            return ring;
        }
        leaf.state = leaf.place().unwrap_or(IDLE);
        let Some(active) = self.activity.get_mut(leaf.state) else { return Ring::default() };
        let entry = std::mem::replace(&mut active.entry, NONE);
        if entry != NONE {
            self.wheel.leave(entry);
        }
        std::mem::take(&mut active.ring)
    }

    /// Takes out what waits in a class.
    fn empty(&mut self, place: u32) -> Ring {
        let mut ring = Ring::default();
        // What is drained is forgotten: the next one starts from nothing.
        let mut discipline = self.forest.take_discipline(place, Moment::ZERO);
        discipline.drain(&mut self.nodes.list, |list, node| ring.push(list, node));
        ring
    }

    /// The same leaves with the same tokens, in which nothing but numbers waits: for a trial.
    pub(crate) fn trial(&self) -> Queues<T> {
        Queues {
            leaves: self.leaves.clone(),
            limits: self.limits.clone(),
            activity: self.activity.clone(),
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

    /// What becomes of a packet of `len` bytes (IP length + 14) at `now`.
    ///
    /// # Panics
    /// If there is no such leaf.
    #[inline(always)] // a call's own work is a third of it
    pub fn offer(&mut self, id: QueueLeafId, now: Moment, len: u32) -> Decision {
        let leaf = &mut self.leaves[id];
        if leaf.state < WAITS
            && let Some(limit) = self.limits.get(leaf.limit)
            && leaf.level.take(&limit.terms, limit.longest_ns, now, len)
        {
            if leaf.count(len) {
                self.carry(id);
            }
            return Decision::Pass;
        }
        self.offer_again(id, now, len)
    }

    /// The same of whoever was idle, of classes, and where somebody waits or must.
    #[inline(never)]
    fn offer_again(&mut self, id: QueueLeafId, now: Moment, len: u32) -> Decision {
        let leaf = &mut self.leaves[id];
        if let Some(class) = leaf.class() {
            return self.offer_class(class, now, len);
        }
        if leaf.state == IDLE {
            leaf.state = self.activity.begin(id, leaf, now);
            return self.offer(id, now, len);
        }
        let place = leaf.state & !WAITS;
        let (active, limit) = (self.activity.get_mut(place), self.limits.get(leaf.limit));
        let Some((active, limit)) = active.zip(limit) else { return Decision::DropFull };
        if active.ring.packets < limit.limit.packets.into() {
            return Decision::Enqueue;
        }
        active.dropped += 1;
        Decision::DropFull
    }

    /// The same of a class: it passes if nobody waits for his turn before it.
    fn offer_class(&mut self, place: u32, now: Moment, len: u32) -> Decision {
        if self.wheel.is_due(now) || !self.forest.pass(place, len, &mut self.wheel, now) {
            return Decision::Enqueue;
        }
        Decision::Pass
    }

    /// Lets `len` bytes pass at once to a port that has room, if nobody waits for it.
    pub(crate) fn pass_to_port(&mut self, id: QueueLeafId, len: u32) -> bool {
        let passes = self.class(id).is_some_and(|class| self.forest.is_idle(class));
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
        let place = self.class(id).ok_or(None)?;
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
        if self.leaves[id].count(len) {
            self.carry(id);
        }
    }

    /// Moves a leaf's counters to where there is room for more.
    #[cold]
    #[inline(never)]
    fn carry(&mut self, id: QueueLeafId) {
        let counted = self.leaves[id].take_counters();
        self.active(id, Moment::ZERO).carry(counted);
    }

    /// Counts a packet as dropped that [`offer`](Self::offer) told to let wait, and that must not.
    pub fn refuse(&mut self, id: QueueLeafId) {
        self.count_dropped(id);
    }

    /// Lets a packet wait that [`offer`](Self::offer) told to. Whom a discipline drops for it, maybe
    /// the packet itself, is given by [`take_dropped`](Self::take_dropped).
    pub fn enqueue(&mut self, id: QueueLeafId, waiting: T, len: u32, label: Label, now: Moment) {
        let node = self.nodes.put(waiting, len, label, now);
        if let Some(place) = self.class(id) {
            let list = &mut self.nodes.list;
            self.forest.classes[place as usize].discipline.enqueue(list, node, now);
            self.note_dropped(id);
            if self.forest.waits(place) {
                self.forest.wake(place, &mut self.wheel, now);
            }
            return self.hurry(now);
        }
        self.active(id, now);
        let leaf = &mut self.leaves[id];
        leaf.state |= WAITS;
        let ring = &mut self.activity.of(leaf.state & !WAITS).ring;
        ring.push(&mut self.nodes.list, node);
        if ring.packets == 1 {
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
    /// the packet, and what it was to its queue.
    ///
    /// Each packet is paid for at its own deadline, not at `now`: calling late delays packets, but
    /// the rate is met all the same. What goes at once then is bounded by how many may wait.
    pub fn release(&mut self, now: Moment, mut go: impl FnMut(QueueLeafId, T, Waited)) {
        for (id, mut ring) in std::mem::take(&mut self.orphans) {
            while let Some(node) = ring.pop(&mut self.nodes.list) {
                if let Some((waiting, waited)) = self.nodes.let_go(node) {
                    go(id, waiting, waited);
                }
            }
        }
        let are_many = self.are_many() || self.nodes.are_many();
        let mut soon = are_many.then(Soon::default);
        while let Some((deadline, key)) = self.wheel.pop(now) {
            if let Some(soon) = &mut soon {
                self.foresee(soon);
            }
            if key == AT_ONCE {
                self.at_once = false;
                self.serve(deadline, &mut go);
                continue;
            }
            if key & CLASS != 0 {
                let (list, wheel) = (&mut self.nodes.list, &mut self.wheel);
                match self.forest.due_alone(key & !CLASS, list, wheel, deadline) {
                    Some((id, node)) => self.give(id, node, &mut go),
                    None => self.serve(deadline, &mut go),
                }
                if self.forest.is_ready() {
                    self.serve(deadline, &mut go);
                }
                continue;
            }
            let id = QueueLeafId(key);
            let leaf = &mut self.leaves[id];
            let active = self.activity.get_mut(leaf.state & !WAITS);
            let Some((active, limit)) = active.zip(self.limits.get(leaf.limit)) else { continue };
            active.entry = NONE;
            let Some(node) = active.ring.pop(&mut self.nodes.list) else { continue };
            if active.ring.packets == 0 {
                leaf.state &= !WAITS;
            }
            let len = self.nodes.list[node].len;
            leaf.level.pay(&limit.terms, deadline, len);
            self.count(id, len);
            self.wait_anew(id);
            if let Some((waiting, waited)) = self.nodes.let_go(node) {
                go(id, waiting, waited);
            }
        }
    }

    /// Lets go who may send in trees at `now`.
    fn serve(&mut self, now: Moment, go: &mut impl FnMut(QueueLeafId, T, Waited)) {
        while let Some((id, node)) = self.forest.next(&mut self.nodes.list, &mut self.wheel, now) {
            self.give(id, node, go);
        }
        self.note_dropped(QueueLeafId(NONE));
    }

    /// Gives away who goes, paid for by a class and those above it.
    fn give(&mut self, id: QueueLeafId, node: u32, go: &mut impl FnMut(QueueLeafId, T, Waited)) {
        self.note_dropped(id);
        if let Some((waiting, waited)) = self.nodes.let_go(node) {
            go(id, waiting, waited);
        }
    }

    /// Takes out what a leaf's discipline has dropped, and counts it.
    #[inline]
    fn note_dropped(&mut self, id: QueueLeafId) {
        if !self.nodes.list.dropped.is_empty() {
            self.count_all_dropped(id);
        }
    }

    #[inline(never)]
    fn count_all_dropped(&mut self, id: QueueLeafId) {
        for node in std::mem::take(&mut self.nodes.list.dropped) {
            self.count_dropped(id);
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

    fn count_dropped(&mut self, id: QueueLeafId) {
        if id.0 != NONE {
            self.active(id, Moment::ZERO).dropped += 1;
        }
    }

    /// What is known of a leaf, which is not idle from now on.
    fn active(&mut self, id: QueueLeafId, now: Moment) -> &mut Active {
        let leaf = &mut self.leaves[id];
        if leaf.state == IDLE {
            leaf.state = self.activity.begin(id, leaf, now);
        }
        self.activity.of(leaf.state & !WAITS)
    }

    /// Enters a plain leaf in the wheel, by when its first packet has its tokens.
    fn wait_anew(&mut self, id: QueueLeafId) {
        let leaf = &self.leaves[id];
        let active = leaf.place().and_then(|place| self.activity.get_mut(place));
        let Some((active, limit)) = active.zip(self.limits.get(leaf.limit)) else { return };
        if active.entry != NONE {
            self.wheel.leave(std::mem::replace(&mut active.entry, NONE));
        }
        if let Some(first) = active.ring.first() {
            let ready = leaf.level.ready(&limit.terms, self.nodes.list[first].len);
            active.entry = self.wheel.enter(ready, id.0);
        }
    }

    /// All trees, as they are.
    #[cfg(test)]
    pub(super) fn forest(&self) -> &Forest {
        &self.forest
    }

    /// How many bits of IPv6's addresses a queue looks at, if it asks for that.
    pub(crate) fn lengths6(&self, id: QueueLeafId) -> Option<[u8; 2]> {
        let place = self.class(id)?;
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

    /// The place of a leaf's class, if it is one.
    fn class(&self, id: QueueLeafId) -> Option<u32> {
        self.leaves[id].class()
    }

    /// Lets these wait in a plain leaf.
    fn put_back(&mut self, id: QueueLeafId, ring: Ring, now: Moment) {
        if ring.packets > 0 {
            self.active(id, now).ring = ring;
            self.leaves[id].state |= WAITS;
        }
    }

    /// Takes the rates' samples; call it a few times a second at least.
    pub fn sample(&mut self, now: Moment) {
        self.activity.sample(&mut self.leaves, &self.forest, now);
    }

    /// A leaf's readings.
    pub fn stats(&self, id: QueueLeafId) -> LeafStats {
        let leaf = &self.leaves[id];
        let Some(active) = leaf.place().and_then(|place| self.activity.get(place)) else {
            let (bytes, packets) = leaf.counters();
            return LeafStats { bytes, packets, ..LeafStats::default() };
        };
        let waiting = match leaf.class() {
            Some(class) => self.forest.classes[class as usize].discipline.waiting(),
            None => (active.ring.packets, active.ring.bytes),
        };
        active.stats(leaf, self.forest.passed(leaf.class()), waiting)
    }

    /// `reset-counters`: bytes, packets and drops of a queue back to zero.
    pub fn reset(&mut self, queue: QueueId) {
        for id in queue.leaves() {
            let leaf = &mut self.leaves[id];
            leaf.take_counters();
            if let Some(class) = leaf.class() {
                self.forest.classes[class as usize].passed = (0, 0);
            }
            if let Some(active) = leaf.place().and_then(|place| self.activity.get_mut(place)) {
                active.reset();
            }
        }
    }

    /// What waits, in no particular order, and what was dropped and is not taken yet.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        self.nodes.waiting().chain(&self.dropped)
    }

    /// Memory taken by leaves and waiting packets, in bytes.
    pub fn bytes(&self) -> usize {
        self.leaves.bytes()
            + self.limits.bytes()
            + self.activity.bytes()
            + self.nodes.bytes()
            + self.wheel.bytes()
            + self.forest.bytes()
    }
}

#[cfg(test)]
mod tests;
