//! How it looks: tables and files made of results.
//!
//! ```text
//! measure::Results ─┬─► table ─► text
//!                   ├─► html ──► one page
//!                   ├─► compare, export ─► text, CSV, Markdown
//!                   └─► json ──► file ──► json ─► Results
//! ```
//!
//! Knows results and nothing else; never runs anything, never changes a number but to round it.

// The performance table, as the documents print it.
pub mod table;

// Devices measured by turns, pings through them, and what they could not do.
mod turns;

// Tables of suites, and their files.
pub mod suite;

// The same as a page, with charts.
pub mod html;

// Two sets of runs against each other.
pub mod compare;

// CSV and Markdown.
pub mod export;

// The iperf3 method's table and files.
pub mod iperf3;

// What a capture has of test frames.
pub mod survey;

// Result files.
pub mod json;

// Whether numbers can be: ours, iperf3's, a vendor's table.
pub mod check;

// JSON with what is small on one line.
mod lines;

// Numbers as the tables print them.
mod number;

pub use json::{ReadError, read, write};
pub use table::render;
