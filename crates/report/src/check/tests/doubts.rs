//! Doubtful rows of a performance table, told.

use crate::check::{Kind, Known, check};
use measure::Verdict;

const STORED: &str = include_str!("../../../../../results/2026-11-20-epyc-2-cores.json");

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
        let is_it = |(kind, text): &(Kind, String)| *kind == Kind::Doubtful && text.contains(part);
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
