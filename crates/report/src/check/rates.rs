//! Frame size, packets and bits per second: vendors' tables.
//!
//! ```text
//! mbps · 1000 / (kpps · 8) = bytes counted for each packet = size + 20   layer 1
//!                                                            size        layer 2 with FCS
//!                                                            size − 4    without it
//!                                                            size − 18   layer 3
//!                                                            size + 18   a header counted twice
//! ```

use super::table::{Row, Table};
use super::{Finding, Kind, Known, L1, Note, above, link};
use std::collections::BTreeMap;

/// How many bytes a packet may count for, beside its size; how often; and what that means.
const CONVENTIONS: [(f64, f64, &str); 10] = [
    (1.0, 0.0, "layer 2 with FCS"),
    (1.0, 20.0, "layer 1"),
    (1.0, -4.0, "layer 2 without FCS"),
    (1.0, -18.0, "layer 3"),
    (1.0, 18.0, "neither layer 1 nor 2: Ethernet header and FCS counted a second time"),
    (2.0, 0.0, "layer 2 with FCS, both directions"),
    (2.0, 20.0, "layer 1, both directions"),
    (2.0, -4.0, "layer 2 without FCS, both directions"),
    (2.0, -18.0, "layer 3, both directions"),
    (2.0, 18.0, "both directions, Ethernet header and FCS counted a second time"),
];

/// Checks tables of `size_bytes` with `kpps` or `pps`, `mbps` if there is one; and those of
/// interfaces' `tx_pps`, `tx_mbps`.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) -> bool {
    let forwarding = table.has("size_bytes") && (table.has("kpps") || table.has("pps"));
    if forwarding {
        conventions(table, note);
        wires(table, known, note);
    }
    let interfaces = ["tx", "rx"].into_iter().filter(|direction| {
        table.has(&format!("{direction}_pps")) && table.has(&format!("{direction}_mbps"))
    });
    forwarding | (interfaces.filter(|direction| one_size(table, direction, note)).count() > 0)
}

fn kpps(table: &Table, row: &Row) -> Option<f64> {
    table.number(row, "kpps").or_else(|| table.number(row, "pps").map(|pps| pps / 1e3))
}

/// Half of the last digit printed, and how far truncation goes.
fn digit(table: &Table, row: &Row, name: &str) -> f64 {
    let decimals = table.text(row, name).split_once('.').map_or(0, |(_, after)| after.len());
    10f64.powi(-(decimals as i32))
}

/// What a device's rows say together about the bytes that their Mbps count.
fn conventions(table: &Table, note: &mut Note) {
    let mut groups: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in table.rows() {
        // Throughput, capacity and layer stand in the name of the configuration where they differ.
        groups.entry((table.text(row, "device"), table.text(row, "config"))).or_default().push(row);
    }
    let mut told: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for ((device, config), rows) in groups {
        let rows = rows.into_iter().filter_map(|row| {
            let size = table.number(row, "size_bytes")?;
            Some((row, size, kpps(table, row)?, table.number(row, "mbps")?))
        });
        let rows: Vec<_> = rows.collect();
        let Some((first, size, kpps, mbps)) = rows.first().copied() else { continue };
        let fits = |factor: f64, more: f64| {
            rows.iter().all(|&(row, size, kpps, mbps)| {
                let kbits = factor * (size + more) * 8.0 / 1e3;
                let slack = digit(table, row, "kpps") * kbits + digit(table, row, "mbps");
                (kpps * kbits - mbps).abs() <= slack * 0.55 + 1e-9
            })
        };
        let fitting = CONVENTIONS.iter().filter(|(factor, more, _)| fits(*factor, *more));
        match fitting.collect::<Vec<_>>().as_slice() {
            [(1.0, 0.0, _)] => {}
            [(_, _, meaning)] => {
                let named = (meaning.starts_with("layer 1") && config.contains("L1"))
                    || (meaning.starts_with("layer 2") && config.contains("L2"));
                if !(named && (config.contains("capacity") || !meaning.contains("both"))) {
                    let (line, n) = told.entry(meaning).or_insert((first.line, 0));
                    (*line, *n) = (first.line.min(*line), *n + rows.len());
                }
            }
            [] => {
                let bytes = mbps * 1e3 / (kpps * 8.0);
                note(
                    Some(first.line),
                    Kind::Inconsistent,
                    format!(
                        "{device} {config}: packets and bits do not fit each other on any layer: \
                         at {size} bytes each packet would count {bytes:.1}"
                    ),
                );
            }
            several => {
                let meanings: Vec<&str> = several.iter().map(|(_, _, meaning)| *meaning).collect();
                note(
                    Some(first.line),
                    Kind::Ambiguous,
                    format!("{device} {config}: Mbps may be of {}", meanings.join(", or ")),
                );
            }
        }
    }
    for (meaning, (line, rows)) in told {
        let text = format!("Mbps of {rows} rows, from here on, are of {meaning}");
        note(Some(line), Kind::Ambiguous, text);
    }
}

/// Whether wires can carry it. Without a word on the wires, what the table marks as wire speed must
/// be the same number of bits at every size.
fn wires(table: &Table, known: &Known, note: &mut Note) {
    let mut marked: BTreeMap<&str, Vec<(&Row, f64)>> = BTreeMap::new();
    for row in table.rows() {
        let (Some(size), Some(kpps)) = (table.number(row, "size_bytes"), kpps(table, row)) else {
            continue;
        };
        let device = table.text(row, "device");
        let overhead = L1 + tunnel(table.text(row, "tunnel"));
        let given = link(table.text(row, "link")).or_else(|| known.link(device));
        let column = if table.has("kpps") { "kpps" } else { "pps" };
        let unit = digit(table, row, column) / if column == "kpps" { 1.0 } else { 1e3 };
        if let Some(link) = given {
            let most = link / (size + overhead) / 8.0 / 1e3;
            if kpps > most + unit {
                let text = format!(
                    "{kpps} kpps of {size} bytes are {} the wire's {most:.2}",
                    above(kpps, most)
                );
                note(Some(row.line), Kind::Impossible, text);
            } else if kpps > most {
                let text = format!("{kpps} kpps of {size} bytes: the wire's {most:.3}, rounded up");
                note(Some(row.line), Kind::Rounded, text);
            }
        } else if table.text(row, "underlined_wire_speed") == "1" {
            marked.entry(device).or_default().push((row, kpps * (size + overhead) * 8.0 / 1e6));
        }
    }
    for (device, rows) in marked {
        // Wires come in whole gigabits.
        let nominal = rows.iter().map(|(_, gbps)| *gbps).fold(f64::INFINITY, f64::min).round();
        for (row, gbps) in rows {
            if nominal > 0.0 && gbps > nominal * 1.000_1 {
                let name = if device.is_empty() { table.text(row, "tunnel") } else { device };
                let size = table.text(row, "size_bytes");
                let text = format!(
                    "{name}: wire speed at {size} bytes would be {gbps:.3} Gbps on layer 1, {} \
                     the {nominal} Gbps that are there",
                    above(gbps, nominal)
                );
                note(Some(row.line), Kind::Impossible, text);
            }
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

/// Interfaces' rates of one frame size: how many bytes a packet counts for.
fn one_size(table: &Table, direction: &str, note: &mut Note) -> bool {
    let (pps, mbps) = (format!("{direction}_pps"), format!("{direction}_mbps"));
    let rows = table
        .rows()
        .iter()
        .filter_map(|row| Some((row, table.number(row, &pps)?, table.number(row, &mbps)?)));
    let rows: Vec<_> = rows.filter(|(_, pps, _)| *pps > 0.0).collect();
    let Some(&(first, ..)) = rows.first() else { return false };
    let fits = |bytes: f64| {
        rows.iter().all(|(row, pps, printed)| {
            let exact = pps * bytes * 8.0 / 1e6;
            (exact - printed).abs() < digit(table, row, &mbps)
        })
    };
    let cut_off = |bytes: f64| {
        rows.iter().all(|(row, pps, printed)| {
            let unit = digit(table, row, &mbps);
            ((pps * bytes * 8.0 / 1e6 / unit).floor() * unit - printed).abs() < unit / 10.0
        })
    };
    let bytes = (1..=1600).map(f64::from).find(|&bytes| fits(bytes));
    match bytes {
        Some(bytes) if bytes < 64.0 => {
            let cut = if cut_off(bytes) { ", cut off, not rounded" } else { "" };
            let text = format!(
                "{direction}: {bytes} bytes a packet: of a 64 byte frame, as no frame is shorter, \
                 so without FCS{cut}"
            );
            note(Some(first.line), Kind::Ambiguous, text);
        }
        Some(_) => {}
        None => {
            let text = format!("{direction}: no packet size makes these Mbps of these packets");
            note(Some(first.line), Kind::Inconsistent, text);
        }
    }
    true
}

/// The same measurement in two files.
pub(super) fn compare(tables: &[(&str, Table)], findings: &mut Vec<Finding>) {
    for (i, (file, table)) in tables.iter().enumerate() {
        for (other_file, other) in &tables[..i] {
            let is_key = |name: &&String| {
                let is_number = ["kpps", "pps", "mbps"].contains(&name.as_str());
                let is_about = ["seed", "table", "underlined_wire_speed", "mbps_rule"];
                !is_number && !is_about.contains(&name.as_str()) && other.has(name)
            };
            let keys: Vec<&String> = table.columns().iter().filter(is_key).collect();
            if !keys.iter().any(|key| *key == "size_bytes") || keys.len() < 3 {
                continue;
            }
            for row in table.rows() {
                let same = |found: &&Row| {
                    keys.iter().all(|key| table.text(row, key) == other.text(found, key))
                };
                let Some(found) = other.rows().iter().find(same) else { continue };
                let (Some(here), Some(there)) = (kpps(table, row), kpps(other, found)) else {
                    continue;
                };
                // Vendors print hundreds of packets.
                if (here - there).abs() > 0.051 {
                    let what: Vec<&str> = keys.iter().map(|key| table.text(row, key)).collect();
                    findings.push(Finding {
                        file: file.to_string(),
                        line: Some(row.line),
                        kind: Kind::Inconsistent,
                        text: format!(
                            "{}: {here} kpps here, {there} in {other_file}:{}",
                            what.join(" "),
                            found.line
                        ),
                    });
                }
            }
        }
    }
}
