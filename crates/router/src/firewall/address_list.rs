//! `/ip firewall address-list`: named sets of addresses.
//!
//! Compiled to disjoint ranges in order, so that a look-up is a binary search and a feed of a
//! hundred thousand networks costs 8 bytes each.
//!
//! **Missing**: entries with a timeout, entries made by rules, DNS names.

use crate::firewall::menu;
use config::{Tree, Value};
use std::collections::HashMap;
use wire::Ipv4Range;

/// A set of addresses: disjoint ranges, ascending, no two of them adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSet {
    firsts: Vec<u32>,
    lasts: Vec<u32>,
}

impl AddressSet {
    /// Whether `addr` is in the set.
    #[inline]
    pub fn contains(&self, addr: u32) -> bool {
        let after = self.firsts.partition_point(|&first| first <= addr);
        after > 0 && addr <= self.lasts[after - 1]
    }

    /// Whether no address is in the set.
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }
}

impl FromIterator<Ipv4Range> for AddressSet {
    fn from_iter<I: IntoIterator<Item = Ipv4Range>>(ranges: I) -> AddressSet {
        let mut ranges: Vec<Ipv4Range> = ranges.into_iter().collect();
        ranges.sort_unstable_by_key(|range| range.first());
        let mut set = AddressSet::default();
        for range in ranges {
            match set.lasts.last_mut() {
                Some(last) if range.first() <= last.saturating_add(1) => {
                    *last = (*last).max(range.last());
                }
                _ => {
                    set.firsts.push(range.first());
                    set.lasts.push(range.last());
                }
            }
        }
        set
    }
}

/// All lists of a configuration, by name.
#[derive(Clone, Debug)]
pub struct AddressLists {
    /// The first is empty: that of every name that has no entry.
    sets: Vec<AddressSet>,
    by_name: HashMap<String, u32>,
}

impl AddressLists {
    /// The enabled entries of the menu.
    pub fn compile(tree: &Tree) -> AddressLists {
        let mut ranges: HashMap<&str, Vec<Ipv4Range>> = HashMap::new();
        for item in tree.enabled(menu::ADDRESS_LIST.path) {
            if let (Some(Value::Text(list)), Some(Value::Range(range))) =
                (item.get("list"), item.get("address"))
            {
                ranges.entry(list).or_default().push(*range);
            }
        }
        let mut lists = AddressLists { sets: vec![AddressSet::default()], by_name: HashMap::new() };
        for (name, ranges) in ranges {
            lists.by_name.insert(name.to_string(), lists.sets.len() as u32);
            lists.sets.push(ranges.into_iter().collect());
        }
        lists
    }

    /// The list of this name; an empty one if it has no entry.
    pub(crate) fn find(&self, name: &str) -> u32 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    /// The addresses of a list.
    #[inline]
    pub(crate) fn get(&self, list: u32) -> &AddressSet {
        &self.sets[list as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn contains_what_a_range_contains(
            ranges in prop::collection::vec((0u32..300, 0u32..40), 0..12),
            top in any::<bool>(),
        ) {
            // At either end of the address space, where arithmetic would overflow.
            let base = if top { u32::MAX - 340 } else { 0 };
            let range = |&(a, n): &(u32, u32)| Ipv4Range::new(base + a, base + a + n).unwrap();
            let ranges: Vec<Ipv4Range> = ranges.iter().map(range).collect();
            let set: AddressSet = ranges.iter().copied().collect();
            for addr in (0..=340).map(|n| base + n).chain([0, 1, u32::MAX]) {
                let want = ranges.iter().any(|range| range.contains(addr));
                prop_assert_eq!(set.contains(addr), want, "{} in {:?}", addr, set);
            }
            prop_assert_eq!(set.is_empty(), ranges.is_empty());
        }
    }
}
