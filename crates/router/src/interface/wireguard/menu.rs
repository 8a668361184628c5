//! The property tables of `/interface wireguard` and its peers, and what they mean.

use super::noise::{Key, KeyPair, public};
use super::{Allowed, Peer, Wireguard};
use crate::interface::{InterfaceId, Names};
use base64ct::{Base64, Encoding};
use config::{Item, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::time::Duration;

/// `/interface wireguard`.
pub(crate) static WIREGUARD: Menu = Menu {
    path: "/interface wireguard",
    kind: named("wireguard"),
    properties: &[
        Property::flag("running", 'R', "Packets pass."),
        Property::new("name", Type::Text, "Name of the interface.").column(),
        Property::new("mtu", Type::Number(68, 65535), "The longest packet it takes, bytes.")
            .default("1420")
            .column(),
        Property::new("listen-port", Type::Number(1, 65535), "The UDP port it listens on.")
            .default("13231")
            .column(),
        Property::new("private-key", KEY, "The router's own secret; one is made if none is given."),
        Property::new("public-key", Type::Text, "What peers know it by.").read_only().column(),
    ],
    help: "Interfaces whose packets go to peers by their addresses, encrypted, in UDP.",
};

/// `/interface wireguard peers`.
pub(crate) static PEERS: Menu = Menu {
    path: "/interface wireguard peers",
    kind: named("peer"),
    properties: &[
        Property::new("name", Type::Text, "What the log calls it.").column(),
        Property::new("interface", Type::Reference(&[WIREGUARD.path]), "Whose.")
            .required()
            .column(),
        Property::new("public-key", KEY, "Who it is.").column(),
        Property::new("private-key", KEY, "Its secret, for show-client-config alone."),
        Property::new("preshared-key", KEY, "A secret of both ends beside their keys."),
        Property::new(
            "endpoint-address",
            Type::Text,
            "Where it is, an address or a name; if none is given, where it was heard last.",
        )
        .column(),
        Property::new("endpoint-port", Type::Number(0, 65535), "And its UDP port.")
            .default("0")
            .column(),
        Property::new(
            "allowed-address",
            Type::List(&NETWORK),
            "What is sent to it, and from where it may send.",
        )
        .column(),
        Property::new(
            "persistent-keepalive",
            Type::Time,
            "So often something is said, to keep a NAT open; 0s is never.",
        ),
        Property::new("responder", Type::Bool, "Whether it has to begin.").default("no"),
        Property::new("client-address", Type::List(&NETWORK), "For show-client-config."),
        Property::new("client-dns", Type::List(&ADDRESS), "For show-client-config."),
        Property::new("client-endpoint", Type::Text, "For show-client-config."),
        Property::new("client-keepalive", Type::Time, "For show-client-config."),
        Property::new("client-listen-port", Type::Number(0, 65535), "For show-client-config."),
        Property::new("client-allowed-address", Type::List(&NETWORK), "For show-client-config."),
        Property::new("current-endpoint-address", ADDRESS, "Where it is now.").read_only(),
        Property::new("current-endpoint-port", Type::Number(0, 65535), "And its port.").read_only(),
        Property::new("rx", COUNT, "Bytes that came, headers of WireGuard included.").read_only(),
        Property::new("tx", COUNT, "Bytes that were sent.").read_only(),
        Property::new("last-handshake", Type::Time, "How long ago keys were agreed upon.")
            .read_only(),
    ],
    help: "Who may send by an interface, and what is sent to them.",
};

const fn named(prefix: &'static str) -> MenuKind {
    MenuKind::List { key: Some("name"), auto_name: Some(prefix), ordered: false, fixed: false }
}

const COUNT: Type = Type::Number(0, i64::MAX);
const KEY: Type = Type::Custom(key);
const NETWORK: Type = Type::Either(&[Type::Cidr, Type::Cidr6]);
const ADDRESS: Type = Type::Either(&[Type::Address, Type::Address6]);

/// A key as it is typed: 32 bytes in base64.
fn key(text: &str) -> Result<Value, String> {
    match text {
        "" => Ok(Value::Text(String::new())),
        _ if decoded(text).is_some() => Ok(Value::Text(text.to_string())),
        _ => Err("a key of 32 bytes, 44 characters of base64".to_string()),
    }
}

fn decoded(text: &str) -> Option<Key> {
    let mut key = [0; 32];
    (Base64::decode(text, &mut key).ok()?.len() == 32).then_some(key)
}

/// A key as it is shown.
pub(crate) fn encoded(key: &Key) -> String {
    Base64::encode_string(key)
}

/// The key that an item has.
pub(super) fn key_of(item: &Read, name: &str) -> Option<Key> {
    decoded(&text(item, name))
}

/// What was typed of an item; nothing is a text, too.
pub(super) fn text(item: &Read, name: &str) -> String {
    item.opt(name).map_or(String::new(), |value| value.to_string())
}

/// The same of a list.
pub(super) fn list(item: &Read, name: &str) -> Vec<Value> {
    item.opt(name).map_or(Vec::new(), |_| item.list(name))
}

/// The same of a time, which is none if it is zero.
pub(super) fn time(item: &Read, name: &str) -> Option<Duration> {
    item.opt(name).map(|_| item.time(name)).filter(|time| *time > Duration::ZERO)
}

/// What a peer that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
pub(super) fn check(tree: &Tree, peer: &Item) -> Result<(), String> {
    let text = |item: &Item, name: &str| item.get(name).map_or(String::new(), ToString::to_string);
    if text(peer, "public-key").is_empty() && text(peer, "private-key").is_empty() {
        return Err("missing value(s) of argument(s) public-key".to_string());
    }
    let whose = |item: &Item| (text(item, "interface"), text(item, "public-key"));
    let mut others = tree.items(PEERS.path).iter().filter(|other| other.id != peer.id);
    let has_key = !text(peer, "public-key").is_empty();
    if has_key && others.any(|other| whose(other) == whose(peer)) {
        return Err("failure: there is a peer with this public-key already".to_string());
    }
    Ok(())
}

/// The interfaces, each with its peers.
pub(crate) fn read(tree: &Tree, names: &Names) -> Vec<Wireguard> {
    let one = |item: Read<'_>| {
        let mut wireguard = Wireguard {
            interface: names.find(item.name()).unwrap_or(InterfaceId::NONE),
            item: item.id(),
            name: item.name().to_string(),
            enabled: !item.bool("disabled"),
            port: item.number("listen-port") as u16,
            keys: key_of(&item, "private-key").map(KeyPair::of),
            peers: Vec::new(),
            allowed: Allowed::default(),
        };
        if wireguard.enabled {
            let peers = tree.read(&PEERS).filter(|peer| peer.text("interface") == item.name());
            peers.for_each(|peer| add(&mut wireguard, &peer));
        }
        wireguard
    };
    tree.read(&WIREGUARD).map(one).collect()
}

fn add(wireguard: &mut Wireguard, item: &Read) {
    let typed = key_of(item, "public-key");
    let Some(public) = typed.or_else(|| key_of(item, "private-key").map(|key| public(&key))) else {
        return;
    };
    if item.bool("disabled") {
        return;
    }
    let at = wireguard.peers.len();
    for network in list(item, "allowed-address") {
        match network {
            Value::Cidr(address, len) => wireguard.allowed.add(address.into(), len, at),
            Value::Cidr6(address, len) => wireguard.allowed.add(address.into(), len, at),
            _ => {}
        }
    }
    let (address, port) = (text(item, "endpoint-address"), item.number("endpoint-port") as u16);
    wireguard.peers.push(Peer {
        item: item.id(),
        name: item.name().to_string(),
        public,
        shared: key_of(item, "preshared-key").unwrap_or_default(),
        endpoint: (!address.is_empty() && port != 0).then_some((address, port)),
        keepalive: time(item, "persistent-keepalive"),
        is_responder: item.bool("responder"),
    });
}
