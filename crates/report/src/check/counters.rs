//! Sent, received and lost, stream by stream: the traffic generator's tables.

use super::table::{Row, Table};
use super::{Kind, Known, Note};
use std::collections::BTreeMap;

/// Checks tables of `tx_packet`, `rx_packet`, `lost_packet`, with their rates if printed; rows of
/// one `run` add up to the one whose `num` is `TOT`.
pub(super) fn check(table: &Table, _: &Known, note: &mut Note) -> bool {
    if !["tx_packet", "rx_packet", "lost_packet"].iter().all(|name| table.has(name)) {
        return false;
    }
    let mut runs: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in table.rows() {
        runs.entry(table.text(row, "run")).or_default().push(row);
        packets(table, row, note);
        rates(table, row, note);
    }
    for (run, rows) in runs {
        let (totals, streams): (Vec<&Row>, Vec<&Row>) =
            rows.into_iter().partition(|row| table.text(row, "num") == "TOT");
        let (Some(total), false) = (totals.first(), streams.is_empty()) else { continue };
        for name in ["tx_packet", "rx_packet", "lost_packet"] {
            let sum: f64 = streams.iter().filter_map(|row| table.number(row, name)).sum();
            let printed = table.number(total, name);
            if printed.is_some_and(|printed| printed != sum) {
                let text = format!(
                    "run {run}: {name} of the streams add up to {sum}, the total says {}",
                    table.text(total, name)
                );
                note(Some(total.line), Kind::Inconsistent, text);
            }
        }
    }
    true
}

fn packets(table: &Table, row: &Row, note: &mut Note) {
    let number = |name| table.number(row, name);
    let (Some(tx), Some(rx), Some(lost)) =
        (number("tx_packet"), number("rx_packet"), number("lost_packet"))
    else {
        return;
    };
    if rx > tx {
        let text = format!("{rx} packets received of {tx} sent");
        note(Some(row.line), Kind::Impossible, text);
    } else if lost < 0.0 {
        note(Some(row.line), Kind::Impossible, format!("{lost} packets lost"));
    } else if tx - rx != lost {
        let text = format!("{tx} sent and {rx} received leave {} lost, not {lost}", tx - rx);
        note(Some(row.line), Kind::Inconsistent, text);
    }
}

/// Mbps lost = Mbps sent - Mbps received; where they are not, by how many wraps of 32 bits.
fn rates(table: &Table, row: &Row, note: &mut Note) {
    let number = |name: &str| {
        table.number(row, &format!("{name}_printed")).or_else(|| table.number(row, name))
    };
    let (Some(tx), Some(rx), Some(lost)) =
        (number("tx_rate"), number("rx_rate"), number("lost_rate"))
    else {
        return;
    };
    let missing = tx - rx - lost;
    // Three numbers cut off after one decimal.
    if missing.abs() < 0.25 {
        return;
    }
    let text = format!("{tx} Mbps sent less {rx} received are {:.1} lost, not {lost}", tx - rx);
    // The test's length, as whole seconds: bits received over their rate.
    const WRAP_MBIT: f64 = 4_294.967_296;
    let seconds = (WRAP_MBIT / missing).round();
    let wraps = seconds >= 1.0 && (missing * seconds / WRAP_MBIT - 1.0).abs() < 0.002;
    if wraps {
        let text = format!(
            "{text}: the {missing:.1} missing are 2^32 bits in {seconds} s, a counter of 32 bits \
             that wrapped"
        );
        note(Some(row.line), Kind::Impossible, text);
    } else {
        note(Some(row.line), Kind::Inconsistent, text);
    }
}
