//! The console: RouterOS's prompt on a terminal, or scripts from files and pipes.
//!
//! ```text
//! keys ─► editor ── /console/inspect ─► device      [admin@MikroTik] /ip address> print where d█
//!           │ a line                                Tab completes, ? explains, colours say
//!           ▼                                       what was understood
//!         interactive ─ /console/run ──► device
//!           ▲               │ !re text, frames ─► screen: pages, monitors
//!           └───────────────┘ !done place, !trap where and why
//! ```
//!
//! A client of the API and nothing else, so a device in this process is spoken to like one at the
//! other end of the world: through a socket. Knows no menu and no command but `/quit`; what is
//! legal the device says.
//!
//! A connection that is lost is said in one line; what was typed stays, and the next Return tries
//! to connect again.
//!
//! **Missing**: the full-screen editor (`edit`), hot-lock mode (ctrl-V).

// The connection.
mod remote;
// Whether, and how, text is coloured.
mod colour;
// Size, keys.
mod terminal;
// Pages and monitors.
mod screen;
// Completion, colours and help of the line under way.
mod editor;
// What the prompt says.
mod prompt;
// One line, run to its end.
mod command;
// Lines from a terminal.
mod interactive;
// Lines from files and pipes.
mod script;

use crate::client::{self, Client};
use remote::Remote;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;

/// What the console is to do.
pub struct Options {
    /// Who logs in.
    pub user: String,
    /// With which password, where one is asked for.
    pub password: Option<String>,
    /// What is connected to, in words, for errors.
    pub device: String,
    /// Makes a connection; again, when one was lost.
    pub connect: Box<dyn FnMut() -> Result<Client, client::Failure>>,
    /// Scripts to run first.
    pub files: Vec<PathBuf>,
    /// Whether to show a prompt after the scripts.
    pub stay: bool,
    /// Where typed lines are kept from run to run.
    pub history: Option<PathBuf>,
}

/// Why the console ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A script was refused; where and why.
    Script(String),
    /// There is no device to speak to, or a file cannot be read.
    Environment(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Script(text) | Failure::Environment(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Failure {}

/// A script's text. A byte that is no UTF-8 in it (a comment's, mostly) does not stop it; another
/// encoding does.
fn text_of(name: &str, content: Vec<u8>) -> Result<String, Failure> {
    let lossy = String::from_utf8_lossy(&content).into_owned();
    match config::text_of_file(content) {
        Err(why) if why.contains("UTF-16") => {
            Err(Failure::Environment(format!("cannot read {name}: {why}")))
        }
        _ => Ok(lossy),
    }
}

/// Runs the scripts, or what comes through a pipe, or asks a terminal for lines until `/quit`.
///
/// # Errors
/// The first script that was refused; no device, no file.
pub fn run(mut options: Options) -> Result<(), Failure> {
    let remote = connect(&mut options)?;
    if options.files.is_empty() && !terminal::is_input() {
        let mut text = Vec::new();
        let read = std::io::stdin().read_to_end(&mut text);
        read.map_err(|error| Failure::Environment(format!("cannot read the input: {error}")))?;
        let mut remote = remote;
        return script::run(&mut remote, "<stdin>", &text_of("<stdin>", text)?);
    }
    let mut remote = remote;
    for file in &options.files {
        let text = std::fs::read(file).map_err(|error| {
            Failure::Environment(format!("cannot read {}: {error}", file.display()))
        })?;
        let name = file.display().to_string();
        script::run(&mut remote, &name, &text_of(&name, text)?)?;
        // The next script, and whoever types, begins at the root.
        script::run(&mut remote, &name, "/")?;
    }
    if options.files.is_empty() || options.stay {
        return interactive::run(options, remote);
    }
    Ok(())
}

/// Asks for a password, which is not echoed; `None` where there is nobody to ask.
///
/// # Errors
/// The terminal is gone.
pub fn ask_password(question: &str) -> std::io::Result<Option<String>> {
    terminal::ask_secret(question)
}

/// A connection, logged in.
fn connect(options: &mut Options) -> Result<Remote, Failure> {
    let client = (options.connect)().and_then(|mut client| {
        client.login(&options.user, options.password.as_deref())?;
        Ok(client)
    });
    client
        .map(Remote::new)
        .map_err(|why| Failure::Environment(format!("cannot talk to {}: {why}", options.device)))
}
