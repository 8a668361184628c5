//! Settings of DHCP, compiled from the menus: servers, networks, typed leases, clients.

use super::menu::{CLIENT, CLIENT_OPTION, LEASE, NETWORK, OPTION, SERVER, SETS};
use super::option;
use crate::interface::{InterfaceId, Names, lasting_number};
use config::{ItemId, Read, Tree, Value};
use std::time::Duration;
use wire::{Ipv4Prefix, MacAddr};

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) servers: Vec<Server>,
    pub(crate) networks: Vec<Network>,
    pub(crate) typed: Vec<Typed>,
    pub(crate) clients: Vec<Client>,
}

/// `/ip dhcp-server`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    pub(crate) id: ItemId,
    pub(crate) name: String,
    pub(crate) interface: InterfaceId,
    /// The relay whose clients it serves; 0: those of its interface; [`u32::MAX`]: of any.
    pub(crate) relay: u32,
    /// `server-address`.
    pub(crate) own: Option<u32>,
    /// None: typed leases only.
    pub(crate) pool: Option<String>,
    pub(crate) lease_time: Duration,
    /// For how long a client must have asked before it is told no; `None`: never.
    pub(crate) authoritative: Option<Duration>,
    pub(crate) delay: Duration,
    pub(crate) add_arp: bool,
    pub(crate) probes: bool,
    pub(crate) bootp: bool,
    pub(crate) always_broadcast: bool,
    pub(crate) options: Vec<Custom>,
    /// `lease-script`.
    pub(crate) script: String,
}

/// An option that a user wrote.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Custom {
    pub(crate) code: u8,
    pub(crate) data: Vec<u8>,
    pub(crate) force: bool,
}

/// `/ip dhcp-server network`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Network {
    pub(crate) prefix: Ipv4Prefix,
    pub(crate) gateways: Vec<u32>,
    pub(crate) mask_len: u8,
    pub(crate) dns: Vec<u32>,
    pub(crate) dns_none: bool,
    pub(crate) ntp: Vec<u32>,
    pub(crate) wins: Vec<u32>,
    /// `caps-manager`.
    pub(crate) controllers: Vec<u32>,
    pub(crate) domain: String,
    pub(crate) next_server: u32,
    pub(crate) boot_file: String,
    pub(crate) options: Vec<Custom>,
}

/// `/ip dhcp-server lease`: a typed one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    pub(crate) id: ItemId,
    pub(crate) address: u32,
    pub(crate) mac: Option<MacAddr>,
    pub(crate) client_id: Option<Vec<u8>>,
    /// None: any.
    pub(crate) server: Option<ItemId>,
    pub(crate) lease_time: Option<Duration>,
    pub(crate) always_broadcast: bool,
    pub(crate) blocked: bool,
    /// The address lists that a bound client is in.
    pub(crate) lists: Vec<String>,
    pub(crate) options: Vec<Custom>,
}

/// `/ip dhcp-client`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Client {
    pub(crate) id: ItemId,
    pub(crate) interface: InterfaceId,
    /// The distance of routes, if there are to be any.
    pub(crate) route: Option<u8>,
    /// The default route is wanted beside classless ones.
    pub(crate) both: bool,
    /// What runs when an address is given or lost.
    pub(crate) script: String,
    pub(crate) use_dns: bool,
    pub(crate) use_ntp: bool,
    /// Options that it says, as they were typed.
    pub(crate) options: Vec<(u8, String)>,
    /// The number of its interface, by the name: the same after a start from an export.
    pub(crate) iaid: u32,
}

impl Settings {
    /// The enabled items.
    pub(crate) fn compile(tree: &Tree, names: &Names) -> Settings {
        let enabled = |item: &Read| !item.bool("disabled");
        let ids: Vec<(String, ItemId)> =
            tree.read(&SERVER).map(|item| (item.name().to_string(), item.id())).collect();
        Settings {
            servers: tree
                .read(&SERVER)
                .filter(enabled)
                .filter_map(|item| server(tree, names, item))
                .collect(),
            networks: tree
                .read(&NETWORK)
                .filter(enabled)
                .filter_map(|item| network(tree, item))
                .collect(),
            typed: tree
                .read(&LEASE)
                .filter(enabled)
                .filter_map(|item| typed(tree, &ids, item))
                .collect(),
            clients: tree
                .read(&CLIENT)
                .filter(enabled)
                .filter_map(|item| {
                    Some(Client {
                        id: item.id(),
                        interface: names.find(&item.text("interface"))?,
                        script: item.text("script"),
                        both: item.text("add-default-route") == "special-classless",
                        route: (item.text("add-default-route") != "no")
                            .then(|| item.number("default-route-distance") as u8),
                        use_dns: item.bool("use-peer-dns"),
                        use_ntp: item.bool("use-peer-ntp"),
                        options: said(tree, item.list("dhcp-options")),
                        iaid: lasting_number(&item.text("interface")),
                    })
                })
                .collect(),
        }
    }

    /// The server of an interface.
    pub(crate) fn server_on(&self, interface: InterfaceId) -> Option<&Server> {
        self.servers.iter().find(|server| server.interface == interface)
    }

    /// The narrowest network an address is in.
    pub(crate) fn network_of(&self, address: u32) -> Option<&Network> {
        let all = self.networks.iter().filter(|network| network.prefix.contains(address));
        all.max_by_key(|network| network.prefix.len())
    }
}

/// The options of `/ip dhcp-client option` that are named.
fn said(tree: &Tree, names: Vec<Value>) -> Vec<(u8, String)> {
    let named = |name: Value| {
        let item = tree.read(&CLIENT_OPTION).find(|item| item.name() == name.to_string())?;
        Some((item.number("code") as u8, item.text("value")))
    };
    names.into_iter().filter_map(named).collect()
}

fn server(tree: &Tree, names: &Names, item: Read) -> Option<Server> {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    Some(Server {
        id: item.id(),
        name: item.name().to_string(),
        interface: names.find(&item.text("interface"))?,
        relay: match *item.value("relay") {
            Value::Address(relay) => relay.into(),
            _ => 0,
        },
        own: match *item.value("server-address") {
            Value::Address(own) => Some(own.into()).filter(|&own| own != 0),
            _ => None,
        },
        pool: Some(item.text("address-pool")).filter(|name| name != "static-only"),
        script: item.text("lease-script"),
        lease_time: item.time("lease-time"),
        authoritative: match item.text("authoritative").as_str() {
            "yes" => seconds(0),
            "after-2sec-delay" => seconds(2),
            "after-10sec-delay" => seconds(10),
            _ => None,
        },
        delay: match *item.value("delay-threshold") {
            Value::Time(time) => time,
            _ => Duration::ZERO,
        },
        add_arp: item.bool("add-arp"),
        probes: item.bool("conflict-detection"),
        bootp: item.text("bootp-support") != "none",
        always_broadcast: item.bool("always-broadcast"),
        options: customs(tree, &item, false),
    })
}

fn network(tree: &Tree, item: Read) -> Option<Network> {
    let Value::Cidr(address, len) = *item.value("address") else { return None };
    let next_server = match item.opt("next-server").as_deref() {
        Some(Value::Address(address)) => (*address).into(),
        _ => 0,
    };
    let mask_len = item.number("netmask") as u8;
    Some(Network {
        prefix: Ipv4Prefix::new(address.into(), len),
        gateways: addresses(&item, "gateway"),
        mask_len: if mask_len == 0 { len } else { mask_len },
        dns: addresses(&item, "dns-server"),
        dns_none: item.bool("dns-none"),
        ntp: addresses(&item, "ntp-server"),
        wins: addresses(&item, "wins-server"),
        controllers: addresses(&item, "caps-manager"),
        domain: item.text("domain"),
        next_server,
        boot_file: item.text("boot-file-name"),
        options: customs(tree, &item, true),
    })
}

fn typed(tree: &Tree, servers: &[(String, ItemId)], item: Read) -> Option<Typed> {
    let Value::Address(address) = *item.value("address") else { return None };
    let name = item.text("server");
    let server = match name.as_str() {
        "all" => None,
        _ => Some(servers.iter().find(|(other, _)| *other == name)?.1),
    };
    let mac = match item.opt("mac-address").as_deref() {
        Some(Value::Mac(mac)) => Some(*mac),
        _ => None,
    };
    Some(Typed {
        id: item.id(),
        address: address.into(),
        mac,
        client_id: option::read_id(&item.text("client-id")),
        server,
        lease_time: Some(item.time("lease-time")).filter(|time| !time.is_zero()),
        always_broadcast: item.bool("always-broadcast"),
        blocked: item.bool("block-access"),
        lists: item
            .text("address-lists")
            .split(',')
            .filter(|l| !l.is_empty())
            .map(str::to_string)
            .collect(),
        options: customs(tree, &item, true),
    })
}

/// The options of an item, one by one if it `lists` them, and those of its set.
fn customs(tree: &Tree, item: &Read, lists: bool) -> Vec<Custom> {
    let mut names = if lists { item.list("dhcp-option") } else { Vec::new() };
    let set = item.text("dhcp-option-set");
    if let Some(set) = tree.read(&SETS).find(|other| other.name() == set) {
        names.extend(set.list("options"));
    }
    let named = names.iter().filter_map(|name| {
        let name = name.to_string();
        let item = tree.read(&OPTION).find(|other| other.name() == name)?;
        Some(Custom {
            code: item.number("code") as u8,
            data: option::bytes(&item.text("value")).unwrap_or_default(),
            force: item.bool("force"),
        })
    });
    named.collect()
}

fn addresses(item: &Read, name: &str) -> Vec<u32> {
    let address = |value: &Value| match value {
        Value::Address(address) => Some((*address).into()),
        _ => None,
    };
    item.list(name).iter().filter_map(address).collect()
}
