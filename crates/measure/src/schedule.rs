//! Schedules of frames: at a constant rate, in bursts, at random, faster and faster.
//!
//! ```text
//! Paced     │ │ │ │ │ │ │ │ │ │        frame k at k · ns / frames, in whole numbers: no drift
//! Bursts    ││││      ││││             the same mean rate, `burst` frames back to back
//! turns     │ │   │ │       │ │       the same of frames whose lengths differ: wire and gap in step
//! several   │ │ │ │      │ │ │ │      so many bursts, the rate within each, and then no more
//! Poisson   │  ││    │ │ │││  │        each gap by itself, exponential, from a seed
//! Ramp      │    │   │  │  │ │ │││     from one rate to another over the duration
//! ```
//!
//! A timetable says how many frames are due by a time, and when the next one is; it never
//! forgets one, however late it is asked.
//!
//! Never reads a clock.

// Bursts without end.
mod bursts;
// So many bursts, and the time between them.
mod several;
// Frames of different lengths, each as long apart as it is long.
mod turns;

pub use bursts::Bursts;
pub use several::Several;
pub(crate) use turns::Turns;

use crate::Prng;
use crate::size::Cycle;
use std::fmt;
use std::time::Duration;
use wire::{BitRate, FrameLen, Moment, PacketRate};

/// A constant rate in whole numbers: so many frames in so many nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    frames: u64,
    ns: u64,
}

impl Pace {
    /// The rate, to a thousandth of a packet per second; `None` if it is not a number, below one
    /// thousandth, or above 10¹² packets per second.
    pub fn of(rate: PacketRate) -> Option<Pace> {
        let frames = (rate.0 * 1e3).round();
        (1.0..=1e15).contains(&frames).then_some(Pace { frames: frames as u64, ns: SECOND * 1000 })
    }

    /// What a wire of `bits_per_second` (L1) carries, exactly: 64-byte frames at 10¹⁰ bit/s are
    /// 14,880,952.38… a second. `None` if the wire carries nothing, or more than 10¹⁵ bit/s.
    pub fn of_wire(bits_per_second: u64, frame: FrameLen) -> Option<Pace> {
        Pace::of_cycle(bits_per_second, frame.into())
    }

    /// The same of frames whose lengths differ: so many in the mean as make the wire full.
    pub(crate) fn of_cycle(bits_per_second: u64, cycle: Cycle) -> Option<Pace> {
        if !(1..=1_000_000_000_000_000).contains(&bits_per_second) {
            return None;
        }
        let ns = (SECOND * 8).checked_mul(cycle.l1_bytes())?;
        Some(Pace { frames: bits_per_second.checked_mul(cycle.frames)?, ns })
    }

    /// So many frames in so many nanoseconds.
    pub fn frames_in_ns(self) -> (u64, u64) {
        (self.frames, self.ns)
    }

    /// As a rate.
    pub fn rate(self) -> PacketRate {
        PacketRate(self.frames as f64 / self.ns as f64 * SECOND as f64)
    }

    /// Frames whose time comes before `time` has passed since the start.
    pub(crate) fn before(self, time: Duration) -> u64 {
        saturate((time.as_nanos() * u128::from(self.frames)).div_ceil(u128::from(self.ns)))
    }

    /// Frames whose time comes before or when `time` has passed since the start.
    #[inline]
    pub(crate) fn by(self, time: Duration) -> u64 {
        saturate(time.as_nanos() * u128::from(self.frames) / u128::from(self.ns)).saturating_add(1)
    }

    /// When frame `k` is due, after the start.
    #[inline]
    pub fn time_of(self, k: u64) -> Duration {
        let ns = (u128::from(k) * u128::from(self.ns)).div_ceil(u128::from(self.frames));
        Duration::from_nanos(saturate(ns))
    }
}

const SECOND: u64 = 1_000_000_000;

fn saturate(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Preamble, start of frame and inter-frame gap: what L1 has and L2 has not, in bytes.
const GAP: f64 = 20.0;

/// How fast, in the words of whoever asks: frames, or bits of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Frames a second.
    Frames(PacketRate),
    /// With preamble and gap.
    L1(BitRate),
    /// With FCS.
    L2(BitRate),
    /// The IP packet.
    L3(BitRate),
    /// Of what the wire carries, in per cent.
    Percent(f64),
}

impl Rate {
    /// The frames a second that this is on a wire of an L1 rate, with frames of so many bytes in the
    /// mean: `l2` with FCS, `l3` of them the IP packet.
    ///
    /// # Errors
    /// A rate that is not a positive number, above what the wire carries, or per cent of a wire
    /// whose rate is not known.
    pub fn frames(self, l2: f64, l3: f64, wire: Option<BitRate>) -> Result<PacketRate, BadRate> {
        let of_bits = |bits: BitRate, bytes: f64| bits.0 / (8.0 * bytes);
        let most = wire.map(|wire| of_bits(wire, l2 + GAP));
        let frames = match self {
            Rate::Frames(rate) => rate.0,
            Rate::L1(bits) => of_bits(bits, l2 + GAP),
            Rate::L2(bits) => of_bits(bits, l2),
            Rate::L3(bits) => of_bits(bits, l3),
            Rate::Percent(percent) => most.ok_or(BadRate::UnknownWire)? * percent / 100.0,
        };
        if !(frames > 0.0 && frames.is_finite()) {
            return Err(BadRate::NoRate(self));
        }
        match most {
            // A millionth is how far a rate given in Mbit/s may be rounded.
            Some(most) if frames > most * (1.0 + 1e-6) => {
                Err(BadRate::AboveTheWire { frames: PacketRate(frames), most: PacketRate(most) })
            }
            _ => Ok(PacketRate(frames)),
        }
    }
}

/// A rate that cannot be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BadRate {
    /// Not a positive number.
    NoRate(Rate),
    /// Per cent of what?
    UnknownWire,
    /// More than the wire carries.
    AboveTheWire {
        /// What was asked for.
        frames: PacketRate,
        /// What the wire carries of such frames.
        most: PacketRate,
    },
}

impl fmt::Display for BadRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadRate::NoRate(rate) => write!(f, "{rate:?} is no rate: it has to be above 0"),
            BadRate::UnknownWire => f.write_str(
                "per cent of a wire whose rate is not known: give frames or bits a second instead",
            ),
            BadRate::AboveTheWire { frames, most } => write!(
                f,
                "{:.0} frames a second, but the wire carries {:.0} of this length at most",
                frames.0, most.0
            ),
        }
    }
}

impl std::error::Error for BadRate {}

/// How much to send (RFC 2285's intended load).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A batch at every poll: as much as the tester can.
    FullSpeed,
    /// A constant rate.
    Paced(Pace),
    /// So many frames back to back, at a rate in the mean (RFC 2544 §21).
    Bursts(Bursts),
    /// So many bursts, each at a rate, some time apart; then nothing.
    Several(Several),
    /// Random gaps with an exponential distribution, at this rate in the mean.
    Poisson {
        /// The mean rate.
        pace: Pace,
        /// Where the gaps come from.
        seed: u64,
    },
    /// From one rate to another, evenly over the duration.
    Ramp {
        /// At the start.
        from: Pace,
        /// At the end.
        to: Pace,
    },
}

/// What is sent, from when, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How much.
    pub load: Load,
    /// When the first frame is due.
    pub start: Moment,
    /// Frames due at this time after the start, or later, are not sent any more.
    pub duration: Duration,
}

impl Schedule {
    /// How many frames will have been sent when all is over; `None` where only the end shows: at
    /// full speed, and at random.
    pub fn frames(&self) -> Option<u64> {
        match self.load {
            Load::FullSpeed | Load::Poisson { .. } => None,
            Load::Paced(pace) => Some(pace.before(self.duration)),
            Load::Bursts(bursts) => Some(bursts.before(self.duration)),
            Load::Several(several) => Some(several.before(self.duration)),
            Load::Ramp { from, to } => {
                Some(Ramp::new(from, to, self.duration).before(self.duration.as_nanos() as u64))
            }
        }
    }

    pub(crate) fn timetable(&self) -> Timetable {
        match self.load {
            Load::FullSpeed => Timetable::FullSpeed,
            Load::Paced(pace) => Timetable::Paced(pace),
            Load::Bursts(bursts) => Timetable::Bursts(bursts),
            Load::Several(several) => Timetable::Several(several),
            Load::Poisson { pace, seed } => Timetable::Poisson(Box::new(Poisson {
                gap_ns: 1e9 / pace.rate().0,
                prng: Prng::new(seed),
                next_ns: 0.0,
                due: 0,
            })),
            Load::Ramp { from, to } => {
                Timetable::Ramp(Box::new(Ramp::new(from, to, self.duration)))
            }
        }
    }
}

/// The times of a schedule's frames, asked in order.
pub(crate) enum Timetable {
    FullSpeed,
    Paced(Pace),
    Turns(Box<Turns>),
    Bursts(Bursts),
    Several(Several),
    Poisson(Box<Poisson>),
    Ramp(Box<Ramp>),
}

impl Timetable {
    /// How many frames are due when `time` has passed, of those before `end`.
    #[inline]
    pub(crate) fn due_by(&mut self, time: Duration, end: Duration) -> u64 {
        match self {
            Timetable::FullSpeed => u64::MAX,
            Timetable::Paced(pace) => pace.by(time),
            Timetable::Turns(turns) => turns.by(time),
            Timetable::Bursts(bursts) => bursts.by(time),
            Timetable::Several(several) => several.by(time),
            Timetable::Poisson(poisson) => poisson.due_by(time, end),
            Timetable::Ramp(ramp) => ramp.by(time.min(end).as_nanos() as u64),
        }
    }

    /// When frame `k` is due; `None` if that has been and is forgotten.
    #[inline]
    pub(crate) fn time_of(&self, k: u64) -> Option<Duration> {
        Some(match self {
            Timetable::FullSpeed => Duration::ZERO,
            Timetable::Paced(pace) => pace.time_of(k),
            Timetable::Turns(turns) => turns.time_of(k),
            Timetable::Bursts(bursts) => bursts.time_of(k),
            Timetable::Several(several) => several.time_of(k),
            Timetable::Poisson(poisson) if k < poisson.due => return None,
            Timetable::Poisson(poisson) => Duration::from_nanos(poisson.next_ns.ceil() as u64),
            Timetable::Ramp(ramp) => Duration::from_nanos(ramp.time_of(k)),
        })
    }
}

/// Random gaps.
pub(crate) struct Poisson {
    gap_ns: f64,
    prng: Prng,
    /// When the next frame is due; the first one is at 0.
    next_ns: f64,
    due: u64,
}

impl Poisson {
    fn due_by(&mut self, time: Duration, end: Duration) -> u64 {
        let (time, end) = (time.as_nanos() as f64, end.as_nanos() as f64);
        while self.next_ns.ceil() <= time && self.next_ns.ceil() < end {
            self.due += 1;
            // Of 2⁵³ numbers from 1 down to above 0: the logarithm is never of 0.
            let uniform = ((self.prng.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            self.next_ns -= self.gap_ns * uniform.ln();
        }
        self.due
    }
}

/// A rate that changes evenly: by time t, from · t + (to − from) · t² / 2T frames are due.
#[derive(Clone, Copy)]
pub(crate) struct Ramp {
    /// Frames a nanosecond.
    from: f64,
    /// Half the change of that in a nanosecond.
    half: f64,
}

impl Ramp {
    fn new(from: Pace, to: Pace, duration: Duration) -> Ramp {
        let per_ns = |pace: Pace| pace.frames as f64 / pace.ns as f64;
        let ns = (duration.as_nanos() as f64).max(1.0);
        Ramp { from: per_ns(from), half: (per_ns(to) - per_ns(from)) / (2.0 * ns) }
    }

    /// When frame `k` is due; far away if it is never.
    fn time_of(self, k: u64) -> u64 {
        let k = k as f64;
        let root = self.from * self.from + 4.0 * self.half * k;
        if root < 0.0 {
            return u64::MAX;
        }
        // The smaller root, in the form that loses no digits where `half` is next to nothing.
        (2.0 * k / (self.from + root.sqrt())).ceil() as u64
    }

    /// Frames due at `ns` or before: one count with `time_of`, whatever rounding did to either.
    fn by(self, ns: u64) -> u64 {
        let t = ns as f64;
        let mut k = (self.from * t + self.half * t * t).max(0.0) as u64;
        while k > 0 && self.time_of(k) > ns {
            k -= 1;
        }
        while self.time_of(k + 1) <= ns {
            k += 1;
        }
        k + 1
    }

    fn before(self, ns: u64) -> u64 {
        if ns == 0 { 0 } else { self.by(ns - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pace(pps: f64) -> Pace {
        Pace::of(PacketRate(pps)).unwrap()
    }

    fn ns(ns: u64) -> Duration {
        Duration::from_nanos(ns)
    }

    #[test]
    fn wire_speed_is_exact() {
        let frame = FrameLen::with_fcs(64);
        let pace = Pace::of_wire(10_000_000_000, frame).unwrap();
        assert_eq!(pace.before(Duration::from_secs(1)), 14_880_953, "the first one at 0");
        assert_eq!(pace.before(Duration::from_secs(21)), 312_500_000, "no drift");
        assert_eq!(pace.before(Duration::from_secs(21_000_000)), 312_500_000_000_000);
        assert_eq!(pace.rate().0 as u64, 14_880_952);
        let gigabit = Pace::of_wire(1_000_000_000, frame).unwrap();
        assert_eq!(gigabit.rate().0 as u64, 1_488_095);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e13, 1e-5] {
            assert_eq!(Pace::of(PacketRate(bad)), None, "{bad}");
        }
        assert_eq!(Pace::of_wire(0, frame), None);
    }

    /// All times of a schedule, asked as often as there are frames.
    fn times(load: Load, duration: Duration) -> Vec<u64> {
        let schedule = Schedule { load, start: Moment::ZERO, duration };
        let mut timetable = schedule.timetable();
        let mut times = Vec::new();
        loop {
            let next = timetable.time_of(times.len() as u64).unwrap();
            let is_burst = matches!(load, Load::Bursts(_));
            if schedule.frames() == Some(times.len() as u64) || (next >= duration && !is_burst) {
                break;
            }
            let due = timetable.due_by(next, duration).min(schedule.frames().unwrap_or(u64::MAX));
            assert!(due > times.len() as u64, "{load:?}: {due} due at {next:?}, {}", times.len());
            times.resize(due as usize, next.as_nanos() as u64);
        }
        assert_eq!(schedule.frames().unwrap_or(times.len() as u64), times.len() as u64, "{load:?}");
        times
    }

    #[test]
    fn bursts_have_the_same_mean_rate() {
        let bursts =
            |burst, within| Load::Bursts(Bursts { pace: pace(1e6), burst, within: pace(within) });
        let four = times(bursts(4, 1e8), ns(10_000));
        assert_eq!(four, [0, 10, 20, 30, 4000, 4010, 4020, 4030, 8000, 8010, 8020, 8030]);
        let cut = times(bursts(4, 1e8), ns(4011));
        assert_eq!(cut, four[..8], "one that has begun is sent whole");
        assert_eq!(times(bursts(3, 1e6), ns(6000)), [0, 1000, 2000, 3000, 4000, 5000]);
        // Above the wire there is no burst: each begins behind the last one.
        assert_eq!(times(bursts(2, 1e5), ns(4000)), [0, 2000, 2000, 4000]);
        let single = times(bursts(0, 1e8), ns(3000));
        assert_eq!(single, times(Load::Paced(pace(1e6)), ns(3000)));
    }

    #[test]
    fn several_bursts_and_no_more() {
        let several = Several { pace: pace(1e6), burst: 3, apart: ns(5000), bursts: 2 };
        let all = [0, 1000, 2000, 7000, 8000, 9000];
        assert_eq!(times(Load::Several(several), ns(100_000)), all);
        assert_eq!(times(Load::Several(several), ns(8000)), all[..4], "cut off by the duration");
        let at_once = Several { pace: pace(1e9), burst: 1, apart: ns(0), bursts: 3 };
        assert_eq!(times(Load::Several(at_once), ns(100)), [0, 0, 0]);
        let none = Several { bursts: 0, ..several };
        assert!(times(Load::Several(none), ns(100)).is_empty());
    }

    #[test]
    fn random_gaps_are_exponential_and_the_seeds() {
        let load = |seed| Load::Poisson { pace: pace(1e6), seed };
        let all = times(load(1), Duration::from_millis(100));
        assert_eq!(all, times(load(1), Duration::from_millis(100)));
        assert_ne!(all, times(load(2), Duration::from_millis(100)));
        // 100,000 expected, with a deviation of 316.
        assert!((98_500..101_500).contains(&all.len()), "{}", all.len());
        // Gaps above the mean: e⁻¹ of all; above three times the mean: e⁻³.
        let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let above =
            |least: u64| gaps.iter().filter(|&&gap| gap > least).count() as f64 / gaps.len() as f64;
        assert!((above(1000) - 0.368).abs() < 0.01, "{}", above(1000));
        assert!((above(3000) - 0.0498).abs() < 0.005, "{}", above(3000));
    }

    #[test]
    fn ramps_go_from_one_rate_to_the_other() {
        let second = Duration::from_secs(1);
        for (from, to) in [(1e5, 3e5), (3e5, 1e5), (2e5, 2e5), (1.0, 4e5)] {
            let all = times(Load::Ramp { from: pace(from), to: pace(to) }, second);
            let expected = (from + to) / 2.0;
            assert!((all.len() as f64 - expected).abs() <= 2.0, "{from} to {to}: {}", all.len());
            let first = all.iter().filter(|&&at| at < 100_000_000).count() as f64;
            let expected = from * 0.1 + (to - from) * 0.005;
            assert!((first - expected).abs() <= 2.0, "{from} to {to}: {first}");
        }
    }

    #[test]
    fn rates_in_every_layer() {
        let wire = Some(BitRate::gbps(1.0));
        for (rate, expected) in [
            (Rate::Frames(PacketRate(1e6)), 1e6),
            (Rate::L1(BitRate::gbps(1.0)), 1_488_095.0),
            (Rate::L2(BitRate::mbps(512.0)), 1e6),
            (Rate::L3(BitRate::mbps(368.0)), 1e6),
            (Rate::Percent(100.0), 1_488_095.0),
            (Rate::Percent(50.0), 744_047.0),
        ] {
            let frames = rate.frames(64.0, 46.0, wire).unwrap();
            assert_eq!(frames.0.floor(), expected, "{rate:?}");
        }
        for (rate, wire, expected) in [
            (Rate::Percent(101.0), wire, "1502976 frames a second, but the wire carries 1488095"),
            (Rate::Frames(PacketRate(2e6)), wire, "2000000 frames a second, but the wire carries"),
            (Rate::Percent(1.0), None, "per cent of a wire whose rate is not known"),
            (Rate::Percent(0.0), wire, "Percent(0.0) is no rate"),
            (Rate::L1(BitRate(f64::NAN)), wire, "L1(BitRate(NaN)) is no rate"),
        ] {
            let error = rate.frames(64.0, 46.0, wire).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(Rate::Frames(PacketRate(1e9)).frames(64.0, 46.0, None).is_ok());
        // A mean is no whole number: seven of 64, four of 570, one of 1518.
        let mixed = Rate::Percent(100.0).frames(353.833, 335.833, wire).unwrap();
        assert_eq!(mixed.0.round(), 334_374.0);
    }

    proptest! {
        /// However a ramp is rounded: its two ways of counting agree, and time goes on.
        #[test]
        fn a_ramp_counts_as_it_times(
            from in 1.0f64..2e8, to in 1.0f64..2e8, duration in 1u64..2_000_000_000,
            at in 0.0f64..1.0,
        ) {
            let ramp = Ramp::new(pace(from), pace(to), ns(duration));
            let at = (at * duration as f64) as u64;
            let n = ramp.by(at);
            prop_assert!(n >= 1 && ramp.time_of(n - 1) <= at && ramp.time_of(n) > at);
            prop_assert!(ramp.before(at) <= n);
        }
    }
}
