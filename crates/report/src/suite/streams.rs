//! Streams of a plan: what each was, and what came of it.
//!
//! ```text
//!   voice   1 ► 2  eth/ipv4/udp, 64 byte, 10000 pps, 200ms, seed 7
//!
//!            sent  received  lost    p50  p99.9    max  jitter
//!   voice    2000      2000     0  12 µs  13 µs  15 µs    1 ns
//!   no frame of any stream: duplicate, reordered, …
//! ```
//!
//! Of the last trial of each configuration; the others are in the file.

use super::{grid, time};
use measure::suite_result::{Cell, StreamRecord, TrialRecord};
use std::fmt::Write;

/// What may go wrong with a frame, and how many of a stream's it did with.
type Fault = (&'static str, fn(&StreamRecord) -> u64);

const FAULTS: [Fault; 8] = [
    ("duplicate", |stream| stream.duplicate),
    ("reordered", |stream| stream.reordered),
    ("gaps", |stream| stream.gaps),
    ("wrong size", |stream| stream.wrong_size),
    ("bad checksum", |stream| stream.bad_checksum),
    ("too late", |stream| stream.stale),
    ("elsewhere", |stream| stream.elsewhere),
    ("altered", |stream| stream.altered()),
];

/// The trial whose streams are shown.
pub(crate) fn shown(cell: &Cell) -> Option<&TrialRecord> {
    cell.trials.iter().rev().find(|trial| !trial.streams.is_empty())
}

/// What each stream was: name, way, and the rest in words.
pub(crate) fn described(trial: &TrialRecord) -> Vec<[String; 3]> {
    let one = |stream: &StreamRecord| {
        let StreamRecord { name, from, to, stack, sizes, load, seed, capture, .. } = stream;
        let unit = if sizes.parse::<u32>().is_ok() { " byte" } else { "" };
        let seed = if capture.is_some() { String::new() } else { format!(", seed {seed}") };
        let what = format!("{stack}, {sizes}{unit}, {load}{seed}");
        [name.clone(), format!("{from} ► {to}"), what]
    };
    trial.streams.iter().map(one).collect()
}

/// A line of heads, then a line for each stream. Faults that no stream has have no column.
pub(crate) fn counted(trial: &TrialRecord) -> Vec<Vec<String>> {
    let seen = |fault: &&Fault| trial.streams.iter().any(|stream| fault.1(stream) > 0);
    let faults: Vec<&Fault> = FAULTS.iter().filter(seen).collect();
    let heads = ["", "sent", "received", "lost"].into_iter();
    let heads = heads.chain(faults.iter().map(|(name, _)| *name));
    let heads = heads.chain(["p50", "p99.9", "max", "jitter"]);
    let mut lines: Vec<Vec<String>> = vec![heads.map(ToString::to_string).collect()];
    for stream in &trial.streams {
        let mut line = vec![stream.name.clone()];
        let counts = [stream.sent, stream.received, stream.lost];
        line.extend(counts.map(|n| n.to_string()));
        line.extend(faults.iter().map(|(name, of)| match (*name, stream.extent_max) {
            ("reordered", extent) if extent > 0 => format!("{} (by {extent})", of(stream)),
            _ => of(stream).to_string(),
        }));
        let latency = stream.latency.as_ref().map(|l| [l.p50_ns, l.p999_ns, l.max_ns]);
        let ns = |ns: Option<f64>| ns.map_or("-".to_string(), time);
        line.extend((0..3).map(|at| ns(latency.map(|all| all[at] as f64))));
        line.push(ns(stream.jitter_ns));
        lines.push(line);
    }
    lines
}

/// Which faults no frame of any stream has, and what came besides.
pub(crate) fn beside(trial: &TrialRecord) -> String {
    let none = |fault: &&Fault| {
        let mut looked_at =
            trial.streams.iter().filter(|stream| is_told(fault.0, stream)).peekable();
        looked_at.peek().is_some() && looked_at.all(|stream| fault.1(stream) == 0)
    };
    let none: Vec<&str> = FAULTS.iter().filter(none).map(|(name, _)| *name).collect();
    let none = if none.is_empty() {
        String::new()
    } else {
        format!("no frame of any stream: {}; ", none.join(", "))
    };
    format!("{none}{} foreign frames; {}", trial.foreign, trial.outcome)
}

/// Whether a fault is told apart of a stream: replays have one for what was changed, however it was.
fn is_told(fault: &str, stream: &StreamRecord) -> bool {
    match fault {
        "altered" => stream.capture.is_some(),
        "gaps" | "wrong size" | "bad checksum" | "too late" => stream.capture.is_none(),
        _ => true,
    }
}

/// All of the cells.
pub(super) fn render(cells: &[&Cell]) -> String {
    let mut out = String::new();
    for cell in cells {
        let Some(trial) = shown(cell) else { continue };
        let _ = writeln!(out, "  {}", cell.configuration);
        let described = described(trial);
        let width = described.iter().map(|[name, ..]| name.chars().count()).max().unwrap_or(0);
        for [name, way, what] in described {
            let _ = writeln!(out, "  {name:<width$}  {way}  {what}");
        }
        let _ = write!(out, "\n{}  {}\n", grid(&counted(trial)), beside(trial));
    }
    out
}
