//! A CSV file by the names of its columns, whoever wrote it.
//!
//! ```text
//!  "Packet size;Rate (kpps);L3 Mbit/s"   ; , or tab, the one that parts the header
//!        │
//!        ▼ what a head means ([`heads`]), or its words, or what is known by another name
//!   size_bytes, kpps, mbps
//!        │
//!        ▼ "64 byte kpps, 64 byte Mbps, 512 byte kpps, …": a row for each size
//! ```
//!
//! In files parted by semicolons a comma is a decimal comma, elsewhere it parts thousands, unless
//! the file's numbers show that it is the other way ([`Style`]).

use super::L2;
use super::heads::{self, Bits, Meaning, Unit};
use super::numbers::{self, Style};
use std::cell::Cell;

/// A file with a header.
pub(super) struct Table {
    /// As they stand in the file.
    written: Vec<String>,
    /// As the checks know them.
    names: Vec<String>,
    rows: Vec<Row>,
    style: Style,
    /// The columns with bits a second.
    bits: Vec<Bits>,
    /// Whether its sizes are those of IP packets.
    of_packets: bool,
    /// Whether a check has looked at a column: what none looks at is told.
    looked: Vec<Cell<bool>>,
}

/// A line of it, or of a line what is of one frame size.
pub(super) struct Row {
    /// From 1, the header being the first.
    pub(super) line: u64,
    cells: Vec<String>,
}

/// What checks call a column, and what others call it.
const ALIASES: [(&str, &str); 9] = [
    ("config", "configuration"),
    ("device", "router system"),
    ("tx_packet", "tx_packets tx_frames sent sent_packets sent_frames tx_pkts"),
    ("rx_packet", "rx_packets rx_frames received received_packets received_frames rx_pkts"),
    ("lost_packet", "lost_packets lost_frames lost packets_lost frames_lost"),
    (
        "duplicate_packet",
        "duplicate_packets duplicate_frames duplicated_packets duplicated_frames duplicates duplicate dup_packets dup_frames dup",
    ),
    ("tx_pps", "tx_fps offered_fps offered_pps sent_fps sent_pps"),
    ("rx_pps", "rx_fps received_fps received_pps"),
    ("link", "wire port_speed link_speed"),
];

/// Sizes of IP packets.
const OF_PACKETS: &str = "packet_l3 ip_packet ip_packet_size ip_size packet_size_ip";

/// Cells of a line under the heads that has their units.
const UNITS: &str = "- % b byte bytes octets 1/s fps frames/s pps packets/s kpps mpps bit/s kbit/s mbit/s \
    gbit/s mbps gbps ns us µs ms";

impl Table {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub(super) fn read(text: &str) -> Result<Table, String> {
        // Spreadsheets begin a file with the byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let header = text.lines().next().unwrap_or("");
        let parts = |c: char| header.matches(c).count();
        let delimiter = [';', '\t'].into_iter().find(|&c| parts(c) > parts(','));
        let delimiter = delimiter.unwrap_or(',');
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .delimiter(delimiter as u8)
            .from_reader(text.as_bytes());
        let mut written: Vec<String> = match reader.headers() {
            Ok(names) => names.iter().map(str::to_string).collect(),
            Err(error) => return Err(format!("not CSV: {error}")),
        };
        let mut rows = Vec::new();
        let (mut at, mut line) = (0, 1);
        for record in reader.records() {
            let record = record.map_err(|error| format!("not CSV: {error}"))?;
            // Behind the line ends that it begins with, whichever they are.
            let byte = record.position().map_or(at, |position| position.byte() as usize);
            let begin = text
                .get(byte..)
                .map_or(0, |rest| rest.len() - rest.trim_start_matches(['\r', '\n']).len());
            let passed = text.get(at..byte + begin).unwrap_or_default().replace("\r\n", "\n");
            line += passed.matches(['\r', '\n']).count() as u64;
            at = byte + begin;
            rows.push(Row { line, cells: record.iter().map(str::to_string).collect() });
        }
        let is_unit = |cell: &String| {
            let cell = cell.to_lowercase();
            cell.is_empty() || UNITS.split(' ').any(|unit| unit == cell)
        };
        if rows.first().is_some_and(|row: &Row| row.cells.iter().all(is_unit)) {
            rows.remove(0);
        }
        let cells = || rows.iter().flat_map(|row| row.cells.iter().map(String::as_str));
        let style = Style::of(cells(), delimiter == ';');
        by_size(&mut written, &mut rows);
        let (names, bits) = (vec![], vec![]);
        let looked = vec![Cell::new(false); written.len()];
        let mut table = Table { names, written, rows, style, bits, of_packets: false, looked };
        table.name();
        Ok(table)
    }

    /// Gives columns the names that the checks know; one that is there already is not given twice.
    fn name(&mut self) {
        self.names = self.written.iter().map(|name| plain(name)).collect();
        for (canonical, others) in ALIASES {
            if !self.has(canonical)
                && let Some(at) =
                    self.names.iter().position(|name| others.split(' ').any(|other| other == name))
            {
                self.names[at] = canonical.to_string();
            }
        }
        let is_of_packets = |name: &String| OF_PACKETS.split(' ').any(|other| other == name);
        if let Some(at) = self.names.iter().position(is_of_packets) {
            (self.names[at], self.of_packets) = ("size_bytes".to_string(), true);
        }
        for at in 0..self.names.len() {
            let mut meaning = heads::meaning(&self.written[at]);
            if meaning == Some(Meaning::Rate) {
                meaning = self.unit_of_cells(at);
            }
            let name = match meaning {
                Some(Meaning::Size) => "size_bytes",
                Some(Meaning::Packets(kilo)) => match kilo {
                    1.0 => "kpps",
                    1e3 => "mpps",
                    _ => "pps",
                },
                Some(Meaning::Bits(bits)) => {
                    // One of each layer: a second is another quantity (the least, the most).
                    let of = |bits: &Bits| (bits.layer, bits.no_fcs);
                    if self.bits.iter().any(|other| of(other) == of(&bits)) {
                        continue;
                    }
                    self.bits.push(Bits { at, ..bits });
                    if bits.mega == 1e3 { "gbps" } else { "mbps" }
                }
                _ => continue,
            };
            if !self.has(name) {
                self.names[at] = name.to_string();
            }
        }
        // Of what was measured by size; in a price list a model is what is sold.
        if self.has("size_bytes")
            && !self.has("device")
            && let Some(at) =
                ["model", "product", "dut"].iter().find_map(|name| self.position(name))
        {
            self.names[at] = "device".to_string();
        }
    }

    /// `Throughput` with cells like `1.2 Gbps`.
    fn unit_of_cells(&self, at: usize) -> Option<Meaning> {
        let tails = self.rows.iter().filter_map(|row| numbers::parse(&row.cells[at], self.style));
        Some(match heads::unit(tails.map(|number| number.tail).find(|tail| !tail.is_empty())?)? {
            Unit::Packets(kilo) => Meaning::Packets(kilo),
            Unit::Bits(mega, bytes) => {
                Meaning::Bits(Bits { at, mega, layer: None, no_fcs: false, bytes })
            }
        })
    }

    /// The columns' names as they are written, for an error.
    pub(super) fn names(&self) -> String {
        self.written.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The columns with bits a second.
    pub(super) fn bits(&self) -> &[Bits] {
        &self.bits
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }

    /// What the file itself calls a column.
    pub(super) fn head(&self, at: usize) -> &str {
        &self.written[at]
    }

    /// Where a column stands.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    /// The cell of a column; empty if there is no such column.
    pub(super) fn text<'a>(&self, row: &'a Row, name: &str) -> &'a str {
        self.position(name).map_or("", |at| self.cell(row, at))
    }

    /// The cell at a place.
    pub(super) fn cell<'a>(&self, row: &'a Row, at: usize) -> &'a str {
        self.looked[at].set(true);
        peek(row, at)
    }

    /// What the file calls the columns with numbers that no check looked at.
    pub(super) fn not_looked_at(&self) -> Vec<&str> {
        let is_number = |at: usize| {
            self.rows.iter().any(|row| numbers::parse(peek(row, at), self.style).is_some())
        };
        let all = 0..self.written.len();
        let left = all.filter(|&at| !self.looked[at].get());
        left.filter(|&at| is_number(at)).map(|at| self.head(at)).collect()
    }

    /// The number in a cell, if it is one that can be: what follows it (`Mbps`, three dots) is
    /// left, and what parts its thousands does not matter.
    pub(super) fn number(&self, row: &Row, name: &str) -> Option<f64> {
        numbers::parse(self.text(row, name), self.style).map(|number| number.value)
    }

    /// How the file writes its numbers.
    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// The last digit that is printed of a cell's number.
    pub(super) fn digit(&self, row: &Row, name: &str) -> f64 {
        numbers::parse(self.text(row, name), self.style).map_or(1.0, |number| number.digit())
    }

    /// The bytes of a frame, with FCS.
    pub(super) fn size(&self, row: &Row) -> Option<f64> {
        let of_frame = if self.of_packets { L2 } else { 0.0 };
        self.number(row, "size_bytes").map(|size| size + of_frame)
    }

    /// What the file calls the size of frames; nothing where it is that of IP packets.
    pub(super) fn size_head(&self) -> &str {
        let at = self.position("size_bytes").filter(|_| !self.of_packets);
        at.map_or("", |at| self.head(at))
    }

    /// A rate of frames in 10^3 a second, and the last digit printed of it; a unit of the cell goes
    /// before that of the head.
    pub(super) fn kpps(&self, row: &Row) -> Option<(f64, f64)> {
        let (name, head) =
            [("kpps", 1.0), ("pps", 1e-3), ("mpps", 1e3)].into_iter().find(|(n, _)| self.has(n))?;
        let number = numbers::parse(self.text(row, name), self.style)?;
        let scale = match heads::unit(number.tail) {
            Some(Unit::Packets(kilo)) => kilo,
            _ => head,
        };
        // Scaling leaves what no one printed: 4385.400000000001.
        let kpps = format!("{:.12e}", number.value * scale).parse().ok()?;
        Some((kpps, number.digit() * scale))
    }

    /// A rate of bits in 10^6 a second, and the last digit printed of it.
    pub(super) fn mbps(&self, row: &Row, bits: Bits) -> Option<(f64, f64)> {
        let number = numbers::parse(self.cell(row, bits.at), self.style)?;
        let scale = match heads::unit(number.tail) {
            Some(Unit::Bits(mega, _)) => mega,
            _ => bits.mega,
        };
        Some((number.value * scale, number.digit() * scale))
    }
}

/// The cell at a place, for what is no check of its number.
pub(super) fn peek(row: &Row, at: usize) -> &str {
    row.cells.get(at).map_or("", String::as_str)
}

/// Makes rows of one size each of rows with columns for each size.
fn by_size(written: &mut Vec<String>, rows: &mut Vec<Row>) {
    let mut of: Vec<(usize, u32, String)> = Vec::new();
    for (at, head) in written.iter().enumerate() {
        match heads::of_one_size(head) {
            Some((size, what, _)) => of.push((at, size, what.to_string())),
            // "1518 byte kpps, Mbps, 512 byte kpps, Mbps": as the one before.
            None => {
                let is_rate =
                    matches!(heads::meaning(head), Some(Meaning::Bits(_) | Meaning::Packets(_)));
                let before = of.last().filter(|(before, ..)| is_rate && before + 1 == at);
                let size = before.map(|(_, size, _)| *size);
                of.extend(size.map(|size| (at, size, head.clone())));
            }
        }
    }
    let mut sizes: Vec<u32> = of.iter().map(|(_, size, _)| *size).collect();
    sizes.dedup();
    if sizes.is_empty() {
        return;
    }
    let mut whats: Vec<String> = Vec::new();
    for (_, _, what) in &of {
        if !whats.contains(what) {
            whats.push(what.clone());
        }
    }
    let is_other = |at: &usize| !of.iter().any(|(of, ..)| of == at);
    let others: Vec<usize> = (0..written.len()).filter(is_other).collect();
    let melt = |row: &Row, size: u32| {
        let at = |at: usize| row.cells.get(at).cloned().unwrap_or_default();
        let cell = |what: &String| {
            let found = of.iter().find(|(_, s, w)| *s == size && w == what);
            found.map_or(String::new(), |(of, ..)| at(*of))
        };
        let mut cells: Vec<String> = others.iter().map(|of| at(*of)).collect();
        cells.push(size.to_string());
        cells.extend(whats.iter().map(cell));
        Row { line: row.line, cells }
    };
    *rows = rows.iter().flat_map(|row| sizes.iter().map(|size| melt(row, *size))).collect();
    *written = others.iter().map(|at| written[*at].clone()).collect();
    written.push("frame size".to_string());
    written.extend(whats);
}

/// `Packet size (bytes)` as `packet_size_bytes`.
fn plain(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c.is_ascii_alphanumeric() {
            true => out.push(c.to_ascii_lowercase()),
            false if !out.is_empty() && !out.ends_with('_') => out.push('_'),
            false => {}
        }
    }
    out.truncate(out.trim_end_matches('_').len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (text, names, kpps) in [
            ("Packet size,kpps\n64,1.5", "size_bytes kpps", Some(1.5)),
            ("\u{feff}Frame size (bytes);kpps;Mbit/s\n64;1,5;7", "size_bytes kpps mbps", Some(1.5)),
            ("size\tKPPS\n64\t119,047.6", "size_bytes kpps", Some(119_047.6)),
            (
                "size_bytes,frame size,kpps\n1,2,\"18,790.0\"",
                "size_bytes frame_size kpps",
                Some(18_790.0),
            ),
            ("kpps,size_bytes,size\n1 234,64,x", "kpps size_bytes size", Some(1234.0)),
            ("kpps\nfast", "kpps", None),
            // A unit in the cells, or of all of them.
            ("size,Throughput\n64,1.5 Mpps", "size_bytes mpps", Some(1500.0)),
            ("size,kpps\n64,1.5 Mpps", "size_bytes kpps", Some(1500.0)),
            ("size,Speed\n64,fast", "size_bytes speed", None),
            ("packet_l3,l3_mbps\n46,1", "size_bytes mbps", None),
            // A row for each size.
            (
                "Mode,64 byte kpps,64 byte Mbps,512 byte kpps,512 byte Mbps\nx,1.5,2,3,4",
                "mode size_bytes kpps mbps",
                Some(1.5),
            ),
            ("Mode,64 byte kpps,Mbps\nx,1.5,2", "mode size_bytes kpps mbps", Some(1.5)),
        ] {
            let table = Table::read(text).unwrap();
            assert_eq!(table.names.join(" "), names, "{text}");
            assert_eq!(table.kpps(&table.rows()[0]).map(|(kpps, _)| kpps), kpps, "{text}");
        }
        let table = Table::read("kpps;x\n1,25;2.5 Mbps").unwrap();
        let digit = |name| table.digit(&table.rows()[0], name);
        assert_eq!((digit("kpps"), digit("x"), digit("none")), (0.01, 0.1, 1.0));
    }
}
