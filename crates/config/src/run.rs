//! One script under way: each statement's menu and command found, its values read.
//!
//! ```text
//! /ip address add address=[…] interface=eth
//! └── walk ─┘ └┬┘         └ bracket     └ value_of, resolve
//!           command
//! ```

use crate::error::choices;
use crate::language::{Choice, Verb};
use crate::line::{Lexer, Part, Statement, Word};
use crate::names::{Index, KnownNames};
use crate::parse::pick;
use crate::session::Numbers;
use crate::{
    At, Call, Display, Error, Group, Host, How, Language, Mismatch, Piece, Progress, Record, Reply,
    Session, Tree, Type, Value,
};
use std::fmt::Write as _;

/// RouterOS's global commands that we refuse by name.
const SCRIPTING: [&str; 30] = [
    "delay",
    "do",
    "environment",
    "error",
    "execute",
    "find",
    "for",
    "foreach",
    "global",
    "if",
    "len",
    "local",
    "log",
    "nothing",
    "parse",
    "pick",
    "resolve",
    "return",
    "set",
    "terminal",
    "time",
    "toarray",
    "tobool",
    "toid",
    "toip",
    "tonum",
    "tostr",
    "totime",
    "typeof",
    "while",
];

/// One script under way, on its own copy of the configuration.
pub(crate) struct Run<'a> {
    pub(crate) language: &'a Language,
    pub(crate) host: &'a mut dyn Host,
    pub(crate) out: &'a mut dyn FnMut(Piece),
    pub(crate) how: How,
    pub(crate) place: &'static str,
    /// What the numbers of the last `print` mean, by menu.
    pub(crate) numbers: Numbers,
    /// Characters in a line of the terminal.
    pub(crate) width: usize,
    /// The configuration as the script sees it, its own changes included.
    pub(crate) tree: Tree,
    /// Whether others are kept from changing the configuration.
    editing: bool,
    /// The last change that has not been taken over.
    changed: Option<At>,
    pub(crate) index: Index,
    /// The device's commands of an import: they run when all of it has been taken over.
    deferred: Vec<(Call, At)>,
}

/// A command about to run: its menu, its name's place, its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Line<'w> {
    /// The path it was typed at, which is what `[ ]` inside it starts from.
    pub(crate) path: &'static str,
    /// Where the command's name stands.
    pub(crate) at: At,
    /// What follows the name.
    pub(crate) words: &'w [Word],
}

/// Where a path led, and the command behind it, if there was one.
type Walked<'w> = (&'static str, Option<(Verb, Line<'w>)>);

impl<'a> Run<'a> {
    pub(crate) fn new(
        session: &'a Session,
        how: How,
        host: &'a mut dyn Host,
        out: &'a mut dyn FnMut(Piece),
    ) -> Run<'a> {
        let tree = host.tree();
        Run {
            language: &session.language,
            host,
            out,
            how,
            place: session.place,
            numbers: session.numbers.clone(),
            width: session.width,
            tree,
            editing: false,
            changed: None,
            index: Index::default(),
            deferred: Vec::new(),
        }
    }

    /// Runs all of it, and takes over what stands: all or nothing of an import, what came before
    /// the failing command of what was typed.
    pub(crate) fn whole(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<Reply, Error>,
    ) -> Result<Reply, Error> {
        let result = run(self);
        if result.is_err() && self.how == How::Import {
            self.changed = None;
        }
        let reply = match (result, self.take_over()) {
            (Ok(reply), Ok(())) => reply,
            (Err(error), _) | (Ok(_), Err(error)) => return Err(error),
        };
        self.how = How::Typed;
        for (call, at) in std::mem::take(&mut self.deferred) {
            self.call(call, at)?;
        }
        Ok(reply)
    }

    /// Begins a change, if none is under way. What a command reads of the user, it reads before:
    /// a `[ ]` may end a change.
    pub(crate) fn edit(&mut self, at: At) -> Result<(), Error> {
        if !self.editing {
            let tree = self.host.edit().map_err(|text| Error::new(at, text))?;
            self.editing = true;
            self.see(tree);
        }
        Ok(())
    }

    /// The command at this place has changed the configuration.
    pub(crate) fn changed(&mut self, at: At) {
        self.changed = Some(at);
    }

    /// What was changed so far takes effect, before a command that could see it.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        match self.how {
            How::Typed => self.take_over(),
            How::Import => Ok(()),
        }
    }

    fn take_over(&mut self) -> Result<(), Error> {
        let mut result = Ok(());
        if let Some(at) = self.changed.take() {
            result = self.host.commit(&self.tree).map_err(|text| Error::new(at, text));
        }
        if std::mem::take(&mut self.editing) {
            self.host.release();
        }
        if result.is_err() {
            let tree = self.host.tree();
            self.see(tree);
        }
        result
    }

    /// Others may have changed the configuration since.
    fn refresh(&mut self) {
        if !self.editing {
            let tree = self.host.tree();
            self.see(tree);
        }
    }

    fn see(&mut self, tree: Tree) {
        self.index.refresh(&self.tree, &tree);
        self.tree = tree;
    }

    pub(crate) fn print_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            (self.out)(Piece::Text(text));
        }
    }

    /// Runs a command of the device's own, and shows what it yields.
    pub(crate) fn call(&mut self, call: Call, at: At) -> Result<Reply, Error> {
        if self.how == How::Import {
            self.deferred.push((call, at));
            return Ok(Reply::Nothing);
        }
        let width = self.width;
        let (mut before, mut latest) = (0, None);
        self.poll(&call, at, &mut |run, records, last| {
            latest = records.last().cloned().or(latest.take());
            let latest = latest.as_ref();
            let group = Group { call: &call, records, before, latest, last, width };
            before += records.len();
            match call.command.display {
                Display::Nothing => {}
                Display::Append(show) => run.print_text(show(&group)),
                Display::Redraw(show) => (run.out)(Piece::Frame(show(&group))),
            }
        })
    }

    /// Runs a command of the device's own; `yielded` gets its records, and whether they are the
    /// last.
    pub(crate) fn poll(
        &mut self,
        call: &Call,
        at: At,
        yielded: &mut dyn FnMut(&mut Self, &[Record], bool),
    ) -> Result<Reply, Error> {
        self.settle()?;
        let mut records = Vec::new();
        let mut progress = self.host.start(call);
        loop {
            match progress {
                Ok(Progress::Again(until)) => {
                    if !self.host.wait(until) {
                        self.host.stop();
                        yielded(self, &[], true);
                        return Err(Error::interrupted(at));
                    }
                }
                Ok(Progress::Done(reply)) => return Ok(reply),
                Err(text) => return Err(Error::new(at, text)),
            }
            progress = self.host.poll(&mut records);
            let last = !matches!(progress, Ok(Progress::Again(_)));
            if last || !records.is_empty() {
                yielded(self, &records, last);
                records.clear();
            }
        }
    }

    pub(crate) fn script(&mut self, script: &str) -> Result<Reply, Error> {
        let mut lexer = Lexer::new(script);
        let mut reply = Reply::Nothing;
        while let Some(statement) = lexer.next()? {
            self.refresh();
            reply = match self.walk(&statement, self.place)? {
                (path, None) => {
                    self.place = path;
                    Reply::Nothing
                }
                (_, Some((verb, line))) => self.command(verb, line)?,
            };
        }
        Ok(reply)
    }

    /// Follows the words that lead to a menu, up to the command, if one comes.
    fn walk<'w>(&self, statement: &'w Statement, from: &'static str) -> Result<Walked<'w>, Error> {
        let mut path = from;
        for (i, word) in statement.words.iter().enumerate() {
            let mut at = word.at;
            let expected = |at| Error::new(at, format!("expected command name {at}"));
            let mut text = word.plain().ok_or_else(|| expected(at))?;
            let words = &statement.words[i + 1..];
            if let Some(name) = text.strip_prefix(':') {
                let at = at.right(1);
                return match name {
                    "put" if i == 0 => Ok((path, Some((Verb::Put, Line { path, at, words })))),
                    _ if SCRIPTING.contains(&name) => {
                        Err(Error::missing(at, format!("scripting (:{name})")))
                    }
                    _ => Err(Error::bad_command(at, name, &["put"])),
                };
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
                match self.choose(path, step, at)? {
                    Choice::Menu(deeper) => path = deeper,
                    Choice::Verb(verb) if steps.peek().is_none() => {
                        return Ok((path, Some((verb, Line { path, at, words }))));
                    }
                    Choice::Verb(_) => {
                        return Err(Error::bad_command(at, step, &[]).help("a command, no menu"));
                    }
                }
                at = at.right(step.chars().count() + 1);
            }
        }
        Ok((path, None))
    }

    pub(crate) fn choose(&self, path: &'static str, step: &str, at: At) -> Result<Choice, Error> {
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

    pub(crate) fn command(&mut self, verb: Verb, line: Line) -> Result<Reply, Error> {
        let menu = self.language.menu(line.path);
        match (verb, menu) {
            (Verb::Device(command), menu) => {
                let call = self.device(command, menu, line)?;
                self.call(call, line.at)
            }
            (Verb::Put, _) => self.put(line),
            (Verb::Export, _) => self.export(line),
            // The other choices of a path without a menu are the device's own commands.
            (_, None) => Err(Error::bad_command(line.at, "", &[])),
            (Verb::Add, Some(menu)) => self.add(menu, line),
            (Verb::Set, Some(menu)) => self.set(menu, line),
            (Verb::Unset, Some(menu)) => self.unset(menu, line),
            (Verb::Remove, Some(menu)) => self.remove(menu, line),
            (Verb::Enable, Some(menu)) => self.disable(menu, line, false),
            (Verb::Disable, Some(menu)) => self.disable(menu, line, true),
            (Verb::Move, Some(menu)) => self.shift(menu, line),
            (Verb::Comment, Some(menu)) => self.comment(menu, line),
            (Verb::Find, Some(menu)) => self.find(menu, line),
            (Verb::Get, Some(menu)) => self.get(menu, line),
            (Verb::Print, Some(menu)) => self.print(menu, line),
        }
    }

    /// `:put value`.
    fn put(&mut self, line: Line) -> Result<Reply, Error> {
        let [word, surplus @ ..] = line.words else {
            return Err(Error::new(line.at, "missing value(s) of argument(s) message"));
        };
        if let Some(word) = surplus.first() {
            return Err(Error::end_of_command(word.at));
        }
        if word.name.is_some() {
            return Err(Error::syntax(word.at, ":put takes a value, as \"text\" or [command]"));
        }
        let text = self.text_of(word, line.path)?;
        self.print_text(text + "\n");
        Ok(Reply::Nothing)
    }

    /// What a `[ ]` returns. It starts from the menu of the command around it.
    pub(crate) fn bracket(
        &mut self,
        inner: &Statement,
        path: &'static str,
    ) -> Result<Reply, Error> {
        match self.walk(inner, path)? {
            (_, Some((verb, line))) => self.command(verb, line),
            (_, None) => Err(Error::new(inner.end, format!("expected command name {}", inner.end))),
        }
    }

    /// A word's value as text.
    pub(crate) fn text_of(&mut self, word: &Word, path: &'static str) -> Result<String, Error> {
        let mut text = String::new();
        for part in &word.value {
            match part {
                Part::Plain(part) | Part::Quoted(part) => text.push_str(part),
                Part::Command(inner) => {
                    let _ = write!(text, "{}", self.bracket(inner, path)?);
                }
            }
        }
        Ok(text)
    }

    /// A word's value as one of this type, for the argument `name`.
    pub(crate) fn value_of(
        &mut self,
        word: &Word,
        name: &str,
        kind: &Type,
        path: &'static str,
    ) -> Result<Value, Error> {
        let text = self.text_of(word, path)?;
        self.read_as(&text, name, kind, word.value_at)
    }

    /// A text as a value of this type, for the argument `name`.
    pub(crate) fn read_as(
        &mut self,
        text: &str,
        name: &str,
        kind: &Type,
        at: At,
    ) -> Result<Value, Error> {
        self.know_references(kind);
        let names = KnownNames { language: self.language, index: &self.index };
        kind.parse(text, &names).map_err(|why| mismatch(name, kind, text, why, at))
    }
}

/// RouterOS's words for a value that is none.
pub(crate) fn mismatch(name: &str, kind: &Type, text: &str, why: Mismatch, at: At) -> Error {
    match why {
        Mismatch::Invalid(expected) => {
            let error = Error::new(at, format!("invalid value for argument {name}"));
            error.help(format!("{name} takes {expected}"))
        }
        Mismatch::Time => {
            let error = Error::new(at, format!("invalid time value for argument {name}"));
            error.help(format!("{name} takes {}", kind.describe()))
        }
        Mismatch::NoMatch(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let error = Error::new(at, format!("input does not match any value of {name}"));
            error.help(format!("{name} is {}", choices(text, &words)))
        }
        Mismatch::Ambiguous(words) => {
            let possible = "more than one possible value matches input";
            let error = Error::new(at, format!("ambiguous value of {name}, {possible}"));
            error.help(format!("it could be: {}", words.join(", ")))
        }
        Mismatch::OutOfRange(part, low, high) => {
            let part = part.unwrap_or(name);
            let error = Error::new(at, format!("value of {part} out of range ({low}..{high})"));
            error.help(format!("{name} takes {}", kind.describe()))
        }
    }
}
