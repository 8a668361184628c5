//! Plausibility of results: ours, iperf3's, a vendor's table.
//!
//! ```text
//! file ─┬─ JSON ─┬─ ours (schema) ────────────────────────────► the types' own faults
//!       │        └─ iperf3 --json ────────────────────────────► iperf3
//!       └─ CSV, by the names of its columns:
//!            frame size, frames a second, bits a second ──────► rates
//!            sent, received and lost packets, interfaces ─────► counters
//!          └─ cells of these that are no numbers ─────────────► cells
//! ```
//!
//! Every check compares what is printed with what is printed beside it, or with what a wire carries:
//! rates above it, layers that are ambiguous or contradict each other, counters that wrapped. Results
//! of ours are sound by their own types' faults ([`measure::SuiteResults::faults`]), and nothing in
//! them is computed a second time here.
//!
//! Never says that a number is right: only that nothing here shows it wrong.
//! Missing: **TRex, btest and CSIT files**; **wireless rate tables** (`wirespeed calc wireless` has them).

// Meanings of column heads.
mod heads;

// Numbers as tables have them.
mod numbers;

// A CSV file by the names of its columns.
mod table;

// Cells without a number that can be.
mod cells;

// Frame size, packets and bits a second: which layer, and does a wire carry that.
mod rates;

// Sent, received and lost, stream by stream.
mod counters;

// Files of `iperf3 --json`.
mod iperf3;

use crate::file::File;
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
    /// Two measurements do not fit each other, which noise may explain; or one is invalid, as it says.
    Doubtful,
    /// It is right but for its last digit.
    Rounded,
}

impl Kind {
    /// Whether a number must be wrong, or cannot be understood; else it is only told.
    pub fn is_fault(self) -> bool {
        !matches!(self, Kind::Doubtful | Kind::Rounded)
    }
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
            Kind::Doubtful => "warning",
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

/// What is said of a file beside what is found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The file.
    pub file: String,
    /// What.
    pub text: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.text)
    }
}

/// What a check of files says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Everything found, by file and line.
    pub findings: Vec<Finding>,
    /// The files in which there was nothing to check, or that could not be read.
    pub unread: Vec<Said>,
    /// The columns with numbers that no check looks at, by file.
    pub not_looked_at: Vec<Said>,
    /// Each device of [`Known::links`] that no file has, and which there are: with its wire left out
    /// less was checked than was asked for.
    pub no_such_device: Vec<String>,
}

/// Checks files, name and text, each by itself and those of the same shape against each other.
/// Nothing found means that nothing here shows a number wrong. A file that cannot be checked keeps
/// none of the others from it.
pub fn check(files: &[(String, String)], known: &Known) -> Checked {
    let mut checked = Checked::default();
    let mut tables = Vec::new();
    for (file, text) in files {
        let findings = &mut checked.findings;
        let mut note = |line: Option<u64>, kind: Kind, text: String| {
            findings.push(Finding { file: file.clone(), line, kind, text });
        };
        match one(text, known, &mut note) {
            Ok(Some(table)) => tables.push((file.as_str(), table)),
            Ok(None) => {}
            Err(why) => {
                let (file, text) = (file.clone(), format!("not checked: {why}"));
                checked.unread.push(Said { file, text });
            }
        }
    }
    checked.no_such_device = no_such_device(&tables, known);
    for (file, table) in &tables {
        let columns: Vec<String> =
            table.not_looked_at().into_iter().map(|name| format!("`{name}`")).collect();
        if !columns.is_empty() {
            let (file, text) = (file.to_string(), columns.join(", "));
            checked.not_looked_at.push(Said { file, text: format!("no check looks at {text}") });
        }
    }
    checked.findings.sort_by(|a, b| (&a.file, a.line, a.kind).cmp(&(&b.file, b.line, b.kind)));
    checked
}

/// Devices whose wires are known, and that no table has.
fn no_such_device(tables: &[(&str, Table)], known: &Known) -> Vec<String> {
    let mut devices: Vec<&str> = Vec::new();
    for (_, table) in tables {
        for name in ["device", "dut"] {
            let cells = table.rows().iter().map(|row| table.text(row, name));
            devices.extend(cells.filter(|device| !device.is_empty()));
        }
    }
    devices.sort_unstable();
    devices.dedup();
    let there = match devices.as_slice() {
        [] => "no file has a column of devices; a wire of all is given without a name".to_string(),
        some => format!("there are {}", some.join(", ")),
    };
    let names = known.links.iter().map(|(name, _)| name.as_str());
    let missing = names.filter(|name| !devices.iter().any(|device| device.starts_with(name)));
    let missing = missing.filter(|name| !name.is_empty());
    missing.map(|name| format!("no device's name begins with `{name}`: {there}")).collect()
}

/// Checks a file by itself. Of a CSV its table, for what it may say of others.
fn one(text: &str, known: &Known, note: &mut Note) -> Result<Option<Table>, String> {
    if text.trim().is_empty() {
        return Err("there is nothing in it".to_string());
    }
    if text.trim_start().starts_with('{') {
        let value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        return json_file(text, &value, known, note).map(|()| None);
    }
    let table = Table::read(text)?;
    if table.rows().is_empty() {
        return Err(format!("no rows below the head: {}", table.names()));
    }
    // All of them: a table may have the columns of several.
    let applied = CHECKS.iter().filter(|check| check(&table, known, note)).count();
    if applied == 0 {
        return Err(nothing_known(&table));
    }
    cells::check(&table, note);
    Ok(Some(table))
}

/// Which columns there are, and what is missing of those that a check needs.
fn nothing_known(table: &Table) -> String {
    let names = table.names();
    let size = table.position("size_bytes").map(|at| table.head(at));
    let rate = ["kpps", "pps", "mpps", "mbps", "gbps"].iter().find_map(|name| table.position(name));
    match (size, rate.map(|at| table.head(at))) {
        (Some(size), _) => format!(
            "`{size}` is a frame size, and no rate is beside it (`Throughput (fps)`, `kpps`, \
             `Mbps L3`, `Gbit/s`): there are {names}"
        ),
        (_, Some(rate)) => format!(
            "`{rate}` is a rate, and no frame size is beside it (`Frame size [bytes]`, `Packet \
             size`, or `64 byte kpps`): there are {names}"
        ),
        _ => format!(
            "no columns to check: there are {names}; looked for is a frame size (`Frame size \
             [bytes]`) with frames or bits a second (`Throughput (fps)`, `kpps`, `Mbps L3`, `L2 \
             Gbit/s`), or `64 byte kpps`, or sent, received and lost packets; wirespeed report check \
             --help has the others"
        ),
    }
}

/// Each looks whether a table has its columns, and says so.
type Check = fn(&Table, &Known, &mut Note) -> bool;
const CHECKS: [Check; 2] = [rates::check, counters::check];

/// Checks a file of ours, or of iperf3.
fn json_file(
    text: &str,
    value: &serde_json::Value,
    known: &Known,
    note: &mut Note,
) -> Result<(), String> {
    if iperf3::is_of_iperf3(value) {
        iperf3::check(value, known.link(""), note);
        return Ok(());
    }
    let file = File::read(text).map_err(|error| error.to_string())?;
    if matches!(file, File::Survey(_)) {
        return Err("counts of captures, by `report pcap`: there is nothing to check".to_string());
    }
    if let Some(why) = file.incomplete_because() {
        note(None, Kind::Ambiguous, format!("the run is incomplete: {why}"));
    }
    for fault in file.faults() {
        note(None, Kind::Impossible, fault);
    }
    for invalid in file.invalid() {
        note(None, Kind::Doubtful, format!("invalid: {invalid}"));
    }
    Ok(())
}

/// What the wires of a row carry on layer 1, bit/s, if it says so itself or it is known: twice that, if
/// it is of both directions together.
fn wires_of(table: &Table, row: &table::Row, known: &Known) -> Option<f64> {
    const BOTH: [&str; 6] = ["total", "both", "sum", "aggregate", "bidirectional", "bidir"];
    let one = link(table.text(row, "link")).or_else(|| known.link(table.text(row, "device")))?;
    let is_both = BOTH.contains(&table.text(row, "direction").to_lowercase().as_str());
    Some(if is_both { 2.0 * one } else { one })
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
