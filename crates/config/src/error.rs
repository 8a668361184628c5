//! Errors of a refused line: RouterOS's own words, the place, and what would have been legal.
//!
//! ```text
//! input does not match any value of protocol        ◄─ text, exactly as RouterOS words it
//!     add chain=forward protocol=tpc                ◄─ the offending line
//!                                ^                  ◄─ line 3, column 28
//! protocol is one of: icmp, tcp, udp; did you mean tcp?   ◄─ help, ours
//! ```
//!
//! The wording is RouterOS's (`routeros/A-script.md`, A.6); what RouterOS does not have a word for
//! because it has the feature begins with `not implemented:`.

use crate::script::BYTE_ORDER_MARK;
use std::fmt;

/// A place in a script: physical line and character, both counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// The physical line.
    pub line: u32,
    /// The character within the line.
    pub column: u32,
}

impl At {
    /// `n` characters further on the same line.
    pub(crate) fn right(self, n: usize) -> At {
        At { column: self.column.saturating_add(n as u32), ..self }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(line {} column {})", self.line, self.column)
    }
}

/// Why a script was refused. Nothing of it has been applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// As RouterOS words it.
    pub text: String,
    /// Where.
    pub at: At,
    /// The physical line it happened on, without its end.
    pub source: String,
    /// What would have been legal; empty if there is nothing to say.
    pub help: String,
}

impl Error {
    pub(crate) fn new(at: At, text: impl Into<String>) -> Error {
        let text = shortened(&text.into(), SENTENCE);
        Error { text, at, source: String::new(), help: String::new() }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Error {
        Error { help: shortened(&help.into(), SENTENCE), ..self }
    }

    /// `bad command name X (line L column N)`.
    pub(crate) fn bad_command(at: At, word: &str, legal: &[&str]) -> Error {
        Error::new(at, format!("bad command name {} {at}", shortened(word, WORD)))
            .help(choices(word, legal))
    }

    /// `expected end of command (line L column N)`: an unknown or surplus parameter.
    pub(crate) fn end_of_command(at: At) -> Error {
        Error::new(at, format!("expected end of command {at}"))
    }

    /// `syntax error (line L column N)`.
    pub(crate) fn syntax(at: At, help: impl Into<String>) -> Error {
        Error::new(at, format!("syntax error {at}")).help(help)
    }

    /// RouterOS has it, we do not.
    pub(crate) fn missing(at: At, what: impl fmt::Display) -> Error {
        Error::new(at, format!("not implemented: {what}"))
    }

    /// The user wanted it to end.
    pub(crate) fn interrupted(at: At) -> Error {
        Error::new(at, "interrupted")
    }

    /// Whether the user wanted it to end: no script can catch that.
    pub(crate) fn is_interruption(&self) -> bool {
        self.text == "interrupted"
    }

    /// Fills in the offending line, of a file: its line numbers are not those of what was typed.
    pub(crate) fn locate_in(self, file: &str, script: &str) -> Error {
        if !self.source.is_empty() {
            return self;
        }
        let mut error = self.locate(script);
        if !error.is_interruption() {
            let more = if error.help.is_empty() { "" } else { "\n" };
            error.help = format!("in file {file}{more}{}", error.help);
        }
        error
    }

    /// Fills in the offending line.
    pub(crate) fn locate(mut self, script: &str) -> Error {
        // An imported file has filled in its own.
        if !self.source.is_empty() {
            return self;
        }
        let script = script.strip_prefix(BYTE_ORDER_MARK).unwrap_or(script);
        let line = script.split('\n').nth((self.at.line as usize).saturating_sub(1));
        self.source = line.unwrap_or("").trim_end_matches('\r').to_string();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if !self.source.is_empty() {
            let (line, before) = excerpt(&self.source, self.at.column as usize);
            write!(f, "\n    {line}\n    {before}^")?;
        }
        if !self.help.is_empty() {
            write!(f, "\n{}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// What of a line is shown around a column (from 1), and what stands before the caret below it.
pub fn excerpt(line: &str, column: usize) -> (String, String) {
    /// Of a line without end, what stands before and behind the place.
    const BEFORE: usize = 60;
    const SHOWN: usize = 120;
    let n_before = column.saturating_sub(1);
    let cut = n_before.saturating_sub(BEFORE);
    let line = line.chars().skip(cut).take(SHOWN);
    // A script may hold what a terminal would obey.
    let line = line.map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c });
    // Tabs stay tabs, so that the caret stands below its character on any terminal.
    let before = line.clone().map(|c| if c == '\t' { c } else { ' ' });
    let before = before.chain(std::iter::repeat(' ')).take(n_before - cut);
    (line.collect(), before.collect())
}

/// Characters of a word that a sentence shows.
pub(crate) const WORD: usize = 64;
/// Characters of a sentence: what was typed, and stands in it, may have no end.
const SENTENCE: usize = 1000;

/// So many characters of a text.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// `one of: a, b, c; did you mean b?` for a word that is none of them.
pub(crate) fn choices(typed: &str, legal: &[&str]) -> String {
    /// More than these would bury the error.
    const SHOWN: usize = 40;
    let mut legal = legal.to_vec();
    legal.sort_unstable();
    legal.dedup();
    let Some(nearest) = legal.iter().min_by_key(|word| distance(typed, word)) else {
        return "none".to_string();
    };
    // A third of the letters wrong is still a typing error; more is another word, and so is one of a
    // few letters of which not half are right.
    let (wrong, letters) = (distance(typed, nearest), typed.chars().count());
    let near = wrong <= 1 + letters / 3 && 2 * wrong <= letters.max(nearest.chars().count());
    let mut text = format!("one of: {}", legal[..legal.len().min(SHOWN)].join(", "));
    if legal.len() > SHOWN {
        text += &format!(", and {} more", legal.len() - SHOWN);
    }
    if near && !typed.is_empty() {
        text += &format!("; did you mean {nearest}?");
    }
    text
}

/// Insertions, deletions, substitutions and swaps of neighbours that make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    // A name of 64 characters is no mistyped word; and the work stays bounded.
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        let [before, last, row] = &mut rows;
        row[0] = i;
        for j in 1..=b.len() {
            let substituted = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_spelling() {
        let legal = ["tcp", "udp", "icmp"];
        assert_eq!(choices("tpc", &legal), "one of: icmp, tcp, udp; did you mean tcp?");
        assert_eq!(choices("wireguard", &legal), "one of: icmp, tcp, udp");
        assert_eq!(choices("x", &[]), "none");
        // The only choice there is need not be what was meant.
        for (typed, only, near) in [
            ("x", "a", false),
            ("udp", "tcp", false),
            ("lan", "wan", true),
            ("on", "no", true),
            ("b", "br", true),
            ("", "a", false),
        ] {
            assert_eq!(choices(typed, &[only]).contains("did you mean"), near, "{typed} {only}");
        }
        for (a, b, n) in [("", "", 0), ("abc", "abc", 0), ("ab", "ba", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), n, "{a} {b}");
        }
    }

    #[test]
    fn caret_stands_below() {
        let at = At { line: 2, column: 6 };
        let error = Error::end_of_command(at).help("no").locate("first\n\tadd foo=1\r\n");
        let text = "expected end of command (line 2 column 6)\n    \tadd foo=1\n    \t    ^\nno";
        assert_eq!(error.to_string(), text);
        let at = At { line: 1, column: 1001 };
        let long =
            Error::end_of_command(at).locate(&("\u{1b}".repeat(1000) + "x" + &"y".repeat(1000)));
        let text = long.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].chars().position(|c| c == 'x'), lines[2].find('^'));
        assert!(!text.contains('\u{1b}') && lines[1].chars().count() == 124, "{text}");
    }
}
