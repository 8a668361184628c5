//! Drawings of a plan's streams: how late the frames of each were.

use super::chart::{Chart, Series};
use super::distribution::{self, Strip};
use measure::result::Latency;
use measure::suite_result::{Cell, TrialRecord};
use std::fmt::Write;

/// As many lines a drawing has room for.
const MOST: usize = 14;

/// Of a configuration's trial.
pub(crate) fn drawings(cell: &Cell, trial: &TrialRecord) -> String {
    ranges(trial) + &distributions(cell, trial)
}

/// How many frames of each stream took how long; of older files, which have only that, of all together.
fn distributions(cell: &Cell, trial: &TrialRecord) -> String {
    let each = trial.streams.iter().filter(|stream| !stream.histogram.is_empty());
    let each = each.map(|one| (one.name.clone(), &one.histogram[..]));
    let mut strips: Vec<Strip<'_>> = each.collect();
    let (found, of) = (strips.len(), trial.streams.len());
    strips.truncate(MOST);
    if found != 1 && !cell.histogram.is_empty() {
        strips.push(("all streams".to_string(), &cell.histogram));
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
    distribution::svg(title, &caption, strips)
}

/// Latencies of each stream, from the fastest frame to the slowest.
fn ranges(trial: &TrialRecord) -> String {
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
        series,
        ..Chart::of_times(&["fastest", "50 %", "99 %", "99.9 %", "slowest"])
    }
    .svg()
}
