//! The fixed IPv6 header (RFC 8200 §3).
//!
//! ```text
//! | 6, class, flow label 4 | payload length 2 | next header 1 | hop limit 1 | src 16 | dst 16 |
//! ```
//!
//! Enough to bridge and to count IPv6. Missing: **extension headers** (next header is given as
//! it stands), **jumbograms** (RFC 2675: refused as malformed).

use std::net::Ipv6Addr;

use crate::bytes::{be16, be32, put};
use crate::layers::Malformed;

/// Length of the header.
pub const HEADER_LEN: usize = 40;

/// A view of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<B>(B);

impl<B: AsRef<[u8]>> Ipv6<B> {
    /// Looks at a packet; bytes behind its payload are padding.
    ///
    /// # Errors
    /// [`Malformed::Ipv6`] if cut off, not version 6, or the payload is longer than the bytes.
    #[inline]
    pub fn new(bytes: B) -> Result<Ipv6<B>, Malformed> {
        let b = bytes.as_ref();
        if b.len() < HEADER_LEN || b[0] >> 4 != 6 {
            return Err(Malformed::Ipv6);
        }
        if b.len() < HEADER_LEN + usize::from(be16(b, 4)) {
            return Err(Malformed::Ipv6);
        }
        Ok(Ipv6(bytes))
    }

    /// Traffic class: DSCP (6 bits) and ECN (2 bits).
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (be16(self.0.as_ref(), 0) >> 4) as u8
    }

    /// Flow label, 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        be32(self.0.as_ref(), 0) & 0xf_ffff
    }

    /// Bytes behind the header.
    #[inline]
    pub fn payload_len(&self) -> u16 {
        be16(self.0.as_ref(), 4)
    }

    /// Protocol of what follows: an extension header, or the transport.
    #[inline]
    pub fn next_header(&self) -> u8 {
        self.0.as_ref()[6]
    }

    /// Hop limit.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.0.as_ref()[7]
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> Ipv6Addr {
        address(self.0.as_ref(), 8)
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> Ipv6Addr {
        address(self.0.as_ref(), 24)
    }

    /// What follows the header, without padding.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[HEADER_LEN..HEADER_LEN + usize::from(self.payload_len())]
    }

    /// The header as a value.
    pub fn header(&self) -> Ipv6Header {
        Ipv6Header {
            traffic_class: self.traffic_class(),
            flow_label: self.flow_label(),
            payload_len: self.payload_len(),
            next_header: self.next_header(),
            hop_limit: self.hop_limit(),
            src: self.src(),
            dst: self.dst(),
        }
    }
}

/// The header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Header {
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Flow label; the low 20 bits count.
    pub flow_label: u32,
    /// Bytes behind the header.
    pub payload_len: u16,
    /// Protocol of what follows.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
}

impl Ipv6Header {
    /// The header's bytes.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xf_ffff;
        let mut bytes = [0; HEADER_LEN];
        put(&mut bytes, 0, first.to_be_bytes());
        put(&mut bytes, 4, self.payload_len.to_be_bytes());
        bytes[6] = self.next_header;
        bytes[7] = self.hop_limit;
        put(&mut bytes, 8, self.src.octets());
        put(&mut bytes, 24, self.dst.octets());
        bytes
    }
}

#[inline]
fn address(bytes: &[u8], at: usize) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&bytes[at..at + 16]);
    Ipv6Addr::from(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        let mut bytes = vec![0x6b, 0x81, 0x23, 0x45, 0x00, 0x02, 58, 255];
        bytes.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        bytes.extend([7, 8, 0, 0, 0]);
        let header = Ipv6Header {
            traffic_class: 0xb8,
            flow_label: 0x1_2345,
            payload_len: 2,
            next_header: 58,
            hop_limit: 255,
            src: "fe80::1".parse().unwrap(),
            dst: "ff02::2".parse().unwrap(),
        };
        assert_eq!(Ipv6::new(&bytes).unwrap().header(), header);
        assert_eq!(Ipv6::new(&bytes).unwrap().payload(), [7, 8], "padding is left out");
        assert_eq!(header.to_bytes(), bytes[..40]);
        assert_eq!(Ipv6::new(&bytes[..41]).unwrap_err(), Malformed::Ipv6, "payload cut off");
        assert_eq!(Ipv6::new(&bytes[..39]).unwrap_err(), Malformed::Ipv6, "header cut off");
        bytes[0] = 0x4b;
        assert_eq!(Ipv6::new(&bytes).unwrap_err(), Malformed::Ipv6, "version");
    }
}
