//! The router on real interfaces.
//!
//! ```text
//!  config.rsc ─► Node ─────────────┐
//!  --port …   ─► PortSpec ─► open ─┴─► Live (the router's thread) ◄─ Supervisor: links up, down, gone
//!                                        ║ ports, or cables to
//!                                      Worker, Worker … each with some of the interfaces' queues
//! ```
//!
//! The configuration is taken over before an interface is touched: one with an error leaves
//! everything as it is. Then the interfaces are opened and put in. At the end nothing more is
//! received, what is queued goes out, and the interfaces are let go; what is killed lets go of them
//! too, since all that is attached hangs on its descriptors.
//!
//! Never changes an interface's settings; that it takes frames for any address ends with us.
//! With `kernel_routes` the kernel's tables are followed, so that a routing daemon drives the FIB.
//! Missing: **several router threads**.

// What the machine allows, told before anything is touched.
mod check;
// The lock on an interface.
pub mod claim;
// From what `--port` says to a way to the interface.
pub mod open;
// A port's interface, whatever it was called by.
pub(crate) mod identity;
// A port whose interface comes and goes.
mod hot_plug;
// Several queues as one line.
mod several;
// Which interface a port is, and how it is opened.
pub mod spec;
// Threads that own the interfaces' queues.
mod worker;
// A watched network namespace in which ports are.
mod namespace;
// The supervisor of the interfaces.
mod supervisor;
// The kernel's routes and neighbours, followed.
mod kernel;
// Limits of the process.
mod limits;
// From the first thread to the last.
mod running;

pub use check::check;
pub use hot_plug::Line;
pub use running::{Final, Running, start};
pub use several::several;
pub use spec::PortSpec;
pub use supervisor::Tell;

use crate::underway::Files;
use port::linux::Unavailable;
use port::slab::SlabError;
use rustix::io::Errno;
use std::fmt;

/// What to run.
#[derive(Clone)]
pub struct Plan {
    /// What the router is called, until its configuration says otherwise.
    pub name: String,
    /// Its ports, named.
    pub ports: Vec<PortSpec>,
    /// How many I/O workers; 0: the router's thread does it all.
    pub workers: usize,
    /// The processors: the router's, then the workers'. Fewer than there are threads: the others
    /// go where the system likes.
    pub cores: Vec<usize>,
    /// The configuration, as a script.
    pub startup: String,
    /// Its files.
    pub files: Files,
    /// Whose routes it follows, if anybody's.
    pub kernel_routes: Option<KernelRoutes>,
}

/// Whose kernel routes a router follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelRoutes {
    /// Those of the namespace that all ports' interfaces are in.
    OfPorts,
    /// Those of the namespace of this name, or at this path if there is a `/` in it.
    Of(String),
}

/// Why it does not run.
#[derive(Debug)]
pub enum StartError {
    /// It was told to end before it ran.
    Interrupted,
    /// The configuration has an error. Nothing was touched.
    Startup(Box<config::Error>),
    /// An interface cannot be had.
    Port(String, Unavailable),
    /// The kernel's routes cannot be followed.
    Routes(Unavailable),
    /// A limit of the process is too low.
    Limit(Unavailable),
    /// No frames.
    Slab(SlabError),
    /// The system has no threads, or no descriptors.
    System(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Interrupted => f.write_str("told to end before it was ready"),
            StartError::Startup(error) => {
                let config::At { line, column } = error.at;
                write!(f, "{line}:{column}: {error}")
            }
            StartError::Port(name, unavailable) => write!(f, "{name}: {unavailable}"),
            StartError::Routes(unavailable) | StartError::Limit(unavailable) => unavailable.fmt(f),
            StartError::Slab(error) => write!(f, "no frames for the router: {error}"),
            StartError::System(error) => {
                write!(f, "no thread, or no descriptor, for the router: {error}")?;
                match error.raw_os_error().map(Errno::from_raw_os_error) {
                    Some(Errno::MFILE | Errno::NFILE) => {
                        f.write_str("; `ulimit -n 1024` or more (LimitNOFILE= in a unit)")
                    }
                    Some(Errno::AGAIN) => {
                        f.write_str("; `ulimit -u` allows fewer threads (TasksMax= in a unit)")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for StartError {}
