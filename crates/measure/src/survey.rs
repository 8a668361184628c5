//! What a capture has of test frames: counted stream by stream, whoever took it.
//!
//! ```text
//! frame, its time ─┬ our trailer ────────────► stream n   ─┬ a higher number, or a late one ─► this run
//!                  ├ the kernel's generator ─► pktgen      └ a lower one, made later ───────► the next run
//!                  └ anything else ──────────► foreign
//! ```
//!
//! A trial begins its streams anew, so a capture has several runs of one: a number that is not above
//! all before, in a frame that was made after all before, begins the next. How many frames were sent
//! nobody tells: missing are the numbers between the lowest and the highest that came. A capture on
//! both sides of a device has every frame twice, which are duplicates.
//!
//! Delays are from the time in the frame to that of the capture, if one clock could have said both;
//! else only how much later than the fastest a frame came. Never touches a file: frames come in.

use crate::pktgen;
use crate::sequence::{Arrival, Sequence};
use crate::trailer::{Found, Trailer};
use std::collections::BTreeMap;

/// A trailer is 18 bytes, and those of other frames look like one now and then: none of ours has a
/// number from here on (a day at 12 million a second).
const NUMBERS: u64 = 1 << 40;

/// Frames that came this many numbers before the first are late; earlier ones are another run's.
const BEFORE: u64 = 1 << 12;

/// Between two clocks lies more than a minute, always.
const ONE_CLOCK_NS: i64 = 60_000_000_000;

/// Whose frames they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sender {
    /// Our own, by the numbers in the trailer.
    Stream {
        /// The stream.
        stream: u8,
        /// The test: 0, but of RouterOS's traffic generator.
        test: u8,
    },
    /// The kernel's packet generator.
    Pktgen,
}

/// One run of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        let Some((sender, number, made_ns)) = self.whose(bytes, is_whole) else {
            self.foreign += 1;
            self.cut += u64::from(!is_whole);
            return;
        };
        let l2 = original_len.saturating_add(4);
        let before = self.open.get(&sender);
        let is_next =
            before.is_some_and(|run| number <= run.highest && made_ns.unwrap_or(0) > run.made_ns);
        let n = before.map_or(1, |run| run.seen.run + u32::from(is_next));
        if is_next {
            self.done.extend(self.open.remove(&sender).map(Run::end));
        }
        let begin = || Run::begin(sender, n, number, l2, timestamp_ns);
        let run = self.open.entry(sender).or_insert_with(begin);
        run.count(timestamp_ns, number, made_ns, l2);
    }

    /// Whose frame it is, its number, and when it was made.
    fn whose(&self, bytes: &[u8], is_whole: bool) -> Option<(Sender, u64, Option<u64>)> {
        if let Some(header) = pktgen::Header::read(bytes) {
            let run = self.open.get(&Sender::Pktgen);
            let number = run.map_or(u64::from(header.number), |run| header.after(run.highest));
            return Some((Sender::Pktgen, number, Some(header.time_ns).filter(|ns| *ns > 0)));
        }
        match Trailer::read(bytes).filter(|_| is_whole)? {
            Found::Good(Trailer { stream, test, sequence, time }) if sequence < NUMBERS => {
                Some((Sender::Stream { stream, test }, sequence, Some(time.as_nanos())))
            }
            _ => None,
        }
    }

    /// All runs, by sender, in their order.
    pub fn finish(self) -> Vec<Seen> {
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
