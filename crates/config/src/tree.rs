//! What the user typed: items and settings, by menu. A passive value; applying it is the router's
//! business.

use crate::{Menu, Value};
use std::collections::BTreeMap;

/// An item's identity, stable for its life; printed `*HEX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u32);

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

/// The whole configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    menus: BTreeMap<&'static str, Vec<Item>>,
    next_id: u32,
}

impl Tree {
    /// The items of a list menu in their order; empty for a menu nothing was typed in.
    pub fn items(&self, path: &str) -> &[Item] {
        self.menus.get(path).map_or(&[], Vec::as_slice)
    }

    /// The items that are not disabled.
    pub fn enabled(&self, path: &str) -> impl Iterator<Item = &Item> {
        self.items(path).iter().filter(|item| !item.disabled)
    }

    /// The values of a settings menu, if any was set.
    pub fn settings(&self, path: &str) -> Option<&Item> {
        self.items(path).first()
    }

    /// Adds an item at the end and returns its identity. No rule of the menu is checked: this is
    /// for the interpreter, which has checked, and for devices, which bring their own items.
    pub fn push(&mut self, menu: &Menu, values: BTreeMap<&'static str, Value>) -> ItemId {
        self.next_id += 1;
        let id = ItemId(self.next_id);
        let comment = String::new();
        let item = Item { id, values, disabled: false, comment, dynamic: false };
        self.menus.entry(menu.path).or_default().push(item);
        id
    }
}

impl Item {
    /// What was typed for a property; `None` means its default.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }
}
