//! Menus and their properties, as the facilities define them: each property once — name, type,
//! default, access, help — and everything else (parsing, completion, export, refusal) follows.

use crate::Type;

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

impl Property {
    /// An optional property without default.
    pub const fn new(name: &'static str, kind: Type, help: &'static str) -> Property {
        Property { name, kind, default: "", access: Access::Optional, help }
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
        Property { name, kind: Type::Text, default: "", access, help: "not implemented" }
    }
}
