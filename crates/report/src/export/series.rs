//! Records of time series: a line for each interval of each trial that has one.
//!
//! ```text
//! configuration,frame_size_l2_with_fcs,procedure,load_fps,outcome,begin_ns,interval_ns,sent_frames,…
//! none,64,reset,121588,fail,0,5000000,1216,1214,2,4500,,,
//! ```

use crate::document::{Table, optional};
use crate::suite::{time, whole};
use measure::SuiteResults;
use measure::suite_result::Cell;

/// The columns of the time series.
const COURSE: [&str; 15] = [
    "configuration",
    "frame_size_l2_with_fcs",
    "procedure",
    "load_fps",
    "outcome",
    "begin_ns",
    "interval_ns",
    "sent_frames",
    "received_frames",
    "not_back_frames",
    "latency_max_ns",
    "established_connections",
    "transactions",
    "data_bytes",
    "mix",
];

/// A record for each interval of each trial that has a time series.
///
/// `not_back_frames`: sent by the interval's end, and not received by then: under way, or lost. A
/// latency is empty where no frame came; what a trial did not count is empty too.
pub(crate) fn records(results: &SuiteResults) -> Table {
    let mut table = Table::new(0, COURSE);
    for cell in &results.cells {
        let Some((trial, series)) = cell.course() else { continue };
        let missing = series.missing();
        for at in 0..series.len() {
            let counted = |all: &[u64]| optional(all.get(at));
            let came = series.received[at] > 0;
            let latency = if came { counted(&series.latency_max_ns) } else { String::new() };
            table.row([
                cell.configuration.clone(),
                results.cycle(cell.size()).mean_l2().to_string(),
                cell.procedure.clone(),
                trial.load.to_string(),
                trial.outcome.clone(),
                (at as u64).saturating_mul(series.interval_ns).to_string(),
                series.interval_ns.to_string(),
                counted(&series.sent),
                counted(&series.received),
                counted(&missing),
                latency,
                counted(&series.established),
                counted(&series.transactions),
                counted(&series.bytes),
                cell.mix.clone().unwrap_or_default(),
            ]);
        }
    }
    table
}

/// What a cell's time series comes to, in a sentence.
pub(crate) fn sentence(cell: &Cell) -> Option<String> {
    let (_, series) = cell.course()?;
    let rate =
        |n: Option<&u64>| whole(n.copied().unwrap_or(0) as f64 * 1e9 / series.interval_ns as f64);
    // The last interval may be shorter than it says.
    let all = &series.received[..series.len() - 1];
    let latest =
        series.latency_max_ns.iter().max().map(|ns| format!(", at most {} late", time(*ns as f64)));
    Some(format!(
        "over time, {} intervals of {}: {} to {} frames received per second{}",
        series.len(),
        time(series.interval_ns as f64),
        rate(all.iter().min()),
        rate(all.iter().max()),
        latest.unwrap_or_default()
    ))
}
