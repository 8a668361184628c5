//! Results so far of a run: whoever ends it early has them.
//!
//! ```text
//!  measuring ── a row, a device's set-up, a comparison ─► Kept ─► so far: ctrl-C, an error, the end
//! ```

use measure::result::{Compared, Documented, Setup};
use measure::{Environment, Results, Row};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The results of a run that may be under way.
pub struct Kept(Mutex<Results>);

impl Kept {
    /// Nothing yet.
    pub fn new(environment: Environment) -> Kept {
        Kept(Mutex::new(Results::of(environment, Vec::new())))
    }

    /// All there is by now.
    pub fn so_far(&self) -> Results {
        self.lock().clone()
    }

    pub(super) fn documents(&self, documents: &[Documented]) {
        self.lock().documents = documents.to_vec();
    }

    pub(super) fn row(&self, row: Row) {
        self.lock().rows.push(row);
    }

    pub(super) fn setup(&self, setup: Setup) {
        self.lock().setups.push(setup);
    }

    pub(super) fn compared(&self, compared: Compared) {
        self.lock().comparisons.push(compared);
    }

    fn lock(&self) -> MutexGuard<'_, Results> {
        // What is pushed is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
