//! The places of a hash table's bucket compared at once.
//!
//! ```text
//! tags  17 | 4 | 9 | 4 | …   ==   4 | 4 | 4 | 4 | …   ─►   one bit a place: 0b1010
//! ```
//!
//! Of a loop compilers make three times as many instructions.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// One bit a place whose tag is `tag`.
#[inline(always)]
#[must_use]
pub fn equal(tags: &[u16; 8], tag: u16) -> u8 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 is part of x86-64, and the eight tags are 16 bytes that may be read, whatever their
    // alignment.
    unsafe {
        let same =
            _mm_cmpeq_epi16(_mm_loadu_si128(tags.as_ptr().cast()), _mm_set1_epi16(tag as i16));
        _mm_movemask_epi8(_mm_packs_epi16(same, same)) as u8
    }
    #[cfg(not(target_arch = "x86_64"))]
    in_a_loop(tags, |other| other == tag)
}

/// The same of four.
#[inline(always)]
#[must_use]
pub fn equal_of_four(tags: &[u16; 4], tag: u16) -> u8 {
    let [a, b, c, d] = *tags;
    equal(&[a, b, c, d, 0, 0, 0, 0], tag) & 0xf
}

/// One bit a place whose word is `word`, but for its lower `IGNORED` bits.
#[inline(always)]
#[must_use]
pub fn equal_words<const IGNORED: i32>(words: &[u64; 4], word: u64) -> u8 {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    // SAFETY: the program is built for processors that have AVX2, and the four words are 32 bytes that
    // may be read, whatever their alignment.
    unsafe {
        let (words, word) =
            (_mm256_loadu_si256(words.as_ptr().cast()), _mm256_set1_epi64x(word as i64));
        let (words, word) =
            (_mm256_srli_epi64::<IGNORED>(words), _mm256_srli_epi64::<IGNORED>(word));
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(words, word))) as u8
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
    in_a_loop(words, |other| other >> IGNORED == word >> IGNORED)
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "avx2"))))]
fn in_a_loop<T: Copy>(all: &[T], is: impl Fn(T) -> bool) -> u8 {
    all.iter().enumerate().fold(0, |places, (i, &one)| places | u8::from(is(one)) << i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_what_a_loop_says(
            tags in prop::array::uniform8(prop_oneof![0u16..4, 0x7ffeu16..0x8002, any::<u16>()]),
            tag in prop_oneof![0u16..4, 0x7ffeu16..0x8002],
            words in prop::array::uniform4(prop_oneof![0u64..0x3_0000, any::<u64>()]),
            word in 0u64..0x3_0000,
        ) {
            prop_assert_eq!(equal(&tags, tag), in_a_loop(&tags, |other| other == tag));
            let four = [tags[0], tags[1], tags[2], tags[3]];
            prop_assert_eq!(equal_of_four(&four, tag), in_a_loop(&four, |other| other == tag));
            for word in [word, words[2], words[3]] {
                prop_assert_eq!(equal_words::<0>(&words, word), in_a_loop(&words, |w| w == word));
                let upper = in_a_loop(&words, |w| w >> 16 == word >> 16);
                prop_assert_eq!(equal_words::<16>(&words, word), upper);
            }
        }
    }
}
