//! One queue of an interface: frames in and out of a socket's four rings.
//!
//! ```text
//!  receive   rx ring ──► batch            fill ring ◄── pool, as many as were taken
//!  send      batch ──► tx ring ─ kick     completion ring ──► pool
//! ```
//!
//! A frame's slot is ours or the kernel's, never both's: the [`ledger`](super::ledger) knows, so
//! that every slot comes back when the queue is dropped, and one the kernel was never lent is taken
//! for none.
//!
//! Wires drop: what the tx ring has no room for, and what the kernel refuses (the peer's ring is
//! full, the link is down), is lost and counted, by name, in [`Drops`]. `tx_packet` counts what the
//! kernel took and did not refuse.
//!
//! What was measured (veth, copy mode, 64-byte frames, Linux 6.18) stands in the module
//! [`xdp`](super).

use super::Drops;
use super::ledger::Ledger;
use super::ring::Descriptor;
use super::umem::Bound;
use crate::{Batch, Frame, Pool, PortCounters, Slab};
use std::mem::ManuallyDrop;

/// The shortest frame the kernel takes: an Ethernet header.
const SHORTEST: usize = 14;

pub(super) struct Queue {
    pub(super) number: u32,
    bound: ManuallyDrop<Bound>,
    slab: Slab,
    ledger: Ledger,
    zero_copy: bool,
    /// What the kernel may have for receiving, and how much of it it has.
    fill_most: u32,
    filled: u32,
    /// A received frame whose last part has not come yet.
    chain: Chain,
    /// Descriptors whose completion is to come.
    in_flight: u32,
    /// The tx ring up to here is in the counters.
    counted: u32,
    /// The kernel may have read the tx ring up to here, and remember it.
    seen: u32,
    /// Of the frame at `counted`, if the kernel has taken a part of it: the bytes.
    part: u64,
    counters: PortCounters,
    drops: Drops,
}

/// A frame in several descriptors, on the way in.
enum Chain {
    None,
    Open(Frame),
    /// It has become too long: its other parts are to be thrown away.
    Lost,
}

/// How many free slots must be missing before the fill ring is written: not each one by itself.
const FILL: u32 = 32;

impl Queue {
    pub(super) fn new(
        number: u32,
        bound: Bound,
        slab: &Slab,
        zero_copy: bool,
        entries: u32,
    ) -> Queue {
        Queue {
            number,
            bound: ManuallyDrop::new(bound),
            slab: slab.clone(),
            ledger: Ledger::new(slab.capacity(), slab.slots().stride()),
            zero_copy,
            fill_most: entries,
            filled: 0,
            chain: Chain::None,
            in_flight: 0,
            counted: 0,
            seen: 0,
            part: 0,
            counters: PortCounters::default(),
            drops: Drops::default(),
        }
    }

    pub(super) fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Gives the kernel slots to receive into, as far as it has too few and `pool` has some.
    #[inline]
    pub(super) fn fill(&mut self, pool: &mut Pool) {
        if self.fill_most - self.filled < FILL.min(self.fill_most) {
            return;
        }
        let fill = &mut self.bound.rings.fill;
        let most = fill.room(self.fill_most).min(self.fill_most - self.filled);
        let mut n = 0;
        while n < most {
            let Some(slot) = pool.take() else { break };
            fill.push(self.ledger.lend(slot, 1));
            n += 1;
        }
        if n > 0 {
            fill.publish();
            self.filled += n;
        }
        if self.zero_copy && fill.needs_wakeup() {
            self.bound.socket().wake();
        }
    }

    #[inline]
    pub(super) fn receive(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let before = batch.len();
        let n = self.bound.rings.rx.stock(batch.room() as u32);
        if n > 0 {
            let mut taken = 0;
            while taken < n && batch.room() > 0 {
                let descriptor = self.bound.rings.rx.pop();
                taken += 1;
                let Some(slot) = self.ledger.returned(descriptor.addr) else {
                    self.drops.rx_strange += 1;
                    continue;
                };
                let off = self.ledger.offset(descriptor.addr, slot);
                // SAFETY: the slot was lent to the kernel as one descriptor and came back with it,
                // so that nobody else names it.
                let frame = unsafe { self.slab.frame(slot, off, descriptor.len as usize) };
                if let Chain::None = self.chain
                    && !descriptor.continues()
                {
                    self.slab.prefetch(&frame);
                    self.counters.rx_byte += frame.len() as u64;
                    batch.push(frame);
                    continue;
                }
                self.join(frame, !descriptor.continues(), pool, batch);
            }
            self.bound.rings.rx.release();
            self.filled -= taken;
        }
        self.reap(pool);
        self.fill(pool);
        if self.counted != self.bound.rings.tx.next() {
            self.flush(pool);
        }
        let received = batch.len() - before;
        self.counters.rx_packet += received as u64;
        received
    }

    /// Nothing more is received: what waits is lost. Its slots are back when the queue is dropped.
    pub(super) fn close(&mut self) {
        let rx = &mut self.bound.rings.rx;
        for _ in 0..rx.stock(u32::MAX) {
            self.drops.rx_closed += u64::from(!rx.pop().continues());
        }
    }

    /// One more part of a frame that comes in several.
    #[cold]
    fn join(&mut self, part: Frame, is_last: bool, pool: &mut Pool, batch: &mut Batch) {
        match std::mem::replace(&mut self.chain, Chain::None) {
            Chain::None => self.chain = Chain::Open(part),
            Chain::Open(mut frame) => {
                let (old, new) = (frame.len(), frame.len() + part.len());
                if self.slab.set_len(&mut frame, new) {
                    let (to, from) = (self.slab.bytes_mut(&mut frame), self.slab.bytes(&part));
                    to[old..].copy_from_slice(from);
                    self.chain = Chain::Open(frame);
                } else {
                    self.drops.rx_too_long += 1;
                    self.chain = Chain::Lost;
                    pool.free(frame);
                }
                pool.free(part);
            }
            Chain::Lost => {
                self.chain = Chain::Lost;
                pool.free(part);
            }
        }
        if is_last && let Chain::Open(frame) = std::mem::replace(&mut self.chain, Chain::None) {
            self.counters.rx_byte += frame.len() as u64;
            batch.push(frame);
        }
    }

    #[inline]
    pub(super) fn send(&mut self, pool: &mut Pool, batch: &mut Batch) {
        self.reap(pool);
        let (chunk, aligned) = self.slab.slots().chunk();
        let capacity = self.fill_most; // all rings have the same
        let mut written = 0;
        for frame in batch.drain() {
            let (at, len) = (self.slab.position(&frame), frame.len());
            // In aligned mode a part ends where its chunk does.
            let first = if aligned { chunk - (at as usize & (chunk - 1)) } else { chunk };
            if !(SHORTEST..=first).contains(&len) {
                written += self.write_parts(frame, at, first, pool);
                continue;
            }
            if self.in_flight + written >= capacity || self.bound.rings.tx.room(1) == 0 {
                self.drops.tx_ring_full += 1;
                pool.free(frame);
                continue;
            }
            self.ledger.lend(frame.slot(), 1);
            self.bound.rings.tx.push(Descriptor { addr: at, len: len as u32, options: 0 });
            written += 1;
        }
        if written > 0 {
            self.in_flight += written;
            self.bound.rings.tx.publish();
        }
        if self.counted != self.bound.rings.tx.next() {
            self.flush(pool);
        }
    }

    /// A frame that one descriptor does not hold, or none at all; how many it was written in.
    #[cold]
    fn write_parts(&mut self, frame: Frame, at: u64, first: usize, pool: &mut Pool) -> u32 {
        let (len, (chunk, _)) = (frame.len(), self.slab.slots().chunk());
        let rest = len.saturating_sub(first);
        let parts = 1 + rest.div_ceil(chunk) as u32;
        if len < SHORTEST {
            self.drops.tx_too_short += 1;
        } else if self.slab.slots().stride() <= chunk {
            self.drops.tx_too_long += 1; // a slot that is one chunk, and the frame leaves it
        } else if self.in_flight + parts > self.fill_most || self.bound.rings.tx.room(parts) < parts
        {
            self.drops.tx_ring_full += 1;
        } else {
            self.ledger.lend(frame.slot(), parts as u8);
            let (mut addr, mut left, mut most) = (at, len, first);
            while left > 0 {
                let n = left.min(most);
                let options = if n < left { libc::XDP_PKT_CONTD } else { 0 };
                self.bound.rings.tx.push(Descriptor { addr, len: n as u32, options });
                (addr, left, most) = (addr + n as u64, left - n, chunk);
            }
            return parts;
        }
        pool.free(frame);
        0
    }

    /// Takes back what the kernel has sent.
    #[inline]
    fn reap(&mut self, pool: &mut Pool) {
        if self.in_flight == 0 {
            return;
        }
        let completion = &mut self.bound.rings.completion;
        let n = completion.stock(self.in_flight).min(self.in_flight);
        if n == 0 {
            return;
        }
        for _ in 0..n {
            if let Some(slot) = self.ledger.returned(completion.pop()) {
                pool.put(slot);
            }
        }
        completion.release();
        self.in_flight -= n;
    }

    /// Has the kernel send what is in the tx ring, and counts what it did.
    #[inline]
    fn flush(&mut self, pool: &mut Pool) {
        if self.zero_copy {
            if self.bound.rings.tx.needs_wakeup() {
                // Whatever it says, the driver looks at the ring by and by.
                let _ = self.bound.socket().kick();
            }
            self.count(false);
            return;
        }
        loop {
            let error = self.bound.socket().kick().err().and_then(|error| error.raw_os_error());
            if error != Some(libc::ENETDOWN) {
                self.seen = self.bound.rings.tx.next(); // of a link that is down it asks first
            }
            let before = self.counted;
            self.count(error == Some(libc::EBUSY));
            if self.counted == self.bound.rings.tx.next() {
                break;
            }
            match error {
                // It has done its share of frames, or found one that the device would not take: go
                // on, as long as that leads anywhere.
                None | Some(libc::EAGAIN | libc::EBUSY) if self.counted != before => {}
                Some(libc::ENETDOWN) => return self.withdraw(self.seen, pool),
                Some(libc::ENXIO | libc::ENODEV) => return self.withdraw(self.counted, pool),
                // No memory, or too many are under way: next time.
                _ => break,
            }
        }
    }

    /// Counts what the kernel has taken from the tx ring; of that, it has `refused` the last frame.
    #[inline]
    fn count(&mut self, refused: bool) {
        let tx = &mut self.bound.rings.tx;
        let taken = tx.taken();
        let (mut packets, mut bytes, mut last) = (0, 0, 0);
        while self.counted != taken {
            let descriptor = tx.written(self.counted);
            self.part += u64::from(descriptor.len);
            if !descriptor.continues() {
                (packets, bytes, last) = (packets + 1, bytes + self.part, self.part);
                self.part = 0;
            }
            self.counted = self.counted.wrapping_add(1);
        }
        if refused && packets > 0 {
            (packets, bytes) = (packets - 1, bytes - last);
            self.drops.tx_refused += 1;
        }
        self.counters.tx_packet += packets;
        self.counters.tx_byte += bytes;
    }

    /// The interface is down or gone: what is in the tx ring from `from` on is lost now, not sent
    /// later. What the kernel has looked at stays as long as it may come back to it.
    #[cold]
    fn withdraw(&mut self, from: u32, pool: &mut Pool) {
        while self.bound.rings.tx.next() != from {
            let descriptor = self.bound.rings.tx.take_back();
            self.in_flight -= 1;
            self.drops.tx_link_down += u64::from(!descriptor.continues());
            if let Some(slot) = self.ledger.returned(descriptor.addr) {
                pool.put(slot);
            }
        }
        self.seen = from;
    }

    /// All but what was lost, which [`drops`](Queue::drops) tells.
    pub(super) fn counters(&self) -> PortCounters {
        self.counters
    }

    /// Frames to be sent that were not, of those that we dropped.
    pub(super) fn refused(&self) -> u64 {
        self.drops.tx()
    }

    /// What was lost, ours and the kernel's.
    pub(super) fn drops(&self) -> Drops {
        let kernel = self.bound.socket().statistics();
        Drops {
            rx_no_slot: kernel.rx_dropped,
            rx_ring_full: kernel.rx_ring_full,
            rx_invalid: kernel.rx_invalid_descs,
            tx_invalid: kernel.tx_invalid_descs,
            fill_ring_empty: kernel.rx_fill_ring_empty_descs,
            ..self.drops
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: taken here only, and not used any more.
        if !unsafe { ManuallyDrop::take(&mut self.bound) }.close() {
            return; // rather lost than written to by a driver while they are another frame's
        }
        let mut pool = self.slab.pool();
        if let Chain::Open(frame) = std::mem::replace(&mut self.chain, Chain::None) {
            pool.free(frame);
        }
        // The socket is closed: what the kernel had is ours again.
        self.ledger.take_all(|slot| pool.put(slot));
    }
}
