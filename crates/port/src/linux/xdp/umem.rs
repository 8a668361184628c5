//! The slab as the UMEM of every AF_XDP socket of the process.
//!
//! ```text
//!            ┌── socket eth0 queue 0 ── registered it
//!  slab ═ UMEM ── socket eth0 queue 1 ── shares it
//!            └── socket eth1 queue 0 ── shares it, in another network namespace too
//! ```
//!
//! A socket that shares has the manner (zero-copy, multi-buffer) of the one that registered, so
//! there is a UMEM for each manner, all over the same memory: a descriptor that came in by one is as
//! good in another. Against RLIMIT_MEMLOCK the memory counts once for each.
//!
//! In copy mode the kernel writes to a socket's slots only while the socket is open. A zero-copy
//! driver has them until it has let go of the queue, some time after: a [`Spare`] socket, which the
//! queue then takes, tells when.
//!
//! Never moves a byte.

use super::socket::{Manner, Rings, Socket};
use crate::Slab;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The process's bound sockets, by the memory they serve.
static MEMBERS: Mutex<Vec<Member>> = Mutex::new(Vec::new());

#[derive(Clone, Copy)]
struct Member {
    /// Where the slab's memory begins: its name while a socket of it lives.
    memory: usize,
    manner: Manner,
    fd: RawFd,
}

/// A socket bound to a queue, with its UMEM. Its rings come before it: as long as they are mapped the
/// kernel keeps the socket open.
pub(super) struct Bound {
    pub(super) rings: Rings,
    joined: Joined,
    /// Whether it shares another's UMEM.
    pub(super) shares: bool,
    /// Of a zero-copy socket.
    spare: Option<Spare>,
    /// Its memory, which lives at least as long.
    _slab: Slab,
}

/// A socket that others may share with.
struct Joined(ManuallyDrop<Socket>);

/// What went wrong, and at which step.
pub(super) struct Failure {
    pub(super) step: Step,
    pub(super) error: io::Error,
}

/// The steps to a bound socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Socket,
    Register,
    Rings,
    Bind,
}

impl Bound {
    /// A socket of `slab` on a queue of an interface of this thread's namespace.
    pub(super) fn new(
        slab: &Slab,
        interface: u32,
        queue: u32,
        manner: Manner,
        entries: u32,
    ) -> Result<Bound, Failure> {
        let memory = slab.memory().0 as usize;
        let mut members = members();
        let donors: Vec<RawFd> = members
            .iter()
            .filter(|member| member.memory == memory && member.manner == manner)
            .map(|member| member.fd)
            .collect();
        // A donor whose interface is gone is none any more; with none left, begin a new UMEM.
        for donor in donors.into_iter().map(Some).chain([None]) {
            let at = |step| move |error| Failure { step, error };
            let socket = Socket::new().map_err(at(Step::Socket))?;
            if donor.is_none() {
                socket.register(slab).map_err(at(Step::Register))?;
            }
            let rings = socket.rings(entries).map_err(at(Step::Rings))?;
            let spare = || Spare::new(interface, queue).map_err(at(Step::Register));
            let spare = manner.zero_copy.then(spare).transpose()?;
            match socket.bind(interface, queue, manner, donor) {
                Err(error) if donor.is_some() && error.raw_os_error() == Some(libc::EBADF) => {}
                Err(error) => return Err(Failure { step: Step::Bind, error }),
                Ok(()) => {
                    members.push(Member { memory, manner, fd: socket.as_raw_fd() });
                    let joined = Joined(ManuallyDrop::new(socket));
                    let shares = donor.is_some();
                    return Ok(Bound { rings, joined, shares, spare, _slab: slab.clone() });
                }
            }
        }
        unreachable!("without a donor a bind fails in another way or succeeds")
    }

    #[inline]
    pub(super) fn socket(&self) -> &Socket {
        &self.joined.0
    }

    /// Closes the socket. Whether the kernel has let go of all that it had.
    pub(super) fn close(self) -> bool {
        let Bound { rings, joined, spare, .. } = self;
        drop(rings);
        drop(joined);
        spare.is_none_or(Spare::wait)
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let mut members = members();
        members.retain(|member| member.fd != self.0.as_raw_fd());
        // While the list is locked: the descriptor's number may be another socket's at once.
        // SAFETY: this is the only place where it is dropped, and `self` is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

/// A socket with a little memory of its own that is bound to a queue when that has become free.
pub(super) struct Spare {
    socket: Socket,
    interface: u32,
    queue: u32,
    _rings: Rings,
    _memory: Slab,
}

impl Spare {
    /// In the calling thread's network namespace.
    fn new(interface: u32, queue: u32) -> io::Result<Spare> {
        let (socket, memory) = (Socket::new()?, Slab::new(64).map_err(io::Error::other)?);
        socket.register(&memory)?;
        let rings = socket.rings(32)?;
        Ok(Spare { socket, interface, queue, _rings: rings, _memory: memory })
    }

    /// Whether the queue is free, or its interface gone.
    fn is_free(&self) -> bool {
        let manner = Manner { zero_copy: false, multi_buffer: false };
        let bound = self.socket.bind(self.interface, self.queue, manner, None);
        bound.map_or_else(|error| error.raw_os_error() != Some(libc::EBUSY), |()| true)
    }

    /// Waits until it is, two seconds at most; whether it is.
    fn wait(self) -> bool {
        (0..100).any(|_| {
            let is_free = self.is_free();
            if !is_free {
                std::thread::sleep(Duration::from_millis(20));
            }
            is_free
        })
    }
}

fn members() -> MutexGuard<'static, Vec<Member>> {
    // Its entries are whole after a panic elsewhere.
    MEMBERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::left_out::{lacks, left_out};
    use crate::linux::Namespace;

    /// In copy mode, since veth has no other: the queue is taken as long as a socket has it.
    #[test]
    fn a_spare_knows_when_a_queue_is_free() {
        if lacks(&["ip"]) {
            return;
        }
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(unavailable) => {
                return left_out(unavailable);
            }
        };
        let mut ip = std::process::Command::new("ip");
        ip.args("link add va type veth peer name vb".split(' '));
        assert!(namespace.output(ip).unwrap().status.success());
        let slab = Slab::new(256).unwrap();
        let test = || {
            // SAFETY: the name ends with a zero.
            let va = unsafe { libc::if_nametoindex(c"va".as_ptr()) };
            let manner = Manner { zero_copy: false, multi_buffer: false };
            let bind = || Bound::new(&slab, va, 0, manner, 64);
            let Ok(first) = bind() else { panic!("not bound") };
            let spare = Spare::new(va, 0).unwrap();
            assert!(!spare.is_free());
            // A second socket is refused, and the list of members is as before.
            assert!(bind().is_err_and(|failure| failure.step == Step::Bind));
            assert!(first.close() && spare.wait());
            assert!(members().iter().all(|member| member.memory != slab.memory().0 as usize));
        };
        namespace.run(test).unwrap();
    }
}
