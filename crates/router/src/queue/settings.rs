//! The settings of a class: what is configured for one of a simple queue's, or a tree's.

use super::bucket::Limit;
use super::burst::BurstLimit;
use super::discipline::Kind;
use super::leaf::QueueLeafId;

/// What is configured for a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `max-limit` and `bucket-size`; its packets are those of a plain pfifo.
    pub limit: Limit,
    /// `limit-at`, bits per second.
    pub limit_at: u64,
    /// `priority`, 1 to 8.
    pub priority: u8,
    /// `burst-*`.
    pub burst: BurstLimit,
    /// `queue`.
    pub kind: Kind,
    /// Its parent's class.
    pub parent: Option<QueueLeafId>,
    /// How many there are above it.
    pub depth: u8,
    /// It has children: no packets wait in it.
    pub inner: bool,
    /// It is in no tree: its port asks for what waits.
    pub by_port: bool,
}

impl Settings {
    /// A class of its own: a limit, and a pfifo.
    pub const fn plain(limit: Limit) -> Settings {
        Settings {
            limit,
            limit_at: 0,
            priority: 8,
            burst: BurstLimit { rate: 0, threshold: 0, time_ns: 0 },
            kind: Kind::Pfifo(limit.packets as u32),
            parent: None,
            depth: 0,
            inner: false,
            by_port: false,
        }
    }

    /// Whether a bucket and a pfifo are all there is to it.
    pub(super) fn is_plain(&self) -> bool {
        let pfifo = matches!(self.kind, Kind::Pfifo(packets) if packets < u32::from(u16::MAX));
        pfifo && self.parent.is_none() && !self.inner && !self.bursts() && !self.by_port
    }

    /// Whether it stands where it stood, so that only its numbers are others.
    pub(super) fn stands_as(&self, other: &Settings) -> bool {
        let place = |one: &Settings| (one.parent, one.depth, one.inner, one.priority);
        place(self) == place(other)
    }

    /// Whether it has bursts.
    pub(super) fn bursts(&self) -> bool {
        self.burst.is_some() && self.limit.rate > 0
    }
}
