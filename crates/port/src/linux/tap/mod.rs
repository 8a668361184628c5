//! TAP: an Ethernet interface of our own, whose other end is the kernel.
//!
//! ```text
//!  programs ─ sockets ─ kernel's IP ─ tap0 ══ /dev/net/tun, a file for each queue ══ TapPort ─ router
//!                        (its MAC, its MTU, addresses)                         (own_mac)
//! ```
//!
//! What the kernel sends by the interface, we receive; what we send, it receives. An interface that
//! was there (`ip tuntap add tap0 mode tap`) is taken as it is; else one is made, set up, and gone
//! when the port is dropped or the process ends, however it ends.
//!
//! With [`Options::offload`] the kernel leaves checksums and the cutting of super-frames to us, and
//! takes such frames from us: frames come with [offload notes](wire::Offload), and so off FastPath.
//! Frames longer than a slot of the slab are cut when they are received: slots of 64 KiB
//! ([`Slots::holding`](crate::slab::Slots::holding)) keep them whole, and are what makes it fast.
//!
//! What the kernel could not put in its ring (`txqueuelen`) because we were slow is `rx_drop`; what
//! we could not write (the interface is down, or deleted) is `tx_drop`. When the interface is up
//! again the port goes on; when it was deleted, [`is_gone`](TapPort::is_gone) says so for good.
//!
//! Missing: **vhost-net**, **io_uring** (TUN takes one frame for each system call otherwise),
//! **steering** other than the kernel's own (what answers a flow comes by the queue it was sent by).

// From a name to files.
mod open;
// One file.
mod queue;

use super::Unavailable;
use super::losses::{Losses, Way};
use crate::queues::{Spread, Turns};
use crate::{Batch, Capabilities, Offloads, Pool, Port, PortCounters, Slab};
use queue::Queue;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use wire::{MacAddr, Moment};

/// What is asked of a TAP interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many queues.
    pub queues: u32,
    /// Checksums and super-frames are left to do.
    pub offload: bool,
    /// The kernel's end's address; `None`: as it is.
    pub mac: Option<MacAddr>,
    /// The kernel's end's MTU; `None`: as it is.
    pub mtu: Option<u16>,
    /// Whether an interface that is made is switched on.
    pub up: bool,
}

impl Default for Options {
    /// One queue, with offloads, switched on.
    fn default() -> Options {
        Options { queues: 1, offload: true, mac: None, mtu: None, up: true }
    }
}

/// What a TAP interface is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name: that asked for, with a number for `%d`.
    pub name: String,
    /// Its number in its namespace.
    pub index: u32,
    /// The address of the kernel's end.
    pub mac: MacAddr,
    /// Its MTU.
    pub mtu: u32,
    /// How many queues we have.
    pub queues: u32,
    /// Checksums and TCP super-frames are left to do.
    pub offload: bool,
    /// UDP super-frames as well (Linux 6.2).
    pub udp_offload: bool,
    /// It was made now, and goes with the port.
    pub made: bool,
}

impl Facts {
    /// An address for our end: another than the kernel's, the same each time.
    pub fn own_mac(&self) -> MacAddr {
        let MacAddr([a, b, c, d, e, f]) = self.mac;
        MacAddr([(a | 0x02) & 0xfe, b, c, d, e, f ^ 0x80])
    }
}

/// A TAP interface, or some of its queues.
pub struct TapPort {
    /// Never empty.
    queues: Vec<Queue>,
    turns: Turns,
    spread: Spread,
    facts: Arc<Facts>,
    capabilities: Capabilities,
    /// What the kernel lost on its side, unless another port of the same interface tells that.
    losses: Option<Losses>,
}

impl TapPort {
    /// The TAP interface of this name in the calling thread's network namespace, made if there is
    /// none. The port can then be used by any thread.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, no such driver, in use, no TAP interface, too few queues.
    pub fn open(interface: &str, slab: &Slab, options: &Options) -> Result<TapPort, Unavailable> {
        let (files, facts) = open::open(interface, options)?;
        let offload =
            Offloads { checksum: facts.offload, tcp: facts.offload, udp: facts.udp_offload };
        let capabilities = Capabilities {
            fast_path_rx: !facts.offload,
            fast_path_tx: true,
            max_frame: slab.slots().max_frame() as u16,
            offload,
        };
        let losses = Some(Losses::of(&facts.name, Way::Sent)?);
        let queues = files.into_iter().map(Queue::new).collect();
        Ok(TapPort::of(queues, Arc::new(facts), capabilities, losses))
    }

    /// A port for each queue, for as many workers.
    pub fn queues(self) -> Vec<TapPort> {
        let TapPort { queues, facts, capabilities, mut losses, .. } = self;
        let port = |queue| {
            let (facts, losses) = (Arc::clone(&facts), losses.take());
            TapPort::of(vec![queue], facts, capabilities, losses)
        };
        queues.into_iter().map(port).collect()
    }

    fn of(
        queues: Vec<Queue>,
        facts: Arc<Facts>,
        capabilities: Capabilities,
        losses: Option<Losses>,
    ) -> TapPort {
        let (turns, spread) = (Turns::default(), Spread::default());
        TapPort { queues, turns, spread, facts, capabilities, losses }
    }

    /// What the interface was when it was opened.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Pulls the cable out of the kernel's end, or puts it in again.
    ///
    /// # Errors
    /// The interface is no more.
    pub fn set_carrier(&self, on: bool) -> io::Result<()> {
        open::set_carrier(self.queues[0].fd(), on)
    }

    /// Whether the interface was deleted, and the port is of no use any more.
    pub fn is_gone(&self) -> bool {
        self.queues.iter().any(Queue::is_gone)
    }
}

impl Port for TapPort {
    #[inline]
    fn receive(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.turns.receive(&mut self.queues, batch, |queue, batch| queue.receive(pool, batch))
    }

    #[inline]
    fn send(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) {
        let Self { queues, spread, .. } = self;
        spread.send(queues.len(), pool, batch, |queue, pool, batch| {
            queues[queue].send(pool, batch);
        });
    }

    fn counters(&self) -> PortCounters {
        let mut sum: PortCounters = self.queues.iter().map(Queue::counters).sum();
        sum.rx_drop += self.losses.as_ref().map_or(0, |losses| losses.so_far().dropped);
        sum
    }

    fn refused(&self) -> u64 {
        self.queues.iter().map(Queue::refused).sum()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.queues.iter().map(Queue::descriptor).collect()
    }

    fn failure(&self) -> Option<String> {
        self.is_gone().then(|| format!("the interface {} is gone", self.facts.name))
    }
}
