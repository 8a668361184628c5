//! The ICMPv6 messages a router sends (RFC 4443, RFC 4861), as frames whose Ethernet header is still to
//! be written.
//!
//! Never decides that a packet is dropped: whoever does asks here for the message.

use crate::packet::Ends;
use port::{Frame, Pool};
use std::net::Ipv6Addr;
use wire::icmpv6::{self, kind};
use wire::ipv6::{HEADER_LEN, Ipv6Header, MTU_MIN, header};
use wire::layers::{ETHERTYPE_IPV6, protocol};
use wire::{Layers, MacAddr};

/// An error message's type and code, with the word that follows the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// ICMPv6 type.
    pub kind: u8,
    /// ICMPv6 code.
    pub code: u8,
    /// The second word: the MTU of "packet too big", the place of a parameter problem, else 0.
    pub word: u32,
}

impl Error {
    /// A plain message.
    pub const fn new(kind: u8, code: u8) -> Error {
        Error { kind, code, word: 0 }
    }

    /// No route to the destination.
    pub const NO_ROUTE: Error = Error::new(kind::UNREACHABLE, 0);
    /// Communication administratively prohibited.
    pub const PROHIBITED: Error = Error::new(kind::UNREACHABLE, 1);
    /// Beyond the scope of the source's address.
    pub const BEYOND_SCOPE: Error = Error::new(kind::UNREACHABLE, 2);
    /// The destination does not answer.
    pub const ADDRESS_UNREACHABLE: Error = Error::new(kind::UNREACHABLE, 3);
    /// Nobody listens on the port.
    pub const PORT_UNREACHABLE: Error = Error::new(kind::UNREACHABLE, 4);
    /// The hop limit ran out in transit.
    pub const HOP_LIMIT_EXCEEDED: Error = Error::new(kind::TIME_EXCEEDED, 0);
    /// A packet's pieces did not all come in time.
    pub const REASSEMBLY_EXCEEDED: Error = Error::new(kind::TIME_EXCEEDED, 1);

    /// The next hop takes `mtu` bytes.
    pub const fn too_big(mtu: u16) -> Error {
        Error { kind: kind::TOO_BIG, code: 0, word: mtu as u32 }
    }

    /// A parameter problem at this place of the packet: code 0 a field, 1 a next header.
    pub const fn problem(code: u8, at: u16) -> Error {
        Error { kind: kind::PARAMETER_PROBLEM, code, word: at as u32 }
    }
}

/// Whether an error may be sent about this packet (RFC 4443 §2.4 e): never about an error or a redirect,
/// a later fragment, nor to what is not one host; about a group only that a packet is too big, or that
/// a parameter is a problem.
pub fn may_answer(frame: &[u8], layers: &Layers, ends: &Ends, error: Error) -> bool {
    let mac = frame.first_chunk::<6>().map_or(MacAddr::BROADCAST, |mac| MacAddr(*mac));
    let group = mac.is_multicast() || Ipv6Addr::from(ends.dst).is_multicast();
    let of_groups = matches!(error.kind, kind::TOO_BIG | kind::PARAMETER_PROBLEM);
    let no_query = layers.protocol == header::ICMPV6
        && frame
            .get(usize::from(layers.l4))
            .is_none_or(|&kind| icmpv6::is_error(kind) || kind == kind::REDIRECT);
    (!group || of_groups) && !layers.later_fragment && !no_query && is_host(ends.src)
}

/// Whether an address can belong to one host on a wire.
pub fn is_host(address: u128) -> bool {
    let address = Ipv6Addr::from(address);
    !address.is_unspecified() && !address.is_loopback() && !address.is_multicast()
}

/// An ICMPv6 message of `len` bytes that `write` writes, all but its checksum. `None` when the pool is
/// empty.
pub fn message(
    pool: &mut Pool,
    ends: Ends,
    hop_limit: u8,
    len: usize,
    write: impl FnOnce(&mut [u8]),
) -> Option<Frame> {
    let (src, dst) = (Ipv6Addr::from(ends.src), Ipv6Addr::from(ends.dst));
    packet(pool, ends, header::ICMPV6, hop_limit, len, |payload| {
        write(payload);
        icmpv6::fill_checksum(src, dst, payload);
    })
}

/// A packet whose payload of `len` bytes `write` writes.
pub fn packet(
    pool: &mut Pool,
    ends: Ends,
    next_header: u8,
    hop_limit: u8,
    len: usize,
    write: impl FnOnce(&mut [u8]),
) -> Option<Frame> {
    let mut frame = pool.alloc(14 + HEADER_LEN + len)?;
    let bytes = pool.slab().bytes_mut(&mut frame);
    bytes[..12].fill(0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
    let (src, dst) = (Ipv6Addr::from(ends.src), Ipv6Addr::from(ends.dst));
    let (traffic_class, flow_label, payload_len) = (0, 0, len as u16);
    let header =
        Ipv6Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    bytes[14..14 + HEADER_LEN].copy_from_slice(&header.to_bytes());
    write(&mut bytes[14 + HEADER_LEN..]);
    Some(frame)
}

/// An error about the IPv6 packet `original`, of which it quotes what fits 1280 bytes.
pub fn error(pool: &mut Pool, original: &[u8], error: Error, ends: Ends) -> Option<Frame> {
    let room = usize::from(MTU_MIN) - HEADER_LEN - icmpv6::HEADER_LEN;
    let quote = &original[..original.len().min(room)];
    message(pool, ends, 64, icmpv6::HEADER_LEN + quote.len(), |bytes| {
        bytes[..4].copy_from_slice(&[error.kind, error.code, 0, 0]);
        bytes[4..8].copy_from_slice(&error.word.to_be_bytes());
        bytes[8..].copy_from_slice(quote);
    })
}

/// A solicitation or an advertisement of a neighbour; its hop limit says that it comes from the link.
pub fn neighbour(pool: &mut Pool, message_: icmpv6::Neighbour, ends: Ends) -> Option<Frame> {
    let (bytes, len) = message_.to_bytes();
    message(pool, ends, 255, len, |to| to.copy_from_slice(&bytes[..len]))
}

/// A TCP reset that answers this segment (RFC 9293 §3.10.7.1). `None` when the segment is itself a
/// reset, or cut off, or the pool is empty.
pub fn tcp_reset(pool: &mut Pool, segment: &[u8], ends: Ends) -> Option<Frame> {
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const RST: u8 = 4;
    const ACK: u8 = 16;
    let head = segment.first_chunk::<20>()?;
    let (flags, offset) = (head[13], usize::from(head[12] >> 4) * 4);
    if flags & RST != 0 {
        return None;
    }
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (seq, ack, answer) = if flags & ACK != 0 {
        (word(8), 0, RST)
    } else {
        let control = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        let data = segment.len().saturating_sub(offset) as u32;
        (0, word(4).wrapping_add(data).wrapping_add(control), RST | ACK)
    };
    packet(pool, ends, protocol::TCP, 64, 20, |to| {
        to.fill(0);
        to[..2].copy_from_slice(&head[2..4]);
        to[2..4].copy_from_slice(&head[..2]);
        to[4..8].copy_from_slice(&seq.to_be_bytes());
        to[8..12].copy_from_slice(&ack.to_be_bytes());
        (to[12], to[13]) = (5 << 4, answer);
        let (src, dst) = (ends.src.to_be_bytes(), ends.dst.to_be_bytes());
        let sum = wire::checksum::Sum::pseudo_ipv6(src, dst, protocol::TCP, 20).bytes(to).finish();
        to[16..18].copy_from_slice(&sum.to_be_bytes());
    })
}
