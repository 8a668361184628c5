//! Sequence numbers that came: in order, late, twice.
//!
//! ```text
//!   stale │ ◄──────── WINDOW: one bit each, 64 a word ────────► │ not yet come
//!         floor                                            next (highest + 1)
//! ```
//!
//! A ring of bits behind the highest number seen. In order, a frame costs one bit set in a word
//! that is in the cache; words are cleared as `next` enters them.
//!
//! Never counts: that is [`receive`](crate::receive).

use std::collections::VecDeque;

/// Numbers behind the highest one for which late and double are told apart: at least this many.
/// (The bits are 65,536; the word that `next` is in counts whole.)
pub const WINDOW: u64 = BITS - 64;

const BITS: u64 = 1 << 16;

/// A number further ahead than this is no number of ours: at 100 million frames a second all
/// frames of 40 seconds would have to be lost in one piece.
const LEAP: u64 = 1 << 32;

/// Gaps that are remembered, for the extent of reordering.
const LEAPS: usize = 64;

/// What a number's coming means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The one after the highest so far.
    InOrder,
    /// Higher than that: those between may still come.
    Ahead,
    /// The first time, after a higher one (RFC 4737's reordered).
    Late,
    /// Not the first time.
    Duplicate,
    /// Behind the window.
    Stale,
    /// Further ahead than any sender can be.
    Absurd,
}

/// The numbers that have come.
#[derive(Clone, Debug)]
pub struct Sequence {
    words: Box<[u64; (BITS / 64) as usize]>,
    /// One more than the highest.
    next: u64,
    /// Where counting began: lower numbers are another trial's.
    start: u64,
    /// How many have come, copies not counted.
    arrived: u64,
    /// The last numbers that came with a gap in front, and how many had come before each.
    leaps: VecDeque<(u64, u64)>,
}

impl Sequence {
    /// Nothing has come, and `first` will be the first.
    pub fn starting_at(first: u64) -> Sequence {
        let (words, leaps) = (Box::new([0; (BITS / 64) as usize]), VecDeque::with_capacity(LEAPS));
        Sequence { words, next: first, start: first, arrived: 0, leaps }
    }

    /// A number comes.
    #[inline]
    pub fn arrive(&mut self, number: u64) -> Arrival {
        if number == u64::MAX {
            return Arrival::Absurd; // it would have no next
        }
        let mut arrival = Arrival::InOrder;
        if number == self.next {
            if number.is_multiple_of(64) {
                *self.word(number) = 0;
            }
        } else if number < self.next {
            return self.look_back(number);
        } else if !self.leap_to(number) {
            return Arrival::Absurd;
        } else {
            self.note_leap(number);
            arrival = Arrival::Ahead;
        }
        self.next = number + 1;
        self.arrived += 1;
        *self.word(number) |= 1 << (number % 64);
        arrival
    }

    /// How far behind the last late frame came: frames that came since the first one with a higher
    /// number (RFC 4737 §4.2.1's reordering extent). To be asked right after it arrived. A lower
    /// bound if more than 64 gaps were seen since.
    pub fn extent(&self, late: u64) -> u64 {
        let first = self.leaps.iter().filter(|(number, _)| *number > late).min();
        first.map_or(0, |(_, index)| self.arrived - 1 - index)
    }

    #[cold]
    fn note_leap(&mut self, number: u64) {
        if self.leaps.len() == LEAPS {
            self.leaps.pop_front();
        }
        self.leaps.push_back((number, self.arrived));
    }

    fn look_back(&mut self, number: u64) -> Arrival {
        // The ring holds the words up to the one of the highest number, and no others.
        let end = (self.next - 1) | 63;
        if number < self.start || end - number >= BITS {
            return Arrival::Stale;
        }
        let (word, bit) = (self.word(number), 1 << (number % 64));
        if *word & bit != 0 {
            return Arrival::Duplicate;
        }
        *word |= bit;
        self.arrived += 1;
        Arrival::Late
    }

    /// Clears the words from `next` to `number`, as far as they were not entered before.
    fn leap_to(&mut self, number: u64) -> bool {
        if number - self.next > LEAP {
            return false;
        }
        let entered = self.next.div_ceil(64);
        let words = (number / 64 + 1).saturating_sub(entered).min(BITS / 64);
        for i in 0..words {
            *self.word((number / 64 - i) * 64) = 0;
        }
        true
    }

    #[inline]
    fn word(&mut self, number: u64) -> &mut u64 {
        &mut self.words[(number / 64 % (BITS / 64)) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn told_apart() {
        let mut sequence = Sequence::starting_at(0);
        for (number, expected) in [
            (0, Arrival::InOrder),
            (0, Arrival::Duplicate),
            (1, Arrival::InOrder),
            (5, Arrival::Ahead),
            (3, Arrival::Late),
            (3, Arrival::Duplicate),
            (5, Arrival::Duplicate),
            (70_000, Arrival::Ahead),
            (4, Arrival::Stale),
            (70_000 - WINDOW, Arrival::Late),
            (70_000 - WINDOW, Arrival::Duplicate),
            (1 << 40, Arrival::Absurd),
            (u64::MAX, Arrival::Absurd),
            (70_001, Arrival::InOrder),
            (69_999, Arrival::Late),
        ] {
            assert_eq!(sequence.arrive(number), expected, "{number}, next {}", sequence.next);
        }
    }

    #[test]
    fn a_later_trial_knows_its_first() {
        let mut sequence = Sequence::starting_at(1000);
        assert_eq!(sequence.arrive(999), Arrival::Stale);
        assert_eq!(sequence.arrive(1001), Arrival::Ahead);
        assert_eq!(sequence.arrive(1000), Arrival::Late);
        let mut last = Sequence::starting_at(u64::MAX - 2);
        assert_eq!(last.arrive(u64::MAX - 1), Arrival::Ahead);
        assert_eq!(last.arrive(u64::MAX), Arrival::Absurd);
    }

    proptest! {
        /// Against RFC 4737's definition, looked up in the list of all that came.
        #[test]
        fn extents(order in prop::collection::vec(0u64..40, 1..40)) {
            let mut sequence = Sequence::starting_at(0);
            let mut came: Vec<u64> = Vec::new();
            for number in order {
                let arrival = sequence.arrive(number);
                if arrival == Arrival::Duplicate {
                    continue;
                }
                if arrival == Arrival::Late {
                    let first = came.iter().position(|&before| before > number).unwrap();
                    prop_assert_eq!(sequence.extent(number), (came.len() - first) as u64);
                }
                came.push(number);
            }
        }

        /// Against a set of all numbers: steps small and large, around word and window borders.
        #[test]
        fn same_as_a_set(
            start in prop_oneof![Just(0u64), 0u64..200, Just(1 << 50)],
            steps in prop::collection::vec(
                prop_oneof![
                    8 => Just(1i64), 4 => -4i64..8, 2 => -200i64..200,
                    1 => -66_000i64..66_000, 1 => 65_400i64..65_700,
                ],
                1..400,
            ),
        ) {
            let mut sequence = Sequence::starting_at(start);
            let (mut seen, mut highest, mut at) = (HashSet::new(), None, start as i64 - 1);
            for step in steps {
                at = (at + step).max(0);
                let number = at as u64;
                let end = highest.map(|h: u64| h | 63);
                let next = highest.map_or(start, |highest| highest + 1);
                let expected = if number == next {
                    Arrival::InOrder
                } else if number > next {
                    Arrival::Ahead
                } else if number < start || end.is_some_and(|end| end - number >= BITS) {
                    Arrival::Stale
                } else if seen.contains(&number) {
                    Arrival::Duplicate
                } else {
                    Arrival::Late
                };
                prop_assert_eq!(sequence.arrive(number), expected, "{}", number);
                if expected != Arrival::Stale {
                    seen.insert(number);
                    highest = highest.max(Some(number));
                }
            }
        }
    }
}
