//! What people type: the RouterOS v6 configuration language.
//!
//! ```text
//! text ─► line (tokens, columns) ─► menu (the facilities' tables) ─► value ─► tree
//!                                                                 export, print ◄─┘
//! ```
//!
//! Knows no menu of its own: the facilities bring theirs ([`Menu`]), each property defined once.
//! Never reads a file or a terminal.

/// What a property can hold, and how it is typed and printed.
pub mod value;

/// Menus and their properties, as the facilities define them.
pub mod menu;

/// What the user typed: items and settings, by menu.
pub mod tree;

pub use menu::{Access, Menu, MenuKind, Property};
pub use tree::{Item, ItemId, Tree};
pub use value::{Type, Value};
