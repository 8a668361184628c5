//! The allocator of a program with large tables: the system's, which is asked for huge pages for them.
//!
//! ```text
//! alloc, realloc ─► [ system ] ─► 4 MiB or more? in whole pages of 2 MiB, madvise(MADV_HUGEPAGE)
//! ```
//!
//! Memory that was written to before it was advised keeps its small pages. So large memory is always fresh:
//! the system's allocator must not take it from what was freed, nor grow a table where it stands.
//!
//! A table of a million entries that packets read here and there misses the TLB with each, and the walk
//! misses the caches: with pages of 2 MiB 25,000 full queues of fq_codel took 0.8 of the time, and look-ups
//! among a million queues 0.9. Where the system gives huge pages to everybody (`always`) this changes
//! nothing, where it gives none neither.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The allocator; a program says `#[global_allocator]` of one.
#[derive(Clone, Copy, Debug)]
pub struct Allocator;

/// Less is no large table.
const LARGE: usize = 4 << 20;

// SAFETY: all memory is the system's, whose promises are these; advice changes none of it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one that the system asks for.
        advised(unsafe { System.alloc(in_huge_pages(layout)) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE {
            keep_apart();
        }
        // SAFETY: the caller's promise is the one that the system asks for.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size < LARGE {
            // SAFETY: the caller's promise is the one that the system asks for.
            return unsafe { System.realloc(at, layout, size) };
        }
        // SAFETY: the caller says that the layout is valid with this size, and that `at` has the old one. What is
        // new does not overlap it.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(at, size.min(layout.size()));
                self.dealloc(at, layout);
            }
            new
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the one that the system asks for.
        unsafe { System.dealloc(at, layout) }
    }
}

/// A huge page, on most machines.
const HUGE: usize = 2 << 20;

/// The layout that the system is asked for: of what is large one that begins with a huge page.
#[inline]
fn in_huge_pages(layout: Layout) -> Layout {
    if layout.size() < LARGE {
        return layout;
    }
    keep_apart();
    layout.align_to(HUGE).unwrap_or(layout)
}

/// Has the system's allocator map all that is large anew. By itself it does so only until such memory is
/// freed for the first time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[cold]
fn keep_apart() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if !ASKED.swap(true, Relaxed) {
        // SAFETY: it sets a parameter under the allocator's own lock, and allocates nothing.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE as libc::c_int);
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_apart() {}

/// Asks for huge pages for what is large.
#[inline]
fn advised(at: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE && !at.is_null() {
        advise(at, size);
    }
    at
}

#[cfg(target_os = "linux")]
#[cold]
fn advise(at: *mut u8, size: usize) {
    const PAGE: usize = 4096;
    let start = at.addr().next_multiple_of(PAGE);
    let end = (at.addr() + size) / PAGE * PAGE;
    // SAFETY: whole pages within an allocation of the caller's. It is advice: it changes no content, and
    // whether it is taken does not matter.
    unsafe {
        libc::madvise(at.with_addr(start).cast(), end - start, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The flags of the mapping that has an address.
    fn flags(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut has = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((from, to)) = range {
                let [from, to] = [from, to].map(|n| usize::from_str_radix(n, 16).unwrap_or(0));
                has = (from..to).contains(&address);
            } else if has && let Some(flags) = line.strip_prefix("VmFlags:") {
                return flags.to_string();
            }
        }
        String::new()
    }

    /// Large memory is advised, also what has grown large; small is not, and what is written stays.
    #[test]
    fn large_tables_are_advised() {
        let here = 0u8;
        if !flags((&raw const here).addr()).contains("rd") {
            println!("left out: no flags of mappings here");
            return;
        }
        for (first, then, advised) in
            [(64, 4096, false), (LARGE, LARGE, true), (1 << 20, 3 * LARGE, true)]
        {
            let layout = Layout::from_size_align(first, 16).unwrap();
            // SAFETY: the layouts have a size, and what is freed has the layout it got last.
            unsafe {
                let at = Allocator.alloc_zeroed(layout);
                assert!(!at.is_null());
                at.write(7);
                let at = Allocator.realloc(at, layout, then);
                assert_eq!((at.read(), at.add(first - 1).read()), (7, 0));
                at.add(then - 1).write(9);
                let flags = flags(at.addr() + then / 2);
                assert_eq!(flags.contains(" hg"), advised, "{then}: {flags}");
                Allocator.dealloc(at, Layout::from_size_align(then, 16).unwrap());
            }
        }
    }
}
