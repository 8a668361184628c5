//! The kernel's tables: its routes and neighbours, and which of its links are ports of the router.
//!
//! ```text
//!  Event ─► routes by prefix and priority ─┐
//!           links by name ─► ports ────────┼─► best: where a prefix leads, for the router
//!           neighbours by link, address ───┴─► those behind our ports
//! ```
//!
//! Of several routes to a prefix the one with the least priority counts, of several of the same
//! priority the first (`ip route append`), as for the kernel. Which ways there are is kept once for
//! all routes that share them.
//!
//! What the kernel sends by an interface that is no port of ours (a VPN, the network it is managed by)
//! must not leave by a port because a later or a shorter route leads there: it is unreachable. Of a
//! route with some of its ways by ports those are used. A way into a tunnel (`encap`) or by a gateway
//! of IPv6 is none of ours. By our own taps, and by the other end of a veth that is a port, the kernel
//! sends to the router itself: such routes say nothing of where it sends.
//!
//! Of weights that need more than 64 shares the nearest ratio is taken that does not.
//!
//! Of IPv6's routes, and of other tables, which are read anew as a whole, [`whole`](super::whole) makes the
//! router's.
//!
//! Missing: **routes by type of service**.

use super::Way;
use crate::linux::netlink::route::Gateway;
use crate::linux::netlink::{Event, Neighbour, NextHop, Place, Route, RouteKind};
use router::interface::InterfaceId;
use router::ip::feed::Protocol;
use router::ip::neighbour::FedNeighbour;
use router::ip::route::Target;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::rc::Rc;
use wire::Ipv4Prefix;

/// What the kernel has.
#[derive(Default)]
pub(super) struct Table {
    routes: BTreeMap<Key, Entry>,
    /// What routes share.
    ways: HashMap<Rc<Ways>, Lead>,
    /// By link and address; with the round in which each was told last.
    neighbours: HashMap<(u32, IpAddr), (Neighbour, u32)>,
    links: HashMap<u32, Known>,
    /// What links were called that were ports when they were renamed: a port stays with its link.
    renamed: HashMap<u32, String>,
    /// What interfaces are to the router.
    ports: HashMap<String, End>,
    /// How often everything was told.
    round: u32,
    /// Prefixes that may lead elsewhere than the router was told.
    changed: HashSet<Ipv4Prefix>,
    /// Those that lead by no port, and those with some ways by none.
    elsewhere: HashSet<Ipv4Prefix>,
    partly: HashSet<Ipv4Prefix>,
}

/// What is known of a link.
#[derive(Default)]
struct Known {
    name: String,
    running: bool,
    /// The other end, if it is a veth with both ends here.
    opposite: Option<u32>,
}

/// What an interface is to the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A port, or a bridge's by a port.
    Port(InterfaceId),
    /// The kernel's end of a wire to the router: its tap.
    Kernels,
}

/// Where ways lead, for the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lead<A = u32> {
    /// Nowhere: the kernel looks further.
    Dead,
    /// To the router itself.
    Here,
    /// By no port.
    Elsewhere,
    /// By ports, and whether by others too.
    Ours(Target<A>, Partly),
}

pub(super) type Partly = bool;

/// Prefix, priority, and in which order those of the same stand.
type Key = (Ipv4Prefix, u32, i32);

struct Entry {
    ways: Rc<Ways>,
    protocol: u8,
    /// In which round it was told last.
    round: u32,
}

#[derive(PartialEq, Eq, Hash)]
struct Ways {
    kind: RouteKind,
    hops: Vec<NextHop>,
}

/// The most shares of a route, if it has not more ways.
const SHARES: u16 = 64;

impl Table {
    /// What the interface of this name is to the router.
    pub(super) fn end_of(&self, name: &str) -> Option<End> {
        self.ports.get(name).copied()
    }

    /// Takes in what a watch tells.
    pub(super) fn hear(&mut self, event: Event) {
        match event {
            Event::Anew => self.round = self.round.wrapping_add(1),
            Event::Complete => {
                let round = self.round;
                let gone = self.routes.extract_if(.., |_, entry| entry.round != round);
                self.changed.extend(gone.map(|((prefix, ..), _)| prefix));
                self.ways.retain(|ways, _| Rc::strong_count(ways) > 1);
                self.neighbours.retain(|_, (_, told)| *told == round);
            }
            Event::Link(link) => {
                let both_here = link.kind == "veth" && link.peer_namespace.is_none();
                let opposite = link.peer.filter(|_| both_here);
                let now = Known { name: link.name.clone(), running: link.running, opposite };
                let Known { name: old, .. } =
                    self.links.insert(link.index, now).unwrap_or_default();
                if self.ports.contains_key(&old) && old != link.name {
                    self.renamed.entry(link.index).or_insert(old.clone());
                }
                if old != link.name {
                    self.other_names(&[old, link.name]);
                }
            }
            Event::LinkGone(link) => {
                self.links.remove(&link.index);
                let was = self.renamed.remove(&link.index).unwrap_or_default();
                self.other_names(&[link.name, was]);
            }
            Event::Route { route, place } if route.tos == 0 => self.insert(route, place),
            Event::RouteGone(route) if route.tos == 0 => self.remove(&route),
            Event::Neighbour(neighbour) => {
                let key = (neighbour.interface, neighbour.address);
                self.neighbours.insert(key, (neighbour, self.round));
            }
            Event::NeighbourGone(neighbour) => {
                self.neighbours.remove(&(neighbour.interface, neighbour.address));
            }
            _ => {}
        }
    }

    fn remove(&mut self, route: &Route) {
        let is_it = |entry: &Entry| {
            let same =
                |(a, b): (&NextHop, &NextHop)| (a.interface, a.gateway) == (b.interface, b.gateway);
            let Ways { kind, hops } = &*entry.ways;
            (entry.protocol, *kind, hops.len())
                == (route.protocol, route.kind, route.next_hops.len())
                && hops.iter().zip(&route.next_hops).all(same)
        };
        let key = self.alike(route).find(|(_, entry)| is_it(entry)).map(|(key, _)| *key);
        if key.is_some_and(|key| self.routes.remove(&key).is_some()) {
            self.changed.insert(route.destination);
        }
    }

    /// The routes of the same prefix and priority, in their order.
    fn alike(&self, route: &Route) -> impl Iterator<Item = (&Key, &Entry)> {
        let (prefix, priority) = (route.destination, route.priority);
        self.routes.range((prefix, priority, i32::MIN)..=(prefix, priority, i32::MAX))
    }

    /// Where the first and the last of them stand that were told in this round: what is not told again
    /// yet does not count.
    fn told_alike(&self, route: &Route) -> Option<(i32, i32)> {
        let told = self.alike(route).filter(|(_, entry)| entry.round == self.round);
        let mut places = told.map(|((.., at), _)| *at);
        let first = places.next()?;
        Some((first, places.last().unwrap_or(first)))
    }

    fn insert(&mut self, route: Route, place: Place) {
        let round = self.round;
        let at = match (place, self.told_alike(&route)) {
            (_, None) => 0,
            (Place::OfFirst, Some((first, _))) => first,
            (Place::First, Some((first, _))) => first.saturating_sub(1),
            (Place::Last, Some((_, last))) => last.saturating_add(1),
        };
        let Route { destination, priority, protocol, kind, next_hops: mut hops, .. } = route;
        self.revive(&mut hops);
        let ways = self.share(Ways { kind, hops });
        let same = |old: &Entry| Rc::ptr_eq(&old.ways, &ways) && old.protocol == protocol;
        let range = (destination, priority, i32::MIN)..=(destination, priority, i32::MAX);
        let twin = self.routes.range(range).find(|(_, entry)| same(entry));
        let twin = twin.map(|((.., at), entry)| (*at, entry.round));
        match twin {
            // The kernel has no two that are the same: it was heard twice.
            Some((_, told)) if told == round => return,
            Some((twin, _)) if twin == at => {}
            Some((twin, _)) => {
                self.routes.remove(&(destination, priority, twin));
                self.changed.insert(destination);
            }
            None => {
                self.changed.insert(destination);
            }
        }
        self.routes.insert((destination, priority, at), Entry { ways, protocol, round });
    }

    /// The router follows the links itself. Dead for the kernel though its link runs is a way whose
    /// address there is gone.
    pub(super) fn revive<A>(&self, hops: &mut [NextHop<A>]) {
        let runs = |at: u32| self.links.get(&at).is_some_and(|link| link.running);
        hops.iter_mut().for_each(|hop| hop.alive |= !runs(hop.interface));
    }

    fn share(&mut self, ways: Ways) -> Rc<Ways> {
        if let Some((shared, _)) = self.ways.get_key_value(&ways) {
            return Rc::clone(shared);
        }
        let (lead, ways) = (self.lead(&ways), Rc::new(ways));
        self.ways.insert(Rc::clone(&ways), lead);
        ways
    }

    /// What interfaces are, by name. Returns whether they are other than before.
    pub(super) fn set_ports(&mut self, ports: HashMap<String, End>) -> bool {
        let differs = self.ports != ports;
        if differs {
            self.ports = ports;
            self.all_changed();
        }
        differs
    }

    /// Other links have these names than before.
    fn other_names(&mut self, names: &[String]) {
        if names.iter().any(|name| self.ports.contains_key(name)) {
            self.all_changed();
        }
    }

    fn all_changed(&mut self) {
        let ways: Vec<_> = self.ways.keys().cloned().collect();
        for ways in ways {
            let lead = self.lead(&ways);
            self.ways.insert(ways, lead);
        }
        self.changed.extend(self.routes.keys().map(|(prefix, ..)| *prefix));
    }

    /// The kernel is gone: nothing leads anywhere.
    pub(super) fn forget(&mut self) {
        let routes = std::mem::take(&mut self.routes);
        self.changed.extend(routes.into_keys().map(|(prefix, ..)| prefix));
        self.links.clear();
        self.renamed.clear();
        self.ways.clear();
        self.neighbours.clear();
    }

    /// Those behind our ports whose MAC addresses the kernel has, of either family.
    pub(super) fn neighbours(&self) -> (Vec<FedNeighbour>, Vec<FedNeighbour<u128>>) {
        let (mut four, mut six) = (Vec::new(), Vec::new());
        for (neighbour, _) in self.neighbours.values() {
            let Neighbour { interface, address, mac, sure, .. } = *neighbour;
            let (Some(interface), Some(mac)) = (self.port(interface), mac) else { continue };
            match address {
                IpAddr::V4(address) => {
                    four.push(FedNeighbour { interface, address: address.into(), mac, sure });
                }
                IpAddr::V6(address) => {
                    six.push(FedNeighbour { interface, address: address.into(), mac, sure });
                }
            }
        }
        (four, six)
    }

    /// How many prefixes are to be looked at again.
    pub(super) fn changed(&self) -> usize {
        self.changed.len()
    }

    /// The prefixes to look at again, and where they lead now: `None` if not by us.
    pub(super) fn take_changed(&mut self) -> Vec<(Ipv4Prefix, Option<Way>)> {
        let changed = std::mem::take(&mut self.changed);
        let look = |prefix| {
            let (way, partly) = self.best(prefix).unzip();
            let elsewhere = matches!(way, Some((_, Protocol::Elsewhere)));
            let marks =
                [(&mut self.elsewhere, elsewhere), (&mut self.partly, partly == Some(true))];
            for (prefixes, is_one) in marks {
                if is_one {
                    prefixes.insert(prefix)
                } else {
                    prefixes.remove(&prefix)
                };
            }
            (prefix, way)
        };
        changed.into_iter().map(look).collect()
    }

    /// How many prefixes the kernel sends by no port, and how many by others as well.
    pub(super) fn left_out(&self) -> (usize, usize) {
        (self.elsewhere.len(), self.partly.len())
    }

    fn entries(&self, prefix: Ipv4Prefix) -> impl Iterator<Item = &Entry> {
        let all = (prefix, 0, i32::MIN)..=(prefix, u32::MAX, i32::MAX);
        self.routes.range(all).map(|(_, entry)| entry)
    }

    /// By the first route that is not dead.
    fn best(&self, prefix: Ipv4Prefix) -> Option<(Way, Partly)> {
        /// `RTPROT_KERNEL`: the networks of addresses. Behind its ports the router has its own.
        const KERNEL: u8 = 2;
        let leads = self.entries(prefix).filter_map(|entry| {
            let lead = self.ways.get(&entry.ways)?;
            let counts = match lead {
                Lead::Dead => false,
                Lead::Ours(..) => entry.protocol != KERNEL,
                Lead::Here | Lead::Elsewhere => true,
            };
            counts.then_some((lead, entry.protocol))
        });
        match leads.into_iter().next()? {
            (Lead::Ours(target, partly), number) => {
                Some(((target.clone(), protocol(number)), *partly))
            }
            (Lead::Elsewhere, _) => Some(((Target::Unreachable, Protocol::Elsewhere), false)),
            (Lead::Here | Lead::Dead, _) => None,
        }
    }

    /// What ways are to the router.
    fn lead(&self, ways: &Ways) -> Lead {
        match ways.kind {
            RouteKind::Blackhole => Lead::Ours(Target::Blackhole, false),
            // No other table comes after this one.
            RouteKind::Unreachable | RouteKind::Throw => Lead::Ours(Target::Unreachable, false),
            RouteKind::Prohibit => Lead::Ours(Target::Prohibit, false),
            RouteKind::Unicast => self.unicast(&ways.hops),
            // For the kernel itself.
            RouteKind::Local | RouteKind::Broadcast | RouteKind::Other(_) => Lead::Elsewhere,
        }
    }

    /// Which interface of the router a link is.
    fn port(&self, link: u32) -> Option<InterfaceId> {
        match self.end(link)? {
            End::Port(interface) => Some(interface),
            End::Kernels => None,
        }
    }

    /// What a link is to the router.
    fn end(&self, link: u32) -> Option<End> {
        let Known { name, .. } = self.links.get(&link)?;
        let was = self.renamed.get(&link);
        // Who takes the name of a port that goes on under another is none.
        let is_taken = was.is_none() && self.renamed.values().any(|taken| taken == name);
        self.ports.get(was.unwrap_or(name)).copied().filter(|_| !is_taken)
    }

    /// Whether what the kernel sends by a link comes to the router.
    fn leads_here(&self, link: u32) -> bool {
        let opposite = self.links.get(&link).and_then(|link| link.opposite);
        self.end(link) == Some(End::Kernels)
            || opposite.is_some_and(|opposite| self.port(opposite).is_some())
    }

    pub(super) fn unicast<H, A>(&self, hops: &[NextHop<H>]) -> Lead<A>
    where
        H: Copy + PartialEq + Into<A>,
        A: Copy,
    {
        // (Links are told before routes; the routes of one that is gone go as well.)
        let is_there = |hop: &&NextHop<H>| hop.alive && self.links.contains_key(&hop.interface);
        let alive: Vec<_> = hops.iter().filter(is_there).collect();
        if alive.is_empty() {
            return Lead::Dead;
        }
        let by_gateways: Vec<_> = alive
            .iter()
            .filter_map(|hop| match hop.gateway {
                Gateway::Address(gateway) => {
                    Some(((self.port(hop.interface)?, gateway.into()), hop.weight))
                }
                Gateway::None | Gateway::Foreign => None,
            })
            .collect();
        if by_gateways.is_empty() {
            let mut direct = alive.iter().filter(|hop| hop.gateway == Gateway::None);
            return match direct.find_map(|hop| self.port(hop.interface)) {
                Some(port) => Lead::Ours(Target::Connected(port), alive.len() > 1),
                None if alive.iter().any(|hop| self.leads_here(hop.interface)) => Lead::Here,
                None => Lead::Elsewhere,
            };
        }
        let partly = by_gateways.len() < alive.len();
        let weights: Vec<_> = by_gateways.iter().map(|(_, weight)| *weight).collect();
        let by_gateways = by_gateways.into_iter().zip(shares(&weights));
        let by_gateways = by_gateways.flat_map(|((way, _), n)| std::iter::repeat_n(way, n.into()));
        Lead::Ours(Target::Gateways(by_gateways.collect()), partly)
    }
}

/// How many shares each way has, of at most [`SHARES`] if there are not more ways: those whose ratio
/// is nearest to that of the weights, the fewest of several as near. Every way has one at least.
fn shares(weights: &[u16]) -> Vec<u16> {
    let all: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
    let one_each = vec![1; weights.len()];
    let of = |n: u32| -> Vec<u16> {
        let share = |weight: &u16| ((u32::from(*weight) * n + all / 2) / all.max(1)).max(1) as u16;
        weights.iter().map(share).collect()
    };
    // By how much the way is off that is off most, as a part of the traffic.
    let off = |shares: &[u16]| {
        let n: u16 = shares.iter().sum();
        let off = shares.iter().zip(weights).map(|(share, weight)| {
            (f64::from(*share) / f64::from(n) - f64::from(*weight) / f64::from(all.max(1))).abs()
        });
        off.fold(0.0, f64::max)
    };
    let fits = |shares: &Vec<u16>| shares.iter().sum::<u16>() <= SHARES;
    let tried = (1..=u32::from(SHARES)).map(of).filter(fits).map(|shares| (off(&shares), shares));
    // (The first of equals.)
    tried.min_by(|(a, _), (b, _)| a.total_cmp(b)).map_or(one_each, |(_, shares)| shares)
}

/// Who made a route (`RTPROT_…` in `linux/rtnetlink.h`).
pub(super) fn protocol(number: u8) -> Protocol {
    match number {
        // Boot, static, DHCP.
        3 | 4 | 16 => Protocol::Static,
        186 => Protocol::Bgp,
        188 => Protocol::Ospf,
        189 => Protocol::Rip,
        // Bird, for one (12), does not say by which protocol it has them.
        _ => Protocol::Other,
    }
}

#[cfg(test)]
mod tests;
