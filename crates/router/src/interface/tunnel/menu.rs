//! The property tables of `/interface ipip`, `/interface gre`, `/interface 6to4` and
//! `/interface eoip` (`routeros/G-interfaces.md`, G.5), and what their items must not be.

use super::{Carries, Keepalive, l2tp_ether};
use crate::interface::menu::{ARP_MODE, ARP_TIMEOUT};
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::net::Ipv4Addr;

/// `/interface ipip`.
pub static IPIP: Menu = Menu {
    path: "/interface ipip",
    kind: list("ipip-tunnel"),
    properties: &[
        RUNNING, NAME, MTU, ACTUAL_MTU, LOCAL, REMOTE, KEEPALIVE, DSCP, CLAMP, FRAGMENT, FAST,
        IPSEC,
    ],
    help: "Tunnels that carry IPv4 packets in IPv4 packets (RFC 2003).",
};

/// `/interface gre`.
pub static GRE: Menu = Menu {
    path: "/interface gre",
    kind: list("gre-tunnel"),
    properties: &[
        RUNNING, NAME, MTU, ACTUAL_MTU, LOCAL, REMOTE, KEEPALIVE, DSCP, CLAMP, FRAGMENT, FAST,
        IPSEC,
    ],
    help: "Tunnels that carry IPv4 and IPv6 packets behind a GRE header (RFC 2784).",
};

/// `/interface 6to4`.
pub static SIX_TO_FOUR: Menu = Menu {
    path: "/interface 6to4",
    kind: list("6to4-tunnel"),
    properties: &[
        RUNNING,
        NAME,
        Property { kind: Type::Or(&["auto"], &Type::Number(1280, 65535)), ..MTU },
        ACTUAL_MTU,
        LOCAL,
        Property::new(
            "remote-address",
            Type::Address,
            "The other end; 0.0.0.0 is whoever has the IPv4 address in 2002::/16 (RFC 3056).",
        )
        .default("0.0.0.0")
        .column(),
        KEEPALIVE.default("0s,0"),
        DSCP,
        CLAMP,
        FRAGMENT,
        IPSEC,
    ],
    help: "Tunnels that carry IPv6 packets in IPv4 packets (RFC 4213, RFC 3056).",
};

/// `/interface eoip`.
pub static EOIP: Menu = Menu {
    path: "/interface eoip",
    kind: list("eoip-tunnel"),
    properties: &[
        RUNNING,
        Property::flag("slave", 'S', "It is a port of a bridge."),
        NAME,
        MTU,
        ACTUAL_MTU,
        Property::new("l2mtu", Type::Number(0, 65535), "The longest frame less its header.")
            .read_only(),
        Property::new("mac-address", Type::Mac, "Its MAC address; one of its own if not given."),
        LOCAL,
        REMOTE,
        Property::new("tunnel-id", Type::Number(0, 65535), "The tunnel's number, at both ends.")
            .required()
            .column(),
        KEEPALIVE,
        DSCP,
        CLAMP,
        FRAGMENT,
        FAST,
        IPSEC,
        ARP_MODE,
        ARP_TIMEOUT,
        Property::only("loop-protect", &LOOP, &["default", "off"], "loops are not looked for"),
        Property::only("loop-protect-send-interval", &Type::Time, &["5s"], NO_LOOP),
        Property::only("loop-protect-disable-time", &Type::Time, &["5m"], NO_LOOP),
    ],
    help: "Tunnels that carry Ethernet frames behind MikroTik's GRE header.",
};

pub(super) const fn list(auto_name: &'static str) -> MenuKind {
    MenuKind::List { key: Some("name"), auto_name: Some(auto_name), ordered: false, fixed: false }
}

pub(super) const RUNNING: Property = Property::flag("running", 'R', "Packets pass.");
pub(super) const NAME: Property =
    Property::new("name", Type::Text, "Name of the interface.").column();
const MTU: Property = Property::new(
    "mtu",
    Type::Or(&["auto"], &Type::Number(68, 65535)),
    "The longest packet it takes, bytes; auto is what 1500 bytes leave.",
)
.default("auto")
.column();
pub(super) const ACTUAL_MTU: Property =
    Property::new("actual-mtu", Type::Number(0, 65535), "The longest packet it takes, bytes.")
        .read_only()
        .column();
pub(super) const LOCAL: Property = Property::new(
    "local-address",
    Type::Address,
    "The router's own end; 0.0.0.0 is whichever address the way to the other end has.",
)
.default("0.0.0.0")
.column();
const REMOTE: Property =
    Property::new("remote-address", Type::Address, "The other end.").required().column();
const KEEPALIVE: Property = Property::new(
    "keepalive",
    Type::Custom(keepalive),
    "Asks the other end each interval, and goes down when so many stay unanswered; 0s,0 never asks.",
)
.default("10s,10")
.column();
const DSCP: Property = Property::new(
    "dscp",
    Type::Or(&["inherit"], &Type::Number(0, 63)),
    "DSCP of the outer header: this, or the inner packet's.",
)
.default("inherit")
.column();
const CLAMP: Property = Property::new(
    "clamp-tcp-mss",
    Type::Bool,
    "Lowers the MSS of TCP connections that come in to what its MTU takes.",
)
.default("yes");
const FRAGMENT: Property = Property::new(
    "dont-fragment",
    Type::Enum(&["no", "inherit"]),
    "DF of the outer header: never, so that it may leave in pieces, or the inner packet's.",
)
.default("no");
pub(super) const FAST: Property = Property::new(
    "allow-fast-path",
    Type::Bool,
    "What comes out of it, or goes in, may do so in FastPath.",
)
.default("yes");
const IPSEC: Property = Property::new(
    "ipsec-secret",
    Type::Text,
    "What both ends know, if its packets are to be encrypted: by IKEv1 (`/ip ipsec`).",
)
.default("");
const LOOP: Type = Type::Enum(&["default", "off", "on"]);
const NO_LOOP: &str = "loops are not looked for";

/// `10s,10`: the interval, and how many may stay unanswered.
fn keepalive(text: &str) -> Result<Value, String> {
    const WANTED: &str = "an interval and a number: 10s,10";
    let (interval, retries) = text.split_once(',').unwrap_or((text, "10"));
    let Value::Time(interval) = Type::Time.parse(interval, &config::AnyName).map_err(|_| WANTED)?
    else {
        return Err(WANTED.to_string());
    };
    let retries: u32 = retries.parse().map_err(|_| WANTED)?;
    Ok(Value::List(vec![Value::Time(interval), Value::Number(retries.into())]))
}

/// The keepalive of an item's value; `None` for one that never asks.
pub(super) fn read_keepalive(value: &Value) -> Option<Keepalive> {
    let Value::List(values) = value else { return None };
    let [Value::Time(interval), Value::Number(retries)] = values[..] else { return None };
    let retries = u32::try_from(retries).unwrap_or(u32::MAX);
    (!interval.is_zero() && retries != 0).then_some(Keepalive { interval, retries })
}

/// The menus of tunnels, and what theirs carry.
pub(crate) const MENUS: [(&Menu, Carries); 5] = [
    (&IPIP, Carries::Ipip),
    (&GRE, Carries::Gre),
    (&SIX_TO_FOUR, Carries::SixToFour),
    (&EOIP, Carries::Eoip),
    (&l2tp_ether::MENU, Carries::L2tpEther),
];

/// What a tunnel that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
pub fn check(tree: &Tree, menu: &Menu, tunnel: &Item) -> Result<(), String> {
    let address = |item: &Item, name| match item.get(name) {
        Some(Value::Address(address)) => *address,
        _ => Ipv4Addr::UNSPECIFIED,
    };
    let ends = |item: &Item| {
        let id = item.get("tunnel-id").cloned();
        (address(item, "local-address"), address(item, "remote-address"), id)
    };
    let (local, remote, id) = ends(tunnel);
    let automatic = remote.is_unspecified() && menu.path == SIX_TO_FOUR.path;
    if remote.is_unspecified() && !automatic || remote.is_multicast() || remote.is_broadcast() {
        return Err(format!("failure: remote-address {remote} is no host's"));
    }
    if local == remote && !automatic {
        return Err(format!("failure: the tunnel would lead to itself: both ends are {local}"));
    }
    let mut others = tree.items(menu.path).iter().filter(|other| other.id != tunnel.id);
    if let Some(other) = others.find(|other| ends(other) == (local, remote, id.clone())) {
        let name = other.get("name").map_or(String::new(), ToString::to_string);
        return Err(format!("failure: {name} has these ends already"));
    }
    Ok(())
}
