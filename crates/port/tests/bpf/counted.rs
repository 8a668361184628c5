//! The counter in the kernel: every frame under one name, and foreign ones passed on.

use super::capture::Capture;
use super::veth::{Veth, sh};
use port::linux::bpf::counter::{Count, Expected, Tail, Tally};
use port::linux::bpf::generator::{Edit, Plan, Schedule, Stream};
use port::linux::bpf::{Counter, Generator, Mode, clock_ns};
use std::time::Duration;

fn tail() -> Tail {
    let number_mask = (1 << 56) - 1;
    Tail {
        bytes: 18,
        parity: 0xb5,
        stream: 1,
        mark: (2, 7),
        number: 2,
        number_mask,
        time: 10,
        zero_ns: 0,
    }
}

/// A test frame of 60 bytes: IPv4 and UDP headers, tail.
fn frame(stream: u8, number: u64, time: u64) -> Vec<u8> {
    let mut frame = vec![0; 42];
    frame[..24].copy_from_slice(&[
        2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17,
    ]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = wire::checksum::ipv4_header(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend([0, stream]);
    frame.extend((7 << 56 | number).to_be_bytes());
    frame.extend(time.to_be_bytes());
    frame[42] = frame[43..].iter().fold(0xb5, |all, byte| all ^ byte);
    frame
}

fn expected() -> Vec<Expected> {
    [(3, true), (200, false)]
        .map(|(stream, ipv4)| Expected { stream, frame_bytes: Some(60), ipv4 })
        .to_vec()
}

fn open(pair: &Veth, mode: Mode) -> Counter {
    pair.b.run(|| Counter::open("vb", mode, &tail(), &expected())).unwrap().unwrap()
}

/// What is counted once it is `done`, at the latest after five seconds.
fn wait(counter: &Counter, done: impl Fn(&Count) -> bool) -> Count {
    let end = clock_ns() + 5_000_000_000;
    while !done(&counter.read()) && clock_ns() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    counter.read()
}

#[test]
fn what_is_generated_is_counted() {
    let Some(pair) = Veth::new() else { return };
    let edits = vec![
        Edit::Parity { at: 42, over: 42..60, is: 0xb5 },
        Edit::Number { at: 44, bytes: 8, first: 7 << 56 },
        Edit::Time { at: 52, zero_ns: 0 },
    ];
    let streams = [(3, 1), (200, 3)];
    let streams = streams.map(|(id, share)| Stream {
        frame: frame(id, 0, 0),
        edits: edits.clone(),
        share,
        out: 0,
    });
    let plan = Plan::new(streams.to_vec()).unwrap();
    let mut generator = pair.a.run(|| Generator::open("va", plan)).unwrap().unwrap();
    let mut counter = open(&pair, Mode::Native);
    for trial in 0..3 {
        let start_ns = clock_ns() + 1_000_000;
        counter.start(start_ns, &generator.made_ever());
        let pace = Some((400_000, 1_000_000_000));
        let duration = Duration::from_millis(50);
        generator.start(Schedule { pace, start_ns, duration, at_most: u64::MAX });
        assert!(generator.run(u64::MAX).unwrap());
        let sent = generator.sent();
        assert_eq!((sent.made.as_slice(), sent.refused), ([5_000, 15_000].as_slice(), 0));
        let count = wait(&counter, |count| count.streams[1].received == 15_000);
        assert_eq!(count.foreign + count.corrupt + count.other_queue, 0, "{trial}: {count:?}");
        for (place, (tally, made)) in count.streams.iter().zip(&sent.made).enumerate() {
            let Tally { first_ns, last_ns, .. } = *tally;
            let exact =
                Tally { received: *made, bytes: made * 60, first_ns, last_ns, ..Tally::default() };
            assert_eq!(*tally, exact, "trial {trial}");
            assert!(start_ns <= first_ns && first_ns < last_ns && last_ns <= clock_ns());
            let latencies = counter.latencies(place);
            assert_eq!(latencies.count(), *made);
            let (least, most) = (latencies.min_ns, latencies.max_ns);
            assert!(0 < least && least < most && most < last_ns - start_ns, "{least} to {most}");
            let mean = latencies.sum_ns / latencies.count();
            let of_buckets: u64 = latencies.iter().map(|(ns, n)| ns * n).sum();
            let mean_of_buckets = of_buckets / made;
            assert!(mean <= mean_of_buckets && mean_of_buckets <= mean + mean / 100 + 1);
            assert_eq!(latencies.quantile_ns(1.0), Some(most));
        }
    }
    drop(counter);
    let link = sh(&pair.b, "ip link show vb");
    assert!(!link.contains("xdp"), "nothing stays attached: {link}");
}

#[test]
fn each_frame_has_one_name() {
    let Some(pair) = Veth::new() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let mut counter = open(&pair, mode);
        let (out, stack) = (
            pair.a.run(|| Capture::open("va")).unwrap(),
            pair.b.run(|| Capture::open("vb")).unwrap(),
        );
        let begin = clock_ns();
        counter.start(begin, &[10, 0]);
        let send = |stream: u8, numbers: &[u64]| {
            numbers.iter().for_each(|&number| out.send(&frame(stream, number, clock_ns())));
        };
        send(3, &[10, 11, 13, 12, 12, 13, 9, 80, 79, 10, 14]);
        // Beyond the window, and a word boundary at both of its ends.
        send(200, &[0, 1, 63, 64, 200_000, 200_000 - 65_471, 200_000 - 65_600, 1, 199_999]);
        send(200, &[1 << 40]); // absurd
        send(7, &[0, 1]); // no stream of ours
        let sent = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame(3, 100, clock_ns());
            change(&mut frame);
            out.send(&frame);
        };
        sent(&|frame| frame[22] = 63); // TTL without checksum
        sent(&|frame| frame[14] = 0x46);
        sent(&|frame| frame.insert(42, 0)); // longer
        sent(&|frame| frame[51] ^= 1); // a damaged number
        sent(&|frame| (frame[44], frame[42]) = (8, frame[42] ^ 7 ^ 8)); // another test
        sent(&|frame| *frame = super::counted::frame(3, 100, begin - 1)); // another trial
        sent(&|frame| frame.truncate(17));
        sent(&|frame| *frame = vec![0; 60]);
        let foreign = 2 + 4;
        let count = wait(&counter, |count| count.foreign == foreign);
        let [a, b] = [count.streams[0], count.streams[1]];
        let names = |t: Tally| {
            [t.received, t.reordered, t.duplicate, t.stale, t.corrupt, t.wrong_size, t.gaps]
        };
        assert_eq!(names(a), [7, 3, 3, 1, 3, 1, 2], "{mode:?}: {count:?}");
        assert_eq!(names(b), [7, 2, 0, 2, 1, 0, 2], "{mode:?}: {count:?}");
        assert_eq!((count.corrupt, count.foreign), (1, foreign), "{mode:?}: {count:?}");
        assert_eq!((a.bytes, b.bytes), (7 * 60, 7 * 60));
        // Foreign frames, and no others, came to the stack.
        assert_eq!(stack.frames(foreign as usize).len(), foreign as usize);
        assert!(stack.is_empty(), "{mode:?}");
    }
}

/// What a device says of a frame: an ICMP message that quotes it, whole, behind as many tags and options.
fn about(frame: &[u8], v6: bool, kind: u8, tags: usize, options: usize) -> Vec<u8> {
    let mut all = frame[..12].to_vec();
    all.extend([0x81, 0, 0, 7].repeat(tags));
    let icmp = [&[kind, 0, 0, 0, 0, 0, 0, 0], &frame[14..]].concat();
    if v6 {
        all.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, icmp.len() as u8, 58, 64]);
        all.extend([0xfe; 32]);
    } else {
        let header = all.len() + 2;
        let (words, len) = ((5 + options) as u8, (20 + 4 * options + icmp.len()) as u8);
        all.extend([8, 0, 0x40 | words, 0, 0, len, 0, 0, 0, 0, 64, 1, 0, 0]);
        all.extend([10, 0, 0, 2, 10, 0, 0, 1]);
        all.extend([1, 1, 1, 1].repeat(options));
        let sum = wire::checksum::ipv4_header(&all[header..]);
        all[header + 10..header + 12].copy_from_slice(&sum.to_be_bytes());
    }
    all.extend(icmp);
    all
}

/// The same names as `measure`'s receiver gives them.
#[test]
fn an_error_about_a_frame_is_no_frame() {
    let Some(pair) = Veth::new() else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let mut counter = open(&pair, mode);
        let out = pair.a.run(|| Capture::open("va")).unwrap();
        counter.start(clock_ns(), &[0, 0]);
        let mut expected = Count { streams: vec![Tally::default(); 2], ..Count::default() };
        let mut send = |stream: u8, is_foreign: bool, make: &dyn Fn(&[u8]) -> Vec<u8>| {
            out.send(&make(&frame(stream, 0, clock_ns())));
            match is_foreign {
                true => expected.foreign += 1,
                false => expected.streams[usize::from(stream == 200)].corrupt += 1,
            }
        };
        for stream in [3, 200] {
            for kind in [3, 4, 5, 11, 12] {
                send(stream, true, &|frame| about(frame, false, kind, 0, 0));
            }
            for (tags, options) in [(1, 0), (2, 0), (0, 1), (2, 10)] {
                send(stream, true, &|frame| about(frame, false, 11, tags, options));
            }
            // An echo that has its data from a frame is one that was changed.
            send(stream, false, &|frame| about(frame, false, 8, 0, 0));
            send(stream, false, &|frame| about(frame, false, 0, 1, 0));
            // What is quoted is no IPv4 header.
            send(stream, false, &|frame| {
                let mut frame = about(frame, false, 3, 0, 0);
                frame[42] = 0x60;
                frame
            });
            send(stream, false, &|frame| {
                let mut frame = about(frame, false, 3, 0, 0);
                frame[42] = 0x44;
                frame
            });
            let six = |frame: &[u8]| {
                let mut frame = frame.to_vec();
                frame[14] = 0x60;
                frame
            };
            for kind in [1, 2, 3, 4] {
                send(stream, true, &|frame| about(&six(frame), true, kind, 1, 0));
            }
            send(stream, false, &|frame| about(&six(frame), true, 128, 0, 0));
            send(stream, false, &|frame| about(frame, true, 1, 0, 0));
        }
        // Its last bytes damaged, too.
        out.send(&{
            let mut error = about(&frame(3, 0, clock_ns()), false, 11, 0, 0);
            *error.last_mut().unwrap() ^= 1;
            error
        });
        expected.foreign += 1;
        let done = |count: &Count| {
            count.foreign + count.corrupt + count.streams.iter().map(|t| t.corrupt).sum::<u64>()
                == expected.foreign + expected.streams.iter().map(|t| t.corrupt).sum::<u64>()
        };
        let count = wait(&counter, done);
        let names = |count: &Count| {
            let corrupt: Vec<u64> = count.streams.iter().map(|tally| tally.corrupt).collect();
            let received: u64 = count.streams.iter().map(|tally| tally.received).sum();
            (count.foreign, count.corrupt, corrupt, received)
        };
        assert_eq!(names(&count), names(&expected), "{mode:?}: {count:?}");
        // Longer, all of them.
        assert!(count.streams.iter().all(|tally| tally.wrong_size == tally.corrupt), "{count:?}");
    }
}

#[test]
fn the_stack_lives_on() {
    let Some(pair) = Veth::taking(&["ping"]) else { return };
    sh(&pair.a, "ip address add 10.0.0.1/24 dev va");
    sh(&pair.b, "ip address add 10.0.0.2/24 dev vb");
    let counter = open(&pair, Mode::Native);
    let reply = sh(&pair.a, "ping -c 3 -i 0.01 -W 5 10.0.0.2");
    assert!(reply.contains("3 received"), "{reply}");
    let count = counter.read();
    assert!(count.foreign >= 4, "ARP and three requests: {count:?}");
    assert_eq!(count.streams, vec![Tally::default(); 2]);
}
