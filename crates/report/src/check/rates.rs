//! Frame size, packets and bits per second: vendors' tables.
//!
//! ```text
//! mbps · 1000 / (kpps · 8) = bytes counted for each packet = size + 20   layer 1
//!                                                            size        layer 2 with FCS
//!                                                            size − 4    without it
//!                                                            size − 18   layer 3
//!                                                            size + 18   a header counted twice
//! ```

use super::heads::Bits;
use super::table::{Row, Table};
use super::{Kind, Known, L1, Note, above, throughput, wires_of};
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

/// What those of one direction are called whose layer a head may name.
const LAYERS: [&str; 3] = ["layer 1", "layer 2 with FCS", "layer 3"];

/// Checks tables of `size_bytes` with frames a second, or bits, or both; and those of interfaces'
/// `tx_pps`, `tx_mbps`.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) -> bool {
    let forwarding = is_forwarding(table);
    if forwarding {
        table.bits().iter().for_each(|column| conventions(table, *column, note));
        wires(table, known, note);
        throughput::beside_frames(table, known, note);
    }
    // (Of a table by size, some sizes may have bits alone.)
    let bits_alone = table.has("size_bytes") && !table.bits().is_empty();
    if bits_alone {
        throughput::check(table, known, note);
    }
    let interfaces = ["tx", "rx"].into_iter().filter(|direction| {
        table.has(&format!("{direction}_pps")) && table.has(&format!("{direction}_mbps"))
    });
    let interfaces = interfaces.filter(|direction| one_size(table, direction, note)).count() > 0;
    forwarding | bits_alone | interfaces
}

/// Whether it has packets a second by size.
pub(super) fn is_forwarding(table: &Table) -> bool {
    table.has("size_bytes") && ["kpps", "pps", "mpps"].iter().any(|name| table.has(name))
}

/// Thousands of packets a second.
pub(super) fn kpps(table: &Table, row: &Row) -> Option<f64> {
    table.kpps(row).map(|(kpps, _)| kpps)
}

/// The last digit printed of [`kpps`].
pub(super) fn kpps_digit(table: &Table, row: &Row) -> f64 {
    table.kpps(row).map_or(1.0, |(_, digit)| digit)
}

/// The last digit that is printed.
pub(super) fn digit(table: &Table, row: &Row, name: &str) -> f64 {
    10f64.powi(-table.decimals(row, name))
}

/// What a device's rows say together about the bytes that their Mbps count.
fn conventions(table: &Table, column: (usize, Bits), note: &mut Note) {
    let mut groups: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in table.rows() {
        // Throughput, capacity and layer stand in the name of the configuration where they differ.
        groups.entry((table.text(row, "device"), table.text(row, "config"))).or_default().push(row);
    }
    let mut told: BTreeMap<&str, (u64, usize)> = BTreeMap::new();
    for ((device, config), rows) in groups {
        let rows = rows.into_iter().filter_map(|row| {
            let size = table.number(row, "size_bytes")?;
            Some((row, size, kpps(table, row)?, table.mbps(row, column)?))
        });
        let rows: Vec<_> = rows.collect();
        let Some((first, size, kpps, (mbps, _))) = rows.first().copied() else { continue };
        // The column, too, if there are several.
        let head = if table.bits().len() > 1 { table.head(column.0) } else { "" };
        let what = [device, config, head].map(str::trim).join(" ");
        let what = match what.split_whitespace().collect::<Vec<_>>().join(" ") {
            name if name.is_empty() => name,
            name => name + ": ",
        };
        type Shown<'a> = (&'a Row, f64, f64, (f64, f64));
        let fits_one =
            |unit: f64, factor: f64, more: f64, &(row, size, kpps, (mbps, digit)): &Shown<'_>| {
                let kbits = factor * (size + more) * 8.0 / 1e3;
                let slack = kpps_digit(table, row) * kbits + digit * unit;
                (kpps * kbits - mbps * unit).abs() <= slack * 0.55 + 1e-9
            };
        let fits_with = |unit: f64, factor: f64, more: f64| {
            rows.iter().all(|row| fits_one(unit, factor, more, row))
        };
        let fits = |factor, more| fits_with(1.0, factor, more);
        let fitting = CONVENTIONS.iter().filter(|(factor, more, _)| fits(*factor, *more));
        // What the file itself says that they are of.
        let named = named_layer(column.1, config);
        match fitting.collect::<Vec<_>>().as_slice() {
            [(1.0, 0.0, _)] if named.is_none_or(|layer| layer == 2) => {}
            [(_, _, meaning)] => {
                let is_so =
                    named.is_some_and(|layer| meaning.starts_with(&format!("layer {layer}")));
                if !(is_so && (config.contains("capacity") || !meaning.contains("both"))) {
                    let (line, n) = told.entry(meaning).or_insert((first.line, 0));
                    (*line, *n) = (first.line.min(*line), *n + rows.len());
                }
            }
            [] if column.1.bytes
                && CONVENTIONS.iter().any(|(f, m, _)| fits_with(0.125, *f, *m)) =>
            {
                let head = table.head(column.0);
                let text = format!(
                    "`{head}` would be bytes a second; with the packets they only fit as bits"
                );
                note(Some(first.line), Kind::Ambiguous, text);
            }
            [] => {
                let count = |kpps: f64, mbps: f64| mbps * 1e3 / (kpps * 8.0);
                // Where most agree, or some with what the file says, the others are wrong.
                let fit = |(factor, more, meaning): (f64, f64, &'static str)| {
                    let is_it = |row: &&Shown<'_>| fits_one(1.0, factor, more, row);
                    let is_said = named.is_some_and(|layer| {
                        meaning == LAYERS[usize::from(layer) - 1]
                            && rows.iter().any(|row| is_it(&row))
                    });
                    (is_said, rows.iter().filter(is_it).count(), factor, more, meaning)
                };
                let fits = CONVENTIONS.into_iter().rev().map(fit);
                let (is_said, n, factor, more, meaning) =
                    fits.max_by_key(|fit| (fit.0, fit.1)).unwrap_or_default();
                if is_said || n >= 2 && 2 * n > rows.len() {
                    let wrong = rows.iter().filter(|row| !fits_one(1.0, factor, more, row));
                    let others = if n == 1 { "row is" } else { "rows are" };
                    for &(row, size, kpps, (mbps, _)) in wrong {
                        let text = format!(
                            "{what}packets and bits do not fit each other: at {size} bytes each packet \
                             would count {:.1}; the other {n} {others} of {meaning}",
                            count(kpps, mbps)
                        );
                        note(Some(row.line), Kind::Inconsistent, text);
                    }
                    continue;
                }
                let others = match rows.last() {
                    Some(&(_, other, kpps, (mbps, _))) if other != size => {
                        format!(", at {other} {:.1}", count(kpps, mbps))
                    }
                    _ => String::new(),
                };
                let bytes = count(kpps, mbps);
                note(
                    Some(first.line),
                    Kind::Inconsistent,
                    format!(
                        "{what}packets and bits do not fit each other on any layer: \
                         at {size} bytes each packet would count {bytes:.1}{others}"
                    ),
                );
            }
            several => {
                let meanings: Vec<&str> = several.iter().map(|(_, _, meaning)| *meaning).collect();
                note(
                    Some(first.line),
                    Kind::Ambiguous,
                    format!("{what}Mbps may be of {}", meanings.join(", or ")),
                );
            }
        }
    }
    for (meaning, (line, rows)) in told {
        let text = format!("Mbps of {rows} rows, from here on, are of {meaning}");
        note(Some(line), Kind::Ambiguous, text);
    }
}

/// The layer that a head says, or the configuration in a row.
pub(super) fn named_layer(bits: Bits, config: &str) -> Option<u8> {
    let config = config.to_uppercase();
    bits.layer.or_else(|| (1..=3).find(|layer| config.contains(&format!("L{layer}"))))
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

/// Packets a second above what a wire carries: `--link`, or a column `link`, says what that is.
fn wires(table: &Table, known: &Known, note: &mut Note) {
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
