//! Simulated wires: a full-duplex cable in virtual time, exact to the nanosecond.
//!
//! ```text
//!  send ─► transmit buffer ─► line: preamble │ frame, FCS │ gap ─► delay ─► receive ring ─► receive
//!              full: tx_drop            8 B     L2 bytes    12 B               full: rx_drop
//! ```
//!
//! A frame starts when the line is free and [`send`](Port::send)'s `now` has come, occupies the line
//! for its [L1 length](wire::FrameLen::l1), leaves the buffer with its last bit, and can be received from
//! the first nanosecond on at which its last bit has arrived. Frames under 64 bytes take the time
//! of 64, as if padded; the padding itself is not delivered.
//!
//! Time is kept as whole nanoseconds and a fraction over the bit rate, so nothing is ever rounded
//! twice: after a billion frames the next one still starts on the right bit.
//!
//! For each direction, once nothing is under way: frames given to `send` = `tx_packet` + `tx_drop`,
//! and `tx_packet` = the peer's `rx_packet` + `rx_drop`.
//!
//! Never reads a clock: all time comes in as `now`, which must not go backwards at either end. Both
//! ends use pools of one slab; frames inside a cable that is dropped stay lost to it.
//! Missing: **pause frames**, **half duplex**, **jitter** (wrap an end in
//! [`fault`](crate::fault) for delays).

use crate::{Batch, Frame, Pool, Port, PortCounters};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::{BitRate, FrameLen, Moment};

/// What kind of cable it is; the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// L1 rate: preamble and gap count. 1 to 10¹⁵ bit/s, rounded to a whole number.
    pub rate: BitRate,
    /// From the last bit out to the last bit in.
    pub delay: Duration,
    /// Frames the transmit buffer holds, with the one on the line; at least 1.
    pub tx_buffer: usize,
    /// Frames the receive ring holds; at least 1.
    pub rx_ring: usize,
}

impl Link {
    /// A cable of no length between usual NICs: 1024 frames at either end.
    pub const fn new(rate: BitRate) -> Link {
        Link { rate, delay: Duration::ZERO, tx_buffer: 1024, rx_ring: 1024 }
    }
}

/// No such cable can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkError {
    /// The rate is not from 1 to 10¹⁵ bit/s.
    BadRate(BitRate),
    /// The transmit buffer or the receive ring holds no frame.
    NoBuffer,
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinkError::BadRate(rate) => {
                write!(f, "a link's rate is 1 to 10^15 bit/s, not {}", rate.0)
            }
            LinkError::NoBuffer => f.write_str(
                "a link's transmit buffer and receive ring hold at least one frame each",
            ),
        }
    }
}

impl std::error::Error for LinkError {}

/// The two ends of a new cable.
///
/// # Errors
/// [`LinkError`].
pub fn wire(link: Link) -> Result<(SimulatedPort, SimulatedPort), LinkError> {
    let line = Line::new(link.rate)?;
    if link.tx_buffer == 0 || link.rx_ring == 0 {
        return Err(LinkError::NoBuffer);
    }
    let lane = || {
        Arc::new(Mutex::new(Lane {
            link,
            line,
            leaving: VecDeque::new(),
            flying: VecDeque::new(),
            ring: VecDeque::new(),
            rx_drop: 0,
        }))
    };
    let (there, back) = (lane(), lane());
    let counters = PortCounters::default();
    let a = SimulatedPort { tx: there.clone(), rx: back.clone(), counters, buffers: false };
    Ok((a, SimulatedPort { tx: back, rx: there, counters, buffers: false }))
}

/// One end of a simulated wire.
pub struct SimulatedPort {
    tx: Arc<Mutex<Lane>>,
    rx: Arc<Mutex<Lane>>,
    /// `rx_drop` is counted in the lane and added by `counters`.
    counters: PortCounters,
    /// Whether line and buffer are a path's, and not this port's own: see `buffering`.
    buffers: bool,
}

impl SimulatedPort {
    /// The same as the end of a path whose bottleneck is on the way, not here: what is sent has gone, and
    /// waits in the path's buffer or is lost there (the other end's `rx_drop`). So nobody is told to wait
    /// for the line ([`next_start`](Port::next_start)).
    #[must_use]
    pub fn buffering(self) -> SimulatedPort {
        SimulatedPort { buffers: true, ..self }
    }

    /// When the next frame can be received here, or could already; `None` if none is under way.
    /// A simulation that has nothing else to do goes on to this moment.
    pub fn next_arrival(&self) -> Option<Moment> {
        let lane = lock(&self.rx);
        lane.ring.front().or(lane.flying.front()).map(|&(at, _)| at)
    }

    /// The first moment at which the transmit buffer, as it is now, is empty and the last gap over.
    pub fn line_free(&self) -> Moment {
        lock(&self.tx).line.free.ceil()
    }
}

impl Port for SimulatedPort {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        let mut lane = lock(&self.rx);
        lane.arrive(now, pool);
        let n = batch.room().min(lane.ring.len());
        for (_, frame) in lane.ring.drain(..n) {
            self.counters.rx_packet += 1;
            self.counters.rx_byte += frame.len() as u64;
            batch.push(frame);
        }
        n
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        let mut lane = lock(&self.tx);
        for frame in batch.drain() {
            let len = frame.len() as u64;
            match lane.depart(now, frame) {
                Ok(()) => {
                    self.counters.tx_packet += 1;
                    self.counters.tx_byte += len;
                }
                Err(frame) if self.buffers => {
                    self.counters.tx_packet += 1;
                    self.counters.tx_byte += len;
                    lane.rx_drop += 1;
                    pool.free(frame);
                }
                Err(frame) => {
                    self.counters.tx_drop += 1;
                    pool.free(frame);
                }
            }
        }
    }

    fn counters(&self) -> PortCounters {
        PortCounters { rx_drop: lock(&self.rx).rx_drop, ..self.counters }
    }

    fn next_start(&self) -> Option<Moment> {
        if self.buffers {
            return None;
        }
        Some(lock(&self.tx).line.next_start())
    }

    fn refused(&self) -> u64 {
        self.counters.tx_drop
    }
}

/// One direction of the cable, from transmit buffer to receive ring.
struct Lane {
    link: Link,
    line: Line,
    /// When each frame in the transmit buffer will have left it.
    leaving: VecDeque<Moment>,
    /// Frames that have not arrived, with the moment they will.
    flying: VecDeque<(Moment, Frame)>,
    /// Frames that have, with the moment they did.
    ring: VecDeque<(Moment, Frame)>,
    rx_drop: u64,
}

impl Lane {
    /// Puts a frame into the transmit buffer, or gives it back if that is full.
    fn depart(&mut self, now: Moment, frame: Frame) -> Result<(), Frame> {
        while self.leaving.front().is_some_and(|&left| left <= now) {
            self.leaving.pop_front();
        }
        if self.leaving.len() >= self.link.tx_buffer {
            return Err(frame);
        }
        let left = self.line.depart(now, frame.len());
        self.leaving.push_back(left);
        self.flying.push_back((left + self.link.delay, frame));
        Ok(())
    }

    /// Moves what has arrived by `now` into the receive ring, or loses it if that is full.
    fn arrive(&mut self, now: Moment, pool: &mut Pool) {
        while let Some((at, frame)) = self.flying.pop_front_if(|(at, _)| *at <= now) {
            if self.ring.len() < self.link.rx_ring {
                self.ring.push_back((at, frame));
            } else {
                self.rx_drop += 1;
                pool.free(frame);
            }
        }
    }
}

/// Where bits go one after the other: one direction of a wire, and when it is free.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    bits_per_second: u64,
    /// When the last gap ends.
    free: Exact,
}

impl Line {
    /// A line of this L1 rate that was never used.
    ///
    /// # Errors
    /// [`LinkError::BadRate`].
    pub fn new(rate: BitRate) -> Result<Line, LinkError> {
        let bits = rate.0.round();
        if !(1.0..=1e15).contains(&bits) {
            return Err(LinkError::BadRate(rate));
        }
        Ok(Line { bits_per_second: bits as u64, free: Exact::default() })
    }

    /// From when on a frame can begin, rounded down: rounded up, every frame of a full wire would begin a
    /// part of a nanosecond later than it can.
    pub fn next_start(&self) -> Moment {
        Moment::from_nanos(self.free.ns)
    }

    /// A frame of so many bytes without FCS begins at `now`, or when the line is free; returns when its
    /// last bit has left.
    pub fn depart(&mut self, now: Moment, len: usize) -> Moment {
        let len = FrameLen::without_fcs((len as u32).max(60));
        let start = self.free.max(Exact { ns: now.as_nanos(), part: 0 });
        self.free = start.after(len.l1(), self.bits_per_second);
        // 8 bytes preamble and start of frame; the other 12 of the overhead are the gap behind.
        start.after(8 + len.l2(), self.bits_per_second).ceil()
    }
}

/// A point in time without rounding: nanoseconds, and a part of one over the bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Exact {
    ns: u64,
    /// Less than the bits per second.
    part: u64,
}

impl Exact {
    /// When `bytes` that start now have passed.
    fn after(self, bytes: u32, bits_per_second: u64) -> Exact {
        // At most 10^15 + 2^16 · 8 · 10^9: far from 2^64.
        let sum = self.part + u64::from(bytes) * 8 * 1_000_000_000;
        let ns = self.ns.saturating_add(sum / bits_per_second);
        Exact { ns, part: sum % bits_per_second }
    }

    /// The first whole nanosecond that is not before.
    fn ceil(self) -> Moment {
        Moment::from_nanos(self.ns.saturating_add(u64::from(self.part > 0)))
    }
}

fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    // Each frame is moved whole; after a panic elsewhere the lane is as good as before.
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slab;
    use proptest::prelude::*;

    fn at(ns: u64) -> Moment {
        Moment::from_nanos(ns)
    }

    fn batch(pool: &mut Pool, n: usize, len: usize) -> Batch {
        let mut batch = Batch::new();
        for _ in 0..n {
            batch.push(pool.alloc(len).expect("a free frame"));
        }
        batch
    }

    fn receive(port: &mut SimulatedPort, now: Moment, pool: &mut Pool) -> usize {
        let mut batch = Batch::new();
        let n = port.receive(now, pool, &mut batch);
        batch.free_all(pool);
        n
    }

    #[test]
    fn ten_gigabit_carries_14_880_952_small_frames_a_second() {
        let slab = Slab::new(4096).unwrap();
        let mut pool = slab.pool();
        let (mut a, mut b) = wire(Link::new(BitRate::gbps(10.0))).unwrap();
        let mut received = 0;
        // 64 frames take 4300.8 ns: a little more is offered than fits, so the line never rests.
        for now in (0..1_000_000_000).step_by(4300) {
            let mut frames = batch(&mut pool, 64, 60);
            a.send(at(now), &mut pool, &mut frames);
            received += receive(&mut b, at(now), &mut pool);
        }
        loop {
            match receive(&mut b, at(1_000_000_000), &mut pool) {
                0 => break,
                n => received += n,
            }
        }
        assert_eq!(received, 14_880_952, "{:?}", a.counters());
        assert!(a.counters().tx_drop > 0, "the line rested: {:?}", a.counters());
        assert_eq!(b.counters().rx_drop, 0);
    }

    /// Rate, delay, frame in memory; then when the first, second and thousandth can be received.
    #[test]
    fn frames_arrive_at_the_exact_nanosecond() {
        let check = |bits: f64, delay_ns, len, expected: [u64; 3]| {
            let slab = Slab::new(2048).unwrap();
            let mut pool = slab.pool();
            let delay = Duration::from_nanos(delay_ns);
            let link = Link { delay, ..Link::new(BitRate(bits)) };
            let (mut a, mut b) = wire(link).unwrap();
            for _ in 0..20 {
                a.send(at(0), &mut pool, &mut batch(&mut slab.pool(), 50, len));
            }
            let mut arrivals = vec![];
            while let Some(moment) = b.next_arrival() {
                let before = at(moment.as_nanos() - 1);
                assert_eq!(receive(&mut b, before, &mut pool), 0, "{bits} {len}: early");
                let n = receive(&mut b, moment, &mut pool);
                assert!(n > 0, "{bits} {len}: late");
                arrivals.extend(vec![moment.as_nanos(); n]);
            }
            assert_eq!(arrivals.len(), 1000);
            assert_eq!(
                [arrivals[0], arrivals[1], arrivals[999]],
                expected,
                "{bits} {delay_ns} {len}"
            );
        };
        // The k-th of frames with L2 length n: ceil((k (n + 20) − 12) · 8 · 10⁹ / rate) + delay.
        check(10e9, 0, 60, [58, 125, 67_191]); // 57.6, 124.8, 67190.4
        check(10e9, 5_000, 60, [5_058, 5_125, 72_191]);
        check(100e9, 0, 60, [6, 13, 6_720]); // 5.76, 12.48, 6719.04
        check(1e9, 0, 1514, [12_208, 24_512, 12_303_904]);
        check(1e9, 0, 1, [576, 1_248, 671_904]); // shorter than 60: takes the time of 60
        check(3e9, 0, 60, [192, 416, 223_968]); // 224 ns each
        check(7.0, 1, 60, [82_285_714_287, 178_285_714_287, 95_986_285_714_287]);
    }

    #[test]
    fn a_full_transmit_buffer_and_a_full_receive_ring_lose_and_count() {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let link = Link { tx_buffer: 10, rx_ring: 4, ..Link::new(BitRate::gbps(1.0)) };
        let (mut a, mut b) = wire(link).unwrap();
        a.send(at(0), &mut pool, &mut batch(&mut slab.pool(), 16, 60));
        assert_eq!((a.counters().tx_packet, a.counters().tx_drop), (10, 6));
        // The first frame's last bit leaves after 72 bytes, 576 ns: room for one more, not before.
        a.send(at(575), &mut pool, &mut batch(&mut slab.pool(), 1, 60));
        assert_eq!((a.counters().tx_packet, a.counters().tx_drop), (10, 7));
        a.send(at(576), &mut pool, &mut batch(&mut slab.pool(), 2, 60));
        assert_eq!((a.counters().tx_packet, a.counters().tx_drop), (11, 8));

        assert_eq!(receive(&mut b, at(1_000_000), &mut pool), 4);
        let got = b.counters();
        assert_eq!((got.rx_packet, got.rx_byte, got.rx_drop), (4, 240, 7));
        assert_eq!(b.next_arrival(), None);
        assert_eq!(a.line_free(), at(11 * 672));
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
    }

    #[test]
    fn impossible_links_are_refused() {
        for rate in [0.0, -1.0, 0.4, 2e15, f64::NAN, f64::INFINITY] {
            let error = wire(Link::new(BitRate(rate))).err();
            assert!(matches!(error, Some(LinkError::BadRate(_))), "{rate}: {error:?}");
        }
        let link = Link::new(BitRate(1.0));
        assert_eq!(wire(Link { tx_buffer: 0, ..link }).err(), Some(LinkError::NoBuffer));
        assert_eq!(wire(Link { rx_ring: 0, ..link }).err(), Some(LinkError::NoBuffer));
    }

    proptest! {
        /// Whatever is sent when, each frame's arrival is what exact arithmetic on a common
        /// denominator says, and every frame is accounted for.
        #[test]
        fn time_does_not_drift(
            rate in 1u64..=400_000_000_000,
            delay in 0u64..100_000,
            tx_buffer in 1usize..40,
            bursts in prop::collection::vec((0u64..20_000, 1usize..=64, 0usize..1900), 1..20),
        ) {
            let slab = Slab::new(2048).unwrap();
            let mut pool = slab.pool();
            let link = Link {
                rate: BitRate(rate as f64),
                delay: Duration::from_nanos(delay),
                tx_buffer,
                rx_ring: 2048,
            };
            let (mut a, mut b) = wire(link).unwrap();
            // The oracle counts in units of 1 / rate nanoseconds.
            let unit = u128::from(rate);
            let (mut now, mut free, mut given) = (0, 0u128, 0);
            let (mut left, mut expected) = (vec![], vec![]);
            for (pause, n, len) in bursts {
                now += pause;
                given += n as u64;
                a.send(at(now), &mut pool, &mut batch(&mut slab.pool(), n, len));
                for _ in 0..n {
                    if left.iter().filter(|&&end| end > u128::from(now)).count() >= tx_buffer {
                        continue;
                    }
                    let start = free.max(u128::from(now) * unit);
                    let l2 = (len as u128 + 4).max(64);
                    let end = (start + (l2 + 8) * 8_000_000_000).div_ceil(unit);
                    free = start + (l2 + 20) * 8_000_000_000;
                    left.push(end);
                    expected.push(end as u64 + delay);
                }
            }
            let mut arrivals = vec![];
            while let Some(moment) = b.next_arrival() {
                let n = receive(&mut b, moment, &mut pool);
                prop_assert!(n > 0);
                arrivals.extend(vec![moment.as_nanos(); n]);
            }
            prop_assert_eq!(&arrivals, &expected);
            let sent = a.counters();
            prop_assert_eq!(sent.tx_packet + sent.tx_drop, given);
            prop_assert_eq!(sent.tx_packet, b.counters().rx_packet);
            drop(pool);
            prop_assert_eq!(slab.frames_out(), 0);
        }
    }
}
