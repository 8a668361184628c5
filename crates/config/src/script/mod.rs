//! Scripting: from text to statements, and what runs them.
//!
//! ```text
//! :foreach i in=[/ip address find] do={ :put ([/ip address get $i address] . "!") }
//!   lexer ─► parse, expression ─► ast ─► evaluate ─► control, functions, or a menu's command
//!                                          └── data, operate: values and what can be done to them
//! ```
//!
//! Bounded: nesting, texts and arrays have limits, and whoever runs a script can interrupt it.
//! `:local` lives in its block, at the prompt for one line; `:global` for the session.
//!
//! **Missing** (refused by name): `:execute`, `:resolve`, `:environment`, `:terminal`, `:beep`,
//! `:toip6`.

// What a script is made of.
pub(crate) mod ast;

// Characters, blanks, joined lines, strings.
pub(crate) mod lexer;

// Statements and words.
pub(crate) mod parse;

// What stands in ( ).
pub(crate) mod expression;

// Text as a script must quote it.
pub(crate) mod quote;

// Values at run time.
pub(crate) mod data;

// Operators.
pub(crate) mod operate;

// Blocks, words and expressions, run.
pub(crate) mod evaluate;

// `:if`, `:foreach` and the other commands that run blocks.
pub(crate) mod control;

// `:len`, `:pick` and the other commands that return values.
pub(crate) mod functions;

pub(crate) use ast::{Operator, Part, Word};
pub(crate) use data::Datum;
pub(crate) use lexer::{BYTE_ORDER_MARK, Lexer};
pub(crate) use quote::quote;
pub use quote::quote_always;
