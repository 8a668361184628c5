//! The facilities of connection tracking: `/ip firewall connection` and its settings.

use super::settings::Settings;
use super::{ConnectionId, menu};
use crate::facility::{self, DONE, Facility, Rows};
use crate::firewall::matcher::p2p;
use crate::ipv6::firewall as firewall6;
use crate::parts::Stacked;
use crate::router::Router;
use crate::status::{BY_PLACE, RouterStatus, dynamic, number};
use config::{Call, Command, Display, FIRST_AHEAD, Item, ItemId, Started, Tree, Unnamed, Value};
use std::any::Any;
use std::time::Duration;
use wire::Moment;

/// `/ip firewall connection tracking`.
pub(crate) static TRACKING: Facility = Facility {
    compile: |c| c.program.connection_settings = Settings::read(c.tree),
    relearn: true,
    setting: |status, property| status.tracking(property),
    ..Facility::of(&menu::TRACKING)
};

/// `/ip firewall connection`.
pub(crate) static CONNECTION: Facility = Facility {
    rows: Rows::Many { page: connections_page::<u32>, item: None },
    commands: &[(
        &Command {
            menu: menu::CONNECTION.path,
            name: "remove",
            unnamed: Unnamed::Items,
            parameters: &[],
            display: Display::Nothing,
            help: "Ends connections; their next packets begin new ones.",
        },
        remove::<u32>,
    )],
    ..Facility::of(&menu::CONNECTION)
};

/// `/ipv6 firewall connection`.
pub(crate) static CONNECTION6: Facility = Facility {
    rows: Rows::Many { page: connections_page::<u128>, item: None },
    commands: &[(
        &Command {
            menu: firewall6::CONNECTION.path,
            name: "remove",
            unnamed: Unnamed::Items,
            parameters: &[],
            display: Display::Nothing,
            help: "Ends connections; their next packets begin new ones.",
        },
        remove::<u128>,
    )],
    ..Facility::of(&firewall6::CONNECTION)
};

/// Ends connections.
fn remove<F: Stacked>(
    r: &mut Router,
    call: &Call,
    tree: &Tree,
    _: Moment,
) -> Result<Started<Router>, String> {
    for connection in facility::items(call, tree)?.into_iter().filter_map(connection) {
        F::connections_mut(r).remove(connection);
    }
    DONE
}

/// The connection that an item of `/ip firewall connection` is.
fn connection(item: ItemId) -> Option<ConnectionId> {
    let range = BY_PLACE..FIRST_AHEAD;
    range.contains(&item.0).then(|| ConnectionId(item.0 - BY_PLACE))
}

/// `/ip firewall connection`, by place in the table: at most `max` behind an item.
fn connections_page<F: Stacked + 'static>(
    status: &RouterStatus,
    after: Option<ItemId>,
    max: usize,
) -> Vec<Item> {
    let from = after.and_then(connection).map_or(0, |ConnectionId(last)| last + 1);
    let entries = F::connections(status.router).list_from(ConnectionId(from), status.now);
    let items = entries.take(max).map(|entry| {
        let mut values = entry.values();
        let timeout = Duration::from_secs(entry.timeout.as_secs());
        values.insert("timeout", Value::Time(timeout));
        let marks = &status.router.program.books.marks.connection;
        if let Some(mark) = marks.name(entry.mark) {
            values.insert("connection-mark", Value::Text(mark.to_string()));
        }
        if let Some(program) = program(status, F::connections(status.router).key(entry.id)) {
            values.insert("p2p", Value::Text(program.to_string()));
        }
        if let Some([original, reply]) = F::connections(status.router).look(entry.id, status.now) {
            values.insert("orig-rate", Value::Rate(original));
            values.insert("repl-rate", Value::Rate(reply));
        }
        dynamic(ItemId(BY_PLACE + entry.id.0), values)
    });
    items.collect()
}

/// The peer-to-peer program of a connection of IPv4, by what layer 7 has kept of it.
fn program(status: &RouterStatus, key: Option<impl Any>) -> Option<&'static str> {
    let key: &dyn Any = &key?;
    p2p::program(status.router.rules.payloads.bytes(key.downcast_ref()?)?)
}

impl RouterStatus<'_> {
    fn tracking(&self, property: &str) -> Option<Value> {
        let connections = &self.router.v4.connections;
        match property {
            "total-entries" => {
                let of_both = connections.len() + self.router.v6.connections.len();
                Some(number(of_both as u64))
            }
            "active-ipv4" => Some(Value::Bool(self.router.program.tracking)),
            "active-ipv6" => Some(Value::Bool(self.router.program.v6.tracking)),
            "max-entries" => Some(number(connections.max_entries() as u64)),
            _ => None,
        }
    }
}
