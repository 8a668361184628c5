//! From text to classes, and what the end of it expects.
//!
//! ```text
//! statements ─► statement ─┬─ path, command ─► arguments ─┬─► value ─┬─► string, variable
//!      ▲                   └─ :global ────────────┘       │          ├─► expression ( )
//!      │                                       conditions ┘          ├─► array { }
//!      └───────────────────────── [ ], { } of code ──────────────────┘
//! ```
//!
//! One pass over the characters. Whoever meets the end of the text first, the innermost, notes what
//! it expected there.

use super::global;
use super::shape::{Conditions, Form, Parameter, Shape, What};
use super::{Class, Scene, choose};
use crate::Mismatch;
use crate::condition::field;
use crate::language::Choice;
use crate::parse::pick;
use std::rc::Rc;

/// Deeper brackets are no configuration.
const MAX_DEPTH: usize = 32;

/// What stands at the end of the text.
pub(super) struct Situation {
    /// The character at which the word under way begins.
    pub(super) at: usize,
    /// What there is of it.
    pub(super) typed: String,
    /// The variables there are.
    pub(super) variables: Vec<String>,
    pub(super) expects: Expects,
}

/// What the word under way may become.
pub(super) enum Expects {
    /// A menu or a command; or `..`, if it stands first.
    Step { path: &'static str, first: bool },
    /// A global command, behind its colon.
    Global,
    /// A parameter's name, a flag, or the value of `unnamed`.
    Argument { shape: Rc<Shape>, given: Vec<&'static str>, unnamed: Option<Parameter> },
    /// A value.
    Value(Parameter),
    /// The name of a property, in a condition.
    Condition(Conditions),
    /// A variable.
    Variable,
}

pub(super) struct Scan<'s, 'a> {
    pub(super) scene: &'s Scene<'a>,
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    depth: usize,
    /// Whether the text ends in something refused, or in a comment: nothing fits there.
    is_closed: bool,
    /// Variables declared so far, or before.
    pub(super) variables: Vec<String>,
    pub(super) classes: Vec<Class>,
    pub(super) situation: Option<Situation>,
}

impl<'s, 'a> Scan<'s, 'a> {
    pub(super) fn run(scene: &'s Scene<'a>, place: &'static str, text: &str) -> Scan<'s, 'a> {
        let chars: Vec<char> = text.chars().collect();
        let classes = vec![Class::Plain; chars.len()];
        let variables = scene.variables.clone();
        let (is_closed, situation) = (false, None);
        let mut scan =
            Scan { scene, chars, at: 0, depth: 0, is_closed, variables, classes, situation };
        scan.statements(place, None);
        scan
    }

    /// Statements up to `closer`, which is left in place.
    pub(super) fn statements(&mut self, mut place: &'static str, closer: Option<char>) {
        loop {
            self.blanks();
            let start = self.at;
            match self.peek() {
                None => {
                    let before = start.checked_sub(1).map(|before| self.chars[before]);
                    if before.is_none_or(|c| is_blank(c) || "\n;{[(".contains(c)) {
                        self.note(start, Expects::Step { path: place, first: true });
                    }
                    return;
                }
                Some(c) if Some(c) == closer => return,
                Some('\n') => self.bump(Class::Plain),
                Some(';') => self.bump(Class::Syntax),
                Some(')' | ']' | '}') => self.bump(Class::Error),
                Some('#') => self.comment(),
                Some(_) => {
                    place = self.statement(place);
                    if self.at == start {
                        self.bump(Class::Error);
                    }
                }
            }
        }
    }

    /// One statement. Returns where the next one starts from.
    fn statement(&mut self, place: &'static str) -> &'static str {
        let mut path = place;
        let mut first = true;
        loop {
            self.blanks();
            let start = self.at;
            match self.peek() {
                None => {
                    self.note(start, Expects::Step { path, first });
                    return path;
                }
                Some('{') => {
                    self.nested('}', |scan| scan.statements(path, Some('}')));
                    return place;
                }
                // A value, or a function and what it is given.
                Some('(' | '$' | '[') if first => {
                    self.given(path);
                    return place;
                }
                Some('#') => {
                    self.comment();
                    return path;
                }
                Some(c) if ends_statement(c) => return path,
                Some(_) => {}
            }
            let word =
                self.word(|c| !is_blank(c) && !ends_statement(c) && !"[(){}\"$=#".contains(c));
            let word: Vec<char> = self.chars[word.0..word.1].to_vec();
            match word.first() {
                None => {
                    self.refuse();
                    return place;
                }
                Some(':') if first => {
                    self.classes[start] = Class::Command;
                    self.global(start + 1, place);
                    return place;
                }
                Some(_) => {}
            }
            let mut step_at = start;
            let mut steps = word.as_slice();
            if first && word[0] == '/' {
                path = "";
                self.classes[start] = Class::Path;
                (step_at, steps) = (start + 1, &word[1..]);
                if steps.is_empty() {
                    self.note(step_at, Expects::Step { path, first: false });
                    first = false;
                    continue;
                }
            }
            let relative = first && step_at == start;
            for (i, step) in steps.split(|c| *c == '/').enumerate() {
                let end = step_at + step.len();
                let is_last = end == start + word.len();
                if is_last {
                    let first = relative && i == 0;
                    self.note(step_at, Expects::Step { path, first });
                }
                if i > 0 {
                    self.classes[step_at - 1] = Class::Path;
                }
                let text: String = step.iter().collect();
                match choose(self.scene.language, path, &text) {
                    Ok(Choice::Menu(deeper)) => {
                        self.paint(step_at, end, Class::Path);
                        path = deeper;
                    }
                    Ok(Choice::Verb(verb)) if is_last => {
                        self.paint(step_at, end, Class::Command);
                        let shape = Shape::of(verb, self.scene.language.menu(path));
                        self.arguments(shape, path);
                        return place;
                    }
                    Err(_) if is_last && step.is_empty() && self.at_end() => return path,
                    // `put` or `/put`, without its colon.
                    Err(_) if first && is_last && i == 0 && global::shape(&text).is_some() => {
                        self.global(step_at, path);
                        return place;
                    }
                    refused => {
                        self.paint(step_at, end, refusal(refused.err().as_ref()));
                        self.refuse();
                        return place;
                    }
                }
                step_at = end + 1;
            }
            first = false;
        }
    }

    /// `$function name=value value`.
    fn given(&mut self, path: &'static str) {
        loop {
            self.blanks();
            match self.peek() {
                None => return,
                Some(c) if ends_statement(c) || c == '#' => return self.rest(),
                Some(_) => {
                    let (start, end) = self.word(is_name);
                    if end > start && self.peek() == Some('=') {
                        self.paint(start, end, Class::Parameter);
                        self.bump(Class::Syntax);
                    } else {
                        self.at = start;
                    }
                    self.value(Parameter::ANY, path);
                }
            }
        }
    }

    /// A global command, from behind its colon.
    fn global(&mut self, start: usize, place: &'static str) {
        self.note(start, Expects::Global);
        let name: String = self.chars[start..self.at].iter().collect();
        match global::shape(&name) {
            Some(shape) => {
                self.paint(start, self.at, Class::Command);
                self.arguments(shape, place);
            }
            None => {
                self.paint(start, self.at, Class::Error);
                self.refuse();
            }
        }
    }

    /// What stands behind a command.
    fn arguments(&mut self, shape: Shape, path: &'static str) {
        let shape = Rc::new(shape);
        let mut given: Vec<&'static str> = Vec::new();
        let mut conditions = shape.conditions.filter(|conditions| conditions.at_once);
        loop {
            self.blanks();
            let start = self.at;
            if let Some(conditions) = conditions {
                return self.conditions(conditions, path, None);
            }
            let is_left = |p: &&Parameter| !given.contains(&p.name);
            let unnamed = shape.unnamed.iter().find(is_left).copied();
            let expects =
                || Expects::Argument { shape: Rc::clone(&shape), given: given.clone(), unnamed };
            match self.peek() {
                None => return self.note(start, expects()),
                Some(c) if ends_statement(c) || c == '#' => return self.rest(),
                Some(_) => {}
            }
            let can_unset = shape.named.iter().any(|parameter| parameter.form == Form::UnsetToo);
            let is_unset = can_unset && self.peek() == Some('!');
            let mut end = start + usize::from(is_unset);
            while self.chars.get(end).copied().is_some_and(is_name) {
                end += 1;
            }
            let name: String = self.chars[start + usize::from(is_unset)..end].iter().collect();
            let next = self.chars.get(end).copied();
            let is_bare = next.is_none_or(|c| is_blank(c) || ends_statement(c));
            let find = |name: &str| {
                let named = shape.named.iter();
                let found = pick(named.clone().map(|parameter| parameter.name), name);
                found.map(|found| named.clone().find(|parameter| parameter.name == found).copied())
            };
            if next == Some('=') && !is_unset && !name.is_empty() {
                let parameter = match find(&name) {
                    Ok(Some(parameter)) if !matches!(parameter.form, Form::Flag) => {
                        let twice = given.contains(&parameter.name);
                        let class = if twice { Class::Error } else { Class::Parameter };
                        self.paint(start, end, class);
                        given.push(parameter.name);
                        parameter
                    }
                    other => {
                        self.paint(start, end, refusal(other.err().as_ref()));
                        Parameter::ANY
                    }
                };
                self.at = end;
                self.bump(Class::Syntax);
                self.value(parameter, path);
                continue;
            }
            let where_ = shape.conditions.filter(|_| is_bare && name == "where" && !is_unset);
            if let Some(unnamed) = unnamed.filter(|_| !is_unset && where_.is_none()) {
                if next.is_none() && is_bare {
                    self.at = end;
                    self.note(start, expects());
                    self.at = start;
                }
                given.push(unnamed.name);
                self.value(unnamed, path);
                if self.at == start {
                    self.refuse();
                }
                continue;
            }
            if !is_bare || name.is_empty() {
                if next.is_none() {
                    self.at = end;
                    self.note(start, expects());
                }
                self.paint(start, end, Class::Error);
                self.refuse();
                continue;
            }
            self.at = end;
            self.note(start, expects());
            if where_.is_some() {
                self.paint(start, end, Class::Parameter);
                conditions = where_;
                continue;
            }
            match find(&name) {
                Ok(Some(parameter)) => {
                    let fits = match parameter.form {
                        Form::Flag | Form::FlagToo => !is_unset,
                        Form::UnsetToo => is_unset || parameter.is_bool(),
                        Form::Valued | Form::Bare => false,
                    };
                    let is_under_way = next.is_none() && !is_unset;
                    let fits = fits || is_under_way;
                    self.paint(start, end, if fits { Class::Parameter } else { Class::Error });
                    given.push(parameter.name);
                }
                refused => self.paint(start, end, refusal(refused.err().as_ref())),
            }
        }
    }

    /// `chain=input !disabled comment~"^temp"`, up to the end of the statement or a bracket's.
    fn conditions(&mut self, conditions: Conditions, path: &'static str, closer: Option<char>) {
        loop {
            self.blanks();
            let start = self.at;
            match self.peek() {
                None => return self.note(start, Expects::Condition(conditions)),
                Some(c) if Some(c) == closer || ends_statement(c) || c == '#' => return,
                Some('(') => self.nested(')', |scan| scan.conditions(conditions, path, Some(')'))),
                Some('!' | '&' | '|') => self.bump(Class::Syntax),
                Some(c) if is_name(c) => {
                    let (start, end) = self.word(is_name);
                    let name: String = self.chars[start..end].iter().collect();
                    self.note(start, Expects::Condition(conditions));
                    if matches!(name.as_str(), "and" | "or" | "in" | "where") {
                        self.paint(start, end, Class::Syntax);
                        continue;
                    }
                    let found = field(conditions.menu, &name);
                    let class = match &found {
                        Ok(_) => Class::Parameter,
                        Err(why) => refusal(Some(why)),
                    };
                    self.paint(start, end, class);
                    let Some(operator) = self.operator() else { continue };
                    let is_pattern = operator == '~';
                    let parameter = match found {
                        Ok((name, kind)) if !is_pattern => {
                            Parameter::new(name, What::Compared(kind), "")
                        }
                        _ => Parameter::ANY,
                    };
                    self.value(parameter, path);
                }
                Some('"' | '$' | '[') => self.value(Parameter::ANY, path),
                Some(_) => self.bump(Class::Error),
            }
        }
    }

    /// A sign that compares, right behind a name or between blanks; returns how it begins.
    fn operator(&mut self) -> Option<char> {
        let behind = self.at;
        self.blanks();
        let is_apart = self.at > behind;
        let (start, end) = self.word(|c| "!=<>~".contains(c));
        let sign: String = self.chars[start..end].iter().collect();
        let is_sign = ["=", "!=", "<", ">", "<=", ">=", "~"].contains(&sign.as_str());
        if !is_sign || (is_apart && !self.peek().is_some_and(is_blank)) {
            self.at = behind;
            return None;
        }
        self.paint(start, end, Class::Syntax);
        if is_apart {
            self.blanks();
        }
        sign.chars().next()
    }

    /// An opening bracket, what stands in it, and `closer` if it is there.
    pub(super) fn nested(&mut self, closer: char, inside: impl FnOnce(&mut Self)) {
        let opening = self.at;
        self.bump(Class::Syntax);
        if self.depth == MAX_DEPTH {
            self.classes[opening] = Class::Error;
            self.at = self.chars.len();
            return;
        }
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        if self.peek() == Some(closer) {
            self.bump(Class::Syntax);
        } else if !self.at_end() {
            self.classes[opening] = Class::Error;
        }
    }

    /// What follows something refused, up to the end of the statement; brackets are still paired.
    fn refuse(&mut self) {
        if self.at_end() {
            return;
        }
        while let Some(c) = self.peek().filter(|c| !ends_statement(*c)) {
            match c {
                '"' | '[' | '(' | '{' | '$' => self.value(Parameter::ANY, ""),
                _ if is_blank(c) => self.bump(Class::Plain),
                // The statement goes on in the next line.
                '\\' if self.continuation() => {}
                _ => self.bump(Class::Error),
            }
        }
        if self.at_end() {
            (self.is_closed, self.situation) = (true, None);
        }
    }

    fn rest(&mut self) {
        if self.peek() == Some('#') {
            self.comment();
        }
    }

    pub(super) fn comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.bump(Class::Comment);
        }
        self.is_closed |= self.at_end();
    }

    pub(super) fn blanks(&mut self) {
        loop {
            while self.peek().is_some_and(is_blank) {
                self.at += 1;
            }
            if !self.continuation() {
                return;
            }
        }
    }

    /// A backslash, the blanks behind it and the end of the line.
    pub(super) fn continuation(&mut self) -> bool {
        if self.peek() != Some('\\') {
            return false;
        }
        let rest = self.chars[self.at + 1..].iter();
        let blanks = rest.take_while(|c| is_blank(**c)).count();
        let end = self.at + 1 + blanks;
        if self.chars.get(end) != Some(&'\n') {
            return false;
        }
        self.classes[self.at] = Class::Syntax;
        self.at = end + 1;
        true
    }

    pub(super) fn word(&mut self, fits: impl Fn(char) -> bool) -> (usize, usize) {
        let start = self.at;
        while self.peek().is_some_and(&fits) {
            self.at += 1;
        }
        (start, self.at)
    }

    /// If the text ends here: what may stand in place of what stands from `start` on.
    pub(super) fn note(&mut self, start: usize, expects: Expects) {
        if self.at_end() && !self.is_closed && self.situation.is_none() {
            let typed = self.chars[start.min(self.at)..].iter().collect();
            let variables = self.variables.clone();
            self.situation = Some(Situation { at: start, typed, variables, expects });
        }
    }

    pub(super) fn paint(&mut self, start: usize, end: usize, class: Class) {
        self.classes[start..end].fill(class);
    }

    pub(super) fn bump(&mut self, class: Class) {
        if let Some(place) = self.classes.get_mut(self.at) {
            *place = class;
            self.at += 1;
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.chars.len()
    }
}

impl Parameter {
    fn is_bool(&self) -> bool {
        matches!(self.what, What::Value(kind) if kind.is_bool())
    }
}

pub(super) fn refusal(why: Option<&Mismatch>) -> Class {
    match why {
        Some(Mismatch::Ambiguous(_)) => Class::Ambiguous,
        _ => Class::Error,
    }
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

pub(super) fn ends_statement(c: char) -> bool {
    matches!(c, '\n' | ';' | ']' | ')' | '}')
}

pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}
