//! A suite's results as a document, and their files.
//!
//! ```text
//!  Throughput (RFC 2544 §26.1)
//!    (1) throughput[rfc2544 60s 0 loss]
//!  configuration  byte         (1)  of the wire  Mbps(L2)
//!  none             64  99,206 fps        66.7%      50.8
//! ```
//!
//! Every figure stands under its full name, which carries its criterion; what is not the device's
//! own is marked, and a remark says why a figure is missing.
//!
//! Never changes a number but to round it.

// What the router says of itself.
mod inside;
// Streams of a plan.
pub(crate) mod streams;
// Directions of what measures a time.
mod ways;
// What trials saw beside loss.
mod trials;
// What a procedure is, in a sentence.
pub(crate) mod words;

use crate::document::{Cell as Shown, Document, Table, once};
use crate::html::suite::{configurations, courses, graphs, sizes};
use crate::html::{self};
use crate::json::ReadError;
use crate::number::thousands;
use measure::SuiteResults;
use measure::result::Limit;
use measure::suite_result::{Cell, Figure, SCHEMA, Size};

/// Titles of the procedures, in the order in which their tables stand.
pub(crate) const PROCEDURES: [(&str, &str); 21] = [
    ("throughput", "Throughput (RFC 2544 §26.1)"),
    ("latency", "Latency (RFC 2544 §26.2, RFC 8219 §7.2)"),
    ("delay-variation", "Delay variation (RFC 8219 §7.3)"),
    ("frame-loss", "Frame loss rate (RFC 2544 §26.3)"),
    ("back-to-back", "Back-to-back frames (RFC 9004)"),
    ("recovery", "System recovery (RFC 2544 §26.5)"),
    ("reset", "Reset (RFC 2544 §26.6, RFC 6201)"),
    ("forwarding", "Forwarding at the highest load (RFC 2889)"),
    ("congestion", "Congestion control (RFC 2889 §5.5)"),
    ("address-caching", "Address caching capacity (RFC 2889 §5.7)"),
    ("address-learning", "Address learning rate (RFC 2889 §5.8)"),
    ("broadcast", "Broadcast forwarding (RFC 2889 §5.10)"),
    ("establishment", "Connection establishment rate (RFC 9693)"),
    ("tear-down", "Connection tear-down rate (RFC 9693)"),
    ("capacity", "Connection table capacity (RFC 9693)"),
    ("tcp-connections", "TCP connections per second (RFC 9411 §7.2)"),
    ("tcp-transactions", "TCP transactions (RFC 9411 §7.3, §7.4)"),
    ("tcp-concurrent", "Concurrent TCP connections (RFC 9411 §7.5)"),
    ("tcp-path", "The path (RFC 6349 §3)"),
    ("tcp-throughput", "TCP throughput (RFC 6349 §4)"),
    ("streams", "Streams"),
];

pub(crate) const CYCLES: &str =
    "What a frame cost the router at that throughput, in cycles of the time stamp counter";
pub(crate) const SEEN: &str = "What trials saw beside loss, all of a procedure together";
pub(crate) const DROPPED: &str = "What the router dropped, by its own reasons";

/// All of it.
pub fn document(results: &SuiteResults) -> Document {
    let mut document = Document::new(format!("{}: {}", results.name, results.device));
    head(&mut document, results);
    glance(&mut document, results);
    for (procedure, title) in PROCEDURES {
        let cells: Vec<&Cell> =
            results.cells.iter().filter(|cell| cell.procedure == procedure).collect();
        if cells.is_empty() {
            continue;
        }
        document.heading(title);
        document.explain(words::meaning(procedure, results));
        document.page_only(graphs(results, procedure, &cells));
        match procedure {
            "streams" => streams::sections(&mut document, &cells),
            _ => document.table(table(results, &cells)),
        }
        document.table(ways::by_direction(&cells));
        losses(&mut document, &cells);
        remarks(&mut document, &cells);
        document.page_only(courses(results, procedure, &cells));
    }
    for (title, table) in [
        (CYCLES, inside::cycles(results)),
        (DROPPED, inside::dropped(results)),
        (SEEN, trials::counted(results)),
    ] {
        if !table.rows.is_empty() {
            document.heading(title);
            document.table(table);
        }
    }
    trials::reasons(results).into_iter().for_each(|reason| document.note(reason));
    if let Some(text) = trials::disturbed(results) {
        document.note(text);
    }
    alone(&mut document, results);
    how(&mut document, results);
    document
}

/// What, over which wire, with what; and what must not be overlooked.
fn head(document: &mut Document, results: &SuiteResults) {
    if let Some(scaling) = &results.scaling {
        document.notice("Shortened", scaling);
    }
    if !results.complete {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        document.notice("Incomplete", why);
    }
    if results.virtual_time {
        document.notice(
            "Virtual time",
            "what the device takes for a frame is modelled, not measured, and the model does not know \
             what rules cost: with filters it takes as long",
        );
    }
    let SuiteResults { environment: at, medium, traffic, senders, .. } = results;
    document.terminal_only(format!(
        "{medium}\n{}, {}, {} build of {}, {}, seed {}\n{traffic}; wire {:.0} Mbit/s (L1); rates are \
         from each of {senders} sending ports",
        at.cpu, at.kernel, at.build, at.commit, at.timestamp, at.seed, results.wire_mbps
    ));
    let trials = || results.cells.iter().flat_map(|cell| &cell.trials);
    let (n, invalid) = (trials().count(), trials().filter(|trial| !trial.is_valid()).count());
    let trials = match invalid {
        0 => format!("{n}, all of them valid"),
        invalid => format!("{n}, of which {invalid} were invalid, and were repeated or are marked"),
    };
    let rates = match senders {
        1 => "one port sends; rates are its".to_string(),
        n => format!(
            "{n} ports send at the same time; rates are per port; the total is {n} times that"
        ),
    };
    document.facts([
        ("Run on", medium.clone()),
        ("Wires", format!("{} Mbit/s (L1) each", whole(results.wire_mbps))),
        ("Traffic", traffic.clone()),
        ("Rates", rates),
        ("Latency", results.latency_definition.clone()),
        ("Trials", trials),
    ]);
    let mixes = results.mixes.iter().map(ToString::to_string);
    results.goals.iter().cloned().chain(mixes).for_each(|line| document.note(line));
}

/// The first figure of each procedure, all sizes and configurations in one look; nothing of a single
/// procedure. On a page: a terminal shows one procedure after the other.
fn glance(document: &mut Document, results: &SuiteResults) {
    let all: Vec<&Cell> = results.cells.iter().collect();
    let of = |procedure: &str, configuration: &str, size: Size<'_>| {
        let key = (procedure, configuration, size);
        all.iter()
            .find(|cell| (cell.procedure.as_str(), cell.configuration.as_str(), cell.size()) == key)
    };
    let known = PROCEDURES.iter().filter_map(|(name, _)| Some((*name, words::short(name)?)));
    let shown: Vec<(&str, &str)> =
        known.filter(|(name, _)| all.iter().any(|cell| cell.procedure == *name)).collect();
    if shown.len() < 2 || all.len() > 150 {
        return;
    }
    let heads = ["configuration", "byte"].into_iter().chain(shown.iter().map(|(_, head)| *head));
    let mut table = Table::new(1, heads);
    for configuration in configurations(&all) {
        for size in sizes(&all) {
            if shown.iter().all(|(name, _)| of(name, configuration, size).is_none()) {
                continue;
            }
            let first = |(name, _): &(&str, &str)| {
                let cell = of(name, configuration, size)?;
                Some(Shown::from(figure(words::first(cell)?)).marked(mark(cell, 0)))
            };
            let line = [Shown::from(configuration), size.to_string().into()];
            let cells = shown.iter().map(|one| first(one).unwrap_or_else(|| "-".into()));
            table.row(line.into_iter().chain(cells));
        }
    }
    table.notes.push(
        "–: not measured, or no result; the procedure's own part says why, and under which criterion each \
         figure stands."
            .to_string(),
    );
    document.page_only(format!("<h2>Summary</h2>\n{}", table.html()));
}

/// A line for each configuration and size, a column for each figure.
fn table(results: &SuiteResults, cells: &[&Cell]) -> Table {
    let names = once(cells.iter().flat_map(|cell| &cell.figures).map(|f| f.name.as_str()));
    // What is derived of a rate stands beside the first only: the table is to fit a screen.
    let throughput = cells.iter().any(|cell| cell.procedure == "throughput");
    let is_rate = |name: &str| throughput && names.first() == Some(&name);
    let mut heads = vec!["configuration", "byte"];
    for name in &names {
        heads.push(name);
        if is_rate(name) {
            heads.extend(["of the wire", "Mbps(L2)"]);
        }
    }
    let mut table = Table::new(1, heads);
    for cell in cells {
        let mut line =
            vec![Shown::from(cell.configuration.as_str()), cell.size().to_string().into()];
        for name in &names {
            let at = cell.figures.iter().position(|figure| figure.name == *name);
            let one = at.map(|at| &cell.figures[at]);
            let spread = one.and_then(|one| Some((one.unit(), one.spread.filter(|s| s.n > 1)?)));
            let aside = spread.map_or(String::new(), |(unit, spread)| match unit {
                "ns" => format!("±{}", time(spread.stddev)),
                _ => format!("±{}", whole(spread.stddev)),
            });
            let shown = Shown { aside, ..Shown::maybe(one.map(figure)) };
            line.push(shown.marked(at.map_or("", |at| mark(cell, at))));
            if is_rate(name) {
                line.extend(shares(results, cell, one).map(Shown::maybe));
            }
        }
        table.row(line);
    }
    table
}

/// A rate's share of the wire, and what it is in bits.
fn shares(results: &SuiteResults, cell: &Cell, figure: Option<&Figure>) -> [Option<String>; 2] {
    let Some(rate) = figure.and_then(|figure| figure.value) else { return [None, None] };
    let share = rate / results.wire_rate(cell.size()).0 * 100.0;
    let mbps = thousands(results.l2_mbps(rate, cell.size()));
    [Some(format!("{share:.1}%")), Some(mbps)]
}

/// Whose a figure's limit is, by its place in the cell.
fn mark(cell: &Cell, figure: usize) -> &'static str {
    match cell.limit_of(figure) {
        Some(Limit::Wire) => "w",
        Some(Limit::Tester) => "t",
        Some(Limit::Plan) => "p",
        _ => "",
    }
}

/// Loss by load: a line for each configuration and size. (A page has it drawn.)
fn losses(document: &mut Document, cells: &[&Cell]) {
    for cell in cells.iter().filter(|cell| !cell.points.is_empty()) {
        let points = cell.points.iter().map(|point| {
            let loss = match (point.invalid, point.lost) {
                (true, _) => "x".to_string(),
                (false, 0) => "0".to_string(),
                // Never "0 %" of something that was lost.
                (false, lost) if point.loss_percent < 0.0005 => format!("{lost} frames"),
                (false, _) => format!("{:.3}%", point.loss_percent),
            };
            // 93, and 97.5.
            format!("{}%: {loss}", (point.load_percent * 100.0).round() / 100.0)
        });
        let points = points.collect::<Vec<String>>().join("  ");
        let (configuration, size) = (&cell.configuration, cell.size().words());
        document.terminal_only(format!("{configuration}, {size}, loss by load: {points}"));
    }
}

/// What marks mean, and what the cells have to say: each sentence once with all its places.
fn remarks(document: &mut Document, cells: &[&Cell]) {
    for (limit, text) in [
        (Limit::Wire, "w: wire speed reached"),
        (
            Limit::Tester,
            "t: the tester was the bottleneck (in real time: alone it reaches less than 1.2 times this); \
             the device may be faster",
        ),
        (Limit::Plan, "p: the highest load that the plan tries: the device may be faster"),
    ] {
        if cells.iter().any(|cell| cell.has_limit(limit)) {
            document.note(text);
        }
    }
    if cells.iter().flat_map(|cell| &cell.figures).any(|one| one.spread.is_some_and(|s| s.n > 1)) {
        let text = "±: the standard deviation of the repetitions; the figure is their mean or median, as \
                    its RFC wants it";
        document.page_only(format!("<p class=\"note\">{text}</p>\n"));
    }
    for cell in cells {
        if let Some(sentence) = crate::export::sentence(cell) {
            let (configuration, size) = (&cell.configuration, cell.size().words());
            document.note(format!("{configuration} {size}: {sentence}"));
        }
    }
    for remark in once(cells.iter().flat_map(|cell| &cell.remarks).map(String::as_str)) {
        let places = cells.iter().filter(|cell| cell.remarks.iter().any(|one| one == remark));
        let places: Vec<&Cell> = places.copied().collect();
        let of = |configuration: &&str| {
            // Streams have lengths each.
            let of = places.iter().filter(|cell| cell.configuration == *configuration);
            let of = of.filter(|cell| cell.procedure != "streams");
            let of: Vec<Size<'_>> = of.map(|cell| cell.size()).collect();
            let (mixes, lengths): (Vec<_>, Vec<_>) = of.iter().partition(|size| size.mix.is_some());
            let text = |of: Vec<Size<'_>>, end: &str| {
                let all: Vec<String> = of.iter().map(ToString::to_string).collect();
                (!all.is_empty()).then(|| format!(" {}{end}", all.join(", ")))
            };
            let sizes = [text(lengths, " byte"), text(mixes, "")];
            configuration.to_string() + &sizes.into_iter().flatten().collect::<String>()
        };
        let places: Vec<String> = configurations(&places).iter().map(of).collect();
        document.note(format!("{}: {remark}", places.join("; ")));
    }
}

/// What a word beside a rate means.
const LOSSY: &str = "lossy: of what it sent as fast as it can not all came back; the wires between its ports, a \
                     bottleneck among them, or its own rings carry this much";

fn alone(document: &mut Document, results: &SuiteResults) {
    if results.self_tests.is_empty() {
        return;
    }
    document.heading("The tester alone (no device between the wires)");
    document.explain("What no result can exceed, and the latency that is the tester's own.");
    let mut table = Table::new(0, ["byte", "MOL", "of the wire", "latency floor"]);
    for alone in &results.self_tests {
        let share = alone.rate / results.wire_rate(alone.size()).0 * 100.0;
        let rate = Shown::from(format!("{} fps", whole(alone.rate)));
        table.row([
            Shown::from(alone.size().to_string()),
            rate.marked(if alone.lossy { "lossy" } else { "" }),
            format!("{share:.1}%").into(),
            time(alone.latency_floor_ns as f64).into(),
        ]);
    }
    if results.self_tests.iter().any(|alone| alone.lossy) {
        table.notes.push(LOSSY.to_string());
    }
    table.notes.push(format!(
        "MOL: its maximum offered load, from each port. Latency: {}",
        results.latency_definition
    ));
    document.table(table);
}

/// The machine, the configurations, the plan.
fn how(document: &mut Document, results: &SuiteResults) {
    document.page_only("<h2>Where and how</h2>\n");
    document.facts(html::environment(&results.environment));
    for configuration in &results.configurations {
        let title = format!("Configuration of the device: {}", configuration.name);
        document.folded(&title, &configuration.script);
    }
    document.folded("The plan", &results.plan);
}

/// A figure with its unit.
pub fn figure(figure: &Figure) -> String {
    let Some(value) = figure.value else { return "-".to_string() };
    match figure.unit() {
        "ns" => time(value),
        "%" => format!("{}%", short(value)),
        "/s" => format!("{}/s", whole(value)),
        "ratio" => format!("{value:.3}"),
        // So many connections of TCP.
        "TCP" => whole(value),
        unit => format!("{} {unit}", whole(value)),
    }
}

/// Three decimals, but none that say nothing; and no zero where there is something.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match (text, value > 0.0) {
        ("0" | "-0", true) => "<0.001".to_string(),
        ("-0", false) => "0".to_string(),
        _ => text.to_string(),
    }
}

/// Nanoseconds, in the unit that shows three digits and few more.
pub(crate) fn time(ns: f64) -> String {
    match ns.abs() {
        abs if abs < 1e3 => format!("{ns:.0} ns"),
        abs if abs < 1e4 => format!("{:.2} µs", ns / 1e3),
        abs if abs < 1e6 => format!("{:.1} µs", ns / 1e3),
        abs if abs < 1e8 => format!("{:.2} ms", ns / 1e6),
        abs if abs < 1e9 => format!("{:.1} ms", ns / 1e6),
        abs if abs < 1e11 => format!("{:.2} s", ns / 1e9),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

/// Without decimals where there are many digits; with as many as show two of a small number.
pub(crate) fn whole(value: f64) -> String {
    if (1e-9..0.1).contains(&value.abs()) {
        let digits = (1.0 - value.abs().log10().floor()) as usize;
        return format!("{value:.digits$}").trim_end_matches('0').to_string();
    }
    let text = thousands(value);
    if value.abs() >= 100.0 || value.fract() == 0.0 {
        let rounded = thousands(value.round());
        return rounded.strip_suffix(".0").map_or(text, ToString::to_string);
    }
    text
}

/// Reads a file of `wirespeed test`, of this version or an older one: the results are of this one.
///
/// # Errors
/// [`ReadError`].
pub fn read(text: &str) -> Result<SuiteResults, ReadError> {
    let results: SuiteResults = crate::json::read(text)?;
    Ok(SuiteResults { schema: SCHEMA.to_string(), ..results })
}

#[cfg(test)]
mod tests;
