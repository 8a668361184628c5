//! The terminal itself: its size, single keys, and whether it is one.
//!
//! Between two lines of input the terminal gives every key at once and echoes none, so that Q ends
//! a monitor; output stays as it is. What it was before comes back when [`Keys`] is dropped.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use rustix::termios::{isatty, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{self, Write};
use std::time::Duration;

/// Whether keys come from a terminal.
pub(super) fn is_input() -> bool {
    isatty(rustix::stdio::stdin())
}

/// Whether what is written is seen on a terminal.
pub(super) fn is_output() -> bool {
    isatty(rustix::stdio::stdout())
}

/// Columns and rows; 80 and 24 if nobody knows.
pub(super) fn size() -> (usize, usize) {
    let size = tcgetwinsize(rustix::stdio::stdout()).ok();
    let size = size.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
    size.filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or((80, 24))
}

/// A key that means something while a command runs or a long text stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Q, ctrl-C.
    Quit,
    /// D.
    Dump,
    /// Ctrl-Z.
    Pause,
    /// The down arrow, Return.
    Line,
    /// The blank, page down.
    Page,
}

/// Single keys, as long as it lives.
pub(super) struct Keys {
    /// What to go back to; `None` where there is no terminal.
    before: Option<Termios>,
}

impl Keys {
    pub(super) fn new() -> Keys {
        let stdin = rustix::stdio::stdin();
        let before = tcgetattr(stdin).ok().filter(|_| is_input());
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.local_modes -=
                LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
            raw.special_codes[SpecialCodeIndex::VMIN] = 1;
            raw.special_codes[SpecialCodeIndex::VTIME] = 0;
            let _ = tcsetattr(stdin, OptionalActions::Now, &raw);
        }
        Keys { before }
    }

    /// The next key that means something, if one is pressed within `timeout`.
    pub(super) fn next(&self, timeout: Duration) -> Option<Key> {
        self.before.as_ref()?;
        let stdin = rustix::stdio::stdin();
        let timeout = Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).ok()? == 0 {
            return None;
        }
        // An arrow key is several bytes that come together; so are keys pressed one after the other.
        let mut bytes = [0; 256];
        let n = rustix::io::read(stdin, &mut bytes).ok()?;
        if n == 0 {
            // The terminal is gone.
            return Some(Key::Quit);
        }
        strongest(&bytes[..n])
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Asks for a secret, which is not echoed; `None` where there is nobody to ask.
pub(super) fn ask_secret(question: &str) -> io::Result<Option<String>> {
    let stdin = rustix::stdio::stdin();
    let Some(before) = tcgetattr(stdin).ok().filter(|_| is_input()) else { return Ok(None) };
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO;
    tcsetattr(stdin, OptionalActions::Flush, &silent)?;
    let mut err = io::stderr();
    write!(err, "{question}")?;
    err.flush()?;
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    tcsetattr(stdin, OptionalActions::Now, &before)?;
    writeln!(err)?;
    read?;
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_string()))
}

/// What keys that came together mean: to quit, if one of them does, else what the first of them
/// that means something does. Whoever pressed it must not have to press it again.
fn strongest(mut bytes: &[u8]) -> Option<Key> {
    let mut first = None;
    while !bytes.is_empty() {
        let (found, len) = key(bytes);
        if found == Some(Key::Quit) {
            return found;
        }
        first = first.or(found);
        bytes = &bytes[len..];
    }
    first
}

/// The first key, and how many bytes it is.
fn key(bytes: &[u8]) -> (Option<Key>, usize) {
    match bytes {
        [b'q' | b'Q' | 3, ..] => (Some(Key::Quit), 1),
        [b'd' | b'D', ..] => (Some(Key::Dump), 1),
        [26, ..] => (Some(Key::Pause), 1),
        [b'\r' | b'\n', ..] => (Some(Key::Line), 1),
        [b' ', ..] => (Some(Key::Page), 1),
        // An arrow or the like: `ESC [`, parameters, and a letter or `~`.
        [27, b'[' | b'O', rest @ ..] => {
            let end = rest.iter().position(|b| (0x40..0x7f).contains(b)).unwrap_or(rest.len());
            let found = match rest {
                [b'B', ..] => Some(Key::Line),
                [b'6', ..] => Some(Key::Page),
                _ => None,
            };
            (found, (2 + end + 1).min(bytes.len()))
        }
        _ => (None, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for (bytes, expected) in [
            (&b"q"[..], Some(Key::Quit)),
            (b"\x03", Some(Key::Quit)),
            (b"D", Some(Key::Dump)),
            (b"\x1a", Some(Key::Pause)),
            (b"\x1b[B", Some(Key::Line)),
            (b"\x1b[6~", Some(Key::Page)),
            (b" ", Some(Key::Page)),
            (b"\x1b[A", None),
            (b"x", None),
            (b"", None),
            // Several that came together.
            (b"xq", Some(Key::Quit)),
            (b"\x0c\x03", Some(Key::Quit)),
            (b"\x1b[Bq", Some(Key::Quit)),
            (b"\x1b[1;5Aq", Some(Key::Quit)),
            (b"x D", Some(Key::Page)),
            (b"\x1b[A\x1b[B", Some(Key::Line)),
            (b"\x1b[", None),
            (b"\x1b", None),
        ] {
            assert_eq!(strongest(bytes), expected, "{bytes:?}");
        }
    }
}
