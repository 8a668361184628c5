//! Next-hop objects (`ip nexthop`): ways that routes name by a number.
//!
//! ```text
//!  route ─► id 3 ─► group: 1 weight 2, 2 weight 1 ─► 1: via 10.0.1.2 dev eth1
//!                                                 └► 2: via 10.0.2.2 dev eth2
//! ```
//!
//! The kernel spells a route's ways out beside the number, unless `net.ipv4.nexthop_compat_mode` is 0
//! (frr asks for that where tables are large): then there is the number alone, which is looked up here.
//!
//! An object goes with its link or its carrier, so all there are are alive.
//!
//! Source: `linux/nexthop.h`, `net/ipv4/nexthop.c`.

use super::message::{Message, Received, attribute, attributes, ipv4, u16_at, u32_at};
use super::route::{Gateway, NextHop};
use super::socket::Netlink;
use port::linux::Unavailable;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

// linux/rtnetlink.h, linux/nexthop.h.
pub(super) const NEW: u16 = 104;
pub(super) const DEL: u16 = 105;
const GET: u16 = 106;
const ID: u16 = 1;
const GROUP: u16 = 2;
const OUT_INTERFACE: u16 = 5;
const GATEWAY: u16 = 6;
const ENCAP_TYPE: u16 = 7;
/// `struct nhmsg`.
const HEADER: usize = 8;
/// `EOPNOTSUPP`: a kernel before 5.3 has none.
const UNKNOWN: i32 = 95;

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Object {
    /// Of either family.
    Way(NextHop<IpAddr>),
    /// Of others, each with its weight.
    Group(Vec<(u32, u16)>),
}

/// All that are known, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects(HashMap<u32, Object>);

impl Objects {
    /// Takes in what a message says of one.
    pub(super) fn hear(&mut self, message: &Received<'_>) {
        let Some(all) = message.body.get(HEADER..) else { return };
        let Some(id) = attribute(all, ID).and_then(|id| u32_at(id, 0)) else { return };
        match (message.kind, Object::read(all)) {
            (NEW, Some(object)) => self.0.insert(id, object),
            _ => self.0.remove(&id),
        };
    }

    /// The ways that an object is, by gateways of the family that `of` takes; none if it is none that is
    /// known, or leads nowhere.
    pub(super) fn ways<A>(&self, id: u32, of: impl Fn(IpAddr) -> Option<A>) -> Vec<NextHop<A>> {
        let way = |way: &NextHop<IpAddr>, weight: u16| {
            let &NextHop { interface, gateway, alive, .. } = way;
            let gateway = match gateway {
                Gateway::None => Gateway::None,
                Gateway::Foreign => Gateway::Foreign,
                Gateway::Address(address) => of(address).map_or(Gateway::Foreign, Gateway::Address),
            };
            NextHop { interface, gateway, weight, alive }
        };
        match self.0.get(&id) {
            None => Vec::new(),
            Some(Object::Way(one)) => vec![way(one, one.weight)],
            Some(Object::Group(members)) => {
                let member = |&(id, weight): &(u32, u16)| match self.0.get(&id)? {
                    Object::Way(one) => Some(way(one, weight)),
                    Object::Group(_) => None, // the kernel has no groups of groups
                };
                members.iter().filter_map(member).collect()
            }
        }
    }
}

impl Object {
    fn read(all: &[u8]) -> Option<Object> {
        if let Some(members) = attribute(all, GROUP) {
            // `struct nexthop_grp`: id, weight less one in two bytes with two more between them.
            let member = |bytes: &[u8]| {
                let weight = u16::from_le_bytes([*bytes.get(4)?, *bytes.get(5)?]);
                Some((u32_at(bytes, 0)?, weight.saturating_add(1)))
            };
            return members.chunks_exact(8).map(member).collect::<Option<_>>().map(Object::Group);
        }
        let interface = attribute(all, OUT_INTERFACE).and_then(|value| u32_at(value, 0))?;
        let mut gateway = Gateway::None;
        for (kind, value) in attributes(all) {
            match kind {
                GATEWAY if gateway == Gateway::None => {
                    let v6 = || Some(Ipv6Addr::from(<[u8; 16]>::try_from(value).ok()?).into());
                    let address = ipv4(value).map(|address| Ipv4Addr::from(address).into());
                    gateway = address.or_else(v6).map_or(Gateway::Foreign, Gateway::Address);
                }
                ENCAP_TYPE if u16_at(value, 0) != Some(0) => gateway = Gateway::Foreign,
                _ => {}
            }
        }
        Some(Object::Way(NextHop { interface, gateway, weight: 1, alive: true }))
    }
}

impl Netlink {
    /// All next-hop objects; none where the kernel knows no such thing.
    ///
    /// # Errors
    /// [`Unavailable`]: what the kernel says.
    pub fn next_hop_objects(&mut self) -> Result<Objects, Unavailable> {
        let mut objects = Objects::default();
        let make = || Message::new(GET, 0, &[0; HEADER]);
        let done = self.dump("list the next-hop objects", make, &mut |message| match message {
            None => objects.0.clear(),
            Some(message) => objects.hear(&message),
        });
        match done {
            Err(refused) if refused.error.raw_os_error() != Some(UNKNOWN) => Err(refused),
            _ => Ok(objects),
        }
    }
}
