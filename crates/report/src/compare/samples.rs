//! Figures of runs, each under the name and the place by which another run's is the same.

use crate::bench::Line;
use crate::file::File;
use crate::suite::streams;
use measure::result::Limit;
use measure::suite_result::{Cell, StreamRecord, SuiteResults};
use measure::{Latency, Results, Verdict, iperf3};

/// What stands before a line's numbers; lines of one title and unit are a table.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) title: String,
    pub(super) unit: String,
    pub(super) procedure: String,
    pub(super) row: [String; 2],
}

/// A number of one run, and of its repetitions the least and the greatest.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) value: f64,
    pub(super) spread: Option<(f64, f64, u32)>,
    /// Whether the tester kept it from being higher.
    pub(super) by_tester: bool,
}

pub(super) type Samples = Vec<(Key, Sample)>;

/// All figures of runs.
pub(super) fn of(runs: &[&File]) -> Samples {
    let mut samples = Samples::new();
    for run in runs {
        match run {
            File::Bench(run) => of_bench(run, &mut samples),
            File::Suite(run) => of_suite(run, &mut samples),
            File::Iperf3(run) => of_iperf3(run, &mut samples),
            File::Survey(_) => {}
        }
    }
    samples
}

/// Rates of valid rows, whichever the device: at the highest load, and by the criterion searched for.
fn of_bench(run: &Results, samples: &mut Samples) {
    for row in run.rows.iter().filter(|row| row.verdict != Verdict::Invalid) {
        let cores = if row.cores == 1 { "1 core" } else { &format!("{} cores", row.cores) };
        let mut add = |name: &str, value: f64, limit: Option<Limit>| {
            let mode = row.mode_name();
            let key = Key {
                title: format!("{mode}, {cores}: {name}"),
                unit: "fps".to_string(),
                procedure: format!("{mode}, {}", row.configuration),
                row: [Line::of(row).label(), row.frame_size.to_string()],
            };
            let by_tester = limit == Some(Limit::Tester);
            samples.push((key, Sample { value, spread: None, by_tester }));
        };
        add("forwarding rate at the highest load", row.pps, Some(row.limited_by));
        if let (Some(name), Some(pps)) = (&row.criterion, row.no_drop) {
            add(name, pps, row.no_drop_limited_by);
        }
    }
}

fn of_suite(run: &SuiteResults, samples: &mut Samples) {
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

fn of_iperf3(run: &iperf3::Results, samples: &mut Samples) {
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
