//! Running a plan: every configuration, every frame size, every procedure.
//!
//! ```text
//!  modifier ─► a device with its configuration ─► size: introduce, tester alone ─► procedures ─► cells
//!                                      frame loss before the throughput that it may contradict
//! ```
//!
//! What was measured is never lost: an interrupted or broken run returns all cells so far, the one
//! under way with the trials it had, and says that it is incomplete and why.

use super::bench::{Bench, Testbed};
use super::find::{Finding, Known, find};
use super::fit::{caveat, meets};
use super::plan::{Mesh, Modifier, Plan, Procedure, Traffic};
use super::real::Real;
use super::simulated::Simulated;
use super::wired::{EXTERNAL, Wired};
use crate::jumbo;
use crate::kernel;
use crate::placement::Pair;
use crate::real::PortSpec;
use crate::tester::task::RESIDUAL;
use measure::procedure::rfc6349::Path;
use measure::procedure::{DelayVariation, FrameLoss, Latency, Recovery, Run, Stop};
use measure::suite_result::{
    Cell, Configuration, MixRecord, Patience, SCHEMA, Size, SuiteResults, TesterAlone, TrialRecord,
};
use measure::{Environment, FrameSize, Mix};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::BitRate;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// The built-in router in memory, in real or in virtual time.
    BuiltIn,
    /// The kernel of this machine, in a namespace between two veths.
    Linux,
    /// Whatever is connected to interfaces of this machine.
    External(Box<External>),
}

/// A device that its owner has set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The interfaces, in the order of the plan's ports.
    pub ports: Vec<PortSpec>,
    /// What it is set up for; the plan's other configurations are left out.
    pub modifier: Modifier,
    /// What makes it forget connections and hosts: a line for the shell. Without one it keeps what it
    /// knows.
    pub reset: Option<String>,
}

/// How a plan is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of what.
    pub device: Device,
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
        /// The length, or the mix.
        frame: &'a FrameSize,
        /// The procedure.
        procedure: &'a str,
    },
    /// The last cell of what there is so far was.
    Done(&'a SuiteResults),
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
    scaled_for(plan, &options.device, (options.pair.is_none(), options.quick))
}

/// The same for a device, in virtual time or not, quick or not.
pub(super) fn scaled_for(
    plan: &Plan,
    device: &Device,
    how: (bool, bool),
) -> (Plan, Option<String>) {
    let (mut plan, said) = made_short(plan, how);
    if let Device::External(external) = device {
        // What is sent is ours to choose, what it does with it its owner's.
        let ours = |modifier: &Modifier| external.modifier == Modifier::None && modifier.is_ours();
        plan.modifiers.retain(ours);
        plan.modifiers.insert(0, external.modifier);
    }
    (plan, said)
}

fn made_short(plan: &Plan, (simulated, quick): (bool, bool)) -> (Plan, Option<String>) {
    let scaling = match (simulated, quick) {
        (true, _) => &plan.simulated.scaling,
        (false, true) => &plan.quick,
        (false, false) => return (plan.clone(), None),
    };
    (plan.clone().scaled(scaling), scaling.describe(plan))
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
        true => (super::tcp::TRAFFIC.to_string(), 1),
        false if super::streams::are_all(plan) => {
            (super::streams::TRAFFIC.to_string(), super::streams::senders(plan))
        }
        false => (plan.described(), plan.traffic.senders()),
    };
    let is_frames = !plan.is_all_tcp() && !super::streams::are_all(plan);
    let mesh = plan.traffic.mesh().map(|(mesh, _)| mesh).filter(|_| is_frames);
    let partial = mesh.filter(|mesh| *mesh != Mesh::Full);
    let (device, medium, latency) = words(plan, options);
    let mut results = SuiteResults {
        schema: SCHEMA.to_string(),
        name: plan.name.clone(),
        plan: options.text.clone(),
        complete: false,
        incomplete_because: None,
        scaling,
        device: device.to_string(),
        medium,
        virtual_time: options.pair.is_none(),
        traffic,
        senders: senders as u32,
        fully_meshed: mesh == Some(Mesh::Full),
        destinations: partial.map(|_| plan.traffic.destinations() as u32),
        wire_mbps: link.as_mbps(),
        latency_definition: latency.to_string(),
        exact_extremes: true,
        patience: None,
        environment: options.environment.clone(),
        configurations: vec![],
        goals: plan.procedures.iter().flat_map(Procedure::goals).collect(),
        mixes: plan.sizes.iter().filter_map(FrameSize::mix).map(MixRecord::of).collect(),
        self_tests: vec![],
        cells: vec![],
    };
    if let Some(scaling) =
        results.scaling.as_mut().filter(|_| options.quick && options.pair.is_some())
    {
        let wait = quiet(options).as_millis();
        *scaling += &format!("; after the last frame {wait} ms are waited, not 2 s (§23)");
    }
    match all(plan, options, &mut results, &mut progress) {
        Ok(()) => results.complete = true,
        Err(stop) => results.incomplete_because = Some(stop.to_string()),
    }
    results
}

/// What the device is called, how it was measured, and what latency is there.
fn words(plan: &Plan, options: &Options) -> (&'static str, String, &'static str) {
    let in_software = "from handing the frame to the interface to taking it from the other \
                       (in software: the interfaces' own times are in it)";
    let router = super::device::DEVICE;
    match (&options.device, options.pair) {
        (Device::BuiltIn, None) => (
            router,
            plan.simulated.describe(),
            "store-and-forward (RFC 1242 §3.8): last bit in to first bit out",
        ),
        (Device::BuiltIn, Some(_)) => (
            router,
            "2 cores, real time, memory wires".to_string(),
            "from handing the frame to the wire to taking it off (memory: no wire time)",
        ),
        (Device::Linux, _) => {
            (kernel::DEVICE, "2 cores, real time, veth pairs, AF_XDP".to_string(), in_software)
        }
        (Device::External(external), _) => {
            let ports: Vec<String> = external.ports.iter().map(ToString::to_string).collect();
            (EXTERNAL, format!("real time, {}", ports.join(" and ")), in_software)
        }
    }
}

fn all(
    plan: &Plan,
    options: &Options,
    results: &mut SuiteResults,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Stop> {
    let link = if options.pair.is_some() { plan.link } else { plan.simulated.link };
    let quiet = quiet(options);
    // Virtual time costs nothing: nothing of it is shortened.
    let waits = if options.pair.is_some() { quiet } else { RESIDUAL };
    let mut patience = patience(plan);
    let allowed = patience;
    for &modifier in &plan.modifiers {
        let own = match options.script.trim() {
            "" => plan.script(),
            _ => options.script.clone(),
        };
        let script = own + "\n" + &modifier.commands(plan.ends);
        let n = (plan.ports, jumbo::slots(plan.longest()));
        let (subnets, interrupt) = (plan.subnets(), options.interrupt.clone());
        let device = &options.device;
        let mut part =
            Part { plan, device, modifier, patience, waits, results, progress, path: None, link };
        let done = match (&options.device, options.pair) {
            (Device::BuiltIn, Some(pair)) => {
                let script = script + &jumbo::command(plan.longest());
                part.configured(script.clone());
                Real::new(n, &script, subnets, pair, quiet, interrupt)
                    .and_then(|place| part.run(Bench::new(place, plan, modifier, plan.link)))
            }
            (Device::BuiltIn, None) => {
                let script = script + &jumbo::command(plan.longest());
                part.configured(script.clone());
                Simulated::new(n, &script, subnets, &plan.simulated, interrupt).and_then(|place| {
                    part.run(Bench::new(place, plan, modifier, plan.simulated.link))
                })
            }
            (_, None) => Err(Stop::Broken("there is no virtual time outside".to_string())),
            (Device::Linux, Some(pair)) => {
                Wired::kernel(plan, &script, subnets, pair, quiet, interrupt).and_then(|place| {
                    part.configured(place.commands.join("\n"));
                    part.run(Bench::new(place, plan, modifier, plan.link))
                })
            }
            (Device::External(external), Some(pair)) => {
                part.configured("set up by its owner".to_string());
                Wired::external(external, plan.longest(), subnets, pair, quiet, interrupt)
                    .and_then(|place| part.run(Bench::new(place, plan, modifier, plan.link)))
            }
        };
        patience = part.patience;
        if options.pair.is_some() {
            let seconds = |time: Duration| time.as_secs_f64();
            let spent = allowed.saturating_sub(patience);
            results.patience = Some(Patience { allowed: seconds(allowed), spent: seconds(spent) });
        }
        done?;
    }
    Ok(())
}

/// How long nothing must come after the last frame (RFC 2544 §23 d); of a short run, longer than a busy
/// machine takes a processor away.
fn quiet(options: &Options) -> Duration {
    Duration::from_millis(if options.quick { 20 } else { 2000 })
}

/// How long trials may take, all in all, that repeat disturbed ones: 100 of the longest.
fn patience(plan: &Plan) -> Duration {
    let of = |procedure: &Procedure| match procedure {
        Procedure::Throughput { confirmation: duration, .. }
        | Procedure::Latency(Latency { duration, .. })
        | Procedure::DelayVariation(DelayVariation { duration, .. })
        | Procedure::FrameLoss(FrameLoss { duration, .. })
        | Procedure::Forwarding { duration }
        | Procedure::Congestion { duration }
        | Procedure::Broadcast { duration, .. }
        | Procedure::Recovery(Recovery { overload: duration, .. })
        | Procedure::Reset { before: duration, .. } => *duration,
        Procedure::BackToBack(bursts) => bursts.longest,
        Procedure::Streams(_) => super::streams::duration(plan, plan.link),
        _ => Duration::from_millis(200),
    };
    100 * plan.procedures.iter().map(of).max().unwrap_or_default()
}

/// The order in which procedures are run: frame loss before the throughput that it may contradict,
/// where its trials are as long as the one that decides; the rest as the plan has them.
fn order(procedures: &[Procedure]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..procedures.len()).collect();
    let decides = procedures.iter().position(|one| matches!(one, Procedure::Throughput { .. }));
    let Some(decides) = decides else { return order };
    let Procedure::Throughput { confirmation, .. } = procedures[decides] else { return order };
    let is_as_long = |one: &Procedure| match one {
        Procedure::FrameLoss(loss) => loss.duration >= confirmation,
        _ => false,
    };
    if let Some(loss) = procedures.iter().position(is_as_long).filter(|at| *at > decides) {
        order[decides..=loss].rotate_right(1);
    }
    order
}

/// One configuration's part.
struct Part<'a> {
    plan: &'a Plan,
    device: &'a Device,
    modifier: Modifier,
    /// What is left of it.
    patience: Duration,
    /// How long nothing must come after the last frame.
    waits: Duration,
    results: &'a mut SuiteResults,
    progress: &'a mut dyn FnMut(Progress<'_>),
    /// What TCP found of the path, at the frames of now.
    path: Option<Path>,
    /// What every wire carries; a bottleneck's carries less.
    link: BitRate,
}

impl Part<'_> {
    /// Notes how the device was set up.
    fn configured(&mut self, script: String) {
        let name = self.modifier.name().to_string();
        self.results.configurations.push(Configuration { name, script });
    }

    fn run<P: Testbed>(&mut self, mut bench: Bench<'_, P>) -> Result<(), Stop> {
        let ran = self.sizes(&mut bench);
        if let Some(configuration) = self.results.configurations.last_mut() {
            for line in bench.place.witness() {
                configuration.script += &format!("\n# {line}");
            }
        }
        ran
    }

    fn sizes<P: Testbed>(&mut self, bench: &mut Bench<'_, P>) -> Result<(), Stop> {
        let smallest = self.plan.sizes.first();
        for frame in &self.plan.sizes {
            bench.prepare(frame)?;
            let alone = self.tester_alone(bench, frame)?;
            let lengths = super::streams::lengths(self.plan);
            for length in &lengths {
                self.tester_alone(bench, &FrameSize::One(*length))?;
            }
            if !lengths.is_empty() {
                bench.prepare(frame)?; // what the device said meanwhile is none of the trial's
            }
            let mut known = Known::default();
            self.path = None;
            let first = self.results.cells.len();
            let mut ran = vec![];
            let mut stop = Ok(());
            for (turn, at) in order(&self.plan.procedures).into_iter().enumerate() {
                let procedure = &self.plan.procedures[at];
                // RFC 2544 §26.6 and RFC 2889's addresses want the smallest frames only.
                if procedure.is_of_smallest_frames() && Some(frame) != smallest {
                    continue;
                }
                let n = self.results.cells.len();
                known.is_early = at > turn;
                stop = self.cell(bench, procedure, frame, &alone, &mut known);
                ran.extend((n..self.results.cells.len()).map(|_| at));
                if stop.is_err() {
                    break;
                }
            }
            // As the plan has them.
            let cells = self.results.cells.split_off(first);
            let mut cells: Vec<(usize, Cell)> = ran.into_iter().zip(cells).collect();
            cells.sort_by_key(|(at, _)| *at);
            self.results.cells.extend(cells.into_iter().map(|(_, cell)| cell));
            stop?;
        }
        Ok(())
    }

    /// The tester by itself, once for each length: what is measured with filters is measured with
    /// the same tester.
    fn tester_alone<P: Testbed>(
        &mut self,
        bench: &mut Bench<'_, P>,
        frame: &FrameSize,
    ) -> Result<TesterAlone, Stop> {
        let label = frame.mix().map(Mix::label);
        let size = Size { mix: label.as_deref(), l2: frame.rounded() };
        let known = self.results.self_tests.iter().find(|one| one.size() == size);
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let alone = bench.self_test_of(frame, Duration::from_millis(100))?;
        self.results.self_tests.push(alone.clone());
        Ok(alone)
    }

    fn cell<P: Testbed>(
        &mut self,
        bench: &mut Bench<'_, P>,
        procedure: &Procedure,
        frame: &FrameSize,
        alone: &TesterAlone,
        known: &mut Known,
    ) -> Result<(), Stop> {
        let (configuration, name) = (self.modifier.name(), procedure.name());
        (self.progress)(Progress::Begin { configuration, frame, procedure: name });
        let (highest, simulated) = (bench.highest(), self.results.virtual_time);
        let met = meets(self.device, procedure.need());
        let hosts_alone = match procedure {
            Procedure::Tcp(tcp) if met.is_ok() => bench.tcp_alone(tcp)?,
            _ => None,
        };
        let before = bench.dropped();
        let mut run = Run::new(bench);
        // What comes early leaves patience for the throughput that it is run for.
        let kept = if known.is_early { self.patience / 2 } else { Duration::ZERO };
        run.patience = self.patience - kept;
        let found = match (met, procedure) {
            (Err(why), _) => Ok(Finding::default().remark(true, format!("not run: {why}"))),
            (Ok(()), Procedure::Tcp(tcp)) => {
                let (path, frames) = (&mut self.path, (frame.longest(), self.link));
                let known = super::tcp::Known { alone: hosts_alone, simulated, frames, path };
                super::tcp::find(&mut run, tcp, known)
            }
            (Ok(()), Procedure::Streams(_)) => super::streams::find(&mut run, self.plan, self.link),
            (Ok(()), _) => {
                let traffic = self.plan.traffic;
                find(&mut run, procedure, (highest, simulated, traffic), alone, known)
            }
        };
        self.patience = run.patience + kept;
        let trials: Vec<TrialRecord> = run.journal.iter().map(TrialRecord::of).collect();
        let told = bench.told(trials.len());
        let dropped = bench.dropped().since(&before);
        let cycles = match (procedure, &found, known.rate) {
            // Where that trial does not come about the throughput still stands.
            (Procedure::Throughput { .. }, Ok(_), Some(rate)) => {
                bench.cycles(rate).unwrap_or_default()
            }
            _ => BTreeMap::new(),
        };
        let (mut found, stop) = match found {
            Ok(found) => (found, None),
            Err(stop) => (Finding::default().remark(true, format!("{stop}")), Some(stop)),
        };
        found.remarks.extend(bench.first_look.clone());
        found.remarks.extend(told);
        let too_late = bench.too_late();
        found = found.remark(too_late > 0, said_too_late(too_late, self.waits));
        found.remarks.extend(super::streams::dropped_whole(&trials, &dropped));
        found.remarks.extend(flooded(procedure, self.plan.traffic, &trials));
        found.remarks.extend(caveat(self.device, procedure.need()).map(str::to_string));
        let mut cell = Cell {
            configuration: configuration.to_string(),
            frame_size: frame.rounded(),
            mix: frame.mix().map(Mix::label),
            procedure: name.to_string(),
            too_late,
            figures: found.figures,
            points: found.points,
            histogram: found.histogram,
            limited_by: found.limited_by,
            remarks: found.remarks,
            dropped,
            cycles,
            trials,
        };
        cell.keep_one_series();
        self.results.cells.push(cell);
        (self.progress)(Progress::Done(self.results));
        stop.map_or(Ok(()), Err)
    }
}

/// What is to be said of frames that came when nothing was waited for any more; `quiet`: nothing had come
/// for so long.
fn said_too_late(n: u64, quiet: Duration) -> String {
    let waits = match quiet < RESIDUAL {
        true => format!(
            "until nothing has come for {quiet:?}, since --quick shortens the two seconds of RFC 2544 §23 d"
        ),
        false => {
            "RFC 2544 §23 d: two seconds after the last was sent, beside what the plan's own wires \
                  take"
                .to_string()
        }
    };
    format!("{n} frames came later than a trial waits for them ({waits}): they are lost")
}

/// What is to be said of frames that a bridge sent where they were not to go, though it had seen all hosts:
/// they are no loss, and not forwarded either (RFC 2889 §5.1).
fn flooded(procedure: &Procedure, traffic: Traffic, trials: &[TrialRecord]) -> Option<String> {
    let is_asked = !matches!(
        procedure,
        Procedure::AddressCaching { .. }
            | Procedure::AddressLearning { .. }
            | Procedure::Streams(_)
    );
    let flooded: u64 = trials.iter().map(|trial| trial.flooded).sum();
    let some = trials.iter().filter(|trial| trial.flooded > 0).count();
    let is_bridge = matches!(traffic, Traffic::Hosts { .. });
    (is_asked && is_bridge && flooded > 0).then(|| {
        format!(
            "flooded: in {some} of {} trials {flooded} frames came out of ports that they were not sent \
             to; the bridge had seen every host before, and had not learnt it, or had forgotten it",
            trials.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::{self, Allowed};
    use super::*;

    #[test]
    fn frame_loss_comes_before_what_it_may_contradict() {
        for (procedures, expected) in [
            (&["throughput", "latency", "frame-loss", "back-to-back"][..], &[2, 0, 1, 3][..]),
            (&["tear-down", "throughput", "frame-loss"], &[0, 2, 1]),
            (&["frame-loss", "throughput"], &[0, 1]),
            // Shorter than what decides: they contradict nothing.
            (&["throughput", "frame-loss\"\nduration = \"1s"], &[0, 1]),
            (&["tear-down", "frame-loss"], &[0, 1]),
        ] {
            let kinds = procedures.iter().map(|kind| format!("[[procedure]]\nkind = \"{kind}\"\n"));
            let text = format!(
                "name = \"x\"\n[device]\n[medium]\nlink = \"10G\"\n[traffic]\n\
                 frame-sizes = [64]\nflows = \"pair\"\n{}",
                kinds.collect::<String>()
            );
            let plan = plan::read(&text, Allowed::default());
            let plan = plan.unwrap_or_else(|bad| panic!("{bad}\n{text}"));
            assert_eq!(order(&plan.procedures), expected, "{procedures:?}");
        }
    }

    /// What was waited is what is said.
    #[test]
    fn how_long_frames_were_waited_for() {
        let said = said_too_late(3, Duration::from_millis(20));
        assert!(
            said.starts_with("3 frames came later than") && said.contains("for 20ms"),
            "{said}"
        );
        let said = said_too_late(3, RESIDUAL);
        assert!(said.contains("§23 d: two seconds after") && !said.contains("quick"), "{said}");
    }
}
