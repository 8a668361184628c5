//! The RouterOS v6 configuration language: what people type.
//!
//! ```text
//! text ─► script (statements) ─► menu (the facilities' tables) ─► value ─► tree
//!                                                              export, print ◄─┘
//! ```
//!
//! Knows no menu of its own: the facilities bring theirs ([`Menu`]), each property defined once.
//! Never reads a file or a terminal. To see it run, begin at [`session`]; to write a table, at
//! [`menu`]; to read what was typed, at [`read`].
//!
//! **Missing**: IPv6 and size values (the modules say what else).

// What a property can hold, and how it is printed.
pub mod value;

// Reading values.
pub mod parse;

// Counts, rates, sizes and latencies as RouterOS shows them.
pub mod number;

// Menus and their properties, as the facilities define them.
pub mod menu;

// What the user typed: items and settings, by menu.
pub mod tree;

// Reading items: typed, and with the defaults filled in.
pub mod read;

// What the running device adds.
pub mod status;

// What the device can be told to do, and what comes of it.
pub mod command;

// Where a script runs.
pub mod host;

// Why a script was refused.
pub mod error;

// Scripting: from text to statements, and what runs them.
mod script;

// The menus and commands of a device, mounted together.
pub mod language;

// Somebody at a device.
pub mod session;

// API commands: attributes in, records out.
pub mod api;

// Queries of the API.
mod query;

// API commands that go on: `listen`.
mod follow;

// A session and a configuration together, for one-shot use.
pub mod interpreter;

// What of a script would work, line by line.
pub mod survey;

// Lines without a meaning here, kept word for word.
pub mod inert;

// One script under way.
mod run;

// The configuration and the running device at one moment, and walks over items.
mod view;

// The names of items.
mod names;

// What stands behind a command.
mod arguments;

// `add`, `set`, `remove` and the other commands that change items.
mod edit;

// Which items a selector or a condition means.
mod find;

// Completion, help and highlighting of a line under way.
pub mod inspect;
// What a condition means of an item.
mod condition;

// Regular expressions for conditions.
mod pattern;

// Items and settings for the eye.
mod print;

// From rows of values to text.
mod sheet;

// The script that makes a configuration again.
mod export;

// `import`, and what is written to files.
mod file;

pub use api::{Request, Trap};
pub use command::{Call, Command, Display, Group, Job, Progress, Record, Started, Unnamed};
pub use error::{At, Error, excerpt};
pub use file::{File, LONGEST_SHOWN, MENU as FILE, text_of_file};
pub use host::Host;
pub use interpreter::{Interpreter, Output};
pub use language::{Factory, Language, Translate, Translated, Version};
pub use menu::{Access, Menu, MenuKind, Property};
pub use parse::{AnyName, Mismatch, Names};
pub use pattern::Pattern;
pub use read::Read;
pub use script::quote_always;
pub use session::{How, Piece, Reply, Session};
pub use status::{FIRST_AHEAD, FIRST_DYNAMIC, Status};
pub use tree::{Item, ItemId, Tree};
pub use value::{Type, Value};

#[cfg(test)]
mod tests;
