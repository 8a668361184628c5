//! `PACKET_TX_RING` and TPACKET_V3, as far as measuring them takes.
//!
//! ```text
//!  TX ring   place: | tpacket2_hdr 32 | virtio's header 10 | frame |   status 1: send it, 0: sent
//!  V3        block: | status 8, frames 12, first 16 | tpacket3_hdr … frame | … |
//! ```

use port::Pool;
use std::ffi::{c_int, c_uint, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

const RX_RING: c_int = 5;
const VERSION: c_int = 10;
const TX_RING: c_int = 13;
const VNET_HEADER: c_int = 15;
const QDISC_BYPASS: c_int = 20;
const IGNORE_OUTGOING: c_int = 23;
const PLACE: usize = 2048;

/// A frame to everyone, of a type of its own.
pub(crate) fn fill(bytes: &mut [u8]) {
    bytes.fill(0x5a);
    bytes[..6].fill(0xff);
    bytes[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
}

/// A socket with mapped memory.
struct Mapped {
    fd: OwnedFd,
    base: *mut u8,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Mapped {}

impl Mapped {
    fn open<T>(interface: &str, version: c_int, kind: c_int, request: &T, len: usize) -> Mapped {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) };
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        // SAFETY: new, and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        set(&fd, VERSION, &version);
        if kind == TX_RING {
            set(&fd, VNET_HEADER, &1);
        }
        set(&fd, QDISC_BYPASS, &1);
        set(&fd, IGNORE_OUTGOING, &1);
        set(&fd, kind, request);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place.
        let base = unsafe {
            let (null, shared) = (std::ptr::null_mut(), libc::MAP_SHARED);
            libc::mmap(null, len, protection, shared, fd.as_raw_fd(), 0)
        };
        assert!(base != libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        // SAFETY: zeroes are a valid value of this plain structure.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = if kind == RX_RING { (libc::ETH_P_ALL as u16).to_be() } else { 0 };
        to.sll_ifindex = port::linux::bpf::interface_index(interface).unwrap() as c_int;
        let (at, bytes) = ((&raw const to).cast(), size_of_val(&to) as u32);
        // SAFETY: the address is as long as said.
        let bound = unsafe { libc::bind(fd.as_raw_fd(), at, bytes) };
        assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
        Mapped { fd, base: base.cast(), len }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.len, "{offset} of {}", self.len);
        // SAFETY: within the mapping.
        unsafe { self.base.add(offset) }
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: mapped as long as `self` lives, aligned, read and written as a whole.
        unsafe { &*self.at(offset).cast() }
    }

    fn number(&self, offset: usize) -> usize {
        self.word(offset).load(Ordering::Acquire) as usize
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and used no more.
        unsafe { libc::munmap(self.base.cast::<c_void>(), self.len) };
    }
}

fn set<T>(fd: &OwnedFd, option: c_int, value: &T) {
    let (value, len) = ((value as *const T).cast(), size_of::<T>() as u32);
    // SAFETY: the value is as long as said.
    let done = unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_PACKET, option, value, len) };
    assert_eq!(done, 0, "option {option}: {}", std::io::Error::last_os_error());
}

/// A ring of frames to send.
pub(crate) struct TxRing {
    mapped: Mapped,
    places: usize,
    next: usize,
}

impl TxRing {
    pub(crate) fn open(interface: &str, places: usize) -> TxRing {
        let request: [c_uint; 4] =
            [1 << 16, ((places * PLACE) >> 16) as c_uint, PLACE as c_uint, places as c_uint];
        let mapped = Mapped::open(interface, 1, TX_RING, &request, places * PLACE);
        TxRing { mapped, places, next: 0 }
    }

    /// Sends so many frames, `batch` with each call.
    pub(crate) fn send(&mut self, frames: usize, len: usize, batch: usize) {
        for sent in 1..=frames {
            let place = self.next * PLACE;
            while self.mapped.number(place) != 0 {
                self.kick();
            }
            self.mapped.word(place + 4).store(len as u32 + 10, Ordering::Relaxed);
            let data = self.mapped.at(place + 32);
            // SAFETY: the place is ours while its status is 0, and holds 2016 bytes from here.
            let bytes = unsafe { std::slice::from_raw_parts_mut(data, 10 + len) };
            bytes[..10].fill(0);
            fill(&mut bytes[10..]);
            self.mapped.word(place).store(1, Ordering::Release);
            self.next = (self.next + 1) % self.places;
            if sent % batch == 0 {
                self.kick();
            }
        }
    }

    fn kick(&self) {
        let fd = self.mapped.fd.as_raw_fd();
        // SAFETY: there is no buffer.
        let sent = unsafe { libc::send(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        assert!(sent >= 0, "{}", std::io::Error::last_os_error());
    }
}

/// A ring of blocks of received frames.
pub(crate) struct BlockRing {
    mapped: Mapped,
    next: usize,
}

const BLOCK: usize = 1 << 18;
const BLOCKS: usize = 16;

impl BlockRing {
    /// Blocks are handed over after a millisecond: the least that can be asked for.
    pub(crate) fn open(interface: &str) -> BlockRing {
        let places = BLOCK * BLOCKS / PLACE;
        let request: [c_uint; 7] =
            [BLOCK as c_uint, BLOCKS as c_uint, PLACE as c_uint, places as c_uint, 1, 0, 0];
        let mapped = Mapped::open(interface, 2, RX_RING, &request, BLOCK * BLOCKS);
        BlockRing { mapped, next: 0 }
    }

    /// Copies all frames in blocks that are ours into slots, which are free again; how many.
    pub(crate) fn receive_all(&mut self, pool: &mut Pool) -> usize {
        let mut received = 0;
        loop {
            let block = self.next * BLOCK;
            if self.mapped.number(block + 8) & 1 == 0 {
                return received;
            }
            let mut at = block + self.mapped.number(block + 16);
            for _ in 0..self.mapped.number(block + 12) {
                let len = self.mapped.number(at + 12);
                let mac = self.mapped.number(at + 24) & 0xffff;
                let mut frame = pool.alloc(len).unwrap();
                // SAFETY: the block is ours until its status is written, and the frame in it.
                let bytes = unsafe { std::slice::from_raw_parts(self.mapped.at(at + mac), len) };
                pool.slab().bytes_mut(&mut frame).copy_from_slice(bytes);
                pool.free(frame);
                at += self.mapped.number(at);
                received += 1;
            }
            self.mapped.word(block + 8).store(0, Ordering::Release);
            self.next = (self.next + 1) % BLOCKS;
        }
    }
}
