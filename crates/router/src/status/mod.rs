//! Status of the running router, shown beside what was typed: counters, flags, why a rule is invalid, and the
//! items the router made itself.
//!
//! ```text
//! print, find, get ─► config::Interpreter ─► RouterStatus ─► the menu's Facility ─► Router, as it is now
//! add, set ──────────────────────────────► check ──────────► the menu's Facility
//! ```
//!
//! Speaks of the configuration that the router has taken over: an item added by the same script
//! has no counter, no flag and no remark yet.
//!
//! Never changes anything; what does are the commands of a facility.

// `/log`.
pub(crate) mod log;
// `/tool discard`.
pub(crate) mod discard;
// Numbers for the items the router made itself.
mod rows;

pub use crate::facility::{check, factory};
pub(crate) use rows::{BY_PLACE, Numbers, Page, Values, behind, dynamic, numbered, one_behind};

use crate::facility::{Facility, Rows};
use crate::router::Router;
use config::{Item, ItemId, Menu, Tree, Value};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wire::Moment;

/// A router as the console sees it at one moment.
pub struct RouterStatus<'a> {
    pub(crate) router: &'a Router,
    pub(crate) now: Moment,
}

impl Router {
    /// What the console shows now. All counters are brought up to date first.
    pub fn status(&mut self, now: Moment) -> RouterStatus<'_> {
        self.learnt.recipes.fold(&mut self.stats.counters);
        RouterStatus { router: self, now }
    }
}

impl RouterStatus<'_> {
    /// The time of day: seconds since 1970.
    pub fn unix(&self) -> u64 {
        self.router.rules.clock.zero + self.now.as_nanos() / 1_000_000_000
    }
}

impl config::Status for RouterStatus<'_> {
    fn value(&self, menu: &Menu, item: Option<&Item>, property: &str) -> Option<Value> {
        let facility = Facility::find(menu.path);
        let Some(item) = item.filter(|_| menu.is_list()) else {
            return (facility.setting)(self, property);
        };
        (facility.value)(self, item, property).or_else(|| {
            let is_invalid = || !item.disabled && (facility.remark)(self, item).is_some();
            let begins_with = || item.get("default") == Some(&Value::Bool(true));
            match property {
                "invalid" => Some(Value::Bool(is_invalid())),
                "default" => Some(Value::Bool(begins_with())),
                _ => None,
            }
        })
    }

    fn remark(&self, menu: &Menu, item: &Item) -> Option<String> {
        (Facility::find(menu.path).remark)(self, item)
    }

    fn dynamic(&self, menu: &Menu) -> Vec<Item> {
        match Facility::find(menu.path).rows {
            Rows::None => Vec::new(),
            Rows::Few(all) => all(self),
            Rows::Many { page, .. } => page(self, None, usize::MAX),
        }
    }

    fn dynamic_page(&self, menu: &Menu, after: Option<ItemId>, max: usize) -> Vec<Item> {
        if let Rows::Many { page, .. } = Facility::find(menu.path).rows {
            return page(self, after, max);
        }
        let all = self.dynamic(menu);
        let from = after
            .map_or(Some(0), |after| all.iter().position(|item| item.id == after).map(|at| at + 1));
        all.into_iter().skip(from.unwrap_or(usize::MAX)).take(max).collect()
    }

    fn dynamic_item(&self, menu: &Menu, id: ItemId) -> Option<Item> {
        match Facility::find(menu.path).rows {
            Rows::Many { item: Some(item), .. } => item(self, id),
            Rows::Many { page, item: None } => one_behind(self, page, id),
            _ => self.dynamic(menu).into_iter().find(|item| item.id == id),
        }
    }

    fn check(&self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        check(menu, item, tree)
    }

    fn factory(&self, menu: &Menu) -> Vec<BTreeMap<&'static str, Value>> {
        factory(menu)
    }

    fn banner(&self) -> Vec<String> {
        vec![format!("by wirespeed {}", env!("CARGO_PKG_VERSION")), String::new()]
    }
}

/// A count.
pub(crate) fn number(number: u64) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Why a quick way is closed.
pub(crate) fn reasons(unmet: &[&str]) -> Value {
    Value::Text(unmet.join("; "))
}

/// A property as it was typed, empty if it was not.
pub(crate) fn text(item: &Item, property: &str) -> String {
    item.get(property).map_or(String::new(), ToString::to_string)
}

/// An IPv4 address.
pub(crate) fn ip(address: u32) -> Value {
    Value::Address(Ipv4Addr::from(address))
}
