//! A constant rate in bursts: so many frames back to back, and then nothing until the next are due.
//!
//! ```text
//!  ││││············││││············      burst = 4
//!  └┘ within        └ pace · 4 ┘
//! ```
//!
//! Frames of a burst are as close to each other as the wire has them (RFC 2544 §21: the minimum
//! inter-frame gap). Due all at once, they would wait in the tester, and those that find no room there
//! would never be sent.

use super::Pace;
use std::time::Duration;

/// Bursts without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Of all frames, in the mean.
    pub pace: Pace,
    /// Frames in each (0 are taken as 1).
    pub burst: u32,
    /// Within a burst: the wire's own rate.
    pub within: Pace,
}

impl Bursts {
    fn burst(self) -> u64 {
        u64::from(self.burst.max(1))
    }

    /// When frame `k` is due, after the start.
    pub fn time_of(self, k: u64) -> Duration {
        let first = k - k % self.burst();
        let next = self.pace.time_of(first.saturating_add(self.burst()));
        let into = self.within.time_of(k % self.burst());
        // No burst begins before the last one is over, whatever was rounded.
        self.pace.time_of(first).saturating_add(into).min(next)
    }

    /// Frames due when `time` has passed.
    pub(super) fn by(self, time: Duration) -> u64 {
        let begun = self.pace.by(time).div_ceil(self.burst());
        let whole = (begun - 1).saturating_mul(self.burst());
        let into = time.saturating_sub(self.pace.time_of(whole));
        whole.saturating_add(self.within.by(into).min(self.burst()))
    }

    /// Frames of the bursts that begin before `time` has passed: one that has begun is sent whole.
    pub(super) fn before(self, time: Duration) -> u64 {
        self.pace.before(time).div_ceil(self.burst()).saturating_mul(self.burst())
    }
}
