//! The built-in router in memory: the rows of its table.
//!
//! ```text
//! script, routes ─► Device ══ memory ══ Tester ─► one core, or two ─► Row
//! ```

use super::wired::Job;
use super::{BenchError, Kept, Plan, Progress, criterion, is_disturbed, is_repeated, share};
use crate::configuration::Configuration;
use crate::device::{self, Device, fast_path_packets};
use crate::jumbo;
use crate::one_core;
use crate::placement::{self, Pair};
use crate::routes::Table;
use crate::tester::Tester;
use crate::two_cores::{Bench, Patch, Routed};
use measure::latency_histogram::LatencyHistogram;
use measure::result::{Met, kind};
use measure::suite_result::TrialRecord;
use measure::{Measured, Medium, Trial};
use router::Router;
use std::time::Duration;
use wire::{FrameLen, PacketRate};

/// What it is called in results.
pub const DEVICE: &str = "wirespeed router";

/// Measures all rows of one configuration.
///
/// # Errors
/// [`BenchError`].
pub(super) fn measure(
    job: &Job<'_>,
    kept: &Kept,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), BenchError> {
    let Job { plan, configuration, table, environment } = *job;
    let (mut device, mut tester, remark) = set_up(configuration, table, plan.longest())?;
    for &frame in &plan.sizes {
        progress(Progress::Begin(DEVICE, configuration, frame));
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
            met: cell.met,
            tester: cell.tester,
            latency: cell.latency,
            trials: cell.trials,
            medium: Medium::default(),
            environment: environment.clone(),
        }
        .row();
        row.remark = match (row.remark, &remark) {
            (Some(one), Some(other)) => Some(format!("{one}; {other}")),
            (one, other) => one.or_else(|| other.clone()),
        };
        kept.row(row.clone());
        progress(Progress::Done(&row));
    }
    Ok(())
}

/// What was measured of one cell.
struct Cell {
    trial: Trial,
    worked: Duration,
    fast_path_share: Option<f64>,
    met: Option<Met>,
    tester: Option<PacketRate>,
    latency: LatencyHistogram,
    trials: Vec<TrialRecord>,
}

/// The device fed from memory. The tester cannot be the limit: its time does not count.
fn on_one_core(plan: &Plan, device: &mut Device, tester: &mut Tester) -> Cell {
    let mut trials = vec![];
    let (trial, fast) = loop {
        let before = fast_path_packets(&device.router);
        let trial = one_core::trial(device, tester, plan.duration);
        let fast = fast_path_packets(&device.router) - before;
        trials.push(TrialRecord::plain(kind::HIGHEST, 0.0, trial.duration, &trial, None));
        if !is_repeated(&trial, trials.len() as u32 - 1) {
            break (trial, fast);
        }
    };
    Cell {
        trial,
        worked: trial.duration,
        fast_path_share: share(fast, trial.counts.received),
        met: None,
        tester: None,
        latency: measure::receive::latency([]),
        trials,
    }
}

/// The tester alone, then the highest load, then the search below it.
fn on_two_cores(
    plan: &Plan,
    pair: Pair,
    device: &mut Device,
    tester: &mut Tester,
) -> Result<Cell, BenchError> {
    let short = plan.short();
    let clock = device.clock;
    let Device { router, ports, .. } = device;
    let mut bench = Bench { tester, clock, pair: Some(pair), yields: false };
    let mut patch = Patch::new(ports, bench.tester.pool.slab());
    // What it did once it can do, however busy the machine was the other times.
    let (mut trials, mut alone) = (vec![], PacketRate(0.0));
    loop {
        let test = bench.self_test(Some(&mut patch), short).map_err(BenchError::Placement)?;
        let (ran, n) = (&test.trial, trials.len() as u32);
        trials.push(TrialRecord::plain(kind::SELF_TEST, 0.0, ran.duration, ran, None));
        alone = PacketRate(alone.0.max(test.highest.0));
        if !is_repeated(ran, n) {
            break;
        }
    }
    let mut trial = |router: &mut Router, load, duration| {
        let (left, came) = (device::left(router), device::came(&bench.tester.wires));
        let dut = &mut Routed { router, ports };
        let mut ran = bench.trial(Some(dut), load, duration).map_err(BenchError::Placement)?;
        let (left, came) = (device::left(router) - left, device::came(&bench.tester.wires) - came);
        ran.judge(|_, conditions| conditions.device_says = Some((left, came)));
        Ok::<_, BenchError>(ran)
    };
    let mut repeats = 0;
    let (ran, fast) = loop {
        let distance = || placement::round_trip_ns(pair).map_err(BenchError::Placement);
        let before = distance()?;
        let quick = fast_path_packets(router);
        let mut ran = trial(router, None, plan.duration)?;
        let fast = fast_path_packets(router) - quick;
        let after = distance()?;
        ran.judge(|_, conditions| conditions.placement_ns = Some((before, after)));
        trials.push(ran.record(kind::HIGHEST, None));
        if !is_repeated(&ran.trial, repeats) {
            break (ran, fast);
        }
        repeats += 1;
    };

    let rate = ran.trial.forwarding_rate();
    // What it did with a device it can do alone, however busy the machine was meanwhile.
    let most = PacketRate(alone.0.max(rate.0));
    // A search begins at the rate at the highest load: of a machine that is busy there is none.
    let met = match is_disturbed(&ran.trial) {
        true => None,
        false => criterion::search(plan, (rate, most), ran.trial, |load, duration| {
            let ran = trial(router, Some(load), duration)?;
            trials.push(ran.record(kind::SEARCH, Some(load)));
            Ok(ran.trial)
        })?,
    };
    Ok(Cell {
        trial: ran.trial,
        worked: ran.worked,
        fast_path_share: share(fast, ran.trial.counts.received),
        met,
        tester: Some(alone),
        latency: ran.latency,
        trials,
    })
}

/// The device with its script and its routes, and what to remark about these.
fn set_up(
    configuration: &Configuration,
    table: Option<&Table>,
    longest: FrameLen,
) -> Result<(Device, Tester, Option<String>), BenchError> {
    let device = Device::with_slots(2, jumbo::slots(longest));
    let (mut device, wires) = device.map_err(BenchError::Slab)?;
    let Ok(wires) = <[_; 2]>::try_from(wires) else { unreachable!("two ports have two wires") };
    let tester = Tester::new(wires, device.slab());
    device.load(configuration.file, configuration.script).map_err(BenchError::Load)?;
    device.load(configuration.file, &jumbo::command(longest)).map_err(BenchError::Load)?;
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
