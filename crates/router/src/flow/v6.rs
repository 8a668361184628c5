//! IPv6's own between the boxes, and from the last one to the neighbour.
//!
//! ```text
//! come ─► [boxes] ─► beside_tables ─► [boxes] ─► leave ─► to_neighbour ─► link_out
//! begin ─► [boxes] ─► way_out ─► [boxes] ─┘
//! ```
//!
//! The boxes are those of IPv4 (`flow.rs`). What lies between them differs: links' own addresses, groups,
//! extension headers, no pieces made on the way.

// Neighbour discovery, and what else ICMPv6 brings to the router.
mod discovery;
// The FILTER boxes.
mod rules;
// The router's own programs, and what it says about packets it could not forward.
mod local;

use super::family::{Fate, Passes};
use super::leave::{Hop, Leaving, Onward, decide, in_depth, record};
use super::wait::Cost;
use super::{link_out, output, vrrp};
use crate::counter::Count;
use crate::discard::Discard;
use crate::firewall::filter::FilterChain;
use crate::firewall::mangle::Mangle;
use crate::firewall::mark::Mark;
use crate::firewall::raw::Raw;
use crate::interface::InterfaceId;
use crate::interface::tunnel::{Tunnel, six_to_four};
use crate::ip::family::ports_of;
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::{Labels, Request, Waiting, Want};
use crate::ip::route::Target;
use crate::ipv6::icmp::Error;
use crate::packet::{Ends, Packet};
use crate::program::Program;
use crate::queue::Path;
use crate::router::Router;
use crate::story::{Event, Table};
pub(super) use discovery::announce;
use local::refuse;
use port::Frame;
use std::net::Ipv6Addr;
use wire::icmpv6::group_mac;
use wire::ipv6::{BadExtensions, header};
use wire::layers::{self, ETHERTYPE_IPV6, protocol};
use wire::{FiveTuple, Ipv6, Ipv6Prefix, MacAddr, Moment};

impl Passes for u128 {
    type Error = Error;
    const NO_ROUTE: Error = Error::NO_ROUTE;
    const UNREACHABLE: Error = Error::ADDRESS_UNREACHABLE;
    const PROHIBITED: Error = Error::PROHIBITED;
    const TTL_EXCEEDED: Error = Error::HOP_LIMIT_EXCEEDED;
    const TABLES: (Table, Table) = (Table::Mangle6, Table::Raw6);

    fn refuse(r: &mut Router, now: Moment, p: Packet, why: Discard, error: Error) {
        refuse(r, now, p, why, error)
    }

    fn come(r: &mut Router, _: Moment, p: Packet) -> Option<Packet> {
        if r.program.v6.settings.disabled || !r.program.v6.is_on(p.in_interface) {
            r.discard(p, Discard::Ipv6Off);
            return None;
        }
        let mut p = opened(r, p)?;
        p.vrf = r.program.vrfs.of(p.in_interface);
        if is_martian_source(r, &p) && !discovery::is_conflict(r, &p) {
            r.discard(p, Discard::MartianSource);
            return None;
        }
        Some(p)
    }

    fn begin(r: &mut Router, p: Packet) -> Option<Packet> {
        let mut p = opened(r, p)?;
        // The answer to a packet that came in pieces is whole, too.
        p.layers.fragment &= p.rest.is_empty();
        Some(p)
    }

    fn mangle(program: &Program) -> Option<&Mangle> {
        program.v6.mangle.as_deref()
    }

    fn raw(program: &Program) -> Option<&Raw> {
        program.v6.raw.as_deref()
    }

    fn filter(r: &mut Router, now: Moment, chain: FilterChain, p: Packet) -> Option<Packet> {
        rules::filter(r, now, chain, p)
    }

    fn beside_tables(r: &Router, p: &Packet) -> Option<Fate<Error>> {
        let (dst, v6) = (p.ends.dst, &r.program.v6);
        if let Some(at) = p.source_route {
            return Some(Fate::Refused(Discard::SourceRoute, Error::problem(0, at)));
        }
        let (is_here, why) = match dst {
            dst if Ipv6Addr::from(dst).is_multicast() => {
                (u128::hears(r, p), Discard::MulticastDestination)
            }
            dst if Ipv6Prefix::LINK_LOCAL.contains(dst) => {
                (v6.has(p.in_interface, dst), Discard::LinkLocalDestination)
            }
            _ => return None,
        };
        Some(if is_here { Fate::Here } else { Fate::Dropped(why) })
    }

    /// RFC 4291 §2.5.6: routers forward nothing that comes from a link's own address.
    fn of_link(p: &Packet) -> Option<Fate<Error>> {
        let is_near = Ipv6Prefix::LINK_LOCAL.contains(p.ends.src);
        is_near.then_some(Fate::Refused(Discard::LinkLocalSource, Error::BEYOND_SCOPE))
    }

    fn hears(r: &Router, p: &Packet) -> bool {
        r.program.v6.hears(p.in_interface, p.ends.dst)
    }

    fn forwards(r: &Router) -> bool {
        r.program.v6.settings.forward
    }

    fn next_hop(r: &mut Router, leaf: NextHopId, p: &Packet) -> Hop<u128> {
        next_hop(r.program.v6.routes.target(leaf), p.ends)
    }

    fn fast_path(r: &Router) -> bool {
        r.ipv6_fast_path()
    }

    fn decrement_ttl(r: &mut Router, p: &mut Packet) -> bool {
        decrement_hop_limit(r, p)
    }

    fn stops(r: &mut Router, now: Moment, p: &Packet, hop: Hop<u128>) -> Option<(Discard, Error)> {
        if hop.interface == p.in_interface {
            if is_bounced(r, p) {
                return Some((Discard::NoRoute, Error::ADDRESS_UNREACHABLE));
            }
            discovery::redirect(r, now, p, hop);
        }
        let mtu = r.program.v6.mtu(hop.interface, r.program.interface(hop.interface).mtu);
        (r.longest_piece(p) > mtu).then(|| (Discard::PacketTooBig, Error::too_big(mtu)))
    }

    /// What neighbours say to each other passes no queue, as ARP does not: one that is full must not end
    /// all talk.
    fn is_urgent(r: &Router, p: &Packet) -> bool {
        discovery::is_of_link(r, p)
    }

    fn cost(r: &Router, p: &Packet, tuple: FiveTuple<u128>, queues: Path) -> Cost {
        r.cost6(p, tuple, queues)
    }

    fn local_in(r: &mut Router, now: Moment, p: Packet) {
        local::local_in(r, now, p)
    }

    fn way_out(r: &mut Router, p: &Packet) -> Option<Onward<u128>> {
        way_out(r, p)
    }

    fn keep(r: &mut Router, now: Moment, p: &mut Packet, hop: Hop<u128>, queues: Path) {
        // Whoever sends by way of the router what is on the link is told so, each time anew.
        if hop.interface != p.in_interface {
            let kept = record::<u128>(r, now, p, hop, queues);
            r.tell(|| Event::Kept(kept.map(|_| ())));
        }
    }

    fn fasttrack(r: &mut Router) -> &mut Count {
        &mut r.stats.paths.ipv6_fasttrack
    }
}

/// Whether a packet would go back by the tunnel or session that it came by, though the network is this
/// link's own: at neither end is a host of that address, and it would go to and fro (RFC 4443 §3.1).
fn is_bounced(r: &Router, p: &Packet) -> bool {
    let (program, interface) = (&r.program, p.in_interface);
    let everybodys = program.packet_tunnel(interface).is_some_and(Tunnel::is_automatic);
    program.is_point_to_point(interface)
        && !everybodys
        && program.v6.is_neighbour(interface, p.ends.dst)
}

/// The way of a packet of the router's own; `None` if no route leads anywhere.
fn way_out(r: &mut Router, p: &Packet) -> Option<Onward<u128>> {
    let (dst, bound) = (p.ends.dst, p.bound);
    let of_link = Ipv6Prefix::LINK_LOCAL.contains(dst) || Ipv6Addr::from(dst).is_multicast();
    // What is said to a neighbour as such no route leads elsewhere, and no rule.
    if of_link || bound.is_some() && discovery::is_of_link(r, p) {
        let hop = Hop::to(bound, dst);
        return bound.is_some().then_some(Onward::Out(hop));
    }
    let leaf = decide::<u128>(r, p).leaf();
    match r.program.v6.routes.target(leaf) {
        Some(Target::Local) => Some(Onward::Here),
        target @ Some(Target::Connected(_) | Target::Gateways(_)) => {
            Some(Onward::Out(next_hop(target, p.ends)))
        }
        _ => None,
    }
}

/// Box L: to the neighbour, in the pieces it came in.
pub(super) fn leave(r: &mut Router, now: Moment, leaving: Leaving<u128>) {
    let Leaving { frame, rest, in_interface, ingress, l3, fast, .. } = leaving;
    let Leaving { fasttrack, depth, hop, mark, .. } = leaving;
    let rest = rest.into_iter().map(|piece| (piece.frame, piece.layers.l3));
    for (frame, l3) in std::iter::once((frame, l3)).chain(rest) {
        let waiting = Waiting {
            frame,
            in_interface,
            ingress,
            l3,
            fast,
            fasttrack,
            depth,
            mark,
            labels: Labels::None,
        };
        to_neighbour(r, now, hop, waiting);
    }
}

/// Takes one from the hop limit of a packet and of the pieces it came in; no if it was 0 or 1 (RFC 8200 §3).
fn decrement_hop_limit(r: &mut Router, p: &mut Packet) -> bool {
    let mut was = 0;
    let rest = p.rest.iter_mut().map(|piece| (&mut piece.frame, piece.layers.l3));
    for (frame, l3) in std::iter::once((&mut p.frame, p.layers.l3)).chain(rest) {
        let limit = &mut r.io.slab.bytes_mut(frame)[usize::from(l3) + 7];
        was = *limit;
        if was <= 1 {
            return false;
        }
        *limit -= 1;
    }
    p.trace.ttl_taken = 1;
    r.tell(|| Event::Ttl(was));
    true
}

/// A packet whose headers are walked; `None` if they were not in order.
fn opened(r: &mut Router, mut p: Packet) -> Option<Packet> {
    if let Err(why) = open(r, &mut p) {
        r.discard(p, why);
        return None;
    }
    Some(p)
}

/// Walks a packet's headers, once.
fn open(r: &Router, p: &mut Packet) -> Result<(), Discard> {
    let bytes = &r.io.slab.bytes(&p.frame)[usize::from(p.layers.l3)..];
    let ip = Ipv6::new(bytes).map_err(|_| Discard::MalformedIpv6)?;
    let found = ip.extensions().map_err(|bad| match bad {
        // Only a jumbogram has no length, and options for each hop (RFC 2675 §2).
        BadExtensions::CutOff
            if ip.payload_len() == 0 && ip.next_header() == header::HOP_BY_HOP =>
        {
            Discard::Jumbogram
        }
        BadExtensions::CutOff | BadExtensions::Disorder => Discard::BadExtensionHeader,
    })?;
    p.ends = Ends { src: ip.src().into(), dst: ip.dst().into() };
    let layers = &mut p.layers;
    layers.protocol = found.protocol;
    layers.options = found.any;
    layers.fragment = found.fragment.is_some_and(|(offset, more)| offset != 0 || more);
    layers.later_fragment = found.fragment.is_some_and(|(offset, _)| offset != 0);
    let upper = &ip.payload()[usize::from(found.end) - wire::ipv6::HEADER_LEN..];
    let is_there = match (found.protocol, upper.get(4..8)) {
        _ if layers.later_fragment => false,
        // A first piece may end inside a TCP header, never before its ports.
        (protocol::TCP, Some(_)) => {
            let len = upper.get(12).map_or(20, |byte| usize::from(byte >> 4) * 4);
            len >= 20 && (len <= upper.len() || layers.fragment)
        }
        (protocol::UDP, Some(&[a, b, ..])) => {
            let len = usize::from(u16::from_be_bytes([a, b]));
            len >= 8 && (len <= upper.len() || layers.fragment)
        }
        (header::ICMPV6, four) => four.is_some(),
        (protocol::TCP | protocol::UDP, _) => false,
        _ => true,
    };
    layers.l4 = if is_there { layers.l3 + found.end } else { 0 };
    let ports = is_there.then(|| ports_of(found.protocol, upper)).flatten();
    (layers.tuple.src_port, layers.tuple.dst_port) = ports.unwrap_or_default();
    p.headers = found.headers;
    layers.tuple.protocol = found.protocol;
    p.next_header_at = found.protocol_at;
    p.source_route = found.source_route;
    Ok(())
}

/// A source that may not be: a group, loopback, mapped IPv4, the router's own, and none at all, but for
/// who is looking for an address on the link (RFC 4862 §5.4).
fn is_martian_source(r: &Router, p: &Packet) -> bool {
    let Ends { src, dst } = p.ends;
    let address = Ipv6Addr::from(src);
    if address.is_unspecified() {
        return !Ipv6Addr::from(dst).is_multicast() || p.layers.protocol != header::ICMPV6;
    }
    let v6 = &r.program.v6;
    let own = match Ipv6Prefix::LINK_LOCAL.contains(src) {
        true => v6.has(p.in_interface, src),
        false => v6.routes.is_local(p.vrf, src),
    };
    own || address.is_multicast() || address.is_loopback() || address.to_ipv4_mapped().is_some()
}

/// The next hop behind a target that forwards; of several gateways a pair of addresses always has the
/// same one.
fn next_hop(target: Option<&Target<u128>>, ends: Ends) -> Hop<u128> {
    match target {
        Some(Target::Gateways(ways)) => {
            let fold = |at: u128| (at ^ at >> 64) as u64;
            let pair = fold(ends.src).rotate_left(32) ^ fold(ends.dst);
            let hash = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let (interface, address) = ways[(hash as usize * ways.len()) >> 32];
            Hop::to(interface, address)
        }
        Some(&Target::Connected(interface)) => Hop::to(interface, ends.dst),
        other => unreachable!("no next hop behind {other:?}"),
    }
}

/// Writes the Ethernet header and sends, or lets the frame wait until the neighbour has answered.
pub(crate) fn to_neighbour(r: &mut Router, now: Moment, hop: Hop<u128>, waiting: Waiting) {
    // Trees on the interfaces below look at it.
    r.io.mark = waiting.mark;
    find_neighbour(r, now, hop, waiting);
    r.io.mark = Mark::NONE;
}

fn find_neighbour(r: &mut Router, now: Moment, hop: Hop<u128>, mut waiting: Waiting) {
    let tunnel = r.program.packet_tunnel(hop.interface).copied();
    let carried = tunnel.is_none_or(|tunnel| tunnel.carries.takes(ETHERTYPE_IPV6));
    if !r.program.runs(hop.interface) || !carried {
        return r.discard_frame(waiting.frame, Discard::InterfaceDown);
    }
    let group = Ipv6Addr::from(hop.address);
    let is_group = group.is_multicast();
    let mac = if tunnel.is_some_and(|tunnel| tunnel.is_automatic()) {
        let l3 = usize::from(waiting.l3);
        let ip = Ipv6::new(&r.io.slab.bytes(&waiting.frame)[l3..]);
        let dst = ip.map_or(0, |ip| ip.dst().into());
        match six_to_four::far_end(dst, hop.address) {
            Some(end) => six_to_four::link_address(end),
            None => return nobody_there(r, now, waiting),
        }
    } else if r.program.is_point_to_point(hop.interface) {
        // There is one other end, whatever its address: the fast path looks for it.
        r.neighbour6(hop);
        MacAddr::default()
    } else if is_group {
        group_mac(group)
    } else {
        match r.v6.neighbours.want(now, hop.interface, hop.address) {
            Want::Ready(id) => {
                r.tell(|| Event::Neighbour(hop.into()));
                r.refresh6(id);
                r.v6.neighbours.rewrites_mut()[id.index()].used_ms = now.as_millis_u32();
                r.v6.neighbours.mac(id).unwrap_or_default()
            }
            Want::Wait(id, request) => {
                let asked = request.is_none();
                r.tell(|| Event::Waits { hop: hop.into(), asked });
                if let Some(request) = request {
                    // The question does not carry the mark.
                    r.io.mark = Mark::NONE;
                    solicit(r, now, request);
                }
                if r.io.slab.is_short() {
                    return r.discard_frame(waiting.frame, Discard::FramesShort);
                }
                if let Some(oldest) = r.v6.neighbours.wait(id, waiting) {
                    r.discard_frame(oldest.frame, Discard::NeighbourQueueFull);
                }
                return;
            }
            Want::Full => return r.discard_frame(waiting.frame, Discard::NeighbourTableFull),
        }
    };
    let own = r.program.interface(hop.interface).mac;
    let l3 = usize::from(waiting.l3);
    if l3 > 14 {
        waiting.frame.pull(l3 - 14);
    }
    let bytes = r.io.slab.bytes_mut(&mut waiting.frame);
    bytes[..6].copy_from_slice(&mac.0);
    bytes[6..12].copy_from_slice(&own.0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
    if waiting.fast && r.ipv6_fast_path() && !is_group {
        r.count_fast_path6(&waiting);
    }
    let fast = waiting.fast && !is_group;
    in_depth(r, waiting.depth, |r| link_out(r, now, hop.interface, waiting.frame, fast));
}

/// Asks for a neighbour.
pub(crate) fn solicit(r: &mut Router, now: Moment, request: Request<u128>) {
    discovery::solicit(r, now, request)
}

/// Asks again, gives up, forgets.
pub(super) fn timers(r: &mut Router, now: Moment) {
    incomplete(r, now);
    let due = r.v6.neighbours.tick(now);
    if r.v6.neighbours.take_removed() {
        r.learnt.recipes.forget();
    }
    for request in due.requests {
        solicit(r, now, request);
    }
    for waiting in due.failed {
        nobody_there(r, now, waiting);
    }
}

/// Nobody is there whom a packet could be given to: its sender is told.
fn nobody_there(r: &mut Router, now: Moment, Waiting { frame, in_interface, .. }: Waiting) {
    let why = Discard::NeighbourUnreachable;
    if in_interface.is_some() {
        return refuse_frame(r, now, frame, in_interface, why, Error::ADDRESS_UNREACHABLE);
    }
    r.own_frame_failed6(now, &frame);
    r.discard_frame(frame, why)
}

/// Discards a frame that has come in by this interface, and says so to its packet's sender.
pub(super) fn refuse_frame(
    r: &mut Router,
    now: Moment,
    frame: Frame,
    by: InterfaceId,
    why: Discard,
    error: Error,
) {
    let Ok(layers) = layers::network(r.io.slab.bytes(&frame)) else {
        return r.discard_frame(frame, why);
    };
    let mut p = r.packet(frame, layers, by);
    match open(r, &mut p) {
        Ok(()) => refuse(r, now, p, why, error),
        Err(bad) => r.discard(p, bad),
    }
}

/// LOCAL OUT (box K): a packet the router itself makes, by this interface if it is for a link.
pub(crate) fn local_out(r: &mut Router, now: Moment, frame: Frame, bound: InterfaceId) {
    match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => {
            let mut p = r.packet(frame, layers, InterfaceId::NONE);
            p.bound = bound;
            p.vrf = match bound {
                InterfaceId::NONE => {
                    let src = Ipv6::new(r.ip_start(&p)).map_or(0, |ip| ip.src().into());
                    r.program.vrf_of_own6(src)
                }
                bound => r.program.vrfs.of(bound),
            };
            output::<u128>(r, now, p)
        }
        Err(_) => r.discard_frame(frame, Discard::MalformedIpv6),
    }
}

/// Gives up packets whose pieces did not all come, and says so if the first one did (RFC 8200 §4.5).
fn incomplete(r: &mut Router, now: Moment) {
    for pieces in r.v6.reassembly.expired(now) {
        let mut pieces = pieces.into_iter();
        let Some(first) = pieces.next() else { continue };
        let mut p = r.packet(first.frame, first.layers, InterfaceId::NONE);
        let _ = open(r, &mut p); // it was walked when it came
        if p.layers.later_fragment {
            r.discard(p, Discard::ReassemblyTimeout);
        } else {
            refuse(r, now, p, Discard::ReassemblyTimeout, Error::REASSEMBLY_EXCEEDED);
        }
        for piece in pieces {
            r.discard_frame(piece.frame, Discard::ReassemblyTimeout);
        }
    }
}
