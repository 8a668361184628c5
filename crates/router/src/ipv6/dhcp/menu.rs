//! The property tables of `/ipv6 dhcp-client`, `/ipv6 dhcp-server` and `/ipv6 dhcp-relay`.

use crate::firewall::menu::WORD;
use crate::interface::menu::ANY_INTERFACE;
use crate::ip::dhcp::option;
use config::{Menu, MenuKind, Property, Type, Value};

const fn named(auto_name: &'static str) -> MenuKind {
    MenuKind::List { key: Some("name"), auto_name: Some(auto_name), ordered: false, fixed: false }
}

const LIST: MenuKind = MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false };

/// `/ipv6 dhcp-client`.
pub(crate) const CLIENT: Menu = Menu {
    path: "/ipv6 dhcp-client",
    kind: LIST,
    properties: &[
        Property::new("interface", ANY_INTERFACE, "Which interface asks.").required().column(),
        Property::new(
            "request",
            Type::List(&Type::Enum(&["address", "info", "prefix"])),
            "What it asks for; info alone: only name servers.",
        )
        .required()
        .column(),
        Property::new("pool-name", Type::Text, "The pool that its prefixes become.").column(),
        Property::new(
            "pool-prefix-length",
            Type::Number(1, 128),
            "How long what this pool gives out is.",
        )
        .default("64"),
        Property::new("prefix-hint", Type::Cidr6, "The prefix, or the length, it would like.")
            .default("::/0"),
        Property::new("add-default-route", Type::Bool, "Whether the server is the default router.")
            .default("no")
            .column(),
        Property::new("default-route-distance", Type::Number(1, 255), "Of the default route.")
            .default("1"),
        Property::only("default-route-tables", &WORD, &["default", "main"], "it is in main"),
        Property::new("use-peer-dns", Type::Bool, "Whether hosts are told its name servers.")
            .default("yes"),
        Property::new("rapid-commit", Type::Bool, "Whether two messages are enough.")
            .default("yes"),
        Property::only("allow-reconfigure", &Type::Bool, &["no"], "servers cannot wake it"),
        Property::only("dhcp-options", &Type::Text, &[""], "no options of a user's are sent")
            .default(""),
        Property::new(
            "script",
            Type::Text,
            "A script, or its name: run when something is got or lost.",
        )
        .default(""),
        Property::new(
            "check-gateway",
            Type::Enum(&["none", "ping"]),
            "Whether the default route holds only while the server answers pings.",
        )
        .default("none"),
        Property::missing("custom-duid", "the DUID is of the interface's MAC address"),
        Property::missing("custom-iana-id", "the number follows from the interface's name"),
        Property::missing("custom-iapd-id", "the number follows from the interface's name"),
        Property::missing("prefix-address-lists", "prefixes are added to no lists"),
        Property::new("status", WORD, "searching..., requesting..., bound, renewing..., stopped.")
            .read_only()
            .column(),
        Property::new("duid", WORD, "Who it says it is.").read_only(),
        Property::new("address", WORD, "The address, and how long it is ours.").read_only(),
        Property::new("prefix", WORD, "The prefixes, and how long they are ours.")
            .read_only()
            .column(),
        Property::new("dhcp-server-v6", WORD, "Who has given them.").read_only(),
        Property::new("primary-dns", WORD, "The first name server it was told.").read_only(),
        Property::new("secondary-dns", WORD, "The second.").read_only(),
        Property::new("expires-after", Type::Time, "How long all of it is still ours.").read_only(),
    ],
    help: "Interfaces that get an address, or prefixes for others, by DHCPv6.",
};

/// `/ipv6 dhcp-server`.
pub(crate) const SERVER: Menu = Menu {
    path: "/ipv6 dhcp-server",
    kind: named("server"),
    properties: &[
        Property::flag("invalid", 'I', "Its interface has no IPv6."),
        Property::new("name", Type::Text, "Name of the server.").column(),
        Property::new("interface", ANY_INTERFACE, "Whose clients it serves.").required().column(),
        Property::new(
            "address-pool",
            WORD,
            "What it gives out: prefixes, or of a pool with prefix-length=128 addresses.",
        )
        .default("static-only")
        .column(),
        Property::new("prefix-pool", WORD, "What it delegates beside.").default(""),
        Property::new("lease-time", Type::Time, "For how long.").default("3d").column(),
        Property::new("preference", Type::Number(0, 255), "How much it wants to be chosen.")
            .default("255"),
        Property::new("rapid-commit", Type::Bool, "Whether two messages are enough.")
            .default("yes"),
        Property::new(
            "route-distance",
            Type::Number(1, 255),
            "Of the routes to what it delegates.",
        )
        .default("1"),
        Property::new("dhcp-option", OPTIONS, "Options for all its clients."),
        Property::new("dhcp-option-set", OPTION_SET, "The same, as a set.").default("none"),
        Property::new("allow-dual-stack-queue", Type::Bool, NO_QUEUE).default("yes"),
        Property::only("insert-queue-before", &WORD, &["first"], NO_QUEUE),
        Property::only("use-radius", &Type::Enum(&["accounting", "no", "yes"]), &["no"], NO_RADIUS),
        Property::new("binding-script", Type::Text, "A script, or its name: run by binding.")
            .default(""),
        Property::only("address-lists", &Type::Text, &[""], NO_LISTS).default(""),
        Property::only("delay-threshold", &WORD, &["none", "0s"], "clients are answered at once"),
        Property::missing("parent-queue", NO_QUEUE),
    ],
    help: "DHCPv6 servers: one for an interface.",
};

/// `/ipv6 dhcp-relay`.
pub(crate) const RELAY: Menu = Menu {
    path: "/ipv6 dhcp-relay",
    kind: named("relay"),
    properties: &[
        Property::new("name", Type::Text, "Name of the relay.").column(),
        Property::new("interface", ANY_INTERFACE, "Whose clients it serves.").required().column(),
        Property::new("dhcp-server", Type::List(&Type::Address6), "Who is asked for them.")
            .required()
            .column(),
        Property::new(
            "link-address",
            Type::Address6,
            "What tells servers the link: an address of the interface, its first if ::.",
        )
        .default("::")
        .column(),
        Property::new(
            "delay-time",
            Type::Or(&["none"], &Type::Time),
            "Who has asked for less is not heard.",
        )
        .default("none"),
    ],
    help: "Interfaces whose clients are served by a DHCPv6 server elsewhere.",
};

/// `/ipv6 dhcp-server binding`.
pub(crate) const BINDING: Menu = Menu {
    path: "/ipv6 dhcp-server binding",
    kind: LIST,
    properties: &[
        Property::flag("dynamic", 'D', "A server made it."),
        Property::new("address", Type::Cidr6, "The prefix, or the address.").required().column(),
        Property::new("duid", Type::Custom(duid), "Who the client is.").required().column(),
        Property::new("iaid", Type::Number(0, u32::MAX as i64), "The number of what it asks for."),
        Property::new("server", SERVERS, "The server whose client it is.").default("all").column(),
        Property::new("life-time", Type::Time, "For how long; 0s: as the server has it.")
            .default("0s"),
        Property::only("address-lists", &Type::Text, &[""], NO_LISTS).default(""),
        Property::missing("rate-limit", NO_QUEUE),
        Property::new("status", WORD, "waiting, offered or bound.").read_only().column(),
        Property::new("client-address", WORD, "The client's address on its link.").read_only(),
        Property::new("expires-after", Type::Time, "How long it is still the client's.")
            .read_only(),
        Property::new("last-seen", Type::Time, "When the client was heard last.").read_only(),
    ],
    help: "Who has which prefix, or address.",
};

/// `/ipv6 dhcp-server option`.
pub(crate) const OPTION: Menu = Menu {
    path: "/ipv6 dhcp-server option",
    kind: named("option"),
    properties: &[
        Property::new("name", Type::Text, "Name of the option.").column(),
        Property::new("code", Type::Number(1, 65535), "Its number.").required().column(),
        Property::new("value", Type::Custom(option::value), "What it says.").column(),
    ],
    help: "Options that clients get.",
};

/// `/ipv6 dhcp-server option sets`.
pub(crate) const SETS: Menu = Menu {
    path: "/ipv6 dhcp-server option sets",
    kind: named("set"),
    properties: &[
        Property::new("name", Type::Text, "Name of the set.").column(),
        Property::new("options", OPTIONS, "Its options.").required().column(),
    ],
    help: "Options that are given together.",
};

const SERVERS: Type = Type::Or(&["all"], &Type::Reference(&[SERVER.path]));
const OPTION_SET: Type = Type::Or(&["none"], &Type::Reference(&[SETS.path]));
const OPTIONS: Type = Type::List(&Type::Reference(&[OPTION.path]));
const NO_QUEUE: &str = "Kept: bindings make no queues.";
const NO_RADIUS: &str = "RADIUS is not asked of leases";
const NO_LISTS: &str = "bindings add nothing to address lists";

/// A DUID: `0x00030001020000000001`.
fn duid(text: &str) -> Result<Value, String> {
    let duid = read_duid(text).ok_or("1 to 130 bytes, as 0x00030001020000000001")?;
    Ok(Value::Text(show_duid(&duid)))
}

/// Its bytes.
pub(super) fn read_duid(text: &str) -> Option<Vec<u8>> {
    let hex = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let (pairs, odd) = hex.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?;
    let fits = (1..=wire::dhcp6::MAX_DUID).contains(&bytes.len());
    Some(bytes).filter(|_| odd.is_empty() && fits)
}

/// As it is shown.
pub(super) fn show_duid(duid: &[u8]) -> String {
    let hex: String = duid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{hex}")
}
