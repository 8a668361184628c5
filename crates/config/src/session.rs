//! A session: somebody at a device, typing scripts or sending API commands.
//!
//! ```text
//! /ip address add address=…      a path from the root, a command, its arguments
//! /ip/address                    a path alone: the current menu from now on
//! print; .. arp; export          from the current menu; .. goes up
//! :put [/ip address find]        a global command; [ ] is what a command returns
//! ```
//!
//! Holds what belongs to the one who types: the current menu and what item numbers mean. The
//! configuration and the device are the [`Host`]'s.
//!
//! **Missing**: `edit`.

use crate::names::Kept;
use crate::run::Run;
use crate::script::Datum;
use crate::{Error, Host, ItemId, Language};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the numbers of the last `print` mean, by menu.
pub(crate) type Numbers = BTreeMap<&'static str, Arc<Vec<ItemId>>>;

/// Somebody at a device.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) language: Arc<Language>,
    /// The current menu's path; empty at the root.
    pub(crate) place: &'static str,
    pub(crate) numbers: Numbers,
    pub(crate) width: usize,
    pub(crate) globals: BTreeMap<String, Datum>,
    /// How many scripts it has run.
    pub(crate) scripts: u64,
    /// Names that were needed before.
    kept: Kept,
}

/// When the commands of a script take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Each by itself: what came before a command that fails stands. Changes one after the other
    /// are taken over together, before the next command that could see them.
    Typed,
    /// All or nothing, when the last has succeeded; the device's own commands run after that.
    Import,
}

/// A piece of what a script prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Below what was printed before.
    Text(String),
    /// In the place of the last frame, on a terminal; in a pipe, below it.
    Frame(String),
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

/// Characters in a line of a terminal that has not said how wide it is.
const WIDTH: usize = 80;

impl Session {
    /// A session at the root.
    pub fn new(language: Arc<Language>) -> Session {
        let (numbers, globals) = (Numbers::new(), BTreeMap::new());
        Session {
            language,
            place: "",
            numbers,
            width: WIDTH,
            globals,
            scripts: 0,
            kept: Kept::default(),
        }
    }

    /// The language spoken.
    pub fn language(&self) -> &Arc<Language> {
        &self.language
    }

    /// The current menu, as the prompt shows it: `/ip address`, or `/`.
    pub fn place(&self) -> &'static str {
        if self.place.is_empty() { "/" } else { self.place }
    }

    /// Says how many characters fit on a line of the terminal (at least 40, 80 if never said).
    pub fn set_width(&mut self, width: usize) {
        self.width = width.max(40);
    }

    /// Runs a script of any number of lines; `out` gets what it prints, piece by piece.
    ///
    /// # Errors
    /// The first line that was refused, and why. Of [`How::Typed`] what came before it stands; of
    /// [`How::Import`] the configuration, the current menu and the item numbers are what they were.
    pub fn run(
        &mut self,
        script: &str,
        how: How,
        host: &mut dyn Host,
        out: &mut dyn FnMut(Piece),
    ) -> Result<Reply, Error> {
        self.scripts += 1;
        let session = self.clone();
        let mut run = Run::new(&session, how, host, out);
        run.index = self.kept.take(&run.tree);
        let result = run.whole(|run| run.script(script));
        if result.is_ok() || how == How::Typed {
            (self.place, self.numbers) = (run.place, run.numbers);
            self.globals = run.variables.globals;
        }
        self.kept = Kept::new(run.tree, run.index);
        result.map(Datum::into_reply).map_err(|error| error.locate(script))
    }
}
