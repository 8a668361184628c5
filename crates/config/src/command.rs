//! Commands of the device's own: `reset-counters`, `ping`, `quick`, `monitor-traffic`.
//!
//! ```text
//! /ping 1.2.3.4 count=3 ─► Command (its table) ─► Call ─► Host::start ─┬─► done at once
//!                                                                      └─► Job: poll, poll, poll …
//!                          Display ◄─ Group ◄─ Records ◄──────────────────────┘      or stop
//! ```
//!
//! The interpreter reads the arguments, the device runs the command. A command that takes time is a
//! [`Job`]: whoever owns the device polls it between two breaths, so it never holds up a packet and
//! runs in virtual time as in real time. What it yields are [`Record`]s: a program gets their
//! values, a terminal what the command's [`Display`] makes of them.

use crate::{ItemId, Property, Reply, Value};
use std::collections::BTreeMap;
use std::fmt;
use wire::Moment;

/// A command of the device's own in one menu.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The menu's path; `/` is the root. There need not be a [`Menu`](crate::Menu) of this path.
    pub menu: &'static str,
    /// As typed.
    pub name: &'static str,
    /// What a word without `=` means.
    pub unnamed: Unnamed,
    /// The parameters.
    pub parameters: &'static [Property],
    /// How a terminal shows what it yields.
    pub display: Display,
    /// One sentence.
    pub help: &'static str,
}

/// What a word without `=` means to a [`Command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// It is refused.
    Nothing,
    /// It selects items of the menu: `reset-counters 0,1`.
    Items,
    /// It is the value of this parameter: `ping 1.2.3.4`.
    Parameter(&'static str),
}

/// How a terminal shows the records of a command, a group at a time.
#[derive(Clone, Copy)]
pub enum Display {
    /// It yields none.
    Nothing,
    /// Each group below the one before it.
    Append(fn(&Group) -> String),
    /// Each group in the place of the one before it, until Q is pressed; in a pipe, below it.
    Redraw(fn(&Group) -> String),
}

impl fmt::Debug for Display {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Display::Nothing => "Nothing",
            Display::Append(_) => "Append",
            Display::Redraw(_) => "Redraw",
        })
    }
}

/// The records of one poll, for a [`Display`]. What it returns ends with a line break, if it is not
/// empty.
pub struct Group<'a> {
    /// The call they come from.
    pub call: &'a Call,
    /// The records; none if the command ends with nothing more to say.
    pub records: &'a [Record],
    /// How many records there were before.
    pub before: usize,
    /// The newest record there was, of this group or an earlier one: what a summary at the end is
    /// made of, however the command ended.
    pub latest: Option<&'a Record>,
    /// Whether the command has ended.
    pub last: bool,
    /// Characters in a line of the terminal.
    pub width: usize,
}

/// What a command yields at a time: named values in the order of the documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(pub Vec<(&'static str, Value)>);

impl Record {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// With a further value.
    pub fn with(mut self, name: &'static str, value: Value) -> Record {
        self.0.push((name, value));
        self
    }
}

/// A command to run, its arguments read and checked.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which.
    pub command: &'static Command,
    /// The items selected; `None` if no selector was given.
    pub items: Option<Vec<ItemId>>,
    /// The arguments given. Those that are not here have their defaults.
    pub arguments: BTreeMap<&'static str, Value>,
}

impl Call {
    /// A command, and nothing more said.
    pub fn of(command: &'static Command) -> Call {
        Call { command, items: None, arguments: BTreeMap::new() }
    }

    /// What was given for a parameter, else its default.
    pub fn argument(&self, name: &str) -> Option<Value> {
        let parameter = self.command.parameters.iter().find(|parameter| parameter.name == name);
        let given = self.arguments.get(name).cloned();
        given.or_else(|| parameter.and_then(Property::default_value))
    }
}

/// Where a command has come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// It goes on: poll it at this moment, or a little later.
    Again(Moment),
    /// It has ended, and returns this.
    Done(Reply),
}

/// A command under way on a device `D`. It holds no reference to the device, so it can wait
/// wherever its session is.
pub trait Job<D: ?Sized>: Send {
    /// Does what is due by `now`, without waiting, and adds what there is to say to `out`.
    ///
    /// # Errors
    /// RouterOS's words for why the command ends: `failure: …`.
    fn poll(
        &mut self,
        device: &mut D,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String>;

    /// A file of the device's that it needs before it is polled next, once for each. Whoever polls
    /// it reads the file and gives it the content: a device reads and writes no files itself.
    fn wants_file(&mut self) -> Option<String> {
        None
    }

    /// The file it wanted, or why there is none.
    fn give_file(&mut self, content: Result<Vec<u8>, String>) {
        let _ = content;
    }

    /// Files to be written, name and content, each once; asked for after every poll and after
    /// [`stop`](Self::stop).
    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    /// The user wants it to end. Whether it has more to say first, within seconds: then it is
    /// polled on until it is done. A test's last frames are under way still when it is told so.
    fn wind_up(&mut self, device: &mut D, now: Moment) -> bool {
        let _ = (device, now);
        false
    }

    /// Ends it: called once, when it is interrupted and also after it was done or has failed.
    fn stop(&mut self, device: &mut D, now: Moment) {
        let _ = (device, now);
    }
}

/// What came of starting a command on a device `D`.
pub enum Started<D: ?Sized> {
    /// It is done, and returns this.
    Done(Reply),
    /// It takes time.
    Job(Box<dyn Job<D>>),
}
