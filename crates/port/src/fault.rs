//! Seeded faults: a port around a port, that harms what it receives.
//!
//! ```text
//!  inner.receive ─► drop? ─► corrupt? ─► truncate? ─► duplicate? ─► reorder? ─► delay? ─► receive
//!  inner.send   ◄──────────────────────────────────────────────────────────────────────── send
//! ```
//!
//! Only what comes in is harmed: wrap both ends of a cable to harm both directions. Each frame's
//! fate follows from the seed and the frame's number alone, so the same seed harms the same frames
//! however they are spread over batches, and one fault's rate does not move the others. (Only who
//! overtakes a reordered frame depends on who comes next.)
//!
//! Every fault is counted, and after each call
//!
//! ```text
//! inner's rx_packet + duplicated = our rx_packet + dropped + held back
//! ```
//!
//! A reordered frame waits for the next one to overtake it (or for a `receive` that finds nothing
//! new); a delayed one for its time.
//!
//! Never reads a clock, never loses a slot. Missing: **bursts of loss** (Gilbert-Elliott).

use crate::{Batch, Capabilities, Frame, Pool, Port, PortCounters};
use std::collections::VecDeque;
use std::time::Duration;
use wire::Moment;

/// How often each fault strikes: 0 never, 1 every frame. All 0 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Share of frames that vanish.
    pub drop: f64,
    /// Share that come twice in a row.
    pub duplicate: f64,
    /// Share in which one byte, anywhere, becomes another.
    pub corrupt: f64,
    /// Share that lose 1 byte to all from their end.
    pub truncate: f64,
    /// Share that let the next frame overtake them.
    pub reorder: f64,
    /// Share that come `delay_by` later.
    pub delay: f64,
    /// How much later.
    pub delay_by: Duration,
}

/// How often each fault has struck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounters {
    /// Frames that vanished.
    pub dropped: u64,
    /// Frames that came twice.
    pub duplicated: u64,
    /// Frames that should have, but there was no free frame for the copy.
    pub not_duplicated: u64,
    /// Frames with a changed byte.
    pub corrupted: u64,
    /// Frames cut short.
    pub truncated: u64,
    /// Frames held back for the next to overtake (or none came).
    pub reordered: u64,
    /// Frames held back for a time.
    pub delayed: u64,
}

/// A port whose received frames suffer [`Faults`].
pub struct FaultyPort<P> {
    inner: P,
    /// What the inner port has just given.
    fresh: Batch,
    fate: Fate,
    rx_packet: u64,
    rx_byte: u64,
}

/// What happens to frames between the inner port and the caller.
struct Fate {
    faults: Faults,
    seed: u64,
    /// Frames met so far.
    n_frames: u64,
    struck: FaultCounters,
    /// Waits for the next frame to pass.
    overtaken: Option<Frame>,
    /// In order of time: the delay is the same for all.
    delayed: VecDeque<(Moment, Frame)>,
    /// To be handed out.
    ready: VecDeque<Frame>,
}

impl<P: Port> FaultyPort<P> {
    /// Wraps `inner`.
    pub fn new(inner: P, faults: Faults, seed: u64) -> FaultyPort<P> {
        let fate = Fate {
            faults,
            seed,
            n_frames: 0,
            struck: FaultCounters::default(),
            overtaken: None,
            delayed: VecDeque::new(),
            ready: VecDeque::new(),
        };
        FaultyPort { inner, fresh: Batch::new(), fate, rx_packet: 0, rx_byte: 0 }
    }

    /// What has been done to the frames so far.
    pub fn struck(&self) -> FaultCounters {
        self.fate.struck
    }

    /// Frames that came from the inner port (or were copied) and have not been handed out.
    pub fn held(&self) -> usize {
        let fate = &self.fate;
        fate.ready.len() + fate.delayed.len() + usize::from(fate.overtaken.is_some())
    }

    /// The inner port.
    pub fn inner(&self) -> &P {
        &self.inner
    }
}

impl<P: Port> Port for FaultyPort<P> {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        let fate = &mut self.fate;
        while let Some((_, frame)) = fate.delayed.pop_front_if(|(due, _)| *due <= now) {
            fate.ready.push_back(frame);
        }
        if fate.ready.len() < batch.room() {
            if self.inner.receive(now, pool, &mut self.fresh) == 0 {
                fate.ready.extend(fate.overtaken.take());
            }
            for frame in self.fresh.drain() {
                fate.strike(now, pool, frame);
            }
        }
        let n = batch.room().min(fate.ready.len());
        for frame in fate.ready.drain(..n) {
            self.rx_packet += 1;
            self.rx_byte += frame.len() as u64;
            batch.push(frame);
        }
        n
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        self.inner.send(now, pool, batch);
    }

    fn counters(&self) -> PortCounters {
        let (rx_packet, rx_byte) = (self.rx_packet, self.rx_byte);
        PortCounters { rx_packet, rx_byte, ..self.inner.counters() }
    }

    fn next_start(&self) -> Option<Moment> {
        self.inner.next_start()
    }

    fn refused(&self) -> u64 {
        self.inner.refused()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

impl Fate {
    /// Lets one frame suffer its fate.
    fn strike(&mut self, now: Moment, pool: &mut Pool, mut frame: Frame) {
        let mut dice = Dice::new(self.seed, self.n_frames);
        self.n_frames += 1;
        // All are thrown, in this order, whatever they show: see the module's words on the seed.
        let drop = dice.shows(self.faults.drop);
        let corrupt = dice.shows(self.faults.corrupt);
        let truncate = dice.shows(self.faults.truncate);
        let duplicate = dice.shows(self.faults.duplicate);
        let reorder = dice.shows(self.faults.reorder);
        let delay = dice.shows(self.faults.delay);
        let (place, flip, cut) = (dice.next(), dice.next(), dice.next());

        if drop {
            self.struck.dropped += 1;
            pool.free(frame);
            return;
        }
        let len = frame.len() as u64;
        if corrupt && len > 0 {
            self.struck.corrupted += 1;
            // XOR with 1 to 255: always another byte.
            pool.slab().bytes_mut(&mut frame)[(place % len) as usize] ^= (1 + flip % 255) as u8;
        }
        if truncate && len > 0 {
            self.struck.truncated += 1;
            frame.truncate((cut % len) as usize);
        }
        let copy = if duplicate { copy(pool, &frame) } else { None };
        self.struck.duplicated += u64::from(copy.is_some());
        self.struck.not_duplicated += u64::from(duplicate && copy.is_none());

        if delay {
            self.struck.delayed += 1;
            let due = now + self.faults.delay_by;
            self.delayed.push_back((due, frame));
            self.delayed.extend(copy.map(|copy| (due, copy)));
        } else if reorder && self.overtaken.is_none() {
            self.struck.reordered += 1;
            // The copy, if any, is the one that overtakes.
            self.overtaken = Some(frame);
            if let Some(copy) = copy {
                self.pass(copy);
            }
        } else {
            self.pass(frame);
            self.ready.extend(copy);
        }
    }

    /// Lets a frame pass, and behind it the one that waited for that.
    fn pass(&mut self, frame: Frame) {
        self.ready.push_back(frame);
        self.ready.extend(self.overtaken.take());
    }
}

fn copy(pool: &mut Pool, frame: &Frame) -> Option<Frame> {
    let mut copy = pool.alloc(frame.len())?;
    pool.slab().bytes_mut(&mut copy).copy_from_slice(pool.slab().bytes(frame));
    Some(copy)
}

/// SplitMix64 (Steele, Lea, Flood 2014), begun anew for each frame.
struct Dice(u64);

impl Dice {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(seed: u64, frame: u64) -> Dice {
        // Mixed once, so that neighbouring frames and seeds have nothing in common.
        Dice(Dice(seed ^ Dice(frame).next()).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True with the given probability; never for NaN.
    fn shows(&mut self, probability: f64) -> bool {
        // 53 bits: as many as an f64 holds, so that 1.0 is always and 0.0 never.
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryPort, Slab, memory};
    use proptest::prelude::*;

    /// Sends `n` numbered frames of 60 bytes through the faults, `burst` at a time, a microsecond
    /// between bursts; returns when each came, its number and its length, after checking the books.
    fn run(
        faults: Faults,
        seed: u64,
        n: u16,
        burst: u16,
    ) -> (Vec<(u64, u16, usize)>, FaultCounters) {
        let slab = Slab::new(8192).unwrap();
        let mut pool = slab.pool();
        let (mut a, b) = memory::wire(256);
        let mut b = FaultyPort::new(b, faults, seed);
        let mut seen = vec![];
        let mut batch = Batch::new();
        let mut now_ns = 0;
        let mut read = |b: &mut FaultyPort<MemoryPort>, now_ns: u64, pool: &mut Pool| {
            let mut batch = Batch::new();
            while b.receive(Moment::from_nanos(now_ns), pool, &mut batch) > 0 {
                for frame in batch.drain() {
                    let bytes = pool.slab().bytes(&frame);
                    let number =
                        bytes.get(..2).map_or(u16::MAX, |b| u16::from_be_bytes([b[0], b[1]]));
                    seen.push((now_ns, number, bytes.len()));
                    pool.free(frame);
                }
            }
            let (inner, ours, struck) = (b.inner().counters(), b.counters(), b.struck());
            assert_eq!(
                inner.rx_packet + struck.duplicated,
                ours.rx_packet + struck.dropped + b.held() as u64,
                "{inner:?} {ours:?} {struck:?}"
            );
        };
        for number in 0..n {
            let mut frame = pool.alloc(60).unwrap();
            let bytes = slab.bytes_mut(&mut frame);
            bytes.fill(0);
            bytes[..2].copy_from_slice(&number.to_be_bytes());
            batch.push(frame);
            if (number + 1) % burst == 0 || number + 1 == n {
                a.send(Moment::ZERO, &mut pool, &mut batch);
                read(&mut b, now_ns, &mut pool);
                now_ns += 1000;
            }
        }
        read(&mut b, now_ns + 1_000_000_000, &mut pool);
        assert_eq!(b.held(), 0);
        let struck = b.struck();
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
        (seen, struck)
    }

    fn numbers(faults: Faults, n: u16) -> Vec<u16> {
        run(faults, 1, n, 8).0.into_iter().map(|(_, number, _)| number).collect()
    }

    #[test]
    fn each_fault_does_what_it_says() {
        let none = Faults::default();
        assert_eq!(numbers(none, 20), (0..20).collect::<Vec<_>>());
        assert_eq!(numbers(Faults { drop: 1.0, ..none }, 20), []);
        assert_eq!(numbers(Faults { duplicate: 1.0, ..none }, 3), [0, 0, 1, 1, 2, 2]);
        // While one is held back the next passes whatever its own dice show.
        assert_eq!(numbers(Faults { reorder: 1.0, ..none }, 5), [1, 0, 3, 2, 4]);

        let (seen, struck) = run(Faults { truncate: 1.0, ..none }, 1, 500, 8);
        assert!(seen.iter().all(|&(_, _, len)| len < 60));
        assert!(
            seen.iter().any(|&(_, _, len)| len < 10) && seen.iter().any(|&(_, _, len)| len > 50)
        );
        assert_eq!(struck, FaultCounters { truncated: 500, ..Default::default() });

        let delay_by = Duration::from_micros(2);
        let (seen, struck) = run(Faults { delay: 1.0, delay_by, ..none }, 1, 40, 8);
        let expected: Vec<_> = (0..24).map(|i| (2000 + u64::from(i) / 8 * 1000, i, 60)).collect();
        assert_eq!(seen[..24], expected);
        assert_eq!((seen.len(), struck.delayed), (40, 40));
    }

    #[test]
    fn corruption_changes_exactly_one_byte() {
        let slab = Slab::new(64).unwrap();
        let mut pool = slab.pool();
        let (mut a, b) = memory::wire(64);
        let mut b = FaultyPort::new(b, Faults { corrupt: 1.0, ..Faults::default() }, 7);
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..300 {
            let mut batch = Batch::new();
            let mut frame = pool.alloc(20).unwrap();
            slab.bytes_mut(&mut frame).fill(0xaa);
            batch.push(frame);
            a.send(Moment::ZERO, &mut pool, &mut batch);
            assert_eq!(b.receive(Moment::ZERO, &mut pool, &mut batch), 1);
            let bytes = slab.bytes(&batch.as_slice()[0]);
            let changed: Vec<_> = (0..20).filter(|&i| bytes[i] != 0xaa).collect();
            assert_eq!(changed.len(), 1, "{bytes:x?}");
            places.extend(changed);
            batch.free_all(&mut pool);
        }
        assert_eq!(places.len(), 20, "every place is hit at times: {places:?}");
        assert_eq!(b.struck().corrupted, 300);
    }

    #[test]
    fn rates_are_what_they_say_and_do_not_move_each_other() {
        let (drop, dup) = (0.1, 0.02);
        let (_, one) = run(Faults { drop, ..Faults::default() }, 3, 20_000, 64);
        let (_, two) = run(Faults { drop, duplicate: dup, ..Faults::default() }, 3, 20_000, 64);
        assert_eq!(one.dropped, two.dropped);
        // Five standard deviations: 212 and 94.
        assert!(one.dropped.abs_diff(2000) < 212, "{one:?}");
        assert!(two.duplicated.abs_diff(360) < 94, "{two:?}");
        let (_, nan) = run(Faults { drop: f64::NAN, ..Faults::default() }, 3, 100, 64);
        assert_eq!(nan.dropped, 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// The books balance (`run` checks), and the same seed harms the same frames however they
        /// come in batches.
        #[test]
        fn fate_is_the_seeds(rates in prop::array::uniform4(0.0..0.5f64), seed: u64, burst in 1u16..64) {
            let [drop, duplicate, corrupt, truncate] = rates;
            let faults = Faults { drop, duplicate, corrupt, truncate, ..Faults::default() };
            let (one, struck_one) = run(faults, seed, 300, burst);
            let (two, struck_two) = run(faults, seed, 300, 64);
            prop_assert_eq!(struck_one, struck_two);
            let untimed = |seen: Vec<(u64, u16, usize)>| {
                seen.into_iter().map(|(_, number, len)| (number, len)).collect::<Vec<_>>()
            };
            prop_assert_eq!(untimed(one), untimed(two));
            // Holding back changes the order, never the books.
            let delay_by = Duration::from_nanos(1500);
            run(Faults { reorder: 0.3, delay: 0.3, delay_by, ..faults }, seed, 300, burst);
        }
    }
}
