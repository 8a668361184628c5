//! The shape of a plan's frame when it comes back.
//!
//! ```text
//!  FramePlan ─► Shape ── frame, its number ─► Intact
//!                                          ├► WrongSize   not as long as that number's frame was
//!                                          └► Damaged     a length or a checksum is wrong
//! ```
//!
//! What a device changes and sets right (addresses, ports, TTL) is no damage. A device that adds or
//! takes away headers makes frames of another size.
//!
//! Never looks at the trailer, nor at what no checksum covers.

use super::{FramePlan, Lengths, Network, Transport};
use wire::FrameLen;
use wire::checksum::{self, Sum};

/// Where a plan's lengths and checksums stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Where IPv4 headers begin and end.
    ipv4: Vec<(usize, usize)>,
    ipv6: Vec<usize>,
    transport: Option<(usize, Transport, Network)>,
    /// UDP headers in front of it.
    tunnels: Vec<usize>,
    shortest: usize,
    longest: usize,
    /// Of frame number `n` the `n`th, over and over; none if any between the two may be.
    turns: Vec<u16>,
}

/// What a frame looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Intact,
    WrongSize,
    Damaged,
}

impl FramePlan {
    /// Its frames' shape; the plan has been checked.
    pub(crate) fn shape(&self) -> Shape {
        let (shortest, longest) = self.lengths.extremes().unwrap_or((FrameLen::MIN, FrameLen::MIN));
        let turns = match &self.lengths {
            Lengths::Even(..) => vec![],
            Lengths::InTurn(all) => all.iter().map(|frame| frame.in_memory() as u16).collect(),
        };
        Shape {
            ipv4: self.ipv4.iter().map(|ip| (*ip, self.ip_end(*ip))).collect(),
            ipv6: self.ipv6.clone(),
            transport: self.transport.zip(self.network()).map(|((at, what), ip)| (at, what, ip)),
            tunnels: self.tunnels.clone(),
            shortest: shortest.in_memory() as usize,
            longest: longest.in_memory() as usize,
            turns,
        }
    }
}

impl Shape {
    /// The lengths in memory of its shortest and longest frames.
    pub(crate) fn extremes(&self) -> (usize, usize) {
        (self.shortest, self.longest)
    }

    /// The lengths that go by turns, if they do.
    pub(crate) fn turns(&self) -> Option<Vec<FrameLen>> {
        let of = |len: &u16| FrameLen::without_fcs(u32::from(*len));
        (!self.turns.is_empty()).then(|| self.turns.iter().map(of).collect())
    }

    /// Looks at the frame with this number.
    pub(crate) fn look(&self, frame: &[u8], number: u64) -> Look {
        let len = frame.len();
        let right = match self.turns.len() {
            0 => (self.shortest..=self.longest).contains(&len),
            n => len == usize::from(self.turns[(number % n as u64) as usize]),
        };
        if !right {
            Look::WrongSize
        } else if self.is_right(frame) {
            Look::Intact
        } else {
            Look::Damaged
        }
    }

    fn is_right(&self, frame: &[u8]) -> bool {
        let u16_at = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
        let v4 = self.ipv4.iter().all(|&(at, end)| {
            usize::from(frame[at]) == (0x40 | ((end - at) / 4))
                && u16_at(at + 2) == frame.len() - at
                && checksum::is_ok(&frame[at..end])
        });
        let v6 = |ip: &usize| frame[*ip] >> 4 == 6 && u16_at(ip + 4) == frame.len() - ip - 40;
        let tunnel = |udp: &usize| u16_at(udp + 4) == frame.len() - udp;
        if !v4 || !self.ipv6.iter().all(v6) || !self.tunnels.iter().all(tunnel) {
            return false;
        }
        let Some((at, transport, network)) = self.transport else { return true };
        let (.., field) = transport.facts();
        let is_udp = matches!(transport, Transport::Udp | Transport::UdpChecksum);
        if is_udp && u16_at(at + 4) != frame.len() - at {
            return false;
        }
        // One that was there has to be there still.
        if transport == Transport::UdpChecksum && u16_at(at + field) == 0 {
            return false;
        }
        let sum = match transport.in_pseudo_header() {
            _ if transport == Transport::Udp => return true,
            None => Sum::default(),
            Some(protocol) => Sum::default()
                .bytes(&frame[network.addresses()])
                .u16(u16::from(protocol))
                .u16((frame.len() - at) as u16),
        };
        sum.bytes(&frame[at..]).is_ok()
    }
}
