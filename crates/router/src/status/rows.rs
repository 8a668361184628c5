//! The items the router made itself: learnt hosts and neighbours, connected routes, connections,
//! the dummy rule of FastTrack.
//!
//! An item that is named by numbers (`*A1234567`) keeps its number while it lives: it follows from
//! what the item is about, and only if two of a menu happen to have the same one does the next
//! free number step in. A connection's is its place in the table, so that
//! [`connection`] finds it again.

use super::{RouterStatus, ip, number};
use crate::firewall::connection::ConnectionId;
use crate::firewall::filter;
use crate::ip::neighbour::Status;
use crate::ip::route::{Candidate, Target};
use config::{FIRST_AHEAD, FIRST_DYNAMIC, Item, ItemId, Value};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use wire::MacAddr;

/// Where the numbers of connections begin; above them are the dummy rules.
const CONNECTIONS: u32 = 0xc000_0000;

/// The connection that an item of `/ip firewall connection` is.
pub(crate) fn connection(item: ItemId) -> Option<ConnectionId> {
    let range = CONNECTIONS..FIRST_AHEAD;
    range.contains(&item.0).then(|| ConnectionId(item.0 - CONNECTIONS))
}

type Values = BTreeMap<&'static str, Value>;

/// Numbers for the items of one menu.
#[derive(Default)]
struct Numbers(HashSet<u32>);

impl Numbers {
    /// The number of whatever `key` names.
    fn of(&mut self, key: impl Hash) -> ItemId {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let size = CONNECTIONS - FIRST_DYNAMIC;
        let mut at = hasher.finish() as u32 % size;
        while !self.0.insert(at) {
            at = (at + 1) % size;
        }
        ItemId(FIRST_DYNAMIC + at)
    }
}

impl RouterStatus<'_> {
    /// `/interface bridge host`, by bridge and address.
    pub(super) fn hosts(&self) -> Vec<Item> {
        let mut numbers = Numbers::default();
        let mut items = Vec::new();
        let program = &self.router.program;
        for (bridge, hosts) in program.bridges.iter().zip(&self.router.hosts) {
            let mut rows: Vec<_> = hosts.rows(self.now.as_millis_u32()).collect();
            rows.sort_by_key(|row| row.mac);
            items.extend(rows.into_iter().map(|row| {
                let mut values = Values::from([
                    ("mac-address", Value::Mac(row.mac)),
                    ("on-interface", self.name(row.host.port)),
                    ("bridge", self.name(bridge.interface)),
                    ("local", Value::Bool(row.host.local)),
                ]);
                if !row.host.local {
                    let age = Duration::from_secs(u64::from(row.age_ms) / 1000);
                    values.insert("age", Value::Time(age));
                }
                dynamic(numbers.of((bridge.item, row.mac)), values)
            }));
        }
        items
    }

    /// What ARP has learnt, by interface and address.
    pub(super) fn learnt_neighbours(&self) -> Vec<Item> {
        let mut numbers = Numbers::default();
        let learnt = self.router.neighbours.iter().filter(|(_, s)| *s != Status::Permanent);
        let mut learnt: Vec<_> = learnt.collect();
        learnt.sort_by_key(|(adjacency, _)| (adjacency.interface, adjacency.address));
        let items = learnt.into_iter().map(|(adjacency, status)| {
            let mut values = Values::from([
                ("address", ip(adjacency.address)),
                ("interface", self.name(adjacency.interface)),
                ("status", Value::Text(status.name().to_string())),
                ("complete", Value::Bool(adjacency.ready)),
            ]);
            if let Some(mac) = adjacency.header.first_chunk().filter(|_| adjacency.ready) {
                values.insert("mac-address", Value::Mac(MacAddr(*mac)));
            }
            dynamic(numbers.of((adjacency.interface, adjacency.address)), values)
        });
        items.collect()
    }

    /// The networks of the router's addresses: flags `DAC`, or `DC` while another interface has
    /// the network or the interface does not run.
    pub(super) fn connected_routes(&self) -> Vec<Item> {
        let mut numbers = Numbers::default();
        let mut seen = HashSet::new();
        let own = self.router.program.addresses.iter();
        let own = own.filter(|own| own.network.len() < 32);
        let networks = own.filter(|own| seen.insert((own.network, own.interface)));
        let items = networks.map(|own| {
            let runs = self.router.program.runs(own.interface);
            let target = Some(Target::Connected(own.interface));
            let way = Candidate { prefix: own.network, distance: 0, target };
            let name = self.name(own.interface);
            let reachable = if runs { "reachable" } else { "unreachable" };
            let values = Values::from([
                ("dst-address", Value::Cidr(own.network.bits().into(), own.network.len())),
                ("pref-src", ip(own.address)),
                ("gateway-status", Value::Text(format!("{name} {reachable}"))),
                ("gateway", Value::List(vec![name])),
                ("distance", number(0)),
                ("active", Value::Bool(runs && self.router.routes.is_active(&way))),
                ("connect", Value::Bool(true)),
                ("static", Value::Bool(false)),
            ]);
            dynamic(numbers.of((own.network, own.interface)), values)
        });
        items.collect()
    }

    /// `/ip firewall connection`, by place in the table.
    pub(super) fn connections(&self) -> Vec<Item> {
        let entries = self.router.connections.list(self.now).map(|entry| {
            let mut values = entry.values();
            let timeout = Duration::from_secs(entry.timeout.as_secs());
            values.insert("timeout", Value::Time(timeout));
            dynamic(ItemId(CONNECTIONS + entry.id.0), values)
        });
        entries.collect()
    }

    /// In front of all rules while a connection is fasttracked.
    pub(super) fn dummy_rule(&self) -> Vec<Item> {
        if self.router.connections.fasttracked() == 0 {
            return Vec::new();
        }
        let mut rule = filter::dummy_rule(ItemId(FIRST_AHEAD));
        let count = self.router.paths.ipv4_fasttrack;
        rule.values.insert("bytes", number(count.bytes));
        rule.values.insert("packets", number(count.packets));
        vec![rule]
    }

    fn name(&self, interface: crate::interface::InterfaceId) -> Value {
        Value::Text(self.router.program.interface(interface).name.clone())
    }
}

fn dynamic(id: ItemId, values: Values) -> Item {
    Item { dynamic: true, ..Item::new(id, values) }
}
