//! The flow table against a hash map.

use super::*;
use crate::firewall::connection::flow::Full;
use proptest::prelude::*;
use std::collections::HashMap;

fn tuple(n: u32) -> FiveTuple {
    udp(CLIENT + n / 50_000, (n % 50_000) as u16, SERVER, 53)
}

fn flow(n: u32) -> Flow {
    Flow::new(tuple(n), tuple(n), Direction::Original, ConnectionId(n))
}

/// What a batch does: bucket, candidate, flow, exact.
fn probe(table: &FlowTable, tuple: &FiveTuple) -> Option<FlowId> {
    let hash = tuple.hash();
    table.prefetch_bucket(hash);
    let candidate = table.candidate(hash);
    let exact = table.find(hash, tuple);
    assert!(candidate.is_some() || exact.is_none(), "no candidate is certain");
    let found = candidate.and_then(|candidate| {
        table.prefetch_flow(candidate);
        table.confirm(candidate, hash, tuple).map(|(id, _)| id)
    });
    assert_eq!(found, exact);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn same_as_a_hash_map(ops in prop::collection::vec((any::<bool>(), 0u32..600), 0..4000)) {
        // Three removals in four would empty it: insert what is not there, remove what is.
        let mut table = FlowTable::new(500);
        let mut oracle: HashMap<FiveTuple, FlowId> = HashMap::new();
        for (remove, n) in ops {
            let known = oracle.get(&tuple(n)).copied();
            prop_assert_eq!(probe(&table, &tuple(n)), known);
            match known {
                Some(id) if remove => {
                    table.remove(id);
                    oracle.remove(&tuple(n));
                }
                None if !remove || n % 4 == 0 => match table.insert(flow(n)) {
                    Ok(id) => {
                        oracle.insert(tuple(n), id);
                    }
                    Err(Full) => prop_assert_eq!(oracle.len(), 500),
                },
                _ => {}
            }
            prop_assert_eq!(table.len(), oracle.len());
        }
        for (tuple, &id) in &oracle {
            prop_assert_eq!(probe(&table, tuple), Some(id));
            prop_assert_eq!(table.flow(id).tuple(), *tuple);
        }
    }
}

#[test]
fn grows_with_its_flows_and_loses_none() {
    let mut table = FlowTable::new(300_000);
    let empty = table.bytes();
    for n in 0..150_000 {
        table.insert(flow(n)).unwrap();
        if n % 3 == 0 {
            let gone = n / 2; // also while a larger index is being built
            if let Some(id) = table.find(tuple(gone).hash(), &tuple(gone)) {
                table.remove(id);
                assert_eq!(probe(&table, &tuple(gone)), None);
            }
        }
    }
    let lost = (75_000..150_000).filter(|&n| probe(&table, &tuple(n)).is_none()).count();
    assert_eq!(lost, 0);
    assert!((300_000..400_000).all(|n| probe(&table, &tuple(n)).is_none()));
    let index = table.bytes() - empty - table.end() as usize * 64;
    assert!(index <= table.len() * 32, "{index} bytes of index for {} flows", table.len());
}

#[test]
fn crafted_tuples_are_refused_not_slow() {
    // Tuples that agree in the 22 bits that matter to a small table.
    let mask = 0xffff_003f;
    let wanted = tuple(0).hash() & mask;
    let alike = (0..u32::MAX).map(|n| udp(n, 1, SERVER, 53)).filter(|t| t.hash() & mask == wanted);
    let mut table = FlowTable::new(1000);
    let results: Vec<_> = alike
        .take(18)
        .map(|t| table.insert(Flow::new(t, t, Direction::Original, ConnectionId::NONE)))
        .collect();
    assert!(results[..16].iter().all(Result::is_ok), "{results:?}");
    assert_eq!(results[16..], [Err(Full), Err(Full)]);
    assert_eq!(table.len(), 16);
    assert!(table.insert(flow(77)).is_ok(), "others are not concerned");
}
