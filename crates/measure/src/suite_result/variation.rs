//! Delay variation and frame rates, as the file has them.
//!
//! ```text
//!  latencies ─┬─► PDV = D99.9 − Dmin                    (RFC 8219 §7.3.1)
//!             ├─► IPDV = D(i) − D(i−1) of neighbours     (RFC 8219 §7.3.2): least, median, greatest
//!             └─► jitter J += (|IPDV| − J) / 16          (RFC 3550 §6.4.1): the last value, the greatest
//!  first frame ──── n − 1 frames ──── last frame         achieved: (n − 1) by that time
//! ```
//!
//! Of the RFC's jitter the last value is of the last frames only: the filter forgets after some 16.
//! What it was in the mean is IPDV's mean of absolute values.

use crate::delay::Variation;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Inter-packet delay variation: by how much frames that were sent one after the other differ in
/// latency, in nanoseconds: the median to a hundredth, the others exactly. Across a loss, and of what was overtaken, there is none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ipdv {
    /// Pairs of frames compared.
    pub pairs: u64,
    /// The least: the steepest fall, below zero.
    pub min_ns: i64,
    /// The median.
    pub median_ns: i64,
    /// The greatest.
    pub max_ns: i64,
    /// The mean of the absolute values.
    pub mean_abs_ns: f64,
}

impl Ipdv {
    /// Of what was measured; `None` without two frames one after the other.
    pub fn of(variation: &Variation) -> Option<Ipdv> {
        let Variation { pairs, ipdv_min_ns, ipdv_median_ns, ipdv_max_ns, .. } = *variation;
        (pairs > 0).then_some(Ipdv {
            pairs,
            min_ns: ipdv_min_ns,
            median_ns: ipdv_median_ns,
            max_ns: ipdv_max_ns,
            mean_abs_ns: variation.ipdv_mean_abs_ns,
        })
    }
}

/// How fast frames went by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Achieved {
    /// From the first to the last, in nanoseconds.
    pub ns: u64,
    /// Frames per second: those after the first, by that time.
    pub fps: f64,
}

impl Achieved {
    /// Of so many frames, from the first to the last; `None` if that takes no time.
    pub fn of(frames: u64, time: Duration) -> Option<Achieved> {
        let ns = time.as_nanos() as u64;
        (frames > 1 && ns > 0).then(|| Achieved { ns, fps: fps(frames, ns) })
    }

    /// Whether its rate is that of so many frames.
    pub fn is_of(&self, frames: u64) -> bool {
        frames > 1 && self.ns > 0 && (self.fps / fps(frames, self.ns) - 1.0).abs() < 1e-9
    }
}

fn fps(frames: u64, ns: u64) -> f64 {
    (frames - 1) as f64 * 1e9 / ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_between_the_first_frame_and_the_last() {
        let second = Duration::from_secs(1);
        let ten = Achieved::of(11, second).unwrap();
        assert_eq!((ten.ns, ten.fps), (1_000_000_000, 10.0));
        assert!(ten.is_of(11) && !ten.is_of(10) && !ten.is_of(0));
        assert_eq!((Achieved::of(1, second), Achieved::of(5, Duration::ZERO)), (None, None));
    }

    #[test]
    fn no_difference_without_neighbours() {
        assert_eq!(Ipdv::of(&Variation::default()), None);
        let of_one = Variation { pairs: 1, ipdv_min_ns: -3, ..Variation::default() };
        assert_eq!(Ipdv::of(&of_one).map(|ipdv| ipdv.min_ns), Some(-3));
    }
}
