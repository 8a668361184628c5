//! Losses of an interface since we began to look, by the kernel.
//!
//! Read from `/proc/net/dev`, whose file stays that of the namespace it was opened in, whatever
//! thread reads it, and which takes none of the locks under which interfaces are changed.

use super::Unavailable;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// One way through an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// What came to it: dropped is also what was too long for its MTU, or found no buffer.
    Received,
    /// What the kernel wanted to send by it: on a TAP interface, dropped is what nobody read.
    Sent,
}

/// Frames that an interface lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// They were damaged, or no frames (`errs`).
    pub(super) errors: u64,
    /// They were dropped (`drop`).
    pub(super) dropped: u64,
}

/// An interface's losses on one way.
pub(super) struct Losses {
    file: File,
    name: String,
    way: Way,
    before: Lost,
}

impl Losses {
    /// Of the interface of this name in the calling thread's namespace.
    pub(super) fn of(name: &str, way: Way) -> Result<Losses, Unavailable> {
        let path = "/proc/thread-self/net/dev";
        let file = File::open(path).map_err(|e| Unavailable::because(format!("open {path}"), e))?;
        let mut losses = Losses { file, name: name.to_string(), way, before: Lost::default() };
        losses.before = losses.read().unwrap_or_default();
        Ok(losses)
    }

    /// How many there were since; none if the interface is no more.
    pub(super) fn so_far(&self) -> Lost {
        let (now, before) = (self.read().unwrap_or(self.before), self.before);
        Lost {
            errors: now.errors.saturating_sub(before.errors),
            dropped: now.dropped.saturating_sub(before.dropped),
        }
    }

    fn read(&self) -> Option<Lost> {
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        // No further than our line: a busy router asks a thousand times a second.
        while let Ok(n @ 1..) = self.file.read_at(&mut buffer, text.len() as u64) {
            text.extend_from_slice(&buffer[..n]);
            let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let text = std::str::from_utf8(&text[..whole]).ok()?;
            let found = lost(text, &self.name, self.way);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// The third and fourth of the eight columns on receiving, or of those on sending, which follow.
fn lost(text: &str, name: &str, way: Way) -> Option<Lost> {
    let columns =
        text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let skipped = if way == Way::Received { 2 } else { 8 + 2 };
    let mut columns = columns.split_ascii_whitespace().skip(skipped).map(str::parse);
    Some(Lost { errors: columns.next()?.ok()?, dropped: columns.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_are_found() {
        let text = "Inter-|   Receive |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
  tap0:10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160
  tap:1 1 1 1 1 1 1 1 1 1 1 7 1 1 1 1
";
        use Way::{Received, Sent};
        for (name, way, expected) in [
            ("tap0", Sent, Some((110, 120))),
            ("tap0", Received, Some((30, 40))),
            ("lo", Sent, Some((11, 12))),
            ("lo", Received, Some((3, 4))),
            ("tap", Sent, Some((1, 7))),
            ("ta", Sent, None),
            ("ta", Received, None),
        ] {
            let expected = expected.map(|(errors, dropped)| Lost { errors, dropped });
            assert_eq!(lost(text, name, way), expected, "{name} {way:?}");
        }
    }
}
