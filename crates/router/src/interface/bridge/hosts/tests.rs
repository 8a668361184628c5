//! The table against a plain map, and the promises it makes beyond one.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

const PORT: fn(u32) -> InterfaceId = InterfaceId;

#[derive(Clone, Debug)]
enum Op {
    Learn { mac: u64, port: u32 },
    Lookup { mac: u64 },
    RemovePort(u32),
    Local(Vec<(u64, u32)>),
    Wait(u32),
    Sweep,
}

/// Few addresses, so that operations meet; group addresses and zero among them.
fn mac() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (0u64..300).prop_map(|n| 0x0200_0000_0000 + n),
        1 => Just(0),
        1 => Just(0x0100_5e00_0001),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => (mac(), 1u32..6).prop_map(|(mac, port)| Op::Learn { mac, port }),
        4 => mac().prop_map(|mac| Op::Lookup { mac }),
        1 => (1u32..6).prop_map(Op::RemovePort),
        1 => prop::collection::vec((mac(), 1u32..6), 0..4).prop_map(Op::Local),
        3 => (0u32..4000).prop_map(Op::Wait),
        2 => Just(Op::Sweep),
    ]
}

proptest! {
    #[test]
    fn answers_as_a_map_does(ops in prop::collection::vec(op(), 1..400), seed: u64, start: u32) {
        const AGEING: u32 = 10_000;
        let mut hosts = Hosts::new(seed, MAX_HOSTS);
        // The map: where, local, and when last heard of.
        let mut model: HashMap<u64, (u32, bool, u32)> = HashMap::new();
        let mut now = start;
        for op in ops {
            match op {
                Op::Learn { mac, port } => {
                    let group = mac == 0 || mac >> 40 & 1 == 1;
                    let expected = match model.get(&mac) {
                        _ if group => Learnt::Refused,
                        None => Learnt::New,
                        Some(&(_, true, _)) => Learnt::Own,
                        Some(&(p, ..)) if p == port => Learnt::Known,
                        Some(_) => Learnt::Moved,
                    };
                    prop_assert_eq!(hosts.learn(mac, PORT(port), now), expected);
                    if !matches!(expected, Learnt::Refused | Learnt::Own) {
                        model.insert(mac, (port, false, now));
                    }
                }
                Op::Lookup { mac } => {
                    let expected =
                        model.get(&mac).map(|&(port, local, _)| Host { port: PORT(port), local });
                    prop_assert_eq!(hosts.lookup(mac), expected);
                }
                Op::RemovePort(port) => {
                    hosts.remove_port(PORT(port));
                    model.retain(|_, &mut (p, local, _)| local || p != port);
                }
                Op::Local(addresses) => {
                    hosts.set_local(
                        addresses.iter().map(|&(mac, port)| (MacAddr::from_u64(mac), PORT(port))),
                    );
                    model.retain(|_, &mut (_, local, _)| !local);
                    for (mac, port) in addresses {
                        if mac != 0 && !model.get(&mac).is_some_and(|&(_, local, _)| local) {
                            model.insert(mac, (port, true, now));
                        }
                    }
                }
                Op::Wait(ms) => now = now.wrapping_add(ms),
                Op::Sweep => {
                    hosts.age(now, AGEING, usize::MAX / 2);
                    // Never early, at most a second late.
                    model.retain(|&mac, &mut (_, local, seen)| {
                        let silent = now.wrapping_sub(seen);
                        let lives = hosts.lookup(mac).is_some();
                        if local || silent < AGEING {
                            assert!(lives, "{mac:x} silent for {silent} ms was forgotten");
                        } else if silent > AGEING + STAMP {
                            assert!(!lives, "{mac:x} silent for {silent} ms is still there");
                        }
                        lives
                    });
                }
            }
            prop_assert_eq!(hosts.len(), model.len());
        }
        let mut rows: Vec<_> =
            hosts.rows(now).map(|row| (row.mac.to_u64(), row.host.port.0, row.host.local)).collect();
        let mut expected: Vec<_> = model.iter().map(|(&mac, &(p, local, _))| (mac, p, local)).collect();
        rows.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(rows, expected);
    }
}

#[test]
fn every_host_up_to_the_limit_is_learnt_and_no_more() {
    for (seed, max) in [(0, 1), (1, 1000), (2, 5000), (u64::MAX, 50_000)] {
        let mut hosts = Hosts::new(seed, max);
        for n in 0..max as u64 {
            let learnt = hosts.learn(0x0200_0000_0000 + n, PORT(1), 0);
            assert_eq!(learnt, Learnt::New, "host {n} of {max}, seed {seed}");
        }
        for n in 0..100 {
            assert_eq!(hosts.learn(0x0600_0000_0000 + n, PORT(1), 0), Learnt::Refused);
        }
        assert_eq!((hosts.len(), hosts.refused()), (max, 100));
        for n in 0..max as u64 {
            assert!(hosts.lookup(0x0200_0000_0000 + n).is_some(), "host {n} of {max}");
        }
        // The table stays in proportion: a place is 16 bytes.
        assert!(hosts.bytes() <= 1024 + max * 16 * 8, "{} B for {max} hosts", hosts.bytes());
    }
}

#[test]
fn addresses_made_to_collide_do_not_grow_the_table() {
    let mut hosts = Hosts::new(7, MAX_HOSTS);
    let probe = Hosts::new(7, MAX_HOSTS);
    // The sender knows the seed: all his addresses belong into the first table's bucket 3.
    let evil: Vec<u64> = (1..1u64 << 20).filter(|&mac| probe.places(mac).0 == 3).collect();
    let mut grown = Hosts { buckets: vec![Bucket::default(); 1024], shift: 54, ..probe };
    let evil_there: Vec<u64> = evil
        .iter()
        .copied()
        .filter(|&mac| grown.places(mac).0 == grown.places(evil[0]).0)
        .collect();
    let same: Vec<u64> = evil_there
        .iter()
        .copied()
        .filter(|&mac| grown.places(mac).1 >> 5 == grown.places(evil[0]).1 >> 5)
        .collect();
    assert!(same.len() > 12, "{}", same.len());
    for &mac in &evil {
        hosts.learn(mac, PORT(1), 0);
        grown.learn(mac, PORT(1), 0);
    }
    assert!(hosts.bytes() <= 16 * 8 * evil.len(), "{} B", hosts.bytes());
    // The router's own address finds a place all the same.
    for &mac in &same {
        let own = MacAddr::from_u64(mac);
        grown.set_local([(own, PORT(9))]);
        assert_eq!(grown.lookup(mac), Some(Host { port: PORT(9), local: true }));
    }
}

#[test]
fn the_sweep_keeps_to_its_budget_and_sees_everything() {
    let mut hosts = Hosts::new(3, MAX_HOSTS);
    for n in 0..1000 {
        hosts.learn(0x0200_0000_0000 + n, PORT(1), 0);
    }
    let places = hosts.bytes() / 16;
    let mut sweeps = 0;
    while !hosts.is_empty() {
        let aged = hosts.age(301_000, 300_000, 64);
        assert!(aged <= 64, "{aged}");
        sweeps += 1;
        assert!(sweeps <= places / 64, "{} left after {sweeps} sweeps", hosts.len());
    }
}
