//! Ranges of a stream that came early.
//!
//! ```text
//! received ──►│ gap │■■■■■│ gap │■■│          a few ranges, no bytes
//! ```
//!
//! Never grows: what would be one range too many is not kept, and comes again.

/// The most separate ranges kept.
const MOST: usize = 3;

/// Separate ranges, in no order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ranges {
    ranges: [(u64, u64); MOST],
    used: u8,
}

impl Ranges {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Keeps what came from `begin` to before `end`, joined with those it touches.
    pub(super) fn keep(&mut self, mut begin: u64, mut end: u64) {
        while let Some((from, to)) = self.take(|from, to| begin <= to && from <= end) {
            (begin, end) = (begin.min(from), end.max(to));
        }
        if usize::from(self.used) < MOST {
            self.ranges[usize::from(self.used)] = (begin, end);
            self.used += 1;
        }
    }

    /// How far the stream is whole if it is so up to `received`: takes out the ranges this covers.
    pub(super) fn continue_from(&mut self, mut received: u64) -> u64 {
        while let Some((_, to)) = self.take(|from, _| from <= received) {
            received = received.max(to);
        }
        received
    }

    fn take(&mut self, is: impl Fn(u64, u64) -> bool) -> Option<(u64, u64)> {
        let used = &self.ranges[..usize::from(self.used)];
        let at = used.iter().position(|&(from, to)| is(from, to))?;
        let range = self.ranges[at];
        self.used -= 1;
        self.ranges[at] = self.ranges[usize::from(self.used)];
        Some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a set of positions: what the ranges continue is never more than came, and all
        /// of it as long as there was room for every range.
        #[test]
        fn as_a_set_of_positions(parts in prop::collection::vec((0u64..60, 1u64..10), 0..12)) {
            let mut ranges = Ranges::default();
            let mut came = [false; 80];
            let mut full = false;
            for (begin, len) in parts {
                full |= usize::from(ranges.used) == MOST;
                ranges.keep(begin, begin + len);
                (begin..begin + len).for_each(|at| came[at as usize] = true);
            }
            for from in 0..70 {
                let whole = (from..80).find(|&at| !came[at as usize]).unwrap_or(80);
                let mut copy = ranges;
                let to = copy.continue_from(from);
                // A range that begins before `from` counts from its end on.
                if came[from as usize] && !full {
                    prop_assert!(to >= whole, "{ranges:?} {from}: {to}, {whole}");
                }
                prop_assert!((from..to).all(|at| came[at as usize]), "{ranges:?} {from}: {to}");
            }
        }
    }
}
