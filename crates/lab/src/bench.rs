//! All cells of the performance table.
//!
//! ```text
//! for each configuration: Device, script, routes
//!    for each frame size: introduce, warm up ─► highest load ─► search ─► Row
//! ```

use crate::configuration::{Configuration, Traffic};
use crate::device::{Device, LoadError, fast_path_packets};
use crate::one_core;
use crate::placement::{self, Pair};
use crate::routes::Table;
use crate::tester::{Tester, Unfit};
use crate::two_cores::Bench;
use measure::result::SCHEMA;
use measure::trial::Outcome;
use measure::{Environment, Latency, Measured, Results, Row, Search, Trial};
use port::slab::SlabError;
use router::ip::route::TooManyTargets;
use std::fmt;
use std::time::Duration;
use wire::{FrameLen, PacketRate};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Two processors for tester and device ([`two_cores`](crate::two_cores)); none to run on one
    /// ([`one_core`]).
    pub pair: Option<Pair>,
    /// The frame sizes.
    pub sizes: Vec<FrameLen>,
    /// The rows.
    pub configurations: Vec<&'static Configuration>,
    /// Of each trial at the highest load.
    pub duration: Duration,
    /// Where random choices start from.
    pub seed: u64,
    /// The full table; a made-up one if there is none.
    pub table: Option<Table>,
}

/// A run could not go on.
#[derive(Debug)]
pub enum BenchError {
    /// No frames.
    Slab(SlabError),
    /// A script was refused.
    Load(LoadError),
    /// The routes do not fit.
    Routes(TooManyTargets),
    /// A thread could not be put on its processor.
    Placement(std::io::Error),
    /// A device does not do what its row says.
    Unfit(&'static str, Unfit),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Slab(error) => write!(f, "no frames for the device: {error}"),
            BenchError::Load(error) => error.fmt(f),
            BenchError::Routes(error) => write!(f, "feeding the routes: {error}"),
            BenchError::Placement(error) => {
                write!(
                    f,
                    "no processor of its own for tester and device each: {error}; try --cores 1"
                )
            }
            BenchError::Unfit(file, unfit) => write!(f, "{file}: {unfit}"),
        }
    }
}

impl std::error::Error for BenchError {}

/// What a run says while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A cell is about to be measured.
    Begin(&'a Configuration, FrameLen),
    /// It was.
    Done(&'a Row),
}

/// Runs everything and returns all rows.
///
/// # Errors
/// [`BenchError`]; the rows measured so far are lost.
pub fn run(
    plan: &Plan,
    environment: &Environment,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<Results, BenchError> {
    let mut rows = Vec::new();
    let mut made_up = None;
    for &configuration in &plan.configurations {
        let table = match (configuration.traffic, &plan.table) {
            (Traffic::Table, Some(table)) => Some(table),
            (Traffic::Table, None) => {
                let make = || Table::synthetic(crate::routes::SYNTHETIC, plan.seed);
                Some(&*made_up.get_or_insert_with(make))
            }
            _ => None,
        };
        let (mut device, mut tester, remark) = set_up(configuration, table)?;
        for &frame in &plan.sizes {
            progress(Progress::Begin(configuration, frame));
            tester
                .prepare(&mut device, configuration.traffic, table, frame, plan.seed)
                .map_err(|unfit| BenchError::Unfit(configuration.file, unfit))?;
            let cell = match plan.pair {
                None => on_one_core(plan, &mut device, &mut tester),
                Some(pair) => on_two_cores(plan, pair, &mut device, &mut tester)?,
            };
            let mut row = Measured {
                device: DEVICE.to_string(),
                mode: configuration.mode,
                configuration: configuration.name.to_string(),
                frame,
                cores: if plan.pair.is_some() { 2 } else { 1 },
                trial: cell.trial,
                router_time: Some(cell.worked),
                fast_path_share: cell.fast_path_share,
                wire: None,
                no_drop: cell.no_drop,
                tester: cell.tester,
                latency: cell.latency,
                environment: environment.clone(),
            }
            .row();
            row.remark = row.remark.or_else(|| remark.clone());
            progress(Progress::Done(&row));
            rows.push(row);
        }
    }
    Ok(Results { schema: SCHEMA.to_string(), environment: environment.clone(), rows })
}

/// What was measured of one cell.
struct Cell {
    trial: Trial,
    worked: Duration,
    fast_path_share: Option<f64>,
    no_drop: Option<PacketRate>,
    tester: Option<PacketRate>,
    latency: Option<Latency>,
}

/// The device fed from memory. The tester cannot be the limit: its time does not count.
fn on_one_core(plan: &Plan, device: &mut Device, tester: &mut Tester) -> Cell {
    let before = fast_path_packets(&device.router);
    let trial = one_core::trial(device, tester, plan.duration);
    let fast = fast_path_packets(&device.router) - before;
    Cell {
        trial,
        worked: trial.duration,
        fast_path_share: share(fast, trial.counts.received),
        no_drop: None,
        tester: None,
        latency: None,
    }
}

/// The tester alone, then the highest load, then the search below it.
fn on_two_cores(
    plan: &Plan,
    pair: Pair,
    device: &mut Device,
    tester: &mut Tester,
) -> Result<Cell, BenchError> {
    let short = (plan.duration / 5).clamp(Duration::from_millis(5), Duration::from_secs(1));
    let clock = device.clock;
    let Device { router, ports, .. } = device;
    let mut bench = Bench { ports, tester, clock, pair };
    let alone = bench.self_test(short).map_err(BenchError::Placement)?;

    let mut repeats = 0;
    let (ran, fast) = loop {
        let distance = || placement::round_trip_ns(pair).map_err(BenchError::Placement);
        let before = distance()?;
        let quick = fast_path_packets(router);
        let mut ran = bench.trial(router, None, plan.duration).map_err(BenchError::Placement)?;
        let fast = fast_path_packets(router) - quick;
        ran.judge((before, distance()?));
        if repeats == REPEATS || !matches!(ran.trial.outcome, Outcome::Invalid(_)) {
            break (ran, fast);
        }
        repeats += 1;
    };

    let rate = ran.trial.forwarding_rate();
    // What it did with a device it can do alone, however busy the machine was meanwhile.
    let alone = PacketRate(alone.highest.0.max(rate.0));
    let search = Search {
        lowest: rate * 0.05,
        highest: PacketRate(alone.0.min(rate.0 * 1.25)),
        precision: 0.02,
        confirmations: 1,
        repeats: 1,
        trials_max: 14,
    };
    let mut broken = None;
    let found = (rate.0 > 0.0).then(|| {
        search.run(|load| match bench.trial(router, Some(load), short) {
            Ok(ran) => ran.trial,
            Err(error) => {
                broken = Some(error);
                ran.trial
            }
        })
    });
    if let Some(error) = broken {
        return Err(BenchError::Placement(error));
    }
    Ok(Cell {
        trial: ran.trial,
        worked: ran.worked,
        fast_path_share: share(fast, ran.trial.counts.received),
        no_drop: found.and_then(|found| found.rate),
        tester: Some(alone),
        latency: ran.latency,
    })
}

/// How often a trial is repeated that says nothing about the device.
const REPEATS: u32 = 1;

/// What our own router is called in results.
pub const DEVICE: &str = "wirespeed router";

/// The device with its script and its routes, and what to remark about these.
fn set_up(
    configuration: &Configuration,
    table: Option<&Table>,
) -> Result<(Device, Tester, Option<String>), BenchError> {
    let (mut device, wires) = Device::new(2).map_err(BenchError::Slab)?;
    let Ok(wires) = <[_; 2]>::try_from(wires) else { unreachable!("two ports have two wires") };
    let tester = Tester::new(wires, device.slab());
    device.load(configuration.file, configuration.script).map_err(BenchError::Load)?;
    let Some(table) = table else { return Ok((device, tester, None)) };
    let ports = ["ether1", "ether2"].map(|name| device.router.program().names.find(name));
    let [Some(a), Some(b)] = ports else { unreachable!("the device has two ports") };
    let start = device.clock.now();
    table.feed(&mut device.router, [a, b]).map_err(BenchError::Routes)?;
    let took = device.clock.now().since(start).as_secs_f64();
    let (n, fib) = (table.prefixes.len(), device.router.routes().fib());
    let [lookups, all] = [fib.bytes(), fib.bytes_with_routes()].map(|b| b as f64 / n.max(1) as f64);
    let remark = format!(
        "{n} routes ({}) loaded in {took:.2} s; {lookups:.1} bytes a route to look up, {all:.1} \
         with what changing them needs",
        table.source,
    );
    Ok((device, tester, Some(remark)))
}

fn share(fast: u64, received: u64) -> Option<f64> {
    (received > 0).then(|| (fast as f64 / received as f64).min(1.0))
}
