//! An interface that takes frames for whatever address: what a bridge's port needs of a network
//! card.
//!
//! ```text
//!  Promiscuous::hold(7) ─► a packet socket that receives nothing, a member of interface 7
//!  dropped, or the process ends ─► as it was before
//! ```
//!
//! The kernel counts who wants it, so that nobody else's wish is lost with ours. Never receives a
//! frame.
//!
//! Source: `packet(7)`, `PACKET_ADD_MEMBERSHIP`.

use super::Unavailable;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An interface that is promiscuous while this lives.
#[derive(Debug)]
pub struct Promiscuous {
    /// Held, not read.
    _socket: OwnedFd,
}

impl Promiscuous {
    /// The interface of this number in the calling thread's namespace.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, or no such interface.
    pub fn hold(index: u32) -> Result<Promiscuous, Unavailable> {
        let tried = || format!("let interface {index} take frames for any address");
        // Protocol 0: nothing is received.
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Unavailable::last(tried()));
        }
        // SAFETY: it was just opened, and belongs to nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let member = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        // SAFETY: `member` is as long as said and lives until the call ends, which only reads it.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                (&raw const member).cast(),
                size_of::<libc::packet_mreq>() as libc::socklen_t,
            )
        };
        match done {
            0 => Ok(Promiscuous { _socket: socket }),
            _ => Err(Unavailable::last(tried())),
        }
    }
}
