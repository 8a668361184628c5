//! Safe mode: what a session has changed goes back when it ends, unless it says otherwise before.
//!
//! ```text
//! ctrl-X in a console ─► /safe-mode/take ─► the configuration is kept ─┬ ctrl-X again: released
//!                                                                      └ the session ends: comes back
//! ```
//!
//! One session has it at a time. With it goes back what others have changed meanwhile, users included:
//! so it is for the group `full`.
//!
//! **Missing**: taking it from another session; RouterOS's limit of a hundred actions.

use crate::server::Shared;
use crate::user::{Group, User};
use config::Tree;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whose session is in safe mode, and what was there before.
#[derive(Debug, Default)]
pub(crate) struct Safe(Mutex<Option<(u64, Tree)>>);

impl Safe {
    fn lock(&self) -> MutexGuard<'_, Option<(u64, Tree)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was there before a session's safe mode, which is over then.
    fn end(&self, session: u64) -> Option<Tree> {
        self.lock().take_if(|(whose, _)| *whose == session).map(|(_, tree)| tree)
    }
}

impl Shared {
    /// A session wants something of safe mode: the last word of the command.
    ///
    /// # Errors
    /// RouterOS's words, or ours.
    pub(crate) fn safe_mode(&self, session: u64, user: &User, what: &str) -> Result<(), String> {
        if user.group != Group::Full {
            return Err("not enough permissions (9)".to_string());
        }
        let not_taken = || "failure: this session is not in safe mode".to_string();
        match what {
            "take" => {
                let mut safe = self.safe.lock();
                if safe.is_some() {
                    return Err("failure: another session is in safe mode".to_string());
                }
                *safe = Some((session, self.device.host().tree()));
                self.say(user, "taken");
                Ok(())
            }
            "release" => {
                self.safe.end(session).ok_or_else(not_taken)?;
                self.say(user, "released");
                Ok(())
            }
            "unroll" => {
                let is_its = self.safe.lock().as_ref().is_some_and(|(id, _)| *id == session);
                if is_its { self.unroll(session) } else { Err(not_taken()) }
            }
            _ => Err("no such command".to_string()),
        }
    }

    /// A session is over: what it has changed in safe mode goes back.
    ///
    /// # Errors
    /// The device does not take it back: another session has been changing it for too long.
    pub(crate) fn unroll(&self, session: u64) -> Result<(), String> {
        // Nobody else is in safe mode until all is as it was.
        let mut safe = self.safe.lock();
        let Some((_, tree)) = safe.take_if(|(whose, _)| *whose == session) else { return Ok(()) };
        let mut host = self.device.host();
        let done = host.edit().and_then(|_| host.commit(&tree));
        host.release();
        let text = match &done {
            Ok(()) => "safe mode has ended: all its changes are undone".to_string(),
            Err(why) => format!("safe mode has ended, and its changes stay: {why}"),
        };
        host.log("system,warning", &text);
        done
    }

    fn say(&self, user: &User, what: &str) {
        let text = format!("safe mode {what} by {}", user.name);
        self.device.host().log("system,info,account", &text);
    }
}
