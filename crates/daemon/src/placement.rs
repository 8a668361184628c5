//! Placement on cores, and how far these are apart.
//!
//! ```text
//! tester's core ── 1 ─► cache line ── 2 ─► device's core: the time of a round trip
//!               ◄─ 1 ──            ◄─ 2 ──
//! ```
//!
//! Cores that share a cache hand a line over in tens of nanoseconds, others take several times as
//! long, and so does every ring between them. A virtual machine's processors may be moved by its
//! host while a trial runs; that shows as another distance after it than before.

use crate::clock::Clock;
use port::affinity;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wire::Moment;

/// A processor each for the tester and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The tester's.
    pub tester: usize,
    /// The device's.
    pub device: usize,
}

/// Two processors this process may use, of two cores if there are two; `None` if it may use only
/// one.
pub fn pair() -> Option<Pair> {
    let allowed = affinity::allowed();
    let tester = *allowed.first()?;
    let other = |device: &&usize| core_of(**device) != core_of(tester);
    let device = allowed[1..].iter().find(other).or_else(|| allowed.get(1))?;
    Some(Pair { tester, device: *device })
}

/// What distinguishes a core from others: hyper-threads of one core have the same.
fn core_of(cpu: usize) -> (String, String) {
    let read = |what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{what}");
        fs::read_to_string(path).unwrap_or_else(|_| format!("cpu{cpu}"))
    };
    (read("physical_package_id"), read("core_id"))
}

/// A cache line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// How long a cache line takes there and back, in nanoseconds: the least over many batches, since
/// whatever else runs on the two can only add to it.
///
/// # Errors
/// A thread could not be pinned.
pub fn round_trip_ns(pair: Pair) -> io::Result<u64> {
    // Short batches: on a busy machine the two run at the same time only now and then.
    const BATCHES: u64 = 512;
    const TRIPS: u64 = 20;
    const STOP: u64 = u64::MAX;
    /// On a machine so busy that the two hardly ever run at the same time.
    const LONGEST: Duration = Duration::from_millis(100);

    let line = Line(AtomicU64::new(0));
    let clock = Clock::start();
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            // A thread that is not where it should be must answer all the same.
            let pinned = affinity::pin(pair.device);
            let mut spins = 0;
            loop {
                match line.0.load(Ordering::Acquire) {
                    STOP => return pinned,
                    // The tester writes odd numbers, the echo makes them even.
                    n if n % 2 == 1 => {
                        line.0.store(n + 1, Ordering::Release);
                        spins = 0;
                    }
                    _ => wait(&mut spins),
                }
            }
        });
        let probe = scope.spawn(|| {
            let pinned = affinity::pin(pair.tester);
            let mut least = u64::MAX;
            let mut n = 0;
            for _ in 0..BATCHES {
                let start = clock.now();
                for _ in 0..TRIPS {
                    line.0.store(n + 1, Ordering::Release);
                    n += 2;
                    let mut spins = 0;
                    while line.0.load(Ordering::Acquire) != n {
                        wait(&mut spins);
                    }
                }
                let now = clock.now();
                least = least.min(now.since(start).as_nanos() as u64 / TRIPS);
                if now.since(Moment::ZERO) > LONGEST {
                    break;
                }
            }
            line.0.store(STOP, Ordering::Release);
            pinned.map(|()| least)
        });
        let (echo, probe) = (echo.join(), probe.join());
        match (echo, probe) {
            (Ok(pinned), Ok(least)) => pinned.and(least),
            _ => Err(io::Error::other("a probing thread panicked")),
        }
    })
}

/// The distance of two cores, looked at now and again.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    pair: Pair,
    last: Option<u64>,
}

impl Distance {
    /// Of these two.
    pub fn of(pair: Pair) -> Distance {
        Distance { pair, last: None }
    }

    /// Now, in nanoseconds, as [`round_trip_ns`] has it; `None` if it cannot be measured. What is
    /// farther than the last time is looked at again: a busy machine can only add to it.
    pub fn now_ns(&mut self) -> Option<u64> {
        let pair = self.pair;
        let now = settled(self.last, || round_trip_ns(pair).ok());
        self.last = now.or(self.last);
        now
    }
}

/// The least of a few readings, if the first is not much the same as the last one known.
fn settled(last: Option<u64>, mut probe: impl FnMut() -> Option<u64>) -> Option<u64> {
    const MORE: usize = 2;
    let mut least = probe()?;
    for _ in 0..MORE {
        if last.is_none_or(|last| least <= last + last / 2) {
            break;
        }
        least = least.min(probe()?);
    }
    Some(least)
}

/// Spins, but not for as long as the other thread has no processor: on a busy machine the two would
/// use their turns to wait for each other's.
fn wait(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(10_000) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_farther_is_looked_at_again() {
        // The last one known, the readings to come, what it is then and how many were taken.
        for (last, readings, expected, taken) in [
            (None, vec![500, 90], Some(500), 1),
            (Some(90), vec![135, 90], Some(135), 1),
            (Some(90), vec![500, 95, 90], Some(95), 2),
            (Some(90), vec![500, 480, 470, 90], Some(470), 3),
            // Nearer is never noise.
            (Some(500), vec![90, 500], Some(90), 1),
            (Some(90), vec![], None, 0),
        ] {
            let mut n = 0;
            let found = settled(last, || {
                n += 1;
                readings.get(n - 1).copied()
            });
            assert_eq!((found, n.min(readings.len())), (expected, taken), "{last:?} {readings:?}");
        }
    }

    #[test]
    fn two_cores_are_some_distance_apart() {
        let Some(pair) = pair() else { return };
        assert_ne!(pair.tester, pair.device);
        let ns = round_trip_ns(pair).unwrap();
        // Far less on a machine that does nothing else; tests run on any.
        assert!((1..1_000_000_000).contains(&ns), "{ns} ns");
    }
}
