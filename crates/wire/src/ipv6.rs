//! The IPv6 header and its extension headers (RFC 8200).
//!
//! ```text
//! | 6, class, flow label 4 | payload length 2 | next header 1 | hop limit 1 | src 16 | dst 16 |
//! | next header 1 | length 1 | … | next header 1 | length 1 | … | upper layer …
//! ```
//!
//! Missing: **jumbograms** (RFC 2675: to be told by their length of 0), **what options say**.

use std::net::Ipv6Addr;

use crate::bytes::{be16, be32, put};
use crate::layers::Malformed;

/// Length of the header.
pub const HEADER_LEN: usize = 40;

/// The least MTU of a link (RFC 8200 §5).
pub const MTU_MIN: u16 = 1280;
/// Extension headers that a packet may have: more have no use but to cost time (RFC 8504 §5.3).
pub const EXTENSIONS_MAX: usize = 8;

/// Next header numbers (IANA) beside those of the transports.
pub mod header {
    /// Hop-by-hop options.
    pub const HOP_BY_HOP: u8 = 0;
    /// Routing.
    pub const ROUTING: u8 = 43;
    /// Fragment.
    pub const FRAGMENT: u8 = 44;
    /// Authentication (RFC 4302).
    pub const AH: u8 = 51;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
    /// Nothing follows.
    pub const NONE: u8 = 59;
    /// Destination options.
    pub const DESTINATION: u8 = 60;
}

/// What one walk over the extension headers has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// The protocol of what follows them.
    pub protocol: u8,
    /// Where that stands, from the first byte of the IPv6 header.
    pub protocol_at: u16,
    /// Where that begins, from the first byte of the IPv6 header.
    pub end: u16,
    /// Whether there is any.
    pub any: bool,
    /// The fragment header, if there is one: the offset in bytes, and whether more follow.
    pub fragment: Option<(u16, bool)>,
    /// What the pieces of a packet have in common (RFC 8200 §4.5).
    pub identification: u32,
    /// Where what the fragment header stands before begins, from the first byte of the IPv6 header.
    pub fragment_end: u16,
    /// The extension headers there are: a bit each of [`Extensions::NAMES`].
    pub headers: u8,
    /// Where the type of a routing header stands that is 0, which nobody may obey (RFC 5095), while it
    /// has segments left.
    pub source_route: Option<u16>,
}

impl Extensions {
    /// RouterOS's names of the bits of `headers`: `route` is the routing header, `frag` that of fragments.
    pub const NAMES: [&'static str; 5] = ["hop", "dst", "route", "frag", "auth"];
    /// The bit of the fragment header.
    pub const FRAGMENT: u8 = 8;
}

/// Why extension headers cannot be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadExtensions {
    /// One reaches beyond the packet.
    CutOff,
    /// More than [`EXTENSIONS_MAX`], or hop-by-hop options elsewhere than first (RFC 8200 §4.1).
    Disorder,
}

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

    /// Walks the extension headers, once. Behind the header of a fragment that is not the first, the
    /// rest belongs to the first one: the walk ends there.
    ///
    /// # Errors
    /// [`BadExtensions`].
    pub fn extensions(&self) -> Result<Extensions, BadExtensions> {
        let payload = self.payload();
        let mut found =
            Extensions { protocol: self.next_header(), protocol_at: 6, ..Extensions::default() };
        let mut at = 0;
        for n in 0..=EXTENSIONS_MAX {
            let len = match found.protocol {
                header::HOP_BY_HOP if n > 0 => return Err(BadExtensions::Disorder),
                header::HOP_BY_HOP | header::ROUTING | header::DESTINATION => {
                    let &[_, len] = chunk(payload, at)?;
                    usize::from(len) * 8 + 8
                }
                header::FRAGMENT => 8,
                header::AH => {
                    let &[_, len] = chunk(payload, at)?;
                    usize::from(len) * 4 + 8
                }
                _ => {
                    found.end = (HEADER_LEN + at) as u16;
                    return Ok(found);
                }
            };
            let this = payload.get(at..at + len).ok_or(BadExtensions::CutOff)?;
            found.any = true;
            match found.protocol {
                header::ROUTING if this[2] == 0 && this[3] != 0 => {
                    found.source_route = Some((HEADER_LEN + at + 2) as u16);
                }
                header::FRAGMENT => {
                    let field = be16(this, 2);
                    found.fragment = Some((field & !7, field & 1 != 0));
                    found.identification = be32(this, 4);
                    found.fragment_end = (HEADER_LEN + at + len) as u16;
                }
                _ => {}
            }
            found.headers |= match found.protocol {
                header::HOP_BY_HOP => 1,
                header::DESTINATION => 2,
                header::ROUTING => 4,
                header::FRAGMENT => Extensions::FRAGMENT,
                _ => 16,
            };
            (found.protocol, found.protocol_at) = (this[0], (HEADER_LEN + at) as u16);
            at += len;
            if found.fragment.is_some_and(|(offset, _)| offset != 0) {
                found.end = (HEADER_LEN + at) as u16;
                return Ok(found);
            }
        }
        Err(BadExtensions::Disorder)
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

fn chunk(bytes: &[u8], at: usize) -> Result<&[u8; 2], BadExtensions> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(BadExtensions::CutOff)
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
    #[test]
    fn extension_headers() {
        use BadExtensions::{CutOff, Disorder};
        let walk = |next_header: u8, payload: &[u8]| {
            let (payload_len, src) = (payload.len() as u16, Ipv6Addr::LOCALHOST);
            let (traffic_class, flow_label, hop_limit, dst) = (0, 0, 64, src);
            let header = Ipv6Header {
                traffic_class,
                flow_label,
                payload_len,
                next_header,
                hop_limit,
                src,
                dst,
            };
            let bytes = [&header.to_bytes()[..], payload].concat();
            let found = Ipv6::new(bytes).unwrap().extensions()?;
            Ok((found.protocol, found.end, found.fragment, found.source_route.is_some()))
        };
        let long =
            |next: u8, len: u8| [vec![next, len], vec![0; usize::from(len) * 8 + 6]].concat();
        let routing = |kind: u8, left: u8| vec![17, 0, kind, left, 0, 0, 0, 0];
        assert_eq!(walk(17, &[1, 2]), Ok((17, 40, None, false)), "none");
        assert_eq!(walk(59, &[]), Ok((59, 40, None, false)), "nothing follows");
        assert_eq!(walk(0, &long(17, 2)), Ok((17, 64, None, false)));
        assert_eq!(walk(0, &[long(60, 0), long(58, 1)].concat()), Ok((58, 64, None, false)));
        assert_eq!(walk(60, &[long(0, 0), long(17, 0)].concat()), Err(Disorder), "not the first");
        assert_eq!(walk(43, &routing(0, 1)), Ok((17, 48, None, true)));
        assert_eq!(walk(43, &routing(0, 0)), Ok((17, 48, None, false)), "at its end");
        assert_eq!(walk(43, &routing(2, 1)), Ok((17, 48, None, false)), "mobility");
        assert_eq!(walk(44, &[17, 0, 0, 1, 0, 0, 0, 9]), Ok((17, 48, Some((0, true)), false)));
        assert_eq!(
            walk(44, &[60, 0, 5, 0xa9, 0, 0, 0, 9]),
            Ok((60, 48, Some((1448, true)), false))
        );
        assert_eq!(walk(51, &[6, 4, 0, 0].repeat(6)), Ok((6, 64, None, false)));
        assert_eq!(walk(0, &[]), Err(CutOff));
        assert_eq!(walk(0, &[17]), Err(CutOff));
        assert_eq!(walk(0, &long(17, 2)[..23]), Err(CutOff));
        assert_eq!(walk(44, &[17, 0, 0, 1, 0, 0, 0]), Err(CutOff));
        assert_eq!(walk(60, &long(60, 0).repeat(7)), Err(CutOff), "the eighth is missing");
        let eight = [long(60, 0).repeat(7), long(17, 0)].concat();
        assert_eq!(walk(60, &eight), Ok((17, 104, None, false)));
        assert_eq!(walk(60, &long(60, 0).repeat(20)), Err(Disorder), "too many");
    }
}
