//! The names of items, as references and selectors need them.
//!
//! ```text
//! own    what the configuration says: kept right while a script adds thousands of queues
//! told   what the device has made itself: as it was when first asked for
//! ```
//!
//! An index is thrown away when the configuration it was made of has been changed by others. A session
//! keeps it from one line to the next: of 25,000 queues it takes milliseconds to make.

use crate::parse::pick;
use crate::run::Run;
use crate::view::Cursor;
use crate::{FIRST_DYNAMIC, ItemId, Language, Menu, Mismatch, Names, Tree, Type};
use std::collections::{BTreeMap, HashMap};

/// Names by menu, as far as they were needed.
#[derive(Default)]
pub(crate) struct Index {
    known: HashMap<&'static str, Known>,
    /// Of menus that make up names: all numbers below have been given, since a name was free last.
    given: HashMap<&'static str, u64>,
}

/// What a session knows between two lines: names, and the configuration that has them. A copy of the
/// session knows nothing.
#[derive(Default)]
pub(crate) struct Kept(Option<(Tree, Index)>);

impl Clone for Kept {
    fn clone(&self) -> Kept {
        Kept::default()
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

impl Kept {
    pub(crate) fn new(tree: Tree, index: Index) -> Kept {
        Kept(Some((tree, index)))
    }

    /// The names that still hold under this configuration.
    pub(crate) fn take(&mut self, tree: &Tree) -> Index {
        let Some((old, mut index)) = self.0.take() else { return Index::default() };
        index.refresh(&old, tree);
        index
    }
}

#[derive(Default)]
struct Known {
    own: HashMap<String, ItemId>,
    told: HashMap<String, ItemId>,
}

impl Index {
    /// Forgets what may not hold any more, now that `new` is the configuration and not `old`.
    pub(crate) fn refresh(&mut self, old: &Tree, new: &Tree) {
        self.known.retain(|path, known| known.told.is_empty() && old.shares(new, path));
        self.given.clear();
    }

    /// An item has a name now.
    pub(crate) fn add(&mut self, menu: &Menu, name: &str, id: ItemId) {
        if let Some(known) = self.known.get_mut(menu.path) {
            known.own.insert(name.to_string(), id);
        }
    }

    /// Nobody has this name any more.
    pub(crate) fn remove(&mut self, menu: &Menu, name: &str) {
        if let Some(known) = self.known.get_mut(menu.path) {
            known.own.remove(name);
        }
        self.given.clear();
    }

    fn named(&self, menu: &Menu, name: &str) -> Option<ItemId> {
        let known = self.known.get(menu.path).filter(|_| !name.is_empty())?;
        known.own.get(name).or_else(|| known.told.get(name)).copied()
    }
}

impl Run<'_> {
    /// Makes sure that the names of this menu's items are known.
    pub(crate) fn know(&mut self, menu: &'static Menu) {
        let Some(key) = menu.key().filter(|_| !self.index.known.contains_key(menu.path)) else {
            return;
        };
        let mut known = Known::default();
        let mut cursor = Cursor::default();
        while let Some(page) = self.page(menu, &mut cursor, false, |_, _, item| {
            Some((item.name(key).to_string(), item.id))
        }) {
            for (name, id) in page {
                let names = if id.0 < FIRST_DYNAMIC { &mut known.own } else { &mut known.told };
                names.entry(name).or_insert(id);
            }
        }
        self.index.known.insert(menu.path, known);
    }

    /// Makes sure that the names a value of this type may mean are known.
    pub(crate) fn know_references(&mut self, kind: &Type) {
        let mut menus = Vec::new();
        kind.each_reference(&mut |paths| {
            menus.extend(paths.iter().flat_map(|path| self.language.members(path)).copied());
        });
        for menu in menus {
            self.know(menu);
        }
    }

    /// The item of this name in this menu, the device's own included.
    pub(crate) fn named(&mut self, menu: &'static Menu, name: &str) -> Option<ItemId> {
        self.language.members(menu.path).iter().find_map(|member| {
            self.know(member);
            self.index.named(member, name)
        })
    }

    /// The prefix and the first number that make a name nobody has.
    pub(crate) fn free_name(&mut self, menu: &'static Menu, prefix: &str) -> String {
        let namespace = self.language.namespace(menu.path);
        let mut number = self.index.given.get(menu.path).copied().unwrap_or(1);
        loop {
            let name = format!("{prefix}{number}");
            if !namespace.iter().any(|menu| self.named(menu, &name).is_some()) {
                self.index.given.insert(menu.path, number);
                return name;
            }
            number += 1;
        }
    }

    /// All names of this menu's items, for a choice among them.
    pub(crate) fn names(&mut self, menu: &'static Menu) -> Vec<String> {
        self.language.members(menu.path).iter().for_each(|member| self.know(member));
        let names = KnownNames { language: self.language, index: &self.index };
        names.all(&[menu.path]).into_keys().collect()
    }
}

/// The names that are known, for reading values.
pub(crate) struct KnownNames<'r> {
    pub(crate) language: &'r Language,
    pub(crate) index: &'r Index,
}

impl KnownNames<'_> {
    fn all(&self, menus: &[&str]) -> BTreeMap<String, ItemId> {
        let menus = menus.iter().flat_map(|path| self.language.members(path));
        let known = menus.filter_map(|menu| self.index.known.get(menu.path));
        let names = known.flat_map(|known| known.own.iter().chain(&known.told));
        names.map(|(name, id)| (name.clone(), *id)).filter(|(name, _)| !name.is_empty()).collect()
    }
}

impl Names for KnownNames<'_> {
    fn resolve(&self, menus: &[&str], typed: &str) -> Result<String, Mismatch> {
        let mut members = menus.iter().flat_map(|path| self.language.members(path));
        if members.any(|menu| self.index.named(menu, typed).is_some()) {
            return Ok(typed.to_string());
        }
        let names = self.all(menus);
        if typed.starts_with('*')
            && let Some((name, _)) = names.iter().find(|(_, id)| id.to_string() == typed)
        {
            return Ok(name.clone());
        }
        pick(names.keys().map(String::as_str), typed).map(str::to_string)
    }
}
