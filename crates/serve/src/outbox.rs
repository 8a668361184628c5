//! The way back to a client.
//!
//! ```text
//! command ─► Answers (16 KiB, its tag) ─┐
//! command ─► Answers ───────────────────┴─► Outbox: one write at a time ─► the socket
//! ```
//!
//! Nothing is queued beyond a command's own 16 KiB and what the system holds: a client that reads
//! slowly slows its own commands down, and one that reads nothing for
//! some seconds ([`Patience`](crate::server::Patience)) is let go.

use crate::sentence::Sentence;
use crate::stream::Stream;
use std::cell::RefCell;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Answers are gathered up to here.
const GATHERED: usize = 16 << 10;

/// Writes to one client, from any thread.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) stream: Stream,
    writing: Mutex<()>,
}

impl Outbox {
    pub(crate) fn new(stream: Stream) -> Outbox {
        Outbox { stream, writing: Mutex::new(()) }
    }

    pub(crate) fn send(&self, sentence: &Sentence) {
        let mut bytes = Vec::new();
        sentence.write(&mut bytes);
        self.write(&bytes);
    }

    /// Writes whole sentences, or closes the connection: whoever reads it then stops what is under
    /// way, so nobody here needs to know.
    fn write(&self, bytes: &[u8]) {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if (&self.stream).write_all(bytes).is_err() {
            self.stream.close();
        }
    }
}

/// The answers of one command.
#[derive(Debug)]
pub(crate) struct Answers<'a> {
    outbox: &'a Outbox,
    tag: Option<Vec<u8>>,
    gathered: RefCell<Vec<u8>>,
}

impl<'a> Answers<'a> {
    pub(crate) fn new(outbox: &'a Outbox, tag: Option<&[u8]>) -> Answers<'a> {
        Answers { outbox, tag: tag.map(<[u8]>::to_vec), gathered: RefCell::default() }
    }

    /// A sentence, which goes out with others, or by the next [`flush`](Self::flush).
    pub(crate) fn say(&self, sentence: Sentence) {
        let mut gathered = self.gathered.borrow_mut();
        sentence.tagged(self.tag.as_deref()).write(&mut gathered);
        if gathered.len() >= GATHERED {
            self.outbox.write(&gathered);
            gathered.clear();
        }
    }

    /// Sends what was gathered.
    pub(crate) fn flush(&self) {
        let gathered = self.gathered.take();
        if !gathered.is_empty() {
            self.outbox.write(&gathered);
        }
    }

    /// `!trap` and `!done`: the command has failed.
    pub(crate) fn fail(&self, category: Option<u8>, message: &str) {
        self.say(trap(category, message));
        self.say(Sentence::new("!done"));
    }
}

impl Drop for Answers<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// `!trap =category= =message=`.
pub(crate) fn trap(category: Option<u8>, message: &str) -> Sentence {
    let trap = Sentence::new("!trap");
    let trap = match category {
        Some(category) => trap.with("category", category.to_string()),
        None => trap,
    };
    trap.with("message", message)
}

/// `!fatal` and why: nothing comes after it.
pub(crate) fn fatal(why: &str) -> Sentence {
    Sentence::new("!fatal").word(why)
}
