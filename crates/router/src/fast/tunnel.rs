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
use super::{pass, put_header, receive as receive_inside};
use crate::counter::Count;
use crate::firewall::connection::FlowId;
use crate::firewall::connection::flow::{Kept, flow_flag};
use crate::flow::pptp::{hear, plain_call};
use crate::flow::{
    self, Cost, Hop, Leaving, MOST_TUNNELS, Resume, is_martian_source, plain, plain_data,
};
use crate::interface::InterfaceId;
use crate::interface::ingress::{Arrival, Ingress, IngressId};
use crate::interface::tunnel::{Carries, Tunnel, TunnelAt, six_to_four};
use crate::ip::neighbour::NeighbourId;
use crate::program::{Interface, Kind};
use crate::queue::{Decision, Label};
use crate::router::Router;
use port::{Batch, Frame};
use wire::gre::{self, Gre};
use wire::ipv6::header;
use wire::l2tp::PORT;
use wire::layers::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, pptp_call, protocol};
use wire::{FiveTuple, MacAddr, Moment, TcpFlags, checksum};

/// Forwards a batch in which there may be tunnels' outer packets.
#[inline(never)]
pub(super) fn receive(r: &mut Router, now: Moment, port: InterfaceId, batch: &mut Batch) {
    let mut known = Known::default();
    if batch.as_slice().iter().all(|frame| Outer::read(r, port, &mut known, frame).is_none()) {
        return pass(r, now, port, batch);
    }
    let [mut others, mut inside] =
        [r.io.spare.pop(), r.io.spare.pop()].map(Option::unwrap_or_default);
    let mut passed = Passed::default();
    // By which interface what is inside comes in.
    let mut by = InterfaceId::NONE;
    for frame in batch.drain() {
        if let Some(payload) = known.again(r, &frame)
            && others.is_empty()
            && payload.interface == by
        {
            inside.push(known.take_off(r, payload, frame, &mut passed));
            continue;
        }
        let mut outer = Outer::read(r, port, &mut known, &frame);
        if outer.is_some() && !others.is_empty() {
            known.end(r, &mut passed);
            pass(r, now, port, &mut others);
            outer = Outer::read(r, port, &mut known, &frame);
        }
        let opened = match outer {
            Some(outer) => open(r, now, outer, frame, &mut known, &mut passed),
            None => Err(frame),
        };
        if !inside.is_empty() && opened.as_ref().map_or(true, |(interface, _)| *interface != by) {
            known.end(r, &mut passed);
            come_in(r, now, by, &mut inside);
        }
        match opened {
            Ok((interface, frame)) => {
                by = interface;
                inside.push(frame);
            }
            Err(frame) => others.push(frame),
        }
    }
    known.end(r, &mut passed);
    if !inside.is_empty() {
        come_in(r, now, by, &mut inside);
    }
    if !others.is_empty() {
        pass(r, now, port, &mut others);
    }
    r.io.spare.extend([others, inside]);
}

/// What was inside outer packets that came in a row comes in together.
fn come_in(r: &mut Router, now: Moment, by: InterfaceId, inside: &mut Batch) {
    r.link.depth += 1;
    receive_inside(r, now, by, inside);
    r.link.depth -= 1;
}

/// What the outer packet before came through, and its flow.
#[derive(Default)]
struct Known {
    by: Option<(Arrival, Ingress)>,
    flow: Option<(FiveTuple, FlowId)>,
    run: Option<Run>,
}

/// Outer packets of one tunnel, between which nothing has happened: what was asked of the first is not
/// asked again, and they are counted together.
struct Run {
    outer: Outer,
    recipe: u32,
    mac: MacAddr,
    interface: InterfaceId,
    /// `None` of an L2TP session.
    tunnel: Option<TunnelAt>,
    kind: RunKind,
    is_ethernet: bool,
    fast: bool,
    /// As outer packets, and as the tunnel counts them.
    came: Count,
    rx: Count,
}

impl Known {
    /// What lies in an outer packet that is as the one before.
    #[inline(always)]
    fn again(&self, r: &Router, frame: &Frame) -> Option<Payload> {
        let run = self.run.as_ref()?;
        let bytes = r.io.slab.bytes(frame);
        let head: &[u8; 34] = bytes.first_chunk()?;
        let ip: &[u8; 20] = head[14..].first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
        let FiveTuple { src, dst, protocol, .. } = run.outer.tuple;
        let is_alike = head[..6] == run.mac.0
            && head[6] & 1 == 0
            && head[12..15] == [8, 0, 0x45]
            && u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff == 0
            && (ip[9], word(12), word(16)) == (protocol, src, dst)
            && !frame.has_offload()
            && checksum::ipv4_header_ok(ip);
        if !is_alike {
            return None;
        }
        let ip_len = u16::from_be_bytes([ip[2], ip[3]]);
        if let Some((at, ether_type)) = run.kind.begins(bytes, ip_len) {
            let (interface, tunnel, call) = (run.interface, run.tunnel, None);
            let len = 14 + usize::from(ip_len) - at;
            return Some(Payload { interface, tunnel, at, len, ip_len, ether_type, call });
        }
        let payload = Payload::read(r, &run.outer, Some(run.tunnel?), bytes)?;
        (payload.tunnel == run.tunnel).then_some(payload)
    }

    /// Takes off what is around it.
    #[inline(always)]
    fn take_off(
        &mut self,
        r: &mut Router,
        payload: Payload,
        frame: Frame,
        passed: &mut Passed,
    ) -> Frame {
        let Some(run) = &mut self.run else { return frame };
        run.came.add(payload.ip_len.into());
        run.rx.add(payload.len as u64);
        passed.came(r, run.outer.came.ingress, frame.len(), run.fast);
        take_off(r, &payload, run.is_ethernet, frame)
    }

    /// Ends the run, and counts all there was; nothing is known any more.
    fn end(&mut self, r: &mut Router, passed: &mut Passed) {
        passed.settle(r);
        self.end_run(r);
        *self = Known::default();
    }

    fn end_run(&mut self, r: &mut Router) {
        let Some(run) = self.run.take() else { return };
        let flow = r.v4.connections.flow_mut(run.outer.flow);
        (flow.packets, flow.bytes) = (flow.packets + run.came.packets, flow.bytes + run.came.bytes);
        if let Some((recipe, _)) = r.learnt.recipes.get_mut(run.recipe) {
            recipe.count.merge(run.came);
        }
        r.stats.paths.replayed += run.came.packets;
        r.stats.interface_counts[run.interface.index()].rx.merge(run.rx);
    }
}

/// How packets of a run are read most often, where there is nothing more to be looked at.
#[derive(Clone, Copy)]
enum RunKind {
    /// IPv4 in IPv4, in GRE, or in EoIP's frames, whose GRE header ends with a number. `syn`: the first
    /// segments of connections are for somebody else to look at.
    Ipip {
        syn: bool,
    },
    Gre {
        syn: bool,
    },
    Eoip {
        syn: bool,
        id: [u8; 2],
    },
    /// The ports, and how L2TP's header begins: without numbers or a length of its own.
    L2tp([u8; 4], [u8; 6]),
    /// In no such way.
    Other,
}

impl RunKind {
    /// How packets are read of a tunnel that this one has come by.
    fn of(tunnel: Option<&Tunnel>, protocol: u8, frame: &[u8]) -> RunKind {
        let Some(tunnel) = tunnel else {
            let head = frame.get(34..).and_then(|rest| rest.first_chunk());
            return match head {
                Some(&[a, b, c, d, _, _, _, _, 0, 2, e, f, g, h]) if protocol == protocol::UDP => {
                    RunKind::L2tp([a, b, c, d], [0, 2, e, f, g, h])
                }
                _ => RunKind::Other,
            };
        };
        let syn = tunnel.clamps_mss;
        match tunnel.carries {
            Carries::Ipip => RunKind::Ipip { syn },
            Carries::Gre => RunKind::Gre { syn },
            Carries::Eoip => RunKind::Eoip { syn, id: tunnel.id.to_le_bytes() },
            Carries::SixToFour => RunKind::Other,
        }
    }

    /// Where what is carried begins, and its EtherType; `None` to look closer.
    #[inline(always)]
    fn begins(&self, frame: &[u8], ip_len: u16) -> Option<(usize, u16)> {
        let payload = frame.get(34..14 + usize::from(ip_len))?;
        let (at, syn, is_plain) = match *self {
            RunKind::Ipip { syn } => (0, syn, *payload.get(9)? != protocol::IPIP),
            RunKind::Gre { syn } => {
                let head: &[u8; 14] = payload.first_chunk()?;
                (4, syn, head[..4] == [0, 0, 8, 0] && head[13] != protocol::GRE)
            }
            RunKind::Eoip { syn, id } => {
                let head: &[u8; 22] = payload.first_chunk()?;
                let len = usize::from(u16::from_be_bytes([head[4], head[5]]));
                let is_whole = head[..4] == [0x20, 1, 0x64, 0] && len + 8 == payload.len();
                let is_ours = head[6..8] == id && head[14] & 1 == 0 && head[20..22] == [8, 0];
                if !is_whole || !is_ours || syn && begins_connection(payload.get(22..)?) {
                    return None;
                }
                return Some((42, 0));
            }
            RunKind::L2tp(ports, session) => {
                let (head, ppp) = payload.split_first_chunk::<14>()?;
                let len = usize::from(u16::from_be_bytes([head[4], head[5]]));
                let is_plain = head[..4] == ports && head[6..8] == [0, 0] && head[8..] == session;
                let (skipped, ether_type) = plain(ppp)?;
                return (is_plain && len == payload.len()).then_some((48 + skipped, ether_type));
            }
            RunKind::Other => return None,
        };
        let inner = payload.get(at..)?;
        let is_plain = is_plain && inner.len() >= 20 && !(syn && begins_connection(inner));
        is_plain.then_some((34 + at, ETHERTYPE_IPV4))
    }
}

/// A packet that may be a tunnel's outer one: its flow is known, and IPv4's header is plain.
#[derive(Clone, Copy)]
struct Outer {
    tuple: FiveTuple,
    flow: FlowId,
    came: Came,
}

impl Outer {
    /// Of a frame; `None` if there is nothing to open.
    #[inline(always)]
    fn read(r: &Router, port: InterfaceId, known: &mut Known, frame: &Frame) -> Option<Outer> {
        let bytes = r.io.slab.bytes(frame);
        // Most often there is none, and this says so.
        match bytes.get(12..)?.first_chunk::<12>()? {
            [8, 0, .., protocol] if !may_carry(r, *protocol) => None,
            [0x86, 0xdd, ..] => None,
            _ => Outer::read_at(r, port, known, frame),
        }
    }

    #[inline]
    fn read_at(r: &Router, port: InterfaceId, known: &mut Known, frame: &Frame) -> Option<Outer> {
        if frame.has_offload() {
            return None;
        }
        let bytes = r.io.slab.bytes(frame);
        let (arrival, l3) = Arrival::of(port, bytes)?;
        let ip: &[u8; 20] = bytes.get(l3..)?.first_chunk()?;
        if !may_carry(r, ip[9]) {
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

/// Whether there may be tunnels' outer packets of an IP protocol.
#[inline(always)]
fn may_carry(r: &Router, protocol: u8) -> bool {
    match protocol {
        protocol::IPIP | protocol::IPV6 | protocol::GRE => true,
        protocol => protocol == protocol::UDP && r.program.has_l2tp(),
    }
}

/// Takes an outer packet off, as its flow's recipe says; gives it back if there is none that fits, or what
/// is inside is for `flow::tunnel` to look at. Returns by which interface it comes in.
#[inline]
fn open(
    r: &mut Router,
    now: Moment,
    outer: Outer,
    frame: Frame,
    known: &mut Known,
    passed: &mut Passed,
) -> Result<(InterfaceId, Frame), Frame> {
    let Some((id, kept)) = recipe_of(r, outer.flow, &outer.tuple) else { return Err(frame) };
    let Some(recipe) = r.learnt.recipes.get(kept.recipe()) else { return Err(frame) };
    let bytes = r.io.slab.bytes(&frame);
    let Some(payload) = Payload::read(r, &outer, recipe.way.tunnel, bytes) else {
        return Err(frame);
    };
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
        return Err(frame);
    }
    // Untagged, and by no session.
    let begins_run = way.guard.admits_all() && outer.came.header() == common::UNTAGGED;
    // What has come before ends box by box.
    if call.is_some_and(|(call, number)| !hear(r, now, call, number)) {
        return Err(frame);
    }
    known.end_run(r);
    let arrived = frame.len();
    r.v4.connections.flow_mut(id).count(ip_len, now.as_millis_u32());
    if let Some((recipe, _)) = r.learnt.recipes.get_mut(kept.recipe()) {
        recipe.count.add(ip_len.into());
    }
    let fast = fast_rx && r.tools.closed.is_empty();
    passed.came(r, outer.came.ingress, arrived, fast);
    r.stats.paths.replayed += 1;
    if let Some(tunnel) = tunnel {
        r.heard_from(tunnel);
    }
    r.stats.interface_counts[interface.index()].rx.add(len as u64);
    let is_ethernet = matches!(kind, Kind::Tunnel { carries: Carries::Eoip, .. });
    if begins_run && let Some((_, by)) = &known.by {
        let of = tunnel.map(|at| r.program.tunnels.get(at));
        let kind = RunKind::of(of, outer.tuple.protocol, r.io.slab.bytes(&frame));
        let (recipe, outer) = (kept.recipe(), Outer { flow: id, ..outer });
        let (mac, [came, rx]) = (by.mac, [Count::default(); 2]);
        let run = Run { outer, recipe, mac, interface, tunnel, kind, is_ethernet, fast, came, rx };
        known.run = Some(run);
    }
    Ok((interface, take_off(r, &payload, is_ethernet, frame)))
}

/// What is left when the outer headers are taken off: a frame, or what looks like one.
#[inline(always)]
fn take_off(r: &Router, payload: &Payload, is_ethernet: bool, mut frame: Frame) -> Frame {
    frame.truncate(payload.at + payload.len);
    if is_ethernet {
        frame.pull(payload.at);
        return frame;
    }
    frame.pull(payload.at - 14);
    if let Some(head) = r.io.slab.bytes_mut(&mut frame).first_chunk_mut::<14>() {
        let [a, b] = payload.ether_type.to_be_bytes();
        *head = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b];
    }
    frame
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
struct Payload {
    /// By which it comes in.
    interface: InterfaceId,
    /// If it is none of L2TP's sessions, nor of PPTP's.
    tunnel: Option<TunnelAt>,
    /// Of PPTP's: the call, and the packet's number.
    call: Option<(u16, u32)>,
    /// Where it begins.
    at: usize,
    len: usize,
    /// The outer packet's length.
    ip_len: u16,
    /// What it is, if it is no frame.
    ether_type: u16,
}

impl Payload {
    /// `None` if there is more to be looked at: keepalives, checksums and keys of GRE, the first segment of
    /// a connection whose MSS is clamped.
    #[inline]
    fn read(r: &Router, outer: &Outer, likely: Option<TunnelAt>, bytes: &[u8]) -> Option<Payload> {
        let l3 = usize::from(outer.came.l3);
        let ip_len = u16::from_be_bytes([bytes[l3 + 2], bytes[l3 + 3]]);
        let payload = bytes.get(l3 + 20..l3 + usize::from(ip_len))?;
        if outer.tuple.protocol == protocol::UDP {
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
        let (gre, ether_type, skipped) = match payload {
            _ if outer.tuple.protocol == protocol::IPIP => (None, ETHERTYPE_IPV4, 0),
            _ if outer.tuple.protocol == protocol::IPV6 => (None, ETHERTYPE_IPV6, 0),
            [0, 0, 8, 0, ..] | [0, 0, 0x86, 0xdd, ..] => {
                let ether_type = u16::from_be_bytes([payload[2], payload[3]]);
                let gre = Gre::Packet { protocol: ether_type, key: None, at: gre::HEADER_LEN };
                (Some(gre), ether_type, gre::HEADER_LEN)
            }
            [0x20, 1, 0x64, 0, ..] => (Some(Gre::read(payload)?), 0, gre::EOIP_LEN),
            _ => return None,
        };
        let tunnels = &r.program.tunnels;
        let ends = (outer.tuple.src, outer.tuple.dst);
        let found = match likely {
            Some(likely) if tunnels.get(likely).is_of(outer.tuple.protocol, gre) => likely,
            _ => tunnels.find(ends, outer.tuple.protocol, gre)?,
        };
        let tunnel = tunnels.get(found);
        let (at, len) = match gre {
            Some(Gre::Eoip { len, .. }) => (l3 + 20 + skipped, len),
            _ => (l3 + 20 + skipped, payload.len() - skipped),
        };
        let carried = &bytes[at..at + len];
        let inner = match tunnel.carries {
            Carries::Eoip => {
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
        if udp.get(6..8)? != [0, 0] && !checksum::udp_ok(src, dst, udp) {
            return None;
        }
        let (interface, begins, ether_type) = plain_data(r, src, udp)?;
        let at = usize::from(outer.came.l3) + 20 + begins;
        let len = udp.len() - begins;
        Some(Payload { interface, tunnel: None, at, len, ip_len, ether_type, call: None })
    }
}

/// Whether an IPv4 packet is a TCP segment with SYN, or may be.
#[inline]
fn begins_connection(ip: &[u8]) -> bool {
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
        let hop = Hop { interface: rewrite.interface(), address: rewrite.address };
        let tuple = r.v4.connections.flow(id).translate_destination(tuple);
        let cost = Cost { len, label: Label::v4(tuple, tos), mark };
        frame.pull(more);
        let leaving = Leaving {
            frame,
            rest: Vec::new(),
            in_interface: InterfaceId::NONE,
            ingress: IngressId::NONE,
            l3: L3 as u16,
            fast,
            fasttrack: false,
            depth: r.link.depth,
            hop,
            queues,
            cost,
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
