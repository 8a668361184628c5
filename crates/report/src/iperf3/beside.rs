//! How long packets took, and one device beside another: our router beside the kernel.
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

/// The devices that are compared where others were measured, too, as results call them.
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
        let mark = super::mark(of.validity.invalid.as_ref());
        let _ = writeln!(
            out,
            "{device:<24}{tool:<8}{:>10}{:>9}{:>11}{:>10}{:>10}{:>10}{:>11}{mark}",
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

/// Something that was measured through two devices.
pub(crate) struct Beside {
    /// What, with its unit.
    pub(crate) what: String,
    /// Of each device.
    pub(crate) turns: [Turns; 2],
}

/// What came of a device's turns.
pub(crate) struct Turns {
    /// In ascending order.
    values: Vec<f64>,
}

impl Turns {
    /// The middle one.
    pub(crate) fn median(&self) -> f64 {
        median(&self.values).unwrap_or(f64::NAN)
    }

    /// How many there are, and the least and the greatest.
    pub(crate) fn spread(&self) -> (usize, f64, f64) {
        let n = self.values.len();
        (n, self.values.first().copied().unwrap_or(0.0), self.values.last().copied().unwrap_or(0.0))
    }
}

impl Beside {
    /// The second by the first.
    pub(crate) fn ratio(&self) -> f64 {
        self.turns[1].median() / self.turns[0].median()
    }
}

/// Which two devices are compared: our router with the kernel, or the two that there are.
pub(crate) fn devices(results: &Results) -> Option<[&str; 2]> {
    let mut devices: Vec<&str> = Vec::new();
    let rows = results.rows.iter().map(|row| row.setting.device.as_str());
    for device in rows.chain(results.latencies.iter().map(|of| of.device.as_str())) {
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    if DEVICES.iter().all(|device| devices.contains(device)) {
        return Some(DEVICES);
    }
    devices.try_into().ok()
}

/// All that was measured through these two, and is valid.
pub(crate) fn compared(results: &Results, devices: [&str; 2]) -> Vec<Beside> {
    // In order of their first appearance: what it is, of which device, and how much.
    let rows = results.rows.iter().filter(|row| row.validity.is_valid()).map(|row| {
        let of = &row.setting;
        let what = format!("{}, {}, {} byte, Mbps(L3)", of.protocol, of.direction, of.packet);
        (what, of.device.as_str(), row.l3_mbps)
    });
    let times = results.latencies.iter().filter(|of| of.validity.is_valid()).map(|of| {
        (format!("{}, median, µs", of.tool), of.device.as_str(), of.median_ns as f64 / 1e3)
    });
    let all: Vec<_> = rows.chain(times).collect();
    let mut besides: Vec<Beside> = Vec::new();
    for (what, ..) in &all {
        if besides.iter().any(|of| of.what == *what) {
            continue;
        }
        let turns = devices.map(|device| {
            let turns = all.iter().filter(|(w, d, _)| w == what && *d == device);
            let mut values: Vec<f64> = turns.map(|(.., value)| *value).collect();
            values.sort_by(f64::total_cmp);
            Turns { values }
        });
        if turns.iter().all(|turns| !turns.values.is_empty()) {
            besides.push(Beside { what: what.clone(), turns });
        }
    }
    besides
}

/// What was measured through both devices: the medians of their turns, and the second's by the
/// first's. Nothing if there is nothing to compare.
pub(super) fn medians(results: &Results) -> String {
    let mut out = String::new();
    let Some(devices) = devices(results) else { return out };
    let all = compared(results, devices);
    let is_one = all.iter().flat_map(|of| &of.turns).all(|turns| turns.spread().0 == 1);
    let what = if is_one { "one turn of each" } else { "medians of turns" };
    for of in all {
        if out.is_empty() {
            let [a, b] = devices;
            let _ = writeln!(out, "\n{what:<36}{a:>16}{b:>18}{:>8}", "ratio");
        }
        let [a, b] = of.turns.each_ref().map(|turns| thousands(turns.median()));
        let _ = writeln!(out, "{:<36}{a:>16}{b:>18}{:>8.2}", of.what, of.ratio());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::iperf3::{Tool, Validity};

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
            histogram: Vec::new(),
            took_ns: 0,
            validity: Validity::default(),
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
        assert!(text.contains("\nmedians of turns "), "{text}");
        let once = self::results(&[(linux, Tool::Ping, 5_000), (ours, Tool::Ping, 10_000)]);
        let text = medians(&once);
        assert!(text.contains("\none turn of each ") && !text.contains("medians"), "{text}");
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

    #[test]
    fn two_devices_are_compared_whatever_they_are() {
        let [linux, ours] = DEVICES;
        let (direct, other) = ("node to node", "external");
        for (measured, expected) in [
            (&[direct, other][..], Some([direct, other])),
            (&[direct, linux, ours], Some(DEVICES)),
            (&[direct, other, linux], None),
        ] {
            let all: Vec<_> = measured.iter().map(|of| (*of, Tool::Ping, 1)).collect();
            assert_eq!(devices(&results(&all)), expected);
        }
    }
}
