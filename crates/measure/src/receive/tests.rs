//! Exact counts of what is received, whatever comes in whatever order.

use super::*;
use crate::message::error_about;
use crate::{Field, FramePlan, Lengths, Pick, Prng, StreamPlan, Template, Values, Variation};
use port::Slab;
use proptest::prelude::*;
use wire::MacAddr;
use wire::arp::{ArpMessage, Operation};

const BEGIN: Moment = Moment::from_nanos(1_000_000);

fn stream(id: u8, l2: u32, udp_checksum: bool) -> Stream {
    let template = Template { udp_checksum, ..Template::default() };
    let fields = vec![(Field::Dst, Values::Range(0, 0xffff_ffff), Pick::Random)];
    let variation = Variation::Fields(fields);
    StreamPlan { id, template, frame: FrameLen::with_fcs(l2), variation, seed: 5 }.build().unwrap()
}

fn at(ns: u64) -> Moment {
    Moment::from_nanos(BEGIN.as_nanos() + ns)
}

fn frames(stream: &mut Stream, n: usize) -> Vec<Vec<u8>> {
    (0..n)
        .map(|i| {
            let mut bytes = vec![0; stream.frame().in_memory() as usize];
            stream.write(at(i as u64), &mut bytes);
            bytes
        })
        .collect()
}

/// What one of 200 frames, changed or moved, is counted as: (received, reordered, duplicate,
/// corrupt, foreign).
fn check(what: &str, change: impl FnOnce(&mut Vec<Vec<u8>>), expected: (u64, u64, u64, u64, u64)) {
    let mut sender = stream(7, 128, true);
    let mut receiver = Receiver::new(BEGIN, [&sender]);
    let mut frames = frames(&mut sender, 200);
    change(&mut frames);
    for frame in &frames {
        receiver.count(at(1000), frame);
    }
    let all = receiver.total();
    let got = (all.received, all.reordered, all.duplicate, all.corrupt, receiver.foreign());
    assert_eq!(got, expected, "{what}: {all:?}");
    assert_eq!(all.bytes, all.received * 128);
    assert_eq!(
        all.received + all.duplicate + all.stale + all.corrupt + receiver.foreign(),
        frames.len() as u64,
        "{what}: every frame is counted once"
    );
    assert_eq!(receiver.latency().len(), all.received, "{what}");
}

#[test]
fn every_frame_is_counted_as_what_it_is() {
    check("untouched", |_| {}, (200, 0, 0, 0, 0));
    check("lost", |f| drop(f.drain(50..60)), (190, 0, 0, 0, 0));
    check("the last lost", |f| f.truncate(150), (150, 0, 0, 0, 0));
    check("swapped", |f| f.swap(10, 11), (200, 1, 0, 0, 0));
    check("one far too late", |f| f[10..150].rotate_left(1), (200, 1, 0, 0, 0));
    check("one far too early", |f| f[10..150].rotate_right(1), (200, 139, 0, 0, 0));
    check("double", |f| f.insert(20, f[10].clone()), (200, 0, 1, 0, 0));
    check("late and double", |f| f.extend([f[3].clone(), f[3].clone()]), (200, 0, 2, 0, 0));
    check("cut off", |f| f[9].truncate(127 - 4), (199, 0, 0, 0, 1));
    check("short", |f| f[9].truncate(17), (199, 0, 0, 0, 1));
    check("empty", |f| f[9].clear(), (199, 0, 0, 0, 1));
    check("padded in front", |f| f[9].insert(50, 0), (199, 0, 0, 1, 0));
    check("sequence damaged", |f| f[9][124 - 9] ^= 1, (199, 0, 0, 1, 0));
    check("time damaged", |f| f[9][124 - 1] ^= 1, (199, 0, 0, 1, 0));
    check("magic damaged", |f| f[9][124 - 18] ^= 1, (199, 0, 0, 1, 0));
    check("payload damaged", |f| f[9][60] ^= 1, (199, 0, 0, 1, 0));
    check("IPv4 header damaged", |f| f[9][IPV4 + 8] ^= 1, (199, 0, 0, 1, 0));
    check("address changed, UDP checksum not", |f| renumber(&mut f[9]), (199, 0, 0, 1, 0));
    check("UDP checksum taken out", |f| f[9][UDP + 6..UDP + 8].fill(0), (199, 0, 0, 1, 0));
    check("zeros", |f| f[9].fill(0), (199, 0, 0, 0, 1));
    check("an ARP request", |f| f[9][12..14].copy_from_slice(&[8, 6]), (199, 0, 0, 1, 0));
    check("an error about one", |f| f[9] = error_about(&f[9], 11), (199, 0, 0, 0, 1));
    let ends_as_one = |f: &mut Vec<Vec<u8>>| f[9] = arp_that_ends_as(7);
    check("an ARP reply that ends as a damaged one", ends_as_one, (199, 0, 0, 0, 1));
    let other = |f: &mut Vec<Vec<u8>>| f.append(&mut frames(&mut stream(8, 128, true), 3));
    check("another stream's", other, (200, 0, 0, 0, 3));
    let earlier = |f: &mut Vec<Vec<u8>>| {
        stream(7, 128, true).write(Moment::from_nanos(999_999), &mut f[9]);
    };
    check("an earlier trial's", earlier, (199, 0, 0, 0, 1));
    let future = |f: &mut Vec<Vec<u8>>| {
        stream(7, 128, true).write(at(1001 + SKEW_NS), &mut f[9]);
    };
    check("the future's", future, (199, 0, 0, 0, 1));
}

/// Differences are of frames sent one after the other, as RFC 5481 has it: not of one that was overtaken
/// and whoever came after it, though that one was in order.
#[test]
fn neighbours_were_sent_one_after_the_other() {
    let pairs = |change: fn(&mut Vec<Vec<u8>>)| {
        let mut sender = stream(7, 128, true);
        let mut receiver = Receiver::new(BEGIN, [&sender]);
        let mut frames = frames(&mut sender, 10);
        change(&mut frames);
        frames.iter().for_each(|frame| receiver.count(at(1000), frame));
        receiver.variation().unwrap().pairs
    };
    assert_eq!(pairs(|_| {}), 9);
    assert_eq!(pairs(|f| drop(f.remove(4))), 7, "none across a loss");
    assert_eq!(pairs(|f| f.swap(4, 5)), 6, "neither 3 and 5, nor 5 and 4, nor 4 and 6");
    assert_eq!(pairs(|f| f.insert(4, f[2].clone())), 9, "a copy is not looked at");
}

/// An ARP reply, not padded, whose last bytes name this stream and a time within the trial: MAC
/// addresses of a kind that virtual machines have.
fn arp_that_ends_as(stream: u8) -> Vec<u8> {
    let sender_mac = MacAddr([2, 0, 0, stream, 0, 9]);
    let (operation, target_mac) = (Operation::Reply, MacAddr([6, 0, 0, 0, 0, 0]));
    let (sender_ip, target_ip) = (0x0a00_0001, BEGIN.as_nanos() as u32 + 500);
    let message = ArpMessage { operation, sender_mac, sender_ip, target_mac, target_ip };
    let mut bytes = wire::craft::arp(message).build();
    bytes.truncate(42);
    assert!(matches!(Trailer::read(&bytes), Some(Found::Bad(trailer)) if trailer.stream == stream));
    bytes
}

/// Errors about frames of streams of many lengths, and about those that are expected elsewhere.
#[test]
fn errors_about_frames_are_none() {
    let plan = |lengths| FramePlan::of_template(&Template::default(), &Variation::NONE, lengths);
    let mix = Lengths::InTurn([60, 88, 116].map(FrameLen::without_fcs).to_vec());
    for lengths in [Lengths::Even(FrameLen::MIN, FrameLen::with_fcs(256)), mix] {
        let mut streams = [1, 2].map(|id| plan(lengths.clone()).build(id, 0, 1).unwrap());
        let mut receiver = Receiver::new(BEGIN, [&streams[0]]);
        for n in 0..100 {
            for sender in &mut streams {
                let mut bytes = vec![0; sender.next_len()];
                sender.write(at(n), &mut bytes);
                receiver.count(at(1000), &bytes);
                receiver.count(at(1000), &error_about(&bytes, 3));
            }
        }
        let all = receiver.total();
        assert_eq!((all.received, all.corrupt, all.wrong_size), (100, 0, 0), "{lengths:?}");
        // Frames of the other stream are strays; errors about them, and about ours, are not.
        assert_eq!((receiver.foreign(), receiver.strays(2)), (300, 100), "{lengths:?}");
    }
}

/// A NAT that forgets the UDP checksum.
fn renumber(frame: &mut [u8]) {
    frame[IPV4 + 15] ^= 0x55;
    let sum = checksum::ipv4_header(&frame[IPV4..UDP]);
    frame[IPV4 + 10..IPV4 + 12].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn latencies() {
    let mut sender = stream(1, 64, false);
    let mut receiver = Receiver::new(BEGIN, [&sender]);
    let frames = frames(&mut sender, 100); // sent at 0, 1, 2 … 99 ns
    for frame in &frames[..50] {
        receiver.count(at(1049), frame);
    }
    for frame in &frames[50..] {
        receiver.count(at(20), frame); // the clock was read before they were sent
    }
    let latency = receiver.latency();
    assert_eq!((latency.min(), latency.max(), latency.len()), (0, 1049, 100));
    let late = latency.buckets().into_iter().filter(|(ns, _)| (1000..=1049).contains(ns));
    assert_eq!(late.map(|(_, n)| n).sum::<u64>(), 50);
    let tally = receiver.tally(1);
    assert_eq!((tally.first, tally.last), (Some(at(1049)), Some(at(20))));
    assert_eq!(tally.lost(99), None, "more came than were sent");
    assert_eq!(tally.lost(102), Some(2));
}

/// A device that drops, doubles and delays, by a seed; what it did is known exactly.
struct Mischief {
    prng: Prng,
    held: Vec<(usize, Vec<u8>)>,
    lost: u64,
    doubled: u64,
}

impl Mischief {
    fn pass(&mut self, frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut out = vec![];
        for (i, frame) in frames.into_iter().enumerate() {
            match self.prng.below(20) {
                0 => self.lost += 1,
                1 => {
                    self.doubled += 1;
                    out.extend([frame.clone(), frame]);
                }
                2 => self.held.push((i + 1 + self.prng.below(300) as usize, frame)),
                _ => out.push(frame),
            }
            let due = |held: &mut (usize, _)| held.0 <= i;
            out.extend(self.held.extract_if(.., due).map(|(_, frame)| frame));
        }
        out.extend(self.held.drain(..).map(|(_, frame)| frame));
        out
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Two streams through a device that misbehaves: every count is exact.
    #[test]
    fn counts_are_exact(seed: u64) {
        let mut streams = [stream(0, 64, false), stream(255, 512, true)];
        let mut receiver = Receiver::new(BEGIN, &streams);
        prop_assert_eq!(receiver.streams().collect::<Vec<_>>(), [0, 255]);
        let slab = Slab::new(64).unwrap();
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        for sender in &mut streams {
            let prng = Prng::new(seed);
            let mut device = Mischief { prng, held: vec![], lost: 0, doubled: 0 };
            let out = device.pass(frames(sender, 3000));
            let mut highest = None;
            let mut reordered = 0;
            for frame in &out {
                let Some(Found::Good(trailer)) = Trailer::read(frame) else { unreachable!() };
                reordered += u64::from(highest > Some(trailer.sequence));
                highest = highest.max(Some(trailer.sequence));
            }
            for chunk in out.chunks(Batch::CAPACITY) {
                for bytes in chunk {
                    let mut frame = pool.alloc(bytes.len()).unwrap();
                    pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
                    batch.push(frame);
                }
                receiver.take(at(5000), &mut pool, &mut batch);
            }
            let tally = receiver.tally(sender.id());
            prop_assert_eq!(tally.lost(3000), Some(device.lost), "{:?}", tally);
            // Copies come side by side here, so none of the reordered is a copy.
            prop_assert_eq!((tally.duplicate, tally.reordered), (device.doubled, reordered));
            prop_assert_eq!((tally.corrupt, tally.stale, receiver.foreign()), (0, 0, 0));
        }
        prop_assert_eq!(receiver.latency().len(), receiver.total().received);
        drop(pool);
        prop_assert_eq!(slab.frames_out(), 0);
    }

    /// No bytes can make it panic, and all are foreign or corrupt.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut receiver = Receiver::new(BEGIN, &[stream(1, 64, true)]);
        receiver.count(at(0), &bytes);
        prop_assert_eq!(receiver.foreign() + receiver.total().corrupt, 1);
    }
}
