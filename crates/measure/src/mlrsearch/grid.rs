//! Loads on a logarithmic grid, so that a width is the same number of steps everywhere, and widening
//! and halving are undone exactly.
//!
//! ```text
//! lowest |·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·| highest      load(i) = lowest · (highest/lowest)^(i/n)
//!                     └─ width ─┘ of a goal: whole steps, a little less than asked for
//! ```

use super::select::Bounds;

/// A load: its place on the grid.
pub(super) type At = i64;
/// The distance of two loads, in steps.
pub(super) type Width = i64;

pub(super) struct Grid {
    low: f64,
    high: f64,
    last: At,
}

/// A goal's width in whole steps, as a share of the width asked for: not much narrower, for that
/// costs trials, and not wider.
const QUALITY: std::ops::RangeInclusive<f64> = 0.99..=0.999_999;

impl Grid {
    /// The coarsest grid that fits goals of these relative widths.
    pub(super) fn new(low: f64, high: f64, widths: impl Iterator<Item = f64>) -> Grid {
        let whole = high.ln() - low.ln();
        let widths: Vec<f64> = widths.map(|width| -(-width).ln_1p()).collect();
        let mut n = 1.0;
        loop {
            let mut next: f64 = n;
            for width in &widths {
                let steps = width / (whole / n);
                if !QUALITY.contains(&(steps.floor() / steps)) {
                    next = next.max((steps.floor() + 1.0) / QUALITY.end() / steps * n).max(n + 1.0);
                }
            }
            if next == n {
                return Grid { low, high, last: n as At };
            }
            n = next.ceil();
        }
    }

    /// The highest load.
    pub(super) fn last(&self) -> At {
        self.last
    }

    /// In packets per second.
    pub(super) fn load(&self, at: At) -> f64 {
        if at <= 0 {
            return self.low;
        }
        if at >= self.last {
            return self.high;
        }
        self.low * ((self.high / self.low).ln() * at as f64 / self.last as f64).exp()
    }

    /// The highest load of the grid that is not above `load`.
    pub(super) fn at_or_below(&self, load: f64) -> At {
        if load <= self.low {
            return 0;
        }
        let steps = (load / self.low).ln() / (self.high / self.low).ln() * self.last as f64;
        let mut at = (steps.round() as At).clamp(0, self.last);
        while at > 0 && self.load(at) > load {
            at -= 1;
        }
        at
    }

    /// A relative width in steps, not wider.
    pub(super) fn width(&self, relative: f64) -> Width {
        self.at_or_below(self.low / (1.0 - relative)).max(1)
    }

    /// The nearest load to `load` that is worth a trial: between the bounds, not on them, and not
    /// closer than `width` to one of them. The ends of the grid may be tried themselves. `None` if
    /// there is no such load.
    pub(super) fn place(&self, load: At, width: Width, bounds: Bounds) -> Option<At> {
        if bounds.lower.is_some_and(|lower| load <= lower)
            || bounds.upper.is_some_and(|upper| load >= upper)
        {
            return None;
        }
        let (low, high) = (bounds.lower.unwrap_or(0), bounds.upper.unwrap_or(self.last));
        if width >= high - low {
            return match (bounds.lower, bounds.upper) {
                (None, _) => Some(low),
                (_, None) => Some(high),
                _ => None,
            };
        }
        let (mut soft_low, mut soft_high) = (low + width, high - width);
        if soft_low > soft_high {
            soft_low = middle(low, high, width);
            soft_high = soft_low;
        }
        Some(if load < soft_low {
            if bounds.lower.is_some() { soft_low } else { low }
        } else if load > soft_high {
            if bounds.upper.is_some() { soft_high } else { high }
        } else {
            load
        })
    }
}

/// Where to cut an interval wider than `width`: so that the upper part is a power of two of widths
/// and can be halved evenly, and the lower part is not wider.
pub(super) fn middle(low: At, high: At, width: Width) -> At {
    let whole = high - low;
    if whole == 2 * width {
        return low + width;
    }
    if whole < 2 * width {
        return if width % 2 == 0 && whole > width {
            middle(low, high, width / 2)
        } else {
            low + whole / 2
        };
    }
    let mut upper = width;
    while whole - 2 * upper > 2 * upper {
        upper *= 2;
    }
    // Of the two cuts around the middle, the one nearer to it: the product of the parts is larger.
    let (lower, next) = (whole - upper, 2 * upper);
    if upper * lower > next * (whole - next) { low + upper } else { low + whole - next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn to_the_grid_and_back(low in 1f64..1e5, factor in 2f64..1e6, width in 0.001f64..0.2, part in 0f64..1.0) {
            let grid = Grid::new(low, low * factor, [width].into_iter());
            let at = (part * grid.last() as f64) as At;
            prop_assert_eq!(grid.at_or_below(grid.load(at)), at);
            prop_assert!(grid.at_or_below(grid.load(at) * 0.999_999_9) == (at - 1).max(0));
            // No wider than asked for, and at most a hundredth narrower.
            let steps = grid.width(width);
            let got = 1.0 - grid.load(0) / grid.load(steps);
            prop_assert!(got <= width * 1.000_001 && got >= width * 0.98, "{got} {width}");
        }

        #[test]
        fn cuts_inside(low in 0i64..1000, whole in 2i64..5000, width in 1i64..600) {
            prop_assume!(whole > width);
            let cut = middle(low, low + whole, width);
            prop_assert!(low < cut && cut < low + whole, "{cut}");
        }
    }
}
