//! Change of the queues by a new configuration: those that are new, gone, or limited otherwise.
//!
//! ```text
//! old items ─┐                       ┌ fresh     leaves begin at zero
//!            ├─► Change ─► (swapped) ┤ gone      what waits goes at the next release
//! new items ─┘                       └ settings  buckets keep their tokens
//! ```
//!
//! Made on the control side, in time proportional to the configuration; carried out by
//! [`Queues::apply`](super::Queues::apply), in time proportional to the change.

use super::Limit;
use super::leaf::{QueueId, QueueLeafId};
use super::leaves::Leaves;
use super::settings::Settings;
use crate::book::{Book, Fresh};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What to do to the leaves.
#[derive(Debug)]
pub struct Change {
    pub(super) fresh: Fresh<QueueId>,
    pub(super) gone: Vec<QueueId>,
    pub(super) settings: Vec<(QueueLeafId, Settings)>,
    /// Memory for more leaves; afterwards what they had before, to be freed where nobody waits.
    pub(super) room: Leaves,
    /// For how many queues room is brought.
    pub(super) room_for: usize,
}

impl Change {
    /// What leads from one configuration to another: `settings` are those of all leaves that are new
    /// or have others than before. `gone` are queues whose items are gone; `book` gave the numbers of
    /// both and has not been asked for fresh ones since.
    pub fn new(
        settings: Vec<(QueueLeafId, Settings)>,
        gone: Vec<QueueId>,
        book: &mut Book<QueueId>,
    ) -> Change {
        Change { fresh: book.take_fresh(), gone, settings, room: Leaves::default(), room_for: 0 }
    }

    /// For how many queues there must be room.
    pub fn queues(&self) -> usize {
        self.fresh.end
    }

    /// For how many queues room is brought; 0 if none is.
    pub fn room(&self) -> usize {
        self.room_for
    }

    /// Brings room for as many queues as there are by now and a sixteenth more, so that nothing is
    /// allocated where packets flow: for the change with which they no longer fit.
    pub fn make_room(&mut self) {
        self.room_for = self.fresh.end + self.fresh.end / 16 + 1;
        // Written to once, so that the memory is really there.
        self.room = Leaves::of(self.room_for);
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.fresh.ids.is_empty() && self.gone.is_empty() && self.settings.is_empty()
    }
}

/// What of these classes is new or has other settings than before; those that are there no more let
/// everything go. What stood in the places of `gone` queues is no before.
pub(super) fn changed(
    old: impl Iterator<Item = (QueueLeafId, Settings)>,
    new: impl Iterator<Item = (QueueLeafId, Settings)>,
    gone: &[QueueId],
) -> Vec<(QueueLeafId, Settings)> {
    let gone: HashSet<QueueLeafId> = gone.iter().flat_map(|queue| queue.leaves()).collect();
    let mut old: HashMap<QueueLeafId, Settings> =
        old.filter(|(id, _)| !gone.contains(id)).collect();
    let none = Settings::plain(Limit::NONE);
    let mut changes: Vec<(QueueLeafId, Settings)> =
        new.filter(|(id, settings)| old.remove(id).unwrap_or(none) != *settings).collect();
    let left: BTreeSet<QueueLeafId> = old.into_keys().collect();
    changes.extend(left.into_iter().map(|id| (id, none)));
    changes
}
