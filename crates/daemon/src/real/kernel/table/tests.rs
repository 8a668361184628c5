//! Tests of the kernel's routes as the router has them: where prefixes lead, what hides them, and the
//! neighbours.

use super::*;
use crate::linux::netlink::Link;
use std::net::Ipv4Addr;
use wire::MacAddr;

const ONE: InterfaceId = InterfaceId(1);
const TWO: InterfaceId = InterfaceId(2);

/// Of its links `eth1` does not run.
fn table() -> Table {
    let mut table = Table::default();
    table.hear(Event::Anew);
    for (index, name) in [(11, "eth1"), (12, "eth2"), (13, "mgmt"), (14, "tap"), (15, "veth")] {
        let running = name != "eth1";
        let mut link = Link { index, name: name.to_string(), running, ..Link::default() };
        if name == "veth" {
            // Its other end is a port.
            (link.kind, link.peer) = (name.to_string(), Some(12));
        }
        table.hear(Event::Link(link));
    }
    let ends = [("eth1", End::Port(ONE)), ("eth2", End::Port(TWO)), ("tap", End::Kernels)];
    table.set_ports(ends.map(|(name, end)| (name.to_string(), end)).into());
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
        Some(((Target::Gateways(ways), _), _)) => (ways[0].1 & 255) as u8,
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

/// What the kernel sends by no port of ours no later route of ours may have.
#[test]
fn the_best_route_hides_what_comes_after() {
    let ours = || Some((Target::Connected(TWO), Protocol::Static));
    let hidden = || Some((Target::Unreachable, Protocol::Elsewhere));
    let (by_port, by_mgmt) = (hop(12, Some(1), 1), hop(13, Some(1), 1));
    let unicast = |hop| (RouteKind::Unicast, vec![hop], 4);
    for ((kind, next_hops, protocol), expected) in [
        ((RouteKind::Throw, vec![], 4), Some((Target::Unreachable, Protocol::Static))),
        ((RouteKind::Local, vec![], 4), hidden()),
        ((RouteKind::Other(5), vec![], 4), hidden()),
        (unicast(by_mgmt), hidden()),
        (unicast(hop(13, None, 1)), hidden()),
        (unicast(NextHop { gateway: Gateway::Foreign, ..by_port }), hidden()),
        // The kernel looks further itself.
        (unicast(dead(by_mgmt)), ours()),
        // The networks of addresses.
        ((RouteKind::Unicast, vec![hop(12, None, 1)], 2), ours()),
        ((RouteKind::Unicast, vec![hop(13, None, 1)], 2), hidden()),
        // What the kernel sends to the router is the router's to send on.
        (unicast(hop(14, Some(1), 1)), None),
        (unicast(hop(15, Some(1), 1)), None),
    ] {
        let mut table = table();
        let ours = Route {
            priority: 5,
            next_hops: vec![hop(12, None, 1)],
            ..Route::of(prefix(), RouteKind::Unicast)
        };
        let told = format!("{kind:?} {next_hops:?}");
        let hides = Route { priority: 2, next_hops, protocol, ..Route::of(prefix(), kind) };
        for route in [ours, hides] {
            table.hear(Event::Route { route, place: Place::Last });
        }
        let way = table.best(prefix()).map(|(way, _)| way);
        assert_eq!(way, expected, "{told}");
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
    let elsewhere = || Some(Target::Unreachable);
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
        (vec![a, hop(14, Some(3), 1)], unicast, gateways(&[(ONE, 1)])),
        (vec![a, hop(13, Some(3), 1)], unicast, gateways(&[(ONE, 1)])),
        (vec![hop(13, Some(3), 1)], unicast, elsewhere()),
        // Its link is gone, and with that the route.
        (vec![hop(99, Some(3), 1)], unicast, None),
        (vec![hop(12, None, 1)], unicast, Some(Target::Connected(TWO))),
        (vec![hop(13, None, 1)], unicast, elsewhere()),
        (vec![hop(12, None, 1), hop(13, None, 1)], unicast, Some(Target::Connected(TWO))),
        (
            vec![hop(11, Some(1), 20), hop(12, Some(2), 10)],
            unicast,
            gateways(&[(ONE, 1), (ONE, 1), (TWO, 2)]),
        ),
        (vec![], unicast, None),
        (vec![], RouteKind::Blackhole, Some(Target::Blackhole)),
        (vec![], RouteKind::Unreachable, Some(Target::Unreachable)),
        (vec![], RouteKind::Prohibit, Some(Target::Prohibit)),
        (vec![a], RouteKind::Local, elsewhere()),
        (vec![], RouteKind::Throw, Some(Target::Unreachable)),
        (vec![NextHop { gateway: Gateway::Foreign, ..a }], unicast, elsewhere()),
    ] {
        let mut table = table();
        table.hear(told(&hops, kind));
        let changed = table.take_changed();
        let ours =
            !matches!(kind, RouteKind::Unicast | RouteKind::Local) || expected != elsewhere();
        let by = if ours { Protocol::Static } else { Protocol::Elsewhere };
        let partly = expected.is_some() && hops.len() > 1;
        let partly = partly && hops.iter().any(|hop| table.port(hop.interface).is_none());
        let expected = vec![(prefix(), expected.map(|target| (target, by)))];
        assert_eq!(changed, expected, "{kind:?} {hops:?}");
        let left_out = (usize::from(!ours), usize::from(partly));
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
    // The kernel's own behind our ports are left out.
    table.hear(came(by(3, 12, 0, 2)));
    assert_eq!(now(&mut table), Some((TWO, 2, Protocol::Bgp)));
    table.hear(Event::RouteGone(by(3, 12, 0, 2)));
    table.take_changed();
    table.hear(came(by(4, 13, 200, 12)));
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
    assert!(table.set_ports([("eth1".to_string(), End::Port(InterfaceId(7)))].into()));
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
        let address = Ipv4Addr::new(10, 0, 0, last).into();
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
            table.neighbours().0.iter().map(|n| (n.interface, n.address & 255, n.sure)).collect();
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

#[test]
fn weights_keep_their_ratio() {
    for (weights, expected) in [
        (&[1][..], &[1][..]),
        (&[256], &[1]),
        (&[20, 10], &[2, 1]),
        (&[63, 1], &[63, 1]),
        (&[64, 1], &[63, 1]),
        (&[1, 255], &[1, 63]),
        (&[101, 50], &[2, 1]),
        (&[200, 100, 1], &[42, 21, 1]),
        (&[256, 255], &[1, 1]),
        (&[5; 3], &[1; 3]),
        (&[1; 100], &[1; 100]),
    ] {
        assert_eq!(shares(weights), expected, "{weights:?}");
    }
}
