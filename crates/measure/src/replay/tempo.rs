//! The tempo of a replay: as the frames came, faster, slower, or at a rate of its own.
//!
//! ```text
//!  captured   │ │  │          │        speed 2   ││ │     │        rate   │ │ │ │
//!  one loop   └────────────────┴ and the mean gap: then the next begins
//!
//!  as soon as its port's wire is free      first   ├a─┤├b─────┤├d──┤
//!  (and the one before it has begun)       second     ├c┤      ├e──────┤
//! ```
//!
//! No wire carries two frames at once: of those that would be due on a port while the one before is
//! still being sent, each follows right behind it. None is due before one that stands before it in the
//! capture, whichever port that is sent by. What is too much in the mean is refused.

use super::sides::Side;
use crate::schedule::Rate;
use std::fmt;
use wire::{BitRate, FrameLen};

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tempo {
    /// So many times as fast as it was captured.
    Speed(f64),
    /// At this rate, whatever it was then: of all frames together, by both ports.
    Rate(Rate),
    /// As fast as the wires of both ports carry it in its order, as tcpreplay's `--topspeed`.
    Wires,
}

/// A frame, as far as times go by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    pub(super) side: Side,
    pub(super) time_ns: u64,
    pub(super) len: FrameLen,
    /// Bytes in front of the IP packet.
    pub(super) before_ip: usize,
}

/// When the frames of a loop are due, and when the next loop begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timetable {
    pub(super) due_ns: Vec<u64>,
    pub(super) period_ns: u64,
}

/// More than the wire of a port carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AboveTheWire {
    /// Which port.
    pub side: Side,
    /// What it would send in the mean: L1.
    pub needs: BitRate,
    /// What there is.
    pub wire: BitRate,
}

impl fmt::Display for AboveTheWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AboveTheWire { needs, wire, .. } = self;
        write!(
            f,
            "a rate above the wire: {:.3} Mbps (L1) in the mean, and the wire carries {wire:#}: {:.3} \
             times this at most",
            needs.as_mbps(),
            wire.0 / needs.0
        )
    }
}

impl std::error::Error for AboveTheWire {}

impl Tempo {
    pub(super) fn timetable(
        self,
        beats: &[Beat],
        wire: BitRate,
    ) -> Result<Timetable, AboveTheWire> {
        let l1_ns = |beat: &Beat| f64::from(beat.len.l1()) * 8e9 / wire.0;
        let (mut due, period) = self.wanted(beats, wire);
        let of = |side| beats.iter().filter(move |beat| beat.side == side);
        for side in [Side::First, Side::Second] {
            let busy: f64 = of(side).map(l1_ns).sum();
            if self != Tempo::Wires && busy > period * (1.0 + 1e-6) {
                let needs = BitRate(wire.0 * busy / period);
                return Err(AboveTheWire { side, needs, wire });
            }
        }
        let (mut free, mut before): ([f64; 2], f64) = ([0.0; 2], 0.0);
        for (due, beat) in due.iter_mut().zip(beats) {
            let free = &mut free[beat.side.index()];
            before = due.max(*free).max(before);
            *due = before;
            *free = before + l1_ns(beat);
        }
        // A microsecond's millionth is what such sums may be wrong by.
        let whole = |ns: f64| (ns - 1e-6).ceil().max(0.0) as u64;
        let due_ns = due.iter().map(|ns| whole(*ns)).collect();
        let period_ns = whole(period.max(free[0]).max(free[1])).max(1);
        Ok(Timetable { due_ns, period_ns })
    }

    /// When they were due if a wire carried all at once, and how long a loop is, in nanoseconds.
    fn wanted(self, beats: &[Beat], wire: BitRate) -> (Vec<f64>, f64) {
        let rate = match self {
            Tempo::Speed(speed) => {
                let span = beats.last().map_or(0, |beat| beat.time_ns) as f64;
                // The last has the mean distance to the first of the next; one alone comes each second.
                let gap = if beats.len() > 1 { span / (beats.len() - 1) as f64 } else { 1e9 };
                let due = beats.iter().map(|beat| beat.time_ns as f64 / speed).collect();
                return (due, (span + gap.max(1.0)) / speed);
            }
            Tempo::Rate(rate) => rate,
            Tempo::Wires => return (vec![0.0; beats.len()], 0.0),
        };
        let ns_of = |beat: &Beat| {
            let (l1, l2) = (f64::from(beat.len.l1()), f64::from(beat.len.l2()));
            let (bytes, bits) = match rate {
                Rate::Frames(rate) => return 1e9 / rate.0,
                Rate::L1(bits) => (l1, bits.0),
                Rate::L2(bits) => (l2, bits.0),
                Rate::L3(bits) => (l2 - 4.0 - beat.before_ip as f64, bits.0),
                Rate::Percent(percent) => (l1, wire.0 * percent / 100.0),
            };
            bytes * 8e9 / bits
        };
        let mut now = 0.0;
        let due = beats.iter().map(|beat| {
            let due = now;
            now += ns_of(beat);
            due
        });
        (due.collect(), now)
    }
}

impl Timetable {
    /// How long one loop takes, in nanoseconds, the gap to the next with it.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Frames due before `ns`, of all loops without end.
    pub(super) fn before(&self, ns: u64) -> u64 {
        let (loops, rest) = (ns / self.period_ns, ns % self.period_ns);
        let n = self.due_ns.len() as u64;
        let of_rest = self.due_ns.partition_point(|due| *due < rest) as u64;
        loops.saturating_mul(n).saturating_add(of_rest)
    }

    /// When frame `k` is due, in nanoseconds, counted on through the loops.
    #[inline]
    pub(super) fn time_of(&self, k: u64) -> u64 {
        let n = self.due_ns.len() as u64;
        (k / n).saturating_mul(self.period_ns).saturating_add(self.due_ns[(k % n) as usize])
    }
}
