//! Each figure against what its own cell says it is made of.
//!
//! ```text
//!  name [rfc2544 60s 2x] ◄─► seconds and number of the trials
//!  value ◄─► mean or median of its spread ◄─► times, bursts, latencies of the trials
//!  loss ◄─► points ◄─► trials         buffer times ◄─► burst, wire, throughput (RFC 9004 §6.3)
//! ```
//!
//! Delay variation, and the searches for a throughput, are looked at beside it.

use super::super::Kind;
use super::is_valid;
use measure::SuiteResults;
use measure::histogram::at_quantile;
use measure::result::Limit;
use measure::suite_result::{Cell, Figure, TrialRecord};

/// Checks a cell.
pub(super) fn check(results: &SuiteResults, cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let mut wrong = |text: String| note(Kind::Inconsistent, text);
    for figure in &cell.figures {
        of_spread(figure, &mut wrong);
    }
    without_trials(cell, &mut wrong);
    lengths(cell, &mut wrong);
    repetitions(cell, &mut wrong);
    at_the_wire(results, cell, &mut wrong);
    dropped(results, cell, &mut wrong);
    match cell.procedure.as_str() {
        "frame-loss" => losses(cell, &mut wrong),
        "latency" => latencies(cell, &mut wrong),
        "back-to-back" => bursts(results, cell, &mut wrong),
        "recovery" => recovery(results, cell, &mut wrong),
        _ => {}
    }
}

/// A cell stands once: two of one name are one too many.
pub(super) fn twice(results: &SuiteResults, note: &mut impl FnMut(Kind, String)) {
    let names = |cell: &Cell| cell.figures.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
    for (i, cell) in results.cells.iter().enumerate() {
        let same = |other: &&Cell| {
            (&other.configuration, other.size(), &other.procedure)
                == (&cell.configuration, cell.size(), &cell.procedure)
                && names(other) == names(cell)
                // Of TCP there is a cell for each window and number of connections; of windows that
                // are all a segment there are several alike.
                && (!cell.procedure.starts_with("tcp-") || other.figures == cell.figures)
                && !cell.remarks.iter().any(|remark| remark.starts_with("windows are a segment each"))
        };
        if results.cells[..i].iter().any(|other| same(&other)) {
            let (of, size, procedure) = (&cell.configuration, cell.size(), &cell.procedure);
            note(
                Kind::Inconsistent,
                format!("{of}, {}, {procedure}: it is there twice", size.words()),
            );
        }
    }
}

pub(super) fn value(cell: &Cell, start: &str) -> Option<f64> {
    cell.figures.iter().find(|figure| figure.name.starts_with(start))?.value
}

/// Equal to a millionth, or to a digit behind the point.
pub(super) fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()) + 1e-6
}

/// Of repetitions a figure is the mean or the median.
fn of_spread(figure: &Figure, wrong: &mut impl FnMut(String)) {
    let (Some(value), Some(spread)) = (figure.value, figure.spread) else { return };
    if !close(value, spread.mean) && !close(value, spread.median) {
        wrong(format!(
            "{}: {value} is neither the mean {} nor the median {} of its repetitions",
            figure.name, spread.mean, spread.median
        ));
    }
}

/// What is measured is measured in trials; the path of TCP is found otherwise.
fn without_trials(cell: &Cell, wrong: &mut impl FnMut(String)) {
    let has_figure = cell.figures.iter().any(|figure| figure.value.is_some());
    if has_figure && cell.trials.is_empty() && !cell.procedure.starts_with("tcp-") {
        wrong("it has figures, and no trials".to_string());
    }
    // Each repetition is a trial at least.
    if !matches!(
        cell.procedure.as_str(),
        "latency" | "delay-variation" | "recovery" | "back-to-back"
    ) {
        return;
    }
    let valid = cell.trials.iter().filter(is_valid).count();
    let most = cell.figures.iter().filter_map(|figure| Some((figure, figure.spread?)));
    if let Some((figure, spread)) = most.max_by_key(|(_, spread)| spread.n)
        && spread.n as usize > valid
    {
        wrong(format!(
            "{}: of {} repetitions, and {valid} trials are valid",
            figure.name, spread.n
        ));
    }
}

/// `throughput[rfc2544 60s 0 loss]`: so long a trial took. Of a recovery it is the overload, which is
/// watched for some time more.
fn lengths(cell: &Cell, wrong: &mut impl FnMut(String)) {
    const NAMED: [&str; 6] = [
        "throughput[rfc2544",
        "throughput[tst009",
        "latency[rfc2544",
        "TL[rfc8219",
        "PDV[rfc8219",
        "recovery[rfc2544",
    ];
    for figure in cell.figures.iter().filter(|figure| figure.value.is_some()) {
        let Some((_, inside)) = figure.name.split_once('[') else { continue };
        let is_named = NAMED.iter().any(|start| figure.name.starts_with(start));
        let seconds = |word: &str| word.strip_suffix('s')?.parse::<f64>().ok();
        let Some(named) = inside.split([' ', ']']).find_map(seconds).filter(|_| is_named) else {
            continue;
        };
        let lasted = |trial: &TrialRecord| match cell.procedure.as_str() {
            "recovery" => trial.duration > named,
            _ => (trial.duration - named).abs() <= named * 1e-3,
        };
        let longest = cell.trials.iter().map(|trial| trial.duration).fold(0.0, f64::max);
        if !cell.trials.is_empty() && !cell.trials.iter().any(lasted) {
            wrong(format!("{}: no trial took so long; the longest took {longest} s", figure.name));
        }
    }
}

/// `latency[rfc2544 120s 20x]`: so many trials there were, those without a figure too. Of bursts each
/// repetition has one, of several trials.
fn repetitions(cell: &Cell, wrong: &mut impl FnMut(String)) {
    for (figure, spread) in cell.figures.iter().filter_map(|one| Some((one, one.spread?))) {
        let Some((_, inside)) = figure.name.split_once('[') else { continue };
        let times = |word: &str| word.strip_suffix('x')?.parse::<u64>().ok();
        let Some(named) = inside.split([' ', ',', ']']).find_map(times) else { continue };
        let (n, trials) = (u64::from(spread.n), cell.trials.len() as u64);
        let is_all = n == named || cell.procedure != "back-to-back";
        if n > named || trials < named && trials > 0 || !is_all {
            wrong(format!("{}: of {n} repetitions, in {trials} trials", figure.name));
        }
    }
}

/// Limited by the wire is what reaches it.
fn at_the_wire(results: &SuiteResults, cell: &Cell, wrong: &mut impl FnMut(String)) {
    let wire = results.carried_rate(cell.size()).0;
    // The cell's is its first figure's.
    let first = cell.figures.first().filter(|first| first.limited_by.is_some());
    if let Some(first) = first.filter(|first| first.limited_by != cell.limited_by) {
        let [own, of_cell] = [first.limited_by, cell.limited_by]
            .map(|limit| limit.map_or("nothing".to_string(), |limit| limit.to_string()));
        wrong(format!("{}: limited by {own}, and its cell by {of_cell}", first.name));
    }
    for (i, figure) in cell.figures.iter().enumerate().filter(|(_, one)| one.unit == "fps") {
        let share = figure.value.unwrap_or(0.0) / wire * 100.0;
        if cell.limit_of(i) == Some(Limit::Wire) && share < 99.85 {
            let name = &figure.name;
            wrong(format!(
                "{name}: the wire is said to be the limit, and it is {share:.1} % of it"
            ));
        }
    }
}

/// In virtual time what is lost is what the device says that it dropped, but for what no trial counts:
/// its own frames, the tester's beside those of the trial, a bridge's own copy of what it floods. (What a
/// bottleneck loses before TCP's segments reach the device it cannot tell.) Some procedures send frames
/// that no trial has among its own, and that are dropped like others: those that teach addresses, or
/// that open connections before they are counted; and a broadcast is one frame, or one for each port.
fn dropped(results: &SuiteResults, cell: &Cell, wrong: &mut impl FnMut(String)) {
    const UNCOUNTED: [&str; 6] = [
        "address-caching",
        "address-learning",
        "broadcast",
        "establishment",
        "tear-down",
        "capacity",
    ];
    if UNCOUNTED.contains(&cell.procedure.as_str()) {
        return;
    }
    let is_told = results.cells.iter().any(|cell| !cell.dropped.is_empty());
    let interrupted = |trial: &TrialRecord| trial.outcome.starts_with("invalid: interrupted");
    if !results.virtual_time || !is_told || cell.trials.iter().any(interrupted) {
        return;
    }
    let add = |a: u64, b: u64| a.saturating_add(b);
    let said = cell.dropped.values().copied().fold(0, add);
    let lost = cell.trials.iter().map(|t| t.sent.saturating_sub(t.received)).fold(0, add);
    let others = cell.trials.iter().map(|t| add(t.foreign, t.beside)).fold(0, add);
    let own = cell.dropped.get("other-host").copied().unwrap_or(0);
    let tcp = cell.trials.iter().any(|trial| trial.tcp.is_some());
    // What comes too late is lost to its trial, and dropped by nobody.
    if add(said, cell.too_late) < lost && !tcp || said > add(add(lost, others), own) {
        wrong(format!(
            "the device says that {said} frames were dropped, and its trials lost {lost}"
        ));
    }
}

/// The figures are the points', and the points are trials.
fn losses(cell: &Cell, wrong: &mut impl FnMut(String)) {
    let valid = || cell.points.iter().filter(|point| !point.invalid);
    let at_most = cell.points.first().filter(|point| !point.invalid).map(|p| p.loss_percent);
    let free = valid().filter(|point| point.lost == 0).map(|point| point.load_percent);
    for (name, exact) in [
        ("loss at 100% of the wire", at_most),
        ("highest load without loss", free.reduce(f64::max)),
    ] {
        let said = cell.figures.iter().find(|figure| figure.name == name);
        let Some(said) = said.filter(|_| !cell.points.is_empty()).map(|figure| figure.value) else {
            continue;
        };
        let same = match (said, exact) {
            (Some(a), Some(b)) => close(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        if !same {
            let show = |value: Option<f64>| value.map_or("none".to_string(), |n| format!("{n} %"));
            wrong(format!("{name}: {}, and its points say {}", show(said), show(exact)));
        }
    }
    for point in valid() {
        let is_it = |trial: &&TrialRecord| {
            close(trial.load, point.load)
                && (trial.sent, trial.sent.checked_sub(trial.received))
                    == (point.sent, Some(point.lost))
        };
        if cell.trials.iter().filter(is_valid).all(|trial| !is_it(&trial)) {
            let (load, lost, sent) = (point.load_percent, point.lost, point.sent);
            wrong(format!("at {load:.0} %, no trial lost {lost} of {sent} frames"));
        }
    }
}

/// Percentiles are the histogram's; tagged frames are among all.
fn latencies(cell: &Cell, wrong: &mut impl FnMut(String)) {
    // Three digits are kept.
    let near = |a: f64, b: f64| (a - b).abs() <= b * 2e-3 + 1.0;
    for (name, share) in [
        ("all frames p50", 0.5),
        ("all frames p99", 0.99),
        ("all frames p99.9", 0.999),
        ("all frames max", 1.0),
    ] {
        let said = cell.figures.iter().find(|figure| figure.name == name);
        let said = said.and_then(|figure| figure.value);
        let exact = at_quantile(&cell.histogram, share).map(|ns| ns as f64);
        if let (Some(said), Some(exact)) = (said, exact)
            && !near(said, exact)
        {
            wrong(format!("{name}: {said:.0} ns, and the histogram says {exact:.0}"));
        }
    }
    let all = || cell.trials.iter().filter(is_valid).filter_map(|trial| trial.latency);
    let (Some(least), Some(most)) =
        (all().map(|of| of.min_ns).min(), all().map(|of| of.max_ns).max())
    else {
        return;
    };
    for figure in cell.figures.iter().filter(|figure| figure.unit == "ns") {
        let Some(value) = figure.value else { continue };
        if value < least as f64 * 0.998 - 1.0 || value > most as f64 * 1.002 + 1.0 {
            let name = &figure.name;
            wrong(format!(
                "{name}: {value:.0} ns, and its trials' latencies are {least} to {most}"
            ));
        }
    }
}

/// The shortest and the longest burst came through whole in a trial; times follow from the mean.
fn bursts(results: &SuiteResults, cell: &Cell, wrong: &mut impl FnMut(String)) {
    let Some(figure) = cell.figures.first() else { return };
    let (Some(mean), Some(spread)) = (figure.value, figure.spread) else { return };
    let passed = |frames: f64| {
        let all = frames * f64::from(results.senders.max(1));
        cell.trials.iter().any(|t| t.outcome == "pass" && close(t.intended as f64, all))
    };
    for frames in [spread.min, spread.max].into_iter().filter(|frames| !passed(*frames)) {
        wrong(format!("{}: no burst of {frames:.0} frames passed", figure.name));
    }
    let of = |other: &&Cell| {
        other.procedure == "throughput"
            && (&other.configuration, other.size()) == (&cell.configuration, cell.size())
    };
    let throughput = results.cells.iter().find(of).and_then(|other| other.figures.first()?.value);
    let wire = results.wire_rate(cell.size()).0;
    let implied = mean / wire;
    let corrected = throughput.map(|rate| implied - implied * rate / wire);
    for (name, exact) in
        [("implied buffer time", Some(implied)), ("corrected buffer time", corrected)]
    {
        if let (Some(said), Some(exact)) = (value(cell, name), exact.map(|seconds| seconds * 1e9))
            && (said - exact).abs() > exact * 1e-6 + 1.0
        {
            wrong(format!("{name}: {said:.0} ns, and RFC 9004 makes {exact:.0} of the burst"));
        }
    }
}

/// Times are trials', and the overload is at most 110 % of the throughput.
fn recovery(results: &SuiteResults, cell: &Cell, wrong: &mut impl FnMut(String)) {
    let Some(figure) = cell.figures.first() else { return };
    let times = || cell.trials.iter().filter(is_valid).map(|t| t.time_ns.unwrap_or(0) as f64);
    let spread = figure.spread.filter(|_| !cell.trials.is_empty());
    for ns in spread.into_iter().flat_map(|spread| [spread.min, spread.max]) {
        if times().all(|time| !close(time, ns)) {
            wrong(format!("{}: no trial recovered in {ns:.0} ns", figure.name));
        }
    }
    let Some(overload) = value(cell, "overload") else { return };
    if let Some(trial) = cell.trials.iter().find(|trial| !close(trial.load, overload)) {
        wrong(format!("an overload of {overload:.0} fps, and a trial of {:.0}", trial.load));
    }
    let of = |other: &&Cell| {
        other.procedure == "throughput"
            && (&other.configuration, other.size()) == (&cell.configuration, cell.size())
    };
    let throughput = results.cells.iter().find(of).and_then(|other| other.figures.first()?.value);
    if let Some(rate) = throughput.filter(|rate| overload > rate * 1.1 * (1.0 + 1e-6)) {
        wrong(format!("an overload of {overload:.0} fps, more than 110 % of {rate:.0}"));
    }
}
