//! `/ip route vrf`, `/ip vrf`: routers within the router, each with a routing table of its own.
//!
//! ```text
//!  in-interface of a VRF ─► route rules ─► routing mark ─► its VRF's table; nothing there ─► no route
//!  address on it         ─► the router's own, and its network: in that table, in no other
//!  gateway of its routes ─► behind a route of that table; 10.0.0.1@main: behind one of main
//! ```
//!
//! All of it holds for both families. So two VRFs may have the same addresses. What the router says of a
//! packet goes back in its VRF; what else it sends belongs to the VRF of the interface that its source
//! address is on. FastTrack skips all of it, as RouterOS's does.
//!
//! **Missing**: route distinguishers and targets, which are BGP's; two connections of the same addresses
//! and ports in two VRFs, which connection tracking takes for one; sessions, whose interfaces cannot be
//! named here; tools and services other than `ping`, whose questions to others go by main.

use super::menu::{VRF, VRF7};
use crate::facility::Facility;
use crate::firewall::mark::{Mark, MarkBook};
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::{InterfaceId, Names};
use crate::program::Program;
use config::{Item, Tree, Value};
use std::collections::BTreeSet;

/// `/ip route vrf`.
pub(crate) static FACILITY: Facility = Facility {
    after: &[&INTERFACES],
    compile: |c| {
        let program = &c.program;
        c.program.vrfs = Vrfs::compile(c.tree, &program.names, &program.books.marks).into();
    },
    relearn: true,
    check,
    ..Facility::of(&VRF)
};

/// `/ip vrf`: version 7's.
pub(crate) static VRF7_FACILITY: Facility =
    Facility { part_of: Some(&FACILITY), check, ..Facility::of(&VRF7) };

/// Which interfaces are in which VRF. A VRF is named by its table's mark; none is main.
#[derive(Debug, Default)]
pub(crate) struct Vrfs {
    by_interface: Vec<Mark>,
    tables: BTreeSet<Mark>,
}

impl Vrfs {
    fn compile(tree: &Tree, names: &Names, marks: &MarkBook) -> Vrfs {
        let mut vrfs = Vrfs::default();
        for item in tree.enabled(VRF.path).chain(tree.enabled(VRF7.path)) {
            let Some(table) = marks.routing.find(&name(item)) else { continue };
            vrfs.tables.insert(table);
            for name in interfaces(item) {
                let Some(interface) = names.find(&name.to_string()) else { continue };
                let len = vrfs.by_interface.len().max(interface.index() + 1);
                vrfs.by_interface.resize(len, Mark::NONE);
                vrfs.by_interface[interface.index()] = table;
            }
        }
        vrfs
    }

    /// The VRF of an interface.
    #[inline]
    pub(crate) fn of(&self, interface: InterfaceId) -> Mark {
        self.by_interface.get(interface.index()).copied().unwrap_or(Mark::NONE)
    }

    /// Whether a table is a VRF's, or main: one that stands for itself.
    #[inline]
    pub(crate) fn has(&self, table: Mark) -> bool {
        table == Mark::NONE || self.tables.contains(&table)
    }

    /// Main, and the tables of all VRFs.
    pub(crate) fn tables(&self) -> impl Iterator<Item = Mark> {
        std::iter::once(Mark::NONE).chain(self.tables.iter().copied())
    }

    /// Whether there is main only.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}

impl Program {
    /// The VRF that packets from an address of the router's own belong to.
    pub(crate) fn vrf_of_own(&self, address: u32) -> Mark {
        let own = self.addresses.iter().find(|own| own.address == address);
        own.map_or(Mark::NONE, |own| self.vrfs.of(own.interface))
    }

    /// The same of IPv6.
    pub(crate) fn vrf_of_own6(&self, address: u128) -> Mark {
        let own = self.v6.addresses.iter().find(|own| own.address == address);
        own.map_or(Mark::NONE, |own| self.vrfs.of(own.interface))
    }
}

/// What a VRF that is added or changed must not be: an interface is in one.
fn check(item: &Item, tree: &Tree) -> Result<(), String> {
    if matches!(name(item).as_str(), "main" | Mark::NO_MARK) {
        return Err(format!("failure: {} is the router itself, no VRF", name(item)));
    }
    let all = tree.items(VRF.path).iter().chain(tree.items(VRF7.path));
    for other in all.filter(|other| other.id != item.id) {
        if name(other) == name(item) {
            return Err(format!("failure: already have VRF {}", name(item)));
        }
        let theirs = interfaces(other);
        if let Some(both) = interfaces(item).iter().find(|own| theirs.contains(own)) {
            return Err(format!("failure: {both} is in VRF {}", name(other)));
        }
    }
    Ok(())
}

fn name(item: &Item) -> String {
    let name = item.get("routing-mark").or(item.get("name"));
    name.map(Value::to_string).unwrap_or_default()
}

fn interfaces(item: &Item) -> &[Value] {
    match item.get("interfaces") {
        Some(Value::List(names)) => names,
        _ => &[],
    }
}
