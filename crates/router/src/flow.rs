//! The packet flow of RouterOS v6 as straight-line code: the published diagram, box by box.
//!
//! ```text
//! physical_in ─► bridging ─► to_router ─┐         ┌─► forward ─┐
//!      └────────────────────────────────┴► routing ┤            ├─► postrouting ─► out ─► transmit
//!                                                 └─► input     │
//!                              local_out ─► output ─────────────┘
//! ```
//!
//! This is the specification: whatever is faster (`fast`) must give the same packets, counters and
//! states. One packet at a time; every function takes the packet and either hands it on, holds it,
//! or discards it by name. `r.at(Step::…)` marks a box of the manual, in the manual's order;
//! ARCHITECTURE.md shows the same list, and a test compares the two.

use crate::discard::Discard;
use crate::firewall::connection::{Connections, FlowId, flow_flag};
use crate::firewall::filter::{self, Answer, FilterChain, FilterVerdict};
use crate::firewall::nat::{NatChain, NatVerdict};
use crate::firewall::translation::{self, NatKind, NatTarget};
use crate::interface::InterfaceId;
use crate::interface::bridge::Decision;
use crate::ip::address;
use crate::ip::fib::NextHopId;
use crate::ip::fragment::{Collected, Piece};
use crate::ip::neighbour::{Waiting, Want};
use crate::ip::route::Target;
use crate::ip::{arp, fragment, icmp};
use crate::packet::{ConnectionState, Packet};
use crate::program::{BridgeAt, Kind};
use crate::queue::leaf::{self as queues, QueueLeafId};
use crate::recipe::Way;
use crate::router::Router;
use crate::step::Step;
use port::Frame;
use wire::arp::Operation;
use wire::layers::{self, ETHERTYPE_ARP, ETHERTYPE_IPV4, Malformed, protocol};
use wire::{Arp, FiveTuple, Ipv4Prefix, Layers, MacAddr, Moment, checksum};

/// PHYSICAL IN-INTERFACE: a frame has come in by a port.
pub(crate) fn physical_in(r: &mut Router, now: Moment, port: InterfaceId, frame: Frame) {
    r.at(Step::PhysicalIn);
    let interface = r.program.interface(port);
    let (bridge, own_mac, fast) = (interface.bridge, interface.mac, interface.fast_rx);
    if !interface.enabled {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    let mut malformed = None;
    let layers = match layers::network(r.slab.bytes(&frame)) {
        Ok(layers) => layers,
        Err(Malformed::Ethernet) => {
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
fn bridging(r: &mut Router, now: Moment, p: Packet, bridge: BridgeAt) {
    r.at(Step::BridgeDstNat);
    r.at(Step::BridgingDecision);
    let (src, dst) = (r.src_mac(&p), r.dst_mac(&p));
    if r.program.bridge(bridge).port(p.port).is_some_and(|port| port.learn) {
        r.hosts[bridge.0].learn(src.to_u64(), p.port, now.as_millis_u32());
    }
    let mut targets = std::mem::take(&mut r.targets);
    let local = match r.program.bridge(bridge).decide(p.port, dst, &r.hosts[bridge.0]) {
        Decision::Local => true,
        Decision::Port(port) => {
            targets.push(port);
            false
        }
        Decision::Flood { ports, local } => {
            targets.extend_from_slice(ports);
            local
        }
        Decision::Discard(why) => {
            r.targets = targets;
            return r.discard(p, why);
        }
    };
    let mut last = Some(p);
    let copies = targets.len() + usize::from(local);
    for (n, port) in targets.drain(..).enumerate() {
        let copy = if n + 1 == copies { last.take() } else { r.copy(last.as_ref()) };
        if let Some(copy) = copy {
            bridge_forward(r, copy, port);
        }
    }
    r.targets = targets;
    if let Some(p) = last {
        bridge_input(r, now, p, bridge);
    }
}

/// Bridge filter FORWARD, and out by one port.
fn bridge_forward(r: &mut Router, mut p: Packet, to: InterfaceId) {
    p.out_interface = to;
    r.at(Step::BridgeForward);
    r.at(Step::BridgeSrcNat);
    p.fast &= r.program.bridge_fast_path();
    if p.fast {
        let len = p.frame.len() as u64;
        r.paths.bridge_fast_path.add(len);
        r.interface_counts[p.port.index()].fast_rx.add(len);
    }
    r.recycle(p.trace);
    physical_out(r, to, p.frame, p.fast)
}

/// Bridge filter INPUT: the frame is for the router, which sees it come in by the bridge (box B).
fn bridge_input(r: &mut Router, now: Moment, mut p: Packet, bridge: BridgeAt) {
    r.at(Step::BridgeInput);
    p.in_interface = r.program.bridge(bridge).interface;
    to_router(r, now, p)
}

/// Box C: a frame of the router's own, or routed, leaves by a bridge.
fn bridge_output(r: &mut Router, bridge: BridgeAt, frame: Frame, fast: bool) {
    r.at(Step::BridgingDecision);
    let dst = r.slab.bytes(&frame).first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac));
    let bridge_interface = r.program.bridge(bridge).interface;
    let mut targets = std::mem::take(&mut r.targets);
    match r.program.bridge(bridge).decide(bridge_interface, dst, &r.hosts[bridge.0]) {
        Decision::Port(port) => targets.push(port),
        Decision::Flood { ports, .. } => targets.extend_from_slice(ports),
        Decision::Local => {}
        Decision::Discard(why) => {
            r.targets = targets;
            return r.discard_frame(frame, why);
        }
    }
    let Some(last) = targets.pop() else {
        r.targets = targets;
        return r.discard_frame(frame, Discard::NoBridgePort);
    };
    r.count_bridge_tx(bridge_interface, &frame);
    for &port in &targets {
        r.at(Step::BridgeOutput);
        r.at(Step::BridgeSrcNat);
        match r.copy_frame(&frame) {
            Some(copy) => physical_out(r, port, copy, fast),
            None => r.discards.add(Discard::NoFrame),
        }
    }
    targets.clear();
    r.targets = targets;
    r.at(Step::BridgeOutput);
    r.at(Step::BridgeSrcNat);
    physical_out(r, last, frame, fast)
}

/// Boxes B, F, J's head: a frame for the router's own upper layers.
fn to_router(r: &mut Router, now: Moment, p: Packet) {
    r.at(Step::MplsDecision);
    if let Some(malformed) = p.malformed {
        return r.discard(p, reason(malformed));
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
    if is_martian_source(p.layers.tuple.src) {
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
    let leaf = r.routes.lookup(p.layers.tuple.dst);
    match r.routes.target(leaf) {
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

/// CONNECTION TRACKING: reassembles, finds the connection, and lets FastTracked packets leave the
/// regular path. `None` if the packet is held back or gone.
fn track(r: &mut Router, now: Moment, mut p: Packet) -> Option<Packet> {
    if !r.program.tracking {
        return Some(p);
    }
    if p.layers.fragment {
        p = reassemble(r, now, p)?;
    }
    if let Some(flow) = fasttracked(r, &p) {
        r.connections.flow_mut(flow).count(p.ip_len, now.as_millis_u32());
        (p.flow, p.fasttrack) = (Some(flow), true);
        return Some(p);
    }
    p.fast = false;
    let tracking = r.track(now, &p);
    p.connection_state = tracking.state;
    (p.flow, p.new, p.related) = (tracking.flow, tracking.new, tracking.related);
    if tracking.full {
        r.discard(p, Discard::ConnectionTableFull);
        return None;
    }
    Some(p)
}

/// The flow of a packet that may take the FastTrack way. What may end a connection, or is out of
/// the ordinary, stays on the regular path.
fn fasttracked(r: &Router, p: &Packet) -> Option<FlowId> {
    const FIN_SYN_RST: u8 = 0x07;
    let tuple = p.layers.tuple;
    let plain = p.fast && p.layers.l4 != 0 && p.rest.is_empty() && !p.layers.options;
    let flags = || r.transport(p).get(13).copied().unwrap_or(FIN_SYN_RST);
    let ends = tuple.protocol == protocol::TCP && flags() & FIN_SYN_RST != 0;
    if !plain || ends || !r.program.fasttrack() || r.connections.fasttracked() == 0 {
        return None;
    }
    let flow = r.connections.flows().find(tuple.hash(), &tuple)?;
    Connections::fasttrack_allows(r.connections.flow(flow)).then_some(flow)
}

/// Collects a fragment; the packet goes on when its datagram is complete.
fn reassemble(r: &mut Router, now: Moment, p: Packet) -> Option<Packet> {
    let (port, in_interface) = (p.port, p.in_interface);
    let slab = r.slab.clone();
    let (frame, trace) = (p.frame, p.trace);
    r.recycle(trace);
    match r.reassembly.collect(now, &slab, frame, p.layers) {
        Collected::Held => None,
        Collected::Full(frame) => {
            r.discard_frame(frame, Discard::ReassemblyFull);
            None
        }
        Collected::Bad(pieces) => {
            for piece in pieces {
                r.discard_frame(piece.frame, Discard::BadFragment);
            }
            None
        }
        Collected::Complete(mut pieces, ip_len) => {
            let first = pieces.remove(0);
            let mut whole = r.packet(first.frame, first.layers, port);
            whole.layers.fragment = false;
            (whole.in_interface, whole.ip_len, whole.rest) = (in_interface, ip_len, pieces);
            Some(whole)
        }
    }
}

/// FORWARD: the packet is for somebody else.
fn forward(r: &mut Router, now: Moment, mut p: Packet, leaf: NextHopId) {
    let hop = next_hop(r, leaf, &p);
    p.out_interface = hop.interface;
    p.fast &= r.program.ipv4_fast_path() || p.fasttrack;
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
fn input(r: &mut Router, now: Moment, mut p: Packet) {
    p.fast = false;
    r.at(Step::MangleInput);
    r.at(Step::FilterInput);
    let verdict = filter(r, now, FilterChain::Input, &mut p);
    let Some(mut p) = verdict_says(r, now, p, verdict) else { return };
    r.at(Step::HtbGlobalInput);
    r.at(Step::SimpleQueuesInput);
    if let Err(why) = confirm(r, now, &mut p) {
        return r.discard(p, why);
    }
    local_in(r, now, p)
}

/// Walks a packet through a chain of `/ip firewall filter`.
fn filter(r: &mut Router, now: Moment, chain: FilterChain, p: &mut Packet) -> FilterVerdict {
    r.with_view(now, p, |program, view, books| program.filter.run(chain, view, books))
}

/// Does what the filter said; `None` if the packet is gone.
fn verdict_says(r: &mut Router, now: Moment, p: Packet, verdict: FilterVerdict) -> Option<Packet> {
    if let (true, Some(flow)) = (verdict.fasttrack, p.flow) {
        r.connections.set_fasttrack(flow);
    }
    match verdict.decision {
        filter::Decision::Accept => return Some(p),
        filter::Decision::Drop => r.discard(p, Discard::FilterDrop),
        filter::Decision::Reject(with) => match with.answer() {
            Answer::Icmp { kind, code } => {
                refuse(r, now, p, Discard::FilterReject, icmp::Error::new(kind, code));
            }
            Answer::TcpReset => {
                if let Some(reset) = r.tcp_reset(&p) {
                    local_out(r, now, reset);
                }
                r.discard(p, Discard::FilterReject);
            }
        },
    }
    None
}

/// DST-NAT: the rules choose for a connection's first packet; the others follow it.
fn dst_nat(r: &mut Router, now: Moment, p: &mut Packet) -> Result<(), Discard> {
    if let Some(mut new) = p.new.take() {
        p.trace.once = true;
        let verdict = r.with_view(now, p, |program, view, books| {
            program.nat.run(NatChain::Dstnat, view, books)
        });
        let target = match verdict {
            NatVerdict::Dst { addresses, ports } => Some((addresses, ports)),
            NatVerdict::Redirect { ports } => {
                let own = address::source(&r.program.addresses, p.in_interface, new.original.src);
                own.map(|own| (Some(Ipv4Prefix::host(own).into()), ports))
            }
            _ => None,
        };
        if let Some((addresses, ports)) = target {
            let target = NatTarget { kind: NatKind::Destination, addresses, ports };
            r.connections.translate(&mut new, &target)?;
        }
        p.translated = Some(new.translated);
        p.new = Some(new);
    } else if let Some(id) = p.related {
        let flow = r.connections.flow(id);
        if flow.flags & flow_flag::NAT != 0 {
            let quoted = flow.translated().reversed();
            let (sources, new) = (flow.flags & flow_flag::SOURCE, flow.translated());
            let src = if sources != 0 { new.src } else { p.layers.tuple.src };
            let destinations = flow.flags & flow_flag::DESTINATION;
            let dst = if destinations != 0 { new.dst } else { p.layers.tuple.dst };
            p.translated = Some(FiveTuple { src, dst, ..p.layers.tuple });
            translation::rewrite_quoted(r.slab.bytes_mut(&mut p.frame), &p.layers, &quoted);
        }
    } else if let Some(id) = p.flow {
        let flow = r.connections.flow(id);
        if flow.flags & flow_flag::NAT != 0 {
            p.translated = Some(flow.translated());
        }
    }
    if let Some(new) = p.translated {
        let (dst, dst_port) = (new.dst, new.dst_port);
        let src_port =
            if p.layers.protocol == protocol::ICMP { dst_port } else { p.layers.tuple.src_port };
        r.rewrite(p, FiveTuple { dst, dst_port, src_port, ..p.layers.tuple });
    }
    Ok(())
}

/// SRC-NAT: as before, for the source, now that the way out is known.
fn src_nat(r: &mut Router, now: Moment, p: &mut Packet) -> Result<(), Discard> {
    if let Some(mut new) = p.new.take() {
        p.trace.once = true;
        let verdict = r.with_view(now, p, |program, view, books| {
            program.nat.run(NatChain::Srcnat, view, books)
        });
        let target = match verdict {
            NatVerdict::Src { addresses, ports } => Some((addresses, ports)),
            NatVerdict::Masquerade { ports } => {
                let dst = p.layers.tuple.dst;
                let own = address::source(&r.program.addresses, p.out_interface, dst);
                own.map(|own| (Some(Ipv4Prefix::host(own).into()), ports))
            }
            _ => None,
        };
        match target {
            Some((addresses, ports)) => {
                let target = NatTarget { kind: NatKind::Source, addresses, ports };
                r.connections.translate(&mut new, &target)?;
            }
            None => r.connections.settle(&mut new)?,
        }
        p.translated = Some(new.translated);
        p.new = Some(new);
    }
    if let Some(new) = p.translated {
        r.rewrite(p, new);
    }
    Ok(())
}

/// Enters the connection of a first packet that the router does not drop.
fn confirm(r: &mut Router, now: Moment, p: &mut Packet) -> Result<(), Discard> {
    if let Some(new) = p.new.take() {
        r.connections.confirm(&new, now)?;
    }
    Ok(())
}

/// LOCAL IN: the router's own programs. There is one so far, which answers pings.
fn local_in(r: &mut Router, now: Moment, p: Packet) {
    r.at(Step::LocalIn);
    if r.dst_mac(&p).is_multicast() || r.is_broadcast(p.layers.tuple.dst) {
        return r.discard(p, Discard::NoListener);
    }
    match p.layers.protocol {
        protocol::ICMP => match r.transport(&p).first() {
            Some(8) => return echo_reply(r, now, p),
            _ => return r.discard(p, Discard::NoListener),
        },
        protocol::TCP => {
            if let Some(reset) = r.tcp_reset(&p) {
                local_out(r, now, reset);
            }
        }
        protocol::UDP => answer(r, now, &p, icmp::Error::PORT_UNREACHABLE),
        _ => answer(r, now, &p, icmp::Error::PROTOCOL_UNREACHABLE),
    }
    r.discard(p, Discard::NoListener)
}

/// Turns an echo request round (RFC 1122 §3.2.2.6): the same data, in the same pieces.
fn echo_reply(r: &mut Router, now: Moment, mut p: Packet) {
    if !checksum::is_ok(r.transport(&p)) && p.rest.is_empty() {
        return r.discard(p, Discard::MalformedTransport);
    }
    let slab = r.slab.clone();
    let rest = p.rest.iter_mut().map(|piece| (&mut piece.frame, &mut piece.layers));
    for (frame, layers) in std::iter::once((&mut p.frame, &mut p.layers)).chain(rest) {
        let ip = &mut slab.bytes_mut(frame)[usize::from(layers.l3)..];
        icmp::turn_round(ip, usize::from(layers.l4.saturating_sub(layers.l3)));
        layers.tuple = layers.tuple.reversed();
    }
    (p.port, p.in_interface, p.fast) = (InterfaceId::NONE, InterfaceId::NONE, false);
    p.trace.clear();
    output(r, now, p)
}

/// LOCAL OUT (box K): a packet the router itself makes. `frame` begins with 14 bytes for the
/// Ethernet header.
fn local_out(r: &mut Router, now: Moment, frame: Frame) {
    match layers::network(r.slab.bytes(&frame)) {
        Ok(layers) => {
            let p = r.packet(frame, layers, InterfaceId::NONE);
            output(r, now, p)
        }
        Err(malformed) => r.discard_frame(frame, reason(malformed)),
    }
}

/// OUTPUT: from the router itself.
fn output(r: &mut Router, now: Moment, mut p: Packet) {
    r.at(Step::LocalOut);
    r.at(Step::RoutingDecision);
    let leaf = r.routes.lookup(p.layers.tuple.dst);
    if !matches!(r.routes.target(leaf), Some(Target::Connected(_) | Target::Gateways(_))) {
        return r.discard(p, Discard::NoRoute);
    }
    let hop = next_hop(r, leaf, &p);
    p.out_interface = hop.interface;
    r.at(Step::RawOutput);
    r.at(Step::TrackOutput);
    let Some(mut p) = track(r, now, p) else { return };
    r.at(Step::MangleOutput);
    r.at(Step::FilterOutput);
    let verdict = filter(r, now, FilterChain::Output, &mut p);
    let Some(p) = verdict_says(r, now, p, verdict) else { return };
    r.at(Step::RoutingAdjustment);
    postrouting(r, now, p, hop)
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
    record(r, now, &p, hop, leaf);
    if p.fasttrack && p.fast {
        r.paths.ipv4_fasttrack.add(p.ip_len.into());
    }
    let len = u32::from(p.ip_len) + 14;
    let leaving = Leaving {
        frame: p.frame,
        rest: p.rest,
        in_interface: p.in_interface,
        l3: p.layers.l3,
        fast: p.fast,
        hop,
    };
    r.recycle(p.trace);
    match leaf {
        None => ip_out(r, now, leaving),
        Some(leaf) => match r.queues.offer(leaf, now, len) {
            queues::Decision::Pass => ip_out(r, now, leaving),
            verdict => queue(r, leaf, verdict, leaving, len),
        },
    }
}

/// Lets a packet wait in its queue, or ends it there.
pub(crate) fn queue(
    r: &mut Router,
    leaf: QueueLeafId,
    verdict: queues::Decision,
    leaving: Leaving,
    len: u32,
) {
    if verdict == queues::Decision::Enqueue {
        return r.queues.enqueue(leaf, leaving, len);
    }
    r.discards.add(Discard::QueueFull);
    r.pool.free(leaving.frame);
    for piece in leaving.rest {
        r.pool.free(piece.frame);
    }
}

/// A packet that has passed all boxes of IP: what is left is the way to the neighbour.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) frame: Frame,
    /// The other fragments of a reassembled datagram.
    pub(crate) rest: Vec<Piece>,
    pub(crate) in_interface: InterfaceId,
    /// Offset of the IP header.
    pub(crate) l3: u16,
    pub(crate) fast: bool,
    pub(crate) hop: Hop,
}

/// Keeps what the packet went through as its flow's recipe, if the next one would go the same way.
fn record(r: &mut Router, now: Moment, p: &Packet, hop: Hop, queue: Option<QueueLeafId>) {
    let plain = matches!(p.layers.protocol, protocol::TCP | protocol::UDP)
        && p.layers.l4 == p.layers.l3 + 20
        && p.layers.l3 == 14
        && !p.layers.fragment
        && p.rest.is_empty()
        && !p.trace.once;
    let direct = p.port.is_some()
        && p.port == p.in_interface
        && matches!(r.program.interface(hop.interface).kind, Kind::Ethernet { .. });
    let tracked = p.connection_state != ConnectionState::Invalid || p.fasttrack;
    if !plain || !direct || !tracked {
        return;
    }
    let flow = match p.flow {
        Some(flow) if p.fasttrack || r.connections.is_settled(flow) => flow,
        None if !r.program.tracking => match r.untracked_flow(now, p) {
            Some(flow) => flow,
            None => return,
        },
        _ => return,
    };
    let Some(neighbour) = r.neighbours.find(hop.interface, hop.address) else { return };
    let way =
        Way { guard: p.trace.guard, port: p.port, queue, fasttrack: p.fasttrack, fast: p.fast };
    let number = r.recipes.number(way, &p.trace, &mut r.counters);
    let generation = r.recipes.generation();
    let flow = r.connections.flow_mut(flow);
    (flow.recipe, flow.generation, flow.next_hop) = (number, generation, neighbour.0);
}

/// Box L: to the neighbour, in pieces if the packet is too long for the way.
pub(crate) fn ip_out(r: &mut Router, now: Moment, leaving: Leaving) {
    r.at(Step::MplsOutput);
    let Leaving { frame, rest, in_interface, l3, fast, hop } = leaving;
    let mtu = usize::from(r.program.interface(hop.interface).mtu);
    for frame in std::iter::once(frame).chain(rest.into_iter().map(|piece| piece.frame)) {
        if mtu >= ip_total_len(r.slab.bytes(&frame), l3) {
            to_neighbour(r, now, hop, Waiting { frame, in_interface, l3, fast });
            continue;
        }
        let mut pieces = std::mem::take(&mut r.pieces);
        let whole = fragment::split(&mut r.pool, frame, l3.into(), mtu, |f| pieces.push(f));
        if !whole {
            r.discards.add(Discard::NoFrame);
        }
        for frame in pieces.drain(..) {
            to_neighbour(r, now, hop, Waiting { frame, in_interface, l3, fast: false });
        }
        r.pieces = pieces;
    }
}

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// By which interface.
    pub(crate) interface: InterfaceId,
    /// To which neighbour.
    pub(crate) address: u32,
}

/// The next hop behind a leaf that forwards.
fn next_hop(r: &mut Router, leaf: NextHopId, p: &Packet) -> Hop {
    let tuple = p.layers.tuple;
    match r.routes.target(leaf) {
        Some(Target::Gateways(ways)) => {
            let (interface, address) = ways[ecmp_way(tuple.src, tuple.dst, ways.len())];
            if let (1, Some(id)) = (ways.len(), r.neighbours.find(interface, address)) {
                r.routes.set_neighbour(leaf, id); // for the fast path
            }
            Hop { interface, address }
        }
        Some(&Target::Connected(interface)) => Hop { interface, address: tuple.dst },
        other => unreachable!("no next hop behind {other:?}"),
    }
}

/// Which of several gateways a pair of addresses uses: always the same one, as with RouterOS v6's
/// route cache.
pub(crate) fn ecmp_way(src: u32, dst: u32, ways: usize) -> usize {
    let pair = u64::from(src) << 32 | u64::from(dst);
    let hash = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (hash as usize * ways) >> 32
}

/// Writes the Ethernet header and sends, or lets the frame wait until ARP has answered.
fn to_neighbour(r: &mut Router, now: Moment, hop: Hop, mut waiting: Waiting) {
    match r.neighbours.want(now, hop.interface, hop.address) {
        Want::Ready(id) => {
            let adjacency = &mut r.neighbours.adjacencies_mut()[id.index()];
            adjacency.used_ms = now.as_millis_u32();
            let header = adjacency.header;
            let l3 = usize::from(waiting.l3);
            if l3 > 14 {
                waiting.frame.pull(l3 - 14);
            }
            r.slab.bytes_mut(&mut waiting.frame)[..14].copy_from_slice(&header);
            if waiting.fast {
                r.count_fast_path(&waiting);
            }
            link_out(r, hop.interface, waiting.frame, waiting.fast);
        }
        Want::Wait(id, request) => {
            if let Some(request) = request {
                r.send_arp_request(request);
            }
            if let Some(oldest) = r.neighbours.wait(id, waiting) {
                r.discard_frame(oldest.frame, Discard::NeighbourQueueFull);
            }
        }
        Want::Full => r.discard_frame(waiting.frame, Discard::NeighbourTableFull),
    }
}

/// Boxes H, C, D: bridging output if the interface is a bridge, then the interface's own queue.
pub(crate) fn link_out(r: &mut Router, interface: InterfaceId, frame: Frame, fast: bool) {
    match r.program.interface(interface).kind {
        Kind::Bridge(bridge) => bridge_output(r, bridge, frame, fast),
        Kind::Ethernet { .. } => physical_out(r, interface, frame, fast),
    }
}

/// PHYSICAL OUT-INTERFACE.
fn physical_out(r: &mut Router, interface: InterfaceId, frame: Frame, fast: bool) {
    r.at(Step::Encapsulation);
    r.at(Step::InterfaceHtb);
    r.at(Step::PhysicalOut);
    r.transmit(interface, frame, fast);
}

/// ARP, which is part of the router itself.
fn arp_in(r: &mut Router, now: Moment, p: Packet) {
    let interface = p.in_interface;
    let l3 = usize::from(p.layers.l3);
    let message = match Arp::new(&r.slab.bytes(&p.frame)[l3..]) {
        Ok(arp) => arp.message(),
        Err(_) => return r.discard(p, Discard::MalformedArp),
    };
    let own = r.program.interface(interface);
    let (mac, mtu) = (own.mac, own.mtu);
    let for_us = r
        .program
        .addresses
        .iter()
        .any(|own| own.address == message.target_ip && own.interface == interface);
    let sender_known = icmp::is_host(message.sender_ip)
        && !message.sender_mac.is_multicast()
        && !r.program.is_local(message.sender_ip)
        && r.is_neighbour(interface, message.sender_ip);
    if sender_known {
        let ip = message.sender_ip;
        let (_, waiting) =
            r.neighbours.learn(now, interface, ip, message.sender_mac, (mac, mtu), for_us);
        for frame in waiting {
            to_neighbour(r, now, Hop { interface, address: ip }, frame);
        }
    }
    if for_us && message.operation == Operation::Request {
        let reply = message.reply_from(mac);
        if let Some(frame) = arp::frame(&mut r.pool, reply, mac, message.sender_mac) {
            link_out(r, interface, frame, false);
        }
    }
    r.consume(p);
}

/// Discards a packet and, where the RFCs allow, says so to its sender.
pub(crate) fn refuse(r: &mut Router, now: Moment, p: Packet, why: Discard, error: icmp::Error) {
    let frame = r.slab.bytes(&p.frame);
    if icmp::may_answer(frame, &p.layers) && !r.is_broadcast(p.layers.tuple.dst) {
        answer(r, now, &p, error);
    }
    r.discard(p, why);
}

/// Sends an ICMP error about a packet, if `icmp-rate-limit` lets it.
fn answer(r: &mut Router, now: Moment, p: &Packet, error: icmp::Error) {
    let Some(src) = r.answer_source(p) else { return };
    if !r.icmp_limit.allows(now, error.kind) {
        return r.discards.add(Discard::IcmpRateLimited);
    }
    let (l3, end) = (usize::from(p.layers.l3), usize::from(p.layers.l3_end));
    let slab = r.slab.clone();
    let original = &slab.bytes(&p.frame)[l3..end];
    match icmp::error(&mut r.pool, original, error, src) {
        Some(frame) => local_out(r, now, frame),
        None => r.discards.add(Discard::NoFrame),
    }
}

/// What is due by now: ARP requests and failures, datagrams that stayed incomplete.
pub(crate) fn timers(r: &mut Router, now: Moment) {
    let due = r.neighbours.tick(now);
    if r.neighbours.take_removed() {
        r.routes.forget_neighbours();
        r.recipes.forget(&mut r.counters);
    }
    for request in due.requests {
        r.send_arp_request(request);
    }
    for waiting in due.failed {
        match layers::parse(r.slab.bytes(&waiting.frame)) {
            Ok(layers) if waiting.in_interface.is_some() => {
                let p = r.packet(waiting.frame, layers, waiting.in_interface);
                refuse(r, now, p, Discard::NeighbourUnreachable, icmp::Error::HOST_UNREACHABLE);
            }
            _ => r.discard_frame(waiting.frame, Discard::NeighbourUnreachable),
        }
    }
    for pieces in r.reassembly.expired(now) {
        // RFC 792: only if the first fragment is there, which has the ports.
        let mut pieces = pieces.into_iter();
        if let Some(first) = pieces.next() {
            let p = r.packet(first.frame, first.layers, InterfaceId::NONE);
            if p.layers.later_fragment {
                r.discard(p, Discard::ReassemblyTimeout);
            } else {
                let error = icmp::Error::REASSEMBLY_EXCEEDED;
                refuse(r, now, p, Discard::ReassemblyTimeout, error);
            }
        }
        for piece in pieces {
            r.discard_frame(piece.frame, Discard::ReassemblyTimeout);
        }
    }
    let mut released = std::mem::take(&mut r.released);
    r.queues.release(now, |_, leaving| released.push(leaving));
    for leaving in released.drain(..) {
        ip_out(r, now, leaving);
    }
    r.released = released;
    r.queues.sample(now);
    r.connections.sweep(now, SWEEP);
    for (bridge, hosts) in r.program.bridges.iter().zip(&mut r.hosts) {
        hosts.age(now.as_millis_u32(), bridge.ageing_ms, SWEEP);
    }
}

/// Entries of a table that one breath looks at for their age.
const SWEEP: usize = 16;

/// A source that no host may have (RFC 1812 §5.3.7).
#[inline]
pub(crate) fn is_martian_source(src: u32) -> bool {
    matches!(src >> 24, 0 | 127 | 224..)
}

fn ip_total_len(bytes: &[u8], l3: u16) -> usize {
    let l3 = usize::from(l3);
    usize::from(u16::from_be_bytes([bytes[l3 + 2], bytes[l3 + 3]]))
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
