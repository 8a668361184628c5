//! Lines from a terminal, until `/quit`.

use super::colour::Colours;
use super::command::{self, Ended, Trap};
use super::editor::{Assistant, Question, SafeKey, Shared, Typed};
use super::prompt::{self, wrap};
use super::remote::{Gone, Remote};
use super::screen::{Screen, is_paged};
use super::terminal::Keys;
use super::{Failure, Options, connect, terminal};
use crate::sentence::Sentence;
use config::inspect::open;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor, EventHandler, KeyEvent};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Lines kept in the history.
const HISTORY: usize = 2000;

type Lines = Editor<Assistant, DefaultHistory>;

/// A terminal and the device it speaks to.
struct Console {
    options: Options,
    remote: Shared,
    typed: Arc<Mutex<Typed>>,
    colours: Colours,
    place: String,
    identity: String,
    /// What is changed goes back when this session ends.
    is_safe: bool,
}

/// What is to be done with a line.
enum Next {
    /// It was run; another one.
    Another,
    /// Something was shown; the same line again, the cursor between the two.
    Again(String, String),
    Quit,
}

pub(super) fn run(options: Options, remote: Remote) -> Result<(), Failure> {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    let colours = Colours(wanted && !dumb && terminal::is_output());
    let remote: Shared = Rc::new(RefCell::new(Some(remote)));
    let typed = Arc::new(Mutex::new(Typed::default()));
    let no_terminal = |error: ReadlineError| {
        Failure::Environment(format!("the terminal cannot be used: {error}"))
    };
    let mut lines = editor(&remote, &typed, colours).map_err(no_terminal)?;
    if let Some(file) = &options.history {
        // The first time there is none.
        drop(lines.load_history(file));
    }
    let (place, identity) = ("/".to_string(), "MikroTik".to_string());
    let is_safe = false;
    let mut console = Console { options, remote, typed, colours, place, identity, is_safe };
    console.identify();
    if let Some(note) = console.note() {
        writeln!(io::stdout(), "{note}\n")
            .map_err(|error| Failure::Environment(format!("cannot write: {error}")))?;
    }
    let mut initial = (String::new(), String::new());
    loop {
        let before = console.typed.lock().map(|typed| typed.before.clone()).unwrap_or_default();
        let coloured = console.prompt(&before, console.colours);
        let plain = console.prompt(&before, Colours(false));
        if let Some(assistant) = lines.helper_mut() {
            assistant.prompt = coloured;
        }
        let line = lines.readline_with_initial(&plain, (&initial.0, &initial.1));
        initial = (String::new(), String::new());
        match line {
            Ok(line) => match console.line(&before, line, &plain, &mut lines) {
                Ok(Next::Another) => {}
                Ok(Next::Again(left, right)) => initial = (left, right),
                Ok(Next::Quit) => return Ok(()),
                Err(error) => {
                    return Err(Failure::Environment(format!("cannot write: {error}")));
                }
            },
            // Ctrl-C forgets the line.
            Err(ReadlineError::Interrupted) => console.set_before(String::new()),
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(no_terminal(error)),
        }
    }
}

fn editor(
    remote: &Shared,
    typed: &Arc<Mutex<Typed>>,
    colours: Colours,
) -> Result<Lines, ReadlineError> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .completion_prompt_limit(200)
        .max_history_size(HISTORY)?
        .history_ignore_space(false)
        .auto_add_history(false)
        .build();
    let mut lines = Lines::with_config(config)?;
    lines.set_helper(Some(Assistant {
        remote: Rc::clone(remote),
        typed: Arc::clone(typed),
        colours,
        prompt: String::new(),
        offered: RefCell::default(),
    }));
    let question = EventHandler::Conditional(Box::new(Question(Arc::clone(typed))));
    lines.bind_sequence(KeyEvent::from('?'), question);
    let safe = EventHandler::Conditional(Box::new(SafeKey(Arc::clone(typed))));
    lines.bind_sequence(KeyEvent::ctrl('X'), safe);
    Ok(lines)
}

impl Console {
    /// A line was given, behind those `before` it.
    fn line(
        &mut self,
        before: &str,
        line: String,
        prompt: &str,
        lines: &mut Lines,
    ) -> io::Result<Next> {
        let (asked, safe) = self.typed.lock().map_or((None, false), |mut typed| {
            (typed.asked.take(), std::mem::take(&mut typed.safe))
        });
        if let Some(at) = asked {
            let (left, right) = line.split_at(at.min(line.len()));
            if safe {
                self.toggle_safe_mode()?;
                return Ok(Next::Again(left.to_string(), right.to_string()));
            }
            let (input, width) = (format!("{before}{left}"), terminal::size().0);
            let help = lines.helper().map(|assistant| assistant.help(&input, width));
            let mut out = io::stdout();
            out.write_all(help.unwrap_or_default().as_bytes())?;
            out.flush()?;
            return Ok(Next::Again(left.to_string(), right.to_string()));
        }
        if !line.trim().is_empty() {
            self.remember(&line, lines);
        }
        let text = format!("{before}{line}");
        let is_quit = text.trim() == "/quit" || (self.place == "/" && text.trim() == "quit");
        if is_quit && before.is_empty() {
            return Ok(Next::Quit);
        }
        if open(&text).is_some() {
            self.set_before(format!("{text}\n"));
            return Ok(Next::Another);
        }
        self.set_before(String::new());
        let is_connected = self.remote.borrow().is_some();
        let done = match is_connected {
            true if text.trim().is_empty() => return Ok(Next::Another),
            true => self.run(&text, prompt),
            false => self.connect(),
        };
        match done {
            Ok(()) if is_connected => return Ok(Next::Another),
            // What was typed may have been run before the connection went: it is not run again
            // by itself.
            Ok(()) => self.say("connected again")?,
            Err(Ended::Output(error)) => return Err(error),
            Err(Ended::Gone(Gone(why))) => {
                *self.remote.borrow_mut() = None;
                // With the session went its safe mode.
                self.is_safe = false;
                let what = if is_connected { "the connection is lost: " } else { "" };
                self.say(&format!("{what}{why}; Return connects again"))?;
            }
        }
        self.set_before(before.to_string());
        Ok(Next::Again(line, String::new()))
    }

    /// Ctrl-X.
    fn toggle_safe_mode(&mut self) -> io::Result<()> {
        let (what, done) = match self.is_safe {
            false => ("take", "[Safe Mode taken]"),
            true => ("release", "[Safe Mode released]"),
        };
        let answer = {
            let mut remote = self.remote.borrow_mut();
            remote.as_mut().map(|remote| remote.call(Sentence::new(format!("/safe-mode/{what}"))))
        };
        match answer {
            Some(Ok(answer)) if answer.trap.is_none() => {
                self.is_safe = !self.is_safe;
                self.say(done)
            }
            Some(Ok(answer)) => {
                let why = answer.trap.and_then(|trap| trap.text("message"));
                self.say(&why.unwrap_or_default())
            }
            // Said when the next line is run.
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// Connects again, and goes back to where the session stood.
    fn connect(&mut self) -> Result<(), Ended> {
        let remote = connect(&mut self.options).map_err(|why| Gone(why.to_string()))?;
        *self.remote.borrow_mut() = Some(remote);
        let place = std::mem::replace(&mut self.place, "/".to_string());
        if place != "/" {
            self.send(&place)?;
        }
        self.identify();
        Ok(())
    }

    fn run(&mut self, text: &str, prompt: &str) -> Result<(), Ended> {
        let size = terminal::size();
        let outcome = {
            let keys = Keys::new();
            let mut screen = Screen::new(io::stdout(), Some(size), is_paged(text));
            let outcome =
                self.with(|remote| command::run(remote, text, size.0, &mut screen, Some(&keys)));
            if let Ok(outcome) = &outcome
                && let Some(trap) = &outcome.trap
            {
                let is_below = !screen.has_printed()
                    && prompt.chars().count() + text.chars().count() < size.0
                    && !text.contains('\n');
                self.explain(trap, is_below.then_some(prompt))?;
            }
            outcome?
        };
        if let Some(place) = outcome.place {
            self.place = place;
        }
        self.identify();
        Ok(())
    }

    /// Says why a line was refused: a caret below the place, if the line still stands above.
    fn explain(&self, trap: &Trap, prompt: Option<&str>) -> io::Result<()> {
        if trap.is_interrupted {
            return Ok(());
        }
        let width = terminal::size().0;
        let message = wrap(&format!("{}\n", trap.message), width);
        let text = match prompt {
            Some(prompt) if trap.column > 0 => {
                let blanks = " ".repeat(prompt.chars().count()) + &trap.blanks();
                let caret = self.colours.paint("error", "^");
                format!("{blanks}{caret}\n{message}{}", wrap(&trap.advice(), width))
            }
            _ => format!("{message}{}{}", trap.below(), wrap(&trap.advice(), width)),
        };
        let mut out = io::stdout();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn send(&mut self, line: &str) -> Result<(), Ended> {
        let mut screen = Screen::new(io::sink(), None, false);
        let outcome = self.with(|remote| command::run(remote, line, 80, &mut screen, None))?;
        if let Some(place) = outcome.place {
            self.place = place;
        }
        Ok(())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Remote) -> Result<T, Ended>) -> Result<T, Ended> {
        match self.remote.borrow_mut().as_mut() {
            Some(remote) => act(remote),
            None => Err(Ended::Gone(Gone("there is none".to_string()))),
        }
    }

    /// `/system note`, if it is to be shown.
    fn note(&self) -> Option<String> {
        let mut remote = self.remote.borrow_mut();
        let answer = remote.as_mut()?.call(Sentence::new("/system/note/print")).ok()?;
        let said = |name| answer.records.first().and_then(|record| record.text(name));
        let note = said("note").filter(|note| !note.is_empty())?;
        said("show-at-login").is_some_and(|shown| shown == "true" || shown == "yes").then_some(note)
    }

    /// The device's name may have changed.
    fn identify(&mut self) {
        let mut remote = self.remote.borrow_mut();
        let answer =
            remote.as_mut().map(|remote| remote.call(Sentence::new("/system/identity/print")));
        // A device without a name keeps RouterOS's.
        if let Some(Ok(answer)) = answer
            && let Some(name) = answer.records.first().and_then(|record| record.text("name"))
        {
            self.identity = name;
        }
    }

    fn prompt(&self, before: &str, colours: Colours) -> String {
        match open(before) {
            Some(open) => prompt::more(open),
            None => {
                let (user, identity) = (&self.options.user, &self.identity);
                prompt::main(user, identity, (&self.place, self.is_safe), colours)
            }
        }
    }

    fn set_before(&self, before: String) {
        if let Ok(mut typed) = self.typed.lock() {
            typed.before = before;
        }
    }

    fn remember(&self, line: &str, lines: &mut Lines) {
        let is_new = lines.add_history_entry(line).unwrap_or(false);
        let file: Option<&PathBuf> = self.options.history.as_ref();
        if let Some(file) = file.filter(|_| is_new) {
            // A history that cannot be kept is no reason to stop working.
            drop(file.parent().map(std::fs::create_dir_all));
            drop(lines.append_history(file));
        }
    }

    fn say(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout();
        writeln!(out, "{}", wrap(text, terminal::size().0))?;
        out.flush()
    }
}
