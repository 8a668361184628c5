//! Time, rates and frame lengths, each a type of its own, so that layers are never mixed up.
//!
//! ```text
//!                  ┌─────────────────── L1: 84 ───────────────────┐
//!     64-byte      | preamble 8 | Ethernet 14 | IP … | FCS 4 | gap 12 |
//!     frame                     └──── in memory: 60 ─┘
//!                               └──────── L2: 64 ────────────┘
//!                                             └ L3: 46 ┘
//! ```
//!
//! Rates are kept in packets and L2 bytes; the other layers are derived (reference: RFC 2544
//! App. B, RFC 1242 §3.5).

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};
use std::time::Duration;

use crate::text::{Bits, Thousands};

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
    /// The shortest Ethernet frame, 64 bytes.
    pub const MIN: FrameLen = FrameLen(64);
    /// The longest untagged frame of an MTU of 1500, 1518 bytes.
    pub const MAX: FrameLen = FrameLen(1518);
    /// The sizes every Ethernet device is tested with (RFC 2544 §9.1).
    pub const RFC_2544: [FrameLen; 7] = [
        FrameLen(64),
        FrameLen(128),
        FrameLen(256),
        FrameLen(512),
        FrameLen(1024),
        FrameLen(1280),
        FrameLen(1518),
    ];

    /// A length that counts the FCS.
    pub const fn with_fcs(bytes: u32) -> FrameLen {
        FrameLen(bytes)
    }

    /// A length as it lies in memory, without FCS.
    pub const fn without_fcs(bytes: u32) -> FrameLen {
        FrameLen(bytes.saturating_add(Self::FCS))
    }

    /// What a wire carries for a frame of so many bytes in memory: the FCS, and padding up to
    /// 64 bytes.
    pub const fn on_wire(bytes: u32) -> FrameLen {
        let len = Self::without_fcs(bytes);
        if len.0 < Self::MIN.0 { Self::MIN } else { len }
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
        self.0.saturating_add(Self::L1_OVERHEAD)
    }

    /// The IP packet in an untagged frame: L2 less 18. A VLAN tag takes 4 more.
    pub const fn l3(self) -> u32 {
        self.0.saturating_sub(18)
    }
}

impl fmt::Display for FrameLen {
    /// L2 bytes with FCS: `64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
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

    /// `m` · 10⁶ bit/s.
    pub const fn mbps(m: f64) -> BitRate {
        BitRate(m * 1e6)
    }

    /// In Mbit/s (10⁶).
    pub const fn as_mbps(self) -> f64 {
        self.0 / 1e6
    }

    /// In Gbit/s (10⁹).
    pub const fn as_gbps(self) -> f64 {
        self.0 / 1e9
    }

    /// The most frames of `len` that fit this L1 rate: rate / (8 · (L2 + 20)).
    pub fn max_frames(self, len: FrameLen) -> PacketRate {
        PacketRate(self.0 / (8.0 * f64::from(len.l1())))
    }
}

impl fmt::Display for BitRate {
    /// As RouterOS's console prints rates, cut after one decimal: `7.4Gbps`; `{:#}` is `7.4 Gbps`.
    /// What is no rate (negative, not a number) shows as 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Bits(self.0 as u64), f)
    }
}

/// Packets (frames) per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PacketRate(pub f64);

impl PacketRate {
    /// `packets` in `time`; 0 if no time passed.
    pub fn of(packets: u64, time: Duration) -> PacketRate {
        let seconds = time.as_secs_f64();
        PacketRate(if seconds > 0.0 { packets as f64 / seconds } else { 0.0 })
    }

    /// `k` thousands.
    pub const fn kpps(k: f64) -> PacketRate {
        PacketRate(k * 1e3)
    }

    /// In thousands.
    pub const fn as_kpps(self) -> f64 {
        self.0 / 1e3
    }

    /// In millions.
    pub const fn as_mpps(self) -> f64 {
        self.0 / 1e6
    }

    /// Nanoseconds from one packet to the next; infinite at rate 0.
    pub const fn ns_per_packet(self) -> f64 {
        1e9 / self.0
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

impl fmt::Display for PacketRate {
    /// Whole packets, cut: `14 880 952 pps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} pps", Thousands(self.0 as u64)))
    }
}

/// Rates of one kind add up, scale, and compare; the kinds do not mix.
macro_rules! arithmetic {
    ($rate:ident) => {
        impl Add for $rate {
            type Output = $rate;

            fn add(self, other: $rate) -> $rate {
                $rate(self.0 + other.0)
            }
        }

        impl Sub for $rate {
            type Output = $rate;

            fn sub(self, other: $rate) -> $rate {
                $rate(self.0 - other.0)
            }
        }

        impl Mul<f64> for $rate {
            type Output = $rate;

            fn mul(self, by: f64) -> $rate {
                $rate(self.0 * by)
            }
        }

        impl Div<f64> for $rate {
            type Output = $rate;

            fn div(self, by: f64) -> $rate {
                $rate(self.0 / by)
            }
        }

        impl Div for $rate {
            type Output = f64;

            fn div(self, other: $rate) -> f64 {
                self.0 / other.0
            }
        }

        impl Sum for $rate {
            fn sum<I: Iterator<Item = $rate>>(rates: I) -> $rate {
                $rate(rates.map(|rate| rate.0).sum())
            }
        }
    };
}

arithmetic!(BitRate);
arithmetic!(PacketRate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_rates() {
        for (rate, len, fps) in [
            // RFC 2544 App. B, for 10 Mbit/s.
            (BitRate::mbps(10.0), 64, 14_880),
            (BitRate::mbps(10.0), 128, 8_445),
            (BitRate::mbps(10.0), 256, 4_528),
            (BitRate::mbps(10.0), 512, 2_349),
            (BitRate::mbps(10.0), 768, 1_586),
            (BitRate::mbps(10.0), 1024, 1_197),
            (BitRate::mbps(10.0), 1280, 961),
            (BitRate::mbps(10.0), 1518, 812),
            (BitRate::gbps(1.0), 64, 1_488_095),
            (BitRate::gbps(10.0), 64, 14_880_952),
            (BitRate::gbps(10.0), 1518, 812_743),
            (BitRate::gbps(10.0) * 8.0, 64, 119_047_619),
        ] {
            let max = rate.max_frames(FrameLen::with_fcs(len));
            assert_eq!(max.0 as u64, fps, "{len} bytes at {rate}");
            assert!((max.l1(FrameLen::with_fcs(len)) / rate - 1.0).abs() < 1e-12);
        }
        // "119,047.6 kpps": the 8 × 10G row of the documents' table.
        let eight = std::iter::repeat_n(BitRate::gbps(10.0), 8).sum::<BitRate>();
        let kpps = eight.max_frames(FrameLen::MIN).as_kpps();
        assert_eq!((kpps * 10.0).floor() / 10.0, 119_047.6);
    }

    #[test]
    fn layers_of_a_frame() {
        for (len, l1, l2, in_memory, l3) in
            [(64, 84, 64, 60, 46), (1518, 1538, 1518, 1514, 1500), (0, 20, 0, 0, 0)]
        {
            let frame = FrameLen::with_fcs(len);
            assert_eq!((frame.l1(), frame.l2()), (l1, l2));
            assert_eq!((frame.in_memory(), frame.l3()), (in_memory, l3));
            let fps = PacketRate(1000.0);
            assert_eq!(fps.l1(frame), BitRate(f64::from(l1) * 8000.0));
            assert_eq!(fps.l2(frame), BitRate(f64::from(l2) * 8000.0));
            assert_eq!(fps.l3(frame), BitRate(f64::from(l3) * 8000.0));
        }
        assert_eq!(FrameLen::without_fcs(60), FrameLen::MIN);
        assert_eq!((FrameLen::on_wire(42), FrameLen::on_wire(61).l2()), (FrameLen::MIN, 65));
        assert_eq!(FrameLen::without_fcs(u32::MAX).l1(), u32::MAX, "no overflow");
    }

    #[test]
    fn printed() {
        assert_eq!(format!("[{:>5}]", FrameLen::MAX), "[ 1518]");
        assert_eq!(BitRate::gbps(9.999).to_string(), "9.9Gbps");
        assert_eq!(format!("{:#}", BitRate::mbps(106.49)), "106.4 Mbps");
        assert_eq!(
            (BitRate(f64::NAN).to_string(), BitRate(-1.0).to_string()),
            ("0bps".into(), "0bps".into())
        );
        let max = BitRate::gbps(10.0).max_frames(FrameLen::MIN);
        assert_eq!(max.to_string(), "14 880 952 pps");
    }

    #[test]
    fn rates_of_counts() {
        assert_eq!(PacketRate::of(665_013, Duration::from_secs(3)).0 as u64, 221_671);
        assert_eq!(PacketRate::of(5, Duration::ZERO), PacketRate(0.0));
        assert_eq!(PacketRate::kpps(1000.0).ns_per_packet(), 1000.0);
        let half = PacketRate(10.0) / 2.0;
        assert_eq!((half + half, half - half, half / half), (half * 2.0, PacketRate(0.0), 1.0));
    }

    #[test]
    fn moments() {
        let (early, late) = (Moment::from_nanos(5), Moment::from_nanos(3_000_007));
        assert_eq!(late - early, Duration::from_nanos(3_000_002));
        assert_eq!(early - late, Duration::ZERO, "never negative");
        assert_eq!(early + Duration::from_nanos(2), Moment::from_nanos(7));
        assert_eq!(late + Duration::MAX, Moment::from_nanos(u64::MAX), "never wraps");
        assert_eq!(late.as_millis_u32(), 3);
        assert_eq!(Moment::from_nanos(u64::MAX).as_millis_u32(), 18_446_744_073_709u64 as u32);
    }
}
