//! `cake-autorate-ingress`: the bandwidth of the line in front, estimated from how its packets arrive, as Linux's
//! CAKE does.
//!
//! ```text
//!  packets   ▌▌▌▌▌▌        ▌▌▌▌▌▌▌      ▌▌▌
//!            └─ a burst ──┘└─ a burst ──┘
//!               bytes / time = a bandwidth ─► their average, quick to rise ─► 15/16 of it, every 250 ms
//! ```
//!
//! A burst ends at a gap that is longer than usual. An estimate from a line with little to carry is low: the
//! shaper then holds up whoever wants more until the estimate has risen, as in Linux.

use std::time::Duration;
use wire::Moment;

/// How often the shaper has a new rate, at most.
const EVERY: Duration = Duration::from_millis(250);
const SECOND_NS: u64 = 1_000_000_000;

/// What is known of the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Autorate {
    /// The last packet's arrival.
    came: Moment,
    /// The average gap between packets, nanoseconds.
    gap_ns: u64,
    /// The burst's first moment, and its bytes.
    began: Moment,
    bytes: u64,
    /// The average bandwidth of bursts, bits per second.
    peak: u64,
    /// When the shaper had a new rate.
    told: Moment,
}

impl Autorate {
    /// One that begins with the rate configured, bits per second; 0 is no idea.
    pub(super) fn new(rate: u64, now: Moment) -> Autorate {
        Autorate { came: now, gap_ns: 0, began: now, bytes: 0, peak: rate, told: now }
    }

    /// A packet arrives; the shaper's new rate, if it is time for one.
    pub(super) fn arrive(&mut self, len: u32, now: Moment) -> Option<u64> {
        self.bytes += u64::from(len);
        let gap_ns = (now.since(self.came).as_nanos() as u64).min(SECOND_NS);
        self.came = now;
        self.gap_ns = average(self.gap_ns, gap_ns, if gap_ns > self.gap_ns { 2 } else { 8 });
        if gap_ns <= self.gap_ns {
            return None;
        }
        let took_ns = now.since(self.began).as_nanos().max(1);
        let rate = u128::from(self.bytes) * 8 * u128::from(SECOND_NS) / took_ns;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        self.peak = average(self.peak, rate, if rate > self.peak { 2 } else { 8 });
        (self.began, self.bytes) = (now, 0);
        if now.since(self.told) <= EVERY {
            return None;
        }
        self.told = now;
        Some((self.peak - self.peak / 16).max(1))
    }
}

/// An average that moves by the 2^`shift`th part towards a sample.
fn average(old: u64, sample: u64, shift: u32) -> u64 {
    old - (old >> shift) + (sample >> shift)
}
