//! The host of a script: a device and its time, as a session needs them.
//!
//! ```text
//! Session ─┬─ look ──────────────► Status, for a moment, between two breaths
//!          ├─ edit … commit ─────► the configuration: one session changes it at a time
//!          ├─ start, poll, stop ─► the device's own commands
//!          └─ wait ──────────────► time passes: real time on a thread, virtual time in a lab
//! ```
//!
//! A script is straight-line code that waits where it must; the host decides what waiting means.
//! Never hands out the device itself: whatever takes long is done in many short looks, so that
//! forwarding goes on meanwhile.

use crate::{Call, File, Item, Menu, Progress, Record, Status, Tree};
use std::time::Duration;
use wire::Moment;

/// A device that scripts run on.
pub trait Host {
    /// The device's time.
    fn now(&self) -> Moment;

    /// Lets `look` see the running device, between two breaths. Short: packets wait.
    fn look(&mut self, look: &mut dyn FnMut(&dyn Status));

    /// [`Status::check`], asked for every item of a script of thousands. A host whose device's rules
    /// ask nothing of the running device answers here without a look.
    ///
    /// # Errors
    /// RouterOS's words.
    fn check(&mut self, menu: &Menu, item: &Item, tree: &Tree) -> Result<(), String> {
        let mut checked = Ok(());
        self.look(&mut |status| checked = status.check(menu, item, tree));
        checked
    }

    /// The configuration as it is now. Cheap.
    fn tree(&mut self) -> Tree;

    /// Begins a change: returns the configuration as it is now, and keeps other sessions from
    /// changing it until [`release`](Self::release).
    ///
    /// # Errors
    /// Another session has been changing it for too long.
    fn edit(&mut self) -> Result<Tree, String>;

    /// Takes the changed configuration over, within [`edit`](Self::edit) and `release`. When it
    /// returns, the next packet meets the new configuration.
    ///
    /// # Errors
    /// What the interpreter cannot know: `failure: …`. Nothing has changed then.
    fn commit(&mut self, tree: &Tree) -> Result<(), String>;

    /// Ends a change, committed or not.
    fn release(&mut self);

    /// Goes back to this configuration after this time, unless `/confirm` comes before.
    ///
    /// # Errors
    /// The device cannot.
    fn go_back(&mut self, to: Tree, after: Duration) -> Result<(), String> {
        let _ = (to, after);
        Err("failure: this device cannot go back".to_string())
    }

    /// Starts a command. `Again` means that it takes time and is to be polled; one at a time.
    ///
    /// # Errors
    /// RouterOS's words.
    fn start(&mut self, call: &Call) -> Result<Progress, String>;

    /// Polls the command under way.
    ///
    /// # Errors
    /// RouterOS's words; the command has ended then.
    fn poll(&mut self, out: &mut Vec<Record>) -> Result<Progress, String>;

    /// The user wants the command under way to end: waits, for seconds at most, until it has said
    /// what it still has to say ([`Job::wind_up`](crate::Job::wind_up)). [`stop`](Self::stop) comes
    /// next.
    fn wind_up(&mut self, out: &mut Vec<Record>) {
        let _ = out;
    }

    /// Ends the command under way, if there is one.
    fn stop(&mut self);

    /// Waits until this moment of the device's time. `false` if the user wants the script to end
    /// (Q, ctrl-C, `/cancel`, the connection gone); it then ends with `interrupted`.
    fn wait(&mut self, until: Moment) -> bool;

    /// A file of the device's.
    ///
    /// # Errors
    /// `no such item` and the like.
    fn read_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!("failure: this device has no files, so no {name}"))
    }

    /// Writes a file of the device's; one that was there is replaced.
    ///
    /// # Errors
    /// Why it cannot be.
    fn write_file(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        let _ = content;
        Err(format!("failure: this device has no files, so no {name}"))
    }

    /// The files of the device, a thousand at most.
    fn files(&mut self) -> Vec<File> {
        Vec::new()
    }

    /// Takes a file of the device's away.
    ///
    /// # Errors
    /// Why it cannot be.
    fn remove_file(&mut self, name: &str) -> Result<(), String> {
        Err(format!("failure: this device has no files, so no {name}"))
    }

    /// A line for the device's log: `:log info "…"`.
    fn log(&mut self, topics: &str, message: &str) {
        let _ = (topics, message);
    }
}
