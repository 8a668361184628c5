//! The packet flow of RouterOS v6 as straight-line code: the published diagram, box by box.
//!
//! ```text
//! physical_in ─► link_in ─► bridging ─► to_router ─┐         ┌─► forward ─┐
//!                   │ ▲ └─ vlan_in                  ├► routing ┤            ├─► postrouting
//!                   └─┴─────────────────────────────┘         └─► input     │        │
//!                                       local_out ─► output ───▲────────────┘    ip_out ─► link_out
//!                                                           to itself
//! ```
//!
//! This is the specification: whatever is faster (`fast`) must give the same packets, counters and
//! states. One packet at a time; every function hands it on, holds it, or discards it by name.
//! `r.at(Step::…)` marks a box of the manual; a test compares the list in ARCHITECTURE.md.

// Bonds, up from their slaves and down to them; bridged packets in the boxes of IP; by a port of a bridge.
mod bonding;
mod bridge_out;
pub(crate) mod bridged;
// What boxes ask of a packet again and again.
mod checks;
// Gateways that are asked whether they live; helpers; what the families' packets do otherwise.
pub(crate) mod family;
mod gateway;
mod help;
// From the last box of IP to the neighbour; LOCAL IN and LOCAL OUT.
mod leave;
mod local;
// The MANGLE, RAW and FILTER boxes, copies.
mod mangle;
mod rules;
mod sniff;
// What becomes due between packets.
mod port_queue;
pub(crate) mod timers;
// The CONNECTION TRACKING and NAT boxes.
mod track;
mod translate;
// PPP: how calls begin, what is common, L2TP's tunnels, PPPoE's sessions, PPTP's calls, RADIUS; TCP.
mod call;
mod l2tp;
mod ppp;
mod pppoe;
pub(crate) mod pptp;
pub(crate) mod radius;
pub(crate) mod tcp;
// Into a tunnel's outer packet, and out of it; encrypted; with labels.
mod ipsec;
mod mpls;
mod tunnel;
mod wireguard;
// Which interfaces have found out by themselves that they run.
mod up;
// What is IPv6's own.
pub(crate) mod v6;
// Virtual routers, and what they tell each other of connections.
mod vrrp;
mod vrrp_sync;
// The queues' boxes.
mod wait;

use crate::discard::Discard;
use crate::fast;
use crate::firewall::{filter::FilterChain, mangle::MangleChain, mark::Mark, raw::RawChain};
use crate::interface::InterfaceId;
use crate::interface::bridge::{Decision, filter::Chain, hosts, vlan::Class};
use crate::interface::ingress::{Arrival, Learns};
use crate::interface::priority;
use crate::ip::fib::NextHopId;
use crate::ip::neighbour::{Labels, Waiting};
use crate::ip::{accounting, dhcp, discovery, hotspot};
use crate::packet::Packet;
use crate::program::{BridgeAt, Kind};
use crate::queue::Path;
use crate::router::Router;
use crate::step::Step;
use crate::story::Event;
use bridge_out::bridge_out;
use checks::{count_bridged, reason};
use family::{Fate, Passes, queues, whither};
pub(crate) use leave::to_neighbour;
use leave::{Onward, in_pieces, in_segments, ip_total_len};
use local::{arp_in, bpdu_in};
pub(crate) use local::{local_out, local_out_by, refuse, reset};
use mangle::{mangle, raw};
use port::Frame;
use rules::{bridge_accepts, bridge_nat};
use track::{confirm, fasttracked, reassemble, track};
use translate::{dst_nat, settle, src_nat};
use wire::layers::{self, ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Malformed};
use wire::{Layers, Moment};

pub(crate) use checks::{is_martian_source, is_own_source};
pub(crate) use gateway::adopt as adopt_gateways;
pub(crate) use leave::{Hop, Leaving, Unkept};
use wait::Arriving;
pub(crate) use wait::{Cost, Resume, queue};
pub(crate) use {
    l2tp::plain_data, mpls::limit_ttl, ppp::end_sessions, tunnel::MOST as MOST_TUNNELS,
};
pub(crate) use {mangle::traffic_class, port_queue::send_by_queue, up::look, vrrp::resign};

/// The slow path: what it may look at is counted before, and what it may change is taken for granted no more.
pub(crate) fn enter(r: &mut Router, now: Moment, port: InterfaceId, frame: Frame) {
    fast::end_run(r);
    physical_in(r, now, port, frame);
    fast::end_run(r);
}

/// PHYSICAL IN-INTERFACE: a frame has come in by a port; or out of a tunnel, by a recipe.
fn physical_in(r: &mut Router, now: Moment, port: InterfaceId, frame: Frame) {
    r.at(Step::PhysicalIn);
    let interface = r.program.interface(port);
    let (running, fast) = (interface.running, interface.fast_rx);
    if tunnel::is_one(interface.kind) {
        return tunnel::inside_again(r, now, port, frame);
    }
    if !running {
        return r.discard_frame(frame, Discard::InterfaceDown);
    }
    let mut malformed = None;
    let layers = match layers::network(r.io.slab.bytes(&frame)) {
        Ok(layers) => layers,
        Err(Malformed::Ethernet) => {
            r.stats.troubles.entry(port).or_default().rx_error += 1;
            return r.discard_frame(frame, Discard::MalformedEthernet);
        }
        // A bridge need not understand what it forwards; the router itself must.
        Err(other) => {
            malformed = Some(other);
            Layers::default()
        }
    };
    let ingress_priority = priority::of(r.io.slab.bytes(&frame));
    let arrival = Arrival::of(port, r.io.slab.bytes(&frame)).map(|(arrival, _)| arrival);
    let mut p = r.packet(frame, layers, port);
    (p.fast, p.malformed) = (fast, malformed);
    (p.arrival, p.arrived_len) = (arrival, p.frame.len() as u16);
    p.ingress_priority = ingress_priority;
    if r.src_mac(&p).is_multicast() {
        return r.discard(p, Discard::BadSourceMac);
    }
    link_in(r, now, p, port)
}

/// DECAPSULATION of links: up from an interface to the VLAN, bridge or upper layer that takes it.
fn link_in(r: &mut Router, now: Moment, mut p: Packet, interface: InterfaceId) {
    p.in_interface = interface;
    p.ingress = r.enter(&p, interface);
    let Some(p) = discovery::link_in(r, now, p) else { return };
    if let Some(bond) = r.program.interface(interface).bond {
        return bonding::bond_in(r, now, p, bond);
    }
    if let Some(vlan) = r.vlan_of(&p, interface) {
        return vlan_in(r, now, p, vlan);
    }
    if let Some(bridge) = r.program.interface(interface).bridge {
        return bridging(r, now, p, bridge);
    }
    let dst = r.dst_mac(&p);
    if dst != r.program.interface(interface).mac && !dst.is_multicast() {
        return match r.program.alias(interface, dst) {
            Some(alias) => vrrp::alias_in(r, now, p, alias),
            None => r.discard(p, Discard::OtherHost),
        };
    }
    to_router(r, now, p)
}

/// Takes the tag off, for the VLAN interface it names.
fn vlan_in(r: &mut Router, now: Moment, mut p: Packet, vlan: InterfaceId) {
    if !r.program.runs(vlan) {
        return r.discard(p, Discard::InterfaceDown);
    }
    if p.frame.has_offload() {
        // Whoever made a super-frame measured it with its tag.
        return r.finish_in(p, |r, p| vlan_in(r, now, p, vlan));
    }
    r.at(Step::Decapsulation);
    // A bridge that filters VLANs has taken it off already.
    if p.class.take().is_none() {
        r.pop_tag(&mut p);
    }
    r.tell(|| Event::Vlan(vlan));
    r.count_in(&p, vlan);
    link_in(r, now, p, vlan)
}

/// BRIDGING (box A): a frame has come in by a port of a bridge.
fn bridging(r: &mut Router, now: Moment, mut p: Packet, at: BridgeAt) {
    let from = p.in_interface;
    if p.in_bridge_port.is_some() {
        p.arrival = None; // the second bridge: too much to remember
    }
    (p.in_bridge_port, p.in_interface) = (from, r.program.bridge(at).interface);
    r.at(Step::BridgeDstNat);
    let Some(mut p) = bridge_nat(r, now, Chain::DstNat, p) else { return };
    r.at(Step::BridgingDecision);
    let program = r.program.clone();
    let bridge = program.bridge(at);
    let (src, dst) = (r.src_mac(&p), r.dst_mac(&p));
    p.class = None;
    if bridge.spanning.is_some() && dst == wire::bpdu::GROUP {
        let Some(other) = bpdu_in(r, now, at, p) else { return };
        p = other;
    }
    if let Some(vlans) = &bridge.filtering {
        match vlans.classify(bridge.place(from), r.io.slab.bytes(&p.frame)) {
            Ok(class) => p.class = Some(class),
            Err(why) => return r.discard(p, why),
        }
    }
    let vid = p.class.map_or(0, |class| class.tci.id());
    p.learns = None;
    let hosts = &r.link.hosts[at.index()];
    let open = hosts.is_open(from);
    if bridge.port(from).is_some_and(|port| port.learn) && hosts.learns_at(from) {
        let host = hosts::key(vid, src.to_u64());
        r.link.hosts[at.index()].learn(host, from, now.as_millis_u32());
        p.learns = Some(Learns { port: from, vid });
    }
    if !open {
        return r.discard(p, Discard::PortClosed);
    }
    let for_routers = bridge.snooping.is_some() && dst.is_multicast() && {
        let frame = r.io.slab.bytes(&p.frame);
        r.link.hosts[at.index()].groups.hear(now, bridge, from, vid, frame)
    };
    let hosts = &r.link.hosts[at.index()];
    let decision = match (for_routers, hosts.groups.routers()) {
        (true, Some(ports)) => Decision::Flood { ports, local: true },
        (true, None) => bridge.group(from, dst, None),
        (false, _) => bridge.decide(from, dst, vid, hosts),
    };
    match decision {
        Decision::Local => {
            r.tell(|| Event::Bridged { ports: Vec::new(), local: true });
            bridge_input(r, now, p, at)
        }
        Decision::Port(port) => {
            r.tell(|| Event::Bridged { ports: vec![port], local: false });
            count_bridged(r, &p);
            bridge_forward(r, now, p, at, port)
        }
        Decision::Discard(why) => r.discard(p, why),
        Decision::Flood { ports, local } => {
            let mut targets = std::mem::take(&mut r.io.targets);
            let hosts = &r.link.hosts[at.index()];
            let gets = |&&to: &&InterfaceId| {
                bridge.may_flood(from, to) && bridge.admits(to, vid) && hosts.is_open(to)
            };
            targets.extend(ports.iter().filter(gets));
            let local = local && bridge.admits(bridge.interface, vid);
            r.tell(|| Event::Bridged { ports: targets.clone(), local });
            let last = if local { None } else { targets.pop() };
            if local || last.is_some() {
                count_bridged(r, &p);
            }
            for port in targets.drain(..) {
                if let Some(copy) = r.copy(&p) {
                    bridge_forward(r, now, copy, at, port);
                }
            }
            r.io.targets = targets;
            match last {
                Some(port) => bridge_forward(r, now, p, at, port),
                None if local => bridge_input(r, now, p, at),
                None if bridge.filtering.is_some() => r.discard(p, Discard::VlanFiltered),
                None => r.discard(p, Discard::PortClosed),
            }
        }
    }
}

/// Bridge filter FORWARD, for one port.
fn bridge_forward(r: &mut Router, now: Moment, mut p: Packet, at: BridgeAt, to: InterfaceId) {
    (p.out_interface, p.out_port) = (p.in_interface, to);
    r.at(Step::BridgeForward);
    r.tell(|| Event::To(to));
    if !bridge_accepts(r, now, Chain::Forward, &mut p) {
        return r.discard(p, Discard::BridgeFilterDrop);
    }
    if bridged::is_seen(r, &p) {
        return bridged::pass(r, now, p, to);
    }
    bridge_leave(r, now, p, at, to)
}

/// Bridge SRC-NAT, and out by one port.
fn bridge_leave(r: &mut Router, now: Moment, p: Packet, at: BridgeAt, to: InterfaceId) {
    r.at(Step::BridgeSrcNat);
    let Some(mut p) = bridge_nat(r, now, Chain::SrcNat, p) else { return };
    p.fast &= r.bridge_fast_path();
    if p.fast {
        r.stats.paths.bridge_fast_path.add(p.frame.len() as u64);
    }
    bridge_out(r, now, p, at, to)
}

/// Bridge filter INPUT: the frame is for the router, which sees it come in by the bridge (box B).
fn bridge_input(r: &mut Router, now: Moment, mut p: Packet, at: BridgeAt) {
    r.at(Step::BridgeInput);
    if !bridge_accepts(r, now, Chain::Input, &mut p) {
        return r.discard(p, Discard::BridgeFilterDrop);
    }
    p.trace.clear();
    p.fast &= r.bridge_fast_path();
    let bridge = r.program.bridge(at).interface;
    if let Some(class) = p.class {
        if class.tagged && p.frame.has_offload() {
            return r.finish_in(p, |r, p| bridge_input(r, now, p, at));
        }
        if class.tagged {
            r.pop_tag(&mut p);
        }
        let vlans = r.program.bridge(at).filtering.as_ref();
        let tagged = vlans.is_some_and(|vlans| vlans.own().is_tagged(class.tci.id()));
        p.class = Some(Class { tagged: false, ..class }).filter(|_| tagged);
    }
    r.count_in(&p, bridge);
    p.ingress = r.enter(&p, bridge);
    if let Some(vlan) = r.vlan_of(&p, bridge) {
        return vlan_in(r, now, p, vlan);
    }
    if p.class.is_some() {
        return r.discard(p, Discard::UnknownVlan);
    }
    if let Some(alias) = r.program.alias(bridge, r.dst_mac(&p)) {
        return vrrp::alias_in(r, now, p, alias);
    }
    to_router(r, now, p)
}

/// Box C: a frame of the router's own, or routed, leaves by a bridge.
fn bridge_output(r: &mut Router, now: Moment, at: BridgeAt, frame: Frame, fast: bool) {
    r.at(Step::BridgingDecision);
    let layers = layers::network(r.io.slab.bytes(&frame)).unwrap_or_default();
    let mut p = r.packet(frame, layers, InterfaceId::NONE);
    let program = r.program.clone();
    let bridge = program.bridge(at);
    (p.out_interface, p.fast) = (bridge.interface, fast);
    if let Some(vlans) = &bridge.filtering {
        match vlans.classify(usize::MAX, r.io.slab.bytes(&p.frame)) {
            Ok(class) => p.class = Some(class),
            Err(why) => return r.discard(p, why),
        }
    }
    let vid = p.class.map_or(0, |class| class.tci.id());
    let dst = r.dst_mac(&p);
    let mut targets = std::mem::take(&mut r.io.targets);
    match bridge.decide(p.out_interface, dst, vid, &r.link.hosts[at.index()]) {
        Decision::Port(port) => targets.push(port),
        Decision::Flood { ports, .. } => {
            let hosts = &r.link.hosts[at.index()];
            let gets = |&&to: &&InterfaceId| bridge.admits(to, vid) && hosts.is_open(to);
            targets.extend(ports.iter().filter(gets));
        }
        Decision::Local | Decision::Discard(_) => {}
    }
    r.tell(|| Event::Bridged { ports: targets.clone(), local: false });
    let last = targets.pop();
    for port in targets.drain(..) {
        if let Some(copy) = r.copy(&p) {
            bridge_output_by(r, now, copy, at, port);
        }
    }
    r.io.targets = targets;
    match last {
        Some(port) => {
            r.count_out(p.out_interface, p.frame.len(), fast);
            bridge_output_by(r, now, p, at, port)
        }
        None => r.discard(p, Discard::NoBridgePort),
    }
}

/// Bridge filter OUTPUT, and out by one port.
fn bridge_output_by(r: &mut Router, now: Moment, mut p: Packet, at: BridgeAt, to: InterfaceId) {
    p.out_port = to;
    r.at(Step::BridgeOutput);
    r.tell(|| Event::To(to));
    if !bridge_accepts(r, now, Chain::Output, &mut p) {
        return r.discard(p, Discard::BridgeFilterDrop);
    }
    r.at(Step::BridgeSrcNat);
    let Some(p) = bridge_nat(r, now, Chain::SrcNat, p) else { return };
    bridge_out(r, now, p, at, to)
}

/// Boxes B, F, J's head: a frame for the router's own upper layers.
fn to_router(r: &mut Router, now: Moment, mut p: Packet) {
    r.at(Step::MplsDecision);
    if let Some(malformed) = p.malformed {
        return r.discard(p, reason(malformed));
    }
    if p.layers.vlan.is_some() && priority::take_off(&r.io.slab, &mut p.frame) {
        if p.port == p.in_interface {
            p.arrival = Some(Arrival::untagged(p.port));
        }
        match layers::network(r.io.slab.bytes(&p.frame)) {
            Ok(layers) => p.layers = layers,
            Err(malformed) => return r.discard(p, reason(malformed)),
        }
    }
    let Some(p) = pppoe::receive(r, now, p) else { return };
    r.learn_ingress(&p);
    let Some(p) = mpls::receive(r, now, p) else { return };
    match p.layers.ether_type {
        ETHERTYPE_IPV4 if p.layers.vlan.is_none() => {
            // A DHCP client hears what is said to it beside IP: it has no address yet.
            let Some(p) = dhcp::client::receive(r, now, p) else { return };
            routing::<u32>(r, now, p)
        }
        ETHERTYPE_IPV6 if p.layers.vlan.is_none() => routing::<u128>(r, now, p),
        ETHERTYPE_ARP if p.layers.vlan.is_none() => arp_in(r, now, p),
        _ if p.layers.vlan.is_some() => {
            let tags = (p.layers.l3 - 14) / 4;
            let why = if tags > 2 { Discard::TooManyTags } else { Discard::UnknownVlan };
            r.discard(p, why)
        }
        _ => r.discard(p, Discard::UnknownProtocol),
    }
}

/// ROUTING (box I): PREROUTING and the routing decision.
fn routing<F: Passes>(r: &mut Router, now: Moment, p: Packet) {
    let Some(p) = F::come(r, now, p) else { return };
    r.at(Step::HotspotIn);
    let Some(mut p) = hotspot::come::<F>(r, now, p) else { return };
    if let Some(flow) = fasttracked::<F>(r, &p) {
        (p.flow, p.fasttrack) = (Some(flow), true);
    } else {
        r.at(Step::RawPrerouting);
        if !raw::<F>(r, now, RawChain::Prerouting, &mut p) {
            return r.discard(p, Discard::RawDrop);
        }
    }
    r.at(Step::TrackPrerouting);
    let Some(mut p) = track::<F>(r, now, p) else { return };
    if !p.fasttrack {
        r.at(Step::ManglePrerouting);
        mangle::<F>(r, now, MangleChain::Prerouting, &mut p);
    }
    r.at(Step::DstNat);
    if let Err(why) = dst_nat::<F>(r, now, &mut p) {
        return r.discard(p, why);
    }
    routed::<F>(r, now, p)
}

/// The routing decision.
fn routed<F: Passes>(r: &mut Router, now: Moment, p: Packet) {
    if ipsec::is_in_the_clear(r, &p) {
        return r.discard(p, Discard::NotEncrypted);
    }
    r.at(Step::RoutingDecision);
    match F::beside_tables(r, &p).unwrap_or_else(|| whither::<F>(r, &p)) {
        Fate::Here => input::<F>(r, now, p),
        Fate::On(leaf) => forward::<F>(r, now, p, leaf),
        Fate::Dropped(why) => r.discard(p, why),
        Fate::Refused(why, error) => F::refuse(r, now, p, why, error),
    }
}

/// FORWARD: the packet is for somebody else.
fn forward<F: Passes>(r: &mut Router, now: Moment, mut p: Packet, leaf: NextHopId) {
    let hop = F::next_hop(r, leaf, &p);
    p.out_interface = hop.interface;
    r.tell(|| Event::NextHop(hop.into()));
    p.fast &= F::fast_path(r) || p.fasttrack;
    r.at(Step::Ttl);
    if !F::decrement_ttl(r, &mut p) {
        return F::refuse(r, now, p, Discard::TtlExceeded, F::TTL_EXCEEDED);
    }
    if let Some((why, error)) = F::stops(r, now, &p, hop) {
        return F::refuse(r, now, p, why, error);
    }
    if !p.fasttrack {
        r.at(Step::MangleForward);
        if F::ETHERTYPE == ETHERTYPE_IPV4 {
            pppoe::change_mss(r, &mut p);
        }
        mangle::<F>(r, now, MangleChain::Forward, &mut p);
        r.at(Step::FilterForward);
        let Some(passed) = F::filter(r, now, FilterChain::Forward, p) else { return };
        p = passed;
        r.at(Step::Accounting);
        accounting::count::<F>(r, &mut p);
    }
    postrouting::<F>(r, now, p, hop)
}

/// INPUT: the packet is for the router itself.
fn input<F: Passes>(r: &mut Router, now: Moment, p: Packet) {
    // RFC 1122 §3.3.2, RFC 8200 §4.5: whom it is for reassembles, whether or not connections are tracked.
    let whole = if p.layers.fragment { reassemble::<F>(r, now, p) } else { Some(p) };
    let Some(mut p) = whole else { return };
    p.fast = false;
    r.at(Step::MangleInput);
    mangle::<F>(r, now, MangleChain::Input, &mut p);
    r.at(Step::FilterInput);
    let Some(p) = F::filter(r, now, FilterChain::Input, p) else { return };
    r.at(Step::HtbGlobalInput);
    r.at(Step::SimpleQueuesInput);
    let tuple = F::tuple(&p);
    let queues = queues::<F>(r, now, &p, &tuple, InterfaceId::NONE);
    F::keep_inward(r, now, &p, queues);
    let cost = F::cost(r, &p, tuple, queues);
    wait::inward(r, now, Arriving { p, queues, cost })
}

/// LOCAL IN: the packet has passed its queues.
fn arrived<F: Passes>(r: &mut Router, now: Moment, mut p: Packet) {
    if let Err(why) = settle::<F>(r, &mut p).and_then(|()| confirm::<F>(r, now, &mut p)) {
        return r.discard(p, why);
    }
    r.at(Step::LocalIn);
    F::local_in(r, now, p)
}

/// OUTPUT: from the router itself.
pub(crate) fn output<F: Passes>(r: &mut Router, now: Moment, p: Packet) {
    r.at(Step::LocalOut);
    let Some(mut p) = F::begin(r, p) else { return };
    r.at(Step::RoutingDecision);
    let dst = F::tuple(&p).dst;
    let Some(mut way) = F::way_out(r, &p) else { return r.discard(p, Discard::NoRoute) };
    p.out_interface = way.interface();
    if let Onward::Out(hop) = way {
        r.tell(|| Event::NextHop(hop.into()));
    }
    r.at(Step::RawOutput);
    if !raw::<F>(r, now, RawChain::Output, &mut p) {
        return r.discard(p, Discard::RawDrop);
    }
    r.at(Step::TrackOutput);
    let Some(mut p) = track::<F>(r, now, p) else { return };
    // What answers a translated connection is translated back, and may go another way then.
    if let Err(why) = dst_nat::<F>(r, now, &mut p) {
        return r.discard(p, why);
    }
    if F::tuple(&p).dst != dst {
        match F::way_out(r, &p) {
            Some(other) => way = other,
            None => return r.discard(p, Discard::NoRoute),
        }
    }
    p.out_interface = way.interface();
    r.at(Step::MangleOutput);
    mangle::<F>(r, now, MangleChain::Output, &mut p);
    r.at(Step::FilterOutput);
    let Some(mut p) = F::filter(r, now, FilterChain::Output, p) else { return };
    r.at(Step::RoutingAdjustment);
    if p.marks.routing != Mark::NONE {
        match F::way_out(r, &p) {
            Some(other) => way = other,
            None => return r.discard(p, Discard::NoRoute),
        }
        p.out_interface = way.interface();
    }
    match way {
        Onward::Out(hop) => postrouting::<F>(r, now, p, hop),
        Onward::Here => input::<F>(r, now, p),
    }
}

/// POSTROUTING: the packet leaves by IP.
fn postrouting<F: Passes>(r: &mut Router, now: Moment, mut p: Packet, hop: Hop<F>) {
    if !p.fasttrack {
        r.at(Step::ManglePostrouting);
        mangle::<F>(r, now, MangleChain::Postrouting, &mut p);
    }
    // Simple queues know a client by its own address: the one before src-nat.
    let tuple = F::tuple(&p);
    r.at(Step::SrcNat);
    if let Err(why) = src_nat::<F>(r, now, &mut p) {
        return r.discard(p, why);
    }
    if let Err(why) = confirm::<F>(r, now, &mut p) {
        return r.discard(p, why);
    }
    let mut queues = Path::NONE;
    if !p.fasttrack {
        r.at(Step::HotspotOut);
        let Some(passed) = hotspot::go::<F>(r, p, tuple.dst) else { return };
        p = passed;
        r.at(Step::HtbGlobal);
        r.at(Step::SimpleQueues);
        queues = self::queues::<F>(r, now, &p, &tuple, p.out_interface);
    }
    r.at(Step::IpsecPolicy);
    let Some((mut p, encrypted)) = ipsec::meet(r, now, p) else { return };
    if !encrypted {
        F::keep(r, now, &mut p, hop, queues);
    }
    if p.fasttrack && p.fast {
        F::fasttrack(r).add(p.ip_len.into());
        r.count_fast_in(p.ingress, p.frame.len());
    }
    let cost = F::cost(r, &p, tuple, queues);
    let leaving = Leaving {
        frame: p.frame.take(),
        rest: std::mem::take(&mut p.rest).into_boxed_slice(),
        in_interface: p.in_interface,
        ingress: p.ingress,
        l3: p.layers.l3,
        fast: p.fast,
        fasttrack: p.fasttrack,
        encrypted,
        depth: r.link.depth,
        hop,
        queues,
        mark: p.marks.packet,
    };
    // What is left of it is memory.
    let _ = r.recycle(p);
    wait::out(r, now, leaving, cost)
}

/// Box L: to the neighbour, in pieces if the packet is too long for the way.
pub(crate) fn ip_out(r: &mut Router, now: Moment, leaving: Leaving) {
    if leaving.encrypted {
        return ipsec::encrypt(r, now, leaving);
    }
    r.at(Step::MplsOutput);
    let Leaving { frame, rest, in_interface, ingress, l3, fast, .. } = leaving;
    let Leaving { fasttrack, depth, hop, mark, .. } = leaving;
    let mtu = usize::from(r.program.mtu(hop));
    let labels = hop.label.map_or(Labels::None, Labels::Push);
    for frame in std::iter::once(frame).chain(rest.into_iter().map(|piece| piece.frame)) {
        let len = r.segment_len(&frame);
        let len = len.unwrap_or_else(|| ip_total_len(r.io.slab.bytes(&frame), l3));
        let waiting =
            Waiting { frame, in_interface, ingress, l3, fast, fasttrack, depth, mark, labels };
        let is_cut = labels == Labels::None || !waiting.frame.has_offload();
        if mtu >= len && is_cut {
            to_neighbour(r, now, hop, waiting);
        } else if waiting.frame.has_offload() {
            in_segments(r, now, hop, waiting);
        } else {
            in_pieces(r, now, hop, Waiting { fast: false, ..waiting }, mtu);
        }
    }
}

/// ENCAPSULATION of links, one interface down; bridging output on the way (boxes H, C, D).
pub(crate) fn link_below(
    r: &mut Router,
    now: Moment,
    interface: InterfaceId,
    mut frame: Frame,
    fast: bool,
) {
    match r.program.interface(interface).kind {
        Kind::Ethernet { .. } => physical_out(r, interface, frame, fast),
        Kind::Absent => r.discard_frame(frame, Discard::InterfaceDown),
        Kind::Bridge(bridge) => bridge_output(r, now, bridge, frame, fast),
        Kind::Vlan { .. } if !r.program.runs(interface) => {
            r.discard_frame(frame, Discard::InterfaceDown)
        }
        Kind::Vlan { on, tag } => {
            r.at(Step::Encapsulation);
            if frame.has_offload() {
                return r.finish_out(frame, |r, frame| link_below(r, now, interface, frame, fast));
            }
            r.count_out(interface, frame.len(), fast);
            if !r.push_tag(&mut frame, tag) {
                return r.discard_frame(frame, Discard::NoFrame);
            }
            link_out(r, now, on, frame, fast)
        }
        Kind::Bond(at) => bonding::bond_out(r, now, at, frame, fast),
        Kind::Vrrp { on } => vrrp::vrrp_out(r, now, interface, on, frame, fast),
        Kind::Session(at) => pppoe::session_out(r, now, interface, at, frame, fast),
        Kind::Tunnel { at, .. } => tunnel::encapsulate(r, now, interface, at, frame, fast),
        Kind::Wireguard(at) => wireguard::encrypt(r, now, interface, at, frame),
    }
}

/// The way down from an interface to the port: through each one's HTB, before its ENCAPSULATION.
pub(crate) fn link_out(r: &mut Router, now: Moment, from: InterfaceId, frame: Frame, fast: bool) {
    if !r.program.is_shaped_above(from) {
        return link_below(r, now, from, frame, fast);
    }
    r.at(Step::InterfaceHtb);
    r.interface_htb(from, frame, fast)
}

/// PHYSICAL OUT-INTERFACE.
fn physical_out(r: &mut Router, interface: InterfaceId, frame: Frame, fast: bool) {
    r.at(Step::InterfaceHtb);
    r.at(Step::PhysicalOut);
    if r.is_port(interface) {
        r.tell(|| Event::Sent(interface));
    }
    match frame.has_offload() {
        true => r.transmit_unfinished(interface, frame, fast),
        false => r.transmit(interface, frame, fast),
    }
    r.tools.profiler.go_home();
}
