//! What came of a run: event by event while it goes on, and as a whole at its end.
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
    /// Why it was refused, when it was not to be.
    #[serde(skip)]
    pub(super) refused: Option<String>,
    /// Nothing can follow.
    #[serde(skip)]
    pub(super) ends: bool,
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
    pub(super) fn new(plan: &Plan, steps: Vec<StepReport>) -> Report {
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
            steps,
        }
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

    pub(super) fn typed(&mut self, prompt: &str, command: &str) {
        let command = format!("{prompt}{command}");
        self.commands.push(Typed { command, output: String::new() });
    }

    pub(super) fn printed(&mut self, text: &str) {
        if let Some(typed) = self.commands.last_mut() {
            typed.output.push_str(text);
        }
    }

    pub(super) fn found(&mut self, found: Found, events: &mut dyn FnMut(Event<'_>)) {
        events(Event::Found(&found));
        self.expectations.push(found);
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
