//! The forwarding table against a table that cannot be wrong: a map of routes and a search of it.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::Ipv4Prefix;

/// Longest match the slow way.
#[derive(Default)]
struct Oracle(BTreeMap<Ipv4Prefix, NextHopId>);

impl Oracle {
    fn set(&mut self, prefix: Ipv4Prefix, id: NextHopId) -> Option<NextHopId> {
        if id == NextHopId::NONE { self.0.remove(&prefix) } else { self.0.insert(prefix, id) }
    }

    fn covering(&self, addr: u32) -> Option<(Ipv4Prefix, NextHopId)> {
        let at = |len| self.0.get_key_value(&Ipv4Prefix::new(addr, len)).map(|(&p, &id)| (p, id));
        (0..=32).rev().find_map(at)
    }

    /// Where look-ups may change: the edges of every route, and just outside.
    fn edges(&self) -> Vec<u32> {
        let of = |p: &Ipv4Prefix| {
            [p.bits(), p.last(), p.bits().wrapping_sub(1), p.last().wrapping_add(1)]
        };
        self.0.keys().flat_map(of).collect()
    }
}

/// Compares look-ups, one by one and in batches, and the listing.
fn agree(fib: &Fib, oracle: &Oracle, probes: &[u32]) -> Result<(), TestCaseError> {
    lookups_agree(fib, oracle, probes)?;
    let listed: Vec<_> = fib.iter().collect();
    let expected: Vec<_> = oracle.0.iter().map(|(&p, &id)| (p, id)).collect();
    prop_assert_eq!(listed, expected);
    prop_assert_eq!(fib.len(), oracle.0.len());
    // Changed in place or built at once, the trie is the same: nothing is left lying about.
    let fresh: Fib = fib.iter().collect();
    prop_assert_eq!(fib.trie.used(), fresh.trie.used(), "words of {:?}", fib);
    Ok(())
}

fn lookups_agree(fib: &Fib, oracle: &Oracle, probes: &[u32]) -> Result<(), TestCaseError> {
    for &addr in probes {
        let expected = oracle.covering(addr);
        prop_assert_eq!(fib.covering(addr), expected, "covering {:08x} in {:?}", addr, fib);
        let id = expected.map_or(NextHopId::NONE, |(_, id)| id);
        prop_assert_eq!(fib.lookup(addr), id, "look-up of {:08x} in {:?}", addr, fib);
    }
    for len in [1, 2, 63, 64, 65, probes.len()] {
        for probes in probes.chunks(len.max(1)) {
            let mut out = vec![NextHopId(9); probes.len()];
            fib.lookup_batch(probes, &mut out);
            let single: Vec<_> = probes.iter().map(|&addr| fib.lookup(addr)).collect();
            prop_assert_eq!(&out, &single, "batch of {:08x?}", probes);
        }
    }
    Ok(())
}

/// Prefixes that nest and crowd: few different bits, every length.
fn prefix() -> impl Strategy<Value = Ipv4Prefix> {
    let crowded = (0u32..4, 0u32..4, 0u32..4, 0u32..8, 0u8..=32)
        .prop_map(|(a, b, c, d, len)| Ipv4Prefix::new(a << 30 | b << 13 | c << 6 | d, len));
    let hosts =
        (0u32..512, 24u8..=32).prop_map(|(low, len)| Ipv4Prefix::new(0xc0a8_0000 | low, len));
    let anywhere = (any::<u32>(), 0u8..=32).prop_map(|(addr, len)| Ipv4Prefix::new(addr, len));
    prop_oneof![4 => crowded, 3 => hosts, 1 => anywhere]
}

/// Changes: few different next hops, so that equal neighbours merge; 0 removes.
fn changes(n: usize) -> impl Strategy<Value = Vec<(Ipv4Prefix, NextHopId)>> {
    let id = prop_oneof![3 => 0u32..4, 1 => 0u32..1 << NextHopId::BITS].prop_map(NextHopId);
    prop::collection::vec((prefix(), id), 0..n)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn changes_one_by_one(changes in changes(80), probes in prop::collection::vec(any::<u32>(), 20)) {
        let (mut fib, mut oracle) = (Fib::new(), Oracle::default());
        for (prefix, id) in changes {
            prop_assert_eq!(fib.get(prefix), oracle.0.get(&prefix).copied());
            prop_assert_eq!(fib.insert(prefix, id), oracle.set(prefix, id), "set {} to {:?}", prefix, id);
            let near = [prefix.bits(), prefix.last(), prefix.last().wrapping_add(1)];
            for addr in near {
                let id = oracle.covering(addr).map_or(NextHopId::NONE, |(_, id)| id);
                prop_assert_eq!(fib.lookup(addr), id, "{:08x} after {} in {:?}", addr, prefix, fib);
            }
        }
        agree(&fib, &oracle, &[oracle.edges(), probes].concat())?;
    }

    #[test]
    fn changes_all_at_once(first in changes(60), second in changes(60)) {
        let mut oracle = Oracle::default();
        let mut fib: Fib = first.iter().copied().collect();
        for (prefix, id) in first {
            oracle.set(prefix, id);
        }
        agree(&fib, &oracle, &oracle.edges())?;
        fib.extend(second.iter().copied());
        for (prefix, id) in second {
            oracle.set(prefix, id);
        }
        agree(&fib, &oracle, &oracle.edges())?;
        for (&prefix, &id) in &oracle.0 {
            prop_assert_eq!(fib.remove(prefix), Some(id), "{}", prefix);
        }
        prop_assert!(fib.is_empty());
        agree(&fib, &Oracle::default(), &oracle.edges())?;
    }
}

#[test]
fn every_length_begins_and_ends_where_it_should() {
    for addr in [0, 0x0a40_8081, 0xc0a8_01ff, u32::MAX] {
        let (mut fib, mut oracle) = (Fib::new(), Oracle::default());
        let mut set = |prefix, id| {
            assert_eq!(fib.insert(prefix, id), oracle.set(prefix, id), "{prefix} to {id:?}");
            let checked = lookups_agree(&fib, &oracle, &oracle.edges());
            checked.unwrap_or_else(|e| panic!("{prefix} to {id:?}: {e}"));
        };
        for len in 4..=32 {
            let prefix = Ipv4Prefix::new(addr, len);
            set(prefix, NextHopId(7));
            // Inside each shorter one, around each longer one.
            for other in [8, 16, 17, 18, 19, 23, 24, 25, 30, 31, 32] {
                if other != len {
                    let other = Ipv4Prefix::new(addr, other);
                    set(other, NextHopId(8));
                    set(other, NextHopId::NONE);
                }
            }
            set(prefix, NextHopId::NONE);
        }
        for len in (0..=32).chain((0..=32).rev()) {
            set(Ipv4Prefix::new(addr, len), NextHopId(100 + u32::from(len)));
        }
        for len in 0..=32 {
            set(Ipv4Prefix::new(addr, len), NextHopId::NONE);
        }
    }
}

#[test]
fn the_default_route_comes_goes_and_changes() {
    let mut fib: Fib = synthetic::routes(20_000, 5, 3).into_iter().collect();
    let outside = 0x0a01_0203; // 10.1.2.3: the synthetic table leaves 10/8 out
    let inside = fib.iter().next().unwrap().0.bits();
    let before = fib.lookup(inside);
    for id in [1, 2, 65_535, 0, 3] {
        fib.insert(Ipv4Prefix::ALL, NextHopId(id));
        assert_eq!(fib.lookup(outside), NextHopId(id));
        assert_eq!(fib.lookup(inside), before);
    }
    assert_eq!(fib.remove(Ipv4Prefix::ALL), Some(NextHopId(3)));
    assert_eq!(fib.remove(Ipv4Prefix::ALL), None);
    assert_eq!(fib.covering(outside), None);
}

#[test]
fn as_many_next_hops_as_ids() {
    // 131,071 different ones in one /15: full nodes of 64 leaves at every depth, narrow and wide ones.
    const END: u32 = 1 << NextHopId::BITS;
    let host = |i: u32| (Ipv4Prefix::host(0x0a00_0000 | i), NextHopId(i));
    let fib: Fib = (1..END).map(host).collect();
    for i in 0..END {
        assert_eq!(fib.lookup(0x0a00_0000 | i), NextHopId(i));
    }
    let block = |i: u32| (Ipv4Prefix::new(i << 8, 24), NextHopId(i));
    let fib: Fib = (1..END).map(block).collect();
    for i in 0..END {
        assert_eq!(fib.lookup(i << 8 | 77), NextHopId(i));
    }
}

#[test]
fn every_route_of_a_full_slash_18() {
    // All 2^15 - 2 prefixes longer than /18 in one bucket: the largest blocks there are.
    let all = || {
        (19..=32u8).flat_map(|len| {
            (0..1u32 << (len - 18))
                .map(move |i| Ipv4Prefix::new(0xc0a8_0000 | i << (32 - len), len))
        })
    };
    let id = |p: Ipv4Prefix| NextHopId(u32::from((p.bits() as u16 ^ u16::from(p.len()) << 9) | 1));
    let mut fib: Fib = all().map(|p| (p, id(p))).collect();
    assert_eq!(fib.len(), (1 << 15) - 2);
    for addr in 0xc0a8_0000..0xc0a8_4000 {
        assert_eq!(fib.lookup(addr), id(Ipv4Prefix::host(addr)), "{addr:08x}");
    }
    fib.extend(all().map(|p| (p, NextHopId::NONE)));
    assert!(fib.is_empty());
    assert_eq!(fib.lookup(0xc0a8_0000), NextHopId::NONE);
}

#[test]
fn churn_keeps_memory_bounded() {
    let table = synthetic::routes(20_000, 50, 11);
    let mut fib: Fib = table.iter().copied().collect();
    let (loaded, loaded_all) = (fib.bytes(), fib.bytes_with_routes());
    // A quarter of the routes is away at any time, always another; the rest changes next hops.
    let away = table.len() / 4;
    for step in 0..200_000 {
        let (gone, _) = table[step * 7919 % table.len()];
        let (back, id) = table[(step + table.len() - away) * 7919 % table.len()];
        fib.remove(gone);
        fib.insert(back, NextHopId(id.0 + (step % 7) as u32));
    }
    for (prefix, id) in &table {
        fib.insert(*prefix, *id);
    }
    // One block of growth each (128 KiB) for holes that do not fit.
    let (bytes, all) = (fib.bytes(), fib.bytes_with_routes());
    assert!(bytes <= loaded + (128 << 10), "trie grew from {loaded} to {bytes} bytes");
    assert!(all <= loaded_all + (256 << 10), "all grew from {loaded_all} to {all} bytes");
    assert!(fib.iter().eq(table.iter().copied()));
}

#[test]
fn what_is_taken_out_comes_back() {
    let table = synthetic::routes(20_000, 50, 12);
    let mut fib: Fib = Fib::new();
    fib.extend(table.iter().copied());
    let once = fib.bytes_with_routes();
    for _ in 0..5 {
        fib.extend(table.iter().map(|&(prefix, _)| (prefix, NextHopId::NONE)));
        assert!(fib.is_empty());
        fib.extend(table.iter().rev().copied());
    }
    // The free lists' bitmaps may take a few words more than after the first loading.
    let bytes = fib.bytes_with_routes();
    assert!(bytes <= once + 1024, "from {once} to {bytes} bytes, the same routes five times over");
}
