//! Numbers of the configuration's items: an item's counter, its memory, its queue.
//!
//! ```text
//! control side   Book: item ──► number           (a new item: a fresh number)
//!                               │
//! data plane     counters[number], leaves[number], …   made when the change is applied
//! ```
//!
//! An item keeps its number as long as it exists, however often the program is compiled anew, so
//! what was counted survives every edit; the numbers of items that are gone are used again. An
//! item's identity is unique over all menus.
//!
//! Kept by the compiler alone: the data plane gets numbers, and learns which of them are fresh and
//! must begin at zero.

use config::ItemId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which item has which number. Cloning shares the entries until one side changes them.
#[derive(Clone, Debug)]
pub struct Book<Id> {
    by_item: Arc<BTreeMap<ItemId, Id>>,
    free: Vec<Id>,
    /// All numbers are below.
    end: u32,
    fresh: Vec<Id>,
}

/// Numbers that begin anew, and the number below which all are.
#[derive(Clone, Debug)]
pub struct Fresh<Id> {
    /// Given to items that had none.
    pub ids: Vec<Id>,
    /// How many places there must be.
    pub end: usize,
}

impl<Id> Default for Book<Id> {
    fn default() -> Book<Id> {
        Book { by_item: Arc::default(), free: Vec::new(), end: 0, fresh: Vec::new() }
    }
}

impl<Id: Copy + From<u32>> Book<Id> {
    /// The item's number; a fresh one when it is asked for the first time.
    pub fn of(&mut self, item: ItemId) -> Id {
        if let Some(&id) = self.by_item.get(&item) {
            return id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.end += 1;
            Id::from(self.end - 1)
        });
        Arc::make_mut(&mut self.by_item).insert(item, id);
        self.fresh.push(id);
        id
    }

    /// The item's number, if it ever had one.
    pub fn find(&self, item: ItemId) -> Option<Id> {
        self.by_item.get(&item).copied()
    }

    /// Forgets an item that is gone; returns the number it had, for [`reuse`](Self::reuse) when
    /// nobody uses it any more.
    pub fn remove(&mut self, item: ItemId) -> Option<Id> {
        let id = self.find(item)?;
        Arc::make_mut(&mut self.by_item).remove(&item);
        Some(id)
    }

    /// The next new items may have these numbers, which [`remove`](Self::remove) returned.
    pub fn reuse(&mut self, ids: impl IntoIterator<Item = Id>) {
        self.free.extend(ids);
    }

    /// The numbers given since the last call.
    pub fn take_fresh(&mut self) -> Fresh<Id> {
        Fresh { ids: std::mem::take(&mut self.fresh), end: self.end as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_keeps_its_number_until_it_is_gone() {
        let [a, b, c] = [1, 2, 3].map(ItemId);
        let mut book = Book::<u32>::default();
        assert_eq!((book.of(a), book.of(b), book.of(a)), (0, 1, 0));
        let fresh = book.take_fresh();
        assert_eq!((fresh.ids, fresh.end), (vec![0, 1], 2));
        let before = book.clone();
        assert_eq!((book.remove(a), book.remove(a), book.find(a)), (Some(0), None, None));
        assert_eq!((book.of(c), book.of(b)), (2, 1), "a's number may still be in use");
        book.reuse([0]);
        assert_eq!(book.of(ItemId(4)), 0);
        let fresh = book.take_fresh();
        assert_eq!((fresh.ids, fresh.end), (vec![2, 0], 3));
        assert_eq!(before.find(a), Some(0), "a copy is as it was");
    }
}
