//! A hunt: seed after seed, on all processors, until enough have run or time is up.

use super::{Case, Failure, Outcome, Reached, draw, net, shrink};
use crate::clock::Clock;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is hunted.
#[derive(Clone, Copy, Debug)]
pub struct Hunt {
    /// The first seed.
    pub first: u64,
    /// How many seeds, at most.
    pub seeds: u64,
    /// For how long, at most.
    pub time: Option<Duration>,
    /// How many runs may be spent on making a failure smaller.
    pub shrinking: usize,
    /// Threads.
    pub threads: usize,
}

/// A seed that failed.
pub struct Find {
    /// The seed.
    pub seed: u64,
    /// As small as it was made.
    pub case: Case,
    /// What is wrong.
    pub failure: Failure,
    /// The last frames on its cables, as (nanoseconds, bytes).
    pub frames: Vec<(wire::Moment, Vec<u8>)>,
}

/// What came of a hunt.
#[derive(Default)]
pub struct Bag {
    /// Seeds that ran.
    pub seeds: u64,
    /// Frames on their cables.
    pub frames: u64,
    /// How long it took.
    pub took: Duration,
    /// Those that failed, in order.
    pub finds: Vec<Find>,
    /// What states were reached.
    pub reached: Reached,
}

/// So many failures are enough to look at.
const ENOUGH: usize = 20;
/// Frames that may be spent on making a failure smaller: a minute.
const FRAMES: u64 = 50_000_000;
const CALM: &str = "no thread panics here";

/// Runs a case; a panic is a failure as any other.
pub fn run(case: &Case) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| net::run(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let failure = Failure { at: wire::Moment::ZERO, what: format!("panic: {text}") };
        let (reached, frames, n_frames) = (Reached::default(), Vec::new(), 0);
        Outcome { failure: Some(failure), reached, frames, n_frames }
    })
}

/// Hunts. `found` hears of each find as it comes, `counted` of every thousandth seed; `stop` ends it early.
///
/// # Panics
/// If a thread cannot be started.
pub fn hunt(
    hunt: &Hunt,
    found: &(dyn Fn(&Find) + Sync),
    counted: &(dyn Fn(u64) + Sync),
    stop: &(dyn Fn() -> bool + Sync),
) -> Bag {
    let clock = Clock::start();
    let elapsed = || clock.now().since(wire::Moment::ZERO);
    let next = AtomicU64::new(0);
    let bag = Mutex::new(Bag::default());
    let over = || stop() || hunt.time.is_some_and(|time| elapsed() >= time);
    std::thread::scope(|scope| {
        for _ in 0..hunt.threads.max(1) {
            scope.spawn(|| {
                while !over() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= hunt.seeds || bag.lock().expect(CALM).finds.len() >= ENOUGH {
                        break;
                    }
                    let seed = hunt.first.wrapping_add(number);
                    let case = draw(seed);
                    let outcome = run(&case);
                    let find = outcome.failure.map(|failure| {
                        // A network whose frames go round and round is not run so often.
                        let runs = FRAMES.checked_div(outcome.n_frames).unwrap_or(FRAMES);
                        let runs = hunt.shrinking.min(runs as usize + 1);
                        let (case, failure) = shrink(&case, &failure, runs);
                        let frames = run(&case).frames;
                        Find { seed, case, failure, frames }
                    });
                    find.iter().for_each(found);
                    let mut bag = bag.lock().expect(CALM);
                    bag.seeds += 1;
                    if bag.seeds.is_multiple_of(1000) {
                        counted(bag.seeds);
                    }
                    bag.frames += outcome.n_frames;
                    bag.reached.join(&outcome.reached);
                    bag.finds.extend(find);
                }
            });
        }
    });
    let mut bag = bag.into_inner().expect(CALM);
    bag.finds.sort_by_key(|find| find.seed);
    bag.took = elapsed();
    bag
}
