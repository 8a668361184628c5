//! Captures of known frames, and what is counted of them.

use super::*;
use crate::message::error_about;
use wire::{Moment, craft};

/// A frame of ours: its number, and when it was made.
fn ours(stream: u8, sequence: u64, made_ns: u64) -> Vec<u8> {
    let time = Moment::from_nanos(made_ns);
    let trailer = Trailer { stream, test: 0, sequence, time }.to_bytes();
    craft::Frame { payload: &trailer, ..craft::udp(1, 2, 3, 4) }.build()
}

/// One of the kernel's generator, as `net/core/pktgen.c` lays it out.
fn pktgen(number: u32, seconds: u32, micros: u32) -> Vec<u8> {
    of_thread(9, number, seconds, micros)
}

/// The same from another port.
fn of_thread(port: u16, number: u32, seconds: u32, micros: u32) -> Vec<u8> {
    let words = [crate::pktgen::MAGIC, number, seconds, micros];
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    craft::Frame { payload: &payload, ..craft::udp(1, port, 2, 9) }.build()
}

fn survey(frames: &[(u64, Vec<u8>)]) -> Survey {
    let mut survey = Survey::default();
    for (at, bytes) in frames {
        survey.frame(*at, bytes, bytes.len() as u32);
    }
    survey
}

/// Received, missing, duplicate, reordered.
fn counts(seen: &Seen) -> [u64; 4] {
    [seen.received, seen.missing, seen.duplicate, seen.reordered]
}

#[test]
fn loss_order_and_copies() {
    for (numbers, expected) in [
        (&[0, 1, 2, 3][..], [4, 0, 0, 0]),
        // A capture that was begun in the middle.
        (&[700_000, 700_001], [2, 0, 0, 0]),
        (&[0xfff0_0000, 0xfff0_0002], [2, 1, 0, 0]),
        (&[5, 7, 8], [3, 1, 0, 0]),
        (&[0, 2, 1, 2, 4], [4, 1, 1, 1]),
        (&[9, 8, 10], [3, 0, 0, 1]),
    ] {
        let frames: Vec<_> = numbers.iter().map(|&n| (n * 10 + 3, ours(7, n, n * 10))).collect();
        let seen = survey(&frames).capture("", None).runs;
        assert_eq!(seen.len(), 1, "{numbers:?}");
        assert_eq!(counts(&seen[0]), expected, "{numbers:?}");
        assert_eq!((seen[0].bytes, seen[0].run), ((64, 64), 1));
        let delay = Delay { one_clock: true, min_ns: 3, median_ns: 3, p99_ns: 3, max_ns: 3 };
        assert_eq!(seen[0].delay, Some(delay));
        // The kernel's generator says the same in its way.
        let frames: Vec<_> =
            numbers.iter().map(|&n| (n * 1000 + 3, pktgen(n as u32 + 1, 0, n as u32))).collect();
        let theirs = survey(&frames).capture("", None).runs;
        let sender = Sender::Pktgen { which: Thread::Only };
        assert_eq!((theirs.len(), theirs[0].sender, counts(&theirs[0])), (1, sender, expected));
    }
}

#[test]
fn a_trial_begins_its_streams_anew() {
    let run =
        |begin: u64| (0..5).flat_map(move |n| [0, 1].map(|id| (begin + n, ours(id, n, begin + n))));
    let mut frames: Vec<_> = run(100).chain(run(1000)).chain(run(5000)).collect();
    // A late one of the last is no new run.
    frames.swap(26, 28);
    let seen = survey(&frames).capture("", None).runs;
    let told: Vec<_> = seen.iter().map(|one| (one.sender, one.run, counts(one))).collect();
    let all = [0, 1].map(|stream| Sender::Stream { stream, test: 0 });
    let mut expected = vec![];
    for sender in all {
        for n in 1..=3 {
            let late = u64::from(sender == all[0] && n == 3);
            expected.push((sender, n, [5, 0, 0, late]));
        }
    }
    assert_eq!(told, expected);
    assert_eq!(seen[0].span_ns, (100, 104));
}

/// A router whose port is not there, or whose TTL is at its end, quotes the frame: that is no copy.
#[test]
fn errors_about_frames_are_foreign() {
    let frame = |n| ours(7, n, n * 10);
    let frames: Vec<_> = (0..4)
        .flat_map(|n| [(n * 10 + 3, frame(n)), (n * 10 + 5, error_about(&frame(n), 11))])
        .chain([(99, error_about(&ours(8, 0, 1), 3))])
        .collect();
    let capture = survey(&frames).capture("", None);
    assert_eq!((capture.frames, capture.foreign, capture.cut), (9, 5, 0));
    let seen = capture.runs;
    assert_eq!((seen.len(), counts(&seen[0]), seen[0].bytes), (1, [4, 0, 0, 0], (64, 64)));
}

#[test]
fn two_clocks() {
    // Made at 1 µs, 2 µs, … by a clock that began with the test; captured in 2023.
    let later = [30, 10, 20, 10].into_iter().zip(1..);
    let frames: Vec<_> = later
        .map(|(late, n)| (1_700_000_000_000_000_000 + n * 1000 + late, ours(0, n, n * 1000)))
        .collect();
    let seen = survey(&frames).capture("", None).runs;
    let delay = Delay { one_clock: false, min_ns: 0, median_ns: 0, p99_ns: 20, max_ns: 20 };
    assert_eq!(seen[0].delay, Some(delay));
    // pktgen with `flag NO_TIMESTAMP` does not say when.
    assert_eq!(survey(&[(5, pktgen(1, 0, 0))]).capture("", None).runs[0].delay, None);
}

#[test]
fn what_is_nobody_s() {
    let mut damaged = ours(1, 1, 1);
    *damaged.last_mut().unwrap() ^= 1;
    let whole = ours(1, 2, 2);
    let arp = vec![0xff; 60];
    let mut survey = survey(&[(1, damaged), (2, arp), (3, vec![]), (9, ours(1, 1 << 50, 1))]);
    survey.frame(8, &whole[..40], u32::MAX);
    // A header is enough to know pktgen's, however long a frame is said to be.
    survey.frame(8, &pktgen(1, 0, 0), u32::MAX);
    let capture = survey.capture("", None);
    assert_eq!((capture.frames, capture.foreign, capture.cut), (6, 5, 1));
    assert_eq!((capture.span_ns, capture.damaged), (Some((1, 9)), Some(0)));
    assert_eq!(capture.runs[0].bytes.1, u32::MAX);
}

/// Two threads of the kernel's generator, 3 µs apart, the second later and at a port of its own: each is
/// counted by itself. The same at one port cannot be told apart, and at random ports neither.
#[test]
fn threads_are_told_apart_where_frames_allow_it() {
    let frames = |port: &dyn Fn(u32, u32) -> u16| -> Vec<(u64, Vec<u8>)> {
        let mut all = Vec::new();
        for n in 1..=100 {
            for thread in 0..2 {
                // The second has lost each tenth.
                let micros = n * 10 + thread * 503;
                if thread == 0 || n % 10 != 5 {
                    let at = u64::from(micros) * 1000;
                    all.push((at, of_thread(port(thread, n), n, 0, micros)));
                }
            }
        }
        all.sort_by_key(|(at, _)| *at);
        all
    };
    let told = |frames: &[(u64, Vec<u8>)]| -> Vec<(Sender, [u64; 4])> {
        let seen = survey(frames).capture("", None).runs;
        assert!(seen.iter().all(|one| one.run == 1), "{seen:?}");
        seen.iter().map(|one| (one.sender, counts(one))).collect()
    };
    let of = |which| Sender::Pktgen { which };
    let ports = frames(&|thread, _| 100 + thread as u16);
    let both =
        [(of(Thread::FromPort(100)), [100, 0, 0, 0]), (of(Thread::FromPort(101)), [90, 10, 0, 0])];
    assert_eq!(told(&ports), both);
    // On both sides of a router every frame is there twice: that is no thread.
    let twice: Vec<_> = ports
        .iter()
        .flat_map(|(at, frame)| [(*at, frame.clone()), (*at + 400, frame.clone())])
        .collect();
    assert_eq!(
        told(&twice),
        both.map(|(sender, [received, missing, ..])| (sender, [received, missing, received, 0]))
    );
    let alike = frames(&|_, _| 9);
    assert_eq!(told(&alike), [(of(Thread::Alike), [100, 0, 90, 0])]);
    // One thread with ports at random, and one that begins anew again and again, are one.
    let random: Vec<_> = (1..=200)
        .map(|n| (u64::from(n) * 1000, of_thread((n * 7919 % 1000) as u16, n, 0, n)))
        .collect();
    assert_eq!(told(&random), [(of(Thread::Only), [200, 0, 0, 0])]);
    let anew: Vec<_> =
        (0..40).map(|n| (u64::from(n) * 1000, pktgen(n % 4 + 1, 0, n + 1))).collect();
    let seen = survey(&anew).capture("", None).runs;
    assert!(seen.len() == 10 && seen.iter().all(|one| one.received == 4), "{seen:?}");
    // Random ports of two threads tell nothing.
    let mixed = frames(&|thread, n| ((n * 7919 + thread * 31) % 5) as u16);
    assert_eq!(told(&mixed)[0].0, of(Thread::Alike));
}

/// Frames of 100 bytes, each changed by what is done to it: what is counted of them, and that nothing
/// is counted twice.
#[test]
fn gaps_sizes_and_checksums() {
    type Change = fn(&mut Vec<u8>);
    const WHOLE: Change = |_| {};
    const TTL: Change = |frame| frame[22] ^= 1;
    const PORT: Change = |frame| frame[36] ^= 1;
    const INSIDE: Change = |frame| frame.splice(50..50, [7; 4]).for_each(drop);
    const TRAILER: Change = |frame| *frame.last_mut().unwrap() ^= 1;
    const ERASED: Change = |frame| frame[78..].fill(0);
    const KIND: Change = |frame| (frame[23], *frame.last_mut().unwrap()) = (6, 0xee);
    /// Received, missing, duplicate, reordered, gaps, wrong size, bad checksum; damaged, foreign.
    type Counts = ([u64; 7], [u64; 2]);
    let check = |what: &str, frames: &[(u64, Change)], expected: Counts| {
        let make = |n: u64, made: u64, change: Change| {
            let time = Moment::from_nanos(made);
            let trailer = Trailer { stream: 7, test: 0, sequence: n, time }.to_bytes();
            let payload = [&[0xa5; 36][..], &trailer].concat();
            let mut frame = craft::Frame { payload: &payload, ..craft::udp(1, 2, 3, 4) }.build();
            change(&mut frame);
            (made + 3, frame)
        };
        let frames: Vec<_> =
            frames.iter().map(|(n, change)| make(*n, 9 + n * 10, *change)).collect();
        let Capture { runs, frames, foreign, damaged, .. } = survey(&frames).capture("", None);
        assert_eq!(runs.len(), 1, "{what}");
        let [gaps, size, sum] =
            [runs[0].gaps, runs[0].wrong_size, runs[0].bad_checksum].map(Option::unwrap);
        let [received, missing, duplicate, reordered] = counts(&runs[0]);
        let all = [received, missing, duplicate, reordered, gaps, size, sum];
        assert_eq!((all, [damaged.unwrap(), foreign]), expected, "{what}: {runs:?}");
        let told = received + duplicate + size + sum + damaged.unwrap() + foreign;
        assert_eq!(told + runs[0].stale, frames, "{what}: each once");
    };
    let all = |numbers: &[u64]| numbers.iter().map(|n| (*n, WHOLE)).collect::<Vec<_>>();
    check("in order", &all(&[0, 1, 2]), ([3, 0, 0, 0, 0, 0, 0], [0, 0]));
    check("begun in the middle", &all(&[5, 6, 9, 12]), ([4, 4, 0, 0, 2, 0, 0], [0, 0]));
    check("a gap that is filled", &all(&[0, 2, 1, 3]), ([4, 0, 0, 1, 1, 0, 0], [0, 0]));
    check("the first was overtaken", &all(&[9, 8, 10]), ([3, 0, 0, 1, 0, 0, 0], [0, 0]));
    // What is damaged did not come, and leaves a gap: as the live receiver counts.
    let damaged = [(0, WHOLE), (1, TTL), (2, WHOLE), (3, PORT), (4, INSIDE), (5, WHOLE)];
    check("damaged", &damaged, ([3, 3, 0, 0, 2, 1, 2], [0, 0]));
    check("the first", &[(4, TTL), (5, WHOLE)], ([1, 1, 0, 0, 1, 0, 1], [0, 0]));
    check("the last", &[(4, WHOLE), (5, INSIDE)], ([1, 1, 0, 0, 0, 1, 0], [0, 0]));
    check("all", &[(4, TTL), (6, TTL)], ([0, 3, 0, 0, 0, 0, 2], [0, 0]));
    check("trailers", &[(4, TRAILER), (5, WHOLE), (6, TRAILER)], ([1, 0, 0, 0, 0, 0, 0], [2, 0]));
    check("no trailers", &[(5, WHOLE), (0, ERASED), (6, KIND)], ([1, 0, 0, 0, 0, 0, 0], [0, 2]));
}

/// The live receiver, which knows the plan, and a capture of the same frames say the same.
#[test]
fn as_the_live_receiver() {
    let template = crate::Template { udp_checksum: true, ..crate::Template::default() };
    let mut prng = crate::Prng::new(7);
    for round in 0..50 {
        let variation = crate::Variation::Fields(vec![]);
        let frame = wire::FrameLen::with_fcs(80);
        let plan = crate::StreamPlan { id: 3, template, frame, variation, seed: round };
        let mut stream = plan.build().unwrap();
        let mut receiver = crate::Receiver::new(Moment::ZERO, [&stream]);
        let mut survey = Survey::default();
        for n in 0..200u64 {
            let now = Moment::from_nanos(1000 + n * 1000);
            let mut bytes = vec![0; stream.next_len()];
            stream.write(now, &mut bytes);
            // The first and the last come, so that both know where the stream begins and ends.
            let fate = if n == 0 || n == 199 { 9 } else { prng.below(12) };
            let copies = match fate {
                0 => 0,
                1 => 2,
                _ => 1,
            };
            if fate == 2 {
                bytes[14 + prng.below(62) as usize] ^= 1 << prng.below(8);
            }
            for _ in 0..copies {
                receiver.count(now, &bytes);
                survey.frame(now.as_nanos(), &bytes, bytes.len() as u32);
            }
        }
        let (live, capture) = (receiver.total(), survey.capture("", None));
        let seen = &capture.runs[0];
        assert_eq!(
            counts(seen),
            [live.received, 200 - live.received, live.duplicate, live.reordered]
        );
        assert_eq!(seen.gaps, Some(live.gaps), "{round}");
        let [size, sum, trailer] =
            [seen.wrong_size, seen.bad_checksum, capture.damaged].map(Option::unwrap);
        assert_eq!((size + sum + trailer, capture.foreign), (live.corrupt, receiver.foreign()));
    }
}
