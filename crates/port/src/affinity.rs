//! Processor affinity of a thread, and whether it was left there: for those who measure time.
//!
//! ```text
//! allowed() ─► [0, 1, …] ─► pin(1): this thread stays on processor 1
//! ```
//!
//! Here and not in `lab`, which uses it, because the system calls need `unsafe`.
//! Missing: **other systems than Linux**, where nothing can be asked or pinned.

use std::io;
use std::time::Duration;

/// The processors this thread may run on, in order; empty where the system cannot say.
pub fn allowed() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: an all-zero `cpu_set_t` is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: `set` is ours and `size` bytes long; 0 is the calling thread.
        if unsafe { libc::sched_getaffinity(0, size, &raw mut set) } == 0 {
            // SAFETY: the numbers are below the set's size.
            let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
            return (0..libc::CPU_SETSIZE as usize).filter(has).collect();
        }
    }
    Vec::new()
}

/// Keeps this thread on one processor from now on.
///
/// # Errors
/// What the system says: there is no such processor, or it is not among the [`allowed`] ones.
pub fn pin(cpu: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        if cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: an all-zero `cpu_set_t` is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: `cpu` is below the set's size.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        // SAFETY: `set` is ours and as long as said; 0 is the calling thread.
        if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } != 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = cpu;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// How often the system has taken the processor away from this thread so far; `None` where it
/// does not say. A virtual machine's host can do so unseen.
pub fn interruptions() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all its fields are numbers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is ours; the call writes nothing else.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } == 0 {
            return u64::try_from(usage.ru_nivcsw).ok();
        }
    }
    None
}

/// How long this thread has had a processor so far, to the nanosecond; `None` where the system does not
/// say. Beside a steady clock it tells for how long others had it. What a virtual machine's host took is
/// not in it where the host says what it takes.
pub fn thread_time() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is ours; the call writes nothing else.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } == 0 {
            let seconds = u64::try_from(time.tv_sec).ok()?;
            return Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?));
        }
    }
    None
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_there_only() {
        let all = allowed();
        assert!(!all.is_empty());
        let last = all[all.len() - 1];
        let then = std::thread::spawn(move || pin(last).map(|()| allowed())).join().unwrap();
        assert_eq!(then.unwrap(), [last]);
        assert_eq!(allowed(), all, "other threads stay free");
        assert!(pin(usize::MAX).is_err() && pin(1023).is_err());
    }

    #[test]
    fn interruptions_are_counted() {
        let before = interruptions().unwrap();
        std::thread::yield_now(); // voluntary: does not count
        assert!(interruptions().unwrap() >= before);
    }

    /// It goes on while the thread works, and stands while it sleeps.
    #[test]
    fn a_thread_has_its_processor_only_while_it_works() {
        let before = thread_time().unwrap();
        while thread_time().unwrap() < before + Duration::from_millis(2) {}
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            let had = thread_time().unwrap();
            let _ = receive.recv();
            thread_time().unwrap() - had
        });
        let worked = thread_time().unwrap();
        while thread_time().unwrap() < worked + Duration::from_millis(20) {}
        drop(send);
        let slept = other.join().unwrap();
        assert!(slept < Duration::from_millis(10), "{slept:?} of a thread that slept");
    }
}
