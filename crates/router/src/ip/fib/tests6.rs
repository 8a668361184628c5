//! The forwarding table of IPv6 against a search of all routes.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::Ipv6Prefix;

type Fib6 = Fib<u128>;
type Routes = BTreeMap<Ipv6Prefix, NextHopId>;

/// A table whose slots are crowded from so many routes on.
fn crowded_from(n: usize) -> Fib6 {
    let mut fib = Fib6::new();
    fib.trie.crowded = n;
    fib
}

/// That many, or few.
fn crowd() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1024usize), 1usize..12]
}

/// The longest match, the slow way.
fn longest(routes: &Routes, address: u128) -> Option<(Ipv6Prefix, NextHopId)> {
    let holds = routes.iter().filter(|(prefix, _)| prefix.contains(address));
    holds.max_by_key(|(prefix, _)| prefix.len()).map(|(&prefix, &id)| (prefix, id))
}

/// Where look-ups may change: the edges of every route, and just outside; and of 2000::/3.
fn edges(routes: &Routes) -> Vec<u128> {
    let all = [Ipv6Prefix::ALL, Ipv6Prefix::new(0x2000 << 112, 3)];
    let ends = routes.keys().chain(&all).flat_map(|prefix| [prefix.bits(), prefix.last()]);
    ends.flat_map(|at| [at.wrapping_sub(1), at, at.wrapping_add(1)]).collect()
}

fn agree(fib: &Fib6, routes: &Routes, more: &[u128]) -> Result<(), TestCaseError> {
    let probes = [&edges(routes), more].concat();
    let expected: Vec<_> = probes.iter().map(|&at| longest(routes, at)).collect();
    let ids: Vec<_> =
        expected.iter().map(|found| found.map_or(NextHopId::NONE, |(_, id)| id)).collect();
    for ((&at, &expected), &id) in probes.iter().zip(&expected).zip(&ids) {
        prop_assert_eq!(fib.covering(at), expected, "covering {:x} in {:?}", at, fib);
        prop_assert_eq!(fib.lookup(at), id, "look-up of {:x} in {:?}", at, fib);
    }
    for len in [1, 63, 64, 65, probes.len()] {
        for (probes, ids) in probes.chunks(len).zip(ids.chunks(len)) {
            let mut out = vec![NextHopId(9); probes.len()];
            fib.lookup_batch(probes, &mut out);
            prop_assert_eq!(&out, ids, "batch of {:x?}", probes);
        }
    }
    prop_assert!(fib.iter().eq(routes.iter().map(|(&p, &id)| (p, id))), "{:?}", fib);
    prop_assert_eq!(fib.len(), routes.len());
    // Changed in place or built at once, the trie is the same: nothing is left lying about.
    let mut fresh = crowded_from(fib.trie.crowded);
    fresh.extend(fib.iter());
    prop_assert_eq!(fib.trie.used(), fresh.trie.used(), "words of {:?}", fib);
    Ok(())
}

/// Prefixes that nest and crowd, of every length; some of them around 2000::/3 and outside it.
fn prefix() -> impl Strategy<Value = Ipv6Prefix> {
    let bits = (0u128..4, 0u128..4, 0u128..4, 0u128..4, 0u128..4);
    let crowded = (bits, 0u8..=128).prop_map(|((a, b, c, d, e), len)| {
        Ipv6Prefix::new(1 << 125 | a << 110 | b << 96 | c << 80 | d << 62 | e, len)
    });
    let sites = (0u128..512, 40u8..=52)
        .prop_map(|(low, len)| Ipv6Prefix::new(0x2001_0db8 << 96 | low << 76, len));
    let short =
        (any::<u8>(), 0u8..=8).prop_map(|(top, len)| Ipv6Prefix::new(u128::from(top) << 120, len));
    let others = prop_oneof![Just(0xfe80u128), Just(0xfc00), Just(0xff02), Just(0), Just(0xffff)];
    let outside = (others, 0u128..4, 0u128..4, 0u8..=128)
        .prop_map(|(top, a, b, len)| Ipv6Prefix::new(top << 112 | a << 63 | b, len));
    let anywhere = (any::<u128>(), 0u8..=128).prop_map(|(bits, len)| Ipv6Prefix::new(bits, len));
    prop_oneof![4 => crowded, 3 => sites, 1 => short, 2 => outside, 1 => anywhere]
}

/// Changes: few different next hops, so that equal neighbours merge; 0 removes.
fn changes(n: usize) -> impl Strategy<Value = Vec<(Ipv6Prefix, NextHopId)>> {
    let id = prop_oneof![3 => 0u32..4, 1 => 0u32..1 << NextHopId::BITS].prop_map(NextHopId);
    prop::collection::vec((prefix(), id), 0..n)
}

fn set(routes: &mut Routes, prefix: Ipv6Prefix, id: NextHopId) -> Option<NextHopId> {
    if id == NextHopId::NONE { routes.remove(&prefix) } else { routes.insert(prefix, id) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn changes_one_by_one(
        changes in changes(60),
        crowd in crowd(),
        more in prop::collection::vec(any::<u128>(), 20),
    ) {
        let (mut fib, mut routes) = (crowded_from(crowd), Routes::new());
        for (prefix, id) in changes {
            prop_assert_eq!(fib.get(prefix), routes.get(&prefix).copied());
            prop_assert_eq!(fib.insert(prefix, id), set(&mut routes, prefix, id), "set {} to {:?}", prefix, id);
            for at in [prefix.bits(), prefix.last(), prefix.last().wrapping_add(1)] {
                let id = longest(&routes, at).map_or(NextHopId::NONE, |(_, id)| id);
                prop_assert_eq!(fib.lookup(at), id, "{:x} after {} in {:?}", at, prefix, fib);
            }
        }
        agree(&fib, &routes, &more)?;
    }

    #[test]
    fn changes_all_at_once(first in changes(60), second in changes(60), crowd in crowd()) {
        let mut routes = Routes::new();
        let mut fib = crowded_from(crowd);
        fib.extend(first.iter().copied());
        for (prefix, id) in first {
            set(&mut routes, prefix, id);
        }
        agree(&fib, &routes, &[])?;
        fib.extend(second.iter().copied());
        for (prefix, id) in second {
            set(&mut routes, prefix, id);
        }
        agree(&fib, &routes, &[])?;
        for (&prefix, &id) in &routes {
            prop_assert_eq!(fib.remove(prefix), Some(id), "{}", prefix);
        }
        prop_assert!(fib.is_empty());
        agree(&fib, &Routes::new(), &edges(&routes))?;
    }
}

#[test]
fn every_length_begins_and_ends_where_it_should() {
    for address in [0, 0x2001_0db8 << 96 | 0x8081, (1 << 126) - 1, 0xfe80 << 112 | 1, u128::MAX] {
        let (mut fib, mut routes) = (Fib6::new(), Routes::new());
        for len in (0..=128).chain((0..=128).rev()) {
            let (prefix, id) = (Ipv6Prefix::new(address, len), NextHopId(100 + u32::from(len)));
            fib.insert(prefix, id);
            routes.insert(prefix, id);
        }
        agree(&fib, &routes, &[]).unwrap_or_else(|error| panic!("{address:x}: {error}"));
        for len in 0..=128 {
            let prefix = Ipv6Prefix::new(address, len);
            assert_eq!(fib.remove(prefix), routes.remove(&prefix), "{prefix}");
            let left = longest(&routes, address).map_or(NextHopId::NONE, |(_, id)| id);
            assert_eq!(fib.lookup(address), left, "without {prefix} and all that hold it");
        }
    }
}

#[test]
fn a_slot_has_room_for_any_number_of_routes() {
    // 40,000 sites of one /18, more than a /18 of IPv4 has addresses.
    let site = |i: u128| Ipv6Prefix::new(0x2a00 << 112 | (i * 7) << 80, 48);
    let fib: Fib6 = (0..40_000).map(|i| (site(i), NextHopId(i as u32 + 1))).collect();
    for i in 0..40_000 {
        assert_eq!(fib.lookup(site(i).last()), NextHopId(i as u32 + 1), "{}", site(i));
        assert_eq!(fib.lookup(site(i).last() + 1), NextHopId::NONE, "behind {}", site(i));
    }
}

#[test]
fn a_route_takes_few_bytes_to_look_up() {
    // The real table of 2026 takes 16.0 bytes a route with 16 next hops drawn at random, the hard
    // case. The made-up one has as many routes but is less clustered, so its nodes leave more holes.
    let fib: Fib6 = synthetic6::routes(160_147, 16, 1).into_iter().collect();
    let bytes = fib.bytes() as f64 / fib.len() as f64;
    assert!(bytes <= 16.5, "{bytes:.2} bytes a route");
    let same: Fib6 = synthetic6::routes(160_147, 1, 1).into_iter().collect();
    assert!(same.bytes() < fib.bytes(), "{} bytes with one next hop", same.bytes());
}

#[test]
fn churn_keeps_memory_bounded() {
    let table = synthetic6::routes(5_000, 50, 11);
    let mut fib: Fib6 = table.iter().copied().collect();
    let loaded = fib.bytes();
    let away = table.len() / 4;
    for step in 0..50_000 {
        let (gone, _) = table[step * 7919 % table.len()];
        let (back, id) = table[(step + table.len() - away) * 7919 % table.len()];
        fib.remove(gone);
        fib.insert(back, NextHopId(id.0 + (step % 7) as u32));
    }
    fib.extend(table.iter().copied());
    // A block of growth for holes that do not fit.
    let bytes = fib.bytes();
    assert!(bytes <= loaded + (128 << 10), "from {loaded} to {bytes} bytes");
    assert!(fib.iter().eq(table.iter().copied()));
}
