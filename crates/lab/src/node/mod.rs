//! One RouterOS box: the router, its tools, and the menus of the box itself.
//!
//! ```text
//!  Session ─► Node ─┬─ configure ─► Router ─ ports ══ cables
//!                   ├─ start ─────► Job, polled between two breaths
//!                   └─ status ────► router's, tools' and /system's values
//! ```
//!
//! Pure: time and ports are arguments, so that a box is the same on a thread
//! ([`live`](crate::live)) and in virtual time ([`world`](crate::world)).
//!
//! Never waits, never reads a clock.

mod socket;
mod system;

pub use socket::Socket;
pub use system::Environment;

use config::{
    Call, Item, ItemId, Job, Language, Menu, Progress, Record, Started, Status, Tree, Value,
};
use port::{Port, Slab};
use router::compiler::{Change, Compiler};
use router::status::RouterStatus;
use router::{PortInfo, Router};
use std::collections::BTreeMap;
use system::{IDENTITY, System};
use wire::{MacAddr, Moment};

/// A router with its tools.
pub struct Node {
    router: Router,
    system: System,
    tree: Tree,
}

/// All menus of a node, those that others refer to first.
pub fn menus() -> Vec<&'static Menu> {
    router::MENUS.iter().copied().chain(system::MENUS).collect()
}

/// All commands of its own.
pub fn commands() -> Vec<&'static config::Command> {
    router::COMMANDS.to_vec()
}

/// The language a node speaks, and these menus beside its own.
pub fn language(others: &[&'static Menu]) -> Language {
    Language::new(menus().into_iter().chain(others.iter().copied()), commands())
}

/// [`Status::check`] of a node's menus, which asks nothing of the running node.
///
/// # Errors
/// RouterOS's words.
pub fn check(menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
    router::status::check(menu, item, tree)
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
        let router = Router::new(infos.collect(), slab);
        let mut tree = router.factory_tree();
        tree.push(&IDENTITY, BTreeMap::from([("name", Value::Text(name.to_string()))]));
        Node { router, system: System::new(environment, now), tree }
    }

    /// One breath of the router and its tools; returns how many frames came in. `ports` are those
    /// it was made with.
    pub fn breathe<P: Port>(&mut self, now: Moment, ports: &mut [P]) -> usize {
        self.router.breathe(now, ports)
    }

    /// Notes how long a breath took, for `cpu-load`.
    #[inline]
    pub fn breathed(&mut self, from: Moment, to: Moment, busy: bool) {
        self.system.breathed(from, to, busy);
    }

    /// When the next breath has something to do, if nothing is received until then.
    pub fn next_due(&self, now: Moment) -> Moment {
        self.router.next_due(now)
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

    fn adopt(&mut self, tree: &mut Tree, _now: Moment) {
        std::mem::swap(&mut self.tree, tree);
    }

    /// Starts one of the [`commands`].
    ///
    /// # Errors
    /// RouterOS's words.
    pub fn start(&mut self, call: &Call, now: Moment) -> Result<Started<Node>, String> {
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
        NodeStatus { router: self.router.status(now), system: &self.system, now }
    }
}

/// A job of the router's, in its node.
struct OfRouter(Box<dyn Job<Router>>);

impl Job<Node> for OfRouter {
    fn poll(
        &mut self,
        node: &mut Node,
        now: Moment,
        out: &mut Vec<Record>,
    ) -> Result<Progress, String> {
        self.0.poll(&mut node.router, now, out)
    }

    fn wants_file(&mut self) -> Option<String> {
        self.0.wants_file()
    }

    fn give_file(&mut self, content: Result<Vec<u8>, String>) {
        self.0.give_file(content);
    }

    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        self.0.take_files()
    }

    fn stop(&mut self, node: &mut Node, now: Moment) {
        self.0.stop(&mut node.router, now);
    }
}

/// A locally administered address for each port of each node of a lab.
fn port_mac(node: u8, port: usize) -> MacAddr {
    MacAddr([0x02, 0, 0, node, (port >> 8) as u8, port as u8])
}

/// A node as the console sees it at one moment.
pub struct NodeStatus<'a> {
    router: RouterStatus<'a>,
    system: &'a System,
    now: Moment,
}

fn is_system(menu: &Menu) -> bool {
    menu.path.starts_with("/system ")
}

impl Status for NodeStatus<'_> {
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        if is_system(menu) {
            return self.system.value(menu, property, self.now);
        }
        self.router.value(menu, item, property)
    }

    fn remark(&self, menu: &Menu, item: &Item) -> Option<String> {
        self.router.remark(menu, item)
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        if is_system(menu) {
            return self.system.dynamic(menu);
        }
        self.router.dynamic(menu)
    }

    fn dynamic_page(&self, menu: &Menu, after: Option<ItemId>, max: usize) -> Vec<Item> {
        if is_system(menu) {
            let all = self.system.dynamic(menu);
            return if after.is_none() { all } else { Vec::new() };
        }
        self.router.dynamic_page(menu, after, max)
    }

    fn check(&self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        check(menu, item, tree)
    }

    fn banner(&self) -> Vec<String> {
        self.router.banner()
    }
}
