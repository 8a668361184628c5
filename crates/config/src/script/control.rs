//! Global commands: those that print, keep values, and run blocks.
//!
//! ```text
//! :if (c) do={} else={}    :foreach k,v in=a do={}    :for i from=1 to=9 step=2 do={}
//! :while (c) do={}         :do {} while=(c)           :do {} on-error={}
//! ```
//!
//! A parameter without a name is the next one that was not given.

use crate::Error;
use crate::error::choices;
use crate::parse::pick;
use crate::run::{Line, Run};
use crate::script::ast::{Binary, Block, Expression, Part, Term, Word};
use crate::script::data::{Array, Code};
use crate::script::functions::Function;
use crate::script::{Datum, Lexer, Operator, operate};
use std::time::Duration;

/// A command that every menu has, behind a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    Put,
    Local,
    Session,
    Set,
    If,
    Foreach,
    For,
    While,
    Do,
    Delay,
    Error,
    Log,
    Return,
    Time,
    Parse,
    Nothing,
    Function(Function),
    /// RouterOS has it, we do not.
    Missing,
}

const GLOBALS: [(&str, Global, &str); 34] = [
    ("beep", Global::Missing, ""),
    ("delay", Global::Delay, "Waits."),
    ("do", Global::Do, "Runs commands once, or while= a condition holds; on-error= others."),
    ("environment", Global::Missing, ""),
    ("error", Global::Error, "Ends the script with this error."),
    ("execute", Global::Missing, ""),
    ("find", Global::Function(Function::Find), "Where a value is in a text or an array."),
    ("for", Global::For, "Runs commands for each number."),
    ("foreach", Global::Foreach, "Runs commands for each value of an array."),
    ("global", Global::Session, "Makes a variable of the session."),
    ("if", Global::If, "Runs commands if a condition holds, else= others."),
    ("len", Global::Function(Function::Len), "How many characters or values there are."),
    ("local", Global::Local, "Makes a variable of this block."),
    ("log", Global::Log, "Writes to the log."),
    ("nothing", Global::Nothing, "Does nothing, returns nothing."),
    ("parse", Global::Parse, "Makes commands of a text."),
    ("pick", Global::Function(Function::Pick), "A part of a text or an array."),
    ("put", Global::Put, "Prints a value."),
    ("resolve", Global::Missing, ""),
    ("return", Global::Return, "Ends a function and returns a value."),
    ("set", Global::Set, "Gives a variable a value."),
    ("terminal", Global::Missing, ""),
    ("time", Global::Time, "How long commands take."),
    ("toarray", Global::Function(Function::ToArray), "As an array."),
    ("tobool", Global::Function(Function::ToBool), "As true or false."),
    ("toid", Global::Function(Function::ToId), "As an identity."),
    ("toip", Global::Function(Function::ToIp), "As an address."),
    ("toip6", Global::Missing, ""),
    ("tonum", Global::Function(Function::ToNum), "As a number."),
    ("tostr", Global::Function(Function::ToStr), "As a text."),
    ("totime", Global::Function(Function::ToTime), "As a time."),
    ("typeof", Global::Function(Function::TypeOf), "What kind of value it is."),
    ("timestamp", Global::Missing, ""),
    ("while", Global::While, "Runs commands while a condition holds."),
];

pub(crate) const TOPICS: [&str; 4] = ["debug", "error", "info", "warning"];

impl Global {
    /// The command of this name.
    pub(crate) fn named(name: &str) -> Option<Global> {
        let found = GLOBALS.iter().find(|(other, ..)| *other == name)?;
        Some(found.1)
    }

    /// All names that do something.
    pub(crate) fn names() -> Vec<&'static str> {
        Global::all().map(|(name, _)| name).collect()
    }

    /// Names and what they do, one sentence each.
    pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        let there = GLOBALS.iter().filter(|(_, global, _)| *global != Global::Missing);
        there.map(|(name, _, help)| (*name, *help))
    }

    /// The parameters, in the order of those without names.
    pub(crate) fn parameters(self) -> &'static [&'static str] {
        match self {
            Global::Put | Global::Error => &["message"],
            Global::Local | Global::Session | Global::Set => &["name", "value", "do"],
            Global::If => &["condition", "do", "else"],
            Global::Foreach => &["counter", "in", "do"],
            Global::For => &["counter", "from", "to", "step", "do"],
            Global::While => &["condition", "do"],
            Global::Do => &["command", "while", "on-error"],
            Global::Delay => &["delay-time"],
            Global::Log => &["topics", "message"],
            Global::Return | Global::Nothing => &["value"],
            Global::Time => &["command"],
            Global::Parse => &["script"],
            Global::Function(function) => function.parameters(),
            Global::Missing => &[],
        }
    }

    /// Whether a bare `{ }` holds commands, behind this first word of a statement.
    pub(crate) fn takes_block(first: Option<&str>) -> bool {
        let global = first.and_then(|word| Global::named(word.strip_prefix(':').unwrap_or(word)));
        matches!(global, None | Some(Global::Do | Global::Time))
    }

    /// Whether the log knows this kind of line.
    pub(crate) fn is_topic(word: &str) -> bool {
        TOPICS.contains(&word)
    }
}

/// The words of a global command, by its parameters.
pub(crate) struct Given<'w> {
    line: Line<'w>,
    words: Vec<(&'static str, &'w Word)>,
}

impl<'w> Given<'w> {
    fn new(global: Global, line: Line<'w>) -> Result<Given<'w>, Error> {
        let names = global.parameters();
        let mut words: Vec<(&'static str, &Word)> = Vec::new();
        for word in line.words {
            let is_free = |name: &&&str| !words.iter().any(|(other, _)| *other == **name);
            let unknown = || {
                let typed = word.name.as_ref().map_or("", |(name, _)| name.as_str());
                let help = format!("parameters are {}", choices(typed, names));
                Error::end_of_command(word.at).help(help)
            };
            let name = match &word.name {
                Some((name, Operator::Equal)) => pick(names.iter().copied(), name).ok(),
                Some(_) => None,
                None => names.iter().find(is_free).copied(),
            };
            let name = name.filter(|name| is_free(&name)).ok_or_else(unknown)?;
            words.push((name, word));
        }
        Ok(Given { line, words })
    }

    pub(crate) fn optional(&self, name: &str) -> Option<&'w Word> {
        self.words.iter().find(|(other, _)| *other == name).map(|(_, word)| *word)
    }

    pub(crate) fn word(&self, name: &str) -> Result<&'w Word, Error> {
        let text = format!("missing value(s) of argument(s) {name}");
        self.optional(name).ok_or_else(|| Error::new(self.line.at, text))
    }

    /// The commands of a parameter.
    fn block(&self, name: &str) -> Result<&'w Block, Error> {
        let word = self.word(name)?;
        match word.value.as_slice() {
            [Part::Block(block)] => Ok(block),
            _ => Err(Error::syntax(word.value_at, format!("{name} takes commands in {{ }}"))),
        }
    }

    /// The name of a variable.
    fn name(&self, name: &str) -> Result<&'w str, Error> {
        let word = self.word(name)?;
        match word.value.as_slice() {
            [Part::Plain(name) | Part::Quoted(name)] if !name.is_empty() => Ok(name),
            _ => Err(Error::syntax(word.value_at, "the name of a variable is expected here")),
        }
    }
}

impl Run<'_> {
    /// A global command.
    pub(crate) fn global(&mut self, global: Global, line: Line) -> Result<Datum, Error> {
        if global == Global::Missing {
            return Err(Error::missing(line.at, "this global command"));
        }
        let given = Given::new(global, line)?;
        let (path, at) = (line.path, line.at);
        match global {
            Global::Put => {
                let datum = self.datum(given.word("message")?, path)?;
                self.print_text(format!("{datum}\n"));
            }
            Global::Local => {
                let datum = self.initial(&given, path)?.unwrap_or_default();
                self.variables.local(given.name("name")?, datum);
            }
            Global::Session => {
                let datum = self.initial(&given, path)?;
                let made = self.variables.global(given.name("name")?, datum);
                made.map_err(|_| Error::new(at, "too many global variables"))?;
            }
            Global::Set => self.set_variable(&given, path)?,
            Global::If => {
                let holds = self.truth(given.word("condition")?, path)?;
                return match (holds, given.optional("else")) {
                    (true, _) => self.block(given.block("do")?, path),
                    (false, Some(_)) => self.block(given.block("else")?, path),
                    (false, None) => Ok(Datum::Nothing),
                };
            }
            Global::Foreach => self.for_each(&given, path)?,
            Global::For => self.for_numbers(&given, path)?,
            Global::While => {
                let block = given.block("do")?;
                while self.returning.is_none() && self.truth(given.word("condition")?, path)? {
                    self.step(at)?;
                    self.block(block, path)?;
                }
            }
            Global::Do => return self.do_commands(&given, path),
            Global::Delay => {
                let word = given.optional("delay-time");
                let us = match word {
                    Some(word) => {
                        self.datum(word, path)?.time().filter(|us| *us >= 0).ok_or_else(|| {
                            Error::new(word.value_at, "invalid time value for argument delay-time")
                        })?
                    }
                    None => 1_000_000,
                };
                self.delay(Duration::from_micros(us as u64), at)?;
            }
            Global::Error => {
                let text = self.datum(given.word("message")?, path)?.to_string();
                return Err(Error::new(at, text));
            }
            Global::Log => {
                let word = given.word("topics")?;
                let topic = self.text_of(word, path)?;
                if !Global::is_topic(&topic) {
                    let text = "input does not match any value of topics";
                    return Err(Error::new(word.value_at, text).help(choices(&topic, &TOPICS)));
                }
                let message = self.datum(given.word("message")?, path)?.to_string();
                self.host.log(&format!("script,{topic}"), &message);
            }
            Global::Return => {
                let datum = match given.optional("value") {
                    Some(word) => self.datum(word, path)?,
                    None => Datum::Nothing,
                };
                self.returning = Some(datum.clone());
                return Ok(datum);
            }
            Global::Time => {
                let begin = self.host.now();
                self.block(given.block("command")?, path)?;
                self.settle()?;
                let us = self.host.now().since(begin).as_micros();
                return Ok(Datum::Time(i64::try_from(us).unwrap_or(i64::MAX)));
            }
            Global::Parse => {
                let word = given.word("script")?;
                let script = self.datum(word, path)?.to_string();
                let failed = |error: Error| Error { at: word.value_at, ..error };
                let block = Lexer::new(&script).all().map_err(failed)?;
                // Places in it are places of no script there is.
                return Ok(Datum::Code(Code { block: block.into(), script: 0 }.into()));
            }
            Global::Nothing | Global::Missing => {}
            Global::Function(function) => return self.call_function(function, &given, path),
        }
        Ok(Datum::Nothing)
    }

    fn initial(&mut self, given: &Given, path: &'static str) -> Result<Option<Datum>, Error> {
        let word = given.optional("value").or(given.optional("do"));
        word.map(|word| self.datum(word, path)).transpose()
    }

    /// `:set x 1`, `:set ($x->"key") 1`.
    fn set_variable(&mut self, given: &Given, path: &'static str) -> Result<(), Error> {
        let word = given.word("name")?;
        let datum = self.initial(given, path)?.unwrap_or_default();
        let unknown =
            |name: &str| Error::syntax(word.value_at, format!("no variable here is called {name}"));
        if let [Part::Expression(expression)] = word.value.as_slice() {
            let mut keys = Vec::new();
            let name = self.element_of(expression, path, &mut keys)?;
            let array = self.variables.get(name).ok_or_else(|| unknown(name))?.clone();
            let changed = with_element(&array, &keys, datum);
            let changed = changed.map_err(|why| Error::new(word.value_at, why))?;
            self.variables.set(name, changed);
            return Ok(());
        }
        let name = given.name("name")?;
        if self.variables.set(name, datum) { Ok(()) } else { Err(unknown(name)) }
    }

    /// The variable and the keys of `$x->"a"->1`, outermost key first.
    fn element_of<'e>(
        &mut self,
        expression: &'e Expression,
        path: &'static str,
        keys: &mut Vec<Datum>,
    ) -> Result<&'e str, Error> {
        match &expression.term {
            Term::Part(Part::Variable(name, _)) => Ok(name),
            Term::Chain(first, chain) => {
                let name = self.element_of(first, path, keys)?;
                for (operator, at, key) in chain {
                    if *operator != Binary::Element {
                        return Err(Error::syntax(*at, "an element is expected: $x->\"key\""));
                    }
                    keys.push(self.expression(key, path)?);
                }
                Ok(name)
            }
            _ => Err(Error::syntax(expression.at, "a variable's element is expected: $x->\"key\"")),
        }
    }

    fn for_each(&mut self, given: &Given, path: &'static str) -> Result<(), Error> {
        let block = given.block("do")?;
        let names = given.name("counter")?;
        let elements = match self.datum(given.word("in")?, path)? {
            Datum::Array(array) => array.elements.clone(),
            datum if datum.is_nothing() => Vec::new(),
            datum => vec![(None, datum)],
        };
        for (place, (key, datum)) in elements.into_iter().enumerate() {
            let mut values = Vec::new();
            match names.split_once(',') {
                Some((key_name, name)) => {
                    let key = key.map_or(Datum::Number(place as i64), Datum::Text);
                    values.extend([(key_name, key), (name, datum)]);
                }
                None => values.push((names, datum)),
            }
            if !self.iterate(block, path, &values)? {
                break;
            }
        }
        Ok(())
    }

    fn for_numbers(&mut self, given: &Given, path: &'static str) -> Result<(), Error> {
        let block = given.block("do")?;
        let name = given.name("counter")?;
        let mut number = |name: &str| -> Result<Option<i64>, Error> {
            let Some(word) = given.optional(name) else { return Ok(None) };
            let invalid =
                || Error::new(word.value_at, format!("invalid value for argument {name}"));
            Ok(Some(self.datum(word, path)?.number().ok_or_else(invalid)?))
        };
        let (from, to, step) = (number("from")?, number("to")?, number("step")?);
        let (Some(from), Some(to)) = (from, to) else {
            given.word("from")?;
            given.word("to")?;
            return Ok(());
        };
        let step = step.unwrap_or(if from <= to { 1 } else { -1 });
        if step == 0 {
            return Err(Error::new(given.word("step")?.value_at, "value of step is 0"));
        }
        let mut next = Some(from);
        while let Some(i) = next.filter(|i| if step > 0 { *i <= to } else { *i >= to }) {
            if !self.iterate(block, path, &[(name, Datum::Number(i))])? {
                break;
            }
            next = i.checked_add(step);
        }
        Ok(())
    }

    /// One turn of a loop; `false` if a function returns.
    fn iterate(
        &mut self,
        block: &Block,
        path: &'static str,
        values: &[(&str, Datum)],
    ) -> Result<bool, Error> {
        self.step(block.end)?;
        self.block_with(block, path, values)?;
        Ok(self.returning.is_none())
    }

    /// `:do {} [while=(c)] [on-error={}]`.
    fn do_commands(&mut self, given: &Given, path: &'static str) -> Result<Datum, Error> {
        let block = given.block("command")?;
        let on_error = match given.optional("on-error") {
            Some(_) => Some(given.block("on-error")?),
            None => None,
        };
        let condition = given.optional("while");
        let commands = |run: &mut Self| loop {
            run.step(block.end)?;
            let datum = run.block(block, path)?;
            match condition {
                Some(word) if run.returning.is_none() && run.truth(word, path)? => {}
                _ => return Ok(datum),
            }
        };
        let Some(on_error) = on_error else { return commands(self) };
        // What was changed before is not this block's, what is changed in it is.
        self.settle()?;
        match commands(self).and_then(|datum| self.settle().map(|()| datum)) {
            Err(error) if !error.is_interruption() => self.block(on_error, path),
            result => result,
        }
    }
}

/// The array with another value at the end of these keys.
fn with_element(array: &Datum, keys: &[Datum], datum: Datum) -> Result<Datum, operate::Reason> {
    let [key, deeper @ ..] = keys else { return Ok(datum) };
    let mut elements = match array {
        Datum::Array(array) => array.elements.clone(),
        Datum::Nothing => Vec::new(),
        other => return Err(format!("{} has no elements", other.kind())),
    };
    let name = key.to_string();
    let place = elements.iter().position(|(other, _)| other.as_ref() == Some(&name));
    let place = place.or_else(|| match key {
        Datum::Number(at) => usize::try_from(*at).ok().filter(|at| *at < elements.len()),
        _ => None,
    });
    match place {
        Some(place) => {
            let changed = with_element(&elements[place].1, deeper, datum)?;
            elements[place].1 = changed;
        }
        None => elements.push((Some(name), with_element(&Datum::Nothing, deeper, datum)?)),
    }
    Ok(Array::keyed(elements)?)
}
