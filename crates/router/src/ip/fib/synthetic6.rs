//! Made-up tables of IPv6 as large and as uneven as the real one, as [`synthetic`](super::synthetic)
//! makes them of IPv4.
//!
//! ```text
//!  lengths     /48 47.1 %  /32 14.1  /44 9.0  /40 8.4  /36 3.7  /29 2.7  /47 2.0  /46 1.9  …  > /48 0.2
//!  clusters    190 /18s hold longer ones, 7,224 /24s, 21,975 /30s, 14,590 /36s, 25,062 /42s, 104 /48s
//! ```
//!
//! Counted in the table of 2026, of 160,147 prefixes, all of them in 2000::/3.

use super::NextHopId;
use super::synthetic::Random;
use std::collections::HashSet;
use wire::Ipv6Prefix;

/// Routes of the real table by length, the rarest left out.
const MIX: [(u8, u32); 31] = [
    (20, 16),
    (24, 30),
    (27, 20),
    (28, 193),
    (29, 4371),
    (30, 650),
    (31, 284),
    (32, 22548),
    (33, 2926),
    (34, 2603),
    (35, 1043),
    (36, 5996),
    (37, 880),
    (38, 1617),
    (39, 1377),
    (40, 13418),
    (41, 903),
    (42, 2301),
    (43, 1001),
    (44, 14365),
    (45, 1553),
    (46, 3039),
    (47, 3153),
    (48, 75488),
    (49, 11),
    (56, 24),
    (58, 20),
    (64, 184),
    (126, 19),
    (127, 42),
    (128, 6),
];
/// Their sum, and that of those left out.
const REAL: u64 = 160_147;
/// Clusters of the real table: (length, how many hold something longer).
const CLUSTERS: [(u8, u64); 6] =
    [(18, 190), (24, 7224), (30, 21_975), (36, 14_590), (42, 25_062), (48, 104)];

/// A table of `n` different prefixes in address order.
pub fn prefixes(n: usize, seed: u64) -> Vec<Ipv6Prefix> {
    let random = &mut Random(seed);
    let many = |of: u64| (of * n as u64).div_ceil(REAL) as usize;
    let mut levels = vec![vec![Ipv6Prefix::new(0x2000 << 112, 3)]];
    for (len, real) in CLUSTERS {
        levels.push(within(random, levels.last().map_or(&[], |level| level), len, many(real)));
    }
    let mut taken = Taken::default();
    for (at, (len, _)) in CLUSTERS.into_iter().enumerate() {
        let clusters = &levels[at + 1];
        let lens = len + 1..=CLUSTERS.get(at + 1).map_or(128, |(next, _)| *next);
        let mix: Vec<_> = MIX.into_iter().filter(|(len, _)| lens.contains(len)).collect();
        // What holds no smaller cluster holds a route.
        for cluster in clusters.iter().skip(levels.get(at + 2).map_or(0, Vec::len)) {
            let of = random.below(mix.iter().map(|(_, share)| u64::from(*share)).sum());
            taken.draw(random, &[*cluster], length(&mix, of));
        }
        // A crowded cluster stands in the deck 256 times, and nearly half of them never do.
        let deck: Vec<_> = clusters
            .iter()
            .flat_map(|&cluster| {
                let times = (1 << (random.below(4) * random.below(4))) >> 1;
                std::iter::repeat_n(cluster, times)
            })
            .collect();
        for (len, share) in mix {
            let quota = (u64::from(share) * n as u64 / REAL) as usize;
            let from = if deck.is_empty() { clusters } else { &deck };
            while taken.per_len[usize::from(len)] < quota && taken.draw(random, from, len) {}
        }
    }
    // What the clusters hold too much of in a small table, and what rounding and the rare lengths leave.
    taken.routes.truncate(n);
    while taken.routes.len() < n {
        taken.draw(random, &levels[CLUSTERS.len()], 128);
    }
    taken.routes.sort_unstable();
    taken.routes
}

/// The same with next hops 1 to `next_hops`, each route's drawn by itself.
pub fn routes(n: usize, next_hops: u16, seed: u64) -> Vec<(Ipv6Prefix, NextHopId)> {
    let mut random = Random(!seed);
    let id = |random: &mut Random| NextHopId(1 + random.below(u64::from(next_hops.max(1))) as u32);
    prefixes(n, seed).into_iter().map(|prefix| (prefix, id(&mut random))).collect()
}

/// `n` different prefixes of `len` bits within `parents`, of which the first have one each.
fn within(random: &mut Random, parents: &[Ipv6Prefix], len: u8, n: usize) -> Vec<Ipv6Prefix> {
    let mut chosen = Taken::default();
    for parent in parents.iter().take(n) {
        chosen.draw(random, &[*parent], len);
    }
    while chosen.routes.len() < n && chosen.draw(random, parents, len) {}
    chosen.routes
}

/// The length that stands at this place, of each as many as its share.
fn length(mix: &[(u8, u32)], mut at: u64) -> u8 {
    let found = mix.iter().find(|(_, share)| {
        let is_it = at < u64::from(*share);
        at = at.saturating_sub((*share).into());
        is_it
    });
    found.map_or(128, |(len, _)| *len)
}

/// The prefixes drawn so far, in the order of drawing.
struct Taken {
    routes: Vec<Ipv6Prefix>,
    known: HashSet<Ipv6Prefix>,
    per_len: [usize; 129],
}

impl Default for Taken {
    fn default() -> Taken {
        Taken { routes: Vec::new(), known: HashSet::new(), per_len: [0; 129] }
    }
}

impl Taken {
    /// Draws a prefix in one of `from`; false if 200 attempts found only taken ones.
    fn draw(&mut self, random: &mut Random, from: &[Ipv6Prefix], len: u8) -> bool {
        (0..200).any(|_| {
            let parent = from[random.below(from.len() as u64) as usize];
            let host = u128::from(random.next()) << 64 | u128::from(random.next());
            let bits = parent.bits() | host & (parent.last() - parent.bits());
            let prefix = Ipv6Prefix::new(bits, len);
            let new = self.known.insert(prefix);
            if new {
                self.routes.push(prefix);
                self.per_len[usize::from(len)] += 1;
            }
            new
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_like_the_real_table() {
        let table = prefixes(REAL as usize, 1);
        assert_eq!(table.len(), REAL as usize);
        assert!(table.is_sorted_by(|a, b| a < b), "in order, none twice");
        let check = |what: &str, ours: usize, real: u64, percent: u64| {
            let off = (ours as u64).abs_diff(real);
            assert!(off * 100 <= real * percent, "{what}: {ours}, in the real table {real}");
        };
        for (len, n) in CLUSTERS.into_iter().filter(|(_, n)| *n > 1000) {
            let longer = table.iter().filter(|p| p.len() > len);
            let ours: HashSet<_> = longer.map(|p| p.bits() >> (128 - len)).collect();
            check(&format!("clusters /{len}"), ours.len(), n, 20);
        }
        for (len, n) in MIX.into_iter().filter(|(_, n)| *n > 1000) {
            let ours = table.iter().filter(|p| p.len() == len).count();
            check(&format!("/{len}"), ours, n.into(), 2);
        }
    }

    #[test]
    fn any_size_is_met_and_repeatable() {
        for n in [0, 1, 2, 100, 5_000] {
            assert_eq!(prefixes(n, 7).len(), n, "{n} routes");
        }
        assert_eq!(routes(3_000, 4, 7), routes(3_000, 4, 7));
        assert_ne!(prefixes(3_000, 7), prefixes(3_000, 8));
    }
}
