//! Telling the processor what will be read soon. A hint only: it never faults and changes nothing.

/// Asks for the cache line that holds `slice[index]`; an index out of range asks for nothing
/// useful and does no harm.
#[inline(always)]
pub fn element<T>(slice: &[T], index: usize) {
    address(slice.as_ptr().wrapping_add(index));
}

/// The same of the first `lines` cache lines of `slice[index]`.
#[inline(always)]
pub fn lines<T>(slice: &[T], index: usize, lines: usize) {
    let start = slice.as_ptr().wrapping_add(index).cast::<u8>();
    for line in 0..lines {
        address(start.wrapping_add(64 * line));
    }
}

/// Asks for the cache line at `address`.
#[inline(always)]
pub(crate) fn address<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not access memory architecturally; any address is allowed.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
