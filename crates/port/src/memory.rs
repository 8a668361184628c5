//! Memory wires: a full-duplex cable inside the process, between two cores or on one.
//!
//! ```text
//!          ┌─ send ──► ring of frames ── receive ─►┐
//!   port a ┤                                       ├ port b
//!          └◄ receive ── ring of frames ◄── send ──┘
//! ```
//!
//! A cable into a NIC: the wire takes every frame, so the sender counts it as sent (`tx_packet`).
//! If the receiver's ring is full the frame is lost there, and the *receiver* counts it
//! (`rx_drop`); its slot goes back to the sender's pool, which is at hand. So, for each direction,
//! once the ring is empty:
//!
//! ```text
//! sender's tx_packet = receiver's rx_packet + receiver's rx_drop
//! ```
//!
//! and before that what [`MemoryPort::waiting`] says is between them. `tx_drop` stays zero.
//!
//! Frames are handed over, not copied: both ends use pools of one slab. If one end is dropped, the
//! other sees its frames pile up in the ring and then get lost, as with a NIC that nobody reads.
//! Frames inside a cable that is dropped stay lost to their slab: receive them first.
//!
//! Never looks at a clock or at `now`: for wires that take time see [`simulated`](crate::simulated).

use crate::ring::{Consumer, Producer, ring};
use crate::{Batch, Frame, Pool, Port, PortCounters};
use wire::Moment;

/// A cable, each direction's receive ring holding `frames` frames, rounded up to a power of two.
///
/// ```
/// let slab = port::Slab::new(128).unwrap();
/// let (mut pool, mut batch) = (slab.pool(), port::Batch::new());
/// let (mut a, mut b) = port::memory::wire(64);
///
/// batch.push(pool.alloc(60).unwrap());
/// port::Port::send(&mut a, wire::Moment::ZERO, &mut pool, &mut batch);
/// assert_eq!(port::Port::receive(&mut b, wire::Moment::ZERO, &mut pool, &mut batch), 1);
/// ```
///
/// # Panics
/// If `frames` exceeds 2²⁴, more than a slab has.
pub fn wire(frames: usize) -> (MemoryPort, MemoryPort) {
    wire_between(frames, frames)
}

/// A cable whose first end's receive ring holds `a` frames, and whose second end's `b`: a tester
/// needs a longer one than what it tests.
///
/// # Panics
/// As [`wire()`].
pub fn wire_between(a: usize, b: usize) -> (MemoryPort, MemoryPort) {
    let (tx_a, rx_b) = ring(b);
    let (tx_b, rx_a) = ring(a);
    (MemoryPort::new(tx_a, rx_a), MemoryPort::new(tx_b, rx_b))
}

/// One end of a memory wire.
#[repr(align(128))] // two ends in one vector, used by two cores, must not share a cache line
pub struct MemoryPort {
    tx: Producer<Frame>,
    rx: Consumer<Frame>,
    /// `rx_drop` is counted at the other end and added by `counters`.
    counters: PortCounters,
}

impl MemoryPort {
    fn new(tx: Producer<Frame>, rx: Consumer<Frame>) -> MemoryPort {
        MemoryPort { tx, rx, counters: PortCounters::default() }
    }

    /// How many frames wait in this end's receive ring.
    pub fn waiting(&self) -> usize {
        self.rx.len()
    }
}

impl Port for MemoryPort {
    #[inline]
    fn receive(&mut self, _now: Moment, _pool: &mut Pool, batch: &mut Batch) -> usize {
        let room = batch.room();
        let n = self.rx.pop(batch.frames_mut(), room);
        let frames = batch.as_slice();
        self.counters.rx_packet += n as u64;
        self.counters.rx_byte += bytes(&frames[frames.len() - n..]);
        n
    }

    #[inline]
    fn send(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) {
        self.counters.tx_packet += batch.len() as u64;
        self.counters.tx_byte += bytes(batch.as_slice());
        self.tx.push(batch.frames_mut());
        if !batch.is_empty() {
            self.tx.count_lost(batch.len());
            batch.free_all(pool);
        }
    }

    fn counters(&self) -> PortCounters {
        PortCounters { rx_drop: self.rx.lost(), ..self.counters }
    }
}

fn bytes(frames: &[Frame]) -> u64 {
    frames.iter().map(|frame| frame.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slab;
    use proptest::prelude::*;

    const NOW: Moment = Moment::ZERO;

    fn send(port: &mut MemoryPort, pool: &mut Pool, frames: impl IntoIterator<Item = u32>) {
        let mut batch = Batch::new();
        for number in frames {
            let mut frame = pool.alloc(60 + number as usize % 7).expect("a free frame");
            pool.slab().bytes_mut(&mut frame)[..4].copy_from_slice(&number.to_be_bytes());
            batch.push(frame);
        }
        port.send(NOW, pool, &mut batch);
        assert!(batch.is_empty());
    }

    fn receive(port: &mut MemoryPort, pool: &mut Pool) -> Vec<u32> {
        let mut batch = Batch::new();
        assert_eq!(port.receive(NOW, pool, &mut batch), batch.len());
        batch
            .drain()
            .map(|frame| {
                let number = u32::from_be_bytes(pool.slab().bytes(&frame)[..4].try_into().unwrap());
                assert_eq!(frame.len(), 60 + number as usize % 7);
                pool.free(frame);
                number
            })
            .collect()
    }

    #[test]
    fn a_full_receiver_loses_frames_and_counts_them() {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let (mut a, mut b) = wire(64);
        send(&mut a, &mut pool, 0..40);
        send(&mut a, &mut pool, 40..80);
        send(&mut b, &mut pool, 100..101);

        assert_eq!((a.waiting(), b.waiting()), (1, 64));
        assert_eq!(receive(&mut b, &mut pool), (0..64).collect::<Vec<_>>());
        assert_eq!(receive(&mut b, &mut pool), []);
        assert_eq!(receive(&mut a, &mut pool), [100]);

        let byte = |range: std::ops::Range<u64>| range.map(|i| 60 + i % 7).sum();
        let expected_a = PortCounters {
            tx_packet: 80,
            tx_byte: byte(0..80),
            rx_packet: 1,
            rx_byte: byte(100..101),
            ..Default::default()
        };
        let expected_b = PortCounters {
            rx_packet: 64,
            rx_byte: byte(0..64),
            rx_drop: 16,
            rx_error: 0,
            tx_packet: 1,
            tx_byte: byte(100..101),
            tx_drop: 0,
        };
        assert_eq!((a.counters(), b.counters()), (expected_a, expected_b));
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
    }

    #[test]
    fn a_batch_that_is_not_empty_is_filled_up() {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let (mut a, mut b) = wire(128);
        send(&mut a, &mut pool, 0..64);
        let mut batch = Batch::new();
        batch.push(pool.alloc(99).unwrap());
        assert_eq!(b.receive(NOW, &mut pool, &mut batch), 63);
        assert_eq!((batch.len(), batch.as_slice()[0].len(), b.waiting()), (64, 99, 1));
        assert_eq!(b.receive(NOW, &mut pool, &mut batch), 0);
        assert_eq!(b.counters().rx_byte, (0..63).map(|i| 60 + i % 7).sum::<u64>());
    }

    #[test]
    fn a_port_can_go_to_another_thread() {
        fn check<T: Send>(_: &T) {}
        check(&wire(1).0);
    }

    proptest! {
        /// After every operation: sent = received + lost + waiting, in both directions, and no slot
        /// is leaked.
        #[test]
        fn sent_is_received_and_lost_and_waiting(
            frames in 0usize..100,
            ops in prop::collection::vec((any::<bool>(), prop::option::of(0u32..=64)), 0..80),
        ) {
            let slab = Slab::new(512).unwrap();
            let mut pool = slab.pool();
            let mut ends = <[_; 2]>::from(wire(frames));
            for (end, burst) in ops {
                match burst {
                    Some(n) => send(&mut ends[usize::from(end)], &mut pool, 0..n),
                    None => drop(receive(&mut ends[usize::from(end)], &mut pool)),
                }
                let [a, b] = &ends;
                for (tx, rx) in [(a, b), (b, a)] {
                    let (sent, got) = (tx.counters(), rx.counters());
                    prop_assert_eq!(
                        sent.tx_packet,
                        got.rx_packet + got.rx_drop + rx.waiting() as u64,
                        "{:?} {:?}", sent, got
                    );
                }
            }
            for end in &mut ends {
                while !receive(end, &mut pool).is_empty() {}
            }
            drop(pool);
            prop_assert_eq!(slab.frames_out(), 0);
        }
    }

    /// Two cores, a receiver that is too slow at times: what arrives is in order and whole, and
    /// what does not is counted.
    #[test]
    fn two_threads_lose_nothing_uncounted() {
        const BATCHES: u32 = if cfg!(miri) { 20 } else { 5_000 };
        let slab = Slab::new(1024).unwrap();
        let (mut a, mut b) = wire(256);
        let sender = std::thread::spawn({
            let mut pool = slab.pool();
            move || {
                for batch in 0..BATCHES {
                    send(&mut a, &mut pool, batch * 64..(batch + 1) * 64);
                    if batch % 8 == 0 {
                        std::thread::yield_now();
                    }
                }
                a.counters()
            }
        });
        let mut pool = slab.pool();
        let mut last = None;
        loop {
            let done = sender.is_finished();
            let numbers = receive(&mut b, &mut pool);
            for &number in &numbers {
                assert!(last < Some(number), "{number} after {last:?}");
                last = Some(number);
            }
            if numbers.is_empty() {
                if done {
                    break;
                }
                std::thread::yield_now();
            }
        }
        let (sent, got) = (sender.join().unwrap(), b.counters());
        assert_eq!(sent.tx_packet, u64::from(BATCHES) * 64);
        assert_eq!(sent.tx_packet, got.rx_packet + got.rx_drop, "{sent:?} {got:?}");
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
    }
}
