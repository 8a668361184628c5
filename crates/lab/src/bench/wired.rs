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

use super::commands::is_there;
use super::ends::{Cost, Ends};
use super::patch::Patch;
use super::ping;
use super::veth::Rig;
use super::{
    BenchError, Kept, Kind, Plan, Progress, criterion, is_repeated, linux, ours, share, testpmd,
};
use crate::clock::Clock;
use crate::configuration::{Configuration, Traffic};
use crate::routes::Table;
use crate::tester::Behind;
use crate::two_cores::{Dut, Ran};
use measure::result::{Medium, Met, Setup, kind};
use measure::suite_result::TrialRecord;
use measure::{Environment, Measured, Row};
use port::linux::xdp::{Options, XdpPort};
use port::linux::{Namespace, Unavailable};
use port::{Port, Slab};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
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

    /// Where frames to be routed go, if it does not say so itself by ARP.
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
    fn drops(&mut self) -> String {
        "nothing that it tells".to_string()
    }

    /// What it says of what it did.
    fn witness(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Why there is no device for a row.
#[derive(Debug)]
pub enum Cannot {
    /// It cannot do what the row asks for: the reason stands in the result.
    Omitted(String),
    /// Something else went wrong.
    Failed(BenchError),
}

impl From<BenchError> for Cannot {
    fn from(error: BenchError) -> Cannot {
        Cannot::Failed(error)
    }
}

impl From<Unavailable> for Cannot {
    fn from(unavailable: Unavailable) -> Cannot {
        Cannot::Failed(unavailable.into())
    }
}

/// A configuration to be measured.
pub struct Job<'a> {
    /// The run it belongs to.
    pub plan: &'a Plan,
    /// What is asked of the devices.
    pub configuration: &'static Configuration,
    /// The full table, if the row needs one.
    pub table: Option<&'a Table>,
    /// Where and how.
    pub environment: &'a Environment,
}

/// A device on its wires, and the tester at the other ends.
pub struct WiredTestbed {
    rig: Arc<Rig>,
    device: Box<dyn Wired>,
    ends: Ends,
    clock: Clock,
    plan: Plan,
    /// Its trials since it was made ready.
    trials: Vec<TrialRecord>,
    /// How it was set up.
    pub setup: Setup,
}

/// What a trial gave, and what the device says of it.
pub struct Turn {
    /// The trial; its time worked is the device's, the kernel's part included.
    pub ran: Ran,
    /// The share of frames that the slow path was spared.
    pub fast_path_share: Option<f64>,
    /// What it cost the tester.
    pub cost: Cost,
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
        let (rig, clock) = (Arc::new(rig), Clock::start());
        let (mut device, commands): (Box<dyn Wired>, Vec<String>) = match kind {
            Kind::Linux => {
                let (kernel, commands) = linux::set_up(&rig, configuration, table)?;
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
            None => {
                ping = Some(ping::through(&rig, plan.pair, device.as_mut(), configuration.mode)?)
            }
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
        let rig = Arc::new(Rig::for_frames(job.plan.longest(), 2, job.plan.pair)?);
        let patch = Box::new(Patch::new(&rig)?);
        let setup = no_setup(patch.name(), job.configuration);
        WiredTestbed::with(rig, patch, Clock::start(), job.plan, setup)
    }

    fn with(
        rig: Arc<Rig>,
        device: Box<dyn Wired>,
        clock: Clock,
        plan: &Plan,
        setup: Setup,
    ) -> Result<WiredTestbed, BenchError> {
        let ends = Ends::open(&rig, clock, plan.pair, plan.generator)?;
        Ok(WiredTestbed { rig, device, ends, clock, plan: plan.clone(), trials: vec![], setup })
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
        self.trials.clear();
        let WiredTestbed { rig, device, ends, clock, .. } = self;
        device.wake();
        let mut side = Side { device: device.as_mut(), clock: *clock };
        let prepared = ends.prepare(rig, &mut side, job, frame);
        device.rest();
        prepared
    }

    /// Makes it ready as [`prepare`](Self::prepare) does. If it forwards, and loses frames before it
    /// is measured, there is no row of this size: that is noted, and `false`.
    ///
    /// # Errors
    /// As of `prepare`, of a device that does not forward at all.
    pub(super) fn is_ready(
        &mut self,
        job: &Job<'_>,
        frame: FrameLen,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<bool, BenchError> {
        let why = match self.prepare(job, frame) {
            Ok(()) => return Ok(true),
            Err(BenchError::Unfit(_, unfit)) if unfit.forwards() => unfit,
            Err(error) => return Err(error),
        };
        let why = format!("{} byte: {why}", frame.l2());
        progress(Progress::Omitted(&Setup { omitted: Some(why.clone()), ..self.setup.clone() }));
        let before = self.setup.omitted.take().map(|before| before + "; ");
        self.setup.omitted = Some(before.unwrap_or_default() + &why);
        Ok(false)
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
        let kind = if rate.is_some() { kind::SEARCH } else { kind::HIGHEST };
        self.trials.push(ran.record(kind, rate));
        let received = ran.trial.counts.received;
        let fast_path_share = fast
            .zip(device.fast_path())
            .and_then(|(before, after)| share(after.saturating_sub(before), received));
        Ok(Turn { ran, fast_path_share, cost })
    }

    /// A trial at the highest load the tester can offer: once more, a few times at most, if it says
    /// nothing.
    ///
    /// # Errors
    /// As of [`trial`](Self::trial).
    pub fn highest(&mut self) -> Result<Turn, BenchError> {
        let mut repeats = 0;
        loop {
            let turn = self.trial(None, self.plan.duration)?;
            if !is_repeated(&turn.ran.trial, repeats) {
                return Ok(turn);
            }
            repeats += 1;
        }
    }

    /// The row of a trial at the highest load.
    pub fn row(
        &self,
        job: &Job<'_>,
        frame: FrameLen,
        turn: &Turn,
        alone: &Alone,
        met: Option<Met>,
    ) -> Row {
        let [generator, receiver] = self.ends.names(&turn.cost);
        let mut row = Measured {
            device: self.name().to_string(),
            mode: job.configuration.mode,
            configuration: job.configuration.name.to_string(),
            frame,
            cores: if job.plan.pair.is_some() { 2 } else { 1 },
            trial: turn.ran.trial,
            router_time: Some(turn.ran.worked),
            fast_path_share: turn.fast_path_share,
            wire: None,
            met,
            tester: Some(alone.rate),
            latency: turn.ran.latency.clone(),
            trials: alone.trials.iter().chain(&self.trials).cloned().collect(),
            medium: Medium {
                wire: "veth".to_string(),
                generator,
                receiver,
                placement: self.rig.placement(),
            },
            environment: job.environment.clone(),
        }
        .row();
        let remarks = [row.remark.take(), self.device.unfair().map(str::to_string)];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        row.remark = (!remarks.is_empty()).then(|| remarks.join("; "));
        row
    }

    /// What is said of it in the result, now that it has been measured.
    pub fn finish(mut self) -> Setup {
        self.setup.witness = self.device.witness();
        self.setup
    }
}

/// A set-up with nothing done yet.
pub(super) fn no_setup(device: &str, configuration: &Configuration) -> Setup {
    Setup {
        device: device.to_string(),
        mode: configuration.mode,
        configuration: configuration.name.to_string(),
        cables: Vec::new(),
        commands: Vec::new(),
        witness: Vec::new(),
        remarks: Vec::new(),
        omitted: None,
        ping: None,
    }
}

/// The device as the tester gets to know it.
struct Side<'a> {
    device: &'a mut dyn Wired,
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
        self.device.drops()
    }
}

/// What the tester can do by itself with frames of one size, and the trials that say so.
pub struct Alone {
    rate: PacketRate,
    trials: Vec<TrialRecord>,
}

impl Alone {
    /// Its rate; what it did with a device it can do alone, however busy the machine was meanwhile.
    fn at_least(&self, rate: PacketRate) -> PacketRate {
        PacketRate(self.rate.0.max(rate.0))
    }
}

/// What the tester can do by itself, found when it is asked for and kept.
#[derive(Default)]
pub struct Limits {
    known: BTreeMap<(Traffic, FrameLen), Alone>,
}

impl Limits {
    /// The most frames of a size it sends and takes in again with no device between.
    ///
    /// # Errors
    /// [`BenchError`].
    pub fn of(&mut self, job: &Job<'_>, frame: FrameLen) -> Result<&Alone, BenchError> {
        match self.known.entry((job.configuration.traffic, frame)) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => Ok(unknown.insert(alone(job, frame)?)),
        }
    }
}

fn alone(job: &Job<'_>, frame: FrameLen) -> Result<Alone, BenchError> {
    let mut stand = WiredTestbed::patched(job)?;
    stand.prepare(job, frame)?;
    let mut alone = Alone { rate: PacketRate(0.0), trials: vec![] };
    // What it did once it can do, however busy the machine was the other times. A veth that was just
    // switched on may carry nothing in trials that are over in milliseconds: that is not what it can do.
    let (mut carried, mut tries) = (0, 0);
    while carried < 3 && tries < 30 {
        let ran = stand.trial(None, job.plan.short())?.ran;
        carried += u32::from(ran.trial.counts.received > 0);
        tries += 1;
        alone.rate = alone.at_least(ran.trial.forwarding_rate());
        alone.trials.push(ran.record(kind::SELF_TEST, None));
    }
    Ok(alone)
}

/// Measures all rows of one configuration of one device.
///
/// # Errors
/// [`BenchError`].
pub(super) fn measure(
    kind: &Kind,
    job: &Job<'_>,
    limits: &mut Limits,
    kept: &Kept,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), BenchError> {
    let Some(mut stand) = set_up(kind, job, kept, progress)? else { return Ok(()) };
    for &frame in &job.plan.sizes {
        progress(Progress::Begin(stand.name(), job.configuration, frame));
        let alone = limits.of(job, frame)?;
        if !stand.is_ready(job, frame, progress)? {
            continue;
        }
        let highest = stand.highest()?;
        let rate = highest.ran.trial.forwarding_rate();
        let rates = (rate, alone.at_least(rate));
        let met = criterion::search(job.plan, rates, highest.ran.trial, |load, duration| {
            Ok(stand.trial(Some(load), duration)?.ran.trial)
        })?;
        let row = stand.row(job, frame, &highest, alone, met);
        kept.row(row.clone());
        progress(Progress::Done(&row));
    }
    kept.setup(stand.finish());
    Ok(())
}

/// A device's stand; none if it cannot do this row, which is noted then.
///
/// # Errors
/// [`BenchError`].
pub(super) fn set_up(
    kind: &Kind,
    job: &Job<'_>,
    kept: &Kept,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Option<WiredTestbed>, BenchError> {
    match WiredTestbed::new(kind, job) {
        Ok(stand) => Ok(Some(stand)),
        Err(Cannot::Failed(error)) => Err(error),
        Err(Cannot::Omitted(reason)) => {
            let omitted = Some(reason);
            let setup = Setup { omitted, ..no_setup(kind.name(), job.configuration) };
            progress(Progress::Omitted(&setup));
            kept.setup(setup);
            Ok(None)
        }
    }
}
