//! Whether an interface's wire carries, asked from any thread.
//!
//! ```text
//!  opened in the interface's namespace ─► a socket that stays there ─► its flags, now
//! ```
//!
//! For those who do not listen to netlink. The interface is known by its number: one that was
//! deleted and made anew under the same name is another.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

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
        if !ask(libc::SIOCGIFNAME as _) || !ask(libc::SIOCGIFFLAGS as _) {
            return Link::Gone;
        }
        // SAFETY: SIOCGIFFLAGS has filled in the flags.
        let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
        let running = libc::IFF_UP | libc::IFF_RUNNING;
        if flags & running == running { Link::Running } else { Link::Down }
    }
}

/// Waits until no processor is inside an XDP program's run that began before.
pub(super) fn settle() {
    // `MEMBARRIER_CMD_GLOBAL` waits for a grace period of RCU, under which XDP programs run.
    const GLOBAL: libc::c_int = 1;
    // SAFETY: no memory is involved. Where the call is missing, closing the socket does the same.
    unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0) };
}
