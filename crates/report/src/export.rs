//! Records for other programs: a line for each thing measured, as CSV or JSON.
//!
//! ```text
//! device,mode,family,configuration,frame_size_l2_fcs,cores,…,pps,l1_mbps,l2_mbps,l3_mbps,…
//! ```
//!
//! Nothing is rounded; column names carry unit and layer.

// Of the iperf3 method.
mod iperf3;
// Of streams and directions of suites' trials.
mod parts;
// Of time series of suites.
mod series;
// Of suites.
mod suite;

pub(crate) use iperf3::records as iperf3;
pub(crate) use parts::records as suite_parts;
pub(crate) use series::records as suite_series;
pub(crate) use series::sentence;
pub(crate) use suite::{records as suite, trials as suite_trials};

use crate::document::{Column, Table, optional};
use measure::suite_result::TrialRecord;
use measure::{Mode, Results, Row};

fn columns<'a>() -> [Column<&'a Row>; 30] {
    [
        ("device", |row| row.device.clone()),
        ("mode", |row| row.mode.to_string().to_lowercase()),
        ("family", family),
        ("configuration", |row| row.configuration.clone()),
        ("frame_size_l2_with_fcs", |row| row.frame_size.to_string()),
        ("cores", |row| row.cores.to_string()),
        ("wire", |row| row.medium.wire.clone()),
        ("generator", |row| row.medium.generator.clone()),
        ("receiver", |row| row.medium.receiver.clone()),
        ("offered_frames", |row| row.offered.to_string()),
        ("sent_frames", |row| row.sent.to_string()),
        ("forwarded_frames", |row| row.forwarded.to_string()),
        ("lost_frames", |row| row.lost.to_string()),
        ("duration_s", |row| row.duration.to_string()),
        ("pps", |row| row.pps.to_string()),
        ("l1_mbps", |row| row.l1_mbps.to_string()),
        ("l2_mbps", |row| row.l2_mbps.to_string()),
        ("l3_mbps", |row| row.l3_mbps.to_string()),
        ("router_ns_per_packet", |row| optional(row.router_ns_per_packet)),
        ("fast_path_share", |row| optional(row.fast_path_share)),
        ("no_drop_pps", |row| optional(row.no_drop)),
        ("no_drop_limited_by", |row| {
            optional(row.no_drop_limited_by.or_else(|| row.limit_of_no_drop()))
        }),
        ("criterion", |row| row.criterion.clone().unwrap_or_default()),
        ("tester_pps", |row| optional(row.tester_pps)),
        ("latency_min_ns", |row| optional(row.latency.map(|latency| latency.min_ns))),
        ("latency_p50_ns", |row| optional(row.latency.map(|latency| latency.p50_ns))),
        ("latency_p999_ns", |row| optional(row.latency.map(|latency| latency.p999_ns))),
        ("verdict", |row| format!("{:?}", row.verdict).to_lowercase()),
        ("limited_by", |row| format!("{:?}", row.limited_by).to_lowercase()),
        ("remark", |row| row.remark.clone().unwrap_or_default()),
    ]
}

/// To a bridge all families are alike.
fn family(row: &Row) -> String {
    match row.mode {
        Mode::Bridging => String::new(),
        Mode::Routing => row.family.name().to_string(),
    }
}

/// All rows.
pub(crate) fn bench(results: &Results) -> Table {
    Table::records(&columns(), &results.rows)
}

/// Every trial of every row, in their order.
pub(crate) fn bench_trials(results: &Results) -> Table {
    let place = ["device", "mode", "family", "configuration"];
    let place = place.into_iter().chain(["frame_size_l2_with_fcs", "cores", "trial"]);
    let heads = place.chain(suite::of_trials().map(|(name, _)| name));
    let mut table = Table::new(0, heads);
    for row in &results.rows {
        for (n, trial) in (1..).zip(&row.trials) {
            let place = [
                row.device.clone(),
                row.mode.to_string().to_lowercase(),
                family(row),
                row.configuration.clone(),
                row.frame_size.to_string(),
                row.cores.to_string(),
                i32::to_string(&n),
            ];
            table.row(place.into_iter().chain(of_trial(trial)));
        }
    }
    table
}

/// What of a trial stands behind its place.
fn of_trial(trial: &TrialRecord) -> impl Iterator<Item = String> + use<'_> {
    suite::of_trials().into_iter().map(|(_, of)| of(trial))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::thousands;
    use crate::suite::whole;
    use crate::{bench as of_bench, iperf3 as of_iperf3, suite as of_suite};

    fn records(csv: &str) -> Vec<csv::StringRecord> {
        csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).collect()
    }

    /// Every figure of a suite, and every load, is a line that says its number exactly.
    #[test]
    fn every_figure_of_a_suite_is_there() {
        let results = of_suite::read(include_str!("../data/test-1.json")).unwrap();
        let records = records(&suite(&results).csv());
        let figures: usize = results.cells.iter().map(|cell| cell.figures.len()).sum();
        let loads: usize = results.cells.iter().map(|cell| cell.points.len()).sum();
        assert_eq!(records.len(), figures + loads);
        let markdown = of_suite::document(&results).markdown();
        for one in results.cells.iter().flat_map(|cell| &cell.figures) {
            let value = one.value.map_or(String::new(), |value| value.to_string());
            assert!(records.iter().any(|line| line[3] == *one.name && line[4] == value), "{one:?}");
            assert!(markdown.contains(&format!("| {} |", one.name)), "{one:?}");
        }
        assert!(markdown.contains("**Shortened:**"), "{markdown}");
    }

    /// Every trial is a line, and its integers are what the file has.
    #[test]
    fn every_trial_of_a_suite_is_there() {
        let mut results = of_suite::read(include_str!("../data/test-1.json")).unwrap();
        let trial = &mut results.cells[0].trials[0];
        (trial.reordered, trial.extent_max, trial.gaps) = (1, 2, 3);
        (trial.corrupt, trial.wrong_size, trial.stale) = (4, 5, 6);
        (trial.foreign, trial.tester_rx_drop) = (7, 8);
        let way = |from: u32, received: u64| {
            let (to, lost) = (3 - from, 500 - received);
            let text = format!(
                "{{\"from\":{from},\"to\":{to},\"intended\":500,\"sent\":500,\"received\":{received},\
                 \"lost\":{lost},\"elsewhere\":{lost}}}"
            );
            serde_json::from_str(&text).unwrap()
        };
        trial.directions = vec![way(1, 500), way(2, 460)];
        let csv = suite_trials(&results).csv();
        let records = records(&csv);
        let trials: Vec<_> = results.cells.iter().flat_map(|cell| &cell.trials).collect();
        assert_eq!(records.len(), trials.len());
        for (record, trial) in records.iter().zip(trials) {
            let of = |name| record[column(&csv, name)].parse::<u64>().unwrap();
            let lost = of("sent_frames") - of("received_frames");
            assert_eq!((of("sent_frames"), of("lost_frames")), (trial.sent, lost));
            for (name, value) in [
                ("reordered_frames", trial.reordered),
                ("reordering_extent_max", trial.extent_max),
                ("gaps", trial.gaps),
                ("corrupt_frames", trial.corrupt),
                ("wrong_size_frames", trial.wrong_size),
                ("stale_frames", trial.stale),
                ("foreign_frames", trial.foreign),
                ("tester_ring_lost_frames", trial.tester_rx_drop),
            ] {
                assert_eq!(of(name), value, "{name}");
            }
            assert_eq!(record[column(&csv, "outcome")], trial.outcome);
        }
        let ways = "1 to 2: 500 of 500; 2 to 1: 460 of 500, 40 elsewhere";
        let directions: Vec<&str> =
            records.iter().map(|line| &line[column(&csv, "directions")]).collect();
        assert_eq!(directions[..2], [ways, ""], "an older file's have none");
    }

    /// A line for each interval; what is read of it adds up to the trial.
    #[test]
    fn every_interval_of_a_time_series_is_there() {
        let mut results = of_suite::read(include_str!("../data/test-1.json")).unwrap();
        assert_eq!(suite_series(&results).csv().lines().count(), 1, "an older file has none");
        let (sent, received) = (vec![5, 5, 0], vec![4, 0, 3]);
        results.cells[0].trials[0].series = Some(measure::series::Series {
            interval_ns: 1_000_000,
            sent,
            received,
            latency_max_ns: vec![700, 0, 900],
            ..Default::default()
        });
        let csv = suite_series(&results).csv();
        let lines = records(&csv);
        let of = |name: &str| -> Vec<&str> {
            lines.iter().map(|line| &line[column(&csv, name)]).collect()
        };
        assert_eq!(of("begin_ns"), ["0", "1000000", "2000000"]);
        assert_eq!(of("not_back_frames"), ["1", "6", "3"]);
        assert_eq!((of("latency_max_ns"), of("data_bytes")), (vec!["700", "", "900"], vec![""; 3]));
        let markdown = of_suite::document(&results).markdown();
        let sentence =
            "3 intervals of 1.00 ms: 0 to 4,000 frames received per second, at most 900 ns late";
        assert!(markdown.contains(sentence), "{markdown}");
        let faults = results.faults().join("\n");
        assert!(faults.contains("a time series is not the sum of its trial"), "{faults}");
    }

    #[test]
    fn every_row_of_the_iperf3_method_is_there() {
        let results =
            crate::json::read::<measure::iperf3::Results>(include_str!("../data/iperf3-1.json"))
                .unwrap();
        let csv = iperf3(&results).csv();
        let checked = |csv: String| {
            let known = crate::check::Known::default();
            crate::check::check(&[("a.csv".to_string(), csv)], &known).findings
        };
        assert_eq!(checked(csv.clone()).len(), 0, "what we write is what we understand");
        let rate = results.rows[0].l2_mbps.to_string();
        assert_eq!(checked(csv.replace(&rate, "1.5")).len(), 1);
        let records = records(&csv);
        assert_eq!(records.len(), results.rows.len());
        for (record, row) in records.iter().zip(&results.rows) {
            let cell = |name| record[column(&csv, name)].to_string();
            let of = (cell("l3_mbps").parse(), cell("packet_l3").parse(), cell("rtt_max_ns"));
            assert_eq!(of, (Ok(row.l3_mbps), Ok(row.setting.packet), String::new()));
        }
        let markdown = of_iperf3::document(&results).markdown();
        for row in &results.rows {
            let line = format!("| {} | {} | ", row.setting.device, row.setting.packet);
            assert!(markdown.contains(&line), "{line} in {markdown}");
        }
        assert!(markdown.contains("| what | linux kernel |"), "{markdown}");
    }

    fn column(csv: &str, name: &str) -> usize {
        let mut names = csv.lines().next().unwrap().split(',');
        names.position(|column| column == name).unwrap_or_else(|| panic!("{name}"))
    }

    /// Of the committed runs: how long packets took, and what TCP made of paths.
    #[test]
    fn latencies_and_transfers_are_there() {
        let results = include_str!("../data/iperf3-1-latency.json");
        let results = crate::json::read::<measure::iperf3::Results>(results).unwrap();
        let (csv, markdown) = (iperf3(&results).csv(), of_iperf3::document(&results).markdown());
        let lines = records(&csv);
        assert_eq!(lines.len(), results.latencies.len());
        for (record, of) in lines.iter().zip(&results.latencies) {
            assert_eq!(&record[column(&csv, "kind")], "latency");
            assert_eq!(record[column(&csv, "rtt_median_ns")].parse(), Ok(of.median_ns));
            let row = format!("| {} | {} | {} | ", of.device, of.tool, whole(of.sent as f64));
            assert!(markdown.contains(&row), "{row} in {markdown}");
        }
        let results = include_str!("../data/iperf3-1-path.json");
        let results = crate::json::read::<measure::iperf3::Results>(results).unwrap();
        let (csv, markdown) = (iperf3(&results).csv(), of_iperf3::document(&results).markdown());
        let transfers = results.paths.iter().flat_map(|path| &path.transfers);
        let lines = records(&csv);
        assert_eq!(lines.len(), transfers.clone().count());
        for (record, of) in lines.iter().zip(transfers) {
            assert_eq!(&record[column(&csv, "kind")], "transfer");
            assert_eq!(record[column(&csv, "transfer_time_ratio")].parse(), Ok(of.ratio));
            assert_eq!(record[column(&csv, "path_mtu")].parse(), Ok(1500));
            let row = format!("| {:.3} | {:.3} | ", of.ratio, of.efficiency);
            assert!(markdown.contains(&row), "{row} in {markdown}");
        }
        assert!(markdown.contains("**Shortened:**"), "{markdown}");
    }

    /// The committed run of version 1: what is read is what is written out.
    #[test]
    fn every_row_of_a_run_is_there() {
        let text = include_str!("../../../results/2026-11-20-epyc-1-core.json");
        let results = crate::json::read::<Results>(text).unwrap();
        let csv = bench(&results).csv();
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), results.rows.len());
        let column = |name: &str| columns().iter().position(|(column, _)| *column == name).unwrap();
        for (record, row) in rows.iter().zip(&results.rows) {
            assert_eq!(record[column("pps")].parse(), Ok(row.pps));
            assert_eq!(record[column("lost_frames")].parse(), Ok(row.lost));
            assert_eq!(record[column("configuration")], row.configuration);
        }
        let markdown = of_bench::document(&results).markdown();
        for row in &results.rows {
            assert!(markdown.contains(&format!("| {} | ", thousands(row.kpps))), "{markdown}");
        }
    }
}
