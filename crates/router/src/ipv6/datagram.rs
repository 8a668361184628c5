//! UDP datagrams over IPv6 of the router's own services: what one says, and sending one.

use super::{address, icmp};
use crate::discard::Discard;
use crate::firewall::mark::Mark;
use crate::flow;
use crate::interface::InterfaceId;
use crate::ip::route::Target;
use crate::packet::{Ends, Packet};
use crate::router::Router;
use wire::Moment;
use wire::checksum::Sum;
use wire::layers::protocol;

/// What a UDP datagram says; `None` if it is damaged, or came in pieces.
pub(crate) fn payload<'a>(r: &'a Router, p: &'a Packet) -> Option<&'a [u8]> {
    let bytes = r.transport(p);
    let len = usize::from(u16::from_be_bytes([*bytes.get(4)?, *bytes.get(5)?]));
    let udp = bytes.get(..len)?;
    let (src, dst) = (p.ends.src.to_be_bytes(), p.ends.dst.to_be_bytes());
    let sum = Sum::pseudo_ipv6(src, dst, protocol::UDP, len as u32).bytes(udp);
    let intact = p.frame.has_offload() || sum.is_ok() && udp.get(6..8)? != [0, 0];
    udp.get(8..).filter(|_| intact)
}

/// Sends a datagram by OUTPUT; by this interface if it is for a link.
pub(crate) fn send(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    ends: Ends,
    (src_port, dst_port): (u16, u16),
    bytes: &[u8],
) {
    let len = 8 + bytes.len();
    let frame = icmp::packet(&mut r.io.pool, ends, protocol::UDP, 64, len, |udp| {
        udp[..2].copy_from_slice(&src_port.to_be_bytes());
        udp[2..4].copy_from_slice(&dst_port.to_be_bytes());
        udp[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        udp[6..8].fill(0);
        udp[8..].copy_from_slice(bytes);
        let (src, dst) = (ends.src.to_be_bytes(), ends.dst.to_be_bytes());
        let sum = Sum::pseudo_ipv6(src, dst, protocol::UDP, len as u32).bytes(udp).finish();
        // A sum of 0 says that there is none (RFC 8200 §8.1).
        let sum = if sum == 0 { 0xffff } else { sum };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
    });
    let Some(frame) = frame else { return r.stats.discards.add(Discard::NoFrame) };
    r.stats.tally.made += 1;
    r.tools.sent = true;
    flow::v6::local_out(r, now, frame, interface);
}

/// The router's address toward a server; `None` if no route leads there.
pub(crate) fn own_address(r: &Router, toward: u128) -> Option<u128> {
    let v6 = &r.program.v6;
    let interface = way_toward(r, toward)?;
    let own = address::source(&v6.addresses, interface, toward);
    v6.routes.pref_src(Mark::NONE, toward).or(own)
}

/// The interface by which a packet of the router's own leaves.
pub(crate) fn way_toward(r: &Router, to: u128) -> Option<InterfaceId> {
    let routes = &r.program.v6.routes;
    match routes.target(routes.lookup_in(Mark::NONE, to))? {
        Target::Connected(interface) => Some(*interface),
        Target::Gateways(ways) => Some(ways.first()?.0),
        _ => None,
    }
}
