//! The router's own account of a suite: cycles a frame, and drops by reason.
//!
//! ```text
//! Cycles a frame at the throughput found, by facility      Dropped, by its own reasons
//! configuration  byte  ethernet  firewall  networking      25-filters  64 byte  throughput  rx-ring-full 312
//! ```
//!
//! The same rows for the terminal and the page.

use measure::suite_result::{Cell, SuiteResults};

/// Cycles: a title line and a line for each cell that has some; nothing if none has.
pub(crate) fn cycles(results: &SuiteResults) -> Vec<Vec<String>> {
    let cells = || results.cells.iter().filter(|cell| !cell.cycles.is_empty());
    let mut facilities: Vec<&str> =
        cells().flat_map(|c| c.cycles.keys()).map(String::as_str).collect();
    facilities.sort_unstable();
    facilities.dedup();
    let mut lines = vec![];
    for cell in cells() {
        let mut line = place(cell);
        let of =
            |facility: &&str| cell.cycles.get(*facility).map_or("-".into(), |n| format!("{n:.1}"));
        line.extend(facilities.iter().map(of));
        line.push(format!("{:.1}", cell.cycles.values().sum::<f64>()));
        lines.push(line);
    }
    if !lines.is_empty() {
        let names = ["configuration", "byte"].into_iter().chain(facilities).chain(["all"]);
        lines.insert(0, names.map(str::to_string).collect());
    }
    lines
}

/// Drops: a title line and a line for each procedure in which something was dropped; nothing if
/// nothing was.
pub(crate) fn dropped(results: &SuiteResults) -> Vec<Vec<String>> {
    let mut lines = vec![];
    for cell in results.cells.iter().filter(|cell| !cell.dropped.is_empty()) {
        let mut line = place(cell);
        let reasons: Vec<String> =
            cell.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        line.extend([cell.procedure.clone(), reasons.join(", ")]);
        lines.push(line);
    }
    if !lines.is_empty() {
        lines
            .insert(0, ["configuration", "byte", "procedure", "frames"].map(str::to_string).into());
    }
    lines
}

fn place(cell: &Cell) -> Vec<String> {
    // Streams have lengths each.
    let size = match cell.procedure.as_str() {
        "streams" => "-".to_string(),
        _ => cell.size().to_string(),
    };
    vec![cell.configuration.clone(), size]
}
