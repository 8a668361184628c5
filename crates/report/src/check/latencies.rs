//! Least, mean and greatest latency: each between its neighbours.
//!
//! ```text
//!  Min Latency (us), Avg Latency (us), Max Latency (us)     min <= avg <= max, min <= median <= max
//! ```

use super::numbers;
use super::table::Table;
use super::{Kind, Known, Note};

/// What a column has of the latencies, and the words that say so.
const STATISTICS: [(&str, &[&str]); 4] = [
    ("least", &["min", "minimum", "least", "lowest"]),
    ("mean", &["avg", "average", "mean"]),
    ("median", &["median", "p50", "typical"]),
    ("greatest", &["max", "maximum", "greatest", "highest", "worst"]),
];

/// What may not be above what.
const ORDER: [(&str, &str); 5] = [
    ("least", "mean"),
    ("least", "median"),
    ("least", "greatest"),
    ("mean", "greatest"),
    ("median", "greatest"),
];

/// Checks tables with two such columns at least, of the same words otherwise.
pub(super) fn check(table: &Table, _: &Known, note: &mut Note) -> bool {
    let columns = (0..table.columns().len()).filter_map(|at| Some((at, of(table.head(at))?)));
    let columns: Vec<(usize, (&str, String))> = columns.collect();
    let mut applied = false;
    for (low, (least, words)) in &columns {
        for (high, (most, others)) in &columns {
            if words != others || !ORDER.contains(&(least, most)) {
                continue;
            }
            applied = true;
            for row in table.rows() {
                let number = |at| numbers::parse(table.cell(row, at), table.style());
                let (Some(a), Some(b)) = (number(*low), number(*high)) else { continue };
                if a.value > b.value + (a.digit() + b.digit()) / 2.0 {
                    let text = format!(
                        "`{}`, the {least}, is {}, and `{}`, the {most}, is {}",
                        table.head(*low),
                        a.value,
                        table.head(*high),
                        b.value
                    );
                    note(Some(row.line), Kind::Impossible, text);
                }
            }
        }
    }
    applied
}

/// What a head has of which latency: the statistic, and its other words.
fn of(head: &str) -> Option<(&'static str, String)> {
    let small = head.to_lowercase();
    let words: Vec<&str> =
        small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.iter().find(|word| ["latency", "delay", "rtt"].contains(word))?;
    let (statistic, names) =
        STATISTICS.iter().find(|(_, names)| words.iter().any(|word| names.contains(word)))?;
    let others: Vec<&str> = words.into_iter().filter(|word| !names.contains(word)).collect();
    Some((statistic, others.join(" ")))
}
