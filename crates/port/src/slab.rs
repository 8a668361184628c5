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
//! few cache sets (measured: +10 % in the routing loop). Slots for longer frames ([`Slots`]) are odd
//! multiples of 128 bytes for the same reason. Slabs of 2 MiB and more are advised to the kernel for
//! huge pages: one TLB entry then serves some 960 frames. Only pages that are touched cost memory,
//! and slots are handed out last freed first, so a large slab of which little is used is small.
//!
//! The mapping begins at a page, so that AF_XDP can take it for its UMEM: a slot is a chunk, or for
//! long slots several chunks ([`Slots::chunk`]).
//!
//! Dropping a `Frame` without [`Pool::free`] leaks its slot until the slab goes; tests compare
//! [`Slab::frames_out`] with what they hold.
//!
//! Missing: **one slab per NUMA node**, **slots of several lengths in one slab**.

// What is left to do to a frame.
mod offload;

use crate::mapping::Mapping;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes in front of a fresh frame, for headers that are added later (VLAN, PPPoE, tunnels).
pub const HEADROOM: u16 = 128;
/// The stride of ordinary slots.
pub const STRIDE: usize = 2176;
/// The most bytes a frame of an ordinary slot can hold with full headroom, and when AF_XDP has
/// filled it: the kernel leaves 256 bytes in front.
pub const MAX_FRAME: usize = STRIDE - RESERVED;

/// Bytes of a slot that the longest frame leaves free: our headroom and as much behind, or the
/// kernel's headroom before a received frame (`XDP_PACKET_HEADROOM`).
const RESERVED: usize = 2 * HEADROOM as usize;

/// The size of x86's and ARM's huge pages.
const HUGE: usize = 2 << 20;

/// Frames moved at once between a core's pool and the slab's shared list.
const REFILL: usize = 64;
/// Of a slab with fewer, pools may keep so many that its shared list says little.
const LEAST_SHORT: u32 = 1024;

/// A frame: the sole right to the bytes of one slot. Eight bytes; moved, never copied.
///
/// ```text
/// 63      56 55            54   32 31                16 15  0
/// | slab    | offload note | slot | begins in its slot | len |
/// ```
///
/// One number, not a field each: a frame whose length was stored alone and that is then moved whole
/// makes the processor wait for its store buffer, some ten nanoseconds for each tag on or off.
///
/// Invariant: `off + len` is at most the slab's stride; it is made with it, only `set_len` moves its
/// sum up, and that asks the frame's own slab.
#[derive(PartialEq, Eq)]
#[must_use = "a dropped frame leaks its slot: send it, queue it or free it"]
pub struct Frame(u64);

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Frame({:#x}: {} at {})", self.handle(), self.len(), self.off())
    }
}

impl Frame {
    /// The frame itself, of a place that is no longer used.
    #[inline(always)]
    pub(crate) const fn taken(&self) -> Frame {
        Frame(self.0)
    }

    #[inline(always)]
    const fn new(handle: u32, off: u16, len: u16) -> Frame {
        Frame((handle as u64) << 32 | (off as u64) << 16 | len as u64)
    }

    /// Slab in the top 8 bits, then whether there is an offload note, slot in the lower 23.
    #[inline(always)]
    fn handle(&self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Takes the frame out of memory that is used again; what stays there is no slab's, and to use it panics.
    #[inline(always)]
    pub fn take(&mut self) -> Frame {
        std::mem::replace(self, Frame::new(TAG_MASK, 0, 0))
    }

    /// Where in its slot the frame begins.
    #[inline(always)]
    fn off(&self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Length in bytes, without FCS.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        usize::from(self.0 as u16)
    }

    /// Cuts the frame to `len` bytes (padding and trailers come off).
    ///
    /// # Panics
    /// If the frame is shorter.
    #[inline(always)]
    pub fn truncate(&mut self, len: usize) {
        assert!(len <= self.len(), "truncate to {len} of {}", self.len());
        self.0 -= (self.len() - len) as u64;
    }

    /// Removes `n` bytes from the front (a header comes off).
    ///
    /// # Panics
    /// If the frame is shorter.
    #[inline(always)]
    pub fn pull(&mut self, n: usize) {
        assert!(n <= self.len(), "pull {n} of {}", self.len());
        // The beginning goes up, the length down.
        self.0 += n as u64 * 0xffff;
    }

    /// The slot's number in its slab: for tests, and for tables beside the slab.
    #[inline]
    pub fn slot(&self) -> u32 {
        self.handle() & SLOT_MASK
    }
}

const SLOT_MASK: u32 = 0x007f_ffff;
const OFFLOAD: u64 = 0x0080_0000 << 32;
const TAG_MASK: u32 = 0xff00_0000;

/// How long a slab's slots are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    stride: usize,
}

impl Slots {
    /// For frames of up to [`MAX_FRAME`] bytes: the usual ones.
    pub const STANDARD: Slots = Slots { stride: STRIDE };
    /// For jumbo frames, of up to 9856 bytes: MTU 9000, tags and tunnels.
    pub const JUMBO: Slots = Slots { stride: 79 * 128 };
    /// 2 KiB, a power of two, for AF_XDP drivers that take aligned chunks only: frames of up to
    /// 1792 bytes.
    pub const ALIGNED: Slots = Slots { stride: 2048 };

    /// The longest there are, for frames of up to 65,152 bytes.
    pub const LONGEST: Slots = Slots { stride: 511 * 128 };

    /// The shortest slots for frames of up to `max_frame` bytes; `None` beyond
    /// [`LONGEST`](Self::LONGEST)'s.
    pub fn holding(max_frame: usize) -> Option<Slots> {
        let lines = max_frame.checked_add(RESERVED)?.div_ceil(128) | 1;
        let stride = (lines * 128).max(STRIDE);
        (stride <= Slots::LONGEST.stride).then_some(Slots { stride })
    }

    /// The most bytes a frame can hold when it is made, and when AF_XDP receives it.
    pub const fn max_frame(self) -> usize {
        self.stride - RESERVED
    }

    /// From one slot's beginning to the next one's, in bytes.
    pub fn stride(self) -> usize {
        self.stride
    }

    /// What AF_XDP is to take for its chunk, in bytes, and whether chunks are aligned to their size
    /// (powers of two) or lie anywhere. A chunk is at most a page, so long slots are several.
    pub fn chunk(self) -> (usize, bool) {
        (self.stride.min(4096), self.stride.is_power_of_two() && self.stride <= 4096)
    }
}

/// A fixed number of frames in one mapping, shared by every core and port of a process.
#[derive(Clone)]
pub struct Slab {
    memory: Arc<Memory>,
}

struct Memory {
    mapping: Mapping,
    stride: usize,
    slots: u32,
    /// The slab's number, in the handle's place (top 8 bits).
    tag: u32,
    /// Slots that no pool and no frame holds.
    free: Mutex<Vec<u32>>,
    /// How many these were when the list was last changed: to be looked at without the lock.
    stock: AtomicU32,
}

// (`Memory` is `Sync`: the mapping is plain bytes, each slot reachable only through the one `Frame`
// that names it, and the free list is behind a mutex.)

/// The numbers of living slabs: a number is not used again while its slab lives.
static TAGS: Mutex<[u64; 4]> = Mutex::new([0, 0, 0, 1 << 63]);

/// No slab could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabError {
    /// 255 slabs live already.
    TooManySlabs,
    /// A slab holds 1 to 2²³ − 1 frames; this many were asked for.
    BadCount(usize),
    /// The system has not so many bytes, or does not allow them.
    NoMemory(usize),
}

impl std::fmt::Display for SlabError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SlabError::TooManySlabs => f.write_str("255 frame slabs live already; drop one first"),
            SlabError::BadCount(n) => {
                write!(f, "a frame slab holds 1 to {SLOT_MASK} frames, not {n}")
            }
            SlabError::NoMemory(bytes) => {
                let mega = bytes.div_ceil(1 << 20);
                write!(
                    f,
                    "there are no {mega} MiB of memory for frames: a limit (`ulimit -v`), or too little of it"
                )
            }
        }
    }
}

impl std::error::Error for SlabError {}

impl Slab {
    /// A slab of `frames` frames in ordinary slots.
    ///
    /// # Errors
    /// [`SlabError`].
    pub fn new(frames: usize) -> Result<Slab, SlabError> {
        Slab::with(frames, Slots::STANDARD)
    }

    /// A slab of `frames` frames in such slots.
    ///
    /// # Errors
    /// As [`new`](Slab::new).
    pub fn with(frames: usize, slots: Slots) -> Result<Slab, SlabError> {
        let stride = slots.stride;
        let slots = u32::try_from(frames).unwrap_or(u32::MAX);
        if slots == 0 || slots > SLOT_MASK {
            return Err(SlabError::BadCount(frames));
        }
        // Huge pages are 2 MiB, and only whole ones can be had.
        let size = frames.checked_mul(stride).ok_or(SlabError::BadCount(frames))?;
        let align = if size >= HUGE { HUGE } else { 4096 };
        let mapping = Mapping::anonymous(size, align).map_err(|_| SlabError::NoMemory(size))?;
        let tag = take_tag().ok_or(SlabError::TooManySlabs)?;
        // The first touch decides what pages there are, so the advice comes before it.
        #[cfg(all(target_os = "linux", not(miri)))]
        if align == HUGE {
            // SAFETY: the range is our own fresh mapping; the advice changes no contents, and
            // whether the kernel follows it does not matter.
            unsafe { libc::madvise(mapping.base().cast(), size, libc::MADV_HUGEPAGE) };
        }
        let free = Mutex::new((0..slots).rev().collect());
        let stock = AtomicU32::new(slots);
        let memory = Memory { mapping, stride, slots, tag: tag << 24, free, stock };
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

    /// Whether fewer than a quarter of the frames are left: then nothing should wait that need not,
    /// or ports have none to receive into. Never of slabs of fewer than 1024 frames.
    #[inline]
    pub fn is_short(&self) -> bool {
        let Memory { slots, stock, .. } = &*self.memory;
        *slots >= LEAST_SHORT && stock.load(Ordering::Relaxed) < slots / 4
    }

    /// How many frames there are.
    pub fn capacity(&self) -> usize {
        self.memory.slots as usize
    }

    /// How long their slots are.
    #[inline]
    pub fn slots(&self) -> Slots {
        Slots { stride: self.memory.stride }
    }

    /// The slots' memory, from a page's beginning on: its address and its length in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self) -> (*mut u8, usize) {
        (self.memory.mapping.base(), self.memory.slots as usize * self.memory.stride)
    }

    /// The frame in a slot that was taken from a pool of this slab.
    ///
    /// # Safety
    /// The slot is below the capacity, no other `Frame` names it, and nobody else (the kernel)
    /// reads or writes it any more.
    ///
    /// # Panics
    /// If the frame does not lie in the slot.
    #[cfg(target_os = "linux")]
    #[inline]
    pub(crate) unsafe fn frame(&self, slot: u32, off: usize, len: usize) -> Frame {
        assert!(off + len <= self.memory.stride, "{len} bytes at {off} of a slot");
        debug_assert!(slot < self.memory.slots);
        Frame::new(self.memory.tag | slot, off as u16, len as u16)
    }

    /// Where in the slab's memory the frame begins, in bytes.
    ///
    /// # Panics
    /// If the frame belongs to another slab.
    #[cfg(target_os = "linux")]
    #[inline]
    pub(crate) fn position(&self, frame: &Frame) -> u64 {
        self.check_ours(frame);
        frame.slot() as u64 * self.memory.stride as u64 + u64::from(frame.off())
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
        unsafe { std::slice::from_raw_parts(start, frame.len()) }
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
        unsafe { std::slice::from_raw_parts_mut(start, frame.len()) }
    }

    /// Asks the processor to fetch the frame's first cache line; of another slab's nothing useful.
    #[inline]
    pub fn prefetch(&self, frame: &Frame) {
        let memory = &*self.memory;
        let at = frame.slot() as usize * memory.stride + usize::from(frame.off());
        crate::prefetch::address(memory.mapping.base().wrapping_add(at));
    }

    /// Adds `n` bytes in front of the frame and returns whether there was headroom for them. Their
    /// contents are what was there before: write them all.
    #[inline]
    #[must_use]
    pub fn push(&self, frame: &mut Frame, n: usize) -> bool {
        let kept = if frame.has_offload() { offload::NOTE } else { 0 };
        if n + kept > usize::from(frame.off()) {
            return false;
        }
        frame.0 -= n as u64 * 0xffff;
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
        if len > self.memory.stride - usize::from(frame.off()) {
            return false;
        }
        frame.0 = frame.0 & !0xffff | len as u64;
        true
    }

    #[inline(always)]
    fn start(&self, frame: &Frame) -> *mut u8 {
        self.check_ours(frame);
        let memory = &*self.memory;
        let at = frame.slot() as usize * memory.stride + usize::from(frame.off());
        // SAFETY: slots are below `slots`, and `off` is at most the stride, so the address lies in
        // the mapping or, for a frame of no bytes, at its end.
        unsafe { memory.mapping.base().add(at) }
    }

    #[inline(always)]
    fn check_ours(&self, frame: &Frame) {
        if frame.handle() & TAG_MASK != self.memory.tag {
            of_another(frame);
        }
    }
}

/// Out of line, so that what looks is small.
#[cold]
#[inline(never)]
fn of_another(frame: &Frame) -> ! {
    panic!("a frame of another slab: {frame:?}");
}

impl Memory {
    fn free(&self) -> std::sync::MutexGuard<'_, Vec<u32>> {
        // A list of numbers is whole after a panic elsewhere.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list has been changed, and is locked still.
    fn took_stock(&self, free: &[u32]) {
        self.stock.store(free.len() as u32, Ordering::Relaxed);
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
    /// when the slab is exhausted or `len` exceeds [`Slots::max_frame`].
    #[inline]
    pub fn alloc(&mut self, len: usize) -> Option<Frame> {
        if len > self.slab.slots().max_frame() {
            return None;
        }
        let slot = self.take()?;
        Some(Frame::new(self.slab.memory.tag | slot, HEADROOM, len as u16))
    }

    /// Takes a free slot out, to be given to the kernel.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        match self.cache.pop() {
            Some(slot) => Some(slot),
            None => self.refill(),
        }
    }

    /// Gives a frame back.
    ///
    /// # Panics
    /// If it belongs to another slab.
    #[inline]
    #[allow(clippy::needless_pass_by_value)] // taking it is the point
    pub fn free(&mut self, frame: Frame) {
        self.slab.check_ours(&frame);
        self.put(frame.slot());
    }

    /// Gives a slot back that is this slab's and nobody's any more.
    #[inline]
    pub(crate) fn put(&mut self, slot: u32) {
        if self.cache.len() == 2 * REFILL {
            self.spill(REFILL);
        }
        self.cache.push(slot);
    }

    #[cold]
    fn refill(&mut self) -> Option<u32> {
        let mut free = self.slab.memory.free();
        let from = free.len().saturating_sub(REFILL);
        self.cache.extend(free.drain(from..));
        self.slab.memory.took_stock(&free);
        self.cache.pop()
    }

    #[cold]
    fn spill(&mut self, n: usize) {
        let from = self.cache.len() - n;
        let mut free = self.slab.memory.free();
        free.extend(self.cache.drain(from..));
        self.slab.memory.took_stock(&free);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.spill(self.cache.len());
    }
}

#[cfg(test)]
mod tests;
