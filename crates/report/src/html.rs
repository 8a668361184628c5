//! A result as one page: charts, tables, and where it was measured. No network, no script; by day,
//! by night and on paper.

// Line charts as SVG.
mod chart;
// Devices beside each other, measured by turns.
mod beside;
// The performance table.
mod cells;
// Distributions as SVG.
mod distribution;
// Time series as SVG.
mod course;
// The page of the iperf3 method.
mod iperf3;
// The page of a suite.
mod suite;
// Streams of a plan.
mod streams;

pub use iperf3::page as iperf3_page;
pub use suite::page as suite_page;

use crate::table::{criterion, find, how, label, order};
use chart::{Chart, Series, escape};
use distribution::Strip;
use measure::{Environment, Latency, Mode, Results, Row, Verdict};
use std::fmt::Write;

/// The page, a whole HTML document.
pub fn page(results: &Results) -> String {
    let title = title(results);
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    if let Some(why) = &results.incomplete_because {
        let _ = writeln!(body, "<p><strong>Incomplete:</strong> {}</p>", escape(why));
    }
    body += &about_environment(&results.environment);
    body += &trials(results);
    body += &beside::section(results);
    for (device, cores) in parts(results) {
        let rows = results.rows.iter();
        let rows: Vec<&Row> =
            rows.filter(|row| row.device == device && row.cores == cores).collect();
        let how = rows.first().map_or(String::new(), |row| escape(&how(row)));
        let _ = writeln!(body, "<h2>{}: {how}</h2>", escape(device));
        for mode in [Mode::Bridging, Mode::Routing] {
            let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.mode == mode).collect();
            if !rows.is_empty() {
                body += &rates(mode, &rows);
                body += &by_criterion(mode, &rows);
                body += &latencies(mode, &rows);
                body += &distributions(mode, &rows);
            }
        }
        body += &cells::tables(results, &rows);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n<main>\n{body}</main>\n</html>\n",
        escape(&title)
    )
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
    let mut parts: Vec<(&str, u32)> = vec![];
    for row in &results.rows {
        let part = (row.device.as_str(), row.cores);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

/// How many trials there were, and how many of them say nothing; nothing of older files.
fn trials(results: &Results) -> String {
    let all = || results.rows.iter().flat_map(|row| &row.trials);
    let (n, invalid) = (all().count(), all().filter(|trial| !trial.is_valid()).count());
    match (n, invalid) {
        (0, _) => String::new(),
        (n, 0) => format!("<p class=\"note\">{n} trials, all of them valid.</p>\n"),
        (n, invalid) => format!(
            "<p class=\"note\">{n} trials; {invalid} of them were invalid and say nothing of a device: \
             what would have stood on one was tried again, or is marked.</p>\n"
        ),
    }
}

/// Where and how.
fn about_environment(environment: &Environment) -> String {
    let cores = format!("{}, {} cores", environment.cpu, environment.cores);
    let build = format!(
        "{} build of {} for {}",
        environment.build,
        environment.commit,
        environment.features.join(", ")
    );
    let seed = environment.seed.to_string();
    let [machine, sysctls, offloads] =
        [&environment.machine, &environment.sysctls, &environment.offloads]
            .map(|all| all.join("; "));
    let lines = [
        ("When", environment.timestamp.as_str()),
        ("Processor", &cores),
        ("Machine", &machine),
        ("System", &environment.kernel),
        ("Its settings", &sysctls),
        ("Offloads", &offloads),
        ("Program", &build),
        ("Command", &environment.command),
        ("Seed", &seed),
    ];
    // Of what has no random choices there is no seed; older results do not say all of it.
    let said =
        |(name, value): &(&str, &str)| !value.is_empty() && (*name != "Seed" || *value != "0");
    let lines = lines.into_iter().filter(said);
    let mut out = "<dl>\n".to_string();
    for (name, value) in lines {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    out + "</dl>\n"
}

fn sizes(rows: &[&Row]) -> Vec<u32> {
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.frame_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// RFC 2544 §26.1's graph, of the rates at the highest load.
fn rates(mode: Mode, rows: &[&Row]) -> String {
    let title = format!("{mode}: forwarding rate at the highest load offered");
    by_size(title, rows, |row| valid(row).map(|row| row.kpps / 1e3))
}

/// And of the highest loads by a criterion, where they were searched for.
fn by_criterion(mode: Mode, rows: &[&Row]) -> String {
    if rows.iter().all(|row| row.no_drop.is_none()) {
        return String::new();
    }
    let (_, what) = criterion(rows);
    by_size(format!("{mode}: {what}"), rows, |row| row.no_drop.map(|pps| pps / 1e6))
}

/// Millions of frames a second by frame size, with the theoretical rate, if there is a wire; else the
/// tester's own, if it is known.
fn by_size(title: String, rows: &[&Row], rate: fn(&Row) -> Option<f64>) -> String {
    let sizes = sizes(rows);
    let line = |name: String, value: &dyn Fn(u32) -> Option<f64>, reference| Series {
        reference,
        ..Series::line(name, sizes.iter().map(|&size| value(size)).collect())
    };
    let configurations = order(rows).into_iter().map(|(mode, name)| {
        let rate = |size| find(rows, mode, name, size).and_then(rate);
        line(label(mode, name), &rate, false)
    });
    let mut series: Vec<Series> = configurations.collect();
    let of_size = |size: u32, value: fn(&Row) -> Option<f64>| {
        let at_size = rows.iter().filter(|row| row.frame_size == size);
        at_size
            .filter_map(|row| value(row))
            .fold(None, |best: Option<f64>, value| Some(best.map_or(value, |best| best.max(value))))
    };
    let wire: fn(&Row) -> Option<f64> =
        |row| row.wire_mbps.map(|mbps| mbps / 8.0 / f64::from(row.frame().l1()));
    let tester: fn(&Row) -> Option<f64> = |row| row.tester_pps.map(|pps| pps / 1e6);
    for (name, value) in [("the wire", wire), ("the tester alone", tester)] {
        if rows.iter().any(|row| value(row).is_some()) {
            series.push(line(name.to_string(), &|size| of_size(size, value), true));
            break;
        }
    }
    let chart = Chart {
        title,
        y_name: "million frames per second",
        x_name: "frame size, bytes with FCS",
        x: sizes.iter().map(u32::to_string).collect(),
        series,
        show: |value| format!("{value}"),
        ..Chart::default()
    };
    chart.svg()
}

/// Latencies of the smallest frames, from the best to the worst, every frame counted.
fn latencies(mode: Mode, rows: &[&Row]) -> String {
    let Some(size) = sizes(rows).first().copied() else { return String::new() };
    let points = |latency: Latency| {
        let Latency { min_ns, p50_ns, p99_ns, p999_ns, max_ns, .. } = latency;
        [min_ns, p50_ns, p99_ns, p999_ns, max_ns].map(|ns| Some(ns as f64)).to_vec()
    };
    let series = order(rows).into_iter().filter_map(|(mode, name)| {
        let latency = valid(find(rows, mode, name, size)?)?.latency?;
        Some(Series::line(label(mode, name), points(latency)))
    });
    let chart = Chart {
        title: format!("{mode}: latency of {size} byte frames at that load, every frame counted"),
        y_name: "from sending to receiving",
        x_name: "share of frames that are not slower",
        x: ["fastest", "50 %", "99 %", "99.9 %", "slowest"].map(String::from).to_vec(),
        logarithmic: true,
        series: series.collect(),
        show: |ns| wire_latency(ns as u64),
        ..Chart::default()
    };
    chart.svg()
}

/// All of them, a strip for each configuration.
fn distributions(mode: Mode, rows: &[&Row]) -> String {
    let Some(size) = sizes(rows).first().copied() else { return String::new() };
    let strips = order(rows).into_iter().filter_map(|(mode, name)| {
        let buckets = &valid(find(rows, mode, name, size)?)?.histogram;
        (!buckets.is_empty()).then(|| Strip { name: label(mode, name), buckets })
    });
    let strips: Vec<Strip<'_>> = strips.collect();
    let title = format!("{mode}: how long {size} byte frames took at that load");
    distribution::svg(&title, "Every frame of the row's trial.", &strips)
}

/// A row that says something of its device.
fn valid(row: &Row) -> Option<&Row> {
    (row.verdict != Verdict::Invalid).then_some(row)
}

fn wire_latency(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{} ms", ns as f64 / 1e6),
        _ => format!("{} s", ns as f64 / 1e9),
    }
}

/// Fonts, colours, and what is different on paper.
const STYLE: &str = include_str!("html/style.css");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::thousands;

    /// The committed runs make pages that say what their files say.
    #[test]
    fn pages_of_committed_runs() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/");
        for file in ["2026-11-20-epyc-1-core.json", "2026-11-20-epyc-2-cores.json"] {
            let text = std::fs::read_to_string(folder.to_string() + file).unwrap();
            let results = crate::read(&text).unwrap();
            let page = page(&results);
            for row in &results.rows {
                assert!(page.contains(&thousands(row.kpps)), "{file}: {} is missing", row.kpps);
            }
            assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
            assert!(page.contains(&escape(&results.environment.command)), "{file}");
            for forbidden in ["http://", "https://", "<script", "NaN", "inf"] {
                assert!(!page.contains(forbidden), "{file}: {forbidden}");
            }
        }
    }

    #[test]
    fn the_page_of_the_iperf3_method() {
        let mut results = crate::iperf3::read(include_str!("../data/iperf3-1.json")).unwrap();
        let page = iperf3_page(&results);
        for row in &results.rows {
            assert!(page.contains(&thousands(row.l3_mbps)), "{} is missing", row.l3_mbps);
        }
        assert!(page.contains("<svg") && page.contains("the wire (theoretical)"));
        for forbidden in ["http://", "https://", "<script", "NaN", "Impossible"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        results.rows[0].setting.link_mbps = Some(1.0);
        results.incomplete_because = Some("<interrupted>".to_string());
        let page = iperf3_page(&results);
        assert!(page.contains("Impossible.") && page.contains("&lt;interrupted&gt;"));
    }

    /// The committed runs: every latency and every transfer is in a table, and drawn.
    #[test]
    fn latencies_and_paths_on_a_page() {
        let latencies = include_str!("../../../results/2026-11-22-latency-beside-the-kernel.json");
        let mut latencies = crate::iperf3::read(latencies).unwrap();
        let page = iperf3_page(&latencies);
        for of in &latencies.latencies {
            let row = format!("<td>{}</td>", thousands(of.median_ns as f64 / 1e3));
            assert!(page.contains(&row), "{row}");
        }
        assert!(page.contains("wirespeed router beside linux kernel") && page.contains("5 turns"));
        assert_eq!(page.matches("<svg").count(), 2, "ping's and irtt's");
        assert!(page.contains("share of packets"));
        for of in &mut latencies.latencies {
            of.histogram = vec![(of.min_ns, 1), (of.median_ns, of.received - 1)];
        }
        let strips = iperf3_page(&latencies);
        assert!(strips.contains("99.9 % within") && !strips.contains("share of packets"));
        let paths = include_str!("../../../results/2026-11-22-rfc6349-hosts-quick.json");
        let paths = crate::iperf3::read(paths).unwrap();
        let of_paths = iperf3_page(&paths);
        for transfer in paths.paths.iter().flat_map(|path| &path.transfers) {
            assert!(of_paths.contains(&format!("<td>{:.3}</td>", transfer.ratio)), "{transfer:?}");
        }
        assert_eq!(of_paths.matches("<svg").count(), 2, "rates and round trips");
        for part in ["64 KiB", "1 MiB", "TCP at best (theoretical)", "linux kernel, empty"] {
            assert!(of_paths.contains(part), "{part}");
        }
        for page in [page, strips, of_paths] {
            for forbidden in ["http://", "https://", "<script", "NaN", "inf<"] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
        }
    }

    #[test]
    fn nothing_measured_is_a_page_too() {
        let results = Results::of(Environment::default(), vec![]);
        assert!(page(&results).contains("<h1>no results</h1>"));
    }
}
