//! Numbers for the items the router made itself (`*A1234567`).
//!
//! An item keeps its number while it lives: it follows from what the item is about, and only if two of
//! a menu happen to have the same one does the next free number step in. A connection's is its place
//! in the table, so that it is found again; so is a fed route's.

use super::RouterStatus;
use config::{FIRST_AHEAD, FIRST_DYNAMIC, Item, ItemId, Value};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where the numbers of connections and of fed routes begin, which go by their places in their
/// tables; above them are the dummy rules.
pub(crate) const BY_PLACE: u32 = 0xc000_0000;

/// How many identities there are for what is numbered in the order in which it came: two billion
/// later they come again.
const NUMBERED: u64 = (FIRST_AHEAD - FIRST_DYNAMIC) as u64;

/// The item with this number in the order of coming.
pub(crate) fn numbered(number: u64) -> ItemId {
    ItemId(FIRST_DYNAMIC + (number % NUMBERED) as u32)
}

/// The number behind an item, of items that begin with number `first`; `first` if the item is gone.
pub(crate) fn behind(first: u64, after: Option<ItemId>) -> u64 {
    let Some(after) = after else { return first };
    let place = u64::from(after.0.saturating_sub(FIRST_DYNAMIC));
    let distance = (place + NUMBERED - first % NUMBERED) % NUMBERED;
    if distance < NUMBERED / 2 { first + distance + 1 } else { first }
}

/// A page of the items a menu has beside those of the configuration: at most so many behind one.
pub(crate) type Page = fn(&RouterStatus, Option<ItemId>, usize) -> Vec<Item>;

/// The item with this number: the one behind the number before.
pub(crate) fn one_behind(status: &RouterStatus, page: Page, id: ItemId) -> Option<Item> {
    let before = (id.0 > FIRST_DYNAMIC).then(|| ItemId(id.0 - 1));
    page(status, before, 1).into_iter().find(|item| item.id == id)
}

/// The values of an item that the router made.
pub(crate) type Values = BTreeMap<&'static str, Value>;

/// An item that the router made.
pub(crate) fn dynamic(id: ItemId, values: Values) -> Item {
    Item { dynamic: true, ..Item::new(id, values) }
}

/// Numbers for the items of one menu.
#[derive(Default)]
pub(crate) struct Numbers(HashSet<u32>);

impl Numbers {
    /// The number of whatever `key` names.
    pub(crate) fn of(&mut self, key: impl Hash) -> ItemId {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let size = BY_PLACE - FIRST_DYNAMIC;
        let mut at = hasher.finish() as u32 % size;
        while !self.0.insert(at) {
            at = (at + 1) % size;
        }
        ItemId(FIRST_DYNAMIC + at)
    }
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
