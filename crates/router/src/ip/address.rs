//! `/ip address`: the router's own addresses and the networks they connect.

use super::menu::ADDRESS;
use super::route::{Candidate, Target};
use super::vrf::Vrfs;
use crate::firewall::mark::Mark;
use crate::interface::pppoe::{Sessions, Standing};
use crate::interface::{InterfaceId, Names};
use crate::program::Program;
use config::{Tree, Value};
use std::collections::HashSet;
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

impl Address {
    /// Of a session: the other end is its network.
    pub(crate) fn of(standing: &Standing) -> Address {
        let (address, remote) = (standing.session.local, standing.session.remote);
        let interface = standing.interface;
        Address { address, network: Ipv4Prefix::host(remote), interface }
    }

    /// Whether anybody else is in its network.
    pub(crate) fn has_neighbours(&self) -> bool {
        self.network.len() < 32 || self.network.bits() != self.address
    }
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

/// The ways that nobody types: the router's own addresses (of enabled interfaces), connected
/// networks (of running ones), the special networks of RFC 1812 §5.3.7, and sessions' default routes.
pub(crate) fn routes(
    (addresses, sessions, vrfs): (&[Address], &Sessions, &Vrfs),
    enabled: impl Fn(InterfaceId) -> bool,
    runs: impl Fn(InterfaceId) -> bool,
) -> Vec<Candidate> {
    let mut ways = Vec::new();
    let mut add = |table, prefix, target| {
        ways.push(Candidate { table, prefix, distance: 0, pref_src: 0, target: Some(target) });
    };
    let special = [
        (0x0000_0000, 8, Target::Martian),
        (0x7f00_0000, 8, Target::Martian),
        (0xf000_0000, 4, Target::Martian),
        (0xe000_0000, 4, Target::Multicast),
        (0xffff_ffff, 32, Target::Broadcast),
    ];
    for table in vrfs.tables() {
        for (bits, len, target) in &special {
            add(table, Ipv4Prefix::new(*bits, *len), target.clone());
        }
    }
    // Many sessions have the same address at this end.
    let mut seen = HashSet::new();
    for own in addresses.iter().filter(|own| enabled(own.interface)) {
        let table = vrfs.of(own.interface);
        if seen.insert((table, own.address)) {
            add(table, Ipv4Prefix::host(own.address), Target::Local);
        }
        // RFC 3021: a /31 has no broadcast address; a /32 no network.
        if own.network.len() < 31 {
            add(table, Ipv4Prefix::host(own.network.last()), Target::Broadcast);
            add(table, Ipv4Prefix::host(own.network.bits()), Target::Broadcast);
        }
        if own.has_neighbours() && runs(own.interface) {
            add(table, own.network, Target::Connected(own.interface));
        }
    }
    let sessions = sessions.list().iter();
    ways.extend(sessions.flat_map(|open| session_routes(open, vrfs.of(open.interface))));
    ways
}

/// The routes of a session: those of its user, or the default route of a client with `add-default-route`.
pub(crate) fn session_routes(standing: &Standing, table: Mark) -> Vec<Candidate> {
    let session = &standing.session;
    let routes = session.granted().map_or(&[][..], |terms| &terms.routes);
    let way = |prefix, distance, target| Candidate {
        table,
        prefix,
        distance,
        pref_src: 0,
        target: Some(target),
    };
    let own = routes.iter().map(|&(prefix, gateway, distance)| {
        let gateway = if gateway == 0 { session.remote } else { gateway };
        way(prefix, distance, Target::Gateways(vec![(standing.interface, gateway)]))
    });
    own.chain(session.route.map(|distance| {
        way(Ipv4Prefix::new(0, 0), distance, Target::Connected(standing.interface))
    }))
    .collect()
}
impl Program {
    /// Whether `address` is one of the router's own.
    pub fn is_local(&self, address: u32) -> bool {
        self.addresses.iter().any(|own| own.address == address)
    }

    /// The same in a VRF.
    pub(crate) fn is_local_in(&self, vrf: Mark, address: u32) -> bool {
        let mut own = self.addresses.iter().filter(|own| own.address == address);
        own.any(|own| self.vrfs.of(own.interface) == vrf)
    }
}
