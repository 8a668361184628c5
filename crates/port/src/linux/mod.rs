//! Ports on real Linux interfaces, and the little of the system they need.
//!
//! ```text
//!  Port::receive ◄── ring ◄── XDP │ AF_PACKET │ TAP ◄── interface, in some network namespace
//!  Port::send ─────► ring ──►     │           │     ──►
//! ```
//!
//! What cannot be had here is an [`Unavailable`]: what was tried, what the system said, and what to
//! do about it.
//!
//! Never changes an interface's configuration behind the user's back; never leaves anything
//! attached when the process is gone, however it went.

// A network namespace, and what is run in it.
pub mod namespace;
// BPF programs: written, loaded, attached, run.
pub mod bpf;
// What an interface is: its driver, queues, offloads.
pub mod interface;
// An interface that takes frames for any address.
pub mod promiscuous;
// What netlink sockets need beyond safe crates.
pub mod netlink;

// What of an interface's frames is the kernel's, and goes past the port.
mod kernels;
// Ports by AF_XDP: the driver's frames in our memory.
pub mod xdp;

// What the kernel says in front of a frame: virtio's header.
mod vnet;
// What the kernel counts as lost.
mod losses;
// What of that was never our sockets'.
mod ahead;
// AF_PACKET: a copy of what the kernel sees on any interface.
pub mod packet;
// TAP: an interface of our own, whose other end is the kernel.
pub mod tap;
// L2TPv3 over UDP: frames in datagrams.
pub mod l2tp;

pub use kernels::Kernels;
pub use namespace::Namespace;

use std::fmt;
use std::io;

/// Something of the system's that cannot be had, in one sentence with the remedy.
#[derive(Debug)]
pub struct Unavailable {
    /// What was tried: "attach an XDP program to eth1".
    pub tried: String,
    /// What the system said.
    pub error: io::Error,
    /// What to do about it, if anything is known to help: "run as root".
    pub remedy: Option<String>,
}

/// What helps against a lack of rights.
const RIGHTS: &str = "run as root, or with the capabilities CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and \
                      CAP_IPC_LOCK (CAP_SYS_ADMIN as well to enter network namespaces)";

/// What helps against a lack of descriptors.
const DESCRIPTORS: &str = "`ulimit -n 1024` or more (LimitNOFILE= in a unit)";

impl Unavailable {
    /// What the last system call of this thread said about what was `tried`.
    pub fn last(tried: impl Into<String>) -> Unavailable {
        Unavailable::because(tried, io::Error::last_os_error())
    }

    /// With the remedy that always helps against a lack of rights, or of descriptors.
    pub fn because(tried: impl Into<String>, error: io::Error) -> Unavailable {
        let remedy = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Some(RIGHTS.to_string()),
            Some(libc::EMFILE | libc::ENFILE) => Some(DESCRIPTORS.to_string()),
            _ => None,
        };
        Unavailable { tried: tried.into(), error, remedy }
    }

    /// The same with another remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Unavailable {
        self.remedy = Some(remedy.into());
        self
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.tried, self.error)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for Unavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
