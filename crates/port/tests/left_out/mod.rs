//! A test that cannot run here says so, in one line, and passes; with `CI` set it fails.
//!
//! ```text
//! left out: ports_are_taps: no rights to make network namespaces; run as root
//! left out: it_answers: needs ping (.ci/run has the packages)
//! ```
//!
//! Written past the harness, which keeps to itself what a test that passes has printed.

use std::fmt::Display;
use std::io::Write;

/// Says that the calling test is left out, and why.
///
/// # Panics
/// With `CI` set: there everything is to be run.
#[allow(dead_code, reason = "some tests are left out only in part")]
pub(crate) fn left_out(why: impl Display) {
    assert!(std::env::var_os("CI").is_none(), "this cannot be left out in CI: {why}");
    say("left out", why);
}

/// Whether the calling test must be left out for want of one of these programs; then that is said.
///
/// # Panics
/// As of [`left_out`].
#[must_use = "the test cannot go on"]
#[allow(dead_code, reason = "some tests need no program")]
pub(crate) fn lacks(programs: &[&str]) -> bool {
    let needs = needs(programs);
    if let Some(needs) = &needs {
        left_out(needs);
    }
    needs.is_some()
}

/// The same of a part of the calling test.
///
/// # Panics
/// As of [`left_out`].
#[must_use = "that part cannot be run"]
#[allow(dead_code, reason = "some tests need no program")]
pub(crate) fn lacks_in_part(programs: &[&str]) -> bool {
    let needs = needs(programs);
    if let Some(needs) = &needs {
        assert!(std::env::var_os("CI").is_none(), "this cannot be left out in CI: {needs}");
        left_out_in_part(needs);
    }
    needs.is_some()
}

/// What must be installed, of these programs.
#[allow(dead_code, reason = "some tests need no program")]
fn needs(programs: &[&str]) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &str| std::env::split_paths(&path).any(|at| at.join(program).is_file());
    let lacking: Vec<&str> =
        programs.iter().copied().filter(|program| !is_there(program)).collect();
    let all = lacking.join(" and ");
    (!lacking.is_empty()).then(|| format!("needs {all} (.ci/run has the packages)"))
}

/// Says that a part of the calling test is left out, which may happen anywhere.
#[allow(dead_code, reason = "most tests are left out whole")]
pub(crate) fn left_out_in_part(why: impl Display) {
    say("left out in part", why);
}

fn say(what: &str, why: impl Display) {
    let thread = std::thread::current();
    let line = format!("{what}: {}: {why}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
