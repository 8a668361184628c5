//! The tester's own random numbers: small, fast, and the same for the same seed on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood 2014): one addition and two multiplications a number, every
//! 64-bit value once in 2⁶⁴ numbers. Good for choosing addresses; never for secrets.

/// A seeded generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prng(u64);

impl Prng {
    /// The sequence that belongs to `seed`; every seed is as good as any other.
    pub const fn new(seed: u64) -> Prng {
        Prng(seed)
    }

    /// The next number.
    #[inline]
    #[allow(clippy::should_implement_trait)] // it never ends: not an iterator's `next`
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0. Multiplied, not divided: no value is more likely than
    /// another by more than n / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sequence() {
        // The reference implementation's first numbers for seed 1234567.
        let mut prng = Prng::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| prng.next()).collect();
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!(numbers[..2], expected, "{numbers:?}");
    }

    #[test]
    fn below_is_below_and_even() {
        let mut prng = Prng::new(7);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[prng.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_500..10_500).contains(&n)), "{seen:?}");
        assert_eq!(prng.below(0), 0);
        assert_eq!(prng.below(1), 0);
    }
}
