//! Several queues of one interface: received from by turns, sent by flow.
//!
//! ```text
//!  queue 0 ─┐                                 ┌─ 0 ─► queue 0
//!  queue 1 ─┼─ [Turns] ─► batch … [Spread] ───┤      (a flow always by the same one)
//!  queue 2 ─┘                                 └─ 2 ─► queue 2
//! ```
//!
//! The queues may be sockets, rings or cables to other threads: whoever has them says how one of
//! them receives and sends. Never reorders the frames of a flow ([`layers::flow`]).

use crate::{Batch, Frame, Pool};
use wire::layers;

/// Who is asked first next time, so that none starves another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns {
    next: usize,
}

impl Turns {
    /// Receives from each of `queues`, beginning with the one whose turn it is, until the batch is
    /// full; how many frames came.
    #[inline]
    pub fn receive<Q>(
        &mut self,
        queues: &mut [Q],
        batch: &mut Batch,
        mut receive: impl FnMut(&mut Q, &mut Batch) -> usize,
    ) -> usize {
        let n = queues.len();
        let mut received = 0;
        for _ in 0..n {
            received += receive(&mut queues[self.next], batch);
            self.next = if self.next + 1 == n { 0 } else { self.next + 1 };
            if batch.room() == 0 {
                break;
            }
        }
        received
    }
}

/// Shares frames out among queues by their flow.
#[derive(Debug, Default)]
pub struct Spread {
    /// How far the hash is turned: a spread behind a spread needs other bits than that.
    turned: u32,
    /// Those that are yet to be handed on.
    left: Vec<Option<Frame>>,
    /// Those of one queue.
    own: Batch,
}

/// The most queues a spread knows: those of the largest group of sockets.
pub const MAX_QUEUES: usize = 256;

impl Spread {
    /// For queues to which another spread has shared out already: it goes by other bits.
    pub fn second() -> Spread {
        Spread { turned: 16, ..Spread::default() }
    }

    /// Hands the frames of `batch`, which is empty afterwards, to `send` by queue, those of one
    /// queue in the order they came in. Without frames `send` is called once for each queue: it may
    /// have something on its way.
    ///
    /// # Panics
    /// Without a queue, or with more than [`MAX_QUEUES`].
    #[inline]
    pub fn send(
        &mut self,
        queues: usize,
        pool: &mut Pool,
        batch: &mut Batch,
        mut send: impl FnMut(usize, &mut Pool, &mut Batch),
    ) {
        match queues {
            1 => send(0, pool, batch),
            _ if batch.is_empty() => (0..queues).for_each(|queue| send(queue, pool, batch)),
            _ => self.share_out(queues, pool, batch, &mut send),
        }
    }

    fn share_out(
        &mut self,
        queues: usize,
        pool: &mut Pool,
        batch: &mut Batch,
        send: &mut dyn FnMut(usize, &mut Pool, &mut Batch),
    ) {
        assert!((1..=MAX_QUEUES).contains(&queues), "{queues} queues, 1 to {MAX_QUEUES}");
        let (n, mut queue_of) = (batch.len(), [0u8; Batch::CAPACITY]);
        for (queue, frame) in queue_of.iter_mut().zip(batch.as_slice()) {
            let flow = layers::flow(pool.slab().bytes(frame)).rotate_left(self.turned);
            // The flow's share of the queues: no division.
            *queue = ((u64::from(flow) * queues as u64) >> 32) as u8;
        }
        self.left.extend(batch.drain().map(Some));
        for first in 0..n {
            if self.left[first].is_none() {
                continue; // it went with one before it
            }
            let queue = queue_of[first];
            let same = (first..n).filter(|&at| queue_of[at] == queue);
            same.filter_map(|at| self.left[at].take()).for_each(|frame| self.own.push(frame));
            send(usize::from(queue), pool, &mut self.own);
        }
        self.left.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slab;
    use wire::craft::{self, ip};

    /// Frames of 40 flows, each with its number, in order; by two levels of queues.
    #[test]
    fn flows_stay_together_and_all_queues_have_some() {
        const FLOWS: u16 = 40;
        let slab = Slab::new(4096).unwrap();
        let (mut pool, mut batch) = (slab.pool(), Batch::new());
        for queues in [1, 2, 3, 8, 256] {
            let (mut spread, mut second) = (Spread::default(), Spread::second());
            let mut next = [0u8; FLOWS as usize];
            let mut place = [None; FLOWS as usize];
            let mut used = vec![[0; 2]; queues];
            for number in 0..20u8 {
                for flow in 0..FLOWS {
                    let frame = craft::udp(ip(10, 0, 0, 1), 1000 + flow, ip(10, 0, 1, 1), 7);
                    let bytes = craft::Frame { payload: &[number], ..frame }.build();
                    let mut frame = pool.alloc(bytes.len()).unwrap();
                    slab.bytes_mut(&mut frame).copy_from_slice(&bytes);
                    batch.push(frame);
                    if batch.room() > 0 && (number, flow) != (19, FLOWS - 1) {
                        continue;
                    }
                    spread.send(queues, &mut pool, &mut batch, |queue, pool, batch| {
                        second.send(2, pool, batch, |behind, pool, batch| {
                            used[queue][behind] += batch.len();
                            for frame in batch.drain() {
                                let bytes = slab.bytes(&frame);
                                let flow = usize::from(bytes[34]) << 8 | usize::from(bytes[35]);
                                let (flow, number) = (flow - 1000, bytes[42]);
                                assert_eq!(number, next[flow], "flow {flow} of {queues} queues");
                                next[flow] += 1;
                                let at = place[flow].get_or_insert((queue, behind));
                                assert_eq!(*at, (queue, behind), "flow {flow} of {queues} queues");
                                pool.free(frame);
                            }
                        });
                    });
                    assert!(batch.is_empty());
                }
            }
            assert_eq!(next, [20; FLOWS as usize], "{queues} queues");
            let idle = used.iter().filter(|used| used.contains(&0)).count();
            assert!(idle == 0 || queues > 3, "{queues} queues: {used:?}");
        }
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
    }

    #[test]
    fn each_queue_has_its_turn() {
        let slab = Slab::new(512).unwrap();
        let (mut pool, mut turns) = (slab.pool(), Turns::default());
        let mut asked = [0; 3];
        for _ in 0..6 {
            let mut batch = Batch::new();
            // Every queue could fill a batch.
            let n = turns.receive(&mut asked, &mut batch, |asked, batch| {
                *asked += 1;
                (0..64).for_each(|_| batch.push(pool.alloc(60).unwrap()));
                64
            });
            assert_eq!(n, 64);
            batch.free_all(&mut pool);
        }
        assert_eq!(asked, [2; 3]);
        let none = turns.receive(&mut asked, &mut Batch::new(), |asked, _| {
            *asked += 1;
            0
        });
        assert_eq!((none, asked), (0, [3; 3]));
    }

    #[test]
    fn without_frames_every_queue_is_asked() {
        let slab = Slab::new(64).unwrap();
        let mut asked = vec![];
        Spread::default().send(3, &mut slab.pool(), &mut Batch::new(), |queue, _, batch| {
            assert!(batch.is_empty());
            asked.push(queue);
        });
        assert_eq!(asked, [0, 1, 2]);
    }
}
