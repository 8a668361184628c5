//! Memory mapped from the system: pages of our own, or what a driver shares with us.
//!
//! ```text
//! anonymous(len, align)   zeroes; a page costs nothing before it is touched
//! shared(fd, len, at)     a socket's rings, which the kernel reads and writes too
//! ```
//!
//! Unmapped when dropped. Never hands out references: who made the mapping knows who else writes it.

use std::io;
use std::ptr::NonNull;

/// A mapping, which is ours until it is dropped.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is an address and a length; what is done with the bytes is its user's matter.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Zeroed memory whose address is a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// The system has no such memory.
    pub(crate) fn anonymous(len: usize, align: usize) -> io::Result<Mapping> {
        // Pages are aligned to themselves; for more we take too much and give the rest back.
        let spare = if align > PAGE && !cfg!(miri) { align } else { 0 };
        let len = len.next_multiple_of(PAGE);
        let most = len.checked_add(spare).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let mut whole = Mapping::map(most, flags, -1, 0)?;
        if spare > 0 {
            let before = whole.base.as_ptr().align_offset(align);
            let start = whole.base.as_ptr();
            // SAFETY: the head `..before` and the tail `before + len..` are inside the mapping just
            // made, are whole pages, and nobody knows of them.
            unsafe {
                if before > 0 {
                    libc::munmap(start.cast(), before);
                }
                if spare > before {
                    libc::munmap(start.add(before + len).cast(), spare - before);
                }
                whole.base = NonNull::new_unchecked(start.add(before));
            }
            whole.len = len;
        }
        Ok(whole)
    }

    /// `len` bytes of what `fd` shares at `at`, present at once.
    ///
    /// # Errors
    /// The system's.
    #[cfg(target_os = "linux")]
    pub(crate) fn shared(
        fd: std::os::fd::BorrowedFd<'_>,
        len: usize,
        at: libc::off_t,
    ) -> io::Result<Mapping> {
        use std::os::fd::AsRawFd;
        Mapping::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), at)
    }

    fn map(len: usize, flags: libc::c_int, fd: i32, at: libc::off_t) -> io::Result<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the system's choice touches nothing there is.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd, at) };
        match NonNull::new(base) {
            Some(base) if base.as_ptr() != libc::MAP_FAILED => {
                Ok(Mapping { base: base.cast(), len })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Its first byte.
    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Its length in bytes, at least what was asked for.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and whoever used it is gone with us.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The smallest page there is; where pages are larger, the system rounds up.
const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_is_zero_aligned_and_ours() {
        for (len, align) in [(1, 1), (5000, 4096), (3 << 20, 2 << 20), (2 << 20, 2 << 20)] {
            let mapping = Mapping::anonymous(len, align).unwrap();
            assert!(mapping.len() >= len, "{} of {len}", mapping.len());
            if !cfg!(miri) {
                assert_eq!(mapping.base() as usize % align, 0, "{len} bytes at {align}");
            }
            // SAFETY: inside the mapping, which nobody else knows.
            let bytes = unsafe { std::slice::from_raw_parts_mut(mapping.base(), len) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(1);
        }
        assert!(Mapping::anonymous(usize::MAX / 2, 1).is_err());
    }
}
