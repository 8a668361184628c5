//! The log's way out of a router: `/system logging action` with `target=disk` and `target=echo`.
//!
//! ```text
//! disk   log.0.txt ─ full ─► log.1.txt ─► … ─► the last one is thrown away
//! echo   the device's own terminal: standard error of whoever runs it
//! ```
//!
//! Files are beneath the device's directory; a device that has none, and one in virtual time, keep
//! nothing. Never holds up whoever says something: the terminal may have stopped reading.
//!
//! **Missing**: echo on the consoles of those who have logged in over the network.

use crate::outlet::Outlet as Lines;
use crate::underway::Files;
use router::system::logging::Outlet;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

/// Where lines have gone by now.
pub(crate) struct Journal {
    files: Files,
    /// How many lines the newest file of a name has.
    lines: BTreeMap<String, u32>,
    terminal: Option<Lines>,
}

impl Journal {
    pub(crate) fn new(files: Files) -> Journal {
        Journal { files, lines: BTreeMap::new(), terminal: None }
    }

    /// Puts a line where it belongs; what cannot be written is let fall, as on a full disk.
    pub(crate) fn put(&mut self, outlet: &Outlet, line: &str) {
        match outlet {
            Outlet::Echo => self.echo(line),
            Outlet::File { name, lines, files, stop_on_full } => {
                let _ = self.write((name, *lines, *files), *stop_on_full, line);
            }
        }
    }

    fn echo(&mut self, line: &str) {
        if self.terminal.is_none() {
            self.terminal = Lines::to(io::stderr().as_fd()).ok();
        }
        self.terminal.iter().for_each(|terminal| terminal.say(line));
    }

    fn write(
        &mut self,
        (name, most, files): (&str, u32, u32),
        stop_on_full: bool,
        line: &str,
    ) -> Result<(), String> {
        let file = |n: u32| format!("{name}.{n}.txt");
        let known = self.lines.get(name).copied();
        let mut lines = known.unwrap_or_else(|| {
            let kept = self.files.read(&file(0)).unwrap_or_default();
            kept.iter().filter(|&&byte| byte == b'\n').count() as u32
        });
        if lines >= most {
            if stop_on_full && self.files.has(&file(files - 1)) {
                return Ok(());
            }
            for n in (1..files).rev().filter(|n| self.files.has(&file(n - 1))) {
                self.files.rename(&file(n - 1), &file(n))?;
            }
            if files == 1 {
                self.files.write(&file(0), &[])?;
            }
            lines = 0;
        }
        self.files.append(&file(0), format!("{line}\n").as_bytes())?;
        self.lines.insert(name.to_string(), lines + 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_take_turns() {
        for (files, stop_on_full, expected) in [
            (2, false, ["4\n5\n", "2\n3\n", ""]),
            (3, false, ["4\n5\n", "2\n3\n", "0\n1\n"]),
            (1, false, ["4\n5\n", "", ""]),
            (2, true, ["2\n3\n", "0\n1\n", ""]),
        ] {
            let home =
                std::env::temp_dir().join(format!("wirespeed-journal-{}", std::process::id()));
            std::fs::create_dir_all(&home).unwrap();
            let mut journal = Journal::new(Files::of(home.clone()));
            let name = "log".to_string();
            let outlet = Outlet::File { name, lines: 2, files, stop_on_full };
            (0..3).for_each(|n| journal.put(&outlet, &n.to_string()));
            // Another run goes on where the first one has stopped.
            let mut journal = Journal::new(Files::of(home.clone()));
            (3..6).for_each(|n| journal.put(&outlet, &n.to_string()));
            let read = |n| std::fs::read_to_string(home.join(format!("log.{n}.txt")));
            let kept = [0, 1, 2].map(|n| read(n).unwrap_or_default());
            assert_eq!(kept, expected, "{files} {stop_on_full}");
            std::fs::remove_dir_all(home).unwrap();
        }
    }
}
