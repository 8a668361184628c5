//! Places of leaves: both of a queue in one cache line, as small as they can be, since a million queues have
//! two each.

use super::bucket::Level;
use super::leaf::QueueLeafId;
use super::tree::CLASS;
use std::ops::{Index, IndexMut};

/// What a packet touches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) level: Level,
    /// What it has counted of late, bytes and 2³² times packets; what does not fit is
    /// [carried](super::activity::Active::carry).
    counted: u64,
    /// The number of its limit; of a class its place, and the bit [`CLASS`].
    pub(super) limit: u32,
    /// Its place among the active, with the bit [`WAITS`] if somebody waits in it and it is plain; or
    /// [`IDLE`].
    pub(super) state: u32,
}

/// Nothing is known of it but its counters.
pub(super) const IDLE: u32 = u32::MAX;
pub(super) const WAITS: u32 = 1 << 31;

impl Leaf {
    pub(super) const fn new() -> Leaf {
        Leaf { level: Level::NONE, counted: 0, limit: 0, state: IDLE }
    }

    /// Counts a packet; says whether there may be no room for another. Packets are fewer than bytes.
    #[inline(always)]
    pub(super) fn count(&mut self, len: u32) -> bool {
        self.counted += PACKET | u64::from(len.min(FULL));
        self.counted as u32 >= FULL
    }

    /// The bytes and packets that it has counted and nobody carried.
    pub(super) fn counters(&self) -> (u64, u64) {
        (self.counted % PACKET, self.counted / PACKET)
    }

    /// Takes them out.
    pub(super) fn take_counters(&mut self) -> (u64, u64) {
        let counters = self.counters();
        self.counted = 0;
        counters
    }

    /// Whether a bucket and a pfifo are all there is to it.
    pub(super) fn is_plain(&self) -> bool {
        self.limit & CLASS == 0
    }

    /// Its class's place.
    pub(super) fn class(&self) -> Option<u32> {
        (!self.is_plain()).then_some(self.limit & !CLASS)
    }

    /// Whether somebody waits in it and it is plain.
    pub(super) fn waits(&self) -> bool {
        self.state & WAITS != 0 && self.state != IDLE
    }

    /// Its place among the active.
    pub(super) fn place(&self) -> Option<u32> {
        (self.state != IDLE).then_some(self.state & !WAITS)
    }
}

/// As much again still fits, and no packet is longer.
const FULL: u32 = 1 << 31;
const PACKET: u64 = 1 << 32;

/// Both leaves of a queue.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Both([Leaf; 2]);

const _: () = assert!(size_of::<Both>() == 64, "a queue is one cache line");

/// All leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaves(Vec<Both>);

impl Leaves {
    /// New ones of so many queues.
    pub(super) fn of(queues: usize) -> Leaves {
        Leaves(vec![Both([Leaf::new(); 2]); queues])
    }

    /// How many queues have places.
    pub(super) fn queues(&self) -> usize {
        self.0.len()
    }

    /// Sees to it that so many have.
    pub(super) fn make_places(&mut self, queues: usize) {
        let queues = queues.max(self.queues());
        self.0.resize(queues, Both([Leaf::new(); 2]));
    }

    /// Moves to others' memory, if that has room for more, which get this one's.
    pub(super) fn move_to(&mut self, room: &mut Leaves) {
        if room.0.capacity() > self.0.capacity() {
            room.0.clear();
            room.0.extend_from_slice(&self.0);
            std::mem::swap(self, room);
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, id: QueueLeafId) -> Option<&Leaf> {
        self.0.get(id.0 as usize / 2).map(|both| &both.0[id.0 as usize % 2])
    }

    /// Asks for a leaf's memory.
    #[inline(always)]
    pub(super) fn prefetch(&self, id: QueueLeafId) {
        port::prefetch::element(&self.0, id.0 as usize / 2);
    }

    /// Memory taken.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Both>()
    }
}

impl Index<QueueLeafId> for Leaves {
    type Output = Leaf;

    #[inline(always)]
    fn index(&self, id: QueueLeafId) -> &Leaf {
        &self.0[id.0 as usize / 2].0[id.0 as usize % 2]
    }
}

impl IndexMut<QueueLeafId> for Leaves {
    #[inline(always)]
    fn index_mut(&mut self, id: QueueLeafId) -> &mut Leaf {
        &mut self.0[id.0 as usize / 2].0[id.0 as usize % 2]
    }
}
