//! Two sets of runs against each other: figure by figure, with a verdict only where there is one.
//!
//! ```text
//!  files ─► conditions: each run once, what differs ─┐
//!     └───► samples: figures under their full names ─┴─► a table for each figure that both have
//!
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
//! Separate runs are never as good as turns in one run: what the machine did meanwhile is in the
//! ratio. Copies of one run count once; what was measured under other conditions has no verdict; and
//! the chance that a verdict is wrong is that of all comparisons together
//! ([`measure::compare::together`]).
//!
//! Never pools different figures; never says that two are equal.

// Which files are one run, and what else than the device differs.
mod conditions;
// Figures of runs, each under its name.
mod samples;

use crate::document::{self, Table};
use crate::file::File;
use crate::suite::figure as shown;
use conditions::{Incomparable, once, shared};
use measure::Unpaired;
use measure::compare::{Ahead, SIGNIFICANT, least_chance, together};
use measure::suite_result::Figure;
use samples::{Key, Sample, Samples};
use std::fmt::Write;

/// What there is to say of two sets of runs.
#[derive(Debug)]
pub struct Compared {
    /// The tables and what to know about them. Ends with a newline.
    pub text: String,
    /// Lines of these tables: what both sides have. Of none nothing was compared.
    pub lines: usize,
}

/// The comparison as text: a line for each figure that both have. `base` and `device` are all runs
/// of each, of one command.
pub fn compare(base: &[File], device: &[File]) -> Compared {
    let mut said = String::new();
    let base = &once("the base", base, &mut said)[..];
    let device = &once("what is compared", device, &mut said)[..];
    said += &shared(base, device);
    let incomparable = conditions::of(base, device, &mut said);
    let (ours, theirs) = (samples::of(base), samples::of(device));
    let tables = tables(&ours, &theirs, &incomparable);
    let mut out = tables.text + &said;
    let limited = |samples: &Samples| samples.iter().filter(|(_, one)| one.by_tester).count();
    if let (base, device) = (limited(&ours), limited(&theirs))
        && base + device > 0
    {
        let _ = writeln!(
            out,
            "tester-limited (t): {base} and {device} rates; their ratio is the testers' as much as the \
             devices'"
        );
    }
    for run in base.iter().chain(device) {
        for invalid in run.invalid() {
            let _ = writeln!(out, "left out: of a run of {}: invalid: {invalid}", run.name());
        }
        if let Some(why) = run.incomplete_because() {
            let _ = writeln!(out, "incomplete: a run of {}: {why}", run.name());
        }
    }
    Compared { text: out, ..tables }
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

/// A figure that both have: of each its samples, and what follows.
struct Line<'a> {
    key: &'a Key,
    base: Vec<Sample>,
    device: Vec<Sample>,
    compared: Option<Unpaired>,
}

/// A table for each figure that both have, and then what only one has.
fn tables(base: &Samples, device: &Samples, incomparable: &Incomparable) -> Compared {
    let mut out = String::new();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for key in document::once(base.iter().map(|(key, _)| key)) {
        let [ours, theirs] = [base, device].map(|samples| of(samples, key));
        if !theirs.is_empty() {
            let compared = unpaired(&ours, &theirs);
            lines.push(Line { key, base: ours, device: theirs, compared });
        }
    }
    let is_other = |key: &Key| incomparable.has(&key.procedure, &key.row[0]);
    let told = lines.iter().map(|line| line.compared.as_ref().filter(|_| !is_other(line.key)));
    let verdicts = Verdicts::of(told);
    let title_of = |line: &Line<'_>| (line.key.title.clone(), line.key.unit.clone());
    for title in document::once(lines.iter().map(title_of)) {
        let head = ["configuration", "byte", "base", "compared", "ratio", "runs", "verdict"];
        let mut rows = Table::new(1, head);
        for (i, line) in lines.iter().enumerate() {
            let Line { key, base, device, compared } = line;
            if title_of(line) != title {
                continue;
            }
            let [row, size] = key.row.clone();
            let runs = format!("{}:{}", base.len(), device.len());
            let cell = |samples: &[Sample]| cell(samples, &key.unit);
            // Of a median of zero (no loss, no time) there is no ratio, of its rank a verdict.
            let ratio = compared.as_ref().and_then(|of| of.ratio);
            let ratio = ratio.map_or("-".to_string(), |ratio| format!("{ratio:.3}"));
            let verdict = verdicts.text(i, ["higher", "lower"]);
            rows.row([row, size, cell(base), cell(device), ratio, runs, verdict]);
        }
        let _ = writeln!(out, "{}", title.0);
        out += &rows.text();
        out.push('\n');
    }
    if lines.is_empty() {
        out += "nothing to compare: no figure of one is a figure of the other\n\n";
    }
    if lines.iter().any(|line| line.base.len().min(line.device.len()) < 4) {
        out += "unclear: fewer than four runs of each can say nothing; the ratio is of medians\n";
    }
    out += &verdicts.note();
    out += &alone("the base", base, device);
    out += &alone("what is compared", device, base);
    Compared { text: out, lines: lines.len() }
}

/// The samples of a figure.
fn of(samples: &Samples, key: &Key) -> Vec<Sample> {
    samples.iter().filter(|(other, _)| other == key).map(|(_, sample)| *sample).collect()
}

/// Which of its figures the other has none of, each named once.
fn alone(whose: &str, samples: &Samples, others: &Samples) -> String {
    let only = samples.iter().filter(|(key, _)| !others.iter().any(|(other, _)| other == key));
    let line = |(Key { title, row: [row, size], .. }, _): &(Key, _)| {
        format!("only {whose} has: {title}: {row}, {size} byte\n")
    };
    document::once(only.map(line)).concat()
}

/// What follows of samples.
fn unpaired(base: &[Sample], device: &[Sample]) -> Option<Unpaired> {
    let values = |samples: &[Sample]| samples.iter().map(|s| s.value).collect::<Vec<f64>>();
    Unpaired::of(&values(base), &values(device))
}

/// The median and, of several runs, the least and the greatest; of one run's repetitions theirs.
fn cell(samples: &[Sample], unit: &str) -> String {
    let show = |value: f64| shown(&Figure::of("", Some(value), unit));
    let mut values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    values.sort_by(f64::total_cmp);
    let by_tester = if samples.iter().any(|sample| sample.by_tester) { " t" } else { "" };
    let median = measure::compare::median(&values).map_or("-".to_string(), show) + by_tester;
    match (samples, values.as_slice()) {
        ([Sample { spread: Some((min, max, n)), .. }], _) if *n > 1 => {
            format!("{median} ({}..{} of {n})", show(*min), show(*max))
        }
        (_, [least, .., most]) => format!("{median} ({}..{})", show(*least), show(*most)),
        _ => median,
    }
}

#[cfg(test)]
pub(crate) mod tests;
