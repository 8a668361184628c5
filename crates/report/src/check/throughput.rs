//! Bits a second by frame size, and nothing beside: most data sheets.
//!
//! ```text
//!  wire known   the most of each layer = wire · (size + more) / (size + 20): above, or which fit
//!  not known    which layer is meant cannot be told, if the head does not say it
//! ```

use super::heads::Bits;
use super::rates::{kpps, kpps_digit, named_layer};
use super::table::{Row, Table};
use super::{Kind, Known, L1, L2, Note, above, wires_of};
use std::collections::BTreeMap;

/// How many bytes a frame counts for beside its size.
const LAYERS: [(u8, f64, &str); 4] = [
    (1, L1, "layer 1"),
    (2, 0.0, "layer 2"),
    (2, -4.0, "layer 2 without FCS"),
    (3, -18.0, "layer 3"),
];

type Layer = (u8, f64, &'static str);

/// A row: its frame size, and its Mbps.
#[derive(Clone, Copy)]
struct Rate<'a> {
    row: &'a Row,
    size: f64,
    mbps: f64,
    digit: f64,
}

impl Rate<'_> {
    /// The most of these on a layer that wires of so many bits a second carry, in Mbps.
    fn most(&self, link: f64, (_, more, _): Layer) -> f64 {
        link * (self.size + more) / (self.size + L1) / 1e6
    }

    /// Thousands of frames a second, if the Mbps are of this layer.
    fn kpps(&self, (_, more, _): Layer) -> f64 {
        self.mbps * 1e3 / (self.size + more) / 8.0
    }
}

/// Columns that part rows into measurements of their own.
const GROUPS: [&str; 9] =
    ["device", "config", "mode", "test", "direction", "tunnel", "version", "ros_version", "link"];

/// Checks a table of `size_bytes` with columns of bits a second: the rows that have none of frames.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) {
    layers_together(table, note);
    for &column in table.bits() {
        let mut groups: BTreeMap<Vec<&str>, Vec<Rate<'_>>> = BTreeMap::new();
        for row in table.rows().iter().filter(|row| kpps(table, row).is_none()) {
            let size = table.number(row, "size_bytes").filter(|size| *size > -L1);
            let (Some(size), Some((mbps, digit))) = (size, table.mbps(row, column)) else {
                continue;
            };
            let group = GROUPS.iter().map(|name| table.text(row, name)).collect();
            groups.entry(group).or_default().push(Rate { row, size, mbps, digit });
        }
        let mut told: BTreeMap<String, (u64, usize)> = BTreeMap::new();
        for mut rates in groups.into_values() {
            rates.sort_by(|a, b| a.size.total_cmp(&b.size));
            let config = table.text(rates[0].row, "config");
            let named = named_layer(column.1, config);
            let link = wires_of(table, rates[0].row, known);
            let layers = LAYERS.into_iter().filter(|(layer, ..)| named.is_none_or(|n| n == *layer));
            let layers: Vec<Layer> = layers.collect();
            let layers = match link {
                Some(link) => wire(table, column, &rates, link, &layers, note),
                None => layers,
            };
            let line = rates.iter().map(|rate| rate.row.line).min().unwrap_or(0);
            if named.is_none()
                && let Some(text) = meanings(&rates, link, &layers)
            {
                let (first, n) = told.entry(text).or_insert((line, 0));
                (*first, *n) = (line.min(*first), *n + rates.len());
            }
        }
        for (text, (line, rows)) in told {
            let text = format!("{} of {rows} rows, from here on, {text}", unit(column.1));
            note(Some(line), Kind::Ambiguous, text);
        }
    }
}

/// Bits of several layers in one row are of the same frames.
fn layers_together(table: &Table, note: &mut Note) {
    for row in table.rows().iter().filter(|row| kpps(table, row).is_none()) {
        let size = table.number(row, "size_bytes").filter(|size| *size > 18.0);
        let Some(size) = size else { continue };
        let named = table.bits().iter().filter_map(|&column| {
            let (mbps, digit) = table.mbps(row, column)?;
            Some((column.1.layer?, Rate { row, size, mbps, digit }))
        });
        let named: Vec<(u8, Rate<'_>)> = named.collect();
        // Thousands of frames a second, the least and the most that a printed number stands for.
        let kpps = |layer: Layer, rate: Rate<'_>| {
            let of = |mbps| Rate { mbps, ..rate }.kpps(layer);
            (of(rate.mbps - rate.digit * 0.55), of(rate.mbps + rate.digit * 0.55))
        };
        let of = |layer: u8| LAYERS.into_iter().filter(move |(of, ..)| *of == layer);
        let fit = |a: (u8, Rate<'_>), b: (u8, Rate<'_>)| {
            of(a.0).any(|one| {
                of(b.0).any(|other| {
                    let (a, b) = (kpps(one, a.1), kpps(other, b.1));
                    a.0 <= b.1 && b.0 <= a.1
                })
            })
        };
        let Some((&first, others)) = named.split_first() else { continue };
        if let Some(other) = others.iter().find(|other| !fit(first, **other)) {
            let layer = |layer| LAYERS.into_iter().find(|(of, ..)| *of == layer);
            let frames = |(of, rate): (u8, Rate<'_>)| layer(of).map_or(0.0, |of| rate.kpps(of));
            let text = format!(
                "{} Mbps on layer {} of {size} bytes are {:.3} kpps, and {} on layer {} are {:.3}: not the \
                 same frames",
                first.1.mbps,
                first.0,
                frames(first),
                other.1.mbps,
                other.0,
                frames(*other)
            );
            note(Some(row.line), Kind::Inconsistent, text);
        }
    }
}

/// Checks bits a second that stand beside frames a second: those of a layer that the head says, against
/// the wire. (What is of no layer, or of both directions, is compared with the frames.)
pub(super) fn beside_frames(table: &Table, known: &Known, note: &mut Note) {
    for &column in table.bits() {
        for row in table.rows().iter().filter(|row| kpps(table, row).is_some()) {
            let config = table.text(row, "config");
            let named = named_layer(column.1, config).filter(|_| !config.contains("capacity"));
            let (Some(layer), Some(link), Some(size), Some((mbps, digit))) = (
                LAYERS.into_iter().find(|(layer, ..)| Some(*layer) == named),
                wires_of(table, row, known),
                table.number(row, "size_bytes").filter(|size| *size > 0.0),
                table.mbps(row, column),
            ) else {
                continue;
            };
            let rate = Rate { row, size, mbps, digit };
            let both = kpps(table, row).is_some_and(|kpps| {
                let slack = digit + kpps_digit(table, row) * (size + L1) * 16.0 / 1e3;
                let fits =
                    |(_, more, _): Layer| (kpps * (size + more) * 16.0 / 1e3 - mbps).abs() <= slack;
                LAYERS.into_iter().any(fits)
            });
            if !both {
                wire(table, column, &[rate], link, &[layer], note);
            }
        }
    }
}

/// What is said of a column: all is told in Mbps.
fn unit(bits: Bits) -> &'static str {
    if bits.bytes { "Mbps (of bytes a second)" } else { "Mbps" }
}

/// What is above the wire on every layer that it may be of; and the layers on which nothing else is.
fn wire(
    table: &Table,
    column: (usize, Bits),
    rates: &[Rate<'_>],
    link: f64,
    layers: &[Layer],
    note: &mut Note,
) -> Vec<Layer> {
    // Rounded up by half a digit at most.
    let is_above =
        |rate: &Rate<'_>, layer: Layer| rate.mbps > rate.most(link, layer) + rate.digit * 0.501;
    let size_head = table.position("size_bytes").map_or("", |at| table.head(at)).to_lowercase();
    let mut possible = Vec::new();
    for rate in rates {
        let Some(&widest) = layers.first() else { continue };
        // "Packet size" beside bits of layer 3 may be the packet's, as that of iperf3 is.
        let whole = link * rate.size / (rate.size + L1 + L2) / 1e6;
        let of_packets = widest.0 == 3 && size_head.contains("packet");
        if is_above(rate, widest) && of_packets && rate.mbps <= whole + rate.digit * 0.501 {
            let text = format!(
                "{} Mbps on layer 3 are too many for frames of {} bytes, and of IP packets of as \
                 many the wire carries {whole:.1}: so `{}` is that of packets",
                rate.mbps, rate.size, size_head
            );
            note(Some(rate.row.line), Kind::Doubtful, text);
        } else if is_above(rate, widest) {
            let most = rate.most(link, widest);
            let twice = if rate.mbps <= 2.0 * most + rate.digit {
                "; both directions together, if that is what it counts, need a link of both"
            } else {
                ""
            };
            let bytes = if column.1.bytes {
                format!(" (`{}` read as bytes a second)", table.head(column.0))
            } else {
                String::new()
            };
            let text = format!(
                "{} Mbps{bytes} of {} bytes are {} what the wire carries on {}, {most:.1}{twice}",
                rate.mbps,
                rate.size,
                above(rate.mbps, most),
                widest.2
            );
            note(Some(rate.row.line), Kind::Impossible, text);
        } else {
            possible.push(rate);
        }
    }
    // With no rate left there is nothing that a layer could fit.
    let fits = |layer: &&Layer| {
        !possible.is_empty() && possible.iter().all(|rate| !is_above(rate, **layer))
    };
    layers.iter().filter(fits).copied().collect()
}

/// What the rows may be of, if no one says it; nothing if it is layer 2, which all expect.
fn meanings(rates: &[Rate<'_>], link: Option<f64>, layers: &[Layer]) -> Option<String> {
    let names = |layers: &[Layer]| layers.iter().map(|l| l.2).collect::<Vec<_>>().join(", or ");
    let Some(link) = link else {
        let least = rates.iter().map(|rate| rate.size).fold(f64::INFINITY, f64::min);
        return Some(format!(
            "are of a layer that no one says, and nothing beside them shows: the same frames of {least} \
             bytes count {:.0} on layer 1 for 100 on layer 2 and {:.0} on layer 3",
            100.0 * (least + L1) / least,
            100.0 * (least - 18.0) / least
        ));
    };
    // Rates that are a wire's, at two sizes or more: no chance.
    let is_full = |layer: &&Layer| {
        let full = rates.iter().filter(|rate| {
            let most = rate.most(link, **layer);
            (rate.mbps - most).abs() <= (rate.digit * 0.55).max(most * 1e-5)
        });
        full.count() >= 2
    };
    let full: Vec<Layer> = layers.iter().filter(is_full).copied().collect();
    match (full.as_slice(), layers) {
        ([(2, 0.0, _)], _) | ([], [(2, 0.0, _)]) => None,
        ([one], _) => Some(format!(
            "are of {}, which no one says: several are just what the wire carries on it",
            one.2
        )),
        (_, []) => None,
        (_, [one]) => Some(format!(
            "are of {}, which no one says: on the others the wire does not carry them",
            one.2
        )),
        (_, several) => {
            Some(format!("may be of {}: no one says it, and the wire carries each", names(several)))
        }
    }
}
