//! A script as it would be typed: one command after the other.
//!
//! ```text
//! add chain=forward \      ─┐
//!     action=accept         ├─ one: the line is not over
//! :foreach i in={1;2} do={ ─┤
//!   :put $i }              ─┘  one: brackets are open
//! ```

/// The commands of a script, each with all its lines; blank lines and comments between them are left
/// out.
pub(super) fn commands(script: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let mut open = Open::default();
    let mut start = 0;
    let mut at = 0;
    for line in script.split_inclusive('\n') {
        at += line.len();
        open.line(line);
        if open.is_over() {
            let command = script[start..at].trim_end();
            if !is_nothing(command) {
                commands.push(command);
            }
            start = at;
        }
    }
    let rest = script[start..].trim_end();
    if !is_nothing(rest) {
        commands.push(rest);
    }
    commands
}

fn is_nothing(command: &str) -> bool {
    let command = command.trim();
    command.is_empty() || (command.starts_with('#') && !command.contains('\n'))
}

/// What is not closed yet.
#[derive(Default)]
struct Open {
    brackets: usize,
    quote: bool,
    /// The line ends with a backslash.
    goes_on: bool,
}

impl Open {
    fn is_over(&self) -> bool {
        self.brackets == 0 && !self.quote && !self.goes_on
    }

    fn line(&mut self, line: &str) {
        let begins = self.is_over();
        self.goes_on = false;
        // RouterOS lets blanks stand behind the backslash, and so does the language.
        let line = line.trim_end();
        if begins && line.trim_start().starts_with('#') {
            return;
        }
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek().is_none() => self.goes_on = true,
                '\\' => drop(chars.next()),
                '"' => self.quote = !self.quote,
                '{' | '[' | '(' if !self.quote => self.brackets += 1,
                '}' | ']' | ')' if !self.quote => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_as_they_would_be_typed() {
        for (script, expected) in [
            ("", &[][..]),
            ("\n  \n", &[]),
            ("a\nb", &["a", "b"]),
            ("a\r\n\r\nb\r\n", &["a", "b"]),
            ("add x \\\n  y\nb", &["add x \\\n  y", "b"]),
            ("add x \\ \t\n  y\nb", &["add x \\ \t\n  y", "b"]),
            (":do {\n a\n}\nb", &[":do {\n a\n}", "b"]),
            ("a \"{\"\nb", &["a \"{\"", "b"]),
            ("a \"\\\"{\"\nb", &["a \"\\\"{\"", "b"]),
            ("a \"b\nc\"\nd", &["a \"b\nc\"", "d"]),
            ("# it's {\nb", &["b"]),
            ("a }\nb", &["a }", "b"]),
            ("a {\nb", &["a {\nb"]),
            ("a \\", &["a \\"]),
        ] {
            assert_eq!(commands(script), expected, "{script:?}");
        }
    }
}
