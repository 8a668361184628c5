//! A frame plan's changes as the edits of the generator in the kernel.
//!
//! Random values of more than 65,536 are drawn in advance: as many, which then come in turn. What goes by
//! one number keeps together: each of its fields is a list of as many values.
//!
//! Missing: **lengths that differ**, **frames without a trailer**, **masks that leave bits alone**, **IP
//! headers inside of what has a checksum**.

use super::{Coverage, Fed, Patch, Program};
use crate::Prng;
use crate::stream::kernel::{field_edit, listed};
use crate::vary;
use port::linux::bpf::generator::{Edit, Pick};

/// The most numbers that fields go by together.
const MOST: u64 = 1 << 20;

impl Program {
    /// What changes beside the trailer; `None` if the generator cannot do it.
    pub(crate) fn edits(&self, image: &[u8], prng: Prng, seed: u64) -> Option<Vec<Edit>> {
        let is_plain = self.has_one_length() && self.footer && self.checksum_from.is_none();
        let patches = self.patches.iter().map(|patch| self.edit(patch, prng, seed));
        let sums = self.coverages.iter().map(|coverage| self.checksum(coverage, image));
        is_plain.then(|| patches.chain(sums).collect())?
    }

    fn edit(&self, patch: &Patch, mut prng: Prng, seed: u64) -> Option<Edit> {
        let place = (patch.at, patch.width);
        if patch.mask != u64::MAX >> (64 - 8 * patch.width) {
            return None;
        }
        let (link, divisor, values) = match &patch.source {
            Fed::Itself(source) => return field_edit(place, source, &mut prng, seed),
            Fed::Link(link, divisor, values) => (*link, *divisor, values),
        };
        let (mut numbers, _) = self.links[link].clone();
        let n = Some(numbers.values().count()).filter(|n| *n <= MOST)?;
        let of = |number: u64| values.at(number / divisor % values.count());
        Some(match numbers.pick() {
            // One seed for all that go by the number.
            vary::Pick::Random => listed(place, (0..n).map(of), Pick::Random(seed << 8 | 0xff)),
            vary::Pick::InTurn | vary::Pick::Backwards => {
                listed(place, (0..n).map(|_| of(numbers.next(&mut prng))), Pick::InTurn)
            }
        })
    }

    /// A checksum, if its coverage is ranges of the frame and what stands in it for good.
    fn checksum(&self, coverage: &Coverage, image: &[u8]) -> Option<Edit> {
        let Coverage { at, udp: never_zero, ref ranges, protocol, beside, pseudo, .. } = *coverage;
        let varies =
            |byte: usize| self.patches.iter().any(|p| (p.at..p.at + p.width).contains(&byte));
        let is_plain = coverage.without.len() == 1 && !protocol.is_some_and(varies);
        let over = ranges.iter().map(|range| range.start..range.end.min(self.longest)).collect();
        let len = coverage.payload.filter(|_| pseudo).map_or(0, |from| self.longest - from);
        let plus = protocol.map_or(beside, |at| image[at]);
        let plus = u16::from(plus) + len as u16;
        is_plain.then_some(Edit::Checksum { at, over, plus, never_zero })
    }
}
