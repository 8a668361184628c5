//! MPLS's part of the flow: packets that come with a label, and those that get one.
//!
//! ```text
//! to_router: MPLS DECISION ─► [receive] ─┬─ the next hop wants another label, or none ─► to_neighbour
//!                                        └─ it ends here: labels off ─► ROUTING, as it came by IP
//! ip_out    ─► MPLS OUTPUT: the route has a label ─► to_neighbour ─► [push]
//! ```
//!
//! What is switched meets no box of IP: no rule, no queue but the interface's, no connection. TTLs go from IP into
//! labels and back, unless `propagate-ttl=no` (RFC 3443: uniform, or short pipe).
//!
//! Missing: **pieces** of what is too long for the way, of which the sender is told; labels of meaning but for
//! explicit null (router alert); IPv6 behind labels on their last hop but one.

use super::leave::ecmp_way;
use super::{Hop, local, routing, to_neighbour};
use crate::discard::Discard;
use crate::ip::fib::NextHopId;
use crate::ip::icmp;
use crate::ip::neighbour::{Labels, Waiting};
use crate::ip::route::Target;
use crate::packet::Packet;
use crate::router::Router;
use crate::story::Event;
use port::Frame;
use wire::layers::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use wire::mpls::{ETHERTYPE_MPLS, Entry, Label};
use wire::{Moment, checksum};

/// Labels of one packet that are looked at here.
const MOST: usize = 8;

/// MPLS DECISION: a packet for the router. Gives back what has no label.
pub(super) fn receive(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    let is_labelled = p.layers.ether_type == ETHERTYPE_MPLS && p.layers.vlan.is_none();
    if !is_labelled || !r.program.mpls.is_on {
        return Some(p);
    }
    match p.frame.has_offload() {
        true => r.finish_in(p, |r, p| labelled(r, now, p)),
        false => labelled(r, now, p),
    }
    None
}

fn labelled(r: &mut Router, now: Moment, mut p: Packet) {
    if r.dst_mac(&p).is_multicast() {
        return r.discard(p, Discard::OtherHost);
    }
    let mut at = usize::from(p.layers.l3);
    for _ in 0..MOST {
        let Some(entry) = entry(r, &p.frame, at) else {
            return r.discard(p, Discard::MalformedLabel);
        };
        let leaf = match entry.label {
            Label::EXPLICIT_NULL => None,
            label if label < Label::FIRST => return r.discard(p, Discard::UnknownLabel),
            label => Some(r.v4.routes.incoming(label)),
        };
        if entry.ttl <= 1 {
            return complain(r, now, p, (Discard::TtlExceeded, icmp::Error::TTL_EXCEEDED));
        }
        if let Some(leaf) = leaf {
            match r.v4.routes.target(leaf) {
                None => return r.discard(p, Discard::UnknownLabel),
                Some(Target::Gateways(_)) => return switch(r, now, p, (at, entry, leaf)),
                Some(Target::Local | Target::Connected(_)) => {}
                Some(_) => return r.discard(p, Discard::NoRoute),
            }
        }
        r.tell(|| Event::Popped(entry.label));
        if entry.is_bottom {
            return ended(r, now, p, entry.ttl);
        }
        at += Entry::LEN;
        lower(r, &mut p.frame, at, false, entry.ttl);
    }
    r.discard(p, Discard::MalformedLabel)
}

/// The entry of a label stack that begins so far in a frame.
fn entry(r: &Router, frame: &Frame, at: usize) -> Option<Entry> {
    let bytes = r.io.slab.bytes(frame).get(at..)?.first_chunk()?;
    Some(Entry::read(*bytes))
}

/// Where the packet behind the labels begins.
fn bottom(r: &Router, frame: &Frame, mut at: usize) -> Option<usize> {
    while !entry(r, frame, at)?.is_bottom {
        at += Entry::LEN;
    }
    Some(at + Entry::LEN)
}

/// MPLS FORWARD: the top label, which stands at a place, leads on.
fn switch(
    r: &mut Router,
    now: Moment,
    mut p: Packet,
    (at, entry, leaf): (usize, Entry, NextHopId),
) {
    let (hop, label) = next_hop(r, &p, at, leaf);
    p.out_interface = hop.interface;
    r.tell(|| Event::Switched { from: entry.label, to: label, hop: hop.into() });
    let behind = at + Entry::LEN;
    let (l3, labels) = match label {
        Some(label) if label.is_written() => (at, Labels::Own),
        // No label was told, and the one below means nothing to the next hop.
        None if !entry.is_bottom => return r.discard(p, Discard::UnknownLabel),
        _ if entry.is_bottom => (behind, Labels::Popped),
        _ => (behind, Labels::Own),
    };
    let is_ip = |r: &Router| r.io.slab.bytes(&p.frame).get(behind).is_some_and(|b| b >> 4 == 4);
    if labels == Labels::Popped && !(is_ip(r) && r.io.slab.bytes(&p.frame).len() >= behind + 20) {
        return r.discard(p, Discard::UnknownProtocol);
    }
    let mtu = match labels {
        Labels::Popped => r.program.interface(hop.interface).mtu,
        _ => r.program.mpls.mtu(hop.interface),
    };
    // Ethernet has padded what is short: that is no part of it.
    if p.frame.len() - l3 > usize::from(mtu) {
        let error = icmp::Error::fragmentation_needed(mtu.saturating_sub(Entry::LEN as u16));
        return complain(r, now, p, (Discard::FragmentationNeeded, error));
    }
    if labels == Labels::Own && r.program.is_point_to_point(hop.interface) {
        return r.discard(p, Discard::UnknownProtocol);
    }
    match label.filter(|_| l3 == at) {
        Some(label) => put(r, &mut p.frame, at, Entry { label, ttl: entry.ttl - 1, ..entry }),
        None => lower(r, &mut p.frame, behind, entry.is_bottom, entry.ttl - 1),
    }
    p.fast &= r.mpls_fast_path();
    if p.fast {
        r.stats.paths.mpls_fast_path.add((p.frame.len() - at) as u64);
        r.count_fast_in(p.ingress, p.frame.len());
    }
    let waiting = Waiting {
        frame: p.frame.take(),
        in_interface: p.in_interface,
        ingress: p.ingress,
        l3: l3 as u16,
        fast: p.fast,
        fasttrack: false,
        depth: r.link.depth,
        mark: p.marks.packet,
        labels,
    };
    let _ = r.recycle(p);
    to_neighbour(r, now, hop, waiting);
}

/// The next hop behind a leaf, and the label that it wants to see.
fn next_hop(r: &mut Router, p: &Packet, at: usize, leaf: NextHopId) -> (Hop, Option<Label>) {
    let Some(Target::Gateways(ways)) = r.v4.routes.target(leaf) else {
        unreachable!("no next hop behind {leaf:?}")
    };
    let n = ways.len();
    let way = if n == 1 { 0 } else { ecmp(r, p, at, n) };
    let Some(Target::Gateways(ways)) = r.v4.routes.target(leaf) else { unreachable!("it was") };
    let (interface, address) = ways[way];
    let label = r.v4.routes.label(leaf, way);
    let hop = Hop { interface, address, label: label.filter(|label| label.is_written()) };
    if n == 1
        && let Some(id) = r.neighbour(hop)
    {
        r.v4.routes.set_neighbour(leaf, id); // for the fast path
    }
    (Hop { label: None, ..hop }, label)
}

/// Which of several ways: always the same one for a pair of addresses, or a label.
fn ecmp(r: &Router, p: &Packet, at: usize, ways: usize) -> usize {
    let ip = bottom(r, &p.frame, at).and_then(|at| r.io.slab.bytes(&p.frame).get(at..));
    match ip.and_then(|ip| ip.first_chunk::<20>()) {
        Some(&[first, .., a, b, c, d, e, f, g, h]) if first >> 4 == 4 => {
            ecmp_way(u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]), ways)
        }
        _ => ecmp_way(entry(r, &p.frame, at).map_or(0, |entry| entry.label.number()), 0, ways),
    }
}

fn put(r: &Router, frame: &mut Frame, at: usize, entry: Entry) {
    if let Some(place) = r.io.slab.bytes_mut(frame).get_mut(at..).and_then(|b| b.first_chunk_mut())
    {
        *place = entry.bytes();
    }
}

/// A label was taken off and another one, or IPv4, is at its place: it has no greater TTL than that had.
fn lower(r: &Router, frame: &mut Frame, at: usize, is_ip: bool, ttl: u8) {
    if !r.program.mpls.propagates_ttl {
        return;
    }
    let Some(bytes) = r.io.slab.bytes_mut(frame).get_mut(at..) else { return };
    match is_ip {
        true => limit_ttl(bytes, ttl),
        false => {
            if let Some([_, _, _, below]) = bytes.first_chunk_mut() {
                *below = ttl.min(*below);
            }
        }
    }
}

/// MPLS INPUT: no label is left, and the packet is IP's.
fn ended(r: &mut Router, now: Moment, p: Packet, ttl: u8) {
    let ttl = r.program.mpls.propagates_ttl.then_some(ttl);
    let Some(p) = bare(r, p, ttl) else { return };
    match p.layers.ether_type {
        ETHERTYPE_IPV6 => routing::<u128>(r, now, p),
        _ => routing::<u32>(r, now, p),
    }
}

/// The packet without its labels, and with this TTL if its own is greater.
fn bare(r: &mut Router, mut p: Packet, ttl: Option<u8>) -> Option<Packet> {
    let Some(at) = bottom(r, &p.frame, p.layers.l3.into()) else {
        r.discard(p, Discard::MalformedLabel);
        return None;
    };
    let (dst, src) = (r.dst_mac(&p), r.src_mac(&p));
    p.frame.pull(at - 14);
    let bytes = r.io.slab.bytes_mut(&mut p.frame);
    let ether_type = match bytes.get(14).map(|first| first >> 4) {
        Some(4) => ETHERTYPE_IPV4,
        Some(6) => ETHERTYPE_IPV6,
        _ => {
            r.discard(p, Discard::UnknownProtocol);
            return None;
        }
    };
    bytes[..6].copy_from_slice(&dst.0);
    bytes[6..12].copy_from_slice(&src.0);
    bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
    match layers::network(bytes) {
        Ok(layers) => p.layers = layers,
        Err(malformed) => {
            r.discard(p, super::reason(malformed));
            return None;
        }
    }
    if let Some(ttl) = ttl {
        limit_ttl(&mut r.io.slab.bytes_mut(&mut p.frame)[14..], ttl);
    }
    // Nothing that is learnt from it would be true of what comes without a label.
    p.arrival = None;
    Some(p)
}

/// An IP packet has no greater TTL than this.
pub(crate) fn limit_ttl(ip: &mut [u8], ttl: u8) {
    match ip {
        [first, _, _, _, _, _, _, hops, ..] if *first >> 4 == 6 => *hops = ttl.min(*hops),
        [_, _, _, _, _, _, _, _, old, protocol, a, b, ..] if ttl < *old => {
            let words = [*old, ttl].map(|ttl| u16::from_be_bytes([ttl, *protocol]));
            let sum = checksum::Delta::default().u16(words[0], words[1]);
            [*a, *b] = sum.apply(u16::from_be_bytes([*a, *b])).to_be_bytes();
            *old = ttl;
        }
        _ => {}
    }
}

/// What is behind the labels goes no further: its sender is told, by IP, if it is one of IPv4.
fn complain(r: &mut Router, now: Moment, p: Packet, (why, error): (Discard, icmp::Error)) {
    let Some(p) = bare(r, p, None) else { return };
    match p.layers.ether_type {
        ETHERTYPE_IPV4 => local::refuse(r, now, p, why, error),
        _ => r.discard(p, why),
    }
}

/// Puts a label in front of the IP packet of a frame, behind 14 bytes that are still to be written.
pub(super) fn push(r: &mut Router, frame: &mut Frame, label: Label) -> bool {
    let ip_ttl = r.io.slab.bytes(frame).get(22).copied().unwrap_or(0);
    if !r.io.slab.push(frame, Entry::LEN) {
        return false;
    }
    let ttl = if r.program.mpls.propagates_ttl { ip_ttl } else { u8::MAX };
    put(r, frame, 14, Entry { label, class: 0, is_bottom: true, ttl });
    r.tell(|| Event::Pushed(label));
    true
}
