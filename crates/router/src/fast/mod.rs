//! The same semantics at speed.
//!
//! ```text
//!  batch of one port ─┬─ ipv4    nothing to ask but the FIB: look up, rewrite, out
//!                     ├─ bridge  nothing to ask but the hosts, and what the filter said before
//!                     └─ replay  a recipe per flow: what its first packet went through
//!   whatever does not fit ─► flow::physical_in, at its place in the batch, so order is kept
//! ```
//!
//! Which one a port uses is compiled into the program. Nothing here decides anything that
//! `flow.rs` does not: a packet is either treated exactly as there, or handed over to it.

// Bridging between known hosts.
mod bridge;
// Routing when there is nothing to ask but the FIB.
mod ipv4;
// Replaying recipes: a flow's packets after its first ones.
mod replay;
// Whether a flow's recipe outlives a change of the program.
mod revalidate;
// What the bridge filter said of frames like this one.
pub(crate) mod verdicts;

use crate::flow;
use crate::interface::InterfaceId;
use crate::router::Router;
use crate::tool::profile::Facility;
use port::Batch;
use wire::Moment;
use wire::layers::protocol;

/// Forwards a batch that came in by one port.
#[inline]
pub(crate) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
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
        flow::physical_in(r, now, port, frame);
    }
}

/// Whether a packet of `total` bytes, behind an Ethernet header and an IPv4 header without options,
/// has an intact UDP or TCP header: what `wire::layers` asks before it believes the ports.
#[inline(always)]
fn has_ports(head: &[u8; 54], total: usize) -> bool {
    match head[23] {
        protocol::UDP => {
            let len = usize::from(u16::from_be_bytes([head[38], head[39]]));
            total >= 28 && (8..=total - 20).contains(&len)
        }
        protocol::TCP => {
            let header = usize::from(head[46] >> 4) * 4;
            total >= 40 && (20..=total - 20).contains(&header)
        }
        _ => false,
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
