//! Frame sizes of a trial: one length, or a mix of lengths by turns.
//!
//! ```text
//!  64        │64│ │64│ │64│ │64│             one length: a cycle of one frame
//!  "imix"    │64│ │594   │ │64│ … │1518   │  the mix's sequence, over and over
//!            └────────── a cycle ──────────┘  its frames, its bytes: the mean as two whole numbers
//! ```
//!
//! A rate is in frames a second all the same. What a wire carries of a mix follows from the wire time
//! of a whole cycle, so that 100 % of it is the wire exactly, and bits of layers 1 and 2 from the
//! cycle's bytes, never from a rounded mean.
//!
//! Never says when a frame is due ([`schedule`](crate::schedule)), nor what is in it.

use crate::frame::Lengths;
use crate::{Mix, Pace};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use wire::{BitRate, FrameLen, PacketRate};

/// What size frames are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameSize {
    /// All of this length.
    One(FrameLen),
    /// A mix's lengths by turns.
    Mix(Arc<Mix>),
}

/// So many frames with so many bytes: a mean without a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Frames; above 0.
    pub frames: u64,
    /// All their bytes, L2 with FCS.
    pub l2_bytes: u64,
}

impl Cycle {
    /// Mean length in bytes, L2 with FCS.
    pub fn mean_l2(self) -> f64 {
        self.l2_bytes as f64 / self.frames as f64
    }

    /// Bytes of wire time: with preamble, start of frame and gap of each frame.
    pub fn l1_bytes(self) -> u64 {
        self.l2_bytes + self.frames * u64::from(FrameLen::L1_OVERHEAD)
    }

    /// The most frames of this mean that an L1 rate carries.
    pub fn max_frames(self, link: BitRate) -> PacketRate {
        PacketRate(link.0 * self.frames as f64 / (8.0 * self.l1_bytes() as f64))
    }

    /// Occupied wire at a rate of such frames.
    pub fn l1(self, rate: PacketRate) -> BitRate {
        BitRate(rate.0 * 8.0 * self.l1_bytes() as f64 / self.frames as f64)
    }

    /// The same frames with FCS, without preamble and gap.
    pub fn l2(self, rate: PacketRate) -> BitRate {
        BitRate(rate.0 * 8.0 * self.l2_bytes as f64 / self.frames as f64)
    }
}

impl From<FrameLen> for Cycle {
    fn from(frame: FrameLen) -> Cycle {
        Cycle { frames: 1, l2_bytes: u64::from(frame.l2()) }
    }
}

impl From<FrameLen> for FrameSize {
    fn from(frame: FrameLen) -> FrameSize {
        FrameSize::One(frame)
    }
}

impl FrameSize {
    /// The mix, if it is one.
    pub fn mix(&self) -> Option<&Mix> {
        match self {
            FrameSize::One(_) => None,
            FrameSize::Mix(mix) => Some(mix),
        }
    }

    /// The lengths, in the order in which they are sent, over and over.
    pub fn sequence(&self) -> &[FrameLen] {
        match self {
            FrameSize::One(frame) => std::slice::from_ref(frame),
            FrameSize::Mix(mix) => mix.sequence(),
        }
    }

    /// The same for a plan of frames.
    pub fn lengths(&self) -> Lengths {
        match self {
            FrameSize::One(frame) => (*frame).into(),
            FrameSize::Mix(mix) => Lengths::InTurn(mix.sequence().to_vec()),
        }
    }

    /// The shortest of them.
    pub fn shortest(&self) -> FrameLen {
        self.sequence().iter().copied().min().unwrap_or(FrameLen::MIN)
    }

    /// The longest of them.
    pub fn longest(&self) -> FrameLen {
        self.sequence().iter().copied().max().unwrap_or(FrameLen::MIN)
    }

    /// One cycle.
    pub fn cycle(&self) -> Cycle {
        match self {
            FrameSize::One(frame) => (*frame).into(),
            FrameSize::Mix(mix) => mix.cycle(),
        }
    }

    /// In a sentence: `64 bytes`, `imix`.
    pub fn words(&self) -> String {
        match self {
            FrameSize::One(frame) => format!("{frame} bytes"),
            FrameSize::Mix(mix) => mix.label(),
        }
    }

    /// The mean length, L2 with FCS, rounded: what results have as the frame size.
    pub fn rounded(&self) -> u32 {
        self.cycle().mean_l2().round() as u32
    }

    /// The most of these frames that an L1 rate carries.
    pub fn max_frames(&self, link: BitRate) -> PacketRate {
        self.cycle().max_frames(link)
    }

    /// That as a pace, exactly; `None` if the wire carries nothing, or more than 10¹⁵ bit/s.
    pub fn pace_of_wire(&self, bits_per_second: u64) -> Option<Pace> {
        Pace::of_cycle(bits_per_second, self.cycle())
    }

    /// How long the first so many frames take on a wire, the last one's gap included.
    pub fn wire_time(&self, frames: u64, link: BitRate) -> Duration {
        let cycle = self.cycle();
        let whole = frames / cycle.frames;
        let rest = (frames % cycle.frames) as usize;
        let rest: u64 = self.sequence()[..rest].iter().map(|frame| u64::from(frame.l1())).sum();
        let bytes = whole as f64 * cycle.l1_bytes() as f64 + rest as f64;
        Duration::from_secs_f64(8.0 * bytes / link.0)
    }
}

impl fmt::Display for FrameSize {
    /// `64`, `imix`: as a table has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameSize::One(frame) => fmt::Display::fmt(frame, f),
            FrameSize::Mix(mix) => f.pad(&mix.label()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mix(name: &str) -> FrameSize {
        FrameSize::Mix(Arc::new(Mix::of(name, &[]).unwrap()))
    }

    #[test]
    fn what_wires_carry() {
        for (size, frames, l2_bytes, rounded, fps) in [
            (FrameSize::from(FrameLen::MIN), 1, 64, 64, 14_880_952),
            // 7 · 64 + 4 · 594 + 1518, and 20 more of each on the wire.
            (mix("simple"), 12, 4342, 362, 3_273_679),
            (mix("csit"), 12, 4246, 354, 3_343_736),
            (mix("aaafg"), 5, 2990, 598, 2_022_653),
        ] {
            let cycle = size.cycle();
            assert_eq!(cycle, Cycle { frames, l2_bytes }, "{size}");
            assert_eq!(size.rounded(), rounded, "{size}");
            let rate = size.max_frames(BitRate::gbps(10.0));
            assert_eq!(rate.0 as u64, fps, "{size}");
            assert!((cycle.l1(rate).0 / 1e10 - 1.0).abs() < 1e-12, "{size}");
            let pace = size.pace_of_wire(10_000_000_000).unwrap();
            let (n, ns) = pace.frames_in_ns();
            // So many bits in so many nanoseconds: the wire's, in whole numbers.
            let bits = u128::from(n) * 8 * u128::from(cycle.l1_bytes());
            assert_eq!(bits, u128::from(ns) * 10 * u128::from(cycle.frames), "{size}");
        }
        assert_eq!(mix("simple").longest(), FrameLen::MAX);
        assert_eq!(format!("{:>6}|{}", mix("simple"), FrameSize::from(FrameLen::MIN)), "  imix|64");
    }

    #[test]
    fn bursts_have_their_own_frames() {
        let link = BitRate::gbps(1.0);
        // aAaaAagaAaAa, 84 and 614 and 1538 bytes of wire at 8 ns each.
        for (frames, ns) in [(0, 0), (1, 672), (2, 5584), (12, 36_656), (14, 42_240)] {
            assert_eq!(mix("simple").wire_time(frames, link), Duration::from_nanos(ns), "{frames}");
        }
    }

    proptest! {
        /// Whatever the mix: its highest rate fills the wire, and as many frames take as long.
        #[test]
        fn the_highest_rate_is_the_wire(
            weights in prop::collection::vec((64u32..1900, 1u32..40), 1..8),
            mbps in 1u32..400_000,
        ) {
            let shares: Vec<_> =
                weights.iter().map(|&(l2, n)| (FrameLen::with_fcs(l2), n)).collect();
            let mix = FrameSize::Mix(Arc::new(Mix::weighted("x", "L2", &shares).unwrap()));
            let (link, cycle) = (BitRate::mbps(f64::from(mbps)), mix.cycle());
            let rate = mix.max_frames(link);
            prop_assert!((cycle.l1(rate).0 / link.0 - 1.0).abs() < 1e-12);
            prop_assert!((rate.0 * (cycle.mean_l2() + 20.0) * 8.0 / link.0 - 1.0).abs() < 1e-12);
            let pace = mix.pace_of_wire(link.0 as u64).unwrap();
            prop_assert!((pace.rate().0 / rate.0 - 1.0).abs() < 1e-12);
            let frames = cycle.frames * 1000;
            let took = mix.wire_time(frames, link).as_secs_f64();
            prop_assert!((took - frames as f64 / rate.0).abs() <= 1e-9, "to the nanosecond");
        }
    }
}
