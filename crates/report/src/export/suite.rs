//! Suites for other programs: a line for each figure, and one for each load that frames were lost at;
//! or one for each trial.

use super::escaped;
use crate::suite::streams::{DELAYS, beside, counted, delays, described, shown};
use crate::suite::{figure, trials, ways, whole};
use measure::SuiteResults;
use measure::suite_result::{Cell, TrialRecord};
use std::fmt::Write;

/// The columns of the CSV.
const COLUMNS: [&str; 15] = [
    "configuration",
    "frame_size_l2_with_fcs",
    "procedure",
    "figure",
    "value",
    "unit",
    "l2_mbps",
    "of_wire_percent",
    "repetitions",
    "mean",
    "min",
    "max",
    "stddev",
    "limited_by",
    "mix",
];

/// All figures as CSV (RFC 4180), nothing rounded; loss by load as figures of their own.
pub fn suite_csv(results: &SuiteResults) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Into memory nothing fails.
    let _ = writer.write_record(COLUMNS);
    for cell in &results.cells {
        // Of a mix the mean as it is.
        let mean = results.cycle(cell.size()).mean_l2();
        for (i, one) in cell.figures.iter().enumerate() {
            let rate = one.value.filter(|_| one.unit == "fps");
            let optional = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
            let spread = |of: fn(&measure::procedure::spread::Spread) -> f64| {
                optional(one.spread.as_ref().map(of))
            };
            let limit = cell.limit_of(i);
            let _ = writer.write_record([
                cell.configuration.clone(),
                mean.to_string(),
                cell.procedure.clone(),
                one.name.clone(),
                optional(one.value),
                one.unit().to_string(),
                optional(rate.map(|rate| results.l2_mbps(rate, cell.size()))),
                optional(rate.map(|rate| rate / results.wire_rate(cell.size()).0 * 100.0)),
                one.spread.map_or(String::new(), |spread| spread.n.to_string()),
                spread(|spread| spread.mean),
                spread(|spread| spread.min),
                spread(|spread| spread.max),
                spread(|spread| spread.stddev),
                limit.map_or(String::new(), |limit| format!("{limit:?}").to_lowercase()),
                cell.mix.clone().unwrap_or_default(),
            ]);
        }
        for point in cell.points.iter().filter(|point| !point.invalid) {
            let mut record = vec![
                cell.configuration.clone(),
                mean.to_string(),
                cell.procedure.clone(),
                format!("loss at {} fps", point.load),
                point.loss_percent.to_string(),
                "%".to_string(),
                results.l2_mbps(point.load, cell.size()).to_string(),
                point.load_percent.to_string(),
            ];
            record.resize(COLUMNS.len() - 1, String::new());
            record.push(cell.mix.clone().unwrap_or_default());
            let _ = writer.write_record(&record);
        }
    }
    String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
}

/// A column of the CSV of trials: its name, and how a trial has it.
pub(super) type Column = (&'static str, fn(&TrialRecord) -> String);

/// What stands behind the trial's place.
pub(super) const TRIAL: [Column; 25] = [
    ("kind", |trial| trial.kind.clone()),
    // As fast as may be, or several loads at once: that is no number.
    ("load_fps", |trial| optional((trial.load > 0.0).then_some(trial.load))),
    ("duration_s", |trial| trial.duration.to_string()),
    ("intended_frames", |trial| trial.intended.to_string()),
    ("sent_frames", |trial| trial.sent.to_string()),
    ("received_frames", |trial| trial.received.to_string()),
    // More may have come than were sent: of a trial that is invalid.
    ("lost_frames", |trial| optional(trial.sent.checked_sub(trial.received))),
    ("duplicate_frames", |trial| trial.duplicate.to_string()),
    ("reordered_frames", |trial| trial.reordered.to_string()),
    ("reordering_extent_max", |trial| trial.extent_max.to_string()),
    ("gaps", |trial| trial.gaps.to_string()),
    ("corrupt_frames", |trial| trial.corrupt.to_string()),
    ("wrong_size_frames", |trial| trial.wrong_size.to_string()),
    ("stale_frames", |trial| trial.stale.to_string()),
    ("foreign_frames", |trial| trial.foreign.to_string()),
    ("sent_beside_frames", |trial| trial.beside.to_string()),
    ("flooded_frames", |trial| trial.flooded.to_string()),
    ("tester_ring_lost_frames", |trial| trial.tester_rx_drop.to_string()),
    ("latency_min_ns", |trial| optional(trial.latency.map(|latency| latency.min_ns))),
    ("latency_p50_ns", |trial| optional(trial.latency.map(|latency| latency.p50_ns))),
    ("latency_max_ns", |trial| optional(trial.latency.map(|latency| latency.max_ns))),
    ("stood_still_ns", |trial| trial.stood_still_ns.to_string()),
    ("stolen_ns", |trial| trial.stolen_ns.to_string()),
    ("outcome", |trial| trial.outcome.clone()),
    // Of each way received of sent, where there are several.
    ("directions", |trial| {
        let ways = trial.directions.iter().map(ToString::to_string);
        ways.collect::<Vec<String>>().join("; ")
    }),
];

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// All trials as CSV (RFC 4180), in their order, nothing rounded.
pub fn suite_trials(results: &SuiteResults) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let place = ["configuration", "frame_size_l2_with_fcs", "procedure", "trial"];
    // Into memory nothing fails.
    let _ = writer
        .write_record(place.into_iter().chain(TRIAL.iter().map(|(name, _)| *name)).chain(["mix"]));
    for cell in &results.cells {
        for (i, trial) in cell.trials.iter().enumerate() {
            let size = results.cycle(cell.size()).mean_l2().to_string();
            let mix = cell.mix.clone().unwrap_or_default();
            let place =
                [cell.configuration.clone(), size, cell.procedure.clone(), (i + 1).to_string()];
            let of_trial = TRIAL.iter().map(|(_, of)| of(trial));
            let _ = writer.write_record(place.into_iter().chain(of_trial).chain([mix]));
        }
    }
    String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
}

/// A table for each procedure in Markdown, with where and how, and what must not be overlooked.
pub fn suite_markdown(results: &SuiteResults) -> String {
    let mut out = format!(
        "# {}: {}\n\n{}; wire {} Mbit/s (L1); rates are from each of {} sending ports.\n",
        escaped(&results.name),
        escaped(&results.device),
        escaped(&results.medium),
        whole(results.wire_mbps),
        results.senders
    );
    for line in results.goals.iter().cloned().chain(results.mixes.iter().map(ToString::to_string)) {
        let _ = writeln!(out, "\n{}.", escaped(&line));
    }
    if let Some(scaling) = &results.scaling {
        let _ = writeln!(out, "\n**Shortened:** {}.", escaped(scaling));
    }
    if !results.complete {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        let _ = writeln!(out, "\n**Incomplete:** {}.", escaped(why));
    }
    for (procedure, title) in crate::suite::PROCEDURES {
        let of = results.cells.iter().filter(|cell| cell.procedure == procedure);
        let cells: Vec<&Cell> = of.collect();
        if cells.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "\n## {title}\n\n| configuration | frame (L2 with FCS) | figure | value | Mbps (L2) | \
             limited by |\n| --- | ---: | --- | ---: | ---: | --- |\n"
        );
        for cell in &cells {
            for (i, one) in cell.figures.iter().enumerate() {
                let rate = one.value.filter(|_| one.unit == "fps");
                let mbps = rate.map(|rate| whole(results.l2_mbps(rate, cell.size())));
                let limit = cell.limit_of(i);
                let _ = writeln!(
                    out,
                    "| {} | {} | {} | {} | {} | {} |",
                    escaped(&cell.configuration),
                    escaped(&cell.size().to_string()),
                    escaped(&one.name),
                    figure(one),
                    mbps.unwrap_or_default(),
                    limit.map_or(String::new(), |limit| format!("{limit:?}").to_lowercase()),
                );
            }
        }
        out += &markdown(&ways::by_direction(&cells));
        for trial in cells.iter().filter_map(|cell| shown(cell)) {
            out += &streams(trial);
        }
        for cell in &cells {
            for remark in cell.remarks.iter().chain(&super::series::sentence(cell)) {
                let place = format!("{} {}", cell.configuration, cell.size().words());
                let _ = writeln!(out, "\n*{}: {}*", escaped(&place), escaped(remark));
            }
        }
    }
    if let Some(text) = trials::disturbed(results) {
        let _ = writeln!(out, "\n{text}");
    }
    let environment = &results.environment;
    let _ = writeln!(
        out,
        "\n{}, {}, {} build of {}, {}, seed {}: `{}`",
        escaped(&environment.cpu),
        escaped(&environment.kernel),
        escaped(&environment.build),
        escaped(&environment.commit),
        environment.timestamp,
        environment.seed,
        environment.command
    );
    out
}

/// A table of heads and lines.
pub(crate) fn markdown(lines: &[Vec<String>]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        let line: Vec<String> = line.iter().map(|cell| escaped(cell)).collect();
        let _ = write!(out, "\n| {} |", line.join(" | "));
        if i == 0 {
            let _ = write!(out, "\n| --- |{}", " ---: |".repeat(line.len() - 1));
        }
    }
    out + "\n"
}

/// What each stream of a plan was, and what came of it.
fn streams(trial: &TrialRecord) -> String {
    let mut out = String::new();
    for (lines, note) in [(counted(trial), beside(trial)), (delays(trial), DELAYS.to_string())] {
        out += &markdown(&lines);
        let _ = writeln!(out, "\n{}", escaped(&note));
    }
    out.push('\n');
    for what in described(trial) {
        let _ = writeln!(out, "- {}", what.map(|text| escaped(&text)).join(", "));
    }
    out
}
