//! Doubtful rows of a performance table: they can be, and yet are no figures of its device.
//!
//! ```text
//!  tax below 0.9          rules make no router faster: one of both rows was disturbed (in memory, and
//!                         where the device was the limit of both)
//!  self-test, half lost   the tester alone loses next to nothing: it was disturbed
//! ```
//!
//! Warnings: noise may explain them.

use measure::result::kind;
use measure::{Limit, Results, Row};

/// A tax is 1 at least; less by more than this is no noise of a quiet machine.
const LEAST_TAX: f64 = 0.9;

pub(super) fn doubts(results: &Results) -> Vec<String> {
    results.rows.iter().flat_map(|row| doubts_of(results, row)).collect()
}

fn doubts_of(results: &Results, row: &Row) -> Vec<String> {
    let name = format!(
        "{}, {}, {}, {} byte",
        row.device,
        row.mode_name(),
        row.configuration,
        row.frame_size
    );
    let mut doubts = Vec::new();
    // On wires the tester is the limit of many rows, which they say.
    let is_of_both = |one: &&Row| {
        (&one.device, one.mode, one.family, one.frame_size)
            == (&row.device, row.mode, row.family, row.frame_size)
            && (one.configuration == "none" || one.configuration == row.configuration)
    };
    let mut both = results.rows.iter().filter(is_of_both);
    let is_own = row.medium.wire == "memory" || both.all(|one| one.limited_by == Limit::Device);
    if let Some(tax) = results.tax(row).filter(|tax| *tax < LEAST_TAX && is_own) {
        doubts.push(format!(
            "{name}: a tax of {tax:.2}: it would be faster with this configuration than without; \
             something disturbed one of both rows"
        ));
    }
    let alone = row.trials.iter().filter(|trial| trial.kind == kind::SELF_TEST);
    let alone = alone.max_by_key(|trial| trial.received);
    if let Some(best) = alone.filter(|best| best.received < best.sent / 2) {
        doubts.push(format!(
            "{name}: the tester alone, with no device, got back {} of {} frames: something disturbed \
             it, and what it can do is not known",
            best.received, best.sent
        ));
    }
    doubts
}
