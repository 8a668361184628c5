//! What the kernel says it dropped on an interface, since we began to look.
//!
//! Read from `/proc/net/dev`, whose file stays that of the namespace it was opened in, whatever
//! thread reads it.

use super::Unavailable;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Frames that the kernel wanted to send by an interface and dropped: on a TAP interface, those that
/// nobody read.
pub(super) struct Losses {
    file: File,
    name: String,
    before: u64,
}

impl Losses {
    /// Of the interface of this name in the calling thread's namespace.
    pub(super) fn of_sent(name: &str) -> Result<Losses, Unavailable> {
        let path = "/proc/thread-self/net/dev";
        let file = File::open(path).map_err(|e| Unavailable::because(format!("open {path}"), e))?;
        let mut losses = Losses { file, name: name.to_string(), before: 0 };
        losses.before = losses.read().unwrap_or(0);
        Ok(losses)
    }

    /// How many there were since; 0 if the interface is no more.
    pub(super) fn so_far(&self) -> u64 {
        self.read().unwrap_or(self.before).saturating_sub(self.before)
    }

    fn read(&self) -> Option<u64> {
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        // No further than our line: a busy router asks a thousand times a second.
        while let Ok(n @ 1..) = self.file.read_at(&mut buffer, text.len() as u64) {
            text.extend_from_slice(&buffer[..n]);
            let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let found = dropped(std::str::from_utf8(&text[..whole]).ok()?, &self.name);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// The fourth of the columns on sending, which follow eight on receiving.
fn dropped(text: &str, name: &str) -> Option<u64> {
    let columns =
        text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    columns.split_ascii_whitespace().nth(8 + 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_column_is_found() {
        let text = "Inter-|   Receive |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
  tap0:10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160
  tap:1 1 1 1 1 1 1 1 1 1 1 7 1 1 1 1
";
        for (name, expected) in
            [("tap0", Some(120)), ("lo", Some(12)), ("tap", Some(7)), ("ta", None)]
        {
            assert_eq!(super::dropped(text, name), expected, "{name}");
        }
    }
}
