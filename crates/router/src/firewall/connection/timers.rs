//! Timers of connections: wheels of coarse time, touched when something lapses, not per packet.
//!
//! ```text
//!  packet ─► Flow::last_ms ............ all a packet writes
//!                 ▲ read when the slot's time has come
//!  slot 0 │ 1 │ 2 │ … │ 1023      256 ms each: 262 s round
//!         │   └─ ring of connections that may have lapsed by then
//!         └ lapsed? end it : put it where last_ms + timeout falls
//! ```
//!
//! A connection in use is looked at once a timeout, or once a round if that is longer. What makes
//! a timeout shorter moves the connection forward at once; what makes it longer does not.
//! Connections end at most 256 ms late, and later only if the sweep's budget is too small.
//!
//! There are four wheels, by how dispensable connections are ([`Rank`]): when the table is full
//! the one that lapses next among the most dispensable gives way.
//!
//! Never reads a clock. All times wrap with [`wire::Moment::as_millis_u32`].

use super::record::{Connection, ConnectionId};

/// Milliseconds in a slot, as a power of two.
const TICK_BITS: u32 = 8;
/// Slots of a wheel.
const SLOTS: u32 = 1024;
/// Ticks are counted in this many bits, because milliseconds are in 32.
const TICKS: u32 = u32::MAX >> TICK_BITS;

/// How dispensable a connection is when the table is full, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// Nobody answered yet, or nobody needs to.
    Unreplied = 0,
    /// TCP before its handshake is complete.
    Opening = 1,
    /// TCP on its way out.
    Closing = 2,
    /// Everything else: never gives way.
    Kept = 3,
}

/// A connection's place in a wheel: neighbours in the slot's ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    next: ConnectionId,
    prev: ConnectionId,
    slot: u16,
    pub(super) rank: Rank,
}

impl Timer {
    /// In no wheel.
    pub(super) const IDLE: Timer =
        Timer { next: ConnectionId::NONE, prev: ConnectionId::NONE, slot: 0, rank: Rank::Kept };

    /// A free place in the slab uses the link to chain the free ones.
    pub(super) fn free(next: ConnectionId) -> Timer {
        Timer { next, ..Timer::IDLE }
    }

    /// The one after it: in its slot's ring, or among the free ones.
    #[inline]
    pub(super) fn next(self) -> ConnectionId {
        self.next
    }
}

struct Wheel {
    heads: [ConnectionId; SLOTS as usize],
    occupied: [u64; SLOTS as usize / 64],
}

/// All wheels. The connections themselves are handed in: they are linked through the slab.
pub(super) struct Timers {
    wheels: Box<[Wheel; 4]>,
    /// The first tick that is not done yet.
    cursor: u32,
}

type Slab = [Connection];

impl Timers {
    /// Bytes of memory.
    pub(super) const BYTES: usize = size_of::<[Wheel; 4]>();

    pub(super) fn new() -> Timers {
        let wheel = || Wheel {
            heads: [ConnectionId::NONE; SLOTS as usize],
            occupied: [0; SLOTS as usize / 64],
        };
        Timers { wheels: Box::new([wheel(), wheel(), wheel(), wheel()]), cursor: 0 }
    }

    /// Puts a connection in no wheel where it is looked at when `deadline_ms` has come.
    pub(super) fn insert(
        &mut self,
        slab: &mut Slab,
        id: ConnectionId,
        rank: Rank,
        deadline_ms: u32,
    ) {
        self.link(slab, id, rank, self.slot(deadline_ms));
    }

    fn link(&mut self, slab: &mut Slab, id: ConnectionId, rank: Rank, slot: u16) {
        let wheel = &mut self.wheels[rank as usize];
        let head = wheel.heads[usize::from(slot)];
        let (next, prev) = if head == ConnectionId::NONE {
            wheel.heads[usize::from(slot)] = id;
            wheel.occupied[usize::from(slot / 64)] |= 1 << (slot % 64);
            (id, id)
        } else {
            let tail = slab[head.index()].timer.prev;
            slab[tail.index()].timer.next = id;
            slab[head.index()].timer.prev = id;
            (head, tail)
        };
        slab[id.index()].timer = Timer { next, prev, slot, rank };
    }

    /// Takes a connection out of its wheel.
    pub(super) fn remove(&mut self, slab: &mut Slab, id: ConnectionId) {
        let Timer { next, prev, slot, rank } = slab[id.index()].timer;
        let wheel = &mut self.wheels[rank as usize];
        if next == id {
            wheel.heads[usize::from(slot)] = ConnectionId::NONE;
            wheel.occupied[usize::from(slot / 64)] &= !(1 << (slot % 64));
        } else {
            slab[prev.index()].timer.next = next;
            slab[next.index()].timer.prev = prev;
            if wheel.heads[usize::from(slot)] == id {
                wheel.heads[usize::from(slot)] = next;
            }
        }
        slab[id.index()].timer = Timer::IDLE;
    }

    /// Moves a connection to the same slot of another wheel.
    pub(super) fn change_rank(&mut self, slab: &mut Slab, id: ConnectionId, rank: Rank) {
        let slot = slab[id.index()].timer.slot;
        self.remove(slab, id);
        self.link(slab, id, rank, slot);
    }

    /// Whether a deadline lies before the time at which the connection is looked at anyway.
    pub(super) fn is_earlier(&self, timer: Timer, deadline_ms: u32) -> bool {
        self.ahead(self.slot(deadline_ms)) < self.ahead(timer.slot)
    }

    /// The next connection whose time has come, if any by `now_ms`. It stays where it is: the
    /// caller takes it out or puts it elsewhere before asking again.
    pub(super) fn due(&mut self, now_ms: u32) -> Option<ConnectionId> {
        let now = now_ms >> TICK_BITS;
        let mut behind = now.wrapping_sub(self.cursor) & TICKS;
        if behind >= SLOTS {
            // A whole round or more is late (or time went backwards, which is treated alike):
            // each slot once is enough.
            self.cursor = now.wrapping_sub(SLOTS - 1) & TICKS;
            behind = SLOTS - 1;
        }
        let next = |wheel: &Wheel| {
            let slot = wheel.next(self.cursor % SLOTS)?;
            Some((self.ahead(slot), wheel.heads[usize::from(slot)]))
        };
        match self.wheels.iter().filter_map(next).min_by_key(|&(ahead, _)| ahead) {
            Some((ahead, id)) if ahead <= behind => {
                self.cursor = (self.cursor + ahead) & TICKS;
                Some(id)
            }
            _ => {
                self.cursor = now;
                None
            }
        }
    }

    /// The connection of this rank that lapses next.
    pub(super) fn next_of(&self, rank: Rank) -> Option<ConnectionId> {
        let wheel = &self.wheels[rank as usize];
        wheel.next(self.cursor % SLOTS).map(|slot| wheel.heads[usize::from(slot)])
    }

    /// The slot for a deadline: the one that begins at or after it, within one round.
    fn slot(&self, deadline_ms: u32) -> u16 {
        let tick = (deadline_ms >> TICK_BITS)
            .wrapping_add(u32::from(deadline_ms & ((1 << TICK_BITS) - 1) != 0))
            & TICKS;
        let ahead = tick.wrapping_sub(self.cursor) & TICKS;
        // A deadline in the past is due now; one beyond the round is looked at when it is over.
        let ahead = if ahead > TICKS / 2 { 0 } else { ahead.min(SLOTS - 1) };
        ((self.cursor + ahead) % SLOTS) as u16
    }

    /// How many slots after the cursor.
    fn ahead(&self, slot: u16) -> u32 {
        u32::from(slot).wrapping_sub(self.cursor) % SLOTS
    }
}

impl Wheel {
    /// The first slot in use from `start` on, going round.
    fn next(&self, start: u32) -> Option<u16> {
        let words = self.occupied.len();
        let (word, bit) = (start as usize / 64, start % 64);
        let pick = |word: usize, bits: u64| {
            (bits != 0).then(|| (word * 64) as u16 + bits.trailing_zeros() as u16)
        };
        pick(word, self.occupied[word] & (u64::MAX << bit))
            .or_else(|| {
                (1..words)
                    .map(|i| (word + i) % words)
                    .find_map(|word| pick(word, self.occupied[word]))
            })
            .or_else(|| pick(word, self.occupied[word] & !(u64::MAX << bit)))
    }
}
