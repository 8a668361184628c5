//! Capacities of wires, and what a table calls wire speed.
//!
//! ```text
//!  --link, a column `link` ─► bits a second ─► the most frames of each size ◄─ compared with kpps
//!  neither: rows marked as wire speed must be one number of bits at every size
//! ```
//!
//! A mark (`underlined_wire_speed`) is a claim of its own: below the wire it says that something
//! else was the limit, or that digits were cut off.

use super::rates::{kpps, kpps_digit};
use super::table::{Row, Table};
use super::{Kind, Known, L1, Note, above, ports, wires_of};
use std::collections::BTreeMap;

/// A row, its bytes on the wire, and how many thousands a second.
struct Rate<'a> {
    row: &'a Row,
    size: f64,
    overhead: f64,
    kpps: f64,
    digit: f64,
}

impl Rate<'_> {
    /// Bits a second on layer 1, in 10^9.
    fn gbps(&self) -> f64 {
        self.kpps * (self.size + self.overhead) * 8.0 / 1e6
    }

    /// The most that wires of so many bits a second carry of these.
    fn most(&self, link: f64) -> f64 {
        link / (self.size + self.overhead) / 8.0 / 1e3
    }
}

/// Checks a table of `size_bytes` and packets a second.
pub(super) fn check(table: &Table, known: &Known, note: &mut Note) {
    let mut marked: BTreeMap<&str, Vec<Rate<'_>>> = BTreeMap::new();
    let mut below = Below::default();
    for row in table.rows() {
        let (Some(size), Some(kpps)) = (table.number(row, "size_bytes"), kpps(table, row)) else {
            continue;
        };
        // No frame: told of the cell.
        if size <= 0.0 {
            continue;
        }
        let device = table.text(row, "device");
        let overhead = L1 + tunnel(table.text(row, "tunnel"));
        let rate = Rate { row, size, overhead, kpps, digit: kpps_digit(table, row) };
        let is_marked = table.text(row, "underlined_wire_speed") == "1";
        if let Some(link) = wires_of(table, row, known) {
            let most = rate.most(link);
            if kpps > most + rate.digit {
                let text = format!(
                    "{kpps} kpps of {size} bytes are {} the wire's {most:.2}",
                    above(kpps, most)
                );
                note(Some(row.line), Kind::Impossible, text);
            } else if is_marked || kpps > most {
                near(&rate, most, &mut below, note);
            }
        } else if is_marked {
            marked.entry(device).or_default().push(rate);
        }
    }
    for (device, rates) in marked {
        // Wires come in whole gigabits.
        let nominal = rates.iter().map(Rate::gbps).fold(f64::INFINITY, f64::min).round();
        for rate in rates.iter().filter(|_| nominal > 0.0) {
            if rate.gbps() > nominal * 1.000_1 {
                let tunnel = table.text(rate.row, "tunnel");
                let name = if device.is_empty() { tunnel } else { device };
                let text = format!(
                    "{name}: wire speed at {} bytes would be {:.3} Gbps on layer 1, {} the \
                     {nominal} Gbps that are there",
                    rate.size,
                    rate.gbps(),
                    above(rate.gbps(), nominal)
                );
                note(Some(rate.row.line), Kind::Impossible, text);
            } else {
                near(rate, rate.most(nominal * 1e9), &mut below, note);
            }
        }
        // A port more than the others is for whoever manages it.
        if let (Some(ports), Some(first)) = (ports::of_name(device), rates.first())
            && ports > nominal * 1.02
        {
            let text = format!(
                "{device}: what is marked as wire speed is {nominal} Gbps on layer 1, and the \
                 ports that its name says carry {ports}: another limit than the wires"
            );
            note(Some(first.row.line), Kind::Ambiguous, text);
        }
    }
    below.tell(note);
}

/// A rate that is nearly the wire's, or is said to be.
fn near(rate: &Rate<'_>, most: f64, below: &mut Below, note: &mut Note) {
    let Rate { row, size, kpps, digit, .. } = *rate;
    if kpps > most {
        let text = format!("{kpps} kpps of {size} bytes: the wire's {most:.3}, rounded up");
        note(Some(row.line), Kind::Rounded, text);
        return;
    }
    let missing = most - kpps;
    // Digits cut off, or whole places of the number.
    let places = (0..5).map(|n| digit * 10f64.powi(n));
    let cut =
        places.into_iter().any(|unit| ((most / unit).floor() * unit - kpps).abs() < digit / 2.0);
    let begin = format!("{kpps} kpps of {size} bytes are marked as wire speed");
    if missing <= digit / 2.0 {
        // As it should be.
    } else if cut {
        below.add(rate, Kind::Rounded, format!("{begin}: the wire's {most:.3}, cut off"));
    } else if missing < most / 100.0 {
        let share = missing / most * 100.0;
        let text = format!("{begin}, and are {share:.2} % below the wire's {most:.3}");
        below.add(rate, Kind::Doubtful, text);
    } else {
        let share = missing / most * 100.0;
        let text = format!(
            "{begin}, and are {share:.1} % below the wire's {most:.1}: another limit than the wires"
        );
        below.add(rate, Kind::Ambiguous, text);
    }
}

/// What several rows say is told once: the first line, and how many there are.
#[derive(Default)]
struct Below {
    told: Vec<(u64, Kind, String, usize)>,
}

impl Below {
    fn add(&mut self, rate: &Rate<'_>, kind: Kind, text: String) {
        match self.told.iter_mut().find(|(_, _, other, _)| *other == text) {
            Some((.., n)) => *n += 1,
            None => self.told.push((rate.row.line, kind, text, 1)),
        }
    }

    fn tell(self, note: &mut Note) {
        for (line, kind, text, n) in self.told {
            let rows = if n == 1 { String::new() } else { format!(" ({n} rows)") };
            note(Some(line), kind, text + &rows);
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
