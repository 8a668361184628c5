//! `/queue tree`: classes on an interface, and on `global`.
//!
//! ```text
//! … postrouting ─► [htb global] ─► simple queues ─► … ─► [interface htb] ─► out
//!                   │ packet-mark ─► leaf                 │ the same, of the interface's own trees
//! ```
//!
//! An item with children only distributes; the first leaf in order whose packet-mark fits has the
//! packet, and what fits none passes unshaped. One direction: a tree on an interface shapes what
//! leaves by it. An interface that stands on another (a VLAN, a bridge, a tunnel) has its tree before
//! its encapsulation, and the one below its own behind it.

use super::change::changed;
use super::leaf::{QueueId, QueueLeafId};
use super::menu::{MARKS, OWN, Said, bucket_size, marks_of};
use super::settings::Settings;
use super::tree::LEVELS;
use super::types::{KINDS, Types};
use crate::book::Book;
use crate::firewall::mark::{Mark, MarkNames};
use crate::interface::menu::ANY_INTERFACE;
use crate::interface::{InterfaceId, Names};
use config::{Item, ItemId, Menu, MenuKind, Property, Tree, Type, Value};
use std::collections::{HashMap, HashSet};

/// `/queue tree`.
pub static TREE: Menu = Menu {
    path: "/queue tree",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("queue"),
        ordered: true,
        fixed: false,
    },
    properties: &[
        Property::flag("invalid", 'I', "It holds nothing; the reason stands above it."),
        Property::new("name", Type::Text, "Name of the queue."),
        Property::new("parent", PARENT, "global, an interface, or the queue whose part it is.")
            .required(),
        Property::new("packet-mark", MARKS, "Packets with one of these marks, or no-mark."),
        Property::new("limit-at", Type::Rate, "Bits per second that are assured.").default("0"),
        Property::new("max-limit", Type::Rate, "Most bits per second; 0 means unlimited.")
            .default("0"),
        Property::new("priority", Type::Number(1, 8), "Who gets first what is left; 1 is best.")
            .default("8"),
        Property::new("queue", KINDS, "How packets wait: a kind of /queue type.")
            .default("default-small"),
        Property::new("burst-limit", Type::Rate, "Most bits per second in a burst.").default("0"),
        Property::new("burst-threshold", Type::Rate, "Bursts, as long as the average is below.")
            .default("0"),
        Property::new("burst-time", Type::Time, "Over how long the average is taken.")
            .default("0s"),
        Property::new("bucket-size", Type::Custom(bucket_size), "Seconds of max-limit.")
            .default("0.1"),
        Property::new("bytes", COUNT, "Bytes that passed.").read_only(),
        Property::new("packets", COUNT, "Packets that passed.").read_only(),
        Property::new("dropped", COUNT, "Packets dropped.").read_only(),
        Property::new("queued-bytes", COUNT, "Bytes waiting now.").read_only(),
        Property::new("queued-packets", COUNT, "Packets waiting now.").read_only(),
        Property::new("rate", Type::Rate, "Bits per second over the last second.").read_only(),
        Property::new("packet-rate", COUNT, "Packets per second over the last second.").read_only(),
    ],
    help: "Queues on interfaces and on global, one direction each, one below the other.",
};

const COUNT: Type = Type::Number(0, i64::MAX);
const PARENT: Type =
    Type::Or(&["global"], &Type::Either(&[ANY_INTERFACE, Type::Reference(&["/queue tree"])]));

/// The trees, compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trees {
    /// The leaves of the trees on `global`, in order.
    global: Vec<Marked>,
    /// Those of an interface's.
    by_interface: HashMap<InterfaceId, Vec<Marked>>,
    classes: Vec<(QueueLeafId, Settings)>,
    items: HashMap<QueueLeafId, ItemId>,
    invalid: Vec<(ItemId, String)>,
}

/// A leaf, and the packets it holds: any, if it names no marks.
#[derive(Clone, Debug, PartialEq)]
struct Marked {
    marks: Option<Vec<Mark>>,
    leaf: QueueLeafId,
}

/// Where a tree stands.
#[derive(Clone, Copy)]
enum Root {
    Global,
    Interface(InterfaceId),
}

impl Trees {
    /// Compiles all enabled queues, giving new ones their numbers.
    pub fn compile(
        tree: &Tree,
        (names, marks): (&Names, &MarkNames),
        types: &Types,
        book: &mut Book<QueueId>,
    ) -> Trees {
        let mut trees = Trees::default();
        let items: Vec<&Item> = tree.enabled(TREE.path).collect();
        let parent = |item: &Item| item.get("parent").map_or(String::new(), ToString::to_string);
        let by_name: HashMap<&str, &Item> =
            items.iter().map(|item| (item.name("name"), *item)).collect();
        let parents: HashSet<String> = items.iter().map(|item| parent(item)).collect();
        for item in &items {
            let said = Said { item, prefix: &OWN, half: 0 };
            let found = place(item, &parent, &by_name, names)
                .and_then(|place| Ok((place, said.read(types)?)));
            let ((root, depth), settings) = match found {
                Ok(found) => found,
                Err(why) => {
                    trees.invalid.push((item.id, why));
                    continue;
                }
            };
            let leaf = book.of(item.id).leaves()[0];
            let above = by_name.get(parent(item).as_str()).filter(|_| depth > 0);
            let inner = parents.contains(item.name("name"));
            let parent = above.map(|above| book.of(above.id).leaves()[0]);
            let settings = Settings { parent, depth: depth as u8, inner, ..settings };
            trees.classes.push((leaf, settings));
            trees.items.insert(leaf, item.id);
            if !inner {
                let leaf = Marked { marks: marks_of(item.get("packet-mark"), marks), leaf };
                match root {
                    Root::Global => trees.global.push(leaf),
                    Root::Interface(id) => trees.by_interface.entry(id).or_default().push(leaf),
                }
            }
        }
        trees
    }

    /// What leads from other trees to these; `gone` are queues whose items are gone.
    pub(super) fn changes_from(
        &self,
        old: &Trees,
        gone: &[QueueId],
    ) -> Vec<(QueueLeafId, Settings)> {
        changed(old.classes.iter().copied(), self.classes.iter().copied(), gone)
    }

    /// Whether every packet belongs to the same leaf as with the other.
    pub(crate) fn finds_as(&self, other: &Trees) -> bool {
        (&self.global, &self.by_interface) == (&other.global, &other.by_interface)
    }

    /// Whether there is none on `global`: what FastPath asks.
    pub fn has_global(&self) -> bool {
        !self.global.is_empty()
    }

    /// The leaf on `global` of a packet with this mark.
    pub fn global(&self, mark: Mark) -> Option<QueueLeafId> {
        first(&self.global, mark)
    }

    /// The leaf of a frame that leaves by an interface, its packet marked so.
    pub fn of_interface(&self, interface: InterfaceId, mark: Mark) -> Option<QueueLeafId> {
        first(self.by_interface.get(&interface)?, mark)
    }

    /// Whether they are on the same interfaces.
    pub(crate) fn stand_as(&self, other: &Trees) -> bool {
        let (own, others) = (&self.by_interface, &other.by_interface);
        own.len() == others.len() && own.keys().all(|id| others.contains_key(id))
    }

    /// Whether there are any on an interface.
    pub fn are_on(&self, interface: InterfaceId) -> bool {
        self.by_interface.contains_key(&interface)
    }

    /// The queues that hold nothing, and why.
    pub fn invalid(&self) -> &[(ItemId, String)] {
        &self.invalid
    }

    /// Which item a class belongs to.
    pub(crate) fn item_of(&self, leaf: QueueLeafId) -> Option<ItemId> {
        self.items.get(&leaf).copied()
    }
}

/// The first leaf that holds packets with this mark.
fn first(leaves: &[Marked], mark: Mark) -> Option<QueueLeafId> {
    let holds = |leaf: &&Marked| leaf.marks.as_ref().is_none_or(|marks| marks.contains(&mark));
    leaves.iter().find(holds).map(|leaf| leaf.leaf)
}

/// Where an item's tree stands, and how many are above it there.
fn place(
    item: &Item,
    parent: &impl Fn(&Item) -> String,
    by_name: &HashMap<&str, &Item>,
    names: &Names,
) -> Result<(Root, usize), String> {
    let mut at = item;
    for depth in 0..=by_name.len() {
        let name = parent(at);
        let root = match name.as_str() {
            "global" => Some(Root::Global),
            name => names.find(name).map(Root::Interface),
        };
        if let Some(root) = root {
            if depth >= LEVELS {
                return Err(format!("it is below {depth} others; {} may be", LEVELS - 1));
            }
            return Ok((root, depth));
        }
        let Some(above) = by_name.get(name.as_str()) else {
            return Err(format!("there is no parent {name}, or it is disabled"));
        };
        // What the parent says must hold for it to be there at all.
        let limits = ["limit-at", "max-limit"].map(|name| match above.get(name) {
            Some(&Value::Rate(rate)) => rate,
            _ => 0,
        });
        if limits[1] > 0 && limits[0] > limits[1] {
            return Err("its parent is invalid".to_string());
        }
        at = above;
    }
    Err("its parents go in a circle".to_string())
}
