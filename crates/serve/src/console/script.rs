//! Lines from files and pipes: run in order, up to the first that is refused.
//!
//! A script goes to the device as a whole, so that what is local to it stays. What its commands
//! changed before the one that was refused stands, as if it had been typed.

use super::command::{self, Ended, Trap};
use super::remote::{Gone, Remote};
use super::screen::Screen;
use super::{Failure, terminal};
use std::io;

/// Runs a script.
pub(super) fn run(remote: &mut Remote, name: &str, script: &str) -> Result<(), Failure> {
    let size = terminal::is_output().then(terminal::size);
    let width = size.map_or(80, |size| size.0);
    let mut screen = Screen::new(io::stdout(), None, false);
    match command::run(remote, script, width, &mut screen, None) {
        Ok(outcome) => outcome.trap.map_or(Ok(()), |trap| Err(refused(name, &trap))),
        Err(Ended::Gone(Gone(why))) => {
            Err(Failure::Environment(format!("the connection is lost: {why}")))
        }
        // Whoever read the output has seen enough.
        Err(Ended::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(Ended::Output(error)) => Err(Failure::Environment(format!("cannot write: {error}"))),
    }
}

/// `FILE:LINE:COLUMN: why`, the line, a caret, what would have been legal.
fn refused(name: &str, trap: &Trap) -> Failure {
    let place = match (trap.line, trap.column) {
        (0, _) => name.to_string(),
        (line, column) => format!("{name}:{line}:{column}"),
    };
    let text = format!("{place}: {}\n{}{}", trap.message, trap.below(), trap.advice());
    Failure::Script(text.trim_end().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_and_why() {
        let trap = Trap {
            message: "input does not match any value of protocol".to_string(),
            line: 3,
            column: 6,
            source: "\tadd protocol=tpc".to_string(),
            help: "protocol is one of: tcp; did you mean tcp?".to_string(),
            is_interrupted: false,
        };
        let expected = "x.rsc:3:6: input does not match any value of protocol\n    \tadd protocol=tpc\n    \t    ^\nprotocol is one of: tcp; did you mean tcp?";
        assert_eq!(refused("x.rsc", &trap), Failure::Script(expected.to_string()));
    }
}
