//! Lines: from text to statements, each a run of words that know where they were typed.
//!
//! ```text
//! add chain=icmp icmp-options=3:4 \            a statement goes on after a closing backslash,
//!     comment="host unreachable \              blanks behind it tolerated;
//!     fragmentation required"                  a string too, less the next line's first blanks
//! set [find name=a] disabled=yes; print        [ ] holds a statement, ; ends one
//! ```
//!
//! Knows nothing of menus, commands or types: `/ip/address` is one word here.
//!
//! **Missing** (refused): variables `$x`, expressions `( )`, blocks and arrays `{ }`.

use crate::error::{At, Error};

/// One command as typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) words: Vec<Word>,
    /// Just behind its last character.
    pub(crate) end: At,
}

/// `word`, `name=value`, or `name!=value` and the like.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) at: At,
    /// What stands before the operator; `None` for a bare word, which is all value.
    pub(crate) name: Option<(String, Operator)>,
    pub(crate) value: Vec<Part>,
    pub(crate) value_at: At,
}

/// What stands between a name and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Matches,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
}

/// A piece of a value; a value is its pieces one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Plain(String),
    Quoted(String),
    /// `[ … ]`: what the command returns.
    Command(Statement),
}

impl Word {
    /// The text of a bare word without quotes and brackets: a command, a path, a flag.
    pub(crate) fn plain(&self) -> Option<&str> {
        match (&self.name, self.value.as_slice()) {
            (None, [Part::Plain(text)]) => Some(text),
            _ => None,
        }
    }
}

/// Takes a script apart, one statement at a time.
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    at: At,
    /// How many `[` are open.
    depth: u32,
    /// The character before the cursor, continuations skipped: decides what a join means.
    before: char,
}

/// Deeper brackets are no configuration.
const MAX_DEPTH: u32 = 32;

impl<'a> Lexer<'a> {
    pub(crate) fn new(script: &'a str) -> Lexer<'a> {
        Lexer { rest: script, at: At { line: 1, column: 1 }, depth: 0, before: '\n' }
    }

    /// The next statement that holds a word; `None` at the end of the script.
    pub(crate) fn next(&mut self) -> Result<Option<Statement>, Error> {
        loop {
            let statement = self.statement()?;
            if !statement.words.is_empty() {
                return Ok(Some(statement));
            }
            if self.bump().is_none() {
                return Ok(None);
            }
        }
    }

    /// Words up to the end of the line, `;`, `]` or the end; the terminator is left in place.
    fn statement(&mut self) -> Result<Statement, Error> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';') => break,
                Some(']') if self.depth > 0 => break,
                Some('#') => self.skip_comment(),
                Some(_) => words.push(self.word()?),
            }
        }
        Ok(Statement { words, end: self.at })
    }

    fn word(&mut self) -> Result<Word, Error> {
        let at = self.at;
        let mut word = Word { at, name: None, value: Vec::new(), value_at: at };
        loop {
            if self.continuation() && self.joined_with_blanks() {
                return Ok(word);
            }
            // A value that a line break holds apart from its name begins where it begins.
            if word.value.is_empty() {
                word.value_at = self.at;
            }
            if word.name.is_none()
                && let [Part::Plain(name)] = word.value.as_slice()
                && is_name(name)
                && let Some(operator) = self.operator()
            {
                word.name = Some((name.clone(), operator));
                word.value.clear();
                continue;
            }
            match self.peek() {
                None | Some(' ' | '\t' | '\r' | '\n' | ';' | '#') => return Ok(word),
                Some(']') if self.depth > 0 => return Ok(word),
                Some(']') => return Err(Error::syntax(self.at, "no [ is open here")),
                Some('"') => {
                    let part = Part::Quoted(self.quoted()?);
                    word.value.push(part);
                }
                Some('[') => {
                    let part = Part::Command(self.bracket()?);
                    word.value.push(part);
                }
                Some('$') => return Err(Error::missing(self.at, "variables ($)")),
                Some('(' | ')') => return Err(Error::missing(self.at, "expressions ( )")),
                Some('{' | '}') => return Err(Error::missing(self.at, "blocks and arrays { }")),
                Some('\\') => return Err(Error::syntax(self.at, STRAY_BACKSLASH)),
                Some(c) => {
                    self.bump();
                    match word.value.last_mut() {
                        Some(Part::Plain(text)) => text.push(c),
                        _ => word.value.push(Part::Plain(c.to_string())),
                    }
                }
            }
        }
    }

    /// After a join: whether the blanks it swallowed end the word. They do not behind `name=` and
    /// a list's comma, where `export` breaks its lines.
    fn joined_with_blanks(&mut self) -> bool {
        let ends = self.rest.starts_with([' ', '\t']) && !matches!(self.before, '=' | ',' | '~');
        self.skip_blanks();
        ends
    }

    fn operator(&mut self) -> Option<Operator> {
        let (operator, len) = match self.rest.as_bytes() {
            [b'!', b'=', ..] => (Operator::NotEqual, 2),
            [b'<', b'=', ..] => (Operator::LessEqual, 2),
            [b'>', b'=', ..] => (Operator::GreaterEqual, 2),
            [b'=', ..] => (Operator::Equal, 1),
            [b'~', ..] => (Operator::Matches, 1),
            [b'<', ..] => (Operator::Less, 1),
            [b'>', ..] => (Operator::Greater, 1),
            _ => return None,
        };
        for _ in 0..len {
            self.bump();
        }
        Some(operator)
    }

    fn bracket(&mut self) -> Result<Statement, Error> {
        let at = self.at;
        self.bump();
        if self.depth == MAX_DEPTH {
            return Err(Error::syntax(at, format!("more than {MAX_DEPTH} brackets are open")));
        }
        self.depth += 1;
        let statement = loop {
            let statement = self.statement()?;
            match self.peek() {
                Some(']') => break statement,
                // Blank lines before the command are harmless, a second command is not.
                Some(_) if statement.words.is_empty() => {
                    self.bump();
                }
                Some(_) => return Err(Error::missing(self.at, "several commands in [ ]")),
                None => return Err(Error::syntax(at, "the bracket that opens here is not closed")),
            }
        };
        self.depth -= 1;
        self.bump();
        if statement.words.is_empty() {
            let end = statement.end;
            return Err(Error::new(end, format!("expected command name {end}")));
        }
        Ok(statement)
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let start = self.at;
        self.bump();
        // Bytes, for `\XX` writes them one by one.
        let mut bytes = Vec::new();
        loop {
            if self.continuation() {
                self.skip_blanks();
                continue;
            }
            let at = self.at;
            match self.bump() {
                None => {
                    return Err(Error::syntax(start, "the string that begins here has no end"));
                }
                Some('"') => break,
                Some('$') => return Err(Error::missing(at, r"variables ($); a dollar is \$")),
                Some('\\') => bytes.push(self.escape(at)?),
                Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        String::from_utf8(bytes).map_err(|_| Error::syntax(start, "the string is not UTF-8"))
    }

    /// What stands behind a backslash in a string.
    fn escape(&mut self, at: At) -> Result<u8, Error> {
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

    fn skip_blanks(&mut self) {
        loop {
            while matches!(self.peek(), Some(' ' | '\t' | '\r')) {
                self.bump();
            }
            if !self.continuation() {
                return;
            }
        }
    }

    fn skip_comment(&mut self) {
        while !matches!(self.peek(), None | Some('\n')) {
            self.bump();
        }
    }

    /// Steps over a backslash, the blanks behind it and the end of the line, if that is what
    /// comes. The cursor then stands at the first column of the next line.
    fn continuation(&mut self) -> bool {
        let Some(rest) = self.rest.strip_prefix('\\') else { return false };
        let trimmed = rest.trim_start_matches([' ', '\t', '\r']);
        let Some(rest) = trimmed.strip_prefix('\n') else { return false };
        self.rest = rest;
        self.at = At { line: self.at.line + 1, column: 1 };
        true
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
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

const STRAY_BACKSLASH: &str =
    r"a backslash joins lines when it ends one; elsewhere it belongs in a string";

fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// A value as `export` writes it: quoted only where it must be.
pub(crate) fn quote(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._/:,!*%".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) { text.to_string() } else { quote_always(text) }
}

/// A value in quotes, as `print` shows names and texts.
pub(crate) fn quote_always(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'$' | b'?' => quoted.extend(['\\', byte as char]),
            b'\n' => quoted.push_str("\\n"),
            b'\r' => quoted.push_str("\\r"),
            b'\t' => quoted.push_str("\\t"),
            b' '..=b'~' => quoted.push(byte as char),
            _ => quoted.push_str(&format!("\\{byte:02X}")),
        }
    }
    quoted.push('"');
    quoted
}
