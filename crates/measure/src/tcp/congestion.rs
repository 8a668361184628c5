//! Congestion control and retransmission timeout: RFC 5681 and 6582, RFC 6298.
//!
//! ```text
//! slow start ──► congestion avoidance ─┬─ 3 duplicates ─► recovery ─┐
//!     ▲                 ▲              └─ timeout ─┐  until `recover` is acknowledged
//!     └─────────────────┼──────────────────────────┘                │
//!                       └───────────────────────────────────────────┘
//! ```

use std::time::Duration;
use wire::Moment;

/// RFC 6298 §2.1, §2.4; Linux's least, for the RFC's second is long for a laboratory.
const RTO_FIRST: Duration = Duration::from_secs(1);
const RTO_LEAST: Duration = Duration::from_millis(200);
const RTO_MOST: Duration = Duration::from_secs(60);
/// Segments, and bytes that long ones do not exceed but for the second; RFC 6928 §2.
const FIRST_WINDOW: (u32, u32) = (10, 14_600);

/// The congestion window of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Bytes that may be under way.
    pub(super) bytes: u32,
    threshold: u32,
    mss: u32,
    duplicates: u8,
    recovering: bool,
    /// The highest position sent when the last recovery began.
    recover: u64,
}

impl Window {
    /// Of a connection that was just established.
    pub(super) fn new(mss: u16) -> Window {
        let mss = u32::from(mss);
        let bytes = (FIRST_WINDOW.0 * mss).min(FIRST_WINDOW.1.max(2 * mss));
        Window { bytes, threshold: u32::MAX, mss, duplicates: 0, recovering: false, recover: 0 }
    }

    /// So many bytes are acknowledged, up to a position; returns whether the segment there is lost,
    /// too (a partial acknowledgement, RFC 6582 §3.2 step 3).
    pub(super) fn acknowledged(&mut self, by: u32, to: u64, flight: u32) -> bool {
        self.duplicates = 0;
        let mss = self.mss;
        if self.recovering && to < self.recover {
            self.bytes = self.bytes.saturating_sub(by).max(mss) + mss;
            return true;
        }
        if self.recovering {
            self.recovering = false;
            self.bytes = self.threshold.min(flight + mss);
        } else if self.bytes < self.threshold {
            self.bytes = self.bytes.saturating_add(by.min(mss));
        } else {
            self.bytes = self.bytes.saturating_add((mss * mss / self.bytes.max(1)).max(1));
        }
        false
    }

    /// The same was acknowledged again; returns whether the segment behind it counts as lost now.
    pub(super) fn duplicate(&mut self, una: u64, max: u64, flight: u32) -> bool {
        if self.recovering {
            self.bytes = self.bytes.saturating_add(self.mss);
            return false;
        }
        self.duplicates = self.duplicates.saturating_add(1);
        // RFC 6582 §3.2 step 2: not for what was sent before the last recovery.
        if self.duplicates != 3 || una <= self.recover {
            return false;
        }
        self.threshold = (flight / 2).max(2 * self.mss);
        self.bytes = self.threshold + 3 * self.mss;
        (self.recovering, self.recover) = (true, max);
        true
    }

    /// Nothing came for too long; the `first` time for this segment or again.
    pub(super) fn timeout(&mut self, first: bool, max: u64, flight: u32) {
        if first {
            self.threshold = (flight / 2).max(2 * self.mss);
        }
        self.bytes = self.mss;
        (self.recovering, self.recover, self.duplicates) = (false, max, 0);
    }
}

/// The retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeout {
    /// How long to wait for an acknowledgement.
    pub(super) now: Duration,
    srtt: Duration,
    rttvar: Duration,
    /// The position whose acknowledgement is timed, and when it was sent.
    timed: Option<(u64, Moment)>,
}

impl Timeout {
    /// Before anything was measured.
    pub(super) const FIRST: Timeout =
        Timeout { now: RTO_FIRST, srtt: Duration::ZERO, rttvar: Duration::ZERO, timed: None };

    /// Times what was sent up to a position for the first time, if nothing is timed.
    pub(super) fn sent(&mut self, to: u64, now: Moment) {
        self.timed.get_or_insert((to, now));
    }

    /// Takes an acknowledgement (RFC 6298 §2.2, §2.3); returns the round trip, if it was timed.
    pub(super) fn acknowledged(&mut self, to: u64, now: Moment) -> Option<Duration> {
        let (_, sent) = self.timed.filter(|&(position, _)| to >= position)?;
        self.timed = None;
        let rtt = now.since(sent);
        if self.srtt.is_zero() {
            (self.srtt, self.rttvar) = (rtt, rtt / 2);
        } else {
            self.rttvar = self.rttvar * 3 / 4 + self.srtt.abs_diff(rtt) / 4;
            self.srtt = self.srtt * 7 / 8 + rtt / 8;
        }
        self.now = (self.srtt + self.rttvar * 4).clamp(RTO_LEAST, RTO_MOST);
        Some(rtt)
    }

    /// It has passed: the next one is twice as long, and nothing sent before is timed (Karn).
    pub(super) fn double(&mut self) {
        self.now = (self.now * 2).min(RTO_MOST);
        self.timed = None;
    }
}
