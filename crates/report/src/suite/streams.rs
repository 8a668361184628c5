//! Streams of a plan: what each was, and what came of it.
//!
//! ```text
//!   voice   1 ► 2  eth/ipv4/udp, 64 byte, 10000 pps, 200ms, seed 7
//!
//!            sent  received  lost  sent/s  received/s
//!   voice    2000      2000     0  10,000      10,000
//!   no frame of any stream: duplicate, reordered, …
//!
//!             p50  p99.9    max    PDV  IPDV min  median     max    mean  jitter   most
//!   voice   12 µs  13 µs  15 µs   3 µs     -2 µs    0 ns    2 µs    8 ns    1 ns  40 ns
//! ```
//!
//! Of the last trial of each configuration; the others are in the file.

use super::{time, whole};
use crate::document::{Document, Table};
use measure::result::Latency;
use measure::suite_result::{Achieved, Cell, Ipdv, StreamRecord, TrialRecord, total};

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
fn described(trial: &TrialRecord) -> Vec<[String; 3]> {
    let one = |stream: &StreamRecord| {
        let StreamRecord { name, from, to, stack, sizes, load, seed, capture, .. } = stream;
        let unit = if sizes.parse::<u32>().is_ok() { " byte" } else { "" };
        let seed = if capture.is_some() { String::new() } else { format!(", seed {seed}") };
        let what = format!("{stack}, {sizes}{unit}, {load}{seed}");
        [name.clone(), format!("{from} ► {to}"), what]
    };
    trial.streams.iter().map(one).collect()
}

/// A line for each stream, and one for all together if there are several. Faults that no stream has have
/// no column.
fn counted(trial: &TrialRecord) -> Table {
    let seen = |fault: &&Fault| trial.streams.iter().any(|stream| fault.1(stream) > 0);
    let faults: Vec<&Fault> = FAULTS.iter().filter(seen).collect();
    let heads = ["stream", "sent", "received", "lost"].into_iter();
    let heads = heads.chain(faults.iter().map(|(name, _)| *name));
    let mut table = Table::new(1, heads.chain(["sent/s", "received/s"]));
    for stream in &trial.streams {
        let mut line = vec![stream.name.clone()];
        let counts = [stream.sent, stream.received, stream.lost];
        line.extend(counts.map(|n| n.to_string()));
        line.extend(faults.iter().map(|(name, of)| match (*name, stream.extent_max) {
            ("reordered", extent) if extent > 0 => format!("{} (by {extent})", of(stream)),
            _ => of(stream).to_string(),
        }));
        let rate = |one: Option<Achieved>| one.map_or("-".to_string(), |one| whole(one.fps));
        line.extend([rate(stream.sending), rate(stream.arriving)]);
        table.row(line);
    }
    if trial.streams.len() > 1 {
        let sum = |of: fn(&StreamRecord) -> u64| -> String {
            total(trial.streams.iter().map(of)).to_string()
        };
        let mut line = vec![ALL.to_string()];
        line.extend([sum(|one| one.sent), sum(|one| one.received), sum(|one| one.lost)]);
        line.extend(faults.iter().map(|fault| sum(fault.1)));
        // They begin and end when they will: what all do in a second is the time series'.
        line.resize(table.heads.len(), "-".to_string());
        table.row(line);
    }
    table.notes.push(beside(trial));
    table
}

/// The line of all streams together.
const ALL: &str = "all";

/// How late frames were, and how much that varies: a line for each stream, and one for all together if
/// there are several. Of these there is neither PDV nor jitter: what varies from stream to stream is no
/// variation.
fn delays(trial: &TrialRecord) -> Table {
    const HEADS: [&str; 11] = [
        "stream", "p50", "p99.9", "max", "PDV", "IPDV min", "median", "max", "mean", "jitter",
        "most",
    ];
    let some = |ns: Option<f64>| ns.map_or("-".to_string(), time);
    let line = |name: &str, latency: Option<Latency>, pdv: Option<u64>, ipdv: Option<Ipdv>| {
        let of = |pick: fn(Latency) -> u64| some(latency.map(|all| pick(all) as f64));
        let mut line = vec![name.to_string(), of(|l| l.p50_ns), of(|l| l.p999_ns)];
        line.extend([of(|l| l.max_ns), some(pdv.map(|ns| ns as f64))]);
        let of = |pick: fn(Ipdv) -> f64| some(ipdv.map(pick));
        line.extend([of(|i| i.min_ns as f64), of(|i| i.median_ns as f64)]);
        line.extend([of(|i| i.max_ns as f64), of(|i| i.mean_abs_ns)]);
        line
    };
    let mut table = Table::new(1, HEADS);
    for stream in &trial.streams {
        let mut line = line(&stream.name, stream.latency, stream.pdv_ns, stream.ipdv);
        line.extend([some(stream.jitter_ns), some(stream.jitter_max_ns)]);
        table.row(line);
    }
    if trial.streams.len() > 1 {
        let mut line = line(ALL, trial.latency, None, trial.ipdv);
        line.resize(HEADS.len(), "-".to_string());
        table.row(line);
    }
    table.notes.push(DELAYS.to_string());
    table
}

/// What the columns of [`delays`] mean.
const DELAYS: &str = "PDV: the 99.9th percentile of the latencies less the least. IPDV: by how much \
                                 a frame took longer than the one sent before it; mean: of its absolute \
                                 values. Jitter: the last value of RFC 3550's filter, which is of the last \
                                 frames; most: the greatest that it had. Rates: the frames after the first, \
                                 by the time from the first to the last.";

/// Which faults no frame of any stream has, and what came besides.
fn beside(trial: &TrialRecord) -> String {
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

/// Of each configuration: what each stream was, what came of it, and how late.
pub(super) fn sections(document: &mut Document, cells: &[&Cell]) {
    for cell in cells {
        let Some(trial) = shown(cell) else { continue };
        if cells.len() > 1 {
            document.note(&cell.configuration);
        }
        document.page_only(crate::html::streams::drawings(cell, trial));
        let mut said = Table::new(3, ["stream", "ports", "headers, lengths, load"]);
        described(trial).into_iter().for_each(|line| said.row(line));
        document.table(said);
        document.table(counted(trial));
        document.table(delays(trial));
    }
}
