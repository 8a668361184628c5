//! One AF_XDP socket: made, bound to a queue of an interface, asked and woken.
//!
//! ```text
//!  Socket::new ─► register (or share) ─► four rings ─► bind ─► kick, statistics
//! ```
//!
//! Every system call of the backend but those of BPF is here, and nothing else. Never keeps state
//! about frames.
//!
//! Source: `linux/if_xdp.h`, the kernel's `Documentation/networking/af_xdp.rst`.

use super::ring::{Consumer, Descriptor, Entry, Producer};
use crate::Slab;
use crate::mapping::Mapping;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// `XDP_MAX_TX_SKB_BUDGET`, Linux 6.17: how many frames one system call sends in copy mode.
const MAX_TX_BUDGET: libc::c_int = 9;

/// An AF_XDP socket in the calling thread's network namespace.
pub(super) struct Socket {
    fd: OwnedFd,
}

/// A socket's rings: all that goes between us and the kernel but wake-up calls.
pub(super) struct Rings {
    pub(super) fill: Producer<u64>,
    pub(super) completion: Consumer<u64>,
    pub(super) rx: Consumer<Descriptor>,
    pub(super) tx: Producer<Descriptor>,
}

/// How a socket asks to be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    /// The driver reads and writes the UMEM itself.
    pub(super) zero_copy: bool,
    /// Long frames come and go as several descriptors.
    pub(super) multi_buffer: bool,
}

impl Socket {
    pub(super) fn new() -> io::Result<Socket> {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened, and belongs to nobody else.
        Ok(Socket { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Makes the slab's memory a UMEM, which this socket begins.
    pub(super) fn register(&self, slab: &Slab) -> io::Result<()> {
        let ((addr, len), (chunk, aligned)) = (slab.memory(), slab.slots().chunk());
        let registration = libc::xdp_umem_reg {
            addr: addr as u64,
            len: len as u64,
            chunk_size: chunk as u32,
            headroom: 0,
            flags: if aligned { 0 } else { libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG },
            tx_metadata_len: 0,
        };
        // The kernel pins these pages; a fork would copy every one of them at once.
        // SAFETY: the slab's own mapping, whose contents stay; only what a fork does is changed.
        unsafe { libc::madvise(addr.cast(), len, libc::MADV_DONTFORK) };
        self.set(libc::XDP_UMEM_REG, &registration)
    }

    /// Makes the four rings, fill and completion of `2 * entries`, so that what is under way in the
    /// driver never finds them full.
    pub(super) fn rings(&self, entries: u32) -> io::Result<Rings> {
        let (rx, tx, fill, completion) = (entries, entries, 2 * entries, 2 * entries);
        self.set(libc::XDP_UMEM_FILL_RING, &fill)?;
        self.set(libc::XDP_UMEM_COMPLETION_RING, &completion)?;
        self.set(libc::XDP_RX_RING, &rx)?;
        self.set(libc::XDP_TX_RING, &tx)?;
        let offsets: libc::xdp_mmap_offsets = self.get(libc::XDP_MMAP_OFFSETS)?;
        let map = |offsets: &libc::xdp_ring_offset, bytes: usize, at: libc::off_t| {
            Mapping::shared(self.fd.as_fd(), offsets.desc as usize + bytes, at)
        };
        fn bytes<T: Entry>(entries: u32) -> usize {
            entries as usize * size_of::<T>()
        }
        let (fill_at, completion_at) =
            (libc::XDP_UMEM_PGOFF_FILL_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING);
        let (fr, cr) = (&offsets.fr, &offsets.cr);
        let (rx_bytes, tx_bytes) = (bytes::<Descriptor>(rx), bytes::<Descriptor>(tx));
        let fill_map = map(fr, bytes::<u64>(fill), fill_at as libc::off_t)?;
        let completion_map = map(cr, bytes::<u64>(completion), completion_at as libc::off_t)?;
        let rx_map = map(&offsets.rx, rx_bytes, libc::XDP_PGOFF_RX_RING)?;
        let tx_map = map(&offsets.tx, tx_bytes, libc::XDP_PGOFF_TX_RING)?;
        Ok(Rings {
            fill: Producer::new(fill_map, fr, fill),
            completion: Consumer::new(completion_map, cr, completion),
            rx: Consumer::new(rx_map, &offsets.rx, rx),
            tx: Producer::new(tx_map, &offsets.tx, tx),
        })
    }

    /// Binds it to a queue, with the UMEM it began, or the one of the socket `donor`, whose manner
    /// it then has.
    pub(super) fn bind(
        &self,
        interface: u32,
        queue: u32,
        manner: Manner,
        donor: Option<RawFd>,
    ) -> io::Result<()> {
        let mut flags = match donor {
            Some(_) => libc::XDP_SHARED_UMEM, // the only one allowed then
            None if manner.zero_copy => libc::XDP_USE_NEED_WAKEUP | libc::XDP_ZEROCOPY,
            None => libc::XDP_USE_NEED_WAKEUP | libc::XDP_COPY,
        };
        if manner.multi_buffer && donor.is_none() {
            flags |= libc::XDP_USE_SG;
        }
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: donor.unwrap_or(0) as u32,
        };
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is of this length and lives until the call ends.
        done(unsafe { libc::bind(self.as_raw_fd(), (&raw const address).cast(), len) })
    }

    /// Lets one [`kick`](Self::kick) send up to `frames` frames in copy mode; how many it will.
    pub(super) fn budget(&self, frames: u32) -> u32 {
        let unless = 32; // TX_BATCH_SIZE
        let wanted = frames.max(unless);
        self.set(MAX_TX_BUDGET, &wanted).map_or(unless, |()| wanted)
    }

    /// Has room made for `bytes` of packets on their way out; best effort.
    pub(super) fn send_buffer(&self, bytes: libc::c_int) {
        for option in [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF] {
            if set(self.as_raw_fd(), libc::SOL_SOCKET, option, &bytes).is_ok() {
                return;
            }
        }
    }

    /// Has the kernel send what is in the tx ring.
    #[inline]
    pub(super) fn kick(&self) -> io::Result<()> {
        // SAFETY: nothing is sent but what the rings say.
        let sent = unsafe {
            libc::sendto(
                self.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        if sent >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Has the driver take from the fill ring what it needs.
    #[inline]
    pub(super) fn wake(&self) {
        // SAFETY: nothing is received, and there is no buffer to write.
        unsafe {
            libc::recvfrom(
                self.as_raw_fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
        }
    }

    /// What the kernel has counted; zeros if it does not say.
    pub(super) fn statistics(&self) -> libc::xdp_statistics {
        self.get(libc::XDP_STATISTICS).unwrap_or(libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        })
    }

    /// Whether the driver works on the UMEM itself.
    pub(super) fn is_zero_copy(&self) -> bool {
        let options = self.get(libc::XDP_OPTIONS).unwrap_or(libc::xdp_options { flags: 0 });
        options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0
    }

    fn set<T>(&self, option: libc::c_int, value: &T) -> io::Result<()> {
        set(self.as_raw_fd(), libc::SOL_XDP, option, value)
    }

    /// `T` is what the option has: plain numbers.
    fn get<T: Plain>(&self, option: libc::c_int) -> io::Result<T> {
        // SAFETY: zero is a value of plain numbers.
        let mut value: T = unsafe { std::mem::zeroed() };
        let mut len = size_of::<T>() as libc::socklen_t;
        let (fd, to) = (self.as_raw_fd(), (&raw mut value).cast());
        // SAFETY: the kernel writes at most `len` bytes of plain numbers.
        done(unsafe { libc::getsockopt(fd, libc::SOL_XDP, option, to, &raw mut len) })?;
        // An older kernel knows fewer of them.
        if len as usize == size_of::<T>() {
            Ok(value)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// What [`Socket::get`] may read.
///
/// # Safety
/// Only plain numbers: any bytes are a value.
unsafe trait Plain {}
// SAFETY: numbers only.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: numbers only.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: numbers only.
unsafe impl Plain for libc::xdp_options {}

fn set<T>(fd: RawFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads at most `len` bytes of `value`.
    done(unsafe { libc::setsockopt(fd, level, option, (&raw const *value).cast(), len) })
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
