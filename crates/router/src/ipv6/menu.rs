//! The property tables of `/ipv6 settings`, `/ipv6 address`, `/ipv6 neighbor` and `/ipv6 route`
//! (`routeros/H-ip.md`, H.4).

use crate::firewall::menu::WORD;
use crate::ip::menu::{CHECK_GATEWAY, SCOPE, TARGET_SCOPE, check_gateways, gateway_by, gateway_in};
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};

const INTERFACES: Type = crate::interface::menu::ANY_INTERFACE;
const LIST: MenuKind = MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false };

const ACCEPT: Type = Type::Enum(&["no", "yes", "yes-if-forwarding-disabled"]);

/// `/ipv6 settings`.
pub const SETTINGS: Menu = Menu {
    path: "/ipv6 settings",
    kind: MenuKind::Settings,
    properties: &[
        Property::new("disable-ipv6", Type::Bool, "Whether there is no IPv6 at all.").default("no"),
        Property::new("forward", Type::Bool, "Whether packets are forwarded.").default("yes"),
        Property::only("accept-redirects", &ACCEPT, ACCEPTED, "redirects are not heeded"),
        Property::new(
            "accept-router-advertisements",
            ACCEPT,
            "Whether other routers are heard: addresses, default routes, MTUs; where the router \
             advertises nothing itself.",
        )
        .default("yes-if-forwarding-disabled"),
        Property::new(
            "max-neighbor-entries",
            Type::Number(1, 1 << 20),
            "Size of the table of neighbours.",
        )
        .default("8192"),
        Property::new("allow-fast-path", Type::Bool, "Whether FastPath and FastTrack may be used.")
            .default("yes"),
        Property::new("ipv6-fast-path-active", Type::Bool, "Whether FastPath is used.").read_only(),
        Property::new("ipv6-fast-path-packets", COUNT, "Packets it carried.").read_only(),
        Property::new("ipv6-fast-path-bytes", COUNT, "Their IP bytes.").read_only(),
        Property::new("ipv6-fasttrack-active", Type::Bool, "Whether FastTrack is used.")
            .read_only(),
        Property::new("ipv6-fasttrack-packets", COUNT, "Packets it carried.").read_only(),
        Property::new("ipv6-fasttrack-bytes", COUNT, "Their IP bytes.").read_only(),
        Property::only(
            "disable-link-local-address",
            &Type::Bool,
            &["no"],
            "each interface has its link's address",
        ),
    ],
    help: "What holds for all of IPv6.",
};

const COUNT: Type = Type::Number(0, i64::MAX);

/// What a router that forwards does not accept.
const ACCEPTED: &[&str] = &["yes-if-forwarding-disabled", "no"];

/// An address with its network's length: exports of RouterOS leave `/64` out.
fn own(text: &str) -> Result<Value, String> {
    let len = if text.contains('/') { "" } else { "/64" };
    let value = Type::Cidr6.parse(&format!("{text}{len}"), &config::AnyName);
    value.map_err(|_| "an address of IPv6, such as 2001:db8::1/64".to_string())
}

/// `/ipv6 address`.
pub const ADDRESS: Menu = Menu {
    path: "/ipv6 address",
    kind: LIST,
    properties: &[
        Property::flag("invalid", 'I', "Its interface is not there."),
        Property::flag("dynamic", 'D', "Made by the router."),
        Property::flag("global", 'G', "Not of one link only."),
        Property::flag("link-local", 'L', "Of one link."),
        Property::new(
            "address",
            Type::Custom(own),
            "The address and its network's length, or /64.",
        )
        .required()
        .column(),
        Property::new(
            "from-pool",
            WORD,
            "The pool its network is of; of the address the rest counts.",
        )
        .column(),
        Property::new("interface", INTERFACES, "The interface it is on.").required().column(),
        Property::new(
            "actual-address",
            Type::Cidr6,
            "What it is, where a pool or a MAC address says a part of it.",
        )
        .read_only()
        .column(),
        Property::new("actual-interface", INTERFACES, "The interface it is on.").read_only(),
        Property::new(
            "eui-64",
            Type::Bool,
            "The last 64 bits follow from the interface's MAC address.",
        )
        .default("no"),
        Property::new("advertise", Type::Bool, "Hosts are told the network, and choose addresses.")
            .default("yes")
            .column(),
        Property::new("no-dad", Type::Bool, "Whether nobody is asked if he has the address, too.")
            .default("no"),
        Property::only(
            "auto-link-local",
            &Type::Bool,
            &["yes"],
            "each interface has its link's address, beside one that is typed",
        )
        .default(""),
    ],
    help: "The router's own addresses, and the networks they connect.",
};

/// `/ipv6 neighbor`.
pub const NEIGHBOR: Menu = Menu {
    path: "/ipv6 neighbor",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("address", Type::Address6, "The neighbour's address.").read_only().column(),
        Property::new("interface", INTERFACES, "Where it is.").read_only().column(),
        Property::new("mac-address", Type::Mac, "Its MAC address, once known.")
            .read_only()
            .column(),
        Property::new("status", Type::Text, "incomplete, reachable, stale, delay or probe.")
            .read_only()
            .column(),
    ],
    help: "Neighbours, as neighbour discovery learns them.",
};

/// `/ipv6 route`.
pub const ROUTE: Menu = Menu {
    path: "/ipv6 route",
    kind: LIST,
    properties: &[
        Property::flag("active", 'A', "The best of its network: packets take it."),
        Property::flag("dynamic", 'D', "Made by the router.").beside(),
        Property::flag("connect", 'C', "The network of an address of the router's.").beside(),
        Property::flag("static", 'S', "Typed, or static where the router was fed from."),
        Property::flag("rip", 'r', "Fed to the router, which has it from RIP."),
        Property::flag("bgp", 'b', "Fed to the router, which has it from BGP."),
        Property::flag("ospf", 'o', "Fed to the router, which has it from OSPF."),
        crate::ip::menu::BLACKHOLE,
        Property::flag("unreachable", 'U', "Packets end here: address unreachable."),
        Property::flag("prohibit", 'P', "Packets end here: administratively prohibited."),
        Property::new("dst-address", Type::Cidr6, "The network behind the route.")
            .default("::/0")
            .column(),
        Property::new(
            "gateway",
            Type::List(&Type::Either(&[Type::Address6, INTERFACES, Type::Custom(by_interface)])),
            "The next router's address, or an interface, or address%interface, or address@table; \
             several share the load (ECMP).",
        )
        .column(),
        Property::new("distance", Type::Number(1, 255), "The lowest wins.").default("1").column(),
        Property::new(
            "type",
            Type::Enum(&["unicast", "blackhole", "unreachable", "prohibit"]),
            "unicast forwards; the others drop: silently, as unreachable, as prohibited.",
        )
        .default("unicast"),
        CHECK_GATEWAY,
        Property::new(
            "routing-table",
            Type::Or(&[""], &WORD),
            "The table it is in: main, or that of a routing mark, whose packets ask it first.",
        )
        .default(""),
        Property::new(
            "pref-src",
            Type::Or(&[""], &Type::Address6),
            "Where the router's own packets come from that go this way: one of its addresses.",
        ),
        SCOPE,
        TARGET_SCOPE,
        Property::new(
            "suppress-hw-offload",
            Type::Bool,
            "Whether a switch chip stays out of it; kept, there is none.",
        ),
        Property::new("gateway-status", WORD, "Whether the gateway can be reached.").read_only(),
    ],
    help: "Static routes, and the networks of the router's addresses.",
};

/// `fe80::1%ether1`: a gateway that is a neighbour on an interface; `2001:db8::1@main`: one that is looked for
/// in a table.
pub(crate) fn by_interface(text: &str) -> Result<Value, String> {
    match gateway_by::<u128>(text).or(gateway_in(text)) {
        Some(_) => Ok(Value::Text(text.to_string())),
        None => Err("an address, an interface, address%interface, or address@table".to_string()),
    }
}

/// What an address that is added or changed must not be.
///
/// # Errors
/// RouterOS's words where it has them.
pub fn check_address(tree: &Tree, item: &Item) -> Result<(), String> {
    let Some(&Value::Cidr6(address, len)) = item.get("address") else { return Ok(()) };
    if item.get("eui-64") == Some(&Value::Bool(true)) && len != 64 {
        return Err("failure: eui-64 needs a network of 64 bits".to_string());
    }
    let is_whole = ADDRESS.read(item).text("from-pool").is_empty();
    if address.is_multicast() || is_whole && (address.is_unspecified() || address.is_loopback()) {
        return Err(format!("failure: {address} cannot be an interface's"));
    }
    let is_same = |other: &Item| {
        let same =
            matches!(other.get("address"), Some(&Value::Cidr6(other, _)) if other == address);
        same && other.id != item.id && other.get("interface") == item.get("interface")
    };
    if is_whole && tree.items(ADDRESS.path).iter().any(|other| is_same(other)) {
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
    let gateways = read.list("gateway");
    check_gateways(read, &gateways)?;
    let link = wire::Ipv6Prefix::LINK_LOCAL;
    let bare = |way: &&Value| matches!(way, Value::Address6(a) if link.contains((*a).into()));
    if let Some(gateway) = gateways.iter().find(bare) {
        return Err(format!("failure: {gateway} needs an interface: {gateway}%ether1"));
    }
    Ok(())
}
