//! The trailer: the last 18 bytes of every test frame, by which the receiver knows it again.
//!
//! ```text
//! | Ethernet 14 | IPv4 20 | UDP 8 | fill … | check 1 | stream 1 | test 1 | sequence 7 | time 8 |
//!                                          ^ len - 18                      (big-endian)
//! ```
//!
//! Eighteen bytes are all the payload a 64-byte frame has (60 in memory, less 42 of headers). The
//! magic and the check share a byte: it is a constant, exclusive-ored with the seventeen others.
//! So every damaged bit of the trailer shows, and bytes of another origin pass one time in 256;
//! the receiver, which also wants a time between the trial's beginning and now, then stops all but
//! one in some billions.
//!
//! The layout is our own: RouterOS appends a footer of its own too, and publishes no layout.
//! Never looks at anything in front of the trailer.

use wire::Moment;

/// Length of the trailer in bytes.
pub const LEN: usize = 18;

/// What the check byte is when all other bytes are zero. Not zero itself: a payload of zeros is
/// no test frame.
pub(crate) const MAGIC: u8 = 0xb5;

/// The largest sequence number there is room for: 20 years of 100 million frames a second.
pub const SEQUENCE_MAX: u64 = (1 << 56) - 1;

/// What a trailer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// The stream's number.
    pub stream: u8,
    /// The test's number (RouterOS's `test-id`): frames of another test are not counted.
    pub test: u8,
    /// The frame's number in its stream, from 0 to [`SEQUENCE_MAX`].
    pub sequence: u64,
    /// When the sender made it.
    pub time: Moment,
}

/// The last bytes of a frame, and whether their check byte is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A trailer.
    Good(Trailer),
    /// The check byte is wrong: not a test frame, or a damaged one; this is what it would say.
    Bad(Trailer),
}

impl Trailer {
    /// The trailer's bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[0] = self.check();
        bytes[1] = self.stream;
        bytes[2..10].copy_from_slice(&self.test_and_sequence().to_be_bytes());
        bytes[10..].copy_from_slice(&self.time.as_nanos().to_be_bytes());
        bytes
    }

    /// Reads the last bytes of `frame`; `None` if it is shorter than a trailer.
    #[inline]
    pub fn read(frame: &[u8]) -> Option<Found> {
        let bytes = frame.last_chunk::<LEN>()?;
        let u64_at = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(word)
        };
        let (stream, test) = (bytes[1], bytes[2]);
        let (sequence, time) = (u64_at(2) & SEQUENCE_MAX, Moment::from_nanos(u64_at(10)));
        let trailer = Trailer { stream, test, sequence, time };
        Some(if trailer.check() == bytes[0] { Found::Good(trailer) } else { Found::Bad(trailer) })
    }

    #[inline]
    fn test_and_sequence(self) -> u64 {
        u64::from(self.test) << 56 | self.sequence & SEQUENCE_MAX
    }

    #[inline]
    fn check(self) -> u8 {
        let both = self.test_and_sequence() ^ self.time.as_nanos();
        let both = both ^ (both >> 32);
        let both = both ^ (both >> 16);
        (both ^ (both >> 8)) as u8 ^ self.stream ^ MAGIC
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn layout() {
        let time = Moment::from_nanos(0x0102_0304_0506_0708);
        let trailer = Trailer { stream: 7, test: 0x11, sequence: 0x0012_1314_1516_1718, time };
        let bytes = trailer.to_bytes();
        let expected = [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(bytes[1], 7);
        assert_eq!(bytes[2..], expected);
        assert_eq!(bytes[0], bytes[1..].iter().fold(MAGIC, |all, byte| all ^ byte));
    }

    #[test]
    fn short_or_empty_is_none_and_zeros_are_bad() {
        assert_eq!(Trailer::read(&[]), None);
        assert_eq!(Trailer::read(&[0; LEN - 1]), None);
        assert!(matches!(Trailer::read(&[0; 60]), Some(Found::Bad(_))));
    }

    proptest! {
        #[test]
        fn reads_what_was_written(
            stream: u8, test: u8, sequence in 0..=SEQUENCE_MAX, ns: u64, before in 0usize..40,
        ) {
            let trailer = Trailer { stream, test, sequence, time: Moment::from_nanos(ns) };
            let mut frame = vec![0xaa; before];
            frame.extend(trailer.to_bytes());
            prop_assert_eq!(Trailer::read(&frame), Some(Found::Good(trailer)));
        }

        #[test]
        fn every_damaged_bit_shows(
            stream: u8, test: u8, sequence: u64, ns: u64, bit in 0usize..LEN * 8,
        ) {
            let time = Moment::from_nanos(ns);
            let mut bytes = Trailer { stream, test, sequence, time }.to_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(matches!(Trailer::read(&bytes), Some(Found::Bad(_))));
        }
    }
}
