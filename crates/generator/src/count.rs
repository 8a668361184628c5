//! Counters of a test: for each stream, each port, each second.
//!
//! ```text
//! Sample (one second, or all of them) ─┬─ streams: Counts { tx, rx, order, latency, buckets }
//!                                      ├─ received: by stream and port
//!                                      └─ unknown: by port
//! ```

use std::time::Duration;

/// Packets and their bytes, L2 without FCS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Flow {
    #[inline]
    pub(super) fn count(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    pub(super) fn add(&mut self, other: Flow) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }

    /// Bits a second over this time.
    pub fn rate(self, time: Duration) -> u64 {
        match time.as_nanos() {
            0 => 0,
            ns => (u128::from(self.bytes) * 8_000_000_000 / ns) as u64,
        }
    }
}

/// Ranges that latencies are told apart by; what takes longer is counted behind them.
pub const BUCKETS: usize = 64;

/// What is counted of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Sent: what the port took.
    pub tx: Flow,
    /// Received for the first time, intact.
    pub rx: Flow,
    /// Of these, overtaken by one sent later (RFC 4737 §3).
    pub out_of_order: u64,
    /// Received again.
    pub duplicate: u64,
    /// Too late to tell whether for the first time: not among the received.
    pub stale: u64,
    /// Whose checksum (`compute-checksum-from-offset`) was wrong: not among the received.
    pub bad_checksum: u64,
    /// Latencies of the received.
    pub latency: Latency,
    /// How many in each range, and at the end how many beyond.
    pub buckets: Box<[u64; BUCKETS + 1]>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            tx: Flow::default(),
            rx: Flow::default(),
            out_of_order: 0,
            duplicate: 0,
            stale: 0,
            bad_checksum: 0,
            latency: Latency::default(),
            buckets: Box::new([0; BUCKETS + 1]),
        }
    }
}

impl Counts {
    /// Both together.
    pub fn add(&mut self, other: &Counts) {
        self.tx.add(other.tx);
        self.rx.add(other.rx);
        self.out_of_order += other.out_of_order;
        self.duplicate += other.duplicate;
        self.stale += other.stale;
        self.bad_checksum += other.bad_checksum;
        self.latency.add(other.latency);
        for (bucket, other) in self.buckets.iter_mut().zip(&*other.buckets) {
            *bucket += other;
        }
    }

    /// Sent and not received (yet).
    pub fn lost(&self) -> i64 {
        self.tx.packets as i64 - self.rx.packets as i64
    }
}

/// Latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// The shortest; 0 if there is none.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All together.
    pub sum_ns: u64,
    /// How much each differed from the one before it of its stream (RFC 5481's inter-packet delay
    /// variation), all together.
    pub jitter_sum_ns: u64,
}

impl Latency {
    #[inline]
    pub(super) fn count(&mut self, ns: u64, before: Option<u64>) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns += ns;
        self.count += 1;
        self.jitter_sum_ns += before.map_or(0, |before| before.abs_diff(ns));
    }

    fn add(&mut self, other: Latency) {
        self.min_ns = match (self.count, other.count) {
            (0, _) => other.min_ns,
            (_, 0) => self.min_ns,
            _ => self.min_ns.min(other.min_ns),
        };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.count += other.count;
        self.jitter_sum_ns += other.jitter_sum_ns;
    }

    /// Their mean.
    pub fn avg_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.count).unwrap_or(0)
    }

    /// The mean difference between neighbours.
    pub fn jitter_ns(&self) -> u64 {
        self.jitter_sum_ns.checked_div(self.count.saturating_sub(1)).unwrap_or(0)
    }
}

/// What was counted in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Which second, from 1.
    pub seq: u64,
    /// How long it was.
    pub time: Duration,
    /// By stream, in the order of their numbers.
    pub streams: Vec<Counts>,
    /// By stream and, within it, by port.
    pub received: Vec<Flow>,
    /// Frames that were no test frames, by port.
    pub unknown: Vec<Flow>,
}

impl Sample {
    pub(super) fn new(seq: u64, streams: usize, ports: usize) -> Sample {
        Sample {
            seq,
            time: Duration::ZERO,
            streams: vec![Counts::default(); streams],
            received: vec![Flow::default(); streams * ports],
            unknown: vec![Flow::default(); ports],
        }
    }

    pub(super) fn add(&mut self, other: &Sample) {
        self.time += other.time;
        self.streams.iter_mut().zip(&other.streams).for_each(|(one, other)| one.add(other));
        self.received.iter_mut().zip(&other.received).for_each(|(one, other)| one.add(*other));
        self.unknown.iter_mut().zip(&other.unknown).for_each(|(one, other)| one.add(*other));
    }

    /// All streams together.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.streams.iter().for_each(|counts| total.add(counts));
        total
    }

    /// Of a stream, received at a port.
    pub fn received_at(&self, stream: usize, port: usize) -> Flow {
        self.received.get(stream * self.unknown.len() + port).copied().unwrap_or_default()
    }
}
