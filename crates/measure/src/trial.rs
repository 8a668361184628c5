//! One trial: what was sent, what came back, and what that says.
//!
//! ```text
//! senders ─► Counts ◄─ receiver, tester's ports          Conditions (placement, clocks, theft)
//!              └────────────────► judge ◄───────────────────────┘
//!                                   │
//!               Pass · Fail { lost } · Invalid(reason: the tester fell short)
//! ```
//!
//! The order at the end of a trial (RFC 2544 §23): senders stop, the receiver goes on through a
//! quiet time, and only then is anything read. An invalid trial says nothing about the device.
//!
//! Never runs anything; never tolerates loss. Missing: **loss ratios** as a criterion (RFC 9971).

// What the tester's own shortcomings are.
mod reason;

pub use reason::{Reason, disturbance};

use crate::busy::Busy;
use crate::{Receiver, send::Sent};
use port::PortCounters;
use std::time::Duration;
use wire::PacketRate;

/// What went out and what came back, all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames the schedules called for.
    pub intended: u64,
    /// Frames that left the tester's ports.
    pub sent: u64,
    /// First copies that came back whole.
    pub received: u64,
    /// Of these, those that were overtaken.
    pub reordered: u64,
    /// The greatest extent of that, of any stream, in frames (RFC 4737 §4.2.1).
    pub extent_max: u64,
    /// Times that a frame came with others of its stream missing in front of it.
    pub gaps: u64,
    /// Further copies.
    pub duplicate: u64,
    /// Too late to tell from copies.
    pub stale: u64,
    /// Damaged.
    pub corrupt: u64,
    /// Of the damaged, those that came in another length.
    pub wrong_size: u64,
    /// The device's own, and everybody else's.
    pub foreign: u64,
    /// Frames the device delivered and the tester's receive rings had no room for.
    pub tester_rx_drop: u64,
}

impl Counts {
    /// Gathers what senders, receivers and the tester's ports say. `ports` are the counters of all
    /// ports of the tester that took part, over the time of the trial (see [`since`]); frames that found
    /// no room there are taken for test frames, so whoever sends others leaves theirs out.
    pub fn gather<'a>(
        senders: impl IntoIterator<Item = Sent>,
        receivers: impl IntoIterator<Item = &'a Receiver>,
        ports: impl IntoIterator<Item = PortCounters>,
    ) -> Counts {
        let mut counts = Counts::default();
        for sent in senders {
            counts.intended += sent.intended;
            counts.sent += sent.offered;
        }
        for port in ports {
            counts.sent = counts.sent.saturating_sub(port.tx_drop);
            counts.tester_rx_drop += port.rx_drop;
        }
        receivers.into_iter().for_each(|receiver| counts.came(receiver));
        counts
    }

    /// Adds what one more receiver saw.
    fn came(&mut self, receiver: &Receiver) {
        let all = receiver.total();
        self.received += all.received;
        self.reordered += all.reordered;
        self.extent_max = self.extent_max.max(all.extent_max);
        self.gaps += all.gaps;
        self.duplicate += all.duplicate;
        self.stale += all.stale;
        self.corrupt += all.corrupt;
        self.wrong_size += all.wrong_size;
        self.foreign += receiver.foreign();
    }

    /// Of both parts of a trial that has two.
    #[must_use]
    pub fn and(&self, other: &Counts) -> Counts {
        Counts {
            intended: self.intended + other.intended,
            sent: self.sent + other.sent,
            received: self.received + other.received,
            reordered: self.reordered + other.reordered,
            extent_max: self.extent_max.max(other.extent_max),
            gaps: self.gaps + other.gaps,
            duplicate: self.duplicate + other.duplicate,
            stale: self.stale + other.stale,
            corrupt: self.corrupt + other.corrupt,
            wrong_size: self.wrong_size + other.wrong_size,
            foreign: self.foreign + other.foreign,
            tester_rx_drop: self.tester_rx_drop + other.tester_rx_drop,
        }
    }

    /// Frames that were sent and did not come back whole; `None` if more came than were sent.
    pub fn lost(&self) -> Option<u64> {
        self.sent.checked_sub(self.received)
    }

    /// Whether what the tester's own rings lost changes nothing that the trial says.
    pub fn tester_lost_little(&self) -> bool {
        is_little(self.tester_rx_drop, self.received, self.lost().unwrap_or(0))
    }
}

/// Whether frames that the tester lost are less than a thousandth of those that were received, and than a
/// hundredth of those that were lost: then the device has lost some for certain, and the rate is known to a
/// thousandth. (At the highest load a ring of 256 frames is full for a moment in every other trial.)
pub(crate) fn is_little(by_tester: u64, received: u64, lost: u64) -> bool {
    by_tester.saturating_mul(1000) <= received && by_tester.saturating_mul(100) <= lost
}

/// What a port counted between two readings of its counters.
pub fn since(before: PortCounters, after: PortCounters) -> PortCounters {
    PortCounters {
        rx_packet: after.rx_packet.saturating_sub(before.rx_packet),
        rx_byte: after.rx_byte.saturating_sub(before.rx_byte),
        rx_drop: after.rx_drop.saturating_sub(before.rx_drop),
        rx_error: after.rx_error.saturating_sub(before.rx_error),
        tx_packet: after.tx_packet.saturating_sub(before.tx_packet),
        tx_byte: after.tx_byte.saturating_sub(before.tx_byte),
        tx_drop: after.tx_drop.saturating_sub(before.tx_drop),
    }
}

/// Under what conditions a trial ran, as far as whoever ran it looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// How long after the end of its schedule the last frame left.
    pub overrun: Duration,
    /// The distance between the two cores (nanoseconds a cache line takes to go over) before and
    /// after.
    pub placement_ns: Option<(u64, u64)>,
    /// The steady clock's and the wall clock's idea of the trial's length, if both were read.
    pub clocks: Option<(Duration, Duration)>,
    /// What the device says left it by its ports, and what came to the tester's: frames of all kinds,
    /// both counted while the trial ran; if the device tells.
    pub device_says: Option<(u64, u64)>,
    /// How long a virtual machine's host kept the processors of the trial for itself, all of them
    /// together.
    pub stolen: Duration,
    /// How long, all in all, the thread of the trial that did it longest stood still: between two looks at the clock that
    /// its own work does not keep apart.
    pub stood_still: Duration,
    /// For how long others had the processor of a thread of the trial that never sleeps by itself, of how
    /// long: of the thread that lacked it longest; if that was looked at.
    pub away: Option<(Duration, Duration)>,
    /// How much time the tester's loop had left, if that was looked at.
    pub busy: Option<Busy>,
    /// The user had enough of it after this time: what is counted is what there was by then.
    pub interrupted: Option<Duration>,
}

/// What a trial says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every frame came back.
    Pass,
    /// So many did not.
    Fail {
        /// Sent and not received.
        lost: u64,
    },
    /// Nothing about the device: the tester fell short.
    Invalid(Reason),
}

/// A trial that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// How long frames were sent (real time), or the device worked (when it is fed from memory).
    pub duration: Duration,
    /// What went out and came back.
    pub counts: Counts,
    /// What that says.
    pub outcome: Outcome,
}

impl Trial {
    /// Judges a trial: first the tester, then the device.
    pub fn judge(duration: Duration, counts: Counts, conditions: &Conditions) -> Trial {
        let outcome = match reason::shortcoming(duration, &counts, conditions) {
            Some(reason) => Outcome::Invalid(reason),
            None if counts.received == counts.sent => Outcome::Pass,
            None => Outcome::Fail { lost: counts.sent - counts.received },
        };
        Trial { duration, counts, outcome }
    }

    /// Frames that came back whole, by the trial's duration (RFC 2285's forwarding rate).
    pub fn forwarding_rate(&self) -> PacketRate {
        let seconds = self.duration.as_secs_f64();
        let received = self.counts.received as f64;
        PacketRate(if seconds > 0.0 { received / seconds } else { 0.0 })
    }
}

#[cfg(test)]
mod tests;
