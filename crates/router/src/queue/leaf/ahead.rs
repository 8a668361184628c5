//! Look-ahead: memory is asked for some packets before their turns, of thousands of queues.
//!
//! ```text
//! who comes:  leaf, 24 before its turn ─► its class, or what is active, 12 ─► its flow, 4
//! who goes:   class, 24 before its turn ─► its flow, 16 ─► the packet, 9
//! ```
//!
//! A few lines with each packet, not all of a batch at once: a core waits for some twenty lines at a time, and
//! drops what it is asked for meanwhile (measured on Zen 4: to ask for 256 lines at once saved nothing).

use super::{AT_ONCE, QueueLeafId, Queues};
use crate::queue::leaves::Leaf;
use crate::queue::tree::CLASS;

/// How many packets before its turn each thing is asked for.
const LEAF: usize = 24;
const CLASS_OF_LEAF: usize = 12;
const FLOW_OF_LEAF: usize = 4;
const DUE: usize = 24;
const FLOW: usize = 16;
const PACKET: usize = 9;

/// Who is due next, as far as that is known.
#[derive(Debug)]
pub(super) struct Soon {
    keys: [u32; Soon::MOST],
    n: usize,
    turn: usize,
}

impl Soon {
    const MOST: usize = 64;
}

impl Default for Soon {
    fn default() -> Soon {
        Soon { keys: [0; Soon::MOST], n: 0, turn: 0 }
    }
}

impl<T> Queues<T> {
    /// Whether they are too many for the caches.
    #[inline(always)]
    pub(crate) fn are_many(&self) -> bool {
        self.leaves.queues() > 1024
    }

    /// Whether it is enough to ask for leaves: nobody waits.
    #[inline]
    pub(crate) fn are_idle(&self) -> bool {
        self.forest.is_empty() && self.wheel.soonest().is_none()
    }

    /// Asks for what the first packets of a batch will touch that go to these leaves, some to none.
    pub(crate) fn look_ahead(&self, leaves: &[QueueLeafId]) {
        leaves.iter().take(LEAF).for_each(|&id| self.foresee_leaf(id));
        if !self.are_idle() {
            (0..CLASS_OF_LEAF.min(leaves.len())).for_each(|at| self.foresee_class(leaves[at]));
        }
    }

    /// Asks for what those behind one of the batch will touch, if nobody waits.
    #[inline(always)]
    pub(crate) fn look_ahead_idle(&self, leaves: &[QueueLeafId], at: usize) {
        if let Some(&id) = leaves.get(at + LEAF) {
            self.foresee_leaf(id);
        }
    }

    /// The same, if somebody may.
    #[inline(never)]
    pub(crate) fn look_ahead_from(&self, leaves: &[QueueLeafId], at: usize) {
        self.look_ahead_idle(leaves, at);
        let leaf = |ahead: usize| leaves.get(at + ahead);
        if let Some(&id) = leaf(CLASS_OF_LEAF) {
            self.foresee_class(id);
        }
        if let Some(class) = leaf(FLOW_OF_LEAF).and_then(|&id| self.leaves.get(id)?.class()) {
            self.forest.foresee_tokens(class);
            self.forest.classes[class as usize].discipline.foresee();
        }
    }

    #[inline]
    fn foresee_leaf(&self, id: QueueLeafId) {
        if id != QueueLeafId::NONE {
            self.leaves.prefetch(id);
        }
    }

    /// Asks for what a packet touches of a leaf's class, or of what waits in it.
    #[inline]
    fn foresee_class(&self, id: QueueLeafId) {
        let Some(leaf) = self.leaves.get(id) else { return };
        match (leaf.class(), leaf.place()) {
            (Some(class), _) => self.forest.foresee_coming(class),
            (None, Some(place)) if leaf.waits() => self.activity.foresee(place),
            _ => {}
        }
    }

    /// Somebody is due: asks for what those behind will touch. With thousands of queues, all that a packet needs
    /// to go on has left the caches since it came.
    pub(super) fn foresee(&self, soon: &mut Soon) {
        soon.turn += 1;
        let goes_on = soon.n == Soon::MOST && soon.turn + DUE >= soon.n;
        let asked = if goes_on { DUE } else { 0 };
        if goes_on || soon.turn >= soon.n {
            (soon.n, soon.turn) = (self.wheel.upcoming(&mut soon.keys), 0);
            let keys = &soon.keys[..soon.n];
            keys.iter().take(DUE).skip(asked).for_each(|&key| self.foresee_due(key));
            keys.iter().take(FLOW).skip(asked).for_each(|&key| self.foresee_flow(key));
        }
        let key = |ahead: usize| soon.keys[..soon.n].get(soon.turn + ahead).copied();
        key(DUE).into_iter().for_each(|key| self.foresee_due(key));
        key(FLOW).into_iter().for_each(|key| self.foresee_flow(key));
        key(PACKET).into_iter().for_each(|key| self.foresee_packet(key));
    }

    #[inline]
    fn foresee_due(&self, key: u32) {
        if key & CLASS == 0 {
            self.leaves.prefetch(QueueLeafId(key));
        } else if key != AT_ONCE {
            self.forest.foresee(key & !CLASS);
        }
    }

    #[inline]
    fn foresee_flow(&self, key: u32) {
        if key & CLASS != 0 {
            let class = self.forest.classes.get((key & !CLASS) as usize);
            class.into_iter().for_each(|class| class.discipline.foresee());
        } else if let Some(place) = self.leaves.get(QueueLeafId(key)).and_then(Leaf::place) {
            self.activity.foresee(place);
        }
    }

    #[inline]
    fn foresee_packet(&self, key: u32) {
        let node = if key & CLASS != 0 {
            let class = self.forest.classes.get((key & !CLASS) as usize);
            class.and_then(|class| class.discipline.likely())
        } else {
            let place = self.leaves.get(QueueLeafId(key)).and_then(Leaf::place);
            place.and_then(|place| self.activity.get(place)?.ring.first())
        };
        node.into_iter().for_each(|node| self.nodes.foresee(node));
    }
}
