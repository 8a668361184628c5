//! Settings of neighbour discovery: of each link what the router says and hears there.

use super::menu::{DEFAULT, ND, PREFIX, PROXY, bounds};
use crate::interface::InterfaceId;
use crate::interface::tunnel::Tunnel;
use crate::ipv6::ALL_ROUTERS;
use crate::ipv6::address::Address;
use crate::program::Program;
use config::{Read, Tree, Value};
use std::time::Duration;
use wire::Ipv6Prefix;
use wire::icmpv6::solicited_node;

/// The links on which something of IPv6 was typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) links: Vec<Link>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    pub(crate) interface: InterfaceId,
    /// The router's own addresses there, duplicates among them.
    pub(crate) own: Vec<Own>,
    /// The groups the router listens to.
    pub(crate) groups: Vec<u128>,
    /// Addresses elsewhere for which it answers there.
    pub(crate) proxied: Vec<u128>,
    /// What its hosts are told.
    pub(crate) advertises: Option<Advertised>,
    /// Whether other routers are heard.
    pub(crate) accepts: bool,
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) address: u128,
    /// Whether it is looked for first.
    pub(crate) probes: bool,
}

/// What hosts are told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advertised {
    pub(crate) interval: (Duration, Duration),
    pub(crate) delay: Duration,
    pub(crate) lifetime_s: u16,
    pub(crate) preference: u8,
    pub(crate) hop_limit: u8,
    pub(crate) managed: bool,
    pub(crate) other: bool,
    pub(crate) reachable_ms: u32,
    pub(crate) retransmit_ms: u32,
    pub(crate) mac: bool,
    pub(crate) mtu: Option<u32>,
    pub(crate) dns: Vec<u128>,
    pub(crate) advertise_dns: bool,
    pub(crate) prefixes: Vec<Prefix>,
}

/// A network that hosts are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) prefix: Ipv6Prefix,
    pub(crate) on_link: bool,
    pub(crate) autonomous: bool,
    pub(crate) valid_s: u32,
    pub(crate) preferred_s: u32,
    /// Whether it was typed, and does not follow from an address.
    pub(crate) is_typed: bool,
}

impl Settings {
    /// The link of an interface.
    pub(crate) fn link(&self, interface: InterfaceId) -> Option<&Link> {
        self.links.iter().find(|link| link.interface == interface)
    }

    /// Whether the router answers on a link for an address elsewhere.
    pub(crate) fn is_proxied(&self, interface: InterfaceId, address: u128) -> bool {
        self.link(interface).is_some_and(|link| link.proxied.contains(&address))
    }

    /// What the menus, and the addresses of the program, say.
    pub(crate) fn compile(tree: &Tree, program: &Program) -> Settings {
        let ids = program.interfaces.iter().map(|interface| interface.id);
        let links = ids.filter(|&id| program.v6.is_on(id)).filter_map(|id| link(tree, program, id));
        Settings { links: links.collect() }
    }
}

fn link(tree: &Tree, program: &Program, interface: InterfaceId) -> Option<Link> {
    let v6 = &program.v6;
    // A tunnel is quiet: there is one other end, or anybody, and no link that has hosts.
    let tunnel = program.packet_tunnel(interface);
    if tunnel.is_some_and(Tunnel::is_automatic) {
        return None;
    }
    let all = v6.addresses.iter().chain(v6.duplicates.iter());
    let own: Vec<_> = all.filter(|own| own.interface == interface).collect();
    let prefixes = prefixes(tree, program, interface);
    let typed = tree.read(&ND).find(|item| {
        !item.bool("disabled") && program.names.find(&item.text("interface")) == Some(interface)
    });
    let for_all = || {
        let disabled = tree.read(&ND).any(|item| {
            item.bool("disabled") && program.names.find(&item.text("interface")) == Some(interface)
        });
        let mut items = tree.read(&ND).filter(|item| !item.bool("disabled"));
        let all = items.find(|item| item.text("interface") == "all");
        all.filter(|_| !disabled && !prefixes.is_empty())
    };
    let has_wide = own.iter().any(|own| !own.is_link_local());
    let item = match typed {
        // Whoever typed an item for the interface wants it told, whether there is a network or not.
        Some(item) => Some(item).filter(|_| has_wide || !prefixes.is_empty()),
        None => for_all().filter(|_| tunnel.is_none()),
    };
    let advertises = item.map(|item| advertised(&item, prefixes));
    let accepts = v6.settings.accepts_advertisements && advertises.is_none();
    let (client, server) = (v6.dhcp.client_on(interface), v6.dhcp.server_on(interface));
    let serves = server.is_some() || v6.dhcp.relay_on(interface).is_some();
    let proxied = proxied(tree, program, interface);
    let virtual_: Vec<_> =
        program.vrrps.iter().filter(|vrrp| vrrp.is_ipv6 && vrrp.on == interface).collect();
    let is_used = client.is_some()
        || !virtual_.is_empty()
        || serves
        || !proxied.is_empty()
        || own.iter().any(|own| own.item.is_some() || !own.is_link_local());
    if !is_used && advertises.is_none() && !accepts {
        return None;
    }
    let mut groups = Vec::new();
    if tunnel.is_none() {
        groups.push(ALL_ROUTERS);
    }
    let used = v6.addresses.iter().filter(|own| own.interface == interface && tunnel.is_none());
    groups.extend(used.map(|own| u128::from(solicited_node(own.address.into()))));
    groups.extend(proxied.iter().map(|&address| u128::from(solicited_node(address.into()))));
    groups.extend(serves.then(|| u128::from(wire::dhcp6::SERVERS)));
    if !virtual_.is_empty() {
        groups.push(wire::vrrp::GROUP6);
        let is_theirs =
            |own: &&Address| virtual_.iter().any(|vrrp| vrrp.interface == own.interface);
        let theirs = v6.addresses.iter().filter(is_theirs);
        groups.extend(theirs.map(|own| u128::from(solicited_node(own.address.into()))));
    }
    groups.sort_unstable();
    groups.dedup();
    let asks = tunnel.is_none();
    let own = own.into_iter().map(|own| Own { address: own.address, probes: asks && !own.no_dad });
    Some(Link { interface, own: own.collect(), groups, proxied, advertises, accepts })
}

/// The addresses that `/ipv6 nd proxy` has for an interface.
fn proxied(tree: &Tree, program: &Program, interface: InterfaceId) -> Vec<u128> {
    let items = tree.read(&PROXY).filter(|item| {
        !item.bool("disabled") && program.names.find(&item.text("interface")) == Some(interface)
    });
    let address = |item: Read| match *item.value("address") {
        Value::Address6(address) => Some(u128::from(address)),
        _ => None,
    };
    items.filter_map(address).collect()
}

fn advertised(item: &Read, prefixes: Vec<Prefix>) -> Advertised {
    let number = |name| match *item.value(name) {
        Value::Number(number) => Some(number as u32),
        _ => None,
    };
    let time = |name| match *item.value(name) {
        Value::Time(time) => Some(time),
        _ => None,
    };
    let ms = |name| time(name).map_or(0, |time| time.as_millis().min(u32::MAX.into()) as u32);
    let dns = item.list("dns");
    let dns = dns.iter().filter_map(|server| match server {
        Value::Address6(server) => Some(u128::from(*server)),
        _ => None,
    });
    Advertised {
        interval: bounds(&item.text("ra-interval")).unwrap_or_default(),
        delay: item.time("ra-delay"),
        lifetime_s: time("ra-lifetime").map_or(0, |time| time.as_secs().min(9000) as u16),
        preference: match item.text("ra-preference").as_str() {
            "high" => 1,
            "low" => 3,
            _ => 0,
        },
        hop_limit: number("hop-limit").unwrap_or(0) as u8,
        managed: item.bool("managed-address-configuration"),
        other: item.bool("other-configuration"),
        reachable_ms: ms("reachable-time"),
        retransmit_ms: ms("retransmit-interval"),
        mac: item.bool("advertise-mac-address"),
        mtu: number("mtu"),
        dns: dns.collect(),
        advertise_dns: item.bool("advertise-dns"),
        prefixes,
    }
}

/// The typed networks of a link, and those of addresses that are advertised; the first that says
/// something of a network has it.
pub(super) fn prefixes(tree: &Tree, program: &Program, interface: InterfaceId) -> Vec<Prefix> {
    let mut all: Vec<Prefix> = Vec::new();
    let typed = tree.read(&PREFIX).filter(|item| {
        !item.bool("disabled") && program.names.find(&item.text("interface")) == Some(interface)
    });
    for item in typed {
        let Value::Cidr6(address, len) = *item.value("prefix") else { continue };
        let (valid_s, preferred_s) = lifetimes(&item);
        all.push(Prefix {
            prefix: Ipv6Prefix::new(address.into(), len),
            on_link: item.bool("on-link"),
            autonomous: item.bool("autonomous"),
            valid_s,
            preferred_s,
            is_typed: true,
        });
    }
    let default = tree.read_settings(&DEFAULT);
    let (valid_s, preferred_s) = lifetimes(&default);
    let autonomous = default.bool("autonomous");
    let own = program.v6.addresses.iter();
    for own in own.filter(|own| own.interface == interface && own.advertise) {
        let prefix = own.network;
        if all.iter().all(|other| other.prefix != prefix) {
            let (on_link, is_typed) = (true, false);
            all.push(Prefix { prefix, on_link, autonomous, valid_s, preferred_s, is_typed });
        }
    }
    // A message has room for so many beside the rest.
    all.truncate(MAX_PREFIXES);
    all
}

/// Networks that fit an advertisement of 1280 bytes.
const MAX_PREFIXES: usize = 32;

fn lifetimes(item: &Read) -> (u32, u32) {
    let seconds = |name| match *item.value(name) {
        Value::Time(time) => time.as_secs().min(u64::from(u32::MAX) - 1) as u32,
        _ => u32::MAX,
    };
    (seconds("valid-lifetime"), seconds("preferred-lifetime"))
}
