//! Up to 64 frames that travel together: one ring operation, one pass per stage.

use crate::{Frame, Pool};

/// A vector of frames with a fixed capacity; it never grows, so nothing is allocated on the way.
#[derive(Debug)]
pub struct Batch {
    frames: Vec<Frame>,
}

impl Batch {
    /// Frames in a full batch. Larger ones miss L1 more often; 16 to 256 were no better.
    pub const CAPACITY: usize = 64;

    /// An empty batch.
    pub fn new() -> Batch {
        Batch { frames: Vec::with_capacity(Self::CAPACITY) }
    }

    /// How many frames are in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether no frame is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How many more frames fit.
    #[inline]
    pub fn room(&self) -> usize {
        Self::CAPACITY - self.frames.len()
    }

    /// Adds a frame.
    ///
    /// # Panics
    /// If the batch is full: look at [`room`](Self::room) first.
    #[inline]
    pub fn push(&mut self, frame: Frame) {
        assert!(self.frames.len() < Self::CAPACITY, "batch overfull");
        self.frames.push(frame);
    }

    /// Takes the last frame out.
    #[inline]
    pub fn pop(&mut self) -> Option<Frame> {
        self.frames.pop()
    }

    /// Takes all frames out, first to last.
    #[inline]
    pub fn drain(&mut self) -> std::vec::Drain<'_, Frame> {
        self.frames.drain(..)
    }

    /// The frames, in order.
    #[inline]
    pub fn as_slice(&self) -> &[Frame] {
        &self.frames
    }

    /// The frames, in order, to be changed.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Frame] {
        &mut self.frames
    }

    /// The vector itself, for ports that move whole batches; they keep to the capacity.
    #[inline]
    pub(crate) fn frames_mut(&mut self) -> &mut Vec<Frame> {
        &mut self.frames
    }

    /// Gives all frames back to `pool`.
    #[inline]
    pub fn free_all(&mut self, pool: &mut Pool) {
        for frame in self.frames.drain(..) {
            pool.free(frame);
        }
    }
}

impl Default for Batch {
    fn default() -> Batch {
        Batch::new()
    }
}
