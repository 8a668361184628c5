//! The classes that a packet passes, one after the other: HTB global, its simple queue, and that of
//! both ways together.

use super::leaf::QueueLeafId;

/// At most three classes, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path([QueueLeafId; 3]);

impl Path {
    /// No class.
    pub const NONE: Path = Path([QueueLeafId::NONE; 3]);

    /// These classes, those that are none left out.
    pub fn of(leaves: [Option<QueueLeafId>; 3]) -> Path {
        let mut path = Path::NONE;
        for (place, leaf) in path.0.iter_mut().zip(leaves.into_iter().flatten()) {
            *place = leaf;
        }
        path
    }

    /// The first class.
    #[inline(always)]
    pub fn first(self) -> Option<QueueLeafId> {
        (self.0[0] != QueueLeafId::NONE).then_some(self.0[0])
    }

    /// The class at each place; behind the last there is [`QueueLeafId::NONE`].
    #[inline(always)]
    pub fn places(&self) -> &[QueueLeafId; 3] {
        &self.0
    }

    /// Those from a place on.
    pub fn skip(mut self, places: usize) -> Path {
        (0..places).for_each(|_| self = self.rest());
        self
    }

    /// Those behind the first.
    #[inline(always)]
    pub fn rest(self) -> Path {
        Path([self.0[1], self.0[2], QueueLeafId::NONE])
    }
}
