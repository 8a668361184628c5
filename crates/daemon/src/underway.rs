//! The command that a session has under way on a node, and the files it reads and writes.
//!
//! ```text
//! wants_file ─► Files::read ─► give_file ─► poll (on the node) ─► take_files ─► Files::write
//! ```
//!
//! Only `poll` needs the node; files are read and written while packets flow.

use crate::node::Node;
use config::{Call, File, Job, LONGEST_SHOWN, Progress, Record, Started};
use std::fs;
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use wire::Moment;

/// The longest file a device reads: a full BGP table as a script, and a capture, are shorter.
const LONGEST: u64 = 256 << 20;

/// More files than this are not listed.
const MOST: usize = 1000;

/// A device's files: what stands in one directory, and nothing beside it.
#[derive(Clone, Debug)]
pub struct Files {
    directory: Option<PathBuf>,
    /// What is written goes nowhere.
    rehearsed: bool,
}

impl Files {
    /// No files.
    pub fn none() -> Files {
        Files { directory: None, rehearsed: false }
    }

    /// Those of this directory.
    pub fn of(directory: PathBuf) -> Files {
        Files { directory: Some(directory), rehearsed: false }
    }

    /// The same to read from; what is written is let fall, where it could have been written.
    pub fn rehearsed(&self) -> Files {
        Files { rehearsed: true, ..self.clone() }
    }

    /// A file's content.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be read.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.path(name)?;
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("no such file: {name}"),
            _ => format!("failure: cannot read {name}: {error}"),
        };
        let file = fs::File::open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() || meta.len() > LONGEST {
            return Err(format!("failure: {name} is no file, or longer than {LONGEST} bytes"));
        }
        let mut content = Vec::new();
        file.take(LONGEST).read_to_end(&mut content).map_err(failed)?;
        Ok(content)
    }

    /// Writes a file; one that was there is replaced, all at once.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let path = self.path(name)?;
        if self.rehearsed {
            return Ok(());
        }
        let failed = |error| format!("failure: cannot write {name}: {error}");
        let mut part = path.clone().into_os_string();
        part.push(".part");
        fs::write(&part, content).and_then(|()| fs::rename(&part, &path)).map_err(failed)
    }

    /// Adds to a file, which need not be there.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn append(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let path = self.path(name)?;
        if self.rehearsed {
            return Ok(());
        }
        let failed = |error| format!("failure: cannot write {name}: {error}");
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(content)).map_err(failed)
    }

    /// Gives a file another name; one that had it is gone.
    ///
    /// # Errors
    /// It cannot be.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), String> {
        let paths = (self.path(from)?, self.path(to)?);
        let failed = |error| format!("failure: cannot rename {from}: {error}");
        if self.rehearsed { Ok(()) } else { fs::rename(paths.0, paths.1).map_err(failed) }
    }

    /// Takes a file away.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be taken away.
    pub fn remove(&self, name: &str) -> Result<(), String> {
        let path = self.path(name)?;
        let failed = |error| format!("failure: cannot remove {name}: {error}");
        if self.rehearsed { Ok(()) } else { fs::remove_file(path).map_err(failed) }
    }

    /// The files there are, those in folders too; of very many files or folders the first.
    pub fn list(&self) -> Vec<File> {
        let mut found = Vec::new();
        let mut folders = Vec::from([String::new()]);
        for _ in 0..MOST {
            let Some(folder) = folders.pop() else { break };
            let place = self.directory.iter().map(|directory| directory.join(&folder));
            let entries = place.filter_map(|place| fs::read_dir(place).ok()).flatten().flatten();
            for entry in entries.take(MOST - found.len()) {
                let own = entry.file_name().into_string().ok();
                let Some(own) = own.filter(|own| !own.starts_with('.')) else { continue };
                let name = if folder.is_empty() { own } else { format!("{folder}/{own}") };
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && folders.len() < MOST => folders.push(name),
                    Ok(kind) if kind.is_file() => found.extend(self.shown(name)),
                    _ => {}
                }
            }
        }
        found
    }

    /// A file as `/file` shows it; `None` of what has no name here.
    fn shown(&self, name: String) -> Option<File> {
        let meta = self.path(&name).ok()?.metadata().ok()?;
        let written = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        // Of no length are files of the kernel's, too, some of which wait for what comes.
        let contents = match meta.len() {
            0 => Some(Vec::new()),
            len if len <= LONGEST_SHOWN as u64 => self.read(&name).ok(),
            _ => None,
        };
        Some(File {
            size: meta.len(),
            written: written.map_or(0, |since| since.as_secs()),
            contents: contents.and_then(|content| String::from_utf8(content).ok()),
            name,
        })
    }

    /// Whether there is a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).is_ok_and(|path| path.is_file())
    }

    /// Where a file of this name is: beneath the directory, links followed.
    fn path(&self, name: &str) -> Result<PathBuf, String> {
        let Some(directory) = &self.directory else {
            return Err(format!("failure: this device has no files, so no {name}"));
        };
        let plain = |part: Component<'_>| match part {
            Component::Normal(part) => !part.to_string_lossy().starts_with('.'),
            _ => false,
        };
        let relative = Path::new(name);
        let legal = !name.is_empty() && name.len() <= 255 && !name.contains('\0');
        if !legal || !relative.components().all(plain) {
            return Err(format!("failure: {name} is no name of a file here"));
        }
        let outside = || format!("failure: {name} is not in the device's directory");
        let path = directory.join(relative);
        let home = directory.canonicalize().map_err(|_| outside())?;
        let parent = path.parent().unwrap_or(directory).canonicalize();
        let within = |real: PathBuf| real.starts_with(&home);
        if !parent.map_err(|_| format!("no such file: {name}"))?.starts_with(&home)
            || !path.canonicalize().map_or(true, within)
            // A link into nowhere would be written through.
            || (path.is_symlink() && !path.exists())
        {
            return Err(outside());
        }
        Ok(path)
    }
}

/// At most one command under way.
pub struct Underway {
    job: Option<Box<dyn Job<Node>>>,
    files: Files,
}

/// How long a command that is to end may take for it.
pub const WIND_UP: Duration = Duration::from_secs(3);

impl Underway {
    /// None yet; files are kept there.
    pub fn new(files: Files) -> Underway {
        Underway { job: None, files }
    }

    /// Where files are kept.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Starts a command on the node.
    pub fn start(
        &mut self,
        call: &Call,
        now: Moment,
        started: impl FnOnce() -> Result<Started<Node>, String>,
    ) -> Result<Progress, String> {
        assert!(self.job.is_none(), "{} while another command is under way", call.command.name);
        match started()? {
            Started::Done(reply) => Ok(Progress::Done(reply)),
            Started::Job(job) => {
                self.job = Some(job);
                Ok(Progress::Again(now))
            }
        }
    }

    /// Polls the command; `with` lets a closure have the node.
    pub fn poll(
        &mut self,
        out: &mut Vec<Record>,
        mut with: impl FnMut(&mut dyn FnMut(&mut Node, Moment)),
    ) -> Result<Progress, String> {
        let Some(mut job) = self.job.take() else {
            return Err("failure: no command is under way".to_string());
        };
        while let Some(name) = job.wants_file() {
            job.give_file(self.files.read(&name));
        }
        // Whoever has lost the node says so; the closure is then not called.
        let mut polled = Err("failure: the device has stopped".to_string());
        with(&mut |node, now| {
            polled = job.poll(node, now, out);
            if !matches!(polled, Ok(Progress::Again(_))) {
                job.stop(node, now);
            }
        });
        let written = self.write_files(&mut *job);
        match (polled, written) {
            (Ok(Progress::Again(at)), Ok(())) => {
                self.job = Some(job);
                Ok(Progress::Again(at))
            }
            (Ok(Progress::Again(_)), Err(why)) => {
                with(&mut |node, now| job.stop(node, now));
                Err(why)
            }
            (polled, written) => written.and(polled),
        }
    }

    /// Tells the command that it is to end; whether it is to be polled until it is done.
    pub fn wind_up(&mut self, with: impl FnOnce(&mut dyn FnMut(&mut Node, Moment))) -> bool {
        let mut goes_on = false;
        if let Some(job) = &mut self.job {
            with(&mut |node, now| goes_on = job.wind_up(node, now));
        }
        goes_on
    }

    /// Ends the command, if there is one.
    pub fn stop(&mut self, with: impl FnOnce(&mut dyn FnMut(&mut Node, Moment))) {
        if let Some(mut job) = self.job.take() {
            with(&mut |node, now| job.stop(node, now));
            // Whatever it still had to write is written; nobody is there to hear why not.
            let _ = self.write_files(&mut *job);
        }
    }

    fn write_files(&self, job: &mut dyn Job<Node>) -> Result<(), String> {
        let files = job.take_files();
        files.iter().try_for_each(|(name, content)| self.files.write(name, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_leave_the_directory() {
        let home = std::env::temp_dir().join(format!("wirespeed-files-{}", std::process::id()));
        fs::create_dir_all(home.join("inside/sub")).unwrap();
        fs::write(home.join("outside.txt"), "secret").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../outside.txt", home.join("inside/link")).unwrap();
            std::os::unix::fs::symlink("../nowhere.txt", home.join("inside/dangling")).unwrap();
            std::os::unix::fs::symlink("..", home.join("inside/up")).unwrap();
        }
        let files = Files::of(home.join("inside"));
        for (name, legal) in [
            ("a.rsc", true),
            ("sub/b.pcapng", true),
            ("", false),
            (".", false),
            ("..", false),
            (".hidden", false),
            ("../outside.txt", false),
            ("sub/../../outside.txt", false),
            ("/etc/passwd", false),
            ("link", false),
            ("dangling", false),
            ("up/outside.txt", false),
            ("nosuch/c", false),
            ("a\0b", false),
        ] {
            let written = files.write(name, b"here");
            assert_eq!(written.is_ok(), legal, "{name:?}: {written:?}");
            let read = files.read(name);
            assert_eq!(read.as_deref().ok(), legal.then_some(&b"here"[..]), "{name:?}: {read:?}");
        }
        assert_eq!(fs::read_to_string(home.join("outside.txt")).unwrap(), "secret");
        assert!(!home.join("nowhere.txt").exists());
        assert!(Files::none().read("a.rsc").unwrap_err().contains("has no files"));
        fs::write(home.join("inside/.hidden"), "x").unwrap();
        fs::write(home.join("inside/long"), [b'x'; LONGEST_SHOWN + 1]).unwrap();
        let mut listed = files.list();
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        let listed: Vec<_> =
            listed.into_iter().map(|file| (file.name, file.size, file.contents)).collect();
        let here = Some("here".to_string());
        let expected = [
            ("a.rsc".to_string(), 4, here.clone()),
            ("long".to_string(), LONGEST_SHOWN as u64 + 1, None),
            ("sub/b.pcapng".to_string(), 4, here),
        ];
        assert_eq!(listed, expected);
        assert!(files.rehearsed().remove("a.rsc").is_ok() && files.has("a.rsc"));
        for (name, there) in [("a.rsc", true), ("a.rsc", false), ("../outside.txt", false)] {
            assert_eq!(files.remove(name).is_ok(), there, "{name}");
        }
        fs::remove_dir_all(home).unwrap();
    }
}
