//! The gate of a node on a thread: sessions get in between two breaths.
//!
//! ```text
//! node's thread:  breathe breathe breathe │ let one in │ breathe breathe …
//! session:                  wanted ───────► in, out ───┘
//! ```
//!
//! The node's thread keeps the lock while it breathes and looks at one flag between two breaths; a
//! session raises the flag and has the lock within a breath, some microseconds. Sessions wait for
//! each other outside, and after each one the node breathes at least once before the next comes in:
//! however many there are and whatever they do, forwarding goes on.
//!
//! Never fair among sessions, never bounded by what a session does inside: that is to be short.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// What a thread works on, and others look at.
pub struct Gate<T> {
    content: Mutex<T>,
    /// A session wants to come in.
    wanted: AtomicBool,
    /// How often the worker has had it.
    turns: AtomicU64,
    /// The worker sleeps, or is gone: nobody needs to wait for its turn.
    away: AtomicBool,
    /// Wakes the worker when a session has been in: it may have left something to do.
    wake: OnceLock<Wake>,
    /// Sessions come one at a time; the number of turns when the last one left.
    sessions: Mutex<u64>,
}

/// What ends a worker's sleep, or the next one if it is not asleep yet.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// Who works behind a gate, on the thread that calls [`Gate::work`].
pub trait Work<T> {
    /// One turn; what comes after it.
    fn turn(&mut self, content: &mut T) -> Turn;

    /// Sleeps for at most this long, while the gate is open.
    fn sleep(&mut self, at_most: Duration) {
        thread::park_timeout(at_most);
    }

    /// What ends its sleep.
    fn wake(&self) -> Wake {
        let worker = thread::current();
        Box::new(move || worker.unpark())
    }
}

impl<T, F: FnMut(&mut T) -> Turn> Work<T> for F {
    #[inline]
    fn turn(&mut self, content: &mut T) -> Turn {
        self(content)
    }
}

impl<T> Gate<T> {
    /// Behind it is `content`, and no worker yet.
    pub fn new(content: T) -> Gate<T> {
        Gate {
            content: Mutex::new(content),
            wanted: AtomicBool::new(false),
            turns: AtomicU64::new(0),
            away: AtomicBool::new(true),
            wake: OnceLock::new(),
            sessions: Mutex::new(0),
        }
    }

    /// Lets a session have the content.
    pub fn enter<R>(&self, with: impl FnOnce(&mut T) -> R) -> R {
        // A session that panicked has left nothing half done that its own job did not own.
        let mut last = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spins = 0u32;
        while self.turns.load(Ordering::Acquire) == *last && !self.away.load(Ordering::Acquire) {
            wait(&mut spins);
        }
        self.wanted.store(true, Ordering::Release);
        let mut content = self.lock();
        self.wanted.store(false, Ordering::Release);
        let result = with(&mut content);
        *last = self.turns.load(Ordering::Acquire);
        drop(content);
        if let Some(wake) = self.wake.get().filter(|_| self.away.load(Ordering::Acquire)) {
            wake();
        }
        result
    }

    /// Lets the worker have it for as long as nobody else wants it and the worker says so; between
    /// two of its turns sessions may come in.
    pub fn work(&self, turn: impl FnMut(&mut T) -> Turn) {
        self.work_as(turn);
    }

    /// The same, of a worker that has its own way to sleep.
    pub fn work_as(&self, mut worker: impl Work<T>) {
        self.wake.get_or_init(|| worker.wake());
        loop {
            self.away.store(false, Ordering::Release);
            let mut content = self.lock();
            let next = loop {
                let next = worker.turn(&mut content);
                self.turns.fetch_add(1, Ordering::Release);
                if next != Turn::Again || self.wanted.load(Ordering::Relaxed) {
                    break next;
                }
            };
            if next != Turn::Again {
                self.away.store(true, Ordering::Release);
            }
            drop(content);
            match next {
                Turn::Again => {
                    // Until the session is in: the lock itself does not say whose turn it is.
                    let mut spins = 0;
                    while self.wanted.load(Ordering::Acquire) {
                        wait(&mut spins);
                    }
                }
                Turn::Sleep(Duration::ZERO) => thread::yield_now(),
                Turn::Sleep(time) => worker.sleep(time),
                Turn::End => return,
            }
        }
    }

    /// The worker will not come back: it panicked.
    pub fn close(&self) {
        self.away.store(true, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Another turn.
    Again,
    /// Another turn after this time, or when it is unparked; meanwhile the gate is open.
    Sleep(Duration),
    /// Nothing.
    End,
}

/// Spins for some microseconds, then lets others have the processor: the one waited for may need it.
fn wait(spins: &mut u32) {
    *spins += 1;
    if *spins < 200 {
        std::hint::spin_loop();
    } else {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// The worker and four sessions each count; nobody is lost, and between two sessions there is
    /// always a turn of the worker, while it works.
    #[test]
    fn sessions_and_worker_take_turns() {
        #[derive(Default)]
        struct Content {
            turns: u64,
            visits: u64,
            visited: bool,
            twice: u64,
            stop: bool,
        }
        let gate = Arc::new(Gate::new(Content::default()));
        let worker = thread::spawn({
            let gate = gate.clone();
            move || {
                gate.work(|content| {
                    content.turns += 1;
                    content.visited = false;
                    if content.stop { Turn::End } else { Turn::Again }
                });
            }
        });
        while gate.enter(|content| content.turns) == 0 {
            thread::yield_now();
        }
        let sessions = [0; 4].map(|_| {
            let gate = gate.clone();
            thread::spawn(move || {
                for _ in 0..500 {
                    gate.enter(|content| {
                        content.visits += 1;
                        content.twice += u64::from(content.visited);
                        content.visited = true;
                    });
                }
            })
        });
        sessions.into_iter().for_each(|session| session.join().unwrap());
        gate.enter(|content| content.stop = true);
        worker.join().unwrap();
        // The worker is gone; the gate stays open.
        let content = gate.enter(|content| (content.visits, content.twice, content.turns));
        let (visits, twice, turns) = content;
        assert_eq!((visits, twice), (2000, 0), "after {turns} turns");
        assert!(turns >= 2000, "{turns}");
    }

    #[test]
    fn a_sleeping_worker_lets_everybody_in() {
        let gate = Arc::new(Gate::new(0u64));
        let worker = thread::spawn({
            let gate = gate.clone();
            move || {
                let mut slept = false;
                gate.work(|_| {
                    let next = if slept { Turn::End } else { Turn::Sleep(Duration::from_secs(60)) };
                    slept = true;
                    next
                });
            }
        });
        for _ in 0..1000 {
            gate.enter(|n| *n += 1);
        }
        // It sleeps at some time, and a session wakes it.
        while !worker.is_finished() {
            gate.enter(|_| ());
            thread::yield_now();
        }
        assert_eq!(gate.enter(|n| *n), 1000);
    }

    #[test]
    fn a_session_that_panics_does_not_close_the_gate() {
        let gate = Arc::new(Gate::new(1));
        let session = gate.clone();
        assert!(thread::spawn(move || session.enter(|_| panic!("on purpose"))).join().is_err());
        assert_eq!(gate.enter(|n| *n), 1);
    }
}
