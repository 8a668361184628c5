//! `rate-limit`: a line of rates, and the simple queue that it makes for a session, or a lease.
//!
//! ```text
//! rx[/tx] [burst rx[/tx] [threshold rx[/tx] [time rx[/tx] [priority [least rx[/tx]]]]]]
//!    rx is what the router receives: the client's upload          2M/10M 4M/20M 1M/5M 8 7
//! ```
//!
//! The same line is RADIUS's `Mikrotik-Rate-Limit`.

use crate::queue::menu::SIMPLE;
use config::{AnyName, Item, ItemId, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The properties of a simple queue, in the line's order.
const PARTS: [&str; 6] =
    ["max-limit", "burst-limit", "burst-threshold", "burst-time", "priority", "limit-at"];
/// Where the identities of such queues as items begin.
const ITEMS: u32 = 0x2000_0000;
/// The same of those of clients of hotspots.
const CLIENTS: u32 = 0x3f00_0000;
/// The same of those of leases.
const LEASES: u32 = 0x3000_0000;

/// A line as read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate(Vec<(&'static str, Value)>);

impl Rate {
    /// Reads a line.
    ///
    /// # Errors
    /// Which part is wrong.
    pub(crate) fn read(line: &str) -> Result<Rate, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || words.len() > PARTS.len() {
            return Err("rates: rx[/tx] [burst [threshold [time [priority [least]]]]]".to_string());
        }
        let mut parts = Vec::new();
        for (&name, word) in PARTS.iter().zip(&words) {
            let property = SIMPLE.property(name).ok_or("a queue's property")?;
            // As in RADIUS's dictionaries, nothing before the slash is the same as nothing at all.
            let value = property.kind.parse(word, &AnyName);
            parts.push((name, value.map_err(|_| format!("{name} in {line}, not {word}"))?));
        }
        if parts.len() == 2 {
            // Bursts last as long as the average is below the rate, over a second.
            let threshold = ("burst-threshold", parts[0].1.clone());
            parts.push(threshold);
        }
        if parts.len() == 3 {
            let second = Value::Time(std::time::Duration::from_secs(1));
            parts.push(("burst-time", Value::Pair(Box::new(second.clone()), Box::new(second))));
        }
        Ok(Rate(parts))
    }

    /// The queue of a hotspot's client.
    pub(crate) fn queue_of_client(&self, number: u32, name: String, address: u32) -> Arc<Item> {
        let target = Value::Cidr(address.into(), 32);
        self.item(CLIENTS + number, name, target, BTreeMap::new())
    }

    /// The queue of a typed lease's address.
    pub(crate) fn queue_of_lease(&self, lease: ItemId, name: String, address: u32) -> Arc<Item> {
        let target = Value::Cidr(address.into(), 32);
        self.item(LEASES + lease.0, name, target, BTreeMap::new())
    }

    /// The queue of a session's interface.
    pub(crate) fn queue(
        &self,
        number: u64,
        interface: &str,
        parent: Option<&str>,
        kind: Option<&Value>,
    ) -> Arc<Item> {
        let mut values = BTreeMap::new();
        if let Some(parent) = parent {
            values.insert("parent", Value::Text(parent.to_string()));
        }
        if let Some(kind) = kind {
            values.insert("queue", kind.clone());
        }
        let id = ITEMS + (number % u64::from(ITEMS / 2)) as u32;
        let target = Value::Text(interface.to_string());
        self.item(id, interface.to_string(), target, values)
    }

    fn item(
        &self,
        id: u32,
        name: String,
        target: Value,
        mut values: BTreeMap<&'static str, Value>,
    ) -> Arc<Item> {
        values.extend(self.0.iter().cloned());
        values.insert("target", Value::List(vec![target]));
        values.insert("name", Value::Text(name));
        let mut item = Item::new(ItemId(id), values);
        item.dynamic = true;
        Arc::new(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for (line, read) in [
            ("2M", Some("max-limit=2M/2M")),
            ("2M/10M", Some("max-limit=2M/10M")),
            (
                "1M 2M",
                Some("max-limit=1M/1M burst-limit=2M/2M burst-threshold=1M/1M burst-time=1s/1s"),
            ),
            (
                "2M/10M 4M/20M 1M/5M 8/9 7 1M/1M",
                Some(
                    "max-limit=2M/10M burst-limit=4M/20M burst-threshold=1M/5M burst-time=8s/9s \
                     priority=7/7 limit-at=1M/1M",
                ),
            ),
            ("", None),
            ("fast", None),
            ("1M 2M 3M 4 5 6M 7", None),
            ("1M 2M x", None),
        ] {
            let found = Rate::read(line).ok().map(|rate| {
                let part = |(name, value): &(&str, Value)| format!("{name}={value}");
                rate.0.iter().map(part).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found.as_deref(), read, "{line}");
        }
    }
}
