//! Random numbers that a seed repeats: SplitMix64 (Steele, Lea and Flood 2014).

/// A row of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The row of a seed.
    pub(crate) fn new(seed: u64) -> Dice {
        // Mixed once, so that neighbouring seeds have nothing in common.
        Dice(Dice(seed).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `0..n`; 0 if `n` is.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 32) as usize * n.min(1 << 31)) >> 32
    }

    /// One of `first..=last`.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below((last - first) as usize + 1) as u64
    }

    /// Whether something happens that does so often of a hundred times.
    pub(crate) fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }

    /// Whether something happens that does so often of a million times.
    pub(crate) fn ppm(&mut self, often: u32) -> bool {
        self.below(1_000_000) < often as usize
    }

    /// One of these.
    ///
    /// # Panics
    /// If there are none.
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
