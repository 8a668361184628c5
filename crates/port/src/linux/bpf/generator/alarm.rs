//! An alarm for one thread: it gets a system call back that would go on for long.
//!
//! ```text
//!  at(time) ─► timer ─► SIGURG to this thread, again and again ─┬─► the call returns EINTR
//!  all is sent (see `watch`) ─► SIGURG to this thread ──────────┘
//! ```
//!
//! A run over live frames ends by itself only after so many pages; when all is sent, or the time is
//! over, a signal is what ends it. SIGURG, because it does nothing where nobody waits for it: it is ignored unless
//! handled, and handled here by doing nothing.

use crate::linux::Unavailable;
use std::sync::Once;

/// A timer of the thread that made it, for that thread.
pub(super) struct Alarm(libc::timer_t);

const AGAIN_NS: u64 = 100_000_000;

extern "C" fn wake(_: libc::c_int) {}

impl Alarm {
    /// A timer that is not set.
    pub(super) fn new() -> Result<Alarm, Unavailable> {
        static HANDLED: Once = Once::new();
        HANDLED.call_once(|| {
            // SAFETY: zeroes are no handler, no flags, no signals.
            let mut is: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: only asks; `is` is ours.
            unsafe { libc::sigaction(libc::SIGURG, std::ptr::null(), &raw mut is) };
            if is.sa_sigaction == libc::SIG_DFL || is.sa_sigaction == libc::SIG_IGN {
                is.sa_sigaction = wake as extern "C" fn(libc::c_int) as usize;
                is.sa_flags = libc::SA_RESTART;
                // SAFETY: the handler does nothing, which is safe at any moment.
                unsafe { libc::sigaction(libc::SIGURG, &raw const is, std::ptr::null_mut()) };
            }
        });
        // SAFETY: zeroes are a valid value of this plain structure.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGURG;
        // SAFETY: no memory is involved.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = std::ptr::null_mut();
        // SAFETY: both are ours.
        match unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } {
            0 => Ok(Alarm(timer)),
            _ => Err(Unavailable::last("make a timer")),
        }
    }

    /// From this time on, until the alarm is dropped: again, because the first may come before the
    /// call is entered; not so soon that nothing could be sent in between.
    pub(super) fn at(&self, ns: u64) {
        let time = |ns: u64| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        let when = libc::itimerspec { it_value: time(ns.max(1)), it_interval: time(AGAIN_NS) };
        let absolute = libc::TIMER_ABSTIME;
        // SAFETY: the timer is ours; the old setting is not asked for. It fails for times that
        // are none only, and these are.
        unsafe { libc::timer_settime(self.0, absolute, &raw const when, std::ptr::null_mut()) };
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { libc::timer_delete(self.0) };
    }
}
