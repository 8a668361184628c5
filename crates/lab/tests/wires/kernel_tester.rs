//! The tester in the kernel on a veth pair without a device: all that is sent comes, both ways.

#![cfg(target_os = "linux")]

#[path = "../../../port/tests/veth/mod.rs"]
mod veth;

use lab::kernel_tester::KernelTester;
use measure::{Pick, StreamPlan, Template, Values, Variation};
use std::time::Duration;
use veth::{Veth, sh};
use wire::{FrameLen, PacketRate};

#[test]
fn both_ways_and_exactly() {
    let _turn = crate::turn();
    let Some(pair) = Veth::new() else { return };
    let stream = |id: u8| {
        let fields = vec![(measure::Field::SrcPort, Values::Range(1024, 2047))];
        let variation = Variation::Flows { fields, count: 1000, pick: Pick::InTurn };
        let (template, frame) = (Template::default(), FrameLen::with_fcs(64));
        StreamPlan { id, template, frame, variation, seed: 1 }.build().unwrap()
    };
    let streams = [vec![stream(0), stream(1)], vec![stream(2)]];
    let ends = [(&pair.a, "va"), (&pair.b, "vb")];
    let mut tester = KernelTester::open(ends, &streams).unwrap_or_else(|error| panic!("{error}"));
    for (rate, ms, expected) in [(90_000.0, 100, 9_000), (300_000.0, 50, 15_000)] {
        let duration = Duration::from_millis(ms);
        let ran = tester.trial(Some(PacketRate(rate)), duration).unwrap();
        let counts = ran.counts;
        let all = [counts.intended, counts.sent, counts.received];
        assert_eq!(all, [expected; 3], "{counts:?} {:?}", ran.sent);
        let others = counts.reordered + counts.duplicate + counts.stale + counts.corrupt;
        assert_eq!(others + counts.foreign, 0, "{counts:?}");
        let by_end = ran.came.map(|count| count.streams.iter().map(|t| t.received).sum::<u64>());
        assert_eq!(by_end, [expected / 3, expected / 3 * 2]);
        assert!(!ran.latency.is_empty() && ran.latency.min() > 0);
    }
    // A virtual machine that stands still for 20 ms is seen: a schedule of no more is over by then.
    let full = tester.trial(None, Duration::from_millis(250)).unwrap();
    let (sent, received) = (&full.sent, full.counts.received);
    assert!(received > 0 && received == sent.accepted, "{:?} {sent:?}", full.counts);
    assert_eq!(full.counts.sent, sent.accepted + sent.refused, "{sent:?}");
    drop(tester);
    for (namespace, name) in ends {
        // (A busy kernel takes a while to let a program go.)
        let link = || sh(namespace, &format!("ip link show {name}"));
        let is_there = |_: &u32| {
            std::thread::sleep(Duration::from_millis(50));
            link().contains("xdp")
        };
        assert!((0..100).take_while(is_there).count() < 100, "{}", link());
    }
}
