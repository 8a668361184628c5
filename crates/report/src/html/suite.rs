//! The page of a suite: RFC 2544's graphs, every figure in a table, and all one needs to repeat it.
//!
//! ```text
//!  summary ─► rate against size, with the theoretical line ─► loss against load
//!          ─► latency percentiles, distribution ─► a table for each procedure ─► how, configuration
//! ```

use super::chart::{Chart, Series, escape};
use super::distribution::{self, Strip};
use super::{STYLE, about_environment};
use crate::suite::{CYCLES, DROPPED, PROCEDURES, at_quantile, figure, inside, time, whole};
use measure::SuiteResults;
use measure::result::Limit;
use measure::suite_result::Cell;
use std::fmt::Write;

/// The page, a whole HTML document.
pub fn page(results: &SuiteResults) -> String {
    let title = format!("{}: {}", results.name, results.device);
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    body += &notice(results);
    body += &summary(results);
    for (procedure, heading) in PROCEDURES {
        let cells: Vec<&Cell> =
            results.cells.iter().filter(|cell| cell.procedure == procedure).collect();
        if cells.is_empty() {
            continue;
        }
        let _ = writeln!(body, "<h2>{}</h2>", escape(heading));
        body += &match procedure {
            "throughput" => rates(results, &cells),
            "frame-loss" => losses(&cells),
            "latency" => latencies(&cells),
            "streams" => super::streams::tables(&cells),
            _ => String::new(),
        };
        if procedure != "streams" {
            body += &table(results, &cells);
        }
        body += &remarks(&cells);
    }
    body += &how(results);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n<main>\n{body}</main>\n</html>\n",
        escape(&title)
    )
}

/// What must not be overlooked.
fn notice(results: &SuiteResults) -> String {
    let mut out = String::new();
    if !results.complete {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        let _ = writeln!(out, "<p class=\"notice\"><b>Incomplete.</b> {}</p>", escape(why));
    }
    if results.virtual_time {
        let _ = writeln!(
            out,
            "<p class=\"notice\"><b>Virtual time.</b> What the device takes for a frame is modelled, \
             not measured: {}. It does not know what rules cost: with filters it takes as long.</p>",
            escape(&results.medium)
        );
    }
    if let Some(scaling) = &results.scaling {
        let _ = writeln!(out, "<p class=\"notice\"><b>Shortened.</b> {}.</p>", escape(scaling));
    }
    out
}

/// In one look: what, over which wire, with what.
fn summary(results: &SuiteResults) -> String {
    let wire = format!("{} Mbit/s (L1) each", whole(results.wire_mbps));
    let senders = match results.senders {
        1 => "one port sends; rates are its".to_string(),
        n => format!("{n} ports send at the same time; rates are of each, in all {n} times that"),
    };
    let trials: usize = results.cells.iter().map(|cell| cell.trials.len()).sum();
    let invalid = results.cells.iter().flat_map(|cell| &cell.trials);
    let invalid = invalid.filter(|trial| trial.outcome.starts_with("invalid")).count();
    let trials = format!("{trials}, of which {invalid} were invalid and repeated or marked");
    let lines = [
        ("Device", results.device.as_str()),
        ("Run on", &results.medium),
        ("Wires", &wire),
        ("Traffic", &results.traffic),
        ("Rates", &senders),
        ("Latency", &results.latency_definition),
        ("Trials", &trials),
        ("When", &results.environment.timestamp),
    ];
    let mut out = "<dl>\n".to_string();
    for (name, value) in lines {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    out + "</dl>\n"
}

fn sizes(cells: &[&Cell]) -> Vec<u32> {
    let mut sizes: Vec<u32> = cells.iter().map(|cell| cell.frame_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Without a repetition, in their order.
fn once<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = vec![];
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn configurations<'a>(cells: &[&'a Cell]) -> Vec<&'a str> {
    once(cells.iter().map(|cell| cell.configuration.as_str()))
}

fn find<'a>(cells: &[&'a Cell], configuration: &str, size: u32) -> Option<&'a Cell> {
    let of = |cell: &&&Cell| cell.configuration == configuration && cell.frame_size == size;
    cells.iter().find(of).copied()
}

/// §26.1's graph, in the RFC's words: the x coordinate is the frame size, the y coordinate the frame
/// rate; one line is the theoretical rate, the others are the device's.
fn rates(results: &SuiteResults, cells: &[&Cell]) -> String {
    let sizes = sizes(cells);
    let mut series = vec![Series {
        name: "the wire (theoretical)".to_string(),
        points: sizes.iter().map(|&size| Some(results.wire_rate(size).0)).collect(),
        reference: true,
    }];
    let all = cells.iter().flat_map(|cell| &cell.figures).map(|figure| figure.name.as_str());
    // Not the upper bounds beside them.
    let metrics = once(all.filter(|name| name.starts_with("throughput")));
    for configuration in configurations(cells) {
        for metric in &metrics {
            let rate = |size| {
                let cell = find(cells, configuration, size)?;
                cell.figures.iter().find(|figure| figure.name == *metric)?.value
            };
            let short = metric.trim_start_matches("throughput");
            series.push(Series {
                name: match (metrics.len(), short.split(' ').next()) {
                    (1, _) => configuration.to_string(),
                    (_, Some(short)) => format!("{configuration} {short}]"),
                    (_, None) => configuration.to_string(),
                },
                points: sizes.iter().map(|&size| rate(size)).collect(),
                reference: false,
            });
        }
    }
    let title = match metrics.as_slice() {
        [one] => format!("Frame rate by frame size: {one}"),
        _ => "Frame rate by frame size and criterion".to_string(),
    };
    let chart = Chart {
        title,
        y_name: "frames per second from each port",
        x_name: "frame size, bytes with FCS",
        x: sizes.iter().map(u32::to_string).collect(),
        logarithmic: false,
        series,
        show: whole,
    };
    chart.svg()
}

/// §26.3's graph: loss against load, both in per cent; a chart for each configuration.
fn losses(cells: &[&Cell]) -> String {
    let mut out = String::new();
    for configuration in configurations(cells) {
        let of: Vec<&Cell> =
            cells.iter().copied().filter(|cell| cell.configuration == configuration).collect();
        let mut loads: Vec<u32> = of
            .iter()
            .flat_map(|cell| cell.points.iter().map(|point| point.load_percent.round() as u32))
            .collect();
        // The RFC's axis: 0 to 100.
        loads.extend((0..=10).map(|tenth| tenth * 10));
        loads.sort_unstable();
        loads.dedup();
        let series = of.iter().map(|cell| Series {
            name: format!("{} byte", cell.frame_size),
            points: loads
                .iter()
                .map(|&load| {
                    let at = |point: &&measure::procedure::frame_loss::LossPoint| {
                        point.load_percent.round() as u32 == load && !point.invalid
                    };
                    cell.points.iter().find(at).map(|point| point.loss_percent)
                })
                .collect(),
            reference: false,
        });
        let chart = Chart {
            title: format!("Frame loss rate by load: {configuration}"),
            y_name: "frames lost, per cent of those sent",
            x_name: "load, per cent of the wire's rate",
            x: loads.iter().map(u32::to_string).collect(),
            logarithmic: false,
            series: series.collect(),
            show: |percent| {
                format!("{percent:.3}").trim_end_matches('0').trim_end_matches('.').to_string()
                    + " %"
            },
        };
        out += &chart.svg();
    }
    out
}

/// Percentiles and the whole distribution, a pair of charts for each configuration.
fn latencies(cells: &[&Cell]) -> String {
    const SHARES: [(&str, f64); 7] = [
        ("fastest", 0.0),
        ("50 %", 0.5),
        ("90 %", 0.9),
        ("99 %", 0.99),
        ("99.9 %", 0.999),
        ("99.99 %", 0.9999),
        ("slowest", 1.0),
    ];
    let mut out = String::new();
    for configuration in configurations(cells) {
        let of = cells.iter().filter(|cell| cell.configuration == configuration);
        let of: Vec<&Cell> = of.copied().filter(|cell| !cell.histogram.is_empty()).collect();
        let series = of.iter().map(|cell| {
            let at = |share| at_quantile(&cell.histogram, share).map(|ns| ns.max(1) as f64);
            Series {
                name: format!("{} byte", cell.frame_size),
                points: SHARES.iter().map(|&(_, share)| at(share)).collect(),
                reference: false,
            }
        });
        let chart = Chart {
            title: format!("Latency percentiles at the throughput rate: {configuration}"),
            y_name: "every frame of every repetition",
            x_name: "share of frames that are not slower",
            x: SHARES.iter().map(|(name, _)| (*name).to_string()).collect(),
            logarithmic: true,
            series: series.collect(),
            show: time,
        };
        out += &chart.svg();
        let strips = of.iter().map(|cell| Strip {
            name: format!("{} byte", cell.frame_size),
            buckets: &cell.histogram,
        });
        let strips: Vec<Strip<'_>> = strips.collect();
        out += &distribution::svg(&format!("Distribution of latency: {configuration}"), &strips);
    }
    out
}

/// Every figure: a line for each configuration and size.
fn table(results: &SuiteResults, cells: &[&Cell]) -> String {
    let names = once(cells.iter().flat_map(|cell| &cell.figures).map(|f| f.name.as_str()));
    // What is derived of a rate stands beside the first only: a page has a width.
    let throughput = cells.iter().any(|cell| cell.procedure == "throughput");
    let is_rate = |name: &str| throughput && names.first() == Some(&name);
    let mut out =
        "<div class=\"wide\"><table>\n<thead><tr><th>Configuration</th><th>Byte</th>".to_string();
    for name in &names {
        let _ = write!(out, "<th>{}</th>", escape(name));
        if is_rate(name) {
            out += "<th>of the wire</th><th>Mbps (L2)</th>";
        }
    }
    out += "</tr></thead>\n<tbody>\n";
    for cell in cells {
        let _ =
            write!(out, "<tr><td>{}</td><td>{}</td>", escape(&cell.configuration), cell.frame_size);
        for (i, name) in names.iter().enumerate() {
            let one = cell.figures.iter().find(|figure| figure.name == *name);
            let Some(one) = one.filter(|one| one.value.is_some()) else {
                out +=
                    if is_rate(name) { "<td>–</td><td></td><td></td>" } else { "<td>–</td>" };
                continue;
            };
            let mark = match (cell.limited_by, i) {
                (Some(Limit::Wire), 0) => "<sup>w</sup>",
                (Some(Limit::Tester), 0) => "<sup>t</sup>",
                (Some(Limit::Plan), 0) => "<sup>p</sup>",
                _ => "",
            };
            let spread = one.spread.filter(|spread| spread.n > 1).map_or(String::new(), |spread| {
                format!("<small> ±{}</small>", unit(spread.stddev, &one.unit))
            });
            let _ = write!(out, "<td>{}{mark}{spread}</td>", escape(&figure(one)));
            if is_rate(name) {
                let rate = one.value.unwrap_or(0.0);
                let share = rate / results.wire_rate(cell.frame_size).0 * 100.0;
                let mbps = whole(SuiteResults::l2_mbps(rate, cell.frame_size));
                let _ = write!(out, "<td>{share:.1} %</td><td>{mbps}</td>");
            }
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table></div>\n"
}

fn unit(value: f64, unit: &str) -> String {
    if unit == "ns" { time(value) } else { whole(value) }
}

fn remarks(cells: &[&Cell]) -> String {
    let mut out = String::new();
    for (limit, text) in [
        (Limit::Wire, "w: wire speed reached"),
        (
            Limit::Tester,
            "t: the tester's limit, or less than 1.2 times below it: the device may be faster",
        ),
        (Limit::Plan, "p: the highest load that the plan tries: the device may be faster"),
    ] {
        if cells.iter().any(|cell| cell.limited_by == Some(limit)) {
            let _ = writeln!(out, "<p class=\"note\">{text}</p>");
        }
    }
    for remark in once(cells.iter().flat_map(|cell| &cell.remarks).map(String::as_str)) {
        let places = cells.iter().filter(|cell| cell.remarks.iter().any(|one| one == remark));
        let places: Vec<String> =
            places.map(|cell| format!("{} {} byte", cell.configuration, cell.frame_size)).collect();
        let _ = writeln!(
            out,
            "<p class=\"note\">{}: {}</p>",
            escape(&places.join(", ")),
            escape(remark)
        );
    }
    out
}

fn row(tag: &str, values: &[String]) -> String {
    let values: String =
        values.iter().map(|value| format!("<{tag}>{}</{tag}>", escape(value))).collect();
    format!("<tr>{values}</tr>\n")
}

/// The tester alone, what our router knows of itself, the machine, the configurations, the plan.
fn how(results: &SuiteResults) -> String {
    let mut out = "<h2>The tester alone</h2>\n<p class=\"note\">No device between the wires: what no \
                   result can exceed, and the latency that is the tester's own.</p>\n<table>\n<thead>\
                   <tr><th>Byte</th><th>Frames per second from each port (MOL)</th><th>of the wire</th>\
                   <th>Latency floor</th></tr></thead>\n<tbody>\n"
        .to_string();
    for alone in &results.self_tests {
        let share = alone.rate / results.wire_rate(alone.frame_size).0 * 100.0;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{share:.1} %</td><td>{}</td></tr>",
            alone.frame_size,
            whole(alone.rate),
            time(alone.latency_floor_ns as f64)
        );
    }
    out += "</tbody>\n</table>\n";
    for (title, lines) in [(CYCLES, inside::cycles(results)), (DROPPED, inside::dropped(results))] {
        let mut lines = lines.into_iter();
        let Some(head) = lines.next() else { continue };
        let _ = write!(
            out,
            "<h2>{title}</h2>\n<div class=\"wide\"><table>\n<thead>{}</thead>\n<tbody>\n",
            row("th", &head)
        );
        lines.for_each(|line| out += &row("td", &line));
        out += "</tbody>\n</table></div>\n";
    }
    out += "<h2>Where and how</h2>\n";
    out += &about_environment(&results.environment);
    for configuration in &results.configurations {
        let _ = writeln!(
            out,
            "<details><summary>Configuration of the device: {}</summary><pre>{}</pre></details>",
            escape(&configuration.name),
            escape(configuration.script.trim())
        );
    }
    let _ = writeln!(
        out,
        "<details><summary>The plan</summary><pre>{}</pre></details>",
        escape(results.plan.trim())
    );
    out
}
