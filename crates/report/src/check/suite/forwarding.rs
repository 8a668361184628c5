//! Forwarding rates (RFC 2285 §3.6, RFC 2889 §5.1), and whether a full mesh is one.
//!
//! ```text
//!  MOL ◄─► load of a trial      FRMOL ◄─► frames that came back of it, a second
//!  MFR ◄─► the most of any      directions ◄─► every port to every other, by turns
//! ```

use super::super::Kind;
use super::is_valid;
use measure::SuiteResults;
use measure::suite_result::{Cell, TrialRecord};

/// Checks a cell.
pub(super) fn check(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let mut wrong = |text: String| note(Kind::Inconsistent, text);
    if let Some(destinations) = destinations(results) {
        let steady = cell.trials.iter().filter(is_valid).filter(|trial| trial.kind == "steady");
        steady.for_each(|trial| meshed(results, destinations, trial, &mut wrong));
    }
    if cell.procedure == "forwarding" {
        rates(results, cell, &mut wrong);
    }
}

/// To how many ports each of those that send does, if it is a mesh.
pub(super) fn destinations(results: &SuiteResults) -> Option<u32> {
    match results.fully_meshed {
        true => Some(results.senders.saturating_sub(1)),
        false => results.destinations,
    }
}

/// Each port that sends does so to as many, in a full mesh to every other, frame by frame by turns: to none
/// a frame more than one more.
fn meshed(
    results: &SuiteResults,
    destinations: u32,
    trial: &TrialRecord,
    wrong: &mut impl FnMut(String),
) {
    let (load, ports) = (trial.load, results.senders);
    // From one port to one there is no direction but that of all.
    if ports.saturating_mul(destinations) < 2 {
        return;
    }
    for from in 1..=ports {
        let ways = || trial.directions.iter().filter(|way| way.from == from);
        let mut others: Vec<u32> = ways().map(|way| way.to).collect();
        others.sort_unstable();
        let is_one = match results.fully_meshed {
            true => others == (1..=ports).filter(|to| *to != from).collect::<Vec<_>>(),
            false => others.len() == destinations as usize && others.is_sorted_by(|a, b| a < b),
        };
        if !is_one {
            let (mesh, every) = match results.fully_meshed {
                true => ("fully meshed", "every other once".to_string()),
                false => ("partially meshed", format!("{destinations} others")),
            };
            wrong(format!(
                "{mesh}, and at {load:.0} fps port {from} of {ports} sent to {others:?} instead of {every}"
            ));
            return;
        }
        let (least, most) = (ways().map(|way| way.sent).min(), ways().map(|way| way.sent).max());
        if let (Some(least), Some(most)) = (least, most)
            && most - least > 1
        {
            wrong(format!(
                "meshed, and at {load:.0} fps port {from} sent {least} frames to one port and {most} to \
                 another, by turns"
            ));
        }
    }
}

/// The figures against the trials that they are of. How long the last frames took to come is not
/// kept: it makes a rate less, never more.
fn rates(results: &SuiteResults, cell: &Cell, wrong: &mut impl FnMut(String)) {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
    let figure = |start: &str| cell.figures.iter().find(|one| one.name.starts_with(start))?.value;
    let at_most = |trial: &TrialRecord| match trial.outcome.as_str() {
        "pass" => trial.load * f64::from(results.senders),
        _ => trial.received as f64 / trial.duration,
    };
    let at = |load: f64| cell.trials.iter().filter(move |trial| close(trial.load, load));
    let all_at = |load: f64| at(load).map(at_most).reduce(f64::max);
    for (rate, load) in [("FRMOL[", "MOL ("), ("MFR[", "load at MFR")] {
        let (Some(value), Some(load_of)) = (figure(rate), figure(load)) else { continue };
        let name = rate.trim_end_matches('[');
        match all_at(load_of) {
            None => wrong(format!("{name} at {load_of:.0} fps: no trial had that load")),
            Some(most) if value > most * (1.0 + 1e-6) => wrong(format!(
                "{name}: {value:.0} fps in all, and of {load_of:.0} from each port no more than \
                 {most:.0} came back"
            )),
            // All that was sent is forwarded: by this there is nothing to be waited for, but a queue, for
            // more than a hundredth of the time.
            Some(most)
                if at(load_of).all(|t| t.outcome == "pass")
                    && !close(value, most)
                    && value * 1.01 > most =>
            {
                wrong(format!(
                    "{name}: {value:.0} fps in all, and all {most:.0} came back of {load_of:.0} from \
                     each port"
                ));
            }
            Some(_) => {}
        }
    }
    if let (Some(frmol), Some(mfr)) = (figure("FRMOL["), figure("MFR["))
        && frmol > mfr * (1.0 + 1e-6)
    {
        wrong(format!("FRMOL: {frmol:.0} fps, above the MFR of {mfr:.0}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::suite_result::{DirectionRecord, Figure};

    /// A trial of three ports at 100 frames a second each, for a second, of which so many came.
    fn meshed_trial(received: u64) -> TrialRecord {
        let way = |from: u32, to: u32| DirectionRecord {
            from,
            to,
            sent: 50,
            received: 50,
            ..DirectionRecord::default()
        };
        let pairs = [(1, 2), (1, 3), (2, 3), (2, 1), (3, 1), (3, 2)];
        TrialRecord {
            directions: pairs.map(|(from, to)| way(from, to)).into(),
            received,
            ..plain()
        }
    }

    fn plain() -> TrialRecord {
        let stored = crate::suite::read(include_str!("../../../data/test-2.json")).unwrap();
        let trial = stored.cells[0].trials[0].clone();
        let (kind, outcome) = ("steady".to_string(), "pass".to_string());
        let (load, duration, intended, sent) = (100.0, 1.0, 300, 300);
        TrialRecord { kind, outcome, load, duration, intended, sent, ..trial }
    }

    /// Of a partial mesh each port that sends has its turns, too.
    #[test]
    fn half_a_mesh_has_as_many_ways() {
        let mut results = crate::suite::read(include_str!("../../../data/test-2.json")).unwrap();
        (results.senders, results.destinations) = (2, Some(2));
        let told = |change: fn(&mut TrialRecord)| {
            let mut trial = meshed_trial(200);
            trial.directions.truncate(3);
            trial.directions.push(DirectionRecord {
                from: 2,
                to: 4,
                ..trial.directions[0].clone()
            });
            change(&mut trial);
            let cell = Cell { trials: vec![trial], ..results.cells[0].clone() };
            let mut told = String::new();
            check(&results, &cell, &mut |_, text| told += &text);
            told
        };
        assert_eq!(told(|_| {}), "");
        let one = told(|trial| trial.directions.truncate(3));
        assert!(one.contains("port 2 of 2 sent to [3] instead of 2 others"), "{one}");
        let uneven = told(|trial| trial.directions[0].sent = 52);
        assert!(uneven.contains("port 1 sent 50 frames to one port and 52"), "{uneven}");
        (results.senders, results.destinations) = (3, Some(1));
        let cell = Cell { trials: vec![meshed_trial(300)], ..results.cells[0].clone() };
        let mut told = String::new();
        check(&results, &cell, &mut |_, text| told += &text);
        assert!(told.contains("port 1 of 3 sent to [2, 3] instead of 1 others"), "{told}");
    }

    #[test]
    fn a_mesh_has_all_ways_and_each_its_turn() {
        type Change = fn(&mut Cell);
        let cases: [(Change, &str); 8] = [
            (|_| {}, ""),
            (|c| c.trials[0].directions[0].sent = 51, ""),
            (|c| c.trials[0].directions[0].sent = 52, "port 1 sent 50 frames to one port and 52"),
            (|c| c.trials[0].directions[3].to = 3, "port 2 of 3 sent to [3, 3] instead"),
            (|c| c.trials[0].directions.truncate(5), "port 3 of 3 sent to [1] instead"),
            (|c| c.figures[1].value = Some(301.0), "FRMOL: 301 fps in all, and of 100 from each"),
            (|c| c.figures[2].value = Some(299.0), "MFR: 299 fps in all, and all 300 came back"),
            (|c| c.figures[3].value = Some(90.0), "MFR at 90 fps: no trial had that load"),
        ];
        for (change, expected) in cases {
            let mut results =
                crate::suite::read(include_str!("../../../data/test-2.json")).unwrap();
            (results.senders, results.fully_meshed) = (3, true);
            let figure = |name: &str, value| Figure::of(name, Some(value), "fps");
            let mut cell = Cell {
                procedure: "forwarding".to_string(),
                figures: vec![
                    figure("MOL (this tester's, from each port)", 100.0),
                    figure("FRMOL[rfc2889 1s, fully meshed, 3 ports]", 300.0),
                    figure("MFR[rfc2889 1s, fully meshed, 3 ports]", 300.0),
                    figure("load at MFR", 100.0),
                ],
                trials: vec![meshed_trial(300)],
                ..results.cells[0].clone()
            };
            change(&mut cell);
            let mut told = String::new();
            check(&results, &cell, &mut |_, text| told += &(text + "\n"));
            assert_eq!(told.is_empty(), expected.is_empty(), "{expected}: {told}");
            assert!(told.contains(expected), "{expected}: {told}");
        }
    }
}
