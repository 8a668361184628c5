//! Buddy allocator for the parts of a growing array; it works on numbers alone.
//!
//! It owns no memory; the trie and the route store each keep an array beside one of these and
//! put their blocks where it says. Any length can be asked for: the smallest power of two that
//! holds it is taken and the tail given back at once, so a block of 5 units costs 5, starts on a
//! multiple of 8, and (8 units being a cache line) never straddles two lines without need.
//!
//! ```text
//!  alloc(5):  | . . . . . . . . |  order 3 taken ──►  | 5 units used     | 1 | 2 |  tail released
//! ```
//!
//! The lowest fitting address is always chosen: holes at the bottom are filled first, which keeps
//! the array dense under churn. A released range merges with its free buddies, so that whatever
//! comes back whole can be cut differently. Memory is never given back to the system.

/// Units the array grows by, and the largest block: all routes of a /18 fit in one.
pub(super) const CHUNK: u32 = 1 << TOP;
const TOP: u32 = 14;

/// The free blocks of one array, per size.
#[derive(Clone, Debug)]
pub(super) struct Buddy {
    /// `free[order]` holds block number `start >> order` for each free block of that order.
    free: [BitSet; TOP as usize + 1],
    /// Units managed: a multiple of [`CHUNK`].
    len: u32,
    used: u32,
}

impl Buddy {
    /// An allocator over an array of no length yet.
    pub(super) fn new() -> Buddy {
        Buddy { free: std::array::from_fn(|_| BitSet::default()), len: 0, used: 0 }
    }

    /// The array's length, in units: the owner makes it so after each [`alloc`](Self::alloc).
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Units handed out.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.used as usize
    }

    /// The start of a free range of `len` units, aligned to the power of two that holds it. The
    /// array may have to grow: see [`len`](Self::len).
    ///
    /// # Panics
    /// If `len` is 0 or exceeds [`CHUNK`], or the array would exceed 2²⁹ units.
    pub(super) fn alloc(&mut self, len: u32) -> u32 {
        assert!((1..=CHUNK).contains(&len), "a block of {len} units");
        let order = len.next_power_of_two().trailing_zeros();
        let found = (order..=TOP).find_map(|o| Some((o, self.free[o as usize].first()?)));
        let start = if let Some((found, block)) = found {
            self.free[found as usize].remove(block);
            (block as u32) << found
        } else {
            let start = self.len;
            assert!(start <= (1 << 29) - CHUNK, "the forwarding table is full");
            self.len += CHUNK;
            start
        };
        let end = start + found.map_or(CHUNK, |(found, _)| 1 << found);
        self.used += end - start;
        self.release(start + len, end - start - len);
        start
    }

    /// Gives `len` units from `start` back. They must have been handed out; parts of a block and
    /// neighbouring blocks together are fine.
    pub(super) fn release(&mut self, start: u32, len: u32) {
        self.used -= len;
        let end = start + len;
        let mut at = start;
        while at < end {
            // The largest aligned block that begins here and does not reach beyond the range.
            let order = at.trailing_zeros().min((end - at).ilog2()).min(TOP);
            self.put(at, order);
            at += 1 << order;
        }
    }

    /// Marks one block free, merged with its buddies as far up as they are free.
    fn put(&mut self, start: u32, mut order: u32) {
        let mut block = (start >> order) as usize;
        while order < TOP && self.free[order as usize].remove(block ^ 1) {
            block >>= 1;
            order += 1;
        }
        self.free[order as usize].insert(block);
    }

    /// Bytes of its own, without the array's.
    pub(super) fn bytes(&self) -> usize {
        self.free.iter().map(BitSet::bytes).sum()
    }
}

/// A set of small numbers that finds its least member in a few steps: 64-ary, a set bit in a
/// level says that the word below is not zero.
#[derive(Clone, Debug, Default)]
struct BitSet {
    /// From the members' own level up to a single word.
    levels: Vec<Vec<u64>>,
}

impl BitSet {
    fn insert(&mut self, member: usize) {
        self.make_room(member);
        let mut at = member;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let was = *word;
            *word |= 1 << (at % 64);
            if was != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// Takes `member` out; says whether it was in.
    fn remove(&mut self, member: usize) -> bool {
        let mut at = member;
        for (height, level) in self.levels.iter_mut().enumerate() {
            let Some(word) = level.get_mut(at / 64) else { return false };
            let bit = 1 << (at % 64);
            if height == 0 && *word & bit == 0 {
                return false;
            }
            *word &= !bit;
            if *word != 0 {
                return true;
            }
            at /= 64;
        }
        !self.levels.is_empty()
    }

    /// The least member.
    fn first(&self) -> Option<usize> {
        if *self.levels.last()?.first()? == 0 {
            return None;
        }
        let down = |at: usize, level: &Vec<u64>| at * 64 + level[at].trailing_zeros() as usize;
        Some(self.levels.iter().rev().fold(0, down))
    }

    fn make_room(&mut self, member: usize) {
        let mut words = member / 64 + 1;
        let mut height = 0;
        loop {
            if height == self.levels.len() {
                // A new top level starts from what the level below already holds.
                let below = height.checked_sub(1).map(|h| &self.levels[h]);
                let any = below.and_then(|level| level.first()).is_some_and(|&word| word != 0);
                self.levels.push(vec![u64::from(any)]);
            }
            let level = &mut self.levels[height];
            if level.len() < words {
                level.resize(words, 0);
            }
            if level.len() == 1 {
                return;
            }
            words = level.len().div_ceil(64);
            height += 1;
        }
    }

    fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.capacity() * size_of::<u64>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn bit_set_is_a_set(steps in prop::collection::vec((any::<bool>(), 0usize..300_000), 1..300)) {
            let (mut ours, mut oracle) = (BitSet::default(), BTreeSet::new());
            for (put, member) in steps {
                if put {
                    ours.insert(member);
                    oracle.insert(member);
                } else {
                    prop_assert_eq!(ours.remove(member), oracle.remove(&member), "remove {}", member);
                }
                prop_assert_eq!(ours.first(), oracle.first().copied());
            }
        }

        #[test]
        fn blocks_are_apart_and_all_come_back(lens in prop::collection::vec(1u32..400, 1..200), keep in any::<u64>()) {
            let mut buddy = Buddy::new();
            let mut owner = Vec::new();
            let mut live = Vec::new();
            for (i, &len) in lens.iter().enumerate() {
                let start = buddy.alloc(len);
                prop_assert_eq!(start % len.next_power_of_two(), 0, "alignment of {} units", len);
                owner.resize(buddy.len(), None);
                for unit in start..start + len {
                    prop_assert_eq!(owner[unit as usize].replace(i), None, "unit {} twice", unit);
                }
                live.push((start, len));
                // Some leave early, so that holes are filled again.
                if keep >> (i % 64) & 1 == 0 {
                    let (start, len) = live.swap_remove(i % live.len());
                    buddy.release(start, len);
                    owner[start as usize..(start + len) as usize].fill(None);
                }
            }
            prop_assert_eq!(buddy.used(), live.iter().map(|&(_, len)| len as usize).sum::<usize>());
            for (start, len) in live {
                buddy.release(start, len);
            }
            let whole = buddy.len() as u32 / CHUNK;
            for chunk in 0..whole {
                prop_assert_eq!(buddy.alloc(CHUNK), chunk * CHUNK, "not merged: {:?}", buddy);
            }
        }
    }
}
