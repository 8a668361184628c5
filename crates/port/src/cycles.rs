//! The processor's own counter: how much passed between two places in the code, for profiles.
//!
//! ```text
//! now() ─ work ─ now()   the difference is a share of other such differences, and nothing else
//! ```
//!
//! Not a clock: it has no epoch and no unit, and differs from machine to machine; nothing that
//! happens to a packet may depend on it. Some 20 to 40 cycles a reading, without a system call.

/// The reading now; `None` on processors whose counter this does not know.
pub const NOW: Option<fn() -> u64> = reading();

#[cfg(target_arch = "x86_64")]
const fn reading() -> Option<fn() -> u64> {
    // SAFETY: reading the time stamp counter touches no memory; every x86-64 has it.
    Some(|| unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(target_arch = "aarch64")]
const fn reading() -> Option<fn() -> u64> {
    Some(|| {
        let count: u64;
        // SAFETY: reading the virtual counter touches no memory; user space may read it on Linux.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        count
    })
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const fn reading() -> Option<fn() -> u64> {
    None
}

#[cfg(all(test, not(miri)))]
mod tests {
    #[test]
    fn goes_forward() {
        let Some(now) = super::NOW else { return };
        let first = now();
        assert!((0..1000).all(|_| now() >= first));
    }
}
