//! The clock of a run: nanoseconds since it was started, steady.
//!
//! Never read inside `router` or `measure`: they are handed its time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wire::Moment;
use wire::date::civil;

/// A steady clock. Copies tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    #[allow(clippy::disallowed_methods)] // the edge: here time comes in
    pub fn start() -> Clock {
        Clock(Instant::now())
    }

    /// The time since its start.
    #[inline]
    #[allow(clippy::disallowed_methods)]
    pub fn now(&self) -> Moment {
        Moment::from_nanos(Instant::now().duration_since(self.0).as_nanos() as u64)
    }

    /// How long ago it was started.
    pub fn elapsed(&self) -> Duration {
        self.now().since(Moment::ZERO)
    }
}

impl Clock {
    /// The time since its start, and the time of day (since 1970) of the same moment: to within what
    /// reading it takes, some tens of nanoseconds; of several readings the closest.
    #[allow(clippy::disallowed_methods)]
    pub fn beside_the_wall(&self) -> (Moment, Duration) {
        /// A thread may lose its processor between two readings.
        const TIMES: usize = 4;
        let read = |_| {
            let before = self.now();
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (self.now().since(before), before, wall)
        };
        let closest = (0..TIMES).map(read).min_by_key(|(apart, ..)| *apart);
        closest.map_or((self.now(), Duration::ZERO), |(_, steady, wall)| (steady, wall))
    }
}

/// The time of day, UTC, as RFC 3339 writes it: `2026-11-20T22:30:00Z`.
pub fn timestamp() -> String {
    rfc3339(unix())
}

/// Seconds since 1970, UTC.
#[allow(clippy::disallowed_methods)]
pub fn unix() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn rfc3339(unix: u64) -> String {
    let (days, second) = (unix / 86_400, unix % 86_400);
    let (year, month, day) = civil(days);
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        for (unix, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(unix), text);
        }
    }

    /// Both go on together, as far as nobody sets one of them meanwhile.
    #[test]
    fn two_clocks() {
        let clock = Clock::start();
        let (steady, wall) = clock.beside_the_wall();
        assert_eq!(wall.as_secs().abs_diff(unix()) / 60, 0);
        assert!(clock.beside_the_wall().0 >= steady);
    }

    #[test]
    fn time_does_not_go_back() {
        let clock = Clock::start();
        let copy = clock;
        let a = clock.now();
        assert!(copy.now() >= a);
    }
}
