//! Cells that should have a number and have none that can be: each is told, none is left out
//! silently.
//!
//! ```text
//!  nan, inf      impossible      no tester writes it of a measurement that worked
//!  -5            impossible      nothing that is counted is below nothing
//!  fast          ambiguous       what is meant is not known
//!  (empty)       a warning       the row is not checked; `-` and `n/a` say that themselves
//! ```

use super::numbers;
use super::table::{Table, peek};
use super::{Kind, Note};

/// Columns that are numbers wherever a check knows them.
const NUMBERS: [&str; 15] = [
    "size_bytes",
    "kpps",
    "pps",
    "mpps",
    "wire_percent",
    "loss_percent",
    "tx_packet",
    "rx_packet",
    "lost_packet",
    "packet_l3",
    "l3_mbps",
    "tx_pps",
    "rx_pps",
    "tx_mbps",
    "rx_mbps",
];

/// How a cell says that there is nothing.
const NOTHING: [&str; 10] = ["-", "--", "–", "—", "n/a", "na", "none", "n.a.", "*", "?"];

/// Rows of a size that are of several, by the size's cell.
const SUMMARIES: [&str; 8] = ["average", "avg", "mean", "median", "total", "sum", "overall", "all"];

/// Tells the cells of a table that has one of the checks' shapes.
pub(super) fn check(table: &Table, note: &mut Note) {
    for at in table.unread() {
        let text = format!("column `{}`: not checked: another is the rate", table.head(*at));
        note(None, Kind::Doubtful, text);
    }
    let named = NUMBERS.iter().filter_map(|name| table.position(name));
    let mut columns: Vec<usize> = named.chain(table.bits().iter().map(|(at, _)| *at)).collect();
    columns.sort_unstable();
    columns.dedup();
    let is_size = |at| table.position("size_bytes") == Some(at);
    let is_ours = table.has("figure") || table.has("l2_without_fcs_mbps");
    for &at in &columns {
        let head = table.head(at);
        let mut empty: Vec<u64> = Vec::new();
        for row in table.rows() {
            let text = peek(row, at);
            let small = text.to_lowercase();
            if text.is_empty() {
                // Of a table by size each size may have another unit.
                let is_rate = |at: &&usize| !is_size(**at) && !peek(row, **at).is_empty();
                if !table.is_by_size() || columns.iter().find(is_rate).is_none() {
                    empty.push(row.line);
                }
            } else if let Some(number) = numbers::parse(text, table.style()) {
                if number.value < 0.0 {
                    let text = format!("column `{head}`: `{text}` is below nothing");
                    note(Some(row.line), Kind::Impossible, text);
                } else if is_size(at) && number.value == 0.0 {
                    let text = format!("column `{head}`: a frame of no bytes");
                    note(Some(row.line), Kind::Impossible, text);
                } else if is_size(at) && number.value < 60.0 && !is_ours {
                    let text = format!(
                        "column `{head}`: `{text}` bytes: no frame is shorter than 64 with FCS, 60 \
                         without"
                    );
                    note(Some(row.line), Kind::Ambiguous, text);
                }
            } else if is_infinite(&small) {
                let text = format!("column `{head}`: `{text}` is no number that was measured");
                note(Some(row.line), Kind::Impossible, text);
            } else if !(is_nothing(&small) || is_size(at) && is_of_several(&small)) {
                let text = format!("column `{head}`: `{text}` is no number: not checked");
                note(Some(row.line), Kind::Ambiguous, text);
            }
        }
        // Ours are lists of figures, of which not all are rates.
        if let (Some(first), false) = (empty.first(), is_ours) {
            let others = match &empty[1..] {
                [] => String::new(),
                lines => {
                    let shown: Vec<String> =
                        lines.iter().take(8).map(ToString::to_string).collect();
                    let more = if lines.len() > 8 { " …" } else { "" };
                    format!(", and in the lines {}{more}", shown.join(", "))
                }
            };
            let text = format!("column `{head}`: nothing in it here{others}: not checked");
            note(Some(*first), Kind::Doubtful, text);
        }
    }
}

fn is_of_several(small: &str) -> bool {
    small.contains("mix") || SUMMARIES.contains(&small)
}

fn is_nothing(small: &str) -> bool {
    NOTHING.contains(&small)
}

/// `nan`, `-inf`, `Infinity`, and what no floating point number holds.
fn is_infinite(small: &str) -> bool {
    let name = small.trim_start_matches(['-', '+']);
    ["nan", "inf", "infinity", "#div/0!", "#num!", "∞"].contains(&name)
        || name.starts_with(|c: char| c.is_ascii_digit()) && name.parse::<f64>().is_ok()
}
