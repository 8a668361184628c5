//! AF_PACKET: a copy of what the kernel sees on an interface, any interface.
//!
//! ```text
//!  interface ─► kernel ─┬─► [ flow hash ] ─► ring of socket 0 … n ─► a slot of the slab ─► receive
//!      ▲                └─► [ alone: ends here ] ─► its own stack (addresses, bridges …)
//!      └──── (no qdisc) ◄── sendmmsg ◄──── send
//! ```
//!
//! Frames are **copied** to us, and would go on to the kernel's own stack, which may answer or
//! forward them once more, and takes half a microsecond to find out that it need not. With
//! [`Options::alone`] a BPF program at the interface's ingress ends them there, as long as the port
//! lives (Linux 6.6), with [`Options::kernel`] all but those for the kernel's own addresses, which the
//! port then leaves to it; without it, or where [`alone`](PacketPort::alone) says that it cannot be, give
//! the interface no addresses (`ip address flush dev eth1`, `sysctl net.ipv6.conf.eth1.disable_ipv6=1`)
//! and put it into no bridge. Nothing has to be taken away after a crash. ([XDP](super::xdp) takes
//! frames before the kernel makes packets of them.)
//!
//! The interface is in promiscuous mode as long as the port lives. Our own frames do not come back.
//! A VLAN tag that the kernel took out is put in again. Several sockets share an interface by the
//! hash of the flow, so that flows stay in order; [`PacketPort::queues`] makes a port of each.
//!
//! Checksums and segments that the kernel leaves to others (veth, virtio; GRO on any card) are done
//! when frames are received, or with [`Options::offload`] are handed on as
//! [notes](wire::Offload): fewer, longer frames, but off FastPath.
//!
//! What found the ring full (`PACKET_STATISTICS`) is `rx_drop`, as are frames that were cut off or
//! contradict themselves, and with [`Options::alone`] what the interface had dropped before (longer than
//! its MTU, no buffer) and what came past the sockets while it went down; what the driver did not take is `tx_drop`. When the interface was down and
//! is up again the port goes on; when it was deleted [`is_gone`](PacketPort::is_gone) says so.
//!
//! Missing: **fan-out by card queue**; with [`Options::offload`] a true `tx_drop` **at the instant at
//! which the interface is switched off**: the qdisc that is put in place of its own then drops frames and
//! calls them sent (16 of 65,000, once in five runs of 150 times down and up).
//!
//! # Why `sendmmsg` and TPACKET_V2
//!
//! By `benches/packet.rs` (2026-11-22; veth, Linux 6.18, one core of a shared 2-core machine, alone on
//! it; by turns, medians of 30 rounds of 1024 frames, batches of 64; processor time for a frame, the
//! receiver's share of the kernel's work in "sent to"):
//!
//! ```text
//!             send                    sent to               received
//!             sendmmsg   TX ring      V2        V3          V2       V3
//!   60 B      1577 ns    1662 ns      2160 ns   1811 ns      57 ns    13 ns
//!  512 B      1681 ns    1739 ns      2323 ns   2070 ns     216 ns    34 ns
//! 1514 B      1683 ns    1821 ns      2336 ns   2192 ns     202 ns   138 ns
//! a frame alone                       4.3 us    1000 us
//! ```
//!
//! * `sendmmsg` is the faster one, by 3 to 8 %: a `PACKET_TX_RING` spares the copy, and pays for it
//!   with a fragment and a destructor for each frame.
//! * TPACKET_V3 costs 8 to 18 % less (read without virtio's header and tags, which a port needs), but
//!   hands over *blocks*, when they are full or when a timer of a millisecond at least runs out: a
//!   lone frame waits 230 times as long, at every port. That suits captures; a router wants it now, so
//!   (as with DPDK's driver) the ring has a place for each frame.

// One socket of an interface.
mod queue;
// The ring it shares with the kernel.
mod ring;
// System calls.
mod socket;

use super::ahead::Ahead;
use super::bpf;
use super::interface::Interface;
use super::losses::Lost;
use super::{Kernels, Unavailable};
use crate::queues::Turns;
use crate::{Batch, Capabilities, Offloads, Pool, Port, PortCounters, Slab};
use queue::Queue;
use socket::Socket;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use wire::Moment;

/// What is asked of an AF_PACKET port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many sockets share what comes in.
    pub queues: u32,
    /// About how many frames wait in the ring of each.
    pub ring: u32,
    /// What is left to do to frames is handed on, and taken.
    pub offload: bool,
    /// The kernel's own stack is to have none of them, if that is possible.
    pub alone: bool,
    /// But what is for its own addresses ([`Kernels`]) it is to have alone.
    pub kernel: bool,
}

impl Default for Options {
    /// One socket, 4096 frames, frames that are what they seem, and ours alone.
    fn default() -> Options {
        Options { queues: 1, ring: 4096, offload: false, alone: true, kernel: false }
    }
}

/// An interface by AF_PACKET, or some of its sockets.
pub struct PacketPort {
    /// Never empty. It sends by the first: which of the card's queues a frame goes by is chosen by
    /// the processor that sends, whatever the socket.
    queues: Vec<Queue>,
    turns: Turns,
    capabilities: Capabilities,
    about: Arc<About>,
    /// The number of its first socket: that of the first tells what concerns the whole interface.
    first: u32,
}

/// What all sockets of an interface have in common.
struct About {
    interface: Interface,
    /// What keeps frames from the kernel's stack; why nothing does, if it was wanted.
    alone: Option<Result<bpf::Link, Unavailable>>,
    kernels: Option<Kernels>,
    /// What was lost ahead of the sockets, unless that is not known: the kernel's own stack, if it has
    /// the frames too, drops some of them as well.
    ahead: Option<Ahead>,
}

/// The most sockets: those the kernel lets into a group.
const MAX_QUEUES: u32 = 256;
/// The most frames in a ring.
const MAX_RING: u32 = 1 << 16;

impl PacketPort {
    /// The interface of this name in the calling thread's network namespace; the port can then be
    /// used by any thread.
    ///
    /// # Errors
    /// [`Unavailable`]: no such interface, no Ethernet, no rights, no memory for the ring.
    pub fn open(
        interface: &str,
        slab: &Slab,
        options: &Options,
    ) -> Result<PacketPort, Unavailable> {
        let tried = || format!("open {interface} by AF_PACKET");
        let because = |error: io::Error| {
            let remedy = match error.raw_os_error() {
                Some(libc::ENOMEM | libc::ENOBUFS) => Some("ask for a smaller ring"),
                Some(libc::EAFNOSUPPORT) => Some("load the module: `modprobe af_packet`"),
                _ => None,
            };
            let unavailable = Unavailable::because(tried(), error);
            match remedy {
                Some(remedy) => unavailable.remedy(remedy),
                None => unavailable,
            }
        };
        let wrong = |what| because(io::Error::new(io::ErrorKind::InvalidInput, what));
        if !(1..=MAX_QUEUES).contains(&options.queues) || !(1..=MAX_RING).contains(&options.ring) {
            return Err(wrong("1 to 256 queues, rings of 1 to 65,536 frames"));
        }
        let facts = Interface::of(interface)?;
        if facts.mac.is_none() {
            return Err(wrong("it is no Ethernet interface"));
        }
        // A tag is put in again beside the place, in the slot.
        let longest = (facts.mtu as usize + 14).min(super::vnet::LONGEST);
        let ends = options.alone.then(|| end_at_ingress(facts.index, options.kernel));
        let (alone, kernels, past) = match ends {
            None => (None, None, None),
            Some(Ok((link, kernels, past))) => (Some(Ok(link)), kernels, Some(past)),
            Some(Err(why)) => (Some(Err(why)), None, None),
        };
        let mut queues: Vec<Queue> = Vec::new();
        let mut group = None;
        for _ in 0..options.queues {
            let (socket, mut ring) =
                Socket::open(facts.index, longest, options.ring, !options.offload)
                    .map_err(because)?;
            match group {
                _ if options.queues == 1 => {}
                None => group = Some(socket.begin_group().map_err(because)?),
                Some(group) => {
                    socket.join_group(group).map_err(because)?;
                    // What came before it had joined, the others have as well.
                    while let Some(received) = ring.peek() {
                        if received.copied {
                            let _ = socket.read_long([&mut [], &mut []]);
                        }
                        ring.done();
                    }
                    socket.statistics();
                }
            }
            queues.push(Queue::new(socket, ring, options.offload, kernels.clone()));
        }
        let all = Offloads { checksum: true, tcp: true, udp: true };
        let capabilities = Capabilities {
            fast_path_rx: !options.offload,
            fast_path_tx: true,
            max_frame: slab.slots().max_frame() as u16,
            offload: if options.offload { all } else { Offloads::NONE },
        };
        let seen = || queues.iter().map(Queue::seen).sum();
        let ahead = match past {
            Some(past) => Some(Ahead::of(&facts.name, queues.len())?.past(past, seen)),
            None => None,
        };
        let about = Arc::new(About { interface: facts, alone, kernels, ahead });
        Ok(PacketPort { queues, turns: Turns::default(), capabilities, about, first: 0 })
    }

    /// A port for each socket, for as many workers.
    pub fn queues(mut self) -> Vec<PacketPort> {
        let port = |(first, queue)| {
            let (queues, turns, about) = (vec![queue], Turns::default(), Arc::clone(&self.about));
            PacketPort { queues, turns, capabilities: self.capabilities, about, first }
        };
        (0..).zip(std::mem::take(&mut self.queues)).map(port).collect()
    }

    /// What the interface was when it was opened.
    pub fn interface(&self) -> &Interface {
        &self.about.interface
    }

    /// Whether the kernel's own stack has none of the frames; an error if that was wanted and cannot
    /// be.
    ///
    /// # Errors
    /// [`Unavailable`]: a kernel before 6.6, no rights for BPF programs.
    pub fn alone(&self) -> Result<bool, &Unavailable> {
        match &self.about.alone {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(unavailable)) => Err(unavailable),
        }
    }

    /// The kernel's addresses, which the port leaves to it, if it was opened so and that can be.
    pub fn kernels(&self) -> Option<Kernels> {
        self.about.kernels.clone()
    }

    /// Whether the interface was deleted, and the port is of no use any more.
    pub fn is_gone(&self) -> bool {
        self.queues[0].socket().is_gone()
    }
}

/// Ends what comes to an interface behind its packet sockets, and counts it; with `kernel`, what is not
/// the kernel's.
fn end_at_ingress(
    interface: u32,
    kernel: bool,
) -> Result<(bpf::Link, Option<Kernels>, bpf::Past), Unavailable> {
    let (kernels, past) = (kernel.then(Kernels::new).transpose()?, bpf::Past::new()?);
    let program = bpf::end(&past, kernels.as_ref().map(Kernels::map))?;
    Ok((program.attach_ingress(interface)?, kernels, past))
}

impl Port for PacketPort {
    #[inline]
    fn receive(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) -> usize {
        self.turns.receive(&mut self.queues, batch, |queue, batch| queue.receive(pool, batch))
    }

    #[inline]
    fn send(&mut self, _now: Moment, pool: &mut Pool, batch: &mut Batch) {
        self.queues[0].send(pool, batch);
    }

    fn counters(&self) -> PortCounters {
        let ahead = self.about.ahead.as_ref();
        if let (Some(ahead), 0) = (ahead, self.first) {
            ahead.ask();
        }
        let counters = (self.first..).zip(&self.queues).map(|(number, queue)| {
            let (counters, seen) = queue.counters();
            if let Some(ahead) = ahead {
                ahead.told(number, seen, false);
            }
            counters
        });
        let sum: PortCounters = counters.sum();
        let ahead = match ahead {
            Some(ahead) if self.first == 0 => ahead.so_far(),
            _ => Lost::default(),
        };
        PortCounters { rx_drop: sum.rx_drop + ahead.dropped, rx_error: ahead.errors, ..sum }
    }

    fn refused(&self) -> u64 {
        self.queues.iter().map(Queue::refused).sum()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.queues.iter().map(|queue| queue.socket().as_fd()).collect()
    }

    fn failure(&self) -> Option<String> {
        self.is_gone().then(|| format!("the interface {} is gone", self.about.interface.name))
    }
}

impl Drop for PacketPort {
    fn drop(&mut self) {
        let Some(ahead) = &self.about.ahead else { return };
        for (number, queue) in (self.first..).zip(&self.queues) {
            ahead.told(number, queue.seen(), true);
        }
    }
}
