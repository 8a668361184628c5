//! Waiting time of a session between two breaths of a node, and delay of the node's breaths by one that comes
//! and goes all the time.
//!
//! ```text
//! enter/idle      the node sleeps          enter/busy      it breathes without a pause
//! ```

use criterion::{Criterion, criterion_group, criterion_main};
use lab::gate::{Gate, Turn};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A breath of 64 packets.
fn breathe(state: &mut u64) {
    for i in 0..2000 {
        *state = black_box(*state).wrapping_mul(31).wrapping_add(i);
    }
}

fn enter(c: &mut Criterion) {
    for (name, next) in
        [("enter/busy", Turn::Again), ("enter/idle", Turn::Sleep(Duration::from_micros(200)))]
    {
        let gate = Arc::new(Gate::new(0u64));
        let stop = Arc::new(AtomicBool::new(false));
        let worker = thread::spawn({
            let (gate, stop) = (gate.clone(), stop.clone());
            move || {
                gate.work(|state| {
                    breathe(state);
                    if stop.load(Ordering::Relaxed) { Turn::End } else { next }
                });
            }
        });
        c.bench_function(name, |b| b.iter(|| gate.enter(|state| black_box(*state))));
        stop.store(true, Ordering::Relaxed);
        let _ = worker.join();
    }
}

criterion_group!(gate, enter);
criterion_main!(gate);
