//! Menus and their properties, as the facilities define them: each property once — name, type,
//! default, access, help — and everything else (parsing, printing, export, refusal) follows.
//!
//! Every list also has `comment` and `disabled`, which belong in no table. A table is checked by
//! [`faults`], in a test of whoever mounts it.

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
    /// The items of other menus together: `/interface`. What is shown, found and changed here are
    /// the items of those menus; a property that a menu of them does not have is the uniting
    /// menu's own, told by the device (`type`).
    Union {
        /// The property that names an item in all of them.
        key: &'static str,
        /// Which they are: the lists one word below this menu that have both the key and this
        /// property, in the order in which they are mounted. An interface is what can be `running`.
        of: &'static str,
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
    /// Whether the letter stands behind those of the flags before it, in a place of its own. In a
    /// menu with such places only one letter stands in each.
    pub beside: bool,
    /// How wide its column is at least; 0 means as wide as its title. A title that is longer is cut
    /// (`PR..`).
    pub width: usize,
    /// Of a counter: `print stats-detail` shows it, `stats` does not.
    pub detail: bool,
    /// Whether the menu's items are lines of its columns, shown without numbers, flags and titles:
    /// a log.
    pub line: bool,
}

/// Who sets a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The user.
    Optional,
    /// The user, and `add` is refused without it.
    Required,
    /// The user, and nobody sees it again: a password. Its type must hash it as it is read. A list
    /// with a secret is not exported, since what would be made of the script had another one.
    Secret,
    /// The router: shown by `print`, refused in `set`.
    ReadOnly,
    /// RouterOS has it, we do not yet: refused, with this remark on what to do instead. What has a
    /// default in RouterOS is [`Property::only`] instead.
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
            MenuKind::Union { key, .. } => Some(key),
            MenuKind::Settings => None,
        }
    }

    /// Whether its items are shown by this menu: because it unites them, or because they are its own.
    pub(crate) fn shows(&self, menu: &Menu) -> bool {
        let MenuKind::Union { key, of } = self.kind else { return self.path == menu.path };
        let word = menu.path.strip_prefix(self.path).and_then(|rest| rest.strip_prefix(' '));
        let is_below = word.is_some_and(|word| !word.contains(' '));
        is_below && menu.key() == Some(key) && menu.property(of).is_some()
    }

    /// Whether it is a list, of its own items or of others'.
    pub fn is_list(&self) -> bool {
        !matches!(self.kind, MenuKind::Settings)
    }

    /// An item's values with the defaults filled in.
    pub fn read<'a>(&'a self, item: &'a Item) -> Read<'a> {
        Read::new(self, Some(item))
    }
}

impl Property {
    /// An optional property without default.
    pub const fn new(name: &'static str, kind: Type, help: &'static str) -> Property {
        let (access, column, flag, beside) = (Access::Optional, false, None, false);
        let (default, width, detail, line) = ("", 0, false, false);
        Property { name, kind, default, access, help, column, flag, beside, width, detail, line }
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

    /// Set by the user, never shown: see [`Access::Secret`].
    pub const fn secret(self) -> Property {
        Property { access: Access::Secret, ..self }
    }

    /// A property of which only these values are built, the first of them RouterOS's default: what
    /// says what is so anyway is taken, kept, shown and exported as any value is. Another value of
    /// `kind` is refused as not implemented, with `remark`.
    pub const fn only(
        name: &'static str,
        kind: &'static Type,
        built: &'static [&'static str],
        remark: &'static str,
    ) -> Property {
        Property::new(name, Type::Only(kind, built, remark), remark).default(built[0])
    }

    /// Known to RouterOS, unset there if nobody sets it, not implemented here: refused with `remark`.
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

    /// A flag that has a place of its own behind those before it.
    pub const fn beside(self) -> Property {
        Property { beside: true, ..self }
    }

    /// A column at least so wide, whatever the length of its title.
    pub const fn wide(self, width: usize) -> Property {
        Property { column: true, width, ..self }
    }

    /// A counter for `stats-detail`.
    pub const fn detail(self) -> Property {
        Property { detail: true, ..self }
    }

    /// A column of a menu whose items are lines.
    pub const fn line(self) -> Property {
        Property { column: true, line: true, ..self }
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

/// What is wrong with these tables when mounted together, one sentence each; nothing, if all is
/// well: then no getter of [`Read`] and no script can trip over them.
pub fn faults(menus: &[&'static Menu]) -> Vec<String> {
    let mut faults = Vec::new();
    let known = |path: &str| menus.iter().find(|menu| menu.path == path);
    for menu in menus {
        let path = menu.path;
        let words = path.strip_prefix('/').unwrap_or("").split(' ');
        if words.clone().any(|word| word.is_empty() || word.contains('/')) {
            faults.push(format!("{path}: a path is / and words separated by one blank"));
        }
        if menus.iter().filter(|other| other.path == path).count() > 1 {
            faults.push(format!("{path} is there twice"));
        }
        if let Some(key) = menu.key().filter(|key| menu.property(key).is_none()) {
            faults.push(format!("{path}: the key {key} is no property"));
        }
        for property in menu.properties {
            let Property { name, default, access, .. } = *property;
            if menu.properties.iter().filter(|other| other.name == name).count() > 1 {
                faults.push(format!("{path} {name} is there twice"));
            }
            if menu.is_list() && ["comment", "disabled"].contains(&name) && property.flag.is_none()
            {
                faults.push(format!("{path} {name}: every list has it"));
            }
            if access == Access::Required && !default.is_empty() {
                faults.push(format!("{path} {name} is required and has a default"));
            }
            match property.kind.parse(default, &AnyName) {
                _ if default.is_empty() => {}
                Err(why) => faults.push(format!("{path} {name}: the default {default}: {why:?}")),
                // An export leaves defaults out by comparing values, so they must be well spelled.
                Ok(value)
                    if property.kind.parse(&value.to_string(), &AnyName) != Ok(value.clone()) =>
                {
                    faults
                        .push(format!("{path} {name}: {default} prints as {value}, another value"));
                }
                Ok(_) => {}
            }
            if let Type::Only(kind, built, _) = property.kind {
                for word in built.iter().filter(|word| kind.parse(word, &AnyName).is_err()) {
                    faults.push(format!("{path} {name}: what is built, {word}, is no value of it"));
                }
            }
            property.kind.each_reference(&mut |targets| {
                for target in targets {
                    if known(target).is_none_or(|menu| menu.key().is_none()) {
                        faults
                            .push(format!("{path} {name} refers to {target}, which has no names"));
                    }
                }
            });
        }
    }
    faults
}
