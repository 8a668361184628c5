//! Single frames, where a procedure wants to know more than sums.
//!
//! ```text
//!  frame, now ─► Watch ─┬ delays:   tagged frames' latencies, differences of neighbours (IPDV)
//!                       ├ losses:   the last gap in the sequence of some streams
//!                       ├ silence:  the longest time without a frame
//!                       └ tuples:   who talked to whom, as the far side saw it
//! ```
//!
//! Beside the [`Receiver`](crate::Receiver), never instead: what is received and lost is counted
//! there. Never frees a frame.

use crate::delay;
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
    /// Delays of one stream.
    Delays(Box<Delays>),
    /// Gaps in the sequences of streams.
    Losses(Box<Losses>),
    /// When nothing came.
    Silence(Silence),
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
            Watch::Delays(delays) => delays.frame(now, trailer, bytes.len()),
            Watch::Losses(losses) => losses.frame(trailer),
            Watch::Silence(silence) => silence.frame(now),
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

/// Delays of one stream: tagged frames', and how each differs from the one before (RFC 8219).
pub struct Delays {
    stream: u8,
    /// Numbers of the tagged frames, ascending.
    tags: Vec<u64>,
    /// The first tag that has not come.
    next: usize,
    tagged_ns: Vec<u64>,
    /// The number of the frame that came last.
    last: Option<u64>,
    /// What of a latency is the wires' own, by the frame's length in memory.
    wires_ns: Vec<u64>,
    all: delay::Delays,
}

impl Delays {
    /// Of this stream, with these frames tagged (ascending).
    pub fn new(stream: u8, tags: Vec<u64>) -> Delays {
        let (all, wires_ns) = (delay::Delays::default(), vec![]);
        Delays { stream, tags, next: 0, tagged_ns: vec![], last: None, wires_ns, all }
    }

    /// Takes from every delay what of it is the wires' own, of frames up to `longest`: neighbours of
    /// different lengths would differ by that.
    pub fn less_wires(&mut self, longest: FrameLen, wire_time: impl Fn(FrameLen) -> Duration) {
        let of = |len| wire_time(FrameLen::without_fcs(len)).as_nanos() as u64;
        self.wires_ns = (0..=longest.in_memory()).map(of).collect();
    }

    #[inline]
    fn frame(&mut self, now: Moment, trailer: Trailer, len: usize) {
        if trailer.stream != self.stream {
            return;
        }
        let mut delay = now.since(trailer.time).as_nanos() as u64;
        if let Some(wires_ns) = self.wires_ns.get(len) {
            delay = delay.saturating_sub(*wires_ns);
        }
        while let Some(&tag) = self.tags.get(self.next)
            && tag <= trailer.sequence
        {
            // A tagged frame that was overtaken counts as one that did not come.
            if tag == trailer.sequence {
                self.tagged_ns.push(delay);
            }
            self.next += 1;
        }
        // Across a loss there is no difference (RFC 5481 §3.1).
        let before = self.last.replace(trailer.sequence);
        self.all.record(delay, before.is_some_and(|before| before + 1 == trailer.sequence));
    }

    /// Of the tagged frames that came, in nanoseconds.
    pub fn tagged_ns(&self) -> &[u64] {
        &self.tagged_ns
    }

    /// The lowest, the median and the highest difference of frames sent one after the other, in
    /// nanoseconds, to a hundredth; `None` without two such.
    pub fn ipdv_ns(&self) -> Option<[i64; 3]> {
        let all = self.all.variation().filter(|all| all.pairs > 0)?;
        Some([all.ipdv_min_ns, all.ipdv_median_ns, all.ipdv_max_ns])
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

/// The longest time without a frame.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    last: Moment,
    longest: Duration,
    /// Since nothing but what came later counts.
    since: Moment,
}

impl Silence {
    /// Times that end after this moment.
    pub fn ending_after(since: Moment) -> Silence {
        Silence { last: Moment::ZERO, longest: Duration::ZERO, since }
    }

    #[inline]
    fn frame(&mut self, now: Moment) {
        if now > self.since && self.last > Moment::ZERO {
            self.longest = self.longest.max(now.since(self.last));
        }
        self.last = now;
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
    use proptest::prelude::*;
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
    fn tags_and_differences() {
        let mut watch = Watch::Delays(Box::new(Delays::new(7, vec![1, 3, 4])));
        run(&mut watch, 7, &[(0, 0, 10), (1, 100, 115), (2, 200, 212), (4, 400, 420)]);
        run(&mut watch, 8, &[(1, 100, 999)]);
        let Watch::Delays(delays) = watch else { unreachable!() };
        assert_eq!(delays.tagged_ns(), [15, 20], "frame 3 did not come, 2 is no substitute");
        assert_eq!(delays.ipdv_ns(), Some([-3, -3, 5]), "none between 2 and 4");
        assert_eq!(Delays::new(0, vec![]).ipdv_ns(), None);
    }

    /// What came elsewhere, and errors about frames, are neither delays nor an end of silence.
    #[test]
    fn only_what_is_expected_and_a_test_frame() {
        let mut watch = Watch::Silence(Silence::ending_after(at(10)));
        run(&mut watch, 0, &[(0, 0, 5)]);
        run(&mut watch, 100, &[(0, 0, 20)]);
        let trailer = Trailer { stream: 0, test: 0, sequence: 1, time: at(1) }.to_bytes();
        let frame = craft::Frame { payload: &trailer, ..craft::udp(1, 2, 3, 4) }.build();
        watch.frame(at(30), &error_about(&frame, 3), |_| true);
        watch.frame(at(40), &frame, |_| true);
        let Watch::Silence(silence) = watch else { unreachable!() };
        assert_eq!(silence.longest(), Some(Duration::from_nanos(35)));
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

    #[test]
    fn silence() {
        let mut watch = Watch::Silence(Silence::ending_after(at(1000)));
        let came = |ns| (0, ns, ns);
        run(&mut watch, 0, &[came(100), came(900), came(1500), came(1501), came(1700)]);
        let Watch::Silence(silence) = watch else { unreachable!() };
        assert_eq!(silence.longest(), Some(Duration::from_nanos(600)));
        assert_eq!(Silence::ending_after(at(5)).longest(), None);
    }

    proptest! {
        /// The histograms say what sorting says, to their two digits.
        #[test]
        fn medians(delays in prop::collection::vec(0u64..1_000_000, 2..200)) {
            let mut watch = Watch::Delays(Box::new(Delays::new(0, vec![])));
            let frames: Vec<_> = delays.iter().enumerate().map(|(i, d)| (i as u64, 0, *d)).collect();
            run(&mut watch, 0, &frames);
            let mut differences: Vec<i64> =
                delays.windows(2).map(|pair| pair[1] as i64 - pair[0] as i64).collect();
            differences.sort_unstable();
            let n = differences.len();
            let truth = [differences[0], differences[(n - 1) / 2], differences[n - 1]];
            let Watch::Delays(delays) = watch else { unreachable!() };
            for (said, truth) in delays.ipdv_ns().unwrap().into_iter().zip(truth) {
                let off = (said - truth).abs() as f64;
                prop_assert!(off <= 2.0 + truth.abs() as f64 * 0.01, "{} {}", said, truth);
            }
        }
    }
}
