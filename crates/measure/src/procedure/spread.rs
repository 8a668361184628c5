//! The spread of repetitions.

use serde::{Deserialize, Serialize};

/// Of a number of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub n: u32,
    /// The arithmetic mean.
    pub mean: f64,
    /// The middle one; the mean of the two in the middle if their number is even.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// Sample standard deviation; 0 of a single one.
    pub stddev: f64,
    /// The 1st percentile (RFC 8219's measure of variation between runs).
    pub p1: f64,
    /// The 99th.
    pub p99: f64,
}

impl Spread {
    /// Of these values; none of no values.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        let stddev = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
        let at = |share| percentile(&sorted, share);
        Some(Spread { n: n as u32, mean, median, min, max, stddev, p1: at(0.01), p99: at(0.99) })
    }
}

/// The smallest of the sorted values that at least this share of them does not exceed.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted[at.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[7.0]).unwrap();
        assert_eq!((one.mean, one.median, one.stddev, one.p99), (7.0, 7.0, 0.0, 7.0));
        let four = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((four.n, four.mean, four.median, four.min, four.max), (4, 2.5, 2.5, 1.0, 4.0));
        assert!((four.stddev - 1.290_994).abs() < 1e-6);
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let hundred = Spread::of(&hundred).unwrap();
        assert_eq!((hundred.p1, hundred.p99), (1.0, 99.0));
    }
}
