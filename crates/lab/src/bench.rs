//! All cells of the performance table.
//!
//! ```text
//! for each configuration: Device, script, routes
//!    for each frame size: introduce, warm up ─► highest load ─► search ─► Row
//! ```

use crate::configuration::{Configuration, Traffic};
use crate::device::{Device, LoadError};
use crate::one_core;
use crate::routes::Table;
use crate::tester::{Tester, Unfit};
use measure::result::SCHEMA;
use measure::{Environment, Measured, Results, Row};
use port::slab::SlabError;
use router::ip::route::TooManyTargets;
use std::fmt;
use std::time::Duration;
use wire::FrameLen;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// 1 or 2; see [`one_core`] and [`two_cores`](crate::two_cores).
    pub cores: u32,
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
    /// A device does not do what its row says.
    Unfit(&'static str, Unfit),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Slab(error) => write!(f, "no frames for the device: {error}"),
            BenchError::Load(error) => error.fmt(f),
            BenchError::Routes(error) => write!(f, "feeding the routes: {error}"),
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

/// How long a full table took to load, and what it takes.
#[derive(Clone, Debug)]
struct Loaded {
    remark: String,
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
        let (mut device, mut tester, loaded) = set_up(configuration, table)?;
        for &frame in &plan.sizes {
            progress(Progress::Begin(configuration, frame));
            tester
                .prepare(&mut device, configuration.traffic, table, frame, plan.seed)
                .map_err(|unfit| BenchError::Unfit(configuration.file, unfit))?;
            let before = device.fast_path_packets();
            let trial = one_core::trial(&mut device, &mut tester, plan.duration);
            let fast = device.fast_path_packets() - before;
            let mut row = Measured {
                device: DEVICE.to_string(),
                mode: configuration.mode,
                configuration: configuration.name.to_string(),
                frame,
                cores: 1,
                trial,
                router_time: Some(trial.duration),
                fast_path_share: share(fast, trial.counts.received),
                wire: None,
                no_drop: None,
                tester: None,
                latency: None,
                environment: environment.clone(),
            }
            .row();
            if let Some(loaded) = &loaded {
                row.remark.get_or_insert_with(|| loaded.remark.clone());
            }
            progress(Progress::Done(&row));
            rows.push(row);
        }
    }
    Ok(Results { schema: SCHEMA.to_string(), environment: environment.clone(), rows })
}

/// What our own router is called in results.
pub const DEVICE: &str = "wirespeed router";

fn set_up(
    configuration: &Configuration,
    table: Option<&Table>,
) -> Result<(Device, Tester, Option<Loaded>), BenchError> {
    let (mut device, wires) = Device::new(2).map_err(BenchError::Slab)?;
    let Ok(wires) = <[_; 2]>::try_from(wires) else { unreachable!("two ports have two wires") };
    let tester = Tester::new(wires, device.slab());
    device.load(configuration.file, configuration.script).map_err(BenchError::Load)?;
    let Some(table) = table else { return Ok((device, tester, None)) };
    let ports = ["ether1", "ether2"].map(|name| device.router.program().names.find(name));
    let [Some(a), Some(b)] = ports else { unreachable!("the device has two ports") };
    let start = device.clock.now();
    table.feed(&mut device.router, [a, b]).map_err(BenchError::Routes)?;
    let took = device.clock.now().since(start);
    let (n, fib) = (table.prefixes.len(), device.router.routes().fib());
    let remark = format!(
        "{}: {n} routes, loaded in {:.2} s, {:.1} bytes each for look-ups",
        table.source,
        took.as_secs_f64(),
        fib.bytes() as f64 / n.max(1) as f64
    );
    Ok((device, tester, Some(Loaded { remark })))
}

fn share(fast: u64, received: u64) -> Option<f64> {
    (received > 0).then(|| (fast as f64 / received as f64).min(1.0))
}
