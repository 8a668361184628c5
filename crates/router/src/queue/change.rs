//! What of the queues a change of the configuration makes new, removes, or limits otherwise.
//!
//! ```text
//! old Simple ─┐                       ┌ fresh   leaves begin at zero
//!             ├─► Change ─► (swapped) ┤ gone    what waits goes at the next release
//! new Simple ─┘                       └ limits  buckets keep their tokens
//! ```
//!
//! Made on the control side, in time proportional to the configuration; carried out by
//! [`Queues::apply`](super::Queues::apply), in time proportional to the change.

use super::Simple;
use super::bucket::Limit;
use super::leaf::{Cold, Leaf, QueueId};
use crate::book::{Book, Fresh};

/// What to do to the leaves.
#[derive(Debug)]
pub struct Change {
    pub(super) fresh: Fresh<QueueId>,
    pub(super) gone: Vec<QueueId>,
    pub(super) limits: Vec<(QueueId, [Limit; 2])>,
    pub(super) room: Room,
    /// For how many queues room is brought.
    pub(super) room_for: usize,
}

impl Change {
    /// What leads from `old` to `new`. `gone` are queues whose items are gone; `book` gave the
    /// numbers of both and has not been asked for fresh ones since `old`.
    pub fn between(
        old: &Simple,
        new: &Simple,
        gone: Vec<QueueId>,
        book: &mut Book<QueueId>,
    ) -> Change {
        let fresh = book.take_fresh();
        let mut before = vec![[Limit::NONE; 2]; fresh.end];
        for (id, limits) in old.limits() {
            before[id.0 as usize] = limits;
        }
        // A queue that is gone leaves its place without limits, maybe to another.
        for id in &gone {
            before[id.0 as usize] = [Limit::NONE; 2];
        }
        let mut after = vec![[Limit::NONE; 2]; fresh.end];
        for (id, limits) in new.limits() {
            after[id.0 as usize] = limits;
        }
        let ids = (0..).map(QueueId);
        let changed = ids.zip(before.iter().zip(&after)).filter(|(_, (old, new))| old != new);
        let limits = changed.map(|(id, (_, new))| (id, *new)).collect();
        Change { fresh, gone, limits, room: Room::default(), room_for: 0 }
    }

    /// For how many queues there must be room.
    pub fn queues(&self) -> usize {
        self.fresh.end
    }

    /// For how many queues room is brought; 0 if none is.
    pub fn room(&self) -> usize {
        self.room_for
    }

    /// Brings room for as many queues as there are by now and as many again, so that nothing is
    /// allocated where packets flow: for the change with which they no longer fit.
    pub fn make_room(&mut self) {
        self.room_for = 2 * self.fresh.end;
        let places = 2 * self.room_for;
        // Written to once, so that the memory is really there.
        self.room.leaves = vec![Leaf::new(); places];
        self.room.cold = vec![Cold::default(); places];
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.fresh.ids.is_empty() && self.gone.is_empty() && self.limits.is_empty()
    }
}

/// Memory for more leaves; afterwards what they had before, to be freed where nobody waits.
#[derive(Debug, Default)]
pub(super) struct Room {
    leaves: Vec<Leaf>,
    cold: Vec<Cold>,
}

impl Room {
    pub(super) fn take_in(&mut self, leaves: &mut Vec<Leaf>, cold: &mut Vec<Cold>) {
        if self.leaves.capacity() > leaves.capacity() {
            self.leaves.clear();
            self.leaves.extend_from_slice(leaves);
            std::mem::swap(&mut self.leaves, leaves);
        }
        if self.cold.capacity() > cold.capacity() {
            self.cold.clear();
            self.cold.extend_from_slice(cold);
            std::mem::swap(&mut self.cold, cold);
        }
    }
}
