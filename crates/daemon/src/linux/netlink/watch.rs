//! Changes of links, addresses, routes, rules and neighbours, heard without waiting.
//!
//! ```text
//!  open ─► Anew ─► all there are ─► Complete ─► changes …
//!            ▲                                    │ more than the socket held
//!            └──────────── overrun ◄──────────────┘
//! ```
//!
//! Who keeps a copy of what a watch tells marks what it has at [`Event::Anew`], and forgets at
//! [`Event::Complete`] what was not told again: nothing is missed for ever, however much happened at
//! once. The kernel says nothing of the IPv4 routes that go with a link or an address, or of the ways
//! that die or come to life with one, or with a carrier: when one of these comes or goes, they are
//! told anew. It speaks of the link before it sees to the routes, so that is done once more a little
//! later; and only then where next-hop objects changed (`ip nexthop`), whose routes go without a word,
//! too.

use super::message::{Received, messages};
use super::object::{self, Objects};
use super::route::LOCAL;
use super::socket::{BUFFER, Netlink, subscribe, unavailable};
use super::{Address, Link, Neighbour, Route, Route6, Rule, address, link, neighbour, route, rule};
use crate::clock::Clock;
use port::linux::{Namespace, Unavailable};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use wire::Moment;

/// What is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    /// Links.
    pub links: bool,
    /// Addresses of both families.
    pub addresses: bool,
    /// IPv4 routes of this table.
    pub routes: Option<u32>,
    /// Whether anything happens to IPv6's routes.
    pub routes6: bool,
    /// Neighbours of both families.
    pub neighbours: bool,
    /// Whether anything happens to routing rules of either family.
    pub rules: bool,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// All there are follow, because the watch begins, or because more happened than could be held.
    Anew,
    /// They have all been told.
    Complete,
    /// A link is there, or is otherwise than before.
    Link(Link),
    /// A link is gone, or is in another namespace.
    LinkGone(Link),
    /// An address is there.
    Address(Address),
    /// An address is gone.
    AddressGone(Address),
    /// A route is there.
    Route {
        /// The route.
        route: Route,
        /// Where among those of the same destination, type of service and priority.
        place: Place,
    },
    /// A route is gone.
    RouteGone(Route),
    /// Something has happened to IPv6's routes: they are to be read anew.
    Routes6,
    /// Something has happened to IPv4's in a table that is not the watched one, nor the local one.
    OtherTable,
    /// Something has happened to routing rules: they are to be read anew.
    Rules,
    /// A neighbour is there, or is otherwise than before.
    Neighbour(Neighbour),
    /// A neighbour is gone.
    NeighbourGone(Neighbour),
}

/// Where a route stands among those of the same destination, type of service and priority: the kernel
/// takes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind those that were told before (`ip route append`), if there are any.
    Last,
    /// In front of them (`ip route prepend`).
    First,
    /// It takes the place of the first (`ip route replace`), which is gone.
    OfFirst,
}

impl Place {
    /// By a message's flags (`NLM_F_REPLACE`, `NLM_F_CREATE` without `NLM_F_APPEND` or `NLM_F_EXCL`).
    fn of(flags: u16) -> Place {
        match flags {
            _ if flags & 0x100 != 0 => Place::OfFirst,
            _ if flags & 0xe00 == 0x400 => Place::First,
            _ => Place::Last,
        }
    }
}

/// A watch over a network namespace.
pub struct Watch {
    topics: Topics,
    socket: OwnedFd,
    /// For dumps.
    netlink: Netlink,
    /// Whether everything is to be told.
    anew: bool,
    /// Since when it is to be told once more, when all has settled.
    again: Option<Clock>,
    /// Whether routes go through links: these are up, these are running.
    states: HashMap<u32, (bool, bool)>,
    /// What routes may lead by.
    objects: Objects,
    overruns: u64,
    buffer: Vec<u8>,
}

/// What the kernel may hold for us, if it lets us ask: a hundred thousand routes at once.
const HELD: usize = 32 << 20;
/// After so long the kernel's routes are as its links and addresses.
const SETTLED: Duration = Duration::from_millis(100);

/// How long that is still to come, for a clock that was started when something was lost.
fn until_settled(since: &Clock) -> Duration {
    SETTLED.saturating_sub(since.now().since(Moment::ZERO))
}

impl Watch {
    /// Watches the calling thread's namespace.
    ///
    /// # Errors
    /// [`Unavailable`]: no such sockets here.
    pub fn open(topics: Topics) -> Result<Watch, Unavailable> {
        // RTNLGRP_LINK 1, RTNLGRP_NEIGH 3, RTNLGRP_IPV4_IFADDR 5, RTNLGRP_IPV4_ROUTE 7, RTNLGRP_IPV4_RULE 8,
        // RTNLGRP_IPV6_IFADDR 9, RTNLGRP_IPV6_ROUTE 11, RTNLGRP_IPV6_RULE 19, RTNLGRP_NEXTHOP 32.
        let group = |number: u32, wanted: bool| u32::from(wanted) << (number - 1);
        let routes = topics.routes.is_some();
        let groups = group(1, topics.links || routes)
            | group(3, topics.neighbours)
            | group(5, routes || topics.addresses)
            | group(7, routes)
            | group(8, topics.rules)
            | group(9, topics.routes6 || topics.addresses)
            | group(11, topics.routes6)
            | group(19, topics.rules)
            | group(32, routes);
        let socket = subscribe(groups).map_err(|e| unavailable("watch the interfaces", e))?;
        // As large as may be: without rights for more it stays at what every socket may have.
        if net::sockopt::set_socket_recv_buffer_size_force(&socket, HELD).is_err() {
            let _ = net::sockopt::set_socket_recv_buffer_size(&socket, HELD);
        }
        let (netlink, states, buffer) = (Netlink::open()?, HashMap::new(), vec![0; BUFFER]);
        let (anew, again, objects, overruns) = (true, None, Objects::default(), 0);
        Ok(Watch { topics, socket, netlink, anew, again, states, objects, overruns, buffer })
    }

    /// Watches `namespace`.
    ///
    /// # Errors
    /// [`Unavailable`]: no such sockets here, or the namespace cannot be entered.
    pub fn open_in(namespace: &Namespace, topics: Topics) -> Result<Watch, Unavailable> {
        namespace
            .run(|| Watch::open(topics))
            .map_err(|error| Unavailable::because("enter a network namespace", error))?
    }

    /// Tells what happened since it was last asked, without waiting for more; at first, and after
    /// an overrun, everything there is (that takes as long as reading it does).
    ///
    /// # Errors
    /// [`Unavailable`]: everything could not be read; it is tried again when this is called again.
    pub fn poll(&mut self, tell: &mut dyn FnMut(Event)) -> Result<(), Unavailable> {
        self.anew |= self.again.take_if(|since| until_settled(since).is_zero()).is_some();
        loop {
            if self.anew {
                self.tell_all(tell)?;
                self.anew = false;
            }
            let received = match net::recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT)
            {
                Ok((received, _)) => received,
                Err(Errno::AGAIN) if self.anew => continue,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(Errno::NOBUFS) => {
                    self.overruns += 1;
                    self.anew = true;
                    self.empty();
                    continue;
                }
                Err(error) => return Err(unavailable("hear what happens to interfaces", error)),
            };
            let (mut silent_loss, mut other_objects) = (false, false);
            for message in messages(&self.buffer[..received]) {
                silent_loss |= self.topics.routes.is_some() && loses(&mut self.states, &message);
                if matches!(message.kind, object::NEW | object::DEL) {
                    self.objects.hear(&message);
                    other_objects = true;
                }
                if let Some(event) = event(self.topics, &self.objects, &message) {
                    tell(event);
                }
            }
            self.anew = silent_loss;
            if silent_loss {
                self.again = Some(Clock::start());
            } else if other_objects {
                self.again.get_or_insert_with(Clock::start);
            }
        }
    }

    /// How long until it has more to tell though nothing is heard.
    pub fn due(&self) -> Option<Duration> {
        self.again.as_ref().map(until_settled)
    }

    /// Waits until there is something to hear, at most so long; whether there is.
    ///
    /// # Errors
    /// Of `poll(2)`.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let due = self.due();
        if self.anew || due == Some(Duration::ZERO) {
            return Ok(true);
        }
        let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
        let at_most = due.map_or(at_most, |due| due.min(at_most));
        let at_most = Timespec::try_from(at_most).map_err(io::Error::other)?;
        match poll(&mut ready, Some(&at_most)) {
            Ok(n) => Ok(n > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The routes of IPv4 of a table as they are now.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn routes(&mut self, table: u32) -> Result<Vec<Route>, Unavailable> {
        self.netlink.routes(table)
    }

    /// The routes of IPv6 of a table as they are now.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn routes6(&mut self, table: u32) -> Result<Vec<Route6>, Unavailable> {
        self.netlink.routes6(table)
    }

    /// The routing rules of both families as they are now.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn rules(&mut self) -> Result<Vec<Rule>, Unavailable> {
        self.netlink.rules()
    }

    /// How often more happened than could be held.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Forgets what is held. After an overrun the kernel drops, without another word, what happens
    /// until nothing is held any more: only then everything may be read.
    fn empty(&mut self) {
        let mut more = || net::recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT);
        while matches!(more(), Ok(_) | Err(Errno::INTR | Errno::NOBUFS)) {}
    }

    fn tell_all(&mut self, tell: &mut dyn FnMut(Event)) -> Result<(), Unavailable> {
        let Watch { topics, netlink, states, objects, .. } = self;
        tell(Event::Anew);
        // A dump that begins anew tells some things twice, and things that are gone meanwhile; of
        // these the socket tells, afterwards.
        if topics.links || topics.routes.is_some() {
            netlink.dump("list the interfaces", link::all, &mut |message| {
                let Some(link) = message.and_then(|m| Link::read(&m)) else { return };
                states.insert(link.index, (link.up, link.running));
                if topics.links {
                    tell(Event::Link(link));
                }
            })?;
        }
        if topics.addresses {
            netlink.dump("list the addresses", address::all, &mut |message| {
                if let Some(address) = message.and_then(|m| Address::read(&m)) {
                    tell(Event::Address(address));
                }
            })?;
        }
        if let Some(table) = topics.routes {
            *objects = netlink.next_hop_objects()?;
            netlink.each_route(table, objects, &mut |route| {
                if let Some(route) = route {
                    tell(Event::Route { route, place: Place::Last });
                }
            })?;
        }
        if topics.neighbours {
            netlink.dump("list the neighbours", neighbour::all, &mut |message| {
                if let Some(neighbour) = message.and_then(|m| Neighbour::read(&m)) {
                    tell(Event::Neighbour(neighbour));
                }
            })?;
        }
        if topics.routes6 {
            tell(Event::Routes6);
        }
        if topics.rules {
            tell(Event::Rules);
        }
        tell(Event::Complete);
        Ok(())
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether routes may have gone, or ways of them died or come to life, with what a message tells.
fn loses(states: &mut HashMap<u32, (bool, bool)>, message: &Received<'_>) -> bool {
    match message.kind {
        link::NEW if Link::is_about(message) => Link::read(message).is_some_and(|link| {
            let state = (link.up, link.running);
            states.insert(link.index, state).is_some_and(|was| was != state)
        }),
        link::DEL if Link::is_about(message) => {
            Link::read(message).is_some_and(|link| states.remove(&link.index).is_some())
        }
        // (IPv6's are another affair.)
        address::NEW | address::DEL => message.body.first() != Some(&10),
        _ => false,
    }
}

/// What a message tells. (The kernel tells of addresses that go with their link.)
fn event(topics: Topics, objects: &Objects, message: &Received<'_>) -> Option<Event> {
    // (Links come and go before their addresses do.)
    let of_ipv6 = topics.routes6 && message.body.first() == Some(&10);
    if of_ipv6 && matches!(message.kind, route::NEW | route::DEL | address::NEW | address::DEL) {
        return Some(Event::Routes6);
    }
    let watched = |route: &Route| topics.routes.is_some_and(|t| t == 0 || t == route.table);
    let elsewhere = |route: &Route| (route.table != LOCAL).then_some(Event::OtherTable);
    match message.kind {
        link::NEW | link::DEL if !topics.links || !Link::is_about(message) => None,
        link::NEW => Link::read(message).map(Event::Link),
        link::DEL => Link::read(message).map(Event::LinkGone),
        address::NEW | address::DEL if !topics.addresses => None,
        address::NEW => Address::read(message).map(Event::Address),
        address::DEL => Address::read(message).map(Event::AddressGone),
        route::NEW => {
            let route = Route::read(message, objects)?;
            let place = Place::of(message.flags);
            if watched(&route) { Some(Event::Route { route, place }) } else { elsewhere(&route) }
        }
        route::DEL => {
            let route = Route::read(message, objects)?;
            if watched(&route) { Some(Event::RouteGone(route)) } else { elsewhere(&route) }
        }
        rule::NEW | rule::DEL => Some(Event::Rules),
        neighbour::NEW => Neighbour::read(message).map(Event::Neighbour),
        neighbour::DEL => Neighbour::read(message).map(Event::NeighbourGone),
        _ => None,
    }
}
