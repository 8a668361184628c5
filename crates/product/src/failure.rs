//! A command's failure, and its exit code.

use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

/// What went wrong, in words: what was tried, what happened, what to do.
#[derive(Debug)]
pub enum Failure {
    /// It ran, and failed.
    Failed(String),
    /// It was asked for something that cannot be.
    Usage(String),
    /// The surroundings do not allow it.
    Environment(String),
}

impl Failure {
    /// Of a file with which something cannot be done: "read the plan in".
    pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "; check the path",
            io::ErrorKind::PermissionDenied => "; choose another file, or change its permissions",
            _ => "",
        };
        Failure::Environment(format!("cannot {what} {}: {error}{advice}", path.display()))
    }

    /// What the program ends with.
    pub fn exit_code(&self) -> ExitCode {
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
        // An excerpt may be of a line that has no end: of each line only so much.
        const SHOWN: usize = 1200;
        for (at, line) in text.split('\n').enumerate() {
            let end = line.char_indices().nth(SHOWN).map(|(end, _)| end);
            let (line, more) = end.map_or((line, ""), |end| (&line[..end], "…"));
            write!(f, "{}{line}{more}", if at == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_an_end() {
        let long = "ü".repeat(200_000);
        for (text, lines) in [
            ("a\nb", vec![1, 1]),
            ("", vec![0]),
            ("a\n", vec![1, 0]),
            (long.as_str(), vec![1201]),
            (&format!("x\n{long}\ny"), vec![1, 1201, 1]),
        ] {
            let shown = Failure::Usage(text.to_string()).to_string();
            let shown: Vec<usize> = shown.split('\n').map(|line| line.chars().count()).collect();
            assert_eq!(shown, lines);
        }
    }
}
