//! IPv6: addresses, routes, neighbours, ICMPv6, settings.
//!
//! ```text
//! /ipv6 address ─┬─► own addresses ─► source of what the router says
//!                └─► connected ─┐
//! /ipv6 route ─────► static ────┴─► best of each prefix ─► Fib     all of it in the Program
//! ```
//!
//! A change compiles all routes and swaps them with the program. Packets go by `flow/v6.rs`, or by
//! `fast/ipv6.rs`.
//!
//! What goes on without packets that pass stands in `nd/`, `dhcp/` and `pool.rs`: it is done
//! by timers, and what it finds out (`found`) is news to the compiler.

// `/ipv6 address`: the router's own addresses.
pub mod address;
// `/ipv6 firewall`: who may pass.
pub mod firewall;
// DHCPv6: prefixes and addresses, asked for and given out.
pub(crate) mod dhcp;
// UDP datagrams of the router's own.
pub(crate) mod datagram;
// What the router has found out by itself.
pub mod found;
// ICMPv6 messages a router sends.
pub mod icmp;
// The property tables.
pub mod menu;
// Neighbour discovery's control side: router advertisements, SLAAC, duplicates.
pub(crate) mod nd;
// `/ipv6 pool`: prefixes to give out.
pub(crate) mod pool;
// Routes: the best of each prefix.
pub mod route;
// `/ipv6 settings`.
pub mod settings;

// What is done with these menus.
pub(crate) mod facilities;

use crate::firewall::connection::Enabled;
use crate::firewall::mangle::Mangle;
use crate::firewall::nat::Nat;
use crate::firewall::raw::Raw;
use crate::interface::InterfaceId;
use crate::ip::fed::Fed;
use crate::ip::gateway::Gateways;
use crate::ip::icmp::RateLimit;
use crate::ip::route::Target;
use crate::ip::rule::Rule;
use crate::ip::vrf::Vrfs;
use address::Address;
use firewall::Filter;
use found::Found;
use route::Routes;
use settings::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::Ipv6Prefix;
use wire::icmpv6::solicited_node;

/// What the configuration of IPv6 means.
#[derive(Clone, Debug, Default)]
pub struct Meant {
    /// `/ipv6 settings`.
    pub settings: Settings,
    /// The router's own addresses, those of links among them.
    pub addresses: Arc<[Address]>,
    /// Those that somebody else has, too: not used.
    pub(crate) duplicates: Arc<[Address]>,
    /// `/ipv6 pool`, and those of DHCPv6 clients.
    pub(crate) pools: pool::Pools,
    /// The addresses that have their prefix of a pool.
    pub(crate) wants: Arc<[pool::Want]>,
    /// `/ipv6 dhcp-client` and `/ipv6 dhcp-server`.
    pub(crate) dhcp: Arc<dhcp::settings::Settings>,
    /// `/ipv6 nd`.
    pub(crate) nd: Arc<nd::settings::Settings>,
    /// What the router had found out when this was compiled.
    pub(crate) found: Arc<Found>,
    /// `/ipv6 route`, and what is connected.
    pub routes: Arc<Routes>,
    /// The routing rules of IPv6.
    pub(crate) route_rules: Arc<[Rule<u128>]>,
    /// `/ip vrf`, for both families.
    pub(crate) vrfs: Arc<Vrfs>,
    /// What is behind the gateways of routes.
    pub(crate) gateways: Arc<Gateways<u128>>,
    /// `/ipv6 firewall raw`; none before it was compiled.
    pub raw: Option<Arc<Raw>>,
    /// `/ipv6 firewall mangle`; none before it was compiled.
    pub mangle: Option<Arc<Mangle>>,
    /// `/ipv6 firewall filter`; none before it was compiled.
    pub filter: Option<Arc<Filter>>,
    /// `/ipv6 firewall nat`; none before it was compiled.
    pub nat: Option<Arc<Nat<u128>>>,
    /// Whether connections are tracked.
    pub tracking: bool,
    /// Whether a routed packet needs nothing but the FIB.
    pub(crate) stateless: bool,
    /// Whether FastPath's conditions hold but for its setting.
    is_plain: bool,
    /// A bit for each of the router's addresses, and for some others.
    own_bits: [u64; 16],
}

impl Meant {
    /// Finds out whether connections are tracked, and whether the FIB is all a routed packet needs.
    pub(crate) fn open_quick_ways(&mut self, tracking: Enabled, has_queues: bool) {
        let rules = self.has_rules();
        self.tracking = match tracking {
            Enabled::Yes => true,
            Enabled::No => false,
            Enabled::Auto => rules,
        };
        let nothing = !self.tracking && !rules && !has_queues && self.settings.forward;
        self.is_plain = nothing && self.vrfs.is_empty();
        self.stateless = self.is_plain && self.route_rules.is_empty();
        self.own_bits = [0; 16];
        for own in self.addresses.iter() {
            for address in [own.address, own.network.bits()] {
                let (word, bit) = bit_of(address);
                self.own_bits[word] |= bit;
            }
        }
    }

    /// Whether packets of flows fare the same with both: no table and no route was compiled anew.
    pub(crate) fn flows_as(&self, other: &Meant) -> bool {
        let same_tables = same(&self.raw, &other.raw)
            && same(&self.mangle, &other.mangle)
            && same(&self.filter, &other.filter);
        same_tables
            && Arc::ptr_eq(&self.routes, &other.routes)
            && Arc::ptr_eq(&self.addresses, &other.addresses)
            && self.settings == other.settings
            && (self.tracking, self.stateless) == (other.tracking, other.stateless)
            && Arc::ptr_eq(&self.found, &other.found)
    }

    /// Whether an address may be one of the router's: if not, it surely is none.
    #[inline]
    pub(crate) fn may_be_own(&self, address: u128) -> bool {
        let (word, bit) = bit_of(address);
        self.own_bits[word] & bit != 0
    }

    /// Whether there are rules of the firewall.
    pub(crate) fn has_rules(&self) -> bool {
        self.raw.as_ref().is_some_and(|raw| !raw.is_empty())
            || self.mangle.as_ref().is_some_and(|mangle| !mangle.is_empty())
            || self.filter.as_ref().is_some_and(|filter| !filter.is_empty())
            || self.nat.as_ref().is_some_and(|nat| !nat.is_empty())
    }

    /// Whether packets may go in FastPath, and be counted there.
    pub(crate) fn fast_path(&self) -> bool {
        self.is_plain && self.settings.allow_fast_path
    }

    /// Whether a FastTracked connection's packets may leave the regular path.
    pub(crate) fn fasttrack(&self) -> bool {
        self.tracking && self.settings.allow_fast_path
    }

    /// Whether an interface takes part: it has an address of its link.
    pub(crate) fn is_on(&self, interface: InterfaceId) -> bool {
        self.addresses.iter().any(|own| own.interface == interface)
    }

    /// Whether an interface has this address.
    pub(crate) fn has(&self, interface: InterfaceId, address: u128) -> bool {
        self.addresses.iter().any(|own| own.interface == interface && own.address == address)
    }

    /// Whether an address is the router's own; that of a link only there.
    pub(crate) fn is_own(&self, interface: InterfaceId, address: u128) -> bool {
        self.has(interface, address) || self.routes.is_local(self.vrfs.of(interface), address)
    }

    /// Whether the router hears what is sent to this group on an interface: that of all nodes, of all
    /// routers, and those in which its addresses are asked for.
    pub(crate) fn hears(&self, interface: InterfaceId, group: u128) -> bool {
        let of_all = [ALL_NODES, ALL_ROUTERS].contains(&group);
        let asked = |own: &Address| {
            own.interface == interface && u128::from(solicited_node(own.address.into())) == group
        };
        let listens = || self.nd.link(interface).is_some_and(|link| link.groups.contains(&group));
        of_all || self.addresses.iter().any(asked) || listens()
    }

    /// The longest packet for a link: what its routers say, if they say less.
    pub(crate) fn mtu(&self, interface: InterfaceId, mtu: u16) -> u16 {
        self.found.mtus.get(&interface).map_or(mtu, |&told| told.min(mtu))
    }

    /// The networks of a link of which the router has no address.
    fn told(&self, interface: InterfaceId) -> impl Iterator<Item = Ipv6Prefix> {
        let routes = self.found.routes.iter();
        routes
            .filter(move |told| told.target == Target::Connected(interface))
            .map(|told| told.prefix)
    }

    /// Whether an address belongs to a network connected to an interface: only such are neighbours.
    pub(crate) fn is_neighbour(&self, interface: InterfaceId, address: u128) -> bool {
        let on = |own: &&Address| own.interface == interface;
        Ipv6Prefix::LINK_LOCAL.contains(address)
            || self.addresses.iter().filter(on).any(|own| own.network.contains(address))
            || self.told(interface).any(|network| network.contains(address))
    }
}

/// What the router keeps of IPv6 between packets, beside neighbours.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// What is said and heard on links.
    pub(crate) links: BTreeMap<InterfaceId, nd::State>,
    /// Prefixes of pools.
    pub(crate) used: pool::Used,
    /// DHCPv6 clients, by item.
    pub(crate) clients: BTreeMap<config::ItemId, dhcp::client::Machine>,
    /// What DHCPv6 servers have given out.
    pub(crate) bindings: dhcp::server::Bindings,
    /// What was found out.
    pub(crate) found: Arc<Found>,
    /// Routes that somebody else knows.
    pub(crate) fed: Arc<[Fed]>,
    /// How many redirects may go out.
    pub(crate) redirects: RateLimit,
}

impl Default for State {
    fn default() -> State {
        let mut redirects = RateLimit::default();
        redirects.mask = u32::MAX;
        State {
            links: BTreeMap::new(),
            used: pool::Used::default(),
            clients: BTreeMap::new(),
            bindings: dhcp::server::Bindings::default(),
            found: Arc::default(),
            fed: Arc::default(),
            redirects,
        }
    }
}

/// The place of an address among 1,024 bits.
#[inline]
fn bit_of(address: u128) -> (usize, u64) {
    let hash = (address ^ address >> 64) as u64;
    let hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    (hash as usize / 64, 1 << (hash % 64))
}

fn same<T>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// `ff02::1`.
pub(crate) const ALL_NODES: u128 = 0xff02 << 112 | 1;
/// `ff02::2`.
pub(crate) const ALL_ROUTERS: u128 = 0xff02 << 112 | 2;
