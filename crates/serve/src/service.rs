//! `/ip service`: whether programs may come over the network, at which port, from where.
//!
//! ```text
//! /ip service set api disabled=no port=8728 address=192.0.2.0/24 ─► a listener, now
//! ```
//!
//! Off until somebody turns it on. RouterOS admits anybody then; ours listens on the loopback address
//! only, until `address` names networks: an open port with an empty password should take two
//! mistakes.
//!
//! RouterOS's other services are there to be off, as configurations say of them.
//!
//! **Missing**: the services `ftp ssh telnet winbox www` and what is for TLS (`api-ssl`, `www-ssl`,
//! `certificate`), addresses of IPv6.

use crate::user::{ADDRESSES, admits};
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The menu.
pub const MENU: Menu = Menu {
    path: "/ip service",
    kind: MenuKind::List { key: Some("name"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::flag("disabled", 'X', "Nobody may connect."),
        Property::new("name", Type::Text, "The service.").read_only().column(),
        Property::new("port", Type::Number(1, 65535), "The TCP port.").default("8728").column(),
        Property::new("address", ADDRESSES, "Who may connect; only this machine if empty.")
            .column(),
        Property::only("certificate", &Type::Text, &["none"], NO_TLS).default(""),
        Property::only("tls-version", &TLS_VERSION, &["any"], NO_TLS).default(""),
        Property::only("vrf", &Type::Text, &["main"], "there is one routing table").default(""),
    ],
    help: "Who may connect to the device, and how.",
};

const TLS_VERSION: Type = Type::Enum(&["any", "only-1.2", "only-1.3"]);
const NO_TLS: &str = "there is no TLS";

/// What RouterOS calls its services, and their ports.
const SERVICES: [(&str, i64); 8] = [
    ("telnet", 23),
    ("ftp", 21),
    ("www", 80),
    ("ssh", 22),
    ("www-ssl", 443),
    (API, 8728),
    ("winbox", 8291),
    ("api-ssl", 8729),
];

/// The one that is built.
const API: &str = "api";

/// A new device's services, disabled.
pub(crate) fn install(tree: &mut Tree) {
    if !tree.items(MENU.path).is_empty() {
        return;
    }
    for (name, port) in SERVICES {
        let name = ("name", Value::Text(name.to_string()));
        tree.push_disabled(&MENU, [name, ("port", Value::Number(port))].into());
    }
}

/// What a service that is changed must not be.
pub(crate) fn check(item: &Item) -> Result<(), String> {
    match item.name("name") {
        API => Ok(()),
        _ if item.disabled => Ok(()),
        name => Err(format!("not implemented: there is no {name}; only api can be enabled")),
    }
}

/// Where to listen, if the service is enabled.
pub(crate) fn wanted(tree: &Tree) -> Option<SocketAddr> {
    let item = tree.enabled(MENU.path).find(|item| item.name("name") == API)?;
    let read = MENU.read(item);
    let port = u16::try_from(read.number("port")).ok()?;
    let is_loopback = |network: &Value| match network {
        Value::Cidr(address, length) => address.is_loopback() && *length >= 8,
        _ => false,
    };
    let address = match item.get("address") {
        Some(Value::List(networks)) if !networks.iter().all(is_loopback) => Ipv4Addr::UNSPECIFIED,
        _ => Ipv4Addr::LOCALHOST,
    };
    Some((address, port).into())
}

/// Whether the service admits somebody from there.
pub(crate) fn is_admitted(tree: &Tree, from: IpAddr) -> bool {
    let item = tree.enabled(MENU.path).find(|item| item.name("name") == API);
    item.is_some_and(|item| admits(&MENU.read(item), from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_listens() {
        let check = |address: Option<&str>, expected: &str| {
            let mut tree = Tree::default();
            let mut values = [("name", Value::Text("api".to_string()))].to_vec();
            values.extend(address.map(|list| {
                ("address", ADDRESSES.parse(list, &config::AnyName).expect("a list of networks"))
            }));
            tree.push(&MENU, values.into_iter().collect());
            assert_eq!(wanted(&tree).map(|at| at.to_string()).as_deref(), Some(expected));
        };
        check(None, "127.0.0.1:8728");
        check(Some("127.0.0.1"), "127.0.0.1:8728");
        check(Some("127.0.0.0/8,127.1.2.3"), "127.0.0.1:8728");
        check(Some("127.0.0.0/7"), "0.0.0.0:8728");
        check(Some("127.0.0.1,192.0.2.0/24"), "0.0.0.0:8728");
        let mut tree = Tree::default();
        install(&mut tree);
        assert_eq!(wanted(&tree), None, "off by default");
        assert!(!is_admitted(&tree, Ipv4Addr::LOCALHOST.into()));
    }
}
