//! `/queue interface`: how frames wait at a port that has no room for them.
//!
//! ```text
//! … physical out-interface ─► outbox ─┬─ only-hardware-queue ─────────────────────► port: what does
//!                                     │                                             not fit is lost
//!                                     └─ a kind ─► waits ─► as the port has room ─► port
//! ```
//!
//! A port has a class of its own, which is in no tree and has no limit: the port says when it may
//! send. A port that knows when its line is free (one in virtual time) has room for one frame then, so
//! the kind decides who goes next. Ports in memory and those of real interfaces take whatever they are
//! given, so nothing waits there.
//!
//! Missing: **kinds on interfaces that are no ports**, which have `no-queue`.

use super::leaf::QueueLeafId;
use super::settings::Settings;
use super::types::{DEFAULT_INTERFACE_KIND, KINDS, Types};
use super::{Limit, QueueId};
use crate::book::Book;
use crate::facility::{Facility, Rows};
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::menu::ETHERNET;
use crate::interface::{InterfaceId, Names};
use crate::program::Kind;
use crate::status::{Numbers, RouterStatus, dynamic, number};
use config::{Item, Menu, MenuKind, Property, Tree, Type, Value};
use std::collections::BTreeMap;

/// `/queue interface`.
pub(crate) static INTERFACE: Menu = Menu {
    path: "/queue interface",
    kind: MenuKind::List { key: Some("interface"), auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("interface", Type::Reference(&[ETHERNET.path]), "Whose queue it is.")
            .read_only()
            .column(),
        Property::new(
            "queue",
            KINDS,
            "How frames wait that its port has no room for; FastPath sends by only-hardware-queue.",
        )
        .default(DEFAULT_INTERFACE_KIND)
        .column(),
        Property::new("active-queue", Type::Text, "The kind that is in use.").read_only().column(),
        Property::new("default-queue", Type::Text, "The kind it begins with.").read_only(),
        Property::new("queued-bytes", COUNT, "Bytes waiting now.").read_only(),
        Property::new("queued-packets", COUNT, "Frames waiting now.").read_only(),
        Property::new("bytes", COUNT, "Bytes that passed it.").read_only().detail(),
        Property::new("packets", COUNT, "Frames that passed it.").read_only().detail(),
        Property::new("dropped", COUNT, "Frames dropped because too many waited.")
            .read_only()
            .detail(),
    ],
    help: "How frames wait at ports, by interface.",
};

const COUNT: Type = Type::Number(0, i64::MAX);
/// What interfaces have that are no ports.
const NO_QUEUE: &str = "no-queue";

/// `/queue interface`.
pub(crate) static FACILITY: Facility = Facility {
    // Whether FastPath sends by a port is the port's.
    part_of: Some(&INTERFACES),
    value: |status, item, property| status.interface_queue(item, property),
    rows: Rows::Few(others),
    ..Facility::of(&INTERFACE)
};

/// The items that a device with these ports begins with.
pub(crate) fn factory(tree: &mut Tree, port: Value) {
    tree.push(&INTERFACE, [("interface", port)].into());
}

/// Whether FastPath sends by the port of this name.
pub(crate) fn is_hardware(tree: &Tree, port: &str) -> bool {
    let item = tree.items(INTERFACE.path).iter().find(|item| item.name("interface") == port);
    item.is_none_or(|item| kind_name(item) == DEFAULT_INTERFACE_KIND)
}

fn kind_name(item: &Item) -> &str {
    match item.get("queue") {
        Some(Value::Text(name)) => name,
        _ => DEFAULT_INTERFACE_KIND,
    }
}

/// The ports' queues, compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PortQueues(Vec<(InterfaceId, QueueLeafId, Settings)>);

impl PortQueues {
    /// Compiles the ports' items, giving new ones their numbers.
    pub(super) fn compile(
        tree: &Tree,
        names: &Names,
        types: &Types,
        book: &mut Book<QueueId>,
    ) -> PortQueues {
        let class = |item: &std::sync::Arc<Item>| {
            let kind = types.find(kind_name(item))?;
            let interface = names.find(item.name("interface"))?;
            let leaf = book.of(item.id).leaves()[0];
            let settings = Settings { by_port: true, kind, ..Settings::plain(Limit::NONE) };
            Some((interface, leaf, settings))
        };
        PortQueues(tree.items(INTERFACE.path).iter().filter_map(class).collect())
    }

    /// All classes.
    pub(super) fn classes(&self) -> impl Iterator<Item = (QueueLeafId, Settings)> {
        self.0.iter().map(|&(_, leaf, settings)| (leaf, settings))
    }

    /// The class of a port; `None` if frames do not wait there.
    pub(crate) fn of(&self, port: InterfaceId) -> Option<QueueLeafId> {
        self.0.iter().find(|(interface, ..)| *interface == port).map(|&(_, leaf, _)| leaf)
    }
}

impl RouterStatus<'_> {
    fn interface_queue(&self, item: &Item, property: &str) -> Option<Value> {
        let program = &self.router.program;
        let leaf =
            program.names.find(item.name("interface")).and_then(|id| program.ports_queue(id));
        let stats = leaf.map(|leaf| self.router.queues.stats(leaf)).unwrap_or_default();
        Some(match property {
            "active-queue" if leaf.is_none() => Value::Text(DEFAULT_INTERFACE_KIND.into()),
            "active-queue" => Value::Text(kind_name(item).into()),
            "default-queue" => Value::Text(DEFAULT_INTERFACE_KIND.into()),
            "queued-bytes" => number(stats.queued_bytes),
            "queued-packets" => number(stats.queued_packets),
            "bytes" => number(stats.bytes),
            "packets" => number(stats.packets),
            "dropped" => number(stats.dropped),
            _ => return None,
        })
    }
}

/// The interfaces that are no ports, as rows.
fn others(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let all = status.router.program.interfaces.iter();
    let others = all.filter(|one| one.id.is_some() && !matches!(one.kind, Kind::Ethernet { .. }));
    let mut row = |name: &str| {
        let text = |text: &str| Value::Text(text.to_string());
        let kinds = ["queue", "active-queue", "default-queue"].map(|name| (name, text(NO_QUEUE)));
        let values = BTreeMap::from([("interface", text(name))]);
        dynamic(numbers.of(name), values.into_iter().chain(kinds).collect())
    };
    let names = others.map(|interface| &interface.name).filter(|name| !name.is_empty());
    names.map(|name| row(name)).collect()
}
