//! The four rings of an AF_XDP socket, each between us and the kernel.
//!
//! ```text
//!  Producer (fill, tx)        kernel's index          our index
//!                                ▼                       ▼
//!          | free | free |  written, not yet taken  | free | …
//!
//!  Consumer (completion, rx)  our index               kernel's index
//!                                ▼                       ▼
//!          | done |  written by the kernel, ours to take | …
//! ```
//!
//! Both indices run freely and wrap; an entry is at `index & mask`. Each side writes its own index
//! only, with release, and reads the other's with acquire, once for a whole batch.
//!
//! Never blocks, never calls the kernel; what is in the entries is for the queue to judge.
//!
//! Source: `linux/if_xdp.h`, the kernel's `Documentation/networking/af_xdp.rst`.

use crate::mapping::Mapping;
use std::sync::atomic::{AtomicU32, Ordering};

/// A frame's place, or a part's of it, in the rx and tx rings: `struct xdp_desc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Descriptor {
    /// In the UMEM; in unaligned mode the upper 16 bits are to be added to the lower 48.
    pub(super) addr: u64,
    pub(super) len: u32,
    pub(super) options: u32,
}

impl Descriptor {
    /// Whether the frame goes on in the next descriptor.
    #[inline]
    pub(super) fn continues(self) -> bool {
        self.options & libc::XDP_PKT_CONTD != 0
    }
}

/// What may stand in a ring.
///
/// # Safety
/// The type is what the kernel has there, has no padding, and any bytes are a value of it.
pub(super) unsafe trait Entry: Copy {}
// SAFETY: the fill and completion rings hold addresses, plain numbers.
unsafe impl Entry for u64 {}
// SAFETY: `repr(C)` with the fields of `struct xdp_desc`, plain numbers without gaps.
unsafe impl Entry for Descriptor {}

/// A ring in the memory the kernel shares with us.
struct Ring<T> {
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    flags: *const AtomicU32,
    entries: *mut T,
    mask: u32,
    /// Keeps the pointers above alive.
    _mapping: Mapping,
}

// SAFETY: the pointers lead into the mapping, which goes along, whatever thread it is used from;
// our side of the ring has one user, since neither `Producer` nor `Consumer` can be cloned.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Entry> Ring<T> {
    /// # Panics
    /// If the parts do not lie inside the mapping, or `entries` is no power of two.
    fn new(mapping: Mapping, offsets: &libc::xdp_ring_offset, entries: u32) -> Ring<T> {
        assert!(entries.is_power_of_two(), "a ring of {entries}");
        let (base, len) = (mapping.base(), mapping.len());
        let at = |offset: u64, size: usize, align: usize| {
            let offset = offset as usize;
            let inside = offset.checked_add(size).is_some_and(|end| end <= len);
            assert!(inside && offset.is_multiple_of(align), "{size} bytes at {offset} of {len}");
            base.wrapping_add(offset)
        };
        Ring {
            producer: at(offsets.producer, 4, 4).cast(),
            consumer: at(offsets.consumer, 4, 4).cast(),
            flags: at(offsets.flags, 4, 4).cast(),
            entries: at(offsets.desc, entries as usize * size_of::<T>(), 8).cast(),
            mask: entries - 1,
            _mapping: mapping,
        }
    }

    #[inline]
    fn producer(&self) -> &AtomicU32 {
        // SAFETY: inside the mapping and aligned (`new`), alive as long as it, and only ever
        // accessed atomically by us and the kernel.
        unsafe { &*self.producer }
    }

    #[inline]
    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { &*self.consumer }
    }

    #[inline]
    fn needs_wakeup(&self) -> bool {
        // SAFETY: as in `producer`.
        let flags = unsafe { &*self.flags };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    #[inline]
    fn entry(&self, index: u32) -> *mut T {
        self.entries.wrapping_add((index & self.mask) as usize)
    }
}

/// Our end of a ring that we write: fill, tx.
pub(super) struct Producer<T> {
    ring: Ring<T>,
    /// Where we write next; published or about to be.
    next: u32,
    /// How far the kernel had got when we last looked.
    taken: u32,
}

impl<T: Entry> Producer<T> {
    pub(super) fn new(
        mapping: Mapping,
        offsets: &libc::xdp_ring_offset,
        entries: u32,
    ) -> Producer<T> {
        Producer { ring: Ring::new(mapping, offsets, entries), next: 0, taken: 0 }
    }

    /// How many entries fit, at least; exact when fewer than `wanted`.
    #[inline]
    pub(super) fn room(&mut self, wanted: u32) -> u32 {
        let capacity = self.ring.mask + 1;
        let room = capacity - self.next.wrapping_sub(self.taken);
        if room >= wanted {
            return room;
        }
        capacity - self.next.wrapping_sub(self.taken())
    }

    /// Writes an entry, which the kernel sees after [`publish`](Self::publish).
    ///
    /// # Panics
    /// If there is no [`room`](Self::room) for it.
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        assert!(self.next.wrapping_sub(self.taken) <= self.ring.mask, "ring overfull");
        // SAFETY: the entry is inside the mapping (masked); it is neither published nor one the
        // kernel still has to take, so it is ours alone.
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }

    /// Hands what was written to the kernel.
    #[inline]
    pub(super) fn publish(&self) {
        // Release: the entries, and the frames they name, are written before the index is seen.
        self.ring.producer().store(self.next, Ordering::Release);
    }

    /// Where the next entry goes; runs freely.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// How far the kernel has got by now; runs freely.
    #[inline]
    pub(super) fn taken(&mut self) -> u32 {
        // Acquire: the kernel's reads of the entries happened before we write them anew.
        self.taken = self.ring.consumer().load(Ordering::Acquire);
        self.taken
    }

    /// What was written at an index, as long as it has not been written anew.
    #[inline]
    pub(super) fn written(&self, index: u32) -> T {
        // SAFETY: inside the mapping (masked); written by us before, and the kernel only reads it.
        unsafe { self.ring.entry(index).read() }
    }

    /// Takes back the last entry written, published or not. The kernel must not be looking: a tx
    /// ring in copy mode is read in our own system calls only.
    ///
    /// # Panics
    /// If the kernel has taken it.
    #[inline]
    pub(super) fn take_back(&mut self) -> T {
        let taken = self.taken();
        assert_ne!(self.next, taken, "nothing to take back");
        self.next = self.next.wrapping_sub(1);
        self.publish();
        self.written(self.next)
    }

    /// Whether the kernel sleeps and wants a system call to go on.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }
}

/// Our end of a ring that we read: completion, rx.
pub(super) struct Consumer<T> {
    ring: Ring<T>,
    /// What we read next.
    next: u32,
    /// How far the kernel had got when we last looked.
    written: u32,
}

impl<T: Entry> Consumer<T> {
    pub(super) fn new(
        mapping: Mapping,
        offsets: &libc::xdp_ring_offset,
        entries: u32,
    ) -> Consumer<T> {
        Consumer { ring: Ring::new(mapping, offsets, entries), next: 0, written: 0 }
    }

    /// How many entries wait, at least; exact when fewer than `wanted`.
    #[inline]
    pub(super) fn stock(&mut self, wanted: u32) -> u32 {
        let stock = self.written.wrapping_sub(self.next);
        if stock >= wanted {
            return stock;
        }
        // Acquire: the kernel's writes to the entries, and to the frames, happened before.
        self.written = self.ring.producer().load(Ordering::Acquire);
        self.written.wrapping_sub(self.next)
    }

    /// Reads an entry, which stays ours until [`release`](Self::release).
    ///
    /// # Panics
    /// If none is in [`stock`](Self::stock).
    #[inline]
    pub(super) fn pop(&mut self) -> T {
        assert_ne!(self.next, self.written, "ring empty");
        // SAFETY: inside the mapping (masked); the kernel has written it and does not again before
        // we release it; any bytes are a value (`Entry`).
        let entry = unsafe { self.ring.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        entry
    }

    /// Gives the entries read back to the kernel.
    #[inline]
    pub(super) fn release(&self) {
        // Release: our reads happened before the kernel writes there again.
        self.ring.consumer().store(self.next, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends of a ring in memory of our own: we play the kernel.
    fn ends(entries: u32) -> (Producer<u64>, Consumer<u64>) {
        let offsets = libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };
        let mapping = || Mapping::anonymous(192 + 8 * entries as usize, 1).unwrap();
        let producer = Producer::new(mapping(), &offsets, entries);
        let consumer = Consumer::new(mapping(), &offsets, entries);
        (producer, consumer)
    }

    /// What the kernel does: copies what was published from one ring to the other.
    fn carry(from: &Producer<u64>, to: &Consumer<u64>) {
        let published = from.ring.producer().load(Ordering::Acquire);
        let mut taken = from.ring.consumer().load(Ordering::Relaxed);
        let mut written = to.ring.producer().load(Ordering::Relaxed);
        let room = to.ring.mask + 1 - (written - to.ring.consumer().load(Ordering::Acquire));
        for _ in 0..room.min(published.wrapping_sub(taken)) {
            // SAFETY: both inside their mappings, and nobody else is at work.
            unsafe { to.ring.entry(written).write(from.ring.entry(taken).read()) };
            (taken, written) = (taken.wrapping_add(1), written.wrapping_add(1));
        }
        from.ring.consumer().store(taken, Ordering::Release);
        to.ring.producer().store(written, Ordering::Release);
    }

    #[test]
    fn entries_come_out_in_order_around_the_end() {
        let (mut producer, mut consumer) = ends(8);
        let (mut sent, mut got) = (0, 0);
        for round in 0..50 {
            let n = (round % 9).min(producer.room(8));
            for _ in 0..n {
                producer.push(sent);
                sent += 1;
            }
            assert_eq!(consumer.stock(1), 0, "not published");
            producer.publish();
            carry(&producer, &consumer);
            for _ in 0..consumer.stock(8) {
                assert_eq!(consumer.pop(), got);
                got += 1;
            }
            consumer.release();
        }
        assert!(sent > 100 && sent == got, "{sent} {got}");
    }

    #[test]
    fn a_full_ring_has_no_room_until_the_kernel_takes() {
        let (mut producer, consumer) = ends(4);
        (0..4).for_each(|entry| producer.push(entry));
        producer.publish();
        assert_eq!(producer.room(1), 0);
        assert_eq!(producer.take_back(), 3);
        assert_eq!((producer.room(1), producer.next()), (1, 3));
        carry(&producer, &consumer);
        assert_eq!((producer.taken(), producer.room(9)), (3, 4));
    }

    #[test]
    #[should_panic(expected = "ring overfull")]
    fn a_fifth_entry_in_a_ring_of_four_panics() {
        let (mut producer, _) = ends(4);
        (0..5).for_each(|entry| producer.push(entry));
    }

    #[test]
    #[should_panic(expected = "ring empty")]
    fn an_empty_ring_has_nothing_to_read() {
        ends(4).1.pop();
    }

    #[test]
    #[should_panic(expected = "bytes at")]
    fn a_ring_lies_inside_its_mapping() {
        let offsets = libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 4096 };
        let _: Producer<u64> = Producer::new(Mapping::anonymous(4096, 1).unwrap(), &offsets, 8);
    }
}
