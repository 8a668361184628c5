//! The serial lines of a machine: how programs are started there, what they print, how they end.
//!
//! ```text
//! line 0      ► "3 a1b2-7\n"                        end what runs on line 3, if it still is that
//! line 3      ► "a1b2-7 ping -c 1 10.0.0.1\n"       a mark, and words as a shell reads them
//!             ◄ what it prints … \0a1b2-7 +\n       a piece of it; the next comes when this is answered
//!             ► "\n"
//!             ◄ … \0a1b2-7 0\n                      and how it ended, as a shell says it
//! ```
//!
//! A line is a pseudo-terminal of ours that the kernel there has as `ttyS3`; both ends pass bytes as
//! they are. A program has a line for itself until its end. The mark, which no two programs have,
//! tells the end from what is printed.

use super::script::quoted;
use crate::host::process::{Ended, Printed, Process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How many lines there are: the first ends programs, on each of the others one runs.
pub(super) const N_LINES: usize = 17;

/// The lines of a machine.
pub(super) struct Lines {
    first: Arc<Mutex<File>>,
    /// What the machine says by the first.
    said: Mutex<Receiver<String>>,
    /// Held as long as the machine may not have opened them: a line that nobody has open is over.
    theirs: Vec<OwnedFd>,
    free: Arc<Mutex<Vec<Line>>>,
    /// The machine has let go of one: it is gone.
    gone: Arc<AtomicBool>,
    /// What the marks begin with.
    nonce: u64,
    n_programs: AtomicU64,
}

struct Line {
    number: usize,
    ours: File,
}

/// A program on a machine.
pub(crate) struct Job {
    first: Arc<Mutex<File>>,
    line: usize,
    mark: String,
    ended: Arc<OnceLock<Ended>>,
}

impl Lines {
    /// New ones, and the paths of the machine's ends.
    pub(super) fn open() -> io::Result<(Lines, Vec<String>)> {
        let (mut lines, mut theirs, mut paths) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..N_LINES {
            let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
            grantpt(&ours)?;
            unlockpt(&ours)?;
            let path = ptsname(&ours, Vec::new())?;
            let path = path.into_string().map_err(io::Error::other)?;
            let end = OwnedFd::from(File::options().read(true).write(true).open(&path)?);
            // Before the machine does it nothing is to come back as an echo.
            let mut modes = tcgetattr(&end)?;
            modes.make_raw();
            tcsetattr(&end, OptionalActions::Now, &modes)?;
            lines.push(Line { number, ours: File::from(ours) });
            theirs.push(end);
            paths.push(path);
        }
        let first = lines.remove(0).ours;
        let (says, said) = mpsc::channel();
        let reader = BufReader::new(first.try_clone()?);
        thread::Builder::new().name("uml line 0".to_string()).spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                if says.send(line.trim_end().to_string()).is_err() {
                    break;
                }
            }
        })?;
        let lines = Lines {
            first: Arc::new(Mutex::new(first)),
            said: Mutex::new(said),
            theirs,
            free: Arc::new(Mutex::new(lines)),
            gone: Arc::new(AtomicBool::new(false)),
            nonce: RandomState::new().build_hasher().finish(),
            n_programs: AtomicU64::new(0),
        };
        Ok((lines, paths))
    }

    /// What the machine says by the first line, within this time.
    pub(super) fn said(&self, within: Duration) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(within).ok()
    }

    /// The machine has opened its ends: from now on its end is theirs.
    pub(super) fn read(&mut self) {
        self.theirs.clear();
    }

    /// Whether the machine is gone, as far as programs have noticed.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Starts a program.
    pub(super) fn start(&self, words: &[String]) -> io::Result<Process> {
        let [program, ..] = words else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        };
        let line = lock(&self.free).pop();
        let most = N_LINES - 1;
        let busy = || io::Error::other(format!("{most} programs run there, and there is no more"));
        let mut line = line.ok_or_else(busy)?;
        let number = self.n_programs.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{:x}-{number}", self.nonce);
        let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        line.ours.write_all(format!("{mark} {}\n", words.join(" ")).as_bytes())?;

        let (printed, ended) = (Arc::new(Printed::default()), Arc::new(OnceLock::new()));
        let first = Arc::clone(&self.first);
        let job = Job { first, line: line.number, mark: mark.clone(), ended: ended.clone() };
        let (free, gone) = (Arc::clone(&self.free), Arc::clone(&self.gone));
        let told = Arc::clone(&printed);
        thread::Builder::new().name(format!("{program} prints")).spawn(move || {
            let status = follow(&mut line.ours, &mark, &told);
            match status {
                Some(_) => lock(&free).push(line),
                None => gone.store(true, Ordering::Release),
            }
            let _ = ended.set(status.map_or(Ended::Gone, of_shell));
            told.close();
        })?;
        Ok(Process::inside(job, printed))
    }
}

impl Job {
    /// How it ended, if it has.
    pub(in crate::host) fn ended(&self) -> Option<Ended> {
        self.ended.get().copied()
    }

    /// Has it ended, which takes a moment.
    pub(in crate::host) fn kill(&self) {
        let line = format!("{} {}\n", self.line, self.mark);
        // A machine that is gone has ended it.
        let _ = lock(&self.first).write_all(line.as_bytes());
    }
}

/// Hands on what is printed up to the end; the status then, or `None` if the machine is gone.
fn follow(line: &mut File, mark: &str, printed: &Printed) -> Option<i32> {
    let (mut bytes, mut scan) = ([0; 1 << 14], Scan::new(mark));
    loop {
        match line.read(&mut bytes) {
            Ok(0) => return None,
            Ok(n) => {
                scan.take(&bytes[..n]);
                loop {
                    match scan.next(&mut |bytes| printed.keep(bytes)) {
                        Some(Found::Piece) => line.write_all(b"\n").ok()?,
                        Some(Found::End(status)) => return Some(status),
                        None => break,
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Looks for what is said of what is printed.
struct Scan {
    sign: Vec<u8>,
    /// What may be the beginning of a sign, and all that comes after.
    held: Vec<u8>,
}

/// What is said.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// A piece is over.
    Piece,
    /// All of it, with this status.
    End(i32),
}

impl Scan {
    fn new(mark: &str) -> Scan {
        Scan { sign: format!("\0{mark} ").into_bytes(), held: Vec::new() }
    }

    /// Takes what came.
    fn take(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Hands on what is printed before the next sign, which is returned if it is whole.
    fn next(&mut self, hand_on: &mut dyn FnMut(&[u8])) -> Option<Found> {
        let may_be = |rest: &[u8]| rest.starts_with(&self.sign) || self.sign.starts_with(rest);
        let at = (0..self.held.len()).find(|&at| self.held[at] == 0 && may_be(&self.held[at..]));
        let rest = self.held.split_off(at.unwrap_or(self.held.len()));
        let before = std::mem::replace(&mut self.held, rest);
        if !before.is_empty() {
            hand_on(&before);
        }
        let said = self.held.strip_prefix(&self.sign[..])?;
        let len = said.iter().position(|byte| *byte == b'\n')?;
        let found = match &said[..len] {
            b"+" => Found::Piece,
            status => Found::End(std::str::from_utf8(status).ok()?.parse().ok()?),
        };
        self.held.drain(..self.sign.len() + len + 1);
        Some(found)
    }
}

/// How a program ended, by a shell's number for it: signals are from 128 on.
fn of_shell(status: i32) -> Ended {
    match status {
        129..=192 => Ended::Signal(status - 128),
        _ => Ended::Status(status),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_told_from_what_is_printed() {
        for (pieces, printed, expected) in [
            (&["hello\n", "\0a-1 0\n"][..], "hello\n", &[Found::End(0)][..]),
            (&["half\0a-1 127\n"], "half", &[Found::End(127)]),
            (&["a\0", "b\0a-", "1", " ", "3", "\n"], "a\0b", &[Found::End(3)]),
            (&["\0a-12 0\n\0a-1", " 0"], "\0a-12 0\n", &[]),
            (&["\0\0a-1 0\n"], "\0", &[Found::End(0)]),
            (
                &["x\0a-1 +\ny\0a-1 +\n\0a-1 0\n"],
                "xy",
                &[Found::Piece, Found::Piece, Found::End(0)],
            ),
            (&["nothing"], "nothing", &[]),
        ] {
            let (mut scan, mut told, mut found) = (Scan::new("a-1"), Vec::new(), Vec::new());
            for piece in pieces {
                scan.take(piece.as_bytes());
                while let Some(one) = scan.next(&mut |bytes| told.extend_from_slice(bytes)) {
                    found.push(one);
                }
            }
            assert_eq!(String::from_utf8(told).unwrap(), printed);
            assert_eq!(found, expected, "{pieces:?}");
        }
        assert_eq!(of_shell(137), Ended::Signal(9));
        assert_eq!(of_shell(128), Ended::Status(128));
    }
}
