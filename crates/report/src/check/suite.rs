//! Results of suites: what no trial can have counted, and figures that contradict their trials.
//!
//! ```text
//!  file ─► cell ─┬ trials: sent = load x seconds x ports, latencies = frames received
//!                ├ figures: a throughput is a load that passed, and none above it did
//!                ├ histogram: as many as its trials have
//!                └ names that nothing of ours writes: a warning
//!  cells of one configuration and size ─► together
//! ```

// Latencies of streams and directions.
mod delays;
// Each figure against what its cell says it is made of.
mod figures;
// Forwarding rates, and whether a full mesh is one.
mod forwarding;
// Names that something of ours writes.
mod names;
// Throughputs against the searches that found them.
mod searches;
// Of streams and replays, against the trial that counted them.
mod streams;
// Of TCP connections and paths.
mod tcp;
// Of bridges and stateful devices.
mod rates;
// What procedures of one configuration and size say of each other.
mod together;

use super::{Kind, Note};
use measure::SuiteResults;
use measure::procedure::spread::Spread;
use measure::result::Limit;
use measure::self_test::HEADROOM;
use measure::suite_result::{AloneTried, Cell, Figure, TesterAlone, TrialRecord};

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
        let place = format!("{}, {}, {}", cell.configuration, cell.size().words(), cell.procedure);
        let mut note = |kind, text: String| note(kind, format!("{place}: {text}"));
        limited(results, cell, &mut note);
        alone(results, cell, &mut note);
        size(results, cell, &mut note);
        points(results, cell, &mut note);
        loads(results, cell, &mut note);
        searches::check(cell, &mut |text| note(Kind::Inconsistent, text));
        histogram(cell, &mut note);
        cell.figures.iter().for_each(|figure| spread(figure, &mut note));
        latencies(cell, &mut note);
        floor(results, cell, &mut note);
        figures::check(results, cell, &mut note);
        forwarding::check(results, cell, &mut note);
        streams::check(results, cell, &mut note);
        tcp::check(results, cell, &mut note);
        rates::check(results, cell, &mut note);
        names::check(cell, &mut note);
        delays::check(cell, results.exact_extremes, &mut note);
        let valid = cell.trials.iter().filter(is_valid);
        // At which load it was to be is none that was found.
        let is_found = |name: &str| !matches!(name, "load" | "overload");
        let has_figure =
            cell.figures.iter().any(|figure| figure.value.is_some() && is_found(&figure.name));
        if !cell.trials.is_empty() && valid.count() == 0 && has_figure {
            let text = "it has figures, and not one valid trial".to_string();
            note(Kind::Ambiguous, text);
        }
    }
    testers(results, &mut note);
    figures::twice(results, &mut note);
    together::check(results, &mut note);
}

/// A tester that cannot be: faster than its wire where that has a rate of its own, or than any
/// processor.
fn testers(results: &SuiteResults, note: &mut impl FnMut(Kind, String)) {
    // Memory and the kernel's veths are as fast as who uses them: what is 100 % is only agreed on.
    let nominal = ["memory", "veth"].iter().any(|name| results.medium.contains(name));
    for alone in &results.self_tests {
        let wire = results.wire_rate(alone.size()).0;
        // A tester is tried for a tenth of a second, and a frame more or less is ten a second.
        let most = if results.virtual_time || !nominal { wire * 1.001 + 20.0 } else { FASTEST };
        if alone.rate > most || !alone.rate.is_finite() {
            let what = if most == FASTEST {
                "a frame in less than a nanosecond".to_string()
            } else {
                format!("more than the wire's {wire:.0}")
            };
            let (size, rate) = (alone.size().words(), alone.rate);
            note(Kind::Impossible, format!("the tester alone, {size}: {rate:.0} fps, {what}"));
        }
        for why in alone.tried.iter().flat_map(|tried| not_tried(alone, tried)) {
            let size = alone.size().words();
            note(Kind::Inconsistent, format!("the tester alone, {size}: {why}"));
        }
    }
}

/// What of a tester does not follow from what it did.
fn not_tried(alone: &TesterAlone, tried: &AloneTried) -> Vec<String> {
    let AloneTried { ports, sent, received, took_ns, latency_min_ns } = *tried;
    let (rate, floor) = (alone.rate, alone.latency_floor_ns);
    let mut wrong = vec![];
    if (rate - tried.rate()).abs() > 1e-6 * rate.abs() {
        let exact = tried.rate();
        wrong.push(format!(
            "{rate:.0} fps from each port, and {received} frames by {ports} in {took_ns} ns are {exact:.0}"
        ));
    }
    if alone.lossy != (received != sent) {
        let lost = if alone.lossy { "it lost frames" } else { "it lost none" };
        wrong.push(format!("{lost}, and {received} came of {sent}"));
    }
    if let Some(least) = latency_min_ns.filter(|least| *least < floor) {
        wrong.push(format!("no latency below {floor} ns, and one of {least} ns"));
    }
    wrong
}

/// Frames a second that no core makes: one in each nanosecond.
const FASTEST: f64 = 1e9;

fn is_valid(trial: &&TrialRecord) -> bool {
    trial.is_valid()
}

/// What was sent is the load for as long as the trial took, from each port; a steady load's
/// latencies are those of all frames that came back.
fn loads(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let senders = f64::from(results.senders);
    for trial in cell.trials.iter().filter(is_valid).filter(|trial| trial.tcp.is_none()) {
        let TrialRecord { load, duration, intended, sent, received, .. } = *trial;
        if sent < intended {
            let text = format!("{sent} sent of {intended}, in a trial that is valid");
            note(Kind::Inconsistent, text);
        }
        if trial.kind != "steady" {
            continue;
        }
        let expected = load * duration * senders;
        // Each port begins with a frame and may end with one; of a mix, amidst a cycle.
        let turns = forwarding::destinations(results).map_or(1.0, f64::from);
        let cycle = results.cycle(cell.size()).frames as f64 * turns;
        let some = (1.0 + cycle) * senders + expected * 1e-3;
        // A load is that of a modifier's frames, too.
        let least = expected - some - trial.beside as f64;
        if !(least..=expected + some).contains(&(sent as f64)) {
            let text = format!(
                "{load:.0} fps for {duration} s from each of {senders} ports are {expected:.0} \
                 frames, and {sent} were sent"
            );
            note(Kind::Inconsistent, text);
        }
        if let Some(latency) = trial.latency.filter(|latency| latency.count != received) {
            let text = format!("latencies of {} frames, and {received} received", latency.count);
            note(Kind::Inconsistent, text);
        }
    }
}

/// As many latencies as the cell's trials have: every frame's is recorded. Of TCP they are of the
/// last trial's transactions.
fn histogram(cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    if cell.histogram.is_empty() {
        return;
    }
    let total: u64 = cell.histogram.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n));
    let of_tcp = cell.trials.iter().rev().find_map(|trial| trial.tcp?.transaction);
    let of_trials = || {
        let latencies = cell.trials.iter().filter(is_valid).filter_map(|trial| trial.latency);
        latencies.map(|latency| latency.count).sum::<u64>()
    };
    let expected = of_tcp.map_or_else(of_trials, |latency| latency.count);
    if total != expected {
        let text = format!("the histogram has {total} latencies, and its trials {expected}");
        note(Kind::Inconsistent, text);
    }
}

/// Two floors of memory wires differ by less.
const FLOOR_NS: u64 = 1_000;

/// A tester's floor is the least that it sees: not above what it saw through a device, but for what
/// memory and clocks take now and then. (Of simulated wires there is none; in older files it was what
/// buckets round.)
fn floor(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let alone = results.self_tests.iter().find(|alone| alone.size() == cell.size());
    let least = cell.trials.iter().filter(is_valid).filter_map(|trial| trial.latency);
    let (Some(alone), Some(least)) = (alone, least.map(|latency| latency.min_ns).min()) else {
        return;
    };
    if alone.latency_floor_ns > least.saturating_add(FLOOR_NS) && !results.virtual_time {
        let floor = alone.latency_floor_ns;
        let text = format!(
            "the tester alone sees {floor} ns at least, and through the device a frame took {least}: \
             that is no floor"
        );
        note(Kind::Doubtful, text);
    }
}

/// Whether a rate can be said to be the device's: of frames, or of what takes one each from one port,
/// connections and addresses. (TCP's connections take several, and have a tester of their own.)
fn limited(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let alone = results.self_tests.iter().find(|alone| alone.size() == cell.size());
    let is_rate = |unit: &str| unit == "fps" || unit == "/s" && !cell.procedure.starts_with("tcp-");
    for (i, figure) in cell.figures.iter().enumerate().filter(|(_, one)| is_rate(&one.unit)) {
        // Of a capacity it is the rate beside it that tells.
        let unit = figure.unit.as_str();
        let limit = if unit == "/s" { cell.limited_by } else { cell.limit_of(i) };
        let (Some(rate), Some(Limit::Device)) = (figure.value, limit) else { continue };
        if results.self_tests.is_empty() {
            let text = format!(
                "{rate:.0} {unit} are said to be the device's limit, and no self-test shows what the \
                 tester alone does"
            );
            note(Kind::Inconsistent, text);
            continue;
        }
        let is_slow = |alone: &&TesterAlone| alone.rate < HEADROOM * rate && !results.virtual_time;
        let Some(alone) = alone.filter(is_slow) else { continue };
        let times = alone.rate / rate;
        note(
            Kind::Inconsistent,
            format!(
                "{rate:.0} {unit} are said to be the device's limit, and the tester alone does only \
                 {times:.2} times that"
            ),
        );
    }
}

/// Before frames of a size are sent through a device the tester tries them by itself. (Where it never did,
/// the file has none.)
fn size(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let testers = &results.self_tests;
    if !testers.is_empty() && testers.iter().all(|alone| alone.size() != cell.size()) {
        let text = "the tester never tried frames of this size by itself".to_string();
        note(Kind::Inconsistent, text);
    }
}

/// In virtual time the tester alone is never disturbed: with a device it does no more.
fn alone(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let alone = results.self_tests.iter().find(|alone| alone.size() == cell.size());
    let Some(alone) = alone.filter(|_| results.virtual_time) else { return };
    let steady = cell.trials.iter().filter(is_valid).filter(|trial| trial.kind == "steady");
    let most = steady.map(|trial| trial.load).fold(0.0, f64::max);
    if most > alone.rate * 1.001 {
        let rate = alone.rate;
        let text = format!("{most:.0} fps were sent, and the tester alone does only {rate:.0}");
        note(Kind::Inconsistent, text);
    }
}

/// Loss against load: per cent are of the frames beside them.
fn points(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let wire = results.wire_rate(cell.size()).0;
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
    // What rounding leaves, of numbers on either side of zero.
    let slack = spread.min.abs().max(spread.max.abs()) * 1e-9;
    let (low, high) = (spread.min - slack, spread.max + slack);
    for (what, value) in [("mean", spread.mean), ("median", spread.median)] {
        if value < low || value > high {
            let text = format!(
                "{}: the {what} {value} is not between {} and {}",
                figure.name, spread.min, spread.max
            );
            note(Kind::Inconsistent, text);
        }
    }
    let Spread { n, min, max, p1, p99, stddev, .. } = spread;
    // Of fewer than a hundred the first percentile is the least, the 99th the greatest.
    let few = n < 100;
    let near = |a: f64, b: f64| (a - b).abs() <= slack;
    let is_ordered = if few { near(p1, min) && near(p99, max) } else { min <= p1 && p99 <= max };
    if n == 0 || !is_ordered || p1 > p99 {
        let text = format!(
            "{}: of {n} repetitions the percentiles 1 and 99 are {p1} and {p99}, and they are {min} to \
             {max}",
            figure.name
        );
        note(Kind::Inconsistent, text);
    }
    // Least where all but the ends are in the middle, greatest where all are at the ends.
    let (range, n) = (max - min, f64::from(n.max(2)));
    let (least, most) = (range / (2.0 * (n - 1.0)).sqrt(), range * (n / (n - 1.0)).sqrt() / 2.0);
    // Of an odd number not as many are at either end; rounding of sums of squares is more than of sums.
    if stddev < least * (1.0 - 1e-6) - slack || stddev > most * (1.0 + 1e-6) + slack {
        let text = format!(
            "{}: a standard deviation of {stddev}, of {n} between {min} and {max} it is {least} to {most}",
            figure.name
        );
        note(Kind::Inconsistent, text);
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
}

#[cfg(test)]
mod tests;
