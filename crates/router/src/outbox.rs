//! Outbox of each port during one breath: frames are gathered and sent in batches.

use crate::counter::Count;
use crate::queue::QueueLeafId;
use port::{Batch, Frame, Pool, Port};
use wire::Moment;

/// The frames for one port.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    frames: Vec<Frame>,
    /// Frames put here since the last [`flush`](Self::flush) that left in FastPath.
    pub(crate) fast: Count,
    /// Where they wait if the port has no room; `None` if they do not.
    pub(crate) queue: Option<QueueLeafId>,
}

impl Outbox {
    /// Adds a frame behind the others.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    /// Takes the frames out again, of a router that has no ports.
    pub(crate) fn take(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.frames)
    }

    /// Takes the emptied memory back.
    pub(crate) fn put_back(&mut self, frames: Vec<Frame>) {
        self.frames = frames;
    }

    /// The frames, in order.
    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Hands everything to the port and returns what went. `batch` is empty before and after.
    #[inline]
    pub(crate) fn flush<P: Port>(
        &mut self,
        now: Moment,
        pool: &mut Pool,
        batch: &mut Batch,
        port: &mut P,
    ) -> Count {
        let bytes = self.frames.iter().map(|frame| frame.len() as u64).sum();
        let sent = Count { packets: self.frames.len() as u64, bytes };
        let mut frames = self.frames.drain(..);
        while frames.len() > 0 {
            batch.fill(&mut frames);
            port.send(now, pool, batch);
        }
        sent
    }
}
