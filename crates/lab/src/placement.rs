//! Which cores, and how far they are apart.
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
    fn two_cores_are_some_distance_apart() {
        let Some(pair) = pair() else { return };
        assert_ne!(pair.tester, pair.device);
        let ns = round_trip_ns(pair).unwrap();
        // Far less on a machine that does nothing else; tests run on any.
        assert!((1..1_000_000_000).contains(&ns), "{ns} ns");
    }
}
