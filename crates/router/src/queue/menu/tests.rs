//! `/queue simple` as typed: what is accepted and what it means, what is refused and why.

use super::*;
use crate::interface::bridge::menu::BRIDGE;
use crate::interface::menu::{ETHERNET, INTERFACE};
use config::Interpreter;
use std::collections::BTreeMap;

fn interpreter() -> Interpreter {
    let mut interpreter =
        Interpreter::new([&INTERFACE, &ETHERNET, &BRIDGE, &crate::queue::types::TYPE, &SIMPLE]);
    let values = BTreeMap::from([("name", Value::Text("ether1".into()))]);
    interpreter.tree_mut().push(&ETHERNET, values);
    interpreter
}

/// The limits as `rate/depth in ns/packets`, upload and download.
fn check(line: &str, expected: [&str; 2]) {
    let mut interpreter = interpreter();
    if let Err(error) = interpreter.run(&format!("/queue simple add {line}"), &()) {
        panic!("{line}: {error}");
    }
    let item = &interpreter.tree().items(SIMPLE.path)[0];
    let found = both(item, &Types::default()).unwrap().map(|s| s.limit);
    let found = found.map(|l| format!("{}/{}/{}", l.rate, l.depth_ns, l.packets));
    assert_eq!(found, expected, "{line}");
}

#[test]
fn limits_are_read() {
    for (line, up, down) in [
        ("target=10.0.0.2/32", "0/100000000/10", "0/100000000/10"),
        ("target=ether1 max-limit=1M/2M", "1000000/100000000/10", "2000000/100000000/10"),
        ("target=10.0.0.2 max-limit=512k", "512000/100000000/10", "512000/100000000/10"),
        ("target=10.0.0.0/24,10.0.1.5 bucket-size=10/0.001", "0/10000000000/10", "0/1000000/10"),
        ("target=10.0.0.2 bucket-size=0", "0/0/10", "0/0/10"),
        ("target=10.0.0.2 queue=default/default-small", "0/100000000/50", "0/100000000/10"),
        // What a queue of RouterOS has at its defaults, as `export verbose` writes it.
        (
            "bucket-size=0.1/0.1 burst-limit=0/0 burst-threshold=0/0 burst-time=0s/0s \
             disabled=no limit-at=0/0 max-limit=1M/1M name=queue1 packet-marks=\"\" parent=none \
             priority=8/8 queue=default-small/default-small target=4.4.100.1/32",
            "1000000/100000000/10",
            "1000000/100000000/10",
        ),
    ] {
        check(line, [up, down]);
    }
}

#[test]
fn what_is_missing_is_refused_with_the_reason() {
    for (line, why) in [
        ("max-limit=1M", "target"),
        ("target=10.0.0.2 parent=queue7", "queue7"),
        ("target=10.0.0.2 time=8h-17h", "from-to,days"),
        ("target=10.0.0.2 queue=mine", "mine"),
        ("target=10.0.0.2 bucket-size=11", "from 0 to 10"),
        ("target=10.0.0.2 bucket-size=-1", "from 0 to 10"),
        ("target=10.0.0.2 bucket-size=0.1234567891", "nine decimals"),
        ("target=nowhere", "nowhere"),
    ] {
        let error = interpreter().run(&format!("/queue simple add {line}"), &()).unwrap_err();
        assert!(error.to_string().contains(why), "{line}: {error}");
    }
}

#[test]
fn queues_are_numbered_when_nobody_names_them() {
    let mut interpreter = interpreter();
    for _ in 0..2 {
        interpreter.run("/queue simple add target=10.0.0.2", &()).unwrap();
    }
    let names: Vec<_> =
        interpreter.tree().items(SIMPLE.path).iter().map(|q| q.name("name")).collect();
    assert_eq!(names, ["queue1", "queue2"]);
}
