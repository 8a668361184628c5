//! MIBs of the SNMP agent: SNMPv2-MIB's system, IF-MIB, of IP-MIB addresses, how many routes there are, and
//! MikroTik's tables of queues.
//!
//! ```text
//! COLUMNS, in the order of their names ─ each with the rows of its table ─► name = column.row
//! ```
//!
//! Asking for what is behind a name is a walk over the columns and a search by halves in one table, so a
//! walk over 25,000 queues takes as long as its datagrams do.

use crate::interface::InterfaceId;
use crate::ip::address::Address;
use crate::parts::{InterfaceCounts, Trouble};
use crate::program::{Interface, Kind};
use crate::queue::leaf::LeafStats;
use crate::router::Router;
use config::ItemId;
use wire::Moment;
use wire::snmp::agent::Value;

/// Whose rows a column has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    One,
    Interfaces,
    Addresses,
    Simple,
    Tree,
}

/// A column of a table, or a value alone.
struct Column {
    name: &'static [u32],
    rows: Rows,
    value: fn(&Mib, usize) -> Value,
}

macro_rules! columns {
    ($($prefix:ident $rows:ident { $($number:literal => $value:expr;)* })*) => {
        &[$($(Column {
            name: &{
                const PREFIX: &[u32] = $prefix;
                let mut name = [0; PREFIX.len() + 1];
                let mut at = 0;
                while at < PREFIX.len() {
                    name[at] = PREFIX[at];
                    at += 1;
                }
                name[PREFIX.len()] = $number;
                name
            },
            rows: Rows::$rows,
            value: $value,
        },)*)*]
    };
}

const SYSTEM: &[u32] = &[1, 3, 6, 1, 2, 1, 1];
const INTERFACES: &[u32] = &[1, 3, 6, 1, 2, 1, 2];
const IF_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1];
const IP: &[u32] = &[1, 3, 6, 1, 2, 1, 4];
const IP_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 20, 1];
const FORWARD: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 24];
const IFX_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
const SIMPLE: &[u32] = &[1, 3, 6, 1, 4, 1, 14988, 1, 1, 2, 1, 1];
const TREE: &[u32] = &[1, 3, 6, 1, 4, 1, 14988, 1, 1, 2, 2, 1];

/// By their names.
static COLUMNS: &[Column] = columns! {
    SYSTEM One {
        1 => |_, _| text(concat!("RouterOS wirespeed ", env!("CARGO_PKG_VERSION")));
        2 => |_, _| Value::Name(vec![1, 3, 6, 1, 4, 1, 14988, 1]);
        3 => |mib, _| Value::Ticks(mib.now.as_nanos() / 10_000_000);
        4 => |mib, _| text(&mib.r.program.system.snmp.contact);
        5 => |mib, _| text(&mib.r.program.system.identity);
        6 => |mib, _| text(&mib.r.program.system.snmp.location);
        // Layers 2, 3, 4 and 7.
        7 => |_, _| Value::Integer(78);
    }
    INTERFACES One {
        1 => |mib, _| Value::Integer(mib.interfaces.len() as i32);
    }
    IF_ENTRY Interfaces {
        1 => |mib, row| Value::Integer(mib.interfaces[row].0 as i32);
        2 => |mib, row| text(&mib.interface(row).name);
        3 => |mib, row| Value::Integer(kind(mib.interface(row).kind));
        4 => |mib, row| Value::Integer(mib.interface(row).mtu.into());
        5 => |mib, row| Value::Gauge(mib.mbps(row) * 1_000_000);
        6 => |mib, row| Value::Octets(mib.interface(row).mac.0.to_vec());
        7 => |mib, row| Value::Integer(if mib.interface(row).enabled { 1 } else { 2 });
        8 => |mib, row| Value::Integer(if mib.interface(row).running { 1 } else { 2 });
        9 => |_, _| Value::Ticks(0);
        10 => |mib, row| Value::Counter32(mib.counts(row).rx.bytes);
        11 => |mib, row| Value::Counter32(mib.counts(row).rx.packets);
        13 => |mib, row| Value::Counter32(mib.trouble(row).rx_drop);
        14 => |mib, row| Value::Counter32(mib.trouble(row).rx_error);
        16 => |mib, row| Value::Counter32(mib.counts(row).tx.bytes);
        17 => |mib, row| Value::Counter32(mib.counts(row).tx.packets);
        19 => |mib, row| Value::Counter32(mib.trouble(row).tx_drop + mib.trouble(row).queue_drop);
        20 => |_, _| Value::Counter32(0);
    }
    IP One {
        1 => |mib, _| Value::Integer(if mib.r.program.settings.ip_forward { 1 } else { 2 });
    }
    IP_ADDRESS Addresses {
        1 => |mib, row| Value::Address(mib.addresses[row].address);
        2 => |mib, row| Value::Integer(mib.addresses[row].interface.0 as i32);
        3 => |mib, row| Value::Address(mib.mask(row));
        4 => |mib, row| Value::Integer(i32::from(mib.mask(row) != u32::MAX));
    }
    FORWARD One {
        // How many routes there are: ipCidrRouteNumber, inetCidrRouteNumber.
        3 => |mib, _| Value::Gauge(mib.r.v4.routes.len() as u64);
        6 => |mib, _| Value::Gauge(mib.r.v4.routes.len() as u64);
    }
    IFX_ENTRY Interfaces {
        1 => |mib, row| text(&mib.interface(row).name);
        6 => |mib, row| Value::Counter64(mib.counts(row).rx.bytes);
        7 => |mib, row| Value::Counter64(mib.counts(row).rx.packets);
        10 => |mib, row| Value::Counter64(mib.counts(row).tx.bytes);
        11 => |mib, row| Value::Counter64(mib.counts(row).tx.packets);
        15 => |mib, row| Value::Gauge(mib.mbps(row));
    }
    SIMPLE Simple {
        1 => |_, row| Value::Integer(row as i32 + 1);
        2 => |mib, row| text(&mib.r.program.system.snmp.simple[row].0);
        8 => |mib, row| Value::Counter32(mib.simple(row, 0).bytes);
        9 => |mib, row| Value::Counter32(mib.simple(row, 1).bytes);
        10 => |mib, row| Value::Counter32(mib.simple(row, 0).packets);
        11 => |mib, row| Value::Counter32(mib.simple(row, 1).packets);
        14 => |mib, row| Value::Counter32(mib.simple(row, 0).dropped);
        15 => |mib, row| Value::Counter32(mib.simple(row, 1).dropped);
    }
    TREE Tree {
        1 => |_, row| Value::Integer(row as i32 + 1);
        2 => |mib, row| text(&mib.r.program.system.snmp.tree[row].0);
        5 => |mib, row| Value::Counter32(mib.tree(row).bytes);
        6 => |mib, row| Value::Counter32(mib.tree(row).packets);
        7 => |mib, row| Value::Counter64(mib.tree(row).bytes);
        9 => |mib, row| Value::Counter32(mib.tree(row).dropped);
    }
};

/// The values at one moment.
pub(super) struct Mib<'a> {
    r: &'a Router,
    now: Moment,
    /// By their numbers.
    interfaces: Vec<InterfaceId>,
    /// By address.
    addresses: Vec<&'a Address>,
}

impl<'a> Mib<'a> {
    pub(super) fn new(r: &'a Router, now: Moment) -> Mib<'a> {
        let named = r.program.interfaces.iter().filter(|interface| !interface.name.is_empty());
        let mut interfaces: Vec<_> = named.map(|interface| interface.id).collect();
        interfaces.sort_unstable();
        let mut addresses: Vec<_> = r.program.addresses.iter().collect();
        addresses.sort_by_key(|own| own.address);
        addresses.dedup_by_key(|own| own.address);
        Mib { r, now, interfaces, addresses }
    }

    /// The value of this name.
    pub(super) fn get(&self, name: &[u32]) -> Option<Value> {
        let column = COLUMNS.iter().find(|column| name.starts_with(column.name))?;
        let row = self.find(column.rows, &name[column.name.len()..]).ok()?;
        Some((column.value)(self, row))
    }

    /// What stands behind this name, and its value.
    pub(super) fn next(&self, name: &[u32]) -> Option<(Vec<u32>, Value)> {
        for column in COLUMNS {
            let row = match name.strip_prefix(column.name) {
                Some(row) => match self.find(column.rows, row) {
                    Ok(row) => row + 1,
                    Err(row) => row,
                },
                None if name < column.name => 0,
                None => continue,
            };
            if row < self.len(column.rows) {
                let name = [column.name, &self.row(column.rows, row)].concat();
                return Some((name, (column.value)(self, row)));
            }
        }
        None
    }

    /// Where a row is in its table, or would be.
    fn find(&self, rows: Rows, name: &[u32]) -> Result<usize, usize> {
        let (mut from, mut to) = (0, self.len(rows));
        while from < to {
            let middle = (from + to) / 2;
            match self.row(rows, middle).as_slice().cmp(name) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        Err(from)
    }

    fn len(&self, rows: Rows) -> usize {
        match rows {
            Rows::One => 1,
            Rows::Interfaces => self.interfaces.len(),
            Rows::Addresses => self.addresses.len(),
            Rows::Simple => self.r.program.system.snmp.simple.len(),
            Rows::Tree => self.r.program.system.snmp.tree.len(),
        }
    }

    /// What a row is called.
    fn row(&self, rows: Rows, at: usize) -> Vec<u32> {
        match rows {
            Rows::One => vec![0],
            Rows::Interfaces => vec![self.interfaces[at].0],
            Rows::Addresses => self.addresses[at].address.to_be_bytes().map(u32::from).to_vec(),
            Rows::Simple | Rows::Tree => vec![at as u32 + 1],
        }
    }

    fn interface(&self, row: usize) -> &Interface {
        self.r.program.interface(self.interfaces[row])
    }

    fn counts(&self, row: usize) -> InterfaceCounts {
        self.r.interface_counts(self.interfaces[row])
    }

    fn trouble(&self, row: usize) -> Trouble {
        self.r.interface_trouble(self.interfaces[row])
    }

    /// The speed of a port, if its link has one.
    fn mbps(&self, row: usize) -> u64 {
        let Kind::Ethernet { port } = self.interface(row).kind else { return 0 };
        let link = self.r.program.links.get(port as usize);
        link.and_then(|link| link.speed_mbps).map_or(0, u64::from)
    }

    fn mask(&self, row: usize) -> u32 {
        let len = u32::from(self.addresses[row].network.len());
        u32::MAX.checked_shl(32 - len).unwrap_or(0)
    }

    fn simple(&self, row: usize, way: usize) -> LeafStats {
        self.queue(self.r.program.system.snmp.simple[row].1, way)
    }

    fn tree(&self, row: usize) -> LeafStats {
        self.queue(self.r.program.system.snmp.tree[row].1, 0)
    }

    fn queue(&self, item: ItemId, way: usize) -> LeafStats {
        let queue = self.r.program.books.queues.find(item);
        queue.map_or(LeafStats::default(), |queue| self.r.queues.stats(queue.leaves()[way]))
    }
}

/// `ifType`.
fn kind(kind: Kind) -> i32 {
    match kind {
        Kind::Ethernet { .. } | Kind::Absent => 6,
        Kind::Bridge(_) => 209,
        Kind::Vlan { .. } => 135,
        Kind::Tunnel { .. } | Kind::Wireguard(_) => 131,
        Kind::Bond(_) => 161,
        Kind::Vrrp { .. } => 53,
        Kind::Session(_) => 23,
    }
}

fn text(text: &str) -> Value {
    Value::Octets(text.as_bytes()[..text.len().min(255)].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_in_order() {
        let pairs = COLUMNS.iter().zip(&COLUMNS[1..]);
        pairs.for_each(|(one, two)| assert!(one.name < two.name, "{:?}", two.name));
    }
}
