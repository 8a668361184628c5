//! One client, from its first byte to its last.
//!
//! ```text
//! reader thread:  bytes ─► sentences ─► /login, /cancel, /quit   at once
//!                                   └─► Lanes ─► a thread per tag ─► run ─► Outbox
//! ```
//!
//! An idle client costs one thread that sleeps in a read: some pages of stack. When the client is
//! gone, whatever it had under way is stopped.

use crate::command;
use crate::lanes::{Enter, Lanes, Task};
use crate::login::{self, now};
use crate::outbox::{Answers, Outbox, fatal, trap};
use crate::sentence::{Bounds, Decoder, Sentence};
use crate::server::Shared;
use crate::stream::{Peer, Stream};
use crate::user::{Account, User};
use config::Session;
use std::io::{self, Read};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The stack of a command's thread: a script may be nested deeply.
const COMMAND_STACK: usize = 4 << 20;

/// How long `/cancel` waits for what it has cancelled, to answer after it.
const CANCEL_TIME: Duration = Duration::from_secs(2);

/// What the commands of safe mode begin with.
const SAFE: &str = "/safe-mode/";

/// One client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) outbox: Outbox,
    pub(crate) lanes: Lanes,
    /// What `/console/run` runs in; `None` while it does.
    pub(crate) console: Mutex<Option<Console>>,
    peer: Peer,
    id: u64,
}

/// A terminal's session.
#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) session: Session,
    /// The beginning of a script that comes in several sentences.
    pub(crate) begun: String,
}

/// How a connection goes on behind a sentence.
enum Next {
    On,
    End,
}

impl Connection {
    /// Whoever has connected.
    pub(crate) fn new(shared: Arc<Shared>, stream: Stream, peer: Peer, id: u64) -> Connection {
        let session = Session::new(shared.device.language());
        let console = Mutex::new(Some(Console { session, begun: String::new() }));
        let (outbox, lanes) = (Outbox::new(stream), Lanes::default());
        Connection { shared, outbox, lanes, console, peer, id }
    }

    /// Serves the client until it is gone. On a thread of its own.
    pub(crate) fn serve(self: &Arc<Self>) {
        let (stream, patience) = (&self.outbox.stream, self.shared.patience);
        if stream.prepare().and_then(|()| stream.set_write_timeout(patience.reading)).is_ok() {
            // Whatever ended the conversation, it is over.
            let _ = self.converse();
        }
        self.lanes.cancel(None, CANCEL_TIME);
        // It is in the log whether that was possible.
        let _ = self.shared.unroll(self.id);
        self.outbox.stream.close();
    }

    fn converse(self: &Arc<Self>) -> io::Result<()> {
        let deadline = now() + self.shared.patience.login;
        let mut decoder = Decoder::new(Bounds::STRANGER);
        let mut user = None;
        let mut bytes = [0; 4 << 10];
        loop {
            let left = deadline.saturating_duration_since(now());
            if user.is_none() && left.is_zero() {
                self.outbox.send(&fatal("login timed out"));
                return Ok(());
            }
            self.outbox.stream.set_read_timeout(user.is_none().then_some(left))?;
            let n = match (&self.outbox.stream).read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => continue,
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => continue,
                    _ => return Err(error),
                },
            };
            decoder.feed(&bytes[..n]);
            loop {
                match decoder.take() {
                    Ok(None) => break,
                    Ok(Some(sentence)) => {
                        if let Next::End = self.obey(sentence, &mut user, deadline) {
                            return Ok(());
                        }
                        let known = if user.is_some() { Bounds::KNOWN } else { Bounds::STRANGER };
                        decoder.set_bounds(known);
                    }
                    Err(why) => {
                        self.outbox.send(&trap(Some(5), &why.to_string()));
                        self.outbox.send(&fatal(&why.to_string()));
                        return Ok(());
                    }
                }
            }
        }
    }

    fn obey(
        self: &Arc<Self>,
        sentence: Sentence,
        user: &mut Option<User>,
        deadline: Instant,
    ) -> Next {
        let tag = sentence.tag().map(<[u8]>::to_vec);
        let answers = Answers::new(&self.outbox, tag.as_deref());
        match (sentence.kind(), &user) {
            ("/quit", _) => {
                answers.say(fatal("session terminated on request"));
                return Next::End;
            }
            ("/login", _) => self.login(&sentence, user, deadline, &answers),
            (_, None) => answers.fail(None, "not logged in"),
            ("/cancel", Some(_)) => {
                self.lanes.cancel(sentence.get("tag"), CANCEL_TIME);
                answers.say(Sentence::new("!done"));
            }
            (kind, Some(user)) if kind.starts_with(SAFE) => {
                match self.shared.safe_mode(self.id, user, &kind[SAFE.len()..]) {
                    Ok(()) => answers.say(Sentence::new("!done")),
                    Err(why) => answers.fail(None, &why),
                }
            }
            (_, Some(user)) => match self.lanes.enter(sentence) {
                Enter::Start(task) => self.start(task, user.clone(), &answers),
                Enter::Waits => {}
                Enter::Full(why) => answers.fail(Some(5), why),
            },
        }
        Next::On
    }

    fn login(
        &self,
        sentence: &Sentence,
        user: &mut Option<User>,
        deadline: Instant,
        answers: &Answers,
    ) {
        let name = sentence.text("name").unwrap_or_default();
        if name.is_empty() || sentence.get("response").is_some() {
            return answers.fail(None, login::NO_CHALLENGE);
        }
        let from: Option<IpAddr> = match self.peer {
            Peer::Remote(address) => Some(address),
            Peer::Local | Peer::Stranger => None,
        };
        let account = || Account::find(&self.shared.device.host().tree(), &name, from);
        let found = match (self.peer, sentence.text("password")) {
            // Whoever may open the socket could read the device's memory as well.
            (Peer::Local, None) => account().map(|account| account.user),
            (peer, password) => {
                let password = password.unwrap_or_default();
                // A login of somebody who is logged in has no deadline of its own.
                let deadline = deadline.max(now() + self.shared.patience.login / 2);
                self.shared.door.enter(peer, &password, deadline, account)
            }
        };
        match found {
            Some(found) => {
                self.shared.log_login(&found.name, self.peer, true);
                *user = Some(found);
                answers.say(Sentence::new("!done"));
            }
            None => {
                self.shared.log_login(&name, self.peer, false);
                answers.fail(None, login::REFUSED);
            }
        }
    }

    /// Runs a command and those that come behind it with the same tag, on a thread.
    fn start(self: &Arc<Self>, task: Task, user: User, answers: &Answers) {
        let tag = task.sentence.tag().map(<[u8]>::to_vec);
        let (connection, lane) = (Arc::clone(self), tag.clone());
        let run = move || {
            let _end = EndOfLane(&connection);
            let mut next = Some(task);
            while let Some(task) = next {
                let answers = Answers::new(&connection.outbox, lane.as_deref());
                if task.stop.load(Ordering::Relaxed) {
                    answers.fail(Some(2), "interrupted");
                } else {
                    command::run(&connection, &task, &user, &answers);
                }
                // Before the lane is free, so that answers of one tag stay in order.
                drop(answers);
                next = connection.lanes.next(&lane);
            }
        };
        let builder = thread::Builder::new().name("api command".to_string());
        if builder.stack_size(COMMAND_STACK).spawn(run).is_err() {
            self.lanes.next(&tag);
            answers.fail(Some(4), "failure: no thread left for a command");
        }
    }

    /// The console's session, if it is not running something.
    pub(crate) fn take_console(&self) -> Option<Console> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts it back.
    pub(crate) fn put_console(&self, console: Console) {
        *self.console.lock().unwrap_or_else(PoisonError::into_inner) = Some(console);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.leave(self.id);
    }
}

/// A command that panics must not leave its client waiting.
struct EndOfLane<'a>(&'a Connection);

impl Drop for EndOfLane<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.outbox.send(&fatal("internal error"));
            self.0.outbox.stream.close();
        }
    }
}
