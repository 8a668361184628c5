//! Operations of every port, and its counters.

use crate::{Batch, Pool};
use std::iter::Sum;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use wire::Moment;

/// A place where frames come in and go out: one end of a wire, a file, an interface.
pub trait Port {
    /// Moves received frames into `batch`, as many as have arrived by `now` and fit; returns how
    /// many. Never blocks. `pool` gives the frames to ports that make them (files, interfaces).
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize;

    /// Sends all frames of `batch`, which is empty afterwards. Never blocks: what does not fit is
    /// lost, freed into `pool` and counted as `tx_drop` — wires drop, they do not push back.
    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch);

    /// What has passed so far.
    fn counters(&self) -> PortCounters;

    /// When the first bit of a frame that is sent now would go, of ports that know: those in virtual
    /// time. What is sent before that waits in the port. To the nanosecond below: so much of the wait
    /// is none.
    fn next_start(&self) -> Option<Moment> {
        None
    }

    /// The port's `tx_drop`, as far as it is known without asking anybody: it is read before and after
    /// a batch, to know whose frames were dropped.
    fn refused(&self) -> u64 {
        0
    }

    /// What the port's driver is able to do.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// What to wait for when nothing comes: these can be read from as soon as something has come,
    /// or is wrong. None of a port whose frames come unannounced, as in memory.
    #[cfg(unix)]
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Why nothing will pass here any more, if so: the interface behind it is gone. An interface
    /// that is only down, or without a cable, is none. It may cost a system call.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Nothing more is received: what waits to be is lost, and the counters have all that came. Of an
    /// interface that several ports share nothing comes by any of them.
    fn close(&mut self) {}
}

/// What a port has seen since it was made. Bytes are L2 without FCS, as RouterOS counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames handed to `receive`'s callers.
    pub rx_packet: u64,
    /// Their bytes.
    pub rx_byte: u64,
    /// Frames lost because this port's receive ring was full, or dropped by its interface: too long,
    /// no buffer.
    pub rx_drop: u64,
    /// Frames that came damaged, by the count of the interface.
    pub rx_error: u64,
    /// Frames that went out.
    pub tx_packet: u64,
    /// Their bytes.
    pub tx_byte: u64,
    /// Frames given to `send` that did not go out (wire or peer full, too long, wire down).
    pub tx_drop: u64,
}

/// What several queues, or one port at several times, have seen together.
impl Sum for PortCounters {
    fn sum<I: Iterator<Item = PortCounters>>(counters: I) -> PortCounters {
        counters.fold(PortCounters::default(), |a, b| PortCounters {
            rx_packet: a.rx_packet + b.rx_packet,
            rx_byte: a.rx_byte + b.rx_byte,
            rx_drop: a.rx_drop + b.rx_drop,
            rx_error: a.rx_error + b.rx_error,
            tx_packet: a.tx_packet + b.tx_packet,
            tx_byte: a.tx_byte + b.tx_byte,
            tx_drop: a.tx_drop + b.tx_drop,
        })
    }
}

/// What a port's driver is able to do. FastPath follows from it: without `fast_path_rx` frames
/// start on the slow path, without `fast_path_tx` they end there (half-FastPath).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Frames can be received in FastPath.
    pub fast_path_rx: bool,
    /// Frames can be sent in FastPath.
    pub fast_path_tx: bool,
    /// The longest frame, L2 without FCS.
    pub max_frame: u16,
    /// What is left to do to a frame may be left to the port.
    pub offload: Offloads,
}

/// Which of the work that an [offload note](wire::Offload) speaks of a port takes upon itself. What
/// it does not is done by whoever sends there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Completing TCP's and UDP's checksums.
    pub checksum: bool,
    /// Cutting TCP super-frames.
    pub tcp: bool,
    /// Cutting UDP super-frames.
    pub udp: bool,
}

impl Offloads {
    /// None of it: a plain wire.
    pub const NONE: Offloads = Offloads { checksum: false, tcp: false, udp: false };

    /// Whether the port takes a frame with this note as it is.
    #[inline]
    pub fn take(self, offload: wire::Offload) -> bool {
        let cuts = if offload.tcp { self.tcp } else { self.udp };
        self.checksum && (offload.segment == 0 || cuts)
    }
}

impl Default for Capabilities {
    fn default() -> Capabilities {
        let max_frame = crate::slab::MAX_FRAME as u16;
        let offload = Offloads::NONE;
        Capabilities { fast_path_rx: true, fast_path_tx: true, max_frame, offload }
    }
}

impl<P: Port + ?Sized> Port for Box<P> {
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        (**self).receive(now, pool, batch)
    }

    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        (**self).send(now, pool, batch);
    }

    fn counters(&self) -> PortCounters {
        (**self).counters()
    }

    fn next_start(&self) -> Option<Moment> {
        (**self).next_start()
    }

    fn refused(&self) -> u64 {
        (**self).refused()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    #[cfg(unix)]
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        (**self).descriptors()
    }

    fn failure(&self) -> Option<String> {
        (**self).failure()
    }

    fn close(&mut self) {
        (**self).close();
    }
}
