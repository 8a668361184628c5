//! One test: streams that are sent, what comes back of them, and when it is over.
//!
//! ```text
//! Sending ── duration, packet-count or stop ──► Draining ── all came, or 2 s ──► Done
//! ```
//!
//! In the order of RFC 2544 §23: the senders stop, what is under way has two seconds to come, and
//! only then lost is what did not. A frame is of this test if its trailer is whole, names this test
//! and one of its streams, a sequence number that was sent, and a time within the test; each number
//! counts once. Everything else stays with the box.
//!
//! Never allocates per packet; once a second, what was counted in it is put aside.

use super::count::{BUCKETS, Counts, Sample};
use measure::frame::check_is_right;
use measure::sequence::{Arrival, Sequence};
use measure::trailer::{self, Found, Trailer};
use measure::{Load, Pace, Schedule, Sender, Stream};
use port::{Batch, Frame, Pool, Port};
use std::collections::VecDeque;
use std::time::Duration;
use wire::{Moment, PacketRate};

/// How long frames may be under way when the senders have stopped (RFC 2544 §23).
const DRAIN: Duration = Duration::from_secs(2);
/// What a sample counts.
const SECOND: Duration = Duration::from_secs(1);
/// No end: 100 years.
const FOREVER: Duration = Duration::from_secs(3_155_760_000);
/// How often a sender at full speed is to be polled: 16 million packets a second.
const FULL_SPEED: Duration = Duration::from_micros(4);
/// Frames sent on another core may be stamped a little later than they are received.
const SKEW_NS: u64 = 1_000_000_000;

/// What a test is to be.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) test_id: u8,
    pub(super) measure_out_of_order: bool,
    pub(super) latency_max: Duration,
    pub(super) samples: usize,
    pub(super) duration: Option<Duration>,
    /// In the order of their numbers.
    pub(super) lanes: Vec<LanePlan>,
}

/// What a stream of it is to be.
#[derive(Clone, Debug)]
pub(super) struct LanePlan {
    pub(super) num: u8,
    pub(super) port: usize,
    pub(super) stream: Stream,
    /// No number: as fast as it goes.
    pub(super) rate: Option<PacketRate>,
    /// 0: no end.
    pub(super) packets: u64,
    pub(super) checksum_from: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Sending,
    Draining { until: Moment },
    Done,
}

/// A test under way, or over.
pub(super) struct Test {
    id: u8,
    pub(super) measure_out_of_order: bool,
    begin: Moment,
    /// When the senders stop, if not before.
    end: Option<Moment>,
    phase: Phase,
    lanes: Vec<Lane>,
    /// Lane by stream number; `NO_LANE` where there is none.
    lane_of: [u8; 256],
    ports: usize,
    bucket_ns: u64,
    /// The second under way.
    now: Sample,
    second_ends: Moment,
    /// All before it.
    total: Sample,
    kept: VecDeque<Sample>,
    keep: usize,
    batch: Batch,
    rest: Batch,
}

const NO_LANE: u8 = u8::MAX;

struct Lane {
    num: u8,
    port: usize,
    sender: Sender,
    /// Whether it ends by itself.
    is_counted: bool,
    sequence: Sequence,
    checksum_from: Option<usize>,
    /// The last latency, and the range it was in.
    latency: Option<(u64, usize)>,
}

impl Test {
    /// Begins it.
    pub(super) fn start(plan: Plan, ports: usize, now: Moment) -> Test {
        let Plan { test_id, measure_out_of_order, latency_max, samples, duration, lanes } = plan;
        let mut lane_of = [NO_LANE; 256];
        let lanes: Vec<Lane> = lanes
            .into_iter()
            .enumerate()
            .map(|(i, plan)| {
                lane_of[usize::from(plan.num)] = i as u8;
                let load = plan.rate.and_then(Pace::of).map_or(Load::FullSpeed, Load::Paced);
                let duration = duration.unwrap_or(FOREVER);
                let sender = Sender::new(plan.stream, Schedule { load, start: now, duration });
                Lane {
                    num: plan.num,
                    port: plan.port,
                    sender: if plan.packets > 0 { sender.at_most(plan.packets) } else { sender },
                    is_counted: plan.packets > 0,
                    sequence: Sequence::starting_at(0),
                    checksum_from: plan.checksum_from,
                    latency: None,
                }
            })
            .collect();
        let sample = |seq| Sample::new(seq, lanes.len(), ports);
        Test {
            id: test_id,
            measure_out_of_order,
            begin: now,
            end: duration.map(|duration| now + duration),
            phase: Phase::Sending,
            lane_of,
            ports,
            bucket_ns: (latency_max.as_nanos() as u64 / BUCKETS as u64).max(1),
            now: sample(1),
            second_ends: now + SECOND,
            total: sample(0),
            kept: VecDeque::new(),
            keep: samples,
            lanes,
            batch: Batch::new(),
            rest: Batch::new(),
        }
    }

    /// Sends what is due, and looks whether the second or the test is over.
    #[inline]
    pub(super) fn poll<P: Port>(&mut self, now: Moment, pool: &mut Pool, ports: &mut [P]) {
        while now >= self.second_ends && self.phase != Phase::Done {
            self.end_second(self.second_ends);
        }
        match self.phase {
            Phase::Sending => {
                let is_over = self.end.is_some_and(|end| now >= end);
                let mut is_done = true;
                for i in 0..self.lanes.len() {
                    self.send(i, now, pool, ports);
                    let lane = &self.lanes[i];
                    is_done &= lane.sender.is_done(now) && (is_over || lane.is_counted);
                }
                if is_done {
                    self.stop(self.end.map_or(now, |end| now.min(end)));
                }
            }
            Phase::Draining { until } => {
                if now >= until || self.outstanding() <= 0 {
                    self.finish(now);
                }
            }
            Phase::Done => {}
        }
    }

    /// Sent and not received, of all streams.
    fn outstanding(&self) -> i64 {
        let samples = [&self.now, &self.total];
        samples.iter().flat_map(|sample| &sample.streams).map(Counts::lost).sum()
    }

    fn send<P: Port>(&mut self, lane: usize, now: Moment, pool: &mut Pool, ports: &mut [P]) {
        let (counts, lane) = (&mut self.now.streams[lane], &mut self.lanes[lane]);
        let Some(port) = ports.get_mut(lane.port) else { return };
        if lane.sender.fill(now, pool, &mut self.batch) == 0 {
            return;
        }
        // What the port drops (its wire is full) was not sent: it is nobody's loss.
        let before = port.counters();
        port.send(now, pool, &mut self.batch);
        let after = port.counters();
        counts.tx.packets += after.tx_packet - before.tx_packet;
        counts.tx.bytes += after.tx_byte - before.tx_byte;
    }

    /// Takes the test's frames out of `batch`, counts and frees them; the others stay, in order.
    #[inline]
    pub(super) fn take(&mut self, now: Moment, port: usize, pool: &mut Pool, batch: &mut Batch) {
        if self.phase == Phase::Done || port >= self.ports {
            return;
        }
        let mut rest = std::mem::take(&mut self.rest);
        for frame in batch.as_slice() {
            pool.slab().prefetch(frame);
        }
        for frame in batch.drain() {
            match self.count(now, port, pool.slab().bytes(&frame)) {
                Some(()) => pool.free(frame),
                None => self.leave(port, frame, &mut rest),
            }
        }
        std::mem::swap(batch, &mut rest);
        self.rest = rest;
    }

    fn leave(&mut self, port: usize, frame: Frame, rest: &mut Batch) {
        self.now.unknown[port].count(frame.len());
        rest.push(frame);
    }

    /// Counts a frame; `None` if it is not of this test.
    #[inline]
    fn count(&mut self, now: Moment, port: usize, bytes: &[u8]) -> Option<()> {
        let Some(Found::Good(trailer)) = Trailer::read(bytes) else { return None };
        let lane_idx = usize::from(self.lane_of[usize::from(trailer.stream)]);
        let lane = self.lanes.get_mut(lane_idx)?;
        let Trailer { test, sequence, time, .. } = trailer;
        let sent = lane.sender.stream().sequence();
        let in_time = self.begin <= time && time.as_nanos() <= now.as_nanos() + SKEW_NS;
        if test != self.id || sequence >= sent || !in_time {
            return None;
        }
        let counts = &mut self.now.streams[lane_idx];
        if lane.checksum_from.is_some_and(|from| !check_is_right(bytes, from, CHECK_TAIL)) {
            counts.bad_checksum += 1;
            return Some(());
        }
        match lane.sequence.arrive(sequence) {
            Arrival::InOrder | Arrival::Ahead => {}
            Arrival::Late => counts.out_of_order += 1,
            Arrival::Duplicate => {
                counts.duplicate += 1;
                return Some(());
            }
            Arrival::Stale | Arrival::Absurd => {
                counts.stale += 1;
                return Some(());
            }
        }
        counts.rx.count(bytes.len());
        self.now.received[lane_idx * self.ports + port].count(bytes.len());
        let ns = now.as_nanos().saturating_sub(time.as_nanos());
        // Frames of a batch share their times: one division for all of them.
        let bucket = match lane.latency {
            Some((before, bucket)) if before == ns => bucket,
            _ => (ns / self.bucket_ns).min(BUCKETS as u64) as usize,
        };
        counts.latency.count(ns, lane.latency.map(|(before, _)| before));
        counts.buckets[bucket] += 1;
        lane.latency = Some((ns, bucket));
        Some(())
    }

    fn end_second(&mut self, at: Moment) {
        let begun = Moment::from_nanos(self.second_ends.as_nanos() - SECOND.as_nanos() as u64);
        self.now.time = at.since(begun);
        let next = Sample::new(self.now.seq + 1, self.lanes.len(), self.ports);
        let sample = std::mem::replace(&mut self.now, next);
        self.total.add(&sample);
        self.kept.push_back(sample);
        if self.kept.len() > self.keep {
            self.kept.pop_front();
        }
        self.second_ends = self.second_ends + SECOND;
    }

    /// The senders stop.
    pub(super) fn stop(&mut self, now: Moment) {
        if self.phase == Phase::Sending {
            self.end_part_of_second(now);
            self.phase = Phase::Draining { until: now + DRAIN };
        }
    }

    /// It is over, whatever is under way.
    pub(super) fn finish(&mut self, now: Moment) {
        self.stop(now);
        if self.phase != Phase::Done {
            // What came since the senders stopped belongs to the last sample there is.
            let late =
                std::mem::replace(&mut self.now, Sample::new(0, self.lanes.len(), self.ports));
            self.total.add(&late);
            if let Some(last) = self.kept.back_mut() {
                last.add(&late);
            }
            self.phase = Phase::Done;
        }
    }

    /// The senders' last second, which may be shorter, ends now; what drains is counted to it.
    fn end_part_of_second(&mut self, now: Moment) {
        let begun = self.second_ends.as_nanos() - SECOND.as_nanos() as u64;
        if now.as_nanos() > begun {
            self.end_second(now);
        }
        self.second_ends = Moment::from_nanos(u64::MAX);
    }

    pub(super) fn is_sending(&self) -> bool {
        self.phase == Phase::Sending
    }

    /// Whether every second that is over has been put aside.
    pub(super) fn is_up_to_date(&self, now: Moment) -> bool {
        now < self.second_ends
    }

    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    pub(super) fn test_id(&self) -> u8 {
        self.id
    }

    /// The streams' numbers, in the order of a sample's counts.
    pub(super) fn nums(&self) -> impl Iterator<Item = u8> + '_ {
        self.lanes.iter().map(|lane| lane.num)
    }

    /// The port a stream is sent from.
    pub(super) fn port_of(&self, stream: usize) -> usize {
        self.lanes[stream].port
    }

    /// The seconds that are kept, oldest first. The last is whole when the test is over.
    pub(super) fn kept(&self) -> &VecDeque<Sample> {
        &self.kept
    }

    /// All of it, the second under way included.
    pub(super) fn total(&self) -> Sample {
        let mut total = self.total.clone();
        let time = total.time;
        total.add(&self.now);
        Sample { time, ..total }
    }

    /// The time of each range of the latency distribution, in nanoseconds.
    pub(super) fn bucket_ns(&self) -> u64 {
        self.bucket_ns
    }

    /// When it has something to do next.
    pub(super) fn next_due(&self, now: Moment) -> Option<Moment> {
        match self.phase {
            Phase::Sending => {
                let lanes = self.lanes.iter().filter(|lane| !lane.sender.is_done(now));
                let due = lanes.map(|lane| match lane.sender.is_paced() {
                    true => lane.sender.next_due(),
                    false => now + FULL_SPEED,
                });
                due.chain([self.second_ends]).chain(self.end).min()
            }
            Phase::Draining { until } => Some(until),
            Phase::Done => None,
        }
    }
}

/// The bytes behind the data of a frame with a checksum: it, and the trailer.
const CHECK_TAIL: usize = 2 + trailer::LEN;

impl std::fmt::Debug for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Test").field("id", &self.id).field("phase", &self.phase).finish()
    }
}
