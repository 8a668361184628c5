//! A device behind two interfaces: whatever box is at the end of two cables, or the Linux kernel of
//! this machine between two veths.
//!
//! ```text
//!  Tester ══ eth1 ────── cable ────── [ ? ] ────── cable ────── eth2 ══ Tester
//!  Tester ══ t0 ═ veth ═ d0 [ the kernel, in a namespace ] d1 ═ veth ═ t1 ══ Tester
//! ```
//!
//! Our hosts ask for the device's addresses by ARP and answer when it asks for theirs, during trials,
//! too. The interfaces are the tester's while this runs.
//!
//! What the tester can do by itself is not seen with a device in the way: it is measured through two
//! veths of this machine and nothing between, by the same backends; the result says so.
//!
//! Never sets up an external device: its owner did. Missing: **bridges of more than two ports**,
//! **starting a device anew**, **timestamps of the cards'**.

use super::bench::Place;
use super::drive::Drive;
use super::linux;
use super::plan::{End, Modifier, Plan};
use super::real::{LEAD, cannot_pin};
use super::tester::{Duty, Tester};
use crate::bench::BenchError;
use crate::bench::patch::Patch;
use crate::bench::veth::Rig;
use crate::clock::Clock;
use crate::machine;
use crate::placement::Pair;
use crate::real::open::{self, Opened};
use crate::real::spec::{Backend, Options};
use crate::real::{Line, PortSpec, several};
use crate::two_cores::NICE;
use measure::procedure::Stop;
use port::linux::Unavailable;
use port::linux::interface::Interface;
use port::{Slab, affinity};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::{BitRate, Moment};

/// What an external device is called in results.
pub const EXTERNAL: &str = "external device";

/// How long the device may take to answer ARP before it is asked again.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long an interface may take to find its cable's other end, once it is opened.
const LINK: Duration = Duration::from_secs(10);

/// Between two ticks is what the system takes to send and to receive a few batches, and its own work
/// for the wires on this processor.
const GAP: Duration = Duration::from_millis(2);

/// Frames for each queue: its rings, and what is under way.
const FRAMES: usize = 1 << 14;

/// A device behind interfaces.
pub struct Wired {
    device: Stand,
    /// The tester by itself: made when it is first asked for.
    alone: Option<Stand>,
    bypassed: bool,
    specs: [PortSpec; 2],
    ends: Vec<End>,
    clock: Clock,
    pair: Pair,
    quiet: Duration,
    interrupt: Arc<AtomicBool>,
    /// What was typed to set the device up.
    pub commands: Vec<String>,
}

/// A tester at two interfaces.
struct Stand {
    tester: Tester<Line>,
    /// What must not be let go.
    opened: Vec<Opened>,
    _patch: Option<Patch>,
    rig: Option<Rig>,
}

/// The speed of the slower of two interfaces, where both tell. (What veth says of its speed is made
/// up.)
///
/// # Errors
/// [`Unavailable`]: there is no such interface.
pub fn speed(specs: &[PortSpec; 2]) -> Result<Option<BitRate>, Unavailable> {
    let mut slowest = Some(u32::MAX);
    for spec in specs {
        let Interface { driver, speed_mbps, .. } = open::interface(spec)?;
        slowest = slowest.zip(speed_mbps.filter(|_| driver != "veth")).map(|(a, b)| a.min(b));
    }
    Ok(slowest.map(|mbps| BitRate::mbps(f64::from(mbps))))
}

impl Wired {
    /// What is connected to these interfaces.
    ///
    /// # Errors
    /// [`Stop::Broken`]: they cannot be had.
    pub fn external(
        specs: &[PortSpec; 2],
        ends: Vec<End>,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Wired, Stop> {
        let device = Stand::open(specs, &ends, None, None)?;
        Ok(Wired::with(device, specs.clone(), ends, pair, quiet, interrupt))
    }

    /// The kernel between two veths, told what the plan says.
    ///
    /// # Errors
    /// [`Stop::Broken`]: it cannot be set up, or does not know how.
    pub fn kernel(
        plan: &Plan,
        modifier: Modifier,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Wired, Stop> {
        let rig = Rig::new(Some(pair)).map_err(|error| broken(&error))?;
        let commands = linux::set_up(&rig, plan, modifier).map_err(|error| broken(&error))?;
        let port = |name: &str| -> PortSpec {
            let (interface, namespace, options) = (String::new(), None, Options::default());
            PortSpec {
                name: name.to_string(),
                backend: Backend::Xdp,
                interface,
                namespace,
                options,
            }
        };
        let specs = at(&rig, &[port("a"), port("b")]);
        let ends = plan.ends.to_vec();
        let device = Stand::open(&specs, &ends, Some(rig), None)?;
        let wired = Wired::with(device, specs, ends, pair, quiet, interrupt);
        Ok(Wired { commands, ..wired })
    }

    fn with(
        device: Stand,
        specs: [PortSpec; 2],
        ends: Vec<End>,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Wired {
        let (clock, alone, bypassed, commands) = (Clock::start(), None, false, vec![]);
        Wired { device, alone, bypassed, specs, ends, clock, pair, quiet, interrupt, commands }
    }
}

/// The same ports at a rig's ends. (A veth there has one queue, and no way without a copy.)
fn at(rig: &Rig, specs: &[PortSpec; 2]) -> [PortSpec; 2] {
    let mut specs = specs.clone();
    for (spec, (namespace, end)) in specs.iter_mut().zip(rig.tester_ends()) {
        spec.interface = end.to_string();
        spec.namespace = Some(namespace.path().display().to_string());
        spec.options = Options { queues: None, copy: None, ..spec.options };
    }
    specs
}

impl Stand {
    fn open(
        specs: &[PortSpec; 2],
        ends: &[End],
        rig: Option<Rig>,
        patch: Option<Patch>,
    ) -> Result<Stand, Stop> {
        let opening = || -> Result<(Vec<Line>, Slab, Vec<Opened>), BenchError> {
            let mut queues = 0;
            for spec in specs {
                queues += open::look(spec)?.queues.max(1) as usize;
            }
            let slab = Slab::new((queues * FRAMES).min(1 << 18)).map_err(BenchError::Slab)?;
            let (mut wires, mut opened) = (vec![], vec![]);
            for spec in specs {
                let mut interface = open::open(spec, &slab)?;
                let lines = std::mem::take(&mut interface.lines);
                wires.push(several(lines).expect("an interface that is open has a queue"));
                opened.push(interface);
            }
            specs.iter().try_for_each(linked)?;
            Ok((wires, slab, opened))
        };
        let (wires, slab, opened) = opening().map_err(|error| broken(&error))?;
        let tester = Tester::new(wires, &slab, ends.to_vec());
        Ok(Stand { tester, opened, _patch: patch, rig })
    }
}

fn broken(error: &impl ToString) -> Stop {
    Stop::Broken(error.to_string())
}

/// Waits for an interface's link: opening one may make its card start anew.
fn linked(spec: &PortSpec) -> Result<(), Unavailable> {
    let clock = Clock::start();
    while !open::interface(spec)?.carrier {
        if clock.now().since(Moment::ZERO) >= LINK {
            let (tried, what) = (format!("send by {}", spec.interface), "it has no link");
            let remedy = "`ip link set … up`, and look at the cable and what is at its other end";
            return Err(Unavailable::because(tried, std::io::Error::other(what)).remedy(remedy));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl Place for Wired {
    type Wire = Line;

    fn tester(&mut self) -> &mut Tester<Line> {
        match &mut self.alone {
            Some(alone) if self.bypassed => &mut alone.tester,
            _ => &mut self.device.tester,
        }
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn lead(&self) -> Duration {
        LEAD
    }

    fn run(&mut self, duty: &mut Duty, _: Option<Moment>) -> Result<(), Stop> {
        let (clock, quiet, pair) = (self.clock, self.quiet, self.pair);
        let interrupt = self.interrupt.clone();
        let tester = self.tester();
        // On a thread of its own, which alone is pinned and preferred.
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                affinity::pin(pair.tester).map_err(|error| cannot_pin(&error))?;
                machine::prefer(None, NICE);
                let (reset, yields) = (None, true);
                let interrupt = &interrupt;
                Drive { clock, quiet, interrupt, reset, patience: PATIENCE, yields, gap: GAP }
                    .run(tester, duty)
            });
            let panicked = |_| Err(Stop::Broken("a thread of the trial panicked".to_string()));
            thread.join().unwrap_or_else(panicked)
        })
    }

    fn can_renew(&self) -> bool {
        false
    }

    fn renew(&mut self) -> Result<(), Stop> {
        Err(Stop::Broken("only its owner can start this device anew".to_string()))
    }

    fn bypass(&mut self, without: bool) -> Result<(), Stop> {
        if without && self.alone.is_none() {
            let rig = Rig::new(Some(self.pair)).map_err(|error| broken(&error))?;
            let patch = Patch::new(&rig).map_err(|error| broken(&error))?;
            let specs = at(&rig, &self.specs);
            self.alone = Some(Stand::open(&specs, &self.ends, Some(rig), Some(patch))?);
        }
        self.bypassed = without;
        Ok(())
    }

    fn is_bypassed(&self) -> bool {
        self.bypassed
    }

    fn found_no_room(&self) -> u64 {
        let stand = self.alone.as_ref().filter(|_| self.bypassed).unwrap_or(&self.device);
        stand.rig.as_ref().map_or(0, Rig::full)
    }

    fn witness(&self) -> Vec<String> {
        let mut witness: Vec<String> =
            self.device.opened.iter().map(|opened| opened.facts.clone()).collect();
        for (end, mac) in self.ends.iter().zip(&self.device.tester.device_macs) {
            if let Some(mac) = mac {
                witness.push(format!("{} is at {mac}", Ipv4Addr::from(end.device)));
            }
        }
        if let Some(rig) = &self.device.rig {
            witness.push(rig.placement());
        }
        witness
    }

    fn discards(&self) -> String {
        match &self.device.rig {
            Some(rig) => linux::dropped(rig),
            None => "nothing that it tells".to_string(),
        }
    }

    fn stolen(&self) -> Duration {
        machine::stolen(&[self.pair.tester, self.pair.device])
    }
}
