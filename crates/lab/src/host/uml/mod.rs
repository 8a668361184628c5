//! A machine of a lab: a Linux kernel of its own, User Mode Linux, as the peer of our router.
//!
//! ```text
//! Machine ─┬─ linux.uml, in a namespace of processes of its own, in the machines' network namespace
//!          │    vec0 = eth1 ══ UDP, 127.0.0.1 ══ a router's port (L2TPv3), another machine
//!          │    ttyS0 ◄── pty ── "1 mark": end what runs on line 1          ready ──►
//!          └─ start(words) ─► Job ── pty ─► ttyS1 … ttyS16 ── what it prints, mark, status ──►
//! ```
//!
//! What the kernel under us lacks, this one has as modules (VLANs, 802.1ad, bridges with VLANs,
//! bonding, tunnels), and so it speaks what the router is tested with. Programs are the host's, read
//! by `hostfs`; what they write is kept in the machine's memory and goes with it.
//!
//! Its whole state is in processes of one namespace and in a `tmpfs` that only they see, and all of
//! them die with their first, which dies with us: nothing is left, however the lab went.
//!
//! # Why not veth pairs
//!
//! The vector device can be on a packet socket (`raw`), but the kernel takes a frame's first VLAN tag
//! out of what such a socket reads: a trunk arrives untagged (20 of 20 tagged frames, 6.1 on 6.18). What
//! a bridge inside sends would come back to it too, and checksums would be left to do. L2TPv3 over UDP
//! has frames as they are, and a link can go down and up again.
//!
//! Never touches the network of this machine, nor its modules.
//! Missing: **links to nodes of kind linux** (put a router between; it may run inside one), **a way in from outside** (`lab list`
//! names namespaces only), **more than one processor** (User Mode Linux has none).

mod kernel;
mod line;
mod script;

pub(crate) use kernel::Kernel;
pub(super) use line::Job;

use super::process::Process;
use crate::clock::Clock;
use crate::topology::HostSpec;
use line::Lines;
use port::linux::l2tp::SESSION;
use port::linux::{Namespace, Unavailable};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use wire::MacAddr;

/// How long one may take to boot: 2 s on an idle machine, more the busier it is.
const BOOT: Duration = Duration::from_secs(120);
/// The pause between two looks at whether it is there, or still.
const LOOK: Duration = Duration::from_millis(20);
/// The memory of one.
const MEMORY: &str = "mem=192M";
/// How many lines of its console are kept.
const KEPT: usize = 12;

/// A machine.
pub struct Machine {
    name: String,
    child: Mutex<Child>,
    console: Arc<Mutex<VecDeque<String>>>,
    /// Reads the console to its end.
    reader: Mutex<Option<thread::JoinHandle<()>>>,
    lines: Lines,
    /// It ends with the thread that started it, which ends with this.
    _namespace: Arc<Namespace>,
}

/// Whether there can be machines here: whether the packages are there.
///
/// # Errors
/// [`Unavailable`]: which is not.
pub fn is_there() -> Result<(), Unavailable> {
    Kernel::find().map(drop)
}

/// One end of a cable of a machine's.
pub(crate) struct Plugged {
    pub(crate) mac: MacAddr,
    pub(crate) mtu: Option<u32>,
    /// The UDP ports of this end and of the other.
    pub(crate) ports: [u16; 2],
}

/// A cable between machines, or a machine and a router: the addresses of its ends, in the machines'
/// namespace.
pub(crate) fn address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

impl Machine {
    /// Begins to boot one, whose kernel is told this of its interfaces; [`wait`](Machine::wait) until it is
    /// there.
    ///
    /// # Errors
    /// [`Unavailable`]: an unknown module, no terminals, no rights.
    pub(crate) fn boot(
        name: &str,
        kernel: &Kernel,
        spec: &HostSpec,
        devices: &[String],
        namespace: &Arc<Namespace>,
        directory: &Path,
    ) -> Result<Machine, Unavailable> {
        let tried = "boot User Mode Linux";
        let because = |error| Unavailable::because(tried, error);
        let directory = std::fs::canonicalize(directory).map_err(because)?;
        let modules: Vec<_> = spec.modules.iter().map(String::as_str).collect();
        let modules = kernel.modules(&[&["overlay"][..], &modules].concat())?;
        let (lines, terminals) = Lines::open().map_err(because)?;
        let init = script::init(name, kernel, &modules, spec, &directory);
        let (reader, writer) = io::pipe().map_err(because)?;

        // Number 1 is a shell that waits for the kernel, for one that panics ends itself by a signal,
        // which number 1 would not get. A file system that nobody else sees, over a directory that the lab is not in: not under
        // /dev, where the machine has its own.
        let own = if directory.starts_with("/mnt") { "/media" } else { "/mnt" };
        let mut command = Command::new(&kernel.busybox);
        let begin = r#"b=$0 own=$1 init=$2 preload=$3 && shift 3 &&
            "$b" mount -t tmpfs own "$own" && "$b" printf %s "$init" >"$own/init" &&
            "$b" chmod 700 "$own/init" && export TMPDIR="$own" &&
            if [ -n "$preload" ]; then
                "$b" printf %s "$preload" | cc -x c -shared -fPIC -O2 -o "$own/preload.so" - &&
                    export LD_PRELOAD="$own/preload.so"
            fi && "$@"; exit $?"#;
        let preload = kernel.preload.unwrap_or_default();
        command.args(["sh", "-c", begin]).arg(&kernel.busybox).args([own, &init, preload]);
        command.arg(&kernel.program).args([MEMORY, "root=/dev/root", "rootfstype=hostfs"]);
        command.args(["rootflags=/", "ro", "quiet", "con=null", "con0=null,fd:1", "ssl=null"]);
        command.args([format!("init={own}/init"), format!("uml_dir={own}/"), "umid=peer".into()]);
        command.args(terminals.iter().enumerate().map(|(at, path)| format!("ssl{at}=tty:{path}")));
        command.args(devices.iter().enumerate().map(|(at, device)| format!("vec{at}:{device}")));
        command.current_dir(&directory).stdin(Stdio::null());
        command.stdout(writer.try_clone().map_err(because)?).stderr(writer);
        // At its end it signals its process group, which must not be ours.
        command.process_group(0);
        let child = namespace.spawn_apart(command).map_err(because)?;

        let console = Arc::new(Mutex::new(VecDeque::new()));
        let mut machine = Machine {
            name: name.to_string(),
            child: Mutex::new(child),
            console,
            reader: Mutex::new(None),
            lines,
            _namespace: Arc::clone(namespace),
        };
        let console = Arc::clone(&machine.console);
        let read = thread::Builder::new().name(format!("{name} console")).spawn(move || {
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
                console.push_back(String::from_utf8_lossy(&line).trim_end().to_string());
                if console.len() > KEPT {
                    console.pop_front();
                }
            }
        });
        machine.reader = Mutex::new(Some(read.map_err(because)?));
        Ok(machine)
    }

    /// Waits until it is there, with its addresses and routes.
    ///
    /// # Errors
    /// [`Unavailable`]: it is not, with what its console says.
    pub(crate) fn wait(&mut self) -> Result<(), Unavailable> {
        let clock = Clock::start();
        let begin = clock.now();
        let said = loop {
            if let Some(said) = self.lines.said(LOOK) {
                break said;
            }
            if let Some(why) = self.failure() {
                break why;
            }
            if clock.now().since(begin) >= BOOT {
                break format!("not within {BOOT:?}: {}", self.console());
            }
        };
        if said == "ready" {
            self.lines.read();
            return Ok(());
        }
        let why = said.strip_prefix("fails ").unwrap_or(&said);
        Err(Unavailable::because("boot User Mode Linux", io::Error::other(why.to_string())))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a program on it, in the lab's directory.
    ///
    /// # Errors
    /// It is gone, or too many programs run there.
    pub fn start(&self, words: &[String]) -> io::Result<Process> {
        self.lines.start(words)
    }

    /// Why it runs no more, if it does not.
    pub fn failure(&self) -> Option<String> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = !self.lines.is_gone() && matches!(child.try_wait(), Ok(None));
        drop(child);
        if runs {
            return None;
        }
        // What it said last may still be under way.
        self.end();
        Some(format!("its kernel has ended: {}", self.console()))
    }

    /// Ends it: when this is over nothing is left of it.
    pub(super) fn end(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reader) = reader {
            let _ = reader.join();
        }
    }

    /// What its console says, in one line.
    fn console(&self) -> String {
        let console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        // A panic is followed by pages of how it came about.
        let panic = console.iter().find(|line| line.contains("panic"));
        let last = || console.iter().rfind(|line| !line.is_empty());
        panic.or_else(last).cloned().unwrap_or("its console says nothing".to_string())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end();
    }
}

impl Plugged {
    /// The device, in the kernel's command line.
    pub(crate) fn device(&self) -> String {
        let [own, peer] = self.ports;
        let mtu = self.mtu.map_or(String::new(), |mtu| format!(",mtu={mtu}"));
        let session = format!("rx_session={SESSION},tx_session={SESSION}");
        let ends = format!("src=127.0.0.1,srcport={own},dst=127.0.0.1,dstport={peer}");
        format!("transport=l2tpv3,udp=1,{ends},{session},depth=64,mac={}{mtu}", self.mac)
    }
}
