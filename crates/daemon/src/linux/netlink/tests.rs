//! Netlink against a real kernel, in namespaces of our own.

use super::route::{Gateway, MAIN};
use super::*;
use crate::left_out::{lacks, left_out, left_out_in_part};
use crate::linux::command::ask;
use port::linux::{Namespace, Unavailable};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::MacAddr;

/// Two namespaces with a veth pair of 10.0.0.1/24 at `va` and 10.0.0.2/24 at `vb` between them, up;
/// `None`, said, where there are no rights for it.
fn pair() -> Option<(Namespace, Namespace)> {
    let (a, b) = match (Namespace::new(), Namespace::new()) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(unavailable), _) | (_, Err(unavailable)) => {
            left_out(unavailable);
            return None;
        }
    };
    let va =
        End { name: "va", namespace: Some(&a), queues: Some(2), mtu: Some(2000), ..End::default() };
    let mac = Some(MacAddr([2, 0, 0, 0, 0, 2]));
    let vb = End { name: "vb", namespace: Some(&b), mac, queues: Some(1), ..End::default() };
    done(Netlink::open_in(&a).unwrap().add_veth(&va, &vb));
    for (namespace, name, address) in [(&a, "va", [10, 0, 0, 1]), (&b, "vb", [10, 0, 0, 2])] {
        let mut netlink = Netlink::open_in(namespace).unwrap();
        done(netlink.set_silent(name));
        done(netlink.add_address(name, address.into(), 24));
        done(netlink.set_up(name, true));
        done(netlink.set_up("lo", true));
    }
    Some((a, b))
}

#[track_caller]
fn done<T>(result: Result<T, Unavailable>) -> T {
    result.unwrap_or_else(|unavailable| panic!("{unavailable}"))
}

#[test]
fn links_are_made_changed_moved_and_deleted() {
    let Some((a, b)) = pair() else { return };
    let (mut in_a, mut in_b) = (done(Netlink::open_in(&a)), done(Netlink::open_in(&b)));
    let va = done(in_a.link("va"));
    assert_eq!((va.kind.as_str(), va.queues, va.mtu), ("veth", (2, 2), 2000), "{va:?}");
    assert!(va.up && va.running && va.xdp.is_none(), "{va:?}");
    let vb = done(in_b.link("vb"));
    assert_eq!((vb.mac, vb.queues, vb.mtu), (Some(MacAddr([2, 0, 0, 0, 0, 2])), (1, 1), 1500));

    done(in_b.set_up("vb", false));
    let va = done(in_a.link("va"));
    assert!(va.up && !va.running, "the other end is down: {va:?}");
    done(in_b.set_mtu("vb", 9000));
    done(in_b.set_mac("vb", MacAddr([2, 0, 0, 0, 0, 9])));
    done(in_b.set_gso_max("vb", 1500, 1));
    done(in_b.rename("vb", "wan0"));
    let wan = done(in_b.link("wan0"));
    assert_eq!((wan.mtu, wan.mac), (9000, Some(MacAddr([2, 0, 0, 0, 0, 9]))));
    assert!(wan.mtu_limits.1 >= 9000, "{wan:?}");

    done(in_a.add("br0", "bridge"));
    done(in_a.set_master("va", Some("br0")));
    assert_eq!(done(in_a.link("va")).master, Some(done(in_a.link("br0")).index));
    done(in_a.set_master("va", None));
    assert_eq!(done(in_a.link("va")).master, None);

    let end = |name| End { name, ..End::default() };
    done(in_a.add_veth(&end("spare"), &end("other")));
    done(in_a.move_to("spare", &b));
    assert!(in_a.link("spare").is_err());
    let mut names: Vec<_> = done(in_b.links()).into_iter().map(|link| link.name).collect();
    names.retain(|name| ["lo", "wan0", "spare"].contains(&name.as_str()));
    assert_eq!(names.len(), 3, "{names:?}");
    done(in_b.delete("wan0"));
    assert!(in_a.link("va").is_err(), "both ends are gone");
}

/// A child has all frames of its parent, which is as it was when the child is gone.
#[test]
fn a_passthru_child_has_all_frames() {
    if lacks(&["ping"]) {
        return;
    }
    let Some((a, b)) = pair() else { return };
    let c = Namespace::new().unwrap();
    let (mut in_b, mut in_c) = (done(Netlink::open_in(&b)), done(Netlink::open_in(&c)));
    let before = done(in_b.link("vb"));
    done(in_b.add_passthru("vb", "child", &c, 1400));
    let child = done(in_c.link("child"));
    assert_eq!((child.kind.as_str(), child.mtu, child.mac), ("macvlan", 1400, before.mac));
    let again = in_b.add_passthru("vb", "other", &c, 1400).unwrap_err();
    assert_eq!(again.error.raw_os_error(), Some(22), "{again}");
    done(in_c.add_address("child", Ipv4Addr::new(10, 0, 0, 3), 24));
    done(in_c.set_up("child", true));
    let pings = |address: &str| {
        let mut command = std::process::Command::new("ping");
        command.args(["-c", "1", "-w", "2", address]);
        a.output(command).unwrap().status.success()
    };
    assert!(pings("10.0.0.3") && !pings("10.0.0.2"), "the child answers, the parent does not");
    done(in_c.delete("child"));
    assert_eq!(done(in_b.link("vb")), before);
    assert!(pings("10.0.0.2"));
}

#[test]
fn what_is_refused_says_what_was_tried_and_why() {
    let Some((a, _b)) = pair() else { return };
    let mut netlink = done(Netlink::open_in(&a));
    let check = |result: Result<(), Unavailable>, expected: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(expected), "{text:?} is not {expected:?}");
    };
    check(netlink.set_up("eth7", true), "cannot set eth7 up: No such device");
    check(netlink.link("eth7").map(drop), "cannot find the interface eth7: No such device");
    check(netlink.add("va", "bridge"), "cannot make the bridge va: File exists");
    check(netlink.add("x", "no-such-kind"), "the kernel says: Unknown device type");
    check(netlink.set_mtu("va", 1_000_000), "the kernel says: mtu greater than device maximum");
    check(netlink.set_master("va", Some("lo")), "cannot make va a port of lo: ");
    check(netlink.add_address("va", [10, 0, 0, 1].into(), 24), "10.0.0.1/24 to va: File exists");
    let index = done(netlink.link("va")).index;
    let far = Route::by("192.0.2.0/24".parse().unwrap(), [172, 16, 0, 1].into(), index);
    check(netlink.add_route(&far), "cannot add a route to 192.0.2.0/24: Network is unreachable");
    check(
        netlink.delete_route(&far),
        "cannot take away the route to 192.0.2.0/24: No such process",
    );
}

#[test]
fn addresses_routes_and_neighbours_are_what_was_made() {
    let Some((a, _b)) = pair() else { return };
    let mut netlink = done(Netlink::open_in(&a));
    let interface = done(netlink.link("va")).index;
    done(netlink.add_address("va", [10, 0, 9, 1].into(), 30));
    let mut addresses = done(netlink.addresses());
    addresses.retain(|address| address.interface == interface);
    let has =
        |address: [u8; 4], prefix_len| Address { interface, address: address.into(), prefix_len };
    assert_eq!(addresses, [has([10, 0, 0, 1], 24), has([10, 0, 9, 1], 30)]);
    done(netlink.delete_address("va", [10, 0, 9, 1].into(), 30));

    let next = |last, weight| NextHop {
        interface,
        gateway: Gateway::Address(Ipv4Addr::new(10, 0, 0, last)),
        weight,
        alive: true,
    };
    let to = |prefix: &str| prefix.parse::<wire::Ipv4Prefix>().unwrap();
    let ecmp = Route {
        next_hops: vec![next(2, 1), next(3, 7)],
        priority: 20,
        protocol: 12,
        ..Route::of(to("198.51.100.0/24"), RouteKind::Unicast)
    };
    let direct = NextHop { gateway: Gateway::None, ..next(0, 1) };
    let mut made = vec![
        Route::by(wire::Ipv4Prefix::ALL, [10, 0, 0, 2].into(), interface),
        Route { next_hops: vec![direct], ..Route::of(to("203.0.113.8/29"), RouteKind::Unicast) },
        ecmp,
        Route::of(to("192.0.2.0/24"), RouteKind::Blackhole),
        Route::of(to("192.0.2.0/25"), RouteKind::Unreachable),
        Route { priority: 9, ..Route::of(to("192.0.2.4/32"), RouteKind::Prohibit) },
        Route { table: 1000, ..Route::by(to("192.0.2.0/24"), [10, 0, 0, 2].into(), interface) },
    ];
    for route in &made {
        done(netlink.add_route(route));
    }
    assert_eq!(done(netlink.routes(1000)), [made.pop().unwrap()]);
    let mut routes = done(netlink.routes(MAIN));
    let (connected, _) = (routes.iter().position(|r| r.protocol == 2), ());
    assert_eq!(routes.remove(connected.unwrap()).source, Some([10, 0, 0, 1].into()));
    made.sort_by_key(|route| route.destination);
    routes.sort_by_key(|route| route.destination);
    assert_eq!(routes, made);

    let other = Route::by(wire::Ipv4Prefix::ALL, [10, 0, 0, 9].into(), interface);
    done(netlink.replace_route(&other));
    for route in made.iter().filter(|route| route.destination.len() > 0) {
        done(netlink.delete_route(route));
    }
    let routes = done(netlink.routes(MAIN));
    assert!(routes.len() == 2 && routes.contains(&other), "{routes:?}");

    let mac = MacAddr([2, 0, 0, 0, 0, 7]);
    let four = Ipv4Addr::new(10, 0, 0, 7);
    let address = four.into();
    let neighbour = Neighbour { interface, address, mac: Some(mac), permanent: true, sure: true };
    done(netlink.set_neighbour("va", four, mac));
    assert_eq!(done(netlink.neighbours()), [neighbour]);
    done(netlink.delete_neighbour("va", four));
    assert!(!done(netlink.neighbours()).contains(&neighbour));
}

/// Nobody has an address there yet, so nobody has made its tables.
#[test]
fn a_new_namespace_has_no_routes_and_can_be_watched() {
    if pair().is_none() {
        return;
    }
    let new = Namespace::new().unwrap();
    assert_eq!(done(done(Netlink::open_in(&new)).routes(MAIN)), []);
    let topics = Topics { routes: Some(MAIN), neighbours: true, ..Topics::default() };
    let mut watch = done(Watch::open_in(&new, topics));
    until(&mut watch, |events| events.contains(&Event::Complete));
}

/// Hears until `heard` says so, at most for ten seconds.
#[track_caller]
fn until(watch: &mut Watch, mut heard: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..100 {
        done(watch.poll(&mut |event| events.push(event)));
        if heard(&events) {
            return events;
        }
        watch.wait(Duration::from_millis(100)).unwrap();
    }
    panic!("only this was heard: {events:#?}");
}

#[test]
fn a_watch_tells_all_there_is_and_then_what_happens() {
    let Some((a, b)) = pair() else { return };
    let (links, addresses, neighbours) = (true, true, true);
    let topics = Topics { links, addresses, routes: Some(MAIN), neighbours, ..Topics::default() };
    let mut watch = done(Watch::open_in(&a, topics));
    let all = until(&mut watch, |events| events.contains(&Event::Complete));
    assert_eq!(all.first(), Some(&Event::Anew));
    assert!(
        all.iter().any(|e| matches!(e, Event::Link(link) if link.name == "va" && link.running))
    );
    assert!(all.iter().any(|e| matches!(e, Event::Route { route, .. } if route.protocol == 2)));

    let (mut in_a, mut in_b) = (done(Netlink::open_in(&a)), done(Netlink::open_in(&b)));
    let interface = done(in_a.link("va")).index;
    let route = Route::by("192.0.2.0/24".parse().unwrap(), [10, 0, 0, 2].into(), interface);
    done(in_a.add_route(&route));
    done(in_a.delete_route(&route));
    done(in_a.set_neighbour("va", [10, 0, 0, 7].into(), MacAddr([2, 0, 0, 0, 0, 7])));
    let neighbour = |e: &Event| matches!(e, Event::Neighbour(n) if n.permanent && n.sure);
    let events = until(&mut watch, |events| events.iter().any(neighbour));
    let came =
        events.iter().position(|e| *e == Event::Route { route: route.clone(), place: Place::Last });
    let went = events.iter().position(|e| *e == Event::RouteGone(route.clone()));
    assert!(came.is_some() && came < went, "{events:#?}");
    assert!(!events.contains(&Event::Anew), "{events:#?}");

    // The kernel says nothing of the ways that come to life with an address: all are told anew, and
    // once more when it is done.
    let address = Address { interface, address: [10, 0, 0, 8].into(), prefix_len: 24 };
    done(in_a.add_address("va", [10, 0, 0, 8].into(), 24));
    let complete = |events: &[Event]| events.iter().filter(|e| **e == Event::Complete).count();
    let events = until(&mut watch, |events| complete(events) >= 2);
    assert!(events.contains(&Event::Address(address)), "{events:#?}");
    // Nor of those that die with a carrier.
    done(in_a.add_route(&route));
    done(in_b.set_up("vb", false));
    let dead = |e: &Event| {
        matches!(e, Event::Route { route: told, .. }
            if told.destination == route.destination && !told.next_hops[0].alive)
    };
    until(&mut watch, |events| complete(events) > 0 && events.iter().any(dead));
    // Nor of those that go with a link.
    done(in_a.set_up("va", false));
    until(&mut watch, |events| {
        let anew = events.iter().rposition(|e| *e == Event::Anew);
        let told = anew.map_or(&[][..], |anew| &events[anew..]);
        complete(told) > 0 && !told.iter().any(|e| matches!(e, Event::Route { .. }))
    });
    let std::net::IpAddr::V4(old) = address.address else { panic!("{address:?}") };
    done(in_a.delete_address("va", old, 24));
    until(&mut watch, |events| events.contains(&Event::AddressGone(address)));
    done(in_a.delete("va"));
    until(&mut watch, |events| events.iter().any(|e| matches!(e, Event::LinkGone(_))));
}

#[test]
fn a_watch_that_was_overrun_tells_everything_anew() {
    let Some((a, _b)) = pair() else { return };
    let mut watch = done(Watch::open_in(&a, Topics { routes: Some(MAIN), ..Topics::default() }));
    // A small socket, soon overrun.
    rustix::net::sockopt::set_socket_recv_buffer_size(&watch, 4096).unwrap();
    until(&mut watch, |events| events.contains(&Event::Complete));
    let mut netlink = done(Netlink::open_in(&a));
    let interface = done(netlink.link("va")).index;
    let to = |n: u32| wire::Ipv4Prefix::new(0x0b00_0000 | n << 8, 24);
    for n in 0..500 {
        done(netlink.add_route(&Route::by(to(n), [10, 0, 0, 2].into(), interface)));
    }
    let events = until(&mut watch, |events| events.contains(&Event::Complete));
    assert_eq!(watch.overruns(), 1);
    let anew = events.iter().position(|e| *e == Event::Anew).unwrap();
    let complete = events.iter().position(|e| *e == Event::Complete).unwrap();
    let told = &events[anew..complete];
    for n in 0..500 {
        let is = |e: &Event| matches!(e, Event::Route { route, .. } if route.destination == to(n));
        assert!(told.iter().any(is), "{} is missing", to(n));
    }
}

#[test]
fn connections_are_counted_and_forgotten() {
    if lacks(&["nft"]) {
        return;
    }
    let Some((a, _b)) = pair() else { return };
    let mut connections = done(Connections::open_in(&a));
    let tracks = || -> Result<(), String> {
        ask(&a, "nft add table ip t")?;
        ask(&a, "nft add chain ip t output { type filter hook output priority 0 ; }")?;
        ask(&a, "nft add rule ip t output ct state new accept").map(drop)
    };
    let (tracks, forgets) = (tracks(), connections.forget());
    if let Err(why) = &tracks {
        return left_out_in_part(why);
    }
    if let Err(why) = forgets {
        return left_out_in_part(format!("no nf_conntrack_netlink: {why}"));
    }
    let send = |n: u16| {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for port in 1..=n {
            // Nobody listens there: what comes back is an error, and what was sent is tracked.
            let _ = socket.send_to(&[0; 8], (Ipv4Addr::LOCALHOST, 10_000 + port));
        }
    };
    a.run(|| send(7)).unwrap();
    assert!(done(connections.filling()).entries >= 7, "{:?}", connections.filling());
    done(connections.forget());
    let filling = done(connections.filling());
    assert!(filling.entries < 7 && filling.most.is_none_or(|most| most > 7), "{filling:?}");
}

/// Routes by next-hop objects have these' ways, spelled out by the kernel or not.
#[test]
fn next_hop_objects_are_looked_up() {
    if lacks(&["ip", "sysctl"]) {
        return;
    }
    let Some((a, _b)) = pair() else { return };
    let mut netlink = done(Netlink::open_in(&a));
    let interface = done(netlink.link("va")).index;
    for words in [
        "ip nexthop add id 1 via 10.0.0.2 dev va",
        "ip nexthop add id 2 via 10.0.0.3 dev va",
        "ip nexthop add id 3 group 1/2,200",
        "ip nexthop add id 4 dev va",
        "ip nexthop add id 5 blackhole",
        "ip route add 192.0.2.1/32 nhid 1",
        "ip route add 192.0.2.3/32 nhid 3",
        "ip route add 192.0.2.4/32 nhid 4",
        "ip route add 192.0.2.5/32 nhid 5",
        "ip addr add 2001:db8::1/64 dev va nodad",
        "ip nexthop add id 11 via 2001:db8::2 dev va",
        "ip nexthop add id 12 via 2001:db8::3 dev va",
        "ip nexthop add id 13 group 11,3/12",
        "ip route add 2001:db8:1::/48 nhid 11",
        "ip route add 2001:db8:3::/48 nhid 13",
    ] {
        ask(&a, words).unwrap_or_else(|error| panic!("{error}"));
    }
    let by = |last: u8, weight| NextHop {
        interface,
        gateway: match last {
            0 => Gateway::None,
            last => Gateway::Address([10, 0, 0, last].into()),
        },
        weight,
        alive: true,
    };
    let expected = [
        (1, RouteKind::Unicast, vec![by(2, 1)]),
        (3, RouteKind::Unicast, vec![by(2, 1), by(3, 200)]),
        (4, RouteKind::Unicast, vec![by(0, 1)]),
        (5, RouteKind::Blackhole, vec![]),
    ];
    let by6 = |last: u16, weight| NextHop {
        interface,
        gateway: Gateway::Address([0x2001, 0xdb8, 0, 0, 0, 0, 0, last].into()),
        weight,
        alive: true,
    };
    let expected6 = [(1, vec![by6(2, 1)]), (3, vec![by6(2, 3), by6(3, 1)])];
    for spelled_out in [1, 0] {
        ask(&a, &format!("sysctl -qw net.ipv4.nexthop_compat_mode={spelled_out}")).unwrap();
        let mut routes = done(netlink.routes(MAIN));
        routes.retain(|route| route.protocol != 2);
        routes.sort_by_key(|route| route.destination);
        assert_eq!(routes.len(), expected.len(), "{routes:?}");
        for (route, (last, kind, ways)) in routes.iter().zip(&expected) {
            assert_eq!(route.destination.bits() & 0xff, *last);
            assert_eq!(route.kind, *kind, "{route:?}");
            // A blackhole leads to the loopback, where the kernel spells it out.
            if *kind == RouteKind::Unicast {
                assert_eq!(route.next_hops, *ways, "{route:?}");
            }
        }
        let mut routes = done(netlink.routes6(MAIN));
        routes.retain(|route| route.destination.len() == 48);
        routes.sort_by_key(|route| route.destination);
        assert_eq!(routes.len(), expected6.len(), "{routes:?}");
        for (route, (net, ways)) in routes.iter().zip(&expected6) {
            assert_eq!(route.destination.bits() >> 80 & 0xffff, *net);
            assert_eq!(route.next_hops, *ways, "{route:?}");
        }
    }
}
