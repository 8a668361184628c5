//! Tests of a packet's simple queue: tables, and a walk of the list as the oracle.

use super::*;
use crate::firewall::mark::MarkBook;
use crate::interface::InterfaceKind;
use crate::queue::{Change, Direction, Queues};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::Moment;

fn names() -> Names {
    let mut names = Names::default();
    for n in 1..=4 {
        names.insert(&format!("ether{n}"), InterfaceId(n), InterfaceKind::Ethernet);
    }
    names
}

fn marks() -> MarkNames {
    MarkBook::default().packet
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
    (Simple::compile(&tree, (&names(), &marks()), &Types::default(), &mut book), leaves)
}

/// A packet as `src dst in out`, found in queue n (from 0) as `n up`, `n down` or `none`.
fn check(queues: &[&str], packets: &[(&str, &str)]) {
    let (simple, leaves) = compile(queues);
    for (packet, expected) in packets {
        let words: Vec<&str> = packet.split(' ').collect();
        let addr = |i: usize| u32::from(words[i].parse::<std::net::Ipv4Addr>().unwrap());
        let interface = |i: usize| InterfaceId(words[i].parse().unwrap());
        let found = simple.classify(addr(0), addr(1), interface(2), interface(3), Mark::NONE);
        let found = found.map_or("none".to_string(), |Found { leaf: id, .. }| {
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
    let found = simple.classify(0x0a00_0002u32, 0, none, none, Mark::NONE);
    assert_eq!(found.map(|found| found.leaf), Some(leaves[2][0]));
    assert_eq!(simple.classify(0u32, 0, none, none, Mark::NONE), None);
    assert!(!simple.is_empty() && Simple::default().is_empty());
}

/// Queues as `name parent target[ max-limit limit-at]`.
fn family_tree(queues: &[&str]) -> (Tree, Simple, Book<QueueId>) {
    let (mut tree, mut book) = (Tree::default(), Book::<QueueId>::default());
    for queue in queues {
        let words: Vec<&str> = queue.split(' ').collect();
        let text = |text: &str| Value::Text(text.into());
        let rate = |word: &str| {
            let rate = Value::Rate(word.parse().unwrap());
            Value::Pair(Box::new(rate.clone()), Box::new(rate))
        };
        let mut values = BTreeMap::from([
            ("name", text(words[0])),
            ("parent", text(words[1])),
            ("target", Value::List(vec![value(words[2])])),
        ]);
        for (name, word) in ["max-limit", "limit-at"].into_iter().zip(&words[3..]) {
            values.insert(name, rate(word));
        }
        tree.push(&menu::SIMPLE, values);
    }
    let simple = Simple::compile(&tree, (&names(), &marks()), &Types::default(), &mut book);
    (tree, simple, book)
}

#[test]
fn a_child_has_what_its_parent_has() {
    let (tree, simple, _) = family_tree(&[
        "other none 10.0.9.0/24",
        "lan none 10.0.0.0/16 1000000",
        "client lan 10.0.0.2/32 500000",
        "stranger lan 11.0.0.1/32",
        "floor lan 10.0.1.0/24",
        "desk floor 10.0.1.7/32",
    ]);
    let find = |src: u32, dst: u32| {
        let found = simple.classify(src, dst, InterfaceId(1), InterfaceId(2), Mark::NONE)?;
        let (item, _) = simple.item_of(&tree, found.leaf)?;
        Some((item.name("name").to_string(), found.leaf.direction()))
    };
    let (up, down) = (Direction::Upload, Direction::Download);
    for (src, dst, expected) in [
        (0x0a00_0002, 1, Some(("client", up))),
        (1, 0x0a00_0002, Some(("client", down))),
        // Its own class beside the children: it is theirs of whom nobody else is.
        (0x0a00_0003, 1, Some(("lan", up))),
        (0x0a00_0107, 1, Some(("desk", up))),
        (1, 0x0a00_0108, Some(("floor", down))),
        (0x0a00_0902, 1, Some(("other", up))),
        (0x0b00_0001, 1, None),
    ] {
        let found = find(src, dst);
        let found = found.as_ref().map(|(name, direction)| (name.as_str(), *direction));
        assert_eq!(found, expected, "{src:x} {dst:x}");
    }
    let settings: HashMap<_, _> = simple.classes().collect();
    let class = |name: &str| {
        let at = tree.items(menu::SIMPLE.path).iter().position(|item| item.name("name") == name);
        let queue = simple.index.queues[simple.index.places[at.unwrap()] as usize];
        (queue.id.leaves()[0], settings[&queue.id.leaves()[0]])
    };
    let ((lan, settings), (_, desk)) = (class("lan"), class("desk"));
    assert_eq!((settings.inner, settings.depth, settings.limit.rate), (true, 0, 1_000_000));
    assert_eq!((class("client").1.parent, desk.depth, desk.inner), (Some(lan), 2, false));
}

/// A queue that has hours has its packets then, and the next one at other times.
#[test]
fn queues_have_their_hours() {
    let mut tree = Tree::default();
    for time in ["8h-17h,mon", ""] {
        let mut values = BTreeMap::from([("target", Value::List(vec![value("10.0.0.2")]))]);
        if !time.is_empty() {
            values.insert("time", Value::Text(time.into()));
        }
        tree.push(&menu::SIMPLE, values);
    }
    let mut book = Book::<QueueId>::default();
    let simple = Simple::compile(&tree, (&names(), &marks()), &Types::default(), &mut book);
    let interfaces = (InterfaceId(1), InterfaceId(2));
    for (is_time, expected) in [(true, 0), (false, 2)] {
        let is_now = &mut |_: &Hours| is_time;
        let found = simple.classify_at(0x0a00_0002u32, 1, interfaces, Mark::NONE, is_now);
        assert_eq!(found.map(|found| found.leaf), Some(QueueLeafId(expected)));
    }
}

#[test]
fn families_that_cannot_be_are_invalid() {
    let (tree, simple, _) = family_tree(&[
        "a b 10.0.0.1/32",
        "b a 10.0.0.2/32",
        "c nobody 10.0.0.3/32",
        "d none 10.0.0.4/32 1000 2000",
        "e d 10.0.0.5/32",
        "l0 none 10.0.0.0/8",
        "l1 l0 10.0.0.0/8",
        "l2 l1 10.0.0.0/8",
        "l3 l2 10.0.0.0/8",
        "l4 l3 10.0.0.0/8",
        "l5 l4 10.0.0.0/8",
        "l6 l5 10.0.0.0/8",
        "l7 l6 10.0.0.0/8",
        "l8 l7 10.0.0.0/8",
    ]);
    let name = |id: &ItemId| {
        let item = tree.item(menu::SIMPLE.path, *id);
        item.unwrap().name("name").to_string()
    };
    let invalid: Vec<_> =
        simple.invalid().iter().map(|(id, why)| format!("{}: {why}", name(id))).collect();
    assert_eq!(
        invalid,
        [
            "a: its parents go in a circle",
            "b: its parents go in a circle",
            "c: there is no queue nobody",
            "d: limit-at is above max-limit",
            "e: its parent is invalid",
            "l8: it is below 8 others; 7 may be",
        ]
    );
}

/// An edit of limits finds what compiling everything finds; what is more than that is compiled.
#[test]
fn an_edit_changes_what_is_edited() {
    let queues = ["lan none 10.0.0.0/16 1000000", "client lan 10.0.0.2/32 500000 1000"];
    let (old, simple, mut book) = family_tree(&queues);
    book.take_fresh();
    let client = old.items(menu::SIMPLE.path)[1].id;
    for (line, edits) in [
        ("max-limit=700k", true),
        ("priority=2/3 limit-at=5k", true),
        ("queue=default/hotspot-default", true),
        ("comment=x", true),
        ("target=10.0.0.3/32", false),
        ("parent=none", false),
        ("total-max-limit=1M", false),
        ("disabled=yes", false),
        ("limit-at=1M", false),
    ] {
        let mut console = config::Interpreter::new([
            &crate::interface::menu::ETHERNET,
            &crate::interface::menu::INTERFACE,
            &crate::queue::types::TYPE,
            &menu::SIMPLE,
        ]);
        *console.tree_mut() = old.clone();
        console.run(&format!("/queue simple set client {line}"), &()).unwrap();
        let new = console.tree();
        let edited = simple.edited(&old, new, &Types::default());
        assert_eq!(edited.is_some(), edits, "{line}");
        let Some((edited, changes)) = edited else { continue };
        let mut again = book.clone();
        let whole = Simple::compile(new, (&names(), &marks()), &Types::default(), &mut again);
        let all = |simple: &Simple| simple.classes().collect::<Vec<_>>();
        assert_eq!(all(&edited), all(&whole), "{line}");
        let mut expected = whole.changes_from(&simple, &[]);
        expected.sort_by_key(|(id, _)| *id);
        assert_eq!(changes, expected, "{line}");
        assert!(edited.finds_as(&simple), "{line}: {client:?}");
    }
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
        packets in prop::collection::vec((0u32..64, 0u32..64, 1u32..4, 1u32..4), 1..40),
    ) {
        let texts: Vec<String> = queues
            .iter()
            .map(|(targets, dst)| format!("{} {}", targets.join(","), dst.as_deref().unwrap_or("")))
            .collect();
        let (simple, leaves) = compile(&texts);
        let holds = |target: &str, addr: u32, interface: u32| match target.parse::<Ipv4Prefix>() {
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
            let found = simple.classify(src, dst, InterfaceId(from), InterfaceId(to), Mark::NONE);
            prop_assert_eq!(found.map(|found| found.leaf), expected, "{:?}", texts);
        }
    }
}

/// 25,000 queues of one client each: what they take while they are idle, with the room that a change brings.
#[test]
fn twenty_five_thousand_queues_are_small() {
    let texts: Vec<String> =
        (0..25_000u32).map(|n| std::net::Ipv4Addr::from(0x0404_0000 + n).to_string()).collect();
    let (simple, leaves) = compile(&texts);
    for n in 0..25_000u32 {
        let found = simple.classify(0x0404_0000 + n, 1, InterfaceId(1), InterfaceId(2), Mark::NONE);
        assert_eq!(found.map(|found| found.leaf), Some(leaves[n as usize][0]));
    }
    let mut book = Book::default();
    (0..25_000).for_each(|n| _ = book.of(ItemId(n)));
    let mut change =
        Change::new(simple.changes_from(&Simple::default(), &[]), Vec::new(), &mut book);
    change.make_room();
    let mut queues = Queues::<u32>::default();
    queues.apply(&mut change, Moment::ZERO);
    let (index, leaves) = (simple.bytes(), queues.bytes());
    assert!(index + leaves <= 25_000 * 128, "{index} B to find them, {leaves} B of leaves");
}
