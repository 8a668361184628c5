//! Drawings of a performance table: rates by frame size, latencies of the smallest frames.

use super::chart::{Chart, Series};
use super::distribution;
use crate::bench::{criterion, order, sizes};
use measure::{Family, Latency, Mode, Row, Verdict};

/// Of a device's rows, each mode and family by itself.
pub(crate) fn drawings(rows: &[&Row]) -> String {
    let mut out = String::new();
    for (mode, family) in [
        (Mode::Bridging, Family::Ipv4),
        (Mode::Routing, Family::Ipv4),
        (Mode::Routing, Family::Ipv6),
    ] {
        let is_of = |row: &&Row| (row.mode, row.family) == (mode, family);
        let rows: Vec<&Row> = rows.iter().copied().filter(is_of).collect();
        if !rows.is_empty() {
            let mode = mode.of(family);
            out += &rates(&mode, &rows);
            out += &by_criterion(&mode, &rows);
            out += &latencies(&mode, &rows);
            out += &distributions(&mode, &rows);
        }
    }
    out
}

/// RFC 2544 §26.1's graph, of the rates at the highest load.
fn rates(mode: &str, rows: &[&Row]) -> String {
    let title = format!("{mode}: forwarding rate at the highest load offered");
    by_size(title, rows, |row| valid(row).map(|row| row.kpps / 1e3))
}

/// And of the highest loads by a criterion, where they were searched for.
fn by_criterion(mode: &str, rows: &[&Row]) -> String {
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
    let configurations = order(rows).into_iter().map(|of| {
        let rate = |size| of.find(rows, size).and_then(rate);
        line(of.label(), &rate, false)
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
fn latencies(mode: &str, rows: &[&Row]) -> String {
    let Some(size) = sizes(rows).first().copied() else { return String::new() };
    let points = |latency: Latency| {
        let Latency { min_ns, p50_ns, p99_ns, p999_ns, max_ns, .. } = latency;
        [min_ns, p50_ns, p99_ns, p999_ns, max_ns].map(|ns| Some(ns as f64)).to_vec()
    };
    let series = order(rows).into_iter().filter_map(|line| {
        let latency = valid(line.find(rows, size)?)?.latency?;
        Some(Series::line(line.label(), points(latency)))
    });
    let chart = Chart {
        title: format!("{mode}: latency of {size} byte frames at that load, every frame counted"),
        y_name: "from sending to receiving",
        series: series.collect(),
        ..Chart::of_times(&["fastest", "50 %", "99 %", "99.9 %", "slowest"])
    };
    chart.svg()
}

/// All of them, a strip for each configuration.
fn distributions(mode: &str, rows: &[&Row]) -> String {
    let Some(size) = sizes(rows).first().copied() else { return String::new() };
    let strips = order(rows).into_iter().filter_map(|line| {
        let buckets = &valid(line.find(rows, size)?)?.histogram;
        (!buckets.is_empty()).then(|| (line.label(), &buckets[..]))
    });
    let title = format!("{mode}: how long {size} byte frames took at that load");
    distribution::svg(&title, "Every frame of the row's trial.", strips)
}

/// A row that says something of its device.
fn valid(row: &Row) -> Option<&Row> {
    (row.verdict != Verdict::Invalid).then_some(row)
}
