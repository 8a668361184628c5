//! Streams as the kernel itself sends and counts them: the same frames, trailers and names as ours.
//!
//! ```text
//!  Stream ── in_kernel ─► generator::Stream ─► Generator ══ device ══ Receiver (ours)
//!  Stream ── expected, tail ─────────────────────────────────────────► Counter (the kernel's)
//!                                                         tally, latency ◄┘
//! ```
//!
//! Where a trial runs over veth pairs, generator and receiver in user space are slower than the
//! device. `port::linux::bpf` has both in the kernel; what a stream of ours means to them stands
//! here, and nowhere there.
//!
//! Never opens anything. Missing: **some streams of any headers** (`frame/program/kernel.rs`).
//! Another order than ours: random choices (a hash of the frame's number here), and random addresses
//! of networks (65,536 of them are drawn in advance).

use super::{FLOW, FLOW_AT, Flow, Stream, Vary};
use crate::frame::place;
use crate::latency_histogram::LatencyHistogram;
use crate::receive::Tally;
use crate::send::Sent;
use crate::template::IPV4;
use crate::trailer;
use crate::vary::{self, Source};
use crate::{Family, Prng, Values};
use port::linux::bpf::counter::{self, Expected, Latencies, Tail};
use port::linux::bpf::generator::{self, Edit, Pick};
use wire::{FrameLen, Moment};

/// How many random addresses are drawn.
const DRAWN: usize = 1 << 16;

impl Stream {
    /// What the generator in the kernel is to send for this stream: from its next sequence number
    /// on, `share` of every round's frames, out of the interface `out`; times begin at `zero_ns` of
    /// the kernel's clock. `None` for a field with more than 65,536 values that are to be listed (MAC
    /// addresses, steps, values that go backwards), and for what of any headers is missing.
    ///
    /// The generator's numbers go on by themselves; this stream's do not.
    pub fn in_kernel(&self, share: u32, out: usize, zero_ns: u64) -> Option<generator::Stream> {
        let len = self.image.len();
        let at = len - trailer::LEN;
        let mut frame = self.image.clone();
        (frame[at + 1], frame[at + 2]) = (self.id, self.test);
        let first = u64::from(self.test) << 56 | self.sequence;
        let mut edits = vec![
            Edit::Parity { at, over: at..len, is: trailer::MAGIC },
            Edit::Number { at: at + 2, bytes: 8, first },
            Edit::Time { at: at + 10, zero_ns },
        ];
        let seed = u64::from(self.id);
        match &self.vary {
            Vary::Nothing => {}
            Vary::Fields(fields) => {
                frame[..12].copy_from_slice(&self.now.macs());
                Flow::new(self.ipv4_sum, self.now).put(&mut frame);
                for (field, source) in fields {
                    let place = place(Family::Ipv4, *field);
                    edits.push(field_edit(place, source, &mut self.prng.clone(), seed)?);
                }
                edits.push(Edit::ipv4_checksum(IPV4));
            }
            // IPv4 checksum, addresses and ports, as they stand in the frame.
            Vary::FlowsInTurn { flows, next } => {
                let (done, to_come) = flows.split_at(*next);
                let all = to_come.iter().chain(done);
                edits.push(values(FLOW_AT, all.flat_map(|flow| flow.bytes), FLOW, Pick::InTurn));
            }
            Vary::FlowsRandom { flows, .. } => {
                let all = flows.iter().flat_map(|flow| flow.bytes);
                edits.push(values(FLOW_AT, all, FLOW, Pick::Random(seed)));
            }
            Vary::Program(program) => {
                edits.extend(program.edits(&self.image, self.prng, seed)?);
            }
        }
        if self.udp_checksum() {
            edits.push(Edit::udp_checksum(IPV4, len));
        }
        Some(generator::Stream { frame, edits, share, out })
    }

    /// What the counter in the kernel is to expect of this stream.
    pub fn expected(&self) -> Expected {
        let (stream, frame_bytes) = (self.id, self.fixed_len());
        Expected { stream, frame_bytes, ipv4: self.shape.is_none() }
    }
}

/// How our frames end: the trailer of test 0, with times that begin at `zero_ns` of the kernel's
/// clock.
pub fn tail(zero_ns: u64) -> Tail {
    Tail {
        bytes: trailer::LEN,
        parity: trailer::MAGIC,
        stream: 1,
        mark: (2, 0),
        number: 2,
        number_mask: trailer::SEQUENCE_MAX,
        time: 10,
        zero_ns,
    }
}

/// What the generator did, as a sender of ours would say it: offered is what the interface took.
pub fn sent(sent: &generator::Sent, zero_ns: u64) -> Sent {
    Sent {
        intended: sent.intended.max(sent.made()),
        offered: sent.accepted,
        refused: 0,
        starved: 0,
        late_ns_max: sent.late_ns_max,
        waited_ns_max: 0, // nor this
        first: None,      // the kernel does not say
        last: Moment::from_nanos(sent.last_ns.saturating_sub(zero_ns)),
    }
}

/// What the counter saw of a stream with frames of this length, as our receiver would say it: but
/// for the extent of reordering, which it does not know.
pub fn tally(count: &counter::Tally, frame: FrameLen, zero_ns: u64) -> Tally {
    let moment = |ns: u64| (ns > 0).then(|| Moment::from_nanos(ns.saturating_sub(zero_ns)));
    Tally {
        received: count.received,
        bytes: count.received * u64::from(frame.l2()),
        reordered: count.reordered,
        duplicate: count.duplicate,
        stale: count.stale,
        corrupt: count.corrupt,
        wrong_size: count.wrong_size,
        gaps: count.gaps,
        extent_max: 0,
        first: moment(count.first_ns),
        last: moment(count.last_ns),
    }
}

/// The counter's latencies of any number of streams.
pub fn latency(streams: impl IntoIterator<Item = Latencies>) -> LatencyHistogram {
    let mut all = LatencyHistogram::default();
    for latencies in streams {
        let extremes = (latencies.min_ns, latencies.max_ns);
        all.add_counted(latencies.iter(), extremes, latencies.sum_ns);
    }
    all
}

/// The edit of a field by its place and its bytes; `None` if its values are too many to be listed.
pub(crate) fn field_edit(
    (at, bytes): (usize, usize),
    source: &Source,
    prng: &mut Prng,
    seed: u64,
) -> Option<Edit> {
    // Every field has a seed of its own: they are independent.
    let pick = match source.pick() {
        vary::Pick::Random => Pick::Random(seed << 8 | at as u64),
        vary::Pick::InTurn | vary::Pick::Backwards => Pick::InTurn,
    };
    let listed = |all: Vec<u64>, pick| listed((at, bytes), all, pick);
    let drawn = |prng: &mut Prng| {
        let mut source = source.clone();
        listed((0..DRAWN).map(|_| source.next(prng)).collect(), Pick::InTurn)
    };
    // As many as there are, in the order in which they come.
    let in_order = |prng: &mut Prng| {
        let (mut source, n) = (source.clone(), source.values().count());
        (n <= DRAWN as u64).then(|| (0..n).map(|_| source.next(prng)).collect::<Vec<u64>>())
    };
    match source.values() {
        _ if source.pick() == vary::Pick::Backwards => Some(listed(in_order(prng)?, pick)),
        Values::Steps { first, last, step } => {
            let all = (*first..=*last).step_by(usize::try_from(*step).ok()?);
            let few = source.values().count() <= DRAWN as u64;
            few.then(|| listed(all.collect(), pick))
        }
        Values::Range(first, last) if matches!(bytes, 1 | 2 | 4) => {
            let count = u32::try_from(last - first + 1).ok()?;
            Some(Edit::Range { at, bytes, first: *first, count, pick })
        }
        Values::Range(first, last) if last - first < DRAWN as u64 => {
            Some(listed((*first..=*last).collect(), pick))
        }
        Values::Range(..) if source.pick() == vary::Pick::Random && bytes == 8 => Some(drawn(prng)),
        Values::Range(..) => None,
        Values::List(list) => Some(listed(list.clone(), pick)),
        Values::Networks(_) | Values::Networks6(_) if source.pick() == vary::Pick::Random => {
            Some(drawn(prng))
        }
        Values::Networks(_) | Values::Networks6(_) => {
            let mut source = source.clone();
            let all = (0..source.values().count()).map(|_| source.next(prng));
            Some(listed(all.collect(), Pick::InTurn))
        }
    }
}

/// These numbers, one after the other or at random.
pub(crate) fn listed(
    (at, bytes): (usize, usize),
    all: impl IntoIterator<Item = u64>,
    pick: Pick,
) -> Edit {
    let bytes_of = |value: u64| value.to_be_bytes().into_iter().skip(8 - bytes);
    values(at, all.into_iter().flat_map(bytes_of), bytes, pick)
}

fn values(at: usize, all: impl Iterator<Item = u8>, bytes: usize, pick: Pick) -> Edit {
    Edit::Values { at, bytes, values: all.collect(), pick }
}
