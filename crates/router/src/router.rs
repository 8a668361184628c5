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

use crate::compiler::Compiler;
use crate::counter::Count;
use crate::discard::Discards;
use crate::fast;
use crate::firewall::connection::Connections;
use crate::firewall::matcher::hours::Clock;
use crate::firewall::state::RuleState;
use crate::flow::{self, Hop, Resume};
use crate::interface::InterfaceId;
use crate::interface::link::History;
use crate::ip::fed::{Fed, FedTables};
use crate::ip::feed::Protocol;
use crate::ip::neighbour::{FedNeighbour, Neighbours};
use crate::ip::route::{Routes, Target, TooManyTargets};
use crate::ip::services::Services;
use crate::parts::{InterfaceCounts, Io, Learnt, Links, PathCounts, Stack, Stack6, Stats, Trouble};
use crate::program::{PortInfo, Program};
use crate::queue::leaf::Queues;
use crate::system::logging::{self, Outlet};
use crate::tool::Tools;
use crate::tool::profile::Facility;
use config::{Item, Tree};
use port::record::Direction;
use port::{Batch, Pool, Port, Slab};
use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;
use wire::{Ipv4Prefix, Moment};

/// `max-entries` of the connection table; memory is taken as it is used.
const MAX_ENTRIES: usize = 1 << 20;
/// What the dice of `random` begin with: a router in virtual time is repeatable.
const SEED: u64 = 0x5eed;

/// A router in memory.
pub struct Router {
    /// What the configuration means; nobody changes it, a change brings another.
    pub(crate) program: Arc<Program>,
    pub(crate) io: Io,
    pub(crate) v4: Stack,
    pub(crate) v6: Stack6,
    pub(crate) link: Links,
    /// What queues hold, and their tokens.
    pub(crate) queues: Queues<Resume>,
    /// What rules remember: tokens, turns, dice.
    pub(crate) rules: RuleState,
    pub(crate) learnt: Learnt,
    /// What its services keep: DHCP, names.
    pub(crate) services: Services,
    pub(crate) stats: Stats,
    /// What tools that run have here.
    pub(crate) tools: Tools,
    /// Unless somebody took it, to compile elsewhere.
    pub(crate) compiler: Option<Compiler>,
    /// How many changes of the configuration there were.
    pub(crate) changes: u64,
    /// When the chores are due that wait for no packet.
    pub(crate) chores_at: Moment,
    /// Whether only the slow path is used: the reference that faster ones are compared with.
    reference: bool,
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
        let histories = vec![History::default(); ports.len()];
        let mut router = Router {
            program: Arc::new(Program::empty()),
            v4: Stack::new(max),
            v6: Stack6::new(max),
            link: Links { histories, ..Links::default() },
            queues: Queues::default(),
            rules: RuleState::new(SEED),
            learnt: Learnt::default(),
            services: Services::default(),
            stats: Stats::default(),
            tools: Tools::default(),
            compiler: Some(Compiler::new(ports.clone())),
            changes: 0,
            chores_at: Moment::ZERO,
            reference: false,
            io: Io::new(ports, slab),
        };
        if let Err(error) = router.configure(&tree, Moment::ZERO) {
            unreachable!("an empty configuration is legal: {error}");
        }
        router
    }

    /// Makes the connection table one for at most `max` connections, an empty one: for a machine
    /// with little memory, and for tests of what happens when it is full.
    pub fn set_max_entries(&mut self, max: usize) {
        self.learnt.recipes.forget();
        self.v4.connections = Connections::new(max);
        self.v4.connections.configure(self.program.connection_settings);
        self.v6.connections = Connections::new(max);
        self.v6.connections.configure(self.program.connection_settings);
    }

    /// What the router comes with: the tree to start a configuration from.
    pub fn factory_tree(&self) -> Tree {
        Program::factory_tree(&self.io.ports)
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
        self.learnt.recipes.forget();
        self.v4.routes.feed(routes)
    }

    /// Takes fed routes back, between two breaths; returns how many there were.
    pub fn withdraw_routes(&mut self, prefixes: impl IntoIterator<Item = Ipv4Prefix>) -> usize {
        self.learnt.recipes.forget();
        prefixes.into_iter().filter(|&prefix| self.v4.routes.unfeed(prefix)).count()
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
        let freed = self.v4.neighbours.feed(now, neighbours.into_iter().filter(is_there));
        if self.v4.neighbours.take_removed() {
            self.v4.routes.forget_neighbours();
            self.learnt.recipes.forget();
        }
        for (interface, address, waiting) in freed {
            flow::to_neighbour(self, now, Hop::to(interface, address), waiting);
            self.tools.sent = true;
        }
    }

    /// The same of IPv6: they stand in `/ipv6 neighbor`.
    pub fn feed_neighbours6(
        &mut self,
        now: Moment,
        neighbours: impl IntoIterator<Item = FedNeighbour<u128>>,
    ) {
        let program = &self.program;
        let is_there = |told: &FedNeighbour<u128>| {
            program.runs(told.interface) && !program.v6.is_own(told.interface, told.address)
        };
        let freed = self.v6.neighbours.feed(now, neighbours.into_iter().filter(is_there));
        if self.v6.neighbours.take_removed() {
            self.learnt.recipes.forget();
        }
        for (interface, address, waiting) in freed {
            flow::v6::to_neighbour(self, now, Hop::to(interface, address), waiting);
            self.tools.sent = true;
        }
    }

    /// All routes of IPv6 that somebody else knows now, each prefix once; those fed before are gone. They
    /// are news to the compiler, which makes another table: tens of milliseconds for a hundred thousand.
    pub fn feed6(&mut self, routes: Vec<Fed>) {
        self.services.v6.fed = routes.into();
        crate::ipv6::found::note(self);
    }

    /// The names of the routing tables beside main that the configuration speaks of, or has spoken of.
    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.program.books.marks.routing.iter().map(|(name, _)| name)
    }

    /// All tables beside main and routing rules that somebody else knows now; those fed before are gone. Each
    /// table is that of the routing mark of its name. All are news to the compiler, as of
    /// [`feed6`](Self::feed6).
    pub fn feed_tables(&mut self, fed: FedTables) {
        self.services.fed = fed.into();
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
        assert_eq!(ports.len(), self.io.ports.len(), "ports given to breathe");
        self.tools.profiler.begin();
        self.io.now = now;
        if now >= self.rules.clock.changes {
            self.forget_hours();
        }
        let mut received = 0;
        let mut inbox = self.io.inbox.take().unwrap_or_default();
        for at in 0..ports.len() {
            let n = ports[at].receive(now, &mut self.io.pool, &mut inbox);
            if n == 0 {
                continue;
            }
            received += n;
            let id = self.program.ports[at];
            let rx = &mut self.stats.interface_counts[id.index()].rx;
            rx.packets += n as u64;
            rx.bytes += inbox.as_slice().iter().map(|frame| frame.len() as u64).sum::<u64>();
            self.tools.profiler.enter(Facility::Unclassified);
            take(at, &mut self.io.pool, &mut inbox);
            self.stats.tally.received += inbox.len() as u64;
            if inbox.is_empty() {
                self.tools.profiler.enter(Facility::Ethernet);
                continue;
            }
            if self.tools.taps.any() {
                self.tap(now, id, Direction::In, inbox.as_slice());
            }
            if self.reference {
                self.tools.profiler.settle_in(Facility::Networking);
                for frame in inbox.drain() {
                    flow::enter(self, now, id, frame);
                }
            } else {
                fast::receive(self, now, id, &mut inbox);
            }
            self.tools.profiler.enter(Facility::Ethernet);
            self.flush(now, ports);
        }
        self.io.inbox = Some(inbox);
        if !self.learnt.recipes.is_settled() {
            self.learnt.recipes.settle(&mut self.stats.counters);
        }
        let due = flow::timers::due(self, now);
        if due {
            self.tools.profiler.enter(Facility::Ethernet);
            self.flush(now, ports);
            self.ask_ports(ports);
        }
        if self.has_news() {
            self.follow(now, ports);
        }
        self.tools.profiler.end(received > 0, due);
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
        if self.tools.sent || self.stats.log.has_remote() {
            return Some(now);
        }
        let queues = self.queues.next_deadline().into_iter();
        queues.chain(self.next_bpdu()).chain(self.io.room_at).min()
    }

    /// When a spanning tree's next second is over.
    pub(crate) fn next_bpdu(&self) -> Option<Moment> {
        self.link.trees.iter().flatten().map(|tree| tree.due()).min()
    }

    /// Where the dice of `random` start from. Two routers of one seed throw alike.
    pub fn set_seed(&mut self, seed: u64) {
        self.rules.set_seed(seed);
        self.services.dice.set_seed(seed);
    }

    /// Makes what others must not guess unguessable: transactions and ports of its services. Without
    /// it, they follow from the seed.
    pub fn set_secret(&mut self, secret: RandomState) {
        self.services.dice.set_secret(secret);
    }

    /// What time of day it is: `zero` is [`Moment::ZERO`] in seconds since 1970 (UTC). Rules with
    /// `time` ask.
    pub fn set_clock(&mut self, zero: u64) {
        self.rules.clock.zero = zero;
        self.forget_hours();
    }

    /// What rules with `time` said holds no more.
    #[cold]
    fn forget_hours(&mut self) {
        self.rules.clock.changes = Clock::default().changes;
        self.learnt.recipes.forget();
    }

    /// Takes a line of the log that belongs outside of the router, and says where.
    pub fn take_outside(&mut self) -> Option<(Outlet, String)> {
        let (line, action) = self.stats.log.next_outside()?;
        let logging::Target::Outside(outlet) = &action.target else { return None };
        let at = self.rules.clock.zero + line.at.as_nanos() / 1_000_000_000;
        let (date, time) = (wire::date::date(at), wire::date::clock(at));
        let interfaces = &self.program.interfaces;
        let name = |id: InterfaceId| interfaces.get(id.index()).map(|interface| &*interface.name);
        let text = format!("{date} {time} {} {}", line.topics(), line.display(name));
        Some((outlet.clone(), text))
    }

    /// Whether there is such a line.
    #[inline]
    pub fn has_outside(&self) -> bool {
        self.stats.log.has_outside()
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
        self.stats.interface_counts[id.index()]
    }

    /// What an interface has lost.
    pub fn interface_trouble(&self, id: InterfaceId) -> Trouble {
        let queue = self.program.ports_queue(id);
        let queue_drop = queue.map_or(0, |leaf| self.queues.stats(leaf).dropped);
        Trouble { queue_drop, ..self.stats.troubles.get(&id).copied().unwrap_or_default() }
    }

    /// How many packets the quick ways took.
    pub fn path_counts(&self) -> PathCounts {
        self.stats.paths
    }

    /// The counters of a menu's rules, in their order.
    pub fn rule_counts(&mut self, menu: &str, tree: &Tree) -> Vec<Count> {
        self.learnt.recipes.fold(&mut self.stats.counters);
        let count = |item: &Item| {
            let counter = self.program.books.counters.find(item.id);
            counter.map_or(Count::default(), |id| self.stats.counters.get(id))
        };
        tree.items(menu).iter().map(|item| count(item)).collect()
    }

    /// What was dropped, by reason.
    pub fn discards(&self) -> &Discards {
        &self.stats.discards
    }

    /// The routes.
    pub fn routes(&self) -> &Routes {
        &self.v4.routes
    }

    /// The neighbours.
    pub fn neighbours(&self) -> &Neighbours {
        &self.v4.neighbours
    }

    /// Those of IPv6.
    pub fn neighbours6(&self) -> &Neighbours<u128> {
        &self.v6.neighbours
    }

    /// The entries of address lists that are not configured: list, addresses, and the time left.
    pub fn list_entries(&self, now: Moment) -> Vec<String> {
        let line = |list: &str, address: String, left: Option<Duration>| match left {
            Some(left) => format!("{list} {address} {}s", left.as_secs()),
            None => format!("{list} {address}"),
        };
        let v4 = self.rules.lists.entries(now).into_iter();
        let v4 = v4.map(|entry| line(entry.list, entry.address.to_string(), entry.left));
        let v6 = self.rules.lists6.entries(now).into_iter();
        v4.chain(v6.map(|entry| line(entry.list, entry.address.to_string(), entry.left))).collect()
    }

    /// Takes over what interfaces have come to know, and sends what they have to say then.
    #[cold]
    fn follow<P: Port>(&mut self, now: Moment, ports: &mut [P]) {
        if self.heed(now).is_err() {
            self.stats.log.say(now, "interface,error", "too many gateways");
        }
        if std::mem::take(&mut self.tools.sent) {
            self.flush(now, ports);
        }
    }

    /// Notes what the ports have lost.
    fn ask_ports<P: Port>(&mut self, ports: &[P]) {
        for ((port, lost), id) in ports.iter().zip(&mut self.io.lost).zip(&self.program.ports) {
            let counters = port.counters();
            let trouble = self.stats.troubles.entry(*id).or_default();
            trouble.rx_drop += counters.rx_drop.saturating_sub(lost.rx_drop);
            trouble.rx_error += counters.rx_error.saturating_sub(lost.rx_error);
            trouble.tx_drop += counters.tx_drop.saturating_sub(lost.tx_drop);
            *lost = counters;
        }
    }

    #[inline]
    fn flush<P: Port>(&mut self, now: Moment, ports: &mut [P]) {
        fast::end_run(self);
        if self.tools.taps.any() {
            self.tap_outboxes(now);
        }
        self.io.room_at = None;
        for (at, port) in ports.iter_mut().enumerate() {
            let outbox = &mut self.io.outboxes[at];
            if let Some(leaf) = outbox.queue {
                flow::send_by_queue(self, now, at, leaf, port);
                continue;
            }
            let sent = outbox.flush(now, &mut self.io.pool, &mut self.io.outgoing, port);
            if sent.packets != 0 {
                let fast = std::mem::take(&mut outbox.fast);
                let counts = &mut self.stats.interface_counts[self.program.ports[at].index()];
                self.stats.tally.sent += sent.packets;
                counts.tx.merge(sent);
                counts.fast_tx.merge(fast);
            }
        }
    }
}
