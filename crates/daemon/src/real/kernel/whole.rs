//! Tables that are read as a whole: where prefixes lead, for the router.
//!
//! ```text
//!  something happened ─► stale ─ settled ─► all of them, read ─► the best of each prefix ─► feed6, feed_tables
//! ```
//!
//! So are IPv6's routes, and those of either family beside the main table. What stands where is as of IPv4's
//! main table ([`table`](super::table)). They are read as a whole, after what happens
//! has settled for a while, which is longer where that takes long: a fifth of the time at most.

use super::table::{Lead, Table, protocol};
use crate::clock::Clock;
use crate::linux::netlink::route::MAIN;
use crate::linux::netlink::{Listed, Route6, RouteKind};
use router::ip::fed::Fed;
use router::ip::feed::Protocol;
use router::ip::fib::Word;
use router::ip::route::Target;
use std::time::Duration;
use wire::{Ipv6Prefix, Moment};

/// When routes are to be read anew.
#[derive(Default)]
pub(super) struct Stale {
    /// Since something happened first.
    since: Option<Clock>,
    /// How long it took the last time.
    took: Duration,
}

/// After so long that what belongs together has happened.
const SETTLED: Duration = Duration::from_millis(100);

impl Stale {
    /// Something has happened.
    pub(super) fn hear(&mut self) {
        self.since.get_or_insert_with(Clock::start);
    }

    /// How long until they are to be read; `None` while nothing has happened.
    pub(super) fn due(&self) -> Option<Duration> {
        let since = self.since.as_ref()?.now().since(Moment::ZERO);
        Some(SETTLED.max(self.took * 4).saturating_sub(since))
    }

    /// They are being read, by `read`.
    pub(super) fn read<T>(&mut self, read: impl FnOnce() -> T) -> T {
        self.since = None;
        let clock = Clock::start();
        let done = read();
        self.took = clock.now().since(Moment::ZERO);
        done
    }
}

/// `RTPROT_KERNEL`: networks of addresses, and the addresses themselves.
const KERNEL: u8 = 2;

/// Where these routes of IPv6 lead, the best of each prefix.
pub(super) fn fed6(table: &Table, mut routes: Vec<Route6>) -> Vec<Fed> {
    let of_links = |prefix: &Ipv6Prefix| {
        let group = Ipv6Prefix::new(0xff << 120, 8);
        Ipv6Prefix::LINK_LOCAL.contains(prefix.bits()) && prefix.len() >= 10
            || group.contains(prefix.bits()) && prefix.len() >= 8
    };
    routes.retain(|route| {
        let own = route.protocol == KERNEL && route.destination.len() == 128;
        !own && !of_links(&route.destination)
    });
    fed(table, routes)
}

/// The same of either family.
pub(super) fn fed<A, H>(table: &Table, mut routes: Vec<Listed<A::Prefix, H>>) -> Vec<Fed<A>>
where
    A: Word,
    H: Copy + PartialEq + Into<A>,
{
    // Those of the same priority stay in their order.
    routes.sort_by_key(|route| (route.destination, route.priority));
    for route in &mut routes {
        table.revive(&mut route.next_hops);
    }
    let of_prefix = |routes: &[Listed<A::Prefix, H>]| {
        let (lead, number) = routes.iter().find_map(|route| {
            let lead = lead(table, route);
            let counts = match &lead {
                Lead::Dead => false,
                // Of main the router has the networks of its own addresses.
                Lead::Ours(..) => route.protocol != KERNEL || route.table != MAIN,
                Lead::Here | Lead::Elsewhere => true,
            };
            counts.then_some((lead, route.protocol))
        })?;
        let (target, protocol) = match lead {
            Lead::Ours(target, _) => (target, protocol(number)),
            Lead::Elsewhere => (Target::Unreachable, Protocol::Elsewhere),
            Lead::Here | Lead::Dead => return None,
        };
        Some(Fed { prefix: routes[0].destination, target, protocol })
    };
    routes
        .chunk_by(|one, other| one.destination == other.destination)
        .filter_map(of_prefix)
        .collect()
}

fn lead<A, H, P>(table: &Table, route: &Listed<P, H>) -> Lead<A>
where
    A: Word,
    H: Copy + PartialEq + Into<A>,
{
    match route.kind {
        RouteKind::Blackhole => Lead::Ours(Target::Blackhole, false),
        // Behind a table beside main there is another one, which the packet asks then.
        RouteKind::Throw if route.table != MAIN => Lead::Here,
        RouteKind::Unreachable | RouteKind::Throw => Lead::Ours(Target::Unreachable, false),
        RouteKind::Prohibit => Lead::Ours(Target::Prohibit, false),
        RouteKind::Unicast => table.unicast(&route.next_hops),
        // For the kernel itself, and groups.
        RouteKind::Local | RouteKind::Broadcast | RouteKind::Other(_) => Lead::Here,
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::End;
    use super::*;
    use crate::linux::netlink::route::Gateway;
    use crate::linux::netlink::{Event, Link, NextHop};
    use router::interface::InterfaceId;
    use std::net::Ipv6Addr;

    /// A route's line, as `ip -6 route` has it: `prefix metric protocol ways`.
    fn route(line: &str) -> Route6 {
        let words: Vec<&str> = line.split(' ').collect();
        let (address, len) = words[0].split_once('/').unwrap();
        let destination =
            Ipv6Prefix::new(address.parse::<Ipv6Addr>().unwrap().into(), len.parse().unwrap());
        let hop = |word: &&str| {
            let (gateway, interface) = word.split_once('%')?;
            let gateway = gateway.parse().map_or(Gateway::None, Gateway::Address);
            let interface = interface.parse().unwrap();
            Some(NextHop { interface, gateway, weight: 1, alive: true })
        };
        let kind =
            if words.contains(&"blackhole") { RouteKind::Blackhole } else { RouteKind::Unicast };
        Route6 {
            destination,
            table: MAIN,
            priority: words[1].parse().unwrap(),
            protocol: words[2].parse().unwrap(),
            kind,
            next_hops: words[3..].iter().filter_map(hop).collect(),
        }
    }

    #[test]
    fn where_prefixes_lead() {
        let mut table = Table::default();
        table.hear(Event::Anew);
        for (index, name) in [(11, "eth1"), (12, "eth2"), (13, "mgmt"), (14, "tap")] {
            let (name, running) = (name.to_string(), true);
            table.hear(Event::Link(Link { index, name, running, ..Link::default() }));
        }
        let ends = [
            ("eth1", End::Port(InterfaceId(1))),
            ("eth2", End::Port(InterfaceId(2))),
            ("tap", End::Kernels),
        ];
        table.set_ports(ends.map(|(name, end)| (name.to_string(), end)).into());
        for (lines, expected) in [
            (
                &["2001:db8::/32 1024 4 fe80::1%11"][..],
                "2001:db8::/32 Gateways([(InterfaceId(1), fe80::1)]) Static",
            ),
            (
                &["2001:db8::/32 20 186 2001:db8:1::9%12 2001:db8:2::9%11"],
                "2001:db8::/32 Gateways([(InterfaceId(2), 2001:db8:1::9), (InterfaceId(1), 2001:db8:2::9)]) Bgp",
            ),
            // The least metric, and of equal ones the first.
            (
                &["::/0 9 4 fe80::9%11", "::/0 5 188 fe80::5%12", "::/0 5 4 fe80::6%12"],
                "::/0 Gateways([(InterfaceId(2), fe80::5)]) Ospf",
            ),
            (&["2001:db8:9::/64 1 3 -%12"], "2001:db8:9::/64 Connected(InterfaceId(2)) Static"),
            (&["2001:db8:9::/64 1 3 blackhole"], "2001:db8:9::/64 Blackhole Static"),
            (&["2001:db8:9::/64 1 3 fe80::1%13"], "2001:db8:9::/64 Unreachable Elsewhere"),
            // The networks of the kernel's addresses are not the router's; what is sent to a tap comes to it.
            (&["2001:db8:9::/64 256 2 -%11"], ""),
            (&["2001:db8:9::/64 256 2 -%13"], "2001:db8:9::/64 Unreachable Elsewhere"),
            (&["2001:db8:9::/64 1 3 fe80::1%14"], ""),
            (&["fe80::/64 256 2 -%11", "ff00::/8 256 2 -%13", "2001:db8::1/128 0 2 -%13"], ""),
            (&["2001:db8:9::/64 1 3 fe80::1%99"], ""),
        ] {
            let fed = fed6(&table, lines.iter().map(|line| route(line)).collect());
            let shown = fed.iter().map(|Fed { prefix, target, protocol }| {
                let target = match target {
                    Target::Gateways(ways) => {
                        let ways: Vec<_> =
                            ways.iter().map(|&(at, way)| (at, Ipv6Addr::from(way))).collect();
                        format!("Gateways({ways:?})")
                    }
                    other => format!("{other:?}"),
                };
                format!("{prefix} {target} {protocol:?}")
            });
            assert_eq!(shown.collect::<Vec<_>>().join("; "), expected, "{lines:?}");
        }
    }
}
