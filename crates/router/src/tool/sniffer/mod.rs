//! `/tool sniffer`: frames kept, shown and written to a file (`routeros/I-tools.md`, I.4).
//!
//! ```text
//! start ─► [ tap ] ─┬─► streaming-server
//!                   ├─► memory, the newest memory-limit ─► packet print, save ─► file
//!                   └─► file-name, up to file-limit ─► stop ─► file       (pcapng, Wireshark's)
//! quick ─► [ tap ] ───► rows as they come
//! ```
//!
//! Nothing is written while it runs: the command that ends it, or saves, hands the file to whoever
//! polls it. When the file has reached `file-limit`, or without `memory-scroll` the memory
//! `memory-limit`, it stops by itself; `stop` still writes the file.
//!
//! Packets are seen as they stand on the wire: what comes in before the firewall, what goes out
//! after it.
//! With `streaming-enabled` each is also sent to `streaming-server` in TZSP
//! ([`flow/sniff.rs`](crate::flow)), but for what was so sent.
//! **Missing**: the `host`, `protocol` and `connection` tables.

// What is done with its menus.
pub(crate) mod facilities;
// What has been sniffed, in memory and as a file.
mod capture;
// The property tables and commands.
pub(crate) mod menu;
// `quick`: rows as they come.
mod quick;

pub(crate) use capture::Capture;
pub(crate) use quick::Quick;

use super::tap::Tap;
use crate::facility::DONE;
use crate::router::Router;
use config::{Call, Job, Progress, Record, Reply, Started, Tree, Value};
use wire::Moment;

/// `start`: begins to keep frames.
fn start(r: &mut Router, _: &Call, tree: &Tree, now: Moment) -> Result<Started<Router>, String> {
    if r.tools.taps.capture().is_some() {
        return Err("failure: sniffer is already running".to_string());
    }
    let capture = Capture::new(r, tree, now);
    r.put_tap(Tap::Capture(capture));
    r.tools.captured = None;
    DONE
}

/// `stop`: ends it, and writes the file.
fn stop(r: &mut Router, _: &Call, _: &Tree, _: Moment) -> Result<Started<Router>, String> {
    end(r);
    let file = r.tools.captured.as_mut().and_then(Capture::take_file);
    file.map_or(DONE, |file| Ok(write(file)))
}

/// `save`: writes what is in memory to a file.
fn save(r: &mut Router, call: &Call, _: &Tree, _: Moment) -> Result<Started<Router>, String> {
    let name = call.argument("file-name").map_or(String::new(), |name| name.to_string());
    let Some(capture) = r.sniffed() else {
        return Err("failure: nothing has been sniffed".to_string());
    };
    Ok(write((name, capture.memory_as_file())))
}

/// Ends the capture under way, if there is one, and keeps what it has seen.
pub(crate) fn end(r: &mut Router) {
    let running = r.tools.taps.capture().map(|(id, _)| id);
    if let Some(Tap::Capture(capture)) = running.and_then(|id| r.take_tap(id)) {
        r.tools.captured = Some(capture);
    }
}

impl Router {
    /// What the sniffer has, running or not.
    pub(crate) fn sniffed(&self) -> Option<&Capture> {
        let running = self.tools.taps.capture().map(|(_, capture)| capture);
        running.or(self.tools.captured.as_ref())
    }

    /// A property of `/tool sniffer` that the user does not set.
    pub(crate) fn sniffer_status(&self, property: &str) -> Option<Value> {
        (property == "running").then(|| Value::Bool(self.tools.taps.capture().is_some()))
    }
}

/// A job that has nothing to do but to hand a file over.
fn write(file: (String, Vec<u8>)) -> Started<Router> {
    Started::Job(Box::new(Write(vec![file])))
}

struct Write(Vec<(String, Vec<u8>)>);

impl Job<Router> for Write {
    fn poll(&mut self, _: &mut Router, _: Moment, _: &mut Vec<Record>) -> Result<Progress, String> {
        Ok(Progress::Done(Reply::Nothing))
    }

    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        std::mem::take(&mut self.0)
    }
}
