//! What every port can do, and what it counts.

use crate::{Batch, Pool};
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

    /// What the port's driver is able to do.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
}

/// What a port has seen since it was made. Bytes are L2 without FCS, as RouterOS counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames handed to `receive`'s callers.
    pub rx_packet: u64,
    /// Their bytes.
    pub rx_byte: u64,
    /// Frames lost because this port's receive ring was full.
    pub rx_drop: u64,
    /// Frames that went out.
    pub tx_packet: u64,
    /// Their bytes.
    pub tx_byte: u64,
    /// Frames given to `send` that did not go out (wire or peer full, too long, wire down).
    pub tx_drop: u64,
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
}

impl Default for Capabilities {
    fn default() -> Capabilities {
        let max_frame = crate::slab::MAX_FRAME as u16;
        Capabilities { fast_path_rx: true, fast_path_tx: true, max_frame }
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

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }
}
