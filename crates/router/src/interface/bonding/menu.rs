//! The property table of `/interface bonding` (`routeros/G-interfaces.md`, G.4), and what its items must
//! not be.

use super::{Mode, Policy};
use crate::facility::Facility;
use crate::interface::bridge::menu::PORT;
use crate::interface::facilities::ALL;
use crate::interface::menu::{ANY_INTERFACE, ARP_MODE, ARP_TIMEOUT, ETHERNET};
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, tree| check(tree, item),
    value: |status, item, property| status.ethernet(item, property),
    ..Facility::of(&BONDING)
};

/// `/interface bonding`.
pub static BONDING: Menu = Menu {
    path: "/interface bonding",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("bonding"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("running", 'R', "Frames pass by enough of its slaves."),
        Property::flag("slave", 'S', "It is a port of a bridge."),
        Property::new("name", Type::Text, "Name of the interface.").column(),
        Property::new("mtu", Type::Number(68, 65535), "The longest IP packet, bytes.")
            .default("1500")
            .column(),
        Property::new("l2mtu", Type::Number(0, 65535), "The longest frame less its header.")
            .read_only(),
        Property::new("mac-address", Type::Mac, "Its first slave's, or the one that is forced.")
            .read_only(),
        Property::new("forced-mac-address", Type::Mac, "The address it has."),
        Property::new("slaves", SLAVES, "The ports that are one, in their order.")
            .required()
            .column(),
        Property::new("mode", MODE, "How its slaves share the frames.").default("balance-rr").column(),
        Property::new("primary", PRIMARY, "In active-backup: the slave that is used while it can.")
            .default("none"),
        Property::new(
            "link-monitoring",
            Type::Enum(&["arp", "mii", "none"]),
            "What tells whether a slave is up: that something comes by it, or its link.",
        )
        .default("mii"),
        Property::new("mii-interval", Type::Time, "Kept: links tell when they change.")
            .default("100ms"),
        Property::new("down-delay", Type::Time, "How long a link must be down to count as such.")
            .default("0s"),
        Property::new("up-delay", Type::Time, "How long a link must be up to be used.")
            .default("0s"),
        Property::new("arp-interval", Type::Time, "How often hosts are asked.").default("100ms"),
        Property::new("arp-ip-targets", TARGETS, "Hosts that ARP asks."),
        Property::new("lacp-rate", Type::Enum(&["1sec", "30secs"]), "How often to hear the other end.")
            .default("30secs"),
        Property::new(
            "transmit-hash-policy",
            Type::Enum(Policy::WORDS),
            "What of a frame chooses the slave: what is alike goes by one, so that it stays in order.",
        )
        .default("layer-2"),
        Property::new("min-links", Type::Number(0, 255), "With fewer slaves it does not run.")
            .default("0"),
        ARP_MODE,
        ARP_TIMEOUT,
    ],
    help: "Bonds: several ports that are one interface.",
};

const SLAVES: Type = Type::List(&ANY_INTERFACE);
const PRIMARY: Type = Type::Or(&["none"], &ANY_INTERFACE);
const TARGETS: Type = Type::List(&Type::Address);
const MODE: Type = Type::Enum(Mode::WORDS);

/// What a bond that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
fn check(tree: &Tree, item: &Item) -> Result<(), String> {
    let read = BONDING.read(item);
    let slaves: Vec<String> = read.list("slaves").iter().map(ToString::to_string).collect();
    let is_port = |name: &String| tree.read(&ETHERNET).any(|port| port.name() == name);
    if let Some(name) = slaves.iter().find(|name| !is_port(name)) {
        return Err(format!("failure: {name} is no ethernet interface"));
    }
    if let Some(name) = slaves.iter().enumerate().find(|(n, name)| slaves[..*n].contains(name)) {
        return Err(format!("failure: {} is a slave twice", name.1));
    }
    let primary = read.text("primary");
    if primary != "none" && !slaves.contains(&primary) {
        return Err(format!("failure: primary {primary} is none of the slaves"));
    }
    if read.text("link-monitoring") == "arp" {
        let mode = read.text("mode");
        if ["802.3ad", "balance-alb", "balance-tlb"].contains(&mode.as_str()) {
            return Err(format!("failure: {mode} can not have link-monitoring=arp"));
        }
        if read.list("arp-ip-targets").is_empty() {
            return Err("failure: link-monitoring=arp needs arp-ip-targets".to_string());
        }
    }
    let others = tree.read(&BONDING).filter(|other| other.id() != item.id);
    for other in others {
        let theirs = other.list("slaves");
        if let Some(name) = theirs.iter().find(|name| slaves.contains(&name.to_string())) {
            return Err(format!("failure: {name} is a slave of {} already", other.name()));
        }
    }
    for port in tree.items(PORT.path) {
        let is_ours = |name: &Value| slaves.contains(&name.to_string());
        if let Some(name) = port.get("interface").filter(|name| is_ours(name)) {
            return Err(format!("failure: can not add slave interface: {name} is a bridge's port"));
        }
    }
    Ok(())
}

/// Refuses a slave of a bond as something else.
///
/// # Errors
/// RouterOS's words.
pub(crate) fn no_slave(tree: &Tree, name: &str) -> Result<(), String> {
    let has = |slaves: Vec<Value>| slaves.iter().any(|slave| slave.to_string() == name);
    match tree.read(&BONDING).any(|bond| has(bond.list("slaves"))) {
        true => Err("failure: can not add slave interface".to_string()),
        false => Ok(()),
    }
}
