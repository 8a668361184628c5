//! How long packets took, and our router beside the kernel.
//!
//! ```text
//! there and back            asked by      sent     lost  µs: least    median ...
//! linux kernel              ping        10,000        0        4.0       5.0
//! wirespeed router          ping        10,000        0        8.0      10.0
//!
//! medians of turns                           linux kernel  wirespeed router   ratio
//! TCP, one way, 1500 byte, Mbps(L3)               5,860.0           3,355.0    0.57
//! ping, median, µs                                    5.0              10.0    2.00
//! ```
//!
//! A ratio says nothing by itself of whether more is better: of Mbps it is, of µs it is not.

use crate::number::thousands;
use measure::compare::median;
use measure::iperf3::{Latency, Results};
use std::fmt::Write;

/// The devices of the second table, as results call them.
const DEVICES: [&str; 2] = ["linux kernel", "wirespeed router"];

/// Every measurement of how long packets took; nothing if there is none.
pub(super) fn latencies(results: &Results) -> String {
    let mut out = String::new();
    let us = |ns: u64| thousands(ns as f64 / 1e3);
    let whole = |n: u64| thousands(n as f64).trim_end_matches(".0").to_string();
    for (at, of) in results.latencies.iter().enumerate() {
        if at == 0 {
            let _ = writeln!(
                out,
                "\n{:<24}{:<8}{:>10}{:>9}{:>11}{:>10}{:>10}{:>10}{:>11}",
                "there and back",
                "asked by",
                "sent",
                "lost",
                "µs: least",
                "median",
                "mean",
                "99%",
                "most"
            );
        }
        let Latency { device, tool, sent, received, min_ns, median_ns, .. } = of;
        let _ = writeln!(
            out,
            "{device:<24}{tool:<8}{:>10}{:>9}{:>11}{:>10}{:>10}{:>10}{:>11}",
            whole(*sent),
            whole(sent.saturating_sub(*received)),
            us(*min_ns),
            us(*median_ns),
            us(of.mean_ns),
            us(of.p99_ns),
            us(of.max_ns)
        );
    }
    out
}

/// What was measured through both devices: the medians of their turns, and ours by the kernel's.
/// Nothing if there is nothing to compare.
pub(super) fn medians(results: &Results) -> String {
    // In order of their first appearance: what it is, of which device, and how much.
    let rows = results.rows.iter().map(|row| {
        let of = &row.setting;
        let what = format!("{}, {}, {} byte, Mbps(L3)", of.protocol, of.direction, of.packet);
        (what, of.device.as_str(), row.l3_mbps)
    });
    let times = results.latencies.iter().map(|of| {
        (format!("{}, median, µs", of.tool), of.device.as_str(), of.median_ns as f64 / 1e3)
    });
    let all: Vec<_> = rows.chain(times).collect();
    let of = |what: &str, device: &str| {
        let turns = all.iter().filter(|(w, d, _)| w == what && *d == device);
        let mut turns: Vec<f64> = turns.map(|(.., value)| *value).collect();
        turns.sort_by(f64::total_cmp);
        median(&turns)
    };
    let mut out = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for (what, ..) in &all {
        if seen.contains(&what.as_str()) {
            continue;
        }
        seen.push(what);
        let [Some(kernel), Some(ours)] = DEVICES.map(|device| of(what, device)) else { continue };
        if out.is_empty() {
            let [a, b] = DEVICES;
            let _ = writeln!(out, "\n{:<36}{a:>16}{b:>18}{:>8}", "medians of turns", "ratio");
        }
        let (a, b) = (thousands(kernel), thousands(ours));
        let _ = writeln!(out, "{what:<36}{a:>16}{b:>18}{:>8.2}", ours / kernel);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::iperf3::Tool;

    fn results(latencies: &[(&str, Tool, u64)]) -> Results {
        let mut results = super::super::read(super::super::tests::STORED).unwrap();
        let latency = |&(device, tool, median_ns): &(&str, Tool, u64)| Latency {
            device: device.to_string(),
            tool,
            command: String::new(),
            sent: 10_000,
            received: 9_998,
            min_ns: 1,
            median_ns,
            mean_ns: median_ns,
            p99_ns: median_ns,
            max_ns: 2_000_000,
        };
        results.rows.clear();
        results.latencies = latencies.iter().map(latency).collect();
        results
    }

    #[test]
    fn turns_have_their_medians() {
        let [linux, ours] = DEVICES;
        let results = results(&[
            (linux, Tool::Ping, 5_000),
            (ours, Tool::Ping, 10_000),
            (linux, Tool::Ping, 6_000),
            (ours, Tool::Ping, 12_000),
            (linux, Tool::Ping, 99_000),
            (ours, Tool::Ping, 3_000),
            (ours, Tool::Irtt, 1_000),
        ]);
        let text = medians(&results);
        let line = text.lines().find(|line| line.starts_with("ping, median, µs")).unwrap();
        let words: Vec<_> = line.split_whitespace().skip(3).collect();
        assert_eq!(words, ["6.0", "10.0", "1.67"], "{text}");
        assert!(!text.contains("irtt"), "only one has it: {text}");
        let text = latencies(&results);
        assert_eq!(text.lines().count(), 2 + 7, "{text}");
        let line = text.lines().find(|line| line.starts_with(linux)).unwrap();
        let words: Vec<_> = line.split_whitespace().skip(2).collect();
        assert_eq!(words, ["ping", "10,000", "2", "0.0", "5.0", "5.0", "5.0", "2,000.0"]);
    }

    #[test]
    fn nothing_to_compare_is_nothing() {
        let none = results(&[]);
        assert_eq!((latencies(&none), medians(&none)), (String::new(), String::new()));
        assert_eq!(medians(&results(&[(DEVICES[0], Tool::Ping, 1)])), "");
    }
}
