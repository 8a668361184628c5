//! The limits of plain leaves, each once: leaves have their numbers.
//!
//! Of a million queues most have the limits of a few plans.

use super::bucket::{Limit, Terms};
use std::collections::HashMap;

/// Limits by number; 0 is none.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    list: Vec<Known>,
    numbers: HashMap<Limit, u32>,
    free: Vec<u32>,
}

/// A limit that some leaves have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) terms: Terms,
    /// [`Terms::longest_ns`].
    pub(super) longest_ns: u64,
    pub(super) limit: Limit,
    leaves: u32,
}

impl Known {
    fn new(limit: Limit, leaves: u32) -> Known {
        let terms = Terms::of(limit);
        Known { terms, longest_ns: terms.longest_ns(), limit, leaves }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        let none = Known::new(Limit::NONE, 0);
        Limits { list: vec![none], numbers: HashMap::new(), free: Vec::new() }
    }
}

impl Limits {
    /// The limit of a number; `None` if it is none's.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> Option<&Known> {
        self.list.get(number as usize)
    }

    /// One leaf more with this limit; its number.
    pub(super) fn take(&mut self, limit: Limit) -> u32 {
        if limit == Limit::NONE {
            return 0;
        }
        if let Some(&number) = self.numbers.get(&limit) {
            self.list[number as usize].leaves += 1;
            return number;
        }
        let known = Known::new(limit, 1);
        let number = match self.free.pop() {
            Some(number) => {
                self.list[number as usize] = known;
                number
            }
            None => {
                self.list.push(known);
                self.list.len() as u32 - 1
            }
        };
        self.numbers.insert(limit, number);
        number
    }

    /// One leaf less.
    pub(super) fn leave(&mut self, number: u32) {
        let Some(known) = self.list.get_mut(number as usize).filter(|_| number > 0) else { return };
        known.leaves -= 1;
        if known.leaves == 0 {
            self.numbers.remove(&known.limit);
            self.free.push(number);
        }
    }

    /// Memory taken, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Known>()
            + self.numbers.capacity() * 8 / 7 * (size_of::<(Limit, u32)>() + 1)
    }
}
