//! Shares that should be a whole, and tables that do not show all they count.
//!
//! ```text
//!  packet_len, count, bytes, pct_…          a mix: bytes = length x count, shares of the sums
//!  minute_values, printed_sum               a window: what is shown adds up to what is said
//!  latency, count, percent                  a distribution: its shares are all of the packets
//! ```

use super::numbers::number;
use super::table::{Row, Table};
use super::{Kind, Known, Note};

/// Checks mixes, windows and distributions.
pub(super) fn check(table: &Table, _: &Known, note: &mut Note) -> bool {
    let mix = table.has_all(&["packet_len", "count", "bytes"]);
    if mix {
        self::mix(table, note);
    }
    let windows = table.has_all(&["minute_values", "printed_sum"]);
    if windows {
        self::windows(table, note);
    }
    let first = |names: &[&'static str]| names.iter().copied().find(|name| table.has(name));
    let range = first(&["latency", "range", "bucket"]);
    let count = first(&["count", "packets", "frames"]);
    let share = first(&["percent", "share", "pct"]);
    if let (Some(range), Some(_), Some(share)) = (range, count, share) {
        distribution(table, range, share, note);
        return true;
    }
    mix || windows
}

/// A mix of packets: lengths, how many of each, and their shares; a row without a length is the
/// sum.
fn mix(table: &Table, note: &mut Note) {
    let is_part = |row: &&Row| table.number(row, "packet_len").is_some();
    let parts: Vec<&Row> = table.rows().iter().filter(is_part).collect();
    let sum = |name| parts.iter().filter_map(|row| table.number(row, name)).sum::<f64>();
    let (packets, bytes) = (sum("count"), sum("bytes"));
    for row in table.rows() {
        let cell = |name| table.number(row, name);
        let (Some(count), Some(printed)) = (cell("count"), cell("bytes")) else { continue };
        let mut differs = |what: &str, printed: f64, exact: f64| {
            if (printed - exact).abs() > 1e-9 {
                let text = format!("{what} {printed}, and the rows make {exact}");
                note(Some(row.line), Kind::Inconsistent, text);
            }
        };
        match cell("packet_len") {
            Some(length) => differs("bytes are", printed, length * count),
            None => {
                differs("all packets are", count, packets);
                differs("all bytes are", printed, bytes);
            }
        }
        for (name, part, whole) in [("pct_packets", count, packets), ("pct_bytes", printed, bytes)]
        {
            let digit = 10f64.powi(-table.decimals(row, name));
            let exact = part / whole * 100.0;
            if let Some(share) = cell(name).filter(|share| (share - exact).abs() > digit * 0.501) {
                let text = format!("{name} is {share}; {part} of {whole} are {exact:.2} %");
                note(Some(row.line), Kind::Inconsistent, text);
            }
        }
    }
}

/// Minutes of an hour, of which some are shown.
const WINDOW: usize = 60;

/// Values of a window, and their sum. Where those that are not shown must make up for the rest, all
/// rows must say the same of them.
fn windows(table: &Table, note: &mut Note) {
    let mut hidden: Vec<(u64, f64, usize, f64)> = Vec::new();
    for row in table.rows() {
        let values: Option<Vec<f64>> =
            table.text(row, "minute_values").split(' ').map(|text| text.parse().ok()).collect();
        let (Some(values), Some(printed)) = (values, table.number(row, "printed_sum")) else {
            continue;
        };
        let (n, shown) = (values.len(), values.iter().sum::<f64>());
        if shown == printed {
            continue;
        }
        let each = (printed - shown) / WINDOW.saturating_sub(n) as f64;
        if values.contains(&each) {
            hidden.push((row.line, each, n, shown));
        } else {
            let text = format!("{n} values add up to {shown}, not to {printed}");
            note(Some(row.line), Kind::Inconsistent, text);
        }
    }
    if let Some(&(line, each, n, shown)) = hidden.first() {
        let text = format!(
            "the {n} values that are shown add up to {shown}: the sums of {} rows, from here on, \
             are right only if the {} that are not shown are {each} each",
            hidden.len(),
            WINDOW - n
        );
        note(Some(line), Kind::Ambiguous, text);
    }
}

/// A distribution of latencies. Its rows are buckets, or each is all up to its end (`0-993us`).
fn distribution(table: &Table, range: &str, share: &str, note: &mut Note) {
    let shares: Vec<(&Row, f64)> =
        table.rows().iter().filter_map(|row| Some((row, table.number(row, share)?))).collect();
    let Some(&(last, last_share)) = shares.last() else { return };
    let from_zero = |row: &Row| number(table.text(row, range).split('-').next()?);
    let is_cumulative = shares.iter().all(|(row, _)| from_zero(row) == Some(0.0));
    let sum = match is_cumulative {
        true => last_share,
        false => shares.iter().map(|(_, share)| share).sum(),
    };
    let missing = 100.0 - sum;
    let slack = 0.01 * shares.len() as f64 + 0.05;
    if missing > slack {
        let text = format!(
            "the distribution ends with {sum:.2} % of the packets: {missing:.2} % were slower than \
             its last row, {}, and are not in it",
            table.text(last, range)
        );
        note(Some(last.line), Kind::Inconsistent, text);
    } else if missing < -slack {
        let text = format!("the shares add up to {sum:.2} %");
        note(Some(last.line), Kind::Inconsistent, text);
    }
}
