//! The authentication header (RFC 4302) with HMAC-MD5-96 (RFC 2403), of IPv4 packets without options.
//!
//! ```text
//! | IPv4 20 | next header | length in words - 2 | 0 2 | SPI 4 | sequence 4 | ICV 12 | payload |
//! ```
//!
//! The ICV is over the whole packet, with zeros for what changes on its way. The TTL is one of those; VRRP
//! has 255 there and nothing else, and keepalived leaves it in: so do we, and both are understood.

use crate::bytes::be32;
use crate::md5;

/// The length of the header, bytes.
pub const LEN: usize = 24;
const IPV4_LEN: usize = 20;
const ICV_LEN: usize = 12;
/// Where the ICV begins in the packet.
const ICV_AT: usize = IPV4_LEN + LEN - ICV_LEN;

/// The header's fields, but for the ICV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The protocol of what follows.
    pub next_header: u8,
    /// The security association.
    pub spi: u32,
    /// Grows with each packet of an association.
    pub sequence: u32,
}

impl Header {
    /// Reads the header of `packet`, which begins with IPv4; `None` if it is cut off, there are options, or
    /// the ICV has another length.
    pub fn read(packet: &[u8]) -> Option<Header> {
        let bytes = packet.get(IPV4_LEN..IPV4_LEN + LEN)?;
        let is_known = packet[0] == 0x45 && usize::from(bytes[1]) == LEN / 4 - 2;
        let (next_header, spi, sequence) = (bytes[0], be32(bytes, 4), be32(bytes, 8));
        is_known.then_some(Header { next_header, spi, sequence })
    }

    /// Its bytes, with zeros for the ICV, which [`seal`] writes.
    pub fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        (bytes[0], bytes[1]) = (self.next_header, (LEN / 4 - 2) as u8);
        bytes[4..8].copy_from_slice(&self.spi.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        bytes
    }
}

/// Writes the ICV of `packet`, an IPv4 header and all that follows; nothing if it is too short for one.
pub fn seal(packet: &mut [u8], key: &[u8]) {
    if packet.len() >= IPV4_LEN + LEN {
        let icv = icv(packet, key, false);
        packet[ICV_AT..ICV_AT + ICV_LEN].copy_from_slice(&icv);
    }
}

/// Whether the ICV of `packet` is made with `key`.
pub fn is_sealed(packet: &[u8], key: &[u8]) -> bool {
    let Some(theirs) = packet.get(ICV_AT..ICV_AT + ICV_LEN) else { return false };
    [false, true].into_iter().any(|without_ttl| icv(packet, key, without_ttl) == theirs)
}

fn icv(packet: &[u8], key: &[u8], without_ttl: bool) -> [u8; ICV_LEN] {
    let mut bytes = packet.to_vec();
    bytes[1] = 0;
    bytes[6..8].fill(0);
    bytes[10..12].fill(0);
    bytes[ICV_AT..ICV_AT + ICV_LEN].fill(0);
    if without_ttl {
        bytes[8] = 0;
    }
    let whole = md5::hmac(key, &bytes);
    *whole.first_chunk().expect("16 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { next_header: 112, spi: 0x0a00_0001, sequence: 7 };

    fn packet() -> Vec<u8> {
        let ipv4 = [0x45, 0xc0, 0, 48, 0, 0, 0, 0, 255, 51, 0x12, 0x34, 10, 0, 0, 1, 224, 0, 0, 18];
        [&ipv4[..], &HEADER.to_bytes(), &[1, 2, 3, 4]].concat()
    }

    /// Each byte counts, but for those that change on the way.
    #[test]
    fn what_is_sealed_stays_as_it_is() {
        let mut sealed = packet();
        seal(&mut sealed, b"secret");
        assert_eq!(Header::read(&sealed), Some(HEADER));
        assert!(is_sealed(&sealed, b"secret") && !is_sealed(&sealed, b"other"));
        for at in 0..sealed.len() {
            let mut other = sealed.clone();
            other[at] ^= 1;
            let changes = [1, 6, 7, 10, 11].contains(&at);
            assert_eq!(is_sealed(&other, b"secret"), changes, "byte {at}");
            assert!(!is_sealed(&sealed[..at], b"secret"), "cut off at {at}");
        }
        // By the RFC's letter: without the TTL.
        let icv = icv(&packet(), b"secret", true);
        sealed[ICV_AT..ICV_AT + ICV_LEN].copy_from_slice(&icv);
        assert!(is_sealed(&sealed, b"secret"));
    }

    #[test]
    fn other_headers() {
        let check = |at: usize, byte: u8| {
            let mut other = packet();
            other[at] = byte;
            assert_eq!(Header::read(&other), None, "{byte} at {at}");
        };
        check(0, 0x46);
        check(21, 5);
        (0..IPV4_LEN + LEN).for_each(|len| assert_eq!(Header::read(&packet()[..len]), None));
    }
}
