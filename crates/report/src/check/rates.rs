//! Rates by frame size: frames, bits of any layer, or both, of vendors' tables and our own.
//!
//! ```text
//!  frames a second    no more than the wire carries: wire / (size + 20) / 8
//!  bits beside them   bits / frames = size + 20     layer 1
//!                                     size          layer 2 with FCS
//!                                     size − 4      without it
//!                                     size − 18     layer 3
//!                                     size + 18     a header counted twice
//!  bits alone         no more than the wire carries of a layer that they may be of; no layer is a guess
//! ```

use super::heads::Bits;
use super::table::{Row, Table};
use super::{Kind, Known, L1, L2, Note, above, wires_of};
use std::collections::BTreeMap;

/// A layer's number, how many bytes a frame counts for beside its size, and its name.
type Layer = (u8, f64, &'static str);

/// From the widest to the narrowest; of the last nothing is ever measured.
const LAYERS: [Layer; 5] = [
    (1, L1, "layer 1"),
    (2, 0.0, "layer 2 with FCS"),
    (2, -4.0, "layer 2 without FCS"),
    (3, -L2, "layer 3"),
    (0, L2, "neither layer 1 nor 2: Ethernet header and FCS counted a second time"),
];

/// Bits a second of a row.
#[derive(Clone, Copy)]
struct Rate<'a> {
    row: &'a Row,
    size: f64,
    /// The frames beside them, and the last digit printed of these.
    kpps: Option<(f64, f64)>,
    mbps: f64,
    digit: f64,
    /// What the wires carry on layer 1, bit/s.
    link: Option<f64>,
}

impl Rate<'_> {
    /// The most that its wires carry on a layer, in Mbps.
    fn most(&self, (_, more, _): Layer) -> Option<f64> {
        Some(self.link? * (self.size + more) / (self.size + L1) / 1e6)
    }

    /// Whether it is above that: rounded up by half a digit at most.
    fn is_above(&self, layer: Layer) -> bool {
        self.most(layer).is_some_and(|most| self.mbps > most + self.digit * 0.501)
    }

    /// Bytes that a frame counts for.
    fn each(&self) -> f64 {
        self.kpps.map_or(f64::NAN, |(kpps, _)| self.mbps * 1e3 / (kpps * 8.0))
    }

    /// Whether the frames beside it are as many on a layer, counted so many times; `unit` scales its bits.
    fn fits(&self, (times, (_, more, _)): (f64, Layer), unit: f64) -> bool {
        let Some((kpps, kpps_digit)) = self.kpps else { return false };
        let kbits = times * (self.size + more) * 8.0 / 1e3;
        let slack = kpps_digit * kbits + self.digit * unit;
        (kpps * kbits - self.mbps * unit).abs() <= slack * 0.55 + 1e-9
    }

    /// 10^3 frames a second on a layer, the least and the most that the printed number stands for.
    fn frames(&self, (_, more, _): Layer) -> [f64; 2] {
        let bits = (self.size + more) * 8.0 / 1e3;
        [-0.55, 0.55].map(|part| (self.mbps + part * self.digit) / bits)
    }
}

/// Checks tables with frame sizes and rates.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) -> bool {
    let has_frames = ["kpps", "pps", "mpps"].iter().any(|name| table.has(name));
    if !table.has("size_bytes") || !has_frames && table.bits().is_empty() {
        return false;
    }
    table.rows().iter().for_each(|row| frames(table, row, known, note));
    for &column in table.bits() {
        let mut groups: BTreeMap<[&str; 2], Vec<Rate<'_>>> = BTreeMap::new();
        for row in table.rows() {
            let group = ["device", "config"].map(|name| table.text(row, name));
            let rate = rate(table, row, column, known);
            rate.into_iter().for_each(|rate| groups.entry(group).or_default().push(rate));
        }
        let mut told = BTreeMap::new();
        for (name, rates) in groups {
            let mut group = Group { table, column, name, note, told: &mut told };
            let (beside, alone): (Vec<_>, Vec<_>) =
                rates.into_iter().partition(|rate| rate.kpps.is_some());
            group.by_frames(&beside);
            group.by_wire(alone);
        }
        let unit = if column.bytes { "Mbps (of bytes a second)" } else { "Mbps" };
        for (text, (line, rows)) in told {
            let text = format!("{unit} of {rows} rows, from here on, {text}");
            note(Some(line), Kind::Ambiguous, text);
        }
    }
    table.rows().iter().for_each(|row| together(table, row, known, note));
    true
}

/// Frames a second above what a wire carries: `--link`, or a column `link`, says what that is.
fn frames(table: &Table, row: &Row, known: &Known, note: &mut Note) {
    // (A size that is none is told of its cell.)
    let size = table.size(row).filter(|size| *size > 0.0);
    let (Some(size), Some((kpps, digit)), Some(wire)) =
        (size, table.kpps(row), wires_of(table, row, known))
    else {
        return;
    };
    let tunnel = match table.text(row, "tunnel") {
        "PPPoE" => 8.0,
        "L2TP" => 38.0,
        _ => 0.0,
    };
    let most = wire / (size + L1 + tunnel) / 8.0 / 1e3;
    if kpps > most + digit {
        let above = above(kpps, most);
        let text = format!("{kpps} kpps of {size} bytes are {above} the wire's {most:.2}");
        note(Some(row.line), Kind::Impossible, text);
    } else if kpps > most {
        let text = format!("{kpps} kpps of {size} bytes: the wire's {most:.3}, rounded up");
        note(Some(row.line), Kind::Rounded, text);
    }
}

fn rate<'a>(table: &Table, row: &'a Row, column: Bits, known: &Known) -> Option<Rate<'a>> {
    let size = table.size(row).filter(|size| *size > L2)?;
    let (mbps, digit) = table.mbps(row, column)?;
    let link = wires_of(table, row, known);
    Some(Rate { row, size, kpps: table.kpps(row), mbps, digit, link })
}

/// The layers that a column may be of, by its head or the configuration in a row.
fn layers(column: Bits, config: &str) -> (Option<u8>, Vec<Layer>) {
    let config = config.to_uppercase();
    let named =
        column.layer.or_else(|| (1..=3).find(|layer| config.contains(&format!("L{layer}"))));
    let is_it = |(n, more, _): &Layer| {
        // On the other layers an FCS is none of theirs, or cannot be left out.
        let without = column.no_fcs && named.is_none_or(|named| named == 2);
        *n > 0 && named.is_none_or(|named| named == *n) && (!without || *more == -4.0)
    };
    (named, LAYERS.into_iter().filter(is_it).collect())
}

/// What is to be said of a column's rows, by its text: the first line, and how many.
type Told = BTreeMap<String, (u64, usize)>;

/// Rows of one device and configuration in a column.
struct Group<'a, 'n> {
    table: &'a Table,
    column: Bits,
    name: [&'a str; 2],
    note: &'a mut Note<'n>,
    told: &'a mut Told,
}

impl Group<'_, '_> {
    fn tell(&mut self, rates: &[Rate<'_>], text: String) {
        let Some(line) = rates.iter().map(|rate| rate.row.line).min() else { return };
        let (first, n) = self.told.entry(text).or_insert((line, 0));
        (*first, *n) = (line.min(*first), *n + rates.len());
    }

    /// What rows with frames and bits say together about the bytes that their Mbps count.
    fn by_frames(&mut self, rates: &[Rate<'_>]) {
        let Some(&first) = rates.first() else { return };
        let (table, column, [device, config]) = (self.table, self.column, self.name);
        let (named, of_head) = layers(column, config);
        let is_capacity = config.contains("capacity");
        let ways = || [1.0, 2.0].into_iter().flat_map(|n| LAYERS.map(|layer| (n, layer)));
        // Bits that the frames do not explain both ways are compared with the wire, too.
        if named.is_some() && !is_capacity {
            for rate in rates {
                if !ways().any(|way| way.0 > 1.0 && rate.fits(way, 1.0)) {
                    self.above_wire(rate, of_head[0]);
                }
            }
        }
        let meaning = |(n, (.., name)): (f64, Layer)| {
            if n > 1.0 { format!("{name}, both directions") } else { name.to_string() }
        };
        let n_of = |way| rates.iter().filter(|rate| rate.fits(way, 1.0)).count();
        let fitting: Vec<_> = ways().filter(|way| n_of(*way) == rates.len()).collect();
        // The column, too, if there are several.
        let head = if table.bits().len() > 1 { table.head(column.at) } else { "" };
        let words = [device, config, head].join(" ");
        let what = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = if what.is_empty() { what } else { what + ": " };
        match fitting.as_slice() {
            [(1.0, (2, 0.0, _))] if named.is_none_or(|layer| layer == 2) => {}
            [(n, layer)] if named == Some(layer.0) && (*n == 1.0 || is_capacity) => {}
            [one] => self.tell(rates, format!("are of {}", meaning(*one))),
            [] if column.bytes
                && ways().any(|way| rates.iter().all(|rate| rate.fits(way, 0.125))) =>
            {
                let head = table.head(column.at);
                let text = format!(
                    "`{head}` would be bytes a second; with the packets they only fit as bits"
                );
                (self.note)(Some(first.row.line), Kind::Ambiguous, text);
            }
            [] => {
                // Where most agree, or some with what the file says, the others are wrong.
                let is_said = |way: (f64, Layer)| {
                    way.0 == 1.0 && named.is_some() && of_head.first() == Some(&way.1)
                };
                let best = ways().map(|way| (is_said(way) && n_of(way) > 0, n_of(way), way));
                let best = best.reduce(|a, b| if (b.0, b.1) > (a.0, a.1) { b } else { a });
                let agreed = best.filter(|(said, n, _)| *said || *n >= 2 && 2 * n > rates.len());
                let no_layer = "packets and bits do not fit each other";
                let Some((_, n, way)) = agreed else {
                    let text = format!(
                        "{what}{no_layer} on any layer: at {} bytes each packet would count {:.1}",
                        first.size,
                        first.each()
                    );
                    return (self.note)(Some(first.row.line), Kind::Inconsistent, text);
                };
                let others = if n == 1 { "row is" } else { "rows are" };
                for rate in rates.iter().filter(|rate| !rate.fits(way, 1.0)) {
                    let text = format!(
                        "{what}{no_layer}: at {} bytes each packet would count {:.1}; the other {n} \
                         {others} of {}",
                        rate.size,
                        rate.each(),
                        meaning(way)
                    );
                    (self.note)(Some(rate.row.line), Kind::Inconsistent, text);
                }
            }
            several => {
                let several: Vec<String> = several.iter().map(|way| meaning(*way)).collect();
                let text = format!("{what}Mbps may be of {}", several.join(", or "));
                (self.note)(Some(first.row.line), Kind::Ambiguous, text);
            }
        }
    }

    /// Bits with no frames beside them: above the wire on every layer, or of which.
    fn by_wire(&mut self, mut rates: Vec<Rate<'_>>) {
        rates.sort_by(|a, b| a.size.total_cmp(&b.size));
        let (named, mut layers) = layers(self.column, self.name[1]);
        // Bits of another layer in the same rows are of the same frames: most of them say which.
        let agree = |layer: Layer| {
            rates.iter().filter(|rate| rows_agree(self.table, rate, layer, self.column)).count()
        };
        let said: Vec<Layer> =
            layers.iter().copied().filter(|layer| 2 * agree(*layer) > rates.len()).collect();
        if named.is_some() && said.len() == 1 && layers.len() > 1 {
            if said[0].1 == -4.0 {
                let text = "are of layer 2 without FCS, as those of another layer beside them show";
                self.tell(&rates, text.to_string());
            }
            layers = said;
        }
        let possible: Vec<Rate<'_>> =
            rates.iter().copied().filter(|rate| !self.above_wire(rate, layers[0])).collect();
        if named.is_some() || possible.is_empty() {
            return;
        }
        layers.retain(|layer| !possible.iter().any(|rate| rate.is_above(*layer)));
        if let Some(text) = meaning(&possible, &layers) {
            self.tell(&rates, text);
        }
    }

    /// Whether a rate is more than the wire carries on a layer: then it is told.
    fn above_wire(&mut self, rate: &Rate<'_>, widest: Layer) -> bool {
        let Rate { row, size, mbps, digit, .. } = *rate;
        let Some(most) = rate.most(widest).filter(|_| rate.is_above(widest)) else { return false };
        // "Packet size" beside bits of layer 3 may be the packet's, as that of iperf3 is.
        let head = self.table.size_head().to_lowercase();
        let whole = most * size / (size - L2) * (size + L1) / (size + L1 + L2);
        if widest.0 == 3 && head.contains("packet size") && mbps <= whole + digit * 0.501 {
            let text = format!(
                "{mbps} Mbps on layer 3 are too many for frames of {size} bytes, and of IP packets of \
                 as many the wire carries {whole:.1}: so `{head}` is that of packets"
            );
            (self.note)(Some(row.line), Kind::Doubtful, text);
            return true;
        }
        let twice = match mbps <= 2.0 * most + digit {
            true => "; both directions together, if that is what it counts, need a link of both",
            false => "",
        };
        let bytes = match self.column.bytes {
            true => format!(" (`{}` read as bytes a second)", self.table.head(self.column.at)),
            false => String::new(),
        };
        let text = format!(
            "{mbps} Mbps{bytes} of {size} bytes are {} what the wire carries on {}, {most:.1}{twice}",
            above(mbps, most),
            widest.2
        );
        (self.note)(Some(row.line), Kind::Impossible, text);
        true
    }
}

/// What rows may be of, if no one says it; nothing if it is layer 2, which all expect.
fn meaning(rates: &[Rate<'_>], layers: &[Layer]) -> Option<String> {
    let least = rates.first()?.size;
    if rates.iter().any(|rate| rate.link.is_none()) {
        return Some(format!(
            "are of a layer that no one says, and nothing beside them shows: the same frames of {least} \
             bytes count {:.0} on layer 1 for 100 on layer 2 and {:.0} on layer 3",
            100.0 * (least + L1) / least,
            100.0 * (least - L2) / least
        ));
    }
    // Rates that are a wire's, at two sizes or more: no chance.
    let is_full = |rate: &&Rate<'_>, layer: Layer| {
        let near = |most: f64| (rate.mbps - most).abs() <= (rate.digit * 0.55).max(most * 1e-5);
        rate.most(layer).is_some_and(near)
    };
    let full = |layer: &&Layer| rates.iter().filter(|rate| is_full(rate, **layer)).count() >= 2;
    let full: Vec<&Layer> = layers.iter().filter(full).collect();
    match (full.as_slice(), layers) {
        ([(2, 0.0, _)], _) | ([], [(2, 0.0, _)]) | (_, []) => None,
        ([one], _) => Some(format!(
            "are of {}, which no one says: several are just what the wire carries on it",
            one.2
        )),
        (_, [one]) => Some(format!(
            "are of {}, which no one says: on the others the wire does not carry them",
            one.2
        )),
        (_, several) => {
            let names: Vec<&str> = several.iter().map(|layer| layer.2).collect();
            let names = names.join(", or ");
            Some(format!("may be of {names}: no one says it, and the wire carries each"))
        }
    }
}

/// Whether a rate on a layer is of as many frames as those in the other columns of its row are.
fn rows_agree(table: &Table, rate: &Rate<'_>, layer: Layer, column: Bits) -> bool {
    let others = table.bits().iter().filter(|other| other.at != column.at && other.layer.is_some());
    others.into_iter().all(|&other| {
        let Some((mbps, digit)) = table.mbps(rate.row, other) else { return true };
        let other_rate = Rate { mbps, digit, ..*rate };
        let [least, most] = rate.frames(layer);
        layers(other, "").1.into_iter().any(|layer| {
            let [other_least, other_most] = other_rate.frames(layer);
            least <= other_most && other_least <= most
        })
    })
}

/// Bits of several layers in one row are of the same frames.
fn together(table: &Table, row: &Row, known: &Known, note: &mut Note) {
    let named = table.bits().iter().filter(|column| column.layer.is_some());
    let named = named.filter_map(|&column| Some((column, rate(table, row, column, known)?)));
    let named: Vec<(Bits, Rate<'_>)> = named.filter(|(_, rate)| rate.kpps.is_none()).collect();
    let Some(((column, first), others)) = named.split_first() else { return };
    let (_, candidates) = layers(*column, "");
    if candidates.iter().any(|layer| rows_agree(table, first, *layer, *column)) {
        return;
    }
    let frames = |column, rate: &Rate<'_>| {
        let layer = layers(column, "").1[0];
        let [least, most] = rate.frames(layer);
        (layer.0, (least + most) / 2.0)
    };
    let (layer, kpps) = frames(*column, first);
    let (mbps, size) = (first.mbps, first.size);
    let mut text = format!("{mbps} Mbps on layer {layer} of {size} bytes are {kpps:.3} kpps");
    for (column, rate) in others {
        let (layer, kpps) = frames(*column, rate);
        text += &format!(", and {} on layer {layer} are {kpps:.3}", rate.mbps);
    }
    text += ": not the same frames";
    note(Some(row.line), Kind::Inconsistent, text);
}
