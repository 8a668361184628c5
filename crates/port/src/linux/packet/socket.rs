//! One AF_PACKET socket and its system calls.

use super::ring::{self, Ring};
use crate::linux::vnet;
use crate::mapping::Mapping;
use std::ffi::{c_int, c_uint};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

// linux/if_packet.h
const ADD_MEMBERSHIP: c_int = 1;
const RX_RING: c_int = 5;
const STATISTICS: c_int = 6;
const COPY_THRESH: c_int = 7;
const VERSION: c_int = 10;
const VNET_HEADER: c_int = 15;
const FANOUT: c_int = 18;
const QDISC_BYPASS: c_int = 20;
const IGNORE_OUTGOING: c_int = 23;
const TPACKET_V2: c_int = 1;
const PROMISCUOUS: u16 = 1;
/// `PACKET_FANOUT_HASH`, by the flow: the same socket for the same addresses and ports.
const BY_FLOW: c_int = 0;
const FANOUT_IGNORE_OUTGOING: c_int = 0x4000 << 16;
const FANOUT_UNIQUE: c_int = 0x2000 << 16;

/// Frames given to the kernel in one call.
pub(super) const BURST: usize = 64;

/// Bytes the kernel takes at once for a part of the ring.
const BLOCK: usize = 64 << 10;

/// What long frames may take of the kernel's memory until we read them.
const LONG_FRAMES: c_int = 16 << 20;

/// A socket, bound to an interface.
pub(super) struct Socket(OwnedFd);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[repr(C)]
struct RingRequest {
    block_size: c_uint,
    blocks: c_uint,
    place: c_uint,
    places: c_uint,
}

impl Socket {
    /// Bound to the interface of this number, in promiscuous mode, with a ring of about `places`
    /// frames of up to `longest` bytes. With `bypass` what is sent does not pass the interface's
    /// qdisc: a little faster, but the kernel then drops super-frames that the driver cannot cut.
    pub(super) fn open(
        index: u32,
        longest: usize,
        places: u32,
        bypass: bool,
    ) -> io::Result<(Socket, Ring)> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Protocol 0: nothing is received before all is set.
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened, and belongs to nobody else.
        let socket = Socket(unsafe { OwnedFd::from_raw_fd(fd) });
        for (option, value) in [
            (VERSION, TPACKET_V2),
            (VNET_HEADER, 1),
            (IGNORE_OUTGOING, 1),
            (QDISC_BYPASS, c_int::from(bypass)),
            // What is too long for its place can be read from the socket.
            (COPY_THRESH, 1),
        ] {
            socket.set(libc::SOL_PACKET, option, &value)?;
        }
        // Beyond the system's limit if we may, else up to it.
        let room = LONG_FRAMES;
        if socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room).is_err() {
            socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &room)?;
        }
        let place = ring::place_for(longest);
        let block = BLOCK.max(place);
        let blocks = (places as usize * place).div_ceil(block).max(1);
        let places = blocks * (block / place);
        let request = RingRequest {
            block_size: block as c_uint,
            blocks: blocks as c_uint,
            place: place as c_uint,
            places: places as c_uint,
        };
        socket.set(libc::SOL_PACKET, RX_RING, &request)?;
        let mapping = Mapping::shared(socket.0.as_fd(), blocks * block, 0)?;
        let ring = Ring::new(mapping, place, places);
        socket.bind(index)?;
        let membership = libc::packet_mreq {
            mr_ifindex: index as c_int,
            mr_type: PROMISCUOUS,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::SOL_PACKET, ADD_MEMBERSHIP, &membership)?;
        Ok((socket, ring))
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: `sockaddr_ll` is plain memory, for which all zeros are legal.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as c_int;
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address lives until the call ends, and is as long as said.
        done(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len) })
    }

    /// Begins a group of sockets that share what comes in, by flow; returns its number.
    pub(super) fn begin_group(&self) -> io::Result<u16> {
        let value = BY_FLOW | FANOUT_IGNORE_OUTGOING | FANOUT_UNIQUE;
        self.set(libc::SOL_PACKET, FANOUT, &value)?;
        let mut value: c_int = 0;
        self.get(FANOUT, &mut value)?;
        Ok(value as u16)
    }

    /// Joins a group.
    pub(super) fn join_group(&self, group: u16) -> io::Result<()> {
        let value = c_int::from(group) | BY_FLOW | FANOUT_IGNORE_OUTGOING;
        self.set(libc::SOL_PACKET, FANOUT, &value)
    }

    /// Frames that came to it since this was last asked, and those of them that were dropped because
    /// the ring was full.
    pub(super) fn statistics(&self) -> (u64, u64) {
        let mut counts: [c_uint; 2] = [0; 2];
        self.get(STATISTICS, &mut counts).map_or((0, 0), |()| (counts[0].into(), counts[1].into()))
    }

    /// Whether the interface it was bound to is no more.
    pub(super) fn is_gone(&self) -> bool {
        // SAFETY: `sockaddr_ll` is plain memory, for which all zeros are legal.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: both live until the call ends, and the address is as long as said.
        let asked = unsafe {
            libc::getsockname(self.0.as_raw_fd(), (&raw mut address).cast(), &raw mut len)
        };
        asked == 0 && address.sll_ifindex <= 0
    }

    /// Reads a frame that was too long for its place: virtio's header, then as much as fits both
    /// parts; returns its length.
    pub(super) fn read_long(&self, parts: [&mut [u8]; 2]) -> io::Result<usize> {
        let mut header = [0; vnet::LEN];
        let [a, b] = parts;
        let mut iov = [
            libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header.len() },
            libc::iovec { iov_base: a.as_mut_ptr().cast(), iov_len: a.len() },
            libc::iovec { iov_base: b.as_mut_ptr().cast(), iov_len: b.len() },
        ];
        // SAFETY: a descriptor that is open, and three parts that are exclusively ours until the
        // call ends.
        let n = unsafe { libc::readv(self.0.as_raw_fd(), iov.as_mut_ptr(), 3) };
        match usize::try_from(n) {
            Ok(n) => Ok(n.saturating_sub(vnet::LEN)),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Sends up to [`BURST`] frames, each behind its header, in one call; returns how many went
    /// before one did not.
    pub(super) fn send(&self, headers: &[[u8; vnet::LEN]], frames: &[&[u8]]) -> io::Result<usize> {
        let n = frames.len().min(headers.len()).min(BURST);
        // SAFETY: plain memory, for which all zeros are legal.
        let mut parts: [libc::iovec; 2 * BURST] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BURST] = unsafe { std::mem::zeroed() };
        for (at, (header, frame)) in headers.iter().zip(frames).take(n).enumerate() {
            let [a, b] = [&header[..], frame].map(|part| libc::iovec {
                iov_base: part.as_ptr().cast_mut().cast(),
                iov_len: part.len(),
            });
            (parts[2 * at], parts[2 * at + 1]) = (a, b);
        }
        let first = parts.as_mut_ptr();
        for (at, message) in messages.iter_mut().take(n).enumerate() {
            // SAFETY: `at` is below BURST.
            message.msg_hdr.msg_iov = unsafe { first.add(2 * at) };
            message.msg_hdr.msg_iovlen = 2;
        }
        // SAFETY: `n` messages of two parts each, all of which live until the call ends; the kernel
        // reads them only.
        let sent = unsafe {
            libc::sendmmsg(
                self.0.as_raw_fd(),
                messages.as_mut_ptr(),
                n as c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn set<T>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        let len = size_of::<T>() as libc::socklen_t;
        // SAFETY: the descriptor is open, the value is as long as said and lives until the call ends.
        done(unsafe {
            libc::setsockopt(self.0.as_raw_fd(), level, option, (value as *const T).cast(), len)
        })
    }

    /// Only for values for which any bytes are legal.
    fn get<T: Copy>(&self, option: c_int, value: &mut T) -> io::Result<()> {
        let mut len = size_of::<T>() as libc::socklen_t;
        let value = (value as *mut T).cast();
        // SAFETY: the descriptor is open, the kernel writes at most as many bytes as said, and both
        // places live until the call ends.
        done(unsafe {
            libc::getsockopt(self.0.as_raw_fd(), libc::SOL_PACKET, option, value, &raw mut len)
        })
    }
}

fn done(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
