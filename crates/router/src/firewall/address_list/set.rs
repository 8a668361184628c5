//! A set of addresses of any size, asked in the same time whatever its size.
//!
//! ```text
//! few:   first │ last  sorted, a binary search of at most 11 steps
//! many:  high 16 bits ─► chunk ─► nothing, everything, runs (low 16 bits first, last),
//!                                 or, of more than 2048 runs, a bit for each address
//! ```
//!
//! So a look-up reads one place of the table and makes at most eleven steps in a few kilobytes; a
//! single address takes 4 bytes among few, and never more than the 8 KB of the bits of its chunk.

use wire::Ipv4Range;

/// A set of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSet {
    /// Disjoint ranges, ascending, no two of them adjacent; empty if there are chunks.
    firsts: Vec<u32>,
    lasts: Vec<u32>,
    /// By the high 16 bits: 0 for nothing, 1 for everything, else a chunk.
    table: Vec<u32>,
    chunks: Vec<Chunk>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Chunk {
    Runs(Box<[(u16, u16)]>),
    Bits(Box<[u64; 1024]>),
}

const NOTHING: u32 = 0;
const EVERYTHING: u32 = 1;
/// More ranges than this are put in chunks; more runs of a chunk become bits.
const FEW: usize = 2048;

impl AddressSet {
    /// Whether `address` is in the set.
    #[inline]
    pub fn contains(&self, address: u32) -> bool {
        if self.table.is_empty() {
            let after = self.firsts.partition_point(|&first| first <= address);
            return after > 0 && address <= self.lasts[after - 1];
        }
        let low = address as u16;
        match self.table[(address >> 16) as usize] {
            NOTHING => false,
            EVERYTHING => true,
            at => match &self.chunks[at as usize - 2] {
                Chunk::Runs(runs) => {
                    let after = runs.partition_point(|&(first, _)| first <= low);
                    after > 0 && low <= runs[after - 1].1
                }
                Chunk::Bits(bits) => bits[usize::from(low) / 64] >> (low % 64) & 1 == 1,
            },
        }
    }

    /// The ranges, ascending; `None` of a set that is so large that it is kept otherwise.
    pub(crate) fn ranges(&self) -> Option<impl Iterator<Item = (u32, u32)>> {
        let lasts = self.lasts.iter().copied();
        self.table.is_empty().then(|| self.firsts.iter().copied().zip(lasts))
    }

    /// Whether no address is in the set.
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty() && self.table.is_empty()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let of = |chunk: &Chunk| match chunk {
            Chunk::Runs(runs) => size_of_val::<[(u16, u16)]>(runs),
            Chunk::Bits(bits) => size_of_val::<[u64; 1024]>(bits),
        };
        let chunks = self.chunks.capacity() * size_of::<Chunk>();
        let lists = self.firsts.capacity() + self.lasts.capacity() + self.table.capacity();
        lists * 4 + chunks + self.chunks.iter().map(of).sum::<usize>()
    }

    /// Many ranges, in chunks.
    fn chunked(firsts: &[u32], lasts: &[u32]) -> AddressSet {
        let mut set = AddressSet { table: vec![NOTHING; 1 << 16], ..AddressSet::default() };
        let mut runs: Vec<(u16, u16)> = Vec::new();
        let mut of = 0;
        for (&first, &last) in firsts.iter().zip(lasts) {
            for high in first >> 16..=last >> 16 {
                if high != of {
                    set.close(of, &mut runs);
                    of = high;
                }
                let low = if high == first >> 16 { first as u16 } else { 0 };
                let end = if high == last >> 16 { last as u16 } else { u16::MAX };
                runs.push((low, end));
            }
        }
        set.close(of, &mut runs);
        set.chunks.shrink_to_fit();
        set
    }

    fn close(&mut self, high: u32, runs: &mut Vec<(u16, u16)>) {
        let place = match runs.as_slice() {
            [] => return,
            [(0, u16::MAX)] => EVERYTHING,
            _ => {
                self.chunks.push(Chunk::of(runs));
                self.chunks.len() as u32 + 1
            }
        };
        self.table[high as usize] = place;
        runs.clear();
    }
}

impl Chunk {
    fn of(runs: &[(u16, u16)]) -> Chunk {
        if runs.len() <= FEW {
            return Chunk::Runs(runs.into());
        }
        let mut bits = Box::new([0u64; 1024]);
        for &(first, last) in runs {
            for low in first..=last {
                bits[usize::from(low) / 64] |= 1 << (low % 64);
            }
        }
        Chunk::Bits(bits)
    }
}

impl FromIterator<Ipv4Range> for AddressSet {
    fn from_iter<I: IntoIterator<Item = Ipv4Range>>(ranges: I) -> AddressSet {
        let mut ranges: Vec<Ipv4Range> = ranges.into_iter().collect();
        ranges.sort_unstable_by_key(|range| range.first());
        let mut set = AddressSet::default();
        for range in ranges {
            match set.lasts.last_mut() {
                Some(last) if range.first() <= last.saturating_add(1) => {
                    *last = (*last).max(range.last());
                }
                _ => {
                    set.firsts.push(range.first());
                    set.lasts.push(range.last());
                }
            }
        }
        if set.firsts.len() > FEW {
            return AddressSet::chunked(&set.firsts, &set.lasts);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn contains_what_a_range_contains(
            ranges in prop::collection::vec((0u32..300, 0u32..40), 0..12),
            top in any::<bool>(),
        ) {
            // At either end of the address space, where arithmetic would overflow.
            let base = if top { u32::MAX - 340 } else { 0 };
            let range = |&(a, n): &(u32, u32)| Ipv4Range::new(base + a, base + a + n).unwrap();
            let ranges: Vec<Ipv4Range> = ranges.iter().map(range).collect();
            let set: AddressSet = ranges.iter().copied().collect();
            let chunked = AddressSet::chunked(&set.firsts, &set.lasts);
            for addr in (0..=340).map(|n| base + n).chain([0, 1, u32::MAX]) {
                let want = ranges.iter().any(|range| range.contains(addr));
                prop_assert_eq!(set.contains(addr), want, "{} in {:?}", addr, set);
                prop_assert_eq!(chunked.contains(addr), want, "{} in {:?}", addr, chunked);
            }
            prop_assert_eq!(set.is_empty(), ranges.is_empty());
        }
    }

    #[test]
    fn a_million_entries_take_less_than_24_bytes_each() {
        fn spread(n: u32) -> u32 {
            n.wrapping_mul(0x9e37_79b1)
        }
        fn host(at: u32) -> Ipv4Range {
            Ipv4Range::new(at, at).unwrap()
        }
        // Everywhere; every second address of few networks; networks of all sizes.
        type Nth = fn(u32) -> Ipv4Range;
        let cases: [(&str, Nth); 3] = [
            ("spread", |n| host(spread(n))),
            ("dense", |n| host(0x0a00_0000 + n * 2)),
            ("networks", |n| {
                let first = spread(n) & !0xff;
                Ipv4Range::new(first, first | spread(n) & 0xff).unwrap()
            }),
        ];
        for (name, range) in cases {
            let set: AddressSet = (0..1_000_000).map(range).collect();
            assert!(set.bytes() < 24_000_000, "{name}: {}", set.bytes());
            for n in (0..1_000_000).step_by(997) {
                assert!(set.contains(range(n).first()) && set.contains(range(n).last()), "{name}");
            }
            let outside = (1..10_000).map(|n| 0xc0a8_0001 ^ n);
            let wrong = outside
                .filter(|&at| set.contains(at) && !(0..1_000_000).any(|n| range(n).contains(at)));
            assert_eq!(wrong.take(1).count(), 0, "{name}");
        }
    }

    #[test]
    fn a_range_over_many_chunks() {
        let few = (0..3000u32).map(|n| Ipv4Range::new(n * 4, n * 4).unwrap());
        let wide = [Ipv4Range::new(0x0a00_8000, 0x0a05_0000).unwrap()];
        let set: AddressSet = few.chain(wide).collect();
        let cases = [
            (0x0a00_7fff, false),
            (0x0a00_8000, true),
            (0x0a03_1234, true),
            (0x0a05_0000, true),
            (0x0a05_0001, false),
        ];
        for (address, want) in cases {
            assert_eq!(set.contains(address), want, "{address:x}");
        }
    }
}
