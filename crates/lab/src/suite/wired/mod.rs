//! A device behind interfaces: whatever box is at the end of cables, or the Linux kernel of this
//! machine between veths.
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
//! Before trials that want a device which knows nothing the kernel is told to forget, and a box if its
//! owner says how (`clearing.rs`). Whatever comes of that, no trial uses connections of an earlier one.
//!
//! Never sets up an external device: its owner did. Missing: **starting a device anew** in the midst of
//! a trial, **timestamps of the cards'**.

// A tester at interfaces.
mod test_ports;
// How the device forgets.
mod clearing;

use super::bench::{Surroundings, Testbed};
use super::plan::{Need, Plan};
use super::real::{LEAD, cannot_pin};
use super::run::External;
use crate::bench::patch::Patch;
use crate::bench::veth::Rig;
use crate::clock::Clock;
use crate::kernel::{self, Kernel};
use crate::placement::{Distance, Pair};
use crate::real::spec::{Backend, Options};
use crate::real::{Line, PortSpec};
use crate::tester::drive::Drive;
use crate::tester::{Subnet, Task, Tester};
use crate::two_cores::{GAP_SHARED, side_by_side};
use clearing::Clearing;
use measure::procedure::Stop;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use test_ports::TestPorts;
use wire::{FrameLen, Moment};

/// What an external device is called in results.
pub const EXTERNAL: &str = "external device";

/// How long the device may take to answer ARP before it is asked again.
const PATIENCE: Duration = Duration::from_millis(50);

/// A device behind interfaces.
pub struct Wired {
    device: TestPorts,
    /// The tester by itself: made when it is first asked for.
    alone: Option<TestPorts>,
    bypassed: bool,
    clearing: Clearing,
    specs: Vec<PortSpec>,
    /// The longest frames there are.
    longest: FrameLen,
    subnets: Vec<Subnet>,
    clock: Clock,
    pair: Pair,
    /// Of the processors, where both are this machine's.
    distance: Option<Distance>,
    quiet: Duration,
    interrupt: Arc<AtomicBool>,
    /// What was typed to set the device up.
    pub commands: Vec<String>,
}

impl Wired {
    /// What is connected to these interfaces, for frames of up to `longest`.
    ///
    /// # Errors
    /// [`Stop::Broken`]: they cannot be had.
    pub fn external(
        external: &External,
        longest: FrameLen,
        subnets: Vec<Subnet>,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Wired, Stop> {
        let clearing = external.reset.clone().map_or(Clearing::Nobody, Clearing::Command);
        Wired::new(
            (external.ports.clone(), None),
            clearing,
            longest,
            subnets,
            pair,
            quiet,
            interrupt,
        )
    }

    /// A tester at these interfaces, which are a rig's if there is one.
    fn new(
        (specs, rig): (Vec<PortSpec>, Option<Rig>),
        clearing: Clearing,
        longest: FrameLen,
        subnets: Vec<Subnet>,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Wired, Stop> {
        Ok(Wired {
            distance: rig.as_ref().map(|_| Distance::of(pair)),
            device: TestPorts::open(&specs, longest, &subnets, rig, None)?,
            alone: None,
            bypassed: false,
            clearing,
            specs,
            longest,
            subnets,
            clock: Clock::start(),
            pair,
            quiet,
            interrupt,
            commands: vec![],
        })
    }

    /// The kernel between veths, told what the plan and its configuration say.
    ///
    /// # Errors
    /// [`Stop::Broken`]: it cannot be set up, or does not know how.
    pub fn kernel(
        plan: &Plan,
        script: &str,
        subnets: Vec<Subnet>,
        pair: Pair,
        quiet: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Wired, Stop> {
        let longest = plan.longest();
        let rig = Rig::for_frames(longest, plan.ports, Some(pair));
        let rig = rig.map_err(|error| broken(&error))?;
        let needs = |need| plan.procedures.iter().any(|procedure| procedure.need() == need);
        let forgets =
            [Need::NewConnections, Need::EmptyTable, Need::Forgetting].into_iter().any(needs);
        let kernel = Kernel::set_up(&rig, script)
            .and_then(|mut kernel| kernel.keep_connections(&rig, forgets).map(|()| kernel));
        let mut kernel = kernel.map_err(|cannot| broken(&cannot))?;
        let mut commands = std::mem::take(&mut kernel.commands);
        // Without one the same packets take the longer way.
        let none = kernel.no_flow_table.iter();
        commands.extend(
            none.map(|said| format!("# no flow table for FastTrack in this kernel: {said}")),
        );
        let port = |name: char| -> PortSpec {
            let (interface, namespace, options) = (String::new(), None, Options::default());
            let name = name.to_string();
            PortSpec { name, backend: Backend::Xdp, interface, namespace, options }
        };
        let specs: Vec<PortSpec> = ('a'..='p').take(plan.ports).map(port).collect();
        let specs = rig.at(&specs);
        let clearing = Clearing::Kernel(kernel);
        let at = (specs, Some(rig));
        let wired = Wired::new(at, clearing, longest, subnets, pair, quiet, interrupt)?;
        Ok(Wired { commands, ..wired })
    }
}

fn broken(error: &impl ToString) -> Stop {
    Stop::Broken(error.to_string())
}

impl Testbed for Wired {
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

    fn run(&mut self, task: &mut Task, _: Option<Moment>) -> Result<(), Stop> {
        let (clock, quiet, pair) = (self.clock, self.quiet, self.pair);
        let interrupt = self.interrupt.clone();
        let tester = self.tester();
        let (interrupt, reset, yields) = (&interrupt, None, true);
        let drive =
            Drive { clock, quiet, interrupt, reset, patience: PATIENCE, yields, gap: GAP_SHARED };
        // On a thread of its own, which alone is pinned and preferred.
        let ran = side_by_side(None, clock, Some(pair), true, || drive.run(tester, task));
        ran.map_err(|error| cannot_pin(&error))?.0
    }

    fn renew(&mut self) -> Result<(), Stop> {
        self.clearing.clear(self.device.rig.as_ref())
    }

    fn remembers(&self) -> bool {
        true
    }

    fn forget(&mut self) -> Result<(u64, Duration), Stop> {
        self.clearing.forget()
    }

    fn bypass(&mut self, without: bool) -> Result<(), Stop> {
        if without && self.alone.is_none() {
            let ports = self.specs.len().next_multiple_of(2);
            let rig = Rig::for_frames(self.longest, ports, Some(self.pair));
            let rig = rig.map_err(|error| broken(&error))?;
            let patch = Patch::new(&rig).map_err(|error| broken(&error))?;
            let specs = rig.at(&self.specs);
            self.alone =
                Some(TestPorts::open(&specs, self.longest, &self.subnets, Some(rig), Some(patch))?);
        }
        self.bypassed = without;
        Ok(())
    }

    fn is_bypassed(&self) -> bool {
        self.bypassed
    }

    fn found_no_room(&self) -> u64 {
        let ports = self.alone.as_ref().filter(|_| self.bypassed).unwrap_or(&self.device);
        ports.rig.as_ref().map_or(0, Rig::full)
    }

    fn port_name(&self, port: usize) -> String {
        let spec = &self.specs[port];
        format!("{} ({})", spec.name, spec.interface)
    }

    fn witness(&self) -> Vec<String> {
        let mut witness: Vec<String> =
            self.device.opened.iter().map(|opened| opened.facts.clone()).collect();
        let known = self.device.tester.sides().into_iter();
        let known = known.filter_map(|side| Some((side.gateway, side.mac?)));
        witness.extend(known.map(|(gateway, mac)| format!("{gateway} is at {mac}")));
        witness.extend(self.clearing.describe());
        if let Some(rig) = &self.device.rig {
            witness.push(rig.placement());
            witness
                .push("the cables, as they are typed where the namespaces have names:".to_string());
            witness.extend(rig.commands().iter().cloned());
        }
        witness
    }

    fn discards(&self) -> String {
        match &self.device.rig {
            Some(rig) => kernel::dropped(rig),
            None => "nothing that it tells".to_string(),
        }
    }

    fn surroundings(&mut self) -> Surroundings {
        Surroundings::now(self.clock, self.pair, self.distance.as_mut())
    }
}
