//! Whether runs can be compared: which files are one run, and what else than the device differs.
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

use measure::{Environment, Results, SuiteResults, iperf3};
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

pub(super) fn is_copy_of_bench(a: &Results, b: &Results) -> bool {
    is_same_moment(&a.environment, &b.environment) || a.rows == b.rows
}

pub(super) fn is_copy_of_iperf3(a: &iperf3::Results, b: &iperf3::Results) -> bool {
    let numbers = |run: &iperf3::Results| {
        (run.rows.clone(), run.latencies.clone(), run.paths.clone(), run.name.clone())
    };
    is_same_moment(&a.environment, &b.environment) || numbers(a) == numbers(b)
}

pub(super) fn is_copy_of_suite(a: &SuiteResults, b: &SuiteResults) -> bool {
    let model = |run: &SuiteResults| {
        let SuiteResults { plan, scaling, device, medium, configurations, environment, .. } =
            run.clone();
        (plan, scaling, device, medium, configurations, environment.seed, environment.commit)
    };
    is_same_moment(&a.environment, &b.environment)
        || a.name == b.name && a.cells == b.cells
        || a.virtual_time && b.virtual_time && model(a) == model(b)
}

/// Which figures have no verdict: those under conditions that are not the same.
#[derive(Default)]
pub(super) struct Incomparable {
    all: bool,
    latencies: bool,
    configurations: Vec<String>,
}

impl Incomparable {
    pub(super) fn has(&self, procedure: &str, configuration: &str) -> bool {
        let is_latency = ["latency", "delay-variation"].contains(&procedure);
        self.all
            || self.latencies && is_latency
            || self.configurations.iter().any(|other| other == configuration)
    }
}

/// What makes figures of suites others, though they have one name.
type Condition = (&'static str, fn(&SuiteResults) -> String);
const CONDITIONS: [Condition; 6] = [
    ("traffic", |run| run.traffic.clone()),
    ("numbers of sending ports", |run| run.senders.to_string()),
    ("wires", |run| format!("{} Mbit/s", run.wire_mbps)),
    ("clocks", |run| if run.virtual_time { "virtual time" } else { "real time" }.to_string()),
    ("lengths", |run| run.scaling.clone().unwrap_or("as the plan stands".to_string())),
    ("plans", |run| plan(&run.plan)),
];

/// Says what differs between suites, and which figures it makes others.
pub(super) fn of_suites(
    base: &[&SuiteResults],
    device: &[&SuiteResults],
    out: &mut String,
) -> Incomparable {
    let mut incomparable = Incomparable::default();
    for (what, of) in CONDITIONS {
        if let Some(values) = differ(base, device, of) {
            incomparable.all = true;
            let _ = writeln!(out, "not comparable, no verdicts: different {what}: {values}");
        }
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
        run.configurations.iter().map(|one| (&run.device, &one.name, script(&one.script)))
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

/// The same of iperf3's.
pub(super) fn of_iperf3(
    base: &[&iperf3::Results],
    device: &[&iperf3::Results],
    out: &mut String,
) -> Incomparable {
    let mut incomparable = Incomparable::default();
    if let Some(values) = differ(base, device, |run| plan(&run.plan)) {
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

/// What a plan says, without remarks, and without the device: that may be another.
fn plan(text: &str) -> String {
    let mut of_device = false;
    let mut out = String::new();
    for line in text.lines() {
        // A sign in quotes is none of a remark, but none of our names has one.
        let line = line.split('#').next().unwrap_or("").trim();
        if line.starts_with('[') && !line.contains(',') && !line.contains('"') {
            of_device = line == "[device]" || line == "[virtual]";
        }
        let is_device = of_device || line.starts_with("devices ") || line.starts_with("devices=");
        if !line.is_empty() && !is_device {
            out += line;
            out.push('\n');
        }
    }
    out
}

/// A script without remarks.
fn script(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// Cells of `bench` that went over other wires, or with other commands on one device: mode and
/// configuration, and why.
pub(super) fn of_bench(base: &[&Results], device: &[&Results]) -> Vec<(String, String, String)> {
    let all = || base.iter().chain(device).copied();
    let mut found: Vec<(String, String, String)> = Vec::new();
    let mut note = |mode: String, configuration: &str, why: String| {
        let one = (mode, configuration.to_string(), why);
        if !found.contains(&one) {
            found.push(one);
        }
    };
    let rows: Vec<_> = all().flat_map(|run| &run.rows).collect();
    for (i, row) in rows.iter().enumerate() {
        let same = rows[..i].iter().find(|other| {
            (other.mode, &other.configuration, other.frame_size, other.cores)
                == (row.mode, &row.configuration, row.frame_size, row.cores)
        });
        let medium = |row: &measure::Row| {
            let of = &row.medium;
            let rate = row.wire_mbps.map_or(String::new(), |mbps| format!(" of {mbps} Mbit/s"));
            format!("{}{rate}, sent by {}, received by {}", of.wire, of.generator, of.receiver)
        };
        if let Some(same) = same.filter(|same| medium(same) != medium(row)) {
            let why = format!("different wires: {} | {}", medium(same), medium(row));
            note(row.mode.to_string(), &row.configuration, why);
        }
    }
    let setups: Vec<_> = all().flat_map(|run| &run.setups).collect();
    for (i, setup) in setups.iter().enumerate() {
        let is_other = |other: &&&measure::result::Setup| {
            (&other.device, other.mode, &other.configuration)
                == (&setup.device, setup.mode, &setup.configuration)
                && other.commands != setup.commands
        };
        if setups[..i].iter().any(|other| is_other(&other)) {
            let why = format!("different device scripts of {}", setup.device);
            note(setup.mode.to_string(), &setup.configuration, why);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_without_what_does_not_matter() {
        let one = "# Mine.\nname = \"x\"\n[device]\nconfiguration = \"a.rsc\"\n[medium]\nlink = \"10G\" # a wire\n";
        let other = "name = \"x\"\n\n[device]\nconfiguration = \"b.rsc\"\nmodifiers = [\n\"1-filter\", \"none\"\n]\n[medium]\nlink = \"10G\"\n";
        assert_eq!(plan(one), plan(other));
        assert_ne!(plan(one), plan(&one.replace("10G", "1G")));
        assert_eq!(script("# x\n/ip a\n"), script("\n/ip a\n  # y\n"));
    }
}
