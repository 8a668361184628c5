//! Fields that all go by one number, made in advance: the flows of a stream.
//!
//! ```text
//!  number n ─► | src … dst … ports | and its part of each checksum      one copy for all fields
//! ```

use super::{Checksum, Fed, Patch, fold, put, weigh};

/// The most rows, and the widest.
const MOST: u64 = 1 << 16;
const WIDEST: usize = 64;

/// What fields make of each number.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Where they begin, and how many bytes they are with those between them.
    at: usize,
    width: usize,
    bytes: Vec<u8>,
    /// Of each row and checksum.
    sums: Vec<u16>,
    n_sums: usize,
}

impl Rows {
    /// Of fields whose bytes all change, and that go by the numbers below `count`, in frames like this
    /// whose data ends there; `None` if they are others, or too many.
    pub(super) fn of(
        patches: &[Patch],
        count: u64,
        image: &[u8],
        end: usize,
        n_sums: usize,
    ) -> Option<Rows> {
        let at = patches.iter().map(|patch| patch.at).min()?;
        let to = patches.iter().map(|patch| patch.at + patch.width).max()?;
        let is_whole = |patch: &Patch| patch.mask == u64::MAX >> (64 - 8 * patch.width);
        if count > MOST || to - at > WIDEST || to > end || !patches.iter().all(is_whole) {
            return None;
        }
        let mut rows = Rows { at, width: to - at, bytes: vec![], sums: vec![], n_sums };
        for number in 0..count {
            let mut row = image[at..to].to_vec();
            let mut sums = vec![0; n_sums];
            for patch in patches {
                let Fed::Link(_, divisor, values) = &patch.source else { return None };
                let value = values.at(number / divisor % values.count());
                put(&mut row[patch.at - at..patch.at - at + patch.width], value);
                for (sum, weights) in &patch.weights {
                    sums[*sum] += weigh(value, weights);
                }
            }
            rows.bytes.extend(row);
            rows.sums.extend(sums.into_iter().map(fold));
        }
        Some(rows)
    }

    /// Writes a row into a frame, and adds its part to the checksums.
    #[inline]
    pub(super) fn put(&self, number: u64, frame: &mut [u8], sums: &mut [Checksum]) {
        let (row, width) = (number as usize, self.width);
        let bytes = &self.bytes[row * width..(row + 1) * width];
        frame[self.at..self.at + width].copy_from_slice(bytes);
        let parts = &self.sums[row * self.n_sums..(row + 1) * self.n_sums];
        for (sum, part) in sums.iter_mut().zip(parts) {
            sum.varied += u64::from(*part);
        }
    }
}
