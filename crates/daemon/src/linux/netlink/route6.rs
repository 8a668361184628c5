//! IPv6 routes, as they are read.
//!
//! ```text
//!  each_route6(main) ─► Route6: destination, priority ─► Unicast by next hops │ Blackhole │ …
//! ```
//!
//! Of what happens to them the kernel tells in ways that only it could put together again (a way of
//! several is added and taken away by itself), so they are read anew when anything does.
//!
//! Never writes them.

use super::message::{Message, Received, attribute, attributes, u16_at, u32_at};
use super::object::Objects;
use super::route::{
    CLONED, DEAD, DESTINATION, ENCAP_TYPE, GATEWAY, GET, Gateway, MULTIPATH, NEXT_HOP_ID, NextHop,
    OUT_INTERFACE, PRIORITY, Route, RouteKind, TABLE, VIA,
};
use super::socket::Netlink;
use port::linux::Unavailable;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Ipv4Prefix, Ipv6Prefix};

const INET6: u8 = 10;

/// One route of IPv6.
pub type Route6 = Listed<Ipv6Prefix, Ipv6Addr>;

/// One route of either family, as it stands in a table that is read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<P, A> {
    /// Where it leads.
    pub destination: P,
    /// The table: 254 is the main one.
    pub table: u32,
    /// The kernel's metric: the least wins.
    pub priority: u32,
    /// Who made it, as of [`Route`].
    pub protocol: u8,
    /// What becomes of packets.
    pub kind: RouteKind,
    /// By which ways; several share the traffic.
    pub next_hops: Vec<NextHop<A>>,
}

impl From<Route> for Listed<Ipv4Prefix, Ipv4Addr> {
    fn from(route: Route) -> Self {
        let Route { destination, table, priority, protocol, kind, next_hops, .. } = route;
        Listed { destination, table, priority, protocol, kind, next_hops }
    }
}

fn address(value: &[u8]) -> Option<u128> {
    Some(u128::from_be_bytes(value.try_into().ok()?))
}

impl Route6 {
    /// What a message says of a route, with these next-hop objects; `None` for what is none: a cached way,
    /// another family, one that depends on where packets come from.
    pub(super) fn read(message: &Received<'_>, objects: &Objects) -> Option<Route6> {
        let body = message.body;
        let &[family, len, from, _, table, protocol, _, kind, ..] = body else { return None };
        let flags = u32_at(body, 8)?;
        if family != INET6 || flags & CLONED != 0 || len > 128 || from != 0 {
            return None;
        }
        let (mut bits, mut priority, mut table) = (0, 0, u32::from(table));
        let (mut interface, mut gateway, mut next_hops) = (None, Gateway::None, Vec::new());
        let (mut tunnel, mut object) = (false, None);
        for (kind, value) in attributes(body.get(12..)?) {
            match kind {
                DESTINATION => bits = address(value)?,
                TABLE => table = u32_at(value, 0)?,
                PRIORITY => priority = u32_at(value, 0)?,
                OUT_INTERFACE => interface = u32_at(value, 0),
                GATEWAY | VIA => gateway = read_gateway(kind, value),
                MULTIPATH => next_hops.extend(ways(value)),
                ENCAP_TYPE => tunnel = true,
                NEXT_HOP_ID => object = u32_at(value, 0),
                _ => {}
            }
        }
        let kind = RouteKind::of(kind);
        let alive = flags as u8 & DEAD == 0;
        let gateway = if tunnel { Gateway::Foreign } else { gateway };
        if let Some(interface) = interface {
            next_hops.push(NextHop { interface, gateway, weight: 1, alive });
        }
        if let Some(id) = object.filter(|_| next_hops.is_empty()) {
            next_hops = objects.ways(id, |address| match address {
                IpAddr::V6(address) => Some(address),
                IpAddr::V4(_) => None,
            });
            if kind == RouteKind::Unicast && next_hops.is_empty() {
                let gateway = Gateway::Foreign;
                next_hops.push(NextHop { interface: 0, gateway, weight: 1, alive: true });
            }
        }
        let destination = Ipv6Prefix::new(bits, len);
        Some(Route6 { destination, table, priority, protocol, kind, next_hops })
    }
}

fn read_gateway(kind: u16, value: &[u8]) -> Gateway<Ipv6Addr> {
    let address = address(value).filter(|_| kind == GATEWAY);
    address.map_or(Gateway::Foreign, |address| Gateway::Address(address.into()))
}

/// The ways of `RTA_MULTIPATH`.
fn ways(mut bytes: &[u8]) -> impl Iterator<Item = NextHop<Ipv6Addr>> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let (hop, inside) = (bytes.get(..8)?, bytes.get(8..len)?);
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        let gateway = [ENCAP_TYPE, GATEWAY, VIA]
            .into_iter()
            .find_map(|kind| attribute(inside, kind).map(|value| read_gateway(kind, value)));
        Some(NextHop {
            interface: u32_at(hop, 4)?,
            gateway: gateway.unwrap_or(Gateway::None),
            weight: u16::from(hop[3]) + 1,
            alive: hop[2] & DEAD == 0,
        })
    })
}

/// The request for a dump of a table.
fn all(table: u32) -> Message {
    let number = u8::try_from(table).unwrap_or(0);
    let header = [INET6, 0, 0, 0, number, 0, 0, 0, 0, 0, 0, 0];
    Message::new(GET, 0, &header).with_u32(TABLE, table)
}

impl Netlink {
    /// All routes of IPv6 of a table, those of the same prefix and priority in the kernel's order.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn routes6(&mut self, table: u32) -> Result<Vec<Route6>, Unavailable> {
        /// `ENOENT`, `EAFNOSUPPORT`, `EOPNOTSUPP`: no such table, or no IPv6.
        const NONE: [i32; 3] = [2, 97, 95];
        let (objects, mut routes) = (self.next_hop_objects()?, Vec::new());
        let done =
            self.dump("list the routes of IPv6", || all(table), &mut |message| match message {
                None => routes.clear(),
                Some(message) => {
                    routes.extend(
                        Route6::read(&message, &objects).filter(|route| route.table == table),
                    );
                }
            });
        match done {
            Err(refused) if refused.error.raw_os_error().is_some_and(|n| NONE.contains(&n)) => {
                Ok(Vec::new())
            }
            done => done.map(|()| routes),
        }
    }
}
