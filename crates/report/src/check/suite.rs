//! Results of suites: what no trial can have counted, and figures that contradict their trials.

use super::{Kind, Note};
use measure::SuiteResults;
use measure::result::Limit;
use measure::self_test::HEADROOM;
use measure::suite_result::{Cell, Figure};

/// Checks a file.
pub(super) fn check(results: &SuiteResults, note: &mut Note) {
    let mut note = |kind, text| note(None, kind, text);
    for fault in results.faults() {
        note(Kind::Impossible, fault);
    }
    if !results.complete {
        let why = results.incomplete_because.as_deref().unwrap_or("it is not known why");
        note(Kind::Ambiguous, format!("the run is incomplete: {why}"));
    }
    for cell in &results.cells {
        let place = format!("{}, {} byte, {}", cell.configuration, cell.frame_size, cell.procedure);
        let mut note = |kind, text: String| note(kind, format!("{place}: {text}"));
        limited(results, cell, &mut note);
        points(results, cell, &mut note);
        cell.figures.iter().for_each(|figure| spread(figure, &mut note));
        latencies(cell, &mut note);
        let valid = cell.trials.iter().filter(|trial| !trial.outcome.starts_with("invalid"));
        let has_figure = cell.figures.iter().any(|figure| figure.value.is_some());
        if !cell.trials.is_empty() && valid.count() == 0 && has_figure {
            let text = "it has figures, and not one valid trial".to_string();
            note(Kind::Ambiguous, text);
        }
    }
}

/// Whether a rate can be said to be the device's.
fn limited(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let Some(rate) = cell.figures.first().filter(|figure| figure.unit == "fps") else { return };
    let (Some(rate), Some(Limit::Device)) = (rate.value, cell.limited_by) else { return };
    let alone = results.self_tests.iter().find(|alone| alone.frame_size == cell.frame_size);
    if let Some(alone) = alone.filter(|alone| alone.rate < HEADROOM * rate && !results.virtual_time)
    {
        let times = alone.rate / rate;
        note(
            Kind::Inconsistent,
            format!(
                "{rate:.0} fps are said to be the device's limit, and the tester alone does only \
                 {times:.2} times that"
            ),
        );
    }
}

/// Loss against load: per cent are of the frames beside them.
fn points(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let wire = results.wire_rate(cell.frame_size).0;
    for point in &cell.points {
        let load = point.load_percent;
        if point.lost > point.sent {
            let text = format!("at {load:.0} %, {} frames lost of {}", point.lost, point.sent);
            note(Kind::Impossible, text);
            continue;
        }
        let exact = point.lost as f64 / (point.sent.max(1)) as f64 * 100.0;
        if (exact - point.loss_percent).abs() > 1e-6 {
            let (lost, sent, said) = (point.lost, point.sent, point.loss_percent);
            let text =
                format!("at {load:.0} %, {lost} of {sent} frames are {exact:.4} %, not {said}");
            note(Kind::Inconsistent, text);
        }
        if (point.load - wire * load / 100.0).abs() > wire * 1e-6 {
            let text = format!("{:.0} fps are not {load:.0} % of the wire's {wire:.0}", point.load);
            note(Kind::Inconsistent, text);
        }
    }
}

/// Of repetitions the mean is between the lowest and the highest.
fn spread(figure: &Figure, note: &mut impl FnMut(Kind, String)) {
    let Some(spread) = figure.spread else { return };
    let (low, high) = (spread.min * (1.0 - 1e-9), spread.max * (1.0 + 1e-9));
    for (what, value) in [("mean", spread.mean), ("median", spread.median)] {
        if value < low || value > high {
            let text = format!(
                "{}: the {what} {value} is not between {} and {}",
                figure.name, spread.min, spread.max
            );
            note(Kind::Inconsistent, text);
        }
    }
}

/// More frames are within a longer time.
fn latencies(cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let all = cell.figures.iter().filter(|figure| figure.name.starts_with("all frames "));
    let all: Vec<(&str, f64)> =
        all.filter_map(|figure| Some((figure.name.as_str(), figure.value?))).collect();
    for pair in all.windows(2) {
        let [(a, low), (b, high)] = pair else { continue };
        if low > high {
            note(Kind::Inconsistent, format!("{a}, {low:.0} ns, is above {b}, {high:.0} ns"));
        }
    }
    for trial in &cell.trials {
        let Some(latency) = trial.latency else { continue };
        let ordered = [latency.min_ns, latency.p50_ns, latency.p99_ns, latency.p999_ns];
        if !ordered.is_sorted() || latency.p999_ns > latency.max_ns {
            note(Kind::Inconsistent, format!("latencies out of order: {latency:?}"));
        }
    }
}
