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
use crate::facility::{FACILITIES, Facility, MENUS};
use crate::firewall::mark;
use crate::firewall::state::SlotId;
use crate::interface::pppoe::Session;
use crate::interface::{InterfaceId, Link};
use crate::ip::arp;
use crate::ip::dhcp::client::Leased;
use crate::ip::fed::FedTables;
use crate::ip::gateway::Gateway;
use crate::ip::hotspot::Rated;
use crate::ip::route::{self, Ways};
use crate::ipv6::found::Found;
use crate::program::{Books, PortInfo, Program};
use crate::queue::{self, QueueId, QueueLeafId};
use crate::recipe::Difference;
use config::{ItemId, Menu, Tree};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Compiles configurations for one router; knows what the router has.
#[derive(Debug)]
pub struct Compiler {
    ports: Vec<PortInfo>,
    /// What is known of their links.
    links: Arc<[Link]>,
    /// The interfaces that run by what they know themselves.
    up: Arc<BTreeSet<InterfaceId>>,
    /// The gateways that do not answer.
    silent: Arc<BTreeSet<Gateway>>,
    /// What DHCP clients were given.
    leased: Arc<[Leased]>,
    rated: Arc<[Rated]>,
    /// What was found out of IPv6.
    found: Arc<Found>,
    /// The tables and rules that were fed.
    fed: Arc<FedTables>,
    /// The open sessions.
    sessions: Arc<[Arc<Session>]>,
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

/// What a router has found out by itself since its program was compiled.
#[derive(Clone, Debug)]
pub struct News {
    /// The interfaces that run by what they know themselves.
    pub(crate) up: Arc<BTreeSet<InterfaceId>>,
    /// The gateways that do not answer.
    pub(crate) silent: Arc<BTreeSet<Gateway>>,
    /// What DHCP clients were given.
    pub(crate) leased: Arc<[Leased]>,
    /// Rates of clients of hotspots.
    pub(crate) rated: Arc<[Rated]>,
    /// What was found out of IPv6.
    pub(crate) found: Arc<Found>,
    /// The tables and rules that were fed.
    pub(crate) fed: Arc<FedTables>,
    /// The open sessions.
    pub(crate) sessions: Arc<[Arc<Session>]>,
}

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
            up: Arc::default(),
            silent: Arc::default(),
            leased: Arc::default(),
            rated: Arc::default(),
            found: Arc::default(),
            fed: Arc::default(),
            sessions: Arc::default(),
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

    /// Notes what the router has found out by itself ([`Router::news`]), and compiles what
    /// follows from it, like [`set_link`](Self::set_link).
    ///
    /// # Panics
    /// If no change was ever taken over.
    ///
    /// [`Router::news`]: crate::Router::news
    pub fn set_up(&mut self, news: News) -> Option<Change> {
        let News { up, silent, leased, rated, found, fed, sessions } = news;
        let same = up == self.up && silent == self.silent && found == self.found;
        let same = same && leased == self.leased && fed == self.fed;
        if same && sessions == self.sessions && rated == self.rated {
            return None;
        }
        (self.up, self.silent) = (up, silent);
        (self.leased, self.found, self.fed) = (leased, found, fed);
        (self.sessions, self.rated) = (sessions, rated);
        let tree = self.last.as_ref().expect("a configuration").tree.clone();
        Some(self.compile(&tree))
    }

    /// What leads from the configuration that was taken over last to this one. What refers to
    /// nothing (an interface that is gone) is left out: the interpreter refuses such lines, and a
    /// rule so broken is marked invalid.
    pub fn compile(&self, tree: &Tree) -> Change {
        let last = self.last.as_ref();
        let mut compiling = Compiling::new(self, tree);
        compiling.run();
        let relearn = compiling.compiled.iter().any(|facility| facility.relearn);
        let Compiling {
            mut program,
            ways,
            routes,
            neighbours,
            interfaces,
            removed,
            gone_queues,
            queue_settings,
            ..
        } = compiling;
        program.open_quick_ways();

        let book = &mut program.books.queues;
        let mut queues = queue::Change::new(queue_settings, gone_queues, book);
        if queues.queues() > self.room {
            queues.make_room();
        }
        let (counters, slots) =
            (program.books.counters.take_fresh(), program.books.slots.take_fresh());
        let ways = routes.as_ref().map_or(ways, |routes| routes.ways().clone());
        let books = program.books.clone();
        let program = Arc::new(program);
        let next = State { tree: tree.clone(), program: program.clone(), books, ways };
        let all = relearn || self.removed.len() + removed.len() > MAX_REMOVED;
        let effect = match last {
            Some(last) if !all => Effect::of(&last.program, &program),
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
            interfaces,
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

/// A configuration that is being compiled: what the facilities' `compile` functions work on.
pub(crate) struct Compiling<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) ports: &'a [PortInfo],
    pub(crate) links: &'a Arc<[Link]>,
    pub(crate) up: &'a Arc<BTreeSet<InterfaceId>>,
    pub(crate) silent: &'a Arc<BTreeSet<Gateway>>,
    pub(crate) leased: &'a Arc<[Leased]>,
    /// Rates of clients of hotspots.
    pub(crate) rated: &'a Arc<[Rated]>,
    pub(crate) found: &'a Arc<Found>,
    pub(crate) fed: &'a Arc<FedTables>,
    pub(crate) sessions: &'a Arc<[Arc<Session>]>,
    /// As it was, with what has been compiled by now.
    pub(crate) program: Program,
    /// The ways that the routes were made of.
    pub(crate) ways: Arc<Ways>,
    pub(crate) routes: Option<route::Change>,
    pub(crate) neighbours: Option<arp::Typed>,
    /// Some interface or bridge changed.
    pub(crate) interfaces: bool,
    /// Queues whose items are gone.
    pub(crate) gone_queues: Vec<QueueId>,
    /// Classes of queues that are new or have other settings.
    pub(crate) queue_settings: Vec<(QueueLeafId, queue::Settings)>,
    removed: Vec<CounterId>,
    last: Option<&'a State>,
    /// What was compiled by now.
    compiled: Vec<&'static Facility>,
}

impl<'a> Compiling<'a> {
    fn new(compiler: &'a Compiler, tree: &'a Tree) -> Compiling<'a> {
        let last = compiler.last.as_ref();
        let program = last.map_or_else(Program::empty, |last| Program {
            books: last.books.clone(),
            ..Program::clone(&last.program)
        });
        Compiling {
            tree,
            ports: &compiler.ports,
            links: &compiler.links,
            up: &compiler.up,
            silent: &compiler.silent,
            leased: &compiler.leased,
            rated: &compiler.rated,
            found: &compiler.found,
            fed: &compiler.fed,
            sessions: &compiler.sessions,
            program,
            ways: last.map_or_else(Arc::default, |last| last.ways.clone()),
            routes: None,
            neighbours: None,
            interfaces: false,
            gone_queues: Vec::new(),
            queue_settings: Vec::new(),
            removed: Vec::new(),
            last,
            compiled: Vec::new(),
        }
    }

    /// Compiles the facilities whose menus have changed, or what they are made of.
    fn run(&mut self) {
        let differs =
            |menu: &&&Menu| self.last.is_none_or(|last| !self.tree.shares(&last.tree, menu.path));
        let mut marking = MENUS.iter().filter(differs).filter(|menu| mark::are_in(menu));
        let marks = &mut self.program.books.marks;
        let last = self.last.map(|last| &last.tree);
        let fed = || self.fed.names();
        let is_new = fed().any(|name| marks.routing.find(name).is_none());
        if is_new || marking.any(|menu| marks.are_new_in(self.tree, last, menu)) {
            marks.enter(self.tree, MENUS, fed());
        }
        for facility in FACILITIES {
            if self.has_changed(facility) {
                (facility.compile)(self);
                self.compiled.push(facility);
            }
        }
    }

    fn has_changed(&self, facility: &'static Facility) -> bool {
        let Some(last) = self.last else { return true };
        let is_part = |other: &Facility| other.part_of.is_some_and(|whole| whole.is(facility));
        let parts = FACILITIES.iter().filter(|other| other.is(facility) || is_part(other));
        let mut menus = parts.filter_map(|part| part.menu);
        menus.any(|menu| !self.tree.shares(&last.tree, menu.path))
            || facility.after.iter().any(|before| self.has_compiled(before))
            || facility.follows_links
                && (last.program.links != *self.links || last.program.up != *self.up)
            || facility.follows_gateways && last.program.silent != *self.silent
            || facility.follows_leases && last.program.leased != *self.leased
            || facility.follows_found && last.program.v6.found != *self.found
            || facility.follows_tables && last.program.fed != *self.fed
            || facility.follows_sessions
                && (last.program.opened != *self.sessions || last.program.rated != *self.rated)
    }

    /// The configuration before.
    pub(crate) fn last_tree(&self) -> Option<&'a Tree> {
        self.last.map(|last| &last.tree)
    }

    /// The configuration before, if all that this facility is compiled of beside its own menus is as it
    /// was then.
    pub(crate) fn before(&self, facility: &Facility) -> Option<&'a Tree> {
        let same = facility.after.iter().all(|other| !self.has_compiled(other));
        self.last_tree().filter(|_| same)
    }

    /// Whether the facility was compiled anew.
    pub(crate) fn has_compiled(&self, facility: &Facility) -> bool {
        self.compiled.iter().any(|compiled| compiled.is(facility))
    }

    /// The items of a menu that are no longer there.
    pub(crate) fn gone(&self, menu: &Menu) -> Vec<ItemId> {
        self.last.map_or(Vec::new(), |last| gone(&last.tree, self.tree, menu))
    }

    /// Takes the counters and the memory of rules that are no longer there.
    pub(crate) fn remove_rules(&mut self, menu: &Menu) {
        for item in self.gone(menu) {
            let books = &mut self.program.books;
            self.removed.extend(books.counters.remove(item));
            let slot = books.slots.remove(item);
            books.slots.reuse(slot);
        }
    }
}

impl Effect {
    /// What it means when only rules and queues have changed. NAT rules are asked by a
    /// connection's first packet alone, which has no recipe yet.
    fn of(old: &Program, new: &Program) -> Effect {
        let same_queues = new.queues.finds_as(&old.queues) && new.trees.finds_as(&old.trees);
        // Which quick ways are open decides how packets are counted.
        if (old.tracking, old.stateless, &old.unmet) != (new.tracking, new.stateless, &new.unmet) {
            return Effect::All;
        }
        let (old6, new6) = (&old.v6, &new.v6);
        if !old6.flows_as(new6) {
            return Effect::All;
        }
        let max = Difference::MAX_GATES;
        let differences = || {
            let raw = old.raw.differences(&new.raw, max)?;
            let mangle = old.mangle.differences(&new.mangle, max)?;
            let filter = old.filter.differences(&new.filter, max)?;
            Some([raw, mangle, filter].concat()).filter(|gates| gates.len() <= max)
        };
        match differences() {
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
