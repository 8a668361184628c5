//! Sending a replay.
//!
//! ```text
//!  Script ── due by now? ─► bytes ─► (this loop's addresses) ─► Returned: to come back
//!                             └─► batch of its port ─► port
//! ```
//!
//! As a sender of a stream: whatever is late is made up for, and nothing is left out; in virtual time a
//! frame waits until its wire is free.

use super::returned::Returned;
use super::script::Script;
use super::sides::Side;
use crate::send::Sent;
use port::{Batch, Pool, Port};
use wire::Moment;

/// Where one side of a replay is, and what it did.
#[derive(Clone, Copy, Debug, Default)]
struct Outlet {
    port: usize,
    /// Its way among those that are expected.
    way: usize,
    sent: Sent,
}

/// Sends a replay.
pub struct Player {
    script: Script,
    start: Moment,
    outlets: [Outlet; 2],
    /// How many frames are sent, and how many will be.
    n: u64,
    most: u64,
    /// When the next frame is due, or the wire free for it.
    next: Moment,
    /// When it is due.
    due: Moment,
    batches: [Batch; 2],
}

/// When nothing is due any more.
const NEVER: Moment = Moment::from_nanos(u64::MAX);

impl Player {
    /// A replay from `start` on, of so many frames at most; `ports` are the two sides', `ways` what
    /// [`Returned`] calls what they send.
    pub fn new(
        script: Script,
        start: Moment,
        most: u64,
        ports: [usize; 2],
        ways: [usize; 2],
    ) -> Player {
        let outlet = |side: Side| {
            let (port, way) = (ports[side.index()], ways[side.index()]);
            let intended = script.frames(side, most);
            Outlet { port, way, sent: Sent { intended, ..Sent::default() } }
        };
        let outlets = [Side::First, Side::Second].map(outlet);
        let (most, batches) = (script.total.min(most), [Batch::new(), Batch::new()]);
        let mut player =
            Player { script, start, outlets, n: 0, most, next: NEVER, due: NEVER, batches };
        player.plan_next();
        player
    }

    /// Whether everything was sent.
    pub fn is_done(&self) -> bool {
        self.n == self.most
    }

    /// When the next frame is due, or the wire free for it.
    pub fn next_due(&self) -> Moment {
        self.next
    }

    /// When the next frame is due, whether the wire is free or not.
    pub fn owes_since(&self) -> Moment {
        self.due
    }

    /// What a side did so far.
    pub fn sent(&self, side: Side) -> Sent {
        self.outlets[side.index()].sent
    }

    /// What both sides did so far.
    pub fn both(&self) -> [Sent; 2] {
        self.outlets.map(|outlet| outlet.sent)
    }

    /// When the last frame is due.
    pub fn last_due(&self) -> Moment {
        self.start + self.after(self.most.saturating_sub(1))
    }

    fn after(&self, k: u64) -> std::time::Duration {
        std::time::Duration::from_nanos(self.script.timetable.time_of(k))
    }

    fn plan_next(&mut self) {
        self.due = if self.is_done() { NEVER } else { self.start + self.after(self.n) };
        self.next = self.due;
    }

    /// Sends what is due, a batch at most, and says how many frames that were.
    ///
    /// # Panics
    /// If there is no such port, or no such way.
    #[inline]
    pub fn poll<P: Port>(
        &mut self,
        now: Moment,
        pool: &mut Pool,
        ports: &mut [P],
        returned: &mut Returned,
    ) -> usize {
        if now < self.next {
            return 0;
        }
        let mut sent = 0;
        while sent < Batch::CAPACITY && self.next <= now {
            let turn = self.n / self.script.cues.len() as u64;
            let cue = &self.script.cues[(self.n % self.script.cues.len() as u64) as usize];
            let outlet = &mut self.outlets[cue.side.index()];
            let start = ports[outlet.port].next_start();
            if let Some(start) = start.filter(|start| *start > now) {
                self.next = start;
                break;
            }
            let Some(mut frame) = pool.alloc(cue.bytes.len()) else {
                outlet.sent.starved += 1;
                break;
            };
            let bytes = pool.slab().bytes_mut(&mut frame);
            bytes.copy_from_slice(&cue.bytes);
            let again = turn > 0 && !self.script.steps.is_empty();
            let print = if again { self.script.renumber(bytes, turn) } else { cue.print };
            returned.expect(outlet.way, print, now);
            self.batches[cue.side.index()].push(frame);
            let late = now.since(self.next).as_nanos() as u64;
            outlet.sent.late_ns_max = outlet.sent.late_ns_max.max(late);
            if start.is_some() {
                let waited = now.since(self.due).as_nanos() as u64;
                outlet.sent.waited_ns_max = outlet.sent.waited_ns_max.max(waited);
            }
            outlet.sent.offered += 1;
            outlet.sent.first.get_or_insert(now);
            outlet.sent.last = now;
            self.n += 1;
            sent += 1;
            self.plan_next();
            if start.is_some() {
                // The next one begins when this one is over.
                break;
            }
        }
        for (outlet, batch) in self.outlets.iter_mut().zip(&mut self.batches) {
            if !batch.is_empty() {
                let port = &mut ports[outlet.port];
                let refused = port.refused();
                port.send(now, pool, batch);
                outlet.sent.refused += port.refused() - refused;
            }
        }
        sent
    }
}
