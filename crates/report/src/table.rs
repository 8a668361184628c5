//! The performance table, as the documents print it: a row for each mode and configuration, and
//! for each frame size kpps and Mbps.
//!
//! ```text
//!                                       64 byte               512 byte
//! Mode      Configuration              kpps   Mbps(L2)       kpps   Mbps(L2) …
//! Bridging  none (fast path)      119,047.6w  60,952.4   18,790.0w  76,963.8 …
//! ```
//!
//! The documents underline what reached wire speed. Text has no underline that survives a mail, so
//! a letter follows the number, and a legend line says what it means. A second table
//! below has what is known beyond the documents' columns: the device's own time for each packet,
//! the highest load without loss, the share of the fast path.
//!
//! Never hides a row, and never prints a figure of an invalid one: its place has the mark, and the
//! reason is named below.

use crate::number::thousands;
use measure::{Limit, Mode, Results, Row, Verdict};
use std::fmt::Write;

/// The configurations' names in the documents, in the documents' order, ours behind them; for
/// bridging, filter rules are bridge filter rules.
const CONFIGURATIONS: [(&str, &str); 6] = [
    ("none", "none (fast path)"),
    ("25-simple-queues", "25 simple queues"),
    ("25-filter-rules", "25 ip filter rules"),
    ("fasttrack", "fasttrack, 25 ip filter rules"),
    ("conntrack", "connection tracking"),
    ("bgp-table", "full BGP table (fast path)"),
];

/// Draws all tables of the results, one for each device and number of cores, each with its legend
/// and its functionality tax. Ends with a newline; empty if there are no rows.
pub fn render(results: &Results) -> String {
    let mut out = String::new();
    let mut drawn: Vec<(&str, u32)> = vec![];
    for row in &results.rows {
        let key = (row.device.as_str(), row.cores);
        if !drawn.contains(&key) {
            drawn.push(key);
            if !out.is_empty() {
                out.push('\n');
            }
            let rows: Vec<&Row> =
                results.rows.iter().filter(|row| (row.device.as_str(), row.cores) == key).collect();
            out += &table(results, &rows);
        }
    }
    if let Some(why) = &results.incomplete_because {
        let _ = writeln!(out, "{}INCOMPLETE: {why}", if out.is_empty() { "" } else { "\n" });
    }
    out + &crate::turns::render(results)
}

/// A column of a frame size.
pub(crate) struct Column<'a> {
    pub(crate) name: &'a str,
    pub(crate) cell: fn(&Row) -> Option<String>,
}

/// The documents' columns. The place behind a rate is its mark's.
const RATES: [Column<'_>; 2] = [
    Column { name: "kpps ", cell: |row| Some(rate(row, row.kpps) + mark(row)) },
    Column { name: "Mbps(L2)", cell: |row| Some(rate(row, row.l2_mbps)) },
];

/// A rate as it is printed: of an invalid row there is none.
pub(crate) fn rate(row: &Row, value: f64) -> String {
    match row.verdict {
        Verdict::Invalid => "-".to_string(),
        Verdict::Pass | Verdict::Fail => thousands(value),
    }
}

/// Ours, in a table of their own below, where they are known.
///
/// Of a criterion that no load met there is a column, too.
pub(crate) fn details<'a>(rows: &[&Row], by_criterion: &'a str) -> Vec<Column<'a>> {
    let searched = rows.iter().any(|row| row.criterion.is_some());
    let is_shown = |column: &Column<'_>| {
        rows.iter().any(|row| (column.cell)(row).is_some())
            || searched && column.name == by_criterion
    };
    let all = [
        Column { name: "ns/packet", cell: |row| row.router_ns_per_packet.map(thousands) },
        Column {
            name: by_criterion,
            cell: |row| Some(thousands(row.no_drop? / 1e3) + met_mark(row)),
        },
        Column {
            name: "fast path",
            cell: |row| row.fast_path_share.map(|share| format!("{}%", thousands(100.0 * share))),
        },
    ];
    all.into_iter().filter(is_shown).collect()
}

/// The letter behind the highest load by a criterion. Of files that do not say what its limit was,
/// the trials do.
fn met_mark(row: &Row) -> &'static str {
    match row.no_drop_limited_by.or_else(|| row.limit_of_no_drop()) {
        Some(Limit::Tester) => "t",
        _ => " ",
    }
}

/// What the columns of [`details`] are, and their mark.
pub(crate) fn meanings(rows: &[&Row], columns: &[Column<'_>], what: &str) -> Vec<String> {
    let meaning = |column: &Column<'_>| match column.name {
        "ns/packet" => "ns/packet: the device's own time for each".to_string(),
        "fast path" => {
            "fast path: the share of frames that were spared the slow one, by FastPath or by what \
                        their flow's first packets left behind"
                .to_string()
        }
        name => {
            let mark = match rows.iter().any(|row| row.no_drop.is_some() && met_mark(row) == "t") {
                true => "; t: a lower bound: the tester could not offer a higher load",
                false => "",
            };
            format!("{}: {what}{mark}", name.trim_end())
        }
    };
    columns.iter().map(meaning).collect()
}

/// What the highest load by a criterion is called in a table (with the place of a mark behind it), and
/// what that is.
pub(crate) fn criterion(rows: &[&Row]) -> (String, String) {
    let name = rows.iter().find_map(|row| row.criterion.as_deref()).unwrap_or_default();
    // A goal's name begins with its preset.
    let goal = name.strip_prefix("throughput[").filter(|_| name.contains(" exceed "));
    match goal.and_then(|rest| rest.split_once(' ')) {
        Some((preset, _)) => (format!("kpps({preset}) "), format!("the highest load by {name}")),
        None => {
            let by = if name.is_empty() { String::new() } else { format!(" ({name})") };
            let what = format!("the highest load of which nothing was lost{by}");
            ("kpps(0 loss) ".to_string(), what)
        }
    }
}

fn table(results: &Results, rows: &[&Row]) -> String {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.frame_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let (by_criterion, what) = criterion(rows);
    let details = details(rows, &by_criterion);
    let mut out = title(rows) + &grid(rows, &sizes, &RATES.each_ref()) + &legend(rows);
    if !details.is_empty() {
        out.push('\n');
        out += &grid(rows, &sizes, &details.iter().collect::<Vec<_>>());
        let _ = writeln!(out, "\n{}", meanings(rows, &details, &what).join("\n"));
    }
    out + &tax(results, rows, &sizes)
}

/// Rows by columns: two lines of header, a line for each mode and configuration.
fn grid(rows: &[&Row], sizes: &[u32], columns: &[&Column<'_>]) -> String {
    let mut lines = vec![vec!["Mode".to_string(), "Configuration".to_string()]];
    for _ in sizes {
        lines[0].extend(columns.iter().map(|column| column.name.to_string()));
    }
    for (mode, configuration) in order(rows) {
        let mut line = vec![mode.to_string(), label(mode, configuration)];
        for &size in sizes {
            let row = find(rows, mode, configuration, size);
            for column in columns {
                // Above the others' last digit: behind it may be the place of a mark.
                let none = if column.name.ends_with(' ') { "- " } else { "-" };
                line.push(row.and_then(column.cell).unwrap_or_else(|| none.into()));
            }
        }
        lines.push(line);
    }
    let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();

    let mut out = " ".repeat(widths[0] + 2 + widths[1]);
    for (size, widths) in sizes.iter().zip(widths[2..].chunks(columns.len())) {
        let width = widths.iter().map(|width| width + 2).sum();
        let _ = write!(out, "{:^width$}", format!("{size} byte"));
    }
    out.truncate(out.trim_end().len());
    for line in &lines {
        let _ = write!(out, "\n{:<a$}  {:<b$}", line[0], line[1], a = widths[0], b = widths[1]);
        for (cell, width) in line.iter().zip(&widths).skip(2) {
            let _ = write!(out, "  {cell:>width$}");
        }
        out.truncate(out.trim_end().len());
    }
    out.push('\n');
    out
}

pub(crate) fn find<'a>(
    rows: &[&'a Row],
    mode: Mode,
    configuration: &str,
    size: u32,
) -> Option<&'a Row> {
    let key = (mode, configuration, size);
    rows.iter().find(|row| (row.mode, row.configuration.as_str(), row.frame_size) == key).copied()
}

fn title(rows: &[&Row]) -> String {
    let Some(row) = rows.first() else { return String::new() };
    let how = how(row);
    format!(
        "{}: {how}; forwarding rate at the highest load offered\n\
         {}, {}, {} build of {}, {}\n\n",
        row.device,
        row.environment.cpu,
        row.environment.kernel,
        row.environment.build,
        row.environment.commit,
        row.environment.timestamp,
    )
}

/// How a device's rows were measured.
pub(crate) fn how(row: &Row) -> String {
    match (row.medium.wire.as_str(), row.cores) {
        ("memory", 1) => "1 core, fed from memory: only the device's own time counts".to_string(),
        ("memory", n) => format!("{n} cores, real time"),
        (wire, 1) => {
            format!("tester and device on whichever processors, real time, through {wire}")
        }
        (wire, n) => format!("{n} cores, real time, through {wire}"),
    }
}

/// Modes and configurations in the documents' order; unknown configurations last, in the order in
/// which they come.
pub(crate) fn order<'a>(rows: &[&'a Row]) -> Vec<(Mode, &'a str)> {
    let mut all: Vec<(Mode, &str)> = vec![];
    for row in rows {
        let key = (row.mode, row.configuration.as_str());
        if !all.contains(&key) {
            all.push(key);
        }
    }
    let rank = |name: &str| CONFIGURATIONS.iter().position(|(known, _)| *known == name);
    all.sort_by_key(|&(mode, name)| (mode, rank(name).unwrap_or(CONFIGURATIONS.len())));
    all
}

pub(crate) fn label(mode: Mode, configuration: &str) -> String {
    let known = CONFIGURATIONS.iter().find(|(name, _)| *name == configuration);
    match (mode, known) {
        (Mode::Bridging, Some(("25-filter-rules", _))) => "25 bridge filter rules".into(),
        (_, Some((_, label))) => (*label).into(),
        (_, None) => configuration.into(),
    }
}

/// The letter behind a rate: one character, a blank for a rate that is the device's own.
pub(crate) fn mark(row: &Row) -> &'static str {
    match (row.verdict, row.limited_by) {
        (_, Limit::Placement) => "p",
        (Verdict::Invalid, _) => "x",
        (_, Limit::Wire) => "w",
        (_, Limit::Tester) => "t",
        // A table's loads are the wire's: no plan keeps them low.
        (_, Limit::Device | Limit::Plan) => " ",
    }
}

const MARKS: [(&str, &str); 4] = [
    ("w", "wire speed reached"),
    (
        "t",
        "the tester was the bottleneck (alone it reaches less than 1.2 times this rate, or the device was \
         idle part of the time); the device may be faster",
    ),
    ("p", "the cores moved apart or together during every attempt"),
    (
        "x",
        "invalid: the tester fell short or the machine was busy; there is no figure of the device",
    ),
];

fn legend(rows: &[&Row]) -> String {
    let mut out = "\nMbps(L2): 10^6 bit/s of frames with FCS\n".to_string();
    for line in legend_of(rows) {
        out += &line;
        out.push('\n');
    }
    out
}

/// What the marks mean that are there, and the remarks, a line each.
pub(crate) fn legend_of(rows: &[&Row]) -> Vec<String> {
    let marks = MARKS.iter().filter(|(letter, _)| rows.iter().any(|row| mark(row) == *letter));
    let marks = marks.map(|(letter, meaning)| format!("{letter}  {meaning}"));
    // What holds for several sizes is said once.
    let mut remarks: Vec<(Mode, &str, &str, Vec<String>)> = vec![];
    for row in rows {
        let (mode, name, size) = (row.mode, &row.configuration, row.frame_size.to_string());
        let Some(remark) = &row.remark else { continue };
        match remarks.iter_mut().find(|(a, b, c, _)| (*a, *b, *c) == (mode, name, remark)) {
            Some((.., sizes)) => sizes.push(size),
            None => remarks.push((mode, name, remark, vec![size])),
        }
    }
    let remarks = remarks.into_iter().map(|(mode, name, remark, sizes)| {
        format!("   {mode}, {}, {} byte: {remark}", label(mode, name), sizes.join(", "))
    });
    marks.chain(remarks).collect()
}

/// The closing line of each size: how many times slower routing is with a configuration than
/// plain. A rate that is not the device's own makes a tax that is not either, and is marked.
fn tax(results: &Results, rows: &[&Row], sizes: &[u32]) -> String {
    let mut out = String::new();
    for &size in sizes {
        let mut parts = vec![];
        for (mode, configuration) in order(rows) {
            if mode != Mode::Routing || configuration == "none" {
                continue;
            }
            let plain = find(rows, mode, "none", size);
            let (Some(row), Some(plain)) = (find(rows, mode, configuration, size), plain) else {
                continue;
            };
            if let Some(tax) = results.tax(row) {
                let mark = [mark(plain), mark(row)].into_iter().find(|mark| *mark != " ");
                let (name, mark) = (label(mode, configuration), mark.unwrap_or(""));
                parts.push(format!("{name} {tax:.2}{mark}"));
            }
        }
        if !parts.is_empty() {
            let taxes = parts.join("; ");
            let _ = writeln!(
                out,
                "Functionality tax, routing, {size} byte (plain rate / rate with it): {taxes}"
            );
        }
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

#[cfg(test)]
mod tests;
