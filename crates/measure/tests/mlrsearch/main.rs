//! MLRsearch beside its reference implementation: the same devices, the same goals, the same trials
//! in the same order, the same bounds.
//!
//! `witness.json` is what `witness.py` printed with MLRsearch 1.2.1 of PyPI.

use measure::mlrsearch::{Ended, Goal, MlrSearch};
use measure::trial::{Conditions, Counts};
use measure::{Outcome, Trial};
use serde::Deserialize;
use std::time::Duration;
use wire::PacketRate;

#[derive(Deserialize)]
struct Run {
    /// Loss ratio, exceed ratio, width, initial trial, final trial, duration sum.
    goals: Vec<[f64; 6]>,
    capacity: f64,
    noise: f64,
    trials: usize,
    /// Load and seconds.
    first_trials: Vec<(f64, f64)>,
    /// Relevant lower bound, relevant upper bound, conditional throughput.
    results: Vec<[Option<f64>; 3]>,
}

#[test]
fn does_what_the_reference_implementation_does() {
    let runs: Vec<Run> = serde_json::from_str(include_str!("witness.json")).unwrap();
    assert_eq!(runs.len(), 60);
    for run in &runs {
        check(run);
    }
}

fn check(run: &Run) {
    let seconds = Duration::from_secs_f64;
    let goal = |&[loss_ratio, exceed_ratio, width, initial, last, sum]: &[f64; 6]| Goal {
        loss_ratio,
        exceed_ratio,
        width,
        initial_trial: seconds(initial),
        final_trial: seconds(last),
        duration_sum: seconds(sum),
        fail_fast: false,
        ..Goal::csit_ndr()
    };
    let search = MlrSearch {
        goals: run.goals.iter().map(goal).collect(),
        longest: Duration::from_secs(1_000_000_000),
        ..MlrSearch::default()
    };
    let mut n = 0;
    let found = search.run(|load, duration| {
        let luck = (n * 7919 % 1000) as f64 / 1000.0;
        n += 1;
        let sent = (load.0 * duration.as_secs_f64()) as u64;
        let capacity = run.capacity * (1.0 - run.noise * luck);
        let received = sent.min((capacity * duration.as_secs_f64()) as u64);
        let counts = Counts { intended: sent, sent, received, ..Counts::default() };
        Trial::judge(duration, counts, &Conditions::default())
    });
    let found = found.unwrap();
    let case = format!("{:?}, capacity {}, noise {}", run.goals, run.capacity, run.noise);
    let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 1e-9;
    for (i, (ours, &(load, seconds))) in found.trials.iter().zip(&run.first_trials).enumerate() {
        let same = near(ours.load.0, load) && near(ours.duration.as_secs_f64(), seconds);
        assert!(same, "{case}: trial {i}: {ours:?}, theirs {load} for {seconds} s");
        assert!(!matches!(ours.trial.outcome, Outcome::Invalid(_)), "{case}: {ours:?}");
    }
    for (ours, theirs) in found.results.iter().zip(&run.results) {
        let bounds = [ours.lower, ours.upper, ours.conditional_throughput];
        let bounds = bounds.map(|bound| bound.map(|PacketRate(rate)| rate));
        let same = bounds.iter().zip(theirs).all(|(ours, theirs)| match (ours, theirs) {
            (Some(ours), Some(theirs)) => near(*ours, *theirs) || (ours, theirs) == (&0.0, &0.0),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        });
        assert!(same, "{case}: {ours:?}, theirs {theirs:?}");
    }
    assert_eq!(found.trials.len(), run.trials, "{case}");
    assert_eq!(found.ended, Ended::Done, "{case}");
}
