//! Options of an AF_XDP port, its state, and its losses.

use crate::linux::bpf::Mode;
use std::fmt;

/// How a port is to be opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where frames meet the XDP program; `None`: native, and generic where the driver has none.
    pub mode: Option<Mode>,
    /// Whether the driver is to work on the slab itself; `None`: if it can.
    pub zero_copy: Option<bool>,
    /// How many frames each ring of a queue holds, rounded up to a power of two, at most 2¹⁵. So
    /// many of the slab's frames wait in the kernel for what is received, but at most a quarter of
    /// all.
    pub ring: u32,
    /// How many frames it sends at once in copy mode, where it can be told (Linux 6.17): fewer
    /// system calls.
    pub budget: u32,
    /// What is for the kernel's own addresses ([`Kernels`](crate::linux::Kernels)) goes to it.
    pub kernel: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { mode: None, zero_copy: None, ring: 2048, budget: 2048, kernel: false }
    }
}

/// What a port became, and what was tried in vain before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The interface's name when it was opened.
    pub interface: String,
    /// Its driver.
    pub driver: String,
    /// Native or generic.
    pub mode: Mode,
    /// Whether the driver works on the slab itself.
    pub zero_copy: bool,
    /// Whether frames longer than a chunk come and go, in several.
    pub multi_buffer: bool,
    /// What the kernel takes for a chunk of the slab, in bytes.
    pub chunk: usize,
    /// Whether chunks are aligned to their size.
    pub aligned: bool,
    /// Whether another port began the UMEM that it uses.
    pub shares_umem: bool,
    /// The queues it receives by.
    pub rx_queues: u32,
    /// The queues it could send by.
    pub tx_queues: u32,
    /// The entries of each ring.
    pub ring: u32,
    /// Slots of the slab that each queue's kernel side has for receiving.
    pub fill: u32,
    /// Frames that one system call sends, in copy mode.
    pub budget: u32,
    /// Whether the kernel has what is for its own addresses.
    pub kernel: bool,
    /// What was tried first, and why it was not to be had.
    pub tried: Vec<String>,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { interface, rx_queues, chunk, ring, .. } = self;
        let driver = if self.driver.is_empty() { "unknown driver" } else { &self.driver };
        let mode = if self.mode == Mode::Native { "native" } else { "generic" };
        let copy = if self.zero_copy { "zero-copy" } else { "copy mode" };
        let queues = if *rx_queues == 1 { "queue" } else { "queues" };
        let aligned = if self.aligned { "aligned" } else { "unaligned" };
        write!(
            f,
            "{interface} ({driver}): AF_XDP, {mode}, {copy}, {rx_queues} {queues}, \
             {aligned} chunks of {chunk} bytes, rings of {ring}"
        )?;
        if self.multi_buffer {
            f.write_str(", multi-buffer")?;
        }
        if self.kernel {
            f.write_str(", the kernel's addresses left to it")?;
        }
        self.tried.iter().try_for_each(|tried| write!(f, "; {tried}"))
    }
}

/// Frames that a port lost since it was opened, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// The kernel had no slot for it (we gave it too few, the slab being short), or it was longer
    /// than a chunk without multi-buffer (`rx_dropped`).
    pub rx_no_slot: u64,
    /// We did not read fast enough: the rx ring was full (`rx_ring_full`).
    pub rx_ring_full: u64,
    /// The kernel found a slot of the fill ring not to be one (`rx_invalid_descs`): no frame lost.
    pub rx_invalid: u64,
    /// It came in several parts that together exceed a slot.
    pub rx_too_long: u64,
    /// The kernel gave us a slot it was not lent.
    pub rx_strange: u64,
    /// It came by a queue that the interface did not have when the port was opened.
    pub rx_no_socket: u64,
    /// It waited to be received when the port was closed.
    pub rx_closed: u64,
    /// The interface dropped it: it was longer than its MTU, or there was no buffer.
    pub rx_ahead: u64,
    /// How often the fill ring was found empty (`rx_fill_ring_empty_descs`): the cause of
    /// `rx_no_slot`, and no other loss in copy mode.
    pub fill_ring_empty: u64,
    /// The kernel did not send fast enough: the tx ring was full.
    pub tx_ring_full: u64,
    /// The device did not take it: its peer's ring is full, its wire does not carry, or it is longer
    /// than the peer's MTU.
    pub tx_refused: u64,
    /// The interface was down or gone.
    pub tx_link_down: u64,
    /// It is longer than a chunk, and its slot is only one.
    pub tx_too_long: u64,
    /// It is shorter than an Ethernet header.
    pub tx_too_short: u64,
    /// The kernel found a descriptor not to be one (`tx_invalid_descs`).
    pub tx_invalid: u64,
}

impl Drops {
    /// Those that were to be received: a port's `rx_drop`.
    pub fn rx(&self) -> u64 {
        self.rx_by_socket()
            + self.rx_too_long
            + self.rx_strange
            + self.rx_no_socket
            + self.rx_closed
            + self.rx_ahead
    }

    /// Those that its sockets counted.
    pub(super) fn rx_by_socket(&self) -> u64 {
        self.rx_no_slot + self.rx_ring_full
    }

    /// Those that were to be sent: a port's `tx_drop`.
    pub fn tx(&self) -> u64 {
        self.tx_ring_full
            + self.tx_refused
            + self.tx_link_down
            + self.tx_too_long
            + self.tx_too_short
    }
}

impl std::iter::Sum for Drops {
    fn sum<I: Iterator<Item = Drops>>(drops: I) -> Drops {
        drops.fold(Drops::default(), |a, b| Drops {
            rx_no_slot: a.rx_no_slot + b.rx_no_slot,
            rx_ring_full: a.rx_ring_full + b.rx_ring_full,
            rx_invalid: a.rx_invalid + b.rx_invalid,
            rx_too_long: a.rx_too_long + b.rx_too_long,
            rx_strange: a.rx_strange + b.rx_strange,
            rx_no_socket: a.rx_no_socket + b.rx_no_socket,
            rx_closed: a.rx_closed + b.rx_closed,
            rx_ahead: a.rx_ahead + b.rx_ahead,
            fill_ring_empty: a.fill_ring_empty + b.fill_ring_empty,
            tx_ring_full: a.tx_ring_full + b.tx_ring_full,
            tx_refused: a.tx_refused + b.tx_refused,
            tx_link_down: a.tx_link_down + b.tx_link_down,
            tx_too_long: a.tx_too_long + b.tx_too_long,
            tx_too_short: a.tx_too_short + b.tx_too_short,
            tx_invalid: a.tx_invalid + b.tx_invalid,
        })
    }
}
