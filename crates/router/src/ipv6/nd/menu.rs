//! The property tables of `/ipv6 nd`, `/ipv6 nd prefix`, `/ipv6 nd prefix default` and `/ipv6 nd proxy`.

use crate::interface::menu::ANY_INTERFACE;
use crate::status::Values;
use config::{AnyName, Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::time::Duration;

const LIST: MenuKind = MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false };
const TIME: Type = Type::Or(&["unspecified"], &Type::Time);
const LIFETIME: Type = Type::Or(&["infinity"], &Type::Time);
const NO_6TO4: &str = "a network that follows from a 6to4 tunnel's address is not built";
const NO_64: &str = "there is no NAT64";

/// `/ipv6 nd`.
pub(crate) const ND: Menu = Menu {
    path: "/ipv6 nd",
    kind: LIST,
    properties: &[
        Property::flag("default", '*', "For the interfaces without an item of their own."),
        Property::flag("invalid", 'I', "Its interface is disabled."),
        Property::new("interface", Type::Or(&["all"], &ANY_INTERFACE), "Whose hosts are told.")
            .required()
            .column(),
        Property::new("ra-interval", Type::Custom(interval), "From one advertisement to the next.")
            .default("3m20s-10m")
            .column(),
        Property::new("ra-delay", Type::Time, "No two advertisements to all are closer.")
            .default("3s"),
        Property::new("mtu", Type::Or(&["unspecified"], &Type::Number(1280, 65535)), "The link's.")
            .default("unspecified"),
        Property::new("reachable-time", TIME, "How long hosts believe an answer.")
            .default("unspecified"),
        Property::new("retransmit-interval", TIME, "How long hosts wait for one.")
            .default("unspecified"),
        Property::new(
            "ra-lifetime",
            Type::Or(&["none"], &Type::Time),
            "How long hosts believe that this is a default router; none: it is not.",
        )
        .default("30m")
        .column(),
        Property::new(
            "ra-preference",
            Type::Enum(&["high", "low", "medium"]),
            "Whether hosts prefer it to other default routers.",
        )
        .default("medium"),
        Property::new(
            "hop-limit",
            Type::Or(&["unspecified"], &Type::Number(0, 255)),
            "The hop limit of hosts' packets.",
        )
        .default("unspecified"),
        Property::new("advertise-mac-address", Type::Bool, "Whether its MAC address is told.")
            .default("yes"),
        Property::new(
            "advertise-dns",
            Type::Bool,
            "Whether hosts are told the name servers that the router was told.",
        )
        .default("yes"),
        Property::new("dns", Type::List(&Type::Address6), "These name servers instead."),
        Property::new(
            "managed-address-configuration",
            Type::Bool,
            "Whether hosts get addresses by DHCPv6.",
        )
        .default("no"),
        Property::new("other-configuration", Type::Bool, "Whether hosts get the rest by DHCPv6.")
            .default("no"),
        Property::only("pref64", &Type::Or(&[""], &Type::Cidr6), &[""], NO_64).default(""),
    ],
    help: "What hosts of the links are told: router advertisements.",
};

/// `/ipv6 nd proxy`.
pub(crate) const PROXY: Menu = Menu {
    path: "/ipv6 nd proxy",
    kind: LIST,
    properties: &[
        Property::flag("invalid", 'I', "Its interface is disabled."),
        Property::new("interface", ANY_INTERFACE, "On whose link the router answers.")
            .required()
            .column(),
        Property::new("address", Type::Address6, "For whom: somebody elsewhere.")
            .required()
            .column(),
    ],
    help: "Addresses elsewhere for which the router answers on a link, so that packets for them come to it.",
};

/// `/ipv6 nd prefix`.
pub(crate) const PREFIX: Menu = Menu {
    path: "/ipv6 nd prefix",
    kind: LIST,
    properties: &[
        Property::flag("invalid", 'I', "Its interface is disabled."),
        Property::flag("dynamic", 'D', "The network of an address with advertise=yes."),
        Property::new("prefix", Type::Cidr6, "The network.").required().column(),
        Property::new("interface", ANY_INTERFACE, "On whose link.").required().column(),
        Property::only("6to4-interface", &Type::Text, &["none"], NO_6TO4),
        Property::new("on-link", Type::Bool, "Whether its addresses are neighbours of hosts.")
            .default("yes"),
        Property::new("autonomous", Type::Bool, "Whether hosts make addresses of it.")
            .default("yes")
            .column(),
        Property::new("valid-lifetime", LIFETIME, "How long those can be used.")
            .default("4w2d")
            .column(),
        Property::new("preferred-lifetime", LIFETIME, "How long new connections use them.")
            .default("1w")
            .column(),
    ],
    help: "The networks that hosts of the links are told.",
};

/// `/ipv6 nd prefix default`.
pub(crate) const DEFAULT: Menu = Menu {
    path: "/ipv6 nd prefix default",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("autonomous", Type::Bool, "Whether hosts make addresses of it.")
            .default("yes"),
        Property::new("valid-lifetime", LIFETIME, "How long those can be used.").default("4w2d"),
        Property::new("preferred-lifetime", LIFETIME, "How long new connections use them.")
            .default("1w"),
    ],
    help: "What the networks of addresses with advertise=yes are told with.",
};

/// The item that a device begins with: for all interfaces.
pub(super) fn factory() -> Vec<Values> {
    let all = Value::Text("all".to_string());
    vec![[("interface", all), ("default", Value::Bool(true))].into()]
}

/// `3m20s-10m`, or one time for both.
fn interval(text: &str) -> Result<Value, String> {
    const EXPECTED: &str = "two times, as 3m20s-10m";
    let (least, most) = bounds(text).ok_or(EXPECTED)?;
    let (least, most) = (Value::Time(least), Value::Time(most));
    Ok(Value::Text(format!("{least}-{most}")))
}

/// Both bounds of it.
pub(super) fn bounds(text: &str) -> Option<(Duration, Duration)> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let time = |text: &str| match Type::Time.parse(text.trim(), &AnyName) {
        Ok(Value::Time(time)) => Some(time),
        _ => None,
    };
    Some((time(least)?, time(most)?))
}

/// What an item of `/ipv6 nd` that is added or changed must not be (RFC 4861 §6.2.1).
///
/// # Errors
/// What is wrong, and what the bounds are.
pub(super) fn check(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = ND.read(item);
    let seconds = |seconds| Duration::from_secs(seconds);
    let (least, most) = bounds(&read.text("ra-interval")).unwrap_or_default();
    if most < seconds(4) || most > seconds(1800) || least < seconds(3) || least > most {
        let text = "failure: ra-interval is least-most, 3s or more and 4s to 30m";
        return Err(text.to_string());
    }
    if let Value::Time(lifetime) = *read.value("ra-lifetime")
        && !lifetime.is_zero()
        && (lifetime < most || lifetime > seconds(9000))
    {
        return Err("failure: ra-lifetime is none, or from ra-interval's most to 2h30m".to_string());
    }
    let interface = read.text("interface");
    let mut others = tree.read(&ND).filter(|other| other.id() != item.id);
    match others.any(|other| other.text("interface") == interface) {
        true => Err(format!("failure: interface {interface} has an item already")),
        false => Ok(()),
    }
}

/// What an item of `/ipv6 nd proxy` must not be.
///
/// # Errors
/// What is wrong.
pub(super) fn check_proxy(tree: &Tree, item: &Item) -> Result<(), String> {
    let Some(Value::Address6(address)) = item.get("address") else { return Ok(()) };
    let of_link = wire::Ipv6Prefix::LINK_LOCAL.contains((*address).into());
    if of_link || address.is_multicast() || address.is_loopback() || address.is_unspecified() {
        return Err(format!("failure: {address} is nobody's elsewhere"));
    }
    let same = |other: &Item| {
        let are_same = |name| other.get(name) == item.get(name);
        other.id != item.id && are_same("address") && are_same("interface")
    };
    match tree.items(PROXY.path).iter().any(|other| same(other)) {
        true => Err("failure: already have such proxy".to_string()),
        false => Ok(()),
    }
}

/// What an item of `/ipv6 nd prefix` must not be.
///
/// # Errors
/// What is wrong.
pub(super) fn check_prefix(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = PREFIX.read(item);
    let Value::Cidr6(address, len) = *read.value("prefix") else { return Ok(()) };
    let prefix = wire::Ipv6Prefix::new(address.into(), len);
    if prefix.bits() != u128::from(address) {
        return Err(format!("failure: {address}/{len} is no network: {prefix} is"));
    }
    if wire::Ipv6Prefix::LINK_LOCAL.contains(prefix.bits()) || address.is_multicast() {
        return Err(format!("failure: {prefix} is nothing to advertise"));
    }
    let lifetime = |name| match *read.value(name) {
        Value::Time(time) => time,
        _ => Duration::MAX,
    };
    if lifetime("preferred-lifetime") > lifetime("valid-lifetime") {
        return Err("failure: preferred-lifetime is longer than valid-lifetime".to_string());
    }
    let interface = read.text("interface");
    let is_same = |other: &config::Read| {
        other.id() != item.id
            && other.text("interface") == interface
            && *other.value("prefix") == *read.value("prefix")
    };
    match tree.read(&PREFIX).any(|other| is_same(&other)) {
        true => Err("failure: already have such prefix".to_string()),
        false => Ok(()),
    }
}
