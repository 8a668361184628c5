//! Benches and suites on wires of this machine, which measure.
#![allow(clippy::duplicate_mod, reason = "a pair of veths says by itself what it lacks")]

#[path = "../rig/mod.rs"]
mod rig;

use rig::left_out;
use std::sync::{Condvar, Mutex, PoisonError};

mod devices;
mod external;
mod kernel_tester;
mod rows;
mod suite_jumbo;
mod suite_wired;

/// How many tests measure now.
static MEASURING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// A test's turn to measure: two at a time for each processor, however many threads there are.
struct Turn;

/// Waits for it.
fn turn() -> Turn {
    let most = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let (measuring, over) = &MEASURING;
    let now = measuring.lock().unwrap_or_else(PoisonError::into_inner);
    let now = over.wait_while(now, |now| *now >= most);
    *now.unwrap_or_else(PoisonError::into_inner) += 1;
    Turn
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (measuring, over) = &MEASURING;
        *measuring.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        over.notify_one();
    }
}
