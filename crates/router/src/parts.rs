//! The parts of a [`Router`](crate::Router): each box of the flow takes those it needs.
//!
//! ```text
//! Io       frames: slab, pool, ports, outboxes, scratch
//! Stack    one address family: routes, neighbours, connections, reassembly, ICMP's limit
//! Stack6   the same of IPv6, as far as it is built
//! Links    layer 2: hosts of bridges, verdicts of the bridge filter, histories of links;
//!          gateways that are asked
//! Learnt   recipes, and the packets they are made of
//! Stats    what was counted: rules, interfaces, discards, paths, the log
//! ```
//!
//! A part owns state and decides nothing. A second address family is a second [`Stack`]; a second
//! core has parts of its own, and shares the [`Program`](crate::program::Program) alone.

use crate::account::Tally;
use crate::counter::{Count, Counters};
use crate::discard::{Discard, Discards};
use crate::fast::enclose::Outers;
use crate::fast::first::FirstPackets;
use crate::fast::verdicts::Verdicts;
use crate::firewall::connection::{Connections, New};
use crate::firewall::log::Log;
use crate::firewall::mark::Mark;
use crate::firewall::nat::{NatChain, NatVerdict, Translated};
use crate::flow::{Hop, Resume, radius};
use crate::interface::InterfaceId;
use crate::interface::bonding;
use crate::interface::bridge::hosts::Hosts;
use crate::interface::bridge::stp::Stp;
use crate::interface::ingress::Ingresses;
use crate::interface::l2tp;
use crate::interface::link::History;
use crate::interface::ppp::calls::Calls;
use crate::interface::pppoe;
use crate::interface::pptp;
use crate::interface::rewrite::Egresses;
use crate::interface::tunnel::life::Life;
use crate::interface::vrrp::Machine;
use crate::interface::vrrp::sync::Synchronized;
use crate::interface::wireguard;
use crate::ip::address;
use crate::ip::fib::Word;
use crate::ip::fragment::{Collected, Fragment, Reassembly};
use crate::ip::gateway::{Gateway, Probe};
use crate::ip::icmp::RateLimit;
use crate::ip::nat_pmp;
use crate::ip::neighbour::{NeighbourId, Neighbours};
use crate::ip::route::Routes;
use crate::ip::rule::{Lookup, Rule};
use crate::ip::tcp::Tcp;
use crate::ipv6;
use crate::outbox::Outbox;
use crate::packet::{Ends, Packet};
use crate::program::{BridgeAt, PortInfo, WayOut};
use crate::queue::Waited;
use crate::recipe::{Edits, Recipes};
use crate::router::Router;
use crate::trace::Trace;
use port::{Batch, Frame, Pool, PortCounters, Slab};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wire::bpdu::Bpdu;
use wire::{FiveTuple, Ipv6, Layers, Moment};

/// The frames: where they are, and where they come from and go.
pub(crate) struct Io {
    pub(crate) slab: Slab,
    pub(crate) pool: Pool,
    /// The port infos the device was made with.
    pub(crate) ports: Vec<PortInfo>,
    /// What the ports themselves had lost when they were last asked, by port.
    pub(crate) lost: Vec<PortCounters>,
    /// Out of its place while a batch is worked on.
    pub(crate) inbox: Option<Batch>,
    /// By port.
    pub(crate) outboxes: Vec<Outbox>,
    /// The ways out by interface, those of the program: read for every frame that leaves.
    pub(crate) ways_out: Arc<[WayOut]>,
    /// The moment of this breath, for what leaves.
    pub(crate) now: Moment,
    /// The packet mark of what IP is sending now; else none.
    pub(crate) mark: Mark,
    /// When a port has room for what waits for it, if something does.
    pub(crate) room_at: Option<Moment>,
    /// Empty ones, for what came before a tunnel's packet: one for each tunnel in the other.
    pub(crate) spare: Vec<Batch>,
    /// Empty between two sends.
    pub(crate) outgoing: Batch,
    /// Scratch for what queues let go.
    pub(crate) released: Vec<(Resume, Waited)>,
    /// Scratch for flooding.
    pub(crate) targets: Vec<InterfaceId>,
    /// Scratch for fragmentation.
    pub(crate) pieces: Vec<Frame>,
    /// Scratch for cutting super-frames.
    pub(crate) segments: Vec<Frame>,
}

impl Io {
    /// Ports without frames yet.
    pub(crate) fn new(ports: Vec<PortInfo>, slab: &Slab) -> Io {
        Io {
            slab: slab.clone(),
            pool: slab.pool(),
            lost: vec![PortCounters::default(); ports.len()],
            inbox: None,
            spare: Vec::new(),
            outboxes: ports.iter().map(|_| Outbox::default()).collect(),
            ways_out: Arc::default(),
            now: Moment::ZERO,
            mark: Mark::NONE,
            room_at: None,
            outgoing: Batch::new(),
            released: Vec::new(),
            targets: Vec::new(),
            pieces: Vec::new(),
            segments: Vec::new(),
            ports,
        }
    }
}

/// What one address family knows.
pub(crate) struct Stack {
    pub(crate) routes: Routes,
    pub(crate) neighbours: Neighbours,
    pub(crate) connections: Connections,
    pub(crate) reassembly: Reassembly,
    pub(crate) icmp_limit: RateLimit,
}

impl Stack {
    /// A stack that knows nothing, with room for `max` connections.
    pub(crate) fn new(max: usize) -> Stack {
        Stack {
            routes: Routes::default(),
            neighbours: Neighbours::default(),
            connections: Connections::new(max),
            reassembly: Reassembly::default(),
            icmp_limit: RateLimit::default(),
        }
    }
}

/// What IPv6 knows. Its routes are part of the program.
pub(crate) struct Stack6 {
    pub(crate) neighbours: Neighbours<u128>,
    pub(crate) connections: Connections<u128>,
    pub(crate) reassembly: Reassembly<u128>,
    pub(crate) icmp_limit: RateLimit,
}

impl Stack6 {
    /// A stack that knows nothing, with room for `max` connections.
    pub(crate) fn new(max: usize) -> Stack6 {
        // All errors are limited, and nothing else (RFC 4443 §2.4 f).
        let mut icmp_limit = RateLimit::default();
        icmp_limit.mask = 0b1_1110;
        Stack6 {
            neighbours: Neighbours::default(),
            connections: Connections::new(max),
            reassembly: Reassembly::default(),
            icmp_limit,
        }
    }
}

/// A family, and where what a router knows of it stands.
pub(crate) trait Stacked: Translated + Word {
    /// The routing tables.
    type Routes: Lookup<Self>;
    /// Those that there are.
    fn routes(r: &Router) -> &Self::Routes;
    /// The routing rules.
    fn route_rules(r: &Router) -> &[Rule<Self>];
    /// The connections.
    fn connections(r: &Router) -> &Connections<Self>;
    /// The same, to be written to.
    fn connections_mut(r: &mut Router) -> &mut Connections<Self>;
    /// The neighbours.
    fn neighbours(r: &Router) -> &Neighbours<Self>;
    /// The neighbour that a hop leads to, if it is known.
    fn neighbour_of(r: &mut Router, hop: Hop<Self>) -> Option<NeighbourId>;
    /// Makes sure that a neighbour's rewrite leads where a frame would go now; whether it has one.
    fn refresh(r: &mut Router, id: NeighbourId) -> bool;
    /// What was written of a packet's header.
    fn edits(r: &Router, p: &Packet) -> Edits;
    /// The length of its header without options or extensions.
    const HEADER: u16;
    /// Whether its connections are tracked.
    fn is_tracking(r: &Router) -> bool;
    /// A packet's tuple.
    fn tuple(p: &Packet) -> FiveTuple<Self>;
    /// Notes that a packet has another tuple now.
    fn moved(p: &mut Packet, to: &FiveTuple<Self>);
    /// What a new connection's first packet is translated to by `/ip firewall nat`, or IPv6's.
    fn nat(r: &mut Router, now: Moment, p: &mut Packet, chain: NatChain) -> NatVerdict<Self>;
    /// The router's own address on an interface, for packets from there to this one, or back.
    fn own_address(r: &Router, interface: InterfaceId, toward: Self) -> Option<Self>;
    /// The connection that a packet begins.
    fn new_of(p: &mut Packet) -> &mut Option<New<Self>>;
    /// Keeps a fragment until its datagram is complete.
    fn collect(r: &mut Router, now: Moment, frame: Frame, of: &Layers) -> Collected;
}

impl Stacked for u32 {
    type Routes = Routes;

    #[inline(always)]
    fn routes(r: &Router) -> &Routes {
        &r.v4.routes
    }

    fn route_rules(r: &Router) -> &[Rule] {
        &r.program.route_rules
    }

    #[inline(always)]
    fn connections(r: &Router) -> &Connections {
        &r.v4.connections
    }

    #[inline(always)]
    fn connections_mut(r: &mut Router) -> &mut Connections {
        &mut r.v4.connections
    }

    #[inline(always)]
    fn neighbours(r: &Router) -> &Neighbours {
        &r.v4.neighbours
    }

    #[inline]
    fn neighbour_of(r: &mut Router, hop: Hop) -> Option<NeighbourId> {
        r.neighbour(hop)
    }

    #[inline]
    fn refresh(r: &mut Router, id: NeighbourId) -> bool {
        r.refresh(id)
    }

    fn edits(r: &Router, p: &Packet) -> Edits {
        Edits::of(p.trace.edited, r.ip_header(p))
    }

    const HEADER: u16 = 20;

    #[inline(always)]
    fn is_tracking(r: &Router) -> bool {
        r.program.tracking
    }

    #[inline(always)]
    fn tuple(p: &Packet) -> FiveTuple {
        p.layers.tuple
    }

    #[inline(always)]
    fn moved(_: &mut Packet, _: &FiveTuple) {}

    fn nat(r: &mut Router, now: Moment, p: &mut Packet, chain: NatChain) -> NatVerdict {
        if let (Some(port), NatChain::Dstnat) = (p.redirected, chain) {
            return NatVerdict::Redirect { ports: Some((port, port)), random: false };
        }
        let verdict =
            r.with_view(now, p, |program, view, books| program.nat.run(chain, view, books));
        match (verdict, chain) {
            (NatVerdict::None, NatChain::Dstnat) => nat_pmp::verdict(r, &p.layers.tuple),
            _ => verdict,
        }
    }

    fn own_address(r: &Router, interface: InterfaceId, toward: u32) -> Option<u32> {
        address::source(&r.program.addresses, interface, toward)
    }

    #[inline(always)]
    fn new_of(p: &mut Packet) -> &mut Option<New> {
        &mut p.new
    }

    fn collect(r: &mut Router, now: Moment, frame: Frame, of: &Layers) -> Collected {
        r.v4.reassembly.collect(now, &r.io.slab, frame, *of)
    }
}

impl Stacked for u128 {
    type Routes = ipv6::route::Routes;

    #[inline(always)]
    fn routes(r: &Router) -> &Self::Routes {
        &r.program.v6.routes
    }

    fn route_rules(r: &Router) -> &[Rule<u128>] {
        &r.program.v6.route_rules
    }

    #[inline(always)]
    fn connections(r: &Router) -> &Connections<u128> {
        &r.v6.connections
    }

    #[inline(always)]
    fn connections_mut(r: &mut Router) -> &mut Connections<u128> {
        &mut r.v6.connections
    }

    #[inline(always)]
    fn neighbours(r: &Router) -> &Neighbours<u128> {
        &r.v6.neighbours
    }

    #[inline]
    fn neighbour_of(r: &mut Router, hop: Hop<u128>) -> Option<NeighbourId> {
        r.neighbour6(hop)
    }

    #[inline]
    fn refresh(r: &mut Router, id: NeighbourId) -> bool {
        r.refresh6(id)
    }

    fn edits(r: &Router, p: &Packet) -> Edits {
        Edits::of6(p.trace.edited, r.ip_start(p))
    }

    const HEADER: u16 = 40;

    #[inline(always)]
    fn is_tracking(r: &Router) -> bool {
        r.program.v6.tracking
    }

    #[inline(always)]
    fn tuple(p: &Packet) -> FiveTuple<u128> {
        let FiveTuple { src_port, dst_port, protocol, .. } = p.layers.tuple;
        FiveTuple { src: p.ends.src, dst: p.ends.dst, src_port, dst_port, protocol }
    }

    #[inline(always)]
    fn moved(p: &mut Packet, to: &FiveTuple<u128>) {
        p.ends = Ends { src: to.src, dst: to.dst };
    }

    fn nat(r: &mut Router, now: Moment, p: &mut Packet, chain: NatChain) -> NatVerdict<u128> {
        let Some(nat) = r.program.v6.nat.clone() else { return NatVerdict::None };
        r.with_view(now, p, |_, view, books| nat.run(chain, view, books))
    }

    fn own_address(r: &Router, interface: InterfaceId, toward: u128) -> Option<u128> {
        ipv6::address::source(&r.program.v6.addresses, interface, toward)
    }

    #[inline(always)]
    fn new_of(p: &mut Packet) -> &mut Option<New<u128>> {
        &mut p.new6
    }

    fn collect(r: &mut Router, now: Moment, frame: Frame, of: &Layers) -> Collected {
        let bytes = &r.io.slab.bytes(&frame)[usize::from(of.l3)..];
        // The flow has walked the headers before.
        let walked = Ipv6::new(bytes).ok().and_then(|ip| Some((ip, ip.extensions().ok()?)));
        let Some((ip, found)) = walked else { return Collected::Full(frame) };
        let (offset, more) = found.fragment.unwrap_or_default();
        let fragment = Fragment {
            key: (ip.src().into(), ip.dst().into(), found.identification, 0),
            offset: offset.into(),
            header_len: found.fragment_end.into(),
            last: !more,
        };
        r.v6.reassembly.put(now, frame, *of, fragment)
    }
}

/// What layer 2 knows.
#[derive(Default)]
pub(crate) struct Links {
    /// By place of the bridge.
    pub(crate) hosts: Vec<Hosts>,
    /// By place of the bridge: its spanning tree, if it has one.
    pub(crate) trees: Vec<Option<Box<Stp>>>,
    /// BPDUs that this breath has brought, and by which port of which bridge.
    pub(crate) bpdus: Vec<(BridgeAt, InterfaceId, Bpdu)>,
    /// What the bridge filter said, by kind of frame.
    pub(crate) verdicts: Verdicts,
    /// What became of the links, by port.
    pub(crate) histories: Vec<History>,
    /// By place of the tunnel.
    pub(crate) lives: Vec<Life>,
    /// By place of the bond.
    pub(crate) bonds: Vec<bonding::State>,
    /// By place of the virtual router.
    pub(crate) machines: Vec<Machine>,
    /// What masters tell of connections, and backups were told.
    pub(crate) sync: Synchronized,
    /// Sessions of PPP, and those that are to be.
    pub(crate) calls: Calls,
    /// PPPoE's clients, and what its servers know.
    pub(crate) pppoe: pppoe::state::State,
    /// What RADIUS is asked.
    pub(crate) radius: radius::State,
    /// L2TP's tunnels.
    pub(crate) l2tp: l2tp::state::State,
    /// WireGuard's peers.
    pub(crate) wireguard: wireguard::state::State,
    /// TCP connections of the router's own services.
    pub(crate) tcp: Tcp,
    /// PPTP's control connections and calls.
    pub(crate) pptp: pptp::state::State,
    /// The open ones of them.
    pub(crate) sessions: Arc<[Arc<pppoe::Session>]>,
    /// The interfaces that run by what they know themselves.
    pub(crate) up: Arc<BTreeSet<InterfaceId>>,
    /// Gateways that are asked whether they live.
    pub(crate) probes: Vec<Probe>,
    /// Those that do not answer.
    pub(crate) silent: Arc<BTreeSet<Gateway>>,
    /// When the next of all these has something to do.
    pub(crate) up_due: Moment,
    /// How deep in tunnels the packet that moves now lies.
    pub(crate) depth: u8,
    /// What the next outer packet is identified by, if it may leave in pieces.
    pub(crate) identification: u16,
}

impl Links {
    /// What tells the pieces of different packets apart (RFC 6864 §4.3).
    #[inline(always)]
    pub(crate) fn next_identification(&mut self) -> u16 {
        self.identification = self.identification.wrapping_add(1);
        self.identification
    }
}

/// What was learnt from packets on the slow path.
#[derive(Default)]
pub(crate) struct Learnt {
    pub(crate) recipes: Recipes,
    /// Recipes by what first packets have in common.
    pub(crate) first_packets: FirstPackets,
    /// Packets that have gone: their memory is used again.
    pub(crate) packets: Vec<Packet>,
    /// Scratch for the bridge filter's walk.
    pub(crate) bridge_trace: Trace,
    /// The ways up from a port to IP that frames have gone.
    pub(crate) ingresses: Ingresses,
    /// By place of the tunnel: the epoch of recipes in which its packets' address here, the interface
    /// they leave by and its MTU were found out.
    pub(crate) ends: Vec<(u32, (u32, InterfaceId, u16))>,
    /// What tunnels' packets get in front.
    pub(crate) outers: Outers,
    /// The ways down from IP to a port that rewrites lead.
    pub(crate) egresses: Egresses,
}

/// What was counted.
pub(crate) struct Stats {
    /// Of rules.
    pub(crate) counters: Counters,
    pub(crate) discards: Discards,
    /// Why the last packet was dropped on the slow path.
    pub(crate) last_discard: Option<Discard>,
    pub(crate) interface_counts: Vec<InterfaceCounts>,
    /// Of those that have lost anything.
    pub(crate) troubles: BTreeMap<InterfaceId, Trouble>,
    pub(crate) paths: PathCounts,
    /// Where frames came from and went, for [`Router::frames`](crate::Router::frames).
    pub(crate) tally: Tally,
    pub(crate) log: Log,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            counters: Counters::default(),
            discards: Discards::default(),
            last_discard: None,
            interface_counts: Vec::new(),
            troubles: BTreeMap::new(),
            paths: PathCounts::default(),
            tally: Tally::default(),
            log: Log::with(Arc::default()),
        }
    }
}

/// What one interface has seen. Bytes are L2 without FCS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounts {
    /// Received.
    pub rx: Count,
    /// Sent.
    pub tx: Count,
    /// Of the received, those that came in FastPath (or FastTrack).
    pub fast_rx: Count,
    /// Of the sent, those that left in FastPath (or FastTrack).
    pub fast_tx: Count,
}

/// What an interface has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Frames lost because the port's receive ring was full, or its interface dropped them: longer than
    /// its MTU, no buffer.
    pub rx_drop: u64,
    /// Frames received that are no Ethernet frames, or damaged by the interface's own count.
    pub rx_error: u64,
    /// Frames that did not go out: the wire or the other end was full.
    pub tx_drop: u64,
    /// Frames that the port's queue dropped.
    pub queue_drop: u64,
}

/// How many packets the quick ways took. Bytes are IP length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// `ipv4-fast-path-packets`, `-bytes`.
    pub ipv4_fast_path: Count,
    /// Packets with a label, and their bytes from it on, that were switched in FastPath.
    pub mpls_fast_path: Count,
    /// `ipv4-fasttrack-packets`, `-bytes`.
    pub ipv4_fasttrack: Count,
    /// `ipv6-fast-path-packets`, `-bytes`.
    pub ipv6_fast_path: Count,
    /// `ipv6-fasttrack-packets`, `-bytes`.
    pub ipv6_fasttrack: Count,
    /// Packets of any kind that a recipe carried (ours; RouterOS has no word for it).
    pub replayed: u64,
    /// `bridge-fast-path-packets`, `-bytes`; bytes are L2 without FCS.
    pub bridge_fast_path: Count,
}
