//! Suites and iperf3 runs against each other: figure by figure, under the figure's full name.
//!
//! ```text
//! throughput[rfc2544 60s 0 loss]
//!   configuration  byte            base fps                fps  ratio  runs  verdict
//!   none             64  51,832 (51k..52k)  55,000 (54k..56k)  1.061   6:6  higher (p 0.002)
//! ```
//!
//! Figures match by the plan's name, configuration, procedure, frame size and their own name, which
//! carries the criterion: a quick run's is another figure than a full one's. Higher is not better
//! (of a latency): words say which way it is, not who wins. Repetitions within one run share what
//! the machine did meanwhile: they are shown as its spread, and are no runs.
//!
//! Never pools different figures; never says that two are equal.

use super::conditions::{self, Incomparable, once, shared};
use super::{Compared, Verdicts, differences};
use crate::document::Table;
use crate::suite::{figure as shown, streams};
use measure::result::Limit;
use measure::suite_result::{Cell, Figure, StreamRecord, SuiteResults};
use measure::{Environment, Latency, Unpaired, iperf3};
use std::fmt::Write;

/// What stands before a line's numbers; lines of one title and unit are a table.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    title: String,
    unit: String,
    procedure: String,
    row: [String; 2],
}

/// A number of one run, and of its repetitions the least and the greatest.
#[derive(Clone, Copy)]
struct Sample {
    value: f64,
    spread: Option<(f64, f64, u32)>,
    /// Whether the tester kept it from being higher.
    by_tester: bool,
}

type Samples = Vec<(Key, Sample)>;

/// Results of `wirespeed test` as text: `base` and `device` are all runs of each.
pub fn suites(base: &[SuiteResults], device: &[SuiteResults]) -> Compared {
    let (is_copy, mut said) = (conditions::is_copy_of_suite, String::new());
    let base = &once("the base", base, is_copy, &mut said)[..];
    let device = &once("what is compared", device, is_copy, &mut said)[..];
    said += &shared(base, device, is_copy);
    let incomparable = conditions::of_suites(base, device, &mut said);
    let tables = tables(&of_suites(base), &of_suites(device), &incomparable);
    let mut out = tables.text + &said;
    let how = |results: &[&SuiteResults]| {
        let mut all: Vec<String> = results
            .iter()
            .map(|r| {
                let length = r.scaling.as_deref().unwrap_or("as the plan stands");
                format!("{}, {}, wire {} Mbit/s, {length}", r.device, r.medium, r.wire_mbps)
            })
            .collect();
        all.sort();
        all.dedup();
        all.join("; ")
    };
    let (here, there) = (how(base), how(device));
    if here != there {
        let _ = writeln!(out, "measured differently: {here}; and {there}");
    }
    let limited = |results: &[&SuiteResults]| {
        let cells = results.iter().flat_map(|run| &run.cells);
        cells.filter(|cell| cell.limited_by == Some(Limit::Tester)).count()
    };
    if limited(base) + limited(device) > 0 {
        let _ = writeln!(
            out,
            "tester-limited (t): {} and {} rates; their ratio is the testers' as much as the devices'",
            limited(base),
            limited(device)
        );
    }
    for results in base.iter().chain(device).filter(|results| !results.complete) {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        let _ = writeln!(out, "incomplete: a run of {}: {why}", results.name);
    }
    out += &differences(
        &environments(base, |r| &r.environment),
        &environments(device, |r| &r.environment),
    );
    Compared { text: out, ..tables }
}

/// Results of `wirespeed iperf3` as text. Turns of one run are rows of their own, and count as
/// runs: each had its hosts made anew.
pub fn iperf3(base: &[iperf3::Results], device: &[iperf3::Results]) -> Compared {
    let (is_copy, mut said) = (conditions::is_copy_of_iperf3, String::new());
    let base = &once("the base", base, is_copy, &mut said)[..];
    let device = &once("what is compared", device, is_copy, &mut said)[..];
    said += &shared(base, device, is_copy);
    let incomparable = conditions::of_iperf3(base, device, &mut said);
    let tables = tables(&of_iperf3(base), &of_iperf3(device), &incomparable);
    let mut out = tables.text + &said;
    for results in base.iter().chain(device) {
        for invalid in results.invalid() {
            let _ = writeln!(out, "left out: of a run of {}: invalid: {invalid}", results.name);
        }
        if let Some(why) = &results.incomplete_because {
            let _ = writeln!(out, "incomplete: a run of {}: {why}", results.name);
        }
    }
    out += &differences(
        &environments(base, |r| &r.environment),
        &environments(device, |r| &r.environment),
    );
    Compared { text: out, ..tables }
}

fn environments<'a, T>(results: &[&'a T], of: fn(&T) -> &Environment) -> Vec<&'a Environment> {
    results.iter().map(|run| of(run)).collect()
}

fn of_suites(results: &[&SuiteResults]) -> Samples {
    let mut samples = Samples::new();
    for run in results {
        for cell in &run.cells {
            for (i, figure) in cell.figures.iter().enumerate() {
                let Some(value) = figure.value.filter(|value| value.is_finite()) else { continue };
                let title = format!("{}, {}: {}", run.name, cell.procedure, figure.name);
                let row = [cell.configuration.clone(), size_of(run, cell)];
                let spread = figure.spread.map(|spread| (spread.min, spread.max, spread.n));
                let (unit, procedure) = (figure.unit().to_string(), cell.procedure.clone());
                let by_tester = i == 0 && cell.limited_by == Some(Limit::Tester);
                let key = Key { title, unit, procedure, row };
                samples.push((key, Sample { value, spread, by_tester }));
            }
            for (name, unit, value) in of_streams(cell) {
                let title = format!("{}, {}: {name}", run.name, cell.procedure);
                let row = [cell.configuration.clone(), size_of(run, cell)];
                let (unit, procedure) = (unit.to_string(), cell.procedure.clone());
                let sample = Sample { value, spread: None, by_tester: false };
                samples.push((Key { title, unit, procedure, row }, sample));
            }
        }
    }
    samples
}

/// What each stream of a plan's own lost, and how long its frames took.
fn of_streams(cell: &Cell) -> Vec<(String, &'static str, f64)> {
    let streams = streams::shown(cell).map_or(&[][..], |trial| &trial.streams);
    let of = |stream: &StreamRecord| {
        let lost = [("lost", "frames", Some(stream.lost as f64))];
        let latency = |pick: fn(&Latency) -> u64| stream.latency.as_ref().map(|l| pick(l) as f64);
        let delays = [
            ("latency p50", "ns", latency(|latency| latency.p50_ns)),
            ("latency p99.9", "ns", latency(|latency| latency.p999_ns)),
        ];
        let all = lost.into_iter().chain(delays);
        let name = &stream.name;
        all.filter_map(|(what, unit, value)| Some((format!("{name}, {what}"), unit, value?)))
            .collect::<Vec<_>>()
    };
    streams.iter().flat_map(of).collect()
}

/// What two runs have in common: of a mix its lengths, too, where one calls by a name what the other
/// calls by it otherwise.
fn size_of(run: &SuiteResults, cell: &Cell) -> String {
    let size = cell.size();
    match size.mix.and_then(|name| run.mix(name)) {
        Some(mix) => format!("{size} ({}/{})", mix.l2_bytes, mix.frames),
        None => size.to_string(),
    }
}

fn of_iperf3(results: &[&iperf3::Results]) -> Samples {
    let mut samples = Samples::new();
    for run in results {
        let quick = if run.quick { " (quick)" } else { "" };
        let mut add = |title: String, unit: &str, row: [String; 2], value: f64| {
            let title = format!("{}{quick}, {title}", run.name);
            let key = Key { title, unit: unit.to_string(), procedure: String::new(), row };
            samples.push((key, Sample { value, spread: None, by_tester: false }));
        };
        for row in run.rows.iter().filter(|row| row.validity.is_valid()) {
            let of = &row.setting;
            let link = of.link_mbps.map_or(String::new(), |mbps| format!(", {mbps} Mbps(L1)"));
            let plain = if of.timestamps { "" } else { ", no time stamps" };
            let title = format!(
                "{}, {}, {} pairs of {} streams{link}{plain}: L3",
                of.protocol, of.direction, of.pairs, of.streams
            );
            add(title, "Mbps(L3)", [of.device.clone(), of.packet.to_string()], row.l3_mbps);
        }
        for latency in run.latencies.iter().filter(|of| of.validity.is_valid()) {
            let title = format!("{}: median", latency.command);
            let row = [latency.device.clone(), "-".to_string()];
            add(title, "ns", row, latency.median_ns as f64);
        }
    }
    samples
}

/// A figure that both have: of each its samples, and what follows.
struct Line<'a> {
    key: &'a Key,
    base: Vec<Sample>,
    device: Vec<Sample>,
    compared: Option<Unpaired>,
}

/// A table for each figure that both have, and then what only one has.
fn tables(base: &Samples, device: &Samples, incomparable: &Incomparable) -> Compared {
    let mut out = String::new();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (key, _) in base {
        let [ours, theirs] = [base, device].map(|samples| of(samples, key));
        if theirs.is_empty() || lines.iter().any(|line| line.key == key) {
            continue;
        }
        let compared = unpaired(&ours, &theirs);
        lines.push(Line { key, base: ours, device: theirs, compared });
    }
    let is_other = |key: &Key| incomparable.has(&key.procedure, &key.row[0]);
    let told = lines.iter().map(|line| line.compared.as_ref().filter(|_| !is_other(line.key)));
    let verdicts = Verdicts::of(told);
    let mut titles: Vec<(&str, &str)> = Vec::new();
    for Line { key, .. } in &lines {
        let title = (key.title.as_str(), key.unit.as_str());
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    for title in titles {
        let head = ["configuration", "byte", "base", "compared", "ratio", "runs", "verdict"];
        let mut rows = Table::new(1, head);
        for (i, line) in lines.iter().enumerate() {
            let Line { key, base, device, compared } = line;
            if (key.title.as_str(), key.unit.as_str()) != title {
                continue;
            }
            let [row, size] = key.row.clone();
            let runs = format!("{}:{}", base.len(), device.len());
            let cell = |samples: &[Sample]| cell(samples, &key.unit);
            // Of a median of zero (no loss, no time) there is no ratio, of its rank a verdict.
            let ratio = compared.as_ref().and_then(|of| of.ratio);
            let ratio = ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
            let verdict = verdicts.text(i, ["higher", "lower"]);
            rows.row([row, size, cell(base), cell(device), ratio, runs, verdict]);
        }
        let _ = writeln!(out, "{}", title.0);
        out += &rows.text();
        out.push('\n');
    }
    if lines.is_empty() {
        out += "nothing to compare: no figure of one is a figure of the other\n\n";
    }
    if lines.iter().any(|line| line.base.len().min(line.device.len()) < 4) {
        out += "unclear: fewer than four runs of each can say nothing; the ratio is of medians\n";
    }
    out += &verdicts.note();
    out += &alone("the base", base, device);
    out += &alone("what is compared", device, base);
    Compared { text: out, lines: lines.len() }
}

/// The samples of a figure.
fn of(samples: &Samples, key: &Key) -> Vec<Sample> {
    samples.iter().filter(|(other, _)| other == key).map(|(_, sample)| *sample).collect()
}

/// Which of its figures the other has none of, each named once.
fn alone(whose: &str, samples: &Samples, others: &Samples) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (key, _) in samples {
        let line = format!("only {whose} has: {}: {}, {} byte", key.title, key.row[0], key.row[1]);
        if !others.iter().any(|(other, _)| other == key) && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// What follows of samples.
fn unpaired(base: &[Sample], device: &[Sample]) -> Option<Unpaired> {
    let values = |samples: &[Sample]| samples.iter().map(|s| s.value).collect::<Vec<f64>>();
    Unpaired::of(&values(base), &values(device))
}

/// The median and, of several runs, the least and the greatest; of one run's repetitions theirs.
fn cell(samples: &[Sample], unit: &str) -> String {
    let show = |value: f64| shown(&Figure::of("", Some(value), unit));
    let mut values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    values.sort_by(f64::total_cmp);
    let by_tester = if samples.iter().any(|sample| sample.by_tester) { " t" } else { "" };
    let median = measure::compare::median(&values).map_or("-".to_string(), show) + by_tester;
    match (samples, values.as_slice()) {
        ([Sample { spread: Some((min, max, n)), .. }], _) if *n > 1 => {
            format!("{median} ({}..{} of {n})", show(*min), show(*max))
        }
        (_, [least, .., most]) => format!("{median} ({}..{})", show(*least), show(*most)),
        _ => median,
    }
}

#[cfg(test)]
mod tests;
