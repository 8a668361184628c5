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

use crate::file::File;
use measure::{Environment, Results, Row, Setup, SuiteResults, iperf3};
use plan::{Lengths, Meant};
use std::fmt::Write;

/// Each run once, in the order of the files; what is left out is said of its `side`.
pub(super) fn once<'a, T>(
    side: &str,
    files: &'a [T],
    is_copy: fn(&T, &T) -> bool,
    out: &mut String,
) -> Vec<&'a T> {
    let mut runs: Vec<&T> = Vec::new();
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
pub(super) fn shared<T>(base: &[&T], device: &[&T], is_copy: fn(&T, &T) -> bool) -> String {
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
pub(super) fn is_copy(a: &File, b: &File) -> bool {
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

/// Which figures have no verdict: those under conditions that are not the same.
#[derive(Default)]
pub(super) struct Incomparable {
    all: bool,
    latencies: bool,
    procedures: Vec<String>,
    configurations: Vec<String>,
}

impl Incomparable {
    pub(super) fn has(&self, procedure: &str, configuration: &str) -> bool {
        let is_latency = ["latency", "delay-variation"].contains(&procedure);
        self.all
            || self.latencies && is_latency
            || self.procedures.iter().any(|other| other == procedure)
            || self.configurations.iter().any(|other| other == configuration)
    }
}

/// Says what differs between runs of one command, and which figures it makes others.
pub(super) fn of<'a>(base: &[&'a File], device: &[&'a File], out: &mut String) -> Incomparable {
    macro_rules! each {
        ($of:ident, $kind:path) => {{
            let [base, device] = [base, device].map(|side| {
                let run = |file: &&'a File| if let $kind(run) = *file { Some(run) } else { None };
                side.iter().filter_map(run).collect::<Vec<_>>()
            });
            $of(&base, &device, out)
        }};
    }
    match base.first() {
        Some(File::Suite(_)) => each!(of_suites, File::Suite),
        Some(File::Iperf3(_)) => each!(of_iperf3, File::Iperf3),
        _ => each!(of_bench, File::Bench),
    }
}

/// What makes figures of suites others, though they have one name.
type Condition = (&'static str, fn(&SuiteResults) -> String);
const CONDITIONS: [Condition; 5] = [
    ("traffic", |run| run.traffic.clone()),
    ("numbers of sending ports", |run| run.senders.to_string()),
    ("wires", |run| format!("{} Mbit/s", run.wire_mbps)),
    ("clocks", |run| if run.virtual_time { "virtual time" } else { "real time" }.to_string()),
    ("lengths", |run| run.scaling.clone().unwrap_or("as the plan stands".to_string())),
];

/// Says what differs between suites, and which figures it makes others.
fn of_suites(base: &[&SuiteResults], device: &[&SuiteResults], out: &mut String) -> Incomparable {
    let mut incomparable = Incomparable::default();
    for (what, of) in CONDITIONS {
        if let Some(values) = differ(base, device, of) {
            incomparable.all = true;
            let _ = writeln!(out, "not comparable, no verdicts: different {what}: {values}");
        }
    }
    plans(base, device, &mut incomparable, out);
    let how = |run: &SuiteResults| {
        let length = run.scaling.as_deref().unwrap_or("as the plan stands");
        format!("{}, {}, wire {} Mbit/s, {length}", run.device, run.medium, run.wire_mbps)
    };
    if let Some(values) = differ(base, device, how) {
        let _ = writeln!(out, "measured differently: {values}");
    }
    if let Some(values) = differ(base, device, |run| run.latency_definition.clone()) {
        incomparable.latencies = true;
        let _ = writeln!(
            out,
            "not comparable, no verdicts on latency: different definitions: {values}"
        );
    }
    // Devices have their own scripts; one device with two is two under one name.
    let all = || base.iter().chain(device);
    let scripts = all().flat_map(|run| {
        run.configurations.iter().map(|one| (&run.device, &one.name, plan::lines_of(&one.script)))
    });
    let scripts: Vec<(&String, &String, String)> = scripts.collect();
    for (i, (of, name, script)) in scripts.iter().enumerate() {
        let is_other = |(d, n, s): &(&String, &String, String)| d == of && n == name && s != script;
        if scripts[..i].iter().any(is_other) && !incomparable.configurations.contains(name) {
            incomparable.configurations.push((*name).clone());
            let _ = writeln!(
                out,
                "not comparable, no verdicts on {name}: different device scripts of {of}"
            );
        }
    }
    incomparable
}

/// Plans, as far as they make the figures that both have what they are.
fn plans(
    base: &[&SuiteResults],
    device: &[&SuiteResults],
    incomparable: &mut Incomparable,
    out: &mut String,
) {
    let meant = |run: &&SuiteResults| -> Meant {
        let lengths = match run.virtual_time {
            true => Lengths::Virtual,
            false if run.scaling.is_some() => Lengths::Quick,
            false => Lengths::Plan,
        };
        plan::of_suite(&run.plan, lengths)
    };
    let [base, device] = [base, device].map(|runs| runs.iter().map(meant).collect::<Vec<_>>());
    let [base, device] = [&base, &device].map(|runs| runs.iter().collect::<Vec<_>>());
    if let Some(values) = differ(&base, &device, |meant| meant.all.clone()) {
        incomparable.all = true;
        let _ = writeln!(out, "not comparable, no verdicts: different plans: {values}");
    }
    let all = || base.iter().chain(&device);
    let mut kinds: Vec<&String> = all().flat_map(|meant| meant.procedures.keys()).collect();
    kinds.sort();
    kinds.dedup();
    for kind in kinds {
        // Who has no such procedure has no figures of it either.
        let with = |side: &[&Meant]| -> Vec<String> {
            side.iter().filter_map(|meant| meant.procedures.get(kind).cloned()).collect()
        };
        let (here, there) = (with(&base), with(&device));
        let [here, there] = [&here, &there].map(|side| side.iter().collect::<Vec<&String>>());
        if here.is_empty() || there.is_empty() {
            continue;
        }
        if let Some(values) = differ(&here, &there, String::clone) {
            // A goal is one of throughput's.
            let procedure = if kind.starts_with("goal ") { "throughput" } else { kind };
            incomparable.procedures.push(procedure.to_string());
            let _ = writeln!(
                out,
                "not comparable, no verdicts on {procedure}: different plans: {values}"
            );
        }
    }
}

/// The same of iperf3's.
fn of_iperf3(
    base: &[&iperf3::Results],
    device: &[&iperf3::Results],
    out: &mut String,
) -> Incomparable {
    let mut incomparable = Incomparable::default();
    if let Some(values) = differ(base, device, |run| plan::of_iperf3(&run.plan, run.quick)) {
        incomparable.all = true;
        let _ = writeln!(out, "not comparable, no verdicts: different plans: {values}");
    }
    incomparable
}

/// The values of both sides, if they are not all one.
fn differ<T>(base: &[&T], device: &[&T], of: fn(&T) -> String) -> Option<String> {
    let values = |runs: &[&T]| {
        let mut all: Vec<String> = runs.iter().map(|run| of(run)).collect();
        all.sort();
        all.dedup();
        all
    };
    let (here, there) = (values(base), values(device));
    if here == there && here.len() == 1 {
        return None;
    }
    // Of long ones (plans) only the lines that not all have.
    let lines = || here.iter().chain(&there);
    let common = |line: &str| lines().all(|text| text.lines().any(|other| other == line));
    let show = |texts: &[String]| {
        let own = |text: &String| -> String {
            let own: Vec<&str> = text.lines().filter(|line| !common(line)).collect();
            let more = if own.len() > 3 { ", …" } else { "" };
            own.iter().take(3).copied().collect::<Vec<_>>().join(", ") + more
        };
        let all: Vec<String> = texts.iter().map(own).collect();
        let all = all.join("; ");
        if all.is_empty() { "nothing else".to_string() } else { all }
    };
    Some(format!("{} | {}", show(&here), show(&there)))
}

/// The same of cells of `bench` that went over other wires, or with other commands on one device.
fn of_bench(base: &[&Results], device: &[&Results], out: &mut String) -> Incomparable {
    let mut incomparable = Incomparable::default();
    let mut note = |mode: String, configuration: &str, why: String| {
        let cell = format!("{mode}, {configuration}");
        let line = format!("not comparable, no verdict: {cell}: {why}\n");
        if !out.contains(&line) {
            *out += &line;
            incomparable.procedures.push(cell);
        }
    };
    let all = || base.iter().chain(device);
    let rows: Vec<&Row> = all().flat_map(|run| &run.rows).collect();
    let medium = |row: &Row| {
        let of = &row.medium;
        let rate = row.wire_mbps.map_or(String::new(), |mbps| format!(" of {mbps} Mbit/s"));
        // What a frame cost them stands behind a colon, and is another number in each run.
        let who = |text: &str| text.split(": ").next().unwrap_or_default().to_string();
        let (sender, receiver) = (who(&of.generator), who(&of.receiver));
        format!("{}{rate}, sent by {sender}, received by {receiver}", of.wire)
    };
    let cell = |row: &Row| (row.mode_name(), row.configuration.clone(), row.frame_size, row.cores);
    for (i, row) in rows.iter().enumerate() {
        let same = rows[..i].iter().find(|other| cell(other) == cell(row));
        if let Some(same) = same.filter(|same| medium(same) != medium(row)) {
            let why = format!("different wires: {} | {}", medium(same), medium(row));
            note(row.mode_name(), &row.configuration, why);
        }
    }
    let setups: Vec<_> = all().flat_map(|run| &run.setups).collect();
    for (i, setup) in setups.iter().enumerate() {
        let of = (&setup.device, setup.mode, setup.family, &setup.configuration);
        let is_other = |other: &&&Setup| {
            (&other.device, other.mode, other.family, &other.configuration) == of
                && other.commands != setup.commands
        };
        if setups[..i].iter().any(|other| is_other(&other)) {
            let why = format!("different device scripts of {}", setup.device);
            note(setup.mode.of(setup.family), &setup.configuration, why);
        }
    }
    incomparable
}
