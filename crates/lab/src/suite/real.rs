//! Tester and device on a core each, memory wires between them, by the clock.
//!
//! ```text
//!   core A: tick, tick … ══ wires ══ core B: breathe, breathe …  (made anew when it is reset)
//! ```
//!
//! A memory wire has no rate of its own: the plan's is kept by the tester, which never sends more
//! than it. What the tester cannot keep up with makes the trial invalid, not the device bad.

use super::bench::{Surroundings, Testbed};
use super::device::{self, BuiltIn};
use super::inside::Dropped;
use crate::clock::Clock;
use crate::placement::{Distance, Pair};
use crate::tester::drive::Drive;
use crate::tester::{Subnet, Task, Tester};
use crate::two_cores::{Dut, GAP, Patch, side_by_side};
use measure::procedure::Stop;
use port::Slab;
use port::memory::{self, MemoryPort};
use port::slab::Slots;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::Moment;

/// The frames a receive ring of the device holds, as a network card's that is set up for this: at
/// 10 Gbit/s it holds what comes in a quarter of a millisecond, in which a shared machine may be
/// elsewhere.
const RING: usize = 4096;

/// And the tester's: while the system takes the tester's processor away, nothing is lost but load.
const OURS: usize = 8192;

/// How long the device may take to answer ARP.
const PATIENCE: Duration = Duration::from_millis(5);

/// How long it takes until both threads are where they work.
pub(super) const LEAD: Duration = Duration::from_millis(1);

/// A device in memory.
pub struct Real {
    tester: Tester<MemoryPort>,
    ports: Vec<MemoryPort>,
    device: BuiltIn,
    slab: Slab,
    clock: Clock,
    pair: Pair,
    distance: Distance,
    quiet: Duration,
    interrupt: Arc<AtomicBool>,
    without: bool,
}

impl Real {
    /// A device with `n` ports and this configuration, and such slots for frames; trials end when
    /// nothing has come for `quiet` after the last frame sent.
    ///
    /// # Errors
    /// No frames, or the script was refused.
    pub fn new(
        (n, slots): (usize, Slots),
        script: &str,
        subnets: Vec<Subnet>,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Real, Stop> {
        let slab = Slab::with((n * (RING + OURS) + 4096).min(1 << 16), slots)
            .map_err(|error| Stop::Broken(format!("no frames for the device: {error}")))?;
        let (ports, wires) = (0..n).map(|_| memory::wire_between(RING, OURS)).unzip();
        let device = BuiltIn::new(n, &slab, script)?;
        let tester = Tester::new(wires, &slab, subnets);
        Ok(Real {
            tester,
            ports,
            device,
            slab,
            clock: Clock::start(),
            pair,
            distance: Distance::of(pair),
            quiet,
            interrupt,
            without: false,
        })
    }
}

/// What is between the wires.
enum Between<'a> {
    Router(&'a mut BuiltIn, &'a mut [MemoryPort]),
    Nothing(Patch<'a>),
}

/// What the device's thread works, until it is told to start it anew.
struct Worked<'a> {
    place: Between<'a>,
    /// Raised when the device is to be started anew.
    reset: &'a AtomicBool,
    ran: Result<(), Stop>,
}

impl Dut for Worked<'_> {
    fn breathe(&mut self, now: Moment) -> usize {
        match &mut self.place {
            Between::Nothing(patch) => patch.breathe(now),
            Between::Router(device, ports) => {
                if self.reset.load(Ordering::Relaxed) {
                    self.reset.store(false, Ordering::Relaxed);
                    self.ran = device.start_anew();
                }
                device.router.breathe(now, ports)
            }
        }
    }
}

impl Testbed for Real {
    type Wire = MemoryPort;

    fn tester(&mut self) -> &mut Tester<MemoryPort> {
        &mut self.tester
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn lead(&self) -> Duration {
        LEAD
    }

    fn run(&mut self, task: &mut Task, reset_at: Option<Moment>) -> Result<(), Stop> {
        let Real { tester, ports, device, slab, clock, pair, quiet, interrupt, .. } = self;
        let reset = AtomicBool::new(false);
        let place = match self.without {
            true => Between::Nothing(Patch::new(ports, slab)),
            false => Between::Router(device, ports),
        };
        let mut worked = Worked { place, reset: &reset, ran: Ok(()) };
        let drive = Drive {
            clock: *clock,
            quiet: *quiet,
            interrupt,
            reset: reset_at.map(|at| (&reset, at)),
            patience: PATIENCE,
            yields: false,
            gap: GAP,
        };
        let drive = || drive.run(tester, task);
        let ran = side_by_side(Some(&mut worked), *clock, Some(*pair), true, drive);
        let (ran, beside) = ran.map_err(|error| cannot_pin(&error))?;
        // (While it is started anew it stands still, too.)
        if reset_at.is_none() {
            let still = &mut task.conditions.stood_still;
            *still = beside.stood_still.max(*still);
        }
        worked.ran.and(ran)
    }

    fn renew(&mut self) -> Result<(), Stop> {
        self.device.start_anew()
    }

    fn forget(&mut self) -> Result<(u64, Duration), Stop> {
        let before = self.clock.now();
        let known = device::forget(&mut self.device.router, before);
        let refused = || Stop::Broken("the router does not remove its connections".to_string());
        Ok((known.ok_or_else(refused)?, self.clock.now().since(before)))
    }

    fn bypass(&mut self, without: bool) -> Result<(), Stop> {
        self.without = without;
        Ok(())
    }

    fn is_bypassed(&self) -> bool {
        self.without
    }

    fn left_and_came(&self) -> Option<(u64, u64)> {
        (!self.without).then(|| (self.device.left(), crate::device::came(&self.tester.wires)))
    }

    fn discards(&self) -> String {
        crate::device::discarded(&self.device.router)
    }

    fn dropped(&self) -> Dropped {
        self.device.dropped(&self.ports)
    }

    fn profile(&mut self, begin: bool) -> Option<BTreeMap<String, u64>> {
        if begin {
            self.device.router.set_profiler(Some(port::cycles::NOW?));
            self.device.router.begin_profile();
            return Some(BTreeMap::new());
        }
        let times = self.device.router.end_profile();
        Some(times.map(|(facility, n)| (facility.name().to_string(), n)).collect())
    }

    fn surroundings(&mut self) -> Surroundings {
        Surroundings::now(self.clock, self.pair, Some(&mut self.distance))
    }
}

pub(super) fn cannot_pin(error: &std::io::Error) -> Stop {
    Stop::Broken(format!("no processor of its own for tester and device each: {error}"))
}
