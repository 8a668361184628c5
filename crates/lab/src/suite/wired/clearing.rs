//! Clearing of a device behind interfaces: it forgets what earlier trials left in it.
//!
//! ```text
//!  the kernel here   ctnetlink, fdb_flush
//!  a box outside     its owner's command, if he gave one; else it keeps what it has
//! ```
//!
//! Never talks to a box by itself: what it understands, its owner knows.

use crate::bench::veth::Rig;
use crate::kernel::Kernel;
use measure::procedure::Stop;
use std::process::{Command, Stdio};
use std::time::Duration;

/// By whom.
pub(super) enum Clearing {
    Kernel(Kernel),
    /// A line for the shell.
    Command(String),
    Nobody,
}

impl Clearing {
    /// The device forgets, if anybody can make it.
    pub(super) fn clear(&mut self, rig: Option<&Rig>) -> Result<(), Stop> {
        match (self, rig) {
            (Clearing::Kernel(kernel), Some(rig)) => kernel.clear(rig).map_err(Stop::Broken),
            (Clearing::Command(line), _) => run(line),
            (Clearing::Nobody, _) | (Clearing::Kernel(_), None) => Ok(()),
        }
    }

    /// How many connections were forgotten, and how long it took.
    pub(super) fn forget(&mut self) -> Result<(u64, Duration), Stop> {
        match self {
            Clearing::Kernel(kernel) => kernel.forget().map_err(Stop::Broken),
            _ => Err(Stop::Broken("nobody can say when this device has forgotten".to_string())),
        }
    }

    /// In a line, for the result.
    pub(super) fn describe(&self) -> Option<String> {
        match self {
            Clearing::Kernel(kernel) => {
                kernel.between().map(|what| format!("between trials: {what}"))
            }
            Clearing::Command(line) => Some(format!("between trials: {line}")),
            Clearing::Nobody => None,
        }
    }
}

/// Runs its owner's command, and waits for it.
fn run(line: &str) -> Result<(), Stop> {
    let failed = |why: String| Stop::Broken(format!("--reset-command {line:?}: {why}"));
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null());
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let [said, out] = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes));
    let line = said.lines().chain(out.lines()).find(|line| !line.trim().is_empty());
    Err(failed(format!("{} ({})", line.unwrap_or("it failed").trim(), output.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_says_why() {
        assert_eq!(Clearing::Command("true".to_string()).clear(None), Ok(()));
        for (line, expected) in [
            ("echo no such router >&2; exit 3", "no such router (exit status: 3)"),
            ("exit 1", "it failed (exit status: 1)"),
        ] {
            let Err(Stop::Broken(why)) = Clearing::Command(line.to_string()).clear(None) else {
                panic!("{line} did not fail")
            };
            assert_eq!(why, format!("--reset-command {line:?}: {expected}"));
        }
        // Whoever has no command is left alone.
        assert_eq!(Clearing::Nobody.clear(None), Ok(()));
    }
}
