//! Can these numbers be? The plausibility of results: ours, iperf3's, a vendor's table.
//!
//! ```text
//! file ─┬─ JSON ─┬─ ours (schema) ────────────────────────────► faults, suite
//!       │        └─ iperf3 --json ────────────────────────────► iperf3
//!       └─ CSV, by the names of its columns:
//!            size_bytes, kpps or pps, mbps ───────────────────► rates
//!            tx_packet, rx_packet, lost_packet ───────────────► counters
//!            packet_l3, l3_mbps ──────────────────────────────► layers
//!            expression or item, printed ─────────────────────► sums
//! ```
//!
//! Every check recomputes what is printed from what is printed beside it, or from what a wire can
//! carry. The errors it must find stand in the source documents themselves (`data/check/`).
//!
//! Never says that a number is right: only that nothing here shows it wrong.
//! Missing: **TRex, btest and CSIT files**.

// A CSV file by the names of its columns.
mod table;

// Frame size, packets and bits per second: which layer, and does a wire carry that.
mod rates;

// Sent, received and lost, stream by stream.
mod counters;

// IP packet sizes and rates of layer 3 and 2.
mod layers;

// Sums and quotients that are printed with their result.
mod sums;

// What `iperf3 --json` writes.
mod iperf3;

// What `wirespeed test --json` writes.
mod suite;

use crate::json;
use std::fmt;
use table::Table;

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// No wire, device or counter can do that.
    Impossible,
    /// It contradicts another number of the file.
    Inconsistent,
    /// What it counts cannot be told, or is not what its name says.
    Ambiguous,
    /// It is right but for its last digit.
    Rounded,
}

/// Something found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The line, from 1; `None` if it is about the file, or about JSON.
    pub line: Option<u64>,
    /// How bad it is.
    pub kind: Kind,
    /// What, with the numbers.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Impossible => "impossible",
            Kind::Inconsistent => "inconsistent",
            Kind::Ambiguous => "ambiguous",
            Kind::Rounded => "rounded",
        };
        match self.line {
            Some(line) => write!(f, "{}:{line}: {kind}: {}", self.file, self.text),
            None => write!(f, "{}: {kind}: {}", self.file, self.text),
        }
    }
}

/// What is known beside the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// What the wires into a device carry together, bit/s on layer 1, by the beginning of the
    /// device's name; an empty name is any device. A column `link` says it, too.
    pub links: Vec<(String, f64)>,
}

impl Known {
    /// The capacity of the wires of this device, if it is known.
    fn link(&self, device: &str) -> Option<f64> {
        let of = self.links.iter().filter(|(name, _)| device.starts_with(name.as_str()));
        of.max_by_key(|(name, _)| name.len()).map(|(_, link)| *link)
    }
}

/// The file is nothing that can be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub file: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.why)
    }
}

impl std::error::Error for Unreadable {}

/// Checks files, name and text, each by itself and those of the same shape against each other.
/// Nothing found means that nothing here shows a number wrong.
///
/// # Errors
/// [`Unreadable`]: neither of our files nor JSON of iperf3 nor a CSV with columns that are known.
pub fn check(files: &[(String, String)], known: &Known) -> Result<Vec<Finding>, Unreadable> {
    let mut findings = Vec::new();
    let mut tables = Vec::new();
    for (file, text) in files {
        let mut note = |line: Option<u64>, kind: Kind, text: String| {
            findings.push(Finding { file: file.clone(), line, kind, text });
        };
        let unreadable = |why: String| Unreadable { file: file.clone(), why };
        if text.trim().is_empty() {
            return Err(unreadable("there is nothing in it".to_string()));
        }
        if text.trim_start().starts_with('{') {
            let value: serde_json::Value = serde_json::from_str(text)
                .map_err(|error| unreadable(format!("not JSON: {error}")))?;
            if iperf3::is_of_iperf3(&value) {
                iperf3::check(&value, known.link(""), &mut note);
            } else if crate::iperf3::is_one(&value) {
                let results = crate::iperf3::read(text);
                let results = results.map_err(|error| unreadable(error.to_string()))?;
                for fault in results.faults() {
                    note(None, Kind::Impossible, fault);
                }
            } else if crate::suite::is_suite(text) {
                let results = crate::suite::read(text);
                suite::check(&results.map_err(|error| unreadable(error.to_string()))?, &mut note);
            } else {
                let results = json::read(text).map_err(|error| unreadable(error.to_string()))?;
                for row in &results.rows {
                    for fault in row.faults() {
                        let name = format!("{} {}", row.configuration, row.frame_size);
                        note(None, Kind::Impossible, format!("{name}: {fault}"));
                    }
                }
            }
            continue;
        }
        let table = Table::read(text).map_err(unreadable)?;
        let checks: [fn(&Table, &Known, &mut Note) -> bool; 4] =
            [rates::check, counters::check, layers::check, sums::check];
        // All of them: a table may have the columns of several.
        let applied = checks.iter().filter(|check| check(&table, known, &mut note)).count();
        if applied == 0 {
            return Err(unreadable(format!(
                "no columns to check: there are {}; known are size_bytes with kpps or pps; \
                 tx_packet, rx_packet and lost_packet; packet_l3 with l3_mbps; tx_pps and tx_mbps; \
                 expression or item with printed",
                table.names()
            )));
        }
        tables.push((file.as_str(), table));
    }
    rates::compare(&tables, &mut findings);
    findings.sort_by(|a, b| (&a.file, a.line, a.kind).cmp(&(&b.file, b.line, b.kind)));
    Ok(findings)
}

/// Takes a finding: line, kind, text.
type Note<'a> = dyn FnMut(Option<u64>, Kind, String) + 'a;

/// What wires carry on layer 1, bit/s: `10G`, `8x10G`, `8x1G+2x10G`, `1000Base-T`, `10Base-SR`.
pub fn link(text: &str) -> Option<f64> {
    let one = |text: &str| -> Option<f64> {
        let (count, rate) = text.split_once('x').unwrap_or(("1", text));
        let count: f64 = count.parse().ok()?;
        if let Some((speed, medium)) = rate.split_once("Base-") {
            // 10Base-SR is 10 Gbit/s, 10Base-T is 10 Mbit/s.
            let unit = if medium.starts_with('T') { 1e6 } else { 1e9 };
            return Some(count * speed.parse::<f64>().ok()? * unit);
        }
        let unit = match rate.chars().last()? {
            'k' => 1e3,
            'M' => 1e6,
            'G' => 1e9,
            _ => return None,
        };
        Some(count * rate[..rate.len() - 1].parse::<f64>().ok()? * unit)
    };
    text.split('+').map(one).sum::<Option<f64>>().filter(|rate| *rate > 0.0 && rate.is_finite())
}

/// Bytes an Ethernet frame takes on the wire beside itself: preamble, start and gap.
const L1: f64 = 20.0;
/// Ethernet header and FCS.
const L2: f64 = 18.0;

/// `+0.91 %`.
fn above(printed: f64, most: f64) -> String {
    format!("{:.2} % above", (printed / most - 1.0) * 100.0)
}

#[cfg(test)]
mod tests;
