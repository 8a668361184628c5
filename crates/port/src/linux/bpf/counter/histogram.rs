//! Latencies by their size: 128 buckets to every power of two.
//!
//! ```text
//!  0 1 2 … 255 │ 256 258 … 510 │ 512 516 … 1020 │ … │ 68 s … 137 s │ and all above in the last
//!    1 ns each       2 ns            4 ns               0.5 s
//! ```
//!
//! A value's bucket is found with shifts alone, in the kernel: see `program`. Values are known to
//! better than 1 %; least, greatest and sum are exact.

use crate::linux::bpf::assembler::{Alu, Assembler, If, Label, Register::*};

/// How many buckets there are.
pub const BUCKETS: usize = 30 * 128 + 128;
/// The longest latency told apart: 137 seconds.
pub const LATENCY_NS_MAX: u64 = (1 << 37) - 1;

/// Latencies of a stream's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Frames by bucket.
    pub(super) buckets: Vec<u64>,
    /// The shortest; [`u64::MAX`] if there are none.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// All together.
    pub sum_ns: u64,
}

impl Latencies {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Every bucket with frames in it: its greatest value in nanoseconds, and how many.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
        all.map(|(bucket, &n)| (greatest(bucket).min(self.max_ns), n))
    }

    /// The latency that this part of the frames (0 to 1) does not exceed; `None` if there are none.
    pub fn quantile_ns(&self, part: f64) -> Option<u64> {
        let rank = ((self.count() as f64 * part).ceil() as u64).max(1);
        let mut before = 0;
        self.iter()
            .find(|(_, n)| {
                before += n;
                before >= rank
            })
            .map(|(value, _)| value)
    }
}

/// The greatest value of a bucket.
fn greatest(bucket: usize) -> u64 {
    if bucket < 256 {
        return bucket as u64;
    }
    let shift = bucket / 128 - 1;
    (((bucket % 128 + 129) as u64) << shift) - 1
}

/// Leaves the bucket of the value in R1 in R2, losing R1. Goes to `never` if it is none, which the
/// verifier wants to be told.
pub(super) fn bucket(a: &mut Assembler, never: Label) {
    let small_enough = a.label();
    a.set_u64(R2, LATENCY_NS_MAX);
    a.jump_if(R1, If::AtMost, R2, small_enough);
    a.set(R1, R2);
    a.bind(small_enough);
    // R1 becomes less than 256 by R3 shifts.
    a.set(R3, 0);
    for shift in [16, 8, 4, 2, 1] {
        let less = a.label();
        a.jump_if(R1, If::Less, 256 << (shift - 1), less);
        a.alu(Alu::ShiftRight, R1, shift);
        a.alu(Alu::Add, R3, shift);
        a.bind(less);
    }
    a.set(R2, R3);
    a.alu(Alu::ShiftLeft, R2, 7);
    a.alu(Alu::Add, R2, R1);
    a.jump_if(R2, If::AtLeast, BUCKETS as i32, never);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        let check = |bucket: usize, value: u64| assert_eq!(greatest(bucket), value, "{bucket}");
        check(0, 0);
        check(255, 255);
        check(256, 257);
        check(383, 511);
        check(384, 515);
        check(BUCKETS - 1, LATENCY_NS_MAX);
        for bucket in 256..BUCKETS {
            let (before, this) = (greatest(bucket - 1), greatest(bucket));
            assert!(before < this && (this - before) * 100 <= this, "{before} {this}");
        }
    }

    #[test]
    fn quantiles() {
        let mut buckets = vec![0; BUCKETS];
        (buckets[10], buckets[20], buckets[300]) = (50, 49, 1);
        let latencies = Latencies { buckets, min_ns: 10, max_ns: 344, sum_ns: 0 };
        for (part, expected) in [(0.0, 10), (0.5, 10), (0.51, 20), (0.99, 20), (1.0, 344)] {
            assert_eq!(latencies.quantile_ns(part), Some(expected), "{part}");
        }
        let none = Latencies { buckets: vec![0; 9], min_ns: u64::MAX, max_ns: 0, sum_ns: 0 };
        assert_eq!((none.quantile_ns(0.5), none.count()), (None, 0));
    }
}
