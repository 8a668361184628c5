//! Which queue a packet belongs to: tables, and a walk of the list as the oracle.

use super::*;
use crate::interface::InterfaceKind;
use crate::queue::Direction;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn names() -> Names {
    let mut names = Names::default();
    for n in 1..=4 {
        names.insert(format!("ether{n}"), InterfaceId(n), InterfaceKind::Ethernet);
    }
    names
}

fn value(text: &str) -> Value {
    match text.parse::<Ipv4Prefix>() {
        Ok(prefix) => Value::Cidr(prefix.bits().into(), prefix.len()),
        Err(_) => Value::Text(text.into()),
    }
}

/// Queues as `target[ dst]`, targets separated by commas.
fn compile(queues: &[impl AsRef<str>]) -> (Simple, Vec<[QueueLeafId; 2]>) {
    let mut tree = Tree::default();
    let mut book = Book::<QueueId>::default();
    let mut leaves = Vec::new();
    for queue in queues {
        let (target, dst) = queue.as_ref().split_once(' ').unwrap_or((queue.as_ref(), ""));
        let mut values = BTreeMap::new();
        values.insert("target", Value::List(target.split(',').map(value).collect()));
        if !dst.is_empty() {
            values.insert("dst", value(dst));
        }
        leaves.push(book.of(tree.push(&menu::SIMPLE, values)).leaves());
    }
    (Simple::compile(&tree, &names(), &mut book), leaves)
}

/// A packet as `src dst in out`, found in queue n (from 0) as `n up`, `n down` or `none`.
fn check(queues: &[&str], packets: &[(&str, &str)]) {
    let (simple, leaves) = compile(queues);
    for (packet, expected) in packets {
        let words: Vec<&str> = packet.split(' ').collect();
        let addr = |i: usize| words[i].parse::<std::net::Ipv4Addr>().unwrap().into();
        let interface = |i: usize| InterfaceId(words[i].parse().unwrap());
        let found = simple.classify(addr(0), addr(1), interface(2), interface(3));
        let found = found.map_or("none".to_string(), |id| {
            let queue = leaves.iter().position(|pair| pair.contains(&id)).unwrap();
            match id.direction() {
                Direction::Upload => format!("{queue} up"),
                Direction::Download => format!("{queue} down"),
            }
        });
        assert_eq!(&found, expected, "{packet} in {queues:?}: {simple:#?}");
    }
}

#[test]
fn the_first_match_in_order_wins() {
    check(
        &["10.0.0.2", "10.0.0.0/24", "10.0.0.3", "ether3", "0.0.0.0/0"],
        &[
            ("10.0.0.2 8.8.8.8 1 2", "0 up"),
            ("8.8.8.8 10.0.0.2 2 1", "0 down"),
            // Shadowed by the network before it.
            ("10.0.0.3 8.8.8.8 1 2", "1 up"),
            // Both match: the smaller order, whatever the direction.
            ("10.0.0.9 10.0.0.2 1 1", "0 down"),
            ("10.0.0.2 10.0.0.9 1 1", "0 up"),
            // Between two targets of one queue: upload.
            ("10.0.0.8 10.0.0.9 1 1", "1 up"),
            ("9.9.9.9 8.8.8.8 3 2", "3 up"),
            ("9.9.9.9 8.8.8.8 2 3", "3 down"),
            ("9.9.9.9 8.8.8.8 2 1", "4 up"),
        ],
    );
}

#[test]
fn dst_tells_queues_of_one_target_apart() {
    check(
        &["10.0.0.2 20.0.0.0/8", "10.0.0.2 ether4", "10.0.0.2,10.0.0.7", "10.0.0.2"],
        &[
            ("10.0.0.2 20.1.1.1 1 2", "0 up"),
            ("20.1.1.1 10.0.0.2 2 1", "0 down"),
            ("10.0.0.2 8.8.8.8 1 4", "1 up"),
            ("8.8.8.8 10.0.0.2 4 1", "1 down"),
            ("10.0.0.2 8.8.8.8 1 2", "2 up"),
            ("8.8.8.8 10.0.0.7 1 2", "2 down"),
            ("8.8.8.8 9.9.9.9 1 4", "none"),
        ],
    );
}

#[test]
fn a_queue_for_nobody_is_invalid_and_says_why() {
    let (simple, leaves) = compile(&["ether9", "10.0.0.2 ether9", "10.0.0.2"]);
    let reasons: Vec<_> = simple.invalid().iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(reasons, ["no interface ether9"; 2]);
    let none = InterfaceId::NONE;
    assert_eq!(simple.classify(0x0a00_0002, 0, none, none), Some(leaves[2][0]));
    assert_eq!(simple.classify(0, 0, none, none), None);
    assert!(!simple.is_empty() && Simple::default().is_empty());
}

fn prefix() -> impl Strategy<Value = Ipv4Prefix> {
    // Few bits that differ, so that prefixes nest.
    (0u32..64, prop_oneof![Just(0u8), Just(24), 28u8..=32])
        .prop_map(|(host, len)| Ipv4Prefix::new(0x0a00_0000 + host, len))
}

fn target_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prefix().prop_map(|prefix| prefix.to_string()),
        1 => (1u16..4).prop_map(|n| format!("ether{n}")),
    ]
}

proptest! {
    #[test]
    fn finds_what_a_walk_finds(
        queues in prop::collection::vec(
            (prop::collection::vec(target_text(), 1..3), prop::option::of(target_text())), 0..20),
        packets in prop::collection::vec((0u32..64, 0u32..64, 1u16..4, 1u16..4), 1..40),
    ) {
        let texts: Vec<String> = queues
            .iter()
            .map(|(targets, dst)| format!("{} {}", targets.join(","), dst.as_deref().unwrap_or("")))
            .collect();
        let (simple, leaves) = compile(&texts);
        let holds = |target: &str, addr: u32, interface: u16| match target.parse::<Ipv4Prefix>() {
            Ok(prefix) => prefix.contains(addr),
            Err(_) => target == format!("ether{interface}"),
        };
        for (src, dst, from, to) in packets {
            let (src, dst) = (0x0a00_0000 + src, 0x0a00_0000 + dst);
            let mut expected = None;
            for (n, (targets, other)) in queues.iter().enumerate() {
                let one_way = |here, here_if, there, there_if| {
                    targets.iter().any(|target| holds(target, here, here_if))
                        && other.as_deref().is_none_or(|other| holds(other, there, there_if))
                };
                if one_way(src, from, dst, to) {
                    expected = Some(leaves[n][0]);
                } else if one_way(dst, to, src, from) {
                    expected = Some(leaves[n][1]);
                }
                if expected.is_some() {
                    break;
                }
            }
            let found = simple.classify(src, dst, InterfaceId(from), InterfaceId(to));
            prop_assert_eq!(found, expected, "{:?}", texts);
        }
    }
}

/// 25,000 queues of one client each: what they take beside their leaves.
#[test]
fn twenty_five_thousand_queues_are_small() {
    let texts: Vec<String> =
        (0..25_000u32).map(|n| std::net::Ipv4Addr::from(0x0404_0000 + n).to_string()).collect();
    let (simple, leaves) = compile(&texts);
    for n in 0..25_000u32 {
        let found = simple.classify(0x0404_0000 + n, 1, InterfaceId(1), InterfaceId(2));
        assert_eq!(found, Some(leaves[n as usize][0]));
    }
    assert!(simple.bytes() <= 25_000 * 192, "{} B", simple.bytes());
}
