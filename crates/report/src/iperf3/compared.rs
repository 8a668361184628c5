//! Two devices against each other: our router and the kernel, or the two that there are.
//!
//! ```text
//! medians of turns                   linux kernel  wirespeed router  ratio
//! TCP, one way, 1500 byte, Mbps(L3)       5,860.0           3,355.0   0.57
//! ping, median, µs                            5.0              10.0   2.00
//! ```
//!
//! A ratio says nothing by itself of whether more is better: of Mbps it is, of µs it is not.

use crate::document::{Cell, Document, Table};
use crate::number::thousands;
use measure::compare::median;
use measure::iperf3::Results;

/// The devices that are compared where others were measured, too, as results call them.
const DEVICES: [&str; 2] = ["linux kernel", "wirespeed router"];

/// What was measured through both devices: the medians of their turns, and the second's by the
/// first's. Nothing if there is nothing to compare.
pub(super) fn section(document: &mut Document, results: &Results) {
    let Some(devices) = devices(results) else { return };
    let all = compared(results, devices);
    let turns = all.iter().flat_map(|of| &of.turns).map(|turns| turns.spread().0).max();
    let Some(turns) = turns else { return };
    let [a, b] = devices;
    document.heading(format!("{b} beside {a}"));
    let what = if turns == 1 { "one turn of each" } else { "medians of turns" };
    let mut table = Table::new(1, [what, a, b, "ratio"]);
    for of in &all {
        let cell = |side: &Turns| {
            let (n, least, most) = side.spread();
            let aside = format!("{} to {}", thousands(least), thousands(most));
            let aside = if n > 1 { aside } else { String::new() };
            Cell { aside, ..Cell::from(thousands(side.median())) }
        };
        let [a, b] = of.turns.each_ref().map(cell);
        table.row([of.what.as_str().into(), a, b, format!("{:.2}", of.ratio()).into()]);
    }
    let what = match turns {
        1 => String::new(),
        n => format!("Medians of {n} turns, and the least and the most of them. "),
    };
    table
        .notes
        .push(format!("{what}Ratio: the second by the first. Of Mbps more is better, of µs less."));
    document.table(table);
}

/// Something that was measured through two devices.
pub(super) struct Pair {
    /// What, with its unit.
    what: String,
    /// Of each device.
    turns: [Turns; 2],
}

/// What came of a device's turns.
struct Turns {
    /// In ascending order.
    values: Vec<f64>,
}

impl Turns {
    /// The middle one.
    fn median(&self) -> f64 {
        median(&self.values).unwrap_or(f64::NAN)
    }

    /// How many there are, and the least and the greatest.
    fn spread(&self) -> (usize, f64, f64) {
        let n = self.values.len();
        (n, self.values.first().copied().unwrap_or(0.0), self.values.last().copied().unwrap_or(0.0))
    }
}

impl Pair {
    /// The second by the first.
    fn ratio(&self) -> f64 {
        self.turns[1].median() / self.turns[0].median()
    }
}

/// Which two devices are compared: our router with the kernel, or the two that there are.
fn devices(results: &Results) -> Option<[&str; 2]> {
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
pub(super) fn compared(results: &Results, devices: [&str; 2]) -> Vec<Pair> {
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
    let mut pairs: Vec<Pair> = Vec::new();
    for (what, ..) in &all {
        if pairs.iter().any(|of| of.what == *what) {
            continue;
        }
        let turns = devices.map(|device| {
            let turns = all.iter().filter(|(w, d, _)| w == what && *d == device);
            let mut values: Vec<f64> = turns.map(|(.., value)| *value).collect();
            values.sort_by(f64::total_cmp);
            Turns { values }
        });
        if turns.iter().all(|turns| !turns.values.is_empty()) {
            pairs.push(Pair { what: what.clone(), turns });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::iperf3::{Latency, Tool, Validity};

    fn results(latencies: &[(&str, Tool, u64)]) -> Results {
        let mut results = super::super::tests::read(super::super::tests::STORED).unwrap();
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

    fn shown(results: &Results) -> String {
        let mut document = Document::default();
        section(&mut document, results);
        document.text()
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
        let text = shown(&results);
        let line = text.lines().find(|line| line.starts_with("ping, median, µs")).unwrap();
        let words: Vec<_> = line.split_whitespace().skip(3).collect();
        assert_eq!(words, ["6.0", "10.0", "1.67"], "{text}");
        assert!(!text.contains("irtt"), "only one has it: {text}");
        assert!(text.contains("\nmedians of turns "), "{text}");
        let once = self::results(&[(linux, Tool::Ping, 5_000), (ours, Tool::Ping, 10_000)]);
        let text = shown(&once);
        assert!(text.contains("\none turn of each ") && !text.contains("medians"), "{text}");
        let text = super::super::document(&results).text();
        let line = text.lines().find(|line| line.starts_with("linux kernel      ping")).unwrap();
        let words: Vec<_> = line.split_whitespace().skip(2).collect();
        assert_eq!(words, ["ping", "10,000", "2", "0.0", "5.0", "5.0", "5.0", "2,000.0"]);
    }

    #[test]
    fn nothing_to_compare_is_nothing() {
        let none = results(&[]);
        assert_eq!(shown(&none), "");
        assert_eq!(shown(&results(&[(DEVICES[0], Tool::Ping, 1)])), "");
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
