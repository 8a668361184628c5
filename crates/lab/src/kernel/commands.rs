//! Commands that make a device of the kernel, and are kept: the result shows every command as it was
//! run.
//!
//! ```text
//! run("ip address add 198.18.0.1/24 dev d0") ─► a process in the namespace ─► kept, if it worked
//! ```
//!
//! Words are split at blanks; there is no shell, so nothing is expanded. What is kept is quoted as a
//! shell wants it.

use crate::bench::BenchError;
use port::linux::Namespace;

/// Runs commands in a namespace, and keeps them.
pub(crate) struct Commands<'a> {
    namespace: &'a Namespace,
    /// Those that were run and worked, in order.
    pub(crate) ran: Vec<String>,
}

impl<'a> Commands<'a> {
    /// None run yet.
    pub(crate) fn new(namespace: &'a Namespace) -> Commands<'a> {
        Commands { namespace, ran: Vec::new() }
    }

    /// Runs one, and keeps it.
    ///
    /// # Errors
    /// [`BenchError::Command`], with what it printed.
    pub(crate) fn run(&mut self, words: &str) -> Result<(), BenchError> {
        ask(self.namespace, words)?;
        self.ran.push(typed(words));
        Ok(())
    }

    /// Runs lines of `ip`'s own that are too many to be kept, and keeps `said` instead: what a reader
    /// would type.
    ///
    /// # Errors
    /// [`BenchError::Command`]: they cannot be handed over.
    pub(crate) fn batch(&mut self, lines: &str, said: &str) -> Result<(), BenchError> {
        let file = std::env::temp_dir().join(format!("wirespeed-routes-{}", std::process::id()));
        let failed =
            |error: std::io::Error| BenchError::Command(said.to_string(), error.to_string());
        std::fs::write(&file, lines).map_err(failed)?;
        // A list from elsewhere may have what the kernel refuses (multicast, say): the others are in.
        let added = ask(self.namespace, &format!("ip -force -batch {}", file.display()));
        let _ = std::fs::remove_file(&file);
        self.ran.push(match added {
            Err(BenchError::Command(_, refused)) => format!("{said}, but for some ({refused})"),
            _ => said.to_string(),
        });
        Ok(())
    }
}

/// A command as it is typed into a shell.
pub(crate) fn typed(words: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let word = |word: &str| match word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{word}'"),
    };
    words.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Runs a command in a namespace and returns what it prints.
///
/// # Errors
/// [`BenchError::Command`]: it cannot be started, or it failed.
pub fn ask(namespace: &Namespace, words: &str) -> Result<String, BenchError> {
    crate::linux::command::ask(namespace, words)
        .map_err(|said| BenchError::Command(words.to_string(), said))
}

/// Whether there is this program to be run, as far as one can tell without running it.
pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::{is_there, typed};

    #[test]
    fn programs_are_looked_for() {
        assert!(is_there("sh") && !is_there("no-such-program"));
    }

    #[test]
    fn a_shell_takes_what_is_kept() {
        for (words, expected) in [
            ("ip address add 198.18.0.1/24 dev d0", "ip address add 198.18.0.1/24 dev d0"),
            (
                "nft add chain ip filter forward { type filter hook forward priority 0 ; }",
                "nft add chain ip filter forward '{' type filter hook forward priority 0 ';' '}'",
            ),
            ("nft add rule ip t c tcp dport != 80", "nft add rule ip t c tcp dport '!=' 80"),
        ] {
            assert_eq!(typed(words), expected);
        }
    }
}
