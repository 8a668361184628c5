//! The router's own tools: `/ping`, `/tool …`, `/interface monitor-traffic`.
//!
//! ```text
//! Router::start ─► Job ─┬─ poll, poll … ─► Records
//!  between two breaths  └─ stop
//!                        │  ▲
//!             what to do ▼  │ what has come meanwhile
//!         [ Tools: pings under way, taps, what closes FastPath ]   
//!                           ▲
//!                 breathe ──┴── the packet flow
//! ```
//!
//! A tool's [`Job`](config::Job) waits with its session and holds no reference to the router; what
//! must happen while packets pass (matching a reply, counting a flow) is kept here, in [`Tools`],
//! under a number that the job knows. As long as no tool runs, a breath pays one branch for it.
//!
//! Packets of the router's own leave by LOCAL OUT and come back by LOCAL IN, as all others do.
//! Never: reads a clock, writes a file (a job hands what is to be written to whoever polls it).

// `/tool explain`: a packet's way through the router, in words.
pub mod explain;
// Echo requests of the router's own: sent, answered, refused.
pub(crate) mod echo;
// `/ping` and `/tool flood-ping`.
pub(crate) mod ping;

use crate::interface::InterfaceId;
use crate::program::Program;
use crate::router::Router;
use config::{Call, Reply, Started, Tree, Type, Value};
use echo::Echoes;
use wire::Moment;

/// What the tools keep in the router.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// Pings under way.
    pub(crate) echoes: Echoes,
    /// Something has been sent since the last breath, and is in an outbox.
    pub(crate) sent: bool,
    /// Why FastPath is closed: one for each tool that closes it.
    closed: Vec<&'static str>,
}

impl Router {
    /// Starts one of the [`COMMANDS`](crate::COMMANDS), after the configuration `tree` was taken
    /// over. What takes no time is done when it returns.
    ///
    /// # Errors
    /// RouterOS's words for arguments that cannot be, and for a command that is not the router's.
    pub fn start(
        &mut self,
        call: &Call,
        tree: &Tree,
        now: Moment,
    ) -> Result<Started<Router>, String> {
        match (call.command.menu, call.command.name) {
            ("/", "ping") => ping::start(self, call, now),
            ("/tool", "explain") => explain::start(self, call, tree, now),
            ("/tool", "flood-ping") => ping::start_flood(self, call, now),
            _ => self.at_once(call, tree).map(|()| Started::Done(Reply::Nothing)),
        }
    }

    /// Closes FastPath, FastTrack and the bridge's FastPath for as long as a tool runs that must
    /// see every packet or needs the router to itself. `why` is shown among the unmet conditions.
    pub fn close_fast_path(&mut self, why: &'static str) {
        self.tools.closed.push(why);
        self.recipes.forget();
        self.tools.close(&mut self.program);
    }

    /// Takes one [`close_fast_path`](Self::close_fast_path) back.
    pub fn reopen_fast_path(&mut self, why: &'static str) {
        let Some(at) = self.tools.closed.iter().position(|other| *other == why) else { return };
        self.tools.closed.remove(at);
        if self.tools.closed.contains(&why) {
            return;
        }
        self.recipes.forget();
        for unmet in self.program.unmet.ways() {
            unmet.retain(|other| *other != why);
        }
    }
}

impl Tools {
    /// Adds what the tools that run close to a program's unmet conditions.
    pub(crate) fn close(&self, program: &mut Program) {
        for &why in &self.closed {
            for unmet in program.unmet.ways().into_iter().filter(|unmet| !unmet.contains(&why)) {
                unmet.push(why);
            }
        }
    }
}

/// The interfaces there are, for parameters.
const INTERFACE: Type = Type::Reference(&["/interface ethernet", "/interface bridge"]);

/// The interface of this name.
fn interface(r: &Router, name: &Value) -> Result<InterfaceId, String> {
    let found = r.program.names.find(&name.to_string());
    found.ok_or_else(|| "input does not match any value of interface".to_string())
}

/// A count, for a record.
fn count(n: u64) -> Value {
    Value::Number(i64::try_from(n).unwrap_or(i64::MAX))
}

/// An argument that is a whole number, within its range or not there.
fn number(call: &Call, name: &str) -> Option<u64> {
    match call.argument(name) {
        Some(Value::Number(number)) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// A flag that was given.
fn flag(call: &Call, name: &str) -> bool {
    call.argument(name) == Some(Value::Bool(true))
}
