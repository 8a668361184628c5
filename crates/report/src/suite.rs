//! A suite's results as text: a table for each procedure, and the file.
//!
//! ```text
//!  Throughput                      64 byte        512 byte
//!    throughput[rfc2544 60s 0 loss]
//!      none                   99,206 fps ·  66.7 % of the wire ·  50.8 Mbps(L2)
//! ```
//!
//! Every figure stands under its full name, which carries its criterion; what is not the device's
//! own is marked, and a remark says why a figure is missing.
//!
//! Never changes a number but to round it.

// What the router says of itself.
pub(crate) mod inside;
// Streams of a plan.
pub(crate) mod streams;
// Directions of what measures a time.
pub(crate) mod ways;
// What trials saw beside loss.
pub(crate) mod trials;

use crate::json::ReadError;
use crate::number::thousands;
use measure::SuiteResults;
use measure::result::Limit;
use measure::suite_result::{Cell, Figure, OLDER, SCHEMA};
use std::fmt::Write;

/// Titles of the procedures, in the order in which their tables stand.
pub(crate) const PROCEDURES: [(&str, &str); 21] = [
    ("throughput", "Throughput (RFC 2544 §26.1)"),
    ("latency", "Latency (RFC 2544 §26.2, RFC 8219 §7.2)"),
    ("delay-variation", "Delay variation (RFC 8219 §7.3)"),
    ("frame-loss", "Frame loss rate (RFC 2544 §26.3)"),
    ("back-to-back", "Back-to-back frames (RFC 9004)"),
    ("recovery", "System recovery (RFC 2544 §26.5)"),
    ("reset", "Reset (RFC 2544 §26.6, RFC 6201)"),
    ("forwarding", "Forwarding at the highest load (RFC 2889)"),
    ("congestion", "Congestion control (RFC 2889 §5.5)"),
    ("address-caching", "Address caching capacity (RFC 2889 §5.7)"),
    ("address-learning", "Address learning rate (RFC 2889 §5.8)"),
    ("broadcast", "Broadcast forwarding (RFC 2889 §5.10)"),
    ("establishment", "Connection establishment rate (RFC 9693)"),
    ("tear-down", "Connection tear-down rate (RFC 9693)"),
    ("capacity", "Connection table capacity (RFC 9693)"),
    ("tcp-connections", "TCP connections per second (RFC 9411 §7.2)"),
    ("tcp-transactions", "TCP transactions (RFC 9411 §7.3, §7.4)"),
    ("tcp-concurrent", "Concurrent TCP connections (RFC 9411 §7.5)"),
    ("tcp-path", "The path (RFC 6349 §3)"),
    ("tcp-throughput", "TCP throughput (RFC 6349 §4)"),
    ("streams", "Streams"),
];

pub(crate) const CYCLES: &str =
    "What a frame cost the router at that throughput, in cycles of the time stamp counter";
pub(crate) const SEEN: &str = "What trials saw beside loss, all of a procedure together";
pub(crate) const DROPPED: &str = "What the router dropped, by its own reasons";

/// All tables. Ends with a newline.
pub fn render(results: &SuiteResults) -> String {
    let mut out = head(results);
    for (procedure, title) in PROCEDURES {
        let cells: Vec<&Cell> =
            results.cells.iter().filter(|cell| cell.procedure == procedure).collect();
        if !cells.is_empty() {
            let table = match procedure {
                "streams" => streams::render(&cells),
                _ => table(results, &cells),
            };
            let _ = write!(out, "\n{title}\n{table}");
            out += &grid(&ways::by_direction(&cells));
            out += &losses(&cells);
            out += &remarks(&cells);
        }
    }
    for (title, lines) in [(CYCLES, inside::cycles(results)), (DROPPED, inside::dropped(results))] {
        if !lines.is_empty() {
            let _ = write!(out, "\n{title}\n{}", grid(&lines));
        }
    }
    let seen = trials::counted(results);
    if !seen.is_empty() {
        let _ = write!(out, "\n{SEEN}\n{}{}", grid(&seen), trials::reasons(results));
    }
    if let Some(text) = trials::disturbed(results) {
        let _ = writeln!(out, "\n{text}");
    }
    out += &alone(results);
    out
}

fn head(results: &SuiteResults) -> String {
    let environment = &results.environment;
    let mut out = format!(
        "{}: {}, {}\n{}, {}, {} build of {}, {}, seed {}\n{}; wire {:.0} Mbit/s (L1); rates are \
         from each of {} sending ports\n",
        results.name,
        results.device,
        results.medium,
        environment.cpu,
        environment.kernel,
        environment.build,
        environment.commit,
        environment.timestamp,
        environment.seed,
        results.traffic,
        results.wire_mbps,
        results.senders,
    );
    for line in &results.goals {
        let _ = writeln!(out, "{line}");
    }
    for mix in &results.mixes {
        let _ = writeln!(out, "{mix}");
    }
    if let Some(scaling) = &results.scaling {
        let _ = writeln!(out, "SHORTENED: {scaling}");
    }
    if !results.complete {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        let _ = writeln!(out, "INCOMPLETE: {why}");
    }
    out
}

/// A line for each configuration and size, a column for each figure; the figures' full names stand
/// above, by number.
fn table(results: &SuiteResults, cells: &[&Cell]) -> String {
    let mut names: Vec<&str> = vec![];
    for figure in cells.iter().flat_map(|cell| &cell.figures) {
        if !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    // What is derived of a rate stands beside the first only: the table is to fit a screen.
    let throughput = cells.iter().any(|cell| cell.procedure == "throughput");
    let is_rate: Vec<bool> = (0..names.len()).map(|i| throughput && i == 0).collect();
    let mut lines = vec![vec!["configuration".to_string(), "byte".to_string()]];
    for (i, _) in names.iter().enumerate() {
        lines[0].push(format!("({})", i + 1));
        if is_rate[i] {
            lines[0].extend(["of the wire".to_string(), "Mbps(L2)".to_string()]);
        }
    }
    for cell in cells {
        let mut line = vec![cell.configuration.clone(), cell.size().to_string()];
        for (i, name) in names.iter().enumerate() {
            let one = cell.figures.iter().find(|figure| figure.name == *name);
            let at = cell.figures.iter().position(|figure| figure.name == *name);
            let mark = at.map_or("", |at| mark(cell, at));
            line.push(one.map_or("-".to_string(), |one| figure(one) + mark));
            if is_rate[i] {
                line.extend(shares(results, cell, one));
            }
        }
        lines.push(line);
    }
    let mut out = String::new();
    for (i, name) in names.iter().enumerate() {
        let _ = writeln!(out, "  ({}) {name}", i + 1);
    }
    out + &grid(&lines)
}

/// A rate's share of the wire, and what it is in bits.
fn shares(results: &SuiteResults, cell: &Cell, figure: Option<&Figure>) -> [String; 2] {
    let Some(rate) = figure.and_then(|figure| figure.value) else {
        return ["-".to_string(), "-".to_string()];
    };
    let share = rate / results.wire_rate(cell.size()).0 * 100.0;
    [format!("{share:.1}%"), thousands(results.l2_mbps(rate, cell.size()))]
}

/// Whose a figure's limit is, by its place in the cell.
fn mark(cell: &Cell, figure: usize) -> &'static str {
    match cell.limit_of(figure) {
        Some(Limit::Wire) => " w",
        Some(Limit::Tester) => " t",
        Some(Limit::Plan) => " p",
        _ => "",
    }
}

fn grid(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        lines.iter().filter_map(|line| line.get(i)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|i| width(i).unwrap_or(0)).collect();
    let mut out = String::new();
    for line in lines {
        let _ = write!(out, "  {:<width$}", line[0], width = widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(out, "  {cell:>width$}");
        }
        out.push('\n');
    }
    out
}

/// Loss by load: a line for each configuration and size.
fn losses(cells: &[&Cell]) -> String {
    let mut lines = vec![];
    for cell in cells.iter().filter(|cell| !cell.points.is_empty()) {
        let points = cell.points.iter().map(|point| {
            let loss = match (point.invalid, point.lost) {
                (true, _) => "x".to_string(),
                (false, 0) => "0".to_string(),
                // Never "0 %" of something that was lost.
                (false, lost) if point.loss_percent < 0.0005 => format!("{lost} frames"),
                (false, _) => format!("{:.3}%", point.loss_percent),
            };
            // 93, and 97.5.
            format!("{}%: {loss}", (point.load_percent * 100.0).round() / 100.0)
        });
        let points: Vec<String> = points.collect();
        lines.push(format!(
            "  {}, {}, loss by load: {}\n",
            cell.configuration,
            cell.size().words(),
            points.join("  ")
        ));
    }
    lines.concat()
}

/// In a sentence: `25-filters 64 byte`; of streams, which have lengths each, the configuration.
fn place(cell: &Cell) -> String {
    match cell.procedure.as_str() {
        "streams" => cell.configuration.clone(),
        _ => format!("{} {}", cell.configuration, cell.size().words()),
    }
}

/// What the cells have to say, each sentence once with all its places.
fn remarks(cells: &[&Cell]) -> String {
    let mut all: Vec<(&str, Vec<String>)> = vec![];
    for cell in cells {
        let place = place(cell);
        for remark in &cell.remarks {
            match all.iter_mut().find(|(text, _)| text == remark) {
                Some((_, places)) => places.push(place.clone()),
                None => all.push((remark, vec![place.clone()])),
            }
        }
    }
    let mut out = String::new();
    for (text, places) in all {
        let _ = writeln!(out, "  {}: {text}", places.join(", "));
    }
    for (limit, letter, text) in [
        (Limit::Wire, "w", "wire speed"),
        (
            Limit::Tester,
            "t",
            "the tester was the bottleneck (in real time: alone it reaches less than 1.2 times this); the device may be faster",
        ),
        (Limit::Plan, "p", "a lower bound: the plan tries no higher load"),
    ] {
        if cells.iter().any(|cell| cell.has_limit(limit)) {
            let _ = writeln!(out, "  {letter}  {text}");
        }
    }
    out
}

/// What a word beside a rate means.
const LOSSY: &str = "  lossy: of what it sent as fast as it can not all came back; the wires between its ports, a \
                     bottleneck among them, or its own rings carry this much\n";

fn alone(results: &SuiteResults) -> String {
    if results.self_tests.is_empty() {
        return String::new();
    }
    let mut lines = vec![vec!["".to_string(), "byte".into(), "MOL".into(), "latency floor".into()]];
    for alone in &results.self_tests {
        let lossy = if alone.lossy { " lossy" } else { "" };
        lines.push(vec![
            String::new(),
            alone.size().to_string(),
            format!("{} fps{lossy}", whole(alone.rate)),
            time(alone.latency_floor_ns as f64),
        ]);
    }
    let lossy = match results.self_tests.iter().any(|alone| alone.lossy) {
        true => LOSSY,
        false => "",
    };
    format!(
        "\nThe tester alone (no device between the wires)\n{}{lossy}  latency: {}\n",
        grid(&lines),
        results.latency_definition
    )
}

/// A figure with its unit.
pub fn figure(figure: &Figure) -> String {
    let Some(value) = figure.value else { return "-".to_string() };
    match figure.unit() {
        "ns" => time(value),
        "%" => format!("{}%", short(value)),
        "/s" => format!("{}/s", whole(value)),
        "ratio" => format!("{value:.3}"),
        // So many connections of TCP.
        "TCP" => whole(value),
        unit => format!("{} {unit}", whole(value)),
    }
}

/// Three decimals, but none that say nothing; and no zero where there is something.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match (text, value > 0.0) {
        ("0" | "-0", true) => "<0.001".to_string(),
        ("-0", false) => "0".to_string(),
        _ => text.to_string(),
    }
}

/// Nanoseconds, in the unit that shows three digits and few more.
pub(crate) fn time(ns: f64) -> String {
    match ns.abs() {
        abs if abs < 1e3 => format!("{ns:.0} ns"),
        abs if abs < 1e4 => format!("{:.2} µs", ns / 1e3),
        abs if abs < 1e6 => format!("{:.1} µs", ns / 1e3),
        abs if abs < 1e8 => format!("{:.2} ms", ns / 1e6),
        abs if abs < 1e9 => format!("{:.1} ms", ns / 1e6),
        abs if abs < 1e11 => format!("{:.2} s", ns / 1e9),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

/// Without decimals where there are many digits; with as many as show two of a small number.
pub(crate) fn whole(value: f64) -> String {
    if (1e-9..0.1).contains(&value.abs()) {
        let digits = (1.0 - value.abs().log10().floor()) as usize;
        return format!("{value:.digits$}").trim_end_matches('0').to_string();
    }
    let text = thousands(value);
    if value.abs() >= 100.0 || value.fract() == 0.0 {
        let rounded = thousands(value.round());
        return rounded.strip_suffix(".0").map_or(text, ToString::to_string);
    }
    text
}

/// The results as JSON, with a newline at the end.
///
/// # Errors
/// A number JSON has no words for.
pub fn write(results: &SuiteResults) -> Result<String, String> {
    let finite = |figure: &Figure| figure.value.is_none_or(f64::is_finite);
    if let Some(bad) = results.cells.iter().flat_map(|cell| &cell.figures).find(|f| !finite(f)) {
        return Err(format!("{} is not a number", bad.name));
    }
    crate::lines::write(results)
}

/// Reads a file that [`write()`] wrote, of this version or an older one.
///
/// # Errors
/// [`ReadError`].
pub fn read(text: &str) -> Result<SuiteResults, ReadError> {
    let schema = crate::json::schema(text)?;
    if schema != SCHEMA && !OLDER.contains(&schema.as_str()) {
        return Err(ReadError::OtherSchema(schema));
    }
    let results: SuiteResults = crate::json::parse(&schema, text)?;
    Ok(SuiteResults { schema: SCHEMA.to_string(), ..results })
}

/// Whether a file is a suite's, of whatever version, by its schema.
pub fn is_suite(text: &str) -> bool {
    crate::json::schema(text).is_ok_and(|schema| schema.starts_with("wirespeed-test/"))
}

#[cfg(test)]
mod tests;
