//! Configuration as the user typed it: items and settings, by menu. A passive value; applying it is the
//! router's business.

use crate::{Menu, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An item's identity, stable for its life; printed `*HEX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u32);

impl ItemId {
    /// An identity as it is printed: `*HEX`, without a sign.
    pub fn parse(text: &str) -> Option<ItemId> {
        let hex = text.strip_prefix('*').filter(|hex| !hex.starts_with('+'))?;
        u32::from_str_radix(hex, 16).ok().map(ItemId)
    }
}

/// One item of a list menu, or the values of a settings menu.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its identity.
    pub id: ItemId,
    /// What was typed. Properties that are not here have their defaults.
    pub values: BTreeMap<&'static str, Value>,
    /// `disabled=yes`.
    pub disabled: bool,
    /// `comment=`; empty if none.
    pub comment: String,
    /// Whether the router made it, not the user: it cannot be changed.
    pub dynamic: bool,
}

/// The whole configuration. Cloning is cheap: menus are shared until one side changes them, and of a
/// changed menu the items that stayed are still the same ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    menus: BTreeMap<&'static str, Arc<Vec<Arc<Item>>>>,
    next_id: u32,
}

impl Tree {
    /// The identities of all items, in no particular order.
    pub fn ids(&self) -> impl Iterator<Item = ItemId> {
        self.menus.values().flat_map(|items| items.iter().map(|item| item.id))
    }

    /// The items of a list menu in their order; empty for a menu nothing was typed in.
    pub fn items(&self, path: &str) -> &[Arc<Item>] {
        self.menus.get(path).map_or(&[], |items| items.as_slice())
    }

    /// Whether both trees hold the very same items of a menu, neither having changed them since one
    /// was cloned of the other: known without looking at any. Equal items may be different ones.
    pub fn shares(&self, other: &Tree, path: &str) -> bool {
        match (self.menus.get(path), other.menus.get(path)) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// The items that are not disabled.
    pub fn enabled(&self, path: &str) -> impl Iterator<Item = &Item> {
        self.items(path).iter().map(|item| &**item).filter(|item| !item.disabled)
    }

    /// The values of a settings menu, if any was set.
    pub fn settings(&self, path: &str) -> Option<&Item> {
        self.items(path).first().map(|item| &**item)
    }

    /// Adds an item at the end and returns its identity. No rule of the menu is checked: this is
    /// for the interpreter, which has checked, and for devices, which bring their own items.
    pub fn push(&mut self, menu: &Menu, values: BTreeMap<&'static str, Value>) -> ItemId {
        let id = self.new_id();
        self.items_mut(menu.path).push(Arc::new(Item::new(id, values)));
        id
    }

    /// [`push`](Self::push), of an item that is disabled until the user enables it.
    pub fn push_disabled(&mut self, menu: &Menu, values: BTreeMap<&'static str, Value>) -> ItemId {
        let id = self.new_id();
        let item = Item { disabled: true, ..Item::new(id, values) };
        self.items_mut(menu.path).push(Arc::new(item));
        id
    }

    /// An identity nobody had before.
    pub(crate) fn new_id(&mut self) -> ItemId {
        self.next_id += 1;
        ItemId(self.next_id)
    }

    /// A menu's items, to change them. No rule of the menu is checked: see [`push`](Self::push).
    pub fn items_mut(&mut self, path: &'static str) -> &mut Vec<Arc<Item>> {
        Arc::make_mut(self.menus.entry(path).or_default())
    }

    /// The item of this identity.
    pub fn item(&self, path: &str, id: ItemId) -> Option<&Item> {
        let items = self.items(path);
        // They are in the order of their identities where none was moved.
        let sorted = items.binary_search_by_key(&id, |item| item.id);
        let at = sorted.ok().or_else(|| items.iter().position(|item| item.id == id));
        Some(&*items[at?])
    }

    /// The items there are; makes no entry for a menu nothing was typed in.
    pub fn existing_mut(&mut self, path: &str) -> &mut [Arc<Item>] {
        self.menus.get_mut(path).map_or(&mut [], |items| Arc::make_mut(items).as_mut_slice())
    }

    /// The values of a settings menu, to change them. No rule of the menu is checked.
    pub fn settings_mut(&mut self, menu: &Menu) -> &mut Item {
        if self.items(menu.path).is_empty() {
            self.push(menu, BTreeMap::new());
        }
        Arc::make_mut(&mut self.items_mut(menu.path)[0])
    }
}

impl std::fmt::Display for ItemId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "*{:X}", self.0)
    }
}

impl Item {
    /// An item with these values, enabled and without comment: for `Status::dynamic`.
    pub fn new(id: ItemId, values: BTreeMap<&'static str, Value>) -> Item {
        Item { id, values, disabled: false, comment: String::new(), dynamic: false }
    }

    /// What was typed for a property; `None` means its default.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// The text of the key property; empty if there is none.
    pub fn name(&self, key: &str) -> &str {
        match self.values.get(key) {
            Some(Value::Text(name)) => name,
            _ => "",
        }
    }
}
