//! Streams of a plan: what came of each and how late, in drawings and tables, and what each was.

use super::chart::{Chart, Series, escape};
use super::distribution::{self, Strip};
use crate::suite::streams::{DELAYS, beside, counted, delays, described, shown};
use measure::result::Latency;
use measure::suite_result::{Cell, TrialRecord};
use std::fmt::Write;

/// As many lines a drawing has room for.
const MOST: usize = 14;

/// Of each configuration.
pub(super) fn tables(cells: &[&Cell]) -> String {
    let mut out = String::new();
    for cell in cells {
        let Some(trial) = shown(cell) else { continue };
        if cells.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escape(&cell.configuration));
        }
        out += &ranges(trial);
        out += &distributions(cell, trial);
        out += &lines(counted(trial));
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&beside(trial)));
        out += &lines(delays(trial));
        let _ = writeln!(out, "<p class=\"note\">{DELAYS}</p>");
        out += "<div class=\"wide\"><table class=\"said\">\n<thead><tr><th>Stream</th><th>Ports</th><th>Headers, lengths, \
                load</th></tr></thead>\n<tbody>\n";
        for [name, way, what] in described(trial) {
            let cells = [name, way, what].map(|text| format!("<td>{}</td>", escape(&text)));
            let _ = writeln!(out, "<tr>{}</tr>", cells.concat());
        }
        out += "</tbody>\n</table></div>\n";
    }
    out
}

/// A table of heads and lines.
fn lines(lines: Vec<Vec<String>>) -> String {
    let mut out = "<div class=\"wide\"><table class=\"num tight\">\n".to_string();
    for (i, line) in lines.into_iter().enumerate() {
        let (tag, head) = if i == 0 { ("th", "Stream") } else { ("td", "") };
        out += if i == 0 { "<thead><tr>" } else { "<tr>" };
        for (column, text) in line.iter().enumerate() {
            let text = if column == 0 && i == 0 { head } else { text };
            let _ = write!(out, "<{tag}>{}</{tag}>", escape(text));
        }
        out += if i == 0 { "</tr></thead>\n<tbody>\n" } else { "</tr>\n" };
    }
    out + "</tbody>\n</table></div>\n"
}

/// How many frames of each stream took how long; of older files, which have only that, of all together.
fn distributions(cell: &Cell, trial: &TrialRecord) -> String {
    let each = trial.streams.iter().filter(|stream| !stream.histogram.is_empty());
    let each = each.map(|one| Strip { name: one.name.clone(), buckets: &one.histogram });
    let mut strips: Vec<Strip<'_>> = each.collect();
    let (found, of) = (strips.len(), trial.streams.len());
    strips.truncate(MOST);
    if found != 1 && !cell.histogram.is_empty() {
        strips.push(Strip { name: "all streams".to_string(), buckets: &cell.histogram });
    }
    let title = match found {
        0 => "Distribution of latency: all streams together",
        _ => "Distribution of latency of each stream",
    };
    let mut caption =
        "Every frame counts. The lines across a distribution are its median and its 99.9th \
                       percentile."
            .to_string();
    if found > MOST {
        let _ = write!(caption, " The first {MOST} of {of} streams; the table has all.");
    }
    distribution::svg(title, &caption, &strips)
}

/// Latencies of each stream, from the fastest frame to the slowest.
fn ranges(trial: &TrialRecord) -> String {
    let shares = ["fastest", "50 %", "99 %", "99.9 %", "slowest"];
    let series = trial.streams.iter().filter_map(|stream| {
        let Latency { min_ns, p50_ns, p99_ns, p999_ns, max_ns, .. } = stream.latency?;
        let points = [min_ns, p50_ns, p99_ns, p999_ns, max_ns];
        let points = points.map(|ns| Some(ns.max(1) as f64)).to_vec();
        Some(Series::line(stream.name.clone(), points))
    });
    let series: Vec<Series> = series.take(MOST).collect();
    let caption = match trial.streams.len() {
        n if n > MOST => format!("The first {MOST} of {n} streams; the table has all."),
        _ => String::new(),
    };
    Chart {
        title: "Latency of each stream".to_string(),
        caption,
        y_name: "latency (logarithmic)",
        x_name: "share of frames that are not slower",
        x: shares.map(String::from).to_vec(),
        logarithmic: true,
        series,
        show: distribution::round,
        ..Chart::default()
    }
    .svg()
}
