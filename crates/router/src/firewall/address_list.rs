//! `/ip firewall address-list`: named sets of addresses.
//!
//! ```text
//! the menu ─► AddressLists, of the program     disjoint ranges   (set)
//! rules, entries with a timeout ─► the state   single addresses  (dynamic)
//! ```
//!
//! A rule asks both. An entry with a timeout is no item of the configuration: it ends by itself, and
//! an export has it not.
//!
//! Of a DNS name the addresses are such entries, as `ip/dns/names.rs` finds them out.

// A set of addresses of any size.
pub mod set;
// The same of IPv6.
mod set6;

// Entries that are not configured.
pub(crate) mod dynamic;

// What is shown of them, added and removed.
pub(crate) mod entries;

pub use set::AddressSet;
pub use set6::AddressSet6;

use crate::firewall::menu;
use crate::ip::dns::names::List;
use crate::ipv6::firewall::ADDRESS_LIST as ADDRESS_LIST6;
use config::{Tree, Value};
use std::collections::HashMap;
use wire::{Ipv4Range, Ipv6Prefix};

/// All lists of a configuration, by name.
#[derive(Clone, Debug)]
pub struct AddressLists {
    /// The first is empty: that of every name that has no entry.
    sets: Vec<AddressSet>,
    by_name: HashMap<String, u32>,
    /// Those of `/ipv6 firewall address-list`, the first of them empty, too.
    sets6: Vec<AddressSet6>,
    by_name6: HashMap<String, u32>,
    /// Entries that are names.
    names: Vec<List>,
}

impl AddressLists {
    /// The enabled entries of the menu.
    pub fn compile(tree: &Tree) -> AddressLists {
        let mut ranges: HashMap<&str, Vec<Ipv4Range>> = HashMap::new();
        let mut names = Vec::new();
        for item in tree.enabled(menu::ADDRESS_LIST.path) {
            let Some(Value::Text(list)) = item.get("list") else { continue };
            match item.get("address") {
                Some(Value::Range(range)) => ranges.entry(list).or_default().push(*range),
                Some(Value::Text(name)) => names.push(List::entry(list, name, false)),
                _ => {}
            }
        }
        let mut lists = AddressLists {
            sets: vec![AddressSet::default()],
            by_name: HashMap::new(),
            sets6: vec![AddressSet6::default()],
            by_name6: HashMap::new(),
            names,
        };
        let mut prefixes: HashMap<&str, Vec<Ipv6Prefix>> = HashMap::new();
        for item in tree.enabled(ADDRESS_LIST6.path) {
            let Some(Value::Text(list)) = item.get("list") else { continue };
            match item.get("address") {
                Some(&Value::Cidr6(address, len)) => {
                    let prefix = Ipv6Prefix::new(address.into(), len);
                    prefixes.entry(list).or_default().push(prefix);
                }
                Some(Value::Text(name)) => lists.names.push(List::entry(list, name, true)),
                _ => {}
            }
        }
        for (name, prefixes) in prefixes {
            lists.by_name6.insert(name.to_string(), lists.sets6.len() as u32);
            lists.sets6.push(prefixes.into_iter().collect());
        }
        for (name, ranges) in ranges {
            lists.by_name.insert(name.to_string(), lists.sets.len() as u32);
            lists.sets.push(ranges.into_iter().collect());
        }
        lists
    }

    /// Entries that are names.
    pub(crate) fn names(&self) -> &[List] {
        &self.names
    }

    /// The list of this name; an empty one if it has no entry.
    pub(crate) fn find(&self, name: &str) -> u32 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    /// The list of IPv6 of this name; an empty one if it has no entry.
    pub(crate) fn find6(&self, name: &str) -> u32 {
        self.by_name6.get(name).copied().unwrap_or(0)
    }

    /// Whether a list of IPv6 has an address.
    pub(crate) fn has6(&self, list: u32, address: u128) -> bool {
        self.sets6[list as usize].contains(address)
    }

    /// The addresses of a list.
    #[inline]
    pub(crate) fn get(&self, list: u32) -> &AddressSet {
        &self.sets[list as usize]
    }
}
