//! The generator in the kernel: what leaves a veth pair's end, frame by frame and counted.

use super::veth::{Veth, sh};
use super::{always, capture::Capture};
use port::linux::bpf::generator::{Edit, Pick, Plan, Schedule, Sent, Stream};
use port::linux::bpf::{Generator, Link, Mode, action, clock_ns, interface_index};
use std::time::Duration;
use wire::checksum;

/// Sends a plan from `va` until it is done, at this many frames a second.
fn send(pair: &Veth, plan: Plan, frames: u64, rate: u64) -> Sent {
    let mut generator = pair.a.run(|| Generator::open("va", plan)).unwrap().unwrap();
    let schedule = Schedule {
        pace: Some((rate, 1_000_000_000)),
        start_ns: clock_ns() + 1_000_000,
        duration: Duration::MAX,
        at_most: frames,
    };
    generator.start(schedule);
    // In another thread than it was opened in, and another namespace.
    assert!(generator.run(u64::MAX).unwrap());
    generator.sent()
}

/// Lets `vb` take frames: with a program that passes all on to the stack.
fn pass(pair: &Veth) -> Link {
    let attach = || always(action::PASS)?.attach(interface_index("vb")?, Mode::Native);
    pair.b.run(attach).unwrap().unwrap()
}

/// UDP over IPv4 of so many bytes, every byte told apart by its place.
fn udp(len: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..len).map(|at| at as u8).collect();
    frame[..12].fill(2);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17]);
    frame[16..18].copy_from_slice(&(len as u16 - 14).to_be_bytes());
    frame[38..40].copy_from_slice(&(len as u16 - 34).to_be_bytes());
    frame
}

/// The last 18 bytes: parity, two of the frame's own, number, time.
fn trailer(len: usize) -> Vec<Edit> {
    vec![
        Edit::Parity { at: len - 18, over: len - 18..len, is: 0xb5 },
        Edit::Number { at: len - 16, bytes: 8, first: 0x0700_0000_0000_0000 },
        Edit::Time { at: len - 8, zero_ns: 0 },
    ]
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

#[test]
fn frames_are_as_planned() {
    let Some(pair) = Veth::new() else { return };
    let _pass = pass(&pair);
    // Addresses and ports of three flows; an odd length, and one longer than the code writes.
    let flows: Vec<u8> = (0..36).map(|i| 100 + i).collect();
    let with = |len, more: &[Edit], share| {
        let mut edits = trailer(len);
        edits.extend_from_slice(more);
        edits.extend([Edit::ipv4_checksum(14), Edit::udp_checksum(14, len)]);
        Stream { frame: udp(len), edits, share, out: 0 }
    };
    let values = |pick| Edit::Values { at: 26, bytes: 12, values: flows.clone(), pick };
    let range = Edit::Range { at: 36, bytes: 2, first: 5000, count: 7, pick: Pick::Random(3) };
    let streams = vec![
        with(60, &[values(Pick::InTurn)], 2),
        with(301, &[range], 1),
        with(1514, &[values(Pick::Random(1))], 1),
    ];
    let capture = pair.b.run(|| Capture::open("vb")).unwrap();
    let sent = send(&pair, Plan::new(streams.clone()).unwrap(), 4000, 200_000);
    assert_eq!(sent.made, [2000, 1000, 1000], "{sent:?}");
    assert_eq!((sent.accepted, sent.refused, sent.intended), (4000, 0, 4000), "{sent:?}");

    let frames = capture.frames(4000);
    let mut numbers = [0u64; 3];
    let mut last = 0;
    let mut seen = [[0u32; 7]; 3];
    for (i, frame) in frames.iter().enumerate() {
        let of = [0, 1, 2, 0][i % 4]; // the round of shares 2, 1, 1
        let len = streams[of].frame.len();
        assert_eq!(frame.len(), len, "frame {i}");
        let at = len - 18;
        assert_eq!(frame[at..].iter().fold(0, |all, byte| all ^ byte), 0xb5, "parity of {i}");
        assert_eq!(frame[at + 1], streams[of].frame[at + 1]);
        assert_eq!(number(&frame[at + 2..at + 10]), 7 << 56 | numbers[of], "number of {i}");
        let time = number(&frame[at + 10..]);
        assert!(last <= time && time <= clock_ns(), "time of {i}: {time} after {last}");
        last = time;
        assert!(checksum::is_ok(&frame[14..34]), "IPv4 checksum of {i}: {frame:02x?}");
        let address = |at: usize| number(&frame[at..at + 4]) as u32;
        assert_ne!(frame[40..42], [0, 0]);
        assert!(checksum::udp_ok(address(26), address(30), &frame[34..]), "UDP checksum of {i}");
        if of == 1 {
            seen[1][number(&frame[36..38]) as usize - 5000] += 1;
            assert_eq!(frame[26..36], streams[1].frame[26..36]);
        } else {
            let flow = flows.chunks(12).position(|flow| *flow == frame[26..38]).unwrap();
            assert!(of != 0 || flow as u64 == numbers[0] % 3, "flow {flow} of {i}");
            seen[of][flow] += 1;
        }
        assert_eq!(frame[42..at], streams[of].frame[42..at], "fill of {i}");
        numbers[of] += 1;
    }
    assert_eq!(last, sent.last_ns);
    let even = seen[1].iter().chain(&seen[2][..3]).all(|&n| n > 80);
    assert!(even, "chosen at random, each has its part: {seen:?}");
}

#[test]
fn the_load_is_exact() {
    let Some(pair) = Veth::new() else { return };
    let drop = || always(action::DROP)?.attach(interface_index("vb")?, Mode::Native);
    let _drop = pair.b.run(drop).unwrap().unwrap();
    let plan =
        Plan::new(vec![Stream { frame: udp(60), edits: trailer(60), share: 1, out: 0 }]).unwrap();
    let mut generator = pair.a.run(|| Generator::open("va", plan)).unwrap().unwrap();
    let mut total = 0;
    for (pace, ms, expected) in [
        (Some((100_000, 1_000_000_000)), 50, 5_000),
        (Some((3, 1_000_000)), 10, 30),
        (Some((10, 3_000_000)), 20, 67), // frame 66 is due at 19.8 ms
        (Some((1, 1_000_000_000)), 5, 1),
    ] {
        let start_ns = clock_ns() + 1_000_000;
        let duration = Duration::from_millis(ms);
        generator.start(Schedule { pace, start_ns, duration, at_most: u64::MAX });
        assert!(generator.run(u64::MAX).unwrap());
        let sent = generator.sent();
        assert_eq!(sent.made(), expected, "{pace:?}: {sent:?}");
        assert_eq!((sent.accepted, sent.refused, sent.owed()), (expected, 0, 0), "{sent:?}");
        let last_due = pace.map_or(0, |(frames, ns)| (ns * (expected - 1)).div_ceil(frames));
        assert!(sent.last_ns >= start_ns + last_due, "the last not before its time: {sent:?}");
        assert!(sent.last_ns <= start_ns + last_due + sent.late_ns_max, "{sent:?}");
        total += expected;
    }
    // At full speed a number is a number, too; and what the kernel's own counters say is the same.
    let forever = Duration::from_secs(60);
    generator.start(Schedule { pace: None, start_ns: 0, duration: forever, at_most: 9999 });
    assert!(!generator.run(clock_ns()).unwrap(), "start 0 and a minute are over long ago");
    let start_ns = clock_ns();
    generator.start(Schedule { pace: None, start_ns, duration: forever, at_most: 9999 });
    assert!(generator.run(u64::MAX).unwrap());
    let sent = generator.sent();
    assert_eq!((sent.made(), sent.accepted + sent.refused), (9999, 9999), "{sent:?}");
    // Only ethtool shows those.
    if super::veth::left_out::lacks_in_part(&["ethtool"]) {
        return;
    }
    let [accepted, refused] = ["", "_errors"].map(|what| {
        let counter = format!("ethtool -S va | grep tx_queue_0_xdp_xmit{what}:");
        let line = sh(&pair.a, &counter);
        line.trim().rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    });
    assert_eq!((accepted, refused), (total + sent.accepted, sent.refused), "{sent:?}");
}

#[test]
fn what_a_device_refuses_is_counted() {
    let Some(pair) = Veth::new() else { return };
    let plan =
        |len| Plan::new(vec![Stream { frame: udp(len), edits: vec![], share: 1, out: 0 }]).unwrap();
    let check = |what: &str, len: usize, errors: &[i32]| {
        let sent = send(&pair, plan(len), 100, 1_000_000);
        assert_eq!((sent.made(), sent.accepted, sent.refused), (100, 0, 100), "{what}: {sent:?}");
        assert!(sent.error.is_some_and(|error| errors.contains(&error)), "{what}: {sent:?}");
    };
    check("nobody polls at the far end", 60, &[libc::EOPNOTSUPP, libc::ENXIO]);
    let _pass = pass(&pair);
    check("longer than the MTU allows", 1519, &[libc::EMSGSIZE]);
    sh(&pair.a, "ip link set va down");
    check("down", 60, &[libc::ENETDOWN]);
    sh(&pair.a, "ip link set va up");
    assert_eq!(send(&pair, plan(60), 100, 1_000_000).accepted, 100);

    let mut generator = pair.a.run(|| Generator::open("va", plan(60))).unwrap().unwrap();
    sh(&pair.a, "ip link delete va");
    let start_ns = clock_ns();
    let duration = Duration::from_secs(60);
    generator.start(Schedule { pace: None, start_ns, duration, at_most: 100 });
    assert!(generator.run(u64::MAX).unwrap());
    let sent = generator.sent();
    assert_eq!((sent.refused, sent.error), (100, Some(libc::ENODEV)), "deleted: {sent:?}");
    let Err(gone) = pair.a.run(|| Generator::open("va", plan(60))).unwrap() else { panic!() };
    assert!(gone.to_string().contains("find the interface va"), "{gone}");
}

#[test]
fn streams_leave_by_their_own_interfaces() {
    let (Some(one), Some(other)) = (Veth::new(), Veth::new()) else { return };
    let pairs = [one, other];
    let _pass = pairs.each_ref().map(pass);
    let captures = pairs.each_ref().map(|pair| pair.b.run(|| Capture::open("vb")).unwrap());
    let zero_ns = clock_ns();
    let mut streams: Vec<Stream> = Vec::new();
    for (out, fill, share) in [(0, 7, 1), (1, 8, 2)] {
        let edits = vec![Edit::Time { at: 52, zero_ns }];
        streams.push(Stream { frame: vec![fill; 60], edits, share, out });
    }
    let interfaces = pairs.each_ref().map(|pair| (&pair.a, "va"));
    let plan = Plan::new(streams).unwrap();
    let mut generator = Generator::through(&interfaces, plan).unwrap();
    let duration = Duration::from_secs(60);
    generator.start(Schedule {
        pace: Some((1, 10_000)),
        start_ns: zero_ns,
        duration,
        at_most: 300,
    });
    assert!(generator.run(u64::MAX).unwrap());
    let sent = generator.sent();
    assert_eq!((sent.made.as_slice(), sent.accepted), ([100, 200].as_slice(), 300), "{sent:?}");
    for (capture, (fill, n)) in captures.iter().zip([(7, 100), (8, 200)]) {
        for frame in capture.frames(n) {
            assert_eq!(frame[..52], [fill; 52]);
            let time = number(&frame[52..]);
            assert!(time <= sent.last_ns - zero_ns, "{time} ns after the start");
        }
        assert!(capture.is_empty());
    }
}
