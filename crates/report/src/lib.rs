//! Documents and records made of results.
//!
//! ```text
//! measure's results ─┬─► Document ─► text, Markdown, one page
//!                    ├─► Table of records ─► CSV, JSON
//!                    ├─► compare ─► text
//!                    └─► json ──► file ──► json ─► the same results
//! ```
//!
//! Knows results and nothing else; never runs anything, never changes a number but to round it.

// A result file, whosever it is.
pub mod file;

// Tables, notes and drawings in their order, and each form of them.
pub mod document;

// The performance table, as the documents print it.
pub mod bench;

// Suites: a table for each procedure.
pub mod suite;

// The iperf3 method.
pub mod iperf3;

// Devices measured by turns.
mod beside;
// Test frames in captures.
pub mod survey;

// Records for other programs.
mod export;

// Drawings of a page.
mod html;

// Two sets of runs against each other.
pub mod compare;

// Result files.
pub mod json;

// Whether numbers can be: ours, iperf3's, a vendor's table.
pub mod check;

// JSON with what is small on one line.
mod lines;

// Numbers as the tables print them.
mod number;

pub use file::File;
pub use json::{ReadError, read, write};
