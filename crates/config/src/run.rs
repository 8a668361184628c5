//! One script under way: each statement's menu and command found, its values read.
//!
//! ```text
//! /ip address add address=[…] interface=eth
//! └── walk ─┘ └┬┘         └ bracket     └ value_of, resolve
//!           command
//! ```

use crate::error::choices;
use crate::interpreter::{Choice, Interpreter, Reply, Verb};
use crate::line::{Lexer, Part, Statement, Word};
use crate::parse::pick;
use crate::status::around;
use crate::{At, Call, Error, ItemId, Menu, Mismatch, Names, Status, Tree, Type, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
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
    pub(crate) session: &'a Interpreter,
    pub(crate) status: &'a dyn Status,
    pub(crate) tree: Tree,
    pub(crate) place: &'static str,
    /// What the numbers of the last `print` mean, by menu.
    pub(crate) numbers: BTreeMap<&'static str, Vec<ItemId>>,
    /// Names by menu, as far as they were needed: thousands of queues are added in one script.
    index: RefCell<HashMap<&'static str, HashMap<String, ItemId>>>,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
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
        session: &'a Interpreter,
        status: &'a dyn Status,
        tree: Tree,
        place: &'static str,
        numbers: BTreeMap<&'static str, Vec<ItemId>>,
    ) -> Run<'a> {
        let (index, text, calls) = (RefCell::default(), String::new(), Vec::new());
        Run { session, status, tree, place, numbers, index, text, calls }
    }

    pub(crate) fn script(&mut self, script: &str) -> Result<Reply, Error> {
        let mut lexer = Lexer::new(script);
        let mut reply = Reply::Nothing;
        while let Some(statement) = lexer.next()? {
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

    fn choose(&self, path: &'static str, step: &str, at: At) -> Result<Choice, Error> {
        if step == ".." {
            // The root's parent is the root.
            return Ok(Choice::Menu(path.rsplit_once(' ').map_or("", |(parent, _)| parent)));
        }
        let choices = self.session.choices(path);
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

    fn command(&mut self, verb: Verb, line: Line) -> Result<Reply, Error> {
        let menu = self.session.menu(line.path);
        match (verb, menu) {
            (Verb::Device(command), menu) => self.device(command, menu, line),
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
        let _ = writeln!(self.text, "{text}");
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
        kind.parse(&text, self).map_err(|why| mismatch(name, kind, &text, why, word.value_at))
    }

    /// The item of this name in this menu, the device's own included.
    pub(crate) fn named(&self, menu: &Menu, name: &str) -> Option<ItemId> {
        let key = menu.key()?;
        let session = self.session;
        let path = session.menu(menu.path)?.path;
        let mut index = self.index.borrow_mut();
        let names = index.entry(path).or_insert_with(|| {
            let items = self.tree.items(path).iter();
            items.map(|item| (item.name(key).to_string(), item.id)).collect()
        });
        if let Some(id) = names.get(name).filter(|_| !name.is_empty()) {
            return Some(*id);
        }
        let dynamic = self.status.dynamic(menu);
        dynamic.iter().find(|item| !name.is_empty() && item.name(key) == name).map(|item| item.id)
    }

    /// Keeps the index of names right when an item is added; `None` when names have changed.
    pub(crate) fn reindex(&mut self, menu: &Menu, added: Option<(&str, ItemId)>) {
        let index = self.index.get_mut();
        match (added, index.get_mut(menu.path)) {
            (Some((name, id)), Some(names)) => {
                names.insert(name.to_string(), id);
            }
            _ => {
                index.remove(menu.path);
            }
        }
    }
}

impl Names for Run<'_> {
    fn resolve(&self, menus: &[&str], typed: &str) -> Result<String, Mismatch> {
        let menus = || menus.iter().filter_map(|path| self.session.menu(path));
        if menus().any(|menu| self.named(menu, typed).is_some()) {
            return Ok(typed.to_string());
        }
        let mut names = BTreeMap::new();
        for menu in menus() {
            let Some(key) = menu.key() else { continue };
            let dynamic = self.status.dynamic(menu);
            for item in around(self.tree.items(menu.path), &dynamic) {
                names.insert(item.name(key).to_string(), item.id);
            }
        }
        if typed.starts_with('*')
            && let Some((name, _)) = names.iter().find(|(_, id)| id.to_string() == typed)
        {
            return Ok(name.clone());
        }
        pick(names.keys().map(String::as_str), typed).map(str::to_string)
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
