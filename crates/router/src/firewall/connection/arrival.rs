//! A packet as tracking reads it: its parts, and whether its transport checksum is right.

use super::tcp::Segment;
use crate::ip::family::{Control, Family};
use wire::checksum::Sum;
use wire::layers::protocol;
use wire::{FiveTuple, Layers, Moment};

/// A packet as tracking reads it.
pub(super) struct Packet<'a, A = u32> {
    pub(super) frame: &'a [u8],
    pub(super) layers: &'a Layers,
    /// As it came.
    pub(super) tuple: FiveTuple<A>,
    /// IP bytes, of the whole datagram.
    pub(super) len: u16,
    pub(super) now_ms: u32,
    /// Whether the transport checksum is right, if that was found out beforehand.
    pub(super) checksum_ok: Option<bool>,
}

impl<'a, A: Family> Packet<'a, A> {
    /// A packet that came whole.
    pub(super) fn new(
        now: Moment,
        frame: &'a [u8],
        layers: &'a Layers,
        tuple: FiveTuple<A>,
        checksum_ok: Option<bool>,
    ) -> Packet<'a, A> {
        let len = layers.l3_end - layers.l3;
        Packet { frame, layers, tuple, len, now_ms: now.as_millis_u32(), checksum_ok }
    }

    /// From the transport header on; empty if there is none.
    pub(super) fn transport(&self) -> &'a [u8] {
        let (from, to) = (usize::from(self.layers.l4), usize::from(self.layers.l3_end));
        if from == 0 { &[] } else { self.frame.get(from..to).unwrap_or(&[]) }
    }

    pub(super) fn segment(&self) -> Option<Segment<'a>> {
        let here = self.layers.l3_end - self.layers.l3;
        let header = wire::Tcp::new(self.transport()).ok()?;
        Some(Segment::new(header, u32::from(self.len.saturating_sub(here))))
    }

    /// ICMP type and code.
    pub(super) fn icmp(&self) -> [u8; 2] {
        self.transport().first_chunk().copied().unwrap_or([u8::MAX; 2])
    }

    /// What it is as a control message; `None` if it is none.
    pub(super) fn control(&self) -> Option<Control> {
        (self.layers.protocol == A::ICMP).then(|| A::control(self.icmp()[0]))
    }

    pub(super) fn checksum_ok(&self) -> bool {
        self.checksum_ok.unwrap_or_else(|| self.checksum_over([]))
    }

    /// Whether it is right over all pieces of a datagram, of which all but the last hold multiples of 8
    /// bytes; one without a checksum (UDP) is taken as it is.
    pub(super) fn checksum_over<'b>(&self, rest: impl IntoIterator<Item = &'b [u8]>) -> bool {
        let FiveTuple { src, dst, protocol, .. } = self.tuple;
        let first = self.transport();
        let header_len = self.layers.l4.saturating_sub(self.layers.l3);
        let len = self.len.saturating_sub(header_len);
        let sum = match protocol {
            protocol::UDP if first.get(6..8) == Some(&[0, 0]) => return true,
            protocol::TCP | protocol::UDP => A::pseudo_header(src, dst, protocol, len),
            of if of == A::ICMP => A::pseudo_header(src, dst, protocol, len),
            _ => return true,
        };
        rest.into_iter().fold(sum.bytes(first), Sum::bytes).is_ok()
    }
}
