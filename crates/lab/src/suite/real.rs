//! Tester and device on a core each, memory wires between them, by the clock.
//!
//! ```text
//!   core A: tick, tick … ══ wires ══ core B: breathe, breathe …  (made anew when it is reset)
//! ```
//!
//! A memory wire has no rate of its own: the plan's is kept by the tester, which never sends more
//! than it. What the tester cannot keep up with makes the trial invalid, not the device bad.

use super::bench::Place;
use super::device;
use super::tester::{Duty, Tester};
use crate::clock::Clock;
use crate::placement::Pair;
use crate::two_cores::{Dut, Patch};
use measure::procedure::Stop;
use port::memory::{self, MemoryPort};
use port::{Slab, affinity};
use router::Router;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::{FrameLen, Ipv4Prefix, Moment};

/// The frames a receive ring of the device holds, as a network card's.
const RING: usize = 1024;

/// A device in memory.
pub struct Real {
    tester: Tester<MemoryPort>,
    ports: Vec<MemoryPort>,
    router: Router,
    script: String,
    slab: Slab,
    clock: Clock,
    pair: Pair,
    quiet: Duration,
    interrupt: Arc<AtomicBool>,
    without: bool,
}

impl Real {
    /// A device with `n` ports and this configuration; trials end when nothing has come for
    /// `quiet` after the last frame sent.
    ///
    /// # Errors
    /// No frames, or the script was refused.
    pub fn new(
        n: usize,
        script: &str,
        networks: Vec<Ipv4Prefix>,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Real, Stop> {
        // While the system takes the tester's processor away, nothing is lost but load.
        let ours = 2 * n * RING;
        let slab = Slab::new((n * (RING + ours) + 4096).min(1 << 16))
            .map_err(|error| Stop::Broken(format!("no frames for the device: {error}")))?;
        let (ports, wires) = (0..n).map(|_| memory::wire_between(RING, ours)).unzip();
        let router = device::router(n, &slab, script).map_err(Stop::Broken)?;
        let tester = Tester::new(wires, &slab, networks);
        let (script, clock) = (script.to_string(), Clock::start());
        let without = false;
        Ok(Real { tester, ports, router, script, slab, clock, pair, quiet, interrupt, without })
    }
}

impl Place for Real {
    type Wire = MemoryPort;

    fn tester(&mut self) -> &mut Tester<MemoryPort> {
        &mut self.tester
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn run(&mut self, duty: &mut Duty, reset_at: Option<Moment>) -> Result<(), Stop> {
        let Real { tester, ports, router, script, slab, clock, pair, quiet, interrupt, without } =
            self;
        let (clock, pair, quiet) = (*clock, *pair, *quiet);
        let n = ports.len();
        let (ready, stop, reset) =
            (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let device = scope.spawn(|| {
                let pinned = affinity::pin(pair.device);
                ready.store(true, Ordering::Release);
                pinned.map_err(|error| cannot_pin(&error))?;
                if *without {
                    let mut patch = Patch::new(ports, slab);
                    while !stop.load(Ordering::Relaxed) {
                        patch.breathe(clock.now());
                    }
                    return Ok(());
                }
                while !stop.load(Ordering::Relaxed) {
                    if reset.swap(false, Ordering::Relaxed) {
                        *router = device::router(n, slab, script).map_err(Stop::Broken)?;
                    }
                    for _ in 0..64 {
                        Router::breathe(router, clock.now(), ports);
                    }
                }
                Ok(())
            });
            let tester = scope.spawn(|| {
                let pinned = affinity::pin(pair.tester);
                while !ready.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                let drive = Drive { clock, quiet, interrupt, reset: &reset, reset_at };
                let ran = pinned.map_err(|e| cannot_pin(&e)).and_then(|()| drive.run(tester, duty));
                stop.store(true, Ordering::Release);
                ran
            });
            match (tester.join(), device.join()) {
                (Ok(ran), Ok(worked)) => ran.and(worked),
                _ => Err(Stop::Broken("a thread of the trial panicked".to_string())),
            }
        })
    }

    fn renew(&mut self) -> Result<(), Stop> {
        self.router =
            device::router(self.ports.len(), &self.slab, &self.script).map_err(Stop::Broken)?;
        Ok(())
    }

    fn forget(&mut self) -> Option<(u64, Duration)> {
        let before = self.clock.now();
        let known = device::forget(&mut self.router, before)?;
        Some((known, self.clock.now().since(before)))
    }

    fn bypass(&mut self, without: bool) {
        self.without = without;
    }

    fn is_bypassed(&self) -> bool {
        self.without
    }

    fn wire_time(&self, _: FrameLen) -> Duration {
        Duration::ZERO
    }

    fn discards(&self) -> String {
        format!("{:?}", self.router.discards())
    }
}

fn cannot_pin(error: &std::io::Error) -> Stop {
    Stop::Broken(format!("no processor of its own for tester and device each: {error}"))
}

/// The tester's thread.
struct Drive<'a> {
    clock: Clock,
    quiet: Duration,
    interrupt: &'a AtomicBool,
    reset: &'a AtomicBool,
    reset_at: Option<Moment>,
}

impl Drive<'_> {
    fn run(&self, tester: &mut Tester<MemoryPort>, duty: &mut Duty) -> Result<(), Stop> {
        let mut reset_at = self.reset_at;
        let mut now = self.clock.now();
        // Nothing to send: a while for what is asked and answered.
        let until = now + Duration::from_millis(5);
        let nothing = duty.senders.is_empty();
        while if nothing { now < until } else { !duty.is_done(now) } {
            self.tick(now, tester, duty)?;
            if reset_at.is_some_and(|at| now >= at) {
                self.reset.store(true, Ordering::Relaxed);
                reset_at = None;
            }
            now = self.clock.now();
        }
        // RFC 2544 §23 d: what is still under way.
        let (sent, mut last, end) = (duty.sent(), now, now);
        while duty.received() < sent
            && now.since(last) < self.quiet
            && now.since(end) < 10 * self.quiet
        {
            if self.tick(now, tester, duty)? > 0 {
                last = now;
            }
            now = self.clock.now();
        }
        Ok(())
    }

    #[inline]
    fn tick(
        &self,
        now: Moment,
        tester: &mut Tester<MemoryPort>,
        duty: &mut Duty,
    ) -> Result<usize, Stop> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        Ok(tester.tick(now, duty))
    }
}
