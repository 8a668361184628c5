//! Frames a second above what a wire carries: `--link`, or a column `link`, says what that is.

use super::rates::{kpps, kpps_digit};
use super::table::Table;
use super::{Kind, Known, L1, Note, above, wires_of};

/// Checks a table of `size_bytes` and packets a second.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) {
    for row in table.rows() {
        // (A size that is none is told of its cell.)
        let size = table.number(row, "size_bytes").filter(|size| *size > 0.0);
        let (Some(size), Some(kpps), Some(wire)) =
            (size, kpps(table, row), wires_of(table, row, known))
        else {
            continue;
        };
        let most = wire / (size + L1 + tunnel(table.text(row, "tunnel"))) / 8.0 / 1e3;
        if kpps > most + kpps_digit(table, row) {
            let above = above(kpps, most);
            let text = format!("{kpps} kpps of {size} bytes are {above} the wire's {most:.2}");
            note(Some(row.line), Kind::Impossible, text);
        } else if kpps > most {
            let text = format!("{kpps} kpps of {size} bytes: the wire's {most:.3}, rounded up");
            note(Some(row.line), Kind::Rounded, text);
        }
    }
}

/// Bytes that a tunnel adds to a frame.
fn tunnel(name: &str) -> f64 {
    match name {
        "PPPoE" => 8.0,
        "L2TP" => 38.0,
        _ => 0.0,
    }
}
