//! A receiver in the kernel: an XDP program that knows test frames by their last bytes, counts them
//! exactly, and lets all others pass.
//!
//! ```text
//!             ┌ another end, stream or test, another trial's time ──► foreign: on to the stack
//! frame ─► tail
//!             ├ an ICMP error that quotes a frame ──────────────────► foreign, too
//!             ├ wrong parity, length, IPv4 header checksum ─────────► corrupt  ┐
//!             └ good ─► number ─┬ first copy, the highest so far ───► received │
//!                               ├ first copy, overtaken ────────────► received, reordered
//!                               ├ another copy ─────────────────────► duplicate│
//!                               └ too old to tell ──────────────────► stale    ┘ dropped
//! ```
//!
//! The words are those of `measure`'s receiver, and so are the numbers: every frame is counted under
//! exactly one of received, duplicate, stale, corrupt and foreign. Numbers are remembered for a
//! window of 65,536; latencies of all received frames, from the time in the frame to the program's
//! clock (`CLOCK_MONOTONIC` both), go into a log-linear histogram, to better than 1 %.
//!
//! It counts one queue, which one processor serves at a time; frames of other queues are passed on
//! and counted as [`Count::other_queue`]: give the interface one queue. While the program is attached
//! the far end of a veth pair takes XDP frames, which is what a [`Generator`](super::Generator) sends.
//!
//! Never leaves anything attached: the program goes with the counter. Missing: **UDP checksums
//! verified**, **the extent of reordering**, **several queues**, **frames in several buffers** (an MTU above some 3,500 bytes).

// Latencies by their size.
pub mod histogram;

// The program.
mod program;
// The part of it that knows what devices say of test frames.
mod message;
// The part of it that says what a number's coming means.
mod sequence;

pub use histogram::Latencies;

use super::program::{Link, Mode};
use super::{Program, SharedArray, clock_ns, interface_index};
use crate::linux::Unavailable;
use histogram::BUCKETS;

/// How test frames end. Places are counted from the beginning of these last bytes; numbers are
/// big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// How many bytes it has: 8 to 64.
    pub bytes: usize,
    /// What the exclusive or of all of them is.
    pub parity: u8,
    /// Where the byte stands that is the stream's number.
    pub stream: usize,
    /// A byte that is the same in all frames: its place and value.
    pub mark: (usize, u8),
    /// Where 8 bytes stand in which the frame's number is …
    pub number: usize,
    /// … in these bits.
    pub number_mask: u64,
    /// Where 8 bytes stand that are the time of sending …
    pub time: usize,
    /// … since this time of [`clock_ns`].
    pub zero_ns: u64,
}

/// A stream that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Its number.
    pub stream: u8,
    /// How long all its frames are in memory, without FCS; `None`: any length.
    pub frame_bytes: Option<usize>,
    /// Whether its frames are IPv4 without options, with the right header checksum.
    pub ipv4: bool,
}

/// What came of one stream since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// First copies.
    pub received: u64,
    /// Their bytes in memory: without FCS.
    pub bytes: u64,
    /// Frames with a smaller number than one that came before, among the received.
    pub reordered: u64,
    /// Second and later copies.
    pub duplicate: u64,
    /// Too late to tell whether they are late or double.
    pub stale: u64,
    /// Of this stream by their last bytes, and damaged elsewhere or of another length.
    pub corrupt: u64,
    /// Of the corrupt, those of another length.
    pub wrong_size: u64,
    /// Times that a number came with others missing in front of it.
    pub gaps: u64,
    /// When the first and the last received frame came, by [`clock_ns`]; 0 if none has.
    pub first_ns: u64,
    /// See `first_ns`.
    pub last_ns: u64,
}

/// What came since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Of each stream, in the order in which they are expected.
    pub streams: Vec<Tally>,
    /// Frames that are none of ours, passed on to the stack.
    pub foreign: u64,
    /// Frames with damaged last bytes that name a stream of ours and a time of this trial.
    pub corrupt: u64,
    /// Frames of another queue than the first, passed on to the stack, whatever they were.
    pub other_queue: u64,
}

/// Counts test frames as an interface receives them.
pub struct Counter {
    expected: Vec<Expected>,
    state: SharedArray,
    _link: Link,
}

/// Words of the state that program and process share.
mod word {
    pub(super) const FOREIGN: usize = 0;
    pub(super) const CORRUPT: usize = 1;
    pub(super) const OTHER_QUEUE: usize = 2;
    /// Frames sent earlier are foreign.
    pub(super) const BEGIN: usize = 3;
    /// By a stream's number: 1 more than its place, or 0.
    pub(super) const PLACES: usize = 8;
    /// The streams, one after the other.
    pub(super) const STREAMS: usize = PLACES + 256;
}

/// Words of each stream, from its beginning.
mod of_stream {
    use super::histogram::BUCKETS;

    pub(super) const FRAME_BYTES: usize = 0;
    pub(super) const IPV4: usize = 1;
    /// One more than the highest number.
    pub(super) const NEXT: usize = 2;
    /// Where counting began.
    pub(super) const START: usize = 3;
    pub(super) const RECEIVED: usize = 4;
    pub(super) const BYTES: usize = 5;
    pub(super) const REORDERED: usize = 6;
    pub(super) const DUPLICATE: usize = 7;
    pub(super) const STALE: usize = 8;
    pub(super) const CORRUPT: usize = 9;
    pub(super) const FIRST: usize = 10;
    pub(super) const LAST: usize = 11;
    pub(super) const LATENCY_MIN: usize = 12;
    pub(super) const LATENCY_MAX: usize = 13;
    pub(super) const LATENCY_SUM: usize = 14;
    pub(super) const WRONG_SIZE: usize = 15;
    pub(super) const GAPS: usize = 16;
    /// A bit for each of the last numbers.
    pub(super) const WINDOW: usize = 24;
    pub(super) const WINDOW_WORDS: usize = 1024;
    pub(super) const LATENCIES: usize = WINDOW + WINDOW_WORDS;
    pub(super) const WORDS: usize = LATENCIES + BUCKETS;
}

impl Counter {
    /// Begins to count on this interface of the calling thread's namespace.
    ///
    /// # Errors
    /// [`Unavailable`]: no such interface, another program is there, no rights.
    ///
    /// # Panics
    /// If two streams have the same number, or the tail's places are not within it.
    pub fn open(
        interface: &str,
        mode: Mode,
        tail: &Tail,
        expected: &[Expected],
    ) -> Result<Counter, Unavailable> {
        tail.check();
        let index = interface_index(interface)?;
        let state = SharedArray::new("counter", word::STREAMS + expected.len() * of_stream::WORDS)?;
        for (i, stream) in expected.iter().enumerate() {
            let place = word::PLACES + usize::from(stream.stream);
            assert!(state.get(place) == 0, "two streams have the number {}", stream.stream);
            state.set(place, i as u64 + 1);
        }
        let code = program::assemble(tail, expected.len(), &state);
        let program = Program::xdp("counter", &code, false)?;
        let firsts = vec![0; expected.len()];
        let reset = |state| start(state, expected, clock_ns(), &firsts);
        reset(&state);
        let link = program.attach(index, mode)?;
        Ok(Counter { expected: expected.to_vec(), state, _link: link })
    }

    /// Begins a trial: counts are 0 again, frames sent before `begin_ns` are foreign, and each
    /// stream's first number is given. No frames of the trial may be on their way yet.
    ///
    /// # Panics
    /// If there are not as many first numbers as streams.
    pub fn start(&mut self, begin_ns: u64, firsts: &[u64]) {
        assert_eq!(firsts.len(), self.expected.len(), "a first number for each stream");
        start(&self.state, &self.expected, begin_ns, firsts);
    }

    /// What came since the start. While frames come, the numbers may be of different moments.
    pub fn read(&self) -> Count {
        let of = |place: usize, word: usize| self.state.get(at(place) + word);
        let tally = |place: usize| Tally {
            received: of(place, of_stream::RECEIVED),
            bytes: of(place, of_stream::BYTES),
            reordered: of(place, of_stream::REORDERED),
            duplicate: of(place, of_stream::DUPLICATE),
            stale: of(place, of_stream::STALE),
            corrupt: of(place, of_stream::CORRUPT),
            wrong_size: of(place, of_stream::WRONG_SIZE),
            gaps: of(place, of_stream::GAPS),
            first_ns: of(place, of_stream::FIRST),
            last_ns: of(place, of_stream::LAST),
        };
        Count {
            streams: (0..self.expected.len()).map(tally).collect(),
            foreign: self.state.get(word::FOREIGN),
            corrupt: self.state.get(word::CORRUPT),
            other_queue: self.state.get(word::OTHER_QUEUE),
        }
    }

    /// Latencies of a stream's received frames since the start.
    ///
    /// # Panics
    /// If there is no such place among the expected streams.
    pub fn latencies(&self, place: usize) -> Latencies {
        assert!(place < self.expected.len(), "stream {place} of {}", self.expected.len());
        let of = |word: usize| self.state.get(at(place) + word);
        Latencies {
            buckets: (0..BUCKETS).map(|i| of(of_stream::LATENCIES + i)).collect(),
            min_ns: of(of_stream::LATENCY_MIN),
            max_ns: of(of_stream::LATENCY_MAX),
            sum_ns: of(of_stream::LATENCY_SUM),
        }
    }
}

/// Where a stream's words begin.
fn at(place: usize) -> usize {
    word::STREAMS + place * of_stream::WORDS
}

fn start(state: &SharedArray, expected: &[Expected], begin_ns: u64, firsts: &[u64]) {
    for (place, (stream, &first)) in expected.iter().zip(firsts).enumerate() {
        (0..of_stream::WORDS).for_each(|word| state.set(at(place) + word, 0));
        for (word, value) in [
            (of_stream::FRAME_BYTES, stream.frame_bytes.map_or(0, |bytes| bytes as u64)),
            (of_stream::IPV4, u64::from(stream.ipv4)),
            (of_stream::NEXT, first),
            (of_stream::START, first),
            (of_stream::LATENCY_MIN, u64::MAX),
        ] {
            state.set(at(place) + word, value);
        }
    }
    for word in [word::FOREIGN, word::CORRUPT, word::OTHER_QUEUE] {
        state.set(word, 0);
    }
    state.set(word::BEGIN, begin_ns);
}

impl Tail {
    fn check(&self) {
        let Tail { bytes, stream, mark, number, time, .. } = *self;
        let is_within = (8..=64).contains(&bytes)
            && stream < bytes
            && mark.0 < bytes
            && number + 8 <= bytes
            && time + 8 <= bytes;
        assert!(is_within, "the places of {self:?} are not within it");
    }
}
