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
//! let mut router = Interpreter::new([&ADDRESS]);
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

use crate::run::Run;
use crate::{Call, Command, Error, ItemId, Menu, Status, Tree};
use std::collections::{BTreeMap, BTreeSet};

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
    pub fn new(menus: impl IntoIterator<Item = &'static Menu>) -> Interpreter {
        let menus: Vec<_> = menus.into_iter().collect();
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
        let (tree, numbers) = (self.tree.clone(), self.numbers.clone());
        let mut run = Run::new(self, status, tree, self.place, numbers);
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
    pub(crate) fn choices(&self, path: &'static str) -> BTreeMap<&'static str, Choice> {
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

/// What a word means at a path.
#[derive(Clone, Copy)]
pub(crate) enum Choice {
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
    Print,
    Export,
    /// `:put`.
    Put,
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
            ("export", Verb::Export),
            ("find", Verb::Find),
            ("get", Verb::Get),
            ("print", Verb::Print),
            ("set", Verb::Set),
            ("unset", Verb::Unset),
            // Only where the user makes the items.
            ("add", Verb::Add),
            ("remove", Verb::Remove),
            // Only where their order matters.
            ("move", Verb::Move),
        ];
        const SETTINGS: &[(&str, Verb)] = &[
            ("export", Verb::Export),
            ("get", Verb::Get),
            ("print", Verb::Print),
            ("set", Verb::Set),
        ];
        match menu.map(|menu| menu.kind) {
            None => &SETTINGS[..1],
            Some(Settings) => SETTINGS,
            Some(List { fixed: true, .. }) => &LIST[..9],
            Some(List { ordered: false, .. }) => &LIST[..11],
            Some(List { .. }) => LIST,
        }
    }
}
