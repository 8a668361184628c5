//! Telling the processor what will be read soon. A hint only: it never faults and changes nothing.

/// Asks for `slice[index]`, all its cache lines; an index out of range asks for nothing useful and does
/// no harm.
#[inline(always)]
pub fn element<T>(slice: &[T], index: usize) {
    let (size, align) = (size_of::<T>(), align_of::<T>());
    let start = slice.as_ptr().wrapping_add(index).cast::<u8>();
    for at in (0..size).step_by(64) {
        address(start.wrapping_add(at));
    }
    // Of 40 bytes each, every third one ends in the next line; what is allocated begins at 16 bytes.
    let is_within = align >= 64 || size.is_power_of_two() && size <= 16;
    if !is_within {
        address(start.wrapping_add(size.saturating_sub(1)));
    }
}

/// Asks for these cache lines of `slice[index]`.
#[inline(always)]
pub fn lines<T>(slice: &[T], index: usize, lines: std::ops::Range<usize>) {
    let start = slice.as_ptr().wrapping_add(index).cast::<u8>();
    for line in lines {
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
