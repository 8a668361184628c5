//! FastPath, FastTrack and recipes: the same semantics at speed.
//!
//! ```text
//!  batch of one port ─┬─ ipv4    nothing to ask but the FIB: look up, rewrite, out
//!                     ├─ bridge  nothing to ask but the hosts, and what the filter said before
//!                     ├─ replay  a recipe per flow: what its first packet went through
//!                     └─ ipv6    either of these, of batches with IPv6 among them
//!                        tunnel  before all: what is inside comes in once more
//!                        mpls    before these: what has a label
//!   whatever does not fit ─► flow::enter, at its place in the batch, so order is kept
//! ```
//!
//! Which one a port uses is compiled into the program. Nothing here decides anything that
//! `flow.rs` does not: a packet is either treated exactly as there, or handed over to it.

// Bridging between known hosts.
mod bridge;
// The arrival that a batch's frames have in common.
mod common;
// Into tunnels whose outer flows have recipes.
pub(crate) mod enclose;
// First packets, by the recipes of others like them.
pub(crate) mod first;
// Routing when there is nothing to ask but the FIB.
mod ipv4;
// Both families, where there is IPv6 among a batch.
mod ipv6;
// By labels.
mod mpls;
// What was counted on the way, for interfaces above ports.
mod passed;
// Replaying recipes: a flow's packets after its first ones.
mod replay;
mod replay6;
// Whether a flow's recipe outlives a change of the program.
mod revalidate;
// Outer packets of one tunnel in a row.
mod run;
// Into tunnels, and out of them.
pub(crate) mod tunnel;
// What the bridge filter said of frames like this one.
pub(crate) mod verdicts;

use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::rewrite::Rewrite;
use crate::ip::family::Family;
use crate::router::Router;
use crate::tool::profile::Facility;
pub(crate) use enclose::end_run;
pub(crate) use passed::Passed;
use port::{Batch, Frame, Slab};
pub(crate) use replay::resume;
use wire::Moment;
use wire::layers::protocol;

/// Why a batch loop without recipes leaves a frame to the slow path. (With recipes
/// [`record`](crate::flow::Unkept) says why there is none.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Its TTL, its checksum, its addresses: not what a batch is for.
    Unusual,
    /// The IP header has options.
    Options,
    /// Its route has several gateways.
    Ecmp,
    /// It is longer than the out-interface's MTU.
    TooLong,
    /// The neighbour is not known yet, or not behind which port of a bridge.
    Neighbour,
    /// Bridge NAT looks at each frame, or the spanning tree has closed the port.
    BridgeRules,
    /// A bridge does not know where its destination is, or it is for many.
    Unknown,
    /// `use-ip-firewall` of bridges.
    IpFirewall,
}

/// Forwards a batch that came in by one port.
#[inline]
pub(crate) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    let enclosed = r.program.has_tunnels();
    if !enclosed && !r.program.mpls.is_on {
        return pass(r, now, port, batch);
    }
    let others = if enclosed { tunnel::receive } else { pass };
    let interface = r.program.interface(port);
    let is_ours = interface.running && interface.bridge.is_none();
    match r.program.mpls.is_on && is_ours && mpls::are_in(r, batch) {
        true => mpls::receive(r, now, port, batch, others),
        false => others(r, now, port, batch),
    }
    end_run(r);
}

/// The same of what is not taken out of tunnels before.
#[inline]
fn pass(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    let interface = r.program.interface(port);
    let (running, bridge) = (interface.running, interface.bridge);
    let facility = if bridge.is_some() { Facility::Bridging } else { Facility::Networking };
    r.tools.profiler.settle_in(facility);
    match bridge {
        _ if !running => {}
        Some(bridge) => return bridge::receive(r, now, port, bridge, batch),
        None if r.program.is_stateless() => return ipv4::receive(r, now, port, batch),
        None if r.tools.profiler.sampling => return replay::receive::<true>(r, now, port, batch),
        None => return replay::receive::<false>(r, now, port, batch),
    }
    for frame in batch.drain() {
        flow::enter(r, now, port, frame);
    }
}

/// Whether a packet of `total` bytes, behind an IPv4 header without options, has an intact UDP or
/// TCP header: what `wire::layers` asks before it believes the ports.
#[inline(always)]
fn has_ports(ip: &[u8; 40], total: usize) -> bool {
    match ip[9] {
        protocol::UDP => {
            let len = usize::from(u16::from_be_bytes([ip[24], ip[25]]));
            total >= 28 && (8..=total - 20).contains(&len)
        }
        protocol::TCP => {
            let header = usize::from(ip[32] >> 4) * 4;
            total >= 40 && (20..=total - 20).contains(&header)
        }
        _ => false,
    }
}

/// Puts a neighbour's header in front of the IP packet that begins at `l3`, in place of what was
/// there.
///
/// # Panics
/// If there is no headroom for it: there is for more than a rewrite holds.
#[inline(always)]
fn put_header<A: Family>(slab: &Slab, frame: &mut Frame, l3: usize, rewrite: &Rewrite<A>) {
    let len = rewrite.len();
    if len == l3 {
        // As long as what was there: most often both are known to the compiler.
        match l3 {
            14 => put(slab, frame, rewrite.bytes::<14>()),
            18 if !rewrite.tells_of_packet() => put(slab, frame, rewrite.bytes::<18>()),
            _ => put_any(slab, frame, rewrite),
        }
        return;
    }
    if l3 > len {
        frame.pull(l3 - len);
    } else {
        assert!(slab.push(frame, len - l3), "no headroom for {} bytes", len - l3);
    }
    match len {
        14 => put(slab, frame, rewrite.bytes::<14>()),
        18 if !rewrite.tells_of_packet() => put(slab, frame, rewrite.bytes::<18>()),
        _ => put_any(slab, frame, rewrite),
    }
}

/// The same where `bytes`, a frame's, begin with a header as long: most often; false if they do not, and
/// nothing is written.
#[inline(always)]
fn overwrite_header<A: Family>(bytes: &mut [u8], l3: usize, rewrite: &Rewrite<A>) -> bool {
    if rewrite.len() != l3 {
        return false;
    }
    match l3 {
        14 => bytes.first_chunk_mut().map(|head| *head = *rewrite.bytes::<14>()).is_some(),
        18 if !rewrite.tells_of_packet() => {
            bytes.first_chunk_mut().map(|head| *head = *rewrite.bytes::<18>()).is_some()
        }
        _ => false,
    }
}

/// Writes a header of any length, and into it what it tells of the packet: into PPPoE's how long that is, where the
/// frame ends; into a label the packet's TTL.
#[inline(always)]
fn put_any<A: Family>(slab: &Slab, frame: &mut Frame, rewrite: &Rewrite<A>) {
    let len = rewrite.len();
    match len {
        22 => put(slab, frame, rewrite.bytes::<22>()),
        _ => slab.bytes_mut(frame)[..len].copy_from_slice(rewrite.header()),
    }
    if rewrite.is_in_session()
        && let Some(&mut [ref mut first, ref mut second, _, _, version, _, a, b, c, d]) =
            slab.bytes_mut(frame).get_mut(len - 4..).and_then(|rest| rest.first_chunk_mut::<10>())
    {
        // IPv6's header does not count itself.
        let ip_len = match version >> 4 {
            6 => u16::from_be_bytes([c, d]).saturating_add(40),
            _ => u16::from_be_bytes([a, b]),
        };
        [*first, *second] = ip_len.saturating_add(2).to_be_bytes();
        frame.truncate(len + usize::from(ip_len));
    }
    if rewrite.has_ttl_of_packet()
        && let Some(&mut [ref mut ttl, _, _, _, _, _, _, _, _, ip_ttl]) =
            slab.bytes_mut(frame).get_mut(len - 1..).and_then(|rest| rest.first_chunk_mut::<10>())
    {
        *ttl = ip_ttl;
    }
}

/// Writes the first bytes of a frame.
#[inline(always)]
fn put<const N: usize>(slab: &Slab, frame: &mut Frame, bytes: &[u8; N]) {
    if let Some(head) = slab.bytes_mut(frame).first_chunk_mut() {
        *head = *bytes;
    }
}

/// Takes one from the TTL of the IPv4 header and mends its checksum (RFC 1141: the word with the
/// TTL in its high byte falls by 0x0100, so the complement rises by it).
///
/// # Panics
/// If `ip` is shorter than 12 bytes.
#[inline(always)]
pub(crate) fn decrement_ttl(ip: &mut [u8]) {
    let ip: &mut [u8; 12] = ip.first_chunk_mut().expect("an IPv4 header");
    ip[8] -= 1;
    let sum = u32::from(u16::from_be_bytes([ip[10], ip[11]])) + 0x0100;
    // One's complement has two zeroes; RFC 1624 §3 wants 0x0000, never 0xffff.
    let sum = sum + u32::from(sum >= 0xffff);
    ip[10..12].copy_from_slice(&(sum as u16).to_be_bytes());
}
