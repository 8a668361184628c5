//! Our frames sent and counted in the kernel: the same as if we had done it.
//!
//! ```text
//!  generator in the kernel ─► va ════ vb ─► AF_XDP port ─► our receiver
//!  our sender ─► AF_XDP port ─► va ════ vb ─► counter in the kernel
//!  any numbers in any order ─► both counters: one result
//! ```

#![cfg(target_os = "linux")]

#[path = "../../port/tests/veth/mod.rs"]
mod veth;

use measure::stream::kernel;
use measure::trailer::{self, Trailer};
use measure::{
    Ends, Field, Pick, Prng, Receiver, Sender, Stream, StreamPlan, Template, Values, Variation,
};
use measure::{Load, Schedule};
use port::Slab;
use port::linux::bpf::generator::{Edit, Plan};
use port::linux::bpf::{Counter, Generator, Mode, clock_ns, generator};
use port::linux::xdp::{Options, XdpPort};
use std::time::Duration;
use veth::Veth;
use wire::{FrameLen, Moment};

fn stream(id: u8, l2: u32, udp_checksum: bool, variation: Variation) -> Stream {
    let template = Template { udp_checksum, ..Template::default() };
    let frame = FrameLen::with_fcs(l2);
    StreamPlan { id, template, frame, variation, seed: 1 }.build().unwrap()
}

/// How many there are.
const N: u64 = 7;
/// Of all of them, what a ring holds.
const PORTION: u64 = 140 * N;

/// One of every kind of variation, with and without UDP checksum, of even and odd length.
fn streams() -> Vec<Stream> {
    let range = |first, last| Values::Range(first, last);
    let networks =
        Values::Networks(["10.1.0.0/16", "10.9.9.0/24"].map(|n| n.parse().unwrap()).to_vec());
    let fields = Variation::Fields(vec![
        (Field::SrcMac, range(0x0200_0000_fff0, 0x0200_0001_0010), Pick::InTurn),
        (Field::Dst, networks, Pick::Random),
        (Field::SrcPort, Values::List(vec![7, 5000, 65_535]), Pick::Random),
    ]);
    let flows = |pick| Variation::Flows {
        fields: vec![(Field::Src, range(0x0a00_0001, 0x0a00_0064)), (Field::DstPort, range(1, 9))],
        count: 300,
        pick,
    };
    let networks = ["2001:db8::/32", "2001:db8:7:7::/64"].map(|n| n.parse().unwrap());
    let networks = Values::Networks6(networks.to_vec());
    let anywhere = Variation::Fields(vec![(Field::Dst, networks, Pick::Random)]);
    vec![
        stream(0, 64, false, Variation::NONE),
        stream(1, 65, true, fields),
        stream(7, 128, true, flows(Pick::InTurn)),
        stream(255, 1518, true, flows(Pick::Random)),
        stream6(2, 84, flows(Pick::InTurn)),
        stream6(3, 127, flows(Pick::Random)),
        stream6(4, 128, anywhere),
    ]
}

/// The same of IPv6.
fn stream6(id: u8, l2: u32, variation: Variation) -> Stream {
    let ends = Ends::V6 { src: 0x2001_0002 << 96 | 1, dst: 0x2001_0002 << 96 | 2 };
    let template = Template { ends, ..Template::default() };
    let frame = FrameLen::with_fcs(l2);
    StreamPlan { id, template, frame, variation, seed: 1 }.build().unwrap()
}

fn now(zero_ns: u64) -> Moment {
    Moment::from_nanos(clock_ns() - zero_ns)
}

fn until(done: impl Fn() -> bool, mut poll: impl FnMut()) {
    let end = clock_ns() + 5_000_000_000;
    while !done() && clock_ns() < end {
        poll();
        std::thread::yield_now();
    }
}

#[test]
fn our_receiver_takes_what_the_kernel_sends() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(1 << 13).unwrap();
    let open = || XdpPort::open("vb", &slab, &Options::default());
    let mut port = pair.b.run(open).unwrap().unwrap_or_else(|error| panic!("{error}"));
    let mut pool = slab.pool();
    let zero_ns = clock_ns();
    let streams = streams();
    let in_kernel = streams.iter().map(|stream| stream.in_kernel(1, 0, zero_ns).unwrap());
    let plan = Plan::new(in_kernel.collect()).unwrap();
    let mut generator = pair.a.run(|| Generator::open("va", plan)).unwrap().unwrap();
    let mut receiver = Receiver::new(Moment::ZERO, &streams);
    // In portions that the ring holds.
    for _ in 0..4 {
        generator.start(generator::Schedule {
            pace: Some((50, 1_000_000)),
            start_ns: clock_ns(),
            duration: Duration::MAX,
            at_most: PORTION,
        });
        assert!(generator.run(u64::MAX).unwrap());
        let sent = generator.sent();
        assert_eq!((sent.made(), sent.refused), (PORTION, 0), "{sent:?}");
        while receiver.poll(now(zero_ns), &mut pool, &mut port) > 0 {}
    }
    let received = std::cell::Cell::new(receiver.total().received);
    until(
        || received.get() == 4 * PORTION,
        || {
            receiver.poll(now(zero_ns), &mut pool, &mut port);
            received.set(receiver.total().received);
        },
    );
    for id in receiver.streams() {
        let tally = receiver.tally(id);
        let others = tally.reordered + tally.duplicate + tally.stale + tally.corrupt;
        assert_eq!((tally.received, others), (4 * PORTION / N, 0), "stream {id}: {tally:?}");
    }
    assert_eq!((receiver.total().corrupt, receiver.foreign()), (0, 0));
    let latency = receiver.latency();
    assert!(latency.min() > 0 && latency.max() < 10_000_000_000, "{latency:?}");
}

#[test]
fn the_kernel_counts_what_we_send() {
    let Some(pair) = Veth::new() else { return };
    let slab = Slab::new(1 << 13).unwrap();
    let open = || XdpPort::open("va", &slab, &Options::default());
    let mut port = pair.a.run(open).unwrap().unwrap_or_else(|error| panic!("{error}"));
    let mut pool = slab.pool();
    let zero_ns = clock_ns();
    let streams = streams();
    let expected: Vec<_> = streams.iter().map(Stream::expected).collect();
    let open = || Counter::open("vb", Mode::Native, &kernel::tail(zero_ns), &expected);
    let mut counter = pair.b.run(open).unwrap().unwrap();
    counter.start(zero_ns, &[0; N as usize]);
    let load = Load::Paced(measure::Pace::of(wire::PacketRate(20_000.0)).unwrap());
    let schedule = Schedule { load, start: now(zero_ns), duration: Duration::from_millis(50) };
    let mut senders: Vec<_> =
        streams.iter().map(|stream| Sender::new(stream.clone(), schedule)).collect();
    while !senders.iter().all(|sender| sender.is_done(now(zero_ns))) {
        for sender in &mut senders {
            sender.poll(now(zero_ns), &mut pool, &mut port);
        }
    }
    let done = || counter.read().streams.iter().all(|tally| tally.received == 1000);
    until(done, || ());
    let count = counter.read();
    assert_eq!(count.foreign + count.corrupt + count.other_queue, 0, "{count:?}");
    for (place, (tally, stream)) in count.streams.iter().zip(&streams).enumerate() {
        let tally = kernel::tally(tally, stream.frame(), zero_ns);
        let others = tally.reordered + tally.duplicate + tally.stale + tally.corrupt;
        assert_eq!((tally.received, others), (1000, 0), "stream {place}: {tally:?}");
        assert_eq!(tally.bytes, 1000 * u64::from(stream.frame().l2()));
        assert!(schedule.start <= tally.first.unwrap() && tally.last.unwrap() <= now(zero_ns));
        assert_eq!(kernel::latency([counter.latencies(place)]).len(), 1000);
    }
}

/// The kernel's program and ours read the same numbers: forward, back, twice, over word and window
/// borders, far ahead.
#[test]
fn both_counters_say_the_same() {
    let Some(pair) = Veth::new() else { return };
    let open = |expected: &[_], tail: &_| Counter::open("vb", Mode::Native, tail, expected);
    for seed in 0..4 {
        let mut prng = Prng::new(seed);
        let mut at = 1000i64;
        let zero_ns = clock_ns() - 1_000_000_000;
        let stream = stream(3, 64, false, Variation::NONE);
        let mut trailers = Vec::new();
        for _ in 0..20_000 {
            at += match prng.below(20) {
                0..10 => 1,
                10..14 => prng.below(12) as i64 - 4,
                14..16 => prng.below(400) as i64 - 200,
                16 => prng.below(132_000) as i64 - 66_000,
                17 => 65_400 + prng.below(300) as i64,
                18 => -65_400 - prng.below(300) as i64,
                _ => 64 - at % 64,
            };
            at = at.max(0);
            let is_absurd = prng.below(1000) == 0;
            let sequence = at as u64 + if is_absurd { 1 << 40 } else { 0 };
            // In the trial's second, but for some.
            let time = Moment::from_nanos(prng.below(1_000_000_000));
            let (test, stream) =
                (u8::from(prng.below(100) == 0), 3 + u8::from(prng.below(99) == 0));
            let mut bytes = Trailer { stream, test, sequence, time }.to_bytes();
            if prng.below(50) == 0 {
                // Not in the time: whether that is of the trial depends on when it is looked at.
                bytes[prng.below(10) as usize] ^= 1 << prng.below(8);
            }
            trailers.extend(bytes);
        }
        let begin = Moment::from_nanos(100_000_000);
        let first = 900;
        // Ours, with the frame around each trailer.
        let frame = Template::default().image(FrameLen::with_fcs(64)).unwrap();
        let mut ours = Receiver::new(begin, [&at_sequence(stream.clone(), first)]);
        for bytes in trailers.chunks(trailer::LEN) {
            let mut frame = frame.clone();
            frame[42..].copy_from_slice(bytes);
            ours.count(now(zero_ns), &frame);
        }
        let (tail, expected) = (kernel::tail(zero_ns), [stream.expected()]);
        let mut kernels = pair.b.run(|| open(&expected, &tail)).unwrap().unwrap();
        kernels.start(zero_ns + begin.as_nanos(), &[first]);
        let pick = generator::Pick::InTurn;
        let values = Edit::Values { at: 42, bytes: trailer::LEN, values: trailers, pick };
        let plan =
            Plan::new(vec![generator::Stream { frame, edits: vec![values], share: 1, out: 0 }]);
        let open = || Generator::open("va", plan.unwrap());
        let mut generator = pair.a.run(open).unwrap().unwrap();
        let (start_ns, duration) = (clock_ns(), Duration::MAX);
        let pace = Some((500, 1_000_000));
        generator.start(generator::Schedule { pace, start_ns, duration, at_most: 20_000 });
        assert!(generator.run(u64::MAX).unwrap());
        assert_eq!(generator.sent().accepted, 20_000, "{:?}", generator.sent());
        let (tally, foreign) = (ours.tally(3), ours.foreign());
        let counted = || {
            let count = kernels.read();
            let one = count.streams[0];
            let ours = one.received + one.duplicate + one.stale + one.corrupt;
            ours + count.corrupt + count.foreign
        };
        until(|| counted() == 20_000, || ());
        let count = kernels.read();
        let same = kernel::tally(&count.streams[0], FrameLen::with_fcs(64), zero_ns);
        let named = |t: measure::receive::Tally| {
            [t.received, t.bytes, t.reordered, t.duplicate, t.stale, t.corrupt, t.gaps]
        };
        assert_eq!(named(same), named(tally), "seed {seed}: {count:?}");
        assert_eq!(count.foreign, foreign, "seed {seed}: {count:?}");
        assert_eq!(count.corrupt + count.streams[0].corrupt, ours.total().corrupt, "seed {seed}");
        let all = named(tally);
        assert!(all.iter().all(|&n| n > 0) && foreign > 0, "each came up: {tally:?}, {foreign}");
    }
}

/// The stream, having sent so many.
fn at_sequence(mut stream: Stream, n: u64) -> Stream {
    (0..n).for_each(|_| stream.write(Moment::ZERO, &mut [0; 60]));
    stream
}
