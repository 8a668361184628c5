//! A session and a configuration together, for one-shot use: tests, benches, a device that loads its
//! configuration.
//!
//! ```text
//! script ─► Interpreter ─► Output { text, calls, reply }     the device runs the calls itself
//!              └── Tree
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
//! Never waits: `:delay` and commands that take time belong to a [`Session`] on a [`Host`]. A script
//! that would go on for ever is interrupted.

use crate::{
    Call, Command, Error, Factory, Host, How, Language, Menu, Piece, Progress, Record, Reply,
    Session, Status, Translate, Tree,
};
use std::sync::Arc;
use wire::Moment;

/// A session and its configuration.
#[derive(Clone, Debug)]
pub struct Interpreter {
    session: Session,
    tree: Tree,
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

impl Interpreter {
    /// A session at the root of an empty configuration. `export` writes the menus in this order,
    /// so let those that others refer to come first.
    pub fn new(menus: impl IntoIterator<Item = &'static Menu>) -> Interpreter {
        Interpreter::of(Arc::new(Language::new(menus, [])))
    }

    /// The same in a language that others have, too.
    pub fn of(language: Arc<Language>) -> Interpreter {
        Interpreter { session: Session::new(language), tree: Tree::default() }
    }

    /// Adds commands of the device's own.
    pub fn with_commands(mut self, commands: impl IntoIterator<Item = &'static Command>) -> Self {
        let language = self.session.language();
        let menus = language.menus().to_vec();
        let commands: Vec<_> = language.commands().iter().copied().chain(commands).collect();
        self.session = Session::new(Arc::new(Language::new(menus, commands)));
        self
    }

    /// Brings what a device of this factory has from the beginning.
    pub fn with_factory(mut self, factory: &'static Factory) -> Self {
        let language = Language::clone(self.session.language()).with_factory(factory);
        language.furnish(&mut self.tree);
        self.session = Session::new(Arc::new(language));
        self
    }

    /// Brings its words in each version of RouterOS.
    pub fn with_versions(mut self, translate: Translate) -> Self {
        let language = Language::clone(self.session.language()).with_versions(translate);
        self.session = Session::new(Arc::new(language));
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
        self.session.language.menus()
    }

    /// The current menu, as the prompt shows it: `/ip address`, or `/`.
    pub fn place(&self) -> &'static str {
        self.session.place()
    }

    /// Runs a script of any number of lines.
    ///
    /// # Errors
    /// The first line that was refused, and why. The configuration, the current menu and the item
    /// numbers are then what they were.
    pub fn run(&mut self, script: &str, status: &dyn Status) -> Result<Output, Error> {
        let mut desk = Desk { status, tree: &mut self.tree, calls: Vec::new(), patience: PATIENCE };
        let mut text = String::new();
        let mut print = |piece| match piece {
            Piece::Text(piece) | Piece::Frame(piece) => text += &piece,
        };
        let reply = self.session.run(script, How::Import, &mut desk, &mut print)?;
        Ok(Output { calls: desk.calls, text, reply })
    }
}

/// Where an interpreter's scripts run: no device, only its status.
struct Desk<'a> {
    status: &'a dyn Status,
    tree: &'a mut Tree,
    calls: Vec<Call>,
    /// How often it may still be asked whether a script may go on.
    patience: u32,
}

/// Enough for some 600,000 statements: what goes on longer would go on for ever.
const PATIENCE: u32 = 10_000;

impl Host for Desk<'_> {
    fn now(&self) -> Moment {
        Moment::ZERO
    }

    fn look(&mut self, look: &mut dyn FnMut(&dyn Status)) {
        look(self.status);
    }

    fn tree(&mut self) -> Tree {
        self.tree.clone()
    }

    fn edit(&mut self) -> Result<Tree, String> {
        Ok(self.tree.clone())
    }

    fn commit(&mut self, tree: &Tree) -> Result<(), String> {
        *self.tree = tree.clone();
        Ok(())
    }

    fn release(&mut self) {}

    fn start(&mut self, call: &Call) -> Result<Progress, String> {
        self.calls.push(call.clone());
        Ok(Progress::Done(Reply::Nothing))
    }

    fn poll(&mut self, _: &mut Vec<Record>) -> Result<Progress, String> {
        Ok(Progress::Done(Reply::Nothing))
    }

    fn stop(&mut self) {}

    fn wait(&mut self, _: Moment) -> bool {
        self.patience = self.patience.saturating_sub(1);
        self.patience > 0
    }
}
