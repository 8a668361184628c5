//! What a packet's way depended on, and what it counted: the makings of a recipe.
//!
//! ```text
//! slow path: box ─ rule ─ rule ─ … ─ out        the packet goes, the trace stays
//!                  │ "I looked at the length: 64..=127 goes the same way"   ─► Guard
//!                  │ "I counted it"                                         ─► counters
//!                  │ "the next one may go another way: a token was taken"   ─► cacheable = false
//! ```
//!
//! What is constant for a flow (addresses, ports, protocol, in-interface, connection state) is not
//! noted: a recipe belongs to one flow in one state. Everything else a matcher looks at must be
//! noted here, whether it matched or not. That is all there is to the promise that a recipe gives
//! the same result as the slow path.

use crate::counter::CounterId;
use wire::MacAddr;

/// The packets of a flow that go the same way: what was looked at, and the values it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Least IP total length.
    pub len_min: u16,
    /// Greatest IP total length.
    pub len_max: u16,
    /// The TTL on arrival, if looked at.
    pub ttl: Option<u8>,
    /// The TOS byte, if looked at.
    pub tos: Option<u8>,
    /// The TCP flags looked at, and which of them were set; or for ICMP, the type (high byte) and
    /// code, with `0xffff` as mask if looked at.
    pub flags_mask: u16,
    /// See `flags_mask`.
    pub flags: u16,
    /// The source MAC, if looked at.
    pub src_mac: Option<MacAddr>,
}

impl Default for Guard {
    /// Nothing was looked at: every packet of the flow.
    fn default() -> Guard {
        Guard {
            len_min: 0,
            len_max: u16::MAX,
            ttl: None,
            tos: None,
            flags_mask: 0,
            flags: 0,
            src_mac: None,
        }
    }
}

/// One packet's trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// Counters that were increased, in order; one may occur twice (a chain jumped to twice).
    pub counters: Vec<CounterId>,
    /// What was looked at.
    pub guard: Guard,
    /// Set when the next packet of the flow, though alike, may go another way (a stateful matcher
    /// such as `limit` or `nth`, a log line, a first packet's NAT): no recipe then.
    pub once: bool,
}

impl Trace {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.guard = Guard::default();
        self.once = false;
    }

    /// Notes that the IP total length `len` was compared with `min..=max`.
    pub fn looked_at_len(&mut self, len: u16, min: u16, max: u16) {
        let guard = &mut self.guard;
        if len < min {
            guard.len_max = guard.len_max.min(min - 1);
        } else if len > max {
            guard.len_min = guard.len_min.max(max + 1);
        } else {
            guard.len_min = guard.len_min.max(min);
            guard.len_max = guard.len_max.min(max);
        }
    }

    /// Notes that the TTL was looked at.
    pub fn looked_at_ttl(&mut self, ttl: u8) {
        self.guard.ttl = Some(ttl);
    }

    /// Notes that the TOS byte (DSCP) was looked at.
    pub fn looked_at_tos(&mut self, tos: u8) {
        self.guard.tos = Some(tos);
    }

    /// Notes that the TCP flags in `mask` were looked at.
    pub fn looked_at_flags(&mut self, flags: u8, mask: u8) {
        self.guard.flags_mask |= u16::from(mask);
        self.guard.flags |= u16::from(flags & mask);
    }

    /// Notes that the ICMP type and code were looked at.
    pub fn looked_at_icmp(&mut self, kind: u8, code: u8) {
        self.guard.flags_mask = u16::MAX;
        self.guard.flags = u16::from_be_bytes([kind, code]);
    }

    /// Notes that the source MAC was looked at.
    pub fn looked_at_src_mac(&mut self, mac: MacAddr) {
        self.guard.src_mac = Some(mac);
    }
}
