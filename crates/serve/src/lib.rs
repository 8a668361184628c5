//! How people and programs talk to a device: RouterOS's API, both ends of it, and the console.
//!
//! ```text
//! librouteros, Ansible … ─┐                        ┌─► Session (config) ─► Host ─► a device
//!                         ├─ sentences of words ─► │
//! console (a terminal) ───┘   TCP 8728, Unix       └─ one thread for each client
//! ```
//!
//! The console is a client like any other, so whatever it can do a program can.
//!
//! Never knows what a device is: it serves whatever is a [`config::Host`].

// The lengths of words.
pub mod word;

// Sentences of words, and how they are read from any pieces.
pub mod sentence;

pub use sentence::Sentence;
