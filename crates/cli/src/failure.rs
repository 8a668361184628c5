//! Why a command ended, and the exit code of it.

use std::fmt;
use std::process::ExitCode;

/// What went wrong, in words: what was tried, what happened, what to do.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It ran, and failed.
    Failed(String),
    /// It was asked for something that cannot be.
    Usage(String),
    /// The surroundings do not allow it.
    Environment(String),
}

impl Failure {
    /// Of a run all of whose rows, or trials, say nothing about the device. One that is valid among
    /// them is a result, and each of the others has its mark there.
    pub(crate) fn nothing_valid(what: &str) -> Failure {
        let why = "the tester fell short, or the machine was busy, and nothing was measured";
        Failure::Failed(format!("every {what} was invalid: {why}"))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Failed(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Environment(_) => 3,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Failed(text) | Failure::Usage(text) | Failure::Environment(text)) = self;
        f.write_str(text)
    }
}
