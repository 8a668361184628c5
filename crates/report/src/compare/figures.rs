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

use super::differences;
use crate::suite::figure as shown;
use measure::compare::Ahead;
use measure::suite_result::{Cell, Figure, SuiteResults};
use measure::{Environment, Unpaired, iperf3};
use std::fmt::Write;

/// What stands before a line's numbers; lines of one title and unit are a table.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    title: String,
    unit: String,
    row: [String; 2],
}

/// A number of one run, and of its repetitions the least and the greatest.
#[derive(Clone, Copy)]
struct Sample {
    value: f64,
    spread: Option<(f64, f64, u32)>,
}

type Samples = Vec<(Key, Sample)>;

/// Results of `wirespeed test` as text: `base` and `device` are all runs of each. Ends with a
/// newline.
pub fn suites(base: &[SuiteResults], device: &[SuiteResults]) -> String {
    let mut out = tables(&of_suites(base), &of_suites(device));
    let how = |results: &[SuiteResults]| {
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
    for results in base.iter().chain(device).filter(|results| !results.complete) {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        let _ = writeln!(out, "incomplete: a run of {}: {why}", results.name);
    }
    out + &differences(
        &environments(base, |r| &r.environment),
        &environments(device, |r| &r.environment),
    )
}

/// Results of `wirespeed iperf3` as text. Turns of one run are rows of their own, and count as
/// runs: each had its hosts made anew.
pub fn iperf3(base: &[iperf3::Results], device: &[iperf3::Results]) -> String {
    let mut out = tables(&of_iperf3(base), &of_iperf3(device));
    for results in base.iter().chain(device) {
        if let Some(why) = &results.incomplete_because {
            let _ = writeln!(out, "incomplete: a run of {}: {why}", results.name);
        }
    }
    out + &differences(
        &environments(base, |r| &r.environment),
        &environments(device, |r| &r.environment),
    )
}

fn environments<T>(results: &[T], of: fn(&T) -> &Environment) -> Vec<&Environment> {
    results.iter().map(of).collect()
}

fn of_suites(results: &[SuiteResults]) -> Samples {
    let mut samples = Samples::new();
    for run in results {
        for cell in &run.cells {
            for figure in &cell.figures {
                let Some(value) = figure.value.filter(|value| value.is_finite()) else { continue };
                let title = format!("{}, {}: {}", run.name, cell.procedure, figure.name);
                let row = [cell.configuration.clone(), size_of(run, cell)];
                let spread = figure.spread.map(|spread| (spread.min, spread.max, spread.n));
                let key = Key { title, unit: figure.unit.clone(), row };
                samples.push((key, Sample { value, spread }));
            }
        }
    }
    samples
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

fn of_iperf3(results: &[iperf3::Results]) -> Samples {
    let mut samples = Samples::new();
    for run in results {
        let quick = if run.quick { " (quick)" } else { "" };
        let mut add = |title: String, unit: &str, row: [String; 2], value: f64| {
            let title = format!("{}{quick}, {title}", run.name);
            let key = Key { title, unit: unit.to_string(), row };
            samples.push((key, Sample { value, spread: None }));
        };
        for row in &run.rows {
            let of = &row.setting;
            let link = of.link_mbps.map_or(String::new(), |mbps| format!(", {mbps} Mbps(L1)"));
            let plain = if of.timestamps { "" } else { ", no time stamps" };
            let title = format!(
                "{}, {}, {} pairs of {} streams{link}{plain}: L3",
                of.protocol, of.direction, of.pairs, of.streams
            );
            add(title, "Mbit/s", [of.device.clone(), of.packet.to_string()], row.l3_mbps);
        }
        for latency in &run.latencies {
            let title = format!("{}: median", latency.command);
            let row = [latency.device.clone(), "-".to_string()];
            add(title, "ns", row, latency.median_ns as f64);
        }
    }
    samples
}

/// A table for each figure that both have, and then what only one has.
fn tables(base: &Samples, device: &Samples) -> String {
    let mut out = String::new();
    let mut titles: Vec<(&str, &str)> = Vec::new();
    let mut needs_runs = false;
    for (key, _) in base {
        let title = (key.title.as_str(), key.unit.as_str());
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    for title in titles {
        let mut lines: Vec<[String; 7]> = Vec::new();
        let mut seen: Vec<&Key> = Vec::new();
        for (key, _) in
            base.iter().filter(|(key, _)| (key.title.as_str(), key.unit.as_str()) == title)
        {
            let [ours, theirs] = [base, device].map(|samples| of(samples, key));
            if seen.contains(&key) || theirs.is_empty() {
                continue;
            }
            seen.push(key);
            let (ratio, verdict) = verdict(&ours, &theirs);
            needs_runs |= ours.len().min(theirs.len()) < 4;
            let [row, size] = key.row.clone();
            let runs = format!("{}:{}", ours.len(), theirs.len());
            let cell = |samples: &[Sample]| cell(samples, &key.unit);
            lines.push([row, size, cell(&ours), cell(&theirs), ratio, runs, verdict]);
        }
        if !lines.is_empty() {
            let head = ["configuration", "byte", "base", "compared", "ratio", "runs", "verdict"];
            lines.insert(0, head.map(String::from));
            let _ = writeln!(out, "{}", title.0);
            draw(&mut out, &lines);
            out.push('\n');
        }
    }
    if out.is_empty() {
        out += "nothing to compare: no figure of one is a figure of the other\n\n";
    }
    if needs_runs {
        out += "unclear: fewer than four runs of each can say nothing; the ratio is of medians\n";
    }
    out += &alone("the base", base, device);
    out += &alone("what is compared", device, base);
    out
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

/// The ratio of the medians, and what may be said.
fn verdict(base: &[Sample], device: &[Sample]) -> (String, String) {
    let values = |samples: &[Sample]| samples.iter().map(|s| s.value).collect::<Vec<f64>>();
    let (base, device) = (values(base), values(device));
    // Ranks are of numbers above zero: of others (a time of zero) there is no ratio.
    if base.iter().chain(&device).any(|value| *value <= 0.0) {
        return ("-".to_string(), "-".to_string());
    }
    let Some(compared) = Unpaired::of(&base, &device) else {
        return ("-".to_string(), "-".to_string());
    };
    let verdict = match compared.verdict {
        Ahead::Unclear => "unclear".to_string(),
        Ahead::Device => format!("higher (p {:.3})", compared.chance),
        Ahead::Base => format!("lower (p {:.3})", compared.chance),
    };
    (format!("{:.3}", compared.ratio), verdict)
}

/// The median and, of several runs, the least and the greatest; of one run's repetitions theirs.
fn cell(samples: &[Sample], unit: &str) -> String {
    let show = |value: f64| shown(&Figure::of("", Some(value), unit));
    let mut values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    values.sort_by(f64::total_cmp);
    let median = measure::compare::median(&values).map_or("-".to_string(), show);
    match (samples, values.as_slice()) {
        ([Sample { spread: Some((min, max, n)), .. }], _) if *n > 1 => {
            format!("{median} ({}..{} of {n})", show(*min), show(*max))
        }
        (_, [least, .., most]) => format!("{median} ({}..{})", show(*least), show(*most)),
        _ => median,
    }
}

fn draw(out: &mut String, lines: &[[String; 7]]) {
    let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
    for line in lines {
        let mut text = String::new();
        for (i, cell) in line.iter().enumerate() {
            let width = width(i);
            // Words to the left, numbers to the right.
            let _ = match i {
                0 | 6 => write!(text, "  {cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &str = include_str!("../../data/test-2.json");
    const IPERF3: &str = include_str!("../../data/iperf3-1.json");

    fn runs(rates: &[f64]) -> Vec<SuiteResults> {
        let stored = crate::suite::read(STORED).unwrap();
        let with = |rate: &f64| {
            let mut results = stored.clone();
            results.cells.truncate(2);
            results.cells[0].figures[0].value = Some(*rate);
            results
        };
        rates.iter().map(with).collect()
    }

    #[test]
    fn suites_figure_by_figure() {
        let four = runs(&[1000.0, 1010.0, 1020.0, 1030.0]);
        let more = runs(&[1100.0, 1110.0, 1120.0, 1130.0]);
        let text = suites(&four, &more);
        for line in [
            "A little of everything, throughput: throughput[rfc2544 0.02s 0 loss]",
            "  configuration  byte                         base                     compared  ratio  runs  verdict",
            "  none             64  1,015 fps (1,000 fps..1,030 fps)  1,115 fps (1,100 fps..1,130 fps)  1.099   4:4  higher (p 0.029)",
        ] {
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.lines().any(|found| squeezed(found) == squeezed(line)), "{line}\n{text}");
        }
        assert!(suites(&more, &four).contains("lower (p 0.029)"));
        // Equal latencies are no verdict, and nobody is alone.
        assert!(text.contains("unclear") && !text.contains("only "), "{text}");
    }

    #[test]
    fn one_run_of_each_says_nothing() {
        let (one, mut other) = (runs(&[1000.0]), runs(&[2000.0]));
        other[0].cells[1].figures[0].name = "another".to_string();
        other[0].scaling = None;
        other[0].environment.cpu = "B".to_string();
        other[0].complete = false;
        let text = suites(&one, &other);
        for part in [
            "2.000   1:1  unclear",
            " of 3)",
            "unclear: fewer than four runs",
            "only the base has: A little of everything, latency: load: none, 64 byte",
            "only what is compared has: A little of everything, latency: another: none, 64 byte",
            "measured differently: ",
            "incomplete: a run of A little of everything: it is not known why",
            "different processors: ",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        other[0].name = "another plan".to_string();
        assert!(suites(&one, &other).starts_with("nothing to compare: "));
    }

    #[test]
    fn iperf3_rows() {
        let one = crate::iperf3::read(IPERF3).unwrap();
        let mut other = one.clone();
        for row in &mut other.rows {
            row.l3_mbps *= 2.0;
        }
        let text = iperf3(std::slice::from_ref(&one), &[other]);
        assert!(
            text.contains("2.000") && text.contains(": L3\n") && !text.contains("only "),
            "{text}"
        );
        let rows = text.lines().filter(|line| line.contains("unclear") && line.contains("2.000"));
        let mut settings: Vec<_> =
            one.rows.iter().map(|row| format!("{:?}", row.setting)).collect();
        settings.sort();
        settings.dedup();
        assert_eq!(rows.count(), settings.len());
    }
}
