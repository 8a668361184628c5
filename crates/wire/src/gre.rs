//! The GRE header (RFC 2784, RFC 2890), and EoIP, which is MikroTik's reading of it.
//!
//! ```text
//! GRE   | C.KS 1 | 0, version 1 | protocol 2 | checksum 2, 0 2 | key 4 | sequence 4 | packet …
//!                                              only with C         K       S
//! EoIP  | 0x20 | 0x01 | 0x6400 | payload length 2 | tunnel-id 2, little-endian | frame …
//! ```
//!
//! EoIP is version 1 with a key, whose halves are a length and a tunnel's number. Lengths that
//! contradict the bytes, reserved bits that are set, and a checksum that is wrong make no header.
//!
//! Version 1 of PPTP is [`pptp`](crate::pptp)'s. Missing: **routing** (RFC 1701, deprecated).

use crate::bytes::{be16, be32};
use crate::checksum;

/// Length of a GRE header without options.
pub const HEADER_LEN: usize = 4;
/// Length of an EoIP header.
pub const EOIP_LEN: usize = 8;

const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// The flags and the version; the rest was routing once, and is zero.
const KNOWN: u16 = CHECKSUM | KEY | SEQUENCE;
/// What EoIP begins with: a key, version 1, and a protocol of its own.
const EOIP: [u8; 4] = [0x20, 0x01, 0x64, 0x00];

/// What a GRE packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gre {
    /// A packet of the protocol with this EtherType, 0 for none: GRE's own keepalives have that.
    Packet {
        /// Its EtherType.
        protocol: u16,
        /// The tunnel's key, if there is one.
        key: Option<u32>,
        /// Where it begins, behind the header.
        at: usize,
    },
    /// An Ethernet frame, which begins behind [`EOIP_LEN`] bytes; one of no bytes is a keepalive.
    Eoip {
        /// The tunnel's number.
        id: u16,
        /// The frame's length.
        len: usize,
    },
}

impl Gre {
    /// Reads the header of an IP packet's payload; `None` if it is cut off or contradicts itself.
    ///
    /// ```
    /// use wire::gre::Gre;
    /// let plain = [0, 0, 8, 0, 0x45];
    /// assert_eq!(Gre::read(&plain), Some(Gre::Packet { protocol: 0x0800, key: None, at: 4 }));
    /// let eoip = [0x20, 1, 0x64, 0, 0, 0, 7, 0];
    /// assert_eq!(Gre::read(&eoip), Some(Gre::Eoip { id: 7, len: 0 }));
    /// ```
    pub fn read(bytes: &[u8]) -> Option<Gre> {
        let head: [u8; 4] = *bytes.first_chunk()?;
        if head == EOIP {
            let rest = bytes.get(4..EOIP_LEN)?;
            let len = usize::from(be16(rest, 0));
            let id = u16::from_le_bytes([rest[2], rest[3]]);
            return (len <= bytes.len() - EOIP_LEN).then_some(Gre::Eoip { id, len });
        }
        let flags = be16(&head, 0);
        let mut at = HEADER_LEN;
        if flags & !KNOWN != 0 {
            return None;
        }
        if flags & CHECKSUM != 0 {
            bytes.get(at..at + 4)?;
            if !checksum::is_ok(bytes) {
                return None;
            }
            at += 4;
        }
        let mut key = None;
        if flags & KEY != 0 {
            bytes.get(at..at + 4)?;
            key = Some(be32(bytes, at));
            at += 4;
        }
        if flags & SEQUENCE != 0 {
            bytes.get(at..at + 4)?;
            at += 4;
        }
        Some(Gre::Packet { protocol: be16(&head, 2), key, at })
    }
}

/// The header in front of a packet of the protocol with this EtherType.
pub const fn header(protocol: u16) -> [u8; HEADER_LEN] {
    let [a, b] = protocol.to_be_bytes();
    [0, 0, a, b]
}

/// The header in front of a frame of `len` bytes in the tunnel with this number.
pub const fn eoip(id: u16, len: u16) -> [u8; EOIP_LEN] {
    let ([a, b], [c, d]) = (len.to_be_bytes(), id.to_le_bytes());
    [EOIP[0], EOIP[1], EOIP[2], EOIP[3], a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let packet = |protocol, key, at| Some(Gre::Packet { protocol, key, at });
        for (bytes, expected) in [
            (&[][..], None),
            (&[0, 0, 8], None),
            (&[0, 0, 8, 0], packet(0x800, None, 4)),
            (&[0, 0, 0, 0], packet(0, None, 4)),
            (&[0x20, 0, 8, 0, 0, 0, 1], None),
            (&[0x20, 0, 8, 0, 0, 0, 1, 2], packet(0x800, Some(0x102), 8)),
            (&[0x10, 0, 8, 0, 0, 0, 0, 9], packet(0x800, None, 8)),
            (&[0x30, 0, 8, 0, 0, 0, 0, 5, 0, 0, 0, 9], packet(0x800, Some(5), 12)),
            (&[0x30, 0, 8, 0, 0, 0, 0, 5, 0, 0, 0], None),
            // A checksum over header and payload: 0x8000 + 0x0800 + 0x4500 = 0xcd00.
            (&[0x80, 0, 8, 0, 0x32, 0xff, 0, 0, 0x45, 0], packet(0x800, None, 8)),
            (&[0x80, 0, 8, 0, 0x32, 0xfe, 0, 0, 0x45, 0], None),
            (&[0x80, 0, 8, 0, 0x32, 0xff], None),
            // Routing, and a version that is none of ours.
            (&[0x40, 0, 8, 0, 0, 0, 0, 0], None),
            (&[0, 1, 0x88, 0x0b], None),
            (&[0x20, 1, 0x64, 0, 0, 0, 7], None),
            (&[0x20, 1, 0x64, 0, 0, 1, 7, 0], None),
            (&[0x20, 1, 0x64, 0, 0, 1, 7, 1, 0xff], Some(Gre::Eoip { id: 0x107, len: 1 })),
            (&[0x20, 1, 0x64, 0, 0, 0, 7, 0, 0xff], Some(Gre::Eoip { id: 7, len: 0 })),
        ] {
            assert_eq!(Gre::read(bytes), expected, "{bytes:02x?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(
            Gre::read(&header(0x86dd)),
            Some(Gre::Packet { protocol: 0x86dd, key: None, at: 4 })
        );
        let frame = [&eoip(65535, 3)[..], &[1, 2, 3]].concat();
        assert_eq!(Gre::read(&frame), Some(Gre::Eoip { id: 65535, len: 3 }));
    }

    /// Any bytes: no panic, and what is said to be there is there.
    #[test]
    fn hostile() {
        let mut seed = 1u32;
        for _ in 0..50_000 {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 24) as u8
            };
            let len = usize::from(next() % 20);
            let mut bytes: Vec<u8> = (0..len).map(|_| next()).collect();
            if let (true, Some(head)) = (next() & 1 == 0, bytes.first_chunk_mut()) {
                *head = [next() & 0xb0, next() & 1, 0x64, 0];
            }
            match Gre::read(&bytes) {
                Some(Gre::Packet { at, .. }) => assert!(at <= bytes.len()),
                Some(Gre::Eoip { len, .. }) => assert!(EOIP_LEN + len <= bytes.len()),
                None => {}
            }
        }
    }
}
