//! The values in a line: texts, strings, variables, `( )`, `{ }` and `[ ]`.

use super::Class;
use super::offer::settable;
use super::scan::{Expects, Scan, ends_statement, is_blank, is_name, refusal};
use super::shape::{Parameter, What};
use crate::Mismatch;
use crate::condition::field;
use crate::parse::pick;

impl Scan<'_, '_> {
    /// A value: its parts up to a blank or the end of the statement.
    pub(super) fn value(&mut self, parameter: Parameter, path: &'static str) {
        let start = self.at;
        // What it says, as long as nothing has to be called for it.
        let mut text = Some(String::new());
        loop {
            match self.peek() {
                None => break,
                Some(c) if is_blank(c) || ends_statement(c) || c == '#' => break,
                Some('"') => {
                    let part = self.string(path);
                    text = text.zip(part).map(|(text, part)| text + &part);
                }
                Some('[') => {
                    text = None;
                    self.nested(']', |scan| scan.statements(path, Some(']')));
                }
                Some('(') => {
                    text = None;
                    self.nested(')', |scan| scan.expression(path));
                }
                Some('{') => {
                    text = None;
                    if matches!(parameter.what, What::Code) {
                        self.nested('}', |scan| scan.statements(path, Some('}')));
                    } else {
                        self.nested('}', |scan| scan.array(path));
                    }
                }
                Some('$') => {
                    text = None;
                    self.variable(path);
                }
                Some('\\') => {
                    if !self.continuation() {
                        self.bump(Class::Error);
                    }
                }
                Some(c) => {
                    self.bump(Class::Plain);
                    if let Some(text) = &mut text {
                        text.push(c);
                    }
                }
            }
        }
        if self.at_end() {
            // Under way, so not wrong yet.
            return self.note(start, Expects::Value(parameter));
        }
        let Some(text) = text else { return };
        match parameter.what {
            What::NewName => {
                self.paint(start, self.at, Class::VariableName);
                self.variables.extend(text.split(',').map(str::to_string));
            }
            What::Variable => {
                let class = self.known(&text);
                self.paint(start, self.at, class);
            }
            _ => {
                if let Some(why) = self.mismatch(&parameter, &text) {
                    self.paint(start, self.at, refusal(Some(&why)));
                }
            }
        }
    }

    fn mismatch(&self, parameter: &Parameter, text: &str) -> Option<Mismatch> {
        match parameter.what {
            What::Value(kind) => kind.parse(text, self.scene).err(),
            What::Readable(menu) => field(menu, text).err(),
            What::Settable(menu) => pick(settable(menu), text).err(),
            _ => None,
        }
    }

    /// `(1 + $x . [find])`, up to its bracket.
    fn expression(&mut self, path: &'static str) {
        loop {
            self.blanks();
            match self.peek() {
                None | Some(')') => return,
                Some('\n') => self.bump(Class::Plain),
                Some('(') => self.nested(')', |scan| scan.expression(path)),
                Some('[') => self.nested(']', |scan| scan.statements(path, Some(']'))),
                Some('{') => self.nested('}', |scan| scan.array(path)),
                Some('"') => drop(self.string(path)),
                Some('$') => self.variable(path),
                Some(']' | '}') => return,
                Some(c) if is_name(c) || c == ':' => self.bump(Class::Plain),
                Some(_) => self.bump(Class::Syntax),
            }
        }
    }

    /// `{1;2;"a"=3}`, up to its bracket.
    fn array(&mut self, path: &'static str) {
        loop {
            self.blanks();
            match self.peek() {
                None | Some('}' | ')' | ']') => return,
                Some('\n') => self.bump(Class::Plain),
                Some(';' | '=') => self.bump(Class::Syntax),
                Some('#') => self.comment(),
                Some(_) => self.value(Parameter::ANY, path),
            }
        }
    }

    /// A string with its quotes. What it says, if nothing in it has to be called or looked up.
    fn string(&mut self, path: &'static str) -> Option<String> {
        let mut text = Some(String::new());
        self.bump(Class::Text);
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.bump(Class::Text);
                    return text;
                }
                '\\' if self.continuation() => self.blanks(),
                '\\' => {
                    self.bump(Class::Escaped);
                    let is_hex = |c: Option<char>| {
                        c.is_some_and(|c| c.is_ascii_hexdigit() && !c.is_ascii_lowercase())
                    };
                    let plain = self.peek().filter(|c| "\"\\$?".contains(*c));
                    match (&mut text, plain) {
                        (Some(text), Some(c)) => text.push(c),
                        _ => text = None,
                    }
                    if is_hex(self.peek()) && is_hex(self.chars.get(self.at + 1).copied()) {
                        self.bump(Class::Escaped);
                    }
                    self.bump(Class::Escaped);
                }
                '$' => {
                    text = None;
                    match self.chars.get(self.at + 1) {
                        Some('[') => {
                            self.bump(Class::Syntax);
                            self.nested(']', |scan| scan.statements(path, Some(']')));
                        }
                        Some('(') => {
                            self.bump(Class::Syntax);
                            self.nested(')', |scan| scan.expression(path));
                        }
                        _ => self.variable(path),
                    }
                }
                c => {
                    self.bump(Class::Text);
                    if let Some(text) = &mut text {
                        text.push(c);
                    }
                }
            }
        }
        None
    }

    /// `$name`, `$"a name"`.
    fn variable(&mut self, path: &'static str) {
        let dollar = self.at;
        self.bump(Class::Variable);
        if self.peek() == Some('"') {
            drop(self.string(path));
            return;
        }
        let (start, end) = self.word(|c| c.is_ascii_alphanumeric());
        self.note(start, Expects::Variable);
        let name: String = self.chars[start..end].iter().collect();
        let class = self.known(&name);
        self.paint(dollar, end, class);
    }

    fn known(&self, name: &str) -> Class {
        let is_argument = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
        let is_under_way = self.at_end() && self.variables.iter().any(|v| v.starts_with(name));
        match is_argument || is_under_way || self.variables.iter().any(|known| known == name) {
            true => Class::Variable,
            false => Class::Undefined,
        }
    }
}
