//! `/ipv6 address`: the router's own addresses, typed and made of MAC addresses.

use super::found::Found;
use super::menu::ADDRESS;
use super::pool::Want;
use crate::interface::InterfaceId;
use crate::interface::tunnel::six_to_four;
use crate::interface::vrrp::Vrrp;
use crate::program::{Interface, Kind, Program};
use config::{ItemId, Read, Tree, Value};
use std::net::Ipv6Addr;
use wire::Ipv6Prefix;
use wire::icmpv6::interface_id;
use wire::layers::ETHERTYPE_IPV6;

/// One of the router's own addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub address: u128,
    /// Its network.
    pub network: Ipv6Prefix,
    /// The interface it is on.
    pub interface: InterfaceId,
    /// Its network is told to hosts.
    pub advertise: bool,
    /// The item that says so; none of what the router made itself.
    pub item: Option<ItemId>,
    /// It is used without asking whether somebody else has it.
    pub(crate) no_dad: bool,
}

impl Address {
    /// One that the router made itself.
    fn made(address: u128, network: Ipv6Prefix, interface: InterfaceId) -> Address {
        let (advertise, no_dad) = (false, false);
        Address { address, network, interface, advertise, item: None, no_dad }
    }

    /// Whether it belongs to one link.
    pub fn is_link_local(&self) -> bool {
        Ipv6Prefix::LINK_LOCAL.contains(self.address)
    }
}

/// The router's own addresses: each interface that IP sees has one for its link (RFC 4291 §2.5.6),
/// then those typed, of interfaces that are there and enabled, and those that it was given; behind them
/// those of all these that somebody else has, too.
pub(crate) fn read(tree: &Tree, program: &Program, found: &Found) -> (Vec<Address>, Vec<Address>) {
    if program.v6.settings.disabled {
        return (Vec::new(), Vec::new());
    }
    let links = program.interfaces.iter().filter(|interface| {
        let slave = interface.bridge.is_some() || interface.bond.is_some();
        let has_link = match interface.kind {
            Kind::Vrrp { .. } => is_master6(program, interface.id),
            _ => true,
        };
        interface.enabled && !slave && has_link
    });
    let own = links.filter_map(|interface| {
        let address = 0xfe80 << 112 | u128::from(id_of(program, interface)?);
        let network = Ipv6Prefix::new(address, 64);
        // In a tunnel nobody is asked, and other routers are to have a virtual router's address, too.
        let no_dad =
            program.is_point_to_point(interface.id) || matches!(interface.kind, Kind::Vrrp { .. });
        Some(Address { no_dad, ..Address::made(address, network, interface.id) })
    });
    // Of sessions, those that both ends have agreed upon.
    let sessions = program.sessions.list().iter().filter_map(|standing| {
        let (own, _) = **standing.session.identifiers.as_ref()?;
        let address = 0xfe80 << 112 | u128::from(u64::from_be_bytes(own));
        let (network, interface) = (Ipv6Prefix::new(address, 64), standing.interface);
        // Both ends know of each other's: nobody else is to be asked.
        Some(Address { no_dad: true, ..Address::made(address, network, interface) })
    });
    let typed = tree.read(&ADDRESS).filter(|item| !item.bool("disabled"));
    let given = found.addresses.iter();
    let given = given.map(|given| Address::made(given.address, given.network, given.interface));
    let given = given.filter(|own| program.is_enabled(own.interface));
    let all =
        own.chain(sessions).chain(typed.filter_map(|item| one(item, program, found))).chain(given);
    all.partition(|own| !found.duplicates.contains(&(own.interface, own.address)))
}

/// What tells an interface from others on its link: its MAC address; in a tunnel its own IPv4 address, or
/// if it has none for good the first port's MAC address (RFC 4291 §2.5.1, appendix A). `None` where
/// there is no IPv6, or PPP agrees upon it.
fn id_of(program: &Program, interface: &Interface) -> Option<u64> {
    if !program.is_point_to_point(interface.id) {
        return Some(interface_id(interface.mac));
    }
    let tunnel = program.packet_tunnel(interface.id)?;
    if !tunnel.carries.takes(ETHERTYPE_IPV6) {
        return None;
    }
    let is_port =
        |other: &&Interface| other.id.is_some() && matches!(other.kind, Kind::Ethernet { .. });
    let first = || program.interfaces.iter().find(is_port).map(|port| interface_id(port.mac));
    six_to_four::interface_id(tunnel).or_else(first)
}

/// The enabled items that have their prefix of a pool.
pub(crate) fn wants(tree: &Tree) -> Vec<Want> {
    let items = tree.read(&ADDRESS).filter(|item| !item.bool("disabled"));
    let want = |item: Read| {
        let pool = Some(item.text("from-pool")).filter(|pool| !pool.is_empty())?;
        Some(Want { item: item.id(), pool, interface: item.text("interface") })
    };
    items.filter_map(want).collect()
}

/// Whether an interface is a virtual router of IPv6 that has its addresses now.
fn is_master6(program: &Program, interface: InterfaceId) -> bool {
    let is = |vrrp: &Vrrp| vrrp.interface == interface && vrrp.is_ipv6;
    program.interface(interface).running && program.vrrps.iter().any(is)
}

/// What an item of the menu means, if its interface is there, and its pool has a prefix for it.
pub(crate) fn one(item: Read, program: &Program, found: &Found) -> Option<Address> {
    let Value::Cidr6(address, len) = *item.value("address") else { return None };
    let interface = program.names.find(&item.text("interface"))?;
    let enabled = program.is_enabled(interface);
    let mut address = u128::from(address);
    let mut network = Ipv6Prefix::new(address, len);
    if !item.text("from-pool").is_empty() {
        network = *found.taken.get(&item.id())?;
        let host = address ^ Ipv6Prefix::new(address, network.len()).bits();
        address = network.bits() | host;
    }
    if item.bool("eui-64") {
        let on = program.interface(interface);
        let id = id_of(program, on).unwrap_or_else(|| interface_id(on.mac));
        address = Ipv6Prefix::new(address, 64).bits() | u128::from(id);
    }
    let advertise = item.bool("advertise") && !Ipv6Prefix::LINK_LOCAL.contains(address);
    let is_virtual = matches!(program.interface(interface).kind, Kind::Vrrp { .. });
    let is_here = enabled && (!is_virtual || is_master6(program, interface));
    let (item, no_dad) = (Some(item.id()), item.bool("no-dad") || is_virtual);
    is_here.then_some(Address { address, network, interface, advertise, item, no_dad })
}

/// The address that a packet to `toward` by `interface` is sent from (RFC 6724 §5 as far as a router
/// has a choice): of the same scope, on that interface, in the same network.
pub fn source(addresses: &[Address], interface: InterfaceId, toward: u128) -> Option<u128> {
    let group = Ipv6Addr::from(toward);
    let link = Ipv6Prefix::LINK_LOCAL.contains(toward)
        || group.is_multicast() && group.octets()[1] & 0xf <= 2;
    let on = |own: &&Address| own.interface == interface;
    let near = addresses.iter().filter(on).find(|own| own.is_link_local());
    if link {
        return near.map(|own| own.address);
    }
    let wide = || addresses.iter().filter(|own| !own.is_link_local());
    wide()
        .filter(on)
        .find(|own| own.network.contains(toward))
        .or_else(|| wide().find(on))
        .or_else(|| wide().next())
        .or(near)
        .map(|own| own.address)
}
