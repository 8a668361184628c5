//! One socket of an interface: frames out of its ring, and into the kernel.

use super::ring::Ring;
use super::socket::{BURST, Socket};
use crate::linux::Kernels;
use crate::linux::vnet::{self, Header, Taken};
use crate::{Batch, Frame, Pool, PortCounters};
use std::cell::Cell;
use std::collections::VecDeque;
use wire::segment;

/// A socket with its ring.
pub(super) struct Queue {
    socket: Socket,
    ring: Ring,
    /// Notes are handed on; else what they say is done at once.
    offload: bool,
    /// Whose frames are not ours.
    kernels: Option<Kernels>,
    /// Segments that found no room in a batch.
    waiting: VecDeque<Frame>,
    /// A frame too long for a slot.
    long: Vec<u8>,
    counters: PortCounters,
    /// What the kernel has told, which it does once: frames that came, and those of them that found the
    /// ring full.
    told: Cell<(u64, u64)>,
}

impl Queue {
    pub(super) fn new(
        socket: Socket,
        ring: Ring,
        offload: bool,
        kernels: Option<Kernels>,
    ) -> Queue {
        let (waiting, counters) = (VecDeque::new(), PortCounters::default());
        let (long, told) = (vec![0; vnet::LONGEST], Cell::default());
        Queue { socket, ring, offload, kernels, waiting, long, counters, told }
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Frames that were to be sent and were not.
    pub(super) fn refused(&self) -> u64 {
        self.counters.tx_drop
    }

    /// Its counters, and how many frames came to the socket: the kernel's, too, the ring full or not.
    pub(super) fn counters(&self) -> (PortCounters, u64) {
        let (seen, dropped) = self.ask();
        let rx_drop = self.counters.rx_drop + dropped;
        (PortCounters { rx_drop, ..self.counters }, seen)
    }

    /// The second of them.
    pub(super) fn seen(&self) -> u64 {
        self.ask().0
    }

    fn ask(&self) -> (u64, u64) {
        let ((seen, dropped), (more, more_dropped)) = (self.told.get(), self.socket.statistics());
        self.told.set((seen + more, dropped + more_dropped));
        self.told.get()
    }

    #[inline]
    pub(super) fn receive(&mut self, pool: &mut Pool, batch: &mut Batch) -> usize {
        let got = vnet::receive(batch, || match self.waiting.pop_front() {
            Some(frame) => Taken::Frame(frame),
            None => self.take(pool),
        });
        self.counters = [self.counters, got].into_iter().sum();
        got.rx_packet as usize
    }

    #[inline]
    fn take(&mut self, pool: &mut Pool) -> Taken {
        let Some(received) = self.ring.peek() else { return Taken::Nothing };
        let of_kernel =
            |kernels: &Kernels| received.tag.is_none() && kernels.are_meant_by(received.bytes);
        if received.outgoing || self.kernels.as_ref().is_some_and(of_kernel) {
            self.ring.done();
            return Taken::Lost(0);
        }
        let tag_len = if received.tag.is_some() { 4 } else { 0 };
        let mut header = received.header;
        header.start = header.start.saturating_add(tag_len as u16);
        if received.bytes.len() < received.len {
            return self.take_long(pool, header);
        }
        // Without a slot the frame stays where it is; when the ring is full, the kernel counts.
        let Some(mut frame) = pool.alloc(0) else { return Taken::Nothing };
        if !pool.slab().set_len(&mut frame, received.len + tag_len) {
            pool.free(frame);
            return self.take_too_long(pool, header);
        }
        let bytes = pool.slab().bytes_mut(&mut frame);
        match received.tag {
            None => bytes.copy_from_slice(received.bytes),
            Some(tag) => {
                let (addresses, rest) = received.bytes.split_at(received.len.min(12));
                bytes[..addresses.len()].copy_from_slice(addresses);
                bytes[addresses.len()..][..2].copy_from_slice(&tag.tpid.to_be_bytes());
                bytes[addresses.len() + 2..][..2].copy_from_slice(&tag.tci.0.to_be_bytes());
                bytes[addresses.len() + 4..].copy_from_slice(rest);
            }
        }
        self.ring.done();
        self.finish(pool, frame, header)
    }

    /// A frame longer than its place in the ring: all of it waits in the socket, if there was room.
    #[cold]
    fn take_long(&mut self, pool: &mut Pool, header: Header) -> Taken {
        let Some(received) = self.ring.peek() else { return Taken::Nothing };
        let (copied, tag) = (received.copied, received.tag);
        if !copied {
            self.ring.done();
            return Taken::Lost(1);
        }
        let Some(mut frame) = vnet::empty(pool) else { return Taken::Nothing };
        self.ring.done();
        let room = frame.len();
        let tag_len = if tag.is_some() { 4 } else { 0 };
        let read = {
            let slot = pool.slab().bytes_mut(&mut frame);
            // Room for the tag is left in front, and filled when the addresses are there.
            let beyond = &mut self.long[room..];
            self.socket.read_long([&mut slot[tag_len..], beyond])
        };
        let len = match read {
            Ok(len) => len + tag_len,
            Err(_) => {
                pool.free(frame);
                return Taken::Lost(1);
            }
        };
        if let Some(tag) = tag {
            let slot = pool.slab().bytes_mut(&mut frame);
            slot.copy_within(4..16, 0);
            slot[12..14].copy_from_slice(&tag.tpid.to_be_bytes());
            slot[14..16].copy_from_slice(&tag.tci.0.to_be_bytes());
        }
        if len <= room {
            frame.truncate(len);
            return self.finish(pool, frame, header);
        }
        self.long[..room].copy_from_slice(pool.slab().bytes(&frame));
        pool.free(frame);
        Taken::Lost(vnet::cut(&mut self.long[..len], header, pool, &mut self.waiting))
    }

    /// A frame that fits its place in the ring, but no slot: a super-frame is cut.
    #[cold]
    fn take_too_long(&mut self, pool: &mut Pool, header: Header) -> Taken {
        let Some(received) = self.ring.peek() else { return Taken::Nothing };
        let len = received.bytes.len();
        // (With a tag as well it is too rare to be worth the code: lost, and counted.)
        let plain = received.tag.is_none();
        self.long[..len].copy_from_slice(received.bytes);
        self.ring.done();
        let bytes = &mut self.long[..len];
        Taken::Lost(if plain { vnet::cut(bytes, header, pool, &mut self.waiting) } else { 1 })
    }

    /// Notes on the frame what is left to do, or does it.
    #[inline]
    fn finish(&mut self, pool: &mut Pool, mut frame: Frame, header: Header) -> Taken {
        if !vnet::note(pool, &mut frame, header) {
            pool.free(frame);
            return Taken::Lost(1);
        }
        if self.offload || !frame.has_offload() {
            return Taken::Frame(frame);
        }
        let Some(offload) = pool.slab().offload(&frame) else { return Taken::Frame(frame) };
        if offload.segment == 0 {
            frame.clear_offload();
            segment::complete(pool.slab().bytes_mut(&mut frame), offload);
            return Taken::Frame(frame);
        }
        let len = frame.len();
        self.long[..len].copy_from_slice(pool.slab().bytes(&frame));
        pool.free(frame);
        Taken::Lost(vnet::cut(&mut self.long[..len], header, pool, &mut self.waiting))
    }

    #[inline]
    pub(super) fn send(&mut self, pool: &mut Pool, batch: &mut Batch) {
        let slab = pool.slab();
        let mut headers = [[0; vnet::LEN]; BURST];
        let mut frames: [&[u8]; BURST] = [&[]; BURST];
        for ((frame, header), bytes) in batch.as_slice().iter().zip(&mut headers).zip(&mut frames) {
            *bytes = slab.bytes(frame);
            if let Some(offload) = slab.offload(frame) {
                *header = Header::of(bytes, Some(offload)).to_bytes();
            }
        }
        let (n, mut at, mut told) = (batch.len(), 0, false);
        while at < n {
            let sent = match self.socket.send(&headers[at..n], &frames[at..n]) {
                Ok(sent @ 1..) => sent,
                // A socket tells once that its interface was down, though it may be up again.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) && !told => {
                    told = true;
                    continue;
                }
                // The one whose turn it is does not go: the driver is full, it is too long, the
                // interface is down. Wires drop.
                Ok(0) | Err(_) => {
                    self.counters.tx_drop += 1;
                    at += 1;
                    continue;
                }
            };
            self.counters.tx_packet += sent as u64;
            self.counters.tx_byte +=
                frames[at..at + sent].iter().map(|f| f.len() as u64).sum::<u64>();
            at += sent;
        }
        batch.free_all(pool);
    }
}
