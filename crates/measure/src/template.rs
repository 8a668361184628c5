//! Packet templates: what all frames of a stream have in common.
//!
//! ```text
//! Template ── image(FrameLen) ──► | Ethernet 14 | IPv4 20 | UDP 8 | fill … | room for a trailer |
//!                                 0            14        34      42              len - 18
//! ```
//!
//! A passive value with the fields of RouterOS's `/tool traffic-generator packet-template` and its
//! assumptions: TTL 64, DSCP 0, UDP ports 100 and 200, UDP checksum 0.
//!
//! Never chooses an address by itself. Missing: **VLAN tags, TCP, IPv6, raw headers**; a gateway
//! resolved by ARP (`ip-gateway`): give the MAC address.

use crate::trailer;
use port::slab::Slots;
use std::fmt;
use wire::checksum;
use wire::{FrameLen, MacAddr};

/// Length of Ethernet, IPv4 and UDP headers together.
pub const HEADERS: usize = 42;
/// Where the IPv4 header begins.
pub const IPV4: usize = 14;
/// Where the UDP header begins.
pub const UDP: usize = 34;

/// A UDP frame's fields. All may be varied from frame to frame by the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// `mac-dst`.
    pub dst_mac: MacAddr,
    /// `mac-src`.
    pub src_mac: MacAddr,
    /// `ip-src`, in host order.
    pub src: u32,
    /// `ip-dst`, in host order.
    pub dst: u32,
    /// `ip-ttl`.
    pub ttl: u8,
    /// `ip-dscp`: the whole TOS byte, as in RouterOS.
    pub dscp: u8,
    /// `udp-src-port`.
    pub src_port: u16,
    /// `udp-dst-port`.
    pub dst_port: u16,
    /// Whether the UDP checksum is right (then the receiver verifies it, so that a faulty NAT
    /// shows) or 0, which means none: RouterOS's assumption, and cheaper on both sides.
    pub udp_checksum: bool,
    /// The byte between the headers and the trailer (`data-byte`).
    pub fill: u8,
}

impl Default for Template {
    /// Addresses of the benchmarking network (RFC 2544, appendix C.2.2), RouterOS's assumptions.
    fn default() -> Template {
        Template {
            dst_mac: MacAddr([0x02, 0, 0, 0, 0, 0x02]),
            src_mac: MacAddr([0x02, 0, 0, 0, 0, 0x01]),
            src: u32::from_be_bytes([198, 18, 0, 2]),
            dst: u32::from_be_bytes([198, 19, 0, 2]),
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
pub struct BadLength(
    /// The length asked for.
    pub FrameLen,
);

/// The shortest and longest frames a stream can have: Ethernet's 64 bytes, and what a slot for jumbo
/// frames holds (9,856 bytes and the FCS). Whoever sends them has a slab of slots that are as long.
pub const FRAME_LENGTHS: (FrameLen, FrameLen) =
    (FrameLen::with_fcs(64), FrameLen::without_fcs(Slots::JUMBO.max_frame() as u32));

impl fmt::Display for BadLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (FRAME_LENGTHS.0.l2(), FRAME_LENGTHS.1.l2());
        write!(f, "a frame of {} bytes (with FCS): use {least} to {most}", self.0.l2())
    }
}

impl std::error::Error for BadLength {}

impl Template {
    /// The frame as it lies in memory (no FCS), all checksums right for a trailer of zeros.
    ///
    /// # Errors
    /// [`BadLength`] if the frame is not within [`FRAME_LENGTHS`].
    pub fn image(&self, frame: FrameLen) -> Result<Vec<u8>, BadLength> {
        if frame < FRAME_LENGTHS.0 || frame > FRAME_LENGTHS.1 {
            return Err(BadLength(frame));
        }
        let len = frame.in_memory() as usize;
        let mut bytes = vec![self.fill; len];
        bytes[len - trailer::LEN..].fill(0);
        bytes[..6].copy_from_slice(&self.dst_mac.0);
        bytes[6..12].copy_from_slice(&self.src_mac.0);
        bytes[12..14].copy_from_slice(&wire::layers::ETHERTYPE_IPV4.to_be_bytes());

        let ip = &mut bytes[IPV4..UDP];
        ip.fill(0);
        ip[0] = 0x45;
        ip[1] = self.dscp;
        ip[2..4].copy_from_slice(&((len - IPV4) as u16).to_be_bytes());
        ip[8] = self.ttl;
        ip[9] = wire::layers::protocol::UDP;
        ip[12..16].copy_from_slice(&self.src.to_be_bytes());
        ip[16..20].copy_from_slice(&self.dst.to_be_bytes());
        let sum = checksum::ipv4_header(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());

        let udp = &mut bytes[UDP..];
        udp[..2].copy_from_slice(&self.src_port.to_be_bytes());
        udp[2..4].copy_from_slice(&self.dst_port.to_be_bytes());
        udp[4..6].copy_from_slice(&((len - UDP) as u16).to_be_bytes());
        udp[6..8].fill(0);
        if self.udp_checksum {
            let sum = checksum::udp(self.src, self.dst, udp);
            udp[6..8].copy_from_slice(&sum.to_be_bytes());
        }
        Ok(bytes)
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
        assert_eq!((layers.tuple.src, layers.tuple.dst), (template.src, template.dst));
        assert_eq!((layers.tuple.src_port, layers.tuple.dst_port), (100, 200));
        assert!(checksum::is_ok(&frame[IPV4..UDP]));
        assert!(checksum::udp_ok(template.src, template.dst, &frame[UDP..]));
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
        let error = BadLength(FrameLen::with_fcs(20)).to_string();
        assert_eq!(error, "a frame of 20 bytes (with FCS): use 64 to 9860");
    }
}
