//! Time, rates and frame lengths, each a type of its own, so that layers are never mixed up.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time: nanoseconds since the device (or the simulation) started.
///
/// Never wall-clock time. The core takes it as an argument, so the same code runs in real
/// and in virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The beginning.
    pub const ZERO: Moment = Moment(0);

    /// `ns` nanoseconds after the beginning.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Moment {
        Moment(ns)
    }

    /// Nanoseconds since the beginning.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the beginning, wrapping after 49 days: the coarse clock that
    /// table entries are stamped with. Compare with `wrapping_sub`.
    #[inline]
    pub const fn as_millis_u32(self) -> u32 {
        (self.0 / 1_000_000) as u32
    }

    /// The time since `earlier`, zero if that lies in the future.
    #[inline]
    pub const fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    #[inline]
    fn add(self, by: Duration) -> Moment {
        Moment(self.0.saturating_add(by.as_nanos().min(u128::from(u64::MAX)) as u64))
    }
}

impl Sub for Moment {
    type Output = Duration;

    #[inline]
    fn sub(self, earlier: Moment) -> Duration {
        self.since(earlier)
    }
}

/// The length of an Ethernet frame, kept as the L2 length **with** the 4-byte FCS: what
/// RFC 2544 and the documents call "64 byte". Frames in memory carry no FCS (60 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameLen(u32);

impl FrameLen {
    /// Frame check sequence.
    pub const FCS: u32 = 4;
    /// Preamble (7), start of frame (1) and inter-frame gap (12): what a frame costs at L1
    /// beyond its L2 bytes.
    pub const L1_OVERHEAD: u32 = 20;

    /// A length that counts the FCS.
    pub const fn with_fcs(bytes: u32) -> FrameLen {
        FrameLen(bytes)
    }

    /// A length as it lies in memory, without FCS.
    pub const fn without_fcs(bytes: u32) -> FrameLen {
        FrameLen(bytes + Self::FCS)
    }

    /// L2 bytes with FCS.
    pub const fn l2(self) -> u32 {
        self.0
    }

    /// L2 bytes without FCS: the length in memory.
    pub const fn in_memory(self) -> u32 {
        self.0.saturating_sub(Self::FCS)
    }

    /// Bytes of wire time: L2 plus preamble, start of frame and gap.
    pub const fn l1(self) -> u32 {
        self.0 + Self::L1_OVERHEAD
    }

    /// The IP packet in an untagged frame: L2 less 18.
    pub const fn l3(self) -> u32 {
        self.0.saturating_sub(18)
    }
}

/// Bits per second. The layer is named by the function that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct BitRate(pub f64);

impl BitRate {
    /// `g` · 10⁹ bit/s.
    pub const fn gbps(g: f64) -> BitRate {
        BitRate(g * 1e9)
    }

    /// In Mbit/s (10⁶).
    pub const fn as_mbps(self) -> f64 {
        self.0 / 1e6
    }

    /// The most frames of `len` that fit this L1 rate: rate / (8 · (L2 + 20)).
    pub fn max_frames(self, len: FrameLen) -> PacketRate {
        PacketRate(self.0 / (8.0 * f64::from(len.l1())))
    }
}

/// Packets (frames) per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PacketRate(pub f64);

impl PacketRate {
    /// In thousands.
    pub const fn as_kpps(self) -> f64 {
        self.0 / 1e3
    }

    /// Occupied wire: preamble, frame with FCS, gap.
    pub fn l1(self, len: FrameLen) -> BitRate {
        BitRate(self.0 * 8.0 * f64::from(len.l1()))
    }

    /// Frame with FCS: the convention of the performance tables of 2016 and 2019.
    pub fn l2(self, len: FrameLen) -> BitRate {
        BitRate(self.0 * 8.0 * f64::from(len.l2()))
    }

    /// IP packet of an untagged frame.
    pub fn l3(self, len: FrameLen) -> BitRate {
        BitRate(self.0 * 8.0 * f64::from(len.l3()))
    }
}
