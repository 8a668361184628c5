//! Doubtful rows of a performance table: they can be, and yet are no figures of its device.
//!
//! ```text
//!  tax below 0.9          rules make no router faster: one of both rows was disturbed (in memory, and
//!                         where the device was the limit of both)
//!  self-test, half lost   the tester alone loses next to nothing: it was disturbed
//!  invalid row            there is no figure
//! ```
//!
//! Warnings: noise may explain them.

use super::{Kind, Note};
use measure::result::kind;
use measure::{Limit, Results, Row, Verdict};

/// A tax is 1 at least; less by more than this is no noise of a quiet machine.
const LEAST_TAX: f64 = 0.9;

pub(super) fn doubts(results: &Results, note: &mut Note<'_>) {
    for row in &results.rows {
        let name =
            format!("{}, {}, {}, {} byte", row.device, row.mode, row.configuration, row.frame_size);
        if row.verdict == Verdict::Invalid {
            let why = row.remark.as_deref().unwrap_or("it does not say why");
            note(None, Kind::Doubtful, format!("invalid: {name}: {why}"));
        }
        let tax = results.tax(row).filter(|tax| *tax < LEAST_TAX && is_own(results, row));
        if let Some(tax) = tax {
            let text = format!(
                "{name}: a tax of {tax:.2}: it would be faster with this configuration than without; \
                 something disturbed one of both rows"
            );
            note(None, Kind::Doubtful, text);
        }
        if let Some((sent, received)) = deaf(row) {
            let text = format!(
                "{name}: the tester alone, with no device, got back {received} of {sent} frames: \
                 something disturbed it, and what it can do is not known"
            );
            note(None, Kind::Doubtful, text);
        }
    }
}

/// Whether a tax is the device's: on wires the tester is the limit of many rows, which it says.
fn is_own(results: &Results, row: &Row) -> bool {
    let is_of_both = |one: &&Row| {
        (&one.device, one.mode, one.frame_size) == (&row.device, row.mode, row.frame_size)
            && (one.configuration == "none" || one.configuration == row.configuration)
    };
    let mut both = results.rows.iter().filter(is_of_both);
    row.medium.wire == "memory" || both.all(|one| one.limited_by == Limit::Device)
}

/// What the tester alone sent and received, if no valid self-test got back half of it.
fn deaf(row: &Row) -> Option<(u64, u64)> {
    let tests = row.trials.iter().filter(|trial| trial.kind == kind::SELF_TEST);
    let best = tests.max_by_key(|trial| trial.received)?;
    (best.received < best.sent / 2).then_some((best.sent, best.received))
}

#[cfg(test)]
mod tests {
    use crate::check::{Kind, Known, check};
    use measure::Verdict;

    const STORED: &str = include_str!("../../../../results/2026-11-20-epyc-2-cores.json");

    #[test]
    fn what_a_busy_machine_leaves_behind_is_told() {
        let told = |change: &dyn Fn(&mut measure::Results)| -> Vec<(Kind, String)> {
            let mut results = crate::read(STORED).unwrap();
            change(&mut results);
            let files = [("x".to_string(), crate::write(&results).unwrap())];
            let found = check(&files, &Known::default()).findings;
            found.into_iter().map(|one| (one.kind, one.text)).collect()
        };
        assert_eq!(told(&|_| {}), []);
        let has = |told: Vec<(Kind, String)>, part: &str| {
            let is_it =
                |(kind, text): &(Kind, String)| *kind == Kind::Doubtful && text.contains(part);
            assert!(told.iter().any(is_it), "{part} in {told:?}");
        };
        fn slow(of: &mut measure::Results) {
            let plain = of.rows.iter_mut().filter(|row| row.configuration == "none");
            plain.for_each(|row| row.pps /= 10.0);
        }
        has(told(&slow), "fasttrack, 64 byte: a tax of 0.1");
        let invalid = |of: &mut measure::Results| {
            of.rows[0].verdict = Verdict::Invalid;
            of.rows[0].remark = Some("other programs had a processor".to_string());
        };
        has(told(&invalid), "invalid: wirespeed router, ");
        let deaf = |of: &mut measure::Results| {
            let row = &mut of.rows[0];
            let mut test = row.trials.first().cloned().unwrap_or_else(|| sample(row));
            (test.kind, test.sent, test.received) = ("self-test".to_string(), 1000, 499);
            row.trials = vec![test];
        };
        has(told(&deaf), "got back 499 of 1000 frames");
    }

    /// A trial of a row whose file was written before trials were kept.
    fn sample(row: &measure::Row) -> measure::suite_result::TrialRecord {
        let counts = measure::Counts {
            intended: row.offered,
            sent: row.sent,
            received: row.forwarded,
            ..measure::Counts::default()
        };
        let lasted = std::time::Duration::from_secs_f64(row.duration);
        let trial = measure::Trial::judge(lasted, counts, &measure::Conditions::default());
        measure::suite_result::TrialRecord::plain("highest", 0.0, lasted, &trial, None)
    }
}
