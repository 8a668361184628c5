//! The property tables of `/ipv6 firewall`. A property RouterOS has, and this has not, is refused with
//! the reason.

use crate::firewall::connection::menu::CONNECTION_PROPERTIES;
use crate::firewall::effect::{NEW_MSS, NEW_PRIORITY, NEW_TTL};
use crate::firewall::matcher::block;
use crate::firewall::matcher::v6::read_headers;
use crate::firewall::menu::{
    ADDRESS_TYPES, HOST_NAME, NO_ACTION, RULES, TAIL, WORD, join, matcher_named,
};
use crate::firewall::{raw, syntax};
use config::{Menu, MenuKind, Property, Type};

/// `/ipv6 firewall filter`.
pub static FILTER: Menu = Menu {
    path: "/ipv6 firewall filter",
    kind: RULES,
    properties: &FILTER_PROPERTIES,
    help: "Who may pass by IPv6: rules over the packets of input, forward and output.",
};

/// `/ipv6 firewall raw`.
pub static RAW: Menu = Menu {
    path: "/ipv6 firewall raw",
    kind: RULES,
    properties: &RAW_PROPERTIES,
    help: "What of IPv6 is dropped, or not tracked, before connection tracking.",
};

/// `/ipv6 firewall mangle`.
pub static MANGLE: Menu = Menu {
    path: "/ipv6 firewall mangle",
    kind: RULES,
    properties: &MANGLE_PROPERTIES,
    help: "Marks, and headers of IPv6 edited: rules over packets.",
};

/// `/ipv6 firewall nat`.
pub static NAT: Menu = Menu {
    path: "/ipv6 firewall nat",
    kind: RULES,
    properties: &NAT_PROPERTIES,
    help: "Connections of IPv6 whose sources or destinations are translated.",
};

/// `/ipv6 firewall connection`.
pub static CONNECTION: Menu = Menu {
    path: "/ipv6 firewall connection",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &CONNECTION_PROPERTIES,
    help: "The connections of IPv6 that are tracked.",
};

/// `/ipv6 firewall address-list`.
pub static ADDRESS_LIST: Menu = Menu {
    path: "/ipv6 firewall address-list",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("list", WORD, "The list's name.").required().column(),
        Property::new("address", ENTRY, "An address, a prefix, or a name.").required().column(),
        Property::new(
            "timeout",
            Type::Time,
            "How long it stays; such an entry is no part of the configuration.",
        )
        .column(),
        Property::flag("dynamic", 'D', "Made by a rule, or with a timeout.").beside(),
    ],
    help: "Named sets of IPv6 addresses.",
};

const ENTRY: Type = Type::Either(&[Type::Cidr6, HOST_NAME]);

/// The order in which a rule's matchers are tried: IPv4's, as far as IPv6 has them.
pub(crate) const ORDER: [&str; 42] = [
    "in-interface",
    "out-interface",
    "in-interface-list",
    "out-interface-list",
    "protocol",
    "headers",
    "src-mac-address",
    "src-address",
    "dst-address",
    "src-address-type",
    "dst-address-type",
    "dst-address-list",
    "src-address-list",
    "hop-limit",
    "dscp",
    "packet-size",
    "tls-host",
    "dst-port",
    "src-port",
    "port",
    "tcp-flags",
    "tcp-mss",
    "icmp-options",
    "ingress-priority",
    "priority",
    "packet-mark",
    "routing-mark",
    "routing-table",
    "connection-mark",
    "connection-state",
    "connection-nat-state",
    "connection-bytes",
    "connection-limit",
    "connection-rate",
    "connection-type",
    "random",
    "nth",
    "limit",
    "dst-limit",
    "per-connection-classifier",
    "content",
    "time",
];

/// What is known of a packet before connections are.
const EARLY: [Property; 34] = [
    matcher_named("in-interface"),
    matcher_named("out-interface"),
    matcher_named("in-interface-list"),
    matcher_named("out-interface-list"),
    matcher_named("protocol"),
    Property::new("headers", HEADERS, "Extension headers, as hop,frag:contains."),
    matcher_named("src-mac-address"),
    Property::new("src-address", ADDRESS, "Source: an address or a prefix."),
    Property::new("dst-address", ADDRESS, "Destination: an address or a prefix."),
    matcher_named("dst-address-list"),
    matcher_named("src-address-list"),
    Property::new("hop-limit", HOP_LIMIT, "equal:N, less-than:N and so on."),
    matcher_named("dscp"),
    matcher_named("packet-size"),
    matcher_named("tls-host"),
    matcher_named("dst-port"),
    matcher_named("src-port"),
    matcher_named("port"),
    matcher_named("tcp-flags"),
    matcher_named("tcp-mss"),
    Property::new("icmp-options", ICMP_OPTIONS, "ICMPv6 type:code or type:code-code."),
    matcher_named("ingress-priority"),
    matcher_named("priority"),
    matcher_named("random"),
    matcher_named("nth"),
    matcher_named("limit"),
    matcher_named("content"),
    matcher_named("time"),
    matcher_named("ipsec-policy"),
    Property::new("src-address-type", ADDRESS_TYPES, "Source, by the routing table."),
    Property::new("dst-address-type", ADDRESS_TYPES, "Destination, by the routing table."),
    matcher_named("routing-table"),
    matcher_named("dst-limit"),
    matcher_named("per-connection-classifier"),
];

/// What else the rules behind connection tracking look at.
const LATE: [Property; 9] = [
    matcher_named("packet-mark"),
    matcher_named("connection-mark"),
    matcher_named("connection-state"),
    matcher_named("connection-nat-state"),
    matcher_named("connection-bytes"),
    matcher_named("connection-type"),
    Property::new("connection-limit", CONNECTION_LIMIT, "More connections than these of a block."),
    matcher_named("connection-rate"),
    matcher_named("routing-mark"),
];

const MATCHERS: [Property; EARLY.len() + LATE.len()] = join(EARLY, LATE, []);

const ADDRESS: Type = Type::Negatable(&Type::Cidr6);
const CONNECTION_LIMIT: Type = Type::Negatable(&Type::Custom(block::read6));
const HOP_LIMIT: Type = Type::Custom(syntax::read_ttl);
const HEADERS: Type = Type::Negatable(&Type::Custom(read_headers));
const ICMP_OPTIONS: Type = Type::Negatable(&Type::Custom(syntax::read_icmp_options));

/// The words of `reject-with`.
pub(crate) const REJECT_WITH: &[&str] = &[
    "icmp-no-route",
    "icmp-admin-prohibited",
    "icmp-address-unreachable",
    "icmp-port-unreachable",
    "tcp-reset",
];

const FILTER_ACTIONS: Type = Type::Enum(&[
    "accept",
    "add-dst-to-address-list",
    "add-src-to-address-list",
    "drop",
    "fasttrack-connection",
    "jump",
    "log",
    "passthrough",
    "reject",
    "return",
]);

const FILTER_HEAD: [Property; 4] = [
    Property::new("chain", WORD, "input, forward, output or a chain of your own.").required(),
    Property::new("action", FILTER_ACTIONS, "What to do with a packet that matches.")
        .default("accept"),
    JUMP_TARGET,
    Property::new(
        "reject-with",
        Type::Enum(REJECT_WITH),
        "What a rejected sender is told; icmp-no-route if not set.",
    ),
];

const RAW_HEAD: [Property; 3] = [
    Property::new("chain", WORD, "prerouting, output or a chain of your own.").required(),
    Property::new("action", raw::ACTIONS, "What to do with a packet that matches.")
        .default("accept"),
    JUMP_TARGET,
];

const NAT_ACTIONS: Type = Type::Enum(&[
    "accept",
    "add-dst-to-address-list",
    "add-src-to-address-list",
    "dst-nat",
    "jump",
    "log",
    "masquerade",
    "netmap",
    "passthrough",
    "redirect",
    "return",
    "src-nat",
]);

const NAT_HEAD: [Property; 6] = [
    Property::new("chain", WORD, "srcnat, dstnat or a chain of your own.").required(),
    Property::new("action", NAT_ACTIONS, "Which translation a connection gets.").default("accept"),
    JUMP_TARGET,
    Property::new("to-address", Type::Cidr6, "The new source or destination: one of a prefix."),
    Property::new("to-ports", Type::Numbers(0, 65535), "The new source or destination ports."),
    Property::new("randomise-ports", Type::Bool, "Any free port instead of the old one."),
];

const MANGLE_ACTIONS: Type = Type::Only(
    &Type::Enum(&[
        "accept",
        "add-dst-to-address-list",
        "add-src-to-address-list",
        "change-dscp",
        "change-hop-limit",
        "change-mss",
        "fasttrack-connection",
        "jump",
        "log",
        "mark-connection",
        "mark-packet",
        "mark-routing",
        "passthrough",
        "return",
        "set-priority",
        "sniff-pc",
        "sniff-tzsp",
    ]),
    &[
        "accept",
        "add-dst-to-address-list",
        "add-src-to-address-list",
        "change-dscp",
        "change-hop-limit",
        "change-mss",
        "fasttrack-connection",
        "jump",
        "log",
        "mark-connection",
        "mark-packet",
        "mark-routing",
        "passthrough",
        "return",
        "set-priority",
    ],
    NO_ACTION,
);

const MANGLE_HEAD: [Property; 11] = [
    Property::new("chain", WORD, "prerouting, input, forward, output, postrouting or your own.")
        .required(),
    Property::new("action", MANGLE_ACTIONS, "What to do with a packet that matches.")
        .default("accept"),
    JUMP_TARGET,
    Property::new("new-packet-mark", WORD, "action=mark-packet marks packets so."),
    Property::new("new-connection-mark", WORD, "action=mark-connection marks connections so."),
    Property::new("new-dscp", Type::Number(0, 63), "action=change-dscp sets the DSCP to this."),
    Property::new(
        "new-hop-limit",
        NEW_TTL,
        "action=change-hop-limit: set:N, increment:N or decrement:N.",
    ),
    Property::new("new-mss", NEW_MSS, "action=change-mss lowers the MSS of a SYN to this."),
    Property::new("new-priority", NEW_PRIORITY, "action=set-priority: a number, or from the DSCP."),
    Property::new("passthrough", Type::Bool, "Whether the next rules are tried.").default("yes"),
    Property::new(
        "new-routing-mark",
        WORD,
        "action=mark-routing: the routing table to ask first, of packets that pass prerouting or output.",
    ),
];

const JUMP_TARGET: Property = Property::new("jump-target", WORD, "The chain to jump to.");

static FILTER_PROPERTIES: [Property; FILTER_HEAD.len() + MATCHERS.len() + TAIL.len()] =
    join(FILTER_HEAD, MATCHERS, TAIL);
static RAW_PROPERTIES: [Property; RAW_HEAD.len() + EARLY.len() + TAIL.len()] =
    join(RAW_HEAD, EARLY, TAIL);
static NAT_PROPERTIES: [Property; NAT_HEAD.len() + MATCHERS.len() + TAIL.len()] =
    join(NAT_HEAD, MATCHERS, TAIL);
static MANGLE_PROPERTIES: [Property; MANGLE_HEAD.len() + MATCHERS.len() + TAIL.len()] =
    join(MANGLE_HEAD, MATCHERS, TAIL);

#[cfg(test)]
mod tests {
    use super::*;
    use config::Access;

    /// A matcher that rules take and nobody tries would let everything match.
    #[test]
    fn every_matcher_is_tried() {
        for matcher in &MATCHERS {
            let is_built = !matches!(matcher.access, Access::Missing(_));
            // Without IPsec it says when the rule is compiled whether it matches everything or nothing.
            let is_told = matcher.name == "ipsec-policy";
            assert!(!is_built || is_told || ORDER.contains(&matcher.name), "{}", matcher.name);
        }
    }
}
