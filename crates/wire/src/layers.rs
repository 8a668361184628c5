//! One pass over a frame: where its layers begin, and the 5-tuple of what it carries.
//!
//! ```text
//! | Ethernet 14 | 802.1Q 4 … | IPv4 20–60 | UDP, TCP, ICMP … | payload | padding |
//!               ^ (tags are skipped, the outermost is kept)
//!                            ^ l3         ^ l4                          ^ l3_end
//! ```
//!
//! Every packet off the fast path comes through here once; later steps take their offsets from
//! [`Layers`] and never check again. Never panics, whatever the bytes; never looks at a checksum
//! (that is the receiver's choice). Missing: **IPv6 beyond its fixed header** (the flow walks it: `ipv6`).

pub use crate::ethernet::{
    ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_SVLAN, ETHERTYPE_VLAN,
};
pub use crate::ipv4::protocol;

use crate::bytes::{be16, be32};
use crate::ethernet::is_tag;
use crate::icmp;

/// Why a frame is not what its headers claim. Counted, never printed per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Malformed {
    /// Shorter than an Ethernet header, cut off inside a VLAN tag, or longer than 65 535 bytes.
    Ethernet,
    /// IPv4 version field, IHL or total length contradict each other or the frame.
    Ipv4,
    /// IPv6 header cut off, version wrong, or payload longer than the frame.
    Ipv6,
    /// ARP cut off, or not for IPv4 over Ethernet.
    Arp,
    /// TCP, UDP or ICMP header cut off, or its lengths contradict the packet.
    Transport,
}

/// What one pass over a frame found. Offsets count from the first byte of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// EtherType after all VLAN tags.
    pub ether_type: u16,
    /// The outermost VLAN tag's TCI, if tagged.
    pub vlan: Option<u16>,
    /// Offset of the network header.
    pub l3: u16,
    /// Offset of the transport header; 0 if there is none in this packet (not IPv4, a later
    /// fragment, or a protocol not looked into).
    pub l4: u16,
    /// Offset behind the last byte of the IP packet; what follows is padding. For what is not
    /// IP: the frame's end.
    pub l3_end: u16,
    /// Protocol of the IPv4 payload, next header of IPv6, 0 if not IP.
    pub protocol: u8,
    /// IPv4 with MF or an offset: first, middle or last fragment.
    pub fragment: bool,
    /// A fragment with an offset: it has no transport header.
    pub later_fragment: bool,
    /// IPv4 header longer than 20 bytes.
    pub options: bool,
    /// The 5-tuple, zero where not IPv4. Ports are zero where there are none.
    pub tuple: FiveTuple,
}

/// Addresses, ports and protocol of a packet, in host order: of IPv4, or with addresses of 128 bits of
/// IPv6.
///
/// For an ICMP query (echo, timestamp, information, address mask: request and reply) both ports
/// are the query's identifier, so that a reply is the reverse of its request (RFC 5508 §3.1). Of PPTP's
/// GRE the destination port is the call ID: each direction has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple<A = u32> {
    /// Source address.
    pub src: A,
    /// Destination address.
    pub dst: A,
    /// Source port, or the ICMP identifier.
    pub src_port: u16,
    /// Destination port, or the ICMP identifier.
    pub dst_port: u16,
    /// IP protocol.
    pub protocol: u8,
}

impl<A: Copy> FiveTuple<A> {
    /// The tuple of a reply.
    #[inline]
    pub const fn reversed(self) -> FiveTuple<A> {
        FiveTuple {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
        }
    }
}

impl FiveTuple {
    /// A hash whose every bit depends on every bit of the tuple: take as many as a table needs
    /// from either end. A tuple and its reverse hash differently.
    ///
    /// Two multiplications to 128 bits, the halves folded together, as wyhash does: sequential
    /// addresses and ports (all a traffic generator sends) spread like random ones.
    ///
    /// # DoS
    /// Not keyed: who knows this function can choose tuples that collide. Tables bound their
    /// chains.
    #[inline]
    pub const fn hash(self) -> u32 {
        let addresses = (self.src as u64) << 32 | self.dst as u64;
        let rest =
            (self.src_port as u64) << 24 | (self.dst_port as u64) << 8 | self.protocol as u64;
        // Digits of pi: odd, irregular, and nobody's choice.
        let once = fold(addresses ^ 0x243f_6a88_85a3_08d3, rest ^ 0x1319_8a2e_0370_7345);
        let twice = fold(once ^ 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89);
        (twice ^ twice >> 32) as u32
    }
}

impl FiveTuple<u128> {
    /// The same of IPv6: two multiplications more.
    #[inline]
    pub const fn hash(self) -> u32 {
        let rest =
            (self.src_port as u64) << 24 | (self.dst_port as u64) << 8 | self.protocol as u64;
        let src = fold(
            (self.src >> 64) as u64 ^ 0x243f_6a88_85a3_08d3,
            self.src as u64 ^ 0x4528_21e6_38d0_1377,
        );
        let dst = fold(
            (self.dst >> 64) as u64 ^ 0xbe54_66cf_34e9_0c6c,
            self.dst as u64 ^ 0xc0ac_29b7_c97c_50dd,
        );
        let once = fold(src ^ dst.rotate_left(29), rest ^ 0x1319_8a2e_0370_7345);
        let twice = fold(once ^ 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89);
        (twice ^ twice >> 32) as u32
    }

    /// A tuple of IPv4's size for those who sort packets by hash, as queues do: each address folded.
    #[inline]
    pub const fn folded(self) -> FiveTuple {
        let FiveTuple { src, dst, src_port, dst_port, protocol } = self;
        FiveTuple { src: fold_address(src), dst: fold_address(dst), src_port, dst_port, protocol }
    }
}

#[inline]
const fn fold_address(address: u128) -> u32 {
    let once = fold(
        (address >> 64) as u64 ^ 0x243f_6a88_85a3_08d3,
        address as u64 ^ 0x1319_8a2e_0370_7345,
    );
    (once ^ once >> 32) as u32
}

#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Reads the layers of `frame` (without FCS).
///
/// ```
/// let frame = [&[0; 12][..], &[0x86, 0xdd], &[0x60; 40]].concat();
/// assert_eq!(wire::layers::parse(&frame), Err(wire::layers::Malformed::Ipv6)); // payload missing
/// ```
///
/// # Errors
/// [`Malformed`] names the layer whose header is cut off or contradicts the frame's length.
#[inline]
pub fn parse(frame: &[u8]) -> Result<Layers, Malformed> {
    if frame.len() < 14 || frame.len() > usize::from(u16::MAX) {
        return Err(Malformed::Ethernet);
    }
    if be16(frame, 12) == ETHERTYPE_IPV4 {
        return ipv4(frame, Link { ether_type: ETHERTYPE_IPV4, vlan: None, l3: 14 }, Extent::Whole);
    }
    tagged_or_not_ipv4(frame)
}

/// A number by which flows are told from each other where queues are many, as a card's RSS has it:
/// the same for all frames of a 5-tuple; fragments, of which only the first has ports, go by
/// their addresses, and what is not IPv4 goes by its MAC addresses. All its bits are good.
#[inline]
pub fn flow(frame: &[u8]) -> u32 {
    match network(frame) {
        Ok(Layers { ether_type: ETHERTYPE_IPV4, fragment, tuple, .. }) => {
            let (src_port, dst_port) =
                if fragment { (0, 0) } else { (tuple.src_port, tuple.dst_port) };
            FiveTuple { src_port, dst_port, ..tuple }.hash()
        }
        _ => {
            let Some(macs) = frame.first_chunk::<12>() else { return 0 };
            let ports = (be16(macs, 8), be16(macs, 10));
            let (src, dst) = (be32(macs, 0), be32(macs, 4));
            FiveTuple { src, dst, src_port: ports.0, dst_port: ports.1, protocol: 0 }.hash()
        }
    }
}

/// [`parse`] for who does not look above IP, as a router without connection tracking: a transport
/// header that is cut off or contradicts itself counts as none (`l4` is 0).
///
/// # Errors
/// [`Malformed`], but never [`Malformed::Transport`].
#[inline]
pub fn network(frame: &[u8]) -> Result<Layers, Malformed> {
    match parse(frame) {
        Err(Malformed::Transport) => ipv4(frame, link(frame)?, Extent::Network),
        other => other,
    }
}

/// The same for the frames that are rarer, kept out of line so that [`parse`] stays short.
#[inline(never)]
fn tagged_or_not_ipv4(frame: &[u8]) -> Result<Layers, Malformed> {
    let link = link(frame)?;
    let Link { ether_type, vlan, l3 } = link;
    let rest = &frame[usize::from(l3)..];
    let layers = Layers { ether_type, vlan, l3, l3_end: frame.len() as u16, ..Layers::default() };
    match ether_type {
        ETHERTYPE_IPV4 => ipv4(frame, link, Extent::Whole),
        ETHERTYPE_IPV6 => {
            let header = crate::Ipv6::new(rest)?;
            let l3_end = l3 + crate::ipv6::HEADER_LEN as u16 + header.payload_len();
            Ok(Layers { protocol: header.next_header(), l3_end, ..layers })
        }
        ETHERTYPE_ARP => crate::Arp::new(rest).map(|_| layers),
        _ => Ok(layers),
    }
}

/// The EtherType behind all tags, and where its header begins.
fn link(frame: &[u8]) -> Result<Link, Malformed> {
    let mut link = Link { ether_type: be16(frame, 12), vlan: None, l3: 14 };
    while is_tag(link.ether_type) {
        let tag = frame.get(usize::from(link.l3)..).and_then(<[u8]>::first_chunk::<4>);
        let &[a, b, c, d] = tag.ok_or(Malformed::Ethernet)?;
        link.vlan.get_or_insert(u16::from_be_bytes([a, b]));
        link.ether_type = u16::from_be_bytes([c, d]);
        link.l3 += 4;
    }
    Ok(link)
}

/// Reads an IPv4 packet that an ICMP error quotes: from its header on, and cut off somewhere
/// behind the first eight bytes of its payload (RFC 792). Offsets count from the first byte of
/// `packet`; `l3_end` is where the quotation ends, and `ether_type` is that of IPv4.
///
/// A quoted TCP header is rarely whole: only its ports and sequence number are sure to be there.
///
/// # Errors
/// [`Malformed`], as for [`parse`].
pub fn quoted(packet: &[u8]) -> Result<Layers, Malformed> {
    let packet = &packet[..packet.len().min(usize::from(u16::MAX))];
    ipv4(packet, Link { ether_type: ETHERTYPE_IPV4, vlan: None, l3: 0 }, Extent::Quoted)
}

/// What stands before the network header.
#[derive(Clone, Copy)]
struct Link {
    ether_type: u16,
    vlan: Option<u16>,
    l3: u16,
}

/// How much of an IP packet has to be there.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// All its total length.
    Whole,
    /// Its header and eight bytes.
    Quoted,
    /// All its total length, but the transport header may be anything.
    Network,
}

#[inline(always)] // so that the untagged frame's way has constant offsets
fn ipv4(frame: &[u8], link: Link, extent: Extent) -> Result<Layers, Malformed> {
    let ip = &frame[usize::from(link.l3)..];
    let header = ip.first_chunk::<20>().ok_or(Malformed::Ipv4)?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    let total_len = usize::from(be16(header, 2));
    let end = if extent == Extent::Quoted { total_len.min(ip.len()) } else { total_len };
    if header[0] >> 4 != 4 || header_len < 20 || total_len < header_len {
        return Err(Malformed::Ipv4);
    }
    let payload = ip.get(header_len..end).ok_or(Malformed::Ipv4)?;
    let fragment = be16(header, 6);
    let later_fragment = fragment & 0x1fff != 0;
    let protocol = header[9];
    let ports = if later_fragment {
        None
    } else {
        // A first fragment, or a quotation, may end inside a TCP header, never before its ports.
        let cut = fragment & 0x3fff != 0 || extent == Extent::Quoted;
        match ports(protocol, payload, cut) {
            Err(_) if extent == Extent::Network => None,
            ports => ports?,
        }
    };
    let both = match ports {
        Some(both) => both,
        None if protocol == protocol::GRE && !later_fragment => {
            pptp_call(payload).unwrap_or(0).into()
        }
        None => 0,
    };
    Ok(Layers {
        ether_type: link.ether_type,
        vlan: link.vlan,
        l3: link.l3,
        l4: if ports.is_some() { link.l3 + header_len as u16 } else { 0 },
        l3_end: link.l3 + end as u16,
        protocol,
        fragment: fragment & 0x3fff != 0,
        later_fragment,
        options: header_len > 20,
        tuple: FiveTuple {
            src: be32(header, 12),
            dst: be32(header, 16),
            src_port: (both >> 16) as u16,
            dst_port: both as u16,
            protocol,
        },
    })
}

/// The call ID in a GRE header of PPTP (RFC 2637 §4.1): version 1, with a key, around PPP.
#[cold]
pub fn pptp_call(gre: &[u8]) -> Option<u16> {
    let start = gre.first_chunk::<8>()?;
    let is_pptp = start[0] & 0xef == 0x20 && start[1] & 0x7f == 1 && be16(start, 2) == 0x880b;
    is_pptp.then(|| be16(start, 6))
}

/// Both ports of a transport header, or what stands for them, the source's in the upper half;
/// `None` for a protocol not looked into. `cut`: only the first eight bytes are sure to be there.
#[inline(always)]
fn ports(protocol: u8, payload: &[u8], cut: bool) -> Result<Option<u32>, Malformed> {
    if !matches!(protocol, protocol::UDP | protocol::TCP | protocol::ICMP) {
        return Ok(None);
    }
    let start = payload.first_chunk::<8>().ok_or(Malformed::Transport)?;
    let intact = match protocol {
        protocol::UDP => {
            let len = usize::from(be16(start, 4));
            len >= 8 && (len <= payload.len() || cut)
        }
        protocol::TCP => {
            let data_offset = payload.get(12).map_or(20, |byte| usize::from(byte >> 4) * 4);
            data_offset >= 20 && (data_offset <= payload.len() || cut)
        }
        _ if icmp::is_query(start[0]) => return Ok(Some(u32::from(be16(start, 4)) * 0x1_0001)),
        _ => return Ok(Some(0)),
    };
    if intact { Ok(Some(be32(start, 0))) } else { Err(Malformed::Transport) }
}

#[cfg(test)]
mod tests;
