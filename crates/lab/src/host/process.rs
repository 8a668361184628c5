//! A program on a host: what it prints, piece by piece, and how it ends.
//!
//! ```text
//! program ─ stdout, stderr ─► one pipe ──┐
//!                                        ├► reader thread ─► Printed ─► wait(): pieces, Ended
//! on a machine: by a serial line of it ──┘
//! ```
//!
//! Both outputs come as one, in the order written. Of a program that nobody listens to, the first
//! 8 MiB are kept.
//!
//! A program that puts itself into the background is ended as soon as it has done so: all that a
//! program starts ends with it. Start it in the foreground; the lab lets it go on.

use super::uml::Job;
use crate::clock::Clock;
use port::linux::Namespace;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A program that runs, or did. Dropping it ends it.
pub struct Process {
    running: Running,
    printed: Arc<Printed>,
    ended: Option<Ended>,
    /// The bytes of a character that is not complete yet.
    rest: Vec<u8>,
}

/// What runs.
enum Running {
    Child(Child),
    /// It runs on a machine.
    Inside(Job),
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status; 0 says that all was well.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// With the machine it ran on.
    Gone,
}

/// What was printed and not yet taken.
#[derive(Default)]
pub(super) struct Printed {
    kept: Mutex<Kept>,
    more: Condvar,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    lost: u64,
    /// Nobody can print any more.
    closed: bool,
}

/// What is kept of what nobody takes.
const MOST: usize = 8 << 20;
/// How often to look whether it has ended, or somebody wants it to.
const LOOK: Duration = Duration::from_millis(20);
/// How long a machine may take to end a program before it is left to itself.
const PATIENCE: Duration = Duration::from_secs(20);

impl Process {
    /// Starts a program.
    ///
    /// # Errors
    /// There is no such program, or it must not be started.
    pub(crate) fn start(
        namespace: &Namespace,
        words: &[String],
        directory: &Path,
    ) -> io::Result<Process> {
        let (mut reader, writer) = io::pipe()?;
        let [program, arguments @ ..] = words else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        // So that what it prints does not depend on whose machine this is.
        command.env("LC_ALL", "C.UTF-8").env("PYTHONUNBUFFERED", "1");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"));
        let child = namespace.spawn_apart(command)?;
        let printed = Arc::new(Printed::default());
        let process = Process::new(Running::Child(child), printed.clone());
        thread::Builder::new().name(format!("{program} prints")).spawn(move || {
            let mut bytes = [0; 1 << 16];
            loop {
                match reader.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(n) => printed.keep(&bytes[..n]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            printed.close();
        })?;
        Ok(process)
    }

    /// A program on a machine, whose line hands on what it prints.
    pub(super) fn inside(job: Job, printed: Arc<Printed>) -> Process {
        Process::new(Running::Inside(job), printed)
    }

    fn new(running: Running, printed: Arc<Printed>) -> Process {
        Process { running, printed, ended: None, rest: Vec::new() }
    }

    /// Waits until it has ended or `enough` says so of what it has printed; tells each piece, whole
    /// characters. `None`: it goes on, for the time is over, somebody wants an end, or it is enough.
    pub fn wait(
        &mut self,
        limit: Duration,
        is_over: &dyn Fn() -> bool,
        told: &mut dyn FnMut(&str),
        enough: &mut dyn FnMut() -> bool,
    ) -> Option<Ended> {
        let clock = Clock::start();
        let begin = clock.now();
        loop {
            let (text, closed) = self.take();
            if !text.is_empty() {
                told(&text);
            }
            if closed && self.has_ended() {
                return self.ended;
            }
            if enough() || is_over() || clock.now().since(begin) >= limit {
                return None;
            }
            let kept = self.printed.lock();
            if kept.bytes.is_empty() {
                // What a closed pipe waits for is the end itself.
                let more = |kept: &mut Kept| kept.bytes.is_empty() && (closed || !kept.closed);
                let waited = self.printed.more.wait_timeout_while(kept, LOOK, more);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = match &mut self.running {
                Running::Child(child) => child.try_wait().ok().flatten().map(Ended::of),
                Running::Inside(job) => job.ended(),
            };
        }
        self.ended.is_some()
    }

    /// Ends it, and all it has started.
    pub fn kill(&mut self) {
        if self.has_ended() {
            return;
        }
        self.ended = match &mut self.running {
            Running::Child(child) => {
                // It may have ended by itself meanwhile.
                let _ = child.kill();
                child.wait().ok().map(Ended::of)
            }
            Running::Inside(job) => {
                job.kill();
                self.printed.wait_closed(PATIENCE);
                job.ended()
            }
        };
    }

    /// What it has printed since the last time, and whether that was all.
    fn take(&mut self) -> (String, bool) {
        let mut kept = self.printed.lock();
        self.rest.append(&mut kept.bytes);
        let (lost, closed) = (std::mem::take(&mut kept.lost), kept.closed);
        drop(kept);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() && !closed => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let rest = self.rest.split_off(whole);
        let bytes = std::mem::replace(&mut self.rest, rest);
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if lost > 0 {
            text.push_str(&format!("\n… {lost} bytes more\n"));
        }
        (text, closed)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Ended {
    fn of(status: ExitStatus) -> Ended {
        match status.signal() {
            Some(signal) => Ended::Signal(signal),
            None => Ended::Status(status.code().unwrap_or(-1)),
        }
    }

    /// Why that is no good end, if it is none: "exit status 1".
    pub fn failure(self) -> Option<String> {
        match self {
            Ended::Status(0) => None,
            Ended::Status(status) => Some(format!("exit status {status}")),
            Ended::Signal(signal) => Some(format!("ended by signal {signal}")),
            Ended::Gone => Some("its machine has ended".to_string()),
        }
    }
}

impl Printed {
    pub(super) fn keep(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        let room = MOST.saturating_sub(kept.bytes.len()).min(bytes.len());
        kept.bytes.extend_from_slice(&bytes[..room]);
        kept.lost += (bytes.len() - room) as u64;
        drop(kept);
        self.more.notify_all();
    }

    /// Nothing more is printed.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.more.notify_all();
    }

    /// Waits until that is so.
    fn wait_closed(&self, at_most: Duration) {
        let waited = self.more.wait_timeout_while(self.lock(), at_most, |kept| !kept.closed);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
