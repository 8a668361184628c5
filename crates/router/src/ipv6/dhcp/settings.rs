//! Settings of DHCPv6, compiled from the menus: clients, servers, typed bindings, relays.

use super::menu::{BINDING, CLIENT, OPTION, RELAY, SERVER, SETS, read_duid};
use crate::interface::{InterfaceId, Names, lasting_number};
use crate::ip::dhcp::option;
use crate::ip::gateway::How;
use config::{ItemId, Read, Tree, Value};
use std::time::Duration;
use wire::Ipv6Prefix;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) clients: Vec<Client>,
    pub(crate) servers: Vec<Server>,
    pub(crate) typed: Vec<Typed>,
    pub(crate) relays: Vec<Relay>,
}

/// `/ipv6 dhcp-relay`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Relay {
    pub(crate) interface: InterfaceId,
    pub(crate) servers: Vec<u128>,
    /// What tells servers the link; 0: an address of the interface.
    pub(crate) link: u128,
    /// Who has asked for less is not heard.
    pub(crate) delay: Duration,
}

/// `/ipv6 dhcp-client`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Client {
    pub(crate) id: ItemId,
    pub(crate) interface: InterfaceId,
    /// The number of what it asks for, by its interface's name: the same after a start from an export,
    /// where interfaces may be numbered otherwise (RFC 8415 §12).
    pub(crate) iaid: u32,
    /// Whether it asks for an address, and for prefixes.
    pub(crate) address: bool,
    pub(crate) prefix: bool,
    /// The pool that its prefixes become, and how long what that gives out is.
    pub(crate) pool: String,
    pub(crate) pool_len: u8,
    /// The prefix it would like.
    pub(crate) hint: Option<Ipv6Prefix>,
    /// The distance of the default route, if there is to be one.
    pub(crate) route: Option<u8>,
    /// How its gateway is asked whether it lives.
    pub(crate) check: Option<How>,
    pub(crate) use_dns: bool,
    pub(crate) rapid: bool,
    /// What is run when something is got or lost.
    pub(crate) script: String,
}

/// `/ipv6 dhcp-server`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    pub(crate) id: ItemId,
    pub(crate) name: String,
    pub(crate) interface: InterfaceId,
    /// Pools: what is shorter than an address is delegated.
    pub(crate) pools: Vec<String>,
    pub(crate) lease_time: Duration,
    pub(crate) preference: u8,
    pub(crate) rapid: bool,
    pub(crate) distance: u8,
    pub(crate) options: Vec<(u16, Vec<u8>)>,
    /// What is run when a client is bound, and no longer.
    pub(crate) script: String,
}

/// `/ipv6 dhcp-server binding`: a typed one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    pub(crate) id: ItemId,
    pub(crate) prefix: Ipv6Prefix,
    pub(crate) duid: Vec<u8>,
    /// None: any.
    pub(crate) iaid: Option<u32>,
    /// None: any.
    pub(crate) server: Option<ItemId>,
    pub(crate) lease_time: Option<Duration>,
}

impl Settings {
    /// The enabled items.
    pub(crate) fn compile(tree: &Tree, names: &Names) -> Settings {
        let enabled = |item: &Read| !item.bool("disabled");
        let clients = tree.read(&CLIENT).filter(enabled);
        let servers = tree.read(&SERVER).filter(enabled);
        let typed = tree.read(&BINDING).filter(enabled);
        let relays = tree.read(&RELAY).filter(enabled);
        Settings {
            clients: clients.filter_map(|item| client(names, item)).collect(),
            servers: servers.filter_map(|item| server(tree, names, item)).collect(),
            typed: typed.filter_map(|item| binding(tree, item)).collect(),
            relays: relays.filter_map(|item| relay(names, item)).collect(),
        }
    }

    /// The client of an interface.
    pub(crate) fn client_on(&self, interface: InterfaceId) -> Option<&Client> {
        self.clients.iter().find(|client| client.interface == interface)
    }

    /// The relay of an interface.
    pub(crate) fn relay_on(&self, interface: InterfaceId) -> Option<&Relay> {
        self.relays.iter().find(|relay| relay.interface == interface)
    }

    /// The server of an interface.
    pub(crate) fn server_on(&self, interface: InterfaceId) -> Option<&Server> {
        self.servers.iter().find(|server| server.interface == interface)
    }
}

fn client(names: &Names, item: Read) -> Option<Client> {
    let requested: Vec<String> = item.list("request").iter().map(Value::to_string).collect();
    let asks = |what: &str| requested.iter().any(|word| word == what);
    let hint = match *item.value("prefix-hint") {
        Value::Cidr6(address, len) => Some(Ipv6Prefix::new(address.into(), len)),
        _ => None,
    };
    Some(Client {
        id: item.id(),
        interface: names.find(&item.text("interface"))?,
        iaid: lasting_number(&item.text("interface")),
        address: asks("address"),
        prefix: asks("prefix"),
        pool: item.text("pool-name"),
        pool_len: item.number("pool-prefix-length") as u8,
        hint: hint.filter(|hint| hint.len() > 0),
        route: item.bool("add-default-route").then(|| item.number("default-route-distance") as u8),
        check: How::read(item),
        use_dns: item.bool("use-peer-dns"),
        rapid: item.bool("rapid-commit"),
        script: item.text("script"),
    })
}

fn server(tree: &Tree, names: &Names, item: Read) -> Option<Server> {
    let pools = ["prefix-pool", "address-pool"].map(|name| item.text(name));
    let is_pool = |name: &String| !["", "static-only"].contains(&name.as_str());
    Some(Server {
        id: item.id(),
        name: item.name().to_string(),
        interface: names.find(&item.text("interface"))?,
        pools: pools.into_iter().filter(is_pool).collect(),
        lease_time: item.time("lease-time"),
        preference: item.number("preference") as u8,
        rapid: item.bool("rapid-commit"),
        distance: item.number("route-distance") as u8,
        options: options(tree, &item),
        script: item.text("binding-script"),
    })
}

fn binding(tree: &Tree, item: Read) -> Option<Typed> {
    let Value::Cidr6(address, len) = *item.value("address") else { return None };
    let name = item.text("server");
    let server = match name.as_str() {
        "all" => None,
        _ => Some(tree.read(&SERVER).find(|other| other.name() == name)?.id()),
    };
    Some(Typed {
        id: item.id(),
        prefix: Ipv6Prefix::new(address.into(), len),
        duid: read_duid(&item.text("duid"))?,
        iaid: match item.opt("iaid").as_deref() {
            Some(Value::Number(iaid)) => Some(*iaid as u32),
            _ => None,
        },
        server,
        lease_time: Some(item.time("life-time")).filter(|time| !time.is_zero()),
    })
}

fn relay(names: &Names, item: Read) -> Option<Relay> {
    let address = |value: &Value| match value {
        Value::Address6(address) => u128::from(*address),
        _ => 0,
    };
    Some(Relay {
        interface: names.find(&item.text("interface"))?,
        servers: item.list("dhcp-server").iter().map(address).collect(),
        link: address(&item.value("link-address")),
        delay: match *item.value("delay-time") {
            Value::Time(time) => time,
            _ => Duration::ZERO,
        },
    })
}

/// The options of a server, one by one and those of its set.
fn options(tree: &Tree, item: &Read) -> Vec<(u16, Vec<u8>)> {
    let mut names = item.list("dhcp-option");
    let set = item.text("dhcp-option-set");
    if let Some(set) = tree.read(&SETS).find(|other| other.name() == set) {
        names.extend(set.list("options"));
    }
    let named = names.iter().filter_map(|name| {
        let name = name.to_string();
        let item = tree.read(&OPTION).find(|other| other.name() == name)?;
        Some((item.number("code") as u16, option::bytes(&item.text("value"))?))
    });
    named.collect()
}
