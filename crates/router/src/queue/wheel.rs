//! A timing wheel: who is due when, to the nanosecond.
//!
//! ```text
//! level 0: 128 slots of 1 ns    level 1: 128 of 128 ns    level 2: 128 of 16,384 ns …    (Varghese, Lauck 1987)
//!          one bit for each slot in which somebody waits: the first set bit is the next one due
//! ```
//!
//! An entry stands on the level of the first digit (in base 128) in which its moment differs from the
//! wheel's; when the wheel comes to its slot, it moves down. So entering, leaving and becoming due
//! cost a few operations, however many wait, and nothing is rounded. Of one moment, who came first is
//! due first.
//!
//! Of thousands, entries have left the caches when the wheel comes to their slot: each knows who stands some
//! behind it, to ask for that one meanwhile.

use wire::Moment;

const LEVELS: usize = 10; // 70 bits
const SLOTS: usize = 1 << BITS;
const BITS: usize = 7;
const NONE: u32 = u32::MAX;

/// An entry's name, as long as it is in the wheel.
pub(super) type EntryId = u32;

/// The wheel; keys are the caller's.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    /// No entry is due before.
    now: u64,
    /// The last entry of each slot's ring.
    slots: Box<[u32]>,
    full: [u128; LEVELS],
    /// One bit for each level in which somebody waits.
    levels: u32,
    entries: Vec<Entry>,
    free: u32,
    /// When the first entry is due; the end of time if there is none.
    soonest: u64,
    /// Of each slot of the upper levels, who came some before the last, and how many they were at most.
    lags: Box<[(u32, u32)]>,
}

/// From this level on, slots hold many who came long ago.
const MANY: usize = 2;
/// So many before its turn an entry of those is asked for.
const AHEAD: u32 = 8;

#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Entry {
    at: u64,
    key: u32,
    slot: u16,
    next: u32,
    before: u32,
    /// Who came [`AHEAD`] behind it, most likely: a hint.
    skip: u32,
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel {
            now: 0,
            slots: vec![NONE; LEVELS * SLOTS].into(),
            full: [0; LEVELS],
            levels: 0,
            entries: Vec::new(),
            free: NONE,
            soonest: u64::MAX,
            lags: vec![(NONE, 0); LEVELS * SLOTS].into(),
        }
    }
}

impl Wheel {
    /// When somebody is due next.
    #[inline]
    pub(super) fn soonest(&self) -> Option<Moment> {
        (self.levels != 0).then(|| Moment::from_nanos(self.soonest))
    }

    /// Whether somebody is due by `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.soonest <= now.as_nanos() && self.levels != 0
    }

    /// Enters somebody; a moment that is past becomes the wheel's own.
    pub(super) fn enter(&mut self, at: Moment, key: u32) -> EntryId {
        let at = at.as_nanos().max(self.now);
        let entry = Entry { at, key, slot: 0, next: NONE, before: NONE, skip: 0 };
        let id = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = self.entries[id as usize].next;
            self.entries[id as usize] = entry;
            id
        };
        self.link(id);
        self.soonest = self.soonest.min(at);
        id
    }

    /// Takes an entry out.
    pub(super) fn leave(&mut self, id: EntryId) {
        self.unlink(id);
        let entry = &mut self.entries[id as usize];
        let at = entry.at;
        entry.next = self.free;
        self.free = id;
        if at == self.soonest {
            self.look();
        }
    }

    /// Takes out the first entry that is due by `now`: when it was, and its key.
    pub(super) fn pop(&mut self, now: Moment) -> Option<(Moment, u32)> {
        let now = now.as_nanos();
        loop {
            let Some(level) = self.first_level() else {
                self.soonest = u64::MAX;
                return None;
            };
            let digit = u64::from(self.full[level].trailing_zeros());
            let shift = (BITS * level) as u32;
            // The digits above are the wheel's, those below begin at zero.
            let above = self.now.checked_shr(shift + BITS as u32).map_or(0, |n| n << shift << BITS);
            let start = above | digit << shift;
            if start > now {
                self.look();
                return None;
            }
            self.now = start;
            let last = self.slots[level * SLOTS + digit as usize];
            if level == 0 {
                let id = self.entries[last as usize].next;
                let Entry { at, key, .. } = self.entries[id as usize];
                self.unlink(id);
                self.entries[id as usize].next = self.free;
                self.free = id;
                self.soonest = at;
                return Some((Moment::from_nanos(at), key));
            }
            self.clear(level, digit as usize);
            let mut id = self.entries[last as usize].next;
            loop {
                let next = self.entries[id as usize].next;
                port::prefetch::element(&self.entries, self.entries[id as usize].skip as usize);
                self.link(id);
                if id == last {
                    break;
                }
                id = next;
            }
        }
    }

    /// Finds out who is due first, after some were taken out.
    pub(super) fn look(&mut self) {
        let Some(level) = self.first_level() else {
            self.soonest = u64::MAX;
            return;
        };
        let slot = level * SLOTS + self.full[level].trailing_zeros() as usize;
        let last = self.slots[slot];
        let mut soonest = self.entries[last as usize].at;
        let mut id = self.entries[last as usize].next;
        while level > 0 && id != last {
            soonest = soonest.min(self.entries[id as usize].at);
            id = self.entries[id as usize].next;
        }
        self.soonest = soonest;
    }

    /// The keys of some who are due next, about in order, and how many they are.
    pub(super) fn upcoming(&self, keys: &mut [u32]) -> usize {
        let mut n = 0;
        for level in 0..MANY {
            let mut full = self.full[level];
            while full != 0 {
                let last = self.slots[level * SLOTS + full.trailing_zeros() as usize];
                full &= full - 1;
                let mut id = last;
                loop {
                    id = self.entries[id as usize].next;
                    let Some(key) = keys.get_mut(n) else { return n };
                    *key = self.entries[id as usize].key;
                    n += 1;
                    if id == last {
                        break;
                    }
                }
            }
        }
        n
    }

    /// Memory taken, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.slots.len() * 12
    }

    /// The level of whoever is due first.
    #[inline]
    fn first_level(&self) -> Option<usize> {
        (self.levels != 0).then(|| self.levels.trailing_zeros() as usize)
    }

    /// Nobody waits in a slot any more.
    #[inline]
    fn clear(&mut self, level: usize, digit: usize) {
        self.full[level] &= !(1 << digit);
        if self.full[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    fn link(&mut self, id: u32) {
        let at = self.entries[id as usize].at;
        let differs = 63 - (at ^ self.now | 1).leading_zeros();
        let level = differs as usize / BITS;
        let digit = (at >> (BITS * level)) as usize % SLOTS;
        let slot = level * SLOTS + digit;
        let is_first = self.full[level] >> digit & 1 == 0;
        if level >= MANY {
            let (lag, behind) = &mut self.lags[slot];
            if is_first {
                (*lag, *behind) = (id, 0);
            } else if *behind < AHEAD - 1 {
                *behind += 1;
            } else {
                let before = &mut self.entries[*lag as usize];
                before.skip = id;
                *lag = before.next;
            }
        }
        if is_first {
            self.full[level] |= 1 << digit;
            self.levels |= 1 << level;
            let entry = &mut self.entries[id as usize];
            (entry.next, entry.before) = (id, id);
        } else {
            let last = self.slots[slot];
            let first = self.entries[last as usize].next;
            self.entries[last as usize].next = id;
            self.entries[first as usize].before = id;
            let entry = &mut self.entries[id as usize];
            (entry.next, entry.before) = (first, last);
        }
        self.entries[id as usize].slot = slot as u16;
        self.slots[slot] = id;
    }

    fn unlink(&mut self, id: u32) {
        let Entry { slot, next, before, .. } = self.entries[id as usize];
        let slot = usize::from(slot);
        if next == id {
            return self.clear(slot / SLOTS, slot % SLOTS);
        }
        if self.lags[slot].0 == id {
            self.lags[slot].0 = next;
        }
        self.entries[before as usize].next = next;
        self.entries[next as usize].before = before;
        if self.slots[slot] == id {
            self.slots[slot] = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: who is due, when, and in which order.
        #[test]
        fn is_what_a_sorted_list_is(
            steps in prop::collection::vec(
                (0u8..4, prop_oneof![0u64..200, 0u64..1_000_000, any::<u64>()]), 1..200),
        ) {
            let mut wheel = Wheel::default();
            let mut sorted: Vec<(u64, u32, EntryId)> = Vec::new();
            let mut due_at = 0;
            for (serial, (step, n)) in (0u32..).zip(steps) {
                match step {
                    0 | 1 => {
                        let at = n.max(due_at);
                        let id = wheel.enter(Moment::from_nanos(n), serial);
                        let place = sorted.partition_point(|&(other, ..)| other <= at);
                        sorted.insert(place, (at, serial, id));
                    }
                    2 if !sorted.is_empty() => {
                        let (.., id) = sorted.remove(n as usize % sorted.len());
                        wheel.leave(id);
                    }
                    _ => {
                        while let Some((at, key)) = wheel.pop(Moment::from_nanos(n)) {
                            prop_assert!(!sorted.is_empty());
                            let (expected, serial, _) = sorted.remove(0);
                            prop_assert_eq!((at.as_nanos(), key), (expected, serial));
                            due_at = due_at.max(expected);
                        }
                        prop_assert!(sorted.first().is_none_or(|&(at, ..)| at > n));
                        // Whoever comes later with a moment before is due at once.
                        due_at = wheel.now;
                    }
                }
                let soonest = sorted.first().map(|&(at, ..)| Moment::from_nanos(at));
                prop_assert_eq!(wheel.soonest(), soonest);
            }
        }
    }
}
