//! Results so far of a run of hours, in a file beside the one that it will write: whoever kills
//! it, or trips over the cable, has that.
//!
//! ```text
//!  a cell is done ─► NAME.so-far (whole or not at all)       the run ends ─► NAME; NAME.so-far is gone
//! ```
//!
//! The run's own file is not touched before its end: there may be a good one.

use crate::keep;
use daemon::clock::Clock;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::Moment;

/// Not more often: short runs have many cells, and writing takes time of the machine that is measured.
const PAUSE: Duration = Duration::from_secs(10);

/// What stands in it for why it is incomplete.
const WHY: &str = "this is what there was while the run went on";

/// The file, if there is to be one.
pub(crate) struct SoFar {
    path: Option<PathBuf>,
    clock: Clock,
    written: Option<Moment>,
}

impl SoFar {
    /// Beside a file of results; none beside what is no file.
    pub(crate) fn beside(results: Option<&Path>) -> SoFar {
        let name = |path: &Path| {
            let name = path.file_name()?.to_string_lossy();
            let is_file = !keep::is_stdout(path) && (!path.exists() || path.is_file());
            is_file.then(|| path.with_file_name(format!("{name}.so-far")))
        };
        SoFar { path: results.and_then(name), clock: Clock::start(), written: None }
    }

    /// Writes what there is by now, unless that was done a moment ago. Where it cannot, the run goes on:
    /// it will say so at its end.
    pub(crate) fn write(&mut self, run: impl FnOnce() -> report::File) {
        let (Some(path), now) = (&self.path, self.clock.now()) else { return };
        if self.written.is_some_and(|last| now.since(last) < PAUSE) {
            return;
        }
        self.written = Some(now);
        let _ = run().incomplete(WHY).write().map(|text| keep::replace(path, &text));
    }

    /// The results are where they should be: what there was meanwhile goes, and no more comes.
    pub(crate) fn remove(&mut self) {
        if let (Some(path), Some(_)) = (self.path.take(), self.written) {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for SoFar {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.remove();
        }
    }
}
