//! The bytes of a stream, from their offset.
//!
//! ```text
//! byte i of the stream whose sender's first sequence number is n:  PATTERN[(n + i) mod 4093]
//! ```
//!
//! 4093 is a prime: bytes that are off by a segment, a window or another connection's stream do not
//! fit. The pattern stands so often in memory that writing and comparing a segment are plain copies.

/// Length of the pattern.
const PERIOD: usize = 4093;
/// The pattern, then as much again as a segment may need behind its last start.
static BYTES: [u8; PERIOD + MOST] = pattern();
/// The most bytes at a time: a segment of the longest packets.
const MOST: usize = super::plan::MSS.1 as usize;

const fn pattern() -> [u8; PERIOD + MOST] {
    let mut bytes = [0; PERIOD + MOST];
    let mut state = 0x2545_f491u32;
    let mut i = 0;
    while i < PERIOD {
        // xorshift32 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes[i] = (state >> 11) as u8;
        i += 1;
    }
    while i < PERIOD + MOST {
        bytes[i] = bytes[i - PERIOD];
        i += 1;
    }
    bytes
}

fn at(first: u32, offset: u64, len: usize) -> &'static [u8] {
    let start = ((u64::from(first) + offset) % PERIOD as u64) as usize;
    &BYTES[start..start + len]
}

/// Writes the bytes from `offset` on of the stream that begins with `first`.
///
/// # Panics
/// If there are more than [`MOST`].
pub(super) fn write(first: u32, offset: u64, bytes: &mut [u8]) {
    bytes.copy_from_slice(at(first, offset, bytes.len()));
}

/// Whether these are the bytes from `offset` on.
pub(super) fn is(first: u32, mut offset: u64, bytes: &[u8]) -> bool {
    bytes.chunks(MOST).all(|chunk| {
        let right = at(first, offset, chunk.len()) == chunk;
        offset += chunk.len() as u64;
        right
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read_and_nothing_else() {
        for len in [1460, 2048, 2049, PERIOD, 8948, MOST] {
            check(&mut vec![0; len]);
        }
        assert!(is(1, 5, &[]));
    }

    fn check(bytes: &mut [u8]) {
        let len = bytes.len() as u64;
        for offset in [0, 1, len, 4092, 4093, u64::from(u32::MAX) + 7] {
            write(77, offset, bytes);
            assert!(is(77, offset, bytes), "{offset}");
            // By a period less or more nobody can tell.
            let off = [1, len, 65_536].into_iter().filter(|by| by % PERIOD as u64 != 0);
            for wrong in off.map(|by| offset + by) {
                assert!(!is(77, wrong, bytes), "{offset} as {wrong}");
            }
            assert!(!is(78, offset, bytes));
        }
    }
}
