//! What a capture has of test frames: counted stream by stream, whoever took it.
//!
//! ```text
//! frame, its time ─┬ our trailer ────────────► stream n   ─┬ a higher number, or a late one ─► this run
//!                  ├ the kernel's generator ─► pktgen      └ a lower one, made later ───────► the next run
//!                  └ anything else ──────────► foreign: ICMP errors about a test frame, too
//! ```
//!
//! A trial begins its streams anew, so a capture has several runs of one: a number that is not above
//! all before, in a frame that was made after all before, begins the next. How many frames were sent
//! nobody tells: missing are the numbers between the lowest and the highest that came. A capture on
//! both sides of a device has every frame twice, which are duplicates.
//!
//! The kernel's generator may have several threads, each with numbers of its own: they are told apart by
//! their frames' addresses or ports, or, where nothing tells them apart, counted as one, and said.
//!
//! Delays are from the time in the frame to that of the capture, if one clock could have said both;
//! else only how much later than the fastest a frame came. Never touches a file: frames come in.

// The kernel's generator's threads.
mod pktgen;

pub use pktgen::Thread;

use crate::message::is_message;
use crate::pktgen::{Fields, Header};
use crate::sequence::{Arrival, Sequence};
use crate::trailer::{Found, Trailer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A trailer is 18 bytes, and those of other frames look like one now and then: none of ours has a
/// number from here on (a day at 12 million a second).
const NUMBERS: u64 = 1 << 40;

/// Frames that came this many numbers before the first are late; earlier ones are another run's.
const BEFORE: u64 = 1 << 12;

/// Between two clocks lies more than a minute, always.
const ONE_CLOCK_NS: i64 = 60_000_000_000;

/// Name and version of the format of [`Surveys`].
pub const SCHEMA: &str = "wirespeed-survey/1";

/// What several captures have: the whole of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surveys {
    /// [`SCHEMA`].
    pub schema: String,
    /// One after the other.
    pub captures: Vec<Capture>,
}

/// What a capture has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Its file's name.
    pub file: String,
    /// All frames.
    pub frames: u64,
    /// Those of nobody we know.
    pub foreign: u64,
    /// Of the foreign, those that were not captured whole.
    pub cut: u64,
    /// When the first and the last came, in nanoseconds since 1970.
    pub span_ns: Option<(u64, u64)>,
    /// Why it was not read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete_because: Option<String>,
    /// All runs, by sender, in their order.
    pub runs: Vec<Seen>,
}

/// Whose frames they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Sender {
    /// Our own, by the numbers in the trailer.
    Stream {
        /// The stream.
        stream: u8,
        /// The test: 0, but of RouterOS's traffic generator.
        test: u8,
    },
    /// The kernel's packet generator.
    Pktgen {
        /// Which of its threads.
        which: Thread,
    },
}

/// One run of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Whose.
    pub sender: Sender,
    /// Its how many-th, from 1.
    pub run: u32,
    /// The shortest and the longest frame: L2 with FCS.
    pub bytes: (u32, u32),
    /// Frames whose number came for the first time.
    pub received: u64,
    /// Numbers between the lowest and the highest that did not come.
    pub missing: u64,
    /// Further copies.
    pub duplicate: u64,
    /// Of the received, those behind a higher number (RFC 4737).
    pub reordered: u64,
    /// By how many frames at most.
    pub extent_max: u64,
    /// So late that nobody knows whether they came before.
    pub stale: u64,
    /// When the first and the last came, in nanoseconds since 1970.
    pub span_ns: (u64, u64),
    /// How late they were; none if the frames do not say when they were made.
    pub delay: Option<Delay>,
}

/// How late frames were, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// Whether sender and capture had one clock; if not, these are above the least.
    pub one_clock: bool,
    /// The least.
    pub min_ns: u64,
    /// Of half of the frames.
    pub median_ns: u64,
    /// Of 99 of a hundred.
    pub p99_ns: u64,
    /// The greatest.
    pub max_ns: u64,
}

/// What was found so far.
#[derive(Debug, Default)]
pub struct Survey {
    open: BTreeMap<Sender, Run>,
    done: Vec<Seen>,
    pktgen: pktgen::Frames,
    /// All frames.
    pub frames: u64,
    /// Those of nobody we know.
    pub foreign: u64,
    /// Of the foreign, those that were not captured whole: a trailer, if any, is cut off.
    pub cut: u64,
    /// When the first and the last came, in nanoseconds since 1970.
    pub span_ns: Option<(u64, u64)>,
}

/// A run that is under way.
#[derive(Debug)]
struct Run {
    seen: Seen,
    sequence: Sequence,
    lowest: u64,
    highest: u64,
    /// When the frame with the highest number was made.
    made_ns: u64,
    /// From making to capturing.
    delays_ns: Vec<i64>,
}

impl Survey {
    /// A captured Ethernet frame: when, its bytes without FCS, and how many it had on the wire.
    pub fn frame(&mut self, timestamp_ns: u64, bytes: &[u8], original_len: u32) {
        self.frames += 1;
        let (first, last) = self.span_ns.unwrap_or((timestamp_ns, timestamp_ns));
        self.span_ns = Some((first.min(timestamp_ns), last.max(timestamp_ns)));
        let is_whole = bytes.len() >= original_len as usize;
        let l2 = original_len.saturating_add(4);
        // A header is enough, however much of the frame was captured.
        if let (Some(header), Some(fields)) = (Header::read(bytes), Fields::read(bytes)) {
            return self.pktgen.push(header, fields, timestamp_ns, l2);
        }
        match Trailer::read(bytes).filter(|_| is_whole && !is_message(bytes)) {
            Some(Found::Good(of)) if of.sequence < NUMBERS => {
                let sender = Sender::Stream { stream: of.stream, test: of.test };
                self.count(sender, of.sequence, Some(of.time.as_nanos()), timestamp_ns, l2);
            }
            _ => {
                self.foreign += 1;
                self.cut += u64::from(!is_whole);
            }
        }
    }

    /// Counts a sender's frame: its number, when it was made and when it was captured.
    fn count(
        &mut self,
        sender: Sender,
        number: u64,
        made_ns: Option<u64>,
        timestamp_ns: u64,
        l2: u32,
    ) {
        let before = self.open.get(&sender);
        let is_later = |run: &Run| number <= run.highest && made_ns.unwrap_or(0) > run.made_ns;
        // Of threads that are not told apart nobody knows who begins anew.
        let is_alike = sender == Sender::Pktgen { which: Thread::Alike };
        let is_next = !is_alike && before.is_some_and(is_later);
        let n = before.map_or(1, |run| run.seen.run + u32::from(is_next));
        if is_next {
            self.done.extend(self.open.remove(&sender).map(Run::end));
        }
        let begin = || Run::begin(sender, n, number, l2, timestamp_ns);
        let run = self.open.entry(sender).or_insert_with(begin);
        run.count(timestamp_ns, number, made_ns, l2);
    }

    /// What the capture of this name has; `ended` is why it was not read to its end, if it was not.
    pub fn capture(self, file: &str, ended: Option<String>) -> Capture {
        let Survey { frames, foreign, cut, span_ns, .. } = self;
        let (file, runs) = (file.to_string(), self.finish());
        Capture { file, frames, foreign, cut, span_ns, incomplete_because: ended, runs }
    }

    /// All runs, by sender, in their order.
    pub fn finish(mut self) -> Vec<Seen> {
        for (which, frames) in std::mem::take(&mut self.pktgen).threads() {
            let sender = Sender::Pktgen { which };
            for frame in frames {
                let header = frame.header;
                let run = self.open.get(&sender);
                let number = run.map_or(u64::from(header.number), |run| header.after(run.highest));
                let made_ns = Some(header.time_ns).filter(|ns| *ns > 0);
                self.count(sender, number, made_ns, frame.captured_ns, frame.l2);
            }
        }
        let mut all = self.done;
        all.extend(self.open.into_values().map(Run::end));
        all.sort_by_key(|seen| (seen.sender, seen.run));
        all
    }
}

impl Run {
    fn begin(sender: Sender, run: u32, number: u64, l2: u32, timestamp_ns: u64) -> Run {
        let seen = Seen {
            sender,
            run,
            bytes: (l2, l2),
            received: 0,
            missing: 0,
            duplicate: 0,
            reordered: 0,
            extent_max: 0,
            stale: 0,
            span_ns: (timestamp_ns, timestamp_ns),
            delay: None,
        };
        let sequence = Sequence::starting_at(number.saturating_sub(BEFORE));
        Run { seen, sequence, lowest: number, highest: number, made_ns: 0, delays_ns: vec![] }
    }

    fn count(&mut self, timestamp_ns: u64, number: u64, made_ns: Option<u64>, l2: u32) {
        let seen = &mut self.seen;
        match self.sequence.arrive(number) {
            Arrival::InOrder | Arrival::Ahead => {}
            Arrival::Late => {
                seen.reordered += 1;
                seen.extent_max = seen.extent_max.max(self.sequence.extent(number));
            }
            Arrival::Duplicate => return seen.duplicate += 1,
            Arrival::Stale | Arrival::Absurd => return seen.stale += 1,
        }
        seen.received += 1;
        seen.bytes = (seen.bytes.0.min(l2), seen.bytes.1.max(l2));
        seen.span_ns = (seen.span_ns.0.min(timestamp_ns), seen.span_ns.1.max(timestamp_ns));
        self.lowest = self.lowest.min(number);
        if number >= self.highest {
            self.highest = number;
            self.made_ns = made_ns.unwrap_or(0);
        }
        let delay = made_ns.map(|made_ns| timestamp_ns.wrapping_sub(made_ns) as i64);
        self.delays_ns.extend(delay);
    }

    fn end(mut self) -> Seen {
        let all = self.highest - self.lowest + 1;
        self.seen.missing = all.saturating_sub(self.seen.received);
        self.delays_ns.sort_unstable();
        if let (Some(&min), Some(&max)) = (self.delays_ns.first(), self.delays_ns.last()) {
            let one_clock = min >= 0 && max <= ONE_CLOCK_NS;
            let above = if one_clock { 0 } else { min };
            let rank = |share: f64| (share * self.delays_ns.len() as f64).ceil() as usize - 1;
            let [min_ns, median_ns, p99_ns, max_ns] =
                [min, self.delays_ns[rank(0.5)], self.delays_ns[rank(0.99)], max]
                    .map(|delay| delay.wrapping_sub(above) as u64);
            self.seen.delay = Some(Delay { one_clock, min_ns, median_ns, p99_ns, max_ns });
        }
        self.seen
    }
}

#[cfg(test)]
mod tests;
