//! A packet's connection as rules see it, and `connection-bytes`.
//!
//! A connection that is past all the bounds a rule asks for stays there, since its bytes only grow:
//! from then on its packets have recipes again.

use crate::firewall::connection::service::Service;
use crate::firewall::connection::{Connections, FlowId, New};
use crate::firewall::syntax;
use crate::trace::Trace;
use config::Value;
use wire::{FiveTuple, Moment};

/// The connection of a packet, as far as there is one.
#[derive(Clone, Copy, Default)]
pub struct Whole<'a> {
    /// All connections.
    pub connections: Option<&'a Connections>,
    /// The packet's flow, or that of the connection an ICMP error is about.
    pub flow: Option<FlowId>,
    /// The connection that the packet begins.
    pub new: Option<&'a New>,
    /// Of IPv6, in place of the others: all connections, and the one that the packet begins.
    pub v6: Option<(&'a Connections<u128>, Option<&'a New<u128>>)>,
}

/// What tells a connection from all others, also from one of the same tuple after it: the tuple of
/// its first packet as it came, and when that came.
pub(crate) type Key<A = u32> = (FiveTuple<A>, u32);

impl Whole<'_> {
    /// The connection's key; `None` if the packet belongs to none.
    pub(crate) fn key(&self, now: Moment) -> Option<Key> {
        match (self.new, self.flow, self.connections) {
            (Some(new), ..) => Some((new.original, now.as_millis_u32())),
            (None, Some(flow), Some(connections)) => connections.key_of(flow),
            _ => None,
        }
    }

    /// The same of IPv6.
    pub(crate) fn key6(&self, now: Moment) -> Option<Key<u128>> {
        match self.v6? {
            (_, Some(new)) => Some((new.original, now.as_millis_u32())),
            (connections, None) => connections.key_of(self.flow?),
        }
    }

    /// The helper that was told of the connection, if it was announced.
    pub(crate) fn announced(&self) -> Option<Service> {
        match (self.new, self.flow, self.connections) {
            (Some(new), ..) => new.announced,
            (None, Some(flow), Some(connections)) => {
                connections.get(connections.flow(flow).connection)?.announced()
            }
            _ => None,
        }
    }

    /// IP bytes of both directions; `ip_len` is that of the packet, which counts.
    pub(crate) fn bytes(&self, ip_len: u16) -> Option<u64> {
        if let Some((connections, new)) = self.v6 {
            return match (new, self.flow) {
                (Some(_), _) => Some(u64::from(ip_len)),
                (None, flow) => connections.bytes_of(flow?),
            };
        }
        match (self.new, self.flow, self.connections) {
            (Some(_), ..) => Some(u64::from(ip_len)),
            (None, Some(flow), Some(connections)) => connections.bytes_of(flow),
            _ => None,
        }
    }
}

/// `connection-bytes`, `connection-rate`: from the one to the other, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// The least.
    pub from: u64,
    /// The most; `None` if there is no bound.
    pub to: Option<u64>,
}

impl Between {
    /// Reads `from-to`; 0 as the second means without bound. Both may end in `k`, `M` or `G`.
    pub fn parse(text: &str) -> Option<Between> {
        let (from, to) = text.split_once('-')?;
        let to = syntax::multiple(to)?;
        Some(Between { from: syntax::multiple(from)?, to: (to != 0).then_some(to) })
    }

    /// Whether `n` is between.
    pub(crate) fn contains(&self, n: u64) -> bool {
        self.from <= n && self.to.is_none_or(|to| n <= to)
    }

    /// Whether nothing is between.
    pub(crate) fn is_empty(&self) -> bool {
        self.to.is_some_and(|to| to < self.from)
    }

    /// `connection-bytes` of a connection that has had so many.
    pub(crate) fn holds_of_bytes(&self, bytes: u64, trace: &mut Trace) -> bool {
        let settled = match self.to {
            Some(to) => bytes > to,
            None => bytes >= self.from,
        };
        trace.once |= !settled;
        self.contains(bytes)
    }
}

/// Reads `connection-bytes` and `connection-rate`.
pub fn read(text: &str) -> Result<Value, String> {
    syntax::keep(text, Between::parse(text).is_some(), "from-to, as in 1M-0; 0 is without bound")
}
