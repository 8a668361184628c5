//! Packet templates: what all frames of a stream have in common.
//!
//! ```text
//! Template ── image(FrameLen) ──► | Ethernet 14 | IPv4 20 | UDP 8 | fill … | room for a trailer |
//!                                 0            14        34      42              len - 18
//!                                 | Ethernet 14 | IPv6 40 | UDP 8 | fill … | room for a trailer |
//!                                 0            14        54      62              len - 18
//! ```
//!
//! A passive value with the fields of RouterOS's `/tool traffic-generator packet-template` and its
//! assumptions: TTL 64, DSCP 0, UDP ports 100 and 200, UDP checksum 0 (of IPv6, which has to have one,
//! the right one: RFC 8200 §8.1).
//!
//! Never chooses an address by itself. Missing: **VLAN tags, TCP, raw headers**; a gateway resolved by
//! ARP (`ip-gateway`): give the MAC address.

use crate::Family;
use crate::trailer;
use port::slab::Slots;
use std::fmt;
use wire::checksum::{self, Sum};
use wire::ipv6::Ipv6Header;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, protocol};
use wire::{FrameLen, MacAddr};

/// Length of Ethernet, IPv4 and UDP headers together.
pub const HEADERS: usize = 42;
/// Where the IPv4 header begins; the IPv6 header begins there, too.
pub const IPV4: usize = 14;
/// Where the UDP header begins behind IPv4.
pub const UDP: usize = 34;

/// A UDP frame's fields. All may be varied from frame to frame by the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// `mac-dst`.
    pub dst_mac: MacAddr,
    /// `mac-src`.
    pub src_mac: MacAddr,
    /// `ip-src` and `ip-dst`, or those of IPv6.
    pub ends: Ends,
    /// `ip-ttl`; of IPv6 the hop limit.
    pub ttl: u8,
    /// `ip-dscp`: the whole TOS byte, as in RouterOS; of IPv6 the traffic class.
    pub dscp: u8,
    /// `udp-src-port`.
    pub src_port: u16,
    /// `udp-dst-port`.
    pub dst_port: u16,
    /// Whether the UDP checksum is right (then the receiver verifies it, so that a faulty NAT
    /// shows) or 0, which means none: RouterOS's assumption, and cheaper on both sides. That of IPv6
    /// is right either way.
    pub udp_checksum: bool,
    /// The byte between the headers and the trailer (`data-byte`).
    pub fill: u8,
}

/// From which address to which one, in host order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "source and destination")]
pub enum Ends {
    /// Of IPv4.
    V4 { src: u32, dst: u32 },
    /// Of IPv6.
    V6 { src: u128, dst: u128 },
}

impl Ends {
    /// The version of IP.
    pub fn family(self) -> Family {
        match self {
            Ends::V4 { .. } => Family::Ipv4,
            Ends::V6 { .. } => Family::Ipv6,
        }
    }
}

impl Default for Template {
    /// Addresses of the benchmarking network (RFC 2544, appendix C.2.2), RouterOS's assumptions.
    fn default() -> Template {
        Template {
            dst_mac: MacAddr([0x02, 0, 0, 0, 0, 0x02]),
            src_mac: MacAddr([0x02, 0, 0, 0, 0, 0x01]),
            ends: Ends::V4 {
                src: u32::from_be_bytes([198, 18, 0, 2]),
                dst: u32::from_be_bytes([198, 19, 0, 2]),
            },
            ttl: 64,
            dscp: 0,
            src_port: 100,
            dst_port: 200,
            udp_checksum: false,
            fill: 0,
        }
    }
}

/// The frame length cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLength {
    /// The length asked for.
    pub asked: FrameLen,
    /// The shortest that there is.
    pub least: FrameLen,
}

/// The shortest and longest frames a stream can have: Ethernet's 64 bytes, and what a slot for jumbo
/// frames holds (9,856 bytes and the FCS). Whoever sends them has a slab of slots that are as long.
pub const FRAME_LENGTHS: (FrameLen, FrameLen) =
    (FrameLen::with_fcs(64), FrameLen::without_fcs(Slots::JUMBO.max_frame() as u32));

/// The shortest frame with the headers of this family and a trailer: 64 bytes of IPv4, 84 of IPv6.
pub fn shortest(family: Family) -> FrameLen {
    FrameLen::without_fcs((headers(family) + trailer::LEN) as u32)
}

/// Length of Ethernet, IP and UDP headers together.
pub(crate) fn headers(family: Family) -> usize {
    udp(family) + 8
}

/// Where the UDP header begins.
pub(crate) fn udp(family: Family) -> usize {
    match family {
        Family::Ipv4 => UDP,
        Family::Ipv6 => IPV4 + wire::ipv6::HEADER_LEN,
    }
}

impl fmt::Display for BadLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (asked, least, most) = (self.asked.l2(), self.least.l2(), FRAME_LENGTHS.1.l2());
        write!(f, "a frame of {asked} bytes (with FCS): use {least} to {most}")
    }
}

impl std::error::Error for BadLength {}

impl Template {
    /// The frame as it lies in memory (no FCS), all checksums right for a trailer of zeros.
    ///
    /// # Errors
    /// [`BadLength`] if the frame is not within [`FRAME_LENGTHS`], or too short for IPv6.
    pub fn image(&self, frame: FrameLen) -> Result<Vec<u8>, BadLength> {
        let family = self.ends.family();
        let least = shortest(family);
        if frame < least || frame > FRAME_LENGTHS.1 {
            return Err(BadLength { asked: frame, least });
        }
        let len = frame.in_memory() as usize;
        let mut bytes = vec![self.fill; len];
        bytes[len - trailer::LEN..].fill(0);
        bytes[..6].copy_from_slice(&self.dst_mac.0);
        bytes[6..12].copy_from_slice(&self.src_mac.0);
        let ethertype = match family {
            Family::Ipv4 => ETHERTYPE_IPV4,
            Family::Ipv6 => ETHERTYPE_IPV6,
        };
        bytes[12..14].copy_from_slice(&ethertype.to_be_bytes());
        let at = udp(family);
        let udp_len = (len - at) as u16;
        let (ip, udp) = bytes[IPV4..].split_at_mut(at - IPV4);
        let pseudo = self.write_ip(ip, udp_len);
        udp[..2].copy_from_slice(&self.src_port.to_be_bytes());
        udp[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        udp[4..6].copy_from_slice(&udp_len.to_be_bytes());
        udp[6..8].fill(0);
        if self.has_udp_checksum() {
            let sum = match pseudo.bytes(udp).finish() {
                0 => 0xffff, // 0 would mean none (RFC 768)
                sum => sum,
            };
            udp[6..8].copy_from_slice(&sum.to_be_bytes());
        }
        Ok(bytes)
    }

    /// Whether there is a UDP checksum.
    pub(crate) fn has_udp_checksum(&self) -> bool {
        self.udp_checksum || self.ends.family() == Family::Ipv6
    }

    /// Writes the IP header, and returns the sum of the pseudo-header.
    fn write_ip(&self, ip: &mut [u8], udp_len: u16) -> Sum {
        match self.ends {
            Ends::V4 { src, dst } => {
                let len = ip.len() as u16 + udp_len;
                ip.fill(0);
                ip[0] = 0x45;
                ip[1] = self.dscp;
                ip[2..4].copy_from_slice(&len.to_be_bytes());
                ip[8] = self.ttl;
                ip[9] = protocol::UDP;
                ip[12..16].copy_from_slice(&src.to_be_bytes());
                ip[16..20].copy_from_slice(&dst.to_be_bytes());
                let sum = checksum::ipv4_header(ip);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
                Sum::pseudo_ipv4(src, dst, protocol::UDP, udp_len)
            }
            Ends::V6 { src, dst } => {
                let header = Ipv6Header {
                    traffic_class: self.dscp,
                    flow_label: 0,
                    payload_len: udp_len,
                    next_header: protocol::UDP,
                    hop_limit: self.ttl,
                    src: src.into(),
                    dst: dst.into(),
                };
                ip.copy_from_slice(&header.to_bytes());
                let [src, dst] = [src, dst].map(u128::to_be_bytes);
                Sum::pseudo_ipv6(src, dst, protocol::UDP, udp_len.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_64_byte_frame() {
        let template = Template { udp_checksum: true, ..Template::default() };
        let frame = template.image(FrameLen::with_fcs(64)).unwrap();
        assert_eq!(frame.len(), 60);
        assert_eq!(frame.len() - HEADERS, trailer::LEN, "the trailer is the whole payload");
        let layers = wire::layers::parse(&frame).unwrap();
        assert_eq!((layers.l3, layers.l4, layers.l3_end), (14, 34, 60));
        let (src, dst) = (layers.tuple.src, layers.tuple.dst);
        assert_eq!(Ends::V4 { src, dst }, template.ends);
        assert_eq!((layers.tuple.src_port, layers.tuple.dst_port), (100, 200));
        assert!(checksum::is_ok(&frame[IPV4..UDP]));
        assert!(checksum::udp_ok(src, dst, &frame[UDP..]));
    }

    #[test]
    fn the_shortest_frame_of_ipv6() {
        let (src, dst) = (0x2001_0002 << 96 | 1, 0x2001_0002 << 96 | 2);
        let template = Template { ends: Ends::V6 { src, dst }, ..Template::default() };
        let frame = template.image(shortest(Family::Ipv6)).unwrap();
        assert_eq!(frame.len() - headers(Family::Ipv6), trailer::LEN, "the trailer is the payload");
        let packet = wire::Ipv6::new(&frame[IPV4..]).unwrap();
        assert_eq!((u128::from(packet.src()), u128::from(packet.dst())), (src, dst));
        assert_eq!((packet.next_header(), packet.hop_limit()), (protocol::UDP, 64));
        let datagram = packet.payload();
        assert_eq!(datagram.len(), 8 + trailer::LEN);
        let [src, dst] = [src, dst].map(u128::to_be_bytes);
        let len = datagram.len() as u32;
        assert!(Sum::pseudo_ipv6(src, dst, protocol::UDP, len).bytes(datagram).is_ok());
        assert_ne!(datagram[6..8], [0, 0]);
        let error = template.image(FrameLen::MIN).unwrap_err().to_string();
        assert_eq!(error, "a frame of 64 bytes (with FCS): use 84 to 9860");
    }

    #[test]
    fn lengths() {
        let (least, most) = FRAME_LENGTHS;
        for (l2, expected) in
            [(0, false), (63, false), (64, true), (1518, true), (9018, true), (9861, false)]
        {
            let image = Template::default().image(FrameLen::with_fcs(l2));
            assert_eq!(image.is_ok(), expected, "{l2}");
        }
        for len in [least, most] {
            assert_eq!(Template::default().image(len).unwrap().len(), len.in_memory() as usize);
        }
        let error = Template::default().image(FrameLen::with_fcs(20)).unwrap_err().to_string();
        assert_eq!(error, "a frame of 20 bytes (with FCS): use 64 to 9860");
    }
}
