//! Trial of a flow's next packets: a conversation on the trial router, by the code that real packets take.
//!
//! ```text
//! this packet ─► out ─► its answer ─► in ─► ack ─► answer … ─► who carries them now, and if it is
//!                                                              the slow path: why no recipe is kept
//! ```

use super::question::segment;
use super::{Path, Reason, next6, question6};
use crate::fast;
use crate::interface::InterfaceId;
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
use port::Batch;
use wire::arp::{ArpMessage, Operation};
use wire::craft::{self, Body, Frame};
use wire::layers::{self, protocol};
use wire::{Arp, MacAddr, Moment, TcpFlags};

/// Hands a frame to a port of a trial. `None` if it does not fit a frame.
pub(super) fn enter(r: &mut Router, port: InterfaceId, bytes: &[u8]) -> Option<Batch> {
    let mut frame = r.io.pool.alloc(bytes.len())?;
    r.io.slab.bytes_mut(&mut frame).copy_from_slice(bytes);
    let rx = &mut r.stats.interface_counts[port.index()].rx;
    rx.add(bytes.len() as u64);
    let mut batch = Batch::new();
    batch.push(frame);
    Some(batch)
}

/// Lets a trial carry a frame as it would in a breath; says which way, with what the slow path told.
pub(super) fn carry(
    r: &mut Router,
    now: Moment,
    port: InterfaceId,
    bytes: &[u8],
) -> Option<(Path, Vec<Event>)> {
    let mut batch = enter(r, port, bytes)?;
    r.listen();
    let before = r.stats.paths;
    fast::receive(r, now, port, &mut batch);
    let story = r.listen();
    let after = r.stats.paths;
    let fasttracked = (after.ipv4_fasttrack, after.ipv6_fasttrack);
    let path = if fasttracked != (before.ipv4_fasttrack, before.ipv6_fasttrack) {
        Path::Fasttrack
    } else if story.iter().any(|event| matches!(event, Event::At(Step::PhysicalIn))) {
        Path::Slow
    } else if after.replayed != before.replayed {
        Path::Recipe
    } else if after.ipv4_fast_path != before.ipv4_fast_path
        || after.ipv6_fast_path != before.ipv6_fast_path
    {
        Path::FastPath
    } else if after.bridge_fast_path != before.bridge_fast_path {
        Path::BridgeFastPath
    } else {
        Path::Batch
    };
    Some((path, story))
}

/// Takes what a trial has sent, by port.
pub(super) fn sent(r: &mut Router) -> Vec<(InterfaceId, Vec<u8>)> {
    let mut sent = Vec::new();
    for at in 0..r.io.outboxes.len() {
        for frame in r.io.outboxes[at].take() {
            sent.push((r.program.ports[at], r.io.slab.bytes(&frame).to_vec()));
            r.io.pool.free(frame);
        }
    }
    sent
}

/// Rounds of a conversation: the handshake, what FastTrack leaves to the regular path, and some.
const ROUNDS: usize = 8;

/// How the flow's packets travel once both sides talk, and the first reason why not faster.
/// `out` is where the first one left, and as what. `None` if it comes to nothing.
pub(super) fn conversation(
    r: &mut Router,
    now: Moment,
    (port, first): (InterfaceId, &[u8]),
    (out, left): (InterfaceId, &[u8]),
) -> Option<(Path, Option<Reason>)> {
    let mut last = None;
    let mut from_there = left.to_vec();
    for round in 0..ROUNDS {
        let syn = round == 0 && has_syn(first);
        let reply = answer(r, &from_there, syn)?;
        carry(r, now, out, &reply)?;
        let frames = sent(r);
        settle(r, now, frames);
        let next = again(r, first)?;
        let (path, story) = carry(r, now, port, &next)?;
        let frames = sent(r);
        let leaves = settle(r, now, frames);
        from_there = leaves.into_iter().find(|(to, _)| *to == out).map(|(_, frame)| frame)?;
        last = Some((path, story));
    }
    let (path, story) = last?;
    let reason = why_not_faster(r, path, port, &story);
    Some((path, reason))
}

/// Answers whatever the trial asks of neighbours, as long as it asks; returns what else it sent.
pub(super) fn settle(
    r: &mut Router,
    now: Moment,
    mut frames: Vec<(InterfaceId, Vec<u8>)>,
) -> Vec<(InterfaceId, Vec<u8>)> {
    let mut others = Vec::new();
    for _ in 0..4 {
        let mut asked = false;
        for (port, frame) in frames {
            let request = Arp::new(frame.get(14..).unwrap_or(&[])).map(|arp| arp.message());
            let is_arp = frame.get(12..14) == Some(&[0x08, 0x06]);
            match request {
                Ok(request) if is_arp && request.operation == Operation::Request => {
                    const NEIGHBOUR: MacAddr = MacAddr([0x06, 0, 0, 0, 0, 0x03]);
                    let reply = craft::arp(ArpMessage { ..request.reply_from(NEIGHBOUR) });
                    // A request flooded by a bridge is answered once.
                    if !asked && carry(r, now, port, &reply.build()).is_some() {
                        asked = true;
                    }
                }
                _ => match next6::advertisement(&frame) {
                    Some(said) => asked |= !asked && carry(r, now, port, &said).is_some(),
                    None => others.push((port, frame)),
                },
            }
        }
        if !asked {
            break;
        }
        frames = sent(r);
    }
    others
}

fn has_syn(frame: &[u8]) -> bool {
    if let Some((tuple, upper)) = question6::tuple(frame) {
        let flags = upper.get(13).copied().unwrap_or(0);
        return tuple.protocol == protocol::TCP && flags & TcpFlags::SYN.0 != 0;
    }
    let Ok(layers) = layers::network(frame) else { return false };
    let flags = frame.get(usize::from(layers.l4) + 13).copied().unwrap_or(0);
    layers.protocol == protocol::TCP && layers.l4 != 0 && flags & TcpFlags::SYN.0 != 0
}

/// The frame that answers one the router has sent.
fn answer(r: &Router, frame: &[u8], syn: bool) -> Option<Vec<u8>> {
    if question6::tuple(frame).is_some() {
        return next6::answer(r, frame, syn);
    }
    let layers = layers::network(frame).ok()?;
    let macs = (MacAddr(*frame.first_chunk()?), MacAddr(*frame.get(6..)?.first_chunk()?));
    let dst_mac = macs.1;
    let src_mac = if macs.0.is_multicast() { MacAddr([0x06, 0, 0, 0, 0, 0x04]) } else { macs.0 };
    let tuple = layers.tuple.reversed();
    let template = Frame { src_mac, dst_mac, src: tuple.src, dst: tuple.dst, ..Frame::default() };
    let body = match layers.protocol {
        _ if layers.ether_type != layers::ETHERTYPE_IPV4 => return None,
        protocol::UDP => Body::Udp { src_port: tuple.src_port, dst_port: tuple.dst_port },
        protocol::TCP => {
            let flags = if syn { TcpFlags::SYN.0 | TcpFlags::ACK.0 } else { TcpFlags::ACK.0 };
            let mut header = segment(r, tuple, Some(flags));
            if syn {
                // The other side has not spoken yet: it begins anywhere.
                (header.seq, header.ack) = (1, sequence(frame, &layers)?.wrapping_add(1));
            }
            Body::Tcp { header, options: &[] }
        }
        protocol::ICMP => {
            let request = frame.get(usize::from(layers.l4)..)?;
            let [kind @ (8 | 13 | 15 | 17), code, _, _, rest @ ..] = request.first_chunk::<8>()?
            else {
                return None;
            };
            let kind = if *kind == 8 { 0 } else { *kind + 1 };
            Body::Icmp(wire::icmp::IcmpHeader { kind, code: *code, rest: *rest })
        }
        protocol => Body::Ip { protocol },
    };
    Some(Frame { body, ..template }.build())
}

fn sequence(frame: &[u8], layers: &wire::Layers) -> Option<u32> {
    let bytes = frame.get(usize::from(layers.l4) + 4..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// The next frame like the first one: a segment goes on where its connection stands.
fn again(r: &Router, first: &[u8]) -> Option<Vec<u8>> {
    if question6::tuple(first).is_some() {
        return next6::again(r, first);
    }
    let layers = layers::network(first).ok()?;
    if layers.protocol != protocol::TCP || layers.l4 == 0 || !has_syn(first) {
        return Some(first.to_vec());
    }
    let tuple = layers.tuple;
    let header = segment(r, tuple, Some(TcpFlags::ACK.0));
    let frame = Frame {
        src_mac: MacAddr(*first.get(6..)?.first_chunk()?),
        dst_mac: MacAddr(*first.first_chunk()?),
        src: tuple.src,
        dst: tuple.dst,
        ttl: *first.get(usize::from(layers.l3) + 8)?,
        tos: *first.get(usize::from(layers.l3) + 1)?,
        body: Body::Tcp { header, options: &[] },
        ..Frame::default()
    };
    let payload = vec![0; (usize::from(layers.l3_end - layers.l3)).saturating_sub(40)];
    Some(Frame { payload: &payload, ..frame }.build())
}

/// The first reason why a packet does not travel faster.
pub(super) fn why_not_faster(
    r: &Router,
    path: Path,
    port: InterfaceId,
    story: &[Event],
) -> Option<Reason> {
    let closed = r.unmet();
    let interface = r.program.interface(port);
    let unmet = |conditions: &[&'static str]| conditions.first().map(|&why| Reason::unmet(why));
    match path {
        Path::FastPath | Path::BridgeFastPath => None,
        Path::Batch if interface.bridge.is_some() => {
            unmet(&closed.bridge_fast_path).or(Some(Reason::SLOW_RX))
        }
        Path::Batch => unmet(&closed.ipv4_fast_path).or(Some(Reason::SLOW_RX)),
        Path::Recipe | Path::Fasttrack => unmet(&closed.ipv4_fast_path),
        Path::Slow => Some(told(story)),
    }
}

/// What the batch loop said when it left the packet to the slow path, or else what
/// [`record`](crate::flow::Unkept) said at the way's end.
fn told(story: &[Event]) -> Reason {
    let left = story.iter().find_map(|event| match event {
        Event::Left(left) => Some(*left),
        _ => None,
    });
    if let Some(left) = left {
        return Reason::left(left);
    }
    let kept = story.iter().rev().find_map(|event| match event {
        Event::Kept(kept) => Some(*kept),
        _ => None,
    });
    match kept {
        _ if story.iter().any(|e| matches!(e, Event::Encrypts)) => Reason::IPSEC,
        Some(Err(unkept)) => Reason::kept(unkept),
        Some(Ok(())) if story.iter().any(|e| matches!(e, Event::Split { .. })) => Reason::SPLIT,
        _ => Reason::OUT_OF_THE_ORDINARY,
    }
}
