//! Cells that should have a number and have none that can be.
//!
//! ```text
//!  nan, inf      impossible      no tester writes it of a measurement that worked
//!  -5            impossible      nothing that is counted is below nothing
//!  fast          ambiguous       what is meant is not known; `-`, `n/a` and an empty cell say that
//!                                there is nothing
//! ```

use super::numbers;
use super::table::{Row, Table, peek};
use super::{Kind, Note};

/// Columns that are numbers wherever a check knows them.
const NUMBERS: &str = "size_bytes kpps pps mpps tx_packet rx_packet lost_packet tx_pps rx_pps";

/// How a cell says that there is nothing.
const NOTHING: [&str; 11] = ["", "-", "--", "–", "—", "n/a", "na", "none", "n.a.", "*", "?"];

/// Rows of a size that are of several, by the size's cell.
const SUMMARIES: [&str; 8] = ["average", "avg", "mean", "median", "total", "sum", "overall", "all"];

/// Tells the cells of a table that has one of the checks' shapes.
pub(super) fn check(table: &Table, note: &mut Note) {
    let named = NUMBERS.split(' ').filter_map(|name| table.position(name));
    let mut columns: Vec<usize> = named.chain(table.bits().iter().map(|bits| bits.at)).collect();
    columns.sort_unstable();
    columns.dedup();
    for at in columns {
        for row in table.rows() {
            if let Some((kind, why)) = fault(table, row, at) {
                let text = format!("column `{}`: `{}` {why}", table.head(at), peek(row, at));
                note(Some(row.line), kind, text);
            }
        }
    }
}

/// What is wrong with a cell.
fn fault(table: &Table, row: &Row, at: usize) -> Option<(Kind, &'static str)> {
    let is_size = table.position("size_bytes") == Some(at);
    let may_be_short = table.has("figure") || table.size_head().is_empty();
    let small = peek(row, at).to_lowercase();
    let number = numbers::parse(&small, table.style()).map(|number| number.value);
    Some(match number {
        Some(number) if number < 0.0 => (Kind::Impossible, "is below nothing"),
        Some(0.0) if is_size => (Kind::Impossible, "is a frame of no bytes"),
        Some(number) if is_size && number < 60.0 && !may_be_short => {
            (Kind::Ambiguous, "bytes: no frame is shorter than 64 with FCS, 60 without")
        }
        Some(_) => return None,
        None if is_infinite(&small) => (Kind::Impossible, "is no number that was measured"),
        None if NOTHING.contains(&small.as_str()) => return None,
        None if is_size && (small.contains("mix") || SUMMARIES.contains(&small.as_str())) => {
            return None;
        }
        None => (Kind::Ambiguous, "is no number: not checked"),
    })
}

/// `nan`, `-inf`, `Infinity`, and what no floating point number holds.
fn is_infinite(small: &str) -> bool {
    let name = small.trim_start_matches(['-', '+']);
    ["nan", "inf", "infinity", "#div/0!", "#num!", "∞"].contains(&name)
        || name.starts_with(|c: char| c.is_ascii_digit()) && name.parse::<f64>().is_ok()
}
