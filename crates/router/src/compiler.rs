//! The control side: from a configuration to what changes in the router.
//!
//! ```text
//!  control side, any thread                      data plane, between two breaths
//!
//!  Tree ─► Compiler::compile ─► Change ────────► Router::apply     what is new goes in
//!              ▲                                     │
//!              └─ Compiler::taken_over ◄─ Change ◄───┘             what was there comes out
//! ```
//!
//! Compiling takes time proportional to the menus that changed (milliseconds for 25,000 queues) and
//! touches nothing of the router. [`Router::apply`] swaps: it takes time proportional to what
//! changed, microseconds for one rule or queue among many, allocates and frees nothing large, and
//! leaves in the change what was there before, for the control side to drop. So a device whose
//! thread forwards keeps its router behind a gate, and its sessions do this:
//!
//! ```text
//! let mut compiler = router.take_compiler();           once; keep it with the configuration, locked
//! let mut change = compiler.compile(session.tree());   on the session's own thread
//! gate.enter().router.apply(&mut change, now)?;        the only part for which packets wait
//! compiler.taken_over(change);                         the old program is dropped here
//! ```
//!
//! A change says what leads from the last one taken over to its tree, so they are compiled and
//! applied one at a time. One that was refused, or never applied, is dropped; the router and the
//! compiler are then as they were.
//!
//! [`Router::configure`] does all of it at once, on one thread.
//!
//! [`Router::apply`]: crate::Router::apply
//! [`Router::configure`]: crate::Router::configure

use crate::book::Fresh;
use crate::counter::CounterId;
use crate::firewall::address_list::AddressLists;
use crate::firewall::compile::Setting;
use crate::firewall::connection::menu::TRACKING;
use crate::firewall::filter::Filter;
use crate::firewall::menu::{ADDRESS_LIST, FILTER, NAT};
use crate::firewall::nat::Nat;
use crate::firewall::state::SlotId;
use crate::interface::bridge;
use crate::interface::bridge::menu::{BRIDGE, PORT, SETTINGS as BRIDGE_SETTINGS};
use crate::interface::menu::ETHERNET;
use crate::interface::{Interfaces, Link, list, vlan};
use crate::ip::menu::{ADDRESS, ARP, ROUTE, SETTINGS};
use crate::ip::route::{self, Ways};
use crate::ip::{address, arp};
use crate::program::{Books, PortInfo, Program};
use crate::queue::menu::SIMPLE;
use crate::queue::{self, QueueId, Simple};
use crate::recipe::Difference;
use config::{ItemId, Menu, Tree};
use std::collections::HashSet;
use std::sync::Arc;

/// Compiles configurations for one router; knows what the router has.
#[derive(Debug)]
pub struct Compiler {
    ports: Vec<PortInfo>,
    /// What is known of their links.
    links: Arc<[Link]>,
    /// How many changes were taken over.
    taken_over: u64,
    last: Option<State>,
    /// For how many queues the router has room.
    room: usize,
    /// The counters of rules that are gone: recipes may still count with them.
    removed: Vec<CounterId>,
    /// Those whose recipes are forgotten, but not yet folded.
    forgotten: Vec<CounterId>,
}

/// The menus that interfaces and their names are compiled of.
const INTERFACE_MENUS: &[&Menu] =
    &[&ETHERNET, &BRIDGE, &PORT, &bridge::vlan::VLAN, &vlan::VLAN, &list::LIST, &list::MEMBER];

/// What a change leads to: from which the next one starts.
#[derive(Debug)]
struct State {
    tree: Tree,
    program: Arc<Program>,
    /// The program's, and which numbers are free again.
    books: Books,
    ways: Arc<Ways>,
}

/// What changes in the router: everything that takes time is done.
#[derive(Debug)]
pub struct Change {
    /// The first has number 1.
    pub(crate) number: u64,
    pub(crate) program: Arc<Program>,
    pub(crate) counters: Fresh<CounterId>,
    pub(crate) slots: Fresh<SlotId>,
    pub(crate) queues: queue::Change,
    pub(crate) routes: Option<route::Change>,
    pub(crate) neighbours: Option<arp::Typed>,
    /// Some interface or bridge changed.
    pub(crate) interfaces: bool,
    pub(crate) effect: Effect,
    /// The router has it.
    pub(crate) applied: bool,
    /// Nothing was left to fold of the recipes that earlier changes made the router forget.
    pub(crate) settled: bool,
    next: State,
    removed: Vec<CounterId>,
}

/// What a change means for what flows have learnt.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Nothing: packets fare as before.
    Nothing,
    /// Some may fare otherwise; each flow finds out by itself.
    Some(Difference),
    /// All is to be learnt anew.
    All,
}

/// More counters than this do not wait for the next time all is learnt anew.
const MAX_REMOVED: usize = 4096;

impl Compiler {
    pub(crate) fn new(ports: Vec<PortInfo>) -> Compiler {
        let links = ports.iter().map(|_| Link::default()).collect();
        Compiler {
            ports,
            links,
            taken_over: 0,
            last: None,
            room: 0,
            removed: Vec::new(),
            forgotten: Vec::new(),
        }
    }

    /// Notes what has become of a port's link, and compiles what follows from it under the
    /// configuration that was taken over last, to be applied like any change; `None` if it is as it
    /// was. If the change is never applied, the next one brings it.
    ///
    /// # Panics
    /// If there is no such port, or no change was ever taken over.
    pub fn set_link(&mut self, port: usize, link: Link) -> Option<Change> {
        let mut links = self.links.to_vec();
        links[port] = link;
        if *links == *self.links {
            return None;
        }
        self.links = links.into();
        let tree = self.last.as_ref().expect("a configuration").tree.clone();
        Some(self.compile(&tree))
    }

    /// What leads from the configuration that was taken over last to this one. What refers to
    /// nothing (an interface that is gone) is left out: the interpreter refuses such lines, and a
    /// rule so broken is marked invalid.
    pub fn compile(&self, tree: &Tree) -> Change {
        let last = self.last.as_ref();
        let same = |menus: &[&Menu]| {
            let same = |last: &State, menu: &Menu| tree.shares(&last.tree, menu.path);
            last.is_some_and(|last| menus.iter().all(|menu| same(last, menu)))
        };
        let gone = |menu| last.map_or(Vec::new(), |last| gone(&last.tree, tree, menu));
        let mut program = last.map_or_else(Program::empty, |last| Program {
            books: last.books.clone(),
            ..Program::clone(&last.program)
        });

        let mut removed = Vec::new();
        for item in [&FILTER, &NAT, &bridge::filter::menu::FILTER].into_iter().flat_map(gone) {
            removed.extend(program.books.counters.remove(item));
            let slot = program.books.slots.remove(item);
            program.books.slots.reuse(slot);
        }
        let books = &mut program.books.queues;
        let gone_queues: Vec<QueueId> =
            gone(&SIMPLE).into_iter().filter_map(|item| books.remove(item)).collect();
        books.reuse(gone_queues.iter().copied());

        let same_links = last.is_some_and(|last| last.program.links == self.links);
        let same_interfaces = same_links && same(INTERFACE_MENUS);
        if !same_interfaces {
            let ids = &mut program.books.interfaces;
            let interfaces = Interfaces::compile(tree, &self.ports, &self.links, ids);
            program.set_interfaces(interfaces);
            program.links = self.links.clone();
        }
        let same_addresses = same_interfaces && same(&[&ADDRESS]);
        if !same_addresses {
            program.addresses = address::read(tree, &program.names);
            program.own_sources = address::OwnSources::of(&program.addresses);
        }
        let same_bridge_filter = compile_rules(tree, &mut program, same_interfaces, &same);
        let same_queues = same_interfaces && same(&[&SIMPLE]);
        if !same_queues {
            let queues = Simple::compile(tree, &program.names, &mut program.books.queues);
            program.queues = Arc::new(queues);
        }
        program.set_settings(tree);

        let none = Arc::default();
        let old_queues = last.map_or(&none, |last| &last.program.queues);
        let book = &mut program.books.queues;
        let mut queues = queue::Change::between(old_queues, &program.queues, gone_queues, book);
        if queues.queues() > self.room {
            queues.make_room();
        }
        let same_routes = same_addresses && same(&[&ROUTE]);
        let old_ways = last.map_or_else(Arc::default, |last| last.ways.clone());
        let routes = (!same_routes).then(|| {
            let (enabled, runs) = (|i| program.is_enabled(i), |i| program.runs(i));
            let candidates =
                address::routes(tree, &program.names, &program.addresses, enabled, runs);
            route::Change::between(&old_ways, candidates)
        });
        let same_settings = same(&[&SETTINGS, &TRACKING, &BRIDGE_SETTINGS]);
        let same_neighbours = same_interfaces && same_settings && same(&[&ARP]);
        let neighbours = (!same_neighbours).then(|| arp::typed(tree, &program));
        let (counters, slots) =
            (program.books.counters.take_fresh(), program.books.slots.take_fresh());
        let ways = routes.as_ref().map_or(old_ways, |routes| routes.ways().clone());
        let books = program.books.clone();
        let program = Arc::new(program);
        let next = State { tree: tree.clone(), program: program.clone(), books, ways };
        let all = !(same_bridge_filter && same_routes && same_neighbours)
            || self.removed.len() + removed.len() > MAX_REMOVED;
        let effect = match last {
            Some(last) if !all => Effect::of(&last.program, &program, same_queues),
            _ => Effect::All,
        };
        Change {
            number: self.taken_over + 1,
            program,
            counters,
            slots,
            queues,
            routes,
            neighbours,
            interfaces: !same_interfaces,
            effect,
            applied: false,
            settled: false,
            next,
            removed,
        }
    }

    /// The router has applied the change; from here the next one starts. What it took out of the
    /// router is dropped.
    ///
    /// # Panics
    /// If the change was not applied, or is not the last one compiled here.
    pub fn taken_over(&mut self, change: Change) {
        assert!(change.applied, "change {} was not applied", change.number);
        assert_eq!(change.number, self.taken_over + 1, "change taken over");
        self.taken_over = change.number;
        self.room = self.room.max(change.queues.room());
        let mut next = change.next;
        // A counter is given to another rule when no recipe speaks of it any more: they are
        // forgotten, and what they counted is folded.
        if change.settled {
            next.books.counters.reuse(self.forgotten.drain(..));
        }
        self.removed.extend(change.removed);
        if matches!(change.effect, Effect::All) {
            self.forgotten.append(&mut self.removed);
        }
        self.last = Some(next);
    }
}

/// Compiles the tables whose rules, or what these refer to, changed; says whether the
/// bridge's did not.
fn compile_rules(
    tree: &Tree,
    program: &mut Program,
    same_interfaces: bool,
    same: &impl Fn(&[&Menu]) -> bool,
) -> bool {
    let books = &mut program.books;
    let same_bridge_filter = same_interfaces && same(&[&bridge::filter::menu::FILTER]);
    if !same_bridge_filter {
        let names = &program.names;
        let (book, slots) = (&mut books.counters, &mut books.slots);
        let filter = bridge::filter::Filter::compile(tree, names, book, slots);
        program.bridge_looks_at = filter.looks_at();
        program.bridge_filter = Arc::new(filter);
    }
    let same_lists = same(&[&ADDRESS_LIST]);
    if !same_lists {
        program.lists = Arc::new(AddressLists::compile(tree));
    }
    let mut setting = Setting {
        tree,
        lists: &program.lists,
        names: &program.names,
        use_ip_firewall: false,
        book: &mut books.counters,
        slots: &mut books.slots,
    };
    let same_filter = same_interfaces && same_lists && same(&[&FILTER]);
    if !same_filter {
        program.filter = Arc::new(Filter::compile(&mut setting));
    }
    let same_nat = same_interfaces && same_lists && same(&[&NAT]);
    if !same_nat {
        program.nat = Arc::new(Nat::compile(&mut setting));
    }
    same_bridge_filter
}

impl Effect {
    /// What it means when only filter, NAT and queues have changed. NAT rules are asked by a
    /// connection's first packet alone, which has no recipe yet.
    fn of(old: &Program, new: &Program, same_queues: bool) -> Effect {
        // Which quick ways are open decides how packets are counted.
        if (old.tracking, old.stateless, &old.unmet) != (new.tracking, new.stateless, &new.unmet) {
            return Effect::All;
        }
        match old.filter.differences(&new.filter, Difference::MAX_GATES) {
            None => Effect::All,
            Some(gates) if gates.is_empty() && same_queues => Effect::Nothing,
            Some(gates) => Effect::Some(Difference { gates, queues: !same_queues }),
        }
    }
}

/// The items of a menu that are no longer there.
fn gone(old: &Tree, new: &Tree, menu: &Menu) -> Vec<ItemId> {
    let (old, new) = (old.items(menu.path), new.items(menu.path));
    // An edit leaves them all where they were.
    let same = old.iter().zip(new).take_while(|(old, new)| old.id == new.id).count();
    let (old, new) = (&old[same..], &new[same..]);
    if old.is_empty() {
        return Vec::new();
    }
    let new: HashSet<ItemId> = new.iter().map(|item| item.id).collect();
    old.iter().map(|item| item.id).filter(|id| !new.contains(id)).collect()
}
