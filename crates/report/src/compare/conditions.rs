//! Conditions of runs: which files are one run, and what else than the device differs.
//!
//! ```text
//!  files ─► once: copies of one run count once ─► conditions ─┬ told: processor, kernel, governor …
//!                                                             └ no verdict: traffic, plan, script …
//! ```
//!
//! Runs that share what the machine did are one piece of evidence, however many files there are: the
//! same file named twice, a copy of it, and what is simulated of one plan and seed.
//!
//! Never compares a number.

// What of a plan makes figures what they are.
mod plan;

use crate::document;
use crate::file::File;
use measure::{Environment, Results, Row, SuiteResults};
use plan::Lengths;
use std::fmt::Write;

/// Each run once, in the order of the files; what is left out is said of its `side`.
pub(super) fn once<'a>(side: &str, files: &'a [File], out: &mut String) -> Vec<&'a File> {
    let mut runs: Vec<&File> = Vec::new();
    for file in files {
        if !runs.iter().any(|run| is_copy(run, file)) {
            runs.push(file);
        }
    }
    if runs.len() < files.len() {
        let _ = writeln!(
            out,
            "counted once: the {} files of {side} are of {} {}: the same moment, the same numbers, or \
             simulated of one plan and seed",
            files.len(),
            runs.len(),
            if runs.len() == 1 { "run" } else { "different runs" }
        );
    }
    runs
}

/// Runs that are on both sides.
pub(super) fn shared(base: &[&File], device: &[&File]) -> String {
    let n = device.iter().filter(|run| base.iter().any(|one| is_copy(one, run))).count();
    match n {
        0 => String::new(),
        n => format!("on both sides: {n} of the runs compared are among the base, too\n"),
    }
}

/// Whether environments are of one moment: nobody starts the same command twice in a second.
fn is_same_moment(a: &Environment, b: &Environment) -> bool {
    !a.timestamp.is_empty() && a == b
}

/// Whether two files are of one run.
fn is_copy(a: &File, b: &File) -> bool {
    let moments = a.environment().zip(b.environment());
    moments.is_some_and(|(a, b)| is_same_moment(a, b))
        || match (a, b) {
            (File::Bench(a), File::Bench(b)) => a.rows == b.rows,
            (File::Iperf3(a), File::Iperf3(b)) => {
                (&a.rows, &a.latencies, &a.paths, &a.name)
                    == (&b.rows, &b.latencies, &b.paths, &b.name)
            }
            (File::Suite(a), File::Suite(b)) => is_copy_of_suite(a, b),
            _ => false,
        }
}

/// Of suites what is simulated of one plan, seed and build, too.
fn is_copy_of_suite(a: &SuiteResults, b: &SuiteResults) -> bool {
    let model = |run: &SuiteResults| {
        let SuiteResults { plan, scaling, device, medium, configurations, environment, .. } =
            run.clone();
        (plan, scaling, device, medium, configurations, environment.seed, environment.commit)
    };
    a.name == b.name && a.cells == b.cells
        || a.virtual_time && b.virtual_time && model(a) == model(b)
}

/// Which figures a condition makes others, where it is not the same.
#[derive(Clone, PartialEq)]
enum Of {
    /// None: it is told.
    None,
    All,
    Latencies,
    Procedure(String),
    Configuration(String),
}

/// Something that is to be the same of runs that are compared.
#[derive(Clone)]
struct Condition {
    of: Of,
    /// Which of several with one name; those that only one side has make no difference.
    key: String,
    what: String,
    value: String,
    /// Whether it is too long to be shown.
    is_script: bool,
}

impl Condition {
    fn new(of: Of, what: impl Into<String>, value: impl Into<String>) -> Condition {
        let (what, value, key) = (what.into(), value.into(), String::new());
        Condition { of, key, what, value, is_script: false }
    }

    fn script(of: Of, device: &str, value: String) -> Condition {
        let what = format!("device scripts of {device}");
        Condition { is_script: true, ..Condition::new(of, what, value) }
    }

    fn is_of(&self, other: &Condition) -> bool {
        (&self.of, &self.key, &self.what) == (&other.of, &other.key, &other.what)
    }
}

/// Which figures have no verdict: those under conditions that are not the same.
#[derive(Default)]
pub(super) struct Incomparable(Vec<Of>);

impl Incomparable {
    pub(super) fn has(&self, procedure: &str, configuration: &str) -> bool {
        self.0.iter().any(|of| match of {
            Of::None => false,
            Of::All => true,
            Of::Latencies => ["latency", "delay-variation"].contains(&procedure),
            Of::Procedure(other) => other == procedure,
            Of::Configuration(other) => other == configuration,
        })
    }
}

/// Says what differs between runs of one command, and which figures it makes others.
pub(super) fn of(base: &[&File], device: &[&File], out: &mut String) -> Incomparable {
    let [here, there] =
        [base, device].map(|side| side.iter().copied().flat_map(conditions).collect::<Vec<_>>());
    let mut asked: Vec<&Condition> = vec![];
    for one in here.iter().chain(&there) {
        if !asked.iter().any(|other| other.is_of(one)) {
            asked.push(one);
        }
    }
    let mut found: Vec<(Of, String)> = vec![];
    for one in asked {
        let values = |side: &[Condition]| {
            let of = side.iter().filter(|other| other.is_of(one));
            let mut values: Vec<String> = of.map(|one| one.value.clone()).collect();
            values.sort();
            values.dedup();
            values
        };
        let Some(values) = differ(&values(&here), &values(&there)) else { continue };
        let (what, on) = (&one.what, |name: &str| format!("not comparable, no verdicts{name}"));
        let begin = match &one.of {
            Of::None => {
                found.push((Of::None, format!("different {what}: {values}\n")));
                continue;
            }
            Of::All => on(""),
            Of::Latencies => on(" on latency"),
            Of::Procedure(name) | Of::Configuration(name) => on(&format!(" on {name}")),
        };
        let values = if one.is_script { String::new() } else { format!(": {values}") };
        found.push((one.of.clone(), format!("{begin}: different {what}{values}\n")));
    }
    let found = document::once(found);
    found.iter().for_each(|(_, line)| *out += line);
    Incomparable(found.into_iter().map(|(of, _)| of).collect())
}

/// The values of both sides, if they are not all one.
fn differ(here: &[String], there: &[String]) -> Option<String> {
    let all = || here.iter().chain(there);
    let first = all().next()?;
    if all().all(|value| value == first) {
        return None;
    }
    // Of long ones (plans) only the lines that not all have.
    let common = |line: &str| all().all(|text| text.lines().any(|other| other == line));
    let show = |texts: &[String]| {
        let own = |text: &String| -> String {
            let own: Vec<&str> = text.lines().filter(|line| !common(line)).collect();
            let more = if own.len() > 3 { ", …" } else { "" };
            own.iter().take(3).copied().collect::<Vec<_>>().join(", ") + more
        };
        let all = texts.iter().map(own).collect::<Vec<_>>().join("; ");
        if all.is_empty() { "nothing else".to_string() } else { all }
    };
    Some(format!("{} | {}", show(here), show(there)))
}

fn conditions(run: &File) -> Vec<Condition> {
    let mut all = match run {
        File::Suite(run) => of_suite(run),
        File::Iperf3(run) => {
            vec![Condition::new(Of::All, "plans", plan::of_iperf3(&run.plan, run.quick))]
        }
        File::Bench(run) => of_bench(run),
        File::Survey(_) => vec![],
    };
    all.extend(run.environment().into_iter().flat_map(of_environment));
    all
}

/// Where and how a run was made; `name = value` is the governor, processors kept free, the kernel's
/// settings.
fn of_environment(at: &Environment) -> Vec<Condition> {
    let machine = at.machine.iter().chain(&at.sysctls).chain(&at.offloads);
    let fixed = [
        ("processors", at.cpu.clone()),
        ("kernels", at.kernel.clone()),
        ("builds", at.build.clone()),
        ("processor features", at.features.join(" ")),
        ("commits", at.commit.clone()),
    ];
    let settings = machine.filter_map(|line| line.split_once(" = "));
    let settings = settings.map(|(name, value)| (name, value.to_string()));
    let told = |(what, value)| Condition::new(Of::None, what, value);
    fixed.into_iter().chain(settings).map(told).collect()
}

fn of_suite(run: &SuiteResults) -> Vec<Condition> {
    let (lengths, clock) = match run.virtual_time {
        true => (Lengths::Virtual, "virtual time"),
        false if run.scaling.is_some() => (Lengths::Quick, "real time"),
        false => (Lengths::Plan, "real time"),
    };
    let meant = plan::of_suite(&run.plan, lengths);
    let SuiteResults { device, medium, wire_mbps, .. } = run;
    let length = run.scaling.as_deref().unwrap_or("as the plan stands");
    let wire = format!("{wire_mbps} Mbit/s");
    let how = format!("{device}, {medium}, wire {wire}, {length}");
    let mut all: Vec<Condition> = [
        (Of::All, "traffic", run.traffic.clone()),
        (Of::All, "numbers of sending ports", run.senders.to_string()),
        (Of::All, "wires", wire),
        (Of::All, "clocks", clock.to_string()),
        (Of::All, "lengths", length.to_string()),
        (Of::All, "plans", meant.all),
        (Of::None, "ways to measure", how),
        (Of::Latencies, "definitions", run.latency_definition.clone()),
    ]
    .map(|(of, what, value)| Condition::new(of, what, value))
    .to_vec();
    all.extend(meant.procedures.into_iter().map(|(key, lines)| {
        // A goal is one of throughput's.
        let procedure = if key.starts_with("goal ") { "throughput" } else { &key };
        let of = Of::Procedure(procedure.to_string());
        Condition { key, ..Condition::new(of, "plans", lines) }
    }));
    // Devices have their own scripts; one device with two is two under one name.
    let scripts = run.configurations.iter().map(|one| {
        let of = Of::Configuration(one.name.clone());
        Condition::script(of, device, plan::lines_of(&one.script))
    });
    all.extend(scripts);
    all
}

/// Cells of `bench` that went over other wires, or with other commands on one device.
fn of_bench(run: &Results) -> Vec<Condition> {
    let rows = run.rows.iter().map(|row| {
        let Row { medium: of, frame_size, cores, configuration, .. } = row;
        let rate = row.wire_mbps.map_or(String::new(), |mbps| format!(" of {mbps} Mbit/s"));
        // What a frame cost them stands behind a colon, and is another number in each run.
        let who = |text: &str| text.split(": ").next().unwrap_or_default().to_string();
        let (sender, receiver) = (who(&of.generator), who(&of.receiver));
        let medium = format!("{}{rate}, sent by {sender}, received by {receiver}", of.wire);
        let cell = Of::Procedure(format!("{}, {configuration}", row.mode_name()));
        let key = format!("{frame_size} {cores}");
        Condition { key, ..Condition::new(cell, "wires", medium) }
    });
    let setups = run.setups.iter().map(|setup| {
        let mode = setup.mode.of(setup.family);
        let cell = Of::Procedure(format!("{mode}, {}", setup.configuration));
        Condition::script(cell, &setup.device, setup.commands.join("\n"))
    });
    rows.chain(setups).collect()
}
