//! Checksum and segmentation offload: what a sender leaves to whoever puts a packet on the wire.
//!
//! ```text
//! super-frame  | Ethernet … | IP | TCP | payload, up to 64 KiB                    |  + Offload
//!                    │ Large::write(0)        │ write(1)               │ write(2)
//!                    ▼                        ▼                        ▼
//! segments     | headers | 1448 |        | headers | 1448 |        | headers | rest |
//! ```
//!
//! Linux does so (TSO, USO, `CHECKSUM_PARTIAL`), and says it in virtio's header (VIRTIO 1.2 §5.1.6.2).
//! An [`Offload`] is the same said of one frame, once it has been believed: the transport header is
//! where it should be, and lengths agree. The checksum field then holds the pseudo-header's sum, or
//! anything: [`prepare`] and [`complete`] begin afresh, so a packet may be rewritten on its way.
//!
//! Segments are those Linux makes of a super-frame (`tcp_gso_segment`, `__udp_gso_segment`): IP
//! identifications count on, sequence numbers too, FIN and PSH stay for the last, CWR for the first.
//!
//! Never panics, whatever the bytes. Missing: **IPv6 extension headers**, **tunnels** (an offload of
//! an inner packet), **fragments of UDP** (UFO, which Linux gave up).

use crate::bytes::{be16, be32, put};
use crate::checksum::{self, Sum};
use crate::ethernet::is_tag;
use crate::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, Malformed, protocol};
use crate::{ipv6, tcp, udp};

/// The most segments of one super-frame: those of 64 KiB at Linux's least MSS, 48 bytes.
pub const MAX_SEGMENTS: usize = 65_535 / 48 + 1;

/// What is left to do to a frame that carries TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Offset of the transport header, from the frame's first byte.
    pub l4: u16,
    /// Payload bytes of a segment; 0 if the frame is one packet, of which only the checksum is
    /// missing.
    pub segment: u16,
    /// Cut as TCP is; else as UDP.
    pub tcp: bool,
}

impl Offload {
    /// The offload of this frame, whose transport header is said to be at `l4` and whose payload is
    /// to be cut into pieces of `segment` bytes (0: not at all).
    ///
    /// # Errors
    /// [`Malformed`] if that cannot be: another protocol, a fragment, lengths that disagree, or more
    /// than [`MAX_SEGMENTS`].
    pub fn of(frame: &[u8], l4: usize, segment: u16) -> Result<Offload, Malformed> {
        let place = Place::of(frame, l4).ok_or(Malformed::Transport)?;
        // What fits one segment is no super-frame.
        let segment = if place.end - place.payload <= usize::from(segment) { 0 } else { segment };
        let offload = Offload { l4: l4 as u16, segment, tcp: place.tcp };
        if segment != 0 && place.segments(segment) > MAX_SEGMENTS {
            return Err(Malformed::Transport);
        }
        Ok(offload)
    }
}

/// Writes the pseudo-header's sum where the checksum belongs, as somebody expects it who completes
/// it. Nothing happens to a frame that the offload is not of.
pub fn prepare(frame: &mut [u8], offload: Offload) {
    let Some(place) = Place::of(frame, offload.l4.into()) else { return };
    let sum = place.pseudo(frame, place.end - place.l4).fold();
    put(frame, place.field(), sum.to_be_bytes());
}

/// Writes the checksum of a frame that is one packet. Nothing happens to a frame that the offload is
/// not of.
pub fn complete(frame: &mut [u8], offload: Offload) {
    let Some(place) = Place::of(frame, offload.l4.into()) else { return };
    place.write_checksum(frame, place.end);
}

/// A super-frame, to be cut.
#[derive(Clone, Copy, Debug)]
pub struct Large<'a> {
    frame: &'a [u8],
    place: Place,
    size: usize,
}

impl<'a> Large<'a> {
    /// The super-frame that this offload is of; `None` if it is none.
    pub fn new(frame: &'a [u8], offload: Offload) -> Option<Large<'a>> {
        let place = Place::of(frame, offload.l4.into())?;
        (offload.segment != 0).then_some(Large { frame, place, size: offload.segment.into() })
    }

    /// How many segments it makes, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.place.segments(self.size as u16)
    }

    /// Bytes before the payload: what each segment begins with.
    pub fn header_len(&self) -> usize {
        self.place.payload
    }

    /// Whether it is an IPv6 packet.
    pub fn is_ipv6(&self) -> bool {
        self.place.v6
    }

    /// Bytes of the longest segment, from its IP header on: what an MTU is compared with.
    pub fn ip_len(&self) -> usize {
        self.place.payload - self.place.l3 + self.size
    }

    /// Bytes of all segments together, from their IP headers on.
    pub fn ip_bytes(&self) -> usize {
        let payload = self.place.end - self.place.payload;
        payload + self.len() * (self.place.payload - self.place.l3)
    }

    /// Bytes of segment `n` as a frame.
    pub fn segment_len(&self, n: usize) -> usize {
        let (from, to) = self.payload_of(n);
        self.place.payload + to - from
    }

    /// Writes segment `n` into `out`, which is [`segment_len`](Self::segment_len) long.
    ///
    /// # Panics
    /// If it is not.
    pub fn write(&self, n: usize, out: &mut [u8]) {
        let Place { l3, l4, payload, v6, tcp, .. } = self.place;
        let (from, to) = self.payload_of(n);
        let (head, body) = out.split_at_mut(payload);
        head.copy_from_slice(&self.frame[..payload]);
        body.copy_from_slice(&self.frame[from..to]);
        let ip_len = out.len() - l3;
        if v6 {
            put(out, l3 + 4, ((ip_len - ipv6::HEADER_LEN) as u16).to_be_bytes());
        } else {
            put(out, l3 + 2, (ip_len as u16).to_be_bytes());
            let id = be16(out, l3 + 4).wrapping_add(n as u16);
            put(out, l3 + 4, id.to_be_bytes());
            let sum = checksum::ipv4_header(&out[l3..l4]);
            put(out, l3 + 10, sum.to_be_bytes());
        }
        if tcp {
            let seq = be32(out, l4 + 4).wrapping_add((from - payload) as u32);
            put(out, l4 + 4, seq.to_be_bytes());
            if n > 0 {
                out[l4 + 13] &= !tcp::TcpFlags::CWR.0;
            }
            if to < self.place.end {
                out[l4 + 13] &= !(tcp::TcpFlags::FIN | tcp::TcpFlags::PSH).0;
            }
        } else {
            put(out, l4 + 4, ((ip_len - (l4 - l3)) as u16).to_be_bytes());
        }
        self.place.write_checksum(out, out.len());
    }

    /// Where segment `n`'s payload lies.
    fn payload_of(&self, n: usize) -> (usize, usize) {
        let Place { payload, end, .. } = self.place;
        let from = end.min(payload + n * self.size);
        (from, end.min(from + self.size))
    }
}

/// Where the parts of a TCP or UDP packet lie. Invariant: `l3 < l4 < payload <= end`, and `end` is
/// at most the frame's length.
#[derive(Clone, Copy, Debug)]
struct Place {
    l3: usize,
    l4: usize,
    payload: usize,
    end: usize,
    v6: bool,
    tcp: bool,
}

impl Place {
    /// `None` unless all is as it should be.
    fn of(frame: &[u8], l4: usize) -> Option<Place> {
        let mut l3 = 14;
        let mut ether_type = word(frame, 12)?;
        while is_tag(ether_type) {
            ether_type = word(frame, l3 + 2)?;
            l3 += 4;
        }
        let ip = frame.get(l3..)?;
        let (header_len, total, protocol) = match (ether_type, *ip.first()?) {
            (ETHERTYPE_IPV4, first @ 0x45..=0x4f) => {
                let header_len = usize::from(first & 0x0f) * 4;
                let whole = word(ip, 6)? & 0x3fff == 0;
                (header_len, word(ip, 2)?.into(), *ip.get(9).filter(|_| whole)?)
            }
            (ETHERTYPE_IPV6, 0x60..=0x6f) => {
                let len = usize::from(word(ip, 4)?);
                (ipv6::HEADER_LEN, ipv6::HEADER_LEN + len, *ip.get(6)?)
            }
            _ => return None,
        };
        let transport = ip.get(header_len..total).filter(|_| l3 + header_len == l4)?;
        let tcp = protocol == protocol::TCP;
        let transport_len = match protocol {
            protocol::TCP => usize::from(transport.get(12)? >> 4) * 4,
            protocol::UDP if usize::from(word(transport, 4)?) == transport.len() => udp::HEADER_LEN,
            _ => return None,
        };
        let least = if tcp { tcp::HEADER_LEN } else { udp::HEADER_LEN };
        if !(least..=transport.len()).contains(&transport_len) {
            return None;
        }
        let v6 = ether_type == ETHERTYPE_IPV6;
        Some(Place { l3, l4, payload: l4 + transport_len, end: l3 + total, v6, tcp })
    }

    fn segments(&self, size: u16) -> usize {
        (self.end - self.payload).div_ceil(usize::from(size).max(1)).max(1)
    }

    /// Where the checksum stands.
    fn field(&self) -> usize {
        self.l4 + if self.tcp { 16 } else { 6 }
    }

    /// The pseudo-header's sum, for `len` bytes from the transport header on.
    fn pseudo(&self, frame: &[u8], len: usize) -> Sum {
        let protocol = if self.tcp { protocol::TCP } else { protocol::UDP };
        let ip = &frame[self.l3..];
        if !self.v6 {
            return Sum::pseudo_ipv4(be32(ip, 12), be32(ip, 16), protocol, len as u16);
        }
        let sum = Sum::default().bytes(&ip[8..40]);
        sum.u32(len as u32).u16(protocol.into())
    }

    /// Computes the checksum of the packet that ends at `end`.
    fn write_checksum(&self, frame: &mut [u8], end: usize) {
        let field = self.field();
        put(frame, field, [0, 0]);
        let sum = self.pseudo(frame, end - self.l4).bytes(&frame[self.l4..end]).finish();
        // RFC 768: a computed zero is sent as all ones.
        let sum = if sum == 0 && !self.tcp { 0xffff } else { sum };
        put(frame, field, sum.to_be_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|word| be16(word, 0))
}

#[cfg(test)]
mod tests;
