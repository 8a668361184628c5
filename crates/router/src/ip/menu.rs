//! The property tables of `/ip address`, `/ip route`, `/ip arp` and `/ip settings`
//! (`routeros/H-ip.md`).

use super::family::Family;
use crate::firewall::menu::WORD;
use config::{Access, Item, Menu, MenuKind, Property, Read, Tree, Type, Value};
use std::net::Ipv4Addr;
use wire::Ipv4Prefix;

const COUNT: Type = Type::Number(0, i64::MAX);
const INTERFACES: Type = crate::interface::menu::ANY_INTERFACE;

/// `/ip address`.
pub const ADDRESS: Menu = Menu {
    path: "/ip address",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("invalid", 'I', "Its interface does not run."),
        Property::flag("dynamic", 'D', "A DHCP client's, or a session's."),
        Property::new("address", Type::Cidr, "The address and its network's length; /32 if none.")
            .required()
            .wide(18),
        Property::new(
            "network",
            Type::Address,
            "The network's address; it follows from the address and must agree with it.",
        )
        .wide(15),
        Property::new("interface", INTERFACES, "The interface it is on.").required().column(),
        Property::new(
            "netmask",
            Type::Address,
            "The network's mask; it follows from the address and must agree with it.",
        ),
        Property::new(
            "broadcast",
            Type::Address,
            "The network's last address, which is used; it must agree with the address.",
        ),
        Property::new("actual-interface", INTERFACES, "The interface it is on.").read_only(),
    ],
    help: "The router's own addresses, and the networks they connect.",
};

/// `/ip route`.
pub const ROUTE: Menu = Menu {
    path: "/ip route",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("active", 'A', "The best of its network: packets take it."),
        Property::flag("dynamic", 'D', "Made by the router.").beside(),
        Property::flag("connect", 'C', "The network of an address of the router's.").beside(),
        Property::flag("static", 'S', "Typed, or static where the router was fed from."),
        Property::flag("rip", 'r', "Fed to the router, which has it from RIP."),
        Property::flag("bgp", 'b', "Fed to the router, which has it from BGP."),
        Property::flag("ospf", 'o', "Fed to the router, which has it from OSPF."),
        BLACKHOLE,
        Property::flag("unreachable", 'U', "Packets end here: host unreachable."),
        Property::flag("prohibit", 'P', "Packets end here: administratively prohibited."),
        Property::new("dst-address", NETWORK, "The network behind the route.")
            .default("0.0.0.0/0")
            .column(),
        Property::new(
            "pref-src",
            Type::Or(&[""], &Type::Address),
            "Where the router's own packets come from that go this way: one of its addresses.",
        )
        .column(),
        Property::new(
            "gateway",
            Type::List(&Type::Either(&[Type::Address, INTERFACES, Type::Custom(by_interface)])),
            "The next router's address, or an interface, or address%interface, or address@table; \
             several share the load (ECMP).",
        )
        .column(),
        Property::new("distance", Type::Number(1, 255), "The lowest wins.").default("1").column(),
        Property::new(
            "type",
            Type::Enum(&["unicast", "blackhole", "unreachable", "prohibit"]),
            "unicast forwards; the others drop: silently, as host unreachable, as prohibited.",
        )
        .default("unicast"),
        CHECK_GATEWAY,
        Property::new("routing-table", MARK, "The same, as version 7 calls it: main, or a mark.")
            .default(""),
        Property::new("routing-mark", MARK, "The table it is in: packets with this mark ask it.")
            .default(""),
        SCOPE,
        TARGET_SCOPE,
        Property::new(
            "suppress-hw-offload",
            Type::Bool,
            "Whether a switch chip stays out of it; kept, there is none.",
        ),
        Property::new("vrf-interface", INTERFACES, "It is in the table of this one's VRF."),
        Property::missing("route-tag", "no routing protocol is built"),
        Property::new("gateway-status", WORD, "Whether the gateway can be reached.").read_only(),
    ],
    help: "Static routes, the networks of the router's addresses, and routes that it was fed.",
};

/// Of routes of either family, like the two below.
pub(crate) const CHECK_GATEWAY: Property = Property::new(
    "check-gateway",
    Type::Or(&[""], &Type::Only(&CHECKS, &["none", "ping", "arp"], NO_BFD)),
    "Asks each 10 s whether the gateway lives, by ping or as a neighbour; two answers missing, and it \
     counts as out of reach, for all routes.",
)
.default("");
pub(crate) const SCOPE: Property = Property::new(
    "scope",
    Type::Number(0, 255),
    "Which routes may have their gateways behind this one: with a target-scope that is no less.",
)
.default("30");
pub(crate) const TARGET_SCOPE: Property = Property::new(
    "target-scope",
    Type::Number(0, 255),
    "The gateway is behind a route whose scope is no more; connected networks have 10.",
)
.default("10");

const CHECKS: Type = Type::Enum(&["arp", "bfd", "none", "ping"]);
const RP_FILTER: Type = Type::Enum(&["loose", "no", "strict"]);
const TIMESTAMPS: Type = Type::Enum(&["disabled", "enabled", "random-offset"]);

const NO_BFD: &str = "BFD is not built";
const NO_SOURCE_ROUTE: &str = "packets with source routes are dropped";

/// Version 6 shows it of routes with `type=blackhole`; version 7 has it in place of that.
pub(crate) const BLACKHOLE: Property = Property {
    access: Access::Optional,
    ..Property::flag("blackhole", 'B', "Packets end here, silently; version 7's type=blackhole.")
        .beside()
};

/// `/ip route vrf`.
pub const VRF: Menu = Menu {
    path: "/ip route vrf",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("routing-mark", WORD, "Its name, and that of its routing table.")
            .required()
            .column(),
        Property::new("interfaces", Type::List(&INTERFACES), "The interfaces that are in it.")
            .default("")
            .column(),
        Property::missing("bgp-nexthop", NO_BGP),
        Property::missing("route-distinguisher", NO_BGP),
        Property::missing("import-route-targets", NO_BGP),
        Property::missing("export-route-targets", NO_BGP),
    ],
    help: "Routers within the router: interfaces with a routing table of their own.",
};

/// `/ip vrf`, as version 7 calls them.
pub const VRF7: Menu = Menu {
    path: "/ip vrf",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("name", WORD, "Its name, and that of its routing table.").required().column(),
        Property::new("interfaces", Type::List(&INTERFACES), "The interfaces that are in it.")
            .default("")
            .column(),
    ],
    help: VRF.help,
};

const NO_BGP: &str = "BGP is not built";

/// `/ip route rule`.
pub const RULE: Menu = Menu {
    path: "/ip route rule",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::new("src-address", Type::Cidr, "Packets from there.").column(),
        Property::new("dst-address", Type::Cidr, "Packets to there.").column(),
        Property::new("routing-mark", MARK, "Packets that mangle has marked so.").column(),
        Property::new("interface", INTERFACES, "Packets that came in by it.").column(),
        Property::new("action", RULE_ACTION, RULE_ACTIONS).default("lookup").column(),
        Property::new("table", MARK, RULE_TABLE).default("main").column(),
    ],
    help: "Which routing table a packet of IPv4 asks; after them its routing mark's, and then main.",
};

/// `/routing rule`, as version 7 calls them: of both families.
pub const RULE7: Menu = Menu {
    path: "/routing rule",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: &[
        Property::flag("dynamic", 'D', "The kernel's."),
        Property::new("src-address", PREFIX, "Packets from there.").column(),
        Property::new("dst-address", PREFIX, "Packets to there.").column(),
        Property::new("routing-mark", MARK, "Packets that mangle has marked so.").column(),
        Property::new("interface", INTERFACES, "Packets that came in by it.").column(),
        Property::new("action", RULE_ACTION, RULE_ACTIONS).default("lookup").column(),
        Property::new("table", MARK, RULE_TABLE).default("main").column(),
        Property::new(
            "min-prefix",
            Type::Number(0, u32::MAX as i64),
            "For lookup: a route counts if its prefix is longer; 0 leaves out the default route.",
        ),
    ],
    help: "Which routing table a packet of either family asks; after them its routing mark's, and then main.",
};

/// A network; nothing is all of them, as some versions of RouterOS export a default route.
const NETWORK: Type = Type::Either(&[
    Type::Cidr,
    Type::Custom(|text| match text {
        "" => Ok(Value::Cidr(Ipv4Addr::UNSPECIFIED, 0)),
        _ => Err("a network, as 10.0.0.0/8".to_string()),
    }),
]);
const PREFIX: Type = Type::Either(&[Type::Cidr, Type::Cidr6]);
const RULE_ACTION: Type = Type::Enum(&["lookup", "lookup-only-in-table", "drop", "unreachable"]);
const RULE_ACTIONS: &str = "lookup goes on with the next rule when the table has no route.";
const RULE_TABLE: &str = "The table to ask: a routing mark, or main.";

/// A routing mark; none if empty.
const MARK: Type = Type::Or(&[""], &WORD);

/// `/ip arp`.
pub const ARP: Menu = Menu {
    path: "/ip arp",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::flag("DHCP", 'H', "A DHCP server entered it, for as long as its lease lasts."),
        Property::flag("dynamic", 'D', "Learnt."),
        Property::flag("complete", 'C', "The MAC address is known."),
        Property::new("address", Type::Address, "The neighbour's address.").required().column(),
        Property::new("mac-address", Type::Mac, "The neighbour's MAC address.").column(),
        Property::new("interface", INTERFACES, "Where it is.").required().column(),
        Property::new(
            "published",
            Type::Bool,
            "No neighbour: asked for the address there, the router answers, if a route leads elsewhere.",
        )
        .default("no"),
        Property::new("status", Type::Text, "reachable, incomplete, probe or permanent.")
            .read_only(),
    ],
    help: "Neighbours: dynamic ones as ARP learns them, and those typed.",
};

/// `/ip settings`.
pub const SETTINGS: Menu = Menu {
    path: "/ip settings",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("ip-forward", Type::Bool, "Whether packets are forwarded at all.")
            .default("yes"),
        Property::new("send-redirects", Type::Bool, "Kept; redirects are never sent.")
            .default("yes"),
        Property::only("accept-source-route", &Type::Bool, &["no"], NO_SOURCE_ROUTE),
        Property::only("accept-redirects", &Type::Bool, &["no"], "redirects are not heeded"),
        Property::new("secure-redirects", Type::Bool, "Kept; redirects are never heeded.")
            .default("yes"),
        Property::new(
            "rp-filter",
            RP_FILTER,
            "Sources must be where a route leads; strict: by that interface.",
        )
        .default("no"),
        Property::new("tcp-syncookies", Type::Bool, "Kept; the router has no TCP of its own.")
            .default("no"),
        Property::new("tcp-timestamps", TIMESTAMPS, "Kept; the router has no TCP of its own."),
        Property::new("max-neighbor-entries", Type::Number(1, 1 << 20), "Size of the ARP table.")
            .default("8192"),
        Property::new("arp-timeout", Type::Time, "How long an answer is believed.").default("30s"),
        Property::new(
            "icmp-rate-limit",
            Type::Number(0, 1_000_000),
            "ICMP errors a second; 0 is no limit.",
        )
        .default("10"),
        Property::new(
            "icmp-rate-mask",
            Type::Custom(mask),
            "Which ICMP types are limited: bit n stands for type n.",
        )
        .default("0x1818"),
        Property::new("route-cache", Type::Bool, "Kept; there is none, recipes take its place.")
            .default("yes"),
        Property::new("allow-fast-path", Type::Bool, "Whether FastPath may be used.")
            .default("yes"),
        Property::new("ipv4-fast-path-active", Type::Bool, "Whether it is used.").read_only(),
        Property::new(
            "ipv4-fast-path-unmet",
            Type::Text,
            "Why it is not; RouterOS leaves that to guess.",
        )
        .read_only(),
        Property::new("ipv4-fast-path-packets", COUNT, "Packets it carried.").read_only(),
        Property::new("ipv4-fast-path-bytes", COUNT, "Their IP bytes.").read_only(),
        Property::new("ipv4-fasttrack-active", Type::Bool, "Whether FastTrack is used.")
            .read_only(),
        Property::new("ipv4-fasttrack-unmet", Type::Text, "Why it is not.").read_only(),
        Property::new("ipv4-fasttrack-packets", COUNT, "Packets it carried.").read_only(),
        Property::new("ipv4-fasttrack-bytes", COUNT, "Their IP bytes.").read_only(),
    ],
    help: "What holds for all of IPv4.",
};

/// `1.2.3.4%ether1`: a gateway that is a neighbour on an interface, whatever networks are connected;
/// `1.2.3.4@main`: one that is looked for in a table.
fn by_interface(text: &str) -> Result<Value, String> {
    match gateway_by::<u32>(text).or(gateway_in(text)) {
        Some(_) => Ok(Value::Text(text.to_string())),
        None => Err("an address, an interface, address%interface or address@table".to_string()),
    }
}

/// The address and the interface of such a gateway.
pub(crate) fn gateway_by<A: Family>(text: &str) -> Option<(A, &str)> {
    split(text, '%')
}

/// The address and the table of such a gateway.
pub(crate) fn gateway_in<A: Family>(text: &str) -> Option<(A, &str)> {
    split(text, '@')
}

/// An address of this family, and what stands behind the sign.
fn split<A: Family>(text: &str, sign: char) -> Option<(A, &str)> {
    let (address, rest) = text.split_once(sign)?;
    Some((A::of(address.parse().ok()?)?, rest)).filter(|_| !rest.is_empty())
}

/// The interface that a gateway is, if it is one.
pub(crate) fn gateway_interface(gateway: &Value) -> Option<&str> {
    let Value::Text(text) = gateway else { return None };
    let is_address = gateway_by::<u32>(text).or(gateway_in(text)).is_some()
        || gateway_by::<u128>(text).or(gateway_in(text)).is_some();
    (!is_address).then_some(text)
}

/// What an address that is added or changed must not be.
///
/// # Errors
/// RouterOS's words where it has them.
pub fn check_address(tree: &Tree, item: &Item) -> Result<(), String> {
    let Some(&Value::Cidr(address, len)) = item.get("address") else { return Ok(()) };
    let network = Ipv4Addr::from(Ipv4Prefix::new(address.into(), len).bits());
    if item.get("network").is_some_and(|typed| *typed != Value::Address(network)) {
        return Err(format!("failure: network of {address}/{len} is {network}"));
    }
    let mask = Ipv4Prefix::new(u32::MAX, len).bits();
    for (name, bits) in [("netmask", mask), ("broadcast", u32::from(network) | !mask)] {
        let so = Ipv4Addr::from(bits);
        // A host's network has no last address beside it.
        let any = name == "broadcast" && len > 30;
        if !any && item.get(name).is_some_and(|typed| *typed != Value::Address(so)) {
            return Err(format!("failure: {name} of {address}/{len} is {so}"));
        }
    }
    let is_same = |other: &Item| {
        let same = matches!(other.get("address"), Some(&Value::Cidr(other, _)) if other == address);
        same && other.id != item.id && other.get("interface") == item.get("interface")
    };
    if tree.items(ADDRESS.path).iter().any(|other| is_same(other)) {
        return Err("failure: already have such address".to_string());
    }
    Ok(())
}

/// What a route that is added or changed must not be.
///
/// # Errors
/// RouterOS's words where it has them.
pub fn check_route(item: &Item) -> Result<(), String> {
    let read = ROUTE.read(item);
    let table = read.text("routing-table");
    let mark = read.text("routing-mark");
    if !table.is_empty() && !mark.is_empty() && mark != table {
        return Err(format!("failure: routing-table is {table}, but routing-mark {mark}"));
    }
    check_gateways(read, &read.list("gateway"))
}

/// What the gateways of a route of either family must not be.
pub(crate) fn check_gateways(route: Read, gateways: &[Value]) -> Result<(), String> {
    if kind(route) == "unicast" && gateways.is_empty() {
        return Err("missing value(s) of argument(s) gateway".to_string());
    }
    if gateways.len() > 1 && gateways.iter().any(|way| gateway_interface(way).is_some()) {
        return Err("failure: an interface as gateway must be the only one".to_string());
    }
    Ok(())
}

/// What becomes of packets behind a route: its type, in either version's words.
pub(crate) fn kind(route: Read) -> String {
    let is_blackhole = matches!(route.opt("blackhole").as_deref(), Some(Value::Bool(true)));
    if is_blackhole { "blackhole".to_string() } else { route.text("type") }
}

/// What a neighbour that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
pub fn check_neighbour(tree: &Tree, item: &Item) -> Result<(), String> {
    let key = |item: &Item| (item.get("address").cloned(), item.get("interface").cloned());
    let mut others = tree.items(ARP.path).iter().filter(|other| other.id != item.id);
    if others.any(|other| key(other) == key(item)) {
        return Err("failure: already have such entry".to_string());
    }
    if item.get("mac-address").is_none() && item.get("published") != Some(&Value::Bool(true)) {
        return Err("failure: a neighbour that is not published needs its mac-address".to_string());
    }
    Ok(())
}

/// A 32-bit mask, printed as RouterOS prints it: `0x1818`.
fn mask(text: &str) -> Result<Value, String> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    let number = number.map_err(|_| "expected a number such as 0x1818".to_owned())?;
    Ok(Value::Text(format!("{number:#x}")))
}
