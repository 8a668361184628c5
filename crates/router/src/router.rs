//! One router: its program, its state, and the breath that moves frames.
//!
//! ```text
//! breathe:  for each port: receive ─► fast (batch) ─┬─► outboxes ─► send
//!                                      └─ slow (one)┘
//!           timers
//! ```
//!
//! Owned by one core. Everything that happens comes in by [`Router::configure`] (between two
//! breaths) and [`Router::breathe`].

use crate::account::Tally;
use crate::counter::{Count, CounterBook, Counters};
use crate::discard::{Discard, Discards};
use crate::fast;
use crate::fast::verdicts::Verdicts;
use crate::firewall::connection::{Connections, Flags, FlowId, Tracking};
use crate::firewall::log::Log;
use crate::firewall::rule;
use crate::firewall::state::RuleState;
use crate::firewall::translation;
use crate::flow::{self, Leaving};
use crate::interface::InterfaceId;
use crate::interface::bridge::hosts::{self, Hosts};
use crate::ip::address;
use crate::ip::fragment::Reassembly;
use crate::ip::icmp::RateLimit;
use crate::ip::neighbour::{Neighbours, Request, Waiting};
use crate::ip::route::{Routes, Target, TooManyTargets};
use crate::ip::{arp, icmp};
use crate::outbox::Outbox;
use crate::packet::{ConnectionState, Packet, View};
use crate::program::{Books, InterfaceIds, PortInfo, Program};
use crate::queue::leaf::Queues;
use crate::recipe::Recipes;
use crate::step::Step;
use crate::tool::Tools;
use crate::trace::Trace;
use config::{Item, ItemId, Tree};
use port::{Batch, Frame, Pool, Port, Slab};
use std::collections::{HashMap, HashSet};
use wire::arp::ArpMessage;
use wire::{FiveTuple, Ipv4Prefix, Layers, MacAddr, Moment};

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

/// How many packets the quick ways took. Bytes are IP length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// `ipv4-fast-path-packets`, `-bytes`.
    pub ipv4_fast_path: Count,
    /// `ipv4-fasttrack-packets`, `-bytes`.
    pub ipv4_fasttrack: Count,
    /// Packets of any kind that a recipe carried (ours; RouterOS has no word for it).
    pub replayed: u64,
    /// `bridge-fast-path-packets`, `-bytes`; bytes are L2 without FCS.
    pub bridge_fast_path: Count,
}

/// `max-entries` of the connection table; memory is taken as it is used.
const MAX_ENTRIES: usize = 1 << 20;
/// Firewall log lines kept until somebody takes them.
const LOG_LINES: usize = 1000;
/// What the dice of `random` begin with: a router in virtual time is repeatable.
const SEED: u64 = 0x5eed;

/// A router in memory.
pub struct Router {
    pub(crate) program: Program,
    pub(crate) slab: Slab,
    pub(crate) pool: Pool,
    pub(crate) routes: Routes,
    pub(crate) neighbours: Neighbours,
    pub(crate) counters: Counters,
    pub(crate) book: CounterBook,
    pub(crate) discards: Discards,
    pub(crate) connections: Connections,
    pub(crate) reassembly: Reassembly,
    pub(crate) rule_state: RuleState,
    pub(crate) log: Log,
    pub(crate) queues: Queues<Leaving>,
    pub(crate) recipes: Recipes,
    pub(crate) icmp_limit: RateLimit,
    /// By place of the bridge.
    pub(crate) hosts: Vec<Hosts>,
    pub(crate) interface_counts: Vec<InterfaceCounts>,
    /// Where frames came from and went, for [`Router::frames`].
    pub(crate) tally: Tally,
    pub(crate) paths: PathCounts,
    pub(crate) outboxes: Vec<Outbox>,
    /// The port infos the device was made with.
    pub(crate) ports: Vec<PortInfo>,
    pub(crate) interface_ids: InterfaceIds,
    /// Out of its place while a batch is worked on.
    inbox: Option<Batch>,
    /// When the chores are due that wait for no packet.
    pub(crate) chores_at: Moment,
    /// Empty between two sends.
    outgoing: Batch,
    /// Traces not in use: their memory is used again.
    traces: Vec<Trace>,
    /// What the bridge filter said, by kind of frame.
    pub(crate) verdicts: Verdicts,
    /// Scratch for the bridge filter's walk.
    pub(crate) bridge_trace: Trace,
    /// Scratch for what queues let go.
    pub(crate) released: Vec<Leaving>,
    /// Scratch for flooding.
    pub(crate) targets: Vec<InterfaceId>,
    /// Scratch for fragmentation.
    pub(crate) pieces: Vec<Frame>,
    /// The boxes a packet passes, while somebody wants to know.
    pub(crate) steps: Option<Vec<Step>>,
    /// Whether only the slow path is used: the reference that faster ones are compared with.
    reference: bool,
    /// What tools that run have here.
    pub(crate) tools: Tools,
    /// Why the last packet was dropped on the slow path.
    pub(crate) last_discard: Option<Discard>,
}

impl Router {
    /// A router with these ports, their frames in `slab`, and an empty configuration.
    ///
    /// # Panics
    /// If there are no ports, or more than 1,000.
    pub fn new(ports: Vec<PortInfo>, slab: &Slab) -> Router {
        assert!((1..=1000).contains(&ports.len()), "{} ports", ports.len());
        let tree = Program::factory_tree(&ports);
        let mut ids = InterfaceIds::default();
        let (mut counters, mut book) = (Counters::default(), CounterBook::default());
        let (mut rules, mut queues) = (RuleState::new(SEED), Queues::default());
        let books = Books {
            ids: &mut ids,
            book: &mut book,
            counters: &mut counters,
            rules: &mut rules,
            queues: &mut queues,
        };
        let program = Program::compile(&tree, &ports, books);
        let mut router = Router {
            program,
            slab: slab.clone(),
            pool: slab.pool(),
            routes: Routes::default(),
            neighbours: Neighbours::default(),
            counters,
            book,
            discards: Discards::default(),
            connections: Connections::new(MAX_ENTRIES),
            reassembly: Reassembly::default(),
            rule_state: rules,
            log: Log::new(LOG_LINES),
            queues,
            recipes: Recipes::default(),
            icmp_limit: RateLimit::default(),
            hosts: Vec::new(),
            interface_counts: Vec::new(),
            paths: PathCounts::default(),
            outboxes: ports.iter().map(|_| Outbox::default()).collect(),
            tally: Tally::default(),
            interface_ids: ids,
            ports,
            inbox: None,
            chores_at: Moment::ZERO,
            outgoing: Batch::new(),
            traces: Vec::new(),
            verdicts: Verdicts::default(),
            bridge_trace: Trace::default(),
            released: Vec::new(),
            targets: Vec::new(),
            pieces: Vec::new(),
            steps: None,
            reference: false,
            tools: Tools::default(),
            last_discard: None,
        };
        if let Err(error) = router.configure(&tree, Moment::ZERO) {
            unreachable!("an empty configuration is legal: {error}");
        }
        router
    }

    /// Makes the connection table one for at most `max` connections, an empty one: for a machine
    /// with little memory, and for tests of what happens when it is full.
    pub fn set_max_entries(&mut self, max: usize) {
        self.recipes.forget(&mut self.counters);
        self.connections = Connections::new(max);
        self.connections.configure(self.program.connection_settings);
    }

    /// What the router comes with: the tree to start a configuration from.
    pub fn factory_tree(&self) -> Tree {
        Program::factory_tree(&self.ports)
    }

    /// Takes over a configuration, between two breaths. Connections, neighbours, hosts, queues and
    /// counters stay.
    ///
    /// # Errors
    /// What the interpreter cannot know: more gateways than the FIB can number.
    pub fn configure(&mut self, tree: &Tree, now: Moment) -> Result<(), TooManyTargets> {
        let books = Books {
            ids: &mut self.interface_ids,
            book: &mut self.book,
            counters: &mut self.counters,
            rules: &mut self.rule_state,
            queues: &mut self.queues,
        };
        let mut program = Program::compile(tree, &self.ports, books);
        self.tools.close(&mut program);
        self.interface_counts.resize(self.interface_ids.len(), InterfaceCounts::default());
        let ways = address::routes(tree, &program.names, &program.addresses, |i| program.runs(i));
        self.routes.configure(ways)?;
        let settings = &program.settings;
        self.neighbours.max_entries = settings.max_neighbor_entries;
        self.neighbours.timeout = settings.arp_timeout;
        self.icmp_limit.per_second = settings.icmp_rate_limit;
        self.icmp_limit.mask = settings.icmp_rate_mask;
        self.recipes.forget(&mut self.counters);
        for orphan in arp::configure(&mut self.neighbours, tree, &program) {
            self.discard_frame(orphan.frame, Discard::NeighbourUnreachable);
        }
        if self.neighbours.take_removed() {
            self.routes.forget_neighbours();
        }
        let lives: HashSet<ItemId> = tree.ids().collect();
        self.queues.apply(&program.queues, now, |item| lives.contains(&item));
        self.book.retain(&mut self.counters, |item| lives.contains(&item));
        self.rule_state.retain(|item| lives.contains(&item));
        self.connections.configure(program.connection_settings);
        if program.tracking != self.program.tracking {
            self.connections.clear();
        }
        self.adopt_hosts(&program);
        self.program = program;
        Ok(())
    }

    /// Enters routes from elsewhere (a routing protocol, a file) with the distance of eBGP.
    ///
    /// # Errors
    /// [`TooManyTargets`].
    pub fn feed_routes(
        &mut self,
        routes: impl IntoIterator<Item = (Ipv4Prefix, Target)>,
    ) -> Result<(), TooManyTargets> {
        self.recipes.forget(&mut self.counters);
        self.routes.feed(routes)
    }

    /// Takes fed routes back, between two breaths; returns how many there were.
    pub fn withdraw_routes(&mut self, prefixes: impl IntoIterator<Item = Ipv4Prefix>) -> usize {
        self.recipes.forget(&mut self.counters);
        prefixes.into_iter().filter(|&prefix| self.routes.unfeed(prefix)).count()
    }

    /// One breath: receives from every port, forwards, does what is due, sends. `ports` are those
    /// the router was made with, in their order. Returns how many frames came in.
    ///
    /// # Panics
    /// If `ports` are not as many as there were.
    pub fn breathe<P: Port>(&mut self, now: Moment, ports: &mut [P]) -> usize {
        assert_eq!(ports.len(), self.ports.len(), "ports given to breathe");
        let mut received = 0;
        let mut inbox = self.inbox.take().unwrap_or_default();
        for at in 0..ports.len() {
            let n = ports[at].receive(now, &mut self.pool, &mut inbox);
            if n == 0 {
                continue;
            }
            received += n;
            self.tally.received += n as u64;
            let id = self.program.ports[at];
            let rx = &mut self.interface_counts[id.index()].rx;
            rx.packets += n as u64;
            rx.bytes += inbox.as_slice().iter().map(|frame| frame.len() as u64).sum::<u64>();
            if self.reference {
                for frame in inbox.drain() {
                    flow::physical_in(self, now, id, frame);
                }
            } else {
                fast::receive(self, now, id, &mut inbox);
            }
            self.flush(now, ports);
        }
        self.inbox = Some(inbox);
        if flow::timers::due(self, now) {
            self.flush(now, ports);
        }
        received
    }

    /// When the next breath has something to do, if nothing is received until then: chores, or a
    /// queue that lets a packet go. Not before `now`.
    pub fn next_due(&self, now: Moment) -> Moment {
        let queues = self.queues.next_deadline().unwrap_or(self.chores_at);
        self.chores_at.min(queues).max(now)
    }

    /// Makes the slow path take every packet: the reference for differential tests.
    pub fn set_reference(&mut self, reference: bool) {
        self.reference = reference;
    }

    /// The compiled configuration.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What an interface has seen.
    pub fn interface_counts(&self, id: InterfaceId) -> InterfaceCounts {
        self.interface_counts[id.index()]
    }

    /// How many packets the quick ways took.
    pub fn path_counts(&self) -> PathCounts {
        self.paths
    }

    /// The counters of a menu's rules, in their order.
    pub fn rule_counts(&mut self, menu: &str, tree: &Tree) -> Vec<Count> {
        self.recipes.fold(&mut self.counters);
        let count = |item: &Item| self.book.find(item.id).map(|id| self.counters.get(id));
        tree.items(menu).iter().map(|item| count(item).unwrap_or_default()).collect()
    }

    /// What was dropped, by reason.
    pub fn discards(&self) -> &Discards {
        &self.discards
    }

    /// The routes.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The neighbours.
    pub fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// Notes the boxes that slow-path packets pass from now on; returns those noted so far.
    pub fn watch_steps(&mut self) -> Vec<Step> {
        self.steps.replace(Vec::new()).unwrap_or_default()
    }

    /// Bridges keep their hosts; a new one begins with its own addresses only.
    fn adopt_hosts(&mut self, program: &Program) {
        let old = std::mem::take(&mut self.hosts);
        let mut old: HashMap<_, _> =
            self.program.bridges.iter().map(|bridge| bridge.interface).zip(old).collect();
        for bridge in &program.bridges {
            let mut hosts = old
                .remove(&bridge.interface)
                .unwrap_or_else(|| Hosts::new(bridge.mac.to_u64(), hosts::MAX_HOSTS));
            hosts.remove_where(|_, host| bridge.port(host.port).is_none());
            hosts.set_local(bridge.local_addresses());
            self.hosts.push(hosts);
        }
    }

    #[inline]
    fn flush<P: Port>(&mut self, now: Moment, ports: &mut [P]) {
        for (at, port) in ports.iter_mut().enumerate() {
            let outbox = &mut self.outboxes[at];
            let sent = outbox.flush(now, &mut self.pool, &mut self.outgoing, port);
            if sent.packets != 0 {
                let fast = std::mem::take(&mut outbox.fast);
                let counts = &mut self.interface_counts[self.program.ports[at].index()];
                self.tally.sent += sent.packets;
                counts.tx.merge(sent);
                counts.fast_tx.merge(fast);
            }
        }
    }
}

/// What the boxes of the flow need.
impl Router {
    /// Marks that a packet has entered a box.
    #[inline]
    pub(crate) fn at(&mut self, step: Step) {
        if let Some(steps) = &mut self.steps {
            steps.push(step);
        }
    }

    /// A packet on the slow path.
    pub(crate) fn packet(&mut self, frame: Frame, layers: Layers, port: InterfaceId) -> Packet {
        Packet {
            frame,
            layers,
            malformed: None,
            rest: Vec::new(),
            ip_len: layers.l3_end.saturating_sub(layers.l3),
            port,
            in_interface: port,
            out_interface: InterfaceId::NONE,
            out_port: InterfaceId::NONE,
            bound: InterfaceId::NONE,
            connection_state: ConnectionState::Untracked,
            flow: None,
            new: None,
            related: None,
            translated: None,
            fasttrack: false,
            fast: false,
            trace: self.traces.pop().unwrap_or_default(),
        }
    }

    /// Puts a packet to its end, for a reason.
    pub(crate) fn discard(&mut self, p: Packet, why: Discard) {
        self.discards.add(why);
        self.last_discard = Some(why);
        self.tally.more_pieces += p.rest.len() as u64;
        self.free(p);
    }

    /// Puts a frame to its end, for a reason.
    pub(crate) fn discard_frame(&mut self, frame: Frame, why: Discard) {
        self.discards.add(why);
        self.pool.free(frame);
    }

    /// Frees a packet that has reached its destination: here.
    pub(crate) fn consume(&mut self, p: Packet) {
        self.tally.consumed += 1 + p.rest.len() as u64;
        self.free(p);
    }

    fn free(&mut self, p: Packet) {
        self.pool.free(p.frame);
        for piece in p.rest {
            self.pool.free(piece.frame);
        }
        self.recycle(p.trace);
    }

    /// Keeps a trace's memory for the next packet.
    pub(crate) fn recycle(&mut self, mut trace: Trace) {
        trace.clear();
        self.traces.push(trace);
    }

    pub(crate) fn src_mac(&self, p: &Packet) -> MacAddr {
        let bytes = self.slab.bytes(&p.frame);
        bytes[6..].first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac))
    }

    pub(crate) fn dst_mac(&self, p: &Packet) -> MacAddr {
        self.slab.bytes(&p.frame).first_chunk().map_or(MacAddr::default(), |mac| MacAddr(*mac))
    }

    /// The IPv4 header, options included.
    pub(crate) fn ip_header<'a>(&'a self, p: &'a Packet) -> &'a [u8] {
        let ip = &self.slab.bytes(&p.frame)[usize::from(p.layers.l3)..];
        &ip[..usize::from(ip[0] & 0x0f) * 4]
    }

    /// From the transport header on; empty if there is none.
    pub(crate) fn transport<'a>(&'a self, p: &'a Packet) -> &'a [u8] {
        let (l4, end) = (usize::from(p.layers.l4), usize::from(p.layers.l3_end));
        if l4 == 0 { &[] } else { &self.slab.bytes(&p.frame)[l4..end] }
    }

    /// The TCP reset that answers this segment.
    pub(crate) fn tcp_reset(&mut self, p: &Packet) -> Option<Frame> {
        let slab = self.slab.clone();
        let ip = &slab.bytes(&p.frame)[usize::from(p.layers.l3)..usize::from(p.layers.l3_end)];
        let reset = icmp::tcp_reset(&mut self.pool, ip, &p.layers)?;
        self.tally.made += 1;
        Some(reset)
    }

    pub(crate) fn dont_fragment(&self, p: &Packet) -> bool {
        self.ip_header(p)[6] & 0x40 != 0
    }

    /// Takes one from the TTL; no if it was 0 or 1 (RFC 1812 §5.3.1).
    pub(crate) fn decrement_ttl(&mut self, p: &mut Packet) -> bool {
        let frames = std::iter::once((&mut p.frame, p.layers.l3));
        let rest = p.rest.iter_mut().map(|piece| (&mut piece.frame, piece.layers.l3));
        for (frame, l3) in frames.chain(rest) {
            let ip = &mut self.slab.bytes_mut(frame)[usize::from(l3)..];
            if ip[8] <= 1 {
                return false;
            }
            fast::decrement_ttl(ip);
        }
        p.trace.ttl_taken = 1;
        true
    }

    /// What connection tracking makes of a packet.
    pub(crate) fn track(&mut self, now: Moment, p: &Packet) -> Tracking {
        let slab = &self.slab;
        let frame = slab.bytes(&p.frame);
        if p.rest.is_empty() {
            return self.connections.track(now, frame, &p.layers);
        }
        let rest = p.rest.iter().map(|piece| {
            let start = usize::from(piece.layers.l3) + piece.header_len;
            &slab.bytes(&piece.frame)[start..usize::from(piece.layers.l3_end)]
        });
        self.connections.track_reassembled(now, frame, &p.layers, p.ip_len, rest)
    }

    /// Shows a packet to rules.
    pub(crate) fn with_view<T>(
        &mut self,
        now: Moment,
        p: &mut Packet,
        run: impl FnOnce(&Program, &View, &mut rule::Books) -> T,
    ) -> T {
        let routes = &self.routes;
        let address_type = |address| routes.address_type(address);
        let nat = match (p.flow, &p.new) {
            (_, Some(new)) => new.flags,
            (Some(flow), None) => self.connections.flags_of(flow),
            (None, None) => Flags::default(),
        };
        let view = View {
            frame: self.slab.bytes(&p.frame),
            layers: &p.layers,
            ip_len: p.ip_len,
            in_interface: p.in_interface,
            out_interface: p.out_interface,
            in_bridge_port: if p.port == p.in_interface { InterfaceId::NONE } else { p.port },
            out_bridge_port: p.out_port,
            connection_state: p.connection_state,
            srcnat: nat.has(Flags::SRCNAT),
            dstnat: nat.has(Flags::DSTNAT),
            address_type: &address_type,
        };
        let mut books = rule::Books {
            now,
            state: &mut self.rule_state,
            trace: &mut p.trace,
            counters: &mut self.counters,
            log: &mut self.log,
        };
        run(&self.program, &view, &mut books)
    }

    /// Gives a packet, and all its fragments, another 5-tuple.
    pub(crate) fn rewrite(&mut self, p: &mut Packet, new: FiveTuple) {
        translation::rewrite(self.slab.bytes_mut(&mut p.frame), &mut p.layers, &new);
        for piece in &mut p.rest {
            translation::rewrite(self.slab.bytes_mut(&mut piece.frame), &mut piece.layers, &new);
        }
    }

    /// The length of the longest piece of a packet, which for most is all of it.
    pub(crate) fn longest_piece(&self, p: &Packet) -> u16 {
        let lens = p.rest.iter().map(|piece| piece.layers.l3_end - piece.layers.l3);
        lens.chain([p.layers.l3_end - p.layers.l3]).max().unwrap_or(0)
    }

    /// The flow that keeps a recipe while nothing is tracked.
    pub(crate) fn untracked_flow(&mut self, now: Moment, p: &Packet) -> Option<FlowId> {
        let tuple = p.layers.tuple;
        let known = self.connections.flows().find(tuple.hash(), &tuple);
        known.or_else(|| self.connections.keep_untracked(tuple, now))
    }

    /// Whether `address` is a broadcast address here.
    pub(crate) fn is_broadcast(&self, address: u32) -> bool {
        let target = self.routes.target(self.routes.lookup(address));
        matches!(target, Some(Target::Broadcast))
    }

    /// Whether `address` belongs to a network connected to `interface`: only such may enter the
    /// ARP table.
    pub(crate) fn is_neighbour(&self, interface: InterfaceId, address: u32) -> bool {
        let on = self.program.addresses.iter().filter(|own| own.interface == interface);
        on.into_iter().any(|own| own.network.contains(address))
    }

    /// The address an ICMP error about this packet comes from.
    pub(crate) fn answer_source(&self, p: &Packet) -> Option<u32> {
        if self.program.is_local(p.layers.tuple.dst) {
            return Some(p.layers.tuple.dst);
        }
        address::source(&self.program.addresses, p.in_interface, p.layers.tuple.src)
    }

    pub(crate) fn send_arp_request(&mut self, now: Moment, request: Request) {
        let mac = self.program.interface(request.interface).mac;
        let Some(own) =
            address::source(&self.program.addresses, request.interface, request.address)
        else {
            return;
        };
        let message = ArpMessage::request(mac, own, request.address);
        match arp::frame(&mut self.pool, message, mac, request.to) {
            Some(frame) => {
                self.tally.made += 1;
                flow::link_out(self, now, request.interface, frame, false);
            }
            None => self.discards.add(Discard::NoFrame),
        }
    }

    /// Counts a packet that the IPv4 FastPath handler has carried from end to end.
    pub(crate) fn count_fast_path(&mut self, waiting: &Waiting) {
        let bytes = self.slab.bytes(&waiting.frame);
        let l3 = usize::from(waiting.l3);
        let ip_len = u16::from_be_bytes([bytes[l3 + 2], bytes[l3 + 3]]);
        if !waiting.fasttrack {
            self.paths.ipv4_fast_path.add(ip_len.into());
        }
        self.interface_counts[waiting.in_interface.index()].fast_rx.add(bytes.len() as u64);
    }

    /// A second frame with the same bytes.
    pub(crate) fn copy_frame(&mut self, frame: &Frame) -> Option<Frame> {
        let mut copy = self.pool.alloc(frame.len())?;
        self.tally.made += 1;
        self.slab.bytes_mut(&mut copy).copy_from_slice(self.slab.bytes(frame));
        Some(copy)
    }

    /// A second packet like this one, for another port of a bridge.
    pub(crate) fn copy(&mut self, p: &Packet) -> Option<Packet> {
        let Some(frame) = self.copy_frame(&p.frame) else {
            self.discards.add(Discard::NoFrame);
            return None;
        };
        let mut copy = self.packet(frame, p.layers, p.port);
        (copy.in_interface, copy.out_interface) = (p.in_interface, p.out_interface);
        (copy.fast, copy.malformed) = (p.fast, p.malformed);
        Some(copy)
    }

    /// Whether frames that go out by an interface leave by a port of its own, which is up.
    #[inline]
    pub(crate) fn is_port(&self, interface: InterfaceId) -> bool {
        usize::from(self.program.links[interface.index()].port) < self.outboxes.len()
    }

    /// Puts a frame in its port's outbox.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, interface: InterfaceId, frame: Frame, fast: bool) {
        let link = self.program.links[interface.index()];
        let Some(outbox) = self.outboxes.get_mut(usize::from(link.port)) else {
            return self.discard_frame(frame, Discard::InterfaceDown);
        };
        if fast & link.fast_tx {
            outbox.fast.add(frame.len() as u64);
        }
        outbox.push(frame);
    }
}
