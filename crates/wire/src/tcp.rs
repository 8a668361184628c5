//! The TCP header (RFC 9293 §3.1) and its options.
//!
//! ```text
//! | source port 2 | destination port 2 | sequence 4 | acknowledgement 4 |
//! | data offset 4 bits … | flags 1 | window 2 | checksum 2 | urgent 2 | options 0–40 | payload
//! ```
//!
//! Never follows a connection: that is connection tracking's. Missing: **the SACK blocks** and
//! other options' contents (given as bytes).

use std::fmt;
use std::ops::BitOr;

use crate::bytes::{be16, be32, put};
use crate::checksum::{self, Delta};
use crate::layers::Malformed;

/// Length of a header without options.
pub const HEADER_LEN: usize = 20;

/// A set of the eight flags.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgement number counts.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// The urgent pointer counts.
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// Explicit congestion notification echo (RFC 3168).
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// Each flag with its name in RouterOS, lowest bit first.
    pub const NAMES: [(&'static str, TcpFlags); 8] = [
        ("fin", Self::FIN),
        ("syn", Self::SYN),
        ("rst", Self::RST),
        ("psh", Self::PSH),
        ("ack", Self::ACK),
        ("urg", Self::URG),
        ("ece", Self::ECE),
        ("cwr", Self::CWR),
    ];

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether any of `flags` is set.
    #[inline]
    pub const fn intersects(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 != 0
    }
}

impl BitOr for TcpFlags {
    type Output = TcpFlags;

    #[inline]
    fn bitor(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

impl fmt::Display for TcpFlags {
    /// As RouterOS writes a list: `syn,ack`; nothing if none is set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (name, flag) in Self::NAMES {
            if self.contains(flag) {
                write!(f, "{comma}{name}")?;
                comma = ",";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TcpFlags({self})")
    }
}

/// A view of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Tcp<B>(B);

impl<B: AsRef<[u8]>> Tcp<B> {
    /// Looks at an IP payload.
    ///
    /// # Errors
    /// [`Malformed::Transport`] if cut off, or the data offset is below 20 or beyond the bytes.
    #[inline]
    pub fn new(bytes: B) -> Result<Tcp<B>, Malformed> {
        let b = bytes.as_ref();
        if b.len() < HEADER_LEN {
            return Err(Malformed::Transport);
        }
        let header_len = usize::from(b[12] >> 4) * 4;
        if header_len < HEADER_LEN || b.len() < header_len {
            return Err(Malformed::Transport);
        }
        Ok(Tcp(bytes))
    }

    /// Source port.
    #[inline]
    pub fn src_port(&self) -> u16 {
        be16(self.0.as_ref(), 0)
    }

    /// Destination port.
    #[inline]
    pub fn dst_port(&self) -> u16 {
        be16(self.0.as_ref(), 2)
    }

    /// Sequence number of the first payload byte, or of the SYN.
    #[inline]
    pub fn seq(&self) -> u32 {
        be32(self.0.as_ref(), 4)
    }

    /// The next sequence number the sender expects, if ACK is set.
    #[inline]
    pub fn ack(&self) -> u32 {
        be32(self.0.as_ref(), 8)
    }

    /// Length of the header with its options, 20 to 60 bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.0.as_ref()[12] >> 4) * 4
    }

    /// Flags.
    #[inline]
    pub fn flags(&self) -> TcpFlags {
        TcpFlags(self.0.as_ref()[13])
    }

    /// Window, unscaled.
    #[inline]
    pub fn window(&self) -> u16 {
        be16(self.0.as_ref(), 14)
    }

    /// Checksum.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16(self.0.as_ref(), 16)
    }

    /// Urgent pointer.
    #[inline]
    pub fn urgent(&self) -> u16 {
        be16(self.0.as_ref(), 18)
    }

    /// The options.
    #[inline]
    pub fn options(&self) -> Options<'_> {
        Options { header: &self.0.as_ref()[..self.header_len()], at: HEADER_LEN }
    }

    /// Maximum segment size, if the option is there.
    #[inline]
    pub fn mss(&self) -> Option<u16> {
        self.options().find_map(|option| match option {
            TcpOption::Mss(mss) => Some(mss),
            _ => None,
        })
    }

    /// What follows the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.0.as_ref()[self.header_len()..]
    }

    /// How far the segment takes the sequence number: payload bytes, SYN and FIN (RFC 9293 §3.4).
    #[inline]
    pub fn seq_len(&self) -> u32 {
        let flags = self.flags();
        self.payload().len() as u32
            + u32::from(flags.contains(TcpFlags::SYN))
            + u32::from(flags.contains(TcpFlags::FIN))
    }

    /// Whether the segment is intact when it goes from `src` to `dst`.
    #[inline]
    pub fn checksum_ok(&self, src: u32, dst: u32) -> bool {
        checksum::tcp_ok(src, dst, self.0.as_ref())
    }

    /// The header as a value, without options.
    pub fn header(&self) -> TcpHeader {
        TcpHeader {
            src_port: self.src_port(),
            dst_port: self.dst_port(),
            seq: self.seq(),
            ack: self.ack(),
            flags: self.flags(),
            window: self.window(),
            urgent: self.urgent(),
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Tcp<B> {
    /// Sets the source port. The checksum is the caller's, with [`Delta`].
    #[inline]
    pub fn set_src_port(&mut self, port: u16) {
        put(self.0.as_mut(), 0, port.to_be_bytes());
    }

    /// Sets the destination port. The checksum is the caller's, with [`Delta`].
    #[inline]
    pub fn set_dst_port(&mut self, port: u16) {
        put(self.0.as_mut(), 2, port.to_be_bytes());
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.0.as_mut(), 16, checksum.to_be_bytes());
    }

    /// Lowers the MSS option to `max`, and sets the checksum with it. Returns the MSS there was
    /// if it was higher; `None` if nothing changed.
    pub fn clamp_mss(&mut self, max: u16) -> Option<u16> {
        let mut options = self.options();
        let (old, at) = loop {
            let start = options.skip_padding();
            if let TcpOption::Mss(mss) = options.next()? {
                break (mss, start + 2);
            }
        };
        if old <= max {
            return None;
        }
        put(self.0.as_mut(), at, max.to_be_bytes());
        // At an odd offset the value's bytes lie in two words; one's complement sums do not mind
        // if all bytes of a term are swapped (RFC 1071 §2 B).
        let (was, is) = if at % 2 == 0 { (old, max) } else { (old.swap_bytes(), max.swap_bytes()) };
        let checksum = Delta::default().u16(was, is).apply(self.checksum());
        self.set_checksum(checksum);
        Some(old)
    }

    /// Computes the checksum afresh.
    pub fn fill_checksum(&mut self, src: u32, dst: u32) {
        let checksum = checksum::tcp(src, dst, self.0.as_ref());
        self.set_checksum(checksum);
    }
}

/// A header without options as a value; its checksum is written as 0, for
/// [`Tcp::fill_checksum`] to fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window, unscaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
}

impl TcpHeader {
    /// The header's bytes, checksum 0, data offset 5.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        put(&mut bytes, 0, self.src_port.to_be_bytes());
        put(&mut bytes, 2, self.dst_port.to_be_bytes());
        put(&mut bytes, 4, self.seq.to_be_bytes());
        put(&mut bytes, 8, self.ack.to_be_bytes());
        bytes[12] = 5 << 4;
        bytes[13] = self.flags.0;
        put(&mut bytes, 14, self.window.to_be_bytes());
        put(&mut bytes, 18, self.urgent.to_be_bytes());
        bytes
    }
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// Maximum segment size (RFC 9293 §3.7.1).
    Mss(u16),
    /// Window scale: a shift count (RFC 7323 §2).
    WindowScale(u8),
    /// Selective acknowledgements are understood (RFC 2018 §2).
    SackPermitted,
    /// Timestamps (RFC 7323 §3).
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// The receiver's clock, sent back.
        echo: u32,
    },
    /// Any other, or a known one of a wrong length.
    Other {
        /// Its number.
        kind: u8,
        /// The bytes behind its kind and length.
        data: &'a [u8],
    },
}

/// The options of a header, padding left out.
///
/// Ends at "end of list", or at the first option whose length contradicts the header: each step
/// takes at least one byte, so it always ends.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    header: &'a [u8],
    at: usize,
}

impl Options<'_> {
    /// Steps over "no operation"; returns where the next option begins in the header.
    fn skip_padding(&mut self) -> usize {
        while self.header.get(self.at) == Some(&1) {
            self.at += 1;
        }
        self.at
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        let start = self.skip_padding();
        let &[kind, len, ..] = self.header.get(start..)? else { return None };
        if kind == 0 || len < 2 {
            return None;
        }
        let data = self.header.get(start + 2..start + usize::from(len))?;
        self.at = start + usize::from(len);
        Some(match (kind, data) {
            (2, &[a, b]) => TcpOption::Mss(u16::from_be_bytes([a, b])),
            (3, &[shift]) => TcpOption::WindowScale(shift),
            (4, []) => TcpOption::SackPermitted,
            (8, data) if data.len() == 8 => {
                TcpOption::Timestamps { value: be32(data, 0), echo: be32(data, 4) }
            }
            (kind, data) => TcpOption::Other { kind, data },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Linux SYN: MSS 1460, SACK permitted, timestamps, padding, window scale 7.
    const SYN: [u8; 40] = [
        0xc0, 0x01, 0x00, 0x50, 0x12, 0x34, 0x56, 0x78, 0x00, 0x00, 0x00, 0x00, 0xa0, 0x02, 0xfa,
        0xf0, 0x00, 0x00, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0x00, 0x00,
        0x00, 0x0a, 0x00, 0x00, 0x00, 0x0b, 0x01, 0x03, 0x03, 0x07,
    ];

    fn with_options(options: &[u8]) -> Vec<u8> {
        let mut bytes =
            TcpHeader { flags: TcpFlags::SYN, ..Default::default() }.to_bytes().to_vec();
        bytes[12] = (5 + options.len() as u8 / 4) << 4;
        bytes.extend(options);
        bytes
    }

    #[test]
    fn known_bytes() {
        let segment = Tcp::new(SYN).unwrap();
        let header = TcpHeader {
            src_port: 0xc001,
            dst_port: 80,
            seq: 0x1234_5678,
            flags: TcpFlags::SYN,
            window: 64240,
            ..Default::default()
        };
        assert_eq!(segment.header(), header);
        let mut bytes = header.to_bytes();
        bytes[12] = 0xa0;
        assert_eq!(bytes, SYN[..20]);
        let options: Vec<_> = segment.options().collect();
        let expected = [
            TcpOption::Mss(1460),
            TcpOption::SackPermitted,
            TcpOption::Timestamps { value: 10, echo: 11 },
            TcpOption::WindowScale(7),
        ];
        assert_eq!(options, expected);
        assert_eq!((segment.mss(), segment.seq_len(), segment.payload()), (Some(1460), 1, &[][..]));
    }

    #[test]
    fn options_end() {
        let check = |options: &[u8], expected: &[TcpOption<'_>], what: &str| {
            let bytes = with_options(options);
            let segment = Tcp::new(&bytes).unwrap();
            let found: Vec<_> = segment.options().collect();
            assert_eq!(found, expected, "{what}");
        };
        check(&[], &[], "none");
        check(&[1, 1, 1, 1], &[], "padding only");
        check(&[0, 3, 3, 7], &[], "behind the end");
        check(&[3, 0, 3, 0], &[], "length 0 must not loop");
        check(&[3, 1, 3, 1], &[], "length 1");
        check(&[1, 1, 1, 2], &[], "length missing");
        check(&[2, 4, 5, 180, 2, 5, 0, 0], &[TcpOption::Mss(1460)], "beyond the header");
        check(&[2, 3, 9, 1], &[TcpOption::Other { kind: 2, data: &[9] }], "MSS of one byte");
        check(
            &[254, 2, 4, 2],
            &[TcpOption::Other { kind: 254, data: &[] }, TcpOption::SackPermitted],
            "",
        );
    }

    #[test]
    fn mss_is_clamped_wherever_it_stands() {
        for padding in 0..4 {
            let mut options = vec![1; padding];
            options.extend([2, 4, 0x05, 0xb4]);
            options.resize(8, 1);
            let mut bytes = with_options(&options);
            let mut segment = Tcp::new(&mut bytes).unwrap();
            segment.fill_checksum(1, 2);
            assert_eq!(segment.clamp_mss(1460), None, "not higher");
            assert_eq!(segment.clamp_mss(1412), Some(1460), "{padding} bytes of padding");
            assert_eq!(segment.mss(), Some(1412));
            assert!(segment.checksum_ok(1, 2), "{padding} bytes of padding");
        }
        assert_eq!(Tcp::new(&mut with_options(&[])).unwrap().clamp_mss(1), None);
    }

    #[test]
    fn contradictions() {
        for (len, offset, ok) in [(19, 5, false), (20, 4, false), (20, 6, false), (20, 5, true)] {
            let mut bytes = vec![0; len];
            bytes[12] = offset << 4;
            assert_eq!(Tcp::new(bytes).is_ok(), ok, "{len} bytes, offset {offset}");
        }
    }

    #[test]
    fn flags() {
        let flags = TcpFlags::ACK | TcpFlags::SYN;
        assert_eq!((flags.to_string(), TcpFlags(0).to_string()), ("syn,ack".into(), String::new()));
        assert!(flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::SYN | TcpFlags::FIN));
        assert!(flags.intersects(TcpFlags::SYN | TcpFlags::FIN));
        assert_eq!(TcpFlags(0xff).to_string(), "fin,syn,rst,psh,ack,urg,ece,cwr");
    }
}
