//! The menus of the rules: `/ip firewall filter`, `/ip firewall nat`, `/ip firewall address-list`.
//! Every property RouterOS v6 has, once; what is not built is refused with a remark.
//!
//! **Missing** are the properties given as [`Property::missing`], the values that
//! [`Property::only`] and [`Type::Only`] leave out, some actions among them, and the port matchers of DCCP, SCTP and UDP-Lite.

use crate::firewall::effect::Effect;
use crate::firewall::matcher;
use crate::firewall::syntax;
use crate::interface::bridge::menu::INTERFACES;
use crate::interface::list::LIST_NAME;
use crate::packet::{AddressType, ConnectionState};
use config::{Item, Menu, MenuKind, Property, Type, Value};

/// `/ip firewall filter`.
pub static FILTER: Menu = Menu {
    path: "/ip firewall filter",
    kind: RULES,
    properties: &FILTER_PROPERTIES,
    help: "Who may pass: rules over the packets of input, forward and output.",
};

/// `/ip firewall nat`.
pub static NAT: Menu = Menu {
    path: "/ip firewall nat",
    kind: RULES,
    properties: &NAT_PROPERTIES,
    help: "Which translation a connection gets: rules over first packets.",
};

/// `/ip firewall address-list`.
pub static ADDRESS_LIST: Menu = Menu {
    path: "/ip firewall address-list",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("list", WORD, "The list's name.").required().column(),
        Property::new("address", ENTRY, "An address, a prefix, a range, or a name.")
            .required()
            .column(),
        Property::new(
            "timeout",
            Type::Time,
            "How long it stays; such an entry is no part of the configuration.",
        )
        .column(),
    ],
    help: "Named sets of addresses.",
};

const ENTRY: Type = Type::Either(&[Type::Range, HOST_NAME]);

/// `example.com`: what is no number between its dots.
pub(crate) const HOST_NAME: Type = Type::Custom(|text| {
    let is_label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !label.is_empty() && label.bytes().all(plain)
    };
    let named = text.bytes().any(|b| b.is_ascii_alphabetic());
    match named && text.split('.').all(is_label) {
        true => Ok(Value::Text(text.to_string())),
        false => Err("an address, a prefix or a range".to_string()),
    }
});

pub(crate) const RULES: MenuKind =
    MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false };

/// A name, or what the router says: printed without quotes, as long as it can be read so.
pub(crate) const WORD: Type = Type::Custom(|text| match text {
    "" => Err("a name".to_string()),
    name => Ok(Value::Text(name.to_string())),
});

const INTERFACE: Type = Type::Negatable(&Type::Or(&[ALL_ETHERNET, ALL_PPP, ALL_VLAN], &INTERFACES));
const BRIDGE_PORT: Type = Type::Negatable(&INTERFACES);
const ADDRESS: Type = Type::Negatable(&Type::Range);
const NAME: Type = Type::Negatable(&Type::Text);
pub(crate) const INTERFACE_LIST: Type = Type::Negatable(&LIST_NAME);
const PORTS: Type = Type::Negatable(&Type::List(&Type::Numbers(0, 65535)));
const LENGTHS: Type = Type::Negatable(&Type::Numbers(0, 65535));
pub(crate) const ADDRESS_TYPES: Type =
    Type::Negatable(&Type::List(&Type::Enum(AddressType::WORDS)));

/// `in-interface=all-ethernet`.
pub(crate) const ALL_ETHERNET: &str = "all-ethernet";
/// `in-interface=all-ppp`: PPP's clients, and sessions of its servers.
pub(crate) const ALL_PPP: &str = "all-ppp";
/// `in-interface=all-vlan`.
pub(crate) const ALL_VLAN: &str = "all-vlan";

/// How many ports or ranges one matcher may list.
const MAX_PORTS: usize = 15;

/// The words of `connection-nat-state`, at the place of their bit.
pub(crate) const NAT_STATES: &[&str] = &["srcnat", "dstnat"];

/// The words of `ipv4-options`.
pub(crate) const IPV4_OPTIONS: &[&str] = &[
    "any",
    "none",
    "loose-source-routing",
    "no-record-route",
    "no-router-alert",
    "no-source-routing",
    "no-timestamp",
    "record-route",
    "router-alert",
    "strict-source-routing",
    "timestamp",
];

/// The words of `reject-with`.
pub(crate) const REJECT_WITH: &[&str] = &[
    "icmp-network-unreachable",
    "icmp-host-unreachable",
    "icmp-port-unreachable",
    "icmp-protocol-unreachable",
    "icmp-network-prohibited",
    "icmp-host-prohibited",
    "icmp-admin-prohibited",
    "tcp-reset",
];

/// What the rules of all tables look at, and the log.
pub(crate) const MATCHERS: [Property; 53] = [
    Property::new("in-interface", INTERFACE, "Where it came in; a bridge for its ports."),
    Property::new("out-interface", INTERFACE, "Where it goes out; a bridge for its ports."),
    Property::new("in-interface-list", INTERFACE_LIST, "The list of where it came in."),
    Property::new("out-interface-list", INTERFACE_LIST, "The list of where it goes out."),
    Property::new("protocol", PROTOCOL, "The IP protocol: a name or a number."),
    Property::new("fragment", Type::Bool, "Second and later fragments."),
    Property::new("src-mac-address", Type::Negatable(&Type::Mac), "The frame's source MAC."),
    Property::new("in-bridge-port", BRIDGE_PORT, "The bridge's port it came in by."),
    Property::new("out-bridge-port", BRIDGE_PORT, "The bridge's port it goes out by."),
    Property::new("in-bridge-port-list", INTERFACE_LIST, "The list of the bridge's port."),
    Property::new("out-bridge-port-list", INTERFACE_LIST, "The list of the bridge's port."),
    Property::new("src-address", ADDRESS, "Source: an address, a prefix or a range."),
    Property::new("dst-address", ADDRESS, "Destination: an address, a prefix or a range."),
    Property::new("src-address-type", ADDRESS_TYPES, "Source, by the main routing table."),
    Property::new("dst-address-type", ADDRESS_TYPES, "Destination, by the main routing table."),
    Property::new("dst-address-list", NAME, "Destination is in this address list."),
    Property::new("src-address-list", NAME, "Source is in this address list."),
    Property::new("ttl", Type::Custom(syntax::read_ttl), "equal:N, less-than:N and so on."),
    Property::new("dscp", Type::Negatable(&Type::Number(0, 63)), "The DSCP field."),
    Property::new("packet-size", LENGTHS, "IP total length, in bytes."),
    Property::new("ipv4-options", Type::Enum(IPV4_OPTIONS), "Which IP options there are."),
    Property::new("dst-port", PORTS, "Destination ports; needs protocol=tcp or udp."),
    Property::new("src-port", PORTS, "Source ports; needs protocol=tcp or udp."),
    Property::new("port", PORTS, "Either port; needs protocol=tcp or udp."),
    Property::new("tcp-flags", Type::Custom(syntax::read_tcp_flags), "Flags set, or !not set."),
    Property::new("tcp-mss", LENGTHS, "The MSS option of a SYN."),
    Property::new("icmp-options", ICMP_OPTIONS, "ICMP type:code or type:code-code."),
    Property::new("ingress-priority", PRIORITY, "The priority of the VLAN tag it came with."),
    Property::new("priority", PRIORITY, "What action=set-priority gave it; 0 before."),
    Property::new("packet-mark", PACKET_MARKS, "Marks of the packet: one of these, or no-mark."),
    Property::new("routing-mark", NAME, "The routing table it asks first, or no-mark."),
    Property::missing("hotspot", "there is no hotspot"),
    Property::new("routing-table", NAME, "The destination has a route in this table."),
    Property::new("connection-mark", NAME, "The mark of its connection, or no-mark."),
    Property::new("connection-state", CONNECTION_STATES, "What connection tracking made of it."),
    Property::new("connection-nat-state", NAT_STATE, "The connection is translated."),
    Property::new("connection-bytes", BETWEEN, "IP bytes both ways, this packet's included."),
    Property::new("connection-limit", CONNECTION_LIMIT, "More connections than these of a block."),
    Property::new("connection-rate", BETWEEN, "Bits a second, both ways, of TCP and UDP."),
    Property::new("connection-type", CONNECTION_TYPE, "The helper that was told of it."),
    Property::new("random", Type::Number(1, 99), "Matches by chance, in percent."),
    Property::new("psd", Type::Custom(matcher::scan::read), "weight,delay,low,high: a port scan."),
    Property::new("nth", Type::Custom(syntax::read_nth), "every,packet: one of each so many."),
    Property::new("limit", Type::Custom(syntax::read_limit), "count[/time],burst[:packet|bit]."),
    Property::new("dst-limit", DST_LIMIT, "count[/time],burst,mode[/expire]: many buckets."),
    Property::new("per-connection-classifier", CLASSIFIER, "fields:denominator/remainder."),
    Property::new("p2p", P2P, "A program of a peer-to-peer network, by its first payloads."),
    Property::new("content", NAME, "Text somewhere in the packet's payload."),
    Property::new("layer7-protocol", LAYER7, "A pattern in the connection's first payloads."),
    Property::new("tls-host", NAME, "The server a TLS client asks for; * and ? in it."),
    Property::new("time", Type::Custom(matcher::hours::read), "from-to,days by the clock."),
    Property::new("ipsec-policy", IPSEC_POLICY, "Without IPsec all packets are none, none ipsec."),
    Property::missing("realm", "there is no /routing filter to set it"),
];

/// The matcher of this name.
pub(crate) const fn matcher_named(name: &str) -> Property {
    let mut at = 0;
    while at < MATCHERS.len() {
        let (ours, wanted) = (MATCHERS[at].name.as_bytes(), name.as_bytes());
        let mut same = ours.len() == wanted.len();
        let mut i = 0;
        while same && i < ours.len() {
            same = ours[i] == wanted[i];
            i += 1;
        }
        if same {
            return MATCHERS[at];
        }
        at += 1;
    }
    panic!("no such matcher")
}

const PACKET_MARKS: Type = Type::Negatable(&Type::List(&WORD));
const P2P: Type = Type::Negatable(&matcher::p2p::NAMES);
const LAYER7: Type = Type::Negatable(&Type::Or(&[""], &matcher::layer7::PATTERN));
const PRIORITY: Type = Type::Negatable(&Type::Number(0, 63));
const BETWEEN: Type = Type::Negatable(&Type::Custom(matcher::connection::read));
const CONNECTION_LIMIT: Type = Type::Negatable(&Type::Custom(matcher::block::read));
const DST_LIMIT: Type = Type::Negatable(&Type::Custom(matcher::dst_limit::read));
const CLASSIFIER: Type = Type::Negatable(&Type::Custom(matcher::classifier::read));
const IPSEC_POLICY: Type = Type::Enum(&["in,ipsec", "in,none", "out,ipsec", "out,none"]);
const PROTOCOL: Type = Type::Negatable(&Type::Custom(syntax::read_protocol));
const ICMP_OPTIONS: Type = Type::Negatable(&Type::Custom(syntax::read_icmp_options));
const CONNECTION_STATES: Type = Type::Negatable(&Type::List(&Type::Enum(ConnectionState::WORDS)));
/// RouterOS's helpers; of some that are missing no connection ever is.
const CONNECTION_TYPE: Type =
    Type::Negatable(&Type::Enum(&["ftp", "h323", "irc", "pptp", "quake3", "sip", "tftp"]));
const NAT_STATE: Type = Type::Negatable(&Type::List(&Type::Enum(NAT_STATES)));

const FILTER_HEAD: [Property; 5] = [
    Property::new("chain", WORD, "input, forward, output or a chain of your own.").required(),
    Property::new("action", FILTER_ACTIONS, "What to do with a packet that matches.")
        .default("accept"),
    Property::new("jump-target", WORD, "The chain to jump to."),
    Property::new(
        "reject-with",
        Type::Enum(REJECT_WITH),
        "What a rejected sender is told; icmp-network-unreachable if not set.",
    ),
    Property::new("hw-offload", Type::Bool, "Whether a switch chip may help; kept, there is none."),
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
    "tarpit",
]);

const NAT_HEAD: [Property; 7] = [
    Property::new("chain", WORD, "srcnat, dstnat or a chain of your own.").required(),
    Property::new("action", NAT_ACTIONS, "Which translation a connection gets.").default("accept"),
    Property::new("jump-target", WORD, "The chain to jump to."),
    Property::new("to-addresses", Type::Range, "The new source or destination."),
    Property::new("to-ports", Type::Numbers(0, 65535), "The new source or destination ports."),
    Property::new("randomise-ports", Type::Bool, "Any free port instead of the old one."),
    Property::new("same-not-by-dst", Type::Bool, "action=same: whomever the host talks to."),
];

const NAT_ACTIONS: Type = Type::Only(
    &Type::Enum(&[
        "accept",
        "add-dst-to-address-list",
        "add-src-to-address-list",
        "dst-nat",
        "endpoint-independent-nat",
        "jump",
        "log",
        "masquerade",
        "netmap",
        "passthrough",
        "redirect",
        "return",
        "same",
        "src-nat",
    ]),
    &[
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
        "same",
        "src-nat",
    ],
    NO_ACTION,
);

pub(crate) const NO_ACTION: &str = "this action is not built";

pub(crate) const TAIL: [Property; 8] = [
    Property::new("log", Type::Bool, "Write a line for each packet that matches.").default("no"),
    Property::new("log-prefix", Type::Text, "Put this before the line."),
    Property::new("address-list", WORD, "The list that action=add-src-to-address-list adds to."),
    Property::new(
        "address-list-timeout",
        LIST_TIMEOUT,
        "How long an address stays without being added again; none-dynamic if not set.",
    ),
    Property::flag("invalid", 'I', "It can never match; the reason stands above it."),
    Property::flag("dynamic", 'D', "Made by the router.").beside(),
    Property::new("bytes", COUNT, "IP bytes that have matched.").read_only(),
    Property::new("packets", COUNT, "Packets that have matched.").read_only(),
];

const LIST_TIMEOUT: Type = Type::Either(&[
    Type::Enum(&["none-dynamic"]),
    Type::Time,
    Type::Only(&Type::Enum(&["none-static"]), &[], "a rule cannot write the configuration"),
]);
const COUNT: Type = Type::Number(0, i64::MAX);

static FILTER_PROPERTIES: [Property; FILTER_HEAD.len() + MATCHERS.len() + TAIL.len()] =
    join(FILTER_HEAD, MATCHERS, TAIL);
static NAT_PROPERTIES: [Property; NAT_HEAD.len() + MATCHERS.len() + TAIL.len()] =
    join(NAT_HEAD, MATCHERS, TAIL);

pub(crate) const fn join<const A: usize, const B: usize, const C: usize, const N: usize>(
    a: [Property; A],
    b: [Property; B],
    c: [Property; C],
) -> [Property; N] {
    assert!(A + B + C == N);
    let mut all = [a[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < A {
            a[i]
        } else if i < A + B {
            b[i - A]
        } else {
            c[i - A - B]
        };
        i += 1;
    }
    all
}

/// What no property alone can say about a rule: refused before it enters the tree.
///
/// # Errors
/// `failure: ` and why, in RouterOS's words where it has them.
pub fn check(item: &Item) -> Result<(), String> {
    check_of(item, "icmp")
}

/// The same of a rule of the family whose control messages are of this protocol.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_of(item: &Item, icmp: &str) -> Result<(), String> {
    let protocol = match item.get("protocol") {
        Some(Value::Text(protocol)) => protocol.as_str(),
        _ => "",
    };
    for name in ["dst-port", "src-port", "port", "to-ports"] {
        let Some(value) = item.get(name) else { continue };
        match protocol {
            "tcp" | "udp" => (),
            "udp-lite" | "dccp" | "sctp" => {
                return Err(format!("failure: {name} with protocol={protocol} is not implemented"));
            }
            _ => return Err(PORTS_NEED.to_string()),
        }
        if count(value) > MAX_PORTS {
            return Err(format!("failure: {name}: at most {MAX_PORTS} ports or ranges"));
        }
    }
    if item.get("tcp-flags").is_some() && protocol != "tcp" {
        return Err("failure: tcp-flags works only with tcp".to_string());
    }
    if item.get("tcp-mss").is_some() && protocol != "tcp" {
        return Err("failure: tcp-mss works only with tcp".to_string());
    }
    if item.get("icmp-options").is_some() && protocol != icmp {
        return Err(format!("failure: icmp-options can be specified if proto is {icmp}"));
    }
    let action = match item.get("action") {
        Some(Value::Text(action)) => action.as_str(),
        _ => "accept",
    };
    if action.ends_with("-to-address-list") && item.get("address-list").is_none() {
        return Err(format!("failure: action={action} needs an address-list"));
    }
    if action == "jump" && item.get("jump-target").is_none() {
        return Err("failure: action=jump needs a jump-target".to_string());
    }
    if let Some(property) = Effect::needs(action).filter(|name| item.get(name).is_none()) {
        return Err(format!("failure: action={action} needs {property}"));
    }
    if action == "change-mss" && protocol != "tcp" {
        return Err("failure: action=change-mss works only with tcp".to_string());
    }
    Ok(())
}

const PORTS_NEED: &str = "failure: ports can be specified if proto is tcp,udp,udp-lite,dccp,sctp";

fn count(value: &Value) -> usize {
    match value {
        Value::Not(value) => count(value),
        Value::List(values) => values.len(),
        _ => 1,
    }
}

/// What an entry of an address list must not be.
///
/// # Errors
/// `failure: ` and why.
pub fn check_entry(item: &Item) -> Result<(), String> {
    match item.get("timeout") {
        Some(_) => Err("failure: an entry gets its timeout when it is added".to_string()),
        None => Ok(()),
    }
}
