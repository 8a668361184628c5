//! `/ip pool`: ranges of addresses to give out, and who has which.
//!
//! ```text
//! ranges: 10.0.0.10-10.0.0.12, 10.0.0.20    given out, as by RouterOS v6, each from its end:
//!         12 11 10 20, then those of next-pool
//! ```
//!
//! An address is used once, whatever the pools that have it. Taking one takes time by how many were
//! given back since the last time, not by how many are used.

use crate::facility::{Facility, Rows};
use crate::firewall::menu::WORD;
use crate::status::{Numbers, RouterStatus, Values, dynamic, ip};
use config::{Item, ItemId, Menu, MenuKind, Property, Tree, Type, Value};
use std::collections::HashMap;
use std::sync::Arc;
use wire::{Ipv4Range, MacAddr};

/// `/ip pool`.
pub(crate) const POOL: Menu = Menu {
    path: "/ip pool",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("pool"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::new("name", Type::Text, "Name of the pool.").column(),
        Property::new("ranges", Type::List(&Type::Range), "Its addresses.").required().column(),
        Property::new("next-pool", Type::Text, "Where to take them from when these are all used.")
            .default("none"),
    ],
    help: "Ranges of addresses to give out.",
};

/// The name of a pool.
pub(crate) const A_POOL: Type = Type::Reference(&[POOL.path]);

/// `/ip pool used`.
pub(crate) const USED: Menu = Menu {
    path: "/ip pool used",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("pool", WORD, "The pool it is of.").read_only().column(),
        Property::new("address", Type::Address, "The address.").read_only().column(),
        Property::new("owner", WORD, "Who has taken it.").read_only().column(),
        Property::new("info", WORD, "For whom.").read_only().column(),
    ],
    help: "The addresses of pools that are used now.",
};

/// `/ip pool`.
pub(crate) static FACILITY: Facility = Facility {
    compile: |c| c.program.pools = compile(c.tree),
    check: |item, tree| check(tree, item),
    ..Facility::of(&POOL)
};

/// `/ip pool used`.
pub(crate) static USED_FACILITY: Facility =
    Facility { rows: Rows::Few(used), ..Facility::of(&USED) };

/// A pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pool {
    id: ItemId,
    pub(crate) name: String,
    ranges: Vec<Ipv4Range>,
    next: Option<String>,
}

impl Pool {
    /// How many addresses it has.
    fn len(&self) -> u64 {
        self.ranges.iter().map(|&range| size(range)).sum()
    }

    /// The address given out at this place.
    fn at(&self, mut place: u64) -> Option<u32> {
        for &range in &self.ranges {
            if place < size(range) {
                return Some(range.last() - place as u32);
            }
            place -= size(range);
        }
        None
    }

    /// The place of an address.
    fn place(&self, address: u32) -> Option<u64> {
        let mut before = 0;
        for &range in &self.ranges {
            if range.contains(address) {
                return Some(before + u64::from(range.last() - address));
            }
            before += size(range);
        }
        None
    }
}

fn size(range: Ipv4Range) -> u64 {
    u64::from(range.last() - range.first()) + 1
}

/// Who has an address: few bytes for each of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// A DHCP client.
    Client(MacAddr),
    /// A user of PPP, by the place of his call.
    Ppp(u32),
}

/// The addresses that are used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    addresses: HashMap<u32, User>,
    /// By pool: all places before this one are used.
    full: HashMap<ItemId, u64>,
}

impl Used {
    /// Takes a free address of a pool, or of those behind it; `None` if all are used. `may` says which
    /// can be given out at all.
    pub(crate) fn take(
        &mut self,
        pools: &[Pool],
        name: &str,
        user: &User,
        may: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let mut name = name;
        // Pools may stand behind each other in a circle.
        for _ in pools {
            let pool = pools.iter().find(|pool| pool.name == name)?;
            if let Some(address) = self.find(pool, &may) {
                self.claim(address, user);
                return Some(address);
            }
            name = pool.next.as_deref()?;
        }
        None
    }

    fn find(&mut self, pool: &Pool, may: impl Fn(u32) -> bool) -> Option<u32> {
        let full = self.full.entry(pool.id).or_default();
        for place in *full..pool.len() {
            let address = pool.at(place)?;
            match self.addresses.contains_key(&address) {
                true if place == *full => *full += 1,
                true => {}
                false if may(address) => return Some(address),
                // Such are few: the router's own, and those of typed leases.
                false => {}
            }
        }
        None
    }

    /// Takes this address; no if somebody has it.
    pub(crate) fn claim(&mut self, address: u32, user: &User) -> bool {
        let is_free = !self.addresses.contains_key(&address);
        if is_free {
            self.addresses.insert(address, user.clone());
        }
        is_free
    }

    /// Gives an address back.
    pub(crate) fn free(&mut self, pools: &[Pool], address: u32) {
        if self.addresses.remove(&address).is_none() {
            return;
        }
        for pool in pools {
            if let (Some(place), Some(full)) = (pool.place(address), self.full.get_mut(&pool.id)) {
                *full = place.min(*full);
            }
        }
    }

    /// The pools have changed: what was known of their places is no longer true.
    pub(crate) fn forget_places(&mut self) {
        self.full.clear();
    }
}

/// Whether a pool, or one behind it, has this address.
pub(crate) fn has(pools: &[Pool], name: &str, address: u32) -> bool {
    let mut name = name;
    for _ in pools {
        let Some(pool) = pools.iter().find(|pool| pool.name == name) else { return false };
        if pool.place(address).is_some() {
            return true;
        }
        let Some(next) = &pool.next else { return false };
        name = next;
    }
    false
}

fn compile(tree: &Tree) -> Arc<[Pool]> {
    let pools = tree.read(&POOL).map(|item| {
        let range = |value: &Value| match value {
            Value::Range(range) => Some(*range),
            _ => None,
        };
        Pool {
            id: item.id(),
            name: item.name().to_string(),
            ranges: item.list("ranges").iter().filter_map(range).collect(),
            next: Some(item.text("next-pool")).filter(|next| next != "none"),
        }
    });
    pools.collect()
}

/// What a pool that is added or changed must not be.
fn check(tree: &Tree, item: &Item) -> Result<(), String> {
    let ranges = |item: &Item| match item.get("ranges") {
        Some(Value::List(ranges)) => ranges.clone(),
        _ => Vec::new(),
    };
    if ranges(item).is_empty() {
        return Err("failure: ranges must not be empty".to_string());
    }
    let next = POOL.read(item).text("next-pool");
    if next != "none" && !tree.read(&POOL).any(|other| other.name() == next) {
        return Err("input does not match any value of next-pool".to_string());
    }
    let overlap = |one: &Value, other: &Value| match (one, other) {
        (Value::Range(one), Value::Range(other)) => {
            one.first() <= other.last() && other.first() <= one.last()
        }
        _ => false,
    };
    // Those of other pools may: an address is given out once, whichever gives it.
    let own = ranges(item);
    match own.iter().enumerate().any(|(n, one)| own[..n].iter().any(|o| overlap(o, one))) {
        true => Err("failure: pool ranges overlap".to_string()),
        false => Ok(()),
    }
}

/// `/ip pool used`, by address.
fn used(status: &RouterStatus) -> Vec<Item> {
    let (pools, mut numbers) = (&status.router.program.pools, Numbers::default());
    let mut all: Vec<_> = status.router.services.used.addresses.iter().collect();
    all.sort_by_key(|(address, _)| **address);
    let items = all.into_iter().filter_map(|(&address, user)| {
        let pool = pools.iter().find(|pool| pool.place(address).is_some())?;
        let (owner, info) = match user {
            User::Client(mac) => ("DHCP", mac.to_string()),
            User::Ppp(place) => {
                let call = status.router.link.calls.get(*place as usize);
                ("PPP", call.map_or(String::new(), |call| call.user().to_string()))
            }
        };
        let values = Values::from([
            ("pool", Value::Text(pool.name.clone())),
            ("address", ip(address)),
            ("owner", Value::Text(owner.to_string())),
            ("info", Value::Text(info)),
        ]);
        Some(dynamic(numbers.of(address), values))
    });
    items.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(id: u32, name: &str, ranges: &[(u32, u32)], next: Option<&str>) -> Pool {
        let ranges = ranges.iter().map(|&(first, last)| Ipv4Range::new(first, last).unwrap());
        let next = next.map(str::to_string);
        Pool { id: ItemId(id), name: name.to_string(), ranges: ranges.collect(), next }
    }

    #[test]
    fn addresses_go_out_once_and_come_back() {
        let pools =
            [pool(1, "a", &[(10, 12), (20, 20)], Some("b")), pool(2, "b", &[(30, 31)], Some("a"))];
        let mut used = Used::default();
        let take = |used: &mut Used| used.take(&pools, "a", &User::Ppp(0), |address| address != 11);
        let all: Vec<_> = std::iter::from_fn(|| take(&mut used)).collect();
        assert_eq!(all, [12, 10, 20, 31, 30], "and then none, though the pools are a circle");
        used.free(&pools, 20);
        used.free(&pools, 12);
        used.free(&pools, 99);
        assert!(used.claim(20, &User::Ppp(1)) && !used.claim(20, &User::Ppp(2)));
        assert_eq!((take(&mut used), take(&mut used)), (Some(12), None));
        for (address, there) in [(10, true), (31, true), (13, false)] {
            assert_eq!(has(&pools, "a", address), there, "{address}");
        }
        assert_eq!(used.take(&pools, "c", &User::Ppp(0), |_| true), None);
    }

    #[test]
    fn many_cost_no_more_than_few() {
        let pools = [pool(1, "a", &[(1, 0x00ff_ffff)], None)];
        let mut used = Used::default();
        // Each looked for from the beginning would be two billion steps.
        for n in 0..65_536u32 {
            let taken = used.take(&pools, "a", &User::Ppp(0), |_| true);
            assert_eq!(taken, Some(0x00ff_ffff - n));
        }
    }
}
