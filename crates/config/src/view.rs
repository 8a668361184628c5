//! The configuration and the running device at one moment, and a walk over a menu's items that
//! holds the device up only for a page at a time.
//!
//! ```text
//! Cursor:  ahead (the device's) ─► own (the user's) ─► behind (the device's)    of each member
//!          └──────────── PAGE items in one look, then packets go on ─────────┘
//! ```
//!
//! Never changes anything, and never holds more than a page of the device's own items.

use crate::file;
use crate::run::Run;
use crate::{
    Access, FIRST_AHEAD, FIRST_DYNAMIC, Item, ItemId, Language, Menu, Status, Tree, Value,
};
use std::collections::HashSet;

/// Items looked at in one go, while packets wait.
const PAGE: usize = 64;

/// What can be read at one moment.
pub(crate) struct View<'v> {
    pub(crate) tree: &'v Tree,
    pub(crate) status: &'v dyn Status,
}

/// Where a walk over a menu's items is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    member: usize,
    phase: Phase,
}

#[derive(Clone, Copy, Default)]
enum Phase {
    #[default]
    Ahead,
    /// The next of the user's, and the last of the device's that went ahead of them.
    Own(usize, Option<ItemId>),
    /// The last of the device's.
    Behind(Option<ItemId>),
}

impl View<'_> {
    /// What a property of an item is now: typed, by default, or what the device says. `member` is
    /// the menu the item is in, `menu` the one asked: another if it unites several.
    pub(crate) fn value(
        &self,
        menu: &Menu,
        member: &Menu,
        item: Option<&Item>,
        name: &str,
    ) -> Option<Value> {
        match (name, item.filter(|_| menu.is_list())) {
            (".id", Some(item)) => Some(Value::Text(item.id.to_string())),
            ("disabled", Some(item)) => Some(Value::Bool(item.disabled)),
            ("dynamic", Some(item)) => Some(Value::Bool(item.dynamic)),
            ("comment", Some(item)) => Some(Value::Text(item.comment.clone())),
            _ => {
                // What the member does not know is the uniting menu's own: `type`.
                let of_member = member.property(name).filter(|p| !is_missing(p.access));
                let menu = if of_member.is_some() { member } else { menu };
                let property = of_member.or_else(|| menu.property(name))?;
                if property.access == Access::Secret {
                    return None;
                }
                let typed = item.and_then(|item| item.get(name)).cloned();
                let told = || match property.access {
                    Access::Missing(_) => None,
                    _ if property.default.is_empty() => self.status.value(menu, item, name),
                    _ => None,
                };
                typed.or_else(told).or_else(|| property.default_value())
            }
        }
    }
}

fn is_missing(access: Access) -> bool {
    matches!(access, Access::Missing(_))
}

/// Whether only the running device can say what a property is, of an item without a value.
pub(crate) fn is_told(language: &Language, menu: &Menu, name: &str) -> bool {
    let members = language.members(menu.path).iter().copied();
    let mut properties = members.chain([menu]).filter_map(|menu| menu.property(name));
    properties.any(|property| property.default.is_empty())
}

impl Run<'_> {
    /// Looks at the configuration and the running device. Short: packets wait.
    pub(crate) fn look<T>(&mut self, look: impl FnOnce(&View) -> T) -> T {
        let tree = &self.tree;
        let mut look = Some(look);
        let mut seen = None;
        self.host.look(&mut |status| {
            if let Some(look) = look.take() {
                seen = Some(look(&View { tree, status }));
            }
        });
        match (seen, look) {
            (Some(seen), _) => seen,
            // A host whose device is gone has nothing to look at.
            (None, Some(look)) => look(&View { tree, status: &() }),
            (None, None) => unreachable!("a look that was taken was made"),
        }
    }

    /// [`look`](Self::look) for what a menu's items are: those of `/file` are the host's.
    fn look_at<T>(&mut self, menu: &Menu, look: impl FnOnce(&View) -> T) -> T {
        if menu.path != file::MENU.path {
            return self.look(look);
        }
        let files = self.files();
        look(&View { tree: &self.tree, status: &files })
    }

    /// What `read` makes of the next items of a menu, the device's own included, in the order of
    /// `print`; `None` at the end. Without `told`, the user's items are read without a look at the
    /// device: enough for what was typed.
    pub(crate) fn page<T>(
        &mut self,
        menu: &'static Menu,
        cursor: &mut Cursor,
        told: bool,
        mut read: impl FnMut(&View, &'static Menu, &Item) -> Option<T>,
    ) -> Option<Vec<T>> {
        let member = *self.language.members(menu.path).get(cursor.member)?;
        let mut rows = Vec::new();
        let next = match cursor.phase {
            Phase::Ahead => self.look_at(member, |view| {
                // They come first, and are few.
                let page = view.status.dynamic_page(member, None, PAGE);
                let is_ahead = |item: &&Item| item.id.0 >= FIRST_AHEAD;
                let last = page.iter().take_while(is_ahead).last().map(|item| item.id);
                let ahead = page.iter().filter(is_ahead);
                rows.extend(ahead.filter_map(|item| read(view, member, item)));
                Some(Phase::Own(0, last))
            }),
            Phase::Own(from, last) => {
                let own = self.tree.items(member.path).len();
                let to = (from + PAGE).min(own);
                let mut all = |view: &View| {
                    let page = &view.tree.items(member.path)[from..to];
                    rows.extend(page.iter().filter_map(|item| read(view, member, item)));
                };
                if told && from < to {
                    self.look(all);
                } else {
                    all(&View { tree: &self.tree, status: &() });
                }
                Some(if to == own { Phase::Behind(last) } else { Phase::Own(to, last) })
            }
            Phase::Behind(after) => self.look_at(member, |view| {
                let page = view.status.dynamic_page(member, after, PAGE);
                let last = page.last()?.id;
                let behind = page.iter().filter(|item| item.id.0 < FIRST_AHEAD);
                rows.extend(behind.filter_map(|item| read(view, member, item)));
                Some(Phase::Behind(Some(last)))
            }),
        };
        match next {
            Some(phase) => cursor.phase = phase,
            None => *cursor = Cursor { member: cursor.member + 1, phase: Phase::Ahead },
        }
        Some(rows)
    }

    /// Whether these are items of the menu, the device's own included.
    pub(crate) fn are_here(&mut self, menu: &'static Menu, ids: &[ItemId]) -> bool {
        // A script asks for each of thousands.
        if let [id] = ids {
            return self.item(menu, *id).is_some();
        }
        let mut wanted: HashSet<ItemId> = ids.iter().copied().collect();
        for member in self.language.members(menu.path) {
            for item in self.tree.items(member.path) {
                if wanted.is_empty() {
                    return true;
                }
                wanted.remove(&item.id);
            }
        }
        if wanted.iter().any(|id| id.0 < FIRST_DYNAMIC) {
            return false;
        }
        let mut cursor = Cursor::default();
        while !wanted.is_empty() {
            let page = self.page(menu, &mut cursor, false, |_, _, item| Some(item.id));
            let Some(page) = page else { return false };
            for id in page {
                wanted.remove(&id);
            }
        }
        true
    }

    /// The item of this identity and the menu it is in.
    pub(crate) fn item(
        &mut self,
        menu: &'static Menu,
        id: ItemId,
    ) -> Option<(&'static Menu, Item)> {
        let members = self.language.members(menu.path);
        if id.0 < FIRST_DYNAMIC {
            let mut own = members.iter().map(|member| (*member, self.tree.item(member.path, id)));
            return own.find_map(|(member, item)| Some((member, item?.clone())));
        }
        self.look_at(menu, |view| {
            let mut told =
                members.iter().map(|member| (*member, view.status.dynamic_item(member, id)));
            told.find_map(|(member, item)| Some((member, item?)))
        })
    }

    /// The item that stands at this place of an unprinted menu.
    pub(crate) fn nth(&mut self, menu: &'static Menu, number: usize) -> Option<ItemId> {
        let (mut cursor, mut before) = (Cursor::default(), 0);
        loop {
            let page = self.page(menu, &mut cursor, false, |_, _, item| Some(item.id))?;
            if let Some(id) = page.get(number - before) {
                return Some(*id);
            }
            before += page.len();
        }
    }
}
