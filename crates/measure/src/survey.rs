//! The survey of a capture: its test frames, counted stream by stream, whoever took it.
//!
//! ```text
//! frame, its time ─┬ our trailer ────────────► stream n   ─┬ a higher number, or a late one ─► this run
//!                  ├ the kernel's generator ─► pktgen      └ a lower one, made later ───────► the next run
//!                  ├ our trailer, damaged ───► damaged, of whichever stream
//!                  └ anything else ──────────► foreign: ICMP errors about a test frame, too
//! ```
//!
//! Every frame is counted under exactly one of received, duplicate, stale, wrong size, bad checksum,
//! damaged and foreign, as [`receive`](crate::receive) does, which knows what was sent: what can be told
//! without that, and of frames that were not captured whole, is in `survey/look.rs`.
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

// Whether a frame is whole, by its headers.
mod look;
// The kernel's generator's threads.
mod pktgen;

pub use pktgen::Thread;

use crate::frame::Look;
use crate::message::{Kind, is_message};
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

/// A damaged frame may have been the first or the last: it was made at most so long before or after
/// the others.
const SLACK_NS: u64 = 1_000_000_000;

/// Between two clocks lies more than a minute, always.
const ONE_CLOCK_NS: i64 = 60_000_000_000;

/// Name and version of the format of [`Surveys`].
pub const SCHEMA: &str = "wirespeed-survey/2";

/// Versions before it that are read: what they did not count is none.
pub const OLDER: [&str; 1] = ["wirespeed-survey/1"];

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
    /// Frames whose trailer is damaged, but that look like those of a stream in all else.
    #[serde(default)]
    pub damaged: Option<u64>,
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
    /// Numbers between the lowest and the highest that did not come, or came damaged.
    pub missing: u64,
    /// Further copies.
    pub duplicate: u64,
    /// Of the received, those behind a higher number (RFC 4737).
    pub reordered: u64,
    /// By how many frames at most.
    pub extent_max: u64,
    /// So late that nobody knows whether they came before.
    pub stale: u64,
    /// Times that a number came with others missing in front of it, behind the first.
    #[serde(default)]
    pub gaps: Option<u64>,
    /// Frames with a length in their headers that is not theirs, or that are pieces of one.
    #[serde(default)]
    pub wrong_size: Option<u64>,
    /// Frames with a checksum of IP, UDP, TCP or ICMP that is wrong, or a header that is none.
    #[serde(default)]
    pub bad_checksum: Option<u64>,
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
    done: Vec<Done>,
    pktgen: pktgen::Frames,
    /// Frames that may be damaged ones of ours: who that is is known when all streams are.
    doubtful: Vec<Doubtful>,
    frames: u64,
    foreign: u64,
    /// Of the foreign, those that were not captured whole: a trailer, if any, is cut off.
    cut: u64,
    span_ns: Option<(u64, u64)>,
}

/// A run that is over.
#[derive(Debug)]
struct Done {
    seen: Seen,
    made_span_ns: (u64, u64),
    kind: Option<Kind>,
}

/// What a trailer with a wrong check byte says, and the frame.
#[derive(Clone, Copy, Debug)]
struct Doubtful {
    sender: Sender,
    number: u64,
    made_ns: u64,
    l2: u32,
    kind: Kind,
}

/// A run that is under way.
#[derive(Debug)]
struct Run {
    seen: Seen,
    sequence: Sequence,
    gaps: u64,
    wrong_size: u64,
    bad_checksum: u64,
    lowest: u64,
    highest: u64,
    /// When the frame with the highest number was made.
    made_ns: u64,
    /// When any were, the first and the last.
    made_span_ns: (u64, u64),
    /// What its first frame was.
    kind: Option<Kind>,
    /// From making to capturing.
    delays_ns: Vec<i64>,
}

/// A frame of a sender's.
#[derive(Clone, Copy, Debug)]
struct Frame {
    number: u64,
    /// When it was made; none if it does not say.
    made_ns: Option<u64>,
    captured_ns: u64,
    l2: u32,
    look: Look,
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
            let look = look::look(bytes, original_len, true);
            return self.pktgen.push(header, fields, timestamp_ns, l2, look);
        }
        match Trailer::read(bytes).filter(|_| is_whole && !is_message(bytes)) {
            Some(Found::Good(of)) if of.sequence < NUMBERS => {
                let sender = Sender::Stream { stream: of.stream, test: of.test };
                let look = look::look(bytes, original_len, false);
                let (number, made_ns) = (of.sequence, Some(of.time.as_nanos()));
                let frame = Frame { number, made_ns, captured_ns: timestamp_ns, l2, look };
                self.count(sender, frame, Some(Kind::of(bytes)));
            }
            Some(Found::Bad(of)) => {
                let sender = Sender::Stream { stream: of.stream, test: of.test };
                let (number, made_ns) = (of.sequence, of.time.as_nanos());
                let kind = Kind::of(bytes);
                self.doubtful.push(Doubtful { sender, number, made_ns, l2, kind });
            }
            _ => {
                self.foreign += 1;
                self.cut += u64::from(!is_whole);
            }
        }
    }

    /// Counts a sender's frame.
    fn count(&mut self, sender: Sender, frame: Frame, kind: Option<Kind>) {
        let before = self.open.get(&sender);
        let is_later =
            |run: &Run| frame.number <= run.highest && frame.made_ns.unwrap_or(0) > run.made_ns;
        // Of threads that are not told apart nobody knows who begins anew.
        let is_alike = sender == Sender::Pktgen { which: Thread::Alike };
        let is_next = !is_alike && before.is_some_and(is_later);
        let n = before.map_or(1, |run| run.seen.run + u32::from(is_next));
        if is_next {
            self.done.extend(self.open.remove(&sender).map(Run::end));
        }
        let begin = || Run::begin(sender, n, frame, kind);
        self.open.entry(sender).or_insert_with(begin).count(frame);
    }

    /// What the capture of this name has; `ended` is why it was not read to its end, if it was not.
    pub fn capture(mut self, file: &str, ended: Option<String>) -> Capture {
        for (which, frames) in std::mem::take(&mut self.pktgen).threads() {
            let sender = Sender::Pktgen { which };
            for pktgen::Frame { header, captured_ns, l2, look, .. } in frames {
                let run = self.open.get(&sender);
                let number = run.map_or(u64::from(header.number), |run| header.after(run.highest));
                let made_ns = Some(header.time_ns).filter(|ns| *ns > 0);
                self.count(sender, Frame { number, made_ns, captured_ns, l2, look }, None);
            }
        }
        let Survey { frames, foreign, cut, span_ns, doubtful, open, mut done, .. } = self;
        done.extend(open.into_values().map(Run::end));
        done.sort_by_key(|run| (run.seen.sender, run.seen.run));
        let is_ours = |of: &&Doubtful| {
            let from = done.partition_point(|run| run.seen.sender < of.sender);
            let mut runs = done[from..].iter().take_while(|run| run.seen.sender == of.sender);
            runs.any(|run| run.could_have(of))
        };
        let damaged = doubtful.iter().filter(is_ours).count() as u64;
        Capture {
            file: file.to_string(),
            frames,
            foreign: foreign + doubtful.len() as u64 - damaged,
            cut,
            damaged: Some(damaged),
            span_ns,
            incomplete_because: ended,
            runs: done.into_iter().map(|run| run.seen).collect(),
        }
    }
}

impl Run {
    fn begin(sender: Sender, run: u32, first: Frame, kind: Option<Kind>) -> Run {
        let seen = Seen {
            sender,
            run,
            bytes: (first.l2, first.l2),
            received: 0,
            missing: 0,
            duplicate: 0,
            reordered: 0,
            extent_max: 0,
            stale: 0,
            gaps: None,
            wrong_size: None,
            bad_checksum: None,
            span_ns: (first.captured_ns, first.captured_ns),
            delay: None,
        };
        let made_ns = first.made_ns.unwrap_or(0);
        Run {
            seen,
            sequence: Sequence::starting_at(first.number.saturating_sub(BEFORE)),
            gaps: 0,
            wrong_size: 0,
            bad_checksum: 0,
            lowest: first.number,
            highest: first.number,
            made_ns,
            made_span_ns: (made_ns, made_ns),
            kind,
            delays_ns: vec![],
        }
    }

    fn count(&mut self, frame: Frame) {
        let Frame { number, made_ns, captured_ns, l2, look } = frame;
        let seen = &mut self.seen;
        let mut is_received = false;
        match look {
            Look::WrongSize => self.wrong_size += 1,
            Look::Damaged => self.bad_checksum += 1,
            Look::Intact => match self.sequence.arrive(number) {
                Arrival::InOrder => is_received = true,
                Arrival::Ahead => {
                    // Nobody knows what was in front of the first, unless a damaged one was.
                    self.gaps += u64::from(seen.received > 0 || number > self.lowest);
                    is_received = true;
                }
                Arrival::Late => {
                    seen.reordered += 1;
                    seen.extent_max = seen.extent_max.max(self.sequence.extent(number));
                    is_received = true;
                }
                Arrival::Duplicate => return seen.duplicate += 1,
                Arrival::Stale | Arrival::Absurd => return seen.stale += 1,
            },
        }
        // A damaged one was sent, too.
        self.lowest = self.lowest.min(number);
        let made = made_ns.unwrap_or(0);
        if number >= self.highest {
            self.highest = number;
            self.made_ns = made;
        }
        if !is_received {
            return;
        }
        if seen.received == 0 {
            (seen.bytes, seen.span_ns) = ((l2, l2), (captured_ns, captured_ns));
            self.made_span_ns = (made, made);
        }
        seen.received += 1;
        seen.bytes = (seen.bytes.0.min(l2), seen.bytes.1.max(l2));
        seen.span_ns = (seen.span_ns.0.min(captured_ns), seen.span_ns.1.max(captured_ns));
        self.made_span_ns = (self.made_span_ns.0.min(made), self.made_span_ns.1.max(made));
        let delay = made_ns.map(|made_ns| captured_ns.wrapping_sub(made_ns) as i64);
        self.delays_ns.extend(delay);
    }

    fn end(mut self) -> Done {
        let all = self.highest - self.lowest + 1;
        self.seen.missing = all.saturating_sub(self.seen.received);
        self.seen.gaps = Some(self.gaps);
        self.seen.wrong_size = Some(self.wrong_size);
        self.seen.bad_checksum = Some(self.bad_checksum);
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
        let Run { seen, made_span_ns, kind, .. } = self;
        Done { seen, made_span_ns, kind }
    }
}

impl Done {
    /// Whether a frame with a damaged trailer is one of these: of such a length, of the same kind, and
    /// made while they were, as the live receiver has it.
    fn could_have(&self, of: &Doubtful) -> bool {
        let (least, most) = self.seen.bytes;
        let (first, last) = self.made_span_ns;
        let made = first.saturating_sub(SLACK_NS)..=last.saturating_add(SLACK_NS);
        self.seen.received > 0
            && (least..=most).contains(&of.l2)
            && self.kind == Some(of.kind)
            && made.contains(&of.made_ns)
            // Zeros are padding, and nobody's trailer.
            && (of.number, of.made_ns) != (0, 0)
    }
}

#[cfg(test)]
mod tests;
