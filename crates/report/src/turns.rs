//! Devices beside each other: measured by turns, pinged through, and what they could not do.
//!
//! ```text
//! Mode     Configuration       64 byte: linux kernel   wirespeed on veth   ratio  least–most   verdict
//! Routing  25 ip filter rules            459.1 kpps          512.0 kpps   1.12x  1.05–1.20    faster
//! ```
//!
//! A ratio without a verdict is printed as such: it may be chance. Rates are marked as in the devices' own
//! tables: where the tester was the limit, the ratio is its own.

use crate::number::thousands;
use crate::table::{label, mark};
use measure::compare::{SIGNIFICANT, median};
use measure::result::Compared;
use measure::{Comparison, Results, Row};
use std::fmt::Write;

/// The tables there is something for; empty if there is nothing.
pub(crate) fn render(results: &Results) -> String {
    let mut out = comparisons(results) + &pings(results);
    for setup in &results.setups {
        let name = label(setup.mode, &setup.configuration);
        for remark in &setup.remarks {
            let _ = writeln!(out, "\n{}, {}, {name}: {remark}", setup.device, setup.mode);
        }
        if let Some(reason) = &setup.omitted {
            let _ = writeln!(out, "\n{} has no row {}, {name}: {reason}", setup.device, setup.mode);
        }
    }
    out
}

fn comparisons(results: &Results) -> String {
    let mut out = String::new();
    for Beside { base, device, lines, notes } in besides(results) {
        let head = ["Mode", "Configuration", "byte", base, device, "ratio", "least", "most", ""];
        let mut all = vec![head.map(str::to_string)];
        all.extend(lines);
        let _ = writeln!(out, "\n{device} against {base}: medians of trials by turns, in kpps\n");
        grid(&mut out, &all);
        out.push('\n');
        notes.iter().for_each(|note| out += &format!("{note}\n"));
    }
    out
}

/// Two devices that were compared.
pub(crate) struct Beside<'a> {
    pub(crate) base: &'a str,
    pub(crate) device: &'a str,
    /// Mode, configuration, bytes, both rates, ratio, its least and most, verdict.
    pub(crate) lines: Vec<[String; 9]>,
    /// What a reader must know of them.
    pub(crate) notes: Vec<String>,
}

/// All pairs of devices that were compared, in their order.
pub(crate) fn besides(results: &Results) -> Vec<Beside<'_>> {
    let mut all: Vec<Beside<'_>> = Vec::new();
    for compared in &results.comparisons {
        let pair = (compared.base.as_str(), compared.device.as_str());
        if all.iter().any(|known| (known.base, known.device) == pair) {
            continue;
        }
        let these = results.comparisons.iter();
        let these: Vec<_> =
            these.filter(|c| (c.base.as_str(), c.device.as_str()) == pair).collect();
        let (base, device) = pair;
        let mut notes = vec![format!(
            "ratio: the median of the turns' ratios, {device} by {base}; a verdict where equal \
             devices would seem\nas different in fewer than {:.0} of 100 runs (sign test)",
            100.0 * SIGNIFICANT
        )];
        if these.iter().any(|compared| limits(results, compared).contains(&"t")) {
            notes.push(
                "t: the tester was the bottleneck, so that the ratio is the tester's as much as the devices'; \
                 their own times, ns/packet, say more"
                    .to_string(),
            );
        }
        notes.extend(these.iter().filter_map(|compared| left_out(compared)));
        let lines = these.iter().map(|compared| line(results, compared)).collect();
        all.push(Beside { base, device, lines, notes });
    }
    all
}

/// Says so where turns were left out.
fn left_out(compared: &Compared) -> Option<String> {
    let Comparison { left_out, base_pps, .. } = &compared.comparison;
    let turns = base_pps.len() as u32 + left_out;
    let name = label(compared.mode, &compared.configuration);
    let (mode, size) = (compared.mode, compared.frame_size);
    (*left_out > 0).then(|| {
        format!(
            "left out: {left_out} of {turns} turns of {mode}, {name}, {size} byte: a trial was invalid"
        )
    })
}

/// What kept the rates of both from being higher, as the devices' own tables mark it.
fn limits(results: &Results, compared: &Compared) -> [&'static str; 2] {
    [&compared.base, &compared.device].map(|device| {
        let cell = (compared.mode, &compared.configuration, compared.frame_size);
        let is_it = |row: &&Row| {
            &row.device == device && (row.mode, &row.configuration, row.frame_size) == cell
        };
        results.rows.iter().find(is_it).map_or(" ", mark)
    })
}

fn line(results: &Results, compared: &Compared) -> [String; 9] {
    let comparison = &compared.comparison;
    let [base_mark, device_mark] = limits(results, compared);
    let rate = |rates: &[f64], mark: &str| {
        let mut rates = rates.to_vec();
        rates.sort_by(f64::total_cmp);
        median(&rates).map_or("-".to_string(), |pps| thousands(pps / 1e3) + mark)
    };
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
    [
        compared.mode.to_string(),
        label(compared.mode, &compared.configuration),
        compared.frame_size.to_string(),
        rate(&comparison.base_pps, base_mark),
        rate(&comparison.device_pps, device_mark),
        ratio(comparison.ratio),
        ratio(comparison.spread.map(|(least, _)| least)),
        ratio(comparison.spread.map(|(_, most)| most)),
        comparison.verdict.to_string(),
    ]
}

fn pings(results: &Results) -> String {
    let mut lines = vec![
        ["Mode", "Configuration", "Device", "sent", "answered", "median", "99 %"].map(String::from),
    ];
    for setup in &results.setups {
        let Some(ping) = setup.ping else { continue };
        let us = |ns: u64| format!("{} us", thousands(ns as f64 / 1e3));
        lines.push([
            setup.mode.to_string(),
            label(setup.mode, &setup.configuration),
            setup.device.clone(),
            ping.sent.to_string(),
            ping.answered.to_string(),
            us(ping.p50_ns),
            us(ping.p99_ns),
        ]);
    }
    if lines.len() == 1 {
        return String::new();
    }
    let mut out =
        "\nPings through the devices, one after the other, nothing else on the way\n\n".into();
    grid(&mut out, &lines);
    out
}

/// Columns as wide as they need to be: words to the left, numbers to the right.
fn grid<const N: usize>(out: &mut String, lines: &[[String; N]]) {
    let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
    let is_number = |i: usize| {
        lines
            .iter()
            .skip(1)
            .all(|line| line[i].starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    };
    for line in lines {
        let mut text = String::new();
        for (i, cell) in line.iter().enumerate() {
            let width = width(i);
            let _ = match is_number(i) {
                true => write!(text, "{cell:>width$}  "),
                false => write!(text, "{cell:<width$}  "),
            };
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_file() {
        let results = crate::json::read(include_str!("../data/bench-2.json")).unwrap();
        let expected = "
wirespeed on veth against linux: medians of trials by turns, in kpps

Mode     Configuration     byte   linux  wirespeed on veth  ratio  least  most
Routing  none (fast path)    64  500.0              875.0t   1.75   1.50  2.00  unclear

ratio: the median of the turns' ratios, wirespeed on veth by linux; a verdict where equal devices would seem
as different in fewer than 5 of 100 runs (sign test)
t: the tester was the bottleneck, so that the ratio is the tester's as much as the devices'; their own times, ns/packet, say more

Pings through the devices, one after the other, nothing else on the way

Mode     Configuration     Device  sent  answered   median     99 %
Routing  none (fast path)  linux   1000      1000  12.0 us  19.0 us

linux has no row Routing, fasttrack, 25 ip filter rules: this kernel has no flow tables
";
        assert_eq!(render(&results), expected);
    }

    #[test]
    fn remarks_are_said() {
        let mut results = crate::json::read(include_str!("../data/bench-2.json")).unwrap();
        results.setups[0].remarks = vec!["64 byte: it loses frames".to_string()];
        let (setup, printed) = (&results.setups[0], render(&results));
        let name = label(setup.mode, &setup.configuration);
        let expected =
            format!("\n{}, {}, {name}: 64 byte: it loses frames\n", setup.device, setup.mode);
        assert!(printed.contains(&expected), "{printed}");
    }

    #[test]
    fn turns_left_out_are_said() {
        let mut results = crate::json::read(include_str!("../data/bench-2.json")).unwrap();
        assert!(!render(&results).contains("left out"));
        let comparison = &mut results.comparisons[0].comparison;
        comparison.left_out = 3;
        let turns = comparison.base_pps.len() + 3;
        let expected = format!(
            "\nleft out: 3 of {turns} turns of Routing, none (fast path), 64 byte: a trial was \
             invalid\n"
        );
        let printed = render(&results);
        assert!(printed.contains(&expected), "{printed}");
        let text = crate::json::write(&results).unwrap();
        assert_eq!(crate::json::read(&text).unwrap(), results);
    }
}
