//! A network namespace, and what is run in it.
//!
//! ```text
//!  Namespace::new ─► keeper thread ── unshare ─► a namespace without a name
//!        │ run(f)    a thread of its own, moved into it, runs f
//!        │ spawn(c)  the keeper starts the process c, which dies with it
//!        │ spawn_apart(c)  … and with it all that it has started
//! ```
//!
//! The namespace has no name and no mount: it lives as long as something is in it or holds its file,
//! so nothing is left of it after a crash. (A namespace belongs to a thread, not to a process:
//! nothing here moves the caller.)
//!
//! Never makes interfaces; never touches the namespace the program was started in.

use super::Unavailable;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::mpsc;
use std::thread;

/// A network namespace, made or found. Dropping one that was made ends the processes started in it.
pub struct Namespace {
    file: File,
    keeper: mpsc::Sender<Errand>,
}

/// A process to start, and where to say what became of that.
type Errand = (Command, Processes, mpsc::Sender<io::Result<Child>>);

/// Which namespace of processes one is started in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Processes {
    Ours,
    ItsOwn,
}

/// Where this thread's namespace is found.
const OWN: &str = "/proc/thread-self/ns/net";

impl Namespace {
    /// A new one: with `lo`, which is down, and nothing else.
    ///
    /// # Errors
    /// [`Unavailable`], as a rule for lack of rights.
    pub fn new() -> Result<Namespace, Unavailable> {
        Namespace::keep("make a network namespace", || {
            // SAFETY: no memory is involved; only this thread, which is the keeper, is moved.
            match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
                0 => File::open(OWN),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }

    /// The one the calling thread is in.
    ///
    /// # Errors
    /// [`Unavailable`], if there is no `/proc`.
    pub fn current() -> Result<Namespace, Unavailable> {
        let tried = "open the current network namespace";
        let file = File::open(OWN).map_err(|error| Unavailable::because(tried, error))?;
        Namespace::keep(tried, || enter(&file).map(|()| file))
    }

    /// The one of this name (`ip netns add NAME`), or at this path if there is a `/` in it.
    ///
    /// # Errors
    /// [`Unavailable`]: there is none, or rights are lacking.
    pub fn open(name: &str) -> Result<Namespace, Unavailable> {
        let path = match name.contains('/') {
            true => PathBuf::from(name),
            false => Path::new("/run/netns").join(name),
        };
        let tried = format!("open the network namespace {name}");
        let file = File::open(path).map_err(|error| {
            let known = error.kind() == io::ErrorKind::NotFound;
            let unavailable = Unavailable::because(tried.as_str(), error);
            if known {
                unavailable.remedy("`ip netns list` shows those there are")
            } else {
                unavailable
            }
        })?;
        Namespace::keep(&tried, || enter(&file).map(|()| file))
    }

    /// Starts the keeper, which `enter`s the namespace.
    fn keep(
        tried: &str,
        enter: impl FnOnce() -> io::Result<File> + Send,
    ) -> Result<Namespace, Unavailable> {
        let (keeper, errands) = mpsc::channel::<Errand>();
        let entered = thread::scope(|scope| scope.spawn(enter).join());
        let entered = entered.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        let file = entered.map_err(|error| Unavailable::because(tried, error))?;
        let home = file.try_clone().map_err(|error| Unavailable::because(tried, error))?;
        let run = move || {
            if let Err(error) = self::enter(&home) {
                return errands.into_iter().for_each(|(_, _, done)| {
                    let _ = done.send(Err(io::Error::from(error.kind())));
                });
            }
            drop(home);
            for (mut command, processes, done) in errands {
                let _ = done.send(match processes {
                    Processes::Ours => command.spawn(),
                    Processes::ItsOwn => start_apart(&mut command),
                });
            }
        };
        let keeper_thread = thread::Builder::new().name("netns".to_string()).spawn(run);
        keeper_thread.map_err(|error| Unavailable::because(tried, error))?;
        Ok(Namespace { file, keeper })
    }

    /// Runs `f` in the namespace, on a thread of its own, and waits for it: what it opens (sockets)
    /// belongs there for ever.
    ///
    /// # Errors
    /// The thread could not be started, or not moved.
    ///
    /// # Panics
    /// As `f` does.
    pub fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let inside = thread::Builder::new()
                .name("netns-run".to_string())
                .spawn_scoped(scope, || enter(&self.file).map(|()| f()))?;
            match inside.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Starts a process in the namespace. It is killed when this [`Namespace`] is dropped, or the
    /// program ends in whatever way; its own children are not.
    ///
    /// # Errors
    /// As of [`Command::spawn`].
    pub fn spawn(&self, command: Command) -> io::Result<Child> {
        self.start(command, Processes::Ours)
    }

    /// The same in a namespace of processes of its own: whatever it starts, daemons too, is killed
    /// when it ends. It is number 1 there, so signals it does not handle do not reach it, except
    /// SIGKILL. Where it may mount, `/sys` and `/proc` show it the namespaces that it is in.
    ///
    /// # Errors
    /// As of [`Command::spawn`]; or rights are lacking.
    pub fn spawn_apart(&self, command: Command) -> io::Result<Child> {
        self.start(command, Processes::ItsOwn)
    }

    fn start(&self, mut command: Command, processes: Processes) -> io::Result<Child> {
        // SAFETY: between fork and exec only system calls are made, of which none allocates.
        unsafe {
            command.pre_exec(move || {
                if processes == Processes::ItsOwn {
                    see_own();
                }
                match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            });
        }
        let (done, child) = mpsc::channel();
        let gone = || io::Error::other("the namespace's thread is gone");
        self.keeper.send((command, processes, done)).map_err(|_| gone())?;
        child.recv().map_err(|_| gone())?
    }

    /// Runs a process in the namespace to its end, and returns what it printed.
    ///
    /// # Errors
    /// As of [`Command::output`].
    pub fn output(&self, mut command: Command) -> io::Result<Output> {
        use std::process::Stdio;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.spawn(command)?.wait_with_output()
    }

    /// A path that names the namespace while this lives, for `ip link … netns PATH` and the like.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// Its file, for netlink's `IFLA_NET_NS_FD`.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// Starts a process in a namespace of processes of its own.
fn start_apart(command: &mut Command) -> io::Result<Child> {
    let ours = File::open("/proc/thread-self/ns/pid")?;
    // SAFETY: no memory is involved; only what this thread starts from now on is moved.
    if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let child = command.spawn();
    // SAFETY: no memory is involved, and the descriptor is open.
    match unsafe { libc::setns(ours.as_raw_fd(), libc::CLONE_NEWPID) } {
        0 => child,
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the calling process see its own namespaces in `/sys` (interfaces) and `/proc` (processes),
/// not those of whoever mounted these. Where mounting is not allowed they stay as they are.
fn see_own() {
    let none = std::ptr::null();
    // SAFETY: the strings end with a NUL and outlive the calls; only mounts of this process's own
    // namespace of mounts change, and it is alone.
    unsafe {
        let slave = libc::MS_REC | libc::MS_SLAVE;
        if libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, c"/".as_ptr(), none, slave, none.cast()) == 0
        {
            let own = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            for (kind, at) in [(c"sysfs", c"/sys"), (c"proc", c"/proc")] {
                libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), own, none.cast());
            }
        }
    }
}

/// Moves the calling thread.
fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: no memory is involved, and the descriptor is open.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interfaces(namespace: &Namespace) -> String {
        let dev = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        namespace.run(dev).unwrap()
    }

    #[test]
    fn a_new_one_is_empty_and_its_processes_end_with_it() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(unavailable) => return crate::left_out::left_out(unavailable),
        };
        let names: Vec<_> = interfaces(&namespace).lines().skip(2).map(str::to_owned).collect();
        assert!(names.len() <= 1 || names.iter().all(|line| !line.contains("eth")), "{names:?}");
        assert_ne!(interfaces(&Namespace::current().unwrap()), interfaces(&namespace));
        // By its path it is the same one.
        let again = Namespace::open(namespace.path().to_str().unwrap()).unwrap();
        assert_eq!(interfaces(&again), interfaces(&namespace));

        let echo = namespace.output(Command::new("true")).unwrap();
        assert!(echo.status.success());
        let mut sleeper = Command::new("sleep");
        sleeper.arg("600");
        let mut child = namespace.spawn(sleeper).unwrap();
        drop(namespace);
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn what_a_process_apart_starts_ends_with_it() {
        let Ok(namespace) = Namespace::new() else { return };
        // The grandchild keeps the pipe open; that it ends shows that it is gone.
        for killed in [true, false] {
            let (mut reader, writer) = io::pipe().unwrap();
            let mut shell = Command::new("sh");
            let last = if killed { "wait" } else { ":" };
            shell.args(["-c", &format!("setsid sleep 600 & echo started $$; {last}")]);
            shell.stdout(writer);
            let mut child = namespace.spawn_apart(shell).unwrap();
            let mut said = [0; 10];
            io::Read::read_exact(&mut reader, &mut said).unwrap();
            assert_eq!(said, *b"started 1\n", "it is the first there");
            if killed {
                child.kill().unwrap();
            }
            child.wait().unwrap();
            assert_eq!(io::Read::read(&mut reader, &mut said).unwrap(), 0);
        }
        assert!(namespace.output(Command::new("true")).unwrap().status.success(), "as before");
    }

    #[test]
    fn a_process_apart_sees_its_own() {
        let Ok(namespace) = Namespace::new() else { return };
        let (reader, writer) = io::pipe().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo /sys/class/net/* /proc/[0-9]*"]).stdout(writer);
        let mut child = namespace.spawn_apart(shell).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(io::read_to_string(reader).unwrap(), "/sys/class/net/lo /proc/1\n");
        let ours = format!("/proc/{}", std::process::id());
        assert!(Path::new(&ours).exists(), "as before");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let Err(unavailable) = Namespace::open("no-such-namespace") else { panic!("it is there") };
        let text = unavailable.to_string();
        assert!(text.contains("no-such-namespace: No such file"), "{text}");
        assert!(text.contains("ip netns list"), "{text}");
    }
}
