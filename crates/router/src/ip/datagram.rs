//! UDP datagrams of the router's own services: what one says, and making one.

use super::icmp::write_ipv4;
use crate::discard::Discard;
use crate::flow;
use crate::interface::InterfaceId;
use crate::ipv6;
use crate::packet::{Ends, Packet};
use crate::router::Router;
use port::{Frame, Pool};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, protocol};
use wire::{FiveTuple, MacAddr, Moment, checksum};

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct End {
    pub(crate) address: u32,
    pub(crate) port: u16,
}

/// Ethernet, IPv4, UDP.
const HEADERS: usize = 14 + 20 + 8;

/// A frame with a datagram between two stations; the MAC addresses are still to be written where LOCAL
/// OUT does that. `None` when the pool is empty, or the payload too long for a frame.
pub(crate) fn udp(
    pool: &mut Pool,
    (src_mac, dst_mac): (MacAddr, MacAddr),
    (src, dst): (End, End),
    payload: &[u8],
) -> Option<Frame> {
    let mut frame = pool.alloc(HEADERS + payload.len())?;
    let bytes = pool.slab().bytes_mut(&mut frame);
    bytes[..6].copy_from_slice(&dst_mac.0);
    bytes[6..12].copy_from_slice(&src_mac.0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    let udp = &mut bytes[34..];
    let len = (8 + payload.len()) as u16;
    udp[..2].copy_from_slice(&src.port.to_be_bytes());
    udp[2..4].copy_from_slice(&dst.port.to_be_bytes());
    udp[4..6].copy_from_slice(&len.to_be_bytes());
    udp[6..8].fill(0);
    udp[8..].copy_from_slice(payload);
    let sum = checksum::udp(src.address, dst.address, udp);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    write_ipv4(&mut bytes[14..], 0, protocol::UDP, src.address, dst.address);
    Some(frame)
}

/// Sends a datagram of the router's own by OUTPUT; without a frame for it there is none.
pub(crate) fn send(r: &mut Router, now: Moment, ends: (End, End), payload: &[u8]) {
    let macs = (MacAddr::default(), MacAddr::default());
    match udp(&mut r.io.pool, macs, ends, payload) {
        Some(frame) => {
            r.stats.tally.made += 1;
            r.tools.sent = true;
            flow::local_out(r, now, frame);
        }
        None => r.stats.discards.add(Discard::NoFrame),
    }
}

/// The same of either family; between two of them there is none.
pub(crate) fn send_between(
    r: &mut Router,
    now: Moment,
    (own, to): (SocketAddr, SocketAddr),
    payload: &[u8],
) {
    let ports = (own.port(), to.port());
    match (own.ip(), to.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let end = |address: Ipv4Addr, port| End { address: address.into(), port };
            send(r, now, (end(src, ports.0), end(dst, ports.1)), payload);
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let ends = Ends { src: src.into(), dst: dst.into() };
            ipv6::datagram::send(r, now, InterfaceId::NONE, ends, ports, payload);
        }
        _ => {}
    }
}

/// Who has sent a packet, and to whom.
pub(crate) fn ends(p: &Packet) -> (SocketAddr, SocketAddr) {
    let tuple = &p.layers.tuple;
    let (src, dst): (IpAddr, IpAddr) = match p.layers.ether_type {
        ETHERTYPE_IPV6 => (Ipv6Addr::from(p.ends.src).into(), Ipv6Addr::from(p.ends.dst).into()),
        _ => (Ipv4Addr::from(tuple.src).into(), Ipv4Addr::from(tuple.dst).into()),
    };
    ((src, tuple.src_port).into(), (dst, tuple.dst_port).into())
}

/// Sends a datagram to a group of hosts on an interface, as far as its TTL goes.
pub(crate) fn to_group(
    r: &mut Router,
    now: Moment,
    on: InterfaceId,
    ends: (End, End),
    ttl: u8,
    payload: &[u8],
) {
    let [_, b, c, d] = ends.1.address.to_be_bytes();
    let group = MacAddr([0x01, 0, 0x5e, b & 0x7f, c, d]);
    let macs = (r.program.interface(on).mac, group);
    let Some(mut frame) = udp(&mut r.io.pool, macs, ends, payload) else {
        return r.stats.discards.add(Discard::NoFrame);
    };
    let ip = &mut r.io.slab.bytes_mut(&mut frame)[14..34];
    ip[8] = ttl;
    ip[10..12].fill(0);
    let sum = checksum::of(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    r.stats.tally.made += 1;
    r.tools.sent = true;
    flow::link_out(r, now, on, frame, false);
}

/// Sends what answers a datagram: from where that went, to where it came from.
pub(crate) fn answer(r: &mut Router, now: Moment, asked: &FiveTuple, payload: &[u8]) {
    let own = End { address: asked.dst, port: asked.dst_port };
    send(r, now, (own, End { address: asked.src, port: asked.src_port }), payload);
}

impl Router {
    /// What a UDP datagram says; `None` if it is damaged, or came in pieces.
    pub(crate) fn datagram<'a>(&'a self, p: &'a Packet) -> Option<&'a [u8]> {
        let bytes = self.transport(p);
        let len = usize::from(u16::from_be_bytes([*bytes.get(4)?, *bytes.get(5)?]));
        let udp = bytes.get(..len)?;
        let tuple = &p.layers.tuple;
        let unfinished = p.frame.has_offload();
        let intact =
            udp.get(6..8)? == [0, 0] || unfinished || checksum::udp_ok(tuple.src, tuple.dst, udp);
        udp.get(8..).filter(|_| intact && p.rest.is_empty() && !p.layers.fragment)
    }
}
