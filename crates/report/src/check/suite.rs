//! Results of suites: rates that nobody can have, or of which nobody knows whose they are.
//!
//! ```text
//!  SuiteResults::faults ─► impossible     figure, self-test ─► above a wire, not the device's limit
//! ```
//!
//! That a figure follows from its trials is the business of whoever computes it
//! (`measure::procedure`, with its tests): a run is written with nothing that contradicts itself
//! ([`measure::SuiteResults::faults`]), and nothing is computed a second time here.

use super::{Kind, Note};
use measure::SuiteResults;
use measure::result::Limit;
use measure::self_test::HEADROOM;
use measure::suite_result::{Cell, TesterAlone};

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
        let valid = cell.trials.iter().filter(|trial| trial.is_valid());
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
    }
}

/// Frames a second that no core makes: one in each nanosecond.
const FASTEST: f64 = 1e9;

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

#[cfg(test)]
mod tests {
    use super::super::{Known, check};
    use measure::SuiteResults;
    use measure::result::Limit;

    /// A sound suite has no findings, and each thing that cannot be has one.
    #[test]
    fn suites() {
        let found = |change: &dyn Fn(&mut SuiteResults)| {
            let mut results = crate::suite::read(include_str!("../../data/test-1.json")).unwrap();
            change(&mut results);
            let text = crate::suite::write(&results).unwrap();
            let findings = check(&[("a.json".to_string(), text)], &Known::default()).findings;
            findings.iter().map(|finding| finding.to_string() + "\n").collect::<String>()
        };
        assert_eq!(found(&|_| {}), "");
        type Change<'a> = &'a dyn Fn(&mut SuiteResults);
        let of_device = |r: &mut SuiteResults| {
            r.virtual_time = false;
            r.cells[0].limited_by = Some(Limit::Device);
        };
        let cases: [(Change<'_>, &str); 9] = [
            (
                &|r| r.cells[0].figures[0].value = Some(1e12),
                "impossible: none, 64 byte, throughput",
            ),
            (
                &|r| r.cells[0].figures[0].value = Some(-1.0),
                "64 byte, throughput: throughput[rfc2544 ",
            ),
            (
                &|r| r.cells[0].trials[0].wrong_size = 3,
                "impossible: none, 64 byte, throughput: 3 of 0 damaged in another length",
            ),
            (
                &|r| r.cells[0].trials[0].tester_rx_drop = 3,
                "throughput: pass of a trial whose tester lost 3 frames",
            ),
            (&|r| r.complete = false, "ambiguous: the run is incomplete: it is not known why"),
            (
                &|r| {
                    of_device(r);
                    r.self_tests[0].rate = r.cells[0].figures[0].value.unwrap() * 1.1;
                },
                "the tester alone does only 1.10 times that",
            ),
            (
                &|r| {
                    of_device(r);
                    r.self_tests.clear();
                },
                "and no self-test shows what the tester alone does",
            ),
            (&|r| r.self_tests[0].rate = 9e9, "9000000000 fps, more than the wire's 14881"),
            (
                &|r| {
                    let all = r.cells[0].trials.iter_mut();
                    all.for_each(|trial| trial.outcome = "invalid: late".to_string());
                },
                "ambiguous: none, 64 byte, throughput: it has figures, and not one valid trial",
            ),
        ];
        for (change, expected) in cases {
            let found = found(change);
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }
}
