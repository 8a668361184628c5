//! Wake-ups of a thread that waits for frames: its ports' descriptors, or another thread.
//!
//! ```text
//!  sleeper:  set ─► look once more, nothing ─► sleep: poll(descriptors, event) ─► awake
//!  others:   hand something over ─► ring ─── asleep? ─── write the event ───┘
//! ```
//!
//! Whoever rings does so *after* handing over; the sleeper looks *after* setting the alarm: whatever
//! the order of the two, either the look finds it or the ring wakes. Ringing somebody who is awake
//! costs a fence and a look at one word, no system call.
//!
//! Never keeps a descriptor that is not its own; never sleeps longer than it is told.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

/// An alarm: the sleeper has one copy, those who wake it have others.
#[derive(Clone, Debug)]
pub struct Alarm(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    set: AtomicBool,
    event: OwnedFd,
}

/// An interface that is gone lets every wait end at once; then this long is waited without it.
const BESIDE_ERRORS: Duration = Duration::from_millis(10);

impl Alarm {
    /// A new one, not set.
    ///
    /// # Errors
    /// The process has no descriptors left.
    pub fn new() -> io::Result<Alarm> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Alarm(Arc::new(Shared { set: AtomicBool::new(false), event })))
    }

    /// The sleeper is going to sleep: from now on whoever hands it something wakes it. It looks
    /// once more itself before it does.
    pub fn set(&self) {
        self.0.set.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// It is not.
    pub fn unset(&self) {
        self.0.set.store(false, Ordering::Relaxed);
    }

    /// Whether it is.
    pub fn is_set(&self) -> bool {
        self.0.set.load(Ordering::Relaxed)
    }

    /// Wakes the sleeper if it sleeps, or is about to.
    #[inline]
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.is_set() && self.0.set.swap(false, Ordering::Relaxed) {
            self.shout();
        }
    }

    /// Wakes the sleeper, or lets its next sleep end at once.
    #[cold]
    pub fn shout(&self) {
        // It fails only when the event is written already.
        let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
    }

    /// Sleeps until somebody rings, one of the descriptors can be read from, or this long; then it
    /// is not set any more.
    pub fn sleep(&self, descriptors: &[BorrowedFd<'_>], at_most: Duration) {
        let mut fds = vec![PollFd::new(&self.0.event, PollFlags::IN)];
        fds.extend(descriptors.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let woken = wait(&mut fds, at_most);
        let nothing = fds.iter().all(|fd| !fd.revents().contains(PollFlags::IN));
        if woken && nothing {
            // What went wrong is told once; its port, or whoever watches the interface, says so.
            for fd in descriptors {
                let _ = rustix::net::sockopt::socket_error(fd);
            }
            wait(&mut fds[..1], at_most.min(BESIDE_ERRORS));
        }
        let rung = fds[0].revents().contains(PollFlags::IN);
        self.unset();
        if rung {
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.0.event, &mut count);
        }
    }
}

/// Whether anything has happened to them within this time.
fn wait(fds: &mut [PollFd<'_>], at_most: Duration) -> bool {
    let time = Timespec::try_from(at_most).ok();
    match poll(fds, time.as_ref()) {
        Ok(n) => n > 0,
        Err(Errno::INTR) => false,
        // Not for want of trying: sleep all the same, or a lack of memory would take the processor.
        Err(_) => {
            std::thread::sleep(at_most.min(BESIDE_ERRORS));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicU64;

    const LONG: Duration = Duration::from_secs(60);

    /// However the two meet, the sleeper does not miss a number: it would sleep for a minute.
    #[test]
    fn whoever_hands_over_wakes() {
        let (alarm, handed) = (Alarm::new().unwrap(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=20_000 {
                    handed.store(n, Ordering::Relaxed);
                    alarm.ring();
                    if n % 64 == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            while handed.load(Ordering::Relaxed) < 20_000 {
                alarm.set();
                let before = handed.load(Ordering::Relaxed);
                if before < 20_000 {
                    alarm.sleep(&[], LONG);
                }
            }
        });
    }

    #[test]
    fn descriptors_and_time_end_it_and_errors_do_not_take_the_processor() {
        use std::io::Write;
        let alarm = Alarm::new().unwrap();
        let clock = crate::clock::Clock::start();
        let (mut a, b) = UnixStream::pair().unwrap();
        a.write_all(b"x").unwrap();
        alarm.sleep(&[b.as_fd()], LONG);
        let start = clock.now();
        alarm.sleep(&[a.as_fd()], Duration::from_millis(20));
        assert!(clock.now().since(start) >= Duration::from_millis(20));
        // A pipe that nobody reads from any more is one long error.
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let start = clock.now();
        for _ in 0..3 {
            alarm.sleep(&[writer.as_fd()], LONG);
        }
        let took = clock.now().since(start);
        assert!(took >= 3 * BESIDE_ERRORS && took < LONG, "{took:?}");
        alarm.shout();
        alarm.sleep(&[], LONG);
    }
}
