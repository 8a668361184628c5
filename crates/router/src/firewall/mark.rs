//! Marks: names that mangle gives to packets and connections, and that other rules, queues and
//! routes ask for.
//!
//! ```text
//! new-packet-mark=voice ─► MarkBook: voice is 3 ─► Packet::marks.packet = 3 ─► packet-mark=voice
//! ```
//!
//! A name keeps its number over every change of the configuration, so that connections that are
//! marked already keep their marks by name. Numbers of packet and routing marks, which nobody
//! remembers, are given again when all are in use and some names are no longer mentioned.

use crate::facility::MENUS;
use crate::ip::menu::VRF7;
use crate::ip::rule::TABLE;
use config::{Item, Menu, Tree, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A mark, by number; the number of a name is in [`MarkBook`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(pub u16);

impl Mark {
    /// `no-mark`.
    pub const NONE: Mark = Mark(0);

    /// The word for none.
    pub const NO_MARK: &str = "no-mark";
}

/// What a packet carries from box to box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Marks {
    /// `packet-mark`.
    pub packet: Mark,
    /// `routing-mark`: the routing table it asks first.
    pub routing: Mark,
    /// `priority`, 0 to 63.
    pub priority: u8,
}

/// Which name has which number, of one kind of marks.
#[derive(Clone, Debug)]
pub struct MarkNames {
    numbers: Arc<BTreeMap<String, Mark>>,
    /// How many there may be.
    max: u16,
}

impl MarkNames {
    fn new(max: u16) -> MarkNames {
        MarkNames { numbers: Arc::default(), max }
    }

    /// The number of a name; `None` for names beyond the most there may be.
    pub fn find(&self, name: &str) -> Option<Mark> {
        if name == Mark::NO_MARK { Some(Mark::NONE) } else { self.numbers.get(name).copied() }
    }

    /// The name of a number other than none.
    pub fn name(&self, mark: Mark) -> Option<&str> {
        self.numbers.iter().find(|(_, number)| **number == mark).map(|(name, _)| name.as_str())
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Mark)> {
        self.numbers.iter().map(|(name, &mark)| (name.as_str(), mark))
    }

    /// Gives numbers to names that have none, as long as there are any.
    fn enter(&mut self, names: &BTreeSet<&str>, are_remembered: bool) {
        let fresh = names.iter().filter(|&&name| self.find(name).is_none());
        let fresh: Vec<&str> = fresh.copied().collect();
        if fresh.is_empty() {
            return;
        }
        let numbers = Arc::make_mut(&mut self.numbers);
        let max = usize::from(self.max);
        if numbers.len() + fresh.len() > max && !are_remembered {
            numbers.retain(|name, _| names.contains(name.as_str()));
        }
        let used: BTreeSet<Mark> = numbers.values().copied().collect();
        let free = (1..=self.max).map(Mark).filter(|mark| !used.contains(mark));
        numbers.extend(fresh.into_iter().map(str::to_string).zip(free));
    }
}

/// All names of marks.
#[derive(Clone, Debug)]
pub struct MarkBook {
    /// RouterOS has no more than 4,096.
    pub packet: MarkNames,
    /// As many as a connection's record can tell apart.
    pub connection: MarkNames,
    /// Each is a routing table.
    pub routing: MarkNames,
}

impl Default for MarkBook {
    fn default() -> MarkBook {
        MarkBook {
            packet: MarkNames::new(4096),
            connection: MarkNames::new(u16::MAX),
            routing: MarkNames::new(250),
        }
    }
}

/// A kind of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Packet,
    Connection,
    Routing,
}

/// The properties that hold names of marks, whichever menu they are in.
const MENTIONS: &[(&str, Kind)] = &[
    ("new-packet-mark", Kind::Packet),
    ("packet-mark", Kind::Packet),
    ("packet-marks", Kind::Packet),
    ("new-connection-mark", Kind::Connection),
    ("connection-mark", Kind::Connection),
    ("new-routing-mark", Kind::Routing),
    ("routing-mark", Kind::Routing),
    ("route-dst", Kind::Routing),
    ("routing-table", Kind::Routing),
    ("table", Kind::Routing),
];

/// In version 7 a VRF's name is that of its table, and tables are named before they are spoken of.
const TABLE_NAME: (&str, Kind) = ("name", Kind::Routing);

/// The properties of a menu that hold names of marks.
fn mentions(menu: &Menu) -> impl Iterator<Item = &'static (&'static str, Kind)> {
    let is_table = [VRF7.path, TABLE.path].contains(&menu.path);
    let named = is_table.then_some(&TABLE_NAME);
    MENTIONS.iter().filter(|(name, _)| menu.property(name).is_some()).chain(named)
}

/// Whether items of a menu mention marks.
pub(crate) fn are_in(menu: &Menu) -> bool {
    mentions(menu).next().is_some()
}

/// The names of all routing tables that a configuration mentions, but main.
pub(crate) fn routing_tables(tree: &Tree) -> BTreeSet<String> {
    let mut mentioned = BTreeSet::new();
    for menu in MENUS {
        for (property, _) in mentions(menu).filter(|(_, kind)| *kind == Kind::Routing) {
            let values = tree.items(menu.path).iter().filter_map(|item| item.get(property));
            values.for_each(|value| names(value, &mut mentioned));
        }
    }
    mentioned.into_iter().map(String::from).collect()
}

impl MarkBook {
    /// Whether items of a menu that were not there before mention names without numbers: few are
    /// looked at where few have changed.
    pub(crate) fn are_new_in(&self, tree: &Tree, before: Option<&Tree>, menu: &Menu) -> bool {
        let before = before.map_or(&[][..], |before| before.items(menu.path));
        let same = |(at, item): &(usize, &Arc<Item>)| {
            before.get(*at).is_some_and(|before| Arc::ptr_eq(before, item))
        };
        let here: Vec<_> = mentions(menu).collect();
        let fresh = tree.items(menu.path).iter().enumerate().filter(|item| !same(item));
        let mut mentioned = [const { BTreeSet::new() }; 3];
        for (_, item) in fresh {
            for (property, kind) in &here {
                if let Some(value) = item.get(property) {
                    names(value, &mut mentioned[*kind as usize]);
                }
            }
        }
        let [packet, connection, routing] = &mentioned;
        let knows = |book: &MarkNames, names: &BTreeSet<&str>| {
            names.iter().all(|name| book.find(name).is_some())
        };
        !(knows(&self.packet, packet)
            && knows(&self.connection, connection)
            && knows(&self.routing, routing))
    }

    /// Gives numbers to the names that items of these menus mention, and to those of tables that were fed.
    pub fn enter<'a>(
        &mut self,
        tree: &'a Tree,
        menus: &[&Menu],
        fed: impl Iterator<Item = &'a str>,
    ) {
        let mut mentioned = [const { BTreeSet::new() }; 3];
        for menu in menus {
            for (property, kind) in mentions(menu) {
                for item in tree.items(menu.path) {
                    if let Some(value) = item.get(property) {
                        names(value, &mut mentioned[*kind as usize]);
                    }
                }
            }
        }
        mentioned[Kind::Routing as usize].extend(fed);
        let [packet, connection, routing] = &mentioned;
        self.packet.enter(packet, false);
        self.connection.enter(connection, true);
        self.routing.enter(routing, false);
    }
}

/// The routing table of packets without a mark.
pub(crate) const MAIN: &str = "main";

/// The names in a value: one, or a list, negated or not.
fn names<'a>(value: &'a Value, all: &mut BTreeSet<&'a str>) {
    match value {
        Value::Text(name) if !name.is_empty() && name != MAIN => _ = all.insert(name),
        Value::Not(value) => names(value, all),
        Value::List(values) => values.iter().for_each(|value| names(value, all)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_the_last_one_too_many_has_none() {
        let mut names = MarkNames::new(3);
        let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
        names.enter(&set(&["b", "c"]), false);
        names.enter(&set(&["a", "b", "no-mark"]), false);
        let found = |names: &MarkNames, name| names.find(name).map(|mark| mark.0);
        let got = ["no-mark", "a", "b", "c", "d"].map(|name| found(&names, name));
        assert_eq!(got, [Some(0), Some(3), Some(1), Some(2), None]);
        assert_eq!(names.name(Mark(2)), Some("c"));
        // "c" is mentioned no more: its number is given again, those of others stay.
        names.enter(&set(&["a", "b", "d", "e"]), false);
        let got = ["a", "b", "c", "d", "e"].map(|name| found(&names, name));
        assert_eq!(got, [Some(3), Some(1), None, Some(2), None]);
        // Of what is remembered elsewhere, no number is given again.
        let mut names = MarkNames::new(1);
        names.enter(&set(&["a"]), true);
        names.enter(&set(&["b"]), true);
        assert_eq!((found(&names, "a"), found(&names, "b")), (Some(1), None));
    }
}
