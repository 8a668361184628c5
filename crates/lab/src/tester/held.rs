//! A wire before which frames wait in their host, as behind a real interface's queue.
//!
//! ```text
//!  TCP ─► [held: first in, first out] ─► a wire that says when it is free
//!    └──────────────────────────────────► any other
//! ```
//!
//! Connections that all have something to say at once say more than a transmit buffer holds. What
//! finds that full is lost by the tester, and looks like the device's loss: TCP sends it again, later.
//! So no more is given to a wire in virtual time than it can begin with.
//!
//! Never drops a frame, never reorders; on wires that do not say when they are free it does nothing.

use port::{Batch, Frame, Pool, Port, PortCounters};
use std::collections::VecDeque;
use wire::Moment;

/// Frames that wait for a wire.
#[derive(Default)]
pub(super) struct Held {
    frames: VecDeque<Frame>,
    /// For one at a time.
    batch: Batch,
}

impl Held {
    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// The wire with them before it.
    pub(super) fn before<'a, P>(&'a mut self, wire: &'a mut P) -> Waiting<'a, P> {
        Waiting { held: self, wire }
    }

    /// When the next one can go; `None` if none waits.
    pub(super) fn next_due<P: Port>(&self, wire: &P) -> Option<Moment> {
        self.frames.front().and_then(|_| wire.next_start())
    }

    /// Nobody waits for them any more.
    pub(super) fn free(&mut self, pool: &mut Pool) {
        self.frames.drain(..).for_each(|frame| pool.free(frame));
    }
}

/// A wire, and what waits for it.
pub(super) struct Waiting<'a, P> {
    held: &'a mut Held,
    wire: &'a mut P,
}

impl<P: Port> Waiting<'_, P> {
    /// Gives the wire what it can begin with by now.
    pub(super) fn go_on(&mut self, now: Moment, pool: &mut Pool) {
        while self.wire.next_start().is_some_and(|free| free <= now)
            && let Some(frame) = self.held.frames.pop_front()
        {
            self.held.batch.push(frame);
            self.wire.send(now, pool, &mut self.held.batch);
        }
    }
}

impl<P: Port> Port for Waiting<'_, P> {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.wire.receive(now, pool, batch)
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        if self.wire.next_start().is_none() {
            return self.wire.send(now, pool, batch);
        }
        self.held.frames.extend(batch.drain());
        self.go_on(now, pool);
    }

    fn counters(&self) -> PortCounters {
        self.wire.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::Slab;
    use port::simulated::{Link, wire};
    use wire::BitRate;

    /// More frames than a transmit buffer has room for: all come, in their order, at the wire's rate.
    #[test]
    fn none_is_lost() {
        let slab = Slab::new(4096).unwrap();
        let (mut pool, mut held, mut batch) = (slab.pool(), Held::default(), Batch::new());
        let link = Link { tx_buffer: 4, ..Link::new(BitRate::gbps(1.0)) };
        let (mut here, mut there) = wire(link).unwrap();
        let mut now = Moment::from_nanos(1);
        for n in 0..3000u16 {
            let mut frame = pool.alloc(60).unwrap();
            slab.bytes_mut(&mut frame)[..2].copy_from_slice(&n.to_be_bytes());
            batch.push(frame);
            held.before(&mut here).send(now, &mut pool, &mut batch);
        }
        assert!(held.len() > 2990, "{}", held.len());
        let mut came = 0u16;
        while let Some(at) = held.next_due(&here).into_iter().chain(there.next_arrival()).min() {
            now = now.max(at);
            held.before(&mut here).go_on(now, &mut pool);
            there.receive(now, &mut pool, &mut batch);
            for frame in batch.drain() {
                assert_eq!(slab.bytes(&frame)[..2], came.to_be_bytes());
                came += 1;
                pool.free(frame);
            }
        }
        assert_eq!((came, here.counters().tx_drop, held.len()), (3000, 0, 0));
        // 672 bits each, the gap after the last one included or not.
        assert!((2_015_900..=2_016_100).contains(&now.as_nanos()), "{now:?}");
    }
}
