//! Characters and their places: blanks, comments, joined lines, and what a backslash means.
//!
//! ```text
//! add chain=icmp icmp-options=3:4 \            a statement goes on after a closing backslash,
//!     comment="host unreachable \              blanks behind it tolerated;
//!     fragmentation required"                  a string too, less the next line's first blanks
//! ```
//!
//! The one reader of script text. What it reads into statements stands in `parse` and `expression`.

use crate::error::{At, Error};

/// Takes a script apart.
pub(crate) struct Lexer<'a> {
    pub(super) rest: &'a str,
    pub(super) at: At,
    /// The brackets that are open.
    pub(super) open: Vec<char>,
    /// The character before the cursor, continuations skipped: decides what a join means.
    pub(super) before: char,
}

/// In UTF-8 it says nothing, and nobody sees it.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Deeper brackets are no configuration.
const MAX_DEPTH: usize = 32;

impl<'a> Lexer<'a> {
    pub(crate) fn new(script: &'a str) -> Lexer<'a> {
        let at = At { line: 1, column: 1 };
        // What editors of another system put ahead of a text, to say that it is UTF-8.
        let script = script.strip_prefix(BYTE_ORDER_MARK).unwrap_or(script);
        Lexer { rest: script, at, open: Vec::new(), before: '\n' }
    }

    /// The innermost open bracket.
    pub(super) fn inside(&self, bracket: char) -> bool {
        self.open.last() == Some(&bracket)
    }

    /// Steps over an opening bracket.
    pub(super) fn enter(&mut self, bracket: char) -> Result<At, Error> {
        let at = self.at;
        if self.open.len() == MAX_DEPTH {
            return Err(Error::syntax(at, format!("more than {MAX_DEPTH} brackets are open")));
        }
        self.open.push(bracket);
        self.bump();
        Ok(at)
    }

    /// Steps over the closing bracket, which is there.
    pub(super) fn leave(&mut self) {
        self.open.pop();
        self.bump();
    }

    /// What stands behind a backslash in a string.
    pub(super) fn escape(&mut self, at: At) -> Result<u8, Error> {
        let bad =
            || Error::syntax(at, r#"escapes are \" \\ \n \r \t \$ \? \_ \a \b \f \v and \XX"#);
        let c = self.bump().ok_or_else(bad)?;
        Ok(match c {
            '"' | '\\' | '$' | '?' => c as u8,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            '_' => b' ',
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'v' => 11,
            '0'..='9' | 'A'..='F' => {
                let low = self.peek().filter(|c| matches!(c, '0'..='9' | 'A'..='F'));
                let low = low.ok_or_else(bad)?;
                self.bump();
                let digit = |c: char| c.to_digit(16).unwrap_or(0) as u8;
                digit(c) << 4 | digit(low)
            }
            _ => return Err(bad()),
        })
    }

    pub(super) fn skip_blanks(&mut self) {
        loop {
            while matches!(self.peek(), Some(' ' | '\t' | '\r')) {
                self.bump();
            }
            if !self.continuation() {
                return;
            }
        }
    }

    /// Blanks, ends of lines and comments: what may stand between the terms of an expression.
    pub(super) fn skip_space(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('\n') => drop(self.bump()),
                Some('#') => self.skip_comment(),
                _ => return,
            }
        }
    }

    pub(super) fn skip_comment(&mut self) {
        while !matches!(self.peek(), None | Some('\n')) {
            self.bump();
        }
    }

    /// Steps over a backslash, the blanks behind it and the end of the line, if that is what
    /// comes. The cursor then stands at the first column of the next line.
    pub(super) fn continuation(&mut self) -> bool {
        let Some(rest) = self.rest.strip_prefix('\\') else { return false };
        let trimmed = rest.trim_start_matches([' ', '\t', '\r']);
        let Some(rest) = trimmed.strip_prefix('\n') else { return false };
        self.rest = rest;
        self.at = At { line: self.at.line + 1, column: 1 };
        true
    }

    /// Steps over this text, if it comes.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let comes = self.rest.starts_with(text);
        for _ in text.chars().filter(|_| comes) {
            self.bump();
        }
        comes
    }

    /// The characters that come and are such.
    pub(super) fn take_while(&mut self, is_such: impl Fn(char) -> bool) -> &'a str {
        let len = self.rest.find(|c| !is_such(c)).unwrap_or(self.rest.len());
        let text = &self.rest[..len];
        for _ in text.chars() {
            self.bump();
        }
        text
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.at = match c {
            '\n' => At { line: self.at.line + 1, column: 1 },
            _ => self.at.right(1),
        };
        self.before = c;
        Some(c)
    }
}

/// The script ended before the bracket was closed that opened at `at`.
pub(super) fn not_closed(at: At) -> Error {
    Error::syntax(at, "the bracket that opens here is not closed")
}
