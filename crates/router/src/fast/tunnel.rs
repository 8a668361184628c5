//! Tunnels by recipes: the outer packet's is replayed, and what is inside goes its own way.
//!
//! ```text
//! in    outer flow: recipe that ends here ─► counted, taken off ─► receive(), as if a port had brought it
//! out   rewrite of the inner packet: the tunnel ─► flow::tunnel::encapsulate ─► outer flow: recipe ─► port
//! ```
//!
//! A tunnel's outer packets are a flow in either direction, with counters, a connection and a way of its
//! own like any other; so they have recipes like any other, and tunnels may lie in each other. Frames keep
//! their order: what came before is done before a tunnel is opened. What comes in a row by one tunnel is a
//! batch of its own: one by one, what a batch costs was most of what a packet did.
//!
//! Never decides whose a packet is: that is `flow::tunnel`. Missing: **outer packets that come by a
//! bridge, wait in queues on their way in or have their destination translated, and IPv6 into a 6to4 tunnel to
//! everybody** (box by box).

use super::common::{self, Came};
use super::passed::Passed;
use super::revalidate::revalidate;
use super::run::{Known, Run};
use super::{end_run, ipv4, pass, put_header, receive as receive_inside};
use crate::firewall::connection::FlowId;
use crate::firewall::connection::flow::{Kept, flow_flag};
use crate::flow::pptp::{hear, plain_call};
use crate::flow::{self, Cost, Leaving, MOST_TUNNELS, Resume, is_martian_source, plain_data};
use crate::interface::InterfaceId;
use crate::interface::ingress::{Arrival, IngressId};
use crate::interface::tunnel::{Carries, Head, TunnelAt, six_to_four};
use crate::ip::neighbour::NeighbourId;
use crate::packet::ConnectionState;
use crate::program::{Interface, Kind};
use crate::queue::{Decision, Label};
use crate::router::Router;
use crate::tool::profile::Facility;
use port::{Batch, Frame, Slab};
use wire::gre::{self, Gre};
use wire::ipv6::header;
use wire::l2tp::PORT;
use wire::l2tp3::is_version_3;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, pptp_call, protocol};
use wire::{FiveTuple, MacAddr, Moment, TcpFlags, checksum};

/// Forwards a batch in which there may be tunnels' outer packets. They are opened where they lie: most
/// often the batch is of one tunnel, and what was inside goes on as a whole.
#[inline(never)]
pub(super) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    let protocols = Protocols::of(r);
    let interface = r.program.interface(port);
    if interface.running && interface.bridge.is_none() && r.program.is_stateless() {
        r.tools.profiler.settle_in(Facility::Networking);
        if ipv4::receive_unless_outer(r, now, port, protocols, batch) {
            return;
        }
    }
    if !protocols.may_be_in(&r.io.slab, batch.as_slice()) {
        return pass(r, now, port, batch);
    }
    let (mut known, mut passed) = (Known::default(), Passed::default());
    let mut part = r.io.spare.pop().unwrap_or_default();
    // What the first `n` frames are: what was inside a tunnel, or nothing to open.
    let (mut by, mut n) = (By::port(port), 0);
    loop {
        n += known.take(r, protocols, &mut by, &mut batch.as_mut_slice()[n..], &mut passed);
        let Some(frame) = batch.as_mut_slice().get_mut(n) else { break };
        let mut outer = Outer::read(r, port, protocols, &mut known, frame);
        if outer.is_some() && (!by.is_inside || by.is_new) && n > 0 {
            known.end(r, &mut passed);
            batch.split_to(std::mem::take(&mut n), &mut part);
            by.come_in(r, now, &mut part);
            outer = Outer::read(r, port, protocols, &mut known, &batch.as_slice()[0]);
        }
        let frame = &mut batch.as_mut_slice()[n];
        let opened = outer.and_then(|outer| open(r, now, outer, frame, &mut known, &mut passed));
        let came = match opened {
            Some((interface, is_new)) => {
                let may_be_nested = protocols.may_be(r.io.slab.bytes(frame));
                By { interface, is_inside: true, is_new, may_be_nested }
            }
            None => By::port(port),
        };
        if n > 0 && !came.is_as(by) {
            known.end(r, &mut passed);
            batch.split_to(std::mem::take(&mut n), &mut part);
            by.come_in(r, now, &mut part);
        }
        let may_be_nested = n > 0 && by.may_be_nested || came.may_be_nested;
        by = By { may_be_nested, ..came };
        n += 1;
    }
    known.end(r, &mut passed);
    by.come_in(r, now, batch);
    r.io.spare.push(part);
}

/// By which interface frames in a row come in.
#[derive(Clone, Copy)]
pub(super) struct By {
    interface: InterfaceId,
    /// From outer packets.
    is_inside: bool,
    /// From one to which nobody has answered yet: what is inside may be answered, and the next is another's then.
    is_new: bool,
    /// Some of them may be outer packets in their turn.
    pub(super) may_be_nested: bool,
}

impl By {
    fn port(interface: InterfaceId) -> By {
        By { interface, is_inside: false, is_new: false, may_be_nested: false }
    }

    fn is_as(self, other: By) -> bool {
        (self.interface, self.is_inside) == (other.interface, other.is_inside)
    }

    /// They come in together.
    fn come_in(self, r: &mut Router, now: Moment, frames: &mut Batch) {
        r.link.depth += u8::from(self.is_inside);
        if self.may_be_nested {
            receive_inside(r, now, self.interface, frames);
        } else {
            pass(r, now, self.interface, frames);
            end_run(r);
        }
        r.link.depth -= u8::from(self.is_inside);
    }
}

/// The IP protocols that outer packets have, by their lowest six bits.
#[derive(Clone, Copy)]
pub(super) struct Protocols(u64);

impl Protocols {
    fn of(r: &Router) -> Protocols {
        let tunnels = &r.program.tunnels;
        let udp = u64::from(r.program.has_l2tp() || tunnels.has(protocol::UDP)) << protocol::UDP;
        let l2tp = u64::from(tunnels.has(protocol::L2TP)) << (protocol::L2TP & 63);
        Protocols(1 << protocol::IPIP | 1 << protocol::IPV6 | 1 << protocol::GRE | udp | l2tp)
    }

    fn has(self, protocol: u8) -> bool {
        (protocol < 64 && protocol != protocol::AH || protocol == protocol::L2TP)
            && self.may_have(protocol)
    }

    /// The same without a look at the highest bits, of which few packets have any.
    #[inline(always)]
    fn may_have(self, protocol: u8) -> bool {
        self.0 >> (protocol & 63) & 1 != 0
    }

    /// Whether an IPv4 packet may be an outer one.
    #[inline(always)]
    pub(super) fn may_be_packet(self, ip: &[u8; 24]) -> bool {
        self.may_have(ip[9]) && (ip[9] != protocol::UDP || ip[22..] == PORT.to_be_bytes())
    }

    /// Whether a frame may be one. Most often it is none, and this says so; only untagged frames are looked at
    /// closely.
    #[inline(always)]
    pub(super) fn may_be(self, frame: &[u8]) -> bool {
        let Some([a, b, ip @ ..]) = frame.get(12..).and_then(|head| head.first_chunk::<26>())
        else {
            return false; // there is nothing in it
        };
        match u16::from_be_bytes([*a, *b]) {
            ETHERTYPE_IPV4 => self.may_be_packet(ip),
            ether_type => ether_type != ETHERTYPE_IPV6,
        }
    }

    /// Whether there is one among frames.
    #[inline]
    fn may_be_in(self, slab: &Slab, frames: &[Frame]) -> bool {
        frames.iter().any(|frame| self.may_be(slab.bytes(frame)))
    }
}

/// A packet that may be a tunnel's outer one: its flow is known, and IPv4's header is plain.
#[derive(Clone, Copy)]
pub(super) struct Outer {
    pub(super) tuple: FiveTuple,
    pub(super) flow: FlowId,
    pub(super) came: Came,
}

impl Outer {
    /// Of a frame; `None` if there is nothing to open.
    fn read(
        r: &Router,
        port: InterfaceId,
        protocols: Protocols,
        known: &mut Known,
        frame: &Frame,
    ) -> Option<Outer> {
        let bytes = r.io.slab.bytes(frame);
        if frame.has_offload() || !protocols.may_be(bytes) {
            return None;
        }
        let (arrival, l3) = Arrival::of(port, bytes)?;
        let ip: &[u8; 20] = bytes.get(l3..)?.first_chunk()?;
        if !protocols.has(ip[9]) {
            return None;
        }
        let ports = match ip[9] {
            protocol::GRE => (0, call_of(bytes, l3)),
            protocol::UDP => {
                let ports: &[u8; 4] = bytes.get(l3 + 20..)?.first_chunk()?;
                let ports = [[ports[0], ports[1]], [ports[2], ports[3]]].map(u16::from_be_bytes);
                (ports[0], ports[1])
            }
            _ => (0, 0),
        };
        let carries = ip[9] != protocol::UDP || ports.1 == PORT;
        if !carries || ip[0] != 0x45 || u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0 {
            return None;
        }
        let by = match known.by {
            Some((same, by)) if same == arrival => by,
            _ => *r.learnt.ingresses.find(arrival)?,
        };
        known.by = Some((arrival, by));
        let came = Came::by(&by, l3);
        // What looks like an IPv4 header, behind the EtherType of something else, is none.
        if !bytes[l3 - 2..].starts_with(&common::before_ip(came.header())) {
            return None;
        }
        let word = |at: usize| u32::from_be_bytes([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
        let (src, dst) = (word(12), word(16));
        let is_for_it = bytes.starts_with(&by.mac.0) && bytes[6] & 1 == 0 && by.takes(bytes, l3);
        if !is_for_it
            || by.learns.is_some()
            || is_martian_source(src)
            || !checksum::ipv4_header_ok(ip)
        {
            return None;
        }
        let tuple = FiveTuple { src, dst, src_port: ports.0, dst_port: ports.1, protocol: ip[9] };
        let flow = match known.flow {
            Some((same, flow)) if same == tuple => flow,
            _ => r.v4.connections.flows().candidate(tuple.hash())?,
        };
        known.flow = Some((tuple, flow));
        Some(Outer { tuple, flow, came })
    }
}

/// Takes an outer packet off, as its flow's recipe says, and returns by which interface it comes in, and whether
/// nobody has answered on its flow yet; `None` if there is none that fits, or what is inside is for `flow::tunnel`
/// to look at.
#[inline]
fn open(
    r: &mut Router,
    now: Moment,
    outer: Outer,
    frame: &mut Frame,
    known: &mut Known,
    passed: &mut Passed,
) -> Option<(InterfaceId, bool)> {
    let (id, kept) = recipe_of(r, outer.flow, &outer.tuple)?;
    let recipe = r.learnt.recipes.get(kept.recipe())?;
    let bytes = r.io.slab.bytes(frame);
    let payload = Payload::read(r, &outer, recipe.way.tunnel, bytes)?;
    let Payload { interface, tunnel, len, ip_len, call, .. } = payload;
    let ip = &bytes[usize::from(outer.came.l3)..];
    let src_mac = MacAddr([bytes[6], bytes[7], bytes[8], bytes[9], bytes[10], bytes[11]]);
    let way = &recipe.way;
    let Interface { running, fast_rx, kind, .. } = *r.program.interface(interface);
    if !way.inward
        || way.ingress != outer.came.ingress
        || !way.guard.admits(ip_len, ip[8], ip[1], 0, src_mac)
        || !running
        || r.link.depth >= MOST_TUNNELS
    {
        return None;
    }
    // Untagged, and by no session.
    let begins_run = way.guard.admits_all() && outer.came.header() == common::UNTAGGED;
    // What has come before ends box by box.
    if call.is_some_and(|(call, number)| !hear(r, now, call, number)) {
        return None;
    }
    known.end_run(r);
    let arrived = frame.len();
    let flow = r.v4.connections.flow_mut(id);
    flow.count(ip_len, now.as_millis_u32());
    let is_new = flow.state() == ConnectionState::New;
    if let Some((recipe, _)) = r.learnt.recipes.get_mut(kept.recipe()) {
        recipe.count.add(ip_len.into());
    }
    let by_bridge = || !r.program.bridge_fast_path() && r.comes_by_bridge(outer.came.ingress);
    let fast = fast_rx && r.tools.closed.is_empty() && !by_bridge();
    passed.came(r, outer.came.ingress, arrived, fast);
    r.stats.paths.replayed += 1;
    if let Some(tunnel) = tunnel {
        r.heard_from(tunnel);
    }
    r.stats.interface_counts[interface.index()].rx.add(len as u64);
    let is_ethernet = matches!(kind, Kind::Tunnel { carries, .. } if carries.is_ethernet());
    if begins_run
        && !is_new
        && let Some((_, by)) = &known.by
    {
        let first = (Outer { flow: id, ..outer }, kept.recipe(), by.mac);
        known.run = Some(Run::new(r, first, &payload, fast, r.io.slab.bytes(frame)));
    }
    take_off(r, &payload, is_ethernet, frame);
    Some((interface, is_new))
}

/// What is left when the outer headers are taken off: a frame, or what looks like one.
#[inline(always)]
pub(super) fn take_off(r: &Router, payload: &Payload, is_ethernet: bool, frame: &mut Frame) {
    frame.truncate(payload.at + payload.len);
    if is_ethernet {
        return frame.pull(payload.at);
    }
    frame.pull(payload.at - 14);
    if let Some(head) = r.io.slab.bytes_mut(frame).first_chunk_mut::<14>() {
        let [a, b] = payload.ether_type.to_be_bytes();
        *head = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b];
    }
}

/// What stands for the destination port of a GRE packet: PPTP's call.
#[inline]
fn call_of(frame: &[u8], l3: usize) -> u16 {
    match frame.get(l3 + 20..) {
        // Most are none of these.
        Some(gre @ [_, _, 0x88, 0x0b, ..]) => pptp_call(gre).unwrap_or(0),
        _ => 0,
    }
}

/// The tuple's flow, which may be the candidate, and what it keeps, if that holds.
#[inline(always)]
fn recipe_of(r: &mut Router, candidate: FlowId, tuple: &FiveTuple) -> Option<(FlowId, Kept)> {
    let flows = r.v4.connections.flows();
    let id = match flows.is_of(candidate, tuple) {
        true => candidate,
        false => flows.find(tuple.hash(), tuple)?,
    };
    let flow = flows.flow(id);
    if flow.generation != r.learnt.recipes.generation() && !revalidate(r, id) {
        return None;
    }
    Some((id, r.v4.connections.flow(id).kept()))
}

/// What lies in an outer packet.
#[derive(Clone, Copy)]
pub(super) struct Payload {
    /// By which it comes in.
    pub(super) interface: InterfaceId,
    /// If it is none of L2TP's sessions, nor of PPTP's.
    pub(super) tunnel: Option<TunnelAt>,
    /// Of PPTP's: the call, and the packet's number.
    call: Option<(u16, u32)>,
    /// Where it begins.
    at: usize,
    pub(super) len: usize,
    /// The outer packet's length.
    pub(super) ip_len: u16,
    /// What it is, if it is no frame.
    ether_type: u16,
}

impl Payload {
    /// `None` if there is more to be looked at: keepalives, checksums and keys of GRE, the first segment of
    /// a connection whose MSS is clamped.
    #[inline]
    pub(super) fn read(
        r: &Router,
        outer: &Outer,
        likely: Option<TunnelAt>,
        bytes: &[u8],
    ) -> Option<Payload> {
        let l3 = usize::from(outer.came.l3);
        let ip_len = u16::from_be_bytes([bytes[l3 + 2], bytes[l3 + 3]]);
        let payload = bytes.get(l3 + 20..l3 + usize::from(ip_len))?;
        if outer.tuple.protocol == protocol::UDP && !payload.get(8..).is_some_and(is_version_3) {
            return Payload::of_l2tp(r, outer, payload, ip_len);
        }
        if let [_, _, 0x88, 0x0b, ..] = payload
            && outer.tuple.protocol == protocol::GRE
        {
            let (interface, begins, ether_type, call) = plain_call(r, outer.tuple.src, payload)?;
            let (at, len) = (l3 + 20 + begins, payload.len() - begins);
            let (tunnel, call) = (None, Some(call));
            return Some(Payload { interface, tunnel, at, len, ip_len, ether_type, call });
        }
        let (head, ether_type, skipped) = match payload {
            _ if outer.tuple.protocol == protocol::IPIP => (Head::Nothing, ETHERTYPE_IPV4, 0),
            _ if outer.tuple.protocol == protocol::IPV6 => (Head::Nothing, ETHERTYPE_IPV6, 0),
            _ if outer.tuple.protocol != protocol::GRE => {
                (Head::read(outer.tuple.protocol, payload)?, 0, 0)
            }
            [0, 0, 8, 0, ..] | [0, 0, 0x86, 0xdd, ..] => {
                let ether_type = u16::from_be_bytes([payload[2], payload[3]]);
                let gre = Gre::Packet { protocol: ether_type, key: None, at: gre::HEADER_LEN };
                (Head::Gre(gre), ether_type, gre::HEADER_LEN)
            }
            [0x20, 1, 0x64, 0, ..] => (Head::Gre(Gre::read(payload)?), 0, gre::EOIP_LEN),
            _ => return None,
        };
        let tunnels = &r.program.tunnels;
        let ends = (outer.tuple.src, outer.tuple.dst);
        let found = match likely {
            Some(likely) if tunnels.get(likely).is_of(outer.tuple.protocol, head) => likely,
            _ => tunnels.find(ends, outer.tuple.protocol, head)?,
        };
        let tunnel = tunnels.get(found);
        let (at, len) = match (head, &tunnel.l2tp) {
            (Head::Gre(Gre::Eoip { len, .. }), _) => (l3 + 20 + skipped, len),
            (_, Some(session)) => {
                let frame = session.frame_in(payload)?;
                let is_udp = outer.tuple.protocol == protocol::UDP;
                if is_udp && payload.get(6..8)? != [0, 0] && !udp_ok(ends, payload) {
                    return None;
                }
                (l3 + 20 + frame.start, frame.len())
            }
            _ => (l3 + 20 + skipped, payload.len() - skipped),
        };
        let carried = &bytes[at..at + len];
        let inner = match tunnel.carries {
            Carries::Eoip | Carries::L2tpEther => {
                let ether_type = carried.get(12..14)?;
                let may_begin6 = ether_type == [0x86, 0xdd] && begins_connection6(&carried[14..]);
                if carried[6] & 1 != 0 || tunnel.clamps_mss && may_begin6 {
                    return None;
                }
                if ether_type == [8, 0] { &carried[14..] } else { &[] }
            }
            Carries::SixToFour | Carries::Gre if ether_type == ETHERTYPE_IPV6 => {
                let is_plain = six_to_four::admit(tunnel, ends, carried).is_ok();
                // A keepalive is an echo.
                let may_be_asked = carried.get(6) == Some(&header::ICMPV6);
                if !is_plain || may_be_asked || tunnel.clamps_mss && begins_connection6(carried) {
                    return None;
                }
                &[]
            }
            Carries::SixToFour => return None,
            Carries::Ipip | Carries::Gre if carried.len() < 20 => return None,
            // It may be a question of the other end, which wants it back.
            Carries::Ipip | Carries::Gre if carried[9] == outer.tuple.protocol => return None,
            Carries::Ipip | Carries::Gre => carried,
        };
        if tunnel.clamps_mss && begins_connection(inner) {
            return None;
        }
        let (interface, tunnel) = (tunnel.interface, Some(found));
        Some(Payload { interface, tunnel, at, len, ip_len, ether_type, call: None })
    }

    /// The same of a datagram.
    #[inline]
    fn of_l2tp(r: &Router, outer: &Outer, payload: &[u8], ip_len: u16) -> Option<Payload> {
        let udp_len = usize::from(u16::from_be_bytes([*payload.get(4)?, *payload.get(5)?]));
        let udp = payload.get(..udp_len)?;
        let (src, dst) = (outer.tuple.src, outer.tuple.dst);
        if udp.get(6..8)? != [0, 0] && !udp_ok((src, dst), udp) {
            return None;
        }
        let (interface, begins, ether_type) = plain_data(r, src, udp)?;
        let at = usize::from(outer.came.l3) + 20 + begins;
        let len = udp.len() - begins;
        Some(Payload { interface, tunnel: None, at, len, ip_len, ether_type, call: None })
    }
}

/// Whether a datagram's checksum is right; behind what it says is its end there may be padding.
fn udp_ok((src, dst): (u32, u32), datagram: &[u8]) -> bool {
    let len = datagram.get(4..6).map_or(0, |len| u16::from_be_bytes([len[0], len[1]]));
    datagram.get(..len.into()).is_some_and(|datagram| checksum::udp_ok(src, dst, datagram))
}

/// Whether an IPv4 packet is a TCP segment with SYN, or may be.
#[inline]
pub(super) fn begins_connection(ip: &[u8]) -> bool {
    let &[first, .., protocol] = ip.first_chunk::<10>().unwrap_or(&[0; 10]);
    let flags = ip.get(usize::from(first & 15) * 4 + 13);
    protocol == protocol::TCP && flags.is_none_or(|&flags| flags & TcpFlags::SYN.0 != 0)
}

/// The same of an IPv6 packet: what is behind other headers may be.
#[inline]
fn begins_connection6(ip: &[u8]) -> bool {
    match ip.get(6) {
        Some(&protocol::TCP) => ip.get(53).is_none_or(|&flags| flags & TcpFlags::SYN.0 != 0),
        Some(&(protocol::UDP | header::ICMPV6 | header::NONE)) => false,
        _ => true,
    }
}

/// Sends an outer packet as the one before of its flow; gives it back if there is no recipe that fits.
/// The packet stands behind 14 bytes for the link's header.
#[inline]
pub(crate) fn send(r: &mut Router, now: Moment, mut frame: Frame, fast: bool) -> Result<(), Frame> {
    const L3: usize = 14;
    if r.reference() || r.is_told() {
        return Err(frame);
    }
    let Some(&ip) = r.io.slab.bytes(&frame).get(L3..).and_then(|ip| ip.first_chunk::<20>()) else {
        return Err(frame);
    };
    let word = |at: usize| u32::from_be_bytes([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
    let ip_len = u16::from_be_bytes([ip[2], ip[3]]);
    let (src, dst, tos) = (word(12), word(16), ip[1]);
    let (src_port, dst_port) = match r.io.slab.bytes(&frame).get(L3 + 20..) {
        Some(&[a, b, c, d, ..]) if ip[9] == protocol::UDP => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ if ip[9] == protocol::GRE => (0, call_of(r.io.slab.bytes(&frame), L3)),
        _ => (0, 0),
    };
    let tuple = FiveTuple { src, dst, src_port, dst_port, protocol: ip[9] };
    let Some(candidate) = r.v4.connections.flows().candidate(tuple.hash()) else {
        return Err(frame);
    };
    let Some((id, kept)) = recipe_of(r, candidate, &tuple) else { return Err(frame) };
    let flow = r.v4.connections.flow(id);
    let (flags, to, next_hop) = (flow.flags, flow.translated(), NeighbourId(flow.next_hop));
    if !r.v4.neighbours.rewrite(next_hop).is_fresh(&r.link.hosts) && !r.refresh(next_hop) {
        return Err(frame);
    }
    let mut queues = r.learnt.recipes.queues(kept);
    let Some((recipe, _)) = r.learnt.recipes.get_mut(kept.recipe()) else {
        return Err(frame);
    };
    let rewrite = &mut r.v4.neighbours.rewrites_mut()[next_hop.index()];
    let way = &recipe.way;
    let more = rewrite.len().saturating_sub(L3);
    if way.inward
        || way.ingress != IngressId::NONE
        || !way.guard.admits(ip_len, ip[8], tos, 0, MacAddr::default())
        || ip_len > rewrite.mtu
        || (flags & flow_flag::NAT != 0 && (tuple.protocol == protocol::UDP || dst_port != 0))
        || !r.io.slab.push(&mut frame, more)
    {
        return Err(frame);
    }
    let now_ms = now.as_millis_u32();
    r.v4.connections.flow_mut(id).count(ip_len, now_ms);
    recipe.count.add(ip_len.into());
    let l3 = L3 + more;
    let ip = &mut r.io.slab.bytes_mut(&mut frame)[l3..];
    if flags & flow_flag::NAT != 0 {
        translate(ip, &tuple, &to);
    }
    if way.edits.any {
        way.edits.write(ip);
    }
    let mark = way.marks.packet;
    r.stats.paths.replayed += 1;
    while let Some(leaf) = queues.first() {
        queues = queues.rest();
        let len = u32::from(ip_len) + 14;
        let decision = r.queues.offer(leaf, now, len);
        if decision == Decision::Pass {
            continue;
        }
        let hop = rewrite.hop();
        let tuple = r.v4.connections.flow(id).translate_destination(tuple);
        let cost = Cost { len, label: Label::v4(tuple, tos) };
        frame.pull(more);
        let leaving = Leaving {
            frame,
            rest: Box::default(),
            in_interface: InterfaceId::NONE,
            ingress: IngressId::NONE,
            l3: L3 as u16,
            fast,
            fasttrack: false,
            encrypted: false,
            depth: r.link.depth,
            hop,
            queues,
            mark,
        };
        flow::queue(r, now, leaf, decision, Resume::Out(leaving), cost);
        return Ok(());
    }
    put_header(&r.io.slab, &mut frame, l3, rewrite);
    let (port, egress, top) = (rewrite.port(), rewrite.egress, rewrite.interface());
    let left = frame.len() - rewrite.len();
    rewrite.used_ms = now_ms;
    if egress.has_layers() {
        let mut passed = Passed::default();
        passed.left(r, (egress, top), left, fast);
        passed.settle(r);
    }
    r.transmit_marked(port, frame, fast, mark);
    Ok(())
}

/// Gives an outer packet other addresses; it has no checksum of them but IP's.
#[inline(never)]
fn translate(ip: &mut [u8], old: &FiveTuple, new: &FiveTuple) {
    ip[12..16].copy_from_slice(&new.src.to_be_bytes());
    ip[16..20].copy_from_slice(&new.dst.to_be_bytes());
    let delta = checksum::Delta::default().u32(old.src, new.src).u32(old.dst, new.dst);
    if let Some(at) = ip[10..].first_chunk_mut() {
        *at = delta.apply(u16::from_be_bytes(*at)).to_be_bytes();
    }
}
