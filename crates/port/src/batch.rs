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

    /// Moves as many of `frames` as fit, from the first on.
    #[inline]
    pub fn fill(&mut self, frames: &mut std::vec::Drain<'_, Frame>) {
        let n = self.room().min(frames.len());
        self.frames.extend(frames.as_slice()[..n].iter().map(Frame::taken));
        frames.take(n).for_each(drop); // they are plain numbers
    }

    /// Moves the first `n` frames behind those of `into`, which has room for them.
    ///
    /// # Panics
    /// If there are fewer, or there is no room.
    pub fn split_to(&mut self, n: usize, into: &mut Batch) {
        assert!(n <= into.room(), "batch overfull");
        into.frames.extend(self.frames.drain(..n));
    }

    /// Takes the last frame out.
    #[inline]
    pub fn pop(&mut self) -> Option<Frame> {
        self.frames.pop()
    }

    /// Takes all frames out, first to last. Whoever stops before the last loses the others.
    ///
    /// A vector's own would have to mend the vector at its end, and so keeps in memory where it is: 8
    /// instructions a frame.
    #[inline]
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = Frame> + '_ {
        let len = self.frames.len();
        // SAFETY: no frame is as good as any: they are plain numbers, and stay where they are.
        unsafe { self.frames.set_len(0) };
        // SAFETY: so many were there just now; nobody writes before this borrow ends.
        let frames = unsafe { std::slice::from_raw_parts(self.frames.as_ptr(), len) };
        frames.iter().map(Frame::taken)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slab;
    use proptest::prelude::*;

    fn numbers(frames: &[Frame]) -> Vec<usize> {
        frames.iter().map(Frame::len).collect()
    }

    #[test]
    fn frames_go_out_in_the_order_they_came_in() {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let mut batch = Batch::new();
        for len in 0..Batch::CAPACITY {
            assert_eq!((batch.len(), batch.room()), (len, 64 - len));
            batch.push(pool.alloc(len).unwrap());
        }
        assert_eq!(numbers(batch.as_slice()), (0..64).collect::<Vec<_>>());
        batch.as_mut_slice()[3].truncate(1);
        let last = batch.pop().unwrap();
        assert_eq!(last.len(), 63);
        pool.free(last);
        let mut lens = vec![];
        for frame in batch.drain() {
            lens.push(frame.len());
            pool.free(frame);
        }
        let expected: Vec<_> = (0..63).map(|len| if len == 3 { 1 } else { len }).collect();
        assert_eq!(lens, expected);
        assert!(batch.is_empty() && batch.pop().is_none());
        drop(pool);
        assert_eq!(slab.frames_out(), 0);
    }

    #[test]
    #[should_panic(expected = "batch overfull")]
    fn a_65th_frame_panics() {
        let slab = Slab::new(256).unwrap();
        let mut pool = slab.pool();
        let mut batch = Batch::new();
        for _ in 0..=Batch::CAPACITY {
            batch.push(pool.alloc(60).unwrap());
        }
    }

    proptest! {
        /// Against a vector: order, room and slots; and its memory never moves.
        #[test]
        fn behaves_as_a_vector(ops in prop::collection::vec(0..8, 0..300)) {
            let slab = Slab::new(256).unwrap();
            let mut pool = slab.pool();
            let (mut batch, mut model) = (Batch::new(), vec![]);
            let memory = batch.as_slice().as_ptr();
            for (i, op) in ops.into_iter().enumerate() {
                match op {
                    0 => {
                        let popped = batch.pop();
                        prop_assert_eq!(popped.as_ref().map(Frame::len), model.pop());
                        popped.into_iter().for_each(|frame| pool.free(frame));
                    }
                    1 if i % 5 == 0 => {
                        batch.free_all(&mut pool);
                        model.clear();
                    }
                    2 if i % 3 == 0 => {
                        let (n, mut first) = (model.len() / 2, Batch::new());
                        batch.split_to(n, &mut first);
                        prop_assert_eq!(numbers(first.as_slice()), model.drain(..n).collect::<Vec<_>>());
                        first.free_all(&mut pool);
                    }
                    _ if batch.room() > 0 => {
                        batch.push(pool.alloc(i).unwrap());
                        model.push(i);
                    }
                    _ => prop_assert_eq!(model.len(), Batch::CAPACITY),
                }
                prop_assert_eq!(numbers(batch.as_slice()), &model[..]);
                prop_assert_eq!(batch.room(), Batch::CAPACITY - model.len());
                prop_assert_eq!(batch.as_slice().as_ptr(), memory);
            }
            batch.free_all(&mut pool);
            drop(pool);
            prop_assert_eq!(slab.frames_out(), 0);
        }
    }
}
