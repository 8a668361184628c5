//! So many bursts, each at a rate, some time apart; and then nothing.
//!
//! ```text
//!  │ │ │ │            │ │ │ │            │ │ │ │
//!  └ pace ┘└─ apart ─┘                           bursts = 3, burst = 4
//! ```
//!
//! TRex calls it `STLTXMultiBurst`: `apart` is its `ibg`, from the last frame of a burst to the first
//! of the next.

use super::{Pace, saturate};
use std::time::Duration;

/// Several bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Several {
    /// Within a burst.
    pub pace: Pace,
    /// Frames in each (0 are taken as 1).
    pub burst: u32,
    /// From the last frame of a burst to the first of the next.
    pub apart: Duration,
    /// How many.
    pub bursts: u32,
}

impl Several {
    fn burst(self) -> u64 {
        u64::from(self.burst.max(1))
    }

    /// All frames of all bursts.
    pub fn frames(self) -> u64 {
        self.burst() * u64::from(self.bursts)
    }

    /// From the first frame of a burst to the first of the next.
    fn period(self) -> Duration {
        self.pace.time_of(self.burst() - 1).saturating_add(self.apart)
    }

    /// When frame `k` is due, after the start; far away if there is none.
    pub fn time_of(self, k: u64) -> Duration {
        if k >= self.frames() {
            return Duration::from_nanos(u64::MAX);
        }
        let ns = self.period().as_nanos() * u128::from(k / self.burst());
        Duration::from_nanos(saturate(ns)).saturating_add(self.pace.time_of(k % self.burst()))
    }

    /// Frames due when `time` has passed.
    pub(super) fn by(self, time: Duration) -> u64 {
        let (time, period) = (time.as_nanos(), self.period().as_nanos());
        let Some(begun) = time.checked_div(period) else { return self.frames() };
        let begun = saturate(begun).min(u64::from(self.bursts));
        let into = Duration::from_nanos(saturate(time - period * u128::from(begun)));
        let whole = begun * self.burst();
        if begun == u64::from(self.bursts) {
            return whole;
        }
        whole + self.pace.by(into).min(self.burst())
    }

    /// Frames due before `time` has passed.
    pub(super) fn before(self, time: Duration) -> u64 {
        match time.checked_sub(Duration::from_nanos(1)) {
            Some(last) => self.by(last),
            None => 0,
        }
    }
}
