//! The facility of `/queue simple`.

use super::leaf::LeafStats;
use super::{Simple, menu};
use crate::compiler::Compiling;
use crate::facility::{self, DONE, Facility};
use crate::interface::facilities::ALL as INTERFACES;
use crate::router::Router;
use crate::status::{RouterStatus, number};
use config::{Call, Item, Started, Tree, Value};
use std::sync::Arc;
use wire::Moment;

/// `/queue simple`.
pub(crate) static SIMPLE: Facility = Facility {
    after: &[&INTERFACES],
    compile,
    value: |status, item, property| status.queue(item, property),
    remark: |status, item| {
        let mut invalid = status.router.program.queues.invalid().iter();
        invalid.find(|(id, _)| *id == item.id).map(|(_, why)| why.clone())
    },
    commands: &[
        (&facility::reset(&menu::SIMPLE), reset),
        (&facility::reset_all(&menu::SIMPLE), reset),
    ],
    ..Facility::of(&menu::SIMPLE)
};

fn compile(c: &mut Compiling) {
    let gone = c.gone(&menu::SIMPLE);
    let books = &mut c.program.books.queues;
    c.gone_queues = gone.into_iter().filter_map(|item| books.remove(item)).collect();
    books.reuse(c.gone_queues.iter().copied());
    c.program.queues = Arc::new(Simple::compile(c.tree, &c.program.names, books));
}

/// Sets the counters of queues to zero.
fn reset(r: &mut Router, call: &Call, tree: &Tree, _: Moment) -> Result<Started<Router>, String> {
    let books = &r.program.books;
    let items = facility::items(call, tree)?;
    let queues = items.into_iter().filter_map(|item| books.queues.find(item));
    queues.for_each(|queue| r.queues.reset(queue));
    DONE
}

impl RouterStatus<'_> {
    fn queue(&self, item: &Item, property: &str) -> Option<Value> {
        let queue = self.router.program.books.queues.find(item.id)?;
        let stats = queue.leaves().map(|leaf| self.router.queues.stats(leaf));
        let reading: fn(LeafStats) -> Value = match property {
            "bytes" => |leaf| number(leaf.bytes),
            "packets" => |leaf| number(leaf.packets),
            "dropped" => |leaf| number(leaf.dropped),
            "queued-bytes" => |leaf| number(leaf.queued_bytes),
            "queued-packets" => |leaf| number(leaf.queued_packets),
            "rate" => |leaf| Value::Rate(leaf.rate),
            "packet-rate" => |leaf| number(leaf.packet_rate),
            _ => return None,
        };
        let [upload, download] = stats.map(reading);
        Some(Value::Pair(Box::new(upload), Box::new(download)))
    }
}
