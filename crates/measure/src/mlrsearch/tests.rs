//! Simulated devices: steady, noisy, limited by the tester, and the reference's example.

use super::*;
use crate::Prng;
use crate::trial::{Conditions, Counts};
use proptest::prelude::*;

/// One trial of a device that loses what is above its capacity, and of a tester that sends no more
/// than it can.
fn trial(load: PacketRate, duration: Duration, capacity: f64, tester: f64) -> Trial {
    let seconds = duration.as_secs_f64();
    let intended = (load.0 * seconds) as u64;
    let sent = intended.min((tester * seconds) as u64);
    let received = sent.min((capacity * seconds) as u64);
    let counts = Counts { intended, sent, received, ..Counts::default() };
    Trial::judge(duration, counts, &Conditions::default())
}

/// As the reference implementation's example has it.
fn readme() -> MlrSearch {
    let goal = |loss_ratio| Goal { loss_ratio, exceed_ratio: 0.005, ..Goal::csit_ndr() };
    MlrSearch {
        goals: vec![goal(0.0), goal(0.005)],
        lowest: PacketRate(1e3),
        highest: PacketRate(1e9),
        ..MlrSearch::default()
    }
}

#[test]
fn the_reference_implementations_example() {
    let found = readme().run(|load, duration| trial(load, duration, 1e6, 1e12)).unwrap();
    let near = |found: Option<PacketRate>, expected: f64| {
        let rate = found.unwrap().0;
        assert!((rate / expected - 1.0).abs() < 1e-9, "{rate} {expected}");
    };
    let [ndr, pdr] = found.results.as_slice() else { panic!("{:?}", found.results) };
    near(ndr.lower, 997_497.602_939_238_2);
    near(pdr.lower, 1_002_508.674_761_110_1);
    near(pdr.conditional_throughput, 1_000_000.673_073_042_9);
    assert!(ndr.regular && pdr.regular && !ndr.tester_limited, "{found:?}");
    assert_eq!(found.ended, Ended::Done);
}

#[test]
fn a_hard_limit() {
    // RFC 9971: a limit of 100 Mfps, half a per cent of loss allowed: the load may be higher, what
    // comes through may not.
    let search = MlrSearch { goals: vec![Goal::csit_pdr()], ..MlrSearch::default() };
    let found = search.run(|load, duration| trial(load, duration, 100e6, 1e12)).unwrap();
    let result = &found.results[0];
    let (lower, conditional) = (result.lower.unwrap().0, result.conditional_throughput.unwrap().0);
    assert!((99.9e6..=100.5026e6).contains(&lower), "{result:?}");
    assert!(conditional <= 100e6 * 1.000_001 && conditional > 99.4e6, "{result:?}");
}

#[test]
fn ends() {
    let quick = MlrSearch { longest: Duration::from_secs(5), ..MlrSearch::default() };
    for (search, capacity, tester, ended, lower, upper) in [
        (MlrSearch::default(), 1e12, 1e12, Ended::Done, true, false),
        (MlrSearch::default(), 100.0, 1e12, Ended::LowestFails, false, true),
        (MlrSearch::default(), 1e12, 5e6, Ended::Done, true, true),
        (quick, 1e6, 1e12, Ended::TimeSpent, false, false),
    ] {
        let found = search.run(|load, duration| trial(load, duration, capacity, tester)).unwrap();
        let result = &found.results[0];
        let case = format!("capacity {capacity}, tester {tester}: {result:?} {:?}", found.ended);
        assert_eq!(found.ended, ended, "{case}");
        assert_eq!(result.upper.is_some(), upper, "{case}");
        assert!(result.lower.is_some() || !lower, "{case}");
        assert_eq!(result.tester_limited, tester == 5e6, "{case}");
        assert!(!result.regular || (lower && upper), "{case}");
    }
}

#[test]
fn impossible_searches() {
    let run = |search: MlrSearch| {
        let result = search.run(|_, _| panic!("a trial of an impossible search"));
        result.unwrap_err().to_string()
    };
    let good = MlrSearch::default;
    let crossed = MlrSearch { lowest: PacketRate(2e9), ..good() };
    assert!(run(crossed).starts_with("the bounds of the search cross"), "crossed");
    assert!(run(MlrSearch { highest: PacketRate(f64::NAN), ..good() }).contains("NaN"));
    assert_eq!(run(MlrSearch { goals: vec![], ..good() }), "a search needs at least one goal");
    let twice = MlrSearch { goals: vec![Goal::rfc2544(); 2], ..good() };
    assert!(run(twice).contains("is there twice"));
    let bad = Goal { width: 0.0, ..Goal::rfc2544() };
    assert!(run(MlrSearch { goals: vec![bad], ..good() }).contains("the width is above 0"));
}

#[test]
fn a_tester_that_fails_at_times_is_asked_again() {
    let mut n = 0;
    let found = readme().run(|load, duration| {
        n += 1;
        trial(load, duration, 1e6, if n % 3 == 0 { 1.0 } else { 1e12 })
    });
    let result = &found.unwrap().results[0];
    assert!((990e3..=1e6).contains(&result.lower.unwrap().0), "{result:?}");
    assert!(!result.tester_limited, "{result:?}");
}

proptest! {
    /// Devices whose capacity varies: the search ends in its time, the bounds stand in their order
    /// and are what the trials say, and a goal that allows more loss is never below one that
    /// allows less.
    #[test]
    fn noisy_devices(seed: u64, capacity in 2e4f64..9e8, noise in 0f64..0.3) {
        let mut prng = Prng::new(seed);
        let search = MlrSearch::default();
        let found = search.run(|load, duration| {
            let luck = 1.0 - noise * prng.below(1000) as f64 / 1000.0;
            trial(load, duration, capacity * luck, 1e12)
        });
        let found = found.unwrap();
        let spent: Duration = found.trials.iter().map(|tried| tried.duration).sum();
        prop_assert!(spent <= search.longest + Duration::from_secs(1));
        for result in &found.results {
            if let (Some(lower), Some(upper)) = (result.lower, result.upper) {
                prop_assert!(lower.0 < upper.0, "{result:?}");
            }
            if let Some(lower) = result.lower {
                let bound = capacity * (1.0 + result.goal.loss_ratio * 1.02) + 100.0;
                prop_assert!(lower.0 <= bound, "{result:?} {capacity}");
                prop_assert!(result.conditional_throughput.unwrap().0 <= lower.0);
                let at = found.trials[1..].iter().filter(|tried| tried.load == lower);
                prop_assert!(at.count() > 0);
            }
        }
        let [ndr, pdr] = &found.results[..] else { unreachable!() };
        if let (Some(ndr), Some(pdr)) = (ndr.lower, pdr.lower) {
            prop_assert!(ndr.0 <= pdr.0 * 1.000_001, "{ndr:?} {pdr:?}");
        }
    }
}
