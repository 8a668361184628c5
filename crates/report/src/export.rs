//! Results for other programs: CSV, and Markdown for whoever writes about them.
//!
//! ```text
//! device,mode,configuration,frame_size_l2_fcs,cores,…,pps,l1_mbps,l2_mbps,l3_mbps,…
//! ```
//!
//! A line for each row, nothing rounded in CSV; column names carry unit and layer.

// The same of the iperf3 method.
mod iperf3;
// Streams and directions of suites' trials.
mod parts;
// Time series of suites.
mod series;
// The same of suites.
mod suite;

pub use iperf3::{iperf3_csv, iperf3_markdown};
pub use parts::suite_parts;
pub use series::suite_series;
pub(crate) use suite::markdown as markdown_table;
pub use suite::{suite_csv, suite_markdown, suite_trials};

use crate::table::{label, mark, rate};
use measure::{Results, Row};
use std::fmt::Write;

/// A column of the CSV: its name, and how a row has it.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 29] = [
    ("device", |row| row.device.clone()),
    ("mode", |row| row.mode.to_string().to_lowercase()),
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
];

pub(crate) fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// All rows as CSV (RFC 4180), with a header.
pub fn csv(results: &Results) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Into memory nothing fails.
    let _ = writer.write_record(COLUMNS.iter().map(|(name, _)| *name));
    for row in &results.rows {
        let _ = writer.write_record(COLUMNS.iter().map(|(_, of)| of(row)));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Every trial of every row as CSV (RFC 4180), in their order, nothing rounded.
pub fn trials(results: &Results) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let place = ["device", "mode", "configuration", "frame_size_l2_with_fcs", "cores", "trial"];
    // Into memory nothing fails.
    let _ =
        writer.write_record(place.into_iter().chain(suite::TRIAL.iter().map(|(name, _)| *name)));
    for row in &results.rows {
        for (n, trial) in (1..).zip(&row.trials) {
            let place = [
                row.device.clone(),
                row.mode.to_string().to_lowercase(),
                row.configuration.clone(),
                row.frame_size.to_string(),
                row.cores.to_string(),
                i32::to_string(&n),
            ];
            let of_trial = suite::TRIAL.iter().map(|(_, of)| of(trial));
            let _ = writer.write_record(place.into_iter().chain(of_trial));
        }
    }
    String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()).into_owned()
}

/// All rows as a Markdown table, with where and how they were measured.
pub fn markdown(results: &Results) -> String {
    let mut out = String::from(
        "| device | mode | configuration | frame (L2 with FCS) | cores | kpps | Mbps (L2) | limited by |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n",
    );
    for row in &results.rows {
        let mark = mark(row).trim();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {}{mark} | {} | {:?} |",
            escaped(&row.device),
            row.mode,
            escaped(&label(row.mode, &row.configuration)),
            row.frame_size,
            row.cores,
            rate(row, row.kpps),
            rate(row, row.l2_mbps),
            row.limited_by,
        );
    }
    let environment = &results.environment;
    let _ = writeln!(
        out,
        "\n{}, {} cores, {}; commit {}, {}; `{}`",
        escaped(&environment.cpu),
        environment.cores,
        escaped(&environment.kernel),
        environment.commit,
        environment.timestamp,
        environment.command.replace('`', "'"),
    );
    out
}

/// A table's cell ends at a bar.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(csv: &str) -> Vec<csv::StringRecord> {
        csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).collect()
    }

    /// Every figure of a suite, and every load, is a line that says its number exactly.
    #[test]
    fn every_figure_of_a_suite_is_there() {
        let results = crate::suite::read(include_str!("../data/test-1.json")).unwrap();
        let records = records(&suite_csv(&results));
        let figures: usize = results.cells.iter().map(|cell| cell.figures.len()).sum();
        let loads: usize = results.cells.iter().map(|cell| cell.points.len()).sum();
        assert_eq!(records.len(), figures + loads);
        let markdown = suite_markdown(&results);
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
        let mut results = crate::suite::read(include_str!("../data/test-1.json")).unwrap();
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
        let csv = suite_trials(&results);
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
        let mut results = crate::suite::read(include_str!("../data/test-1.json")).unwrap();
        assert_eq!(suite_series(&results).lines().count(), 1, "an older file has none");
        let (sent, received) = (vec![5, 5, 0], vec![4, 0, 3]);
        results.cells[0].trials[0].series = Some(measure::series::Series {
            interval_ns: 1_000_000,
            sent,
            received,
            latency_max_ns: vec![700, 0, 900],
            ..Default::default()
        });
        let csv = suite_series(&results);
        let lines = records(&csv);
        let of = |name: &str| -> Vec<&str> {
            lines.iter().map(|line| &line[column(&csv, name)]).collect()
        };
        assert_eq!(of("begin_ns"), ["0", "1000000", "2000000"]);
        assert_eq!(of("not_back_frames"), ["1", "6", "3"]);
        assert_eq!((of("latency_max_ns"), of("data_bytes")), (vec!["700", "", "900"], vec![""; 3]));
        let markdown = suite_markdown(&results);
        let sentence =
            "3 intervals of 1.00 ms: 0 to 4,000 frames received per second, at most 900 ns late";
        assert!(markdown.contains(sentence), "{markdown}");
        let faults = results.faults().join("\n");
        assert!(faults.contains("a time series is not the sum of its trial"), "{faults}");
    }

    #[test]
    fn every_row_of_the_iperf3_method_is_there() {
        let results = crate::iperf3::read(include_str!("../data/iperf3-1.json")).unwrap();
        let csv = iperf3_csv(&results);
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
        let markdown = iperf3_markdown(&results);
        let lines = markdown.lines().filter(|line| line.contains("| TCP |")).count();
        assert_eq!(lines, results.rows.len(), "{markdown}");
        assert!(markdown.contains("| medians of turns | linux kernel |"), "{markdown}");
    }

    fn column(csv: &str, name: &str) -> usize {
        let mut names = csv.lines().next().unwrap().split(',');
        names.position(|column| column == name).unwrap_or_else(|| panic!("{name}"))
    }

    /// Of the committed runs: how long packets took, and what TCP made of paths.
    #[test]
    fn latencies_and_transfers_are_there() {
        let results = include_str!("../../../results/2026-11-22-latency-beside-the-kernel.json");
        let results = crate::iperf3::read(results).unwrap();
        let (csv, markdown) = (iperf3_csv(&results), iperf3_markdown(&results));
        let lines = records(&csv);
        assert_eq!(lines.len(), results.latencies.len());
        for (record, of) in lines.iter().zip(&results.latencies) {
            assert_eq!(&record[column(&csv, "kind")], "latency");
            assert_eq!(record[column(&csv, "rtt_median_ns")].parse(), Ok(of.median_ns));
            let row = format!("| {} | {} | {} | ", of.device, of.tool, of.sent);
            assert!(markdown.contains(&row), "{row} in {markdown}");
        }
        let results = include_str!("../../../results/2026-11-22-rfc6349-hosts-quick.json");
        let results = crate::iperf3::read(results).unwrap();
        let (csv, markdown) = (iperf3_csv(&results), iperf3_markdown(&results));
        let transfers = results.paths.iter().flat_map(|path| &path.transfers);
        let lines = records(&csv);
        assert_eq!(lines.len(), transfers.clone().count());
        for (record, of) in lines.iter().zip(transfers) {
            assert_eq!(&record[column(&csv, "kind")], "transfer");
            assert_eq!(record[column(&csv, "transfer_time_ratio")].parse(), Ok(of.ratio));
            assert_eq!(record[column(&csv, "path_mtu")].parse(), Ok(1500));
            let row = format!("| {} | {} | ", of.window, of.connections);
            assert!(markdown.contains(&row), "{row} in {markdown}");
        }
        assert!(markdown.contains("**Shortened:**"), "{markdown}");
    }

    /// The committed run of version 1: what is read is what is written out.
    #[test]
    fn every_row_of_a_run_is_there() {
        let text = include_str!("../../../results/2026-11-20-epyc-1-core.json");
        let results = crate::read(text).unwrap();
        let csv = csv(&results);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), results.rows.len());
        let column = |name: &str| COLUMNS.iter().position(|(column, _)| *column == name).unwrap();
        for (record, row) in rows.iter().zip(&results.rows) {
            assert_eq!(record[column("pps")].parse(), Ok(row.pps));
            assert_eq!(record[column("lost_frames")].parse(), Ok(row.lost));
            assert_eq!(record[column("configuration")], row.configuration);
        }
        let markdown = markdown(&results);
        assert_eq!(markdown.lines().count(), results.rows.len() + 4, "{markdown}");
        assert!(markdown.contains("| Routing | none (fast path) | 64 | 1 |"), "{markdown}");
        let bars = |line: &str| line.matches('|').count();
        assert!(markdown.lines().take(results.rows.len() + 2).all(|line| bars(line) == 9));
    }
}
