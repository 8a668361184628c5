//! A connection: what its two directions share.
//!
//! ```text
//!            ┌ first line: what every TCP segment looks at ┐┌ second line: seldom ──────┐
//! Connection │ windows of both ends, TCP state, class, flags ││ flows, timer, counts, NAT │
//!            └─────────────────────────────────────────────┘└───────────────────────────┘
//! ```
//!
//! Who is `expected` was announced by another connection: see `expected.rs`.

use super::flow::{Direction, FlowId};
use super::service::Service;
use super::settings::Class;
use super::tcp::Tcp;
use super::timers::Timer;
use crate::counter::Count;
use crate::firewall::mark::Mark;

/// A connection's number: stable for its life, used again after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

impl ConnectionId {
    /// No connection.
    pub const NONE: ConnectionId = ConnectionId(u32::MAX);

    /// As an index into the slab.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A connection's flags, as `print` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// E: announced by a helper.
    pub const EXPECTED: Flags = Flags(1);
    /// S: traffic was seen in both directions.
    pub const SEEN_REPLY: Flags = Flags(2);
    /// A: kept when the table is full.
    pub const ASSURED: Flags = Flags(4);
    /// C: its first packet has left the router.
    pub const CONFIRMED: Flags = Flags(8);
    /// D: ends at the next opportunity; a packet of its tuples begins another one.
    pub const DYING: Flags = Flags(16);
    /// F: the FastTrack rule has marked it.
    pub const FASTTRACK: Flags = Flags(32);
    /// s: the source is translated.
    pub const SRCNAT: Flags = Flags(64);
    /// d: the destination is translated.
    pub const DSTNAT: Flags = Flags(128);

    /// Each flag's letter and name, in the order of the legend.
    pub const NAMES: [(char, &'static str, Flags); 8] = [
        ('E', "expected", Flags::EXPECTED),
        ('S', "seen-reply", Flags::SEEN_REPLY),
        ('A', "assured", Flags::ASSURED),
        ('C', "confirmed", Flags::CONFIRMED),
        ('D', "dying", Flags::DYING),
        ('F', "fasttrack", Flags::FASTTRACK),
        ('s', "srcnat", Flags::SRCNAT),
        ('d', "dstnat", Flags::DSTNAT),
    ];

    /// Whether all of `flags` are set.
    #[inline(always)]
    pub const fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Sets `flags`.
    #[inline(always)]
    pub fn set(&mut self, flags: Flags) {
        self.0 |= flags.0;
    }
}

impl std::fmt::Display for Flags {
    /// `SACFs`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (letter, _, flag) in Flags::NAMES {
            if self.has(flag) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// What the two directions of a connection share.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Connection {
    /// TCP's windows and state; for ICMP queries, nothing.
    pub(super) tcp: Tcp,
    /// Which timeout holds.
    pub(super) class: Class,
    /// The letters.
    pub(super) flags: Flags,
    /// ICMP type of the first packet.
    pub(super) icmp_type: u8,
    /// ICMP code of the first packet.
    pub(super) icmp_code: u8,
    // The second line.
    /// Its flows, by direction.
    pub(super) flows: [FlowId; 2],
    /// Its place in the timers.
    pub(super) timer: Timer,
    /// When its first packet left ([`wire::Moment::as_millis_u32`]).
    pub(super) created_ms: u32,
    /// `connection-mark`.
    pub(super) mark: Mark,
    /// The helper that was told of it, if it was announced.
    pub(super) announced: Option<Service>,
    /// What took the regular way, by direction: all until the FastTrack rule marked it, and some
    /// packets since.
    pub(super) regular: [Count; 2],
}

const _: () = assert!(size_of::<Connection>() == 128);
const _: () = assert!(std::mem::offset_of!(Connection, flows) == 64);

impl Connection {
    /// Its flags.
    #[inline]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// The flow of a direction.
    #[inline]
    pub fn flow(&self, direction: Direction) -> FlowId {
        self.flows[direction as usize]
    }

    /// The helper that was told of it, if it was announced.
    #[inline]
    pub(crate) fn announced(&self) -> Option<Service> {
        self.announced
    }

    /// Which timeout holds for it.
    #[inline]
    pub fn class(&self) -> Class {
        self.class
    }
}
