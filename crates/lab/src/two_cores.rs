//! Tester and device on a core each, memory wires between them, in real time.
//!
//! ```text
//!   core A: send, receive, count ══ wire 1 ══ core B: breathe, breathe, …
//!                                ══ wire 2 ══
//! ```
//!
//! Nothing is shared but the wires and the slab's spare frames. The wires drop what the device does
//! not take in time, so offered load is intended load. After the last frame the tester listens on
//! until nothing has come for a while (RFC 2544 §23 waits two seconds; memory needs less).
//!
//! The tester is measured in the same way with a [`Patch`] in the device's place: what no router
//! can exceed between these wires.

use crate::clock::Clock;
use crate::placement::Pair;
use crate::tester::Tester;
use measure::trial::{Conditions, Counts, since};
use measure::{Latency, Load, Pace, SelfTest, Sender, Trial};
use port::memory::MemoryPort;
use port::{Batch, Pool, Port, Slab, affinity};
use router::Router;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::{Moment, PacketRate};

/// What can stand between the wires.
pub trait Dut: Send {
    /// Receives from every port, forwards, sends; returns how many frames came in.
    fn breathe(&mut self, now: Moment, ports: &mut [MemoryPort]) -> usize;
}

impl Dut for Router {
    fn breathe(&mut self, now: Moment, ports: &mut [MemoryPort]) -> usize {
        Router::breathe(self, now, ports)
    }
}

/// No device at all: what comes in by one port goes out by the other, untouched.
pub struct Patch {
    pool: Pool,
    batch: Batch,
}

impl Patch {
    /// A patch for frames of this slab.
    pub fn new(slab: &Slab) -> Patch {
        Patch { pool: slab.pool(), batch: Batch::new() }
    }
}

impl Dut for Patch {
    fn breathe(&mut self, now: Moment, ports: &mut [MemoryPort]) -> usize {
        let mut received = 0;
        for from in 0..2 {
            received += ports[from].receive(now, &mut self.pool, &mut self.batch);
            ports[1 - from].send(now, &mut self.pool, &mut self.batch);
        }
        received
    }
}

/// A place to run trials at.
pub struct Bench<'a> {
    /// The device's ends of the wires.
    pub ports: &'a mut [MemoryPort],
    /// The tester.
    pub tester: &'a mut Tester,
    /// The device's clock.
    pub clock: Clock,
    /// The processors.
    pub pair: Pair,
}

/// What a trial gave.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The trial, judged as if the cores had not moved.
    pub trial: Trial,
    /// How long the device was busy: breaths in which frames came.
    pub worked: Duration,
    /// Of every frame received.
    pub latency: Option<Latency>,
    /// The lowest latency.
    pub latency_floor_ns: u64,
    counts: Counts,
    overrun: Duration,
}

impl Ran {
    /// The trial judged with the distance between the cores before and after.
    pub fn judge(&mut self, placement_ns: (u64, u64)) {
        let conditions = Conditions {
            overrun: self.overrun,
            placement_ns: Some(placement_ns),
            ..Conditions::default()
        };
        self.trial = Trial::judge(self.trial.duration, self.counts, &conditions);
    }
}

/// How long nothing must come after the last frame sent: longer than a busy machine takes the
/// device's processor away at a time.
const QUIET: Duration = Duration::from_millis(20);
/// And how long at most the tester listens.
const LISTEN: Duration = Duration::from_millis(200);

impl Bench<'_> {
    /// Runs one trial: at this rate (all streams together), or as fast as the tester can.
    ///
    /// # Errors
    /// A thread could not be pinned to its processor.
    pub fn trial(
        &mut self,
        dut: &mut impl Dut,
        rate: Option<PacketRate>,
        duration: Duration,
    ) -> io::Result<Ran> {
        let Bench { ports, tester, clock, pair } = self;
        let (clock, pair) = (*clock, *pair);
        let (ready, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let device = scope.spawn(|| {
                let pinned = affinity::pin(pair.device);
                ready.store(true, Ordering::Release);
                pinned.map(|()| work(dut, ports, clock, &stop))
            });
            let tester = scope.spawn(|| {
                let pinned = affinity::pin(pair.tester);
                while !ready.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                // The device breathes until it is told to stop, whatever happens here.
                let ran = pinned.map(|()| drive(tester, clock, rate, duration));
                stop.store(true, Ordering::Release);
                ran
            });
            match (tester.join(), device.join()) {
                (Ok(ran), Ok(worked)) => Ok(Ran { worked: worked?, ..ran? }),
                _ => Err(io::Error::other("a thread of the trial panicked")),
            }
        })
    }

    /// The tester alone, between the same wires.
    ///
    /// # Errors
    /// As for [`trial`](Self::trial).
    pub fn self_test(&mut self, duration: Duration) -> io::Result<SelfTest> {
        let Some(stream) = self.tester.streams.iter().flatten().next() else {
            return Err(io::Error::other("a tester without streams"));
        };
        let frame = stream.frame();
        let mut patch = Patch::new(self.tester.pool.slab());
        let ran = self.trial(&mut patch, None, duration)?;
        Ok(SelfTest {
            frame,
            highest: ran.trial.forwarding_rate(),
            latency_floor_ns: ran.latency_floor_ns,
            trial: ran.trial,
        })
    }
}

/// The device's thread: returns how long it was busy.
fn work(dut: &mut impl Dut, ports: &mut [MemoryPort], clock: Clock, stop: &AtomicBool) -> Duration {
    let mut worked = Duration::ZERO;
    let mut last = clock.now();
    while !stop.load(Ordering::Relaxed) {
        let n = dut.breathe(last, ports);
        let now = clock.now();
        if n > 0 {
            worked += now.since(last);
        }
        last = now;
    }
    worked
}

/// The tester's thread.
fn drive(tester: &mut Tester, clock: Clock, rate: Option<PacketRate>, duration: Duration) -> Ran {
    let n = tester.streams.iter().flatten().count().max(1);
    let pace = rate.and_then(|rate| Pace::of(PacketRate(rate.0 / n as f64)));
    let load = pace.map_or(Load::FullSpeed, Load::Paced);
    let before = tester.wires.each_ref().map(Port::counters);
    let start = clock.now();
    let (mut senders, mut receiver) = tester.begin(start, duration, load);
    let (mut now, mut turn) = (start, 0);
    while !senders.iter().flatten().all(|sender| sender.is_done(now)) {
        tester.announce(now);
        for (port, senders) in senders.iter_mut().enumerate() {
            let wire = &mut tester.wires[port];
            if pace.is_some() {
                for sender in senders {
                    sender.poll(now, &mut tester.pool, wire);
                }
            } else {
                // A batch of one stream, then of the next: as many frames of each.
                let at = turn % senders.len();
                senders[at].poll(now, &mut tester.pool, wire);
            }
        }
        turn += 1;
        receive(tester, clock.now(), &mut receiver);
        now = clock.now();
    }
    let end = now;
    let offered: u64 = senders.iter().flatten().map(|sender| sender.sent().offered).sum();
    let mut last = end;
    while receiver.total().received < offered && now.since(last) < QUIET && now.since(end) < LISTEN
    {
        if receive(tester, now, &mut receiver) > 0 {
            last = now;
        }
        now = clock.now();
    }
    let sent: Vec<_> = senders.iter().flatten().map(Sender::sent).collect();
    tester.end(senders);
    let last_sent = sent.iter().map(|sent| sent.last).max().unwrap_or(start);
    let after = tester.wires.each_ref().map(Port::counters);
    let ports = before.into_iter().zip(after).map(|(before, after)| since(before, after));
    let counts = Counts::gather(sent, &receiver, ports);
    let histogram = receiver.latency();
    let overrun = last_sent.since(start + duration);
    let conditions = Conditions { overrun, ..Conditions::default() };
    // At a pace, the schedule's time counts: its last frame left earlier by the gap behind it.
    let took = if pace.is_some() { duration } else { end.since(start) };
    Ran {
        trial: Trial::judge(took, counts, &conditions),
        worked: Duration::ZERO,
        latency: Latency::of(&histogram),
        latency_floor_ns: histogram.min(),
        counts,
        overrun,
    }
}

/// Receives what waits, at most four batches a wire, so that sending goes on.
#[inline]
fn receive(tester: &mut Tester, now: Moment, receiver: &mut measure::Receiver) -> usize {
    let mut received = 0;
    for wire in &mut tester.wires {
        for _ in 0..4 {
            let n = receiver.poll(now, &mut tester.pool, wire);
            received += n;
            if n < Batch::CAPACITY {
                break;
            }
        }
    }
    received
}
