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
use measure::result::Latency;
use measure::suite_result::{Achieved, DirectionRecord, Ipdv, StreamRecord};

/// What a line has of a stream or a direction.
struct Part<'a> {
    kind: &'static str,
    name: &'a str,
    /// A stream's own lengths: one, or what they are drawn from.
    sizes: Option<&'a str>,
    ports: (u32, u32),
    /// Intended, sent, received, lost, reordered, duplicate, stale, elsewhere.
    counts: [u64; 8],
    /// What is told apart of streams alone: bytes, extent, gaps, wrong size, bad checksum, altered.
    of_stream: Option<[u64; 6]>,
    waited_ns: Option<u64>,
    /// Of directions.
    corrupt: Option<u64>,
    rates: [Option<Achieved>; 2],
    latency: Option<Latency>,
    pdv_ns: Option<u64>,
    ipdv: Option<Ipdv>,
    jitter_ns: [Option<f64>; 2],
    tagged: Option<Latency>,
    time_ns: Option<u64>,
}

impl<'a> From<&'a StreamRecord> for Part<'a> {
    fn from(one: &'a StreamRecord) -> Part<'a> {
        let StreamRecord { intended, sent, received, lost, reordered, duplicate, .. } = *one;
        let StreamRecord { bytes, extent_max, gaps, wrong_size, bad_checksum, .. } = *one;
        Part {
            kind: "stream",
            name: &one.name,
            sizes: Some(&one.sizes),
            ports: (one.from, one.to),
            counts: [
                intended,
                sent,
                received,
                lost,
                reordered,
                duplicate,
                one.stale,
                one.elsewhere,
            ],
            of_stream: Some([bytes, extent_max, gaps, wrong_size, bad_checksum, one.altered()]),
            waited_ns: one.waited_ns_max,
            corrupt: None,
            rates: [one.sending, one.arriving],
            latency: one.latency,
            pdv_ns: one.pdv_ns,
            ipdv: one.ipdv,
            jitter_ns: [one.jitter_ns, one.jitter_max_ns],
            tagged: None,
            time_ns: None,
        }
    }
}

impl<'a> From<&'a DirectionRecord> for Part<'a> {
    fn from(one: &'a DirectionRecord) -> Part<'a> {
        let DirectionRecord { intended, sent, received, lost, reordered, duplicate, .. } = *one;
        Part {
            kind: "direction",
            name: "",
            sizes: None,
            ports: (one.from, one.to),
            counts: [
                intended,
                sent,
                received,
                lost,
                reordered,
                duplicate,
                one.stale,
                one.elsewhere,
            ],
            of_stream: None,
            waited_ns: None,
            corrupt: Some(one.corrupt),
            rates: [None; 2],
            latency: one.latency,
            pdv_ns: one.pdv_ns,
            ipdv: one.ipdv,
            jitter_ns: [None; 2],
            tagged: one.tagged,
            time_ns: one.time_ns,
        }
    }
}

impl Part<'_> {
    /// A stream's length; of several the mean of those that came, and what they were drawn from.
    fn lengths(&self, sizes: &str) -> (String, String) {
        if sizes.parse::<u32>().is_ok() {
            return (sizes.to_string(), String::new());
        }
        let (received, bytes) = (self.counts[2], self.of_stream.map_or(0, |all| all[0]));
        let mean = (received > 0).then(|| bytes as f64 / received as f64);
        (optional(mean), sizes.to_string())
    }
}

fn columns<'a>() -> [Column<&'a Part<'a>>; 41] {
    [
        ("part", |one| one.kind.to_string()),
        ("name", |one| one.name.to_string()),
        ("from_port", |one| one.ports.0.to_string()),
        ("to_port", |one| one.ports.1.to_string()),
        ("intended_frames", |one| one.counts[0].to_string()),
        ("sent_frames", |one| one.counts[1].to_string()),
        ("received_frames", |one| one.counts[2].to_string()),
        ("lost_frames", |one| one.counts[3].to_string()),
        ("reordered_frames", |one| one.counts[4].to_string()),
        ("duplicate_frames", |one| one.counts[5].to_string()),
        ("stale_frames", |one| one.counts[6].to_string()),
        ("elsewhere_frames", |one| one.counts[7].to_string()),
        ("corrupt_frames", |one| optional(one.corrupt)),
        ("received_bytes_l2_with_fcs", |one| optional(one.of_stream.map(|all| all[0]))),
        ("reordering_extent_max", |one| optional(one.of_stream.map(|all| all[1]))),
        ("gaps", |one| optional(one.of_stream.map(|all| all[2]))),
        ("wrong_size_frames", |one| optional(one.of_stream.map(|all| all[3]))),
        ("bad_checksum_frames", |one| optional(one.of_stream.map(|all| all[4]))),
        ("altered_frames", |one| optional(one.of_stream.map(|all| all[5]))),
        ("sent_fps", |one| optional(one.rates[0].map(|rate| rate.fps))),
        ("waited_ns_max", |one| optional(one.waited_ns)),
        ("sending_ns", |one| optional(one.rates[0].map(|rate| rate.ns))),
        ("received_fps", |one| optional(one.rates[1].map(|rate| rate.fps))),
        ("arriving_ns", |one| optional(one.rates[1].map(|rate| rate.ns))),
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
        ("jitter_rfc3550_last_ns", |one| optional(one.jitter_ns[0])),
        ("jitter_rfc3550_max_ns", |one| optional(one.jitter_ns[1])),
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
            let streams = trial.streams.iter().map(Part::from);
            for part in streams.chain(trial.directions.iter().map(Part::from)) {
                let (size, mix) = match part.sizes {
                    Some(sizes) => part.lengths(sizes),
                    None => {
                        let mean = results.cycle(cell.size()).mean_l2().to_string();
                        (mean, cell.mix.clone().unwrap_or_default())
                    }
                };
                let place =
                    [cell.configuration.clone(), size, cell.procedure.clone(), (i + 1).to_string()];
                let of_part = columns().map(|(_, of)| of(&part));
                let end = [trial.outcome.clone(), mix];
                table.row(place.into_iter().chain(of_part).chain(end));
            }
        }
    }
    table
}
