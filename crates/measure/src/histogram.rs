//! Histograms in files: sparse buckets as a line of text.
//!
//! ```text
//!  (5000, 1) (5008, 4) (5024, 1)  ◄─►  "5000 +8*4 +16"        the time, then how much later, how often
//! ```
//!
//! A bucket is what it is later than the one before, and, behind a star, how many frames there are
//! in it if there is more than one. A thousand buckets take five kilobytes; as pairs of numbers they
//! take thirty. Files of the first version have the pairs: they are read, too.

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserializer, Serializer};
use std::fmt::{self, Write};

/// Writes buckets as text.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(buckets: &[(u64, u64)], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&text(buckets))
}

/// Reads them, as text or as pairs.
///
/// # Errors
/// It is neither.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u64, u64)>, D::Error> {
    from.deserialize_any(Either)
}

/// Buckets as text. They ascend.
pub fn text(buckets: &[(u64, u64)]) -> String {
    let (mut out, mut last) = (String::new(), None);
    for &(ns, n) in buckets {
        let _ = match last {
            None => write!(out, "{ns}"),
            Some(last) => write!(out, " +{}", ns - last),
        };
        if n != 1 {
            let _ = write!(out, "*{n}");
        }
        last = Some(ns);
    }
    out
}

/// How many frames there are in a histogram's buckets; the most there can be, if a file claims more.
pub fn count(buckets: &[(u64, u64)]) -> u64 {
    crate::suite_result::total(buckets.iter().map(|(_, n)| *n))
}

/// Of a histogram's buckets: nanoseconds not exceeded by this share of the frames.
pub fn at_quantile(buckets: &[(u64, u64)], share: f64) -> Option<u64> {
    let all = count(buckets);
    let rank = (share * all as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    for &(ns, n) in buckets {
        seen = n.saturating_add(seen);
        if seen >= rank {
            return Some(ns);
        }
    }
    None
}

/// Text as buckets; `None` if it is none of ours.
pub fn read(text: &str) -> Option<Vec<(u64, u64)>> {
    let (mut buckets, mut last) = (vec![], None);
    for word in text.split_whitespace() {
        let (time, n) = word.split_once('*').unwrap_or((word, "1"));
        let ns = match last {
            None => time.parse().ok()?,
            Some(last) => u64::checked_add(last, time.strip_prefix('+')?.parse().ok()?)?,
        };
        buckets.push((ns, n.parse().ok()?));
        last = Some(ns);
    }
    Some(buckets)
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Vec<(u64, u64)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a histogram: \"5000 +8*4 +16\", or pairs of numbers")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        read(value).ok_or_else(|| E::custom("a histogram is \"5000 +8*4 +16\""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut buckets = vec![];
        while let Some(bucket) = seq.next_element()? {
            buckets.push(bucket);
        }
        Ok(buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles() {
        assert_eq!(at_quantile(&[(10, 1), (20, 98), (30, 1)], 0.5), Some(20));
        let boundless = [(1, u64::MAX), (2, u64::MAX)];
        assert_eq!((count(&boundless), at_quantile(&boundless, 1.0)), (u64::MAX, Some(1)));
        assert_eq!((at_quantile(&[], 0.5), at_quantile(&[(7, 1)], 0.0)), (None, Some(7)));
    }

    #[test]
    fn as_it_is_drawn() {
        let buckets = [(5000, 1), (5008, 4), (5024, 1)];
        assert_eq!(text(&buckets), "5000 +8*4 +16");
        assert_eq!(read("5000 +8*4 +16").unwrap(), buckets);
        assert_eq!((text(&[]), read("")), (String::new(), Some(vec![])));
        for bad in ["x", "5 6", "5 +x", "5*", "5 +18446744073709551615", "5 -1"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn there_and_back(steps in prop::collection::vec((0u64..1 << 40, 0u64..1 << 40), 0..50)) {
            let mut ns = 0;
            let buckets: Vec<(u64, u64)> = steps.into_iter().map(|(step, n)| { ns += step; (ns, n) }).collect();
            prop_assert_eq!(read(&text(&buckets)), Some(buckets));
        }

        #[test]
        fn any_text(text in ".{0,60}") {
            let _ = read(&text);
        }
    }
}
