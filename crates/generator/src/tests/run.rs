//! Whole tests in virtual time: every packet accounted for, whatever happened to it.

use super::*;
use measure::Trailer;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_good_cable_loses_nothing() {
    let mut b = Box_::ready();
    let (_, records) =
        b.run("/tool traffic-generator quick tx-template=t packet-size=60 mbps=10 duration=2s");
    let all = total(&records);
    // 10 Mbit/s in packets of 480 bits, for two seconds, the first one at 0.
    assert_eq!(whole(all, "tx-packet"), 41_667, "{all:?}");
    assert_eq!(whole(all, "tx-rate"), 41_667 * 480 / 2);
    for (name, expected) in [
        ("rx-packet", 41_667),
        ("lost-packet", 0),
        ("lost-rate", 0),
        ("rx-ooo", 0),
        ("rx-duplicate", 0),
        ("rx-stale", 0),
        ("rx-bad-csum", 0),
    ] {
        assert_eq!(whole(all, name), expected, "{name} of {all:?}");
    }
    // 5 µs of cable and 576 ns of frame, received up to a step later.
    let (least, most) = (whole(all, "lat-min"), whole(all, "lat-max"));
    assert!(least >= 5_576 && most <= 5_576 + 20_000, "{all:?}");
    assert!((least..=most).contains(&whole(all, "lat-avg")), "{all:?}");
    let seconds: Vec<i64> = records
        .iter()
        .filter(|record| record.get("num") == Some(&Value::Number(0)))
        .filter(|record| matches!(record.get("seq"), Some(Value::Number(_))))
        .map(|record| whole(record, "tx-packet"))
        .collect();
    assert_eq!(seconds.len(), 2, "{records:?}");
    assert_eq!(seconds.iter().sum::<i64>(), 41_667);
    assert!(!b.generator.is_running());
    b.close();
}

/// The faults that struck are those that are counted.
fn harmed(faults: Faults, check: impl FnOnce(&Record, FaultCounters)) {
    let mut b = Box_::with(faults);
    b.run(T);
    let (_, records) =
        b.run("/tool traffic-generator quick tx-template=t packet-size=60 pps=50000 duration=1s");
    let all = total(&records);
    assert_eq!(whole(all, "tx-packet"), 50_000);
    check(all, b.struck());
    b.close();
}

#[test]
fn losses_are_exact() {
    harmed(Faults { drop: 0.01, ..Faults::default() }, |all, struck| {
        assert!(struck.dropped > 300, "{struck:?}");
        assert_eq!(whole(all, "lost-packet"), struck.dropped as i64, "{all:?}");
        assert_eq!((whole(all, "rx-ooo"), whole(all, "rx-duplicate")), (0, 0), "{all:?}");
    });
}

#[test]
fn duplicates_are_no_gain() {
    harmed(Faults { duplicate: 0.01, drop: 0.01, ..Faults::default() }, |all, struck| {
        assert!(struck.duplicated > 300, "{struck:?}");
        assert_eq!(whole(all, "rx-duplicate"), struck.duplicated as i64, "{all:?}");
        assert_eq!(whole(all, "lost-packet"), struck.dropped as i64, "{all:?}");
    });
}

#[test]
fn late_ones_are_out_of_order() {
    let faults = Faults { delay: 0.01, delay_by: MS, ..Faults::default() };
    harmed(faults, |all, struck| {
        assert_eq!(whole(all, "lost-packet"), 0, "{all:?}");
        // Those of the last millisecond are overtaken by nobody.
        let overtaken = whole(all, "rx-ooo");
        let least = struck.delayed as i64 - 10;
        assert!((least..=struck.delayed as i64).contains(&overtaken), "{all:?} {struck:?}");
        assert!(whole(all, "lat-max") >= 1_000_000 && whole(all, "jitter") > 10_000, "{all:?}");
    });
}

#[test]
fn damaged_ones_are_lost() {
    harmed(Faults { truncate: 0.01, ..Faults::default() }, |all, struck| {
        assert_eq!(whole(all, "lost-packet"), struck.truncated as i64, "{all:?}");
    });
}

#[test]
fn a_damaged_payload_shows_in_its_checksum() {
    let mut b = Box_::with(Faults { corrupt: 0.02, ..Faults::default() });
    b.run(
        "/tool traffic-generator packet-template
        add name=t interface=ether1 ip-dst=2.2.2.2 compute-checksum-from-offset=14",
    );
    let (_, records) =
        b.run("/tool traffic-generator quick tx-template=t packet-size=200 pps=20000 duration=1s");
    let (all, struck) = (total(&records), b.struck());
    // A byte of the trailer makes it none of ours, one of the Ethernet header shows nowhere.
    let (bad, lost) = (whole(all, "rx-bad-csum"), whole(all, "lost-packet"));
    let unknown: u64 = b.generator.totals().unwrap().unknown.iter().map(|flow| flow.packets).sum();
    assert_eq!(lost, bad + unknown as i64, "{all:?}");
    let expected = struck.corrupted as i64 * 186 / 200;
    assert!((lost - expected).abs() < 30, "{lost} of {struck:?}: {all:?}");
    b.close();
}

#[test]
fn rates_counts_and_sizes() {
    let mut b = Box_::ready();
    let mut sent = |arguments: &str| {
        let (_, records) =
            b.run(&format!("/tool traffic-generator quick tx-template=t {arguments}"));
        let all = total(&records);
        let totals = b.generator.totals().unwrap();
        assert_eq!(whole(all, "lost-packet"), 0, "{arguments}: {all:?}");
        (whole(all, "tx-packet"), totals.total().tx.bytes as i64)
    };
    assert_eq!(sent("pps=1000 duration=1s"), (1000, 1_514_000), "no size: a full frame");
    assert_eq!(sent("pps=1000 packet-size=508 packet-count=7"), (7, 7 * 508));
    assert_eq!(sent("packet-size=60 packet-count=1000"), (1000, 60_000), "at full speed");
    assert_eq!(sent("mbps=8 packet-size=1000 duration=1s"), (1000, 1_000_000));
    assert_eq!(sent("mbps=8 pps=500 packet-size=1000 duration=1s").0, 500, "the lower of the two");
    let (packets, bytes) = sent("pps=20000 packet-size=60-1514 duration=1s");
    assert_eq!(packets, 20_000);
    let mean = bytes / packets;
    assert!((780..795).contains(&mean), "each length as likely as any other: {mean}");
    let (packets, bytes) = sent("mbps=100 packet-size=100-300 duration=1s");
    assert_eq!(packets, 62_500);
    assert!((bytes * 8 - 100_000_000).abs() < 1_000_000, "{bytes}");
    b.close();
}

/// More than the cable carries is not sent, and nothing is lost of what is.
#[test]
fn full_speed_is_the_cables() {
    let mut b = Box_::ready();
    b.step = Duration::from_micros(30);
    let (_, records) =
        b.run("/tool traffic-generator quick tx-template=t packet-size=1514 duration=1s");
    let all = total(&records);
    let packets = whole(all, "tx-packet");
    assert!((81_274..81_275 + 1024 + 2).contains(&packets), "1 Gbit/s and a buffer: {all:?}");
    assert_eq!(whole(all, "lost-packet"), 0, "{all:?}");
    b.close();
}

#[test]
fn streams_are_numbered_in_the_order_given() {
    let mut b = Box_::ready();
    b.run(
        "/tool traffic-generator packet-template
        add name=u interface=ether2 ip-dst=1.1.1.1
        add name=w interface=ether3 ip-gateway=3.3.3.254 ip-dst=9.9.9.9",
    );
    let (_, records) = b.run(
        "/tool traffic-generator quick tx-template=w,t,u packet-size=60,100,200 pps=100,200,300 duration=1s",
    );
    let line = |num: i64| {
        let is = |record: &&Record| record.get("num") == Some(&Value::Number(num));
        let last = records.iter().rev().find(is).unwrap();
        (whole(last, "tx-packet"), whole(last, "rx-packet"))
    };
    assert_eq!([line(0), line(1), line(2)], [(100, 0), (200, 200), (300, 300)]);
    let all = total(&records);
    assert_eq!((whole(all, "tx-packet"), whole(all, "lost-packet")), (600, 100));
    let (_, records) = b.run(
        "/tool traffic-generator quick tx-template=t,u num=7,3 pps=10 packet-size=60 duration=1s",
    );
    let nums: Vec<&Value> = records[..3].iter().filter_map(|record| record.get("num")).collect();
    assert_eq!(nums, [&Value::Number(3), &Value::Number(7), &Value::Text("TOT".to_string())]);
    b.close();
}

/// Frames with trailers that somebody forged, or of another test, change nothing but what they
/// must: those of this test's streams, once each.
#[test]
fn forged_trailers_change_nothing() {
    let mut b = Box_::ready();
    b.run("/tool traffic-generator start tx-template=t packet-size=60 pps=1000 test-id=5");
    b.pass(MS * 20);
    let before = b.generator.totals().unwrap();
    let time = b.now;
    let good = Trailer { stream: 0, test: 5, sequence: 3, time };
    let forged = [
        Trailer { stream: 1, ..good }, // no such stream
        Trailer { stream: 255, ..good },
        Trailer { test: 4, ..good },             // another test
        Trailer { sequence: 1_000_000, ..good }, // never sent
        Trailer { sequence: measure::trailer::SEQUENCE_MAX, ..good },
        Trailer { time: Moment::ZERO, ..good }, // before it began
        Trailer { time: time + Duration::from_secs(3600), ..good },
    ];
    for trailer in forged {
        for len in [18, 60, 1514] {
            let mut frame = vec![0xa5; len];
            frame[len - 18..].copy_from_slice(&trailer.to_bytes());
            b.put(&frame);
        }
    }
    b.put(&[0; 17]);
    b.put(&[]);
    b.pass(MS);
    let after = b.generator.totals().unwrap();
    let others = 3 * forged.len() + 2;
    assert_eq!(b.left.len(), others, "the box has them");
    assert_eq!(after.unknown[2].packets - before.unknown[2].packets, others as u64);
    let stream = &after.streams[0];
    assert_eq!((stream.duplicate, stream.stale, stream.out_of_order), (0, 0, 0));

    let mut frame = vec![0; 60];
    frame[42..].copy_from_slice(&good.to_bytes());
    b.put(&frame);
    b.pass(MS);
    assert_eq!(b.generator.totals().unwrap().streams[0].duplicate, 1, "its number had come");
    b.run("/tool traffic-generator stop");
    b.pass(MS * 10);
    let all = b.generator.totals().unwrap().total();
    assert_eq!((all.lost(), all.tx.packets), (0, all.rx.packets));
    b.close();
}

/// What is lost is known only when the senders have stopped and the rest had two seconds to come.
#[test]
fn lost_is_counted_after_two_seconds() {
    let mut b = Box_::with(Faults { drop: 1.0, ..Faults::default() });
    b.run(T);
    b.run("/tool traffic-generator start tx-template=t packet-size=60 pps=1000 packet-count=10");
    b.pass(MS * 1900);
    assert!(b.generator.is_running());
    b.pass(MS * 200);
    assert!(!b.generator.is_running());
    assert_eq!(b.generator.totals().unwrap().total().lost(), 10);
    b.close();
}
