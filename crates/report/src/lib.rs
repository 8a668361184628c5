//! How it looks: tables and files made of results.
//!
//! ```text
//! measure::Results ─┬─► table ─► text
//!                   └─► json ──► file ──► json ─► Results
//! ```
//!
//! Knows results and nothing else; never runs anything, never changes a number but to round it.
//! Missing: **SVG and HTML**, **comparison of runs**, **latency tables**.

// The performance table, as the documents print it.
pub mod table;

// Result files.
pub mod json;

// Whether numbers can be: ours, iperf3's, a vendor's table.
pub mod check;

// Numbers as the tables print them.
mod number;

pub use json::{ReadError, read, write};
pub use table::render;
