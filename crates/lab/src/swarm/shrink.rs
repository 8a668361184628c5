//! A failing case made smaller, as long as it fails the same way.

use super::case::Case;
use super::hunt;
use super::net::Failure;

/// The smallest case found that fails as this one does, and how. `runs` is how many may be tried.
pub fn shrink(case: &Case, failure: &Failure, runs: usize) -> (Case, Failure) {
    let mut best = (case.clone(), failure.clone());
    let mut left = runs;
    loop {
        let before = best.0.clone();
        for part in PARTS {
            thin(&mut best, *part, &mut left);
        }
        if best.0 == before || left == 0 {
            return best;
        }
    }
}

/// A part of a case: how many pieces it has, and the case without some of them.
type Part = (fn(&Case) -> usize, fn(&Case, &dyn Fn(usize) -> bool) -> Case);

/// What is taken away, the coarsest first.
const PARTS: &[Part] = &[
    (
        |case| case.boxes.len(),
        |case, keep| {
            let mut case = case.clone();
            retain(&mut case.boxes, keep);
            case.pruned()
        },
    ),
    (
        |case| case.events.len(),
        |case, keep| {
            let mut case = case.clone();
            retain(&mut case.events, keep);
            case
        },
    ),
    (
        |case| case.flows.len(),
        |case, keep| {
            let mut case = case.clone();
            retain(&mut case.flows, keep);
            case
        },
    ),
    (
        |case| case.hosts.len(),
        |case, keep| {
            let mut case = case.clone();
            retain(&mut case.hosts, keep);
            case.pruned()
        },
    ),
    (
        |case| case.boxes.iter().map(|own| own.lines.len()).sum(),
        |case, keep| {
            let mut case = case.clone();
            let mut at = 0;
            for own in &mut case.boxes {
                own.lines.retain(|_| {
                    at += 1;
                    keep(at - 1)
                });
            }
            case
        },
    ),
    (
        |case| case.storm_ms.next_power_of_two().trailing_zeros() as usize,
        |case, keep| {
            let kept = (0..16).filter(|&at| keep(at)).count();
            Case { storm_ms: case.storm_ms.min(1 << kept.min(16)), ..case.clone() }
        },
    ),
];

/// Takes away halves, quarters … single pieces of a part.
fn thin(best: &mut (Case, Failure), (count, without): Part, left: &mut usize) {
    let mut size = count(&best.0).div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < count(&best.0) && *left > 0 {
            let case = without(&best.0, &|at| !(from..from + size).contains(&at));
            *left -= 1;
            match hunt::run(&case).failure {
                Some(failure) if case != best.0 && is_same(&failure, &best.1) => {
                    *best = (case, failure);
                }
                _ => from += size,
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
}

fn retain<T>(all: &mut Vec<T>, keep: &dyn Fn(usize) -> bool) {
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        keep(at - 1)
    });
}

/// Whether two failures are of the same kind: their words are, but for numbers and names.
fn is_same(a: &Failure, b: &Failure) -> bool {
    let kind = |failure: &Failure| {
        let words = failure
            .what
            .split_whitespace()
            .filter(|word| word.bytes().all(|b| b.is_ascii_lowercase()));
        words.take(4).map(String::from).collect::<Vec<_>>()
    };
    kind(a) == kind(b)
}
