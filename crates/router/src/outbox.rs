//! What is on its way out of each port during one breath: frames are gathered and sent in batches.

use crate::counter::Count;
use port::{Batch, Frame, Pool, Port};
use wire::Moment;

/// The frames for one port.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Up to a batch; then `more` takes over until the next flush, so that order is kept.
    batch: Batch,
    more: Vec<Frame>,
    /// Frames put here since the last [`flush`](Self::flush), of these in FastPath.
    pub(crate) fast: Count,
}

impl Outbox {
    /// Adds a frame behind the others.
    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        if self.batch.room() > 0 {
            self.batch.push(frame);
        } else {
            self.more.push(frame);
        }
    }

    /// Hands everything to the port and returns what went.
    pub(crate) fn flush<P: Port>(&mut self, now: Moment, pool: &mut Pool, port: &mut P) -> Count {
        let mut sent = Count::default();
        if self.batch.is_empty() {
            return sent;
        }
        let mut more = self.more.drain(..);
        loop {
            for frame in self.batch.as_slice() {
                sent.add(frame.len() as u64);
            }
            port.send(now, pool, &mut self.batch);
            for frame in more.by_ref().take(Batch::CAPACITY) {
                self.batch.push(frame);
            }
            if self.batch.is_empty() {
                return sent;
            }
        }
    }
}
