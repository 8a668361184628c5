//! What the kernel has: its routes and neighbours, and which of its links are ports of the router.
//!
//! ```text
//!  Event ─► routes by prefix and priority ─┐
//!           links by name ─► ports ────────┼─► best: where a prefix leads, for the router
//!           neighbours by link, address ───┴─► those behind our ports
//! ```
//!
//! Of several routes to a prefix that lead by our ports the one with the least priority counts, of
//! several of the same priority the first (`ip route append`). Which ways there are is kept once for
//! all routes that share them.
//!
//! A way into a tunnel (`encap`), by a gateway of IPv6 or by a next-hop object that the kernel does not
//! spell out is none of ours.
//!
//! Missing: **routes by type of service**, **weights** that need more than 64 shares (each way gets one
//! then).

use super::Way;
use crate::linux::netlink::route::Gateway;
use crate::linux::netlink::{Event, Neighbour, NextHop, Place, Route, RouteKind};
use router::interface::InterfaceId;
use router::ip::feed::Protocol;
use router::ip::neighbour::FedNeighbour;
use router::ip::route::Target;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::Ipv4Addr;
use std::rc::Rc;
use wire::Ipv4Prefix;

/// What the kernel has.
#[derive(Default)]
pub(super) struct Table {
    routes: BTreeMap<Key, Entry>,
    /// What routes share.
    ways: HashMap<Rc<Ways>, Option<Target>>,
    /// By link and address; with the round in which each was told last.
    neighbours: HashMap<(u32, Ipv4Addr), (Neighbour, u32)>,
    /// What the links are called, and whether they run.
    links: HashMap<u32, (String, bool)>,
    /// What links were called that were ports when they were renamed: a port stays with its link.
    renamed: HashMap<u32, String>,
    /// Where our ports' interfaces lead.
    ports: HashMap<String, InterfaceId>,
    /// How often everything was told.
    round: u32,
    /// Prefixes that may lead elsewhere than the router was told.
    changed: HashSet<Ipv4Prefix>,
    left_out: HashSet<Ipv4Prefix>,
}

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

/// The most shares of a route.
const SHARES: u16 = 64;

impl Table {
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
                let now = (link.name.clone(), link.running);
                let (old, _) = self.links.insert(link.index, now).unwrap_or_default();
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
        /// `RTPROT_KERNEL`: the networks of addresses. The router has its own.
        const KERNEL: u8 = 2;
        if route.protocol == KERNEL {
            return;
        }
        let round = self.round;
        let at = match (place, self.told_alike(&route)) {
            (_, None) => 0,
            (Place::OfFirst, Some((first, _))) => first,
            (Place::First, Some((first, _))) => first.saturating_sub(1),
            (Place::Last, Some((_, last))) => last.saturating_add(1),
        };
        let Route { destination, priority, protocol, kind, next_hops: mut hops, .. } = route;
        // The router follows the links itself. Dead for the kernel though its link runs is a way whose
        // address there is gone.
        let runs = |hop: &NextHop| self.links.get(&hop.interface).is_some_and(|(_, runs)| *runs);
        hops.iter_mut().for_each(|hop| hop.alive |= !runs(hop));
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

    fn share(&mut self, ways: Ways) -> Rc<Ways> {
        if let Some((shared, _)) = self.ways.get_key_value(&ways) {
            return Rc::clone(shared);
        }
        let (target, ways) = (self.target(&ways), Rc::new(ways));
        self.ways.insert(Rc::clone(&ways), target);
        ways
    }

    /// Our ports' interfaces by name. Returns whether they lead elsewhere than before.
    pub(super) fn set_ports(&mut self, ports: HashMap<String, InterfaceId>) -> bool {
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
            let target = self.target(&ways);
            self.ways.insert(ways, target);
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

    /// Those behind our ports whose MAC addresses the kernel has.
    pub(super) fn neighbours(&self) -> Vec<FedNeighbour> {
        let fed = |(neighbour, _): &(Neighbour, u32)| {
            let Neighbour { interface, address, mac, sure, .. } = *neighbour;
            let interface = self.port(interface)?;
            Some(FedNeighbour { interface, address: address.into(), mac: mac?, sure })
        };
        self.neighbours.values().filter_map(fed).collect()
    }

    /// How many prefixes are to be looked at again.
    pub(super) fn changed(&self) -> usize {
        self.changed.len()
    }

    /// The prefixes to look at again, and where they lead now: `None` if not by us.
    pub(super) fn take_changed(&mut self) -> Vec<(Ipv4Prefix, Option<Way>)> {
        let changed = std::mem::take(&mut self.changed);
        let look = |prefix| {
            let best = self.best(prefix);
            if best.is_none() && self.entries(prefix).next().is_some() {
                self.left_out.insert(prefix);
            } else {
                self.left_out.remove(&prefix);
            }
            (prefix, best)
        };
        changed.into_iter().map(look).collect()
    }

    /// To how many prefixes the kernel has a route, and the router none.
    pub(super) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    fn entries(&self, prefix: Ipv4Prefix) -> impl Iterator<Item = &Entry> {
        let all = (prefix, 0, i32::MIN)..=(prefix, u32::MAX, i32::MAX);
        self.routes.range(all).map(|(_, entry)| entry)
    }

    fn best(&self, prefix: Ipv4Prefix) -> Option<Way> {
        // What the kernel has for itself no later route may have.
        let mut ours = self.entries(prefix).take_while(|entry| {
            !matches!(
                entry.ways.kind,
                RouteKind::Local | RouteKind::Broadcast | RouteKind::Other(_)
            )
        });
        ours.find_map(|entry| {
            let target = self.ways.get(&entry.ways)?.clone()?;
            Some((target, protocol(entry.protocol)))
        })
    }

    /// What ways are to the router.
    fn target(&self, ways: &Ways) -> Option<Target> {
        match ways.kind {
            RouteKind::Blackhole => Some(Target::Blackhole),
            // No other table comes after this one.
            RouteKind::Unreachable | RouteKind::Throw => Some(Target::Unreachable),
            RouteKind::Prohibit => Some(Target::Prohibit),
            RouteKind::Unicast => self.unicast(&ways.hops),
            RouteKind::Local | RouteKind::Broadcast | RouteKind::Other(_) => None,
        }
    }

    /// Which interface of the router a link is.
    fn port(&self, link: u32) -> Option<InterfaceId> {
        let (name, _) = self.links.get(&link)?;
        let was = self.renamed.get(&link);
        // Who takes the name of a port that goes on under another is none.
        let is_taken = was.is_none() && self.renamed.values().any(|taken| taken == name);
        self.ports.get(was.unwrap_or(name)).copied().filter(|_| !is_taken)
    }

    fn unicast(&self, hops: &[NextHop]) -> Option<Target> {
        let hops = || hops.iter().filter(|hop| hop.alive);
        let by_gateways: Vec<_> = hops()
            .filter_map(|hop| match hop.gateway {
                Gateway::Address(gateway) => {
                    Some(((self.port(hop.interface)?, gateway.into()), hop.weight))
                }
                Gateway::None | Gateway::Foreign => None,
            })
            .collect();
        if by_gateways.is_empty() {
            let mut direct = hops().filter(|hop| hop.gateway == Gateway::None);
            return direct.find_map(|hop| self.port(hop.interface)).map(Target::Connected);
        }
        let common = by_gateways.iter().fold(0, |common, (_, weight)| gcd(common, *weight)).max(1);
        let shares: u16 = by_gateways.iter().map(|(_, weight)| weight / common).sum();
        let by_gateways = by_gateways.into_iter().flat_map(|(way, weight)| {
            let n = if shares > SHARES { 1 } else { weight / common };
            std::iter::repeat_n(way, n.into())
        });
        Some(Target::Gateways(by_gateways.collect()))
    }
}

fn gcd(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Who made a route (`RTPROT_…` in `linux/rtnetlink.h`).
fn protocol(number: u8) -> Protocol {
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
mod tests {
    use super::*;
    use crate::linux::netlink::Link;
    use wire::MacAddr;

    const ONE: InterfaceId = InterfaceId(1);
    const TWO: InterfaceId = InterfaceId(2);

    /// Of its links `eth1` does not run.
    fn table() -> Table {
        let mut table = Table::default();
        table.hear(Event::Anew);
        for (index, name) in [(11, "eth1"), (12, "eth2"), (13, "mgmt")] {
            let running = name != "eth1";
            let link = Link { index, name: name.to_string(), running, ..Link::default() };
            table.hear(Event::Link(link));
        }
        table.set_ports([("eth1".to_string(), ONE), ("eth2".to_string(), TWO)].into());
        table
    }

    fn prefix() -> Ipv4Prefix {
        "172.16.0.0/16".parse().unwrap()
    }

    fn hop(interface: u32, gateway: Option<u8>, weight: u16) -> NextHop {
        let gateway = gateway.map(|last| Gateway::Address(Ipv4Addr::new(10, 0, 0, last)));
        NextHop { interface, gateway: gateway.unwrap_or(Gateway::None), weight, alive: true }
    }

    fn dead(hop: NextHop) -> NextHop {
        NextHop { alive: false, ..hop }
    }

    #[test]
    fn the_first_of_several_alike_counts() {
        use Place::{First, Last, OfFirst};
        let route = |last: u8| Route {
            next_hops: vec![hop(12, Some(last), 1)],
            ..Route::of(prefix(), RouteKind::Unicast)
        };
        let mut table = table();
        let leads = |table: &Table| match table.best(prefix()) {
            Some((Target::Gateways(ways), _)) => (ways[0].1 & 255) as u8,
            other => panic!("{other:?}"),
        };
        for (last, place, expected) in [
            (1, Some(Last), 1),
            (2, Some(Last), 1),
            (3, Some(First), 3),
            (3, Some(Last), 3), // heard twice
            (4, Some(OfFirst), 4),
            (2, None, 4),
            (4, None, 1),
            (3, None, 1), // gone before
            (5, Some(Last), 1),
            (6, Some(First), 6),
        ] {
            match place {
                Some(place) => table.hear(Event::Route { route: route(last), place }),
                None => table.hear(Event::RouteGone(route(last))),
            }
            assert_eq!(leads(&table), expected, "{last} {place:?}");
        }
        // In another order, and without one.
        table.take_changed();
        table.hear(Event::Anew);
        for last in [5, 6] {
            table.hear(Event::Route { route: route(last), place: Last });
        }
        table.hear(Event::Complete);
        assert_eq!(leads(&table), 5);
        assert_eq!((table.changed(), table.entries(prefix()).count()), (1, 2));
        table.take_changed();
        table.hear(Event::Anew);
        for last in [5, 6] {
            table.hear(Event::Route { route: route(last), place: Last });
        }
        table.hear(Event::Complete);
        assert_eq!((table.changed(), table.entries(prefix()).count()), (0, 2));
    }

    /// What the kernel takes a packet by, though it is none of ours, no later route of ours may have.
    #[test]
    fn other_kinds_hide_what_comes_after() {
        for (kind, expected) in [
            (RouteKind::Throw, Some(Target::Unreachable)),
            (RouteKind::Local, None),
            (RouteKind::Other(5), None),
        ] {
            let mut table = table();
            let ours = Route {
                priority: 5,
                next_hops: vec![hop(12, Some(1), 1)],
                ..Route::of(prefix(), RouteKind::Unicast)
            };
            let hides = Route { priority: 2, ..Route::of(prefix(), kind) };
            for route in [ours, hides] {
                table.hear(Event::Route { route, place: Place::Last });
            }
            let way = table.best(prefix()).map(|(target, _)| target);
            assert_eq!(way, expected, "{kind:?}");
        }
    }

    fn told(hops: &[NextHop], kind: RouteKind) -> Event {
        let route = Route { next_hops: hops.to_vec(), ..Route::of(prefix(), kind) };
        Event::Route { route, place: Place::OfFirst }
    }

    #[test]
    fn ways_are_those_by_our_ports() {
        let gateways = |ways: &[(InterfaceId, u8)]| {
            let way = |&(port, last)| (port, u32::from_be_bytes([10, 0, 0, last]));
            Some(Target::Gateways(ways.iter().map(way).collect()))
        };
        let unicast = RouteKind::Unicast;
        let (a, b) = (hop(11, Some(1), 1), hop(12, Some(2), 1));
        for (hops, kind, expected) in [
            (vec![a], unicast, gateways(&[(ONE, 1)])),
            (vec![a, b], unicast, gateways(&[(ONE, 1), (TWO, 2)])),
            // By a link that does not run all are dead, and it is the router that sees to that.
            (vec![dead(a), b], unicast, gateways(&[(ONE, 1), (TWO, 2)])),
            (vec![a, dead(b)], unicast, gateways(&[(ONE, 1)])),
            (vec![dead(b)], unicast, None),
            (vec![dead(hop(12, None, 1))], unicast, None),
            (vec![a, hop(13, Some(3), 1)], unicast, gateways(&[(ONE, 1)])),
            (vec![hop(13, Some(3), 1)], unicast, None),
            (vec![hop(99, Some(3), 1)], unicast, None),
            (vec![hop(12, None, 1)], unicast, Some(Target::Connected(TWO))),
            (vec![hop(13, None, 1)], unicast, None),
            (
                vec![hop(11, Some(1), 20), hop(12, Some(2), 10)],
                unicast,
                gateways(&[(ONE, 1), (ONE, 1), (TWO, 2)]),
            ),
            (
                vec![hop(11, Some(1), 256), hop(12, Some(2), 1)],
                unicast,
                gateways(&[(ONE, 1), (TWO, 2)]),
            ),
            (vec![], unicast, None),
            (vec![], RouteKind::Blackhole, Some(Target::Blackhole)),
            (vec![], RouteKind::Unreachable, Some(Target::Unreachable)),
            (vec![], RouteKind::Prohibit, Some(Target::Prohibit)),
            (vec![a], RouteKind::Local, None),
            (vec![], RouteKind::Throw, Some(Target::Unreachable)),
            (vec![NextHop { gateway: Gateway::Foreign, ..a }], unicast, None),
        ] {
            let mut table = table();
            table.hear(told(&hops, kind));
            let changed = table.take_changed();
            let left_out = usize::from(expected.is_none());
            let expected = vec![(prefix(), expected.map(|target| (target, Protocol::Static)))];
            assert_eq!(changed, expected, "{kind:?} {hops:?}");
            assert_eq!(table.left_out(), left_out, "{kind:?} {hops:?}");
        }
    }

    #[test]
    fn priorities_rounds_and_names_count() {
        let mut table = table();
        let by = |last, interface, priority, protocol| {
            let next_hops = vec![hop(interface, Some(last), 1)];
            let route = Route::of(prefix(), RouteKind::Unicast);
            Route { priority, protocol, next_hops, ..route }
        };
        let came = |route: Route| Event::Route { route, place: Place::OfFirst };
        let now = |table: &mut Table| {
            let changed = table.take_changed();
            let [(_, way)] = &changed[..] else { panic!("{changed:?}") };
            way.clone().map(|(target, protocol)| {
                let Target::Gateways(ways) = target else { panic!("{target:?}") };
                (ways[0].0, ways[0].1 & 255, protocol)
            })
        };
        table.hear(came(by(1, 11, 100, 188)));
        assert_eq!(now(&mut table), Some((ONE, 1, Protocol::Ospf)));
        table.hear(came(by(2, 12, 20, 186)));
        assert_eq!(now(&mut table), Some((TWO, 2, Protocol::Bgp)));
        // The kernel's own are left out, and so is a better one that is none of ours.
        table.hear(came(by(3, 12, 0, 2)));
        assert_eq!(table.changed(), 0);
        table.hear(came(by(4, 13, 1, 12)));
        assert_eq!(now(&mut table), Some((TWO, 2, Protocol::Bgp)));
        table.hear(Event::RouteGone(by(2, 12, 20, 186)));
        assert_eq!(now(&mut table), Some((ONE, 1, Protocol::Ospf)));
        // Told again, nothing has changed; not told again, it is gone.
        table.hear(Event::Anew);
        table.hear(came(by(1, 11, 100, 188)));
        table.hear(Event::Complete);
        assert_eq!(now(&mut table), Some((ONE, 1, Protocol::Ospf)), "one of its ways is gone");
        table.hear(Event::Anew);
        table.hear(came(by(1, 11, 100, 188)));
        table.hear(Event::Complete);
        assert_eq!(table.changed(), 0);
        // A port goes on under another name, and who takes its name is none.
        let link = |index, name: &str| Link { index, name: name.to_string(), ..Link::default() };
        table.hear(Event::Link(link(11, "other")));
        assert_eq!(now(&mut table), Some((ONE, 1, Protocol::Ospf)));
        table.hear(Event::Link(link(13, "eth1")));
        assert_eq!(now(&mut table), Some((ONE, 1, Protocol::Ospf)));
        assert_eq!((table.port(11), table.port(13)), (Some(ONE), None));
        // It is gone, and another one of its name is there.
        table.hear(Event::LinkGone(link(11, "other")));
        assert_eq!(now(&mut table), None);
        assert_eq!((table.port(11), table.port(13)), (None, Some(ONE)));
        table.hear(Event::LinkGone(link(13, "eth1")));
        table.hear(Event::Link(link(11, "eth1")));
        assert_eq!(now(&mut table), Some((ONE, 1, Protocol::Ospf)));
        assert!(table.set_ports([("eth1".to_string(), InterfaceId(7))].into()));
        assert_eq!(now(&mut table), Some((InterfaceId(7), 1, Protocol::Ospf)));
        table.hear(Event::Anew);
        table.hear(Event::Complete);
        assert_eq!(now(&mut table), None);
    }

    #[test]
    fn neighbours_are_those_behind_our_ports() {
        let mut table = table();
        let mac = Some(MacAddr([2, 0, 0, 0, 0, 7]));
        let neighbour = |interface, last, mac| {
            let address = Ipv4Addr::new(10, 0, 0, last);
            Neighbour { interface, address, mac, permanent: false, sure: last != 3 }
        };
        let told = [
            neighbour(11, 1, mac),
            neighbour(12, 3, mac),
            neighbour(11, 2, None),
            neighbour(13, 4, mac),
            neighbour(99, 5, mac),
        ];
        let have = |table: &Table| {
            let mut have: Vec<_> =
                table.neighbours().iter().map(|n| (n.interface, n.address & 255, n.sure)).collect();
            have.sort_unstable();
            have
        };
        told.iter().for_each(|told| table.hear(Event::Neighbour(*told)));
        assert_eq!(have(&table), [(ONE, 1, true), (TWO, 3, false)]);
        table.hear(Event::NeighbourGone(told[1]));
        assert_eq!(have(&table), [(ONE, 1, true)]);
        table.hear(Event::Neighbour(neighbour(11, 1, None)));
        assert_eq!(have(&table), []);
        // After an overrun those not told again are gone.
        table.hear(Event::Neighbour(told[0]));
        table.hear(Event::Anew);
        table.hear(Event::Neighbour(told[1]));
        table.hear(Event::Complete);
        assert_eq!(have(&table), [(TWO, 3, false)]);
    }
}
