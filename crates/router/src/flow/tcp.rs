//! TCP's part of the flow: segments for the router's own services, and theirs.
//!
//! ```text
//! local_in ─► [receive] ─► ip::tcp: the connection ─► [serve] ─► its service ─► [push]
//! ticks    ─► [tick]                                                 │
//!                                 LOCAL OUT ◄─ [flush] ◄─────────────┘
//! ```
//!
//! Segments to ports that nobody listens on are none of these: LOCAL IN resets them.

use super::tunnel::in_one_piece;
use super::{local_out, pptp};
use crate::discard::Discard;
use crate::interface::InterfaceId;
use crate::ip::datagram::End;
use crate::ip::dns::resolver::own_address;
use crate::ip::icmp::write_ipv4;
use crate::ip::tcp::{Ends, Service};
use crate::ip::{hotspot, upnp};
use crate::mpls::ldp;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::Event;
use wire::layers::{ETHERTYPE_IPV4, protocol};
use wire::{Moment, Tcp, TcpFlags, checksum};

/// The service that listens on a port, to whoever comes by this interface.
fn listener(r: &Router, port: u16, on: InterfaceId) -> Option<Service> {
    let (service, listens) = match port {
        wire::pptp::PORT => (Service::Pptp, r.program.pptp.server.is_some()),
        upnp::HTTP => (Service::Upnp, upnp::listens(r, on)),
        hotspot::HTTP => (Service::Hotspot, hotspot::listens(r, on)),
        wire::ldp::PORT => (Service::Ldp, r.program.mpls.ldp.is_some()),
        _ => return None,
    };
    listens.then_some(service)
}

fn ends(p: &Packet) -> Ends {
    let tuple = &p.layers.tuple;
    let own = End { address: tuple.dst, port: tuple.dst_port };
    (own, End { address: tuple.src, port: tuple.src_port })
}

/// Whether a packet begins a connection.
fn begins(r: &Router, p: &Packet) -> bool {
    let flags = Tcp::new(r.transport(p)).map(|tcp| tcp.flags());
    flags.is_ok_and(|flags| flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK))
}

/// Whether a segment is one of a connection's, or begins one with somebody who listens.
pub(super) fn is_asked(r: &Router, p: &Packet) -> bool {
    p.layers.protocol == protocol::TCP
        && (r.link.tcp.knows(ends(p))
            || listener(r, p.layers.tuple.dst_port, p.in_interface).is_some() && begins(r, p))
}

/// A segment has come to LOCAL IN.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) {
    let unfinished = p.frame.has_offload();
    let Some(p) = in_one_piece(r, p) else { return };
    let (tuple, ends) = (p.layers.tuple, ends(&p));
    let segment = r.transport(&p);
    if Tcp::new(segment).is_err() || !unfinished && !checksum::tcp_ok(tuple.src, tuple.dst, segment)
    {
        return r.discard(p, Discard::MalformedTransport);
    }
    if !r.link.tcp.is_trial() {
        let mut packet = vec![0; 20];
        packet.extend_from_slice(segment);
        write_ipv4(&mut packet, 0, protocol::TCP, tuple.src, tuple.dst);
        if !r.link.tcp.knows(ends)
            && let Err(why) = accept(r, now, ends, p.in_interface)
        {
            return r.discard(p, why);
        }
        r.link.tcp.receive(now, ends, packet);
    }
    r.tell(|| Event::Local);
    r.consume(p);
    serve(r, now, ends);
    flush(r, now);
}

fn accept(r: &mut Router, now: Moment, ends: Ends, on: InterfaceId) -> Result<(), Discard> {
    let seed = seed(r, ends);
    match listener(r, ends.0.port, on) {
        // His hello may be on its way still: he will ask again.
        Some(Service::Ldp) if !ldp::is_expected(r, ends) => Err(Discard::BadLdp),
        Some(service) if r.link.tcp.accept(now, service, ends, seed) => Ok(()),
        _ => Err(Discard::TooManySessions),
    }
}

/// What a connection's numbers begin with: two routers whose dice fall alike have others.
fn seed(r: &mut Router, (own, _): Ends) -> u64 {
    r.services.dice.throw() ^ u64::from(own.address).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Dials a server, as soon as that is [pushed](push); `None` if there is no way to it, or no room.
pub(super) fn connect(r: &mut Router, now: Moment, service: Service, server: End) -> Option<Ends> {
    let address = own_address(r, server.address)?;
    connect_from(r, now, service, (End { address, port: 0 }, server))
}

/// The same from an address; its port is found.
pub(crate) fn connect_from(
    r: &mut Router,
    now: Moment,
    service: Service,
    (own, server): Ends,
) -> Option<Ends> {
    let seed = seed(r, (own, server));
    let port = PORTS.start + (seed >> 32) as u16 % PORTS.len() as u16;
    let ends = (End { port, ..own }, server);
    let begun = r.link.tcp.connect(now, service, ends, seed);
    begun.then_some(ends)
}

/// The ports that the router dials from.
const PORTS: std::ops::Range<u16> = 49_152..65_535;

/// What a service has said on a connection leaves.
pub(crate) fn push(r: &mut Router, now: Moment, ends: Ends) {
    r.link.tcp.run(now, ends);
    flush(r, now);
}

/// A service is told of a connection that something has become of.
fn serve(r: &mut Router, now: Moment, ends: Ends) {
    r.link.up_due = r.link.up_due.min(r.link.tcp.next_due().unwrap_or(r.link.up_due));
    match r.link.tcp.service(ends) {
        Some(Service::Pptp) => pptp::heard(r, now, ends),
        Some(Service::Upnp) => upnp::heard(r, now, ends),
        Some(Service::Ldp) => ldp::heard(r, now, ends),
        Some(Service::Hotspot) => hotspot::login::heard(r, now, ends),
        None => {}
    }
}

/// Sends what is to leave. What comes back at once, from this router itself, has its turn behind it.
fn flush(r: &mut Router, now: Moment) {
    if std::mem::replace(&mut r.link.tcp.busy, true) {
        return;
    }
    while let Some(packet) = r.link.tcp.leaving() {
        let Some(mut frame) = r.io.pool.alloc(14 + packet.len()) else {
            r.stats.discards.add(Discard::NoFrame);
            continue;
        };
        let bytes = r.io.slab.bytes_mut(&mut frame);
        bytes[..12].fill(0);
        bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        bytes[14..].copy_from_slice(&packet);
        r.stats.tally.made += 1;
        r.tools.sent = true;
        local_out(r, now, frame);
    }
    r.link.tcp.busy = false;
    r.link.up_due = r.link.up_due.min(r.link.tcp.next_due().unwrap_or(r.link.up_due));
}

/// Lets connections do what is due. Returns when something is due next, if that is before `due`.
pub(super) fn tick(r: &mut Router, now: Moment, due: Moment) -> Moment {
    if r.link.tcp.is_empty() {
        return due;
    }
    while let Some(ends) = r.link.tcp.is_due(now) {
        r.link.tcp.run(now, ends);
        serve(r, now, ends);
    }
    flush(r, now);
    r.link.tcp.next_due().map_or(due, |at| due.min(at))
}
