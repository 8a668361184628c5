//! `connection-rate`: how fast a TCP or UDP connection is, both directions together.
//!
//! ```text
//! bytes then ──── a second or more ────► bytes now      rate = 8 × (now - then) / time
//!                                                       0 until the first second is over
//! ```
//!
//! Measured when a rule asks: a connection that no rule with this matcher sees is not measured.

use super::connection::Key;
use std::collections::HashMap;
use std::hash::Hash;

/// What is remembered of the connections that rules asked about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates<A = u32> {
    by_connection: HashMap<Key<A>, Rate>,
    /// At so many, those that have ended are looked for.
    full: usize,
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    at_ms: u32,
    bytes: u64,
    bits_per_second: u64,
}

/// Recomputed this often.
const INTERVAL_MS: u32 = 1000;
/// Fewer are not worth looking for those that have ended.
const FEW: usize = 1024;

impl<A: Copy + Eq + Hash> Rates<A> {
    /// Bits in a second. `bytes` are those of the connection so far, `lives` says of a connection
    /// whether it has not ended.
    pub(crate) fn of(
        &mut self,
        key: Key<A>,
        bytes: u64,
        now_ms: u32,
        lives: impl Fn(&Key<A>) -> bool,
    ) -> u64 {
        if self.by_connection.len() >= self.full.max(FEW) {
            self.by_connection.retain(|key, _| lives(key));
            self.full = self.by_connection.len() * 2;
        }
        let fresh = Rate { at_ms: now_ms, bytes, bits_per_second: 0 };
        let rate = self.by_connection.entry(key).or_insert(fresh);
        let since = now_ms.wrapping_sub(rate.at_ms);
        if since >= INTERVAL_MS {
            let bits = bytes.saturating_sub(rate.bytes).saturating_mul(8);
            let per_second = bits.saturating_mul(1000) / u64::from(since);
            *rate = Rate { at_ms: now_ms, bytes, bits_per_second: per_second };
        }
        rate.bits_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::FiveTuple;

    #[test]
    fn the_rate_is_that_of_the_last_whole_second() {
        let mut rates = Rates::<u32>::default();
        let key = (FiveTuple::default(), 0);
        let cases = [(0, 100, 0), (999, 5000, 0), (1000, 1100, 8000), (1500, 9000, 8000)];
        for (now_ms, bytes, want) in cases {
            assert_eq!(rates.of(key, bytes, now_ms, |_| true), want, "at {now_ms} ms");
        }
        assert_eq!(rates.of(key, 1100 + 2000, 3000, |_| true), 8000, "2000 bytes in two seconds");
        assert_eq!(rates.of((key.0, 3000), 40, 3000, |_| true), 0, "another one of this tuple");
    }

    #[test]
    fn those_that_have_ended_are_forgotten() {
        let mut rates = Rates::default();
        for n in 0..100_000 {
            let key = (FiveTuple { src: n, ..FiveTuple::default() }, 0);
            rates.of(key, 40, 0, |(tuple, _)| tuple.src + 10 > n);
        }
        assert!(rates.by_connection.len() <= FEW, "{}", rates.by_connection.len());
    }
}
