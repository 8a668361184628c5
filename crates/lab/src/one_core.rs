//! The router fed from memory and emptied into memory, only its own time counted.
//!
//! ```text
//!  tester: 512 frames into the wires │ router: breathes until it has them all │ tester: counts
//!                                    t0 ────────── the time counted ──────── t1
//! ```
//!
//! The clock is read once before and once after a chunk of [`CHUNK`] frames. One reading costs
//! about 25 ns, and of the two readings together one falls inside: at 60 Mpps that is 0.3 % of a
//! chunk. The frames were written by the same core just before, so their headers are in its cache,
//! as a network card's writes are in the last level at best; and a chunk of 64-byte frames (two
//! lines each) fits its second level.
//!
//! A chunk during which the system took the processor away is not counted by the clock, which went
//! on, but as the mean of the others. The thread never sleeps, so that the time for which it had no
//! processor is the time that others had it; where that is more than a few hundredths the trial is
//! invalid, since whoever had it left other things in the caches.
//!
//! What this says is what the router's work costs. What a whole machine does shows
//! [`two_cores`](crate::two_cores).

use crate::device::Device;
use crate::tester::row::RowTester;
use measure::trial::Conditions;
use measure::{Load, Trial};
use port::{Batch, MemoryPort, affinity};
use std::time::Duration;

/// Frames between two readings of the clock.
pub const CHUNK: usize = 512;

/// The time of the router's own work.
#[derive(Default)]
struct Worked {
    /// In chunks that nothing interrupted.
    clean: Duration,
    n_clean: u32,
    /// In all.
    all: Duration,
    n: u32,
}

impl Worked {
    fn add(&mut self, time: Duration, interrupted: bool) {
        self.all += time;
        self.n += 1;
        if !interrupted {
            self.clean += time;
            self.n_clean += 1;
        }
    }

    fn total(&self) -> Duration {
        if self.n_clean == 0 { self.all } else { self.clean / self.n_clean * self.n }
    }
}

/// Runs one trial: until the router has worked for `duration`, or four times as much has passed.
/// The trial's duration is the time the router worked.
pub fn trial(device: &mut Device, row: &mut RowTester, duration: Duration) -> Trial {
    let clock = device.clock;
    let (had, start) = (affinity::thread_time(), clock.now());
    let mut task = row.task(start, Duration::MAX, Load::FullSpeed);
    let tester = &mut row.tester;
    let mut worked = Worked::default();
    let (mut now, mut turn) = (start, 0);
    while worked.all < duration && now.since(start) < 4 * duration {
        tester.announce_if_due(now);
        for _ in 0..CHUNK / Batch::CAPACITY / 2 {
            for port in 0..task.senders.len() {
                let at = turn % task.senders[port].len();
                tester.feed(now, (port, at), &mut task);
            }
            turn += 1;
        }
        let waiting: usize = device.ports.iter().map(MemoryPort::waiting).sum();
        let interruptions = affinity::interruptions();
        let before = clock.now();
        let mut received = 0;
        // Of two routers it is not known how many frames come to both.
        let is_chain = device.far().is_some();
        while is_chain || received < waiting {
            let came = device.breathe_once(before);
            received += came;
            if came == 0 && is_chain {
                break;
            }
        }
        now = clock.now();
        worked.add(now.since(before), interruptions != affinity::interruptions());
        while tester.receive(now, &mut task) > 0 {}
    }
    let all = clock.now().since(start);
    let had = affinity::thread_time().zip(had).map(|(has, had)| has.saturating_sub(had));
    let away = had.map(|had| (all.saturating_sub(had), all));
    // What a queue still holds comes out in its time.
    for _ in 0..10 {
        device.breathe();
        tester.receive(clock.now(), &mut task);
    }
    let counts = task.counts(tester);
    row.end(task);
    let conditions = Conditions { away, ..Conditions::default() };
    Trial::judge(worked.total(), counts, &conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupted_chunks_count_as_the_mean_of_the_others() {
        let us = Duration::from_micros;
        let mut worked = Worked::default();
        assert_eq!(worked.total(), us(0));
        worked.add(us(5000), true);
        assert_eq!(worked.total(), us(5000), "there is nothing better");
        worked.add(us(10), false);
        worked.add(us(14), false);
        assert_eq!(worked.total(), us(36));
    }
}
