//! Last steps behind all boxes of IP: recording the recipe, waiting in a queue, finding the neighbour.

use super::timers::nobody_there;
use super::{ip_out, link_out, mpls, tunnel};
use crate::discard::Discard;
use crate::firewall::connection::flow::Kept;
use crate::firewall::connection::{Connections, FlowId, flow_flag};
use crate::firewall::mark::{Mark, Marks};
use crate::interface::InterfaceId;
use crate::interface::ingress::IngressId;
use crate::ip::fib::NextHopId;
use crate::ip::fragment::{self, Piece};
use crate::ip::neighbour::{Labels, NeighbourId, Waiting, Want};
use crate::ip::route::Target;
use crate::ip::rule::{self, Decision as Decided, Lookup, Query};
use crate::packet::{ConnectionState, Packet};
use crate::parts::Stacked;
use crate::queue::Path;
use crate::recipe::{Edits, Way};
use crate::router::Router;
use crate::story::Event;
use port::Frame;
use wire::layers::{ETHERTYPE_IPV4, protocol};
use wire::mpls::Label;
use wire::{FiveTuple, Layers, Moment};

/// A packet that has passed all boxes of IP: what is left is the way to the neighbour.
#[derive(Debug)]
pub(crate) struct Leaving<A = u32> {
    pub(crate) frame: Frame,
    /// The other fragments of a reassembled datagram.
    pub(crate) rest: Box<[Piece]>,
    pub(crate) in_interface: InterfaceId,
    /// The interfaces it came through.
    pub(crate) ingress: IngressId,
    /// Offset of the IP header.
    pub(crate) l3: u16,
    pub(crate) fast: bool,
    /// It is FastTracked, and counted as such.
    pub(crate) fasttrack: bool,
    /// A policy of IPsec wants it encrypted.
    pub(crate) encrypted: bool,
    /// How deep in tunnels it lies.
    pub(crate) depth: u8,
    pub(crate) hop: Hop<A>,
    /// The queues that it has not passed yet.
    pub(crate) queues: Path,
    /// Its packet mark, which interfaces' trees look at.
    pub(crate) mark: Mark,
}

impl Leaving {
    /// A segment of a super-frame that has passed its queues: it goes the same way.
    pub(super) fn segment(
        frame: Frame,
        (in_interface, ingress, l3): (InterfaceId, IngressId, u16),
        (fast, fasttrack): (bool, bool),
        hop: Hop,
        mark: Mark,
    ) -> Leaving {
        let (rest, queues, depth) = (Box::default(), Path::NONE, 0);
        Leaving {
            frame,
            rest,
            in_interface,
            ingress,
            l3,
            fast,
            fasttrack,
            encrypted: false,
            depth,
            hop,
            queues,
            mark,
        }
    }
}

/// Why what a packet went through is not kept for the next one of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unkept {
    /// Neither TCP nor UDP.
    Protocol,
    /// The IP header has options.
    Options,
    /// A fragment, or a datagram that came in fragments.
    Fragments,
    /// Something on the way remembers, reads the payload or writes a log line; or it was a
    /// connection's first packet.
    Once,
    /// It is the router's own.
    Own,
    /// Rules of the bridge filter look at each frame on its way.
    BridgeFilter,
    /// It came in by more bridges or tags than are remembered, or padded in a session.
    Links,
    /// A bridge does not know behind which port the neighbour is, or there are two bridges.
    Flooded,
    /// It comes out of a session with MPPE.
    Encrypted,
    /// It is a tunnel's outer packet, and waits in queues, is translated, or comes by a bridge.
    Tunnel,
    /// It belongs to no connection.
    Invalid,
    /// It is not tracked, but others of the same addresses and ports are.
    Tracked,
    /// Each packet gives its connection another mark.
    Marked,
    /// Its connection is still changing: the next packet may be treated differently.
    Unsettled,
    /// The next packet will be FastTracked.
    Fasttrack,
    /// The neighbour is not known yet.
    Neighbour,
    /// No room in the table of flows.
    Full,
}

/// Keeps what the packet went through as its flow's recipe, if the next one would go the same way;
/// else says why not.
pub(super) fn record<F: Stacked>(
    r: &mut Router,
    now: Moment,
    p: &Packet,
    hop: Hop<F>,
    queues: Path,
) -> Result<Kept, Unkept> {
    let is_whole = p.layers.l3 == 14 && !p.layers.fragment && p.rest.is_empty();
    let has_ports = matches!(p.layers.protocol, protocol::TCP | protocol::UDP)
        && p.layers.l4 == p.layers.l3 + F::HEADER;
    let tracked = p.connection_state != ConnectionState::Invalid || p.fasttrack;
    let comes_from = has_ports && p.port.is_some() || p.is_outer;
    if !comes_from || !is_whole || !tracked || p.trace.once {
        return Err(unkept(p));
    }
    match p.is_outer {
        // What encloses writes Ethernet's header alone.
        true if hop.label.is_some() => return Err(Unkept::Tunnel),
        true => {}
        false => has_come_by(r, p)?,
    }
    let flow = flow_of::<F>(r, now, p)?;
    let neighbour = F::neighbour_of(r, hop);
    let Some(neighbour) = neighbour.filter(|&id| F::neighbours(r).mac(id).is_some()) else {
        return Err(Unkept::Neighbour);
    };
    if !F::refresh(r, neighbour) {
        let filtered = r.program.has_bridge_output();
        return Err(if filtered { Unkept::BridgeFilter } else { Unkept::Flooded });
    }
    let way = Way {
        guard: p.trace.guard,
        ingress: p.ingress,
        in_interface: p.in_interface,
        inward: false,
        tunnel: None,
        fasttrack: p.fasttrack,
        // What is outside is as fast as what is inside, each time.
        fast: p.fast && !p.is_outer,
        edits: F::edits(r, p),
        marks: p.marks,
    };
    let kept = r.learnt.recipes.keep(way, queues, &p.trace);
    let generation = r.learnt.recipes.generation();
    let flow = F::connections_mut(r).flow_mut(flow);
    flow.keep(kept, generation);
    flow.next_hop = neighbour.0;
    Ok(kept)
}

/// Keeps what a tunnel's outer packet went through up to its end, which is here.
pub(super) fn keep_inward(
    r: &mut Router,
    now: Moment,
    p: &Packet,
    queues: Path,
) -> Result<(), Unkept> {
    let is_whole = !p.layers.options && !p.layers.fragment && p.rest.is_empty();
    if !is_whole || p.trace.once || p.connection_state == ConnectionState::Invalid {
        return Err(unkept(p));
    }
    has_come_by(r, p)?;
    if queues != Path::NONE || p.learns.is_some() {
        return Err(Unkept::Tunnel);
    }
    let flow = flow_of::<u32>(r, now, p)?;
    if r.v4.connections.flow(flow).flags & flow_flag::NAT != 0 {
        return Err(Unkept::Tunnel);
    }
    let way = Way {
        guard: p.trace.guard,
        ingress: p.ingress,
        in_interface: p.in_interface,
        inward: true,
        tunnel: tunnel::of(r, p),
        fasttrack: false,
        fast: false,
        edits: Edits::default(),
        marks: Marks::default(),
    };
    let kept = r.learnt.recipes.keep(way, Path::NONE, &p.trace);
    let generation = r.learnt.recipes.generation();
    let flow = r.v4.connections.flow_mut(flow);
    flow.keep(kept, generation);
    flow.next_hop = NeighbourId::NONE.0;
    Ok(())
}

/// Whether the next packet would come up to IP as this one did.
fn has_come_by(r: &Router, p: &Packet) -> Result<(), Unkept> {
    if r.has_bridge_rules(p) {
        return Err(Unkept::BridgeFilter);
    }
    match p.arrival {
        Some(_) if p.ingress != IngressId::NONE => Ok(()),
        _ if is_encrypted(r, p.in_interface) => Err(Unkept::Encrypted),
        _ => Err(Unkept::Links),
    }
}

fn is_encrypted(r: &Router, interface: InterfaceId) -> bool {
    r.program.session(interface).is_some_and(|session| session.encrypted)
}

/// The flow that keeps a packet's recipe.
fn flow_of<F: Stacked>(r: &mut Router, now: Moment, p: &Packet) -> Result<FlowId, Unkept> {
    let flow = match p.flow {
        Some(flow) if p.fasttrack || F::connections(r).is_settled(flow) => flow,
        None if !F::is_tracking(r) || p.notrack => r.untracked_flow::<F>(now, p)?,
        _ => return Err(Unkept::Unsettled),
    };
    // What a FastTracked connection sends by the regular way is counted apart, and the next packet
    // most likely takes the other way.
    if Connections::<F>::fasttrack_allows(F::connections(r).flow(flow)) && !p.fasttrack {
        return Err(Unkept::Fasttrack);
    }
    // The next packet would find another mark than this one did.
    if !p.fasttrack && F::connections(r).mark_of(flow) != p.connection_mark {
        return Err(Unkept::Marked);
    }
    Ok(flow)
}

/// The first reason not to keep it, of those that the packet itself gives.
#[cold]
fn unkept(p: &Packet) -> Unkept {
    match p {
        _ if p.port == InterfaceId::NONE => Unkept::Own,
        _ if !matches!(p.layers.protocol, protocol::TCP | protocol::UDP) => Unkept::Protocol,
        _ if p.layers.options => Unkept::Options,
        _ if p.layers.fragment || !p.rest.is_empty() => Unkept::Fragments,
        _ if p.trace.once => Unkept::Once,
        _ => Unkept::Invalid,
    }
}

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop<A = u32> {
    /// By which interface.
    pub(crate) interface: InterfaceId,
    /// To which neighbour.
    pub(crate) address: A,
    /// With which label.
    pub(crate) label: Option<Label>,
}

impl<A> Hop<A> {
    /// Without a label.
    pub(crate) fn to(interface: InterfaceId, address: A) -> Hop<A> {
        Hop { interface, address, label: None }
    }
}

/// Where a packet of the router's own goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Onward<A = u32> {
    /// To the router itself.
    Here,
    /// To a neighbour.
    Out(Hop<A>),
}

impl<A> Onward<A> {
    /// By which interface; `NONE` if it stays.
    pub(super) fn interface(self) -> InterfaceId {
        match self {
            Onward::Here => InterfaceId::NONE,
            Onward::Out(hop) => hop.interface,
        }
    }
}

/// ROUTING DECISION: where the tables send a packet, those that rules and its mark choose first, then
/// its VRF's. The router's own addresses come before all of them, and FastTrack asks main only.
pub(super) fn decide<F: Stacked>(r: &mut Router, p: &Packet) -> Decided {
    let (FiveTuple { src, dst, .. }, interface) = (F::tuple(p), p.in_interface);
    let decision = match p.fasttrack {
        true => Decided::of_table(Mark::NONE, F::routes(r).lookup_in(Mark::NONE, dst)),
        false => {
            let query = Query { src, dst, mark: p.marks.routing, home: p.vrf, interface };
            decide_for::<F>(r, &query)
        }
    };
    r.tell(|| Event::Routed { dst: dst.ip(), decision });
    decision
}

fn decide_for<F: Stacked>(r: &Router, query: &Query<F>) -> Decided {
    let (routes, rules) = (F::routes(r), F::route_rules(r));
    let leaf = routes.lookup_in(query.home, query.dst);
    let special = matches!(
        routes.target(leaf),
        Some(Target::Local | Target::Broadcast | Target::Martian | Target::Multicast)
    );
    if special || rules.is_empty() && query.mark == Mark::NONE {
        return Decided::of_table(query.home, leaf);
    }
    rule::decide(rules, routes, &r.program.vrfs, query)
}

/// The way of a packet of the router's own; `None` if no route leads anywhere.
pub(super) fn way_out(r: &mut Router, p: &Packet) -> Option<Onward> {
    let bound = p.bound;
    let leaf = decide::<u32>(r, p).leaf();
    let hop = match r.v4.routes.target(leaf) {
        Some(Target::Local) => return Some(Onward::Here),
        Some(Target::Connected(_) | Target::Gateways(_)) => Some(next_hop(r, leaf, &p.layers)),
        _ => None,
    };
    if !bound.is_some() {
        return hop.map(Onward::Out);
    }
    // Where no route leads, everybody is a neighbour.
    let neighbour = Hop::to(bound, p.layers.tuple.dst);
    Some(Onward::Out(hop.filter(|hop| hop.interface == bound).unwrap_or(neighbour)))
}

/// The way that a packet of the router's own would have between these addresses, if it is not marked.
pub(super) fn way_to(r: &mut Router, layers: &Layers) -> Option<Onward> {
    let (src, dst) = (layers.tuple.src, layers.tuple.dst);
    let (home, interface) = (r.program.vrf_of_own(src), InterfaceId::NONE);
    let leaf = decide_for(r, &Query { src, dst, mark: Mark::NONE, home, interface }).leaf();
    match r.v4.routes.target(leaf) {
        Some(Target::Local) => Some(Onward::Here),
        Some(Target::Connected(_) | Target::Gateways(_)) => {
            Some(Onward::Out(next_hop(r, leaf, layers)))
        }
        _ => None,
    }
}

/// The next hop behind a leaf that forwards.
pub(super) fn next_hop(r: &mut Router, leaf: NextHopId, layers: &Layers) -> Hop {
    let tuple = layers.tuple;
    match r.v4.routes.target(leaf) {
        Some(Target::Gateways(ways)) => {
            let at = ecmp_way(tuple.src, tuple.dst, ways.len());
            let ((interface, address), label) = (ways[at], r.v4.routes.label(leaf, at));
            let hop = Hop { interface, address, label: label.filter(|label| label.is_written()) };
            let is_one = ways.len() == 1;
            if let (true, Some(id)) = (is_one, r.neighbour(hop)) {
                r.v4.routes.set_neighbour(leaf, id); // for the fast path
            }
            hop
        }
        Some(&Target::Connected(interface)) => {
            if r.program.is_point_to_point(interface) {
                let end = r.v4.neighbours.other_end(interface);
                r.v4.routes.set_neighbour(leaf, end);
            }
            Hop::to(interface, tuple.dst)
        }
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
pub(crate) fn to_neighbour(r: &mut Router, now: Moment, hop: Hop, waiting: Waiting) {
    // Trees on the interfaces below look at it.
    r.io.mark = waiting.mark;
    find_neighbour(r, now, hop, waiting);
    r.io.mark = Mark::NONE;
}

fn find_neighbour(r: &mut Router, now: Moment, hop: Hop, mut waiting: Waiting) {
    // What waited in a queue while its link went down finds nobody to ask.
    if !r.program.runs(hop.interface) {
        return r.discard_frame(waiting.frame, Discard::InterfaceDown);
    }
    if r.program.is_point_to_point(hop.interface) {
        return to_other_end(r, now, hop.interface, waiting);
    }
    if hop.address >> 28 == 0xe || hop.address == u32::MAX {
        return to_group(r, now, hop, waiting);
    }
    let known = |r: &Router| r.v4.neighbours.find(hop.interface, hop.address).is_some();
    if !r.program.interface(hop.interface).arp.learns() && !known(r) {
        return nobody_there(r, now, waiting);
    }
    match r.v4.neighbours.want(now, hop.interface, hop.address) {
        Want::Ready(id) => {
            r.tell(|| Event::Neighbour(hop.into()));
            r.refresh(id);
            r.v4.neighbours.rewrites_mut()[id.index()].used_ms = now.as_millis_u32();
            let mac = r.v4.neighbours.mac(id).unwrap_or_default();
            let own = r.program.interface(hop.interface).mac;
            let l3 = usize::from(waiting.l3);
            if l3 > 14 {
                waiting.frame.pull(l3 - 14);
            }
            // Counted before there is a label between.
            if waiting.fast && waiting.labels.are_none() && r.ipv4_fast_path() {
                r.count_fast_path(&waiting);
            }
            if let Labels::Push(label) = waiting.labels
                && !mpls::push(r, &mut waiting.frame, label)
            {
                return r.discard_frame(waiting.frame, Discard::NoFrame);
            }
            let bytes = r.io.slab.bytes_mut(&mut waiting.frame);
            bytes[..6].copy_from_slice(&mac.0);
            bytes[6..12].copy_from_slice(&own.0);
            bytes[12..14].copy_from_slice(&waiting.labels.ether_type().to_be_bytes());
            in_depth(r, waiting.depth, |r| {
                link_out(r, now, hop.interface, waiting.frame, waiting.fast)
            });
        }
        Want::Wait(id, request) => {
            let asked = request.is_none();
            r.tell(|| Event::Waits { hop: hop.into(), asked });
            if let Some(request) = request {
                // The question does not carry the mark.
                r.io.mark = Mark::NONE;
                r.send_arp_request(now, request);
            }
            if r.io.slab.is_short() {
                return r.discard_frame(waiting.frame, Discard::FramesShort);
            }
            if let Some(oldest) = r.v4.neighbours.wait(id, waiting) {
                r.discard_frame(oldest.frame, Discard::NeighbourQueueFull);
            }
        }
        Want::Full => r.discard_frame(waiting.frame, Discard::NeighbourTableFull),
    }
}

/// Sends what is left to be cut of a super-frame that is too long for the way.
pub(super) fn in_segments(r: &mut Router, now: Moment, hop: Hop, whole: Waiting) {
    let Waiting { frame, in_interface, ingress, l3, fast, fasttrack, depth, mark, .. } = whole;
    let mut segments = std::mem::take(&mut r.io.segments);
    r.finish(frame, &mut segments);
    for frame in segments.drain(..) {
        let way = (in_interface, ingress, l3);
        let leaving = Leaving::segment(frame, way, (fast, fasttrack), hop, mark);
        ip_out(r, now, Leaving { depth, ..leaving });
    }
    r.io.segments = segments;
}

/// Sends a packet in pieces that the way takes.
pub(super) fn in_pieces(r: &mut Router, now: Moment, hop: Hop, whole: Waiting, mtu: usize) {
    r.tell(|| Event::Split { mtu });
    let Waiting { frame, in_interface, ingress, l3, fast, fasttrack, depth, mark, labels } = whole;
    let mut pieces = std::mem::take(&mut r.io.pieces);
    let all = fragment::split(&mut r.io.pool, frame, l3.into(), mtu, |f| pieces.push(f));
    r.stats.tally.consumed += 1;
    r.stats.tally.made += pieces.len() as u64;
    if !all {
        r.stats.discards.add(Discard::NoFrame);
    }
    for frame in pieces.drain(..) {
        let waiting =
            Waiting { frame, in_interface, ingress, l3, fast, fasttrack, depth, mark, labels };
        to_neighbour(r, now, hop, waiting);
    }
    r.io.pieces = pieces;
}

/// Sends by an interface that has no addresses but IP's: the Ethernet header is for its form alone.
fn to_other_end(r: &mut Router, now: Moment, interface: InterfaceId, mut waiting: Waiting) {
    let l3 = usize::from(waiting.l3);
    if l3 > 14 {
        waiting.frame.pull(l3 - 14);
    }
    let bytes = r.io.slab.bytes_mut(&mut waiting.frame);
    bytes[..12].fill(0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    if waiting.fast && waiting.labels == Labels::None && r.ipv4_fast_path() {
        r.count_fast_path(&waiting);
    }
    in_depth(r, waiting.depth, |r| link_out(r, now, interface, waiting.frame, waiting.fast));
}

/// Sends to a group, whose MAC address follows from its own (RFC 1112 §6.4).
fn to_group(r: &mut Router, now: Moment, hop: Hop, mut waiting: Waiting) {
    let own = r.program.interface(hop.interface).mac;
    let l3 = usize::from(waiting.l3);
    if l3 > 14 {
        waiting.frame.pull(l3 - 14);
    }
    let [_, b, c, d] = hop.address.to_be_bytes();
    let bytes = r.io.slab.bytes_mut(&mut waiting.frame);
    let group = match hop.address {
        u32::MAX => [0xff; 6],
        _ => [0x01, 0x00, 0x5e, b & 0x7f, c, d],
    };
    bytes[..6].copy_from_slice(&group);
    bytes[6..12].copy_from_slice(&own.0);
    bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
    in_depth(r, waiting.depth, |r| link_out(r, now, hop.interface, waiting.frame, false));
}

/// Goes on with what lies so deep in tunnels, and may have waited meanwhile.
pub(super) fn in_depth(r: &mut Router, depth: u8, run: impl FnOnce(&mut Router)) {
    let depth = std::mem::replace(&mut r.link.depth, depth);
    run(r);
    r.link.depth = depth;
}

pub(super) fn ip_total_len(bytes: &[u8], l3: u16) -> usize {
    let l3 = usize::from(l3);
    usize::from(u16::from_be_bytes([bytes[l3 + 2], bytes[l3 + 3]]))
}
