//! How it looks: tables and files made of results.
//!
//! ```text
//! measure::Results ─┬─► table ─► text
//!                   ├─► html ──► one page
//!                   └─► json ──► file ──► json ─► Results
//! ```
//!
//! Knows results and nothing else; never runs anything, never changes a number but to round it.
//! Missing: **comparison of runs**, **CSV and Markdown**.

// The performance table, as the documents print it.
pub mod table;

// The same as a page, with charts.
pub mod html;

// Result files.
pub mod json;

// Whether numbers can be: ours, iperf3's, a vendor's table.
pub mod check;

// Numbers as the tables print them.
mod number;

pub use json::{ReadError, read, write};
pub use table::render;
