//! A socket for a cable, whether one is in it or not.

use port::{Batch, Capabilities, Pool, Port, PortCounters};
use std::os::fd::BorrowedFd;
use wire::Moment;

/// A port of a node.
pub enum Socket<P> {
    /// No cable: nothing comes in, what goes out is lost and counted.
    Empty(PortCounters),
    /// One end of a cable.
    Cable(P),
}

impl<P> Socket<P> {
    /// Without a cable.
    pub fn empty() -> Socket<P> {
        Socket::Empty(PortCounters::default())
    }

    /// The cable's end.
    pub fn cable(&self) -> Option<&P> {
        match self {
            Socket::Empty(_) => None,
            Socket::Cable(port) => Some(port),
        }
    }
}

impl<P: Port> Port for Socket<P> {
    #[inline]
    fn receive(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        match self {
            Socket::Empty(_) => 0,
            Socket::Cable(port) => port.receive(now, pool, batch),
        }
    }

    #[inline]
    fn send(&mut self, now: Moment, pool: &mut Pool, batch: &mut Batch) {
        match self {
            Socket::Empty(counters) => {
                counters.tx_drop += batch.len() as u64;
                batch.free_all(pool);
            }
            Socket::Cable(port) => port.send(now, pool, batch),
        }
    }

    fn counters(&self) -> PortCounters {
        match self {
            Socket::Empty(counters) => *counters,
            Socket::Cable(port) => port.counters(),
        }
    }

    fn capabilities(&self) -> Capabilities {
        match self {
            Socket::Empty(_) => Capabilities::default(),
            Socket::Cable(port) => port.capabilities(),
        }
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.cable().map_or(Vec::new(), Port::descriptors)
    }

    fn failure(&self) -> Option<String> {
        self.cable().and_then(Port::failure)
    }
}
