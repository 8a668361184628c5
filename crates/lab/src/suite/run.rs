//! Running a plan: every configuration, every frame size, every procedure.
//!
//! ```text
//!  modifier ─► a device with its configuration ─► size: introduce, tester alone ─► procedures ─► cells
//! ```
//!
//! What was measured is never lost: an interrupted or broken run returns all cells so far, the one
//! under way with the trials it had, and says that it is incomplete and why.

use super::bench::{Bench, Place};
use super::plan::{Criterion, Modifier, Plan, Procedure, Traffic};
use super::real::Real;
use super::simulated::Simulated;
use crate::placement::Pair;
use measure::Environment;
use measure::mlrsearch::MlrSearch;
use measure::procedure::back_to_back::{self, BackToBack, Bursts};
use measure::procedure::bridge;
use measure::procedure::connections::{self, Capacity, Establishment};
use measure::procedure::frame_loss::{self, FrameLoss};
use measure::procedure::latency::{self, Latency};
use measure::procedure::recovery::{self, Recovery};
use measure::procedure::rfc6349::Path;
use measure::procedure::throughput::{self, Bisection, Throughput};
use measure::procedure::variation::{self, DelayVariation};
use measure::procedure::{Run, Stop};
use measure::result::Limit;
use measure::search::Bound;
use measure::suite_result::{
    Cell, Configuration, Figure, SCHEMA, SuiteResults, TesterAlone, TrialRecord, buckets, limit,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::{BitRate, FrameLen, PacketRate};

/// How a plan is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The plan's text, for the result.
    pub text: String,
    /// The device's configuration.
    pub script: String,
    /// Shortened.
    pub quick: bool,
    /// On these processors, or in virtual time.
    pub pair: Option<Pair>,
    /// Raised when the user has had enough.
    pub interrupt: Arc<AtomicBool>,
    /// Where and how.
    pub environment: Environment,
}

/// Where a run has got to.
#[derive(Debug)]
pub enum Progress<'a> {
    /// This is measured next.
    Begin {
        /// The modifier.
        configuration: &'a str,
        /// The length.
        frame: FrameLen,
        /// The procedure.
        procedure: &'a str,
    },
    /// This was.
    Done(&'a Cell),
}

/// How many cells a plan has.
pub fn cells(plan: &Plan) -> usize {
    let of = |procedure: &Procedure| {
        if procedure.is_of_smallest_frames() { 1 } else { plan.sizes.len() }
    };
    plan.modifiers.len() * plan.procedures.iter().map(of).sum::<usize>()
}

/// The plan as it is run: made short if that was asked for, and the words for it.
pub fn scaled(plan: &Plan, options: &Options) -> (Plan, Option<String>) {
    let scaling = match (options.pair, options.quick) {
        (None, _) => &plan.simulated.scaling,
        (Some(_), true) => &plan.quick,
        (Some(_), false) => return (plan.clone(), None),
    };
    let said = format!(
        "durations divided by {} (none below {:?}), {} repetitions at most, searches to {}%{}: \
         not the RFC's, and the names of the figures say so",
        scaling.divide_durations_by,
        scaling.shortest,
        scaling.repetitions_at_most,
        scaling.precision * 100.0,
        match scaling.counts_at_most {
            u64::MAX => String::new(),
            n => format!(", {n} connections or addresses at most"),
        }
    );
    (plan.clone().scaled(scaling), Some(said))
}

/// Runs a plan, which [`scaled`] gave, and returns what it measured, whatever happened.
pub fn run(
    plan: &Plan,
    scaling: Option<String>,
    options: &Options,
    mut progress: impl FnMut(Progress<'_>),
) -> SuiteResults {
    let link = if options.pair.is_some() { plan.link } else { plan.simulated.link };
    let (traffic, senders) = match plan.is_all_tcp() {
        true => (super::tcp::TRAFFIC, 1),
        false => (plan.traffic.describe(), plan.traffic.senders()),
    };
    let mut results = SuiteResults {
        schema: SCHEMA.to_string(),
        name: plan.name.clone(),
        plan: options.text.clone(),
        complete: false,
        incomplete_because: None,
        scaling,
        device: super::device::DEVICE.to_string(),
        medium: match options.pair {
            Some(_) => "2 cores, real time, memory wires".to_string(),
            None => plan.simulated.describe(),
        },
        virtual_time: options.pair.is_none(),
        traffic: traffic.to_string(),
        senders: senders as u32,
        wire_mbps: link.as_mbps(),
        latency_definition: match options.pair {
            Some(_) => "from handing the frame to the wire to taking it off (memory: no wire time)",
            None => "store-and-forward (RFC 1242 §3.8): last bit in to first bit out",
        }
        .to_string(),
        environment: options.environment.clone(),
        configurations: vec![],
        self_tests: vec![],
        cells: vec![],
    };
    match all(plan, options, &mut results, &mut progress) {
        Ok(()) => results.complete = true,
        Err(stop) => results.incomplete_because = Some(stop.to_string()),
    }
    results
}

fn all(
    plan: &Plan,
    options: &Options,
    results: &mut SuiteResults,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Stop> {
    let link = if options.pair.is_some() { plan.link } else { plan.simulated.link };
    let networks = match plan.traffic {
        Traffic::Hosts { .. } => vec![],
        _ => plan.networks.to_vec(),
    };
    for &modifier in &plan.modifiers {
        let script = options.script.clone() + "\n" + &modifier.commands(plan.networks);
        let name = modifier.name().to_string();
        results.configurations.push(Configuration { name, script: script.clone() });
        let (n, networks, interrupt) = (plan.ports, networks.clone(), options.interrupt.clone());
        match options.pair {
            Some(pair) => {
                // RFC 2544 §23 d; of a short run, longer than a busy machine takes a processor away.
                let quiet = Duration::from_millis(if options.quick { 20 } else { 2000 });
                let place = Real::new(n, &script, networks, pair, quiet, interrupt)?;
                let bench = Bench::new(place, plan, modifier, plan.link);
                Suite {
                    bench,
                    plan,
                    modifier,
                    results: &mut *results,
                    progress: &mut *progress,
                    path: None,
                    link,
                }
                .run()?;
            }
            None => {
                let place = Simulated::new(n, &script, networks, &plan.simulated, interrupt)?;
                let bench = Bench::new(place, plan, modifier, plan.simulated.link);
                Suite {
                    bench,
                    plan,
                    modifier,
                    results: &mut *results,
                    progress: &mut *progress,
                    path: None,
                    link,
                }
                .run()?;
            }
        }
    }
    Ok(())
}

/// One configuration's part.
struct Suite<'a, P> {
    bench: Bench<'a, P>,
    plan: &'a Plan,
    modifier: Modifier,
    results: &'a mut SuiteResults,
    progress: &'a mut dyn FnMut(Progress<'_>),
    /// What TCP found of the path, at the frames of now.
    path: Option<Path>,
    /// What every wire carries; a bottleneck's carries less.
    link: BitRate,
}

/// What a procedure found, before it is a cell.
#[derive(Default)]
pub(super) struct Finding {
    pub(super) figures: Vec<Figure>,
    pub(super) limited_by: Option<Limit>,
    pub(super) remarks: Vec<String>,
    pub(super) points: Vec<frame_loss::LossPoint>,
    pub(super) histogram: Vec<(u64, u64)>,
}

impl Finding {
    pub(super) fn of(figures: impl IntoIterator<Item = Figure>) -> Finding {
        Finding { figures: figures.into_iter().collect(), ..Finding::default() }
    }

    pub(super) fn remark(mut self, when: bool, text: impl Into<String>) -> Finding {
        if when {
            self.remarks.push(text.into());
        }
        self
    }
}

impl<P: Place> Suite<'_, P> {
    fn run(mut self) -> Result<(), Stop> {
        let smallest = self.plan.sizes.first().copied();
        for &frame in &self.plan.sizes {
            self.bench.prepare(frame)?;
            let alone = self.tester_alone(frame)?;
            let mut rate = None;
            self.path = None;
            for procedure in &self.plan.procedures {
                // RFC 2544 §26.6 and RFC 2889's addresses want the smallest frames only.
                if procedure.is_of_smallest_frames() && Some(frame) != smallest {
                    continue;
                }
                self.cell(procedure, frame, alone, &mut rate)?;
            }
        }
        Ok(())
    }

    /// The tester by itself, once for each length: what is measured with filters is measured with
    /// the same tester.
    fn tester_alone(&mut self, frame: FrameLen) -> Result<TesterAlone, Stop> {
        let known = self.results.self_tests.iter().find(|one| one.frame_size == frame.l2());
        if let Some(&known) = known {
            return Ok(known);
        }
        let alone = self.bench.self_test(Duration::from_millis(100))?;
        self.results.self_tests.push(alone);
        Ok(alone)
    }

    fn cell(
        &mut self,
        procedure: &Procedure,
        frame: FrameLen,
        alone: TesterAlone,
        rate: &mut Option<PacketRate>,
    ) -> Result<(), Stop> {
        let (configuration, name) = (self.modifier.name(), procedure.name());
        (self.progress)(Progress::Begin { configuration, frame, procedure: name });
        let highest = self.bench.highest();
        let simulated = self.results.virtual_time;
        let hosts_alone = match procedure {
            Procedure::Tcp(tcp) => self.bench.tcp_alone(tcp)?,
            _ => None,
        };
        let mut run = Run::new(&mut self.bench);
        let found = match procedure {
            Procedure::Tcp(tcp) => {
                let (path, frames) = (&mut self.path, (frame, self.link));
                let known = super::tcp::Known { alone: hosts_alone, simulated, frames, path };
                super::tcp::find(&mut run, tcp, known)
            }
            _ => find(&mut run, procedure, (highest, simulated), alone, rate),
        };
        let trials = run.journal.iter().map(TrialRecord::of).collect();
        let (found, stop) = match found {
            Ok(found) => (found, None),
            Err(stop) => (Finding::default().remark(true, format!("{stop}")), Some(stop)),
        };
        let cell = Cell {
            configuration: configuration.to_string(),
            frame_size: frame.l2(),
            procedure: name.to_string(),
            figures: found.figures,
            points: found.points,
            histogram: found.histogram,
            limited_by: found.limited_by,
            remarks: found.remarks,
            trials,
        };
        (self.progress)(Progress::Done(&cell));
        self.results.cells.push(cell);
        stop.map_or(Ok(()), Err)
    }
}

/// Runs a procedure. `rate` is the throughput found before, for those that want it.
fn find(
    run: &mut Run<'_>,
    procedure: &Procedure,
    (wire, simulated): (PacketRate, bool),
    alone: TesterAlone,
    rate: &mut Option<PacketRate>,
) -> Result<Finding, Stop> {
    let mol = PacketRate(alone.rate.min(wire.0));
    let by_search = |bound| match bound {
        Bound::Loss | Bound::TrialsSpent => Some(Limit::Device),
        Bound::Tester => Some(Limit::Tester),
        Bound::Highest => None,
    };
    let no_rate = "no throughput was found that this could be measured at";
    Ok(match procedure {
        Procedure::Throughput { criteria, trial, confirmation, precision, lowest, highest } => {
            let bounds = (mol * *lowest, PacketRate((wire.0 * highest).min(mol.0)));
            let found = throughputs(run, criteria, (*trial, *confirmation), *precision, bounds)?;
            // The first criterion's is what the other procedures are run at.
            *rate = found.first().and_then(|first| first.rate);
            // Simulated wires are the limit there is: no tester is.
            let alone = if simulated { f64::INFINITY } else { alone.rate };
            of_throughputs(&found, wire, PacketRate(alone))
        }
        Procedure::Latency { duration, after, tagged, repetitions } => {
            let Some(load) = *rate else { return Ok(Finding::default().remark(true, no_rate)) };
            let plan = Latency {
                load,
                duration: *duration,
                after: *after,
                tagged: *tagged,
                repetitions: *repetitions,
            };
            let found = latency::latency(run, &plan)?;
            let long = duration.as_secs_f64();
            let mut figures = vec![Figure::of("load", Some(load.0), "fps")];
            if *tagged == 1 {
                let name = format!("latency[rfc2544 {long}s {repetitions}x]");
                figures.push(Figure::spread(name, found.tagged, |s| s.mean, "ns"));
            } else {
                let name = |what| format!("{what}[rfc8219 {tagged} tagged {long}s {repetitions}x]");
                figures.push(Figure::spread(name("TL"), found.typical, |s| s.median, "ns"));
                figures.push(Figure::spread(name("WCL"), found.worst, |s| s.median, "ns"));
            }
            if let Some(all) = &found.all {
                for (name, quantile) in
                    [("all frames p50", 0.5), ("all frames p99", 0.99), ("all frames p99.9", 0.999)]
                {
                    let ns = all.value_at_quantile(quantile).min(all.max()) as f64;
                    figures.push(Figure::of(name, Some(ns), "ns"));
                }
                figures.push(Figure::of("all frames max", Some(all.max() as f64), "ns"));
            }
            let histogram = found.all.as_ref().map_or(vec![], buckets);
            let floor = alone.latency_floor_ns;
            Finding { histogram, ..Finding::of(figures) }
                .remark(found.tagged_lost > 0, format!("{} tagged frames lost", found.tagged_lost))
                .remark(found.invalid > 0, format!("{} repetitions invalid", found.invalid))
                .remark(found.lossy > 0, format!("{} repetitions lost frames", found.lossy))
                // Of simulated wires the floor is what buckets round.
                .remark(!simulated && floor > 0, format!("the tester alone sees {floor} ns"))
        }
        Procedure::DelayVariation { duration, repetitions } => {
            let Some(load) = *rate else { return Ok(Finding::default().remark(true, no_rate)) };
            let plan = DelayVariation { load, duration: *duration, repetitions: *repetitions };
            let found = variation::variation(run, &plan)?;
            let name = |what| format!("{what}[rfc8219 {}s {repetitions}x]", duration.as_secs_f64());
            Finding::of([
                Figure::of("load", Some(load.0), "fps"),
                Figure::spread(name("PDV"), found.pdv, |s| s.median, "ns"),
                Figure::spread(name("IPDV min"), found.ipdv_min, |s| s.median, "ns"),
                Figure::spread(name("IPDV median"), found.ipdv_median, |s| s.median, "ns"),
                Figure::spread(name("IPDV max"), found.ipdv_max, |s| s.median, "ns"),
            ])
            .remark(found.invalid > 0, format!("{} repetitions invalid", found.invalid))
            .remark(found.lossy > 0, format!("{} repetitions lost frames", found.lossy))
        }
        Procedure::FrameLoss { step, duration } => {
            let plan = FrameLoss { highest: wire, step: *step, duration: *duration };
            let points = frame_loss::frame_loss(run, &plan)?;
            let free = points.iter().filter(|p| p.lost == 0 && !p.invalid);
            let free = free.map(|point| point.load_percent).reduce(f64::max);
            let at_most = points.first().filter(|p| !p.invalid).map(|p| p.loss_percent);
            let invalid = points.iter().filter(|point| point.invalid).count();
            let figures = [
                Figure::of("loss at 100% of the wire", at_most, "%"),
                Figure::of("highest load without loss", free, "%"),
            ];
            Finding { points, ..Finding::of(figures) }
                .remark(invalid > 0, format!("the tester could not offer {invalid} of the loads"))
        }
        Procedure::BackToBack { longest, step, verify, repetitions } => {
            let Some(throughput) = *rate else {
                return Ok(Finding::default().remark(true, no_rate));
            };
            let plan = BackToBack {
                highest: wire,
                throughput,
                longest: *longest,
                step: *step,
                verify: *verify,
                repetitions: *repetitions,
            };
            of_bursts(&back_to_back::back_to_back(run, &plan)?, &plan)
        }
        Procedure::Recovery { overload, watch, repetitions } => {
            let Some(throughput) = *rate else {
                return Ok(Finding::default().remark(true, no_rate));
            };
            let plan = Recovery {
                throughput,
                highest: mol,
                overload_for: *overload,
                watch_for: *watch,
                repetitions: *repetitions,
            };
            let found = recovery::recovery(run, &plan)?;
            let name =
                format!("recovery[rfc2544 {}s overload {repetitions}x]", overload.as_secs_f64());
            let never = "times it had not recovered when watching ended";
            Finding::of([
                Figure::spread(name, found.times, |s| s.mean, "ns"),
                Figure::of("overload", Some(found.load.0), "fps"),
            ])
            .remark(found.invalid > 0, format!("{} repetitions invalid", found.invalid))
            .remark(found.never > 0, format!("{} {never}", found.never))
            .remark(
                throughput.0 >= 0.999 * mol.0,
                "it cannot be overloaded: the wire, or the tester, carries no more",
            )
        }
        Procedure::Reset { before, watch, repetitions } => {
            let Some(load) = *rate else { return Ok(Finding::default().remark(true, no_rate)) };
            let found = recovery::reset(run, load, *before, *watch, *repetitions)?;
            Finding::of([Figure::spread(
                format!("reset[rfc6201 software {repetitions}x]"),
                found.times,
                |s| s.mean,
                "ns",
            )])
            .remark(found.invalid > 0, format!("{} repetitions invalid", found.invalid))
            .remark(found.never > 0, format!("{} times it did not come back", found.never))
        }
        Procedure::Forwarding { duration } => {
            let found = bridge::forwarding(run, mol, *duration)?;
            let name =
                |what: &str| format!("{what}[rfc2889 {}s, all ports]", duration.as_secs_f64());
            let finding = Finding::of([
                Figure::of("MOL (this tester's, from each port)", Some(found.mol), "fps"),
                Figure::of(name("FRMOL"), Some(found.frmol), "fps in all"),
                Figure::of(name("MFR"), Some(found.mfr), "fps in all"),
                Figure::of("load at MFR", Some(found.mfr_load), "fps"),
            ]);
            finding
                .remark(found.tester_limited, "the tester fell short in some trials")
                .remark(found.frmol < 0.95 * found.mfr, "it forwards less the more is offered")
        }
        Procedure::Congestion { duration } => {
            let found = bridge::congestion(run, mol, *duration)?;
            Finding::of([
                Figure::of("loss to the free port", Some(found.uncongested_loss_percent), "%"),
                Figure::of("loss to the congested port", Some(found.congested_loss_percent), "%"),
            ])
            .remark(found.head_of_line_blocking, "head-of-line blocking, or overload")
            .remark(found.back_pressure, "back pressure")
            .remark(found.invalid, "invalid: the tester fell short")
        }
        Procedure::AddressCaching { most, rate } => {
            let rate = &PacketRate(rate.0.min(mol.0));
            let found = bridge::address_caching(run, *most, *rate)?;
            let at_least = found.bound == Bound::Highest;
            let name = format!("address caching capacity[rfc2889 learned at {}/s]", rate.0);
            let finding = Finding::of([Figure::of(name, found.value, "addresses")]);
            Finding { limited_by: by_search(found.bound), ..finding }
                .remark(at_least, format!("at least: no more than {most} were tried"))
        }
        Procedure::AddressLearning { addresses, precision } => {
            let bounds = (PacketRate(100.0), mol);
            let found = bridge::address_learning(run, *addresses, bounds, *precision)?;
            let name = format!("address learning rate[rfc2889 {addresses} addresses]");
            let finding = Finding::of([Figure::of(name, found.value, "/s")]);
            Finding { limited_by: by_search(found.bound), ..finding }
                .remark(found.bound == Bound::Highest, "at least: the tester shows no more")
        }
        Procedure::Broadcast { duration, precision } => {
            let bounds = (mol * 0.001, mol);
            let found = bridge::broadcast(run, bounds, *precision, *duration)?;
            let name = format!("broadcast throughput[rfc2889 {}s 0 loss]", duration.as_secs_f64());
            let finding = Finding::of([Figure::of(name, found.value, "fps")]);
            Finding { limited_by: by_search(found.bound), ..finding }
        }
        Procedure::Establishment { connections, precision, validation } => {
            let plan = Establishment {
                connections: *connections,
                lowest: mol * 0.0001,
                highest: mol,
                precision: *precision,
                validation: *validation,
            };
            let found = connections::establishment(run, &plan)?;
            let name =
                format!("maximum connection establishment rate[rfc9693 {connections} connections]");
            let figure = Figure::of(name, found.rate.map(|rate| rate.0), "/s");
            Finding { limited_by: by_search(found.bound), ..Finding::of([figure]) }
                .remark(found.bound == Bound::Highest, "at least: the tester offers no more")
        }
        Procedure::TearDown { connections, repetitions } => {
            let found = match connections::tear_down(run, *connections, *repetitions) {
                // Not the end of the suite: time there does not run while a command does.
                Err(Stop::Broken(why)) => return Ok(Finding::default().remark(true, why)),
                found => found?,
            };
            let name = format!(
                "connection tear-down rate[rfc9693 {connections} connections {repetitions}x]"
            );
            Finding::of([Figure::spread(name, found, |s| s.median, "/s")])
        }
        Procedure::Capacity { first, most, rate, error } => {
            let rate = PacketRate(rate.0.min(mol.0));
            let plan = Capacity { first: *first, most: *most, rate, error: *error };
            let found = connections::capacity(run, &plan)?;
            let name = format!("connection table capacity[rfc9693 at {}/s]", rate.0);
            let figure = Figure::of(name, found.connections.map(|n| n as f64), "connections");
            Finding { limited_by: by_search(found.bound), ..Finding::of([figure]) }.remark(
                found.bound == Bound::Highest,
                format!("at least: no more than {most} were tried"),
            )
        }
        Procedure::Tcp(_) => unreachable!("found by suite::tcp"),
    })
}

fn throughputs(
    run: &mut Run<'_>,
    criteria: &[Criterion],
    (trial, confirmation): (Duration, Duration),
    precision: f64,
    (lowest, highest): (PacketRate, PacketRate),
) -> Result<Vec<Throughput>, Stop> {
    let goals = criteria.iter().filter_map(|criterion| match criterion {
        Criterion::Goal(goal) => Some(goal.clone()),
        _ => None,
    });
    let goals: Vec<_> = goals.collect();
    let mut by_goal = vec![];
    if !goals.is_empty() {
        let warm_up = trial.min(Duration::from_secs(1));
        let search = MlrSearch { goals, lowest, highest, warm_up, ..MlrSearch::default() };
        throughput::check(&search).map_err(|bad| Stop::Broken(bad.to_string()))?;
        by_goal = throughput::goals(run, &search)?;
    }
    let mut by_goal = by_goal.into_iter();
    let mut found = vec![];
    for criterion in criteria {
        let search = Bisection { lowest, highest, precision, trial, confirmation, verify: 0 };
        found.extend(match criterion {
            Criterion::Bisection => Some(throughput::bisection(run, &search)?),
            Criterion::Verified(verify) => {
                Some(throughput::bisection(run, &Bisection { verify: *verify, ..search })?)
            }
            Criterion::Goal(_) => by_goal.next(),
        });
    }
    Ok(found)
}

fn of_throughputs(found: &[Throughput], wire: PacketRate, mol: PacketRate) -> Finding {
    let mut finding = Finding::default();
    for one in found {
        finding.figures.push(Figure::of(&one.metric, one.rate.map(|rate| rate.0), "fps"));
        let by_tester = one.bound == Bound::Tester;
        let rate = one.rate.unwrap_or_default();
        let limited = limit(rate, wire, mol, by_tester);
        finding.limited_by.get_or_insert(limited);
        if one.rate.is_none() {
            finding.remarks.push(format!("{}: no load met it", one.metric));
        }
        if one.bound == Bound::TrialsSpent {
            finding.remarks.push(format!("{}: the search ended before it was close", one.metric));
        }
        if by_tester {
            let why = "higher loads were beyond the tester: trials stayed invalid";
            finding.remarks.push(format!("{}: {why}", one.metric));
        } else if limited == Limit::Tester && one.rate.is_some() {
            let headroom = mol.0 / rate.0;
            finding.remarks.push(format!(
                "{}: tester-limited, the tester alone does {headroom:.2} times this",
                one.metric
            ));
        }
    }
    finding
}

fn of_bursts(found: &Bursts, plan: &BackToBack) -> Finding {
    let name = |what: &str| {
        format!(
            "{what}[rfc9004 {}x, step {}, verified {}x]",
            plan.repetitions, plan.step, plan.verify
        )
    };
    match *found {
        Bursts::NotApplicable => Finding::of([Figure::of(name("back-to-back"), None, "frames")])
            .remark(true, "not applicable: the throughput is the wire's rate (RFC 9004 §4)"),
        Bursts::AtLimit { frames } => {
            Finding::of([Figure::of(name("back-to-back"), None, "frames")]).remark(
                true,
                format!("no result: a burst of {frames} frames, the limit, was forwarded"),
            )
        }
        Bursts::None { tester } => {
            let why = if tester {
                "the tester cannot send bursts at the wire's rate"
            } else {
                "no burst was forwarded whole"
            };
            Finding::of([Figure::of(name("back-to-back"), None, "frames")])
                .remark(true, format!("no result: {why}"))
        }
        Bursts::Found { frames, implied_buffer_s, corrected_buffer_s, transient } => Finding::of([
            Figure::spread(name("back-to-back"), Some(frames), |s| s.mean, "frames"),
            Figure::of("implied buffer time", Some(implied_buffer_s * 1e9), "ns"),
            Figure::of("corrected buffer time", Some(corrected_buffer_s * 1e9), "ns"),
        ])
        .remark(transient > 0, format!("{transient} losses were not there when asked again")),
    }
}
