//! Records of suites: one for each figure, and one for each load that frames were lost at; or one for
//! each trial.

use super::of_trial;
use crate::document::{Column, Table, optional};
use measure::SuiteResults;
use measure::procedure::spread::Spread;
use measure::suite_result::TrialRecord;

/// The columns of figures.
const COLUMNS: [&str; 15] = [
    "configuration",
    "frame_size_l2_with_fcs",
    "procedure",
    "figure",
    "value",
    "unit",
    "l2_mbps",
    "of_wire_percent",
    "repetitions",
    "mean",
    "min",
    "max",
    "stddev",
    "limited_by",
    "mix",
];

/// All figures; loss by load as figures of their own.
pub(crate) fn records(results: &SuiteResults) -> Table {
    let mut table = Table::new(0, COLUMNS);
    for cell in &results.cells {
        // Of a mix the mean as it is.
        let mean = results.cycle(cell.size()).mean_l2().to_string();
        let place = [cell.configuration.clone(), mean, cell.procedure.clone()];
        let mix = cell.mix.clone().unwrap_or_default();
        for (i, one) in cell.figures.iter().enumerate() {
            let rate = one.value.filter(|_| one.unit == "fps");
            let spread = |of: fn(&Spread) -> f64| optional(one.spread.as_ref().map(of));
            let limit = cell.limit_of(i).map(|limit| format!("{limit:?}").to_lowercase());
            table.row(place.iter().cloned().chain([
                one.name.clone(),
                optional(one.value),
                one.unit().to_string(),
                optional(rate.map(|rate| results.l2_mbps(rate, cell.size()))),
                optional(rate.map(|rate| rate / results.wire_rate(cell.size()).0 * 100.0)),
                optional(one.spread.map(|spread| spread.n)),
                spread(|spread| spread.mean),
                spread(|spread| spread.min),
                spread(|spread| spread.max),
                spread(|spread| spread.stddev),
                limit.unwrap_or_default(),
                mix.clone(),
            ]));
        }
        for point in cell.points.iter().filter(|point| !point.invalid) {
            let mut record = place.to_vec();
            record.extend([
                format!("loss at {} fps", point.load),
                point.loss_percent.to_string(),
                "%".to_string(),
                results.l2_mbps(point.load, cell.size()).to_string(),
                point.load_percent.to_string(),
            ]);
            record.resize(COLUMNS.len() - 1, String::new());
            record.push(mix.clone());
            table.row(record);
        }
    }
    table
}

/// What stands behind the trial's place.
pub(super) fn of_trials<'a>() -> [Column<&'a TrialRecord>; 25] {
    [
        ("kind", |trial| trial.kind.clone()),
        // As fast as may be, or several loads at once: that is no number.
        ("load_fps", |trial| optional((trial.load > 0.0).then_some(trial.load))),
        ("duration_s", |trial| trial.duration.to_string()),
        ("intended_frames", |trial| trial.intended.to_string()),
        ("sent_frames", |trial| trial.sent.to_string()),
        ("received_frames", |trial| trial.received.to_string()),
        // More may have come than were sent: of a trial that is invalid.
        ("lost_frames", |trial| optional(trial.sent.checked_sub(trial.received))),
        ("duplicate_frames", |trial| trial.duplicate.to_string()),
        ("reordered_frames", |trial| trial.reordered.to_string()),
        ("reordering_extent_max", |trial| trial.extent_max.to_string()),
        ("gaps", |trial| trial.gaps.to_string()),
        ("corrupt_frames", |trial| trial.corrupt.to_string()),
        ("wrong_size_frames", |trial| trial.wrong_size.to_string()),
        ("stale_frames", |trial| trial.stale.to_string()),
        ("foreign_frames", |trial| trial.foreign.to_string()),
        ("sent_beside_frames", |trial| trial.beside.to_string()),
        ("flooded_frames", |trial| trial.flooded.to_string()),
        ("tester_ring_lost_frames", |trial| trial.tester_rx_drop.to_string()),
        ("latency_min_ns", |trial| optional(trial.latency.map(|latency| latency.min_ns))),
        ("latency_p50_ns", |trial| optional(trial.latency.map(|latency| latency.p50_ns))),
        ("latency_max_ns", |trial| optional(trial.latency.map(|latency| latency.max_ns))),
        ("stood_still_ns", |trial| trial.stood_still_ns.to_string()),
        ("stolen_ns", |trial| trial.stolen_ns.to_string()),
        ("outcome", |trial| trial.outcome.clone()),
        // Of each way received of sent, where there are several.
        ("directions", |trial| {
            let ways = trial.directions.iter().map(ToString::to_string);
            ways.collect::<Vec<String>>().join("; ")
        }),
    ]
}

/// All trials, in their order.
pub(crate) fn trials(results: &SuiteResults) -> Table {
    let place = ["configuration", "frame_size_l2_with_fcs", "procedure", "trial"];
    let heads = place.into_iter().chain(of_trials().map(|(name, _)| name)).chain(["mix"]);
    let mut table = Table::new(0, heads);
    for cell in &results.cells {
        for (i, trial) in cell.trials.iter().enumerate() {
            let size = results.cycle(cell.size()).mean_l2().to_string();
            let place =
                [cell.configuration.clone(), size, cell.procedure.clone(), (i + 1).to_string()];
            let mix = [cell.mix.clone().unwrap_or_default()];
            table.row(place.into_iter().chain(of_trial(trial)).chain(mix));
        }
    }
    table
}
