//! The program that hands an interface's frames to AF_XDP sockets.
//!
//! ```text
//!  frame of queue q ─► IPv4 to, or ARP about, an address of the kernel's? ─► its network stack
//!                          └ no ─► socket q of the map ─► its receive ring
//!                                       └ none there ─► lost, counted
//! ```
//!
//! A queue has no socket when the interface was given more of them than it had: its frames must not
//! get past the firewall into the kernel's stack, which forwards them as it likes. (A veth does not run
//! the program on such queues, Linux 6.18: there they do.)
//!
//! The question is asked only where there is a map of such addresses. Missing: **IPv6** of the
//! kernel's, and frames with **VLAN tags** that are for it.

use super::assembler::{Alu, Assembler, If, Register::*, Size};
use super::map::Kind;
use super::{Map, Program, SharedArray, action, helper};
use crate::linux::Unavailable;

/// Where a program finds the frame (fields of its context), and what it answers for the kernel's stack.
pub(super) struct Context {
    pub(super) data: i16,
    pub(super) data_end: i16,
    pub(super) pass: i32,
}

/// `struct xdp_md`.
const XDP: Context = Context { data: 0, data_end: 4, pass: action::PASS };
const RX_QUEUE_INDEX: i16 = 16;

/// Where the frame's type stands, an IPv4 packet's destination, and whom an ARP packet asks or
/// answers; and the ends of both headers.
const TYPE: i16 = 12;
const DESTINATION: i16 = 30;
const TARGET: i16 = 38;
const IPV4_END: i32 = 34;
const ARP_END: i32 = 42;

/// The most addresses of the kernel's on one interface.
pub const MAX_ADDRESSES: usize = 1024;

/// A map of addresses of the kernel's, in the network's order; the values say nothing.
///
/// # Errors
/// As of [`Map::new`].
pub fn addresses() -> Result<Map, Unavailable> {
    Map::new(Kind::Hash, "kernels", 4, 4, MAX_ADDRESSES)
}

/// Loads the program for the sockets in `sockets` ([`Map::sockets`]); frames without one are lost and
/// counted in the first word of `lost`. What is for one of the kernel's addresses, in a map as
/// [`addresses`] makes them, passes. With `frags` it takes frames in several buffers (jumbo frames); the
/// sockets need `XDP_USE_SG` then.
///
/// # Errors
/// As of [`Program::xdp`].
pub fn redirect(
    sockets: &Map,
    lost: &SharedArray,
    kernels: Option<&Map>,
    frags: bool,
) -> Result<Program, Unavailable> {
    let mut a = Assembler::new();
    a.set(R6, R1);
    if let Some(kernels) = kernels {
        pass_to_kernel(&mut a, kernels, &XDP);
    }
    a.load(Size::U32, R2, R6, RX_QUEUE_INDEX);
    a.map(R1, sockets);
    // What it answers where there is no socket.
    a.set(R3, action::DROP);
    a.call(helper::REDIRECT_MAP);
    let done = a.label();
    a.jump_if(R0, If::NotEqual, action::DROP, done);
    a.address(R1, lost.map(), 0);
    a.set(R2, 1);
    a.atomic_add(R1, 0, R2);
    a.bind(done);
    a.exit();
    Program::xdp("redirect", &a.finish(), frags)
}

/// Ends here for what is the kernel's, and goes on for what is not; R6 is the context.
pub(super) fn pass_to_kernel(a: &mut Assembler, kernels: &Map, context: &Context) {
    let (arp, look, ours) = (a.label(), a.label(), a.label());
    a.load(Size::U32, R2, R6, context.data);
    a.load(Size::U32, R3, R6, context.data_end);
    a.set(R4, R2);
    a.alu(Alu::Add, R4, IPV4_END);
    a.jump_if(R4, If::Greater, R3, ours);
    a.load(Size::U16, R5, R2, TYPE);
    a.big_endian(R5, 16);
    a.jump_if(R5, If::Equal, i32::from(wire::layers::ETHERTYPE_ARP), arp);
    a.jump_if(R5, If::NotEqual, i32::from(wire::layers::ETHERTYPE_IPV4), ours);
    a.load(Size::U32, R5, R2, DESTINATION);
    a.jump(look);
    a.bind(arp);
    a.set(R4, R2);
    a.alu(Alu::Add, R4, ARP_END);
    a.jump_if(R4, If::Greater, R3, ours);
    a.load(Size::U32, R5, R2, TARGET);
    a.bind(look);
    a.store(Size::U32, R10, -4, R5);
    a.map(R1, kernels);
    a.set(R2, R10);
    a.alu(Alu::Add, R2, -4);
    a.call(helper::MAP_LOOKUP_ELEM);
    a.jump_if(R0, If::Equal, 0, ours);
    a.set(R0, context.pass);
    a.exit();
    a.bind(ours);
}
