//! Statements and words.
//!
//! ```text
//! set [find name=a] disabled=yes; print        [ ] and { } hold statements, ; ends one
//! :local f do={ … }     :local a {1;2;b=3}     { } is a block behind do=, else=, on-error= and a
//! /ip address { print }                        path; elsewhere it is an array
//! ```

use crate::error::Error;
use crate::script::ast::{Block, Element, Operator, Part, Statement, Word};
use crate::script::control::Global;
use crate::script::lexer::{Lexer, not_closed};
use std::sync::Arc;

impl Lexer<'_> {
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

    /// All statements that come.
    pub(crate) fn all(&mut self) -> Result<Block, Error> {
        let mut statements = Vec::new();
        while let Some(statement) = self.next()? {
            statements.push(statement);
        }
        Ok(Block { statements, end: self.at })
    }

    /// Words up to the end of the line, `;`, the closing bracket or the end; the terminator is left
    /// in place.
    fn statement(&mut self) -> Result<Statement, Error> {
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';') => break,
                Some(']') if self.inside('[') => break,
                Some('}') if self.inside('{') => break,
                Some('#') => self.skip_comment(),
                Some(_) => {
                    let runs = Global::takes_block(words.first().and_then(Word::plain));
                    words.push(self.word(runs)?);
                }
            }
        }
        Ok(Statement { words, end: self.at })
    }

    /// One word; `runs` says whether a bare `{ }` holds commands here.
    fn word(&mut self, runs: bool) -> Result<Word, Error> {
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
                // Looked at first: a word may be a whole line long.
                && matches!(self.peek(), Some('=' | '!' | '<' | '>' | '~'))
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
                Some(']') if self.inside('[') => return Ok(word),
                Some('}') if self.inside('{') => return Ok(word),
                Some(c @ (']' | '}' | ')')) => {
                    let opening = match c {
                        ']' => '[',
                        '}' => '{',
                        _ => '(',
                    };
                    return Err(Error::syntax(self.at, format!("no {opening} is open here")));
                }
                Some('\\') => return Err(Error::syntax(self.at, STRAY_BACKSLASH)),
                Some('{') => {
                    let names = word.name.as_ref().map(|(name, _)| name.as_str());
                    let block = match names {
                        Some(name) => ["do", "else", "on-error"].contains(&name),
                        None => runs,
                    };
                    let part = if block {
                        Part::Block(Arc::new(self.block('{', '}')?))
                    } else {
                        Part::Array(self.array()?)
                    };
                    word.value.push(part);
                }
                Some('"' | '[' | '$' | '(') => {
                    let part = self.part()?;
                    word.value.push(part);
                }
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

    /// A string, a variable, `[ ]` or `( )`, one of which comes.
    pub(super) fn part(&mut self) -> Result<Part, Error> {
        match self.peek() {
            Some('"') => self.quoted(),
            Some('[') => {
                let block = self.block('[', ']')?;
                if block.statements.is_empty() {
                    let end = block.end;
                    return Err(Error::new(end, format!("expected command name {end}")));
                }
                Ok(Part::Command(Arc::new(block)))
            }
            Some('(') => Ok(Part::Expression(Box::new(self.parenthesis()?))),
            _ => self.variable(),
        }
    }

    /// `$name` or `$"any name"`.
    fn variable(&mut self) -> Result<Part, Error> {
        let at = self.at;
        self.bump();
        if self.peek() == Some('"') {
            return match self.quoted()? {
                Part::Quoted(name) => Ok(Part::Variable(name, at)),
                _ => Err(Error::syntax(at, "a variable's name is not put together")),
            };
        }
        let name = self.take_while(|c| c.is_ascii_alphanumeric());
        if name.is_empty() {
            return Err(Error::syntax(at, r"$ stands before a variable's name; a dollar is \$"));
        }
        Ok(Part::Variable(name.to_string(), at))
    }

    /// After a join: whether the blanks it swallowed end the word. They do not behind `name=` and
    /// a list's comma, where `export` breaks its lines.
    fn joined_with_blanks(&mut self) -> bool {
        let ends = self.rest.starts_with([' ', '\t']) && !matches!(self.before, '=' | ',' | '~');
        self.skip_blanks();
        ends
    }

    pub(super) fn operator(&mut self) -> Option<Operator> {
        let (operator, sign) = match self.rest.as_bytes() {
            [b'!', b'=', ..] => (Operator::NotEqual, "!="),
            [b'<', b'=', ..] => (Operator::LessEqual, "<="),
            [b'>', b'=', ..] => (Operator::GreaterEqual, ">="),
            [b'=', ..] => (Operator::Equal, "="),
            [b'~', ..] => (Operator::Matches, "~"),
            [b'<', ..] => (Operator::Less, "<"),
            [b'>', ..] => (Operator::Greater, ">"),
            _ => return None,
        };
        self.take(sign);
        Some(operator)
    }

    /// Statements between brackets.
    fn block(&mut self, opening: char, closing: char) -> Result<Block, Error> {
        let at = self.enter(opening)?;
        let mut statements = Vec::new();
        loop {
            let statement = self.statement()?;
            let end = statement.end;
            if !statement.words.is_empty() {
                statements.push(statement);
            }
            match self.peek() {
                Some(c) if c == closing => {
                    self.leave();
                    return Ok(Block { statements, end });
                }
                Some(_) => drop(self.bump()),
                None => return Err(not_closed(at)),
            }
        }
    }

    /// `{1; "two"; key=3}`.
    pub(super) fn array(&mut self) -> Result<Vec<Element>, Error> {
        let opened = self.enter('{')?;
        let mut elements = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                None => return Err(not_closed(opened)),
                Some('}') => {
                    self.leave();
                    return Ok(elements);
                }
                Some(';') => {
                    self.bump();
                    continue;
                }
                Some(_) => {}
            }
            let at = self.at;
            let word = self.word(false)?;
            let Word { name, value, .. } = word;
            let (key, value) = match (name, value.as_slice()) {
                (Some((name, Operator::Equal)), _) => (Some(Part::Plain(name)), value),
                (Some(_), _) => return Err(Error::syntax(at, "an array holds values, key=value")),
                // A quoted key: its value follows the sign.
                (None, [Part::Quoted(key), Part::Plain(sign), ..]) if sign.starts_with('=') => {
                    let key = Part::Quoted(key.clone());
                    let mut value = value[1..].to_vec();
                    if let Some(Part::Plain(text)) = value.first_mut() {
                        text.remove(0);
                    }
                    value.retain(|part| *part != Part::Plain(String::new()));
                    (Some(key), value)
                }
                (None, _) => (None, value),
            };
            elements.push(Element { key, value, at });
        }
    }

    fn quoted(&mut self) -> Result<Part, Error> {
        let start = self.at;
        self.bump();
        let mut parts = Vec::new();
        // Bytes, for `\XX` writes them one by one.
        let mut bytes = Vec::new();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).map_err(|_| Error::syntax(start, "the string is not UTF-8"))
        };
        loop {
            if self.continuation() {
                self.skip_blanks();
                continue;
            }
            let at = self.at;
            match self.peek() {
                None => return Err(Error::syntax(start, "the string that begins here has no end")),
                Some('"') => break,
                Some('$') => {
                    let part = match self.rest.as_bytes().get(1) {
                        Some(b'(' | b'[') => {
                            self.bump();
                            self.part()?
                        }
                        _ => self.variable()?,
                    };
                    parts.push(Part::Quoted(text(std::mem::take(&mut bytes))?));
                    parts.push(part);
                }
                Some('\\') => {
                    self.bump();
                    bytes.push(self.escape(at)?);
                }
                Some(c) => {
                    self.bump();
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        self.bump();
        let last = text(bytes)?;
        if parts.is_empty() {
            return Ok(Part::Quoted(last));
        }
        parts.push(Part::Quoted(last));
        parts.retain(|part| *part != Part::Quoted(String::new()));
        Ok(Part::Template(parts))
    }
}

const STRAY_BACKSLASH: &str =
    r"a backslash joins lines when it ends one; elsewhere it belongs in a string";

fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}
