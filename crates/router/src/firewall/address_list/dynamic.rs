//! Entries of address lists that are not configured: made by rules, or typed with a timeout.
//!
//! ```text
//! add-src-to-address-list ─► add ─┬─ in it already: its time begins anew
//!                                 └─ new: whatever was learnt of the address is asked again (moved)
//! chores, each second ─► expire ──► moved
//! ```
//!
//! They live as long as the router, whatever becomes of the rule, and no longer: an export has none.
//! A single address takes 9 bytes in a hash table that is at least 7/16 full once it grew: 19 or
//! less. Looking for those whose time has come goes over all of a list, at most once a second, and
//! only if the first of them is due.
//!
//! Missing: **creation-time**, and **none-static** (a rule cannot write the configuration).

use crate::firewall::read::text;
use crate::firewall::rule::Books;
use crate::ip::family::{Block, Family};
use crate::packet::View;
use config::{Item, Value};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use wire::Moment;
use wire::layers::ETHERTYPE_IPV6;

/// A list, by a hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListKey(u64);

impl ListKey {
    /// The list of this name.
    pub(crate) fn of(name: &str) -> ListKey {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        ListKey(hasher.finish())
    }
}

/// All entries, by list.
#[derive(Clone, Debug, Default)]
pub(crate) struct DynamicLists<A: Family = u32> {
    lists: BTreeMap<ListKey, List<A>>,
    /// Single addresses in all lists.
    n: usize,
    /// The second at which the first entry ends, or earlier.
    next: u32,
    /// Addresses that came into a list, or left it, since somebody took them.
    moved: Vec<A>,
    /// So did networks.
    moved_many: bool,
    /// Entries there was no room for.
    pub(crate) refused: u64,
}

#[derive(Clone, Debug)]
struct List<A: Family> {
    name: String,
    /// When they end, in seconds.
    singles: HashMap<A, u32>,
    networks: Vec<(A::Block, u32)>,
}

impl<A: Family> Default for List<A> {
    fn default() -> List<A> {
        List { name: String::new(), singles: HashMap::new(), networks: Vec::new() }
    }
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a, A: Family = u32> {
    pub(crate) list: &'a str,
    pub(crate) address: A::Block,
    /// `None` if it has no timeout.
    pub(crate) left: Option<Duration>,
}

/// What moved.
pub(crate) enum Moved<A = u32> {
    Addresses(Vec<A>),
    /// Whole networks.
    All,
}

/// The end of what never ends.
const NEVER: u32 = u32::MAX;
/// Room for single addresses, of all lists together.
const MAX: usize = 1 << 20;
/// Room for networks, of one list: they are looked through one by one.
const MAX_NETWORKS: usize = 256;

fn seconds(now: Moment) -> u32 {
    (now.as_nanos() / 1_000_000_000).min(u64::from(NEVER - 1)) as u32
}

impl<A: Family> DynamicLists<A> {
    /// Whether an address is in a list.
    #[inline]
    pub(crate) fn contains(&self, list: ListKey, address: A) -> bool {
        let Some(list) = self.lists.get(&list) else { return false };
        list.singles.contains_key(&address)
            || list
                .networks
                .iter()
                .any(|(network, _)| network.least() <= address && address <= network.greatest())
    }

    /// Whether a list has entries of this kind.
    pub(crate) fn has(&self, list: ListKey) -> bool {
        self.lists.contains_key(&list)
    }

    /// Enters addresses, or begins their time anew. Without a timeout they stay.
    pub(crate) fn add(
        &mut self,
        name: &str,
        address: A::Block,
        timeout: Option<Duration>,
        now: Moment,
    ) {
        let end = timeout.map_or(NEVER, |timeout| seconds(now + timeout).saturating_add(1));
        let first = self.lists.is_empty();
        self.next = if first { end } else { self.next.min(end) };
        let list = self.lists.entry(ListKey::of(name)).or_default();
        if list.name.is_empty() {
            list.name = name.to_string();
        }
        if address.least() != address.greatest() {
            let known = list.networks.iter().position(|(network, _)| *network == address);
            if let Some(known) = known {
                list.networks[known].1 = end;
            } else if list.networks.len() == MAX_NETWORKS {
                self.refused += 1;
            } else {
                list.networks.push((address, end));
                self.moved_many = true;
            }
        } else if let Some(known) = list.singles.get_mut(&address.least()) {
            *known = end;
        } else if self.n == MAX {
            self.refused += 1;
        } else {
            list.singles.insert(address.least(), end);
            self.n += 1;
            self.moved.push(address.least());
        }
    }

    /// Takes out what is due.
    #[inline]
    pub(crate) fn expire(&mut self, now: Moment) {
        let now = seconds(now);
        if !self.lists.is_empty() && now >= self.next {
            self.take_out(|_, _, end| end > now);
        }
    }

    /// Takes entries out.
    pub(crate) fn remove(&mut self, entries: &[(String, A::Block)]) {
        self.take_out(|list, range, _| {
            !entries.iter().any(|(name, entry)| name == list && *entry == range)
        });
    }

    #[cold]
    fn take_out(&mut self, stays: impl Fn(&str, A::Block, u32) -> bool) {
        let (mut next, mut n) = (NEVER, 0);
        for list in self.lists.values_mut() {
            let (name, moved) = (&list.name, &mut self.moved);
            list.singles.retain(|&address, end| {
                let stays = stays(name, A::Block::host(address), *end);
                if stays {
                    next = next.min(*end);
                } else {
                    moved.push(address);
                }
                stays
            });
            let before = list.networks.len();
            list.networks.retain(|&(network, end)| stays(name, network, end));
            self.moved_many |= list.networks.len() != before;
            next = list.networks.iter().map(|&(_, end)| end).fold(next, u32::min);
            n += list.singles.len();
            if list.singles.capacity() > 64 && list.singles.len() < list.singles.capacity() / 4 {
                list.singles.shrink_to_fit();
            }
        }
        self.lists.retain(|_, list| !list.singles.is_empty() || !list.networks.is_empty());
        (self.next, self.n) = (next, n);
    }

    /// What moved since the last time; `None` if nothing.
    #[inline]
    pub(crate) fn take_moved(&mut self) -> Option<Moved<A>> {
        if self.moved.is_empty() && !self.moved_many {
            return None;
        }
        let addresses = std::mem::take(&mut self.moved);
        let many = std::mem::take(&mut self.moved_many);
        Some(if many { Moved::All } else { Moved::Addresses(addresses) })
    }

    /// All entries, by list and address.
    pub(crate) fn entries(&self, now: Moment) -> Vec<Entry<'_, A>> {
        let now = seconds(now);
        let mut entries = Vec::with_capacity(self.n);
        for list in self.lists.values() {
            let single = |(&address, &end): (&A, &u32)| (A::Block::host(address), end);
            let all = list.singles.iter().map(single).chain(list.networks.iter().copied());
            entries.extend(all.map(|(address, end)| Entry {
                list: &list.name,
                address,
                left: (end != NEVER).then(|| Duration::from_secs(end.saturating_sub(now).into())),
            }));
        }
        entries.sort_by_key(|entry: &Entry<A>| {
            (entry.list, entry.address.least(), entry.address.greatest())
        });
        entries
    }
}

/// `add-src-to-address-list`, `add-dst-to-address-list` of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddTo {
    list: String,
    source: bool,
    timeout: Option<Duration>,
}

impl AddTo {
    /// What the item's action adds, if it is one of these.
    pub(crate) fn of(item: &Item) -> Option<AddTo> {
        let source = match text(item, "action")? {
            "add-src-to-address-list" => true,
            "add-dst-to-address-list" => false,
            _ => return None,
        };
        let timeout = match item.get("address-list-timeout") {
            Some(&Value::Time(timeout)) => Some(timeout),
            _ => None,
        };
        Some(AddTo { list: text(item, "address-list")?.to_string(), source, timeout })
    }

    /// Adds the packet's address. Whoever's time begins anew with each packet has no recipe.
    pub(crate) fn run(&self, view: &View, books: &mut Books) {
        books.trace.once |= self.timeout.is_some();
        if view.layers.ether_type == ETHERTYPE_IPV6 {
            let address = if self.source { view.ends.src } else { view.ends.dst };
            let single = Block::host(address);
            return books.state.lists6.add(&self.list, single, self.timeout, books.now);
        }
        let tuple = &view.layers.tuple;
        let single = Block::host(if self.source { tuple.src } else { tuple.dst });
        books.state.lists.add(&self.list, single, self.timeout, books.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Ipv4Range;

    fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    fn single(address: u32) -> Ipv4Range {
        Ipv4Range::new(address, address).unwrap()
    }

    fn moved(lists: &mut DynamicLists) -> Vec<u32> {
        match lists.take_moved() {
            Some(Moved::Addresses(mut addresses)) => {
                addresses.sort_unstable();
                addresses
            }
            Some(Moved::All) => vec![u32::MAX],
            None => Vec::new(),
        }
    }

    #[test]
    fn entries_end_and_whoever_comes_again_stays() {
        let (mut lists, bad, good) =
            (DynamicLists::<u32>::default(), ListKey::of("bad"), ListKey::of("good"));
        let ten = Some(Duration::from_secs(10));
        for address in [1, 2] {
            lists.add("bad", single(address), ten, at(0));
        }
        lists.add("good", single(1), None, at(0));
        assert_eq!(moved(&mut lists), [1, 1, 2]);
        lists.add("bad", single(2), ten, at(9));
        lists.add("good", single(1), None, at(9));
        assert_eq!(moved(&mut lists), [0u32; 0], "they were there");
        lists.expire(at(10));
        assert!(lists.contains(bad, 1), "ten seconds have not quite passed");
        lists.expire(at(11));
        assert!(!lists.contains(bad, 1) && lists.contains(bad, 2) && lists.contains(good, 1));
        assert_eq!(moved(&mut lists), [1]);
        let left: Vec<_> =
            lists.entries(at(12)).iter().map(|e| (e.address.first(), e.left)).collect();
        assert_eq!(left, [(2, Some(Duration::from_secs(8))), (1, None)]);
        lists.remove(&[("good".to_string(), single(1))]);
        assert!(!lists.contains(good, 1));
        lists.expire(at(1000));
        assert_eq!((lists.n, lists.lists.len()), (0, 0));
    }

    #[test]
    fn networks() {
        let (mut lists, key) = (DynamicLists::<u32>::default(), ListKey::of("nets"));
        let network = Ipv4Range::new(0x0a00_0000, 0x0a00_00ff).unwrap();
        lists.add("nets", network, Some(Duration::from_secs(5)), at(0));
        assert!(lists.contains(key, 0x0a00_0080) && !lists.contains(key, 0x0a00_0100));
        assert_eq!(moved(&mut lists), [u32::MAX]);
        lists.expire(at(6));
        assert!(!lists.contains(key, 0x0a00_0080));
        assert_eq!(moved(&mut lists), [u32::MAX]);
    }

    #[test]
    fn a_million_and_no_more_with_less_than_24_bytes_each() {
        let mut lists = DynamicLists::<u32>::default();
        for n in 0..1_000_000 + 100_000u32 {
            lists.add(
                "flood",
                single(n.wrapping_mul(0x9e37_79b1)),
                Some(Duration::from_secs(60)),
                at(0),
            );
        }
        assert_eq!((lists.n, lists.refused), (MAX, 1_100_000 - MAX as u64));
        let table = &lists.lists[&ListKey::of("flood")].singles;
        // The table has 8/7 of its capacity in places of 8 bytes and a byte of control each.
        let bytes = (table.capacity() * 8 / 7).next_power_of_two() * 9;
        assert!(bytes / 1_000_000 < 24, "{bytes}");
        lists.expire(at(61));
        assert_eq!(lists.n, 0);
    }
}
