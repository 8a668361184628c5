//! Devices beside each other: measured by turns, pinged through, and what they could not do.
//!
//! Rates are marked as in the devices' own tables: where the tester was the limit, the ratio is its own.

use super::{Line, mark};
use crate::beside::{self, Beside};
use crate::document::{Document, Table, once};
use crate::number::thousands;
use measure::result::Compared;
use measure::{Comparison, Results, Row};

/// A table for each pair of devices that were compared, in their order.
pub(super) fn comparisons(document: &mut Document, results: &Results) {
    fn of(compared: &Compared) -> [&str; 2] {
        [&compared.base, &compared.device]
    }
    for pair in once(results.comparisons.iter().map(of)) {
        let these: Vec<_> = results.comparisons.iter().filter(|one| of(one) == pair).collect();
        let [base, device] = pair;
        document.heading(format!("{device} beside {base}: medians of trials by turns, in kpps"));
        let lines: Vec<Beside> = these.iter().map(|compared| beside(results, compared)).collect();
        let mut table = beside::table((2, &["Mode", "Configuration", "byte"]), pair, &lines);
        if lines.iter().any(|line| line.marks.contains(&"t")) {
            table.notes.push(
                "t: the tester was the bottleneck, so that the ratio is the tester's as much as the devices'; \
                 their own times, ns/packet, say more"
                    .to_string(),
            );
        }
        table.notes.extend(these.iter().filter_map(|compared| left_out(compared)));
        document.table(table);
    }
}

fn beside(results: &Results, compared: &Compared) -> Beside {
    let line = Line::of_compared(compared);
    Beside {
        words: vec![line.mode(), line.label(), compared.frame_size.to_string()],
        marks: limits(results, compared),
        comparison: compared.comparison.clone(),
        unit: 1e3,
        is_time: false,
    }
}

/// Says so where turns were left out.
fn left_out(compared: &Compared) -> Option<String> {
    let Comparison { left_out, base_pps, .. } = &compared.comparison;
    let turns = base_pps.len() as u32 + left_out;
    let (line, size) = (Line::of_compared(compared), compared.frame_size);
    let (mode, name) = (line.mode(), line.label());
    (*left_out > 0).then(|| {
        format!(
            "left out: {left_out} of {turns} turns of {mode}, {name}, {size} byte: a trial was invalid"
        )
    })
}

/// What kept the rates of both from being higher, as the devices' own tables mark it.
fn limits(results: &Results, compared: &Compared) -> [&'static str; 2] {
    [&compared.base, &compared.device].map(|device| {
        let line = Line::of_compared(compared);
        let is_it = |row: &&Row| {
            let cell = (&row.device, Line::of(row), row.frame_size);
            cell == (device, line, compared.frame_size)
        };
        results.rows.iter().find(is_it).map_or(" ", mark)
    })
}

/// How long one packet at a time took through each device.
pub(super) fn pings(document: &mut Document, results: &Results) {
    let heads = ["Mode", "Configuration", "Device", "sent", "answered", "median", "99 %"];
    let mut table = Table::new(3, heads);
    for setup in &results.setups {
        let Some(ping) = setup.ping else { continue };
        let us = |ns: u64| format!("{} us", thousands(ns as f64 / 1e3));
        let line = Line::of_setup(setup);
        table.row([
            line.mode(),
            line.label(),
            setup.device.clone(),
            ping.sent.to_string(),
            ping.answered.to_string(),
            us(ping.p50_ns),
            us(ping.p99_ns),
        ]);
    }
    if !table.rows.is_empty() {
        document.heading("Pings through the devices, one after the other, nothing else on the way");
        document.table(table);
    }
}

/// What devices could not do, and what is to be known of how they were set up.
pub(super) fn remarks(document: &mut Document, results: &Results) {
    for setup in &results.setups {
        let (device, line) = (&setup.device, Line::of_setup(setup));
        let (mode, name) = (line.mode(), line.label());
        for remark in &setup.remarks {
            document.note(format!("{device}, {mode}, {name}: {remark}"));
        }
        if let Some(reason) = &setup.omitted {
            document.note(format!("{device} has no row {mode}, {name}: {reason}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_file() {
        let results =
            crate::json::read::<Results>(include_str!("../../data/bench-2.json")).unwrap();
        let text = crate::bench::document(&results).text();
        for part in [
            "
wirespeed on veth beside linux: medians of trials by turns, in kpps
Mode     Configuration     byte  linux  wirespeed on veth   ratio  least  most  verdict
Routing  none (fast path)    64  500.0              875.0t   1.75   1.50  2.00  unclear

ratio: the median of the turns' ratios, wirespeed on veth by linux; a verdict where equal devices would",
            "
t: the tester was the bottleneck, so that the ratio is the tester's as much as the devices'; their own",
            "
Pings through the devices, one after the other, nothing else on the way
Mode     Configuration     Device  sent  answered   median     99 %
Routing  none (fast path)  linux   1000      1000  12.0 us  19.0 us
linux has no row Routing, fasttrack, 25 ip filter rules: this kernel has no flow tables
",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let page = crate::bench::document(&results).page();
        for part in [
            "<title>wirespeed on veth beside linux</title>",
            "<td>500.0</td><td>875.0<sup>t</sup></td><td>1.75</td><td>1.50</td>",
        ] {
            assert!(page.contains(part), "{part} in\n{page}");
        }
    }

    #[test]
    fn remarks_are_said() {
        let mut results =
            crate::json::read::<Results>(include_str!("../../data/bench-2.json")).unwrap();
        results.setups[0].remarks = vec!["64 byte: it loses frames".to_string()];
        let (setup, printed) = (&results.setups[0], crate::bench::document(&results).text());
        let name = Line::of_setup(setup).label();
        let expected =
            format!("\n{}, {}, {name}: 64 byte: it loses frames\n", setup.device, setup.mode);
        assert!(printed.contains(&expected), "{printed}");
    }

    #[test]
    fn turns_left_out_are_said() {
        let mut results =
            crate::json::read::<Results>(include_str!("../../data/bench-2.json")).unwrap();
        assert!(!crate::bench::document(&results).text().contains("left out"));
        let comparison = &mut results.comparisons[0].comparison;
        comparison.left_out = 3;
        let turns = comparison.base_pps.len() + 3;
        let expected = format!(
            "\nleft out: 3 of {turns} turns of Routing, none (fast path), 64 byte: a trial was \
             invalid\n"
        );
        let printed = crate::bench::document(&results).text();
        assert!(printed.contains(&expected), "{printed}");
        let text = crate::json::write(&results).unwrap();
        assert_eq!(crate::json::read::<Results>(&text).unwrap(), results);
    }
}
