//! One router: its program, its state, and the breath that moves frames.
//!
//! ```text
//! breathe:  for each port: receive ─► fast (batch) ─┬─► outboxes ─► send
//!                                      └─ slow (one)┘
//!           timers
//! ```
//!
//! Owned by one core. Everything that happens comes in by [`Router::apply`] (a change of the
//! configuration, between two breaths) and [`Router::breathe`].

use crate::account::Tally;
use crate::compiler::Compiler;
use crate::counter::{Count, Counters};
use crate::discard::{Discard, Discards};
use crate::fast;
use crate::fast::verdicts::Verdicts;
use crate::firewall::connection::Connections;
use crate::firewall::log::Log;
use crate::firewall::state::RuleState;
use crate::flow::{self, Hop, Leaving};
use crate::interface::InterfaceId;
use crate::interface::bridge::hosts::Hosts;
use crate::interface::link::History;
use crate::ip::feed::Protocol;
use crate::ip::fragment::Reassembly;
use crate::ip::icmp::RateLimit;
use crate::ip::neighbour::{FedNeighbour, Neighbours};
use crate::ip::route::{Routes, Target, TooManyTargets};
use crate::outbox::Outbox;
use crate::program::{PortInfo, Program};
use crate::queue::leaf::Queues;
use crate::recipe::Recipes;
use crate::story::Event;
use crate::tool::Tools;
use crate::tool::profile::{Facility, Profiler};
use crate::trace::Trace;
use config::{Item, Tree};
use port::record::Direction;
use port::{Batch, Frame, Pool, Port, PortCounters, Slab};
use wire::{Ipv4Prefix, Moment};

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
    pub(crate) troubles: Vec<Trouble>,
    /// What became of the links, by port.
    pub(crate) link_histories: Vec<History>,
    /// What the ports themselves had lost when they were last asked, by port.
    lost: Vec<PortCounters>,
    /// Where frames came from and went, for [`Router::frames`].
    pub(crate) tally: Tally,
    pub(crate) paths: PathCounts,
    pub(crate) outboxes: Vec<Outbox>,
    /// The port infos the device was made with.
    pub(crate) ports: Vec<PortInfo>,
    /// Unless somebody took it, to compile elsewhere.
    pub(crate) compiler: Option<Compiler>,
    /// How many changes of the configuration there were.
    pub(crate) changes: u64,
    /// Out of its place while a batch is worked on.
    inbox: Option<Batch>,
    /// When the chores are due that wait for no packet.
    pub(crate) chores_at: Moment,
    /// Empty between two sends.
    outgoing: Batch,
    /// Traces not in use: their memory is used again.
    pub(crate) traces: Vec<Trace>,
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
    /// Scratch for cutting super-frames.
    pub(crate) segments: Vec<Frame>,
    /// What happens to packets on the slow path, while somebody listens.
    pub(crate) story: Option<Vec<Event>>,
    /// Whether only the slow path is used: the reference that faster ones are compared with.
    reference: bool,
    /// What a profile measures.
    pub(crate) profiler: Profiler,
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
        Router::with_room(ports, slab, MAX_ENTRIES)
    }

    /// [`new`](Self::new), with room for `max` connections.
    pub(crate) fn with_room(ports: Vec<PortInfo>, slab: &Slab, max: usize) -> Router {
        assert!((1..=1000).contains(&ports.len()), "{} ports", ports.len());
        let tree = Program::factory_tree(&ports);
        let mut router = Router {
            program: Program::empty(),
            slab: slab.clone(),
            pool: slab.pool(),
            routes: Routes::default(),
            neighbours: Neighbours::default(),
            counters: Counters::default(),
            discards: Discards::default(),
            connections: Connections::new(max),
            reassembly: Reassembly::default(),
            rule_state: RuleState::new(SEED),
            log: Log::new(LOG_LINES),
            queues: Queues::default(),
            recipes: Recipes::default(),
            icmp_limit: RateLimit::default(),
            hosts: Vec::new(),
            interface_counts: Vec::new(),
            troubles: Vec::new(),
            link_histories: vec![History::default(); ports.len()],
            lost: vec![PortCounters::default(); ports.len()],
            paths: PathCounts::default(),
            outboxes: ports.iter().map(|_| Outbox::default()).collect(),
            tally: Tally::default(),
            compiler: Some(Compiler::new(ports.clone())),
            changes: 0,
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
            segments: Vec::new(),
            story: None,
            reference: false,
            profiler: Profiler::default(),
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
        self.recipes.forget();
        self.connections = Connections::new(max);
        self.connections.configure(self.program.connection_settings);
    }

    /// What the router comes with: the tree to start a configuration from.
    pub fn factory_tree(&self) -> Tree {
        Program::factory_tree(&self.ports)
    }

    /// Enters routes from elsewhere (a routing protocol, a file) with the distance of eBGP.
    ///
    /// # Errors
    /// [`TooManyTargets`].
    pub fn feed_routes(
        &mut self,
        routes: impl IntoIterator<Item = (Ipv4Prefix, Target)>,
    ) -> Result<(), TooManyTargets> {
        self.feed(routes.into_iter().map(|(prefix, target)| (prefix, target, Protocol::Bgp)))
    }

    /// The same of any protocol, with the distance it has.
    ///
    /// # Errors
    /// [`TooManyTargets`].
    pub fn feed(
        &mut self,
        routes: impl IntoIterator<Item = (Ipv4Prefix, Target, Protocol)>,
    ) -> Result<(), TooManyTargets> {
        self.recipes.forget();
        self.routes.feed(routes)
    }

    /// Takes fed routes back, between two breaths; returns how many there were.
    pub fn withdraw_routes(&mut self, prefixes: impl IntoIterator<Item = Ipv4Prefix>) -> usize {
        self.recipes.forget();
        prefixes.into_iter().filter(|&prefix| self.routes.unfeed(prefix)).count()
    }

    /// Takes over all the neighbours that somebody else knows now, between two breaths: they stand
    /// in `/ip arp` until they are not told any more. Those on interfaces that do not run are left
    /// out, and so are the router's own addresses.
    pub fn feed_neighbours(
        &mut self,
        now: Moment,
        neighbours: impl IntoIterator<Item = FedNeighbour>,
    ) {
        let program = &self.program;
        let is_there =
            |told: &FedNeighbour| program.runs(told.interface) && !program.is_local(told.address);
        let own = |id| {
            let interface = program.interface(id);
            (interface.mac, interface.mtu)
        };
        let freed = self.neighbours.feed(now, neighbours.into_iter().filter(is_there), own);
        if self.neighbours.take_removed() {
            self.routes.forget_neighbours();
            self.recipes.forget();
        }
        for (interface, address, waiting) in freed {
            flow::to_neighbour(self, now, Hop { interface, address }, waiting);
            self.tools.sent = true;
        }
    }

    /// One breath: receives from every port, forwards, does what is due, sends. `ports` are those
    /// the router was made with, in their order. Returns how many frames came in.
    ///
    /// # Panics
    /// If `ports` are not as many as there were.
    pub fn breathe<P: Port>(&mut self, now: Moment, ports: &mut [P]) -> usize {
        self.breathe_beside(now, ports, |_, _, _| {})
    }

    /// [`breathe`](Self::breathe), with something beside the router that looks first at what a port
    /// (its number) has received, and takes its own frames out.
    ///
    /// # Panics
    /// If `ports` are not as many as there were.
    #[inline]
    pub fn breathe_beside<P: Port>(
        &mut self,
        now: Moment,
        ports: &mut [P],
        mut take: impl FnMut(usize, &mut Pool, &mut Batch),
    ) -> usize {
        assert_eq!(ports.len(), self.ports.len(), "ports given to breathe");
        self.profiler.begin();
        let mut received = 0;
        let mut inbox = self.inbox.take().unwrap_or_default();
        for at in 0..ports.len() {
            let n = ports[at].receive(now, &mut self.pool, &mut inbox);
            if n == 0 {
                continue;
            }
            received += n;
            let id = self.program.ports[at];
            let rx = &mut self.interface_counts[id.index()].rx;
            rx.packets += n as u64;
            rx.bytes += inbox.as_slice().iter().map(|frame| frame.len() as u64).sum::<u64>();
            self.profiler.enter(Facility::Unclassified);
            take(at, &mut self.pool, &mut inbox);
            self.tally.received += inbox.len() as u64;
            if inbox.is_empty() {
                self.profiler.enter(Facility::Ethernet);
                continue;
            }
            if self.tools.taps.any() {
                self.tap(now, id, Direction::In, inbox.as_slice());
            }
            if self.reference {
                self.profiler.settle_in(Facility::Networking);
                for frame in inbox.drain() {
                    flow::physical_in(self, now, id, frame);
                }
            } else {
                fast::receive(self, now, id, &mut inbox);
            }
            self.profiler.enter(Facility::Ethernet);
            self.flush(now, ports);
        }
        self.inbox = Some(inbox);
        if !self.recipes.is_settled() {
            self.recipes.settle(&mut self.counters);
        }
        let due = flow::timers::due(self, now);
        if due {
            self.profiler.enter(Facility::Ethernet);
            self.flush(now, ports);
            self.ask_ports(ports);
        }
        self.profiler.end(received > 0, due);
        received
    }

    /// When the next breath has something to do, if nothing is received until then: chores, a queue
    /// that lets a packet go, or what a tool has sent. Not before `now`.
    pub fn next_due(&self, now: Moment) -> Moment {
        self.next_errand(now).map_or(self.chores_at, |due| due.min(self.chores_at)).max(now)
    }

    /// The same without chores, which may be late where no packets come: `None` if there is nothing
    /// else.
    pub fn next_errand(&self, now: Moment) -> Option<Moment> {
        if self.tools.sent { Some(now) } else { self.queues.next_deadline() }
    }

    /// Where the dice of `random` start from. Two routers of one seed throw alike.
    pub fn set_seed(&mut self, seed: u64) {
        self.rule_state.set_seed(seed);
    }

    /// Makes the slow path take every packet: the reference for differential tests.
    pub fn set_reference(&mut self, reference: bool) {
        self.reference = reference;
    }

    /// Whether it does.
    pub(crate) fn reference(&self) -> bool {
        self.reference
    }

    /// The compiled configuration.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What an interface has seen.
    pub fn interface_counts(&self, id: InterfaceId) -> InterfaceCounts {
        self.interface_counts[id.index()]
    }

    /// What an interface has lost.
    pub fn interface_trouble(&self, id: InterfaceId) -> Trouble {
        self.troubles[id.index()]
    }

    /// How many packets the quick ways took.
    pub fn path_counts(&self) -> PathCounts {
        self.paths
    }

    /// The counters of a menu's rules, in their order.
    pub fn rule_counts(&mut self, menu: &str, tree: &Tree) -> Vec<Count> {
        self.recipes.fold(&mut self.counters);
        let count = |item: &Item| {
            let counter = self.program.books.counters.find(item.id);
            counter.map_or(Count::default(), |id| self.counters.get(id))
        };
        tree.items(menu).iter().map(|item| count(item)).collect()
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

    /// Notes what the ports have lost.
    fn ask_ports<P: Port>(&mut self, ports: &[P]) {
        for ((port, lost), id) in ports.iter().zip(&mut self.lost).zip(&self.program.ports) {
            let counters = port.counters();
            let trouble = &mut self.troubles[id.index()];
            trouble.rx_drop += counters.rx_drop.saturating_sub(lost.rx_drop);
            trouble.rx_error += counters.rx_error.saturating_sub(lost.rx_error);
            trouble.tx_drop += counters.tx_drop.saturating_sub(lost.tx_drop);
            *lost = counters;
        }
    }

    #[inline]
    fn flush<P: Port>(&mut self, now: Moment, ports: &mut [P]) {
        if self.tools.taps.any() {
            self.tap_outboxes(now);
        }
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
