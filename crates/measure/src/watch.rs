//! Single frames, where a procedure wants to know more than sums.
//!
//! ```text
//!  frame, now ─► Watch ─┬ tags:     latencies of the tagged frames of each stream
//!                       ├ losses:   the last gap in the sequence of some streams
//!                       ├ silence:  the longest time without a frame, of each stream
//!                       └ tuples:   who talked to whom, as the far side saw it
//! ```
//!
//! Beside the [`Receiver`](crate::Receiver), never instead: what is received and lost is counted
//! there, and how late every frame was. Never frees a frame.

use crate::message::is_message;
use crate::template::{IPV4, UDP};
use crate::trailer::{Found, Trailer};
use std::time::Duration;
use wire::{FrameLen, Moment};

/// What is looked at.
#[derive(Default)]
pub enum Watch {
    /// Nothing: costs nothing.
    #[default]
    Nothing,
    /// Latencies of tagged frames.
    Tags(Vec<Tags>),
    /// Gaps in the sequences of streams.
    Losses(Box<Losses>),
    /// When nothing came, of each stream.
    Silence(Vec<Silence>),
    /// Addresses and ports.
    Tuples(Vec<Tuple>),
}

/// Source and destination address, source and destination port.
pub type Tuple = [u32; 4];

impl Watch {
    /// A frame that came where streams with these numbers are expected.
    #[inline]
    pub fn frame(&mut self, now: Moment, bytes: &[u8], expected: impl Fn(u8) -> bool) {
        if matches!(self, Watch::Nothing) {
            return;
        }
        let Some(Found::Good(trailer)) = Trailer::read(bytes) else { return };
        if !expected(trailer.stream) || is_message(bytes) {
            return;
        }
        match self {
            Watch::Nothing => {}
            Watch::Tags(all) => {
                if let Some(tags) = all.iter_mut().find(|tags| tags.stream == trailer.stream) {
                    tags.frame(now, trailer, bytes.len());
                }
            }
            Watch::Losses(losses) => losses.frame(trailer),
            Watch::Silence(all) => {
                if let Some(silence) = all.iter_mut().find(|one| one.stream == trailer.stream) {
                    silence.frame(now);
                }
            }
            Watch::Tuples(tuples) => tuples.extend(tuple(bytes)),
        }
    }
}

fn tuple(bytes: &[u8]) -> Option<Tuple> {
    let word = |at: usize| {
        let word = bytes.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*word))
    };
    let ports = word(UDP)?;
    Some([word(IPV4 + 12)?, word(IPV4 + 16)?, ports >> 16, ports & 0xffff])
}

/// Tagged frames of one stream, and how late each was (RFC 2544 §26.2, RFC 8219 §7.2).
pub struct Tags {
    stream: u8,
    /// Numbers of the tagged frames, ascending.
    tags: Vec<u64>,
    /// The first tag that has not come.
    next: usize,
    came_ns: Vec<u64>,
    /// What of a latency is the wires' own, by the frame's length in memory.
    wires_ns: Vec<u64>,
}

impl Tags {
    /// Of this stream, with these frames tagged (ascending).
    pub fn new(stream: u8, tags: Vec<u64>) -> Tags {
        Tags { stream, tags, next: 0, came_ns: vec![], wires_ns: vec![] }
    }

    /// Takes from every latency what of it is the wires' own, of frames up to `longest`.
    pub fn less_wires(&mut self, longest: FrameLen, wire_time: impl Fn(FrameLen) -> Duration) {
        let of = |len| wire_time(FrameLen::without_fcs(len)).as_nanos() as u64;
        self.wires_ns = (0..=longest.in_memory()).map(of).collect();
    }

    #[inline]
    fn frame(&mut self, now: Moment, trailer: Trailer, len: usize) {
        while let Some(&tag) = self.tags.get(self.next)
            && tag <= trailer.sequence
        {
            // A tagged frame that was overtaken counts as one that did not come.
            if tag == trailer.sequence {
                let late = now.since(trailer.time).as_nanos() as u64;
                let wires_ns = self.wires_ns.get(len).copied().unwrap_or(0);
                self.came_ns.push(late.saturating_sub(wires_ns));
            }
            self.next += 1;
        }
    }

    /// The stream's number.
    pub fn stream(&self) -> u8 {
        self.stream
    }

    /// Of those that came, in nanoseconds.
    pub fn came_ns(&self) -> &[u64] {
        &self.came_ns
    }
}

/// The last gap in the sequences of the streams from a number on.
pub struct Losses {
    from: u8,
    next: [u64; 256],
    last: [Option<u64>; 256],
}

impl Losses {
    /// Of the streams with this number and higher ones, which begin with frame 0.
    pub fn from(stream: u8) -> Losses {
        Losses { from: stream, next: [0; 256], last: [None; 256] }
    }

    #[inline]
    fn frame(&mut self, trailer: Trailer) {
        let stream = usize::from(trailer.stream);
        if trailer.stream < self.from || trailer.sequence < self.next[stream] {
            return;
        }
        if trailer.sequence > self.next[stream] {
            self.last[stream] = Some(trailer.sequence - 1);
        }
        self.next[stream] = trailer.sequence + 1;
    }

    /// The number of the last frame of a stream that did not come, of so many sent.
    pub fn last(&self, stream: u8, sent: u64) -> Option<u64> {
        let stream = usize::from(stream);
        if self.next[stream] < sent { Some(sent - 1) } else { self.last[stream] }
    }
}

/// The longest time without a frame of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    stream: u8,
    last: Moment,
    longest: Duration,
    /// Since nothing but what came later counts.
    since: Moment,
}

impl Silence {
    /// Of this stream, times that end after this moment.
    pub fn ending_after(stream: u8, since: Moment) -> Silence {
        Silence { stream, last: Moment::ZERO, longest: Duration::ZERO, since }
    }

    #[inline]
    fn frame(&mut self, now: Moment) {
        if now > self.since && self.last > Moment::ZERO {
            self.longest = self.longest.max(now.since(self.last));
        }
        self.last = now;
    }

    /// The stream's number.
    pub fn stream(&self) -> u8 {
        self.stream
    }

    /// How long it was; none if no frame came after that moment.
    pub fn longest(&self) -> Option<Duration> {
        (self.last > self.since).then_some(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::error_about;
    use wire::craft;

    fn at(ns: u64) -> Moment {
        Moment::from_nanos(ns)
    }

    /// Frames of a stream: their numbers, when they were sent and when they came.
    fn run(watch: &mut Watch, stream: u8, frames: &[(u64, u64, u64)]) {
        for &(sequence, sent, came) in frames {
            let trailer = Trailer { stream, test: 0, sequence, time: at(sent) };
            let mut bytes = vec![0; 60];
            bytes[42..].copy_from_slice(&trailer.to_bytes());
            watch.frame(at(came), &bytes, |stream| stream < 100);
        }
    }

    #[test]
    fn tags_of_each_stream() {
        let mut watch = Watch::Tags(vec![Tags::new(7, vec![1, 3, 4]), Tags::new(8, vec![1])]);
        run(&mut watch, 7, &[(0, 0, 10), (1, 100, 115), (2, 200, 212), (4, 400, 420)]);
        run(&mut watch, 8, &[(0, 0, 1), (1, 100, 999)]);
        run(&mut watch, 9, &[(1, 100, 777)]);
        let Watch::Tags(tags) = watch else { unreachable!() };
        assert_eq!(tags[0].came_ns(), [15, 20], "frame 3 did not come, 2 is no substitute");
        assert_eq!((tags[1].stream(), tags[1].came_ns()), (8, &[899][..]));
    }

    /// What came elsewhere, and errors about frames, are neither delays nor an end of silence.
    #[test]
    fn only_what_is_expected_and_a_test_frame() {
        let mut watch = Watch::Silence(vec![Silence::ending_after(0, at(10))]);
        run(&mut watch, 0, &[(0, 0, 5)]);
        run(&mut watch, 100, &[(0, 0, 20)]);
        let trailer = Trailer { stream: 0, test: 0, sequence: 1, time: at(1) }.to_bytes();
        let frame = craft::Frame { payload: &trailer, ..craft::udp(1, 2, 3, 4) }.build();
        watch.frame(at(30), &error_about(&frame, 3), |_| true);
        watch.frame(at(40), &frame, |_| true);
        let Watch::Silence(silence) = watch else { unreachable!() };
        assert_eq!(silence[0].longest(), Some(Duration::from_nanos(35)));
    }

    #[test]
    fn the_last_loss() {
        let mut watch = Watch::Losses(Box::new(Losses::from(2)));
        run(&mut watch, 1, &[(5, 0, 0)]);
        run(&mut watch, 2, &[(0, 0, 0), (3, 0, 0), (4, 0, 0), (7, 0, 0), (8, 0, 0)]);
        let Watch::Losses(losses) = watch else { unreachable!() };
        assert_eq!((losses.last(2, 9), losses.last(2, 12)), (Some(6), Some(11)));
        assert_eq!((losses.last(1, 0), losses.last(3, 5)), (None, Some(4)));
    }

    /// A stream is silent by itself: what comes of another does not end it.
    #[test]
    fn silence() {
        let of = |stream| Silence::ending_after(stream, at(1000));
        let mut watch = Watch::Silence(vec![of(0), of(1), of(2)]);
        let came = |ns| (0, ns, ns);
        run(&mut watch, 0, &[came(100), came(900)]);
        run(&mut watch, 1, &[came(100), came(950), came(1010), came(1300)]);
        run(&mut watch, 0, &[came(1500), came(1501), came(1700)]);
        run(&mut watch, 2, &[came(500)]);
        let Watch::Silence(silence) = watch else { unreachable!() };
        let longest = silence.iter().map(|one| Some(one.longest()?.as_nanos()));
        assert_eq!(longest.collect::<Vec<_>>(), [Some(600), Some(290), None]);
        assert_eq!(Silence::ending_after(0, at(5)).longest(), None);
    }
}
