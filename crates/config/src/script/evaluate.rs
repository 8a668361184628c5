//! Blocks, statements, words and expressions, run.
//!
//! ```text
//! statement ─┬─ { … }             a block
//!            ├─ $f x=1 2          a function: its own variables, x and 1
//!            ├─ :if … :put …      a global command
//!            └─ /ip address …     walk ─► a menu's command, a block there, or a new place
//! ```
//!
//! Every statement counts; every so often the host is asked whether the user has had enough.

use crate::error::At;
use crate::language::{Choice, Verb};
use crate::parse::pick;
use crate::run::{Line, Run};
use crate::script::ast::{Binary, Block, Element, Expression, Part, Statement, Term, Word};
use crate::script::control::Global;
use crate::script::data::{Array, Code, TooLarge};
use crate::script::operate;
use crate::script::{Datum, Lexer};
use crate::{Error, Mismatch};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The variables of a session, and of the blocks that are running.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    pub(crate) globals: BTreeMap<String, Datum>,
    scopes: Vec<Scope>,
}

/// The variables of one block.
#[derive(Debug, Default)]
struct Scope {
    /// `None`: `:global x` was said.
    names: Vec<(String, Option<Datum>)>,
    /// Whether it is a function's: nothing behind it is seen.
    function: bool,
}

/// Global variables a session may have.
const MAX_GLOBALS: usize = 10_000;
/// How deep expressions, blocks, brackets and functions may be under way inside each other: what
/// fits the stack of a thread twice.
const MAX_DEPTH: usize = 400;
/// What a block, a bracket or a function counts for.
const BLOCK: usize = 4;
/// Statements between two questions whether to go on.
const PATIENCE: u32 = 64;

/// What a statement is about.
enum Action<'w> {
    Verb(Verb, Line<'w>),
    Global(Global, Line<'w>),
    Block(&'w Block),
    /// A path alone.
    Move,
}

impl Variables {
    pub(crate) fn new(globals: BTreeMap<String, Datum>) -> Variables {
        Variables { globals, scopes: Vec::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Datum> {
        for scope in self.scopes.iter().rev() {
            if let Some((_, datum)) = scope.names.iter().rev().find(|(other, _)| other == name) {
                return datum.as_ref().or_else(|| self.globals.get(name));
            }
            if scope.function {
                break;
            }
        }
        self.globals.get(name)
    }

    pub(crate) fn in_function(&self) -> bool {
        self.scopes.iter().any(|scope| scope.function)
    }

    pub(crate) fn local(&mut self, name: &str, datum: Datum) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.retain(|(other, _)| other != name);
            scope.names.push((name.to_string(), Some(datum)));
        }
    }

    /// Makes a global variable seen here; gives it a value, if there is one.
    pub(crate) fn global(&mut self, name: &str, datum: Option<Datum>) -> Result<(), TooLarge> {
        if self.globals.len() >= MAX_GLOBALS && !self.globals.contains_key(name) {
            return Err(TooLarge);
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.retain(|(other, _)| other != name);
            scope.names.push((name.to_string(), None));
        }
        let value = self.globals.entry(name.to_string()).or_default();
        if let Some(datum) = datum {
            *value = datum;
        }
        Ok(())
    }

    /// Gives a variable that is seen here a value; `false` if there is none of this name.
    pub(crate) fn set(&mut self, name: &str, datum: Datum) -> bool {
        for scope in self.scopes.iter_mut().rev() {
            if let Some((_, value)) = scope.names.iter_mut().rev().find(|(other, _)| other == name)
            {
                match value {
                    Some(value) => *value = datum,
                    None => drop(self.globals.insert(name.to_string(), datum)),
                }
                return true;
            }
            if scope.function {
                break;
            }
        }
        match self.globals.get_mut(name) {
            Some(value) => {
                *value = datum;
                true
            }
            None => false,
        }
    }
}

impl Run<'_> {
    /// All statements of a script, from the current place.
    pub(crate) fn script(&mut self, script: &str) -> Result<Datum, Error> {
        let mut lexer = Lexer::new(script);
        let mut datum = Datum::Nothing;
        self.variables.scopes.push(Scope::default());
        let result = loop {
            let statement = match lexer.next() {
                Ok(Some(statement)) => statement,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            match self.statement(&statement) {
                Ok(value) => datum = value.unwrap_or_default(),
                Err(error) => break Err(error),
            }
            if let Some(value) = self.returning.take() {
                datum = value;
                break Ok(());
            }
        };
        self.variables.scopes.pop();
        result.map(|()| datum)
    }

    /// The statements of a block, each from where the one before it led; the place is then again
    /// what it was. Returns what the last one returned.
    pub(crate) fn block(&mut self, block: &Block, path: &'static str) -> Result<Datum, Error> {
        self.scoped(block, path, Scope::default()).map(Option::unwrap_or_default)
    }

    /// The same, with variables of its own.
    pub(crate) fn block_with(
        &mut self,
        block: &Block,
        path: &'static str,
        values: &[(&str, Datum)],
    ) -> Result<(), Error> {
        let names = values.iter().map(|(name, datum)| (name.to_string(), Some(datum.clone())));
        let scope = Scope { names: names.collect(), function: false };
        self.scoped(block, path, scope).map(drop)
    }

    fn scoped(
        &mut self,
        block: &Block,
        path: &'static str,
        scope: Scope,
    ) -> Result<Option<Datum>, Error> {
        self.descend(BLOCK, block.end)?;
        self.variables.scopes.push(scope);
        let place = std::mem::replace(&mut self.place, path);
        let mut result = Ok(Some(Datum::Nothing));
        for statement in &block.statements {
            result = self.statement(statement);
            if result.is_err() || self.returning.is_some() {
                break;
            }
        }
        self.place = place;
        self.variables.scopes.pop();
        self.depth -= BLOCK;
        result
    }

    /// What a `[ ]` returns. It starts from the menu of the command around it.
    fn bracket(&mut self, block: &Block, path: &'static str) -> Result<Datum, Error> {
        let in_bracket = std::mem::replace(&mut self.in_bracket, true);
        let result = self.scoped(block, path, Scope::default());
        self.in_bracket = in_bracket;
        let end = block.end;
        result?.ok_or_else(|| Error::new(end, format!("expected command name {end}")))
    }

    /// One statement; `None` if it was but a path.
    fn statement(&mut self, statement: &Statement) -> Result<Option<Datum>, Error> {
        self.refresh();
        let [first, words @ ..] = statement.words.as_slice() else { return Ok(None) };
        self.step(first.at)?;
        let path = self.place;
        if let (None, [part]) = (&first.name, first.value.as_slice()) {
            match part {
                Part::Variable(name, at) => {
                    return self.function(name, Line { path, at: *at, words }).map(Some);
                }
                Part::Block(_) | Part::Command(_) | Part::Expression(_) => {
                    if let Some(surplus) = words.first() {
                        return Err(Error::end_of_command(surplus.at));
                    }
                    return match part {
                        Part::Block(block) => self.block(block, path).map(Some),
                        part => self.part(part, path).map(Some),
                    };
                }
                _ => {}
            }
        }
        match self.walk(statement, path)? {
            (path, Action::Move) => {
                self.place = path;
                Ok(None)
            }
            (path, Action::Block(block)) => self.block(block, path).map(Some),
            (_, Action::Global(global, line)) => self.global(global, line).map(Some),
            (_, Action::Verb(verb, line)) => self.command(verb, line).map(Some),
        }
    }

    /// Counts, and now and then asks whether to go on.
    pub(crate) fn step(&mut self, at: At) -> Result<(), Error> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(PATIENCE) {
            let now = self.host.now();
            if !self.host.wait(now) {
                return Err(Error::interrupted(at));
            }
        }
        Ok(())
    }

    /// Follows the words that lead to a menu, up to the command, if one comes.
    fn walk<'w>(
        &self,
        statement: &'w Statement,
        from: &'static str,
    ) -> Result<(&'static str, Action<'w>), Error> {
        let mut path = from;
        for (i, word) in statement.words.iter().enumerate() {
            let mut at = word.at;
            let words = &statement.words[i + 1..];
            if let (None, [Part::Block(block)]) = (&word.name, word.value.as_slice()) {
                return match words.first() {
                    Some(surplus) => Err(Error::end_of_command(surplus.at)),
                    None => Ok((path, Action::Block(block))),
                };
            }
            let expected = |at| Error::new(at, format!("expected command name {at}"));
            let mut text = word.plain().ok_or_else(|| expected(at))?;
            if let Some(name) = text.strip_prefix(':') {
                let at = at.right(1);
                let global = Global::named(name).filter(|_| i == 0);
                let global =
                    global.ok_or_else(|| Error::bad_command(at, name, &Global::names()))?;
                return Ok((path, Action::Global(global, Line { path, at, words })));
            }
            if i == 0
                && let Some(rest) = text.strip_prefix('/')
            {
                (path, at, text) = ("", at.right(1), rest);
                if text.is_empty() {
                    continue;
                }
            }
            let mut steps = text.split('/').peekable();
            while let Some(step) = steps.next() {
                if step.is_empty() {
                    return Err(expected(at));
                }
                let last = steps.peek().is_none();
                match self.choose(path, step, at) {
                    Ok(Choice::Menu(deeper)) => path = deeper,
                    Ok(Choice::Verb(verb)) if last => {
                        return Ok((path, Action::Verb(verb, Line { path, at, words })));
                    }
                    Ok(Choice::Verb(_)) => {
                        return Err(Error::bad_command(at, step, &[]).help("a command, no menu"));
                    }
                    Err(error) => {
                        // `put`, without its colon; `/log info`, which is `:log info`.
                        let alone = i == 0 && last && text == step;
                        let global = Global::named(step).filter(|_| alone);
                        let log = ("/log", Global::Log);
                        return match global {
                            Some(global) => {
                                Ok((path, Action::Global(global, Line { path, at, words })))
                            }
                            None if path == log.0 && last && Global::is_topic(step) => {
                                let words = &statement.words[i..];
                                Ok((path, Action::Global(log.1, Line { path, at, words })))
                            }
                            None => Err(error),
                        };
                    }
                }
                at = at.right(step.chars().count() + 1);
            }
        }
        Ok((path, Action::Move))
    }

    fn choose(&self, path: &'static str, step: &str, at: At) -> Result<Choice, Error> {
        if step == ".." {
            // The root's parent is the root.
            return Ok(Choice::Menu(path.rsplit_once(' ').map_or("", |(parent, _)| parent)));
        }
        let choices = self.language.choices(path);
        match pick(choices.keys().copied(), step) {
            Ok(word) => Ok(choices[word]),
            Err(Mismatch::Ambiguous(words)) => {
                Err(Error::new(at, format!("ambiguous command name {step}")).help(words.join(", ")))
            }
            Err(_) => {
                Err(Error::bad_command(at, step, &choices.keys().copied().collect::<Vec<_>>()))
            }
        }
    }

    /// `$f x=1 2`: runs the code that a variable holds.
    fn function(&mut self, name: &str, line: Line) -> Result<Datum, Error> {
        let datum = self.variable(name, line.at)?;
        let Datum::Code(code) = datum else {
            return match line.words.first() {
                Some(surplus) => Err(Error::end_of_command(surplus.at)),
                None => Ok(datum),
            };
        };
        let mut scope = Scope { function: true, ..Scope::default() };
        let mut place = 0;
        for word in line.words {
            let name = match &word.name {
                Some((name, crate::script::Operator::Equal)) => name.clone(),
                Some(_) => return Err(Error::end_of_command(word.at)),
                None => {
                    place += 1;
                    place.to_string()
                }
            };
            scope.names.push((name, Some(self.datum(word, line.path)?)));
        }
        self.code(&code, line, scope)
    }

    /// Runs code; what went wrong in another script went wrong where it was called.
    fn code(&mut self, code: &Code, line: Line, scope: Scope) -> Result<Datum, Error> {
        let here = std::mem::replace(&mut self.script, code.script);
        let result = self.scoped(&code.block, line.path, scope);
        self.script = here;
        // What comes last in a function is not what it returns.
        let returned = self.returning.take();
        match result {
            Ok(_) => Ok(returned.unwrap_or_default()),
            Err(error) if code.script != here => Err(Error { at: line.at, ..error }),
            Err(error) => Err(error),
        }
    }

    fn variable(&self, name: &str, at: At) -> Result<Datum, Error> {
        match self.variables.get(name) {
            Some(datum) => Ok(datum.clone()),
            // An argument that was not given.
            None if self.variables.in_function() => Ok(Datum::Nothing),
            None => Err(Error::syntax(at, format!("no variable here is called {name}"))),
        }
    }

    /// A word's value, as what it is.
    pub(crate) fn datum(&mut self, word: &Word, path: &'static str) -> Result<Datum, Error> {
        self.parts(&word.value, path, word.value_at)
    }

    fn parts(&mut self, parts: &[Part], path: &'static str, at: At) -> Result<Datum, Error> {
        match parts {
            [] => Ok(Datum::Text(String::new())),
            [Part::Plain(text)] => Ok(Datum::word(text)),
            [part] => self.part(part, path),
            parts => {
                let text = self.concatenate(parts, path, at, Datum::to_string)?;
                Ok(Datum::Text(text))
            }
        }
    }

    /// A word's value as text, for a command's argument.
    pub(crate) fn text_of(&mut self, word: &Word, path: &'static str) -> Result<String, Error> {
        match word.value.as_slice() {
            [Part::Plain(text) | Part::Quoted(text)] => Ok(text.clone()),
            parts => self.concatenate(parts, path, word.value_at, Datum::argument),
        }
    }

    fn concatenate(
        &mut self,
        parts: &[Part],
        path: &'static str,
        at: At,
        write: fn(&Datum) -> String,
    ) -> Result<String, Error> {
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Plain(part) | Part::Quoted(part) => text.push_str(part),
                part => {
                    let datum = self.part(part, path)?;
                    let _ = write!(text, "{}", write(&datum));
                }
            }
            if text.len() > crate::script::data::MAX_TEXT {
                return Err(Error::new(at, "value is too large"));
            }
        }
        Ok(text)
    }

    pub(crate) fn part(&mut self, part: &Part, path: &'static str) -> Result<Datum, Error> {
        match part {
            Part::Plain(text) | Part::Quoted(text) => Ok(Datum::Text(text.clone())),
            Part::Template(parts) => {
                let at = At::default();
                Ok(Datum::Text(self.concatenate(parts, path, at, Datum::to_string)?))
            }
            Part::Variable(name, at) => self.variable(name, *at),
            Part::Command(block) => self.bracket(block, path),
            Part::Expression(expression) => self.expression(expression, path),
            Part::Array(elements) => self.array(elements, path),
            Part::Block(block) => {
                let code = Code { block: block.clone(), script: self.script };
                Ok(Datum::Code(code.into()))
            }
        }
    }

    fn array(&mut self, elements: &[Element], path: &'static str) -> Result<Datum, Error> {
        let mut values = Vec::with_capacity(elements.len());
        for Element { key, value, at } in elements {
            let key = match key {
                Some(key) => Some(self.part(key, path)?.to_string()),
                None => None,
            };
            values.push((key, self.parts(value, path, *at)?));
        }
        let at = elements.first().map_or(At::default(), |element| element.at);
        Array::keyed(values).map_err(|why| Error::new(at, operate::Reason::from(why)))
    }

    pub(crate) fn expression(
        &mut self,
        expression: &Expression,
        path: &'static str,
    ) -> Result<Datum, Error> {
        match &expression.term {
            Term::Literal(datum) => return Ok(datum.clone()),
            Term::Name(name) => return Ok(Datum::Text(name.clone())),
            Term::Part(part) => return self.part(part, path),
            Term::Unary(..) | Term::Chain(..) => {}
        }
        self.descend(1, expression.at)?;
        let result = self.operation(expression, path);
        self.depth -= 1;
        result
    }

    fn operation(&mut self, expression: &Expression, path: &'static str) -> Result<Datum, Error> {
        let (first, chain) = match &expression.term {
            Term::Unary(operator, operand) => {
                let operand = self.expression(operand, path)?;
                let result = operate::unary(*operator, &operand);
                return result.map_err(|why| Error::new(expression.at, why));
            }
            Term::Chain(first, chain) => (first, chain),
            _ => return Ok(Datum::Nothing),
        };
        let mut left = self.expression(first, path)?;
        for (operator, at, right) in chain {
            let failed = |why| Error::new(*at, why);
            // What decides alone is not asked further.
            let decided = match operator {
                Binary::And => !operate::truth(&left).map_err(failed)?,
                Binary::Or => operate::truth(&left).map_err(failed)?,
                _ => false,
            };
            left = if decided {
                Datum::Bool(*operator == Binary::Or)
            } else {
                let right = self.expression(right, path)?;
                operate::binary(*operator, &left, &right).map_err(failed)?
            };
        }
        Ok(left)
    }

    /// Goes deeper, if it is not too deep.
    pub(crate) fn descend(&mut self, by: usize, at: At) -> Result<(), Error> {
        if self.depth + by > MAX_DEPTH {
            return Err(Error::new(at, "maximum nesting depth reached"));
        }
        self.depth += by;
        Ok(())
    }

    /// Whether a condition holds.
    pub(crate) fn truth(&mut self, word: &Word, path: &'static str) -> Result<bool, Error> {
        let datum = self.datum(word, path)?;
        operate::truth(&datum).map_err(|why| Error::new(word.value_at, why))
    }
}
