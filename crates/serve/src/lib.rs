//! Servers of a device for people and programs: RouterOS's API, both ends of it, and the console.
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

// What is served.
pub mod device;

// What a session has changed goes back with it.
mod safe;
// Sockets, clients, and the end of both.
pub mod server;

// A client.
pub mod client;

// The console: a terminal that speaks the API.
pub mod console;

// Who may log in, and what they may do.
pub mod user;

// Whether programs may come over the network.
pub mod service;

// A socket that clients connect to.
mod listener;

// One client, from its first byte to its last.
mod connection;

// Checking passwords.
mod login;

// The commands a client has under way.
mod lanes;

// One of them.
mod command;

// What a line under way may become, for the console.
mod inspect;

// What the device lets it do.
mod guard;

// The way back to the client.
mod outbox;

// TCP or Unix.
mod stream;

pub use client::Client;
pub use device::Device;
pub use sentence::Sentence;
pub use server::Server;

use config::{Factory, Menu};

/// The menus of the server itself: mount them into the language of a device that is served, and
/// give that its [`FACTORY`].
pub const MENUS: &[&Menu] = &[&user::MENU, &user::GROUPS, &service::MENU];

/// What a device that has these menus has from the beginning: a user, and services that are off.
pub static FACTORY: Factory = Factory {
    install: |tree| {
        user::install(tree);
        service::install(tree);
    },
    check: |menu, item| match menu.path == service::MENU.path {
        true => service::check(item),
        false => Ok(()),
    },
};
