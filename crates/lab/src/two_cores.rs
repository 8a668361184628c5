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
//! can exceed between these wires. A device that works by itself (the kernel, a box at the end of
//! two cables) has no thread here, and its wires are any ports.

use crate::clock::Clock;
use crate::device::Device;
use crate::machine;
use crate::placement::Pair;
use crate::tester::drive::Drive;
use crate::tester::row::RowTester;
use measure::latency_histogram::LatencyHistogram;
use measure::suite_result::TrialRecord;
use measure::trial::{Conditions, Counts};
use measure::{Load, Pace, Trial};
use port::{Batch, MemoryPort, Pool, Port, Slab, affinity};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::{Moment, PacketRate};

/// What can stand between the wires and is worked by a thread of ours.
pub trait Dut: Send {
    /// Receives from every port, forwards, sends; returns how many frames came in.
    fn breathe(&mut self, now: Moment) -> usize;

    /// Whether its ports are worked by the system on the same core, which is then left to it when
    /// there is nothing to do: by [`rest`](Self::rest).
    fn rests(&self) -> bool {
        false
    }

    /// Sleeps until frames come, or a while has passed.
    fn rest(&mut self) {
        std::thread::yield_now();
    }
}

impl Dut for Device {
    fn breathe(&mut self, now: Moment) -> usize {
        self.breathe_once(now)
    }
}

/// No device at all: what comes in by one port goes out by the other, untouched.
pub struct Patch<'a> {
    ports: &'a mut [MemoryPort],
    pool: Pool,
    batch: Batch,
}

impl<'a> Patch<'a> {
    /// A patch between the first two of these ports, the next two, and so on, whose frames are of this slab.
    pub fn new(ports: &'a mut [MemoryPort], slab: &Slab) -> Patch<'a> {
        Patch { ports, pool: slab.pool(), batch: Batch::new() }
    }
}

impl Dut for Patch<'_> {
    fn breathe(&mut self, now: Moment) -> usize {
        let mut received = 0;
        for from in 0..self.ports.len() & !1 {
            received += self.ports[from].receive(now, &mut self.pool, &mut self.batch);
            self.ports[from ^ 1].send(now, &mut self.pool, &mut self.batch);
        }
        received
    }
}

/// A place to run trials at.
pub struct Bench<'a, P = MemoryPort> {
    /// The tester, with the streams of a row.
    pub row: &'a mut RowTester<P>,
    /// The clock of the run.
    pub clock: Clock,
    /// The processors; none to leave it to the system.
    pub pair: Option<Pair>,
    /// Whether the wires' other ends, or ours, are worked by the system on the tester's core.
    pub yields: bool,
}

/// What a trial gave.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The trial, judged by the conditions known so far.
    pub trial: Trial,
    /// How long the device's thread was busy, if it has one of ours.
    pub worked: Duration,
    /// How long the tester's thread had its processor; none where the system does not say.
    pub tester_worked: Option<Duration>,
    /// Latencies, in nanoseconds.
    pub latency: LatencyHistogram,
    /// Under what conditions it ran.
    pub conditions: Conditions,
}

impl Ran {
    /// For the result: of which kind it was ([`measure::result::kind`]), and at which load.
    pub fn record(&self, kind: &str, load: Option<PacketRate>) -> TrialRecord {
        let load = load.map_or(0.0, |load| load.0);
        TrialRecord::plain(kind, load, self.trial.duration, &self.trial, Some(&self.latency))
    }

    /// Judges the trial again, with what else became known of it.
    pub fn judge(&mut self, change: impl FnOnce(&mut Counts, &mut Conditions)) {
        let mut counts = self.trial.counts;
        change(&mut counts, &mut self.conditions);
        self.trial = Trial::judge(self.trial.duration, counts, &self.conditions);
    }
}

/// How the threads of a trial with real wires are put before whatever else the machine does: as the
/// kernel's own that work for the device.
pub const NICE: i32 = -10;

/// How long nothing must come after the last frame sent: longer than a busy machine takes the
/// device's processor away at a time.
const QUIET: Duration = Duration::from_millis(20);
impl<P: Port + Send> Bench<'_, P> {
    /// Runs one trial: at this rate (all streams together), or as fast as the tester can. Without a
    /// `dut`, the device works by itself.
    ///
    /// # Errors
    /// A thread could not be pinned to its processor.
    pub fn trial(
        &mut self,
        dut: Option<&mut dyn Dut>,
        rate: Option<PacketRate>,
        duration: Duration,
    ) -> io::Result<Ran> {
        let Bench { row, clock, pair, yields } = self;
        let (clock, pair, yields) = (*clock, *pair, *yields);
        let drive = || drive(row, clock, rate, duration, yields);
        let (mut ran, beside) = side_by_side(dut, clock, pair, yields, drive)?;
        (ran.worked, ran.tester_worked) = (beside.worked, beside.tester_worked);
        // Who leaves the processor to the system's part of the device lacks it without being disturbed.
        let away = beside.away.filter(|_| !yields);
        ran.judge(|_, conditions| {
            conditions.stolen = beside.stolen;
            conditions.away = away;
            // As fast as it can: what comes is the result, and what was lost says nothing.
            if rate.is_some() {
                conditions.stood_still = conditions.stood_still.max(beside.stood_still);
            } else {
                conditions.stood_still = Duration::ZERO;
            }
        });
        Ok(ran)
    }
}

/// What a trial cost.
pub struct Beside {
    /// How long the device's thread was busy, if it has one of ours.
    pub worked: Duration,
    /// How long the tester's thread had its processor; none where the system does not say.
    pub tester_worked: Option<Duration>,
    /// How long the machine's host took the processors away.
    pub stolen: Duration,
    /// For how long others had the processor of a thread of ours, of how long: of the one that lacked it
    /// longest. Only of threads that never sleep; none where the system does not say.
    pub away: Option<(Duration, Duration)>,
    /// How long the device's thread stood still, if it never sleeps: between two looks at the clock.
    pub stood_still: Duration,
}

/// The longest between two looks at the clock of a thread that never sleeps: a few batches take tens of
/// microseconds. What is longer is a processor that was taken away.
pub const GAP: Duration = Duration::from_micros(100);

/// The same of a thread that leaves its processor to the system's part of the device.
pub const GAP_SHARED: Duration = Duration::from_millis(2);

/// For how long a thread that never sleeps had no processor.
struct Watched {
    clock: Clock,
    start: Moment,
    had: Option<Duration>,
}

impl Watched {
    fn begin(clock: Clock) -> Watched {
        let had = affinity::thread_time();
        Watched { clock, start: clock.now(), had }
    }

    /// How long that was, and of how long.
    fn end(self) -> Option<(Duration, Duration)> {
        let all = self.clock.now().since(self.start);
        let had = affinity::thread_time()?.saturating_sub(self.had?);
        Some((all.saturating_sub(had), all))
    }
}

/// What the device's thread did.
#[derive(Default)]
struct Worked {
    busy: Duration,
    stood_still: Duration,
    away: Option<(Duration, Duration)>,
}

/// Runs `drive`, the tester's part of a trial, on the tester's processor, and beside it, on the
/// device's, the part of the device that a thread of ours has to work.
///
/// # Errors
/// A thread could not be pinned to its processor; one has panicked.
pub fn side_by_side<T: Send>(
    dut: Option<&mut dyn Dut>,
    clock: Clock,
    pair: Option<Pair>,
    yields: bool,
    drive: impl FnOnce() -> T + Send,
) -> io::Result<(T, Beside)> {
    let pin = |cpu: Option<usize>| cpu.map_or(Ok(()), affinity::pin);
    let (ready, stop) = (AtomicBool::new(dut.is_none()), AtomicBool::new(false));
    let processors: Vec<usize> = pair.iter().flat_map(|p| [p.tester, p.device]).collect();
    let stolen = machine::stolen(&processors);
    std::thread::scope(|scope| {
        let device = dut.map(|dut| {
            scope.spawn(|| {
                let pinned = pin(pair.map(|pair| pair.device));
                match dut.rests() {
                    true => machine::put_first(),
                    false if yields => machine::prefer(None, NICE),
                    false => {}
                }
                ready.store(true, Ordering::Release);
                pinned.map(|()| work(dut, clock, &stop))
            })
        });
        let tester = scope.spawn(|| {
            let pinned = pin(pair.map(|pair| pair.tester));
            if yields {
                machine::prefer(None, NICE);
            }
            while !ready.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let (watched, had) = (Watched::begin(clock), machine::processor_time());
            // The device breathes until it is told to stop, whatever happens here.
            let ran = pinned.map(|()| drive());
            stop.store(true, Ordering::Release);
            let worked = machine::processor_time().zip(had).map(|(has, had)| has - had);
            ran.map(|ran| (ran, worked, watched.end()))
        });
        let panicked = || io::Error::other("a thread of the trial panicked");
        let ran = tester.join().map_err(|_| panicked());
        let worked = device.map(|device| device.join().map_err(|_| panicked())).transpose()?;
        let worked = worked.transpose()?.unwrap_or_default();
        let (ran, tester_worked, away) = ran??;
        let away = away.into_iter().chain(worked.away).max();
        let stolen = machine::stolen(&processors).saturating_sub(stolen);
        let Worked { busy: worked, stood_still, .. } = worked;
        Ok((ran, Beside { worked, tester_worked, stolen, away, stood_still }))
    })
}

/// The device's thread. For how long it had no processor is known if it never rests.
fn work(dut: &mut dyn Dut, clock: Clock, stop: &AtomicBool) -> Worked {
    let rests = dut.rests();
    let watched = (!rests).then(|| Watched::begin(clock));
    let (mut last, had) = (clock.now(), machine::processor_time());
    let (mut busy, mut stood_still) = (Duration::ZERO, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let n = dut.breathe(last);
        let now = clock.now();
        let since = now.since(last);
        if n > 0 {
            busy += since;
        }
        if !rests && since > GAP {
            stood_still += since;
        }
        last = now;
        // Only when all that came is done: else the system would take in more and more of what
        // cannot be done, and it would be lost after it was paid for.
        if rests && n == 0 {
            dut.rest();
            last = clock.now();
        }
    }
    // Who sleeps when there is nothing to do was busy whenever he had the processor.
    if let Some((had, has)) = had.zip(machine::processor_time()).filter(|_| rests) {
        busy = has.saturating_sub(had);
    }
    Worked { busy, stood_still, away: watched.and_then(Watched::end) }
}

/// The tester's part of a trial.
fn drive<P: Port>(
    row: &mut RowTester<P>,
    clock: Clock,
    rate: Option<PacketRate>,
    duration: Duration,
    yields: bool,
) -> Ran {
    let n = row.streams.iter().flatten().count().max(1);
    let pace = rate.and_then(|rate| Pace::of(PacketRate(rate.0 / n as f64)));
    let load = pace.map_or(Load::FullSpeed, Load::Paced);
    let start = clock.now();
    let mut task = row.task(start, duration, load);
    let (reset, patience, gap) = (None, Duration::ZERO, if yields { GAP_SHARED } else { GAP });
    let interrupt = &AtomicBool::new(false);
    let drive = Drive { clock, quiet: QUIET, interrupt, reset, patience, yields, gap };
    drive.run(&mut row.tester, &mut task).expect("nobody interrupts it");
    let mut counts = task.counts(&row.tester);
    let last_sent = task.last_sent();
    let mut conditions = task.conditions;
    conditions.overrun = last_sent.since(start + duration);
    match (pace, &mut conditions.busy) {
        (Some(_), Some(busy)) => busy.late = task.late(),
        (Some(_), None) => {}
        // As fast as it can: it has no time left, and what its ports had no room for was not to be sent.
        (None, busy) => (*busy, counts.intended) = (None, counts.sent),
    }
    // At a pace, the schedule's time counts: its last frame left earlier by the gap behind it.
    let took = if pace.is_some() { duration } else { duration.max(last_sent.since(start)) };
    let latency = measure::receive::latency(&task.receivers);
    row.end(task);
    Ran {
        trial: Trial::judge(took, counts, &conditions),
        worked: Duration::ZERO,
        tester_worked: None,
        latency,
        conditions,
    }
}
