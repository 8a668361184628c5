//! The performance table, as the documents print it: a row for each mode, family and configuration, and
//! for each frame size kpps, Mbps and the tax.
//!
//! ```text
//!                                       64 byte                    512 byte
//! Mode      Configuration              kpps   Mbps(L2)  tax       kpps   Mbps(L2)  tax …
//! Bridging  none (fast path)      119,047.6w  60,952.4        18,790.0w  76,963.8
//! ```
//!
//! The documents underline what reached wire speed. Text has no underline that survives a mail, so
//! a letter follows the number, and a note says what it means. A second table
//! below has what is known beyond the documents' columns: the device's own time for each packet,
//! the highest load without loss, the share of the fast path.
//!
//! Never hides a row, and never prints a figure of an invalid one: its place has the mark, and the
//! reason is named below.

// What a line of it is.
mod line;
// Devices measured by turns, pings through them, and what they could not do.
mod turns;

use crate::document::{Cell, Document, Table, once};
use crate::html;
use crate::number::thousands;
pub(crate) use line::{Line, order};
use measure::{Limit, Results, Row, Verdict};

/// All of it: what was compared, then for each device and number of cores its tables.
pub fn document(results: &Results) -> Document {
    let mut document = Document::new(title(results));
    let at = &results.environment;
    document.terminal_only(format!(
        "{}, {}, {} build of {}, {}",
        at.cpu, at.kernel, at.build, at.commit, at.timestamp
    ));
    if let Some(why) = &results.incomplete_because {
        document.notice("Incomplete", why);
    }
    document.facts(html::environment(at));
    trials(&mut document, results);
    turns::comparisons(&mut document, results);
    for (device, cores) in parts(results) {
        let rows: Vec<&Row> =
            results.rows.iter().filter(|row| row.device == device && row.cores == cores).collect();
        let how = rows.first().map_or(String::new(), |row| how(row));
        document.heading(format!("{device}: {how}; forwarding rate at the highest load offered"));
        document.page_only(html::bench::drawings(&rows));
        device_tables(&mut document, results, &rows);
    }
    turns::pings(&mut document, results);
    turns::remarks(&mut document, results);
    document
}

/// What was measured: a device, one beside another, or several.
fn title(results: &Results) -> String {
    let mut devices: Vec<&str> = parts(results).into_iter().map(|(device, _)| device).collect();
    devices.dedup();
    match (results.comparisons.first(), devices.as_slice()) {
        (Some(one), _) => format!("{} beside {}", one.device, one.base),
        (None, []) => "no results".to_string(),
        (None, devices) => devices.join(", "),
    }
}

/// Devices and numbers of cores, in their order.
fn parts(results: &Results) -> Vec<(&str, u32)> {
    once(results.rows.iter().map(|row| (row.device.as_str(), row.cores)))
}

/// How many trials there were, and how many of them say nothing; nothing of older files.
fn trials(document: &mut Document, results: &Results) {
    let all = || results.rows.iter().flat_map(|row| &row.trials);
    let (n, invalid) = (all().count(), all().filter(|trial| !trial.is_valid()).count());
    match (n, invalid) {
        (0, _) => {}
        (n, 0) => document.note(format!("{n} trials, all of them valid.")),
        (n, invalid) => document.note(format!(
            "{n} trials; {invalid} of them were invalid and say nothing of a device: what would have \
             stood on one was tried again, or is marked."
        )),
    }
}

/// What a row has in a column.
type CellOf<'a> = dyn Fn(&Row) -> Option<Cell> + 'a;

/// A column of each frame size.
struct Column<'a> {
    name: String,
    cell: Box<CellOf<'a>>,
    /// What it is.
    note: String,
}

impl<'a> Column<'a> {
    fn new(name: &str, note: &str, cell: impl Fn(&Row) -> Option<Cell> + 'a) -> Column<'a> {
        Column { name: name.to_string(), note: note.to_string(), cell: Box::new(cell) }
    }
}

/// The documents' table, and ours below it.
fn device_tables(document: &mut Document, results: &Results, rows: &[&Row]) {
    // A rate that is not the device's own makes a tax that is not either.
    let tax = |row: &Row| {
        let tax = results.tax(row).filter(|_| row.configuration != "none")?;
        Some(Cell::from(format!("{tax:.2}")))
    };
    let mut rates = vec![
        Column::new("kpps", "", |row| Some(Cell::from(rate(row, row.kpps)).marked(mark(row)))),
        Column::new("Mbps(L2)", "Mbps(L2): 10^6 bit/s of frames with FCS", |row| {
            Some(rate(row, row.l2_mbps).into())
        }),
    ];
    if rows.iter().any(|row| tax(row).is_some()) {
        let note = "tax: the rate of plain forwarding divided by this one";
        rates.push(Column::new("tax", note, tax));
    }
    let by_ipv4 = |row: &Row| Some(Cell::from(format!("{:.2}", results.by_ipv4(row)?)));
    if rows.iter().any(|row| by_ipv4(row).is_some()) {
        let note = "by IPv4: the rate of IPv6 divided by that of IPv4, all else the same";
        rates.push(Column::new("by IPv4", note, by_ipv4));
    }
    let mut table = grid(rows, &rates);
    table.notes.extend(legend_of(rows));
    document.table(table);
    let known = details(rows);
    if !known.is_empty() {
        document.table(grid(rows, &known));
    }
    if !results.documents.is_empty() {
        document.table(grid(rows, &shares(results)));
    }
}

/// Rates as shares of plain routing's: ours, and those of documents.
fn shares(results: &Results) -> Vec<Column<'_>> {
    let cell = |share: Option<f64>| Some(Cell::from(format!("{:.3}", share?)));
    let note = "ours: the rate as a share of that of plain routing (none), by the criterion where there is \
                one; beside it the same of the documents, each on its own device";
    let ours = Column::new("ours", note, move |row| cell(results.share(row)));
    let theirs = results.documents.iter().map(|documented| {
        Column::new(&documented.source, "", move |row| cell(documented.share(row)))
    });
    std::iter::once(ours).chain(theirs).collect()
}

/// A rate as it is printed: of an invalid row there is none.
pub(crate) fn rate(row: &Row, value: f64) -> String {
    match row.verdict {
        Verdict::Invalid => "-".to_string(),
        Verdict::Pass | Verdict::Fail => thousands(value),
    }
}

/// What is known beyond the documents' columns. Of a criterion that no load met there is a column,
/// too.
fn details<'a>(rows: &[&Row]) -> Vec<Column<'a>> {
    let searched = rows.iter().any(|row| row.criterion.is_some());
    let (by_criterion, what) = criterion(rows);
    let bound = match rows.iter().any(|row| row.no_drop.is_some() && met_mark(row) == "t") {
        true => "; t: a lower bound: the tester could not offer a higher load",
        false => "",
    };
    let all = [
        Column::new("ns/packet", "ns/packet: the device's own time for each", |row| {
            Some(thousands(row.router_ns_per_packet?).into())
        }),
        Column::new(&by_criterion, &format!("{by_criterion}: {what}{bound}"), |row| {
            Some(Cell::from(thousands(row.no_drop? / 1e3)).marked(met_mark(row)))
        }),
        Column::new(
            "fast path",
            "fast path: the share of frames that were spared the slow one, by FastPath or by what their \
             flow's first packets left behind",
            |row| Some(format!("{}%", thousands(100.0 * row.fast_path_share?)).into()),
        ),
    ];
    let is_shown = |column: &Column<'_>| {
        rows.iter().any(|row| (column.cell)(row).is_some())
            || searched && column.name == by_criterion
    };
    all.into_iter().filter(is_shown).collect()
}

/// Rows without a figure, each with the reason.
pub(crate) fn invalid(results: &Results) -> Vec<String> {
    let rows = results.rows.iter().filter(|row| row.verdict == Verdict::Invalid);
    let invalid = rows.map(|row| {
        let Row { device, configuration, frame_size, .. } = row;
        let (mode, why) = (row.mode_name(), row.remark.as_deref());
        let why = why.unwrap_or("it does not say why");
        format!("{device}, {mode}, {configuration}, {frame_size} byte: {why}")
    });
    invalid.collect()
}

/// Rows by columns, these of each frame size.
fn grid(rows: &[&Row], columns: &[Column<'_>]) -> Table {
    let sizes = sizes(rows);
    let heads = sizes.iter().flat_map(|_| columns.iter().map(|column| column.name.as_str()));
    let mut table = Table::new(2, ["Mode", "Configuration"].into_iter().chain(heads));
    table.groups = sizes.iter().map(|size| (format!("{size} byte"), columns.len())).collect();
    for line in order(rows) {
        let mut cells = vec![Cell::from(line.mode()), line.label().into()];
        for &size in &sizes {
            let row = line.find(rows, size);
            let cell = |column: &Column<'_>| row.and_then(|row| (column.cell)(row));
            cells.extend(columns.iter().map(|column| cell(column).unwrap_or_else(|| "-".into())));
        }
        table.row(cells);
    }
    let notes = columns.iter().map(|column| column.note.clone());
    table.notes = notes.filter(|note| !note.is_empty()).collect();
    table
}

/// The lengths of frames there are.
pub(crate) fn sizes(rows: &[&Row]) -> Vec<u32> {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.frame_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The letter behind the highest load by a criterion. Of files that do not say what its limit was,
/// the trials do.
fn met_mark(row: &Row) -> &'static str {
    match row.no_drop_limited_by.or_else(|| row.limit_of_no_drop()) {
        Some(Limit::Tester) => "t",
        _ => "",
    }
}

/// What the highest load by a criterion is called in a table, and what that is.
pub(crate) fn criterion(rows: &[&Row]) -> (String, String) {
    let name = rows.iter().find_map(|row| row.criterion.as_deref()).unwrap_or_default();
    // A goal's name begins with its preset.
    let goal = name.strip_prefix("throughput[").filter(|_| name.contains(" exceed "));
    match goal.and_then(|rest| rest.split_once(' ')) {
        Some((preset, _)) => (format!("kpps({preset})"), format!("the highest load by {name}")),
        None => {
            let by = if name.is_empty() { String::new() } else { format!(" ({name})") };
            let what = format!("the highest load of which nothing was lost{by}");
            ("kpps(0 loss)".to_string(), what)
        }
    }
}

/// How a device's rows were measured.
pub(crate) fn how(row: &Row) -> String {
    match (row.medium.wire.as_str(), row.cores) {
        ("memory", 1) => "1 core, fed from memory: only the device's own time counts".to_string(),
        ("memory", n) => format!("{n} cores, real time"),
        (wire, 1) => {
            format!("tester and device on whichever processors, real time, through {wire}")
        }
        (wire, n) => format!("{n} cores, real time, through {wire}"),
    }
}

/// The letter behind a rate; none behind one that is the device's own.
pub(crate) fn mark(row: &Row) -> &'static str {
    match (row.verdict, row.limited_by) {
        (_, Limit::Placement) => "p",
        (Verdict::Invalid, _) => "x",
        (_, Limit::Wire) => "w",
        (_, Limit::Tester) => "t",
        // A table's loads are the wire's: no plan keeps them low.
        (_, Limit::Device | Limit::Plan) => "",
    }
}

const MARKS: [(&str, &str); 4] = [
    ("w", "wire speed reached"),
    (
        "t",
        "the tester was the bottleneck (alone it reaches less than 1.2 times this rate, or the device was \
         idle part of the time); the device may be faster",
    ),
    ("p", "the cores moved apart or together during every attempt"),
    (
        "x",
        "invalid: the tester fell short or the machine was busy; there is no figure of the device",
    ),
];

/// What the marks mean that are there, and the remarks, a line each.
fn legend_of(rows: &[&Row]) -> Vec<String> {
    let marks = MARKS.iter().filter(|(letter, _)| rows.iter().any(|row| mark(row) == *letter));
    let marks = marks.map(|(letter, meaning)| format!("{letter}  {meaning}"));
    // What holds for several sizes is said once, and so is what holds for all lines of a mode.
    let mut remarks: Vec<(Line<'_>, &str, Vec<String>)> = vec![];
    for row in rows {
        let (line, size) = (Line::of(row), row.frame_size.to_string());
        for remark in row.remark.iter().flat_map(|all| all.split("; ")) {
            match remarks.iter_mut().find(|(of, said, _)| (*of, *said) == (line, remark)) {
                Some((.., sizes)) => sizes.push(size.clone()),
                None => remarks.push((line, remark, vec![size.clone()])),
            }
        }
    }
    let lines = order(rows);
    let mut said: Vec<String> = vec![];
    for (line, remark, sizes) in &remarks {
        let is_of = |other: &Line<'_>| (other.mode, other.family) == (line.mode, line.family);
        let same = |one: &&(Line<'_>, &str, Vec<String>)| {
            is_of(&one.0) && (one.1, &one.2) == (*remark, sizes)
        };
        let n = lines.iter().filter(|line| is_of(line)).count();
        let is_all = n > 1 && remarks.iter().filter(same).count() == n;
        let name = if is_all { String::new() } else { format!(", {}", line.label()) };
        let sentence = format!("{}{name}, {} byte: {remark}", line.mode(), sizes.join(", "));
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    marks.chain(said).collect()
}

#[cfg(test)]
mod tests;
