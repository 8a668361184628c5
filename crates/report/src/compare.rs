//! Two sets of runs against each other: cell by cell, with a verdict only where there is one.
//!
//! ```text
//! Mode     Configuration       size   base kpps   kpps    ratio  runs  verdict
//! Routing  25 ip filter rules    64      44,849  47,121   1.051   6:6  faster
//! ```
//!
//! Separate runs are never as good as turns in one run: what the machine did meanwhile is in the
//! ratio. Invalid rows are left out and counted; machines that differ are named.
//!
//! Never pools different cells; never calls two devices equal.

// The same of suites and of iperf3 runs.
mod figures;

pub use figures::{iperf3, suites};

use crate::number::thousands;
use crate::table::label;
use measure::compare::Ahead;
use measure::{Environment, Mode, Results, Row, Unpaired, Verdict};
use std::fmt::Write;

/// A cell: mode, configuration, frame size, cores.
type Cell = (Mode, String, u32, u32);

/// The comparison as text: a line for each cell that both have. `base` and `device` are all runs
/// of each.
pub fn render(base: &[Results], device: &[Results]) -> String {
    let mut out = String::new();
    let cells = cells(base.iter().chain(device));
    let mut lines = vec![
        ["Mode", "Configuration", "size", "cores", "base kpps", "kpps", "ratio", "runs", "verdict"]
            .map(String::from),
    ];
    let (mut alone, mut needs_runs) = (0, false);
    for cell in &cells {
        let [base, device] = [base, device].map(|results| rates(results, cell));
        let Some(compared) = Unpaired::of(&base, &device) else {
            alone += 1;
            continue;
        };
        let Unpaired { runs, ratio, chance, verdict, .. } = compared;
        needs_runs |= verdict == Ahead::Unclear && runs.0.min(runs.1) < 4;
        let kpps = |[least, median, most]: [f64; 3], runs: usize| match runs {
            1 => thousands(median / 1e3),
            _ => format!(
                "{} ({}..{})",
                thousands(median / 1e3),
                thousands(least / 1e3),
                thousands(most / 1e3)
            ),
        };
        let verdict = match verdict {
            Ahead::Unclear => verdict.to_string(),
            _ => format!("{verdict} (p {chance:.3})"),
        };
        lines.push([
            cell.0.to_string(),
            label(cell.0, &cell.1),
            cell.2.to_string(),
            cell.3.to_string(),
            kpps(compared.base, runs.0),
            kpps(compared.device, runs.1),
            format!("{ratio:.3}"),
            format!("{}:{}", runs.0, runs.1),
            verdict,
        ]);
    }
    draw(&mut out, &lines);
    let notes = notes(base, device, alone, needs_runs);
    if !notes.is_empty() {
        out.push('\n');
        out.push_str(&notes);
    }
    out
}

fn draw(out: &mut String, lines: &[[String; 9]]) {
    let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
    for line in lines {
        let mut text = String::new();
        for (i, cell) in line.iter().enumerate() {
            let width = width(i);
            // Words to the left, numbers to the right.
            let _ = match i {
                0 | 1 | 8 => write!(text, "{cell:<width$}  "),
                _ => write!(text, "{cell:>width$}  "),
            };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

/// What a reader must know before believing the table.
fn notes(base: &[Results], device: &[Results], alone: usize, needs_runs: bool) -> String {
    let mut out = String::new();
    if needs_runs {
        out.push_str(
            "unclear: fewer than four runs of each can say nothing; the ratio is of medians\n",
        );
    }
    if alone > 0 {
        let _ = writeln!(out, "left out: {alone} cells that only one side has, or has valid");
    }
    let invalid = |results: &[Results]| {
        let rows = results.iter().flat_map(|results| &results.rows);
        rows.filter(|row| row.verdict == Verdict::Invalid).count()
    };
    if let (base, device) = (invalid(base), invalid(device))
        && base + device > 0
    {
        let _ = writeln!(out, "left out: {base} and {device} rows whose trial was invalid");
    }
    let limited = |results: &[Results]| {
        let rows = results.iter().flat_map(|results| &results.rows);
        rows.filter(|row| row.limited_by == measure::Limit::Tester).count()
    };
    if limited(base) + limited(device) > 0 {
        let _ = writeln!(
            out,
            "tester-limited: {} and {} rows; their ratio is the testers' as much as the devices'",
            limited(base),
            limited(device)
        );
    }
    fn of(results: &[Results]) -> Vec<&Environment> {
        results.iter().map(|results| &results.environment).collect()
    }
    out + &differences(&of(base), &of(device))
}

/// Where and how the runs were made, as far as that differs.
fn differences(base: &[&Environment], device: &[&Environment]) -> String {
    let mut out = String::new();
    for (what, of) in DIFFERENCES {
        let [a, b] = [base, device].map(|environments| {
            let mut all: Vec<String> = environments.iter().map(|one| of(one)).collect();
            all.sort();
            all.dedup();
            all.join(", ")
        });
        if a != b {
            let _ = writeln!(out, "different {what}: {a} and {b}");
        }
    }
    out
}

/// What makes runs hard to compare, where it differs.
type Difference = (&'static str, fn(&Environment) -> String);
const DIFFERENCES: [Difference; 5] = [
    ("processors", |environment| environment.cpu.clone()),
    ("kernels", |environment| environment.kernel.clone()),
    ("builds", |environment| environment.build.clone()),
    ("processor features", |environment| environment.features.join(" ")),
    ("commits", |environment| environment.commit.clone()),
];

/// All cells, in the order of their first appearance.
fn cells<'a>(results: impl Iterator<Item = &'a Results>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for row in results.flat_map(|results| &results.rows) {
        let cell = cell(row);
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

fn cell(row: &Row) -> Cell {
    (row.mode, row.configuration.clone(), row.frame_size, row.cores)
}

/// The valid rates of a cell.
fn rates(results: &[Results], wanted: &Cell) -> Vec<f64> {
    let rows = results.iter().flat_map(|results| &results.rows);
    let valid = rows.filter(|row| row.verdict != Verdict::Invalid && cell(row) == *wanted);
    valid.map(|row| row.pps).collect()
}

#[cfg(test)]
mod tests;
