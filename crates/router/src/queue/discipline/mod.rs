//! Disciplines: who of those that wait in one class goes next, and who is dropped.
//!
//! ```text
//! enqueue(packet) ─► [ pfifo │ bfifo │ red │ sfq │ pcq │ codel │ fq_codel │ cake ] ─► dequeue
//!                             └─► dropped, marked: noted in the pool's list
//! ```
//!
//! A discipline never asks whether the class may send: that is its token bucket's and its tree's
//! business. Packets are nodes of one pool; a discipline holds rings of their numbers.

// Acknowledgements that say less than a later one.
mod ack;
// The bandwidth of the line in front, estimated.
mod autorate;
// Drops by chance of those who fill the queue.
mod blue;
// Several tins by DSCP, each shared fairly.
mod cake;
// CoDel: drops by how long packets wait.
mod codel;
// Fair shares by flow: sfq, fq_codel, a tin of cake.
mod fair;
// Flows and their turns.
mod flows;
// What packets take on the line behind.
mod framing;
// Per connection queuing: sub-queues by classifier, each with its own rate.
mod pcq;
// Random early detection.
mod red;

#[cfg(test)]
mod tests;

use super::bucket::Limit;
use super::nodes::{List, Ring};
use cake::Cake;
use codel::Codel;
use pcq::Pcq;
use red::Red;
use std::sync::Arc;
use std::time::Duration;
use wire::Moment;

pub use ack::AckFilter;
pub use cake::{CakeLimits, Tins};
pub use codel::CodelLimits;
pub(super) use fair::Fair;
pub use fair::{FairLimits, Isolation};
pub(super) use framing::SCHEMES;
pub use framing::{Cells, Framing};
pub use pcq::{Classifier, PcqLimits};
pub use red::RedLimits;

/// A kind of queue with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// First come, first served; at most so many packets.
    Pfifo(u32),
    /// At most so many bytes.
    Bfifo(u64),
    /// Random early detection.
    Red(RedLimits),
    /// Stochastic fairness queuing, its flows hashed anew at each perturbation.
    Sfq {
        /// How often flows are hashed anew; 0 is never.
        perturb: Duration,
        /// Bytes a flow may send in its turn.
        allot: u32,
    },
    /// Per connection queuing.
    Pcq(PcqLimits),
    /// RFC 8289.
    Codel(CodelLimits),
    /// RFC 8290.
    FqCodel(FairLimits),
    /// Common Applications Kept Enhanced.
    Cake(CakeLimits),
}

impl Kind {
    /// Of a kind that lets whatever finds nobody waiting pass at once, and asks nothing of it.
    pub(super) fn passes_idle(&self) -> bool {
        match self {
            Kind::Red(_) => false,
            Kind::Pcq(limits) => limits.rate == 0,
            Kind::Cake(limits) => limits.rate == 0 && !limits.wash && !limits.autorate,
            _ => true,
        }
    }
}

/// What a discipline has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This packet.
    Packet(u32),
    /// Nobody waits (any more: the others were dropped).
    Empty,
    /// Those who wait may not go before.
    Later(Moment),
}

/// How much may wait in a fifo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    packets: u32,
    bytes: u64,
}

/// Limits that many queues have: each once, since each packet asks for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared(Vec<Arc<FairLimits>>);

impl Shared {
    fn limits(&mut self, limits: FairLimits) -> Arc<FairLimits> {
        if let Some(known) = self.0.iter().find(|known| ***known == limits) {
            return known.clone();
        }
        self.0.retain(|known| Arc::strong_count(known) > 1);
        let limits = Arc::new(limits);
        self.0.push(limits.clone());
        limits
    }
}

/// A kind's state. That of one flow is in line with its class: what a packet needs is found at once.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub(super) enum Discipline {
    Fifo(Ring, Room),
    Red(Box<Red>),
    Codel(Ring, Box<(CodelLimits, Codel)>),
    Fair(Fair),
    Pcq(Box<Pcq>),
    Cake(Box<Cake>),
}

const _: () =
    assert!(size_of::<Discipline>() == size_of::<Fair>(), "its kind has no room of its own");

impl Discipline {
    /// Nobody waits.
    pub(super) fn new(kind: &Kind, shared: &mut Shared, now: Moment) -> Discipline {
        match *kind {
            Kind::Pfifo(packets) => {
                Discipline::Fifo(Ring::default(), Room { packets, bytes: u64::MAX })
            }
            Kind::Bfifo(bytes) => {
                Discipline::Fifo(Ring::default(), Room { packets: u32::MAX, bytes })
            }
            Kind::Red(limits) => Discipline::Red(Box::new(Red::new(limits))),
            Kind::Sfq { perturb, allot } => {
                Discipline::Fair(Fair::new(shared.limits(FairLimits::sfq(allot, perturb))))
            }
            Kind::FqCodel(limits) => Discipline::Fair(Fair::new(shared.limits(limits))),
            Kind::Codel(limits) => {
                Discipline::Codel(Ring::default(), Box::new((limits, Codel::default())))
            }
            Kind::Pcq(limits) => Discipline::Pcq(Box::new(Pcq::new(limits))),
            Kind::Cake(limits) => Discipline::Cake(Box::new(Cake::new(limits, shared, now))),
        }
    }

    /// How many bits of IPv6's addresses it looks at, if it masks them.
    pub(super) fn lengths6(&self) -> Option<[u8; 2]> {
        match self {
            Discipline::Pcq(pcq) => Some(pcq.lengths6()),
            _ => None,
        }
    }

    /// Takes a packet in; whom it drops instead is in the list's `dropped`.
    pub(super) fn enqueue(&mut self, list: &mut List, node: u32, now: Moment) {
        match self {
            Discipline::Fifo(ring, room) => {
                let bytes = ring.bytes + u64::from(list[node].len);
                if ring.packets >= room.packets || bytes > room.bytes {
                    list.dropped.push(node);
                } else {
                    ring.push(list, node);
                }
            }
            Discipline::Red(red) => red.enqueue(list, node, now),
            Discipline::Codel(ring, codel) => {
                if ring.packets >= codel.0.packets {
                    list.dropped.push(node);
                } else {
                    ring.push(list, node);
                }
            }
            Discipline::Fair(fair) => fair.enqueue(list, node, now),
            Discipline::Pcq(pcq) => pcq.enqueue(list, node, now),
            Discipline::Cake(cake) => cake.enqueue(list, node, now),
        }
    }

    /// Gives who goes next.
    pub(super) fn dequeue(&mut self, list: &mut List, now: Moment) -> Next {
        let packet = match self {
            Discipline::Fifo(ring, _) => ring.pop(list),
            Discipline::Red(red) => red.dequeue(list, now),
            Discipline::Codel(ring, codel) => {
                let (limits, codel) = &mut **codel;
                codel.dequeue(limits, ring, list, now)
            }
            Discipline::Fair(fair) => fair.dequeue(list, now),
            Discipline::Pcq(pcq) => return pcq.dequeue(list, now),
            Discipline::Cake(cake) => return cake.dequeue(list, now),
        };
        packet.map_or(Next::Empty, Next::Packet)
    }

    /// How many packets and bytes wait.
    pub(super) fn waiting(&self) -> (u32, u64) {
        match self {
            Discipline::Fifo(ring, _) | Discipline::Codel(ring, _) => (ring.packets, ring.bytes),
            Discipline::Red(red) => (red.ring.packets, red.ring.bytes),
            Discipline::Fair(fair) => (fair.packets, fair.bytes),
            Discipline::Pcq(pcq) => (pcq.packets, pcq.bytes),
            Discipline::Cake(cake) => (cake.packets, cake.bytes),
        }
    }

    /// Asks for the flow whose turn it is, where that is not in the class itself.
    #[inline]
    pub(super) fn foresee(&self) {
        if let Discipline::Fair(fair) = self {
            fair.foresee_flow();
        }
    }

    /// The packet that goes next, most likely.
    #[inline]
    pub(super) fn likely(&self) -> Option<u32> {
        match self {
            Discipline::Fifo(ring, _) | Discipline::Codel(ring, _) => ring.first(),
            Discipline::Red(red) => red.ring.first(),
            Discipline::Fair(fair) => fair.next_ring()?.first(),
            Discipline::Pcq(_) | Discipline::Cake(_) => None,
        }
    }

    /// Takes everybody out, of each flow in order.
    pub(super) fn drain(&mut self, list: &mut List, mut out: impl FnMut(&mut List, u32)) {
        let mut all = |ring: &mut Ring| {
            while let Some(node) = ring.pop(list) {
                out(list, node);
            }
        };
        match self {
            Discipline::Fifo(ring, _) | Discipline::Codel(ring, _) => all(ring),
            Discipline::Red(red) => all(&mut red.ring),
            Discipline::Fair(fair) => fair.rings().for_each(all),
            Discipline::Pcq(pcq) => pcq.rings().for_each(all),
            Discipline::Cake(cake) => cake.rings().for_each(all),
        }
    }
}

/// Limits of a sub-queue, as a token bucket has them.
pub(super) fn limit(rate: u64) -> Limit {
    Limit { rate, depth_ns: 100_000_000, packets: 0 }
}
