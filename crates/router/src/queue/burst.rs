//! Bursts: for a while `burst-limit` stands in `max-limit`'s place.
//!
//! ```text
//!  burst-time: 16 slots   │▇│▇│▅│ │ │…│ + the present one   average = the 16 past ÷ burst-time
//!  average < burst-threshold ─► burst-limit        else ─► max-limit
//! ```
//!
//! The average is that of the last `burst-time`, found anew at each sixteenth of it; from idle, a
//! burst lasts `burst-threshold · burst-time ÷ burst-limit`.

use wire::Moment;

/// What is configured; rates in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BurstLimit {
    /// `burst-limit`.
    pub rate: u64,
    /// `burst-threshold`.
    pub threshold: u64,
    /// `burst-time`, in nanoseconds.
    pub time_ns: u64,
}

impl BurstLimit {
    /// Whether there are any bursts.
    pub fn is_some(self) -> bool {
        self.rate > 0 && self.time_ns >= SLOTS
    }
}

const SLOTS: u64 = 16;

/// What was sent of late.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    limit: BurstLimit,
    /// Bytes, by slot: those of the average, and the one that is being filled.
    sent: [u64; SLOTS as usize + 1],
    /// The slot that is being filled.
    slot: u64,
    /// In the past slots.
    total: u64,
    allowed: bool,
}

impl Burst {
    /// Nothing was sent.
    pub(super) fn new(limit: BurstLimit) -> Burst {
        Burst {
            limit,
            sent: [0; SLOTS as usize + 1],
            slot: 0,
            total: 0,
            allowed: limit.threshold > 0,
        }
    }

    /// The same past under another limit.
    pub(super) fn with_limit(mut self, limit: BurstLimit) -> Burst {
        if limit.time_ns != self.limit.time_ns {
            return Burst::new(limit);
        }
        self.limit = limit;
        self
    }

    /// The rate that stands in max-limit's place at `now`, if it does.
    pub(super) fn rate(&mut self, now: Moment) -> Option<u64> {
        let slot = now.as_nanos() / self.slot_ns();
        if slot > self.slot {
            // The present slot is past, and with each step the oldest makes room.
            self.total += self.sent[(self.slot % (SLOTS + 1)) as usize];
            for passed in 1..=(slot - self.slot).min(SLOTS + 1) {
                let oldest = &mut self.sent[((self.slot + passed) % (SLOTS + 1)) as usize];
                self.total -= std::mem::take(oldest);
            }
            self.slot = slot;
            let bits = u128::from(self.total) * 8_000_000_000;
            let allowed = u128::from(self.limit.threshold) * u128::from(self.limit.time_ns);
            self.allowed = bits < allowed;
        }
        self.allowed.then_some(self.limit.rate)
    }

    /// When the average is found anew.
    pub(super) fn next(&self) -> Moment {
        Moment::from_nanos((self.slot + 1).saturating_mul(self.slot_ns()))
    }

    /// Counts what is sent now.
    pub(super) fn count(&mut self, len: u32) {
        self.sent[(self.slot % (SLOTS + 1)) as usize] += u64::from(len);
    }

    fn slot_ns(&self) -> u64 {
        self.limit.time_ns / SLOTS
    }
}
