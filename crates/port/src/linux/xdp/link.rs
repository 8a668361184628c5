//! Carrier of an interface's wire, asked from any thread.
//!
//! ```text
//!  opened in the interface's namespace ─► a socket that stays there ─► its flags, now
//! ```
//!
//! For those who do not listen to netlink. The interface is known by its number: one that was
//! deleted and made anew under the same name is another.

use super::Facts;
use crate::linux::interface;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// What an interface's link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Up, and the wire carries.
    Running,
    /// Switched off, or nothing at the other end.
    Down,
    /// The interface is not there any more, and this one will not come back.
    Gone,
}

/// A way to ask about one interface.
pub(super) struct Watch {
    socket: OwnedFd,
    index: u32,
}

impl Watch {
    /// For the interface of this number in the calling thread's namespace.
    pub(super) fn new(index: u32) -> io::Result<Watch> {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened, and belongs to nobody else.
        Ok(Watch { socket: unsafe { OwnedFd::from_raw_fd(fd) }, index })
    }

    pub(super) fn link(&self) -> Link {
        // SAFETY: `ifreq` is plain memory, for which all zeros are legal.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_ifru.ifru_ifindex = self.index as libc::c_int;
        let mut ask = |what| {
            // SAFETY: both requests read and write one `ifreq`, which lives until the call ends.
            unsafe { libc::ioctl(self.socket.as_raw_fd(), what, &raw mut request) == 0 }
        };
        // Its name now: it may have been renamed, or moved to another namespace, where it is out of
        // our sight and as good as gone.
        if !ask(libc::SIOCGIFNAME as _) {
            return Link::Gone;
        }
        // While it is renamed, for milliseconds, it is known by neither name.
        if !ask(libc::SIOCGIFFLAGS as _) {
            return Link::Down;
        }
        // SAFETY: SIOCGIFFLAGS has filled in the flags.
        let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        let running = libc::IFF_UP | libc::IFF_RUNNING;
        if flags & running == running { Link::Running } else { Link::Down }
    }

    /// Another one of the same interface.
    pub(super) fn try_clone(&self) -> io::Result<Watch> {
        Ok(Watch { socket: self.socket.try_clone()?, index: self.index })
    }
}

/// Whether an interface has as many queues as when its port was opened.
pub struct QueueWatch {
    watch: Watch,
    interface: String,
    rx: u32,
    tx: u32,
}

impl QueueWatch {
    pub(super) fn new(watch: Watch, facts: &Facts) -> QueueWatch {
        let Facts { interface, rx_queues: rx, tx_queues: tx, .. } = facts.clone();
        QueueWatch { watch, interface, rx, tx }
    }

    /// What has changed, in words; `None` if nothing has, or the interface is gone. It takes the lock
    /// under which interfaces are changed: not for a thread that moves frames.
    pub fn changed(&self) -> Option<String> {
        let QueueWatch { watch, interface, rx, tx } = self;
        let now = interface::queues(watch.socket.as_fd(), watch.index)?;
        ((now.rx, now.tx) != (*rx, *tx)).then(|| {
            format!(
                "the interface {interface} receives by {} queues and sends by {}, not {rx} and {tx} \
                 as when it was opened",
                now.rx, now.tx
            )
        })
    }
}

/// Waits until no processor is inside an XDP program's run that began before.
pub(super) fn settle() {
    // `MEMBARRIER_CMD_GLOBAL` waits for a grace period of RCU, under which XDP programs run.
    const GLOBAL: libc::c_int = 1;
    // SAFETY: no memory is involved. Where the call is missing, closing the socket does the same.
    unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0) };
}
