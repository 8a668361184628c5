//! The frame slab: all frames of a device in one contiguous mapping, named by `u32` handles.
//!
//! ```text
//! | stride 2176                                   | stride …
//! | headroom 128 | frame bytes … up to 1920 …      | headroom …
//! ^ handle       ^ off                ^ off + len
//! ```
//!
//! A [`Frame`] is the right to one slot: it is neither `Copy` nor `Clone`, so whoever holds it is
//! alone with the bytes, on whatever core. That one fact makes this module's `unsafe` sound; the
//! handle's top byte names the slab, so that a frame can never be used with another slab's memory.
//!
//! The stride is 2 KiB plus 128 bytes: with exactly 2 KiB, every frame's headers fall into the same
//! few cache sets (measured: +10 % in the routing loop). Slabs of 2 MiB and more are advised to the
//! kernel for huge pages before they are touched first: one TLB entry then serves some 960 frames.
//!
//! Dropping a `Frame` without [`Pool::free`] leaks its slot until the slab goes; tests compare
//! [`Slab::frames_out`] with what they hold.
//!
//! Missing: **a stride of 2048**, which AF_XDP's aligned mode needs (its unaligned mode takes
//! 2176), **frames longer than a slot** (jumbo), **one slab per NUMA node**.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes in front of a fresh frame, for headers that are added later (VLAN, PPPoE, tunnels).
pub const HEADROOM: u16 = 128;
/// The stride of slabs in ordinary memory.
pub const STRIDE: usize = 2176;
/// The most bytes a frame can hold with full headroom and a 2 KiB slot.
pub const MAX_FRAME: usize = 2048 - HEADROOM as usize;

/// The size of x86's and ARM's huge pages.
const HUGE: usize = 2 << 20;

/// Frames moved at once between a core's pool and the slab's shared list.
const REFILL: usize = 64;

/// A frame: the sole right to the bytes of one slot. Eight bytes; moved, never copied.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a dropped frame leaks its slot: send it, queue it or free it"]
pub struct Frame {
    /// Slab in the top 8 bits, slot in the lower 24.
    handle: u32,
    /// Where in its slot the frame begins. Invariant: `off + len` is at most the slab's stride;
    /// it is made with it, only `set_len` moves its sum up, and that asks the frame's own slab.
    off: u16,
    len: u16,
}

impl Frame {
    /// Length in bytes, without FCS.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Cuts the frame to `len` bytes (padding and trailers come off).
    ///
    /// # Panics
    /// If the frame is shorter.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.len(), "truncate to {len} of {}", self.len);
        self.len = len as u16;
    }

    /// Removes `n` bytes from the front (a header comes off).
    ///
    /// # Panics
    /// If the frame is shorter.
    #[inline]
    pub fn pull(&mut self, n: usize) {
        assert!(n <= self.len(), "pull {n} of {}", self.len);
        self.off += n as u16;
        self.len -= n as u16;
    }

    /// The slot's number in its slab: for tests, and for tables beside the slab.
    #[inline]
    pub fn slot(&self) -> u32 {
        self.handle & SLOT_MASK
    }
}

const SLOT_MASK: u32 = 0x00ff_ffff;

/// A fixed number of frames in one mapping, shared by every core and port of a process.
#[derive(Clone)]
pub struct Slab {
    memory: Arc<Memory>,
}

struct Memory {
    base: NonNull<u8>,
    layout: Layout,
    stride: usize,
    slots: u32,
    /// The slab's number, in the handle's place (top 8 bits).
    tag: u32,
    /// Slots that no pool and no frame holds.
    free: Mutex<Vec<u32>>,
}

// SAFETY: the mapping is plain bytes; each slot is reachable only through the one `Frame` that
// names it, and the free list is behind a mutex.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// The numbers of living slabs: a number is not used again while its slab lives.
static TAGS: Mutex<[u64; 4]> = Mutex::new([0; 4]);

/// No slab could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabError {
    /// 256 slabs live already.
    TooManySlabs,
    /// A slab holds 1 to 2²⁴ − 1 frames; this many were asked for.
    BadCount(usize),
}

impl std::fmt::Display for SlabError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SlabError::TooManySlabs => f.write_str("256 frame slabs live already; drop one first"),
            SlabError::BadCount(n) => {
                write!(f, "a frame slab holds 1 to {SLOT_MASK} frames, not {n}")
            }
        }
    }
}

impl std::error::Error for SlabError {}

impl Slab {
    /// A slab of `frames` frames with the default stride.
    ///
    /// # Errors
    /// [`SlabError`]; running out of memory aborts, as everywhere in Rust.
    pub fn new(frames: usize) -> Result<Slab, SlabError> {
        let slots = u32::try_from(frames).unwrap_or(u32::MAX);
        if slots == 0 || slots > SLOT_MASK {
            return Err(SlabError::BadCount(frames));
        }
        // Huge pages are 2 MiB, and only whole ones can be had.
        let size = frames.checked_mul(STRIDE).ok_or(SlabError::BadCount(frames))?;
        let align = if size >= HUGE { HUGE } else { 4096 };
        let layout =
            Layout::from_size_align(size, align).map_err(|_| SlabError::BadCount(frames))?;
        let tag = take_tag().ok_or(SlabError::TooManySlabs)?;
        // SAFETY: the layout's size is not zero.
        let base = unsafe { alloc(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        #[cfg(all(target_os = "linux", not(miri)))]
        if align == HUGE {
            // SAFETY: the range is our own fresh allocation; the advice changes no contents, and
            // whether the kernel follows it does not matter.
            unsafe { libc::madvise(base.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
        }
        // Not `alloc_zeroed`, which for this alignment zeroes at once: the first touch decides
        // what pages there are, so the advice must come before it.
        // SAFETY: `size` bytes were allocated.
        unsafe { base.as_ptr().write_bytes(0, size) };
        let free = Mutex::new((0..slots).rev().collect());
        let memory = Memory { base, layout, stride: STRIDE, slots, tag: tag << 24, free };
        Ok(Slab { memory: Arc::new(memory) })
    }

    /// A pool for one core.
    pub fn pool(&self) -> Pool {
        Pool { slab: self.clone(), cache: Vec::with_capacity(2 * REFILL) }
    }

    /// Frames that are neither in the shared list nor in a pool's cache that was dropped: those in
    /// use, and those that living pools keep for themselves (at most 128 each).
    pub fn frames_out(&self) -> usize {
        self.memory.slots as usize - self.memory.free().len()
    }

    /// How many frames there are.
    pub fn capacity(&self) -> usize {
        self.memory.slots as usize
    }

    /// The frame's bytes.
    ///
    /// # Panics
    /// If the frame belongs to another slab.
    #[inline]
    pub fn bytes<'a>(&'a self, frame: &'a Frame) -> &'a [u8] {
        let start = self.start(frame);
        // SAFETY: `start..start + len` lies inside the frame's slot (`Frame`'s invariant), the
        // bytes were initialised when the slab was made, and the shared borrow of the one `Frame`
        // that names the slot keeps writers away.
        unsafe { std::slice::from_raw_parts(start, usize::from(frame.len)) }
    }

    /// The frame's bytes, to be written.
    ///
    /// # Panics
    /// If the frame belongs to another slab.
    #[inline]
    #[allow(clippy::mut_from_ref)] // the exclusive borrow is the frame's, not the slab's
    pub fn bytes_mut<'a>(&'a self, frame: &'a mut Frame) -> &'a mut [u8] {
        let start = self.start(frame);
        // SAFETY: as in `bytes`, and the exclusive borrow of the `Frame` keeps everybody away.
        unsafe { std::slice::from_raw_parts_mut(start, usize::from(frame.len)) }
    }

    /// Asks the processor to fetch the frame's first cache line.
    #[inline]
    pub fn prefetch(&self, frame: &Frame) {
        crate::prefetch::address(self.start(frame));
    }

    /// Adds `n` bytes in front of the frame and returns whether there was headroom for them. Their
    /// contents are what was there before: write them all.
    #[inline]
    #[must_use]
    pub fn push(&self, frame: &mut Frame, n: usize) -> bool {
        if n > usize::from(frame.off) {
            return false;
        }
        frame.off -= n as u16;
        frame.len += n as u16;
        true
    }

    /// Sets the frame's length, longer or shorter, and returns whether the slot has room for it.
    /// Bytes beyond the old length are what was there before: write them all.
    ///
    /// # Panics
    /// If the frame belongs to another slab.
    #[inline]
    #[must_use]
    pub fn set_len(&self, frame: &mut Frame, len: usize) -> bool {
        self.check_ours(frame); // another slab's slots may be shorter than ours
        // Subtracted, not added: a length near `usize::MAX` must not wrap to a small sum.
        if len > self.memory.stride - usize::from(frame.off) {
            return false;
        }
        frame.len = len as u16;
        true
    }

    #[inline]
    fn start(&self, frame: &Frame) -> *mut u8 {
        self.check_ours(frame);
        let memory = &*self.memory;
        let at = frame.slot() as usize * memory.stride + usize::from(frame.off);
        // SAFETY: slots are below `slots`, and `off` is at most the stride, so the address lies in
        // the mapping or, for a frame of no bytes, at its end.
        unsafe { memory.base.as_ptr().add(at) }
    }

    #[inline]
    fn check_ours(&self, frame: &Frame) {
        let ours = frame.handle & !SLOT_MASK == self.memory.tag;
        assert!(ours, "a frame of another slab: {frame:?}");
    }
}

impl Memory {
    fn free(&self) -> std::sync::MutexGuard<'_, Vec<u32>> {
        // A list of numbers is whole after a panic elsewhere.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Frames may outlive their slab (nothing can be read through them then); the number is
        // given back only when none does, so that an old frame never meets a new slab.
        let home = self.free().len() == self.slots as usize;
        if home {
            let tag = (self.tag >> 24) as usize;
            let mut tags = TAGS.lock().unwrap_or_else(PoisonError::into_inner);
            tags[tag / 64] &= !(1 << (tag % 64));
        }
        // SAFETY: allocated with this layout in `Slab::new`; no slice outlives the slab.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

fn take_tag() -> Option<u32> {
    let mut tags = TAGS.lock().unwrap_or_else(PoisonError::into_inner);
    let word = tags.iter().position(|&word| word != u64::MAX)?;
    let bit = tags[word].trailing_ones();
    tags[word] |= 1 << bit;
    Some(word as u32 * 64 + bit)
}

/// One core's stock of free frames: a small cache of its own before the slab's shared list.
pub struct Pool {
    slab: Slab,
    cache: Vec<u32>,
}

impl Pool {
    /// The slab whose frames these are.
    #[inline]
    pub fn slab(&self) -> &Slab {
        &self.slab
    }

    /// How many free frames this pool keeps for itself.
    pub fn stock(&self) -> usize {
        self.cache.len()
    }

    /// A frame of `len` bytes with full headroom, its contents arbitrary (write them all); `None`
    /// when the slab is exhausted or `len` exceeds [`MAX_FRAME`].
    #[inline]
    pub fn alloc(&mut self, len: usize) -> Option<Frame> {
        if len > MAX_FRAME {
            return None;
        }
        let slot = match self.cache.pop() {
            Some(slot) => slot,
            None => self.refill()?,
        };
        Some(Frame { handle: self.slab.memory.tag | slot, off: HEADROOM, len: len as u16 })
    }

    /// Gives a frame back.
    ///
    /// # Panics
    /// If it belongs to another slab.
    #[inline]
    #[allow(clippy::needless_pass_by_value)] // taking it is the point
    pub fn free(&mut self, frame: Frame) {
        self.slab.check_ours(&frame);
        if self.cache.len() == 2 * REFILL {
            self.spill(REFILL);
        }
        self.cache.push(frame.slot());
    }

    #[cold]
    fn refill(&mut self) -> Option<u32> {
        let mut free = self.slab.memory.free();
        let from = free.len().saturating_sub(REFILL);
        self.cache.extend(free.drain(from..));
        self.cache.pop()
    }

    #[cold]
    fn spill(&mut self, n: usize) {
        let from = self.cache.len() - n;
        self.slab.memory.free().extend(self.cache.drain(from..));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.spill(self.cache.len());
    }
}

#[cfg(test)]
mod tests;
