//! Making frames: for tests, for the packet generator's templates, for what the router sends.
//!
//! ```text
//! Frame { fields, one template varied } ─► write_into(buffer) ─► | eth | tag | IPv4 | L4 | payload | pad |
//! ```
//!
//! All lengths and checksums come out right; to make a wrong frame, make a right one and break
//! it. Missing: **IPv6** but for neighbour discovery, **tunnels** (a [raw](crate::craft::Body::Raw) body takes any payload), **two tags**.
//!
//! ```
//! use wire::craft::{self, Frame, ip};
//! let ping = craft::ping(ip(10, 0, 0, 1), ip(10, 0, 0, 2));
//! let last_hop = Frame { ttl: 1, payload: b"hello", ..ping }.build();
//! assert_eq!(last_hop.len(), 60);
//! assert_eq!(wire::layers::parse(&last_hop).unwrap().protocol, 1);
//! ```

use std::fmt;
use std::net::Ipv6Addr;

use crate::arp::ArpMessage;
use crate::bytes::put;
use crate::checksum;
use crate::ethernet::{
    self, ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_VLAN, EthernetHeader,
};
use crate::icmp::{self, IcmpHeader};
use crate::icmpv6::{self, Neighbour};
use crate::ipv4::{self, Ipv4Header, protocol};
use crate::ipv6::{self, Ipv6Header};
use crate::mac::MacAddr;
use crate::tcp::{self, TcpFlags, TcpHeader};
use crate::udp::{self, UdpHeader};
use crate::units::FrameLen;
use crate::vlan::Tci;

/// The address `a.b.c.d` in host order, as headers and [`FiveTuple`](crate::FiveTuple) hold it.
pub const fn ip(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from_be_bytes([a, b, c, d])
}

/// A UDP datagram with no payload, from the default addresses of [`Frame`].
pub fn udp(src: u32, src_port: u16, dst: u32, dst_port: u16) -> Frame<'static> {
    Frame { src, dst, body: Body::Udp { src_port, dst_port }, ..Frame::default() }
}

/// A TCP segment with no payload and no options.
pub fn tcp(src: u32, src_port: u16, dst: u32, dst_port: u16, flags: TcpFlags) -> Frame<'static> {
    let header = TcpHeader { src_port, dst_port, flags, window: 65535, ..TcpHeader::default() };
    Frame { src, dst, body: Body::Tcp { header, options: &[] }, ..Frame::default() }
}

/// An echo request, identifier 1, sequence 1.
pub fn ping(src: u32, dst: u32) -> Frame<'static> {
    Frame { src, dst, body: Body::Icmp(IcmpHeader::echo_request(1, 1)), ..Frame::default() }
}

/// An ARP message in its frame: a request is broadcast, anything else goes to its target.
pub fn arp(message: ArpMessage) -> Frame<'static> {
    let dst_mac = match message.operation {
        crate::arp::Operation::Request => MacAddr::BROADCAST,
        _ => message.target_mac,
    };
    Frame { src_mac: message.sender_mac, dst_mac, body: Body::Arp(message), ..Frame::default() }
}

/// A message of neighbour discovery in its frame, from and to these addresses.
pub fn neighbour(
    message: Neighbour,
    [src_mac, dst_mac]: [MacAddr; 2],
    [src, dst]: [Ipv6Addr; 2],
) -> Vec<u8> {
    let (mut bytes, len) = message.to_bytes();
    icmpv6::fill_checksum(src, dst, &mut bytes[..len]);
    let header = Ipv6Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: len as u16,
        next_header: ipv6::header::ICMPV6,
        hop_limit: 255, // not forwarded: RFC 4861 §7.1
        src,
        dst,
    };
    let payload = &[&header.to_bytes()[..], &bytes[..len]].concat();
    let body = Body::Raw { ether_type: ETHERTYPE_IPV6 };
    Frame { src_mac, dst_mac, body, payload, ..Frame::default() }.build()
}

/// A frame to be made: vary a template with `..`, then [`build`](Self::build) or
/// [`write_into`](Self::write_into).
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Destination MAC address.
    pub dst_mac: MacAddr,
    /// Source MAC address.
    pub src_mac: MacAddr,
    /// An 802.1Q tag.
    pub vlan: Option<Tci>,
    /// IPv4 source address.
    pub src: u32,
    /// IPv4 destination address.
    pub dst: u32,
    /// Type of service.
    pub tos: u8,
    /// IPv4 identification.
    pub ident: u16,
    /// Routers must not fragment it.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// In bytes, a multiple of 8. A fragment with an offset has no transport header: use
    /// [`Body::Ip`].
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// IPv4 options, filled up with "end of list" to a multiple of 4; at most 40 bytes.
    pub options: &'a [u8],
    /// What is in the IP packet, or in place of it.
    pub body: Body<'a>,
    /// What follows the last header.
    pub payload: &'a [u8],
    /// Extends the payload with zeros, so that the frame has this length; `None` leaves it as
    /// it is. Either way, padding behind the packet fills a frame up to 60 bytes (64 with FCS).
    pub len: Option<FrameLen>,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// IPv4, UDP.
    Udp {
        /// Source port.
        src_port: u16,
        /// Destination port.
        dst_port: u16,
    },
    /// IPv4, TCP.
    Tcp {
        /// The header but for its options.
        header: TcpHeader,
        /// Options, filled up with "end of list" to a multiple of 4; at most 40 bytes.
        options: &'a [u8],
    },
    /// IPv4, ICMP.
    Icmp(IcmpHeader),
    /// IPv4 of any protocol: the payload is what follows the IPv4 header.
    Ip {
        /// IP protocol.
        protocol: u8,
    },
    /// ARP: the IPv4 fields play no part; the payload follows the message.
    Arp(ArpMessage),
    /// Anything: the payload is what follows the Ethernet header.
    Raw {
        /// EtherType.
        ether_type: u16,
    },
}

impl Default for Frame<'_> {
    /// An empty UDP datagram to the discard port (9) between two hosts of the benchmarking
    /// network 198.18.0.0/15 (RFC 2544 App. C), MAC addresses locally administered.
    fn default() -> Self {
        Frame {
            dst_mac: MacAddr([2, 0, 0, 0, 0, 2]),
            src_mac: MacAddr([2, 0, 0, 0, 0, 1]),
            vlan: None,
            src: ip(198, 18, 0, 2),
            dst: ip(198, 19, 0, 2),
            tos: 0,
            ident: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            options: &[],
            body: Body::Udp { src_port: 49152, dst_port: 9 },
            payload: &[],
            len: None,
        }
    }
}

/// The frame cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CraftError {
    /// The buffer holds fewer bytes than the frame, which needs this many.
    Buffer {
        /// Bytes of the frame without FCS.
        needed: usize,
    },
    /// [`Frame::len`] is less than headers and payload need.
    Length {
        /// The shortest length that would do, without FCS.
        needed: usize,
    },
    /// More than 40 bytes of IPv4 or TCP options.
    Options,
    /// The IP packet would be longer than 65 535 bytes.
    Packet,
}

impl fmt::Display for CraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CraftError::Buffer { needed } => {
                write!(f, "the frame needs a buffer of {needed} bytes")
            }
            CraftError::Length { needed } => {
                let needed = FrameLen::without_fcs(*needed as u32).l2();
                write!(f, "headers and payload need a frame of {needed} bytes with FCS")
            }
            CraftError::Options => f.write_str("options are at most 40 bytes"),
            CraftError::Packet => f.write_str("an IP packet is at most 65535 bytes"),
        }
    }
}

impl std::error::Error for CraftError {}

impl Frame<'_> {
    /// Length of the frame in memory, without FCS.
    ///
    /// # Errors
    /// All of [`CraftError`] but `Buffer`.
    pub fn len_in_memory(&self) -> Result<usize, CraftError> {
        let plan = self.plan()?;
        Ok(plan.end.max(ethernet::MIN_LEN))
    }

    /// Writes the frame to the beginning of `out`, and returns its length.
    ///
    /// # Errors
    /// [`CraftError`]; `out` is then left as it was.
    pub fn write_into(&self, out: &mut [u8]) -> Result<usize, CraftError> {
        let plan = self.plan()?;
        let needed = plan.end.max(ethernet::MIN_LEN);
        let out = out.get_mut(..needed).ok_or(CraftError::Buffer { needed })?;
        out.fill(0);
        out[plan.payload..plan.payload + self.payload.len()].copy_from_slice(self.payload);
        self.write_ethernet(out, plan.l3);
        match self.body {
            Body::Arp(message) => put(out, plan.l3, message.to_bytes()),
            Body::Raw { .. } => {}
            _ => self.write_ip(&mut out[plan.l3..plan.end], plan.l4 - plan.l3),
        }
        Ok(needed)
    }

    /// The frame as bytes of its own: for tests and templates, whose fields are fixed.
    ///
    /// # Panics
    /// If the frame cannot be made; where fields come from a user, use
    /// [`write_into`](Self::write_into).
    pub fn build(&self) -> Vec<u8> {
        let len = self.len_in_memory().unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let mut frame = vec![0; len];
        match self.write_into(&mut frame) {
            Ok(_) => frame,
            Err(error) => panic!("{error}: {self:?}"),
        }
    }

    fn write_ethernet(&self, out: &mut [u8], l3: usize) {
        let ether_type = match self.body {
            Body::Arp(_) => ETHERTYPE_ARP,
            Body::Raw { ether_type } => ether_type,
            _ => ETHERTYPE_IPV4,
        };
        let header = EthernetHeader { dst: self.dst_mac, src: self.src_mac, ether_type };
        put(out, 0, header.to_bytes());
        if let Some(tci) = self.vlan {
            put(out, 12, ETHERTYPE_VLAN.to_be_bytes());
            put(out, 14, tci.0.to_be_bytes());
            put(out, l3 - 2, ether_type.to_be_bytes());
        }
    }

    /// Writes IPv4 and transport headers around a payload that is already in its place.
    fn write_ip(&self, packet: &mut [u8], header_len: usize) {
        let total_len = packet.len() as u16;
        let (head, l4) = packet.split_at_mut(header_len);
        let l4_len = l4.len() as u16;
        let protocol = match self.body {
            Body::Udp { src_port, dst_port } => {
                let payload_len = l4_len - udp::HEADER_LEN as u16;
                put(l4, 0, UdpHeader { src_port, dst_port, payload_len }.to_bytes());
                let checksum = checksum::udp(self.src, self.dst, l4);
                put(l4, 6, checksum.to_be_bytes());
                protocol::UDP
            }
            Body::Tcp { header, options } => {
                put(l4, 0, header.to_bytes());
                l4[12] = ((tcp::HEADER_LEN + padded(options)) as u8 / 4) << 4;
                l4[tcp::HEADER_LEN..][..options.len()].copy_from_slice(options);
                let checksum = checksum::tcp(self.src, self.dst, l4);
                put(l4, 16, checksum.to_be_bytes());
                protocol::TCP
            }
            Body::Icmp(header) => {
                put(l4, 0, header.to_bytes());
                let checksum = checksum::icmp(l4);
                put(l4, 2, checksum.to_be_bytes());
                protocol::ICMP
            }
            Body::Ip { protocol } => protocol,
            Body::Arp(_) | Body::Raw { .. } => return, // not IP: `write_into` does not come here
        };
        let header = Ipv4Header {
            tos: self.tos,
            payload_len: l4_len,
            ident: self.ident,
            dont_fragment: self.dont_fragment,
            more_fragments: self.more_fragments,
            fragment_offset: self.fragment_offset,
            ttl: self.ttl,
            protocol,
            src: self.src,
            dst: self.dst,
        };
        put(head, 0, header.to_bytes());
        if !self.options.is_empty() {
            head[0] = 0x40 | (header_len / 4) as u8;
            put(head, 2, total_len.to_be_bytes());
            head[ipv4::HEADER_LEN..][..self.options.len()].copy_from_slice(self.options);
            let checksum = checksum::ipv4_header(head);
            put(head, 10, checksum.to_be_bytes());
        }
    }

    /// Where everything goes.
    fn plan(&self) -> Result<Plan, CraftError> {
        let l3 = ethernet::HEADER_LEN + if self.vlan.is_some() { 4 } else { 0 };
        let mut is_ip = true;
        let l4_len = match self.body {
            Body::Udp { .. } => udp::HEADER_LEN,
            Body::Tcp { options, .. } if options.len() > 40 => return Err(CraftError::Options),
            Body::Tcp { options, .. } => tcp::HEADER_LEN + padded(options),
            Body::Icmp(_) => icmp::HEADER_LEN,
            Body::Ip { .. } => 0,
            Body::Arp(_) | Body::Raw { .. } => {
                is_ip = false;
                0
            }
        };
        let l4 = match self.body {
            Body::Arp(_) => l3 + crate::arp::LEN,
            Body::Raw { .. } => l3,
            _ if self.options.len() > 40 => return Err(CraftError::Options),
            _ => l3 + ipv4::HEADER_LEN + padded(self.options),
        };
        let payload = l4 + l4_len;
        let needed = payload + self.payload.len();
        let end = match self.len {
            Some(len) if (len.in_memory() as usize) < needed => {
                return Err(CraftError::Length { needed });
            }
            Some(len) => len.in_memory() as usize,
            None => needed,
        };
        if is_ip && end - l3 > usize::from(u16::MAX) {
            return Err(CraftError::Packet);
        }
        Ok(Plan { l3, l4, payload, end })
    }
}

/// Offsets from the first byte of the frame.
struct Plan {
    l3: usize,
    l4: usize,
    payload: usize,
    /// Behind the packet; padding follows.
    end: usize,
}

fn padded(options: &[u8]) -> usize {
    options.len().next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::{self, FiveTuple};
    use crate::{Icmp, Ipv4, Tcp, Udp};

    const A: u32 = ip(10, 0, 0, 1);
    const B: u32 = ip(10, 0, 0, 2);

    #[test]
    fn known_bytes() {
        let frame = Frame { payload: b"abc", ..udp(A, 5, B, 7) };
        let mut expected = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0".to_vec();
        expected.extend(b"\x45\0\0\x1f\0\0\0\0\x40\x11\x66\xcc\x0a\0\0\x01\x0a\0\0\x02");
        expected.extend(b"\0\x05\0\x07\0\x0b\x27\x67abc");
        expected.resize(60, 0);
        assert_eq!(frame.build(), expected);
    }

    #[test]
    fn everything_comes_out_right() {
        let syn = TcpFlags::SYN;
        let mss = Body::Tcp { header: TcpHeader::default(), options: &[2, 4, 5, 180, 3, 3, 7] };
        let request = ArpMessage::request(MacAddr([2; 6]), A, B);
        for (name, frame, len, l4) in [
            ("udp", udp(A, 5, B, 7), 60, 34),
            ("udp, long", Frame { payload: &[9; 1000], ..udp(A, 5, B, 7) }, 1042, 34),
            ("tcp", tcp(A, 5, B, 7, syn), 60, 34),
            ("tcp, options", Frame { body: mss, ..tcp(A, 5, B, 7, syn) }, 62, 34),
            ("ping", ping(A, B), 60, 34),
            ("ping, tag", Frame { vlan: Some(Tci::new(9, 0)), ..ping(A, B) }, 60, 38),
            ("ping, options", Frame { options: &[148, 4, 0, 0, 1], ..ping(A, B) }, 60, 42),
            ("gre", Frame { body: Body::Ip { protocol: 47 }, ..ping(A, B) }, 60, 0),
            ("arp", arp(request), 60, 0),
            ("raw", Frame { body: Body::Raw { ether_type: 0x88cc }, ..ping(A, B) }, 60, 0),
            ("64", Frame { len: Some(FrameLen::with_fcs(64)), ..udp(A, 5, B, 7) }, 60, 34),
            ("1518", Frame { len: Some(FrameLen::with_fcs(1518)), ..udp(A, 5, B, 7) }, 1514, 34),
        ] {
            let bytes = frame.build();
            assert_eq!(bytes.len(), len, "{name}");
            let layers = layers::parse(&bytes).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            assert_eq!(usize::from(layers.l4), l4, "{name}");
            assert_eq!(layers.vlan, frame.vlan.map(|tci| tci.0), "{name}");
            if layers.ether_type != ETHERTYPE_IPV4 {
                continue;
            }
            let packet = Ipv4::new(&bytes[usize::from(layers.l3)..]).unwrap();
            assert!(packet.checksum_ok(), "{name}");
            assert_eq!((packet.src(), packet.dst(), packet.ttl()), (A, B, 64), "{name}");
            let ok = match layers.protocol {
                protocol::UDP => Udp::new(packet.payload()).unwrap().checksum_ok(A, B),
                protocol::TCP => Tcp::new(packet.payload()).unwrap().checksum_ok(A, B),
                protocol::ICMP => Icmp::new(packet.payload()).unwrap().checksum_ok(),
                _ => true,
            };
            assert!(ok, "{name}");
            if frame.len.is_some() {
                assert_eq!(usize::from(layers.l3_end), len, "{name}: payload, not padding");
            }
        }
    }

    #[test]
    fn neighbours_are_asked_for() {
        let [src, dst]: [Ipv6Addr; 2] = ["2001:2::1", "2001:2::2"].map(|a| a.parse().unwrap());
        let (advertisement, router, solicited, override_) = (false, false, false, false);
        let mac = Some(MacAddr([2, 0, 0, 0, 0, 1]));
        let message = Neighbour { advertisement, router, solicited, override_, target: dst, mac };
        let frame = neighbour(message, [MacAddr([2; 6]), MacAddr([4; 6])], [src, dst]);
        assert_eq!(frame[..14], [&[4; 6][..], &[2; 6], &[0x86, 0xdd]].concat());
        let packet = crate::Ipv6::new(&frame[14..]).unwrap();
        assert_eq!((packet.src(), packet.dst(), packet.hop_limit()), (src, dst, 255));
        assert!(icmpv6::is_intact(src, dst, packet.payload()));
        assert_eq!(Neighbour::read(packet.payload()), Ok(message));
    }

    #[test]
    fn five_tuple_of_a_template() {
        let tuple = FiveTuple { src: A, dst: B, src_port: 5, dst_port: 7, protocol: 17 };
        assert_eq!(layers::parse(&udp(A, 5, B, 7).build()).unwrap().tuple, tuple);
    }

    #[test]
    fn refusals() {
        let (mut small, long) = ([7; 59], [0; 41]);
        let huge = vec![0; 65_508];
        assert_eq!(ping(A, B).write_into(&mut small), Err(CraftError::Buffer { needed: 60 }));
        assert_eq!(small, [7; 59], "left as it was");
        let check = |frame: Frame<'_>, error| assert_eq!(frame.len_in_memory(), Err(error));
        let len = Some(FrameLen::with_fcs(20));
        check(Frame { len, ..ping(A, B) }, CraftError::Length { needed: 42 });
        check(Frame { options: &long, ..ping(A, B) }, CraftError::Options);
        let body = Body::Tcp { header: TcpHeader::default(), options: &long };
        check(Frame { body, ..ping(A, B) }, CraftError::Options);
        check(Frame { payload: &huge, ..ping(A, B) }, CraftError::Packet);
        assert_eq!(
            CraftError::Length { needed: 42 }.to_string(),
            "headers and payload need a frame of 46 bytes with FCS"
        );
    }
}
