//! Sent, received and lost, stream by stream: the traffic generator's tables.
//!
//! ```text
//!  packets   tx = rx + lost - duplicate, streams = TOT; elsewhere rx is no more than tx
//!  Mbps      tx = rx + lost, but for 2^32 bits that a counter wrapped by
//!  both      Mbps x seconds / packets: the bytes that a packet counts for, in one column one number
//! ```

use super::table::{Row, Table};
use super::{Kind, Known, Note};
use std::collections::BTreeMap;

/// Checks tables of `tx_packet`, `rx_packet`, `lost_packet`, with their rates if printed; rows of
/// one `run` add up to the one whose `num` is `TOT`.
pub(super) fn check(table: &Table, _: &Known, note: &mut Note) -> bool {
    if !table.has("lost_packet") {
        return received(table, note) | conventions(table, note);
    }
    if !table.has("tx_packet") || !table.has("rx_packet") {
        return false;
    }
    let mut runs: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in table.rows() {
        runs.entry(table.text(row, "run")).or_default().push(row);
        packets(table, row, note);
        rates(table, row, note);
    }
    conventions(table, note);
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

/// Of a table by size, without losses: no more was received than sent. (An interface receives other
/// frames than it sends, and what has a time of its own is no rate of the same frames.)
fn received(table: &Table, note: &mut Note) -> bool {
    let has = |names: &[&str]| names.iter().all(|name| table.has(name));
    let frames = has(&["tx_packet", "rx_packet", "size_bytes"]);
    let rates = has(&["tx_pps", "rx_pps", "size_bytes"]);
    let is_series = table.has("begin_ns");
    let has_times = is_series || table.has("sending_ns") || table.has("arriving_ns");
    for row in table.rows() {
        if frames && !is_series {
            came(table, row, ["tx_packet", "rx_packet"], "frames", note);
        }
        if rates && !has_times {
            came(table, row, ["tx_pps", "rx_pps"], "frames a second", note);
        }
    }
    frames || rates
}

/// How many are missing of those that were sent; more that came than were sent are told.
fn came(table: &Table, row: &Row, [tx, rx]: [&str; 2], what: &str, note: &mut Note) -> Option<f64> {
    let number = |name| table.number(row, name);
    let (sent, received) = (number(tx)?, number(rx)?);
    // (Of a table that does not count them, none.)
    let twice = number("duplicate_packet").unwrap_or(0.0);
    // A count is exact, a rate is as exact as it is printed.
    let slack = if tx.ends_with("pps") { table.digit(row, tx).max(sent * 1e-9) } else { 0.0 };
    let missing = sent - (received - twice);
    if missing < -slack {
        let text = format!("{received} {what} received of {sent} sent");
        note(Some(row.line), Kind::Impossible, text);
        return None;
    }
    Some(missing)
}

fn packets(table: &Table, row: &Row, note: &mut Note) {
    let missing = came(table, row, ["tx_packet", "rx_packet"], "packets", note);
    let Some((lost, missing)) = table.number(row, "lost_packet").zip(missing) else { return };
    if lost >= 0.0 && missing != lost {
        let number = |name| table.number(row, name).unwrap_or_default();
        let (tx, rx) = (number("tx_packet"), number("rx_packet"));
        let text = format!("{tx} sent and {rx} received leave {missing} lost, not {lost}");
        note(Some(row.line), Kind::Inconsistent, text);
    }
}

/// Mbps lost = Mbps sent - Mbps received; where they are not, by how many wraps of 32 bits.
fn rates(table: &Table, row: &Row, note: &mut Note) {
    let number = |name: &str| table.number(row, &rate_column(table, name)?);
    let (Some(tx), Some(rx), Some(lost)) = (number("tx"), number("rx"), number("lost")) else {
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

/// The column of a direction's Mbps.
fn rate_column(table: &Table, direction: &str) -> Option<String> {
    let names = ["rate_printed", "rate", "mbps"].map(|name| format!("{direction}_{name}"));
    names.into_iter().find(|name| table.has(name))
}

/// Packets of a row in the time that its Mbps are of, in 10^6 a second.
fn packets_of(table: &Table, row: &Row, direction: &str) -> Option<f64> {
    if let Some(pps) = table.number(row, &format!("{direction}_pps")) {
        return Some(pps / 1e6);
    }
    let name = ["duration_s", "derived_duration_s", "seconds"].into_iter();
    let seconds = name.into_iter().find_map(|name| table.number(row, name))?;
    Some(table.number(row, &format!("{direction}_packet"))? / seconds / 1e6)
}

/// The whole number of bytes that a packet of a row counts for, if its Mbps tell it.
fn bytes(table: &Table, row: &Row, direction: &str) -> Option<u32> {
    let column = rate_column(table, direction)?;
    let packets = packets_of(table, row, direction).filter(|n| *n > 0.0 && n.is_finite())?;
    let mbps = table.number(row, &column)?;
    // Cut off or rounded: up to a digit more, half a digit less.
    let unit = table.digit(row, &column);
    let [low, high] = [mbps - unit / 2.0, mbps + unit].map(|mbps| mbps / 8.0 / packets);
    (low.ceil() == high.floor() && low > 0.0).then_some(high as u32)
}

/// How many bytes packets count for: sums and differences need one number, and no frame has less than 64.
fn conventions(table: &Table, note: &mut Note) -> bool {
    let mut counted: BTreeMap<(&str, u32), (u64, Vec<&str>, usize)> = BTreeMap::new();
    let name_of = ["num", "interface"].into_iter().find(|name| table.has(name)).unwrap_or("");
    for row in table.rows().iter().filter(|row| table.text(row, "num") != "TOT") {
        for direction in ["tx", "rx"] {
            let Some(bytes) = bytes(table, row, direction) else { continue };
            let (_, names, n) =
                counted.entry((direction, bytes)).or_insert((row.line, Vec::new(), 0));
            let name = table.text(row, name_of);
            if !names.contains(&name) {
                names.push(name);
            }
            *n += 1;
        }
    }
    let sizes = || counted.keys().map(|(_, bytes)| *bytes);
    // A table of several frame sizes says which it is of; here all would be of one.
    let (Some(least), Some(most)) = (sizes().min(), sizes().max()) else { return false };
    if least == most && least >= 64 || most - least > 24 || table.has("size_bytes") {
        return true;
    }
    let line = counted.values().map(|(line, ..)| *line).min();
    let part = |((direction, bytes), (_, names, n)): (&(&str, u32), &(u64, Vec<&str>, usize))| {
        format!("{direction} {bytes} in {n} rows ({})", names.join(", "))
    };
    let parts = counted.iter().map(part).collect::<Vec<_>>().join("; ");
    let short = if least < 64 { ", without FCS" } else { "" };
    let text = match least == most {
        true => format!("Mbps count less for a packet than the shortest frame has{short}: {parts}"),
        false => format!(
            "Mbps count different bytes for a packet{short}: {parts}; their sums and differences are \
             of no layer"
        ),
    };
    note(line, Kind::Ambiguous, text);
    true
}
