//! A line under way: what may come next, what it means, and how to colour it.
//!
//! ```text
//! /ip address add interface=et█        scan ─► a class for each character   ─► highlight
//! └ Path ┘ Command Parameter            │
//!                                       └► the situation at the end ─┬─► complete (Tab): ether1 …
//!                                          "a value of interface"    └─► explain  (?)
//! ```
//!
//! Tolerant by design: the text is unfinished most of the time, so nothing here fails. What is not
//! understood is classed as an error, and scanning goes on behind it. Everything offered comes from
//! the tables the parser reads ([`Menu`], [`Command`](crate::Command)), so that no word is offered which the
//! parser would refuse in its place; a property test compares the two.
//!
//! The words for classes and kinds of nodes are those of RouterOS v7's `/console/inspect`.
//!
//! Never runs anything and never changes anything: `[ ]` is looked at, not called.
//!
//! **Missing**: what a `[ ]` would return is not known here, so a value made of one is not checked.

// From text to classes, and what the end of it expects.
mod scan;
// The values in it.
mod value;
// What a command takes: built-in verbs, the device's commands, global ones.
mod shape;
// The global commands: `:put`, `:if`.
mod global;
// The words that fit where the text ends.
mod offer;
// Which brackets and quotes are still open.
mod open;

pub use open::open;

use crate::language::Choice;
use crate::parse::pick;
use crate::session::{Numbers, Session};
use crate::{Host, Language, Menu, Mismatch, Names, Status, Tree};
use scan::{Scan, Situation};
use shape::Shape;
use std::cell::RefCell;
use std::collections::HashSet;

/// Longer texts are not looked at: they are files, not lines.
const MAX_CHARS: usize = 64 * 1024;
/// More than these help nobody.
const MAX_OFFERED: usize = 1000;

/// How a character is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A blank, or a value.
    Plain,
    /// A menu's word, and the slashes around it.
    Path,
    /// A command's.
    Command,
    /// A parameter's name, a flag.
    Parameter,
    /// Brackets, operators, `=`, `;`.
    Syntax,
    /// Inside quotes.
    Text,
    /// An escape inside quotes.
    Escaped,
    /// `$name` of a variable there is.
    Variable,
    /// Where a variable gets its name.
    VariableName,
    /// `$name` of a variable nobody declared.
    Undefined,
    /// From `#` to the end of the line.
    Comment,
    /// Short for more than one word.
    Ambiguous,
    /// What the parser would refuse.
    Error,
}

impl Class {
    /// As `/console/inspect` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Plain => "none",
            Class::Path => "dir",
            Class::Command => "cmd",
            Class::Parameter => "arg",
            Class::Syntax => "syntax-meta",
            Class::Text => "syntax-val",
            Class::Escaped => "escaped",
            Class::Variable => "variable-local",
            Class::VariableName => "varname-local",
            Class::Undefined => "variable-undefined",
            Class::Comment => "comment",
            Class::Ambiguous => "ambiguous",
            Class::Error => "error",
        }
    }
}

/// A word that fits where the text ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The whole word, quoted if it must be.
    pub word: String,
    /// The character at which it begins, counted from 0: what is there of it is replaced.
    pub at: usize,
    /// What belongs behind it: a blank, `=`, or nothing.
    pub append: &'static str,
    /// What it is.
    pub class: Class,
    /// One sentence; empty if there is nothing to say.
    pub help: String,
}

/// What is known about the place where the text ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// A command, a menu or a parameter.
    pub symbol: String,
    /// One sentence about it.
    pub text: String,
    /// What it takes, for a parameter: `a number from 1 to 9; 5 if left out`.
    pub definition: String,
}

/// What stands below a menu, or behind a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its word.
    pub name: &'static str,
    /// [`Class::Path`], [`Class::Command`] or [`Class::Parameter`].
    pub class: Class,
}

/// A device's language and configuration, as a line under way sees them.
struct Scene<'a> {
    language: &'a Language,
    /// What the numbers of the last `print` mean, by menu.
    numbers: &'a Numbers,
    /// The names of variables that are there already.
    variables: Vec<String>,
    tree: Tree,
    host: RefCell<&'a mut dyn Host>,
}

impl Session {
    /// A class for each character of `text`.
    pub fn highlight(&self, text: &str, host: &mut dyn Host) -> Vec<Class> {
        let n_chars = text.chars().count();
        if n_chars > MAX_CHARS {
            return vec![Class::Plain; n_chars];
        }
        Scan::run(&Scene::new(self, host), self.place, text).classes
    }

    /// The words that fit at the end of `text`, sorted.
    pub fn complete(&self, text: &str, host: &mut dyn Host) -> Vec<Completion> {
        let scene = Scene::new(self, host);
        let situation = scene.situation(self.place, text);
        situation.map_or(Vec::new(), |situation| offer::words(&scene, &situation))
    }

    /// What may stand at the end of `text`, in words.
    pub fn explain(&self, text: &str, host: &mut dyn Host) -> Vec<Explanation> {
        let scene = Scene::new(self, host);
        let situation = scene.situation(self.place, text);
        situation.map_or(Vec::new(), |situation| offer::explain(&scene, &situation))
    }

    /// What stands below `words`: a menu's path, and perhaps a command. `None` if there is no such
    /// menu or command.
    pub fn children(&self, words: &[&str]) -> Option<Vec<Child>> {
        let mut path = "";
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match choose(&self.language, path, word).ok()? {
                Choice::Menu(deeper) => path = deeper,
                Choice::Verb(verb) => {
                    let shape = Shape::of(verb, self.language.menu(path));
                    let names = shape.named.iter().map(|parameter| parameter.name);
                    return match (words.next(), words.len()) {
                        (None, _) => {
                            let child = |name| Child { name, class: Class::Parameter };
                            Some(names.map(child).collect())
                        }
                        (Some(name), 0) if names.clone().any(|n| n == *name) => Some(Vec::new()),
                        _ => None,
                    };
                }
            }
        }
        let class = |choice: &Choice| match choice {
            Choice::Menu(_) => Class::Path,
            Choice::Verb(_) => Class::Command,
        };
        let choices = self.language.choices(path).iter();
        Some(choices.map(|(name, choice)| Child { name, class: class(choice) }).collect())
    }

    /// The same session, standing at another menu.
    pub fn standing_at(&self, words: &[&str]) -> Option<Session> {
        let mut session = self.clone();
        session.place = "";
        for word in words {
            match choose(&self.language, session.place, word).ok()? {
                Choice::Menu(deeper) => session.place = deeper,
                Choice::Verb(_) => return None,
            }
        }
        Some(session)
    }
}

fn choose(language: &Language, path: &'static str, step: &str) -> Result<Choice, Mismatch> {
    if step == ".." {
        return Ok(Choice::Menu(path.rsplit_once(' ').map_or("", |(parent, _)| parent)));
    }
    let choices = language.choices(path);
    pick(choices.keys().copied(), step).map(|word| choices[word])
}

impl<'a> Scene<'a> {
    fn new(session: &'a Session, host: &'a mut dyn Host) -> Scene<'a> {
        let (language, numbers) = (&*session.language, &session.numbers);
        let variables = session.globals.keys().cloned().collect();
        let mut tree = host.tree();
        language.furnish(&mut tree);
        Scene { language, numbers, variables, tree, host: RefCell::new(host) }
    }

    fn situation(&self, place: &'static str, text: &str) -> Option<Situation> {
        if text.len() > MAX_CHARS { None } else { Scan::run(self, place, text).situation }
    }

    /// The names in a menu, the device's own included, as many as are any use.
    fn names(&self, menu: &'static Menu) -> Vec<String> {
        let mut names = Vec::new();
        for member in self.language.members(menu.path) {
            let Some(key) = member.key() else { continue };
            let named = |name: &str| (!name.is_empty()).then(|| name.to_string());
            let own = self.tree.items(member.path).iter();
            names.extend(own.filter_map(|item| named(item.name(key))));
            self.look(&mut |status| {
                let page = status.dynamic_page(member, None, MAX_OFFERED);
                names.extend(page.iter().filter_map(|item| named(item.name(key))));
            });
        }
        names
    }

    /// How many numbers mean an item now, from 0 on.
    fn numbers(&self, menu: &'static Menu) -> usize {
        let mut ids = HashSet::new();
        for member in self.language.members(menu.path) {
            ids.extend(self.tree.items(member.path).iter().map(|item| item.id));
            self.look(&mut |status| {
                let page = status.dynamic_page(member, None, MAX_OFFERED);
                ids.extend(page.iter().map(|item| item.id));
            });
        }
        match self.numbers.get(menu.path) {
            Some(printed) => printed.iter().take_while(|id| ids.contains(id)).count(),
            None => ids.len(),
        }
    }

    fn look(&self, look: &mut dyn FnMut(&dyn Status)) {
        self.host.borrow_mut().look(look);
    }
}

impl Names for Scene<'_> {
    fn resolve(&self, menus: &[&str], typed: &str) -> Result<String, Mismatch> {
        let menus = menus.iter().filter_map(|path| self.language.menu(path));
        let mut names: Vec<String> = menus.flat_map(|menu| self.names(menu)).collect();
        names.sort();
        pick(names.iter().map(String::as_str), typed).map(str::to_string)
    }
}
