//! Plan of a generator: frames, and what changes from one to the next.
//!
//! ```text
//!  Plan { streams: [ Stream { frame, edits, share }, … ] }
//!           │ interleaved by their shares: 1 2 1 3 1 2 …
//!           ▼
//!  frame k of a stream: the frame's bytes ─► numbers, time, values ─► parity ─► checksums
//! ```
//!
//! Edits know places in the frame, not what stands there: whose trailer it is, and what its bytes
//! mean, is said by who makes the plan. Never sends anything.

use std::fmt;
use std::ops::Range;

/// A valid plan.
#[derive(Clone, Debug)]
pub struct Plan {
    streams: Vec<Stream>,
}

/// Frames that are alike but for their edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The frame as it lies in memory, without FCS.
    pub frame: Vec<u8>,
    /// What changes, in no particular order.
    pub edits: Vec<Edit>,
    /// How many frames of every round are this stream's.
    pub share: u32,
    /// Out of which of the generator's interfaces they go, counted from 0.
    pub out: usize,
}

/// What is written into every frame. Numbers are big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// `first` and the frame's number in its stream, added: 1, 2, 4 or 8 bytes.
    Number {
        /// Where it stands.
        at: usize,
        /// How many bytes it has.
        bytes: usize,
        /// What the first frame's is.
        first: u64,
    },
    /// When the frame was made, in nanoseconds of `CLOCK_MONOTONIC`: 8 bytes.
    Time {
        /// Where it stands.
        at: usize,
        /// What is taken off: the sender's clock began then.
        zero_ns: u64,
    },
    /// One of `count` numbers from `first` on: 1, 2, 4 or 8 bytes.
    Range {
        /// Where it stands.
        at: usize,
        /// How many bytes it has.
        bytes: usize,
        /// The lowest.
        first: u64,
        /// How many there are.
        count: u32,
        /// Which one is next.
        pick: Pick,
    },
    /// One of these pieces of bytes: addresses, or addresses and ports of a flow.
    Values {
        /// Where they stand.
        at: usize,
        /// How many bytes each has.
        bytes: usize,
        /// All of them, one after the other.
        values: Vec<u8>,
        /// Which one is next.
        pick: Pick,
    },
    /// A byte that makes the exclusive or of a range's bytes, itself included, a constant. No
    /// checksum may be in the range.
    Parity {
        /// Where it stands.
        at: usize,
        /// The range, which has `at` in it.
        over: Range<usize>,
        /// The constant.
        is: u8,
    },
    /// An Internet checksum (RFC 1071).
    Checksum {
        /// Where it stands.
        at: usize,
        /// What it is over, itself taken as zero. The ranges begin at even places.
        over: Vec<Range<usize>>,
        /// What is added that stands nowhere in the frame (of a pseudo-header).
        plus: u16,
        /// Whether `0xffff` is written for 0, which means none in UDP (RFC 768).
        never_zero: bool,
    },
}

/// In which order values are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// One after the other, then from the first again.
    InTurn,
    /// Each by a hash of the frame's number and this seed: the same in every run.
    Random(u64),
}

impl Edit {
    /// The checksum of an IPv4 header without options at `ip`.
    pub fn ipv4_checksum(ip: usize) -> Edit {
        let over = std::iter::once(ip..ip + 20).collect();
        Edit::Checksum { at: ip + 10, over, plus: 0, never_zero: false }
    }

    /// The checksum of a UDP datagram from behind the IPv4 header without options at `ip` to `end`.
    pub fn udp_checksum(ip: usize, end: usize) -> Edit {
        let udp = ip + 20;
        let over = vec![ip + 12..udp, udp..end];
        let plus = 17 + (end - udp) as u16;
        Edit::Checksum { at: udp + 6, over, plus, never_zero: true }
    }

    /// What it writes.
    pub(super) fn place(&self) -> Range<usize> {
        let (at, bytes) = match *self {
            Edit::Number { at, bytes, .. }
            | Edit::Range { at, bytes, .. }
            | Edit::Values { at, bytes, .. } => (at, bytes),
            Edit::Time { at, .. } => (at, 8),
            Edit::Parity { at, .. } => (at, 1),
            Edit::Checksum { at, .. } => (at, 2),
        };
        at..at.saturating_add(bytes)
    }
}

/// The plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPlan {
    /// There are none, or more than [`MAX_STREAMS`].
    Streams(usize),
    /// A stream's interface is beyond the [`MAX_STREAMS`]th.
    Out(usize),
    /// More than this many frames a round, or none of this stream.
    Shares(u64),
    /// Not within [`FRAME_BYTES`].
    Length(usize),
    /// The edit does not fit its frame, or cannot be as it is.
    Edit(Edit),
    /// Two edits write the same byte.
    Overlap(Edit, Edit),
    /// More than [`MAX_EDITS`] in a stream.
    Edits(usize),
}

impl fmt::Display for BadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadPlan::Streams(n) => write!(f, "{n} streams: use 1 to {MAX_STREAMS}"),
            BadPlan::Out(n) => write!(f, "interface {n}: the last is {}", MAX_STREAMS - 1),
            BadPlan::Shares(n) => {
                write!(f, "a round of {n} frames: use 1 to {MAX_ROUND}, and 1 for every stream")
            }
            BadPlan::Length(n) => {
                let (least, most) = (FRAME_BYTES.start(), FRAME_BYTES.end());
                write!(f, "a frame of {n} bytes in memory: use {least} to {most}")
            }
            BadPlan::Edit(edit) => write!(f, "{edit:?} is not possible in its frame"),
            BadPlan::Overlap(a, b) => write!(f, "{a:?} and {b:?} write the same bytes"),
            BadPlan::Edits(n) => write!(f, "{n} edits in a stream: use at most {MAX_EDITS}"),
        }
    }
}

impl std::error::Error for BadPlan {}

/// The most streams.
pub const MAX_STREAMS: usize = 64;
/// The most edits of a stream.
pub const MAX_EDITS: usize = 16;
/// The most frames of a round.
pub const MAX_ROUND: u64 = 65_536;
/// How long frames may be in memory: what fits a page beside the kernel's own notes.
pub const FRAME_BYTES: std::ops::RangeInclusive<usize> = 14..=3400;
/// The longest piece of bytes in a list of values.
const MAX_VALUE: usize = 64;
/// The most bytes a list of values may have, rounded up to 8 each.
const MAX_VALUES: usize = 1 << 26;

impl Plan {
    /// A plan of these streams.
    ///
    /// # Errors
    /// [`BadPlan`] says what is wrong.
    pub fn new(streams: Vec<Stream>) -> Result<Plan, BadPlan> {
        if streams.is_empty() || streams.len() > MAX_STREAMS {
            return Err(BadPlan::Streams(streams.len()));
        }
        let round = streams.iter().map(|stream| u64::from(stream.share)).sum();
        if round > MAX_ROUND || streams.iter().any(|stream| stream.share == 0) {
            return Err(BadPlan::Shares(round));
        }
        streams.iter().try_for_each(Stream::check)?;
        Ok(Plan { streams })
    }

    /// The streams.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// How many interfaces the streams go out of.
    pub fn outs(&self) -> usize {
        self.streams.iter().map(|stream| stream.out + 1).max().unwrap_or(0)
    }

    /// Bytes of the longest frame.
    pub(super) fn longest(&self) -> usize {
        self.streams.iter().map(|stream| stream.frame.len()).max().unwrap_or(0)
    }

    /// Which stream's turn it is, for every frame of a round: each is spread as evenly as it can be.
    pub(super) fn round(&self) -> Vec<u8> {
        let total: u64 = self.streams.iter().map(|stream| u64::from(stream.share)).sum();
        let mut owed = vec![0i64; self.streams.len()];
        let next = |_| {
            for (owed, stream) in owed.iter_mut().zip(&self.streams) {
                *owed += i64::from(stream.share);
            }
            // The first of those owed most.
            let most = owed.iter().copied().max().unwrap_or(0);
            let stream = owed.iter().position(|&owed| owed == most).unwrap_or(0);
            owed[stream] -= total as i64;
            stream as u8
        };
        (0..total).map(next).collect()
    }
}

impl Stream {
    fn check(&self) -> Result<(), BadPlan> {
        let len = self.frame.len();
        if self.out >= MAX_STREAMS {
            return Err(BadPlan::Out(self.out));
        }
        if !FRAME_BYTES.contains(&len) {
            return Err(BadPlan::Length(len));
        }
        if self.edits.len() > MAX_EDITS {
            return Err(BadPlan::Edits(self.edits.len()));
        }
        for (i, edit) in self.edits.iter().enumerate() {
            let place = edit.place();
            if place.end > len || !edit.is_possible(len) {
                return Err(BadPlan::Edit(edit.clone()));
            }
            let overlaps = |other: &&Edit| {
                let other = other.place();
                place.start < other.end && other.start < place.end
            };
            if let Some(other) = self.edits[..i].iter().find(overlaps) {
                return Err(BadPlan::Overlap(other.clone(), edit.clone()));
            }
        }
        // A parity is written before the checksums, which may be over it.
        for (parity, checksum) in
            self.edits.iter().flat_map(|a| self.edits.iter().map(move |b| (a, b)))
        {
            let (Edit::Parity { over, .. }, Edit::Checksum { at, .. }) = (parity, checksum) else {
                continue;
            };
            if over.start < at + 2 && *at < over.end {
                return Err(BadPlan::Edit(parity.clone()));
            }
        }
        Ok(())
    }
}

impl Edit {
    fn is_possible(&self, len: usize) -> bool {
        let is_size = |bytes| matches!(bytes, 1 | 2 | 4 | 8);
        let fits = |bytes: usize, most: u64| bytes >= 8 || most >> (8 * bytes) == 0;
        match self {
            Edit::Number { bytes, first, .. } => is_size(*bytes) && fits(*bytes, *first),
            Edit::Time { .. } => true,
            Edit::Range { bytes, first, count, .. } => {
                let most = first.checked_add(u64::from(*count).saturating_sub(1));
                is_size(*bytes) && *count > 0 && most.is_some_and(|most| fits(*bytes, most))
            }
            Edit::Values { bytes, values, .. } => {
                (1..=MAX_VALUE).contains(bytes)
                    && !values.is_empty()
                    && values.len().is_multiple_of(*bytes)
                    && values.len() / bytes * bytes.next_multiple_of(8) <= MAX_VALUES
            }
            Edit::Parity { at, over, .. } => over.contains(at) && over.end <= len,
            Edit::Checksum { at, over, .. } => {
                let is_even = |range: &Range<usize>| {
                    range.start.is_multiple_of(2) && range.start < range.end && range.end <= len
                };
                at.is_multiple_of(2) && !over.is_empty() && over.iter().all(is_even)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(share: u32) -> Stream {
        Stream { frame: vec![0; 60], edits: vec![], share, out: 0 }
    }

    fn time(at: usize) -> Edit {
        Edit::Time { at, zero_ns: 0 }
    }

    #[test]
    fn rounds_are_even() {
        let check = |shares: &[u32], expected: &[u8]| {
            let plan = Plan::new(shares.iter().map(|&share| stream(share)).collect()).unwrap();
            assert_eq!(plan.round(), expected, "{shares:?}");
        };
        check(&[7], &[0; 7]);
        check(&[1, 1, 1], &[0, 1, 2]);
        check(&[3, 1], &[0, 0, 1, 0]);
        check(&[1, 4, 2], &[1, 2, 1, 0, 1, 2, 1]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |edits: Vec<Edit>, expected: &str| {
            let plan = Plan::new(vec![Stream { edits, ..stream(1) }]);
            let said = plan.map_or_else(|bad| bad.to_string(), |_| "fine".to_string());
            assert!(said.contains(expected), "{said}");
        };
        check(vec![], "fine");
        check(vec![time(52)], "fine");
        check(vec![time(53)], "not possible");
        check(vec![time(50), time(43)], "write the same bytes");
        check(vec![Edit::Number { at: 0, bytes: 3, first: 0 }], "not possible");
        check(vec![Edit::Number { at: 0, bytes: 2, first: 65_536 }], "not possible");
        let range =
            |first, count| Edit::Range { at: 0, bytes: 1, first, count, pick: Pick::InTurn };
        check(vec![range(200, 56)], "fine");
        check(vec![range(200, 57)], "not possible");
        check(vec![range(200, 0)], "not possible");
        let values = |values| Edit::Values { at: 0, bytes: 6, values, pick: Pick::InTurn };
        check(vec![values(vec![1; 12])], "fine");
        check(vec![values(vec![1; 13])], "not possible");
        check(vec![values(vec![])], "not possible");
        check(vec![Edit::Parity { at: 3, over: 4..9, is: 0 }], "not possible");
        check(vec![Edit::udp_checksum(14, 60), Edit::ipv4_checksum(14)], "fine");
        check(vec![Edit::udp_checksum(14, 61)], "not possible");
        check(vec![Edit::ipv4_checksum(15)], "not possible");
        let new = |streams| Plan::new(streams).unwrap_err();
        assert_eq!(new(vec![]), BadPlan::Streams(0));
        assert_eq!(new(vec![stream(0)]), BadPlan::Shares(0));
        assert_eq!(new(vec![Stream { frame: vec![0; 13], ..stream(1) }]), BadPlan::Length(13));
        assert_eq!(new(vec![Stream { frame: vec![0; 3401], ..stream(1) }]), BadPlan::Length(3401));
    }
}
