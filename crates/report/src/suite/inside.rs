//! The router's own account of a suite: cycles a frame, and drops by reason.
//!
//! ```text
//! Cycles a frame at the throughput found, by facility      Dropped, by its own reasons
//! configuration  byte  ethernet  firewall  networking      25-filters  64 byte  throughput  rx-ring-full 312
//! ```
//!
//! The same rows for the terminal and the page.

use crate::document::{Cell, Table};
use measure::suite_result::{self, SuiteResults};
use std::collections::BTreeSet;

/// Cycles: a line for each cell that has some.
pub(crate) fn cycles(results: &SuiteResults) -> Table {
    let cells = || results.cells.iter().filter(|cell| !cell.cycles.is_empty());
    let facilities: BTreeSet<&str> =
        cells().flat_map(|cell| cell.cycles.keys()).map(String::as_str).collect();
    let heads = ["configuration", "byte"].into_iter().chain(facilities.iter().copied());
    let mut table = Table::new(1, heads.chain(["all"]));
    for cell in cells() {
        let of = |facility: &&str| cell.cycles.get(*facility).map(|n| format!("{n:.1}"));
        let each = facilities.iter().map(|facility| Cell::maybe(of(facility)));
        let all = format!("{:.1}", cell.cycles.values().sum::<f64>());
        table.row(place(cell).into_iter().map(Cell::from).chain(each).chain([all.into()]));
    }
    table
}

/// Drops: a line for each procedure in which something was dropped.
pub(crate) fn dropped(results: &SuiteResults) -> Table {
    let mut table = Table::new(4, ["configuration", "byte", "procedure", "frames"]);
    for cell in results.cells.iter().filter(|cell| !cell.dropped.is_empty()) {
        let reasons: Vec<String> =
            cell.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let line = [cell.procedure.clone(), reasons.join(", ")];
        table.row(place(cell).into_iter().chain(line));
    }
    table
}

fn place(cell: &suite_result::Cell) -> [String; 2] {
    // Streams have lengths each.
    let size = match cell.procedure.as_str() {
        "streams" => "-".to_string(),
        _ => cell.size().to_string(),
    };
    [cell.configuration.clone(), size]
}
