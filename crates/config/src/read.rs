//! Reading items: typed, and with the defaults filled in.
//!
//! ```
//! use config::{Menu, MenuKind, Property, Tree, Type, Value};
//! const ROUTE: Menu = Menu {
//!     path: "/ip route",
//!     kind: MenuKind::List { key: None, auto_name: None, ordered: false, fixed: false },
//!     properties: &[
//!         Property::new("dst-address", Type::Cidr, "Where to.").default("0.0.0.0/0"),
//!         Property::new("distance", Type::Number(1, 255), "Lower wins.").default("1"),
//!     ],
//!     help: "Routes.",
//! };
//! let mut tree = Tree::default();
//! tree.push(&ROUTE, [("distance", Value::Number(5))].into());
//! for route in tree.read(&ROUTE) {
//!     assert_eq!(route.number("distance"), 5);
//!     assert_eq!(route.text("dst-address"), "0.0.0.0/0");
//!     assert!(!route.bool("disabled"));
//! }
//! ```

use crate::{Item, ItemId, Menu, Tree, Value};
use std::borrow::Cow;
use std::time::Duration;

/// An item, or a settings menu, seen through its menu's table.
///
/// # Panics
/// All getters, if the property is not in the table, has another type, or has neither value nor
/// default where one is needed: mistakes in the program, never of the user.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    menu: &'a Menu,
    item: Option<&'a Item>,
}

impl<'a> Read<'a> {
    pub(crate) fn new(menu: &'a Menu, item: Option<&'a Item>) -> Read<'a> {
        Read { menu, item }
    }

    /// The item; settings nobody has touched have none.
    pub fn item(&self) -> Option<&'a Item> {
        self.item
    }

    /// The item's identity; 0 for settings nobody has touched.
    pub fn id(&self) -> ItemId {
        self.item.map_or(ItemId(0), |item| item.id)
    }

    /// The item's comment.
    pub fn comment(&self) -> &'a str {
        self.item.map_or("", |item| &item.comment)
    }

    /// The item's name: its menu's key property. Empty for items without.
    pub fn name(&self) -> &'a str {
        match (self.item, self.menu.key()) {
            (Some(item), Some(key)) => item.name(key),
            _ => "",
        }
    }

    /// What was typed, else the default, else `None`.
    pub fn opt(&self, name: &str) -> Option<Cow<'a, Value>> {
        match (name, self.item.filter(|_| self.menu.is_list())) {
            ("disabled", Some(item)) => Some(Cow::Owned(Value::Bool(item.disabled))),
            ("dynamic", Some(item)) => Some(Cow::Owned(Value::Bool(item.dynamic))),
            ("comment", Some(item)) => Some(Cow::Owned(Value::Text(item.comment.clone()))),
            _ => {
                let path = self.menu.path;
                let property = self.menu.property(name);
                let property = property.unwrap_or_else(|| panic!("{path} has no {name}"));
                match self.item.and_then(|item| item.get(name)) {
                    Some(value) => Some(Cow::Borrowed(value)),
                    None => property.default_value().map(Cow::Owned),
                }
            }
        }
    }

    /// The value of a property that has a default or is required.
    pub fn value(&self, name: &str) -> Cow<'a, Value> {
        let path = self.menu.path;
        self.opt(name).unwrap_or_else(|| panic!("{name} of {path} has neither value nor default"))
    }

    /// Yes or no; no if there is neither value nor default.
    pub fn bool(&self, name: &str) -> bool {
        match self.opt(name).as_deref() {
            None => false,
            Some(Value::Bool(value)) => *value,
            Some(other) => self.wrong(name, other, "a yes or no"),
        }
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> i64 {
        match &*self.value(name) {
            Value::Number(number) => *number,
            other => self.wrong(name, other, "a number"),
        }
    }

    /// As text, whatever its type; empty if there is neither value nor default.
    pub fn text(&self, name: &str) -> String {
        match self.opt(name).as_deref() {
            None => String::new(),
            Some(Value::Text(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// A length of time.
    pub fn time(&self, name: &str) -> Duration {
        match &*self.value(name) {
            Value::Time(time) => *time,
            other => self.wrong(name, other, "a time"),
        }
    }

    /// Bits per second.
    pub fn rate(&self, name: &str) -> u64 {
        match &*self.value(name) {
            Value::Rate(rate) => *rate,
            other => self.wrong(name, other, "a rate"),
        }
    }

    /// The values of a list; none if there is neither value nor default.
    pub fn list(&self, name: &str) -> Vec<Value> {
        match self.opt(name).as_deref() {
            None => Vec::new(),
            Some(Value::List(values)) => values.clone(),
            Some(other) => self.wrong(name, other, "a list"),
        }
    }

    fn wrong(&self, name: &str, value: &Value, expected: &str) -> ! {
        panic!("{name} of {} is {value:?}, not {expected}", self.menu.path)
    }
}

impl Tree {
    /// A menu's items in their order, disabled ones included; of a settings menu, exactly one.
    pub fn read<'a>(&'a self, menu: &'a Menu) -> impl Iterator<Item = Read<'a>> {
        let items = self.items(menu.path);
        let untouched = (items.is_empty() && !menu.is_list()).then(|| Read::new(menu, None));
        items.iter().map(move |item| Read::new(menu, Some(item))).chain(untouched)
    }

    /// The values of a settings menu.
    pub fn read_settings<'a>(&'a self, menu: &'a Menu) -> Read<'a> {
        Read::new(menu, self.settings(menu.path))
    }
}
