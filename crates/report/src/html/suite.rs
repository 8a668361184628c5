//! The page of a suite: RFC 2544's graphs, every figure in a table, and all one needs to repeat it.
//!
//! ```text
//!  summary, all results in one look ─► of each procedure: what it is, its graphs, its time series,
//!  its table, remarks ─► the tester alone ─► where and how, configuration, plan
//! ```

// What the RFCs want drawn.
mod graphs;
// What a procedure is, in a sentence.
mod words;

use super::chart::escape;
use super::{STYLE, about_environment, course};
use crate::suite::{CYCLES, DROPPED, PROCEDURES, figure, inside, time, trials, ways, whole};
use measure::SuiteResults;
use measure::result::Limit;
use measure::suite_result::{Cell, Size};
use std::fmt::Write;

/// The page, a whole HTML document.
pub fn page(results: &SuiteResults) -> String {
    let title = format!("{}: {}", results.name, results.device);
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    body += &notice(results);
    body += &summary(results);
    body += &glance(results);
    for (procedure, heading) in PROCEDURES {
        let cells: Vec<&Cell> =
            results.cells.iter().filter(|cell| cell.procedure == procedure).collect();
        if cells.is_empty() {
            continue;
        }
        let _ = writeln!(body, "<h2>{}</h2>", escape(heading));
        let _ = writeln!(body, "<p>{}</p>", escape(words::meaning(procedure, results)));
        body += &graphs::of(results, procedure, &cells);
        if procedure == "streams" {
            body += &super::streams::tables(&cells);
        } else {
            body += &table(results, &cells);
            body += &by_direction(&cells);
        }
        body += &remarks(&cells);
        body += &courses(results, procedure, &cells);
    }
    body += &how(results);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n<main>\n{body}</main>\n</html>\n",
        escape(&title)
    )
}

/// What must not be overlooked.
fn notice(results: &SuiteResults) -> String {
    let mut out = String::new();
    if !results.complete {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        let _ = writeln!(out, "<p class=\"notice\"><b>Incomplete.</b> {}</p>", escape(why));
    }
    if results.virtual_time {
        let _ = writeln!(
            out,
            "<p class=\"notice\"><b>Virtual time.</b> What the device takes for a frame is modelled, \
             not measured (see <i>Run on</i>). The model does not know what rules cost: with filters it \
             takes as long.</p>"
        );
    }
    if let Some(scaling) = &results.scaling {
        let _ = writeln!(out, "<p class=\"notice\"><b>Shortened:</b> {}.</p>", escape(scaling));
    }
    out
}

/// In one look: what, over which wire, with what.
fn summary(results: &SuiteResults) -> String {
    let wire = format!("{} Mbit/s (L1) each", whole(results.wire_mbps));
    let senders = match results.senders {
        1 => "one port sends; rates are its".to_string(),
        n => format!(
            "{n} ports send at the same time; rates are per port; the total is {n} times that"
        ),
    };
    let trials: usize = results.cells.iter().map(|cell| cell.trials.len()).sum();
    let invalid = results.cells.iter().flat_map(|cell| &cell.trials);
    let invalid = invalid.filter(|trial| trial.outcome.starts_with("invalid")).count();
    let trials = match invalid {
        0 => format!("{trials}, all of them valid"),
        n => format!("{trials}, of which {n} were invalid, and were repeated or are marked"),
    };
    let disturbed = trials::disturbed(results).unwrap_or_default();
    let when = results.environment.timestamp.replace('T', " ").replace('Z', " UTC");
    let lines = [
        ("Device", results.device.as_str()),
        ("Run on", &results.medium),
        ("Wires", &wire),
        ("Traffic", &results.traffic),
        ("Rates", &senders),
        ("Latency", &results.latency_definition),
        ("Trials", &trials),
        ("Disturbed", &disturbed),
        ("When", &when),
    ];
    let mut out = "<dl>\n".to_string();
    for (name, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    for mix in &results.mixes {
        let _ = writeln!(out, "<dt>Mix</dt><dd>{}</dd>", escape(&mix.to_string()));
    }
    out + "</dl>\n"
}

fn sizes<'a>(cells: &[&'a Cell]) -> Vec<Size<'a>> {
    let mut sizes: Vec<Size<'_>> = cells.iter().map(|cell| cell.size()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Places on an axis: a mix is no length, so that no line leads to it, and a place is free between.
fn places<'a>(sizes: &[Size<'a>]) -> Vec<Option<Size<'a>>> {
    let mut places: Vec<Option<Size<'a>>> = vec![];
    for &size in sizes {
        if size.mix.is_some() && !places.is_empty() {
            places.push(None);
        }
        places.push(Some(size));
    }
    places
}

/// Without a repetition, in their order.
fn once<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = vec![];
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn configurations<'a>(cells: &[&'a Cell]) -> Vec<&'a str> {
    once(cells.iter().map(|cell| cell.configuration.as_str()))
}

fn find<'a>(cells: &[&'a Cell], configuration: &str, size: Size<'_>) -> Option<&'a Cell> {
    let of = |cell: &&&Cell| cell.configuration == configuration && cell.size() == size;
    cells.iter().find(of).copied()
}

/// What a configuration is called: `none` is one without modifiers.
fn plain(configuration: &str) -> &str {
    if configuration == "none" { "no filters" } else { configuration }
}

/// The first figure of each procedure, all sizes and configurations in one look; nothing of a single
/// procedure.
fn glance(results: &SuiteResults) -> String {
    let all: Vec<&Cell> = results.cells.iter().collect();
    let known = PROCEDURES.iter().map(|(procedure, _)| *procedure);
    let shown = known.filter_map(|procedure| Some((procedure, words::short(procedure)?)));
    let shown: Vec<(&str, &str)> =
        shown.filter(|(name, _)| all.iter().any(|cell| cell.procedure == *name)).collect();
    if shown.len() < 2 || all.len() > 150 {
        return String::new();
    }
    let heads: String = shown.iter().map(|(_, head)| format!("<th>{head}</th>")).collect();
    let mut out = format!(
        "<h2>Summary</h2>\n<div class=\"wide\"><table class=\"num\">\n<thead><tr><th>Configuration\
         </th><th>Byte</th>{heads}</tr></thead>\n<tbody>\n"
    );
    for configuration in configurations(&all) {
        for size in sizes(&all) {
            let of = |procedure: &str| {
                all.iter().find(|cell| {
                    (cell.procedure.as_str(), cell.configuration.as_str(), cell.size())
                        == (procedure, configuration, size)
                })
            };
            let cell = |procedure: &str| {
                let Some((cell, one)) =
                    of(procedure).and_then(|cell| Some((cell, words::first(cell)?)))
                else {
                    return "<td>–</td>".to_string();
                };
                let mark = mark(cell, 0);
                format!("<td>{}{mark}</td>", escape(&figure(one)))
            };
            let line: String = shown.iter().map(|(procedure, _)| cell(procedure)).collect();
            if shown.iter().any(|(procedure, _)| of(procedure).is_some()) {
                let name = escape(plain(configuration));
                let size = escape(&size.to_string());
                let _ = writeln!(out, "<tr><td>{name}</td><td>{size}</td>{line}</tr>");
            }
        }
    }
    out + "</tbody>\n</table></div>\n<p class=\"note\">–: not measured, or no result; the procedure's own part \
           says why, and under which criterion each figure stands. <sup>w</sup> as much as the wire \
           carries; <sup>t</sup> the tester was the bottleneck (in real time: alone it reaches less than 1.2 \
           times this); the device may be faster; \
           <sup>p</sup> the highest load that the plan tries.</p>\n"
}

/// When frames went and came: the first cell's trial in full, the others as strips.
fn courses(results: &SuiteResults, procedure: &str, cells: &[&Cell]) -> String {
    let with: Vec<&Cell> = cells.iter().copied().filter(|cell| cell.course().is_some()).collect();
    let Some((first, trial)) = with.first().and_then(|cell| Some((cell, cell.course()?))) else {
        return String::new();
    };
    let place = |cell: &Cell| match procedure {
        "streams" => plain(&cell.configuration).to_string(),
        _ => format!("{}, {}", plain(&cell.configuration), cell.size().words()),
    };
    let framed = trial.0.tcp.is_none() && procedure != "streams";
    let wire = framed.then(|| results.wire_rate(first.size()).0 * f64::from(results.senders));
    let title = format!("Over time: {}, {}", words::trial(procedure), place(first));
    let mut out = course::detail(&title, trial, wire);
    out += &by_strips(procedure, &with);
    // Where nothing is to change it is looked at when asked for.
    if matches!(procedure, "recovery" | "reset" | "streams" | "tcp-transactions" | "tcp-throughput")
    {
        return out;
    }
    format!("<details><summary>Over time: {}</summary>\n{out}</details>\n", words::trial(procedure))
}

/// The same of all cells, a strip each: by size, by window, or by configuration.
fn by_strips(procedure: &str, with: &[&Cell]) -> String {
    if with.len() < 2 {
        return String::new();
    }
    let strips = |title: &str, name: &dyn Fn(&Cell) -> String, of: &[&Cell]| {
        let strips: Vec<(String, &Cell)> = of.iter().map(|cell| (name(cell), *cell)).collect();
        course::strips(title, &strips)
    };
    if procedure == "tcp-throughput" {
        let window = |cell: &Cell| {
            let of = |at: usize| cell.figures.get(at).map_or(String::new(), figure);
            format!("{} with {}", of(0), of(1))
        };
        return strips("Over time, by connections and windows of all, of the BDP", &window, with);
    }
    if sizes(with).len() == 1 {
        let name = |cell: &Cell| plain(&cell.configuration).to_string();
        return strips("Over time, by configuration", &name, with);
    }
    let mut out = String::new();
    for configuration in configurations(with) {
        let of = with.iter().copied().filter(|cell| cell.configuration == configuration);
        let of: Vec<&Cell> = of.collect();
        let title = format!("Over time, by frame size: {}", plain(configuration));
        out += &strips(&title, &|cell| cell.size().words(), &of);
    }
    out
}

/// Every figure: a line for each configuration and size.
fn table(results: &SuiteResults, cells: &[&Cell]) -> String {
    let names = once(cells.iter().flat_map(|cell| &cell.figures).map(|f| f.name.as_str()));
    // What is derived of a rate stands beside the first only: a page has a width.
    let throughput = cells.iter().any(|cell| cell.procedure == "throughput");
    let is_rate = |name: &str| throughput && names.first() == Some(&name);
    if names.is_empty() {
        return String::new();
    }
    if names.len() > 8 && cells.len() <= 8 || names.len() > 6 && cells.len() == 1 {
        return turned(&names, cells);
    }
    let tight = if names.len() > 6 { " tight" } else { "" };
    // A page has a width: what is the same on every line is left out.
    let named = cells.iter().any(|cell| cell.configuration != "none");
    let head = if named { "<th>Configuration</th>" } else { "" };
    let side = if named { "" } else { " sized" };
    let mut out = format!(
        "<div class=\"wide\"><table class=\"num{tight}{side}\">\n<thead><tr>{head}<th>Byte</th>"
    );
    for name in &names {
        // A name may be broken before its criterion.
        let _ = write!(out, "<th>{}</th>", escape(name).replace('[', "<wbr>["));
        if is_rate(name) {
            out += "<th>of the wire</th><th>Mbps (L2)</th>";
        }
    }
    out += "</tr></thead>\n<tbody>\n";
    for cell in cells {
        out += "<tr>";
        if named {
            let _ = write!(out, "<td>{}</td>", escape(plain(&cell.configuration)));
        }
        let _ = write!(out, "<td>{}</td>", escape(&cell.size().to_string()));
        for name in &names {
            let one = cell.figures.iter().find(|figure| figure.name == *name);
            let Some(one) = one.filter(|one| one.value.is_some()) else {
                out +=
                    if is_rate(name) { "<td>–</td><td></td><td></td>" } else { "<td>–</td>" };
                continue;
            };
            let at = cell.figures.iter().position(|figure| figure.name == *name);
            let mark = at.map_or("", |at| mark(cell, at));
            let spread = one.spread.filter(|spread| spread.n > 1).map_or(String::new(), |spread| {
                format!("<small> ±{}</small>", unit(spread.stddev, one.unit()))
            });
            let _ = write!(out, "<td>{}{mark}{spread}</td>", escape(&figure(one)));
            if is_rate(name) {
                let rate = one.value.unwrap_or(0.0);
                let share = rate / results.wire_rate(cell.size()).0 * 100.0;
                let mbps = whole(results.l2_mbps(rate, cell.size()));
                let _ = write!(out, "<td>{share:.1} %</td><td>{mbps}</td>");
            }
        }
        out += "</tr>\n";
    }
    let said = match out.contains('±') {
        true => {
            "<p class=\"note\">±: the standard deviation of the repetitions; the figure is their mean or \
             median, as its RFC wants it</p>\n"
        }
        false => "",
    };
    out + "</tbody>\n</table></div>\n" + said
}

/// The same with a line for each figure, where there are more of them than a page is wide.
fn turned(names: &[&str], cells: &[&Cell]) -> String {
    let mut out =
        "<div class=\"wide\"><table class=\"num tight turned\">\n<thead><tr><th></th>".to_string();
    for cell in cells {
        let name = escape(plain(&cell.configuration));
        let _ = write!(out, "<th>{name}, {}</th>", escape(&cell.size().words()));
    }
    out += "</tr></thead>\n<tbody>\n";
    for name in names {
        let _ = write!(out, "<tr><td>{}</td>", escape(name));
        for cell in cells {
            let one = cell.figures.iter().find(|figure| figure.name == *name);
            let value = one.filter(|one| one.value.is_some()).map_or("–".to_string(), figure);
            let at = cell.figures.iter().position(|figure| figure.name == *name);
            let mark = at.map_or("", |at| mark(cell, at));
            let _ = write!(out, "<td>{}{mark}</td>", escape(&value));
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table></div>\n"
}

/// Each direction by itself, of what measures a time.
fn by_direction(cells: &[&Cell]) -> String {
    let mut lines = ways::by_direction(cells).into_iter();
    let Some(mut head) = lines.next() else { return String::new() };
    head[0] = "By direction".to_string();
    let mut out = format!(
        "<div class=\"wide\"><table class=\"num tight\">\n<thead>{}</thead>\n<tbody>\n",
        row("th", &head)
    );
    for mut line in lines {
        line[0] = plain(&line[0]).to_string();
        out += &row("td", &line);
    }
    out + "</tbody>\n</table></div>\n"
}

/// Whose limit a figure of a cell is, by its place.
fn mark(cell: &Cell, figure: usize) -> &'static str {
    match cell.limit_of(figure) {
        Some(Limit::Wire) => "<sup>w</sup>",
        Some(Limit::Tester) => "<sup>t</sup>",
        Some(Limit::Plan) => "<sup>p</sup>",
        _ => "",
    }
}

fn unit(value: f64, unit: &str) -> String {
    if unit == "ns" { time(value) } else { whole(value) }
}

fn remarks(cells: &[&Cell]) -> String {
    let mut out = String::new();
    for (limit, text) in [
        (Limit::Wire, "w: wire speed reached"),
        (
            Limit::Tester,
            "t: the tester was the bottleneck (in real time: alone it reaches less than 1.2 times this); the device may be faster",
        ),
        (Limit::Plan, "p: the highest load that the plan tries: the device may be faster"),
    ] {
        if cells.iter().any(|cell| cell.has_limit(limit)) {
            let _ = writeln!(out, "<p class=\"note\">{text}</p>");
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
                (!all.is_empty()).then(|| format!(", {}{end}", all.join(", ")))
            };
            let sizes = [text(lengths, " byte"), text(mixes, "")];
            plain(configuration).to_string() + &sizes.into_iter().flatten().collect::<String>()
        };
        let places: Vec<String> = configurations(&places).iter().map(of).collect();
        let _ = writeln!(
            out,
            "<p class=\"note\">{}: {}</p>",
            escape(&places.join("; ")),
            escape(remark)
        );
    }
    out
}

fn row(tag: &str, values: &[String]) -> String {
    let values: String =
        values.iter().map(|value| format!("<{tag}>{}</{tag}>", escape(value))).collect();
    format!("<tr>{values}</tr>\n")
}

/// The tester alone, what our router knows of itself, the machine, the configurations, the plan.
fn how(results: &SuiteResults) -> String {
    let mut out = "<h2>The tester alone</h2>\n<p>No device between the wires: what no \
                   result can exceed, and the latency that is the tester's own.</p>\n<table class=\"num\">\n<thead>\
                   <tr><th>Byte</th><th>Frames per second from each port (its maximum offered load)</th><th>of the wire</th>\
                   <th>Latency floor</th></tr></thead>\n<tbody>\n"
        .to_string();
    for alone in &results.self_tests {
        let share = alone.rate / results.wire_rate(alone.size()).0 * 100.0;
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{share:.1} %</td><td>{}</td></tr>",
            escape(&alone.size().to_string()),
            whole(alone.rate),
            time(alone.latency_floor_ns as f64)
        );
    }
    out += "</tbody>\n</table>\n";
    for (title, lines) in [(CYCLES, inside::cycles(results)), (DROPPED, inside::dropped(results))] {
        let mut lines = lines.into_iter();
        let Some(head) = lines.next() else { continue };
        let _ = write!(
            out,
            "<h2>{title}</h2>\n<div class=\"wide\"><table>\n<thead>{}</thead>\n<tbody>\n",
            row("th", &head)
        );
        for mut line in lines {
            line[0] = plain(&line[0]).to_string();
            out += &row("td", &line);
        }
        out += "</tbody>\n</table></div>\n";
    }
    if !results.goals.is_empty() {
        out += "<h2>The goals of the searches</h2>\n<p>By RFC 9971, each with all its attributes.</p>\n<ul>\n";
        for goal in &results.goals {
            let _ = writeln!(out, "<li>{}</li>", escape(goal));
        }
        out += "</ul>\n";
    }
    out += "<h2>Where and how</h2>\n";
    out += &about_environment(&results.environment);
    for configuration in &results.configurations {
        let _ = writeln!(
            out,
            "<details><summary>Configuration of the device: {}</summary><pre>{}</pre></details>",
            escape(plain(&configuration.name)),
            escape(configuration.script.trim())
        );
    }
    let _ = writeln!(
        out,
        "<details><summary>The plan</summary><pre>{}</pre></details>",
        escape(results.plan.trim())
    );
    out
}

#[cfg(test)]
mod tests;
