//! Lines for somebody who may have stopped reading.
//!
//! ```text
//!  say(line) ─► queue ─► thread ─► pipe, file, terminal ─► a reader, perhaps
//!     │          └ full: lost, counted
//!     └ returns at once, whatever the reader does          gone: lost, counted
//! ```
//!
//! Whoever says something here must go on: the router's keeper follows links whether or not its
//! messages are read. So nothing here blocks but the thread, and nothing panics. What was lost is said
//! in its place, as soon as something can be said again.
//!
//! Never ends its thread: one that hangs in a write ends with the process.

use rustix::event::{PollFd, PollFlags, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A way out for lines. Copies are of the same way.
#[derive(Clone)]
pub struct Outlet(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    /// Something is in the queue, or nothing is left to be written.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Entry>,
    /// The thread has taken something, and is at it.
    writing: bool,
    lost: u64,
}

enum Entry {
    Line(String),
    /// So many lines found no room here.
    Lost(u64),
}

/// How many lines may wait.
const MOST: usize = 1024;

impl Outlet {
    /// Lines go to what this descriptor leads to: `stderr()`, `stdout()`.
    ///
    /// # Errors
    /// The process has no descriptors left, or no threads.
    pub fn to(descriptor: BorrowedFd<'_>) -> io::Result<Outlet> {
        // A copy of our own: nobody waits for a lock that a write which hangs would hold.
        let file = File::from(descriptor.try_clone_to_owned()?);
        let queue = Mutex::new(Queue::default());
        let shared = Arc::new(Shared { queue, changed: Condvar::new() });
        let outlet = Outlet(Arc::clone(&shared));
        thread::Builder::new().name("outlet".to_string()).spawn(move || shared.write(&file))?;
        Ok(outlet)
    }

    /// Says a line, now or when those before it have been read.
    pub fn say(&self, line: &str) {
        let mut queue = self.0.lock();
        if queue.waiting.len() < MOST {
            queue.waiting.push_back(Entry::Line(format!("{line}\n")));
        } else {
            queue.lost += 1;
            match queue.waiting.back_mut() {
                Some(Entry::Lost(n)) => *n += 1,
                _ => queue.waiting.push_back(Entry::Lost(1)),
            }
        }
        drop(queue);
        self.0.changed.notify_all();
    }

    /// Waits until all has been written, at most this long; whether it has.
    pub fn finish(&self, at_most: Duration) -> bool {
        let busy = |queue: &mut Queue| queue.writing || !queue.waiting.is_empty();
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), at_most, busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// How many lines were lost so far, for want of room or of a reader.
    pub fn lost(&self) -> u64 {
        self.0.lock().lost
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn write(&self, mut to: &File) {
        // Lines that were lost and are not yet said to be.
        let mut unsaid = 0;
        loop {
            let mut queue = self.lock();
            queue.writing = false;
            self.changed.notify_all();
            let wait = self.changed.wait_while(queue, |queue| queue.waiting.is_empty());
            let mut queue = wait.unwrap_or_else(PoisonError::into_inner);
            let Some(entry) = queue.waiting.pop_front() else { continue };
            queue.writing = true;
            drop(queue);
            if let Entry::Lost(n) = entry {
                unsaid += n;
            }
            if unsaid > 0 {
                let lines = if unsaid == 1 { "line is" } else { "lines are" };
                let words = format!("({unsaid} {lines} missing here: nobody read)\n");
                if write_all(&mut to, words.as_bytes()).is_ok() {
                    unsaid = 0;
                }
            }
            if let Entry::Line(line) = entry
                && (unsaid > 0 || write_all(&mut to, line.as_bytes()).is_err())
            {
                unsaid += 1;
                self.lock().lost += 1;
            }
        }
    }
}

/// As the standard one; waits as well where the descriptor is set not to block.
fn write_all(to: &mut &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(&to.as_fd(), PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    const LONG: Duration = Duration::from_secs(60);

    /// Lines read, and lines said to be missing.
    fn account(from: impl io::Read) -> (u64, u64) {
        let (mut read, mut missing) = (0, 0);
        for line in BufReader::new(from).lines() {
            let line = line.unwrap();
            match line.strip_prefix('(').and_then(|rest| rest.split(' ').next()) {
                Some(n) => missing += n.parse::<u64>().unwrap(),
                None => read += 1,
            }
            if line == "the end" {
                break;
            }
        }
        (read, missing)
    }

    #[test]
    fn who_does_not_read_holds_up_nobody_and_is_told_later() {
        // As many as wait are more than a pipe holds.
        const LINES: u64 = 5_000;
        for blocks in [true, false] {
            let (reader, writer) = io::pipe().unwrap();
            rustix::io::ioctl_fionbio(&writer, !blocks).unwrap();
            let outlet = Outlet::to(writer.as_fd()).unwrap();
            (0..LINES).for_each(|n| outlet.say(&format!("line {n:01000}")));
            assert!(outlet.lost() > 0 && !outlet.finish(Duration::from_millis(1)));
            let reading = thread::spawn(move || account(reader));
            assert!(outlet.finish(LONG));
            outlet.say("the end");
            let (read, missing) = reading.join().unwrap();
            assert_eq!((read + missing, missing), (LINES + 1, outlet.lost()));
        }
    }

    #[test]
    fn a_reader_who_is_gone_is_no_reason_to_stop() {
        let (reader, writer) = io::pipe().unwrap();
        let outlet = Outlet::to(writer.as_fd()).unwrap();
        outlet.say("one");
        assert!(outlet.finish(LONG));
        assert_eq!(outlet.lost(), 0);
        drop(reader);
        // A program that another test starts has the reader until it begins.
        while outlet.lost() == 0 {
            outlet.say("into the void");
            assert!(outlet.finish(LONG));
        }
        let before = outlet.lost();
        (0..3).for_each(|_| outlet.say("into the void"));
        assert!(outlet.finish(LONG));
        assert_eq!(outlet.lost(), before + 3);
    }
}
