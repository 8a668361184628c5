//! The swarm: old failures stay mended, and some seeds run.

use lab::swarm::{Case, draw, run};
use std::path::Path;

/// Cases that failed once, each a file; `wirespeed lab swarm` wrote them.
#[test]
fn old_failures_stay_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/swarm");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let case = Case::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(run(&case).failure, None, "{}", path.display());
    }
}

#[test]
fn the_first_seeds_pass() {
    for seed in 1..=seeds() {
        let case = draw(seed);
        let outcome = run(&case);
        assert_eq!(outcome.failure, None, "seed {seed}\n{}", case.write());
    }
}

/// Few enough for every day; more when asked.
fn seeds() -> u64 {
    std::env::var("WIRESPEED_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// A case is what its file says.
#[test]
fn cases_are_read_as_they_were_written() {
    for seed in 1..200 {
        let case = draw(seed);
        assert_eq!(Case::read(&case.write()).as_ref(), Ok(&case), "seed {seed}");
    }
    for (text, why) in
        [("seed = 1", "storm_ms"), ("seed = 1\nstorm_ms = 5\nx = 1", "unknown field")]
    {
        let error = Case::read(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

/// The same seed gives the same frames.
#[test]
fn seeds_repeat_themselves() {
    let frames = |seed| run(&draw(seed)).frames;
    assert_eq!(frames(7), frames(7));
}
