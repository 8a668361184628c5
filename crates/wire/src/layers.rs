//! One pass over a frame: where its layers begin, and the 5-tuple of what it carries.
//!
//! ```text
//! | Ethernet 14 | 802.1Q 4 … | IPv4 20–60 | UDP, TCP, ICMP … | payload | padding |
//!               ^ (tags are skipped, the outermost is kept)
//!                            ^ l3         ^ l4                          ^ l3_end
//! ```
//!
//! Never panics, whatever the bytes; never looks at a checksum (that is the receiver's choice).

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// EtherType of an 802.1Q tag.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// EtherType of an 802.1ad service tag.
pub const ETHERTYPE_SVLAN: u16 = 0x88a8;
/// EtherType of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;

/// IP protocol numbers the router looks into.
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
}

/// Why a frame is not what its headers claim. Counted, never printed per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Malformed {
    /// Shorter than an Ethernet header, or cut off inside a VLAN tag.
    Ethernet,
    /// IPv4 version field, IHL or total length contradict each other or the frame.
    Ipv4,
    /// IPv6 header cut off, version wrong, or payload longer than the frame.
    Ipv6,
    /// ARP shorter than Ethernet/IPv4 ARP.
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
    /// Offset of the transport header; 0 if there is none in this packet (not IP, a later
    /// fragment, or a protocol not looked into).
    pub l4: u16,
    /// Offset behind the last byte of the IP packet; what follows is padding. For what is not
    /// IP: the frame's end.
    pub l3_end: u16,
    /// Protocol of the IP payload, 0 if not IP.
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

/// Addresses, ports and protocol of an IPv4 packet, in host order.
///
/// For an ICMP query (echo, timestamp, information, address mask: request and reply) both ports
/// are the query's identifier, so that a reply is the reverse of its request (RFC 5508 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiveTuple {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Source port, or the ICMP identifier.
    pub src_port: u16,
    /// Destination port, or the ICMP identifier.
    pub dst_port: u16,
    /// IP protocol.
    pub protocol: u8,
}

impl FiveTuple {
    /// The tuple of a reply.
    #[inline]
    pub const fn reversed(self) -> FiveTuple {
        FiveTuple {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
        }
    }
}

/// Reads the layers of `frame` (without FCS).
///
/// # Errors
/// [`Malformed`] names the layer whose header is cut off or contradicts the frame's length.
#[inline]
pub fn parse(frame: &[u8]) -> Result<Layers, Malformed> {
    let be16 = |at: usize| -> Option<u16> {
        Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk::<2>()?))
    };
    let mut layers = Layers::default();
    let mut at = 12;
    let mut ether_type = be16(at).ok_or(Malformed::Ethernet)?;
    while ether_type == ETHERTYPE_VLAN || ether_type == ETHERTYPE_SVLAN {
        let tci = be16(at + 2).ok_or(Malformed::Ethernet)?;
        layers.vlan.get_or_insert(tci);
        at += 4;
        ether_type = be16(at).ok_or(Malformed::Ethernet)?;
    }
    layers.ether_type = ether_type;
    layers.l3 = at as u16 + 2;
    layers.l3_end = frame.len().min(usize::from(u16::MAX)) as u16;
    match ether_type {
        ETHERTYPE_IPV4 => ipv4(frame, layers),
        ETHERTYPE_ARP if frame.len() < usize::from(layers.l3) + 28 => Err(Malformed::Arp),
        _ => Ok(layers),
    }
}

fn ipv4(frame: &[u8], mut layers: Layers) -> Result<Layers, Malformed> {
    let l3 = usize::from(layers.l3);
    let ip = frame.get(l3..).ok_or(Malformed::Ipv4)?;
    let header = ip.first_chunk::<20>().ok_or(Malformed::Ipv4)?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    let total_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || header_len < 20 || total_len < header_len || ip.len() < total_len {
        return Err(Malformed::Ipv4);
    }
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    layers.fragment = fragment & 0x3fff != 0;
    layers.later_fragment = fragment & 0x1fff != 0;
    layers.options = header_len > 20;
    layers.l3_end = (l3 + total_len) as u16;
    layers.protocol = header[9];
    layers.tuple = FiveTuple {
        src: u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
        dst: u32::from_be_bytes([header[16], header[17], header[18], header[19]]),
        src_port: 0,
        dst_port: 0,
        protocol: header[9],
    };
    if layers.later_fragment {
        return Ok(layers);
    }
    let l4 = &ip[header_len..total_len];
    let port = |at: usize| u16::from_be_bytes([l4[at], l4[at + 1]]);
    let needed = match layers.protocol {
        protocol::UDP | protocol::ICMP => 8,
        protocol::TCP => 20,
        _ => return Ok(layers),
    };
    // A first fragment may legally end inside a TCP header's options, never before its ports.
    if l4.len() < if layers.fragment { 8 } else { needed } {
        return Err(Malformed::Transport);
    }
    match layers.protocol {
        protocol::ICMP => {
            if matches!(l4[0], 0 | 8 | 13..=18) {
                (layers.tuple.src_port, layers.tuple.dst_port) = (port(4), port(4));
            }
        }
        _ => (layers.tuple.src_port, layers.tuple.dst_port) = (port(0), port(2)),
    }
    layers.l4 = (l3 + header_len) as u16;
    Ok(layers)
}
