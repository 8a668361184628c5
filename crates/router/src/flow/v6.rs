//! IPv6: from the last box of the links to the neighbour, as straight-line code.
//!
//! ```text
//! to_router ─► routing ┬─► forward ─► postrouting ─► to_neighbour ─► link_out
//!                      └─► input ─► local_in           ▲
//!                          output ─────────────────────┘
//! ```
//!
//! The boxes are those of IPv4, and what they call is the same: raw, connection tracking, mangle, filter.
//! This is a line of its own because what lies between them differs: links' own addresses, groups, extension
//! headers, no pieces made on the way.

// Neighbour discovery, and what else ICMPv6 brings to the router.
mod discovery;
// The FILTER boxes.
mod rules;
// The router's own programs, and what it says about packets it could not forward.
mod local;

use super::leave::{Hop, Leaving, Onward, decide, in_depth, record};
use super::link_out;
use super::mangle::{mangle6, raw6};
use super::track::{confirm, fasttracked, reassemble, track};
use super::translate::{dst_nat, settle, src_nat};
use super::wait::{self, Arriving, Cost};
use crate::discard::Discard;
use crate::firewall::filter::FilterChain;
use crate::firewall::mangle::MangleChain;
use crate::firewall::mark::Mark;
use crate::firewall::raw::RawChain;
use crate::interface::InterfaceId;
use crate::interface::tunnel::{Tunnel, six_to_four};
use crate::ip::family::ports_of;
use crate::ip::neighbour::{Request, Waiting, Want};
use crate::ip::route::Target;
use crate::ip::rule::{Action, Decision as Decided};
use crate::ipv6::icmp::Error;
use crate::packet::{Ends, Packet};
use crate::parts::Stacked;
use crate::queue::Path;
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
use local::{local_in, refuse};
use port::Frame;
use rules::filter;
use std::net::Ipv6Addr;
use wire::icmpv6::group_mac;
use wire::ipv6::{BadExtensions, header};
use wire::layers::{self, ETHERTYPE_IPV6, protocol};
use wire::{FiveTuple, Ipv6, Ipv6Prefix, MacAddr, Moment};

/// ROUTING (box I): PREROUTING and the routing decision.
pub(super) fn routing(r: &mut Router, now: Moment, mut p: Packet) {
    if r.program.v6.settings.disabled || !r.program.v6.is_on(p.in_interface) {
        return r.discard(p, Discard::Ipv6Off);
    }
    let source_route = match open(r, &mut p) {
        Ok(source_route) => source_route,
        Err(why) => return r.discard(p, why),
    };
    p.vrf = r.program.vrfs.of(p.in_interface);
    if is_martian_source(r, &p) && !discovery::is_conflict(r, &p) {
        return r.discard(p, Discard::MartianSource);
    }
    if let Some(flow) = fasttracked::<u128>(r, &p) {
        (p.flow, p.fasttrack) = (Some(flow), true);
    } else {
        r.at(Step::RawPrerouting);
        if !raw6(r, now, RawChain::Prerouting, &mut p) {
            return r.discard(p, Discard::RawDrop);
        }
    }
    r.at(Step::TrackPrerouting);
    let Some(mut p) = track::<u128>(r, now, p) else { return };
    if !p.fasttrack {
        r.at(Step::ManglePrerouting);
        mangle6(r, now, MangleChain::Prerouting, &mut p);
    }
    r.at(Step::DstNat);
    if let Err(why) = dst_nat::<u128>(r, now, &mut p) {
        return r.discard(p, why);
    }
    r.at(Step::RoutingDecision);
    let Ends { src, dst } = p.ends;
    if let Some(at) = source_route {
        return refuse(r, now, p, Discard::SourceRoute, Error::problem(0, at));
    }
    if Ipv6Addr::from(dst).is_multicast() {
        return match r.program.v6.hears(p.in_interface, dst) {
            true => input(r, now, p),
            false => r.discard(p, Discard::MulticastDestination),
        };
    }
    if Ipv6Prefix::LINK_LOCAL.contains(dst) {
        return match r.program.v6.has(p.in_interface, dst) {
            true => input(r, now, p),
            false => r.discard(p, Discard::LinkLocalDestination),
        };
    }
    let leaf = match decide::<u128>(r, &p) {
        Decided::Route { leaf, .. } => leaf,
        Decided::Ends(Action::Unreachable, _) => {
            let (why, error) = (Discard::RouteRuleUnreachable, Error::ADDRESS_UNREACHABLE);
            return refuse(r, now, p, why, error);
        }
        Decided::Ends(Action::Prohibit, _) => {
            return refuse(r, now, p, Discard::RouteProhibit, Error::PROHIBITED);
        }
        Decided::Ends(..) => return r.discard(p, Discard::RouteRuleDrop),
    };
    let program = r.program.clone();
    match program.v6.routes.target(leaf) {
        Some(Target::Local | Target::Broadcast) => input(r, now, p),
        Some(Target::Martian | Target::Multicast) => r.discard(p, Discard::MartianDestination),
        _ if r.dst_mac(&p).is_multicast() => r.discard(p, Discard::OtherHost),
        _ if !program.v6.settings.forward => r.discard(p, Discard::ForwardingOff),
        None => refuse(r, now, p, Discard::NoRoute, Error::NO_ROUTE),
        Some(Target::Blackhole) => r.discard(p, Discard::RouteBlackhole),
        Some(Target::Unreachable) => {
            refuse(r, now, p, Discard::RouteUnreachable, Error::ADDRESS_UNREACHABLE)
        }
        Some(Target::Prohibit) => refuse(r, now, p, Discard::RouteProhibit, Error::PROHIBITED),
        // RFC 4291 §2.5.6: routers forward nothing that comes from a link's own address.
        Some(_) if Ipv6Prefix::LINK_LOCAL.contains(src) => {
            refuse(r, now, p, Discard::LinkLocalSource, Error::BEYOND_SCOPE)
        }
        Some(target) => {
            let hop = next_hop(target, p.ends);
            forward(r, now, p, hop)
        }
    }
}

/// FORWARD: the packet is for somebody else.
fn forward(r: &mut Router, now: Moment, mut p: Packet, hop: Hop<u128>) {
    p.out_interface = hop.interface;
    r.tell(|| Event::NextHop(hop.into()));
    p.fast &= r.ipv6_fast_path() || p.fasttrack;
    r.at(Step::Ttl);
    if !decrement_hop_limit(r, &mut p) {
        return refuse(r, now, p, Discard::TtlExceeded, Error::HOP_LIMIT_EXCEEDED);
    }
    if hop.interface == p.in_interface {
        if is_bounced(r, &p) {
            return refuse(r, now, p, Discard::NoRoute, Error::ADDRESS_UNREACHABLE);
        }
        discovery::redirect(r, now, &p, hop);
    }
    let mtu = r.program.v6.mtu(hop.interface, r.program.interface(hop.interface).mtu);
    if r.longest_piece(&p) > mtu {
        return refuse(r, now, p, Discard::PacketTooBig, Error::too_big(mtu));
    }
    if !p.fasttrack {
        r.at(Step::MangleForward);
        mangle6(r, now, MangleChain::Forward, &mut p);
        r.at(Step::FilterForward);
        let Some(p) = filter(r, now, FilterChain::Forward, p) else { return };
        return postrouting(r, now, p, hop);
    }
    postrouting(r, now, p, hop)
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

/// INPUT: the packet is for the router itself.
fn input(r: &mut Router, now: Moment, p: Packet) {
    // RFC 8200 §4.5: whom it is for reassembles, whether or not connections are tracked.
    let whole = if p.layers.fragment { reassemble::<u128>(r, now, p) } else { Some(p) };
    let Some(mut p) = whole else { return };
    p.fast = false;
    r.at(Step::MangleInput);
    mangle6(r, now, MangleChain::Input, &mut p);
    r.at(Step::FilterInput);
    let Some(p) = filter(r, now, FilterChain::Input, p) else { return };
    r.at(Step::HtbGlobalInput);
    r.at(Step::SimpleQueuesInput);
    let (tuple, none) = (u128::tuple(&p), InterfaceId::NONE);
    let queues = queues(r, now, &p, &tuple, none);
    let cost = r.cost6(&p, tuple, queues);
    wait::inward(r, now, Arriving { p, queues, cost })
}

/// The queues of a packet. What neighbours say to each other passes none, as ARP does not: a queue that is full
/// must not end all talk.
fn queues(
    r: &mut Router,
    now: Moment,
    p: &Packet,
    tuple: &FiveTuple<u128>,
    out: InterfaceId,
) -> Path {
    if discovery::is_of_link(r, p) {
        return Path::NONE;
    }
    let (mark, clock) = (p.marks.packet, (&mut r.rules.clock, now));
    r.program.queue_path(tuple, p.in_interface, out, mark, clock)
}

/// LOCAL IN: the packet has passed its queues.
pub(super) fn arrived(r: &mut Router, now: Moment, mut p: Packet) {
    if let Err(why) = settle::<u128>(r, &mut p).and_then(|()| confirm::<u128>(r, now, &mut p)) {
        return r.discard(p, why);
    }
    r.at(Step::LocalIn);
    local_in(r, now, p)
}

/// OUTPUT: from the router itself. `bound` is the interface of a link's own addresses and groups.
pub(crate) fn output(r: &mut Router, now: Moment, mut p: Packet) {
    r.at(Step::LocalOut);
    if let Err(why) = open(r, &mut p) {
        return r.discard(p, why);
    }
    // The answer to a packet that came in pieces is whole, too.
    p.layers.fragment &= p.rest.is_empty();
    r.at(Step::RoutingDecision);
    let dst = p.ends.dst;
    let Some(mut way) = way_out(r, &p) else { return r.discard(p, Discard::NoRoute) };
    p.out_interface = way.interface();
    r.at(Step::RawOutput);
    if !raw6(r, now, RawChain::Output, &mut p) {
        return r.discard(p, Discard::RawDrop);
    }
    r.at(Step::TrackOutput);
    let Some(mut p) = track::<u128>(r, now, p) else { return };
    // What answers a translated connection is translated back, and may go another way then.
    if let Err(why) = dst_nat::<u128>(r, now, &mut p) {
        return r.discard(p, why);
    }
    if p.ends.dst != dst {
        match way_out(r, &p) {
            Some(other) => way = other,
            None => return r.discard(p, Discard::NoRoute),
        }
    }
    p.out_interface = way.interface();
    r.at(Step::MangleOutput);
    mangle6(r, now, MangleChain::Output, &mut p);
    r.at(Step::FilterOutput);
    let Some(mut p) = filter(r, now, FilterChain::Output, p) else { return };
    r.at(Step::RoutingAdjustment);
    if p.marks.routing != Mark::NONE {
        match way_out(r, &p) {
            Some(other) => way = other,
            None => return r.discard(p, Discard::NoRoute),
        }
        p.out_interface = way.interface();
    }
    match way {
        Onward::Out(hop) => postrouting(r, now, p, hop),
        Onward::Here => input(r, now, p),
    }
}

/// The way of a packet of the router's own; `None` if no route leads anywhere.
fn way_out(r: &mut Router, p: &Packet) -> Option<Onward<u128>> {
    let (dst, bound) = (p.ends.dst, p.bound);
    let of_link = Ipv6Prefix::LINK_LOCAL.contains(dst) || Ipv6Addr::from(dst).is_multicast();
    // What is said to a neighbour as such no route leads elsewhere, and no rule.
    if of_link || bound.is_some() && discovery::is_of_link(r, p) {
        let hop = Hop { interface: bound, address: dst };
        return bound.is_some().then_some(Onward::Out(hop));
    }
    let leaf = decide::<u128>(r, p).leaf();
    match r.program.v6.routes.target(leaf)? {
        Target::Local => Some(Onward::Here),
        target @ (Target::Connected(_) | Target::Gateways(_)) => {
            Some(Onward::Out(next_hop(target, p.ends)))
        }
        _ => None,
    }
}

/// POSTROUTING, and box L: to the neighbour.
fn postrouting(r: &mut Router, now: Moment, mut p: Packet, hop: Hop<u128>) {
    if !p.fasttrack {
        r.at(Step::ManglePostrouting);
        mangle6(r, now, MangleChain::Postrouting, &mut p);
    }
    // Simple queues know a client by its own address: the one before src-nat.
    let tuple = u128::tuple(&p);
    r.at(Step::SrcNat);
    if let Err(why) = src_nat::<u128>(r, now, &mut p) {
        return r.discard(p, why);
    }
    if let Err(why) = confirm::<u128>(r, now, &mut p) {
        return r.discard(p, why);
    }
    let mut queues = Path::NONE;
    if !p.fasttrack {
        r.at(Step::HtbGlobal);
        r.at(Step::SimpleQueues);
        queues = self::queues(r, now, &p, &tuple, p.out_interface);
    }
    // Whoever sends by way of the router what is on the link is told so, each time anew.
    if hop.interface != p.in_interface {
        let kept = record::<u128>(r, now, &p, hop, queues);
        r.tell(|| Event::Kept(kept));
    }
    if p.fasttrack && p.fast {
        r.stats.paths.ipv6_fasttrack.add(p.ip_len.into());
        r.count_fast_in(p.ingress, p.frame.len());
    }
    let cost = r.cost6(&p, tuple, queues);
    let leaving = Leaving {
        frame: p.frame,
        rest: p.rest,
        in_interface: p.in_interface,
        ingress: p.ingress,
        l3: p.layers.l3,
        fast: p.fast,
        fasttrack: p.fasttrack,
        depth: r.link.depth,
        hop,
        queues,
        cost,
    };
    r.recycle(p.trace);
    wait::out(r, now, leaving)
}

/// Box L: to the neighbour, in the pieces it came in.
pub(super) fn leave(r: &mut Router, now: Moment, leaving: Leaving<u128>) {
    let Leaving { frame, rest, in_interface, ingress, l3, fast, .. } = leaving;
    let Leaving { fasttrack, depth, hop, cost: Cost { mark, .. }, .. } = leaving;
    let rest = rest.into_iter().map(|piece| (piece.frame, piece.layers.l3));
    for (frame, l3) in std::iter::once((frame, l3)).chain(rest) {
        let waiting = Waiting { frame, in_interface, ingress, l3, fast, fasttrack, depth, mark };
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

/// Walks a packet's headers, once; where its source route stands, if it has one.
fn open(r: &Router, p: &mut Packet) -> Result<Option<u16>, Discard> {
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
    Ok(found.source_route)
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
fn next_hop(target: &Target<u128>, ends: Ends) -> Hop<u128> {
    match target {
        Target::Gateways(ways) => {
            let fold = |at: u128| (at ^ at >> 64) as u64;
            let pair = fold(ends.src).rotate_left(32) ^ fold(ends.dst);
            let hash = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let (interface, address) = ways[(hash as usize * ways.len()) >> 32];
            Hop { interface, address }
        }
        &Target::Connected(interface) => Hop { interface, address: ends.dst },
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
        Ok(_) => refuse(r, now, p, why, error),
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
            output(r, now, p)
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
