//! Menus and their properties, as the facilities define them: each property once — name, type,
//! default, access, help — and everything else (parsing, completion, export, refusal) follows.

use crate::{AnyName, Item, Read, Type, Value};

/// A menu: a list of items, or one set of settings.
#[derive(Clone, Copy, Debug)]
pub struct Menu {
    /// The path, words separated by blanks, with a leading slash: `/ip firewall filter`.
    pub path: &'static str,
    /// List or settings.
    pub kind: MenuKind,
    /// All properties, those not implemented included (see [`Access::Missing`]).
    pub properties: &'static [Property],
    /// One sentence.
    pub help: &'static str,
}

/// What kind of menu it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuKind {
    /// One set of values: `set`, `print`, `export`; no `add`.
    Settings,
    /// Items. `add remove set move enable disable find print export`.
    List {
        /// The property that names an item and must be unique (`name`, or `default-name`), if any.
        key: Option<&'static str>,
        /// When the key is not given to `add`: this prefix and the first free number (`bridge1`).
        auto_name: Option<&'static str>,
        /// Whether the order of items matters and `move` and `place-before` exist.
        ordered: bool,
        /// Whether users may add and remove items; ethernet ports, for one, are there or not.
        fixed: bool,
    },
}

/// One property of a menu.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// As typed.
    pub name: &'static str,
    /// What it holds.
    pub kind: Type,
    /// As typed; empty means unset. Defaults are left out of `export`.
    pub default: &'static str,
    /// Who sets it.
    pub access: Access,
    /// One sentence.
    pub help: &'static str,
    /// Whether `print` gives it a column. A menu without any is printed as `name=value` runs.
    pub column: bool,
    /// For a read-only yes or no: the letter `print` shows in front (`R` for `running`).
    pub flag: Option<char>,
}

/// Who sets a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The user.
    Optional,
    /// The user, and `add` is refused without it.
    Required,
    /// The router: shown by `print`, refused in `set`.
    ReadOnly,
    /// RouterOS has it, we do not yet: refused, with this remark on what to do instead.
    Missing(&'static str),
}

impl Menu {
    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<&'static Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// The property that names items, if they have names.
    pub fn key(&self) -> Option<&'static str> {
        match self.kind {
            MenuKind::List { key, .. } => key,
            MenuKind::Settings => None,
        }
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.kind, MenuKind::List { .. })
    }

    /// An item's values with the defaults filled in.
    pub fn read<'a>(&'a self, item: &'a Item) -> Read<'a> {
        Read::new(self, Some(item))
    }
}

impl Property {
    /// An optional property without default.
    pub const fn new(name: &'static str, kind: Type, help: &'static str) -> Property {
        let access = Access::Optional;
        Property { name, kind, default: "", access, help, column: false, flag: None }
    }

    /// With a default, as typed.
    pub const fn default(self, default: &'static str) -> Property {
        Property { default, ..self }
    }

    /// Must be given to `add`.
    pub const fn required(self) -> Property {
        Property { access: Access::Required, ..self }
    }

    /// Set by the router only.
    pub const fn read_only(self) -> Property {
        Property { access: Access::ReadOnly, ..self }
    }

    /// Known to RouterOS, not implemented here: refused with `remark`.
    pub const fn missing(name: &'static str, remark: &'static str) -> Property {
        let access = Access::Missing(remark);
        Property { access, ..Property::new(name, Type::Text, "not implemented") }
    }

    /// Printed as a column of the menu's table.
    pub const fn column(self) -> Property {
        Property { column: true, ..self }
    }

    /// A flag that the router sets: `find running`, and `letter` in front of printed items.
    pub const fn flag(name: &'static str, letter: char, help: &'static str) -> Property {
        let access = Access::ReadOnly;
        Property { access, flag: Some(letter), ..Property::new(name, Type::Bool, help) }
    }

    /// The default, read; `None` if it has none.
    ///
    /// # Panics
    /// If the default is not of the property's type: a mistake in the table.
    pub fn default_value(&self) -> Option<Value> {
        if self.default.is_empty() {
            return None;
        }
        let value = self.kind.parse(self.default, &AnyName);
        let Property { name, default, .. } = self;
        Some(value.unwrap_or_else(|why| panic!("default of {name}, {default}: {why:?}")))
    }
}
