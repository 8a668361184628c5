//! `/ip address`: the router's own addresses and the networks they connect.

use super::menu::{ADDRESS, ROUTE, gateway_by};
use super::route::{Candidate, Target};
use super::rule;
use crate::firewall::mark::{Mark, MarkBook};
use crate::interface::{InterfaceId, Names};
use config::{Read, Tree, Value};
use wire::Ipv4Prefix;

/// One of the router's own addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub address: u32,
    /// Its network.
    pub network: Ipv4Prefix,
    /// The interface it is on.
    pub interface: InterfaceId,
}

/// Which sources could be the router's own, or its networks' broadcasts: of a thousand others one or two
/// look so, too, and have to be looked up. Plain routing, 19 ns a packet, has 0.7 more by it; taking the
/// table out of the loop by hand gains none of that back.
#[derive(Clone, Debug)]
pub(crate) struct OwnSources([u64; 64]);

impl OwnSources {
    /// Of these addresses.
    pub(crate) fn of(addresses: &[Address]) -> OwnSources {
        let mut all = OwnSources([0; 64]);
        for own in addresses {
            for address in [own.address, own.network.bits(), own.network.last()] {
                let (word, bit) = OwnSources::place(address);
                all.0[word] |= bit;
            }
        }
        all
    }

    /// Whether this may be one.
    #[inline]
    pub(crate) fn may_have(&self, src: u32) -> bool {
        let (word, bit) = OwnSources::place(src);
        self.0[word] & bit != 0
    }

    #[inline]
    fn place(address: u32) -> (usize, u64) {
        let hash = address.wrapping_mul(0x9e37_79b9) >> 20;
        ((hash >> 6) as usize, 1 << (hash & 63))
    }
}

/// The enabled addresses whose interface exists.
pub fn read(tree: &Tree, names: &Names) -> Vec<Address> {
    let enabled = tree.read(&ADDRESS).filter(|item| !item.bool("disabled"));
    enabled
        .filter_map(|item| {
            let Value::Cidr(address, len) = *item.value("address") else { return None };
            let interface = names.find(&item.text("interface"))?;
            let address = u32::from(address);
            Some(Address { address, network: Ipv4Prefix::new(address, len), interface })
        })
        .collect()
}

/// The address a packet to `interface` is sent from: the one in the gateway's network if there is
/// one, else the interface's first, else the router's first.
pub fn source(addresses: &[Address], interface: InterfaceId, toward: u32) -> Option<u32> {
    let on = || addresses.iter().filter(move |a| a.interface == interface);
    on().find(|a| a.network.contains(toward))
        .or_else(|| on().next())
        .or_else(|| addresses.first())
        .map(|a| a.address)
}

/// All ways the configuration knows: the router's own addresses (of enabled interfaces), connected
/// networks (of running ones), the special networks of RFC 1812 §5.3.7, and `/ip route`.
pub fn routes(
    tree: &Tree,
    (names, marks): (&Names, &MarkBook),
    addresses: &[Address],
    enabled: impl Fn(InterfaceId) -> bool,
    runs: impl Fn(InterfaceId) -> bool,
) -> Vec<Candidate> {
    let mut ways = Vec::new();
    let mut add = |prefix, distance, target| {
        ways.push(Candidate { table: Mark::NONE, prefix, distance, target });
    };
    for (bits, len, target) in [
        (0x0000_0000, 8, Target::Martian),
        (0x7f00_0000, 8, Target::Martian),
        (0xf000_0000, 4, Target::Martian),
        (0xe000_0000, 4, Target::Multicast),
        (0xffff_ffff, 32, Target::Broadcast),
    ] {
        add(Ipv4Prefix::new(bits, len), 0, Some(target));
    }
    for own in addresses.iter().filter(|own| enabled(own.interface)) {
        add(Ipv4Prefix::host(own.address), 0, Some(Target::Local));
        // RFC 3021: a /31 has no broadcast address; a /32 no network.
        if own.network.len() < 31 {
            add(Ipv4Prefix::host(own.network.last()), 0, Some(Target::Broadcast));
            add(Ipv4Prefix::host(own.network.bits()), 0, Some(Target::Broadcast));
        }
        if own.network.len() < 32 && runs(own.interface) {
            add(own.network, 0, Some(Target::Connected(own.interface)));
        }
    }
    let routes = tree.read(&ROUTE).filter(|item| !item.bool("disabled"));
    ways.extend(routes.filter_map(|item| candidate(item, names, marks, addresses, &runs)));
    ways
}

/// What a route of the configuration is; its target is none while no gateway can be reached.
pub fn candidate(
    item: Read,
    names: &Names,
    marks: &MarkBook,
    addresses: &[Address],
    runs: &impl Fn(InterfaceId) -> bool,
) -> Option<Candidate> {
    let Value::Cidr(address, len) = *item.value("dst-address") else { return None };
    let target = match item.text("type").as_str() {
        "blackhole" => Some(Target::Blackhole),
        "unreachable" => Some(Target::Unreachable),
        "prohibit" => Some(Target::Prohibit),
        _ => gateways(&item.list("gateway"), names, addresses, runs),
    };
    let distance = item.number("distance") as u8;
    let table = rule::table(&item.text("routing-mark"), marks)?;
    Some(Candidate { table, prefix: Ipv4Prefix::new(u32::from(address), len), distance, target })
}

/// The target of these gateways, those out of reach left out; `None` if all are.
fn gateways(
    gateways: &[Value],
    names: &Names,
    addresses: &[Address],
    runs: &impl Fn(InterfaceId) -> bool,
) -> Option<Target> {
    let mut ways = Vec::new();
    for gateway in gateways {
        match gateway {
            Value::Address(gateway) => {
                ways.extend(reach((*gateway).into(), addresses, runs).map(|i| (i, *gateway)));
            }
            Value::Text(text) if let Some((gateway, name)) = gateway_by(text) => {
                ways.extend(names.find(name).filter(|&i| runs(i)).map(|i| (i, gateway)));
            }
            Value::Text(name) => {
                // An interface as gateway: everything behind the route is a neighbour there.
                let interface = names.find(name).filter(|&i| runs(i))?;
                return Some(Target::Connected(interface));
            }
            _ => {}
        }
    }
    let ways: Vec<_> = ways.into_iter().map(|(i, gateway)| (i, u32::from(gateway))).collect();
    if ways.is_empty() { None } else { Some(Target::Gateways(ways)) }
}

/// The running interface in whose connected network an address lies; the longest network wins.
pub fn reach(
    address: u32,
    addresses: &[Address],
    runs: impl Fn(InterfaceId) -> bool,
) -> Option<InterfaceId> {
    let within = addresses.iter().filter(|a| {
        a.network.len() < 32
            && a.network.contains(address)
            && a.address != address
            && runs(a.interface)
    });
    within.max_by_key(|a| a.network.len()).map(|a| a.interface)
}
