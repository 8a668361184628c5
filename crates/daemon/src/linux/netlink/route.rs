//! IPv4 routes; IPv6's, which are only read, are in [`route6`](super::route6).
//!
//! ```text
//!  Route: destination, table, priority ─► Unicast by next hops │ Blackhole │ Unreachable │ …
//! ```

use super::message::{Message, Received, attribute, ipv4, u16_at, u32_at};
use super::object::Objects;
use super::socket::{CREATE, EXCLUSIVE, Netlink, REPLACE};
use port::linux::Unavailable;
use std::net::{IpAddr, Ipv4Addr};
use wire::Ipv4Prefix;

/// One route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where it leads.
    pub destination: Ipv4Prefix,
    /// 254 is the main table, 255 the local one.
    pub table: u32,
    /// The kernel's metric: the least wins.
    pub priority: u32,
    /// Who made it: 2 kernel, 3 boot, 4 static, 12 bird, 186 BGP, 188 OSPF …
    pub protocol: u8,
    /// Only for packets of this type of service; 0 for all.
    pub tos: u8,
    /// What becomes of packets.
    pub kind: RouteKind,
    /// The address the kernel itself sends from.
    pub source: Option<Ipv4Addr>,
    /// By which ways; several share the traffic.
    pub next_hops: Vec<NextHop>,
}

/// What becomes of a route's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RouteKind {
    /// They go on, by the next hops.
    Unicast,
    /// They are for this host.
    Local,
    /// They are for this host and others.
    Broadcast,
    /// They are dropped.
    Blackhole,
    /// Dropped, with "host unreachable".
    Unreachable,
    /// Dropped, with "administratively prohibited".
    Prohibit,
    /// This table says no more of them, no shorter prefix of it either.
    Throw,
    /// Something else: the number in `linux/rtnetlink.h`.
    Other(u8),
}

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NextHop<A = Ipv4Addr> {
    /// The link's number.
    pub interface: u32,
    /// The next router; without it the destination is a neighbour.
    pub gateway: Gateway<A>,
    /// Its share of the traffic, 1 to 256.
    pub weight: u16,
    /// Whether the way is alive: its link is up, with a carrier.
    pub alive: bool,
}

/// What stands between here and the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gateway<A = Ipv4Addr> {
    /// Nothing.
    None,
    /// A router.
    Address(A),
    /// What is no router of the family: one of the other, a tunnel that packets are put into, a next-hop object that
    /// is not known.
    Foreign,
}

/// The table that `ip route` shows.
pub const MAIN: u32 = 254;
/// The table of the kernel's own addresses.
pub const LOCAL: u32 = 255;

// linux/rtnetlink.h.
pub(super) const NEW: u16 = 24;
pub(super) const DEL: u16 = 25;
pub(super) const GET: u16 = 26;
pub(super) const DESTINATION: u16 = 1;
pub(super) const OUT_INTERFACE: u16 = 4;
pub(super) const GATEWAY: u16 = 5;
pub(super) const PRIORITY: u16 = 6;
const SOURCE: u16 = 7;
pub(super) const MULTIPATH: u16 = 9;
pub(super) const TABLE: u16 = 15;
pub(super) const VIA: u16 = 18;
pub(super) const ENCAP_TYPE: u16 = 21;
pub(super) const NEXT_HOP_ID: u16 = 30;
const INET: u8 = 2;
/// `RTNH_F_DEAD | RTNH_F_LINKDOWN`.
pub(super) const DEAD: u8 = 0x01 | 0x10;
/// `RTNH_F_ONLINK`: the gateway is a neighbour, whatever the addresses say.
const SCOPE_LINK: u8 = 253;
/// A cached way, not a route: `RTM_F_CLONED`.
pub(super) const CLONED: u32 = 0x200;

impl RouteKind {
    pub(super) fn of(number: u8) -> RouteKind {
        match number {
            1 => RouteKind::Unicast,
            2 => RouteKind::Local,
            3 => RouteKind::Broadcast,
            6 => RouteKind::Blackhole,
            7 => RouteKind::Unreachable,
            8 => RouteKind::Prohibit,
            9 => RouteKind::Throw,
            other => RouteKind::Other(other),
        }
    }

    fn number(self) -> u8 {
        match self {
            RouteKind::Unicast => 1,
            RouteKind::Local => 2,
            RouteKind::Broadcast => 3,
            RouteKind::Blackhole => 6,
            RouteKind::Unreachable => 7,
            RouteKind::Prohibit => 8,
            RouteKind::Throw => 9,
            RouteKind::Other(number) => number,
        }
    }
}

impl Route {
    /// A static route of the main table by one gateway.
    pub fn by(destination: Ipv4Prefix, gateway: Ipv4Addr, interface: u32) -> Route {
        let gateway = Gateway::Address(gateway);
        let next_hop = NextHop { interface, gateway, weight: 1, alive: true };
        Route { next_hops: vec![next_hop], ..Route::of(destination, RouteKind::Unicast) }
    }

    /// A static route of the main table without a next hop.
    pub fn of(destination: Ipv4Prefix, kind: RouteKind) -> Route {
        Route {
            destination,
            table: MAIN,
            priority: 0,
            protocol: 4,
            tos: 0,
            kind,
            source: None,
            next_hops: Vec::new(),
        }
    }

    /// What a message says of an IPv4 route, with these next-hop objects; `None` for what is none (a
    /// cached way, another family).
    pub(super) fn read(message: &Received<'_>, objects: &Objects) -> Option<Route> {
        let body = message.body;
        let &[family, len, _, tos, table, protocol, _, kind, ..] = body else { return None };
        let flags = u32_at(body, 8)?;
        if family != INET || flags & CLONED != 0 || len > 32 {
            return None;
        }
        let attributes = body.get(12..)?;
        let mut route = Route::of(Ipv4Prefix::ALL, RouteKind::of(kind));
        (route.table, route.protocol, route.tos) = (u32::from(table), protocol, tos);
        let (mut bits, mut interface, mut gateway) = (0, None, Gateway::None);
        let (mut tunnel, mut object) = (false, None);
        for (kind, value) in super::message::attributes(attributes) {
            match kind {
                DESTINATION => bits = ipv4(value)?,
                TABLE => route.table = u32_at(value, 0)?,
                PRIORITY => route.priority = u32_at(value, 0)?,
                SOURCE => route.source = ipv4(value).map(Ipv4Addr::from),
                OUT_INTERFACE => interface = u32_at(value, 0),
                GATEWAY | VIA => gateway = Gateway::read(kind, value),
                MULTIPATH => route.next_hops.extend(ways(value)),
                ENCAP_TYPE => tunnel = true,
                NEXT_HOP_ID => object = u32_at(value, 0),
                _ => {}
            }
        }
        route.destination = Ipv4Prefix::new(bits, len);
        if let Some(interface) = interface {
            let alive = flags as u8 & DEAD == 0;
            let gateway = if tunnel { Gateway::Foreign } else { gateway };
            route.next_hops.push(NextHop { interface, gateway, weight: 1, alive });
        }
        if let Some(id) = object.filter(|_| route.next_hops.is_empty()) {
            route.next_hops = objects.ways(id, |address| match address {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            });
            if route.kind == RouteKind::Unicast && route.next_hops.is_empty() {
                let gateway = Gateway::Foreign;
                route.next_hops.push(NextHop { interface: 0, gateway, weight: 1, alive: true });
            }
        }
        Some(route)
    }

    /// The header and attributes that describe it.
    fn message(&self, kind: u16) -> Message {
        let direct = self.next_hops.iter().all(|hop| hop.gateway == Gateway::None);
        let scope = match self.kind {
            RouteKind::Unicast if direct && !self.next_hops.is_empty() => SCOPE_LINK,
            _ => 0,
        };
        let table = u8::try_from(self.table).unwrap_or(0);
        let len = self.destination.len();
        let kind_number = self.kind.number();
        let header = [INET, len, 0, self.tos, table, self.protocol, scope, kind_number, 0, 0, 0, 0];
        let mut message = Message::new(kind, 0, &header)
            .with(DESTINATION, &self.destination.bits().to_be_bytes())
            .with_u32(TABLE, self.table);
        if self.priority != 0 {
            message = message.with_u32(PRIORITY, self.priority);
        }
        if let Some(source) = self.source {
            message = message.with(SOURCE, &source.octets());
        }
        match &self.next_hops[..] {
            [] => message,
            [hop] => hop.gateway.add(message.with_u32(OUT_INTERFACE, hop.interface)),
            hops => message.with_nest(MULTIPATH, |mut nest| {
                for hop in hops {
                    nest = hop.add(nest);
                }
                nest
            }),
        }
    }
}

impl Gateway {
    fn read(kind: u16, value: &[u8]) -> Gateway {
        let address = ipv4(value).filter(|_| kind == GATEWAY);
        address.map_or(Gateway::Foreign, |address| Gateway::Address(address.into()))
    }

    fn add(self, message: Message) -> Message {
        match self {
            Gateway::Address(address) => message.with(GATEWAY, &address.octets()),
            Gateway::None | Gateway::Foreign => message,
        }
    }
}

impl NextHop {
    /// As one `struct rtnexthop` and what belongs to it.
    fn add(&self, message: Message) -> Message {
        let len: u16 = 8 + if self.gateway == Gateway::None { 0 } else { 8 };
        let mut hop = [0; 8];
        hop[0..2].copy_from_slice(&len.to_ne_bytes());
        hop[3] = self.weight.saturating_sub(1).min(255) as u8;
        hop[4..].copy_from_slice(&self.interface.to_ne_bytes());
        self.gateway.add(message.with_bytes(&hop))
    }
}

/// The ways of `RTA_MULTIPATH`.
fn ways(mut bytes: &[u8]) -> impl Iterator<Item = NextHop> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0)?);
        let (hop, inside) = (bytes.get(..8)?, bytes.get(8..len)?);
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        let gateway = [ENCAP_TYPE, GATEWAY, VIA]
            .into_iter()
            .find_map(|kind| attribute(inside, kind).map(|value| Gateway::read(kind, value)));
        Some(NextHop {
            interface: u32_at(hop, 4)?,
            gateway: gateway.unwrap_or(Gateway::None),
            weight: u16::from(hop[3]) + 1,
            alive: hop[2] & DEAD == 0,
        })
    })
}

/// The request for a dump of a table; 0 is all tables.
pub(super) fn all(table: u32) -> Message {
    let header = [INET, 0, 0, 0, u8::try_from(table).unwrap_or(0), 0, 0, 0, 0, 0, 0, 0];
    let message = Message::new(GET, 0, &header);
    if table == 0 { message } else { message.with_u32(TABLE, table) }
}

/// `ENOENT`: the kernel has no table of this number.
const NO_TABLE: i32 = 2;

impl Netlink {
    /// All routes of a table (0: of all tables).
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn routes(&mut self, table: u32) -> Result<Vec<Route>, Unavailable> {
        let (objects, mut routes) = (self.next_hop_objects()?, Vec::new());
        self.each_route(table, &objects, &mut |route| match route {
            None => routes.clear(),
            Some(route) => routes.push(route),
        })?;
        Ok(routes)
    }

    /// The same one by one, for large tables, with these next-hop objects. `None` says that it begins,
    /// or begins anew because the table changed meanwhile.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn each_route(
        &mut self,
        table: u32,
        objects: &Objects,
        each: &mut dyn FnMut(Option<Route>),
    ) -> Result<(), Unavailable> {
        let done = self.dump("list the routes", || all(table), &mut |message| match message {
            None => each(None),
            Some(message) => {
                let route = Route::read(&message, objects);
                // A kernel that heeds no filters sends them all.
                if let Some(route) = route.filter(|r| table == 0 || r.table == table) {
                    each(Some(route));
                }
            }
        });
        match done {
            // A table is made with its first route: until then there is none, and nothing in it.
            Err(refused) if refused.error.raw_os_error() == Some(NO_TABLE) => Ok(()),
            done => done,
        }
    }

    /// Enters a route that is not there yet.
    ///
    /// # Errors
    /// [`Unavailable`]: it is there, or its gateway is no neighbour of any link.
    pub fn add_route(&mut self, route: &Route) -> Result<(), Unavailable> {
        let tried = || format!("add a route to {}", route.destination);
        self.request(tried, route.message(NEW), CREATE | EXCLUSIVE)
    }

    /// Enters a route in place of the one of the same destination and priority, if there is one.
    ///
    /// # Errors
    /// [`Unavailable`]: its gateway is no neighbour of any link.
    pub fn replace_route(&mut self, route: &Route) -> Result<(), Unavailable> {
        let tried = || format!("replace the route to {}", route.destination);
        self.request(tried, route.message(NEW), CREATE | REPLACE)
    }

    /// Takes a route away.
    ///
    /// # Errors
    /// [`Unavailable`]: there is none like it.
    pub fn delete_route(&mut self, route: &Route) -> Result<(), Unavailable> {
        let tried = || format!("take away the route to {}", route.destination);
        self.request(tried, route.message(DEL), 0)
    }
}
