//! Running scripts: which menu, which command, and all or nothing.
//!
//! ```text
//! /ip address add address=…      a path from the root, a command, its arguments
//! /ip/address                    a path alone: the current menu from now on
//! print; .. arp; export          from the current menu; .. goes up
//! :put [/ip address find]        a global command; [ ] is what a command returns
//! ```
//!
//! A script works on a copy of the tree, which is taken over when its last line succeeded:
//! nothing is ever half-applied. Commands of the device's own are handed back as
//! [`Call`]s, in order, for the device to run afterwards.
//!
//! ```
//! use config::{Interpreter, Menu, MenuKind, Property, Type};
//! const ADDRESS: Menu = Menu {
//!     path: "/ip address",
//!     kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
//!     properties: &[
//!         Property::new("address", Type::Cidr, "The address and its network.").required(),
//!         Property::new("interface", Type::Text, "Where it is.").required(),
//!     ],
//!     help: "The router's addresses.",
//! };
//! let mut router = Interpreter::new(vec![&ADDRESS]);
//! router.run("/ip address add address=1.1.1.254/24 interface=ether1", &()).unwrap();
//! assert_eq!(router.tree().read(&ADDRESS).next().unwrap().text("address"), "1.1.1.254/24");
//!
//! let error = router.run("/ip address\nadd adress=2.2.2.254/24", &()).unwrap_err();
//! assert_eq!(error.text, "expected end of command (line 2 column 5)");
//! assert!(error.help.ends_with("did you mean address?"));
//! ```
//!
//! **Missing**: scripting (`:local`, `:if`, `:foreach` …), `{ }` blocks behind a path, `edit`,
//! `print interval= follow file=`, `export file=`.

use crate::error::choices;
use crate::line::{Lexer, Part, Statement, Word};
use crate::parse::pick;
use crate::{At, Call, Command, Error, ItemId, Menu, Mismatch, Names, Status, Tree, Type, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

/// A session: the menus, the configuration and where the user stands.
#[derive(Clone, Debug)]
pub struct Interpreter {
    pub(crate) menus: Vec<&'static Menu>,
    commands: Vec<&'static Command>,
    /// For each menu with names: the menus whose items must be named differently.
    namespaces: BTreeMap<&'static str, BTreeSet<&'static str>>,
    tree: Tree,
    /// The current menu's path; empty at the root.
    place: &'static str,
    numbers: BTreeMap<&'static str, Vec<ItemId>>,
}

/// What came of a script.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// What it printed.
    pub text: String,
    /// The device's own commands, for the device to run now.
    pub calls: Vec<Call>,
    /// What its last command returned.
    pub reply: Reply,
}

/// What a command returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    #[default]
    Nothing,
    /// Items, of `add` and `find`.
    Items(Vec<ItemId>),
    /// A value, of `get` and `print count-only`.
    Text(String),
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reply::Nothing => Ok(()),
            Reply::Text(text) => f.write_str(text),
            Reply::Items(ids) => {
                let ids: Vec<String> = ids.iter().map(ItemId::to_string).collect();
                f.write_str(&ids.join(";"))
            }
        }
    }
}

impl Interpreter {
    /// A session at the root of an empty configuration. `export` writes the menus in this order,
    /// so let those that others refer to come first.
    pub fn new(menus: Vec<&'static Menu>) -> Interpreter {
        let mut namespaces: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for menu in menus.iter().filter(|menu| menu.key().is_some()) {
            namespaces.insert(menu.path, [menu.path].into());
        }
        // Whatever one reference may mean must have different names.
        for property in menus.iter().flat_map(|menu| menu.properties) {
            property.kind.each_reference(&mut |paths| {
                for path in paths {
                    if let Some(others) = namespaces.get_mut(path) {
                        others.extend(paths);
                    }
                }
            });
        }
        let (commands, tree) = (Vec::new(), Tree::default());
        Interpreter { menus, commands, namespaces, tree, place: "", numbers: BTreeMap::new() }
    }

    /// Adds commands of the device's own.
    pub fn with_commands(mut self, commands: impl IntoIterator<Item = &'static Command>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// The configuration.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The configuration, for the device to bring its fixed items.
    pub fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// The menus.
    pub fn menus(&self) -> &[&'static Menu] {
        &self.menus
    }

    /// The current menu, as the prompt shows it: `/ip address`, or `/`.
    pub fn place(&self) -> &'static str {
        if self.place.is_empty() { "/" } else { self.place }
    }

    /// Runs a script of any number of lines.
    ///
    /// # Errors
    /// The first line that was refused, and why. The configuration, the current menu and the item
    /// numbers are then what they were.
    pub fn run(&mut self, script: &str, status: &dyn Status) -> Result<Output, Error> {
        let mut run = Run {
            session: self,
            status,
            tree: self.tree.clone(),
            place: self.place,
            numbers: self.numbers.clone(),
            index: RefCell::default(),
            text: String::new(),
            calls: Vec::new(),
        };
        let reply = run.script(script).map_err(|error| error.locate(script))?;
        let Run { tree, place, numbers, text, calls, .. } = run;
        (self.tree, self.place, self.numbers) = (tree, place, numbers);
        Ok(Output { text, calls, reply })
    }

    pub(crate) fn menu(&self, path: &str) -> Option<&'static Menu> {
        self.menus.iter().find(|menu| menu.path == path).copied()
    }

    /// The menus whose items may not be named like one of this menu.
    pub(crate) fn namespace(&self, menu: &Menu) -> impl Iterator<Item = &'static Menu> {
        let paths = self.namespaces.get(menu.path).into_iter().flatten();
        paths.filter_map(|path| self.menu(path))
    }

    /// What can be said at a path: the words that lead deeper, and the commands.
    fn choices(&self, path: &'static str) -> BTreeMap<&'static str, Choice> {
        let mut choices = BTreeMap::new();
        for &(name, verb) in Verb::all(self.menu(path)) {
            choices.insert(name, Choice::Verb(verb));
        }
        for command in self.commands.iter().filter(|command| at_path(command.menu, path)) {
            choices.insert(command.name, Choice::Verb(Verb::Device(command)));
        }
        let menus = self.menus.iter().map(|menu| menu.path);
        for deeper in menus.chain(self.commands.iter().map(|command| command.menu)) {
            let blank = if path.is_empty() { "/" } else { " " };
            let rest = deeper.strip_prefix(path).and_then(|rest| rest.strip_prefix(blank));
            if let Some(word) =
                rest.and_then(|rest| rest.split(' ').next()).filter(|w| !w.is_empty())
            {
                let end = path.len() + 1 + word.len();
                choices.insert(word, Choice::Menu(&deeper[..end]));
            }
        }
        choices
    }
}

/// Whether a command's menu is this path; the root is written `/` in tables.
fn at_path(menu: &str, path: &str) -> bool {
    menu == path || (menu == "/" && path.is_empty())
}

#[derive(Clone, Copy)]
enum Choice {
    Menu(&'static str),
    Verb(Verb),
}

/// A command.
#[derive(Clone, Copy)]
pub(crate) enum Verb {
    Add,
    Set,
    Unset,
    Remove,
    Enable,
    Disable,
    Move,
    Comment,
    Find,
    Get,
    Device(&'static Command),
}

impl Verb {
    /// The commands that a menu has because of its kind.
    fn all(menu: Option<&Menu>) -> &'static [(&'static str, Verb)] {
        use crate::MenuKind::{List, Settings};
        const LIST: &[(&str, Verb)] = &[
            ("comment", Verb::Comment),
            ("disable", Verb::Disable),
            ("enable", Verb::Enable),
            ("find", Verb::Find),
            ("get", Verb::Get),
            ("set", Verb::Set),
            ("unset", Verb::Unset),
            // Only where the user makes the items.
            ("add", Verb::Add),
            ("remove", Verb::Remove),
            // Only where their order matters.
            ("move", Verb::Move),
        ];
        match menu.map(|menu| menu.kind) {
            None => &[],
            Some(Settings) => &[("get", Verb::Get), ("set", Verb::Set)],
            Some(List { fixed: true, .. }) => &LIST[..7],
            Some(List { ordered: false, .. }) => &LIST[..9],
            Some(List { .. }) => LIST,
        }
    }
}

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
    place: &'static str,
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

impl Run<'_> {
    fn script(&mut self, script: &str) -> Result<Reply, Error> {
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
    fn walk<'w>(
        &self,
        statement: &'w Statement,
        from: &'static str,
    ) -> Result<(&'static str, Option<(Option<Verb>, Line<'w>)>), Error> {
        let mut path = from;
        for (i, word) in statement.words.iter().enumerate() {
            let mut at = word.at;
            let expected = |at| Error::new(at, format!("expected command name {at}"));
            let mut text = word.plain().ok_or_else(|| expected(at))?;
            let words = &statement.words[i + 1..];
            if let Some(name) = text.strip_prefix(':') {
                let at = at.right(1);
                return match name {
                    "put" if i == 0 => Ok((path, Some((None, Line { path, at, words })))),
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
                        return Ok((path, Some((Some(verb), Line { path, at, words }))));
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

    fn command(&mut self, verb: Option<Verb>, line: Line) -> Result<Reply, Error> {
        let Some(verb) = verb else { return self.put(line) };
        let menu = self.session.menu(line.path);
        match (verb, menu) {
            (Verb::Device(command), menu) => self.device(command, menu, line),
            // The choices of a path without a menu hold device commands only.
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
            for item in self.tree.items(menu.path).iter().chain(&dynamic) {
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
