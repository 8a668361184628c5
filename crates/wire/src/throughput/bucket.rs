//! Token buckets and the windows one looks at them through: source 000's toll booth.
//!
//! A limit "of 60 a minute" says nothing until the window is said: one that lets 150 pass in a
//! minute after a quiet one keeps 60 a minute over the hour, and over every hour's window there
//! may be 3,690. A bucket has no window: any time T passes rate · T + capacity at most.

use std::time::Duration;

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    /// What comes in, bit/s: RouterOS's `max-limit`.
    pub rate: f64,
    /// What it holds, in bits.
    pub capacity: f64,
}

impl TokenBucket {
    /// RouterOS's: `bucket-size` is in seconds of `max-limit`.
    pub fn of(max_limit: f64, bucket_size: f64) -> TokenBucket {
        TokenBucket { rate: max_limit, capacity: max_limit * bucket_size }
    }

    /// The most bits that pass in any such time.
    pub fn passes(self, time: Duration) -> f64 {
        self.rate * time.as_secs_f64() + self.capacity
    }

    /// The most bits that pass in any such time of traffic that comes in at this rate, bit/s: no
    /// more than comes.
    pub fn passes_of(self, rate: f64, time: Duration) -> f64 {
        self.passes(time).min(rate * time.as_secs_f64())
    }

    /// How long a full bucket lets traffic of this rate through unhindered; `None` if for ever.
    pub fn lasts(self, rate: f64) -> Option<Duration> {
        let drain = rate - self.rate;
        if drain <= 0.0 {
            return None;
        }
        Duration::try_from_secs_f64(self.capacity / drain).ok()
    }
}

/// The sums of every window of `n` neighbours.
pub fn windows(values: &[u64], n: usize) -> Vec<u64> {
    values.windows(n.max(1)).map(|window| window.iter().sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_a_megabit() {
        let bucket = TokenBucket::of(1e6, 10.0);
        assert_eq!(bucket.passes(Duration::from_secs(1)), 11e6);
        assert_eq!(bucket.passes_of(100e6, Duration::from_secs(1)), 11e6);
        assert_eq!(bucket.passes_of(5e6, Duration::from_secs(1)), 5e6);
        assert_eq!(bucket.lasts(11e6), Some(Duration::from_secs(1)));
        assert_eq!(bucket.lasts(1e6), None);
        assert_eq!(bucket.lasts(f64::NAN), None);
    }

    #[test]
    fn source_000s_windows() {
        // An hour of 60 a minute, two minutes closed, then 150 at once: seen through windows of
        // 60 minutes it is 3,570, 3,570 and, when the closed minutes have left, 3,690.
        let mut minutes = vec![60; 57];
        minutes.extend([0, 0, 150]);
        minutes.extend([60; 59]);
        let sums = windows(&minutes, 60);
        assert_eq!((sums[0], sums[10], sums[59]), (3570, 3570, 3690));
        assert_eq!(windows(&[1, 2], 3), [0; 0]);
    }
}
