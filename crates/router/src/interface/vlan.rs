//! `/interface vlan`: the frames of one VLAN of another interface, without their tag.
//!
//! ```text
//! ether1 ─► | MACs | 0x8100, vlan-id 10 | IPv4 … |  ─ tag off ─►  vlan10 ─► | MACs | IPv4 … |
//!                                                   ◄─ tag on ──
//! ```
//!
//! A VLAN stands on a port, a bridge, or another VLAN (QinQ: the outer one with
//! `use-service-tag=yes`), has its MAC address and runs when it does. A VLAN on a port takes its
//! frames before a bridge that the port belongs to, as Linux's does.
//!
//! Missing: **loop-protect**.

use super::InterfaceId;
use super::bonding::menu::no_slave;
use super::bridge::menu::PORT;
use super::facilities::ALL;
use super::menu::{ANY_INTERFACE, ARP_MODE, ARP_TIMEOUT};
use super::pppoe::menu::is_client;
use super::tunnel::menu::{GRE, IPIP, SIX_TO_FOUR};
use super::vrrp::menu::VRRP;
use super::wireguard::menu::WIREGUARD;
use crate::facility::Facility;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use wire::layers::{ETHERTYPE_SVLAN, ETHERTYPE_VLAN};
use wire::vlan::{Tag, Tci};

/// The facility.
pub(crate) static FACILITY: Facility = Facility {
    part_of: Some(&ALL),
    check: |item, tree| check(tree, item),
    value: |status, item, property| status.ethernet(item, property),
    ..Facility::of(&VLAN)
};

/// `/interface vlan`.
pub static VLAN: Menu = Menu {
    path: "/interface vlan",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("vlan"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("running", 'R', "Frames pass."),
        Property::flag("slave", 'S', "It is a port of a bridge."),
        Property::new("name", Type::Text, "Name of the interface.").column(),
        Property::new("mtu", Type::Number(68, 65535), "The longest IP packet, bytes.")
            .default("1500")
            .column(),
        Property::new("l2mtu", Type::Number(0, 65535), "The longest frame less its header.")
            .read_only(),
        Property::new("mac-address", Type::Mac, "That of the interface below.").read_only(),
        Property::new("vlan-id", Type::Number(1, 4094), "The VLAN's number in the tag.")
            .default("1")
            .column(),
        Property::new("interface", ANY_INTERFACE, "The interface it stands on.")
            .required()
            .column(),
        Property::new(
            "use-service-tag",
            Type::Bool,
            "Tag with 0x88a8 (802.1ad) instead of 0x8100 (802.1Q).",
        )
        .default("no"),
        ARP_MODE,
        ARP_TIMEOUT,
        Property::only(
            "loop-protect",
            &Type::Enum(&["default", "off", "on"]),
            &["default", "off"],
            "loop protection is not built",
        ),
        Property::only("mvrp", &Type::Bool, &["no"], "VLANs are not announced"),
    ],
    help: "Virtual LANs by IEEE 802.1Q.",
};

/// The tag of a VLAN's frames.
pub(super) fn tag(id: i64, service: bool) -> Tag {
    let tpid = if service { ETHERTYPE_SVLAN } else { ETHERTYPE_VLAN };
    Tag { tpid, tci: Tci::new(id as u16, 0) }
}

/// The VLANs on an interface: by tag.
#[derive(Clone, Debug, Default)]
pub struct Vlans(Vec<((u16, u16), InterfaceId)>);

impl Vlans {
    /// Adds a VLAN; the first of two with the same tag counts.
    pub(super) fn add(&mut self, tag: Tag, vlan: InterfaceId) {
        if let Err(at) = self.0.binary_search_by_key(&key(tag), |&(key, _)| key) {
            self.0.insert(at, (key(tag), vlan));
        }
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The VLAN interface that frames with this tag are for.
    pub(crate) fn find(&self, tag: Tag) -> Option<InterfaceId> {
        let at = self.0.binary_search_by_key(&key(tag), |&(key, _)| key).ok()?;
        Some(self.0[at].1)
    }
}

fn key(tag: Tag) -> (u16, u16) {
    (tag.tpid, tag.tci.id())
}

/// What a VLAN that is added or changed must not be.
///
/// # Errors
/// RouterOS's words; of a loop, the chain of interfaces.
pub fn check(tree: &Tree, vlan: &Item) -> Result<(), String> {
    let same = |name| vlan.get(name).map(ToString::to_string);
    let tagged = |other: &Item| {
        let same_property = |name, default: &str| {
            other.get(name).map_or(default.into(), ToString::to_string)
                == same(name).unwrap_or(default.into())
        };
        same_property("interface", "")
            && same_property("vlan-id", "1")
            && same_property("use-service-tag", "no")
    };
    let mut others = tree.items(VLAN.path).iter().filter(|other| other.id != vlan.id);
    if let Some(other) = others.find(|other| tagged(other)) {
        let name = other.get("name").map(ToString::to_string).unwrap_or_default();
        return Err(format!("failure: {name} has this vlan-id on this interface already"));
    }
    let name = same("name").unwrap_or_default();
    let on = same("interface").unwrap_or_default();
    no_point_to_point(tree, &on)?;
    no_slave(tree, &on)?;
    no_loop(tree, &name, &on)
}

/// Refuses what has no Ethernet frames: as a VLAN's interface, as a bridge's port.
///
/// # Errors
/// It is a tunnel of IP packets.
pub(super) fn no_point_to_point(tree: &Tree, name: &str) -> Result<(), String> {
    let is = |item: &Item| matches!(item.get("name"), Some(Value::Text(text)) if text == name);
    for menu in [&IPIP, &GRE, &SIX_TO_FOUR, &WIREGUARD] {
        if tree.items(menu.path).iter().any(|item| is(item)) {
            return Err(format!("failure: {name} carries no Ethernet frames; eoip does"));
        }
    }
    if is_client(tree, name) {
        return Err(format!("failure: {name} carries no Ethernet frames"));
    }
    Ok(())
}

/// Refuses an interface that would stand on itself: `upper`, if it stood on `lower`.
///
/// # Errors
/// The chain of interfaces.
pub(super) fn no_loop(tree: &Tree, upper: &str, lower: &str) -> Result<(), String> {
    let mut chains = vec![vec![upper.to_string(), lower.to_string()]];
    let mut seen = Vec::new();
    while let Some(chain) = chains.pop() {
        let Some(last) = chain.last().cloned() else { continue };
        if last == upper {
            return Err(format!("failure: {upper} would stand on itself: {}", chain.join(" > ")));
        }
        if seen.contains(&last) {
            continue;
        }
        for below in stands_on(tree, &last) {
            chains.push([chain.clone(), vec![below]].concat());
        }
        seen.push(last);
    }
    Ok(())
}

/// The interfaces that one stands on: a VLAN's, a virtual router's, a bridge's ports.
fn stands_on(tree: &Tree, name: &str) -> Vec<String> {
    let is = |item: &Item, property: &str| matches!(item.get(property), Some(Value::Text(text)) if text == name);
    let interface = |item: &Item| item.get("interface").map(ToString::to_string);
    let vlans = tree.items(VLAN.path).iter().filter(|item| is(item, "name"));
    let ports = tree.items(PORT.path).iter().filter(|item| is(item, "bridge"));
    let vrrps = tree.items(VRRP.path).iter().filter(|item| is(item, "name"));
    vlans.chain(vrrps).chain(ports).filter_map(|item| interface(item)).collect()
}
