//! The menus `/interface bridge filter` and `/interface bridge nat`.

use super::Filter;
use super::facts::{self, Field, PACKET_TYPES};
use crate::compiler::Compiling;
use crate::facility::{self, Facility};
use crate::firewall::facilities::reset_rules;
use crate::firewall::menu::WORD;
use crate::firewall::syntax;
use crate::interface::bridge::menu::{BRIDGES, INTERFACES};
use crate::interface::facilities::ALL as INTERFACES_OF_ALL_KINDS;
use crate::interface::list::LIST_NAME;
use config::{Item, Menu, MenuKind, Property, Type, Value};
use std::sync::Arc;

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES_OF_ALL_KINDS],
    compile,
    relearn: true,
    check: |item, _| check(item),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| Some(status.router.program.bridge_filter.invalid(item.id)?.to_string()),
    commands: &[
        (&facility::reset(&FILTER), reset_rules),
        (&facility::reset_all(&FILTER), reset_rules),
    ],
    ..Facility::of(&FILTER)
};

fn compile(c: &mut Compiling) {
    c.remove_rules(&FILTER);
    let program = &mut c.program;
    let books = &mut program.books;
    let filter = Filter::compile(c.tree, &program.names, &mut books.counters, &mut books.slots);
    program.bridge_looks_at = filter.looks_at();
    program.bridge_filter = Arc::new(filter);
}

/// The facility of `/interface bridge nat`.
pub(crate) static NAT_FACILITY: Facility = Facility {
    after: &[&INTERFACES_OF_ALL_KINDS],
    compile: compile_nat,
    relearn: true,
    check: |item, _| check_nat(item),
    value: |status, item, property| status.rule(item, property),
    remark: |status, item| Some(status.router.program.bridge_nat.invalid(item.id)?.to_string()),
    commands: &[(&facility::reset(&NAT), reset_rules), (&facility::reset_all(&NAT), reset_rules)],
    ..Facility::of(&NAT)
};

fn compile_nat(c: &mut Compiling) {
    c.remove_rules(&NAT);
    let program = &mut c.program;
    let books = &mut program.books;
    let nat = Filter::compile_nat(c.tree, &program.names, &mut books.counters, &mut books.slots);
    program.bridge_nat = Arc::new(nat);
}

/// The properties of a rule of either menu: its chains and actions, and what actions need beside.
macro_rules! rule {
    ($chains:literal, $actions:expr, $($own:expr,)*) => { &[
        Property::flag("invalid", 'I', "It can never match; the reason stands above it."),
        Property::new("chain", WORD, $chains).required(),
        Property::new("action", $actions, "What to do with a frame that matches.").default("accept"),
        $($own,)*
        Property::new("jump-target", WORD, "The chain to jump to."),
        Property::new("in-interface", INTERFACE, "The port it came in by."),
        Property::new("out-interface", INTERFACE, "The port it goes out by."),
        Property::new("in-bridge", BRIDGE, "The bridge it came in by."),
        Property::new("out-bridge", BRIDGE, "The bridge it goes out by."),
        Property::new(
            "mac-protocol",
            Type::Negatable(&MAC_PROTOCOL),
            "The EtherType: a name or a number.",
        ),
        Property::new("src-mac-address", MAC, "Source MAC, and which bits count."),
        Property::new("dst-mac-address", MAC, "Destination MAC, and which bits count."),
        Property::new("packet-type", PACKET_TYPE, "Who it is for, by its destination MAC."),
        Property::new("vlan-id", VLAN, "The outermost tag's VLAN."),
        Property::new("src-address", ADDRESS, "IPv4 source; untagged frames only."),
        Property::new("dst-address", ADDRESS, "IPv4 destination; untagged frames only."),
        Property::new("ip-protocol", PROTOCOL, "The IP protocol: a name or a number."),
        Property::new("src-port", PORT, "Source port of UDP and TCP."),
        Property::new("dst-port", PORT, "Destination port of UDP and TCP."),
        Property::new("arp-opcode", OPCODE, "What kind of ARP packet."),
        Property::new("arp-src-address", ADDRESS, "ARP's sender address."),
        Property::new("arp-dst-address", ADDRESS, "ARP's target address."),
        Property::new(
            "limit",
            Type::Custom(syntax::read_limit),
            "count[/time],burst[:packet|bit].",
        ),
        Property::new("log", Type::Bool, "Write a line for each frame that matches.").default("no"),
        Property::new("log-prefix", Type::Text, "Put this before the line."),
        Property::new("in-interface-list", LIST, "A list with the port it came in by."),
        Property::new("out-interface-list", LIST, "A list with the port it goes out by."),
        Property::new("in-bridge-list", LIST, "A list with the bridge it came in by."),
        Property::new("out-bridge-list", LIST, "A list with the bridge it goes out by."),
        Property::new("802.3-sap", NUMBER, "802.2's destination SAP."),
        Property::new("802.3-type", NUMBER, "The type behind a SNAP header."),
        Property::new("arp-gratuitous", Type::Bool, "Whether ARP asks for the sender's own address."),
        Property::new("arp-hardware-type", PORT, "ARP's hardware: 1 is Ethernet."),
        Property::new("arp-packet-type", NUMBER, "ARP's protocol: 0x800 is IPv4."),
        Property::new("arp-src-mac-address", MAC, "ARP's sender MAC, and which bits count."),
        Property::new("arp-dst-mac-address", MAC, "ARP's target MAC, and which bits count."),
        Property::new("vlan-encap", Type::Negatable(&MAC_PROTOCOL), "The EtherType behind the tag."),
        Property::new("vlan-priority", PRIORITY, "The outermost tag's priority."),
        Property::new("stp-type", STP_TYPE, "What kind of BPDU."),
        Property::new("stp-flags", STP_FLAGS, "A flag that the BPDU has."),
        Property::new("stp-root-address", MAC, "The root's MAC, and which bits count."),
        Property::new("stp-root-priority", PORT, "The root's priority."),
        Property::new("stp-root-cost", COST, "The cost of the way to the root."),
        Property::new("stp-sender-address", MAC, "The sender's MAC, and which bits count."),
        Property::new("stp-sender-priority", PORT, "The sender's priority."),
        Property::new("stp-port", PORT, "The sender's port, as the BPDU has it."),
        Property::new("stp-msg-age", PORT, "The BPDU's age, 1/256 s."),
        Property::new("stp-max-age", PORT, "Its greatest age, 1/256 s."),
        Property::new("stp-hello-time", PORT, "Its hello time, 1/256 s."),
        Property::new("stp-forward-delay", PORT, "Its forward delay, 1/256 s."),
        Property::new("ingress-priority", PRIORITY, "The outermost tag's priority; 0 without a tag."),
        Property::missing("new-priority", "frames carry no priority"),
        Property::missing("packet-mark", "frames carry no marks"),
        Property::missing("new-packet-mark", "frames carry no marks"),
        Property::missing("tls-host", "use dst-address"),
        Property::new("bytes", COUNT, "Bytes that have matched, L2 without FCS.").read_only(),
        Property::new("packets", COUNT, "Frames that have matched.").read_only(),
    ] };
}

/// `/interface bridge filter`.
pub static FILTER: Menu = Menu {
    path: "/interface bridge filter",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: rule!("input, forward, output or a chain of your own.", ACTIONS,),
    help: "Which frames bridges let pass.",
};

/// `/interface bridge nat`.
pub static NAT: Menu = Menu {
    path: "/interface bridge nat",
    kind: MenuKind::List { key: None, auto_name: None, ordered: true, fixed: false },
    properties: rule!(
        "dstnat, srcnat or a chain of your own.",
        NAT_ACTIONS,
        Property::new("to-src-mac-address", Type::Mac, "The new source, for src-nat."),
        Property::new("to-dst-mac-address", Type::Mac, "The new destination, for dst-nat."),
        Property::new("to-arp-reply-mac-address", Type::Mac, "Whom arp-reply says it is."),
    ),
    help: "Which frames bridges give another MAC address.",
};

/// The matchers, cheap ones first; `limit` comes after all of them.
pub(super) const MATCHERS: &[&str] = &[
    "in-interface",
    "out-interface",
    "in-bridge",
    "out-bridge",
    "mac-protocol",
    "src-mac-address",
    "dst-mac-address",
    "packet-type",
    "vlan-id",
    "ip-protocol",
    "src-address",
    "dst-address",
    "src-port",
    "dst-port",
    "arp-opcode",
    "arp-src-address",
    "arp-dst-address",
    "arp-gratuitous",
    "arp-hardware-type",
    "arp-packet-type",
    "arp-src-mac-address",
    "arp-dst-mac-address",
    "vlan-priority",
    "ingress-priority",
    "vlan-encap",
    "802.3-sap",
    "802.3-type",
    "stp-type",
    "stp-flags",
    "stp-root-address",
    "stp-root-priority",
    "stp-root-cost",
    "stp-sender-address",
    "stp-sender-priority",
    "stp-port",
    "stp-msg-age",
    "stp-max-age",
    "stp-hello-time",
    "stp-forward-delay",
];

const NAT_ACTIONS: Type = Type::Only(
    &Type::Enum(&[
        "accept",
        "arp-reply",
        "drop",
        "dst-nat",
        "jump",
        "log",
        "mark-packet",
        "passthrough",
        "redirect",
        "return",
        "set-priority",
        "src-nat",
    ]),
    &[
        "accept",
        "arp-reply",
        "drop",
        "dst-nat",
        "jump",
        "log",
        "passthrough",
        "redirect",
        "return",
        "src-nat",
    ],
    "this action is not built",
);

/// What a NAT action needs, and in which chain it cannot be.
const NAT_NEEDS: &[(&str, Option<&str>, &str)] = &[
    ("src-nat", Some("to-src-mac-address"), "dstnat"),
    ("dst-nat", Some("to-dst-mac-address"), "srcnat"),
    ("redirect", None, "srcnat"),
    ("arp-reply", Some("to-arp-reply-mac-address"), "srcnat"),
];

/// What no property alone can say about a NAT rule: refused before it enters the tree.
///
/// # Errors
/// `failure: ` and why.
pub fn check_nat(item: &Item) -> Result<(), String> {
    check(item)?;
    let is =
        |name: &str, word: &str| matches!(item.get(name), Some(Value::Text(text)) if text == word);
    for &(action, needs, not_in) in NAT_NEEDS {
        if !is("action", action) {
            continue;
        }
        if let Some(property) = needs.filter(|&property| item.get(property).is_none()) {
            return Err(format!("failure: action={action} needs {property}"));
        }
        if is("chain", not_in) {
            return Err(format!("failure: action={action} cannot be in chain {not_in}"));
        }
    }
    Ok(())
}

const ACTIONS: Type = Type::Only(
    &Type::Enum(&[
        "accept",
        "drop",
        "jump",
        "log",
        "mark-packet",
        "passthrough",
        "return",
        "set-priority",
    ]),
    &["accept", "drop", "jump", "log", "passthrough", "return"],
    "this action is not built",
);
/// The matchers that name lists of interfaces, and what they look at.
pub(super) const LISTS: &[(&str, Field)] = &[
    ("in-interface-list", facts::IN_PORT),
    ("out-interface-list", facts::OUT_PORT),
    ("in-bridge-list", facts::IN_BRIDGE),
    ("out-bridge-list", facts::OUT_BRIDGE),
];

const INTERFACE: Type = Type::Negatable(&INTERFACES);
const LIST: Type = Type::Negatable(&LIST_NAME);
const BRIDGE: Type = Type::Negatable(&BRIDGES);
const MAC: Type = Type::Negatable(&Type::MacMask);
/// An EtherType.
pub(crate) const MAC_PROTOCOL: Type = Type::Custom(read_mac_protocol);
const PACKET_TYPE: Type = Type::Negatable(&Type::Enum(PACKET_TYPES));
const VLAN: Type = Type::Negatable(&Type::Number(0, 4095));
const ADDRESS: Type = Type::Negatable(&Type::Range);
const PROTOCOL: Type = Type::Negatable(&Type::Custom(syntax::read_protocol));
const PORT: Type = Type::Negatable(&Type::Numbers(0, 65535));
const OPCODE: Type = Type::Negatable(&Type::Custom(read_arp_opcode));
const COUNT: Type = Type::Number(0, i64::MAX);
const PRIORITY: Type = Type::Negatable(&Type::Numbers(0, 7));
const COST: Type = Type::Negatable(&Type::Numbers(0, 0xffff_ffff));
const NUMBER: Type = Type::Negatable(&Type::Custom(|text| match number(text) {
    Some(_) => Ok(Value::Text(text.into())),
    None => Err("a number from 0 to 0xffff".to_string()),
}));
const STP_TYPE: Type = Type::Negatable(&Type::Enum(&["config", "tcn"]));
const STP_FLAGS: Type = Type::Negatable(&Type::Enum(&["topology-change", "topology-change-ack"]));

/// The EtherTypes that have names (RouterOS's words, IEEE's numbers). 802.2 frames have a length in
/// its place.
const MAC_PROTOCOLS: &[(&str, u16, u16)] = &[
    ("802.2", 0, 0x05ff),
    ("arp", 0x0806, 0x0806),
    ("homeplug-av", 0x88e1, 0x88e1),
    ("ip", 0x0800, 0x0800),
    ("ipv6", 0x86dd, 0x86dd),
    ("ipx", 0x8137, 0x8137),
    ("lldp", 0x88cc, 0x88cc),
    ("loop-protect", 0x9003, 0x9003),
    ("mpls-multicast", 0x8848, 0x8848),
    ("mpls-unicast", 0x8847, 0x8847),
    ("pppoe", 0x8864, 0x8864),
    ("pppoe-discovery", 0x8863, 0x8863),
    ("rarp", 0x8035, 0x8035),
    ("service-vlan", 0x88a8, 0x88a8),
    ("vlan", 0x8100, 0x8100),
];

/// The ARP operations that have names (IANA).
const ARP_OPCODES: &[(&str, u16)] = &[
    ("request", 1),
    ("reply", 2),
    ("request-reverse", 3),
    ("reply-reverse", 4),
    ("drarp-request", 5),
    ("drarp-reply", 6),
    ("drarp-error", 7),
    ("inarp-request", 8),
    ("arp-nak", 10),
];

/// The EtherTypes of a name or number.
pub(crate) fn mac_protocol(text: &str) -> Option<(u16, u16)> {
    let named = MAC_PROTOCOLS.iter().find(|&&(name, ..)| name == text);
    named.map(|&(_, first, last)| (first, last)).or_else(|| number(text).map(|n| (n, n)))
}

/// An EtherType's name, or its number.
pub(crate) fn mac_protocol_name(ether_type: u16) -> String {
    let is_it = |&&(_, first, last): &&(&str, u16, u16)| (first..=last).contains(&ether_type);
    let named = MAC_PROTOCOLS.iter().find(is_it);
    named.map_or_else(|| format!("{ether_type:#06x}"), |&(name, ..)| name.to_string())
}

/// The number of an ARP operation.
pub(super) fn arp_opcode(text: &str) -> Option<u16> {
    let named = ARP_OPCODES.iter().find(|&&(name, _)| name == text);
    named.map(|&(_, opcode)| opcode).or_else(|| number(text))
}

/// Reads an EtherType's name or number.
pub(crate) fn read_mac_protocol(text: &str) -> Result<Value, String> {
    let names = || MAC_PROTOCOLS.iter().map(|&(name, ..)| name).collect::<Vec<_>>().join(", ");
    match mac_protocol(text) {
        Some(_) => Ok(Value::Text(text.into())),
        None => Err(format!("{} or a number from 0 to 0xffff", names())),
    }
}

fn read_arp_opcode(text: &str) -> Result<Value, String> {
    let names = || ARP_OPCODES.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
    match arp_opcode(text) {
        Some(_) => Ok(Value::Text(text.into())),
        None => Err(format!("{} or a number from 0 to 65535", names())),
    }
}

/// Decimal, or hexadecimal after `0x`; digits only.
pub(super) fn number(text: &str) -> Option<u16> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u16::from_str_radix(digits, radix).ok().filter(|_| plain)
}

/// What no property alone can say about a rule: refused before it enters the tree.
///
/// # Errors
/// `failure: ` and why.
pub fn check(item: &Item) -> Result<(), String> {
    let is = |name: &str, words: &[&str]| matches!(item.get(name), Some(Value::Text(text)) if words.contains(&text.as_str()));
    for port in ["src-port", "dst-port"] {
        if item.get(port).is_some() && !is("ip-protocol", &["tcp", "udp"]) {
            return Err(format!("failure: {port} needs ip-protocol=tcp or udp"));
        }
    }
    if is("action", &["jump"]) && item.get("jump-target").is_none() {
        return Err("failure: action=jump needs a jump-target".into());
    }
    Ok(())
}
