//! Words of the API: a length in one to five bytes, and that many bytes.
//!
//! ```text
//! 0xxxxxxx                                        up to 0x7f
//! 10xxxxxx xxxxxxxx                               up to 0x3fff
//! 110xxxxx xxxxxxxx xxxxxxxx                      up to 0x1f_ffff
//! 1110xxxx xxxxxxxx xxxxxxxx xxxxxxxx             up to 0xfff_ffff
//! 11110000 xxxxxxxx xxxxxxxx xxxxxxxx xxxxxxxx    up to 0xffff_ffff
//! 11110001 … 11111111                             no length: 0xf8 and above are control bytes
//! ```
//!
//! Source: MikroTik's manual, *API*, "API words". A length may be written longer than it need be; we
//! write the shortest form.

/// What the first bytes of a word say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// The length's own bytes, and the length.
    Length { prefix: usize, word: usize },
    /// There are not enough bytes yet.
    More,
    /// A byte that begins no word.
    Illegal(u8),
}

/// Reads the length of the word that begins here.
pub(crate) fn read_length(bytes: &[u8]) -> Prefix {
    let Some(&first) = bytes.first() else { return Prefix::More };
    let (prefix, high) = match first {
        0x00..=0x7f => (1, first),
        0x80..=0xbf => (2, first & 0x3f),
        0xc0..=0xdf => (3, first & 0x1f),
        0xe0..=0xef => (4, first & 0x0f),
        0xf0 => (5, 0),
        0xf1..=0xff => return Prefix::Illegal(first),
    };
    let Some(rest) = bytes.get(1..prefix) else { return Prefix::More };
    let word = rest.iter().fold(usize::from(high), |word, byte| word << 8 | usize::from(*byte));
    Prefix::Length { prefix, word }
}

/// Appends a word.
///
/// # Panics
/// If the word is 4 GiB long or longer.
pub fn write(out: &mut Vec<u8>, word: &[u8]) {
    let n = u32::try_from(word.len()).expect("a word is shorter than 4 GiB");
    let bytes = n.to_be_bytes();
    match n {
        0..0x80 => out.push(bytes[3]),
        0x80..0x4000 => out.extend([bytes[2] | 0x80, bytes[3]]),
        0x4000..0x20_0000 => out.extend([bytes[1] | 0xc0, bytes[2], bytes[3]]),
        0x20_0000..0x1000_0000 => out.extend([bytes[0] | 0xe0, bytes[1], bytes[2], bytes[3]]),
        _ => {
            out.push(0xf0);
            out.extend(bytes);
        }
    }
    out.extend_from_slice(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_length() {
        // The manual's own ranges, at both ends.
        let check = |word: usize, expected: &[u8]| {
            let prefix = expected.len();
            assert_eq!(read_length(expected), Prefix::Length { prefix, word }, "{expected:x?}");
            for cut in 0..prefix {
                assert_eq!(read_length(&expected[..cut]), Prefix::More, "{expected:x?} cut {cut}");
            }
            // Writing 256 MiB takes a moment; the forms are the same.
            if word < 0x20_0001 {
                let mut written = Vec::new();
                write(&mut written, &vec![b'x'; word]);
                assert_eq!(written[..prefix], *expected);
                assert_eq!(written.len(), prefix + word);
            }
        };
        check(0, &[0x00]);
        check(0x7f, &[0x7f]);
        check(0x80, &[0x80, 0x80]);
        check(0x3fff, &[0xbf, 0xff]);
        check(0x4000, &[0xc0, 0x40, 0x00]);
        check(0x1f_ffff, &[0xdf, 0xff, 0xff]);
        check(0x20_0000, &[0xe0, 0x20, 0x00, 0x00]);
        check(0xfff_ffff, &[0xef, 0xff, 0xff, 0xff]);
        check(0x1000_0000, &[0xf0, 0x10, 0x00, 0x00, 0x00]);
        check(0xffff_ffff, &[0xf0, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn longer_than_need_be_is_read() {
        for bytes in [&[0x80, 5][..], &[0xc0, 0, 5], &[0xe0, 0, 0, 5], &[0xf0, 0, 0, 0, 5]] {
            assert_eq!(read_length(bytes), Prefix::Length { prefix: bytes.len(), word: 5 });
        }
    }

    #[test]
    fn control_bytes_begin_no_word() {
        for byte in 0xf1..=0xff {
            assert_eq!(read_length(&[byte, 0, 0, 0, 0]), Prefix::Illegal(byte));
        }
    }
}
