//! Records of parts of trials: a line for each stream and each direction of each trial.
//!
//! ```text
//! configuration,frame_size_l2_with_fcs,procedure,trial,part,name,from_port,to_port,intended_frames,…
//! none,64,throughput,3,direction,,1,2,2000,2000,1997,3,…
//! none,64,streams,1,stream,voice,1,2,2000,2000,2000,0,…
//! ```
//!
//! A trial that went one way only, and has no streams of its own, is that way: its line is among the
//! trials ([`trials`](super::suite::trials)). What a part does not have is empty.

use crate::document::{Column, Table, optional};
use measure::SuiteResults;
use measure::suite_result::StreamRecord;

/// Whether it is one way of a trial, whose frames are the cell's.
fn is_way(one: &StreamRecord) -> bool {
    one.name.is_empty()
}

/// A stream's length; of several the mean of those that came, and what they were drawn from.
fn lengths(one: &StreamRecord) -> (String, String) {
    if one.sizes.parse::<u32>().is_ok() {
        return (one.sizes.clone(), String::new());
    }
    let mean = (one.received > 0).then(|| one.bytes as f64 / one.received as f64);
    (optional(mean), one.sizes.clone())
}

fn columns<'a>() -> [Column<&'a StreamRecord>; 41] {
    [
        ("part", |one| if is_way(one) { "direction" } else { "stream" }.to_string()),
        ("name", |one| one.name.to_string()),
        ("from_port", |one| one.from.to_string()),
        ("to_port", |one| one.to.to_string()),
        ("intended_frames", |one| one.intended.to_string()),
        ("sent_frames", |one| one.sent.to_string()),
        ("received_frames", |one| one.received.to_string()),
        ("lost_frames", |one| one.lost.to_string()),
        ("reordered_frames", |one| one.reordered.to_string()),
        ("duplicate_frames", |one| one.duplicate.to_string()),
        ("stale_frames", |one| one.stale.to_string()),
        ("elsewhere_frames", |one| one.elsewhere.to_string()),
        ("corrupt_frames", |one| optional(is_way(one).then_some(one.corrupt))),
        ("received_bytes_l2_with_fcs", |one| optional((!is_way(one)).then_some(one.bytes))),
        ("reordering_extent_max", |one| optional((!is_way(one)).then_some(one.extent_max))),
        ("gaps", |one| optional((!is_way(one)).then_some(one.gaps))),
        ("wrong_size_frames", |one| optional((!is_way(one)).then_some(one.wrong_size))),
        ("bad_checksum_frames", |one| optional((!is_way(one)).then_some(one.bad_checksum))),
        ("altered_frames", |one| optional((!is_way(one)).then(|| one.altered()))),
        ("sent_fps", |one| optional(one.sending.map(|rate| rate.fps))),
        ("waited_ns_max", |one| optional(one.waited_ns_max)),
        ("sending_ns", |one| optional(one.sending.map(|rate| rate.ns))),
        ("received_fps", |one| optional(one.arriving.map(|rate| rate.fps))),
        ("arriving_ns", |one| optional(one.arriving.map(|rate| rate.ns))),
        ("latency_frames", |one| optional(one.latency.map(|all| all.count))),
        ("latency_min_ns", |one| optional(one.latency.map(|all| all.min_ns))),
        ("latency_p50_ns", |one| optional(one.latency.map(|all| all.p50_ns))),
        ("latency_p99_ns", |one| optional(one.latency.map(|all| all.p99_ns))),
        ("latency_p999_ns", |one| optional(one.latency.map(|all| all.p999_ns))),
        ("latency_max_ns", |one| optional(one.latency.map(|all| all.max_ns))),
        ("pdv_ns", |one| optional(one.pdv_ns)),
        ("ipdv_pairs", |one| optional(one.ipdv.map(|all| all.pairs))),
        ("ipdv_min_ns", |one| optional(one.ipdv.map(|all| all.min_ns))),
        ("ipdv_median_ns", |one| optional(one.ipdv.map(|all| all.median_ns))),
        ("ipdv_max_ns", |one| optional(one.ipdv.map(|all| all.max_ns))),
        ("ipdv_mean_abs_ns", |one| optional(one.ipdv.map(|all| all.mean_abs_ns))),
        ("jitter_rfc3550_last_ns", |one| optional(one.jitter_ns)),
        ("jitter_rfc3550_max_ns", |one| optional(one.jitter_max_ns)),
        ("tagged_frames", |one| optional(one.tagged.map(|all| all.count))),
        ("tagged_p50_ns", |one| optional(one.tagged.map(|all| all.p50_ns))),
        ("time_ns", |one| optional(one.time_ns)),
    ]
}

/// All parts of all trials, in their order.
pub(crate) fn records(results: &SuiteResults) -> Table {
    let place = ["configuration", "frame_size_l2_with_fcs", "procedure", "trial"];
    let heads = place.into_iter().chain(columns().map(|(name, _)| name));
    let mut table = Table::new(0, heads.chain(["outcome", "mix"]));
    for cell in &results.cells {
        for (i, trial) in cell.trials.iter().enumerate() {
            for part in trial.streams.iter().chain(&trial.directions) {
                let (size, mix) = match is_way(part) {
                    false => lengths(part),
                    true => {
                        let mean = results.cycle(cell.size()).mean_l2().to_string();
                        (mean, cell.mix.clone().unwrap_or_default())
                    }
                };
                let place =
                    [cell.configuration.clone(), size, cell.procedure.clone(), (i + 1).to_string()];
                let of_part = columns().map(|(_, of)| of(part));
                let end = [trial.outcome.clone(), mix];
                table.row(place.into_iter().chain(of_part).chain(end));
            }
        }
    }
    table
}
