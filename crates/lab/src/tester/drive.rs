//! The tester's thread of a trial in real time: tick, tick, until all is sent and nothing comes any
//! more, or the time for that is over.
//!
//! ```text
//!  senders, receiver ── tick ─► wires       raised interrupt: nothing more is sent from this tick on
//!        ▲                │
//!        └── the clock ◄──┘  two looks at it far apart: this thread stood still;
//!                            ticks that leave work undone: it has no time left
//! ```
//!
//! A trial whose load is beyond the tester is invalid long before its last frame is sent, at a tenth of
//! the rate after ten times as long: what is left of it then is not sent.
//!
//! Missing: **a thread for each direction**.

use super::Tester;
use super::task::{RESIDUAL, Task};
use crate::clock::Clock;
use measure::Sender;
use measure::procedure::Stop;
use measure::replay::Player;
use port::Port;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::Moment;

/// Thousands of hosts that speak TCP may keep two looks at the clock so far apart.
const TALK_GAP: Duration = Duration::from_millis(2);

/// Sending may take this much longer than the schedule, or a tenth of it: ten times what is too late.
const BEHIND: Duration = Duration::from_millis(100);

/// RFC 2544 §23 e: what is still under way when a trial is over is given so long to come, and is then the
/// load of no other.
const RESTABILISE: Duration = Duration::from_secs(5);

/// What a tester goes by.
pub(crate) struct Drive<'a> {
    pub(crate) clock: Clock,
    /// It listens on until nothing has come for so long, for two seconds at most (RFC 2544 §23 d).
    pub(crate) quiet: Duration,
    /// Raised when the user has had enough.
    pub(crate) interrupt: &'a AtomicBool,
    /// The device is to be started anew then: raised at that moment.
    pub(crate) reset: Option<(&'a AtomicBool, Moment)>,
    /// What the device may take to answer ARP.
    pub(crate) patience: Duration,
    /// Whether the system works for the wires on this processor.
    pub(crate) yields: bool,
    /// Two looks at the clock further apart than this: it stood still.
    pub(crate) gap: Duration,
}

impl Drive<'_> {
    /// Does all of a task.
    ///
    /// # Errors
    /// [`Stop::Interrupted`]: nothing more was sent, and what had been came, or had the time to.
    pub(crate) fn run<P: Port>(&self, tester: &mut Tester<P>, task: &mut Task) -> Result<(), Stop> {
        let ran = self.all(tester, task);
        if ran == Err(Stop::Interrupted) && task.talk.is_none() {
            self.gather(tester, task);
        }
        ran
    }

    /// What is under way when sending was interrupted is no loss.
    fn gather<P: Port>(&self, tester: &mut Tester<P>, task: &mut Task) {
        let mut now = self.clock.now();
        let (mut last, end) = (now, now);
        while !task.is_back() && now.since(last) < self.quiet && now.since(end) < RESIDUAL {
            if tester.receive(now, task) > 0 {
                last = now;
            }
            now = self.clock.now();
        }
    }

    fn all<P: Port>(&self, tester: &mut Tester<P>, task: &mut Task) -> Result<(), Stop> {
        let mut reset = self.reset;
        let mut now = self.clock.now();
        // It was to begin by now.
        let played = task.players.iter().map(Player::next_due);
        let late = task.senders.iter().flatten().map(Sender::next_due).chain(played).min();
        task.conditions.stood_still += late.map_or(Duration::ZERO, |due| now.since(due));
        let played = task.players.iter().map(Player::last_due);
        let ends = task.senders.iter().flatten().map(Sender::ends).chain(played);
        let ends = ends.max().unwrap_or(now);
        let hopeless = match task.talk {
            None => ends + BEHIND.max(ends.since(now) / 10),
            Some(_) => Moment::from_nanos(u64::MAX), // connections last as long as they do
        };
        // Nothing to send: a while for what is asked and answered.
        let until = now + self.patience;
        let nothing = task.senders.is_empty();
        while if nothing { now < until } else { !task.is_done(now) && now < hopeless } {
            self.tick(now, tester, task)?;
            if let Some((raised, _)) = reset.filter(|(_, at)| now >= *at) {
                raised.store(true, Ordering::Relaxed);
                reset = None;
            }
            let then = self.look(now, task);
            if task.talk.is_none() {
                let busy = task.conditions.busy.get_or_insert_default();
                busy.tick(then.since(now), tester.is_behind());
            }
            now = then;
        }
        // What is still under way.
        let (mut last, end) = (now, now);
        let most = 10 * self.quiet;
        let most = if task.until_quiet { most } else { most.min(RESIDUAL) };
        while !task.is_back() && now.since(last) < self.quiet && now.since(end) < most {
            if self.tick(now, tester, task)? > 0 {
                last = now;
            }
            now = self.look(now, task);
        }
        if task.is_back() || now.since(last) >= self.quiet {
            return Ok(());
        }
        task.close();
        let (end, most) = (now, (10 * self.quiet).min(RESTABILISE));
        while now.since(last) < self.quiet && now.since(end) < most {
            if self.tick(now, tester, task)? > 0 {
                last = now;
            }
            now = self.clock.now();
        }
        Ok(())
    }

    /// The time; if it is long since the last, that is noted.
    #[inline]
    fn look(&self, last: Moment, task: &mut Task) -> Moment {
        if self.yields {
            std::thread::yield_now();
        }
        let now = self.clock.now();
        let since = now.since(last);
        let gap = if task.talk.is_some() { self.gap.max(TALK_GAP) } else { self.gap };
        if since > gap {
            task.conditions.stood_still += since;
        }
        now
    }

    #[inline]
    fn tick<P: Port>(
        &self,
        now: Moment,
        tester: &mut Tester<P>,
        task: &mut Task,
    ) -> Result<usize, Stop> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        if task.talk.is_some() {
            return Ok(tester.tick(now, task));
        }
        let received = tester.receive(now, task);
        // What is received takes a while: a frame is as old as it is when it goes out.
        tester.send(if received > 0 { self.clock.now() } else { now }, task);
        Ok(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::frames::stream;
    use crate::suite::plan::{self, Allowed};
    use measure::Pace;
    use measure::schedule::{Load, Schedule};
    use port::memory::MemoryPort;
    use port::{Batch, Pool, PortCounters, Slab};
    use std::sync::Arc;
    use wire::{FrameLen, PacketRate};

    /// A wire whose other end presses ctrl-C after so many frames, and counts those after it.
    struct Pressing {
        sent: u64,
        at: u64,
        after: u64,
        interrupt: Arc<AtomicBool>,
    }

    impl Port for Pressing {
        fn receive(&mut self, _: Moment, _: &mut Pool, _: &mut Batch) -> usize {
            0
        }

        fn send(&mut self, _: Moment, pool: &mut Pool, batch: &mut Batch) {
            if self.interrupt.load(Ordering::Relaxed) {
                self.after += batch.len() as u64;
            }
            self.sent += batch.len() as u64;
            batch.free_all(pool);
            if self.sent >= self.at {
                self.interrupt.store(true, Ordering::Relaxed);
            }
        }

        fn counters(&self) -> PortCounters {
            PortCounters::default()
        }
    }

    /// A wire that has no room for ARP, and brings nothing.
    #[derive(Default)]
    struct Narrow {
        counters: PortCounters,
    }

    impl Port for Narrow {
        fn receive(&mut self, _: Moment, _: &mut Pool, _: &mut Batch) -> usize {
            0
        }

        fn send(&mut self, _: Moment, pool: &mut Pool, batch: &mut Batch) {
            let is_arp = |bytes: &[u8]| bytes[12..14] == [8, 6];
            let frames = batch.as_slice().iter();
            let arp = frames.filter(|frame| is_arp(pool.slab().bytes(frame))).count() as u64;
            self.counters.tx_drop += arp;
            self.counters.tx_packet += batch.len() as u64 - arp;
            batch.free_all(pool);
        }

        fn counters(&self) -> PortCounters {
            self.counters
        }
    }

    /// ARP that found no room on the wire is not taken from the test frames that were sent.
    #[test]
    fn only_test_frames_that_were_refused_were_not_sent() {
        let plan = plan();
        let slab = Slab::new(1024).unwrap();
        let wires = vec![Narrow::default(), Narrow::default()];
        let mut tester = Tester::new(wires, &slab, plan.subnets());
        let (start, duration) = (Moment::from_nanos(1000), Duration::from_millis(1));
        let load = Load::Paced(Pace::of(PacketRate(1e5)).unwrap());
        let sender = |port: usize| {
            let stream = stream(&plan, port as u8, (port, 0), &FrameLen::MIN.into(), None).unwrap();
            vec![Sender::new(stream, Schedule { load, start, duration })]
        };
        let mut task = Task::new(start, vec![sender(0), sender(1)]);
        tester.begin(&mut task);
        for us in 0..1000 {
            tester.tick(start + Duration::from_micros(us), &mut task);
        }
        let counts = task.counts(&tester);
        assert_eq!((counts.intended, counts.sent), (200, 200), "{counts:?}");
        assert!(tester.wires.iter().all(|wire| wire.counters.tx_drop == 2));
        // Those that were refused were not sent.
        tester.wires[0].counters.tx_drop += 5;
        assert_eq!(task.counts(&tester).sent, 195);
    }

    fn plan() -> plan::Plan {
        let text = "name = \"x\"\n[device]\n[medium]\nlink = \"10G\"\n[traffic]\n\
                    frame-sizes = [64]\nflows = \"pair\"\n[[procedure]]\nkind = \"throughput\"\n";
        plan::read(text, Allowed::default()).unwrap()
    }

    /// Both ports of a tester at this rate for so long, and how that ends.
    fn run<P: Port>(
        wires: Vec<P>,
        interrupt: &AtomicBool,
        (rate, duration): (f64, Duration),
    ) -> (Result<(), Stop>, Tester<P>, Task) {
        let plan = plan();
        let slab = Slab::new(1024).unwrap();
        let mut tester = Tester::new(wires, &slab, vec![]);
        let clock = Clock::start();
        let (start, load) = (clock.now(), Load::Paced(Pace::of(PacketRate(rate)).unwrap()));
        let sender = |port: usize| {
            let stream = stream(&plan, port as u8, (port, 0), &FrameLen::MIN.into(), None).unwrap();
            vec![Sender::new(stream, Schedule { load, start, duration })]
        };
        let mut task = Task::new(start, vec![sender(0), sender(1)]);
        tester.begin(&mut task);
        let quiet = Duration::from_millis(1);
        let (patience, gap) = (Duration::ZERO, Duration::from_secs(1));
        let drive = Drive { clock, quiet, interrupt, reset: None, patience, yields: false, gap };
        (drive.run(&mut tester, &mut task), tester, task)
    }

    /// An hour's load is over with the tick that is under way: what other ports had due in it, a
    /// batch each at most, and nothing else.
    #[test]
    fn ctrl_c_ends_the_sending_with_the_tick() {
        let interrupt = Arc::new(AtomicBool::new(false));
        let wire = || Pressing { sent: 0, at: 5000, after: 0, interrupt: interrupt.clone() };
        let load = (1e6, Duration::from_secs(3600));
        let (ended, tester, task) = run(vec![wire(), wire()], &interrupt, load);
        assert_eq!(ended, Err(Stop::Interrupted));
        let sent: Vec<u64> = tester.wires.iter().map(|wire| wire.sent).collect();
        let after: u64 = tester.wires.iter().map(|wire| wire.after).sum();
        assert!(sent.iter().any(|&sent| (5000..5064).contains(&sent)), "{sent:?}");
        assert!(after <= 64, "{after} frames after ctrl-C");
        assert_eq!(task.sent(), sent.iter().sum::<u64>());
    }

    /// A cable that brings nothing until ctrl-C is pressed, after so many frames.
    struct Slow {
        cable: MemoryPort,
        at: u64,
        interrupt: Arc<AtomicBool>,
    }

    impl Port for Slow {
        fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
            match self.interrupt.load(Ordering::Relaxed) {
                true => self.cable.receive(now, pool, batch),
                false => 0,
            }
        }

        fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
            self.cable.send(now, pool, batch);
            if self.counters().tx_packet >= self.at {
                self.interrupt.store(true, Ordering::Relaxed);
            }
        }

        fn counters(&self) -> PortCounters {
            self.cable.counters()
        }
    }

    /// What was under way at ctrl-C is waited for, and no loss.
    #[test]
    fn what_is_under_way_at_ctrl_c_comes() {
        let interrupt = Arc::new(AtomicBool::new(false));
        let (a, b) = port::memory::wire(4096);
        let slow = |cable| Slow { cable, at: 500, interrupt: interrupt.clone() };
        let (ended, _, task) =
            run(vec![slow(a), slow(b)], &interrupt, (1e5, Duration::from_secs(3600)));
        assert_eq!(ended, Err(Stop::Interrupted));
        assert!(task.sent() >= 500);
        assert_eq!(task.received(), task.sent());
    }

    /// A hundred times what any tester sends: nearly all of it is not sent, and counted as intended.
    #[test]
    fn what_is_beyond_the_tester_is_not_sent_to_the_end() {
        let interrupt = Arc::new(AtomicBool::new(false));
        let wire = || Pressing { sent: 0, at: u64::MAX, after: 0, interrupt: interrupt.clone() };
        let load = (1e10, Duration::from_millis(10));
        let (ended, _, task) = run(vec![wire(), wire()], &interrupt, load);
        assert_eq!(ended, Ok(()));
        let sent = task.senders.iter().flatten().map(Sender::sent);
        let (intended, offered) =
            sent.fold((0, 0), |(a, b), sent| (a + sent.intended, b + sent.offered));
        assert_eq!(intended, 200_000_000);
        assert!(offered < intended, "{offered}");
    }
}
