//! Directions of procedures that measure a time: each by itself, where several ports send.
//!
//! ```text
//!   by direction  byte  way     tagged, mean   p50  p99.9    max
//!   none            64  1 to 2         12 µs  12 µs  13 µs  15 µs
//!   none            64  2 to 1         14 µs  14 µs  15 µs  19 µs
//! ```
//!
//! Of the valid trials of a cell: what a column is of their values is in its head, medians where nothing
//! stands there. Older files do not say it of each.

use super::time;
use crate::document::{Cell as Shown, Table};
use measure::procedure::spread::Spread;
use measure::suite_result::{Cell, StreamRecord};
use std::collections::BTreeSet;

/// A column: its head, what a direction's part of a trial has there, what is taken of the trials'.
type Column = (&'static str, fn(&StreamRecord) -> Option<f64>, fn(&Spread) -> f64);

const LATENCY: [Column; 4] = [
    ("tagged, mean", |way| way.tagged.map(|all| all.p50_ns as f64), |all| all.mean),
    ("p50", |way| way.latency.map(|all| all.p50_ns as f64), |all| all.median),
    ("p99.9", |way| way.latency.map(|all| all.p999_ns as f64), |all| all.median),
    ("greatest", |way| way.latency.map(|all| all.max_ns as f64), |all| all.max),
];

const VARIATION: [Column; 4] = [
    ("PDV", |way| way.pdv_ns.map(|ns| ns as f64), |all| all.median),
    ("IPDV min", |way| way.ipdv.map(|all| all.min_ns as f64), |all| all.median),
    ("median", |way| way.ipdv.map(|all| all.median_ns as f64), |all| all.median),
    ("max", |way| way.ipdv.map(|all| all.max_ns as f64), |all| all.median),
];

const SILENCE: [Column; 2] = [
    ("longest silence, mean", |way| way.time_ns.map(|ns| ns as f64), |all| all.mean),
    ("of all trials", |way| way.time_ns.map(|ns| ns as f64), |all| all.max),
];

const RECOVERY: [Column; 2] =
    [("recovery, mean", recovered, |all| all.mean), ("longest", recovered, |all| all.max)];

/// How long it took where there was something to recover from. (Older files have 0 elsewhere.)
fn recovered(way: &StreamRecord) -> Option<f64> {
    way.time_ns.filter(|_| way.lost > 0).map(|ns| ns as f64)
}

/// A line for each direction of each cell; none where there is one direction only.
pub(crate) fn by_direction(cells: &[&Cell]) -> Table {
    let procedure = cells.first().map_or("", |cell| cell.procedure.as_str());
    let columns: &[Column] = match procedure {
        "latency" => &LATENCY,
        "delay-variation" => &VARIATION,
        "reset" => &SILENCE,
        "recovery" => &RECOVERY,
        _ => return Table::default(),
    };
    let heads = ["by direction", "byte", "way"].into_iter();
    let mut table = Table::new(1, heads.chain(columns.iter().map(|(head, ..)| *head)));
    for cell in cells {
        let valid = || cell.trials.iter().filter(|trial| trial.is_valid());
        let ways: BTreeSet<(u32, u32)> =
            valid().flat_map(|trial| &trial.directions).map(|way| (way.from, way.to)).collect();
        for (from, to) in ways {
            let of = |(_, value, pick): &Column| {
                let ways = valid().flat_map(|trial| &trial.directions);
                let here = ways.filter(|way| (way.from, way.to) == (from, to));
                Spread::of(&here.filter_map(value).collect::<Vec<f64>>()).map(|all| pick(&all))
            };
            let values: Vec<Option<f64>> = columns.iter().map(of).collect();
            if values.iter().any(Option::is_some) || procedure == "recovery" {
                let size = cell.size().to_string();
                let place = [cell.configuration.clone(), size, format!("{from} to {to}")];
                let values = values.into_iter().map(|ns| Shown::maybe(ns.map(time)));
                table.row(place.map(Shown::from).into_iter().chain(values));
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A direction that lost nothing had nothing to recover from, whatever its file says.
    #[test]
    fn no_recovery_without_an_overload() {
        let stored = include_str!("../../data/test-2-delays.json");
        let mut results = crate::suite::read(stored).unwrap();
        let cell = results.cells.iter_mut().find(|cell| cell.procedure == "reset").unwrap();
        cell.procedure = "recovery".to_string();
        for (n, way) in cell.trials.iter_mut().flat_map(|trial| &mut trial.directions).enumerate() {
            (way.lost, way.time_ns) = [(0, Some(0)), (7, Some(15_000))][n % 2];
        }
        let rows = by_direction(&[cell]).rows;
        let shown: Vec<&[Shown]> = rows.iter().map(|line| &line[2..]).collect();
        let expected = [["1 to 2", "-", "-"], ["2 to 1", "15.0 µs", "15.0 µs"]];
        assert_eq!(shown, expected.map(|line| line.map(Shown::from)));
    }
}
