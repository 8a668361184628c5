//! Rates and numbers of bridges and stateful devices against the trials that found them.
//!
//! ```text
//!  learning, broadcasts, establishment ◄─► the load of a trial that passed ≤ wire
//!  addresses, connections              ◄─► how many a trial that passed had
//!  loss under congestion               ◄─► its directions
//! ```

use super::super::Kind;
use super::figures::{close, value};
use super::is_valid;
use measure::SuiteResults;
use measure::suite_result::{Cell, TrialRecord, total};

/// Checks a cell.
pub(super) fn check(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    bounds(results, cell, note);
    let Some(first) = cell.figures.first() else { return };
    let Some(said) = first.value.filter(|_| !cell.trials.is_empty()) else { return };
    let mut wrong = |text: String| note(Kind::Inconsistent, text);
    let passed = || cell.trials.iter().filter(|trial| trial.outcome == "pass");
    let at = |of: fn(&TrialRecord) -> f64| passed().any(|trial| close(of(trial), said));
    let is_found = match cell.procedure.as_str() {
        "address-learning" | "broadcast" | "establishment" => at(|trial| trial.load),
        "address-caching" => at(|trial| trial.intended as f64),
        // A frame there, and one back.
        "capacity" => at(|trial| trial.intended as f64 / 2.0),
        "congestion" => return congestion(cell, &mut wrong),
        _ => return,
    };
    if !is_found {
        wrong(format!("{}: no trial passed with {said} {}", first.name, first.unit()));
    }
    if let Some(rate) = value(cell, "establishment rate at it")
        && !passed().any(|trial| close(trial.load, rate))
    {
        wrong(format!("establishment rate at it: no trial passed at {rate:.0} /s"));
    }
}

/// What nothing can be above, or below.
fn bounds(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let wire = results.wire_rate(cell.size()).0;
    // So do those that were tried: each begins with a frame of the cell's.
    let tried =
        cell.trials.iter().filter(|trial| trial.kind == "establish" || trial.kind == "learn");
    let tried = tried.map(|trial| trial.load).fold(0.0, f64::max);
    if tried > wire * 1.001 {
        let text = format!("a trial of {tried:.0} /s, and the wire carries {wire:.0} frames");
        note(Kind::Impossible, text);
    }
    let frame_each = ["address-learning", "establishment", "capacity"];
    for figure in &cell.figures {
        let Some(said) = figure.value else { continue };
        let (name, unit) = (&figure.name, figure.unit());
        // A connection or an address is a frame at least.
        if unit == "/s" && frame_each.contains(&cell.procedure.as_str()) && said > wire * 1.0001 {
            let text = format!("{name}: {said:.0} /s, and the wire carries {wire:.0} frames");
            note(Kind::Impossible, text);
        }
        let is_share = ["frame-loss", "congestion"].contains(&cell.procedure.as_str());
        if unit == "%" && is_share && said > 100.0 {
            note(Kind::Impossible, format!("{name}: {said} % is more than all"));
        }
        // Delay may vary to either side, and a round trip may be shorter than the quickest before.
        let has_sign = name.starts_with("IPDV") || name == "buffer delay";
        if said < 0.0 && !has_sign {
            note(Kind::Impossible, format!("{name}: {said} {unit} is below zero"));
        }
    }
}

/// Port 3 is free, all other frames go to port 4 (RFC 2889 §5.5).
fn congestion(cell: &Cell, wrong: &mut impl FnMut(String)) {
    let Some(trial) = cell.trials.last().filter(is_valid) else { return };
    for (start, is_free) in [("loss to the free port", true), ("loss to the congested port", false)]
    {
        let ways = || trial.directions.iter().filter(|way| (way.to == 3) == is_free);
        let (sent, lost) = (total(ways().map(|way| way.sent)), total(ways().map(|way| way.lost)));
        let exact = lost as f64 * 100.0 / sent.max(1) as f64;
        if let Some(said) = value(cell, start).filter(|said| sent > 0 && !close(*said, exact)) {
            wrong(format!("{start}: {said} %, and {lost} of {sent} frames were lost"));
        }
    }
}
