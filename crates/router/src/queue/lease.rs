//! Leases of a limit's tokens: one queue served by several lanes, without a word between them for each packet.
//!
//! ```text
//!             ┌ shared: until when everything is given away ┐
//!             └──────────────────────┬──────────────────────┘
//!        reserve: from `when` on, so many bytes    give back: what was not used
//!                ┌───────────────────┼───────────────────┐
//!             lane 0              lane 1       …      lane n
//!           bytes left           bytes left          bytes left      a packet takes its length
//! ```
//!
//! A lane that has not enough reserves a lease: it stands in line with the others at once, and knows from what
//! moment on it may send. So lanes are served in the order in which they asked, nobody asks in vain, and
//! nothing is lost while a lane is late. The leases of all lanes together are half a millisecond of the rate;
//! where that is no packet for each, packets reserve for themselves. The shared bucket has so much less room:
//! in any window of T seconds all lanes together pass at most rate · T + capacity.
//!
//! Where the capacity has no room for four packets of each lane the queue is better off on
//! [one lane](Shared::new).
//!
//! What a lease takes is rounded up to a sixteenth of a nanosecond, once for all its packets.

use super::bucket::Limit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wire::Moment;

/// The longest packet, in bytes (IP length + 14).
const PACKET: u64 = 1514;
/// The leases of all lanes take at most so long at the limit's rate.
const TOGETHER_NS: u64 = 500_000;
/// Parts of a nanosecond.
const PARTS: u64 = 16;

/// A limit that lanes share.
#[derive(Debug)]
pub struct Shared {
    /// Until when everything is given away and the bucket is full again, in parts of nanoseconds. Nothing else
    /// is published by it.
    full: AtomicU64,
    rate: u64,
    /// The time in which the bucket becomes full, in the same parts.
    depth: u64,
    /// Bytes of a lease; 0 where each packet reserves for itself.
    lease: u64,
}

impl Shared {
    /// A full bucket for so many lanes; `None` where it has no room for their leases: the queue lives on one lane
    /// then.
    pub fn new(limit: Limit, lanes: u64, now: Moment) -> Option<Shared> {
        let bytes = |ns: u64| (u128::from(limit.rate) * u128::from(ns) / 8_000_000_000) as u64;
        let lanes = lanes.max(1);
        if limit.rate == 0 || bytes(limit.depth_ns) / lanes < 4 * PACKET {
            return None;
        }
        // A quarter of the capacity at most, by what was asked.
        let together = bytes(TOGETHER_NS.min(limit.depth_ns / 4));
        let lease = Some(together / lanes).filter(|&bytes| bytes >= PACKET).unwrap_or(0);
        let (full, depth) = (AtomicU64::new(parts(now)), limit.depth_ns.saturating_mul(PARTS));
        let mut shared = Shared { full, rate: limit.rate, depth, lease };
        // A lane has at most a lease and what was left of the one before.
        let away = (lease + PACKET).saturating_mul(lanes);
        shared.depth = shared.depth.saturating_sub(shared.takes(away));
        Some(shared)
    }

    /// Gives away so many bytes: from when on they may be sent.
    fn reserve(&self, bytes: u64, now: Moment) -> Moment {
        let takes = self.takes(bytes);
        // What came since it was full has run over.
        let next = |full: u64| full.max(parts(now)).saturating_add(takes);
        let full = next(self.full.update(Relaxed, Relaxed, next));
        Moment::from_nanos(full.saturating_sub(self.depth).div_ceil(PARTS))
    }

    /// Takes back bytes that were not sent.
    fn give_back(&self, bytes: u64) {
        // One part less than they took, for that was rounded up.
        let took = self.takes(bytes).saturating_sub(1);
        self.full.fetch_sub(took, Relaxed);
    }

    /// How long bytes take, in parts of nanoseconds, rounded up.
    fn takes(&self, bytes: u64) -> u64 {
        let parts = u128::from(bytes) * u128::from(8_000_000_000 * PARTS);
        u64::try_from(parts.div_ceil(self.rate.into())).unwrap_or(u64::MAX)
    }
}

fn parts(now: Moment) -> u64 {
    now.as_nanos().saturating_mul(PARTS)
}

/// A lane's part of a shared limit.
#[derive(Debug)]
pub struct Lane {
    shared: Arc<Shared>,
    /// Bytes it may send.
    left: u64,
    /// From then on.
    when: Moment,
}

impl Lane {
    /// One that has nothing yet.
    pub fn new(shared: Arc<Shared>) -> Lane {
        Lane { shared, left: 0, when: Moment::ZERO }
    }

    /// Pays for a packet.
    ///
    /// # Errors
    /// When it may go, if that is later. The lane stands in line for it.
    #[inline]
    pub fn take(&mut self, len: u32, now: Moment) -> Result<(), Moment> {
        let len = u64::from(len);
        if self.left < len {
            self.reserve(len, now);
        }
        if self.when > now {
            return Err(self.when);
        }
        self.left -= len;
        Ok(())
    }

    #[cold]
    fn reserve(&mut self, len: u64, now: Moment) {
        let bytes = self.shared.lease.max(len - self.left);
        self.when = self.shared.reserve(bytes, now);
        self.left += bytes;
    }

    /// Gives back what is left, when nobody waits any more.
    pub fn rest(&mut self) {
        if self.left > 0 {
            self.shared.give_back(std::mem::take(&mut self.left));
            self.when = Moment::ZERO;
        }
    }
}

#[cfg(test)]
mod tests;
