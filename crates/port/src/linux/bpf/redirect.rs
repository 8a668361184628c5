//! The program that hands an interface's frames to AF_XDP sockets.
//!
//! ```text
//!  frame of queue q ─► IP to, ARP or a solicitation about, an address of the kernel's? ─► its network stack
//!                          └ no ─► socket q of the map ─► its receive ring
//!                                       └ none there ─► lost, counted
//! ```
//!
//! A queue has no socket when the interface was given more of them than it had: its frames must not
//! get past the firewall into the kernel's stack, which forwards them as it likes. (A veth does not run
//! the program on such queues, Linux 6.18: there they do.)
//!
//! The question is asked only where there is a map of such addresses. Missing: frames with **VLAN tags**
//! that are for it.

use super::assembler::{Alu, Assembler, If, Register::*, Size};
use super::map::Kind;
use super::{Map, Program, SharedArray, action, helper};
use crate::linux::Unavailable;
use wire::icmpv6::kind::NEIGHBOUR_SOLICITATION;

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
/// The same of IPv6, and of a neighbour solicitation.
const NEXT_HEADER: i16 = 20;
const DESTINATION6: i32 = 38;
const IPV6_END: i32 = 54;
const ICMPV6_TYPE: i16 = 54;
const TARGET6: i32 = 62;
const SOLICITATION_END: i32 = 78;
/// Where the map's key is put together on the stack, 16 bytes of an IPv6 address; and what is in front of
/// one of IPv4 there.
const KEY: i16 = -16;
const MAPPED: [u8; 4] = [0, 0, 0xff, 0xff];

/// The most addresses of the kernel's on one interface.
pub const MAX_ADDRESSES: usize = 1024;

/// A map of addresses of the kernel's, in the network's order, of IPv4 as IPv6 maps them; the values say
/// nothing.
///
/// # Errors
/// As of [`Map::new`].
pub fn addresses() -> Result<Map, Unavailable> {
    Map::new(Kind::Hash, "kernels", 16, 4, MAX_ADDRESSES)
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
    let (arp, six, found, four, look, ours) =
        (a.label(), a.label(), a.label(), a.label(), a.label(), a.label());
    a.load(Size::U32, R2, R6, context.data);
    a.load(Size::U32, R3, R6, context.data_end);
    a.set(R4, R2);
    a.alu(Alu::Add, R4, IPV4_END);
    a.jump_if(R4, If::Greater, R3, ours);
    a.load(Size::U16, R5, R2, TYPE);
    a.big_endian(R5, 16);
    a.jump_if(R5, If::Equal, i32::from(wire::layers::ETHERTYPE_ARP), arp);
    a.jump_if(R5, If::Equal, i32::from(wire::layers::ETHERTYPE_IPV6), six);
    a.jump_if(R5, If::NotEqual, i32::from(wire::layers::ETHERTYPE_IPV4), ours);
    a.load(Size::U32, R5, R2, DESTINATION);
    a.jump(four);
    a.bind(six);
    a.set(R4, R2);
    a.alu(Alu::Add, R4, IPV6_END);
    a.jump_if(R4, If::Greater, R3, ours);
    a.load(Size::U8, R5, R2, NEXT_HEADER);
    a.set(R4, R2);
    a.alu(Alu::Add, R4, DESTINATION6);
    a.jump_if(R5, If::NotEqual, i32::from(wire::ipv6::header::ICMPV6), found);
    a.set(R1, R2);
    a.alu(Alu::Add, R1, SOLICITATION_END);
    a.jump_if(R1, If::Greater, R3, found);
    a.load(Size::U8, R5, R2, ICMPV6_TYPE);
    a.jump_if(R5, If::NotEqual, i32::from(NEIGHBOUR_SOLICITATION), found);
    a.alu(Alu::Add, R4, TARGET6 - DESTINATION6);
    a.bind(found);
    for word in [0, 4, 8, 12] {
        a.load(Size::U32, R5, R4, word);
        a.store(Size::U32, R10, KEY + word, R5);
    }
    a.jump(look);
    a.bind(arp);
    a.set(R4, R2);
    a.alu(Alu::Add, R4, ARP_END);
    a.jump_if(R4, If::Greater, R3, ours);
    a.load(Size::U32, R5, R2, TARGET);
    a.bind(four);
    a.store(Size::U32, R10, KEY + 12, R5);
    a.set(R5, i32::from_ne_bytes(MAPPED));
    a.store(Size::U32, R10, KEY + 8, R5);
    a.set(R5, 0);
    a.store(Size::U32, R10, KEY + 4, R5);
    a.store(Size::U32, R10, KEY, R5);
    a.bind(look);
    a.map(R1, kernels);
    a.set(R2, R10);
    a.alu(Alu::Add, R2, i32::from(KEY));
    a.call(helper::MAP_LOOKUP_ELEM);
    a.jump_if(R0, If::Equal, 0, ours);
    a.set(R0, context.pass);
    a.exit();
    a.bind(ours);
}
