//! The Internet checksum (RFC 1071), computed, verified, and updated in place (RFC 1624).
//!
//! ```text
//! Sum    bytes, words, pseudo-header ──► 16-bit sum ──► !sum = checksum   (whole packet)
//! Delta  (old word, new word) …      ──► checksum' from checksum          (NAT, TTL, MSS)
//! ```
//!
//! The sum is 16-bit one's complement addition: carries come back in at the bottom, so words
//! may be added 32 bits at a time, in any order, and in the machine's byte order; only the
//! result is turned round (RFC 1071 §2). Zero has two forms, `0x0000` and `0xffff`; the sum of
//! anything that is not all zero folds to `0xffff`, never to `0x0000`.
//!
//! Never panics; never decides what a wrong checksum means.

/// A one's complement sum being gathered. Add parts in any order, then [`finish`](Self::finish).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(
    /// Words as they lie in memory: in the machine's byte order, not the network's.
    u64,
);

impl Sum {
    /// Adds bytes as big-endian words; an odd last byte is padded with zero (RFC 1071 §4.1), so
    /// only the last part of a sum may have an odd length.
    #[inline]
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Sum {
        let (words, rest) = bytes.as_chunks::<4>();
        // 64 bits hold the carries of 2³² words. A loop this plain becomes vector code.
        let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
        // Byte by byte: a copy of variable length would be a call to memcpy.
        let tail = match *rest {
            [a, b, c] => [a, b, c, 0],
            [a, b] => [a, b, 0, 0],
            [a] => [a, 0, 0, 0],
            _ => [0; 4],
        };
        self.add(sum);
        self.add(u64::from(u32::from_ne_bytes(tail)));
        self
    }

    /// Adds one 16-bit word, given in host order.
    #[inline]
    #[must_use]
    pub fn u16(mut self, word: u16) -> Sum {
        self.add(u64::from(word.to_be()));
        self
    }

    /// Adds one 32-bit word, given in host order.
    #[inline]
    #[must_use]
    pub fn u32(mut self, word: u32) -> Sum {
        self.add(u64::from(word.to_be()));
        self
    }

    /// The IPv4 pseudo-header of UDP and TCP (RFC 768, RFC 9293 §3.1); `len` is that of the
    /// transport header and its payload.
    #[inline]
    pub fn pseudo_ipv4(src: u32, dst: u32, protocol: u8, len: u16) -> Sum {
        Sum::default().u32(src).u32(dst).u16(u16::from(protocol)).u16(len)
    }

    /// The IPv6 pseudo-header (RFC 8200 §8.1).
    #[inline]
    pub fn pseudo_ipv6(src: [u8; 16], dst: [u8; 16], next_header: u8, len: u32) -> Sum {
        Sum::default().bytes(&src).bytes(&dst).u32(len).u16(u16::from(next_header))
    }

    /// The sum folded to 16 bits, in host order.
    #[inline]
    pub fn fold(self) -> u16 {
        // Adding the carry back in cannot carry again: after one, the sum is not all ones.
        let (sum, carry) = (self.0 as u32).overflowing_add((self.0 >> 32) as u32);
        let sum = sum + u32::from(carry);
        let (sum, carry) = (sum as u16).overflowing_add((sum >> 16) as u16);
        u16::from_be(sum + u16::from(carry))
    }

    /// The checksum: the folded sum's complement, in host order.
    #[inline]
    pub fn finish(self) -> u16 {
        !self.fold()
    }

    /// Whether this is the sum of a packet that includes its own, correct checksum.
    #[inline]
    pub fn is_ok(self) -> bool {
        self.fold() == 0xffff
    }

    #[inline]
    fn add(&mut self, words: u64) {
        let (sum, carry) = self.0.overflowing_add(words);
        self.0 = sum + u64::from(carry); // 2⁶⁴ is 1 modulo 0xffff as well
    }
}

/// The checksum of `bytes`, in which the checksum field itself must be zero.
#[inline]
pub fn of(bytes: &[u8]) -> u16 {
    Sum::default().bytes(bytes).finish()
}

/// Whether `bytes`, which include their checksum, are intact: ICMP, and any IPv4 header.
#[inline]
pub fn is_ok(bytes: &[u8]) -> bool {
    Sum::default().bytes(bytes).is_ok()
}

/// Whether an IPv4 header without options has the right checksum: the fast path's question.
///
/// Five loads, four additions, and [`is_ok_sum`].
#[inline]
pub fn ipv4_header_ok(header: &[u8; 20]) -> bool {
    let word = |at: usize| {
        u64::from(u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    is_ok_sum(word(0) + word(4) + word(8) + word(12) + word(16))
}

/// Whether such a header is intact, of which this is the sum of five words of four bytes: 0 modulo `0xffff`,
/// but not 0.
///
/// One multiplication, by the number that makes -1 of `0xffff`: of its multiples up to five times `u32::MAX` it
/// makes the numbers from -327,685 to -1, of all others none of these. A remainder took 7 instructions more.
#[inline(always)]
pub const fn is_ok_sum(sum: u64) -> bool {
    debug_assert!(sum <= 5 * u32::MAX as u64);
    sum.wrapping_mul(0x0001_0001_0001_0001) > u64::MAX << 20
}

/// The checksum of a sum of words in the order of the wire, in that order as well (RFC 1071 §2): of a
/// header whose words are at hand.
#[inline(always)]
pub fn folded(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// The checksum of an IPv4 header of any length (20 to 60 bytes), whatever its checksum field
/// holds now. Bytes 10 and 11 are that field; shorter headers are summed as they are.
#[inline]
pub fn ipv4_header(header: &[u8]) -> u16 {
    without_field(Sum::default(), header, 10)
}

/// The checksum for a UDP datagram in IPv4, whatever its checksum field holds now. Never 0,
/// which would mean "none" (RFC 768). `datagram` is header and payload, nothing behind.
#[inline]
pub fn udp(src: u32, dst: u32, datagram: &[u8]) -> u16 {
    let pseudo = Sum::pseudo_ipv4(src, dst, 17, datagram.len() as u16);
    not_zero(without_field(pseudo, datagram, 6))
}

/// Whether a UDP datagram in IPv4 is intact; one without checksum (0) is taken as it is.
#[inline]
pub fn udp_ok(src: u32, dst: u32, datagram: &[u8]) -> bool {
    datagram.get(6..8) == Some(&[0, 0])
        || Sum::pseudo_ipv4(src, dst, 17, datagram.len() as u16).bytes(datagram).is_ok()
}

/// The checksum for a TCP segment in IPv4, whatever its checksum field holds now.
#[inline]
pub fn tcp(src: u32, dst: u32, segment: &[u8]) -> u16 {
    without_field(Sum::pseudo_ipv4(src, dst, 6, segment.len() as u16), segment, 16)
}

/// Whether a TCP segment in IPv4 is intact.
#[inline]
pub fn tcp_ok(src: u32, dst: u32, segment: &[u8]) -> bool {
    Sum::pseudo_ipv4(src, dst, 6, segment.len() as u16).bytes(segment).is_ok()
}

/// The checksum for an ICMP message, whatever its checksum field holds now.
#[inline]
pub fn icmp(message: &[u8]) -> u16 {
    without_field(Sum::default(), message, 2)
}

/// The checksum of `sum` and `bytes`, less the word at `field` (even).
#[inline]
fn without_field(sum: Sum, bytes: &[u8], field: usize) -> u16 {
    let old = match bytes.get(field..field + 2) {
        Some(&[high, low]) => u16::from_be_bytes([high, low]),
        _ => 0,
    };
    // Subtracting a word is adding its complement.
    sum.bytes(bytes).u16(!old).finish()
}

#[inline]
const fn not_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// What changes of a packet's words mean for its checksum: RFC 1624, equation 3.
///
/// ```text
/// HC' = ~(~HC + ~m + m')          m ─► m' the word, HC ─► HC' the checksum
/// ```
///
/// Gathered once (a NAT recipe keeps it), applied to each packet in a few instructions.
/// Equation 3, not RFC 1141's: that one could yield `0xffff` where `0x0000` is due.
///
/// ```
/// use wire::checksum::Delta;
/// // RFC 1624 §4: a word goes from 0x5555 to 0x3285, and 0xdd2f becomes 0x0000.
/// assert_eq!(Delta::default().u16(0x5555, 0x3285).apply(0xdd2f), 0x0000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta(
    /// Sum of `~m + m'`, folded only when it is applied: no addition waits for another's carry. Two words
    /// side by side are added as one number, whose halves folding adds.
    u64,
);

impl Delta {
    /// A 16-bit word changes. It must stand at an even offset.
    #[inline]
    #[must_use]
    pub const fn u16(self, old: u16, new: u16) -> Delta {
        Delta(self.0 + !old as u64 + new as u64)
    }

    /// A 32-bit word changes. It must stand at an even offset.
    #[inline]
    #[must_use]
    pub const fn u32(self, old: u32, new: u32) -> Delta {
        Delta(self.0 + !old as u64 + new as u64)
    }

    /// An address of IPv6 changes. It must stand at an even offset.
    #[inline]
    #[must_use]
    pub const fn u128(self, old: u128, new: u128) -> Delta {
        self.u32((old >> 96) as u32, (new >> 96) as u32)
            .u32((old >> 64) as u32, (new >> 64) as u32)
            .u32((old >> 32) as u32, (new >> 32) as u32)
            .u32(old as u32, new as u32)
    }

    /// Both changes.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Delta) -> Delta {
        Delta(self.0 + other.0)
    }

    /// The new checksum of an IPv4 header, a TCP segment or an ICMP message.
    #[inline]
    pub const fn apply(self, checksum: u16) -> u16 {
        let sum = self.0 + !checksum as u64;
        let sum = (sum & 0xffff_ffff) + (sum >> 32);
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    /// The new checksum of a UDP datagram: 0 ("none") stays, and a computed 0 is sent as
    /// `0xffff` (RFC 768; RFC 3022 §4.1).
    #[inline]
    pub const fn apply_udp(self, checksum: u16) -> u16 {
        if checksum == 0 { 0 } else { not_zero(self.apply(checksum)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071 §1 word by word, in the plainest way: the oracle.
    fn plain(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for word in bytes.chunks(2) {
            sum += u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn rfc_1071_example() {
        // §3: the words 0001 f203 f4f5 f6f7 sum to ddf2 after folding.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().bytes(&bytes).fold(), 0xddf2);
        assert_eq!(of(&bytes), !0xddf2);
    }

    #[test]
    fn rfc_1624_example() {
        // §4, the case in which RFC 1141's equation gives 0xffff.
        assert_eq!(Delta::default().u16(0x5555, 0x3285).apply(0xdd2f), 0x0000);
    }

    #[test]
    fn known_header() {
        let mut header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert!(ipv4_header_ok(&header) && is_ok(&header));
        assert_eq!(ipv4_header(&header), 0xb861);
        header[8] -= 1;
        assert!(!ipv4_header_ok(&header) && !is_ok(&header));
        assert!(!ipv4_header_ok(&[0; 20]) && !is_ok(&[0; 20]), "zero is not 0xffff");
    }

    #[test]
    fn longest_sums_do_not_overflow() {
        let ones = vec![0xff; 1 << 20];
        assert_eq!(Sum(u64::MAX).bytes(&ones).u32(u32::MAX).fold(), 0xffff);
    }

    #[test]
    fn udp_zero_means_none() {
        let none = [0, 1, 0, 2, 0, 9, 0, 0, 42];
        assert!(udp_ok(1, 2, &none));
        assert_eq!(Delta::default().u32(1, 77).apply_udp(0), 0);
        // A datagram whose sum is 0xffff: its checksum would be 0, so 0xffff is sent.
        let mut datagram = [0, 0, 0, 0, 0, 10, 0, 0, 0, 0];
        let missing = udp(0, 0, &datagram); // the word that fills the sum to 0xffff
        datagram[8..].copy_from_slice(&missing.to_be_bytes());
        assert_eq!(udp(0, 0, &datagram), 0xffff);
        datagram[6..8].copy_from_slice(&[0xff, 0xff]);
        assert!(udp_ok(0, 0, &datagram));
        // Changing a word and back passes through every value, 0 is never sent.
        for to in 0..=u16::MAX {
            assert_ne!(Delta::default().u16(5, to).apply_udp(0x1234), 0);
        }
    }

    proptest! {
        #[test]
        fn of_words(header: [[u8; 4]; 5]) {
            let sum = header.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
            prop_assert_eq!(u16::from_be_bytes(folded(sum).to_ne_bytes()), of(header.as_flattened()));
        }

        #[test]
        fn same_as_plain(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Sum::default().bytes(&bytes).fold(), plain(&bytes));
        }

        #[test]
        fn parts_in_any_order(a in prop::collection::vec(any::<[u8; 2]>(), 0..40), w: u32, h: u16) {
            let a = a.concat();
            let mut all = a.clone();
            all.extend(w.to_be_bytes());
            all.extend(h.to_be_bytes());
            prop_assert_eq!(Sum::default().u16(h).bytes(&a).u32(w).fold(), plain(&all));
        }

        #[test]
        fn fast_header_check_is_the_slow_one(mut header: [u8; 20], fix: bool) {
            if fix {
                let checksum = ipv4_header(&header);
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                prop_assert!(ipv4_header_ok(&header));
            }
            prop_assert_eq!(ipv4_header_ok(&header), plain(&header) == 0xffff);
            prop_assert_eq!(ipv4_header_ok(&header), is_ok(&header));
        }

        #[test]
        fn delta_is_recomputing(mut segment in prop::collection::vec(any::<u8>(), 20..64),
                                src: u32, dst: u32, new_src: u32, new_port: u16) {
            let before = tcp(src, dst, &segment);
            let udp_before = udp(src, dst, &segment);
            let old_port = u16::from_be_bytes([segment[0], segment[1]]);
            segment[..2].copy_from_slice(&new_port.to_be_bytes());
            let address = Delta::default().u32(src, new_src);
            let delta = address.and(Delta::default().u16(old_port, new_port));
            prop_assert_eq!(delta.apply(before), tcp(new_src, dst, &segment));
            prop_assert_eq!(delta.apply_udp(udp_before), udp(new_src, dst, &segment));
            let sum = delta.apply(before).to_be_bytes();
            segment[16..18].copy_from_slice(&sum);
            prop_assert!(tcp_ok(new_src, dst, &segment));
        }
    }
}
