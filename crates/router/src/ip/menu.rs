//! The property tables of `/ip address`, `/ip route`, `/ip arp` and `/ip settings`
//! (`routeros/H-ip.md`).

use config::{Menu, MenuKind, Property, Type, Value};

const INTERFACES: Type = Type::Reference(&["/interface ethernet", "/interface bridge"]);

/// `/ip address`.
pub const ADDRESS: Menu = Menu {
    path: "/ip address",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("address", Type::Cidr, "The address and its network's length; /32 if none.")
            .required(),
        Property::new("interface", INTERFACES, "The interface it is on.").required(),
        Property::new(
            "network",
            Type::Address,
            "The network's address; it follows from the address and must agree with it.",
        ),
        Property::missing("broadcast", "the network's last address is used"),
        Property::new("actual-interface", Type::Text, "The interface it is on.").read_only(),
    ],
    help: "The router's own addresses, and the networks they connect.",
};

/// `/ip route`.
pub const ROUTE: Menu = Menu {
    path: "/ip route",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("dst-address", Type::Cidr, "The network behind the route.")
            .default("0.0.0.0/0"),
        Property::new(
            "gateway",
            Type::List(&Type::Either(&[Type::Address, INTERFACES])),
            "The next router's address, or an interface; several share the load (ECMP).",
        ),
        Property::new("distance", Type::Number(1, 255), "The lowest wins.").default("1"),
        Property::new(
            "type",
            Type::Enum(&["unicast", "blackhole", "unreachable", "prohibit"]),
            "unicast forwards; the others drop: silently, as host unreachable, as prohibited.",
        )
        .default("unicast"),
        Property::missing(
            "check-gateway",
            "a gateway counts as reachable while its interface runs",
        ),
        Property::missing("pref-src", "the out-interface's first address is used"),
        Property::missing("routing-mark", "only the main table exists"),
        Property::missing("scope", "gateways must lie in a connected network"),
        Property::missing("target-scope", "gateways must lie in a connected network"),
        Property::missing("vrf-interface", "only the main table exists"),
        Property::missing("route-tag", "no routing protocol is built"),
        Property::new("gateway-status", Type::Text, "Whether the gateway can be reached.")
            .read_only(),
    ],
    help: "Static routes.",
};

/// `/ip arp`.
pub const ARP: Menu = Menu {
    path: "/ip arp",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("address", Type::Address, "The neighbour's address.").required(),
        Property::new("mac-address", Type::Mac, "The neighbour's MAC address.").required(),
        Property::new("interface", INTERFACES, "Where it is.").required(),
        Property::missing("published", "proxy ARP is not built"),
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
        Property::missing("send-redirects", "ICMP redirects are not built"),
        Property::missing("accept-source-route", "packets with source routes are dropped"),
        Property::missing("accept-redirects", "ICMP redirects are not built"),
        Property::missing("secure-redirects", "ICMP redirects are not built"),
        Property::missing("rp-filter", "the source is checked for martians only"),
        Property::missing("tcp-syncookies", "the router has no TCP of its own"),
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
        Property::missing("route-cache", "there is none: recipes take its place"),
        Property::new("allow-fast-path", Type::Bool, "Whether FastPath may be used.")
            .default("yes"),
        Property::new("ipv4-fast-path-active", Type::Bool, "Whether it is used.").read_only(),
        Property::new("ipv4-fast-path-packets", Type::Number(0, i64::MAX), "").read_only(),
        Property::new("ipv4-fast-path-bytes", Type::Number(0, i64::MAX), "").read_only(),
        Property::new("ipv4-fasttrack-active", Type::Bool, "Whether FastTrack is used.")
            .read_only(),
        Property::new("ipv4-fasttrack-packets", Type::Number(0, i64::MAX), "").read_only(),
        Property::new("ipv4-fasttrack-bytes", Type::Number(0, i64::MAX), "").read_only(),
    ],
    help: "What holds for all of IPv4.",
};

/// A 32-bit mask, printed as RouterOS prints it: `0x1818`.
fn mask(text: &str) -> Result<Value, String> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    };
    let number = number.map_err(|_| "expected a number such as 0x1818".to_owned())?;
    Ok(Value::Text(format!("{number:#x}")))
}
