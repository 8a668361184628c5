//! The built-in router in memory.
//!
//! ```text
//! script, routes ─► Device ══ memory ══ Tester      on one core, or two
//! ```
//!
//! On one core it is fed from memory, and only its own time counts: the tester cannot be the limit, and
//! there is no load it could keep to.

use super::device::{Alone, Device, Job, Turn};
use super::ends::Cost;
use super::wired::Limits;
use super::{BenchError, Progress, is_repeated, share};
use crate::device;
use crate::jumbo;
use crate::net::Net;
use crate::one_core;
use crate::placement::{self, Pair};
use crate::tester::row::RowTester;
use crate::two_cores::{Bench, Patch, Ran};
use measure::Family;
use measure::result::{Setup, kind};
use measure::suite_result::TrialRecord;
use measure::trial::Conditions;
use router::Router;
use std::time::Duration;
use wire::{FrameLen, PacketRate};

/// What it is called in results.
pub(super) const DEVICE: &str = "wirespeed router";

/// And two of them, one behind the other.
const CHAIN: &str = "two wirespeed routers";

/// How long a tunnel between them may take to come up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The router and its tester.
pub(super) struct Memory {
    device: device::Device,
    row: RowTester,
    pair: Option<Pair>,
    is_chain: bool,
    remark: Option<String>,
}

impl Memory {
    /// The device with a row's script and its routes.
    ///
    /// # Errors
    /// [`BenchError`].
    pub(super) fn new(job: &Job<'_>) -> Result<Memory, BenchError> {
        let (longest, file) = (job.plan.longest(), job.configuration.file);
        let device = match job.configuration.far {
            Some(_) => device::Device::chained(jumbo::slots(longest)),
            None => device::Device::with_slots(2, jumbo::slots(longest)),
        };
        let (mut device, wires) = device.map_err(BenchError::Slab)?;
        let Ok(wires) = <[_; 2]>::try_from(wires) else { unreachable!("two ports, two wires") };
        let mut row = RowTester::new(wires, device.slab());
        row.net = Net::of(job.configuration.family);
        device.load(file, job.configuration.script).map_err(BenchError::Load)?;
        device.load(file, &jumbo::command(longest)).map_err(BenchError::Load)?;
        if let (Some(script), Some(far)) = (job.configuration.far, device.far()) {
            far.load(file, script).map_err(BenchError::Load)?;
            connect(&mut device);
        }
        let (pair, is_chain) = (job.plan.pair, job.configuration.far.is_some());
        let mut memory = Memory { device, row, pair, is_chain, remark: None };
        if let Some(table) = job.table {
            let (device, family) = (&mut memory.device, job.configuration.family);
            let start = device.clock.now();
            device.feed(family, table).map_err(BenchError::Routes)?;
            let took = device.clock.now().since(start).as_secs_f64();
            let (n, fib) = (table.len(family), device.router.routes().fib());
            let bytes = [fib.bytes(), fib.bytes_with_routes()].map(|b| b as f64 / n.max(1) as f64);
            let [lookups, all] = bytes;
            let loaded = format!("{n} routes ({}) loaded in {took:.2} s", table.source);
            memory.remark = Some(match family {
                Family::Ipv4 => format!(
                    "{loaded}, {lookups:.1} bytes a route to look up, {all:.1} with what changing \
                     them needs"
                ),
                // The table of IPv6 does not tell its size.
                Family::Ipv6 => loaded,
            });
        }
        Ok(memory)
    }

    /// The tester on its core, with a patch for a device on the other.
    fn alone(&mut self, pair: Pair, duration: Duration) -> Result<Alone, BenchError> {
        let Memory { device, row, .. } = self;
        let (clock, slab) = (device.clock, device.slab().clone());
        let mut bench = Bench { row, clock, pair: Some(pair), yields: false };
        let mut patch = Patch::new(&mut device.ports, &slab);
        let mut alone = Alone::default();
        loop {
            let n = alone.trials.len() as u32;
            let ran = bench.trial(Some(&mut patch), None, duration);
            let trial = ran.map_err(BenchError::Placement)?.trial;
            let record = TrialRecord::plain(kind::SELF_TEST, 0.0, trial.duration, &trial, None);
            alone.add(trial.forwarding_rate(), record);
            if !is_repeated(&trial, n) {
                return Ok(alone);
            }
        }
    }

    /// On two cores; as fast as it can, the distance between them is looked at, too.
    fn on_two_cores(
        &mut self,
        pair: Pair,
        load: Option<PacketRate>,
        duration: Duration,
    ) -> Result<Ran, BenchError> {
        let Memory { device, row, .. } = self;
        let distance = || match load {
            None => placement::round_trip_ns(pair).map(Some).map_err(BenchError::Placement),
            Some(_) => Ok(None),
        };
        let before = distance()?;
        let (left, came) = (device.left(), device::came(&row.tester.wires));
        let mut bench = Bench { row, clock: device.clock, pair: Some(pair), yields: false };
        let mut ran = bench.trial(Some(device), load, duration).map_err(BenchError::Placement)?;
        let (left, came) = (device.left() - left, device::came(&row.tester.wires) - came);
        let placement_ns = before.zip(distance()?);
        ran.judge(|_, conditions| {
            conditions.device_says = Some((left, came));
            conditions.placement_ns = placement_ns;
        });
        Ok(ran)
    }
}

impl Device for Memory {
    fn name(&self) -> &'static str {
        if self.is_chain { CHAIN } else { DEVICE }
    }

    fn ready(
        &mut self,
        job: &Job<'_>,
        frame: FrameLen,
        _: &mut Limits,
        _: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Alone>, BenchError> {
        let (traffic, file) = (job.configuration.traffic, job.configuration.file);
        let Memory { device, row, pair, .. } = self;
        let prepared = row.prepare(device, traffic, job.table, frame, job.plan.seed);
        prepared.map_err(|unfit| BenchError::Unfit(file, unfit))?;
        match *pair {
            None => Ok(Some(Alone::default())),
            Some(pair) => self.alone(pair, job.plan.short()).map(Some),
        }
    }

    fn trial(&mut self, load: Option<PacketRate>, duration: Duration) -> Result<Turn, BenchError> {
        let fast = self.device.fast_path_packets();
        let ran = match self.pair {
            Some(pair) => self.on_two_cores(pair, load, duration)?,
            None => {
                let trial = one_core::trial(&mut self.device, &mut self.row, duration);
                let (worked, conditions) = (trial.duration, Conditions::default());
                let latency = measure::receive::latency([]);
                Ran { trial, worked, tester_worked: None, latency, conditions }
            }
        };
        let fast = self.device.fast_path_packets() - fast;
        let fast_path_share = share(fast, ran.trial.counts.received);
        Ok(Turn { ran, fast_path_share, cost: Cost::default() })
    }

    fn takes_loads(&self) -> bool {
        self.pair.is_some()
    }

    fn remark(&self) -> Option<String> {
        self.remark.clone()
    }

    fn finish(self: Box<Self>) -> Option<Setup> {
        None
    }
}

/// Waits until the tunnel `t1` runs, if there is one; what does not run carries nothing, which the tester
/// says.
fn connect(device: &mut device::Device) {
    let end = device.clock.now() + PATIENCE;
    let runs = |router: &Router| {
        let tunnel = router.program().names.find("t1");
        tunnel.is_none_or(|id| router.program().runs(id))
    };
    while !runs(&device.router) && device.clock.now() < end {
        device.breathe();
        std::thread::sleep(Duration::from_millis(1));
    }
}
