//! Trace of a packet: what its way depended on, and what it counted. The makings of a recipe.
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
///
/// Twenty bytes; TTL, TOS and flags lie in one word, so that admitting a packet is one masked
/// comparison and one range check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Least and greatest IP total length.
    len_min: u16,
    len_max: u16,
    /// Which bits of `word(ttl, tos, flags)` were looked at, and what they were.
    mask: u32,
    want: u32,
    /// The source MAC, if looked at.
    src_mac: MacAddr,
    looked_at_src_mac: bool,
}

impl Default for Guard {
    /// Nothing was looked at: every packet of the flow.
    fn default() -> Guard {
        Guard {
            len_min: 0,
            len_max: u16::MAX,
            mask: 0,
            want: 0,
            src_mac: MacAddr::default(),
            looked_at_src_mac: false,
        }
    }
}

impl Guard {
    /// Whether a packet of the flow goes the same way as the one that was traced.
    ///
    /// `len` is the IP total length, `ttl` and `tos` are as on arrival. `flags_or_icmp` is, for
    /// TCP, the flags byte; for ICMP, the type (high byte) and code; for others, anything.
    #[inline(always)]
    pub fn admits(&self, len: u16, ttl: u8, tos: u8, flags_or_icmp: u16, src_mac: MacAddr) -> bool {
        (word(ttl, tos, flags_or_icmp) ^ self.want) & self.mask == 0
            && len.wrapping_sub(self.len_min) <= self.len_max.wrapping_sub(self.len_min)
            && (!self.looked_at_src_mac || src_mac == self.src_mac)
    }

    /// Whether it admits whatever comes.
    pub(crate) fn admits_all(&self) -> bool {
        self.mask == 0 && self.lengths() == (0, u16::MAX) && !self.looked_at_src_mac
    }

    /// The IP total lengths admitted, both included.
    pub fn lengths(&self) -> (u16, u16) {
        (self.len_min, self.len_max)
    }
}

/// TTL, TOS and flags (or ICMP type and code) as the guard compares them.
#[inline]
fn word(ttl: u8, tos: u8, flags_or_icmp: u16) -> u32 {
    u32::from(ttl) << 24 | u32::from(tos) << 16 | u32::from(flags_or_icmp)
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
    /// A rule has looked at more than its gate: packets of other addresses and ports may go another way, though no
    /// gate tells them apart.
    pub beyond: bool,
    /// `layer7-protocol` has seen the packet: it adds a payload once, however many rules look.
    pub layer7: bool,
    /// How much of the TTL the router itself has taken so far: set by the flow where it takes it,
    /// so that the guard can speak of the TTL on arrival.
    pub ttl_taken: u8,
    /// What of the header was written: from there on it is the same for all packets.
    pub edited: Edited,
}

/// What mangle has written of an IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edited {
    /// The DSCP.
    pub dscp: bool,
    /// The TTL.
    pub ttl: bool,
    /// "Don't fragment", which is clear now.
    pub df: bool,
}

impl Trace {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.guard = Guard::default();
        self.once = false;
        self.beyond = false;
        self.layer7 = false;
        self.ttl_taken = 0;
        self.edited = Edited::default();
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

    /// Notes that the TTL was looked at, which is `ttl` at this point of the way.
    pub fn looked_at_ttl(&mut self, ttl: u8) {
        if !self.edited.ttl {
            self.looked_at(word(u8::MAX, 0, 0), word(ttl.saturating_add(self.ttl_taken), 0, 0));
        }
    }

    /// Notes that the TOS byte (DSCP) was looked at.
    pub fn looked_at_tos(&mut self, tos: u8) {
        if !self.edited.dscp {
            self.looked_at(word(0, u8::MAX, 0), word(0, tos, 0));
        }
    }

    /// Notes that the TCP flags in `mask` were looked at.
    pub fn looked_at_flags(&mut self, flags: u8, mask: u8) {
        self.looked_at(u32::from(mask), u32::from(flags));
    }

    /// Notes that the ICMP type and code were looked at.
    pub fn looked_at_icmp(&mut self, kind: u8, code: u8) {
        self.looked_at(word(0, 0, u16::MAX), u32::from(u16::from_be_bytes([kind, code])));
    }

    /// Notes that the source MAC was looked at.
    pub fn looked_at_src_mac(&mut self, mac: MacAddr) {
        self.guard.src_mac = mac;
        self.guard.looked_at_src_mac = true;
    }

    fn looked_at(&mut self, mask: u32, value: u32) {
        self.guard.mask |= mask;
        self.guard.want |= value & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    /// One thing looked at, a packet, and whether it is admitted.
    type Case = (fn(&mut Trace), (u16, u8, u8, u16), bool);

    #[test]
    fn admits_what_goes_the_same_way() {
        let packet = (100, 64, 0x28, 0x10);
        let cases: &[Case] = &[
            (|_| (), packet, true),
            (|t| t.looked_at_len(100, 64, 127), (127, 1, 2, 3), true),
            (|t| t.looked_at_len(100, 64, 127), (128, 1, 2, 3), false),
            (|t| t.looked_at_len(100, 64, 127), (63, 1, 2, 3), false),
            (|t| t.looked_at_len(100, 101, 65535), (100, 1, 2, 3), true),
            (|t| t.looked_at_len(100, 101, 65535), (101, 1, 2, 3), false),
            (|t| t.looked_at_len(100, 0, 99), (65535, 1, 2, 3), true),
            (|t| t.looked_at_len(100, 0, 99), (99, 1, 2, 3), false),
            (|t| t.looked_at_ttl(64), (1, 64, 2, 3), true),
            (|t| t.looked_at_ttl(64), (1, 65, 2, 3), false),
            (
                |t| {
                    t.ttl_taken = 1;
                    t.looked_at_ttl(63);
                },
                (1, 64, 2, 3),
                true,
            ),
            (|t| t.looked_at_tos(0x28), (1, 64, 0x28, 3), true),
            (|t| t.looked_at_tos(0x28), (1, 64, 0x2a, 3), false),
            (|t| t.looked_at_flags(0x10, 0x02), (1, 64, 2, 0x18), true),
            (|t| t.looked_at_flags(0x10, 0x02), (1, 64, 2, 0x12), false),
            (|t| t.looked_at_icmp(8, 0), (1, 64, 2, 0x0800), true),
            (|t| t.looked_at_icmp(8, 0), (1, 64, 2, 0x0801), false),
            (|t| t.looked_at_src_mac(MAC), packet, true),
            (|t| t.looked_at_src_mac(MacAddr::BROADCAST), packet, false),
        ];
        for (i, &(look, (len, ttl, tos, flags), want)) in cases.iter().enumerate() {
            let mut trace = Trace::default();
            look(&mut trace);
            let got = trace.guard.admits(len, ttl, tos, flags, MAC);
            assert_eq!(got, want, "case {i}: {:?}", trace.guard);
        }
        assert_eq!(size_of::<Guard>(), 20);
    }
}
