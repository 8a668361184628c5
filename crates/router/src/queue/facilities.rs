//! The facilities of `/queue simple` and `/queue tree`.

use super::change::changed;
use super::interface::PortQueues;
use super::leaf::{LeafStats, QueueId};
use super::{Trees, Types, menu, simple, trees, types};
use crate::compiler::Compiling;
use crate::facility::{self, DONE, Facility, Rows};
use crate::interface::facilities::ALL as INTERFACES;
use crate::interface::ppp::rate::Rate;
use crate::interface::pppoe::{Sessions, Standing};
use crate::ip::dhcp::facilities::SERVER as DHCP;
use crate::ip::dhcp::menu::LEASE;
use crate::ip::hotspot::Rated;
use crate::program::Books;
use crate::router::Router;
use crate::status::{RouterStatus, number};
use config::{Call, Item, ItemId, Started, Tree, Value};
use std::collections::HashSet;
use std::sync::Arc;
use wire::Moment;

/// `/queue simple`.
pub(crate) static SIMPLE: Facility = Facility {
    after: &[&INTERFACES, &types::FACILITY, &DHCP],
    compile,
    value: |status, item, property| status.queue(item, property),
    remark: |status, item| {
        let mut invalid = status.router.program.queues.invalid().iter();
        invalid.find(|(id, _)| *id == item.id).map(|(_, why)| why.clone())
    },
    rows: Rows::Few(|status| {
        let queues = status.router.program.dynamic_queues.iter();
        queues.map(|item| Item::clone(item)).collect()
    }),
    commands: &[
        (&facility::reset(&menu::SIMPLE), reset),
        (&facility::reset_all(&menu::SIMPLE), reset),
    ],
    ..Facility::of(&menu::SIMPLE)
};

/// `/queue tree`, and the queues of ports.
pub(crate) static TREE: Facility = Facility {
    after: &[&INTERFACES, &types::FACILITY],
    compile: compile_trees,
    value: |status, item, property| {
        let queue = status.router.program.books.queues.find(item.id)?;
        reading(property, status.router.queues.stats(queue.leaves()[0]))
    },
    remark: |status, item| {
        let mut invalid = status.router.program.trees.invalid().iter();
        invalid.find(|(id, _)| *id == item.id).map(|(_, why)| why.clone())
    },
    commands: &[
        (&facility::reset(&trees::TREE), reset),
        (&facility::reset_all(&trees::TREE), reset),
    ],
    ..Facility::of(&trees::TREE)
};

fn compile_trees(c: &mut Compiling) {
    let types = Types::compile(c.tree);
    let removed = c.gone(&trees::TREE);
    let Books { queues: books, marks, .. } = &mut c.program.books;
    let gone: Vec<QueueId> = removed.into_iter().filter_map(|item| books.remove(item)).collect();
    books.reuse(gone.iter().copied());
    let trees = Trees::compile(c.tree, (&c.program.names, &marks.packet), &types, books);
    c.queue_settings.extend(trees.changes_from(&c.program.trees, &gone));
    let ports = PortQueues::compile(c.tree, &c.program.names, &types, books);
    c.queue_settings.extend(changed(c.program.port_queues.classes(), ports.classes(), &[]));
    (c.program.trees, c.program.port_queues) = (Arc::new(trees), Arc::new(ports));
    c.program.shape_ways_out();
    c.gone_queues.extend(gone);
}

fn compile(c: &mut Compiling) {
    let types = Types::compile(c.tree);
    let same_names =
        ![&INTERFACES, &types::FACILITY, &DHCP].into_iter().any(|other| c.has_compiled(other));
    let edited = c.last_tree().filter(|_| same_names);
    if let Some(edited) = edited.and_then(|old| c.program.queues.edited(old, c.tree, &types)) {
        c.queue_settings.extend(edited.1);
        c.program.queues = Arc::new(edited.0);
        return;
    }
    let mut removed = c.gone(&menu::SIMPLE);
    let mut dynamic = of_sessions(&c.program.sessions);
    dynamic.extend(of_leases(c.tree));
    dynamic.extend(c.rated.iter().map(Rated::queue));
    c.program.rated = c.rated.clone();
    let stay: HashSet<ItemId> = dynamic.iter().map(|item| item.id).collect();
    let before = c.program.dynamic_queues.iter().map(|item| item.id);
    removed.extend(before.filter(|id| !stay.contains(id)));
    let Books { queues: books, marks, .. } = &mut c.program.books;
    let mut gone = Vec::new();
    for item in removed {
        gone.extend(simple::forget(item, books));
    }
    books.reuse(gone.iter().copied());
    let items = [c.tree.items(menu::SIMPLE.path), &dynamic[..]].concat();
    let before = &c.program.queues;
    let queues = before.compile_anew(&items, (&c.program.names, &marks.packet), &types, books);
    c.queue_settings.extend(queues.changes_from(before, &gone));
    (c.program.queues, c.program.dynamic_queues) = (Arc::new(queues), dynamic.into());
    c.gone_queues.extend(gone);
}

/// The queues that profiles' `rate-limit` makes, one for each session, at the end of the list.
fn of_sessions(sessions: &Sessions) -> Vec<Arc<Item>> {
    let queue = |standing: &Standing| {
        let session = &standing.session;
        let terms = session.granted()?;
        let parent = terms.parent_queue.as_deref();
        let rate = terms.rate.as_ref()?;
        Some(rate.queue(session.number, &session.name, parent, terms.queue_type.as_ref()))
    };
    sessions.list().iter().filter_map(queue).collect()
}

/// The queues that the `rate-limit` of typed leases makes, behind those: they are there as long as the lease
/// is typed, whether somebody has it or not.
fn of_leases(tree: &Tree) -> impl Iterator<Item = Arc<Item>> {
    tree.enabled(LEASE.path).filter_map(|item| {
        let Some(Value::Text(line)) = item.get("rate-limit") else { return None };
        let Some(&Value::Address(address)) = item.get("address") else { return None };
        let who = item.get("mac-address").map_or(address.to_string(), Value::to_string);
        let rate = Rate::read(line).ok()?;
        Some(rate.queue_of_lease(item.id, format!("dhcp-ds<{who}>"), address.into()))
    })
}

/// Sets the counters of queues to zero.
fn reset(r: &mut Router, call: &Call, tree: &Tree, _: Moment) -> Result<Started<Router>, String> {
    let books = &r.program.books;
    let items = facility::items(call, tree)?;
    for item in items {
        let total = simple::total_of(item, &books.queues).map(|leaf| QueueId(leaf.0 / 2));
        let queues = books.queues.find(item).into_iter().chain(total);
        queues.for_each(|queue| r.queues.reset(queue));
    }
    DONE
}

impl RouterStatus<'_> {
    fn queue(&self, item: &Item, property: &str) -> Option<Value> {
        let books = &self.router.program.books.queues;
        let stats = |leaf| self.router.queues.stats(leaf);
        if let Some(property) = property.strip_prefix("total-") {
            let [up, down] = books.find(item.id)?.leaves().map(stats);
            let total = simple::total_of(item.id, books).map(stats).unwrap_or_default();
            return reading(
                property,
                LeafStats {
                    bytes: up.bytes + down.bytes,
                    packets: up.packets + down.packets,
                    rate: up.rate + down.rate,
                    packet_rate: up.packet_rate + down.packet_rate,
                    ..total
                },
            );
        }
        let [upload, download] = books.find(item.id)?.leaves().map(stats);
        let (upload, download) = (reading(property, upload)?, reading(property, download)?);
        Some(Value::Pair(Box::new(upload), Box::new(download)))
    }
}

/// A class's counter or rate by its name.
fn reading(property: &str, leaf: LeafStats) -> Option<Value> {
    Some(match property {
        "bytes" => number(leaf.bytes),
        "packets" => number(leaf.packets),
        "dropped" => number(leaf.dropped),
        "queued-bytes" => number(leaf.queued_bytes),
        "queued-packets" => number(leaf.queued_packets),
        "rate" => Value::Rate(leaf.rate),
        "packet-rate" => number(leaf.packet_rate),
        _ => return None,
    })
}
