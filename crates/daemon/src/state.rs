//! State files of labs that were left running, and how these are told to end.
//!
//! ```text
//! $XDG_RUNTIME_DIR/wirespeed/NAME/        or /tmp/wirespeed-UID/NAME/
//!     lab.json     what it is: written last, so that who reads it can connect
//!     lock         held by the lab's process while it lives, whatever becomes of it
//!     control      a socket: whoever connects and says `down` ends the lab
//!     NODE.sock    the nodes' consoles
//!     log          what it had to say
//! ```
//!
//! A lab is there if its lock is held; what a process that was killed has left behind is cleared
//! away by the next lab or router that comes up, and by `lab list`. The directory is our user's alone.

use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What a lab that runs says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// The lab's name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Its file.
    pub file: PathBuf,
    /// Since when, UTC.
    pub since: String,
    /// Its routers and their consoles' sockets.
    pub nodes: Vec<NodeInfo>,
    /// Its hosts and their namespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostInfo>,
}

/// A host of a lab that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// Its name.
    pub name: String,
    /// What names its network namespace while the lab is up.
    pub namespace: PathBuf,
}

/// A router of a lab that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name.
    pub name: String,
    /// Its console's socket.
    pub socket: PathBuf,
}

/// Our user's labs.
#[derive(Clone, Debug)]
pub struct Labs(PathBuf);

/// This process's place among them, until dropped.
pub struct Standing {
    directory: PathBuf,
    /// Held, not read.
    _lock: File,
    over: Arc<AtomicBool>,
    control: Option<JoinHandle<()>>,
}

/// What helps if there is no such directory.
const REMEDY: &str = "set XDG_RUNTIME_DIR to a directory of yours that can be written to";
/// How often, and after which pause, a lock is asked for that nobody seems to stand behind: whoever
/// clears a dead one's place away has it for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);
/// The longest path a Unix socket can have.
const LONGEST: usize = 107;
/// How long whoever connects may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(2);

impl Labs {
    /// Those of our user.
    ///
    /// # Errors
    /// There is no directory that is ours alone.
    pub fn ours() -> io::Result<Labs> {
        let uid = fs::metadata("/proc/self")?.uid();
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
        Labs::within(&match runtime {
            Some(path) => PathBuf::from(path).join("wirespeed"),
            None => std::env::temp_dir().join(format!("wirespeed-{uid}")),
        })
    }

    /// Those in this directory, which is made if it is not there.
    ///
    /// # Errors
    /// It belongs to somebody else, or others may go in.
    pub fn within(path: &Path) -> io::Result<Labs> {
        make(path)?;
        let (meta, uid) = (fs::symlink_metadata(path)?, fs::metadata("/proc/self")?.uid());
        if !meta.is_dir() || meta.uid() != uid || meta.mode() & 0o077 != 0 {
            let why =
                format!("{} is no directory of ours alone (mode 700); {REMEDY}", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Labs(path.to_path_buf()))
    }

    /// Whether a lab could be put here: a directory is made and taken away again.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn probe(&self) -> io::Result<()> {
        let path = self.0.join(format!(".{}", std::process::id()));
        make(&path)?;
        fs::remove_dir(path)
    }

    /// Where a lab's files are, if it is there.
    pub fn directory(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Where a node's console is.
    ///
    /// # Errors
    /// The path is too long for a socket.
    pub fn socket(&self, lab: &str, node: &str) -> io::Result<PathBuf> {
        let path = self.directory(lab).join(format!("{node}.sock"));
        // While it is made it has the process's number behind its name.
        if path.as_os_str().len() + 12 > LONGEST {
            let why = format!("{}: too long for a socket, shorten the names", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(path)
    }

    /// Takes the place of this name; `None` if a lab of this name is there. `down` is called when
    /// somebody wants it to end.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn stand(
        &self,
        name: &str,
        down: impl Fn() + Send + 'static,
    ) -> io::Result<Option<Standing>> {
        let directory = self.directory(name);
        let Some(lock) = self.take(name)? else { return Ok(None) };
        self.sweep();
        // What a process that was killed has left here.
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name != "lock") {
                fs::remove_file(path)?;
            }
        }
        let socket = UnixListener::bind(directory.join("control"))?;
        let over = Arc::new(AtomicBool::new(false));
        let control = thread::Builder::new().name("control".to_string()).spawn({
            let over = over.clone();
            move || {
                for stream in socket.incoming() {
                    if over.load(Ordering::Acquire) {
                        return;
                    }
                    if stream.is_ok_and(says_down) {
                        down();
                    }
                }
            }
        })?;
        Ok(Some(Standing { directory, _lock: lock, over, control: Some(control) }))
    }

    /// The lock of this name, made if need be; `None` if a lab has it.
    fn take(&self, name: &str) -> io::Result<Option<File>> {
        for _ in 0..TRIES {
            if let Some(lock) = self.lock(name, true)? {
                return Ok(Some(lock));
            }
            if self.find(name).is_some() {
                break;
            }
            thread::sleep(PAUSE);
        }
        Ok(None)
    }

    /// Clears away what killed ones have left: places whose lock nobody holds.
    fn sweep(&self) {
        for name in self.names() {
            let directory = self.directory(&name);
            match self.lock(&name, false) {
                Ok(Some(_lock)) => drop(fs::remove_dir_all(directory)),
                // Of one that was killed before it had a lock; one that is there is not empty, and
                // one that is being made is made again.
                _ => drop(fs::remove_dir(directory)),
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        // What begins with a dot is a probe.
        names.filter(|name| !name.starts_with('.')).collect()
    }

    /// The lock of this name; `None` if another process holds it, or, unless it is to be made, if
    /// there is none.
    fn lock(&self, name: &str, make: bool) -> io::Result<Option<File>> {
        let directory = self.directory(name);
        loop {
            if make {
                self::make(&directory)?;
            }
            let path = directory.join("lock");
            let mut options = OpenOptions::new();
            let file = match options.write(true).create(make).mode(0o600).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound && make => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Who held it may have removed it meanwhile, and another one stands in its place.
            let ours = file.metadata()?.ino();
            if fs::metadata(&path).is_ok_and(|there| there.ino() == ours) {
                return Ok(Some(file));
            }
        }
    }

    /// What the lab of this name says about itself; `None` if it is not there, or not yet.
    pub fn find(&self, name: &str) -> Option<Info> {
        let text = fs::read_to_string(self.directory(name).join("lab.json")).ok()?;
        // Nobody holds the lock of a lab that is no more.
        match self.lock(name, false) {
            Ok(None) => serde_json::from_str(&text).ok(),
            _ => None,
        }
    }

    /// All labs there are, by name. Clears away what killed ones have left.
    pub fn list(&self) -> Vec<Info> {
        self.sweep();
        let mut infos: Vec<Info> = self.names().iter().filter_map(|name| self.find(name)).collect();
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        infos
    }

    /// Ends the lab of this name and waits until it is gone, at most this long; clears away what a
    /// killed one has left. Says whether there was one that ran.
    ///
    /// # Errors
    /// It does not end.
    pub fn down(&self, name: &str, at_most: Duration) -> io::Result<bool> {
        let directory = self.directory(name);
        if !directory.exists() {
            return Ok(false);
        }
        if let Some(lock) = self.lock(name, false)? {
            fs::remove_dir_all(&directory)?;
            drop(lock);
            return Ok(false);
        }
        // It may be about to listen, or to go by itself.
        let clock = crate::clock::Clock::start();
        let mut said = false;
        while clock.now().since(wire::Moment::ZERO) < at_most {
            if !said && let Ok(mut stream) = UnixStream::connect(directory.join("control")) {
                said = stream.write_all(b"down\n").is_ok();
            }
            if !directory.exists() {
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(5));
        }
        let why = format!("lab {name} has not ended after {at_most:?}");
        Err(io::Error::new(io::ErrorKind::TimedOut, why))
    }
}

impl Standing {
    /// Lets others find the lab.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn announce(&self, info: &Info) -> io::Result<()> {
        let text = serde_json::to_string_pretty(info).map_err(io::Error::other)?;
        let part = self.directory.join("lab.json.part");
        fs::write(&part, text + "\n")?;
        fs::rename(part, self.directory.join("lab.json"))
    }

    /// Writes a line into its log; who cannot be told is not.
    pub fn log(&self, line: &str) {
        let file = OpenOptions::new().create(true).append(true).open(self.directory.join("log"));
        let _ = file.and_then(|mut file| writeln!(file, "{} {line}", crate::clock::timestamp()));
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        // Wakes the thread.
        let woken = UnixStream::connect(self.directory.join("control")).is_ok();
        if let Some(control) = self.control.take().filter(|_| woken) {
            let _ = control.join();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Makes a directory that is ours alone, unless it is there.
fn make(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let why = format!("cannot make {}: {error}; {REMEDY}", path.display());
            Err(io::Error::new(error.kind(), why))
        }
        _ => Ok(()),
    }
}

/// Whether whoever connected wants it to end.
fn says_down(stream: UnixStream) -> bool {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut said = [0; 5];
    stream.take(5).read_exact(&mut said).is_ok() && &said == b"down\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn labs(test: &str) -> Labs {
        let path = std::env::temp_dir().join(format!("ws-{test}-{}", std::process::id()));
        Labs::within(&path).unwrap()
    }

    fn info(name: &str) -> Info {
        let (file, since) = (PathBuf::from("lab.yaml"), "now".to_string());
        Info { name: name.to_string(), pid: 1, file, since, nodes: Vec::new(), hosts: Vec::new() }
    }

    #[test]
    fn a_lab_is_found_ended_and_leaves_nothing() {
        let labs = labs("found");
        let (tell, told) = mpsc::channel();
        let standing = labs.stand("a", move || tell.send(()).unwrap()).unwrap().unwrap();
        assert_eq!(labs.find("a"), None, "before it is announced");
        standing.announce(&info("a")).unwrap();
        standing.log("hello");
        assert_eq!(labs.find("a"), Some(info("a")));
        assert_eq!(labs.list(), [info("a")]);
        assert!(labs.stand("a", || {}).unwrap().is_none(), "twice");
        let ending = thread::spawn({
            let labs = labs.clone();
            move || labs.down("a", Duration::from_secs(20))
        });
        told.recv().unwrap();
        drop(standing);
        assert!(ending.join().unwrap().unwrap());
        assert_eq!((labs.find("a"), labs.list()), (None, vec![]));
        assert!(!labs.down("a", Duration::ZERO).unwrap());
        assert_eq!(fs::read_dir(&labs.0).unwrap().count(), 0);
        fs::remove_dir(&labs.0).unwrap();
    }

    #[test]
    fn what_a_killed_one_left_is_cleared_away() {
        let labs = labs("killed");
        for end in ["up", "down", "another's up", "list"] {
            let directory = labs.directory("a");
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("lock"), "").unwrap();
            fs::write(directory.join("lab.json"), serde_json::to_string(&info("a")).unwrap())
                .unwrap();
            drop(UnixListener::bind(directory.join("control")).unwrap());
            assert_eq!(labs.find("a"), None, "nobody holds its lock");
            match end {
                "up" => drop(labs.stand("a", || {}).unwrap().expect("the place is free")),
                "another's up" => drop(labs.stand("b", || {}).unwrap().expect("a place")),
                "list" => {
                    // One that lives, and has not said so yet, stays.
                    let standing = labs.stand("b", || {}).unwrap().unwrap();
                    fs::create_dir(labs.directory("c")).unwrap();
                    assert_eq!(labs.list(), []);
                    assert!(labs.directory("b").join("lock").exists());
                    assert!(!labs.directory("c").exists(), "killed before it had a lock");
                    drop(standing);
                }
                _ => assert!(!labs.down("a", Duration::ZERO).unwrap()),
            }
            assert!(!directory.exists(), "{end}");
        }
        fs::remove_dir(&labs.0).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_enter_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let labs = labs("open");
        fs::set_permissions(&labs.0, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Labs::within(&labs.0).is_err());
        fs::remove_dir(&labs.0).unwrap();
        let nowhere = Labs::within(Path::new("/nonexistent/x/wirespeed")).unwrap_err().to_string();
        let says =
            "cannot make /nonexistent/x/wirespeed: No such file or directory (os error 2); set";
        assert!(nowhere.starts_with(says), "{nowhere}");
        let long = labs.socket("a", &"x".repeat(90)).unwrap_err();
        assert!(long.to_string().contains("shorten the names"), "{long}");
    }
}
