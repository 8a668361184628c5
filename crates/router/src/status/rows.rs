//! The items the router made itself: learnt hosts and neighbours, connected and fed routes,
//! connections, the dummy rule of FastTrack.
//!
//! An item that is named by numbers (`*A1234567`) keeps its number while it lives: it follows from
//! what the item is about, and only if two of a menu happen to have the same one does the next
//! free number step in. A connection's is its place in the table, so that
//! [`connection`] finds it again; so is a fed route's.

use super::{RouterStatus, ip, log, number};
use crate::firewall::connection::ConnectionId;
use crate::firewall::filter;
use crate::interface::InterfaceId;
use crate::ip::feed::{FedRoute, Protocol};
use crate::ip::neighbour::{Neighbour, Status};
use crate::ip::route::{Candidate, Target};
use config::{FIRST_AHEAD, FIRST_DYNAMIC, Item, ItemId, Value};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Where the numbers of connections and of fed routes begin, which go by their places in their
/// tables; above them are the dummy rules.
const CONNECTIONS: u32 = 0xc000_0000;

/// The connection that an item of `/ip firewall connection` is.
pub(crate) fn connection(item: ItemId) -> Option<ConnectionId> {
    let range = CONNECTIONS..FIRST_AHEAD;
    range.contains(&item.0).then(|| ConnectionId(item.0 - CONNECTIONS))
}

/// How many identities there are for what is numbered in the order in which it came: two billion
/// later they come again.
const NUMBERED: u64 = (FIRST_AHEAD - FIRST_DYNAMIC) as u64;

fn numbered(number: u64) -> ItemId {
    ItemId(FIRST_DYNAMIC + (number % NUMBERED) as u32)
}

/// The number behind an item, of items that begin with number `first`; `first` if the item is gone.
fn behind(first: u64, after: Option<ItemId>) -> u64 {
    let Some(after) = after else { return first };
    let place = u64::from(after.0.saturating_sub(FIRST_DYNAMIC));
    let distance = (place + NUMBERED - first % NUMBERED) % NUMBERED;
    if distance < NUMBERED / 2 { first + distance + 1 } else { first }
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
        for (bridge, hosts) in program.bridges.iter().zip(&self.router.link.hosts) {
            let mut rows: Vec<_> = hosts.rows(self.now.as_millis_u32()).collect();
            rows.sort_by_key(|row| (row.mac, row.vid));
            items.extend(rows.into_iter().map(|row| {
                let mut values = Values::from([
                    ("mac-address", Value::Mac(row.mac)),
                    ("on-interface", self.name(row.host.port)),
                    ("bridge", self.name(bridge.interface)),
                    ("local", Value::Bool(row.host.local)),
                ]);
                if row.vid != 0 {
                    values.insert("vid", Value::Number(row.vid.into()));
                }
                if !row.host.local {
                    let age = Duration::from_secs(u64::from(row.age_ms) / 1000);
                    values.insert("age", Value::Time(age));
                }
                dynamic(numbers.of((bridge.item, row.mac, row.vid)), values)
            }));
        }
        items
    }

    /// What ARP has learnt, by interface and address.
    pub(super) fn learnt_neighbours(&self) -> Vec<Item> {
        let mut numbers = Numbers::default();
        let all = self.router.v4.neighbours.iter();
        let mut learnt: Vec<_> = all.filter(|row| row.status != Status::Permanent).collect();
        learnt.sort_by_key(|row| (row.interface, row.address));
        let items =
            learnt.into_iter().map(|Neighbour { interface, address, mac, status, .. }| {
                let mut values = Values::from([
                    ("address", ip(address)),
                    ("interface", self.name(interface)),
                    ("status", Value::Text(status.name().to_string())),
                    ("complete", Value::Bool(mac.is_some())),
                ]);
                if let Some(mac) = mac {
                    values.insert("mac-address", Value::Mac(mac));
                }
                dynamic(numbers.of((interface, address)), values)
            });
        items.collect()
    }

    /// `/ip route`: the networks of the router's addresses, then what was fed, by place; at most
    /// `max` behind an item.
    pub(super) fn routes_page(&self, after: Option<ItemId>, max: usize) -> Vec<Item> {
        let fed_after = after.filter(|after| after.0 >= CONNECTIONS);
        let mut items = Vec::new();
        if fed_after.is_none() {
            items = self.connected_routes();
            let from = after.map_or(Some(0), |after| {
                items.iter().position(|item| item.id == after).map(|at| at + 1)
            });
            items.drain(..from.unwrap_or(items.len()));
            items.truncate(max);
        }
        let from = fed_after.map_or(0, |last| last.0 - CONNECTIONS + 1);
        let fed = self.router.v4.routes.fed_routes(from).take(max - items.len());
        items.extend(fed.map(|route| self.fed_route(&route)));
        items
    }

    /// A fed route: flags `ADb`, or `Db` while its link is down or another one is better.
    fn fed_route(&self, route: &FedRoute<'_>) -> Item {
        let is = |protocol| Value::Bool(route.protocol == protocol);
        let mut values = Values::from([
            ("dst-address", Value::Cidr(route.prefix.bits().into(), route.prefix.len())),
            ("distance", number(route.protocol.distance().into())),
            ("active", Value::Bool(route.active)),
            ("connect", is(Protocol::Connect)),
            ("static", is(Protocol::Static)),
            ("rip", is(Protocol::Rip)),
            ("bgp", is(Protocol::Bgp)),
            ("ospf", is(Protocol::Ospf)),
        ]);
        let (ways, drops) = match route.target {
            Target::Connected(interface) => (vec![(*interface, self.name(*interface))], None),
            Target::Gateways(ways) => (ways.iter().map(|way| (way.0, ip(way.1))).collect(), None),
            Target::Blackhole => (Vec::new(), Some("blackhole")),
            Target::Prohibit => (Vec::new(), Some("prohibit")),
            _ => (Vec::new(), Some("unreachable")),
        };
        if let Some(kind) = drops {
            values.insert(kind, Value::Bool(true));
            values.insert("type", Value::Text(kind.to_string()));
            if route.protocol == Protocol::Elsewhere {
                let why = "the host sends there by an interface that is no port";
                values.insert("gateway-status", Value::Text(why.to_string()));
            }
        } else {
            let program = &self.router.program;
            let status = ways.iter().map(|(interface, gateway)| match program.runs(*interface) {
                true => format!("{gateway} reachable via {}", program.interface(*interface).name),
                false => format!("{gateway} unreachable"),
            });
            values.insert("gateway-status", Value::Text(status.collect::<Vec<_>>().join(",")));
            let gateways = ways.into_iter().map(|(_, gateway)| gateway).collect();
            values.insert("gateway", Value::List(gateways));
        }
        dynamic(ItemId(CONNECTIONS + route.place), values)
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
                ("scope", number(10)),
                ("active", Value::Bool(runs && self.router.v4.routes.is_active(&way))),
                ("connect", Value::Bool(true)),
                ("static", Value::Bool(false)),
            ]);
            dynamic(numbers.of((own.network, own.interface)), values)
        });
        items.collect()
    }

    /// `/ip firewall connection`, by place in the table: at most `max` behind an item.
    pub(super) fn connections_page(&self, after: Option<ItemId>, max: usize) -> Vec<Item> {
        let from = after.and_then(connection).map_or(0, |ConnectionId(last)| last + 1);
        let entries = self.router.v4.connections.list_from(ConnectionId(from), self.now);
        let items = entries.take(max).map(|entry| {
            let mut values = entry.values();
            let timeout = Duration::from_secs(entry.timeout.as_secs());
            values.insert("timeout", Value::Time(timeout));
            dynamic(ItemId(CONNECTIONS + entry.id.0), values)
        });
        items.collect()
    }

    /// `/tool sniffer packet`: at most `max` behind an item.
    pub(super) fn sniffed(&self, after: Option<ItemId>, max: usize) -> Vec<Item> {
        let Some(capture) = self.router.sniffed() else { return Vec::new() };
        let first = capture.from(0).next().map_or(0, |packet| packet.number);
        let packets = capture.from(behind(first, after)).take(max);
        let packets = packets
            .map(|packet| dynamic(numbered(packet.number), capture.values(self.router, packet)));
        packets.collect()
    }

    /// `/tool discard`: the reasons that occurred.
    pub(super) fn discards(&self) -> Vec<Item> {
        let occurred = self.router.discards().iter().map(|(reason, packets)| {
            let values = Values::from([
                ("reason", Value::Text(reason.to_string())),
                ("packets", number(packets)),
                ("meaning", Value::Text(reason.meaning().to_string())),
            ]);
            dynamic(numbered(reason as u64), values)
        });
        occurred.collect()
    }

    /// `/log`, oldest first: at most `max` behind an item.
    pub(super) fn log(&self, after: Option<ItemId>, max: usize) -> Vec<Item> {
        let first = self.router.stats.log.iter().next().map_or(0, |line| line.number);
        let names = |id| {
            let interface = self.router.program.interfaces.get(InterfaceId::index(id))?;
            Some(interface.name.as_str())
        };
        let lines = self.router.stats.log.from(behind(first, after)).take(max).map(|line| {
            let values = Values::from([
                ("time", Value::Text(log::time(line.at))),
                ("topics", Value::Text(line.topics().to_string())),
                ("message", Value::Text(line.display(names).to_string())),
            ]);
            dynamic(numbered(line.number), values)
        });
        lines.collect()
    }

    /// In front of all rules while a connection is fasttracked.
    pub(super) fn dummy_rule(&self) -> Vec<Item> {
        if self.router.v4.connections.fasttracked() == 0 {
            return Vec::new();
        }
        let mut rule = filter::dummy_rule(ItemId(FIRST_AHEAD));
        let count = self.router.stats.paths.ipv4_fasttrack;
        rule.values.insert("bytes", number(count.bytes));
        rule.values.insert("packets", number(count.packets));
        vec![rule]
    }

    fn name(&self, interface: InterfaceId) -> Value {
        Value::Text(self.router.program.interface(interface).name.clone())
    }
}

fn dynamic(id: ItemId, values: Values) -> Item {
    Item { dynamic: true, ..Item::new(id, values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_come_again_are_walked_on() {
        for (first, after, expected) in [
            (0, None, 0),
            (7, None, 7),
            (7, Some(9), 10),
            (7, Some(3), 7),
            (NUMBERED - 1, Some(NUMBERED - 1), NUMBERED),
            (NUMBERED - 1, Some(NUMBERED + 5), NUMBERED + 6),
            (5 * NUMBERED + 4, Some(5 * NUMBERED + 4), 5 * NUMBERED + 5),
            (5 * NUMBERED + 4, Some(5 * NUMBERED + 1), 5 * NUMBERED + 4),
        ] {
            assert_eq!(behind(first, after.map(numbered)), expected, "{first} {after:?}");
        }
    }
}
