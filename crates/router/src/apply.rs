//! A change of the configuration reaches the data plane.
//!
//! ```text
//! Change: program ──── swapped ────► what was there, back in the change
//!         fresh counters, memory, leaves ─► begin at zero
//!         limits, routes, typed neighbours that differ ─► brought up to date
//!         (nothing)  ◄─ connections, learnt neighbours and hosts, waiting packets, counts stay
//! ```
//!
//! Between two breaths, while packets wait in the ports' rings: so everything here takes time by what
//! changed, not by how much is configured. Exceptions, each for a change that is rarely made:
//! bridges and interfaces (their hosts and neighbours are looked through), tracking on or off
//! (connections end), and a typed neighbour (all are compared).
//!
//! Never compiles or frees anything large: that is the [`Compiler`]'s side.

use crate::compiler::{Change, Compiler, Effect, News};
use crate::discard::Discard;
use crate::flow;
use crate::interface::InterfaceId;
use crate::interface::bonding::{Bond, State};
use crate::interface::bridge::Bridge;
use crate::interface::bridge::hosts::{self, Hosts};
use crate::interface::bridge::stp::Stp;
use crate::interface::ppp::users::Scripts;
use crate::interface::pppoe::{Session, Standing};
use crate::interface::tunnel::Tunnel;
use crate::interface::tunnel::life::Life;
use crate::interface::vrrp::{Machine, Vrrp};
use crate::ip::family::Family;
use crate::ip::route::TooManyTargets;
use crate::ip::services::Services;
use crate::ip::{arp, dhcp, discovery, dns, hotspot, nat_pmp, upnp};
use crate::ipv6::dhcp as dhcp6;
use crate::ipv6::{found, nd, pool};
use crate::parts::InterfaceCounts;
use crate::program::{Interface, Program};
use crate::router::Router;
use crate::system::ntp;
use config::Tree;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use wire::Moment;

impl Router {
    /// Takes over a configuration, between two breaths: compiles it and applies it at once, which
    /// takes milliseconds when it is large. Connections, neighbours, hosts, queues and counters
    /// stay.
    ///
    /// # Errors
    /// What the interpreter cannot know: more gateways than the FIB can number. Everything is then
    /// as it was.
    ///
    /// # Panics
    /// If somebody [took the compiler](Self::take_compiler).
    pub fn configure(&mut self, tree: &Tree, now: Moment) -> Result<(), TooManyTargets> {
        let compiler = self.compiler.as_ref();
        let mut change = compiler.expect("the compiler, which somebody took").compile(tree);
        self.apply(&mut change, now)?;
        if let Some(compiler) = &mut self.compiler {
            compiler.taken_over(change);
        }
        self.heed(now)
    }

    /// Which interfaces run by what they know themselves, which gateways are silent, what DHCP clients
    /// were given, and which sessions are open, if that is not what the program has: for [`Compiler::set_up`].
    #[inline]
    pub fn news(&self) -> Option<News> {
        let news = || News {
            up: self.link.up.clone(),
            silent: self.link.silent.clone(),
            leased: self.services.leased.clone(),
            rated: self.services.hotspot.rated.clone(),
            found: self.services.v6.found.clone(),
            fed: self.services.fed.clone(),
            sessions: self.link.sessions.clone(),
        };
        self.has_news().then(news)
    }

    /// Whether there are [`news`](Self::news).
    #[inline]
    pub fn has_news(&self) -> bool {
        let (program, leased) = (&self.program, &self.services.leased);
        let (up, silent) = (&self.link.up, &self.link.silent);
        let sessions = &self.link.sessions;
        let (found, fed) = (&self.services.v6.found, &self.services.fed);
        let rated = &self.services.hotspot.rated;
        !Arc::ptr_eq(up, &program.up) && *up != program.up
            || !Arc::ptr_eq(silent, &program.silent) && *silent != program.silent
            || !Arc::ptr_eq(leased, &program.leased) && *leased != program.leased
            || !Arc::ptr_eq(rated, &program.rated) && *rated != program.rated
            || !Arc::ptr_eq(found, &program.v6.found) && *found != program.v6.found
            || !Arc::ptr_eq(fed, &program.fed) && *fed != program.fed
            || !Arc::ptr_eq(sessions, &program.opened) && *sessions != program.opened
    }

    /// Compiles and applies what interfaces have come to know, where the compiler is the router's own.
    pub(crate) fn heed(&mut self, now: Moment) -> Result<(), TooManyTargets> {
        // Each round may bring up a tunnel that lies in those of the round before.
        for _ in 0..8 {
            let (Some(news), Some(compiler)) = (self.news(), &mut self.compiler) else { break };
            let Some(mut change) = compiler.set_up(news) else { break };
            self.apply(&mut change, now)?;
            if let Some(compiler) = &mut self.compiler {
                compiler.taken_over(change);
            }
        }
        Ok(())
    }

    /// New sessions begin at zero, whoever had their interface before; their scripts run, and those of
    /// sessions that are over.
    fn welcome(&mut self, change: &Change) {
        let numbers = |program: &Program| -> HashSet<u64> {
            program.sessions.list().iter().map(|standing| standing.session.number).collect()
        };
        let (old, new) = (numbers(&self.program), numbers(&change.program));
        let had = |number| old.contains(&number);
        let before = self.program.clone();
        for Standing { session, .. } in before.sessions.list() {
            if !new.contains(&session.number) {
                want_script(&mut self.services, session, |scripts| &scripts.on_down);
            }
        }
        for Standing { session, .. } in change.program.sessions.list() {
            if !had(session.number) {
                want_script(&mut self.services, session, |scripts| &scripts.on_up);
            }
        }
        let servers = change.program.sessions.list().iter();
        let servers = servers.filter(|standing| standing.session.is_servers());
        let fresh: Vec<InterfaceId> = servers
            .filter(|standing| !had(standing.session.number))
            .map(|standing| standing.interface)
            .collect();
        for interface in fresh {
            self.stats.interface_counts[interface.index()] = InterfaceCounts::default();
            self.stats.troubles.remove(&interface);
        }
    }

    /// Bonds keep what they know of their slaves, if these are the same.
    fn adopt_bonds(&mut self, change: &Change) {
        let old = std::mem::take(&mut self.link.bonds);
        let same = |bond: &Bond| {
            let key = |bond: &Bond| (bond.interface, bond.slaves.clone(), bond.mode);
            let at = self.program.bonds.iter().position(|old| key(old) == key(bond))?;
            old.get(at).cloned()
        };
        let bonds = change.program.bonds.iter();
        self.link.bonds = bonds.map(|bond| same(bond).unwrap_or(State::new(bond))).collect();
    }

    /// Virtual routers keep their standing, whatever is changed of them but their numbers.
    fn adopt_machines(&mut self, change: &Change) {
        let old = std::mem::take(&mut self.link.machines);
        let same = |vrrp: &Vrrp| {
            let key = |vrrp: &Vrrp| (vrrp.interface, vrrp.on, vrrp.vrid);
            let at = self.program.vrrps.iter().position(|old| key(old) == key(vrrp))?;
            old.get(at).cloned()
        };
        let vrrps = change.program.vrrps.iter();
        self.link.machines = vrrps.map(|vrrp| same(vrrp).unwrap_or(Machine::NEW)).collect();
        self.link.sync.due = Moment::ZERO;
    }

    /// Tunnels keep what they know of their other ends.
    fn adopt_lives(&mut self, change: &Change) {
        let old = std::mem::take(&mut self.link.lives);
        let same = |tunnel: &Tunnel| {
            let at = self.program.tunnels.list().iter().position(|old| old == tunnel)?;
            old.get(at).cloned()
        };
        let tunnels = change.program.tunnels.list().iter();
        self.link.lives = tunnels.map(|tunnel| same(tunnel).unwrap_or(Life::NEW)).collect();
    }

    /// The compiler, to be used on another thread; from now on changes come by [`Router::apply`].
    ///
    /// # Panics
    /// If somebody took it before.
    pub fn take_compiler(&mut self) -> Compiler {
        self.compiler.take().expect("the compiler, which somebody took")
    }

    /// Takes over a compiled change, between two breaths and in time proportional to it. The change
    /// holds afterwards what was there before: give it to [`Compiler::taken_over`], which drops it
    /// where nobody waits. Connections, neighbours, hosts, queues and counters stay.
    ///
    /// # Errors
    /// More gateways than the FIB can number. Everything is then as it was, and the change of no
    /// use any more.
    ///
    /// # Panics
    /// If the change was compiled from another state than the router is in: changes are applied in
    /// their order, each compiled when the one before was taken over.
    pub fn apply(&mut self, change: &mut Change, now: Moment) -> Result<(), TooManyTargets> {
        assert_eq!(change.number, self.changes + 1, "number of the change");
        if change.program.v6.routes.are_too_many() {
            return Err(TooManyTargets);
        }
        if let Some(routes) = &mut change.routes {
            self.v4.routes.configure(routes)?;
        }
        self.take_leave(change, now);
        self.changes = change.number;
        change.applied = true;
        change.settled = self.learnt.recipes.is_settled();
        match &mut change.effect {
            Effect::Nothing => {}
            Effect::Some(difference) => self.learnt.recipes.differ(std::mem::take(difference)),
            Effect::All => self.learnt.recipes.forget(),
        }
        self.stats.counters.admit(&change.counters);
        self.rules.admit(&change.slots);
        self.queues.apply(&mut change.queues, now);
        let program = &change.program;
        let settings = &program.settings;
        self.v4.neighbours.max_entries = settings.max_neighbor_entries;
        self.v4.neighbours.timeout = settings.arp_timeout;
        self.v6.neighbours.max_entries = program.v6.settings.max_neighbor_entries;
        self.v4.icmp_limit.per_second = settings.icmp_rate_limit;
        self.v4.icmp_limit.mask = settings.icmp_rate_mask;
        if let Some(typed) = &change.neighbours {
            for orphan in arp::configure(&mut self.v4.neighbours, typed, program) {
                self.discard_frame(orphan.frame, Discard::NeighbourUnreachable);
            }
            if self.v4.neighbours.take_removed() {
                self.v4.routes.forget_neighbours();
            }
        }
        self.v4.connections.configure(program.connection_settings);
        if program.tracking != self.program.tracking {
            self.v4.connections.clear();
        }
        if !program.v6.flows_as(&self.program.v6) {
            self.v6.neighbours.forget_rewrites();
        }
        self.v6.connections.configure(program.connection_settings);
        if program.v6.tracking != self.program.v6.tracking {
            self.v6.connections.clear();
        }
        if change.interfaces {
            let ids = program.books.interfaces.len();
            // Not twice as many: most are sessions, and they are counted in thousands.
            let counts = &mut self.stats.interface_counts;
            if counts.capacity() < ids {
                counts.reserve_exact(ids + ids / 16 - counts.len());
            }
            counts.resize(ids, InterfaceCounts::default());
            self.adopt_hosts(change);
            self.adopt_lives(change);
            self.welcome(change);
            self.adopt_machines(change);
            self.adopt_bonds(change);
            self.note_links(&change.program, now);
            for orphan in self.v6.neighbours.retain(|own, _| change.program.runs(own.interface())) {
                self.discard_frame(orphan.frame, Discard::NeighbourUnreachable);
            }
            let timeout = |own: &Interface| Some((own.id, own.rest.as_ref()?.arp_timeout?));
            self.v4.neighbours.timeouts = program.interfaces.iter().filter_map(timeout).collect();
            let running = change.program.interfaces.iter().map(|interface| interface.running);
            self.v4.routes.set_running(running.collect());
        }
        self.io.ways_out = change.program.ways_out.clone();
        for (outbox, &port) in self.io.outboxes.iter_mut().zip(&change.program.ports) {
            outbox.queue = change.program.ports_queue(port);
        }
        let (old, new) = (&self.program, &change.program);
        let lost = lost_addresses(old, new, |program| {
            program.addresses.iter().map(|own| (own.interface, own.address)).collect()
        });
        let lost6 = lost_addresses(old, new, |program| {
            program.v6.addresses.iter().map(|own| (own.interface, own.address)).collect()
        });
        if !lost.is_empty() {
            self.v4.connections.end_masqueraded(&lost);
        }
        if !lost6.is_empty() {
            self.v6.connections.end_masqueraded(&lost6);
        }
        // Who looks at frames between ports and IP decides whether anybody may skip that.
        let same_rules = Arc::ptr_eq(&self.program.bridge_filter, &change.program.bridge_filter)
            && Arc::ptr_eq(&self.program.bridge_nat, &change.program.bridge_nat);
        let same_trees = self.program.trees.stand_as(&change.program.trees);
        if change.interfaces || !same_rules || !same_trees {
            self.v4.neighbours.forget_rewrites();
            self.v6.neighbours.forget_rewrites();
            self.learnt.ingresses.forget();
        }
        let same_dhcp = Arc::ptr_eq(&self.program.dhcp, &change.program.dhcp);
        let same_nd = Arc::ptr_eq(&self.program.v6.nd, &change.program.v6.nd);
        let same_dhcp6 = Arc::ptr_eq(&self.program.v6.dhcp, &change.program.v6.dhcp);
        let same_gateways6 = Arc::ptr_eq(&self.program.v6.gateways, &change.program.v6.gateways);
        let same_lists = Arc::ptr_eq(&self.program.lists, &change.program.lists);
        let same_pools = Arc::ptr_eq(&self.program.v6.pools, &change.program.v6.pools);
        let same_wants = Arc::ptr_eq(&self.program.v6.wants, &change.program.v6.wants);
        let old = &self.program.system.discovery;
        let same_ntp = Arc::ptr_eq(&self.program.system.ntp, &change.program.system.ntp);
        let same_nat_pmp = Arc::ptr_eq(&self.program.nat_pmp, &change.program.nat_pmp);
        let same_hotspot = Arc::ptr_eq(&self.program.hotspot, &change.program.hotspot);
        let same_upnp = Arc::ptr_eq(&self.program.upnp, &change.program.upnp);
        let same_discovery = Arc::ptr_eq(old, &change.program.system.discovery);
        std::mem::swap(&mut self.program, &mut change.program);
        if !same_nat_pmp {
            nat_pmp::adopt(self, now);
        }
        if !same_hotspot {
            hotspot::adopt(self);
        }
        if !same_upnp {
            upnp::adopt(self, now);
        }
        if !same_ntp {
            ntp::adopt(self, now);
        }
        if !same_discovery {
            discovery::adopt(self, now);
        }
        if !same_nd || !same_lists {
            self.services.due = now;
        }
        if !same_dhcp6 || !same_pools {
            dhcp6::server::adopt(self);
            self.services.due = now;
        }
        if !same_dhcp6 || !same_pools || !same_wants {
            pool::settle(self);
            found::note(self);
        }
        if !same_dhcp {
            dhcp::server::adopt(self, now);
        }
        if !Arc::ptr_eq(&self.program.dns, &change.program.dns) {
            dns::resolver::adopt(self, now);
        }
        self.stats.log.configure(&self.program.system.logging);
        if change.interfaces {
            self.services.due = now;
        }
        if change.interfaces {
            self.adopt_trees(&change.program.bridges, now);
        }
        if change.routes.is_some() || !same_gateways6 {
            flow::adopt_gateways(self);
        }
        flow::look(self, now);
        Ok(())
    }

    /// Says to others what ends with the change, by interfaces and bridges as they still are: masters,
    /// routers and clients that are no more.
    fn take_leave(&mut self, change: &Change, now: Moment) {
        let (old, new) = (self.program.clone(), &change.program);
        if change.interfaces {
            flow::resign(self, now, &new.vrrps);
        }
        if !Arc::ptr_eq(&old.dhcp, &new.dhcp) {
            dhcp::client::resign(self, now, new);
        }
        if !Arc::ptr_eq(&old.v6.nd, &new.v6.nd) {
            nd::advertise::resign(self, now, new);
        }
        if !Arc::ptr_eq(&old.v6.dhcp, &new.v6.dhcp) {
            dhcp6::client::resign(self, now, new);
        }
    }

    /// Bridges keep their spanning trees; `old` are those of before. A new one begins with all ports
    /// closed.
    fn adopt_trees(&mut self, old: &[Bridge], now: Moment) {
        let program = self.program.clone();
        let trees = std::mem::take(&mut self.link.trees);
        let mut trees: HashMap<_, _> =
            old.iter().map(|bridge| bridge.interface).zip(trees).collect();
        for (at, bridge) in program.bridges.iter().enumerate() {
            let tree = bridge.spanning.as_ref().map(|settings| {
                let kept = trees.remove(&bridge.interface).flatten();
                let mut tree = kept.unwrap_or_else(|| Box::new(Stp::new(bridge, settings, now)));
                tree.adopt(bridge, settings, |port| program.runs(port));
                tree
            });
            self.link.hosts[at].close(tree.iter().flat_map(|tree| tree.closed()));
            self.link.trees.push(tree);
        }
    }

    /// Bridges keep their hosts; a new one begins with its own addresses only.
    fn adopt_hosts(&mut self, change: &Change) {
        let old = std::mem::take(&mut self.link.hosts);
        let mut old: HashMap<_, _> =
            self.program.bridges.iter().map(|bridge| bridge.interface).zip(old).collect();
        for bridge in &change.program.bridges {
            let mut hosts = old
                .remove(&bridge.interface)
                .unwrap_or_else(|| Hosts::new(bridge.mac.to_u64(), hosts::MAX_HOSTS));
            let is_reached = |at| bridge.port(at).is_some() && change.program.runs(at);
            hosts.remove_where(|_, host| !is_reached(host.port));
            hosts.keep_vlans(bridge.filtering.is_some());
            hosts.groups.adopt(bridge, is_reached);
            let rest = change.program.interface(bridge.interface).rest.as_ref();
            let aliases = rest
                .into_iter()
                .flat_map(|rest| &rest.aliases)
                .map(|&(mac, _)| (mac, bridge.interface));
            hosts.set_local(bridge.local_addresses().chain(aliases));
            self.link.hosts.push(hosts);
        }
    }
}

/// The addresses that the router had on interfaces that ran, and has there no more.
fn lost_addresses<A: Family>(
    old: &Program,
    new: &Program,
    own: impl Fn(&Program) -> Vec<(InterfaceId, A)>,
) -> Vec<A> {
    let of = |program: &Program| -> HashSet<(InterfaceId, A)> {
        own(program).into_iter().filter(|(interface, _)| program.runs(*interface)).collect()
    };
    let (had, has) = (of(old), of(new));
    if had == has {
        return Vec::new();
    }
    had.difference(&has).map(|(_, address)| *address).collect()
}

/// Wants a script of a session's to run.
fn want_script(services: &mut Services, session: &Session, which: fn(&Scripts) -> &String) {
    let Some(script) = session.scripts().map(which) else { return };
    let show = |address: u32| std::net::Ipv4Addr::from(address).to_string();
    let known = [
        ("user", config::quote_always(session.user())),
        ("local-address", show(session.local)),
        ("remote-address", show(session.remote)),
        ("caller-id", config::quote_always(&session.carrier.caller())),
        ("interface", config::quote_always(&session.name)),
    ];
    services.want_script(format!("ppp {}", session.name), &known, script);
}
