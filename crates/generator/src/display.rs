//! Records as a terminal shows them: the columns of RouterOS's manual, position by position.
//!
//! ```text
//! SEQ    NUM     TX-PACKET   TX-RATE     RX-PACKET   RX-RATE        RX-OOO   LOST-PACKET LOST-RATE
//! TOT    0         666 013 110.1Mbps       665 401 106.4Mbps                         612   3.6Mbps
//! ```
//!
//! Columns that do not fit into the line are left out, from the right. RX-OOO gives five blanks (of
//! its thirteen) where that makes room for LAT-MIN, as in the manual, and two more in a line of 80
//! characters, where LOST-PACKET would not fit else. A rate too long for its column is cut
//! (`1086.1...`); a count never is.

use config::{Group, Record, Value, number};
use std::fmt::Write as _;

/// A column: what is above it, how wide it is, and how a record fills it.
struct Column {
    title: &'static str,
    width: usize,
    left: bool,
    cell: fn(&Record, &'static str) -> String,
    /// The record's value.
    name: &'static str,
}

impl Column {
    const fn left(title: &'static str, width: usize, name: &'static str) -> Column {
        Column { title, width, left: true, cell: text, name }
    }

    const fn count(title: &'static str, width: usize, name: &'static str) -> Column {
        Column { title, width, left: false, cell: counted, name }
    }

    const fn rate(title: &'static str, name: &'static str) -> Column {
        Column { title, width: 9, left: false, cell: rated, name }
    }

    const fn latency(title: &'static str, name: &'static str) -> Column {
        Column { title, width: 7, left: true, cell: late, name }
    }

    fn pad(&self, cell: &str) -> String {
        let width = self.width;
        if self.left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    }
}

fn text(record: &Record, name: &'static str) -> String {
    record.get(name).map(ToString::to_string).unwrap_or_default()
}

fn whole(record: &Record, name: &'static str) -> Option<i64> {
    match record.get(name) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

fn counted(record: &Record, name: &'static str) -> String {
    whole(record, name).map(number::signed_count).unwrap_or_default()
}

/// A difference of rates is shown without its sign, as in the manual.
fn rated(record: &Record, name: &'static str) -> String {
    whole(record, name).map(|rate| number::rate(rate.unsigned_abs())).unwrap_or_default()
}

fn late(record: &Record, name: &'static str) -> String {
    whole(record, name).map(|ns| number::latency(ns.unsigned_abs())).unwrap_or_default()
}

/// Title and lines. `numbered` puts `#` in front.
fn table(records: &[Record], columns: &[Column], width: usize, numbered: bool) -> String {
    let mut used = if numbered { 2 } else { 0 };
    let ends = columns.iter().map(|column| {
        used += column.width + usize::from(used > 0);
        used
    });
    let n_fit = ends.take_while(|end| *end <= width).count();
    let columns = &columns[..n_fit];
    let line = |number: &str, cell: &dyn Fn(&Column) -> String| {
        let mut cells: Vec<String> = Vec::new();
        if numbered {
            cells.push(format!("{number:>2}"));
        }
        cells.extend(columns.iter().map(|column| {
            let mut cell = cell(column);
            let is_name = column.left || column.width == 9;
            if is_name && cell.chars().count() > column.width {
                cell = cell.chars().take(column.width - 3).chain("...".chars()).collect();
            }
            column.pad(&cell)
        }));
        cells.join(" ") + "\n"
    };
    let mut text = line("#", &|column| column.title.to_string());
    for (number, record) in records.iter().enumerate() {
        text += &line(&number.to_string(), &|column| (column.cell)(record, column.name));
    }
    text
}

const SEQ: Column = Column::left("SEQ", 6, "seq");
const NUM: Column = Column::left("NUM", 3, "num");
const TX_PACKET: Column = Column::count("TX-PACKET", 13, "tx-packet");
const TX_RATE: Column = Column::rate("TX-RATE", "tx-rate");
const RX_PACKET: Column = Column::count("RX-PACKET", 13, "rx-packet");
const RX_RATE: Column = Column::rate("RX-RATE", "rx-rate");
const LOST_PACKET: Column = Column::count("LOST-PACKET", 13, "lost-packet");
const LOST_RATE: Column = Column::rate("LOST-RATE", "lost-rate");

const fn rx_ooo(width: usize) -> Column {
    Column::count("RX-OOO", width, "rx-ooo")
}

const LATENCIES: [Column; 4] = [
    Column::latency("LAT-MIN", "lat-min"),
    Column::latency("LAT-AVG", "lat-avg"),
    Column::latency("LAT-MAX", "lat-max"),
    Column::latency("JITTER", "jitter"),
];

/// The line's width up to and with LAT-MIN, RX-OOO being 13 wide.
const TO_LAT_MIN: usize = 104;
/// The line's width up to and with LOST-RATE, RX-OOO being 8 wide.
const TO_LOST_RATE: usize = 91;

/// `quick`.
pub(super) fn quick(group: &Group) -> String {
    if group.records.is_empty() {
        return String::new();
    }
    let out_of_order = match group.width {
        TO_LAT_MIN.. => 13,
        TO_LOST_RATE.. => 8,
        _ => 6,
    };
    let head = [SEQ, NUM, TX_PACKET, TX_RATE, RX_PACKET, RX_RATE, rx_ooo(out_of_order)];
    let columns: Vec<Column> =
        head.into_iter().chain([LOST_PACKET, LOST_RATE]).chain(LATENCIES).collect();
    table(group.records, &columns, group.width, false)
}

/// `stats stream`: RX-OOO only where it was measured.
pub(super) fn stream(group: &Group) -> String {
    let measured = group.records.iter().any(|record| record.get("rx-ooo").is_some());
    let head = [SEQ, NUM, TX_PACKET, TX_RATE, RX_PACKET, RX_RATE];
    let columns = head.into_iter().chain(measured.then_some(rx_ooo(13)));
    let columns: Vec<Column> = columns.chain([LOST_PACKET, LOST_RATE]).chain(LATENCIES).collect();
    table(group.records, &columns, group.width, true)
}

/// `stats port`.
pub(super) fn port(group: &Group) -> String {
    let columns = [
        SEQ,
        Column::left("PORT", 11, "port"),
        Column::count("RX-UNK-PACKET", 13, "rx-unk-packet"),
        Column::count("RX-UNK-BYTE", 14, "rx-unk-byte"),
        Column::rate("RX-UNK-RATE", "rx-unk-rate"),
        TX_PACKET,
        TX_RATE,
        RX_PACKET,
        RX_RATE,
        LOST_PACKET,
        LOST_RATE,
    ];
    table(group.records, &columns, group.width, true)
}

/// `stats raw`.
pub(super) fn raw(group: &Group) -> String {
    let port = Column::left("PORT", 10, "port");
    let columns = [SEQ, port, NUM, TX_PACKET, TX_RATE, RX_PACKET, RX_RATE, LOST_PACKET, LOST_RATE];
    table(group.records, &columns, group.width, true)
}

/// Of the longest graph, with its star.
const GRAPH: u64 = 52;

/// `stats latency-distribution`. The graph's dashes are per cent of the largest range's count.
pub(super) fn distribution(group: &Group) -> String {
    let Some((all, ranges)) = group.records.split_last() else { return String::new() };
    let packets = |record: &Record| whole(record, "count").unwrap_or(0).unsigned_abs();
    let most = ranges.iter().map(packets).max().unwrap_or(0);
    let mut text =
        format!(" # {:<15} {:>13} {:>12} {:<52}\n", "LATENCY", "COUNT", "SHARE", "GRAPH");
    for (i, record) in group.records.iter().enumerate() {
        let latency = record.get("latency").map(ToString::to_string).unwrap_or_default();
        let share = share(whole(record, "share").unwrap_or(0).unsigned_abs());
        let count = number::count(packets(record));
        let graph = match (packets(record) * 100).checked_div(most) {
            Some(_) if packets(record) == 0 || std::ptr::eq(record, all) => String::new(),
            Some(percent) => {
                let dashes = (percent * GRAPH / 100).min(GRAPH - 1) as usize;
                format!(" {:<52}", "-".repeat(dashes) + "*")
            }
            None => String::new(),
        };
        let _ = writeln!(text, "{i:>2} {latency:<15} {count:>13} {share:>12}{graph}");
    }
    text
}

/// `18.54%` of millionths: three decimals, cut off, no zeros at the end.
fn share(millionths: u64) -> String {
    let thousandths = millionths / 10;
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `monitor` and `inject-pcap`: names right-aligned, a value a line.
pub(super) fn block(group: &Group) -> String {
    let Some(record) = group.records.last() else { return String::new() };
    let width = record.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for (name, value) in &record.0 {
        let value = match value {
            Value::Number(bits) if name.ends_with("bits-per-second") => {
                number::rate(bits.unsigned_abs())
            }
            Value::Number(count) => number::signed_count(*count),
            value => value.to_string(),
        };
        let _ = writeln!(text, "{name:>width$}: {value}");
    }
    text
}
