//! The report of a run: event by event while it goes on, and as a whole at its end.
//!
//! ```text
//! === 2/6 Connection tracking ===
//! [admin@dut] > /ip firewall connection tracking set enabled=yes
//! [admin@tg] > /tool traffic-generator quick …
//! …
//! PASS value: /ip settings get ipv4-fast-path-active is: no
//! FAIL output: ^TOT: no line of the output matches
//! ```

use super::Plan;
use crate::machine;
use crate::topology::Time;
use serde::Serialize;
use std::fmt;

/// What happens, as it happens. Displayed, it is the run's transcript, line breaks included.
#[derive(Debug)]
pub enum Event<'a> {
    /// What was done to interfaces, or chosen, in bringing the lab up.
    Remark(&'a str),
    /// A step begins.
    Step {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// Its title.
        title: &'a str,
    },
    /// A command was typed.
    Typed {
        /// The node's prompt.
        prompt: &'a str,
        /// All its lines.
        command: &'a str,
    },
    /// It prints this.
    Printed(&'a str),
    /// It was refused.
    Refused(&'a str),
    /// What was expected is so, or not.
    Found(&'a Found),
    /// The run is over.
    End(&'a Report),
}

/// Whether what was expected is so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// What was expected.
    pub expected: String,
    /// Whether it is so.
    pub met: bool,
    /// What is so instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub found: String,
}

impl Found {
    pub(super) fn met(expected: String) -> Found {
        Found { expected, met: true, found: String::new() }
    }

    pub(super) fn not(expected: String, found: String) -> Found {
        Found { expected, met: false, found }
    }
}

/// What came of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The lab's name.
    pub lab: String,
    /// `virtual` or `real`.
    pub time: &'static str,
    /// Where random choices started from.
    pub seed: u64,
    /// This program's version.
    pub version: &'static str,
    /// What was done to interfaces, and chosen, in bringing it up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The steps that were taken.
    pub steps: Vec<StepReport>,
    /// How many there are in the file.
    pub of: usize,
    /// How many nodes.
    pub nodes: usize,
    /// How many processors they had in real time; in virtual time they need none.
    pub processors: usize,
}

/// What came of a step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepReport {
    /// What it was about.
    pub title: String,
    /// The node it was typed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What was typed and printed.
    pub commands: Vec<Typed>,
    /// What was expected.
    pub expectations: Vec<Found>,
    /// What it put into the table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub table: Vec<TableCell>,
    /// Why it was refused, when it was not to be.
    #[serde(skip)]
    pub(super) refused: Option<String>,
    /// Nothing can follow.
    #[serde(skip)]
    pub(super) ends: bool,
}

/// A cell of the table at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableCell {
    /// What its line is about.
    pub row: String,
    /// Its column's title.
    pub column: String,
    /// What stands in it.
    pub value: String,
}

/// A command and what it printed.
#[derive(Clone, Debug, Serialize)]
pub struct Typed {
    /// With the prompt in front.
    pub command: String,
    /// What it printed.
    pub output: String,
}

impl Report {
    pub(super) fn new(plan: &Plan, remarks: Vec<String>, steps: Vec<StepReport>) -> Report {
        Report {
            lab: plan.topology.name.clone(),
            time: match plan.time {
                Time::Virtual => "virtual",
                Time::Real => "real",
            },
            seed: plan.seed,
            version: env!("CARGO_PKG_VERSION"),
            of: plan.topology.steps.len(),
            nodes: plan.topology.nodes.len(),
            processors: match plan.time {
                Time::Virtual => 0,
                Time::Real => machine::cores(),
            },
            remarks,
            steps,
        }
    }

    /// The table that the steps have filled, with a line for each row and a line of titles; empty if
    /// they have not.
    pub fn table(&self) -> String {
        let cells = || self.steps.iter().flat_map(|step| &step.table);
        let distinct = |of: fn(&TableCell) -> &str| {
            let mut all = Vec::new();
            cells().map(of).for_each(|text| {
                if !all.contains(&text) {
                    all.push(text);
                }
            });
            all
        };
        let (rows, columns) = (distinct(|cell| &cell.row), distinct(|cell| &cell.column));
        // The last one to say it is right: a step may be repeated.
        let cell = |row: &str, column: &str| {
            let cells: Vec<_> = cells().filter(|c| c.row == row && c.column == column).collect();
            cells.last().map_or("", |cell| &cell.value)
        };
        let chars = |text: &str| text.chars().count();
        let first = rows.iter().map(|row| chars(row)).max().unwrap_or(0);
        let mut lines = vec![(String::new(), columns.iter().map(ToString::to_string).collect())];
        lines.extend(rows.iter().map(|row| {
            let cells: Vec<_> =
                columns.iter().map(|column| cell(row, column).to_string()).collect();
            (row.to_string(), cells)
        }));
        let widths: Vec<usize> = (0..columns.len())
            .map(|at| lines.iter().map(|(_, cells)| chars(&cells[at])).max().unwrap_or(0))
            .collect();
        if rows.is_empty() {
            return String::new();
        }
        let line = |(row, cells): &(String, Vec<String>)| {
            let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("   {cell:>width$}"));
            format!("{row:<first$}{}", cells.collect::<String>()).trim_end().to_string() + "\n"
        };
        lines.iter().map(line).collect()
    }

    /// Whether all steps were taken and everything was as expected.
    pub fn passed(&self) -> bool {
        self.steps.len() == self.of && self.steps.iter().all(StepReport::passed)
    }
}

impl StepReport {
    /// Whether everything was as expected.
    pub fn passed(&self) -> bool {
        self.expectations.iter().all(|found| found.met)
    }

    /// All lines printed.
    pub(super) fn output(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().flat_map(|typed| typed.output.lines())
    }

    pub(super) fn typed(&mut self, prompt: &str, command: &str, events: &mut dyn FnMut(Event<'_>)) {
        events(Event::Typed { prompt, command });
        let command = format!("{prompt}{command}");
        self.commands.push(Typed { command, output: String::new() });
    }

    pub(super) fn printed(&mut self, text: &str, events: &mut dyn FnMut(Event<'_>)) {
        events(Event::Printed(text));
        if let Some(typed) = self.commands.last_mut() {
            typed.output.push_str(text);
        }
    }

    /// A command was refused: as it is shown, and in short.
    pub(super) fn refused(&mut self, shown: &str, why: String, events: &mut dyn FnMut(Event<'_>)) {
        events(Event::Refused(shown));
        if let Some(typed) = self.commands.last_mut() {
            typed.output.push_str(&format!("{shown}\n"));
        }
        self.refused = Some(why);
    }

    /// A program came to no good end.
    pub(super) fn ended(&mut self, why: &str, events: &mut dyn FnMut(Event<'_>)) {
        let is_open = self
            .commands
            .last()
            .is_some_and(|typed| !typed.output.is_empty() && !typed.output.ends_with('\n'));
        if is_open {
            self.printed("\n", events);
        }
        self.refused(why, why.to_string(), events);
    }

    pub(super) fn found(&mut self, found: Found, events: &mut dyn FnMut(Event<'_>)) {
        events(Event::Found(&found));
        self.expectations.push(found);
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Remark(text) => writeln!(f, "# {text}"),
            Event::Step { number, of, title } => {
                let blank = if *number == 1 { "" } else { "\n" };
                let title = if title.is_empty() { "" } else { &format!(" {title}") };
                writeln!(f, "{blank}=== {number}/{of}{title} ===")
            }
            Event::Typed { prompt, command } => writeln!(f, "{prompt}{command}"),
            Event::Printed(text) => f.write_str(text),
            Event::Refused(why) => writeln!(f, "{why}"),
            Event::Found(Found { expected, met: true, .. }) => writeln!(f, "PASS {expected}"),
            Event::Found(Found { expected, found, .. }) => writeln!(f, "FAIL {expected}: {found}"),
            Event::End(report) => report.fmt(f),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { lab, time, seed, .. } = self;
        let expectations = self.steps.iter().flat_map(|step| &step.expectations);
        let (met, not): (Vec<_>, Vec<_>) = expectations.partition(|found| found.met);
        let verdict = if self.passed() { "PASS" } else { "FAIL" };
        let (steps, of) = (self.steps.len(), self.of);
        let (met, not) = (met.len(), not.len());
        let table = self.table();
        if !table.is_empty() {
            write!(f, "\n{table}")?;
        }
        write!(f, "\n{verdict} {lab}: {steps} of {of} steps, {met} met, {not} not met")?;
        match *time {
            "virtual" => writeln!(f, " (virtual time, seed {seed})"),
            _ => {
                let Report { nodes, processors, .. } = self;
                writeln!(f, " (real time, {nodes} nodes on {processors} processors)")
            }
        }
    }
}
