//! A port whose interface can be taken out and put in again while the router runs.
//!
//! ```text
//!  supervisor:  Jack::put(line) ──► exchange ──► HotPlug, on the thread that moves frames
//!                  old line ◄── exchange ◄──┘  at its next receive
//! ```
//!
//! A [`Line`] is the way to an interface, or to some of its queues. Without one nothing comes, and
//! what is sent is lost and counted. Counters go on where the line before has ended, which loses
//! some until it is closed: that the supervisor tells. Lines are made
//! and dropped by the supervisor, never here: that takes milliseconds.

use port::{Batch, Capabilities, Pool, Port, PortCounters};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::Moment;

/// The way to an interface.
pub type Line = Box<dyn Port + Send>;

/// The frames' side: a port.
pub(super) struct HotPlug {
    line: Option<Line>,
    jack: Arc<Jack>,
    /// What the lines before have counted, and what was lost without one.
    before: PortCounters,
    /// When the line is to be asked whether it is still of use.
    ask_at: Moment,
    deaf: bool,
    capabilities: Capabilities,
}

/// The supervisor's side.
#[derive(Default)]
pub(super) struct Jack {
    /// Something has been put in, or is otherwise to be looked at.
    changed: AtomicBool,
    exchange: Mutex<Exchange>,
    taken: Condvar,
    /// What lines lost when they had been taken out: `rx_drop`.
    lost: AtomicU64,
}

/// A line that was taken out, and its `rx_drop` then.
pub(super) struct Taken(pub(super) Line, u64);

#[derive(Default)]
struct Exchange {
    /// The line to be taken, or none.
    new: Option<Option<Line>>,
    old: Option<Taken>,
    deaf: bool,
    failure: Option<String>,
}

/// How often a line from which nothing comes is asked whether it still can.
const ASK: Duration = Duration::from_millis(20);

impl HotPlug {
    /// Without a line, and the supervisor's side of it.
    pub(super) fn new(capabilities: Capabilities) -> (HotPlug, Arc<Jack>) {
        let jack = Arc::new(Jack::default());
        let plug = HotPlug {
            line: None,
            jack: Arc::clone(&jack),
            before: PortCounters::default(),
            ask_at: Moment::ZERO,
            deaf: false,
            capabilities,
        };
        (plug, jack)
    }

    /// Whether there is a line.
    pub(super) fn has_line(&self) -> bool {
        self.line.is_some()
    }

    #[cold]
    fn exchange(&mut self) {
        self.jack.changed.store(false, Ordering::Relaxed);
        let mut exchange = self.jack.lock();
        self.deaf = exchange.deaf;
        let Some(new) = exchange.new.take() else { return };
        if let Some(old) = std::mem::replace(&mut self.line, new) {
            let counters = old.counters();
            self.before = [self.before, counters].into_iter().sum();
            exchange.old = Some(Taken(old, counters.rx_drop));
        }
        exchange.failure = None;
        drop(exchange);
        self.jack.taken.notify_all();
    }

    #[cold]
    fn ask(&mut self, now: Moment) {
        self.ask_at = now + ASK;
        if let Some(failure) = self.line.as_ref().and_then(Port::failure) {
            self.jack.lock().failure.get_or_insert(failure);
        }
    }
}

impl Port for HotPlug {
    #[inline]
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        if self.jack.changed.load(Ordering::Acquire) {
            self.exchange();
        }
        let Some(line) = &mut self.line else { return 0 };
        if self.deaf {
            // What is under way out goes on.
            line.send(now, pool, &mut Batch::new());
            return 0;
        }
        let received = line.receive(now, pool, batch);
        if received == 0 && now >= self.ask_at {
            self.ask(now);
        }
        received
    }

    #[inline]
    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        match &mut self.line {
            Some(line) => line.send(now, pool, batch),
            None => {
                self.before.tx_drop += batch.len() as u64;
                batch.free_all(pool);
            }
        }
    }

    fn counters(&self) -> PortCounters {
        let rx_drop = self.jack.lost.load(Ordering::Relaxed);
        let lost = PortCounters { rx_drop, ..PortCounters::default() };
        [self.before, lost].into_iter().chain(self.line.as_ref().map(Port::counters)).sum()
    }

    fn capabilities(&self) -> Capabilities {
        self.line.as_ref().map_or(self.capabilities, Port::capabilities)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let line = self.line.as_ref().filter(|_| !self.deaf);
        line.map_or(Vec::new(), Port::descriptors)
    }

    fn failure(&self) -> Option<String> {
        self.line.as_ref().and_then(Port::failure)
    }
}

impl Jack {
    /// Puts a line in the place of the one that is there, or none, and returns that one, once
    /// `wake` has made the plug's thread look. `None` as well if that thread is gone.
    pub(super) fn put(&self, new: Option<Line>, wake: impl Fn()) -> Option<Taken> {
        /// A thread that is longer than this within a breath has stopped.
        const PATIENCE: Duration = Duration::from_secs(2);
        let mut exchange = self.lock();
        exchange.new = Some(new);
        self.changed.store(true, Ordering::Release);
        wake();
        let waited = self.taken.wait_timeout_while(exchange, PATIENCE, |e| e.new.is_some());
        exchange = waited.unwrap_or_else(PoisonError::into_inner).0;
        exchange.old.take()
    }

    /// What a line that is closed now has lost since it was taken out counts here.
    pub(super) fn settle(&self, Taken(line, before): &Taken) {
        let lost = line.counters().rx_drop.saturating_sub(*before);
        self.lost.fetch_add(lost, Ordering::Relaxed);
    }

    /// From now on nothing is received.
    pub(super) fn deafen(&self) {
        self.lock().deaf = true;
        self.changed.store(true, Ordering::Release);
    }

    /// Why the line is of no use any more, if its plug has found that out.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::{MemoryPort, Slab, memory};

    fn frames(pool: &mut Pool, n: usize) -> Batch {
        let mut batch = Batch::new();
        (0..n).for_each(|_| batch.push(pool.alloc(60).unwrap()));
        batch
    }

    fn received(port: &mut impl Port, pool: &mut Pool) -> usize {
        let mut batch = Batch::new();
        let n = port.receive(Moment::ZERO, pool, &mut batch);
        batch.free_all(pool);
        n
    }

    #[test]
    fn lines_come_and_go_and_every_frame_is_counted() {
        let slab = Slab::new(1024).unwrap();
        let mut pool = slab.pool();
        let (mut plug, jack) = HotPlug::new(Capabilities::default());
        plug.send(Moment::ZERO, &mut pool, &mut frames(&mut slab.pool(), 3));
        let mut far: Option<MemoryPort> = None;
        for turn in 1..=3u64 {
            let (near, end) = memory::wire(64);
            let old = std::thread::scope(|scope| {
                let put = scope.spawn(|| jack.put(Some(Box::new(near)), || {}));
                while !put.is_finished() {
                    received(&mut plug, &mut pool);
                }
                put.join().unwrap()
            });
            assert_eq!(old.is_some(), turn > 1, "the one before comes back");
            let mut end = end;
            plug.send(Moment::ZERO, &mut pool, &mut frames(&mut slab.pool(), 5));
            end.send(Moment::ZERO, &mut pool, &mut frames(&mut slab.pool(), 2));
            assert_eq!((received(&mut plug, &mut pool), received(&mut end, &mut pool)), (2, 5));
            let counters = plug.counters();
            let seen = (counters.rx_packet, counters.tx_packet, counters.tx_drop);
            assert_eq!(seen, (2 * turn, 5 * turn, 3));
            far = Some(end);
        }
        jack.deafen();
        let mut far = far.unwrap();
        far.send(Moment::ZERO, &mut pool, &mut frames(&mut slab.pool(), 2));
        assert_eq!(received(&mut plug, &mut pool), 0, "deaf");
        plug.send(Moment::ZERO, &mut pool, &mut frames(&mut slab.pool(), 1));
        assert_eq!(received(&mut far, &mut pool), 1, "but not dumb");
    }
}
