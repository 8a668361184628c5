//! The kernel's routes and neighbours of both families, followed: bird or frr on the host drive our FIBs.
//!
//! ```text
//!  Watch (main table, links, ─► Table: what the ─┬─► changed prefixes ─► Door ─► Router::feed
//!   │     neighbours)           kernel has       ├─► all of IPv6's ────► Door ─► feed6
//!   │                                            ├─► other tables, rules ► Door ─► feed_tables
//!   │                                            └─► all neighbours ───► Door ─► feed_neighbours(6)
//!   └ overrun: told anew ─► what was not told again is gone
//! ```
//!
//! A thread of its own. Next hops lead by interfaces that are ports of the router (or, if the port is
//! a bridge's, by the bridge). What the kernel sends by an interface that is no port is unreachable to
//! the router, at distance 255, and said: no other route may have it. The networks of the kernel's own
//! addresses behind ports are left out: the router has its own. A route of the router's own with the
//! same or a lower distance wins. By a tap there is no way: behind it is the kernel itself.
//!
//! Neighbours that the kernel has confirmed, or was told for good, stand in `/ip arp` and
//! `/ipv6 neighbor` as long as it has them; those it calls stale are the router's own to ask for. All are told anew twice a second,
//! for the router drops them with their link: 30 ns for each.
//!
//! A table beside main is followed while the router's configuration speaks of one by its number, or by the
//! name that iproute2's `rt_tables` gives it, as a routing mark, in `/routing table`, `/routing rule`; or
//! while a rule of the kernel's (`ip rule`) does. Those rules stand in `/routing rule`, behind the router's
//! own. What one looks at that the router's rules cannot is said once, and the rule not followed.
//!
//! A routing daemon has its sessions by addresses that are the kernel's alone, which ports by AF_XDP
//! leave to it ([`Kernels`](port::linux::Kernels)).
//!
//! Never writes to the kernel's tables. Missing: rules by **firewall mark**, port or user; `throw` in a
//! table beside main, which is as if it were not there.

// What the kernel has.
mod table;
// Which of its tables has which name.
mod names;
// Which of its rules are the router's.
mod rules;
// Its routes of IPv6, and its tables beside main.
mod whole;

use super::namespace;
use super::spec::{Backend, PortSpec};
use super::supervisor::Tell;
use crate::alarm::Alarm;
use crate::linux::netlink::{Event, Listed, Topics, Watch, route::MAIN};
use crate::live::Door;
use crate::node::Node;
use port::linux::{Namespace, Unavailable};
use router::ip::fed::{Fed, FedTable, FedTables};
use router::ip::feed::Protocol;
use router::ip::route::{Target, TooManyTargets};
use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use table::{End, Table};
use whole::Stale;
use wire::Ipv4Prefix;

/// Where a prefix leads, and who says so.
type Way = (Target, Protocol);

/// The kernel's routes, being followed until it is dropped.
pub(super) struct Mirror {
    stop: Arc<AtomicBool>,
    alarm: Alarm,
    thread: Option<JoinHandle<()>>,
}

/// The thread's own.
struct Follower {
    namespace: Option<String>,
    /// Which file the namespace's name leads to.
    file: Option<(u64, u64)>,
    watch: Option<Watch>,
    table: Table,
    feeder: Feeder,
    /// Whether IPv6's routes are to be read, and what was made of them last.
    stale: Stale,
    six: Vec<Fed>,
    /// The same of tables beside main.
    others: Others,
    /// What was said last of what does not go.
    trouble: String,
    overruns: u64,
    /// Of how many routes it was said that they lead by no port, and by others as well.
    left_out: (usize, usize),
}

/// The tables beside main that the router speaks of, and rules.
#[derive(Default)]
struct Others {
    stale: Stale,
    /// All names of tables that it has.
    names: Vec<String>,
    /// The kernel's of these names.
    wanted: Vec<(u32, String)>,
    /// What was made of them last, and of rules.
    fed: FedTables,
    /// What was said of rules that are not followed.
    said: HashSet<String>,
}

/// The way to the router.
struct Feeder {
    door: Door,
    tell: Tell,
    /// By port of the router that is in the namespace: its number and its interface's name.
    ports: Vec<(usize, String)>,
    /// The names of its taps there.
    taps: Vec<String>,
    /// Whether it was said that there are too many gateways.
    full: bool,
    /// Whether the router has neighbours from here.
    has_neighbours: bool,
}

/// How many prefixes the router is told of at once, between two breaths: some hundred microseconds.
const AT_ONCE: usize = 1024;
/// How many may wait while more is heard.
const WAITING: usize = 16 * AT_ONCE;
/// How often it is looked whether ports have become a bridge's, and the namespace is still there.
const LOOK: Duration = Duration::from_millis(500);

impl Mirror {
    /// Begins to follow the routes of `namespace`: a name, or the program's own.
    ///
    /// # Errors
    /// [`Unavailable`]: there is none, it cannot be watched, or there is no thread for it.
    pub(super) fn start(
        namespace: Option<&str>,
        ports: &[PortSpec],
        door: Door,
        tell: Tell,
    ) -> Result<Mirror, Unavailable> {
        let file = namespace::file(namespace);
        let here = |spec: &PortSpec| namespace::file(spec.namespace.as_deref()) == file;
        let ports = ports.iter().enumerate().filter(|(_, spec)| here(spec));
        let (taps, ports): (Vec<_>, Vec<_>) =
            ports.partition(|(_, spec)| spec.backend == Backend::Tap);
        let ports: Vec<_> =
            ports.into_iter().map(|(at, spec)| (at, spec.interface.clone())).collect();
        let taps: Vec<_> = taps.into_iter().map(|(_, spec)| spec.interface.clone()).collect();
        let watch = open(namespace)?;
        let lacking = |error| Unavailable::because("follow the kernel's routes", error);
        let (stop, alarm) = (Arc::new(AtomicBool::new(false)), Alarm::new().map_err(lacking)?);
        let namespace = namespace.map(str::to_string);
        let thread = thread::Builder::new().name("kernel-routes".to_string()).spawn({
            let (stop, alarm) = (Arc::clone(&stop), alarm.clone());
            move || {
                let feeder = Feeder { door, tell, ports, taps, full: false, has_neighbours: false };
                let (watch, table) = (Some(watch), Table::default());
                let (trouble, overruns, left_out) = (String::new(), 0, (0, 0));
                let (stale, six, others) = (Stale::default(), Vec::new(), Others::default());
                Follower {
                    namespace,
                    file,
                    watch,
                    table,
                    feeder,
                    stale,
                    six,
                    others,
                    trouble,
                    overruns,
                    left_out,
                }
                .run(&stop, &alarm);
            }
        });
        Ok(Mirror { stop, alarm, thread: Some(thread.map_err(lacking)?) })
    }

    /// Whether it has ended unasked.
    pub(super) fn is_gone(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.alarm.shout();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A watch on the routes of `namespace`.
pub(super) fn open(namespace: Option<&str>) -> Result<Watch, Unavailable> {
    let routes = Some(MAIN);
    let (links, routes6, neighbours, rules) = (true, true, true, true);
    let topics = Topics { links, routes, routes6, neighbours, rules, addresses: false };
    match namespace {
        None => Watch::open(topics),
        Some(name) => Watch::open_in(&Namespace::open(name)?, topics),
    }
}

impl Follower {
    fn run(mut self, stop: &AtomicBool, alarm: &Alarm) {
        while !stop.load(Ordering::Acquire) {
            self.look_up_namespace();
            let Some((ports, names)) = self.feeder.interfaces() else { return };
            if self.table.set_ports(ports) {
                self.stale.hear();
                self.others.stale.hear();
            }
            self.others.set_names(names);
            let done = self.follow().and_then(|()| self.read_six());
            let done = done.and_then(|()| self.read_others());
            self.say_trouble(done);
            if !self.feeder.flush(&mut self.table) || !self.feeder.tell_neighbours(&self.table) {
                return;
            }
            self.say_left_out();
            let fds: Vec<_> = self.watch.iter().map(AsFd::as_fd).collect();
            alarm.set();
            if !stop.load(Ordering::Acquire) {
                let due = self.watch.as_ref().and_then(Watch::due);
                let due =
                    due.into_iter().chain(self.stale.due()).chain(self.others.stale.due()).min();
                alarm.sleep(&fds, due.map_or(LOOK, |due| due.min(LOOK)));
            }
        }
    }

    /// Hears what has happened, and tells the router on the way if it is much.
    fn follow(&mut self) -> Result<(), Unavailable> {
        let Follower { watch: Some(watch), table, feeder, stale, others, .. } = self else {
            return Ok(());
        };
        let done = watch.poll(&mut |event| {
            let of_links = matches!(event, Event::Routes6 | Event::Link(_) | Event::LinkGone(_));
            if of_links {
                stale.hear();
            }
            // (IPv4's routes that go with a link or an address go without a word, and all is told anew.)
            if of_links || matches!(event, Event::OtherTable | Event::Rules | Event::Anew) {
                others.stale.hear();
            }
            table.hear(event);
            if table.changed() >= WAITING {
                feeder.flush(table);
            }
        });
        let overruns = watch.overruns();
        if overruns > std::mem::replace(&mut self.overruns, overruns) {
            let text = "more happened to the kernel's routes than could be held; \
                        they have been read anew";
            self.feeder.say("route,warning", text);
        }
        done
    }

    /// Reads IPv6's routes if it is time to, and tells the router where they lead.
    fn read_six(&mut self) -> Result<(), Unavailable> {
        let Follower { watch: Some(watch), table, stale, .. } = self else { return Ok(()) };
        if stale.due() != Some(Duration::ZERO) {
            return Ok(());
        }
        let six = stale.read(|| watch.routes6(MAIN).map(|routes| whole::fed6(table, routes)))?;
        self.feed_six(six);
        Ok(())
    }

    fn feed_six(&mut self, six: Vec<Fed>) {
        if self.six != six {
            self.six.clone_from(&six);
            let _ = self.feeder.door.with(|node, _| node.router_mut().feed6(six));
        }
    }

    /// Reads the tables beside main and the rules if it is time to, and tells the router of them.
    fn read_others(&mut self) -> Result<(), Unavailable> {
        let Follower { watch: Some(watch), table, others, feeder, .. } = self else {
            return Ok(());
        };
        if others.stale.due() != Some(Duration::ZERO) {
            return Ok(());
        }
        let Others { stale, wanted, said, .. } = others;
        let read = |watch: &mut Watch, number: u32, name: &str| -> Result<FedTable, Unavailable> {
            let four = watch.routes(number)?.into_iter().filter(|route| route.tos == 0);
            let four = whole::fed(table, four.map(Listed::from).collect());
            let six = whole::fed6(table, watch.routes6(number)?);
            Ok(FedTable { name: name.to_string(), four, six })
        };
        let (rules, tables) = stale.read(|| {
            let all = wanted.iter().map(|(number, name)| read(watch, *number, name));
            let tables = all.collect::<Result<_, _>>()?;
            Ok((watch.rules()?, tables))
        })?;
        let (rules4, told) = rules::followed::<u32>(&rules, table, wanted);
        let (rules6, told6) = rules::followed::<u128>(&rules, table, wanted);
        for text in told.into_iter().chain(told6) {
            if said.insert(text.clone()) {
                feeder.say("route,warning", &text);
            }
        }
        self.feed_others(FedTables { tables, rules4, rules6 });
        Ok(())
    }

    fn feed_others(&mut self, fed: FedTables) {
        if self.others.fed != fed {
            self.others.fed.clone_from(&fed);
            let _ = self.feeder.door.with(|node, _| node.router_mut().feed_tables(fed));
        }
    }

    /// What leads by no port is said, and again when it is twice as much.
    fn say_left_out(&mut self) {
        let ((elsewhere, partly), told) = (self.table.left_out(), &mut self.left_out);
        let routes = |n: usize| if n == 1 { "leads" } else { "lead" };
        if elsewhere > 0 && elsewhere >= 2 * told.0 {
            let text = format!(
                "{elsewhere} of the kernel's routes {} by no port of the router: unreachable to it \
                 (/ip route print where distance=255)",
                routes(elsewhere)
            );
            self.feeder.say("route,info", &text);
            told.0 = elsewhere;
        }
        if partly > 0 && partly >= 2 * told.1 {
            let text = format!(
                "{partly} of the kernel's routes {} by ports of the router and by other interfaces: \
                 by the ports alone",
                routes(partly)
            );
            self.feeder.say("route,info", &text);
            told.1 = partly;
        }
    }

    /// What goes wrong is said once.
    fn say_trouble(&mut self, done: Result<(), Unavailable>) {
        let text = done.err().map(|unavailable| unavailable.to_string()).unwrap_or_default();
        if text != self.trouble && !text.is_empty() {
            self.feeder.say("route,warning", &format!("the kernel's routes: {text}"));
        }
        self.trouble = text;
    }

    /// A namespace whose name leads elsewhere takes its routes with it.
    fn look_up_namespace(&mut self) {
        let file = namespace::file(self.namespace.as_deref());
        let name = self.namespace.clone().unwrap_or_default();
        if self.watch.is_some() && file != self.file {
            self.watch = None;
            self.table.forget();
            self.feed_six(Vec::new());
            self.feed_others(FedTables::default());
            let text = format!("the network namespace {name} is gone, and its routes with it");
            self.feeder.say("route,warning", &text);
        }
        if self.watch.is_none()
            && file.is_some()
            && let Ok(watch) = open(self.namespace.as_deref())
        {
            (self.watch, self.file, self.overruns) = (Some(watch), file, 0);
            let text = format!("the routes of the network namespace {name} are followed again");
            self.feeder.say("route,info", &text);
        }
    }
}

impl Others {
    /// The router speaks of tables of these names.
    fn set_names(&mut self, names: Vec<String>) {
        if self.names != names {
            self.wanted = names::numbered(names.iter().map(String::as_str));
            self.names = names;
            self.stale.hear();
        }
    }
}

impl Feeder {
    /// What the kernel's interfaces are to the router, and of which tables it speaks; `None` if that is gone.
    fn interfaces(&self) -> Option<(HashMap<String, End>, Vec<String>)> {
        let interfaces = self.door.with(|node, _| {
            let program = node.router().program();
            let interface = |at: usize| {
                let own = program.ports[at];
                program.interface(own).bridge.map_or(own, |at| program.bridge(at).interface)
            };
            let ports = self.ports.iter();
            let ports = ports.map(|(at, name)| (name.clone(), End::Port(interface(*at))));
            let ends = ports.chain(self.taps.iter().map(|name| (name.clone(), End::Kernels)));
            let names = node.router().table_names().map(str::to_string);
            (ends.collect(), names.collect())
        });
        interfaces.ok()
    }

    /// Tells the router where the changed prefixes lead; whether it is there.
    fn flush(&mut self, table: &mut Table) -> bool {
        let changed = table.take_changed();
        for some in changed.chunks(AT_ONCE) {
            match self.door.with(|node, _| feed(node, some)) {
                Ok(Ok(())) => self.full = false,
                Ok(Err(full)) if !self.full => {
                    self.full = true;
                    self.say("route,error", &format!("the kernel's routes: {full}"));
                }
                Ok(Err(_)) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Tells the router which neighbours there are; whether it is there.
    fn tell_neighbours(&mut self, table: &Table) -> bool {
        let (four, six) = table.neighbours();
        let has = !(four.is_empty() && six.is_empty());
        let had = std::mem::replace(&mut self.has_neighbours, has);
        if !had && !has {
            return true;
        }
        let feed = |node: &mut Node, now| {
            node.router_mut().feed_neighbours(now, four);
            node.router_mut().feed_neighbours6(now, six);
        };
        self.door.with(feed).is_ok()
    }

    fn say(&self, topics: &str, text: &str) {
        (self.tell)(text);
        let _ = self.door.with(|node, now| node.log(now, topics, text));
    }
}

/// Those with a way are fed, the others taken back.
fn feed(node: &mut Node, some: &[(Ipv4Prefix, Option<Way>)]) -> Result<(), TooManyTargets> {
    let router = node.router_mut();
    let gone = some.iter().filter(|(_, way)| way.is_none()).map(|(prefix, _)| *prefix);
    router.withdraw_routes(gone);
    router.feed(some.iter().filter_map(|(prefix, way)| {
        let (target, protocol) = way.clone()?;
        Some((*prefix, target, protocol))
    }))
}
