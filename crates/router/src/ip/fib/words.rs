//! A growing array of 64-bit words whose word 0 begins a cache line, as the trie's nodes want it.
//!
//! A vector of line-sized structs would be aligned by its type, but each access then costs the
//! arithmetic of line and word: 8 instructions of 45 in a look-up.

/// Words of a cache line.
const LINE: usize = 8;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Words {
    /// Up to seven words of padding, then the words.
    memory: Vec<u64>,
    padding: usize,
}

impl Words {
    /// `len` zero words.
    pub(super) fn new(len: usize) -> Words {
        Words::holding(&[], len, 0)
    }

    /// `old` and zeros behind it up to `len` words, with room for `spare` more.
    fn holding(old: &[u64], len: usize, spare: usize) -> Words {
        let mut memory = Vec::<u64>::with_capacity(LINE + len + spare);
        // A hint about speed only: whatever it says, the words are found where they were put.
        let padding = memory.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE);
        memory.resize(padding, 0);
        memory.extend_from_slice(old);
        memory.resize(padding + len, 0);
        Words { memory, padding }
    }

    /// Makes it at least `len` words long.
    pub(super) fn grow(&mut self, len: usize) {
        if self.memory.capacity() < self.padding + len {
            // An eighth at a time: doubling would leave half of a large table empty.
            *self = Words::holding(self.as_slice(), len, len / 8);
        } else if self.as_slice().len() < len {
            self.memory.resize(self.padding + len, 0);
        }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u64] {
        &self.memory[self.padding..]
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u64] {
        &mut self.memory[self.padding..]
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.memory.capacity() * size_of::<u64>()
    }
}

impl Clone for Words {
    fn clone(&self) -> Words {
        Words::holding(self.as_slice(), self.as_slice().len(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_0_begins_a_cache_line() {
        let mut words = Words::new(3);
        for len in [3, 5, 100, 10_000, 10_001, 100_000] {
            words.grow(len);
            words.as_mut_slice()[len - 1] = len as u64;
            for words in [&words, &words.clone()] {
                assert_eq!(words.as_slice().as_ptr().align_offset(64), 0, "{len} words");
                assert_eq!(words.as_slice()[2], 3);
                assert_eq!(words.as_slice()[len - 1], len as u64);
            }
        }
    }
}
