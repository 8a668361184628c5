//! Two sets of runs against each other: cell by cell, with a verdict only where there is one.
//!
//! ```text
//! Mode     Configuration       size   base kpps   kpps    ratio  runs  verdict
//! Routing  25 ip filter rules    64      44,849  47,121   1.051   6:6  faster
//! ```
//!
//! Separate runs are never as good as turns in one run: what the machine did meanwhile is in the
//! ratio. Invalid rows are left out and counted; machines that differ are named. Copies of one run
//! count once; what was measured under other conditions has no verdict; and the chance that a verdict
//! is wrong is that of all comparisons together ([`measure::compare::together`]).
//!
//! Never pools different cells; never calls two devices equal.

// Which files are one run, and what else than the device differs.
mod conditions;
// The same of suites and of iperf3 runs.
mod figures;

pub use figures::{iperf3, suites};

use crate::bench::label;
use crate::document::Table;
use crate::number::thousands;
use conditions::{is_copy_of_bench, of_bench, once, shared};
use measure::compare::{Ahead, SIGNIFICANT, least_chance, together};
use measure::{Environment, Mode, Results, Row, Unpaired, Verdict};
use std::fmt::Write;

/// A cell: mode, configuration, frame size, cores.
type Cell = (Mode, String, u32, u32);

/// What there is to say of two sets of runs.
#[derive(Debug)]
pub struct Compared {
    /// The tables and what to know about them. Ends with a newline.
    pub text: String,
    /// Lines of these tables: what both sides have. Of none nothing was compared.
    pub lines: usize,
}

/// The comparison as text: a line for each cell that both have. `base` and `device` are all runs
/// of each.
pub fn render(base: &[Results], device: &[Results]) -> Compared {
    let (mut out, mut said) = (String::new(), String::new());
    let base = &once("the base", base, is_copy_of_bench, &mut said)[..];
    let device = &once("what is compared", device, is_copy_of_bench, &mut said)[..];
    said += &shared(base, device, is_copy_of_bench);
    let others = of_bench(base, device);
    for (mode, configuration, why) in &others {
        let _ = writeln!(said, "not comparable, no verdict: {mode}, {configuration}: {why}");
    }
    let cells = cells(base.iter().chain(device).copied());
    let mut lines = Table::new(
        2,
        ["Mode", "Configuration", "size", "cores", "base kpps", "kpps", "ratio", "runs", "verdict"],
    );
    let compared: Vec<(&Cell, Option<Unpaired>)> = cells
        .iter()
        .map(|cell| (cell, Unpaired::of(&rates(base, cell), &rates(device, cell))))
        .collect();
    let is_other = |cell: &Cell| {
        others.iter().any(|(mode, name, _)| *mode == cell.0.to_string() && *name == cell.1)
    };
    let told =
        compared.iter().map(|(cell, compared)| compared.as_ref().filter(|_| !is_other(cell)));
    let verdicts = Verdicts::of(told);
    let (mut alone, mut needs_runs) = (0, false);
    for (i, (cell, compared)) in compared.iter().enumerate() {
        let Some(Unpaired { base, device, runs, ratio, verdict, .. }) = *compared else {
            alone += 1;
            continue;
        };
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
        lines.row([
            cell.0.to_string(),
            label(cell.0, &cell.1),
            cell.2.to_string(),
            cell.3.to_string(),
            kpps(base, runs.0),
            kpps(device, runs.1),
            ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}")),
            format!("{}:{}", runs.0, runs.1),
            verdicts.text(i, ["faster", "slower"]),
        ]);
    }
    let compared = lines.rows.len();
    match compared {
        0 => out += "nothing to compare: no cell of one is a valid cell of the other\n",
        _ => out += &lines.text(),
    }
    let notes = said + &verdicts.note() + &notes(base, device, alone, needs_runs);
    if !notes.is_empty() {
        out.push('\n');
        out.push_str(&notes);
    }
    Compared { text: out, lines: compared }
}

/// What may be said of each of many comparisons, looked at together.
struct Verdicts(Vec<Option<Said>>);

/// Of one: who is ahead by itself, the chance of that, and the chance among all.
#[derive(Clone, Copy)]
struct Said {
    ahead: Ahead,
    alone: f64,
    together: f64,
    /// Whether so many runs can say anything at all: else it is none of those looked at.
    counts: bool,
}

impl Verdicts {
    /// Of comparisons; none where nothing is to be said.
    fn of<'a>(all: impl Iterator<Item = Option<&'a Unpaired>>) -> Verdicts {
        let one = |compared: &Unpaired| Said {
            ahead: compared.verdict,
            alone: compared.chance,
            together: compared.chance,
            counts: least_chance(compared.runs) < SIGNIFICANT,
        };
        let mut all: Vec<Option<Said>> = all.map(|compared| compared.map(one)).collect();
        let mut counted: Vec<&mut Said> = all.iter_mut().flatten().filter(|s| s.counts).collect();
        let alone: Vec<f64> = counted.iter().map(|said| said.alone).collect();
        for (said, together) in counted.iter_mut().zip(together(&alone)) {
            said.together = together;
        }
        Verdicts(all)
    }

    /// The verdict of one, in these words for above and below.
    fn text(&self, i: usize, [above, below]: [&str; 2]) -> String {
        let Some(said) = self.0.get(i).copied().flatten() else {
            return "not comparable".to_string();
        };
        let Said { ahead, alone, together, .. } = said;
        match ahead {
            Ahead::Unclear => "unclear".to_string(),
            _ if together >= SIGNIFICANT => format!("unclear (p {alone:.3} alone)"),
            Ahead::Device => format!("{above} (p {together:.3})"),
            Ahead::Base => format!("{below} (p {together:.3})"),
        }
    }

    /// How chances are meant, where there are several.
    fn note(&self) -> String {
        match self.0.iter().flatten().filter(|said| said.counts).count() {
            0 | 1 => String::new(),
            n => format!(
                "p: of {n} comparisons together (Benjamini and Hochberg): of the verdicts at most one \
                 in twenty is to be wrong by chance\n"
            ),
        }
    }
}

/// What a reader must know before believing the table.
fn notes(base: &[&Results], device: &[&Results], alone: usize, needs_runs: bool) -> String {
    let mut out = String::new();
    if needs_runs {
        out.push_str(
            "unclear: fewer than four runs of each can say nothing; the ratio is of medians\n",
        );
    }
    if alone > 0 {
        let _ = writeln!(out, "left out: {alone} cells that only one side has, or has valid");
    }
    let invalid = |results: &[&Results]| {
        let rows = results.iter().flat_map(|results| &results.rows);
        rows.filter(|row| row.verdict == Verdict::Invalid).count()
    };
    if let (base, device) = (invalid(base), invalid(device))
        && base + device > 0
    {
        let _ = writeln!(out, "left out: {base} and {device} rows whose trial was invalid");
    }
    let limited = |results: &[&Results]| {
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
    fn of<'a>(results: &[&'a Results]) -> Vec<&'a Environment> {
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
    // `name = value`: the governor, processors kept free, settings of the kernel.
    let said = |one: &Environment| -> Vec<(String, String)> {
        let lines = one.machine.iter().chain(&one.sysctls).chain(&one.offloads);
        let pairs = lines.filter_map(|line| line.split_once(" = "));
        pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    };
    let all = |side: &[&Environment]| side.iter().flat_map(|one| said(one)).collect::<Vec<_>>();
    let (here, there) = (all(base), all(device));
    let mut told: Vec<&str> = Vec::new();
    for (name, _) in &here {
        let values = |side: &[(String, String)]| {
            let of = side.iter().filter(|(other, _)| other == name);
            let mut values: Vec<String> = of.map(|(_, value)| value.clone()).collect();
            values.sort();
            values.dedup();
            values.join(", ")
        };
        let (a, b) = (values(&here), values(&there));
        // Older files do not say.
        if a != b && !b.is_empty() && !told.contains(&name.as_str()) {
            told.push(name);
            let _ = writeln!(out, "different {name}: {a} and {b}");
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
fn rates(results: &[&Results], wanted: &Cell) -> Vec<f64> {
    let rows = results.iter().flat_map(|results| &results.rows);
    let valid = rows.filter(|row| row.verdict != Verdict::Invalid && cell(row) == *wanted);
    valid.map(|row| row.pps).collect()
}

#[cfg(test)]
mod tests;
