//! The line under way: completion, colours and help, asked of the device while it is typed.

use super::colour::Colours;
use super::prompt::wrap;
use super::remote::{Answer, Remote};
use crate::sentence::Sentence;
use config::inspect::open;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Context, Event, EventContext, Helper, RepeatCount,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// The connection, shared with whoever runs the lines; `None` while there is none.
pub(super) type Shared = Rc<RefCell<Option<Remote>>>;

/// What the keyboard's handler and the editor's owner tell each other.
#[derive(Debug, Default)]
pub(super) struct Typed {
    /// The lines before this one, of a command that is not complete yet.
    pub(super) before: String,
    /// The place of the cursor, in bytes, where `?` was pressed.
    pub(super) asked: Option<usize>,
    /// Ctrl-X was pressed.
    pub(super) safe: bool,
}

/// Helps with the line under way.
pub(super) struct Assistant {
    pub(super) remote: Shared,
    pub(super) typed: Arc<Mutex<Typed>>,
    pub(super) colours: Colours,
    /// The prompt, with its colours.
    pub(super) prompt: String,
    /// Classes of the words offered last.
    pub(super) offered: RefCell<HashMap<String, String>>,
}

impl Assistant {
    /// What the device says of `input`.
    pub(super) fn inspect(&self, request: &str, input: &str) -> Vec<Sentence> {
        let command = Sentence::new("/console/inspect");
        let command = command.with("request", request).with("input", input);
        let mut remote = self.remote.borrow_mut();
        match remote.as_mut().map(|remote| remote.call(command)) {
            Some(Ok(Answer { records, .. })) => records,
            // Said when the line is run.
            _ => Vec::new(),
        }
    }

    fn before(&self) -> String {
        self.typed.lock().map(|typed| typed.before.clone()).unwrap_or_default()
    }

    /// What `?` shows for the text before the cursor, in lines of `width` characters.
    pub(super) fn help(&self, input: &str, width: usize) -> String {
        let mut text = String::new();
        for record in self.inspect("syntax", input) {
            let field = |name| record.text(name).unwrap_or_default();
            let line = match field("symbol-type").as_str() {
                "definition" => format!("{} ::= {}\n", field("symbol"), field("text")),
                _ => field("text") + "\n",
            };
            text += &wrap(&line, width);
        }
        let records = self.inspect("completion", input);
        if !records.is_empty() && !text.is_empty() {
            text.push('\n');
        }
        for record in records {
            let field = |name| record.text(name).unwrap_or_default();
            let word = field("completion");
            let help = Some(field("text")).filter(|help| !help.is_empty());
            let line = help.map_or(format!("{word}\n"), |help| format!("{word} -- {help}\n"));
            let wrapped = wrap(&line, width);
            // Painted last, for colours take no room.
            let rest = wrapped.strip_prefix(&word).map(str::to_string);
            text += &match rest {
                Some(rest) => self.colours.paint(&field("style"), &word) + &rest,
                None => wrapped,
            };
        }
        text
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = self.before();
        let n_before = before.chars().count();
        let typed = line.get(..at).unwrap_or(line);
        let records = self.inspect("completion", &format!("{before}{typed}"));
        let mut words = Vec::new();
        let mut offered = HashMap::new();
        for record in &records {
            let field = |name| record.text(name).unwrap_or_default();
            // Where it begins, in bytes of this line.
            let n_chars = field("offset").parse::<usize>().unwrap_or(0).saturating_sub(n_before);
            let start = typed.char_indices().nth(n_chars).map_or(typed.len(), |(start, _)| start);
            offered.insert(field("completion"), field("style"));
            words.push((start, field("completion"), field("append")));
        }
        *self.offered.borrow_mut() = offered;
        let start = words.iter().map(|word| word.0).min().unwrap_or(at);
        let is_only = words.len() == 1;
        let pair = |(its_start, word, append): (usize, String, String)| {
            let ahead = typed.get(start..its_start).unwrap_or("");
            let append = if is_only { append.as_str() } else { "" };
            Pair { replacement: format!("{ahead}{word}{append}"), display: word }
        };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if !self.colours.0 || line.is_empty() {
            return Cow::Borrowed(line);
        }
        let before = self.before();
        let records = self.inspect("highlight", &format!("{before}{line}"));
        let Some(classes) = records.first().and_then(|record| record.text("highlight")) else {
            return Cow::Borrowed(line);
        };
        let classes: Vec<&str> = classes.split(',').skip(before.chars().count()).collect();
        Cow::Owned(self.colours.paint_each(line, &classes))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        if self.prompt.is_empty() { Cow::Borrowed(prompt) } else { Cow::Borrowed(&self.prompt) }
    }

    fn highlight_candidate<'c>(&self, candidate: &'c str, _: CompletionType) -> Cow<'c, str> {
        match self.offered.borrow().get(candidate) {
            Some(class) => Cow::Owned(self.colours.paint(class, candidate)),
            None => Cow::Borrowed(candidate),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.colours.0 && kind != CmdKind::MoveCursor
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Validator for Assistant {}

impl Helper for Assistant {}

/// `?`: help, unless a text is being typed.
pub(super) struct Question(pub(super) Arc<Mutex<Typed>>);

impl ConditionalEventHandler for Question {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let mut typed = self.0.lock().ok()?;
        let line = context.line().get(..context.pos())?;
        if open(&format!("{}{line}", typed.before)) == Some('"') {
            return None;
        }
        typed.asked = Some(context.pos());
        Some(Cmd::AcceptLine)
    }
}

/// Ctrl-X: safe mode begins, or ends. The line is given back as it is.
pub(super) struct SafeKey(pub(super) Arc<Mutex<Typed>>);

impl ConditionalEventHandler for SafeKey {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, at: &EventContext<'_>) -> Option<Cmd> {
        let mut typed = self.0.lock().ok()?;
        (typed.safe, typed.asked) = (true, Some(at.pos()));
        Some(Cmd::AcceptLine)
    }
}
