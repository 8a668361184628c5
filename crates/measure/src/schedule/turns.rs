//! A constant rate of frames whose lengths differ: each is followed by a gap as long as it is.
//!
//! ```text
//!  half the wire  │64│··│594      │·········│64│··│64│··│1518         │·············
//!  all of it      │64││594      ││64││64││1518         ││64│ …
//! ```
//!
//! Frames that are due at equal distances would wait for each other on the wire, behind the long
//! ones, and what is measured as the device's latency were the tester's own. So a frame is due when
//! the bytes of wire before it have passed at the rate's share: the load is the same at every moment,
//! and at 100 % frames follow each other as closely as the wire allows.

use super::{Pace, saturate};
use std::time::Duration;
use wire::FrameLen;

/// The times of a cycle of lengths, over and over.
pub(crate) struct Turns {
    /// Bytes of wire (L1) before each frame of the cycle.
    starts: Box<[u64]>,
    /// And of all of it.
    cycle: u64,
    /// A byte of wire takes so many nanoseconds, divided by that.
    ns: u128,
    per: u128,
}

impl Turns {
    /// Frames of these lengths, by turns, at this rate in the mean; `None` without any.
    pub(crate) fn new(pace: Pace, lengths: &[FrameLen]) -> Option<Turns> {
        let mut cycle = 0;
        let starts = lengths.iter().map(|frame| {
            let before = cycle;
            cycle += u64::from(frame.l1());
            before
        });
        let starts: Box<[u64]> = starts.collect();
        // A cycle has as many frames as `pace` has in that time.
        let (frames, ns) = pace.frames_in_ns();
        let ns = starts.len() as u128 * u128::from(ns);
        let per = u128::from(cycle) * u128::from(frames);
        let common = greatest_common_divisor(ns, per);
        (!starts.is_empty()).then(|| Turns { starts, cycle, ns: ns / common, per: per / common })
    }

    /// When frame `k` is due, after the start.
    pub(crate) fn time_of(&self, k: u64) -> Duration {
        let n = self.starts.len() as u64;
        let before =
            u128::from(k / n) * u128::from(self.cycle) + u128::from(self.starts[(k % n) as usize]);
        Duration::from_nanos(saturate(before.saturating_mul(self.ns).div_ceil(self.per)))
    }

    /// Frames due when `time` has passed.
    pub(crate) fn by(&self, time: Duration) -> u64 {
        let bytes = time.as_nanos().saturating_mul(self.per) / self.ns;
        let (whole, rest) = (bytes / u128::from(self.cycle), bytes % u128::from(self.cycle));
        let begun = self.starts.partition_point(|&before| u128::from(before) <= rest);
        saturate(whole.saturating_mul(self.starts.len() as u128)).saturating_add(begun as u64)
    }

    /// Frames due before `time` has passed.
    pub(crate) fn before(&self, time: Duration) -> u64 {
        time.checked_sub(Duration::from_nanos(1)).map_or(0, |last| self.by(last))
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::FrameSize;
    use crate::{Mix, Pace};
    use proptest::prelude::*;
    use std::sync::Arc;
    use wire::PacketRate;

    fn turns(pace: Pace, lengths: &[u32]) -> Turns {
        let lengths: Vec<FrameLen> = lengths.iter().map(|&l2| FrameLen::with_fcs(l2)).collect();
        Turns::new(pace, &lengths).unwrap()
    }

    /// At the wire's rate each frame begins when the gap behind the last one is over.
    #[test]
    fn a_full_wire_has_no_other_gap() {
        let size = FrameSize::Mix(Arc::new(Mix::of("agb", &[]).unwrap()));
        // 84, 1538 and 148 bytes of wire, 8 ns each.
        let turns = turns(size.pace_of_wire(1_000_000_000).unwrap(), &[64, 1518, 128]);
        let ns = |k| turns.time_of(k).as_nanos();
        assert_eq!([0, 1, 2, 3, 4].map(ns), [0, 672, 12_976, 14_160, 14_832]);
        let by = |ns| turns.by(Duration::from_nanos(ns));
        assert_eq!([0, 671, 672, 12_975, 14_159, 14_160].map(by), [1, 1, 2, 2, 3, 4]);
        assert_eq!(ns(3_000_000_000), 14_160_000_000_000, "no drift");
        assert_eq!(turns.before(Duration::from_nanos(14_160)), 3);
        assert_eq!(turns.before(Duration::ZERO), 0);
        assert!(Turns::new(Pace::of(PacketRate(1.0)).unwrap(), &[]).is_none());
    }

    proptest! {
        /// Of frames of one length it is a pace; of any, times and counts agree, and a cycle takes
        /// as long as the rate says.
        #[test]
        fn times_and_counts_agree(
            pps in 1.0f64..2e8,
            lengths in prop::collection::vec(64u32..1900, 1..40),
            k in 0u64..1_000_000_000,
        ) {
            let pace = Pace::of(PacketRate(pps)).unwrap();
            prop_assert_eq!(turns(pace, &[512]).time_of(k), pace.time_of(k));
            prop_assert_eq!(turns(pace, &[512]).by(pace.time_of(k)), pace.by(pace.time_of(k)));
            let turns = turns(pace, &lengths);
            let due = turns.time_of(k);
            let later = turns.by(due);
            prop_assert!(later > k && turns.time_of(later) > due, "{k}: {due:?}, {later}");
            prop_assert!(turns.before(due) <= k);
            let whole = k - k % lengths.len() as u64;
            prop_assert_eq!(turns.time_of(whole), pace.time_of(whole));
        }
    }
}
