//! One script under way: the configuration it works on, when that takes effect, and its commands.
//!
//! ```text
//! add, set, move …   edit ─► tree ─► (more of them) ─► settle: commit, release
//! ping, print …                                          └─► then what could see it
//! ```
//!
//! How statements become commands stands in [`script`](crate::script).

use crate::error::choices;
use crate::file;
use crate::language::Verb;
use crate::names::{Index, KnownNames};
use crate::script::evaluate::Variables;
use crate::script::{Datum, Word};
use crate::session::Numbers;
use crate::{
    At, Call, Display, Error, Group, Host, How, Language, Mismatch, Piece, Progress, Record, Reply,
    Session, Tree, Type, Value,
};
use std::time::Duration;

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
    /// What an import does when all of it has been taken over.
    deferred: Vec<(Deferred, At)>,
    pub(crate) variables: Variables,
    /// What `:return` said, until the function it ends has ended.
    pub(crate) returning: Option<Datum>,
    /// Blocks under way inside each other.
    pub(crate) depth: usize,
    /// Statements run.
    pub(crate) steps: u32,
    /// Whether what a command returns is asked for: it is not printed then.
    pub(crate) in_bracket: bool,
    /// Which script of the session this is.
    pub(crate) script: u64,
    /// What is printed, if it goes to a file.
    captured: Option<String>,
}

/// What waits for an import to be taken over.
enum Deferred {
    Call(Call),
    Delay(Duration),
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

impl<'a> Run<'a> {
    pub(crate) fn new(
        session: &'a Session,
        how: How,
        host: &'a mut dyn Host,
        out: &'a mut dyn FnMut(Piece),
    ) -> Run<'a> {
        let mut tree = host.tree();
        session.language.furnish(&mut tree);
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
            variables: Variables::new(session.globals.clone()),
            returning: None,
            depth: 0,
            steps: 0,
            in_bracket: false,
            script: session.scripts,
            captured: None,
        }
    }

    /// Runs all of it, and takes over what stands: all or nothing of an import, what came before
    /// the failing command of what was typed.
    pub(crate) fn whole<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let result = run(self);
        if result.is_err() && self.how == How::Import {
            self.changed = None;
        }
        let reply = match (result, self.take_over()) {
            (Ok(reply), Ok(())) => reply,
            (Err(error), _) | (Ok(_), Err(error)) => return Err(error),
        };
        self.how = How::Typed;
        for (deferred, at) in std::mem::take(&mut self.deferred) {
            match deferred {
                Deferred::Call(call) => drop(self.call(call, at)?),
                Deferred::Delay(time) => self.delay(time, at)?,
            }
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

    /// Waits; what was changed so far takes effect first.
    pub(crate) fn delay(&mut self, time: Duration, at: At) -> Result<(), Error> {
        if self.how == How::Import {
            self.deferred.push((Deferred::Delay(time), at));
            return Ok(());
        }
        self.settle()?;
        let until = self.host.now() + time;
        if self.host.wait(until) { Ok(()) } else { Err(Error::interrupted(at)) }
    }

    /// Waits between two looks at what goes on changing.
    pub(crate) fn pause(&mut self, time: Duration, at: At) -> Result<(), Error> {
        let until = self.host.now() + time;
        if !self.host.wait(until) {
            return Err(Error::interrupted(at));
        }
        self.refresh();
        Ok(())
    }

    /// What `print` prints, instead of printing it.
    pub(crate) fn capture<T>(
        &mut self,
        print: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(T, String), Error> {
        let around = self.captured.replace(String::new());
        let result = print(self);
        let text = std::mem::replace(&mut self.captured, around).unwrap_or_default();
        Ok((result?, text))
    }

    /// Others may have changed the configuration since.
    pub(crate) fn refresh(&mut self) {
        if !self.editing {
            let tree = self.host.tree();
            self.see(tree);
        }
    }

    fn see(&mut self, mut tree: Tree) {
        self.language.furnish(&mut tree);
        self.index.refresh(&self.tree, &tree);
        self.tree = tree;
    }

    pub(crate) fn print_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        if let Some(captured) = &mut self.captured {
            *captured += &text;
        } else if !text.is_empty() {
            (self.out)(Piece::Text(text));
        }
    }

    /// Runs a command of the device's own, and shows what it yields.
    pub(crate) fn call(&mut self, call: Call, at: At) -> Result<Reply, Error> {
        if self.how == How::Import {
            self.deferred.push((Deferred::Call(call), at));
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
                Display::Redraw(show) => {
                    let frame = show(&group);
                    // Nothing more to say is no empty picture: the last one stays.
                    if !frame.is_empty() {
                        (run.out)(Piece::Frame(frame));
                    }
                }
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
                        self.host.wind_up(&mut records);
                        self.host.stop();
                        yielded(self, &records, true);
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

    /// A command of a menu.
    pub(crate) fn command(&mut self, verb: Verb, line: Line) -> Result<Datum, Error> {
        let menu = self.language.menu(line.path);
        let reply = match (verb, menu) {
            (Verb::Device(command), menu) => {
                let call = self.device(command, menu, line)?;
                self.call(call, line.at)
            }
            (Verb::Export, _) => self.export(line),
            (Verb::Import, _) => self.import(line),
            // The other choices of a path without a menu are the device's own commands.
            (_, None) => Err(Error::bad_command(line.at, "", &[])),
            (Verb::Find, Some(menu)) => return self.find(menu, line),
            (Verb::Get, Some(menu)) => return self.get(menu, line),
            (Verb::Print, Some(menu)) => return self.print(menu, line),
            (verb, Some(menu)) if menu.path == file::MENU.path => self.change_files(verb, line),
            (Verb::Add, Some(menu)) => self.add(menu, line),
            (Verb::Set, Some(menu)) => self.set(menu, line),
            (Verb::Unset, Some(menu)) => self.unset(menu, line),
            (Verb::Remove, Some(menu)) => self.remove(menu, line),
            (Verb::Enable, Some(menu)) => self.disable(menu, line, false),
            (Verb::Disable, Some(menu)) => self.disable(menu, line, true),
            (Verb::Move, Some(menu)) => self.shift(menu, line),
            (Verb::Comment, Some(menu)) => self.comment(menu, line),
        };
        reply.map(Datum::from)
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
        Mismatch::Missing(remark) => {
            let built = kind.describe();
            let help = if built.is_empty() { built } else { format!("{name} is {built}") };
            Error::missing(at, remark).help(help)
        }
        Mismatch::Time => {
            let error = Error::new(at, format!("invalid time value for argument {name}"));
            error.help(format!("{name} takes {}", kind.describe()))
        }
        Mismatch::NoMatch(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let error = Error::new(at, format!("input does not match any value of {name}"));
            match words.as_slice() {
                [] => error.help(format!("{name} is {}; there is none", kind.describe())),
                words => error.help(format!("{name} is {}", choices(text, words))),
            }
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
