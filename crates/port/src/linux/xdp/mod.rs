//! AF_XDP: frames straight from the driver into the slab, and from the slab to the driver.
//!
//! ```text
//!  interface ── queue q ─► XDP program ── redirect ─► socket q ─► rx ring ─► receive
//!      ▲                    (held by a link,                      fill ring ◄── free slots
//!      └───────────────────  gone with the process)               tx ring ◄── send
//!                                                  completion ring ──► free slots
//! ```
//!
//! The slab is the UMEM of all of a process's sockets, whatever interface and namespace they are
//! on: a frame that came in by one port goes out by another as a descriptor, its bytes unmoved. A
//! port has a socket on every queue of its interface. Frames of a queue that the interface was given
//! later are lost and counted, where the driver runs the program there; a veth does not (Linux 6.18),
//! and they are the kernel's. A [`QueueWatch`] tells when a port is to be opened anew. What it sends is spread over them by flow. [`XdpPort::queues`] makes a port of each, for as
//! many workers.
//!
//! Which ways a driver has is found by trying: zero-copy before copying, native before generic,
//! unless [`Options`] ask for one. What it became is in [`XdpPort::facts`].
//!
//! Everything lost has a name in [`Drops`], what the interface itself dropped included. An interface that is down loses what is sent to it; when
//! it comes up again the port goes on. One that is deleted takes the port with it for good
//! ([`XdpPort::link`] says so): open a new one when there is a new interface.
//!
//! *Every* frame is taken, those to the kernel's own addresses on the interface too: the kernel is cut
//! off there, unless the port is opened with [`Options::kernel`] and its addresses are
//! [named](Kernels).
//!
//! Frames are taken as they are: an [offload note](wire::Offload) must have been done before. What
//! the kernel's own sockets send through a veth has checksums and segments left to do, of which
//! XDP says nothing: switch these offloads off at the peer
//! ([`set_offloads`](super::interface::set_offloads)).
//!
//! Missing: **busy polling** (`SO_PREFER_BUSY_POLL`: in copy mode a socket has not known its queue
//! since Linux 6.14, and the option does nothing on a veth; on other drivers it was not tried), **hardware checksums and timestamps** (`XDP_TXMD_*`), **zero-copy tried on a real NIC**:
//! there was none; the code asks for it and falls back. Should the kernel send what it had left in
//! the ring while somebody polls a port's descriptors, and the device refuse a frame of that, then
//! that one frame is counted as sent.
//!
//! # What was measured
//!
//! By `examples/forward.rs`: 60-byte frames from one veth to another, one core for the forwarder and
//! all it makes the kernel do, Linux 6.18, copy mode, a shared 2-core machine that was busy, hence
//! ratios of interleaved runs rather than rates (0.75 to 0.8 Mpps; veth itself is the limit).
//!
//! * 1.03 times the best of DPDK 22.11's testpmd with `net_af_xdp` (bursts of 32 or 64, busy polling
//!   or not: no difference), in each of three series.
//! * 92 % of the forwarder's time is the kernel's: making a packet of each descriptor, `veth_xmit`,
//!   the peer's NAPI poll for every single packet, which copies it once more since it has not the
//!   headroom XDP wants. Of our 8 % a third is looking at the rx ring's index, which another core
//!   writes. There is nothing left to gain here.
//! * Unaligned chunks (2176 bytes) and aligned ones (2048): the same within 2 %, either way. So
//!   unaligned, which keep headers out of each other's cache sets.
//! * One system call for 64 frames (`XDP_MAX_TX_SKB_BUDGET`) against two for 32 each, the kernel's
//!   default: 1 to 2 % faster. Kicking only when 256 wait: not faster, so there is a kick a batch.
//! * Rings of 512 against 2048: 0.95, on a busy machine, where we are away for milliseconds.
//! * Generic against native: 1.02 to 1.06 on veth when frames come from a BPF generator. Native stays
//!   first: it is what drivers of hardware are made for.

// What is asked for, what it became, and what was lost.
mod facts;
// From an interface's name to a port.
mod open;
// Which slots the kernel has.
mod ledger;
// Whether the wire carries.
mod link;
// One queue: frames in and out of its rings.
mod queue;
// The rings the kernel shares with us.
mod ring;
// One socket and its system calls.
mod socket;
// One memory for all sockets.
mod umem;

pub use facts::{Drops, Facts, Options};
pub use link::{Link, QueueWatch};

use super::ahead::Ahead;
use super::bpf;
use super::losses::Lost;
use super::{Kernels, Unavailable};
use crate::queues::{Spread, Turns};
use crate::{Batch, Capabilities, Pool, Port, PortCounters, Slab};
use queue::Queue;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use wire::Moment;

/// An interface, or some of its queues, by AF_XDP.
pub struct XdpPort {
    /// Never empty.
    queues: Vec<Queue>,
    /// So many of them, the first ones, can send.
    senders: usize,
    turns: Turns,
    spread: Spread,
    capabilities: Capabilities,
    interface: Arc<Attached>,
}

/// What all queues of an interface hang on. The order of the fields is that of their end: first
/// frames come no more.
struct Attached {
    /// None any more when one of its ports was closed.
    link: Mutex<Option<bpf::Link>>,
    sockets: bpf::Map,
    /// How many frames came by queues that have no socket: one word, which the program counts up.
    lost: bpf::SharedArray,
    ahead: Ahead,
    watch: link::Watch,
    kernels: Option<Kernels>,
    facts: Facts,
}

impl XdpPort {
    /// All queues of an interface of the calling thread's network namespace; the port can then be
    /// used by any thread. Takes up to two seconds if the interface was in use just now.
    ///
    /// # Errors
    /// [`Unavailable`]: no such interface, no rights, in use, MTU beyond the slab's frames, memory
    /// lock limit, a way asked for that the driver does not have.
    pub fn open(interface: &str, slab: &Slab, options: &Options) -> Result<XdpPort, Unavailable> {
        let (queues, attached) = open::open(interface, slab, options)?;
        let max_frame = slab.slots().max_frame() as u16;
        let capabilities = Capabilities { max_frame, ..Capabilities::default() };
        Ok(XdpPort::of(queues, capabilities, Arc::new(attached)))
    }

    /// A port for each queue, for as many workers: what one flow sends goes by one queue as long as
    /// it goes by one port. Queues that can only receive go along with the others.
    pub fn queues(mut self) -> Vec<XdpPort> {
        let n = self.senders;
        let mut ports: Vec<XdpPort> = Vec::new();
        for (at, queue) in std::mem::take(&mut self.queues).into_iter().enumerate() {
            match ports.get_mut(at % n) {
                Some(port) => port.queues.push(queue),
                None => {
                    let interface = Arc::clone(&self.interface);
                    ports.push(XdpPort::of(vec![queue], self.capabilities, interface));
                }
            }
        }
        ports
    }

    fn of(queues: Vec<Queue>, capabilities: Capabilities, interface: Arc<Attached>) -> XdpPort {
        let can_send = |queue: &&Queue| queue.number < interface.facts.tx_queues;
        // One that has no queue to send by finds out when it does.
        let senders = queues.iter().filter(can_send).count().max(1);
        let (turns, spread) = (Turns::default(), Spread::default());
        XdpPort { queues, senders, turns, spread, capabilities, interface }
    }

    /// What the port became.
    pub fn facts(&self) -> &Facts {
        &self.interface.facts
    }

    /// The kernel's addresses, which the port leaves to it, if it was opened so.
    pub fn kernels(&self) -> Option<Kernels> {
        self.interface.kernels.clone()
    }

    /// What was lost so far, by name.
    pub fn drops(&self) -> Drops {
        self.losses().0
    }

    /// What was lost by name, and ahead of all queues; what concerns the whole interface the port of
    /// the first queue counts.
    fn losses(&self) -> (Drops, Lost) {
        let Attached { lost, ahead, .. } = &*self.interface;
        let is_first = self.queues.first().is_some_and(|queue| queue.number == 0);
        if is_first {
            ahead.ask();
        }
        let drops = self.queues.iter().map(|queue| {
            let drops = queue.drops();
            let outside = if queue.number == 0 { lost.get(0) } else { 0 };
            ahead.told(queue.number, drops.rx_by_socket() + outside, false);
            drops
        });
        let drops: Drops = drops.sum();
        if !is_first {
            return (drops, Lost::default());
        }
        let ahead = ahead.so_far();
        (Drops { rx_no_socket: lost.get(0), rx_ahead: ahead.dropped, ..drops }, ahead)
    }

    /// What tells whether the interface has other queues than now. It keeps nothing open.
    ///
    /// # Errors
    /// The process has no descriptors left.
    pub fn watch_queues(&self) -> io::Result<QueueWatch> {
        let Attached { watch, facts, .. } = &*self.interface;
        Ok(QueueWatch::new(watch.try_clone()?, facts))
    }

    /// Whether the interface's wire carries now. A few system calls.
    pub fn link(&self) -> Link {
        self.interface.watch.link()
    }
}

impl Port for XdpPort {
    #[inline]
    fn receive(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.turns.receive(&mut self.queues, batch, |queue, batch| queue.receive(pool, batch))
    }

    #[inline]
    fn send(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) {
        let Self { queues, spread, senders, .. } = self;
        spread.send(*senders, pool, batch, |queue, pool, batch| queues[queue].send(pool, batch));
    }

    fn counters(&self) -> PortCounters {
        let counters: PortCounters = self.queues.iter().map(Queue::counters).sum();
        let (drops, ahead) = self.losses();
        PortCounters {
            rx_drop: drops.rx(),
            rx_error: ahead.errors,
            tx_drop: drops.tx(),
            ..counters
        }
    }

    fn refused(&self) -> u64 {
        self.queues.iter().map(Queue::refused).sum()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.queues.iter().map(|queue| queue.bound().socket().as_fd()).collect()
    }

    fn failure(&self) -> Option<String> {
        let is_gone = self.link() == Link::Gone;
        is_gone.then(|| format!("the interface {} is gone", self.facts().interface))
    }

    fn close(&mut self) {
        let Attached { link, sockets, .. } = &*self.interface;
        for queue in &self.queues {
            sockets.delete(&queue.number.to_ne_bytes());
        }
        // What comes until the program is off is lost and counted; then it is the kernel's.
        drop(link.lock().unwrap_or_else(PoisonError::into_inner).take());
        link::settle();
        self.queues.iter_mut().for_each(Queue::close);
    }
}

impl Drop for XdpPort {
    fn drop(&mut self) {
        if self.queues.is_empty() {
            return; // they have become ports of their own
        }
        // Closing a socket ends its receiving, unless another process holds it too: one that is
        // just being started, between fork and exec. So take it out of the program's reach first.
        for queue in &self.queues {
            self.interface.sockets.delete(&queue.number.to_ne_bytes());
            self.interface.ahead.told(queue.number, queue.drops().rx_by_socket(), true);
        }
        link::settle();
    }
}
