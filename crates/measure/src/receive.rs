//! The receiver: frames that came back, counted exactly, per stream and frame by frame, at full rate.
//!
//! ```text
//!             ┌ no trailer, another trial's; ARP, ICMP errors ─► foreign
//!             ├ a stream that is not expected here ────────────► foreign, stray
//! frame ─► trailer
//!             ├ damaged trailer, length, checksum ────────────► corrupt
//!             └ good ─► Sequence ─┬ first copy, in order ─────► received
//!                                 ├ first copy, overtaken ────► received, reordered
//!                                 ├ another copy ─────────────► duplicate
//!                                 └ too old to tell ──────────► stale
//! ```
//!
//! Every frame is counted under exactly one of received, duplicate, stale, corrupt and foreign
//! (reordered ones are among the received). Lost is what was sent and not received, and is known
//! only when all is over. What a device says of itself may end as a test frame ends, an ICMP error about
//! one that is short even in its trailer: it is looked for where a frame is not what was expected,
//! before it is called a stray or damaged. Latencies of *all* received frames count ([`delay`](crate::delay)).
//!
//! Never touches the frames' bytes; frees them all.

use crate::Stream;
use crate::delay::{Delays, Variation};
use crate::frame::{Look, Shape};
use crate::latency_histogram::LatencyHistogram;
use crate::message::{Kind, is_message};
use crate::sequence::{Arrival, Sequence};
use crate::template::{IPV4, UDP};
use crate::trailer::{Found, Trailer};
use port::{Batch, Pool, Port};
use std::sync::Arc;
use std::time::Duration;
use wire::{FrameLen, Moment, checksum};

/// What came back of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// First copies of frames of the stream.
    pub received: u64,
    /// Their bytes: L2 with FCS.
    pub bytes: u64,
    /// Frames with a smaller number than one that came before (RFC 4737 §3), among the received.
    pub reordered: u64,
    /// Second and later copies.
    pub duplicate: u64,
    /// More than [`WINDOW`](crate::sequence::WINDOW) frames late: whether they are late or double
    /// is not known. A trial with any is invalid.
    pub stale: u64,
    /// Of this stream by their trailer, but with another length or a wrong checksum.
    pub corrupt: u64,
    /// Of the corrupt, those of another length.
    pub wrong_size: u64,
    /// Times that a number came with others missing in front of it.
    pub gaps: u64,
    /// The greatest reordering extent (RFC 4737 §4.2.1), in frames.
    pub extent_max: u64,
    /// When the first and the last frame came.
    pub first: Option<Moment>,
    /// See `first`.
    pub last: Option<Moment>,
}

impl Tally {
    /// Frames that were sent and never came; `None` if more came than were sent, which no device
    /// can do: the counting is broken then.
    pub fn lost(&self, sent: u64) -> Option<u64> {
        sent.checked_sub(self.received)
    }

    /// Of both together.
    #[must_use]
    pub fn and(self, other: Tally) -> Tally {
        Tally {
            received: self.received + other.received,
            bytes: self.bytes + other.bytes,
            reordered: self.reordered + other.reordered,
            duplicate: self.duplicate + other.duplicate,
            stale: self.stale + other.stale,
            corrupt: self.corrupt + other.corrupt,
            wrong_size: self.wrong_size + other.wrong_size,
            gaps: self.gaps + other.gaps,
            extent_max: self.extent_max.max(other.extent_max),
            first: self.first.into_iter().chain(other.first).min(),
            last: self.last.max(other.last),
        }
    }
}

/// Receives test frames of any number of streams from any number of ports.
pub struct Receiver {
    /// By stream number.
    streams: Vec<Option<Box<Expected>>>,
    begin: Moment,
    /// Frames that are none of ours: without trailer, of an unknown stream, or sent before the
    /// receiver was made. A device's own packets (ARP, ICMP errors) are here.
    foreign: u64,
    /// Of the foreign: this trial's, of streams that are not expected here, by their number.
    strays: Box<[u64; 256]>,
    /// Frames whose trailer is damaged, of a stream unknown therefore.
    corrupt: u64,
    batch: Batch,
}

struct Expected {
    frame: FrameLen,
    kind: Kind,
    udp_checksum: bool,
    /// Of frames of any headers; then the two above are not looked at.
    shape: Option<Arc<Shape>>,
    /// What of a latency is the wires' own, for each length from the shortest.
    wires_ns: Vec<u64>,
    sequence: Sequence,
    tally: Tally,
    /// One more than the number of the frame that came last, whatever came before it.
    following: u64,
    delays: Delays,
}

/// How much later than `now` a frame may have been sent. On another core the caller reads the
/// clock, and then frames go on arriving while it polls; the system may even stop it in between.
/// Such a frame's latency counts as 0.
const SKEW_NS: u64 = 1_000_000_000;

impl Receiver {
    /// A receiver for frames of these streams sent at `begin` or later.
    ///
    /// # Panics
    /// If two streams have the same number.
    pub fn new<'a>(begin: Moment, streams: impl IntoIterator<Item = &'a Stream>) -> Receiver {
        let mut expected: Vec<_> = (0..256).map(|_| None).collect();
        for stream in streams {
            let slot = &mut expected[usize::from(stream.id())];
            assert!(slot.is_none(), "two streams have the number {}", stream.id());
            *slot = Some(Box::new(Expected {
                frame: stream.frame(),
                kind: stream.kind(),
                udp_checksum: stream.udp_checksum(),
                shape: stream.shape().cloned(),
                wires_ns: Vec::new(),
                sequence: Sequence::starting_at(stream.sequence()),
                tally: Tally::default(),
                following: stream.sequence(),
                delays: Delays::default(),
            }));
        }
        let (strays, batch) = (Box::new([0; 256]), Batch::new());
        Receiver { streams: expected, begin, foreign: 0, strays, corrupt: 0, batch }
    }

    /// Takes from every latency what of it is the wires' own.
    #[must_use]
    pub fn less_wires(mut self, wire_time: impl Fn(FrameLen) -> Duration) -> Receiver {
        for expected in self.streams.iter_mut().flatten() {
            let (shortest, longest) = expected.lengths();
            let of = |len| wire_time(FrameLen::without_fcs(len as u32)).as_nanos() as u64;
            expected.wires_ns = (shortest..=longest).map(of).collect();
        }
        self
    }

    /// Receives one batch, counts and frees it, and returns how many frames it had.
    #[inline]
    pub fn poll<P: Port + ?Sized>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> usize {
        let mut batch = std::mem::take(&mut self.batch);
        let n = port.receive(now, pool, &mut batch);
        self.take(now, pool, &mut batch);
        self.batch = batch;
        n
    }

    /// Counts and frees the frames of `batch`: [`poll`](Self::poll) without a port.
    #[inline]
    pub fn take(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        // All at once: one batch is what the processor keeps in flight anyway.
        for frame in batch.as_slice() {
            pool.slab().prefetch(frame);
        }
        for frame in batch.drain() {
            self.count(now, pool.slab().bytes(&frame));
            pool.free(frame);
        }
    }

    /// Counts one frame.
    #[inline]
    pub fn count(&mut self, now: Moment, frame: &[u8]) {
        let trailer = match Trailer::read(frame) {
            Some(Found::Good(trailer)) if self.is_of_this_trial(now, trailer) => trailer,
            found => return self.count_other(now, frame, found),
        };
        let Some(expected) = &mut self.streams[usize::from(trailer.stream)] else {
            return self.count_stray(frame, trailer.stream);
        };
        if !expected.count(now, frame, trailer) {
            self.foreign += 1;
        }
    }

    /// Whether frames of the stream with this number are expected here.
    #[inline]
    pub fn expects(&self, stream: u8) -> bool {
        self.streams[usize::from(stream)].is_some()
    }

    /// The streams' numbers, in order.
    pub fn streams(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255).filter(|&id| self.streams[usize::from(id)].is_some())
    }

    /// What came back of a stream; nothing for one that is not expected.
    pub fn tally(&self, stream: u8) -> Tally {
        self.streams[usize::from(stream)].as_ref().map_or(Tally::default(), |e| e.tally)
    }

    /// How late the frames of a stream were; `None` if it is not expected.
    pub fn delays_of(&self, stream: u8) -> Option<&Delays> {
        self.streams[usize::from(stream)].as_ref().map(|e| &e.delays)
    }

    /// Latencies of the received frames of a stream, in nanoseconds.
    pub fn latency_of(&self, stream: u8) -> Option<LatencyHistogram> {
        self.streams[usize::from(stream)].as_ref().map(|e| e.delays.latency())
    }

    /// How much they vary; `None` if nothing came of the stream.
    pub fn variation_of(&self, stream: u8) -> Option<Variation> {
        self.streams[usize::from(stream)].as_ref().and_then(|e| e.delays.variation())
    }

    /// Frames whose trailer is damaged, of whichever stream.
    pub fn damaged(&self) -> u64 {
        self.corrupt
    }

    /// Of all streams together. Corrupt frames of no known stream are included.
    pub fn total(&self) -> Tally {
        let none = Tally { corrupt: self.corrupt, ..Tally::default() };
        self.streams.iter().flatten().fold(none, |all, expected| all.and(expected.tally))
    }

    /// Frames that are none of ours.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// Of these, frames of this trial with the number of a stream that is not expected here.
    pub fn strays(&self, stream: u8) -> u64 {
        self.strays[usize::from(stream)]
    }

    /// Latencies of all received frames of all streams, in nanoseconds.
    pub fn latency(&self) -> LatencyHistogram {
        self.delays().latency()
    }

    /// How much they vary, all streams together; `None` if nothing came.
    pub fn variation(&self) -> Option<Variation> {
        self.delays().variation()
    }

    /// The greatest latency of any stream since this was last asked, in nanoseconds.
    pub fn take_peak(&mut self) -> Option<u64> {
        self.streams.iter_mut().flatten().filter_map(|one| one.delays.take_peak()).max()
    }

    /// How late the frames of all streams were.
    fn delays(&self) -> Delays {
        let mut all = Delays::default();
        self.add_delays(&mut all);
        all
    }

    fn add_delays(&self, all: &mut Delays) {
        self.streams.iter().flatten().for_each(|expected| all.add(&expected.delays));
    }

    #[inline]
    fn is_of_this_trial(&self, now: Moment, trailer: Trailer) -> bool {
        trailer.test == 0
            && self.begin <= trailer.time
            && trailer.time.as_nanos() <= now.as_nanos() + SKEW_NS
    }

    /// A frame of this trial whose stream is not expected here, unless it is about such a frame.
    #[cold]
    fn count_stray(&mut self, frame: &[u8], stream: u8) {
        self.foreign += 1;
        self.strays[usize::from(stream)] += u64::from(!is_message(frame));
    }

    /// A frame without a good trailer of this trial. One whose check byte is wrong, but that names
    /// a stream of ours and a time within the trial, and is as long and of the kind as that stream's
    /// frames, is ours and damaged.
    #[cold]
    fn count_other(&mut self, now: Moment, frame: &[u8], found: Option<Found>) {
        let expected = match found {
            Some(Found::Bad(trailer)) if self.is_of_this_trial(now, trailer) => {
                self.streams[usize::from(trailer.stream)].as_ref()
            }
            _ => None,
        };
        let is_ours = expected.is_some_and(|expected| {
            let (shortest, longest) = expected.lengths();
            (shortest..=longest).contains(&frame.len()) && Kind::of(frame) == expected.kind
        });
        *if is_ours { &mut self.corrupt } else { &mut self.foreign } += 1;
    }
}

impl Expected {
    /// The lengths in memory of the shortest and the longest frames.
    fn lengths(&self) -> (usize, usize) {
        let len = self.frame.in_memory() as usize;
        self.shape.as_ref().map_or((len, len), |shape| shape.extremes())
    }

    /// Counts a frame that ends as one of the stream; whether it is one.
    #[inline]
    fn count(&mut self, now: Moment, frame: &[u8], trailer: Trailer) -> bool {
        if let Some(shape) = &self.shape {
            let look = shape.look(frame, trailer.sequence);
            if look != Look::Intact {
                return self.count_damaged(frame, look == Look::WrongSize);
            }
        } else if !is_intact(frame, self.frame, self.udp_checksum) {
            return self.count_damaged(frame, frame.len() != self.frame.in_memory() as usize);
        }
        let tally = &mut self.tally;
        let arrival = self.sequence.arrive(trailer.sequence);
        match arrival {
            Arrival::InOrder => {}
            Arrival::Ahead => tally.gaps += 1,
            Arrival::Late => {
                tally.reordered += 1;
                tally.extent_max = tally.extent_max.max(self.sequence.extent(trailer.sequence));
            }
            Arrival::Duplicate => {
                tally.duplicate += 1;
                return true;
            }
            Arrival::Stale => {
                tally.stale += 1;
                return true;
            }
            Arrival::Absurd => {
                tally.corrupt += 1;
                return true;
            }
        }
        tally.received += 1;
        tally.bytes += u64::from(FrameLen::without_fcs(frame.len() as u32).l2());
        tally.first.get_or_insert(now);
        tally.last = Some(now);
        let mut latency = now.as_nanos().saturating_sub(trailer.time.as_nanos());
        if !self.wires_ns.is_empty() {
            let shortest = self.shape.as_ref().map_or(frame.len(), |shape| shape.extremes().0);
            latency = latency.saturating_sub(self.wires_ns[frame.len() - shortest]);
        }
        // In order is not enough: what was overtaken may have come in between.
        self.delays.record(latency, trailer.sequence == self.following);
        self.following = trailer.sequence + 1;
        true
    }

    /// A frame that is not intact: damaged, unless it is about one of the stream.
    #[cold]
    fn count_damaged(&mut self, frame: &[u8], wrong_size: bool) -> bool {
        if is_message(frame) {
            return false;
        }
        self.tally.corrupt += 1;
        self.tally.wrong_size += u64::from(wrong_size);
        true
    }
}

/// Latencies of all frames that these received, in nanoseconds.
pub fn latency<'a>(receivers: impl IntoIterator<Item = &'a Receiver>) -> LatencyHistogram {
    delays(receivers).latency()
}

/// How late all frames were that these received: differences are those of neighbours of one stream.
pub fn delays<'a>(receivers: impl IntoIterator<Item = &'a Receiver>) -> Delays {
    let mut all = Delays::default();
    receivers.into_iter().for_each(|receiver| receiver.add_delays(&mut all));
    all
}

/// Whether length and checksums are right. A frame that is no IPv4 any more has lost its checksum:
/// it is not intact. The UDP checksum costs a pass over the frame, and is looked at only where
/// the sender made one; it must still be there then.
#[inline]
fn is_intact(frame: &[u8], expected: FrameLen, udp_checksum: bool) -> bool {
    if frame.len() != expected.in_memory() as usize {
        return false;
    }
    let Some(ip) = frame[IPV4..].first_chunk::<20>() else { return false };
    let is_plain_ipv4 = frame[12..14] == [0x08, 0x00] && ip[0] == 0x45;
    is_plain_ipv4 && checksum::ipv4_header_ok(ip) && (!udp_checksum || udp_is_intact(ip, frame))
}

fn udp_is_intact(ip: &[u8; 20], frame: &[u8]) -> bool {
    let address = |at: usize| u32::from_be_bytes([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
    frame[UDP + 6..UDP + 8] != [0, 0] && checksum::udp_ok(address(12), address(16), &frame[UDP..])
}

#[cfg(test)]
mod tests;
