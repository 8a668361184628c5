//! `/interface bridge vlan`: which ports of a bridge belong to which VLAN (IEEE 802.1Q).
//!
//! ```text
//! in by a port ─► classify: tag, or the port's pvid ─► vid ─► hosts of that VLAN ─► out by a member
//!                     └ frame-types, ingress-filtering              tagged or not, as it belongs
//! ```
//!
//! A port belongs to the VLAN of its `pvid` untagged without being listed, and so does the bridge
//! itself, the router's own port. Membership is two bits a port and VLAN: one byte is read a frame.
//!
//! Never touches a frame: the flow puts tags on and takes them off, as told here.

use super::super::InterfaceId;
use super::menu;
use crate::discard::Discard;
use crate::facility::Facility;
use crate::interface::Names;
use crate::interface::facilities::ALL;
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use wire::ethernet::ETHERTYPE_OUTER_VLAN;
use wire::layers::{ETHERTYPE_SVLAN, ETHERTYPE_VLAN};
use wire::vlan::{Tag, Tci};

/// The facility.
pub(crate) static FACILITY: Facility =
    Facility { part_of: Some(&ALL), check: |item, tree| check(tree, item), ..Facility::of(&VLAN) };

/// `/interface bridge vlan`.
pub static VLAN: Menu = Menu {
    path: "/interface bridge vlan",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
    properties: &[
        Property::new("bridge", menu::BRIDGES, "The bridge.").required().column(),
        Property::new("vlan-ids", Type::Custom(vlan_ids), "VLANs: 10,20-29.").required().column(),
        Property::new("tagged", menu::PORTS_OR_BRIDGE, "Ports that get them tagged.")
            .default("")
            .column(),
        Property::new("untagged", menu::PORTS_OR_BRIDGE, "Ports that get them untagged.")
            .default("")
            .column(),
    ],
    help: "Which ports belong to which VLAN, where a bridge has vlan-filtering=yes.",
};

/// `10,20-29`, as it was typed, if it names VLANs.
fn vlan_ids(text: &str) -> Result<Value, String> {
    let legal = "VLAN ids from 1 to 4094: 10,20-29";
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let id = |text: &str| text.parse::<u16>().ok().filter(|id| (1..=4094).contains(id));
        match (id(first), id(last)) {
            (Some(first), Some(last)) if first <= last => {}
            _ => return Err(legal.to_string()),
        }
    }
    Ok(Value::Text(text.to_string()))
}

/// The ranges that [`vlan_ids`] let pass.
fn ranges(text: &str) -> impl Iterator<Item = std::ops::RangeInclusive<u16>> {
    text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    })
}

/// `frame-types`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameTypes {
    /// All.
    #[default]
    All,
    /// Those without a tag, or with a priority tag.
    Untagged,
    /// Those that name a VLAN.
    Tagged,
}

/// The words of `frame-types`.
pub(super) const FRAME_TYPES: &[&str] =
    &["admit-all", "admit-only-untagged-and-priority-tagged", "admit-only-vlan-tagged"];

/// How a port, or the bridge itself, belongs to VLANs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    pvid: u16,
    frame_types: FrameTypes,
    ingress_filtering: bool,
    /// Whatever comes in is taken for untagged.
    stacking: bool,
    /// Two bits a VLAN: belongs, and tagged.
    bits: Box<[u8; 1024]>,
}

const BELONGS: u8 = 1;
const TAGGED: u8 = 2;

impl Membership {
    fn new(item: &Item) -> Membership {
        let word = |name, word: &str| matches!(item.get(name), Some(Value::Text(t)) if t == word);
        let yes = |name| item.get(name) == Some(&Value::Bool(true));
        let pvid = match item.get("pvid") {
            Some(&Value::Number(n)) => n as u16,
            _ => 1,
        };
        let frame_types = match () {
            () if word("frame-types", FRAME_TYPES[1]) => FrameTypes::Untagged,
            () if word("frame-types", FRAME_TYPES[2]) => FrameTypes::Tagged,
            () => FrameTypes::All,
        };
        let mut member = Membership {
            pvid,
            frame_types,
            ingress_filtering: yes("ingress-filtering"),
            stacking: yes("tag-stacking"),
            bits: Box::new([0; 1024]),
        };
        if frame_types != FrameTypes::Tagged {
            member.set(pvid, BELONGS);
        }
        member
    }

    fn set(&mut self, vid: u16, bits: u8) {
        let (at, shift) = (usize::from(vid >> 2) & 1023, (vid & 3) * 2);
        self.bits[at] = self.bits[at] & !(3 << shift) | bits << shift;
    }

    #[inline(always)]
    fn get(&self, vid: u16) -> u8 {
        self.bits[usize::from(vid >> 2) & 1023] >> ((vid & 3) * 2) & 3
    }

    /// Whether frames of a VLAN may go out here.
    #[inline(always)]
    pub fn has(&self, vid: u16) -> bool {
        self.get(vid) & BELONGS != 0
    }

    /// Whether they have a tag then.
    #[inline(always)]
    pub fn is_tagged(&self, vid: u16) -> bool {
        self.get(vid) & TAGGED != 0
    }
}

/// The VLAN of a frame, and where its number stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// VLAN and priority.
    pub tci: Tci,
    /// The frame's outermost tag says so, and comes off where the VLAN is untagged.
    pub tagged: bool,
}

/// The VLANs of a bridge with `vlan-filtering=yes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filtering {
    /// `ether-type`.
    pub tpid: u16,
    /// By place of the port; the last is the bridge's own.
    members: Vec<Membership>,
}

impl Filtering {
    /// Compiles a bridge's table; `ports` are its ports with their items.
    pub(super) fn compile(
        tree: &Tree,
        names: &Names,
        bridge: &Item,
        own: InterfaceId,
        ports: &[(&Item, InterfaceId)],
    ) -> Filtering {
        let text = |item: &Item, name| item.get(name).map_or(String::new(), ToString::to_string);
        let mut members: Vec<Membership> =
            ports.iter().map(|(item, _)| Membership::new(item)).collect();
        members.push(Membership::new(bridge));
        let mine = tree.enabled(VLAN.path).filter(|vlan| vlan.get("bridge") == bridge.get("name"));
        for vlan in mine {
            // Tagged last: RouterOS lets a port be in one of the lists only.
            for (list, bits) in [("untagged", BELONGS), ("tagged", BELONGS | TAGGED)] {
                let list = text(vlan, list);
                for id in list.split(',').filter_map(|name| names.find(name)) {
                    let place = ports.iter().position(|&(_, port)| port == id);
                    let Some(place) = place.or((id == own).then_some(ports.len())) else {
                        continue;
                    };
                    for vid in ranges(&text(vlan, "vlan-ids")).flatten() {
                        members[place].set(vid, bits);
                    }
                }
            }
        }
        let tpid = match text(bridge, "ether-type").as_str() {
            "0x88a8" => ETHERTYPE_SVLAN,
            "0x9100" => ETHERTYPE_OUTER_VLAN,
            _ => ETHERTYPE_VLAN,
        };
        Filtering { tpid, members }
    }

    /// Membership of the port at a place; of the bridge itself, beyond the last.
    #[inline(always)]
    pub fn member(&self, place: usize) -> &Membership {
        &self.members[place.min(self.members.len() - 1)]
    }

    /// The bridge's own.
    #[inline(always)]
    pub fn own(&self) -> &Membership {
        self.member(usize::MAX)
    }

    /// The VLAN of a frame that comes in at a place, by its bytes.
    ///
    /// # Errors
    /// [`Discard::VlanFiltered`]: the port does not take such frames.
    #[inline]
    pub fn classify(&self, place: usize, frame: &[u8]) -> Result<Class, Discard> {
        self.class_of(place, Tag::of(frame))
    }

    /// The same by its outermost tag.
    ///
    /// # Errors
    /// As for [`classify`](Self::classify).
    #[inline]
    pub fn class_of(&self, place: usize, tag: Option<Tag>) -> Result<Class, Discard> {
        let member = self.member(place);
        let tag = tag.filter(|tag| tag.tpid == self.tpid && !member.stacking);
        let class = match tag {
            Some(Tag { tci, .. }) if tci.id() != 0 => Class { tci, tagged: true },
            Some(Tag { tci, .. }) => {
                Class { tci: Tci::new(member.pvid, tci.priority()), tagged: true }
            }
            None => Class { tci: Tci::new(member.pvid, 0), tagged: false },
        };
        let names_vlan = tag.is_some_and(|tag| tag.tci.id() != 0);
        let admitted = match member.frame_types {
            FrameTypes::All => true,
            FrameTypes::Untagged => !names_vlan,
            FrameTypes::Tagged => names_vlan,
        };
        let vid = class.tci.id();
        if !admitted || vid == 4095 || (member.ingress_filtering && !member.has(vid)) {
            return Err(Discard::VlanFiltered);
        }
        Ok(class)
    }

    /// The tag of this VLAN's frames here.
    pub fn tag(&self, tci: Tci) -> Tag {
        Tag { tpid: self.tpid, tci }
    }
}

/// What an entry that is added or changed must not be.
///
/// # Errors
/// RouterOS's words.
pub fn check(tree: &Tree, entry: &Item) -> Result<(), String> {
    let text = |item: &Item, name| item.get(name).map_or(String::new(), ToString::to_string);
    let ids = |item: &Item| -> Vec<_> { ranges(&text(item, "vlan-ids")).collect() };
    let mine = ids(entry);
    for other in tree.items(VLAN.path).iter().filter(|other| other.id != entry.id) {
        if other.get("bridge") != entry.get("bridge") {
            continue;
        }
        let same = |a: &std::ops::RangeInclusive<u16>| {
            let other = ids(other);
            other
                .iter()
                .map(|b| *a.start().max(b.start())..=*a.end().min(b.end()))
                .find(|r| !r.is_empty())
        };
        if let Some(both) = mine.iter().find_map(same) {
            return Err(format!("failure: vlan {} is already added to this bridge", both.start()));
        }
    }
    let (tagged, untagged) = (text(entry, "tagged"), text(entry, "untagged"));
    let both = tagged
        .split(',')
        .find(|name| !name.is_empty() && untagged.split(',').any(|other| other == *name));
    match both {
        Some(name) => Err(format!("failure: {name} cannot be both tagged and untagged")),
        None => Ok(()),
    }
}
