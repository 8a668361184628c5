//! Helpers: what packets say of connections to come (TFTP, FTP).
//!
//! ```text
//! [arrive] ─► track … src-nat ─► confirm ─► [heed] ─► htb global
//! acks of a stream                          who is announced is expected; FTP's text, and the
//! that was rewritten                        sequence numbers behind it, as the receiver is to see them
//! ```
//!
//! Only the slow path comes here: packets of such connections are never replayed.

use crate::firewall::connection::FlowId;
use crate::firewall::connection::expected::{self, Service};
use crate::firewall::connection::ftp::{self, Announced};
use crate::packet::Packet;
use crate::router::Router;
use wire::layers::protocol;
use wire::{Moment, checksum};

/// Whether a super-frame, or one whose checksum is yet to be written, has to be finished before.
pub(super) fn wants_whole(p: &Packet) -> bool {
    let tuple = &p.layers.tuple;
    p.frame.has_offload()
        && tuple.protocol == protocol::TCP
        && (tuple.dst_port == expected::FTP || tuple.src_port == expected::FTP)
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
    match expected::service(r.v4.connections.flow(flow)) {
        None => {}
        Some(Service::Tftp) if r.transport(p).get(8..).is_some_and(expected::is_tftp_request) => {
            r.v4.connections.expect_tftp(flow, now.as_millis_u32());
        }
        Some(Service::Ftp) if p.layers.l4 != 0 && p.rest.is_empty() => {
            let seq = wire::Tcp::new(r.transport(p)).map_or(0, |tcp| tcp.seq());
            let grown = announce(r, now, p, flow).unwrap_or(0);
            if grown != 0 {
                r.v4.connections.grow(flow, seq, grown);
            }
            if let Some([own, _]) = r.v4.connections.shifts(flow) {
                ftp::shift_seq(transport_mut(r, p), &own);
            }
        }
        Some(_) => {}
    }
}

/// Expects whom FTP announces, and says it as the receiver can reach it; by how much the text has
/// become longer.
fn announce(r: &mut Router, now: Moment, p: &mut Packet, flow: FlowId) -> Option<u32> {
    let direction = r.v4.connections.flow(flow).direction();
    let tuple = p.layers.tuple;
    let segment = r.transport(p);
    let start = usize::from(*segment.get(12)? >> 4) * 4;
    let said = Announced::read(segment.get(start..)?, direction)?;
    // What was damaged on its way stays so.
    if !checksum::tcp_ok(tuple.src, tuple.dst, segment) {
        return None;
    }
    let now_ms = now.as_millis_u32();
    let (address, port) = r.v4.connections.expect_ftp(flow, said.address, said.port, now_ms)?;
    let text = said.say(address, port);
    let from = usize::from(p.layers.l4) + start;
    write(r, p, from + said.at.start..from + said.at.end, text.as_bytes())
}

/// Puts other bytes in place of some of a TCP segment's; by how much it has become longer, as a wrapped
/// number. `None`, and nothing has changed, if there is no room.
fn write(r: &mut Router, p: &mut Packet, at: std::ops::Range<usize>, new: &[u8]) -> Option<u32> {
    let (l3, l4, end) =
        (p.layers.l3.into(), usize::from(p.layers.l4), usize::from(p.layers.l3_end));
    let slab = r.io.slab.clone();
    let mut bytes = slab.bytes(&p.frame)[..end].to_vec();
    if bytes[at.clone()] == *new {
        return Some(0);
    }
    bytes.splice(at.clone(), new.iter().copied());
    let len = u16::try_from(bytes.len() - l3).ok()?;
    if !slab.set_len(&mut p.frame, bytes.len()) {
        return None;
    }
    bytes[l3 + 2..l3 + 4].copy_from_slice(&len.to_be_bytes());
    bytes[l3 + 10..l3 + 12].fill(0);
    let sum = checksum::of(&bytes[l3..l4]);
    bytes[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
    bytes[l4 + 16..l4 + 18].fill(0);
    let sum = checksum::tcp(p.layers.tuple.src, p.layers.tuple.dst, &bytes[l4..]);
    bytes[l4 + 16..l4 + 18].copy_from_slice(&sum.to_be_bytes());
    slab.bytes_mut(&mut p.frame).copy_from_slice(&bytes);
    (p.ip_len, p.layers.l3_end) = (len, bytes.len() as u16);
    Some((new.len() as u32).wrapping_sub(at.len() as u32))
}

fn transport_mut<'a>(r: &'a Router, p: &'a mut Packet) -> &'a mut [u8] {
    let (l4, end) = (usize::from(p.layers.l4), usize::from(p.layers.l3_end));
    &mut r.io.slab.bytes_mut(&mut p.frame)[l4..end]
}
