//! Packets and bytes side by side: connections and rules as WinBox shows them.
//!
//! ```text
//!  bytes, packets                        a packet has 20 bytes at least: an IPv4 header
//!  orig_repl_bytes  141.0 MiB/3662.3 MiB the same, each way; what FastTrack counts is part of all
//! ```

use super::numbers::number;
use super::table::{Row, Table};
use super::{Kind, Known, Note};

/// An IPv4 packet's bytes: the least, and the most.
const LEAST: f64 = 20.0;
const MOST: f64 = 65_535.0;

/// Checks tables of `bytes` and `packets`, and of connections' `orig_repl_bytes`,
/// `orig_repl_packets` with their FastTrack parts.
pub(super) fn check(table: &Table, _: &Known, note: &mut Note) -> bool {
    let rules = table.has_all(&["bytes", "packets"]);
    let connections = table.has_all(&["orig_repl_bytes", "orig_repl_packets"]);
    for row in table.rows() {
        if rules {
            let cell = (table.text(row, "packets"), table.text(row, "bytes"));
            size(row, "", cell, note);
        }
        if connections {
            connection(table, row, note);
        }
    }
    rules || connections
}

fn connection(table: &Table, row: &Row, note: &mut Note) {
    let both = |name: &str| table.text(row, name).split_once('/');
    let all = (both("orig_repl_packets"), both("orig_repl_bytes"));
    let fast = (both("orig_repl_fasttrack_packets"), both("orig_repl_fasttrack_bytes"));
    let (Some(packets), Some(bytes)) = all else { return };
    size(row, "originator: ", (packets.0, bytes.0), note);
    size(row, "replier: ", (packets.1, bytes.1), note);
    for (fast, all) in [(fast.0, packets), (fast.1, bytes)] {
        let Some(fast) = fast else { continue };
        for (fast, all) in [(fast.0, all.0), (fast.1, all.1)] {
            if let (Some(a), Some(b)) = (quantity(fast), quantity(all))
                && a.0 > b.0 + b.1
            {
                let text = format!("FastTrack counted {fast} of {all}");
                note(Some(row.line), Kind::Impossible, text);
            }
        }
    }
}

/// How many bytes each packet would have.
pub(super) fn size(row: &Row, who: &str, (packets, bytes): (&str, &str), note: &mut Note) {
    let (Some((n, _)), Some((sum, digit))) = (quantity(packets), quantity(bytes)) else { return };
    let is_short = sum + digit < n * LEAST;
    if is_short || sum - digit > n * MOST {
        let each = sum / n.max(1.0);
        let bound = if is_short { "has 20 at least" } else { "has 65535 at most" };
        let text = format!(
            "{who}{packets} packets of {bytes} would be of {each:.1} bytes each, and an IP packet {bound}"
        );
        note(Some(row.line), Kind::Impossible, text);
    }
}

/// `4 302.2 KiB` in bytes, and what its last digit is worth. What is cut off (`2 717 ...`) is
/// none.
fn quantity(text: &str) -> Option<(f64, f64)> {
    if text.contains("..") {
        return None;
    }
    let unit = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let scale = match unit {
        "" | "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    let after = text.split_once('.').map_or("", |(_, after)| after);
    let decimals = after.chars().take_while(char::is_ascii_digit).count() as i32;
    Some((number(text)? * scale, scale * 10f64.powi(-decimals)))
}
