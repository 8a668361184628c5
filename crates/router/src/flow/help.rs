//! Helpers: what packets say of connections to come (FTP, TFTP, IRC, SIP, PPTP).
//!
//! ```text
//! [arrive] ─► track … src-nat ─► confirm ─► [heed] ─► htb global
//! acks of a stream                          who is announced is expected; the text, and of TCP the
//! that was rewritten                        numbers behind it, as the receiver is to see them
//! ```
//!
//! Only the slow path comes here: packets of such connections are never replayed.

use crate::firewall::connection::expected::{self, Whom};
use crate::firewall::connection::pptp::Call;
use crate::firewall::connection::service::Service;
use crate::firewall::connection::sip::{self, Use};
use crate::firewall::connection::{FlowId, ftp, irc};
use crate::packet::Packet;
use crate::router::Router;
use std::ops::Range;
use wire::layers::protocol;
use wire::{Moment, checksum};

/// Whether a super-frame, or one whose checksum is yet to be written, has to be finished before: its
/// payload is read, or copied.
pub(super) fn wants_whole(r: &Router, p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    let services = &r.program.connection_settings.services;
    let is_read = |port| services.at(tuple.protocol, port).is_some();
    p.frame.has_offload()
        && (is_read(tuple.dst_port) || is_read(tuple.src_port) || r.program.mangle.copies())
}

/// Brings what a segment acknowledges to the numbers of whoever sent it, before windows are looked at.
pub(super) fn arrive(r: &mut Router, p: &mut Packet) {
    if !r.v4.connections.are_shifted() || p.layers.protocol != protocol::TCP || p.layers.l4 == 0 {
        return;
    }
    let tuple = p.layers.tuple;
    let Some(flow) = r.v4.connections.flows().find(tuple.hash(), &tuple) else { return };
    if let Some([_, other]) = r.v4.connections.shifts(flow) {
        ftp::shift_acks(transport_mut(r, p), &other);
    }
}

/// Heeds what a packet that goes on says; it is as its receiver will see it.
pub(super) fn heed(r: &mut Router, now: Moment, p: &mut Packet, flow: FlowId) {
    let Some(service) = r.v4.connections.service(flow) else { return };
    let now_ms = now.as_millis_u32();
    match service {
        Service::Tftp => {
            if r.transport(p).get(8..).is_some_and(expected::is_tftp_request) {
                r.v4.connections.expect_tftp(flow, now_ms);
            }
        }
        _ if p.layers.l4 == 0 || !p.rest.is_empty() => {}
        Service::Ftp | Service::Irc => {
            let seq = wire::Tcp::new(r.transport(p)).map_or(0, |tcp| tcp.seq());
            let grown = announce(r, now_ms, p, (flow, service)).unwrap_or(0);
            if grown != 0 {
                r.v4.connections.grow(flow, seq, grown);
            }
            if let Some([own, _]) = r.v4.connections.shifts(flow) {
                ftp::shift_seq(transport_mut(r, p), &own);
            }
        }
        Service::Pptp => _ = call(r, now_ms, p, flow),
        Service::Sip => _ = invite(r, now_ms, p, flow),
    }
}

/// Where a packet's payload begins, counted from its transport header; `None` if it was damaged on its
/// way, and stays so.
fn intact(r: &Router, p: &Packet) -> Option<usize> {
    let tuple = p.layers.tuple;
    let transport = r.transport(p);
    match tuple.protocol {
        protocol::TCP if checksum::tcp_ok(tuple.src, tuple.dst, transport) => {
            Some(usize::from(*transport.get(12)? >> 4) * 4)
        }
        protocol::UDP if checksum::udp_ok(tuple.src, tuple.dst, transport) => Some(8),
        _ => None,
    }
}

/// Expects whom FTP or IRC announces, and says it as the receiver can reach it; by how much the text
/// has become longer.
fn announce(
    r: &mut Router,
    now_ms: u32,
    p: &mut Packet,
    (flow, service): (FlowId, Service),
) -> Option<u32> {
    let direction = r.v4.connections.flow(flow).direction();
    let segment = r.transport(p);
    let payload = segment.get(usize::from(*segment.get(12)? >> 4) * 4..)?;
    let ftp = (service == Service::Ftp).then(|| ftp::Announced::read(payload, direction));
    let (at, place, whom, said) = match ftp {
        Some(said) => {
            let said = said?;
            (said.at.clone(), (said.address, said.port), Whom::Peer, Some(said))
        }
        None => {
            let said = irc::Announced::read(payload)?;
            (said.at, (Some(said.address), said.port), Whom::Anybody, None)
        }
    };
    let start = intact(r, p)?;
    let connections = &mut r.v4.connections;
    let (address, port) = connections.expect_at(flow, place, (protocol::TCP, 1), whom, now_ms)?;
    let text = match said {
        Some(said) => said.say(address, port),
        None => irc::Announced::say(address, port),
    };
    write(r, p, start + at.start..start + at.end, text.as_bytes())
}

/// Expects the GRE packets of a call of PPTP, and says its IDs as the receiver knows them.
fn call(r: &mut Router, now_ms: u32, p: &mut Packet, flow: FlowId) -> Option<()> {
    let start = intact(r, p)?;
    let direction = r.v4.connections.flow(flow).direction();
    let said = Call::read(r.transport(p).get(start..)?, direction)?;
    let connections = &mut r.v4.connections;
    let (at, id) = match said {
        Call::Own { at, id } => (at, connections.expect_call(flow, id, now_ms)?),
        Call::Answered { own, peer_at, peer } => {
            connections.expect_call(flow, own, now_ms)?;
            (peer_at, connections.call_of(flow, peer)?)
        }
        Call::Peer { at, id } => (at, connections.call_of(flow, id)?),
    };
    write(r, p, start + at..start + at + 2, &id.to_be_bytes())?;
    Some(())
}

/// Expects the voice that SIP announces, and says all places as the receiver knows them.
fn invite(r: &mut Router, now_ms: u32, p: &mut Packet, flow: FlowId) -> Option<()> {
    let start = intact(r, p)?;
    let (here, there) = {
        let flow = r.v4.connections.flow(flow);
        (flow.tuple(), flow.translated())
    };
    let ends = [
        ((here.src, here.src_port), (there.src, there.src_port)),
        ((here.dst, here.dst_port), (there.dst, there.dst_port)),
    ];
    let payload = r.transport(p).get(start..)?.to_vec();
    let connections = &mut r.v4.connections;
    let media = if connections.sip_direct_media() { Whom::Anybody } else { Whom::Peer };
    let new = sip::translate(&payload, &ends, |what, (address, port)| {
        let (ports, whom) = match what {
            Use::Media => (2, media),
            Use::Signalling => (1, Whom::Peer),
        };
        let place = (Some(address), port);
        connections.expect_at(flow, place, (protocol::UDP, ports), whom, now_ms)
    })?;
    write(r, p, start..start + payload.len(), &new)?;
    Some(())
}

/// Puts other bytes in place of some of a transport packet's, counted from its header; by how much it has
/// become longer, as a wrapped number. `None`, and nothing has changed, if there is no room.
fn write(r: &mut Router, p: &mut Packet, at: Range<usize>, new: &[u8]) -> Option<u32> {
    let (l3, l4, end) =
        (usize::from(p.layers.l3), usize::from(p.layers.l4), usize::from(p.layers.l3_end));
    let at = l4 + at.start..l4 + at.end;
    let slab = r.io.slab.clone();
    let mut bytes = slab.bytes(&p.frame)[..end].to_vec();
    if bytes.get(at.clone())? == new {
        return Some(0);
    }
    bytes.splice(at.clone(), new.iter().copied());
    let len = u16::try_from(bytes.len() - l3).ok()?;
    let (src, dst) = (p.layers.tuple.src, p.layers.tuple.dst);
    let (field, sum) = match p.layers.protocol {
        protocol::UDP => {
            let len = (bytes.len() - l4) as u16;
            bytes[l4 + 4..l4 + 6].copy_from_slice(&len.to_be_bytes());
            let without = bytes[l4 + 6..l4 + 8] == [0, 0];
            (6, if without { 0 } else { checksum::udp(src, dst, &bytes[l4..]) })
        }
        _ => (16, checksum::tcp(src, dst, &bytes[l4..])),
    };
    bytes[l4 + field..l4 + field + 2].copy_from_slice(&sum.to_be_bytes());
    bytes[l3 + 2..l3 + 4].copy_from_slice(&len.to_be_bytes());
    bytes[l3 + 10..l3 + 12].fill(0);
    let sum = checksum::of(&bytes[l3..l4]);
    bytes[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
    if !slab.set_len(&mut p.frame, bytes.len()) {
        return None;
    }
    slab.bytes_mut(&mut p.frame).copy_from_slice(&bytes);
    (p.ip_len, p.layers.l3_end) = (len, bytes.len() as u16);
    Some((new.len() as u32).wrapping_sub(at.len() as u32))
}

fn transport_mut<'a>(r: &'a Router, p: &'a mut Packet) -> &'a mut [u8] {
    let (l4, end) = (usize::from(p.layers.l4), usize::from(p.layers.l3_end));
    &mut r.io.slab.bytes_mut(&mut p.frame)[l4..end]
}
