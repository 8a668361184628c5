//! One RouterOS box: the router, its tools, and the menus of the box itself.
//!
//! ```text
//!  Session ─► Node ─┬─ configure ─► Router ─────── ports ══ cables
//!                   ├─ start ─────► Job            │
//!                   └─ status          Generator ──┘ takes its own frames first
//! ```
//!
//! Pure: time and ports are arguments, so that a box is the same on a thread
//! ([`live`](crate::live)) and in virtual time (`lab::world`).
//!
//! Never waits, never reads a clock.

mod errand;
mod off;
mod router_generator;
mod socket;
mod system;

pub use errand::{Errand, Script};
pub use socket::Socket;
pub use system::Environment;

use config::{Call, Item, ItemId, Language, Menu, Started, Status, Tree, Value};
use errand::{Calendar, Errands, is_errands};
use generator::Generator;
use port::{Pool, Port, PortCounters, Slab};
use router::compiler::{Change, Compiler};
use router::status::RouterStatus;
use router::system::IDENTITY;
use router::{PortInfo, Router};
use router_generator::{Around, OfRouter, is_generators};
use std::collections::BTreeMap;
use system::System;
use wire::{MacAddr, Moment};

/// A router with its tools.
pub struct Node {
    router: Router,
    generator: Generator,
    /// The generator's frames.
    pool: Pool,
    system: System,
    errands: Errands,
    tree: Tree,
    /// Scratch: what the ports had sent before the generator did.
    before: Vec<PortCounters>,
    /// Whether the generator was running in the last breath.
    generates: bool,
}

/// All menus of a node, those that others refer to first.
pub fn menus() -> Vec<&'static Menu> {
    let own = system::MENUS.into_iter().chain(errand::MENUS).chain(off::MENUS);
    router::MENUS.iter().copied().chain(generator::MENUS).chain(own).collect()
}

/// All commands of its own.
pub fn commands() -> Vec<&'static config::Command> {
    router::COMMANDS
        .iter()
        .chain(&generator::COMMANDS)
        .copied()
        .chain([&errand::RUN, &errand::CONFIRM])
        .collect()
}

/// The language a node speaks, and these menus beside its own.
pub fn language(others: &[&'static Menu]) -> Language {
    let language = Language::new(menus().into_iter().chain(others.iter().copied()), commands());
    language.with_versions(router::version::translate)
}

/// [`Status::check`] of a menu that asks nothing of the running node: all but the generator's, of
/// which this is `None`.
pub fn check(menu: &Menu, item: &Item, tree: &Tree) -> Option<Result<(), String>> {
    (!is_generators(menu.path)).then(|| router::status::check(menu, item, tree))
}

/// What a node of this configuration is called: `/system identity`.
pub fn name(tree: &Tree) -> String {
    let name = tree.settings(IDENTITY.path).and_then(|item| item.get("name"));
    name.map_or(IDENTITY.properties[0].default.to_string(), ToString::to_string)
}

impl Node {
    /// A box of this name with ports `ether1`, `ether2` …; its frames come from `slab`. No two
    /// nodes of a lab have the same `number`, which makes their MAC addresses.
    ///
    /// # Panics
    /// If there are no ports, or more than 1,000.
    pub fn new(
        name: &str,
        number: u8,
        ports: usize,
        slab: &Slab,
        environment: Environment,
        now: Moment,
    ) -> Node {
        let infos = (1..=ports).map(|i| PortInfo {
            name: format!("ether{i}"),
            mac: port_mac(number, i),
            capabilities: port::Capabilities::default(),
        });
        Node::with_ports(name, infos.collect(), slab, environment, now)
    }

    /// A box of this name with these ports; its frames come from `slab`.
    ///
    /// # Panics
    /// If there are no ports, or more than 1,000.
    pub fn with_ports(
        name: &str,
        ports: Vec<PortInfo>,
        slab: &Slab,
        environment: Environment,
        now: Moment,
    ) -> Node {
        let before = vec![PortCounters::default(); ports.len()];
        let mut router = Router::new(ports, slab);
        // Rules with `time` go by /system clock.
        router.set_clock(environment.boot.saturating_sub(now.as_nanos() / 1_000_000_000));
        let mut tree = router.factory_tree();
        tree.push(&IDENTITY, BTreeMap::from([("name", Value::Text(name.to_string()))]));
        let pool = slab.pool();
        let (generator, system) = (Generator::new(), System::new(environment, now));
        let (errands, generates) = (Errands::default(), false);
        let mut node = Node { router, generator, pool, system, errands, tree, before, generates };
        node.generator.configure(&node.tree, now, &mut Around(&mut node.router));
        node
    }

    /// Where its random choices start from: rules with `random`, what a test varies.
    pub fn set_seed(&mut self, seed: u64) {
        self.router.set_seed(seed);
        self.generator.set_seed(seed);
    }

    /// One breath of the router and its tools; returns how many frames came in. `ports` are those
    /// it was made with.
    #[inline]
    pub fn breathe<P: Port>(&mut self, now: Moment, ports: &mut [P]) -> usize {
        self.generator.attend(now, &mut Around(&mut self.router));
        if self.errands.due().is_some_and(|due| due <= now) {
            self.errands.attend(&self.tree, &mut self.router, now);
        }
        if self.generates != self.generator.is_running() {
            self.generates = !self.generates;
            self.close_fast_path(self.generates);
        }
        if self.generator.next_due(now).is_none() {
            return self.router.breathe(now, ports);
        }
        // First what has come, then what is to go: what this breath sends may come back while it goes
        // on, and must not seem to have taken no time at all.
        let received = self.router.breathe_beside(now, ports, |port, pool, batch| {
            self.generator.take(now, port, pool, batch);
        });
        self.before.iter_mut().zip(&*ports).for_each(|(before, port)| *before = port.counters());
        self.generator.poll(now, &mut self.pool, ports);
        for (at, (before, port)) in self.before.iter().zip(&*ports).enumerate() {
            let after = port.counters();
            let bytes = after.tx_byte - before.tx_byte;
            self.router.count_sent(at, after.tx_packet - before.tx_packet, bytes);
        }
        received
    }

    /// A generator that runs has the router's FastPath for itself.
    #[cold]
    fn close_fast_path(&mut self, close: bool) {
        const WHY: &str = "/tool traffic-generator is running";
        if close {
            self.router.close_fast_path(WHY);
        } else {
            self.router.reopen_fast_path(WHY);
        }
    }

    /// Says that a session has the node between two breaths, or has it no longer.
    pub(crate) fn in_session(&mut self, begins: bool) {
        self.router.in_session(begins);
    }

    /// Notes how long a breath took, for `cpu-load`.
    #[inline]
    pub fn breathed(&mut self, from: Moment, to: Moment, busy: bool) {
        self.system.breathed(from, to, busy);
    }

    /// When the next breath has something to do, if nothing is received until then.
    pub fn next_due(&self, now: Moment) -> Moment {
        let router = self.router.next_due(now);
        let beside = [self.generator.next_due(now), self.errand_due(now)].into_iter().flatten();
        beside.fold(router, |first, due| due.max(now).min(first))
    }

    /// The same without the router's chores, if there is anything else.
    pub fn next_errand(&self, now: Moment) -> Option<Moment> {
        let beside = [self.generator.next_due(now), self.errand_due(now)];
        [self.router.next_errand(now)].into_iter().chain(beside).flatten().min()
    }

    /// When a script is due; one that waits to be run is, a little later, so that one that wants
    /// itself again does not stop time.
    fn errand_due(&self, now: Moment) -> Option<Moment> {
        const SOON: std::time::Duration = std::time::Duration::from_millis(1);
        let waits = self.errands.is_waiting() || self.router.has_scripts();
        let soon = waits.then(|| now + SOON);
        [self.errands.due(), soon].into_iter().flatten().min()
    }

    /// The router.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// The router, for tests and tools.
    pub fn router_mut(&mut self) -> &mut Router {
        &mut self.router
    }

    /// The configuration as it is.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Compiles and takes over a configuration, between two breaths.
    ///
    /// # Errors
    /// `failure: …`; nothing has changed then.
    ///
    /// # Panics
    /// If somebody [took the compiler](Self::take_compiler).
    pub fn configure(&mut self, tree: &Tree, now: Moment) -> Result<(), String> {
        self.router.configure(tree, now).map_err(|error| format!("failure: {error}"))?;
        self.adopt(&mut tree.clone(), now);
        Ok(())
    }

    /// The router's compiler, to be used on another thread; from now on changes come by
    /// [`apply`](Self::apply).
    ///
    /// # Panics
    /// If somebody took it before.
    pub fn take_compiler(&mut self) -> Compiler {
        self.router.take_compiler()
    }

    /// Takes over a configuration that was compiled, between two breaths; what was there before is
    /// in both arguments afterwards, to be dropped where nobody waits.
    ///
    /// # Errors
    /// `failure: …`; nothing has changed then.
    ///
    /// # Panics
    /// If the change was compiled from another state.
    pub fn apply(
        &mut self,
        change: &mut Change,
        tree: &mut Tree,
        now: Moment,
    ) -> Result<(), String> {
        self.router.apply(change, now).map_err(|error| format!("failure: {error}"))?;
        self.adopt(tree, now);
        Ok(())
    }

    fn adopt(&mut self, tree: &mut Tree, now: Moment) {
        std::mem::swap(&mut self.tree, tree);
        if router_generator::concerns(tree, &self.tree) {
            self.generator.configure(&self.tree, now, &mut Around(&mut self.router));
        }
        if Errands::concerns(tree, &self.tree) {
            let System { environment, started, .. } = &self.system;
            let calendar = Calendar { started: *started, boot: environment.boot };
            self.errands.configure(&self.tree, &mut self.router, calendar, now);
        }
    }

    /// Starts one of the [`commands`].
    ///
    /// # Errors
    /// RouterOS's words.
    pub fn start(&mut self, call: &Call, now: Moment) -> Result<Started<Node>, String> {
        if is_generators(call.command.menu) {
            return generator::start(self, call, now);
        }
        if call.command.name == errand::CONFIRM.name {
            return self.errands.confirm();
        }
        if is_errands(call.command.menu) {
            return self.errands.run(&self.tree, call);
        }
        Ok(match self.router.start(call, &self.tree, now)? {
            Started::Done(reply) => Started::Done(reply),
            Started::Job(job) => Started::Job(Box::new(OfRouter(job))),
        })
    }

    /// Adds a line to the log.
    pub fn log(&mut self, now: Moment, topics: &str, message: &str) {
        self.router.log_message(now, topics, message);
    }

    /// What the console shows now.
    pub fn status(&mut self, now: Moment) -> NodeStatus<'_> {
        let Node { router, generator, system, errands, .. } = self;
        NodeStatus { router: router.status(now), generator, system, errands, now }
    }
}

/// A locally administered address for each port of each node of a lab.
pub fn port_mac(node: u8, port: usize) -> MacAddr {
    MacAddr([0x02, 0, 0, node, (port >> 8) as u8, port as u8])
}

/// A node as the console sees it at one moment.
pub struct NodeStatus<'a> {
    router: RouterStatus<'a>,
    generator: &'a Generator,
    system: &'a System,
    errands: &'a Errands,
    now: Moment,
}

impl NodeStatus<'_> {
    /// Whose menu it is, if not the box's own.
    fn facility(&self, menu: &Menu) -> &dyn Status {
        if is_generators(menu.path) { self.generator } else { &self.router }
    }
}

fn is_system(menu: &Menu) -> bool {
    system::MENUS.iter().any(|own| own.path == menu.path)
}

impl Status for NodeStatus<'_> {
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        if is_errands(menu.path) {
            return self.errands.value(menu, item?, property, self.now);
        }
        if is_system(menu) {
            return self.system.value(menu, property, (self.now, self.router.unix()));
        }
        self.facility(menu).value(menu, item, property)
    }

    fn remark(&self, menu: &Menu, item: &Item) -> Option<String> {
        self.facility(menu).remark(menu, item)
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        if is_errands(menu.path) {
            return Vec::new();
        }
        if is_system(menu) {
            return self.system.dynamic(menu);
        }
        self.facility(menu).dynamic(menu)
    }

    fn dynamic_page(&self, menu: &Menu, after: Option<ItemId>, max: usize) -> Vec<Item> {
        if is_system(menu) {
            let all = self.system.dynamic(menu);
            return if after.is_none() { all } else { Vec::new() };
        }
        self.facility(menu).dynamic_page(menu, after, max)
    }

    fn dynamic_item(&self, menu: &Menu, id: ItemId) -> Option<Item> {
        if is_system(menu) {
            return self.system.dynamic(menu).into_iter().find(|item| item.id == id);
        }
        self.facility(menu).dynamic_item(menu, id)
    }

    fn check(&self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        self.facility(menu).check(menu, item, tree)
    }

    fn factory(&self, menu: &Menu) -> Vec<BTreeMap<&'static str, Value>> {
        self.facility(menu).factory(menu)
    }

    fn banner(&self) -> Vec<String> {
        self.router.banner()
    }
}
