//! The supervisor of the interfaces while the router runs.
//!
//! ```text
//!            ┌── netlink: up, down, mtu ─────► Router::set_link
//!   there ───┤
//!     ▲      └── gone (deleted, namespace gone; the port says so: other queues) ─► line out ─► missing
//!     └──── opened again ◄── an interface of that name is there, tried after 0.1 s … 5 s ──┘
//! ```
//!
//! Where a port leaves the kernel's own addresses to it, the supervisor says which these are: the
//! kernel's there that are not the router's as well.
//!
//! A thread of its own: opening and closing take milliseconds. What happens is told in one line, to
//! the router's log and to whoever started it. The other ports go on meanwhile.
//!
//! Never touches an interface's settings.

use super::hot_plug::{Jack, Line, Taken};
use super::namespace::WatchedNamespace;
use super::open::{self, Opened};
use super::several::several;
use super::spec::{Backend, PortSpec};
use super::worker;
use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::linux::netlink::{Event, Link};
use crate::linux::veth::inside;
use crate::live::Door;
use port::Slab;
use port::linux::Kernels;
use port::linux::promiscuous::Promiscuous;
use port::linux::xdp::QueueWatch;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::Moment;

/// Where what happens is told.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// A port as its supervisor sees it.
pub(super) struct Kept {
    /// What it is.
    pub spec: PortSpec,
    /// By worker; one if there are none.
    pub jacks: Vec<Arc<Jack>>,
    standing: Standing,
}

enum Standing {
    There {
        opened: Owned,
        /// What the router was told of it, and the MTU it has itself.
        link: Option<(router::Link, u32)>,
        /// What was said to be wrong there, and when it is looked for more.
        warned: Vec<String>,
        warn_at: Moment,
    },
    Missing {
        tries: u32,
        next: Moment,
        /// What was said last: it is said once.
        said: String,
    },
}

/// What is left of an [`Opened`] when its lines are in.
struct Owned {
    index: u32,
    /// What it was called last: it stays the port's whatever it is called.
    called: String,
    kernels: Option<Kernels>,
    queues: Option<QueueWatch>,
    _claim: super::claim::Claim,
    _promiscuous: Option<Promiscuous>,
}

/// All ports, and what they have in common.
pub(super) struct Supervisor {
    pub(super) ports: Vec<Kept>,
    pub(super) places: Vec<WatchedNamespace>,
    pub(super) slab: Slab,
    pub(super) door: Door,
    pub(super) clock: Clock,
    pub(super) tell: Tell,
    /// Of those who move frames: the router's thread and the workers.
    pub(super) alarms: Vec<Alarm>,
    pub(super) own: Alarm,
}

/// The first pause between two tries to open an interface again, doubled each time, and the last.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// How often names of namespaces are looked up, and ports asked whether they have failed.
const LOOK: Duration = Duration::from_millis(250);
/// How often it is looked whether something is wrong with an interface that was not: offloads that
/// were switched on at a veth's other end, which nothing tells of.
const WARN: Duration = Duration::from_secs(2);

impl Kept {
    /// One that is yet to be opened.
    pub(super) fn new(spec: PortSpec, jacks: Vec<Arc<Jack>>) -> Kept {
        let standing = Standing::Missing { tries: 0, next: Moment::ZERO, said: String::new() };
        Kept { spec, jacks, standing }
    }

    fn is(&self, place: &Option<String>, index: u32) -> bool {
        let there =
            matches!(&self.standing, Standing::There { opened, .. } if opened.index == index);
        there && self.spec.namespace == *place
    }
}

impl Supervisor {
    /// Until `stop`.
    pub(super) fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            self.look();
            let now = self.clock.now();
            let due = self.ports.iter().filter_map(|port| match &port.standing {
                Standing::Missing { next, .. } => Some(next.since(now)),
                Standing::There { .. } => None,
            });
            let at_most = due.min().unwrap_or(LOOK).min(LOOK);
            let fds: Vec<_> = self.places.iter().map(AsFd::as_fd).collect();
            self.own.set();
            if !stop.load(Ordering::Acquire) {
                self.own.sleep(&fds, at_most);
            }
        }
    }

    /// Hears what has happened, and does what is to be done about it.
    pub(super) fn look(&mut self) {
        self.look_up_places();
        let mut heard = Vec::new();
        for place in &mut self.places {
            let events = place.hear();
            heard.extend(events.into_iter().map(|event| (place.name.clone(), event)));
        }
        for (place, event) in heard {
            self.hear(&place, event);
        }
        let now = self.clock.now();
        for at in 0..self.ports.len() {
            let port = &self.ports[at];
            match &port.standing {
                Standing::There { opened, warn_at, .. } => {
                    if let Some(why) = port.jacks.iter().find_map(|jack| jack.failure()) {
                        self.lose(at, &why, PAUSE);
                    } else if let Some(why) = opened.queues.as_ref().and_then(QueueWatch::changed) {
                        // It is there all the same, and every moment counts.
                        self.lose(at, &why, Duration::ZERO);
                    } else if *warn_at <= now {
                        self.warn(at);
                    }
                }
                Standing::Missing { next, .. } if *next <= now => self.open_again(at),
                Standing::Missing { .. } => {}
            }
        }
        self.leave_to_kernel();
    }

    /// What is for the kernel's own addresses goes to it, where a port is to be so, and the router
    /// has not the same address.
    fn leave_to_kernel(&mut self) {
        let mut own: Option<BTreeSet<IpAddr>> = None;
        for port in &self.ports {
            let Standing::There { opened: Owned { index, kernels: Some(kernels), .. }, .. } =
                &port.standing
            else {
                continue;
            };
            let place = self.places.iter().find(|place| place.is_of(&port.spec));
            let there: BTreeSet<_> = place.iter().flat_map(|p| p.addresses_by(*index)).collect();
            let own = own.get_or_insert_with(|| self.own_addresses());
            let (both, kernel): (BTreeSet<_>, BTreeSet<_>) =
                there.into_iter().partition(|address| own.contains(address));
            let (name, interface) = (&port.spec.name, &port.spec.interface);
            match kernels.set(&kernel) {
                Ok(false) => {}
                Ok(true) => {
                    self.say(&match &list(&kernel)[..] {
                        "" => format!("{name}: nothing goes to the kernel any more"),
                        kernel => format!(
                            "{name}: to the kernel goes what is for its addresses at {interface}: \
                             {kernel}"
                        ),
                    });
                    let both = list(&both);
                    if !both.is_empty() {
                        self.say(&format!(
                            "{name}: {both} the kernel has at {interface} too: that stays here"
                        ));
                    }
                }
                Err(unavailable) => self.say(&format!("{name}: {unavailable}")),
            }
        }
    }

    /// The router's own addresses.
    fn own_addresses(&self) -> BTreeSet<IpAddr> {
        let addresses = self.door.with(|node, _| {
            let program = node.router().program();
            let four = program.addresses.iter().map(|own| Ipv4Addr::from(own.address).into());
            let six = program.v6.addresses.iter().map(|own| Ipv6Addr::from(own.address).into());
            four.chain(six).collect()
        });
        addresses.unwrap_or_default()
    }

    fn look_up_places(&mut self) {
        let gone: Vec<_> = self.places.extract_if(.., |place| place.is_gone()).collect();
        for place in &gone {
            let name = place.name.clone().unwrap_or_default();
            for at in 0..self.ports.len() {
                let port = &self.ports[at];
                if port.spec.namespace == place.name
                    && matches!(port.standing, Standing::There { .. })
                {
                    self.lose(at, &format!("the network namespace {name} is gone"), PAUSE);
                }
            }
        }
        for at in 0..self.ports.len() {
            let name = &self.ports[at].spec.namespace;
            if !self.places.iter().any(|place| place.name == *name)
                && let Ok(place) = WatchedNamespace::watch(name.as_deref())
            {
                self.places.push(place);
            }
        }
    }

    fn hear(&mut self, place: &Option<String>, event: Event) {
        match event {
            Event::Link(link) => {
                if let Some(at) = self.ports.iter().position(|port| port.is(place, link.index)) {
                    self.follow(at, &link);
                }
                for port in &mut self.ports {
                    let wanted = port.spec.namespace == *place && port.spec.interface == link.name;
                    if let Standing::Missing { next, .. } = &mut port.standing
                        && wanted
                    {
                        *next = Moment::ZERO;
                    }
                }
            }
            Event::LinkGone(link) => {
                if let Some(at) = self.ports.iter().position(|port| port.is(place, link.index)) {
                    self.lose(at, &format!("the interface {} is gone", link.name), PAUSE);
                }
            }
            _ => {}
        }
    }

    /// The router follows its interface.
    fn follow(&mut self, at: usize, heard: &Link) {
        let most = self.most_mtu();
        let port = &mut self.ports[at];
        let Standing::There { link, opened, .. } = &mut port.standing else { return };
        let called = std::mem::replace(&mut opened.called, heard.name.clone());
        let new = router::Link {
            running: heard.running,
            // What no frame of ours can hold the interface does not carry for us.
            mtu: Some(heard.mtu.min(most) as u16),
            // Of a tap it is the kernel's end's, not ours.
            mac: heard.mac.filter(|_| port.spec.backend != Backend::Tap),
            ..router::Link::default()
        };
        let before = link.replace((new, heard.mtu));
        let (name, interface) = (port.spec.name.clone(), heard.name.clone());
        let inside = inside(port.spec.namespace.as_deref());
        if called != interface {
            let typed = port.spec.interface.clone();
            self.say(&format!(
                "{name}: {called} is called {interface} now, and stays the port; when it is opened again, \
                 {typed} is looked for"
            ));
        }
        if before == Some((new, heard.mtu)) {
            return;
        }
        let (old, old_mtu) = before.unzip();
        if old.is_none_or(|old| old.running) && !new.running {
            let why = match heard.up {
                true => "its wire does not carry".to_string(),
                false => format!("it is switched off (`{inside}ip link set {interface} up`)"),
            };
            self.say(&format!("{name}: the link of {interface} is down: {why}"));
        } else if new.running && old.is_some_and(|old| !old.running) {
            self.say(&format!("{name}: the link of {interface} is up"));
        }
        if let Some(old) = old_mtu.filter(|old| *old != heard.mtu) {
            let mtu = heard.mtu;
            self.say(&format!("{name}: the mtu of {interface} is {mtu}, it was {old}"));
        }
        if heard.mtu > most && old_mtu != Some(heard.mtu) {
            self.say(&format!(
                "{name}: the mtu of {interface} is {}, the router's frames hold {most} bytes: longer \
                 ones are lost until it is restarted, or `ip link set {interface} mtu {most}`",
                heard.mtu
            ));
        }
        self.set_link(at, new);
        if old.is_none() {
            self.compare_mtu(at, &interface, heard.mtu.min(most));
        }
    }

    /// The greatest MTU whose packets the slab's frames hold, with two tags before them.
    fn most_mtu(&self) -> u32 {
        let most = self.slab.slots().max_frame().saturating_sub(open::HEADER);
        most.min(usize::from(u16::MAX)) as u32
    }

    /// Says when an interface carries less than the configuration wants, or more; the router's log has
    /// the former from the router.
    fn compare_mtu(&self, at: usize, interface: &str, carries: u32) {
        let mtus = self.door.with(|node, _| {
            let program = node.router().program();
            let port = program.interface(program.ports[at]);
            (port.mtu, port.configured_mtu())
        });
        let Ok((mtu, configured)) = mtus else { return };
        let name = &self.ports[at].spec.name;
        if mtu < configured {
            (self.tell)(&format!("{name}: the mtu of {interface} is {mtu}, not {configured}"));
        } else if u32::from(configured) < carries {
            (self.tell)(&format!(
                "{name}: {interface} carries packets of {carries} bytes; {configured} are routed: \
                 `/interface ethernet set {name} mtu={carries}` for longer ones"
            ));
        }
    }

    fn set_link(&self, at: usize, link: router::Link) {
        if let Err(why) = self.door.set_link(at, link) {
            (self.tell)(&format!("{}: {why}", self.ports[at].spec.name));
        }
    }

    /// Takes a port's lines out: nothing passes there until it is opened again, after this pause at
    /// the earliest.
    fn lose(&mut self, at: usize, why: &str, pause: Duration) {
        let (tries, next) = (0, self.clock.now() + pause);
        let missing = Standing::Missing { tries, next, said: why.to_string() };
        let port = &mut self.ports[at];
        let name = port.spec.name.clone();
        let before = std::mem::replace(&mut port.standing, missing);
        self.say(&format!("{name}: {why}; it is opened again as soon as it can be"));
        self.set_link(at, router::Link { running: false, ..router::Link::default() });
        let jacks = &self.ports[at].jacks;
        let mut lines: Vec<_> = jacks.iter().map(|jack| (jack, self.put(jack, None))).collect();
        // All of them before one is asked: they share an interface.
        lines.iter_mut().filter_map(|(_, line)| line.as_mut()).for_each(|line| line.0.close());
        for (jack, line) in &lines {
            line.iter().for_each(|line| jack.settle(line));
        }
        drop((lines, before));
    }

    fn open_again(&mut self, at: usize) {
        match open::open(&self.ports[at].spec, &self.slab) {
            Ok(opened) => {
                let facts = self.put_in(at, opened);
                self.say(&format!("{}: open again: {facts}", self.ports[at].spec.name));
            }
            Err(unavailable) => {
                let text = unavailable.to_string();
                let name = self.ports[at].spec.name.clone();
                let now = self.clock.now();
                let mut new = false;
                if let Standing::Missing { tries, next, said } = &mut self.ports[at].standing {
                    *next = now + PAUSE.saturating_mul(1 << (*tries).min(10)).min(LONGEST);
                    *tries += 1;
                    // Right after it has gone everybody knows that it is not there.
                    new = *tries > 1 && *said != text;
                    if new {
                        said.clone_from(&text);
                    }
                }
                if new {
                    self.say(&format!("{name}: {text}; it is tried again"));
                }
            }
        }
    }

    /// Puts what was opened into a port's place and follows its link; says what it became.
    pub(super) fn put_in(&mut self, at: usize, opened: Opened) -> String {
        let Opened { lines, facts, index, claim, kernels, promiscuous, queues } = opened;
        let workers = self.ports[at].jacks.len();
        let mut shares: Vec<Vec<Line>> = (0..workers).map(|_| Vec::new()).collect();
        for (queue, line) in lines.into_iter().enumerate() {
            shares[worker::owner(at, queue, workers)].push(line);
        }
        for (jack, share) in self.ports[at].jacks.iter().zip(shares) {
            drop(self.put(jack, several(share)));
        }
        let called = self.ports[at].spec.interface.clone();
        let opened =
            Owned { index, called, kernels, queues, _claim: claim, _promiscuous: promiscuous };
        let (warned, warn_at) = (Vec::new(), Moment::ZERO);
        self.ports[at].standing = Standing::There { opened, link: None, warned, warn_at };
        self.warn(at);
        self.ask_link(at);
        facts
    }

    /// Says what is wrong with a port's interface, and was not when it was looked at before.
    fn warn(&mut self, at: usize) {
        let all: Vec<_> = self.ports.iter().map(|port| port.spec.clone()).collect();
        let (warnings, next) = (open::warnings(&all[at], &all), self.clock.now() + WARN);
        let Standing::There { warned, warn_at, .. } = &mut self.ports[at].standing else { return };
        *warn_at = next;
        let before = std::mem::replace(warned, warnings.clone());
        for warning in warnings.iter().filter(|warning| !before.contains(warning)) {
            self.say(&format!("{}: {warning}", all[at].name));
        }
    }

    /// Looks how a port's link is, whoever has said so already.
    fn ask_link(&mut self, at: usize) {
        let spec = &self.ports[at].spec;
        let Some(place) = self.places.iter().position(|place| place.name == spec.namespace) else {
            return;
        };
        let interface = spec.interface.clone();
        let links = self.places[place].links();
        if let Some(link) = links.into_iter().find(|link| link.name == interface) {
            self.follow(at, &link);
        }
    }

    fn put(&self, jack: &Jack, line: Option<Line>) -> Option<Taken> {
        jack.put(line, || self.alarms.iter().for_each(Alarm::shout))
    }

    fn say(&self, text: &str) {
        (self.tell)(text);
        let _ = self.door.with(|node, now| node.log(now, "interface,warning", text));
    }
}

/// Addresses in words.
fn list(addresses: &BTreeSet<IpAddr>) -> String {
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}
