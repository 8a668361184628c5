//! Made-up tables as large and as uneven as the real one, for benches without a route collector.
//!
//! What makes a look-up cheap or dear is how long the prefixes are and how they cluster, so both
//! follow the real table (901,899 IPv4 prefixes, counted in 2026):
//!
//! ```text
//!  lengths     /24 59.6 %  /22 12.0  /23 10.7  /21 5.6  /20 4.7  /19 2.8  /16 1.5  …  > /24 0.1
//!  clusters    25,398 /16s hold longer ones, 64,989 /18s, 140,640 /20s, 451 /24s
//! ```
//!
//! First the clusters are drawn, each inside one of the next larger, then every route inside a
//! cluster of its kind; a crowded /20 draws more. Seeded: the same arguments give the same table
//! on every machine. Addresses are unicast, without 0/8, 10/8 and 127/8.
//!
//! Tables beyond a few million routes cannot keep the mix (there are not 2 million /19s); what
//! does not fit goes to the longer lengths, in the end to host routes.

use super::NextHopId;
use std::collections::HashSet;
use wire::Ipv4Prefix;

/// Routes of the real table per length, from /8 to /32.
const MIX: [u32; 25] = [
    16, 9, 38, 103, 299, 581, 1203, 2100, 13490, 8235, 13798, 24870, 42611, 50750, 108_623, 96510,
    537_698, 20, 3, 11, 18, 17, 3, 3, 886,
];
/// Their sum.
const REAL: u64 = 901_899;
/// Clusters of the real table: (length, how many hold something longer).
const CLUSTERS: [(u8, u64); 4] = [(16, 25_398), (18, 64_989), (20, 140_640), (24, 451)];

/// A table of `n` different prefixes in address order.
pub fn prefixes(n: usize, seed: u64) -> Vec<Ipv4Prefix> {
    let random = &mut Random(seed);
    // At most three quarters of the possible clusters, so that drawing them comes to an end.
    let many = |i: usize| (CLUSTERS[i].1 * n as u64).div_ceil(REAL) as usize;
    let top: Vec<Ipv4Prefix> = unicast_slash_8s().collect();
    let c16 = within(random, &top, 16, many(0).min(top.len() * 192));
    let c18 = within(random, &c16, 18, many(1).min(c16.len() * 3));
    let c20 = within(random, &c18, 20, many(2).min(c18.len() * 3));
    let c24 = within(random, &c20, 24, many(3).min(c20.len() * 12));
    // A /20 stands in the deck once to 16 times: the crowded ones are drawn more often.
    let deck: Vec<Ipv4Prefix> =
        c20.iter().flat_map(|&c| std::iter::repeat_n(c, 1 << random.below(5))).collect();

    let mut taken = Taken::default();
    // Every cluster first gets one route of its own, of a length that makes it a cluster.
    for (inside, clusters) in [(21..=24, &c20), (25..=32, &c24)] {
        for &cluster in clusters.iter().take(n - taken.routes.len()) {
            let len = random.length(*inside.start(), *inside.end());
            taken.draw(random, &[cluster], len);
        }
    }
    let first = taken.per_len;
    for len in 8..=32u8 {
        let quota = u64::from(MIX[usize::from(len) - 8]) * n as u64 / REAL;
        let from = match len {
            8..=16 => &top,
            17..=18 => &c16,
            19..=20 => &c18,
            21..=24 => &deck,
            _ => &c24,
        };
        for _ in first[usize::from(len) - 8]..quota as usize {
            if taken.routes.len() == n || from.is_empty() || !taken.draw(random, from, len) {
                break;
            }
        }
    }
    // Rounding, and what did not fit.
    for len in [24, 23, 22, 32] {
        while taken.routes.len() < n && taken.draw(random, &deck, len) {}
    }
    taken.routes.sort_unstable();
    taken.routes
}

/// The same with next hops 1 to `next_hops`, each route's drawn by itself. Neighbouring routes of
/// a real router mostly share theirs, so this is the hard case for a table that merges equals.
pub fn routes(n: usize, next_hops: u16, seed: u64) -> Vec<(Ipv4Prefix, NextHopId)> {
    let mut random = Random(!seed);
    let id = |random: &mut Random| NextHopId(1 + random.below(u64::from(next_hops.max(1))) as u32);
    prefixes(n, seed).into_iter().map(|prefix| (prefix, id(&mut random))).collect()
}

/// 1/8 to 223/8 without the private and the loopback one.
fn unicast_slash_8s() -> impl Iterator<Item = Ipv4Prefix> {
    (1..=223).filter(|top| ![10, 127].contains(top)).map(|top: u32| Ipv4Prefix::new(top << 24, 8))
}

/// `n` different prefixes of `len` bits, each within one of `parents`.
fn within(random: &mut Random, parents: &[Ipv4Prefix], len: u8, n: usize) -> Vec<Ipv4Prefix> {
    let mut chosen = Taken::default();
    // Each parent is to hold one, else it would be no cluster.
    for parent in parents.iter().take(n) {
        chosen.draw(random, &[*parent], len);
    }
    while chosen.routes.len() < n && chosen.draw(random, parents, len) {}
    chosen.routes
}

/// The routes drawn so far.
#[derive(Default)]
struct Taken {
    routes: Vec<Ipv4Prefix>,
    /// From /8 to /32, as [`MIX`].
    per_len: [usize; 25],
    /// A bit for each prefix up to /24: most of the draws, and a hash set takes ten times as long.
    bits: Vec<u64>,
    hosts: HashSet<Ipv4Prefix>,
}

impl Taken {
    /// Draws a route of `len` bits in one of `from`; false if 200 attempts found only taken ones.
    fn draw(&mut self, random: &mut Random, from: &[Ipv4Prefix], len: u8) -> bool {
        for _ in 0..200 {
            let Some(parent) = from.get(random.below(from.len() as u64) as usize) else { break };
            let addr = parent.bits() | random.next() as u32 & !wire::prefix::mask(parent.len());
            let prefix = Ipv4Prefix::new(addr, len);
            if self.is_new(prefix) {
                self.routes.push(prefix);
                self.per_len[usize::from(len.max(8)) - 8] += 1;
                return true;
            }
        }
        false
    }

    fn is_new(&mut self, prefix: Ipv4Prefix) -> bool {
        if prefix.len() > 24 {
            return self.hosts.insert(prefix);
        }
        self.bits.resize(1 << 19, 0);
        let at = (1u32 << prefix.len() | prefix.bits() >> (32 - prefix.len())) as usize;
        let bit = 1 << (at % 64);
        let new = self.bits[at / 64] & bit == 0;
        self.bits[at / 64] |= bit;
        new
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): eight bytes of state and good enough for a table.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, or 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A length from `min` to `max`, as often as in the real table.
    fn length(&mut self, min: u8, max: u8) -> u8 {
        let weights = &MIX[usize::from(min) - 8..=usize::from(max) - 8];
        let mut at = self.below(weights.iter().map(|&w| u64::from(w)).sum());
        for (len, &weight) in (min..).zip(weights) {
            match at.checked_sub(weight.into()) {
                Some(rest) => at = rest,
                None => return len,
            }
        }
        max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many clusters of `len` bits hold something longer.
    fn clusters(prefixes: &[Ipv4Prefix], len: u8) -> usize {
        let longer = prefixes.iter().filter(|p| p.len() > len);
        longer.map(|p| p.bits() >> (32 - len)).collect::<HashSet<_>>().len()
    }

    #[test]
    fn looks_like_the_real_table() {
        let table = prefixes(REAL as usize, 1);
        assert_eq!(table.len(), REAL as usize);
        assert!(table.is_sorted_by(|a, b| a < b), "in order, none twice");
        let check = |what: &str, ours: usize, real: u64, percent: u64| {
            let off = (ours as u64).abs_diff(real);
            assert!(off * 100 <= real * percent, "{what}: {ours}, in the real table {real}");
        };
        for (len, n) in CLUSTERS {
            check(&format!("clusters /{len}"), clusters(&table, len), n, 5);
        }
        for (len, &n) in (8..).zip(&MIX) {
            let ours = table.iter().filter(|p| p.len() == len).count();
            if n > 1000 {
                check(&format!("/{len}"), ours, n.into(), 2);
            }
        }
    }

    #[test]
    fn any_size_is_met_and_repeatable() {
        for n in [0, 1, 2, 100, 5_000, 1_500_000] {
            assert_eq!(prefixes(n, 7).len(), n, "{n} routes");
        }
        assert_eq!(routes(3_000, 4, 7), routes(3_000, 4, 7));
        assert_ne!(prefixes(3_000, 7), prefixes(3_000, 8));
        let ids: HashSet<u32> = routes(3_000, 4, 7).iter().map(|(_, id)| id.0).collect();
        assert_eq!(ids, HashSet::from([1, 2, 3, 4]));
    }
}
