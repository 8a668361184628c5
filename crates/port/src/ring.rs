//! A ring between two cores: one writes, one reads, neither waits.
//!
//! ```text
//!            head (reader's)        tail (writer's)
//!              ▼                      ▼
//!  | free | full | full | full | full | free | free | free |      slot = index & mask
//!
//!  push: look at head if the room known is too small → write slots → publish tail (release)
//!  pop:  look at tail if the stock known is too small → read slots → publish head (release)
//! ```
//!
//! The indices run freely and wrap; `tail − head` is what is inside. Each side keeps its own index
//! and the last it saw of the other's, so that a whole batch costs at most one look at a line that
//! the other core writes, and one write to a line that it reads.
//!
//! Why it is sound: a slot between `head` and `tail` belongs to the reader, all others to the
//! writer. A slot changes hands only by a release store that the other side has read with acquire,
//! after the giver's last access to it. The tests walk through every interleaving of those steps.
//!
//! Never blocks, never allocates after it is made, never overwrites.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Two cache lines: the processor fetches them in pairs, and a pair shared is a pair fought over.
#[repr(align(128))]
struct Line<T>(T);

struct Ring<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// The next slot to read; written by the reader.
    head: Line<AtomicUsize>,
    /// The next slot to write; written by the writer.
    tail: Line<AtomicUsize>,
    /// Items the writer found no room for; written by the writer, seldom.
    lost: Line<AtomicU64>,
}

// SAFETY: the slots are shared by one `Producer` and one `Consumer` as told above: never by both at
// a time. Items are moved from one to the other, hence `T: Send`.
unsafe impl<T: Send> Sync for Ring<T> {}

/// A ring with room for `capacity` items, rounded up to a power of two.
///
/// # Panics
/// If `capacity` exceeds 2²⁴, more than a slab has frames.
pub(crate) fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    assert!(capacity <= 1 << 24, "a ring of {capacity} items: the most is 2^24");
    let slots =
        (0..capacity.next_power_of_two()).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
    let ring = Arc::new(Ring {
        slots,
        head: Line(AtomicUsize::new(0)),
        tail: Line(AtomicUsize::new(0)),
        lost: Line(AtomicU64::new(0)),
    });
    let producer = Producer { ring: Arc::clone(&ring), tail: 0, head_seen: 0 };
    (producer, Consumer { ring, head: 0, tail_seen: 0 })
}

/// The writing end.
pub(crate) struct Producer<T> {
    ring: Arc<Ring<T>>,
    /// What `ring.tail` is, or will be at the next `publish`.
    tail: usize,
    /// What `ring.head` was when last looked at.
    head_seen: usize,
}

impl<T> Producer<T> {
    /// Moves the first of `items` into the ring, as many as fit, and leaves the others.
    #[inline]
    pub(crate) fn push(&mut self, items: &mut Vec<T>) {
        let n = self.room(items.len()).min(items.len());
        if n > 0 {
            // SAFETY: there is room for `n`.
            unsafe { self.fill(items, n) };
            self.publish();
        }
    }

    /// Counts items that were given up for want of room.
    #[cold]
    pub(crate) fn count_lost(&self, n: usize) {
        // Only we write it, so there is nothing to be atomic with.
        let lost = self.ring.lost.0.load(Ordering::Relaxed);
        self.ring.lost.0.store(lost + n as u64, Ordering::Relaxed);
    }

    /// How many items fit, at least; exact when fewer than `wanted`.
    #[inline]
    fn room(&mut self, wanted: usize) -> usize {
        let capacity = self.ring.slots.len();
        let room = capacity - self.tail.wrapping_sub(self.head_seen);
        if room >= wanted {
            return room;
        }
        // Acquire: the reader's last read of those slots happened before our writes to them.
        self.head_seen = self.ring.head.0.load(Ordering::Acquire);
        capacity - self.tail.wrapping_sub(self.head_seen)
    }

    /// Moves the first `n` of `items` into the next slots; nobody sees them before `publish`.
    ///
    /// # Safety
    /// [`room`](Self::room) was at least `n`, and `n` is at most `items.len()`.
    #[inline]
    unsafe fn fill(&mut self, items: &mut Vec<T>, n: usize) {
        debug_assert!(n <= items.len());
        debug_assert!(n <= self.ring.slots.len() - self.tail.wrapping_sub(self.head_seen));
        let start = self.tail & (self.ring.slots.len() - 1);
        let first = n.min(self.ring.slots.len() - start);
        let left = items.len() - n;
        let slots: *mut T = UnsafeCell::raw_get(self.ring.slots.as_ptr()).cast();
        // SAFETY: the slots from `tail` on, `n` of them, are the writer's: `first` up to the end of
        // the ring and the others from its beginning. The items leave the vector: its length is
        // set to zero before they are copied, and then to what is left, moved to the front.
        unsafe {
            items.set_len(0);
            let from = items.as_mut_ptr();
            from.copy_to_nonoverlapping(slots.add(start), first);
            from.add(first).copy_to_nonoverlapping(slots, n - first);
            if left > 0 {
                from.add(n).copy_to(from, left);
                items.set_len(left);
            }
        }
        self.tail = self.tail.wrapping_add(n);
    }

    /// Hands what was filled to the reader.
    #[inline]
    fn publish(&self) {
        // Release: our writes to the slots happened before the reader sees the index.
        self.ring.tail.0.store(self.tail, Ordering::Release);
    }
}

/// The reading end.
pub(crate) struct Consumer<T> {
    ring: Arc<Ring<T>>,
    /// What `ring.head` is, or will be at the next `publish`.
    head: usize,
    /// What `ring.tail` was when last looked at.
    tail_seen: usize,
}

impl<T> Consumer<T> {
    /// Moves items to the end of `items`, `most` at most; returns how many.
    #[inline]
    pub(crate) fn pop(&mut self, items: &mut Vec<T>, most: usize) -> usize {
        let n = self.stock(most).min(most);
        if n > 0 {
            // SAFETY: there are `n` in stock.
            unsafe { self.take(items, n) };
            self.publish();
        }
        n
    }

    /// How many items wait now.
    pub(crate) fn len(&self) -> usize {
        self.ring.tail.0.load(Ordering::Acquire).wrapping_sub(self.head)
    }

    /// How many items the writer has given up.
    pub(crate) fn lost(&self) -> u64 {
        self.ring.lost.0.load(Ordering::Relaxed)
    }

    /// How many items wait, at least; exact when fewer than `wanted`.
    #[inline]
    fn stock(&mut self, wanted: usize) -> usize {
        let stock = self.tail_seen.wrapping_sub(self.head);
        if stock >= wanted {
            return stock;
        }
        // Acquire: the writer's writes to those slots happened before our reads.
        self.tail_seen = self.ring.tail.0.load(Ordering::Acquire);
        self.tail_seen.wrapping_sub(self.head)
    }

    /// Moves `n` items to the end of `items`; their slots stay ours until `publish`.
    ///
    /// # Safety
    /// [`stock`](Self::stock) was at least `n`.
    #[inline]
    unsafe fn take(&mut self, items: &mut Vec<T>, n: usize) {
        debug_assert!(n <= self.tail_seen.wrapping_sub(self.head));
        items.reserve(n);
        let start = self.head & (self.ring.slots.len() - 1);
        let first = n.min(self.ring.slots.len() - start);
        let len = items.len();
        let slots: *const T = UnsafeCell::raw_get(self.ring.slots.as_ptr()).cast();
        // SAFETY: the slots from `head` on, `n` of them, are the reader's and hold items: `first`
        // up to the end of the ring and the others from its beginning. The vector has room. The
        // items leave the ring: `head` passes them, and nobody reads these slots again.
        unsafe {
            let to = items.as_mut_ptr().add(len);
            slots.add(start).copy_to_nonoverlapping(to, first);
            slots.copy_to_nonoverlapping(to.add(first), n - first);
            items.set_len(len + n);
        }
        self.head = self.head.wrapping_add(n);
    }

    /// Hands the slots that were taken back to the writer.
    #[inline]
    fn publish(&self) {
        // Release: our reads of the slots happened before the writer sees the index.
        self.ring.head.0.store(self.head, Ordering::Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let mask = self.slots.len() - 1;
        let (mut head, tail) = (*self.head.0.get_mut(), *self.tail.0.get_mut());
        while head != tail {
            // SAFETY: both ends are gone, and the slots between the indices hold items.
            unsafe { self.slots[head & mask].get_mut().assume_init_drop() };
            head = head.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// One side's next step. The order within a side is fixed; the order between them is not.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Step {
        Look,
        Move,
        Publish,
    }

    impl Step {
        fn next(self) -> Step {
            match self {
                Step::Look => Step::Move,
                Step::Move => Step::Publish,
                Step::Publish => Step::Look,
            }
        }
    }

    /// Runs one interleaving (bit i of `order`: whose turn step i is) of a writer and a reader that
    /// move `batch` items at a time through a ring of two, and checks each step against the truth:
    /// what the writer fills is free, what the reader takes is the next number.
    fn interleave(order: u32, steps: u32, batch: usize) {
        let (mut tx, mut rx) = ring::<Box<u32>>(2);
        // The wrap of the indices passes through the run as well.
        let near_wrap = usize::MAX - 1;
        tx.ring.head.0.store(near_wrap, Ordering::Relaxed);
        tx.ring.tail.0.store(near_wrap, Ordering::Relaxed);
        (tx.tail, tx.head_seen, rx.head, rx.tail_seen) =
            (near_wrap, near_wrap, near_wrap, near_wrap);

        let (mut writer, mut reader) = (Step::Look, Step::Look);
        let (mut room, mut stock) = (0, 0);
        let (mut filled, mut published, mut taken, mut returned) = (0u32, 0u32, 0u32, 0u32);
        let mut got = Vec::new();
        for i in 0..steps {
            let state =
                format!("order {order:0w$b} step {i} {writer:?} {reader:?}", w = steps as usize);
            if order >> i & 1 == 0 {
                match writer {
                    Step::Look => {
                        room = tx.room(batch).min(batch);
                        assert!(room as u32 <= 2 - (published - returned), "{state}");
                    }
                    Step::Move => {
                        let mut items = (0..batch as u32).map(|i| Box::new(filled + i)).collect();
                        // SAFETY: `room` is what `room` said.
                        unsafe { tx.fill(&mut items, room) };
                        assert_eq!(items.len(), batch - room, "{state}");
                        filled += room as u32;
                    }
                    Step::Publish => {
                        tx.publish();
                        published = filled;
                    }
                }
                writer = writer.next();
            } else {
                match reader {
                    Step::Look => {
                        stock = rx.stock(batch).min(batch);
                        assert!(stock as u32 <= published - taken, "{state}");
                    }
                    Step::Move => {
                        // SAFETY: `stock` is what `stock` said.
                        unsafe { rx.take(&mut got, stock) };
                        taken += stock as u32;
                    }
                    Step::Publish => {
                        rx.publish();
                        returned = taken;
                    }
                }
                reader = reader.next();
            }
        }
        let got: Vec<u32> = got.into_iter().map(|item| *item).collect();
        assert_eq!(got, (0..taken).collect::<Vec<_>>(), "order {order:b}");
        // What was filled but not published would leak (a push never ends there): publish it, so
        // that the ring drops it, once, with what was published and not taken.
        tx.publish();
        rx.publish();
    }

    #[test]
    fn every_interleaving_keeps_order_and_ownership() {
        const STEPS: u32 = 14;
        for batch in 1..=3 {
            for order in 0..1 << STEPS {
                interleave(order, STEPS, batch);
            }
        }
    }

    proptest! {
        /// Any sequence of pushes and pops behaves as a bounded queue.
        #[test]
        fn behaves_as_a_bounded_queue(
            capacity in 0usize..20,
            ops in prop::collection::vec((any::<bool>(), 0usize..30), 0..60),
        ) {
            let (mut tx, mut rx) = ring::<Box<usize>>(capacity);
            let bound = capacity.next_power_of_two();
            let mut model = VecDeque::new();
            let mut next = 0;
            for (push, n) in ops {
                if push {
                    let mut items: Vec<_> = (next..next + n).map(Box::new).collect();
                    tx.push(&mut items);
                    let taken = n.min(bound - model.len());
                    model.extend(next..next + taken);
                    let left: Vec<usize> = items.into_iter().map(|item| *item).collect();
                    prop_assert_eq!(left, (next + taken..next + n).collect::<Vec<_>>());
                    next += n;
                } else {
                    let mut items = vec![];
                    prop_assert_eq!(rx.pop(&mut items, n), n.min(model.len()));
                    for item in items {
                        prop_assert_eq!(Some(*item), model.pop_front());
                    }
                }
                prop_assert_eq!(rx.len(), model.len());
            }
        }
    }

    /// Two real threads: every number arrives once, in order, with its contents.
    #[test]
    fn two_threads_pass_everything_in_order() {
        // A small ring makes the threads wait for each other, which is slow on a busy machine.
        for (capacity, items) in [(1, 10_000), (8, 50_000), (1024, 300_000)] {
            let n_items: u64 = if cfg!(miri) { 500 } else { items };
            let (mut tx, mut rx) = ring::<Box<u64>>(capacity);
            let writer = std::thread::spawn(move || {
                let (mut next, mut items) = (0, Vec::new());
                while next < n_items || !items.is_empty() {
                    while next < n_items && items.len() < 1 + (next as usize % 64) {
                        items.push(Box::new(next));
                        next += 1;
                    }
                    let before = items.len();
                    tx.push(&mut items);
                    if items.len() == before {
                        std::thread::yield_now();
                    }
                }
            });
            let (mut expected, mut items) = (0, Vec::new());
            while expected < n_items {
                if rx.pop(&mut items, 1 + (expected as usize % 48)) == 0 {
                    std::thread::yield_now();
                }
                for item in items.drain(..) {
                    assert_eq!(*item, expected, "capacity {capacity}");
                    expected += 1;
                }
            }
            writer.join().unwrap();
            assert_eq!(rx.len(), 0);
        }
    }
}
