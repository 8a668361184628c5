//! One queue of a TAP interface: a file, of which each read is a frame, and each write.
//!
//! ```text
//! readv ─► | virtio's header 10 | a slot of the slab | what does not fit it, to be cut |
//! writev ◄ | virtio's header 10 | the frame          |
//! ```
//!
//! A system call for each frame: TUN has no other way (`recvmmsg` wants sockets; the kernel's own
//! `vhost-net` can do more, but is made for virtual machines).

use crate::linux::vnet::{self, Header, Taken};
use crate::{Batch, Frame, Pool, PortCounters};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// How many bytes are read at a time: what is read is written again soon, and should lie in the
/// processor's cache then. A batch of super-frames is 4 MiB; with this, one TCP connection is 9 to
/// 15 % faster (2 MiB of L2, medians of five turns).
const CACHED: usize = 256 << 10;

/// A queue.
pub(super) struct Queue {
    file: File,
    /// Segments of a super-frame that found no room in a batch.
    waiting: VecDeque<Frame>,
    /// A frame too long for a slot: its beginning is copied before what lies here already.
    long: Vec<u8>,
    counters: PortCounters,
    /// The interface is no more.
    gone: bool,
}

impl Queue {
    pub(super) fn new(file: File) -> Queue {
        let long = vec![0; vnet::LONGEST];
        let (waiting, counters) = (VecDeque::new(), PortCounters::default());
        Queue { file, waiting, long, counters, gone: false }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(super) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Frames that were to be sent and were not.
    pub(super) fn refused(&self) -> u64 {
        self.counters.tx_drop
    }

    pub(super) fn counters(&self) -> PortCounters {
        self.counters
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    #[inline]
    pub(super) fn receive(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let mut read = 0;
        let got = vnet::receive(batch, || match self.waiting.pop_front() {
            Some(frame) => Taken::Frame(frame),
            None if self.gone || read >= CACHED => Taken::Nothing,
            None => {
                let taken = self.read(pool);
                read += if let Taken::Frame(frame) = &taken { frame.len() } else { 0 };
                taken
            }
        });
        self.counters = [self.counters, got].into_iter().sum();
        got.rx_packet as usize
    }

    fn read(&mut self, pool: &mut Pool) -> Taken {
        // Without a slot the frame stays where it is; when that is full, the kernel counts.
        let Some(mut frame) = vnet::empty(pool) else { return Taken::Nothing };
        let room = frame.len();
        let mut header = [0; vnet::LEN];
        let read = {
            let slot = pool.slab().bytes_mut(&mut frame);
            let mut parts = [
                io::IoSliceMut::new(&mut header),
                io::IoSliceMut::new(slot),
                io::IoSliceMut::new(&mut self.long[room.min(vnet::LONGEST)..]),
            ];
            io::Read::read_vectored(&mut self.file, &mut parts)
        };
        let len = match read {
            Ok(n) => n.saturating_sub(vnet::LEN),
            Err(error) => {
                pool.free(frame);
                self.gone = is_gone(&error);
                return Taken::Nothing;
            }
        };
        let header = Header::from_bytes(header);
        if len <= room {
            frame.truncate(len);
            if vnet::note(pool, &mut frame, header) {
                return Taken::Frame(frame);
            }
            pool.free(frame);
            return Taken::Lost(1);
        }
        self.long[..room].copy_from_slice(pool.slab().bytes(&frame));
        pool.free(frame);
        Taken::Lost(vnet::cut(&mut self.long[..len], header, pool, &mut self.waiting))
    }

    #[inline]
    pub(super) fn send(&mut self, pool: &mut Pool, batch: &mut Batch) {
        for frame in batch.drain() {
            let bytes = pool.slab().bytes(&frame);
            let header = Header::of(bytes, pool.slab().offload(&frame)).to_bytes();
            let parts = [io::IoSlice::new(&header), io::IoSlice::new(bytes)];
            match io::Write::write_vectored(&mut self.file, &parts) {
                Ok(_) => {
                    self.counters.tx_packet += 1;
                    self.counters.tx_byte += bytes.len() as u64;
                }
                Err(error) => {
                    self.counters.tx_drop += 1;
                    self.gone |= is_gone(&error);
                }
            }
            pool.free(frame);
        }
    }
}

/// Whether an error says that the interface was deleted. All others pass: nothing to read, no room,
/// an interface that is down.
fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBADFD)
}
