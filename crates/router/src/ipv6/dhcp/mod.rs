//! DHCPv6 (RFC 8415): `/ipv6 dhcp-client` asks for an address and prefixes, `/ipv6 dhcp-server` gives
//! them out.
//!
//! ```text
//! filter input ─► LOCAL IN ─┬─► [server] ─► bindings ─► a route to each delegated prefix ─► found
//!                           └─► [client] ─► an address, a pool, a default route ──────────► found
//!                 timers ───────┴─► flow::v6::local_out
//! ```
//!
//! Both speak from the link's own address. What they get passes the firewall: ports 546 and 547.
//!
//! **Missing**: relays, reconfiguration, authentication, `make-static`, scripts.

// The client.
pub(crate) mod client;
// What is done with the menus.
pub(crate) mod facilities;
// The property tables.
pub(crate) mod menu;
// The server.
pub(crate) mod server;
// What the configuration means.
pub(crate) mod settings;

use super::nd::autoconf;
use super::{ALL_NODES, address, icmp};
use crate::discard::Discard;
use crate::flow;
use crate::interface::InterfaceId;
use crate::packet::{Ends, Packet};
use crate::program::Program;
use crate::router::Router;
use wire::checksum::Sum;
use wire::dhcp6::{CLIENT_PORT, Message, SERVER_PORT};
use wire::layers::protocol;
use wire::{MacAddr, Moment};

/// Whether a packet for the router is DHCPv6's.
pub(crate) fn is_asked(program: &Program, p: &Packet) -> bool {
    let (tuple, on, dhcp) = (&p.layers.tuple, p.in_interface, &program.v6.dhcp);
    tuple.protocol == protocol::UDP
        && match tuple.dst_port {
            SERVER_PORT => dhcp.server_on(on).is_some(),
            CLIENT_PORT => dhcp.client_on(on).is_some(),
            _ => false,
        }
}

/// A message has come to LOCAL IN.
pub(crate) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let Some(message) = payload(r, &p).and_then(Message::read) else {
        return r.discard(p, Discard::BadDhcp);
    };
    let (to_server, interface) = (p.layers.tuple.dst_port == SERVER_PORT, p.in_interface);
    let from = p.ends.src;
    r.consume(p);
    match to_server {
        true => server::hear(r, now, interface, from, &message),
        false => client::hear(r, now, interface, from, &message),
    }
}

/// What a UDP datagram says; `None` if it is damaged, or from beyond the link.
fn payload<'a>(r: &'a Router, p: &'a Packet) -> Option<&'a [u8]> {
    let bytes = r.transport(p);
    let len = usize::from(u16::from_be_bytes([*bytes.get(4)?, *bytes.get(5)?]));
    let udp = bytes.get(..len)?;
    let (src, dst) = (p.ends.src.to_be_bytes(), p.ends.dst.to_be_bytes());
    let sum = Sum::pseudo_ipv6(src, dst, protocol::UDP, len as u32).bytes(udp);
    let near = wire::Ipv6Prefix::LINK_LOCAL.contains(p.ends.src);
    let intact = near && (p.frame.has_offload() || sum.is_ok() && udp.get(6..8)? != [0, 0]);
    udp.get(8..).filter(|_| intact)
}

/// Sends a message by an interface, from its own address there.
fn say(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    dst: u128,
    (src_port, dst_port): (u16, u16),
    message: &Message,
) {
    let Some(src) = address::source(&r.program.v6.addresses, interface, ALL_NODES) else { return };
    let bytes = message.to_bytes();
    let len = 8 + bytes.len();
    let frame = icmp::packet(&mut r.io.pool, Ends { src, dst }, protocol::UDP, 64, len, |udp| {
        udp[..2].copy_from_slice(&src_port.to_be_bytes());
        udp[2..4].copy_from_slice(&dst_port.to_be_bytes());
        udp[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        udp[6..8].fill(0);
        udp[8..].copy_from_slice(&bytes);
        let (src, dst) = (src.to_be_bytes(), dst.to_be_bytes());
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

/// Who the router is on an interface: a DUID of its MAC address (RFC 8415 §11.4).
fn duid(mac: MacAddr) -> Vec<u8> {
    [&[0, 3, 0, 1], &mac.0[..]].concat()
}

/// The name servers that the router was told: by DHCPv6, and by other routers.
pub(crate) fn dns_servers(r: &Router) -> Vec<u128> {
    let mut all = client::dns_servers(r);
    all.extend(autoconf::dns_servers(r));
    let mut seen = Vec::new();
    all.retain(|server| {
        let fresh = !seen.contains(server);
        seen.push(*server);
        fresh
    });
    all
}
