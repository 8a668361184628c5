//! A CSV file by the names of its columns, whoever wrote it.
//!
//! ```text
//!  "Packet size;kpps;Mbit/s"   ; , or tab, the one that parts the header
//!        │
//!        ▼ small letters, what is no letter or digit an underscore, what is known by another name
//!   size_bytes, kpps, mbps
//! ```
//!
//! In files parted by semicolons a comma is a decimal comma, elsewhere it parts thousands: whoever
//! writes `1,5` cannot part by commas.

/// A file with a header.
pub(super) struct Table {
    /// As they stand in the file.
    written: Vec<String>,
    /// As the checks know them.
    names: Vec<String>,
    rows: Vec<Row>,
    decimal_comma: bool,
}

/// A line of it.
pub(super) struct Row {
    /// From 1, the header being the first.
    pub(super) line: u64,
    cells: Vec<String>,
}

/// What checks call a column, and what others call it.
const ALIASES: [(&str, &[&str]); 13] = [
    (
        "size_bytes",
        &[
            "size",
            "frame_size",
            "packet_size",
            "framesize",
            "packetsize",
            "pkt_size",
            "frame_length",
            "packet_length",
            "frame_len",
            "frame_size_bytes",
            "packet_size_bytes",
            "frame_size_byte",
            "packet_size_byte",
            "frame_bytes",
            "packet_bytes",
            "frame_size_b",
            "packet_size_b",
            "size_b",
            "frame_size_l2_with_fcs",
        ],
    ),
    ("kpps", &["kfps", "k_pps", "kpkt_s", "kpackets_s"]),
    ("mpps", &["mfps", "m_pps", "mpkt_s", "mpackets_s"]),
    (
        "pps",
        &[
            "fps",
            "packets_s",
            "frames_s",
            "pkt_s",
            "pkts_s",
            "packets_per_second",
            "frames_per_second",
            "packets_sec",
            "frames_sec",
            "packet_rate_pps",
        ],
    ),
    (
        "mbps",
        &[
            "mbit_s",
            "mbits_s",
            "mbit_sec",
            "mbits_sec",
            "mb_s",
            "megabits_s",
            "mbps_l1",
            "mbps_l2",
            "mbps_l3",
            "throughput_mbps",
            "throughput_mbit_s",
            "rate_mbps",
        ],
    ),
    ("gbps", &["gbit_s", "gbits_s", "gbit_sec", "gbps_l1", "gbps_l2", "throughput_gbps"]),
    ("config", &["configuration"]),
    ("device", &["router", "system"]),
    ("tx_packet", &["tx_packets", "tx_frames", "sent", "sent_packets", "sent_frames", "tx_pkts"]),
    (
        "rx_packet",
        &["rx_packets", "rx_frames", "received", "received_packets", "received_frames", "rx_pkts"],
    ),
    ("lost_packet", &["lost_packets", "lost_frames", "lost", "packets_lost", "frames_lost"]),
    ("packet_l3", &["ip_packet", "ip_packet_size", "ip_size", "packet_size_ip"]),
    ("link", &["wire", "port_speed", "link_speed"]),
];

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
        let written: Vec<String> = match reader.headers() {
            Ok(names) => names.iter().map(str::to_string).collect(),
            Err(error) => return Err(format!("not CSV: {error}")),
        };
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| format!("not CSV: {error}"))?;
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(Row { line, cells: record.iter().map(str::to_string).collect() });
        }
        let names = known(&written);
        Ok(Table { written, names, rows, decimal_comma: delimiter == ';' })
    }

    /// The columns' names as they are written, for an error.
    pub(super) fn names(&self) -> String {
        self.written.join(", ")
    }

    /// The columns' names as the checks know them.
    pub(super) fn columns(&self) -> &[String] {
        &self.names
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }

    /// Whether it has all of these.
    pub(super) fn has_all(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.has(name))
    }

    /// What the file itself calls a column; empty if there is no such column.
    pub(super) fn written(&self, name: &str) -> &str {
        let at = self.names.iter().position(|other| other == name);
        at.map_or("", |at| self.written[at].as_str())
    }

    /// The cell of a column; empty if there is no such column.
    pub(super) fn text<'a>(&self, row: &'a Row, name: &str) -> &'a str {
        let at = self.names.iter().position(|other| other == name);
        at.and_then(|at| row.cells.get(at)).map_or("", String::as_str)
    }

    /// The number in a cell: what follows it (`Mbps`, three dots) is left, and blanks or commas
    /// between its digits do not matter.
    pub(super) fn number(&self, row: &Row, name: &str) -> Option<f64> {
        number(self.text(row, name), self.decimal_comma)
    }

    /// How many digits stand behind a cell's decimal point.
    pub(super) fn decimals(&self, row: &Row, name: &str) -> i32 {
        let point =
            if self.decimal_comma && !self.text(row, name).contains('.') { ',' } else { '.' };
        let after = self.text(row, name).split_once(point).map_or("", |(_, after)| after);
        after.chars().take_while(char::is_ascii_digit).count() as i32
    }
}

/// The number a text begins with.
pub(super) fn number(text: &str, decimal_comma: bool) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ' ' | '-' | '\'');
    let end = text.find(|c| !digits(c)).unwrap_or(text.len());
    let mut digits: String = text[..end].trim_end_matches(['.', ',', ' ']).to_string();
    if decimal_comma && !digits.contains('.') {
        digits = digits.replace(',', ".");
    }
    digits.retain(|c| !matches!(c, ' ' | ',' | '\''));
    digits.parse().ok()
}

/// Names as the checks know them; a name that is there already is not given twice.
fn known(written: &[String]) -> Vec<String> {
    let mut names: Vec<String> = written.iter().map(|name| plain(name)).collect();
    for (canonical, others) in ALIASES {
        if !names.iter().any(|name| name == canonical)
            && let Some(at) = names.iter().position(|name| others.contains(&name.as_str()))
        {
            names[at] = canonical.to_string();
        }
    }
    names
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
                "size,frame size,kpps\n1,2,\"18,790.0\"",
                "size_bytes frame_size kpps",
                Some(18_790.0),
            ),
            ("kpps,size_bytes,size\n1 234,64,x", "kpps size_bytes size", Some(1234.0)),
            ("kpps\nfast", "kpps", None),
        ] {
            let table = Table::read(text).unwrap();
            assert_eq!(table.columns().join(" "), names, "{text}");
            assert_eq!(table.number(&table.rows()[0], "kpps"), kpps, "{text}");
        }
        let table = Table::read("kpps;x\n1,25;2.5 Mbps").unwrap();
        let decimals = |name| table.decimals(&table.rows()[0], name);
        assert_eq!((decimals("kpps"), decimals("x"), decimals("none")), (2, 1, 0));
    }
}
