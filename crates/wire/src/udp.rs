//! The UDP header (RFC 768).
//!
//! ```text
//! | source port 2 | destination port 2 | length 2 | checksum 2 (0: none) | payload …
//! ```

use crate::bytes::{be16, put};
use crate::checksum;
use crate::layers::Malformed;

/// Length of the header.
pub const HEADER_LEN: usize = 8;

/// A view of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Udp<B>(B);

impl<B: AsRef<[u8]>> Udp<B> {
    /// Looks at an IP payload; bytes behind the datagram's own length are not shown.
    ///
    /// # Errors
    /// [`Malformed::Transport`] if cut off, or the length is below 8 or beyond the bytes.
    #[inline]
    pub fn new(bytes: B) -> Result<Udp<B>, Malformed> {
        let b = bytes.as_ref();
        if b.len() < HEADER_LEN {
            return Err(Malformed::Transport);
        }
        let len = usize::from(be16(b, 4));
        if len < HEADER_LEN || b.len() < len {
            return Err(Malformed::Transport);
        }
        Ok(Udp(bytes))
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

    /// Checksum, 0 for none.
    #[inline]
    pub fn checksum(&self) -> u16 {
        be16(self.0.as_ref(), 6)
    }

    /// What follows the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.datagram()[HEADER_LEN..]
    }

    /// Whether the datagram is intact when it goes from `src` to `dst`, or has no checksum.
    #[inline]
    pub fn checksum_ok(&self, src: u32, dst: u32) -> bool {
        checksum::udp_ok(src, dst, self.datagram())
    }

    #[inline]
    fn datagram(&self) -> &[u8] {
        let b = self.0.as_ref();
        &b[..usize::from(be16(b, 4))]
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Udp<B> {
    /// Sets the source port. The checksum is the caller's, with [`checksum::Delta`].
    #[inline]
    pub fn set_src_port(&mut self, port: u16) {
        put(self.0.as_mut(), 0, port.to_be_bytes());
    }

    /// Sets the destination port. The checksum is the caller's, with [`checksum::Delta`].
    #[inline]
    pub fn set_dst_port(&mut self, port: u16) {
        put(self.0.as_mut(), 2, port.to_be_bytes());
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put(self.0.as_mut(), 6, checksum.to_be_bytes());
    }

    /// Computes the checksum afresh.
    pub fn fill_checksum(&mut self, src: u32, dst: u32) {
        let checksum = checksum::udp(src, dst, self.datagram());
        self.set_checksum(checksum);
    }
}

/// The header as a value; its checksum is written as 0, for [`Udp::fill_checksum`] to fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Bytes behind the header, at most 65 527.
    pub payload_len: u16,
}

impl UdpHeader {
    /// The header's bytes. A payload beyond 65 527 bytes does not fit the length field; it is
    /// set to the maximum.
    #[inline]
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b] = self.src_port.to_be_bytes();
        let [c, d] = self.dst_port.to_be_bytes();
        let [e, f] = self.payload_len.saturating_add(HEADER_LEN as u16).to_be_bytes();
        [a, b, c, d, e, f, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        // From 192.168.88.1 to 198.18.0.1; two bytes of IP payload lie behind the datagram.
        let (src, dst) = (0xc0a8_5801, 0xc612_0001);
        let mut bytes = [0x30, 0x39, 0, 7, 0, 11, 0, 0, b'a', b'b', b'c', 0xee, 0xee];
        let header = UdpHeader { src_port: 12345, dst_port: 7, payload_len: 3 };
        assert_eq!(header.to_bytes(), bytes[..8]);

        let mut datagram = Udp::new(&mut bytes).unwrap();
        assert!(datagram.checksum_ok(src, dst), "no checksum is a right one");
        datagram.fill_checksum(src, dst);
        // By hand: c0a8+5801+c612+0001+0011+000b + 3039+0007+000b + 6162+6300 = 0x2d385.
        assert_eq!(datagram.checksum(), !(0xd385 + 2));
        assert!(datagram.checksum_ok(src, dst) && !datagram.checksum_ok(src, dst + 1));
        assert_eq!((datagram.src_port(), datagram.dst_port()), (12345, 7));
        assert_eq!(datagram.payload(), b"abc");
    }

    #[test]
    fn lengths() {
        for (bytes, ok) in [
            (&[0; 7][..], false),
            (&[0, 1, 0, 2, 0, 7, 0, 0], false),
            (&[0, 1, 0, 2, 0, 8, 0, 0], true),
            (&[0, 1, 0, 2, 0, 9, 0, 0], false),
        ] {
            assert_eq!(Udp::new(bytes).is_ok(), ok, "{bytes:?}");
        }
    }
}
