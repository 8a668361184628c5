//! Standard output and standard error.
//!
//! ```text
//!  outln!, out! ─► stdout     closed (| head): nobody reads on, and the command goes on to its end
//!  say! ─────────► stderr     full, on a disk: said once, and exit code 3
//! ```
//!
//! The standard library's `println!` panics where nobody reads any more. A run that was measured
//! for an hour must still be written to its file.
//!
//! Never fails: what cannot be printed is noted ([`trouble`]).

use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

/// Why something could not be printed, the first time.
static TROUBLE: OnceLock<String> = OnceLock::new();

/// Prints on standard output.
pub fn stdout(text: &str) {
    let mut out = std::io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = done
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = TROUBLE.set(format!("cannot write to standard output: {error}"));
    }
}

/// Prints on standard error; there is nobody to tell if that fails.
pub fn stderr(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
}

/// Why not all of the output is where it should be; not that nobody wanted it.
pub fn trouble() -> Option<&'static str> {
    TROUBLE.get().map(String::as_str)
}

/// Prints on standard output.
#[macro_export]
macro_rules! out {
    ($($argument:tt)*) => { $crate::out::stdout(&format!($($argument)*)) };
}

/// The same, and ends the line.
#[macro_export]
macro_rules! outln {
    ($($argument:tt)*) => { $crate::out::stdout(&(format!($($argument)*) + "\n")) };
}

/// A line on standard error.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::out::stderr(&(format!($($argument)*) + "\n")) };
}
