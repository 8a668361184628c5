//! A test that cannot run here says so, in one line, and passes; with `CI` set it fails.
//!
//! ```text
//! left out: ports_are_taps: no rights to make network namespaces; run as root
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
