//! The packet flow of RouterOS v6 as straight-line code: the published diagram, box by box.
//!
//! ```text
//! physical_in ─► bridging ─► to_router ─┐         ┌─► forward ─┐
//!      └────────────────────────────────┴► routing ┤            ├─► postrouting ─► out ─► transmit
//!                                                 └─► input     │
//!                              local_out ─► output ───▲─────────┘
//!                                                 to itself
//! ```
//!
//! This is the specification: whatever is faster (`fast`) must give the same packets, counters and
//! states. One packet at a time; every function takes the packet and either hands it on, holds it,
//! or discards it by name. `r.at(Step::…)` marks a box of the manual, in the manual's order;
//! ARCHITECTURE.md shows the same list, and a test compares the two.

// From the last box of IP to the neighbour.
mod leave;
// LOCAL IN and LOCAL OUT.
mod local;
// The FILTER boxes.
mod rules;
// What becomes due between packets.
pub(crate) mod timers;
// The CONNECTION TRACKING box.
mod track;
// The NAT boxes.
mod translate;

use crate::discard::Discard;
use crate::firewall::filter::FilterChain;
use crate::interface::InterfaceId;
use crate::interface::bridge::Decision;
use crate::interface::bridge::filter::Chain;
use crate::interface::priority;
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::Waiting;
use crate::ip::route::Target;
use crate::ip::{fragment, icmp};
use crate::packet::Packet;
use crate::program::{BridgeAt, Kind};
use crate::queue::leaf as queues;
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
pub(crate) use leave::to_neighbour;
use leave::{Onward, ip_total_len, next_hop, record, way_out};
use local::{arp_in, local_in, refuse};
use port::Frame;
use rules::{bridge_accepts, filter, verdict_says};
use track::{confirm, reassemble, track};
use translate::{dst_nat, settle, src_nat};
use wire::layers::{self, ETHERTYPE_ARP, ETHERTYPE_IPV4, Malformed};
use wire::{Layers, Moment, checksum};

pub(crate) use leave::{Hop, Leaving, Unkept, queue};
pub(crate) use local::local_out;

/// PHYSICAL IN-INTERFACE: a frame has come in by a port.
pub(crate) fn physical_in(r: &mut Router, now: Moment, port: InterfaceId, frame: Frame) {
    r.at(Step::PhysicalIn);
    let interface = r.program.interface(port);
    let (bridge, own_mac, fast) = (interface.bridge, interface.mac, interface.fast_rx);
    if !interface.running {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    let mut malformed = None;
    let layers = match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => layers,
        Err(Malformed::Ethernet) => {
            r.stats.troubles[port.index()].rx_error += 1;
            return r.discard_frame(frame, Discard::MalformedEthernet);
        }
        // A bridge need not understand what it forwards; the router itself must.
        Err(other) => {
            malformed = Some(other);
            Layers::default()
        }
    };
    let mut p = r.packet(frame, layers, port);
    (p.fast, p.malformed) = (fast, malformed);
    if r.src_mac(&p).is_multicast() {
        return r.discard(p, Discard::BadSourceMac);
    }
    if let Some(bridge) = bridge {
        return bridging(r, now, p, bridge);
    }
    let dst = r.dst_mac(&p);
    if dst != own_mac && !dst.is_multicast() {
        return r.discard(p, Discard::OtherHost);
    }
    to_router(r, now, p)
}

/// BRIDGING (box A): a frame has come in by a port of a bridge.
fn bridging(r: &mut Router, now: Moment, mut p: Packet, bridge: BridgeAt) {
    p.in_interface = r.program.bridge(bridge).interface;
    r.at(Step::BridgeDstNat);
    r.at(Step::BridgingDecision);
    let (src, dst) = (r.src_mac(&p), r.dst_mac(&p));
    if r.program.bridge(bridge).port(p.port).is_some_and(|port| port.learn) {
        r.link.hosts[bridge.0].learn(src.to_u64(), p.port, now.as_millis_u32());
    }
    match r.program.bridge(bridge).decide(p.port, dst, &r.link.hosts[bridge.0]) {
        Decision::Local => {
            r.tell(|| Event::Bridged { ports: Vec::new(), local: true });
            bridge_input(r, now, p)
        }
        Decision::Port(port) => {
            r.tell(|| Event::Bridged { ports: vec![port], local: false });
            count_bridged(r, &p);
            bridge_forward(r, now, p, port)
        }
        Decision::Discard(why) => r.discard(p, why),
        Decision::Flood { ports, local } => {
            let mut targets = std::mem::take(&mut r.io.targets);
            targets.extend_from_slice(ports);
            r.tell(|| Event::Bridged { ports: targets.clone(), local });
            let last = if local { None } else { targets.pop() };
            count_bridged(r, &p);
            for port in targets.drain(..) {
                if let Some(copy) = r.copy(&p) {
                    bridge_forward(r, now, copy, port);
                }
            }
            r.io.targets = targets;
            match last {
                Some(port) => bridge_forward(r, now, p, port),
                None => bridge_input(r, now, p),
            }
        }
    }
}

/// Counts a frame as received in FastPath: once, by however many ports it leaves.
fn count_bridged(r: &mut Router, p: &Packet) {
    if p.fast && r.bridge_fast_path() {
        r.stats.interface_counts[p.port.index()].fast_rx.add(p.frame.len() as u64);
    }
}

/// Bridge filter FORWARD, and out by one port.
fn bridge_forward(r: &mut Router, now: Moment, mut p: Packet, to: InterfaceId) {
    (p.out_interface, p.out_port) = (p.in_interface, to);
    r.at(Step::BridgeForward);
    r.tell(|| Event::To(to));
    if !bridge_accepts(r, now, Chain::Forward, &mut p) {
        return r.discard(p, Discard::BridgeFilterDrop);
    }
    r.at(Step::BridgeSrcNat);
    p.fast &= r.bridge_fast_path();
    if p.fast {
        r.stats.paths.bridge_fast_path.add(p.frame.len() as u64);
    }
    r.recycle(p.trace);
    physical_out(r, to, p.frame, p.fast)
}

/// Bridge filter INPUT: the frame is for the router, which sees it come in by the bridge (box B).
fn bridge_input(r: &mut Router, now: Moment, mut p: Packet) {
    r.at(Step::BridgeInput);
    if !bridge_accepts(r, now, Chain::Input, &mut p) {
        return r.discard(p, Discard::BridgeFilterDrop);
    }
    p.trace.clear();
    r.stats.interface_counts[p.in_interface.index()].rx.add(p.frame.len() as u64);
    to_router(r, now, p)
}

/// Box C: a frame of the router's own, or routed, leaves by a bridge.
fn bridge_output(r: &mut Router, now: Moment, bridge: BridgeAt, frame: Frame, fast: bool) {
    r.at(Step::BridgingDecision);
    let layers = layers::network(r.io.slab.bytes(&frame)).unwrap_or_default();
    let mut p = r.packet(frame, layers, InterfaceId::NONE);
    (p.out_interface, p.fast) = (r.program.bridge(bridge).interface, fast);
    let dst = r.dst_mac(&p);
    let mut targets = std::mem::take(&mut r.io.targets);
    match r.program.bridge(bridge).decide(p.out_interface, dst, &r.link.hosts[bridge.0]) {
        Decision::Port(port) => targets.push(port),
        Decision::Flood { ports, .. } => targets.extend_from_slice(ports),
        Decision::Local | Decision::Discard(_) => {}
    }
    r.tell(|| Event::Bridged { ports: targets.clone(), local: false });
    let last = targets.pop();
    for port in targets.drain(..) {
        if let Some(copy) = r.copy(&p) {
            bridge_output_by(r, now, copy, port);
        }
    }
    r.io.targets = targets;
    match last {
        Some(port) => {
            r.stats.interface_counts[p.out_interface.index()].tx.add(p.frame.len() as u64);
            bridge_output_by(r, now, p, port)
        }
        None => r.discard(p, Discard::NoBridgePort),
    }
}

/// Bridge filter OUTPUT, and out by one port.
fn bridge_output_by(r: &mut Router, now: Moment, mut p: Packet, to: InterfaceId) {
    p.out_port = to;
    r.at(Step::BridgeOutput);
    r.tell(|| Event::To(to));
    if !bridge_accepts(r, now, Chain::Output, &mut p) {
        return r.discard(p, Discard::BridgeFilterDrop);
    }
    r.at(Step::BridgeSrcNat);
    r.recycle(p.trace);
    physical_out(r, to, p.frame, p.fast)
}

/// Boxes B, F, J's head: a frame for the router's own upper layers.
fn to_router(r: &mut Router, now: Moment, mut p: Packet) {
    r.at(Step::MplsDecision);
    if let Some(malformed) = p.malformed {
        return r.discard(p, reason(malformed));
    }
    if p.layers.vlan.is_some() && priority::take_off(&r.io.slab, &mut p.frame) {
        match layers::network(r.io.slab.bytes(&p.frame)) {
            Ok(layers) => p.layers = layers,
            Err(malformed) => return r.discard(p, reason(malformed)),
        }
    }
    match p.layers.ether_type {
        ETHERTYPE_IPV4 if p.layers.vlan.is_none() => routing(r, now, p),
        ETHERTYPE_ARP if p.layers.vlan.is_none() => arp_in(r, now, p),
        _ => {
            r.at(Step::Decapsulation);
            r.discard(p, Discard::UnknownProtocol)
        }
    }
}

/// ROUTING (box I): PREROUTING and the routing decision.
fn routing(r: &mut Router, now: Moment, p: Packet) {
    if !checksum::is_ok(r.ip_header(&p)) {
        return r.discard(p, Discard::BadHeaderChecksum);
    }
    if is_martian_source(p.layers.tuple.src) || is_own_source(r, p.layers.tuple.src) {
        return r.discard(p, Discard::MartianSource);
    }
    r.at(Step::HotspotIn);
    r.at(Step::RawPrerouting);
    r.at(Step::TrackPrerouting);
    let Some(mut p) = track(r, now, p) else { return };
    if !p.fasttrack {
        r.at(Step::ManglePrerouting);
    }
    r.at(Step::DstNat);
    if let Err(why) = dst_nat(r, now, &mut p) {
        return r.discard(p, why);
    }
    r.at(Step::RoutingDecision);
    let dst = p.layers.tuple.dst;
    let leaf = r.v4.routes.lookup(dst);
    r.tell_route(dst);
    match r.v4.routes.target(leaf) {
        Some(Target::Local | Target::Broadcast) => input(r, now, p),
        Some(Target::Martian) => r.discard(p, Discard::MartianDestination),
        Some(Target::Multicast) => r.discard(p, Discard::MulticastDestination),
        // RFC 1812 §5.3.4: what came as a link-layer broadcast is not forwarded.
        _ if r.dst_mac(&p).is_multicast() => r.discard(p, Discard::OtherHost),
        _ if !r.program.settings.ip_forward => r.discard(p, Discard::ForwardingOff),
        None => refuse(r, now, p, Discard::NoRoute, icmp::Error::NET_UNREACHABLE),
        Some(Target::Blackhole) => r.discard(p, Discard::RouteBlackhole),
        Some(Target::Unreachable) => {
            refuse(r, now, p, Discard::RouteUnreachable, icmp::Error::HOST_UNREACHABLE)
        }
        Some(Target::Prohibit) => {
            refuse(r, now, p, Discard::RouteProhibit, icmp::Error::ADMIN_PROHIBITED)
        }
        Some(Target::Connected(_) | Target::Gateways(_)) => forward(r, now, p, leaf),
    }
}

/// FORWARD: the packet is for somebody else.
fn forward(r: &mut Router, now: Moment, mut p: Packet, leaf: NextHopId) {
    let hop = next_hop(r, leaf, &p);
    p.out_interface = hop.interface;
    r.tell(|| Event::NextHop(hop));
    p.fast &= r.ipv4_fast_path() || p.fasttrack;
    r.at(Step::Ttl);
    if !r.decrement_ttl(&mut p) {
        return refuse(r, now, p, Discard::TtlExceeded, icmp::Error::TTL_EXCEEDED);
    }
    let mtu = r.program.interface(hop.interface).mtu;
    if r.longest_piece(&p) > mtu && r.dont_fragment(&p) {
        let error = icmp::Error::fragmentation_needed(mtu);
        return refuse(r, now, p, Discard::FragmentationNeeded, error);
    }
    if !p.fasttrack {
        r.at(Step::MangleForward);
        r.at(Step::FilterForward);
        let verdict = filter(r, now, FilterChain::Forward, &mut p);
        let Some(p) = verdict_says(r, now, p, verdict) else { return };
        r.at(Step::Accounting);
        return postrouting(r, now, p, hop);
    }
    postrouting(r, now, p, hop)
}

/// INPUT: the packet is for the router itself.
fn input(r: &mut Router, now: Moment, p: Packet) {
    // RFC 1122 §3.3.2: hosts reassemble, whether or not connections are tracked.
    let whole = if p.layers.fragment { reassemble(r, now, p) } else { Some(p) };
    let Some(mut p) = whole else { return };
    p.fast = false;
    r.at(Step::MangleInput);
    r.at(Step::FilterInput);
    let verdict = filter(r, now, FilterChain::Input, &mut p);
    let Some(mut p) = verdict_says(r, now, p, verdict) else { return };
    r.at(Step::HtbGlobalInput);
    r.at(Step::SimpleQueuesInput);
    if let Err(why) = settle(r, &mut p).and_then(|()| confirm(r, now, &mut p)) {
        return r.discard(p, why);
    }
    r.at(Step::LocalIn);
    local_in(r, now, p)
}

/// OUTPUT: from the router itself.
pub(crate) fn output(r: &mut Router, now: Moment, mut p: Packet) {
    r.at(Step::LocalOut);
    r.at(Step::RoutingDecision);
    let dst = p.layers.tuple.dst;
    r.tell_route(dst);
    let Some(mut way) = way_out(r, &p) else { return r.discard(p, Discard::NoRoute) };
    p.out_interface = way.interface();
    if let Onward::Out(hop) = way {
        r.tell(|| Event::NextHop(hop));
    }
    r.at(Step::RawOutput);
    r.at(Step::TrackOutput);
    let Some(mut p) = track(r, now, p) else { return };
    // What answers a translated connection is translated back, and may go another way then.
    if let Err(why) = dst_nat(r, now, &mut p) {
        return r.discard(p, why);
    }
    if p.layers.tuple.dst != dst {
        match way_out(r, &p) {
            Some(other) => way = other,
            None => return r.discard(p, Discard::NoRoute),
        }
    }
    p.out_interface = way.interface();
    r.at(Step::MangleOutput);
    r.at(Step::FilterOutput);
    let verdict = filter(r, now, FilterChain::Output, &mut p);
    let Some(p) = verdict_says(r, now, p, verdict) else { return };
    r.at(Step::RoutingAdjustment);
    match way {
        Onward::Out(hop) => postrouting(r, now, p, hop),
        Onward::Here => input(r, now, p),
    }
}

/// POSTROUTING: the packet leaves by IP.
fn postrouting(r: &mut Router, now: Moment, mut p: Packet, hop: Hop) {
    if !p.fasttrack {
        r.at(Step::ManglePostrouting);
    }
    // Simple queues know a client by its own address: the one before src-nat.
    let tuple = p.layers.tuple;
    r.at(Step::SrcNat);
    if let Err(why) = src_nat(r, now, &mut p) {
        return r.discard(p, why);
    }
    if let Err(why) = confirm(r, now, &mut p) {
        return r.discard(p, why);
    }
    let mut leaf = None;
    if !p.fasttrack {
        r.at(Step::HotspotOut);
        r.at(Step::HtbGlobal);
        r.at(Step::SimpleQueues);
        let queues = &r.program.queues;
        leaf = queues.classify(tuple.src, tuple.dst, p.in_interface, p.out_interface);
        r.at(Step::IpsecPolicy);
    }
    let kept = record(r, now, &p, hop, leaf);
    r.tell(|| Event::Kept(kept));
    if p.fasttrack && p.fast {
        r.stats.paths.ipv4_fasttrack.add(p.ip_len.into());
        r.stats.interface_counts[p.in_interface.index()].fast_rx.add(p.frame.len() as u64);
    }
    let len = r.queue_len(&p);
    let leaving = Leaving {
        frame: p.frame,
        rest: p.rest,
        in_interface: p.in_interface,
        l3: p.layers.l3,
        fast: p.fast,
        fasttrack: p.fasttrack,
        hop,
    };
    r.recycle(p.trace);
    match leaf {
        None => ip_out(r, now, leaving),
        Some(leaf) => {
            let decision = r.queues.offer(leaf, now, len);
            r.tell(|| Event::Queued { leaf, decision });
            match decision {
                queues::Decision::Pass => ip_out(r, now, leaving),
                verdict => queue(r, leaf, verdict, leaving, len),
            }
        }
    }
}

/// Box L: to the neighbour, in pieces if the packet is too long for the way.
pub(crate) fn ip_out(r: &mut Router, now: Moment, leaving: Leaving) {
    r.at(Step::MplsOutput);
    let Leaving { frame, rest, in_interface, l3, fast, fasttrack, hop } = leaving;
    let mtu = usize::from(r.program.interface(hop.interface).mtu);
    for frame in std::iter::once(frame).chain(rest.into_iter().map(|piece| piece.frame)) {
        let len = r.segment_len(&frame);
        if mtu >= len.unwrap_or_else(|| ip_total_len(r.io.slab.bytes(&frame), l3)) {
            to_neighbour(r, now, hop, Waiting { frame, in_interface, l3, fast, fasttrack });
            continue;
        }
        if frame.has_offload() {
            let mut segments = std::mem::take(&mut r.io.segments);
            r.finish(frame, &mut segments);
            for frame in segments.drain(..) {
                let rest = Vec::new();
                ip_out(r, now, Leaving { frame, rest, in_interface, l3, fast, fasttrack, hop });
            }
            r.io.segments = segments;
            continue;
        }
        r.tell(|| Event::Split { mtu });
        let mut pieces = std::mem::take(&mut r.io.pieces);
        let whole = fragment::split(&mut r.io.pool, frame, l3.into(), mtu, |f| pieces.push(f));
        r.stats.tally.consumed += 1;
        r.stats.tally.made += pieces.len() as u64;
        if !whole {
            r.stats.discards.add(Discard::NoFrame);
        }
        for frame in pieces.drain(..) {
            to_neighbour(r, now, hop, Waiting { frame, in_interface, l3, fast: false, fasttrack });
        }
        r.io.pieces = pieces;
    }
}

/// Boxes H, C, D: bridging output if the interface is a bridge, then the interface's own queue.
pub(crate) fn link_out(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    frame: Frame,
    fast: bool,
) {
    match r.program.interface(interface).kind {
        Kind::Bridge(bridge) => bridge_output(r, now, bridge, frame, fast),
        Kind::Ethernet { .. } => physical_out(r, interface, frame, fast),
    }
}

/// PHYSICAL OUT-INTERFACE.
fn physical_out(r: &mut Router, interface: InterfaceId, frame: Frame, fast: bool) {
    r.at(Step::Encapsulation);
    r.at(Step::InterfaceHtb);
    r.at(Step::PhysicalOut);
    if r.is_port(interface) {
        r.tell(|| Event::Sent(interface));
    }
    if frame.has_offload() {
        r.transmit_unfinished(interface, frame, fast);
    } else {
        r.transmit(interface, frame, fast);
    }
    r.tools.profiler.go_home();
}

/// A source that no host may have (RFC 1812 §5.3.7).
#[inline]
pub(crate) fn is_martian_source(src: u32) -> bool {
    matches!(src >> 24, 0 | 127 | 224..)
}

/// A source that is the router's own, or a broadcast of its networks: as Linux has it, a packet that
/// comes from outside has none of these.
#[inline]
pub(crate) fn is_own_source(r: &Router, src: u32) -> bool {
    r.program.own_sources.may_have(src)
        && matches!(
            r.v4.routes.target(r.v4.routes.lookup(src)),
            Some(Target::Local | Target::Broadcast)
        )
}

fn reason(malformed: Malformed) -> Discard {
    match malformed {
        Malformed::Ethernet => Discard::MalformedEthernet,
        Malformed::Ipv4 => Discard::MalformedIpv4,
        Malformed::Ipv6 => Discard::MalformedIpv6,
        Malformed::Arp => Discard::MalformedArp,
        Malformed::Transport => Discard::MalformedTransport,
    }
}
