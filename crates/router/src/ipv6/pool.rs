//! `/ipv6 pool`: prefixes to give out, and who has which.
//!
//! ```text
//! prefix 2001:db8:5::/56, prefix-length 64:   2001:db8:5::/64, 2001:db8:5:1::/64 … each given out once
//!      ├─► /ipv6 address from-pool=   (settle: an address keeps its prefix while the pool has it)
//!      └─► DHCPv6 server: delegated prefixes; addresses, of pools with prefix-length=128
//! ```
//!
//! Those of DHCPv6 clients are pools, too. A prefix is used once, whatever the pools that have it.

use crate::facility::{Facility, Rows};
use crate::firewall::menu::WORD;
use crate::program::Program;
use crate::router::Router;
use crate::status::{Numbers, RouterStatus, Values, dynamic};
use config::{Item, ItemId, Menu, MenuKind, Property, Tree, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::Ipv6Prefix;

/// `/ipv6 pool`.
pub(crate) const POOL: Menu = Menu {
    path: "/ipv6 pool",
    kind: MenuKind::List {
        key: Some("name"),
        auto_name: Some("pool"),
        ordered: false,
        fixed: false,
    },
    properties: &[
        Property::flag("dynamic", 'D', "A DHCPv6 client was given it."),
        Property::new("name", Type::Text, "Name of the pool.").column(),
        Property::new("prefix", Type::Cidr6, "What is given out of.").required().column(),
        Property::new("prefix-length", Type::Number(1, 128), "How long what is given out is.")
            .required()
            .column(),
    ],
    help: "Prefixes to give out: to interfaces, and to others by DHCPv6.",
};

/// `/ipv6 pool used`.
pub(crate) const USED: Menu = Menu {
    path: "/ipv6 pool used",
    kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: true },
    properties: &[
        Property::new("pool", WORD, "The pool it is of.").read_only().column(),
        Property::new("prefix", Type::Cidr6, "The prefix.").read_only().column(),
        Property::new("owner", WORD, "Who has taken it.").read_only().column(),
        Property::new("info", WORD, "For whom.").read_only().column(),
    ],
    help: "The prefixes of pools that are used now.",
};

/// `/ipv6 pool`.
pub(crate) static FACILITY: Facility = Facility {
    follows_found: true,
    compile: |c| {
        let typed = tree_pools(c.tree);
        c.program.v6.pools = typed.into_iter().chain(c.found.pools.iter().cloned()).collect();
    },
    check: |item, tree| check(tree, item),
    rows: Rows::Few(dynamic_pools),
    ..Facility::of(&POOL)
};

/// `/ipv6 pool used`.
pub(crate) static USED_FACILITY: Facility =
    Facility { rows: Rows::Few(used), ..Facility::of(&USED) };

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) prefix: Ipv6Prefix,
    /// How long what is given out is.
    pub(crate) len: u8,
    /// The DHCPv6 client that was given it.
    pub(crate) client: Option<ItemId>,
}

impl Pool {
    /// Whether a prefix is one of those given out.
    pub(crate) fn has(&self, prefix: Ipv6Prefix) -> bool {
        prefix.len() == self.len && self.prefix.contains(prefix.bits())
    }
}

/// An address that has its prefix of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) item: ItemId,
    pub(crate) pool: String,
    /// The interface, by name, for those who look.
    pub(crate) interface: String,
}

/// Who has a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    owner: Owner,
    info: String,
}

/// What has a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// An item of `/ipv6 address`.
    Address(ItemId),
    /// A DHCPv6 server.
    Server,
}

/// The prefixes that are used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    /// None of them holds another.
    prefixes: BTreeMap<Ipv6Prefix, User>,
}

/// The most prefixes of a pool that are looked at for a free one.
const MOST: u128 = 1 << 16;

impl Used {
    /// Takes the lowest free prefix of a pool that `may` be given out.
    pub(crate) fn take(
        &mut self,
        pools: &[Pool],
        name: &str,
        (owner, info): (Owner, &str),
        may: impl Fn(Ipv6Prefix) -> bool,
    ) -> Option<Ipv6Prefix> {
        for pool in pools.iter().filter(|pool| pool.name == name) {
            let wide = u32::from(pool.len - pool.prefix.len());
            let last = if wide >= 16 { MOST } else { 1 << wide };
            let at = |place: u128| {
                // Of the whole space there is one place, and no shift.
                let shift = place.checked_shl(u32::from(128 - pool.len)).unwrap_or(0);
                Ipv6Prefix::new(pool.prefix.bits() | shift, pool.len)
            };
            let free = (0..last).map(at).find(|&prefix| self.is_free(prefix) && may(prefix));
            if let Some(prefix) = free {
                self.prefixes.insert(prefix, User { owner, info: info.to_string() });
                return Some(prefix);
            }
        }
        None
    }

    /// Takes this prefix; no if somebody has it, or a part of it.
    pub(crate) fn claim(&mut self, prefix: Ipv6Prefix, owner: Owner, info: &str) -> bool {
        let is_free = self.is_free(prefix);
        if is_free {
            self.prefixes.insert(prefix, User { owner, info: info.to_string() });
        }
        is_free
    }

    /// Gives a prefix back.
    pub(crate) fn free(&mut self, prefix: Ipv6Prefix) {
        self.prefixes.remove(&prefix);
    }

    fn is_free(&self, prefix: Ipv6Prefix) -> bool {
        let before = self.prefixes.range(..=prefix).next_back();
        let within = self.prefixes.range(prefix..).next();
        !before.is_some_and(|(other, _)| other.contains(prefix.bits()))
            && !within.is_some_and(|(other, _)| prefix.contains(other.bits()))
    }

    /// What the addresses have, by item.
    pub(super) fn taken(&self) -> BTreeMap<ItemId, Ipv6Prefix> {
        let of = |(prefix, user): (&Ipv6Prefix, &User)| match user.owner {
            Owner::Address(item) => Some((item, *prefix)),
            Owner::Server => None,
        };
        self.prefixes.iter().filter_map(of).collect()
    }
}

/// Gives the addresses that want one a prefix; those keep theirs whose pool has it still.
pub(crate) fn settle(r: &mut Router) {
    let program = r.program.clone();
    let (wants, pools) = (&program.v6.wants, &program.v6.pools);
    let used = &mut r.services.v6.used;
    let has = |name: &str, prefix| pools.iter().any(|pool| pool.name == name && pool.has(prefix));
    used.prefixes.retain(|&prefix, user| match user.owner {
        Owner::Address(item) => {
            wants.iter().any(|want| want.item == item && has(&want.pool, prefix))
        }
        Owner::Server => true,
    });
    let taken = used.taken();
    for want in wants.iter().filter(|want| !taken.contains_key(&want.item)) {
        used.take(pools, &want.pool, (Owner::Address(want.item), &want.interface), |_| true);
    }
}

/// The enabled pools that were typed.
fn tree_pools(tree: &Tree) -> Vec<Pool> {
    let pools = tree.read(&POOL).filter_map(|item| {
        let Value::Cidr6(address, len) = *item.value("prefix") else { return None };
        let prefix = Ipv6Prefix::new(address.into(), len);
        let len = (item.number("prefix-length") as u8).max(len);
        Some(Pool { name: item.name().to_string(), prefix, len, client: None })
    });
    pools.collect()
}

/// What a pool that is added or changed must not be.
fn check(tree: &Tree, item: &Item) -> Result<(), String> {
    let prefix = |item: &Item| match item.get("prefix") {
        Some(&Value::Cidr6(address, len)) => Some(Ipv6Prefix::new(address.into(), len)),
        _ => None,
    };
    let Some(own) = prefix(item) else { return Ok(()) };
    if POOL.read(item).number("prefix-length") < i64::from(own.len()) {
        return Err(format!("failure: prefix-length is shorter than that of {own}"));
    }
    let mut others = tree.items(POOL.path).iter().filter(|other| other.id != item.id);
    let overlap = |other: Ipv6Prefix| other.contains(own.bits()) || own.contains(other.bits());
    match others.any(|other| prefix(other).is_some_and(overlap)) {
        true => Err("failure: pool prefixes overlap".to_string()),
        false => Ok(()),
    }
}

fn cidr(prefix: Ipv6Prefix) -> Value {
    Value::Cidr6(prefix.bits().into(), prefix.len())
}

/// The pools of DHCPv6 clients: flags `D`.
fn dynamic_pools(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let pools = status.router.program.v6.pools.iter().filter(|pool| pool.client.is_some());
    let items = pools.map(|pool| {
        let values = Values::from([
            ("name", Value::Text(pool.name.clone())),
            ("prefix", cidr(pool.prefix)),
            ("prefix-length", Value::Number(pool.len.into())),
        ]);
        dynamic(numbers.of((&pool.name, pool.prefix)), values)
    });
    items.collect()
}

/// `/ipv6 pool used`, by prefix.
fn used(status: &RouterStatus) -> Vec<Item> {
    let mut numbers = Numbers::default();
    let program: &Program = &status.router.program;
    let all = status.router.services.v6.used.prefixes.iter();
    let items = all.filter_map(|(&prefix, user)| {
        let pool = program.v6.pools.iter().find(|pool| pool.has(prefix))?;
        let owner = match user.owner {
            Owner::Address(_) => "Address",
            Owner::Server => "DHCP",
        };
        let values = Values::from([
            ("pool", Value::Text(pool.name.clone())),
            ("prefix", cidr(prefix)),
            ("owner", Value::Text(owner.to_string())),
            ("info", Value::Text(user.info.clone())),
        ]);
        Some(dynamic(numbers.of(prefix), values))
    });
    items.collect()
}

/// The pools, compiled.
pub(crate) type Pools = Arc<[Pool]>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_go_out_once_and_come_back() {
        let pool = |name: &str, prefix: &str, len| {
            let prefix = prefix.parse().unwrap();
            Pool { name: name.to_string(), prefix, len, client: None }
        };
        let pools = [
            pool("a", "2001:db8:4::/62", 64),
            pool("b", "2001:db8::/32", 128),
            pool("c", "::/0", 1),
        ];
        let mut used = Used::default();
        let take = |used: &mut Used, name: &str| {
            let taken = used.take(&pools, name, (Owner::Server, "x"), |prefix| {
                prefix != "2001:db8:4:1::/64".parse().unwrap()
            });
            taken.map(|prefix| prefix.to_string())
        };
        let all: Vec<_> = std::iter::from_fn(|| take(&mut used, "a")).collect();
        assert_eq!(all, ["2001:db8:4::/64", "2001:db8:4:2::/64", "2001:db8:4:3::/64"]);
        assert_eq!(take(&mut used, "b").as_deref(), Some("2001:db8::/128"));
        used.free("2001:db8:4:2::/64".parse().unwrap());
        assert!(!used.claim("2001:db8:4::/56".parse().unwrap(), Owner::Server, ""));
        assert!(!used.claim("2001:db8:4:3::5/128".parse().unwrap(), Owner::Server, ""));
        assert_eq!(take(&mut used, "a").as_deref(), Some("2001:db8:4:2::/64"));
        assert_eq!(take(&mut used, "c").as_deref(), Some("8000::/1"), "the other has parts");
        assert_eq!(take(&mut used, "d"), None);
    }
}
