//! A device between two wires of the system's, and what of it the bench must know.
//!
//! ```text
//!            ┌────────────── Testbed ───────────────┐
//!  Tester ══ t0 ── veth ── d0 [ Wired ] d1 ── veth ── t1 ══ Tester
//!                               └ kernel, our router, no device
//! ```
//!
//! The order for each configuration: cables, the device's commands, pings, the tester's ports; for
//! each frame size: introduce, warm up, trials. What the tester can do by itself is measured once for
//! each traffic and size, with a patch in the device's place.
//!
//! Where a frame came through the device and found the tester's own end full, the trial is invalid:
//! that was not the device.

use super::device::{Alone, Cannot, Device, Job, Turn, no_setup};
use super::ends::{Cost, Ends};
use super::patch::Patch;
use super::ping;
use super::veth::Rig;
use super::{BenchError, Kind, Plan, Progress, ours, share, testpmd};
use crate::clock::Clock;
use crate::configuration::{Configuration, Traffic};
use crate::kernel::{Kernel, is_there};
use crate::routes::Table;
use crate::tester::row::Behind;
use crate::two_cores::Dut;
use measure::result::{Medium, Setup, kind};
use measure::{Family, Mode};
use port::linux::xdp::{Options, XdpPort};
use port::linux::{Namespace, Unavailable};
use port::{Port, Slab};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;
use wire::{FrameLen, MacAddr, PacketRate};

/// A port on an interface of the system's.
pub type RealPort = Box<dyn Port + Send>;

/// What a device on real wires is to the bench.
pub trait Wired: Send {
    /// What it is called in results.
    fn name(&self) -> &'static str;

    /// What of it a thread of ours has to work.
    fn dut(&mut self) -> Option<&mut dyn Dut> {
        None
    }

    /// Lets that part do what has come; returns how many frames did.
    fn settle(&mut self) -> usize {
        0
    }

    /// Where frames to be routed go, if it does not say so itself by ARP or neighbour discovery.
    fn macs(&self) -> Option<[MacAddr; 2]> {
        None
    }

    /// Frames so far that the slow path was spared, if it can tell.
    fn fast_path(&self) -> Option<u64> {
        None
    }

    /// Why hosts cannot ping each other through it, if they cannot.
    fn mute(&self) -> Option<&'static str> {
        None
    }

    /// Why its figures are not what it can do, if they are not: then it is not compared.
    fn unfair(&self) -> Option<&'static str> {
        None
    }

    /// Leaves its processor to others until it is woken, if it takes any when nothing comes.
    fn rest(&mut self) {}

    /// Goes on.
    fn wake(&mut self) {}

    /// How long its own process has worked for it so far, if it has one.
    fn worked(&self) -> Duration {
        Duration::ZERO
    }

    /// What it says it dropped.
    fn drops(&mut self, _rig: &Rig) -> String {
        "nothing that it tells".to_string()
    }

    /// What it says of what it did.
    fn witness(&mut self, _rig: &Rig) -> Vec<String> {
        Vec::new()
    }
}

/// A device on its wires, and the tester at the other ends.
pub struct WiredTestbed {
    // Before the rig: they let its ends go first.
    device: Box<dyn Wired>,
    ends: Ends,
    rig: Rig,
    clock: Clock,
    /// How it was set up.
    pub setup: Setup,
}

/// How long a frame may take through a device that is not overloaded: longer than a busy machine
/// keeps a thread from its processor.
const PATIENCE: Duration = Duration::from_millis(50);

/// Opens an interface's AF_XDP port from within its namespace.
///
/// # Errors
/// [`Unavailable`].
pub fn open(
    namespace: &Namespace,
    interface: &str,
    slab: &Slab,
    options: &Options,
) -> Result<RealPort, Unavailable> {
    let opened = namespace.run(|| XdpPort::open(interface, slab, options));
    let opened = opened.unwrap_or_else(|error| {
        Err(Unavailable::because(format!("enter the namespace of {interface}"), error))
    });
    opened.map(|port| Box::new(port) as RealPort)
}

impl WiredTestbed {
    /// Sets a device up for a row.
    ///
    /// # Errors
    /// [`Cannot`].
    pub fn new(kind: &Kind, job: &Job<'_>) -> Result<WiredTestbed, Cannot> {
        let Job { plan, configuration, table, .. } = *job;
        let mut rig = Rig::for_frames(plan.longest(), 2, plan.pair)?;
        if matches!(kind, Kind::Testpmd(_)) {
            rig.receive_where_sent()?;
        }
        let clock = Clock::start();
        let (mut device, commands): (Box<dyn Wired>, Vec<String>) = match kind {
            Kind::Linux => {
                let kernel = kernel(&rig, configuration, table)?;
                let commands = kernel.commands.clone();
                (Box::new(kernel), commands)
            }
            Kind::Wirespeed | Kind::Memory => {
                let (ours, commands) = ours::set_up(&rig, clock, configuration, table)?;
                (Box::new(ours), commands)
            }
            Kind::Testpmd(driver) => {
                let (testpmd, commands) = testpmd::set_up(*driver, &rig, configuration, plan.pair)?;
                (Box::new(testpmd), commands)
            }
            Kind::External => {
                let why = "an external device has wires of its own: it is measured by itself";
                return Err(Cannot::Omitted(why.to_string()));
            }
        };
        let (mut ping, mut remarks) = (None, vec![]);
        match device.mute() {
            None if !is_there("ping") => {
                remarks.push("no pings: ping is not installed (package iputils-ping)".to_string());
            }
            None => ping = Some(ping::through(&rig, plan.pair, device.as_mut(), configuration)?),
            Some(why) => remarks.push(why.to_string()),
        }
        device.rest();
        let cables = rig.commands().to_vec();
        let setup = no_setup(device.name(), configuration);
        let setup = Setup { cables, commands, ping, remarks, ..setup };
        Ok(WiredTestbed::with(rig, device, clock, plan, setup)?)
    }

    /// Without a device.
    fn patched(job: &Job<'_>) -> Result<WiredTestbed, BenchError> {
        let rig = Rig::for_frames(job.plan.longest(), 2, job.plan.pair)?;
        let patch = Box::new(Patch::new(&rig)?);
        let setup = no_setup(patch.name(), job.configuration);
        WiredTestbed::with(rig, patch, Clock::start(), job.plan, setup)
    }

    fn with(
        rig: Rig,
        device: Box<dyn Wired>,
        clock: Clock,
        plan: &Plan,
        setup: Setup,
    ) -> Result<WiredTestbed, BenchError> {
        let ends = Ends::open(&rig, clock, plan.pair, plan.generator)?;
        Ok(WiredTestbed { rig, device, ends, clock, setup })
    }

    /// What it is called in results.
    pub fn name(&self) -> &'static str {
        self.device.name()
    }

    /// How long its own process has worked so far, if it has one.
    pub fn worked(&self) -> Duration {
        self.device.worked()
    }

    /// Whether its figures are what it can do.
    pub fn is_fair(&self) -> bool {
        self.device.unfair().is_none()
    }

    /// Its cables, and the namespaces at their ends.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    /// Makes it ready for trials with frames of a size.
    ///
    /// # Errors
    /// [`BenchError::Unfit`]: it does not do what the row says.
    pub fn prepare(&mut self, job: &Job<'_>, frame: FrameLen) -> Result<(), BenchError> {
        let WiredTestbed { rig, device, ends, clock, .. } = self;
        device.wake();
        let mut side = Side { device: device.as_mut(), rig, clock: *clock };
        let prepared = ends.prepare(rig, &mut side, job, frame);
        device.rest();
        prepared
    }

    /// Runs a trial.
    ///
    /// # Errors
    /// As of [`Ends::trial`].
    pub fn trial(
        &mut self,
        rate: Option<PacketRate>,
        duration: Duration,
    ) -> Result<Turn, BenchError> {
        let WiredTestbed { rig, device, ends, .. } = self;
        device.wake();
        let worked_of = |device: &dyn Wired| rig.worked() + device.worked();
        let (worked, full) = (worked_of(device.as_ref()), rig.full());
        let fast = device.fast_path();
        let (mut ran, cost) = ends.trial(rig, device.as_mut(), rate, duration)?;
        ran.worked += worked_of(device.as_ref()).saturating_sub(worked);
        device.rest();
        let full = rig.full() - full;
        ran.judge(|counts, _| counts.tester_rx_drop += full);
        let received = ran.trial.counts.received;
        let fast_path_share = fast
            .zip(device.fast_path())
            .and_then(|(before, after)| share(after.saturating_sub(before), received));
        Ok(Turn { ran, fast_path_share, cost })
    }
}

/// The kernel, for a row: its script, its table, and the tester's hosts.
fn kernel(rig: &Rig, row: &Configuration, table: Option<&Table>) -> Result<Kernel, Cannot> {
    let mut kernel = Kernel::set_up(rig, row.script)?;
    if let Some(said) = &kernel.no_flow_table {
        return Err(Cannot::Omitted(format!("this kernel has no flow tables (nft: {said})")));
    }
    if row.mode == Mode::Routing {
        kernel.knows_hosts(rig)?;
    }
    if let Some(table) = table {
        kernel.feed(rig, table)?;
    }
    Ok(kernel)
}

/// The device as the tester gets to know it.
struct Side<'a> {
    device: &'a mut dyn Wired,
    rig: &'a Rig,
    clock: Clock,
}

impl Behind for Side<'_> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn settle(&mut self) -> usize {
        // The kernel's part wants a processor, too.
        std::thread::yield_now();
        self.device.settle()
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn macs(&self) -> Option<[MacAddr; 2]> {
        self.device.macs()
    }

    fn drops(&mut self) -> String {
        self.device.drops(self.rig)
    }
}

/// What the tester can do by itself, found when it is asked for and kept.
#[derive(Default)]
pub struct Limits {
    known: BTreeMap<(Traffic, Family, FrameLen), Alone>,
}

impl Limits {
    /// The most frames of a size it sends and takes in again with no device between.
    ///
    /// # Errors
    /// [`BenchError`].
    pub fn of(&mut self, job: &Job<'_>, frame: FrameLen) -> Result<&Alone, BenchError> {
        let Configuration { traffic, family, .. } = *job.configuration;
        match self.known.entry((traffic, family, frame)) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => Ok(unknown.insert(alone(job, frame)?)),
        }
    }
}

fn alone(job: &Job<'_>, frame: FrameLen) -> Result<Alone, BenchError> {
    let mut patched = WiredTestbed::patched(job)?;
    patched.prepare(job, frame)?;
    let mut alone = Alone::default();
    // A veth that was just switched on may carry nothing in trials that are over in milliseconds: that is
    // not what it can do.
    let mut carried = 0;
    while carried < 3 && alone.trials.len() < 30 {
        let ran = WiredTestbed::trial(&mut patched, None, job.plan.short())?.ran;
        carried += u32::from(ran.trial.counts.received > 0);
        alone.add(ran.trial.forwarding_rate(), ran.record(kind::SELF_TEST, None));
    }
    Ok(alone)
}

impl Device for WiredTestbed {
    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn ready(
        &mut self,
        job: &Job<'_>,
        frame: FrameLen,
        limits: &mut Limits,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Alone>, BenchError> {
        let alone = limits.of(job, frame)?.clone();
        let why = match self.prepare(job, frame) {
            Ok(()) => return Ok(Some(alone)),
            Err(BenchError::Unfit(_, unfit)) if unfit.forwards() => unfit,
            Err(error) => return Err(error),
        };
        let why = format!("{} byte: {why}", frame.l2());
        progress(Progress::Omitted(&Setup { omitted: Some(why.clone()), ..self.setup.clone() }));
        let before = self.setup.omitted.take().map(|before| before + "; ");
        self.setup.omitted = Some(before.unwrap_or_default() + &why);
        Ok(None)
    }

    fn trial(&mut self, load: Option<PacketRate>, duration: Duration) -> Result<Turn, BenchError> {
        WiredTestbed::trial(self, load, duration)
    }

    fn unfair(&self) -> Option<&'static str> {
        self.device.unfair()
    }

    fn medium(&self, cost: &Cost) -> Medium {
        let [generator, receiver] = self.ends.names(cost);
        Medium { wire: "veth".to_string(), generator, receiver, placement: self.rig.placement() }
    }

    fn finish(mut self: Box<Self>) -> Option<Setup> {
        self.setup.witness = self.device.witness(&self.rig);
        Some(self.setup)
    }
}
